//! Text of values: of strings, literals, pointers to characters, and single characters.

use super::contents::{Contents, contents};
use crate::ids::error::Error;
use crate::inspect::value::scalar::ScalarKind;
use crate::inspect::value::text::{Unit, read_terminated};
use crate::inspect::value::{MAX_VALUE_BYTES, PointerKind, Shape, Target, Ty, Value};
use crate::inspect::visualize::{self, View};
use dwarf::LoadAddr;

/// A text that was read.
#[derive(Debug)]
pub struct Text {
    /// Its address, if the program has it.
    pub at: Option<LoadAddr>,
    /// Its encoding.
    pub unit: Unit,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// Returns whether a type is that of characters.
pub fn is_character(ty: &Ty) -> bool {
    is_narrow(ty) || matches!(ty.shape(), Shape::Scalar(it) if it.kind == ScalarKind::Utf)
}

/// Returns whether a type is that of characters of a byte, whose encoding is not fixed: `char`.
pub fn is_narrow(ty: &Ty) -> bool {
    matches!(ty.shape(), Shape::Scalar(scalar) if scalar.is_narrow_character())
}

/// Returns the type of a unit of a value that is shown as text: the debug info's, if it has one.
pub fn unit_type(of: &Ty, unit: Unit) -> Ty {
    match contents(of) {
        Some(Contents::Text(_, element)) => element,
        _ => unit.element(of.language()),
    }
}

impl Text {
    /// Reads a value's text; `None` if it has none. A pointer or array of characters ends before the
    /// first that is zero.
    ///
    /// # Errors
    /// Memory cannot be read, or the text is too long.
    pub fn of(target: &dyn Target, value: &Value) -> Result<Option<Text>, Error> {
        // A part of an object that the expression makes.
        if let Some(of) = value.place.temporary()
            && !matches!(value.ty.shape(), Shape::Text)
            && matches!(of.ty.shape(), Shape::Text)
        {
            return Text::of(target, &of);
        }
        match value.ty.shape() {
            Shape::Text => Ok(Some(Text {
                at: None,
                unit: Unit::Byte,
                bytes: value.place.literal()?.to_vec(),
            })),
            Shape::Pointer(of, PointerKind::Raw) if is_character(&of) => {
                let at = LoadAddr(value.raw(target)? as u64);
                let unit = Unit::of(&of).unwrap_or(Unit::Byte);
                let most = MAX_VALUE_BYTES as usize;
                let (bytes, cut) = read_terminated(target.memory(), at, unit.size(), most)?;
                match cut {
                    true => Err(too_long(MAX_VALUE_BYTES)),
                    false => Ok(Some(Text {
                        at: Some(at),
                        unit,
                        bytes,
                    })),
                }
            }
            Shape::Array(array) if is_character(&array.element) => {
                let unit = Unit::of(&array.element).unwrap_or(Unit::Byte);
                let mut bytes = value.bytes(target)?.to_vec();
                let mut units = bytes.chunks(unit.size());
                if let Some(end) = units.position(|it| it.iter().all(|byte| *byte == 0)) {
                    bytes.truncate(end * unit.size());
                }
                Ok(Some(Text {
                    at: value.address(),
                    unit,
                    bytes,
                }))
            }
            Shape::Pointer(of, PointerKind::Reference | PointerKind::Owned) => {
                Text::of(target, &value.pointee(target, of)?)
            }
            _ => match visualize::view(target, value) {
                Some(View::Text { at, len, unit }) => {
                    if len > MAX_VALUE_BYTES {
                        return Err(too_long(len));
                    }
                    let mut bytes = vec![0; len as usize];
                    if !bytes.is_empty() {
                        target.memory().read(at, &mut bytes)?;
                    }
                    Ok(Some(Text {
                        at: Some(at),
                        unit,
                        bytes,
                    }))
                }
                Some(View::Pointee(next) | View::Noted(next, _)) => Text::of(target, &next),
                Some(View::Invalid(why)) => Err(Error::eval(why)),
                _ => Ok(None),
            },
        }
    }

    /// Returns the units, as in a text of this encoding: of a literal in that of another one.
    pub fn units(&self, like: Unit) -> Vec<u32> {
        if self.unit == Unit::Byte && like.size() > 1 {
            let text = String::from_utf8_lossy(&self.bytes);
            return match like.size() {
                2 => text.encode_utf16().map(u32::from).collect(),
                _ => text.chars().map(u32::from).collect(),
            };
        }
        let unit = |bytes: &[u8]| {
            let mut all = [0; 4];
            all[..bytes.len()].copy_from_slice(bytes);
            u32::from_le_bytes(all)
        };
        self.bytes.chunks(self.unit.size()).map(unit).collect()
    }
}

/// Returns the bytes of a text, and its address if the program has it.
///
/// # Errors
/// The value has none, or cannot be read.
pub fn text_of(target: &dyn Target, value: &Value) -> Result<(Option<LoadAddr>, Vec<u8>), Error> {
    let text = Text::of(target, value)?;
    let no_text = || Error::eval(format!("expected a string, found `{}`", value.ty.name()));
    text.map(|it| (it.at, it.bytes)).ok_or_else(no_text)
}

fn too_long(len: u64) -> Error {
    Error::Unsupported(format!("cannot read {len} bytes at once: too large"))
}
