//! Memory limits for data kept from debug info. Any number of entries can share one long name,
//! range list or table, so memory is limited in proportion to the bytes of the file that were read
//! for it.

use crate::entries::units::Entry;
use crate::ids::error::Error;
use gimli::UnitOffset;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Limit on memory per byte of the entries that a function or type is read from. Compilers' output
/// needs less than a tenth of it.
const PER_BYTE: usize = 1024;

/// Memory budget for one function or type, or for the functions of a unit.
#[derive(Default)]
pub(crate) struct EntryBudget {
    start: usize,
    taken: usize,
}

impl EntryBudget {
    /// Returns the budget for data read from an entry and the entries below it.
    pub(crate) fn of(entry: &Entry) -> EntryBudget {
        EntryBudget {
            start: entry.offset().0,
            taken: 0,
        }
    }

    /// Charges memory for data read from the entry at `here`.
    pub(crate) fn take(&mut self, here: UnitOffset<usize>, bytes: usize) -> Result<(), Error> {
        self.taken = self.taken.saturating_add(bytes);
        // Every entry accounts for a few bytes.
        let read = here.0.saturating_sub(self.start).saturating_add(16);
        if self.taken > read.saturating_mul(PER_BYTE) {
            return Err(Error::Limit(format!(
                "entries {:#x} to {:#x} of their unit need too much memory for their size",
                self.start, here.0
            )));
        }
        Ok(())
    }
}

/// Bytes of a section read so far. Its parts do not overlap, so the sum can exceed the section's
/// size only in a corrupt file.
#[derive(Default)]
pub(crate) struct SectionBytesRead(AtomicUsize);

impl SectionBytesRead {
    /// Returns whether more has been read than a section of `size` bytes can have.
    pub(crate) fn is_all(&self, size: usize) -> bool {
        self.0.load(Ordering::Relaxed) > size
    }

    /// Adds the size of a part that was read.
    pub(crate) fn add(&self, bytes: usize) {
        self.0.fetch_add(bytes, Ordering::Relaxed);
    }
}
