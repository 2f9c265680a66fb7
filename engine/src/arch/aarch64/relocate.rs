//! Displaced instructions: emulated, or encoded at another address.

use super::super::RegisterFile;
use super::super::instruction::{Emulated, Relocated};
use super::decode::{decoded, untagged};
use super::encoding::{Condition, Kind, LINK, Transfer, bits, is};
use super::memory::{Base, Direction, MemoryAccess};
use super::{Decoded, INSTRUCTION_BYTES, dwarf_register};
use dwarf::register::aarch64::PSTATE;
use dwarf::{LoadAddr, Memory};

/// Size of a pad for a relocated instruction and the jump back.
pub const PAD_BYTES: usize = 32;
/// `b` reaches 128 MiB; the target of a relocated jump may be a MiB farther away than the pad.
pub const PAD_REACH: u64 = 126 << 20;

/// What `b` does not reach.
const JUMP_REACH: i64 = 128 << 20;
/// Bits of the pstate that say how execution came to the instruction (BTYPE): a landing pad of
/// another kind faults.
const BRANCH_TYPE: u64 = 0b11 << 10;
/// By `br`, as far as any landing pad allows it.
const BY_JUMP: u64 = 0b01 << 10;
/// By `blr`.
const BY_CALL: u64 = 0b10 << 10;

/// Returns the registers after an instruction that changes nothing but registers in a known way: a
/// jump, a call, a return, an address, a nop, the load of a literal.
pub fn emulate<R: RegisterFile>(
    code: &Decoded,
    registers: &R,
    memory: &dyn Memory,
) -> Option<Emulated<R>> {
    let mut after = *registers;
    let mut branch_type = 0;
    let value = |register: u8| match register {
        31 => Some(0),
        register => registers.get(dwarf_register(register)),
    };
    let mut next = code.next();
    let mut written = None;
    match code.kind {
        Kind::Jump { distance, links } => {
            next = code.at(distance);
            written = links.then(|| (LINK, code.next()));
        }
        Kind::JumpIf {
            condition,
            distance,
        } => {
            let pstate = registers.get(PSTATE)?;
            if holds(condition, pstate, value)? {
                next = code.at(distance);
            }
        }
        // Those that authenticate need the processor's keys.
        Kind::JumpTo { register, transfer } if !authenticates(code.word) => {
            // The processor drops the tag.
            next = untagged(value(register)?);
            match transfer {
                Transfer::Jump => branch_type = BY_JUMP,
                Transfer::Call => {
                    branch_type = BY_CALL;
                    written = Some((LINK, code.next()));
                }
                Transfer::Return => {}
            }
        }
        Kind::Address { to, .. } => written = Some((to, code.address()?)),
        // `nop`, `bti`
        Kind::Hint {
            number: 0 | 32 | 34 | 36 | 38,
        } => {}
        Kind::Memory(access) => written = Some(literal(code, &access, memory)?),
        _ => return None,
    }
    if let Some((register, value)) = written.filter(|(register, _)| *register <= LINK) {
        after.set(dwarf_register(register), value);
    }
    if let Some(pstate) = registers.get(PSTATE) {
        after.set(PSTATE, pstate & !BRANCH_TYPE | branch_type);
    }
    after.set_pc(LoadAddr(next));
    Some(Emulated {
        registers: after,
        store: None,
    })
}

/// Returns the register that the load of a literal writes, and its value.
fn literal(code: &Decoded, access: &MemoryAccess, memory: &dyn Memory) -> Option<(u8, u64)> {
    let (Base::Near(distance), Some(plain)) = (access.base, access.plain) else {
        return None;
    };
    let [Some(to), None] = plain.registers else {
        return None;
    };
    let addr = LoadAddr(code.at(distance));
    let value = memory
        .read_uint(addr, usize::try_from(plain.bytes).ok()?)
        .ok()?;
    Some(match plain.is_signed {
        true => (to, i64::from(value as i32) as u64),
        false => (to, value),
    })
}

/// Returns whether a condition holds.
fn holds(condition: Condition, pstate: u64, value: impl Fn(u8) -> Option<u64>) -> Option<bool> {
    Some(match condition {
        Condition::Flags(number) => {
            let flag = |bit: u8| pstate >> bit & 1 == 1;
            let (n, z, c, v) = (flag(31), flag(30), flag(29), flag(28));
            let holds = match number >> 1 {
                0 => z,
                1 => c,
                2 => n,
                3 => v,
                4 => c && !z,
                5 => n == v,
                6 => n == v && !z,
                // `al`, and `nv`, which is the same
                _ => return Some(true),
            };
            holds != (number & 1 == 1)
        }
        Condition::Zero {
            register,
            width,
            expected,
        } => (width.of(value(register)?) == 0) == expected,
        Condition::Bit {
            register,
            bit,
            expected,
        } => (value(register)? >> bit & 1 == 1) == expected,
    })
}

/// Returns whether a jump to a register authenticates the address: `braa`, `retaa` and others.
pub(super) fn authenticates(word: u32) -> bool {
    !is(word, 0xff9f_fc1f, 0xd61f_0000)
}

/// Whether an instruction depends on its address in a way that no copy has: it authenticates or
/// signs with the pc (`retaasppc`, `autiasppc`, `paciasppc`), is a part of an exclusive sequence,
/// or traps.
fn is_bound(code: &Decoded) -> bool {
    match code.kind {
        Kind::Memory(access) => access.is_exclusive,
        Kind::Trap { .. } => true,
        Kind::JumpTo { .. } => code.word >> 24 == 0x55 || is_by_register_of_pc(code.word),
        Kind::Other => {
            is(code.word, 0xff80_001f, 0xf380_001f) || is(code.word, 0xffff_8000, 0xdac1_8000)
        }
        _ => false,
    }
}

/// `retaasppcr`, `retabsppcr`: a return whose lowest bits are a register.
fn is_by_register_of_pc(word: u32) -> bool {
    is(word, 0xffff_fbe0, 0xd65f_0be0) && bits(word, 4, 0) != 31
}

/// Returns a `b`; `None` if it is too far away.
pub fn jump_patch(from: LoadAddr, to: LoadAddr) -> Option<Vec<u8>> {
    let word = jump_between(from.0, to.0)?;
    Some(word.to_le_bytes().to_vec())
}

/// Returns the target of a `b`.
pub fn jump_patch_target(addr: LoadAddr, bytes: &[u8]) -> Option<LoadAddr> {
    let code = decoded(u32::from_le_bytes(*bytes.first_chunk()?), addr)?;
    match code.kind {
        Kind::Jump {
            distance,
            links: false,
        } => Some(LoadAddr(code.at(distance))),
        _ => None,
    }
}

/// Relocates an instruction to `pad`; `None` if that is impossible (too far away).
///
/// A call sets the original's return address and jumps. What depends on the pc computes the
/// original's address in the register that it writes.
pub fn relocate(code: &Decoded, pad: LoadAddr) -> Option<Relocated> {
    let (mut words, next) = copy(code, pad)?;
    let jump = words.len() * INSTRUCTION_BYTES;
    words.push(jump_between(pad.0 + jump as u64, next)?);
    let bytes: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
    (bytes.len() <= PAD_BYTES).then_some(Relocated {
        bytes,
        jump,
        next: LoadAddr(next),
    })
}

/// Returns code for `place` with the effect of an instruction at its address, and where execution
/// continues behind it.
pub(crate) fn copy(code: &Decoded, place: LoadAddr) -> Option<(Vec<u32>, u64)> {
    if is_bound(code) {
        return None;
    }
    let next = code.next();
    let words = match code.kind {
        Kind::Jump { distance, links } => {
            let words = match links {
                true => load_address(LINK, next),
                false => Vec::new(),
            };
            return Some((words, code.at(distance)));
        }
        Kind::JumpIf {
            condition,
            distance,
        } => {
            let target = code.at(distance);
            match inverse(code.word, condition) {
                // Over the jump to the target.
                Some(skip) => vec![skip, jump_between(place.0 + 4, target)?],
                None => return Some((Vec::new(), target)),
            }
        }
        Kind::JumpTo {
            register,
            transfer: Transfer::Call,
        } => {
            let modifier = bits(code.word, 4, 0) as u8;
            let reads_link = register == LINK || authenticates(code.word) && modifier == LINK;
            let mut words = (!reads_link).then(|| load_address(LINK, next))?;
            // `br` instead of `blr`, `braa` instead of `blraa`
            words.push(code.word & !(1 << 21));
            words
        }
        Kind::Address { to, .. } => match to {
            31 => Vec::new(),
            to => load_address(to, code.address()?),
        },
        Kind::Memory(access) => match access.base {
            Base::Register(_) => vec![code.word],
            Base::Near(distance) => load_literal(code, &access, distance, place)?,
        },
        _ => vec![code.word],
    };
    Some((words, next))
}

/// Returns code that loads a literal of the original.
fn load_literal(
    code: &Decoded,
    access: &MemoryAccess,
    distance: i64,
    place: LoadAddr,
) -> Option<Vec<u32>> {
    const REACH: i64 = 1 << 20;
    let addr = code.at(distance);
    let from_place = addr.wrapping_sub(place.0) as i64;
    if (-REACH..REACH).contains(&from_place) && from_place & 3 == 0 {
        let field = (from_place >> 2) as u32 & 0x7_ffff;
        return Some(vec![code.word & !(0x7_ffff << 5) | field << 5]);
    }
    // A prefetch is a hint; a nop does the same.
    if access.direction == Direction::Nothing {
        return Some(Vec::new());
    }
    let plain = access.plain?;
    let [Some(to @ 0..=LINK), None] = plain.registers else {
        return None;
    };
    let mut words = load_address(to, addr);
    let number = u32::from(to);
    let load = match (plain.bytes, plain.is_signed) {
        (8, _) => 0xf940_0000,
        (_, true) => 0xb980_0000,
        (_, false) => 0xb940_0000,
    };
    words.push(load | number << 5 | number);
    Some(words)
}

/// Returns the jump with the opposite condition over one instruction; `None` if the condition
/// always holds.
fn inverse(word: u32, condition: Condition) -> Option<u32> {
    const OVER_ONE: u32 = 2;
    Some(match condition {
        Condition::Flags(14 | 15) => return None,
        Condition::Flags(_) => (word ^ 1) & !(0x7_ffff << 5) | OVER_ONE << 5,
        Condition::Zero { .. } => (word ^ 1 << 24) & !(0x7_ffff << 5) | OVER_ONE << 5,
        Condition::Bit { .. } => (word ^ 1 << 24) & !(0x3fff << 5) | OVER_ONE << 5,
    })
}

/// Returns code that sets a register to a number.
fn load_address(to: u8, value: u64) -> Vec<u32> {
    let to = u32::from(to);
    let part = |nth: u32| (value >> (16 * nth)) as u32 & 0xffff;
    // `movz`, then `movk` of those parts that are not zero.
    let mut words = vec![0xd280_0000 | part(0) << 5 | to];
    let others = (1..4).filter(|nth| part(*nth) != 0);
    words.extend(others.map(|nth| 0xf280_0000 | nth << 21 | part(nth) << 5 | to));
    words
}

/// Returns a `b` from one address to another; `None` if it is too far away.
pub(super) fn jump_between(from: u64, to: u64) -> Option<u32> {
    let distance = to.wrapping_sub(from) as i64;
    let reaches = (-JUMP_REACH..JUMP_REACH).contains(&distance) && distance & 3 == 0;
    reaches.then_some(0x1400_0000 | (distance >> 2) as u32 & 0x3ff_ffff)
}
