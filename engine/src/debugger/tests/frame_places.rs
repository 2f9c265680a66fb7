//! Places that count while one frame executes them, as a step back searches them.

use super::live::{Live, Program, alone};
use crate::ids::{BreakpointId, BreakpointOptions};
use crate::stops::breakpoint::frame_places::FramePlace;
use crate::stops::event::StopReason;
use dwarf::{LoadAddr, Register};
use std::collections::BTreeMap;

const SOURCE: &str = r#"
#include <stdlib.h>
volatile long depths[64], in_frame, wanted = 5;
long work(long depth, long left) {
    long sum = 0;
    volatile char a = 0, b = 0;
    for (int i = 0; i < 20; i++) {
        depths[depth]++; //@ first
        a++;
        b += a;
        sum += b;
        if (i % 10 == 9 && left)
            sum += work(depth + 1, left - 1);
        a = b; //@ last
    }
    return sum; //@ back
}
int main(int argc, char **argv) {
    work(0, atol(argv[1]));
    return 0; //@ end
}
"#;

const FRAME_POINTER: Register = match cfg!(target_arch = "x86_64") {
    true => Register(6),
    false => Register(29),
};

/// Returns the addresses at which lines of the program begin, from one marker to another.
fn statements(live: &Live<'_>, program: &Program) -> Vec<LoadAddr> {
    let lines = program.line("first")..=program.line("last");
    let loaded = live.debugger.images.modules.program().expect("an image");
    let source = loaded.module.find_sources(&program.source_path());
    let source = source.first().expect("the source");
    let locations = lines.flat_map(|line| loaded.module.line_locations(source, line));
    let mut all: Vec<LoadAddr> = locations
        .filter(|location| location.is_stmt)
        .map(|location| loaded.bias.load(location.addr))
        .collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// The program at a stop in its frame of this depth.
struct Frame {
    pointer: u64,
    /// The statements of the loop, in order.
    statements: Vec<LoadAddr>,
}

fn frame_of(program: &Program, depth: u64) -> Frame {
    let mut live = Live::launch(program, &["10"]);
    let condition = format!("depth == {depth}");
    live.breakpoints(&[("first", super::live::when(&condition))]);
    assert!(matches!(live.run(), Some(StopReason::Breakpoint(_))));
    let registers = live.debugger.inferior.registers(live.thread);
    let registers = registers.expect("registers");
    Frame {
        pointer: registers.get(FRAME_POINTER).expect("the frame pointer"),
        statements: statements(&live, program),
    }
}

impl Frame {
    fn place(&self, addr: LoadAddr) -> FramePlace {
        FramePlace {
            addr,
            frame: Some((FRAME_POINTER, self.pointer)),
        }
    }
}

/// Launches the program with these places, and stops it at its end.
fn counting<'a>(
    program: &'a Program,
    wanted: &[Vec<FramePlace>],
    targets: &dyn Fn(&[BreakpointId]) -> BTreeMap<BreakpointId, u64>,
) -> (Live<'a>, Vec<BreakpointId>, BreakpointId) {
    let mut live = Live::launch(program, &["10"]);
    let end = live.breakpoints(&[("end", BreakpointOptions::default())])[0];
    let ids = live.debugger.set_frame_places(wanted);
    let mut targets = targets(&ids);
    targets.insert(end, 1);
    live.debugger.begin_counting(targets);
    (live, ids, end)
}

fn assert_stopped_at(reason: Option<StopReason>, id: BreakpointId) {
    match reason {
        Some(StopReason::Breakpoint(ids)) => assert_eq!(ids, [id]),
        other => panic!("{other:?}"),
    }
}

/// How often `work` is called at depths 0 to 8, and so how often a line of its loop is executed there.
fn passes(depth: u32) -> u64 {
    20 << depth
}

#[test]
fn statements_of_one_frame_are_counted() {
    alone(|| {
        let Some(program) = Program::build(SOURCE, "-O0") else {
            return;
        };
        const DEPTH: u32 = 6;
        let frame = frame_of(&program, DEPTH.into());
        let places = frame.statements.iter().map(|addr| frame.place(*addr));
        let each: Vec<Vec<FramePlace>> = places.clone().map(|place| vec![place]).collect();
        let (mut live, ids, end) = counting(&program, &each, &|_| BTreeMap::new());
        assert_stopped_at(live.run(), end);
        // All frames of this depth have one address; those of other depths do not count.
        let at = program.symbol("depths") + 8 * u64::from(DEPTH);
        assert_eq!(live.word(at), passes(DEPTH));
        assert_eq!(live.word(program.symbol("depths")), passes(0));
        let counts: Vec<u64> = ids.iter().map(|id| live.debugger.passes(*id)).collect();
        assert_eq!(counts[0], passes(DEPTH), "{counts:?}");
        assert_eq!(counts.last(), Some(&passes(DEPTH)), "{counts:?}");
        // One call in ten.
        let rare = counts.iter().filter(|count| **count == passes(DEPTH) / 10);
        assert!(rare.count() >= 1, "{counts:?}");
        let (slow, all) = without_jumps(&live, &frame.statements);
        assert!(slow * 4 <= all, "{slow} of {all} places keep their traps");
        assert!(live.reported.is_empty(), "{:?}", live.reported);
        // The same in one list.
        let together = [places.collect::<Vec<_>>()];
        let (mut live, ids, end) = counting(&program, &together, &|_| BTreeMap::new());
        assert_stopped_at(live.run(), end);
        assert_eq!(live.debugger.passes(ids[0]), counts.iter().sum::<u64>());
    });
}

/// Returns how many of these sites have no jump, and how many there are.
fn without_jumps(live: &Live<'_>, sites: &[LoadAddr]) -> (usize, usize) {
    let has_jump = |addr: &&LoadAddr| {
        let site = live.debugger.inferior.sites.get(**addr);
        site.expect("a site").has_jump()
    };
    (
        sites.len() - sites.iter().filter(has_jump).count(),
        sites.len(),
    )
}

#[test]
fn target_in_one_frame_stops_in_it() {
    alone(|| {
        let Some(program) = Program::build(SOURCE, "-O0") else {
            return;
        };
        for (depth, hit) in [(0, 15), (6, 777), (8, 20)] {
            let frame = frame_of(&program, depth.into());
            let first = [vec![frame.place(frame.statements[0])]];
            let (mut live, ids, end) = counting(&program, &first, &|ids| [(ids[0], hit)].into());
            assert_stopped_at(live.run(), ids[0]);
            let at = program.symbol("depths") + 8 * u64::from(depth);
            assert_eq!(live.word(at), hit - 1);
            let registers = live.debugger.inferior.registers(live.thread);
            let registers = registers.expect("registers");
            assert_eq!(registers.pc(), frame.statements[0]);
            assert_eq!(registers.get(FRAME_POINTER), Some(frame.pointer));
            assert_stopped_at(live.run(), end);
            assert_eq!(live.debugger.passes(ids[0]), passes(depth));
            // They are gone without a trace.
            live.debugger.set_frame_places(&[]);
            assert!(
                live.debugger
                    .inferior
                    .sites
                    .get(frame.statements[0])
                    .is_none()
            );
            assert!(live.run().is_none());
        }
    });
}
