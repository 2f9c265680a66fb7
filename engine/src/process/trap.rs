//! Classification of traps, and the handlers of hits.

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

/// `si_code` of an int3 trap on x86-64.
pub(crate) const SI_KERNEL: i32 = 0x80;

impl Debugger {
    /// Classifies a SIGTRAP; `None` if the thread is gone.
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
                    // A site that was removed after the hit.
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

    /// Classifies a stop that was not bookkeeping. A thread that hit a site is moved back to it.
    /// `None`: nothing to report and the thread was resumed, or the thread is gone.
    pub(crate) fn found(&mut self, thread: ThreadId, status: WaitStatus) -> Option<Found> {
        let WaitStatus::Signal(signal) = status else {
            self.go_on(thread, Resume::Continue);
            return None;
        };
        if signal.0 != libc::SIGTRAP {
            if self.is_fault_of_question(thread, signal) {
                // The regular evaluation of the condition reports the fault.
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

    /// Marks a site as hit, so that the thread moves past it; handles the loader's sites.
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

    /// Handles a thread that ran into one of our traps.
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
        // `None`: the condition calls a function of the program first.
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
                // Another handler has stopped the world.
                return;
            }
        }
        self.go_on_stepping(thread);
    }

    /// Handles a thread at a site whose hits the program counts, at a hit that stops or logs.
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

/// The cause of a stop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Found {
    /// One of our sites was hit.
    Site(LoadAddr),
    /// A site whose hits the program counts was hit, at a hit that stops.
    Counted(LoadAddr, BreakpointId),
    /// A single step has ended.
    Step,
    /// A debug register was hit.
    Access,
    /// The program executed a trap instruction of its own.
    Own,
    /// A signal to deliver to the program.
    Signal(Signal),
}

/// The cause of a SIGTRAP.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Trap {
    /// One of our sites was hit.
    Site(LoadAddr),
    /// A site whose hits the program counts was hit, at a hit that stops.
    Counted(LoadAddr, BreakpointId),
    /// A site was hit that has been removed since.
    Stale(LoadAddr),
    /// A single step has ended.
    Step,
    /// A debug register was hit.
    Access,
    /// The program executed a trap instruction of its own.
    Own,
    /// The signal was sent by a process.
    Sent,
}

/// Adds breakpoints whose watched frames have ended to the reason of a stop.
fn with_ended(ended: (Vec<BreakpointId>, Vec<String>), reason: StopReason) -> StopReason {
    match reason {
        StopReason::Breakpoint(here) if !ended.0.is_empty() => {
            let ids = ended.0.into_iter().chain(here).collect();
            StopReason::Data(ids, ended.1.join("; "))
        }
        reason => reason,
    }
}
