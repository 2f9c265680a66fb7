//! Common code for the C++ standard libraries: finding their classes, and the views that differ
//! only in member names.

pub mod callable;
pub mod exceptions;
pub mod iterators;
pub mod owners;
pub mod time;
pub mod walks;

use super::{Collection, CollectionKind, View, Visualizer, Walk, need, word};
use crate::ids::error::Error;
use crate::inspect::value::scalar::{Scalar, ScalarKind};
use crate::inspect::value::text::Unit;
use crate::inspect::value::types::{ArrayTy, DwarfTy};
use crate::inspect::value::{PointerKind, Shape, Target, Ty, Value, ValueLocation, members, text};
use dwarf::LoadAddr;
use std::rc::Rc;
use std::sync::Arc;

/// Maximum size of an allocation in bytes.
pub(super) const PTRDIFF_MAX: u64 = i64::MAX as u64;

/// Maximum nesting of types to search for one by name.
const NESTING: usize = 6;

/// Maximum number of types to search for one by name.
const TYPES: usize = 256;

/// The implementation of the standard library.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Library {
    /// GNU libstdc++.
    Libstdcxx,
    /// LLVM libc++.
    Libcxx,
}

/// The arguments of a view.
pub(super) struct Instance<'a> {
    pub target: &'a dyn Target,
    pub value: &'a Value,
    /// The class in `std`, without inline namespaces.
    pub class: &'a str,
}

/// Classes of one library with the same view.
pub struct Classes {
    library: Library,
    names: &'static [&'static str],
    view: fn(&Instance<'_>) -> Result<View, Error>,
}

impl std::fmt::Debug for Classes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} {:?}", self.library, self.names)
    }
}

impl Classes {
    /// Returns whether a class is one of these.
    pub fn has(&self, library: Library, class: &str) -> bool {
        library == self.library && self.names.contains(&class)
    }

    pub(super) const fn new(
        library: Library,
        names: &'static [&'static str],
        view: fn(&Instance<'_>) -> Result<View, Error>,
    ) -> Classes {
        Classes {
            library,
            names,
            view,
        }
    }
}

impl Visualizer for Classes {
    fn matches(&self, name: &str, _: &DwarfTy) -> bool {
        std_class(name).is_some_and(|(library, class)| self.has(library, class))
    }

    fn view(&self, target: &dyn Target, value: &Value) -> Result<View, Error> {
        let Shape::Composite(ty) = value.ty.shape() else {
            return Err(Error::Unsupported("not a class".into()));
        };
        let name = before_arguments(&ty.ty.name);
        let class = std_class(name).map_or(name, |(_, class)| class);
        (self.view)(&Instance {
            target,
            value,
            class,
        })
    }
}

/// Returns the view of a class of `std`; `name` is without arguments.
pub(crate) fn find(name: &str) -> Option<&'static Classes> {
    let (library, class) = std_class(name)?;
    let classes = match library {
        Library::Libstdcxx => super::libstdcxx::CLASSES,
        Library::Libcxx => super::libcxx::CLASSES,
    };
    classes.iter().find(|classes| classes.has(library, class))
}

/// Returns a class's name without its arguments.
pub(crate) fn before_arguments(name: &str) -> &str {
    match name.find('<') {
        Some(0) | None => name,
        Some(at) => &name[..at],
    }
}

/// Returns the library of a class of `std`, and its name there. libc++ has everything in an inline
/// namespace (`__1`, `__ndk1`, …), libstdc++ only what has changed (`__cxx11`, `_V2`).
pub(crate) fn std_class(name: &str) -> Option<(Library, &str)> {
    if let Some(class) = name.strip_prefix("__gnu_cxx::") {
        return Some((Library::Libstdcxx, class));
    }
    let mut rest = name.strip_prefix("std::")?;
    let mut library = Library::Libstdcxx;
    if let Some((first, inner)) = rest.split_once("::")
        && let Some(version) = first.strip_prefix("__")
        && (version.starts_with(|first: char| first.is_ascii_digit())
            || matches!(version, "ndk1" | "Cr" | "fuchsia"))
        && version != "8"
    {
        (library, rest) = (Library::Libcxx, inner);
    }
    while let Some((first, inner)) = rest.split_once("::") {
        let inline = matches!(
            first,
            "__cxx11" | "__cxx1998" | "__debug" | "_V2" | "__8" | "__fs"
        );
        if !inline {
            break;
        }
        rest = inner;
    }
    // `std::filesystem::__cxx11::path`.
    let class = match rest.strip_prefix("filesystem::__cxx11::") {
        Some("path") => "filesystem::path",
        _ => rest,
    };
    Some((library, class))
}

impl Instance<'_> {
    /// Returns a member by its path.
    pub fn need(&self, path: &[&str]) -> Result<Value, Error> {
        need(self.target, self.value, path)
    }

    /// Returns a member that is a number or address.
    pub fn word(&self, path: &[&str]) -> Result<u64, Error> {
        word(self.target, &self.need(path)?)
    }

    /// Returns a template argument of the class.
    pub fn argument(&self, index: usize) -> Result<Ty, Error> {
        argument(&self.value.ty, index)
    }

    /// Returns the target of a pointer.
    pub fn pointee(&self, pointer: &Value) -> Result<Value, Error> {
        pointee(self.target, pointer)
    }
}

/// Returns a member whose name differs between versions.
pub(super) fn either(target: &dyn Target, value: &Value, names: &[&str]) -> Result<Value, Error> {
    for name in names {
        if let Some(found) = members::find(target, value, name)? {
            return Ok(found);
        }
    }
    Err(Error::Unsupported(format!(
        "no member `{}`",
        names.join("` or `")
    )))
}

/// Returns a template argument of a class.
pub(crate) fn argument(ty: &Ty, index: usize) -> Result<Ty, Error> {
    let missing = || Error::Unsupported(format!("no template argument {index}"));
    let Shape::Composite(ty) = ty.shape() else {
        return Err(missing());
    };
    let arguments = &ty.composite().ok_or_else(missing)?.template_types;
    let (_, id) = arguments.get(index).ok_or_else(missing)?;
    Ok(ty.related_or_void(*id))
}

/// The error of a member that should be a pointer and is not.
pub(super) fn no_pointer() -> Error {
    Error::Unsupported("not a pointer".into())
}

/// The error of a container whose nodes lack a member.
pub(super) fn nodes_without(member: &str) -> Error {
    Error::Unsupported(format!("nodes without `{member}`"))
}

/// Returns the number of elements that a class's last argument gives (`std::span`, `std::bitset`).
pub(crate) fn extent(ty: &Ty) -> Result<u64, Error> {
    last_number(ty).ok_or_else(|| Error::Unsupported("unknown number of elements".into()))
}

/// Returns the last argument in a class's name if it is a number.
pub(super) fn last_number(ty: &Ty) -> Option<u64> {
    let Ty::Dwarf(ty) = ty.strip() else {
        return None;
    };
    let inner = ty.ty.name.strip_suffix('>')?;
    let last = inner.rsplit([',', '<']).next()?.trim();
    let last = last.trim_start_matches("(unsigned long)");
    let digits = last.trim_end_matches(['u', 'l', 'U', 'L']);
    digits.parse().ok()
}

/// Returns the target of a pointer.
pub(super) fn pointee(target: &dyn Target, pointer: &Value) -> Result<Value, Error> {
    match pointer.ty.shape() {
        Shape::Pointer(of, _) => pointer.pointee(target, of),
        _ => Err(no_pointer()),
    }
}

/// Returns the first class with this name among a type, its bases and its template arguments.
pub(super) fn type_within(ty: &Ty, class: &str) -> Option<Ty> {
    let mut level = vec![ty.clone()];
    let mut seen = 0;
    for _ in 0..NESTING {
        let mut next = Vec::new();
        for ty in level {
            let Ty::Dwarf(ty) = ty.strip() else { continue };
            let Some(composite) = ty.composite() else {
                continue;
            };
            if members::last_component(&ty.ty.name) == class {
                return Some(Ty::Dwarf(ty));
            }
            let arguments = composite.template_types.iter().filter_map(|(_, id)| *id);
            for id in composite.bases.iter().map(|base| base.ty).chain(arguments) {
                seen += 1;
                if seen > TYPES {
                    return None;
                }
                next.push(ty.related(id));
            }
        }
        level = next;
    }
    None
}

/// Returns the value in raw storage whose type names it (`__aligned_membuf<T>`), or the value
/// itself.
pub(super) fn stored(value: Value) -> Value {
    let Shape::Composite(ty) = value.ty.shape() else {
        return value;
    };
    match members::last_component(&ty.ty.name) {
        "__aligned_membuf" | "__aligned_buffer" => match argument(&value.ty, 0) {
            Ok(of) => Value::new(of, value.place),
            Err(_) => value,
        },
        _ => value,
    }
}

/// Returns text of `len` units at the target of a pointer.
pub(super) fn text(target: &dyn Target, pointer: &Value, len: u64) -> Result<View, Error> {
    let Shape::Pointer(element, _) = pointer.ty.shape() else {
        return Err(no_pointer());
    };
    text_at(LoadAddr(word(target, pointer)?), &element, len)
}

/// Returns text of `len` units at an address.
pub(super) fn text_at(at: LoadAddr, element: &Ty, len: u64) -> Result<View, Error> {
    let unit = Unit::of(element).unwrap_or(Unit::Byte);
    match len.checked_mul(unit.size() as u64) {
        Some(bytes) if bytes <= PTRDIFF_MAX => Ok(View::Text {
            at,
            len: bytes,
            unit,
        }),
        _ => Ok(View::Invalid(format!("<invalid length {len}>"))),
    }
}

/// Returns `len` elements at the target of a pointer.
pub(super) fn sequence(target: &dyn Target, pointer: &Value, len: u64) -> Result<View, Error> {
    let Shape::Pointer(element, _) = pointer.ty.shape() else {
        return Err(no_pointer());
    };
    let at = word(target, pointer)?;
    let bytes = len.checked_mul(element.size().unwrap_or(0));
    if bytes.is_none_or(|bytes| bytes > PTRDIFF_MAX) {
        return Ok(View::Invalid(format!("<invalid length {len}>")));
    }
    Ok(View::Sequence {
        at: LoadAddr(at),
        element,
        len,
    })
}

/// `std::initializer_list`.
pub(super) fn initializer_list(instance: &Instance<'_>) -> Result<View, Error> {
    let first = either(instance.target, instance.value, &["_M_array", "__begin_"])?;
    let len = either(instance.target, instance.value, &["_M_len", "__size_"])?;
    sequence(instance.target, &first, word(instance.target, &len)?)
}

/// A mutex: glibc stores its state and the owner's tid.
pub(super) fn mutex(instance: &Instance<'_>) -> Result<View, Error> {
    let lock = either(instance.target, instance.value, &["_M_mutex", "__m_"])?;
    let number = |name| {
        word(
            instance.target,
            &need(instance.target, &lock, &["__data", name])?,
        )
    };
    let (state, owner, count) = (number("__lock")?, number("__owner")?, number("__count")?);
    let text = match (state & 0xffff_ffff, count & 0xffff_ffff) {
        (0, _) => "unlocked".to_owned(),
        (_, 0 | 1) => format!("locked by thread {}", owner & 0xffff_ffff),
        (_, count) => format!("locked by thread {}, {count} times", owner & 0xffff_ffff),
    };
    Ok(View::Plain(text))
}

/// Returns the text that a pointer to characters points to, cut at `SHOWN` bytes.
pub(super) fn terminated(target: &dyn Target, pointer: &Value) -> Result<String, Error> {
    const SHOWN: usize = 256;
    let at = LoadAddr(word(target, pointer)?);
    let (bytes, cut) = text::read_terminated(target.memory(), at, 1, SHOWN)?;
    let mut shown = String::new();
    for char in String::from_utf8_lossy(&bytes).chars() {
        text::escape_char(&mut shown, char, '"');
    }
    if cut {
        shown.push_str("...");
    }
    Ok(shown)
}

/// Returns the view of elements between three addresses, as in `std::vector`.
pub(super) fn between(
    target: &dyn Target,
    start: &Value,
    finish: u64,
    end: u64,
) -> Result<View, Error> {
    let Shape::Pointer(element, _) = start.ty.shape() else {
        return Err(no_pointer());
    };
    let at = word(target, start)?;
    let bytes = finish.wrapping_sub(at);
    let size = match element.size() {
        Some(size) => size.max(1),
        None if bytes == 0 => 1,
        None => return Ok(of_unknown_size(&element)),
    };
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

/// Returns the view of contiguous elements whose number depends on their size, which is unknown.
pub(super) fn of_unknown_size(element: &Ty) -> View {
    let name = element.name();
    View::Invalid(format!(
        "<unknown number of elements: `{name}` is only declared>"
    ))
}

/// Maximum number of nodes to count when the container does not store its length.
const COUNTED: u64 = 1 << 16;

/// Returns the view of a container of nodes that does not store its length.
pub(super) fn uncounted(target: &dyn Target, chain: walks::Chain) -> Result<View, Error> {
    let count = chain.count(target, COUNTED + 1)?;
    Ok(View::Collection(Collection {
        len: count.min(COUNTED),
        more: count > COUNTED,
        kind: CollectionKind::List,
        walk: Rc::new(chain),
    }))
}

/// Returns the view of elements that are not contiguous.
pub(super) fn collection(kind: CollectionKind, len: u64, walk: impl Walk + 'static) -> View {
    if len > PTRDIFF_MAX {
        return View::Invalid(format!("<invalid length {len}>"));
    }
    View::Collection(Collection {
        len,
        more: false,
        kind,
        walk: Rc::new(walk),
    })
}

/// Returns whether elements of a class of `std` have keys.
pub(super) fn kind_of(class: &str) -> CollectionKind {
    if class.ends_with("map") {
        CollectionKind::Map
    } else {
        CollectionKind::Set
    }
}

/// Returns the view of booleans of one bit each, from bit `skip` on.
pub(super) fn bits(at: LoadAddr, skip: u64, len: u64) -> View {
    collection(CollectionKind::List, len, walks::BitRow { at, skip })
}

/// Returns the view of bits as a binary number, highest bit first.
pub(super) fn bit_text(target: &dyn Target, words: &Value, count: u64) -> Result<View, Error> {
    const SHOWN: u64 = 256;
    if count == 0 {
        return Ok(View::Plain("0b".into()));
    }
    let have = words.ty.size().unwrap_or(0).saturating_mul(8);
    if count > have {
        return Ok(View::Invalid(format!("<invalid: {count} bits in {have}>")));
    }
    let bytes = words.bytes(target)?;
    let bit = |at: u64| {
        bytes
            .get((at / 8) as usize)
            .is_some_and(|byte| byte >> (at % 8) & 1 == 1)
    };
    let shown = count.min(SHOWN);
    let mut text: String = (0..shown)
        .map(|nth| if bit(count - 1 - nth) { '1' } else { '0' })
        .collect();
    text.insert_str(0, "0b");
    if shown < count {
        text.push_str("...");
    }
    Ok(View::Plain(text))
}

/// Returns the view of a complex number: the real part, followed by the imaginary part.
pub(super) fn complex(value: &Value, real: &Value) -> Result<View, Error> {
    match real.ty.shape() {
        Shape::Scalar(Scalar {
            kind: ScalarKind::Float(format),
            size,
        }) if value.ty.size() == Some(u64::from(size) * 2) => {
            let scalar = Scalar::new(ScalarKind::Complex(format), size * 2);
            let ty = Ty::Builtin(scalar, "complex");
            Ok(View::Pointee(Value::new(ty, value.place.clone())))
        }
        _ => Err(Error::Unsupported("not a complex number".into())),
    }
}

/// Returns the view of numbered fields.
pub(super) fn tuple(values: Vec<Value>) -> View {
    let fields = (0..)
        .zip(values)
        .map(|(index, value): (u64, _)| (index.to_string(), value));
    View::Fields {
        head: String::new(),
        fields: fields.collect(),
    }
}

/// Returns the view of a `std::expected` with this flag; `part` finds its value (`true`) or error. There is no
/// value of type `void`.
pub(super) fn expected(
    instance: &Instance<'_>,
    has_value: u64,
    part: impl Fn(bool) -> Result<Value, Error>,
) -> Result<View, Error> {
    Ok(match has_value {
        0 => View::Noted(part(false)?, "unexpected".into()),
        1 if matches!(instance.argument(0)?.shape(), Shape::Void) => View::Plain("void".into()),
        1 => View::Pointee(part(true)?),
        other => View::Invalid(format!("<invalid: has_value is {other}>")),
    })
}

/// Returns the view of the alternative that a variant holds, with its type as a remark.
pub(super) fn alternative(
    instance: &Instance<'_>,
    index: u64,
    value: Value,
) -> Result<View, Error> {
    Ok(View::Noted(
        value,
        instance.argument(index as usize)?.name().to_string(),
    ))
}

/// Returns the index of the alternative that a `std::variant` holds; `None` if it is valueless.
///
/// # Errors
/// The value is no variant, or cannot be read.
pub fn alternative_index(target: &dyn Target, variant: &Value) -> Result<Option<u64>, Error> {
    let index = match members::find(target, variant, "_M_index")? {
        Some(index) => index,
        None => {
            let all = either(target, variant, &["__impl_", "__impl"])?;
            either(target, &all, &["__index", "__index_"])?
        }
    };
    let none = u64::MAX >> (64 - 8 * index.ty.size().unwrap_or(1).clamp(1, 8));
    let index = word(target, &index)?;
    Ok((index != none).then_some(index))
}

/// Returns an array of `count` elements of a type as a value.
pub(super) fn row(element: Ty, count: u64, place: ValueLocation) -> Value {
    let stride = element.size().unwrap_or(0);
    let array = ArrayTy {
        element,
        count: Some(count),
        stride,
        made_in: None,
    };
    Value::new(Ty::Array(Arc::new(array)), place)
}

/// Returns the target of a pointer to code that is stored in an object; `None` if it is null or not
/// such a pointer.
pub(super) fn code_at(target: &dyn Target, pointer: &Value) -> Result<Option<LoadAddr>, Error> {
    match pointer.ty.shape() {
        Shape::Pointer(_, PointerKind::Raw) => {
            let addr = pointer.raw(target)? as u64;
            Ok((addr != 0).then_some(LoadAddr(addr)))
        }
        _ => Err(no_pointer()),
    }
}
