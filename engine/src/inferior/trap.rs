//! Classification of traps, and the handlers of hits.

use crate::arch::MAX_BREAKPOINT_BYTES;
use crate::breakpoint::ConditionResults;
use crate::breakpoint::watch::TRAP_HWBKPT;
use crate::debugger::{Debugger, State};
use crate::event::StopReason;
use crate::ids::BreakpointId;
use crate::ids::{Signal, ThreadId};
use crate::inferior::site::Owner;
use crate::os::{Resume, WaitStatus};
use dwarf::LoadAddr;

/// `si_code` of an int3 trap on x86-64.
pub(crate) const SI_KERNEL: i32 = 0x80;

impl Debugger {
    /// Classifies a SIGTRAP; `None` if the thread is gone.
    pub(crate) fn classify_sigtrap(&mut self, thread: ThreadId) -> Option<SigtrapKind> {
        // A single step is reported with TRAP_TRACE, but one that went past a system call with
        // TRAP_BRKPT (`user_single_step_report`).
        let code = self.record_debug_register_hits(thread)?;
        Some(match code {
            SI_KERNEL if let Some(trap) = self.detour_trap(thread) => trap,
            SI_KERNEL => {
                let arch = self.images.modules.arch();
                let trap = arch.breakpoint_address(self.user_registers(thread)?.pc());
                let mut now = [0; MAX_BREAKPOINT_BYTES];
                let now = &mut now[..arch.breakpoint().len()];
                if self.inferior.sites.get(trap).is_some() {
                    SigtrapKind::Site(trap)
                } else if self.inferior.os.read_memory(trap, now) == now.len()
                    && now != arch.breakpoint()
                {
                    // A site that was removed after the hit.
                    SigtrapKind::Stale(trap)
                } else {
                    SigtrapKind::ProgramTrap
                }
            }
            TRAP_HWBKPT => SigtrapKind::Access,
            code if code > 0 => SigtrapKind::Step,
            _ => SigtrapKind::UserSigtrap,
        })
    }

    /// Classifies a stop that was not bookkeeping. A thread that hit a site is moved back to it.
    /// `None`: nothing to report and the thread was resumed, or the thread is gone.
    pub(crate) fn classify_stop(
        &mut self,
        thread: ThreadId,
        status: WaitStatus,
    ) -> Option<StopCause> {
        let WaitStatus::Signal(signal) = status else {
            self.resume_thread(thread, Resume::Continue);
            return None;
        };
        if signal.0 != libc::SIGTRAP {
            if self.is_condition_fault(thread, signal) {
                // The regular evaluation of the condition reports the fault.
                return Some(StopCause::Site(self.user_registers(thread)?.pc()));
            }
            self.leave_trampoline_for_signal(thread, signal);
            return Some(StopCause::Signal(signal));
        }
        match self.classify_sigtrap(thread)? {
            SigtrapKind::Site(addr) => {
                self.set_pc(thread, addr);
                Some(StopCause::Site(addr))
            }
            SigtrapKind::Counted(addr, id) => {
                if let Some(state) = self.thread_mut(thread) {
                    state.pending_counted_hit = None;
                }
                Some(StopCause::Counted(addr, id))
            }
            SigtrapKind::Stale(addr) => {
                self.set_pc(thread, addr);
                self.resume_thread(thread, Resume::Continue);
                None
            }
            SigtrapKind::Step => Some(StopCause::Step),
            SigtrapKind::Access => Some(StopCause::Access),
            SigtrapKind::ProgramTrap => Some(StopCause::ProgramTrap),
            SigtrapKind::UserSigtrap => Some(StopCause::Signal(signal)),
        }
    }

    /// Marks a site as hit, so that the thread moves past it; handles the loader's sites.
    pub(crate) fn mark_site_passed(&mut self, thread: ThreadId, addr: LoadAddr, owners: &[Owner]) {
        if let Some(state) = self.thread_mut(thread) {
            state.passed_site = Some(addr);
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
            true => Some(ConditionResults::default()),
            false => self.evaluate_conditions(thread, addr, &owners),
        };
        // `None`: the condition calls a function of the program first.
        let Some(decided) = decided else { return };
        self.mark_site_passed(thread, addr, &owners);
        let ended = self.end_scopes(thread, &owners);
        let exception = match owners.contains(&Owner::Exception) && !asked {
            true => self.ask_exceptions(thread, addr),
            false => None,
        };
        let breakpoint = match asked {
            true => None,
            false => self.evaluate_breakpoints(thread, addr, &owners, decided),
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
            self.report_stop(thread, with_ended(ended, reason));
            return;
        }
        if !ended.0.is_empty() {
            self.report_stop(thread, StopReason::Data(ended.0, ended.1.join("; ")));
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
            self.count_non_stopping_hit(thread, addr);
            if !self.inferior.non_stop && self.state() != State::Running && !self.calls_on(thread) {
                // Another handler has stopped the world.
                return;
            }
        }
        self.resume_step(thread);
    }

    /// Handles a thread at a site whose hits the program counts, at a hit that stops or logs.
    pub(crate) fn on_counted_hit(&mut self, thread: ThreadId, addr: LoadAddr, id: BreakpointId) {
        if let Some(state) = self.thread_mut(thread) {
            state.passed_site = Some(addr);
            state.is_hit_shown = false;
        }
        match self.stops.breakpoints.stop_at_counted(id) {
            true => {
                self.disable_if_once(id);
                match self.stops.breakpoints.message(id) {
                    Some(message) => {
                        let hidden = self.stops.breakpoints.hidden(id, addr);
                        self.emit_log_message(thread, hidden, &message);
                        self.resume_step(thread);
                    }
                    None => self.report_stop(thread, StopReason::Breakpoint(vec![id])),
                }
            }
            false => self.resume_step(thread),
        }
    }
}

/// The cause of a stop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum StopCause {
    /// One of our sites was hit.
    Site(LoadAddr),
    /// A site whose hits the program counts was hit, at a hit that stops.
    Counted(LoadAddr, BreakpointId),
    /// A single step has ended.
    Step,
    /// A debug register was hit.
    Access,
    /// The program executed a trap instruction of its own.
    ProgramTrap,
    /// A signal to deliver to the program.
    Signal(Signal),
}

/// The cause of a SIGTRAP.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SigtrapKind {
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
    ProgramTrap,
    /// The signal was sent by a process.
    UserSigtrap,
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
