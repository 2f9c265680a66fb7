//! Recordings in files: they outlive the program, and are replayed on machines of the same kind.
//!
//! A file (`format`) has the log, images of the process at some places (`image`), and the files that the
//! program has mapped (`kept`). All memory in it is pages, each content once (`pages`). `capture` makes images of
//! snapshots, `save` chooses which; `restore` makes processes of them, from which replays begin as from any
//! snapshot, and `end` that where the recording ends, with all threads. What is read may be hostile: it is bounded. But a replay executes the code that is in the file.

mod capture;
mod end;
mod format;
mod image;
mod kept;
mod machine;
mod opened;
mod pages;
mod restore;
mod save;
#[cfg(test)]
mod tests;
mod unnamed;

pub use end::EndProcess;
pub use format::OpenError;
pub use kept::index_of;
pub use opened::{Opened, log_of};
pub use pages::{PAGE, is_zero};
pub use save::{EndPlace, Source, save};

use super::bounded;
use super::threads::names::MOST as MOST_NAMES;
use crate::os::thread_state::SIGNAL_BYTES;
use machine::Machine;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;

/// What a recording says of itself.
#[derive(Serialize, Deserialize)]
struct Header {
    machine: Machine,
    /// The program's file.
    program: OsString,
    arguments: Vec<OsString>,
    /// `NAME=VALUE`.
    environment: Vec<OsString>,
    end: End,
    /// The id that its process had.
    process: i32,
    /// The names of its threads, by their ids.
    #[serde(deserialize_with = "bounded::list::<_, _, _, MOST_NAMES>")]
    names: Vec<(i32, String)>,
    /// The number of parts that the log has.
    log_parts: usize,
}

/// Why the program is where a recording ends.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum End {
    /// It was about to exit with this code.
    Exiting(i32),
    /// This signal would have ended it.
    Signal {
        number: i32,
        /// The signal's description, as the kernel has it.
        info: Vec<u8>,
    },
    /// The debugger had stopped it.
    Stopped,
    /// This signal had ended it, where nothing was recorded.
    Killed(i32),
    /// The recording had ended before the program, for this reason.
    Early(String),
}

impl End {
    /// Returns the description of its signal.
    fn info(&self) -> Option<[u8; SIGNAL_BYTES]> {
        match self {
            End::Signal { info, .. } => info.as_slice().try_into().ok(),
            _ => None,
        }
    }
}
