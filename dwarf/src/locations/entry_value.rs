//! Values at a function's entry, from the caller's call site entry (DWARF 5 §3.4).

use crate::entries::units::{Entry, Unit};
use crate::file::R;
use crate::functions::Function;
use crate::ids::DieRef;
use crate::ids::error::Error;
use crate::ids::register::Register;
use crate::locations::call_site::{self, SiteEntry};
use crate::locations::evaluate::{Scope, unit_of};
use crate::locations::{CallerFrame, FrameContext};
use gimli::{Expression, Operation, Value};
use std::ops::ControlFlow;

/// Returns the value that `expression` (usually a register) had when the frame's function was
/// entered.
pub(super) fn entry_value(
    scope: &Scope<'_>,
    expression: Expression<R>,
    depth: u32,
) -> Result<Value, Error> {
    let unavailable = || {
        let mut operations = expression.operations(scope.unit.raw.encoding());
        let what = match operations.next() {
            Ok(Some(
                Operation::Register { register } | Operation::RegisterOffset { register, .. },
            )) => {
                let machine = scope.frame.registers.machine();
                machine.register_name(Register(register.0))
            }
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
pub(super) fn parameter_value(
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
    let lookup = frame
        .bias
        .file(caller.jump.unwrap_or(caller.return_address - 1));
    let Some(function) = scope.module.function_at(lookup) else {
        return Ok(None);
    };
    let Some((unit, value)) = call_value(scope, &function, &caller, is_wanted)? else {
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
        is_spilled: &|_| false,
    };
    let scope = Scope {
        unit,
        frame: &context,
        is_passed: false,
        ..*scope
    };
    scope.value(value, depth).map(Some)
}

/// Returns the value expression of the call site parameter that `is_wanted` selects; `None` if the
/// call site is not described or calls another function.
fn call_value<'a>(
    scope: &Scope<'a>,
    function: &Function,
    caller: &CallerFrame,
    is_wanted: impl Fn(&Unit, &Entry) -> bool,
) -> Result<Option<(&'a Unit, Expression<R>)>, Error> {
    let info = scope.info;
    let unit = unit_of(info, function.id.unit)?;
    let bias = scope.frame.bias;
    let is_it = |site: &Entry| match caller.jump {
        Some(at) => call_site::address(info, unit, site) == Some(bias.file(at)),
        None => {
            let back = bias.file(caller.return_address);
            call_site::return_address(info, unit, site) == Some(back)
        }
    };
    let mut is_in_site = false;
    let value = call_site::walk(unit, function.id, |entry| match entry {
        SiteEntry::Site(_) if is_in_site => ControlFlow::Break(None),
        SiteEntry::Site(site) => {
            if !is_it(site) {
                return ControlFlow::Continue(());
            }
            is_in_site = true;
            match calls_this(scope, unit, site) {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(None),
            }
        }
        SiteEntry::Parameter(entry) if is_in_site && is_wanted(unit, entry) => {
            let value = entry
                .attr_value(gimli::DW_AT_call_value)
                .or_else(|| entry.attr_value(gimli::DW_AT_GNU_call_site_value));
            let expression = value.and_then(|value| value.exprloc_value());
            ControlFlow::Break(expression.filter(|expression| !expression.0.is_empty()))
        }
        SiteEntry::Parameter(_) => ControlFlow::Continue(()),
    })?;
    Ok(value.flatten().map(|expression| (unit, expression)))
}

/// Returns whether a call site calls the frame's function; true if its target is unknown. If it
/// calls another function, a tail call lies in between, and the registers at the call are not those
/// at this function's entry.
fn calls_this(scope: &Scope<'_>, unit: &Unit, site: &Entry) -> bool {
    let Some(function) = scope.frame.function else {
        return false;
    };
    let Some(target) = call_site::target(scope.info, unit, site) else {
        // A call through a pointer. Its target cannot be checked: the register that held it may
        // have been overwritten.
        return true;
    };
    if scope.info.root_origin(target) == scope.info.root_origin(function.id) {
        return true;
    }
    // The function may be declared in one unit and defined in another.
    let Ok((unit, entry)) = scope.info.entry(target) else {
        return false;
    };
    let linkage_name = scope.info.linkage_name(unit, &entry);
    call_site::is_named(function, linkage_name, |name| {
        scope.info.qualified_name_of(unit, &entry) == name
    })
}
