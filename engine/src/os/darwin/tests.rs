//! The backend on a scripted Mach: messages in every order, threads that end between calls, and what
//! must be balanced in the end: replies, suspensions, rights.

use super::flavors::{code, kind};
use super::mach::{Ended, Port};
use super::scripted::{FORMER, MAIN, OTHER, PID, Scripted, TASK, UNASKED};
use super::*;
use crate::os::{AddressSpace, Processes, Safekeeping, ThreadState, TrapCause};

const FIRST: ThreadId = ThreadId(PID);
const SECOND: ThreadId = ThreadId(12_000);
const BREAKPOINT: (i32, [u64; 2]) = (
    kind::BREAKPOINT,
    match crate::arch::Arch::HOST {
        crate::arch::Arch::X86_64 => [code::I386_BPT, 0],
        _ => [code::ARM_BREAKPOINT, 0],
    },
);
const TRAPPED: ThreadEvent = ThreadEvent::Signal(Signal::TRAP);
/// XNU's SIGSTOP and SIGUSR1.
const STOP: u64 = 17;
const USR1: u64 = 30;

/// A process with two threads that was attached to; the SIGSTOP that begins it has come and gone.
fn attached() -> (DarwinBackend<Scripted>, Scripted) {
    let mach = Scripted::default();
    {
        let mut script = mach.0.borrow_mut();
        script.tasks.insert(TASK, PID);
        script.threads.insert(TASK, vec![MAIN, OTHER]);
    }
    let waker = Waker::new().expect("a descriptor");
    let mut backend = DarwinBackend::woken_by(mach.clone(), waker).expect("a backend");
    let threads = backend.seize(PID, SeizeAs::Attached).expect("allowed");
    assert_eq!(threads, [FIRST, SECOND]);
    signal(&mach, MAIN, STOP, 20);
    assert_eq!(backend.next_stop(), None, "it is the debugger's own");
    let begun = mach.0.borrow_mut().take_log();
    assert_eq!(
        begun,
        [
            "swap 7 1",
            "ptrace AttachExc",
            "ptrace ThUpdate(Port(11), 0)",
            "reply 20 KERN_SUCCESS"
        ]
    );
    (backend, mach)
}

fn signal(mach: &Scripted, thread: Port, number: u64, reply: u32) {
    let codes = [code::SOFT_SIGNAL, number];
    let mut script = mach.0.borrow_mut();
    script.exception(TASK, thread, kind::SOFTWARE, codes, reply);
}

fn hit(mach: &Scripted, thread: Port, reply: u32) {
    let (kind, codes) = BREAKPOINT;
    let mut script = mach.0.borrow_mut();
    script.exception(TASK, thread, kind, codes, reply);
}

fn log(mach: &Scripted) -> Vec<String> {
    mach.0.borrow_mut().take_log()
}

/// Asserts that nothing is left of a process: no right, and no thread that stays suspended.
fn expect_balance(mach: &Scripted) {
    let script = mach.0.borrow();
    let left = script.rights.iter().filter(|(_, count)| **count != 0);
    assert_eq!(left.collect::<Vec<_>>(), [], "rights");
    let alive = |port: &Port| !script.dead.contains(port);
    let left = script.suspended.iter();
    let left = left.filter(|(port, count)| **count != 0 && alive(port));
    assert_eq!(left.collect::<Vec<_>>(), [], "suspensions");
}

#[test]
fn a_thread_in_an_exception_goes_on_by_the_reply() {
    let (mut backend, mach) = attached();
    hit(&mach, OTHER, 21);
    assert_eq!(backend.next_stop(), Some((SECOND, TRAPPED)));
    let data = backend.signal_data(SECOND).expect("it waits");
    assert_eq!(data.trap, Some(TrapCause::Breakpoint));
    assert_eq!(log(&mach), Vec::<String>::new(), "the others run on");
    backend.resume(SECOND, Resume::Continue, Signal(0));
    assert_eq!(log(&mach), ["reply 21 KERN_SUCCESS"]);
    assert!(backend.signal_data(SECOND).is_none());
    // It runs: there is nothing to resume.
    backend.resume(SECOND, Resume::Continue, Signal(0));
    assert_eq!(log(&mach), Vec::<String>::new());
}

#[test]
fn an_exception_that_crosses_an_interrupt_is_the_only_stop() {
    let (mut backend, mach) = attached();
    let (kind, codes) = BREAKPOINT;
    let mut script = mach.0.borrow_mut();
    let message = script.exception_message(TASK, OTHER, kind, codes, 21);
    script.on_suspend.insert(OTHER, message);
    drop(script);
    backend.interrupt(SECOND);
    assert_eq!(backend.stop_of(SECOND, Patience::None), Some(TRAPPED));
    assert_eq!(backend.next_stop(), None);
    assert_eq!(log(&mach), ["suspend 12", "resume 12"]);
}

#[test]
fn an_exception_after_a_reported_interrupt_comes_at_the_resume() {
    let (mut backend, mach) = attached();
    backend.interrupt(SECOND);
    let interrupted = Some(ThreadEvent::Interrupted);
    assert_eq!(backend.stop_of(SECOND, Patience::None), interrupted);
    // The thread was in the kernel, on its way to the exception.
    hit(&mach, OTHER, 21);
    assert_eq!(backend.next_stop(), None, "it is stopped already");
    log(&mach);
    backend.resume(SECOND, Resume::Continue, Signal(0));
    assert_eq!(backend.next_stop(), Some((SECOND, TRAPPED)));
    assert_eq!(log(&mach), ["resume 12"], "it waits for the reply");
    backend.resume(SECOND, Resume::Continue, Signal(0));
    assert_eq!(log(&mach), ["reply 21 KERN_SUCCESS"]);
}

#[test]
fn an_interrupt_of_a_stopped_thread_stops_it_again() {
    let (mut backend, mach) = attached();
    hit(&mach, OTHER, 21);
    assert_eq!(backend.next_stop(), Some((SECOND, TRAPPED)));
    backend.interrupt(SECOND);
    assert_eq!(backend.next_stop(), None, "it is stopped");
    backend.resume(SECOND, Resume::Continue, Signal(0));
    let interrupted = (SECOND, ThreadEvent::Interrupted);
    assert_eq!(backend.next_stop(), Some(interrupted));
    assert_eq!(log(&mach), ["suspend 12", "reply 21 KERN_SUCCESS"]);
    backend.resume(SECOND, Resume::Continue, Signal(0));
    assert_eq!(log(&mach), ["resume 12"]);
}

#[test]
fn signals_are_replaced_dropped_and_passed_on() {
    let (mut backend, mach) = attached();
    for (wanted, number) in [(Signal::USR1, 30), (Signal(0), 0), (Signal::BUS, 10)] {
        signal(&mach, OTHER, USR1, 21);
        let event = ThreadEvent::Signal(Signal::USR1);
        assert_eq!(backend.next_stop(), Some((SECOND, event)));
        backend.resume(SECOND, Resume::Continue, wanted);
        let update = format!("ptrace ThUpdate(Port(12), {number})");
        assert_eq!(log(&mach), [update.as_str(), "reply 21 KERN_SUCCESS"]);
    }
    // From another stop a signal is sent, and is not reported when it arrives.
    hit(&mach, OTHER, 22);
    assert_eq!(backend.next_stop(), Some((SECOND, TRAPPED)));
    backend.resume(SECOND, Resume::Continue, Signal::USR1);
    assert_eq!(log(&mach), ["kill 30", "reply 22 KERN_SUCCESS"]);
    signal(&mach, MAIN, USR1, 23);
    assert_eq!(backend.next_stop(), None);
    let passed = ["ptrace ThUpdate(Port(11), 30)", "reply 23 KERN_SUCCESS"];
    assert_eq!(log(&mach), passed);
}

#[test]
fn a_fault_that_is_not_handled_becomes_its_signal_once() {
    let (mut backend, mach) = attached();
    let fault = (kind::BAD_ACCESS, [code::INVALID_ADDRESS, 0x10]);
    let mut script = mach.0.borrow_mut();
    script.exception(TASK, OTHER, fault.0, fault.1, 21);
    drop(script);
    let event = ThreadEvent::Signal(Signal::SEGV);
    assert_eq!(backend.next_stop(), Some((SECOND, event)));
    let info = backend.signal_data(SECOND).expect("it waits").info;
    assert_eq!(info.address, Some(dwarf::LoadAddr(0x10)));
    backend.resume(SECOND, Resume::Continue, Signal::SEGV);
    assert_eq!(log(&mach), ["reply 21 KERN_FAILURE"]);
    // SIGSEGV arrives as the exception of a signal.
    signal(&mach, OTHER, 11, 22);
    assert_eq!(backend.next_stop(), None, "it was reported");
    let passed = ["ptrace ThUpdate(Port(12), 11)", "reply 22 KERN_SUCCESS"];
    assert_eq!(log(&mach), passed);
    // The next one is another.
    signal(&mach, OTHER, 11, 23);
    assert_eq!(backend.next_stop(), Some((SECOND, event)));
}

#[test]
fn threads_that_end_between_calls_are_reported_once() {
    let (mut backend, mach) = attached();
    let mut script = mach.0.borrow_mut();
    script.dead.push(OTHER);
    drop(script);
    backend.interrupt(SECOND);
    assert_eq!(backend.next_stop(), None, "it cannot be suspended");
    assert!(backend.registers(SECOND).is_none());
    mach.0.borrow_mut().end(OTHER);
    let ended = (SECOND, ThreadEvent::Exited(0));
    assert_eq!(backend.next_stop(), Some(ended));
    assert_eq!(backend.next_stop(), None);
    assert_eq!(backend.stop_of(SECOND, Patience::UntilStopped), None);
}

#[test]
fn a_thread_that_ends_while_it_waits_leaves_no_stop() {
    let (mut backend, mach) = attached();
    hit(&mach, OTHER, 21);
    mach.0.borrow_mut().end(OTHER);
    let ended = (SECOND, ThreadEvent::Exited(0));
    assert_eq!(backend.next_stop(), Some(ended));
    assert_eq!(backend.next_stop(), None);
}

#[test]
fn the_first_thread_stands_for_the_process() {
    let (mut backend, mach) = attached();
    // It ends by pthread_exit; the process lives on.
    mach.0.borrow_mut().end(MAIN);
    assert_eq!(backend.next_stop(), None);
    backend.interrupt(FIRST);
    let interrupted = (FIRST, ThreadEvent::Interrupted);
    assert_eq!(backend.next_stop(), Some(interrupted), "it stops at once");
    backend.resume(FIRST, Resume::Continue, Signal(0));
    let mut script = mach.0.borrow_mut();
    script.end(TASK);
    drop(script);
    // The task is gone before the end of the process is known.
    assert_eq!(backend.next_stop(), None);
    mach.0.borrow_mut().ended = Some(Ended::Signaled(11));
    let ends = [
        backend.next_stop(),
        backend.next_stop(),
        backend.next_stop(),
    ];
    let killed = ThreadEvent::Killed(Signal::SEGV);
    let exited = ThreadEvent::Exited(0);
    assert_eq!(ends, [Some((SECOND, exited)), Some((FIRST, killed)), None]);
    backend.close_memory();
    expect_balance(&mach);
}

#[test]
fn new_threads_are_stopped_when_the_last_known_one_is() {
    let (mut backend, mach) = attached();
    let new = Port(13);
    mach.0
        .borrow_mut()
        .threads
        .insert(TASK, vec![MAIN, OTHER, new]);
    backend.interrupt(FIRST);
    assert!(!log(&mach).contains(&"suspend 13".to_owned()));
    backend.interrupt(SECOND);
    assert_eq!(log(&mach), ["suspend 12", "suspend 13"]);
    let stops = [
        backend.next_stop(),
        backend.next_stop(),
        backend.next_stop(),
    ];
    let third = ThreadId(13_000);
    let stopped = [FIRST, SECOND, third].map(|it| Some((it, ThreadEvent::Interrupted)));
    assert_eq!(stops, stopped);
    assert_eq!(backend.process_of(third), Some(PID));
}

#[test]
fn a_child_with_a_trap_is_a_thread_of_another_process() {
    let (mut backend, mach) = attached();
    let (child, task, thread) = (71, Port(8), Port(14));
    let (kind, codes) = BREAKPOINT;
    let mut script = mach.0.borrow_mut();
    script.tasks.insert(task, child);
    script.exception(task, thread, kind, codes, 21);
    drop(script);
    assert_eq!(backend.next_stop(), Some((ThreadId(child), TRAPPED)));
    assert_eq!(backend.process_of(ThreadId(child)), Some(child));
    backend.detach(ThreadId(child), Signal(0));
    let cleaned = ["reply 21 KERN_SUCCESS", "swap 8 0", "restore 8 99"];
    assert_eq!(log(&mach), cleaned);
    assert_eq!(mach.0.borrow().rights.get(&thread), Some(&0));
    assert_eq!(mach.0.borrow().rights.get(&task), Some(&0));
}

#[test]
fn another_program_is_another_task() {
    let (mut backend, mach) = attached();
    let (task, thread) = (Port(8), Port(15));
    {
        let mut script = mach.0.borrow_mut();
        // The old task and its threads end; the notices may come first.
        for port in [MAIN, OTHER, TASK] {
            script.end(port);
        }
        script.tasks.insert(task, PID);
        script.threads.insert(task, vec![thread]);
        let codes = [code::SOFT_SIGNAL, 5];
        script.exception(task, thread, kind::SOFTWARE, codes, 21);
    }
    let events: Vec<_> = std::iter::from_fn(|| backend.next_stop()).collect();
    let execed = (FIRST, ThreadEvent::Execed(FIRST));
    assert_eq!(events.last(), Some(&execed), "{events:?}");
    log(&mach);
    backend.resume(FIRST, Resume::Continue, Signal(0));
    let went_on = ["ptrace ThUpdate(Port(15), 0)", "reply 21 KERN_SUCCESS"];
    assert_eq!(log(&mach), went_on);
    let script = mach.0.borrow();
    let old = [MAIN, OTHER].map(|port| script.rights.get(&port).copied());
    assert_eq!(old, [Some(0); 2]);
}

#[test]
fn detaching_restores_everything() {
    let (mut backend, mach) = attached();
    hit(&mach, OTHER, 21);
    assert_eq!(backend.next_stop(), Some((SECOND, TRAPPED)));
    backend.interrupt(FIRST);
    let interrupted = (FIRST, ThreadEvent::Interrupted);
    assert_eq!(backend.next_stop(), Some(interrupted));
    log(&mach);
    {
        // The SIGSTOP in which the kernel detaches.
        let codes = [code::SOFT_SIGNAL, STOP];
        let mut script = mach.0.borrow_mut();
        let message = script.exception_message(TASK, MAIN, kind::SOFTWARE, codes, 22);
        script.on_kill.push_back(message);
    }
    backend.detach(FIRST, Signal(0));
    assert_eq!(log(&mach), Vec::<String>::new(), "all threads together");
    backend.detach(SECOND, Signal(0));
    let calls = log(&mach);
    let at = |call: &str| {
        let found = calls.iter().position(|it| it == call);
        found.unwrap_or_else(|| panic!("no {call}: {calls:?}"))
    };
    assert!(at("kill 17") < at("ptrace Detach"));
    assert!(at("ptrace Detach") < at("swap 7 0") && at("swap 7 0") < at("restore 7 99"));
    assert!(at("restore 7 99") < at("reply 22 KERN_SUCCESS"));
    at("reply 21 KERN_SUCCESS");
    assert_eq!(FORMER, Port(99));
    backend.close_memory();
    expect_balance(&mach);
}

#[test]
fn a_killed_process_runs_to_its_end() {
    let (mut backend, mach) = attached();
    hit(&mach, OTHER, 21);
    backend.next_stop();
    backend.interrupt(FIRST);
    backend.next_stop();
    log(&mach);
    backend.signal(PID, Signal::KILL);
    let calls = log(&mach);
    assert_eq!(calls, ["kill 9", "resume 11", "reply 21 KERN_SUCCESS"]);
    let mut script = mach.0.borrow_mut();
    for port in [OTHER, MAIN, TASK] {
        script.end(port);
    }
    script.ended = Some(Ended::Signaled(9));
    drop(script);
    let events: Vec<_> = std::iter::from_fn(|| backend.next_stop()).collect();
    let killed = (FIRST, ThreadEvent::Killed(Signal::KILL));
    assert_eq!(events, [(SECOND, ThreadEvent::Exited(0)), killed]);
    backend.close_memory();
    expect_balance(&mach);
}

#[test]
fn messages_that_are_no_ones_change_nothing() {
    let (mut backend, mach) = attached();
    let mut script = mach.0.borrow_mut();
    script.messages.push_back(vec![0xff; 100]);
    script.messages.push_back(Vec::new());
    script.rights.insert(Port(50), 1);
    let unknown = super::message::kernel::dead_name(Port(50));
    script.messages.push_back(unknown.to_vec());
    drop(script);
    assert_eq!(backend.next_stop(), None);
    assert_eq!(log(&mach), Vec::<String>::new());
    assert!(backend.restore_code(PID + 1, dwarf::LoadAddr(0), &[], &[]));
}

#[test]
fn only_a_suspended_thread_can_be_in_a_system_call() {
    let (mut backend, mach) = attached();
    assert!(!backend.leave_system_call(SECOND), "it runs");
    backend.interrupt(SECOND);
    backend.next_stop();
    log(&mach);
    assert!(backend.leave_system_call(SECOND));
    assert_eq!(log(&mach), ["abort 12"]);
    hit(&mach, MAIN, 21);
    assert_eq!(backend.next_stop(), Some((FIRST, TRAPPED)));
    assert!(!backend.leave_system_call(FIRST), "it waits for the reply");
    mach.0.borrow_mut().dead.push(OTHER);
    assert!(!backend.leave_system_call(SECOND), "it has ended");
}

#[test]
fn a_step_that_nothing_asked_for_loses_no_interrupt() {
    let (mut backend, mach) = attached();
    let unasked = |reply| {
        let mut script = mach.0.borrow_mut();
        script.exception(TASK, OTHER, BREAKPOINT.0, [BREAKPOINT.1[0], UNASKED], reply);
    };
    backend.interrupt(SECOND);
    unasked(21);
    let interrupted = Some(ThreadEvent::Interrupted);
    assert_eq!(backend.stop_of(SECOND, Patience::None), interrupted);
    assert_eq!(log(&mach), ["suspend 12", "reply 21 KERN_SUCCESS"]);
    // It stays stopped also if that comes later.
    unasked(22);
    assert_eq!(backend.next_stop(), None);
    assert_eq!(log(&mach), ["reply 22 KERN_SUCCESS"]);
    backend.resume(SECOND, Resume::Continue, Signal(0));
    assert_eq!(log(&mach), ["resume 12"]);
}
