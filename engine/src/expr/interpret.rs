//! The interpreter of checked expressions.

use super::evaluate::{Evaluator, error};
use super::ir::{Expr, Kind, Overflow};
use super::soft::{self, Undefined};
use super::tree::{Binary, Order};
use super::{Purpose, check, convert, exact, messages};
use crate::ids::error::Error;
use crate::inspect::library::{self, Contents, Method};
use crate::inspect::value::location::Bytes;
use crate::inspect::value::scalar::Scalar;
use crate::inspect::value::types::ArrayTy;
use crate::inspect::value::{PointerKind, Shape, Value, ValueLocation};
use crate::inspect::visualize::{self, View};
use dwarf::{Language, LoadAddr};
use std::ops::Range;

impl Evaluator<'_> {
    /// Evaluates a checked expression.
    ///
    /// # Errors
    /// Unreadable memory; an operation without a result.
    pub(super) fn interpret(&mut self, of: &Expr<'_>) -> Result<Value, Error> {
        match &of.kind {
            Kind::Known(node, _) => self.held(check::key(node)),
            Kind::Variable(storage, name, node, _) => self.variable_of(*storage, name, node),
            Kind::Late(node) => self.evaluate(node),
            Kind::Deref(inner) => {
                let pointer = self.interpret(inner)?;
                pointer.pointee(self.context.as_target(), of.ty.clone())
            }
            Kind::Part(object, part) => {
                let object = self.interpret(object)?;
                let found = part.of(self.context.as_target(), &object);
                found.map_err(|error| placed(error, of))
            }
            Kind::Pointee(pointer) => {
                let pointer = self.interpret(pointer)?;
                self.pointee(&pointer, of)
            }
            Kind::Element(array, index, ty) => {
                let array = self.interpret(array)?;
                let index = self.bits(index)? as u64 as i64;
                self.element(&array, index, ty, of)
            }
            Kind::Choice(condition, yes, no) => {
                let chosen = if self.decided(condition)? { yes } else { no };
                self.interpret(chosen)
            }
            Kind::Sequence(first, second) => {
                self.interpret(first)?;
                self.interpret(second)
            }
            Kind::Assign(assignment) => self.assigned(assignment, of),
            Kind::Cpp(form) => self.interpret_cpp(form, of),
            Kind::Text(bytes) => Ok(Value::of_bytes(of.ty.clone(), bytes)),
            Kind::Slice(object, ends, inclusive) => self.slice_of(object, ends, *inclusive, of),
            Kind::Retyped(inner) => {
                let value = self.interpret(inner)?;
                Ok(Value {
                    ty: of.ty.clone(),
                    ..value
                })
            }
            Kind::Cast(cast, inner) => {
                let value = self.interpret(inner)?;
                let cast = self.cast_to(*cast, &of.ty, &value);
                cast.map_err(|error| placed(error, of))
            }
            Kind::Item(container, by) => self.item(container, by, of),
            Kind::Answer(method, operands) => self.answer(method, operands, of),
            Kind::Elementwise(each, operands) => self.elementwise(*each, operands, of),
            Kind::Call(call) => self.perform(call, &of.ty),
            Kind::Made(made) => self.made(made, of),
            Kind::Match(matching) => self.matched(matching, of),
            Kind::Search(search) => self.searched(search, &of.ty),
            Kind::Iterate(iteration) => self.iterated(iteration, &of.ty),
            Kind::Bound(key) => self.held(*key),
            Kind::AddressOf(to) if check::is_reference(&of.ty) => self.reference(to, of),
            _ => {
                let bits = self.bits(of)?;
                let size = of.ty.size().unwrap_or(8).min(16) as usize;
                let bytes = Bytes::new(&bits.to_le_bytes()[..size]);
                Ok(Value::new(of.ty.clone(), ValueLocation::Bytes(bytes)))
            }
        }
    }

    /// Evaluates a condition on which it depends what is evaluated next. A repeated evaluation
    /// takes the same way, even if a call has changed the operands.
    pub(super) fn decided(&mut self, of: &Expr<'_>) -> Result<bool, Error> {
        self.once(&of.span, |it| it.holds(of))
    }

    /// Evaluates a condition at a position of the text, unless an earlier evaluation has done so.
    pub(super) fn once(
        &mut self,
        span: &Range<usize>,
        evaluate: impl FnOnce(&mut Self) -> Result<bool, Error>,
    ) -> Result<bool, Error> {
        // Without calls there are no restarts.
        // Neither are there in a search, which evaluates the same positions again.
        let may_begin_again = self.purpose != Purpose::Look && !self.is_searching;
        // A reversed span as the key: the value may be stored under the same span.
        let key = span.end..span.start;
        if may_begin_again && let Some(Ok(before)) = self.context.answered(&key) {
            return Ok(before.raw(self.context.as_target())? != 0);
        }
        let holds = evaluate(self)?;
        if may_begin_again {
            let value = super::arith::boolean(holds, self.language);
            self.context.keep_done(&key, &value);
        }
        Ok(holds)
    }

    /// Evaluates a condition.
    fn holds(&mut self, of: &Expr<'_>) -> Result<bool, Error> {
        match &of.kind {
            Kind::Late(node) => self.truth(node),
            Kind::Not(inner) => Ok(!self.holds(inner)?),
            Kind::And(a, b) => Ok(self.decided(a)? && self.decided(b)?),
            Kind::Or(a, b) => Ok(self.decided(a)? || self.decided(b)?),
            Kind::Compare(order, a, b) => self.compared(*order, a, b),
            Kind::CompareTexts(order, a, b) => self.compared_texts(*order, a, b, of),
            Kind::IsVariant(value, name) => self.is_variant_named(value, name, of),
            _ => {
                let bits = self.bits(of)?;
                Ok(soft::is_true(self.scalar(of)?, bits))
            }
        }
    }

    pub(super) fn scalar(&self, of: &Expr<'_>) -> Result<Scalar, Error> {
        let scalar = check::scalar(&of.ty);
        scalar.ok_or_else(|| error(messages::no_number(&of.ty), &of.span))
    }

    /// Evaluates a scalar to its bits.
    pub(super) fn bits(&mut self, of: &Expr<'_>) -> Result<u128, Error> {
        match &of.kind {
            Kind::Constant(bits) => Ok(*bits),
            Kind::Known(..)
            | Kind::Variable(..)
            | Kind::Late(_)
            | Kind::Deref(_)
            | Kind::Part(..)
            | Kind::Pointee(_)
            | Kind::Element(..)
            | Kind::Choice(..)
            | Kind::Cpp(_)
            | Kind::Sequence(..)
            | Kind::Assign(_)
            | Kind::Text(_)
            | Kind::Slice(..)
            | Kind::Retyped(_)
            | Kind::Cast(..)
            | Kind::Item(..)
            | Kind::Answer(..)
            | Kind::Elementwise(..)
            | Kind::Made(_)
            | Kind::Match(_)
            | Kind::Search(_)
            | Kind::Iterate(_)
            | Kind::Bound(_)
            | Kind::Call(_) => self.loaded(of),
            Kind::Decay(inner) => self.address(inner),
            Kind::AddressOf(inner) => {
                let value = self.interpret(inner)?;
                self.location_of(&value, &inner.span)
            }
            Kind::Convert(inner) => {
                let bits = self.bits(inner)?;
                Ok(soft::converted(self.scalar(inner)?, bits, self.scalar(of)?))
            }
            Kind::Saturate(inner) => {
                let bits = self.bits(inner)?;
                Ok(soft::saturated(self.scalar(inner)?, bits, self.scalar(of)?))
            }
            Kind::Negate(inner, overflow) => {
                let bits = self.bits(inner)?;
                let (result, exact) = soft::negated(self.scalar(of)?, bits);
                self.in_range(result, exact || *overflow == Overflow::Wraps, "-", of)
            }
            Kind::Complement(inner) => {
                let bits = self.bits(inner)?;
                Ok(soft::complement(self.scalar(of)?, bits))
            }
            Kind::Arithmetic(operator, a, b, overflow) => {
                self.arithmetic(*operator, a, b, *overflow, of)
            }
            Kind::Shift(operator, a, by, overflow) => self.shift(*operator, a, by, *overflow, of),
            Kind::Offset(operator, address, by, size) => {
                let (address, by) = (self.bits(address)? as u64, self.bits(by)? as u64);
                let offset = by.wrapping_mul(*size);
                Ok(u128::from(match operator {
                    Binary::Sub => address.wrapping_sub(offset),
                    _ => address.wrapping_add(offset),
                }))
            }
            Kind::Distance(a, b, size) => {
                let (a, b) = (self.bits(a)? as u64, self.bits(b)? as u64);
                let size = i64::try_from(*size).unwrap_or(i64::MAX);
                let distance = (a.wrapping_sub(b) as i64).wrapping_div(size.max(1));
                Ok(u128::from(distance as u64))
            }
            Kind::Compare(..)
            | Kind::CompareTexts(..)
            | Kind::IsVariant(..)
            | Kind::Not(_)
            | Kind::And(..)
            | Kind::Or(..) => Ok(u128::from(self.holds(of)?)),
        }
    }

    /// Returns the object that a smart pointer or wrapper stands for.
    fn pointee(&self, pointer: &Value, of: &Expr<'_>) -> Result<Value, Error> {
        match visualize::view(self.context.as_target(), pointer) {
            Some(View::Pointee(next) | View::Noted(next, _)) => Ok(next),
            Some(View::Invalid(why)) => Err(error(why, &of.span)),
            Some(View::Plain(state)) => {
                let state = if state == "nullptr" { "null" } else { &state };
                let message = format!("cannot dereference: the pointer is {state}");
                Err(error(message, &of.span))
            }
            _ => {
                let name = pointer.ty.name();
                Err(error(format!("this `{name}` has no target"), &of.span))
            }
        }
    }

    /// Returns an element of an array. C allows indexing past the end (`char data[1]`).
    fn element(
        &self,
        array: &Value,
        index: i64,
        ty: &ArrayTy,
        of: &Expr<'_>,
    ) -> Result<Value, Error> {
        let is_checked =
            self.language == Language::Rust || !matches!(array.place, ValueLocation::Memory(..));
        let len = ty.count.unwrap_or(u64::MAX);
        if is_checked && u64::try_from(index).map_or(true, |index| index >= len) {
            return Err(error(messages::index_range(index, len), &of.span));
        }
        let offset = (index as u64).wrapping_mul(ty.stride);
        Ok(Value::new(ty.element.clone(), array.place.offset(offset)))
    }

    /// Returns an element of a container, by its key or index.
    fn item(&mut self, container: &Expr<'_>, by: &Expr<'_>, of: &Expr<'_>) -> Result<Value, Error> {
        let value = self.interpret(container)?;
        let by_value = self.interpret(by)?;
        let found = match library::contents(&container.ty) {
            Some(Contents::Map(..)) => self.entry_of(&value, &by_value),
            _ => {
                let index = by_value.raw(self.context.as_target())? as u64 as i64;
                self.element_at(&value, index)
            }
        };
        found.map_err(|error| placed(error, of))
    }

    /// Reads what a library's method returns for its object, the first operand.
    fn answer(
        &mut self,
        method: &Method,
        operands: &[Expr<'_>],
        of: &Expr<'_>,
    ) -> Result<Value, Error> {
        let mut values = Vec::new();
        for operand in operands {
            values.push(self.interpret(operand)?);
        }
        let Some((object, arguments)) = values.split_first() else {
            return Err(error("no object", &of.span));
        };
        let target = self.context.as_target();
        let object = method.object(target, object)?;
        let answer = method.evaluate(target, &object, arguments);
        let mut answer = answer.map_err(|error| placed(error, of))?;
        // The method's own type lacks the `const`.
        if exact::points_to_const(&of.ty) {
            answer.ty = of.ty.clone();
        }
        Ok(answer)
    }

    fn compared_texts(
        &mut self,
        order: Order,
        a: &Expr<'_>,
        b: &Expr<'_>,
        of: &Expr<'_>,
    ) -> Result<bool, Error> {
        let (x, y) = (self.interpret(a)?, self.interpret(b)?);
        let target = self.context.as_target();
        // A null pointer has no text: it is neither equal to one nor before or after it.
        for value in [&x, &y] {
            if matches!(value.ty.shape(), Shape::Pointer(_, PointerKind::Raw))
                && value.raw(target)? == 0
            {
                return Ok(order == Order::Ne);
            }
        }
        let text = |value: &Value| {
            let text = convert::string(target, value);
            let no_text = || error(format!("`{}` is no string", value.ty.name()), &of.span);
            text.map_err(|error| placed(error, of))?.ok_or_else(no_text)
        };
        Ok(order.of(text(&x)?.cmp(&text(&y)?)))
    }

    /// Returns whether a value is a variant of its type.
    fn is_variant_named(
        &mut self,
        value: &Expr<'_>,
        name: &str,
        of: &Expr<'_>,
    ) -> Result<bool, Error> {
        let value = self.interpret(value)?;
        let target = self.context.as_target();
        if name == "nullopt" {
            return match library::truth(target, &value) {
                Some(has_value) => Ok(!has_value?),
                None => Err(error("this is no optional", &of.span)),
            };
        }
        let active = library::variant(target, &value);
        let active = active.map_err(|error| placed(error, of))?;
        Ok(active.is_some_and(|(active, _)| active == name))
    }

    /// Returns the address of a value.
    fn location_of(&self, value: &Value, span: &Range<usize>) -> Result<u128, Error> {
        let source = || self.text().get(span.clone()).unwrap_or("it");
        let why = match &value.place {
            _ if value.bits.is_some() => "a bit-field",
            ValueLocation::Memory(LoadAddr(addr), _) => return Ok(u128::from(*addr)),
            ValueLocation::Register { .. } => "stored in a register",
            ValueLocation::OptimizedOut => return Err(Error::OptimizedOut),
            _ => "not in memory",
        };
        let message = format!("cannot take the address of `{}`: {why}", source());
        Err(error(message, span))
    }

    /// Evaluates a scalar to its type and its bits.
    pub(super) fn scalar_of(&mut self, of: &Expr<'_>) -> Result<(Scalar, u128), Error> {
        Ok((self.scalar(of)?, self.bits(of)?))
    }

    fn loaded(&mut self, of: &Expr<'_>) -> Result<u128, Error> {
        self.interpret(of)?.raw(self.context.as_target())
    }

    fn address(&mut self, of: &Expr<'_>) -> Result<u128, Error> {
        let value = self.interpret(of)?;
        match value.address() {
            Some(LoadAddr(addr)) => Ok(u128::from(addr)),
            None => Err(Error::OptimizedOut),
        }
    }

    fn compared(&mut self, order: Order, a: &Expr<'_>, b: &Expr<'_>) -> Result<bool, Error> {
        let (x, y) = (self.bits(a)?, self.bits(b)?);
        Ok(soft::holds(order, soft::compare(self.scalar(a)?, x, y)))
    }

    fn arithmetic(
        &mut self,
        operator: Binary,
        a: &Expr<'_>,
        b: &Expr<'_>,
        overflow: Overflow,
        of: &Expr<'_>,
    ) -> Result<u128, Error> {
        let (a, b) = (self.bits(a)?, self.bits(b)?);
        let (result, exact) = match soft::arithmetic(operator, self.scalar(of)?, a, b) {
            Ok(found) => found,
            Err(Undefined::DivisionByZero) => return Err(error("division by zero", &of.span)),
            Err(Undefined::Float) => {
                let symbol = operator.symbol();
                return Err(error(
                    format!("`{symbol}` is not defined for floats"),
                    &of.span,
                ));
            }
        };
        // The processor does not wrap a quotient around: the program would end.
        let wraps = overflow == Overflow::Wraps && !matches!(operator, Binary::Div | Binary::Rem);
        self.in_range(result, exact || wraps, operator.symbol(), of)
    }

    fn in_range(
        &self,
        result: u128,
        is_in_range: bool,
        symbol: &str,
        of: &Expr<'_>,
    ) -> Result<u128, Error> {
        if is_in_range {
            return Ok(result);
        }
        let remedy = match symbol {
            "-" if matches!(of.kind, Kind::Negate(..)) => "",
            _ => "; cast an operand to a wider type",
        };
        let message = format!("`{symbol}` overflows `{}`{remedy}", of.ty.name());
        Err(error(message, &of.span))
    }

    fn shift(
        &mut self,
        operator: Binary,
        value: &Expr<'_>,
        by: &Expr<'_>,
        overflow: Overflow,
        of: &Expr<'_>,
    ) -> Result<u128, Error> {
        let bits = self.bits(value)?;
        let count = self.bits(by)?;
        let count = soft::int(self.scalar(by)?, count);
        if count.is_negative() {
            return Err(error(messages::NEGATIVE_SHIFT, &of.span));
        }
        let scalar = self.scalar(of)?;
        let width = u128::from(scalar.size) * 8;
        // C leaves shifts by the width or more undefined; here all bits are shifted out.
        if overflow == Overflow::Fails && count.bits >= width {
            let message = format!(
                "shift count {} is out of range: width is {width}",
                count.bits
            );
            return Err(error(message, &of.span));
        }
        Ok(soft::shifted(operator, scalar, bits, count.bits))
    }
}

/// Adds the position of an expression to an error without one.
pub(super) fn placed(error: Error, of: &Expr<'_>) -> Error {
    match error {
        Error::Eval { message, span } if span.is_empty() => Error::Eval {
            message,
            span: of.span.clone(),
        },
        other => other,
    }
}
