//! Processes as Linux shows them, and what only Linux has.

use std::fs;
use std::os::fd::{AsFd, FromRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

/// Returns true if the process ends within `limit` (a zombie has ended).
pub fn ends_within(pid: i32, limit: Duration) -> bool {
    // SAFETY: pidfd_open(2) takes two integers and accesses no memory of this process.
    let number = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    if number < 0 {
        // EINVAL: its parent has taken note of its end, while something still refers to it.
        let error = Errno::last();
        let is_gone = matches!(error, Errno::ESRCH | Errno::EINVAL);
        assert!(is_gone, "pidfd_open({pid}): {error}");
        return true;
    }
    // SAFETY: the descriptor was just created and has no other owner.
    let process = unsafe { OwnedFd::from_raw_fd(number as i32) };
    let mut polled = [PollFd::new(process.as_fd(), PollFlags::POLLIN)];
    let timeout = PollTimeout::try_from(limit).expect("a short wait");
    poll(&mut polled, timeout).expect("poll") > 0
}

/// Returns a field of `/proc/PID/status`; `None` if the process is gone.
pub fn status(pid: i32, key: &str) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    text.lines()
        .find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))
        .map(|value| value.trim().to_owned())
}

/// Returns the state of a process by its letter; `None` if it is gone.
pub fn state_of(pid: i32) -> Option<String> {
    status(pid, "State")
}

/// Returns the parent of a process.
pub fn parent(pid: i32) -> Option<i32> {
    status(pid, "PPid")?.parse().ok()
}

/// Returns whether a child of an adapter is the process that traces.
pub fn is_tracer(pid: i32) -> bool {
    status(pid, "Name").is_some_and(|name| name == "stillpoint-work")
}

/// Returns the pids of the children of a process, zombies included.
pub fn children(pid: i32) -> Vec<i32> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter();
    let threads = threads.flatten().flatten();
    let lists =
        threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    let mut pids = Vec::new();
    for list in lists {
        pids.extend(
            list.split_whitespace()
                .filter_map(|pid| pid.parse::<i32>().ok()),
        );
    }
    pids
}

/// Returns the file of a process's program.
pub fn executable(pid: i32) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{pid}/exe")).ok()
}

/// Returns the executable bytes of the module `file` in the memory of the process.
pub fn text_bytes(pid: i32, file: &Path) -> Vec<u8> {
    use std::os::unix::fs::FileExt;
    let memory = fs::File::open(format!("/proc/{pid}/mem")).expect("/proc/PID/mem");
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).expect("/proc/PID/maps");
    let name = file.to_str().expect("a path in UTF-8");
    let mut bytes = Vec::new();
    for line in maps.lines().filter(|line| line.ends_with(name)) {
        let mut columns = line.split_whitespace();
        let (Some(range), Some(rights)) = (columns.next(), columns.next()) else {
            continue;
        };
        if !rights.contains('x') {
            continue;
        }
        let (start, end) = range.split_once('-').expect("a range");
        let start = u64::from_str_radix(start, 16).expect("an address");
        let end = u64::from_str_radix(end, 16).expect("an address");
        let mut part = vec![0; (end - start) as usize];
        memory.read_exact_at(&mut part, start).expect("its text");
        bytes.extend(part);
    }
    assert!(!bytes.is_empty(), "{name} is not mapped in {pid}");
    bytes
}

/// Sets how many files a process may have open. Those that are open already remain.
pub fn limit_files(pid: i32, files: u64) {
    let limit = libc::rlimit {
        rlim_cur: files,
        rlim_max: files,
    };
    // SAFETY: `limit` is a valid limit, and the former one is not asked for.
    let result = unsafe {
        libc::prlimit(
            pid,
            libc::RLIMIT_NOFILE,
            &raw const limit,
            std::ptr::null_mut(),
        )
    };
    assert_eq!(result, 0, "{}", std::io::Error::last_os_error());
}

/// Runs the command under a seccomp filter that refuses ptrace, as strict containers do.
pub fn forbid_ptrace(command: &mut Command) {
    use std::os::unix::process::CommandExt;
    let jump = |code: u32, jt, jf, k| libc::sock_filter {
        code: code as u16,
        jt,
        jf,
        k,
    };
    let filter = [
        // The number of the system call is the first word of `struct seccomp_data`.
        jump(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        jump(
            libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K,
            0,
            1,
            libc::SYS_ptrace as u32,
        ),
        jump(
            libc::BPF_RET | libc::BPF_K,
            0,
            0,
            libc::SECCOMP_RET_ERRNO | libc::EPERM as u32,
        ),
        jump(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let install = move || {
        let program = libc::sock_fprog {
            len: filter.len() as u16,
            filter: filter.as_ptr().cast_mut(),
        };
        // SAFETY: the arguments are integers, and a filter that outlives the call.
        let result = unsafe {
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
                | libc::prctl(
                    libc::PR_SET_SECCOMP,
                    libc::SECCOMP_MODE_FILTER,
                    &raw const program,
                )
        };
        match result {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        }
    };
    // SAFETY: the closure makes system calls only.
    unsafe { command.pre_exec(install) };
}

/// Returns all processes.
pub fn processes() -> Vec<i32> {
    let entries = fs::read_dir("/proc").expect("/proc").flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.collect()
}
