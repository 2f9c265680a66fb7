//! Starting a program (`posix_spawn`), in a process of its own or in place of this one.

use super::super::super::unix::start::{StringArray, c_string, original_mask, signal_set};
use super::super::declared::{
    POSIX_SPAWN_DISABLE_ASLR, POSIX_SPAWN_SETSID, posix_spawn_file_actions_addinherit_np,
};
use crate::ids::Launch;
use std::ffi::{CString, OsString};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;

/// `EBADEXEC`, `EBADARCH` and `EBADMACHO` (`sys/errno.h`).
const BAD_EXECUTABLE: i32 = 85;
const BAD_ARCHITECTURE: i32 = 86;
const BAD_MACH_O: i32 = 88;

/// Returns the error of a function that returns its number.
fn checked(error: i32) -> io::Result<()> {
    match error {
        0 => Ok(()),
        code => Err(io::Error::from_raw_os_error(code)),
    }
}

/// What the new process begins with.
struct Attributes(libc::posix_spawnattr_t);

impl Attributes {
    /// Signals as this process got them, and these flags.
    fn new(flags: i32) -> io::Result<Self> {
        let mut attributes = MaybeUninit::uninit();
        // SAFETY: initialised by the first call; the sets are live, and copied.
        unsafe {
            checked(libc::posix_spawnattr_init(attributes.as_mut_ptr()))?;
            let mut attributes = Self(attributes.assume_init());
            let mask = original_mask();
            // Rust ignores it.
            let default = signal_set(&[libc::SIGPIPE]);
            let flags = flags | libc::POSIX_SPAWN_SETSIGMASK | libc::POSIX_SPAWN_SETSIGDEF;
            let it = &raw mut attributes.0;
            checked(libc::posix_spawnattr_setsigmask(it, &raw const mask))?;
            checked(libc::posix_spawnattr_setsigdefault(it, &raw const default))?;
            checked(libc::posix_spawnattr_setflags(it, flags as i16))?;
            Ok(attributes)
        }
    }
}

impl Drop for Attributes {
    fn drop(&mut self) {
        // SAFETY: initialised, and destroyed once.
        unsafe { libc::posix_spawnattr_destroy(&raw mut self.0) };
    }
}

/// What is done to descriptors and the working directory before the program starts.
struct FileActions(libc::posix_spawn_file_actions_t);

impl FileActions {
    fn new() -> io::Result<Self> {
        let mut actions = MaybeUninit::uninit();
        // SAFETY: initialised by this call.
        unsafe {
            checked(libc::posix_spawn_file_actions_init(actions.as_mut_ptr()))?;
            Ok(Self(actions.assume_init()))
        }
    }

    /// Makes descriptors 0 to 2 these; those without stay as they are.
    fn stdio(&mut self, stdio: &[Option<OwnedFd>; 3]) -> io::Result<()> {
        for (index, descriptor) in (0..).zip(stdio) {
            // SAFETY: initialised; integers only. The descriptors live longer than the actions.
            checked(unsafe {
                let it = &raw mut self.0;
                match descriptor {
                    Some(descriptor) => {
                        let descriptor = descriptor.as_raw_fd();
                        libc::posix_spawn_file_actions_adddup2(it, descriptor, index)
                    }
                    None => posix_spawn_file_actions_addinherit_np(it, index),
                }
            })?;
        }
        Ok(())
    }

    fn directory(&mut self, directory: &Path) -> io::Result<()> {
        let directory = c_string(directory.as_os_str())?;
        // SAFETY: initialised; the string is copied.
        checked(unsafe {
            let it = &raw mut self.0;
            libc::posix_spawn_file_actions_addchdir_np(it, directory.as_ptr())
        })
    }
}

impl Drop for FileActions {
    fn drop(&mut self) {
        // SAFETY: initialised, and destroyed once.
        unsafe { libc::posix_spawn_file_actions_destroy(&raw mut self.0) };
    }
}

fn strings<'a>(texts: impl Iterator<Item = &'a OsString>) -> io::Result<Vec<CString>> {
    texts.map(|text| c_string(text)).collect()
}

fn aslr(disable: bool) -> i32 {
    match disable {
        true => POSIX_SPAWN_DISABLE_ASLR,
        false => 0,
    }
}

/// Starts a program, stopped before its first instruction. Returns its pid.
///
/// # Errors
/// Cause and remedy.
pub fn spawn(launch: &Launch, stdio: &[Option<OwnedFd>; 3]) -> Result<i32, String> {
    let path = launch.cwd.join(&launch.program);
    let failed = |error: io::Error| error.to_string();
    let program = c_string(path.as_os_str()).map_err(failed)?;
    let mut arguments = vec![program.clone()];
    arguments.extend(strings(launch.args.iter()).map_err(failed)?);
    let arguments = StringArray::new(arguments);
    let mut environment = Vec::with_capacity(launch.env.len());
    for (name, value) in &launch.env {
        let mut entry = name.clone();
        entry.push("=");
        entry.push(value);
        environment.push(c_string(&entry).map_err(failed)?);
    }
    let environment = StringArray::new(environment);
    // Descriptors that no action names are not inherited.
    let flags = libc::POSIX_SPAWN_START_SUSPENDED
        | libc::POSIX_SPAWN_CLOEXEC_DEFAULT
        | POSIX_SPAWN_SETSID
        | aslr(launch.disable_aslr);
    let attributes = Attributes::new(flags).map_err(failed)?;
    let mut actions = FileActions::new().map_err(failed)?;
    actions.stdio(stdio).map_err(failed)?;
    if !launch.cwd.is_dir() {
        let cwd = launch.cwd.display();
        return Err(format!("cannot enter the working directory {cwd}"));
    }
    actions.directory(&launch.cwd).map_err(failed)?;
    let mut pid = 0;
    // SAFETY: the attributes and actions are initialised, the strings and arrays live, and NULL ends
    // the arrays.
    let result = unsafe {
        libc::posix_spawn(
            &raw mut pid,
            program.as_ptr(),
            &raw const actions.0,
            &raw const attributes.0,
            arguments.pointers.as_ptr().cast(),
            environment.pointers.as_ptr().cast(),
        )
    };
    match checked(result) {
        Ok(()) => Ok(pid),
        Err(error) => Err(exec_message(&error)),
    }
}

/// Replaces this process by a program that is looked for as a shell does; returns only on failure.
pub fn replace(
    program: &Path,
    arguments: &[OsString],
    stdio: [Option<OwnedFd>; 3],
    disable_aslr: bool,
) -> io::Error {
    let attempt = || -> io::Result<i32> {
        let program = c_string(program.as_os_str())?;
        let mut all = vec![program.clone()];
        all.extend(strings(arguments.iter())?);
        let all = StringArray::new(all);
        let flags = libc::POSIX_SPAWN_SETEXEC | aslr(disable_aslr);
        let attributes = Attributes::new(flags)?;
        let mut actions = FileActions::new()?;
        actions.stdio(&stdio)?;
        // SAFETY: as for `spawn`; the environment is that of this process, which no other thread
        // changes.
        unsafe {
            Ok(libc::posix_spawnp(
                std::ptr::null_mut(),
                program.as_ptr(),
                &raw const actions.0,
                &raw const attributes.0,
                all.pointers.as_ptr().cast(),
                *libc::_NSGetEnviron(),
            ))
        }
    };
    let error = attempt().and_then(checked).err();
    let error = error.unwrap_or_else(|| io::ErrorKind::Other.into());
    io::Error::new(error.kind(), exec_message(&error))
}

/// Explains why a program cannot be executed.
fn exec_message(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::EACCES) => {
            "not executable (permission denied); run `chmod +x`, or set `program` to the built \
             executable"
                .into()
        }
        Some(libc::ENOEXEC) => {
            "not an executable: neither a Mach-O file nor a script with a `#!` line".into()
        }
        Some(libc::ENOENT) => {
            "its interpreter (the `#!` line) does not exist on this system".into()
        }
        Some(BAD_ARCHITECTURE) => format!(
            "wrong architecture: this machine is {}; build the program for it, or install Rosetta",
            std::env::consts::ARCH
        ),
        Some(BAD_EXECUTABLE | BAD_MACH_O) => {
            "the kernel cannot load it; the file may be damaged or truncated".into()
        }
        _ => error.to_string(),
    }
}
