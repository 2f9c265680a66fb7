//! Traps: which of ours a thread ran into, and what that means.

use crate::arch::x86_64::BREAKPOINT;
use crate::breakpoint::site::Owner;
use crate::debugger::Debugger;
use crate::event::ThreadId;
use dwarf::LoadAddr;

impl Debugger {
    /// What a SIGTRAP means; `None` if the thread is gone.
    pub(crate) fn trap_kind(&mut self, thread: ThreadId) -> Option<Trap> {
        // x86-64 reports int3 with SI_KERNEL; a single step with TRAP_TRACE, but one that went
        // past a system call with TRAP_BRKPT (`user_single_step_report`).
        const SI_KERNEL: i32 = 0x80;
        let info = self.os.signal_info(thread)?;
        let pc = self.registers_of(thread)?.pc();
        Some(match info.code {
            SI_KERNEL => {
                let trap = pc - 1;
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
            code if code > 0 => Trap::Step,
            _ => Trap::Sent,
        })
    }

    /// A thread ran into one of our traps.
    pub(crate) fn on_site(&mut self, thread: ThreadId, addr: LoadAddr) {
        let owners: Vec<Owner> = self
            .sites
            .get(addr)
            .map(|site| site.owners().to_vec())
            .unwrap_or_default();
        if let Some(state) = self.thread_mut(thread) {
            state.passed = Some(addr);
        }
        if owners.contains(&Owner::Loader) {
            self.on_loader(addr);
        }
        if let Some(reason) = self.ask_breakpoints(thread, addr, &owners) {
            self.report(thread, reason);
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
    /// The program has a trap instruction of its own.
    Own,
    /// Somebody sent the signal.
    Sent,
}
