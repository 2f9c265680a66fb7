//! What a server needs of the system besides the debuggee.

pub use super::super::super::unix::alarm::Alarm;
use super::super::signing;
use super::queue::Queue;
use nix::sys::signal::{SigSet, Signal, killpg};
use nix::sys::socket::{MsgFlags, send};
use nix::unistd::Pid;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::Path;
use std::process::Child;

/// Blocks the signals by which the system or the user ends a server, in this thread and those
/// that it starts later. Returns a descriptor that is readable once one of them has come.
///
/// # Errors
/// The system has no descriptors left.
pub fn block_end_signals() -> io::Result<OwnedFd> {
    let ends = [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP];
    let queue = Queue::new()?;
    let mut set = SigSet::empty();
    for signal in ends {
        set.add(signal);
        // The queue sees signals that are blocked, too.
        queue.watch_signal(signal as i32)?;
    }
    set.thread_block()?;
    Ok(queue.into())
}

/// Lets a pipe hold more. Without effect here: the system enlarges pipes that are used much.
pub fn enlarge_pipe(_: &impl AsFd) {}

/// Sends what a socket takes at once; SIGPIPE is ignored in this process. Returns the number of
/// bytes.
///
/// # Errors
/// The peer is gone, or the socket takes nothing now.
pub fn send_at_once(socket: &impl AsFd, bytes: &[u8]) -> io::Result<usize> {
    let socket = socket.as_fd().as_raw_fd();
    Ok(send(socket, bytes, MsgFlags::MSG_DONTWAIT)?)
}

/// Waits until a child process has exited, and leaves it to be waited for: its number stays its
/// own until then.
pub fn await_exit(child: &Child) {
    // Without a queue the caller waits for the child itself.
    if let Ok(queue) = Queue::new() {
        queue.await_exit(child.id().cast_signed());
    }
}

/// Kills the processes of the group that a process leads; without effect if there are none.
pub fn kill_group(leader: u32) {
    let _ = killpg(Pid::from_raw(leader.cast_signed()), Signal::SIGKILL);
}

/// Allows this program to debug others: signs it. Returns what was done.
///
/// # Errors
/// Cause and remedy.
pub fn set_up() -> Result<String, String> {
    let own = std::env::current_exe().map_err(|error| format!("its own path: {error}"))?;
    signing::sign(&own, Path::new("/usr/bin/codesign"))
}

/// Refuses to record a program.
///
/// # Errors
/// Always.
pub fn record(
    launch: &crate::ids::Launch,
    _: crate::os::recording::HashEvents,
    _: Option<&crate::os::recording::SaveTo>,
) -> Result<crate::os::recording::Report, crate::ids::error::Error> {
    Err(crate::os::recording::refusal(launch))
}
