//! The registers that an instruction reads and writes.

use super::encoding::{Condition, Kind, LINK, Transfer, bits, is, register, signature};

/// Registers, a bit each: x0 to x30, the stack pointer, v0 to v31. Flags and others are left out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Effects {
    pub reads: u64,
    pub writes: u64,
}

/// The bit of the stack pointer.
pub const SP: u64 = 1 << 31;

/// Returns the bit of a general register; register 31 is the zero register.
pub fn general(register: u8) -> u64 {
    match register {
        31.. => 0,
        number => 1 << number,
    }
}

/// Returns the bits of vector registers from one on; behind the last one follows the first.
pub fn vectors(first: u8, count: u8) -> u64 {
    let of = |number: u8| 1 << (32 + (number & 31));
    (0..count).fold(0, |all, nth| all | of(first + nth))
}

impl Effects {
    pub const NONE: Effects = Effects {
        reads: 0,
        writes: 0,
    };

    fn of(reads: u64, writes: u64) -> Self {
        Self { reads, writes }
    }
}

/// Returns the registers that a word, which is an instruction, reads and writes.
pub fn effects(word: u32, kind: &Kind) -> Effects {
    let address = |register: u8| 1 << register;
    match *kind {
        Kind::Jump { links: true, .. } => Effects::of(0, general(LINK)),
        Kind::JumpIf { condition, .. } => match condition {
            Condition::Flags(_) => Effects::NONE,
            Condition::Zero { register, .. } | Condition::Bit { register, .. } => {
                Effects::of(general(register), 0)
            }
        },
        Kind::JumpTo { register, transfer } => {
            let writes = match transfer {
                Transfer::Call => general(LINK),
                _ => 0,
            };
            Effects::of(general(register), writes)
        }
        Kind::Address { to, .. } | Kind::MoveImmediate { to, .. } => Effects::of(0, general(to)),
        Kind::Memory(access) => access.effects(),
        Kind::AddImmediate {
            to,
            from,
            sets_flags,
            ..
        } => Effects::of(
            address(from),
            match sets_flags {
                true => general(to),
                false => address(to),
            },
        ),
        Kind::AddRegister {
            to, from, other, ..
        } => Effects::of(general(from) | general(other), general(to)),
        Kind::Move { to, from, .. } => Effects::of(general(from), general(to)),
        Kind::MoveSome { to, .. } => Effects::of(general(to), general(to)),
        Kind::Divide { .. } => of_registers(word),
        Kind::Hint { .. } => signing(word, kind).unwrap_or(Effects::NONE),
        Kind::Other => signing(word, kind).unwrap_or_else(|| other(word)),
        Kind::Jump { .. } | Kind::SystemCall | Kind::Trap { .. } | Kind::Fault => Effects::NONE,
    }
}

/// Returns the registers of pointer authentication; that of the modifier may be left out.
fn signing(word: u32, kind: &Kind) -> Option<Effects> {
    let signed = general(signature(word, kind)?.register);
    let modifiers = match (kind, signed == general(17)) {
        (Kind::Hint { .. }, true) => general(16),
        (Kind::Hint { .. }, false) => 0,
        // `pacia171615`
        (_, true) if bits(word, 15, 15) == 1 => general(15) | general(16),
        _ => 1 << register(word, 5),
    };
    Some(Effects::of(signed | modifiers, signed))
}

fn other(word: u32) -> Effects {
    match bits(word, 28, 25) {
        0b0010 => scalable(word),
        0b1000 | 0b1001 => immediate(word),
        0b1010 | 0b1011 => system(word),
        0b0101 | 0b1101 => of_registers(word),
        0b0111 | 0b1111 if bits(word, 28, 28) == 1 && bits(word, 30, 30) == 0 => float(word),
        0b0111 | 0b1111 => vector(word),
        _ => Effects::NONE,
    }
}

/// Counts of elements, which are added to registers, also to the stack pointer.
fn scalable(word: u32) -> Effects {
    let to = 1 << register(word, 0);
    match word & 0xff20_f000 {
        0x0420_5000 => Effects::of(1 << register(word, 16), to),
        0x0420_e000 => Effects::of(to & !SP, to & !SP),
        _ => Effects::NONE,
    }
}

fn immediate(word: u32) -> Effects {
    let (to, from) = (register(word, 0), register(word, 5));
    match bits(word, 28, 23) {
        // A logical operation; `ands` does not write the stack pointer.
        0b100100 => Effects::of(
            general(from),
            match bits(word, 30, 29) {
                3 => general(to),
                _ => 1 << to,
            },
        ),
        // `bfm` keeps some bits.
        0b100110 if bits(word, 30, 29) == 1 => {
            Effects::of(general(from) | general(to), general(to))
        }
        0b100111 => Effects::of(general(from) | general(register(word, 16)), general(to)),
        // With tags.
        0b100011 => Effects::of(1 << from, 1 << to),
        _ => Effects::of(general(from), general(to)),
    }
}

fn system(word: u32) -> Effects {
    let register = general(register(word, 0));
    match bits(word, 21, 19) {
        // `mrs`, `sysl`
        0b101..=0b111 => Effects::of(0, register),
        0b001..=0b011 => Effects::of(register, 0),
        _ => Effects::NONE,
    }
}

fn of_registers(word: u32) -> Effects {
    let (to, from) = (general(register(word, 0)), general(register(word, 5)));
    let other = general(register(word, 16));
    match (bits(word, 28, 24), bits(word, 23, 21)) {
        // Extended registers; only comparisons do not write the stack pointer.
        (0b01011, 0b001) => {
            let to = match bits(word, 29, 29) {
                1 => to,
                _ => 1 << register(word, 0),
            };
            Effects::of(1 << register(word, 5) | other, to)
        }
        // `ccmp`, whose operand may be an immediate.
        (0b11010, 0b010) => match bits(word, 11, 11) {
            1 => Effects::of(from, 0),
            _ => Effects::of(from | other, 0),
        },
        // `rmif`, `setf8`
        (0b11010, 0b000) if bits(word, 15, 10) != 0 => Effects::of(from, 0),
        (0b11010, 0b110) if bits(word, 30, 30) == 1 => match bits(word, 20, 16) {
            1 => Effects::of(from | to, to),
            _ => Effects::of(from, to),
        },
        (0b11011, 0b010 | 0b110) => Effects::of(from | other, to),
        (0b11011, _) => Effects::of(from | other | general(register(word, 10)), to),
        _ => Effects::of(from | other, to),
    }
}

/// Floating-point operations, and conversions from and to integers.
fn float(word: u32) -> Effects {
    let vector = |low| vectors(register(word, low), 1);
    let (to, from, other) = (vector(0), vector(5), vector(16));
    if bits(word, 24, 24) == 1 {
        return Effects::of(from | other | vector(10), to);
    }
    let converts = bits(word, 21, 21) == 0 || bits(word, 15, 10) == 0;
    if converts {
        let (operation, is_fixed) = (bits(word, 18, 16), bits(word, 21, 21) == 0);
        let from_integer = match operation {
            0b010 | 0b011 => true,
            0b111 => !is_fixed && bits(word, 20, 20) == 0,
            _ => false,
        };
        return match from_integer {
            true => Effects::of(general(register(word, 5)), to),
            false => Effects::of(from, general(register(word, 0))),
        };
    }
    match (bits(word, 11, 10), bits(word, 15, 12)) {
        // `fccmp`
        (0b01, _) => Effects::of(from | other, 0),
        (0b00, group) if group & 1 == 1 => Effects::of(0, to),
        (0b00, group) if group & 0b11 == 0b10 => match bits(word, 3, 3) {
            1 => Effects::of(from, 0),
            _ => Effects::of(from | other, 0),
        },
        (0b00, _) => Effects::of(from, to),
        _ => Effects::of(from | other, to),
    }
}

/// Operations on vectors and their elements.
fn vector(word: u32) -> Effects {
    let vector = |low| vectors(register(word, low), 1);
    let (to, from, other) = (vector(0), vector(5), vector(16));
    let (is_full, is_other) = (bits(word, 30, 30) == 1, bits(word, 29, 29) == 1);
    let with = |reads: u64, keeps: bool| Effects::of(if keeps { reads | to } else { reads }, to);
    if word >> 31 == 1 {
        let fourth = match bits(word, 23, 23) {
            0 => vector(10),
            _ => 0,
        };
        return with(from | other | fourth, is(word, 0x0060_0000, 0x0060_0000));
    }
    if bits(word, 24, 24) == 1 {
        if bits(word, 10, 10) == 0 {
            let operation = bits(word, 15, 12);
            let keeps = matches!(operation, 0..=7 | 14) || is_other && matches!(operation, 13 | 15);
            return with(from | other, keeps);
        }
        let operation = bits(word, 15, 11);
        if bits(word, 22, 19) == 0 && bits(word, 28, 28) == 0 {
            // `orr` and `bic` of an immediate
            let keeps = operation & 0b10 != 0 && operation < 0b11000;
            return with(0, keeps);
        }
        let keeps = match operation {
            0b00010 | 0b00110 => true,
            0b01000 | 0b01010 => is_other,
            0b10000..=0b10011 => is_full,
            _ => false,
        };
        return with(from, keeps);
    }
    let is_long = bits(word, 21, 21) == 1;
    match (is_long, bits(word, 15, 15), bits(word, 11, 10)) {
        // Elements, also from and to general registers.
        (false, 0, 0b01 | 0b11) if bits(word, 23, 22) == 0 => {
            match (is_other, bits(word, 14, 11)) {
                (true, _) => with(from, true),
                (_, 0b0001) => with(general(register(word, 5)), false),
                (_, 0b0011) => with(general(register(word, 5)), true),
                (_, 0b0101 | 0b0111) => Effects::of(from, general(register(word, 0))),
                _ => with(from, false),
            }
        }
        // `tbl`, `tbx`
        (false, 0, 0b00) if !is_other && bits(word, 28, 28) == 0 => {
            let table = vectors(register(word, 5), 1 + bits(word, 14, 13) as u8);
            with(table | other, bits(word, 12, 12) == 1)
        }
        (false, 0, 0b00) if bits(word, 28, 28) == 1 => with(from | other, true),
        (false, 1, 0b01 | 0b11) => with(from | other, true),
        // One operand
        (true, _, 0b10) => {
            let operation = bits(word, 16, 12);
            let keeps = match operation {
                0b00011 | 0b00110 => true,
                0b10010 | 0b10100 | 0b10110 => is_full,
                _ => bits(word, 20, 17) == 0b0100,
            };
            with(from, keeps)
        }
        (true, _, 0b00) => {
            let operation = bits(word, 15, 12);
            let keeps = match operation {
                0b0101 | 0b1000..=0b1011 => true,
                0b0100 | 0b0110 => is_full,
                _ => false,
            };
            with(from | other, keeps)
        }
        (true, ..) => {
            let keeps = match bits(word, 15, 11) {
                0b11001 => !is_other,
                0b10010 | 0b01111 => true,
                0b00011 => is_other && bits(word, 23, 22) != 0,
                _ => false,
            };
            // A register combined with itself is made anew.
            let is_clear = is(word, 0xbfe0_fc00, 0x2e20_1c00) && from == other;
            with(if is_clear { 0 } else { from | other }, keeps)
        }
        _ => with(from | other, false),
    }
}
