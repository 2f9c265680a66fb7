//! Waits for tracees: the only place where the session thread waits for one. The stop of a thread may never come:
//! it sleeps in the kernel, its process was killed, or we have made a mistake. So each wait has a limit, which is
//! short once this process was asked to end ([`ending::end_of_wait`]).

use super::super::event::NextLook;
use super::super::{Patience, unix::ending};
use super::{procfs, ptrace};
use crate::ids::{Signal, ThreadId};
use nix::sys::signal::{self, SaFlags, SigAction, SigEvent, SigHandler, SigSet};
use nix::sys::time::TimeSpec;
use nix::sys::timer::{Expiration, Timer, TimerSetTimeFlags};
use nix::time::ClockId;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::io;
use std::time::{Duration, Instant};

/// The longest wait: much longer than a thread takes that is about to stop, also on a machine that is busy.
const MOST: Duration = Duration::from_secs(60);
/// How often a wait in the kernel looks whether it is over.
const TICK: Duration = Duration::from_millis(100);

/// Why there is no status of a tracee.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoStatus {
    /// It is gone, or is the first thread of a process that has ended, whose end comes after that of all others.
    Gone,
    /// The wait is over.
    Late,
}

thread_local! {
    /// The ends that waits of this thread have collected last, which nothing reports again.
    static ENDS: RefCell<VecDeque<(i32, i32)>> = const { RefCell::new(VecDeque::new()) };
    /// What ends waits in the kernel.
    static TICKS: RefCell<Option<Timer>> = const { RefCell::new(None) };
}

/// A wait, as a series of looks for a stop.
pub struct StopWait {
    patience: Patience,
    began: Option<Instant>,
}

impl StopWait {
    /// Begins to wait.
    pub fn begin(patience: Patience) -> StopWait {
        StopWait {
            patience,
            began: None,
        }
    }

    /// Rests after a look that has found nothing. Returns false if the wait is over.
    #[allow(dead_code, reason = "only some machines record")]
    pub fn rest(&mut self) -> bool {
        match self.next_look() {
            NextLook::GiveUp => return false,
            // The awaited thread may need this processor.
            NextLook::Yield => std::thread::yield_now(),
            NextLook::Sleep(interval) => std::thread::sleep(interval),
        }
        true
    }

    fn next_look(&mut self) -> NextLook {
        if self.patience == Patience::None {
            return NextLook::GiveUp;
        }
        let now = Instant::now();
        let began = *self.began.get_or_insert(now);
        if self.patience == Patience::UntilStopped && is_over(began, now) {
            return NextLook::GiveUp;
        }
        self.patience
            .next_look(now.saturating_duration_since(began))
    }
}

/// Returns whether a wait for a stop that is due is over.
fn is_over(began: Instant, now: Instant) -> bool {
    let is_over = now >= ending::end_of_wait(began, MOST);
    if is_over {
        let asked_to_end = ending::note_late();
        tracing::error!(waited = ?(now - began), asked_to_end, "a thread does not stop");
    }
    is_over
}

/// Returns the status of a tracee, as waitpid(2) has it.
///
/// # Errors
/// There is none within `patience`, which has a limit.
pub fn status_of(pid: i32, patience: Patience) -> Result<i32, NoStatus> {
    let mut wait = StopWait::begin(patience);
    loop {
        match ptrace::poll_status(pid) {
            Ok(Some((_, status))) => return Ok(noted(pid, status)),
            Ok(None) => {}
            Err(_) => return Err(NoStatus::Gone),
        }
        match wait.next_look() {
            NextLook::GiveUp => return Err(NoStatus::Late),
            NextLook::Yield => std::thread::yield_now(),
            NextLook::Sleep(_) => return next_status(pid),
        }
    }
}

/// Like [`status_of`], for a thread that is about to stop. Waits in the kernel, without a look before.
///
/// # Errors
/// As [`status_of`].
pub fn next_status(pid: i32) -> Result<i32, NoStatus> {
    let began = Instant::now();
    ticking(|| {
        loop {
            match ptrace::wait_for_status(pid) {
                Ok(Some((_, status))) => return Ok(noted(pid, status)),
                Ok(None) if procfs::is_zombie(pid) => {
                    // It may have ended since the wait did.
                    let status = ptrace::poll_status(pid).ok().flatten();
                    return status.map(|it| noted(pid, it.1)).ok_or(NoStatus::Gone);
                }
                Ok(None) if is_over(began, Instant::now()) => return Err(NoStatus::Late),
                Ok(None) => {}
                Err(_) => return Err(NoStatus::Gone),
            }
        }
    })
}

/// Remembers a status if it is an end.
fn noted(pid: i32, status: i32) -> i32 {
    /// Those of the program come between few others.
    const MOST: usize = 64;
    if !libc::WIFSTOPPED(status) {
        ENDS.with_borrow_mut(|ends| {
            ends.truncate(MOST);
            ends.push_front((pid, status));
        });
    }
    status
}

/// Returns the status with which a tracee has ended, if a wait for something else has collected it, once.
#[allow(dead_code, reason = "only some machines record")]
pub fn take_end(pid: i32) -> Option<i32> {
    ENDS.with_borrow_mut(|ends| {
        let nth = ends.iter().position(|(of, _)| *of == pid)?;
        Some(ends.remove(nth)?.1)
    })
}

/// Collects a process that was killed, with all its threads: the end of the first one comes after that of the others.
pub fn collect(pid: i32) {
    let others = procfs::threads(pid).into_iter().filter(|it| *it != pid);
    for thread in others.chain([pid]) {
        collect_thread(thread);
    }
}

/// Collects a thread that ends. It may stop before, as for an interrupt.
pub fn collect_thread(pid: i32) {
    while next_status(pid).is_ok_and(|status| libc::WIFSTOPPED(status)) {
        // It may have been killed meanwhile.
        let _ = ptrace::resume(ThreadId(pid), false, Signal(0));
    }
}

/// Waits while a timer ends system calls that wait, from time to time.
fn ticking<T>(wait: impl FnOnce() -> T) -> T {
    TICKS.with_borrow_mut(|ticks| {
        if ticks.is_none() {
            match new_ticks() {
                Ok(timer) => *ticks = Some(timer),
                Err(error) => tracing::warn!(%error, "waits have no limit"),
            }
        }
        set(ticks, Expiration::Interval(TimeSpec::from_duration(TICK)));
        let outcome = wait();
        set(
            ticks,
            Expiration::OneShot(TimeSpec::from_duration(Duration::ZERO)),
        );
        outcome
    })
}

fn set(ticks: &mut Option<Timer>, expiration: Expiration) {
    if let Some(timer) = ticks
        && let Err(error) = timer.set(expiration, TimerSetTimeFlags::empty())
    {
        tracing::warn!(%error, "cannot set a timer");
    }
}

extern "C" fn nothing(_: libc::c_int) {}

/// Makes a timer that ends waits of this thread.
///
/// # Errors
/// The system has no timers left.
pub fn new_ticks() -> io::Result<Timer> {
    let handler = SigAction::new(
        SigHandler::Handler(nothing),
        SaFlags::empty(),
        SigSet::empty(),
    );
    // SAFETY: the handler does nothing.
    unsafe { signal::sigaction(signal::SIGALRM, &handler)? };
    let mut ticks = SigSet::empty();
    ticks.add(signal::SIGALRM);
    ticks.thread_unblock()?;
    // nix has `SIGEV_THREAD_ID` for glibc alone.
    // SAFETY: integers and pointers may be zero.
    let mut event: libc::sigevent = unsafe { std::mem::zeroed() };
    event.sigev_notify = libc::SIGEV_THREAD_ID;
    event.sigev_signo = libc::SIGALRM;
    event.sigev_notify_thread_id = nix::unistd::gettid().as_raw();
    let event = SigEvent::from(&event);
    Ok(Timer::new(ClockId::CLOCK_MONOTONIC, event)?)
}

#[cfg(test)]
mod tests {
    use super::super::own_child::OwnChild;
    use super::*;

    #[test]
    fn a_wait_ends_though_its_thread_does_not_stop() {
        std::thread::spawn(|| {
            let child = OwnChild::with(&[]);
            let pid = child.thread().0;
            ending::ask_this_thread_to_end();
            assert_eq!(next_status(pid), Err(NoStatus::Late));
            assert_eq!(status_of(pid, Patience::UntilStopped), Err(NoStatus::Late));
            let mut wait = StopWait::begin(Patience::UntilStopped);
            while wait.rest() {}
        })
        .join()
        .expect("each wait ends");
    }

    #[test]
    fn an_end_that_a_wait_has_collected_is_returned_once() {
        let child = OwnChild::with(&[]);
        let pid = child.thread().0;
        // SAFETY: integers only; the child is not collected yet.
        unsafe { libc::kill(pid, libc::SIGKILL) };
        assert_eq!(next_status(pid), Ok(libc::SIGKILL));
        assert_eq!(take_end(pid), Some(libc::SIGKILL));
        assert_eq!(take_end(pid), None);
    }
}
