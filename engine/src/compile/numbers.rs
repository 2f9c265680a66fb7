//! Numbers and addresses in values.

use super::code::{BoolExpr, Float, Int, Width};
use super::lower::Compiler;
use super::{NotCompilable, RuntimeLocation, RuntimeValue};
use crate::expr::{arith, check};
use crate::inspect::value::Ty;
use crate::inspect::value::location::{Bits, Bytes};
use crate::inspect::value::scalar::{self, Scalar};
use dwarf::Language;

/// Returns the width of an integral scalar.
///
/// # Errors
/// The scalar has more than 64 bits.
pub(super) fn width(scalar: Scalar) -> Result<Width, NotCompilable> {
    match scalar.size {
        size @ (1 | 2 | 4 | 8) => Ok(Width {
            size,
            signed: scalar.is_signed(),
        }),
        16 => Err("128-bit integers are not supported".into()),
        size => Err(NotCompilable::new(format!(
            "unsupported integer size: {size} bytes"
        ))),
    }
}

/// Returns the number in a value of an integral type, including bit-fields.
pub(super) fn int_of(value: &RuntimeValue, width: Width) -> Result<Int, NotCompilable> {
    if let RuntimeLocation::Choice(condition, both) = &value.place {
        let (yes, no) = (int_of(&both[0], width)?, int_of(&both[1], width)?);
        return Ok(Int::choice((**condition).clone(), yes, no));
    }
    let Some(Bits { offset, size }) = value.bits else {
        return value.place.raw(0, width);
    };
    let bytes = match (usize::from(offset) + usize::from(size)).div_ceil(8) {
        1 => 1,
        2 => 2,
        3 | 4 => 4,
        5..=8 => 8,
        _ => return Err("a bit-field that spans nine bytes".into()),
    };
    if u32::from(size) > u32::from(width.size) * 8 || size == 0 {
        return Err("a bit-field wider than its type".into());
    }
    let all = Width {
        size: bytes,
        signed: false,
    };
    let raw = value.place.raw(0, all)?;
    Ok(match raw {
        Int::Constant(bits) => {
            let bits = u128::from(bits) >> offset & ((1u128 << size) - 1);
            Int::Constant(match width.signed {
                true => scalar::sign_extend(bits, u32::from(size)) as u64,
                false => bits as u64,
            })
        }
        raw => Int::Field(Box::new(raw), offset, width, size),
    })
}

/// Returns the bytes of a value of at most eight bytes as a word.
pub(super) fn word_of(value: &RuntimeValue) -> Result<Int, NotCompilable> {
    let scalar =
        check::scalar(&value.ty).ok_or_else(|| NotCompilable::from("a bit-field of this type"))?;
    int_of(value, width(scalar)?)
}

/// Returns the address in a pointer or reference.
pub(super) fn address_in(pointer: &RuntimeValue) -> Result<Int, NotCompilable> {
    int_of(pointer, Width::WORD)
}

/// Returns the float in a value: of 32 bits if it is `single`, else of 64.
pub(super) fn float_at(value: &RuntimeValue, single: bool) -> Result<Float, NotCompilable> {
    let size = if single { 4 } else { 8 };
    if let RuntimeLocation::Choice(condition, both) = &value.place {
        let (yes, no) = (float_at(&both[0], single)?, float_at(&both[1], single)?);
        return Ok(Float::Choice(
            condition.clone(),
            Box::new(yes),
            Box::new(no),
        ));
    }
    Ok(match value.place.piece(0, size)? {
        RuntimeLocation::Float(float) => float,
        RuntimeLocation::Memory(address) => Float::Load(Box::new(address), single),
        RuntimeLocation::Vector(number, 0) => Float::Register(number, single),
        RuntimeLocation::Missing => Float::Int(Box::new(Int::deopt()), Width::WORD),
        RuntimeLocation::Bytes(bytes) => {
            let bits = scalar::bits_of(bytes.get(..size as usize).unwrap_or(&bytes));
            Float::Constant(match single {
                true => f64::from(f32::from_bits(bits as u32)),
                false => f64::from_bits(bits as u64),
            })
        }
        _ => return Err("a float in a general-purpose register".into()),
    })
}

impl Compiler<'_> {
    /// See [`float_at`].
    pub(super) fn float_at(
        &self,
        value: &RuntimeValue,
        single: bool,
    ) -> Result<Float, NotCompilable> {
        float_at(value, single)
    }

    /// Returns a boolean as a value: an `int` in C.
    pub(super) fn boolean(&self, truth: BoolExpr) -> RuntimeValue {
        let value = arith::boolean(matches!(truth, BoolExpr::Constant(true)), self.language);
        match truth {
            BoolExpr::Constant(_) => RuntimeValue::constant(value).unwrap_or_else(|_| self.zero()),
            truth => {
                let width = Width {
                    size: if self.language == Language::C { 4 } else { 1 },
                    signed: self.language == Language::C,
                };
                RuntimeValue::new(
                    value.ty,
                    RuntimeLocation::Int(Int::BoolExpr(Box::new(truth)), width),
                )
            }
        }
    }

    fn zero(&self) -> RuntimeValue {
        RuntimeValue::new(Ty::Void, RuntimeLocation::Bytes(Bytes::new(&[])))
    }
}
