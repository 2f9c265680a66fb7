//! Instruction sets, behind one seam: an [`Arch`] is a value, and selects the functions of its
//! folder. All folders have the same files and functions. Pure functions, without processes.

pub(crate) mod aarch64;
pub(crate) mod body;
mod convention;
mod copies;
#[cfg(test)]
pub(crate) mod fixed;
pub(crate) mod flow;
mod instruction;
mod no_copies;
mod no_repetitions;
mod no_sequences;
mod registers;
mod simulation;
mod text;
pub(crate) mod watch;
pub(crate) mod x86_64;

pub(crate) use convention::{
    Composites, Convention, Landing, PointerGuard, TlsTemplate, VirtualBit,
};
pub(crate) use copies::{Copying, Held, Holder};
pub(crate) use instruction::{
    Access, Flow, Instruction, Operand, PointerChain, SequenceCopy, SequenceExit, TargetSource,
};
pub use registers::ExtendedRegisters;
pub(crate) use registers::Part;
pub(crate) use simulation::Simulation;
pub use text::Flavor;
pub(crate) use text::Formatter;

use dwarf::{FileAddr, HeuristicUnwind, LoadAddr, Machine, Memory, Module, Register};
use std::ops::Range;

/// Maximum length in bytes of an instruction of any set.
pub(crate) const MAX_INSTRUCTION_BYTES: usize = 15;
/// Maximum length in bytes of the breakpoint instruction of any set.
pub(crate) const MAX_BREAKPOINT_BYTES: usize = 4;
/// Maximum length in bytes of the jump of a fast breakpoint of any set.
pub(crate) const MAX_JUMP_BYTES: usize = 5;

/// A jump to itself, in the set of processes on this machine.
pub(crate) const SPIN_LOOP: [u8; SPIN_LOOP_BYTES] = match Arch::HOST.spin_loop().first_chunk() {
    Some(bytes) => *bytes,
    None => unreachable!(),
};
/// Its length in bytes.
pub const SPIN_LOOP_BYTES: usize = Arch::HOST.spin_loop().len();

/// An instruction set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arch {
    /// x86-64
    X86_64,
    /// AArch64
    Aarch64,
    /// Instructions of four bytes, for tests.
    #[cfg(test)]
    Fixed,
}

/// Evaluates an expression with `$set` as the module of an instruction set.
macro_rules! in_set {
    ($arch:expr, $set:ident => $value:expr) => {
        match $arch {
            $crate::arch::Arch::X86_64 => {
                use $crate::arch::x86_64 as $set;
                $value
            }
            $crate::arch::Arch::Aarch64 => {
                use $crate::arch::aarch64 as $set;
                $value
            }
            #[cfg(test)]
            $crate::arch::Arch::Fixed => {
                use $crate::arch::fixed as $set;
                $value
            }
        }
    };
}
use in_set;

/// A thread's general-purpose registers, as far as instructions need them.
pub trait RegisterFile: Copy {
    /// A register by its DWARF number; `None` if the set does not have it.
    fn get(&self, register: Register) -> Option<u64>;
    /// Changes a register; false if it cannot be written.
    fn set(&mut self, register: Register, value: u64) -> bool;
    /// The stack pointer.
    fn sp(&self) -> u64;
    /// Sets the stack pointer.
    fn set_sp(&mut self, sp: u64);
    /// Sets the program counter.
    fn set_pc(&mut self, pc: LoadAddr);
}

/// The set of processes on this machine.
impl Default for Arch {
    fn default() -> Self {
        Self::HOST
    }
}

impl Arch {
    /// The instruction set of processes on this machine.
    #[cfg(target_arch = "x86_64")]
    pub(crate) const HOST: Arch = Arch::X86_64;
    /// The instruction set of processes on this machine.
    #[cfg(target_arch = "aarch64")]
    pub(crate) const HOST: Arch = Arch::Aarch64;

    /// All instruction sets.
    #[cfg(not(test))]
    pub(crate) const ALL: &[Arch] = &[Arch::X86_64, Arch::Aarch64];
    /// All instruction sets, with that for tests.
    #[cfg(test)]
    pub(crate) const ALL: &[Arch] = &[Arch::X86_64, Arch::Aarch64, Arch::Fixed];

    /// Returns the name of the set for messages.
    pub(crate) fn name(self) -> &'static str {
        in_set!(self, set => set::NAME)
    }

    /// Returns what `dwarf` calls the set.
    pub(crate) fn machine(self) -> Machine {
        match self {
            Arch::X86_64 => Machine::X86_64,
            Arch::Aarch64 => Machine::Aarch64,
            #[cfg(test)]
            Arch::Fixed => Machine::Other(0),
        }
    }

    /// Returns the instruction set of an image; `None` if it is not supported.
    pub(crate) fn of(machine: Machine) -> Option<Arch> {
        match machine {
            Machine::X86_64 => Some(Arch::X86_64),
            Machine::Aarch64 => Some(Arch::Aarch64),
            Machine::Other(_) => None,
        }
    }

    /// Returns the instruction set with this number in ELF files (`e_machine`).
    pub(crate) fn of_elf(machine: u16) -> Option<Arch> {
        let is_it = |arch: &&Arch| in_set!(**arch, set => set::ELF_MACHINE) == machine;
        Self::ALL.iter().find(is_it).copied()
    }

    /// Returns the breakpoint instruction.
    pub(crate) fn breakpoint(self) -> &'static [u8] {
        in_set!(self, set => set::BREAKPOINT)
    }

    /// Returns the address of a breakpoint instruction from the pc after its execution.
    pub(crate) fn breakpoint_address(self, pc: LoadAddr) -> LoadAddr {
        in_set!(self, set => LoadAddr(pc.0.wrapping_sub(set::PC_BEHIND_BREAKPOINT)))
    }

    /// Returns the address behind a breakpoint instruction.
    pub(crate) fn behind_breakpoint(self, addr: LoadAddr) -> LoadAddr {
        addr + self.breakpoint().len() as u64
    }

    /// Returns the length in bytes of the jump that makes a breakpoint fast; `None` if the set has
    /// no fast breakpoints, and always traps.
    pub(crate) fn jump_bytes(self) -> Option<usize> {
        in_set!(self, set => set::JUMP_BYTES)
    }

    /// Returns whether that jump may be longer than the instruction that it replaces.
    pub(crate) fn jump_may_be_longer(self) -> bool {
        self.jump_bytes()
            .is_some_and(|bytes| bytes > self.alignment())
    }

    /// Returns that jump, from one address to another; `None` if it is too far away.
    pub(crate) fn jump(self, from: LoadAddr, to: LoadAddr) -> Option<[u8; MAX_JUMP_BYTES]> {
        let mut bytes = [0; MAX_JUMP_BYTES];
        let jump = in_set!(self, set => set::relocate::jump_patch(from, to))?;
        bytes.get_mut(..jump.len())?.copy_from_slice(&jump);
        Some(bytes)
    }

    /// Returns an instruction as long as a breakpoint that does nothing.
    pub(crate) fn nop(self) -> &'static [u8] {
        in_set!(self, set => set::DO_NOTHING)
    }

    /// Returns the target of the jump of a fast breakpoint at `addr`, also if a breakpoint has
    /// already replaced its beginning; `None` if the bytes are neither.
    pub(crate) fn jump_patch_target(self, addr: LoadAddr, bytes: &[u8]) -> Option<LoadAddr> {
        in_set!(self, set => set::relocate::jump_patch_target(addr, bytes))
    }

    /// Returns a jump to itself.
    const fn spin_loop(self) -> &'static [u8] {
        in_set!(self, set => set::SPIN_LOOP)
    }

    /// Returns the instruction that enters the kernel.
    pub(crate) fn system_call_instruction(self) -> &'static [u8] {
        in_set!(self, set => set::SYSTEM_CALL_INSTRUCTION)
    }

    /// Returns the number that all addresses of instructions are multiples of.
    pub(crate) fn alignment(self) -> usize {
        in_set!(self, set => set::ALIGNMENT)
    }

    /// Returns the general-purpose registers.
    pub(crate) fn general_registers(self) -> impl Iterator<Item = Register> {
        (0..in_set!(self, set => set::GENERAL_REGISTERS)).map(Register)
    }

    /// Returns the register of the flags, and the bits of it that the program alone changes.
    pub(crate) fn status_register(self) -> (Register, u64) {
        in_set!(self, set => set::STATUS_REGISTER)
    }

    /// Decodes one instruction; `None` if the bytes are none, or too few.
    ///
    /// In code of an image, `addr` and the addresses of the result are the image's.
    pub(crate) fn decode(self, bytes: &[u8], addr: LoadAddr) -> Option<Instruction> {
        in_set!(self, set => set::decode::decode(bytes, addr))
    }

    /// Reads and decodes the instruction at `addr`.
    pub(crate) fn read(self, memory: &dyn Memory, addr: LoadAddr) -> Option<Instruction> {
        let mut bytes = [0; MAX_INSTRUCTION_BYTES];
        let longest = in_set!(self, set => set::MAX_INSTRUCTION_BYTES);
        // Fewer bytes are readable near the end of a mapping.
        let len = (1..=longest)
            .rev()
            .find(|len| memory.read(addr, &mut bytes[..*len]).is_ok())?;
        self.decode(&bytes[..len], addr)
    }

    /// Returns a decoder of code that begins at `start`.
    pub(crate) fn decoder(self, bytes: &[u8], start: LoadAddr) -> Decoder<'_> {
        match self {
            Arch::X86_64 => Decoder::X86_64(x86_64::decode::Decoder::new(bytes, start)),
            Arch::Aarch64 => Decoder::Aarch64(aarch64::decode::Decoder::new(bytes, start)),
            #[cfg(test)]
            Arch::Fixed => Decoder::Fixed(fixed::decode::Decoder::new(bytes, start)),
        }
    }

    /// Decodes code from `start` on. Where bytes are no instruction, decoding continues behind
    /// them.
    pub(crate) fn decode_all(
        self,
        bytes: &[u8],
        start: LoadAddr,
    ) -> impl Iterator<Item = Result<Instruction, Undecodable>> {
        let mut decoder = self.decoder(bytes, start);
        let mut offset = 0;
        std::iter::from_fn(move || {
            let decoded = decoder.at(offset)?;
            offset += match &decoded {
                Ok(instruction) => instruction.len(),
                Err(bad) => bad.len.max(1),
            };
            Some(decoded)
        })
    }

    /// Returns the size of a pad for a relocated instruction and the jump back.
    pub(crate) fn pad_bytes(self) -> u64 {
        in_set!(self, set => set::relocate::PAD_BYTES as u64)
    }

    /// Returns how far, in bytes, a pad may be from the code that it stands for.
    pub(crate) fn pad_reach(self) -> u64 {
        in_set!(self, set => set::relocate::PAD_REACH)
    }

    /// Returns whether the set has exclusive sequences.
    pub(crate) fn has_exclusive_sequences(self) -> bool {
        in_set!(self, set => set::sequence::PRESENT)
    }

    /// Returns the exclusive sequence around `addr`: from the load that begins it to behind the
    /// branch that repeats it. A stop within makes its store fail. `None`: there is none, or the set
    /// has no such sequences. `code` returns instructions, `None` outside the function.
    pub(crate) fn exclusive_sequence(
        self,
        addr: LoadAddr,
        code: impl FnMut(LoadAddr) -> Option<Instruction>,
    ) -> Option<Range<LoadAddr>> {
        in_set!(self, set => set::sequence::around(addr, code))
    }

    /// Like [`Self::exclusive_sequence`], if one begins at `start`. Reads nothing more otherwise.
    pub(crate) fn exclusive_sequence_at(
        self,
        start: LoadAddr,
        code: impl FnMut(LoadAddr) -> Option<Instruction>,
    ) -> Option<Range<LoadAddr>> {
        in_set!(self, set => set::sequence::starting_at(start, code))
    }

    /// Returns the addresses at which an exclusive sequence is left; `None`: they are not all known.
    pub(crate) fn exits_of_sequence(
        self,
        sequence: Range<LoadAddr>,
        code: impl FnMut(LoadAddr) -> Option<Instruction>,
    ) -> Option<Vec<LoadAddr>> {
        in_set!(self, set => set::sequence::exits(sequence, code))
    }

    /// Returns a copy of an exclusive sequence for `pad`; `None` if that is impossible.
    pub(crate) fn copy_sequence(
        self,
        sequence: Range<LoadAddr>,
        pad: LoadAddr,
        code: impl FnMut(LoadAddr) -> Option<Instruction>,
    ) -> Option<SequenceCopy> {
        in_set!(self, set => set::sequence::copied(sequence, pad, code))
    }

    /// Returns the end of the addresses that a program can map.
    pub(crate) fn end_of_user_space(self) -> u64 {
        in_set!(self, set => set::END_OF_USER_SPACE)
    }

    /// Returns the address in a pointer that the program uses: without the tag that the processor
    /// ignores, or compares with that of the memory.
    #[inline]
    pub(crate) const fn untagged(self, pointer: LoadAddr) -> LoadAddr {
        in_set!(self, set => LoadAddr(set::decode::untagged(pointer.0)))
    }

    /// Returns candidate unwind rules for code of an image without call frame information: first
    /// that of the path from the function's start to `addr`, if the start is known, then those of
    /// the paths to a return, shortest first. `is_return`: `addr` is a return address.
    pub(crate) fn heuristic_unwinds(
        self,
        module: &Module,
        addr: FileAddr,
        is_return: bool,
    ) -> Vec<HeuristicUnwind> {
        in_set!(self, set => set::heuristic_unwind::unwinds(module, addr, is_return))
    }

    /// Returns the calls of a function in code that begins at `start`; `None` if the code may refer
    /// to it in other ways.
    pub(crate) fn direct_calls(
        self,
        code: &[u8],
        start: FileAddr,
        function: FileAddr,
    ) -> Option<Vec<DirectCall>> {
        in_set!(self, set => set::callers::direct_calls(code, start, function))
    }

    /// Returns the registers that a function reads before it writes them: its arguments, with or
    /// without debug info. `code` returns its instructions, `None` outside it. Arguments that are
    /// only passed on to a call are not found.
    pub(crate) fn arguments_read(
        self,
        entry: LoadAddr,
        code: impl FnMut(LoadAddr) -> Option<Instruction>,
    ) -> Vec<Register> {
        in_set!(self, set => set::entry::arguments_read(entry, code))
    }

    /// Finds the store of the address for a result in memory in a prologue. Returns the
    /// instruction's address, the base register, and the offset.
    pub(crate) fn result_address_store(
        self,
        entry: LoadAddr,
        code: impl FnMut(LoadAddr) -> Option<Instruction>,
    ) -> Option<(LoadAddr, Register, i64)> {
        in_set!(self, set => set::entry::result_address_store(entry, code))
    }

    /// Finds how the caller has set the register with the address for a result in memory, in the
    /// instructions straight before a call, which returns to `back`. Returns the address of the first
    /// one, a register that the call preserves, and the offset from it. `None`: it is unknown, or a
    /// function returns the address.
    pub(crate) fn result_address_at_call(
        self,
        back: LoadAddr,
        code: impl FnMut(LoadAddr) -> Option<Instruction>,
    ) -> Option<(LoadAddr, Register, i64)> {
        in_set!(self, set => set::entry::result_address_at_call(back, code))
    }

    /// Returns the target of the last of these instructions, which follow each other, if it is an
    /// indirect jump or call through a word of its image, whatever the registers are.
    pub(crate) fn fixed_target(
        self,
        code: &[Instruction],
        memory: &dyn Memory,
    ) -> Option<LoadAddr> {
        let word = in_set!(self, set => set::access::word_of_jump(code))?;
        memory.read_uint(word, 8).ok().map(LoadAddr)
    }

    /// Returns the chain of loads for the value of `wanted` after `code`, which is a function from
    /// its start up to the pc. `None`: the instructions alone do not determine it.
    pub(crate) fn pointer_chain(
        self,
        wanted: Register,
        code: &[Instruction],
        registers: &impl RegisterFile,
    ) -> Option<PointerChain> {
        in_set!(self, set => set::access::pointer_chain(wanted, code, registers))
    }
}

/// Decodes code in any order.
// One is made at a time, on the stack.
#[allow(clippy::large_enum_variant)]
pub(crate) enum Decoder<'a> {
    X86_64(x86_64::decode::Decoder<'a>),
    Aarch64(aarch64::decode::Decoder<'a>),
    #[cfg(test)]
    Fixed(fixed::decode::Decoder<'a>),
}

impl Decoder<'_> {
    /// Decodes the instruction at an offset of the code; `None` at its end.
    pub fn at(&mut self, offset: usize) -> Option<Result<Instruction, Undecodable>> {
        match self {
            Self::X86_64(decoder) => decoder.at(offset),
            Self::Aarch64(decoder) => decoder.at(offset),
            #[cfg(test)]
            Self::Fixed(decoder) => decoder.at(offset),
        }
    }
}

/// A direct call in an image.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct DirectCall {
    pub addr: FileAddr,
    /// Its return address.
    pub back: FileAddr,
}

/// Bytes that are no instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Undecodable {
    pub addr: LoadAddr,
    pub len: usize,
}
