//! Comparisons of strings, and tests for variants.

use super::code::{Address, BoolExpr, Int, Order};
use super::lower::Compiler;
use super::numbers::{address_in, pointee};
use super::{NotCompilable, RuntimeLocation, RuntimeValue};
use crate::inspect::library::is_narrow;
use crate::inspect::value::{PointerKind, Shape, Ty};

/// Maximum length in bytes of a text to compare in compiled code.
const MAX_COMPARED_BYTES: usize = 64;

impl Compiler<'_> {
    /// Compiles `option == None`.
    pub(super) fn variant_test(
        &self,
        value: &RuntimeValue,
        name: &str,
    ) -> Result<BoolExpr, NotCompilable> {
        let Shape::Composite(ty) = value.ty.shape() else {
            return Err(NotCompilable::special_layout(&value.ty));
        };
        let test = self.is_variant(value, &ty, name)?;
        test.ok_or_else(|| NotCompilable::special_layout(&value.ty))
    }

    /// Compares text with a literal.
    pub(super) fn compare_texts(
        &self,
        order: Order,
        a: &RuntimeValue,
        b: &RuntimeValue,
    ) -> Result<BoolExpr, NotCompilable> {
        let literal = |it: &RuntimeValue| match (&it.ty, &it.place) {
            (Ty::Text, RuntimeLocation::Bytes(bytes)) => Some(bytes.to_vec()),
            _ => None,
        };
        let (text, other) = match (literal(a), literal(b)) {
            (Some(a), Some(b)) => return Ok(BoolExpr::Constant(order.of(a.cmp(&b)))),
            (Some(text), None) => (text, b),
            (None, Some(text)) => (text, a),
            (None, None) => {
                return Err("comparing two strings of the program is not supported".into());
            }
        };
        if !matches!(order, Order::Eq | Order::Ne) {
            return Err("ordering of strings is not supported".into());
        }
        if text.len() > MAX_COMPARED_BYTES {
            return Err(NotCompilable(format!(
                "the string is longer than {MAX_COMPARED_BYTES} bytes"
            )));
        }
        let same = self.is_text(other, &text)?;
        Ok(match order {
            Order::Eq => same,
            _ => same.not(),
        })
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
            Shape::Pointer(of, PointerKind::Owned | PointerKind::Reference) => {
                self.is_text(&pointee(value, of)?, text)
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
                _ => Err(NotCompilable(format!(
                    "comparing a `{}` with a string is not supported",
                    value.ty.name()
                ))),
            },
        }
    }
}
