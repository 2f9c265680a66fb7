//! `optional`, `expected`, `variant`, `tuple`, `any` and `function`.

use super::first;
use crate::ids::error::Error;
use crate::inspect::value::{Shape, Ty, Value, ValueLocation, members};
use crate::inspect::visualize::standard::callable::{self, Held};
use crate::inspect::visualize::standard::{self, Instance, either};
use crate::inspect::visualize::{View, need, word};

pub fn optional(instance: &Instance<'_>) -> Result<View, Error> {
    match instance.word(&["__engaged_"])? {
        0 => Ok(View::Plain("nullopt".into())),
        1 => instance.need(&["__val_"]).map(View::Pointee),
        other => Ok(View::Invalid(format!("<invalid: engaged is {other}>"))),
    }
}

/// `std::expected`: the flag and a union, which newer versions wrap in classes of their own to reuse padding.
pub fn expected(instance: &Instance<'_>) -> Result<View, Error> {
    let target = instance.target;
    let inside = |value: &Value, name| -> Result<Value, Error> {
        let Some(part) = members::find(target, value, name)? else {
            return Ok(value.clone());
        };
        Ok(members::find(target, &part, "__v")?.unwrap_or(part))
    };
    let all = inside(instance.value, "__repr_")?;
    let either = inside(&all, "__union_")?;
    let has_value = word(target, &need(target, &all, &["__has_val_"])?)?;
    standard::expected(instance, has_value, |is_value| {
        let name = if is_value { "__val_" } else { "__unex_" };
        need(target, &either, &[name])
    })
}

pub fn variant(instance: &Instance<'_>) -> Result<View, Error> {
    let target = instance.target;
    let all = either(target, instance.value, &["__impl_", "__impl"])?;
    let index = either(target, &all, &["__index", "__index_"])?;
    let none = u64::MAX >> (64 - 8 * index.ty.size().unwrap_or(4).clamp(1, 8));
    let index = word(target, &index)?;
    if index == none {
        return Ok(View::Plain("valueless".into()));
    }
    if instance.argument(index as usize).is_err() {
        return Ok(View::Invalid(format!("<invalid alternative {index}>")));
    }
    let mut rest = either(target, &all, &["__data", "__data_"])?;
    for _ in 0..index {
        rest = either(target, &rest, &["__tail", "__tail_"])?;
    }
    let head = either(target, &rest, &["__head", "__head_"])?;
    let value = either(target, &head, &["__value", "__value_"])?;
    standard::alternative(instance, index, value)
}

pub fn tuple(instance: &Instance<'_>) -> Result<View, Error> {
    let leaves = match either(instance.target, instance.value, &["__base_"]) {
        Ok(leaves) => leaves,
        // An empty tuple has no base.
        Err(_) => return Ok(standard::tuple(Vec::new())),
    };
    let Shape::Composite(ty) = leaves.ty.shape() else {
        return Err(Error::Unsupported("not a tuple".into()));
    };
    let bases = ty.composite().map_or(&[][..], |it| &it.bases);
    let elements = bases.iter().map(|base| {
        let leaf = members::base(instance.target, &leaves, &ty, base)?;
        first(instance.target, leaf)
    });
    Ok(standard::tuple(elements.collect::<Result<_, _>>()?))
}

pub fn complex(instance: &Instance<'_>) -> Result<View, Error> {
    standard::complex(instance.value, &instance.need(&["__re_"])?)
}

pub fn atomic(instance: &Instance<'_>) -> Result<View, Error> {
    let value = instance.need(&["__a_"])?;
    Ok(View::Pointee(
        match members::find(instance.target, &value, "__a_value")? {
            Some(inner) => inner,
            None => value,
        },
    ))
}

pub fn path(instance: &Instance<'_>) -> Result<View, Error> {
    instance.need(&["__pn_"]).map(View::Pointee)
}

pub fn any(instance: &Instance<'_>) -> Result<View, Error> {
    let handler = either(instance.target, instance.value, &["__h_", "__h"])?;
    let Some(code) = standard::code_at(instance.target, &handler)? else {
        return Ok(View::Plain("empty".into()));
    };
    let held = |class| Held::by_code(instance.target, code, class, 0);
    let storage = either(instance.target, instance.value, &["__s_", "__s"])?;
    if let Some(inside) = held("_SmallHandler") {
        let buffer = either(instance.target, &storage, &["__buf_", "__buf"])?;
        return Ok(inside.at(buffer.place));
    }
    let outside = held("_LargeHandler").ok_or_else(callable::unknown)?;
    let pointer = either(instance.target, &storage, &["__ptr_", "__ptr"])?;
    Ok(outside.at(instance.pointee(&pointer)?.place))
}

/// Number of entries in the vtable of `__func` up to `operator()`.
const FUNCTIONS: u64 = 7;

/// `std::function`: the target follows a base with virtual functions, whose class has its type as
/// an argument.
pub fn function(instance: &Instance<'_>) -> Result<View, Error> {
    let target = instance.target;
    let erased = instance.need(&["__f_"])?;
    let pointer = need(target, &erased, &["__f_"])?;
    if word(target, &pointer)? == 0 {
        return Ok(View::Plain("nullptr".into()));
    }
    let base = instance.pointee(&pointer)?;
    let held = Held::by_vtable(target, &base, "__func", FUNCTIONS);
    let held = held.ok_or_else(callable::unknown)?;
    // It follows the vtable pointer.
    let vptr = base.ty.size().ok_or_else(callable::unknown)?;
    let place = base.place.offset(vptr.next_multiple_of(held.alignment()));
    if held.is_code() {
        let code = Value::new(Ty::Function("code".into()).pointer(), place);
        return Ok(View::Pointee(code));
    }
    Ok(held.at(match place {
        ValueLocation::Memory(addr, _) => ValueLocation::Memory(addr, None),
        other => other,
    }))
}
