//! Exceptions of the standard library: objects, and pointers that keep them alive.

use super::callable::{self, unknown};
use super::{Ask, either, std_class, terminated};
use crate::error::Error;
use crate::value::scalar::{Scalar, ScalarKind};
use crate::value::{Place, Ty, Value};
use crate::visualize::View;

/// Those that are made with a text, and those derived of them.
pub const WITH_TEXT: [&str; 14] = [
    "logic_error",
    "domain_error",
    "invalid_argument",
    "length_error",
    "out_of_range",
    "future_error",
    "runtime_error",
    "range_error",
    "overflow_error",
    "underflow_error",
    "system_error",
    "regex_error",
    "ios_base::failure",
    "filesystem::filesystem_error",
];

/// Those that are not, or say what they are by their class.
pub const WITHOUT_TEXT: [&str; 11] = [
    "exception",
    "bad_exception",
    "bad_alloc",
    "bad_array_new_length",
    "bad_cast",
    "bad_any_cast",
    "bad_typeid",
    "bad_function_call",
    "bad_optional_access",
    "bad_variant_access",
    "bad_weak_ptr",
];

/// An exception, by its vtable: most compilers leave it to the library's debug info to tell what is
/// in its class. Behind the vtable's address, both libraries have that of the text.
pub(in crate::visualize) fn object(ask: &Ask<'_>) -> Result<View, Error> {
    let made = callable::vtable_of(ask.target, ask.value).ok_or_else(unknown)?;
    // Of a base of somebody's own exception, that of the base.
    let class = match std_class(&made) {
        Some((_, class)) => class,
        None => ask.class,
    };
    if !WITH_TEXT.contains(&class) && !WITH_TEXT.contains(&ask.class) {
        return Ok(View::Plain(format!("std::{class}")));
    }
    let at = ask.value.address().ok_or_else(unknown)?;
    let pointer = Ty::Builtin(Scalar::new(ScalarKind::SignedChar, 1), "char").pointer();
    let text = Value::new(pointer, Place::Memory(at + 8, None));
    let text = terminated(ask.target, &text)?;
    Ok(View::Plain(format!("std::{class}(\"{text}\")")))
}

/// What keeps an exception alive.
pub(in crate::visualize) fn pointer(ask: &Ask<'_>) -> Result<View, Error> {
    let object = either(ask.target, ask.value, &["_M_exception_object", "__ptr_"])?;
    callable::thrown(ask.target, &object)
}
