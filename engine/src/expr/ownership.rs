//! Values that must not be copied bytewise: those with a destructor, which would run twice, and
//! those of classes with copy operations of their own.

use crate::inspect::abi;
use crate::inspect::library::{self, Contents};
use crate::inspect::value::types::DwarfTy;
use crate::inspect::value::{PointerKind, Shape, Ty};
use dwarf::Language;
use std::sync::Arc;

/// Maximum number of parts of a type to examine.
const PARTS: u32 = 4096;
/// Rust's types that own their pointer's target, whatever their parts are.
const OWNERS: [&str; 3] = ["alloc::boxed::Box<", "core::ptr::unique::Unique<", NON_NULL];
/// Modules whose types borrow what their pointers refer to.
const BORROWERS: [&str; 2] = ["core::slice::iter::", "core::str::iter::"];
/// The start of the name of a pointer that owns nothing itself, as its owners do. It is `Copy`.
pub(super) const NON_NULL: &str = "core::ptr::non_null::NonNull<";

/// Checks that a value of a type may be passed by value: a Rust value must have nothing to drop.
///
/// # Errors
/// Cause and remedy.
pub(super) fn may_move(ty: &Ty) -> Result<(), String> {
    if ty.language() != Language::Rust || ty.name().starts_with(NON_NULL) {
        return Ok(());
    }
    match dropped(ty, &mut PARTS.clone()) {
        None => Ok(()),
        Some(part) => Err(format!(
            "cannot move a `{}` into the call: it would be dropped twice ({}); call a function \
             that takes a reference (`&…`)",
            ty.name(),
            because(ty, &part)
        )),
    }
}

/// Checks that a value may be overwritten by a copy of another's bytes.
///
/// # Errors
/// Cause and remedy.
pub(super) fn may_copy(ty: &Ty) -> Result<(), String> {
    let name = ty.name();
    match ty.language() {
        Language::Rust if name.starts_with(NON_NULL) => Ok(()),
        Language::Rust => match dropped(ty, &mut PARTS.clone()) {
            None => Ok(()),
            Some(part) => Err(format!(
                "cannot assign a `{name}`: the copy would be dropped twice and the old value \
                 never ({}); assign to its elements or fields, or call a method that changes it",
                because(ty, &part)
            )),
        },
        Language::Cpp => match assigned_by_function(ty, &mut PARTS.clone()) {
            None => Ok(()),
            Some(part) => Err(format!(
                "cannot assign a `{name}`: no callable `operator=` ({}); assign to its members, \
                 or call a member function",
                because(ty, &part)
            )),
        },
        Language::C => Ok(()),
    }
}

fn because(whole: &Ty, part: &str) -> String {
    match *whole.name() == *part {
        true => "has a destructor or owns memory".to_owned(),
        false => format!("contains a `{part}`"),
    }
}

/// Returns the part of a Rust type that needs to be dropped.
fn dropped(ty: &Ty, budget: &mut u32) -> Option<Arc<str>> {
    let name = ty.name();
    *budget = budget.saturating_sub(1);
    match ty.shape() {
        _ if *budget == 0 => Some(name),
        Shape::Void
        | Shape::Unit
        | Shape::Scalar(_)
        | Shape::Foreign(_)
        | Shape::Enumeration(_) => None,
        Shape::Function | Shape::Text | Shape::MemberPointer(_) => None,
        // Constructed by an expression: `&x`.
        Shape::Pointer(..) if matches!(ty.strip(), Ty::Pointer(_)) => None,
        _ if name.starts_with(['&', '*']) => None,
        Shape::Pointer(of, _) if matches!(of.shape(), Shape::Function) => None,
        Shape::Pointer(..) | Shape::Broken(_) => Some(name),
        Shape::Array(array) => dropped(&array.element, budget),
        Shape::Synthetic(ty) => ty.held().iter().find_map(|it| dropped(it, budget)),
        Shape::Composite(class) => {
            if OWNERS.iter().any(|it| name.starts_with(it)) || has_drop_glue(&class) {
                return Some(name);
            }
            let composite = class.composite()?;
            let of_variants = composite.variants.iter().flat_map(|it| &it.variants);
            let members = composite
                .members
                .iter()
                .chain(of_variants.flat_map(|it| &it.members));
            let borrows = BORROWERS.iter().any(|it| name.starts_with(it));
            members
                .map(|it| class.related(it.ty))
                .filter(|it| !borrows || !it.name().starts_with(NON_NULL))
                .find_map(|it| dropped(&it, budget))
        }
    }
}

/// Returns the name of the code that drops values of a type of Rust.
pub(super) fn drop_glue(class: &DwarfTy) -> String {
    format!("core::ptr::drop_in_place<{}>", class.ty.name)
}

/// Returns whether the program has code that drops values of a type.
fn has_drop_glue(class: &DwarfTy) -> bool {
    let name = drop_glue(class);
    let module = class.module();
    !module.functions_named(&name).is_empty() || !module.inlined_named(&name).is_empty()
}

/// Returns the part of a C++ type that is not assigned bytewise.
fn assigned_by_function(ty: &Ty, budget: &mut u32) -> Option<Arc<str>> {
    *budget = budget.saturating_sub(1);
    match ty.shape() {
        _ if *budget == 0 => Some(ty.name()),
        Shape::Array(array) => assigned_by_function(&array.element, budget),
        Shape::Composite(class) => {
            let composite = class.composite()?;
            if abi::is_by_address(ty) || assigns(&class) {
                return Some(ty.name());
            }
            let parts = composite.members.iter().map(|it| it.ty);
            parts
                .chain(composite.bases.iter().map(|it| it.ty))
                .map(|id| class.related(id))
                .find_map(|it| assigned_by_function(&it, budget))
        }
        _ => None,
    }
}

/// Returns whether a class defines or deletes its assignment.
fn assigns(class: &DwarfTy) -> bool {
    let methods = class.module().methods(class.ty.id);
    methods
        .iter()
        .any(|it| it.name == "operator=" && (it.written || it.deleted))
}

/// Returns whether a class or a part of it has a user-defined destructor.
pub(super) fn is_destroyed(ty: &Ty) -> bool {
    is_part_destroyed(ty, &mut PARTS.clone())
}

fn is_part_destroyed(ty: &Ty, budget: &mut u32) -> bool {
    *budget = budget.saturating_sub(1);
    match ty.shape() {
        _ if *budget == 0 => true,
        Shape::Array(array) => is_part_destroyed(&array.element, budget),
        Shape::Composite(class) => {
            let methods = class.module().methods(class.ty.id);
            if methods
                .iter()
                .any(|it| it.name.starts_with('~') && it.written)
            {
                return true;
            }
            let Some(composite) = class.composite() else {
                return false;
            };
            let parts = composite.members.iter().map(|it| it.ty);
            parts
                .chain(composite.bases.iter().map(|it| it.ty))
                .any(|id| is_part_destroyed(&class.related(id), budget))
        }
        _ => false,
    }
}

/// Returns whether a class of C++'s library that only holds its parts, such as `std::pair<int, int>`,
/// holds nothing that a copy of its bytes would share.
pub(super) fn is_plain(ty: &Ty) -> bool {
    let parts = match library::contents(ty) {
        Some(Contents::Tuple(parts) | Contents::Variant(parts)) => parts,
        Some(Contents::Optional(part)) => vec![part],
        Some(Contents::Either(good, bad)) => vec![good, bad],
        _ => return false,
    };
    let owns_nothing = |part: &Ty| {
        let is_reference = matches!(part.shape(), Shape::Pointer(_, PointerKind::Reference));
        !is_reference && (may_copy(part).is_ok() || is_plain(part)) && !is_destroyed(part)
    };
    parts.iter().all(owns_nothing)
}
