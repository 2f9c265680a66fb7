//! Code that counts the hits of several breakpoints at one site. All conditions are evaluated before the
//! first hit is counted: a deopt, or a hit that stops, has no side effect.

use super::super::trampoline::Counted;
use crate::compile::x86_64::{Exits, emit_condition};
use crate::compile::{Condition, SavedRegisters};
use dwarf::Register;
use iced_x86::IcedError;
use iced_x86::code_asm::{CodeAssembler, CodeLabel, byte_ptr, ptr, qword_ptr, rax, rcx, rsp};

/// Registers used to count: rax and rcx by their DWARF numbers.
const COUNTING: [Register; 2] = [Register(0), Register(2)];
/// Size in bytes of the marks: one for each breakpoint whose condition holds.
pub const MARKS: i32 = super::super::trampoline::MAX_COUNTED as i32;

/// The breakpoints, and where the marks are: at this offset in bytes from the stack pointer.
#[derive(Clone, Copy)]
pub struct CountAll<'a> {
    pub counted: &'a [Counted],
    pub marks: i32,
}

impl<'a> CountAll<'a> {
    /// Returns the conditions.
    pub fn conditions(self) -> impl Iterator<Item = &'a Condition> {
        self.counted.iter().filter_map(|it| it.condition.as_ref())
    }

    /// Returns the registers that the code may write.
    pub fn clobbers(self) -> impl Iterator<Item = Register> {
        self.conditions()
            .flat_map(Condition::clobbers)
            .chain(COUNTING)
    }

    /// Emits code that evaluates the conditions and marks those that hold, then falls through.
    pub fn decide(
        self,
        asm: &mut CodeAssembler,
        saved: &mut SavedRegisters,
        deopt: CodeLabel,
    ) -> Result<(), IcedError> {
        asm.mov(qword_ptr(rsp + self.marks), 0)?;
        for (counted, mark) in self.counted.iter().zip(self.marks..) {
            let mut next = asm.create_label();
            if let Some(condition) = &counted.condition {
                let mut yes = asm.create_label();
                let to = Exits {
                    yes,
                    no: next,
                    deopt,
                };
                emit_condition(condition, asm, saved, to)?;
                let clobbers = condition.clobbers();
                saved.written |= clobbers.fold(0, |all, it| all | 1 << it.0);
                asm.set_label(&mut yes)?;
            }
            asm.mov(byte_ptr(rsp + mark), 1)?;
            asm.set_label(&mut next)?;
            // An instruction can have only one label.
            asm.nop()?;
        }
        Ok(())
    }

    /// Emits code that jumps to `deopt` if one of the marked hits has the number that stops.
    pub fn check_targets(self, asm: &mut CodeAssembler, deopt: CodeLabel) -> Result<(), IcedError> {
        for (counted, mark) in self.counted.iter().zip(self.marks..) {
            let Some(target) = counted.target else {
                continue;
            };
            let mut next = asm.create_label();
            asm.cmp(byte_ptr(rsp + mark), 0)?;
            asm.je(next)?;
            asm.mov(rax, counted.at.0)?;
            asm.mov(rcx, target.wrapping_sub(1))?;
            asm.cmp(ptr(rax), rcx)?;
            asm.je(deopt)?;
            asm.set_label(&mut next)?;
            asm.nop()?;
        }
        Ok(())
    }

    /// Emits code that counts the marked hit of a breakpoint, then falls through. No other thread
    /// counts: this is not atomic.
    pub fn count(self, asm: &mut CodeAssembler, nth: usize) -> Result<(), IcedError> {
        let Some(counted) = self.counted.get(nth) else {
            return Ok(());
        };
        let mut next = asm.create_label();
        asm.cmp(byte_ptr(rsp + (self.marks + nth as i32)), 0)?;
        asm.je(next)?;
        asm.mov(rax, counted.at.0)?;
        asm.inc(qword_ptr(rax))?;
        asm.set_label(&mut next)?;
        asm.nop()
    }
}
