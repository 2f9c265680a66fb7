//! Values at a function's entry, from the caller's call site entry (DWARF 5 §3.4).

use crate::entries::units::{Entry, Unit};
use crate::file::R;
use crate::functions::Function;
use crate::ids::DieRef;
use crate::ids::addr::FileAddr;
use crate::ids::error::Error;
use crate::ids::register::register_name;
use crate::lines::DebugInfo;
use crate::locations::evaluate::Scope;
use crate::locations::{CallerFrame, FrameContext};
use gimli::{Expression, Operation, UnitOffset, Value};

/// Returns the value that `expression` (usually a register) had when the frame's function was
/// entered.
pub(crate) fn entry_value(
    scope: &Scope<'_>,
    expression: Expression<R>,
    depth: u32,
) -> Result<Value, Error> {
    let unavailable = || {
        let mut operations = expression.operations(scope.unit.raw.encoding());
        let what = match operations.next() {
            Ok(Some(
                Operation::Register { register } | Operation::RegisterOffset { register, .. },
            )) => register_name(
                scope.frame.registers.machine(),
                crate::ids::register::Register(register.0),
            ),
            _ => "a value".to_owned(),
        };
        Error::RegisterUnavailable(format!("{what} at the function's entry"))
    };
    parameter(scope, depth, |_, entry| {
        entry
            .attr_value(gimli::DW_AT_location)
            .and_then(|value| value.exprloc_value())
            .is_some_and(|place| place.0.slice() == expression.0.slice())
    })?
    .ok_or_else(unavailable)
}

/// Returns the value that a parameter, given by its entry, had when the frame's function was
/// entered (`DW_OP_GNU_parameter_ref`).
pub(crate) fn parameter_value(
    scope: &Scope<'_>,
    wanted: DieRef,
    depth: u32,
) -> Result<Value, Error> {
    let info = scope.info;
    let root = info.root_origin(wanted);
    parameter(scope, depth, |unit, entry| {
        [gimli::DW_AT_call_parameter, gimli::DW_AT_abstract_origin]
            .into_iter()
            .filter_map(|at| info.reference(unit, entry.attr_value(at)?))
            .any(|found| info.root_origin(found) == root)
    })?
    .ok_or_else(|| Error::RegisterUnavailable("a parameter at the function's entry".into()))
}

fn parameter(
    scope: &Scope<'_>,
    depth: u32,
    is_wanted: impl Fn(&Unit, &Entry) -> bool,
) -> Result<Option<Value>, Error> {
    let frame = scope.frame;
    let Some(caller) = (frame.caller)(0) else {
        return Ok(None);
    };
    // Look up the call instruction: the return address may be in the next function.
    let lookup = frame.bias.file(caller.return_address - 1);
    let Some(function) = scope.module.function_at(lookup) else {
        return Ok(None);
    };
    let return_address = frame.bias.file(caller.return_address);
    let Some((unit, value)) = call_value(scope, &function, return_address, is_wanted)? else {
        return Ok(None);
    };
    let CallerFrame { registers, cfa, .. } = &caller;
    let outer = |level: u32| (frame.caller)(level.checked_add(1)?);
    let context = FrameContext {
        memory: frame.memory,
        registers,
        cfa: *cfa,
        pc: lookup,
        bias: frame.bias,
        function: Some(&function),
        tls: frame.tls,
        caller: &outer,
    };
    let scope = Scope {
        unit,
        frame: &context,
        ..*scope
    };
    scope.value(value, depth).map(Some)
}

/// Returns the value expression of the call site parameter that `is_wanted` selects; `None` if the
/// call site is not described or calls another function.
fn call_value<'a>(
    scope: &Scope<'a>,
    caller: &Function,
    return_address: FileAddr,
    is_wanted: impl Fn(&Unit, &Entry) -> bool,
) -> Result<Option<(&'a Unit, Expression<R>)>, Error> {
    let info = scope.info;
    let (unit, _) = info.entry(caller.id)?;
    let mut entries = unit
        .raw
        .entries_raw(Some(UnitOffset(caller.id.offset as usize)))?;
    let mut entry = Entry::null();
    let mut site: Option<isize> = None;
    entries.read_entry(&mut entry)?;
    while !entries.is_empty() && entries.next_depth() > 0 {
        let depth = entries.next_depth();
        if site.is_some_and(|site| depth <= site) {
            return Ok(None);
        }
        if !entries.read_entry(&mut entry)? {
            continue;
        }
        match entry.tag() {
            gimli::DW_TAG_call_site | gimli::DW_TAG_GNU_call_site
                if returns_to(scope, unit, &entry, return_address) =>
            {
                if !entry.has_children() || !calls_this(scope, unit, &entry) {
                    return Ok(None);
                }
                site = Some(depth);
            }
            gimli::DW_TAG_call_site_parameter | gimli::DW_TAG_GNU_call_site_parameter
                if site == Some(depth - 1) && is_wanted(unit, &entry) =>
            {
                return Ok(entry
                    .attr_value(gimli::DW_AT_call_value)
                    .or_else(|| entry.attr_value(gimli::DW_AT_GNU_call_site_value))
                    .and_then(|value| value.exprloc_value())
                    .filter(|expression| !expression.0.is_empty())
                    .map(|expression| (unit, expression)));
            }
            _ => {}
        }
    }
    Ok(None)
}

fn returns_to(scope: &Scope<'_>, unit: &Unit, site: &Entry, return_address: FileAddr) -> bool {
    let back = [gimli::DW_AT_call_return_pc, gimli::DW_AT_low_pc];
    address_of(scope.info, unit, site, &back) == Some(return_address.0)
}

/// Returns the address in the first of these attributes that is present.
pub(crate) fn address_of(
    info: &DebugInfo,
    unit: &Unit,
    entry: &Entry,
    attributes: &[gimli::DwAt],
) -> Option<u64> {
    let value = attributes.iter().find_map(|at| entry.attr_value(*at))?;
    info.dwarf_of(unit)
        .attr_address(&unit.raw, value)
        .ok()
        .flatten()
}

/// Returns whether a call site calls the frame's function; true if its target is unknown. If it
/// calls another function, a tail call lies in between, and the registers at the call are not those
/// at this function's entry.
fn calls_this(scope: &Scope<'_>, unit: &Unit, site: &Entry) -> bool {
    let Some(function) = scope.frame.function else {
        return false;
    };
    let called = site
        .attr_value(gimli::DW_AT_call_origin)
        .or_else(|| site.attr_value(gimli::DW_AT_abstract_origin))
        .and_then(|value| scope.info.reference(unit, value));
    let Some(called) = called else {
        // A call through a pointer. Its target cannot be checked: the register that held it may
        // have been overwritten.
        return true;
    };
    if scope.info.root_origin(called) == scope.info.root_origin(function.id) {
        return true;
    }
    // The function may be declared in one unit and defined in another.
    let Ok((unit, entry)) = scope.info.entry(called) else {
        return false;
    };
    match (
        &function.linkage_name,
        scope.info.linkage_name(unit, &entry),
    ) {
        (Some(ours), Some(theirs)) => ours == theirs,
        _ => scope.info.qualified_name_of(unit, &entry) == function.name,
    }
}
