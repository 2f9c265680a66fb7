//! The operating system, behind [`Backend`]. There is no `cfg(target_os)` outside this module.

mod address_space;
mod backend;
mod copies;
#[cfg(any(test, feature = "simulated-mach", target_os = "macos"))]
#[cfg_attr(
    not(target_os = "macos"),
    allow(
        dead_code,
        reason = "parts are for macOS only; their tests run everywhere"
    )
)]
mod darwin;
mod event;
#[cfg(test)]
pub(crate) mod fake;
#[cfg(target_os = "linux")]
#[cfg_attr(
    feature = "simulated-mach",
    allow(dead_code, reason = "the backend for Linux is not used then")
)]
mod linux;
#[cfg_attr(
    not(target_os = "linux"),
    allow(dead_code, reason = "core files need a part of it")
)]
mod linux_abi;
mod past;
mod post_mortem;
mod processes;
pub mod recording;
mod registers;
mod safekeeping;
mod system_call;
mod thread_state;
mod ticks;
mod unix;

#[cfg(target_os = "macos")]
use darwin::host as platform;
#[cfg(target_os = "linux")]
use linux as platform;

pub use address_space::AddressSpace;
pub use backend::Backend;
pub use copies::{Copies, CopyId, MemoryUse};
pub use event::{Patience, Ready, Resume, SeizeAs, ThreadEvent, WaitInterest};
#[cfg(all(test, target_os = "linux"))]
pub use linux::own_child;
#[cfg(all(test, target_os = "linux"))]
pub(crate) use linux::own_code;
pub(crate) use past::{PastView, Present, ThreadImage, ThreadImages};
pub use platform::own::lower_thread_priority;
pub use platform::{host, user_of_peer, user_of_unix_peer};
pub use post_mortem::{Core, CoreFile};
pub use processes::{MappedFile, Mapping, Processes};
pub use recording::{
    CallOfRun, CallWithoutStop, KeptFor, OtherState, RecordFrom, RecordedCall, RecordingState,
    Recordings, ReplayStop, RunDifference, SaveTo, Saved, SnapshotPlace, SystemWrite, Word,
};
pub use registers::{ExtendedPart, ExtendedReader, RegisterSet};
pub use safekeeping::{Duty, GuardedPatch, Safekeeping};
pub use system_call::SystemCall;
pub(crate) use system_call::{BlockingCall, FutexWait};
pub use thread_state::{Block, SignalData, SignalMask, ThreadState, TrapCause};
pub use ticks::{nanoseconds_per_tick, ticks};
pub use unix::{
    Launcher, OpenStdio, ProcessGroup, Shared, Waker, ask_to_end, end_as_interrupted,
    end_by_interrupt, end_of_wait, end_signal, pass_first_interrupt, prepare, request_end,
    run_behind_front, take_interrupt, was_interrupted,
};

use crate::ids::error::Error;

/// Creates the backend for live processes on this machine.
///
/// # Errors
/// The system has no descriptors left.
pub(crate) fn live_backend() -> Result<Box<dyn Backend>, Error> {
    live_backend_woken_by(Waker::new()?)
}

/// Like [`live_backend`], with the waker of the backend that it replaces.
///
/// # Errors
/// The system has no descriptors left.
pub(crate) fn live_backend_woken_by(waker: Waker) -> Result<Box<dyn Backend>, Error> {
    #[cfg(feature = "simulated-mach")]
    let backend = darwin::DarwinBackend::woken_by(darwin::simulated::new()?, waker)?;
    #[cfg(all(target_os = "linux", not(feature = "simulated-mach")))]
    let backend = linux::LinuxBackend::woken_by(waker)?;
    #[cfg(target_os = "macos")]
    let backend = darwin::DarwinBackend::woken_by(darwin::system::System::new()?, waker)?;
    Ok(Box::new(backend))
}

/// Creates the backend for a core file, with the waker of the backend that it replaces.
///
/// # Errors
/// The system has no descriptors left.
pub(crate) fn core_backend(core: Core, waker: Waker) -> Result<Box<dyn Backend>, Error> {
    let host = live_backend_woken_by(waker)?;
    Ok(Box::new(post_mortem::PostMortem::new(core, host)))
}

/// Returns the usual name of a machine by its number in ELF files (`e_machine`).
fn machine_name(machine: u16) -> String {
    let name = match machine {
        3 => "x86",
        40 => "arm",
        62 => "x86_64",
        183 => "aarch64",
        243 => "riscv",
        other => return format!("ELF machine {other}"),
    };
    name.to_owned()
}
