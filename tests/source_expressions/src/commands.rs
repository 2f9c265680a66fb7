//! Commands that end: with a limit of time, and of memory where other people's programs run.

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How often a running command is looked at.
const LOOK: Duration = Duration::from_millis(10);
/// The most that is read of a command's output.
const OUTPUT: u64 = 64 << 20;

/// A command that has ended.
pub struct Ended {
    /// How it ended.
    pub status: ExitStatus,
    /// Its standard output.
    pub output: String,
    /// Its standard error.
    pub errors: String,
}

/// Runs a command to its end, with its output in files of `folder`.
///
/// # Errors
/// It does not start, or was killed, with all its children, since it ran until the deadline.
pub fn run(command: &mut Command, folder: &Path, deadline: Instant) -> Result<Ended, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let text = |why: std::io::Error| format!("{name}: {why}");
    let (output, errors) = (folder.join("stdout"), folder.join("stderr"));
    command.stdin(Stdio::null()).process_group(0);
    command.stdout(File::create(&output).map_err(text)?);
    command.stderr(File::create(&errors).map_err(text)?);
    let mut child = command.spawn().map_err(text)?;
    let status = loop {
        if let Some(status) = child.try_wait().map_err(text)? {
            break status;
        }
        if Instant::now() > deadline {
            let _ = killpg(Pid::from_raw(child.id() as i32), Signal::SIGKILL);
            let _ = child.wait();
            return Err(format!("{name} takes too long"));
        }
        std::thread::sleep(LOOK);
    };
    // What it has left running.
    let _ = killpg(Pid::from_raw(child.id() as i32), Signal::SIGKILL);
    Ok(Ended {
        status,
        output: beginning(&output).map_err(text)?,
        errors: beginning(&errors).map_err(text)?,
    })
}

/// Returns a command that runs other people's code: with 8 GiB of memory at most.
pub fn bounded(program: &Path) -> Command {
    let mut command = Command::new("prlimit");
    command
        .args(["--as=8589934592", "--core=0", "--"])
        .arg(program);
    command
}

/// Reads a file up to a limit; what is not UTF-8 is replaced.
pub fn beginning(path: &Path) -> std::io::Result<String> {
    use std::io::Read as _;
    let mut bytes = Vec::new();
    File::open(path)?.take(OUTPUT).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
