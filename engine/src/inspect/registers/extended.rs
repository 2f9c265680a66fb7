//! Registers that are in the kernel's area for extended ones only: vectors of all widths, and those
//! of floating-point units.

use super::parts::lane;
use crate::arch::Arch;
use crate::inspect::value::location::Bytes;
use crate::inspect::value::scalar::{Float, Scalar, ScalarKind};
use crate::inspect::value::{RegisterPlace, Ty, Value, ValueLocation};
use dwarf::{Language, Register};

/// Returns a register of an area as an array of its most common lane type.
pub(crate) fn value(
    arch: Arch,
    register: Register,
    area: &[u8],
    language: Language,
    place: impl Fn(Register) -> RegisterPlace,
) -> Option<Value> {
    let bytes = arch.extended_register(register, area)?;
    let name = arch.register_name(register);
    let is_mask = !name.is_empty() && !arch.is_vector_register(&name);
    let ty = match bytes.len() {
        _ if let Some(number) = arch.lane_of_register(register) => lane(number, language)?,
        16 if arch.is_extended_float(register) => {
            let extended = Scalar::new(ScalarKind::Float(Float::Extended), 16);
            Ty::Builtin(extended, "long double")
        }
        1 => lane("u8", language)?,
        2 => lane("u16", language)?,
        4 => lane("u32", language)?,
        8 => lane("u64", language)?,
        len if is_mask => lane("u64", language)?.array(len as u64 / 8),
        len => lane("f64", language)?.array(len as u64 / 8),
    };
    let place = ValueLocation::Register {
        register: place(register),
        bytes: Bytes::new(&bytes),
        offset: 0,
    };
    Some(Value::new(ty, place))
}
