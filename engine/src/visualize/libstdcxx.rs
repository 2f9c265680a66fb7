//! The containers of GNU libstdc++, by the member names of its stable ABI.

use super::{View, Visualizer, need, word};
use crate::error::Error;
use crate::value::types::DwarfTy;
use crate::value::{Shape, Target, Value};
use dwarf::LoadAddr;

/// More bytes than any allocation has.
const PTRDIFF_MAX: u64 = i64::MAX as u64;

/// Whether `name` is `class` in `std` or an inline namespace of it.
fn is_std(name: &str, class: &str) -> bool {
    name.strip_prefix("std::")
        .and_then(|rest| rest.strip_suffix(class))
        .is_some_and(|middle| {
            middle.is_empty() || middle.starts_with("__") && middle.ends_with("::")
        })
}

fn text(target: &dyn Target, pointer: &Value, len: u64) -> Result<View, Error> {
    let Shape::Pointer(element, _) = pointer.ty.shape() else {
        return Err(Error::Unsupported("no pointer".into()));
    };
    let unit = element
        .size()
        .filter(|size| matches!(size, 1 | 2 | 4))
        .unwrap_or(1);
    let at = LoadAddr(word(target, pointer)?);
    match len.checked_mul(unit) {
        Some(bytes) if bytes <= PTRDIFF_MAX => Ok(View::Text {
            at,
            len: bytes,
            unit: unit as usize,
        }),
        _ => Ok(View::Invalid(format!("<invalid length {len}>"))),
    }
}

/// `std::string` and its wide kin.
#[derive(Debug)]
pub struct StdString;

impl Visualizer for StdString {
    fn matches(&self, name: &str, _: &DwarfTy) -> bool {
        is_std(name, "basic_string")
    }

    fn view(&self, target: &dyn Target, value: &Value) -> Result<View, Error> {
        let pointer = need(target, value, &["_M_dataplus", "_M_p"])?;
        let len = word(target, &need(target, value, &["_M_string_length"])?)?;
        // Short strings lie in the object and are at most 15 units long.
        let local = need(target, value, &["_M_local_buf"])?;
        let capacity = if local.address() == Some(LoadAddr(word(target, &pointer)?)) {
            15
        } else {
            word(target, &need(target, value, &["_M_allocated_capacity"])?)?
        };
        if len > capacity {
            return Ok(View::Invalid(format!("<invalid length {len}>")));
        }
        text(target, &pointer, len)
    }
}

/// `std::string_view`.
#[derive(Debug)]
pub struct StdStringView;

impl Visualizer for StdStringView {
    fn matches(&self, name: &str, _: &DwarfTy) -> bool {
        is_std(name, "basic_string_view")
    }

    fn view(&self, target: &dyn Target, value: &Value) -> Result<View, Error> {
        let len = word(target, &need(target, value, &["_M_len"])?)?;
        text(target, &need(target, value, &["_M_str"])?, len)
    }
}

/// `std::vector`, that of `bool` aside.
#[derive(Debug)]
pub struct StdVector;

impl Visualizer for StdVector {
    fn matches(&self, name: &str, _: &DwarfTy) -> bool {
        is_std(name, "vector")
    }

    fn view(&self, target: &dyn Target, value: &Value) -> Result<View, Error> {
        let impl_ = need(target, value, &["_M_impl"])?;
        let start = need(target, &impl_, &["_M_start"])?;
        let Shape::Pointer(element, _) = start.ty.shape() else {
            return Err(Error::Unsupported("a vector of bits".into()));
        };
        let at = word(target, &start)?;
        let finish = word(target, &need(target, &impl_, &["_M_finish"])?)?;
        let end = word(target, &need(target, &impl_, &["_M_end_of_storage"])?)?;
        let size = element.size().unwrap_or(0).max(1);
        let bytes = finish.wrapping_sub(at);
        if finish < at || end < finish || bytes % size != 0 || bytes > PTRDIFF_MAX {
            return Ok(View::Invalid(format!(
                "<invalid: from {at:#x} to {finish:#x}, storage ends at {end:#x}>"
            )));
        }
        Ok(View::Sequence {
            at: LoadAddr(at),
            element,
            len: bytes / size,
        })
    }
}

/// `std::array`.
#[derive(Debug)]
pub struct StdArray;

impl Visualizer for StdArray {
    fn matches(&self, name: &str, _: &DwarfTy) -> bool {
        is_std(name, "array")
    }

    fn view(&self, target: &dyn Target, value: &Value) -> Result<View, Error> {
        Ok(View::Pointee(need(target, value, &["_M_elems"])?))
    }
}
