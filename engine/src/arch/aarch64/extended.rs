//! The floating-point and vector registers (`struct user_fpsimd_state`): v0 to v31, then two words
//! of status and control.

use super::super::registers::ExtendedBytes;
use super::registers::numbered;
use dwarf::Register;
use dwarf::register::aarch64::V0;
use std::ops::Range;

/// The number of vector registers.
const COUNT: u16 = 32;
/// Size of a vector register in bytes.
const VECTOR: usize = 16;
/// Parts of vector registers by the letter of their names, their sizes in bytes, and the first of
/// their numbers: numbers for registers without DWARF numbers are larger than all of DWARF's.
const PARTS: [(char, usize, u16); 5] = [
    ('q', 16, 0x1000),
    ('d', 8, 0x1100),
    ('s', 4, 0x1200),
    ('h', 2, 0x1300),
    ('b', 1, 0x1400),
];
const CONTROL: u16 = 0x1500;
const CONTROLS: [(&str, Range<usize>); 2] = [("fpsr", 512..516), ("fpcr", 516..520)];

/// Returns the bytes of a register in an area.
fn place(register: Register) -> Option<Range<usize>> {
    let within = |first: u16, count: u16| {
        let index = register.0.checked_sub(first);
        index.filter(|index| *index < count).map(usize::from)
    };
    let parts = PARTS.iter().map(|(_, size, first)| (*first, *size));
    let vector = parts.chain([(V0.0, VECTOR)]).find_map(|(first, size)| {
        let at = VECTOR * within(first, COUNT)?;
        Some(at..at + size)
    });
    let control = || {
        let (_, place) = CONTROLS.get(within(CONTROL, CONTROLS.len() as u16)?)?;
        Some(place.clone())
    };
    vector.or_else(control)
}

/// Returns whether a register is in the area.
pub fn holds(register: Register) -> bool {
    place(register).is_some()
}

/// Returns the number, by name, of a register that is only in the area.
pub fn named(name: &str) -> Option<Register> {
    let part = |(letter, _, first): &(char, usize, u16)| {
        numbered(name, *letter, COUNT).map(|number| first + number)
    };
    let control = || {
        let nth = CONTROLS.iter().position(|(known, _)| *known == name)?;
        Some(CONTROL + nth as u16)
    };
    let number = PARTS.iter().find_map(part).or_else(control);
    number.map(Register)
}

/// Returns the bytes of a register in an area; `None` if the area lacks it.
pub fn read(register: Register, area: &[u8]) -> Option<ExtendedBytes> {
    area.get(place(register)?).map(ExtendedBytes::from_slice)
}

/// Writes the first bytes of a register into an area; false if the area lacks it.
pub fn write(register: Register, area: &mut [u8], bytes: &[u8]) -> bool {
    let Some(slot) = place(register).and_then(|place| area.get_mut(place)) else {
        return false;
    };
    let len = bytes.len().min(slot.len());
    slot[..len].copy_from_slice(&bytes[..len]);
    true
}

/// Returns v0 to v31.
pub fn low_vectors(area: &[u8]) -> Option<Vec<u128>> {
    let all = area.get(..VECTOR * usize::from(COUNT))?;
    let (vectors, _) = all.as_chunks();
    Some(vectors.iter().copied().map(u128::from_le_bytes).collect())
}

/// There is no such stack.
pub fn float_stack_top(_: &[u8]) -> Option<[u8; 10]> {
    None
}

/// No register has 80 bits.
pub fn is_extended_float(_: Register) -> bool {
    false
}

/// Returns the type of a part's number.
pub fn lane(register: Register) -> Option<&'static str> {
    let number = register.0;
    match number {
        0x1100..0x1120 => Some("f64"),
        0x1200..0x1220 => Some("f32"),
        _ => None,
    }
}

/// Returns whether a name is that of a vector register.
pub fn is_vector(name: &str) -> bool {
    numbered(name, 'v', COUNT).is_some() || numbered(name, 'q', COUNT).is_some()
}

/// Returns the names of the vector registers; every processor has them.
pub fn vectors(_: Option<&[u8]>) -> Vec<String> {
    (0..COUNT).map(|number| format!("v{number}")).collect()
}

/// Returns the names of the control registers.
pub fn floats() -> Vec<String> {
    CONTROLS.map(|(name, _)| name.to_owned()).into()
}
