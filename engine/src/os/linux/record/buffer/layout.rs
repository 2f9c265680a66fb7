//! Where the buffer is in a recorded program: behind the page of the recorder, at the same addresses in
//! each program. All of it is within 31 bits, so that code uses absolute addresses.

use super::super::registers::CALL_LEN;
use super::super::scratch;
use std::ops::Range;

/// The code of the stub: in the page of the recorder, which is never written to by the program.
pub const STUB: u64 = scratch::PAGE + 0x10;
/// The system call instruction of the stub. It is the first of its code; the filter lets it pass.
pub const PASSED: u64 = STUB;
/// The pc after it.
pub const PASSED_END: u64 = PASSED + CALL_LEN;
/// The page of the stub, without the instruction by which the recorder and the debugger make calls.
pub const CODE: Range<u64> = STUB..scratch::ROOM;

/// The table of the calls that are buffered, of [`ENTRY_LEN`] bytes each.
pub const TABLE: u64 = scratch::PAGE + scratch::LEN;
/// Length of an entry of the table in bytes.
pub const ENTRY_LEN: usize = 8;
/// Numbers of calls in the table are below this.
pub const ENTRIES: usize = 512;

const WRITABLE_START: u64 = TABLE + (ENTRIES * ENTRY_LEN) as u64;
/// The memory that the stub writes to. It differs in a replay, and is in no hash.
pub const WRITABLE: Range<u64> = WRITABLE_START..RECORDS + RECORDS_LEN;
/// The end of the stack of the stub, which holds nothing but the flags.
pub const STACK_END: u64 = WORDS;
/// The flags of the program, on that stack.
pub const FLAGS: u64 = STACK_END - 8;
/// The words of the stub.
pub const WORDS: u64 = WRITABLE_START + 0xd00;
/// Their number.
pub const WORD_COUNT: usize = word::WOKEN + 1;
/// The most threads in the table of those that wait for words of futex(2), which follows on the words.
pub const MOST_WAITERS: usize = 64;
/// The records, from the first on.
pub const RECORDS: u64 = WRITABLE_START + 0x1000;
/// Their length at most in bytes: more take longer to copy after each snapshot, and fewer stop the
/// program more often.
pub const RECORDS_LEN: u64 = 1 << 20;
/// Length in bytes of what precedes the output in a record: the number of the call (32 bits), the
/// length of the output (32), the result (64).
pub const HEADER: usize = 16;
/// The most bytes of output that a buffered call can have. It costs more to copy them twice than
/// to stop.
pub const MOST_OUTPUT: u64 = 128 << 10;

/// The words, by their indices.
pub mod word {
    /// The address of the code that a jump in the program leads to: one of the entries of the stub.
    pub const ENTRY: usize = 0;
    /// Where the next record is written, or read in a replay.
    pub const NEXT: usize = 1;
    /// The end of the records of a replay.
    pub const END: usize = 2;
    /// Where the program continues after the call that the stub has been entered for.
    pub const SITE: usize = 3;
    /// The system call instruction that makes that call with a stop.
    pub const STOPPED: usize = 4;
    /// Registers of the program while the stub runs: rax, the six arguments, rbx, rbp, r12, rsp.
    pub const NUMBER: usize = 5;
    pub const ARGUMENTS: usize = 6;
    pub const RBX: usize = 12;
    pub const RBP: usize = 13;
    pub const R12: usize = 14;
    pub const RSP: usize = 15;
    /// Which threads of the table the program has woken since the last event: a bit for each.
    pub const WOKEN: usize = 16;
    /// How many threads are in the table (32 bits), and whether more wait (32 bits).
    pub const WAITERS: usize = 17;
    /// The addresses of the words that they wait for, those that have waited longest first.
    pub const WAITED: usize = 18;
}

/// Returns the address of a word.
pub const fn word_at(index: usize) -> u64 {
    WORDS + 8 * index as u64
}

/// The word that says where the next record is.
pub const NEXT_RECORD: u64 = word_at(word::NEXT);

/// Returns whether a mapping that begins at an address belongs to the buffer.
pub fn is_own(start: u64) -> bool {
    WRITABLE.contains(&start)
}

/// Returns whether an address is in the memory for records. What is there, replays write anew.
pub fn is_record(addr: u64) -> bool {
    (RECORDS..RECORDS + RECORDS_LEN).contains(&addr)
}

const _: () = assert!(STUB >= scratch::CALL + scratch::CODE.len() as u64);
const _: () = assert!(word_at(word::WAITED + MOST_WAITERS) <= RECORDS);
const _: () = assert!(MOST_WAITERS <= 64, "bits of a word");
const _: () = assert!(WRITABLE.end < 1 << 31);
