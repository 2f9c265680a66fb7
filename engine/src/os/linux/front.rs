//! Two processes instead of one. The client starts, knows and kills the one in front, which holds
//! nothing; the debugger is its child. A tracer that is killed leaves threads in the delivery of a
//! SIGTRAP, which the kernel then completes: the program dies. Killed is the process that the
//! client knows, so that is not the tracer. The tracer learns of the death of the front by a signal
//! and ends the session in order.

use super::{descriptors, ending};
use std::mem::MaybeUninit;
use std::sync::OnceLock;

/// The process in front of this one.
static FRONT: OnceLock<i32> = OnceLock::new();

/// The process group of the process behind the front.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProcessGroup {
    /// That of the front: both are in the foreground of a terminal, or neither.
    Same,
    /// One of its own: a SIGKILL to the front's group does not reach the tracer.
    Own,
}

/// What the front tells apart.
enum Sent {
    /// A child has ended.
    ChildEnded,
    /// For the process behind the front.
    Other(i32),
}

/// Puts a process in front of this one: returns in a new child of it. The calling process waits
/// for that child, passes signals on to it and ends as it does. To be called at the start of
/// `main`, before any thread exists and before `prepare`.
///
/// # Errors
/// There is no process to be had; this one is as it was.
pub fn stand_behind_front(group: ProcessGroup) -> std::io::Result<()> {
    // SAFETY: the sets are live and initialised before use; no other thread exists, so the child
    // may go on as this process would have.
    unsafe {
        let passed_on = passed_on();
        let mut mask = MaybeUninit::<libc::sigset_t>::zeroed();
        // None may come and go unseen before the front waits for them.
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
                libc::prctl(libc::PR_SET_PDEATHSIG, ending::BY_FRONT);
                if libc::getppid() != front {
                    // Killed before we asked for the signal; nothing has begun.
                    libc::_exit(0);
                }
                if group == ProcessGroup::Own {
                    libc::setpgid(0, 0);
                }
                // Another name: `killall -9 stillpoint` ends the front, and the session in order.
                libc::prctl(libc::PR_SET_NAME, c"stillpoint-work".as_ptr());
                restore();
                let _ = FRONT.set(front);
                Ok(())
            }
            child => stand_in_front(child, &passed_on),
        }
    }
}

/// Whether a process is the one in front of this one.
pub fn is_front(pid: i32) -> bool {
    FRONT.get() == Some(&pid)
}

/// The signals that the front passes on. Those of job control stop and continue both processes by
/// themselves: a terminal sends them to the whole group.
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

/// The life of the front.
///
/// # Safety
/// To be called by the only thread, right after the fork of `child`, `signals` blocked.
unsafe fn stand_in_front(child: i32, signals: &libc::sigset_t) -> ! {
    // SAFETY: system calls on integers and live local memory.
    unsafe {
        // Where it was ignored, children would vanish unseen.
        libc::signal(libc::SIGCHLD, libc::SIG_DFL);
        descriptors::close_all_but([]);
        // It may have ended before SIGCHLD was as it is now.
        let mut sent = Sent::ChildEnded;
        loop {
            match sent {
                Sent::ChildEnded => {
                    if let Some(status) = end_of(child) {
                        end_like(status);
                    }
                }
                Sent::Other(signal) => {
                    libc::kill(child, signal);
                }
            }
            sent = match libc::sigwaitinfo(signals, std::ptr::null_mut()) {
                libc::SIGCHLD => Sent::ChildEnded,
                signal if signal > 0 => Sent::Other(signal),
                // Stopped and continued.
                _ => Sent::ChildEnded,
            };
        }
    }
}

/// How the child has ended, if it has. Others are children that lost their parents (the front may
/// be the first process of a container): they are collected.
fn end_of(child: i32) -> Option<i32> {
    loop {
        let mut status = 0;
        // SAFETY: the status is live.
        match unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG) } {
            pid if pid == child => return Some(status),
            // It is gone, and how it ended is not known.
            -1 => return Some(1 << 8),
            0 => return None,
            _ => {}
        }
    }
}

/// Ends this process as another one has.
fn end_like(status: i32) -> ! {
    // SAFETY: system calls on integers and live local memory.
    unsafe {
        if libc::WIFSIGNALED(status) {
            let signal = libc::WTERMSIG(status);
            // One core file is enough.
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
