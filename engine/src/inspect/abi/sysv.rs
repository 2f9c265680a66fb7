//! Calling convention of C and C++: System V psABI for x86-64, §3.2.3 (by classes of eightbytes).

use super::{Class, Passing, RegisterPart, Returning, WORD};
use crate::inspect::value::alignment::vector_bytes;
use crate::inspect::value::foreign::Foreign;
use crate::inspect::value::scalar::{Float, ScalarKind};
use crate::inspect::value::{Shape, Ty};
use dwarf::MemberOffset;

/// Maximum nesting of structs.
const NESTING: usize = 16;
/// Maximum number of parts of a 16-byte value; arrays of empty structs could have more.
const PARTS: usize = 64;
/// Maximum size in bytes of a value in registers (two eightbytes); larger ones are in memory.
const IN_REGISTERS: u64 = 16;

/// Returns how a value is passed to a function.
pub(super) fn passing(ty: &Ty) -> Passing {
    match eightbytes(ty) {
        Ok(parts) if parts.iter().any(|it| it.class == Class::X87) => Passing::Stack,
        Ok(parts) => Passing::Registers(parts),
        Err(Elsewhere::Memory | Elsewhere::FloatStack) => Passing::Stack,
        Err(Elsewhere::Unknown) => Passing::Unknown,
    }
}

/// Returns how a function returns a value.
pub(super) fn returning(ty: &Ty) -> Returning {
    match eightbytes(ty) {
        Ok(parts) => Returning::Registers(parts),
        Err(Elsewhere::Memory) => Returning::Memory,
        Err(Elsewhere::Unknown | Elsewhere::FloatStack) => Returning::Unknown,
    }
}

/// The reason why a value is not in registers.
enum Elsewhere {
    Memory,
    /// On the x87 stack, in more than one register; as an argument in memory.
    FloatStack,
    Unknown,
}

/// The class of a part of a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Integer,
    Sse,
    /// The upper half of a vector register.
    SseUp,
    X87,
    /// The exponent and sign of a number on the x87 stack.
    X87Up,
}

/// Returns the parts of a value in registers.
fn eightbytes(ty: &Ty) -> Result<Vec<RegisterPart>, Elsewhere> {
    let size = ty.size().ok_or(Elsewhere::Unknown)?;
    if size > IN_REGISTERS {
        return Err(match ty.shape() {
            Shape::Scalar(scalar) => match scalar.kind {
                ScalarKind::Complex(Float::Extended) => Elsewhere::FloatStack,
                ScalarKind::Complex(_) => Elsewhere::Memory,
                _ => Elsewhere::Unknown,
            },
            // Where the registers are wider, some are passed in them.
            Shape::Composite(_) if has_wide_vector(ty) => Elsewhere::Unknown,
            Shape::Composite(_) => Elsewhere::Memory,
            Shape::Array(_) if vector_bytes(ty).is_none() => Elsewhere::Memory,
            _ => Elsewhere::Unknown,
        });
    }
    let mut parts = Vec::new();
    flatten(ty, 0, 0, &mut parts)?;
    let mut classes: [Option<Part>; 2] = [None; 2];
    for (offset, class) in parts {
        let at = classes.get_mut((offset / WORD) as usize);
        let at = at.ok_or(Elsewhere::Unknown)?;
        *at = Some(match (*at, class) {
            (None, class) => class,
            (Some(before), class) if before == class => class,
            (Some(Part::Integer), _) | (_, Part::Integer) => Part::Integer,
            (Some(Part::X87 | Part::X87Up), _) | (_, Part::X87 | Part::X87Up) => {
                return Err(Elsewhere::Memory);
            }
            _ => Part::Sse,
        });
    }
    let whole = |class| RegisterPart {
        offset: 0,
        size,
        class,
    };
    match classes {
        [Some(Part::Sse), Some(Part::SseUp)] => return Ok(vec![whole(Class::Vector)]),
        [Some(Part::X87), Some(Part::X87Up)] => return Ok(vec![whole(Class::X87)]),
        _ => {}
    }
    if classes
        .iter()
        .any(|it| matches!(it, Some(Part::X87 | Part::X87Up)))
    {
        return Err(Elsewhere::Memory);
    }
    let starts = (0..).step_by(WORD as usize).zip(classes);
    let part = |(start, class): (u64, Option<Part>)| {
        Some(RegisterPart {
            offset: start,
            size: size.checked_sub(start)?.min(WORD),
            class: match class? {
                Part::Integer => Class::Integer,
                _ => Class::Vector,
            },
        })
    };
    Ok(starts.filter_map(part).collect())
}

/// Returns whether a class consists of one vector of more than 16 bytes.
fn has_wide_vector(ty: &Ty) -> bool {
    let mut ty = ty.clone();
    for _ in 0..NESTING {
        if vector_bytes(&ty).is_some_and(|size| size > IN_REGISTERS) {
            return true;
        }
        ty = match ty.shape() {
            Shape::Composite(of) => {
                let parts = of.composite().and_then(|it| {
                    let mut parts = it.bases.iter().map(|it| it.ty);
                    parts.next().or_else(|| it.members.first().map(|it| it.ty))
                });
                match parts {
                    Some(id) => of.related(id),
                    None => return false,
                }
            }
            Shape::Array(of) => of.element.clone(),
            _ => return false,
        };
    }
    false
}

/// Collects the parts of a type that registers hold, with their offsets.
fn flatten(
    ty: &Ty,
    start: u64,
    depth: usize,
    parts: &mut Vec<(u64, Part)>,
) -> Result<(), Elsewhere> {
    if depth > NESTING || parts.len() > PARTS {
        return Err(Elsewhere::Unknown);
    }
    let size = match (ty.size(), ty.shape()) {
        (Some(size), _) => size,
        (None, Shape::Array(_)) => 0,
        (None, _) => return Err(Elsewhere::Unknown),
    };
    let mut part = |align: u64, classes: [Part; 2]| {
        // Unaligned fields force the value into memory.
        if !start.is_multiple_of(align.max(1)) {
            return Err(Elsewhere::Memory);
        }
        let words = (0..size.div_ceil(WORD)).zip([classes[0], classes[1]]);
        parts.extend(words.map(|(nth, class)| (start + nth * WORD, class)));
        Ok(())
    };
    const INTEGERS: [Part; 2] = [Part::Integer; 2];
    const VECTOR: [Part; 2] = [Part::Sse, Part::SseUp];
    match (ty.shape(), vector_bytes(ty)) {
        (_, Some(8 | 16)) => part(size, VECTOR),
        (_, Some(_)) => Err(Elsewhere::Unknown),
        (Shape::Scalar(scalar), _) => match scalar.kind {
            ScalarKind::Float(Float::Extended) => part(size, [Part::X87, Part::X87Up]),
            ScalarKind::Float(_) => part(size, VECTOR),
            ScalarKind::Complex(_) => part(size / 2, [Part::Sse; 2]),
            _ => part(size, INTEGERS),
        },
        (Shape::Foreign(foreign), _) => match foreign {
            Foreign::Decimal => part(size, VECTOR),
            Foreign::ComplexInteger { .. } => part(size, INTEGERS),
            // Its bytes are in the same place.
            Foreign::Reversed(of) if of.is_integral() => part(size, INTEGERS),
            Foreign::Reversed(_) => part(size, VECTOR),
            // Larger than registers.
            Foreign::Wide { .. } => Err(Elsewhere::Unknown),
        },
        (Shape::Pointer(..) | Shape::Enumeration(_), _) => part(size, INTEGERS),
        (Shape::MemberPointer(_), _) => part(WORD, INTEGERS),
        (Shape::Unit | Shape::Void, _) => Ok(()),
        (Shape::Array(array), _) => {
            // A flexible array has no elements here.
            let count = array.count.unwrap_or(0);
            if count > IN_REGISTERS {
                return Err(Elsewhere::Unknown);
            }
            (0..count).try_for_each(|index| {
                let offset = index.saturating_mul(array.stride);
                let at = start.saturating_add(offset);
                flatten(&array.element, at, depth + 1, parts)
            })
        }
        (Shape::Composite(composite_ty), _) => {
            let composite = composite_ty.composite().ok_or(Elsewhere::Unknown)?;
            if composite.variants.is_some() {
                return Err(Elsewhere::Unknown);
            }
            let bases = composite.bases.iter();
            let bases = bases.map(|base| (&base.offset, base.ty, None));
            let members = composite.members.iter();
            let members = members.map(|member| (&member.offset, member.ty, member.bits));
            for (offset, of, bits) in bases.chain(members) {
                if let Some(bits) = bits {
                    let last = bits.offset.saturating_add(bits.size.max(1) - 1);
                    let within = [bits.offset / 8, last / 8];
                    let at = within.map(|byte| (start.saturating_add(byte), Part::Integer));
                    parts.extend(at);
                    continue;
                }
                let MemberOffset::Bytes(offset) = offset else {
                    return Err(Elsewhere::Memory);
                };
                let of = composite_ty.related(of);
                flatten(&of, start.saturating_add(*offset), depth + 1, parts)?;
            }
            Ok(())
        }
        _ => Err(Elsewhere::Unknown),
    }
}
