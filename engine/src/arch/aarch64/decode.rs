//! Decoding, and what the layers above ask of an instruction.

use super::super::instruction::{Code, Flow, Instruction, TargetSource};
use super::super::{Arch, RegisterFile, Undecodable};
use super::encoding::{Kind, Transfer, Unit, kind};
use super::memory::Base;
use super::text::Formatter;
use super::{Decoded, INSTRUCTION_BYTES, dwarf_register, is_landing_pad, own};
use dwarf::register::aarch64::PSTATE;
use dwarf::{LoadAddr, Memory};

/// Reads and decodes the instruction at `addr`.
pub fn read(memory: &dyn Memory, addr: LoadAddr) -> Option<Decoded> {
    let instruction = Arch::Aarch64.read(memory, addr)?;
    own(&instruction).copied()
}

/// Decodes one instruction; `None` if the bytes are none.
pub fn decode(bytes: &[u8], addr: LoadAddr) -> Option<Instruction> {
    instruction(addr, u32::from_le_bytes(*bytes.first_chunk()?))
}

/// Decodes parts of code in any order.
pub struct Decoder<'a> {
    bytes: &'a [u8],
    start: LoadAddr,
}

impl<'a> Decoder<'a> {
    pub fn new(bytes: &'a [u8], start: LoadAddr) -> Self {
        Self { bytes, start }
    }

    pub fn at(&mut self, offset: usize) -> Option<Result<Instruction, Undecodable>> {
        let rest = self.bytes.get(offset..).filter(|rest| !rest.is_empty())?;
        let addr = LoadAddr(self.start.0.wrapping_add(offset as u64));
        let bad = Undecodable {
            addr,
            len: rest.len().min(INSTRUCTION_BYTES),
        };
        Some(decode(rest, addr).ok_or(bad))
    }
}

/// Decodes a word; `None` if it is no instruction.
pub fn decoded(word: u32, addr: LoadAddr) -> Option<Decoded> {
    Some(Decoded {
        addr: addr.0,
        word,
        kind: kind(word)?,
    })
}

fn instruction(addr: LoadAddr, word: u32) -> Option<Instruction> {
    let code = decoded(word, addr)?;
    let flow = flow(&code);
    Some(Instruction::new(
        addr,
        INSTRUCTION_BYTES,
        flow,
        Code::Aarch64(code),
    ))
}

fn flow(code: &Decoded) -> Flow {
    let at = |distance| LoadAddr(code.at(distance));
    match code.kind {
        Kind::Jump { distance, links } => match links {
            true => Flow::Call(at(distance)),
            false => Flow::Jump(at(distance)),
        },
        Kind::JumpIf { distance, .. } => Flow::ConditionalJump(at(distance)),
        Kind::JumpTo { transfer, .. } => match transfer {
            Transfer::Jump => Flow::IndirectJump(TargetSource::Computed),
            Transfer::Call => Flow::IndirectCall(TargetSource::Computed),
            Transfer::Return => Flow::Return,
        },
        Kind::SystemCall => Flow::SystemCall,
        Kind::Trap { .. } if is_compiler_trap(code) => Flow::Fault,
        Kind::Trap { .. } => Flow::Interrupt,
        Kind::Fault => Flow::Fault,
        _ => Flow::Next,
    }
}

/// Returns the target of an indirect branch or call.
pub fn target(code: &Decoded, registers: &impl RegisterFile, _: &dyn Memory) -> Option<LoadAddr> {
    match code.kind {
        Kind::JumpTo { register: 31, .. } => Some(LoadAddr(0)),
        Kind::JumpTo { register, .. } => {
            let pointer = registers.get(dwarf_register(register))?;
            Some(LoadAddr(untagged(pointer)))
        }
        _ => None,
    }
}

/// Returns whether it does nothing but restore what belongs to the caller: not asked for, since every
/// instruction has room for a jump.
pub fn releases_frame(_: &Decoded) -> bool {
    false
}

/// Returns whether it writes a word below the stack pointer and moves that there. That is not looked for: the ABI has no
/// stack below the stack pointer.
pub fn pushes(_: &Decoded) -> bool {
    false
}

/// Returns whether a single step executes the whole instruction, promptly, and with the same
/// effect. The store of an exclusive sequence fails after the step of its load; waits for events
/// are hints, which may end at once.
pub fn can_be_stepped(code: &Decoded) -> bool {
    match code.kind {
        Kind::SystemCall | Kind::Trap { .. } => false,
        Kind::Memory(access) => !access.is_exclusive,
        _ => true,
    }
}

/// Returns whether it may write to memory through an operand.
pub fn may_store(code: &Decoded) -> bool {
    matches!(code.kind, Kind::Memory(access) if access.writes())
}

/// Returns whether it is a landing pad of indirect calls and jumps.
pub fn must_stay_in_place(code: &Decoded) -> bool {
    is_landing_pad(code)
}

/// Returns whether it is `udf`, or the `brk` of `__builtin_trap` (gcc: 1000, clang: 1) or of a
/// failed check of a sanitizer (0x5500 and a kind).
pub fn is_compiler_trap(code: &Decoded) -> bool {
    match code.kind {
        Kind::Trap { number } => matches!(number, 1 | 1000 | 0x5500..=0x55ff),
        Kind::Fault => code.word >> 16 == 0,
        _ => false,
    }
}

/// Returns why the processor refuses an instruction: in guarded code (BTI), a jump to a register leads
/// only to a landing pad; a pointer that does not match its authentication code is not used.
pub fn refusal(code: &Decoded, registers: &impl RegisterFile) -> Option<&'static str> {
    let branch_type = registers.get(PSTATE).unwrap_or(0) >> 10 & 0b11;
    match branch_type {
        0 => {}
        0b10 => return Some("an indirect call led here, but this is no landing pad (`bti c`)"),
        _ => return Some("an indirect jump led here, but this is no landing pad (`bti j`)"),
    }
    // `autiasp`, `retaa`, `braa`, `blraa`, `ldraa` and others
    let checks = ["aut", "reta", "retb", "bra", "blra", "ldra"];
    let name = mnemonic(code);
    let is_check = checks.iter().any(|check| name.starts_with(check));
    is_check.then_some("the pointer does not match its authentication code: it was overwritten")
}

/// Returns a pointer without its highest byte, which the processor ignores in addresses of programs
/// (TBI), or uses as a tag (MTE).
pub const fn untagged(pointer: u64) -> u64 {
    const TAG: u64 = 0xff << 56;
    match pointer >> 55 & 1 {
        0 => pointer & !TAG,
        // No address of a program.
        _ => pointer,
    }
}

/// Returns the address of a memory operand that is relative to the pc, or that `adr` computes; that
/// of `adrp` is only a part of one.
pub fn operand_near_pc(code: &Decoded) -> Option<LoadAddr> {
    match code.kind {
        Kind::Memory(access) => match access.base {
            Base::Near(distance) => Some(LoadAddr(code.at(distance))),
            Base::Register(_) => None,
        },
        Kind::Address {
            distance,
            unit: Unit::Bytes,
            ..
        } => Some(LoadAddr(code.at(distance))),
        _ => None,
    }
}

/// Returns its mnemonic in lower case.
pub fn mnemonic(code: &Decoded) -> String {
    let text = Formatter::new(Default::default()).text(code);
    let name = text.split_whitespace().next();
    name.unwrap_or_default().to_owned()
}
