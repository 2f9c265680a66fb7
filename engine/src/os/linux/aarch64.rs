//! The debug registers of a stopped thread: the kernel's sets `NT_ARM_HW_BREAK` and
//! `NT_ARM_HW_WATCH` (`struct user_hwdebug_state`, `arch/arm64/include/uapi/asm/ptrace.h`): a word
//! with the number of slots, then an address and a control word for each.

use super::super::linux_abi::signal;
use super::ptrace;
use crate::arch::aarch64::watch::{hits, registers, slot_of};
use crate::arch::watch::{MAX_SLOTS, Slot, Trigger};
use crate::ids::ThreadId;
use dwarf::LoadAddr;
use std::io;

const BREAK_SET: i32 = 0x402;
const WATCH_SET: i32 = 0x403;
/// Offset of the first slot, and size of one.
const HEAD: usize = 8;
const ENTRY: usize = 16;
/// Size of a set of which the kernel has as many slots as it ever may.
const LARGEST: usize = HEAD + 16 * ENTRY;

/// Sets what a stopped thread traps at. Slots keep their positions.
pub fn set_watchpoints(tid: ThreadId, slots: &[Option<Slot>; MAX_SLOTS]) -> io::Result<()> {
    for set in [BREAK_SET, WATCH_SET] {
        let is_code = set == BREAK_SET;
        let of_set = |slot: &&Slot| (slot.trigger == Trigger::Execute) == is_code;
        let wanted = slots.iter().map(|slot| slot.as_ref().filter(of_set));
        set_slots(tid, set, wanted)?;
    }
    Ok(())
}

fn set_slots<'a>(
    tid: ThreadId,
    set: i32,
    wanted: impl Iterator<Item = Option<&'a Slot>>,
) -> io::Result<()> {
    let unsupported = || io::Error::from(io::ErrorKind::Unsupported);
    let mut area = [0; LARGEST];
    let present = ptrace::read_register_bytes(tid, set, &mut area).ok_or_else(unsupported)?;
    // The kernel checks an address against the control word, which is cleared first.
    let cleared = [0; LARGEST];
    let mut state = cleared;
    let mut end = HEAD;
    let count = usize::from(area[0]).min(present.saturating_sub(HEAD) / ENTRY);
    for (nth, slot) in wanted.enumerate() {
        let Some(slot) = slot else { continue };
        if nth >= count {
            return Err(unsupported());
        }
        let (addr, control) = registers(slot);
        let at = HEAD + nth * ENTRY;
        state[at..at + 8].copy_from_slice(&addr.to_le_bytes());
        state[at + 8..at + 12].copy_from_slice(&control.to_le_bytes());
        end = at + ENTRY;
    }
    let all = HEAD + count * ENTRY;
    let is_set = all == HEAD || ptrace::write_register_bytes(tid, set, &cleared[..all]);
    match is_set && (end == HEAD || ptrace::write_register_bytes(tid, set, &state[..end])) {
        true => Ok(()),
        false => Err(io::Error::last_os_error()),
    }
}

/// Returns which slots a stopped thread's last trap came from, one bit each: the processor does not
/// say, so that they are found by the address of the access.
pub fn triggered_watchpoints(tid: ThreadId) -> io::Result<u8> {
    let gone = || io::Error::from_raw_os_error(libc::ESRCH);
    let info = ptrace::signal_info(tid).ok_or_else(gone)?;
    let address = signal::decode_info(&info).and_then(|info| info.address);
    let Some(address) = address else { return Ok(0) };
    let mut slots = [None; MAX_SLOTS];
    for (set, code) in [(BREAK_SET, Some(Trigger::Execute)), (WATCH_SET, None)] {
        let mut area = [0; LARGEST];
        let len = ptrace::read_register_bytes(tid, set, &mut area).ok_or_else(gone)?;
        let entries = area.get(HEAD..len).unwrap_or_default().chunks_exact(ENTRY);
        for (slot, entry) in slots.iter_mut().zip(entries) {
            let word = |at: usize| {
                u32::from_le_bytes([entry[at], entry[at + 1], entry[at + 2], entry[at + 3]])
            };
            let addr = u64::from(word(0)) | u64::from(word(4)) << 32;
            *slot = slot.or_else(|| slot_of(addr, word(8), code));
        }
    }
    Ok(hits(&slots, address.0))
}

/// Returns the tag (MTE) of the 16 bytes of memory around an address; `None` without tags.
pub fn memory_tag(tid: ThreadId, addr: LoadAddr) -> Option<u8> {
    /// `PTRACE_PEEKMTETAGS` (`arch/arm64/include/uapi/asm/ptrace.h`)
    const PEEK_TAGS: u8 = 33;
    let mut tag = 0_u8;
    let mut vector = libc::iovec {
        iov_base: (&raw mut tag).cast(),
        iov_len: 1,
    };
    // SAFETY: the request writes at most `iov_len` bytes, which is the size of `tag`.
    let done = unsafe { libc::ptrace(PEEK_TAGS.into(), tid.0, addr.0 as usize, &raw mut vector) };
    (done != -1 && vector.iov_len == 1).then_some(tag & 0xf)
}

/// Clears the slots of a thread that this process has stopped. Two system calls, which may be made
/// in a forked child.
pub fn clear_watchpoints(tid: libc::pid_t) {
    for set in [BREAK_SET, WATCH_SET] {
        let state = [0_u8; HEAD + MAX_SLOTS * ENTRY];
        let mut vector = libc::iovec {
            iov_base: state.as_ptr().cast_mut().cast(),
            iov_len: state.len(),
        };
        // SAFETY: the request reads `iov_len` bytes of a live array of that size.
        unsafe { libc::ptrace(libc::PTRACE_SETREGSET, tid, set as usize, &raw mut vector) };
    }
}

/// Returns the address of the trap that a signal handler was called for; execution continues behind
/// it.
#[cfg(test)]
pub fn pass_trap(context: &mut libc::ucontext_t) -> u64 {
    let trap = context.uc_mcontext.pc;
    context.uc_mcontext.pc = trap + 4;
    trap
}
