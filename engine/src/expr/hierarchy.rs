//! Casts within a C++ class hierarchy, which change the address.

use super::check::cpp_members::ambiguous;
use crate::ids::error::Error;
use crate::inspect::dynamic_class::{self, Names, Whole};
use crate::inspect::value::base_path::{self, BaseLookup};
use crate::inspect::value::{Target, Ty, Value, ValueLocation, subobjects};
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
    let mut parts = parts_around(target, object, &whole, to)?.0.into_iter();
    match (parts.next(), parts.next()) {
        (Some(part), None) => Ok(part),
        (None, _) => Err(failed(&format!("the object is a `{}`", whole.ty.name()))),
        (Some(_), Some(_)) => Err(failed("the object has several")),
    }
}

/// Returns the parts of a whole object that are a `to`: those that have a part as their base, and
/// the others.
fn parts_around(
    target: &dyn Target,
    part: &Value,
    whole: &Value,
    to: &Ty,
) -> Result<(Vec<Value>, Vec<Value>), Error> {
    let all = subobjects::parts(target, whole, &|it| it.ty.same_as(to))?;
    Ok(all
        .into_iter()
        .partition(|it| subobjects::contains(target, it, part)))
}

/// Like `dynamic_cast`: returns the part of the whole object that is a `to`, if there is one: a base
/// of the object, or what it is a base of, or else the only one.
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
    let (around, others) = parts_around(target, object, &whole, to)?;
    let mut parts = match around.is_empty() {
        true => others.into_iter(),
        false => around.into_iter(),
    };
    Ok(parts.next().filter(|_| parts.next().is_none()))
}

/// Returns the part of an object that is itself or its base.
fn base(target: &dyn Target, object: &Value, to: &Ty) -> Result<Option<Value>, Error> {
    let mut parts = subobjects::parts(target, object, &|it| it.ty.same_as(to))?.into_iter();
    match (parts.next(), parts.next()) {
        (Some(_), Some(_)) => Err(Error::eval(ambiguous(&object.ty, to))),
        (found, _) => Ok(found),
    }
}
