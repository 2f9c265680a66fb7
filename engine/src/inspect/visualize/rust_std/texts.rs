//! Strings, and pointers to strings and slices.

use super::{
    ISIZE_MAX, composite, deref, element_of_slice, first_argument, missing, sequences, shared,
    struct_in, tail,
};
use crate::ids::error::Error;
use crate::inspect::value::text::Unit;
use crate::inspect::value::types::DwarfTy;
use crate::inspect::value::{Metadata, Shape, Target, Value};
use crate::inspect::visualize::{View, Visualizer, need, word};
use dwarf::LoadAddr;

/// References and boxes of slices and `str`: `data_ptr` and `length`.
#[derive(Debug)]
pub struct Fat;

impl Visualizer for Fat {
    fn matches(&self, _: &str, ty: &DwarfTy) -> bool {
        let has = |name| {
            ty.composite()
                .is_some_and(|it| it.members.iter().any(|member| member.name == name))
        };
        has("data_ptr") && has("length")
    }

    fn view(&self, target: &dyn Target, value: &Value) -> Result<View, Error> {
        let pointer = need(target, value, &["data_ptr"])?;
        let at = LoadAddr(word(target, &pointer)?);
        let len = word(target, &need(target, value, &["length"])?)?;
        let Shape::Pointer(element, _) = pointer.ty.shape() else {
            return Err(missing("pointer"));
        };
        let ty = composite(value)?;
        let mut name = pointee_name(&ty.ty.name);
        let mut at = at;
        let counted = first_argument(name);
        if shared::is_counted(name) && (is_text(counted) || is_c_text(counted)) {
            let held = shared::held(target, &deref(target, &pointer)?)?;
            at = held.address().ok_or_else(|| missing("address"))?;
            name = counted;
        }
        if is_c_text(name) {
            // The length includes the terminating NUL.
            return Ok(text(at, len.saturating_sub(1)));
        }
        if is_text(name) {
            return Ok(text(at, len));
        }
        if !name.starts_with('[') && !name.is_empty() {
            let object = deref(target, &pointer)?;
            let found = tail::behind(target, object, Metadata::Length(len));
            return Ok(found.unwrap_or_else(|error| View::Invalid(format!("<{error}>"))));
        }
        let element = element_of_slice(name, &element);
        Ok(sequences::row(at, element, len, None))
    }
}

/// Returns the target type in a pointer's name.
pub(crate) fn pointee_name(name: &str) -> &str {
    for prefix in ["&mut ", "&", "*const ", "*mut "] {
        if let Some(rest) = name.strip_prefix(prefix) {
            return rest;
        }
    }
    first_argument(name)
}

/// Returns whether a type name is that of unsized text.
pub(crate) fn is_text(name: &str) -> bool {
    matches!(
        name,
        "str" | "std::path::Path" | "std::ffi::os_str::OsStr" | "Path" | "OsStr"
    )
}

/// Returns whether a type name is that of NUL-terminated text.
pub(crate) fn is_c_text(name: &str) -> bool {
    name == "CStr" || name.ends_with("::CStr")
}

/// Returns text at an address, or `Invalid` if it cannot be that long.
pub(super) fn text(at: LoadAddr, len: u64) -> View {
    if len > ISIZE_MAX {
        return View::Invalid(format!("<invalid length {len}>"));
    }
    View::Text {
        at,
        len,
        unit: Unit::Byte,
    }
}

/// `String` and `OsString`: a wrapped `Vec<u8>`.
pub(super) fn owned(target: &dyn Target, value: &Value) -> Result<View, Error> {
    match sequences::vec(target, &struct_in(target, value, "::Vec")?)? {
        View::Sequence { at, len, .. } => Ok(text(at, len)),
        other => Ok(other),
    }
}

/// `CString`: a `Box<[u8]>` including the NUL.
pub(super) fn c_string(target: &dyn Target, value: &Value) -> Result<View, Error> {
    match Fat.view(target, &super::pointer_in(target, value)?)? {
        View::Sequence { at, len, .. } => Ok(text(at, len.saturating_sub(1))),
        other => Ok(other),
    }
}
