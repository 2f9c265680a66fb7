//! Values that may be overwritten in place: texts within their capacity, what cells and atomics
//! hold, optionals.

use super::contents::{Contents, contents, rust_class};
use super::method::method;
use crate::ids::error::Error;
use crate::inspect::value::text::Unit;
use crate::inspect::value::{Shape, Target, Ty, Value, ValueLocation};
use crate::inspect::visualize::standard::{before_arguments, std_class};
use crate::inspect::visualize::{self, View, libcxx, need};
use dwarf::Language;

/// Maximum nesting of wrappers.
const NESTING: usize = 16;

/// A place, and the bytes that it gets.
pub type Overwrite = (Value, Vec<u8>);

/// The places of a `std::optional`.
#[derive(Debug)]
pub struct OptionalParts {
    /// Whether it has a value.
    pub engaged: Value,
    /// The value, if it has one.
    pub value: Value,
}

/// Returns the name of a class of C++'s library.
fn cpp_class(ty: &Ty) -> Option<String> {
    match ty.shape() {
        Shape::Composite(class) if class.language() != Language::Rust => {
            let (_, name) = std_class(before_arguments(&class.ty.name))?;
            Some(name.to_owned())
        }
        _ => None,
    }
}

/// Returns whether a type is a `std::atomic`.
pub fn is_atomic(ty: &Ty) -> bool {
    matches!(cpp_class(ty).as_deref(), Some("atomic" | "__atomic_base"))
}

/// Returns whether a type is a `std::optional`.
pub fn is_optional(ty: &Ty) -> bool {
    cpp_class(ty).as_deref() == Some("optional")
}

/// Returns the type of what a wrapper holds, if the program may overwrite it through a shared
/// reference, or if the wrapper is only a number: `Cell`, `AtomicU32`, `NonZeroU8`, `std::atomic`.
pub fn overwritable(ty: &Ty) -> Option<Ty> {
    let Contents::Wrapped(held) = contents(ty)? else {
        return None;
    };
    let known = match ty.shape() {
        Shape::Composite(class) if class.language() == Language::Rust => {
            let name = rust_class(&class)?;
            name.starts_with("Atomic")
                || name.starts_with("NonZero")
                || matches!(
                    name,
                    "Cell"
                        | "RefCell"
                        | "UnsafeCell"
                        | "Wrapping"
                        | "Saturating"
                        | "Mutex"
                        | "RwLock"
                )
        }
        _ => is_atomic(ty),
    };
    known.then_some(held)
}

/// Returns whether a type is a number that must not be 0.
pub fn is_never_zero(ty: &Ty) -> bool {
    match ty.shape() {
        Shape::Composite(class) if class.language() == Language::Rust => {
            rust_class(&class).is_some_and(|name| name.starts_with("NonZero"))
        }
        _ => false,
    }
}

/// Returns what a wrapper holds, of the type that [`overwritable`] returns.
///
/// # Errors
/// The wrapper cannot be read.
pub fn held_place(target: &dyn Target, wrapper: &Value, held: &Ty) -> Result<Value, Error> {
    let mut value = wrapper.clone();
    for _ in 0..NESTING {
        value = match visualize::view(target, &value) {
            Some(View::Pointee(inner) | View::Noted(inner, _)) => inner,
            Some(View::Invalid(why)) => return Err(Error::eval(why)),
            // `UnsafeCell`
            _ => need(target, &value, &["value"])?,
        };
        if value.ty.same_as(held) {
            return Ok(value);
        }
    }
    Err(Error::Unsupported(format!(
        "cannot write `{}`: its members are unknown",
        wrapper.ty.name()
    )))
}

/// Returns the places of a `std::optional`.
///
/// # Errors
/// The library's version is unknown.
pub fn optional_parts(target: &dyn Target, optional: &Value) -> Result<OptionalParts, Error> {
    let either = |first: &[&str], second: &[&str]| {
        need(target, optional, first).or_else(|_| need(target, optional, second))
    };
    Ok(OptionalParts {
        engaged: either(&["_M_payload", "_M_engaged"], &["__engaged_"])?,
        value: either(&["_M_payload", "_M_payload", "_M_value"], &["__val_"])?,
    })
}

/// Returns whether a type is a string of bytes that owns its text: `std::string`, `String`.
pub fn is_string(ty: &Ty) -> bool {
    let Shape::Composite(class) = ty.shape() else {
        return false;
    };
    let known = match class.language() {
        Language::Rust => rust_class(&class) == Some("String"),
        _ => cpp_class(ty).as_deref() == Some("basic_string"),
    };
    known && matches!(contents(ty), Some(Contents::Text(Unit::Byte, _)))
}

/// Returns whether a value of a library's class may be assigned without a call.
pub fn is_assignable(ty: &Ty) -> bool {
    is_string(ty) || is_optional(ty) || overwritable(ty).is_some()
}

/// Returns the changes that give a string another text, within its capacity.
///
/// # Errors
/// The text does not fit; the string cannot be read.
pub fn overwrite_text(
    target: &dyn Target,
    string: &Value,
    text: &[u8],
) -> Result<Vec<Overwrite>, Error> {
    let name = string.ty.name();
    let unknown = || Error::Unsupported(format!("cannot write `{name}`: its members are unknown"));
    let rust = string.ty.language() == Language::Rust;
    if rust && std::str::from_utf8(text).is_err() {
        return Err(Error::eval("the text is not valid UTF-8"));
    }
    let view = visualize::view(target, string);
    let at = match view {
        Some(View::Text { at, .. }) => at,
        Some(View::Invalid(why)) => return Err(Error::eval(why)),
        _ => return Err(unknown()),
    };
    let capacity = method(&string.ty, "capacity", &[]).ok_or_else(unknown)?;
    let capacity = capacity.evaluate(target, string, &[])?.raw(target)?;
    if text.len() as u128 > capacity {
        return Err(Error::eval(format!(
            "{} bytes do not fit into the `{name}`: its capacity is {capacity}; use a shorter \
             text, or call a function of the program that changes it",
            text.len()
        )));
    }
    let (length, bits) = match rust {
        true => (need(target, string, &["vec", "len"])?, text.len() as u64),
        false => match need(target, string, &["_M_string_length"]) {
            Ok(place) => (place, text.len() as u64),
            Err(_) => libcxx::length_of_string(target, string, text.len() as u64)?,
        },
    };
    let size = match length.bits {
        Some(bits) => bits.bytes(),
        None => length.ty.size().unwrap_or(8).min(8) as usize,
    };
    let mut bytes = text.to_vec();
    bytes.extend((!rust).then_some(0));
    let mut changes = vec![(length, bits.to_le_bytes()[..size].to_vec())];
    if !bytes.is_empty() {
        let place = Value::new(Ty::Void, ValueLocation::Memory(at, None));
        changes.insert(0, (place, bytes));
    }
    Ok(changes)
}
