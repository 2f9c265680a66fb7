//! Parts of registers by their names in assembly: `eax`, `al`, `r8d`.

use crate::inspect::value::location::{Bits, Bytes};
use crate::inspect::value::scalar::{Float, Scalar, ScalarKind};
use crate::inspect::value::{RegisterPlace, Ty, Value, ValueLocation};
use dwarf::register::x86_64::RFLAGS;
use dwarf::{Language, Machine, Register, Registers};

/// Returns the value of `$eax`, `$al`; `$xmm0` as two doubles.
pub(crate) fn value(
    registers: &Registers,
    name: &str,
    language: Language,
    place: impl Fn(Register) -> RegisterPlace,
) -> Option<Value> {
    if registers.machine() != Machine::X86_64 {
        return None;
    }
    let (ty, register, bytes, offset) = if let Some(number) = x86_64_vector(name) {
        let register = Register(registers.machine().first_vector().0 + number);
        let bits = registers.vector(register)?;
        let ty = lane("f64", language)?.array(2);
        (ty, register, Bytes::new(&bits.to_le_bytes()), 0)
    } else {
        let (whole, first, size) = x86_64(name)?;
        let names = registers.machine().register_names();
        let (register, _) = names.iter().find(|(_, known)| *known == whole)?;
        let bytes = registers.get(*register)?.to_le_bytes();
        let ty = lane(unsigned(size), language)?;
        // Only the bytes that a write changes: those after them stay.
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

/// Returns whether a name is that of a part of a register, or of a vector register.
pub(crate) fn is_part(name: &str) -> bool {
    x86_64_vector(name).is_some() || x86_64(name).is_some()
}

/// Returns the whole register's name, the part's first byte in it, and its type, for `eax`, `ah`.
pub(crate) fn part(name: &str, language: Language) -> Option<(String, u64, Ty)> {
    let (whole, first, size) = x86_64(name)?;
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
pub(crate) fn member(register: &Value, name: &str, language: Language) -> Option<Value> {
    let ValueLocation::Register {
        register: at,
        bytes,
        ..
    } = &register.place
    else {
        return None;
    };
    if at.register == RFLAGS {
        let (_, bit) = FLAGS.into_iter().find(|(it, _)| it.starts_with(name))?;
        return (name.len() == 2).then(|| flag(*at, bytes.clone(), bit));
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

/// Returns whether a register is a segment register or a segment base.
pub(crate) fn is_segment(name: &str) -> bool {
    matches!(
        name,
        "cs" | "ss" | "ds" | "es" | "fs" | "gs" | "fs_base" | "gs_base"
    )
}

/// The bits of `rflags` that programs use (Intel SDM volume 1, figure 3-8).
const FLAGS: [(&str, u8); 9] = [
    ("CF (carry)", 0),
    ("PF (parity)", 2),
    ("AF (auxiliary carry)", 4),
    ("ZF (zero)", 6),
    ("SF (sign)", 7),
    ("TF (trap)", 8),
    ("IF (interrupts)", 9),
    ("DF (direction)", 10),
    ("OF (overflow)", 11),
];

/// Returns the flags as boolean values that can be written.
pub(crate) fn flags(
    registers: &Registers,
    place: impl Fn(Register) -> RegisterPlace,
) -> Vec<(&'static str, Value)> {
    let Some(bits) = registers.get(RFLAGS) else {
        return Vec::new();
    };
    if registers.machine() != Machine::X86_64 {
        return Vec::new();
    }
    let bytes = Bytes::new(&bits.to_le_bytes());
    let one = |(name, bit)| (name, flag(place(RFLAGS), bytes.clone(), bit));
    FLAGS.into_iter().map(one).collect()
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

/// Parses the name of a part of a general-purpose register. Returns the register's name, the first
/// byte and the size; `None` for other names.
fn x86_64(name: &str) -> Option<(String, u8, u8)> {
    let whole = |letters: &str| Some(format!("r{letters}"));
    if let Some(number) = name.strip_prefix('r')
        && let Some(suffix) = number.find(|it: char| it.is_ascii_alphabetic())
        && suffix > 0
    {
        let size = match &number[suffix..] {
            "d" => 4,
            "w" => 2,
            "b" | "l" => 1,
            _ => return None,
        };
        return Some((format!("r{}", &number[..suffix]), 0, size));
    }
    let (register, first, size) = match name {
        "eax" | "ebx" | "ecx" | "edx" | "esi" | "edi" | "ebp" | "esp" => (whole(&name[1..]), 0, 4),
        "ax" | "bx" | "cx" | "dx" | "si" | "di" | "bp" | "sp" => (whole(name), 0, 2),
        "al" | "bl" | "cl" | "dl" => (whole(&format!("{}x", &name[..1])), 0, 1),
        "ah" | "bh" | "ch" | "dh" => (whole(&format!("{}x", &name[..1])), 1, 1),
        "sil" | "dil" | "bpl" | "spl" => (whole(&name[..2]), 0, 1),
        _ => return None,
    };
    Some((register?, first, size))
}

/// Returns the names of the parts of a general-purpose register, largest first.
pub(crate) fn parts_of(register: &str) -> Vec<String> {
    let Some(letters) = register.strip_prefix('r') else {
        return Vec::new();
    };
    let names: Vec<String> = match letters {
        "ax" | "bx" | "cx" | "dx" => {
            let letter = &letters[..1];
            vec![
                format!("e{letters}"),
                letters.to_owned(),
                format!("{letter}h"),
                format!("{letter}l"),
            ]
        }
        "si" | "di" | "bp" | "sp" => {
            vec![
                format!("e{letters}"),
                letters.to_owned(),
                format!("{letters}l"),
            ]
        }
        _ => ["d", "w", "b"]
            .map(|size| format!("{register}{size}"))
            .to_vec(),
    };
    let known = names.into_iter();
    known
        .filter(|name| x86_64(name).is_some_and(|(of, ..)| of == register))
        .collect()
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

/// Returns the number of a vector register by its name.
fn x86_64_vector(name: &str) -> Option<u16> {
    let number = name.strip_prefix("xmm")?.parse().ok()?;
    (number < 16).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::{parts_of, views, x86_64};

    #[test]
    fn parts() {
        assert_eq!(parts_of("rax"), ["eax", "ax", "ah", "al"]);
        assert_eq!(parts_of("rsi"), ["esi", "si", "sil"]);
        assert_eq!(parts_of("r12"), ["r12d", "r12w", "r12b"]);
        for none in ["rip", "rflags", "cs", "fs_base"] {
            assert!(parts_of(none).is_empty(), "{none}");
        }
        assert_eq!(views().next(), Some("f64"));
    }

    #[test]
    fn names() {
        let part = |name| x86_64(name).map(|(of, first, size)| format!("{of}+{first}:{size}"));
        assert_eq!(part("eax").as_deref(), Some("rax+0:4"));
        assert_eq!(part("dil").as_deref(), Some("rdi+0:1"));
        assert_eq!(part("bh").as_deref(), Some("rbx+1:1"));
        assert_eq!(part("si").as_deref(), Some("rsi+0:2"));
        assert_eq!(part("r10d").as_deref(), Some("r10+0:4"));
        for none in ["rax", "r8", "xl", "", "r", "ed"] {
            assert_eq!(part(none), None, "{none}");
        }
    }
}
