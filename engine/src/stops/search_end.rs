//! The place at which a search in a program's past ends: where the program is now. A replay has
//! arrived there if its thread has the same registers and some words of memory have the same values.
//! Which words tell passes of a loop apart, is learned: a pass that is taken for the end by mistake
//! shows a word that differs.

use crate::compile::Expected;
use crate::os::RegisterSet;
use dwarf::LoadAddr;

/// Maximum number of words that are compared.
pub(crate) const MAX_WORDS: usize = 32;

/// A state of one thread and of some memory, and which of its parts differ in most passes.
pub(crate) struct SearchEnd {
    registers: RegisterSet,
    parts: Vec<Part>,
    compared: u64,
    /// The repetitions that a thread makes of the instruction there behind the end, while it makes those
    /// before it.
    later: Option<u64>,
}

struct Part {
    expected: Expected,
    /// The number of compared passes in which it differed.
    differed: u32,
}

impl SearchEnd {
    /// Makes the end of a search of the registers there.
    pub(crate) fn new(registers: RegisterSet) -> Self {
        let general = registers.arch().general_registers();
        let parts = general.filter_map(|register| {
            let expected = Expected::Register(register, registers.get(register)?);
            Some(Part {
                expected,
                differed: 0,
            })
        });
        Self {
            parts: parts.collect(),
            registers,
            compared: 0,
            later: None,
        }
    }

    /// Returns the registers there.
    pub(crate) fn registers(&self) -> &RegisterSet {
        &self.registers
    }

    /// Sets the repetitions of the instruction that a thread makes later. Returns those of before.
    pub(crate) fn set_later(&mut self, later: Option<u64>) -> Option<u64> {
        std::mem::replace(&mut self.later, later)
    }

    /// Returns the address of the next instruction there.
    pub(crate) fn pc(&self) -> LoadAddr {
        self.registers.pc()
    }

    /// Returns how often a thread was compared with it, other than by the program.
    pub(crate) fn compared(&self) -> u64 {
        self.compared
    }

    /// Adds eight bytes of memory, or changes what they are compared with. Returns false if there are
    /// too many, or if that was known.
    pub(crate) fn add_word(&mut self, at: LoadAddr, value: u64) -> bool {
        let expected = Expected::Word(at, value);
        let is_there =
            |part: &&mut Part| matches!(part.expected, Expected::Word(addr, _) if addr == at);
        if let Some(part) = self.parts.iter_mut().find(is_there) {
            return std::mem::replace(&mut part.expected, expected) != expected;
        }
        let words = self.parts.iter();
        let words = words.filter(|part| matches!(part.expected, Expected::Word(..)));
        if words.count() >= MAX_WORDS {
            return false;
        }
        self.parts.push(Part {
            expected,
            // It has just differed: else the caller would not know of it.
            differed: 1,
        });
        true
    }

    /// Returns what is compared, in order: what has differed most often is first, registers before
    /// words.
    pub(crate) fn expected(&self) -> Vec<Expected> {
        let mut parts: Vec<&Part> = self.parts.iter().collect();
        parts.sort_by_key(|part| std::cmp::Reverse(part.differed));
        parts.into_iter().map(|part| part.expected).collect()
    }

    /// Returns whether a thread is there, and notes what differs. The words are read only if the
    /// registers are the same; one that cannot be read differs.
    pub(crate) fn is_at(
        &mut self,
        registers: &RegisterSet,
        read: impl Fn(LoadAddr) -> Option<u64>,
    ) -> bool {
        self.compared += 1;
        let (status, mask) = registers.arch().status_register();
        let flags = |registers: &RegisterSet| registers.get(status).map(|it| it & mask);
        let mut same = registers.pc() == self.pc()
            && registers.sp() == self.registers.sp()
            && flags(registers) == flags(&self.registers);
        // The registers come first.
        for part in &mut self.parts {
            let differs = match part.expected {
                Expected::Register(register, value) => registers.get(register) != Some(value),
                Expected::Word(at, value) => same && read(at) != Some(value),
            };
            part.differed = part.differed.saturating_add(u32::from(differs));
            same &= !differs;
        }
        same
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::Arch;
    use dwarf::Register;

    const PLACE: LoadAddr = LoadAddr(0x1000);
    const WORD: LoadAddr = LoadAddr(0x2000);

    fn registers() -> RegisterSet {
        let mut registers = RegisterSet::zeroed_of(Arch::X86_64);
        registers.set_pc(PLACE);
        registers
    }

    #[test]
    fn end_is_where_registers_and_words_are_equal() {
        let mut end = SearchEnd::new(registers());
        assert!(end.is_at(&registers(), |_| None), "no word is read");
        assert!(end.add_word(WORD, 5) && !end.add_word(WORD, 5));
        let read = |value| move |at| (at == WORD).then_some(value);
        assert!(end.is_at(&registers(), read(5)));
        assert!(!end.is_at(&registers(), read(6)));
        assert!(!end.is_at(&registers(), |_| None));
        assert!(end.add_word(WORD, 6) && end.is_at(&registers(), read(6)));
        for register in registers().arch().general_registers() {
            let mut other = registers();
            other.set(register, 1);
            assert!(!end.is_at(&other, read(6)), "{register:?}");
        }
        let (status, _) = Arch::X86_64.status_register();
        let flags = |bits| {
            let mut other = registers();
            other.set(status, bits);
            other
        };
        assert!(!end.is_at(&flags(1), read(6)), "carry");
        assert!(end.is_at(&flags(1 << 8 | 1 << 16), read(6)), "trap, resume");
        let mut elsewhere = registers();
        elsewhere.set_pc(PLACE + 1);
        assert!(!end.is_at(&elsewhere, read(6)));
    }

    #[test]
    fn what_differs_most_is_compared_first() {
        let mut end = SearchEnd::new(registers());
        let last = Register(15);
        let mut other = registers();
        other.set(last, 1);
        assert_eq!(end.expected()[0], Expected::Register(Register(0), 0));
        for _ in 0..3 {
            assert!(!end.is_at(&other, |_| None));
        }
        assert!(end.add_word(WORD, 5));
        let first = [Expected::Register(last, 0), Expected::Word(WORD, 5)];
        assert_eq!(end.expected()[..2], first);
        assert_eq!(end.expected().len(), 17);
        for _ in 0..3 {
            assert!(!end.is_at(&registers(), |_| Some(4)));
        }
        assert_eq!(end.expected()[0], first[1]);
    }

    #[test]
    fn words_are_limited() {
        let mut end = SearchEnd::new(registers());
        let added = (0..100).filter(|nth| end.add_word(WORD + 8 * nth, 0));
        assert_eq!(added.count(), MAX_WORDS);
    }
}
