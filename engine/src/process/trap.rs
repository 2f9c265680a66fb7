//! Traps: which of ours a thread ran into, and what that means.

use crate::arch::x86_64::BREAKPOINT;
use crate::breakpoint::BreakpointId;
use crate::breakpoint::site::Owner;
use crate::breakpoint::watch::TRAP_HWBKPT;
use crate::debugger::Debugger;
use crate::event::{StopReason, ThreadId};
use dwarf::LoadAddr;

impl Debugger {
    /// What a SIGTRAP means; `None` if the thread is gone.
    pub(crate) fn trap_kind(&mut self, thread: ThreadId) -> Option<Trap> {
        // x86-64 reports int3 with SI_KERNEL; a single step with TRAP_TRACE, but one that went
        // past a system call with TRAP_BRKPT (`user_single_step_report`).
        const SI_KERNEL: i32 = 0x80;
        let code = self.note_access(thread)?;
        Some(match code {
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

    /// A thread ran into one of our traps.
    pub(crate) fn on_site(&mut self, thread: ThreadId, addr: LoadAddr) {
        let owners = self.owners_at(addr);
        if let Some(state) = self.thread_mut(thread) {
            state.passed = Some(addr);
        }
        if owners.contains(&Owner::Loader) {
            self.on_loader(addr);
        }
        let ended = self.end_scopes(thread, &owners);
        if let Some(reason) = self.ask_breakpoints(thread, addr, &owners) {
            self.report(thread, with_ended(ended, reason));
            return;
        }
        if !ended.0.is_empty() {
            self.report(thread, StopReason::Data(ended.0, ended.1.join("; ")));
            return;
        }
        if owners.contains(&Owner::Step(thread)) && self.on_step_site(thread, addr) {
            return;
        }
        self.go_on_stepping(thread);
    }
}

/// What a SIGTRAP means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Trap {
    /// One of our sites was hit.
    Site(LoadAddr),
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
