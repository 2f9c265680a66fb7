//! Parts of registers by their names in assembly: `eax`, `al`, `r8d`.

use crate::arch::{Arch, Part};
use crate::inspect::value::location::{Bits, Bytes};
use crate::inspect::value::scalar::{Float, Scalar, ScalarKind};
use crate::inspect::value::{RegisterPlace, Ty, Value, ValueLocation};
use dwarf::{Language, Register, Registers};

/// Returns the value of a part (`$eax`, `$al`), or of a vector register (`$xmm0`) as two doubles.
pub(crate) fn value(
    registers: &Registers,
    name: &str,
    language: Language,
    place: impl Fn(Register) -> RegisterPlace,
) -> Option<Value> {
    let arch = Arch::of(registers.machine())?;
    let (ty, register, bytes, offset) = if let Some(number) = arch.vector_register(name) {
        let register = Register(registers.machine().first_vector().0 + number);
        let bits = registers.vector(register)?;
        let ty = lane("f64", language)?.array(2);
        (ty, register, Bytes::new(&bits.to_le_bytes()), 0)
    } else {
        let Part { whole, first, size } = arch.register_part(name)?;
        let names = registers.machine().register_names();
        let (register, _) = names.iter().find(|(_, known)| *known == whole)?;
        let bytes = registers.get(*register)?.to_le_bytes();
        let ty = lane(unsigned(size), language)?;
        // Up to the end of the part: a write leaves the bytes after it unchanged.
        let bytes = Bytes::new(&bytes[..usize::from(first + size)]);
        (ty, *register, bytes, first)
    };
    let place = ValueLocation::Register {
        register: place(register),
        bytes,
        offset: u64::from(offset),
    };
    Some(Value::new(ty, place))
}

/// Returns the whole register's name, the part's first byte in it, and its type, for `eax`, `ah`.
pub(crate) fn part(arch: Arch, name: &str, language: Language) -> Option<(String, u64, Ty)> {
    let Part { whole, first, size } = arch.register_part(name)?;
    Some((whole, u64::from(first), lane(unsigned(size), language)?))
}

fn unsigned(size: u8) -> &'static str {
    match size {
        1 => "u8",
        2 => "u16",
        _ => "u32",
    }
}

/// Returns a register as an array of numbers (`$xmm0.u32`, `$rax.u8`), or a flag (`$rflags.ZF`).
pub(crate) fn member(
    arch: Arch,
    register: &Value,
    name: &str,
    language: Language,
) -> Option<Value> {
    let ValueLocation::Register {
        register: at,
        bytes,
        ..
    } = &register.place
    else {
        return None;
    };
    if let Some(flags) = arch.flags().filter(|it| it.register == at.register) {
        let mut bits = flags.bits.iter();
        let (_, bit) = bits.find(|(it, _)| it.split(' ').next() == Some(name))?;
        return Some(flag(*at, bytes.clone(), *bit));
    }
    let lane = lane(name, language)?;
    let mut value = register.clone();
    let count = register.ty.size()? / lane.size()?;
    value.ty = lane.array(count);
    Some(value)
}

/// Returns the type of a lane, under its name in the language.
pub(super) fn lane(name: &str, language: Language) -> Option<Ty> {
    let (rust, c, kind, size) = LANES.into_iter().find(|(it, ..)| *it == name)?;
    let name = match language {
        Language::Rust => rust,
        _ => c,
    };
    Some(Ty::Builtin(Scalar::new(kind, size), name))
}

/// Types of lanes: name, C name, kind, size in bytes.
const LANES: [(&str, &str, ScalarKind, u8); 11] = [
    ("u8", "uint8_t", ScalarKind::Unsigned, 1),
    ("u16", "uint16_t", ScalarKind::Unsigned, 2),
    ("u32", "uint32_t", ScalarKind::Unsigned, 4),
    ("u64", "uint64_t", ScalarKind::Unsigned, 8),
    ("u128", "unsigned __int128", ScalarKind::Unsigned, 16),
    ("i8", "int8_t", ScalarKind::Signed, 1),
    ("i16", "int16_t", ScalarKind::Signed, 2),
    ("i32", "int32_t", ScalarKind::Signed, 4),
    ("i64", "int64_t", ScalarKind::Signed, 8),
    ("f32", "float", ScalarKind::Float(Float::Single), 4),
    ("f64", "double", ScalarKind::Float(Float::Double), 8),
];

/// Returns a general-purpose register after a write of its first bytes. A write of four bytes
/// clears the rest, as the processor does.
pub(crate) fn written(old: u64, bytes: &[u8]) -> u64 {
    let mut value = old.to_le_bytes();
    for (to, from) in value.iter_mut().zip(bytes) {
        *to = *from;
    }
    if bytes.len() == 4 {
        value[4..].fill(0);
    }
    u64::from_le_bytes(value)
}

/// Returns the registers after a write of the first bytes of one, general-purpose or vector.
pub(crate) fn with_written(mut all: Registers, register: Register, bytes: &[u8]) -> Registers {
    let first = all.machine().first_vector();
    let vectors = (0..).map_while(|nth| all.vector(Register(first.0 + nth)));
    let mut vectors: Vec<u128> = vectors.collect();
    let vector = register.0.checked_sub(first.0);
    match vector.and_then(|nth| vectors.get_mut(usize::from(nth))) {
        Some(vector) => {
            let mut value = vector.to_le_bytes();
            for (to, from) in value.iter_mut().zip(bytes) {
                *to = *from;
            }
            *vector = u128::from_le_bytes(value);
            all.set_vectors(Some(vectors));
        }
        None => {
            if let Some(old) = all.get(register) {
                all.set(register, written(old, bytes));
            }
        }
    }
    all
}

/// Returns the flags as boolean values that can be written.
pub(crate) fn flags(
    registers: &Registers,
    place: impl Fn(Register) -> RegisterPlace,
) -> Vec<(&'static str, Value)> {
    let Some(flags) = Arch::of(registers.machine()).and_then(Arch::flags) else {
        return Vec::new();
    };
    let Some(bits) = registers.get(flags.register) else {
        return Vec::new();
    };
    let bytes = Bytes::new(&bits.to_le_bytes());
    let one = |(name, bit): &(&'static str, u8)| {
        (*name, flag(place(flags.register), bytes.clone(), *bit))
    };
    flags.bits.iter().map(one).collect()
}

fn flag(register: RegisterPlace, bytes: Bytes, bit: u8) -> Value {
    let place = ValueLocation::Register {
        register,
        bytes,
        offset: u64::from(bit / 8),
    };
    let ty = Ty::Builtin(Scalar::new(ScalarKind::Bool, 1), "bool");
    let mut value = Value::new(ty, place);
    value.bits = Some(Bits {
        offset: bit % 8,
        size: 1,
    });
    value
}

/// Returns the member names of a vector register, one for each lane type.
pub(crate) fn views() -> impl Iterator<Item = &'static str> {
    let floats = LANES
        .iter()
        .filter(|lane| matches!(lane.2, ScalarKind::Float(_)));
    let numbers = LANES
        .iter()
        .filter(|lane| !matches!(lane.2, ScalarKind::Float(_)));
    floats.rev().chain(numbers).map(|lane| lane.0)
}
