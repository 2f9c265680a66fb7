//! Copies of a process that these tests start.

use super::*;
use crate::arch::Arch;
use crate::ids::Signal;
use crate::os::linux::{LinuxBackend, registers};
use crate::os::{Backend, Patience, Waker};
use std::io::Read;

/// A process that spins until it is killed.
struct Debuggee {
    thread: ThreadId,
    /// Where it has a system call instruction.
    instruction: LoadAddr,
    /// Where it has eight bytes to write to.
    word: LoadAddr,
}

impl Debuggee {
    /// Starts a process that is not traced, with the descriptors of this one.
    fn start() -> Debuggee {
        let word = Box::leak(Box::new(1_u64));
        let mut page = memmap2::MmapMut::map_anon(1 << 16).expect("a page");
        let call = Arch::HOST.system_call_instruction();
        page[..call.len()].copy_from_slice(call);
        let page = page.make_exec().expect("a page of code");
        // SAFETY: the child makes system calls only.
        let pid = unsafe { libc::fork() };
        if pid == 0 {
            // SAFETY: it takes numbers only.
            unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
            loop {
                std::hint::spin_loop();
            }
        }
        assert!(pid > 0, "a child");
        Debuggee {
            thread: ThreadId(pid),
            instruction: LoadAddr(page.as_ptr() as u64),
            word: LoadAddr(std::ptr::from_mut(word) as u64),
        }
    }

    fn stopped() -> Debuggee {
        let debuggee = Debuggee::start();
        debuggee.stop();
        debuggee
    }

    fn stop(&self) {
        ptrace::seize(self.thread.0, false).expect("a tracee");
        ptrace::interrupt(self.thread).expect("a tracee");
        assert_eq!(self.next(), Some(ThreadEvent::Interrupted));
    }

    fn next(&self) -> Option<ThreadEvent> {
        ptrace::stop_of(self.thread, Patience::UntilStopped)
    }

    fn copy(&self, parent: CopyParent) -> ProcessCopy {
        let copies = Copies::default();
        (copies.copy_process(self.thread, self.instruction, parent)).expect("a copy")
    }

    fn call(&self, number: libc::c_long, arguments: [u64; 6]) -> i64 {
        let mut injection = Injection::begin(self.thread, self.instruction).expect("it is stopped");
        let result = injection.call(number, arguments).expect("a result");
        injection.finish();
        result.value
    }

    fn write(&self, value: u64) {
        let memory = File::options().write(true).open(self.file("mem"));
        let memory = memory.expect("its memory");
        memory
            .write_all_at(&value.to_le_bytes(), self.word.0)
            .expect("its word");
    }

    fn file(&self, name: &str) -> String {
        format!("/proc/{}/{name}", self.thread.0)
    }
}

impl Drop for Debuggee {
    fn drop(&mut self) {
        // SAFETY: integers only; the child is not collected yet.
        unsafe { libc::kill(self.thread.0, libc::SIGKILL) };
        stop_wait::collect(self.thread.0);
    }
}

fn exists(pid: i32) -> bool {
    std::path::Path::new(&format!("/proc/{pid}")).exists()
}

fn word_of(copy: &ProcessCopy, debuggee: &Debuggee) -> u64 {
    let mut bytes = [0; 8];
    assert_eq!(copy.read_memory(debuggee.word, &mut bytes), 8);
    u64::from_le_bytes(bytes)
}

#[test]
fn copy_keeps_memory_that_the_process_changes() {
    let debuggee = Debuggee::stopped();
    let first = debuggee.copy(CopyParent::Copied);
    debuggee.write(2);
    let second = debuggee.copy(CopyParent::OfCopied);
    debuggee.write(3);
    assert_eq!(word_of(&first, &debuggee), 1);
    assert_eq!(word_of(&second, &debuggee), 2);
}

#[test]
fn state_of_the_thread_is_the_same_in_both() {
    let debuggee = Debuggee::stopped();
    let pending = libc::SIGUSR1;
    ptrace::set_blocked_signals(debuggee.thread, 1 << 11).expect("it is stopped");
    // SAFETY: integers only.
    unsafe { libc::kill(debuggee.thread.0, pending) };
    ptrace::resume(debuggee.thread, false, Signal(0)).expect("it is stopped");
    assert_eq!(debuggee.next(), Some(ThreadEvent::Signal(Signal(pending))));
    let mut before = registers::read(debuggee.thread).expect("it is stopped");
    let info = ptrace::signal_info(debuggee.thread);
    let copy = debuggee.copy(CopyParent::Copied);
    let mut after = registers::read(debuggee.thread).expect("it is stopped");
    let mut copied = registers::read(copy.thread()).expect("it is stopped");
    assert_eq!(before.words_mut(), after.words_mut());
    assert_eq!(before.words_mut(), copied.words_mut());
    for thread in [debuggee.thread, copy.thread()] {
        assert_eq!(ptrace::blocked_signals(thread).expect("stopped"), 1 << 11);
    }
    assert_eq!(ptrace::signal_info(debuggee.thread), info);
    // It is delivered as it would have been.
    ptrace::resume(debuggee.thread, false, Signal(pending)).expect("it is stopped");
    let killed = ThreadEvent::Killed(Signal(pending));
    assert_eq!(debuggee.next(), Some(killed));
}

#[test]
fn signals_that_wait_arrive_after_the_copy() {
    let debuggee = Debuggee::stopped();
    for signal in [libc::SIGUSR1, libc::SIGSTOP] {
        // SAFETY: integers only.
        unsafe { libc::kill(debuggee.thread.0, signal) };
        let copy = debuggee.copy(CopyParent::Copied);
        let status = std::fs::read_to_string(format!("/proc/{}/status", copy.pid()));
        let status = status.expect("a process");
        for pending in ["SigPnd:\t0000000000000000", "ShdPnd:\t0000000000000000"] {
            assert!(status.contains(pending), "{status}");
        }
        ptrace::resume(debuggee.thread, false, Signal(0)).expect("it is stopped");
        assert_eq!(debuggee.next(), Some(ThreadEvent::Signal(Signal(signal))));
    }
}

#[test]
fn group_stop_is_one_after_the_copy() {
    let debuggee = Debuggee::start();
    ptrace::seize(debuggee.thread.0, false).expect("a tracee");
    // SAFETY: integers only.
    unsafe { libc::kill(debuggee.thread.0, libc::SIGSTOP) };
    let stop = Signal(libc::SIGSTOP);
    assert_eq!(debuggee.next(), Some(ThreadEvent::Signal(stop)));
    ptrace::resume(debuggee.thread, false, stop).expect("it is stopped");
    assert_eq!(debuggee.next(), Some(ThreadEvent::GroupStop(stop)));
    let _copy = debuggee.copy(CopyParent::Copied);
    ptrace::listen(debuggee.thread).expect("a group-stop");
    // SAFETY: integers only.
    unsafe { libc::kill(debuggee.thread.0, libc::SIGCONT) };
    assert_eq!(debuggee.next(), Some(ThreadEvent::Interrupted));
}

#[test]
fn process_notices_no_child() {
    let debuggee = Debuggee::stopped();
    let copy = debuggee.copy(CopyParent::Copied);
    let (pid, inside) = (copy.pid(), copy.pid_inside());
    let wait = || {
        let flags = libc::WNOHANG as u64;
        debuggee.call(libc::SYS_wait4, [u64::MAX, 0, flags, 0, 0, 0])
    };
    assert_eq!(wait(), -i64::from(libc::ECHILD));
    drop(copy);
    assert_eq!(wait(), -i64::from(libc::ECHILD));
    let status = std::fs::read_to_string(debuggee.file("status")).expect("a process");
    assert!(status.contains("ShdPnd:\t0000000000000000"), "{status}");
    assert!(exists(pid), "a zombie until it is collected");
    reap_in(None, debuggee.thread, debuggee.instruction, inside).expect("its child");
    assert!(!exists(pid));
}

#[test]
fn copy_beside_the_process_leaves_no_zombie() {
    let debuggee = Debuggee::stopped();
    let copy = debuggee.copy(CopyParent::OfCopied);
    let pid = copy.pid();
    assert!(exists(pid));
    drop(copy);
    assert!(!exists(pid));
}

#[test]
fn copy_holds_no_pipe_open() {
    let (mut reader, writer) = std::io::pipe().expect("a pipe");
    let debuggee = Debuggee::stopped();
    drop(writer);
    let copy = debuggee.copy(CopyParent::Copied);
    drop(debuggee);
    let mut rest = Vec::new();
    reader.read_to_end(&mut rest).expect("the end of the pipe");
    assert!(exists(copy.pid()));
}

#[test]
fn events_of_a_copy_are_not_the_debuggees() {
    let waker = Waker::new().expect("descriptors");
    let mut backend = LinuxBackend::woken_by(waker).expect("a backend");
    let debuggee = Debuggee::stopped();
    let copy = backend
        .copies
        .copy_process(debuggee.thread, debuggee.instruction, CopyParent::Copied)
        .expect("a copy");
    assert_eq!(backend.next_stop(), None);
    // SAFETY: integers only.
    unsafe { libc::kill(copy.pid(), libc::SIGKILL) };
    await_end(&copy.process);
    assert_eq!(backend.next_stop(), None);
    assert_eq!(copy.read_memory(debuggee.word, &mut [0; 8]), 0);
}

#[test]
fn copy_of_an_attached_process_dies_with_the_tracer() {
    let debuggee = Debuggee::start();
    let process = std::thread::scope(|scope| {
        let tracer = scope.spawn(|| {
            debuggee.stop();
            let copy = debuggee.copy(CopyParent::Copied);
            let process = copy.process.try_clone().expect("descriptors");
            std::mem::forget(copy);
            process
        });
        tracer.join().expect("a copy")
    });
    await_end(&process);
    assert_eq!(ptrace::stop_of(debuggee.thread, Patience::None), None);
    assert!(exists(debuggee.thread.0));
}

#[test]
fn wrong_instruction_is_an_error_and_harmless() {
    let debuggee = Debuggee::stopped();
    let mut before = registers::read(debuggee.thread).expect("it is stopped");
    let copies = Copies::default();
    let error = copies
        .copy_process(debuggee.thread, LoadAddr(0x10), CopyParent::Copied)
        .err()
        .expect("nothing is mapped there");
    assert!(error.to_string().contains("0x10"), "{error}");
    let mut after = registers::read(debuggee.thread).expect("it is stopped");
    assert_eq!(before.words_mut(), after.words_mut());
}

#[test]
fn death_in_the_call_is_an_error() {
    let debuggee = Debuggee::stopped();
    // SAFETY: integers only.
    unsafe { libc::kill(debuggee.thread.0, libc::SIGKILL) };
    let copies = Copies::default();
    let instruction = debuggee.instruction;
    let copy = copies.copy_process(debuggee.thread, instruction, CopyParent::Copied);
    let error = copy.err().expect("it was killed");
    assert!(
        matches!(error, CopyError::Injection(InjectionError::Ended(_))),
        "{error}"
    );
}

/// A process that has not been waited for has a PID namespace, but none for children.
#[test]
fn a_process_that_has_ended_begins_no_namespace() {
    let mut child = std::process::Command::new("true").spawn().expect("true");
    crate::os::linux::host::await_exit(&child);
    assert!(!begins_namespace(ThreadId(child.id().cast_signed())));
    child.wait().expect("its end");
}

/// Waits for the end of a process.
fn await_end(process: &OwnedFd) {
    let mut poll = libc::pollfd {
        fd: process.as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    };
    // SAFETY: one live element.
    assert_eq!(unsafe { libc::poll(&raw mut poll, 1, -1) }, 1);
}

#[test]
fn a_system_call_that_does_not_end_is_left_at_the_end() {
    std::thread::spawn(|| {
        let debuggee = Debuggee::stopped();
        crate::os::unix::ending::ask_this_thread_to_end();
        let mut injection =
            Injection::begin(debuggee.thread, debuggee.instruction).expect("it is stopped");
        assert!(injection.call(libc::SYS_ppoll, [0; 6]).is_err());
    })
    .join()
    .expect("the wait ends");
}

#[test]
fn error_of_a_debugger_without_descriptors_names_the_remedy() {
    let none_left = || io::Error::from_raw_os_error(libc::EMFILE);
    let text = CopyError::System("pidfd_open", none_left()).to_string();
    assert!(text.contains("raise its limit (`ulimit -n`)"), "{text}");
}
