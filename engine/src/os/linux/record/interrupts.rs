//! SIGINT and SIGQUIT while a program is recorded: they are for the program.

use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};
use std::io;
use std::sync::atomic::{AtomicI32, Ordering};

/// The recorded program; 0: none yet.
static PROGRAM: AtomicI32 = AtomicI32::new(0);

/// A terminal sends its keys to the recorded program, too. What a process has sent to the recorder is passed on.
extern "C" fn pass_on(signal: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    let program = PROGRAM.load(Ordering::Relaxed);
    // SAFETY: the kernel passes a live siginfo_t. kill(2) may be called in a handler (signal-safety(7)).
    unsafe {
        if program != 0 && (*info).si_code <= 0 {
            let error = *libc::__errno_location();
            libc::kill(program, signal);
            *libc::__errno_location() = error;
        }
    }
}

/// Lets the keys by which a terminal ends programs reach only the recorded one, which may handle them: its
/// recording is reported and written afterwards. Programs that this one executes are ended by them.
///
/// # Errors
/// The system refuses, which it does not for these signals.
pub fn outlive() -> io::Result<()> {
    set(SigHandler::SigAction(pass_on))
}

/// Notes the program that is recorded.
pub fn are_for(pid: i32) {
    PROGRAM.store(pid, Ordering::Relaxed);
}

/// Lets those keys end this process: the recorded program has ended.
///
/// # Errors
/// As [`outlive`].
pub fn end_this() -> io::Result<()> {
    PROGRAM.store(0, Ordering::Relaxed);
    set(SigHandler::SigDfl)
}

fn set(handler: SigHandler) -> io::Result<()> {
    let action = SigAction::new(handler, SaFlags::empty(), SigSet::empty());
    for signal in [Signal::SIGINT, Signal::SIGQUIT] {
        // SAFETY: the handler makes one call that handlers may make.
        unsafe { sigaction(signal, &action)? };
    }
    Ok(())
}
