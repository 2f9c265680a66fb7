//! Trampolines of aarch64.
//!
//! A counter and the ring are changed by exclusive sequences. While a thread repeats one, nothing has
//! happened yet, and it can be moved back to its site; the store's result says which of both is the
//! case ([`TrampolineState::Attempted`]). A thread that has counted its hit, but has no record yet, is
//! not single-stepped, since its store would fail each time: the debugger takes the record from its
//! stack ([`TrampolineState::Counted`]).
//!
//! All code is written through `/proc/PID/mem`, after which the kernel makes the instruction caches
//! coherent (`flush_ptrace_access`).

use super::super::log_ring;
use super::super::trampoline::{
    CannotRelocate, Count, Decision, HitAction, Place, Record, Saved, SavedState, Trampoline,
    TrampolineState, Unmade,
};
use super::super::window::PatchedRange;
use crate::arch::aarch64::assembler::{Assembler, Flag, Label, SP, Size, V, X, ZERO};
use crate::arch::aarch64::{INSTRUCTION_BYTES, own, relocate};
use crate::compile::aarch64::{Exits, MAX_DEPTH, VECTORS, emit_captured, emit_condition};
use crate::compile::{Captured, Condition, SavedRegisters};
use crate::ids::HitCondition;
use dwarf::register::aarch64::PSTATE;
use dwarf::{LoadAddr, Register};
use std::collections::BTreeSet;

/// The condition flags in the pstate.
const FLAGS: u64 = 0xf << 28;
/// The atomic instructions of Armv8.1 (`HWCAP_ATOMICS`).
const ATOMICS: u64 = 1 << 8;
/// Scalable vectors (`HWCAP_SVE`), whose upper part a write of a vector register clears.
const SCALABLE: u64 = 1 << 22;
/// Size of a saved vector in bytes.
const VECTOR: u32 = 16;
/// Maximum size of a scalable vector in bytes.
const SCALABLE_VECTOR: u32 = 256;

/// The end of the values of a record, later their size. Code of values does not write it otherwise.
const RECORD: X = X(7);
/// Further registers for counts and records.
const A: X = X(10);
const B: X = X(11);
const C: X = X(12);
const D: X = X(13);
const E: X = X(14);
const F: X = X(15);
const G: X = X(16);
const H: X = X(17);
/// Registers that every trampoline saves, for the state of floating-point arithmetic and addresses of
/// vectors: none of them is [`RECORD`], which has its value when vectors are restored.
const FLOAT_STATE: (X, X) = (G, H);
/// Registers used to count.
const COUNTING: [X; 3] = [F, G, H];
/// Registers used to write a record.
const SAYING: [X; 9] = [RECORD, A, B, C, D, E, F, G, H];

/// Places on the stack, in bytes from the stack pointer.
struct Frame {
    /// The saved registers in order; the flags are the third.
    saved: Vec<Register>,
    vectors: u32,
    vector_slot: u32,
    /// The control and status registers of floating-point arithmetic.
    control: u32,
    values: u32,
    size: u32,
}

struct Builder {
    asm: Assembler,
    /// The state of each instruction.
    states: Vec<TrampolineState>,
    kept: SavedState,
    frame: Frame,
    general: Vec<X>,
}

impl Builder {
    /// Sets the state of all instructions since the last mark.
    fn mark(&mut self, state: TrampolineState) {
        self.states.resize(self.asm.len(), state);
    }

    fn evaluating(&mut self) {
        self.mark(TrampolineState::Evaluating(self.kept));
    }

    /// Saves the registers.
    fn enter(&mut self, uses_vectors: bool) {
        let asm = &mut self.asm;
        asm.add_number(SP, SP, -i64::from(self.frame.size));
        self.evaluating();
        self.kept.depth = self.frame.size as i32;
        let scratch = self.general[0];
        self.asm.store_pair((scratch, self.general[1]), SP, 0);
        self.evaluating();
        self.kept.saved = 2;
        self.asm.read_flags(scratch);
        let rest = self.general.split_off(2);
        let others = [&[scratch], &rest[..]].concat();
        for (pair, offset) in others.chunks(2).zip((16..).step_by(16)) {
            match pair {
                [first, second] => self.asm.store_pair((*first, *second), SP, offset),
                _ => {
                    self.asm.store(pair[0], SP, offset.into(), Size::WORD);
                }
            }
            self.evaluating();
            self.kept.saved += pair.len();
        }
        self.general.extend(rest);
        if uses_vectors {
            self.for_vectors(Assembler::store_vectors, Assembler::str_scalable);
            let (control, status) = FLOAT_STATE;
            self.asm.read_float_control(control);
            self.asm.read_float_status(status);
            (self.asm).store_pair((control, status), SP, self.frame.control);
            self.evaluating();
            self.kept.vectors = true;
            self.asm.write_float_control(ZERO);
            self.evaluating();
        }
    }

    /// Saves or restores the vector registers.
    fn for_vectors(
        &mut self,
        pair: fn(&mut Assembler, (V, V), X, u32),
        whole: fn(&mut Assembler, V, X),
    ) {
        let (first, slot) = (self.frame.vectors, self.frame.vector_slot);
        if slot == VECTOR {
            for (vectors, offset) in VECTORS.chunks(2).zip((first..).step_by(32)) {
                pair(&mut self.asm, (vectors[0], vectors[1]), SP, offset);
            }
            return;
        }
        let place = FLOAT_STATE.0;
        for (vector, offset) in VECTORS.into_iter().zip((first..).step_by(slot as usize)) {
            self.asm.add_number(place, SP, offset.into());
            whole(&mut self.asm, vector, place);
        }
    }

    fn restore_vectors(&mut self) {
        if self.kept.vectors {
            self.for_vectors(Assembler::load_vectors, Assembler::ldr_scalable);
            let (control, status) = FLOAT_STATE;
            (self.asm).load_pair((control, status), SP, self.frame.control);
            self.asm.write_float_control(control);
            self.asm.write_float_status(status);
        }
    }

    /// Restores the registers. Until the stack pointer moves, their places keep their values.
    fn leave(&mut self) {
        let scratch = self.general[0];
        let others = [&[scratch], &self.general[2..]].concat();
        for (pair, offset) in others.chunks(2).zip((16..).step_by(16)) {
            match pair {
                [first, second] => self.asm.load_pair((*first, *second), SP, offset),
                _ => {
                    self.asm.load(pair[0], SP, offset.into(), Size::WORD);
                }
            }
            if offset == 16 {
                self.asm.write_flags(scratch);
            }
        }
        self.asm.load_pair((scratch, self.general[1]), SP, 0);
        self.asm.add_number(SP, SP, self.frame.size.into());
        self.mark(TrampolineState::Leaving(self.kept));
    }

    /// Counts a hit, and jumps to `leave` unless it stops.
    fn count(&mut self, count: Count, leave: Label, has_atomics: bool) {
        let (failed, at, number) = (F, G, H);
        self.asm.number(at, count.at.0);
        if has_atomics {
            self.asm.number(failed, 1);
            self.asm.ldaddal(failed, number, at);
            self.evaluating();
            self.asm.add_number(number, number, 1);
        } else {
            let again = self.asm.label();
            self.asm.place(again);
            self.asm.ldaxr(number, at);
            self.asm.add_number(number, number, 1);
            self.asm.stlxr(failed, number, at);
            self.evaluating();
            self.repeat(failed, again, Unmade::Evaluating(self.kept));
        }
        self.unless_it_stops(count.hit, number, leave);
        self.mark(TrampolineState::Committing);
    }

    /// Emits the branch that repeats an exclusive sequence.
    fn repeat(&mut self, failed: X, again: Label, unmade: Unmade) {
        self.asm.jump_unless_zero(failed, again);
        let register = Register(failed.0.into());
        self.mark(TrampolineState::Attempted(register, unmade));
    }

    /// Emits a jump to `leave` unless the hit with this number stops.
    fn unless_it_stops(&mut self, hit: HitCondition, number: X, leave: Label) {
        use HitCondition as Hit;
        let (rest, limit) = (F, G);
        let asm = &mut self.asm;
        let wanted = match hit {
            Hit::Once => 1,
            Hit::Exactly(wanted)
            | Hit::AtLeast(wanted)
            | Hit::MoreThan(wanted)
            | Hit::AtMost(wanted)
            | Hit::LessThan(wanted)
            | Hit::Every(wanted) => wanted,
        };
        asm.number(limit, wanted);
        if let Hit::Every(_) = hit {
            asm.udiv(rest, number, limit);
            asm.msub(rest, rest, limit, number);
            return asm.jump_unless_zero(rest, leave);
        }
        asm.compare(number, limit);
        let passes = match hit {
            Hit::Exactly(_) | Hit::Once | Hit::Every(_) => Flag::NotEqual,
            Hit::AtLeast(_) => Flag::Below,
            Hit::MoreThan(_) => Flag::AtMost,
            Hit::AtMost(_) => Flag::Above,
            Hit::LessThan(_) => Flag::AtLeast,
        };
        asm.jump_if(passes, leave);
    }

    /// Takes a record and fills it with the values up to [`RECORD`]; `whose` identifies the site.
    /// It jumps to `full` if there is no room. Until there is a record, the state is `before`, but
    /// for the first instructions of a hit that is counted.
    fn say(&mut self, whose: LoadAddr, ring: LoadAddr, (full, before): (Label, Unmade)) {
        let (values, slots, at, tail_at) = (A, B, C, D);
        let asm = &mut self.asm;
        asm.add_number(values, SP, self.frame.values.into());
        asm.sub(RECORD, RECORD, values);
        const ROUNDED: i64 = log_ring::VALUES as i64 + log_ring::SLOT as i64 - 1;
        asm.add_number(slots, RECORD, ROUNDED);
        asm.shift_right(slots, slots, log_ring::SLOT.trailing_zeros(), false);
        asm.number(at, ring.0);
        asm.add_number(tail_at, at, log_ring::TAIL.into());
        asm.number(H, log_ring::COUNT);
        match before {
            Unmade::Evaluating(kept) => self.mark(TrampolineState::Evaluating(kept)),
            Unmade::Counted(..) => self.mark(TrampolineState::Committing),
        }
        let (again, copy, copied) = (self.asm.label(), self.asm.label(), self.asm.label());
        let (failed, head, next) = (E, F, G);
        let asm = &mut self.asm;
        asm.place(again);
        asm.ldar(failed, tail_at);
        asm.ldaxr(head, at);
        asm.add(next, head, slots);
        asm.sub(failed, next, failed);
        asm.compare(failed, H);
        asm.jump_if(Flag::Above, full);
        // The head is the first word (`log_ring::HEAD`).
        asm.stlxr(failed, next, at);
        self.mark(before.into());
        self.repeat(failed, again, before);
        // The record is taken from here on, and the reader waits for it.
        let (record, bytes, left, word) = (G, D, H, E);
        let asm = &mut self.asm;
        asm.extract(record, head, (0, log_ring::COUNT.trailing_zeros()), false);
        asm.shift_left(record, record, log_ring::SLOT.trailing_zeros());
        asm.add(record, record, at);
        asm.add_number(record, record, log_ring::RECORDS.into());
        asm.add_number(bytes, record, log_ring::VALUES.into());
        asm.copy(left, RECORD);
        asm.place(copy);
        asm.subs_number(left, left, 8);
        asm.jump_if(Flag::Below, copied);
        asm.load_indexed(word, values, left, Size::WORD);
        asm.store_indexed(word, bytes, left, Size::WORD);
        asm.jump(copy);
        asm.place(copied);
        asm.store(RECORD, record, 16, Size::WORD);
        asm.number(word, whose.0);
        asm.store(word, record, 8, Size::WORD);
        asm.add_number(head, head, 1);
        asm.stlr(head, record);
        self.mark(TrampolineState::Committing);
    }
}

/// Returns the places on the stack.
fn frame(general: &[X], vectors: bool, values: usize, capabilities: u64) -> Frame {
    let mut saved: Vec<Register> = general.iter().map(|it| Register(it.0.into())).collect();
    saved.insert(2, PSTATE);
    // The control registers come first, within reach of a pair.
    let control = (8 * saved.len() as u32).next_multiple_of(16);
    let start = control + 16;
    let vector_slot = match capabilities & SCALABLE {
        0 => VECTOR,
        _ => SCALABLE_VECTOR,
    };
    let first_value = match vectors {
        true => start + vector_slot * VECTORS.len() as u32,
        false => control,
    };
    Frame {
        saved,
        vectors: start,
        vector_slot,
        control,
        values: first_value,
        size: (first_value + values as u32).next_multiple_of(16),
    }
}

/// Builds a trampoline: [`Trampoline::build`].
pub fn build(
    capabilities: u64,
    place: Place,
    window: &PatchedRange,
    decision: Decision<'_>,
    then: HitAction<'_>,
) -> Result<Trampoline, CannotRelocate> {
    let Place { start, site, .. } = place;
    let (count, say) = match then {
        HitAction::Pass | HitAction::Stop => (None, None),
        HitAction::Count(count) => (Some(count), None),
        HitAction::Say {
            message,
            ring,
            count,
        } => (count, Some((message, ring))),
        HitAction::CountAll(_) | HitAction::Trace(_) => return Err(CannotRelocate),
    };
    let mut used = BTreeSet::from([FLOAT_STATE.0.0, FLOAT_STATE.1.0]);
    let number = |register: Register| register.0 as u8;
    let clobbered = decision.conditions().flat_map(Condition::clobbers);
    used.extend(clobbered.map(number));
    if count.is_some() {
        used.extend(COUNTING.map(|it| it.0));
    }
    if let Some((message, _)) = say {
        used.extend(SAYING.map(|it| it.0));
        let values = message.values().flat_map(Captured::clobbers);
        used.extend(values.map(number));
    }
    let general: Vec<X> = used.iter().copied().map(X).collect();
    let vectors = decision.conditions().any(Condition::uses_vectors)
        || say.is_some_and(|(message, _)| message.values().any(Captured::uses_vectors));
    let size = say.map_or(0, |(message, _)| message.size());
    let frame = frame(&general, vectors, size, capabilities);
    if i64::from(frame.size) >= MAX_DEPTH {
        return Err(CannotRelocate);
    }
    let mut it = Builder {
        asm: Assembler::default(),
        states: Vec::new(),
        kept: SavedState::default(),
        frame,
        general,
    };
    it.enter(vectors);
    let outcomes = Exits::new(&mut it.asm);
    let (leave, full) = (it.asm.label(), it.asm.label());
    let mut saved = SavedRegisters {
        stack_pointer: it.frame.size as i32,
        vectors: it.frame.vectors as i32,
        vector_slot: it.frame.vector_slot as i32,
        ..SavedRegisters::default()
    };
    for (register, place) in it.frame.saved.iter().zip((0..).step_by(8)) {
        if let Some(slot) = saved.general.get_mut(usize::from(register.0)) {
            *slot = place;
        }
    }
    if let Some(end) = decision.end {
        let next = it.asm.label();
        let to = Exits {
            yes: outcomes.deopt,
            no: match then {
                HitAction::Pass => outcomes.no,
                _ => next,
            },
            deopt: outcomes.deopt,
        };
        emit_condition(end, &mut it.asm, &saved, to);
        it.asm.place(next);
        it.evaluating();
        saved.written = end.clobbers().fold(0, |all, it| all | 1 << it.0);
    }
    if let Some(condition) = decision.condition {
        emit_condition(condition, &mut it.asm, &saved, outcomes);
        it.evaluating();
    }
    it.asm.place(outcomes.yes);
    if let Some((message, _)) = say {
        it.asm.add_number(RECORD, SP, it.frame.values.into());
        // The condition and the earlier values may have changed these registers.
        saved.written = used.iter().fold(0, |all, number| all | 1 << number);
        for value in message.values() {
            emit_captured(value, &mut it.asm, &saved, RECORD, outcomes.deopt);
        }
        it.evaluating();
    }
    let evaluated = it.kept;
    if count.is_some() || say.is_some() {
        it.restore_vectors();
        it.evaluating();
        it.kept.vectors = false;
    }
    let mut stop = None;
    if let Some(count) = count {
        it.count(count, leave, capabilities & ATOMICS != 0);
    }
    if let Some((_, ring)) = say {
        let record = Record {
            offset: it.frame.values as i32,
            size: Register(RECORD.0.into()),
        };
        let no_room = match count {
            Some(_) => (full, Unmade::Counted(record, it.kept)),
            // The vector registers are restored twice then.
            None => (outcomes.deopt, Unmade::Evaluating(it.kept)),
        };
        it.say(start, ring, no_room);
        it.asm.jump(leave);
    }
    if count.is_some() {
        it.asm.place(full);
        stop = Some(it.asm.len());
        it.asm.trap();
        it.asm.jump(leave);
    }
    it.mark(TrampolineState::Committing);
    it.kept = evaluated;
    it.asm.place(outcomes.deopt);
    let restorer = it.kept.vectors.then_some(it.asm.len());
    it.restore_vectors();
    it.mark(TrampolineState::Inside);
    it.kept.vectors = false;
    let deopt = it.asm.len();
    it.asm.trap();
    it.evaluating();
    // After the trap there may be nothing to restore; the saved values are still there.
    it.kept = evaluated;
    it.asm.place(outcomes.no);
    it.restore_vectors();
    it.mark(TrampolineState::Inside);
    it.kept.vectors = false;
    it.asm.place(leave);
    it.leave();
    let kept = it.kept;
    let at = |index: usize| start + (index * INSTRUCTION_BYTES) as u64;
    let depth = u64::from(it.frame.size);
    let saved = it.frame.saved.iter().zip((0..).step_by(8));
    let saved = saved.map(|(register, place)| Saved {
        register: *register,
        below: depth - place,
        bits: if *register == PSTATE { FLAGS } else { u64::MAX },
    });
    let mut trampoline = Trampoline {
        start,
        bytes: bytes_of(it.asm.finish().ok_or(CannotRelocate)?),
        states: offsets().zip(it.states).collect(),
        deopt: at(deopt),
        stop: stop.map(at),
        restorer: restorer.map(at),
        saved: saved.collect(),
        kept,
        copies: Vec::new(),
    };
    add_copies(&mut trampoline, site, window)?;
    Ok(trampoline)
}

fn offsets() -> impl Iterator<Item = u32> {
    (0..).step_by(INSTRUCTION_BYTES)
}

fn bytes_of(words: Vec<u32>) -> Vec<u8> {
    words.into_iter().flat_map(u32::to_le_bytes).collect()
}

/// Emits the relocated instruction and the jump back.
fn add_copies(
    it: &mut Trampoline,
    site: LoadAddr,
    window: &PatchedRange,
) -> Result<(), CannotRelocate> {
    let mut next = site;
    for instruction in &window.instructions {
        let here = it.start + it.bytes.len() as u64;
        let code = own(instruction).ok_or(CannotRelocate)?;
        let (words, goes_to) = relocate::copy(code, here).ok_or(CannotRelocate)?;
        it.copies.push((instruction.addr, here));
        // An instruction relocated to several can be left only at its end; one that is only a jump
        // is the jump at the end.
        let states = [TrampolineState::InRelocated(instruction.addr)]
            .into_iter()
            .chain(std::iter::repeat(TrampolineState::Inside));
        let from = it.bytes.len() as u32;
        let places = offsets().map(|offset| from + offset);
        it.states.extend(places.zip(states).take(words.len()));
        it.bytes.extend(bytes_of(words));
        next = LoadAddr(goes_to);
    }
    let here = it.start + it.bytes.len() as u64;
    let jump = relocate::jump_patch(here, next).ok_or(CannotRelocate)?;
    let is_copy = it.copies.last().is_some_and(|(_, copy)| *copy == here);
    let state = match is_copy {
        true => window.instructions.last().map_or(next, |last| last.addr),
        false => next,
    };
    let state = TrampolineState::InRelocated(state);
    it.states.push((it.bytes.len() as u32, state));
    it.bytes.extend(jump);
    Ok(())
}
