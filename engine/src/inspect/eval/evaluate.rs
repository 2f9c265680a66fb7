//! Evaluates a tree in a frame.

use super::arith::{self, Operand};
use super::tree::{Binary, Cast, Kind, Node, Unary};
use super::types::{Layer, TypeName};
use super::{EvalContext, Purpose, types};
use super::{convert, hierarchy};
use crate::ids::error::Error;
use crate::inspect::registers::parts as register_parts;
use crate::inspect::value::location::Bytes;
use crate::inspect::value::scalar::{self, ScalarKind};
use crate::inspect::value::types::ArrayTy;
use crate::inspect::value::{PointerKind, Shape, Target, Ty, Value, ValueLocation, members};
use crate::inspect::visualize::{self, CollectionKind, View};
use dwarf::{Language, LoadAddr};
use std::ops::Range;

/// Maximum number of pointers and boxes that `.` dereferences.
pub(crate) const DEREFERENCES: usize = 16;

/// The state of one evaluation.
pub struct Evaluator<'a> {
    pub(super) context: &'a mut dyn EvalContext,
    pub(super) purpose: Purpose,
    pub(super) language: Language,
    text: &'a str,
}

/// Adds the position of a node to an error without one.
pub(super) trait At<T> {
    fn at(self, node: &Node) -> Result<T, Error>;
}

impl<T> At<T> for Result<T, Error> {
    fn at(self, node: &Node) -> Result<T, Error> {
        self.map_err(|error| match error {
            Error::Eval { message, span } if span.is_empty() => Error::Eval {
                message,
                span: node.span.clone(),
            },
            other => other,
        })
    }
}

impl<T> At<T> for Result<T, String> {
    fn at(self, node: &Node) -> Result<T, Error> {
        self.map_err(|message| error(message, &node.span))
    }
}

pub(super) fn error(message: impl Into<String>, span: &Range<usize>) -> Error {
    Error::Eval {
        message: message.into(),
        span: span.clone(),
    }
}

impl<'a> Evaluator<'a> {
    /// Creates an evaluation in a frame; `text` is the expression's source.
    pub fn new(
        context: &'a mut dyn EvalContext,
        purpose: Purpose,
        language: Language,
        text: &'a str,
    ) -> Self {
        Evaluator {
            context,
            purpose,
            language,
            text,
        }
    }

    /// Returns the expression as it was typed.
    pub(super) fn text(&self) -> &str {
        self.text
    }

    pub(super) fn source_text(&self, node: &Node) -> &str {
        self.text.get(node.span.clone()).unwrap_or("it")
    }

    /// Evaluates a node.
    ///
    /// # Errors
    /// Those of [`super::Expression::evaluate`].
    // The recursion passes through here, so the stack frame is kept small, also in a debug build.
    pub fn evaluate(&mut self, node: &Node) -> Result<Value, Error> {
        match &node.kind {
            Kind::Literal(..)
            | Kind::Number(..)
            | Kind::Text(_)
            | Kind::Name(_)
            | Kind::Register(_)
            | Kind::SizeOfType(_) => self.leaf(node),
            Kind::Paren(inner) => self.evaluate(inner),
            Kind::Unary(operator, inner) => self.unary(*operator, inner, node),
            Kind::Deref(inner) => self.deref(inner, node),
            Kind::AddressOf(inner) => self.address_of(inner, node),
            Kind::Binary(operator, left, right) => self.binary(*operator, left, right, node),
            Kind::And(left, right) => self.both(left, right, false),
            Kind::Or(left, right) => self.both(left, right, true),
            Kind::Choice(condition, yes, no) => self.choice(condition, yes, no),
            Kind::Member(object, name) => self.member(object, name, node),
            Kind::Index(object, index) => self.index(object, index, node),
            Kind::Cast(cast, ty, inner) => self.cast(*cast, ty, inner, node),
            Kind::SizeOf(inner) => self.size_of_node(inner, node),
            Kind::Assign(operator, left, right) => self.assignment(*operator, left, right, node),
            Kind::Step(operator, operand, before) => self.step(*operator, operand, *before, node),
            Kind::Sequence(first, second) => {
                self.evaluate(first)?;
                self.evaluate(second)
            }
            Kind::Repeat(from, count) => self.repeat(from, count, node),
            Kind::Range(..) => Err(error(
                "a range is allowed only in an index, for example `v[1..4]`",
                &node.span,
            )),
            Kind::Call(function, arguments) => self.call(function, arguments, None, node),
        }
    }

    fn leaf(&mut self, node: &Node) -> Result<Value, Error> {
        match &node.kind {
            Kind::Literal(ty, bits) => {
                let size = ty.size().unwrap_or(8).min(16) as usize;
                let bytes = Bytes::new(&bits.to_le_bytes()[..size]);
                Ok(Value::new(ty.clone(), ValueLocation::Bytes(bytes)))
            }
            Kind::Number(value, decimal) => Ok(arith::literal(*value, *decimal, self.language)),
            Kind::Text(bytes) => Ok(Value::new(
                Ty::Text,
                ValueLocation::Bytes(Bytes::new(bytes)),
            )),
            Kind::Register(name) => self.register(name, node),
            Kind::SizeOfType(ty) => self.size_of(&ty.resolve(self.context)?).at(node),
            Kind::Name(name) => self
                .name(name)
                .at(node)?
                .ok_or_else(|| self.no_variable(node)),
            _ => Err(error("not a value", &node.span)),
        }
    }

    /// Evaluates `$rax`, earlier results (`$1`, `$_`), and `$exception`.
    fn register(&self, name: &str, node: &Node) -> Result<Value, Error> {
        let number = name.parse::<usize>();
        if number.is_ok() || name == "_" {
            let known = self.context.previous(number.ok());
            return known.ok_or_else(|| error(format!("no result `${name}` yet"), &node.span));
        }
        if name == "exception" {
            return self.context.exception().at(node);
        }
        let known = self.context.register(name);
        known.ok_or_else(|| error(format!("no register `${name}` on this machine"), &node.span))
    }

    fn unary(&mut self, operator: Unary, inner: &Node, node: &Node) -> Result<Value, Error> {
        let value = self.evaluate(inner)?;
        let operand = self.operand_of(&value, inner)?;
        arith::unary(operator, operand, self.language).at(node)
    }

    /// Evaluates `&&` and `||`: the right operand only if the left one is not `decided`.
    fn both(&mut self, left: &Node, right: &Node, decided: bool) -> Result<Value, Error> {
        let value = if self.truth(left)? == decided {
            decided
        } else {
            self.truth(right)?
        };
        Ok(arith::boolean(value, self.language))
    }

    fn choice(&mut self, condition: &Node, yes: &Node, no: &Node) -> Result<Value, Error> {
        let chosen = if self.truth(condition)? { yes } else { no };
        self.evaluate(chosen)
    }

    fn cast(
        &mut self,
        cast: Cast,
        name: &TypeName,
        inner: &Node,
        node: &Node,
    ) -> Result<Value, Error> {
        let ty = name.resolve(self.context)?;
        let value = match &self::inner(inner).kind {
            Kind::Call(function, arguments) => self.call(function, arguments, Some(&ty), inner)?,
            _ => self.evaluate_as(inner, &ty)?,
        };
        if name.layers.last() == Some(&Layer::Reference)
            && let Shape::Pointer(of, _) = ty.shape()
        {
            let addr = self.address_of_value(value, inner).at(node)?;
            let there = self.cast_to(cast, &ty, &addr).at(node)?;
            return there.pointee(self.context.as_target(), of).at(node);
        }
        self.cast_to(cast, &ty, &value).at(node)
    }

    fn cast_to(&self, cast: Cast, ty: &Ty, value: &Value) -> Result<Value, Error> {
        let target = self.context.as_target();
        let (Shape::Pointer(to, _), Shape::Pointer(from, _)) = (ty.shape(), value.ty.shape())
        else {
            return convert::cast(self.context, ty, value);
        };
        let classes = [&to, &from].map(|it| matches!(it.shape(), Shape::Composite(_)));
        let is_null = value.raw(target)? == 0;
        if cast == Cast::Bits || is_null || classes != [true, true] || to.same_as(&from) {
            return convert::cast(self.context, ty, value);
        }
        let object = value.pointee(target, from)?;
        let part = match cast {
            Cast::Dynamic => hierarchy::in_whole(target, &object, &to)?,
            _ => hierarchy::related(target, &object, &to)?,
        };
        match (part.and_then(|part| part.address()), cast) {
            (Some(addr), _) => Ok(Value::pointer_to(to, addr)),
            (None, Cast::Dynamic) => Ok(Value::pointer_to(to, LoadAddr(0))),
            (None, _) => convert::cast(self.context, ty, value),
        }
    }

    /// Evaluates a node as a condition.
    ///
    /// # Errors
    /// The value is not a boolean, or cannot be evaluated.
    pub fn truth(&mut self, node: &Node) -> Result<bool, Error> {
        // Without calls there are no restarts.
        let may_begin_again = self.purpose != Purpose::Look;
        // A reversed span as the key: the node's value may be stored under the same span.
        let place = node.span.end..node.span.start;
        if may_begin_again && let Some(Ok(before)) = self.context.answered(&place) {
            return Ok(before.raw(self.context.as_target())? != 0);
        }
        let value = self.evaluate(node)?;
        match convert::operand(self.context.as_target(), &value) {
            Ok(operand) => {
                if may_begin_again {
                    let known = arith::boolean(operand.is_true(), self.language);
                    self.context.keep_done(&place, &known);
                }
                Ok(operand.is_true())
            }
            Err(Error::Eval { .. }) => Err(error(
                format!("cannot use a `{}` as a condition", value.ty.name()),
                &node.span,
            )),
            Err(other) => Err(other),
        }
    }

    pub(super) fn name(&mut self, name: &str) -> Result<Option<Value>, Error> {
        if let Some(value) = self.context.variable(name)? {
            return Ok(Some(value));
        }
        match name.rsplit_once("::") {
            Some((path, last)) => {
                let ty = types::named(self.context, path);
                Ok(ty.and_then(|ty| enumerator(&ty, last).or_else(|| extreme(&ty, last))))
            }
            None => {
                let own = match self.language {
                    Language::Cpp => "this",
                    Language::Rust => "self",
                    Language::C => "",
                };
                if name == own {
                    return Ok(None);
                }
                if !own.is_empty()
                    && let Some(object) = self.context.variable(own)?
                    && let Some(member) = self.find_member(&object, name)?
                {
                    return Ok(Some(member));
                }
                if self.language == Language::Rust {
                    return Ok(None);
                }
                let ty = self.context.enumeration_with(name);
                Ok(ty.and_then(|ty| enumerator(&ty, name)))
            }
        }
    }

    pub(super) fn find_member(&self, object: &Value, name: &str) -> Result<Option<Value>, Error> {
        let target = self.context.as_target();
        let mut object = object.clone();
        for _ in 0..DEREFERENCES {
            match object.ty.shape() {
                Shape::Composite(_) => {
                    if let Some(found) = members::find(target, &object, name)? {
                        return Ok(Some(found));
                    }
                    match visualize::view(target, &object) {
                        Some(View::Pointee(next) | View::Noted(next, _)) => object = next,
                        // A member of the dynamic class.
                        _ => match visualize::in_truth(target, object.clone()) {
                            whole if whole.ty.same_as(&object.ty) => return Ok(None),
                            whole => object = whole,
                        },
                    }
                }
                Shape::Pointer(of, _) => object = object.pointee(target, of)?,
                _ => return Ok(None),
            }
        }
        Ok(None)
    }

    fn member(&mut self, object: &Node, name: &str, node: &Node) -> Result<Value, Error> {
        let value = self.evaluate(object)?;
        if let Kind::Register(_) = inner(object).kind
            && let Some(part) =
                register_parts::member(self.context.arch(), &value, name, self.language)
        {
            return Ok(part);
        }
        self.member_of(&value, name, object, node)
    }

    fn member_of(
        &self,
        value: &Value,
        name: &str,
        object: &Node,
        node: &Node,
    ) -> Result<Value, Error> {
        if let Some(found) = self.find_member(value, name).at(node)? {
            return Ok(found);
        }
        Err(self.no_member(value, name, object, node))
    }

    fn deref(&mut self, inner: &Node, node: &Node) -> Result<Value, Error> {
        let value = self.evaluate(inner)?;
        self.deref_value(value, inner).at(node)
    }

    fn deref_value(&self, value: Value, inner: &Node) -> Result<Value, Error> {
        let target = self.context.as_target();
        let value = value.referent(target)?;
        match value.ty.shape() {
            Shape::Pointer(of, _) => match of.shape() {
                Shape::Void => Err(Error::eval(format!(
                    "cannot dereference `{}`: unknown target type; cast it, for example `*(int \
                     *){0}`",
                    self.source_text(inner)
                ))),
                _ => value.pointee(target, of),
            },
            Shape::Array(array) => Ok(element(&value, &array, 0)),
            Shape::Function => Ok(value),
            Shape::Composite(_) => match visualize::view(target, &value) {
                Some(View::Pointee(next) | View::Noted(next, _)) => Ok(next),
                // `*slice`, `*text`, `*vec`: an unsized value exists only behind its pointer.
                Some(View::Text { .. } | View::Sequence { .. })
                    if value.ty.language() == Language::Rust =>
                {
                    Ok(value)
                }
                _ => Err(self.no_pointer(inner, &value)),
            },
            _ => Err(self.no_pointer(inner, &value)),
        }
    }

    fn no_pointer(&self, node: &Node, value: &Value) -> Error {
        Error::eval(format!(
            "cannot dereference `{}`: `{}` is not a pointer",
            self.source_text(node),
            value.ty.name()
        ))
    }

    fn address_of(&mut self, inner: &Node, node: &Node) -> Result<Value, Error> {
        let value = self.evaluate(inner)?;
        // `&v[1..4]` is the same as `v[1..4]`.
        if matches!(&self::inner(inner).kind, Kind::Index(_, index) if matches!(index.kind, Kind::Range(..)))
        {
            return Ok(value);
        }
        self.address_of_value(value, inner).at(node)
    }

    fn address_of_value(&self, value: Value, inner: &Node) -> Result<Value, Error> {
        let value = value.referent(self.context.as_target())?;
        if value.bits.is_some() {
            return Err(Error::eval("cannot take the address of a bit-field"));
        }
        match &value.place {
            ValueLocation::Memory(addr, _) => Ok(Value::pointer_to(value.ty.clone(), *addr)),
            ValueLocation::Register { .. } => Err(Error::eval(format!(
                "cannot take the address of `{}`: stored in a register",
                self.source_text(inner)
            ))),
            ValueLocation::OptimizedOut => Err(Error::OptimizedOut),
            _ => Err(Error::eval(format!(
                "cannot take the address of `{}`: not in memory",
                self.source_text(inner)
            ))),
        }
    }

    fn index(&mut self, object: &Node, index: &Node, node: &Node) -> Result<Value, Error> {
        let value = self.evaluate(object)?;
        if let Kind::Range(from, to, inclusive) = &index.kind {
            return self.slice(value, (from, to, *inclusive), node);
        }
        let by = self.evaluate(index)?;
        if let Some(found) = self.entry_of(&value, &by).at(node)? {
            return Ok(found);
        }
        let by = convert::index(self.operand_of(&by, index)?).at(index)?;
        self.element_of(value, by, object).at(node)
    }

    /// Returns the value of a key if `value` is a map.
    fn entry_of(&self, value: &Value, key: &Value) -> Result<Option<Value>, Error> {
        let target = self.context.as_target();
        let mut value = value.referent(target)?;
        for _ in 0..DEREFERENCES {
            match visualize::view(target, &value) {
                Some(View::Pointee(next) | View::Noted(next, _)) => {
                    value = next;
                    continue;
                }
                Some(View::Collection(map)) if map.kind == CollectionKind::Map => {
                    let key = Key::of(target, key);
                    let is_it = |have: &Value| key.is(target, have);
                    return match map.find(target, is_it)? {
                        Some(found) => Ok(Some(found)),
                        None => Err(Error::eval(super::messages::KEY_NOT_FOUND)),
                    };
                }
                _ => {}
            }
            match value.ty.shape() {
                Shape::Pointer(of, PointerKind::Reference | PointerKind::Owned) => {
                    value = value.pointee(target, of)?;
                }
                _ => break,
            }
        }
        Ok(None)
    }

    fn element_of(&self, value: Value, index: i64, object: &Node) -> Result<Value, Error> {
        let target = self.context.as_target();
        let mut value = value;
        for _ in 0..DEREFERENCES {
            let within = |len: u64| {
                u64::try_from(index)
                    .ok()
                    .filter(|index| *index < len)
                    .ok_or_else(|| Error::eval(super::messages::index_range(index, len)))
            };
            match visualize::view(target, &value) {
                Some(View::Sequence { at, element, len }) => {
                    let offset = within(len)?.wrapping_mul(element.size().unwrap_or(0));
                    return Ok(Value::new(
                        element,
                        ValueLocation::Memory(at + offset, None),
                    ));
                }
                Some(View::Text { at, len, unit }) => {
                    let size = unit.size() as u64;
                    let offset = within(len / size)? * size;
                    let element = unit.element(self.language);
                    return Ok(Value::new(
                        element,
                        ValueLocation::Memory(at + offset, None),
                    ));
                }
                Some(View::Pointee(next) | View::Noted(next, _)) => {
                    value = next;
                    continue;
                }
                Some(View::Invalid(why)) => return Err(Error::eval(why)),
                Some(View::Collection(collection)) => {
                    let index = within(collection.reach())?;
                    let (items, lost) = collection.items(target, index..index + 1)?;
                    return match (items.into_iter().next(), lost) {
                        (Some(item), _) => Ok(item.value),
                        (None, Some(error)) => Err(error),
                        (None, None) => Err(Error::eval("element not found")),
                    };
                }
                Some(View::Fields { .. } | View::Plain(_)) | None => {}
            }
            match value.ty.shape() {
                Shape::Array(array) => {
                    // C allows indexing past the end (`char data[1]`).
                    let checked = self.language == Language::Rust
                        || !matches!(value.place, ValueLocation::Memory(..));
                    if checked {
                        within(array.count.unwrap_or(u64::MAX))?;
                    }
                    return Ok(element(&value, &array, index));
                }
                Shape::Pointer(of, PointerKind::Reference | PointerKind::Owned) => {
                    value = value.pointee(target, of)?;
                }
                Shape::Pointer(of, PointerKind::Raw) => {
                    let Some(size) = of.size() else {
                        return Err(Error::eval(format!(
                            "unknown size of the target of `{}`",
                            self.source_text(object)
                        )));
                    };
                    let at = LoadAddr(value.raw(target)? as u64);
                    let offset = (index as u64).wrapping_mul(size);
                    return Ok(Value::new(of, ValueLocation::Memory(at + offset, None)));
                }
                _ => break,
            }
        }
        Err(Error::eval(format!(
            "`{}` ({}) cannot be indexed",
            self.source_text(object),
            value.ty.name()
        )))
    }

    fn size_of(&self, ty: &Ty) -> Result<Value, Error> {
        match ty.size() {
            Some(size) => Ok(arith::size(size, self.language)),
            None => Err(Error::eval(super::messages::unknown_size(ty))),
        }
    }

    fn size_of_node(&mut self, operand: &Node, node: &Node) -> Result<Value, Error> {
        if let Kind::Name(name) = &inner(operand).kind
            && self.context.variable(name)?.is_none()
            && let Some(ty) = types::named(self.context, name)
        {
            return self.size_of(&ty).at(node);
        }
        let value = self.evaluate(operand)?;
        self.size_of_value(value).at(node)
    }

    fn size_of_value(&self, value: Value) -> Result<Value, Error> {
        if let Shape::Text = value.ty.shape() {
            let len = value.place.literal()?.len() as u64;
            return Ok(arith::size(len + 1, self.language));
        }
        let ty = match value.ty.shape() {
            Shape::Pointer(of, PointerKind::Reference) => of,
            _ => value.ty,
        };
        self.size_of(&ty)
    }

    pub(super) fn operand_of(&self, value: &Value, node: &Node) -> Result<Operand, Error> {
        let mut operand = convert::operand(self.context.as_target(), value).at(node)?;
        operand.flexible = self.language == Language::Rust && is_flexible(node);
        operand.literal = matches!(inner(node).kind, Kind::Literal(..));
        Ok(operand)
    }
}

/// Returns the node inside parentheses.
pub(crate) fn inner(mut node: &Node) -> &Node {
    while let Kind::Paren(inner) = &node.kind {
        node = inner;
    }
    node
}

/// The value to compare elements and keys with, read once.
pub(super) struct Key {
    text: Option<Vec<u8>>,
    number: Option<Operand>,
}

impl Key {
    pub(super) fn of(target: &dyn Target, wanted: &Value) -> Key {
        Key {
            text: convert::string(target, wanted).ok().flatten(),
            number: convert::operand(target, wanted).ok(),
        }
    }

    /// Returns whether a value equals it: the same text, or the same number.
    pub(super) fn is(&self, target: &dyn Target, have: &Value) -> bool {
        if let Some(wanted) = &self.text
            && let Ok(Some(have)) = convert::string(target, have)
        {
            return have == *wanted;
        }
        let Some(wanted) = self.number else {
            return false;
        };
        let Ok(have) = convert::operand(target, have) else {
            return false;
        };
        // Compare as numbers: a literal's type may differ from the key's.
        arith::binary(Binary::Eq, have, wanted, Language::C)
            .and_then(|same| same.raw(target).map_err(|error| error.to_string()))
            .is_ok_and(|same| same == 1)
    }
}

/// Returns whether a number's type is still open, like that of a Rust literal without a suffix.
pub(crate) fn is_flexible(node: &Node) -> bool {
    match &node.kind {
        Kind::Number(..) => true,
        Kind::Paren(inner) | Kind::Unary(_, inner) => is_flexible(inner),
        Kind::Binary(operator, left, right) => {
            !operator.is_comparison() && is_flexible(left) && is_flexible(right)
        }
        _ => false,
    }
}

/// Returns `i32::MAX` and similar constants.
pub(crate) fn extreme(ty: &Ty, name: &str) -> Option<Value> {
    let Shape::Scalar(scalar) = ty.shape() else {
        return None;
    };
    let integral = matches!(scalar.kind, ScalarKind::Signed | ScalarKind::Unsigned);
    let top = scalar::mask(scalar.size) ^ (scalar::mask(scalar.size) >> 1);
    let bits = match (name, scalar.is_signed()) {
        _ if !integral => return None,
        ("MIN", true) => top,
        ("MIN", false) => 0,
        ("MAX", true) => top.wrapping_sub(1),
        ("MAX", false) => scalar::mask(scalar.size),
        _ => return None,
    };
    let size = usize::from(scalar.size).min(16);
    let bytes = Bytes::new(&bits.to_le_bytes()[..size]);
    Some(Value::new(ty.clone(), ValueLocation::Bytes(bytes)))
}

/// Returns a value of an enumeration by its enumerator's name.
pub(crate) fn enumerator(ty: &Ty, name: &str) -> Option<Value> {
    let number = members::enumerator_named(ty, name)?;
    let size = ty.size()?.min(16) as usize;
    Some(Value::new(
        ty.clone(),
        ValueLocation::Bytes(Bytes::new(&number.to_le_bytes()[..size])),
    ))
}

fn element(value: &Value, array: &ArrayTy, index: i64) -> Value {
    let offset = (index as u64).wrapping_mul(array.stride);
    Value::new(array.element.clone(), value.place.offset(offset))
}
