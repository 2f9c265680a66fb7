//! Calling convention: System V psABI, §3.2.3 (by classes of eightbytes); [`rustc_abi`] for Rust's own functions.

use super::rustc_abi;
use crate::arch::Arch;
use crate::inspect::value::location::Bytes;
use crate::inspect::value::scalar::{Float, ScalarKind};
use crate::inspect::value::{Shape, Ty, Value, ValueLocation};
use dwarf::{Language, LoadAddr, MemberOffset, Register, Registers};
use std::ops::Range;

/// Maximum nesting of structs.
const NESTING: usize = 16;
/// Maximum number of parts of a 16-byte value; arrays of empty structs could have more.
const PARTS: usize = 64;
/// Maximum number of types to examine within a type.
const MAX_EXAMINED: u32 = 256;
/// Maximum size in bytes of a value in registers (two eightbytes); larger ones are in memory.
const IN_REGISTERS: u64 = 16;

/// The register class of a part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// General-purpose registers.
    Integer,
    /// Vector registers.
    Sse,
    /// The top of the x87 stack; only for return values.
    X87,
}

/// The part of a value in one register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RegisterPart {
    /// Offset of its first byte.
    pub offset: u64,
    /// Size in bytes.
    pub size: u64,
    /// The kind of register.
    pub class: Class,
}

/// The way a value is passed and returned.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Passing {
    /// In registers, one for each part.
    Registers(Vec<RegisterPart>),
    /// In memory.
    Memory,
    /// Not known for this type.
    Unknown,
}

/// Returns how a value of a type is passed to a function or, if `returned`, returned by one.
pub fn passing(ty: &Ty, language: Language, returned: bool) -> Passing {
    if language == Language::Rust {
        return rustc_abi::passing(ty, returned);
    }
    let Some(size) = ty.size() else {
        return Passing::Unknown;
    };
    if size > IN_REGISTERS {
        return match ty.shape() {
            Shape::Composite(_) | Shape::Array(_) => Passing::Memory,
            _ => Passing::Unknown,
        };
    }
    if is_by_address(ty) {
        return Passing::Memory;
    }
    let mut parts = Vec::new();
    match flatten(ty, 0, 0, &mut parts) {
        Err(Elsewhere::Memory) => return Passing::Memory,
        Err(Elsewhere::Unknown) => return Passing::Unknown,
        Ok(()) => {}
    }
    if parts.iter().any(|(_, class)| *class == Class::X87) {
        return match parts[..] {
            [(0, class)] if returned => Passing::Registers(vec![RegisterPart {
                offset: 0,
                size,
                class,
            }]),
            _ => Passing::Memory,
        };
    }
    let mut eights: Vec<RegisterPart> = Vec::new();
    for (offset, class) in parts {
        let start = offset / 8 * 8;
        match eights.iter_mut().find(|it| it.offset == start) {
            Some(eight) if class == Class::Integer => eight.class = class,
            Some(_) => {}
            None => eights.push(RegisterPart {
                offset: start,
                size: (size - start.min(size)).min(8),
                class,
            }),
        }
    }
    eights.sort_by_key(|it| it.offset);
    Passing::Registers(eights)
}

/// Returns the alignment, in bytes, of a value in memory among the arguments on the stack.
pub fn stack_alignment(ty: &Ty) -> usize {
    let is_extended = |ty: &Ty| match ty.shape() {
        Shape::Scalar(it) => Some(matches!(
            it.kind,
            ScalarKind::Float(Float::Extended) | ScalarKind::Complex(Float::Extended)
        )),
        _ => None,
    };
    if any_part(ty, &mut (0..MAX_EXAMINED), &is_extended) {
        16
    } else {
        8
    }
}

/// Returns whether C++ copies values of a class by a constructor, and passes and returns the
/// address of the copy (Itanium C++ ABI §3.1.2.3).
pub fn is_by_address(ty: &Ty) -> bool {
    any_part(ty, &mut (0..MAX_EXAMINED), &|ty| match ty.shape() {
        Shape::Composite(ty) => {
            let composite = ty.composite()?;
            let has_virtual =
                composite.polymorphic || composite.bases.iter().any(|it| it.is_virtual);
            composite.by_address.or(has_virtual.then_some(true))
        }
        Shape::Array(_) => None,
        _ => Some(false),
    })
}

/// Returns whether a property holds for a type or a part of it. `holds` returns `None` if the parts
/// decide.
fn any_part(ty: &Ty, budget: &mut Range<u32>, holds: &dyn Fn(&Ty) -> Option<bool>) -> bool {
    if budget.next().is_none() {
        return false;
    }
    match (holds(ty), ty.shape()) {
        (Some(known), _) => known,
        (None, Shape::Array(array)) => any_part(&array.element, budget, holds),
        (None, Shape::Composite(ty)) => ty.composite().is_some_and(|it| {
            let members = it.members.iter().map(|it| it.ty);
            let mut parts = members.chain(it.bases.iter().map(|it| it.ty));
            parts.any(|id| any_part(&ty.related(id), budget, holds))
        }),
        _ => false,
    }
}

/// The reason why a value is not in registers.
enum Elsewhere {
    Memory,
    Unknown,
}

/// Returns the value of a type that a function has just returned; `None` if its location is
/// unknown. `st0` reads the top of the x87 stack.
pub fn returned(
    ty: &Ty,
    language: Language,
    registers: &Registers,
    st0: &dyn Fn() -> Option<[u8; 10]>,
) -> Option<Value> {
    let convention = Arch::of(registers.machine())?.convention();
    let parts = match passing(ty, language, true) {
        Passing::Registers(parts) => parts,
        Passing::Memory => {
            let addr = LoadAddr(registers.get(*convention.integer_results.first()?)?);
            return Some(Value::new(ty.clone(), ValueLocation::Memory(addr, None)));
        }
        Passing::Unknown => return None,
    };
    let mut integers = convention.integer_results.iter();
    let mut floats = 0..convention.vector_results;
    let mut bytes = vec![0; ty.size()?.min(IN_REGISTERS) as usize];
    for part in parts {
        let held = match part.class {
            Class::Sse => {
                let register = Register(registers.machine().first_vector().0 + floats.next()?);
                registers.vector(register)?.to_le_bytes().to_vec()
            }
            Class::Integer => registers.get(*integers.next()?)?.to_le_bytes().to_vec(),
            Class::X87 => st0()?.to_vec(),
        };
        let room = bytes.get_mut(part.offset as usize..)?;
        let room = room.iter_mut().take(part.size as usize);
        room.zip(held).for_each(|(to, byte)| *to = byte);
    }
    Some(Value::new(
        ty.clone(),
        ValueLocation::Bytes(Bytes::new(&bytes)),
    ))
}

/// Collects the parts of a type that registers hold, with their offsets.
fn flatten(
    ty: &Ty,
    start: u64,
    depth: usize,
    parts: &mut Vec<(u64, Class)>,
) -> Result<(), Elsewhere> {
    if depth > NESTING || parts.len() > PARTS {
        return Err(Elsewhere::Unknown);
    }
    let size = ty.size().ok_or(Elsewhere::Unknown)?;
    let mut part = |class| {
        // Unaligned fields force the value into memory.
        if !start.is_multiple_of(size.clamp(1, 8)) {
            return Err(Elsewhere::Memory);
        }
        parts.extend((0..size.div_ceil(8)).map(|nth| (start + nth * 8, class)));
        Ok(())
    };
    match ty.shape() {
        Shape::Scalar(scalar) => match scalar.kind {
            ScalarKind::Float(Float::Extended) if start == 0 => {
                parts.push((0, Class::X87));
                Ok(())
            }
            // In st0 and st1, or in a whole vector register.
            ScalarKind::Float(Float::Extended | Float::Quad)
            | ScalarKind::Complex(Float::Extended | Float::Quad) => Err(Elsewhere::Unknown),
            ScalarKind::Float(_) | ScalarKind::Complex(_) => part(Class::Sse),
            _ => part(Class::Integer),
        },
        Shape::Pointer(..) | Shape::Enumeration(_) => part(Class::Integer),
        Shape::Unit | Shape::Void => Ok(()),
        Shape::Array(array) => {
            let count = array.count.ok_or(Elsewhere::Unknown)?;
            if count > IN_REGISTERS {
                return Err(Elsewhere::Unknown);
            }
            (0..count).try_for_each(|index| {
                let offset = index.saturating_mul(array.stride);
                flatten(
                    &array.element,
                    start.saturating_add(offset),
                    depth + 1,
                    parts,
                )
            })
        }
        Shape::Composite(composite_ty) => {
            let composite = composite_ty.composite().ok_or(Elsewhere::Unknown)?;
            if composite.variants.is_some() {
                return Err(Elsewhere::Unknown);
            }
            let bases = composite.bases.iter().map(|base| (&base.offset, base.ty));
            let members = composite.members.iter();
            let members = members.map(|member| (&member.offset, member.ty));
            for (offset, of) in bases.chain(members) {
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
