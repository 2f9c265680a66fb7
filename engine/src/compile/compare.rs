//! Comparison of values, by the rules of [`crate::inspect::library::compare`].

use super::checked::Number;
use super::code::{BoolExpr, Float, Int, Order, Width};
use super::containers::{Row, compare};
use super::lower::Compiler;
use super::numbers::{address_in, float_at, int_of, width};
use super::{NotCompilable, RuntimeLocation, RuntimeValue, probe};
use crate::expr::check;
use crate::inspect::library::{self, Comparison, Contents};
use crate::inspect::value::scalar::{self, ScalarKind};
use crate::inspect::value::{PointerKind, Shape, members};
use crate::inspect::visualize::{View, view};
use dwarf::Language;

/// Maximum nesting of compared values.
const NESTING: usize = 16;

fn refused(a: &RuntimeValue, b: &RuntimeValue) -> NotCompilable {
    let (a, b) = (a.ty.name(), b.ty.name());
    NotCompilable::new(format!("comparing `{a}` and `{b}` is not supported"))
}

/// Returns the result of an order if one value exists and the other does not: `None` is the least.
fn unequal(order: Order, first_exists: bool) -> BoolExpr {
    BoolExpr::Constant(match order {
        Order::Eq => false,
        Order::Ne => true,
        Order::Lt | Order::Le => !first_exists,
        Order::Gt | Order::Ge => first_exists,
    })
}

/// Returns the result of an order for values that are equal.
fn of_equal(order: Order) -> bool {
    matches!(order, Order::Eq | Order::Le | Order::Ge)
}

/// Returns the order without equality.
fn strict(order: Order) -> Order {
    match order {
        Order::Le => Order::Lt,
        Order::Ge => Order::Gt,
        order => order,
    }
}

impl Compiler<'_> {
    /// Lowers a comparison of objects.
    pub(super) fn comparison(
        &self,
        comparison: Comparison,
        a: &RuntimeValue,
        b: &RuntimeValue,
    ) -> Result<RuntimeValue, NotCompilable> {
        let order = match comparison {
            Comparison::Equal => Order::Eq,
            Comparison::NotEqual => Order::Ne,
            Comparison::Less => Order::Lt,
            Comparison::LessOrEqual => Order::Le,
            Comparison::Greater => Order::Gt,
            Comparison::GreaterOrEqual => Order::Ge,
            Comparison::Order | Comparison::PartialOrder => {
                return Err("the order of two values as an object".into());
            }
        };
        let truth = self.ordered(order, a, b)?;
        Ok(self.boolean(truth))
    }

    /// Returns whether two values are equal.
    pub(super) fn equal(
        &self,
        a: &RuntimeValue,
        b: &RuntimeValue,
    ) -> Result<BoolExpr, NotCompilable> {
        self.ordered(Order::Eq, a, b)
    }

    /// Returns whether two values are in an order.
    pub(super) fn ordered(
        &self,
        order: Order,
        a: &RuntimeValue,
        b: &RuntimeValue,
    ) -> Result<BoolExpr, NotCompilable> {
        match order {
            Order::Ne => Ok(self.within(Order::Eq, a, b, NESTING)?.not()),
            order => self.within(order, a, b, NESTING),
        }
    }

    fn within(
        &self,
        order: Order,
        a: &RuntimeValue,
        b: &RuntimeValue,
        depth: usize,
    ) -> Result<BoolExpr, NotCompilable> {
        let (a, b) = (a.plain()?, b.plain()?);
        let Some(depth) = depth.checked_sub(1) else {
            return Err(refused(&a, &b));
        };
        a.decided(&|a| b.decided(&|b| self.one(order, a, b, depth)))
    }

    /// Compares two values of which neither is a choice or a reference.
    fn one(
        &self,
        order: Order,
        a: &RuntimeValue,
        b: &RuntimeValue,
        depth: usize,
    ) -> Result<BoolExpr, NotCompilable> {
        let is_reference = |it: &RuntimeValue| {
            matches!(it.place, RuntimeLocation::Referent(_))
                || matches!(it.ty.shape(), Shape::Pointer(_, kind) if kind != PointerKind::Raw)
        };
        if is_reference(a) || is_reference(b) {
            return self.within(order, a, b, depth);
        }
        if let (Some(a), Some(b)) = (self.number_in(a)?, self.number_in(b)?) {
            return compare_numbers(order, a, b);
        }
        if let Some((a, b)) = self.iterators(a, b)? {
            return Ok(compare(order, &a, &b));
        }
        if library::is_text(&a.ty) && library::is_text(&b.ty) {
            return self.compare_texts(order, a, b);
        }
        match (library::contents(&a.ty), library::contents(&b.ty)) {
            (Some(Contents::Optional(_)), Some(Contents::Optional(_))) => {
                let (some, other) = (self.optional_in(a)?, self.optional_in(b)?);
                let both = self.within(order, &some.1, &other.1, depth)?;
                let neither = BoolExpr::Constant(of_equal(order));
                let (is, has) = (some.0, other.0);
                Ok(is.choice(
                    has.clone().choice(both, unequal(order, true)),
                    has.choice(unequal(order, false), neither),
                ))
            }
            (Some(Contents::Optional(_)), _) if library::is_none(&b.ty) => {
                let (is, _) = self.optional_in(a)?;
                Ok(is.choice(unequal(order, true), BoolExpr::Constant(of_equal(order))))
            }
            (Some(Contents::Optional(_)), _) if a.ty.language() == Language::Cpp => {
                let (is, value) = self.optional_in(a)?;
                let both = self.within(order, &value, b, depth)?;
                Ok(is.choice(both, unequal(order, false)))
            }
            (Some(Contents::Either(..)), Some(Contents::Either(..))) => {
                let (is, has) = (self.holds_variant(a, "Ok")?, self.holds_variant(b, "Ok")?);
                let same = |variant: &str| {
                    let payload = |it: &RuntimeValue| self.payload(it, variant, true);
                    self.within(order, &payload(a)?, &payload(b)?, depth)
                };
                // `Ok` is less than `Err`.
                Ok(is.choice(
                    has.clone().choice(same("Ok")?, unequal(order, false)),
                    has.choice(unequal(order, true), same("Err")?),
                ))
            }
            (Some(Contents::Tuple(parts)), Some(Contents::Tuple(_))) => {
                self.in_order(order, a, b, &parts_of(a, parts.len())?, depth)
            }
            (Some(Contents::Pointee(_)), Some(Contents::Pointee(_)))
                if a.ty.language() == Language::Rust =>
            {
                self.within(order, &self.pointee_of(a)?, &self.pointee_of(b)?, depth)
            }
            (Some(Contents::Wrapped(_)), Some(Contents::Wrapped(_))) => {
                self.within(order, &self.pointee_of(a)?, &self.pointee_of(b)?, depth)
            }
            (Some(Contents::Sequence(_)), _) | (None, Some(Contents::Sequence(_))) => {
                self.rows(order, a, b, depth)
            }
            _ if matches!(a.ty.shape(), Shape::Array(_)) => self.rows(order, a, b, depth),
            // C++ converts a wrapper to what it holds.
            (Some(Contents::Wrapped(_)), None) if a.ty.language() == Language::Cpp => {
                self.within(order, &self.pointee_of(a)?, b, depth)
            }
            _ => {
                let (Some(x), Some(y)) = (self.owned_address(a)?, self.owned_address(b)?) else {
                    return Err(refused(a, b));
                };
                Ok(compare(order, &x, &y))
            }
        }
    }

    /// Returns the address in a smart pointer, in a pointer, or that a null pointer has.
    fn owned_address(&self, value: &RuntimeValue) -> Result<Option<Int>, NotCompilable> {
        if let Some(held) = self.held(value)? {
            return held.pointer.map(|it| address_in(&it)).transpose();
        }
        Ok(match (self.number_in(value)?, value.ty.shape()) {
            (
                Some(Side {
                    number: Number::Constant(0),
                    ..
                }),
                _,
            ) => Some(Int::Constant(0)),
            (Some(_), Shape::Pointer(..)) => Some(address_in(value)?),
            _ => None,
        })
    }

    /// Returns whether an optional has a value, and the value.
    fn optional_in(&self, value: &RuntimeValue) -> Result<(BoolExpr, RuntimeValue), NotCompilable> {
        if value.ty.language() == Language::Rust {
            let is = self.holds_variant(value, "Some")?;
            let held = match is {
                BoolExpr::Constant(false) => RuntimeValue::missing(value.ty.clone()),
                _ => self.payload(value, "Some", true)?,
            };
            return Ok((is, held));
        }
        let held = self.held(value)?;
        let held = held.ok_or_else(|| NotCompilable::special_layout(&value.ty))?;
        Ok((held.is_there, held.value))
    }

    /// Compares two objects part by part.
    fn in_order(
        &self,
        order: Order,
        a: &RuntimeValue,
        b: &RuntimeValue,
        names: &[String],
        depth: usize,
    ) -> Result<BoolExpr, NotCompilable> {
        let mut truth = BoolExpr::Constant(of_equal(order));
        for name in names.iter().rev() {
            let part = |it: &RuntimeValue| -> Result<RuntimeValue, NotCompilable> {
                probe::member(it, name)?.ok_or_else(|| refused(a, b))
            };
            let (x, y) = (part(a)?, part(b)?);
            let same = self.within(Order::Eq, &x, &y, depth)?;
            truth = match order {
                Order::Eq => same.and(truth),
                order => {
                    let decided = self.within(strict(order), &x, &y, depth)?;
                    decided.or(same.and(truth))
                }
            };
        }
        Ok(truth)
    }

    /// Compares two rows element by element.
    fn rows(
        &self,
        order: Order,
        a: &RuntimeValue,
        b: &RuntimeValue,
        depth: usize,
    ) -> Result<BoolExpr, NotCompilable> {
        if order != Order::Eq {
            return Err("ordering of rows is not supported".into());
        }
        let made = |it: &RuntimeValue| match &it.place {
            RuntimeLocation::Made(made) => Some(made.clone()),
            _ => None,
        };
        let row = |it: &RuntimeValue| self.row(it)?.ok_or_else(|| refused(a, b));
        let (made, row) = match (made(a), made(b)) {
            (None, None) => return self.same_rows(&row(a)?, &row(b)?, depth),
            (Some(made), None) => (made, row(b)?),
            (None, Some(made)) => (made, row(a)?),
            (Some(_), Some(_)) => return Err("two rows that the expression makes".into()),
        };
        let len = Int::Constant(made.fields.len() as u64);
        let mut truth = compare(Order::Eq, &row.len, &len);
        for (index, (_, field)) in made.fields.iter().enumerate() {
            let element = row.nth(Int::Constant(index as u64));
            truth = truth.and(self.within(Order::Eq, &element, field, depth)?);
        }
        Ok(row.decided(truth))
    }

    fn same_rows(&self, a: &Row, b: &Row, depth: usize) -> Result<BoolExpr, NotCompilable> {
        let differ = |index: Int| {
            let (x, y) = (a.nth(index.clone()), b.nth(index));
            Ok(self.within(Order::Eq, &x, &y, depth)?.not())
        };
        let any = BoolExpr::Any(self.over(a.len.clone(), &differ)?);
        let same = compare(Order::Eq, &a.len, &b.len).and(any.not());
        Ok(a.decided(b.decided(same)))
    }

    /// Returns a number, an enumerator or an address; `None`: it is something else.
    fn number_in(&self, value: &RuntimeValue) -> Result<Option<Side>, NotCompilable> {
        let is_number = matches!(
            value.ty.shape(),
            Shape::Scalar(_) | Shape::Enumeration(_) | Shape::Pointer(..)
        );
        let Some(scalar) = check::scalar(&value.ty).filter(|_| is_number) else {
            return Ok(None);
        };
        let number = match (value.known(), scalar.kind) {
            (_, ScalarKind::Complex(_)) => return Ok(None),
            (Some(known), _) => {
                let bits = known.raw(&probe::NoProcess);
                Number::Constant(bits.map_err(|error| NotCompilable::new(error.to_string()))?)
            }
            (None, ScalarKind::Float(kind)) => match kind {
                scalar::Float::Single => Number::Float(float_at(value, true)?),
                scalar::Float::Double => Number::Float(float_at(value, false)?),
                _ => return Err("only floats of 32 and 64 bits are supported".into()),
            },
            (None, _) => {
                let width = width(scalar)?;
                Number::Int(int_of(value, width)?, width)
            }
        };
        Ok(Some(Side { number, scalar }))
    }
}

/// A number that is compared.
struct Side {
    number: Number,
    scalar: scalar::Scalar,
}

/// Compares two numbers of any types by their mathematical values.
fn compare_numbers(order: Order, a: Side, b: Side) -> Result<BoolExpr, NotCompilable> {
    let is_float = |it: &Side| matches!(it.scalar.kind, ScalarKind::Float(_));
    if is_float(&a) || is_float(&b) {
        let float = |it: Side| -> Result<Float, NotCompilable> {
            match is_float(&it) {
                true => it.number.float(it.scalar),
                false => {
                    let (int, width) = it.number.int(it.scalar)?;
                    Ok(Float::Int(Box::new(int), width))
                }
            }
        };
        return Ok(BoolExpr::CompareFloats(order, float(a)?, float(b)?));
    }
    let ((x, wide_x), (y, wide_y)) = (a.number.int(a.scalar)?, b.number.int(b.scalar)?);
    let is_large = |it: Width| it.size == 8 && !it.signed;
    Ok(match (is_large(wide_x), is_large(wide_y)) {
        (false, false) => BoolExpr::compare(order, true, x, y),
        (true, false) if wide_y.signed => {
            let negative = BoolExpr::compare(Order::Lt, true, y.clone(), Int::Constant(0));
            negative.choice(unequal(order, true), BoolExpr::compare(order, false, x, y))
        }
        (false, true) if wide_x.signed => {
            let negative = BoolExpr::compare(Order::Lt, true, x.clone(), Int::Constant(0));
            negative.choice(unequal(order, false), BoolExpr::compare(order, false, x, y))
        }
        _ => BoolExpr::compare(order, false, x, y),
    })
}

/// Returns the names of the parts of a tuple or pair.
fn parts_of(value: &RuntimeValue, count: usize) -> Result<Vec<String>, NotCompilable> {
    let special = || NotCompilable::special_layout(&value.ty);
    let names: Vec<String> = match &value.place {
        RuntimeLocation::Made(made) => made.fields.iter().map(|it| it.0.clone()).collect(),
        _ => {
            let found = std::cell::RefCell::new(Vec::new());
            probe::part(value, |target, object| {
                let all = match view(target, object) {
                    Some(View::Fields { fields, .. }) => {
                        fields.into_iter().map(|it| it.0).collect()
                    }
                    _ => members::names(target, object),
                };
                *found.borrow_mut() = all;
                Ok(None)
            })?;
            found.into_inner()
        }
    };
    (names.len() == count).then_some(names).ok_or_else(special)
}
