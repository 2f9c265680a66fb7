//! Threads that are parked: they wait in the stub, each at a word of its own, so that one thread of the program lets
//! the next one run without a stop. Each change of threads is a record; the recorder takes them out at the next stop.
//!
//! The words say which thread runs. It is the only one that executes code of the program, or of the stub outside of
//! [`stub::park`]. The others that are not stopped are there. The store to [`word::CURRENT`] is the change: what the
//! thread before needs to run again is in its block then.

use super::super::log::Log;
use super::super::registers::{Registers, SavedCall, SavedWait};
use super::layout::{
    self, BLOCK_LEN, BLOCKS, CHANGE, CHANGE_WORDS, MOST_WAITERS, RECORDS, STACK_END, block,
    block_of, word, word_at,
};
use super::segments::Record;
use super::shared::Shared;
use super::waiters::{entry, of_entry};
use super::{Buffer, stub, words};
use std::io;

/// A thread that is to be parked.
pub struct ParkedWaiter {
    pub number: usize,
    /// The registers at the start of its wait.
    pub registers: Registers,
}

/// A change of threads that the program has made.
pub struct Change {
    /// The records of the calls before it.
    pub records: Box<[u8]>,
    /// What was saved of the thread that waits.
    pub saved: SavedWait,
    /// The thread that runs next.
    pub next: usize,
}

impl Buffer {
    /// Returns whether threads can be parked.
    pub fn can_park(&self) -> bool {
        /// HWCAP2_FSGSBASE: the stub reads the bases of segments.
        const READS_BASES: libc::c_ulong = 1 << 1;
        // SAFETY: a number.
        let features = unsafe { libc::getauxval(libc::AT_HWCAP2) };
        let is_ready = self.shared.is_some() && !self.sites.is_empty();
        is_ready && !self.is_passing && !self.is_leaving && features & READS_BASES != 0
    }

    /// From now on threads are parked. `running`: the number of the thread that runs next, outside of the stub; `waiting`:
    /// those that wait for words, the longest first; `ready`: those that can run, in their order. Returns the registers
    /// with which the threads of `parked` park.
    pub fn begin_parking(
        &mut self,
        running: usize,
        parked: &[ParkedWaiter],
        waiting: impl Iterator<Item = (usize, u64)>,
        ready: &[usize],
    ) -> Vec<Registers> {
        let Some(shared) = &self.shared else {
            return Vec::new();
        };
        let number = |number: usize| shared.set(block_of(number) + block::NUMBER, entry(number, 0));
        number(running);
        let mut bits = 0_u64;
        for it in parked {
            number(it.number);
            bits |= 1 << it.number;
            let saved = it.registers.saved_wait();
            shared.set(block_of(it.number) + block::RUNS, 0);
            shared.set(block_of(it.number) + block::FLAGS, saved.call.flags);
            let words = saved_words(&saved);
            for (at, value) in (block_of(it.number) + block::SAVED..).step_by(8).zip(words) {
                shared.set(at, value);
            }
        }
        let mut count = 0;
        for (index, (number, addr)) in (word::WAITED..).zip(waiting.take(MOST_WAITERS)) {
            shared.set(word_at(index), entry(number, addr));
            count += 1;
        }
        shared.set(word_at(word::WAITERS), count);
        shared.set_queue(ready);
        shared.set(word_at(word::PARKED), bits);
        shared.set(word_at(word::CURRENT), block_of(running));
        shared.set(word_at(word::PARKS), 1);
        // The table is not that of the waiters any more.
        self.has_taken_woken = true;
        let parked = parked.iter().map(|it| {
            let mut registers = it.registers;
            // The stack is not used there.
            let stack = STACK_END - 8;
            registers.park_at(stub::parked(), block_of(it.number), stack);
            registers
        });
        parked.collect()
    }

    /// The thread that runs does not wait without a stop any more, once it has left the stub.
    pub fn forbid_parking(&self) {
        if let Some(shared) = &self.shared {
            shared.set(word_at(word::PARKS), 0);
        }
    }

    /// Returns the number of the thread that runs while threads are parked; `None`: the program has written to the words.
    pub fn current(&self) -> Option<usize> {
        let at = self.shared.as_ref()?.get(word_at(word::CURRENT));
        let offset = at.checked_sub(BLOCKS)? as usize;
        let number = offset / BLOCK_LEN;
        (offset.is_multiple_of(BLOCK_LEN) && number < MOST_WAITERS).then_some(number)
    }

    /// Returns how often the program has changed threads without a stop.
    pub fn changes(&self) -> u64 {
        let shared = self.shared.as_ref();
        shared.map_or(0, |shared| shared.get(word_at(word::CHANGES)))
    }

    /// Returns whether a thread with this pc is parked, or has not yet left the code for that.
    pub fn is_parking(&self, pc: u64) -> bool {
        /// `syscall; jmp rbp`
        const LEN: u64 = 4;
        let call = layout::PARKING..layout::PARKING + LEN;
        self.shared.is_some() && (call.contains(&pc) || stub::park().contains(&pc))
    }

    /// Takes the changes of threads out, with the records before each; the records behind the last one stay. The
    /// thread that runs must be outside of the stub.
    ///
    /// # Errors
    /// The program has written to the memory of the recorder.
    pub fn take_changes(&self) -> io::Result<Vec<Change>> {
        let Some(shared) = &self.shared else {
            return Ok(Vec::new());
        };
        let used = shared.words().ok_or_else(words::damaged)?.used()?;
        let records = shared.records(used);
        let (changes, rest) = split(&records).ok_or_else(words::damaged)?;
        if !changes.is_empty() {
            // Where a replay has them, which takes records out at each event.
            for (at, bytes) in (RECORDS..).step_by(8).zip(rest.chunks(8)) {
                let mut word = [0; 8];
                word[..bytes.len()].copy_from_slice(bytes);
                shared.set(at, u64::from_le_bytes(word));
            }
            shared.set(word_at(word::NEXT), RECORDS + rest.len() as u64);
        }
        Ok(changes)
    }

    /// Takes the threads out that wait for words, those that have waited longest first, and those that can run, in
    /// their order. The thread that runs must be outside of the stub.
    pub fn take_queues(&mut self) -> (Vec<(usize, u64)>, Vec<usize>) {
        let Some(shared) = &self.shared else {
            return Default::default();
        };
        let queues = (shared.table(), shared.queue());
        shared.set(word_at(word::WAITERS), 0);
        shared.set_queue(&[]);
        queues
    }

    /// Lets all parked threads run on behind their waits, as if they had been woken.
    pub fn release_parked(&mut self) {
        self.take_queues();
        if let Some(shared) = &self.shared {
            for number in 0..MOST_WAITERS {
                shared.set(block_of(number) + block::RUNS, 1);
            }
        }
    }

    /// Returns the address of the system call instruction by which a thread that was parked makes its call with a stop.
    pub fn stop_of_parked(&self) -> u64 {
        stub::stop()
    }
}

impl Shared {
    /// Returns the table of the threads that wait.
    fn table(&self) -> Vec<(usize, u64)> {
        let count = self.get(word_at(word::WAITERS)) as u32 as usize;
        let entries = (0..count.min(MOST_WAITERS)).map(|nth| word_at(word::WAITED + nth));
        entries.map(|at| of_entry(self.get(at))).collect()
    }
}

impl Change {
    /// Adds the records before it to the log, as those before its next event. Returns false if they are none.
    pub fn keep_records(&mut self, log: &mut Log) -> bool {
        let records = std::mem::take(&mut self.records);
        records.is_empty() || log.segments.set(log.events.len(), records)
    }
}

/// Returns the words that the stub saves, in its order.
fn saved_words(saved: &SavedWait) -> [u64; layout::SAVED] {
    let [a, b, c, d, e, f] = saved.arguments;
    let call = &saved.call;
    [
        call.next,
        0,
        call.number,
        a,
        b,
        c,
        d,
        e,
        f,
        call.rbx,
        call.rbp,
        call.r12,
        call.sp,
    ]
}

/// Returns the changes in records, and the records behind the last one; `None`: they are damaged.
fn split(records: &[u8]) -> Option<(Vec<Change>, &[u8])> {
    let mut changes = Vec::new();
    let (mut rest, mut at) = (records, 0);
    while at < rest.len() {
        let record = Record::first(rest.get(at..)?)?;
        let next = at + record.len;
        if record.number == CHANGE {
            changes.push(Change {
                records: rest.get(..at)?.into(),
                saved: saved_of(record.output)?,
                next: usize::try_from(record.result).ok()?,
            });
            rest = rest.get(next..)?;
            at = 0;
        } else {
            at = next;
        }
    }
    Some((changes, rest))
}

/// Returns what the record of a change has saved.
fn saved_of(output: &[u8]) -> Option<SavedWait> {
    let mut words = [0; CHANGE_WORDS];
    if output.len() != 8 * CHANGE_WORDS {
        return None;
    }
    for (word, bytes) in words.iter_mut().zip(output.chunks_exact(8)) {
        *word = u64::from_le_bytes(bytes.try_into().ok()?);
    }
    let [
        next,
        _,
        number,
        a,
        b,
        c,
        d,
        e,
        f,
        rbx,
        rbp,
        r12,
        sp,
        flags,
        r13,
        r14,
        r15,
        fs,
        gs,
    ] = words;
    Some(SavedWait {
        call: SavedCall {
            number,
            next,
            sp,
            flags,
            rbx,
            rbp,
            r12,
        },
        arguments: [a, b, c, d, e, f],
        r13,
        r14,
        r15,
        bases: [fs, gs],
    })
}
