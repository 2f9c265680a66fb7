//! The state of libstdc++'s streams. Debug info mostly declares their classes only; their layout is part of the ABI.

use crate::ids::error::Error;
use crate::inspect::library::call::Call;
use crate::inspect::library::method::{Class, Row, boolean};
use crate::inspect::value::{Ty, Value};
use crate::inspect::visualize::standard::{Library, before_arguments, std_class};
use dwarf::{Language, LoadAddr};

/// Offset of the state in `std::ios_base`, behind its vtable, two numbers and two sets of flags.
const STATE: u64 = 32;
/// Position before a vtable of the offset of the virtual base `basic_ios` (Itanium C++ ABI §2.5.2).
const VIRTUAL_BASE: u64 = 24;
/// Offsets in `std::stringbuf`, behind its vtable: the end of what can be read, the start and the end of what was written,
/// and the string.
const READ_END: u64 = 24;
const WRITE_START: u64 = 32;
const WRITE_END: u64 = 40;
const STRING: u64 = 72;
const BAD: u64 = 1;
const END_OF_FILE: u64 = 2;
const FAILED: u64 = 4;

/// What a stream's state says.
pub const STREAM: &[Row] = &[
    Row::new("good", &[], of_state, |it| Ok(it.truth(state(it)? == 0))),
    Row::new("eof", &[], of_state, |it| {
        Ok(it.truth(state(it)? & END_OF_FILE != 0))
    }),
    Row::new("fail", &[], of_state, |it| {
        Ok(it.truth(state(it)? & (BAD | FAILED) != 0))
    }),
    Row::new("bad", &[], of_state, |it| {
        Ok(it.truth(state(it)? & BAD != 0))
    }),
    Row::new("str", &[], of_text, text),
    Row::new("operator bool", &[], of_state, |it| {
        Ok(it.truth(state(it)? & (BAD | FAILED) == 0))
    }),
];

/// Returns whether a class of the standard is a stream.
pub fn is_stream(class: &str) -> bool {
    matches!(
        class,
        "basic_istream"
            | "basic_ostream"
            | "basic_iostream"
            | "basic_istringstream"
            | "basic_ostringstream"
            | "basic_stringstream"
            | "basic_ifstream"
            | "basic_ofstream"
            | "basic_fstream"
    )
}

/// Returns `bool` for a stream of libstdc++.
fn of_state(class: &Class) -> Option<Ty> {
    let Ty::Dwarf(stream) = &class.ty else {
        return None;
    };
    match std_class(before_arguments(&stream.ty.name))? {
        (Library::Libstdcxx, _) => boolean(class),
        _ => None,
    }
}

/// Returns `std::string` for a stream of libstdc++ over a string of `char`.
fn of_text(class: &Class) -> Option<Ty> {
    buffer_of(&class.name)?;
    let Ty::Dwarf(stream) = &class.ty else {
        return None;
    };
    let arguments = stream.ty.name.split_once('<').map(|(_, rest)| rest);
    let is_of_char = arguments.is_none_or(|it| it.starts_with("char,") || it.starts_with("char>"));
    is_of_char.then(|| of_state(class))??;
    Some(Ty::text_object("std::string".into(), Language::Cpp))
}

/// Returns the offset of the buffer in a stream over a string.
fn buffer_of(class: &str) -> Option<u64> {
    match class {
        "basic_ostringstream" => Some(8),
        "basic_istringstream" => Some(16),
        "basic_stringstream" => Some(24),
        _ => None,
    }
}

/// Returns the text of a stream over a string: what was written, or else the string that it began with.
fn text(it: &Call<'_>) -> Result<Value, Error> {
    /// Maximum number of bytes of a text.
    const MAX_TEXT_BYTES: u64 = 1 << 20;
    let object = it.object.address().ok_or_else(|| it.unreadable())?;
    let buffer = object + buffer_of(&it.class.name).ok_or_else(|| it.unreadable())?;
    let memory = it.target.memory();
    let word = |offset: u64| memory.read_uint(buffer + offset, 8);
    let (read_end, start, written) = (word(READ_END)?, word(WRITE_START)?, word(WRITE_END)?);
    let (at, len) = match written {
        0 => (word(STRING)?, word(STRING + 8)?),
        _ => (start, written.max(read_end).wrapping_sub(start)),
    };
    if len > MAX_TEXT_BYTES {
        return Err(it.unreadable());
    }
    let mut bytes = vec![0; len as usize];
    memory.read(LoadAddr(at), &mut bytes)?;
    Ok(Value::of_bytes(it.returns.clone(), &bytes))
}

/// Returns the state of a stream, which is in its virtual base.
fn state(it: &Call<'_>) -> Result<u64, Error> {
    let object = it.object.address().ok_or_else(|| it.unreadable())?;
    let memory = it.target.memory();
    let table = LoadAddr(memory.read_uint(object, 8)?);
    let base = memory.read_uint(LoadAddr(table.0.wrapping_sub(VIRTUAL_BASE)), 8)?;
    Ok(memory.read_uint(object + base + STATE, 4)?)
}
