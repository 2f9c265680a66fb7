//! Predicts the targets of calls through registers and memory: simulates the moves, loads and
//! additions before them on a copy of the registers. Whatever is not simulated makes its result
//! unknown.

use super::super::RegisterFile;
use super::Decoded as Instruction;
use super::decode::is_call;
use dwarf::{LoadAddr, Memory, Register as Number};
use iced_x86::{InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register};

/// The known general-purpose registers, in iced's order.
pub struct Simulation<'a> {
    memory: &'a dyn Memory,
    known: [Option<u64>; 16],
    info: InstructionInfoFactory,
}

/// DWARF numbers in iced's order: rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8 to r15.
const NUMBERS: [u16; 16] = [0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15];

/// Callee-saved registers (System V ABI, x86-64): rbx, rsp, rbp, r12 to r15.
const KEPT: [usize; 7] = [3, 4, 5, 12, 13, 14, 15];

fn index(register: Register) -> Option<usize> {
    let full = register.full_register();
    full.is_gpr64().then(|| full.number())
}

impl<'a> Simulation<'a> {
    /// Starts with a thread's registers.
    pub fn new(registers: &impl RegisterFile, memory: &'a dyn Memory) -> Self {
        Self {
            memory,
            known: NUMBERS.map(|number| registers.get(Number(number))),
            info: InstructionInfoFactory::new(),
        }
    }

    /// Drops the values computed on another path, but keeps the stack and frame pointers: functions
    /// do not use those as variables.
    pub fn forget(&mut self) {
        for (index, value) in self.known.iter_mut().enumerate() {
            if index != 4 && index != 5 {
                *value = None;
            }
        }
    }

    /// Returns the target of a call through a register or memory.
    pub fn target(&self, instruction: &Instruction) -> Option<LoadAddr> {
        self.operand(instruction, 0).map(LoadAddr)
    }

    fn operand(&self, instruction: &Instruction, operand: u32) -> Option<u64> {
        match instruction.op_kind(operand) {
            OpKind::Register => {
                let register = instruction.op_register(operand);
                let value = self.known[index(register)?]?;
                match register.size() {
                    8 => Some(value),
                    4 => Some(value & 0xffff_ffff),
                    _ => None,
                }
            }
            OpKind::Memory => {
                let size = instruction.memory_size().size();
                let addr = self.address(instruction)?;
                let fits = size == 8 || size == 4;
                fits.then(|| self.memory.read_uint(LoadAddr(addr), size).ok())?
            }
            OpKind::Immediate8to64
            | OpKind::Immediate32to64
            | OpKind::Immediate64
            | OpKind::Immediate32 => Some(instruction.immediate(operand)),
            _ => None,
        }
    }

    fn address(&self, instruction: &Instruction) -> Option<u64> {
        instruction.virtual_address(
            u32::from(instruction.op0_kind() != OpKind::Memory),
            0,
            |register, _, _| match register {
                // Only thread-local storage has another segment base, and vtables are not in it.
                register if register.is_segment_register() => {
                    (register != Register::FS && register != Register::GS).then_some(0)
                }
                register => self.known[index(register)?],
            },
        )
    }

    /// Simulates an instruction's effect on the registers.
    pub fn execute(&mut self, instruction: &Instruction) {
        if is_call(instruction) {
            for (index, value) in self.known.iter_mut().enumerate() {
                if !KEPT.contains(&index) {
                    *value = None;
                }
            }
            return;
        }
        let value = match instruction.mnemonic() {
            Mnemonic::Mov => self.operand(instruction, 1),
            Mnemonic::Lea => self.address(instruction),
            Mnemonic::Add => self.sum(instruction, u64::wrapping_add),
            Mnemonic::Sub => self.sum(instruction, u64::wrapping_sub),
            _ => None,
        };
        let to = (instruction.op0_kind() == OpKind::Register)
            .then(|| instruction.op0_register())
            .filter(|register| matches!(register.size(), 4 | 8))
            .and_then(index);
        let mut written = Vec::new();
        for used in self.info.info(instruction).used_registers() {
            let reads = matches!(used.access(), OpAccess::Read | OpAccess::CondRead);
            written.extend(index(used.register()).filter(|_| !reads));
        }
        for register in written {
            self.known[register] = value.filter(|_| Some(register) == to);
        }
    }

    fn sum(&self, instruction: &Instruction, how: fn(u64, u64) -> u64) -> Option<u64> {
        let is_wide = instruction.op0_register().size() == 8;
        let sum = how(self.operand(instruction, 0)?, self.operand(instruction, 1)?);
        is_wide.then_some(sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::Arch;
    use crate::arch::x86_64::decoded as decode;
    use crate::os::RegisterSet;

    /// An object at 0x2000 whose vtable, at 0x3000, has 0x5555 as its third entry.
    struct Object;

    impl Memory for Object {
        fn read(&self, addr: LoadAddr, buffer: &mut [u8]) -> Result<(), dwarf::Unreadable> {
            let word: u64 = match addr.0 {
                0x1ff0 => 0x2000,
                0x2000 => 0x3000,
                0x3010 => 0x5555,
                _ => {
                    let len = buffer.len();
                    return Err(dwarf::Unreadable { addr, len });
                }
            };
            let len = buffer.len();
            buffer.copy_from_slice(&word.to_le_bytes()[..len]);
            Ok(())
        }
    }

    #[test]
    fn vtable_call_is_predicted_without_calls_between() {
        let mut registers = RegisterSet::zeroed_of(Arch::X86_64);
        registers.set_sp(0x1ff0);
        let load = decode(&[0x48, 0x8b, 0x04, 0x24], LoadAddr(0)); // mov rax, [rsp]
        let table = decode(&[0x48, 0x8b, 0x00], LoadAddr(4)); // mov rax, [rax]
        let add = decode(&[0x48, 0x83, 0xc0, 0x10], LoadAddr(7)); // add rax, 16
        let call = decode(&[0xff, 0x10], LoadAddr(11)); // call [rax]
        let mut simulation = Simulation::new(&registers, &Object);
        for instruction in [&load, &table, &add] {
            simulation.execute(instruction);
        }
        assert_eq!(simulation.target(&call), Some(LoadAddr(0x5555)));
        simulation.execute(&call);
        assert_eq!(simulation.target(&call), None, "rax is the callee's");
        simulation.execute(&load);
        simulation.forget();
        assert_eq!(simulation.target(&call), None, "another way leads here");
    }
}
