//! Units that import others (`DW_TAG_imported_unit`): dwz puts entries that several units, or several files,
//! share into partial units. These do not tell their language; the units that import them do (DWARF 5 §3.2.5).

use crate::entries::units::{Entries, Entry, Unit, Value};
use crate::file::R;
use crate::ids::Language;
use rustc_hash::FxHashMap;

/// Maximum number of imported units whose names are looked up for a unit.
pub(crate) const MAX_IMPORTED: usize = 128;

/// The beginning of a unit: its language, and the units that it imports.
struct Head {
    language: Option<Language>,
    imported: Vec<u32>,
}

impl Entries {
    /// Returns the language of a unit that does not tell it. The first call reads the beginning of every
    /// unit.
    pub(super) fn language_of_importers(&self, unit: u32) -> Language {
        // No tool makes such units of object files of Mach-O.
        if self.objects.is_some() {
            return Language::C;
        }
        let known = self.importers.get_or_init(|| self.read_importers());
        known.get(&unit).copied().unwrap_or_default()
    }

    fn read_importers(&self) -> FxHashMap<u32, Language> {
        let mut known: FxHashMap<u32, Language> = FxHashMap::default();
        let mut left: Vec<(u32, Language)> = Vec::new();
        let mut imports: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
        for unit in self.main.units() {
            let Some(head) = self.head_of(unit) else {
                continue;
            };
            let language = head.language;
            left.extend(language.into_iter().flat_map(|it| {
                let imported = head.imported.iter();
                imported.map(move |unit| (*unit, it))
            }));
            if language.is_none() && !head.imported.is_empty() {
                imports.insert(unit, head.imported);
            }
        }
        while let Some((unit, language)) = left.pop() {
            // A unit that C and another language import is C: it has neither namespaces nor classes.
            let is_news = match known.get(&unit) {
                None => true,
                Some(Language::C) => language != Language::C,
                Some(_) => false,
            };
            if is_news {
                known.insert(unit, language);
                let next = imports.get(&unit).into_iter().flatten();
                left.extend(next.map(|unit| (*unit, language)));
            }
        }
        known
    }

    /// Reads the root of a unit, and the imports, with which its children begin.
    fn head_of(&self, unit: u32) -> Option<Head> {
        let header = self.header(unit)?;
        let is_supplementary = self.main.is_supplementary(unit);
        let section = &self.sections(unit, is_supplementary).debug_abbrev;
        let offset = header.debug_abbrev_offset();
        let abbreviations = self.abbreviations.get(section, offset).ok()?;
        let mut entries = header.entries_raw(&abbreviations, None).ok()?;
        let mut entry = Entry::null();
        entries.read_entry(&mut entry).ok()?;
        let head = Head {
            language: match entry.attr_value(gimli::DW_AT_language) {
                Some(Value::Language(language)) => Some(super::root::language_of(language.0)),
                // Another unit without a language is one of C.
                _ if entry.tag() != gimli::DW_TAG_partial_unit => Some(Language::C),
                _ => None,
            },
            imported: self.imports(&mut entries, &entry, is_supplementary),
        };
        self.abbreviations.forget(section, offset);
        Some(head)
    }

    /// Reads the imports behind the root of a unit.
    fn imports(
        &self,
        entries: &mut gimli::EntriesRaw<'_, R>,
        root: &Entry,
        is_supplementary: bool,
    ) -> Vec<u32> {
        let mut imported = Vec::new();
        let mut entry = Entry::null();
        while root.has_children()
            && !entries.is_empty()
            && entries.read_entry(&mut entry).is_ok()
            && entry.tag() == gimli::DW_TAG_imported_unit
        {
            let at = match entry.attr_value(gimli::DW_AT_import) {
                Some(Value::DebugInfoRef(at)) => self.main.info_entry(at.0, is_supplementary),
                Some(Value::DebugInfoRefSup(at)) => self.main.info_entry(at.0, true),
                _ => None,
            };
            imported.extend(at.map(|it| it.unit));
        }
        imported
    }

    /// Returns the units that a unit imports, and those that they import, at most [`MAX_IMPORTED`]: what
    /// they declare, the unit declares.
    pub(crate) fn imported_by(&self, unit: &Unit) -> Vec<u32> {
        let mut all = self.imports_of(unit);
        let mut at = 0;
        while let Some(next) = all.get(at).copied() {
            at += 1;
            if all.len() >= MAX_IMPORTED {
                tracing::debug!(unit = unit.index, "too many imported units");
                all.truncate(MAX_IMPORTED);
                break;
            }
            let more = self.unit(next).map(|it| self.imports_of(it));
            let mut more = more.unwrap_or_default();
            more.retain(|it| *it != unit.index && !all.contains(it));
            all.extend(more);
        }
        all
    }

    fn imports_of(&self, unit: &Unit) -> Vec<u32> {
        if self.objects.is_some() {
            return Vec::new();
        }
        let Ok(mut entries) = unit.raw.entries_raw(None) else {
            return Vec::new();
        };
        let mut root = Entry::null();
        match entries.read_entry(&mut root) {
            Ok(_) => self.imports(&mut entries, &root, unit.supplementary),
            Err(_) => Vec::new(),
        }
    }
}
