//! One or none, one of several, several, any.

use super::first;
use crate::error::Error;
use crate::language::template::split_arguments;
use crate::value::{Place, Shape, Value, members};
use crate::visualize::standard::{self, Ask, callable, either};
use crate::visualize::{View, need, word};

pub fn optional(ask: &Ask<'_>) -> Result<View, Error> {
    match ask.word(&["__engaged_"])? {
        0 => Ok(View::Plain("nullopt".into())),
        1 => ask.need(&["__val_"]).map(View::Pointee),
        other => Ok(View::Invalid(format!("<invalid: engaged is {other}>"))),
    }
}

pub fn variant(ask: &Ask<'_>) -> Result<View, Error> {
    let target = ask.target;
    let all = either(target, ask.value, &["__impl_", "__impl"])?;
    let index = either(target, &all, &["__index", "__index_"])?;
    let none = u64::MAX >> (64 - 8 * index.ty.size().unwrap_or(4).clamp(1, 8));
    let index = word(target, &index)?;
    if index == none {
        return Ok(View::Plain("valueless".into()));
    }
    if ask.argument(index as usize).is_err() {
        return Ok(View::Invalid(format!("<invalid alternative {index}>")));
    }
    let mut rest = either(target, &all, &["__data", "__data_"])?;
    for _ in 0..index {
        rest = either(target, &rest, &["__tail", "__tail_"])?;
    }
    let head = either(target, &rest, &["__head", "__head_"])?;
    let value = either(target, &head, &["__value", "__value_"])?;
    standard::alternative(ask, index, value)
}

pub fn tuple(ask: &Ask<'_>) -> Result<View, Error> {
    let leaves = match either(ask.target, ask.value, &["__base_"]) {
        Ok(leaves) => leaves,
        // Of none there is no base.
        Err(_) => return Ok(standard::tuple(Vec::new())),
    };
    let Shape::Composite(ty) = leaves.ty.shape() else {
        return Err(Error::Unsupported("no tuple".into()));
    };
    let bases = ty.composite().map_or(&[][..], |it| &it.bases);
    let elements = bases.iter().map(|base| {
        let leaf = members::base(ask.target, &leaves, &ty, base)?;
        first(ask.target, leaf)
    });
    Ok(standard::tuple(elements.collect::<Result<_, _>>()?))
}

pub fn complex(ask: &Ask<'_>) -> Result<View, Error> {
    standard::complex(ask.value, &ask.need(&["__re_"])?)
}

pub fn atomic(ask: &Ask<'_>) -> Result<View, Error> {
    let value = ask.need(&["__a_"])?;
    Ok(View::Pointee(
        match members::find(ask.target, &value, "__a_value")? {
            Some(inner) => inner,
            None => value,
        },
    ))
}

pub fn path(ask: &Ask<'_>) -> Result<View, Error> {
    ask.need(&["__pn_"]).map(View::Pointee)
}

pub fn any(ask: &Ask<'_>) -> Result<View, Error> {
    let handler = either(ask.target, ask.value, &["__h_", "__h"])?;
    let Some(code) = standard::code_at(ask.target, &handler)? else {
        return Ok(View::Plain("empty".into()));
    };
    let name = callable::function_name(ask.target, code)?;
    let storage = either(ask.target, ask.value, &["__s_", "__s"])?;
    let (held, place) = match callable::arguments_of(&name, "_SmallHandler") {
        Some(held) => (
            held,
            either(ask.target, &storage, &["__buf_", "__buf"])?.place,
        ),
        None => {
            let held = callable::arguments_of(&name, "_LargeHandler");
            let pointer = either(ask.target, &storage, &["__ptr_", "__ptr"])?;
            (
                held.ok_or_else(callable::unknown)?,
                ask.pointee(&pointer)?.place,
            )
        }
    };
    Ok(callable::of_type_named(ask.target, &held, place))
}

/// The target is behind a base with virtual functions, whose vtable names its type.
pub fn function(ask: &Ask<'_>) -> Result<View, Error> {
    let target = ask.target;
    let erased = ask.need(&["__f_"])?;
    let pointer = need(target, &erased, &["__f_"])?;
    if word(target, &pointer)? == 0 {
        return Ok(View::Plain("nullptr".into()));
    }
    let base = ask.pointee(&pointer)?;
    let held = callable::vtable_of(target, &base).ok_or_else(callable::unknown)?;
    let held = callable::arguments_of(&held, "__func").ok_or_else(callable::unknown)?;
    let held = split_arguments(&held)
        .first()
        .copied()
        .unwrap_or_default()
        .to_owned();
    // It follows what all of them have: the pointer to the vtable.
    let behind = base.ty.size().ok_or_else(callable::unknown)?;
    let place = base.place.offset(behind);
    if callable::is_function_pointer(&held) {
        let code = Value::new(crate::value::Ty::Function("code".into()).pointer(), place);
        return Ok(View::Pointee(code));
    }
    Ok(callable::of_type_named(
        target,
        &held,
        match place {
            Place::Memory(addr, _) => Place::Memory(addr, None),
            other => other,
        },
    ))
}
