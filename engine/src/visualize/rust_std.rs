//! Rust's standard types, by the member names they have had since rustc 1.70.

use super::{View, Visualizer, need, word};
use crate::error::Error;
use crate::value::types::DwarfTy;
use crate::value::{PointerKind, Shape, Target, Ty, Value, members};
use dwarf::LoadAddr;

/// More bytes than any allocation has.
const ISIZE_MAX: u64 = i64::MAX as u64;

/// Structs within structs that are searched for a pointer or a number.
const NESTING: usize = 12;

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
            return Err(Error::Unsupported("no pointer".into()));
        };
        let Shape::Composite(ty) = value.ty.shape() else {
            return Err(Error::Unsupported("no struct".into()));
        };
        if is_text(&ty.ty.name) {
            return Ok(text(at, len));
        }
        let element = match element.shape() {
            Shape::Array(array) => array.element.clone(),
            _ => element,
        };
        Ok(sequence(at, element, len, None))
    }
}

/// Whether a fat pointer's name is that of one to text.
fn is_text(name: &str) -> bool {
    let inner = name
        .trim_start_matches("alloc::boxed::Box<")
        .trim_start_matches("Box<")
        .trim_start_matches('&')
        .trim_start_matches("*const ")
        .trim_start_matches("*mut ")
        .trim_start_matches("mut ");
    let inner = inner.split([',', '>']).next().unwrap_or(inner);
    matches!(
        inner,
        "str" | "std::path::Path" | "std::ffi::os_str::OsStr" | "Path" | "OsStr"
    )
}

fn text(at: LoadAddr, len: u64) -> View {
    if len > ISIZE_MAX {
        return View::Invalid(format!("<invalid length {len}>"));
    }
    View::Text { at, len, unit: 1 }
}

fn sequence(at: LoadAddr, element: Ty, len: u64, capacity: Option<u64>) -> View {
    let size = element.size().unwrap_or(0);
    let beyond = size > 0 && capacity.is_some_and(|capacity| len > capacity);
    let bytes = capacity.unwrap_or(len).max(len).checked_mul(size);
    if beyond || bytes.is_none_or(|bytes| bytes > ISIZE_MAX) {
        return View::Invalid(format!("<invalid length {len}>"));
    }
    if len > 0 && at.0 == 0 {
        return View::Invalid(format!("<invalid pointer 0x0, length {len}>"));
    }
    View::Sequence { at, element, len }
}

/// `String`: a `Vec<u8>`.
#[derive(Debug)]
pub struct RustString;

impl Visualizer for RustString {
    fn matches(&self, name: &str, _: &DwarfTy) -> bool {
        name == "alloc::string::String"
    }

    fn view(&self, target: &dyn Target, value: &Value) -> Result<View, Error> {
        match RustVec.view(target, &need(target, value, &["vec"])?)? {
            View::Sequence { at, len, .. } => Ok(text(at, len)),
            other => Ok(other),
        }
    }
}

/// `Vec<T>`: `len`, and somewhere in `buf` a pointer and `cap`.
#[derive(Debug)]
pub struct RustVec;

impl Visualizer for RustVec {
    fn matches(&self, name: &str, _: &DwarfTy) -> bool {
        name == "alloc::vec::Vec"
    }

    fn view(&self, target: &dyn Target, value: &Value) -> Result<View, Error> {
        let Shape::Composite(ty) = value.ty.shape() else {
            return Err(Error::Unsupported("no struct".into()));
        };
        let len = word(target, &need(target, value, &["len"])?)?;
        let buffer = need(target, value, &["buf"])?;
        let pointer = pointer_in(target, &buffer, 0)?
            .ok_or_else(|| Error::Unsupported("no pointer".into()))?;
        let at = LoadAddr(word(target, &pointer)?);
        let capacity = match named_in(target, &buffer, "cap", 0)? {
            Some(capacity) => Some(word(target, &capacity)?),
            None => None,
        };
        let parameters = ty.composite().map(|it| it.template_types.as_slice());
        let element = match parameters.and_then(<[_]>::first) {
            Some((_, element)) => ty.related(*element),
            None => match pointer.ty.shape() {
                Shape::Pointer(element, _) => element,
                _ => return Err(Error::Unsupported("no element type".into())),
            },
        };
        Ok(sequence(at, element, len, capacity))
    }
}

/// The first thin pointer in a struct, depth first, in order of the members.
pub(super) fn pointer_in(
    target: &dyn Target,
    value: &Value,
    depth: usize,
) -> Result<Option<Value>, Error> {
    match value.ty.shape() {
        Shape::Pointer(_, PointerKind::Raw | PointerKind::Owned) => Ok(Some(value.clone())),
        Shape::Composite(ty) if depth < NESTING => {
            for member in ty.composite().map_or(&[][..], |it| &it.members) {
                let part = members::member(target, value, &ty, member)?;
                if let Some(found) = pointer_in(target, &part, depth + 1)? {
                    return Ok(Some(found));
                }
            }
            Ok(None)
        }
        _ => Ok(None),
    }
}

/// The member of a name in a struct or the structs in it.
fn named_in(
    target: &dyn Target,
    value: &Value,
    name: &str,
    depth: usize,
) -> Result<Option<Value>, Error> {
    let Shape::Composite(ty) = value.ty.shape() else {
        return Ok(None);
    };
    for member in ty.composite().map_or(&[][..], |it| &it.members) {
        let part = members::member(target, value, &ty, member)?;
        if member.name == name {
            return Ok(Some(part));
        }
        if depth < NESTING
            && let Some(found) = named_in(target, &part, name, depth + 1)?
        {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// `Rc<T>` and `Arc<T>`: a pointer to the counts and the value.
#[derive(Debug)]
pub struct Counted;

impl Visualizer for Counted {
    fn matches(&self, name: &str, _: &DwarfTy) -> bool {
        matches!(name, "alloc::rc::Rc" | "alloc::sync::Arc")
    }

    fn view(&self, target: &dyn Target, value: &Value) -> Result<View, Error> {
        let pointer =
            pointer_in(target, value, 0)?.ok_or_else(|| Error::Unsupported("no pointer".into()))?;
        let Shape::Pointer(inner, _) = pointer.ty.shape() else {
            return Err(Error::Unsupported("no pointer".into()));
        };
        let inner = pointer.pointee(target, inner)?;
        let held = match members::find(target, &inner, "value")? {
            Some(value) => value,
            None => need(target, &inner, &["data"])?,
        };
        Ok(View::Pointee(held))
    }
}
