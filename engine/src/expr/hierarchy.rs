//! Casts within a C++ class hierarchy, which change the address.

use super::check::cpp_members::ambiguous;
use crate::ids::error::Error;
use crate::inspect::dynamic_class::{self, Names, Whole};
use crate::inspect::value::base_path::{self, BaseLookup};
use crate::inspect::value::subobjects::{self, Part};
use crate::inspect::value::{Target, Ty, Value, ValueLocation};
use dwarf::LoadAddr;

/// Returns the part of an object that is a `to`: a base, or the object that it is a base of.
/// `None`: the classes are unrelated.
///
/// # Errors
/// A base is virtual, and the object cannot be read; `to` has it as a virtual base, and the object is
/// no `to`, or its class is unknown.
pub fn related(target: &dyn Target, object: &Value, to: &Ty) -> Result<Option<Value>, Error> {
    if let Some(found) = base(target, object, to)? {
        return Ok(Some(found));
    }
    let way = match base_path::find_type(to, &object.ty) {
        BaseLookup::Absent => return Ok(None),
        BaseLookup::Ambiguous => return Err(Error::eval(ambiguous(to, &object.ty))),
        BaseLookup::Found(way) => way,
    };
    let (Some(offset), Some(addr)) = (base_path::offset(&way), object.address()) else {
        return around(target, object, to).map(Some);
    };
    let addr = LoadAddr(addr.0.wrapping_sub(offset));
    let place = ValueLocation::Memory(addr, None);
    Ok(Some(Value::new(to.clone(), place)))
}

/// Returns the `to` whose virtual base an object is: types do not show where that is.
fn around(target: &dyn Target, object: &Value, to: &Ty) -> Result<Value, Error> {
    let (class, from) = (to.name(), object.ty.name());
    let failed = |why: &str| {
        let message =
            format!("cannot cast a `{from}` to `{class}`, whose virtual base it is: {why}");
        Error::eval(message)
    };
    let whole = match dynamic_class::whole(target, object, Names::Searched) {
        Whole::Object(whole) => whole,
        Whole::Unknown(why) => return Err(failed(&why)),
        Whole::Hidden => {
            return Err(failed(
                "a class without virtual functions does not show where",
            ));
        }
    };
    let around = |it: &Part| subobjects::same(target, &it.value, object).is_some();
    let mut parts = subobjects::parts(target, &whole, &|it| it.ty.same_as(to))?;
    parts.retain(around);
    match &parts[..] {
        [part] => Ok(part.value.clone()),
        [] => Err(failed(&format!("the object is a `{}`", whole.ty.name()))),
        _ => Err(failed("the object has several")),
    }
}

/// Like `dynamic_cast`: returns the part of the whole object that is a `to`, if there is one: a base
/// of the object, or what it is a public base of, or else the only public one ([expr.dynamic.cast]).
///
/// # Errors
/// The object cannot be read, or its class is unknown.
pub fn in_whole(target: &dyn Target, object: &Value, to: &Ty) -> Result<Option<Value>, Error> {
    if let Some(found) = base(target, object, to)? {
        return Ok(Some(found));
    }
    let unknown = |why: &str| Error::eval(format!("the object's dynamic class is unknown: {why}"));
    let whole = match dynamic_class::whole(target, object, Names::Searched) {
        Whole::Object(whole) => whole,
        Whole::Unknown(why) => return Err(unknown(&why)),
        Whole::Hidden => return Err(unknown("it has no virtual functions")),
    };
    let shows_object =
        |of: &Value| subobjects::same(target, of, object).is_some_and(|it| it.is_public);
    let parts = subobjects::parts(target, &whole, &|it| it.ty.same_as(to))?;
    let mut around = parts.iter().filter(|it| shows_object(&it.value));
    Ok(match (around.next(), around.next(), &parts[..]) {
        (Some(part), None, _) => Some(part.value.clone()),
        (None, _, [part]) if part.is_public && shows_object(&whole) => Some(part.value.clone()),
        _ => None,
    })
}

/// Returns the part of an object that is itself or its base.
fn base(target: &dyn Target, object: &Value, to: &Ty) -> Result<Option<Value>, Error> {
    let parts = subobjects::parts(target, object, &|it| it.ty.same_as(to))?;
    match &parts[..] {
        [] => Ok(None),
        [part] => Ok(Some(part.value.clone())),
        _ => Err(Error::eval(ambiguous(&object.ty, to))),
    }
}
