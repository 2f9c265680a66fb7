//! Strings of libstdc++ whose class the debug info only declares: clang leaves its definition to the library's debug
//! info. Their layout is part of the ABI.

use crate::ids::error::Error;
use crate::inspect::language::c;
use crate::inspect::value::Ty;
use crate::inspect::value::types::DwarfTy;
use crate::inspect::visualize::View;
use crate::inspect::visualize::standard::{self, Instance};
use dwarf::LoadAddr;

/// Size of a string: pointer, length, and the capacity or the text itself.
const STRING_BYTES: u64 = 32;
/// Offset of the length.
const LENGTH: u64 = 8;
/// Offset of the capacity, or of a short text.
const BUFFER: u64 = 16;

/// Returns the type of the characters of a string whose class is only declared; `None`: it is another class, or
/// defined.
pub fn character(class: &DwarfTy) -> Option<Ty> {
    let name = class.ty.name.strip_prefix("std::__cxx11::basic_string<")?;
    if !class.composite()?.declaration {
        return None;
    }
    let (of, rest) = name.split_once(", ")?;
    let rest = rest.replace("> >", ">>");
    let is_usual = rest == format!("std::char_traits<{of}>, std::allocator<{of}>>");
    is_usual.then(|| c::builtin(of, class.module().c_types()))?
}

/// Returns the size of such a string.
pub fn size(class: &DwarfTy) -> Option<u64> {
    character(class).map(|_| STRING_BYTES)
}

/// Returns the text of such a string.
///
/// # Errors
/// Its memory cannot be read.
pub(super) fn string(instance: &Instance<'_>, character: &Ty) -> Result<View, Error> {
    let object = instance.value.address().ok_or(Error::OptimizedOut)?;
    let word = |offset: u64| instance.target.memory().read_uint(object + offset, 8);
    let (at, len) = (LoadAddr(word(0)?), word(LENGTH)?);
    let unit = character.size().unwrap_or(1).max(1);
    let capacity = match at == object + BUFFER {
        true => (STRING_BYTES - BUFFER) / unit - 1,
        false => word(BUFFER)?,
    };
    match len > capacity {
        true => Ok(View::Invalid(format!("<invalid length {len}>"))),
        false => standard::text_at(at, character, len),
    }
}
