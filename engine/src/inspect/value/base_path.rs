//! The way from a class to one of its bases, by types alone.

use super::path::Part;
use super::{Shape, Ty};
use dwarf::MemberOffset;
use std::sync::Arc;

/// Maximum number of bases to examine.
const BASES: usize = 256;
/// Maximum nesting of bases.
const NESTING: usize = 24;

/// A way to a base: the parts, outermost first, each with its type.
pub type Way = Vec<(Part, Ty)>;

/// The result of a search for a base.
#[derive(Clone, Debug)]
pub enum BaseLookup {
    /// The way to it; empty if it is the class itself.
    Found(Way),
    /// The class has several of it.
    Ambiguous,
    /// The class has none.
    Absent,
}

/// Searches a class for itself or a base that `is_meant` accepts.
pub fn find(class: &Ty, is_meant: &dyn Fn(&Ty) -> bool) -> BaseLookup {
    let mut found: Vec<Way> = Vec::new();
    collect(
        class,
        is_meant,
        &mut Vec::new(),
        &mut found,
        &mut BASES.clone(),
    );
    let is_visible = |way: &&Way| !found.iter().any(|other| hides(other, way));
    let visible: Vec<Way> = match found.len() {
        0 | 1 => found,
        _ => found.iter().filter(is_visible).cloned().collect(),
    };
    let mut ways = visible.into_iter();
    let Some(first) = ways.next() else {
        return BaseLookup::Absent;
    };
    match ways.all(|other| is_one(&first, &other)) {
        true => BaseLookup::Found(first),
        false => BaseLookup::Ambiguous,
    }
}

/// Returns whether what one class has hides what another one has, a virtual base of it that another way
/// leads to as well (ISO C++ [class.member.lookup]).
fn hides(other: &Way, way: &Way) -> bool {
    let is_virtual = |(part, _): &&(Part, Ty)| part.base().is_some_and(|it| it.is_virtual);
    let (Some((_, holder)), Some((_, shared))) = (other.last(), way.iter().rev().find(is_virtual))
    else {
        return false;
    };
    let mut ways = Vec::new();
    let is_shared = |ty: &Ty| ty.same_as(shared);
    collect(
        holder,
        &is_shared,
        &mut Vec::new(),
        &mut ways,
        &mut BASES.clone(),
    );
    ways.iter()
        .any(|way| way.last().as_ref().is_some_and(is_virtual))
}

/// Searches a class for a base of a type.
pub fn find_type(class: &Ty, base: &Ty) -> BaseLookup {
    find(class, &|it| it.same_as(base))
}

fn collect(
    ty: &Ty,
    is_meant: &dyn Fn(&Ty) -> bool,
    way: &mut Way,
    found: &mut Vec<Way>,
    budget: &mut usize,
) {
    if is_meant(ty) {
        found.push(way.clone());
        return;
    }
    let Shape::Composite(class) = ty.shape() else {
        return;
    };
    let bases = class.composite().map_or(&[][..], |it| &it.bases);
    for (index, base) in bases.iter().enumerate() {
        if *budget == 0 || way.len() >= NESTING {
            return;
        }
        *budget -= 1;
        let of = class.related(base.ty);
        way.push((Part::Base(Arc::clone(&class), index), of.clone()));
        collect(&of, is_meant, way, found, budget);
        way.pop();
    }
}

/// Returns whether two ways lead to one object: through the same virtual base, and equal from there.
fn is_one(a: &Way, b: &Way) -> bool {
    let shared = |way: &Way| {
        let is_virtual = |(part, _): &(Part, Ty)| part.base().is_some_and(|it| it.is_virtual);
        way.iter().rposition(is_virtual)
    };
    let (Some(x), Some(y)) = (shared(a), shared(b)) else {
        return false;
    };
    let (a, b) = (
        a.get(x..).unwrap_or_default(),
        b.get(y..).unwrap_or_default(),
    );
    a.len() == b.len() && a.iter().zip(b).all(|((_, a), (_, b))| a.same_as(b))
}

/// Returns the offset of a base in its object; `None` if a base on the way is virtual.
pub fn offset(way: &Way) -> Option<u64> {
    way.iter().try_fold(0u64, |sum, (part, _)| {
        let base = part.base().filter(|it| !it.is_virtual)?;
        match base.offset {
            MemberOffset::Bytes(bytes) => Some(sum.wrapping_add(bytes)),
            MemberOffset::Expression(_) | MemberOffset::AtRuntime => None,
        }
    })
}
