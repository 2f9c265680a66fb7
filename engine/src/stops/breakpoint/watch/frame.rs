//! The frame that a data breakpoint was set in: its condition is evaluated there, in whatever frame
//! the data was accessed. Only names that this frame lacks are looked up in the accessing one.

use crate::ids::ThreadId;
use dwarf::{DieRef, LoadAddr};

/// Maximum number of frames searched for it.
pub(crate) const MAX_FRAMES: usize = 1 << 12;

/// A frame, identified while it is on its thread's stack.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct OwnFrame {
    pub(crate) thread: ThreadId,
    /// Its canonical frame address.
    pub(crate) cfa: LoadAddr,
    /// The entry of its function, or of the inlined one.
    pub(crate) scope: DieRef,
    /// Its address in the code, and the number of inlined calls inside it.
    pub(crate) code: LoadAddr,
    pub(crate) depth: usize,
    pub(crate) name: String,
}
