//! How values are returned: System V psABI for x86-64, §3.2.3. Rust's own functions follow it
//! for what fits a register and for what is returned in memory; between these its ABI says
//! nothing, and neither do we.

use crate::value::place::Bytes;
use crate::value::scalar::{Float, ScalarKind};
use crate::value::{Place, Shape, Ty, Value};
use dwarf::register::x86_64::{RAX, RDX, XMM0};
use dwarf::{Language, LoadAddr, MemberOffset, Register, Registers};

/// Structs within structs that are looked into.
const NESTING: usize = 16;
/// Parts of a value of 16 bytes; arrays of empty structs may have more.
const PARTS: usize = 64;
/// Two eightbytes go in registers; more goes through memory.
const IN_REGISTERS: u64 = 16;

/// What an eightbyte is to the convention.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// Padding.
    None,
    /// General registers.
    Integer,
    /// Vector registers.
    Sse,
}

/// How a value is passed and returned.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Passing {
    /// In registers of these classes, eight bytes each.
    Registers(Vec<Class>),
    /// In memory.
    Memory,
    /// Nobody can tell.
    Unknown,
}

/// How a value of a type is passed to a function, and returned by one.
pub fn passing(ty: &Ty, language: Language) -> Passing {
    let Some(size) = ty.size() else {
        return Passing::Unknown;
    };
    if size > IN_REGISTERS {
        return match ty.shape() {
            Shape::Composite(_) | Shape::Array(_) => Passing::Memory,
            _ => Passing::Unknown,
        };
    }
    let mut parts = Vec::new();
    match flatten(ty, 0, 0, &mut parts) {
        Err(Elsewhere::Memory) => return Passing::Memory,
        Err(Elsewhere::Unknown) => return Passing::Unknown,
        Ok(()) => {}
    }
    if language == Language::Rust && !is_told(&parts, size) {
        return Passing::Unknown;
    }
    let mut classes = vec![Class::None; size.div_ceil(8) as usize];
    for (offset, class) in parts {
        if let Some(here) = classes.get_mut((offset / 8) as usize)
            && *here != Class::Integer
        {
            *here = class;
        }
    }
    Passing::Registers(classes)
}

/// Whether rustc keeps to the convention: it passes two scalars in two registers, however small
/// they are.
fn is_told(parts: &[(u64, Class)], size: u64) -> bool {
    let halves = [0, 8].map(|start| parts.iter().filter(|part| part.0 / 8 * 8 == start).count());
    parts.len() <= 1 || size > 8 && halves == [1, 1]
}

/// Why a value is not in two registers.
enum Elsewhere {
    Memory,
    Unknown,
}

/// The value of a type that a function has just returned; `None` where nobody can tell.
pub fn returned(ty: &Ty, language: Language, registers: &Registers) -> Option<Value> {
    let size = ty.size()?;
    let in_memory = || {
        let addr = LoadAddr(registers.get(RAX)?);
        Some(Value::new(ty.clone(), Place::Memory(addr, None)))
    };
    if size > IN_REGISTERS {
        return match ty.shape() {
            Shape::Composite(_) | Shape::Array(_) => in_memory(),
            _ => None,
        };
    }
    let mut parts = Vec::new();
    match flatten(ty, 0, 0, &mut parts) {
        Err(Elsewhere::Memory) => return in_memory(),
        Err(Elsewhere::Unknown) => return None,
        Ok(()) => {}
    }
    if language == Language::Rust && !is_told(&parts, size) {
        return None;
    }
    let mut classes = [Class::None; 2];
    for (offset, class) in parts {
        let class_here = classes.get_mut((offset / 8) as usize)?;
        if *class_here != Class::Integer {
            *class_here = class;
        }
    }
    let (mut integers, mut floats) = ([RAX, RDX].into_iter(), 0..2);
    let mut bytes = Vec::with_capacity(16);
    for class in classes.into_iter().take(size.div_ceil(8) as usize) {
        let eight = match class {
            Class::Sse => {
                let register = Register(XMM0.0 + floats.next()?);
                registers.vector(register)? as u64
            }
            Class::Integer => registers.get(integers.next()?)?,
            Class::None => 0,
        };
        bytes.extend(eight.to_le_bytes());
    }
    let bytes = bytes.get(..size as usize)?;
    Some(Value::new(ty.clone(), Place::Bytes(Bytes::new(bytes))))
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
            // x87 registers are not read here.
            ScalarKind::Float(Float::Extended) | ScalarKind::Complex(Float::Extended) => {
                Err(Elsewhere::Unknown)
            }
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
            if composite.by_address == Some(true) || composite.polymorphic {
                return Err(Elsewhere::Memory);
            }
            // Which variant there is, is not known before the value is.
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
