//! Code that adds a hit to a tracepoint's tables and writes its record.
//!
//! The hit's numbers and captured values are on the stack ([`Values`]). All memory that the code
//! accesses is mapped: it cannot fault. Threads of one table meet only in atomic instructions.

use super::super::spans;
use super::super::trace_area::{
    EXPONENTS, FLOAT_BUCKETS, HASH, HITS, KEY_LEN, MULTIPLIER, NUMBER, RECORDS_BEGUN, RingLayout,
    SIZE, THREAD, TICKS, TableLayout, VALUES, VALUES_ADDED, Values,
};
use super::super::trampoline::Tracing;
use crate::compile::{KeyPart, NEVER, NumberKind, Presence, TracedColumn, TracedTable};
use crate::expr::query::{Aggregate, Scale};
use dwarf::{LoadAddr, Register};
use iced_x86::IcedError;
use iced_x86::code_asm::{
    CodeAssembler, CodeLabel, byte_ptr, cl, dword_ptr, eax, ecx, edx, ptr, qword_ptr, r8, r9, r9d,
    r10, rax, rcx, rdi, rdx, rsi, rsp, xmm0,
};
use std::ops::Range;

/// Registers that the code uses: rax, rdx, rcx, rbx, rsi, rdi, r8, r9 and r10.
pub(super) const TRACING: [Register; 9] = [
    Register(0),
    Register(1),
    Register(2),
    Register(3),
    Register(4),
    Register(5),
    Register(8),
    Register(9),
    Register(10),
];

/// Rows that are looked at for a key.
const PROBES: u32 = 16;
/// Flips the sign bit: the order of unsigned numbers becomes that of signed ones.
const SIGN: u64 = 1 << 63;

type Done = Result<(), IcedError>;

/// Where a thread's number is: above the thread pointer (`fs`).
pub(super) type ThreadNumber = Option<i32>;

/// The time of a record.
#[derive(Clone, Copy)]
pub(super) enum Clock {
    /// The present.
    Now,
    /// The value of the processor's clock, or of the program's own time, this many bytes above the stack
    /// pointer.
    Kept(i32),
}

/// Emits the code; it falls through. `number`: where the number of the record is, if that is taken
/// already, in bytes above the stack pointer.
pub(super) fn emit(
    asm: &mut CodeAssembler,
    tracing: &Tracing<'_>,
    values: Values,
    (clock, number): (Clock, i32),
) -> Done {
    let Tracing { traced, layout, .. } = *tracing;
    let mut tracer = Tracer {
        asm,
        area: tracing.area,
        values,
        clock,
        begun: tracing.begun,
        lacks_result: tracing.moment.lacks_result(),
    };
    for (table, layout) in traced.tables.iter().zip(&layout.tables) {
        tracer.table(table, layout)?;
    }
    match &layout.ring {
        Some(ring) => tracer.record(traced.record.clone(), ring, (tracing.thread, number)),
        None => Ok(()),
    }
}

pub(super) struct Tracer<'a> {
    asm: &'a mut CodeAssembler,
    area: LoadAddr,
    values: Values,
    clock: Clock,
    /// The processor's clock when the tracepoint was set.
    begun: u64,
    /// Whether the result of the call is not known.
    lacks_result: bool,
}

impl Tracer<'_> {
    fn table(&mut self, table: &TracedTable, layout: &TableLayout) -> Done {
        match layout.rows_log2 {
            Some(rows_log2) => self.find_row(table, layout, rows_log2)?,
            None => self.asm.mov(rcx, (self.area + layout.others()).0)?,
        }
        self.asm.lock().inc(qword_ptr(rcx) + HITS)?;
        for (column, at) in &layout.columns {
            self.column(*column, *at)?;
        }
        Ok(())
    }

    /// Leaves the address of the keys' row in `rcx`.
    fn find_row(&mut self, table: &TracedTable, layout: &TableLayout, rows_log2: u32) -> Done {
        let mut again = self.asm.create_label();
        let mut next = self.asm.create_label();
        let (mut found, mut end) = (self.asm.create_label(), self.asm.create_label());
        self.hash(table)?;
        self.asm.mov(r10, rax)?;
        self.asm.mov(rdi, rax)?;
        self.asm.mov(edx, PROBES)?;
        self.asm.mov(r8, (self.area + layout.offset).0)?;
        self.asm.set_label(&mut again)?;
        self.asm.and(rdi, (1_i32 << rows_log2) - 1)?;
        self.asm.imul_3(rcx, rdi, layout.stride as i32)?;
        self.asm.add(rcx, r8)?;
        self.asm.mov(rax, ptr(rcx) + HASH)?;
        self.asm.cmp(rax, r10)?;
        self.asm.je(found)?;
        self.asm.test(rax, rax)?;
        self.asm.jne(next)?;
        self.asm.lock().cmpxchg(ptr(rcx) + HASH, r10)?;
        let mut taken = self.asm.create_label();
        self.asm.je(taken)?;
        self.asm.cmp(rax, r10)?;
        self.asm.je(found)?;
        self.asm.set_label(&mut next)?;
        self.asm.inc(rdi)?;
        self.asm.dec(edx)?;
        self.asm.jne(again)?;
        self.asm.mov(rcx, (self.area + layout.others()).0)?;
        self.asm.jmp(end)?;
        self.asm.set_label(&mut taken)?;
        self.copy(table.keys.clone(), layout.keys, KEY_LEN)?;
        self.asm.set_label(&mut found)?;
        self.asm.nop()?;
        self.asm.set_label(&mut end)?;
        self.asm.zero_bytes()
    }

    /// Leaves the hash of the keys in `rax`, never 0.
    fn hash(&mut self, table: &TracedTable) -> Done {
        self.asm.mov(rax, MULTIPLIER)?;
        self.asm.mov(r9, MULTIPLIER)?;
        for (index, part) in table.keys.clone().zip(&table.parts) {
            self.asm.mov(rsi, ptr(rsp) + self.values.slot(index))?;
            match *part {
                KeyPart::Words { from, count } => {
                    for word in 0..count {
                        self.asm.xor(rax, ptr(rsi) + (from + 8 * word) as i32)?;
                        self.mix()?;
                    }
                }
                KeyPart::Text { head } => {
                    let (mut again, mut end) = (self.asm.create_label(), self.asm.create_label());
                    let head = head as i32;
                    self.asm.mov(rdx, ptr(rsi) + (head + 8))?;
                    self.asm.xor(rax, rdx)?;
                    self.asm.imul_2(rax, r9)?;
                    self.asm.set_label(&mut again)?;
                    self.asm.sub(rdx, 1)?;
                    self.asm.jb(end)?;
                    self.asm.movzx(ecx, byte_ptr(rsi + rdx) + (head + 16))?;
                    self.asm.xor(rax, rcx)?;
                    self.asm.imul_2(rax, r9)?;
                    self.asm.jmp(again)?;
                    self.asm.set_label(&mut end)?;
                    self.mix()?;
                }
            }
        }
        let mut good = self.asm.create_label();
        self.asm.test(rax, rax)?;
        self.asm.jne(good)?;
        self.asm.inc(rax)?;
        self.asm.set_label(&mut good)?;
        self.asm.zero_bytes()
    }

    /// Mixes the bits of `rax`, reversibly.
    fn mix(&mut self) -> Done {
        self.asm.imul_2(rax, r9)?;
        self.asm.mov(rcx, rax)?;
        self.asm.shr(rcx, 32_u32)?;
        self.asm.xor(rax, rcx)
    }

    /// Copies captured values to `rcx` plus `to`, then their size to `rcx` plus `len`.
    fn copy(&mut self, captured: Range<usize>, to: i32, len: i32) -> Done {
        let (mut again, mut end) = (self.asm.create_label(), self.asm.create_label());
        self.asm
            .mov(rsi, ptr(rsp) + self.values.slot(captured.start))?;
        self.asm
            .mov(rdx, ptr(rsp) + self.values.slot(captured.end))?;
        self.asm.sub(rdx, rsi)?;
        self.asm.mov(r9, rdx)?;
        self.asm.set_label(&mut again)?;
        self.asm.sub(rdx, 8)?;
        self.asm.jb(end)?;
        self.asm.mov(rax, ptr(rsi + rdx))?;
        self.asm.mov(ptr(rcx + rdx) + to, rax)?;
        self.asm.jmp(again)?;
        self.asm.set_label(&mut end)?;
        self.asm.mov(ptr(rcx) + len, r9)
    }

    /// Adds a number to a column at `at` bytes of the row at `rcx`.
    fn column(&mut self, column: TracedColumn, at: i32) -> Done {
        let number = self.values.numbers + 8 * column.number as i32;
        match column.presence {
            Presence::Always => return self.add(column, number, at),
            Presence::Absent => return Ok(()),
            Presence::WithResult if self.lacks_result => return Ok(()),
            Presence::WithResult | Presence::UnlessNever => {}
        }
        let mut end = self.asm.create_label();
        if column.presence == Presence::UnlessNever {
            self.asm.mov(r8, ptr(rsp) + number)?;
            self.asm.mov(r9, NEVER)?;
            self.asm.cmp(r8, r9)?;
            self.asm.je(end)?;
        }
        self.add(column, number, at)?;
        if let Aggregate::Sum | Aggregate::Mean = column.aggregate {
            self.asm.lock().inc(qword_ptr(rcx) + at + VALUES_ADDED)?;
        }
        self.asm.set_label(&mut end)?;
        self.asm.zero_bytes()
    }

    /// Adds a number that is there.
    fn add(&mut self, column: TracedColumn, number: i32, at: i32) -> Done {
        match column.aggregate {
            Aggregate::Count => Ok(()),
            Aggregate::Rate => {
                self.span()?;
                self.asm.lock().inc(qword_ptr(rcx + r9 * 8) + at)
            }
            Aggregate::Sum | Aggregate::Mean => match column.kind {
                NumberKind::Float => self.add_float(number, at),
                kind => self.add_int(number, at, kind == NumberKind::Signed),
            },
            Aggregate::Least | Aggregate::Greatest => self.extreme(column, number, at),
            Aggregate::Histogram(scale) => {
                self.asm.mov(r8, ptr(rsp) + number)?;
                self.asm.xor(r9d, r9d)?;
                match (scale, column.kind) {
                    (Scale::Log2, NumberKind::Float) => self.float_bucket()?,
                    (Scale::Log2, kind) => self.int_bucket(kind == NumberKind::Signed)?,
                    (Scale::Linear { from, to, step }, kind) => {
                        self.linear_bucket(from, to, step, kind == NumberKind::Signed)?;
                    }
                }
                self.asm.lock().inc(qword_ptr(rcx + r9 * 8) + at)
            }
        }
    }

    /// Adds to 128 bits in two steps: the second adds the sign and the carry of the first, which is
    /// known from the value before it.
    fn add_int(&mut self, number: i32, at: i32, is_signed: bool) -> Done {
        let mut end = self.asm.create_label();
        self.asm.mov(r8, ptr(rsp) + number)?;
        if is_signed {
            self.asm.mov(r9, r8)?;
            self.asm.sar(r9, 63_u32)?;
        } else {
            self.asm.xor(r9d, r9d)?;
        }
        self.asm.mov(rdx, r8)?;
        self.asm.lock().xadd(ptr(rcx) + at, rdx)?;
        self.asm.add(rdx, r8)?;
        self.asm.adc(r9, 0)?;
        self.asm.je(end)?;
        self.asm.lock().add(ptr(rcx) + (at + 8), r9)?;
        self.asm.set_label(&mut end)?;
        self.asm.zero_bytes()
    }

    fn add_float(&mut self, number: i32, at: i32) -> Done {
        let mut again = self.asm.create_label();
        self.asm.mov(rax, ptr(rcx) + at)?;
        self.asm.set_label(&mut again)?;
        self.asm.movq(xmm0, rax)?;
        self.asm.addsd(xmm0, qword_ptr(rsp) + number)?;
        self.asm.movq(rdx, xmm0)?;
        self.asm.lock().cmpxchg(ptr(rcx) + at, rdx)?;
        self.asm.jne(again)
    }

    /// Replaces the number in the column if this one is smaller, or larger. Both are in an order that
    /// is that of signed integers.
    fn extreme(&mut self, column: TracedColumn, number: i32, at: i32) -> Done {
        let (mut again, mut end) = (self.asm.create_label(), self.asm.create_label());
        self.asm.mov(r8, ptr(rsp) + number)?;
        match column.kind {
            NumberKind::Signed => {}
            NumberKind::Unsigned => {
                self.asm.mov(rdx, SIGN)?;
                self.asm.xor(r8, rdx)?;
            }
            NumberKind::Float => {
                self.skip_nan(end)?;
                self.asm.mov(r9, r8)?;
                self.asm.sar(r9, 63_u32)?;
                self.asm.shr(r9, 1_u32)?;
                self.asm.xor(r8, r9)?;
            }
        }
        self.asm.mov(rax, ptr(rcx) + at)?;
        self.asm.set_label(&mut again)?;
        self.asm.cmp(r8, rax)?;
        match column.aggregate {
            Aggregate::Least => self.asm.jge(end)?,
            _ => self.asm.jle(end)?,
        }
        self.asm.lock().cmpxchg(ptr(rcx) + at, r8)?;
        self.asm.jne(again)?;
        self.asm.set_label(&mut end)?;
        self.asm.zero_bytes()
    }

    /// Jumps if the float in `r8` is no number.
    fn skip_nan(&mut self, to: CodeLabel) -> Done {
        self.asm.lea(r9, ptr(r8 + r8))?;
        self.asm.mov(rdx, 0xffe0_0000_0000_0000_u64)?;
        self.asm.cmp(r9, rdx)?;
        self.asm.ja(to)
    }

    /// Leaves the bucket of the integer in `r8` in `r9`, which is 0.
    fn int_bucket(&mut self, is_signed: bool) -> Done {
        let (mut end, mut below) = (self.asm.create_label(), self.asm.create_label());
        self.asm.test(r8, r8)?;
        self.asm.je(end)?;
        if is_signed {
            self.asm.js(below)?;
        }
        self.asm.bsr(r9, r8)?;
        self.asm.inc(r9)?;
        if is_signed {
            self.asm.jmp(end)?;
            self.asm.set_label(&mut below)?;
            self.asm.neg(r8)?;
            self.asm.bsr(r9, r8)?;
            self.asm.add(r9, 65)?;
        }
        self.asm.set_label(&mut end)?;
        self.asm.zero_bytes()
    }

    /// Leaves the bucket of the float in `r8` in `r9`, which is 0: that of numbers that are no number,
    /// too.
    fn float_bucket(&mut self) -> Done {
        let (mut end, mut low) = (self.asm.create_label(), self.asm.create_label());
        let (mut high, mut none) = (self.asm.create_label(), self.asm.create_label());
        self.asm.lea(rdx, ptr(r8 + r8))?;
        self.asm.test(rdx, rdx)?;
        self.asm.je(end)?;
        self.asm.mov(rax, 0xffe0_0000_0000_0000_u64)?;
        self.asm.cmp(rdx, rax)?;
        self.asm.ja(none)?;
        self.asm.shr(rdx, 53_u32)?;
        // The exponent, from 0 on.
        self.asm.sub(rdx, 1023 - EXPONENTS)?;
        self.asm.jns(low)?;
        self.asm.xor(edx, edx)?;
        self.asm.set_label(&mut low)?;
        self.asm.cmp(rdx, 2 * EXPONENTS - 1)?;
        self.asm.jbe(high)?;
        self.asm.mov(edx, 2 * EXPONENTS - 1)?;
        self.asm.set_label(&mut high)?;
        self.asm.lea(r9, ptr(rdx) + 1)?;
        self.asm.test(r8, r8)?;
        self.asm.jns(end)?;
        self.asm.add(r9, FLOAT_BUCKETS / 2)?;
        self.asm.jmp(end)?;
        self.asm.set_label(&mut none)?;
        self.asm.mov(r9d, FLOAT_BUCKETS)?;
        self.asm.set_label(&mut end)?;
        self.asm.zero_bytes()
    }

    /// Leaves the bucket of the integer in `r8` in `r9`, which is 0: the first is for all below `from`,
    /// the last for `to` and all above.
    fn linear_bucket(&mut self, from: i64, to: i64, step: u64, is_signed: bool) -> Done {
        let (mut end, mut above) = (self.asm.create_label(), self.asm.create_label());
        if !is_signed {
            // A number that is none of a signed integer is above all.
            self.asm.test(r8, r8)?;
            self.asm.js(above)?;
        }
        self.asm.mov(rdx, from)?;
        self.asm.cmp(r8, rdx)?;
        self.asm.jl(end)?;
        self.asm.mov(rax, to)?;
        self.asm.cmp(r8, rax)?;
        self.asm.jge(above)?;
        self.asm.mov(rax, r8)?;
        self.asm.sub(rax, rdx)?;
        self.asm.xor(edx, edx)?;
        self.asm.mov(r9, step)?;
        self.asm.div(r9)?;
        self.asm.lea(r9, ptr(rax) + 1)?;
        self.asm.jmp(end)?;
        self.asm.set_label(&mut above)?;
        self.asm
            .mov(r9d, Scale::buckets(from, to, step) as i32 + 1)?;
        self.asm.set_label(&mut end)?;
        self.asm.zero_bytes()
    }

    /// Leaves the time of the hit in `rax`: the processor's clock.
    fn ticks(&mut self) -> Done {
        match self.clock {
            Clock::Now => {
                self.asm.rdtsc()?;
                self.asm.shl(rdx, 32_u32)?;
                self.asm.or(rax, rdx)
            }
            Clock::Kept(at) => self.asm.mov(rax, ptr(rsp) + at),
        }
    }

    /// Leaves the number of the span of time in `r9`, as [`spans::span`] has it.
    fn span(&mut self) -> Done {
        let (mut later, mut end) = (self.asm.create_label(), self.asm.create_label());
        self.ticks()?;
        self.asm.mov(rdx, self.begun)?;
        self.asm.sub(rax, rdx)?;
        self.asm.jnc(later)?;
        self.asm.xor(eax, eax)?;
        self.asm.set_label(&mut later)?;
        self.asm.shr(rax, spans::unit_log2())?;
        // A shift by a variable number is one by cl.
        self.asm.mov(r8, rcx)?;
        self.asm.mov(rcx, rax)?;
        self.asm.or(rcx, (1_i32 << (spans::EACH_LOG2 + 1)) - 1)?;
        self.asm.bsr(rcx, rcx)?;
        self.asm.sub(ecx, spans::EACH_LOG2 as i32)?;
        self.asm.shr(rax, cl)?;
        self.asm.shl(ecx, spans::EACH_LOG2)?;
        self.asm.lea(r9, ptr(rax + rcx))?;
        self.asm.mov(rcx, r8)?;
        self.asm.cmp(r9, spans::SPANS - 1)?;
        self.asm.jbe(end)?;
        self.asm.mov(r9d, spans::SPANS - 1)?;
        self.asm.set_label(&mut end)?;
        self.asm.zero_bytes()
    }

    /// Writes a record, unless another thread is writing its slot: then it is lost.
    fn record(
        &mut self,
        captured: Range<usize>,
        ring: &RingLayout,
        (thread, number): (ThreadNumber, i32),
    ) -> Done {
        let mut end = self.asm.create_label();
        self.asm.mov(r8, self.area.0)?;
        if ring.keeps_all {
            self.asm.mov(rdx, ptr(rsp) + number)?;
        } else {
            self.asm.mov(edx, 1)?;
            self.asm.lock().xadd(ptr(r8) + RECORDS_BEGUN, rdx)?;
        }
        self.asm.mov(rdi, rdx)?;
        self.asm.and(rdx, ring.count as i32 - 1)?;
        self.asm.imul_3(rcx, rdx, ring.slot as i32)?;
        self.asm.mov(rax, ring.offset)?;
        self.asm.add(rcx, rax)?;
        self.asm.add(rcx, r8)?;
        if !ring.keeps_all {
            self.asm.mov(rax, ptr(rcx) + NUMBER)?;
            self.asm.test(eax, 1)?;
            self.asm.jne(end)?;
            self.asm.lea(rsi, ptr(rdi + rdi) + 1)?;
            self.asm.lock().cmpxchg(ptr(rcx) + NUMBER, rsi)?;
            self.asm.jne(end)?;
        }
        self.ticks()?;
        self.asm.mov(ptr(rcx) + TICKS, rax)?;
        match thread {
            Some(at) => self.asm.mov(eax, dword_ptr(at).fs())?,
            None => self.asm.xor(eax, eax)?,
        }
        self.asm.mov(ptr(rcx) + THREAD, rax)?;
        self.copy(captured, VALUES, SIZE)?;
        self.asm.lea(rsi, ptr(rdi + rdi) + 2)?;
        self.asm.mov(ptr(rcx) + NUMBER, rsi)?;
        self.asm.set_label(&mut end)?;
        self.asm.zero_bytes()
    }
}
