//! Exceptions of the standard library: objects, and pointers that own them.

use super::callable::{self, unknown};
use super::{Instance, before_arguments, either, std_class, terminated};
use crate::ids::error::Error;
use crate::inspect::dynamic_class;
use crate::inspect::value::scalar::{Scalar, ScalarKind};
use crate::inspect::value::{Ty, Value, ValueLocation};
use crate::inspect::visualize::View;

/// Classes with a text, and their subclasses.
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

/// Classes without a text, or with a fixed one per class.
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

/// An exception object, by its vtable: most compilers omit the members of its class and leave them
/// to the library's debug info. In both libraries the pointer to the text follows the vtable
/// pointer.
pub(in crate::inspect::visualize) fn object(instance: &Instance<'_>) -> Result<View, Error> {
    let made = dynamic_class::name(instance.target, instance.value).ok_or_else(unknown)?;
    // For the base of a user-defined exception, the class of the base.
    let class = match std_class(&made) {
        Some((_, class)) => class,
        None => instance.class,
    };
    if !WITH_TEXT.contains(&class) && !WITH_TEXT.contains(&instance.class) {
        return Ok(View::Plain(format!("std::{class}")));
    }
    let at = instance.value.address().ok_or_else(unknown)?;
    let pointer = Ty::Builtin(Scalar::new(ScalarKind::SignedChar, 1), "char").pointer();
    let text = Value::new(pointer, ValueLocation::Memory(at + 8, None));
    let text = terminated(instance.target, &text)?;
    Ok(View::Plain(format!("std::{class}(\"{text}\")")))
}

/// Returns whether a type is one of these classes.
pub fn is_exception(ty: &Ty) -> bool {
    let Ty::Dwarf(class) = ty.strip() else {
        return false;
    };
    let class = std_class(before_arguments(&class.ty.name));
    class.is_some_and(|(_, name)| WITH_TEXT.contains(&name) || WITHOUT_TEXT.contains(&name))
}

/// `std::exception_ptr`.
pub(in crate::inspect::visualize) fn pointer(instance: &Instance<'_>) -> Result<View, Error> {
    let object = either(
        instance.target,
        instance.value,
        &["_M_exception_object", "__ptr_"],
    )?;
    callable::thrown(instance.target, &object)
}
