//! The end of a search in the program's past: recognised at a trap, or by the code behind a jump.

use crate::debugger::Debugger;
use crate::ids::ThreadId;
use crate::inferior::jump_patch::Attempts;
use crate::inferior::site::Owner;
use crate::stops::search_end::SearchEnd;
use dwarf::LoadAddr;

impl Debugger {
    /// Looks for the end of a search from now on, in place of another one. Returns false if there is
    /// no code at its address yet: the trap is inserted when an image is loaded there.
    pub(crate) fn set_search_end(&mut self, end: SearchEnd) -> bool {
        self.clear_search_end();
        self.stops.search_end = Some(end);
        self.plant_search_end()
    }

    /// Stops looking for the end of a search.
    pub(crate) fn clear_search_end(&mut self) {
        if let Some(end) = self.stops.search_end.take() {
            self.inferior.remove_site(end.pc(), Owner::End);
            tracing::debug!(compared = end.compared(), "no end of a search any more");
        }
    }

    /// Adds eight bytes of memory to what is compared, or changes their value. Code in the program that
    /// compares less is replaced at the next pass. Returns false if there are too many words, or if
    /// that was known.
    pub(crate) fn add_word_of_end(&mut self, at: LoadAddr, value: u64) -> bool {
        let Some(end) = &mut self.stops.search_end else {
            return false;
        };
        if !end.add_word(at, value) {
            return false;
        }
        let pc = end.pc();
        if self
            .inferior
            .sites
            .get(pc)
            .is_some_and(|site| site.has_jump())
        {
            self.inferior.end_jump_at(pc);
            if let Some(site) = self.inferior.sites.get(pc) {
                site.attempts.set(Attempts::default());
                site.hasten_jump();
            }
        }
        true
    }
}

impl Debugger {
    /// Inserts the trap at the end of a search, if there is one. Returns false if there is no code.
    pub(crate) fn plant_search_end(&mut self) -> bool {
        match &self.stops.search_end {
            Some(end) => self.inferior.add_site(end.pc(), Owner::End),
            None => false,
        }
    }

    /// Returns whether the parts of a thread's state that are compared are those of the end.
    pub(crate) fn may_be_at_end(&mut self, thread: ThreadId) -> bool {
        let Some(registers) = self.inferior.registers(thread) else {
            return false;
        };
        let Some(end) = &mut self.stops.search_end else {
            return false;
        };
        end.is_at(&registers, |at| self.inferior.read_word(at))
    }
}
