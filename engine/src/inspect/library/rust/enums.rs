//! `Option`, `Result` and `Ordering`.

use super::texts::string;
use crate::ids::error::Error;
use crate::inspect::library::call::Call;
use crate::inspect::library::compare;
use crate::inspect::library::contents::{Contents, contents};
use crate::inspect::library::elements::Elements;
use crate::inspect::library::method::Parameter::{Element, Own, Text as Pattern};
use crate::inspect::library::method::{Class, Row, boolean, element, own};
use crate::inspect::library::number;
use crate::inspect::library::text::Text;
use crate::inspect::value::{PointerKind, Shape, Ty, Value, members};

/// Methods of `Option`.
pub const OPTION: &[Row] = &[
    Row::new("is_some", &[], boolean, |it| is(it, "Some")),
    Row::new("is_none", &[], boolean, |it| is(it, "None")),
    Row::new("unwrap", &[], element, |it| held_by(it, "Some")),
    Row::new("expect", &[Pattern], element, |it| held_by(it, "Some")),
    Row::new("unwrap_or", &[Element], element, |it| match active(it)? {
        (name, Some(held)) if name == "Some" => Ok(held),
        _ => it.argument(0).cloned(),
    }),
    Row::new("as_ref", &[], option_of_reference, |it| match active(it)? {
        (_, Some(held)) => it.option(Some(it.reference(&held)?)),
        _ => it.option(None),
    }),
    Row::new("as_deref", &[], option_of_deref, |it| match active(it)? {
        (_, Some(held)) => it.option(Some(deref(it, &held)?)),
        _ => it.option(None),
    }),
    Row::new("copied", &[], option_of_target, copied),
    Row::new("cloned", &[], option_of_target, copied),
    Row::new("or", &[Own], own, |it| match &*active(it)?.0 {
        "Some" => Ok(it.object.clone()),
        _ => it.argument(0).cloned(),
    }),
];

/// Methods of `bool`.
pub const BOOL: &[Row] = &[
    Row::new("clone", &[], own, |it| Ok(it.object.clone())),
    Row::new("to_string", &[], string, |it| {
        let text = match it.object.raw(it.target)? {
            0 => "false",
            _ => "true",
        };
        Ok(Value::of_bytes(it.returns.clone(), text.as_bytes()))
    }),
];

/// Methods of options and tuples of numbers and references, and of options that an expression makes.
pub const COPY: &[Row] = &[Row::new("clone", &[], own, |it| Ok(it.object.clone()))];

/// Methods of `Result`.
pub const RESULT: &[Row] = &[
    Row::new("is_ok", &[], boolean, |it| is(it, "Ok")),
    Row::new("is_err", &[], boolean, |it| is(it, "Err")),
    Row::new("unwrap", &[], element, |it| held_by(it, "Ok")),
    Row::new("expect", &[Pattern], element, |it| held_by(it, "Ok")),
    Row::new("unwrap_err", &[], error, |it| held_by(it, "Err")),
    Row::new("expect_err", &[Pattern], error, |it| held_by(it, "Err")),
    Row::new("unwrap_or", &[Element], element, |it| match active(it)? {
        (name, Some(held)) if name == "Ok" => Ok(held),
        _ => it.argument(0).cloned(),
    }),
    Row::new("ok", &[], option_of_value, |it| either(it, "Ok")),
    Row::new("err", &[], option_of_error, |it| either(it, "Err")),
    Row::new("as_ref", &[], result_of_references, |it| {
        let (name, held) = active(it)?;
        let held = held.ok_or_else(|| it.unreadable())?;
        let held = it.reference(&held)?;
        Value::variant(it.target, it.returns.clone(), &name, Some(&held))
    }),
];

/// Methods of `Ordering`.
pub const ORDERING: &[Row] = &[
    Row::new("is_eq", &[], boolean, |it| order(it, |it| it == 0)),
    Row::new("is_ne", &[], boolean, |it| order(it, |it| it != 0)),
    Row::new("is_lt", &[], boolean, |it| order(it, |it| it < 0)),
    Row::new("is_gt", &[], boolean, |it| order(it, |it| it > 0)),
    Row::new("is_le", &[], boolean, |it| order(it, |it| it <= 0)),
    Row::new("is_ge", &[], boolean, |it| order(it, |it| it >= 0)),
    Row::new(
        "reverse",
        &[],
        |_| Some(Ty::ordering()),
        |it| {
            let name = match ordering(it)? {
                ..0 => "Greater",
                0 => "Equal",
                1.. => "Less",
            };
            Value::variant(it.target, it.returns.clone(), name, None)
        },
    ),
];

/// Returns the active variant and what it holds.
fn active(it: &Call<'_>) -> Result<(String, Option<Value>), Error> {
    compare::active(it.target, it.object)?.ok_or_else(|| it.unreadable())
}

fn is(it: &Call<'_>, wanted: &str) -> Result<Value, Error> {
    Ok(it.truth(active(it)?.0 == wanted))
}

fn held_by(it: &Call<'_>, wanted: &str) -> Result<Value, Error> {
    match active(it)? {
        (name, Some(held)) if name == wanted => Ok(held),
        (name, _) => {
            let message = match it.arguments.is_empty() {
                true => String::new(),
                false => {
                    let text = it.text_of(0)?;
                    format!("{}; ", String::from_utf8_lossy(&text.bytes))
                }
            };
            Err(Error::eval(format!(
                "{message}cannot unwrap: the value is `{name}`"
            )))
        }
    }
}

fn either(it: &Call<'_>, wanted: &str) -> Result<Value, Error> {
    let (name, held) = active(it)?;
    it.option(held.filter(|_| name == wanted))
}

fn error(class: &Class) -> Option<Ty> {
    match class.contents.as_ref()? {
        Contents::Either(_, error) => Some(error.clone()),
        _ => None,
    }
}

fn option_of_value(class: &Class) -> Option<Ty> {
    element(class).map(Ty::option)
}

fn option_of_error(class: &Class) -> Option<Ty> {
    error(class).map(Ty::option)
}

fn option_of_reference(class: &Class) -> Option<Ty> {
    Some(element(class)?.reference().option())
}

fn result_of_references(class: &Class) -> Option<Ty> {
    Some(
        element(class)?
            .reference()
            .result(error(class)?.reference()),
    )
}

/// Returns the type of an option's value behind its reference, if it is a number.
fn option_of_target(class: &Class) -> Option<Ty> {
    match element(class)?.shape() {
        Shape::Pointer(of, PointerKind::Owned) if of.is_simple() => Some(of.option()),
        _ => None,
    }
}

/// Returns the reference that dereferencing gives: of a `String`, `Vec`, `Box`, `Rc`.
fn deref_type(of: &Ty) -> Option<Ty> {
    match (contents(of), of.shape()) {
        (Some(Contents::Text(..)), _) => Some(Ty::str()),
        (Some(Contents::Sequence(item)), _) => Some(item.slice()),
        // `Rc<str>`.
        (Some(Contents::Pointee(text @ Ty::Synthetic(_))), _) => Some(text),
        (Some(Contents::Pointee(target)), _)
        | (None, Shape::Pointer(target, PointerKind::Owned)) => {
            target.size().is_some().then(|| target.reference())
        }
        _ => None,
    }
}

fn option_of_deref(class: &Class) -> Option<Ty> {
    deref_type(&element(class)?).map(Ty::option)
}

fn deref(it: &Call<'_>, held: &Value) -> Result<Value, Error> {
    let returns = deref_type(&held.ty).ok_or_else(|| it.unreadable())?;
    if let Shape::Pointer(..) = held.ty.shape() {
        return Ok(Value::of_bytes(returns, &held.bytes(it.target)?));
    }
    if compare::is_text(&held.ty) {
        let text = Text::of(it.target, held)?.ok_or_else(|| it.unreadable())?;
        let at = text.at.ok_or_else(|| it.unreadable())?;
        return Ok(Value::fat_reference(returns, at, text.bytes.len() as u64));
    }
    match contents(&held.ty) {
        Some(Contents::Sequence(_)) => match Elements::of(it.target, held)? {
            Elements::Row(at, _, len) => Ok(Value::fat_reference(returns, at, len)),
            _ => Err(it.unreadable()),
        },
        _ => {
            let target = compare::held(it.target, held)?.ok_or_else(|| it.unreadable())?;
            it.reference(&target)
        }
    }
}

fn copied(it: &Call<'_>) -> Result<Value, Error> {
    match active(it)? {
        (_, Some(held)) => it.option(Some(number::plain(it.target, &held)?)),
        _ => it.option(None),
    }
}

fn ordering(it: &Call<'_>) -> Result<i8, Error> {
    if let Shape::Enumeration(ty) = it.object.ty.shape() {
        let bits = it.object.raw(it.target)? as i8;
        let known = ["Less", "Equal", "Greater"].iter().any(|name| {
            members::enumerator_named(&Ty::Dwarf(ty.clone()), name) == Some(i128::from(bits))
        });
        return known.then_some(bits).ok_or_else(|| it.unreadable());
    }
    Ok(match &*active(it)?.0 {
        "Less" => -1,
        "Equal" => 0,
        _ => 1,
    })
}

fn order(it: &Call<'_>, holds: fn(i8) -> bool) -> Result<Value, Error> {
    Ok(it.truth(holds(ordering(it)?)))
}
