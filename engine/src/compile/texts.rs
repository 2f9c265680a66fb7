//! Comparisons of strings.

use super::code::{Address, BoolExpr, Int, Order, Width};
use super::containers::{Row, compare};
use super::lower::Compiler;
use super::numbers::address_in;
use super::{NotCompilable, RuntimeLocation, RuntimeValue};
use crate::inspect::library::is_narrow;
use crate::inspect::value::{PointerKind, Shape, Ty};

/// Maximum length in bytes of a text to compare in compiled code.
const MAX_COMPARED_BYTES: usize = 64;

/// Checks the length of a literal.
fn literal_within(text: Vec<u8>) -> Result<Vec<u8>, NotCompilable> {
    match text.len() > MAX_COMPARED_BYTES {
        true => Err(NotCompilable::new(format!(
            "the string is longer than {MAX_COMPARED_BYTES} bytes"
        ))),
        false => Ok(text),
    }
}

impl Compiler<'_> {
    /// Compares two texts.
    pub(super) fn compare_texts(
        &self,
        order: Order,
        a: &RuntimeValue,
        b: &RuntimeValue,
    ) -> Result<BoolExpr, NotCompilable> {
        let (a, b) = (self.text_within(a)?, self.text_within(b)?);
        a.decided(&|a| {
            b.decided(&|b| {
                let compared = self.compare_two(order, a, b)?;
                let both = has_text(a)?.and(has_text(b)?);
                Ok(match order {
                    Order::Ne => both.and(compared.not()).not(),
                    _ => both.and(compared),
                })
            })
        })
    }

    /// Compares texts as a function of C does, which reads what a null pointer points to.
    pub(super) fn compare_c_texts(
        &self,
        order: Order,
        a: &RuntimeValue,
        b: &RuntimeValue,
    ) -> Result<BoolExpr, NotCompilable> {
        let (a, b) = (self.text_within(a)?, self.text_within(b)?);
        a.decided(&|a| b.decided(&|b| self.compare_two(order, a, b)))
    }

    /// Returns the text that references and a `Cow` around it lead to.
    fn text_within(&self, value: &RuntimeValue) -> Result<RuntimeValue, NotCompilable> {
        let value = value.plain()?;
        value.each(&|value| match self.is_cow(value) {
            true => self.pointee_of(value),
            false => Ok(value.clone()),
        })
    }

    fn compare_two(
        &self,
        order: Order,
        a: &RuntimeValue,
        b: &RuntimeValue,
    ) -> Result<BoolExpr, NotCompilable> {
        let literal = |it: &RuntimeValue| match (&it.ty, &it.place) {
            (Ty::Text, RuntimeLocation::Bytes(bytes)) => Some(bytes.to_vec()),
            _ => None,
        };
        let is_equality = matches!(order, Order::Eq | Order::Ne);
        let same = match (literal(a), literal(b)) {
            (Some(a), Some(b)) => return Ok(BoolExpr::Constant(order.of(a.cmp(&b)))),
            (Some(text), None) if !is_equality => {
                return self.order_of_text(order.mirrored(), b, &text);
            }
            (None, Some(text)) if !is_equality => return self.order_of_text(order, a, &text),
            (Some(text), None) => self.is_text(b, &literal_within(text)?)?,
            (None, Some(text)) => self.is_text(a, &literal_within(text)?)?,
            (None, None) => return self.compare_rows(order, a, b),
        };
        Ok(match order {
            Order::Eq => same,
            _ => same.not(),
        })
    }

    /// Compares two texts of the program.
    fn compare_rows(
        &self,
        order: Order,
        a: &RuntimeValue,
        b: &RuntimeValue,
    ) -> Result<BoolExpr, NotCompilable> {
        let row = |value: &RuntimeValue| match self.row(value)? {
            Some(row) if row.text == Some(1) => Ok(row),
            _ => Err(NotCompilable::new(format!(
                "comparing a `{}` with a string of the program is not supported",
                value.ty.name()
            ))),
        };
        let (a, b) = (row(a)?, row(b)?);
        let unit = |row: &Row, index: Int| {
            let address = Address::pointed(row.at.clone()).indexed(index, 1);
            let byte = Width {
                size: 1,
                signed: false,
            };
            Int::Load(Box::new(address), byte)
        };
        let compared = |order: Order, index: Int| {
            BoolExpr::compare(order, false, unit(&a, index.clone()), unit(&b, index))
        };
        let differ = |index: Int| Ok(compared(Order::Ne, index));
        let lengths = |order: Order| compare(order, &a.len, &b.len);
        let truth = match order {
            Order::Eq | Order::Ne => {
                let differ = BoolExpr::Any(self.over(a.len.clone(), &differ)?);
                let same = lengths(Order::Eq).and(differ.not());
                if order == Order::Eq { same } else { same.not() }
            }
            order => {
                let shorter = lengths(Order::Lt);
                let common = Int::choice(shorter, a.len.clone(), b.len.clone());
                let first = Int::First(self.over(common, &differ)?);
                let none = compare(Order::Eq, &first, &Int::Constant(u64::MAX));
                none.choice(lengths(order), compared(order, first))
            }
        };
        Ok(a.decided(b.decided(truth)))
    }

    /// Returns whether a value is this text.
    pub(super) fn is_text(
        &self,
        value: &RuntimeValue,
        text: &[u8],
    ) -> Result<BoolExpr, NotCompilable> {
        let with_end = || {
            let mut bytes = text.to_vec();
            bytes.push(0);
            bytes.into_boxed_slice()
        };
        match value.ty.shape() {
            Shape::Pointer(of, PointerKind::Raw) if is_narrow(&of) => {
                if text.contains(&0) {
                    return Err("the string contains a NUL".into());
                }
                let address = Address::pointed(address_in(value)?);
                Ok(BoolExpr::Bytes(Box::new(address), with_end()))
            }
            Shape::Array(array) if is_narrow(&array.element) => {
                let RuntimeLocation::Memory(address) = &value.place else {
                    return Err("an array that is not in memory".into());
                };
                let count = array.count.ok_or("an array of unknown length")?;
                if text.contains(&0) {
                    return Err("the string contains a NUL".into());
                }
                let bytes = match (text.len() as u64).cmp(&count) {
                    std::cmp::Ordering::Less => with_end(),
                    std::cmp::Ordering::Equal => text.into(),
                    std::cmp::Ordering::Greater => return Ok(BoolExpr::Constant(false)),
                };
                Ok(BoolExpr::Bytes(Box::new(address.clone()), bytes))
            }
            _ => match self.row(value)? {
                Some(row) if row.text == Some(1) => {
                    let len = Int::Constant(text.len() as u64);
                    let same_len = BoolExpr::compare(Order::Eq, false, row.len.clone(), len);
                    let same = match text {
                        [] => same_len,
                        _ => {
                            let address = Box::new(Address::pointed(row.at.clone()));
                            same_len.and(BoolExpr::Bytes(address, text.into()))
                        }
                    };
                    Ok(row.invalid.choice(BoolExpr::Deopt, same))
                }
                _ => Err(NotCompilable::new(format!(
                    "comparing a `{}` with a string is not supported",
                    value.ty.name()
                ))),
            },
        }
    }
}

/// Returns whether a value has a text: a null pointer has none.
fn has_text(value: &RuntimeValue) -> Result<BoolExpr, NotCompilable> {
    match value.ty.shape() {
        Shape::Pointer(of, PointerKind::Raw) if is_narrow(&of) => {
            let (address, null) = (address_in(value)?, Int::Constant(0));
            Ok(BoolExpr::compare(Order::Ne, false, address, null))
        }
        _ => Ok(BoolExpr::Constant(true)),
    }
}
