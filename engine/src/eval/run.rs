//! Tree → value, in a frame.

use super::arith::{self, Operand};
use super::convert;
use super::tree::{Binary, Kind, Node, Unary};
use super::{EvalContext, Purpose, types};
use crate::error::Error;
use crate::value::place::Bytes;
use crate::value::scalar::{Int, Number, Scalar, ScalarKind};
use crate::value::types::ArrayTy;
use crate::value::{Place, PointerKind, Shape, Ty, Value, members};
use crate::visualize::{self, View};
use dwarf::{Language, LoadAddr};
use std::ops::Range;

/// Pointers and boxes that `.` looks through.
const DEREFERENCES: usize = 16;

/// One evaluation.
pub struct Run<'a> {
    context: &'a mut dyn EvalContext,
    purpose: Purpose,
    language: Language,
    text: &'a str,
}

/// Gives an error the place that is to blame, unless it has one.
trait At<T> {
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

fn error(message: impl Into<String>, span: &Range<usize>) -> Error {
    Error::Eval {
        message: message.into(),
        span: span.clone(),
    }
}

impl<'a> Run<'a> {
    /// An evaluation in a frame of the expression that `text` was.
    pub fn new(
        context: &'a mut dyn EvalContext,
        purpose: Purpose,
        language: Language,
        text: &'a str,
    ) -> Self {
        Run {
            context,
            purpose,
            language,
            text,
        }
    }

    fn said(&self, node: &Node) -> &str {
        self.text.get(node.span.clone()).unwrap_or("it")
    }

    /// The value of a node.
    ///
    /// # Errors
    /// As [`super::Expression::evaluate`].
    pub fn evaluate(&mut self, node: &Node) -> Result<Value, Error> {
        match &node.kind {
            Kind::Literal(ty, bits) => {
                let size = ty.size().unwrap_or(8).min(16) as usize;
                let bytes = Bytes::new(&bits.to_le_bytes()[..size]);
                Ok(Value::new(ty.clone(), Place::Bytes(bytes)))
            }
            Kind::Number(value) => Ok(arith::literal(*value, self.language)),
            Kind::Text(bytes) => Ok(Value::new(Ty::Text, Place::Bytes(Bytes::new(bytes)))),
            Kind::Name(name) => self.name(name).at(node)?.ok_or_else(|| no_variable(node)),
            Kind::Register(name) => self
                .context
                .register(name)
                .ok_or_else(|| error(format!("no register `${name}` here"), &node.span)),
            Kind::Paren(inner) => self.evaluate(inner),
            Kind::Unary(operator, inner) => {
                let operand = self.operand(inner)?;
                arith::unary(*operator, operand, self.language).at(node)
            }
            Kind::Deref(inner) => self.deref(inner).at(node),
            Kind::AddressOf(inner) => self.address_of(inner).at(node),
            Kind::Binary(operator, left, right) => self.binary(*operator, left, right, node),
            Kind::And(left, right) => {
                let value = self.truth(left)? && self.truth(right)?;
                Ok(arith::boolean(value, self.language))
            }
            Kind::Or(left, right) => {
                let value = self.truth(left)? || self.truth(right)?;
                Ok(arith::boolean(value, self.language))
            }
            Kind::Choice(condition, yes, no) => {
                if self.truth(condition)? {
                    self.evaluate(yes)
                } else {
                    self.evaluate(no)
                }
            }
            Kind::Member(object, name) => self.member(object, name, node),
            Kind::Index(object, index) => self.index(object, index).at(node),
            Kind::Cast(ty, inner) => {
                let ty = ty.resolve(self.context)?;
                let value = self.evaluate_as(inner, &ty)?;
                convert::cast(self.context, &ty, &value).at(node)
            }
            Kind::SizeOfType(ty) => {
                // `sizeof(x)` of a variable whose name is that of no type is parsed as one.
                let ty = ty.resolve(self.context)?;
                self.size_of(&ty).at(node)
            }
            Kind::SizeOf(inner) => self.size_of_node(inner).at(node),
            Kind::Assign(operator, left, right) => {
                if self.purpose == Purpose::Look {
                    return Err(error(
                        "an assignment is not possible here, where values are only looked at",
                        &node.span,
                    ));
                }
                let to = self.evaluate(left)?;
                match operator {
                    None => self.assign(&to, right),
                    Some(operator) => {
                        let value = self.binary(*operator, left, right, node)?;
                        self.store(&to, &value).at(node)
                    }
                }
            }
        }
    }

    /// Whether a node's value counts as true.
    ///
    /// # Errors
    /// It is neither true nor false, or cannot be evaluated.
    pub fn truth(&mut self, node: &Node) -> Result<bool, Error> {
        let value = self.evaluate(node)?;
        let operand = convert::operand(self.context.as_target(), &value);
        match operand {
            Ok(operand) => Ok(operand.is_true()),
            Err(Error::Eval { .. }) => Err(error(
                format!("a `{}` is neither true nor false", value.ty.name()),
                &node.span,
            )),
            Err(other) => Err(other),
        }
    }

    /// Assigns the value of a node to a place.
    ///
    /// # Errors
    /// The value does not fit, or there is no place to write to.
    pub fn assign(&mut self, to: &Value, node: &Node) -> Result<Value, Error> {
        let value = self.evaluate_as(node, &to.ty)?;
        self.store(to, &value).at(node)
    }

    fn store(&mut self, to: &Value, value: &Value) -> Result<Value, Error> {
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
        let bytes = convert::encode(target, &to, &value)?;
        convert::store(self.context, &to, &bytes)
    }

    /// Evaluates a node that is to become a `ty`: there a bare name may be an enumerator.
    fn evaluate_as(&mut self, node: &Node, ty: &Ty) -> Result<Value, Error> {
        if let Kind::Name(name) = &inner(node).kind
            && let Some(value) = enumerator(ty, name)
        {
            return Ok(value);
        }
        self.evaluate(node)
    }

    fn name(&mut self, name: &str) -> Result<Option<Value>, Error> {
        if let Some(value) = self.context.variable(name)? {
            return Ok(Some(value));
        }
        match name.rsplit_once("::") {
            Some((path, last)) => {
                let enumeration = types::named(self.context, path);
                Ok(enumeration.and_then(|ty| enumerator(&ty, last)))
            }
            None => {
                let own = match self.language {
                    Language::Cpp => "this",
                    Language::Rust => "self",
                    Language::C => return Ok(None),
                };
                if name == own {
                    return Ok(None);
                }
                let Some(object) = self.context.variable(own)? else {
                    return Ok(None);
                };
                self.find_member(&object, name)
            }
        }
    }

    fn find_member(&self, object: &Value, name: &str) -> Result<Option<Value>, Error> {
        let target = self.context.as_target();
        let mut object = object.clone();
        for _ in 0..DEREFERENCES {
            match object.ty.shape() {
                Shape::Composite(_) => {
                    if let Some(found) = members::find(target, &object, name)? {
                        return Ok(Some(found));
                    }
                    match visualize::view(target, &object) {
                        Some(View::Pointee(next)) => object = next,
                        _ => return Ok(None),
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
        if let Some(found) = self.find_member(&value, name).at(node)? {
            return Ok(found);
        }
        let target = self.context.as_target();
        let mut holder = value.clone();
        for _ in 0..DEREFERENCES {
            match holder.ty.shape() {
                Shape::Pointer(of, _) => holder = holder.pointee(target, of)?,
                _ => break,
            }
        }
        let said = self.said(object);
        let mut names = members::names(target, &holder);
        let message = if names.is_empty() {
            format!("`{said}` ({}) has no members", value.ty.name())
        } else {
            let more = names.len() > 12;
            names.truncate(12);
            format!(
                "`{said}` ({}) has no member `{name}`; it has {}{}",
                value.ty.name(),
                names.join(", "),
                if more { ", …" } else { "" }
            )
        };
        Err(error(message, &node.span))
    }

    fn deref(&mut self, inner: &Node) -> Result<Value, Error> {
        let value = self.evaluate(inner)?;
        let target = self.context.as_target();
        let value = value.referent(target)?;
        match value.ty.shape() {
            Shape::Pointer(of, _) => match of.shape() {
                Shape::Void => Err(Error::eval(format!(
                    "`{}` points to nobody knows what; cast it first, as in `*(int *){0}`",
                    self.said(inner)
                ))),
                _ => value.pointee(target, of),
            },
            Shape::Array(array) => Ok(element(&value, &array, 0)),
            Shape::Function => Ok(value),
            Shape::Composite(_) => match visualize::view(target, &value) {
                Some(View::Pointee(next)) => Ok(next),
                _ => Err(self.no_pointer(inner, &value)),
            },
            _ => Err(self.no_pointer(inner, &value)),
        }
    }

    fn no_pointer(&self, node: &Node, value: &Value) -> Error {
        Error::eval(format!(
            "`{}` ({}) is no pointer",
            self.said(node),
            value.ty.name()
        ))
    }

    fn address_of(&mut self, inner: &Node) -> Result<Value, Error> {
        let value = self.evaluate(inner)?;
        let value = value.referent(self.context.as_target())?;
        if value.bits.is_some() {
            return Err(Error::eval("a bit field has no address"));
        }
        match &value.place {
            Place::Memory(addr, _) => Ok(Value::pointer_to(value.ty.clone(), *addr)),
            Place::Register { .. } => Err(Error::eval(format!(
                "`{}` is in a register and has no address",
                self.said(inner)
            ))),
            Place::OptimizedOut => Err(Error::OptimizedOut),
            _ => Err(Error::eval(format!(
                "`{}` is not in memory and has no address",
                self.said(inner)
            ))),
        }
    }

    fn index(&mut self, object: &Node, index: &Node) -> Result<Value, Error> {
        let value = self.evaluate(object)?;
        let index = convert::index(self.operand(index)?)?;
        let target = self.context.as_target();
        let mut value = value;
        for _ in 0..DEREFERENCES {
            let within = |len: u64| {
                u64::try_from(index)
                    .ok()
                    .filter(|index| *index < len)
                    .ok_or_else(|| {
                        Error::eval(format!("there are {len} elements, none is [{index}]"))
                    })
            };
            match visualize::view(target, &value) {
                Some(View::Sequence { at, element, len }) => {
                    let offset = within(len)?.wrapping_mul(element.size().unwrap_or(0));
                    return Ok(Value::new(element, Place::Memory(at + offset, None)));
                }
                Some(View::Text { at, len, unit }) => {
                    let offset = within(len / unit as u64)? * unit as u64;
                    let (kind, name) = match (unit, self.language) {
                        (1, Language::Rust) => (ScalarKind::Unsigned, "u8"),
                        (1, _) => (ScalarKind::SignedChar, "char"),
                        (2, _) => (ScalarKind::Utf, "char16_t"),
                        _ => (ScalarKind::Utf, "char32_t"),
                    };
                    let ty = Ty::Builtin(Scalar::new(kind, unit as u8), name);
                    return Ok(Value::new(ty, Place::Memory(at + offset, None)));
                }
                Some(View::Pointee(next)) => {
                    value = next;
                    continue;
                }
                Some(View::Invalid(why)) => return Err(Error::eval(why)),
                None => {}
            }
            match value.ty.shape() {
                Shape::Array(array) => {
                    // C arrays are indexed past their end (`char data[1]`).
                    let checked = self.language == Language::Rust
                        || !matches!(value.place, Place::Memory(..));
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
                            "the size of what `{}` points to is not known",
                            self.said(object)
                        )));
                    };
                    let at = LoadAddr(value.raw(target)? as u64);
                    let offset = (index as u64).wrapping_mul(size);
                    return Ok(Value::new(of, Place::Memory(at + offset, None)));
                }
                _ => break,
            }
        }
        Err(Error::eval(format!(
            "`{}` ({}) cannot be indexed",
            self.said(object),
            value.ty.name()
        )))
    }

    fn size_of(&self, ty: &Ty) -> Result<Value, Error> {
        match ty.size() {
            Some(size) => Ok(arith::size(size, self.language)),
            None => Err(Error::eval(format!(
                "the size of `{}` is not known",
                ty.name()
            ))),
        }
    }

    fn size_of_node(&mut self, node: &Node) -> Result<Value, Error> {
        if let Kind::Name(name) = &inner(node).kind
            && self.context.variable(name)?.is_none()
            && let Some(ty) = types::named(self.context, name)
        {
            return self.size_of(&ty);
        }
        let value = self.evaluate(node)?;
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

    fn operand(&mut self, node: &Node) -> Result<Operand, Error> {
        let value = self.evaluate(node)?;
        self.operand_of(&value, node)
    }

    fn operand_of(&self, value: &Value, node: &Node) -> Result<Operand, Error> {
        let mut operand = convert::operand(self.context.as_target(), value).at(node)?;
        operand.flexible = self.language == Language::Rust && is_flexible(node);
        Ok(operand)
    }

    fn binary(
        &mut self,
        operator: Binary,
        left: &Node,
        right: &Node,
        node: &Node,
    ) -> Result<Value, Error> {
        let mut a = self.evaluate_or_unknown(left)?;
        let mut b = self.evaluate_or_unknown(right)?;
        match (&a, &b) {
            (Some(known), None) => {
                if let Some(value) = self.variant_test(operator, known, right)? {
                    return Ok(value);
                }
                b = named_by(known, right);
            }
            (None, Some(known)) => {
                if let Some(value) = self.variant_test(operator, known, left)? {
                    return Ok(value);
                }
                a = named_by(known, left);
                if a.is_none()
                    && let Some(value) = self.cast_after_all(operator, left, known)?
                {
                    return Ok(value);
                }
            }
            _ => {}
        }
        let a = a.ok_or_else(|| no_variable(inner(left)))?;
        let b = b.ok_or_else(|| no_variable(inner(right)))?;
        if operator.is_comparison()
            && let Some(value) = self.compare_strings(operator, &a, &b).at(node)?
        {
            return Ok(value);
        }
        if let Some(value) = self.pointers(operator, &a, &b).at(node)? {
            return Ok(value);
        }
        let (a, b) = (self.operand_of(&a, left)?, self.operand_of(&b, right)?);
        arith::binary(operator, a, b, self.language).at(node)
    }

    /// A bare name that means nothing by itself may still be an enumerator of the other side.
    fn evaluate_or_unknown(&mut self, node: &Node) -> Result<Option<Value>, Error> {
        match &inner(node).kind {
            Kind::Name(name) => self.name(name).at(node),
            _ => self.evaluate(node).map(Some),
        }
    }

    /// `option == None`: whether a Rust enum is at a variant.
    fn variant_test(
        &self,
        operator: Binary,
        value: &Value,
        name: &Node,
    ) -> Result<Option<Value>, Error> {
        let (Kind::Name(name), Binary::Eq | Binary::Ne) = (&inner(name).kind, operator) else {
            return Ok(None);
        };
        let target = self.context.as_target();
        let mut value = value.clone();
        while let Shape::Pointer(of, PointerKind::Owned) = value.ty.shape() {
            value = value.pointee(target, of)?;
        }
        let Shape::Composite(ty) = value.ty.shape() else {
            return Ok(None);
        };
        let name = members::last_component(name);
        let variants = ty.composite().and_then(|it| it.variants.as_ref());
        let known = variants.is_some_and(|part| {
            let mut members = part.variants.iter().filter_map(|it| it.members.first());
            members.any(|member| member.name == name)
        });
        if !known {
            return Ok(None);
        }
        let active = members::active_variant(target, &value, &ty)?;
        let is = active.is_some_and(|(active, _)| active == name);
        Ok(Some(arith::boolean(
            is == (operator == Binary::Eq),
            self.language,
        )))
    }

    /// `(T) - x`, once it has turned out that `T` is a type and no variable.
    fn cast_after_all(
        &mut self,
        operator: Binary,
        left: &Node,
        operand: &Value,
    ) -> Result<Option<Value>, Error> {
        let (Kind::Paren(_), Kind::Name(name)) = (&left.kind, &inner(left).kind) else {
            return Ok(None);
        };
        let Some(ty) = types::named(self.context, name) else {
            return Ok(None);
        };
        let target = self.context.as_target();
        let value = match operator {
            Binary::Sub | Binary::Add => {
                let unary = if operator == Binary::Sub {
                    Unary::Minus
                } else {
                    Unary::Plus
                };
                let number = convert::operand(target, operand)?;
                arith::unary(unary, number, self.language).map_err(Error::eval)?
            }
            Binary::Mul => match operand.ty.shape() {
                Shape::Pointer(of, _) => operand.pointee(target, of)?,
                _ => return Ok(None),
            },
            Binary::BitAnd => match operand.address() {
                Some(addr) => Value::pointer_to(operand.ty.clone(), addr),
                None => return Ok(None),
            },
            _ => return Ok(None),
        };
        convert::cast(self.context, &ty, &value).map(Some)
    }

    fn compare_strings(
        &self,
        operator: Binary,
        a: &Value,
        b: &Value,
    ) -> Result<Option<Value>, Error> {
        let is_literal = |value: &Value| matches!(value.ty, Ty::Text);
        // Two `char *` are compared as addresses, as C does.
        let may_be_text = |value: &Value| {
            matches!(
                value.ty.shape(),
                Shape::Composite(_)
                    | Shape::Pointer(_, PointerKind::Owned | PointerKind::Reference)
            )
        };
        let any_literal = is_literal(a) || is_literal(b);
        if !any_literal && !(may_be_text(a) && may_be_text(b)) {
            return Ok(None);
        }
        let target = self.context.as_target();
        match (convert::string(target, a)?, convert::string(target, b)?) {
            (Some(a), Some(b)) => Ok(Some(arith::boolean(
                arith::holds(operator, Some(a.cmp(&b))),
                self.language,
            ))),
            _ if any_literal => {
                let other = if is_literal(a) { b } else { a };
                Err(Error::eval(format!(
                    "a `{}` cannot be compared with a string",
                    other.ty.name()
                )))
            }
            _ => Ok(None),
        }
    }

    /// Arithmetic and comparison of addresses; `None`: none is involved.
    fn pointers(&self, operator: Binary, a: &Value, b: &Value) -> Result<Option<Value>, Error> {
        let target = self.context.as_target();
        let pointer = |value: &Value| -> Result<Option<(u64, Ty)>, Error> {
            let value = value.referent(target)?;
            match value.ty.shape() {
                Shape::Pointer(of, PointerKind::Raw) => Ok(Some((value.raw(target)? as u64, of))),
                Shape::Array(array) => match value.address() {
                    Some(addr) => Ok(Some((addr.0, array.element.clone()))),
                    None => Ok(None),
                },
                Shape::Function => match value.address() {
                    Some(addr) => Ok(Some((addr.0, value.ty.clone()))),
                    None => Ok(None),
                },
                _ => Ok(None),
            }
        };
        let (left, right) = (pointer(a)?, pointer(b)?);
        if left.is_none() && right.is_none() {
            return Ok(None);
        }
        let address = |side: &Option<(u64, Ty)>, value: &Value| -> Result<u64, Error> {
            match (side, value.ty.shape()) {
                (Some((addr, _)), _) => Ok(*addr),
                // A Rust reference next to a raw pointer is meant as an address.
                (None, Shape::Pointer(..)) => Ok(value.raw(target)? as u64),
                (None, _) => match convert::operand(target, value)?.number {
                    Number::Int(int) => Ok(int.value() as u64),
                    Number::Float(_) => Err(Error::eval("a float is no address")),
                },
            }
        };
        if operator.is_comparison() {
            let ordering = address(&left, a)?.cmp(&address(&right, b)?);
            let value = arith::holds(operator, Some(ordering));
            return Ok(Some(arith::boolean(value, self.language)));
        }
        let size = |of: &Ty| of.size().unwrap_or(1).max(1);
        match (operator, &left, &right) {
            (Binary::Sub, Some((x, of)), Some((y, _))) => {
                let distance = x.wrapping_sub(*y) as i64 / size(of) as i64;
                let int = Int::new(distance as u128, 8, true);
                Ok(Some(arith::integer(int, self.language)))
            }
            (Binary::Add | Binary::Sub, Some((addr, of)), None) => {
                let by = convert::index(convert::operand(target, b)?)?;
                let by = if operator == Binary::Sub {
                    by.wrapping_neg()
                } else {
                    by
                };
                let offset = (by as u64).wrapping_mul(size(of));
                Ok(Some(Value::pointer_to(
                    of.clone(),
                    LoadAddr(*addr) + offset,
                )))
            }
            (Binary::Add, None, Some((addr, of))) => {
                let by = convert::index(convert::operand(target, a)?)?;
                let offset = (by as u64).wrapping_mul(size(of));
                Ok(Some(Value::pointer_to(
                    of.clone(),
                    LoadAddr(*addr) + offset,
                )))
            }
            // Bits of an address: as of an integer of its width.
            (Binary::BitAnd | Binary::BitOr | Binary::BitXor | Binary::Shl | Binary::Shr, ..)
            | (Binary::Rem, Some(_), None) => Ok(None),
            _ => Err(Error::eval(format!(
                "`{}` is not possible with pointers",
                operator.symbol()
            ))),
        }
    }
}

fn no_variable(node: &Node) -> Error {
    let name = match &node.kind {
        Kind::Name(name) => name,
        _ => "",
    };
    error(format!("no variable `{name}` here"), &node.span)
}

/// What is in parentheses.
fn inner(mut node: &Node) -> &Node {
    while let Kind::Paren(inner) = &node.kind {
        node = inner;
    }
    node
}

fn is_flexible(node: &Node) -> bool {
    match &node.kind {
        Kind::Number(_) => true,
        Kind::Paren(inner) | Kind::Unary(_, inner) => is_flexible(inner),
        Kind::Binary(operator, left, right) => {
            !operator.is_comparison() && is_flexible(left) && is_flexible(right)
        }
        _ => false,
    }
}

/// A value of an enumeration by its enumerator's name.
fn enumerator(ty: &Ty, name: &str) -> Option<Value> {
    let number = members::enumerator_named(ty, name)?;
    let size = ty.size()?.min(16) as usize;
    Some(Value::new(
        ty.clone(),
        Place::Bytes(Bytes::new(&number.to_le_bytes()[..size])),
    ))
}

fn named_by(known: &Value, node: &Node) -> Option<Value> {
    match &inner(node).kind {
        Kind::Name(name) => {
            let ty = match known.ty.shape() {
                Shape::Pointer(of, PointerKind::Reference | PointerKind::Owned) => of,
                _ => known.ty.clone(),
            };
            enumerator(&ty, name)
        }
        _ => None,
    }
}

fn element(value: &Value, array: &ArrayTy, index: i64) -> Value {
    let offset = (index as u64).wrapping_mul(array.stride);
    Value::new(array.element.clone(), value.place.offset(offset))
}
