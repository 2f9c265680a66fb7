//! What is left to do for a process that is not traced any more, should the tracer die: PTRACE_O_EXITKILL
//! and the guardian are for traced ones. A small process waits for that. The kernel tells it of the
//! death of the thread that forked it after it has detached what that thread traced.
//!
//! A duty that nothing has ended by then is done, also when the tracer has ended in order.

use super::super::Duty;
use super::descriptors;
use dwarf::LoadAddr;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// How often a process that was handed over is looked at, and the time between in ms: as long as
/// its new debugger lives and may take it over.
const LOOKS: (u32, i32) = (1000, 10);

/// A process that waits for our death, as we see it.
pub struct Keeper {
    pub pid: i32,
    /// Of the process that the duty is for; there is none on kernels before 5.3.
    target: Option<OwnedFd>,
}

/// What the keeper needs, made ready before the fork.
struct Orders {
    pid: i32,
    target: RawFd,
    /// The target's memory, and the debugger that it was handed over to.
    memory: RawFd,
    debugger: RawFd,
    duty: Duty,
}

impl Keeper {
    /// Starts one for `pid`, on the tracing thread.
    pub fn start(pid: i32, duty: Duty) -> io::Result<Keeper> {
        let target = open_process(pid);
        let (memory, debugger) = match duty {
            Duty::Kill => (None, None),
            Duty::Mend { to, .. } => {
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
        // SAFETY: the child makes system calls only, on memory that was ready before.
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

    /// There is nothing left to do.
    pub fn dismiss(self) {
        let mut status = 0;
        // SAFETY: our own child, which was not waited for.
        unsafe {
            libc::kill(self.pid, libc::SIGKILL);
            libc::waitpid(self.pid, &raw mut status, libc::__WALL);
        }
    }
}

fn raw(descriptor: &Option<OwnedFd>) -> RawFd {
    descriptor.as_ref().map_or(-1, OwnedFd::as_raw_fd)
}

/// A descriptor of a process: its number may be another one's by the time that it is used.
fn open_process(pid: i32) -> Option<OwnedFd> {
    // SAFETY: gives a new descriptor that nothing else owns.
    unsafe {
        let descriptor = libc::syscall(libc::SYS_pidfd_open, pid, 0);
        (descriptor >= 0).then(|| OwnedFd::from_raw_fd(descriptor as RawFd))
    }
}

/// # Safety
/// None but that of a system call on integers; may be called in a forked child.
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

/// The life of the keeper.
///
/// # Safety
/// To be called in the forked child only.
unsafe fn wait_for_death(parent: i32, orders: &Orders) -> ! {
    // SAFETY: system calls on integers and live local memory.
    unsafe {
        let mut death = std::mem::zeroed();
        libc::sigemptyset(&raw mut death);
        libc::sigaddset(&raw mut death, libc::SIGTERM);
        libc::sigprocmask(libc::SIG_BLOCK, &raw const death, std::ptr::null_mut());
        libc::setsid();
        libc::prctl(libc::PR_SET_NAME, c"stillpoint-duty".as_ptr());
        descriptors::close_all_but([orders.target, orders.memory, orders.debugger]);
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM);
        // The parent's number changes with its death; SIGTERM may come from elsewhere.
        while libc::getppid() == parent {
            libc::sigwaitinfo(&raw const death, std::ptr::null_mut());
        }
        match orders.duty {
            Duty::Kill => kill(orders.pid, orders.target),
            Duty::Mend {
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
                        mend(orders.pid, &place, original);
                    }
                }
            }
        }
        libc::_exit(0)
    }
}

/// Where a process jumps in place.
struct Place {
    memory: RawFd,
    at: LoadAddr,
    bytes: [u8; 2],
}

impl Place {
    /// Whether it does so still.
    ///
    /// # Safety
    /// As for system calls on live local memory; may be called in a forked child.
    unsafe fn holds(&self) -> bool {
        let mut now = [0; 2];
        // SAFETY: the buffer is live and as long as it is said.
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
    unsafe fn write(&self, original: [u8; 2]) {
        // SAFETY: the buffer is live and as long as it is said.
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

/// Waits for the debugger that the process was handed over to: true if that has taken it over, or
/// the process has ended.
///
/// # Safety
/// To be called in the forked child only.
unsafe fn is_taken_over(place: &Place, debugger: RawFd) -> bool {
    // SAFETY: system calls on live local memory.
    unsafe {
        for _ in 0..LOOKS.0 {
            if !place.holds() {
                return true;
            }
            let mut ends = libc::pollfd {
                fd: debugger,
                events: libc::POLLIN,
                revents: 0,
            };
            if debugger < 0 || libc::poll(&raw mut ends, 1, LOOKS.1) > 0 {
                break;
            }
        }
        !place.holds()
    }
}

/// Gives a process that jumps in place its own code back, and lets it run.
///
/// # Safety
/// To be called in the forked child only.
unsafe fn mend(pid: i32, place: &Place, original: [u8; 2]) {
    let pause = libc::timespec {
        tv_sec: 0,
        tv_nsec: i64::from(LOOKS.1) * 1_000_000,
    };
    // SAFETY: system calls on integers and live local memory.
    unsafe {
        // The kernel may still be detaching a tracer that has died.
        for _ in 0..LOOKS.0 / 10 {
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
        // Where Yama guards ptrace, it was the tracer's right alone. The process does nothing but
        // this one instruction.
        if place.holds() {
            place.write(original);
        }
    }
}
