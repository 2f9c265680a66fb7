//! Trampolines of x86-64.

use super::super::log_ring;
use super::super::trace_area::{RECORDS_BEGUN, RECORDS_READ, Values};
use super::super::trampoline::{
    CannotRelocate, Decision, HitAction, Moment, OWN_STACK, Place, Saved, SavedState, Tracing,
    Trampoline, TrampolineState,
};
use super::super::window::PatchedRange;
use super::count_all::{CountAll, MARKS};
use super::trace::{self, Clock, TRACING};
use super::trace_call::{CALL_BYTES, RETURN_TICKS, Slots};
use super::trace_path::Paths;
use crate::arch::body::Leaving;
use crate::arch::x86_64::{self, own};
use crate::compile::x86_64::{Exits, emit_captured, emit_condition, emit_measured};
use crate::compile::{Captured, Condition, KeyPart, Measured, SavedRegisters, Traced};
use crate::ids::HitCondition;
use dwarf::register::x86_64::RFLAGS;
use dwarf::{LoadAddr, Register};
use iced_x86::code_asm::{
    AsmRegister64, AsmRegisterXmm, CodeAssembler, CodeLabel, dword_ptr, ecx, edx, ptr, qword_ptr,
    r8, r9, r10, r11, r12, r13, r14, r15, rax, rbp, rbx, rcx, rdi, rdx, rsi, rsp, xmm0, xmm1, xmm2,
    xmm3,
};
use iced_x86::{BlockEncoderOptions, ConditionCode, IcedError, Instruction, MemoryOperand};
use std::collections::BTreeSet;

/// Bytes below its stack pointer that the ABI lets a function use.
const RED_ZONE: i32 = 128;
/// Registers used to count: rax, rcx, rdx and r8 by their DWARF numbers.
const COUNTING: [Register; 4] = [Register(0), Register(2), Register(1), Register(8)];
/// Registers used to write a record: rax, rdx, rcx, rbx, rsi, rdi and r8.
const SAYING: [Register; 7] = [
    Register(0),
    Register(1),
    Register(2),
    Register(3),
    Register(4),
    Register(5),
    Register(8),
];
/// General-purpose registers by their DWARF numbers.
const GENERAL: [AsmRegister64; 16] = [
    rax, rdx, rcx, rbx, rsi, rdi, rbp, rsp, r8, r9, r10, r11, r12, r13, r14, r15,
];
const VECTORS: [AsmRegisterXmm; 4] = [xmm0, xmm1, xmm2, xmm3];
/// Offsets after the vector registers of the saved `mxcsr` and of the condition's.
const MXCSR: [i32; 2] = [64, 68];
/// Size of the vector area in bytes.
pub const VECTOR_AREA: i32 = 72;
/// The initial `mxcsr` of a program.
const MXCSR_AT_START: i32 = 0x1f80;

impl From<IcedError> for CannotRelocate {
    fn from(error: IcedError) -> Self {
        tracing::debug!(%error, "cannot build a trampoline");
        Self
    }
}

/// A conditional jump at a site.
#[derive(Clone, Copy)]
struct Branch {
    condition: ConditionCode,
    /// Where the program's flags are, in bytes above the stack pointer.
    flags: i32,
}

struct Builder {
    asm: CodeAssembler,
    /// The state of each instruction.
    states: Vec<TrampolineState>,
    kept: SavedState,
}

impl Builder {
    /// Sets the state of all instructions since the last mark.
    fn mark(&mut self, state: TrampolineState) {
        self.states.resize(self.asm.instructions().len(), state);
    }

    fn evaluating(&mut self) {
        self.mark(TrampolineState::Evaluating(self.kept));
    }

    fn leaving(&mut self) {
        self.mark(TrampolineState::Leaving(self.kept));
    }

    /// Moves the stack pointer without changing the flags.
    fn take(&mut self, bytes: i32) -> Result<(), IcedError> {
        if bytes != 0 {
            self.asm.lea(rsp, ptr(rsp) - bytes)?;
        }
        Ok(())
    }

    /// Leaves the part of the stack that the program uses. Returns the size in bytes of what stays free
    /// above the saved registers.
    fn leave_program_stack(&mut self, own_stack: Option<LoadAddr>) -> Result<i32, IcedError> {
        let Some(end) = own_stack else {
            self.take(RED_ZONE)?;
            self.evaluating();
            self.kept.depth = RED_ZONE;
            return Ok(RED_ZONE);
        };
        // The program's stack pointer is its first word. Near memory needs no register.
        let first = end.0.wrapping_sub(8);
        let near = MemoryOperand::with_base_displ_size(iced_x86::Register::RIP, first as i64, 8);
        let sp = iced_x86::Register::RSP;
        let keep = Instruction::with2(iced_x86::Code::Mov_rm64_r64, near, sp)?;
        let switch = Instruction::with2(iced_x86::Code::Lea_r64_m, sp, near)?;
        self.asm.add_instruction(keep)?;
        self.asm.add_instruction(switch)?;
        self.evaluating();
        self.kept.is_on_own_stack = true;
        Ok(0)
    }

    fn save_vectors(&mut self) -> Result<(), IcedError> {
        for (index, register) in VECTORS.into_iter().enumerate() {
            self.asm.movups(ptr(rsp) + 16 * index, register)?;
        }
        self.asm.stmxcsr(dword_ptr(rsp) + MXCSR[0])?;
        self.asm.mov(dword_ptr(rsp) + MXCSR[1], MXCSR_AT_START)?;
        self.evaluating();
        self.kept.vectors = true;
        self.asm.ldmxcsr(dword_ptr(rsp) + MXCSR[1])?;
        self.evaluating();
        Ok(())
    }

    /// Emits code that takes a record and fills it with the values between `values` bytes above
    /// `rsp` and `rbx`; `whose` identifies the site. It jumps to `full` if there is no room; until
    /// then its state is `before`.
    fn say(
        &mut self,
        values: i32,
        whose: LoadAddr,
        ring: LoadAddr,
        (full, before): (CodeLabel, TrampolineState),
    ) -> Result<(), IcedError> {
        let (mut again, mut copy) = (self.asm.create_label(), self.asm.create_label());
        let mut copied = self.asm.create_label();
        self.asm.lea(rsi, ptr(rsp) + values)?;
        self.asm.sub(rbx, rsi)?;
        self.asm.lea(
            rdi,
            ptr(rbx) + (log_ring::VALUES + log_ring::SLOT as i32 - 1),
        )?;
        self.asm.shr(rdi, log_ring::SLOT.trailing_zeros())?;
        self.asm.mov(rcx, ring.0)?;
        self.asm.set_label(&mut again)?;
        self.asm.mov(rax, ptr(rcx) + log_ring::HEAD)?;
        self.asm.lea(rdx, ptr(rax + rdi))?;
        self.asm.mov(r8, rdx)?;
        self.asm.sub(r8, ptr(rcx) + log_ring::TAIL)?;
        self.asm.cmp(r8, log_ring::COUNT as i32)?;
        self.asm.ja(full)?;
        self.asm.lock().cmpxchg(ptr(rcx) + log_ring::HEAD, rdx)?;
        self.mark(before);
        // The record is taken from here on, and the reader waits for it.
        self.asm.jne(again)?;
        self.asm.mov(rdx, rax)?;
        self.asm.and(edx, log_ring::COUNT as i32 - 1)?;
        self.asm.shl(rdx, log_ring::SLOT.trailing_zeros())?;
        self.asm.lea(rdx, ptr(rcx + rdx) + log_ring::RECORDS)?;
        self.asm.mov(rcx, rbx)?;
        self.asm.set_label(&mut copy)?;
        self.asm.sub(rcx, 8)?;
        self.asm.jb(copied)?;
        self.asm.mov(r8, ptr(rsi + rcx))?;
        self.asm.mov(ptr(rdx + rcx) + log_ring::VALUES, r8)?;
        self.asm.jmp(copy)?;
        self.asm.set_label(&mut copied)?;
        self.asm.mov(ptr(rdx) + 16, rbx)?;
        self.asm.mov(rcx, whose.0)?;
        self.asm.mov(ptr(rdx) + 8, rcx)?;
        self.asm.inc(rax)?;
        self.asm.mov(ptr(rdx), rax)?;
        self.mark(TrampolineState::Committing);
        Ok(())
    }

    /// Emits code that records a hit or a call of a tracepoint, or keeps what is known at a call's
    /// entry; it falls through. `none`: the call that returns is not recorded.
    fn trace(
        &mut self,
        tracing: Tracing<'_>,
        values: Values,
        saved: &SavedRegisters,
        branch: Branch,
        (none, deopt): (CodeLabel, CodeLabel),
    ) -> Result<(), IcedError> {
        let Tracing {
            traced,
            thread,
            moment,
            ..
        } = tracing;
        let frame = values.numbers + values.size;
        let number = frame + call_bytes(moment);
        if let Some(address) = moment.frame() {
            emit_measured(address, &mut self.asm, saved, frame, deopt)?;
        }
        let paths = match (tracing.paths, thread) {
            (Some(site), Some(thread)) => Some(Paths { site, thread }),
            _ => None,
        };
        if let Moment::Leave(_, how) = moment {
            if how == Leaving::Branch {
                self.unless_it_branches(branch, none)?;
            }
            if let Some(paths) = paths {
                paths.leave(&mut self.asm, frame)?;
            }
            let slots = self.slots(tracing);
            slots.fetch(&mut self.asm, (traced, values), frame, (none, deopt))?;
            let (numbers, captured): (&[usize], &[usize]) = match moment.lacks_result() {
                true => (&[], &[]),
                false => (&traced.late.returned_numbers, &traced.late.returned_values),
            };
            for &number in numbers {
                let at = values.numbers + 8 * number as i32;
                emit_measured(&traced.measured[number], &mut self.asm, saved, at, deopt)?;
            }
            for &index in captured {
                self.asm.mov(rbx, ptr(rsp) + values.slot(index))?;
                emit_captured(&traced.captured[index], &mut self.asm, saved, rbx, deopt)?;
            }
            self.evaluating();
            self.reserve(tracing, number, deopt)?;
            slots.complete(&mut self.asm, (traced, values), frame)?;
        } else {
            self.measure(traced, values, saved, deopt)?;
            self.evaluating();
            if let Moment::Hit | Moment::Pass(..) = moment {
                self.reserve(tracing, number, deopt)?;
            }
        }
        let sinces = traced.sinces.iter().zip(tracing.marks);
        for (since, mark) in sinces.filter(|_| !matches!(moment, Moment::Mark | Moment::Leave(..)))
        {
            let number = |index: usize| values.numbers + 8 * index as i32;
            mark.emit_take(&mut self.asm, number(since.key))?;
            for index in &since.numbers {
                self.asm.mov(ptr(rsp) + number(*index), rax)?;
            }
            for index in &since.values {
                self.asm.mov(rcx, ptr(rsp) + values.slot(*index))?;
                self.asm.mov(ptr(rcx), rax)?;
            }
        }
        match moment {
            Moment::Mark => {
                let mut keys = traced.sinces.iter().zip(tracing.marks);
                keys.try_for_each(|(since, mark)| {
                    let key = values.numbers + 8 * since.key as i32;
                    mark.emit_pass(&mut self.asm, key)
                })
            }
            Moment::Enter(_) => {
                self.enter_path(paths, traced, values, frame)?;
                self.slots(tracing).enter(&mut self.asm, values, frame)
            }
            Moment::Pass(..) => {
                self.enter_path(paths, traced, values, frame)?;
                self.slots(tracing).return_now(&mut self.asm, frame)?;
                let of = (Clock::Kept(frame + RETURN_TICKS), number);
                trace::emit(&mut self.asm, &tracing, values, of)?;
                paths.map_or(Ok(()), |paths| paths.leave(&mut self.asm, frame))
            }
            Moment::Hit => {
                let of = (Clock::Now, number);
                trace::emit(&mut self.asm, &tracing, values, of)
            }
            Moment::Leave(..) => {
                let of = (Clock::Kept(frame + RETURN_TICKS), number);
                trace::emit(&mut self.asm, &tracing, values, of)
            }
        }
    }

    /// Emits code that adds a call to those in progress, and keeps its path where it is wanted.
    fn enter_path(
        &mut self,
        paths: Option<Paths>,
        traced: &Traced,
        values: Values,
        frame: i32,
    ) -> Result<(), IcedError> {
        if let Some(paths) = paths {
            paths.enter(&mut self.asm, frame)?;
        }
        for index in &traced.late.path_values {
            self.asm.mov(rcx, ptr(rsp) + values.slot(*index))?;
            self.asm.mov(ptr(rcx), rax)?;
        }
        Ok(())
    }

    /// Emits code that jumps to `passed` if the conditional jump at the site does not: by the flags that
    /// the program has there.
    fn unless_it_branches(&mut self, branch: Branch, passed: CodeLabel) -> Result<(), IcedError> {
        use ConditionCode as Is;
        self.evaluating();
        self.asm.push(qword_ptr(rsp) + branch.flags)?;
        self.evaluating();
        self.kept.depth += 8;
        self.asm.popfq()?;
        self.evaluating();
        self.kept.depth -= 8;
        match branch.condition {
            Is::None => self.asm.jmp(passed)?,
            Is::o => self.asm.jno(passed)?,
            Is::no => self.asm.jo(passed)?,
            Is::b => self.asm.jae(passed)?,
            Is::ae => self.asm.jb(passed)?,
            Is::e => self.asm.jne(passed)?,
            Is::ne => self.asm.je(passed)?,
            Is::be => self.asm.ja(passed)?,
            Is::a => self.asm.jbe(passed)?,
            Is::s => self.asm.jns(passed)?,
            Is::ns => self.asm.js(passed)?,
            Is::p => self.asm.jnp(passed)?,
            Is::np => self.asm.jp(passed)?,
            Is::l => self.asm.jge(passed)?,
            Is::ge => self.asm.jl(passed)?,
            Is::le => self.asm.jg(passed)?,
            Is::g => self.asm.jle(passed)?,
        }
        self.evaluating();
        Ok(())
    }

    /// Emits code that takes the number of a record, `at` bytes above the stack pointer, where no record
    /// is overwritten before it was read: it jumps to `deopt` if there is no room. What is before it
    /// has no effect, what follows commits.
    fn reserve(
        &mut self,
        tracing: Tracing<'_>,
        at: i32,
        deopt: CodeLabel,
    ) -> Result<(), IcedError> {
        let Some(ring) = tracing.layout.ring.as_ref().filter(|ring| ring.keeps_all) else {
            return Ok(());
        };
        let mut again = self.asm.create_label();
        self.asm.mov(r8, tracing.area.0)?;
        self.asm.set_label(&mut again)?;
        self.asm.mov(rax, ptr(r8) + RECORDS_BEGUN)?;
        self.asm.mov(rdx, rax)?;
        self.asm.sub(rdx, ptr(r8) + RECORDS_READ)?;
        self.asm.cmp(rdx, ring.count as i32)?;
        self.asm.jae(deopt)?;
        self.asm.lea(rsi, ptr(rax) + 1)?;
        self.asm.lock().cmpxchg(ptr(r8) + RECORDS_BEGUN, rsi)?;
        self.evaluating();
        self.asm.jne(again)?;
        self.asm.mov(ptr(rsp) + at, rax)
    }

    fn slots(&self, tracing: Tracing<'_>) -> Slots {
        Slots {
            area: tracing.area,
            calls: tracing.layout.calls.unwrap_or_default(),
        }
    }

    /// Emits code that stores the values of a tracepoint on the stack.
    fn measure(
        &mut self,
        traced: &Traced,
        values: Values,
        saved: &SavedRegisters,
        deopt: CodeLabel,
    ) -> Result<(), IcedError> {
        for (number, measured) in traced.measured.iter().enumerate() {
            let at = values.numbers + 8 * number as i32;
            emit_measured(measured, &mut self.asm, saved, at, deopt)?;
        }
        self.asm.lea(rbx, ptr(rsp) + values.captured)?;
        let parts = traced.tables.iter().flat_map(|table| &table.parts);
        let parts = parts.map(Some).chain(std::iter::repeat(None));
        for ((index, captured), part) in traced.captured.iter().enumerate().zip(parts) {
            self.asm.mov(ptr(rsp) + values.slot(index), rbx)?;
            if let Some(KeyPart::Words { from, count }) = part {
                // Bytes that the value does not have belong to the key, too.
                for word in 0..*count {
                    let place = qword_ptr(rbx) + (from + 8 * word) as i32;
                    self.asm.mov(place, 0)?;
                }
            }
            emit_captured(captured, &mut self.asm, saved, rbx, deopt)?;
        }
        let end = values.slot(traced.captured.len());
        self.asm.mov(ptr(rsp) + end, rbx)
    }

    fn restore_vectors(&mut self) -> Result<(), IcedError> {
        if self.kept.vectors {
            for (index, register) in VECTORS.into_iter().enumerate() {
                self.asm.movups(register, ptr(rsp) + 16 * index)?;
            }
            self.asm.ldmxcsr(dword_ptr(rsp) + MXCSR[0])?;
        }
        Ok(())
    }
}

/// Returns the size in bytes of what is kept of a call on the stack; behind it is the number of a record.
fn call_bytes(moment: Moment<'_>) -> i32 {
    match moment.frame() {
        Some(_) => CALL_BYTES,
        None => 0,
    }
}

/// Builds a trampoline: [`Trampoline::build`].
pub fn build(
    place: Place,
    window: &PatchedRange,
    decision: Decision<'_>,
    then: HitAction<'_>,
) -> Result<Trampoline, CannotRelocate> {
    let Place {
        start,
        site,
        own_stack,
    } = place;
    let (count, say, tracing) = match then {
        HitAction::Pass | HitAction::Stop | HitAction::CountAll(_) => (None, None, None),
        HitAction::Count(count) => (Some(count), None, None),
        HitAction::Say {
            message,
            ring,
            count,
        } => (count, Some((message, ring)), None),
        HitAction::Trace(tracing) => (None, None, Some(tracing)),
    };
    let count_all = match then {
        HitAction::CountAll(counted) => Some(CountAll { counted, marks: 0 }),
        _ => None,
    };
    let conditions = || {
        let others = count_all.into_iter().flat_map(CountAll::conditions);
        decision.conditions().chain(others)
    };
    let mut used: BTreeSet<u16> = BTreeSet::new();
    used.extend(conditions().flat_map(Condition::clobbers).map(|it| it.0));
    used.extend(decision.passes.map(|_| COUNTING[0].0));
    if let Some(count_all) = count_all {
        used.extend(count_all.clobbers().map(|it| it.0));
    }
    if count.is_some() {
        used.extend(COUNTING.map(|it| it.0));
    }
    if let Some((message, _)) = say {
        used.extend(SAYING.map(|it| it.0));
        let values = message.values().flat_map(Captured::clobbers);
        used.extend(values.map(|it| it.0));
    }
    if let Some(tracing) = tracing {
        used.extend(TRACING.map(|it| it.0));
        used.extend(tracing.traced.clobbers().map(|it| it.0));
        let frame = tracing.moment.frame().into_iter();
        used.extend(frame.flat_map(Measured::clobbers).map(|it| it.0));
    }
    let general: Vec<Register> = used.iter().copied().map(Register).collect();
    let mut it = Builder {
        asm: CodeAssembler::new(64)?,
        states: Vec::new(),
        kept: SavedState::default(),
    };
    let above = it.leave_program_stack(own_stack)?;
    it.asm.pushfq()?;
    it.evaluating();
    for register in &general {
        it.kept.depth += 8;
        it.kept.saved += 1;
        it.asm.push(GENERAL[usize::from(register.0)])?;
        it.evaluating();
    }
    it.kept.depth += 8;
    it.kept.saved += 1;
    let pushed = it.kept;
    let vectors = conditions().any(Condition::uses_vectors)
        || say.is_some_and(|(message, _)| message.values().any(Captured::uses_vectors))
        || tracing.is_some_and(|it| it.traced.uses_vectors());
    // Vector registers, then the values of the message or of the tracepoint.
    let values = if vectors { VECTOR_AREA } else { 0 };
    let count_all = count_all.map(|it| CountAll {
        marks: values,
        ..it
    });
    let traced = tracing.map(|it| (it, Values::above(values, it.traced)));
    let area = values
        + say.map_or(0, |(message, _)| message.size() as i32)
        + count_all.map_or(0, |_| MARKS)
        + traced.map_or(0, |(tracing, values)| {
            values.size + call_bytes(tracing.moment) + 8
        });
    it.take(area)?;
    it.evaluating();
    it.kept.depth += area;
    if own_stack.is_some() && it.kept.depth + 8 > OWN_STACK as i32 {
        return Err(CannotRelocate);
    }
    if vectors {
        it.save_vectors()?;
    }
    let outcomes = Exits::new(&mut it.asm);
    let (mut yes, mut no, mut deopt) = (outcomes.yes, outcomes.no, outcomes.deopt);
    let mut leave = it.asm.create_label();
    let mut saved = SavedRegisters::default();
    for (index, register) in general.iter().enumerate() {
        // The saved flags are above them.
        saved.general[usize::from(register.0)] = it.kept.depth - above - 8 * (index as i32 + 2);
    }
    saved.stack_pointer = it.kept.depth;
    saved.keeps_stack_pointer = own_stack.is_some();
    if let Some(end) = decision.end {
        let mut next = it.asm.create_label();
        let to = Exits {
            yes: deopt,
            no: match then {
                HitAction::Pass => no,
                _ => next,
            },
            deopt,
        };
        emit_condition(end, &mut it.asm, &saved, to)?;
        it.asm.set_label(&mut next)?;
        // An instruction can have only one label.
        it.asm.nop()?;
        it.evaluating();
        saved.written = end.clobbers().fold(0, |all, it| all | 1 << it.0);
    }
    if let Some(condition) = decision.condition {
        emit_condition(condition, &mut it.asm, &saved, outcomes)?;
        it.evaluating();
    }
    it.asm.set_label(&mut yes)?;
    if let Some((message, _)) = say {
        it.asm.lea(rbx, ptr(rsp) + values)?;
        // The condition and the earlier values may have changed these registers.
        saved.written = used.iter().fold(0, |all, number| all | 1 << number);
        for value in message.values() {
            emit_captured(value, &mut it.asm, &saved, rbx, deopt)?;
        }
    }
    if let Some((tracing, values)) = traced {
        saved.written = used.iter().fold(0, |all, number| all | 1 << number);
        let first = window.instructions.first().and_then(own);
        let branch = Branch {
            condition: first.map_or(ConditionCode::None, |it| it.condition_code()),
            flags: it.kept.depth - above - 8,
        };
        it.trace(tracing, values, &saved, branch, (no, deopt))?;
        it.restore_vectors()?;
        it.asm.jmp(leave)?;
    }
    if let Some(count_all) = count_all {
        count_all.decide(&mut it.asm, &mut saved, deopt)?;
        it.restore_vectors()?;
        count_all.check_targets(&mut it.asm, deopt)?;
        it.evaluating();
        for nth in 0..count_all.counted.len() {
            count_all.count(&mut it.asm, nth)?;
            it.mark(TrampolineState::Committing);
        }
        it.asm.jmp(leave)?;
    }
    let mut stop = None;
    if count.is_some() || say.is_some() {
        it.restore_vectors()?;
    }
    if let Some(count) = count {
        it.asm.mov(rax, count.at.0)?;
        it.asm.mov(ecx, 1)?;
        it.asm.lock().xadd(ptr(rax), rcx)?;
        it.evaluating();
        it.asm.lea(rax, ptr(rcx) + 1)?;
        unless_it_stops(&mut it.asm, count.hit, leave)?;
        it.mark(TrampolineState::Committing);
    }
    let mut full = it.asm.create_label();
    if let Some((_, ring)) = say {
        let no_room = match count {
            Some(_) => (full, TrampolineState::Committing),
            None => (deopt, TrampolineState::Evaluating(it.kept)),
        };
        it.say(values, start, ring, no_room)?;
        it.asm.jmp(leave)?;
    }
    if count.is_some() {
        it.asm.set_label(&mut full)?;
        stop = Some(it.asm.instructions().len());
        it.asm.int3()?;
        it.asm.jmp(leave)?;
    }
    it.mark(TrampolineState::Committing);
    // An instruction can have only one label.
    it.asm.nop()?;
    it.asm.set_label(&mut deopt)?;
    it.restore_vectors()?;
    let deopts = it.asm.instructions().len();
    it.asm.int3()?;
    if decision.passes.is_some() {
        // The debugger has evaluated the condition.
        it.asm.jmp(leave)?;
    }
    it.asm.set_label(&mut no)?;
    if let Some((tracing, values)) = traced
        && let Moment::Enter(frame) = tracing.moment
        && decision.condition.is_some()
    {
        it.asm.nop()?;
        let at = values.numbers + values.size;
        emit_measured(frame, &mut it.asm, &saved, at, deopt)?;
        it.slots(tracing).forget(&mut it.asm, at)?;
    }
    it.restore_vectors()?;
    it.asm.nop()?;
    it.evaluating();
    if let Some(at) = decision.passes {
        it.asm.mov(rax, at.0)?;
        it.asm.lock().inc(qword_ptr(rax))?;
        it.evaluating();
        it.asm.nop()?;
        it.mark(TrampolineState::Committing);
    }
    it.asm.set_label(&mut leave)?;
    let kept = it.kept;
    it.kept.vectors = false;
    it.take(-area)?;
    it.leaving();
    it.kept = pushed;
    for register in general.iter().rev() {
        it.asm.pop(GENERAL[usize::from(register.0)])?;
        it.leaving();
        it.kept.depth -= 8;
        it.kept.saved -= 1;
    }
    it.asm.popfq()?;
    it.leaving();
    it.kept = SavedState {
        depth: above,
        is_on_own_stack: own_stack.is_some(),
        ..SavedState::default()
    };
    match own_stack {
        Some(_) => it.asm.pop(rsp)?,
        None => it.take(-above)?,
    }
    it.leaving();
    let options = BlockEncoderOptions::RETURN_NEW_INSTRUCTION_OFFSETS;
    let code = it.asm.assemble_options(start.0, options)?.inner;
    let offsets = code.new_instruction_offsets;
    let at = |index: usize| start + u64::from(offsets[index]);
    let states = offsets.iter().copied().zip(it.states);
    let mut trampoline = Trampoline {
        start,
        // An instruction that became several has no offset; there is none here.
        states: states.filter(|(offset, _)| *offset != u32::MAX).collect(),
        deopt: at(deopts),
        stop: stop.map(at),
        bytes: code.code_buffer,
        saved: (1..)
            .zip([RFLAGS].into_iter().chain(general))
            .map(|(nth, register)| Saved {
                register,
                below: above as u64 + 8 * nth,
                bits: u64::MAX,
            })
            .collect(),
        restorer: None,
        kept,
        copies: Vec::new(),
    };
    add_copies(&mut trampoline, site, window)?;
    Ok(trampoline)
}

/// Emits the relocated instructions and the jump back.
fn add_copies(
    it: &mut Trampoline,
    site: LoadAddr,
    window: &PatchedRange,
) -> Result<(), CannotRelocate> {
    let mut next = site;
    for instruction in &window.instructions {
        let here = it.start + it.bytes.len() as u64;
        let code = own(instruction).ok_or(CannotRelocate)?;
        let (bytes, goes_to) = x86_64::copy(code, here).ok_or(CannotRelocate)?;
        let addr = instruction.addr;
        it.copies.push((addr, here));
        it.states
            .push((it.bytes.len() as u32, TrampolineState::InRelocated(addr)));
        // An instruction relocated to several can be left only at its end.
        let first = x86_64::decoded(&bytes, here).len();
        if first < bytes.len() {
            let inside = it.bytes.len() + first;
            it.states.push((inside as u32, TrampolineState::Inside));
        }
        it.bytes.extend(bytes);
        next = goes_to;
    }
    let here = it.start + it.bytes.len() as u64;
    it.states
        .push((it.bytes.len() as u32, TrampolineState::InRelocated(next)));
    it.bytes.extend(x86_64::jump(here, next));
    Ok(())
}

/// Emits a jump to `leave` unless the hit whose number is in `rax` stops.
fn unless_it_stops(
    asm: &mut CodeAssembler,
    hit: HitCondition,
    leave: CodeLabel,
) -> Result<(), IcedError> {
    use HitCondition as Hit;
    if let Hit::Every(number) = hit {
        asm.mov(r8, rax)?;
        asm.mov(rcx, number)?;
        asm.xor(edx, edx)?;
        asm.div(rcx)?;
        asm.mov(rax, r8)?;
        asm.test(rdx, rdx)?;
        return asm.jne(leave);
    }
    let number = match hit {
        Hit::Once => 1,
        Hit::Exactly(number)
        | Hit::AtLeast(number)
        | Hit::MoreThan(number)
        | Hit::AtMost(number)
        | Hit::LessThan(number)
        | Hit::Every(number) => number,
    };
    asm.mov(rcx, number)?;
    asm.cmp(rax, rcx)?;
    match hit {
        Hit::Exactly(_) | Hit::Once | Hit::Every(_) => asm.jne(leave),
        Hit::AtLeast(_) => asm.jb(leave),
        Hit::MoreThan(_) => asm.jbe(leave),
        Hit::AtMost(_) => asm.ja(leave),
        Hit::LessThan(_) => asm.jae(leave),
    }
}

/// Writes the vector registers that a trampoline has saved into an area of extended registers; false
/// if the area lacks them.
pub fn write_vectors(area: &mut [u8], saved: &[u8; VECTOR_AREA as usize]) -> bool {
    let (vectors, control) = saved.split_at(MXCSR[0] as usize);
    let control = control.first_chunk();
    control.is_some_and(|control| x86_64::extended::write_low_vectors(area, vectors, *control))
}
