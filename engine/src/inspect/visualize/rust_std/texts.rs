//! Strings, and pointers to strings and slices.

use super::{ISIZE_MAX, composite, deref, first_argument, missing, sequences, shared, struct_in};
use crate::ids::error::Error;
use crate::inspect::value::location::Bytes;
use crate::inspect::value::text::Unit;
use crate::inspect::value::types::DwarfTy;
use crate::inspect::value::{Shape, Target, Ty, Value, ValueLocation, members};
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
            // A struct with an unsized last member.
            let object = deref(target, &pointer)?;
            let tailed = with_tail(target, &object, len);
            return Ok(tailed.unwrap_or(View::Pointee(object)));
        }
        let element = match element.shape() {
            Shape::Array(array) => array.element.clone(),
            _ => element,
        };
        Ok(sequences::row(at, element, len, None))
    }
}

/// Maximum number of bytes of an unsized text to show.
const TAIL: u64 = 4096;

/// Returns the view of a struct whose last member is a slice or text of `len` elements; the debug
/// info describes only one element. `None` if the length belongs to a nested struct, or to a
/// counted value.
fn with_tail(target: &dyn Target, object: &Value, len: u64) -> Option<View> {
    let ty = composite(object).ok()?;
    let (last, others) = ty.composite()?.members.split_last()?;
    let element = members::member(target, object, &ty, last).ok()?;
    let arguments = ty.ty.name.split_once('<').map(|(_, rest)| rest);
    let argument = |wanted: &str| {
        let arguments = arguments.and_then(|it| it.strip_suffix('>'));
        arguments.is_some_and(|it| it == wanted || it.ends_with(&format!(", {wanted}")))
    };
    let is_text = argument("str");
    let is_slice = argument(&format!("[{}]", element.ty.name()))
        || arguments.is_none() && matches!(element.ty.shape(), Shape::Scalar(_));
    let size = element.ty.size()?;
    if !is_text && !is_slice || len.checked_mul(size)? > ISIZE_MAX {
        return None;
    }
    let tail = match is_text {
        false => Value {
            ty: element.ty.clone().array(len),
            ..element
        },
        true => {
            let mut bytes = vec![0; len.min(TAIL) as usize];
            target.memory().read(element.address()?, &mut bytes).ok()?;
            Value::new(Ty::Text, ValueLocation::Bytes(Bytes::new(&bytes)))
        }
    };
    let mut fields = Vec::new();
    for member in others {
        let value = members::member(target, object, &ty, member).ok()?;
        fields.push((members::shown_name(&ty, &member.name).to_owned(), value));
    }
    fields.push((members::shown_name(&ty, &last.name).to_owned(), tail));
    let path = ty.ty.name.split('<').next().unwrap_or_default();
    Some(View::Fields {
        head: members::last_component(path).to_owned(),
        fields,
    })
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
