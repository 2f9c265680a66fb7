//! Passes of a breakpoint: hits at which its condition is false.

use crate::os::Shared;
use dwarf::LoadAddr;

/// The number of passes of a breakpoint. The debugger adds those at which it has evaluated the condition, and code in
/// the program those at which that code has.
#[derive(Default)]
pub(crate) struct Passes {
    /// Seen by the debugger, or counted by a program that has been replaced.
    seen: u64,
    /// A word to which the program adds, at its address there.
    word: Option<(LoadAddr, Shared)>,
    /// Whether the program has evaluated the condition without counting.
    are_lost: bool,
}

impl Passes {
    /// Counts a pass at which the debugger has evaluated the condition.
    pub fn add(&mut self) {
        self.seen += 1;
    }

    /// Returns the address of the word to which the program adds.
    pub fn word(&self) -> Option<LoadAddr> {
        self.word.as_ref().map(|it| it.0)
    }

    /// The program adds to the first word of this memory from now on.
    pub fn count_in(&mut self, at: LoadAddr, memory: Shared) {
        self.leave_program();
        self.word = Some((at, memory));
    }

    /// The program evaluates the condition without counting.
    pub fn lose(&mut self) {
        self.are_lost = true;
    }

    /// Keeps the number of a program that is replaced.
    pub fn leave_program(&mut self) {
        self.seen = self.count().0;
        self.word = None;
    }

    /// Returns how many there were, at least, and whether there were no others.
    pub fn count(&self) -> (u64, bool) {
        let inside = self.word.as_ref().map_or(0, |(_, memory)| memory.word(0));
        (self.seen.saturating_add(inside), !self.are_lost)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::BreakpointOptions;
    use crate::stops::breakpoint::{Breakpoints, Spec};

    /// Code in the next process must not add to a word of the process before.
    #[test]
    fn restarted_program_does_not_add_to_the_former_word() {
        let mut all = Breakpoints::default();
        let spec = Spec::Function("f".to_owned());
        let (ids, _) = all.replace(Vec::new(), vec![(spec, BreakpointOptions::default())]);
        let passes = |all: &mut Breakpoints| {
            let breakpoint = all.all.get_mut(&ids[0]).expect("a breakpoint");
            std::mem::take(&mut breakpoint.passes)
        };
        let mut counted = Passes::default();
        counted.count_in(LoadAddr(0x1000), Shared::private(8).expect("memory"));
        all.all.get_mut(&ids[0]).expect("a breakpoint").passes = counted;
        all.reset_for_restart();
        assert_eq!(passes(&mut all).word(), None);
    }

    #[test]
    fn passes_of_a_replaced_program_still_count() {
        let mut passes = Passes::default();
        passes.add();
        let memory = Shared::private(8).expect("memory");
        assert!(memory.exchange(0, 0, 5));
        passes.count_in(LoadAddr(0x1000), memory);
        assert_eq!(
            (passes.count(), passes.word()),
            ((6, true), Some(LoadAddr(0x1000)))
        );
        passes.leave_program();
        passes.add();
        assert_eq!((passes.count(), passes.word()), ((7, true), None));
        passes.lose();
        assert_eq!(passes.count(), (7, false));
    }
}
