//! Reading a unit: its root entry, and from it what the other entries depend on.

use crate::entries::split::{SplitUnit, UnitStorage};
use crate::entries::units::{Entries, Unit, Value};
use crate::file::R;
use crate::ids::Language;
use gimli::{
    DebugAddrBase, DebugLocListsBase, DebugRngListsBase, DebugStrOffsetsBase, UnitHeader, UnitType,
};
use std::sync::OnceLock;

impl Entries {
    /// Reads a unit as `gimli::Unit::new` does, without the header of the line program, which is
    /// not needed here and could be corrupt. A unit of a split file may have a skeleton.
    pub(crate) fn read_root(
        &self,
        index: u32,
        header: UnitHeader<R>,
        supplementary: bool,
        part: Option<SplitUnit>,
        skeleton: Option<&Unit>,
    ) -> Result<Unit, gimli::Error> {
        let dwarf = match &part {
            Some(part) => part.dwarf(),
            None => self.sections(index, supplementary),
        };
        let offset = header.debug_abbrev_offset();
        let abbreviations = self.abbreviations.get(&dwarf.debug_abbrev, offset)?;
        let mut raw = gimli::Unit {
            abbreviations,
            name: None,
            comp_dir: None,
            low_pc: 0,
            str_offsets_base: DebugStrOffsetsBase::default_for_encoding_and_file(
                header.encoding(),
                dwarf.file_type,
            ),
            addr_base: DebugAddrBase(0),
            loclists_base: DebugLocListsBase::default_for_encoding_and_file(
                header.encoding(),
                dwarf.file_type,
            ),
            rnglists_base: DebugRngListsBase::default_for_encoding_and_file(
                header.encoding(),
                dwarf.file_type,
            ),
            line_program: None,
            dwo_id: match header.type_() {
                UnitType::Skeleton(id) | UnitType::SplitCompilation(id) => Some(id),
                _ => None,
            },
            header,
        };
        if let Some(skeleton) = skeleton {
            raw.copy_relocated_attributes(&skeleton.raw);
            raw.comp_dir = skeleton.raw.comp_dir;
        }
        let root = raw.entry(header.root_offset())?;
        let (mut stmt_list, mut has_macros) = (None, false);
        for attr in root.attrs() {
            match (attr.name(), attr.value()) {
                (gimli::DW_AT_macros | gimli::DW_AT_GNU_macros | gimli::DW_AT_macro_info, _) => {
                    has_macros = true
                }
                (gimli::DW_AT_stmt_list, Value::DebugLineRef(offset)) => stmt_list = Some(offset.0),
                (gimli::DW_AT_str_offsets_base, Value::DebugStrOffsetsBase(base)) => {
                    raw.str_offsets_base = base;
                }
                (
                    gimli::DW_AT_addr_base | gimli::DW_AT_GNU_addr_base,
                    Value::DebugAddrBase(base),
                ) => raw.addr_base = base,
                (gimli::DW_AT_loclists_base, Value::DebugLocListsBase(base)) => {
                    raw.loclists_base = base;
                }
                (
                    gimli::DW_AT_rnglists_base | gimli::DW_AT_GNU_ranges_base,
                    Value::DebugRngListsBase(base),
                ) => raw.rnglists_base = base,
                _ => {}
            }
        }
        let string = |raw: &gimli::Unit<R>, at| {
            root.attr_value(at)
                .and_then(|value| dwarf.attr_string(raw, value).ok())
        };
        raw.name = string(&raw, gimli::DW_AT_name);
        raw.comp_dir = string(&raw, gimli::DW_AT_comp_dir).or(raw.comp_dir);
        let producer = string(&raw, gimli::DW_AT_producer);
        if let Some(value) = root.attr_value(gimli::DW_AT_low_pc)
            && let Ok(Some(addr)) = dwarf.attr_address(&raw, value)
        {
            raw.low_pc = addr;
        }
        let language = match root.attr_value(gimli::DW_AT_language) {
            Some(Value::Language(language)) => language_of(language.0),
            _ if root.tag() == gimli::DW_TAG_partial_unit => self.language_of_importers(index),
            _ => Language::C,
        };
        let optimized = root.attr_value(gimli::DW_AT_APPLE_optimized).is_some()
            || producer.is_some_and(|producer| is_optimized(producer.slice()));
        let split = match part {
            Some(part) => UnitStorage::SplitUnit(part),
            // No compiler splits the debug info of object files of Mach-O.
            None if self.objects.is_some() => UnitStorage::No,
            None => UnitStorage::of_root(&root, &raw, dwarf),
        };
        Ok(Unit {
            index,
            raw,
            supplementary,
            split,
            tag: match root.tag() {
                gimli::DW_TAG_skeleton_unit => gimli::DW_TAG_compile_unit,
                tag => tag,
            },
            language,
            optimized,
            stmt_list,
            has_macros,
            scan: OnceLock::new(),
            bare_templates: OnceLock::new(),
            held_unaligned: OnceLock::new(),
        })
    }
}

/// Maps `DW_LANG_*` (DWARF 5 table 7.17 and its later registry).
pub(super) fn language_of(language: u16) -> Language {
    match language {
        // Objective-C++ (0x11) is C++ with more, as Objective-C is C.
        0x04 | 0x11 | 0x19 | 0x1a | 0x21 | 0x2a | 0x2b | 0x3a => Language::Cpp,
        0x1c => Language::Rust,
        _ => Language::C,
    }
}

/// Returns whether the last `-O` in the producer string enables optimization. gcc (and clang with
/// `-grecord-command-line`) put the flags there.
fn is_optimized(producer: &[u8]) -> bool {
    producer
        .split(|byte| *byte == b' ')
        .rfind(|word| word.starts_with(b"-O"))
        .is_some_and(|word| word != b"-O0")
}
