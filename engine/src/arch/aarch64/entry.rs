//! Arguments of a function: the registers that it takes them from, and where unoptimized code
//! stores them.

use super::super::instruction::{Flow, Instruction};
use super::effects::{SP, general};
use super::encoding::{Kind, Width};
use super::memory::{Base, Direction};
use super::{INSTRUCTION_BYTES, dwarf_register, own};
use dwarf::register::aarch64::V0;
use dwarf::{LoadAddr, Register};
use rustc_hash::FxHashMap;

/// Maximum number of instructions to examine.
const MAX_INSTRUCTIONS: usize = 4096;
/// Maximum number of instructions in a prologue.
const PROLOGUE: usize = 64;
/// Bits of the registers that may hold an argument: x0 to x7, x8 with the address of the result,
/// x18 with the static chain of C's nested functions, v0 to v7.
const ARGUMENTS: u64 = 0x1ff | 1 << 18 | 0xff << 32;

/// Returns the registers that a function reads before it writes them: its arguments, with or
/// without debug info. `code` returns its instructions, `None` outside it. Arguments that are only
/// passed on to a call, or saved, are not found.
pub fn arguments_read(
    entry: LoadAddr,
    mut code: impl FnMut(LoadAddr) -> Option<Instruction>,
) -> Vec<Register> {
    // The registers written on all paths to each instruction.
    let mut written: FxHashMap<LoadAddr, u64> = FxHashMap::default();
    let (mut todo, mut taken) = (vec![(entry, 0)], 0);
    for _ in 0..MAX_INSTRUCTIONS {
        let Some((at, mut before)) = todo.pop() else {
            break;
        };
        if let Some(known) = written.get(&at) {
            if known & before == *known {
                continue;
            }
            before &= known;
        }
        written.insert(at, before);
        let Some(instruction) = code(at) else {
            continue;
        };
        if instruction.is_call() {
            continue;
        }
        let Some(decoded) = own(&instruction) else {
            continue;
        };
        let effects = decoded.effects();
        taken |= effects.reads & !before;
        let after = before | effects.writes;
        let next = (instruction.next(), after);
        match instruction.flow {
            Flow::Jump(target) => todo.push((target, after)),
            Flow::ConditionalJump(target) => todo.extend([(target, after), next]),
            Flow::Next => todo.push(next),
            _ => {}
        }
    }
    let taken = taken & ARGUMENTS;
    let integers = (0..31).filter(|nth| taken & 1 << nth != 0).map(Register);
    let vectors = (0..32).filter(|nth| taken & 1 << (32 + nth) != 0);
    integers
        .chain(vectors.map(|nth| Register(V0.0 + nth)))
        .collect()
}

/// Finds the store of the address for a result in memory in a prologue. Returns the instruction's
/// address, the base register, and the offset.
pub fn result_address_store(
    entry: LoadAddr,
    mut code: impl FnMut(LoadAddr) -> Option<Instruction>,
) -> Option<(LoadAddr, Register, i64)> {
    const FRAME_OR_STACK: [u8; 2] = [29, 31];
    let mut at = entry;
    // The registers that hold the address.
    let mut holders = general(8);
    for _ in 0..PROLOGUE {
        let next = code(at)?;
        let decoded = own(&next)?;
        if let Kind::Memory(access) = decoded.kind
            && let (Base::Register(base), Some(plain)) = (access.base, access.plain)
            && FRAME_OR_STACK.contains(&base)
            && access.direction == Direction::Store
            && access.index.is_none()
            && access.write_back.is_none()
            && plain.bytes == 8
        {
            let stored = (0..).zip(plain.registers);
            let mut held = stored.filter_map(|(nth, register)| {
                let holds = holders & general(register?) != 0;
                holds.then_some(access.offset + 8 * nth)
            });
            if let Some(offset) = held.next() {
                return Some((at, dwarf_register(base), offset));
            }
        }
        let copied = match decoded.kind {
            Kind::Move { to, from, .. } if holders & general(from) != 0 => general(to),
            _ => 0,
        };
        holders &= !decoded.effects().writes;
        holders |= copied;
        if holders == 0 || next.flow != Flow::Next {
            return None;
        }
        at = next.next();
    }
    None
}

/// Finds how a caller has set x8 before the call that returns to `back`: see
/// `Arch::result_address_at_call`.
pub fn result_address_at_call(
    back: LoadAddr,
    mut code: impl FnMut(LoadAddr) -> Option<Instruction>,
) -> Option<(LoadAddr, Register, i64)> {
    const SIZE: u64 = INSTRUCTION_BYTES as u64;
    let bit = |register: u8| 1_u64 << register;
    let preserved = (19..=29).fold(SP, |all, register| all | bit(register));
    let (mut holder, mut offset) = (8, 0_i64);
    // The registers that are written between an instruction and the call.
    let mut written = 0;
    let mut at = LoadAddr(back.0.checked_sub(SIZE)?);
    for _ in 0..PROLOGUE {
        at = LoadAddr(at.0.checked_sub(SIZE)?);
        let instruction = code(at).filter(|it| it.flow == Flow::Next)?;
        let decoded = own(&instruction)?;
        let writes = decoded.effects().writes;
        if writes & bit(holder) != 0 {
            let (from, distance) = match decoded.kind {
                Kind::Move {
                    from,
                    width: Width::X,
                    ..
                } if from != 31 => (from, 0),
                Kind::AddImmediate {
                    from,
                    value,
                    width: Width::X,
                    ..
                } => (from, value),
                _ => return None,
            };
            (holder, offset) = (from, offset.wrapping_add(distance));
            if preserved & bit(holder) != 0 {
                let is_kept = (written | writes) & bit(holder) == 0;
                return is_kept.then(|| (at, dwarf_register(holder), offset));
            }
        }
        written |= writes;
    }
    None
}
