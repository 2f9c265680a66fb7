//! Hits that are only counted, compared with what the program counts itself.

use super::live::{Live, Program, alone, when};
use crate::debugger::Debugger;
use crate::ids::{BreakpointId, BreakpointOptions};
use crate::stops::breakpoint::FunctionBreakpoint;
use crate::stops::breakpoint::watch::{DataAccess, DataBreakpoint};
use crate::stops::event::StopReason;
use std::collections::BTreeMap;

const SOURCE: &str = r#"
#include <stdlib.h>
#if __x86_64__
// A jump over the first byte would contain what a branch leads to, and lead to no address.
#define NARROW() __asm__ volatile("nop\n 1: add $-128, %%rax\n jo 1b" : : : "rax", "cc")
#else
#define NARROW() __asm__ volatile("nop")
#endif
volatile long passes, thirds, wide, other;
static void count_wide(void) {
    wide++;
}
static void count_other(void) {
    other++;
}
static void count_narrow(void) {
    NARROW(); //@ narrow
}
int main(int argc, char **argv) {
    long count = atol(argv[1]);
    for (long i = 0; i < count; i++) {
        passes++; //@ hot
        thirds += i % 3 == 0; //@ third
        count_wide();
        count_narrow();
        count_other();
    }
    return 0; //@ end
}
"#;

/// Launches the program with these breakpoints and one on its end, in the counting mode. The targets of
/// the former are given, where there are some.
fn counting<'a>(
    program: &'a Program,
    count: u64,
    wanted: &[(&str, BreakpointOptions, Option<u64>)],
) -> (Live<'a>, Vec<BreakpointId>) {
    let mut live = Live::launch(program, &[&count.to_string()]);
    let mut lines: Vec<_> = wanted
        .iter()
        .map(|(marker, options, _)| (*marker, options.clone()))
        .collect();
    lines.push(("end", BreakpointOptions::default()));
    let ids = live.breakpoints(&lines);
    let numbers = wanted.iter().map(|(.., target)| *target).chain([Some(1)]);
    let targets = ids.iter().copied().zip(numbers);
    let targets = targets.filter_map(|(id, target)| Some((id, target?)));
    live.debugger.begin_counting(targets.collect());
    (live, ids)
}

fn is_in_program(debugger: &Debugger, id: BreakpointId) -> bool {
    debugger.breakpoint(id).expect("it").is_in_program
}

fn assert_stopped_at(reason: Option<StopReason>, id: BreakpointId) {
    match reason {
        Some(StopReason::Breakpoint(ids)) => assert_eq!(ids, [id]),
        other => panic!("{other:?}"),
    }
}

#[test]
fn counted_hits_are_those_of_the_program() {
    alone(|| {
        let Some(program) = Program::build(SOURCE, "-O0") else {
            return;
        };
        // Fewer hits than it takes to get a jump, and more.
        for count in [15, 3000] {
            let quiet = BreakpointOptions {
                hit_condition: Some("once".to_owned()),
                log_message: Some("pass {i}".to_owned()),
                ..BreakpointOptions::default()
            };
            let third = BreakpointOptions {
                hit_condition: Some("2".to_owned()),
                ..when("i % 3 == 0")
            };
            let traced = BreakpointOptions {
                trace: Some("count()".to_owned()),
                ..BreakpointOptions::default()
            };
            let wanted = [
                ("hot", quiet, None),
                ("third", third, None),
                ("narrow", traced, None),
            ];
            let (mut live, ids) = counting(&program, count, &wanted);
            assert_stopped_at(live.run(), ids[3]);
            assert_eq!(live.global("passes"), count);
            let thirds = live.global("thirds");
            assert_eq!(thirds, count.div_ceil(3));
            let fast = count > 100;
            assert_eq!(is_in_program(&live.debugger, ids[0]), fast);
            assert_eq!(is_in_program(&live.debugger, ids[1]), fast);
            if cfg!(target_arch = "x86_64") {
                assert!(!is_in_program(&live.debugger, ids[2]), "it keeps its trap");
            }
            let expected = [count, thirds, count, 1];
            assert_eq!(
                ids.iter()
                    .map(|id| live.debugger.passes(*id))
                    .collect::<Vec<_>>(),
                expected
            );
            let ended = live.debugger.end_counting();
            assert_eq!(ended, ids.iter().copied().zip(expected).collect());
            assert_eq!(live.debugger.stops.breakpoints.hits(ids[2]), 0);
            let reported = &live.reported;
            assert!(reported.is_empty(), "{reported:?}");
        }
    });
}

#[test]
fn target_stops_at_the_hit_with_its_number() {
    alone(|| {
        let Some(program) = Program::build(SOURCE, "-O0") else {
            return;
        };
        // By a trap, by a jump, and where there is no jump.
        for (marker, target) in [("hot", 1), ("hot", 9), ("hot", 2345), ("narrow", 100)] {
            let once = BreakpointOptions {
                hit_condition: Some(">= 3".to_owned()),
                log_message: Some("pass".to_owned()),
                ..BreakpointOptions::default()
            };
            let (mut live, ids) = counting(&program, 3000, &[(marker, once, Some(target))]);
            assert_stopped_at(live.run(), ids[0]);
            let done = u64::from(marker == "narrow");
            assert_eq!(live.global("passes"), target - 1 + done);
            assert_eq!(live.debugger.passes(ids[0]), target);
            // The others count on.
            assert_stopped_at(live.run(), ids[1]);
            assert_eq!(live.debugger.passes(ids[0]), 3000);
            assert!(live.reported.is_empty(), "{:?}", live.reported);
        }
    });
}

#[test]
fn traps_and_jumps_of_one_breakpoint_share_their_count() {
    alone(|| {
        let Some(program) = Program::build(SOURCE, "-O0") else {
            return;
        };
        let run = |target: Option<u64>| {
            let (mut live, ends) = counting(&program, 1000, &[]);
            let wanted = [FunctionBreakpoint {
                name: "/^count_/".to_owned(),
                options: BreakpointOptions::default(),
            }];
            let id = live.debugger.set_function_breakpoints(&wanted)[0].id;
            let targets = target.map(|target| (id, target)).into_iter();
            let targets = targets.chain([(ends[0], 1)]).collect();
            live.debugger.begin_counting(targets);
            let reason = live.run();
            assert_stopped_at(reason, target.map_or(ends[0], |_| id));
            (live.debugger.passes(id), live.global("wide"))
        };
        assert_eq!(run(None), (3000, 1000));
        assert_eq!(run(Some(1501)), (1501, 500));
        assert_eq!(run(Some(1502)), (1502, 501));
        assert_eq!(run(Some(1503)), (1503, 501));
    });
}

#[test]
fn accesses_of_data_are_counted() {
    alone(|| {
        let Some(program) = Program::build(SOURCE, "-O0") else {
            return;
        };
        let (mut live, ends) = counting(&program, 100, &[]);
        let data = live.debugger.watchable_at(program.symbol("passes"), 8);
        let wanted = DataBreakpoint {
            data: data.expect("data"),
            access: DataAccess::Write,
            by_steps: false,
            options: BreakpointOptions::default(),
        };
        let id = live.debugger.set_data_breakpoints(&[wanted])[0].id;
        let targets = BTreeMap::from([(id, 60), (ends[0], 1)]);
        live.debugger.begin_counting(targets);
        let reason = live.run();
        assert!(
            matches!(&reason, Some(StopReason::Data(ids, text)) if *ids == [id] && text.ends_with("59 -> 60")),
            "{reason:?}"
        );
        assert_stopped_at(live.run(), ends[0]);
        assert_eq!(live.debugger.passes(id), 100);
    });
}

#[test]
fn hit_whose_condition_fails_counts() {
    alone(|| {
        let Some(program) = Program::build(SOURCE, "-O0") else {
            return;
        };
        let fails = || when("i % 2 == 0 && *(int *)8 == 0");
        let (mut live, ids) = counting(&program, 60, &[("hot", fails(), None)]);
        assert_stopped_at(live.run(), ids[1]);
        assert_eq!(live.debugger.passes(ids[0]), 30);
        let (mut live, ids) = counting(&program, 60, &[("hot", fails(), Some(20))]);
        let reason = live.run();
        assert!(
            matches!(&reason, Some(StopReason::BreakpointError(at, _)) if *at == [ids[0]]),
            "{reason:?}"
        );
        assert_eq!(live.global("passes"), 38);
    });
}
