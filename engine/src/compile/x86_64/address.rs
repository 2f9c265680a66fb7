//! Code generation for memory operands.

use super::super::code::{Address, Base, Width};
use super::super::set::At;
use super::emit::{Done, Emitter, RAX, RSP};
use dwarf::Register;
use iced_x86::IcedError;
use iced_x86::code_asm::*;

impl Emitter<'_> {
    /// Returns the memory operand of an address. It takes one register, with an index two; deopt if
    /// it cannot be an address.
    pub(super) fn address(
        &mut self,
        address: &Address,
        at: At,
    ) -> Result<AsmMemoryOperand, IcedError> {
        let near = i32::try_from(address.offset).ok();
        let Some((index, stride)) = &address.index else {
            let place = match (&address.base, near) {
                (Base::Zero, Some(offset @ 0..)) => AsmMemoryOperand::from(offset),
                (Base::Thread, Some(offset)) => AsmMemoryOperand::from(offset).fs(),
                (Base::Register(register), Some(offset)) => {
                    self.base_register(*register, at)? + offset
                }
                (Base::Int(int), Some(offset)) => {
                    self.int(int, at)?;
                    self.at(at).r64 + offset
                }
                _ => {
                    self.whole(address, at)?;
                    self.at(at).r64 + 0
                }
            };
            return self.guarded(address, place);
        };
        let (_, index_first) = match &address.base {
            Base::Int(int) => crate::compile::needs::Needs::both(int.needs(), index.needs()),
            _ => (crate::compile::needs::Needs::default(), false),
        };
        let (base_at, index_at) = if index_first {
            (at.next(), at)
        } else {
            (at, at.next())
        };
        if index_first {
            self.int(index, index_at)?;
        }
        let base = match (&address.base, near) {
            (Base::Register(register), Some(offset)) => {
                self.base_register(*register, base_at)? + offset
            }
            (Base::Int(int), Some(offset)) => {
                self.int(int, base_at)?;
                self.at(base_at).r64 + offset
            }
            _ => {
                self.whole(address, base_at)?;
                self.at(base_at).r64 + 0
            }
        };
        if !index_first {
            self.int(index, index_at)?;
        }
        let index = self.at(index_at);
        let place = match stride {
            1 | 2 | 4 | 8 => base + index.r64 * (*stride as u32),
            _ => {
                match i32::try_from(*stride) {
                    Ok(stride) => self.asm.imul_3(index.r64, index.r64, stride)?,
                    Err(_) => {
                        let temporary = self.write(RAX);
                        self.asm.mov(temporary.r64, *stride)?;
                        self.asm.imul_2(index.r64, temporary.r64)?;
                    }
                }
                base + index.r64 * 1
            }
        };
        self.guarded(address, place)
    }

    /// Computes the sum of base and offset if a memory operand cannot express it.
    pub(super) fn whole(&mut self, address: &Address, at: At) -> Done {
        match &address.base {
            Base::Zero => {
                let to = self.at(at);
                return self.constant(to, address.offset as u64);
            }
            Base::Register(register) => self.program_register(*register, 0, Width::WORD, at)?,
            Base::Int(int) => self.int(int, at)?,
            Base::Thread => {
                let to = self.at(at);
                // The first word at the thread pointer is its own address (ELF Handling For
                // Thread-Local Storage, §3.4.6).
                self.asm.mov(to.r64, qword_ptr(0).fs())?;
            }
        }
        let to = self.at(at);
        match i32::try_from(address.offset) {
            Ok(0) => Ok(()),
            Ok(near) => self.asm.add(to.r64, near),
            Err(_) => {
                let temporary = self.write(RAX);
                self.asm.mov(temporary.r64, address.offset)?;
                self.asm.add(to.r64, temporary.r64)
            }
        }
    }

    /// Returns the operand at a register of the program, without a copy if it still has its value.
    fn base_register(&mut self, register: Register, at: At) -> Result<AsmMemoryOperand, IcedError> {
        if usize::from(register.0) == RSP && !self.saved.keeps_stack_pointer {
            return Ok(rsp + self.saved.stack_pointer);
        }
        match self.live(register) {
            Some(live) => Ok(live.r64 + 0),
            None => {
                self.program_register(register, 0, Width::WORD, at)?;
                Ok(self.at(at).r64 + 0)
            }
        }
    }

    fn guarded(
        &mut self,
        address: &Address,
        place: AsmMemoryOperand,
    ) -> Result<AsmMemoryOperand, IcedError> {
        if address.guarded {
            // Nothing is mapped below 64 KiB, and user space ends at 2^47.
            let temporary = self.write(RAX);
            self.asm.lea(temporary.r64, place)?;
            self.asm.sub(temporary.r64, 0x1_0000)?;
            self.asm.shr(temporary.r64, 47)?;
            self.asm.jne(self.to.deopt)?;
        }
        Ok(place)
    }
}
