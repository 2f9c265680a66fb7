//! Iteration over the children of an entry.

use crate::entries::budget::EntryBudget;
use crate::entries::units::{Entry, Unit};
use crate::file::R;
use crate::ids::error::Error;
use gimli::EntriesRaw;

/// Iterates over the children of an entry. It skips their descendants unless the caller descends
/// into a child.
pub(crate) struct Children<'a> {
    entries: EntriesRaw<'a, R>,
    level: isize,
    entry: Entry,
    allowance: EntryBudget,
}

impl<'a> Children<'a> {
    pub(crate) fn of(unit: &'a Unit, parent: &Entry) -> Result<Option<Children<'a>>, gimli::Error> {
        if !parent.has_children() {
            return Ok(None);
        }
        let mut entries = unit.raw.entries_raw(Some(parent.offset()))?;
        let mut entry = Entry::null();
        entries.read_entry(&mut entry)?;
        let level = entries.next_depth();
        Ok(Some(Children {
            entries,
            level,
            entry,
            allowance: EntryBudget::of(parent),
        }))
    }

    /// Charges memory for data read from the last child.
    pub(crate) fn take(&mut self, bytes: usize) -> Result<(), Error> {
        self.allowance.take(self.entry.offset(), bytes)
    }

    pub(crate) fn next(&mut self) -> Result<Option<&Entry>, gimli::Error> {
        while !self.entries.is_empty() {
            let depth = self.entries.next_depth();
            if depth < self.level {
                return Ok(None);
            }
            let real = self.entries.read_entry(&mut self.entry)?;
            if depth == self.level {
                return Ok(real.then_some(&self.entry));
            }
        }
        Ok(None)
    }
}
