//! Processes as seen from outside the debugger; waits without sleeping.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::fd::{AsFd, FromRawFd, OwnedFd};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::client::deadline;
use crate::fixture::Fixture;

/// Sends `signal` to a process; has no effect if there is none.
pub fn send_signal(pid: i32, signal: Signal) {
    let _ = kill(Pid::from_raw(pid), signal);
}

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

/// Waits for the end of a child process.
///
/// # Panics
/// The deadline passes.
pub fn wait_for(child: &mut Child) -> ExitStatus {
    assert!(
        ends_within(child.id() as i32, deadline()),
        "process {} does not end",
        child.id()
    );
    child.wait().expect("wait")
}

/// Returns a field of `/proc/PID/status`; `None` if the process is gone.
pub fn status(pid: i32, key: &str) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    text.lines()
        .find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))
        .map(|value| value.trim().to_owned())
}

/// Returns true if the process exists and is not a zombie.
pub fn is_alive(pid: i32) -> bool {
    status(pid, "State").is_some_and(|state| !state.starts_with(['Z', 'X']))
}

/// Waits until the process is in a state of `/proc/PID/status` (`T`, `Z`, …).
///
/// # Panics
/// The deadline passes.
pub fn wait_for_state(pid: i32, state: char) {
    let deadline = Instant::now() + deadline();
    loop {
        let now = status(pid, "State").unwrap_or_default();
        if now.starts_with(state) {
            return;
        }
        assert!(Instant::now() < deadline, "process {pid} is {now}");
        thread::yield_now();
    }
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

/// A process for the debugger to attach to, started by the test; killed on drop.
pub struct Debuggee {
    child: Child,
    lines: mpsc::Receiver<String>,
}

impl Debuggee {
    /// Starts a fixture; [`Debuggee::read_line`] reads its standard output.
    pub fn start(fixture: &Fixture, arguments: &[&str]) -> Self {
        Self::start_program(&fixture.program, arguments)
    }

    /// Like [`Debuggee::start`], for any executable.
    pub fn start_program(program: &Path, arguments: &[&str]) -> Self {
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the fixture starts");
        let lines = lines_of(child.stdout.take().expect("piped"));
        Self { child, lines }
    }

    /// Like [`Debuggee::start`], with its standard input.
    pub fn start_with_input(fixture: &Fixture, arguments: &[&str]) -> (Self, ChildStdin) {
        let mut child = Command::new(&fixture.program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the fixture starts");
        let lines = lines_of(child.stdout.take().expect("piped"));
        let input = child.stdin.take().expect("piped");
        (Self { child, lines }, input)
    }

    /// Returns its process id.
    pub fn pid(&self) -> i32 {
        self.child.id() as i32
    }

    /// Returns the next line of its standard output.
    ///
    /// # Panics
    /// No line arrives before the deadline.
    pub fn read_line(&self) -> String {
        self.lines
            .recv_timeout(deadline())
            .expect("a line of the debuggee: it does not run")
    }

    /// Discards the output so far, and waits for two further lines: the process runs.
    pub fn expect_running(&self) {
        while self.lines.try_recv().is_ok() {}
        // The first line may have been written before.
        self.read_line();
        self.read_line();
    }

    /// Kills it with a signal and returns its exit status.
    pub fn kill(&mut self, signal: Signal) -> ExitStatus {
        send_signal(self.pid(), signal);
        wait_for(&mut self.child)
    }
}

impl Drop for Debuggee {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn lines_of(output: ChildStdout) -> mpsc::Receiver<String> {
    let (sender, lines) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    lines
}

/// Returns the process that traces for an adapter: its child. The adapter itself traces no
/// debuggee.
///
/// # Panics
/// There is none.
pub fn tracer_of(adapter: i32) -> i32 {
    let found = processes().find(|pid| {
        status(*pid, "PPid").is_some_and(|parent| parent == adapter.to_string())
            && status(*pid, "Name").is_some_and(|name| name == "stillpoint-work")
    });
    found.unwrap_or_else(|| panic!("adapter {adapter} has no child that traces"))
}

/// Waits until no process runs this executable.
///
/// # Panics
/// The deadline passes; the remaining processes are killed.
pub fn wait_for_none_of(program: &Path) {
    let deadline = Instant::now() + deadline();
    loop {
        let left = running(program);
        if left.is_empty() {
            return;
        }
        if Instant::now() >= deadline {
            for pid in &left {
                send_signal(*pid, Signal::SIGKILL);
            }
            panic!("{left:?} are left of {}", program.display());
        }
        thread::yield_now();
    }
}

/// Returns the processes that run this executable.
pub fn running(program: &Path) -> Vec<i32> {
    let runs_it = |pid: &i32| {
        let executable = fs::read_link(format!("/proc/{pid}/exe"));
        executable.is_ok_and(|it| it == program) && is_alive(*pid)
    };
    processes().filter(runs_it).collect()
}

fn processes() -> impl Iterator<Item = i32> {
    let entries = fs::read_dir("/proc").expect("/proc").flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}
