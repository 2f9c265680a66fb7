//! Code that keeps the time of a pass of a place, and code that measures the time since
//! ([`Marks`](super::super::marks::Marks)).

use super::super::marks::{MarkSite, PROBES, SLOT_LOG2, SLOTS_LOG2, TICKS};
use super::super::trace_area::MULTIPLIER;
use super::trace_call::nanoseconds;
use crate::compile::NEVER;
use iced_x86::IcedError;
use iced_x86::code_asm::{
    CodeAssembler, CodeLabel, eax, edx, ptr, qword_ptr, r8, r9, r10, rax, rcx, rdi, rdx, rsi, rsp,
};

type Done = Result<(), IcedError>;

impl MarkSite {
    /// Emits code that keeps a pass whose key is `key` bytes above the stack pointer; it falls through.
    pub(super) fn emit_pass(self, asm: &mut CodeAssembler, key: i32) -> Done {
        let (mut missing, mut full) = (asm.create_label(), asm.create_label());
        let (mut found, mut taken) = (asm.create_label(), asm.create_label());
        self.key(asm, key)?;
        self.search(asm, (found, missing), |asm, _| asm.cmp(qword_ptr(rcx), rdi))?;
        asm.set_label(&mut missing)?;
        asm.nop()?;
        self.search(asm, (taken, full), |asm, same| {
            asm.xor(eax, eax)?;
            asm.lock().cmpxchg(qword_ptr(rcx), rdi)?;
            asm.je(same)?;
            // Another thread has taken it for the same key.
            asm.cmp(rax, rdi)
        })?;
        asm.set_label(&mut full)?;
        self.first(asm)?;
        self.slot(asm)?;
        asm.xor(eax, eax)?;
        asm.mov(ptr(rcx) + TICKS, rax)?;
        asm.mov(ptr(rcx), rdi)?;
        asm.set_label(&mut taken)?;
        asm.nop()?;
        asm.set_label(&mut found)?;
        clock(asm)?;
        asm.mov(ptr(rcx) + TICKS, rax)
    }

    /// Emits code that takes the latest pass of a key out, and leaves the time since in `rax`, in
    /// nanoseconds, or [`NEVER`]; it falls through.
    pub(super) fn emit_take(self, asm: &mut CodeAssembler, key: i32) -> Done {
        let (mut found, mut never) = (asm.create_label(), asm.create_label());
        let (mut end, mut later) = (asm.create_label(), asm.create_label());
        self.key(asm, key)?;
        self.search(asm, (found, never), |asm, _| asm.cmp(qword_ptr(rcx), rdi))?;
        asm.set_label(&mut found)?;
        asm.xor(edx, edx)?;
        if self.is_of_threads {
            asm.mov(rax, ptr(rcx) + TICKS)?;
            asm.mov(ptr(rcx) + TICKS, rdx)?;
        } else {
            asm.xor(eax, eax)?;
            asm.xchg(ptr(rcx) + TICKS, rax)?;
            asm.mov(ptr(rcx), rdx)?;
        }
        asm.test(rax, rax)?;
        asm.je(never)?;
        asm.mov(rsi, rax)?;
        clock(asm)?;
        asm.sub(rax, rsi)?;
        // Clocks of two processors may differ a little.
        asm.jnc(later)?;
        asm.xor(eax, eax)?;
        asm.set_label(&mut later)?;
        nanoseconds(asm)?;
        asm.jmp(end)?;
        asm.set_label(&mut never)?;
        asm.mov(rax, NEVER)?;
        asm.set_label(&mut end)?;
        asm.zero_bytes()
    }

    /// Leaves the word by which a key is stored in `rdi`, and the address of the slots in `r8`.
    fn key(self, asm: &mut CodeAssembler, key: i32) -> Done {
        let mut good = asm.create_label();
        asm.mov(rdi, ptr(rsp) + key)?;
        asm.mov(r9, MULTIPLIER)?;
        asm.imul_2(rdi, r9)?;
        asm.test(rdi, rdi)?;
        asm.jne(good)?;
        asm.inc(rdi)?;
        asm.set_label(&mut good)?;
        asm.mov(r8, self.at.0)
    }

    /// Emits code that tests one slot after the other, with its address in `rcx`, until the test says
    /// equal: it jumps to `found` then, which the test may do itself, and else to `none`.
    fn search(
        self,
        asm: &mut CodeAssembler,
        (found, none): (CodeLabel, CodeLabel),
        test: impl Fn(&mut CodeAssembler, CodeLabel) -> Done,
    ) -> Done {
        let mut again = asm.create_label();
        self.first(asm)?;
        asm.mov(edx, PROBES)?;
        asm.set_label(&mut again)?;
        self.slot(asm)?;
        test(asm, found)?;
        asm.je(found)?;
        asm.inc(r10)?;
        asm.dec(edx)?;
        asm.jne(again)?;
        asm.jmp(none)
    }

    /// Leaves the number of the first slot in `r10`.
    fn first(self, asm: &mut CodeAssembler) -> Done {
        asm.mov(r10, rdi)?;
        asm.shr(r10, 64 - SLOTS_LOG2)
    }

    /// Leaves the address of a slot in `rcx`.
    fn slot(self, asm: &mut CodeAssembler) -> Done {
        asm.and(r10, (1_i32 << SLOTS_LOG2) - 1)?;
        asm.mov(rcx, r10)?;
        asm.shl(rcx, SLOT_LOG2)?;
        asm.add(rcx, r8)
    }
}

/// Leaves the processor's clock in `rax`.
fn clock(asm: &mut CodeAssembler) -> Done {
    asm.rdtsc()?;
    asm.shl(rdx, 32_u32)?;
    asm.or(rax, rdx)
}
