//! Registers of stopped threads, and injected system calls.

use super::Inferior;
use super::pass::OutOfTurn;
use super::thread::{RegisterCache, StopPoint};
use crate::ids::{Signal, ThreadId};
use crate::inferior::displaced::PadPosition;
use crate::os::{Block, RegisterSet, Resume, SystemCall, ThreadEvent};
use dwarf::LoadAddr;

impl Inferior {
    /// Returns the registers of a stopped thread; `None` if it runs or is gone. If its stop was
    /// handled, the thread has been normalized, and its pc is not in a pad or a trampoline.
    pub(crate) fn registers(&self, thread: ThreadId) -> Option<RegisterSet> {
        let state = self.thread(thread).filter(|state| state.is_stopped())?;
        state.registers.get().or_else(|| self.os.registers(thread))
    }

    /// Normalizes a stopped thread if it may be in a pad, a trampoline or a system call.
    pub(crate) fn normalize_if_needed(&mut self, thread: ThreadId) {
        let state = self.thread(thread);
        let within = state.is_some_and(|state| matches!(state.point, StopPoint::SystemCall(_)));
        if within || !self.pads.is_empty() || !self.jumps.is_empty() {
            self.normalize(thread);
        }
    }

    /// Moves a stopped thread to the end of its system call, and out of pads and trampolines: its
    /// registers are then those of the program. Returns them; `None` if the thread is gone.
    pub(crate) fn normalize(&mut self, thread: ThreadId) -> Option<RegisterSet> {
        let state = self.thread(thread).filter(|state| state.is_stopped())?;
        if let Some(registers) = state.registers.get() {
            return Some(registers);
        }
        self.finish_syscall(thread);
        let mut registers = self.os.registers(thread)?;
        let mut passed = None;
        let mut out_of_turn = None;
        let mut left_sequence = false;
        self.rewind_to_trap(thread, &mut registers);
        // A bound on the single steps. A pad takes a few; the longest code of a trampoline writes a
        // record of a log message.
        for _ in 0..1024 {
            match self.pads.origin(registers.pc()) {
                None => match self.user_state_in_trampoline(thread, &registers) {
                    Some((outside, site)) => {
                        registers = outside;
                        self.os.set_registers(thread, &registers);
                        passed = site;
                        break;
                    }
                    None if !self.jumps.holds(registers.pc()) => break,
                    None => registers = self.step_inside(thread, &mut out_of_turn)?,
                },
                Some(PadPosition::Before(site)) => {
                    registers.set_pc(site);
                    self.os.set_registers(thread, &registers);
                    passed = Some(site);
                    break;
                }
                Some(PadPosition::Behind(next)) => {
                    left_sequence = self.pads.sequence(registers.pc()).is_some();
                    registers.set_pc(next);
                    self.os.set_registers(thread, &registers);
                    break;
                }
                Some(PadPosition::Inside) => {
                    registers = self.step_inside(thread, &mut out_of_turn)?;
                }
            }
        }
        if let Some(before) = out_of_turn {
            self.end_out_of_turn(thread, before);
        }
        let state = self.thread_mut(thread)?;
        if passed.is_some() {
            state.passed_site = passed;
        }
        state.has_left_sequence |= left_sequence;
        state.registers = RegisterCache::Clean(registers);
        Some(registers)
    }

    /// Single-steps a thread that stopped inside a system call to the end of the call: until then,
    /// the kernel overwrites registers that are set, and registers saved now lack the result.
    /// Returns false if the call blocks: a vfork(2) parent waits until its child execs or exits.
    fn finish_syscall(&mut self, thread: ThreadId) -> bool {
        let Some(state) = self.thread_mut(thread) else {
            return true;
        };
        match state.point {
            StopPoint::Plain | StopPoint::Sigtrap => return true,
            StopPoint::SystemCall(ThreadEvent::Vforked(_)) => return false,
            StopPoint::SystemCall(_) => state.point = StopPoint::Plain,
        }
        self.run(thread, Resume::Step, Signal(0));
        match self.os.wait_for_stop(thread) {
            Some(ThreadEvent::Signal(Signal::TRAP)) => {
                if let Some(state) = self.thread_mut(thread) {
                    state.point = StopPoint::Sigtrap;
                }
            }
            Some(status @ (ThreadEvent::Exited(_) | ThreadEvent::Killed(_))) => {
                self.thread_ended(thread, status);
            }
            Some(status) => self.defer(thread, status),
            None => {}
        }
        true
    }

    /// Finishes the system call that a stopped thread is in. Returns why its registers cannot be
    /// changed; `None` if they can.
    pub(crate) fn syscall_refusal(&mut self, thread: ThreadId) -> Option<&'static str> {
        if !self.finish_syscall(thread) {
            return Some("the thread waits in vfork(2) until its child execs or exits");
        }
        if self.os.leave_system_call(thread)
            && let Some(state) = self.thread_mut(thread)
            // What the client has set replaces what the system has.
            && matches!(state.registers, RegisterCache::Clean(_))
        {
            state.registers = RegisterCache::Unread;
            self.note_change_of(thread);
        }
        None
    }

    /// Single-steps a thread in a pad or a trampoline, with signals blocked from the first such
    /// step on. `out_of_turn`: the state to restore afterwards. Returns its registers; `None` if it
    /// is gone.
    fn step_inside(
        &mut self,
        thread: ThreadId,
        out_of_turn: &mut Option<OutOfTurn>,
    ) -> Option<RegisterSet> {
        let before = match out_of_turn {
            Some(before) => before,
            None => out_of_turn.insert(self.begin_out_of_turn(thread)),
        };
        self.run(thread, Resume::Step, Signal(0));
        match self.os.wait_for_stop(thread)? {
            ThreadEvent::Signal(Signal::TRAP) => {
                self.note_sigtrap(thread);
            }
            status => {
                before.note(status);
                self.defer(thread, status);
            }
        }
        self.os.registers(thread)
    }

    /// Sets the registers of a stopped thread, in the kernel, too. Returns false if that fails.
    pub(crate) fn set_registers_of(&mut self, thread: ThreadId, registers: RegisterSet) -> bool {
        if !self.os.set_registers(thread, &registers) {
            return false;
        }
        self.note_change_of(thread);
        if let Some(state) = self.thread_mut(thread) {
            state.registers = RegisterCache::Clean(registers);
        }
        true
    }

    /// Sets the pc of a stopped thread in the cached registers, which the next resume writes to the
    /// kernel.
    pub(crate) fn set_pc(&mut self, thread: ThreadId, pc: LoadAddr) {
        if let Some(mut registers) = self.registers(thread) {
            registers.set_pc(pc);
            self.note_change_of(thread);
            if let Some(state) = self.thread_mut(thread) {
                state.registers = RegisterCache::Dirty(registers);
            }
        }
    }

    /// Writes the cached registers of a thread to the kernel if they were changed.
    pub(crate) fn write_registers(&mut self, thread: ThreadId) {
        if let Some(state) = self.thread_mut(thread)
            && let Some(registers) = state.registers.take_dirty()
        {
            self.os.set_registers(thread, &registers);
        }
    }

    /// Finishes the system call that a stopped thread is in, and writes its changed registers: it can
    /// make another one then. Returns false if the call blocks.
    pub(super) fn end_system_call(&mut self, thread: ThreadId) -> bool {
        let ended = self.finish_syscall(thread);
        if ended {
            self.write_registers(thread);
        }
        ended
    }

    /// Executes a system call in a stopped thread, and restores its registers. Returns the result
    /// of the call; `None` if it could not be made.
    pub(crate) fn inject_syscall(&mut self, thread: ThreadId, call: SystemCall) -> Option<i64> {
        if !self.end_system_call(thread) {
            return None;
        }
        if let Some(result) = self.os.call_for(call) {
            return Some(result);
        }
        let instruction = self.system_call_instruction()?;
        let before = self.os.registers(thread)?;
        let set = before.for_system_call(call, instruction);
        let mut result = None;
        let mut kept = None;
        // No signal that can be blocked delays the call.
        let mask = self.os.block_signals(thread, Block::AllBut(&[]));
        // Another signal is deferred, and the call is tried again.
        for _ in 0..8 {
            if !self.os.set_registers(thread, &set) {
                break;
            }
            self.run(thread, Resume::Step, Signal(0));
            match self.os.wait_for_stop(thread)? {
                ThreadEvent::Signal(Signal::TRAP) => {
                    if let Some(state) = self.thread_mut(thread) {
                        state.point = StopPoint::Sigtrap;
                    }
                    result = self
                        .os
                        .registers(thread)
                        .map(|set| set.system_call_result());
                    break;
                }
                status @ ThreadEvent::Signal(_) => {
                    kept = self.os.signal_data(thread);
                    if let Some(state) = self.thread_mut(thread) {
                        state.deferred = Some(status);
                    }
                }
                status @ (ThreadEvent::Exited(_) | ThreadEvent::Killed(_)) => {
                    self.thread_ended(thread, status);
                    return None;
                }
                _ => {}
            }
        }
        self.os.set_registers(thread, &before);
        if let Some(mask) = mask {
            self.os.block_signals(thread, Block::Exactly(mask));
        }
        if let Some(data) = kept {
            self.os.set_signal_data(thread, &data);
        }
        result
    }

    /// Returns the address of a system call instruction: that of a recorder, or one in the vdso, which is
    /// searched once.
    pub(crate) fn system_call_instruction(&mut self) -> Option<LoadAddr> {
        if let Some(own) = self.os.own_system_call() {
            return Some(own);
        }
        if self.system_call_at.is_none() {
            let call = self.arch.system_call_instruction();
            let mappings = self.os.mappings(self.process.as_ref()?.pid);
            let vdso = mappings.iter().find(|it| it.path.as_os_str() == "[vdso]")?;
            let len = vdso.end - vdso.start;
            let mut bytes = vec![0; len.min(1 << 16) as usize];
            let read = self.os.read_memory(vdso.start, &mut bytes);
            bytes.truncate(read);
            let offset = bytes
                .windows(call.len())
                .position(|window| window == call)?;
            self.system_call_at = Some(vdso.start + offset as u64);
        }
        self.system_call_at
    }
}
