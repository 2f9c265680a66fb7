//! What threads wait for outside of the kernel: files that are ready, children that have ended.

use super::super::registers::Registers;
use crate::os::linux::procfs;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::time::Duration;

/// Returns what poll(2) needs to wait for files.
pub fn to_poll(files: &[(File, i16)]) -> Vec<libc::pollfd> {
    let all = files.iter().map(|(file, events)| libc::pollfd {
        fd: file.as_raw_fd(),
        events: *events,
        revents: 0,
    });
    all.collect()
}

/// Returns whether one of these files is ready.
pub fn is_any_ready(files: &[(File, i16)]) -> bool {
    poll(&mut to_poll(files), Duration::ZERO)
}

/// Waits for files. Returns whether one is ready; a signal ends the wait, too.
pub fn poll(files: &mut [libc::pollfd], time: Duration) -> bool {
    let time = libc::timespec {
        tv_sec: time.as_secs().min(86_400) as libc::time_t,
        tv_nsec: time.subsec_nanos().into(),
    };
    // SAFETY: an empty set is initialized by sigemptyset; the array, the time and the set are live.
    let count = unsafe {
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::ppoll(
            files.as_mut_ptr(),
            files.len() as libc::nfds_t,
            &raw const time,
            &raw const none,
        )
    };
    count > 0
}

/// Returns whether reads and writes of a file never wait.
pub fn never_waits(file: &File) -> bool {
    // SAFETY: integers only.
    let flags = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GETFL) };
    flags < 0 || flags & libc::O_NONBLOCK != 0
}

/// Returns whether wait4(2) or waitid(2) of a process has something to return: a child has ended or there is none.
pub fn has_ended_child(pid: i32, call: &Registers) -> bool {
    let wanted = match (call.number(), call.arguments()) {
        (libc::SYS_wait4, [pid, ..]) => pid as i32,
        (_, [kind, pid, ..]) if kind as u32 == libc::P_PID => pid as i32,
        _ => -1,
    };
    let mut any = false;
    for thread in procfs::threads(pid) {
        let path = format!("/proc/{pid}/task/{thread}/children");
        let children = std::fs::read_to_string(path).unwrap_or_default();
        let mut children = children.split_whitespace().filter_map(|it| it.parse().ok());
        for child in &mut children {
            let child: i32 = child;
            if wanted <= 0 || child == wanted {
                any = true;
                if procfs::is_zombie(child) {
                    return true;
                }
            }
        }
    }
    !any
}
