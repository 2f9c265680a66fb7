//! Iterators that are one pointer, to an element or to a node: those of all containers but `std::deque` and
//! `std::vector<bool>`. And the ends of the containers.

use super::containers::element_size;
use super::segments;
use crate::ids::error::Error;
use crate::inspect::library::call::Call;
use crate::inspect::library::compare::class_name;
use crate::inspect::library::contents::{Contents, contents};
use crate::inspect::library::elements::Elements;
use crate::inspect::library::method::Parameter::{Index, Own};
use crate::inspect::library::method::{Class, Row, element, own};
use crate::inspect::value::scalar::{Scalar, ScalarKind};
use crate::inspect::value::{Shape, Target, Ty, Value, ValueLocation};
use crate::inspect::visualize::word;
use dwarf::LoadAddr;
use std::cmp::Ordering;

/// Size of an iterator that is one pointer.
const POINTER_BYTES: u64 = 8;

/// Operators of iterators over contiguous elements.
pub const CONTIGUOUS: &[Row] = &[
    Row::new("operator+", &[Index], own, |it| moved(it, false)),
    Row::new("operator-", &[Index], own, |it| moved(it, true)),
    Row::new("operator-", &[Own], difference, distance),
    Row::new("operator[]", &[Index], element, |it| {
        let place = ValueLocation::Memory(LoadAddr(position(it, false)?), None);
        Ok(Value::new(it.returns.clone(), place))
    }),
];

/// The ends of a container.
pub const ENDS: &[Row] = &[
    Row::new(
        "begin",
        &[],
        |it| declared(it, "begin"),
        |it| end_of(it, Side::First),
    ),
    Row::new(
        "end",
        &[],
        |it| declared(it, "end"),
        |it| end_of(it, Side::Last),
    ),
    Row::new(
        "cbegin",
        &[],
        |it| declared(it, "cbegin"),
        |it| end_of(it, Side::First),
    ),
    Row::new(
        "cend",
        &[],
        |it| declared(it, "cend"),
        |it| end_of(it, Side::Last),
    ),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    First,
    Last,
}

/// Returns the name of an iterator's class without the mark of constant ones, if the iterator is one pointer.
fn family(ty: &Ty) -> Option<String> {
    let name = class_name(ty);
    let is_it = matches!(
        &*name,
        "__normal_iterator"
            | "__wrap_iter"
            | "_List_iterator"
            | "_List_const_iterator"
            | "_Fwd_list_iterator"
            | "_Fwd_list_const_iterator"
            | "_Rb_tree_iterator"
            | "_Rb_tree_const_iterator"
            | "__detail::_Node_iterator"
            | "__detail::_Node_const_iterator"
            | "__list_iterator"
            | "__list_const_iterator"
            | "__forward_list_iterator"
            | "__forward_list_const_iterator"
            | "__tree_iterator"
            | "__tree_const_iterator"
            | "__map_iterator"
            | "__map_const_iterator"
            | "__hash_iterator"
            | "__hash_const_iterator"
            | "__hash_map_iterator"
            | "__hash_map_const_iterator"
    );
    (is_it && ty.size() == Some(POINTER_BYTES)).then(|| name.replace("const_", ""))
}

fn is_contiguous(family: &str) -> bool {
    matches!(family, "__normal_iterator" | "__wrap_iter")
}

/// Returns whether the libraries compare iterators of these types: both are of one container's class.
pub fn comparable(left: &Ty, right: &Ty) -> bool {
    let element = |ty: &Ty| match contents(ty)? {
        Contents::Pointee(of) => Some(of),
        _ => None,
    };
    let family = |ty: &Ty| family(ty).or_else(|| Some(segments::family(ty)?.to_owned()));
    match (family(left), family(right), element(left), element(right)) {
        (Some(a), Some(b), Some(of), Some(to)) => a == b && of.same_as(&to),
        _ => false,
    }
}

/// Returns whether a type is that of iterators over contiguous elements that are one pointer.
pub fn is_contiguous_iterator(ty: &Ty) -> bool {
    family(ty).is_some_and(|family| is_contiguous(&family))
}

/// Returns whether iterators of a type have no order.
pub fn is_unordered(ty: &Ty) -> bool {
    family(ty).is_some_and(|family| !is_contiguous(&family))
}

/// Compares two iterators of one container.
///
/// # Errors
/// One of them cannot be read.
pub fn compare(target: &dyn Target, left: &Value, right: &Value) -> Result<Ordering, Error> {
    match segments::family(&left.ty) {
        Some(_) => segments::compare(target, left, right),
        None => Ok(pointer(target, left)?.cmp(&pointer(target, right)?)),
    }
}

/// Returns the pointer that an iterator is.
fn pointer(target: &dyn Target, iterator: &Value) -> Result<u64, Error> {
    let bytes = iterator.bytes(target)?;
    let word = bytes.first_chunk::<8>().ok_or(Error::OptimizedOut)?;
    Ok(u64::from_le_bytes(*word))
}

/// Returns `ptrdiff_t`.
pub(super) fn difference(_: &Class) -> Option<Ty> {
    Some(Ty::Builtin(Scalar::new(ScalarKind::Signed, 8), "long"))
}

/// Returns the address of the element at the distance that the first argument is.
fn position(it: &Call<'_>, back: bool) -> Result<u64, Error> {
    let by = it.integer(0)?.value() as u64;
    let by = if back { by.wrapping_neg() } else { by };
    let at = pointer(it.target, it.object)?;
    Ok(at.wrapping_add(by.wrapping_mul(element_size(it)?)))
}

fn moved(it: &Call<'_>, back: bool) -> Result<Value, Error> {
    Ok(it.number(u128::from(position(it, back)?)))
}

fn distance(it: &Call<'_>) -> Result<Value, Error> {
    let size = element_size(it)?.max(1);
    let from = pointer(it.target, it.argument(0)?)?;
    let bytes = pointer(it.target, it.object)?.wrapping_sub(from) as i64;
    let size = i64::try_from(size).map_err(|_| it.unreadable())?;
    Ok(it.number((bytes / size) as u128))
}

/// Returns the type that a container declares for one of its ends, if it is one pointer. Of two with one name the
/// one for objects that are not constant counts; constant ones have `cbegin`.
fn declared(class: &Class, name: &str) -> Option<Ty> {
    let Shape::Composite(container) = class.ty.shape() else {
        return None;
    };
    let methods = container.module().methods(container.ty.id);
    let mut named: Vec<_> = methods.iter().filter(|it| it.name == name).collect();
    let is_constant = |it: &dwarf::Method| {
        let this = it
            .parameters
            .first()
            .map(|id| container.related_or_void(*id));
        this.is_some_and(|this| match this.shape() {
            Shape::Pointer(of, _) => of.is_const(),
            _ => false,
        })
    };
    named.sort_by_key(|it| is_constant(it));
    let ty = container.related_or_void(named.first()?.return_type);
    if let ("__normal_iterator" | "__wrap_iter", None) = (&*class_name(&ty), ty.size()) {
        // An iterator that the program does not use is only declared. It is a pointer.
        let element = class.element()?.clone();
        let is_constant = name.starts_with('c');
        let element = if is_constant {
            element.constant()
        } else {
            element
        };
        return Some(element.pointer());
    }
    let is_pointer = matches!(ty.shape(), Shape::Pointer(..));
    let is_read = is_pointer || family(&ty).is_some();
    // libc++ keeps the first node of a table in a pair that may be compressed.
    let is_table = class.name.starts_with("unordered_") && class_name(&ty).starts_with("__hash");
    (is_read && !is_table).then_some(ty)
}

fn end_of(it: &Call<'_>, side: Side) -> Result<Value, Error> {
    let at = match &*it.class.name {
        "list" => end_of_list(it, side)?,
        "forward_list" | "unordered_map" | "unordered_set" | "unordered_multimap"
        | "unordered_multiset" => match side {
            Side::First => first_of_chain(it)?,
            Side::Last => 0,
        },
        "map" | "set" | "multimap" | "multiset" => end_of_tree(it, side)?,
        _ => end_of_row(it, side)?,
    };
    Ok(it.number(u128::from(at)))
}

fn end_of_row(it: &Call<'_>, side: Side) -> Result<u64, Error> {
    let (at, element, len) = match it.elements()? {
        Elements::Row(at, element, len) => (at, element, len),
        Elements::Array(place, element, len, _) => {
            let at = Value::new(element.clone(), place).address();
            (at.ok_or_else(|| it.unreadable())?, element, len)
        }
        Elements::All(_) => return Err(it.unreadable()),
    };
    match side {
        Side::First => Ok(at.0),
        Side::Last => {
            let size = element.size().ok_or_else(|| it.unreadable())?;
            Ok(at.0.wrapping_add(len.wrapping_mul(size)))
        }
    }
}

fn end_of_list(it: &Call<'_>, side: Side) -> Result<u64, Error> {
    match side {
        Side::First => {
            let next = it.member(&[&["_M_impl", "_M_node", "_M_next"], &["__end_", "__next_"]])?;
            word(it.target, &next)
        }
        Side::Last => address(it, &[&["_M_impl", "_M_node"], &["__end_"]]),
    }
}

fn end_of_tree(it: &Call<'_>, side: Side) -> Result<u64, Error> {
    match side {
        Side::First => {
            let left = it.member(&[
                &["_M_t", "_M_impl", "_M_header", "_M_left"],
                &["__tree_", "__begin_node_"],
            ])?;
            word(it.target, &left)
        }
        Side::Last => address(
            it,
            &[
                &["_M_t", "_M_impl", "_M_header"],
                &["__tree_", "__end_node_"],
                &["__tree_", "__pair1_"],
            ],
        ),
    }
}

fn first_of_chain(it: &Call<'_>) -> Result<u64, Error> {
    let first = it.member(&[
        &["_M_impl", "_M_head", "_M_next"],
        &["_M_h", "_M_before_begin", "_M_nxt"],
        &["__before_begin_", "__next_"],
        &["__before_begin_", "__value_", "__next_"],
    ])?;
    word(it.target, &first)
}

/// Returns the address of a member, under one of its names.
fn address(it: &Call<'_>, paths: &[&[&str]]) -> Result<u64, Error> {
    let at = it.member(paths)?.address();
    at.map(|at| at.0).ok_or_else(|| it.unreadable())
}
