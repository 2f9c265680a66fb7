//! How functions pass and return values. Which rules C and C++ follow is a fact of the architecture
//! ([`Composites`]); rustc's are its own.

mod aapcs64;
mod member_pointer;
mod rustc_abi;
mod sysv;

pub(crate) use member_pointer::MemberPointer;

use crate::arch::{Arch, Composites};
use crate::inspect::value::location::Bytes;
use crate::inspect::value::{Shape, Ty, Value, ValueLocation, alignment};
use dwarf::{Language, LoadAddr, Register, Registers};
use std::ops::Range;

/// Maximum number of types to examine within a type.
const MAX_EXAMINED: u32 = 256;
/// Size of a general-purpose register in bytes.
const WORD: u64 = 8;
/// Maximum alignment in bytes of an argument in memory.
const MAX_ALIGNMENT: u64 = 4096;

/// The kind of register of a part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// General-purpose registers.
    Integer,
    /// Vector registers.
    Vector,
    /// The top of the x87 stack; only for return values.
    X87,
}

/// The part of a value in one register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RegisterPart {
    /// Offset of its first byte.
    pub offset: u64,
    /// Size in bytes: at most 8, or 16 in a vector register.
    pub size: u64,
    /// The kind of register.
    pub class: Class,
}

/// The way a value is passed to a function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Passing {
    /// In registers, one for each part; all on the stack if there are too few registers.
    Registers(Vec<RegisterPart>),
    /// Like several arguments, each of these parts.
    Apart(Vec<Vec<RegisterPart>>),
    /// On the stack.
    Stack,
    /// By the address of a copy.
    Address,
    /// Not known for this type.
    Unknown,
}

/// The way a function returns a value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Returning {
    /// In registers, one for each part.
    Registers(Vec<RegisterPart>),
    /// In memory, whose address the caller passes.
    Memory,
    /// Not known for this type.
    Unknown,
}

/// Returns how a value of a type is passed to a function.
pub fn passing(arch: Arch, ty: &Ty, language: Language) -> Passing {
    if language == Language::Rust {
        return rustc_abi::passing(ty);
    }
    if is_by_address(ty) {
        return Passing::Address;
    }
    match arch.convention().composites {
        Composites::Eightbytes => sysv::passing(ty),
        Composites::Homogeneous => aapcs64::passing(ty),
    }
}

/// Returns how a function returns a value of a type.
pub fn returning(arch: Arch, ty: &Ty, language: Language) -> Returning {
    if matches!(ty.shape(), Shape::Void | Shape::Unit) {
        return Returning::Registers(Vec::new());
    }
    if language == Language::Rust {
        return rustc_abi::returning(ty);
    }
    if is_by_address(ty) {
        return Returning::Memory;
    }
    match arch.convention().composites {
        Composites::Eightbytes => sysv::returning(ty),
        Composites::Homogeneous => aapcs64::returning(ty),
    }
}

/// Returns the alignment, in bytes, of an argument on the stack. If it is that of two words, the
/// argument may need an even register ([`crate::arch::Convention::even_pairs`]).
pub fn argument_alignment(arch: Arch, ty: &Ty) -> u64 {
    match arch.convention().composites {
        Composites::Eightbytes => copy_alignment(ty).max(WORD),
        Composites::Homogeneous => alignment::natural(ty).clamp(WORD, 2 * WORD),
    }
}

/// Returns the alignment, in bytes, of a copy that is passed by its address.
pub fn copy_alignment(ty: &Ty) -> u64 {
    let aligned = alignment::of(ty).checked_next_power_of_two();
    aligned.unwrap_or(1).min(MAX_ALIGNMENT)
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

/// Returns the value of a type that a function has just returned; `None` if its location is
/// unknown. `st0` reads the top of the x87 stack. `place` is where a result in memory is, if no
/// register tells it.
pub fn returned(
    ty: &Ty,
    language: Language,
    registers: &Registers,
    st0: &dyn Fn() -> Option<[u8; 10]>,
    place: Option<LoadAddr>,
) -> Option<Value> {
    let arch = Arch::of(registers.machine())?;
    let convention = arch.convention();
    let parts = match returning(arch, ty, language) {
        Returning::Registers(parts) => parts,
        Returning::Memory => {
            let told = convention.returned_address.map(|it| registers.get(it));
            let addr = told.map_or(place, |it| it.map(LoadAddr))?;
            return Some(Value::new(ty.clone(), ValueLocation::Memory(addr, None)));
        }
        Returning::Unknown => return None,
    };
    let mut integers = convention.integer_results.iter();
    let mut vectors = 0..convention.vector_results;
    let end = |part: &RegisterPart| part.offset.saturating_add(part.size);
    let known = parts.iter().map(end).max().unwrap_or(0);
    let mut bytes = vec![0; ty.size()?.min(known.max(WORD)) as usize];
    for part in parts {
        let held = match part.class {
            Class::Vector => {
                let register = Register(registers.machine().first_vector().0 + vectors.next()?);
                registers.vector(register)?.to_le_bytes().to_vec()
            }
            Class::Integer => registers.get(*integers.next()?)?.to_le_bytes().to_vec(),
            Class::X87 => st0()?.to_vec(),
        };
        let room = bytes.get_mut(part.offset as usize..)?;
        let room = room.iter_mut().take(part.size as usize);
        room.zip(held).for_each(|(to, byte)| *to = byte);
    }
    let place = ValueLocation::Bytes(Bytes::new(&bytes));
    Some(Value::new(ty.clone(), place))
}

/// Returns the parts of a value that integer registers hold one after the other.
fn words(size: u64) -> Vec<RegisterPart> {
    let starts = (0..size.div_ceil(WORD)).map(|nth| nth * WORD);
    let part = |offset| RegisterPart {
        offset,
        size: (size - offset).min(WORD),
        class: Class::Integer,
    };
    starts.map(part).collect()
}
