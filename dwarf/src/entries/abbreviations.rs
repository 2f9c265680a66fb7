//! Abbreviation tables (DWARF 5 §7.5.3), each parsed once, however many units share it.

use crate::file::R;
use gimli::{Abbreviations, DebugAbbrev, DebugAbbrevOffset, Reader as _, Section as _};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::{Arc, PoisonError, RwLock};

/// The tables of all files that an image's units are in.
#[derive(Default)]
pub(crate) struct AbbreviationTables(RwLock<Tables>);

#[derive(Default)]
struct Tables {
    /// By where the section lies in memory, and the offset in it; `None` is a corrupt one.
    parsed: FxHashMap<(usize, usize), Option<Arc<Abbreviations>>>,
    /// Bytes of each section that were parsed. Tables do not overlap, so that is never more
    /// than the section has, or each of many units could mean nearly all of it.
    consumed: FxHashMap<usize, usize>,
    /// Those that were parsed and forgotten.
    forgotten: FxHashSet<(usize, usize)>,
    /// Bytes that were parsed again for that.
    again: usize,
}

impl AbbreviationTables {
    /// The table at an offset.
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

    /// Keeps a table no longer, unless units share so many that it is worth its memory: what is
    /// parsed again is never more than the section.
    pub(crate) fn forget(&self, section: &DebugAbbrev<R>, offset: DebugAbbrevOffset<usize>) {
        let bytes = section.reader().slice();
        let key = (bytes.as_ptr().addr(), offset.0);
        let mut tables = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if tables.again <= bytes.len() && tables.parsed.remove(&key).is_some() {
            tables.forgotten.insert(key);
        }
    }
}

/// Bytes of the table that `rest` begins with.
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
