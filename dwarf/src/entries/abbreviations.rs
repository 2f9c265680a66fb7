//! Abbreviation tables (DWARF 5 §7.5.3). Units that share a table share its parsed form.

use crate::file::R;
use gimli::{Abbreviations, DebugAbbrev, DebugAbbrevOffset, Reader as _, Section as _};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::{Arc, PoisonError, RwLock};

/// Parsed abbreviation tables of all files that have units of an image.
#[derive(Default)]
pub(crate) struct AbbreviationTables(RwLock<Tables>);

#[derive(Default)]
struct Tables {
    /// Tables by the address of the mapped section and the offset in it; `None` for a corrupt one.
    parsed: FxHashMap<(usize, usize), Option<Arc<Abbreviations>>>,
    /// Bytes parsed per section. Tables do not overlap, so the sum is at most the section's size.
    /// The bound stops a file whose units all refer into nearly the whole section.
    consumed: FxHashMap<usize, usize>,
    /// Tables that were parsed and then evicted.
    forgotten: FxHashSet<(usize, usize)>,
    /// Bytes parsed again after an eviction.
    again: usize,
}

impl AbbreviationTables {
    /// Returns the table at an offset, and parses it if needed.
    pub(crate) fn get(
        &self,
        section: &DebugAbbrev<R>,
        offset: DebugAbbrevOffset<usize>,
    ) -> Result<Arc<Abbreviations>, gimli::Error> {
        const CORRUPT: gimli::Error = gimli::Error::InvalidAbbreviationCode(0);
        let bytes = section.reader().slice();
        let place = bytes.as_ptr().addr();
        let key = (place, offset.0);
        let tables = self.0.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = tables.parsed.get(&key) {
            return known.clone().ok_or(CORRUPT);
        }
        let again = tables.forgotten.contains(&key);
        let consumed = tables.consumed.get(&place);
        if !again && consumed.is_some_and(|consumed| *consumed > bytes.len()) {
            tracing::debug!(offset = offset.0, "abbreviation tables overlap");
            return Err(CORRUPT);
        }
        drop(tables);
        let parsed = section.abbreviations(offset).map(Arc::new);
        let rest = bytes.get(offset.0..).unwrap_or(&[]);
        let length = length(R::new(rest, gimli::LittleEndian)).unwrap_or(rest.len());
        let mut tables = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let known = tables.parsed.insert(key, parsed.as_ref().ok().cloned());
        if tables.forgotten.remove(&key) {
            tables.again = tables.again.saturating_add(length);
        } else if known.is_none() && !again {
            *tables.consumed.entry(place).or_default() += length;
        }
        parsed
    }

    /// Evicts a table, unless units share so many tables that keeping them is cheaper: at most one
    /// section's size is parsed again.
    pub(crate) fn forget(&self, section: &DebugAbbrev<R>, offset: DebugAbbrevOffset<usize>) {
        let bytes = section.reader().slice();
        let key = (bytes.as_ptr().addr(), offset.0);
        let mut tables = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if tables.again <= bytes.len() && tables.parsed.remove(&key).is_some() {
            tables.forgotten.insert(key);
        }
    }
}

/// Returns the size in bytes of the table at the start of `rest`.
fn length(mut rest: R) -> Result<usize, gimli::Error> {
    let size = rest.len();
    while rest.read_uleb128()? != 0 {
        let _tag = rest.read_uleb128()?;
        let _has_children = rest.read_u8()?;
        loop {
            let attribute = (rest.read_uleb128()?, rest.read_uleb128()?);
            if attribute == (0, 0) {
                break;
            }
            if attribute.1 == u64::from(gimli::DW_FORM_implicit_const.0) {
                rest.read_sleb128()?;
            }
        }
    }
    Ok(size - rest.len())
}
