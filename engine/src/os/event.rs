//! What a backend waits for and what it reports of threads.

use super::recording::ReplayStop;
use crate::ids::{Signal, ThreadId};
use std::os::fd::BorrowedFd;
use std::time::Duration;

/// A change of a thread's state. Real-time signals are preserved.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ThreadEvent {
    /// It exited with this code.
    Exited(i32),
    /// A signal ended it.
    Killed(Signal),
    /// A signal is about to be delivered (signal-delivery-stop).
    Signal(Signal),
    /// It was interrupted, or seized at birth.
    Interrupted,
    /// The whole process is stopped by this signal (group-stop).
    GroupStop(Signal),
    /// It created a thread.
    Created(ThreadId),
    /// It forked a process, which has a copy of the memory.
    Forked(i32),
    /// It created a process that shares its memory until it executes another program or exits.
    Vforked(i32),
    /// The process executes another program; the number is the thread's former one.
    Execed(ThreadId),
    /// The process is recorded, and about to exit with this code.
    Exiting(i32),
    /// A replay of the process has stopped.
    Replayed(ReplayStop),
    /// Another stop that only needs a resume.
    Other,
}

impl ThreadEvent {
    /// Returns whether the thread has ended.
    pub fn is_end(self) -> bool {
        matches!(self, ThreadEvent::Exited(_) | ThreadEvent::Killed(_))
    }
}

/// How to resume a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Resume {
    /// Run until the next stop.
    Continue,
    /// Execute one instruction.
    Step,
}

/// The role of a process that is seized.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SeizeAs {
    /// It will execute the program. It dies with the debugger.
    Launcher,
    /// It was launched for this session. It dies with the debugger.
    Launched,
    /// It outlives the debugger.
    Attached,
}

/// How long to wait for a stop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Patience {
    /// Not at all.
    None,
    /// At most this time, for a thread that was just resumed and is likely to stop soon. Spins
    /// instead of sleeping, as a wake-up takes longer.
    Spin(Duration),
    /// Until it stops or is gone, for a thread that is about to.
    UntilStopped,
}

/// What to do after a look for a stop that has not come yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum NextLook {
    /// No more looks.
    GiveUp,
    /// Look again at once, after other threads had the processor.
    Yield,
    /// Look again after this time.
    Sleep(Duration),
}

impl Patience {
    /// Returns what to do after a look for a stop that has not come in the time since the first.
    pub(super) fn next_look(self, waited: Duration) -> NextLook {
        /// Time to spin for a stop that is due: most follow a single instruction.
        const SPIN_IF_DUE: Duration = Duration::from_micros(500);
        /// Interval of looks after that.
        const POLL_INTERVAL: Duration = Duration::from_micros(200);
        match self {
            Patience::None => NextLook::GiveUp,
            Patience::Spin(most) if waited >= most => NextLook::GiveUp,
            Patience::UntilStopped if waited >= SPIN_IF_DUE => NextLook::Sleep(POLL_INTERVAL),
            Patience::Spin(_) | Patience::UntilStopped => NextLook::Yield,
        }
    }
}

/// The events that [`Backend::wait`](super::Backend::wait) waits for in addition to stops and the
/// waker.
#[derive(Clone, Copy, Debug, Default)]
pub struct WaitInterest<'a> {
    /// Output of the debuggee.
    pub output: bool,
    /// A descriptor to read from; its end counts, too.
    pub client: Option<BorrowedFd<'a>>,
}

/// The reason why [`Backend::wait`](super::Backend::wait) returned; several may be true at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Ready {
    /// The waker was used.
    pub woken: bool,
    /// There may be stops to collect.
    pub stops: bool,
    /// There may be output to read.
    pub output: bool,
    /// The client's descriptor can be read.
    pub client: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patience_ends_as_it_says() {
        let micros = Duration::from_micros;
        assert_eq!(Patience::None.next_look(micros(0)), NextLook::GiveUp);
        let spin = Patience::Spin(micros(50));
        assert_eq!(spin.next_look(micros(49)), NextLook::Yield);
        assert_eq!(spin.next_look(micros(50)), NextLook::GiveUp);
        let due = Patience::UntilStopped;
        assert_eq!(due.next_look(micros(499)), NextLook::Yield);
        let later = due.next_look(Duration::from_secs(60));
        assert!(matches!(later, NextLook::Sleep(_)), "{later:?}");
    }
}
