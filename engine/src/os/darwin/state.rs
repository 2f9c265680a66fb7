//! The state of stopped threads: thread states, debug registers, the signal of an exception.

use super::abi::{DarwinAbi, StepBit};
use super::exception::{self, Codes};
use super::flavors::{Flavor, MAX_WORDS};
use super::threads::Thread;
use super::{DarwinBackend, Platform};
use crate::arch::ExtendedRegisters;
use crate::arch::watch::{MAX_SLOTS, Slot};
use crate::ids::ThreadId;
use crate::os::registers::{ExtendedPart, ExtendedReader, RegisterSet};
use crate::os::thread_state::{Block, SignalData, SignalMask, ThreadState};
use dwarf::LoadAddr;

/// Room for any thread state.
type State = [u32; MAX_WORDS];

/// Returns the bytes of a state.
fn bytes_of(state: &[u32]) -> Vec<u8> {
    state.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Makes a state of its bytes.
fn words_of(bytes: &[u8]) -> Vec<u32> {
    let (words, _) = bytes.as_chunks();
    words.iter().map(|word| u32::from_le_bytes(*word)).collect()
}

impl<M: Platform> DarwinBackend<M> {
    fn abi() -> &'static DarwinAbi {
        M::ABI
    }

    /// Reads a state of a thread. Returns its length in words.
    fn read_state(&self, thread: ThreadId, flavor: Flavor, state: &mut State) -> Option<usize> {
        let port = self.threads.get(thread)?.port;
        let len = (self.mach.thread_get_state(port, flavor.number, state)).ok()?;
        Some(len.min(MAX_WORDS))
    }

    fn write_state(&self, thread: ThreadId, flavor: Flavor, state: &[u32]) -> bool {
        let port = self.threads.get(thread).map(|it| it.port);
        port.is_some_and(|port| {
            let set = self.mach.thread_set_state(port, flavor.number, state);
            set.inspect_err(|error| tracing::debug!(%thread, %error, "cannot set a thread state"))
                .is_ok()
        })
    }

    /// Reads the general-purpose state, with pointers as the program sees them.
    fn read_general(&self, thread: ThreadId) -> Option<Vec<u8>> {
        let mut state = [0; MAX_WORDS];
        let flavor = Self::abi().flavor;
        let len = self.read_state(thread, flavor, &mut state)?;
        let port = self.threads.get(thread)?.port;
        let state = state.get_mut(..len)?;
        (self
            .mach
            .thread_convert_thread_state(port, true, flavor.number, state))
        .ok()?;
        Some(bytes_of(state))
    }

    fn write_general(&self, thread: ThreadId, bytes: &[u8]) -> bool {
        let Some(port) = self.threads.get(thread).map(|it| it.port) else {
            return false;
        };
        let flavor = Self::abi().flavor;
        let mut state = words_of(bytes);
        let converted =
            (self.mach).thread_convert_thread_state(port, false, flavor.number, &mut state);
        converted.is_ok() && self.write_state(thread, flavor, &state)
    }

    /// Sets whether a stopped thread executes a single instruction when it is resumed.
    pub(super) fn set_stepping(&mut self, thread: ThreadId, steps: bool) {
        let Some(state) = self.threads.get_mut(thread) else {
            return;
        };
        let was = std::mem::replace(&mut state.is_stepping, steps);
        match Self::abi().step {
            StepBit::Register(register, bit) => {
                if was == steps {
                    return;
                }
                let Some(mut registers) = self.read_set(thread) else {
                    return;
                };
                let value = registers.get(register).unwrap_or(0);
                let value = match steps {
                    true => value | bit,
                    false => value & !bit,
                };
                registers.set(register, value);
                self.write_general(thread, &registers.to_bytes());
            }
            StepBit::Debug(word, bit) => {
                let pc = self.read_set(thread).map(|registers| registers.pc());
                if let Some(state) = self.threads.get_mut(thread) {
                    state.resumed_at = pc;
                }
                if was == steps {
                    return;
                }
                self.change_debug_state(thread, |state| {
                    state[word] = match steps {
                        true => state[word] | bit,
                        false => state[word] & !bit,
                    }
                });
            }
        }
    }

    fn change_debug_state(&self, thread: ThreadId, change: impl FnOnce(&mut [u32])) -> bool {
        let flavor = Self::abi().debug_flavor;
        let mut state = [0; MAX_WORDS];
        match self.read_state(thread, flavor, &mut state) {
            Some(len) => {
                change(&mut state);
                self.write_state(thread, flavor, &state[..len])
            }
            None => false,
        }
    }

    /// Clears what a thread traps at.
    pub(super) fn clear_slots(&mut self, thread: ThreadId) {
        let is_set = |it: &Thread| it.slots.iter().any(Option::is_some);
        if self.threads.get(thread).is_some_and(is_set) {
            self.set_watchpoints(thread, &[None; MAX_SLOTS]);
        }
    }

    /// Returns which slots a trap of a thread came from, one bit each, and makes the processor forget
    /// it.
    pub(super) fn take_hits(&mut self, thread: ThreadId, codes: &Codes) -> u8 {
        let Some(slots) = self.threads.get(thread).map(|it| it.slots) else {
            return 0;
        };
        if slots.iter().all(Option::is_none) {
            return 0;
        }
        let mut state = [0; MAX_WORDS];
        let abi = Self::abi();
        let Some(len) = self.read_state(thread, abi.debug_flavor, &mut state) else {
            return 0;
        };
        let hits = (abi.hits)(&state, &slots, codes);
        if hits != 0 {
            (abi.set_slots)(&mut state, &slots);
            self.write_state(thread, abi.debug_flavor, &state[..len]);
        }
        if let Some(state) = self.threads.get_mut(thread) {
            state.hits = hits;
        }
        hits
    }

    /// Reads the general-purpose registers as the system has them.
    fn read_set(&self, thread: ThreadId) -> Option<RegisterSet> {
        let bytes = self.read_general(thread)?;
        RegisterSet::from_bytes(&Self::abi().registers, &bytes)
    }

    fn read_vectors(&self, thread: ThreadId) -> Option<ExtendedRegisters> {
        let mut state = [0; MAX_WORDS];
        Self::abi().vectors.iter().find_map(|vectors| {
            let len = self.read_state(thread, vectors.flavor, &mut state)?;
            let bytes = bytes_of(&state[..len]);
            Some(ExtendedRegisters::from((vectors.area)(&bytes)?))
        })
    }
}

impl<M: Platform> ThreadState for DarwinBackend<M> {
    fn registers(&self, thread: ThreadId) -> Option<RegisterSet> {
        let mut registers = self.read_set(thread)?;
        if let StepBit::Register(register, bit) = Self::abi().step
            && self.threads.get(thread)?.is_stepping
        {
            let value = registers.get(register).unwrap_or(0);
            registers.set(register, value & !bit);
        }
        let mut state = [0; MAX_WORDS];
        for separate in Self::abi().separate {
            let len = self.read_state(thread, separate.flavor, &mut state);
            if let Some([low, high, ..]) = len.and_then(|len| state[..len].get(separate.word..)) {
                let value = u64::from(*low) | u64::from(*high) << 32;
                registers.set(separate.register, value);
            }
        }
        if let Some(register) = Self::abi().handle
            && let Ok(handle) = self.mach.thread_info_handle(self.threads.get(thread)?.port)
        {
            registers.set(register, handle);
        }
        Some(registers)
    }

    fn set_registers(&mut self, thread: ThreadId, registers: &RegisterSet) -> bool {
        if registers.arch() != Self::abi().registers.arch {
            return false;
        }
        // The words that are not registers of the program are the same in a set that was read.
        let is_set = self.write_general(thread, &registers.to_bytes());
        if is_set
            && let StepBit::Register(..) = Self::abi().step
            && let Some(state) = self.threads.get_mut(thread)
        {
            state.is_stepping = false;
        }
        is_set
    }

    /// The call fails with `EINTR`, or is made again.
    fn leave_system_call(&mut self, thread: ThreadId) -> bool {
        // A thread in an exception is not in a call.
        let waits = |it: &&Thread| it.is_suspended && it.exception.is_none() && !it.is_gone;
        let Some(port) = self.threads.get(thread).filter(waits).map(|it| it.port) else {
            return false;
        };
        let left = self.mach.thread_abort_safely(port);
        left.inspect_err(|error| tracing::debug!(%thread, %error, "cannot leave a system call"))
            .is_ok()
    }

    fn extended_reader(&self, thread: ThreadId, _: ExtendedPart) -> ExtendedReader {
        ExtendedReader::known(self.read_vectors(thread))
    }

    fn set_extended_registers(&mut self, thread: ThreadId, registers: &ExtendedRegisters) -> bool {
        let mut state = [0; MAX_WORDS];
        Self::abi().vectors.iter().any(|vectors| {
            let Some(len) = self.read_state(thread, vectors.flavor, &mut state) else {
                return false;
            };
            let mut bytes = bytes_of(&state[..len]);
            (vectors.put)(&mut bytes, registers).is_some()
                && self.write_state(thread, vectors.flavor, &words_of(&bytes))
        })
    }

    fn set_watchpoints(&mut self, thread: ThreadId, slots: &[Option<Slot>; MAX_SLOTS]) -> bool {
        let is_set = self.change_debug_state(thread, |state| {
            (Self::abi().set_slots)(state, slots);
        });
        if is_set && let Some(state) = self.threads.get_mut(thread) {
            state.slots = *slots;
        }
        is_set
    }

    fn triggered_watchpoints(&self, thread: ThreadId) -> u8 {
        self.threads.get(thread).map_or(0, |it| it.hits)
    }

    fn signal_data(&self, thread: ThreadId) -> Option<SignalData> {
        let state = self.threads.get(thread)?;
        let (exception, meaning) = state.exception?;
        let mut info = exception::info(&exception, meaning);
        if info.address.is_none() && exception::is_at_instruction(meaning) {
            info.address = self.read_set(thread).map(|registers| registers.pc());
        }
        Some(SignalData::described(info, state.trap))
    }

    /// The system makes the details of a signal anew.
    fn set_signal_data(&mut self, _: ThreadId, _: &SignalData) {}

    fn memory_tag(&self, _: ThreadId, _: LoadAddr) -> Option<u8> {
        None
    }

    /// A thread of another process cannot be made to block signals. They arrive as exceptions.
    fn block_signals(&mut self, _: ThreadId, _: Block<'_>) -> Option<SignalMask> {
        None
    }

    /// The system restarts calls itself.
    fn keep_system_call(&mut self, _: ThreadId) {}
}
