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
/// The system call instruction by which a parked thread waits, and wakes the next one: behind the first and a jump. The
/// filter lets it pass, too.
pub const PARKING: u64 = STUB + 8;
/// The pc after it.
pub const PARKING_END: u64 = PARKING + CALL_LEN;
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
pub const WRITABLE: Range<u64> = WRITABLE_START..BLOCKS + (MOST_WAITERS * BLOCK_LEN) as u64;
/// The end of the stack of the stub, which holds nothing but the flags.
pub const STACK_END: u64 = WORDS;
/// The flags of the program, on that stack.
pub const FLAGS: u64 = STACK_END - 8;
/// The words of the stub.
pub const WORDS: u64 = WRITABLE_START + 0xd00;
/// The number of those that are looked at together.
pub const WORD_COUNT: usize = word::WOKEN_END + 1;
/// The most threads in the table of those that wait for words of futex(2). Threads have numbers below this.
pub const MOST_WAITERS: usize = 64;
/// The records, from the first on.
pub const RECORDS: u64 = WRITABLE_START + 0x1000;
/// Their length at most in bytes: more take longer to copy after each snapshot, and fewer stop the
/// program more often.
pub const RECORDS_LEN: u64 = 1 << 20;
/// Length in bytes of what precedes the output in a record: the number of the call (32 bits), the
/// length of the output (32), the result (64).
pub const HEADER: usize = 16;
/// The blocks of the threads, by their numbers.
pub const BLOCKS: u64 = RECORDS + RECORDS_LEN;
/// Length in bytes of a block.
pub const BLOCK_LEN: usize = 128;
/// The number of a call in a record of a change of threads. Calls have lower ones.
pub const CHANGE: u32 = u32::MAX;
/// Words that such a record has behind its header: those that the stub has saved from [`word::SITE`] on, the flags, r13,
/// r14, r15, and the bases of the segments fs and gs.
pub const CHANGE_WORDS: usize = SAVED + 6;
/// The words that the stub saves when it is entered.
pub const SAVED: usize = word::RSP - word::SITE + 1;
/// The most bytes of output that a buffered call can have. It costs more to copy them twice than
/// to stop.
pub const MOST_OUTPUT: u64 = 128 << 10;

/// The entries by which programs that are not recorded make their calls: the filter lets them pass.
pub const FREE: Range<u64> = scratch::PAGE + (2 << 20)..scratch::PAGE + (2 << 20) + FREE_LEN;
const FREE_LEN: u64 = 256 << 10;
/// Length of such an entry in bytes.
pub const FREE_ENTRY: u64 = 16;

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
    /// The first thread in the queue of those that can run and do not, and the end of the queue: numbers that only
    /// grow. The program has woken them since the last event; while threads are parked, all that can run are there.
    pub const WOKEN_FIRST: usize = 16;
    pub const WOKEN_END: usize = 17;
    /// The queue: the number of a thread in each byte.
    pub const WOKEN: usize = 18;
    /// How many threads are in the table (32 bits), and whether more wait (32 bits).
    pub const WAITERS: usize = 26;
    /// The words that they wait for, those that have waited longest first: the address (48 bits), and the number of the
    /// thread.
    pub const WAITED: usize = 27;
    /// Whether threads may be parked.
    pub const PARKS: usize = 91;
    /// The block of the thread that runs, if threads may be parked.
    pub const CURRENT: usize = 92;
    /// Which threads are parked: a bit for each.
    pub const PARKED: usize = 93;
    /// How often the thread that runs was changed without a stop.
    pub const CHANGES: usize = 94;
}

/// The block of a thread, by offsets in bytes.
pub mod block {
    /// Whether the thread may run: the word of futex(2) at which it is parked.
    pub const RUNS: u64 = 0;
    /// What the stub had saved when the thread began to wait: the words from `word::SITE` on, and the flags.
    pub const SAVED: u64 = 8;
    pub const FLAGS: u64 = SAVED + 8 * super::SAVED as u64;
    /// The number of the thread, in the bits above an address.
    pub const NUMBER: u64 = FLAGS + 8;
}

/// Returns the address of the block of a thread.
pub const fn block_of(number: usize) -> u64 {
    BLOCKS + (number * BLOCK_LEN) as u64
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
const _: () = assert!(word_at(word::CHANGES) < RECORDS);
const _: () = assert!(word::WOKEN + MOST_WAITERS / 8 == word::WAITERS);
const _: () = assert!(word::WAITED + MOST_WAITERS == word::PARKS);
const _: () = assert!(MOST_WAITERS == 64, "bits of a word, and a power of two");
const _: () = assert!(block::NUMBER + 8 <= BLOCK_LEN as u64);
const _: () = assert!(BLOCKS.is_multiple_of(4096));
const _: () = assert!(WRITABLE.end < FREE.start && FREE.end < 1 << 31);
const _: () = assert!(
    FREE.start.is_multiple_of(FREE_LEN),
    "one mask tells whether an address is there"
);
