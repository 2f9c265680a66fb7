//! Entries of call sites: the calls and jumps of a function (DWARF 5 §3.4).

use crate::entries::units::{Entry, Unit, flag};
use crate::functions::Function;
use crate::ids::DieRef;
use crate::ids::addr::FileAddr;
use crate::ids::error::Error;
use crate::lines::DebugInfo;
use gimli::UnitOffset;
use std::ops::ControlFlow;

/// An entry of a call site.
pub(super) enum SiteEntry<'a> {
    /// The call site itself.
    Site(&'a Entry),
    /// A parameter of the last site.
    Parameter(&'a Entry),
}

/// Calls `visit` with the call sites of a function, including those in inlined calls, each followed
/// by its parameters. Returns the value that `visit` breaks with; `None` if it never does.
pub(super) fn walk<T>(
    unit: &Unit,
    function: DieRef,
    mut visit: impl FnMut(SiteEntry<'_>) -> ControlFlow<T>,
) -> Result<Option<T>, Error> {
    let start = UnitOffset(function.offset as usize);
    let mut entries = unit.raw.entries_raw(Some(start))?;
    let mut entry = Entry::null();
    entries.read_entry(&mut entry)?;
    if !entry.has_children() {
        return Ok(None);
    }
    let mut site_depth = None;
    while !entries.is_empty() && entries.next_depth() > 0 {
        let depth = entries.next_depth();
        if !entries.read_entry(&mut entry)? {
            continue;
        }
        let visited = match entry.tag() {
            gimli::DW_TAG_call_site | gimli::DW_TAG_GNU_call_site => {
                site_depth = Some(depth);
                SiteEntry::Site(&entry)
            }
            gimli::DW_TAG_call_site_parameter | gimli::DW_TAG_GNU_call_site_parameter
                if site_depth == Some(depth - 1) =>
            {
                SiteEntry::Parameter(&entry)
            }
            _ => continue,
        };
        if let ControlFlow::Break(value) = visit(visited) {
            return Ok(Some(value));
        }
    }
    Ok(None)
}

/// Returns the function that a call site names; `None` for a call through a pointer.
pub(super) fn target(info: &DebugInfo, unit: &Unit, site: &Entry) -> Option<DieRef> {
    let target = site
        .attr_value(gimli::DW_AT_call_origin)
        .or_else(|| site.attr_value(gimli::DW_AT_abstract_origin))?;
    info.reference(unit, target)
}

/// Returns the address that a call returns to. For a jump, gcc records the address after it.
pub(super) fn return_address(info: &DebugInfo, unit: &Unit, site: &Entry) -> Option<FileAddr> {
    let address = site
        .attr_value(gimli::DW_AT_call_return_pc)
        .or_else(|| site.attr_value(gimli::DW_AT_low_pc))?;
    let addr = info
        .dwarf_of(unit)
        .attr_address(&unit.raw, address)
        .ok()??;
    info.linked_behind(unit, addr).map(FileAddr)
}

/// Returns the address of the call or jump itself.
pub(super) fn address(info: &DebugInfo, unit: &Unit, site: &Entry) -> Option<FileAddr> {
    let addr = info.address(unit, site.attr_value(gimli::DW_AT_call_pc)?);
    addr.map(FileAddr)
}

/// Returns whether a call site is a jump (a tail call).
pub(super) fn is_tail_call(site: &Entry) -> bool {
    flag(site, gimli::DW_AT_call_tail_call) || flag(site, gimli::DW_AT_GNU_tail_call)
}

/// Returns whether a function is the one that another unit or module names: by linkage name if
/// both have one, else by the qualified name that `is_name` compares.
pub(super) fn is_named(
    function: &Function,
    linkage_name: Option<&str>,
    is_name: impl FnOnce(&str) -> bool,
) -> bool {
    match (function.linkage_name.as_deref(), linkage_name) {
        (Some(ours), Some(theirs)) => ours == theirs,
        _ => is_name(&function.name),
    }
}
