//! Conversion of values to numbers and between types, by the rules of [`crate::expr`].

use super::code::{BoolExpr, Float, Int, Order, Width};
use super::lower::Compiler;
use super::{NotCompilable, RuntimeLocation, RuntimeValue, pointed};
use crate::expr::{arith, messages};
use crate::inspect::value::location::{Bits, Bytes};
use crate::inspect::value::scalar::{self, Scalar, ScalarKind};
use crate::inspect::value::{PointerKind, Shape, Ty};
use dwarf::Language;

/// Maximum number of references to follow to a number.
const REFERENCES: usize = 16;

/// A typed number.
#[derive(Clone, Debug)]
pub(super) struct Operand {
    /// Its type.
    pub(super) scalar: Scalar,
    /// Its value.
    pub(super) number: Number,
    /// The interpreter's operand if the value is constant.
    pub(super) known: Option<arith::Operand>,
}

/// The value of a number.
#[derive(Clone, Debug)]
pub(super) enum Number {
    /// An integer, canonical for the width.
    Int(Int, Width),
    /// A float of any type.
    Float(Float),
}

impl Operand {
    /// Returns whether it counts as true.
    pub(super) fn truth(self) -> BoolExpr {
        if let Some(known) = self.known {
            return BoolExpr::Constant(known.is_true());
        }
        match self.number {
            Number::Int(int, _) => BoolExpr::of(int),
            Number::Float(Float::Constant(value)) => BoolExpr::Constant(value != 0.0),
            Number::Float(float) => BoolExpr::CompareFloats(Order::Ne, float, Float::Constant(0.0)),
        }
    }

    /// Returns the number as a float.
    pub(super) fn float(self) -> Float {
        if let Some(known) = self.known {
            return Float::Constant(match known.number {
                scalar::Number::Int(int) => int.to_f64(),
                scalar::Number::Float(value) => value,
            });
        }
        match self.number {
            Number::Int(Int::Constant(bits), width) => Float::Constant(match width.signed {
                true => bits as i64 as f64,
                false => bits as f64,
            }),
            Number::Int(int, width) => Float::Int(Box::new(int), width),
            Number::Float(float) => float,
        }
    }
}

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
        size => Err(NotCompilable(format!(
            "unsupported integer size: {size} bytes"
        ))),
    }
}

/// Returns the integer type of an enumeration.
pub(super) fn of_enumeration(ty: &Ty) -> Option<Scalar> {
    let Shape::Enumeration(of) = ty.shape() else {
        return None;
    };
    let kind = match of.enumeration().is_some_and(|it| it.signed) {
        true => ScalarKind::Signed,
        false => ScalarKind::Unsigned,
    };
    Some(Scalar::new(kind, ty.size().unwrap_or(4).clamp(1, 16) as u8))
}

/// Returns the number in a value of an integral type, including bit-fields.
pub(super) fn int_of(value: &RuntimeValue, width: Width) -> Result<Int, NotCompilable> {
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
    let scalar = match value.ty.shape() {
        Shape::Scalar(scalar) => Some(scalar),
        _ => of_enumeration(&value.ty),
    };
    let scalar = scalar.ok_or_else(|| NotCompilable::from("a bit-field of this type"))?;
    int_of(value, width(scalar)?)
}

/// Returns the address in a pointer or reference.
pub(super) fn address_in(pointer: &RuntimeValue) -> Result<Int, NotCompilable> {
    int_of(pointer, Width::WORD)
}

/// Returns the target of a pointer or reference.
pub(super) fn pointee(pointer: &RuntimeValue, of: Ty) -> Result<RuntimeValue, NotCompilable> {
    Ok(RuntimeValue::new(of, pointed(address_in(pointer)?)))
}

/// Returns the value itself, or the target if it is a C++ reference.
pub(super) fn referent(value: RuntimeValue) -> Result<RuntimeValue, NotCompilable> {
    match value.ty.shape() {
        Shape::Pointer(of, PointerKind::Reference) => pointee(&value, of),
        _ => Ok(value),
    }
}

impl Compiler<'_> {
    /// Returns a value as a number.
    pub(super) fn operand(&self, value: &RuntimeValue) -> Result<Operand, NotCompilable> {
        let mut value = value.clone();
        for _ in 0..REFERENCES {
            let scalar = match value.ty.shape() {
                Shape::Scalar(scalar) => scalar,
                Shape::Enumeration(_) => of_enumeration(&value.ty)
                    .ok_or_else(|| NotCompilable::from("an enumeration without a type"))?,
                Shape::Pointer(_, PointerKind::Raw) => Scalar::new(ScalarKind::Address, 8),
                Shape::Pointer(of, _) => {
                    value = pointee(&value, of)?;
                    continue;
                }
                Shape::Array(_) | Shape::Function => {
                    let RuntimeLocation::Memory(address) = value.place else {
                        return Err("an array that is not in memory has no address".into());
                    };
                    return Ok(Operand {
                        scalar: Scalar::new(ScalarKind::Address, 8),
                        number: Number::Int(address.number(), Width::WORD),
                        known: None,
                    });
                }
                _ => {
                    return Err(NotCompilable(messages::no_number(&value.ty)));
                }
            };
            return self.scalar(&value, scalar);
        }
        Err("too many references to follow".into())
    }

    fn scalar(&self, value: &RuntimeValue, scalar: Scalar) -> Result<Operand, NotCompilable> {
        let field = value.bits.map(|field| scalar.of_bit_field(field.size));
        let promoted = field.unwrap_or(scalar);
        let known = match value.known() {
            Some(known) => {
                let bits = known.raw(&super::probe::NoProcess);
                let bits = bits.map_err(|error| NotCompilable(error.to_string()))?;
                let number = match scalar.number(bits) {
                    scalar::Number::Int(int) if field.is_some() => {
                        promoted.number(int.value() as u128)
                    }
                    number => number,
                };
                Some(arith::Operand { number })
            }
            None => None,
        };
        let number = match scalar.kind {
            ScalarKind::Float(format) => {
                let single = match format {
                    scalar::Float::Single => true,
                    scalar::Float::Double => false,
                    _ => {
                        return Err(NotCompilable(format!(
                            "unsupported float type `{}`",
                            value.ty.name()
                        )));
                    }
                };
                Number::Float(self.float_at(value, single)?)
            }
            ScalarKind::Complex(_) => return Err("a complex number".into()),
            _ if scalar.size == 16 && known.is_some() => Number::Int(Int::Constant(0), Width::WORD),
            _ => {
                let int = int_of(value, width(scalar)?)?;
                Number::Int(int, width(promoted)?)
            }
        };
        Ok(Operand {
            scalar: promoted,
            number,
            known,
        })
    }

    pub(super) fn float_at(
        &self,
        value: &RuntimeValue,
        single: bool,
    ) -> Result<Float, NotCompilable> {
        let size = if single { 4 } else { 8 };
        Ok(match value.place.piece(0, size)? {
            RuntimeLocation::Float(float) => float,
            RuntimeLocation::Memory(address) => Float::Load(Box::new(address), single),
            RuntimeLocation::Vector(number, 0) => Float::Register(number, single),
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

    /// Casts `value` to `ty`, possibly with loss.
    pub(super) fn cast(
        &self,
        ty: &Ty,
        value: &RuntimeValue,
    ) -> Result<RuntimeValue, NotCompilable> {
        if ty.same_as(&value.ty) {
            return Ok(RuntimeValue {
                ty: ty.clone(),
                ..value.clone()
            });
        }
        let no_cast = || NotCompilable(messages::no_conversion(&value.ty, ty));
        let to = match ty.shape() {
            Shape::Scalar(to) => to,
            Shape::Enumeration(_) | Shape::Pointer(_, PointerKind::Raw) => {
                if let Shape::Pointer(..) = value.ty.shape() {
                    let place = RuntimeLocation::Int(address_in(value)?, Width::WORD);
                    return Ok(RuntimeValue::new(ty.clone(), place));
                }
                of_enumeration(ty).unwrap_or(Scalar::new(ScalarKind::Address, 8))
            }
            Shape::Pointer(of, PointerKind::Reference) => {
                return self.cast(&of, &referent(value.clone())?);
            }
            Shape::Composite(_) | Shape::Array(_)
                if ty.size().is_some() && ty.size() == value.ty.size() =>
            {
                return Ok(RuntimeValue::new(ty.clone(), value.place.clone()));
            }
            _ => return Err(no_cast()),
        };
        let from = self.operand(value)?;
        let is_number = matches!(ty.shape(), Shape::Scalar(_));
        let place = match (to.kind, from.number.clone()) {
            (ScalarKind::Bool, _) => {
                let truth = Int::BoolExpr(Box::new(from.truth()));
                RuntimeLocation::Int(truth, width(to)?)
            }
            (ScalarKind::Float(format), _) => {
                let float = from.float();
                RuntimeLocation::Float(match format {
                    scalar::Float::Double => float,
                    scalar::Float::Single => Float::Single(Box::new(float)),
                    _ => return Err(no_cast()),
                })
            }
            (ScalarKind::Complex(_), _) => return Err(no_cast()),
            (_, Number::Float(_)) if !is_number => return Err(no_cast()),
            (_, Number::Float(float)) => {
                let width = width(to)?;
                // Beyond 64 bits it deopts, but it does not saturate at fewer.
                if self.language == Language::Rust && !(width.size == 8 && width.signed) {
                    return Err("a float that saturates".into());
                }
                RuntimeLocation::Int(Int::Float(Box::new(float), width), width)
            }
            (_, Number::Int(..)) if from.scalar.size == 16 => {
                return Err("128-bit integers are not supported".into());
            }
            (_, Number::Int(int, have)) => {
                let width = width(to)?;
                RuntimeLocation::Int(int.converted(have, width), width)
            }
        };
        Ok(constant(RuntimeValue::new(ty.clone(), place)))
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

/// Converts a constant integer to the interpreter's form.
fn constant(found: RuntimeValue) -> RuntimeValue {
    match (&found.place, found.ty.size()) {
        (RuntimeLocation::Int(Int::Constant(bits), _), Some(size @ 1..=8)) => {
            let bytes = Bytes::new(&bits.to_le_bytes()[..size as usize]);
            RuntimeValue::new(found.ty, RuntimeLocation::Bytes(bytes))
        }
        _ => found,
    }
}
