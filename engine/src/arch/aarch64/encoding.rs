//! The encoding of A64 (Arm Architecture Reference Manual for A-profile, C4.1): what control flow,
//! addresses and registers depend on. Everything else is only told from words that are no
//! instruction.

use super::memory::{self, MemoryAccess};

/// An instruction, as far as the layers above need it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// `b`, `bl`
    Jump {
        distance: i64,
        links: bool,
    },
    /// `b.cond`, `bc.cond`, `cbz`, `cbnz`, `tbz`, `tbnz`
    JumpIf {
        condition: Condition,
        distance: i64,
    },
    /// `br`, `blr`, `ret`, and those that authenticate the address
    JumpTo {
        register: u8,
        transfer: Transfer,
    },
    /// `svc`
    SystemCall,
    /// `brk`
    Trap {
        number: u16,
    },
    /// It is undefined, or not for programs: `udf`, `hlt`, `hvc`, `eret` and others.
    Fault,
    /// `adr`, `adrp`
    Address {
        to: u8,
        distance: i64,
        unit: Unit,
    },
    Memory(MemoryAccess),
    /// `udiv`, `sdiv`
    Divide {
        divisor: u8,
        width: Width,
    },
    /// `add`, `sub` of an immediate
    AddImmediate {
        to: u8,
        from: u8,
        value: i64,
        width: Width,
        /// `adds`, `subs`
        sets_flags: bool,
    },
    /// `add`, `sub` of a register that is shifted left
    AddRegister {
        to: u8,
        from: u8,
        other: u8,
        shift: u8,
        subtracts: bool,
        width: Width,
    },
    /// `mov` of a register
    Move {
        to: u8,
        from: u8,
        width: Width,
    },
    /// `movz`, `movn`: the whole register
    MoveImmediate {
        to: u8,
        value: u64,
    },
    /// `movk`: 16 bits of the register
    MoveSome {
        to: u8,
        value: u64,
        shift: u8,
    },
    /// `nop`, `bti`, `paciasp` and others
    Hint {
        number: u8,
    },
    Other,
}

/// The number of the link register.
pub const LINK: u8 = 30;

/// When a jump is taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Condition {
    /// A condition on the flags, by its number.
    Flags(u8),
    /// Whether a register is zero.
    Zero {
        register: u8,
        width: Width,
        expected: bool,
    },
    /// Whether a bit of a register is set.
    Bit {
        register: u8,
        bit: u8,
        expected: bool,
    },
}

/// How a jump to an address in a register is used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Transfer {
    Jump,
    Call,
    Return,
}

/// What a distance counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    Bytes,
    /// 4096 bytes, from the beginning of those with the instruction, whatever the pages are.
    Pages,
}

/// The part of a register that an instruction uses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Width {
    /// The low 32 bits. A result's upper half is zero.
    W,
    X,
}

impl Width {
    /// Returns the part of a value.
    pub fn of(self, value: u64) -> u64 {
        match self {
            Width::W => value & 0xffff_ffff,
            Width::X => value,
        }
    }
}

/// Returns the bits from `high` to `low` of a word.
pub fn bits(word: u32, high: u32, low: u32) -> u32 {
    word << (31 - high) >> (31 - high + low)
}

/// Returns the register number at a bit.
pub fn register(word: u32, low: u32) -> u8 {
    bits(word, low + 4, low) as u8
}

/// Returns the bits from `high` to `low` as a signed number.
pub fn signed(word: u32, high: u32, low: u32) -> i64 {
    i64::from((word << (31 - high)) as i32 >> (31 - high + low))
}

/// Returns whether the bits under the mask have a value.
pub fn is(word: u32, mask: u32, value: u32) -> bool {
    word & mask == value
}

fn width(word: u32) -> Width {
    match word >> 31 {
        0 => Width::W,
        _ => Width::X,
    }
}

/// Returns what a word is; `None` if it is no instruction.
pub fn kind(word: u32) -> Option<Kind> {
    match bits(word, 28, 25) {
        // `udf`, and the Scalable Matrix Extension.
        0b0000 if word >> 16 == 0 => Some(Kind::Fault),
        0b0000 => (word >> 31 == 1).then_some(Kind::Other),
        // The Scalable Vector Extension.
        0b0010 => Some(match memory::scalable(word) {
            Some(access) => Kind::Memory(access),
            None => Kind::Other,
        }),
        0b1000 | 0b1001 => immediate(word),
        0b1010 | 0b1011 => branch(word),
        0b0100 | 0b0110 | 0b1100 | 0b1110 => memory::access(word).map(Kind::Memory),
        0b0101 | 0b1101 => of_registers(word),
        0b0111 | 0b1111 => is_vector(word).then_some(Kind::Other),
        _ => None,
    }
}

/// Data processing with an immediate.
fn immediate(word: u32) -> Option<Kind> {
    let (to, from, width) = (register(word, 0), register(word, 5), width(word));
    let is_wide = width == Width::X;
    Some(match bits(word, 28, 23) {
        0b100000 | 0b100001 => Kind::Address {
            to,
            distance: signed(word, 23, 5) << 2 | i64::from(bits(word, 30, 29)),
            unit: match is_wide {
                true => Unit::Pages,
                false => Unit::Bytes,
            },
        },
        0b100010 => {
            let value = i64::from(bits(word, 21, 10)) << (12 * bits(word, 22, 22));
            let subtracts = bits(word, 30, 30) == 1;
            Kind::AddImmediate {
                to,
                from,
                value: if subtracts { -value } else { value },
                width,
                sets_flags: bits(word, 29, 29) == 1,
            }
        }
        // `addg`, `subg`
        0b100011 if is(word, 0xa040_c000, 0x8000_0000) => Kind::Other,
        // `smax`, `umax`, `smin`, `umin`
        0b100011 if is(word, 0x6070_0000, 0x0040_0000) => Kind::Other,
        0b100100 => is_bit_mask(word).then_some(Kind::Other)?,
        0b100101 => {
            let shift = 16 * bits(word, 22, 21);
            if !is_wide && shift > 16 {
                return None;
            }
            let value = u64::from(bits(word, 20, 5)) << shift;
            match bits(word, 30, 29) {
                0b00 => Kind::MoveImmediate {
                    to,
                    value: width.of(!value),
                },
                0b10 => Kind::MoveImmediate { to, value },
                0b11 => Kind::MoveSome {
                    to,
                    value,
                    shift: shift as u8,
                },
                _ => return None,
            }
        }
        // `sbfm`, `bfm`, `ubfm`
        0b100110 => {
            let fits = is_wide || is(word, 1 << 21 | 1 << 15, 0);
            let is_right = bits(word, 30, 29) != 3 && bits(word, 22, 22) == word >> 31;
            (fits && is_right).then_some(Kind::Other)?
        }
        // `extr`
        0b100111 if bits(word, 30, 29) == 0 => {
            let fits = is_wide || bits(word, 15, 15) == 0;
            let is_right = bits(word, 21, 21) == 0 && bits(word, 22, 22) == word >> 31;
            (fits && is_right).then_some(Kind::Other)?
        }
        // `autiasppc`, `autibsppc`
        0b100111 => is(word, 0xffc0_001f, 0xf380_001f).then_some(Kind::Other)?,
        _ => return None,
    })
}

/// Returns whether the operand of a logical operation is a mask that can be encoded.
fn is_bit_mask(word: u32) -> bool {
    let (n, ones) = (bits(word, 22, 22), bits(word, 15, 10));
    if word >> 31 == 0 && n == 1 {
        return false;
    }
    let pattern = n << 6 | !ones & 0x3f;
    // The highest bit is the size of the repeated element.
    match pattern.checked_ilog2() {
        None | Some(0) => false,
        Some(log) => {
            let all = (1 << log) - 1;
            ones & all != all
        }
    }
}

/// Branches, exceptions and system instructions.
fn branch(word: u32) -> Option<Kind> {
    if is(word, 0x7c00_0000, 0x1400_0000) {
        return Some(Kind::Jump {
            distance: signed(word, 25, 0) << 2,
            links: word >> 31 == 1,
        });
    }
    if is(word, 0x7e00_0000, 0x3400_0000) {
        return Some(Kind::JumpIf {
            condition: Condition::Zero {
                register: register(word, 0),
                width: width(word),
                expected: bits(word, 24, 24) == 0,
            },
            distance: signed(word, 23, 5) << 2,
        });
    }
    if is(word, 0x7e00_0000, 0x3600_0000) {
        return Some(Kind::JumpIf {
            condition: Condition::Bit {
                register: register(word, 0),
                bit: (word >> 31 << 5 | bits(word, 23, 19)) as u8,
                expected: bits(word, 24, 24) == 1,
            },
            distance: signed(word, 18, 5) << 2,
        });
    }
    match word >> 24 {
        0x54 => Some(Kind::JumpIf {
            condition: Condition::Flags(bits(word, 3, 0) as u8),
            distance: signed(word, 23, 5) << 2,
        }),
        // `retaasppc`, `retabsppc`
        0x55 => is(word, 0xffc0_001f, 0x5500_001f).then_some(Kind::JumpTo {
            register: LINK,
            transfer: Transfer::Return,
        }),
        0xd4 => exception(word),
        0xd5 => system(word),
        0xd6 | 0xd7 => jump_to(word),
        _ => None,
    }
}

/// What pointer authentication does with an address in a register, besides what jumps do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Signature {
    pub register: u8,
    /// The signature is removed, after a check or without one. Otherwise it is added.
    pub is_removed: bool,
}

/// Returns what an instruction does with a signature; `None` if it does nothing else than others.
pub fn signature(word: u32, kind: &Kind) -> Option<Signature> {
    let of = |register, is_removed| {
        Some(Signature {
            register,
            is_removed,
        })
    };
    match kind {
        // `xpaclri`, `pacia1716` and others, `paciaz`, `paciasp` and others
        Kind::Hint { number } => match number {
            7 => of(LINK, true),
            8 | 10 => of(17, false),
            12 | 14 => of(17, true),
            24..=27 => of(LINK, false),
            28..=31 => of(LINK, true),
            _ => None,
        },
        // `autiasppc`
        Kind::Other if is(word, 0xffc0_001f, 0xf380_001f) => of(LINK, true),
        Kind::Other if is(word, 0xffff_0000, 0xdac1_0000) => match bits(word, 15, 10) {
            34 | 35 => of(17, false),
            46 | 47 => of(17, true),
            // `pacia` and others with and without a modifier, `pacnbiasppc`, `paciasppc`
            0..=3 | 8..=11 | 32 | 33 | 40 | 41 => of(register(word, 0), false),
            // `autia` and others, `xpaci`, `xpacd`, `autiasppcr`
            4..=7 | 12..=17 | 36 | 37 => of(register(word, 0), true),
            _ => None,
        },
        _ => None,
    }
}

fn exception(word: u32) -> Option<Kind> {
    match (bits(word, 23, 21), bits(word, 4, 0)) {
        (0b000, 0b00001) => Some(Kind::SystemCall),
        (0b001, 0b00000) => Some(Kind::Trap {
            number: bits(word, 20, 5) as u16,
        }),
        // `hvc`, `smc`, `hlt`, `tcancel`, `dcps1` to `dcps3`
        (0b000, 0b00010 | 0b00011) | (0b010 | 0b011, 0b00000) | (0b101, 0b00001..=0b00011) => {
            Some(Kind::Fault)
        }
        _ => None,
    }
}

fn system(word: u32) -> Option<Kind> {
    /// Masks and values: `wfet` and `wfit`, barriers, `msr` of an immediate and of flags, `sys`,
    /// `sysl`, `msr`, `mrs`, `sysp`, `msrr`, `mrrs`.
    const ALLOCATED: [(u32, u32); 10] = [
        (0xffff_ffc0, 0xd503_1000),
        (0xffff_f01f, 0xd503_301f),
        (0xfff8_f01f, 0xd500_401f),
        (0xfff8_0000, 0xd508_0000),
        (0xfff8_0000, 0xd528_0000),
        (0xfff0_0000, 0xd510_0000),
        (0xfff0_0000, 0xd530_0000),
        (0xfff8_0000, 0xd548_0000),
        (0xfff0_0000, 0xd550_0000),
        (0xfff0_0000, 0xd570_0000),
    ];
    if is(word, 0xffff_f01f, 0xd503_201f) {
        return Some(Kind::Hint {
            number: bits(word, 11, 5) as u8,
        });
    }
    if let Some(access) = memory::block(word) {
        return Some(Kind::Memory(access));
    }
    let mut all = ALLOCATED.iter();
    all.any(|(mask, value)| is(word, *mask, *value))
        .then_some(Kind::Other)
}

fn jump_to(word: u32) -> Option<Kind> {
    let (register, last) = (register(word, 5), bits(word, 4, 0));
    let (operation, key) = (bits(word, 24, 21), bits(word, 15, 10));
    if bits(word, 20, 16) != 0b11111 {
        return None;
    }
    let authenticates = matches!(key, 0b000010 | 0b000011);
    let is_plain = key == 0 && last == 0;
    let is_plain_or_zero = is_plain || authenticates && last == 0b11111;
    let transfer = match operation {
        0b0000 if is_plain_or_zero => Transfer::Jump,
        0b0001 if is_plain_or_zero => Transfer::Call,
        0b1000 if authenticates => Transfer::Jump,
        0b1001 if authenticates => Transfer::Call,
        0b0010 if is_plain => Transfer::Return,
        // `retaa`, `retab`, and those that take the pc of the signing from a register.
        0b0010 if authenticates && register == 31 => {
            return Some(Kind::JumpTo {
                register: LINK,
                transfer: Transfer::Return,
            });
        }
        // `eret`, `eretaa`, `eretab`, `drps`
        0b0100 if register == 31 && is_plain_or_zero => return Some(Kind::Fault),
        0b0101 if register == 31 && is_plain => return Some(Kind::Fault),
        _ => return None,
    };
    Some(Kind::JumpTo { register, transfer })
}

/// Data processing of registers.
fn of_registers(word: u32) -> Option<Kind> {
    let (to, from, other) = (register(word, 0), register(word, 5), register(word, 16));
    let (width, shift) = (width(word), bits(word, 15, 10));
    let is_wide = width == Width::X;
    let allocated = match bits(word, 28, 24) {
        // Logical operations; `mov` is an `orr` with the zero register.
        0b01010 => {
            if is(word, 0x7fe0_ffe0, 0x2a00_03e0) {
                return Some(Kind::Move {
                    to,
                    from: other,
                    width,
                });
            }
            is_wide || shift < 32
        }
        0b01011 if bits(word, 21, 21) == 0 => {
            // Not `adds` and `subs`, whose uses are comparisons.
            if is(word, 0x20c0_0000, 0) && (is_wide || shift < 32) {
                return Some(Kind::AddRegister {
                    to,
                    from,
                    other,
                    shift: shift as u8,
                    subtracts: bits(word, 30, 30) == 1,
                    width,
                });
            }
            bits(word, 23, 22) != 3 && (is_wide || shift < 32)
        }
        0b01011 => bits(word, 23, 22) == 0 && bits(word, 12, 10) <= 4,
        0b11010 => match bits(word, 23, 21) {
            // `adc`, `sbc`, `addpt`, `subpt`, `rmif`, `setf8`, `setf16`
            0b000 => {
                shift == 0
                    || is(word, 0xbfe0_e000, 0x9a00_2000)
                    || is(word, 0xffe0_7c10, 0xba00_0400)
                    || is(word, 0xffff_bc1f, 0x3a00_080d)
            }
            // `ccmn`, `ccmp`
            0b010 => is(word, 0x2000_0410, 0x2000_0000),
            // `csel` and others
            0b100 => is(word, 0x2000_0800, 0),
            0b110 if is(word, 0x6000_0000, 0) => match shift {
                2 | 3 => {
                    return Some(Kind::Divide {
                        divisor: other,
                        width,
                    });
                }
                8..=11 | 24..=27 => true,
                16..=18 | 20..=22 => !is_wide,
                0 | 4 | 5 | 12 | 19 | 23 => is_wide,
                _ => false,
            },
            // `subps`
            0b110 if is(word, 0x6000_0000, 0x2000_0000) => is_wide && shift == 0,
            0b110 if is(word, 0x6000_0000, 0x4000_0000) => match other {
                0 => matches!(shift, 0..=2 | 4..=8) || is_wide && shift == 3,
                // Pointer authentication.
                1 => is_wide && (shift < 8 || shift < 18 && from == 31 || shift >= 32),
                _ => false,
            },
            _ => false,
        },
        // Multiplications
        0b11011 => {
            let (operation, negates) = (bits(word, 23, 21), bits(word, 15, 15) == 1);
            bits(word, 30, 29) == 0
                && match operation {
                    0b000 => true,
                    0b001 | 0b101 | 0b011 => is_wide,
                    0b010 | 0b110 => is_wide && !negates,
                    _ => false,
                }
        }
        _ => false,
    };
    allocated.then_some(Kind::Other)
}

/// Returns whether a word of the group of floating-point and vector operations is an instruction.
/// Some that are not are taken for one, as in the groups of the scalable extensions: nothing but
/// their text depends on it, and later versions of the architecture fill these gaps.
fn is_vector(word: u32) -> bool {
    match word >> 24 {
        // Cryptography.
        0xce => true,
        // Vectors
        0x0e | 0x0f | 0x2e | 0x2f | 0x4e | 0x4f | 0x6e | 0x6f => true,
        // Elements
        0x5e | 0x5f | 0x7e | 0x7f => true,
        // Floating point, and conversions from and to integers. A type is reserved, but for moves
        // of the upper half of a vector.
        0x1e => bits(word, 23, 22) != 2,
        0x1f => bits(word, 23, 22) != 2,
        0x9e => bits(word, 23, 22) != 2 || is(word, 0xfffe_fc00, 0x9eae_0000),
        _ => false,
    }
}
