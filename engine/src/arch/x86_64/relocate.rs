//! Displaced instructions: emulated, or encoded at another address.

use super::super::RegisterFile;
use super::super::instruction::{Emulated, Relocated};
use super::decode::{is_call, target};
use super::{INT3, JUMP, NEAR_JUMP};
use dwarf::register::x86_64::RFLAGS;
use dwarf::{LoadAddr, Memory};
use iced_x86::{
    BlockEncoder, BlockEncoderOptions, Code, ConditionCode, FlowControl, Instruction as Decoded,
    InstructionBlock, OpKind,
};

/// Size of a pad for a relocated instruction and the jump back.
pub const PAD_BYTES: usize = 64;
/// Operands relative to `rip` reach 2 GiB.
pub const PAD_REACH: u64 = 1 << 30;

/// Returns the registers after a return, a jump (also one on a flag), a nop, or an indirect call, whose
/// operand may depend on the stack pointer, which the call of a copy would change.
pub fn emulate<R: RegisterFile>(
    code: &Decoded,
    registers: &R,
    memory: &dyn Memory,
) -> Option<Emulated<R>> {
    let mut after = *registers;
    let mut store = None;
    match code.code() {
        Code::Retnq | Code::Retnq_imm16 => {
            let sp = registers.sp();
            after.set_pc(LoadAddr(memory.read_uint(LoadAddr(sp), 8).ok()?));
            let arguments = match code.code() {
                Code::Retnq_imm16 => code.immediate(0),
                _ => 0,
            };
            after.set_sp(sp.wrapping_add(8).wrapping_add(arguments));
        }
        Code::Jmp_rel8_64 | Code::Jmp_rel32_64 => {
            after.set_pc(LoadAddr(code.near_branch64()));
        }
        _ if code.is_jcc_short_or_near() => {
            let target = match holds(code.condition_code(), registers.get(RFLAGS)?)? {
                true => code.near_branch64(),
                false => code.next_ip(),
            };
            after.set_pc(LoadAddr(target));
        }
        Code::Nopd | Code::Nop_rm16 | Code::Nop_rm32 | Code::Nop_rm64 | Code::Endbr64 => {
            after.set_pc(LoadAddr(code.next_ip()));
        }
        _ if code.flow_control() == FlowControl::IndirectCall => {
            let target = target(code, registers, memory)?;
            let sp = registers.sp().wrapping_sub(8);
            store = Some((LoadAddr(sp), code.next_ip()));
            after.set_sp(sp);
            after.set_pc(target);
        }
        _ => return None,
    }
    Some(Emulated {
        registers: after,
        store,
    })
}

/// Returns whether a condition on the flags holds; `None` if it is none.
fn holds(condition: ConditionCode, flags: u64) -> Option<bool> {
    use ConditionCode as Is;
    let [carry, parity, zero, sign, overflow] = [0, 2, 6, 7, 11].map(|bit| flags >> bit & 1 != 0);
    Some(match condition {
        Is::None => return None,
        Is::o => overflow,
        Is::no => !overflow,
        Is::b => carry,
        Is::ae => !carry,
        Is::e => zero,
        Is::ne => !zero,
        Is::be => carry || zero,
        Is::a => !carry && !zero,
        Is::s => sign,
        Is::ns => !sign,
        Is::p => parity,
        Is::np => !parity,
        Is::l => sign != overflow,
        Is::ge => sign == overflow,
        Is::le => zero || sign != overflow,
        Is::g => !zero && sign == overflow,
    })
}

/// Relocates an instruction to `pad`; `None` if that is impossible (too far away).
///
/// A direct call pushes the original's return address and jumps. An indirect one must be emulated
/// (see [`emulate`]): its operand may depend on the stack pointer, which a push changes.
pub fn relocate(code: &Decoded, pad: LoadAddr) -> Option<Relocated> {
    if is_call(code) && code.op0_kind() != OpKind::NearBranch64 {
        return None;
    }
    let (mut bytes, next) = copy(code, pad)?;
    let jump = bytes.len();
    bytes.extend(far_jump(next));
    (bytes.len() <= PAD_BYTES).then_some(Relocated { bytes, jump, next })
}

/// Returns code for `place` with the effect of `instruction` at its address, and where execution
/// continues: after the original, or at the target of a call. `None` if it is too far away.
pub fn copy(instruction: &Decoded, place: LoadAddr) -> Option<(Vec<u8>, LoadAddr)> {
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

fn encode(instruction: &Decoded, place: LoadAddr) -> Option<Vec<u8>> {
    let instructions = [*instruction];
    let block = InstructionBlock::new(&instructions, place.0);
    let encoded = BlockEncoder::encode(64, block, BlockEncoderOptions::NONE).ok()?;
    Some(encoded.code_buffer)
}

/// Returns whether an indirect call has the same target after a push.
pub fn can_push_and_jump(call: &Decoded) -> bool {
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

/// Returns a `jmp rel32`; `None` if it is too far away.
pub fn jump_patch(from: LoadAddr, to: LoadAddr) -> Option<Vec<u8>> {
    Some(jump(from, to)).filter(|bytes| bytes.len() == JUMP)
}

/// Returns the target of a `jmp rel32`, whose opcode may have become a breakpoint.
pub fn jump_patch_target(from: LoadAddr, bytes: &[u8]) -> Option<LoadAddr> {
    let (first, distance) = bytes.split_first_chunk::<1>()?;
    let distance = i32::from_le_bytes(*distance.first_chunk()?);
    [NEAR_JUMP, INT3].contains(&first[0]).then(|| {
        let next = from.0.wrapping_add(JUMP as u64);
        LoadAddr(next.wrapping_add_signed(distance.into()))
    })
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
    use super::super::decoded as decode;
    use super::*;
    use crate::arch::Arch;
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
    fn emulation_matches_the_processor() {
        let stack = Stack(0x5555_0000_2222_u64.to_le_bytes());
        let mut registers = RegisterSet::zeroed_of(Arch::X86_64);
        registers.set_sp(0x7000);
        let after = |bytes: &[u8]| {
            let instruction = decode(bytes, LoadAddr(0x1000));
            let after = emulate(&instruction, &registers, &stack)?.registers;
            Some((after.pc().0, after.sp()))
        };
        assert_eq!(after(&[0xc3]), Some((0x5555_0000_2222, 0x7008)));
        assert_eq!(after(&[0xc2, 0x10, 0]), Some((0x5555_0000_2222, 0x7018)));
        assert_eq!(after(&[0xeb, 0x10]), Some((0x1012, 0x7000)));
        assert_eq!(after(&[0xf3, 0x0f, 0x1e, 0xfa]), Some((0x1004, 0x7000)));
        // By the register, not by a flag.
        assert_eq!(after(&[0xe3, 0x10]), None, "jrcxz");
        registers.set_sp(0x8000);
        assert!(emulate(&decode(&[0xc3], LoadAddr(0)), &registers, &stack).is_none());
    }

    #[test]
    fn conditional_jumps_compare_as_numbers_do() {
        let numbers = [0, 1, 2, 0x7f, 0x80, 0xfe, 0xff_u8];
        for (a, b) in numbers.iter().flat_map(|a| numbers.map(|b| (*a, b))) {
            let (difference, carry) = a.overflowing_sub(b);
            let (signed, overflow) = (a as i8).overflowing_sub(b as i8);
            let parity = difference.count_ones() % 2 == 0;
            let flags = [
                (carry, 0),
                (parity, 2),
                (a == b, 6),
                (signed < 0, 7),
                (overflow, 11),
            ];
            let flags = flags
                .iter()
                .fold(0, |all, (is, bit)| all | u64::from(*is) << bit);
            let mut registers = RegisterSet::zeroed_of(Arch::X86_64);
            registers.set(RFLAGS, flags);
            // jo, jb, je, jbe, js, jp, jl, jle; each is followed by its opposite.
            let holds = [
                overflow,
                a < b,
                a == b,
                a <= b,
                signed < 0,
                parity,
                (a as i8) < b as i8,
                a as i8 <= b as i8,
            ];
            for (nth, holds) in (0..).zip(holds) {
                for (opcode, jumps) in [(0x70 + 2 * nth, holds), (0x71 + 2 * nth, !holds)] {
                    let jump = decode(&[opcode, 0x10], LoadAddr(0x1000));
                    let after = emulate(&jump, &registers, &Stack([0; 8])).unwrap();
                    let expected = if jumps { 0x1012 } else { 0x1002 };
                    assert_eq!(after.registers.pc().0, expected, "{opcode:#x}: {a}, {b}");
                }
            }
        }
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
