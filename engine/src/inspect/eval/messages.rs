//! Messages that the evaluator and the condition compiler share.

use crate::inspect::value::Ty;

pub const FLOAT_AS_ADDRESS: &str = "cannot use a float as an address";
pub const FLOAT_AS_INDEX: &str = "cannot use a float as an index";
pub const ADDRESS_RANGE: &str = "the value is out of range for an address";
pub const NEGATIVE_SHIFT: &str = "negative shift count";
pub const TOO_LONG: &str = "the expression is too long";
pub const KEY_NOT_FOUND: &str = "key not found";
pub const CALLER_REGISTER: &str =
    "cannot write a caller's register: only those of the innermost frame are writable";
pub const NO_EXCEPTION: &str = "no exception: the program is not stopped at one";

pub fn index_range(index: i64, len: u64) -> String {
    format!("index {index} is out of range: length is {len}")
}

pub fn unknown_size(ty: &Ty) -> String {
    format!("unknown size of `{}`", ty.name())
}

pub fn no_number(ty: &Ty) -> String {
    format!("expected a number, found `{}`", ty.name())
}

pub fn no_conversion(from: &Ty, to: &Ty) -> String {
    format!("cannot convert `{}` to `{}`", from.name(), to.name())
}
