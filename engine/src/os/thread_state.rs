//! [`ThreadState`]: the registers, watchpoints and signals of a stopped thread.

use super::registers::{ExtendedPart, ExtendedReader, RegisterSet};
use crate::arch::ExtendedRegisters;
use crate::arch::watch::{MAX_SLOTS, Slot};
use crate::ids::{Signal, SignalInfo, ThreadId};
use dwarf::LoadAddr;

/// The state of stopped threads.
pub trait ThreadState {
    /// Returns the general-purpose registers; `None` if the thread is gone.
    fn registers(&self, thread: ThreadId) -> Option<RegisterSet>;
    /// Sets the general-purpose registers. Returns false if the thread is gone.
    fn set_registers(&mut self, thread: ThreadId, registers: &RegisterSet) -> bool;
    /// Makes a stopped thread leave the system call that it waits in, where the system would write the
    /// result into changed registers. Returns whether its registers may be others than before.
    fn leave_system_call(&mut self, _: ThreadId) -> bool {
        false
    }
    /// Returns a reader of the registers besides the general-purpose ones.
    fn extended_reader(&self, thread: ThreadId, part: ExtendedPart) -> ExtendedReader;
    /// Writes what a reader of [`ExtendedPart::All`] returned, changed by the architecture. Returns
    /// false if it fails.
    fn set_extended_registers(&mut self, thread: ThreadId, registers: &ExtendedRegisters) -> bool;
    /// Sets what the thread traps at. That belongs to the thread: new threads and processes have
    /// nothing set, executing another program clears it, the debugger's end does not. Returns false
    /// if the thread is gone, or the system refuses.
    fn set_watchpoints(&mut self, thread: ThreadId, slots: &[Option<Slot>; MAX_SLOTS]) -> bool;
    /// Returns which of these slots the thread's last traps came from, one bit each.
    fn triggered_watchpoints(&self, thread: ThreadId) -> u8;
    /// Returns the signal that the thread is stopped with, to restore it after the thread was made
    /// to do something else.
    fn signal_data(&self, thread: ThreadId) -> Option<SignalData>;
    /// Restores the data of a signal that is delivered from the stop of another signal.
    fn set_signal_data(&mut self, thread: ThreadId, data: &SignalData);
    /// Returns the tag of the memory at an address, which a pointer must have; `None` if there are no
    /// tags, or they are not known.
    fn memory_tag(&self, thread: ThreadId, addr: LoadAddr) -> Option<u8>;
    /// Sets which signals the thread blocks. Returns those that it blocked before; `None` if the
    /// thread is gone.
    fn block_signals(&mut self, thread: ThreadId, blocked: Block) -> Option<SignalMask>;
    /// Makes a thread that has just stopped for an interrupt or a signal restart its system call if
    /// the stop alone would make the call fail.
    fn keep_system_call(&mut self, thread: ThreadId);
}

/// Signals that a thread blocks: bit n − 1 stands for signal n.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SignalMask(pub(super) u64);

/// A change of the signals that a thread blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Block<'a> {
    /// All but these, which stay as they are.
    AllBut(&'a [Signal]),
    /// Those that it blocked before.
    Exactly(SignalMask),
}

impl SignalMask {
    /// Returns the mask after a change.
    #[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "Linux needs it"))]
    pub(super) fn after(self, change: Block<'_>) -> SignalMask {
        match change {
            Block::AllBut(signals) => {
                let bits = signals.iter().filter_map(|signal| {
                    let bit = u32::try_from(signal.0).ok()?.checked_sub(1)?;
                    1_u64.checked_shl(bit)
                });
                SignalMask(self.0 | !bits.fold(0, |all, bit| all | bit))
            }
            Block::Exactly(mask) => mask,
        }
    }
}

/// Size in bytes of the largest description of a signal that a system has.
pub(super) const SIGNAL_BYTES: usize = 128;

/// A signal that a thread is stopped with.
#[derive(Clone, Copy)]
pub struct SignalData {
    /// Its description.
    pub info: SignalInfo,
    /// For a trap of the thread itself: its cause.
    pub trap: Option<TrapCause>,
    /// All that the system has about it, in its layout.
    #[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "Linux needs it"))]
    pub(super) raw: [u8; SIGNAL_BYTES],
}

impl SignalData {
    /// Returns a signal of which the system has nothing else.
    pub(super) fn described(info: SignalInfo, trap: Option<TrapCause>) -> Self {
        let raw = [0; SIGNAL_BYTES];
        SignalData { info, trap, raw }
    }
}

/// The cause of a trap that a thread's own execution raised.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TrapCause {
    /// It executed a breakpoint instruction.
    Breakpoint,
    /// It executed a single step.
    Step,
    /// It triggered a watchpoint.
    Watchpoint,
    /// Another one, as the end of a single step over a system call.
    Other,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_that_are_left_out_keep_their_state() {
        let before = SignalMask(0b0100);
        let kept = [Signal(1), Signal(3)];
        let after = before.after(Block::AllBut(&kept));
        assert_eq!(after, SignalMask(!0b0001), "3 was blocked before");
        assert_eq!(after.after(Block::Exactly(before)), before);
        let all = SignalMask(u64::MAX);
        assert_eq!(before.after(Block::AllBut(&[])), all);
        let none = [Signal(0), Signal(-1), Signal(65), Signal(i32::MIN)];
        assert_eq!(before.after(Block::AllBut(&none)), all);
    }
}
