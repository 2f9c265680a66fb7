//! Format specifiers after a comma at the end of an expression (`,x`, `,10`, `,[n]`).

use super::evaluate::{At, Evaluator};
use super::lex::TokenKind;
use super::parse::Parser;
use super::tree::Node;
use super::{arith, convert};
use crate::ids::error::Error;
use crate::inspect::value::location::Bytes;
use crate::inspect::value::scalar::{Number, NumberFormat, Scalar, ScalarKind};
use crate::inspect::value::{PointerKind, Shape, Ty, Value, ValueLocation};
use crate::inspect::visualize::{self, View};
use dwarf::Language;

/// The format of a value.
#[derive(Clone, Debug, Default)]
pub struct Format {
    /// The format of numbers.
    pub number: NumberFormat,
    text: bool,
    raw: bool,
    count: Option<Box<Node>>,
}

impl Parser<'_> {
    /// Parses the format specifiers up to the end; `None` if they are not valid.
    pub(super) fn format(&mut self) -> Result<Option<Format>, crate::ids::error::Error> {
        let mut format = Format::default();
        loop {
            match self.peek() {
                TokenKind::Name(name) => {
                    match name.as_str() {
                        "x" | "X" | "h" => format.number = NumberFormat::Hex,
                        "d" => format.number = NumberFormat::Decimal,
                        "o" => format.number = NumberFormat::Octal,
                        "b" => format.number = NumberFormat::Binary,
                        "c" => format.number = NumberFormat::Character,
                        "s" => format.text = true,
                        "raw" => format.raw = true,
                        _ => return Ok(None),
                    }
                    self.at += 1;
                }
                TokenKind::Symbol("!") => {
                    format.raw = true;
                    self.at += 1;
                }
                TokenKind::Symbol("[") => {
                    self.at += 1;
                    format.count = Some(self.item()?);
                    self.expect("]")?;
                }
                TokenKind::Int(..) => format.count = Some(self.literal()?),
                _ => return Ok(None),
            }
            match self.peek() {
                TokenKind::End => return Ok(Some(format)),
                TokenKind::Symbol(",") => self.at += 1,
                _ => return Ok(None),
            }
        }
    }
}

impl Evaluator<'_> {
    /// Applies `format` to a value, except the number format, which the presentation applies.
    ///
    /// # Errors
    /// The format does not suit the value.
    pub(super) fn formatted(
        &mut self,
        value: Value,
        format: &Format,
        node: &Node,
    ) -> Result<Value, Error> {
        let mut value = value;
        if let Some(count) = &format.count {
            let wanted = self.evaluate(count)?;
            let wanted = convert::index(self.operand_of(&wanted, count)?).at(count)?;
            let wanted =
                u64::try_from(wanted).map_err(|_| Error::eval(super::messages::NEGATIVE_COUNT));
            value = self.repeated(&value, wanted.at(count)?, true).at(node)?;
        }
        if format.text {
            value = match format.count {
                Some(_) => self.as_whole_text(&value),
                None => self.as_text(&value),
            }
            .at(node)?;
        }
        value.raw |= format.raw;
        self.as_number(value, format.number).at(node)
    }

    /// Returns `count` elements of a pointer or a sequence. `through`: of the pointer's target,
    /// rather than of an array of pointers.
    pub(super) fn repeated(
        &self,
        value: &Value,
        count: u64,
        through: bool,
    ) -> Result<Value, Error> {
        let target = self.context.as_target();
        let mut value = value.referent(target)?;
        for _ in 0..super::evaluate::DEREFERENCES {
            let (place, element) = match (visualize::view(target, &value), value.ty.shape()) {
                (Some(View::Sequence { at, element, len }), _) => {
                    let array = element.array(count.min(len));
                    return Ok(Value::new(array, ValueLocation::Memory(at, None)));
                }
                (Some(View::Pointee(next) | View::Noted(next, _)), _) => {
                    value = next;
                    continue;
                }
                (_, Shape::Pointer(of, PointerKind::Reference | PointerKind::Owned)) => {
                    value = value.pointee(target, of)?;
                    continue;
                }
                (_, Shape::Array(array)) if through => (value.place, array.element.clone()),
                (_, Shape::Pointer(of, PointerKind::Raw)) if through => {
                    let of = match of.shape() {
                        Shape::Void => byte(self.language),
                        _ => of,
                    };
                    (value.pointee(target, of.clone())?.place, of)
                }
                _ => (value.place, value.ty),
            };
            let ValueLocation::Memory(addr, _) = place else {
                return Err(Error::eval("cannot repeat a value that is not in memory"));
            };
            if element.size().is_none_or(|size| size == 0) {
                return Err(Error::eval(format!(
                    "unknown size of `{}`; cast the pointer",
                    element.name()
                )));
            }
            return Ok(Value::new(
                element.array(count),
                ValueLocation::Memory(addr, None),
            ));
        }
        Err(Error::eval("too many pointers to follow"))
    }

    fn as_text(&self, value: &Value) -> Result<Value, Error> {
        let target = self.context.as_target();
        let mut seen = value.referent(target)?;
        // Bytes of any type are characters here.
        let is_byte = |ty: &Ty| matches!(ty.shape(), Shape::Void) || ty.size() == Some(1);
        let character = || Ty::Builtin(Scalar::new(ScalarKind::SignedChar, 1), "char");
        seen = match (visualize::view(target, &seen), seen.ty.shape()) {
            (Some(View::Sequence { at, element, len }), _) if is_byte(&element) => {
                Value::new(character().array(len), ValueLocation::Memory(at, None))
            }
            (_, Shape::Pointer(of, PointerKind::Raw)) if is_byte(&of) => Value::new(
                character().pointer(),
                ValueLocation::Bytes(Bytes::new(&(seen.raw(target)? as u64).to_le_bytes())),
            ),
            (_, Shape::Array(array)) if is_byte(&array.element) => Value::new(
                character().array(array.count.unwrap_or(0)),
                seen.place.clone(),
            ),
            _ => seen,
        };
        match convert::string(target, &seen)? {
            Some(bytes) => Ok(Value::new(
                Ty::Text,
                ValueLocation::Bytes(Bytes::new(&bytes)),
            )),
            None => Err(Error::eval(format!(
                "expected text, found `{}`",
                value.ty.name()
            ))),
        }
    }

    /// Returns all bytes of a row as text, without the zeros at the end. A 0 before them does not end the text.
    fn as_whole_text(&self, value: &Value) -> Result<Value, Error> {
        let Shape::Array(array) = value.ty.shape() else {
            return self.as_text(value);
        };
        if array.element.size() != Some(1) {
            return self.as_text(value);
        }
        let len = array.count.unwrap_or(0).min(convert::STRING as u64) as usize;
        let bytes = value.place.read(self.context.as_target(), len)?;
        let end = bytes.iter().rposition(|byte| *byte != 0);
        let text = Bytes::new(&bytes[..end.map_or(0, |last| last + 1)]);
        Ok(Value::new(Ty::Text, ValueLocation::Bytes(text)))
    }

    /// Converts enumerators, addresses and characters to numbers if a number format is given.
    fn as_number(&self, value: Value, format: NumberFormat) -> Result<Value, Error> {
        if format == NumberFormat::Natural {
            return Ok(value);
        }
        let is_enumeration = matches!(value.ty.shape(), Shape::Enumeration(_));
        let is_pointer = matches!(value.ty.shape(), Shape::Pointer(_, PointerKind::Raw));
        if !is_enumeration && (!is_pointer || format == NumberFormat::Hex) {
            return Ok(value);
        }
        let operand = convert::operand(self.context.as_target(), &value)?;
        match operand.number {
            Number::Int(int) => Ok(arith::integer(int, self.language)),
            Number::Float(_) => Ok(value),
        }
    }
}

/// Returns the type that a `void *` is treated as pointing to.
fn byte(language: Language) -> Ty {
    let name = if language == Language::Rust {
        "u8"
    } else {
        "unsigned char"
    };
    Ty::Builtin(Scalar::new(ScalarKind::Unsigned, 1), name)
}
