//! The debug registers of a stopped thread, which are words of `struct user`: DR0 to DR3 hold
//! addresses, DR6 the causes of the last traps, DR7 kinds and lengths (Intel SDM volume 3, §19.2).

use super::ptrace;
use crate::arch::watch::{MAX_SLOTS, Slot};
use crate::arch::x86_64::watch::{control, hits};
use crate::ids::ThreadId;
use std::io;

const STATUS: usize = 6;
const CONTROL: usize = 7;

const fn debug_register(number: usize) -> usize {
    std::mem::offset_of!(libc::user, u_debugreg) + number * size_of::<u64>()
}

/// Sets what a stopped thread traps at.
pub fn set_watchpoints(tid: ThreadId, slots: &[Option<Slot>; MAX_SLOTS]) -> io::Result<()> {
    // The kernel checks an address against the length in DR7, so DR7 is cleared first.
    ptrace::poke_user(tid, debug_register(CONTROL), 0)?;
    for (index, slot) in slots.iter().enumerate() {
        if let Some(slot) = slot {
            ptrace::poke_user(tid, debug_register(index), slot.addr.0)?;
        }
    }
    match control(slots) {
        0 => Ok(()),
        control => ptrace::poke_user(tid, debug_register(CONTROL), control),
    }
}

/// Returns which slots a stopped thread's last traps came from, one bit each.
pub fn triggered_watchpoints(tid: ThreadId) -> io::Result<u8> {
    ptrace::peek_user(tid, debug_register(STATUS)).map(hits)
}

/// Clears the slots of a thread that this process has stopped. One system call, which may be made
/// in a forked child.
pub fn clear_watchpoints(tid: libc::pid_t) {
    // SAFETY: integers only.
    unsafe { libc::ptrace(libc::PTRACE_POKEUSER, tid, debug_register(CONTROL), 0_usize) };
}
