//! Sequences of stops that a live kernel produces once in a thousand runs.

mod children;
mod counting;
mod frame_places;
mod live;
mod own_stack;
mod search_end;
mod unsent;

use crate::arch::Arch;
use crate::arch::fixed::{CALL, NOP, TRAP as TRAP_OPCODE, to};
use crate::debugger::disassembly::{Flavor, Wanted};
use crate::debugger::start::FirstStop;
use crate::debugger::{Debugger, Granularity, ResumeScope, State, StepKind, Wait};
use crate::ids::{ExitStatus, Signal, ThreadId};
use crate::inferior::Inferior;
use crate::inferior::site::{Owner, Sites};
use crate::os::fake::{BASE, Fake, PID};
use crate::os::{RegisterSet, ReplayStop, ThreadEvent, TrapCause};
use crate::stops::breakpoint::BreakpointInfo;
use crate::stops::breakpoint::watch::{DataAccess, DataBreakpoint};
use crate::stops::event::{Event, StopReason};
use dwarf::{LoadAddr, Memory};
use std::time::Instant;

const LEADER: ThreadId = ThreadId(PID);
const OTHER: ThreadId = ThreadId(8);
const SITE: LoadAddr = LoadAddr(BASE + 4);
const TRAP: ThreadEvent = ThreadEvent::Signal(Signal::TRAP);

/// A running process with two threads, of `nop`s of x86-64, whatever this machine is.
fn running() -> (Debugger, Fake) {
    running_with(Arch::X86_64, vec![0x90; 64])
}

fn running_with(arch: Arch, code: Vec<u8>) -> (Debugger, Fake) {
    let fake = Fake::default();
    {
        let mut script = fake.0.borrow_mut();
        script.memory = code;
        for thread in [LEADER, OTHER] {
            script.registers.insert(thread, at(LoadAddr(BASE)));
        }
    }
    let mut debugger = Debugger::with_backend(Box::new(fake.clone()));
    debugger.attach(PID).unwrap();
    debugger.release(FirstStop::None).unwrap();
    while next(&mut debugger).is_some() {}
    fake.0.borrow_mut().log.clear();
    debugger.images.modules.test_arch = Some(arch);
    debugger.inferior.arch = arch;
    debugger.inferior.sites = Sites::of(arch);
    (debugger, fake)
}

fn at(pc: LoadAddr) -> RegisterSet {
    let mut registers = RegisterSet::zeroed();
    registers.set_pc(pc);
    registers
}

/// Returns the next event; `None` if none is ready.
fn next(debugger: &mut Debugger) -> Option<Event> {
    match debugger.wait(Some(Instant::now()), None).unwrap() {
        Wait::Event(event) => Some(event),
        _ => None,
    }
}

fn next_stop(debugger: &mut Debugger) -> Option<(ThreadId, StopReason)> {
    while let Some(event) = next(debugger) {
        if let Event::Stopped(stop) = event {
            return Some((stop.thread, stop.reason));
        }
    }
    None
}

/// Lets a thread run into a trap at `addr`.
fn trap(fake: &Fake, thread: ThreadId, addr: LoadAddr) {
    let mut script = fake.0.borrow_mut();
    script.registers.insert(thread, at(addr + 1));
    script.traps.insert(thread, TrapCause::Breakpoint);
    script.stops.push_back((thread, TRAP));
}

fn pc(fake: &Fake, thread: ThreadId) -> LoadAddr {
    fake.0.borrow().registers[&thread].pc()
}

#[test]
fn removed_trap_executes_the_original_instruction() {
    let (mut debugger, fake) = running();
    debugger.inferior.sites.add(SITE, Owner::Step(OTHER), &fake);
    trap(&fake, OTHER, SITE);
    debugger
        .inferior
        .sites
        .remove(SITE, Owner::Step(OTHER), &fake);
    assert!(next(&mut debugger).is_none());
    assert_eq!(pc(&fake, OTHER), SITE);
    assert_eq!(fake.0.borrow().log, ["continue 8"]);
}

#[test]
fn a_stop_of_a_replay_is_deferred_while_all_are_stopped() {
    let (mut debugger, fake) = running();
    let end = ThreadEvent::Replayed(ReplayStop::End);
    fake.0.borrow_mut().stops.push_back((LEADER, end));
    debugger.inferior.set_state(State::Stopped);
    debugger.stop_all();
    assert_eq!(debugger.state(), State::Stopped);
    let leader = debugger.inferior.thread(LEADER).expect("a thread");
    assert_eq!(leader.deferred, Some(end));
}

#[test]
fn trap_of_the_program_stops_after_it() {
    let (mut debugger, fake) = running();
    fake.0.borrow_mut().memory[4] = 0xcc;
    trap(&fake, OTHER, SITE);
    let (thread, reason) = next_stop(&mut debugger).unwrap();
    assert_eq!(thread, OTHER);
    assert!(matches!(reason, StopReason::Trap));
    assert_eq!(pc(&fake, OTHER), SITE + 1);
}

#[test]
fn a_hit_during_a_stop_is_hit_again_after_it() {
    let (mut debugger, fake) = running();
    debugger.inferior.sites.add(SITE, Owner::Loader, &fake);
    fake.0
        .borrow_mut()
        .stops
        .push_back((LEADER, ThreadEvent::Signal(Signal::SEGV)));
    trap(&fake, OTHER, SITE);
    let (thread, reason) = next_stop(&mut debugger).unwrap();
    assert_eq!(thread, LEADER);
    assert!(matches!(reason, StopReason::Signal { info, .. } if info.code == 0));
    // After the resume, the pc is before the trap, which is still there.
    debugger.resume(LEADER, ResumeScope::All).unwrap();
    assert_eq!(pc(&fake, OTHER), SITE);
    assert_eq!(fake.0.borrow().memory[4], 0xcc);
    let log = fake.0.borrow().log.clone();
    assert!(log.contains(&"continue 8".to_owned()), "{log:?}");
    assert!(log.contains(&"continue 7 signal 11".to_owned()), "{log:?}");
}

#[test]
fn a_hit_of_an_attached_process_is_moved_back_before_it_is_handled() {
    let (mut debugger, fake) = running();
    debugger.inferior.sites.add(SITE, Owner::Step(OTHER), &fake);
    trap(&fake, OTHER, SITE);
    let (thread, status) = debugger.inferior.next_stop().unwrap();
    debugger.inferior.absorb(thread, status);
    debugger.inferior.classify_stop(thread, status);
    assert_eq!(pc(&fake, OTHER), SITE);
}

#[test]
fn a_signal_during_a_stop_is_reported_after_it() {
    let (mut debugger, fake) = running();
    let fault = ThreadEvent::Signal(Signal::SEGV);
    fake.0
        .borrow_mut()
        .stops
        .extend([(LEADER, fault), (OTHER, fault)]);
    assert_eq!(next_stop(&mut debugger).unwrap().0, LEADER);
    debugger.resume(LEADER, ResumeScope::All).unwrap();
    assert_eq!(next_stop(&mut debugger).unwrap().0, OTHER);
    // No thread ran in between.
    let log = fake.0.borrow().log.clone();
    assert!(
        !log.iter().any(|entry| entry.starts_with("continue")),
        "{log:?}"
    );
    debugger.resume(LEADER, ResumeScope::All).unwrap();
    let log = fake.0.borrow().log.clone();
    assert!(log.contains(&"continue 7 signal 11".to_owned()), "{log:?}");
    assert!(log.contains(&"continue 8 signal 11".to_owned()), "{log:?}");
}

#[test]
fn a_real_time_signal_passes() {
    let (mut debugger, fake) = running();
    let status = ThreadEvent::Signal(Signal(37));
    fake.0.borrow_mut().stops.push_back((OTHER, status));
    assert!(next_stop(&mut debugger).is_none());
    assert_eq!(fake.0.borrow().log, ["continue 8 signal 37"]);
}

#[test]
fn thread_may_stop_before_the_clone_event() {
    let (mut debugger, fake) = running();
    let new = ThreadId(9);
    {
        let mut script = fake.0.borrow_mut();
        script.registers.insert(new, at(LoadAddr(BASE)));
        script.stops.push_back((new, ThreadEvent::Interrupted));
        script.stops.push_back((LEADER, ThreadEvent::Created(new)));
    }
    let mut started = 0;
    while let Some(event) = next(&mut debugger) {
        started += u32::from(matches!(event, Event::ThreadStarted(thread) if thread == new));
    }
    assert_eq!(started, 1);
    assert_eq!(fake.0.borrow().log, ["continue 9", "continue 7"]);
}

#[test]
fn thread_may_end_before_the_clone_event() {
    let (mut debugger, fake) = running();
    let new = ThreadId(9);
    fake.0.borrow_mut().stops.extend([
        (new, ThreadEvent::Interrupted),
        (new, ThreadEvent::Exited(0)),
        (LEADER, ThreadEvent::Created(new)),
    ]);
    let mut events = Vec::new();
    while let Some(event) = next(&mut debugger) {
        events.push(event);
    }
    assert!(
        matches!(&*events, [Event::ThreadStarted(_), Event::ThreadExited(_)]),
        "{events:?}"
    );
    let known = debugger.threads();
    assert!(known.iter().all(|thread| thread.id != new));
}

#[test]
fn forked_child_is_cleaned_and_detached_in_any_order() {
    for child_first in [true, false] {
        let (mut debugger, fake) = running();
        debugger.inferior.sites.add(SITE, Owner::Loader, &fake);
        let child = ThreadId(20);
        {
            let mut script = fake.0.borrow_mut();
            script.strangers.insert(child, 20);
            let events = (LEADER, ThreadEvent::Forked(20));
            let born = (child, ThreadEvent::Interrupted);
            script.stops.extend(if child_first {
                [born, events]
            } else {
                [events, born]
            });
        }
        assert!(next_stop(&mut debugger).is_none());
        let log = fake.0.borrow().log.clone();
        assert!(log.contains(&format!("clean 20 {SITE} 0x90")), "{log:?}");
        assert!(log.contains(&"detach 20 signal 0".to_owned()), "{log:?}");
        assert!(log.contains(&"continue 7".to_owned()), "{log:?}");
    }
}

#[test]
fn detach_cleans_an_unseen_forked_child() {
    let (mut debugger, fake) = running();
    debugger.inferior.sites.add(SITE, Owner::Loader, &fake);
    let child = ThreadId(20);
    let events = (LEADER, ThreadEvent::Forked(20));
    fake.0.borrow_mut().stops.push_back(events);
    assert!(next_stop(&mut debugger).is_none());
    {
        let mut script = fake.0.borrow_mut();
        script.strangers.insert(child, 20);
        script.stops.push_back((child, ThreadEvent::Interrupted));
    }
    debugger.detach().unwrap();
    let log = fake.0.borrow().log.clone();
    assert!(log.contains(&format!("clean 20 {SITE} 0x90")), "{log:?}");
    assert!(log.contains(&"detach 20 signal 0".to_owned()), "{log:?}");
}

#[test]
fn detach_passes_a_pending_and_a_deferred_signal() {
    let (mut debugger, fake) = running();
    let fault = ThreadEvent::Signal(Signal::BUS);
    fake.0.borrow_mut().stops.push_back((OTHER, fault));
    assert!(next_stop(&mut debugger).is_some());
    let state = debugger.inferior.thread_mut(OTHER).unwrap();
    state.deferred = Some(ThreadEvent::Signal(Signal::USR1));
    debugger.detach().unwrap();
    let log = fake.0.borrow().log.clone();
    assert!(log.contains(&"detach 8 signal 7".to_owned()), "{log:?}");
    let sent = format!("kill {}", Signal::USR1.0);
    assert!(log.contains(&sent), "{log:?}");
}

#[test]
fn memory_read_while_a_thread_still_runs_is_read_again() {
    let (mut debugger, fake) = running();
    fake.0.borrow_mut().memory = vec![1; 0x3000];
    let addr = LoadAddr((BASE + 0xfff) & !0xfff);
    let read = |debugger: &Debugger| {
        let mut byte = [0];
        debugger.inferior.memory().read(addr, &mut byte).unwrap();
        byte[0]
    };
    // As while the other threads are being stopped.
    debugger.inferior.set_state(State::Stopped);
    assert_eq!(read(&debugger), 1);
    fake.0.borrow_mut().memory.fill(2);
    assert_eq!(read(&debugger), 1, "cached");
    debugger.inferior.absorb(OTHER, ThreadEvent::Interrupted);
    assert_eq!(read(&debugger), 2);
}

#[test]
fn stack_depends_on_its_own_thread_and_on_writes() {
    let (mut debugger, _) = running();
    let inferior = &mut debugger.inferior;
    let changes = |inferior: &Inferior| [LEADER, OTHER].map(|thread| inferior.changes_of(thread));
    let before = changes(inferior);
    inferior.absorb(OTHER, ThreadEvent::Interrupted);
    let stopped = changes(inferior);
    assert_eq!((stopped[0], stopped[1] > before[1]), (before[0], true));
    inferior.set_pc(OTHER, LoadAddr(BASE + 1));
    let moved = changes(inferior);
    assert_eq!((moved[0], moved[1] > stopped[1]), (before[0], true));
    inferior.write_memory(LoadAddr(BASE), &[0]);
    let written = changes(inferior);
    assert!(
        written[0] > moved[0] && written[1] > moved[1],
        "{written:?}"
    );
}

#[test]
fn state_of_former_threads_is_gone_with_their_process() {
    let (mut debugger, fake) = running();
    let fault = ThreadEvent::Signal(Signal::BUS);
    fake.0.borrow_mut().stops.push_back((OTHER, fault));
    assert!(next_stop(&mut debugger).is_some());
    debugger.thread_state(OTHER).unwrap().hidden_inlined = 2;
    debugger.inferior.ready.push_back((OTHER, fault));
    debugger.detach().unwrap();
    debugger.attach(PID).unwrap();
    assert_eq!(debugger.hidden_at(OTHER), 0);
    debugger.release(FirstStop::None).unwrap();
    assert!(
        next_stop(&mut debugger).is_none(),
        "a stop of the former process"
    );
}

#[test]
fn exit_of_the_leader_ends_the_process() {
    let (mut debugger, fake) = running();
    {
        let mut script = fake.0.borrow_mut();
        script.stops.push_back((OTHER, ThreadEvent::Exited(3)));
        script.stops.push_back((LEADER, ThreadEvent::Exited(3)));
    }
    let mut events = Vec::new();
    while let Some(event) = next(&mut debugger) {
        events.push(event);
    }
    assert!(matches!(
        events.as_slice(),
        [
            Event::ThreadExited(OTHER),
            Event::ThreadExited(LEADER),
            Event::Exited(ExitStatus::Code(3))
        ]
    ));
    assert_eq!(debugger.state(), State::Ended);
}

#[test]
fn kill_during_stop_all_ends_the_process() {
    let (mut debugger, fake) = running();
    {
        let mut script = fake.0.borrow_mut();
        let killed = ThreadEvent::Killed(Signal::KILL);
        script
            .stops
            .push_back((LEADER, ThreadEvent::Signal(Signal::SEGV)));
        script.stops.push_back((OTHER, killed));
        script.stops.push_back((LEADER, killed));
    }
    let mut last = None;
    while let Some(event) = next(&mut debugger) {
        last = Some(event);
    }
    assert!(
        matches!(last, Some(Event::Exited(ExitStatus::Signal(Signal(9))))),
        "{last:?}"
    );
}

#[test]
fn detach_restores_code_and_passes_the_signal() {
    let (mut debugger, fake) = running();
    debugger.inferior.sites.add(SITE, Owner::Loader, &fake);
    fake.0
        .borrow_mut()
        .stops
        .push_back((OTHER, ThreadEvent::Signal(Signal::BUS)));
    assert!(next_stop(&mut debugger).is_some());
    debugger.detach().unwrap();
    let script = fake.0.borrow();
    assert_eq!(script.memory[4], 0x90);
    assert!(script.log.contains(&"detach 7 signal 0".to_owned()));
    assert!(
        script
            .log
            .contains(&format!("detach 8 signal {}", Signal::BUS.0))
    );
}

#[test]
fn pause_reports_once_and_stops_all() {
    let (mut debugger, fake) = running();
    debugger.interrupt(LEADER).unwrap();
    let (_, reason) = next_stop(&mut debugger).unwrap();
    assert!(matches!(reason, StopReason::Pause));
    debugger.interrupt(LEADER).unwrap();
    assert!(next_stop(&mut debugger).is_none());
    assert_eq!(debugger.state(), State::Stopped);
    let log = fake.0.borrow().log.clone();
    assert!(log.contains(&"interrupt 7".to_owned()) && log.contains(&"interrupt 8".to_owned()));
}

#[test]
fn group_stop_lasts_until_sigcont() {
    let (mut debugger, fake) = running();
    let stopped = ThreadEvent::GroupStop(Signal::STOP);
    fake.0
        .borrow_mut()
        .stops
        .extend([(LEADER, stopped), (OTHER, stopped)]);
    let Some(Event::Note(note)) = next(&mut debugger) else {
        panic!("a note for the user")
    };
    assert!(note.contains("SIGCONT"), "{note}");
    assert!(next(&mut debugger).is_none(), "events once");
    // A stop of ours and the resume from it leave the group-stop in place.
    fake.0
        .borrow_mut()
        .stops
        .extend([(LEADER, stopped), (OTHER, stopped)]);
    debugger.interrupt(LEADER).unwrap();
    assert!(next_stop(&mut debugger).is_some());
    fake.0.borrow_mut().log.clear();
    debugger.resume(LEADER, ResumeScope::All).unwrap();
    assert_eq!(fake.0.borrow().log, ["keep stopped 7", "keep stopped 8"]);
    assert!(next(&mut debugger).is_none());
    // SIGCONT: each thread traps again, and is resumed.
    fake.0.borrow_mut().log.clear();
    fake.0.borrow_mut().stops.extend([
        (LEADER, ThreadEvent::Interrupted),
        (OTHER, ThreadEvent::Interrupted),
    ]);
    assert!(matches!(next(&mut debugger), Some(Event::Note(_))));
    assert!(next(&mut debugger).is_none());
    assert_eq!(fake.0.borrow().log, ["continue 7", "continue 8"]);
}

#[test]
fn the_next_process_of_a_name_is_attached_to() {
    let fake = Fake::default();
    {
        let mut script = fake.0.borrow_mut();
        script.named.insert(5, "server".into());
        script.registers.insert(LEADER, at(LoadAddr(BASE)));
    }
    let mut debugger = Debugger::with_backend(Box::new(fake.clone()));
    assert_eq!(debugger.processes_named("server"), [(5, "server".into())]);
    debugger.attach_when_started("server").unwrap();
    assert!(debugger.attach(PID).is_err(), "one process at a time");
    let soon = || Instant::now() + std::time::Duration::from_millis(30);
    assert!(matches!(
        debugger.wait(Some(soon()), None),
        Ok(Wait::Deadline)
    ));
    fake.0.borrow_mut().named.insert(PID, "server".into());
    let limit = Some(Instant::now() + std::time::Duration::from_secs(60));
    loop {
        match debugger.wait(limit, None).unwrap() {
            Wait::Event(Event::Attached) => break,
            Wait::Deadline => panic!("not attached"),
            _ => {}
        }
    }
    assert_eq!((debugger.pid(), debugger.state()), (Some(PID), State::Held));
}

#[test]
fn non_stop_thread_stops_steps_and_resumes_alone() {
    let (mut debugger, fake) = running();
    debugger.set_non_stop(true);
    debugger.inferior.sites.add(SITE, Owner::Loader, &fake);
    let fault = ThreadEvent::Signal(Signal::SEGV);
    fake.0.borrow_mut().stops.push_back((OTHER, fault));
    assert_eq!(next_stop(&mut debugger).unwrap().0, OTHER);
    // No thread was interrupted; stops of the other one are still handled.
    trap(&fake, LEADER, SITE);
    assert!(next_stop(&mut debugger).is_none());
    {
        let mut script = fake.0.borrow_mut();
        assert_eq!(script.log, ["continue 7"]);
        script.log.clear();
    }
    assert!(matches!(
        debugger.resume(LEADER, ResumeScope::All),
        Err(crate::ids::error::Error::NotStopped)
    ));
    // A pause of the running thread; then the first one is resumed alone, with its signal.
    debugger.interrupt(LEADER).unwrap();
    let (thread, reason) = next_stop(&mut debugger).unwrap();
    assert!(thread == LEADER && matches!(reason, StopReason::Pause));
    assert!(!debugger.resume(OTHER, ResumeScope::All).unwrap());
    assert!(debugger.resume(LEADER, ResumeScope::All).unwrap());
    assert_eq!(
        fake.0.borrow().log,
        ["interrupt 7", "continue 8 signal 11", "continue 7"]
    );
}

/// The watched address, of four bytes.
const WATCHED: LoadAddr = LoadAddr(BASE + 16);

fn watch(debugger: &mut Debugger) -> BreakpointInfo {
    let wanted = DataBreakpoint {
        data: debugger.watchable_at(WATCHED, 4).unwrap(),
        access: DataAccess::Write,
        by_steps: false,
        options: Default::default(),
    };
    debugger.set_data_breakpoints(&[wanted]).remove(0)
}

/// Lets a thread write a byte of the watched data.
fn write(fake: &Fake, thread: ThreadId, byte: u8) {
    let mut script = fake.0.borrow_mut();
    script.memory[16] = byte;
    script.traps.insert(thread, TrapCause::Watchpoint);
    script.triggered.insert(thread, 1);
    script.stops.push_back((thread, TRAP));
}

#[test]
fn watch_is_set_on_running_threads_silently() {
    let (mut debugger, fake) = running();
    assert!(watch(&mut debugger).verified);
    assert!(next(&mut debugger).is_none());
    for thread in [7, 8] {
        let of = |what: &str| {
            let log = &fake.0.borrow().log;
            log.iter().position(|it| it.starts_with(what)).unwrap()
        };
        let set = of(&format!("watch {thread} "));
        assert!(of(&format!("interrupt {thread}")) < set);
        assert!(set < of(&format!("continue {thread}")));
    }
    // Without a breakpoint that uses it, the registers are cleared in the same way.
    debugger.set_data_breakpoints(&[]);
    assert!(next(&mut debugger).is_none());
    let log = fake.0.borrow().log.clone();
    assert!(log.contains(&"watch 8 [0, 0, 0, 0]".to_owned()), "{log:?}");
}

#[test]
fn a_change_during_a_stop_is_reported_after_it() {
    let (mut debugger, fake) = running();
    watch(&mut debugger);
    assert!(next(&mut debugger).is_none());
    let fault = ThreadEvent::Signal(Signal::SEGV);
    fake.0.borrow_mut().stops.push_back((LEADER, fault));
    write(&fake, OTHER, 5);
    let first = next_stop(&mut debugger).unwrap();
    assert_eq!(first.0, LEADER);
    debugger.resume(LEADER, ResumeScope::All).unwrap();
    let (thread, reason) = next_stop(&mut debugger).unwrap();
    assert_eq!(thread, OTHER);
    assert!(
        matches!(&reason, StopReason::Data(_, text) if text.ends_with(": 2425393296 -> 2425393157")),
        "{reason:?}"
    );
}

#[test]
fn unchanged_write_resumes_without_a_report() {
    let (mut debugger, fake) = running();
    watch(&mut debugger);
    assert!(next(&mut debugger).is_none());
    fake.0.borrow_mut().log.clear();
    write(&fake, OTHER, 0x90);
    assert!(next_stop(&mut debugger).is_none());
    assert_eq!(fake.0.borrow().log, ["continue 8"]);
}

/// A running process of the fake set: instructions of four bytes, a trap that leaves the pc in
/// place. What holds here does not depend on the set of this machine.
fn running_of_fake_set() -> (Debugger, Fake) {
    running_with(Arch::Fixed, to(NOP, 0).repeat(16))
}

/// Lets a thread run into a trap of the fake set.
fn fake_trap(fake: &Fake, thread: ThreadId, addr: LoadAddr) {
    trap(fake, thread, addr);
    fake.0.borrow_mut().registers.insert(thread, at(addr));
}

#[test]
fn hit_of_a_trap_that_leaves_the_pc_passes_the_whole_instruction() {
    let (mut debugger, fake) = running_of_fake_set();
    debugger
        .inferior
        .sites
        .add(SITE, Owner::Step(LEADER), &fake);
    assert_eq!(fake.0.borrow().memory[4..8], to(TRAP_OPCODE, 0));
    fake_trap(&fake, OTHER, SITE);
    assert!(next(&mut debugger).is_none());
    assert_eq!(pc(&fake, OTHER), SITE + 4);
    assert_eq!(fake.0.borrow().memory[4..8], to(TRAP_OPCODE, 0));
    assert_eq!(fake.0.borrow().log, ["continue 8"]);
}

#[test]
fn removed_trap_that_leaves_the_pc_executes_the_original_instruction() {
    let (mut debugger, fake) = running_of_fake_set();
    let owner = Owner::Step(OTHER);
    debugger.inferior.sites.add(SITE, owner, &fake);
    fake_trap(&fake, OTHER, SITE);
    debugger.inferior.sites.remove(SITE, owner, &fake);
    assert_eq!(fake.0.borrow().memory[4..8], to(NOP, 0));
    assert!(next(&mut debugger).is_none());
    assert_eq!(pc(&fake, OTHER), SITE);
    assert_eq!(fake.0.borrow().log, ["continue 8"]);
}

#[test]
fn trap_of_the_program_that_leaves_the_pc_is_gone_past() {
    let (mut debugger, fake) = running_of_fake_set();
    fake.0.borrow_mut().memory[4..8].copy_from_slice(&to(TRAP_OPCODE, 0));
    fake_trap(&fake, OTHER, SITE);
    let (thread, reason) = next_stop(&mut debugger).unwrap();
    assert_eq!(thread, OTHER);
    assert!(matches!(reason, StopReason::Trap));
    assert_eq!(pc(&fake, OTHER), SITE + 4);
}

#[test]
fn instruction_step_over_a_call_of_another_set_ends_behind_it() {
    let (mut debugger, fake) = running_of_fake_set();
    let call = to(CALL, 0x20);
    fake.0.borrow_mut().memory[4..8].copy_from_slice(&call);
    let fault = ThreadEvent::Signal(Signal::SEGV);
    fake.0.borrow_mut().registers.insert(OTHER, at(SITE));
    fake.0.borrow_mut().stops.push_back((OTHER, fault));
    assert_eq!(next_stop(&mut debugger).unwrap().0, OTHER);
    let step = (StepKind::Over, Granularity::Instruction);
    debugger
        .step(OTHER, step.0, step.1, ResumeScope::All)
        .unwrap();
    let behind = SITE + 4;
    assert_eq!(fake.0.borrow().memory[8..12], to(TRAP_OPCODE, 0));
    let wanted = Wanted {
        addr: SITE,
        first: -1,
        count: 3,
        flavor: Flavor::Intel,
        names: false,
    };
    let rows = debugger.disassemble(&wanted).unwrap();
    let rows: Vec<_> = rows
        .iter()
        .map(|it| (it.address, it.text.as_str()))
        .collect();
    let expected = [(SITE - 4, "nop"), (SITE, "call 0x1024"), (behind, "nop")];
    assert_eq!(rows, expected);
    fake_trap(&fake, OTHER, behind);
    let (thread, reason) = next_stop(&mut debugger).unwrap();
    assert!(
        thread == OTHER && matches!(reason, StopReason::Step),
        "{reason:?}"
    );
    assert_eq!(pc(&fake, OTHER), behind);
    assert_eq!(fake.0.borrow().memory[8..12], to(NOP, 0));
}
