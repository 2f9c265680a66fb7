//! The interpretation of assignments. All values are evaluated and fitted before the first byte is
//! written, so that an error changes nothing.

use super::check::{self, Stop};
use super::evaluate::{Evaluator, error};
use super::interpret::placed;
use super::ir::{Assignment, Expr, Fit, Outcome, Source};
use super::tree::{Kind, Node};
use super::{convert, messages, ownership};
use crate::ids::error::Error;
use crate::inspect::library;
use crate::inspect::value::path::Part;
use crate::inspect::value::{Shape, Value, ValueLocation, members};
use dwarf::{Language, LoadAddr};

/// A place, and the bytes that it gets.
type Write = (Value, Vec<u8>);

/// Whether a place has a valid value of its type.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Old {
    Valid,
    /// It is a field of a variant that is not active, or of an optional without a value.
    Garbage,
}

impl Evaluator<'_> {
    /// Carries out an assignment, unless an earlier evaluation has done so.
    pub(super) fn assigned(
        &mut self,
        assignment: &Assignment<'_>,
        of: &Expr<'_>,
    ) -> Result<Value, Error> {
        if let Some(before) = self.context.answered(&of.span) {
            return before;
        }
        let place = self.interpret(&assignment.place)?;
        if let Some(node) = assignment.operand {
            self.hold(check::key(node), place.clone());
        }
        let was = match assignment.outcome {
            Outcome::Before => Some(self.copied_bytes(&place)?),
            Outcome::Place | Outcome::Value => None,
        };
        let mut writes = Vec::new();
        let now = match self.plan(&place, &assignment.source, Old::Valid, &mut writes) {
            Ok(()) => self
                .write_all(&place, writes)
                .map_err(|it| placed(it, of))?,
            Err(refused) => match self.assign_text(&place, &assignment.source, of)? {
                Some(now) => now,
                None => return Err(placed(refused, of)),
            },
        };
        let value = was.unwrap_or(now);
        self.context.keep_done(&of.span, &value);
        Ok(value)
    }

    /// Returns a value as it is now.
    fn copied_bytes(&self, value: &Value) -> Result<Value, Error> {
        let bytes = value.bytes(self.context.as_target())?;
        Ok(Value::new(value.ty.clone(), ValueLocation::Bytes(bytes)))
    }

    fn write_all(&mut self, place: &Value, writes: Vec<Write>) -> Result<Value, Error> {
        let in_register = |(to, _): &Write| matches!(to.place, ValueLocation::Register { .. });
        if writes.len() > 1 && writes.iter().any(in_register) {
            let message = "cannot assign several parts of a register; assign to them one by one";
            return Err(Error::eval(message));
        }
        for (to, _) in &writes {
            convert::may_write(to)?;
        }
        let mut now = place.clone();
        self.forget_variables();
        for (to, bytes) in writes {
            let written = convert::store(self.context, &to, &bytes)?;
            if same_place(&to, place) {
                now.place = written.place;
            }
        }
        if let ValueLocation::Memory(_, read) = &mut now.place {
            *read = None;
        }
        Ok(now)
    }

    /// Collects the writes of a source.
    fn plan(
        &mut self,
        place: &Value,
        source: &Source<'_>,
        old: Old,
        writes: &mut Vec<Write>,
    ) -> Result<(), Error> {
        let target = self.context.as_target();
        match source {
            Source::Scalar(value, fit) => {
                let bytes = self.scalar_bytes(place, value, *fit)?;
                writes.push((place.clone(), bytes));
            }
            Source::Function(node) => {
                let function = self.handed_on(node)?;
                let addr = match function.ty.shape() {
                    Shape::Function => function.address().ok_or(Error::OptimizedOut)?,
                    _ => LoadAddr(function.raw(self.context.as_target())? as u64),
                };
                writes.push((place.clone(), addr.0.to_le_bytes().to_vec()));
            }
            Source::Copy(value) => {
                let value = self.interpret(value)?;
                if value.place.has_temporary() {
                    return Err(Error::eval(
                        "cannot store a reference to a temporary; refer to a variable of the program",
                    ));
                }
                let value = self.conform(&value, &place.ty)?;
                let bytes = value.bytes(self.context.as_target())?.to_vec();
                writes.push((place.clone(), bytes));
            }
            Source::Text(text) => self.plan_text(place, text, old, writes)?,
            Source::Target(ty, source) => {
                is_valid(place, old)?;
                let place = place.pointee(target, ty.clone())?;
                self.plan(&place, source, old, writes)?;
            }
            Source::Held(held, source) => {
                let never_zero = library::is_never_zero(&place.ty);
                let held = library::held_place(target, place, held)?;
                let first = writes.len();
                self.plan(&held, source, old, writes)?;
                let is_zero = |(_, bytes): &Write| bytes.iter().all(|byte| *byte == 0);
                if never_zero && writes[first..].iter().all(is_zero) {
                    return Err(Error::eval(format!("a `{}` cannot be 0", place.ty.name())));
                }
            }
            Source::Members(values) => {
                for (part, source) in values {
                    let place = part.of(self.context.as_target(), place)?;
                    self.plan(&place, source, old, writes)?;
                }
            }
            Source::Variant(variant, fields) => {
                self.plan_variant(place, variant, fields, old, writes)?;
            }
            Source::Optional(value) => self.plan_optional(place, value.as_deref(), writes)?,
        }
        Ok(())
    }

    /// Returns the bytes of a scalar; a constant that the place cannot hold is refused.
    fn scalar_bytes(
        &mut self,
        place: &Value,
        value: &Expr<'_>,
        fit: Fit,
    ) -> Result<Vec<u8>, Error> {
        if fit == Fit::Exact {
            let source = match &value.kind {
                super::ir::Kind::Convert(source) => source,
                _ => value,
            };
            let bits = self.bits(source)?;
            let number = self.scalar(source)?.number(bits);
            let from = self.scalar(source)?;
            convert::fits(place, number, from).map_err(|it| placed(it, value))?;
        }
        let bits = self.bits(value)?;
        let size = place.ty.size().unwrap_or(8).min(16) as usize;
        Ok(bits.to_le_bytes()[..size].to_vec())
    }

    fn plan_text(
        &mut self,
        place: &Value,
        text: &Expr<'_>,
        old: Old,
        writes: &mut Vec<Write>,
    ) -> Result<(), Error> {
        let value = self.interpret(text)?;
        let target = self.context.as_target();
        let read = convert::string(target, &value)?;
        let bytes = read.ok_or_else(|| Error::eval(messages::no_conversion(&value.ty, &place.ty)));
        let bytes = bytes.map_err(|it| placed(it, text))?;
        if let Shape::Array(_) = place.ty.shape() {
            let characters = convert::characters(place, &bytes);
            writes.push((place.clone(), characters.map_err(|it| placed(it, text))?));
            return Ok(());
        }
        is_valid(place, old)?;
        let changes = library::overwrite_text(target, place, &bytes)?;
        writes.extend(changes);
        Ok(())
    }

    /// Collects the fields and the tag of a variant of a Rust enum. Nothing is dropped: the active
    /// variant must own nothing, unless it stays.
    fn plan_variant(
        &mut self,
        place: &Value,
        variant: &Part,
        fields: &[(Part, Source<'_>)],
        old: Old,
        writes: &mut Vec<Write>,
    ) -> Result<(), Error> {
        let corrupt = || Error::Unsupported("corrupt debug info: a variant".into());
        let (found, holder) = variant.variant().ok_or_else(corrupt)?;
        let Shape::Composite(class) = place.ty.shape() else {
            return Err(corrupt());
        };
        let target = self.context.as_target();
        let held = members::member(target, place, &class, holder)?;
        let old = match old {
            Old::Garbage => Old::Garbage,
            Old::Valid => match members::active_variant(target, place, &class)? {
                Some((active, _)) if active == holder.name => Old::Valid,
                Some((active, contents)) => {
                    if ownership::may_copy(&contents.ty).is_err() {
                        return Err(Error::eval(format!(
                            "cannot overwrite the `{active}`: its contents would never be \
                             dropped; call a method that changes it"
                        )));
                    }
                    Old::Garbage
                }
                None => return Err(corrupt()),
            },
        };
        for (part, source) in fields {
            let field = part.of(self.context.as_target(), &held)?;
            self.plan(&field, source, old, writes)?;
        }
        let tag = class.composite().and_then(|it| it.variants.as_ref());
        let tag = tag.and_then(|it| it.discriminant.as_ref());
        // Without values, the field's value identifies the variant.
        if let (Some(tag), [(low, _)]) = (tag, &found.values[..]) {
            let tag = members::member(self.context.as_target(), place, &class, tag)?;
            let size = tag.ty.size().unwrap_or(0).min(16) as usize;
            writes.push((tag, low.to_le_bytes()[..size].to_vec()));
        }
        Ok(())
    }

    fn plan_optional(
        &mut self,
        place: &Value,
        value: Option<&Source<'_>>,
        writes: &mut Vec<Write>,
    ) -> Result<(), Error> {
        let target = self.context.as_target();
        let parts = library::optional_parts(target, place)?;
        let owns = ownership::may_copy(&parts.value.ty).is_err();
        let engaged = parts.engaged.raw(target)? != 0;
        if let Some(source) = value {
            let old = match engaged {
                true => Old::Valid,
                false => Old::Garbage,
            };
            self.plan(&parts.value, source, old, writes)?;
        } else if engaged && (owns || ownership::is_destroyed(&parts.value.ty)) {
            let name = parts.value.ty.name();
            return Err(Error::eval(format!(
                "the `{name}` would not be destroyed; call `reset()`"
            )));
        }
        writes.push((parts.engaged, vec![u8::from(value.is_some())]));
        Ok(())
    }

    /// Assigns a text for which a C++ string has no room, by the program's `operator=`.
    fn assign_text(
        &mut self,
        place: &Value,
        source: &Source<'_>,
        of: &Expr<'_>,
    ) -> Result<Option<Value>, Error> {
        let Source::Text(text) = source else {
            return Ok(None);
        };
        let is_string = library::is_string(&place.ty);
        if !is_string || self.language != Language::Cpp || !self.may_call() {
            return Ok(None);
        }
        let value = self.interpret(text)?;
        // A reversed span as the key: the result of the value's own call may be stored under the
        // same span.
        let key = Node {
            kind: Kind::Text(Vec::new()),
            span: of.span.end..of.span.start,
            depth: 1,
        };
        let (object, operand) = (key.clone(), key.clone());
        self.remember(&object, place.clone());
        self.remember(&operand, value);
        let done = self.evaluate_checked(|checker| {
            let (object, operand) = (checker.check(&object)?, checker.check(&operand)?);
            let call = checker.member_function(object, "operator=", &[operand], &key)?;
            call.ok_or_else(|| Stop::Wrong(error("no `operator=`", &key.span)))
        });
        match done {
            Ok(_) => Ok(Some(place.clone())),
            Err(Error::Calling) => Err(Error::Calling),
            Err(_) => Ok(None),
        }
    }
}

/// Checks that a place can be read as a value of its type.
fn is_valid(place: &Value, old: Old) -> Result<(), Error> {
    match old {
        Old::Valid => Ok(()),
        Old::Garbage => Err(Error::eval(format!(
            "cannot create a `{}`; assign a value that exists",
            place.ty.name()
        ))),
    }
}

fn same_place(a: &Value, b: &Value) -> bool {
    match (&a.place, &b.place) {
        (ValueLocation::Memory(a, _), ValueLocation::Memory(b, _)) => a == b,
        (ValueLocation::Register { .. }, ValueLocation::Register { .. }) => true,
        _ => false,
    }
}
