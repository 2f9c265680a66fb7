//! Launching a program: fork, set up, exec.

use super::super::ThreadEvent;
use super::super::unix::start::{StringArray, c_string, original_mask};
use super::super::unix::stdio::{OpenStdio, Stdio};
use super::{ptrace, stop_wait};
use crate::ids::Launch;
use crate::ids::error::Error;
use crate::ids::{Signal, ThreadId};
use std::ffi::OsString;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

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

/// A launched program, stopped after its `execve`.
pub struct Started {
    pub pid: i32,
    /// Our ends of its stdout and stderr.
    pub outputs: [Option<OwnedFd>; 2],
}

enum Stage {
    Directory = 1,
    Filter = 2,
    Exec = 3,
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
            set_personality(launch.disable_aslr || launch.record);
            libc::signal(libc::SIGPIPE, libc::SIG_DFL);
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const mask, std::ptr::null_mut());
            if launch.record && super::record::install_filter().is_err() {
                child_failed(report, Stage::Filter);
            }
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
        stop_wait::collect(pid);
        fail(message)
    };
    let seized = match launch.record {
        true => ptrace::seize_for_recording(pid),
        false => ptrace::seize(pid, true),
    };
    if let Err(error) = seized {
        return Err(give_up(super::refusal::of_launch(&error)));
    }
    if let Err(error) = io::Write::write_all(&mut &go_write, b"g") {
        return Err(give_up(error.to_string()));
    }
    drop(go_write);
    // Under the recorder's filter, execve and what follows a failure stop it.
    let recorded = launch.record.then(|| until_executed(pid));
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
        } else if stage == Stage::Filter as u8 {
            format!("it cannot be recorded: the kernel refuses a seccomp filter: {error}")
        } else {
            exec_message(&path, &error)
        };
        return Err(give_up(message));
    }
    if !recorded.unwrap_or_else(|| until_executed(pid)) {
        return Err(fail(
            "the kernel cannot load it; the file may be damaged or truncated".into(),
        ));
    }
    Ok(Started {
        pid,
        outputs: stdio.ours,
    })
}

/// Waits until a seized process has executed a program. Returns false if it has ended.
fn until_executed(pid: i32) -> bool {
    loop {
        let signal = match ptrace::wait_for(pid) {
            Some(ThreadEvent::Execed(_)) => return true,
            Some(ThreadEvent::Exited(_) | ThreadEvent::Killed(_)) | None => return false,
            // The kernel kills a process that it cannot load.
            Some(ThreadEvent::Signal(signal)) => signal,
            Some(_) => Signal(0),
        };
        let _ = ptrace::resume(ThreadId(pid), false, signal);
    }
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

/// Returns why a program cannot be executed, and the remedy.
pub(super) fn exec_message(path: &Path, error: &io::Error) -> String {
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

/// Replaces this process by a program that is looked for as a shell does; returns only on failure.
pub fn exec(
    program: &Path,
    arguments: &[OsString],
    stdio: [Option<OwnedFd>; 3],
    disable_aslr: bool,
) -> io::Error {
    let mut command = Command::new(program);
    command.args(arguments);
    let [stdin, stdout, stderr] = stdio;
    stdin.map(|file| command.stdin(file));
    stdout.map(|file| command.stdout(file));
    stderr.map(|file| command.stderr(file));
    set_personality(disable_aslr);
    let mask = original_mask();
    // SAFETY: the set is live; only this thread's mask changes.
    unsafe {
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const mask, std::ptr::null_mut());
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
    }
    let error = command.exec();
    io::Error::new(error.kind(), exec_message(program, &error))
}
