//! What a server needs of the system besides the debuggee.

use nix::fcntl::{FcntlArg, fcntl};
use nix::sys::signal::{SigSet, Signal, killpg};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::socket::{MsgFlags, send};
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::Pid;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::process::Child;
use std::time::Duration;

pub use super::record::record;

/// A timer that can be polled: its descriptor is readable once it has expired, until 8 bytes are
/// read of it.
#[derive(Debug)]
pub struct Alarm(TimerFd);

impl Alarm {
    /// An alarm that is not set. Reading it never blocks.
    ///
    /// # Errors
    /// The system has no descriptors left.
    pub fn new() -> io::Result<Self> {
        let flags = TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC;
        Ok(Self(TimerFd::new(ClockId::CLOCK_MONOTONIC, flags)?))
    }

    /// Lets it expire once, after this time.
    ///
    /// # Errors
    /// The system refuses, which it does not for times of less than centuries.
    pub fn set(&self, after: Duration) -> io::Result<()> {
        let after = Expiration::OneShot(TimeSpec::from_duration(after));
        Ok(self.0.set(after, TimerSetTimeFlags::empty())?)
    }
}

impl AsFd for Alarm {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Blocks the signals by which the system or the user ends a server, in this thread and those that
/// it starts later. Returns a descriptor that is readable once one of them has come.
///
/// # Errors
/// The system has no descriptors left.
pub fn block_end_signals() -> io::Result<OwnedFd> {
    let mut ends = SigSet::empty();
    for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP] {
        ends.add(signal);
    }
    ends.thread_block()?;
    let flags = SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK;
    let signals = SignalFd::with_flags(&ends, flags)?;
    signals.as_fd().try_clone_to_owned()
}

/// Lets a pipe hold up to 1 MiB. Others, and those that may hold less only, stay as they are.
pub fn enlarge_pipe(pipe: &impl AsFd) {
    /// What every user may ask for (pipe(7), `/proc/sys/fs/pipe-max-size`).
    const MAX_UNPRIVILEGED: i32 = 1 << 20;
    let _ = fcntl(pipe, FcntlArg::F_SETPIPE_SZ(MAX_UNPRIVILEGED));
}

/// Sends what a socket takes at once, without SIGPIPE if the peer is gone. Returns the number of
/// bytes.
///
/// # Errors
/// The peer is gone, or the socket takes nothing now.
pub fn send_at_once(socket: &impl AsFd, bytes: &[u8]) -> io::Result<usize> {
    let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL;
    Ok(send(socket.as_fd().as_raw_fd(), bytes, flags)?)
}

/// Waits until a child process has exited, and leaves it to be waited for: its number stays its own
/// until then.
pub fn await_exit(child: &Child) {
    let id = Id::Pid(Pid::from_raw(child.id().cast_signed()));
    // Without a child to wait for it has been waited for.
    let _ = waitid(id, WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT);
}

/// Kills the processes of the group that a process leads; without effect if there are none.
pub fn kill_group(leader: u32) {
    let _ = killpg(Pid::from_raw(leader.cast_signed()), Signal::SIGKILL);
}

/// Allows this program to debug others, as far as that needs a change. Returns what was done, or what
/// is allowed.
///
/// # Errors
/// Cause and remedy.
pub fn set_up() -> Result<String, String> {
    super::refusal::rights()
}
