//! Parts of sequences: `v[1..4]`, `p@10`.

use super::convert;
use super::evaluate::{At, DEREFERENCES, Evaluator, error, inner};
use super::interpret::placed;
use super::interpret_match::borrowed;
use super::ir::{self, Expr};
use super::tree::{Kind, Node};
use crate::ids::error::Error;
use crate::inspect::library;
use crate::inspect::value::location::Bytes;
use crate::inspect::value::text::Unit;
use crate::inspect::value::{PointerKind, Shape, Ty, Value, ValueLocation};
use crate::inspect::visualize::{self, View};
use dwarf::LoadAddr;
use std::ops::Range;

/// The bounds of a range in the source; `true`: inclusive.
type Ends<'a> = (&'a Option<Box<Node>>, &'a Option<Box<Node>>, bool);

impl Evaluator<'_> {
    /// Evaluates `p@10`: for a name, the elements that it points to; for `*p` and `a[0]`, those
    /// from there on.
    pub(super) fn repeat(
        &mut self,
        from: &Node,
        count: &Node,
        node: &Node,
    ) -> Result<Value, Error> {
        let value = self.evaluate(from)?;
        let by = self.evaluate(count)?;
        let by = convert::index(self.operand_of(&by, count)?).at(count)?;
        let by = u64::try_from(by)
            .map_err(|_| Error::eval(super::messages::NEGATIVE_COUNT))
            .at(count)?;
        let is_place = matches!(inner(from).kind, Kind::Deref(_) | Kind::Index(..));
        self.repeated(&value, by, !is_place).at(node)
    }

    /// Evaluates `value[from..to]`.
    pub(super) fn slice(
        &mut self,
        value: Value,
        (from, to, inclusive): Ends<'_>,
        node: &Node,
    ) -> Result<Value, Error> {
        let mut end = |node: &Option<Box<Node>>| -> Result<Option<u64>, Error> {
            let Some(node) = node else { return Ok(None) };
            let value = self.evaluate(node)?;
            let index = convert::index(self.operand_of(&value, node)?).at(node)?;
            let index = u64::try_from(index).map_err(|_| Error::eval("negative index"));
            Ok(Some(index.at(node)?))
        };
        let first = end(from)?.unwrap_or(0);
        let last = match (end(to)?, inclusive) {
            (Some(last), true) => Some(last.saturating_add(1)),
            (last, _) => last,
        };
        self.part(value, first, last).at(node)
    }

    /// Evaluates a part of a text or row of Rust, as the bytes of the reference to it.
    pub(super) fn slice_of(
        &mut self,
        object: &Expr<'_>,
        ends: &ir::Ends<'_>,
        inclusive: bool,
        of: &Expr<'_>,
    ) -> Result<Value, Error> {
        let value = self.interpret(object)?;
        let mut end = |end: &Option<Expr<'_>>| -> Result<Option<u64>, Error> {
            let Some(end) = end else { return Ok(None) };
            let index = self.bits(end)? as u64 as i64;
            let negative = || error("negative index", &end.span);
            u64::try_from(index).map(Some).map_err(|_| negative())
        };
        let (first, last) = (end(&ends.from)?, end(&ends.to)?);
        let last = match inclusive {
            true => last.map(|it| it.saturating_add(1)),
            false => last,
        };
        let Some(reference) = of.ty.unsized_reference() else {
            return Err(error("not a slice", &of.span));
        };
        let first = first.unwrap_or(0);
        let part = match library::is_text(&value.ty) {
            true => self.text_part(&value, first, last),
            false => self.part(value, first, last),
        };
        let part = part.map_err(|error| placed(error, of))?;
        let slice = match (part.ty.shape(), part.address()) {
            (Shape::Array(array), Some(addr)) => {
                Value::fat_reference(reference, addr, array.count.unwrap_or(0))
            }
            (Shape::Array(_) | Shape::Text, _) => borrowed(&reference, &part),
            _ => part,
        };
        Ok(Value {
            ty: of.ty.clone(),
            ..slice
        })
    }

    /// Returns a part of a text as the reference to it; a literal's as a text.
    fn text_part(&self, value: &Value, first: u64, last: Option<u64>) -> Result<Value, Error> {
        let target = self.context.as_target();
        let (at, text) = library::text_of(target, value)?;
        let len = text.len() as u64;
        let last = last.unwrap_or(len);
        if first > last {
            return Err(Error::eval(format!(
                "invalid range: {first} is greater than {last}"
            )));
        }
        if last > len {
            return Err(Error::eval(format!(
                "range end {last} is out of range: length is {len}"
            )));
        }
        let is_begin = |at: u64| match text.get(at as usize) {
            Some(byte) => byte & 0xc0 != 0x80,
            None => true,
        };
        if let Some(at) = [first, last].into_iter().find(|it| !is_begin(*it)) {
            let message = format!("byte {at} is not the begin of a character");
            return Err(Error::eval(message));
        }
        Ok(match at {
            Some(at) => Value::fat_reference(Ty::str(), at + first, last - first),
            None => {
                let part = text.get(first as usize..last as usize).unwrap_or_default();
                Value::of_bytes(Ty::Text, part)
            }
        })
    }

    fn part(&self, value: Value, first: u64, last: Option<u64>) -> Result<Value, Error> {
        let target = self.context.as_target();
        let within = |len: Option<u64>| -> Result<Range<u64>, Error> {
            let last = last
                .or(len)
                .ok_or_else(|| Error::eval("a range over a pointer needs an end"))?;
            match len {
                _ if first > last => Err(Error::eval(format!(
                    "invalid range: {first} is greater than {last}"
                ))),
                Some(len) if last > len => Err(Error::eval(format!(
                    "range end {last} is out of range: length is {len}"
                ))),
                _ => Ok(first..last),
            }
        };
        let row = |at: LoadAddr, element: Ty, range: Range<u64>| {
            let offset = range.start.wrapping_mul(element.size().unwrap_or(0));
            let array = element.array(range.end - range.start);
            Ok(Value::new(array, ValueLocation::Memory(at + offset, None)))
        };
        let mut value = value;
        for _ in 0..DEREFERENCES {
            match (visualize::view(target, &value), value.ty.shape()) {
                (Some(View::Sequence { at, element, len }), _) => {
                    return row(at, element, within(Some(len))?);
                }
                (
                    Some(View::Text {
                        at,
                        len,
                        unit: Unit::Byte,
                    }),
                    _,
                ) => {
                    let range = within(Some(len))?;
                    let len = (range.end - range.start).min(convert::STRING as u64);
                    let mut bytes = vec![0; len as usize];
                    if !bytes.is_empty() {
                        target.memory().read(at + range.start, &mut bytes)?;
                    }
                    return Ok(Value::new(
                        Ty::Text,
                        ValueLocation::Bytes(Bytes::new(&bytes)),
                    ));
                }
                (Some(View::Pointee(next) | View::Noted(next, _)), _) => value = next,
                (_, Shape::Array(array)) => {
                    let range = within(array.count)?;
                    let offset = range.start.wrapping_mul(array.stride);
                    let part = array.element.clone().array(range.end - range.start);
                    return Ok(Value::new(part, value.place.offset(offset)));
                }
                (_, Shape::Pointer(of, PointerKind::Reference | PointerKind::Owned)) => {
                    value = value.pointee(target, of)?;
                }
                (_, Shape::Pointer(of, PointerKind::Raw)) => {
                    let at = LoadAddr(value.raw(target)? as u64);
                    return row(at, of, within(None)?);
                }
                _ => break,
            }
        }
        Err(Error::eval(format!("cannot slice a `{}`", value.ty.name())))
    }
}
