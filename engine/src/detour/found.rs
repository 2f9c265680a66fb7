//! Threads that are found in a trampoline, or on their way to one: where the program would be
//! without it.

use super::trampoline;
use super::{Attempts, DetourTrap, Phase};
use crate::debugger::Debugger;
use crate::ids::BreakpointId;
use crate::ids::{Signal, SignalInfo, ThreadId};
use crate::os::RegisterSet;
use crate::process::{SI_KERNEL, Trap};
use dwarf::LoadAddr;

impl Debugger {
    /// The program's registers, of a thread that is in a trampoline; true: past its site.
    pub(crate) fn out_of_trampoline(
        &mut self,
        thread: ThreadId,
        raw: &RegisterSet,
    ) -> Option<(RegisterSet, Option<LoadAddr>)> {
        if let Some(site) = self.detours.springboards.site_of(raw.pc()) {
            return Some((at(*raw, site), None));
        }
        let detour = self.detours.at(raw.pc())?;
        let (site, trampoline) = (detour.site, &detour.trampoline);
        let os = &*self.os;
        let read = |addr| {
            let mut word = [0; 8];
            (os.read_memory(addr, &mut word) == 8).then(|| u64::from_le_bytes(word))
        };
        let (kept, passed, counted) = match trampoline.state(raw.pc())? {
            Phase::Asking(kept) => (kept, None, None),
            Phase::Leaving(kept) => (kept, Some(site), None),
            Phase::Deciding if trampoline.stop == Some(raw.pc()) => {
                (trampoline.kept(), None, Some((site, detour.breakpoint)))
            }
            Phase::At(addr) => {
                let passed = (addr == site).then_some(site);
                return Some((at(*raw, addr), passed));
            }
            Phase::Deciding | Phase::Inside => return None,
        };
        let registers = trampoline.registers(raw, kept, read)?;
        if kept.vectors {
            self.give_vectors_back(thread, LoadAddr(raw.sp()));
        }
        if let (Some(_), Some(state)) = (counted, self.thread_mut(thread)) {
            state.counted = counted;
        }
        Some((at(registers, site), passed))
    }

    /// The registers of who is in a question, for going on as if the answer were no.
    pub(crate) fn behind_question(
        &mut self,
        thread: ThreadId,
        raw: &RegisterSet,
    ) -> Option<RegisterSet> {
        let detour = self.detours.at(raw.pc())?;
        let copy = detour.trampoline.copy_of(detour.site)?;
        let (registers, _) = self.out_of_trampoline(thread, raw)?;
        Some(at(registers, copy))
    }

    /// The program's vector registers, from where a trampoline keeps them.
    fn give_vectors_back(&mut self, thread: ThreadId, kept: LoadAddr) {
        /// Places in what XSAVE writes (Intel SDM, "XSAVE Managed State").
        const MXCSR: usize = 24;
        const XMM: usize = 160;
        const USED: usize = 512;
        const SSE: u8 = 1 << 1;
        let mut bytes = [0; trampoline::VECTOR_AREA as usize];
        if self.os.read_memory(kept, &mut bytes) != bytes.len() {
            return;
        }
        if let Some(mut area) = self.os.extended_registers(thread)
            && area.len() > USED
        {
            area[XMM..XMM + 64].copy_from_slice(&bytes[..64]);
            area[MXCSR..MXCSR + 4].copy_from_slice(&bytes[64..68]);
            area[USED] |= SSE;
            self.os.set_extended_registers(thread, &area);
        }
    }

    /// What a thread ran into, if that is a trap in a trampoline: it is back before it.
    pub(crate) fn detour_trap(&mut self, thread: ThreadId) -> Option<Trap> {
        if self.detours.is_empty() {
            return None;
        }
        self.registers_of(thread)?;
        let state = self.thread_mut(thread)?;
        match state.trap.take()? {
            DetourTrap::Ask(site) => Some(Trap::Site(site)),
            DetourTrap::Stop => {
                let (site, id) = state.counted?;
                Some(Trap::Counted(site, id))
            }
        }
    }

    /// Whose registers say that it has just run into a trap in a trampoline is back before it, and
    /// it is noted what that means. Others may ask for its registers before its stop is dealt with.
    pub(crate) fn back_at_trap(&mut self, thread: ThreadId, registers: &mut RegisterSet) {
        let trap = registers.pc() - 1;
        let Some(kind) = self.detours.trap(trap) else {
            return;
        };
        let info = self.os.signal_info(thread);
        let ran_into_it =
            |info: SignalInfo| info.signal.0 == libc::SIGTRAP && info.code == SI_KERNEL;
        if !info.is_some_and(ran_into_it) {
            return;
        }
        if let Some(state) = self.thread_mut(thread) {
            state.trap = Some(kind);
            registers.set_pc(trap);
            self.os.set_registers(thread, registers);
        }
    }

    /// Whether a signal says that a question has read what is not there.
    pub(crate) fn is_fault_of_question(&self, thread: ThreadId, signal: Signal) -> bool {
        !self.detours.is_empty()
            && is_fault(signal)
            && self
                .os
                .signal_info(thread)
                .is_some_and(|info| info.code > 0)
            && self.os.registers(thread).is_some_and(|raw| {
                let phase = self.detours.phase(raw.pc());
                matches!(phase, Some((_, Phase::Asking(_))))
            })
    }

    /// A thread that is about to be told of a signal is where the program would be; where its own
    /// instruction is at fault, that is in its place again.
    pub(crate) fn out_of_the_way(&mut self, thread: ThreadId, signal: Signal) {
        if self.detours.is_empty() {
            return;
        }
        let raw = self.os.registers(thread).map(|raw| raw.pc());
        let Some((site, _)) = raw.and_then(|pc| self.detours.phase(pc)) else {
            return;
        };
        self.registers_of(thread);
        let info = self.os.signal_info(thread);
        if is_fault(signal) && info.is_some_and(|info| info.code > 0) {
            self.sites.end_diversion_at(site, &*self.os);
            if let Some(site) = self.sites.get(site) {
                site.keep_trap();
            }
        }
    }

    /// How many hits of a breakpoint the program has counted.
    pub(crate) fn counted_in_detours(&self, id: BreakpointId) -> u64 {
        let mut word = [0; 8];
        match self.detours.counter(id) {
            Some(at) if self.os.read_memory(at, &mut word) == 8 => u64::from_le_bytes(word),
            _ => 0,
        }
    }

    /// Counts a hit that nobody has counted yet; gives its number.
    pub(crate) fn number_of_hit(&mut self, thread: ThreadId, id: BreakpointId) -> u64 {
        let program_counts = self.detours.count_for(id, &self.sites);
        if !program_counts {
            let hits = self.breakpoints.count(id);
            return hits + self.counted_in_detours(id);
        }
        // Others may be about to count, too: each hit has a number of its own.
        self.with_all_stopped(thread, |this| {
            let number = this.counted_in_detours(id) + 1;
            if let Some(at) = this.detours.counter(id) {
                this.os.write_memory(at, &number.to_le_bytes());
            }
            number + this.breakpoints.hits(id)
        })
    }

    /// Breakpoints have been changed: what was asked before is not to be asked any more.
    pub(crate) fn end_changed_detours(&mut self) {
        let mut gone = Vec::new();
        // Former ones of a site have ended already.
        for start in self.detours.latest.values() {
            let Some(detour) = self.detours.all.get_mut(start) else {
                continue;
            };
            let options = self.breakpoints.options(detour.breakpoint);
            if options != Some(&detour.options) {
                gone.push(detour.site);
                detour.counter = None;
            }
        }
        for site in &gone {
            self.detours.latest.remove(site);
        }
        for site in gone {
            self.sites.end_diversion_at(site, &*self.os);
            if let Some(site) = self.sites.get(site) {
                site.attempts.set(Attempts::default());
            }
        }
    }

    /// What is asked of a breakpoint has changed, or it is new: where the program could not be
    /// asked before, it is tried again.
    pub(crate) fn forget_refused_detours(&mut self, id: BreakpointId) {
        for addr in self.breakpoints.places(id) {
            if let Some(site) = self.sites.get(addr)
                && site.attempts.get().is_given_up()
            {
                site.attempts.set(Attempts::default());
            }
        }
    }

    /// A step would be one into a trampoline, and never come out: it is to run into the trap.
    pub(crate) fn end_detour_before(&mut self, thread: ThreadId) {
        if self.detours.is_empty() {
            return;
        }
        let pc = self.registers_of(thread).map(|registers| registers.pc());
        let passed = self.thread_mut(thread).and_then(|state| state.passed);
        if let Some(pc) = pc
            && passed != Some(pc)
        {
            self.sites.end_diversion_at(pc, &*self.os);
        }
    }
}

/// Whether a signal may come of an instruction.
fn is_fault(signal: Signal) -> bool {
    matches!(
        signal.0,
        libc::SIGSEGV | libc::SIGBUS | libc::SIGFPE | libc::SIGILL
    )
}

fn at(mut registers: RegisterSet, pc: LoadAddr) -> RegisterSet {
    registers.set_pc(pc);
    registers
}
