//! Calling convention of C and C++: Procedure Call Standard for the Arm 64-bit Architecture
//! (AAPCS64), §6.8 and §6.9, as Linux uses it.

use super::{Class, Passing, RegisterPart, Returning, WORD, words};
use crate::inspect::value::alignment::vector_bytes;
use crate::inspect::value::scalar::{Float, ScalarKind};
use crate::inspect::value::{Shape, Ty};
use dwarf::{CompositeKind, MemberOffset};
use std::ops::Range;

/// Maximum size in bytes of a value in general-purpose registers; larger ones are in memory.
const IN_REGISTERS: u64 = 16;
/// Maximum number of members of a homogeneous aggregate.
const MEMBERS: u64 = 4;
/// Maximum nesting of structs.
const NESTING: usize = 16;
/// Maximum number of types to examine within a type.
const EXAMINED: Range<u32> = 0..256;

/// Returns how a value is passed to a function.
pub(super) fn passing(ty: &Ty) -> Passing {
    match place(ty) {
        Place::Registers(parts) => Passing::Registers(parts),
        Place::Memory => Passing::Address,
        Place::Unknown => Passing::Unknown,
    }
}

/// Returns how a function returns a value: where its first argument of that type would be.
pub(super) fn returning(ty: &Ty) -> Returning {
    match place(ty) {
        Place::Registers(parts) => Returning::Registers(parts),
        Place::Memory => Returning::Memory,
        Place::Unknown => Returning::Unknown,
    }
}

enum Place {
    Registers(Vec<RegisterPart>),
    Memory,
    Unknown,
}

fn place(ty: &Ty) -> Place {
    let Some(size) = ty.size() else {
        return Place::Unknown;
    };
    let homogeneous = match size <= MEMBERS * 2 * WORD {
        true => members(ty, 0, &mut EXAMINED.clone()),
        false => Homogeneous::No,
    };
    match homogeneous {
        Homogeneous::Of(element, count) if count <= MEMBERS => {
            let parts = (0..count).map(|nth| RegisterPart {
                offset: nth * element.size(),
                size: element.size(),
                class: Class::Vector,
            });
            return Place::Registers(parts.collect());
        }
        Homogeneous::Unknown => return Place::Unknown,
        Homogeneous::Of(..) | Homogeneous::Nothing | Homogeneous::No => {}
    }
    match ty.shape() {
        Shape::Scalar(_) | Shape::Pointer(..) | Shape::Enumeration(_) | Shape::MemberPointer(_)
            if size <= IN_REGISTERS =>
        {
            Place::Registers(words(size))
        }
        Shape::Composite(of) if of.composite().is_none_or(|it| it.variants.is_some()) => {
            Place::Unknown
        }
        Shape::Composite(_) if size > IN_REGISTERS => Place::Memory,
        Shape::Composite(_) => Place::Registers(words(size)),
        _ => Place::Unknown,
    }
}

/// The type of the members of a homogeneous aggregate.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Element {
    Float(Float),
    /// A vector of 8 bytes, whatever its elements are.
    Short,
    /// A vector of 16 bytes.
    Long,
}

impl Element {
    fn size(self) -> u64 {
        match self {
            Element::Float(Float::Half | Float::Brain) => 2,
            Element::Float(Float::Single) => 4,
            Element::Float(Float::Double) | Element::Short => WORD,
            Element::Float(Float::Extended | Float::Quad) | Element::Long => 2 * WORD,
        }
    }
}

/// Whether a type consists of members of one type, without padding.
enum Homogeneous {
    /// So many of these.
    Of(Element, u64),
    /// It has no members.
    Nothing,
    No,
    Unknown,
}

fn members(ty: &Ty, depth: usize, budget: &mut Range<u32>) -> Homogeneous {
    let Some(size) = ty.size() else {
        // A flexible array.
        return Homogeneous::No;
    };
    if depth > NESTING || budget.next().is_none() {
        return Homogeneous::Unknown;
    }
    match (ty.shape(), vector_bytes(ty)) {
        (_, Some(8)) => Homogeneous::Of(Element::Short, 1),
        (_, Some(16)) => Homogeneous::Of(Element::Long, 1),
        (_, Some(_)) => Homogeneous::Unknown,
        (Shape::Scalar(scalar), _) => match scalar.kind {
            ScalarKind::Float(of) => Homogeneous::Of(Element::Float(of), 1),
            ScalarKind::Complex(of) => Homogeneous::Of(Element::Float(of), 2),
            _ => Homogeneous::No,
        },
        (Shape::Array(array), _) => match (members(&array.element, depth + 1, budget), array.count)
        {
            // Compilers do not agree on these.
            (Homogeneous::Of(..), Some(0)) => Homogeneous::Unknown,
            (Homogeneous::Of(of, count), Some(times)) => {
                Homogeneous::Of(of, count.saturating_mul(times))
            }
            (other, _) => other,
        },
        (Shape::Composite(of), _) => {
            let Some(composite) = of.composite() else {
                return Homogeneous::Unknown;
            };
            let is_union = composite.kind == CompositeKind::Union;
            let (mut element, mut count) = (None, 0u64);
            let bases = composite.bases.iter().map(|it| (&it.offset, it.ty));
            let own = composite.members.iter().map(|it| (&it.offset, it.ty));
            for (offset, part) in bases.chain(own) {
                let MemberOffset::Bytes(_) = offset else {
                    return Homogeneous::No;
                };
                match members(&of.related(part), depth + 1, budget) {
                    Homogeneous::Of(of, _) if element.is_some_and(|it| it != of) => {
                        return Homogeneous::No;
                    }
                    Homogeneous::Of(of, more) => {
                        element = Some(of);
                        count = match is_union {
                            true => count.max(more),
                            false => count.saturating_add(more),
                        };
                    }
                    Homogeneous::Nothing => {}
                    other => return other,
                }
            }
            match element {
                None => Homogeneous::Nothing,
                Some(of) if of.size().saturating_mul(count) == size => Homogeneous::Of(of, count),
                Some(_) => Homogeneous::No,
            }
        }
        _ => Homogeneous::No,
    }
}
