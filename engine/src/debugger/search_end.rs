//! The end of a search in the program's past: recognised at a trap, or by the code behind a jump.

use crate::arch::Instruction;
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
            if let Some(instruction) = self.repeated_at(end.pc()) {
                self.inferior.remove_site(instruction.next(), Owner::End);
            }
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

    /// Returns the instruction at an address if it repeats itself.
    fn repeated_at(&self, addr: LoadAddr) -> Option<Instruction> {
        let instruction = self.inferior.arch.read(&self.inferior.memory(), addr)?;
        instruction.is_repeated().then_some(instruction)
    }

    /// Returns whether the end may be between two repetitions of an instruction: only a trap recognises it.
    pub(super) fn is_end_repeated(&self) -> bool {
        let end = self.stops.search_end.as_ref();
        end.is_some_and(|end| self.repeated_at(end.pc()).is_some())
    }

    /// Before a thread is resumed at the instruction of the end, which repeats itself: lets it make the
    /// repetitions up to the end, and no more, if that leads there. A trap behind the instruction stops it.
    pub(super) fn repeat_up_to_end(&mut self, thread: ThreadId) {
        let Some(end) = &self.stops.search_end else {
            return;
        };
        let (pc, wanted) = (end.pc(), *end.registers());
        let Some(mut registers) = self.inferior.registers(thread).filter(|it| it.pc() == pc) else {
            return;
        };
        // A step sees the end itself.
        if self.inferior.single_stepping || self.has_step(thread) {
            return;
        }
        let Some(instruction) = self.repeated_at(pc) else {
            return;
        };
        let Some(count) = instruction.repetitions(&registers, &wanted) else {
            return;
        };
        let later = instruction.repetitions_left(&wanted);
        if self.inferior.add_site(instruction.next(), Owner::End)
            && instruction.set_repetitions(&mut registers, count)
            && self.inferior.set_registers_of(thread, registers)
            && let Some(end) = &mut self.stops.search_end
        {
            end.set_later(later);
        }
    }

    /// Gives a stopped thread the repetitions back that [`Debugger::repeat_up_to_end`] has taken. If it has
    /// made all others, it is at the instruction again. Returns whether it is.
    pub(super) fn give_back_repetitions(&mut self, thread: ThreadId) -> bool {
        let Some(end) = &mut self.stops.search_end else {
            return false;
        };
        let (pc, Some(later)) = (end.pc(), end.set_later(None)) else {
            return false;
        };
        let (status, mask) = self.inferior.arch.status_register();
        let flags_there = end.registers().get(status).map(|flags| flags & mask);
        let instruction = self.repeated_at(pc);
        let registers = self.inferior.registers(thread);
        let Some((instruction, mut registers)) = instruction.zip(registers) else {
            return false;
        };
        let made = registers.pc() == instruction.next()
            && instruction.repetitions_left(&registers) == Some(0)
            && !instruction.has_ended_repeating(&registers);
        let left = instruction.repetitions_left(&registers).unwrap_or(0);
        instruction.set_repetitions(&mut registers, left.saturating_add(later));
        if made {
            registers.set_pc(pc);
            // The next repetition sets the flags before an instruction reads them.
            if instruction.compares_repeatedly()
                && let Some((flags, there)) = registers.get(status).zip(flags_there)
            {
                registers.set(status, flags & !mask | there);
            }
        }
        self.inferior.set_registers_of(thread, registers);
        made
    }
}
