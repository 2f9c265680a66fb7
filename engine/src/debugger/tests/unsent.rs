//! Stops whose breakpoints the client removes before it is sent the event.

use super::*;
use crate::ids::BreakpointId;
use crate::stops::breakpoint::InstructionBreakpoint;

/// Replaces the breakpoints by some on instructions.
fn set(debugger: &mut Debugger, addresses: &[LoadAddr]) -> Vec<BreakpointId> {
    let wanted: Vec<InstructionBreakpoint> = addresses
        .iter()
        .map(|address| InstructionBreakpoint {
            address: *address,
            options: Default::default(),
        })
        .collect();
    let infos = debugger.set_instruction_breakpoints(&wanted);
    assert!(infos.iter().all(|info| info.verified), "{infos:?}");
    infos.iter().map(|info| info.id).collect()
}

/// A running process with a breakpoint at [`SITE`].
fn with_breakpoint() -> (Debugger, Fake) {
    let (mut debugger, fake) = running_of_fake_set();
    set(&mut debugger, &[SITE]);
    (debugger, fake)
}

/// Lets a thread hit the breakpoint; its stop is in the queue of events.
fn hit(debugger: &mut Debugger, fake: &Fake, thread: ThreadId) {
    fake_trap(fake, thread, SITE);
    debugger.collect_stops();
    assert!(debugger.has_events());
    fake.0.borrow_mut().log.clear();
}

fn resumed(fake: &Fake) -> Vec<String> {
    let log = fake.0.borrow().log.clone();
    let is_resumed = |entry: &String| entry.starts_with("continue") || entry.starts_with("step");
    log.into_iter().filter(is_resumed).collect()
}

#[test]
fn stop_of_a_removed_breakpoint_is_withdrawn() {
    let (mut debugger, fake) = with_breakpoint();
    hit(&mut debugger, &fake, OTHER);
    set(&mut debugger, &[]);
    assert!(next_stop(&mut debugger).is_none());
    assert_eq!(debugger.state(), State::Running);
    assert_eq!(resumed(&fake), ["continue 7", "continue 8"]);
    assert_eq!(pc(&fake, OTHER), SITE);
}

#[test]
fn stop_of_one_breakpoint_stays_when_another_is_removed() {
    let (mut debugger, fake) = running_of_fake_set();
    set(&mut debugger, &[SITE, SITE + 8]);
    hit(&mut debugger, &fake, OTHER);
    let ids = set(&mut debugger, &[SITE]);
    let (thread, reason) = next_stop(&mut debugger).unwrap();
    assert!(
        matches!(&reason, StopReason::Breakpoint(hit) if *hit == ids),
        "{reason:?}"
    );
    assert_eq!((thread, debugger.state()), (OTHER, State::Stopped));
    // Nor once it has been sent.
    set(&mut debugger, &[]);
    assert!(next_stop(&mut debugger).is_none());
    assert_eq!(debugger.state(), State::Stopped);
}

#[test]
fn breakpoint_set_at_a_withdrawn_stop_is_hit() {
    let (mut debugger, fake) = with_breakpoint();
    hit(&mut debugger, &fake, OTHER);
    set(&mut debugger, &[]);
    let ids = set(&mut debugger, &[SITE]);
    assert!(next_stop(&mut debugger).is_none());
    assert_eq!(pc(&fake, OTHER), SITE);
    fake_trap(&fake, OTHER, SITE);
    let (_, reason) = next_stop(&mut debugger).unwrap();
    assert!(
        matches!(&reason, StopReason::Breakpoint(hit) if *hit == ids),
        "{reason:?}"
    );
}

#[test]
fn hit_of_the_breakpoint_that_stays_is_counted_once() {
    let (mut debugger, fake) = with_breakpoint();
    let second = crate::stops::breakpoint::Spec::Instruction(SITE);
    let options = crate::ids::BreakpointOptions {
        hit_condition: Some("2".to_owned()),
        ..Default::default()
    };
    let (ids, _) = (debugger.stops.breakpoints).replace(Vec::new(), vec![(second, options)]);
    debugger.rebind(ids[0]);
    hit(&mut debugger, &fake, OTHER);
    set(&mut debugger, &[]);
    assert!(next_stop(&mut debugger).is_none());
    // It has been gone past.
    assert_eq!(pc(&fake, OTHER), SITE + 4);
    fake_trap(&fake, OTHER, SITE);
    assert!(next_stop(&mut debugger).is_some(), "the second hit");
}

#[test]
fn pause_keeps_the_stop_of_a_removed_breakpoint() {
    let (mut debugger, fake) = with_breakpoint();
    hit(&mut debugger, &fake, OTHER);
    debugger.interrupt(LEADER).unwrap();
    set(&mut debugger, &[]);
    let (thread, reason) = next_stop(&mut debugger).unwrap();
    assert!(matches!(reason, StopReason::Pause), "{reason:?}");
    assert_eq!((thread, debugger.state()), (OTHER, State::Stopped));
}

#[test]
fn step_ended_by_a_removed_breakpoint_is_reported() {
    let (mut debugger, fake) = with_breakpoint();
    debugger.interrupt(LEADER).unwrap();
    assert!(next_stop(&mut debugger).is_some());
    let step = (StepKind::Over, Granularity::Instruction);
    debugger
        .step(LEADER, step.0, step.1, ResumeScope::All)
        .unwrap();
    hit(&mut debugger, &fake, OTHER);
    set(&mut debugger, &[]);
    let (_, reason) = next_stop(&mut debugger).unwrap();
    assert!(matches!(reason, StopReason::Step), "{reason:?}");
}

#[test]
fn thread_that_was_stopped_before_a_withdrawn_stop_stays_so() {
    let (mut debugger, fake) = with_breakpoint();
    debugger.interrupt(LEADER).unwrap();
    assert!(next_stop(&mut debugger).is_some());
    debugger.resume(OTHER, ResumeScope::One).unwrap();
    hit(&mut debugger, &fake, OTHER);
    set(&mut debugger, &[]);
    assert!(next_stop(&mut debugger).is_none());
    assert_eq!(resumed(&fake), ["continue 8"]);
}

#[test]
fn non_stop_thread_runs_on_after_a_withdrawn_stop() {
    let (mut debugger, fake) = with_breakpoint();
    debugger.set_non_stop(true);
    hit(&mut debugger, &fake, OTHER);
    set(&mut debugger, &[]);
    assert!(next_stop(&mut debugger).is_none());
    assert_eq!(resumed(&fake), ["continue 8"]);
    // A pause of another thread does not keep it.
    set(&mut debugger, &[SITE]);
    hit(&mut debugger, &fake, OTHER);
    debugger.interrupt(LEADER).unwrap();
    set(&mut debugger, &[]);
    let (thread, reason) = next_stop(&mut debugger).unwrap();
    assert!(
        thread == LEADER && matches!(reason, StopReason::Pause),
        "{reason:?}"
    );
    assert_eq!(resumed(&fake), ["continue 8"]);
}
