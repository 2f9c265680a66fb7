//! A thread's registers, in a form that any host can hold.

use crate::arch::{Arch, ExtendedRegisters, RegisterFile};
use crate::ids::ThreadId;
use dwarf::{LoadAddr, Register, Registers};

/// Maximum number of words of a layout.
pub(super) const MAX_WORDS: usize = 36;
/// DWARF numbers of general-purpose registers are smaller.
const MAX_NUMBER: usize = 64;
/// The entry of a number without a word.
const NO_WORD: u8 = u8::MAX;

/// A word of a register set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Word {
    /// A register of the program.
    Register(Register),
    /// Only the system interprets it.
    System,
    /// A register of the program that the system keeps in a set of its own; 0 if it is unknown. Such
    /// words come last.
    Separate(Register),
}

/// The order in which a system stores the registers of an architecture. One table translates in
/// both directions.
pub(super) struct RegisterLayout {
    pub arch: Arch,
    words: &'static [Word],
    /// Index of each register's word, by DWARF number.
    index: [u8; MAX_NUMBER],
    pc: Register,
    sp: Register,
}

impl RegisterLayout {
    /// Makes the layout with these words, of 8 bytes each.
    pub const fn new(
        arch: Arch,
        words: &'static [Word],
        pc: Register,
        sp: Register,
    ) -> RegisterLayout {
        assert!(words.len() <= MAX_WORDS);
        let mut index = [NO_WORD; MAX_NUMBER];
        let mut word = 0;
        while word < words.len() {
            match words[word] {
                Word::Register(register) | Word::Separate(register) => {
                    index[register.0 as usize] = word as u8;
                }
                Word::System => {}
            }
            word += 1;
        }
        assert!(index[pc.0 as usize] != NO_WORD && index[sp.0 as usize] != NO_WORD);
        RegisterLayout {
            arch,
            words,
            index,
            pc,
            sp,
        }
    }

    /// Returns the size of a set in bytes, without the registers in sets of their own.
    pub const fn bytes(&self) -> usize {
        let mut count = self.words.len();
        while count > 0 && matches!(self.words[count - 1], Word::Separate(_)) {
            count -= 1;
        }
        count * size_of::<u64>()
    }

    fn index_of(&self, register: Register) -> Option<usize> {
        let index = *self.index.get(usize::from(register.0))?;
        (index != NO_WORD).then_some(usize::from(index))
    }
}

/// A complete general-purpose register set, including words that only the system interprets.
#[derive(Clone, Copy)]
pub struct RegisterSet {
    layout: &'static RegisterLayout,
    words: [u64; MAX_WORDS],
}

impl PartialEq for RegisterSet {
    fn eq(&self, other: &Self) -> bool {
        self.words == other.words
    }
}

impl std::fmt::Debug for RegisterSet {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "pc {} sp {:#x}", self.pc(), self.sp())
    }
}

impl RegisterSet {
    /// Returns registers that are all zero.
    pub(super) fn zeroed_in(layout: &'static RegisterLayout) -> Self {
        RegisterSet {
            layout,
            words: [0; MAX_WORDS],
        }
    }

    /// Returns registers of this machine that are all zero.
    #[cfg(test)]
    pub(crate) fn zeroed() -> Self {
        Self::zeroed_of(Arch::HOST)
    }

    /// Returns registers of an instruction set that are all zero.
    #[cfg(test)]
    pub(crate) fn zeroed_of(arch: Arch) -> Self {
        Self::zeroed_in(&super::linux_abi::of(arch).registers)
    }

    /// Decodes little-endian bytes in the system's layout; `None` if they are too few.
    pub(super) fn from_bytes(layout: &'static RegisterLayout, bytes: &[u8]) -> Option<Self> {
        let mut set = Self::zeroed_in(layout);
        let (words, _) = bytes.get(..layout.bytes())?.as_chunks();
        for (word, bytes) in set.words.iter_mut().zip(words) {
            *word = u64::from_le_bytes(*bytes);
        }
        Some(set)
    }

    /// Encodes the registers as [`RegisterSet::from_bytes`] decodes them.
    #[cfg(any(test, feature = "simulated-mach", target_os = "macos"))]
    pub(super) fn to_bytes(self) -> Vec<u8> {
        let words = self.layout.bytes() / size_of::<u64>();
        let words = self.words[..words].iter();
        words.flat_map(|word| word.to_le_bytes()).collect()
    }

    /// Returns the words in the system's order.
    pub(crate) fn words(&self) -> &[u64] {
        &self.words[..self.layout.bytes() / size_of::<u64>()]
    }

    /// Returns the words in the system's order.
    #[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "Linux needs it"))]
    pub(super) fn words_mut(&mut self) -> &mut [u64] {
        &mut self.words[..self.layout.bytes() / size_of::<u64>()]
    }

    /// Returns a word that only the system interprets, by its index.
    pub(super) fn system_word(&self, index: usize) -> Option<u64> {
        let is_it = self.layout.words.get(index) == Some(&Word::System);
        is_it.then(|| self.words[index])
    }

    /// Sets a word that only the system interprets, by its index.
    pub(super) fn set_system_word(&mut self, index: usize, value: u64) {
        if self.layout.words.get(index) == Some(&Word::System) {
            self.words[index] = value;
        }
    }

    /// Returns the architecture that the registers are of.
    pub fn arch(&self) -> Arch {
        self.layout.arch
    }

    /// Returns the registers by DWARF number, for the unwinder.
    pub fn to_registers(&self) -> Registers {
        let mut registers = Registers::new(self.layout.arch.machine());
        for (word, value) in self.layout.words.iter().zip(&self.words) {
            match word {
                Word::Register(register) => registers.set(*register, *value),
                Word::Separate(register) if *value != 0 => registers.set(*register, *value),
                Word::Separate(_) | Word::System => {}
            }
        }
        registers
    }

    /// Sets one register; false if the set does not have it.
    pub fn set(&mut self, register: Register, value: u64) -> bool {
        match self.layout.index_of(register) {
            Some(index) => {
                self.words[index] = value;
                true
            }
            None => false,
        }
    }

    /// Returns the program counter.
    pub fn pc(&self) -> LoadAddr {
        LoadAddr(self.get(self.layout.pc).unwrap_or(0))
    }

    /// Sets the program counter.
    pub fn set_pc(&mut self, pc: LoadAddr) {
        self.set(self.layout.pc, pc.0);
    }

    /// Returns the stack pointer.
    pub fn sp(&self) -> u64 {
        self.get(self.layout.sp).unwrap_or(0)
    }

    /// Sets the stack pointer.
    pub fn set_sp(&mut self, sp: u64) {
        self.set(self.layout.sp, sp);
    }

    /// Returns a register by its DWARF number.
    pub fn get(&self, register: Register) -> Option<u64> {
        Some(self.words[self.layout.index_of(register)?])
    }
}

impl RegisterFile for RegisterSet {
    fn get(&self, register: Register) -> Option<u64> {
        self.get(register)
    }

    fn set(&mut self, register: Register, value: u64) -> bool {
        self.set(register, value)
    }

    fn sp(&self) -> u64 {
        self.sp()
    }

    fn set_sp(&mut self, sp: u64) {
        self.set_sp(sp);
    }

    fn set_pc(&mut self, pc: LoadAddr) {
        self.set_pc(pc);
    }
}

/// What is read of the registers besides the general-purpose ones.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ExtendedPart {
    /// The low 16 bytes of the vector registers, and perhaps others. This is cheaper.
    Vectors,
    /// All.
    All,
}

/// Reads registers of a thread later, while it is still stopped: most stops need none of
/// them.
pub struct ExtendedReader(Source);

#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "Linux needs it"))]
enum Source {
    Known(Option<ExtendedRegisters>),
    Thread(fn(ThreadId) -> Option<ExtendedRegisters>, ThreadId),
}

impl ExtendedReader {
    /// Returns a reader of what is known now.
    pub(super) fn known(registers: Option<ExtendedRegisters>) -> Self {
        Self(Source::Known(registers))
    }

    /// Returns a reader that calls a function.
    #[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "Linux needs it"))]
    pub(super) fn of_thread(
        read: fn(ThreadId) -> Option<ExtendedRegisters>,
        thread: ThreadId,
    ) -> Self {
        Self(Source::Thread(read, thread))
    }

    /// Reads the registers; `None` if the thread is gone or has none.
    pub fn read(self) -> Option<ExtendedRegisters> {
        match self.0 {
            Source::Known(registers) => registers,
            Source::Thread(read, thread) => read(thread),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::linux_abi;
    use super::*;

    #[test]
    fn registers_survive_the_way_through_each_layout() {
        for arch in Arch::ALL {
            let layout = &linux_abi::of(*arch).registers;
            let words: Vec<u64> = (0..layout.bytes() as u64 / 8)
                .map(|nth| 0x100 + nth)
                .collect();
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            let mut set = RegisterSet::from_bytes(layout, &bytes).unwrap();
            assert_eq!(set.words_mut(), words);
            assert_eq!(set.arch(), *arch);
            let shown = set.to_registers();
            let mut copy = RegisterSet::zeroed_in(layout);
            for (index, word) in layout.words.iter().enumerate() {
                let value = words.get(index).copied().unwrap_or(0);
                match word {
                    Word::Separate(register) => {
                        assert_eq!(shown.get(*register), None, "{register:?}");
                        assert!(set.set(*register, 1));
                        assert_eq!(set.to_registers().get(*register), Some(1));
                    }
                    Word::Register(register) => {
                        assert_eq!(set.get(*register), Some(value), "{register:?}");
                        assert_eq!(shown.get(*register), Some(value), "{register:?}");
                        assert!(copy.set(*register, value));
                    }
                    Word::System => {
                        assert_eq!(set.system_word(index), Some(value));
                        copy.set_system_word(index, value);
                    }
                }
            }
            assert_eq!(copy.words_mut(), words);
            assert_eq!(Some(set.pc().0), set.get(layout.pc));
            assert_eq!(Some(set.sp()), set.get(layout.sp));
            let short = &bytes[..bytes.len() - 1];
            assert!(RegisterSet::from_bytes(layout, short).is_none());
        }
    }

    #[test]
    fn registers_that_a_set_lacks_are_left_alone() {
        let mut set = RegisterSet::zeroed_of(Arch::X86_64);
        for absent in [Register(17), Register(63), Register(64), Register(u16::MAX)] {
            assert_eq!(set.get(absent), None, "{absent:?}");
            assert!(!set.set(absent, 1), "{absent:?}");
        }
        assert_eq!(set.system_word(0), None, "a register of the program");
        set.set_system_word(usize::MAX, 1);
        assert!(set.words_mut().iter().all(|word| *word == 0));
    }
}
