//! Bounds of arrays that are computed in a frame (DWARF 5 §2.19, §5.13): variable-length arrays.

use crate::entries::children::Children;
use crate::entries::constant::{subrange_count, udata};
use crate::entries::units::{Entry, Unit, Value as Attribute};
use crate::functions::variable::VariableKind;
use crate::ids::error::Error;
use crate::lines::DebugInfo;
use crate::locations::evaluate::Scope;
use crate::locations::locate::{locate, no_info};
use crate::locations::{FrameContext, Location};
use crate::module::Module;
use crate::types::TypeId;
use std::cell::Cell;

/// Returns the number of elements per dimension.
pub(super) fn array_counts(
    module: &Module,
    array: TypeId,
    frame: &FrameContext<'_>,
) -> Result<Vec<Option<u64>>, Error> {
    let info = no_info(module)?;
    let (unit, entry) = info.entry(array.0)?;
    let mut counts = Vec::new();
    let Some(mut children) = Children::of(unit, &entry)? else {
        return Ok(counts);
    };
    while let Some(child) = children.next()? {
        if child.tag() == gimli::DW_TAG_subrange_type {
            counts.push(count(module, info, unit, child, frame));
        }
    }
    Ok(counts)
}

fn count(
    module: &Module,
    info: &DebugInfo,
    unit: &Unit,
    subrange: &Entry,
    frame: &FrameContext<'_>,
) -> Option<u64> {
    if let Some(count) = subrange_count(subrange) {
        return Some(count);
    }
    let bound = |at| {
        let value = subrange.attr_value(at)?;
        number(module, info, unit, value, frame)
    };
    if let Some(count) = bound(gimli::DW_AT_count) {
        return u64::try_from(count).ok();
    }
    let lower = match subrange.attr_value(gimli::DW_AT_lower_bound) {
        Some(_) => bound(gimli::DW_AT_lower_bound)?,
        None => 0,
    };
    let count = bound(gimli::DW_AT_upper_bound)?
        .checked_sub(lower)?
        .checked_add(1)?;
    u64::try_from(count).ok()
}

/// Returns the value of a bound: a constant, the result of an expression, or the value of a variable.
fn number(
    module: &Module,
    info: &DebugInfo,
    unit: &Unit,
    value: Attribute,
    frame: &FrameContext<'_>,
) -> Option<i64> {
    if let Some(constant) = value.sdata_value() {
        return Some(constant);
    }
    if let Some(constant) = udata(&value) {
        return i64::try_from(constant).ok();
    }
    if let Some(variable) = info.reference(unit, value) {
        let (unit, entry) = info.entry(variable).ok()?;
        let variable = info.read_variable(unit, &entry, VariableKind::Local)?;
        let ty = module.ty(variable.ty?).ok()?;
        let size = usize::try_from(ty.size?).ok()?;
        let mut bytes = [0u8; 8];
        let buffer = bytes.get_mut(..size)?;
        match locate(module, &variable, frame).ok()? {
            Location::Memory(addr) => frame.memory.read(addr, buffer).ok()?,
            Location::Register(register) => {
                let whole = frame.registers.get(register)?.to_le_bytes();
                buffer.copy_from_slice(whole.get(..size)?);
            }
            Location::Implicit(constant) => buffer.copy_from_slice(constant.get(..size)?),
            _ => return None,
        }
        let is_signed = info.is_signed(variable.ty?.0).unwrap_or(false);
        return Some(match (size, is_signed) {
            (4, true) => i64::from(i32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])),
            (2, true) => i64::from(i16::from_le_bytes([bytes[0], bytes[1]])),
            _ => i64::from_le_bytes(bytes),
        });
    }
    let scope = Scope {
        module,
        info,
        unit,
        frame,
        expressions: &Cell::new(0),
        is_passed: false,
    };
    let expression = scope.expression_at(value).ok()??;
    let value = scope.value(expression, 0).ok()?;
    Some(value.to_u64(!0).ok()?.cast_signed())
}
