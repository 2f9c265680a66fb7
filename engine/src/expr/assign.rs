//! Assignments: `a = b`, `a += b`, `++a`, and assignments by requests.

use super::convert;
use super::evaluate::{At, DEREFERENCES, Evaluator, error, inner};
use super::names::enumerator;
use super::tree::{Binary, Kind, Node};
use super::{Purpose, arith, ownership};
use crate::ids::error::Error;
use crate::inspect::value::location::Bytes;
use crate::inspect::value::{PointerKind, Shape, Ty, Value, ValueLocation, members};
use dwarf::Variant;

impl Evaluator<'_> {
    pub(super) fn assignment(
        &mut self,
        operator: Option<Binary>,
        left: &Node,
        right: &Node,
        node: &Node,
    ) -> Result<Value, Error> {
        self.may_change(node)?;
        if let Some(before) = self.context.answered(&node.span) {
            return before;
        }
        let to = self.evaluate(left)?;
        let now = match operator {
            None => self.assign(&to, right),
            Some(operator) => {
                let value = self.binary(operator, left, right, node)?;
                self.store(&to, &self.wrapped(&to, value)).at(node)
            }
        }?;
        self.context.keep_done(&node.span, &now);
        Ok(now)
    }

    fn may_change(&self, node: &Node) -> Result<(), Error> {
        match self.purpose {
            Purpose::Look | Purpose::Decide => Err(error(
                "assignments are allowed only on the console and in watches",
                &node.span,
            )),
            Purpose::Change | Purpose::Command => Ok(()),
        }
    }

    /// Evaluates `++a` and `a--`; `before`: the result is the old value.
    pub(super) fn step(
        &mut self,
        operator: Binary,
        operand: &Node,
        before: bool,
        node: &Node,
    ) -> Result<Value, Error> {
        self.may_change(node)?;
        if let Some(before) = self.context.answered(&node.span) {
            return before;
        }
        let to = self.evaluate(operand)?;
        let target = self.context.as_target();
        let was = to.referent(target)?;
        let was = Value::new(
            was.ty.clone(),
            ValueLocation::Bytes(Bytes::new(&was.bytes(target)?)),
        );
        let one = arith::literal(1, true, self.language);
        let next = self.binary_of(operator, (&was, operand), (&one, node), node)?;
        let now = self.store(&to, &self.wrapped(&to, next)).at(node)?;
        let value = if before { was } else { now };
        self.context.keep_done(&node.span, &value);
        Ok(value)
    }

    /// Converts the result of C's `+=` and `++` to the type of the place.
    fn wrapped(&self, to: &Value, value: Value) -> Value {
        if self.language == dwarf::Language::Rust || to.bits.is_some() {
            return value;
        }
        let ty = match to.ty.shape() {
            Shape::Pointer(of, PointerKind::Reference) => of,
            _ => to.ty.clone(),
        };
        match ty.shape() {
            Shape::Scalar(_) => convert::cast(self.context, &ty, &value).unwrap_or(value),
            _ => value,
        }
    }

    /// Assigns the value of a node to a place. Returns the new value.
    ///
    /// # Errors
    /// The value does not fit, or the place cannot be written.
    pub fn assign(&mut self, to: &Value, node: &Node) -> Result<Value, Error> {
        if let Some(now) = self.assign_variant(to, node)? {
            return Ok(now);
        }
        let value = self.evaluate_as(node, &to.ty)?;
        if let Some(now) = self.assign_by_operator(to, &value, node)? {
            return Ok(now);
        }
        self.store(to, &value).at(node)
    }

    /// Assigns to an object of a C++ class with a user-defined `operator=`, by calling it.
    fn assign_by_operator(
        &mut self,
        to: &Value,
        value: &Value,
        node: &Node,
    ) -> Result<Option<Value>, Error> {
        let to = to.referent(self.context.as_target())?;
        let is_class = matches!(to.ty.shape(), Shape::Composite(_));
        if self.language != dwarf::Language::Cpp || !is_class {
            return Ok(None);
        }
        let Err(refused) = ownership::may_copy(&to.ty) else {
            return Ok(None);
        };
        if matches!(self.purpose, Purpose::Look | Purpose::Decide) {
            let why = format!("{refused}; assign on the console to call it");
            return Err(error(why, &node.span));
        }
        // A reversed span as the key: the result of the value's own call may be stored under the
        // same span.
        let key = Node {
            kind: Kind::Text(Vec::new()),
            span: node.span.end..node.span.start,
            depth: 1,
        };
        let arguments = std::slice::from_ref(value);
        match self
            .invoke_method(&to, "operator=", arguments, &key)
            .at(node)?
        {
            Some(_) => Ok(Some(to)),
            None => Err(error(refused, &node.span)),
        }
    }

    /// Assigns `None`, `Shape::Empty`, `Some(3)` to a Rust enum with data: its tag, and the
    /// variant's one field. The old value is not dropped.
    fn assign_variant(&mut self, to: &Value, node: &Node) -> Result<Option<Value>, Error> {
        let Shape::Composite(ty) = to.ty.shape() else {
            return Ok(None);
        };
        let (name, payload) = match &inner(node).kind {
            Kind::Name(name) => (name, None),
            Kind::Call(function, arguments) => match (&inner(function).kind, &arguments[..]) {
                (Kind::Name(name), [payload]) => (name, Some(payload)),
                _ => return Ok(None),
            },
            _ => return Ok(None),
        };
        let Some(part) = ty.composite().and_then(|it| it.variants.as_ref()) else {
            return Ok(None);
        };
        if payload.is_none() && self.context.variable(name)?.is_some() {
            return Ok(None);
        }
        let name = members::last_component(name);
        let holder = |it: &Variant| it.members.first().cloned();
        let found = part
            .variants
            .iter()
            .find_map(|it| holder(it).filter(|it| it.name == name).map(|at| (it, at)));
        let Some((variant, holder)) = found else {
            return Ok(None);
        };
        let target = self.context.as_target();
        let held = members::member(target, to, &ty, &holder)?;
        let field = members::find(target, &held, "0")?;
        match (&field, payload) {
            (Some(field), Some(payload)) => {
                self.assign(field, payload)?;
            }
            (None, None) if members::names(target, &held).is_empty() => {}
            _ => {
                let what = match payload {
                    Some(_) => "does not have exactly one unnamed field",
                    None => "has fields; assign `Variant(value)`, or assign to its fields",
                };
                return Err(error(format!("`{name}` {what}"), &node.span));
            }
        }
        match (&part.discriminant, &variant.values[..]) {
            (Some(tag), [(low, high)]) if low == high => {
                let target = self.context.as_target();
                let tag = members::member(target, to, &ty, tag)?;
                let size = tag.ty.size().unwrap_or(0).min(16) as usize;
                convert::store(self.context, &tag, &low.to_le_bytes()[..size])?;
                self.forget_variables();
            }
            // The field's value identifies the variant.
            (_, []) if field.is_some() => {}
            (None, _) => {}
            _ => {
                return Err(error(
                    format!("cannot assign `{name}`: several tag values mean it"),
                    &node.span,
                ));
            }
        }
        let place = match &to.place {
            ValueLocation::Memory(addr, _) => ValueLocation::Memory(*addr, None),
            other => other.clone(),
        };
        Ok(Some(Value::new(to.ty.clone(), place)))
    }

    pub(super) fn store(&mut self, to: &Value, value: &Value) -> Result<Value, Error> {
        let target = self.context.as_target();
        let mut to = to.clone();
        for _ in 0..DEREFERENCES {
            match to.ty.shape() {
                Shape::Pointer(of, PointerKind::Reference) => to = to.pointee(target, of)?,
                Shape::Pointer(of, PointerKind::Owned)
                    if !matches!(value.ty.shape(), Shape::Pointer(..)) =>
                {
                    to = to.pointee(target, of)?;
                }
                _ => break,
            }
        }
        let value = value.referent(target)?;
        match to.ty.shape() {
            Shape::Composite(_) | Shape::Array(_) if !matches!(value.ty, Ty::Text) => {
                ownership::may_copy(&to.ty).map_err(Error::eval)?;
            }
            // A box would share another's memory.
            Shape::Pointer(_, PointerKind::Owned) if !to.ty.name().starts_with('&') => {
                ownership::may_copy(&to.ty).map_err(Error::eval)?;
            }
            _ => {}
        }
        let bytes = convert::encode(target, &to, &value)?;
        let now = convert::store(self.context, &to, &bytes);
        self.forget_variables();
        now
    }

    /// Evaluates a node that is converted to `ty`: a bare name may be an enumerator of it.
    pub(super) fn evaluate_as(&mut self, node: &Node, ty: &Ty) -> Result<Value, Error> {
        if let Kind::Name(name) = &inner(node).kind
            && let Some(value) = enumerator(ty, name)
        {
            return Ok(value);
        }
        match ty.shape() {
            Shape::Pointer(of, _) if matches!(of.shape(), Shape::Function) => self.handed_on(node),
            _ => self.evaluate(node),
        }
    }
}
