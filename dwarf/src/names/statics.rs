//! Variables with static storage, by name and by unit.

use crate::entries::units::flag;
use crate::functions::variable::{Variable, VariableKind};
use crate::ids::DieRef;
use crate::ids::addr::FileAddr;
use crate::lines::DebugInfo;
use crate::module::Module;
use crate::names::{VisiblePaths, thread_local};
use crate::naming::{Key, NameQuery};
use crate::types::Member;

/// Returns the variables with static storage of the unit that covers `addr`.
pub(super) fn unit_statics(module: &Module, addr: FileAddr) -> Vec<Variable> {
    let Some(info) = module.info() else {
        return Vec::new();
    };
    let Some(unit) = info.unit_at(addr.0).and_then(|unit| info.whole(unit)) else {
        return Vec::new();
    };
    info.scan(unit)
        .statics
        .iter()
        .filter_map(|offset| {
            let entry = info.entry_in(unit, u64::from(*offset)).ok()?;
            let defined = info
                .inherited(unit, &entry, gimli::DW_AT_location)
                .is_some()
                || info.constant_of(unit, &entry).is_some();
            if flag(&entry, gimli::DW_AT_declaration) {
                return None;
            }
            let variable = info.read_variable(unit, &entry, VariableKind::Static)?;
            if !defined && module.thread_local_offset(&variable).is_none() {
                return None;
            }
            thread_local::as_declared(module, info, unit, &entry, variable)
        })
        .collect()
}

/// Returns whether the unit that covers `addr` has variables with static storage.
pub(super) fn has_unit_statics(module: &Module, addr: FileAddr) -> bool {
    let unit = |info: &'_ DebugInfo| -> Option<bool> {
        let unit = info.whole(info.unit_at(addr.0)?)?;
        Some(!info.scan(unit).statics.is_empty())
    };
    module.info().and_then(unit).unwrap_or(false)
}

/// Returns static variables by name.
pub(super) fn statics_named(module: &Module, name: &str, near: Option<FileAddr>) -> Vec<Variable> {
    let query = NameQuery::new(name);
    let Some(key) = query.key() else {
        return Vec::new();
    };
    let near = unit_near(module, near);
    let look = |info: &DebugInfo, mut dies: Vec<DieRef>| {
        dies.retain(|die| query.matches(&info.qualified_name(*die)) && !in_function(info, *die));
        dies.sort_by_cached_key(|die| (is_removed(info, *die), Some(die.unit) != near));
        dies.into_iter()
            .filter_map(|die| {
                let (unit, entry) = info.entry(die).ok()?;
                info.read_variable(unit, &entry, VariableKind::Static)
            })
            .collect()
    };
    let found = module.find_names(|index| &index.statics, key, near, look);
    match found.is_empty() {
        true => thread_local::named(module, &query, near),
        false => found,
    }
}

/// A variable with static storage, and how it is seen from a place.
#[derive(Clone, Debug)]
pub struct VisibleVariable {
    /// The variable.
    pub variable: Variable,
    /// Whether the name means it by the language's rules: it is in a scope that is visible, and it
    /// is of the unit of the place or has external linkage.
    pub is_visible: bool,
}

/// Returns static variables by name, and whether each is visible ([`VisibleVariable`]). The variables that
/// the name means at a place come first.
pub(super) fn statics_visible(
    module: &Module,
    name: &str,
    paths: &VisiblePaths,
    near: Option<u32>,
) -> Vec<(Variable, bool)> {
    let query = NameQuery::new(name);
    let query = query.without_keywords_of_rust();
    let Some(key) = query.key() else {
        return Vec::new();
    };
    let look = |info: &DebugInfo, dies: Vec<DieRef>| {
        let mut found: Vec<_> = dies
            .into_iter()
            .filter(|die| !in_function(info, *die))
            .filter_map(|die| {
                let rank = paths.rank(info, die);
                if rank.is_none() && !query.matches(&info.qualified_name(die)) {
                    return None;
                }
                let (unit, entry) = info.entry(die).ok()?;
                let is_external = info
                    .inherited(unit, &entry, gimli::DW_AT_external)
                    .is_some();
                let is_here = Some(die.unit) == near;
                let rank = rank.unwrap_or(usize::MAX);
                let order = (
                    rank,
                    info.is_removed(unit, &entry),
                    !is_here,
                    !is_external,
                    die,
                );
                Some((order, die))
            })
            .collect();
        found.sort_unstable();
        let found = found.into_iter().filter_map(|(order, die)| {
            let (rank, _, is_elsewhere, is_internal, _) = order;
            let (unit, entry) = info.entry(die).ok()?;
            let variable = info.read_variable(unit, &entry, VariableKind::Static)?;
            let is_visible = rank != usize::MAX && !(is_elsewhere && is_internal);
            Some((variable, is_visible))
        });
        found.collect()
    };
    let found: Vec<(Variable, bool)> = module.find_names(|index| &index.statics, key, near, look);
    if !found.is_empty() {
        return found;
    }
    let found = thread_local::named(module, &query, near).into_iter();
    found.map(|variable| (variable, true)).collect()
}

pub(super) fn unit_near(module: &Module, addr: Option<FileAddr>) -> Option<u32> {
    module.info()?.unit_at(addr?.0)
}

/// Returns whether the linker removed a variable.
fn is_removed(info: &DebugInfo, die: DieRef) -> bool {
    let entry = info.entry(die);
    entry.is_ok_and(|(unit, entry)| info.is_removed(unit, &entry))
}

/// Returns whether an entry is inside a function.
pub(crate) fn in_function(info: &DebugInfo, die: DieRef) -> bool {
    let is_function = |die: DieRef| {
        let entry = info.entry(die);
        entry.is_ok_and(|(_, entry)| entry.tag() == gimli::DW_TAG_subprogram)
    };
    // Parents come before their children, so this ends.
    std::iter::successors(info.parent(die), |die| info.parent(*die)).any(is_function)
}

/// Returns the definition of a static data member; its declaration, if another module defines it.
pub(super) fn static_member(module: &Module, member: &Member) -> Option<Variable> {
    let info = module.info()?;
    let (unit, entry) = info.entry(member.id).ok()?;
    // A constant may be complete in its declaration.
    if info.constant_of(unit, &entry).is_some() || entry.has_attr(gimli::DW_AT_location) {
        return info.read_variable(unit, &entry, VariableKind::Static);
    }
    let qualified = info.qualified_name_of(unit, &entry);
    let query = NameQuery::new(&qualified);
    let key = query.key()?;
    let look = |info: &DebugInfo, mut dies: Vec<DieRef>| {
        dies.retain(|die| {
            info.root_origin(*die) == member.id || info.qualified_name(*die) == qualified
        });
        dies
    };
    let near = Some(member.id.unit);
    let mut found = module.find_names(|index| &index.statics, key, near, look);
    found.sort_by_key(|die| info.root_origin(*die) != member.id);
    let (unit, entry) = info.entry(*found.first().unwrap_or(&member.id)).ok()?;
    info.read_variable(unit, &entry, VariableKind::Static)
}

/// Returns a variable with its value, of which an entry is only the description: gcc's link-time
/// optimization leaves descriptions in units without code, and adds units with what was linked.
pub(crate) fn linked(module: &Module, info: &DebugInfo, die: DieRef) -> Option<Variable> {
    let (unit, entry) = info.entry(die).ok()?;
    let unit_entry = unit.raw.entry(unit.raw.header.root_offset()).ok()?;
    if unit_entry.has_attr(gimli::DW_AT_low_pc) || unit_entry.has_attr(gimli::DW_AT_ranges) {
        return None;
    }
    let name = info.inherited_string(unit, &entry, gimli::DW_AT_name)?;
    let name = String::from_utf8_lossy(name);
    let root = info.root_origin(die);
    let look = |info: &DebugInfo, mut dies: Vec<DieRef>| {
        let has_value = |found: &DieRef| {
            info.entry(*found).is_ok_and(|(unit, entry)| {
                let place = info.inherited(unit, &entry, gimli::DW_AT_location);
                place.is_some() || info.constant_of(unit, &entry).is_some()
            })
        };
        dies.retain(|found| info.root_origin(*found) == root && has_value(found));
        dies
    };
    let key = Key::of(&name);
    let found = module.find_names(|index| &index.statics, key, Some(die.unit), look);
    let (unit, entry) = info.entry(*found.first()?).ok()?;
    info.read_variable(unit, &entry, VariableKind::Static)
}
