use super::*;
use crate::ids::HitCondition;
use crate::os::RegisterSet;
use std::time::Duration;

const A: BreakpointId = BreakpointId(1);
const B: BreakpointId = BreakpointId(2);
const C: BreakpointId = BreakpointId(3);

fn search(goal: Goal, after: usize) -> Search {
    let end = Mark {
        event: 7,
        registers: RegisterSet::zeroed(),
        has_red_zone: true,
    };
    Search::new(goal, end, snapshots(after), Behind::default(), false)
}

fn search_from(goal: Goal, snapshots: Vec<SnapshotPlace>) -> Search {
    let last = snapshots.len() - 1;
    let end = search(goal, 0).end;
    Search::new(goal, end, (snapshots, last), Behind::default(), false)
}

/// Snapshots up to one of an index, which is that of the event that follows, too.
fn snapshots(last: usize) -> (Vec<SnapshotPlace>, usize) {
    ((0..=last).map(|nth| at_event(nth, nth)).collect(), last)
}

/// A snapshot before the event `next`, so many seconds after the first one.
fn at_event(next: usize, seconds: usize) -> SnapshotPlace {
    SnapshotPlace {
        next,
        time: Duration::from_secs(seconds as u64),
        is_at_event: true,
    }
}

fn between(next: usize, seconds: usize) -> SnapshotPlace {
    SnapshotPlace {
        is_at_event: false,
        ..at_event(next, seconds)
    }
}

fn hits(all: &[(BreakpointId, u64)]) -> BTreeMap<BreakpointId, Hits> {
    let hits = |passed| Hits {
        passed,
        until_end: 100,
        stops: None,
    };
    all.iter()
        .map(|(id, passed)| (*id, hits(*passed)))
        .collect()
}

fn numbered(passed: u64, until_end: u64, stops: Option<HitCondition>) -> Hits {
    Hits {
        passed,
        until_end,
        stops,
    }
}

fn exactly(nth: u64) -> Option<HitCondition> {
    Some(HitCondition::Exactly(nth))
}

fn no_line(_: BreakpointId) -> Option<u64> {
    None
}

#[test]
fn last_of_the_last_hits_is_found() {
    let mut search = search(Goal::Stop, 4);
    assert_eq!(
        search.on_stop(&[], Led::Own, no_line),
        Next::Run,
        "an exception"
    );
    assert_eq!(search.at_end(&hits(&[(A, 5), (B, 2)])), Next::Replay);
    assert_eq!(search.targets(), BTreeMap::from([(A, 5), (B, 2)]));
    search.begin_pass();
    assert_eq!(search.on_stop(&[B], Led::Own, no_line), Next::Run);
    assert_eq!(search.on_stop(&[], Led::Own, no_line), Next::Run);
    assert_eq!(search.on_stop(&[A], Led::Own, no_line), Next::Found);
    assert_eq!((search.first, search.counted(A)), (4, Some(5)));
}

#[test]
fn replays_are_kept_before_the_last_of_many_hits() {
    let mut search = search(Goal::Stop, 4);
    let stops = |search: &mut Search| search.on_stop(&[A], Led::Own, no_line);
    assert_eq!(search.at_end(&hits(&[(A, 5000)])), Next::Replay);
    assert_eq!(search.targets(), BTreeMap::from([(A, 5000 - 512)]));
    assert_eq!(stops(&mut search), Next::Keep(Kept::Far));
    assert_eq!(search.from(), From::Kept(Kept::Far));
    assert_eq!(search.at_end(&hits(&[(A, 512)])), Next::Replay);
    assert_eq!(search.targets(), BTreeMap::from([(A, 512 - 8)]));
    assert_eq!(stops(&mut search), Next::Keep(Kept::Near));
    assert_eq!(search.at_end(&hits(&[(A, 8)])), Next::Replay);
    assert_eq!(search.targets(), BTreeMap::from([(A, 8)]));
    assert_eq!(stops(&mut search), Next::Found);
    let both = Behind {
        far: true,
        near: true,
    };
    assert_eq!((search.behind(), search.counted(A)), (both, Some(8)));

    // The next search begins there, and before that once there are no hits left.
    let mut search = Search::new(Goal::Stop, search.end, snapshots(4), both, false);
    assert_eq!(search.from(), From::Kept(Kept::Near));
    assert_eq!(search.at_end(&hits(&[])), Next::Replay);
    assert_eq!(search.from(), From::Kept(Kept::Far));
    assert_eq!(search.at_end(&hits(&[(A, 500)])), Next::Replay);
    assert_eq!(search.targets(), BTreeMap::from([(A, 500 - 8)]));
    assert_eq!(stops(&mut search), Next::Keep(Kept::Near));
    assert_eq!(search.at_end(&hits(&[(A, 8)])), Next::Replay);
    assert_eq!(search.targets(), BTreeMap::from([(A, 8)]));
}

#[test]
fn the_last_of_several_breakpoints_is_found_at_once() {
    let mut search = search(Goal::Stop, 4);
    assert_eq!(search.at_end(&hits(&[(A, 5000), (B, 1)])), Next::Replay);
    assert_eq!(search.targets(), BTreeMap::from([(A, 5000), (B, 1)]));
}

#[test]
fn last_hit_that_was_found_before_is_passed_over() {
    let mut search = search(Goal::Write, 4);
    search.skip_last();
    // Only that one is behind the snapshot.
    assert_eq!(search.at_end(&hits(&[(A, 1)])), Next::Replay);
    assert_eq!((search.first, search.phase.clone()), (3, Phase::Count));
    // The pass before ends there.
    assert_eq!(search.at_end(&hits(&[(A, 4)])), Next::Replay);
    assert_eq!(search.targets(), BTreeMap::from([(A, 4)]));
}

#[test]
fn passes_end_at_the_event_that_the_one_before_began_at() {
    // Snapshots behind the events 0, 10, 20 and 30, after 1 s each, and two at no event.
    let mut snapshots: Vec<SnapshotPlace> = (0..4).map(|nth| at_event(10 * nth, nth)).collect();
    snapshots.extend([between(32, 4), between(32, 5)]);
    let mut search = search_from(Goal::Stop, snapshots);
    let mut passes = vec![(search.first, search.until())];
    while search.at_end(&hits(&[])) == Next::Replay {
        passes.push((search.first, search.until()));
    }
    let expected = [
        (5, None),
        (4, None),
        (3, None),
        (2, Some(30)),
        (1, Some(20)),
        (0, Some(10)),
    ];
    assert_eq!(passes, expected);
    assert_eq!(search.at_end(&hits(&[])), Next::Begin);
}

#[test]
fn passes_that_end_nowhere_else_are_few() {
    // After 800 ms, 700, 400, ... of a program that makes no calls.
    let times = [0, 100, 400, 700, 780, 790, 797, 800];
    let snapshots = times.map(|ms| SnapshotPlace {
        next: 7,
        time: Duration::from_millis(ms),
        is_at_event: false,
    });
    let mut search = search_from(Goal::Stop, snapshots.to_vec());
    let mut begins = vec![search.first];
    while search.at_end(&hits(&[])) == Next::Replay {
        assert_eq!(search.until(), None);
        begins.push(search.first);
    }
    // The lengths: at least 0.4, 1.6, 6.3, 25, 100 ms, and all.
    let lengths = begins.iter().map(|nth| 800 - times[*nth]);
    assert_eq!(lengths.collect::<Vec<_>>(), [0, 3, 10, 100, 800]);
    assert_eq!(search.at_end(&hits(&[])), Next::Begin);
}

#[test]
fn statements_are_searched_up_to_the_end() {
    let snapshots = (0..4).map(|nth| at_event(10 * nth, nth)).collect();
    let mut search = search_from(Goal::Setter, snapshots);
    while search.at_end(&hits(&[])) == Next::Replay {
        assert_eq!(search.until(), None);
    }
    assert_eq!(search.first, 0);
}

#[test]
fn hits_of_a_pass_are_numbered_without_the_later_ones() {
    // Of 100 hits, the last pass has 10, the one before 20: the 75th is the fifth of those.
    let hits = |passed, nth| BTreeMap::from([(A, numbered(passed, 100, exactly(nth)))]);
    let mut search = search(Goal::Stop, 5);
    assert_eq!(search.at_end(&hits(10, 75)), Next::Replay);
    assert_eq!((search.first, search.until()), (4, Some(5)));
    assert_eq!(search.at_end(&hits(20, 75)), Next::Replay);
    assert_eq!(search.targets(), BTreeMap::from([(A, 5)]));
    assert_eq!(search.counted(A), Some(30), "until the end of the search");
    assert_eq!(search.on_stop(&[A], Led::Own, no_line), Next::Found);
}

#[test]
fn breakpoint_whose_numbers_are_not_known_is_counted_from_the_begin_to_the_end() {
    let unknown = |passed| BTreeMap::from([(A, numbered(passed, 15, exactly(3)))]);
    let mut search = search(Goal::Stop, 5);
    assert_eq!(search.at_end(&unknown(10)), Next::Replay);
    assert_eq!((search.first, search.until()), (4, Some(5)));
    // With the later ones, these are more than it had.
    assert_eq!(search.at_end(&unknown(10)), Next::Replay);
    assert_eq!((search.first, search.until()), (0, None));
    assert_eq!(search.at_end(&unknown(20)), Next::Replay);
    assert_eq!(search.targets(), BTreeMap::from([(A, 3)]));
    assert_eq!(search.counted(A), Some(20));
}

#[test]
fn hit_conditions_select_by_numbers_from_the_start() {
    // The hits 91 to 100.
    assert_eq!(numbered(10, 100, None).last(), Some(10));
    assert_eq!(numbered(10, 100, exactly(93)).last(), Some(3));
    assert_eq!(numbered(10, 100, exactly(3)).last(), None);
    // It was set after them: they are numbered from the start, which must be known.
    assert!(numbered(10, 4, exactly(3)).are_unknown());
    assert!(!numbered(10, 4, None).are_unknown());
    assert_eq!(numbered(10, 4, exactly(3)).last(), Some(3));
    let mut search = search(Goal::Stop, 8);
    let unknown = BTreeMap::from([(A, numbered(10, 4, exactly(3)))]);
    assert_eq!((search.at_end(&unknown), search.first), (Next::Replay, 0));
    assert_eq!(search.at_end(&unknown), Next::Replay);
    assert_eq!(search.targets(), BTreeMap::from([(A, 3)]));
}

#[test]
fn step_begins_at_the_last_statement_of_another_line() {
    let line = |id| Some(if id == C { 2 } else { 1 });
    let mut search = search(Goal::Step, 1);
    assert_eq!(
        search.at_end(&hits(&[(A, 5), (B, 6), (C, 9)])),
        Next::Replay
    );
    assert_eq!(search.on_stop(&[C], Led::Own, line), Next::Run);
    assert_eq!(search.on_stop(&[B], Led::Own, line), Next::Run);
    assert_eq!(search.on_stop(&[A], Led::Own, line), Next::Replay);
    assert_eq!(search.targets(), BTreeMap::from([(C, 9)]));
    assert_eq!(search.on_stop(&[C], Led::Own, line), Next::Step);
    assert_eq!(search.on_stop(&[], Led::Own, line), Next::StepOn);
    assert_eq!(search.on_stop(&[], Led::Own, line), Next::StepOn);
    assert_eq!(search.at_end(&hits(&[])), Next::ReplaySteps);
    assert_eq!(search.on_stop(&[], Led::Own, line), Next::StepOn);
    assert_eq!(search.on_stop(&[], Led::Own, line), Next::Found);
}

#[test]
fn order_of_hits_that_is_known_needs_no_pass() {
    let line = |id| Some(if id == C { 2 } else { 1 });
    let counted = hits(&[(A, 1), (B, 2), (C, 2)]);
    let mut search = search(Goal::Step, 1);
    assert_eq!(search.at_end(&counted), Next::Replay);
    let hits = [C, B, A, C, B];
    assert_eq!(search.skip_order(&hits[1..], line), None, "not all");
    assert_eq!(search.skip_order(&hits, line), Some(Next::Replay));
    assert_eq!(search.targets(), BTreeMap::from([(C, 2)]));
    assert_eq!(search.on_stop(&[C], Led::Own, line), Next::Step);
    assert_eq!(search.skip_order(&hits, line), None, "of other passes");
}

#[test]
fn step_back_over_leads_to_no_deeper_frame() {
    let line = |id| Some(if id == C { 2 } else { 1 });
    let mut search = search(Goal::Step, 1);
    let counted = hits(&[(B, 6), (C, 9)]);
    assert_eq!(search.at_end(&counted), Next::Replay);
    assert_eq!(search.on_stop(&[C], Led::Own, line), Next::Run);
    assert_eq!(search.on_stop(&[B], Led::Own, line), Next::Replay);
    assert_eq!(search.on_stop(&[C], Led::Own, line), Next::Step);
    for led in [Led::Outer, Led::Own, Led::Deeper, Led::Deeper] {
        assert_eq!(search.on_stop(&[], led, line), Next::StepOn);
    }
    assert_eq!(search.at_end(&hits(&[])), Next::ReplaySteps);
    assert_eq!(search.on_stop(&[], Led::Outer, line), Next::StepOn);
    assert_eq!(search.on_stop(&[], Led::Own, line), Next::Found);
}

#[test]
fn instruction_is_stepped_to_from_the_last_statement() {
    let mut search = search(Goal::Instruction, 1);
    assert_eq!(search.at_end(&hits(&[(A, 5), (B, 6)])), Next::Replay);
    assert_eq!(search.on_stop(&[A], Led::Own, no_line), Next::Run);
    // Its line is that of the end: the instruction before may be in it.
    assert_eq!(search.on_stop(&[B], Led::Own, no_line), Next::Step);
    assert_eq!(search.on_stop(&[], Led::Own, no_line), Next::StepOn);
    assert_eq!(search.at_end(&hits(&[])), Next::ReplaySteps);
    assert_eq!(search.on_stop(&[], Led::Own, no_line), Next::Found);
}

#[test]
fn function_whose_return_is_not_found_is_stepped_through() {
    let mut search = search(Goal::Instruction, 1);
    assert_eq!(search.at_end(&hits(&[(A, 5)])), Next::Replay);
    assert_eq!(search.on_stop(&[A], Led::Own, no_line), Next::Step);
    assert_eq!(search.at_end(&hits(&[])), Next::ReplaySteps);
    search.seek_return();
    assert_eq!(search.on_stop(&[], Led::Own, no_line), Next::Run);
    assert!(!search.goes_into_calls());
    assert_eq!(search.at_end(&hits(&[])), Next::ReplaySteps);
    assert!(search.goes_into_calls() && search.is_stepping());
    search.seek_return();
    assert_eq!(search.on_stop(&[B], Led::Own, no_line), Next::Found);
}

#[test]
fn line_that_began_before_the_snapshot_is_searched_earlier() {
    let mut search = search(Goal::Step, 1);
    let line = |_| Some(1);
    assert_eq!(search.at_end(&hits(&[(A, 5), (B, 6)])), Next::Replay);
    assert_eq!(search.on_stop(&[B], Led::Own, line), Next::Run);
    assert_eq!(search.on_stop(&[A], Led::Own, line), Next::Replay);
    assert_eq!((search.first, search.phase), (0, Phase::Count));
}

/// A search for a step whose end is passed so often.
fn hot(behind: Behind, passed: u64) -> Search {
    let end = search(Goal::Step, 0).end;
    let mut search = Search::new(Goal::Step, end, snapshots(3), behind, true);
    if !behind.near {
        assert!(search.approaches());
        assert_eq!(search.at_end(&hits(&[(A, passed)])), Next::Replay);
    }
    search
}

/// Lets a search stop where it keeps a replay. Returns which, and the pass.
fn kept(search: &mut Search) -> (Kept, u64) {
    let number = search.target_near().unwrap();
    match search.on_stop(&[A], Led::Own, no_line) {
        Next::Keep(kept) => (kept, number),
        next => panic!("{next:?}"),
    }
}

#[test]
fn hot_places_are_approached_first() {
    const MANY: u64 = 1_000_000;
    const FAR: u64 = NEAR * FARTHER;
    assert_eq!(
        hot(Behind::default(), NEAR).phase,
        Phase::Count,
        "few passes"
    );
    let mut few = hot(Behind::default(), FAR);
    assert_eq!(kept(&mut few), (Kept::Near, FAR - NEAR));
    let mut search = hot(Behind::default(), MANY);
    assert_eq!(kept(&mut search), (Kept::Far, MANY - FAR));
    assert_eq!(
        (search.from(), search.approaches()),
        (From::Kept(Kept::Far), true)
    );
    assert_eq!(search.at_end(&hits(&[(A, FAR)])), Next::Replay);
    assert_eq!(kept(&mut search), (Kept::Near, FAR - NEAR));
    assert_eq!(
        (search.from(), search.approaches()),
        (From::Kept(Kept::Near), false)
    );
    let both = Behind {
        far: true,
        near: true,
    };
    assert_eq!(search.behind(), both);
    // The statement was passed before the near one.
    assert_eq!(search.at_end(&hits(&[])), Next::Replay);
    assert_eq!(search.from(), From::Kept(Kept::Far));
    assert_eq!(
        search.behind(),
        Behind {
            near: false,
            ..both
        }
    );
    // And before the far one.
    for times in [FARTHER, FARTHER * FARTHER] {
        assert_eq!(search.at_end(&hits(&[])), Next::Replay);
        match MANY.checked_sub(FAR * times) {
            Some(number) => assert_eq!(kept(&mut search), (Kept::Far, number)),
            None => assert_eq!(search.phase, Phase::Count),
        }
    }
    assert_eq!(search.from(), From::Snapshot(3));
    assert_eq!(search.at_end(&hits(&[])), Next::Replay);
    assert_eq!(search.from(), From::Snapshot(2));
}

#[test]
fn near_replay_that_is_passed_is_replaced_from_the_far_one() {
    let mut search = hot(
        Behind {
            far: true,
            near: true,
        },
        0,
    );
    assert_eq!(search.from(), From::Kept(Kept::Near));
    assert_eq!(search.at_end(&hits(&[])), Next::Replay);
    assert_eq!(
        (search.from(), search.approaches()),
        (From::Kept(Kept::Far), true)
    );
    assert_eq!(search.at_end(&hits(&[(A, 500)])), Next::Replay);
    assert_eq!(kept(&mut search), (Kept::Near, 500 - NEAR));
    // The far one is passed, too.
    let mut search = hot(
        Behind {
            far: true,
            near: false,
        },
        3,
    );
    assert_eq!(search.phase, Phase::Count);
    assert_eq!(search.at_end(&hits(&[])), Next::Replay);
    assert_eq!(
        (search.from(), search.approaches()),
        (From::Snapshot(3), true)
    );
    assert_eq!(search.at_end(&hits(&[(A, 1_000_000)])), Next::Replay);
    assert_eq!(kept(&mut search).0, Kept::Far);
    assert_eq!(search.at_end(&hits(&[(A, 1024)])), Next::Replay);
    assert_eq!(kept(&mut search).0, Kept::Near);
}

#[test]
fn replay_that_misses_what_another_has_counted_is_noticed() {
    let mut search = search(Goal::Stop, 1);
    assert_eq!(search.at_end(&hits(&[(A, 5)])), Next::Replay);
    assert_eq!(search.at_end(&hits(&[(A, 5)])), Next::Lost);
}

#[test]
fn numbered_hit_is_the_end_or_was_not_reached() {
    let wanted = |number| NumberedHit {
        breakpoint: A,
        number,
        at_end: 1,
    };
    let begun = |number| search(Goal::Hit(wanted(number)), 0);
    // The first pass stops there.
    let mut there = begun(3);
    assert_eq!(there.targets(), BTreeMap::from([(A, 3)]));
    assert_eq!(there.on_stop(&[], Led::Own, no_line), Next::Run);
    assert_eq!(there.on_stop(&[B], Led::Own, no_line), Next::Run);
    assert_eq!(there.on_stop(&[A], Led::Own, no_line), Next::Found);
    // Two before the end, and one there.
    assert_eq!(begun(3).at_end(&hits(&[(A, 2)])), Next::End);
    assert_eq!(begun(4).at_end(&hits(&[(A, 2)])), Next::Fewer(3));
    assert_eq!(begun(2).at_end(&hits(&[])), Next::Fewer(1));
}
