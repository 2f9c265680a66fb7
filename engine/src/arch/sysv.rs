//! How values are passed and returned: System V psABI for x86-64, §3.2.3; between Rust's own
//! functions as [`rustc_abi`] has it.

use super::rustc_abi;
use crate::value::place::Bytes;
use crate::value::scalar::{Float, ScalarKind};
use crate::value::{Place, Shape, Ty, Value};
use dwarf::register::x86_64::{RAX, RDX, XMM0};
use dwarf::{Language, LoadAddr, MemberOffset, Register, Registers};
use std::ops::Range;

/// Structs within structs that are looked into.
const NESTING: usize = 16;
/// Parts of a value of 16 bytes; arrays of empty structs may have more.
const PARTS: usize = 64;
/// Types within a type that are looked at to tell how it is passed.
const LOOKED_AT: u32 = 256;
/// Two eightbytes go in registers; more goes through memory.
const IN_REGISTERS: u64 = 16;

/// In which registers something goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// General registers.
    Integer,
    /// Vector registers.
    Sse,
    /// The top of the x87 stack; only what is returned.
    X87,
}

/// What one register holds of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Part {
    /// Its first byte.
    pub offset: u64,
    /// Its bytes.
    pub size: u64,
    /// Which kind of register.
    pub class: Class,
}

/// How a value is passed and returned.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Passing {
    /// In a register each of these.
    Registers(Vec<Part>),
    /// In memory.
    Memory,
    /// Nobody can tell.
    Unknown,
}

/// How a value of a type is passed to a function or, if `returned`, how one returns it.
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
            [(0, class)] if returned => Passing::Registers(vec![Part {
                offset: 0,
                size,
                class,
            }]),
            _ => Passing::Memory,
        };
    }
    let mut eights: Vec<Part> = Vec::new();
    for (offset, class) in parts {
        let start = offset / 8 * 8;
        match eights.iter_mut().find(|it| it.offset == start) {
            Some(eight) if class == Class::Integer => eight.class = class,
            Some(_) => {}
            None => eights.push(Part {
                offset: start,
                size: (size - start.min(size)).min(8),
                class,
            }),
        }
    }
    eights.sort_by_key(|it| it.offset);
    Passing::Registers(eights)
}

/// How a value in memory is aligned among the arguments on the stack, in bytes.
pub fn stack_alignment(ty: &Ty) -> usize {
    let is_extended = |ty: &Ty| match ty.shape() {
        Shape::Scalar(it) => Some(matches!(
            it.kind,
            ScalarKind::Float(Float::Extended) | ScalarKind::Complex(Float::Extended)
        )),
        _ => None,
    };
    if any_part(ty, &mut (0..LOOKED_AT), &is_extended) {
        16
    } else {
        8
    }
}

/// Whether C++ copies values of a class by a constructor, and passes and returns the address
/// of the copy (Itanium C++ ABI §3.1.2.3).
pub fn is_by_address(ty: &Ty) -> bool {
    any_part(ty, &mut (0..LOOKED_AT), &|ty| match ty.shape() {
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

/// Whether something holds for a type or a part of it: `None` is that its parts tell.
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

/// Why a value is not in two registers.
enum Elsewhere {
    Memory,
    Unknown,
}

/// The value of a type that a function has just returned; `None` where nobody can tell. `st0`
/// reads the top of the x87 stack.
pub fn returned(
    ty: &Ty,
    language: Language,
    registers: &Registers,
    st0: &dyn Fn() -> Option<[u8; 10]>,
) -> Option<Value> {
    let parts = match passing(ty, language, true) {
        Passing::Registers(parts) => parts,
        Passing::Memory => {
            let addr = LoadAddr(registers.get(RAX)?);
            return Some(Value::new(ty.clone(), Place::Memory(addr, None)));
        }
        Passing::Unknown => return None,
    };
    let (mut integers, mut floats) = ([RAX, RDX].into_iter(), 0..2);
    let mut bytes = vec![0; ty.size()?.min(IN_REGISTERS) as usize];
    for part in parts {
        let held = match part.class {
            Class::Sse => {
                let register = Register(XMM0.0 + floats.next()?);
                registers.vector(register)?.to_le_bytes().to_vec()
            }
            Class::Integer => registers.get(integers.next()?)?.to_le_bytes().to_vec(),
            Class::X87 => st0()?.to_vec(),
        };
        let room = bytes.get_mut(part.offset as usize..)?;
        let room = room.iter_mut().take(part.size as usize);
        room.zip(held).for_each(|(to, byte)| *to = byte);
    }
    Some(Value::new(ty.clone(), Place::Bytes(Bytes::new(&bytes))))
}

/// The parts of a type that registers hold, with their offsets.
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
        // What is not aligned goes through memory.
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
            // In st0 and st1, and in the whole of one vector register.
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
