//! Protection of the process from the debugger: a state of its stopped threads that it survives if
//! the debugger is killed, and the removal of all instrumentation.

use super::displaced::REGION;
use super::thread::{RegisterCache, RunState, StopPoint};
use super::{Child, Inferior};
use crate::arch::Flow;
use crate::ids::{Signal, ThreadId};
use crate::os::{RegisterSet, Resume, SystemCall, ThreadEvent};
use dwarf::LoadAddr;

impl Inferior {
    /// Pauses a running thread; all threads if `wanted` is not a thread of the debuggee.
    pub(crate) fn pause_threads(&mut self, wanted: ThreadId) {
        let Some(process) = &mut self.process else {
            return;
        };
        let all = !process.threads.contains_key(&wanted);
        for (thread, state) in &mut process.threads {
            if (all || *thread == wanted) && !state.is_stopped() {
                state.pausing = true;
                state.run = RunState::Interrupted;
                self.os.interrupt(*thread);
            }
        }
    }

    /// Puts the stopped threads of the process into a state that it survives if the debugger is
    /// killed: no SIGTRAP pending, and no pc at a trap or inside a jump of the debugger. Threads
    /// with a pending signal or a deferred stop are left out.
    pub(crate) fn make_all_safe_to_kill(&mut self) {
        let threads: Vec<ThreadId> = match &self.process {
            Some(process) => process.threads.keys().copied().collect(),
            None => return,
        };
        for thread in threads {
            self.make_safe_to_kill(thread);
        }
    }

    /// Like [`Self::make_all_safe_to_kill`], for one thread.
    pub(crate) fn make_safe_to_kill(&mut self, thread: ThreadId) {
        let Some(state) = self.thread_mut(thread) else {
            return;
        };
        if !state.is_stopped() || state.deferred.is_some() || state.signal.0 != 0 {
            return;
        }
        let Some(registers) = self.registers(thread) else {
            return;
        };
        let site = registers.pc();
        let mut refuge = None;
        if self.sites.get(site).is_some() && self.make_pad(thread, site, &registers) {
            // An emulated instruction, such as an indirect call, has no pad. The thread stays at
            // the trap, and depends on the guardian to restore the code in time.
            refuge = self.pads.safe_registers(site, &registers);
        }
        if let Some(copy) = self.jumps.relocated_pc(site, &self.sites) {
            let mut registers = registers;
            registers.set_pc(copy);
            refuge = Some(registers);
        }
        self.leave_sigtrap_stop(thread);
        match refuge {
            Some(refuge) => {
                self.os.set_registers(thread, &refuge);
                // The next resume continues at the site.
                if let Some(state) = self.thread_mut(thread) {
                    state.registers = RegisterCache::Dirty(registers);
                }
            }
            None => self.write_registers(thread),
        }
    }

    /// Moves a thread out of the signal-delivery-stop of a SIGTRAP without delivering it and
    /// without executing an instruction.
    pub(crate) fn leave_sigtrap_stop(&mut self, thread: ThreadId) {
        let Some(state) = self.thread_mut(thread) else {
            return;
        };
        if state.point != StopPoint::Sigtrap {
            return;
        }
        state.point = StopPoint::Plain;
        self.write_registers(thread);
        // The pending interrupt stops the thread again before it executes an instruction.
        self.os.interrupt(thread);
        self.run(thread, Resume::Continue, Signal(0));
        match self.os.wait_for_stop(thread) {
            Some(ThreadEvent::Interrupted | ThreadEvent::GroupStop(_)) | None => {}
            Some(status @ (ThreadEvent::Exited(_) | ThreadEvent::Killed(_))) => {
                self.thread_ended(thread, status);
            }
            Some(status) => self.defer(thread, status),
        }
    }

    /// Makes a pad for the instruction under the trap at `site`, unless it is emulated. Returns
    /// false for an indirect call, whose emulation writes to the stack, and if no pad can be made.
    pub(crate) fn make_pad(
        &mut self,
        thread: ThreadId,
        site: LoadAddr,
        registers: &RegisterSet,
    ) -> bool {
        let memory = self.memory();
        let instruction = self.arch.read(&memory, site);
        let pushes =
            instruction.is_none_or(|instruction| matches!(instruction.flow, Flow::IndirectCall(_)));
        !pushes && self.registers_past_site(thread, site, registers).is_some()
    }

    /// Removes all instrumentation from the stopped process.
    pub(crate) fn remove_instrumentation(&mut self) {
        self.sites.remove_all(&*self.os);
        let threads: Vec<ThreadId> = match &self.process {
            Some(process) => process.threads.keys().copied().collect(),
            None => return,
        };
        // A vfork(2) child shares the memory, and may be in a pad, too.
        let shares = |kind: &Child| *kind == Child::Vfork;
        let mut in_pad = self
            .process
            .as_ref()
            .is_some_and(|it| it.children.values().any(shares));
        for thread in &threads {
            self.disarm(*thread);
            // Normalization moves the thread out of its pad, unless that fails.
            in_pad |= self
                .normalize(*thread)
                .is_none_or(|it| self.pads.holds(it.pc()) || self.jumps.holds(it.pc()));
        }
        self.pads.release(&*self.os);
        if in_pad {
            // A thread may still run in a pad: all of them stay mapped, which is harmless.
            return;
        }
        // By the kernel's registers, a thread that was made safe to kill is in a pad. If the
        // debugger were killed after the pad is unmapped, the thread would resume in unmapped
        // memory.
        for thread in &threads {
            self.write_registers(*thread);
        }
        let slots = self.pads.regions().into_iter();
        let regions = slots.map(|region| (region, REGION));
        for (addr, len) in regions.chain(self.jumps.regions()) {
            if let Some(thread) = threads.first() {
                self.inject_syscall(*thread, SystemCall::Unmap { addr, len });
            }
        }
        self.pads = Default::default();
        self.jumps = Default::default();
        if self.survives_debugger()
            && let Some(thread) = threads.first()
        {
            self.leave_sigtrap_stop(*thread);
        }
    }
}
