//! Code at the entry of a traced function and where it returns: the values of a call are kept in a slot
//! from one to the other. A slot belongs to the call whose frame has the address in it, so only the
//! thread of that frame writes it.

use super::super::trace_area::{
    CALL_BASE, CALL_FRAME, CALL_PROBES, CALL_STOPS, CALL_TICKS, CALL_VALUES, CALLS_LEFT,
    CALLS_LOST, CALLS_OUTSIDE, CALLS_UNTIMED, CallsLayout, HELD, MULTIPLIER, STOPS, Values,
};
use crate::compile::{NEVER, Traced};
use crate::inferior::own_time::stop_ticks;
use crate::os::nanoseconds_per_tick;
use dwarf::LoadAddr;
use iced_x86::IcedError;
use iced_x86::code_asm::{
    CodeAssembler, CodeLabel, edx, ptr, qword_ptr, r8, r9, r10, rax, rcx, rdi, rdx, rsi, rsp,
};

/// Size in bytes of what is kept of a call on the stack, from the address of its frame on.
pub(super) const CALL_BYTES: i32 = 24;
/// Offset in it of the program's own time at the return.
pub(super) const RETURN_TICKS: i32 = 16;
/// The bit of a duration that is set if the call is not timed.
const UNTIMED: u32 = 63;

type Done = Result<(), IcedError>;

/// Where calls in progress are.
#[derive(Clone, Copy)]
pub(super) struct Slots {
    /// The memory of the tracepoint.
    pub area: LoadAddr,
    pub calls: CallsLayout,
}

impl Slots {
    /// Emits code that leaves the slot of the frame whose address is in `rdi` in `rcx`, or jumps to
    /// `none`.
    fn find(self, asm: &mut CodeAssembler, none: CodeLabel) -> Done {
        self.search(asm, none, |asm| asm.cmp(qword_ptr(rcx) + CALL_FRAME, rdi))
    }

    /// Emits code that takes a free slot for that frame.
    fn take(self, asm: &mut CodeAssembler, none: CodeLabel) -> Done {
        self.search(asm, none, |asm| {
            asm.xor(rax, rax)?;
            asm.lock().cmpxchg(qword_ptr(rcx) + CALL_FRAME, rdi)
        })
    }

    /// Emits code that tests one slot after the other until the test says equal.
    fn search(
        self,
        asm: &mut CodeAssembler,
        none: CodeLabel,
        test: impl Fn(&mut CodeAssembler) -> Done,
    ) -> Done {
        let (mut again, mut found) = (asm.create_label(), asm.create_label());
        self.begin(asm)?;
        asm.set_label(&mut again)?;
        self.slot(asm)?;
        test(asm)?;
        asm.je(found)?;
        asm.inc(r10)?;
        asm.dec(edx)?;
        asm.jne(again)?;
        asm.jmp(none)?;
        asm.set_label(&mut found)?;
        asm.zero_bytes()
    }

    /// Leaves the number of the first slot in `r10`, and the number of probes in `edx`.
    fn begin(self, asm: &mut CodeAssembler) -> Done {
        asm.mov(r10, rdi)?;
        asm.shr(r10, 4_u32)?;
        asm.mov(r9, MULTIPLIER)?;
        asm.imul_2(r10, r9)?;
        asm.shr(r10, 64 - self.calls.log2)?;
        asm.mov(r8, (self.area + self.calls.offset).0)?;
        asm.mov(edx, CALL_PROBES)
    }

    /// Leaves the address of a slot in `rcx`.
    fn slot(self, asm: &mut CodeAssembler) -> Done {
        asm.and(r10, (1_i32 << self.calls.log2) - 1)?;
        asm.imul_3(rcx, r10, self.calls.slot as i32)?;
        asm.add(rcx, r8)
    }

    /// Emits code that keeps the values of a call whose frame's address is `frame` bytes above the stack
    /// pointer; it falls through. If there is no slot, the call is not recorded but counted as lost.
    pub fn enter(self, asm: &mut CodeAssembler, values: Values, frame: i32) -> Done {
        let (mut free, mut known) = (asm.create_label(), asm.create_label());
        let (mut lost, mut end) = (asm.create_label(), asm.create_label());
        asm.mov(rdi, ptr(rsp) + frame)?;
        self.find(asm, free)?;
        // The call that had the frame before did not return.
        asm.mov(rax, self.area.0)?;
        asm.lock().inc(qword_ptr(rax) + CALLS_LEFT)?;
        asm.jmp(known)?;
        asm.set_label(&mut lost)?;
        asm.mov(rax, self.area.0)?;
        asm.lock().inc(qword_ptr(rax) + CALLS_LOST)?;
        asm.jmp(end)?;
        asm.set_label(&mut free)?;
        asm.nop()?;
        self.take(asm, lost)?;
        asm.set_label(&mut known)?;
        copy(asm, values.size, |asm, at| {
            asm.mov(rax, ptr(rsp) + (values.numbers + at))?;
            asm.mov(ptr(rcx) + (CALL_VALUES + at), rax)
        })?;
        asm.lea(rax, ptr(rsp) + values.numbers)?;
        asm.mov(ptr(rcx) + CALL_BASE, rax)?;
        asm.rdtsc()?;
        asm.shl(rdx, 32_u32)?;
        asm.or(rax, rdx)?;
        asm.mov(rdx, self.area.0)?;
        asm.sub(rax, ptr(rdx) + HELD)?;
        asm.mov(ptr(rcx) + CALL_TICKS, rax)?;
        asm.mov(rax, ptr(rdx) + STOPS)?;
        asm.mov(ptr(rcx) + CALL_STOPS, rax)?;
        asm.set_label(&mut end)?;
        asm.zero_bytes()
    }

    /// Emits code that forgets a call which had the frame before; it falls through.
    pub fn forget(self, asm: &mut CodeAssembler, frame: i32) -> Done {
        let mut end = asm.create_label();
        asm.mov(rdi, ptr(rsp) + frame)?;
        self.find(asm, end)?;
        asm.xor(edx, edx)?;
        asm.mov(ptr(rcx) + CALL_FRAME, rdx)?;
        asm.set_label(&mut end)?;
        asm.zero_bytes()
    }

    /// Emits code that fetches the values of the call that returns to where they were at its entry, and
    /// its duration so far in ticks to `frame`, with [`UNTIMED`]; behind that are the slot's address and the time of the
    /// return ([`RETURN_TICKS`]). It jumps to `deopt`
    /// if only the debugger may know the call, and to `none` if it is not recorded.
    pub fn fetch(
        self,
        asm: &mut CodeAssembler,
        (traced, values): (&Traced, Values),
        frame: i32,
        (none, deopt): (CodeLabel, CodeLabel),
    ) -> Done {
        let (mut unknown, mut found) = (asm.create_label(), asm.create_label());
        let mut timed = asm.create_label();
        asm.rdtsc()?;
        asm.shl(rdx, 32_u32)?;
        asm.or(rax, rdx)?;
        asm.mov(rsi, rax)?;
        asm.mov(ptr(rsp) + (frame + RETURN_TICKS), rax)?;
        asm.mov(rdi, ptr(rsp) + frame)?;
        self.find(asm, unknown)?;
        asm.jmp(found)?;
        asm.set_label(&mut unknown)?;
        asm.mov(rax, self.area.0)?;
        asm.cmp(qword_ptr(rax) + CALLS_OUTSIDE, 0)?;
        asm.jne(deopt)?;
        asm.jmp(none)?;
        asm.set_label(&mut found)?;
        asm.mov(rax, self.area.0)?;
        asm.mov(rdx, ptr(rax) + HELD)?;
        asm.sub(rsi, rdx)?;
        asm.sub(ptr(rsp) + (frame + RETURN_TICKS), rdx)?;
        asm.sub(rsi, ptr(rcx) + CALL_TICKS)?;
        asm.mov(rdx, ptr(rax) + STOPS)?;
        asm.sub(rdx, ptr(rcx) + CALL_STOPS)?;
        asm.je(timed)?;
        asm.mov(r9, stop_ticks())?;
        asm.imul_2(rdx, r9)?;
        asm.cmp(rsi, rdx)?;
        asm.jae(timed)?;
        asm.bts(rsi, UNTIMED)?;
        asm.set_label(&mut timed)?;
        asm.mov(ptr(rsp) + frame, rsi)?;
        asm.mov(ptr(rsp) + (frame + 8), rcx)?;
        copy(asm, values.size, |asm, at| {
            asm.mov(rax, ptr(rcx) + (CALL_VALUES + at))?;
            asm.mov(ptr(rsp) + (values.numbers + at), rax)
        })?;
        // The captured values are elsewhere on the stack now.
        asm.lea(rdx, ptr(rsp) + values.numbers)?;
        asm.sub(rdx, ptr(rcx) + CALL_BASE)?;
        for index in 0..=traced.captured.len() {
            asm.add(ptr(rsp) + values.slot(index), rdx)?;
        }
        Ok(())
    }

    /// Emits code that takes the program's own time as that of a return, `frame` bytes above the stack
    /// pointer.
    pub fn return_now(self, asm: &mut CodeAssembler, frame: i32) -> Done {
        asm.rdtsc()?;
        asm.shl(rdx, 32_u32)?;
        asm.or(rax, rdx)?;
        asm.mov(rdx, self.area.0)?;
        asm.sub(rax, ptr(rdx) + HELD)?;
        asm.mov(ptr(rsp) + (frame + RETURN_TICKS), rax)
    }

    /// Emits code that frees the slot of the fetched call, and stores its duration in nanoseconds where
    /// it is wanted; it falls through.
    pub fn complete(
        self,
        asm: &mut CodeAssembler,
        (traced, values): (&Traced, Values),
        frame: i32,
    ) -> Done {
        asm.mov(rcx, ptr(rsp) + (frame + 8))?;
        asm.mov(rax, ptr(rsp) + frame)?;
        asm.xor(edx, edx)?;
        asm.mov(ptr(rcx) + CALL_FRAME, rdx)?;
        if traced.late.elapsed_numbers.is_empty() && traced.late.elapsed_values.is_empty() {
            return Ok(());
        }
        let mut timed = asm.create_label();
        asm.mov(rsi, rax)?;
        asm.btr(rax, UNTIMED)?;
        nanoseconds(asm)?;
        asm.mov(rdx, rax)?;
        asm.test(rsi, rsi)?;
        asm.jns(timed)?;
        asm.bts(rdx, UNTIMED)?;
        asm.mov(rax, self.area.0)?;
        asm.lock().inc(qword_ptr(rax) + CALLS_UNTIMED)?;
        asm.mov(rax, NEVER)?;
        asm.set_label(&mut timed)?;
        asm.nop()?;
        for number in &traced.late.elapsed_numbers {
            asm.mov(ptr(rsp) + (values.numbers + 8 * *number as i32), rax)?;
        }
        for index in &traced.late.elapsed_values {
            asm.mov(rcx, ptr(rsp) + values.slot(*index))?;
            asm.mov(ptr(rcx), rdx)?;
        }
        Ok(())
    }
}

/// Emits code that turns the ticks in `rax` into nanoseconds.
pub(super) fn nanoseconds(asm: &mut CodeAssembler) -> Done {
    let rate = nanoseconds_per_tick() * f64::from(1_u32 << 31) * 2.0;
    asm.mov(rcx, rate as u64)?;
    asm.mul(rcx)?;
    asm.shrd(rax, rdx, 32_u32)
}

/// Emits code that copies whole words.
fn copy(
    asm: &mut CodeAssembler,
    size: i32,
    mut word: impl FnMut(&mut CodeAssembler, i32) -> Done,
) -> Done {
    for at in (0..size).step_by(8) {
        word(asm, at)?;
    }
    Ok(())
}
