//! Standard streams of a launched program: files, and streams that we capture.

use crate::ids::error::Error;
use crate::ids::{Launch, StdioTarget};
use nix::pty::{Winsize, openpty};
use nix::sys::termios::{SetArg, cfmakeraw, tcgetattr, tcsetattr};
use std::fs::OpenOptions;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Opened files for the standard streams, as named by settings.
#[derive(Debug, Default)]
pub struct OpenStdio([Option<OwnedFd>; 3]);

/// Whether an open may block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Patience {
    None,
    Unlimited,
}

impl OpenStdio {
    /// Returns whether opening a launch's files may block: for the other end of a FIFO, or for a
    /// device.
    pub fn may_wait(launch: &Launch) -> bool {
        let waits = |path: PathBuf| {
            let metadata = std::fs::metadata(path);
            metadata.is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir())
        };
        files(launch).into_iter().flatten().any(waits)
    }

    /// Opens the files of a launch, one after the other, as a shell does. If it
    /// [may block](OpenStdio::may_wait), call it on a thread of its own.
    ///
    /// # Errors
    /// One of them cannot be opened.
    pub fn open(launch: &Launch) -> Result<Self, Error> {
        Self::open_with(launch, Patience::Unlimited)
    }

    /// Like [`OpenStdio::open`], but fails instead of blocking.
    pub(in super::super) fn open_at_once(launch: &Launch) -> Result<Self, Error> {
        Self::open_with(launch, Patience::None)
    }

    fn open_with(launch: &Launch, patience: Patience) -> Result<Self, Error> {
        let mut opened = Self::default();
        for (index, path) in files(launch).into_iter().enumerate() {
            let Some(path) = path else { continue };
            let file = open_file(&path, index, patience);
            let file = file.map_err(|error| Error::Launch {
                program: launch.program.clone(),
                message: format!("cannot open {} for `stdio`: {error}", path.display()),
            })?;
            opened.0[index] = Some(file);
        }
        Ok(opened)
    }
}

/// Returns the paths of the files that a launch names.
fn files(launch: &Launch) -> [Option<PathBuf>; 3] {
    launch.stdio.each_ref().map(|target| match target {
        StdioTarget::File(path) => Some(launch.cwd.join(path)),
        StdioTarget::Inherited | StdioTarget::Null | StdioTarget::Captured => None,
    })
}

/// Opens a file for the stream with that number.
fn open_file(path: &Path, index: usize, patience: Patience) -> io::Result<OwnedFd> {
    let mut options = OpenOptions::new();
    if index == 0 {
        options.read(true);
    } else {
        options.write(true).create(true).truncate(true);
    }
    let flags = match patience {
        Patience::None => libc::O_NOCTTY | libc::O_NONBLOCK,
        Patience::Unlimited => libc::O_NOCTTY,
    };
    let file = options.custom_flags(flags).open(path)?;
    if patience == Patience::None {
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("not a regular file any more"));
        }
        // The program expects a blocking file.
        set_flags(file.as_raw_fd(), |flags| flags & !libc::O_NONBLOCK)?;
    }
    Ok(file.into())
}

/// Opens a file for a stream of this process, which is about to exec the program. Blocks if needed.
pub fn open_own(path: &Path, index: usize) -> io::Result<OwnedFd> {
    let file = open_file(path, index, Patience::Unlimited);
    file.map_err(|error| {
        let message = format!("cannot open {} for `stdio`: {error}", path.display());
        io::Error::new(error.kind(), message)
    })
}

/// Descriptors 0 to 2 of a program, and our ends of them.
pub struct Stdio {
    pub child: [Option<OwnedFd>; 3],
    pub ours: [Option<OwnedFd>; 2],
}

impl Stdio {
    /// Creates the streams of a launch whose files are open.
    pub fn new(launch: &Launch, opened: OpenStdio) -> Result<Stdio, String> {
        let mut stdio = Stdio {
            child: [None, None, None],
            ours: [None, None],
        };
        let null = |index| {
            open_file(Path::new("/dev/null"), index, Patience::Unlimited)
                .map_err(|error| format!("/dev/null: {error}"))
        };
        for ((index, target), opened) in launch.stdio.iter().enumerate().zip(opened.0) {
            let descriptor: OwnedFd = match target {
                StdioTarget::Inherited => continue,
                StdioTarget::File(path) => match opened {
                    Some(file) => file,
                    None => return Err(format!("{} was not opened", path.display())),
                },
                StdioTarget::Null => null(index)?,
                StdioTarget::Captured => match index {
                    0 => null(0)?,
                    // A terminal, so that the C library flushes every line.
                    1 => {
                        let (ours, theirs) = terminal().map_err(|error| error.to_string())?;
                        stdio.ours[0] = Some(ours);
                        theirs
                    }
                    _ => {
                        let (ours, theirs) = io::pipe().map_err(|error| error.to_string())?;
                        stdio.ours[1] = Some(ours.into());
                        theirs.into()
                    }
                },
            };
            stdio.child[index] = Some(above_stdio(descriptor)?);
        }
        for ours in stdio.ours.iter().flatten() {
            set_flags(ours.as_raw_fd(), |flags| flags | libc::O_NONBLOCK)
                .map_err(|error| error.to_string())?;
        }
        Ok(stdio)
    }
}

/// Moves a descriptor above 2, so that it is not overwritten before its use.
fn above_stdio(descriptor: OwnedFd) -> Result<OwnedFd, String> {
    if descriptor.as_raw_fd() > 2 {
        return Ok(descriptor);
    }
    // SAFETY: fcntl returns a new descriptor without another owner.
    unsafe {
        let copy = libc::fcntl(descriptor.as_raw_fd(), libc::F_DUPFD_CLOEXEC, 3);
        if copy < 0 {
            return Err(io::Error::last_os_error().to_string());
        }
        Ok(OwnedFd::from_raw_fd(copy))
    }
}

/// The size of a program's terminal, that of a VT100: programs wrap what they print at a width of 0.
const SIZE: Winsize = Winsize {
    ws_row: 24,
    ws_col: 80,
    ws_xpixel: 0,
    ws_ypixel: 0,
};

/// Creates a raw pseudo-terminal. Returns our end and the program's end.
fn terminal() -> io::Result<(OwnedFd, OwnedFd)> {
    let pair = openpty(Some(&SIZE), None)?;
    let mut settings = tcgetattr(&pair.slave)?;
    cfmakeraw(&mut settings);
    tcsetattr(&pair.slave, SetArg::TCSANOW, &settings)?;
    for descriptor in [&pair.master, &pair.slave] {
        // SAFETY: integers only. openpty cannot set close-on-exec.
        unsafe { libc::fcntl(descriptor.as_raw_fd(), libc::F_SETFD, libc::FD_CLOEXEC) };
    }
    Ok((pair.master, pair.slave))
}

/// Changes the status flags of an open file.
pub fn set_flags(descriptor: i32, change: impl Fn(i32) -> i32) -> io::Result<()> {
    // SAFETY: integers only.
    let result = unsafe {
        let flags = libc::fcntl(descriptor, libc::F_GETFL);
        libc::fcntl(descriptor, libc::F_SETFL, change(flags))
    };
    match result {
        ..0 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}
