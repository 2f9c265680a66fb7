//! A signal that ends the recorder's wait from time to time, for snapshots of a program that makes no
//! system calls.

use crate::os::linux::stop_wait;
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};
use nix::sys::time::TimeSpec;
use nix::sys::timer::{Expiration, Timer, TimerSetTimeFlags};
use std::io;
use std::time::Duration;

/// Time between two ticks.
pub const INTERVAL: Duration = Duration::from_millis(25);

extern "C" fn nothing(_: libc::c_int) {}

/// Ends waits of this thread until it is dropped.
pub struct Ticks(#[expect(dead_code, reason = "its end is the end of the ticks")] Timer);

impl Ticks {
    /// # Errors
    /// The system has no timers left.
    pub fn start() -> io::Result<Ticks> {
        let mut timer = stop_wait::new_ticks()?;
        let interval = TimeSpec::from_duration(INTERVAL);
        timer.set(Expiration::Interval(interval), TimerSetTimeFlags::empty())?;
        Ok(Ticks(timer))
    }
}

/// SIGCHLD, blocked but for waits that a stop of a tracee ends, until it is dropped.
pub struct Children(SigSet);

/// Makes stops of tracees end waits that allow that (ppoll(2) with an empty mask).
///
/// # Errors
/// The system refuses a handler.
pub fn ends_of_children() -> io::Result<Children> {
    let handler = SigAction::new(
        SigHandler::Handler(nothing),
        SaFlags::empty(),
        SigSet::empty(),
    );
    // SAFETY: the handler does nothing.
    unsafe { sigaction(Signal::SIGCHLD, &handler)? };
    let before = SigSet::thread_get_mask()?;
    let mut blocked = before;
    blocked.add(Signal::SIGCHLD);
    blocked.thread_set_mask()?;
    Ok(Children(before))
}

impl Drop for Children {
    fn drop(&mut self) {
        let _ = self.0.thread_set_mask();
    }
}
