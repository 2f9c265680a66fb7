//! Launching a program: fork, set up, exec; and the launcher that does so in a terminal.

use super::super::ThreadEvent;
use super::ptrace;
use super::stdio::{OpenStdio, Stdio, open_own};
use crate::ids::Launch;
use crate::ids::Signal;
use crate::ids::error::Error;
use std::ffi::{CString, OsStr, OsString};
use std::io::{self, Read};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The signal mask this process was started with. Every debuggee gets it back.
static ORIGINAL_MASK: OnceLock<libc::sigset_t> = OnceLock::new();

/// Prepares a process that debugs. Call it at the start of `main`, before any thread exists.
///
/// SIGCHLD and the signals that request the end must be blocked in all threads, as each is
/// collected in one place. SIGBUS, raised when a mapped file is truncated while it is read, must
/// not kill the process.
pub fn prepare() {
    super::sigbus::survive_truncated_files();
    keep_freed_memory();
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

/// Tunes malloc. The response to a stop consists of small strings that live for a millisecond:
/// glibc must not return their pages to the kernel each time, only memory beyond a large response.
fn keep_freed_memory() {
    #[cfg(target_env = "gnu")]
    {
        /// Bytes at the end of the heap that are kept, and the increment by which it grows.
        const KEPT: libc::c_int = 4 << 20;
        const GROWTH: libc::c_int = 256 << 10;
        // SAFETY: mallopt(3) only sets parameters of the allocator; no other thread exists.
        unsafe {
            libc::mallopt(libc::M_TRIM_THRESHOLD, KEPT);
            libc::mallopt(libc::M_TOP_PAD, GROWTH);
        }
    }
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

/// Returns the signals that are blocked in all threads. SIGCHLD is read from a signalfd, requests
/// to end are awaited by a dedicated thread, and SIGTTOU would stop a background process that
/// writes to its terminal.
fn blocked_signals() -> libc::sigset_t {
    let mut set = super::ending::signals();
    // SAFETY: the set is initialised.
    unsafe {
        libc::sigaddset(&raw mut set, libc::SIGCHLD);
        libc::sigaddset(&raw mut set, libc::SIGTTOU);
    }
    set
}

fn original_mask() -> libc::sigset_t {
    *ORIGINAL_MASK.get_or_init(|| {
        let mut set = MaybeUninit::<libc::sigset_t>::zeroed();
        // SAFETY: sigemptyset initialises the set.
        unsafe {
            libc::sigemptyset(set.as_mut_ptr());
            set.assume_init()
        }
    })
}

fn set_personality(disable_aslr: bool) {
    if disable_aslr {
        // SAFETY: personality takes and returns integers only. If it fails (a seccomp filter, as in
        // containers), address randomization stays enabled, which is harmless.
        unsafe {
            let current = libc::personality(0xffff_ffff);
            if current != -1 {
                libc::personality((current | libc::ADDR_NO_RANDOMIZE) as libc::c_ulong);
            }
        }
    }
}

fn c_string(text: &OsStr) -> io::Result<CString> {
    CString::new(text.as_bytes())
        .map_err(|_| io::Error::other(format!("{text:?} contains a NUL character")))
}

/// A NULL-terminated array of C strings for execve(2).
struct StringArray {
    strings: Vec<CString>,
    pointers: Vec<*const libc::c_char>,
}

impl StringArray {
    fn new(strings: Vec<CString>) -> Self {
        let pointers = strings
            .iter()
            .map(|string| string.as_ptr())
            .chain([std::ptr::null()])
            .collect();
        Self { strings, pointers }
    }
}

/// A launched program, stopped after its `execve`.
pub struct Started {
    pub pid: i32,
    /// Our ends of its stdout and stderr.
    pub outputs: [Option<OwnedFd>; 2],
}

enum Stage {
    Directory = 1,
    Exec = 2,
}

/// Launches a program. It is seized, dies with the debugger, and is stopped after its `execve`.
///
/// # Errors
/// The program cannot be run; one of its files cannot be opened.
pub fn start(launch: &Launch, opened: Option<OpenStdio>) -> Result<Started, Error> {
    launch.check_program()?;
    let opened = match opened {
        Some(opened) => opened,
        None => OpenStdio::open_at_once(launch)?,
    };
    let stdio = Stdio::new(launch, opened).map_err(|message| Error::Launch {
        program: launch.program.clone(),
        message,
    })?;
    start_with(launch, stdio)
}

/// Like [`start`], with the program's standard streams.
///
/// # Errors
/// The program cannot be run.
pub fn start_with(launch: &Launch, mut stdio: Stdio) -> Result<Started, Error> {
    let fail = |message: String| Error::Launch {
        program: launch.program.clone(),
        message,
    };
    let system = |what: &str| {
        let what = what.to_owned();
        move |error: io::Error| fail(format!("{what}: {error}"))
    };
    let path = launch.cwd.join(&launch.program);

    let program = c_string(path.as_os_str()).map_err(system("program"))?;
    let mut arguments = vec![program.clone()];
    for argument in &launch.args {
        arguments.push(c_string(argument).map_err(system("args"))?);
    }
    let arguments = StringArray::new(arguments);
    let mut environment = Vec::with_capacity(launch.env.len());
    for (name, value) in &launch.env {
        let mut entry = name.clone();
        entry.push("=");
        entry.push(value);
        environment.push(c_string(&entry).map_err(system("env"))?);
    }
    let environment = StringArray::new(environment);
    let cwd = c_string(launch.cwd.as_os_str()).map_err(system("cwd"))?;

    let (go_read, go_write) = io::pipe().map_err(system("pipe"))?;
    let (mut error_read, error_write) = io::pipe().map_err(system("pipe"))?;
    let mask = original_mask();
    debug_assert_eq!(arguments.strings.len(), launch.args.len() + 1);
    debug_assert_eq!(environment.strings.len(), launch.env.len());

    // SAFETY: the child calls only async-signal-safe functions (signal-safety(7)) on data prepared
    // above, and ends in execve or _exit.
    let pid = unsafe { libc::fork() };
    if pid < 0 {
        return Err(system("fork")(io::Error::last_os_error()));
    }
    if pid == 0 {
        let report = error_write.as_raw_fd();
        // SAFETY: see above.
        unsafe {
            libc::close(go_write.as_raw_fd());
            // Wait until the process is seized; end of file means that the debugger died first.
            let mut byte = 0_u8;
            loop {
                let count = libc::read(go_read.as_raw_fd(), (&raw mut byte).cast(), 1);
                if count == 1 {
                    break;
                }
                if count == 0 || *libc::__errno_location() != libc::EINTR {
                    libc::_exit(127);
                }
            }
            libc::setsid();
            for (index, descriptor) in stdio.child.iter().enumerate() {
                if let Some(descriptor) = descriptor {
                    // dup2 onto itself would keep close-on-exec; all files were opened above 2.
                    libc::dup2(descriptor.as_raw_fd(), index as i32);
                }
            }
            if libc::chdir(cwd.as_ptr()) != 0 {
                child_failed(report, Stage::Directory);
            }
            set_personality(launch.disable_aslr);
            libc::signal(libc::SIGPIPE, libc::SIG_DFL);
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const mask, std::ptr::null_mut());
            libc::execve(
                program.as_ptr(),
                arguments.pointers.as_ptr(),
                environment.pointers.as_ptr(),
            );
            child_failed(report, Stage::Exec);
        }
    }
    drop(error_write);
    drop(go_read);
    stdio.child = [None, None, None];
    let give_up = |message: String| {
        // SAFETY: integers only.
        unsafe { libc::kill(pid, libc::SIGKILL) };
        while !matches!(
            ptrace::wait_blocking(pid),
            None | Some((_, ThreadEvent::Exited(_) | ThreadEvent::Killed(_)))
        ) {}
        fail(message)
    };
    if let Err(error) = ptrace::seize(pid, true) {
        return Err(give_up(super::refusal::of_launch(&error)));
    }
    if let Err(error) = io::Write::write_all(&mut &go_write, b"g") {
        return Err(give_up(error.to_string()));
    }
    drop(go_write);
    // The pipe closes when execve succeeds; otherwise the child reports the failed stage.
    let mut report = [0; 5];
    if error_read.read_exact(&mut report).is_ok() {
        let [stage, code @ ..] = report;
        let error = io::Error::from_raw_os_error(i32::from_le_bytes(code));
        let message = if stage == Stage::Directory as u8 {
            format!(
                "cannot enter the working directory {}: {error}",
                launch.cwd.display()
            )
        } else {
            exec_message(&path, &error)
        };
        return Err(give_up(message));
    }
    loop {
        match ptrace::wait_blocking(pid) {
            Some((_, ThreadEvent::Execed(_))) => break,
            Some((_, ThreadEvent::Exited(_) | ThreadEvent::Killed(_))) | None => {
                return Err(fail(
                    "the kernel cannot load it; the file may be damaged or truncated".into(),
                ));
            }
            // The kernel kills a process that it cannot load.
            Some((thread, ThreadEvent::Signal(signal))) => {
                let _ = ptrace::resume(thread, false, signal);
            }
            Some((thread, _)) => {
                let _ = ptrace::resume(thread, false, Signal(0));
            }
        }
    }
    Ok(Started {
        pid,
        outputs: stdio.ours,
    })
}

/// # Safety
/// Must be called in the forked child only.
unsafe fn child_failed(report: i32, stage: Stage) -> ! {
    // SAFETY: write and _exit are async-signal-safe; the buffer is live.
    unsafe {
        let code = (*libc::__errno_location()).to_le_bytes();
        let message = [stage as u8, code[0], code[1], code[2], code[3]];
        libc::write(report, message.as_ptr().cast(), message.len());
        libc::_exit(127)
    }
}

fn exec_message(path: &Path, error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::EACCES) => {
            "not executable (permission denied); run `chmod +x`, or set `program` to the built \
             executable"
                .into()
        }
        Some(libc::ENOEXEC) => match elf_machine(path) {
            Some(machine) if machine == std::env::consts::ARCH => {
                "the kernel cannot load it; the file may be damaged or truncated".into()
            }
            Some(machine) => format!(
                "wrong architecture: built for {machine}, this machine is {}",
                std::env::consts::ARCH
            ),
            None => "not an executable: neither an ELF file nor a script with a `#!` line".into(),
        },
        Some(libc::ENOENT) => {
            "its interpreter (dynamic loader or `#!` line) does not exist on this system".into()
        }
        _ => error.to_string(),
    }
}

fn elf_machine(path: &Path) -> Option<String> {
    let mut header = [0; 20];
    dwarf::open_regular(path)
        .ok()?
        .read_exact(&mut header)
        .ok()?;
    if header[..4] != *b"\x7fELF" {
        return None;
    }
    let machine = u16::from_le_bytes([header[18], header[19]]);
    Some(super::super::machine_name(machine))
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
    /// Allows any process of this user to trace this one until it execs (Yama).
    pub fn allow_tracing() {
        // SAFETY: integers only. Fails without Yama, where it is not needed.
        unsafe { libc::prctl(libc::PR_SET_PTRACER, libc::PR_SET_PTRACER_ANY) };
    }

    /// Replaces this process by the program with the original signal mask; returns only on failure.
    /// Opening a FIFO blocks until its other end is open.
    pub fn exec(self) -> io::Error {
        use std::os::unix::process::CommandExt;
        let mut command = std::process::Command::new(&self.program);
        for (index, path) in self.stdio.iter().enumerate() {
            let Some(path) = path else { continue };
            match (open_own(path, index), index) {
                (Ok(file), 0) => command.stdin(file),
                (Ok(file), 1) => command.stdout(file),
                (Ok(file), _) => command.stderr(file),
                (Err(error), _) => return error,
            };
        }
        set_personality(self.disable_aslr);
        let mask = original_mask();
        // SAFETY: the set is live; only this thread's mask changes.
        unsafe {
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const mask, std::ptr::null_mut());
            libc::signal(libc::SIGPIPE, libc::SIG_DFL);
        }
        let error = command.args(&self.args).exec();
        io::Error::new(error.kind(), exec_message(&self.program, &error))
    }
}
