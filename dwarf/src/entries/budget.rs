//! What may be kept of debug info. A file can have any number of entries share one long name,
//! range list or table, so what is kept is measured by what the file has of its own for it.

use crate::entries::units::Entry;
use crate::ids::error::Error;
use gimli::UnitOffset;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes of memory for each byte of entries that a function or type is read from. Honest ones
/// take less than a tenth of that.
const PER_BYTE: usize = 1024;

/// Memory for one function or type, or for the functions of a unit.
#[derive(Default)]
pub(crate) struct Allowance {
    start: usize,
    taken: usize,
}

impl Allowance {
    /// For what is read from an entry and those below it.
    pub(crate) fn of(entry: &Entry) -> Allowance {
        Allowance {
            start: entry.offset().0,
            taken: 0,
        }
    }

    /// Takes memory for what the entry at `here` told.
    pub(crate) fn take(&mut self, here: UnitOffset<usize>, bytes: usize) -> Result<(), Error> {
        self.taken = self.taken.saturating_add(bytes);
        // Each entry has a few bytes itself.
        let read = here.0.saturating_sub(self.start).saturating_add(16);
        if self.taken > read.saturating_mul(PER_BYTE) {
            return Err(Error::Limit(format!(
                "the entries from {:#x} to {:#x} of their unit refer to more than they can mean",
                self.start, here.0
            )));
        }
        Ok(())
    }
}

/// Bytes of a section that were read so far. Its parts do not overlap, so all together they are
/// never more than the section.
#[derive(Default)]
pub(crate) struct Consumed(AtomicUsize);

impl Consumed {
    /// Whether there can be more of a section of `size` bytes.
    pub(crate) fn is_all(&self, size: usize) -> bool {
        self.0.load(Ordering::Relaxed) > size
    }

    /// Counts a part of it.
    pub(crate) fn add(&self, bytes: usize) {
        self.0.fetch_add(bytes, Ordering::Relaxed);
    }
}
