//! A debuggee in a terminal. The client's terminal runs `stillpoint` as a launcher, which connects
//! to a socket, sends its process id, waits until the debugger has attached, and then becomes the
//! debuggee.

use super::reports::{Inbox, LauncherEvent, Report};
use crate::files::own_socket::{OwnListener, OwnSocket};
use engine::StdioTarget;
use engine::os::Launcher;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The most bytes that a launcher may send: its process id and an error.
const MAX_REPORT: u64 = 64 << 10;

/// A socket on which a launcher is expected; removed on drop.
#[derive(Debug)]
pub struct Rendezvous(OwnSocket);

impl Rendezvous {
    /// Waits for one launcher, on a thread of its own.
    ///
    /// # Errors
    /// No socket can be created.
    pub fn open(inbox: Inbox) -> io::Result<Self> {
        let (socket, listener) = OwnSocket::bind("launcher")?;
        std::thread::Builder::new()
            .name("terminal".to_owned())
            .spawn(move || {
                let failure = await_launcher(&listener, &inbox)
                    .unwrap_or_else(|error| Some(format!("launcher in the terminal: {error}")));
                inbox.put(Report::Terminal(LauncherEvent::Gone { failure }));
            })?;
        Ok(Self(socket))
    }

    /// Returns the path of the socket.
    pub fn path(&self) -> PathBuf {
        self.0.path()
    }
}

/// Reports a launcher, waits for its end, and returns its error, if it sent one.
fn await_launcher(listener: &OwnListener, inbox: &Inbox) -> io::Result<Option<String>> {
    let Some(socket) = listener.accept(None)? else {
        return Ok(None);
    };
    let mut lines = BufReader::new(socket.try_clone()?.take(MAX_REPORT));
    let mut line = String::new();
    lines.read_line(&mut line)?;
    let pid = line
        .trim()
        .parse()
        .map_err(|_| io::Error::other("it did not identify itself"))?;
    inbox.put(Report::Terminal(LauncherEvent::Waiting { pid, socket }));
    let mut failure = String::new();
    lines.read_to_string(&mut failure)?;
    Ok(Some(failure).filter(|failure| !failure.is_empty()))
}

/// Returns the command line with which a terminal launches `program`.
///
/// # Errors
/// The path of this executable is unknown.
pub fn command_line(socket: &Path, launch: &engine::Launch) -> io::Result<Vec<String>> {
    let ourselves = std::env::current_exe()?;
    let mut line = vec![
        ourselves.to_string_lossy().into_owned(),
        "launch-in-terminal".to_owned(),
        "--connect".to_owned(),
        socket.to_string_lossy().into_owned(),
        format!("--disable-aslr={}", launch.disable_aslr),
    ];
    for (target, name) in launch.stdio.iter().zip(["stdin", "stdout", "stderr"]) {
        let path = match target {
            StdioTarget::File(path) => launch.cwd.join(path),
            StdioTarget::Null => PathBuf::from("/dev/null"),
            // The terminal's.
            StdioTarget::Captured | StdioTarget::Inherited => continue,
        };
        line.push(format!("--{name}={}", path.display()));
    }
    line.extend([
        "--".to_owned(),
        launch.program.to_string_lossy().into_owned(),
    ]);
    line.extend(
        launch
            .args
            .iter()
            .map(|arg| arg.to_string_lossy().into_owned()),
    );
    Ok(line)
}

/// Runs the launcher: connects, waits, becomes the program.
pub fn launch_in_terminal(socket: &Path, launcher: Launcher) -> ExitCode {
    let failed = |error: io::Error| {
        eprintln!("stillpoint: cannot reach the debugger: {error}");
        ExitCode::FAILURE
    };
    let mut socket = match UnixStream::connect(socket) {
        Ok(socket) => socket,
        Err(error) => return failed(error),
    };
    Launcher::allow_tracing();
    if let Err(error) = writeln!(socket, "{}", std::process::id()) {
        return failed(error);
    }
    // The debugger closed the connection: the launch was cancelled.
    if let Err(error) = socket.read_exact(&mut [0]) {
        return failed(error);
    }
    let name = launcher.program.display().to_string();
    let message = format!("cannot run {name}: {}", launcher.exec());
    eprintln!("stillpoint: {message}");
    // Fails if the debugger is gone.
    let _ = socket.write_all(message.as_bytes());
    ExitCode::from(127)
}
