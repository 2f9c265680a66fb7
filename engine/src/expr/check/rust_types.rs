//! Types of Rust by their parts: the fields of tuples, structs and variants, and which types are one.

use super::rust;
use crate::inspect::library::{self, Contents};
use crate::inspect::value::types::DwarfTy;
use crate::inspect::value::{PointerKind, Shape, Synthetic, Ty, members};

/// Names and types of fields.
pub(crate) type Parts = Vec<(String, Ty)>;

/// Returns whether two types are one: of the debug info, built in, or made by an expression.
pub(crate) fn same(a: &Ty, b: &Ty) -> bool {
    rust::is_same(a, b) || a.strip().name() == b.strip().name()
}

/// Checks that values of two types can be compared: an object of the program's own type not with a
/// reference to one. For those of the library this is a convenience.
///
/// # Errors
/// Cause and remedy.
pub(super) fn comparable(a: &Ty, b: &Ty) -> Result<(), String> {
    let is_own = |ty: &Ty| {
        let ty = library::referent_type(ty);
        matches!(ty.shape(), Shape::Composite(_)) && library::contents(&ty).is_none()
    };
    match is_reference(a) != is_reference(b) && is_own(a) && is_own(b) {
        true => Err(format!(
            "cannot compare `{}` with `{}`; borrow or dereference one of them",
            a.name(),
            b.name()
        )),
        false => Ok(()),
    }
}

/// Returns whether a type is `&T` or `&mut T`, also of an unsized target.
pub(crate) fn is_reference(ty: &Ty) -> bool {
    ty.name().starts_with('&')
}

/// Returns the target of a reference to a sized type.
pub(crate) fn referent(ty: &Ty) -> Option<Ty> {
    match ty.shape() {
        Shape::Pointer(of, PointerKind::Owned) if is_reference(ty) => Some(of),
        _ => None,
    }
}

/// Returns whether a type has a part that is left open, as that of `None`.
pub(crate) fn is_open(ty: &Ty) -> bool {
    match ty {
        Ty::Array(array) => is_open(&array.element),
        Ty::Synthetic(synthetic) => match &**synthetic {
            Synthetic::Open => true,
            Synthetic::Reference(of) | Synthetic::MutableReference(of) => is_open(of),
            other => other.held().iter().any(is_open),
        },
        _ => false,
    }
}

/// Returns the type of values of which each may leave another part open: of `Ok(1)` and `Err('a')`.
pub(crate) fn merged(a: &Ty, b: &Ty) -> Ty {
    let of = |ty: &Ty| match ty {
        Ty::Synthetic(synthetic) => match &**synthetic {
            Synthetic::Enum(of) => Some(of.variants.clone()),
            _ => None,
        },
        _ => None,
    };
    let (Some(one), Some(other)) = (of(a), of(b)) else {
        return a.clone();
    };
    let held = |at: usize| {
        let held = |all: &[(&str, Option<Ty>)]| all.get(at).and_then(|it| it.1.clone());
        let known = held(&one).filter(|it| !is_open(it));
        known.or_else(|| held(&other)).unwrap_or_else(Ty::open)
    };
    let is_one = one.iter().map(|it| it.0).eq(other.iter().map(|it| it.0));
    match one.first() {
        Some(("None", _)) if is_one => held(1).option(),
        Some(("Ok", _)) if is_one => held(0).result(held(1)),
        _ => a.clone(),
    }
}

/// Returns the name of a struct or variant whose type is left open.
pub(crate) fn open_name(ty: &Ty) -> Option<std::sync::Arc<str>> {
    let Ty::Synthetic(synthetic) = ty else {
        return None;
    };
    match &**synthetic {
        Synthetic::Struct(name, held) if is_open(held) => Some(name.clone()),
        _ => None,
    }
}

/// Returns whether a type is a tuple, or `()`.
pub(crate) fn is_tuple(ty: &Ty) -> bool {
    ty.name().starts_with('(')
}

/// Returns the name of a type without its generic arguments.
pub(crate) fn generic_name(ty: &Ty) -> String {
    let name = ty.strip().name();
    match name.chars().next() {
        Some('(') => "(".to_owned(),
        _ => name.split('<').next().unwrap_or_default().to_owned(),
    }
}

/// Returns the fields of a tuple, a struct or a range.
pub(crate) fn fields(ty: &Ty) -> Option<Parts> {
    match ty.shape() {
        Shape::Unit | Shape::Void => Some(Vec::new()),
        Shape::Synthetic(synthetic) => match &*synthetic {
            Synthetic::Tuple(parts) => {
                let numbered = parts.iter().enumerate();
                Some(
                    numbered
                        .map(|(at, it)| (at.to_string(), it.clone()))
                        .collect(),
                )
            }
            Synthetic::Range(_, bounds) => {
                let bounds = bounds.iter();
                Some(
                    bounds
                        .map(|(name, ty)| ((*name).to_owned(), ty.clone()))
                        .collect(),
                )
            }
            _ => None,
        },
        Shape::Composite(class) if class.composite()?.variants.is_none() => fields_of(&class),
        _ => None,
    }
}

fn fields_of(class: &DwarfTy) -> Option<Parts> {
    let members = class.composite()?.members.iter();
    Some(
        members
            .map(|it| {
                let name = members::shown_name(class, &it.name).to_owned();
                (name, class.related(it.ty))
            })
            .collect(),
    )
}

/// Returns whether a type is an enum with variants.
pub(crate) fn is_enum(ty: &Ty) -> bool {
    match ty.shape() {
        Shape::Composite(class) => class.composite().is_some_and(|it| it.variants.is_some()),
        Shape::Synthetic(synthetic) => matches!(&*synthetic, Synthetic::Enum(_)),
        Shape::Enumeration(_) => true,
        _ => false,
    }
}

/// Returns the fields of a variant of an enum; `None` if it has no such variant.
pub(crate) fn variant(ty: &Ty, name: &str) -> Option<Parts> {
    match ty.shape() {
        Shape::Synthetic(synthetic) => match &*synthetic {
            Synthetic::Enum(of) => {
                let (_, held) = of.variants.iter().find(|it| it.0 == name)?;
                Some(held.iter().map(|it| ("0".to_owned(), it.clone())).collect())
            }
            _ => None,
        },
        Shape::Composite(class) => {
            let variants = class.composite()?.variants.as_ref()?.variants.iter();
            let mut holders = variants.filter_map(|it| it.members.first());
            let holder = holders.find(|it| it.name == name)?;
            match class.related(holder.ty).shape() {
                Shape::Composite(payload) => fields_of(&payload),
                _ => Some(Vec::new()),
            }
        }
        Shape::Enumeration(_) => members::enumerator_named(ty, name).map(|_| Vec::new()),
        _ => None,
    }
}

/// Returns the fields of a variant, or of a type that has none.
pub(super) fn parts_of(ty: &Ty, variant: Option<&str>) -> Option<Parts> {
    match variant {
        Some(name) => self::variant(ty, name),
        None => fields(ty),
    }
}

/// Returns the type of the elements of an array, a slice, or a container of elements in a row.
pub(crate) fn element(ty: &Ty) -> Option<Ty> {
    match (ty.shape(), library::contents(ty)) {
        (Shape::Array(array), _) => Some(array.element.clone()),
        (_, Some(Contents::Sequence(of) | Contents::List(of))) => Some(of),
        _ => None,
    }
}

/// Returns whether the library compares two rows although only one is a reference: a slice with a `Vec`
/// or an array, a reference to an array with a `Vec`.
pub(crate) fn are_rows(a: &Ty, b: &Ty) -> bool {
    let is_row = |ty: &Ty| element(ty).is_some();
    let is_array = |ty: &Ty| matches!(ty.shape(), Shape::Array(_));
    let compares = |reference: &Ty, other: &Ty| match referent(reference) {
        None => is_reference(reference) && is_row(reference) && is_row(other),
        Some(of) => is_array(&of) && is_row(other) && !is_array(other),
    };
    compares(a, b) || compares(b, a)
}
