//! The code that a jump leads to: it saves the registers that it uses, evaluates the condition, and
//! continues with the relocated instructions, or traps. A thread in it is shown where the program
//! would be without it ([`Trampoline::state`]).

use super::call_paths::PathSite;
use super::log_ring::{MAX_RECORD_VALUE_BYTES, Message};
use super::marks::MarkSite;
use super::trace_area::Layout;
use super::window::PatchedRange;
use super::{aarch64, x86_64};
use crate::arch::Arch;
use crate::arch::body::Leaving;
use crate::compile::{Condition, Measured, Traced};
use crate::ids::HitCondition;
use crate::os::{Backend, RegisterSet};
use dwarf::{LoadAddr, Register};

/// The processor that the code is for.
#[derive(Clone, Copy, Debug)]
pub struct Processor {
    /// Its instruction set.
    pub arch: Arch,
    /// What it has besides, as the kernel tells programs (`AT_HWCAP`).
    pub capabilities: u64,
}

/// A hit counter and the hits to stop at.
#[derive(Clone, Copy, Debug)]
pub struct Count {
    /// Address of the counter.
    pub at: LoadAddr,
    /// The hits to stop at.
    pub hit: HitCondition,
}

/// Where a trampoline is, and the jump to it.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Its first address.
    pub start: LoadAddr,
    /// The jump.
    pub site: LoadAddr,
    /// The address behind memory of [`OWN_STACK`] bytes, close to it, that it uses in place of the
    /// program's stack; only for programs with one thread.
    pub own_stack: Option<LoadAddr>,
}

/// Size in bytes of the memory that trampolines use in place of the program's stack.
pub const OWN_STACK: u64 = 512;

impl Place {
    /// Returns the place of a trampoline that uses the program's stack.
    pub fn new(start: LoadAddr, site: LoadAddr) -> Self {
        Self {
            start,
            site,
            own_stack: None,
        }
    }
}

/// What decides about a hit.
#[derive(Clone, Copy, Default, Debug)]
pub struct Decision<'a> {
    /// Trap if this holds: a search ends here. It comes first.
    pub end: Option<&'a Condition>,
    /// The condition of the breakpoint.
    pub condition: Option<&'a Condition>,
    /// The address of a word that counts the hits at which the condition is false; see
    /// [`Trampoline::can_count_passes`].
    pub passes: Option<LoadAddr>,
}

impl<'a> Decision<'a> {
    /// Returns all conditions, in order.
    pub(super) fn conditions(self) -> impl Iterator<Item = &'a Condition> {
        [self.end, self.condition].into_iter().flatten()
    }
}

impl<'a> From<Option<&'a Condition>> for Decision<'a> {
    fn from(condition: Option<&'a Condition>) -> Self {
        Self {
            condition,
            ..Self::default()
        }
    }
}

/// Maximum number of breakpoints whose hits one trampoline counts.
pub const MAX_COUNTED: usize = 8;

/// A breakpoint whose hits are only counted.
#[derive(Clone, Debug)]
pub struct Counted {
    /// Its condition.
    pub condition: Option<Condition>,
    /// Address of its counter.
    pub at: LoadAddr,
    /// The number of the hit that stops, from 1.
    pub target: Option<u64>,
}

/// The action at a hit whose condition holds.
#[derive(Clone, Copy, Debug)]
pub enum HitAction<'a> {
    /// Go on: there is no breakpoint.
    Pass,
    /// Trap to the debugger.
    Stop,
    /// Count the hit.
    Count(Count),
    /// Count the hits of several breakpoints, at most [`MAX_COUNTED`]; trap before that if one of them
    /// has the number that stops. Only for programs with one thread: another one could count meanwhile.
    CountAll(&'a [Counted]),
    /// Write a record; if hits are counted, only for those that would stop.
    Say {
        message: &'a Message,
        ring: LoadAddr,
        count: Option<Count>,
    },
    /// Add the hit to the tables of a tracepoint, and write its record.
    Trace(Tracing<'a>),
}

/// What a tracepoint records at a hit, and where.
#[derive(Clone, Copy, Debug)]
pub struct Tracing<'a> {
    /// The compiled query.
    pub traced: &'a Traced,
    /// The layout of the memory.
    pub layout: &'a Layout,
    /// Its address.
    pub area: LoadAddr,
    /// Where the thread's number is: at this offset in bytes from the thread pointer.
    pub thread: Option<i32>,
    /// The paths of calls, if they are recorded: it is known then where the thread's number is.
    pub paths: Option<PathSite>,
    /// The passes of other places since which the query measures times, in its order; of a mark, its
    /// own passes.
    pub marks: &'a [MarkSite],
    /// The processor's clock when the tracepoint was set.
    pub begun: u64,
    /// Whether a call begins or ends.
    pub moment: Moment<'a>,
}

/// What happens at a site of a tracepoint.
#[derive(Clone, Copy, Debug)]
pub enum Moment<'a> {
    /// A hit, which is recorded.
    Hit,
    /// A call begins, in the frame at this address: its values are kept until it returns.
    Enter(&'a Measured),
    /// The call in the frame at this address returns, and is recorded.
    Leave(&'a Measured, Leaving),
    /// A call in the frame at this address begins and returns, and is recorded.
    Pass(&'a Measured, Leaving),
    /// A pass, whose time is kept for other tracepoints.
    Mark,
}

impl<'a> Moment<'a> {
    /// Returns the address of the frame of a call.
    pub fn frame(self) -> Option<&'a Measured> {
        match self {
            Moment::Hit | Moment::Mark => None,
            Moment::Enter(frame) | Moment::Leave(frame, _) | Moment::Pass(frame, _) => Some(frame),
        }
    }

    /// Returns whether the result of the call is not known here: another function returns it.
    pub fn lacks_result(self) -> bool {
        match self {
            Moment::Hit | Moment::Mark | Moment::Enter(_) => false,
            Moment::Leave(_, how) | Moment::Pass(_, how) => how != Leaving::Return,
        }
    }
}

/// The state of a thread that is about to execute an instruction of a trampoline.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TrampolineState {
    /// No side effect yet: the evaluation may start again.
    Evaluating(SavedState),
    /// A hit has been counted, or its record has been begun: it is single-stepped to the end of that.
    Committing,
    /// A store that commits was tried: if this register is zero, it was made. Else the thread is
    /// about to repeat it.
    Attempted(Register, Unmade),
    /// A hit has been counted, but there is no record yet. The thread cannot be single-stepped: its
    /// store would fail each time.
    Counted(Record, SavedState),
    /// The hit does not stop.
    Leaving(SavedState),
    /// The copy of the instruction at this address, or the instruction itself, is next.
    InRelocated(LoadAddr),
    /// In the middle of an instruction that was relocated to several, or of code that restores
    /// registers: it is single-stepped to the end of that.
    Inside,
}

/// The state of a thread whose store was not made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unmade {
    /// See [`TrampolineState::Evaluating`].
    Evaluating(SavedState),
    /// See [`TrampolineState::Counted`].
    Counted(Record, SavedState),
}

impl From<Unmade> for TrampolineState {
    fn from(unmade: Unmade) -> Self {
        match unmade {
            Unmade::Evaluating(kept) => TrampolineState::Evaluating(kept),
            Unmade::Counted(record, kept) => TrampolineState::Counted(record, kept),
        }
    }
}

/// The values for a record, on the stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Record {
    /// Their offset in bytes from the stack pointer.
    pub offset: i32,
    /// The register with their size in bytes.
    pub size: Register,
}

/// The part of the program's state that is saved on the stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SavedState {
    /// Bytes of stack in use by the trampoline: the program's stack pointer is this far above. On its
    /// own stack, that is kept there.
    pub(super) depth: i32,
    /// Whether the trampoline has a stack of its own.
    pub(super) is_on_own_stack: bool,
    /// The number of the trampoline's saved registers on the stack.
    pub(super) saved: usize,
    /// Whether vector registers are saved, at the stack pointer if the debugger is to restore them.
    pub vectors: bool,
}

/// An instruction cannot be encoded at its new address.
#[derive(Debug)]
pub struct CannotRelocate;

/// A trampoline to be written at its address.
#[derive(Debug)]
pub struct Trampoline {
    /// Its first address.
    pub start: LoadAddr,
    /// Its code.
    pub bytes: Vec<u8>,
    /// The states of threads, each from an offset on.
    pub(super) states: Vec<(u32, TrampolineState)>,
    /// The saved registers, in the order in which they are saved.
    pub(super) saved: Vec<Saved>,
    /// Address of the trap for a deopt.
    pub deopt: LoadAddr,
    /// Address of the trap for hits that stop.
    pub stop: Option<LoadAddr>,
    /// Address of code that restores the vector registers and leads to the trap for a deopt, where
    /// only the program can restore them. It depends on nothing but the stack pointer.
    pub restorer: Option<LoadAddr>,
    /// The saved state at these traps.
    pub(super) kept: SavedState,
    /// Addresses of the covered instructions and of their copies.
    pub(super) copies: Vec<(LoadAddr, LoadAddr)>,
}

/// A saved register.
#[derive(Clone, Copy, Debug)]
pub(super) struct Saved {
    pub(super) register: Register,
    /// Distance in bytes of its place below the program's stack pointer.
    pub(super) below: u64,
    /// The bits that are saved.
    pub(super) bits: u64,
}

impl Trampoline {
    /// Builds a trampoline for a jump that covers `window`.
    ///
    /// # Errors
    /// An instruction cannot be relocated.
    pub fn build(
        processor: Processor,
        place: Place,
        window: &PatchedRange,
        decision: Decision<'_>,
        then: HitAction<'_>,
    ) -> Result<Trampoline, CannotRelocate> {
        match processor.arch {
            Arch::X86_64 => x86_64::trampoline::build(place, window, decision, then),
            Arch::Aarch64 => {
                let capabilities = processor.capabilities;
                aarch64::trampoline::build(capabilities, place, window, decision, then)
            }
            #[cfg(test)]
            Arch::Fixed => Err(CannotRelocate),
        }
    }

    /// Returns whether [`HitAction::CountAll`] is there for an instruction set.
    pub fn can_count_all(arch: Arch) -> bool {
        arch == Arch::X86_64
    }

    /// Returns whether trampolines of an instruction set can count the hits at which a condition is false.
    pub fn can_count_passes(arch: Arch) -> bool {
        arch == Arch::X86_64
    }

    /// Returns whether trampolines of an instruction set can have a stack of their own.
    pub fn can_have_own_stack(arch: Arch) -> bool {
        arch == Arch::X86_64
    }

    /// Returns the addresses of its traps.
    pub fn traps(&self) -> impl Iterator<Item = LoadAddr> {
        [Some(self.deopt), self.stop].into_iter().flatten()
    }

    /// Returns the saved state at its traps.
    pub fn kept(&self) -> SavedState {
        self.kept
    }

    /// Returns the state of a thread at `pc`.
    pub fn state(&self, pc: LoadAddr) -> Option<TrampolineState> {
        let offset = pc - self.start;
        if offset >= self.bytes.len() as u64 {
            return None;
        }
        let next = self
            .states
            .partition_point(|(from, _)| u64::from(*from) <= offset);
        self.states
            .get(next.checked_sub(1)?)
            .map(|(_, state)| *state)
    }

    /// Returns the state of a thread with these registers: like [`Self::state`], and decided where a
    /// register decides it.
    pub fn state_of(&self, raw: &RegisterSet) -> Option<TrampolineState> {
        Some(match self.state(raw.pc())? {
            TrampolineState::Attempted(failed, unmade) => match raw.get(failed)? {
                0 => TrampolineState::Committing,
                _ => unmade.into(),
            },
            state => state,
        })
    }

    /// Returns the values for a record of a thread that has none yet.
    pub fn values(&self, raw: &RegisterSet, record: Record, os: &dyn Backend) -> Option<Vec<u8>> {
        let size = usize::try_from(raw.get(record.size)?).ok()?;
        let mut values = vec![0; size.min(MAX_RECORD_VALUE_BYTES)];
        let at = raw.sp().wrapping_add(record.offset as u64);
        (os.read_memory(LoadAddr(at), &mut values) == values.len()).then_some(values)
    }

    /// Returns the program's registers of a thread with some of them on the stack.
    pub fn registers(
        &self,
        raw: &RegisterSet,
        kept: SavedState,
        read: impl Fn(LoadAddr) -> Option<u64>,
    ) -> Option<RegisterSet> {
        let mut registers = *raw;
        let sp = raw.sp().wrapping_add(kept.depth as u64);
        for saved in self.saved.iter().take(kept.saved) {
            let word = read(LoadAddr(sp.wrapping_sub(saved.below)))?;
            let others = raw.get(saved.register).unwrap_or(0) & !saved.bits;
            registers.set(saved.register, word & saved.bits | others);
        }
        registers.set_sp(match kept.is_on_own_stack {
            true => read(LoadAddr(sp))?,
            false => sp,
        });
        Some(registers)
    }

    /// Returns the copy of the covered instruction at an address.
    pub fn copy_of(&self, addr: LoadAddr) -> Option<LoadAddr> {
        let copy = self.copies.iter().find(|(original, _)| *original == addr);
        copy.map(|(_, copy)| *copy)
    }
}
