//! The words of the stub in a stopped process.

use super::super::registers::{CALL_LEN, SavedCall};
use super::super::tracee::{Tracee, gone};
use super::layout::{self, FLAGS, RECORDS, RECORDS_LEN, WORD_COUNT, WORDS, word};
use super::stub::Entry;
use std::io;

/// What the words were when they were read.
pub struct Words([u64; WORD_COUNT]);

impl Words {
    /// Reads them; `None`: the process has no buffer, whatever is there.
    pub fn read(tracee: &Tracee) -> Option<Words> {
        let mut bytes = [0; 8 * WORD_COUNT];
        if tracee.read_into(WORDS, &mut bytes) != bytes.len() {
            return None;
        }
        let mut words = [0; WORD_COUNT];
        for (word, bytes) in words.iter_mut().zip(bytes.chunks_exact(8)) {
            *word = bytes.try_into().map_or(0, u64::from_le_bytes);
        }
        Words::of(words)
    }

    /// Returns words that were read; `None`: these are other ones.
    pub fn of(words: [u64; WORD_COUNT]) -> Option<Words> {
        let entries = [Entry::Record, Entry::Replay, Entry::Pass, Entry::Free];
        let is_one = |entry: Entry| entry.addr() == words[word::ENTRY];
        entries.into_iter().any(is_one).then_some(Words(words))
    }

    /// Returns the length in bytes of the records up to the next one.
    ///
    /// # Errors
    /// The program has written to the words.
    pub fn used(&self) -> io::Result<u64> {
        let used = self.0[word::NEXT].wrapping_sub(RECORDS);
        match used <= RECORDS_LEN {
            true => Ok(used),
            false => Err(damaged()),
        }
    }

    /// Returns the address of the next record.
    pub fn next(&self) -> u64 {
        self.0[word::NEXT]
    }

    /// Returns the length in bytes of the records that a replay has left.
    pub fn left(&self) -> usize {
        let left = self.0[word::END].saturating_sub(self.0[word::NEXT]);
        left.min(RECORDS_LEN) as usize
    }

    /// Returns whether a replay has taken all records.
    pub fn is_at_end(&self) -> bool {
        self.0[word::NEXT] == self.0[word::END]
    }

    /// Returns whether threads are in the queue of those that the program has woken.
    pub fn has_woken(&self) -> bool {
        self.0[word::WOKEN_FIRST] != self.0[word::WOKEN_END]
    }

    /// Returns what the stub has saved for the call that it makes.
    ///
    /// # Errors
    /// The process is gone.
    pub fn saved(&self, tracee: &Tracee) -> io::Result<SavedCall> {
        Ok(SavedCall {
            number: self.0[word::NUMBER],
            next: self.0[word::SITE],
            sp: self.0[word::RSP],
            flags: tracee.word(FLAGS).ok_or_else(gone)?,
            rbx: self.0[word::RBX],
            rbp: self.0[word::RBP],
            r12: self.0[word::R12],
        })
    }

    /// Returns where the program continues after a system call that a slot has made, at a pc after it;
    /// `None`: no slot has made it.
    pub fn site(&self, pc: u64) -> Option<u64> {
        let stopped = self.0[word::STOPPED];
        let is_slot = stopped != 0 && pc == stopped.wrapping_add(CALL_LEN);
        is_slot.then_some(self.0[word::SITE])
    }
}

/// Sets where the program enters the stub.
///
/// # Errors
/// The process has no buffer.
pub fn set_entry(tracee: &Tracee, entry: Entry) -> io::Result<()> {
    tracee.write(layout::word_at(word::ENTRY), &entry.addr().to_le_bytes())
}

/// Returns the address and the contents of the word that counts the calls which a process has made without a stop since
/// its last event; `None`: it has no buffer.
pub fn next_record(tracee: &Tracee) -> Option<(u64, u64)> {
    let words = Words::read(tracee)?;
    Some((layout::NEXT_RECORD, words.next()))
}

/// Sets where the next record is.
///
/// # Errors
/// The process has no buffer.
pub fn set_next(tracee: &Tracee, next: u64) -> io::Result<()> {
    tracee.write(layout::word_at(word::NEXT), &next.to_le_bytes())
}

/// Sets where the next record is, and the end of the records.
///
/// # Errors
/// The process has no buffer.
pub fn set_records(tracee: &Tracee, next: u64, end: u64) -> io::Result<()> {
    const _: () = assert!(word::END == word::NEXT + 1);
    let bytes: Vec<u8> = [next, end].into_iter().flat_map(u64::to_le_bytes).collect();
    tracee.write(layout::word_at(word::NEXT), &bytes)
}

/// The error for a program that has written to the memory of the recorder.
pub fn damaged() -> io::Error {
    io::Error::other("the program has written to the memory of the recorder")
}
