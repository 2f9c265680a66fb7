//! The stub: the code that makes a system call of the program without a stop, and what makes it again
//! in a replay.
//!
//! A site in the program jumps, by a slot (`jump`), to one of its four entries:
//!
//! - `record` lets the kernel make the call, with the arguments of the program, and adds a record of the
//!   result and the output. A call that is not in the table, or for which there is no room, is left
//!   to the slot, which makes it with a stop.
//!   FUTEX_WAKE is made by the stub itself: it moves the threads from the table of those that wait to the queue of
//!   those that are woken, for the recorder, which lets them run when it is their turn. If that would take threads
//!   that are not in the table, the call is left to the slot. A wait is made by the stub, too, if the thread that runs
//!   next is parked (`parking`).
//! - `replay` takes the next record instead of a call, writes its output to the memory of the
//!   program, and returns its result. Without a record it leaves the call to the slot. So a replay
//!   does not repeat the decisions of the recording: it stops where that has stopped.
//! - `pass` leaves every call to the slot: while a signal is held.
//! - `free` makes the call by the entry of the site that the filter lets pass (`free`), in programs that are not recorded.
//!
//! What the program sees is the same by `record` and `replay`: all registers are as after a system
//! call (`rcx` the next pc, `r11` the flags), the memory below its stack pointer is not touched, and
//! memory is read only where the kernel has just written to it. The state of the stub is in absolute words:
//! the recorder lets no handler of a signal begin here, so it is not entered twice. At the
//! instructions of the slots it has no state.

use super::jump;
use super::layout::{
    self, BLOCK_LEN, BLOCKS, CHANGE, CHANGE_WORDS, ENTRIES, HEADER, MOST_OUTPUT, MOST_WAITERS,
    PASSED, RECORDS, RECORDS_LEN, SAVED, STACK_END, STUB, TABLE, block, word, word_at,
};
use std::ops::Range;

/// How a call in the table writes to memory.
pub mod kind {
    /// It does not.
    pub const NO_OUTPUT: u8 = 1;
    /// So many bytes as the entry says.
    pub const FIXED: u8 = 2;
    /// An argument times what the entry says.
    pub const BY_ARGUMENT: u8 = 3;
    /// The result times what the entry says, and not more than an argument times that.
    pub const BY_RESULT: u8 = 4;
    /// It does not, if the second argument is one of the requests whose bits the entry has.
    pub const BY_REQUEST: u8 = 5;
    /// It does not. It is futex(2): the stub wakes threads of the table, or parks the thread.
    pub const WAKE: u8 = 6;

    /// Returns the bit of a request, as the stub computes it: there are bits for 0 to 15, and for 1024 to
    /// 1039.
    pub const fn request_bit(request: u64) -> Option<u32> {
        match request {
            0..16 => Some(1 << request),
            1024..1040 => Some(1 << (request - 1024 + 16)),
            _ => None,
        }
    }
}

/// FUTEX_WAKE | FUTEX_PRIVATE_FLAG
pub const WAKE_PRIVATE: i32 = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;

/// FUTEX_WAIT | FUTEX_PRIVATE_FLAG
pub const WAIT_PRIVATE: i32 = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
/// FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG
pub const WAIT_BITS_PRIVATE: i32 = libc::FUTEX_WAIT_BITSET | libc::FUTEX_PRIVATE_FLAG;

// In registers: ebx the entry of the table (kind, argument of the address, argument of the length,
// mask of arguments that must be 0), rbp the size from the entry, r12 the length of the output.
std::arch::global_asm!(
    include_str!("stub.s"),
    include_str!("stub_futex.s"),
    stack = const STACK_END,
    table = const TABLE,
    entries = const ENTRIES,
    most = const MOST_OUTPUT,
    header = const HEADER,
    records_end = const RECORDS + RECORDS_LEN,
    no_output = const kind::NO_OUTPUT,
    fixed = const kind::FIXED,
    by_result = const kind::BY_RESULT,
    by_request = const kind::BY_REQUEST,
    wake = const kind::WAKE,
    wake_private = const WAKE_PRIVATE,
    next = const word_at(word::NEXT),
    end = const word_at(word::END),
    site = const word_at(word::SITE),
    stopped = const word_at(word::STOPPED),
    number = const word_at(word::NUMBER),
    arguments = const word_at(word::ARGUMENTS),
    rbx = const word_at(word::RBX),
    rbp = const word_at(word::RBP),
    r12 = const word_at(word::R12),
    rsp = const word_at(word::RSP),
    wait_private = const WAIT_PRIVATE,
    wait_until = const WAIT_BITS_PRIVATE,
    wait_until_real = const WAIT_BITS_PRIVATE | libc::FUTEX_CLOCK_REALTIME,
    compare_requeue = const libc::FUTEX_CMP_REQUEUE | libc::FUTEX_PRIVATE_FLAG,
    futex = const libc::SYS_futex,
    again = const -libc::EAGAIN,
    free = const jump::ENTRY_OF_CALL,
    change = const CHANGE,
    change_words = const CHANGE_WORDS,
    change_len = const HEADER + 8 * CHANGE_WORDS,
    saved = const SAVED,
    block_saved = const block::SAVED,
    block_flags = const block::FLAGS,
    block_number = const block::NUMBER,
    block_len = const BLOCK_LEN,
    blocks = const BLOCKS,
    parks = const word_at(word::PARKS),
    current = const word_at(word::CURRENT),
    parked = const word_at(word::PARKED),
    changes = const word_at(word::CHANGES),
    most_waiters = const MOST_WAITERS,
    woken_first = const word_at(word::WOKEN_FIRST),
    woken_end = const word_at(word::WOKEN_END),
    woken = const word_at(word::WOKEN),
    waiters = const word_at(word::WAITERS),
    waited = const word_at(word::WAITED),
);

unsafe extern "C" {
    static stillpoint_stub_begin: u8;
    static stillpoint_stub_record: u8;
    static stillpoint_stub_replay: u8;
    static stillpoint_stub_pass: u8;
    static stillpoint_stub_free: u8;
    static stillpoint_stub_park: u8;
    static stillpoint_stub_parked: u8;
    static stillpoint_stub_park_end: u8;
    static stillpoint_stub_stop: u8;
    static stillpoint_stub_end: u8;
}

/// An entry of the stub.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Entry {
    Record,
    Replay,
    Pass,
    Free,
}

impl Entry {
    /// Returns its address in a recorded program.
    pub fn addr(self) -> u64 {
        let at = match self {
            Entry::Record => &raw const stillpoint_stub_record,
            Entry::Replay => &raw const stillpoint_stub_replay,
            Entry::Pass => &raw const stillpoint_stub_pass,
            Entry::Free => &raw const stillpoint_stub_free,
        };
        address(at)
    }
}

/// Returns the address of a label of the stub in a recorded program.
fn address(label: *const u8) -> u64 {
    STUB + (label as u64 - (&raw const stillpoint_stub_begin) as u64)
}

/// The code of a thread that is parked, or runs again after that, besides the call at [`layout::PARKING`]. What it
/// needs is in its block.
pub fn park() -> Range<u64> {
    address(&raw const stillpoint_stub_park)..address(&raw const stillpoint_stub_park_end)
}

/// Where a thread parks, whose block is in rbx.
pub fn parked() -> u64 {
    address(&raw const stillpoint_stub_parked)
}

/// The system call instruction by which a thread that was parked makes its call with a stop.
pub fn stop() -> u64 {
    address(&raw const stillpoint_stub_stop)
}

/// The code of the entry `free`.
pub fn free() -> Range<u64> {
    address(&raw const stillpoint_stub_free)..address(&raw const stillpoint_stub_end)
}

/// Returns the code of the stub, for the address [`STUB`].
pub fn code() -> &'static [u8] {
    // SAFETY: both are labels of one section of constants, which lives as long as the program.
    unsafe {
        let begin = &raw const stillpoint_stub_begin;
        let end = &raw const stillpoint_stub_end;
        std::slice::from_raw_parts(begin, end as usize - begin as usize)
    }
}

const _: () = assert!(PASSED == STUB && word::NUMBER + 1 == word::ARGUMENTS);
const _: () = assert!(layout::ENTRY_LEN == 8);
