//! Conversions between types: casts, and the encoding of stored values.

use super::arith::Operand;
use super::{EvalContext, lex, messages, soft};
use crate::ids::error::Error;
use crate::inspect::library;
use crate::inspect::value::location::Bytes;
use crate::inspect::value::scalar::{self, Int, Number, Scalar, ScalarKind};
use crate::inspect::value::text::Unit;
use crate::inspect::value::{PointerKind, Shape, Target, Ty, Value, ValueLocation, text};
use crate::inspect::visualize::{self, View};
use dwarf::{Language, LoadAddr};

/// Maximum number of bytes of a string to compare.
pub const STRING: usize = lex::MAX_EXPRESSION_BYTES;

/// Maximum number of references and boxes to follow to a number.
const REFERENCES: usize = 16;

/// Returns a value that is a number or an address, through references, boxes and wrappers.
///
/// # Errors
/// The value is neither, or cannot be read.
pub fn plain(target: &dyn Target, value: &Value) -> Result<Value, Error> {
    let mut value = value.clone();
    for _ in 0..REFERENCES {
        match value.ty.shape() {
            Shape::Scalar(_)
            | Shape::Enumeration(_)
            | Shape::Pointer(_, PointerKind::Raw)
            | Shape::Array(_)
            | Shape::Function => return Ok(value),
            Shape::Pointer(of, _) => value = value.pointee(target, of)?,
            Shape::Composite(_) => match visualize::view(target, &value) {
                Some(View::Pointee(next) | View::Noted(next, _)) => value = next,
                _ => break,
            },
            _ => break,
        }
    }
    Err(Error::eval(messages::no_number(&value.ty)))
}

/// Returns a value as a number, through references, boxes and enumerations.
///
/// # Errors
/// The value is not a number, or cannot be read.
pub fn operand(target: &dyn Target, value: &Value) -> Result<Operand, Error> {
    let (scalar, bits) = scalar_of(target, value)?;
    let number = scalar.number(bits);
    Ok(Operand { number })
}

/// Returns the encoding and the bits of what [`operand`] returns as a number, which a number of 64
/// bits cannot have without loss. Of a complex number, they are the real part's.
fn scalar_of(target: &dyn Target, value: &Value) -> Result<(Scalar, u128), Error> {
    let value = plain(target, value)?;
    let Some(scalar) = super::check::scalar(&value.ty) else {
        let addr = value.address().ok_or(Error::OptimizedOut)?;
        return Ok((Scalar::new(ScalarKind::Address, 8), u128::from(addr.0)));
    };
    let bits = value.raw(target)?;
    Ok(match (value.bits, scalar.kind, scalar.number(bits)) {
        (Some(field), _, Number::Int(int)) => {
            (scalar.of_bit_field(field.size), int.value() as u128)
        }
        (_, ScalarKind::Complex(format), _) => {
            let part = Scalar::new(ScalarKind::Float(format), scalar.size / 2);
            (
                part,
                bits & u128::MAX >> (128 - 8 * u32::from(part.size.clamp(1, 16))),
            )
        }
        _ => (scalar, bits),
    })
}

/// Returns whether a value counts as true: an optional or smart pointer if it has an object.
///
/// # Errors
/// The value is no condition, or cannot be read.
pub fn truth(target: &dyn Target, value: &Value) -> Result<bool, Error> {
    match library::truth(target, value) {
        Some(truth) => truth,
        None => Ok(operand(target, value)?.is_true()),
    }
}

/// Casts `value` to `ty`, possibly with loss.
///
/// # Errors
/// There is no such cast, or the value cannot be read.
pub fn cast(context: &dyn EvalContext, ty: &Ty, value: &Value) -> Result<Value, Error> {
    let target = context.as_target();
    if ty.same_as(&value.ty) {
        return Ok(Value {
            ty: ty.clone(),
            ..value.clone()
        });
    }
    let bits = match ty.shape() {
        Shape::Scalar(to) if to.kind == ScalarKind::Bool => u128::from(truth(target, value)?),
        Shape::Scalar(to) if to.is_integral() && is_ordering(value) => {
            match library::variant(target, value)? {
                Some((name, _)) if name == "Less" => u128::MAX,
                Some((name, _)) => u128::from(name == "Greater"),
                None => return Err(no_cast(value, ty)),
            }
        }
        Shape::Scalar(_) | Shape::Pointer(..) if value.ty.is_vector() => {
            return Err(no_cast(value, ty));
        }
        Shape::Scalar(_)
            if context.language() == Language::Rust
                && matches!(value.ty.shape(), Shape::Array(_)) =>
        {
            return Err(no_cast(value, ty));
        }
        Shape::Scalar(to) => {
            let (from, bits) = scalar_of(target, value)?;
            match to.kind {
                ScalarKind::Complex(_) => return Err(no_cast(value, ty)),
                ScalarKind::Float(_) => soft::converted(from, bits, to),
                _ if context.language() == Language::Rust => soft::saturated(from, bits, to),
                _ => soft::converted(from, bits, to),
            }
        }
        Shape::Enumeration(_) | Shape::Pointer(_, PointerKind::Raw) => {
            let value = match value.ty.shape() {
                // `&T` as `*const T`: the address, not the target.
                Shape::Pointer(..) => return Ok(pointer_bytes(ty, value.raw(target)?)),
                _ => operand(target, value)?,
            };
            match value.number {
                Number::Int(int) => int.value() as u128,
                Number::Float(_) => return Err(Error::eval(messages::FLOAT_AS_ADDRESS)),
            }
        }
        Shape::Pointer(of, PointerKind::Reference) => {
            return cast(context, &of, &value.referent(target)?);
        }
        // Reinterprets the bytes as another type of the same size.
        Shape::Composite(_) | Shape::Array(_)
            if ty.size().is_some() && ty.size() == value.ty.size() =>
        {
            return Ok(Value::new(ty.clone(), value.place.clone()));
        }
        Shape::Void => return Ok(Value::new(Ty::Void, ValueLocation::Bytes(Bytes::new(&[])))),
        _ => return Err(no_cast(value, ty)),
    };
    let size = ty.size().unwrap_or(8).min(16) as usize;
    Ok(Value::new(
        ty.clone(),
        ValueLocation::Bytes(Bytes::new(&bits.to_le_bytes()[..size])),
    ))
}

/// Returns whether a value is an `Ordering` that the expression made.
fn is_ordering(value: &Value) -> bool {
    matches!(value.ty, Ty::Synthetic(_)) && &*value.ty.name() == "core::cmp::Ordering"
}

fn pointer_bytes(ty: &Ty, bits: u128) -> Value {
    Value::new(
        ty.clone(),
        ValueLocation::Bytes(Bytes::new(&bits.to_le_bytes()[..8])),
    )
}

fn no_cast(value: &Value, ty: &Ty) -> Error {
    Error::eval(messages::no_conversion(&value.ty, ty))
}

/// Returns the bytes of a string value: literals, `&str`, `String`, `std::string`, `char *`,
/// `char[]`. `None`: it is not a string. Text beyond [`STRING`] is cut off.
///
/// # Errors
/// The string cannot be read.
pub fn string(target: &dyn Target, value: &Value) -> Result<Option<Vec<u8>>, Error> {
    let is_char =
        |ty: &Ty| matches!(ty.shape(), Shape::Scalar(scalar) if scalar.is_narrow_character());
    match value.ty.shape() {
        Shape::Text => Ok(Some(value.place.literal()?.to_vec())),
        Shape::Pointer(of, PointerKind::Raw) if is_char(&of) => {
            let addr = LoadAddr(value.raw(target)? as u64);
            Ok(Some(
                text::read_terminated(target.memory(), addr, 1, STRING)?.0,
            ))
        }
        Shape::Array(array) if is_char(&array.element) => {
            let len = array.count.unwrap_or(0).min(STRING as u64);
            let bytes = value.place.read(target, len as usize)?;
            let end = bytes.iter().position(|byte| *byte == 0);
            Ok(Some(bytes[..end.unwrap_or(bytes.len())].to_vec()))
        }
        Shape::Pointer(of, PointerKind::Owned | PointerKind::Reference) => {
            string(target, &value.pointee(target, of)?)
        }
        Shape::Composite(_) | Shape::Synthetic(_) => match visualize::view(target, value) {
            Some(View::Text {
                at,
                len,
                unit: Unit::Byte,
            }) => {
                let mut bytes = vec![0; len.min(STRING as u64) as usize];
                if !bytes.is_empty() {
                    target.memory().read(at, &mut bytes)?;
                }
                Ok(Some(bytes))
            }
            Some(View::Pointee(next) | View::Noted(next, _)) => string(target, &next),
            _ => Ok(None),
        },
        _ => Ok(None),
    }
}

/// Returns the bytes of an array of characters that gets a text. Bytes after the terminator are left
/// unchanged.
///
/// # Errors
/// The text is too long; in Rust, it has another length.
pub fn characters(to: &Value, text: &[u8]) -> Result<Vec<u8>, Error> {
    let unit = match to.ty.shape() {
        Shape::Array(array) => array.element.size().unwrap_or(1).clamp(1, 4) as usize,
        _ => 1,
    };
    let size = to.ty.size().unwrap_or(0) as usize;
    let room = size.min(STRING);
    let exact = to.ty.language() == Language::Rust;
    let mut bytes = super::literal::encoded(text, unit)?;
    if bytes.len() > room || exact && bytes.len() != room {
        return Err(Error::eval(format!(
            "{} characters do not fit into `{}`",
            bytes.len() / unit,
            to.ty.name()
        )));
    }
    let end = size.saturating_sub(bytes.len()).min(unit);
    bytes.resize(bytes.len() + end, 0);
    Ok(bytes)
}

/// Checks that a scalar can hold a constant of another type: compilers warn if it cannot.
///
/// # Errors
/// The value is out of range, or not an integer.
pub fn fits(to: &Value, number: Number, from: Scalar) -> Result<(), Error> {
    let scalar = match super::check::scalar(&to.ty) {
        Some(scalar) => scalar,
        None => return Ok(()),
    };
    if matches!(scalar.kind, ScalarKind::Float(_) | ScalarKind::Bool) {
        return Ok(());
    }
    let int = match number {
        Number::Int(int) => int,
        Number::Float(value) if value.fract() == 0.0 && value.abs() < 1e18 => {
            Int::new(value as i128 as u128, 16, true)
        }
        Number::Float(value) => {
            return Err(Error::eval(format!("{value} is not an integer")));
        }
    };
    let width = match to.bits {
        Some(bits) => u32::from(bits.size),
        None => u32::from(scalar.size) * 8,
    };
    let signed = scalar.is_signed();
    let (least, most) = match width {
        128.. => (i128::MIN, i128::MAX as u128),
        width => (-(1i128 << (width - 1)), (1u128 << (width - 1)) - 1),
    };
    let all = u128::MAX >> (128 - width.min(128));
    // The sign is no loss: `-1` of an unsigned type, `0xffffffff` of an `int`.
    let same_width = !from.is_signed() && from.is_integral() && from.size == scalar.size;
    let is_byte = scalar.kind == ScalarKind::SignedChar && to.bits.is_none();
    let top = match signed && !same_width && !is_byte {
        true => most,
        false => all,
    };
    let fits = match int.is_negative() {
        true => int.value() >= least,
        false => int.bits <= top,
    };
    if fits {
        return Ok(());
    }
    let shown = match int.signed {
        true => int.value().to_string(),
        false => int.bits.to_string(),
    };
    let (low, high) = match signed {
        true => (least, most),
        false => (0, all),
    };
    let name = to.ty.name();
    Err(Error::eval(match to.bits {
        Some(bits) => format!(
            "{shown} is out of range for {} bits of `{name}` ({low} to {high})",
            bits.size
        ),
        None => format!("{shown} is out of range for `{name}` ({low} to {high})"),
    }))
}

/// Checks that a place may be written.
///
/// # Errors
/// It is no memory, and no register.
pub fn may_write(to: &Value) -> Result<(), Error> {
    match &to.place {
        ValueLocation::Memory(..) | ValueLocation::Register { .. } => Ok(()),
        ValueLocation::OptimizedOut => Err(Error::OptimizedOut),
        ValueLocation::Bytes(_)
        | ValueLocation::Pieces(..)
        | ValueLocation::ImplicitPointer
        | ValueLocation::Temporary(_)
        | ValueLocation::Failed(_) => Err(Error::Unsupported(
            "cannot assign to a computed value: not in memory or a register".into(),
        )),
    }
}

/// Writes `bytes` to the place of `to`. Returns the new value.
///
/// # Errors
/// The place cannot be written.
pub fn store(context: &mut dyn EvalContext, to: &Value, bytes: &[u8]) -> Result<Value, Error> {
    let mut raw = bytes.to_vec();
    if let Some(bits) = to.bits {
        let old = scalar::bits_of(&to.place.read(context.as_target(), bits.bytes())?);
        let mask = ((1u128 << bits.size) - 1) << bits.offset;
        let new = old & !mask | scalar::bits_of(bytes) << bits.offset & mask;
        raw = new.to_le_bytes()[..bits.bytes()].to_vec();
    }
    let mut now = to.clone();
    may_write(to)?;
    match &mut now.place {
        ValueLocation::Memory(addr, read) => {
            context.write_memory(*addr, &raw)?;
            *read = None;
        }
        ValueLocation::Register {
            register,
            bytes,
            offset,
        } => {
            let mut all = bytes.to_vec();
            let start = usize::try_from(*offset).unwrap_or(usize::MAX);
            let part = start
                .checked_add(raw.len())
                .and_then(|end| all.get_mut(start..end));
            part.ok_or(Error::OptimizedOut)?.copy_from_slice(&raw);
            context.write_register(*register, &all)?;
            *bytes = Bytes::new(&all);
        }
        _ => {}
    }
    Ok(now)
}

/// Returns an integer operand as an index or offset.
///
/// # Errors
/// The operand is a float, or exceeds 64 bits.
pub fn index(operand: Operand) -> Result<i64, Error> {
    match operand.number {
        Number::Int(int) => {
            i64::try_from(int.value()).map_err(|_| Error::eval("the index exceeds 64 bits"))
        }
        Number::Float(_) => Err(Error::eval(messages::FLOAT_AS_INDEX)),
    }
}
