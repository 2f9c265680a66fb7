//! The debugger runs as a child of a front process. The client starts, knows and kills the front,
//! which holds no resources. A tracer that is killed leaves threads in the delivery of a SIGTRAP,
//! which the kernel then completes: the debuggee dies. A client kills the process that it knows,
//! and that is not the tracer. The tracer receives a signal when the front dies, and ends the
//! session in order, within 10 s.
//!
//! The front forks the tracer before its first thread, forwards signals to it, and ends as it does.
//! The tracer has another name and, behind pipes, a process group of its own, so `killall -9` and a
//! SIGKILL to the client's group miss it.

use super::own;
use std::mem::MaybeUninit;
use std::sync::OnceLock;

/// The signal as which the front passes on SIGINT. A terminal sends SIGINT to the whole group, and a debugger behind
/// a front ignores its own: a key pressed once counts once.
pub const INTERRUPT: i32 = libc::SIGUSR2;

/// Pid of the front process.
static FRONT: OnceLock<i32> = OnceLock::new();

/// The process group of the debugger behind the front.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProcessGroup {
    /// The front's group: both are in the foreground of a terminal, or neither.
    Same,
    /// A group of its own: a SIGKILL to the front's group does not reach the tracer.
    Own,
}

/// A signal that the front received.
enum Sent {
    /// SIGCHLD: a child has ended.
    ChildEnded,
    /// A signal to pass on to the debugger.
    Other(i32),
}

/// Forks, and returns in the child. The calling process becomes the front: it waits for the child,
/// passes signals on to it and ends as it does. Call this at the start of `main`, before any thread
/// exists and before `prepare`.
///
/// # Errors
/// The process cannot fork; its state is unchanged.
pub fn run_behind_front(group: ProcessGroup) -> std::io::Result<()> {
    // SAFETY: the sets are live and initialised before use. No other thread exists, so the child
    // may continue as this process would have.
    unsafe {
        let passed_on = passed_on();
        let mut mask = MaybeUninit::<libc::sigset_t>::zeroed();
        // Blocked so that none is lost before the front waits for them.
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const passed_on, mask.as_mut_ptr());
        let mask = mask.assume_init();
        let restore =
            || libc::pthread_sigmask(libc::SIG_SETMASK, &raw const mask, std::ptr::null_mut());
        let front = libc::getpid();
        match libc::fork() {
            -1 => {
                let error = std::io::Error::last_os_error();
                restore();
                Err(error)
            }
            0 => {
                own::end_with_front();
                if libc::getppid() != front {
                    // The front died before that; nothing has begun.
                    libc::_exit(0);
                }
                if group == ProcessGroup::Own {
                    libc::setpgid(0, 0);
                }
                // With another name, `killall -9 stillpoint` kills only the front, and the session
                // ends in order.
                own::set_process_name(c"stillpoint-work");
                restore();
                let _ = FRONT.set(front);
                Ok(())
            }
            child => stand_in_front(child, &passed_on),
        }
    }
}

/// Returns the front of this process; `None` if there is none.
pub fn front() -> Option<i32> {
    FRONT.get().copied()
}

/// Returns whether a process is the front of this one.
pub fn is_front(pid: i32) -> bool {
    front() == Some(pid)
}

/// Returns the signals that the front passes on. Job control signals are not among them: a terminal
/// sends them to the whole group, and they stop and continue both processes directly.
fn passed_on() -> libc::sigset_t {
    let mut set = MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: sigfillset initialises the set.
    unsafe {
        libc::sigfillset(set.as_mut_ptr());
        for signal in [libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU, libc::SIGCONT] {
            libc::sigdelset(set.as_mut_ptr(), signal);
        }
        set.assume_init()
    }
}

/// The front's main function.
///
/// # Safety
/// Must be called by the only thread, right after the fork of `child`, with `signals` blocked.
unsafe fn stand_in_front(child: i32, signals: &libc::sigset_t) -> ! {
    // SAFETY: system calls on integers and live local memory.
    unsafe {
        // While SIGCHLD is ignored, children are reaped automatically.
        libc::signal(libc::SIGCHLD, libc::SIG_DFL);
        own::receive_all_signals();
        own::close_all_but([]);
        // The child may have ended while SIGCHLD was ignored.
        let mut sent = Sent::ChildEnded;
        loop {
            match sent {
                Sent::ChildEnded => {
                    if let Some(status) = end_of(child) {
                        end_like(status);
                    }
                }
                Sent::Other(libc::SIGINT) => {
                    libc::kill(child, INTERRUPT);
                }
                Sent::Other(signal) => {
                    libc::kill(child, signal);
                }
            }
            let mut signal = 0;
            sent = match (libc::sigwait(signals, &raw mut signal), signal) {
                (0, signal) if signal != libc::SIGCHLD => Sent::Other(signal),
                // SIGCHLD, or EINTR: this process was stopped and continued.
                _ => Sent::ChildEnded,
            };
        }
    }
}

/// Returns the wait status of the child if it has ended. Other children are orphans (the front may
/// be the init process of a container) and are reaped.
fn end_of(child: i32) -> Option<i32> {
    loop {
        let mut status = 0;
        // SAFETY: the status is live.
        match unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG) } {
            pid if pid == child => return Some(status),
            // The child was reaped elsewhere; its status is unknown.
            -1 => return Some(1 << 8),
            0 => return None,
            _ => {}
        }
    }
}

/// Ends this process in the same way as another one ended.
fn end_like(status: i32) -> ! {
    // SAFETY: system calls on integers and live local memory.
    unsafe {
        if libc::WIFSIGNALED(status) {
            let signal = match libc::WTERMSIG(status) {
                // Before it was ready to handle it.
                INTERRUPT => libc::SIGINT,
                signal => signal,
            };
            // The child has already written a core file.
            let none = libc::rlimit {
                rlim_cur: 0,
                rlim_max: 0,
            };
            libc::setrlimit(libc::RLIMIT_CORE, &raw const none);
            libc::signal(signal, libc::SIG_DFL);
            libc::kill(libc::getpid(), signal);
            let mut set = MaybeUninit::<libc::sigset_t>::zeroed();
            libc::sigemptyset(set.as_mut_ptr());
            libc::sigprocmask(libc::SIG_SETMASK, set.as_ptr(), std::ptr::null_mut());
            libc::_exit(128 + signal);
        }
        libc::_exit(libc::WEXITSTATUS(status))
    }
}
