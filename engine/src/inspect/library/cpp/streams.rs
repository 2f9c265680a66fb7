//! The state of libstdc++'s streams. Debug info mostly declares their classes only; their layout is part of the ABI.

use crate::ids::error::Error;
use crate::inspect::library::call::Call;
use crate::inspect::library::method::{Class, Row, boolean};
use crate::inspect::value::Ty;
use crate::inspect::visualize::standard::{Library, before_arguments, std_class};
use dwarf::LoadAddr;

/// Offset of the state in `std::ios_base`, behind its vtable, two numbers and two sets of flags.
const STATE: u64 = 32;
/// Position before a vtable of the offset of the virtual base `basic_ios` (Itanium C++ ABI §2.5.2).
const VIRTUAL_BASE: u64 = 24;
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

/// Returns the state of a stream, which is in its virtual base.
fn state(it: &Call<'_>) -> Result<u64, Error> {
    let object = it.object.address().ok_or_else(|| it.unreadable())?;
    let memory = it.target.memory();
    let table = LoadAddr(memory.read_uint(object, 8)?);
    let base = memory.read_uint(LoadAddr(table.0.wrapping_sub(VIRTUAL_BASE)), 8)?;
    Ok(memory.read_uint(object + base + STATE, 4)?)
}
