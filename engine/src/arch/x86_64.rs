//! x86-64 instructions: decoding, control flow and relocation.

use super::RegisterFile;
use dwarf::{LoadAddr, Memory, Register};
use iced_x86::{
    BlockEncoder, BlockEncoderOptions, Code, Decoder, DecoderOptions, FlowControl, Instruction,
    InstructionBlock, Mnemonic, OpKind,
};

/// The breakpoint instruction (`int3`).
pub const BREAKPOINT: u8 = 0xcc;
/// Maximum length of an instruction in bytes.
pub const MAX_INSTRUCTION_BYTES: usize = 15;
/// Opcode of `jmp rel32`.
pub const NEAR_JUMP: u8 = 0xe9;
/// Length of `jmp rel32`, which reaches ±2 GiB.
pub const JUMP: usize = 5;
/// Size of a slot for a relocated instruction and the jump back.
pub const SLOT_SIZE: usize = 64;

/// Decodes the instruction at `addr`.
pub fn decode(bytes: &[u8], addr: LoadAddr) -> Instruction {
    Decoder::with_ip(64, bytes, addr.0, DecoderOptions::NONE).decode()
}

/// Reads and decodes the instruction at `addr`, without breakpoints.
pub fn read(memory: &dyn Memory, addr: LoadAddr) -> Option<Instruction> {
    let mut bytes = [0; MAX_INSTRUCTION_BYTES];
    // Fewer bytes are readable near the end of a mapping.
    let len = (1..=MAX_INSTRUCTION_BYTES)
        .rev()
        .find(|len| memory.read(addr, &mut bytes[..*len]).is_ok())?;
    let instruction = decode(&bytes[..len], addr);
    (!instruction.is_invalid()).then_some(instruction)
}

/// Returns whether it is a call, which pushes a return address.
pub fn is_call(instruction: &Instruction) -> bool {
    matches!(
        instruction.flow_control(),
        FlowControl::Call | FlowControl::IndirectCall
    ) && !matches!(instruction.code(), Code::Syscall | Code::Sysenter)
}

/// Returns whether it is a return.
pub fn is_return(instruction: &Instruction) -> bool {
    instruction.flow_control() == FlowControl::Return
}

/// The target of a call and its return address.
pub struct Call {
    pub target: LoadAddr,
    pub return_address: LoadAddr,
}

/// Resolves a call (direct, or through register or memory) from the registers before it.
pub fn call(
    instruction: &Instruction,
    registers: &impl RegisterFile,
    memory: &dyn Memory,
) -> Option<Call> {
    if !is_call(instruction) {
        return None;
    }
    target(instruction, registers, memory).map(|target| Call {
        target,
        return_address: LoadAddr(instruction.next_ip()),
    })
}

/// Returns the target of a near branch or call.
pub fn target(
    instruction: &Instruction,
    registers: &impl RegisterFile,
    memory: &dyn Memory,
) -> Option<LoadAddr> {
    let target = match instruction.op0_kind() {
        OpKind::NearBranch64 => instruction.near_branch64(),
        OpKind::Register => register_value(instruction.op0_register(), registers)?,
        OpKind::Memory => {
            let addr = instruction.virtual_address(0, 0, |register, _, _| {
                if register.is_segment_register() {
                    return match register {
                        iced_x86::Register::FS => registers.get(dwarf::register::x86_64::FS_BASE),
                        iced_x86::Register::GS => registers.get(dwarf::register::x86_64::GS_BASE),
                        _ => Some(0),
                    };
                }
                register_value(register, registers)
            })?;
            memory.read_uint(LoadAddr(addr), 8).ok()?
        }
        _ => return None,
    };
    Some(LoadAddr(target))
}

/// Returns the target of a branch or call through a word of its image (`call *word(%rip)`), which
/// does not depend on registers.
pub fn fixed_target(instruction: &Instruction, memory: &dyn Memory) -> Option<LoadAddr> {
    if instruction.op0_kind() != OpKind::Memory || !instruction.is_ip_rel_memory_operand() {
        return None;
    }
    let word = LoadAddr(instruction.ip_rel_memory_address());
    memory.read_uint(word, 8).ok().map(LoadAddr)
}

/// Returns the DWARF number of a general-purpose register, or of a part of one.
pub fn dwarf_register(register: iced_x86::Register) -> Option<Register> {
    use iced_x86::Register as R;
    Some(Register(match register.full_register() {
        R::RAX => 0,
        R::RDX => 1,
        R::RCX => 2,
        R::RBX => 3,
        R::RSI => 4,
        R::RDI => 5,
        R::RBP => 6,
        R::RSP => 7,
        R::R8 => 8,
        R::R9 => 9,
        R::R10 => 10,
        R::R11 => 11,
        R::R12 => 12,
        R::R13 => 13,
        R::R14 => 14,
        R::R15 => 15,
        R::RIP => 16,
        _ => return None,
    }))
}

/// Returns a general-purpose register's value by iced's name.
pub fn register_value(register: iced_x86::Register, registers: &impl RegisterFile) -> Option<u64> {
    let value = registers.get(dwarf_register(register)?)?;
    Some(match register.size() {
        4 => value & 0xffff_ffff,
        2 => value & 0xffff,
        _ => value,
    })
}

/// Returns the registers after an instruction that is cheaper to emulate than to step elsewhere: a
/// return, a jump, a nop. `None` for all others.
pub fn emulate<R: RegisterFile>(
    instruction: &Instruction,
    registers: &R,
    memory: &dyn Memory,
) -> Option<R> {
    let mut after = *registers;
    match instruction.code() {
        Code::Retnq | Code::Retnq_imm16 => {
            let sp = registers.sp();
            after.set_pc(LoadAddr(memory.read_uint(LoadAddr(sp), 8).ok()?));
            let arguments = match instruction.code() {
                Code::Retnq_imm16 => instruction.immediate(0),
                _ => 0,
            };
            after.set_sp(sp.wrapping_add(8).wrapping_add(arguments));
        }
        Code::Jmp_rel8_64 | Code::Jmp_rel32_64 => {
            after.set_pc(LoadAddr(instruction.near_branch64()));
        }
        Code::Nopd | Code::Nop_rm16 | Code::Nop_rm32 | Code::Nop_rm64 | Code::Endbr64 => {
            after.set_pc(LoadAddr(instruction.next_ip()));
        }
        _ => return None,
    }
    Some(after)
}

/// Returns whether a single step executes the whole instruction, promptly, and with the same
/// effect.
pub fn can_be_stepped(instruction: &Instruction) -> bool {
    let repeats = instruction.has_rep_prefix() || instruction.has_repne_prefix();
    let is_long = repeats && instruction.is_string_instruction();
    // System calls may block; `pushf` would push the trap flag of the step.
    let is_special = matches!(
        instruction.mnemonic(),
        Mnemonic::Syscall
            | Mnemonic::Sysenter
            | Mnemonic::Hlt
            | Mnemonic::Pushf
            | Mnemonic::Pushfd
            | Mnemonic::Pushfq
    );
    !is_long && !is_special && instruction.flow_control() != FlowControl::Interrupt
}

/// An instruction relocated to another address: its bytes, then a jump to where it continues.
pub struct Relocated {
    /// All bytes.
    pub bytes: Vec<u8>,
    /// Offset of the jump: at that pc the instruction is done.
    pub jump: usize,
    /// Target of the jump.
    pub next: LoadAddr,
}

/// Relocates `instruction` to `slot`; `None` if that is impossible (too far away).
///
/// A direct call pushes the original's return address and jumps. An indirect one must be emulated
/// (see [`call`]): its operand may depend on the stack pointer, which a push changes.
pub fn relocate(instruction: &Instruction, slot: LoadAddr) -> Option<Relocated> {
    if is_call(instruction) && instruction.op0_kind() != OpKind::NearBranch64 {
        return None;
    }
    let (mut bytes, next) = copy(instruction, slot)?;
    let jump = bytes.len();
    bytes.extend(far_jump(next));
    (bytes.len() <= SLOT_SIZE).then_some(Relocated { bytes, jump, next })
}

/// Returns code for `place` with the effect of `instruction` at its address, and where execution
/// continues: after the original, or at the target of a call. `None` if it is too far away.
pub fn copy(instruction: &Instruction, place: LoadAddr) -> Option<(Vec<u8>, LoadAddr)> {
    if !is_call(instruction) {
        let next = LoadAddr(instruction.next_ip());
        return Some((encode(instruction, place)?, next));
    }
    let [low, high] = halves(instruction.next_ip());
    // push low (sign-extended); mov dword [rsp+4], high
    let mut bytes = vec![0x68];
    bytes.extend(low);
    bytes.extend([0xc7, 0x44, 0x24, 0x04]);
    bytes.extend(high);
    if instruction.op0_kind() == OpKind::NearBranch64 {
        return Some((bytes, LoadAddr(instruction.near_branch64())));
    }
    if !can_push_and_jump(instruction) {
        return None;
    }
    let mut jump = *instruction;
    jump.set_code(Code::Jmp_rm64);
    bytes.extend(encode(&jump, place + bytes.len() as u64)?);
    Some((bytes, LoadAddr(instruction.next_ip())))
}

fn encode(instruction: &Instruction, place: LoadAddr) -> Option<Vec<u8>> {
    let instructions = [*instruction];
    let block = InstructionBlock::new(&instructions, place.0);
    let encoded = BlockEncoder::encode(64, block, BlockEncoderOptions::NONE).ok()?;
    Some(encoded.code_buffer)
}

/// Returns whether an indirect call has the same target after a push.
pub fn can_push_and_jump(call: &Instruction) -> bool {
    use iced_x86::Register as R;
    call.code() == Code::Call_rm64
        && match call.op0_kind() {
            OpKind::Register => call.op0_register() != R::RSP,
            OpKind::Memory => call.memory_base() != R::RSP && call.segment_prefix() == R::None,
            _ => false,
        }
}

/// Returns a jump from one address to another.
pub fn jump(from: LoadAddr, to: LoadAddr) -> Vec<u8> {
    let distance = to.0.wrapping_sub(from.0 + JUMP as u64) as i64;
    match i32::try_from(distance) {
        Ok(distance) => {
            let mut bytes = vec![NEAR_JUMP];
            bytes.extend(distance.to_le_bytes());
            bytes
        }
        Err(_) => far_jump(to),
    }
}

/// Returns a jump to any address.
pub fn far_jump(to: LoadAddr) -> Vec<u8> {
    // jmp [rip+0]; the address follows.
    let mut bytes = vec![0xff, 0x25, 0, 0, 0, 0];
    bytes.extend(to.0.to_le_bytes());
    bytes
}

fn halves(value: u64) -> [[u8; 4]; 2] {
    let [a, b, c, d, e, f, g, h] = value.to_le_bytes();
    [[a, b, c, d], [e, f, g, h]]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::RegisterSet;

    struct Stack([u8; 8]);

    impl Memory for Stack {
        fn read(&self, addr: LoadAddr, buffer: &mut [u8]) -> Result<(), dwarf::Unreadable> {
            let len = buffer.len();
            let bytes = (addr == LoadAddr(0x7000))
                .then(|| self.0.get(..len))
                .flatten();
            buffer.copy_from_slice(bytes.ok_or(dwarf::Unreadable { addr, len })?);
            Ok(())
        }
    }

    #[test]
    fn what_is_emulated_ends_where_the_processor_would() {
        let stack = Stack(0x5555_0000_2222_u64.to_le_bytes());
        let mut registers = RegisterSet::zeroed();
        registers.set_sp(0x7000);
        let after = |bytes: &[u8]| {
            let instruction = decode(bytes, LoadAddr(0x1000));
            let after = emulate(&instruction, &registers, &stack)?;
            Some((after.pc().0, after.sp()))
        };
        assert_eq!(after(&[0xc3]), Some((0x5555_0000_2222, 0x7008)));
        assert_eq!(after(&[0xc2, 0x10, 0]), Some((0x5555_0000_2222, 0x7018)));
        assert_eq!(after(&[0xeb, 0x10]), Some((0x1012, 0x7000)));
        assert_eq!(after(&[0xf3, 0x0f, 0x1e, 0xfa]), Some((0x1004, 0x7000)));
        assert_eq!(after(&[0x75, 0x10]), None, "a conditional jump");
        registers.set_sp(0x8000);
        assert!(emulate(&decode(&[0xc3], LoadAddr(0)), &registers, &stack).is_none());
    }

    #[test]
    fn a_direct_call_returns_to_the_original() {
        // call +0x10 at 0x5555_0000_1000
        let original = decode(&[0xe8, 0x10, 0, 0, 0], LoadAddr(0x5555_0000_1000));
        let slot = LoadAddr(0x5555_1000_0000);
        let relocated = relocate(&original, slot).unwrap();
        assert_eq!(relocated.next, LoadAddr(0x5555_0000_1015));
        let push = decode(&relocated.bytes, slot);
        assert_eq!(
            (push.code(), push.immediate(0)),
            (Code::Pushq_imm32, 0x1005)
        );
        let high = decode(&relocated.bytes[5..], slot + 5);
        assert_eq!(
            (high.code(), high.immediate(1)),
            (Code::Mov_rm32_imm32, 0x5555)
        );
        // call [rsp+8] depends on the stack pointer.
        let indirect = decode(&[0xff, 0x54, 0x24, 0x08], LoadAddr(0x5555_0000_1000));
        assert!(relocate(&indirect, slot).is_none());
    }

    #[test]
    fn a_rip_relative_load_keeps_its_operand() {
        // mov rax, [rip+0x10] at 0x5555_0000_1000 reads 0x5555_0000_1017
        let bytes = [0x48, 0x8b, 0x05, 0x10, 0, 0, 0];
        let original = decode(&bytes, LoadAddr(0x5555_0000_1000));
        let slot = LoadAddr(0x5555_1000_0000);
        let relocated = relocate(&original, slot).unwrap();
        assert_eq!(relocated.jump, 7);
        let moved = decode(&relocated.bytes, slot);
        assert_eq!(moved.ip_rel_memory_address(), 0x5555_0000_1017);
        assert_eq!(relocated.bytes[13..21], 0x5555_0000_1007_u64.to_le_bytes());
        assert!(relocate(&original, LoadAddr(0x7f00_0000_0000)).is_none());
    }
}
