//! Messages that the evaluator and the condition compiler share.

use crate::inspect::value::Ty;

pub const FLOAT_AS_ADDRESS: &str = "cannot use a float as an address";
pub const FLOAT_AS_INDEX: &str = "cannot use a float as an index";
pub const TEXT_AS_POINTER: &str = "a string literal has no address in the program; assign to a \
     character array, or assign another pointer";
pub const SEVERAL_REFERENCES: &str = "`as_ref` of a text may give a `str`, bytes, an `OsStr` or a \
     `Path`, as the code around it expects; write `as_str()` or `as_bytes()`";
pub const SIZE_OF_BITS: &str = "a bit-field has no size in bytes";
pub const NEGATIVE_SHIFT: &str = "negative shift count";
pub const TOO_LONG: &str = "the expression is too long";
pub const KEY_NOT_FOUND: &str = "key not found";
pub const ELEMENT_NOT_FOUND: &str = "element not found";
pub const NEGATIVE_COUNT: &str = "negative count";
pub const EXPECTED_NUMBER: &str = "expected a number";
pub const CALLER_REGISTER: &str = "cannot write this register of a caller: the unwind information does not show \
                                   where the functions that it called keep it; select the innermost frame";
pub fn untyped_data(name: &str) -> String {
    format!(
        "the type of `{name}` is unknown: no debug info describes it; cast it, for example `(int){name}` or \
         `*(int *)&{name}`"
    )
}

pub const NO_EXCEPTION: &str = "no exception: the program is not stopped at one";

pub fn index_range(index: i64, len: u64) -> String {
    format!("index {index} is out of range: length is {len}")
}

pub fn unknown_size(ty: &Ty) -> String {
    format!("unknown size of `{}`", ty.name())
}

/// `kind` is `member` or `method`.
pub fn no_member(kind: &str, name: &str, object: &str, ty: &Ty) -> String {
    format!("no {kind} `{name}` in `{object}` ({})", ty.name())
}

pub fn unknown_type(name: &str) -> String {
    format!("unknown type `{name}`")
}

pub fn too_large_to_pass(ty: &Ty) -> String {
    format!("cannot pass `{}`: too large", ty.name())
}

pub fn no_number(ty: &Ty) -> String {
    format!("expected a number, found `{}`", ty.name())
}

pub fn no_conversion(from: &Ty, to: &Ty) -> String {
    format!("cannot convert `{}` to `{}`", from.name(), to.name())
}

pub fn only_inlined(name: &str) -> String {
    format!(
        "cannot call `{name}`: the compiler has inlined all its calls, so the program has no code of it; \
         write what it computes, or build without `#[inline(always)]`"
    )
}
