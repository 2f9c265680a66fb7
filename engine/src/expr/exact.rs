//! Which types and classes are exactly the same. A function of another instantiation of a template
//! would run as well, and overwrite what follows the object.

use super::check::c;
use super::invoke::ResolvedFunction;
use super::ir::{Expr, Kind};
use super::overload::parameters;
use crate::inspect::library;
use crate::inspect::value::path::Part;
use crate::inspect::value::synthetic::FunctionTy;
use crate::inspect::value::types::DwarfTy;
use crate::inspect::value::{Shape, Ty};
use dwarf::{Language, TypeKind};
use std::sync::Arc;

/// Maximum nesting of classes and their bases.
const DEPTH: usize = 16;

/// Maximum number of types in two types that are compared: functions may share their parameters' types.
const COMPARED: usize = 256;

/// Returns whether a class has another as a base.
pub(super) fn derives(class: &Ty, base: &Ty) -> bool {
    levels_to(class, base).is_some()
}

/// Returns the number of levels between a class and one of its bases; `None`: it is not one.
pub(super) fn levels_to(class: &Ty, base: &Ty) -> Option<usize> {
    levels_within(class, base, 1)
}

fn levels_within(class: &Ty, base: &Ty, level: usize) -> Option<usize> {
    let Shape::Composite(class) = class.shape() else {
        return None;
    };
    if level > DEPTH {
        return None;
    }
    let bases = class.composite().map_or(&[][..], |it| &it.bases);
    let levels = bases.iter().filter_map(|it| {
        let of = class.related(it.ty);
        match same(&of, base) {
            true => Some(level),
            false => levels_within(&of, base, level + 1),
        }
    });
    levels.min()
}

/// Returns the qualified names that a member function of a class may have: with the arguments of a
/// template, and without.
pub(super) fn names_in(class: &DwarfTy, name: &str) -> Vec<String> {
    let whole = &class.ty.name;
    let bare = whole.split('<').next().unwrap_or_default();
    let mut names = vec![format!("{whole}::{name}")];
    if whole != bare {
        names.push(format!("{bare}::{name}"));
    }
    names
}

/// Returns the type whose functions `object.name(…)` may be: a class. In Rust, types of all kinds have
/// functions, such as enums without fields and numbers.
pub(super) fn with_functions(ty: &Ty) -> Option<Arc<DwarfTy>> {
    match ty.shape() {
        Shape::Composite(class) => Some(class),
        Shape::Enumeration(of) if of.language() == Language::Rust => Some(of),
        Shape::Scalar(_) => match ty.strip() {
            Ty::Dwarf(of) if of.language() == Language::Rust => Some(of),
            _ => None,
        },
        _ => None,
    }
}

/// Checks that a function is a member of exactly that class; an error is the name of the type that
/// it belongs to.
pub(super) fn is_member(known: &ResolvedFunction, class: &Arc<DwarfTy>) -> Result<(), String> {
    let owner = known.module.class_of(&known.function);
    match owner.map(|id| Ty::dwarf(&known.module, known.bias, id)) {
        Some(owner) => match owner.shape() {
            Shape::Composite(owner) if is_same_class(&owner, class) => Ok(()),
            _ => Err(owner.name().to_string()),
        },
        // A function of a trait's implementation belongs to no class; its `self` parameter has the
        // type.
        None if known.function.language == Language::Rust => {
            let object = Ty::Dwarf(Arc::clone(class));
            let own = match parameters(known).first() {
                Some(first) => behind_borrows(first),
                None => Ty::Void,
            };
            match same(&own, &object) {
                true => Ok(()),
                false => Err(own.name().to_string()),
            }
        }
        None => Err("no class".to_owned()),
    }
}

/// Returns whether two classes are the same: one entry, or copies in several units of a class with
/// one name. Classes without a name outside their unit are distinct.
pub(super) fn is_same_class(a: &Arc<DwarfTy>, b: &Arc<DwarfTy>) -> bool {
    let is_one_entry = Arc::ptr_eq(a, b)
        || Arc::ptr_eq(a.module(), b.module()) && a.bias == b.bias && a.ty.id == b.ty.id;
    is_one_entry
        || !a.ty.name.is_empty()
            && a.ty.name == b.ty.name
            && (a.ty.size == b.ty.size || is_only_declared(a) || is_only_declared(b))
            && is_known_elsewhere(a)
            && is_known_elsewhere(b)
            && !contradict(a, b)
}

/// Returns whether two unnamed structs in two units are copies of one, which is named by a
/// `typedef`.
fn are_copies(a: &DwarfTy, b: &DwarfTy) -> bool {
    let (Some(x), Some(y)) = (a.composite(), b.composite()) else {
        return false;
    };
    a.ty.name.is_empty()
        && b.ty.name.is_empty()
        && a.ty.size == b.ty.size
        && x.members.len() == y.members.len()
        && x.members
            .iter()
            .zip(&y.members)
            .all(|(x, y)| x.name == y.name)
}

/// Returns whether a module only declares a class: gcc leaves polymorphic ones to the unit with the vtable, and C
/// programs do not see the contents of a library's structs.
fn is_only_declared(class: &DwarfTy) -> bool {
    class.composite().is_some_and(|it| it.declaration)
}

fn is_known_elsewhere(class: &DwarfTy) -> bool {
    const UNNAMED: [&str; 6] = [
        "(anonymous",
        "<unnamed",
        "<lambda",
        "{lambda",
        "{unnamed",
        "'lambda",
    ];
    !UNNAMED.iter().any(|it| class.ty.name.contains(it))
        && !class.module().is_local_type(class.ty.id)
}

/// Returns whether the symbols of a function that both classes declare differ: clang gives the same
/// name to classes local to two functions if they are template arguments.
fn contradict(a: &DwarfTy, b: &DwarfTy) -> bool {
    if a.language() != Language::Cpp {
        return false;
    }
    let (all, others) = (a.module().methods(a.ty.id), b.module().methods(b.ty.id));
    let symbols = |name: &str| {
        let same = others.iter().filter(|it| it.name == name);
        same.filter_map(|it| it.linkage_name.as_deref())
            .collect::<Vec<_>>()
    };
    let mut known = all
        .iter()
        .filter_map(|it| Some((it, it.linkage_name.as_deref()?)))
        .map(|(it, symbol)| (symbols(&it.name), symbol))
        .filter(|(symbols, _)| !symbols.is_empty())
        .peekable();
    known.peek().is_some() && !known.any(|(symbols, symbol)| symbols.contains(&symbol))
}

/// Returns whether two types are exactly the same without typedefs and qualifiers.
pub(super) fn same(a: &Ty, b: &Ty) -> bool {
    same_within(a, b, &mut COMPARED.clone())
}

fn same_within(a: &Ty, b: &Ty, budget: &mut usize) -> bool {
    *budget = budget.saturating_sub(1);
    if *budget == 0 {
        return false;
    }
    match (a.shape(), b.shape()) {
        (Shape::Void, Shape::Void) | (Shape::Unit, Shape::Unit) => true,
        (Shape::Scalar(_), Shape::Scalar(_)) => match a.language() {
            Language::Rust => a.name() == b.name(),
            _ => c::is_same(a, b),
        },
        (Shape::Pointer(a, _), Shape::Pointer(b, _)) => same_within(&a, &b, budget),
        (Shape::Array(a), Shape::Array(b)) => {
            a.count == b.count && same_within(&a.element, &b.element, budget)
        }
        (Shape::Composite(x), Shape::Composite(y)) => {
            is_same_class(&x, &y) || a.name() == b.name() && are_copies(&x, &y)
        }
        (Shape::Function, Shape::Function) => a.same_as(b) || same_functions(a, b, budget),
        (Shape::MemberPointer(_), Shape::MemberPointer(_)) => {
            a.same_as(b) || same_members(a, b, budget)
        }
        _ => a.same_as(b),
    }
}

/// Returns whether two types of functions are the same, as far as they are known: a function's name has no type
/// here, and C declares some functions without parameters.
fn same_functions(a: &Ty, b: &Ty, budget: &mut usize) -> bool {
    let (Some(x), Some(y)) = (a.signature(), b.signature()) else {
        return true;
    };
    let is_unknown = |ty: &Ty, of: &FunctionTy| {
        ty.language() == Language::C && of.parameters.is_empty() && !of.is_variadic
    };
    if !same_within(&x.returns, &y.returns, budget) {
        return false;
    }
    is_unknown(a, &x)
        || is_unknown(b, &y)
        || x.is_variadic == y.is_variadic
            && x.parameters.len() == y.parameters.len()
            && (x.parameters.iter().zip(&y.parameters)).all(|(x, y)| same_within(x, y, budget))
}

/// Returns whether two types of pointers to members are the same: of one class, and of functions for the same
/// objects.
fn same_members(a: &Ty, b: &Ty, budget: &mut usize) -> bool {
    let (Some((class, x)), Some((other, y))) = (a.member_pointer(), b.member_pointer()) else {
        return false;
    };
    let for_const = |function: &Ty| {
        let object = function.signature()?.parameters.first().cloned()?;
        Some(points_to_const(&object))
    };
    same_within(&class, &other, budget)
        && same_within(&x, &y, budget)
        && for_const(&x) == for_const(&y)
}

/// Returns the target of a C++ reference, and whether it is `&&`.
pub(super) fn reference(ty: &Ty) -> Option<(Ty, bool)> {
    let Ty::Dwarf(ty) = ty.strip() else {
        return None;
    };
    match ty.ty.kind {
        TypeKind::Reference(of) => Some((ty.related(of), false)),
        TypeKind::RvalueReference(of) => Some((ty.related(of), true)),
        _ => None,
    }
}

/// Returns whether a pointer is to a const object.
pub(super) fn points_to_const(pointer: &Ty) -> bool {
    matches!(pointer.shape(), Shape::Pointer(of, _) if of.is_const())
}

/// Returns whether a type, or that of the elements of an array, is const.
fn is_const_element(ty: &Ty) -> bool {
    let mut ty = ty.clone();
    for _ in 0..DEPTH {
        match ty.shape() {
            _ if ty.is_const() => return true,
            Shape::Array(array) => ty = array.element.clone(),
            _ => return false,
        }
    }
    false
}

/// Returns whether an expression is an object that must not be changed: its type says so, or that of
/// the object that it is a part of.
pub(super) fn is_const_object(of: &Expr<'_>) -> bool {
    if is_const_element(&of.ty) {
        return true;
    }
    match &of.kind {
        Kind::Part(object, part) if !matches!(part, Part::Static(..)) => is_const_object(object),
        Kind::Element(array, ..) => is_const_object(array),
        // An element of a container, but not what a pointer refers to.
        Kind::Item(row, _) => library::contents(&row.ty).is_some() && is_const_object(row),
        Kind::Answer(_, operands) => match operands.first() {
            Some(row) => row.ty.language() == Language::Cpp && is_const_object(row),
            None => false,
        },
        _ => false,
    }
}

fn behind_borrows(ty: &Ty) -> Ty {
    match ty.shape() {
        Shape::Pointer(of, _) if ty.name().starts_with('&') => of,
        _ => ty.clone(),
    }
}
