//! Types by name, definitions of declared types, and enumerations by enumerator.

use crate::entries::constant::udata;
use crate::entries::units::flag;
use crate::ids::addr::FileAddr;
use crate::ids::source::SourceLocation;
use crate::ids::{DieRef, Language};
use crate::lines::DebugInfo;
use crate::module::Module;
use crate::names::functions::is_meant;
use crate::naming::{NameQuery, components};
use crate::types::TypeId;
use rayon::prelude::*;

/// Returns the position of a type's declaration.
pub(super) fn declaration_of(module: &Module, id: TypeId) -> Option<SourceLocation> {
    let info = module.info()?;
    let (unit, entry) = info.entry(id.0).ok()?;
    info.declaration(unit, &entry)
}

/// Returns the alignment that the source demands of a type or member (`alignas`).
pub(super) fn demanded_alignment(module: &Module, id: DieRef) -> Option<u64> {
    let (_, entry) = module.info()?.entry(id).ok()?;
    udata(&entry.attr_value(gimli::DW_AT_alignment)?)
}

/// Returns the enumeration with an enumerator of this name that needs no qualification, in the unit
/// that covers `near`.
pub(super) fn enumeration_with(module: &Module, name: &str, near: FileAddr) -> Option<TypeId> {
    let info = module.info()?;
    let unit = info.whole(info.unit_at(near.0)?)?;
    let mut entries = unit.raw.entries_raw(None).ok()?;
    let mut enumeration = None;
    while !entries.is_empty() {
        let offset = entries.next_offset();
        let Some(abbreviation) = entries.read_abbreviation().ok()? else {
            continue;
        };
        let (mut found, mut scoped) = (false, false);
        match abbreviation.tag() {
            gimli::DW_TAG_enumeration_type => {
                for spec in abbreviation.attributes() {
                    let attr = entries.read_attribute(*spec).ok()?;
                    scoped |= attr.name() == gimli::DW_AT_enum_class
                        && matches!(attr.value(), gimli::AttributeValue::Flag(true));
                }
                enumeration = (!scoped).then_some(offset);
            }
            gimli::DW_TAG_enumerator if enumeration.is_some() => {
                for spec in abbreviation.attributes() {
                    let attr = entries.read_attribute(*spec).ok()?;
                    found |= attr.name() == gimli::DW_AT_name
                        && info.string(unit, attr.value()) == Some(name.as_bytes());
                }
            }
            _ => entries.skip_attributes(abbreviation.attributes()).ok()?,
        }
        if found {
            return Some(TypeId(unit.die(enumeration?)));
        }
    }
    None
}

/// Returns the definition of a declared type.
pub(super) fn complete_type(module: &Module, id: TypeId) -> TypeId {
    let Some(info) = module.info() else {
        return id;
    };
    let Ok((unit, entry)) = info.entry(id.0) else {
        return id;
    };
    if !flag(&entry, gimli::DW_AT_declaration) {
        return id;
    }
    if let Some(definition) = entry
        .attr_value(gimli::DW_AT_signature)
        .and_then(|value| info.reference(unit, value))
    {
        return TypeId(definition);
    }
    let qualified = info.qualified_name_of(unit, &entry);
    if qualified.is_empty() {
        return id;
    }
    let query = NameQuery::new(&qualified);
    let Some(key) = query.key() else {
        return id;
    };
    // `struct` and `class` are interchangeable in declarations.
    let class = |tag| matches!(tag, gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type);
    let is_definition = |info: &DebugInfo, die: DieRef| {
        info.entry(die).is_ok_and(|(unit, candidate)| {
            let (wanted, tag) = (entry.tag(), candidate.tag());
            let may_match = || {
                let name = info.inherited_string(unit, &candidate, gimli::DW_AT_name);
                let may_end = |name| query.may_end(&String::from_utf8_lossy(name));
                unit.language == Language::Rust || name.is_some_and(may_end)
            };
            (tag == wanted || (class(tag) && class(wanted)))
                && !flag(&candidate, gimli::DW_AT_declaration)
                && may_match()
                && info.qualified_name_of(unit, &candidate) == qualified
        })
    };
    let look = |info: &DebugInfo, dies: Vec<DieRef>| -> Vec<DieRef> {
        let dies = dies.into_par_iter();
        dies.filter(|die| is_definition(info, *die)).collect()
    };
    let find = || {
        let found = module.find_names(|index| &index.types, key, Some(id.0.unit), look);
        let nearest = |die: &DieRef| (die.unit != id.0.unit, *die);
        found.into_iter().min_by_key(nearest).into_iter().collect()
    };
    let found = module.answers.definitions.answer(module, id.0, find);
    found.first().map_or(id, |die| TypeId(*die))
}

/// Returns types by name.
pub(super) fn types_named(module: &Module, name: &str, near: Option<u32>) -> Vec<TypeId> {
    let query = NameQuery::new(name);
    let Some(key) = query.key() else {
        return Vec::new();
    };
    // `struct node` does not match the typedef `node`.
    let tags: &[gimli::DwTag] = match name.trim_start().split(' ').next() {
        Some("struct" | "class") => &[gimli::DW_TAG_structure_type, gimli::DW_TAG_class_type],
        Some("union") => &[gimli::DW_TAG_union_type],
        Some("enum") => &[gimli::DW_TAG_enumeration_type],
        _ => &[],
    };
    // A name like `vector` has entries in most units. Scans of the units take longest, if they are
    // needed: see `is_meant`.
    let look = |info: &DebugInfo, dies: Vec<DieRef>| -> Vec<Candidate> {
        let candidates = dies.into_par_iter().filter_map(|die| {
            let (unit, entry) = info.entry(die).ok()?;
            if !tags.is_empty() && !tags.contains(&entry.tag()) {
                return None;
            }
            is_meant(info, &query, unit, &entry).then(|| Candidate {
                is_declaration: flag(&entry, gimli::DW_AT_declaration),
                is_elsewhere: Some(die.unit) != near,
                die,
            })
        });
        candidates.collect()
    };
    let mut found = module.find_names(|index| &index.types, key, near, look);
    found.sort_unstable();
    if let Some(info) = module.info() {
        put_exact_first(info, &query, &mut found);
    }
    found.into_iter().map(|it| TypeId(it.die)).collect()
}

/// A type that matches a name; the most likely one is the least.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    is_declaration: bool,
    is_elsewhere: bool,
    die: DieRef,
}

/// For `node`, puts the global type before `ns::node`, if both are among the most likely.
fn put_exact_first(info: &DebugInfo, query: &NameQuery, found: &mut [Candidate]) {
    let Some(first) = found.first() else {
        return;
    };
    let likely = (first.is_declaration, first.is_elsewhere);
    let end = found.partition_point(|it| (it.is_declaration, it.is_elsewhere) == likely);
    if let Some(likely @ [_, _, ..]) = found.get_mut(..end) {
        let is_longer =
            |it: &Candidate| components(&info.qualified_name(it.die)).len() > query.len();
        likely.par_sort_by_cached_key(|it| (is_longer(it), it.die));
    }
}
