//! Traps: which of ours a thread ran into, and what that means.

use crate::arch::x86_64::BREAKPOINT;
use crate::breakpoint::Decided;
use crate::breakpoint::site::Owner;
use crate::breakpoint::watch::TRAP_HWBKPT;
use crate::debugger::{Debugger, State};
use crate::event::StopReason;
use crate::ids::BreakpointId;
use crate::ids::{Signal, ThreadId};
use crate::os::{Resume, WaitStatus};
use dwarf::LoadAddr;

/// What x86-64 reports int3 with.
pub(crate) const SI_KERNEL: i32 = 0x80;

impl Debugger {
    /// What a SIGTRAP means; `None` if the thread is gone.
    pub(crate) fn trap_kind(&mut self, thread: ThreadId) -> Option<Trap> {
        // A single step is reported with TRAP_TRACE, but one that went past a system call with
        // TRAP_BRKPT (`user_single_step_report`).
        let code = self.note_access(thread)?;
        Some(match code {
            SI_KERNEL if let Some(trap) = self.detour_trap(thread) => trap,
            SI_KERNEL => {
                let trap = self.registers_of(thread)?.pc() - 1;
                let mut byte = [0];
                if self.sites.get(trap).is_some() {
                    Trap::Site(trap)
                } else if self.os.read_memory(trap, &mut byte) == 1 && byte[0] != BREAKPOINT {
                    // Ours, but removed since it was hit.
                    Trap::Stale(trap)
                } else {
                    Trap::Own
                }
            }
            TRAP_HWBKPT => Trap::Access,
            code if code > 0 => Trap::Step,
            _ => Trap::Sent,
        })
    }

    /// What a stop comes to that was more than bookkeeping; a thread that hit a site is back at
    /// its address. `None`: there was nothing to it and the thread goes on, or it is gone.
    pub(crate) fn found(&mut self, thread: ThreadId, status: WaitStatus) -> Option<Found> {
        let WaitStatus::Signal(signal) = status else {
            self.go_on(thread, Resume::Continue);
            return None;
        };
        if signal.0 != libc::SIGTRAP {
            if self.is_fault_of_question(thread, signal) {
                // Whoever asks the question properly says what is wrong with it.
                return Some(Found::Site(self.registers_of(thread)?.pc()));
            }
            self.out_of_the_way(thread, signal);
            return Some(Found::Signal(signal));
        }
        match self.trap_kind(thread)? {
            Trap::Site(addr) => {
                self.set_pc(thread, addr);
                Some(Found::Site(addr))
            }
            Trap::Counted(addr, id) => {
                if let Some(state) = self.thread_mut(thread) {
                    state.counted = None;
                }
                Some(Found::Counted(addr, id))
            }
            Trap::Stale(addr) => {
                self.set_pc(thread, addr);
                self.go_on(thread, Resume::Continue);
                None
            }
            Trap::Step => Some(Found::Step),
            Trap::Access => Some(Found::Access),
            Trap::Own => Some(Found::Own),
            Trap::Sent => Some(Found::Signal(signal)),
        }
    }

    /// A thread is at a site that it is to go past; the loader has its say.
    pub(crate) fn pass_site(&mut self, thread: ThreadId, addr: LoadAddr, owners: &[Owner]) {
        if let Some(state) = self.thread_mut(thread) {
            state.passed = Some(addr);
            state.is_hit_shown = false;
        }
        if owners.contains(&Owner::Loader) {
            self.on_loader(thread, addr);
            self.hold_for_places(thread);
        }
        let of_chooser = |owner: &Owner| matches!(owner, Owner::Chooser | Owner::Chosen);
        if owners.iter().any(of_chooser) {
            self.on_chooser(thread, addr, owners);
        }
    }

    /// A thread ran into one of our traps.
    pub(crate) fn on_site(&mut self, thread: ThreadId, addr: LoadAddr) {
        let owners = self.owners_at(addr);
        if owners.contains(&Owner::Suspended) && self.on_suspended_site(thread, addr) {
            return;
        }
        let asked = self.is_back_at_passed(thread);
        let decided = match asked {
            true => Some(Decided::default()),
            false => self.decide(thread, addr, &owners),
        };
        // Else a function of the program is to say.
        let Some(decided) = decided else { return };
        self.pass_site(thread, addr, &owners);
        let ended = self.end_scopes(thread, &owners);
        let exception = match owners.contains(&Owner::Exception) && !asked {
            true => self.ask_exceptions(thread, addr),
            false => None,
        };
        let breakpoint = match asked {
            true => None,
            false => self.ask_breakpoints(thread, addr, &owners, decided),
        };
        let reason = match (exception, breakpoint) {
            (
                Some(StopReason::Exception { mut ids, exception }),
                Some(StopReason::Breakpoint(more)),
            ) => {
                ids.extend(more);
                Some(StopReason::Exception { ids, exception })
            }
            (exception, breakpoint) => breakpoint.or(exception),
        };
        if let Some(reason) = reason {
            self.report(thread, with_ended(ended, reason));
            return;
        }
        if !ended.0.is_empty() {
            self.report(thread, StopReason::Data(ended.0, ended.1.join("; ")));
            return;
        }
        let of_a_step = |owner: &Owner| matches!(owner, Owner::Step(_));
        if owners.iter().any(of_a_step) {
            self.take_step_over(thread, &owners);
            if self.on_step_site(thread, addr) {
                return;
            }
        }
        if owners.len() == 1 {
            self.note_pass(thread, addr);
            if !self.non_stop && self.state() != State::Running && !self.calls_on(thread) {
                // Meanwhile somebody else has stopped everything.
                return;
            }
        }
        self.go_on_stepping(thread);
    }

    /// A thread is at a site whose hits the program counts; this is one to stop at, or to tell of.
    pub(crate) fn on_counted(&mut self, thread: ThreadId, addr: LoadAddr, id: BreakpointId) {
        if let Some(state) = self.thread_mut(thread) {
            state.passed = Some(addr);
            state.is_hit_shown = false;
        }
        match self.breakpoints.stop_at_counted(id) {
            true => {
                self.spend_if_once(id);
                match self.breakpoints.message(id) {
                    Some(message) => {
                        let hidden = self.breakpoints.hidden(id, addr);
                        self.tell(thread, hidden, &message);
                        self.go_on_stepping(thread);
                    }
                    None => self.report(thread, StopReason::Breakpoint(vec![id])),
                }
            }
            false => self.go_on_stepping(thread),
        }
    }
}

/// What a stop comes to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Found {
    /// One of our sites was hit.
    Site(LoadAddr),
    /// A site was hit where the program counts, at a hit to stop at.
    Counted(LoadAddr, BreakpointId),
    /// A single step is done.
    Step,
    /// A debug register was hit.
    Access,
    /// The program has a trap instruction of its own.
    Own,
    /// A signal that the program is to get.
    Signal(Signal),
}

/// What a SIGTRAP means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Trap {
    /// One of our sites was hit.
    Site(LoadAddr),
    /// A site was hit where the program counts, at a hit to stop at.
    Counted(LoadAddr, BreakpointId),
    /// A site of ours was hit that is no more.
    Stale(LoadAddr),
    /// A single step is done.
    Step,
    /// A debug register was hit.
    Access,
    /// The program has a trap instruction of its own.
    Own,
    /// Somebody sent the signal.
    Sent,
}

/// A stop at breakpoints where the frames of watched data ended too.
fn with_ended(ended: (Vec<BreakpointId>, Vec<String>), reason: StopReason) -> StopReason {
    match reason {
        StopReason::Breakpoint(here) if !ended.0.is_empty() => {
            let ids = ended.0.into_iter().chain(here).collect();
            StopReason::Data(ids, ended.1.join("; "))
        }
        reason => reason,
    }
}
