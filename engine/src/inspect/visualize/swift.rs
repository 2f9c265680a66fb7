//! Types of Swift whose layout is a part of its stable ABI (StringObject.swift, ContiguousArrayBuffer.swift,
//! docs/ABI). The debug info has their size only; of other types nothing is shown.

use super::{View, Visualizer};
use crate::ids::error::Error;
use crate::inspect::value::scalar::{Float, Scalar, ScalarKind};
use crate::inspect::value::text::{self, Unit};
use crate::inspect::value::types::DwarfTy;
use crate::inspect::value::{Shape, Target, Ty, Value};
use dwarf::{Encoding, LoadAddr, SwiftType};

/// Bytes of an array's buffer before its elements.
const ELEMENTS: u64 = 32;
/// Offset of the number of elements in it.
const COUNT: u64 = 16;
/// Bytes before the text of a string in memory of its own.
const TEXT: u64 = 32;

/// Types of Swift.
#[derive(Debug)]
pub struct Swift;

impl Visualizer for Swift {
    fn matches(&self, _: &str, ty: &DwarfTy) -> bool {
        ty.composite().is_some_and(|it| it.swift_name.is_some())
    }

    fn view(&self, target: &dyn Target, value: &Value) -> Result<View, Error> {
        let Shape::Composite(ty) = value.ty.shape() else {
            return Err(Error::Unsupported("not a struct".into()));
        };
        let composite = ty.composite();
        if composite.is_some_and(|it| !it.members.is_empty()) {
            return Err(Error::Unsupported("it has members".into()));
        }
        let kind = composite.and_then(|it| SwiftType::parse(it.swift_name?));
        match kind {
            Some(kind) => view(target, value, &kind),
            None => Ok(unknown(&ty.ty.name)),
        }
    }
}

/// Returns the view of what the debug info does not describe.
fn unknown(name: &str) -> View {
    View::Invalid(format!("<the layout of {name} is not in the debug info>"))
}

fn view(target: &dyn Target, value: &Value, kind: &SwiftType) -> Result<View, Error> {
    let word = |index: usize| -> Result<u64, Error> {
        let bytes = value.place.read(target, index * 8 + 8)?;
        let word = bytes.get(index * 8..).and_then(|it| it.try_into().ok());
        word.map(u64::from_le_bytes).ok_or(Error::OptimizedOut)
    };
    let none = || Ok(View::Plain("nil".to_owned()));
    match kind {
        SwiftType::String => Ok(string(word(0)?, word(1)?)),
        SwiftType::Array(of) => array(target, word(0)?, of),
        SwiftType::Class(_) => Ok(View::Pointee(Value::pointer_to(
            Ty::Void,
            LoadAddr(word(0)?),
        ))),
        SwiftType::Optional(of) => match &**of {
            // Two of the 256 values of a byte are taken.
            SwiftType::Scalar("Bool", ..) => match value.place.read(target, 1)?.first() {
                Some(2) => none(),
                _ => scalar(value, of),
            },
            // All values are taken: a byte behind them says whether there is one.
            SwiftType::Scalar(_, _, size) => {
                let bytes = value.place.read(target, usize::from(*size) + 1)?;
                match bytes.get(usize::from(*size)) {
                    Some(0) => scalar(value, of),
                    _ => none(),
                }
            }
            // No object is at 0.
            SwiftType::String if word(0)? == 0 && word(1)? == 0 => none(),
            SwiftType::Array(_) | SwiftType::Class(_) if word(0)? == 0 => none(),
            SwiftType::String | SwiftType::Array(_) | SwiftType::Class(_) => {
                view(target, value, of)
            }
            _ => Ok(unknown(&kind.name())),
        },
        _ => Ok(unknown(&kind.name())),
    }
}

/// Returns a number at the place of a value.
fn scalar(value: &Value, kind: &SwiftType) -> Result<View, Error> {
    let ty = builtin(kind).ok_or_else(|| Error::Unsupported("not a number".into()))?;
    Ok(View::Pointee(Value::new(ty, value.place.clone())))
}

fn builtin(kind: &SwiftType) -> Option<Ty> {
    let SwiftType::Scalar(name, encoding, size) = kind else {
        return None;
    };
    let kind = match (encoding, size) {
        (Encoding::Boolean, _) => ScalarKind::Bool,
        (Encoding::Signed, _) => ScalarKind::Signed,
        (Encoding::Float, 4) => ScalarKind::Float(Float::Single),
        (Encoding::Float, _) => ScalarKind::Float(Float::Double),
        _ => ScalarKind::Unsigned,
    };
    Some(Ty::Builtin(Scalar::new(kind, *size), name))
}

/// Returns a string by its words: flags and number of bytes, then what says where these are.
fn string(counts: u64, object: u64) -> View {
    const SMALL: u64 = 1 << 61;
    const FOREIGN: u64 = 1 << 60;
    const BRIDGED: u64 = 1 << 62;
    /// Behind a head, in memory of the string's own or a constant.
    const TAIL: u64 = 1 << 60;
    const COUNT: u64 = (1 << 48) - 1;
    if object & SMALL != 0 {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&counts.to_le_bytes());
        bytes[8..].copy_from_slice(&object.to_le_bytes());
        let length = (object >> 56 & 15) as usize;
        let mut quoted = String::new();
        text::write_quoted(&mut quoted, bytes.get(..length).unwrap_or(&[]), false);
        return View::Plain(quoted);
    }
    if object & (FOREIGN | BRIDGED) != 0 || counts & TAIL == 0 {
        return View::Plain("<a string that Foundation keeps>".to_owned());
    }
    let at = (object & ((1 << 56) - 1)).wrapping_add(TEXT);
    View::Text {
        at: LoadAddr(at),
        len: counts & COUNT,
        unit: Unit::Byte,
    }
}

fn array(target: &dyn Target, buffer: u64, of: &SwiftType) -> Result<View, Error> {
    /// Bits of an address; others say that Objective-C keeps the array.
    const ADDRESS: u64 = (1 << 56) - 8;
    if buffer & !ADDRESS != 0 {
        return Ok(View::Plain("<an array that Foundation keeps>".to_owned()));
    }
    let at = |offset: u64| LoadAddr(buffer.wrapping_add(offset));
    let len = target.memory().read_uint(at(COUNT), 8)?;
    match builtin(of) {
        Some(element) if len < 1 << 56 => Ok(View::Sequence {
            at: at(ELEMENTS),
            element,
            len,
        }),
        Some(_) => Ok(View::Invalid(format!("<invalid length {len}>"))),
        None => Ok(View::Plain(format!("<{len} elements>"))),
    }
}
