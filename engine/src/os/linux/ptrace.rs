//! ptrace(2) and waitpid(2) without nix: its closed enums lack real-time signals, and its `waitpid`
//! consumes a stop with an unknown signal.

use super::super::linux_abi::signal;
use super::super::thread_state::SIGNAL_BYTES;
use super::super::{Patience, ThreadEvent};
use super::{registers, stop_wait};
use crate::ids::{Signal, ThreadId};
use std::io;

/// Options for all tracees: new threads and processes are traced from birth, and `execve` is
/// reported.
const OPTIONS: libc::c_int = libc::PTRACE_O_TRACECLONE
    | libc::PTRACE_O_TRACEFORK
    | libc::PTRACE_O_TRACEVFORK
    | libc::PTRACE_O_TRACEEXEC
    | libc::PTRACE_O_TRACESYSGOOD;

/// The type of a request: unsigned in glibc's header, signed in musl's.
#[cfg(target_env = "musl")]
type Request = libc::c_int;
#[cfg(not(target_env = "musl"))]
type Request = libc::c_uint;

/// Requests whose operands are numbers: they cannot make the kernel access memory of this process.
#[derive(Clone, Copy)]
enum Order {
    Seize,
    Continue,
    SingleStep,
    Listen,
    Interrupt,
    Detach,
    SetOptions,
    ToCall,
}

fn order(order: Order, tid: i32, addr: usize, data: usize) -> io::Result<i64> {
    let request = match order {
        Order::Seize => libc::PTRACE_SEIZE,
        Order::Continue => libc::PTRACE_CONT,
        Order::SingleStep => libc::PTRACE_SINGLESTEP,
        Order::Listen => libc::PTRACE_LISTEN,
        Order::Interrupt => libc::PTRACE_INTERRUPT,
        Order::Detach => libc::PTRACE_DETACH,
        Order::ToCall => libc::PTRACE_SYSCALL,
        Order::SetOptions => libc::PTRACE_SETOPTIONS,
    };
    // SAFETY: `addr` and `data` are numbers for these requests.
    result(unsafe { libc::ptrace(request, tid, addr, data) })
}

/// Makes a request that reads or writes `*data`; the meaning of `addr` depends on the request.
///
/// # Safety
/// `data`, and `addr` if it is a pointer for the request, must point to live memory of the size
/// that the request needs, writable if the request writes.
unsafe fn transfer<T>(request: Request, tid: i32, addr: usize, data: *mut T) -> io::Result<i64> {
    // SAFETY: guaranteed by the caller.
    result(unsafe { libc::ptrace(request, tid, addr, data) })
}

/// Returns what ptrace(2) has returned, or the error.
pub fn result(result: libc::c_long) -> io::Result<i64> {
    match result {
        -1 => Err(io::Error::last_os_error()),
        result => Ok(result),
    }
}

/// PTRACE_SEIZE. With `exit_kill` the process dies with the tracer.
pub fn seize(tid: i32, exit_kill: bool) -> io::Result<()> {
    let kill = if exit_kill {
        libc::PTRACE_O_EXITKILL
    } else {
        0
    };
    order(Order::Seize, tid, 0, (OPTIONS | kill) as usize).map(drop)
}

/// PTRACE_SETOPTIONS: a stopped tracee dies with the tracer, whatever it was seized with.
pub fn set_exit_kill(tid: ThreadId) -> io::Result<()> {
    let options = (OPTIONS | libc::PTRACE_O_EXITKILL) as usize;
    order(Order::SetOptions, tid.0, 0, options).map(drop)
}

/// Options for the tracees of a recorder: it gets the stops of a seccomp filter, too.
const RECORDED: libc::c_int = OPTIONS | libc::PTRACE_O_EXITKILL | libc::PTRACE_O_TRACESECCOMP;

/// PTRACE_SEIZE of a process that will be under the recorder's filter. It dies with the tracer.
#[allow(dead_code, reason = "only some machines record")]
pub fn seize_for_recording(tid: i32) -> io::Result<()> {
    order(Order::Seize, tid, 0, RECORDED as usize).map(drop)
}

/// PTRACE_SETOPTIONS of a stopped process that is under the recorder's filter.
#[allow(dead_code, reason = "only some machines record")]
pub fn set_options_for_recording(tid: ThreadId) -> io::Result<()> {
    order(Order::SetOptions, tid.0, 0, RECORDED as usize).map(drop)
}

/// Where the kernel tells a thread about restartable sequences (rseq(2)).
#[derive(Clone, Copy, Debug)]
#[allow(dead_code, reason = "only some machines record")]
pub struct Sequences {
    pub addr: u64,
    pub len: u32,
    pub signature: u32,
}

/// PTRACE_GET_RSEQ_CONFIGURATION of a stopped thread; `None`: it has registered none, or the kernel does not
/// say.
#[allow(dead_code, reason = "only some machines record")]
pub fn restartable_sequences(tid: ThreadId) -> Option<Sequences> {
    /// `PTRACE_GET_RSEQ_CONFIGURATION`
    const GET_CONFIGURATION: Request = 0x420f;
    /// `struct ptrace_rseq_configuration`
    #[repr(C)]
    #[derive(Default)]
    struct Configuration {
        pointer: u64,
        size: u32,
        signature: u32,
        flags: u32,
        padding: u32,
    }
    let mut found = Configuration::default();
    // SAFETY: the kernel writes at most as many bytes as `found` has.
    let len = result(unsafe {
        let len = size_of::<Configuration>();
        libc::ptrace(GET_CONFIGURATION, tid.0, len, &raw mut found)
    });
    let len = len.ok()?;
    (len > 0 && found.pointer != 0).then_some(Sequences {
        addr: found.pointer,
        len: found.size,
        signature: found.signature,
    })
}

/// PTRACE_SYSCALL: to the next start or end of a system call.
#[allow(dead_code, reason = "only some machines record")]
pub fn resume_to_call(tid: ThreadId) -> io::Result<()> {
    order(Order::ToCall, tid.0, 0, 0).map(drop)
}

/// Waits for a status of a child (−1: of any) as waitpid(2) returns it. `None`: a signal has ended the
/// wait.
///
/// # Errors
/// There is no such child.
pub fn wait_for_status(pid: i32) -> io::Result<Option<(i32, i32)>> {
    let mut status = 0;
    // SAFETY: status is a live integer.
    match unsafe { libc::waitpid(pid, &raw mut status, libc::__WALL | libc::__WNOTHREAD) } {
        -1 => match io::Error::last_os_error() {
            error if error.kind() == io::ErrorKind::Interrupted => Ok(None),
            error => Err(error),
        },
        pid => Ok(Some((pid, status))),
    }
}

/// Returns a status of a child (−1: of any) that is there already, as waitpid(2) returns it.
///
/// # Errors
/// There is no such child.
pub fn poll_status(pid: i32) -> io::Result<Option<(i32, i32)>> {
    let flags = libc::__WALL | libc::__WNOTHREAD | libc::WNOHANG;
    let mut status = 0;
    // SAFETY: status is a live integer.
    match unsafe { libc::waitpid(pid, &raw mut status, flags) } {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(None),
        pid => Ok(Some((pid, status))),
    }
}

/// Returns the status of a child that has stopped, as waitpid(2) returns it; `None`: it has not. Its end is no stop.
#[allow(dead_code, reason = "only some machines record")]
pub fn poll_stopped(pid: i32) -> Option<i32> {
    /// What the status of a stop ends with.
    const STOPPED: i32 = 0x7f;
    let flags = libc::WSTOPPED | libc::WNOHANG | libc::__WALL | libc::__WNOTHREAD;
    // SAFETY: the structure is made of numbers, and the kernel writes to it only.
    let (result, info) = unsafe {
        let mut info: libc::siginfo_t = std::mem::zeroed();
        let result = libc::waitid(libc::P_PID, pid as libc::id_t, &raw mut info, flags);
        (result, info)
    };
    // SAFETY: what waitid(2) fills in; zero if there is no stop.
    let (stopped, status) = unsafe { (info.si_pid(), info.si_status()) };
    (result == 0 && stopped == pid).then_some(status << 8 | STOPPED)
}

/// PTRACE_CONT or PTRACE_SINGLESTEP.
pub fn resume(tid: ThreadId, step: bool, signal: Signal) -> io::Result<()> {
    let request = if step {
        Order::SingleStep
    } else {
        Order::Continue
    };
    order(request, tid.0, 0, signal.0 as usize).map(drop)
}

/// PTRACE_LISTEN: stays in the group-stop, and reports its end.
pub fn listen(tid: ThreadId) -> io::Result<()> {
    order(Order::Listen, tid.0, 0, 0).map(drop)
}

/// PTRACE_INTERRUPT.
pub fn interrupt(tid: ThreadId) -> io::Result<()> {
    order(Order::Interrupt, tid.0, 0, 0).map(drop)
}

/// PTRACE_DETACH.
pub fn detach(tid: ThreadId, signal: Signal) -> io::Result<()> {
    order(Order::Detach, tid.0, 0, signal.0 as usize).map(drop)
}

/// Returns whether a stopped thread was interrupted, and has no signal to get.
pub fn is_interrupted(tid: ThreadId) -> bool {
    let info = signal_info(tid).and_then(|raw| signal::decode_info(&raw));
    info.is_some_and(|info| info.code >> 8 == libc::PTRACE_EVENT_STOP)
}

/// PTRACE_GETEVENTMSG.
pub fn event_message(tid: i32) -> u64 {
    let mut message: libc::c_ulong = 0;
    // SAFETY: the request writes one word, to a live one.
    let _ = unsafe { transfer(libc::PTRACE_GETEVENTMSG, tid, 0, &raw mut message) };
    message
}

/// PTRACE_GETSIGMASK.
pub fn blocked_signals(tid: ThreadId) -> io::Result<u64> {
    let mut mask = 0_u64;
    let size = size_of::<u64>();
    // SAFETY: the request writes `size` bytes, to a live object of that size.
    unsafe {
        transfer(
            libc::PTRACE_GETSIGMASK as Request,
            tid.0,
            size,
            &raw mut mask,
        )?
    };
    Ok(mask)
}

/// PTRACE_SETSIGMASK.
pub fn set_blocked_signals(tid: ThreadId, mut mask: u64) -> io::Result<()> {
    let size = size_of::<u64>();
    // SAFETY: the request reads `size` bytes of a live object of that size.
    unsafe {
        transfer(
            libc::PTRACE_SETSIGMASK as Request,
            tid.0,
            size,
            &raw mut mask,
        )
    }
    .map(drop)
}

/// PTRACE_GETSIGINFO.
pub fn signal_info(tid: ThreadId) -> Option<[u8; SIGNAL_BYTES]> {
    let mut info = [0; SIGNAL_BYTES];
    // SAFETY: the request writes a `siginfo_t`, to a live array of its size.
    unsafe { transfer(libc::PTRACE_GETSIGINFO, tid.0, 0, &raw mut info).ok()? };
    Some(info)
}

/// PTRACE_SETSIGINFO. Does nothing if the thread is gone.
pub fn set_signal_info(tid: ThreadId, info: &[u8; SIGNAL_BYTES]) {
    let mut info = *info;
    // SAFETY: the request reads a `siginfo_t` of a live array of its size.
    let _ = unsafe { transfer(libc::PTRACE_SETSIGINFO, tid.0, 0, &raw mut info) };
}

const _: () = assert!(SIGNAL_BYTES == size_of::<libc::siginfo_t>());

/// Synchronous signals, which are delivered before all others (the kernel's `SYNCHRONOUS_MASK`).
const OF_INSTRUCTIONS: [libc::c_int; 6] = [
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGILL,
    libc::SIGTRAP,
    libc::SIGFPE,
    libc::SIGSYS,
];

/// PTRACE_PEEKSIGINFO and PTRACE_GETSIGMASK: returns whether a stopped thread has a pending,
/// unblocked signal of its last instruction (a trap, a step, a fault). It is delivered at the next
/// resume, before another instruction executes.
pub fn has_signal_of_instruction(tid: ThreadId) -> bool {
    /// `struct ptrace_peeksiginfo_args`: the thread's own signals from index `off` on.
    #[repr(C)]
    struct Peek {
        off: u64,
        flags: u32,
        nr: i32,
    }
    const PORTION: usize = 16;
    let mut infos = [[0_u8; SIGNAL_BYTES]; PORTION];
    let mut peek = Peek {
        off: 0,
        flags: 0,
        nr: PORTION as i32,
    };
    loop {
        let (from, to) = (&raw const peek as usize, &raw mut infos);
        // SAFETY: `peek` is live and of the kernel's layout; the request writes at most `peek.nr`
        // elements, which is the length of `infos`.
        let Ok(count) = (unsafe { transfer(libc::PTRACE_PEEKSIGINFO, tid.0, from, to) }) else {
            return false;
        };
        let pending = infos[..(count as usize).min(PORTION)].iter();
        let mut pending = pending.filter_map(|info| signal::decode_info(info));
        let found = pending.find(|it| it.code > 0 && OF_INSTRUCTIONS.contains(&it.signal.0));
        if let Some(found) = found {
            // A program may send itself a signal that looks like it, and keep it blocked.
            let blocked = blocked_signals(tid).unwrap_or(u64::MAX);
            return blocked & (1 << (found.signal.0 - 1)) == 0;
        }
        if count < PORTION as i64 {
            return false;
        }
        peek.off += PORTION as u64;
    }
}

/// PTRACE_GETREGSET into words. Returns false if the thread is gone.
pub fn read_register_words(tid: ThreadId, set: i32, words: &mut [u64]) -> bool {
    // SAFETY: any bytes are valid words.
    unsafe { read_register_set(tid, set, words) }.is_some()
}

/// PTRACE_SETREGSET of words. Returns false if the thread is gone.
pub fn write_register_words(tid: ThreadId, set: i32, words: &[u64]) -> bool {
    write_register_set(tid, set, words)
}

/// PTRACE_GETREGSET into bytes. Returns the number of bytes read; `None` if the thread is gone.
pub fn read_register_bytes(tid: ThreadId, set: i32, bytes: &mut [u8]) -> Option<usize> {
    // SAFETY: any bytes are valid.
    unsafe { read_register_set(tid, set, bytes) }
}

/// PTRACE_SETREGSET of bytes. Returns false if the thread is gone or the kernel refuses.
pub fn write_register_bytes(tid: ThreadId, set: i32, bytes: &[u8]) -> bool {
    write_register_set(tid, set, bytes)
}

/// # Safety
/// Any bit pattern must be a valid `T`.
unsafe fn read_register_set<T>(tid: ThreadId, set: i32, data: &mut [T]) -> Option<usize> {
    let len = size_of_val(data);
    let mut vector = libc::iovec {
        iov_base: data.as_mut_ptr().cast(),
        iov_len: len,
    };
    // SAFETY: the request writes at most `iov_len` bytes at `iov_base`, which is the size of
    // `data`; the caller allows any bytes there.
    unsafe { transfer(libc::PTRACE_GETREGSET, tid.0, set as usize, &raw mut vector).ok()? };
    Some(vector.iov_len.min(len))
}

fn write_register_set<T>(tid: ThreadId, set: i32, data: &[T]) -> bool {
    let mut vector = libc::iovec {
        iov_base: data.as_ptr().cast_mut().cast(),
        iov_len: size_of_val(data),
    };
    // SAFETY: the request reads at most `iov_len` bytes at `iov_base`, which is the size of `data`.
    let done = unsafe { transfer(libc::PTRACE_SETREGSET, tid.0, set as usize, &raw mut vector) };
    done.is_ok()
}

/// Waits in the kernel until a child has a status. `None`: there is no such child, or the wait is over.
pub fn wait_for(tid: i32) -> Option<ThreadEvent> {
    let status = stop_wait::next_status(tid).ok()?;
    Some(decode(tid, status))
}

/// Returns an available stop of any thread.
pub fn next_stop() -> Option<(ThreadId, ThreadEvent)> {
    let (pid, status) = poll_status(-1).ok()??;
    let thread = ThreadId(pid);
    Some((thread, settled(thread, decode(pid, status))))
}

/// Returns the stop of a thread; `None` if it does not come within `patience`, or it is gone.
/// The exit of a process's first thread is reported only after the exits of all others have been collected, and
/// that is our job.
pub fn stop_of(thread: ThreadId, patience: Patience) -> Option<ThreadEvent> {
    let status = any_stop_of(thread, patience)?;
    Some(settled(thread, status))
}

/// Returns a thread's stop after what the kernel leaves to be done about it.
fn settled(thread: ThreadId, status: ThreadEvent) -> ThreadEvent {
    let status = take_signal_before_interrupt(thread, status);
    if status == ThreadEvent::Signal(Signal::TRAP) {
        registers::end_step_over_call(thread);
    }
    status
}

fn any_stop_of(thread: ThreadId, patience: Patience) -> Option<ThreadEvent> {
    let status = stop_wait::status_of(thread.0, patience).ok()?;
    Some(decode(thread.0, status))
}

/// If a thread is interrupted just as its instruction traps or faults, the kernel reports the
/// interrupt first (the pc is already past the trap) and the signal only after the next resume,
/// wherever the pc is by then. So resumes it once and returns the signal's stop.
fn take_signal_before_interrupt(thread: ThreadId, mut status: ThreadEvent) -> ThreadEvent {
    // Twice, as a group-stop may begin in between.
    for _ in 0..2 {
        let interrupted = matches!(status, ThreadEvent::Interrupted | ThreadEvent::GroupStop(_));
        if !interrupted || !has_signal_of_instruction(thread) {
            break;
        }
        let in_group_stop = matches!(status, ThreadEvent::GroupStop(_));
        if resume(thread, false, Signal(0)).is_err() {
            break;
        }
        let Some(first) = any_stop_of(thread, Patience::UntilStopped) else {
            break;
        };
        status = first;
        if in_group_stop {
            // Makes it report the group-stop again.
            let _ = interrupt(thread);
        }
    }
    status
}

fn decode(pid: i32, status: i32) -> ThreadEvent {
    if libc::WIFEXITED(status) {
        return ThreadEvent::Exited(libc::WEXITSTATUS(status));
    }
    if libc::WIFSIGNALED(status) {
        return ThreadEvent::Killed(Signal(libc::WTERMSIG(status)));
    }
    if !libc::WIFSTOPPED(status) {
        return ThreadEvent::Other;
    }
    let signal = libc::WSTOPSIG(status);
    match status >> 16 {
        0 => ThreadEvent::Signal(Signal(signal)),
        libc::PTRACE_EVENT_STOP => match signal {
            libc::SIGSTOP | libc::SIGTSTP | libc::SIGTTIN | libc::SIGTTOU => {
                ThreadEvent::GroupStop(Signal(signal))
            }
            _ => ThreadEvent::Interrupted,
        },
        libc::PTRACE_EVENT_CLONE => ThreadEvent::Created(ThreadId(event_message(pid) as i32)),
        libc::PTRACE_EVENT_FORK => ThreadEvent::Forked(event_message(pid) as i32),
        libc::PTRACE_EVENT_VFORK => ThreadEvent::Vforked(event_message(pid) as i32),
        libc::PTRACE_EVENT_EXEC => ThreadEvent::Execed(ThreadId(event_message(pid) as i32)),
        _ => ThreadEvent::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::super::procfs;
    use super::*;
    use std::env;
    use std::process::{Command, Stdio};

    /// Environment variable that marks the child process of the test below.
    const SLEEPER: &str = "STILLPOINT_TEST_SLEEPER";

    #[test]
    fn sleeper() {
        while env::var_os(SLEEPER).is_some() {
            std::thread::park();
        }
    }

    #[test]
    fn killed_leader_is_reaped_after_its_threads() {
        // A test runs on a thread beside the main thread.
        let mut sleeper = Command::new(env::current_exe().expect("this test"));
        sleeper.args(["--exact", "os::linux::ptrace::tests::sleeper"]);
        let mut sleeper =
            (sleeper.env(SLEEPER, "1").stdout(Stdio::null()).spawn()).expect("it runs");
        let leader = ThreadId(sleeper.id() as i32);
        let threads = loop {
            let threads = procfs::threads(leader.0);
            if threads.len() > 1 {
                break threads;
            }
            std::thread::yield_now();
        };
        for thread in threads.iter().copied().map(ThreadId) {
            seize(thread.0, true).expect("ours");
            interrupt(thread).expect("ours");
            assert_eq!(
                stop_of(thread, Patience::UntilStopped),
                Some(ThreadEvent::Interrupted)
            );
        }
        sleeper.kill().expect("ours");
        assert_eq!(stop_of(leader, Patience::UntilStopped), None);
        let killed = ThreadEvent::Killed(Signal(libc::SIGKILL));
        for thread in threads.into_iter().rev().map(ThreadId) {
            assert_eq!(stop_of(thread, Patience::UntilStopped), Some(killed));
        }
        // Its exit was collected above.
        assert!(sleeper.wait().is_err());
    }
}
