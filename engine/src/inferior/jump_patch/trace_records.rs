//! Reading the records that the program writes for a tracepoint: the last ones, or, where none is
//! overwritten before it was read, one after the other.

use super::trace_area::{
    NUMBER, RECORDS_BEGUN, RECORDS_READ, RingLayout, SIZE, THREAD, TICKS, TraceArea, VALUES,
};
use crate::ids::ThreadId;
use std::ops::Range;

/// A record as it was read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RawRecord {
    /// Its number, from 0.
    pub number: u64,
    /// The processor's clock.
    pub ticks: u64,
    /// Its thread; 0: unknown.
    pub thread: ThreadId,
    /// The captured values.
    pub values: Vec<u8>,
}

impl TraceArea {
    /// Reads the complete records, in their order. Returns also the number of all that were begun.
    pub fn records(&self) -> (Vec<RawRecord>, u64) {
        let Some(ring) = &self.layout.ring else {
            return (Vec::new(), 0);
        };
        let read = self.records_read();
        let slots = 0..ring.count;
        let records = slots.filter_map(|slot| self.record_at(ring, slot));
        let mut records: Vec<RawRecord> = records.filter(|it| it.number >= read).collect();
        records.sort_unstable_by_key(|record| record.number);
        let begun = self.shared.word(RECORDS_BEGUN as usize);
        (records, begun.saturating_sub(read))
    }

    /// Reads the record in a slot, if it is complete.
    fn record_at(&self, ring: &RingLayout, slot: u64) -> Option<RawRecord> {
        let word = |at: u64| self.shared.word(at as usize);
        let place = ring.offset + slot * ring.slot;
        let number = word(place + NUMBER as u64);
        if number == 0 || number % 2 == 1 {
            return None;
        }
        let most = ring.slot - VALUES as u64;
        let size = word(place + SIZE as u64).min(most);
        let values = (0..size).step_by(8);
        let record = RawRecord {
            number: number / 2 - 1,
            ticks: word(place + TICKS as u64),
            thread: ThreadId(word(place + THREAD as u64) as i32),
            values: values
                .flat_map(|at| word(place + VALUES as u64 + at).to_le_bytes())
                .collect(),
        };
        // It was not overwritten meanwhile.
        (word(place + NUMBER as u64) == number).then_some(record)
    }

    /// Returns the ring and the numbers of its unread records, if no record is overwritten before it is
    /// read.
    fn unread(&self) -> Option<(&RingLayout, Range<u64>)> {
        let ring = self.layout.ring.as_ref().filter(|ring| ring.keeps_all)?;
        let read = self.records_read();
        let begun = self.shared.word(RECORDS_BEGUN as usize);
        // The program's memory may hold anything.
        Some((ring, read..begun.min(read.saturating_add(ring.count))))
    }

    fn records_read(&self) -> u64 {
        self.shared.word(RECORDS_READ as usize)
    }

    /// Returns whether the next hit has to wait until a record is read.
    pub fn is_full(&self) -> bool {
        let unread = self.unread();
        unread.is_some_and(|(ring, unread)| unread.end - unread.start >= ring.count)
    }

    /// Takes the next unread record out, if it is complete: another may be written in its place.
    pub fn take_record(&self) -> Option<RawRecord> {
        let (ring, mut unread) = self.unread()?;
        let number = unread.next()?;
        let record = self.record_at(ring, number & (ring.count - 1))?;
        if record.number != number {
            return None;
        }
        self.set_records_read(number + 1);
        Some(record)
    }

    /// Passes the next unread record over: the thread that was writing it has ended. Returns whether
    /// there is one.
    pub fn skip_abandoned_record(&self) -> bool {
        let next = self.unread().and_then(|(_, mut unread)| unread.next());
        if let Some(number) = next {
            self.set_records_read(number + 1);
        }
        next.is_some()
    }

    fn set_records_read(&self, number: u64) {
        self.shared.set_word(RECORDS_READ as usize, number);
    }
}
