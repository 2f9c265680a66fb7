//! What is special about a stopped thread: its debug registers, the modes of the Scalable Matrix
//! Extension (SME), tags of its memory.
//!
//! Debug registers are the kernel's sets `NT_ARM_HW_BREAK` and
//! `NT_ARM_HW_WATCH` (`struct user_hwdebug_state`, `arch/arm64/include/uapi/asm/ptrace.h`): a word
//! with the number of slots, then an address and a control word for each.

use super::super::linux_abi::signal;
use super::ptrace;
use crate::arch::ExtendedRegisters;
use crate::arch::aarch64::extended::is_scalable;
use crate::arch::aarch64::matrix;
use crate::arch::aarch64::watch::{hits, registers, slot_of};
use crate::arch::watch::{MAX_SLOTS, Slot, Trigger};
use crate::ids::ThreadId;
use dwarf::LoadAddr;
use std::io;

/// Whether a system call leaves all vector registers as they are.
pub const CALLS_KEEP_VECTORS: bool = false;

/// The code of a refuge.
pub const REFUGE: super::refuge::Code = super::refuge::Code {
    // svc #0; cbz w0, 1f; b .; 1: udf #0; svc #0; b .
    bytes: &[
        0x01, 0x00, 0x00, 0xd4, 0x40, 0x00, 0x00, 0x34, 0x00, 0x00, 0x00, 0x14, 0x00, 0x00, 0x00,
        0x00, 0x01, 0x00, 0x00, 0xd4, 0x00, 0x00, 0x00, 0x14,
    ],
    copying_call: 0,
    call: 16,
    wait: 20,
};

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

const SVE_SET: i32 = 0x405;
const STREAMING_SET: i32 = 0x40b;
const MATRIX_SET: i32 = 0x40c;
const TLS_SET: i32 = 0x401;
/// Size of `struct user_sve_header` and `struct user_za_header`, which begin with the size of all.
const SET_HEADER: usize = 16;
/// Size of `struct user_fpsimd_state`.
const PLAIN: usize = 528;

/// The modes of SME that a thread is in: the sizes of their sets, where they are in use.
struct Modes {
    streaming: Option<usize>,
    matrix: Option<usize>,
}

/// Returns the modes of a thread; `None` without SME.
fn modes(tid: ThreadId) -> Option<Modes> {
    let header = |set| {
        let mut header = [0; SET_HEADER];
        ptrace::read_register_bytes(tid, set, &mut header)?;
        Some(header)
    };
    let size = |header: &[u8; SET_HEADER]| {
        let [a, b, c, d, ..] = *header;
        (u32::from_le_bytes([a, b, c, d]) as usize).min(matrix::LARGEST)
    };
    let matrix = header(MATRIX_SET)?;
    let streaming = header(STREAMING_SET)?;
    Some(Modes {
        // The header alone is there of a matrix that is not in use, and no scalable vectors are in the
        // other mode.
        matrix: Some(size(&matrix)).filter(|size| *size > SET_HEADER),
        streaming: is_scalable(&streaming).then(|| size(&streaming)),
    })
}

fn read_set(tid: ThreadId, set: i32, size: usize) -> Option<Vec<u8>> {
    let mut bytes = vec![0; size];
    let len = ptrace::read_register_bytes(tid, set, &mut bytes)?;
    bytes.truncate(len);
    Some(bytes)
}

/// Returns the extended registers, with those of the modes of SME if the thread is in one.
/// `read_vectors` reads those of no mode.
pub fn read_with_modes(
    tid: ThreadId,
    read_vectors: impl FnOnce() -> Option<ExtendedRegisters>,
) -> Option<ExtendedRegisters> {
    let modes = match modes(tid) {
        Some(modes) if modes.streaming.is_some() || modes.matrix.is_some() => modes,
        _ => return read_vectors(),
    };
    let vectors = match modes.streaming {
        Some(size) => read_set(tid, STREAMING_SET, size)?.into(),
        None => read_vectors()?,
    };
    let state = matrix::State {
        vectors: &vectors,
        is_streaming: modes.streaming.is_some(),
        matrix: &read_set(tid, MATRIX_SET, modes.matrix.unwrap_or(SET_HEADER))?,
        second_thread_pointer: thread_pointers(tid)?[1],
    };
    Some(matrix::join(&state).into())
}

/// Writes the extended registers; a thread that [`read_with_modes`] found in no mode leaves those that
/// it is in. `write_vectors` writes those of no mode.
pub fn write_with_modes(
    tid: ThreadId,
    area: &[u8],
    write_vectors: impl FnOnce(&[u8]) -> bool,
) -> bool {
    let wanted = matrix::split(area);
    let now = match modes(tid) {
        Some(now) => now,
        None => return write_vectors(area),
    };
    let streams = wanted.is_some_and(|it| it.is_streaming);
    if now.streaming.is_some() && !streams && !leave_streaming_mode(tid) {
        return false;
    }
    let vectors = matrix::vectors(area);
    let written = match streams {
        true => ptrace::write_register_bytes(tid, STREAMING_SET, vectors),
        false => write_vectors(vectors),
    };
    // The header alone turns the matrix off.
    let matrix = match wanted {
        Some(it) => Some(it.matrix.to_vec()),
        None if now.matrix.is_some() => read_set(tid, MATRIX_SET, SET_HEADER),
        None => return written,
    };
    let matrix = matrix.is_some_and(|set| ptrace::write_register_bytes(tid, MATRIX_SET, &set));
    let pointer = wanted.map_or(0, |it| it.second_thread_pointer);
    let pointers = thread_pointers(tid)
        .is_some_and(|[first, _]| ptrace::write_register_words(tid, TLS_SET, &[first, pointer]));
    written && matrix && pointers
}

/// Leaves streaming mode: the kernel does so when the vectors of the other mode are written.
fn leave_streaming_mode(tid: ThreadId) -> bool {
    let Some(mut set) = read_set(tid, SVE_SET, SET_HEADER) else {
        return false;
    };
    // Flags of 0: 16 bytes of each vector follow.
    set.resize(SET_HEADER + PLAIN, 0);
    let (size, flags) = (set.len() as u32, [0; 2]);
    set[..4].copy_from_slice(&size.to_le_bytes());
    set[12..14].copy_from_slice(&flags);
    ptrace::write_register_bytes(tid, SVE_SET, &set)
}

/// Returns the thread pointer, and the one that says whether the matrix waits to be saved.
fn thread_pointers(tid: ThreadId) -> Option<[u64; 2]> {
    let mut words = [0; 2];
    ptrace::read_register_words(tid, TLS_SET, &mut words).then_some(words)
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
