//! Structs whose last member has no size of its own: a slice, text or trait object. The debug info
//! describes one element in its place, at an offset without the alignment of a trait object. The rest
//! is in the second word of the pointer to the struct.

use super::dynamic::Vtable;
use super::{ISIZE_MAX, NESTING, argument_before, composite, missing, texts, word};
use crate::ids::error::Error;
use crate::inspect::value::types::DwarfTy;
use crate::inspect::value::{Metadata, Shape, Target, Ty, Value, ValueLocation, members};
use crate::inspect::visualize::{View, view};
use dwarf::{LoadAddr, Member, MemberOffset};
use std::sync::Arc;

/// What is at the end of a struct.
enum Tail {
    /// Elements, or text.
    Row(Value),
    /// A trait object, or another struct with such an end.
    Struct(Value),
}

/// Returns what a wide pointer refers to, and remarks on wrappers around it: the concrete value of a
/// trait object, a row or text, or a struct with its end. Structs of the standard library stand for
/// their last member.
///
/// # Errors
/// The object cannot be read, or the debug info does not tell what its end is.
pub(super) fn sized(
    target: &dyn Target,
    mut value: Value,
    metadata: Metadata,
) -> Result<(Value, Vec<String>), Error> {
    let mut notes = Vec::new();
    for _ in 0..NESTING {
        let class = composite(&value)?;
        if is_trait_object(&class) {
            return concrete(target, &value, metadata).map(|it| (it, notes));
        }
        if let (true, Metadata::Length(len)) = (is_text_struct(&class), metadata) {
            let at = value.address().ok_or_else(|| missing("address"))?;
            let end = u64::from(texts::is_c_text(&class.ty.name));
            return text(at, len.saturating_sub(end)).map(|it| (it, notes));
        }
        if !is_of_library(&class) {
            return Ok((value.tailed(class, metadata), notes));
        }
        if let Some(View::Noted(_, note)) = view(target, &value) {
            notes.push(note);
        }
        match end_of(target, &value, &class, metadata)?.1 {
            Tail::Row(row) => return Ok((row, notes)),
            Tail::Struct(next) => value = next,
        }
    }
    Err(missing("end of this struct"))
}

/// Returns the view of what a wide pointer refers to.
///
/// # Errors
/// Those of [`sized`].
pub(super) fn behind(
    target: &dyn Target,
    object: Value,
    metadata: Metadata,
) -> Result<View, Error> {
    let (held, notes) = sized(target, object, metadata)?;
    Ok(match notes.is_empty() {
        true => View::Pointee(held),
        false => View::Noted(held, notes.join(", ")),
    })
}

/// Returns the view of a struct with its end.
///
/// # Errors
/// Those of [`sized`].
pub(crate) fn fields(
    target: &dyn Target,
    value: &Value,
    class: &Arc<DwarfTy>,
    metadata: Metadata,
) -> Result<View, Error> {
    let object = Value::new(Ty::Dwarf(Arc::clone(class)), value.place.clone());
    if is_of_library(class) {
        return behind(target, object, metadata);
    }
    let (last, end) = end_of(target, &object, class, metadata)?;
    let end = match end {
        Tail::Row(row) => row,
        Tail::Struct(inner) => match composite(&inner)? {
            // A type that is not in the debug info is shown by the trait's name.
            of if is_trait_object(&of) => concrete(target, &inner, metadata).unwrap_or(inner),
            of if is_text_struct(&of) => sized(target, inner, metadata)?.0,
            of => inner.tailed(of, metadata),
        },
    };
    let mut fields = Vec::new();
    for member in class.composite().map_or(&[][..], |it| &it.members) {
        if member.id != last.id {
            let name = members::shown_name(class, &member.name).to_owned();
            fields.push((name, members::member(target, &object, class, member)?));
        }
    }
    fields.push((members::shown_name(class, &last.name).to_owned(), end));
    let path = class.ty.name.split('<').next().unwrap_or_default();
    Ok(View::Fields {
        head: members::last_component(path).to_owned(),
        fields,
    })
}

/// Returns whether a struct of Rust ends with a slice, text or trait object, as far as its own debug
/// info tells: then its last member is only described, not there.
pub(crate) fn has_tail(class: &DwarfTy) -> bool {
    let mut class = class.related(class.ty.id);
    for _ in 0..NESTING {
        let Shape::Composite(of) = class.shape() else {
            return false;
        };
        let Some(last) = last_member(&of) else {
            return false;
        };
        let end = of.related(last.ty);
        let is_row_by_name = generic_arguments(&of.ty.name).any(|it| is_row_of(it, &end));
        if is_row_by_name || ends_behind(&of, last, &end) {
            return true;
        }
        class = end;
        if matches!(class.shape(), Shape::Composite(of) if is_trait_object(&of)) {
            return true;
        }
    }
    false
}

/// Returns whether a member of a struct of Rust is one that its debug info only describes; see
/// [`has_tail`].
pub(crate) fn is_tail(class: &DwarfTy, name: &str) -> bool {
    let is_it = |it: &Member| it.name == name || members::shown_name(class, &it.name) == name;
    last_member(class).is_some_and(is_it) && has_tail(class)
}

/// Returns what the second word of a wide pointer says; `None` if the value is no wide pointer.
///
/// # Errors
/// The value cannot be read.
pub(super) fn metadata_of(target: &dyn Target, pointer: &Value) -> Result<Option<Metadata>, Error> {
    if let Some(length) = members::find(target, pointer, "length")? {
        return Ok(Some(Metadata::Length(word(target, &length)?)));
    }
    let vtable = members::find(target, pointer, "vtable")?;
    let vtable = vtable.map(|it| word(target, &it)).transpose()?;
    Ok(vtable.map(|at| Metadata::Vtable(LoadAddr(at))))
}

/// Returns whether a type is that of a trait object.
fn is_trait_object(class: &DwarfTy) -> bool {
    class.ty.name.trim_start_matches('(').starts_with("dyn ")
}

/// Returns whether a struct of the library is text.
fn is_text_struct(class: &DwarfTy) -> bool {
    texts::is_text(&class.ty.name) || texts::is_c_text(&class.ty.name)
}

/// Returns whether a struct is one of the standard library. In those of other crates all members are of
/// interest.
fn is_of_library(class: &DwarfTy) -> bool {
    let root = class.ty.name.split("::").next();
    matches!(root, Some("core" | "alloc" | "std"))
}

/// Returns the member that may have no size of its own: the compiler puts it last.
fn last_member(class: &DwarfTy) -> Option<&Member> {
    class.composite()?.members.last()
}

/// Returns whether a member is described behind the end of its struct, whose size is that without it.
fn ends_behind(class: &DwarfTy, last: &Member, of: &Ty) -> bool {
    let MemberOffset::Bytes(offset) = last.offset else {
        return false;
    };
    let end = of.size().and_then(|size| offset.checked_add(size));
    matches!((end, class.ty.size), (Some(end), Some(size)) if end > size)
}

/// Returns the concrete value of a trait object.
fn concrete(target: &dyn Target, object: &Value, metadata: Metadata) -> Result<Value, Error> {
    let Metadata::Vtable(at) = metadata else {
        return Err(missing("vtable"));
    };
    let concrete = Vtable::read(target, at)?.concrete(target);
    let concrete = concrete.ok_or_else(|| missing("type of this vtable"))?;
    Ok(Value::new(concrete, object.place.clone()))
}

/// Returns the last member of a struct that a wide pointer refers to, and what is there.
fn end_of<'a>(
    target: &dyn Target,
    object: &Value,
    class: &'a DwarfTy,
    metadata: Metadata,
) -> Result<(&'a Member, Tail), Error> {
    let last = last_member(class).ok_or_else(|| missing("member"))?;
    let at = object.address().ok_or_else(|| missing("address"))?;
    let end = members::member(target, object, class, last)?;
    let end_at = end.address().ok_or_else(|| missing("address"))?;
    let tail = match metadata {
        Metadata::Vtable(vtable) => {
            // The debug info has no alignment of `dyn`: the offset is rounded up to that of the value.
            let align = Vtable::read(target, vtable)?.align;
            let offset = end_at.0.checked_sub(at.0);
            let offset = offset.and_then(|it| it.checked_next_multiple_of(align));
            let at = at + offset.ok_or_else(|| missing("room"))?;
            Tail::Struct(Value::new(end.ty, ValueLocation::Memory(at, None)))
        }
        Metadata::Length(len) => match is_struct(class, last, &end.ty)? {
            true => Tail::Struct(end),
            false => Tail::Row(row(class, end.ty, end_at, len)?),
        },
    };
    Ok((last, tail))
}

/// Returns whether the last member of a struct that ends with a slice or text is a struct that ends
/// with it; else it is described as an element of it.
fn is_struct(class: &DwarfTy, last: &Member, of: &Ty) -> Result<bool, Error> {
    let Shape::Composite(inner) = of.shape() else {
        return Ok(false);
    };
    let has_members = inner.composite().is_some_and(|it| !it.members.is_empty());
    if !has_members
        || generic_arguments(&class.ty.name).any(|it| is_row_of(it, of))
        || ends_behind(class, last, of)
    {
        return Ok(false);
    }
    if is_text_struct(&inner) || has_tail(&inner) {
        return Ok(true);
    }
    Err(Error::Unsupported(format!(
        "the debug info does not tell what `{}` of this `{}` is",
        last.name, class.ty.name
    )))
}

/// Returns the elements or the text at the end of a struct, whose debug info describes an element.
fn row(class: &DwarfTy, element: Ty, at: LoadAddr, len: u64) -> Result<Value, Error> {
    let name = &class.ty.name;
    if generic_arguments(name).any(texts::is_text) && &*element.name() == "u8" {
        return text(at, len);
    }
    let element = match element.shape() {
        // A slice is described as an array without a length.
        Shape::Array(array) if array.count.is_none_or(|it| it == 0) => array.element.clone(),
        _ => element,
    };
    match len.checked_mul(element.size().unwrap_or(0)) {
        Some(bytes) if bytes <= ISIZE_MAX => Ok(Value::new(
            element.array(len),
            ValueLocation::Memory(at, None),
        )),
        _ => Err(Error::Unsupported(format!("invalid length {len}"))),
    }
}

/// Returns the text of so many bytes at an address.
fn text(at: LoadAddr, len: u64) -> Result<Value, Error> {
    if len > ISIZE_MAX {
        return Err(Error::Unsupported(format!("invalid length {len}")));
    }
    Ok(Value {
        ty: Ty::str().unsized_target(),
        ..Value::fat_reference(Ty::str(), at, len)
    })
}

/// Returns whether a generic argument is the slice or text of an element.
fn is_row_of(argument: &str, element: &Ty) -> bool {
    let inner = argument
        .strip_prefix('[')
        .and_then(|it| it.strip_suffix(']'));
    match inner {
        Some(inner) => inner == &*element.name(),
        None => texts::is_text(argument) && &*element.name() == "u8",
    }
}

/// Returns the generic arguments in a type's name.
fn generic_arguments(name: &str) -> impl Iterator<Item = &str> {
    let mut rest = name.split_once('<').map_or("", |(_, rest)| rest);
    std::iter::from_fn(move || {
        let argument = argument_before(rest);
        let behind = rest.get(argument.len()..)?;
        let argument = argument.trim_start();
        rest = behind.strip_prefix(',').unwrap_or_default();
        (!argument.is_empty()).then_some(argument)
    })
}

#[cfg(test)]
mod tests {
    use super::generic_arguments;

    #[test]
    fn generic_arguments_are_those_of_the_outermost_type() {
        let arguments = |name| generic_arguments(name).collect::<Vec<_>>();
        assert_eq!(arguments("a::Tail<[u32]>"), ["[u32]"]);
        assert_eq!(
            arguments("Pair<a::B<u8, u16>, (u8, u32), [a::C<u8>]>"),
            ["a::B<u8, u16>", "(u8, u32)", "[a::C<u8>]"]
        );
        assert!(arguments("Line").is_empty());
        assert!(arguments("Line<").is_empty());
        assert!(arguments("Line<>,<").is_empty());
    }
}
