//! Processes as macOS shows them: by ps(1), and by a kernel queue.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::event::{EvFlags, EventFilter, FilterFlag, KEvent, Kqueue};

/// Returns true if the process ends within `limit` (a zombie has ended).
pub fn ends_within(pid: i32, limit: Duration) -> bool {
    let queue = Kqueue::new().expect("a kernel queue");
    let exit = KEvent::new(
        pid as usize,
        EventFilter::EVFILT_PROC,
        EvFlags::EV_ADD | EvFlags::EV_ONESHOT,
        FilterFlag::NOTE_EXIT,
        0,
        0,
    );
    let limit = libc::timespec {
        tv_sec: limit.as_secs() as libc::time_t,
        tv_nsec: limit.subsec_nanos().into(),
    };
    let mut happened = [exit];
    match queue.kevent(&[exit], &mut happened, Some(limit)) {
        Ok(count) => count > 0,
        Err(error) => {
            assert_eq!(error, Errno::ESRCH, "kevent of process {pid}");
            true
        }
    }
}

/// Returns a column of ps(1); `None` if the process is gone.
fn column(pid: i32, name: &str) -> Option<String> {
    let mut command = Command::new("ps");
    let output = command
        .args(["-o", &format!("{name}="), "-p", &pid.to_string()])
        .output();
    let text = String::from_utf8_lossy(&output.expect("ps").stdout).into_owned();
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// Returns the state of a process by its letter; `None` if it is gone.
pub fn state_of(pid: i32) -> Option<String> {
    column(pid, "state")
}

/// Returns the parent of a process.
pub fn parent(pid: i32) -> Option<i32> {
    column(pid, "ppid")?.parse().ok()
}

/// Returns whether a child of an adapter is the process that traces: both have the same program.
pub fn is_tracer(pid: i32) -> bool {
    executable(pid).is_some_and(|it| it == crate::stillpoint())
}

/// Returns the file of a process's program.
pub fn executable(pid: i32) -> Option<PathBuf> {
    column(pid, "comm").map(PathBuf::from)
}

/// Returns all processes.
pub fn processes() -> Vec<i32> {
    let output = Command::new("ps").args(["-axo", "pid="]).output();
    let text = String::from_utf8_lossy(&output.expect("ps").stdout).into_owned();
    text.split_whitespace()
        .filter_map(|pid| pid.parse().ok())
        .collect()
}

/// Fails a test that needs what only Linux shows.
fn only_linux(what: &str) -> ! {
    panic!("macOS does not show a test {what}")
}

/// The fields of `/proc/PID/status` are Linux's.
///
/// # Panics
/// Always.
pub fn status(_: i32, key: &str) -> Option<String> {
    only_linux(&format!("the field {key} of a process"))
}

/// The children of a process are listed by Linux.
///
/// # Panics
/// Always.
pub fn children(_: i32) -> Vec<i32> {
    only_linux("the children of a process")
}

/// The memory of another process needs rights that a test does not have.
///
/// # Panics
/// Always.
pub fn text_bytes(_: i32, _: &Path) -> Vec<u8> {
    only_linux("the memory of a process")
}

/// Filters of system calls are Linux's.
///
/// # Panics
/// Always.
pub fn forbid_ptrace(_: &mut Command) {
    only_linux("a process that may not use ptrace")
}
