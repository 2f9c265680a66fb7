//! A decoded instruction, as the layers above see it.

use super::copies::{Copying, Held};
#[cfg(test)]
use super::fixed;
use super::{MAX_BREAKPOINT_BYTES, RegisterFile, aarch64, x86_64};
use dwarf::{LoadAddr, Memory, Register};

/// A decoded instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Instruction {
    /// Its address.
    pub addr: LoadAddr,
    /// Where execution continues.
    pub flow: Flow,
    len: u8,
    code: Code,
}

/// The instruction as its set has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Code {
    X86_64(x86_64::Decoded),
    Aarch64(aarch64::Decoded),
    #[cfg(test)]
    Fixed(fixed::Decoded),
}

/// Where execution continues after an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Flow {
    /// Behind it.
    Next,
    Jump(LoadAddr),
    /// At the target, or behind it.
    ConditionalJump(LoadAddr),
    IndirectJump(TargetSource),
    Call(LoadAddr),
    IndirectCall(TargetSource),
    Return,
    /// In the kernel, then behind it.
    SystemCall,
    /// A trap that is part of the program, then behind it.
    Interrupt,
    /// Behind it, or at the address where a failed hardware transaction continues.
    Transaction(Option<LoadAddr>),
    /// Nowhere: the instruction always faults.
    Fault,
}

/// Where an indirect jump or call takes its target from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TargetSource {
    /// The word at this address, whatever the registers are.
    Word(LoadAddr),
    /// A word at a fixed offset from a register, as in an object or a vtable.
    Object,
    /// A register, or an element of a table.
    Computed,
}

/// The registers after an instruction that was emulated.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Emulated<R> {
    pub registers: R,
    /// A word of memory that has to be written for it: an address, and the value.
    pub store: Option<(LoadAddr, u64)>,
}

/// An instruction relocated to another address: its bytes, then a jump to where it continues.
pub(crate) struct Relocated {
    /// All bytes.
    pub bytes: Vec<u8>,
    /// Offset of the jump: at that pc the instruction is done.
    pub jump: usize,
    /// Target of the jump.
    pub next: LoadAddr,
}

/// A copy of an exclusive sequence, which a thread executes in one go: once, up to a trap.
pub(crate) struct SequenceCopy {
    /// All bytes.
    pub bytes: Vec<u8>,
    /// Its traps, in the order of where they lead.
    pub exits: Vec<SequenceExit>,
}

/// A trap where a copy of an exclusive sequence is left, or the sequence begins again.
pub(crate) struct SequenceExit {
    /// Offset of the trap.
    pub offset: usize,
    /// The jump that it stands for.
    pub jump: [u8; MAX_BREAKPOINT_BYTES],
    /// The address where the program continues.
    pub next: LoadAddr,
}

/// A memory operand.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access {
    /// Its address before the instruction.
    pub at: u64,
    /// Size in bytes; 0 if it varies.
    pub size: u64,
    /// Whether it is written.
    pub write: bool,
    /// The base register, and the operand's offset from its value.
    pub base: Option<(Register, i64)>,
    /// Whether the address has no index register.
    pub is_plain: bool,
}

/// The operand of an instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Operand {
    Value(u64),
    /// The given number of bytes in memory.
    Memory(LoadAddr, u64),
}

/// A chain of loads that produced a register's value: from `root`, then at an offset from each
/// loaded address.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct PointerChain {
    /// An address in the frame or in an image.
    pub root: u64,
    /// Offset added to each loaded address.
    pub offsets: Vec<i64>,
}

/// Evaluates an expression with `$set` as the module of an instruction's set, and `$code` as what
/// that decoded.
macro_rules! in_set_of {
    ($instruction:expr, $set:ident, $code:ident => $value:expr) => {
        match &$instruction.code {
            Code::X86_64($code) => {
                use super::x86_64 as $set;
                $value
            }
            Code::Aarch64($code) => {
                use super::aarch64 as $set;
                $value
            }
            #[cfg(test)]
            Code::Fixed($code) => {
                use super::fixed as $set;
                $value
            }
        }
    };
}

impl Instruction {
    pub(super) fn new(addr: LoadAddr, len: usize, flow: Flow, code: Code) -> Self {
        Self {
            addr,
            flow,
            len: len as u8,
            code,
        }
    }

    /// Returns what the set decoded.
    pub(super) fn code(&self) -> &Code {
        &self.code
    }

    /// Returns its length in bytes.
    pub fn len(&self) -> usize {
        usize::from(self.len)
    }

    /// Returns the address behind it.
    pub fn next(&self) -> LoadAddr {
        LoadAddr(self.addr.0.wrapping_add(u64::from(self.len)))
    }

    /// Returns whether it is a call, which sets a return address.
    pub fn is_call(&self) -> bool {
        matches!(self.flow, Flow::Call(_) | Flow::IndirectCall(_))
    }

    /// Returns whether it is a return.
    pub fn is_return(&self) -> bool {
        self.flow == Flow::Return
    }

    /// Returns whether it does nothing but restore the caller's stack pointer or a register that belongs
    /// to the caller: results are not changed.
    pub fn releases_frame(&self) -> bool {
        in_set_of!(self, set, code => set::decode::releases_frame(code))
    }

    /// Returns the target of a direct jump or call.
    pub fn direct_target(&self) -> Option<LoadAddr> {
        match self.flow {
            Flow::Jump(target) | Flow::ConditionalJump(target) | Flow::Call(target) => Some(target),
            Flow::Transaction(target) => target,
            _ => None,
        }
    }

    /// Returns the target of an indirect jump or call through a word of its image, which does not
    /// depend on registers.
    pub fn fixed_target(&self, memory: &dyn Memory) -> Option<LoadAddr> {
        memory.read_uint(self.word_of_jump()?, 8).ok().map(LoadAddr)
    }

    /// Returns the word that an indirect jump or call names itself.
    pub(super) fn word_of_jump(&self) -> Option<LoadAddr> {
        match self.flow {
            Flow::IndirectJump(TargetSource::Word(word))
            | Flow::IndirectCall(TargetSource::Word(word)) => Some(word),
            _ => None,
        }
    }

    /// Returns the target of a jump or call from the registers before it.
    pub fn target(&self, registers: &impl RegisterFile, memory: &dyn Memory) -> Option<LoadAddr> {
        match self.flow {
            Flow::IndirectJump(_) | Flow::IndirectCall(_) => {
                in_set_of!(self, set, code => set::decode::target(code, registers, memory))
            }
            _ => self.direct_target(),
        }
    }

    /// Returns the registers after an instruction that is cheaper to emulate than to step
    /// elsewhere, or cannot be relocated: a return, a jump, a nop, an indirect call. `None` for all
    /// others, and if its operand cannot be read.
    pub fn emulate<R: RegisterFile>(
        &self,
        registers: &R,
        memory: &dyn Memory,
    ) -> Option<Emulated<R>> {
        in_set_of!(self, set, code => set::relocate::emulate(code, registers, memory))
    }

    /// Returns code for `pad` with the effect of the instruction at its address; `None` if that is
    /// impossible: it is too far away, or an indirect call.
    pub fn relocate(&self, pad: LoadAddr) -> Option<Relocated> {
        in_set_of!(self, set, code => set::relocate::relocate(code, pad))
    }

    /// Returns whether a single step executes the whole instruction, promptly, and with the same
    /// effect.
    pub fn can_be_stepped(&self) -> bool {
        in_set_of!(self, set, code => set::decode::can_be_stepped(code))
    }

    /// Returns whether it writes a word below the stack pointer and moves that there: functions which use the stack
    /// below it have no such instruction.
    #[allow(dead_code, reason = "only some machines record")]
    pub fn pushes(&self) -> bool {
        in_set_of!(self, set, code => set::decode::pushes(code))
    }

    /// Returns whether it repeats itself as often as a register says: a thread may stop between two
    /// repetitions, but hits a trap at it only once.
    pub fn is_repeated(&self) -> bool {
        in_set_of!(self, set, code => set::repeat::is_repeated(code))
    }

    /// Returns how many repetitions may lead from these registers at it to those; `None`: it cannot, or is
    /// not repeated.
    pub fn repetitions<R: RegisterFile>(&self, from: &R, to: &R) -> Option<u64> {
        in_set_of!(self, set, code => set::repeat::repetitions(code, from, to))
    }

    /// Returns the repetitions that are left.
    pub fn repetitions_left(&self, registers: &impl RegisterFile) -> Option<u64> {
        registers.get(in_set_of!(self, set, _code => set::repeat::COUNT))
    }

    /// Changes the repetitions that are left. Returns false if it is not repeated.
    pub fn set_repetitions(&self, registers: &mut impl RegisterFile, left: u64) -> bool {
        registers.set(in_set_of!(self, set, _code => set::repeat::COUNT), left)
    }

    /// Returns whether it has ended before all repetitions, or might have, by the registers behind it: the
    /// values that it compares have decided.
    pub fn has_ended_repeating(&self, behind: &impl RegisterFile) -> bool {
        in_set_of!(self, set, code => set::repeat::has_ended(code, behind))
    }

    /// Returns whether it compares values repeatedly. Between two repetitions, the flags are those of before
    /// the instruction on some processors, and those of the last comparison on others.
    pub fn compares_repeatedly(&self) -> bool {
        in_set_of!(self, set, code => set::repeat::compares(code))
    }

    /// Returns whether it may write to memory through an operand.
    pub fn may_store(&self) -> bool {
        in_set_of!(self, set, code => set::decode::may_store(code))
    }

    /// Returns whether an indirect call faults unless it finds this instruction, or a trap, at its
    /// target: no jump can replace it.
    pub fn must_stay_in_place(&self) -> bool {
        in_set_of!(self, set, code => set::decode::must_stay_in_place(code))
    }

    /// Returns whether compilers use it where execution must not continue.
    pub fn is_compiler_trap(&self) -> bool {
        in_set_of!(self, set, code => set::decode::is_compiler_trap(code))
    }

    /// Returns why the processor has refused to execute it as an illegal one, if the registers before
    /// it say so.
    pub fn refusal(&self, registers: &impl RegisterFile) -> Option<&'static str> {
        in_set_of!(self, set, code => set::decode::refusal(code, registers))
    }

    /// Returns the address of a memory operand that is relative to the pc.
    pub fn operand_near_pc(&self) -> Option<LoadAddr> {
        in_set_of!(self, set, code => set::decode::operand_near_pc(code))
    }

    /// Returns its mnemonic in lower case.
    pub fn mnemonic(&self) -> String {
        in_set_of!(self, set, code => set::decode::mnemonic(code))
    }

    /// Returns its memory operands; it has not been executed yet.
    pub fn accesses(&self, registers: &impl RegisterFile) -> Vec<Access> {
        in_set_of!(self, set, code => set::access::accesses(code, registers))
    }

    /// Returns the part of a frame that it accesses, or computes the address of: the offset in bytes from the
    /// register `base`, without what another register adds, and the size (1 of an address).
    pub fn part_of_frame(&self, base: Register) -> Option<(i64, u64)> {
        in_set_of!(self, set, code => set::access::part_of_frame(code, base))
    }

    /// Returns whether it may set a register, or a part of it.
    pub fn sets(&self, register: Register) -> bool {
        in_set_of!(self, set, code => set::copies::sets(code, register))
    }

    /// Returns where bytes of a register were before it, by the registers before it.
    pub fn loaded(&self, wanted: Held, before: &impl RegisterFile) -> Copying {
        in_set_of!(self, set, code => set::copies::loaded(code, wanted, before))
    }

    /// Returns where bytes of memory were before it, if it has just stored there, by the registers behind it.
    pub fn stored(&self, wanted: Held, behind: &impl RegisterFile) -> Copying {
        in_set_of!(self, set, code => set::copies::stored(code, wanted, behind))
    }

    /// Returns the divisor of an integer division.
    pub fn divisor(&self, registers: &impl RegisterFile) -> Option<Operand> {
        in_set_of!(self, set, code => set::access::divisor(code, registers))
    }
}
