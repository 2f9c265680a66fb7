//! The start of a recorded program: under the filter, at the same addresses each time, with the
//! recorder's page.

use super::super::super::unix::start::{StringArray, c_string};
use super::super::{ptrace, stop_wait};
use super::filter;
use super::registers::CALL_LEN;
use super::scratch;
use super::tracee::{Stop, Tracee, gone};
use crate::ids::Launch;
use crate::ids::error::Error;
use crate::os::linux::injection::Injection;
use crate::os::linux::launch::exec_message;
use dwarf::LoadAddr;
use std::ffi::CString;
use std::io::{self, Read};
use std::os::fd::AsRawFd;

/// Starts a program with the streams of this process. It is stopped at the end of its execve(2).
///
/// # Errors
/// The program cannot be run, or the kernel allows no filter.
pub fn start(launch: &Launch) -> Result<Tracee, Error> {
    launch.check_program()?;
    let fail = |message: String| Error::Launch {
        program: launch.program.clone(),
        message,
    };
    let system = |what: &'static str| move |error: io::Error| fail(format!("{what}: {error}"));
    let path = launch.cwd.join(&launch.program);
    let program = c_string(path.as_os_str()).map_err(system("program"))?;
    let mut arguments = vec![program.clone()];
    for argument in &launch.args {
        arguments.push(c_string(argument).map_err(system("args"))?);
    }
    let environment: io::Result<Vec<CString>> = launch.env.iter().map(variable).collect();
    let arguments = StringArray::new(arguments);
    let environment = StringArray::new(environment.map_err(system("env"))?);
    let cwd = c_string(launch.cwd.as_os_str()).map_err(system("cwd"))?;
    let (go_read, go_write) = io::pipe().map_err(system("pipe"))?;
    let (mut error_read, error_write) = io::pipe().map_err(system("pipe"))?;
    // SAFETY: the child calls only async-signal-safe functions (signal-safety(7)) on data prepared
    // above, and ends in execve or _exit.
    let pid = unsafe { libc::fork() };
    if pid < 0 {
        return Err(system("fork")(io::Error::last_os_error()));
    }
    if pid == 0 {
        // SAFETY: see above.
        unsafe {
            libc::close(go_write.as_raw_fd());
            let mut byte = 0_u8;
            // Until it is traced. The end of the pipe: the recorder has died.
            if libc::read(go_read.as_raw_fd(), (&raw mut byte).cast(), 1) != 1
                || libc::chdir(cwd.as_ptr()) != 0
            {
                libc::_exit(127);
            }
            libc::personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong);
            libc::signal(libc::SIGPIPE, libc::SIG_DFL);
            if filter::install().is_ok() {
                libc::execve(
                    program.as_ptr(),
                    arguments.pointers.as_ptr(),
                    environment.pointers.as_ptr(),
                );
            }
            let code = (*libc::__errno_location()).to_le_bytes();
            libc::write(error_write.as_raw_fd(), code.as_ptr().cast(), code.len());
            libc::_exit(127)
        }
    }
    drop(error_write);
    drop(go_read);
    let begun = ptrace::seize_for_recording(pid)
        .and_then(|()| io::Write::write_all(&mut &go_write, b"g"))
        .and_then(|()| Tracee::new(pid));
    let launcher = begun.map_err(|error| {
        // SAFETY: integers only; the child is not collected yet.
        unsafe { libc::kill(pid, libc::SIGKILL) };
        stop_wait::collect(pid);
        fail(super::super::refusal::of_launch(&error))
    })?;
    loop {
        match launcher.wait() {
            Stop::Execed => break,
            stop if stop.is_end() => {
                let mut code = [0; 4];
                let reason = match error_read.read_exact(&mut code) {
                    Ok(()) => {
                        let error = io::Error::from_raw_os_error(i32::from_le_bytes(code));
                        exec_message(&path, &error)
                    }
                    Err(_) => "it ended before it ran; check its working directory".to_owned(),
                };
                return Err(fail(reason));
            }
            Stop::Signal(signal) => launcher.resume(signal),
            _ => launcher.resume(0),
        }
    }
    let program = Tracee::new(pid).map_err(system("open(/proc/PID/mem)"))?;
    prepare(&program).map_err(system("the program's memory"))?;
    Ok(program)
}

fn variable((name, value): &(std::ffi::OsString, std::ffi::OsString)) -> io::Result<CString> {
    let mut entry = name.clone();
    entry.push("=");
    entry.push(value);
    c_string(&entry)
}

/// Prepares a program that has just been executed, at the event of that: maps the recorder's page, and
/// hides the code by which the kernel tells the time without a system call. It is then stopped at
/// the end of the call.
///
/// # Errors
/// The program has ended, or occupies the recorder's page.
pub fn prepare(program: &Tracee) -> io::Result<()> {
    program.resume_to_call_end();
    loop {
        match program.wait() {
            Stop::CallEnd => break,
            stop if stop.is_end() => return Err(gone()),
            _ => program.resume_to_call_end(),
        }
    }
    map_page(program)?;
    hide_vdso(program, program.registers()?.sp())
}

/// Maps the recorder's page in a stopped program.
///
/// # Errors
/// As [`prepare`].
pub fn map_page(program: &Tracee) -> io::Result<()> {
    let pc = program.registers()?.pc();
    let covered = program.read(pc, scratch::CODE.len());
    program.write(pc, &scratch::CODE)?;
    let injected = Injection::begin(program.thread(), LoadAddr(pc)).and_then(|mut injection| {
        let access = libc::PROT_READ | libc::PROT_EXEC;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE;
        let arguments = [
            scratch::PAGE,
            scratch::LEN,
            access as u64,
            flags as u64,
            u64::MAX,
            0,
        ];
        let result = injection.call(libc::SYS_mmap, arguments);
        injection.finish();
        result
    });
    program.write(pc, &covered)?;
    let mapped = injected
        .map_err(|error| io::Error::other(error.to_string()))?
        .ok()?;
    if mapped as u64 != scratch::PAGE {
        return Err(io::Error::other("the page of the recorder is occupied"));
    }
    program.write(scratch::CALL, &scratch::CODE)?;
    const _: () = assert!(CALL_LEN + 1 == scratch::CODE.len() as u64);
    Ok(())
}

/// Makes the entry of the auxiliary vector that leads to the vdso one that is ignored.
fn hide_vdso(program: &Tracee, sp: u64) -> io::Result<()> {
    const VDSO: u64 = 33;
    const IGNORED: u64 = 1;
    /// The most words on the stack of a new program: arguments take 6 MiB at most.
    const MOST: u64 = 1 << 20;
    let word = |at: u64| program.word(at).ok_or_else(gone);
    // The number of arguments, these, 0, the environment, 0, the vector.
    let mut at = sp + 8 * (word(sp)?.min(MOST) + 2);
    let end = at.saturating_add(8 * MOST);
    while at < end && word(at)? != 0 {
        at += 8;
    }
    at += 8;
    while at < end {
        match word(at)? {
            0 => break,
            VDSO => return program.write(at, &IGNORED.to_le_bytes()),
            _ => at += 16,
        }
    }
    Ok(())
}
