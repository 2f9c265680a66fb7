//! Duties for processes that are no longer traced, in case the tracer dies: PTRACE_O_EXITKILL and
//! the guardian cover only traced ones. A small process (the keeper) waits for the tracer's death.
//! The kernel signals the death of the thread that forked the keeper after it has detached that
//! thread's tracees.
//!
//! A duty that was not ended by then is carried out, also when the tracer exits normally.

use super::super::Duty;
use super::own;
use crate::arch::SPIN_LOOP_BYTES;
use dwarf::LoadAddr;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// Maximum number of polls of a process that was handed over. Polling lasts while its new debugger
/// lives and may take it over.
const MAX_POLLS: u32 = 1000;
/// Time between them.
const POLL_INTERVAL_MS: i32 = 10;

/// A process that waits for the debugger's death, as the debugger sees it.
pub struct Keeper {
    pub pid: i32,
    /// pidfd of the process that the duty is for; `None` on kernels before 5.3.
    target: Option<OwnedFd>,
}

/// The keeper's data, prepared before the fork.
struct Orders {
    pid: i32,
    target: RawFd,
    /// Descriptors of the target's memory, and of the debugger that it was handed over to.
    memory: RawFd,
    debugger: RawFd,
    duty: Duty,
}

impl Keeper {
    /// Starts a keeper for `pid`. Call it on the tracing thread.
    pub fn start(pid: i32, duty: Duty) -> io::Result<Keeper> {
        let target = open_process(pid);
        let (memory, debugger) = match duty {
            Duty::Kill => (None, None),
            Duty::RestoreCode { to, .. } => {
                let memory = format!("/proc/{pid}/mem");
                let memory = OpenOptions::new().read(true).write(true).open(memory)?;
                (Some(memory), open_process(to))
            }
        };
        let orders = Orders {
            pid,
            target: raw(&target),
            memory: memory.as_ref().map_or(-1, File::as_raw_fd),
            debugger: raw(&debugger),
            duty,
        };
        // SAFETY: the child makes system calls only, on memory that was prepared before the fork.
        unsafe {
            let parent = libc::getpid();
            match libc::fork() {
                -1 => Err(io::Error::last_os_error()),
                0 => wait_for_death(parent, &orders),
                keeper => Ok(Keeper {
                    pid: keeper,
                    target,
                }),
            }
        }
    }

    /// Kills the process that the duty is for.
    pub fn kill_target(&self, pid: i32) {
        // SAFETY: integers only.
        unsafe { kill(pid, raw(&self.target)) };
    }

    /// Ends the keeper: the duty is void.
    pub fn dismiss(self) {
        let mut status = 0;
        // SAFETY: the keeper is our own child and has not been reaped.
        unsafe {
            libc::kill(self.pid, libc::SIGKILL);
            libc::waitpid(self.pid, &raw mut status, libc::__WALL);
        }
    }
}

fn raw(descriptor: &Option<OwnedFd>) -> RawFd {
    descriptor.as_ref().map_or(-1, OwnedFd::as_raw_fd)
}

/// Opens a descriptor of a process, because its pid may be reused before it is needed.
fn open_process(pid: i32) -> Option<OwnedFd> {
    // SAFETY: the call returns a new descriptor without another owner.
    unsafe {
        let descriptor = libc::syscall(libc::SYS_pidfd_open, pid, 0);
        (descriptor >= 0).then(|| OwnedFd::from_raw_fd(descriptor as RawFd))
    }
}

/// # Safety
/// Only system calls on integers; may be called in a forked child.
unsafe fn kill(pid: i32, process: RawFd) {
    // SAFETY: integers only.
    unsafe {
        if process < 0 {
            libc::kill(pid, libc::SIGKILL);
        } else {
            let no_info = std::ptr::null::<libc::siginfo_t>();
            libc::syscall(
                libc::SYS_pidfd_send_signal,
                process,
                libc::SIGKILL,
                no_info,
                0,
            );
        }
    }
}

/// The keeper's main function.
///
/// # Safety
/// Must be called in the forked child only.
unsafe fn wait_for_death(parent: i32, orders: &Orders) -> ! {
    // SAFETY: system calls on integers and live local memory.
    unsafe {
        let mut death = std::mem::zeroed();
        libc::sigemptyset(&raw mut death);
        libc::sigaddset(&raw mut death, libc::SIGTERM);
        libc::sigprocmask(libc::SIG_BLOCK, &raw const death, std::ptr::null_mut());
        libc::setsid();
        own::set_process_name(c"stillpoint-duty");
        own::close_all_but([orders.target, orders.memory, orders.debugger]);
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM);
        // SIGTERM may come from elsewhere; the parent's pid changes with its death.
        while libc::getppid() == parent {
            libc::sigwaitinfo(&raw const death, std::ptr::null_mut());
        }
        match orders.duty {
            Duty::Kill => kill(orders.pid, orders.target),
            Duty::RestoreCode {
                at,
                bytes,
                original,
                launched,
                ..
            } => {
                let place = Place {
                    memory: orders.memory,
                    at,
                    bytes,
                };
                if !is_taken_over(&place, orders.debugger) {
                    if launched {
                        kill(orders.pid, orders.target);
                    } else {
                        restore(orders.pid, &place, original);
                    }
                }
            }
        }
        libc::_exit(0)
    }
}

/// A spin loop in a process's code.
struct Place {
    memory: RawFd,
    at: LoadAddr,
    bytes: [u8; SPIN_LOOP_BYTES],
}

impl Place {
    /// Returns whether the spin loop is still there.
    ///
    /// # Safety
    /// The buffer of the system call is local; may be called in a forked child.
    unsafe fn holds(&self) -> bool {
        let mut now = [0; SPIN_LOOP_BYTES];
        // SAFETY: the buffer is live and has the given length.
        let count = unsafe {
            libc::pread(
                self.memory,
                now.as_mut_ptr().cast(),
                now.len(),
                self.at.0 as libc::off_t,
            )
        };
        count == now.len() as isize && now == self.bytes
    }

    /// # Safety
    /// As for [`Place::holds`].
    unsafe fn write(&self, original: [u8; SPIN_LOOP_BYTES]) {
        // SAFETY: the buffer is live and has the given length.
        unsafe {
            libc::pwrite(
                self.memory,
                original.as_ptr().cast(),
                original.len(),
                self.at.0 as libc::off_t,
            );
        }
    }
}

/// Waits for the debugger that the process was handed over to. Returns true if it has taken the
/// process over, or the process has ended.
///
/// # Safety
/// Must be called in the forked child only.
unsafe fn is_taken_over(place: &Place, debugger: RawFd) -> bool {
    // SAFETY: system calls on live local memory.
    unsafe {
        for _ in 0..MAX_POLLS {
            if !place.holds() {
                return true;
            }
            let mut ends = libc::pollfd {
                fd: debugger,
                events: libc::POLLIN,
                revents: 0,
            };
            if debugger < 0 || libc::poll(&raw mut ends, 1, POLL_INTERVAL_MS) > 0 {
                break;
            }
        }
        !place.holds()
    }
}

/// Restores the original code of a process that spins, and lets it run.
///
/// # Safety
/// Must be called in the forked child only.
unsafe fn restore(pid: i32, place: &Place, original: [u8; SPIN_LOOP_BYTES]) {
    let pause = libc::timespec {
        tv_sec: 0,
        tv_nsec: i64::from(POLL_INTERVAL_MS) * 1_000_000,
    };
    // SAFETY: system calls on integers and live local memory.
    unsafe {
        // The kernel may still be detaching a tracer that has died.
        for _ in 0..MAX_POLLS / 10 {
            if libc::ptrace(libc::PTRACE_SEIZE, pid, 0_usize, 0_usize) == 0 {
                libc::ptrace(libc::PTRACE_INTERRUPT, pid, 0_usize, 0_usize);
                let mut status = 0;
                if libc::waitpid(pid, &raw mut status, libc::__WALL) != pid
                    || !libc::WIFSTOPPED(status)
                {
                    return;
                }
                if place.holds() {
                    place.write(original);
                }
                let signal = match status >> 16 {
                    libc::PTRACE_EVENT_STOP => 0,
                    _ => libc::WSTOPSIG(status),
                };
                libc::ptrace(libc::PTRACE_DETACH, pid, 0_usize, signal as usize);
                return;
            }
            if *libc::__errno_location() != libc::EPERM || !place.holds() {
                return;
            }
            libc::nanosleep(&raw const pause, std::ptr::null_mut());
        }
        // Under Yama only the former tracer was allowed to seize it. The process executes only this
        // one instruction, so that writing without a stop is safe.
        if place.holds() {
            place.write(original);
        }
    }
}
