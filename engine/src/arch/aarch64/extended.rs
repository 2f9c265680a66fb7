//! The floating-point and vector registers, in one of two layouts: `struct user_fpsimd_state`, v0 to v31
//! and two words of status and control; or of a thread that uses scalable vectors `struct
//! user_sve_header`, z0 to z31, p0 to p15, ffr, and the two words (`NT_ARM_SVE`, `NT_ARM_SSVE`). What
//! may follow is in `matrix`.

use super::super::registers::{ExtendedBytes, ExtendedRegisters};
use super::matrix;
use super::registers::numbered;
use dwarf::Register;
use dwarf::register::aarch64::{FFR, P0, V0, Z0};
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
/// The modes of SME.
const MODES: Register = Register(0x1510);
const MODES_NAME: &str = "svcr";
/// Rows of the matrix, by the names of slices of its only tile of bytes.
const ROWS: u16 = 0x1600;
const MAX_ROWS: u16 = 256;
const ROW_NAME: &str = "za0hb";
const CONTROLS: [&str; 2] = ["fpsr", "fpcr"];
/// Number of predicate registers.
const PREDICATES: u16 = 16;
/// Size of `struct user_fpsimd_state`.
const PLAIN: usize = 528;
/// Size of `struct user_sve_header`.
const HEADER: usize = 16;

/// Where the registers are in an area.
#[derive(Clone, Copy)]
struct Layout {
    /// Offset of the first vector.
    vectors: usize,
    /// Size of a vector in bytes.
    size: usize,
    /// Offset of the first predicate, if there are any.
    predicates: Option<usize>,
    controls: usize,
}

/// Returns whether an area has scalable vectors.
pub fn is_scalable(area: &[u8]) -> bool {
    /// `SVE_PT_REGS_SVE`
    const IN_USE: u8 = 1;
    let area = matrix::vectors(area);
    area.len() != PLAIN && area.get(12).is_some_and(|flags| flags & IN_USE != 0)
}

fn layout(area: &[u8]) -> Layout {
    let plain = Layout {
        vectors: 0,
        size: VECTOR,
        predicates: None,
        controls: VECTOR * usize::from(COUNT),
    };
    let size = match area.get(8..10) {
        Some(size) if is_scalable(area) => usize::from(u16::from_le_bytes([size[0], size[1]])),
        _ => return plain,
    };
    let predicates = HEADER + size * usize::from(COUNT);
    // The predicates, and the first fault register.
    let end = predicates + size / 8 * (usize::from(PREDICATES) + 1);
    Layout {
        vectors: HEADER,
        size,
        predicates: Some(predicates),
        controls: end.next_multiple_of(VECTOR),
    }
}

/// Returns the bytes of a register in an area.
fn place(register: Register, area: &[u8]) -> Option<Range<usize>> {
    match register.0.checked_sub(ROWS) {
        Some(row @ 0..MAX_ROWS) => matrix::split(area)?.row(row.into()),
        _ => place_in(register, layout(area)),
    }
}

/// Returns the bytes of a register that is not of a matrix.
fn place_in(register: Register, layout: Layout) -> Option<Range<usize>> {
    let within = |first: u16, count: u16| {
        let index = register.0.checked_sub(first);
        index.filter(|index| *index < count).map(usize::from)
    };
    let parts = PARTS.iter().map(|(_, size, first)| (*first, *size));
    let own = [(V0.0, VECTOR), (Z0.0, layout.size)];
    let vector = parts.chain(own).find_map(|(first, size)| {
        let at = layout.vectors + layout.size * within(first, COUNT)?;
        Some(at..at + size)
    });
    let predicate = || {
        let size = layout.size / 8;
        let nth = within(P0.0, PREDICATES).or((register == FFR).then_some(PREDICATES.into()))?;
        let at = layout.predicates? + size * nth;
        Some(at..at + size)
    };
    let control = || {
        let at = layout.controls + 4 * within(CONTROL, CONTROLS.len() as u16)?;
        Some(at..at + 4)
    };
    match register.0.checked_sub(Z0.0) {
        Some(0..COUNT) if layout.predicates.is_none() => None,
        _ => vector.or_else(predicate).or_else(control),
    }
}

/// Returns whether a register is in an area, if the processor has it.
pub fn holds(register: Register) -> bool {
    let scalable = Layout {
        predicates: Some(0),
        ..layout(&[])
    };
    let is_of_matrix = register == MODES || (ROWS..ROWS + MAX_ROWS).contains(&register.0);
    is_of_matrix || place_in(register, scalable).is_some()
}

/// Returns the number, by name, of a register that is only in the area.
pub fn named(name: &str) -> Option<Register> {
    let part = |(letter, _, first): &(char, usize, u16)| {
        numbered(name, *letter, COUNT).map(|number| first + number)
    };
    let control = || {
        let nth = CONTROLS.iter().position(|known| *known == name)?;
        Some(CONTROL + nth as u16)
    };
    let scalable = || match name {
        "ffr" => Some(FFR.0),
        MODES_NAME => Some(MODES.0),
        name if name.starts_with(ROW_NAME) => {
            // The letter before the number.
            let last = name.get(ROW_NAME.len() - 1..)?;
            numbered(last, 'b', MAX_ROWS).map(|number| ROWS + number)
        }
        name => numbered(name, 'z', COUNT)
            .map(|number| Z0.0 + number)
            .or_else(|| numbered(name, 'p', PREDICATES).map(|number| P0.0 + number)),
    };
    let number = PARTS.iter().find_map(part).or_else(control);
    number.or_else(scalable).map(Register)
}

/// Returns the bytes of a register in an area; `None` if the area lacks it.
pub fn read(register: Register, area: &[u8]) -> Option<ExtendedBytes> {
    if register == MODES {
        let modes = matrix::split(area)?.modes();
        return Some(ExtendedBytes::from_slice(&modes.to_le_bytes()));
    }
    let place = place(register, area)?;
    area.get(place).map(ExtendedBytes::from_slice)
}

/// Writes the first bytes of a register into an area; false if the area lacks it.
pub fn write(register: Register, area: &mut [u8], bytes: &[u8]) -> bool {
    let place = place(register, area);
    let Some(slot) = place.and_then(|place| area.get_mut(place)) else {
        return false;
    };
    let len = bytes.len().min(slot.len());
    slot[..len].copy_from_slice(&bytes[..len]);
    true
}

/// Changes an area to that of a thread in no mode of SME, as functions expect it. Of the vectors of
/// streaming mode, 16 bytes each remain.
pub fn leave_modes(area: &mut ExtendedRegisters) {
    let Some(state) = matrix::split(area) else {
        return;
    };
    let mut vectors = state.vectors.to_vec();
    if state.is_streaming {
        let controls = layout(area).controls;
        let controls = area.get(controls..controls + 8);
        let low = low_vectors(area).unwrap_or_default();
        vectors = low.into_iter().flat_map(u128::to_le_bytes).collect();
        vectors.extend_from_slice(controls.unwrap_or_default());
        vectors.resize(PLAIN, 0);
    }
    *area = vectors.into();
}

/// Returns the name of a register of the matrix extension.
pub fn matrix_name(register: Register) -> Option<String> {
    match register.0.checked_sub(ROWS) {
        _ if register == MODES => Some(MODES_NAME.to_owned()),
        Some(row @ 0..MAX_ROWS) => Some(format!("{ROW_NAME}{row}")),
        _ => None,
    }
}

/// Returns v0 to v31.
pub fn low_vectors(area: &[u8]) -> Option<Vec<u128>> {
    let vector = |number| {
        read(Register(V0.0 + number), area)?
            .as_slice()
            .try_into()
            .ok()
    };
    let all = (0..COUNT).map(|number| vector(number).map(u128::from_le_bytes));
    all.collect()
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
    let letters = ['v', 'q', 'z'];
    letters
        .into_iter()
        .any(|letter| numbered(name, letter, COUNT).is_some())
}

/// Returns the names of the vector and predicate registers of an area, and of those of its matrix.
pub fn vectors(area: Option<&[u8]>) -> Vec<String> {
    let all = |letter: char, count: u16| (0..count).map(move |number| format!("{letter}{number}"));
    let mut names: Vec<String> = match area.is_some_and(is_scalable) {
        true => (all('z', COUNT).chain(all('p', PREDICATES)))
            .chain(["ffr".to_owned()])
            .collect(),
        false => all('v', COUNT).collect(),
    };
    if let Some(state) = area.and_then(matrix::split) {
        names.push(MODES_NAME.to_owned());
        names.extend((0..state.row_bytes()).map(|row| format!("{ROW_NAME}{row}")));
    }
    names
}

/// Returns the names of the control registers.
pub fn floats() -> Vec<String> {
    CONTROLS.map(str::to_owned).into()
}
