//! The debug registers of a stopped thread, which are words of `struct user`: DR0 to DR3 hold
//! addresses, DR6 the causes of the last traps, DR7 kinds and lengths (Intel SDM volume 3, §19.2).

use super::ptrace;
use crate::arch::ExtendedRegisters;
use crate::arch::watch::{MAX_SLOTS, Slot};
use crate::arch::x86_64::watch::{control, hits};
use crate::ids::ThreadId;
use dwarf::LoadAddr;
use std::io;

/// Whether a system call leaves all vector registers as they are.
pub const CALLS_KEEP_VECTORS: bool = true;

/// The code of a refuge.
pub const REFUGE: super::refuge::Code = super::refuge::Code {
    // syscall; test eax, eax; je 1f; jmp .; 1: ud2; syscall; jmp .
    bytes: &[
        0x0f, 0x05, 0x85, 0xc0, 0x74, 0x02, 0xeb, 0xfe, 0x0f, 0x0b, 0x0f, 0x05, 0xeb, 0xfe,
    ],
    copying_call: 0,
    call: 10,
    wait: 12,
};

const STATUS: usize = 6;
const CONTROL: usize = 7;

const fn register_offset(number: usize) -> usize {
    std::mem::offset_of!(libc::user, u_debugreg) + number * size_of::<u64>()
}

/// Sets what a stopped thread traps at.
pub fn set_watchpoints(tid: ThreadId, slots: &[Option<Slot>; MAX_SLOTS]) -> io::Result<()> {
    // The kernel checks an address against the length in DR7, so DR7 is cleared first.
    poke(tid, register_offset(CONTROL), 0)?;
    for (index, slot) in slots.iter().enumerate() {
        if let Some(slot) = slot {
            poke(tid, register_offset(index), slot.addr.0)?;
        }
    }
    match control(slots) {
        0 => Ok(()),
        control => poke(tid, register_offset(CONTROL), control),
    }
}

/// Returns which slots a stopped thread's last traps came from, one bit each.
pub fn triggered_watchpoints(tid: ThreadId) -> io::Result<u8> {
    peek(tid, register_offset(STATUS)).map(hits)
}

/// Lets a stopped thread trap before it executes an instruction. Returns the slot that is used for that; `None`: all
/// are in use.
pub fn set_code_slot(tid: ThreadId, addr: u64) -> io::Result<Option<usize>> {
    let control = peek(tid, register_offset(CONTROL))?;
    let mut slots = 0..MAX_SLOTS;
    let Some(slot) = slots.find(|slot| control >> (2 * slot) & 3 == 0) else {
        return Ok(None);
    };
    poke(tid, register_offset(slot), addr)?;
    // Type and length of an instruction are 0.
    let cleared = control & !(0xf << (16 + 4 * slot));
    poke(tid, register_offset(CONTROL), cleared | 1 << (2 * slot))?;
    Ok(Some(slot))
}

/// Ends what [`set_code_slot`] has begun. Returns whether the thread has trapped there.
pub fn clear_code_slot(tid: ThreadId, slot: usize) -> io::Result<bool> {
    let control = peek(tid, register_offset(CONTROL))?;
    poke(tid, register_offset(CONTROL), control & !(3 << (2 * slot)))?;
    let status = peek(tid, register_offset(STATUS))?;
    let bit = 1 << slot;
    if status & bit != 0 {
        poke(tid, register_offset(STATUS), status & !bit)?;
    }
    Ok(status & bit != 0)
}

/// Returns a debug register of a stopped thread.
#[cfg(feature = "simulated-mach")]
pub fn debug_register(tid: ThreadId, number: usize) -> io::Result<u64> {
    peek(tid, register_offset(number))
}

/// Sets the debug registers of a stopped thread.
#[cfg(feature = "simulated-mach")]
pub fn set_debug_registers(tid: ThreadId, values: &[u64; 8]) -> io::Result<()> {
    poke(tid, register_offset(CONTROL), 0)?;
    for number in [0, 1, 2, 3, STATUS] {
        poke(tid, register_offset(number), values[number])?;
    }
    match values[CONTROL] {
        0 => Ok(()),
        control => poke(tid, register_offset(CONTROL), control),
    }
}

/// Returns the extended registers; there are no modes with others.
pub fn read_with_modes(
    _: ThreadId,
    vectors: impl FnOnce() -> Option<ExtendedRegisters>,
) -> Option<ExtendedRegisters> {
    vectors()
}

/// Writes the extended registers; see [`read_with_modes`].
pub fn write_with_modes(_: ThreadId, area: &[u8], vectors: impl FnOnce(&[u8]) -> bool) -> bool {
    vectors(area)
}

/// Memory has no tags.
pub fn memory_tag(_: ThreadId, _: LoadAddr) -> Option<u8> {
    None
}

/// Writes a word of `struct user`.
fn poke(tid: ThreadId, offset: usize, word: u64) -> io::Result<()> {
    // SAFETY: integers only.
    let done = unsafe { libc::ptrace(libc::PTRACE_POKEUSER, tid.0, offset, word) };
    ptrace::result(done).map(drop)
}

/// Reads a word of `struct user`. A word of −1 is returned as an error.
fn peek(tid: ThreadId, offset: usize) -> io::Result<u64> {
    // SAFETY: the library's function returns the word instead of writing it to the last operand.
    let word = unsafe { libc::ptrace(libc::PTRACE_PEEKUSER, tid.0, offset, 0_usize) };
    ptrace::result(word).map(|word| word as u64)
}

/// Clears the slots of a thread that this process has stopped. One system call, which may be made
/// in a forked child.
pub fn clear_watchpoints(tid: libc::pid_t) {
    // SAFETY: integers only.
    unsafe {
        libc::ptrace(
            libc::PTRACE_POKEUSER,
            tid,
            register_offset(CONTROL),
            0_usize,
        )
    };
}

/// Returns the address of the trap that a signal handler was called for; execution continues behind
/// it.
#[cfg(test)]
pub fn pass_trap(context: &mut libc::ucontext_t) -> u64 {
    context.uc_mcontext.gregs[libc::REG_RIP as usize] as u64 - 1
}
