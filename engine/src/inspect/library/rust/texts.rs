//! `str` and `String`.

use crate::ids::error::Error;
use crate::inspect::language::rust;
use crate::inspect::library::call::Call;
use crate::inspect::library::method::Parameter::{Index, Text};
use crate::inspect::library::method::{Class, Row, boolean, size};
use crate::inspect::library::number::plain;
use crate::inspect::library::text;
use crate::inspect::value::scalar::ScalarKind;
use crate::inspect::value::{Shape, Ty, Value, ValueLocation};
use dwarf::{Language, LoadAddr};
use std::ops::Range;
use std::sync::Arc;

/// Methods of `str`.
pub const STR: &[Row] = &[
    Row::new("len", &[], size, |it| {
        Ok(it.number(it.text()?.bytes.len() as u128))
    }),
    Row::new("is_empty", &[], boolean, |it| {
        Ok(it.truth(it.text()?.bytes.is_empty()))
    }),
    Row::new("as_str", &[], str, |it| {
        part(it, |text| Some(0..text.len()))
    }),
    Row::new("as_ref", &[], str, |it| {
        part(it, |text| Some(0..text.len()))
    }),
    Row::new("as_bytes", &[], bytes, |it| {
        let text = it.text()?;
        let len = text.bytes.len() as u64;
        Ok(match text.at {
            Some(at) => Value::fat_reference(it.returns.clone(), at, len),
            None => {
                let byte = rust::builtin("u8").ok_or_else(|| it.unreadable())?;
                let row = Value::of_bytes(byte.array(len), &text.bytes);
                temporary(it.returns.clone(), row)
            }
        })
    }),
    Row::new("as_ptr", &[], pointer, |it| {
        let at = it.text()?.at.ok_or_else(not_in_memory)?;
        Ok(it.number(u128::from(at.0)))
    }),
    Row::new("clone", &[], super::shared, |it| Ok(it.object.clone())),
    Row::new("trim", &[], str, |it| trimmed(it, str::trim)),
    Row::new("trim_start", &[], str, |it| trimmed(it, str::trim_start)),
    Row::new("trim_end", &[], str, |it| trimmed(it, str::trim_end)),
    Row::new("starts_with", &[Text], boolean, |it| {
        Ok(it.truth(own(it)?.starts_with(&*pattern(it, 0)?)))
    }),
    Row::new("ends_with", &[Text], boolean, |it| {
        Ok(it.truth(own(it)?.ends_with(&*pattern(it, 0)?)))
    }),
    Row::new("contains", &[Text], boolean, |it| {
        Ok(it.truth(own(it)?.contains(&*pattern(it, 0)?)))
    }),
    Row::new("find", &[Text], option_of_size, |it| {
        let found = own(it)?.find(&*pattern(it, 0)?);
        position(it, found)
    }),
    Row::new("rfind", &[Text], option_of_size, |it| {
        let found = own(it)?.rfind(&*pattern(it, 0)?);
        position(it, found)
    }),
    Row::new("strip_prefix", &[Text], option_of_str, |it| {
        let pattern = pattern(it, 0)?;
        some_part(it, |text| {
            text.starts_with(&*pattern)
                .then_some(pattern.len()..text.len())
        })
    }),
    Row::new("strip_suffix", &[Text], option_of_str, |it| {
        let pattern = pattern(it, 0)?;
        some_part(it, |text| {
            let rest = text.len().checked_sub(pattern.len());
            rest.filter(|_| text.ends_with(&*pattern)).map(|end| 0..end)
        })
    }),
    Row::new("split_once", &[Text], option_of_parts, |it| {
        let text = it.text()?;
        let own = utf8(text.bytes.clone())?;
        let pattern = pattern(it, 0)?;
        let Some(at) = own.find(&*pattern) else {
            return it.option(None);
        };
        let pair = Ty::tuple(vec![Ty::str(), Ty::str()]);
        let pair = pair_of(&text, pair, [0..at, at + pattern.len()..own.len()]);
        it.option(Some(pair))
    }),
    Row::new("split_at", &[Index], two_parts, |it| {
        let text = it.text()?;
        let own = utf8(text.bytes.clone())?;
        let at = usize::try_from(it.position(0, 0)?).unwrap_or(usize::MAX);
        if !own.is_char_boundary(at) {
            let message = format!("byte {at} is not the begin of a character");
            return Err(Error::eval(message));
        }
        Ok(pair_of(&text, it.returns.clone(), [0..at, at..own.len()]))
    }),
    Row::new("trim_start_matches", &[Text], str, |it| {
        let pattern = pattern(it, 0)?;
        part(it, |text| {
            let rest = text.trim_start_matches(&*pattern);
            Some(text.len() - rest.len()..text.len())
        })
    }),
    Row::new("trim_end_matches", &[Text], str, |it| {
        let pattern = pattern(it, 0)?;
        part(it, |text| Some(0..text.trim_end_matches(&*pattern).len()))
    }),
    Row::new("trim_matches", &[Text], str, |it| {
        // A text is no pattern of this method: only a character is.
        let mut pattern = pattern(it, 0)?;
        let Some(char) = pattern.pop().filter(|_| pattern.is_empty()) else {
            return Err(Error::eval("expected a character"));
        };
        part(it, |text| {
            let start = text.len() - text.trim_start_matches(char).len();
            Some(start..text.trim_end_matches(char).len().max(start))
        })
    }),
    Row::new("eq_ignore_ascii_case", &[Text], boolean, |it| {
        Ok(it.truth(own(it)?.eq_ignore_ascii_case(&pattern(it, 0)?)))
    }),
    Row::new("is_ascii", &[], boolean, |it| {
        Ok(it.truth(own(it)?.is_ascii()))
    }),
    Row::new("is_char_boundary", &[Index], boolean, |it| {
        let at = usize::try_from(it.position(0, 0)?).unwrap_or(usize::MAX);
        Ok(it.truth(own(it)?.is_char_boundary(at)))
    }),
    Row::new("to_string", &[], string, |it| made(it, str::to_owned)),
    Row::new("to_owned", &[], string, |it| made(it, str::to_owned)),
    Row::new("to_uppercase", &[], string, |it| {
        made(it, str::to_uppercase)
    }),
    Row::new("to_lowercase", &[], string, |it| {
        made(it, str::to_lowercase)
    }),
    Row::new("to_ascii_uppercase", &[], string, |it| {
        made(it, str::to_ascii_uppercase)
    }),
    Row::new("to_ascii_lowercase", &[], string, |it| {
        made(it, str::to_ascii_lowercase)
    }),
    Row::new("replace", &[Text, Text], string, |it| {
        let (from, to) = (pattern(it, 0)?, pattern(it, 1)?);
        made(it, |text| text.replace(&*from, &to))
    }),
];

/// Methods of `String`.
pub const STRING: &[Row] = &[
    Row::new("capacity", &[], size, super::rows::capacity),
    Row::new("clone", &[], string, |it| made(it, str::to_owned)),
];

/// Methods of strings of the system.
pub const OS: &[Row] = &[
    Row::new("as_bytes", &[], c_bytes, |it| {
        let text = it.text()?;
        let at = text.at.ok_or_else(not_in_memory)?;
        let len = text.bytes.len() as u64;
        Ok(Value::fat_reference(it.returns.clone(), at, len))
    }),
    Row::new("len", &[], size, |it| {
        Ok(it.number(it.text()?.bytes.len() as u128))
    }),
    Row::new("is_empty", &[], boolean, |it| {
        Ok(it.truth(it.text()?.bytes.is_empty()))
    }),
];

fn not_in_memory() -> Error {
    Error::eval("the text is not in memory")
}

fn str(_: &Class) -> Option<Ty> {
    Some(Ty::str())
}

fn option_of_str(_: &Class) -> Option<Ty> {
    Some(Ty::str().option())
}

fn two_parts(_: &Class) -> Option<Ty> {
    Some(Ty::tuple(vec![Ty::str(), Ty::str()]))
}

fn option_of_parts(_: &Class) -> Option<Ty> {
    Some(Ty::tuple(vec![Ty::str(), Ty::str()]).option())
}

fn option_of_size(class: &Class) -> Option<Ty> {
    size(class).map(Ty::option)
}

fn bytes(_: &Class) -> Option<Ty> {
    rust::builtin("u8").map(Ty::slice)
}

/// Returns `&[u8]` for a `CString`.
fn c_bytes(class: &Class) -> Option<Ty> {
    bytes(class).filter(|_| class.name == "CString")
}

fn pointer(_: &Class) -> Option<Ty> {
    rust::builtin("u8").map(Ty::const_pointer)
}

/// Returns `String`.
pub fn string(_: &Class) -> Option<Ty> {
    Some(Ty::text_object(
        "alloc::string::String".into(),
        Language::Rust,
    ))
}

/// Returns the object's text.
fn own(it: &Call<'_>) -> Result<String, Error> {
    utf8(it.text()?.bytes)
}

fn utf8(bytes: Vec<u8>) -> Result<String, Error> {
    String::from_utf8(bytes).map_err(|_| Error::eval("the text is not UTF-8"))
}

/// Returns a pattern: a text, or a character.
fn pattern(it: &Call<'_>, index: usize) -> Result<String, Error> {
    let value = plain(it.target, it.argument(index)?)?;
    if matches!(value.ty.shape(), Shape::Scalar(scalar) if scalar.kind == ScalarKind::Utf) {
        let code = u32::try_from(it.integer(index)?.bits).ok();
        let char = code.and_then(char::from_u32);
        let char = char.ok_or_else(|| Error::eval("the pattern is not a character"))?;
        return Ok(char.to_string());
    }
    match text::Text::of(it.target, &value)? {
        Some(text) => utf8(text.bytes),
        None => Err(Error::eval(format!(
            "expected a string or character, found `{}`",
            value.ty.name()
        ))),
    }
}

/// Returns a part of the text as `&str`: in the program, or in the expression if the text is there.
fn of_range(text: &text::Text, range: Range<usize>) -> Value {
    let bytes = text.bytes.get(range.clone()).unwrap_or_default();
    match text.at {
        Some(at) => {
            let at = LoadAddr(at.0.wrapping_add(range.start as u64));
            Value::fat_reference(Ty::str(), at, bytes.len() as u64)
        }
        None => temporary(Ty::str(), Value::of_bytes(Ty::Text, bytes)),
    }
}

/// Returns a reference to a value that the program does not have.
pub(super) fn temporary(reference: Ty, of: Value) -> Value {
    Value::new(reference, ValueLocation::Temporary(Arc::new(of)))
}

/// Returns two parts of a text as a tuple.
fn pair_of(text: &text::Text, pair: Ty, parts: [Range<usize>; 2]) -> Value {
    const SIZE: u64 = 16;
    let [first, second] = parts.map(|part| of_range(text, part).place);
    let parts = vec![(0, SIZE, first), (SIZE, SIZE, second)];
    Value::new(pair, ValueLocation::composed(2 * SIZE, parts))
}

fn part(it: &Call<'_>, range: impl Fn(&str) -> Option<Range<usize>>) -> Result<Value, Error> {
    let text = it.text()?;
    let own = utf8(text.bytes.clone())?;
    let range = range(&own).ok_or_else(|| it.unreadable())?;
    Ok(of_range(&text, range))
}

fn some_part(it: &Call<'_>, range: impl Fn(&str) -> Option<Range<usize>>) -> Result<Value, Error> {
    let text = it.text()?;
    let own = utf8(text.bytes.clone())?;
    match range(&own) {
        Some(range) => it.option(Some(of_range(&text, range))),
        None => it.option(None),
    }
}

fn trimmed(it: &Call<'_>, trim: fn(&str) -> &str) -> Result<Value, Error> {
    part(it, |text| {
        let rest = trim(text);
        let start = rest.as_ptr().addr().checked_sub(text.as_ptr().addr())?;
        Some(start..start + rest.len())
    })
}

fn made(it: &Call<'_>, make: impl Fn(&str) -> String) -> Result<Value, Error> {
    Ok(Value::of_bytes(
        it.returns.clone(),
        make(&own(it)?).as_bytes(),
    ))
}

fn position(it: &Call<'_>, found: Option<usize>) -> Result<Value, Error> {
    let of = size(it.class).ok_or_else(|| it.unreadable())?;
    it.option(found.map(|at| Value::of_bytes(of, &(at as u64).to_le_bytes())))
}
