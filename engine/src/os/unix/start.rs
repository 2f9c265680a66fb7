//! Starting programs: the signals that this process blocks and a program must not inherit, strings
//! for `exec`, the launcher in a terminal.

use super::stdio::open_own;
use super::{ending, own, sigbus};
use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::OnceLock;

/// The signal mask this process was started with. Every debuggee gets it back.
static ORIGINAL_MASK: OnceLock<libc::sigset_t> = OnceLock::new();

/// Prepares a process that debugs. Call it at the start of `main`, before any thread exists.
///
/// SIGCHLD and the signals that request the end must be blocked in all threads, as each is
/// collected in one place. SIGBUS, raised when a mapped file is truncated while it is read, must
/// not kill the process.
pub fn prepare() {
    sigbus::survive_truncated_files();
    own::keep_freed_memory();
    let mut original = MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: the sets are live and initialised by sigemptyset before use; the calls only change
    // this thread's mask.
    let original = unsafe {
        let blocked = blocked_signals();
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const blocked, original.as_mut_ptr());
        original.assume_init()
    };
    let _ = ORIGINAL_MASK.set(original);
}

/// Returns whether [`prepare`] has run.
pub fn is_prepared() -> bool {
    ORIGINAL_MASK.get().is_some()
}

/// Builds a signal set.
pub fn signal_set(signals: &[i32]) -> libc::sigset_t {
    let mut set = MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: sigemptyset initialises the set.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        for signal in signals {
            libc::sigaddset(set.as_mut_ptr(), *signal);
        }
        set.assume_init()
    }
}

/// Returns the signals that are blocked in all threads. SIGCHLD is collected in one place, requests
/// to end are awaited by a dedicated thread, and SIGTTOU would stop a background process that
/// writes to its terminal.
fn blocked_signals() -> libc::sigset_t {
    let mut set = ending::signals();
    // SAFETY: the set is initialised.
    unsafe {
        libc::sigaddset(&raw mut set, libc::SIGCHLD);
        libc::sigaddset(&raw mut set, libc::SIGTTOU);
    }
    set
}

/// Returns the signal mask that this process was started with.
pub fn original_mask() -> libc::sigset_t {
    *ORIGINAL_MASK.get_or_init(|| signal_set(&[]))
}

/// Makes a C string.
///
/// # Errors
/// The text contains a NUL.
pub fn c_string(text: &OsStr) -> io::Result<CString> {
    CString::new(text.as_bytes())
        .map_err(|_| io::Error::other(format!("{text:?} contains a NUL character")))
}

/// A NULL-terminated array of C strings for execve(2).
pub struct StringArray {
    #[cfg_attr(
        not(target_os = "linux"),
        allow(dead_code, reason = "the pointers point to them")
    )]
    pub strings: Vec<CString>,
    pub pointers: Vec<*const libc::c_char>,
}

impl StringArray {
    pub fn new(strings: Vec<CString>) -> Self {
        let pointers = strings
            .iter()
            .map(|string| string.as_ptr())
            .chain([std::ptr::null()])
            .collect();
        Self { strings, pointers }
    }
}

/// The terminal's side of `runInTerminal`: waits until it is traced, then execs the program.
pub struct Launcher {
    /// The program.
    pub program: PathBuf,
    /// Its arguments, without the program's name.
    pub args: Vec<OsString>,
    /// Whether address space layout randomization is disabled.
    pub disable_aslr: bool,
    /// Files for stdin, stdout, stderr; `None`: the terminal's.
    pub stdio: [Option<PathBuf>; 3],
}

impl Launcher {
    /// Allows any process of this user to trace this one until it execs.
    pub fn allow_tracing() {
        own::allow_tracing();
    }

    /// Replaces this process by the program with the original signal mask; returns only on failure.
    /// Opening a FIFO blocks until its other end is open.
    pub fn exec(self) -> io::Error {
        let mut stdio = [None, None, None];
        for (index, (slot, path)) in stdio.iter_mut().zip(&self.stdio).enumerate() {
            let Some(path) = path else { continue };
            match open_own(path, index) {
                Ok(file) => *slot = Some(file),
                Err(error) => return error,
            }
        }
        own::exec(&self.program, &self.args, stdio, self.disable_aslr)
    }
}
