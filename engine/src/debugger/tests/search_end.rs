//! The end of a search: a replay, here a second run, stops at the pass at which the first was.

use super::live::{Live, Program, alone, when};
use crate::ids::{BreakpointId, BreakpointOptions};
use crate::os::RegisterSet;
use crate::stops::breakpoint::frame_places::FramePlace;
use crate::stops::event::StopReason;
use crate::stops::search_end::SearchEnd;
use dwarf::{LoadAddr, Register};
use std::collections::BTreeMap;

const SOURCE: &str = r#"
#include <stdlib.h>
#if __x86_64__
#define SAME_REGISTERS() __asm__ volatile("xor %%eax, %%eax\n xor %%edx, %%edx" : : : "rax", "rdx", "cc")
#else
#define SAME_REGISTERS() __asm__ volatile("mov x0, 0\n mov x1, 0\n mov x2, 0\n cmp x0, 0" : : : "x0", "x1", "x2", "cc")
#endif
volatile unsigned long passes, sum, low, high, seen;
__attribute__((noinline)) static void differ(long count) {
    for (long i = 0; i < count; i++) {
        sum = sum * 3 + i; //@ hot
        passes++;
    }
}
__attribute__((noinline)) static void equal(long count) {
    while (passes < count) {
        low = passes % 64;
        high = passes / 64;
        passes++;
        SAME_REGISTERS();
        seen = high; //@ same
    }
}
int main(int argc, char **argv) {
    if (argv[1][0] == 'd')
        differ(atol(argv[2]));
    else
        equal(atol(argv[2]));
    return 0; //@ end
}
"#;

const STACK_POINTER: Register = match cfg!(target_arch = "x86_64") {
    true => Register(7),
    false => Register(31),
};

/// Runs to this hit of a line. Returns the registers there.
fn at_hit(program: &Program, [what, count]: [&str; 2], marker: &str, hit: u64) -> RegisterSet {
    let mut live = Live::launch(program, &[what, count]);
    let options = BreakpointOptions {
        hit_condition: Some(hit.to_string()),
        ..BreakpointOptions::default()
    };
    live.breakpoints(&[(marker, options)]);
    let reason = live.run();
    assert!(
        matches!(reason, Some(StopReason::Breakpoint(_))),
        "{reason:?}"
    );
    live.debugger
        .inferior
        .registers(live.thread)
        .expect("registers")
}

fn has_jump(live: &Live<'_>, addr: LoadAddr) -> bool {
    let site = live.debugger.inferior.sites.get(addr);
    site.expect("the site").has_jump()
}

/// Returns how many passes the debugger has compared.
fn compared(live: &Live<'_>) -> u64 {
    let end = live.debugger.stops.search_end.as_ref();
    end.expect("an end").compared()
}

/// Runs on; the program stops at what is taken for the end.
fn run_to_end(live: &mut Live<'_>) {
    let reason = live.run();
    assert!(matches!(reason, Some(StopReason::Pause)), "{reason:?}");
}

#[test]
fn end_is_found_by_registers() {
    alone(|| {
        for level in ["-O0", "-O2"] {
            let Some(program) = Program::build(SOURCE, level) else {
                return;
            };
            // By traps alone, and by a jump.
            for hit in [1, 9, 2345] {
                let registers = at_hit(&program, ["differ", "5000"], "hot", hit);
                let mut live = Live::launch(&program, &["differ", "5000"]);
                assert!(live.debugger.set_search_end(SearchEnd::new(registers)));
                run_to_end(&mut live);
                assert_eq!(live.global("passes"), hit - 1, "{level}");
                assert!(compared(&live) < 20, "{level}");
                assert_eq!(has_jump(&live, registers.pc()), hit > 16);
                // There is no other place like it.
                assert!(live.run().is_none());
            }
        }
    });
}

#[test]
fn end_is_found_by_learned_words() {
    alone(|| {
        let Some(program) = Program::build(SOURCE, "-O0") else {
            return;
        };
        const HIT: u64 = 1000;
        let (low, high) = ((HIT - 1) % 64, (HIT - 1) / 64);
        let registers = at_hit(&program, ["equal", "5000"], "same", HIT);
        let mut live = Live::launch(&program, &["equal", "5000"]);
        live.debugger.set_search_end(SearchEnd::new(registers));
        // The first pass has the same registers.
        run_to_end(&mut live);
        assert_eq!(live.global("passes"), 1);
        assert!(live.debugger.add_word_of_end(program.symbol("low"), low));
        // So have others the same word: code in the program finds the next, and is replaced.
        run_to_end(&mut live);
        assert_eq!(live.global("passes"), low + 1);
        assert!(has_jump(&live, registers.pc()));
        assert!(live.debugger.add_word_of_end(program.symbol("high"), high));
        assert!(!has_jump(&live, registers.pc()));
        run_to_end(&mut live);
        assert_eq!(live.global("passes"), HIT);
        // The code has told the other passes apart.
        assert!(compared(&live) < 25);
        assert!(has_jump(&live, registers.pc()));
        assert!(live.run().is_none());
    });
}

#[test]
fn word_that_cannot_be_read_is_not_the_end() {
    alone(|| {
        let Some(program) = Program::build(SOURCE, "-O0") else {
            return;
        };
        let registers = at_hit(&program, ["equal", "300"], "same", 100);
        let mut live = Live::launch(&program, &["equal", "300"]);
        live.debugger.set_search_end(SearchEnd::new(registers));
        live.debugger.add_word_of_end(LoadAddr(0x1_0000), 0);
        let ids = live.breakpoints(&[("end", BreakpointOptions::default())]);
        let reason = live.run();
        assert!(
            matches!(&reason, Some(StopReason::Breakpoint(at)) if *at == ids),
            "{reason:?}"
        );
        assert_eq!(live.global("passes"), 300);
        // Not looked for any more, it is no place to stop at.
        live.debugger.clear_search_end();
        assert!(live.debugger.inferior.sites.get(registers.pc()).is_none());
        assert!(live.run().is_none());
    });
}

#[test]
fn breakpoint_at_the_end_counts_the_passes_before_it() {
    alone(|| {
        for level in ["-O0", "-O2"] {
            let Some(program) = Program::build(SOURCE, level) else {
                return;
            };
            for hit in [9, 2345] {
                let registers = at_hit(&program, ["differ", "5000"], "hot", hit);
                let find =
                    |options: BreakpointOptions, targets: &dyn Fn(BreakpointId) -> Option<u64>| {
                        let mut live = Live::launch(&program, &["differ", "5000"]);
                        let id = live.breakpoints(&[("hot", options)])[0];
                        let targets = targets(id).map(|target| (id, target));
                        live.debugger.begin_counting(targets.into_iter().collect());
                        assert!(live.debugger.set_search_end(SearchEnd::new(registers)));
                        (live, id)
                    };
                for (options, expected) in [
                    (BreakpointOptions::default(), hit - 1),
                    (when("i % 3 == 0"), (hit - 1).div_ceil(3)),
                ] {
                    let (mut live, id) = find(options, &|_| None);
                    run_to_end(&mut live);
                    assert_eq!(live.global("passes"), hit - 1);
                    assert_eq!(has_jump(&live, registers.pc()), hit > 16);
                    // The pass that ends the search is none of those before it.
                    assert_eq!(live.debugger.passes(id), expected, "{level}");
                }
                // The last pass before the end is found, and then the end.
                let (mut live, id) = find(BreakpointOptions::default(), &|_| Some(hit - 1));
                let reason = live.run();
                assert!(
                    matches!(&reason, Some(StopReason::Breakpoint(at)) if *at == [id]),
                    "{reason:?}"
                );
                assert_eq!(live.global("passes"), hit - 2);
                run_to_end(&mut live);
                assert_eq!(live.global("passes"), hit - 1);
            }
        }
    });
}

#[test]
fn breakpoint_at_the_end_that_does_not_only_count_stops() {
    alone(|| {
        let Some(program) = Program::build(SOURCE, "-O0") else {
            return;
        };
        let registers = at_hit(&program, ["differ", "100"], "hot", 90);
        let mut live = Live::launch(&program, &["differ", "100"]);
        let ids = live.breakpoints(&[("hot", when("i == 60"))]);
        live.debugger.set_search_end(SearchEnd::new(registers));
        let reason = live.run();
        assert!(
            matches!(&reason, Some(StopReason::Breakpoint(at)) if *at == ids),
            "{reason:?}"
        );
        assert_eq!(live.global("passes"), 60);
        run_to_end(&mut live);
        assert_eq!(live.global("passes"), 89);
        assert_eq!(live.debugger.end_counting(), BTreeMap::from([(ids[0], 1)]));
    });
}

#[test]
fn breakpoints_at_one_place_and_the_end_count_in_the_program() {
    alone(|| {
        for level in ["-O0", "-O2"] {
            let Some(program) = Program::build(SOURCE, level) else {
                return;
            };
            const HIT: u64 = 2345;
            let registers = at_hit(&program, ["differ", "5000"], "hot", HIT);
            let run = |target: Option<u64>| {
                let mut live = Live::launch(&program, &["differ", "5000"]);
                let client = live.breakpoints(&[("hot", when("i % 3 == 0"))])[0];
                let frame = |register, value| {
                    vec![FramePlace {
                        addr: registers.pc(),
                        frame: Some((register, value)),
                    }]
                };
                let (sp, value) = (STACK_POINTER, registers.sp());
                let hidden = [frame(sp, value), frame(sp, value + 16)];
                let hidden = live.debugger.set_frame_places(&hidden);
                let targets = target.map(|target| (hidden[0], target));
                live.debugger.begin_counting(targets.into_iter().collect());
                assert!(live.debugger.set_search_end(SearchEnd::new(registers)));
                (live, client, hidden)
            };
            let (mut live, client, hidden) = run(None);
            run_to_end(&mut live);
            assert_eq!(live.global("passes"), HIT - 1);
            if cfg!(target_arch = "x86_64") {
                assert!(has_jump(&live, registers.pc()), "{level}");
                assert!(compared(&live) < 20, "{level}");
            }
            let passes =
                |live: &Live<'_>| [client, hidden[0], hidden[1]].map(|id| live.debugger.passes(id));
            assert_eq!(passes(&live), [(HIT - 1).div_ceil(3), HIT - 1, 0]);
            // The hit that stops is found among them, and counted.
            for target in [7, 1000] {
                let (mut live, ..) = run(Some(target));
                let reason = live.run();
                assert!(
                    matches!(&reason, Some(StopReason::Breakpoint(at)) if *at == [hidden[0]]),
                    "{reason:?}"
                );
                assert_eq!(live.global("passes"), target - 1);
                assert_eq!(passes(&live), [target.div_ceil(3), target, 0]);
                run_to_end(&mut live);
                assert_eq!(passes(&live), [(HIT - 1).div_ceil(3), HIT - 1, 0]);
            }
        }
    });
}
