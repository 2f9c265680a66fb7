//! Code in the debuggee where a thread may be when the debugger is killed.
//!
//! A thread of an attached program that makes a system call for the debugger has the registers of that call.
//! If the debugger dies then, nothing would bring its own registers back. So the call is in a few
//! instructions of ours that end in a loop: the thread waits there until the [guardian](super::guardian),
//! which knows its registers and the signals that it blocked, has restored them.
//!
//! No signal arrives meanwhile, as all are blocked. The thread stops before and behind the call, and is not
//! stepped: the SIGTRAP of a step would be delivered to the program if the debugger died.

use super::super::registers::RegisterSet;
use super::guardian::Guardian;
use super::machine;
use crate::ids::ThreadId;
use dwarf::LoadAddr;

/// Instructions of a refuge, and offsets in them.
pub struct Code {
    /// The instructions.
    pub bytes: &'static [u8],
    /// The system call that copies the process. Behind it the copy, which gets 0, faults, and the thread loops.
    pub copying_call: u64,
    /// Any other system call. Behind it is a loop.
    pub call: u64,
    /// The loop.
    pub wait: u64,
}

/// A refuge in the program, and the guardian that knows of it.
#[derive(Clone, Copy)]
pub struct Refuge<'a> {
    /// Its address.
    pub at: LoadAddr,
    pub guardian: &'a Guardian,
}

impl Refuge<'_> {
    /// Returns the address of the instruction for a system call.
    pub fn instruction_for(&self, number: libc::c_long) -> LoadAddr {
        let code = &machine::REFUGE;
        match number {
            libc::SYS_clone => self.at + code.copying_call,
            _ => self.at + code.call,
        }
    }

    /// Returns registers with which a thread loops until its own ones are restored.
    pub fn waiting(&self, registers: &RegisterSet) -> RegisterSet {
        let mut registers = registers.outside_system_call();
        registers.set_pc(self.at + machine::REFUGE.wait);
        registers
    }

    /// Tells the guardian what to restore if we are killed: the signals that the thread blocks, and its registers if it
    /// is in the refuge.
    pub fn enter(&self, thread: ThreadId, registers: &RegisterSet, mask: u64) {
        self.guardian.shelter(thread, self.at, registers, mask);
    }

    /// Tells the guardian that the thread is as before.
    pub fn leave(&self) {
        self.guardian.end_shelter();
    }
}

/// Returns whether an address is in the refuge at `at`.
pub fn holds(at: LoadAddr, pc: LoadAddr) -> bool {
    pc - at < machine::REFUGE.bytes.len() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::{Arch, SPIN_LOOP};

    #[test]
    fn calls_and_loops_are_where_the_offsets_say() {
        let code = &machine::REFUGE;
        let call = Arch::HOST.system_call_instruction();
        let at = |offset: u64| &code.bytes[offset as usize..];
        assert!(at(code.copying_call).starts_with(call));
        assert!(at(code.call).starts_with(call));
        assert_eq!(code.call + call.len() as u64, code.wait);
        assert_eq!(at(code.wait), SPIN_LOOP);
        let start = LoadAddr(0x1000);
        assert!(holds(start, start + code.wait));
        assert!(!holds(start, start + code.bytes.len() as u64));
        assert!(!holds(start, LoadAddr(0xfff)));
    }
}
