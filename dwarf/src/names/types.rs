//! Types by name, definitions of declared types, and enumerations by enumerator.

use crate::entries::units::flag;
use crate::ids::DieRef;
use crate::ids::addr::FileAddr;
use crate::ids::source::SourceLocation;
use crate::lines::DebugInfo;
use crate::module::Module;
use crate::names::statics::unit_near;
use crate::naming::NameQuery;
use crate::types::TypeId;

/// Returns the position of a type's declaration.
pub(super) fn declaration_of(module: &Module, id: TypeId) -> Option<SourceLocation> {
    let info = module.info()?;
    let (unit, entry) = info.entry(id.0).ok()?;
    info.declaration(unit, &entry)
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
    let look = |info: &DebugInfo, mut dies: Vec<DieRef>| {
        dies.retain(|die| {
            info.entry(*die).is_ok_and(|(unit, candidate)| {
                let (wanted, tag) = (entry.tag(), candidate.tag());
                (tag == wanted || (class(tag) && class(wanted)))
                    && !flag(&candidate, gimli::DW_AT_declaration)
                    && info.qualified_name_of(unit, &candidate) == qualified
            })
        });
        dies
    };
    module
        .find_names(|index| &index.types, key, Some(id.0.unit), look)
        .into_iter()
        .min_by_key(|die| (die.unit != id.0.unit, *die))
        .map_or(id, TypeId)
}

/// Returns types by name.
pub(super) fn types_named(module: &Module, name: &str, near: Option<FileAddr>) -> Vec<TypeId> {
    let query = NameQuery::new(name);
    let Some(key) = query.key() else {
        return Vec::new();
    };
    let near = unit_near(module, near);
    // `struct node` does not match the typedef `node`.
    let tags: &[gimli::DwTag] = match name.trim_start().split(' ').next() {
        Some("struct" | "class") => &[gimli::DW_TAG_structure_type, gimli::DW_TAG_class_type],
        Some("union") => &[gimli::DW_TAG_union_type],
        Some("enum") => &[gimli::DW_TAG_enumeration_type],
        _ => &[],
    };
    let look = |info: &DebugInfo, dies: Vec<DieRef>| -> Vec<(bool, bool, bool, DieRef)> {
        dies.into_iter()
            .filter_map(|die| {
                let (unit, entry) = info.entry(die).ok()?;
                if !tags.is_empty() && !tags.contains(&entry.tag()) {
                    return None;
                }
                let qualified = info.qualified_name_of(unit, &entry);
                query.matches(&qualified).then(|| {
                    (
                        flag(&entry, gimli::DW_AT_declaration),
                        Some(die.unit) != near,
                        // For `node`, the global type comes before `ns::node`.
                        qualified.len() != name.len(),
                        die,
                    )
                })
            })
            .collect()
    };
    let mut found = module.find_names(|index| &index.types, key, near, look);
    found.sort_unstable();
    found.into_iter().map(|(.., die)| TypeId(die)).collect()
}
