//! The interpreter of `match`: tests of values, and what they bind.

use super::evaluate::{Evaluator, error};
use super::ir::Expr;
use super::made::{Match, Rest, Search, Searched, Test};
use super::soft;
use super::tree::Order;
use crate::ids::error::Error;
use crate::inspect::language::rust;
use crate::inspect::library;
use crate::inspect::value::location::Bytes;
use crate::inspect::value::{Shape, Ty, Value, ValueLocation, members, synthetic};
use crate::inspect::visualize::{self, View};
use dwarf::LoadAddr;
use std::cmp::Ordering;
use std::sync::Arc;

impl Evaluator<'_> {
    /// Evaluates the arm that fits.
    pub(super) fn matched(&mut self, of: &Match<'_>, whole: &Expr<'_>) -> Result<Value, Error> {
        let value = self.interpret(&of.of)?;
        for arm in &of.arms {
            let holds = self.holds_for(&arm.test, &value)?;
            let before = self.known().bind(&arm.bound);
            let taken = match &arm.guard {
                Some(guard) if holds => self.decided(guard),
                _ => Ok(holds),
            };
            // A repeated evaluation takes the same way.
            let taken = taken.and_then(|taken| self.once(&arm.span, |_| Ok(taken)));
            let result = match taken {
                Ok(true) => Some(self.interpret(&arm.body).and_then(|value| {
                    let is_other = arm.body.is_late()
                        && !matches!(whole.ty, Ty::Void)
                        && !super::check::same_type(&value.ty, &whole.ty);
                    match is_other {
                        true => {
                            let (wanted, found) = (whole.ty.name(), value.ty.name());
                            let why =
                                format!("mismatched types: expected `{wanted}`, found `{found}`");
                            Err(error(why, &arm.body.span))
                        }
                        false => Ok(value),
                    }
                })),
                Ok(false) => None,
                Err(error) => Some(Err(error)),
            };
            self.known().unbind(before);
            if let Some(result) = result {
                return result;
            }
        }
        let why = "no pattern fits the value; add an arm `_ => …`";
        Err(error(why, &whole.span))
    }

    /// Searches the elements of a row by a closure.
    pub(super) fn searched(&mut self, search: &Search<'_>, ty: &Ty) -> Result<Value, Error> {
        let value = self.interpret(&search.of)?;
        let elements = library::elements(self.context.as_target(), &value)?;
        let was_searching = std::mem::replace(&mut self.is_searching, true);
        let found = self.first_of(search, elements);
        self.is_searching = was_searching;
        let found = found?;
        let target = self.context.as_target();
        let truth = |truth: bool| Ok(Value::of_bytes(ty.clone(), &[u8::from(truth)]));
        let found = match (search.searched, found) {
            (Searched::Any, found) => return truth(found.is_some()),
            (Searched::All, found) => return truth(found.is_none()),
            (_, None) => return Value::variant(target, ty.clone(), "None", None),
            (Searched::Position, Some((at, _))) => {
                let index = rust::builtin("usize").unwrap_or(Ty::Void);
                Value::of_bytes(index, &at.to_le_bytes())
            }
            (Searched::Find, Some((_, item))) => item,
        };
        Value::variant(target, ty.clone(), "Some", Some(&found))
    }

    /// Returns the first element that ends a search, with its index.
    fn first_of(
        &mut self,
        search: &Search<'_>,
        elements: Vec<Value>,
    ) -> Result<Option<(u64, Value)>, Error> {
        let saved = self.saved();
        for (element, index) in elements.into_iter().zip(0u64..) {
            if self.context.as_target().cancelled() {
                return Err(Error::Cancelled);
            }
            let item = borrowed(&search.item, &element);
            if !self.holds_for(&search.test, &item)? {
                return Err(Error::eval(
                    "the closure's parameter does not fit the elements",
                ));
            }
            let before = self.known().bind(&search.bound);
            let holds = self.interpret(&search.body);
            self.known().unbind(before);
            let holds = holds?.raw(self.context.as_target())? != 0;
            self.restore(&saved);
            if holds != (search.searched == Searched::All) {
                return Ok(Some((index, item)));
            }
        }
        Ok(None)
    }

    /// Returns whether a test holds for a value, whose parts it binds.
    pub(super) fn holds_for(&mut self, test: &Test<'_>, value: &Value) -> Result<bool, Error> {
        let target = self.context.as_target();
        match test {
            Test::Always => Ok(true),
            Test::Bind(key, ty, inner) => {
                if !self.holds_for(inner, value)? {
                    return Ok(false);
                }
                let bound = match ty.same_as(&value.ty) {
                    true => value.clone(),
                    false => borrowed(ty, value),
                };
                self.hold(*key, bound);
                Ok(true)
            }
            Test::Equal(wanted) => {
                let wanted = self.interpret(wanted)?;
                let target = self.context.as_target();
                Ok(library::compare(target, value, &wanted)? == Some(Ordering::Equal))
            }
            Test::Within(from, to, inclusive) => {
                let bits = value.raw(target)?;
                let mut ordered = |end: &Expr<'_>, order: Order| -> Result<bool, Error> {
                    let (scalar, end) = self.scalar_of(end)?;
                    Ok(soft::holds(order, soft::compare(scalar, bits, end)))
                };
                let last = match inclusive {
                    true => Order::Le,
                    false => Order::Lt,
                };
                let starts = from
                    .as_ref()
                    .map_or(Ok(true), |it| ordered(it, Order::Ge))?;
                Ok(starts && to.as_ref().map_or(Ok(true), |it| ordered(it, last))?)
            }
            Test::Referent(inner) => {
                let Shape::Pointer(of, _) = value.ty.shape() else {
                    return Err(Error::eval("not a reference"));
                };
                let value = value.pointee(target, of)?;
                self.holds_for(inner, &value)
            }
            Test::Variant(name, tests) => {
                let Some((active, contents)) = self.active(value)? else {
                    return Ok(false);
                };
                if active != *name {
                    return Ok(false);
                }
                self.all_hold(tests, &contents)
            }
            Test::Fields(tests) => self.all_hold(tests, value),
            Test::Row(before, after, rest) => self.row_holds(before, after, rest, value),
            Test::Any(tests) => {
                for test in tests {
                    if self.holds_for(test, value)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
        }
    }

    fn all_hold(&mut self, tests: &[(String, Test<'_>)], object: &Value) -> Result<bool, Error> {
        for (name, test) in tests {
            let field = self.field(object, name)?;
            if !self.holds_for(test, &field)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns the active variant of an enum, and the object that has its fields.
    pub(super) fn active(&self, value: &Value) -> Result<Option<(String, Value)>, Error> {
        let target = self.context.as_target();
        match value.ty.shape() {
            Shape::Synthetic(_) => {
                let active = synthetic::active_variant(target, value)?;
                Ok(active.map(|(name, held)| {
                    let parts: Vec<Ty> = held.iter().map(|it| it.ty.clone()).collect();
                    let place = held.map_or(ValueLocation::Bytes(Bytes::new(&[])), |it| it.place);
                    (name.to_owned(), Value::new(Ty::tuple(parts), place))
                }))
            }
            Shape::Composite(class) => members::active_variant(target, value, &class),
            Shape::Enumeration(class) => {
                let bits = value.raw(target)?;
                let enumeration = class.enumeration();
                let size = value.ty.size().unwrap_or(8).min(16) as usize;
                let known = enumeration.into_iter().flat_map(|it| &it.enumerators);
                let mut fitting = known.filter(|it| {
                    let number = Bytes::new(&it.value.to_le_bytes()[..size]);
                    crate::inspect::value::scalar::bits_of(&number) == bits
                });
                let name = fitting.next().map(|it| it.name.clone());
                Ok(name.map(|name| (name, value.clone())))
            }
            _ => Ok(None),
        }
    }

    /// Returns a field of an object by its name.
    pub(super) fn field(&self, object: &Value, name: &str) -> Result<Value, Error> {
        let target = self.context.as_target();
        let found = match object.ty.shape() {
            Shape::Synthetic(_) => match synthetic::parts(object) {
                Some(parts) => {
                    let index = match name {
                        "start" => Some(0),
                        "end" | "last" => parts.len().checked_sub(1),
                        name => name.parse::<usize>().ok(),
                    };
                    index.and_then(|it| parts.into_iter().nth(it))
                }
                None => None,
            },
            _ => members::find(target, object, name)?,
        };
        found.ok_or_else(|| Error::eval(format!("no field `{name}` of `{}`", object.ty.name())))
    }

    fn row_holds(
        &mut self,
        before: &[Test<'_>],
        after: &[Test<'_>],
        rest: &Rest,
        value: &Value,
    ) -> Result<bool, Error> {
        let target = self.context.as_target();
        let mut value = value.clone();
        if let Some(View::Pointee(next)) = visualize::view(target, &value) {
            value = next;
        }
        let (place, element, len, stride) =
            match (visualize::view(target, &value), value.ty.shape()) {
                (Some(View::Sequence { at, element, len }), _) => {
                    let stride = element.size().unwrap_or(0);
                    (ValueLocation::Memory(at, None), element, len, stride)
                }
                (_, Shape::Array(array)) => {
                    let len = array.count.unwrap_or(0);
                    (
                        value.place.clone(),
                        array.element.clone(),
                        len,
                        array.stride,
                    )
                }
                _ => return Err(Error::eval("not a slice")),
            };
        let fixed = (before.len() + after.len()) as u64;
        if len < fixed || len > fixed && matches!(rest, Rest::None) {
            return Ok(false);
        }
        let first_after = len - after.len() as u64;
        if let Rest::Bound(key, ty) = rest {
            let place = place.offset(stride.wrapping_mul(before.len() as u64));
            let part = Value::new(element.clone().rust_array(len - fixed), place);
            let bound = match (ty.shape(), part.address()) {
                (Shape::Array(_), _) => part,
                (Shape::Synthetic(_), Some(at)) => {
                    Value::fat_reference(ty.clone(), at, len - fixed)
                }
                _ => borrowed(ty, &part),
            };
            self.hold(*key, bound);
        }
        let tests = before
            .iter()
            .zip(0..)
            .chain(after.iter().zip(first_after..));
        for (test, index) in tests {
            let place = place.offset(stride.wrapping_mul(index));
            let element = Value::new(element.clone(), place);
            if !self.holds_for(test, &element)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Returns a reference of this type to a value.
pub(super) fn borrowed(ty: &Ty, value: &Value) -> Value {
    match (value.address(), &value.place) {
        (Some(LoadAddr(addr)), _) => Value::of_bytes(ty.clone(), &addr.to_le_bytes()),
        _ => Value::new(
            ty.clone(),
            ValueLocation::Temporary(Arc::new(value.clone())),
        ),
    }
}
