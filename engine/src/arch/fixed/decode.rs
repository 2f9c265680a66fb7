//! Decoding.

use super::super::instruction::{Code, Flow, Instruction, TargetSource};
use super::super::{RegisterFile, Undecodable};
use super::{
    CALL, CALL_REGISTER, Decoded, JUMP, JUMP_IF, JUMP_TO_REGISTER, LOAD_NEAR, NOP, RETURN, STORE,
    SYSTEM_CALL, TRAP, UNDEFINED,
};
use dwarf::{LoadAddr, Memory};

pub fn decode(bytes: &[u8], addr: LoadAddr) -> Option<Instruction> {
    Decoder::new(bytes, addr).at(0)?.ok()
}

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
        let addr = self.start + offset as u64;
        let bad = Undecodable {
            addr,
            len: rest.len().min(4),
        };
        Some(match rest.first_chunk() {
            Some(word) => instruction(addr, u32::from_le_bytes(*word)).ok_or(bad),
            None => Err(bad),
        })
    }
}

fn instruction(addr: LoadAddr, word: u32) -> Option<Instruction> {
    let code = Decoded { addr: addr.0, word };
    let target = LoadAddr(code.target());
    let flow = match code.opcode() {
        NOP | LOAD_NEAR | STORE => Flow::Next,
        JUMP => Flow::Jump(target),
        JUMP_IF => Flow::ConditionalJump(target),
        CALL => Flow::Call(target),
        RETURN => Flow::Return,
        JUMP_TO_REGISTER => Flow::IndirectJump(TargetSource::Computed),
        CALL_REGISTER => Flow::IndirectCall(TargetSource::Computed),
        TRAP => Flow::Interrupt,
        SYSTEM_CALL => Flow::SystemCall,
        UNDEFINED => Flow::Fault,
        _ => return None,
    };
    Some(Instruction::new(addr, 4, flow, Code::Fixed(code)))
}

pub fn target(code: &Decoded, registers: &impl RegisterFile, _: &dyn Memory) -> Option<LoadAddr> {
    registers.get(code.register()).map(LoadAddr)
}

pub fn releases_frame(_: &Decoded) -> bool {
    false
}

pub fn pushes(_: &Decoded) -> bool {
    false
}

pub fn can_be_stepped(code: &Decoded) -> bool {
    !matches!(code.opcode(), TRAP | SYSTEM_CALL)
}

pub fn may_store(code: &Decoded) -> bool {
    code.opcode() == STORE
}

pub fn must_stay_in_place(_: &Decoded) -> bool {
    false
}

pub fn is_compiler_trap(code: &Decoded) -> bool {
    code.opcode() == UNDEFINED
}

/// There is no state by which the processor refuses an instruction.
pub fn refusal(_: &Decoded, _: &impl RegisterFile) -> Option<&'static str> {
    None
}

/// Pointers have no tags.
pub const fn untagged(pointer: u64) -> u64 {
    pointer
}

pub fn operand_near_pc(code: &Decoded) -> Option<LoadAddr> {
    (code.opcode() == LOAD_NEAR).then(|| LoadAddr(code.target()))
}

pub fn mnemonic(code: &Decoded) -> String {
    let name = match code.opcode() {
        NOP => "nop",
        JUMP => "jump",
        JUMP_IF => "jump_if",
        CALL => "call",
        RETURN => "return",
        JUMP_TO_REGISTER => "jump_to",
        CALL_REGISTER => "call_at",
        TRAP => "trap",
        SYSTEM_CALL => "system",
        LOAD_NEAR => "load",
        STORE => "store",
        _ => "undefined",
    };
    name.to_owned()
}
