//! Processes as seen from outside the debugger; waits without sleeping.

#[cfg(target_os = "macos")]
mod darwin;
#[cfg(target_os = "linux")]
mod linux;

#[cfg(target_os = "macos")]
use darwin as system;
#[cfg(target_os = "linux")]
use linux as system;
#[cfg(target_os = "linux")]
pub use linux::limit_files;
pub use system::{children, ends_within, forbid_ptrace, status, text_bytes};

use std::io::{BufRead, BufReader, ErrorKind};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use system::{executable, is_tracer, parent, processes, state_of};

use crate::fixture::Fixture;
use crate::patience::{self, Patience};

/// Sends `signal` to a process; has no effect if there is none.
pub fn send_signal(pid: i32, signal: Signal) {
    let _ = kill(Pid::from_raw(pid), signal);
}

/// Waits for the end of a process; returns false if it does not end (a zombie has ended).
pub fn ends(pid: i32) -> bool {
    let mut patience = Patience::new();
    loop {
        if ends_within(pid, patience.portion()) {
            return true;
        }
        if !patience.is_left() {
            return false;
        }
    }
}

/// Waits for the end of a child process.
///
/// # Panics
/// It does not end.
pub fn wait_for(child: &mut Child) -> ExitStatus {
    assert!(
        ends(child.id() as i32),
        "process {} does not end",
        child.id()
    );
    child.wait().expect("wait")
}

/// Returns true if the process exists and is not a zombie.
pub fn is_alive(pid: i32) -> bool {
    state_of(pid).is_some_and(|state| !state.starts_with(['Z', 'X']))
}

/// Waits until the process is in a state, as ps(1) names it (`T`, `Z`, …).
///
/// # Panics
/// It does not come to be in that state.
pub fn wait_for_state(pid: i32, state: char) {
    let is = || state_of(pid).is_some_and(|now| now.starts_with(state));
    assert!(
        patience::becomes(is),
        "process {pid} is {:?}",
        state_of(pid)
    );
}

/// Waits until no process traces this one.
///
/// # Panics
/// It stays traced.
pub fn wait_until_untraced(pid: i32) {
    let is_free = || status(pid, "TracerPid").as_deref() == Some("0");
    assert!(patience::becomes(is_free), "process {pid} is still traced");
}

/// Returns how a process has ended that its parent has not collected yet.
#[cfg(target_os = "linux")]
fn end_status_of(pid: i32) -> Option<ExitStatus> {
    use std::os::unix::process::ExitStatusExt;
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields = stat.rsplit_once(") ")?.1;
    let status = fields
        .starts_with('Z')
        .then(|| fields.split_whitespace().last())??;
    Some(ExitStatus::from_raw(status.parse().ok()?))
}

/// See Linux's.
#[cfg(not(target_os = "linux"))]
fn end_status_of(_: i32) -> Option<ExitStatus> {
    None
}

/// A process for the debugger to attach to, started by the test; killed on drop.
pub struct Debuggee {
    child: Child,
    lines: mpsc::Receiver<String>,
}

/// Starts a program. Its file may have just been written, and a child that another test has forked
/// meanwhile has that file open until it executes its own program.
fn spawn(command: &mut Command) -> Child {
    let started = patience::poll(|| match command.spawn() {
        Err(error) if error.kind() == ErrorKind::ExecutableFileBusy => None,
        started => Some(started.expect("the fixture starts")),
    });
    started.expect("the fixture is written at last")
}

impl Debuggee {
    /// Starts a fixture; [`Debuggee::read_line`] reads its standard output.
    pub fn start(fixture: &Fixture, arguments: &[&str]) -> Self {
        Self::start_program(&fixture.program, arguments)
    }

    /// Like [`Debuggee::start`], for any executable.
    pub fn start_program(program: &Path, arguments: &[&str]) -> Self {
        let mut command = Command::new(program);
        command.args(arguments);
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = spawn(&mut command);
        let lines = lines_of(child.stdout.take().expect("piped"));
        Self { child, lines }
    }

    /// Like [`Debuggee::start`], with its standard input.
    pub fn start_with_input(fixture: &Fixture, arguments: &[&str]) -> (Self, ChildStdin) {
        let mut command = Command::new(&fixture.program);
        command.args(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = spawn(&mut command);
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
    /// No line arrives.
    pub fn read_line(&self) -> String {
        patience::receive(&self.lines).unwrap_or_else(|_| {
            let end = end_status_of(self.pid()).map_or("it has not ended".to_owned(), |end| {
                format!("it has ended: {end}")
            });
            panic!("the debuggee writes no line: {end}")
        })
    }

    /// Reads lines up to this one.
    ///
    /// # Panics
    /// It does not come.
    pub fn read_to(&self, line: &str) {
        let comes = patience::becomes(|| self.read_line() == line);
        assert!(comes, "the debuggee does not write {line}");
    }

    /// Discards the output so far, and waits for two further lines: the process runs.
    pub fn expect_running(&self) {
        while self.lines.try_recv().is_ok() {}
        // The first line may have been written before.
        self.read_line();
        self.read_line();
    }

    /// Like [`Debuggee::expect_running`]; returns whether the lines come.
    pub fn is_running(&self) -> bool {
        while self.lines.try_recv().is_ok() {}
        (0..2).all(|_| patience::receive(&self.lines).is_ok())
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
    let found = processes()
        .into_iter()
        .find(|pid| parent(*pid) == Some(adapter) && is_tracer(*pid));
    found.unwrap_or_else(|| panic!("adapter {adapter} has no child that traces"))
}

/// Waits until no process runs this executable.
///
/// # Panics
/// Some go on; they are killed.
pub fn wait_for_none_of(program: &Path) {
    if patience::becomes(|| running(program).is_empty()) {
        return;
    }
    let left = running(program);
    for pid in &left {
        send_signal(*pid, Signal::SIGKILL);
    }
    panic!("{left:?} are left of {}", program.display());
}

/// Returns the processes that run this executable.
pub fn running(program: &Path) -> Vec<i32> {
    let runs_it = |pid: &i32| executable(*pid).is_some_and(|it| it == program) && is_alive(*pid);
    processes().into_iter().filter(runs_it).collect()
}
