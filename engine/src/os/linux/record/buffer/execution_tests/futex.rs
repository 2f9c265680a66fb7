//! Executes what the stub does of futex(2) in this process: it wakes threads of the table, and changes threads.

use super::super::layout::{self, RECORDS, block, block_of, word};
use super::super::segments::Record;
use super::super::stub::{self, Entry};
use super::{Mapped, NEXT, Registers, SITE, stillpoint_call_site};

/// The table of the waiting threads: the words that they wait for, and whether more wait.
fn set_waiters(mapped: &Mapped, words: &[u64], are_more: bool) {
    mapped.set(word::WOKEN_FIRST, 60);
    mapped.set(word::WOKEN_END, 60);
    mapped.set(word::PARKS, 0);
    mapped.set(
        word::WAITERS,
        words.len() as u64 | u64::from(are_more) << 32,
    );
    for (nth, at) in words.iter().enumerate() {
        mapped.set(word::WAITED + nth, *at | (nth as u64) << 48);
    }
}

/// The queue of the threads that were woken.
fn woken(mapped: &Mapped) -> Vec<u64> {
    let all = mapped.word(word::WOKEN_FIRST)..mapped.word(word::WOKEN_END);
    let number = |nth: u64| {
        let at = nth % layout::MOST_WAITERS as u64;
        mapped.word(word::WOKEN + (at / 8) as usize) >> (8 * (at % 8)) & 0xff
    };
    all.map(number).collect()
}

/// The words of the threads that still wait, by their numbers.
fn waiting(mapped: &Mapped) -> Vec<u64> {
    let all = 0..mapped.word(word::WAITERS) as u32 as usize;
    all.map(|nth| mapped.word(word::WAITED + nth) >> 48)
        .collect()
}

fn wake(mapped: &Mapped, at: u64, count: u64) -> i64 {
    let operation = stub::WAKE_PRIVATE as u64;
    mapped.set(word::STOPPED, 0);
    let after = mapped.call(libc::SYS_futex, [at, operation, count, 9, 10, 11]);
    assert_eq!(after.rcx, NEXT, "without a stop");
    after.rax as i64
}

/// The numbers and the results of records.
fn results(mapped: &Mapped) -> Vec<(u32, i64)> {
    let records = mapped.records();
    let mut all = Vec::new();
    let mut rest = &records[..];
    while let Some(record) = Record::first(rest) {
        all.push((record.number, record.result));
        rest = &rest[record.len..];
    }
    all
}

#[test]
fn threads_of_the_table_are_woken_in_their_order_once() {
    let mapped = Mapped::with(Entry::Record);
    let (one, other) = (0x5555_0000, 0x5555_0004);
    set_waiters(&mapped, &[one, other, one, one], false);
    assert_eq!(wake(&mapped, one, 1), 1);
    assert_eq!((woken(&mapped), waiting(&mapped)), (vec![0], vec![1, 2, 3]));
    assert_eq!(wake(&mapped, one, i32::MAX as u64), 2);
    assert_eq!((woken(&mapped), waiting(&mapped)), (vec![0, 2, 3], vec![1]));
    assert_eq!(wake(&mapped, one, 1), 0);
    assert_eq!(wake(&mapped, other + 4, 1), 0);
    assert_eq!((woken(&mapped), waiting(&mapped)), (vec![0, 2, 3], vec![1]));
    let all = results(&mapped);
    assert!(all.iter().all(|it| i64::from(it.0) == libc::SYS_futex));
    let all: Vec<i64> = all.into_iter().map(|it| it.1).collect();
    assert_eq!(all, [1, 2, 0, 0]);

    mapped.set(word::ENTRY, Entry::Replay.addr());
    mapped.set(word::END, mapped.word(word::NEXT));
    mapped.set(word::NEXT, RECORDS);
    set_waiters(&mapped, &[], false);
    assert_eq!(wake(&mapped, one, 1), 1);
    assert_eq!(wake(&mapped, one, 1), 2, "what the records say");
}

#[test]
fn all_threads_of_a_full_table_can_be_woken() {
    let mapped = Mapped::with(Entry::Record);
    set_waiters(&mapped, &[0x5555_0000; layout::MOST_WAITERS], true);
    assert_eq!(wake(&mapped, 0x5555_0000, 63), 63);
    assert_eq!(waiting(&mapped), [63]);
    assert_eq!(wake(&mapped, 0x5555_0000, 1), 1);
    let all: Vec<u64> = (0..layout::MOST_WAITERS as u64).collect();
    assert_eq!(woken(&mapped), all, "the queue begins anywhere");
}

#[test]
fn other_calls_of_futex_are_left_to_the_slot() {
    let mapped = Mapped::with(Entry::Record);
    let mut here = [7_u32; 2];
    let at = here.as_mut_ptr() as u64;
    let wake = stub::WAKE_PRIVATE as u64;
    let wait = stub::WAIT_PRIVATE as u64;
    let calls = [
        // More threads than the table has; a wait; a word that others may have, too; addresses that the
        // kernel refuses; counts that it takes for others.
        ([at, wake, 2, 0, 0, 0], true),
        ([at, wait, 6, 0, 0, 0], false),
        ([at, libc::FUTEX_WAKE as u64, 1, 0, 0, 0], false),
        ([at + 1, wake, 1, 0, 0, 0], false),
        ([1 << 63, wake, 1, 0, 0, 0], false),
        ([at, wake, 0, 0, 0, 0], false),
        ([at, wake, u64::from(u32::MAX), 0, 0, 0], false),
    ];
    for (arguments, are_more) in calls {
        set_waiters(&mapped, &[at], are_more);
        mapped.set(word::STOPPED, 0);
        let after = mapped.call(libc::SYS_futex, arguments);
        assert!(mapped.records().is_empty(), "{arguments:x?}");
        assert_eq!(after.rcx, mapped.word(word::STOPPED) + 2);
        assert_eq!((woken(&mapped), waiting(&mapped)), (vec![], vec![0]));
    }
    mapped.set(word::NEXT, RECORDS + layout::RECORDS_LEN - 8);
    let after = mapped.call(libc::SYS_futex, [at, wake, 1, 0, 0, 0]);
    assert_ne!(after.rcx, NEXT, "there is no room for a record");
    assert!(woken(&mapped).is_empty());
}

/// The thread that runs has the number 0. Another one, with the number 1, is parked, and can run.
fn set_parked(mapped: &Mapped) {
    set_waiters(mapped, &[], false);
    mapped.set(word::PARKS, 1);
    mapped.set(word::CURRENT, block_of(0));
    mapped.set(word::PARKED, 0b10);
    mapped.set(word::CHANGES, 0);
    mapped.set(word::WOKEN_FIRST, 0);
    mapped.set(word::WOKEN_END, 1);
    mapped.set(word::WOKEN, 1);
    for number in 0..2 {
        set_block(mapped, number, block::RUNS, 0);
        set_block(mapped, number, block::NUMBER, (number as u64) << 48);
    }
}

fn set_block(mapped: &Mapped, number: usize, offset: u64, value: u64) {
    mapped.write(block_of(number) + offset, &value.to_le_bytes());
}

/// Code that parks the thread with the number 1, which returns when it runs.
const PARK: u64 = SITE + 0x100;

fn write_park(mapped: &Mapped) {
    let place = block_of(1) + block::SAVED + 8 * (word::RSP - word::SITE) as u64;
    // mov [place], rsp; mov rbx, block; mov rax, parked; jmp rax
    let mut code = vec![0x48, 0x89, 0x24, 0x25];
    code.extend((place as u32).to_le_bytes());
    code.extend([0x48, 0xbb]);
    code.extend(block_of(1).to_le_bytes());
    code.extend([0x48, 0xb8]);
    code.extend(stub::parked().to_le_bytes());
    code.extend([0xff, 0xe0]);
    mapped.write(PARK, &code);
    /// The return behind the call.
    const RETURN: u64 = SITE + 8;
    set_block(mapped, 1, block::SAVED, RETURN);
    set_block(mapped, 1, block::FLAGS, 0x202);
}

#[test]
fn threads_change_without_a_stop() {
    let mapped = Mapped::with(Entry::Record);
    let words = [7_u32, 9];
    let at = |nth: usize| &raw const words[nth] as u64;
    set_parked(&mapped);
    write_park(&mapped);
    let wait = stub::WAIT_PRIVATE as u64;
    let wait_bits = (stub::WAIT_BITS_PRIVATE | libc::FUTEX_CLOCK_REALTIME) as u64;
    let any = u64::from(u32::MAX);
    let mapped = &*mapped;
    std::thread::scope(|scope| {
        let [first, second] = [at(0), at(1)];
        let other = scope.spawn(move || {
            let mut registers = Registers::default();
            // SAFETY: the code preserves what C functions preserve, and writes to the memory of the stub only.
            unsafe { stillpoint_call_site(&raw mut registers, PARK) };
            assert_eq!(registers.rax, 0, "it was woken");
            assert_eq!(mapped.word(word::CURRENT), block_of(1));
            assert_eq!(wake(mapped, first, 1), 1);
            let after = mapped.call(libc::SYS_futex, [second, wait_bits, 9, 0, 11, any]);
            assert_eq!((after.rax, after.rcx), (0, NEXT));
        });
        let after = mapped.call(libc::SYS_futex, [first, wait, 7, 0, 11, 12]);
        assert_eq!((after.rax, after.rcx), (0, NEXT));
        assert_eq!(mapped.word(word::CURRENT), block_of(0));
        assert_eq!((woken(mapped), waiting(mapped)), (vec![], vec![1]));
        assert_eq!(mapped.word(word::PARKED), 0b10);
        assert_eq!(mapped.word(word::CHANGES), 2);
        set_block(mapped, 1, block::RUNS, 1);
        let place = block_of(1) as *const u32;
        // SAFETY: it wakes threads at a word.
        unsafe { libc::syscall(libc::SYS_futex, place, stub::WAKE_PRIVATE, 1) };
        other.join().expect("it runs on");
    });
    let futex = libc::SYS_futex as u32;
    let change = layout::CHANGE;
    assert_eq!(results(mapped), [(change, 1), (futex, 1), (change, 0)]);
}

#[test]
fn a_word_that_has_changed_is_answered_without_a_change() {
    let mapped = Mapped::with(Entry::Record);
    let word = 7_u32;
    let at = &raw const word as u64;
    set_parked(&mapped);
    let wait = stub::WAIT_PRIVATE as u64;
    let after = mapped.call(libc::SYS_futex, [at, wait, 6, 0, 11, 12]);
    assert_eq!(after.rax as i64, -i64::from(libc::EAGAIN));
    assert_eq!(after.rcx, NEXT, "without a stop");
    let record = (libc::SYS_futex as u32, -i64::from(libc::EAGAIN));
    assert_eq!(results(&mapped), [record]);
    assert_eq!(mapped.word(word::CURRENT), block_of(0));
    assert_eq!((woken(&mapped), waiting(&mapped)), (vec![1], vec![]));
}

#[test]
fn waits_that_cannot_change_threads_are_left_to_the_slot() {
    let mapped = Mapped::with(Entry::Record);
    let (word, time) = (7_u32, [0_u64; 2]);
    let (at, time) = (&raw const word as u64, time.as_ptr() as u64);
    let wait = stub::WAIT_PRIVATE as u64;
    let wait_bits = stub::WAIT_BITS_PRIVATE as u64;
    // A time; some bits; a word that others may have, too; addresses that the kernel refuses.
    let calls = [
        [at, wait, 6, time, 0, 0],
        [at, wait_bits, 6, 0, 0, 1],
        [at, libc::FUTEX_WAIT as u64, 6, 0, 0, 0],
        [at + 1, wait, 6, 0, 0, 0],
        [1 << 63, wait, 6, 0, 0, 0],
        [0x5555_0000, wait, 6, 0, 0, 0],
    ];
    for arguments in calls {
        set_parked(&mapped);
        assert_is_left(&mapped, arguments);
    }
    let arguments = [at, wait, 6, 0, 0, 0];
    set_parked(&mapped);
    mapped.set(word::PARKS, 0);
    assert_is_left(&mapped, arguments);
    set_parked(&mapped);
    mapped.set(word::PARKED, 0b01);
    assert_is_left(&mapped, arguments);
    set_parked(&mapped);
    mapped.set(word::WOKEN_FIRST, 1);
    assert_is_left(&mapped, arguments);
    set_parked(&mapped);
    mapped.set(word::NEXT, RECORDS + layout::RECORDS_LEN - 100);
    let after = mapped.call(libc::SYS_futex, arguments);
    assert_ne!(after.rcx, NEXT, "there is no room for a record");
}

fn assert_is_left(mapped: &Mapped, arguments: [u64; 6]) {
    mapped.set(word::STOPPED, 0);
    let after = mapped.call(libc::SYS_futex, arguments);
    assert!(mapped.records().is_empty(), "{arguments:x?}");
    assert_eq!(after.rcx, mapped.word(word::STOPPED) + 2);
    assert_eq!(mapped.word(word::CURRENT), block_of(0));
    assert_eq!(mapped.word(word::WAITERS), 0, "{arguments:x?}");
}
