//! The state of stopped threads, by ptrace(2).

use super::super::linux_abi::signal;
use super::super::registers::{ExtendedPart, ExtendedReader, RegisterSet};
use super::super::thread_state::{Block, SignalData, SignalMask, ThreadState};
use super::{LinuxBackend, machine, ptrace, registers};
use crate::arch::watch::{MAX_SLOTS, Slot};
use crate::arch::{Arch, ExtendedRegisters};
use crate::ids::ThreadId;
use dwarf::LoadAddr;

impl ThreadState for LinuxBackend {
    fn registers(&self, thread: ThreadId) -> Option<RegisterSet> {
        registers::read(self.actual(thread))
    }

    fn set_registers(&mut self, thread: ThreadId, registers: &RegisterSet) -> bool {
        registers::write(self.actual(thread), registers)
    }

    fn extended_reader(&self, thread: ThreadId, part: ExtendedPart) -> ExtendedReader {
        let read = match part {
            ExtendedPart::Vectors => registers::read_vectors,
            ExtendedPart::All => registers::read_extended,
        };
        ExtendedReader::of_thread(read, self.actual(thread))
    }

    fn set_extended_registers(&mut self, thread: ThreadId, registers: &ExtendedRegisters) -> bool {
        registers::write_extended(self.actual(thread), registers)
    }

    fn set_watchpoints(&mut self, thread: ThreadId, slots: &[Option<Slot>; MAX_SLOTS]) -> bool {
        match machine::set_watchpoints(self.actual(thread), slots) {
            Ok(()) => {
                if let Some(guardian) = &self.guardian {
                    let is_armed = slots.iter().any(Option::is_some);
                    guardian.guard_thread(thread.0, is_armed);
                }
                true
            }
            Err(error) => {
                tracing::warn!(%thread, %error, "cannot set debug registers");
                false
            }
        }
    }

    fn triggered_watchpoints(&self, thread: ThreadId) -> u8 {
        machine::triggered_watchpoints(self.actual(thread)).unwrap_or(0)
    }

    fn memory_tag(&self, thread: ThreadId, addr: LoadAddr) -> Option<u8> {
        machine::memory_tag(self.actual(thread), addr)
    }

    fn signal_data(&self, thread: ThreadId) -> Option<SignalData> {
        let of_replay = self.recording.as_ref().and_then(|it| it.signal_info());
        let raw = match of_replay {
            Some(raw) => raw,
            None => ptrace::signal_info(self.actual(thread))?,
        };
        let info = signal::decode_info(&raw)?;
        let trap = signal::trap_cause(Arch::HOST, &info);
        Some(SignalData { info, trap, raw })
    }

    fn set_signal_data(&mut self, thread: ThreadId, data: &SignalData) {
        ptrace::set_signal_info(self.actual(thread), &data.raw);
    }

    fn block_signals(&mut self, thread: ThreadId, blocked: Block<'_>) -> Option<SignalMask> {
        let thread = self.actual(thread);
        let before = match blocked {
            Block::AllBut(_) => SignalMask(ptrace::blocked_signals(thread).ok()?),
            Block::Exactly(mask) => mask,
        };
        match ptrace::set_blocked_signals(thread, before.after(blocked).0) {
            Ok(()) => Some(before),
            Err(error) => {
                tracing::debug!(%thread, %error, "cannot set the signal mask");
                None
            }
        }
    }

    fn keep_system_call(&mut self, thread: ThreadId) {
        let before = self.pending_calls.remove(&thread);
        registers::keep_system_call(self.actual(thread), before);
    }
}
