//! The alignment of types, by the rules of the x86-64 and AArch64 ABIs for C and C++.

use super::foreign::Foreign;
use super::scalar::ScalarKind;
use super::types::DwarfTy;
use super::{Shape, Ty};
use dwarf::{Composite, MemberOffset};

/// Maximum number of types to examine.
const TYPES: usize = 256;

/// Returns the alignment of a type in bytes. That of a packed class is derived from where its members
/// are.
pub fn of(ty: &Ty) -> u64 {
    within(ty, &mut TYPES.clone()).max(1)
}

/// Returns the alignment in bytes that a type has by its parts, whatever its own declaration demands
/// (AAPCS64: natural alignment).
pub fn natural(ty: &Ty) -> u64 {
    by_parts(ty, &mut TYPES.clone()).max(1)
}

/// Returns the size in bytes of a SIMD vector of C; `None` for other types.
pub fn vector_bytes(ty: &Ty) -> Option<u64> {
    ty.size().filter(|_| ty.is_vector())
}

fn within(ty: &Ty, budget: &mut usize) -> u64 {
    *budget = budget.saturating_sub(1);
    if *budget == 0 {
        return 1;
    }
    demanded(ty).unwrap_or_else(|| by_parts(ty, budget))
}

fn by_parts(ty: &Ty, budget: &mut usize) -> u64 {
    match ty.shape() {
        Shape::Scalar(scalar) => match scalar.kind {
            ScalarKind::Complex(_) => u64::from(scalar.size / 2).next_power_of_two().min(16),
            _ => u64::from(scalar.size).next_power_of_two().min(16),
        },
        // A row of words.
        Shape::Foreign(Foreign::Wide { .. }) => 8,
        Shape::Foreign(foreign) => {
            let parts = match foreign {
                Foreign::ComplexInteger { .. } => 2,
                Foreign::Decimal | Foreign::Reversed(_) | Foreign::Wide { .. } => 1,
            };
            (ty.size().unwrap_or(1) / parts).next_power_of_two().min(16)
        }
        Shape::Array(array) => match vector_bytes(ty) {
            Some(size) => size.checked_next_power_of_two().unwrap_or(1),
            None => within(&array.element, budget),
        },
        Shape::Composite(class) => match class.composite() {
            Some(composite) => of_class(&class, composite, budget),
            None => 1,
        },
        Shape::Enumeration(ty) => ty.ty.size.unwrap_or(1).clamp(1, 16),
        Shape::Void | Shape::Unit | Shape::Broken(_) | Shape::Function => 1,
        Shape::Pointer(..) | Shape::MemberPointer(_) | Shape::Text | Shape::Synthetic(_) => 8,
    }
}

/// Returns the alignment that a type's declaration demands, or that of a typedef of it.
fn demanded(ty: &Ty) -> Option<u64> {
    let of = |ty: &DwarfTy| ty.module().demanded_alignment(ty.ty.id.0);
    match (ty, ty.strip()) {
        (Ty::Dwarf(outer), Ty::Dwarf(stripped)) => of(outer).or_else(|| of(&stripped)),
        _ => None,
    }
}

fn of_class(class: &DwarfTy, composite: &Composite, budget: &mut usize) -> u64 {
    let mut largest = match composite.polymorphic {
        true => 8,
        false => 1,
    };
    let mut position = class.ty.size.unwrap_or(0);
    for base in &composite.bases {
        let needed = within(&class.related(base.ty), budget);
        largest = largest.max(needed).max(u64::from(base.is_virtual) * 8);
    }
    for member in &composite.members {
        let demanded = class.module().demanded_alignment(member.id);
        let needed = demanded.unwrap_or_else(|| within(&class.related(member.ty), budget));
        largest = largest.max(needed);
        if let (MemberOffset::Bytes(offset), None) = (&member.offset, member.bits) {
            // In a packed class, a member is where its type must not be.
            if needed != 0 && offset % needed != 0 {
                position |= offset;
            }
        }
    }
    match position {
        0 => largest,
        _ => largest.min(1 << position.trailing_zeros().min(63)),
    }
}
