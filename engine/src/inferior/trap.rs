//! Classification of stops: the cause of each.

use super::Inferior;
use crate::arch::Flow;
use crate::ids::BreakpointId;
use crate::ids::{Signal, ThreadId};
use crate::os::{ThreadEvent, TrapCause};
use dwarf::LoadAddr;

/// The cause of a stop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum StopCause {
    /// A site was hit.
    Site(LoadAddr),
    /// A site was hit whose hits the program counts, and this hit stops or logs.
    Counted(LoadAddr, BreakpointId),
    /// A single step has ended.
    Step,
    /// A debug register was hit.
    Access,
    /// The program executed a trap instruction of its own.
    ProgramTrap,
    /// A signal to deliver to the program.
    Signal(Signal),
    /// No cause that needs handling: the thread is resumed.
    Nothing,
}

/// The cause of a SIGTRAP.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SigtrapKind {
    /// A site was hit.
    Site(LoadAddr),
    /// A site was hit whose hits the program counts, and this hit stops or logs.
    Counted(LoadAddr, BreakpointId),
    /// A site was hit that has been removed since.
    Stale(LoadAddr),
    /// A single step has ended.
    Step,
    /// A debug register was hit.
    Access,
    /// The program executed a trap instruction of its own.
    ProgramTrap,
    /// A signal for the program: a process has sent it, or the instruction ends the program.
    Signal,
}

impl Inferior {
    /// Classifies a SIGTRAP; `None` if the thread is gone.
    pub(crate) fn classify_sigtrap(&mut self, thread: ThreadId) -> Option<SigtrapKind> {
        let cause = self.note_sigtrap(thread)?.trap;
        let pc = self.normalize(thread)?.pc();
        Some(match cause {
            Some(TrapCause::Breakpoint) if let Some(trap) = self.patch_trap(thread) => trap,
            Some(TrapCause::Breakpoint)
                if (self.thread(thread)).is_some_and(|state| state.has_left_sequence) =>
            {
                SigtrapKind::Step
            }
            Some(TrapCause::Breakpoint) => {
                let arch = self.arch;
                let trap = arch.breakpoint_address(pc);
                let now = |it: &Self| arch.read(&it.memory(), trap).map(|now| now.flow);
                match self.sites.get(trap) {
                    Some(_) => SigtrapKind::Site(trap),
                    None => match now(self) {
                        Some(Flow::Interrupt) | None => SigtrapKind::ProgramTrap,
                        Some(Flow::Fault) => SigtrapKind::Signal,
                        // The site was removed after the hit.
                        Some(_) => SigtrapKind::Stale(trap),
                    },
                }
            }
            Some(TrapCause::Watchpoint) => SigtrapKind::Access,
            Some(TrapCause::Step | TrapCause::Other) => SigtrapKind::Step,
            None => SigtrapKind::Signal,
        })
    }

    /// Classifies a stop that was not bookkeeping. A thread that hit a site is moved back to it.
    /// `None`: the thread is gone.
    pub(crate) fn classify_stop(
        &mut self,
        thread: ThreadId,
        status: ThreadEvent,
    ) -> Option<StopCause> {
        let ThreadEvent::Signal(signal) = status else {
            return Some(StopCause::Nothing);
        };
        if signal != Signal::TRAP {
            if self.is_condition_fault(thread, signal) {
                // The interpreter evaluates the condition again, and reports the fault.
                return Some(StopCause::Site(self.normalize(thread)?.pc()));
            }
            self.leave_trampoline_for_signal(thread, signal);
            self.normalize(thread)?;
            return Some(StopCause::Signal(signal));
        }
        Some(match self.classify_sigtrap(thread)? {
            SigtrapKind::Site(addr) => {
                self.rewind_to_site(thread, addr);
                StopCause::Site(addr)
            }
            SigtrapKind::Counted(addr, id) => {
                if let Some(state) = self.thread_mut(thread) {
                    state.pending_counted_hit = None;
                }
                StopCause::Counted(addr, id)
            }
            SigtrapKind::Stale(addr) => {
                self.rewind_to_site(thread, addr);
                StopCause::Nothing
            }
            SigtrapKind::Step => self.cause_of_step(thread),
            // The instruction before which it has stopped is executed by now.
            SigtrapKind::Access if self.arch.traps_before_access() => {
                self.cause_after_access(thread)
            }
            SigtrapKind::Access => StopCause::Access,
            SigtrapKind::ProgramTrap => {
                self.leave_program_trap(thread);
                StopCause::ProgramTrap
            }
            SigtrapKind::Signal => StopCause::Signal(signal),
        })
    }

    /// Moves a thread back to a site that it has hit. In a process that lives on if the debugger is
    /// killed, the kernel gets the pc at once: the code is restored then, and the thread goes on.
    pub(crate) fn rewind_to_site(&mut self, thread: ThreadId, site: LoadAddr) {
        self.set_pc(thread, site);
        if self.survives_debugger() {
            self.write_registers(thread);
        }
    }

    /// Returns the cause of a stop after a single step, or after an exclusive sequence: a thread that
    /// was to pass a site also executes that as one step.
    fn cause_of_step(&mut self, thread: ThreadId) -> StopCause {
        let is_wanted = self.single_stepping;
        let Some(state) = self.thread_mut(thread) else {
            return StopCause::Step;
        };
        let has_left = std::mem::take(&mut state.has_left_sequence);
        match has_left && !is_wanted && !state.is_stepping {
            true => StopCause::Nothing,
            false => StopCause::Step,
        }
    }

    /// Returns the cause of a stop after an access that the thread has made by a step of the
    /// debugger's, which may be the step that the thread was to make.
    fn cause_after_access(&mut self, thread: ThreadId) -> StopCause {
        let Some(state) = self.thread_mut(thread) else {
            return StopCause::Access;
        };
        state.has_left_sequence = false;
        match state.is_stepping {
            true => StopCause::Step,
            false => StopCause::Access,
        }
    }

    /// Moves a thread behind a trap of the program that the processor has left it at. What a compiler
    /// puts where execution cannot go on stays the pc: behind it another function may begin.
    fn leave_program_trap(&mut self, thread: ThreadId) {
        let Some(pc) = self.normalize(thread).map(|registers| registers.pc()) else {
            return;
        };
        let trap = self.arch.breakpoint_address(pc);
        let behind = self.arch.behind_breakpoint(trap);
        let flow = self.arch.read(&self.memory(), trap).map(|it| it.flow);
        if behind != pc && flow == Some(Flow::Interrupt) {
            self.set_pc(thread, behind);
        }
    }
}
