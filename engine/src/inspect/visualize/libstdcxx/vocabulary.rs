//! `optional`, `expected`, `variant`, `tuple`, `any` and `function`.

use crate::ids::error::Error;
use crate::inspect::value::{Shape, Target, Value, members};
use crate::inspect::visualize::standard::callable::{self, Held};
use crate::inspect::visualize::standard::{self, Instance};
use crate::inspect::visualize::{View, need, word};

pub fn optional(instance: &Instance<'_>) -> Result<View, Error> {
    match instance.word(&["_M_payload", "_M_engaged"])? {
        0 => Ok(View::Plain("nullopt".into())),
        1 => {
            let value = instance.need(&["_M_payload", "_M_payload", "_M_value"])?;
            Ok(View::Pointee(value))
        }
        other => Ok(View::Invalid(format!("<invalid: engaged is {other}>"))),
    }
}

pub fn expected(instance: &Instance<'_>) -> Result<View, Error> {
    let has_value = instance.word(&["_M_has_value"])?;
    standard::expected(instance, has_value, |is_value| {
        instance.need(&[if is_value { "_M_val" } else { "_M_unex" }])
    })
}

/// `std::source_location`, as `main.cpp:8:58 (int main())`.
pub fn source_location(instance: &Instance<'_>) -> Result<View, Error> {
    let place = instance.need(&["_M_impl"])?;
    if place.raw(instance.target)? == 0 {
        return Ok(View::Plain("nowhere".into()));
    }
    let place = instance.pointee(&place)?;
    let number = |name| word(instance.target, &need(instance.target, &place, &[name])?);
    let text =
        |name| standard::terminated(instance.target, &need(instance.target, &place, &[name])?);
    let (line, column) = (number("_M_line")?, number("_M_column")?);
    let mut shown = format!("{}:{line}:{column}", text("_M_file_name")?);
    let function = text("_M_function_name")?;
    if !function.is_empty() {
        shown += &format!(" ({function})");
    }
    Ok(View::Plain(shown))
}

pub fn variant(instance: &Instance<'_>) -> Result<View, Error> {
    let index = instance.need(&["_M_index"])?;
    let none = u64::MAX >> (64 - 8 * index.ty.size().unwrap_or(1).clamp(1, 8));
    let index = instance.word(&["_M_index"])?;
    let mut rest = instance.need(&["_M_u"])?;
    if index == none {
        return Ok(View::Plain("valueless".into()));
    }
    if instance.argument(index as usize).is_err() {
        return Ok(View::Invalid(format!("<invalid alternative {index}>")));
    }
    for _ in 0..index {
        rest = need(instance.target, &rest, &["_M_rest"])?;
    }
    let stored = need(instance.target, &rest, &["_M_first", "_M_storage"])?;
    standard::alternative(instance, index, standard::stored(stored))
}

/// Returns the elements of a tuple, which are nested bases: each class has its own element and
/// derives from that of the rest.
pub fn tuple_elements(target: &dyn Target, tuple: &Value) -> Result<Vec<Value>, Error> {
    const MAX_ELEMENTS: usize = 256;
    let mut elements = Vec::new();
    let mut rest = Some(tuple.clone());
    while let Some(part) = rest.take().filter(|_| elements.len() < MAX_ELEMENTS) {
        let Shape::Composite(ty) = part.ty.shape() else {
            break;
        };
        for base in ty.composite().map_or(&[][..], |it| &it.bases) {
            let base = members::base(target, &part, &ty, base)?;
            let Shape::Composite(base_ty) = base.ty.shape() else {
                continue;
            };
            match members::last_component(&base_ty.ty.name) {
                "_Head_base" => {
                    let element = members::find(target, &base, "_M_head_impl")?;
                    // An empty element is the base itself.
                    elements.push(element.unwrap_or(base));
                }
                "_Tuple_impl" => rest = Some(base),
                _ => {}
            }
        }
    }
    Ok(elements)
}

pub fn tuple(instance: &Instance<'_>) -> Result<View, Error> {
    Ok(standard::tuple(tuple_elements(
        instance.target,
        instance.value,
    )?))
}

pub fn complex(instance: &Instance<'_>) -> Result<View, Error> {
    instance.need(&["_M_value"]).map(View::Pointee)
}

pub fn atomic(instance: &Instance<'_>) -> Result<View, Error> {
    for path in [
        &["_M_i"][..],
        &["_M_p"],
        &["_M_fp"],
        &["_M_b", "_M_p"],
        &["_M_base", "_M_i"],
    ] {
        if let Ok(value) = instance.need(path) {
            return Ok(View::Pointee(value));
        }
    }
    Err(Error::Unsupported("an atomic without a value".into()))
}

pub fn path(instance: &Instance<'_>) -> Result<View, Error> {
    instance.need(&["_M_pathname"]).map(View::Pointee)
}

pub fn any(instance: &Instance<'_>) -> Result<View, Error> {
    let manager = instance.need(&["_M_manager"])?;
    let Some(code) = standard::code_at(instance.target, &manager)? else {
        return Ok(View::Plain("empty".into()));
    };
    let held = |class| Held::by_code(instance.target, code, class, 0);
    if let Some(inside) = held("_Manager_internal") {
        let place = instance.need(&["_M_storage", "_M_buffer"])?.place;
        return Ok(inside.at(place));
    }
    let outside = held("_Manager_external").ok_or_else(callable::unknown)?;
    let pointer = instance.need(&["_M_storage", "_M_ptr"])?;
    Ok(outside.at(instance.pointee(&pointer)?.place))
}

pub fn function(instance: &Instance<'_>) -> Result<View, Error> {
    let invoker = instance.need(&["_M_invoker"])?;
    let manager = instance.need(&["_M_manager"])?;
    if standard::code_at(instance.target, &manager)?.is_none() {
        return Ok(View::Plain("nullptr".into()));
    }
    let Some(code) = standard::code_at(instance.target, &invoker)? else {
        return Ok(View::Plain("nullptr".into()));
    };
    let class = "_Function_handler";
    let held = Held::by_code(instance.target, code, class, 1).ok_or_else(callable::unknown)?;
    if held.is_code() {
        let pointer = instance.need(&["_M_functor", "_M_unused", "_M_function_pointer"])?;
        return Ok(View::Pointee(pointer));
    }
    // Small, trivially copyable targets are stored in the object, others are pointed to.
    let data = instance.need(&["_M_functor"])?;
    let says = callable::class_of(instance.target, code, class).and_then(|class| {
        let handler = Value::new(class, data.place.clone());
        let inside = need(instance.target, &handler, &["__stored_locally"]).ok()?;
        word(instance.target, &inside).ok()
    });
    let inside = match says {
        Some(inside) => inside != 0,
        None => held.size() <= data.ty.size(),
    };
    if inside {
        return Ok(held.at(data.place));
    }
    let pointer = instance.need(&["_M_functor", "_M_unused", "_M_object"])?;
    Ok(held.at(instance.pointee(&pointer)?.place))
}
