//! What is logged of the buffer: the records before each event, and the jumps that were made at events.

use super::super::bounded;
use super::super::log::Written;
use super::layout::HEADER;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// More events than any log has that have records before them.
const MOST_ENTRIES: usize = 1 << 23;
/// More than there are instructions that are replaced in any program.
const MOST_SITES: usize = 1 << 20;
/// More than what is written to the code at one event.
const MOST_WRITTEN: usize = 64;

/// A part of a log, by the indices of events.
#[derive(Default, Serialize, Deserialize)]
pub struct Segments {
    /// The records that the stub has added since the event before.
    #[serde(deserialize_with = "bounded::table::<_, _, MOST_ENTRIES>")]
    records: BTreeMap<usize, Box<[u8]>>,
    /// What was written to the code of the program when an event began.
    #[serde(deserialize_with = "bounded::table::<_, _, MOST_SITES>")]
    code: BTreeMap<usize, Code>,
    /// The instructions of the program that are jumps, or were.
    #[serde(deserialize_with = "bounded::list::<_, _, _, MOST_SITES>")]
    sites: Vec<u64>,
    #[serde(skip)]
    calls: usize,
    #[serde(skip)]
    bytes: usize,
}

/// What was written to the code at one event.
#[derive(Default, Serialize, Deserialize)]
struct Code(#[serde(deserialize_with = "bounded::list::<_, _, _, MOST_WRITTEN>")] Vec<Written>);

impl Segments {
    /// Returns the number of calls that were made without a stop.
    pub fn calls(&self) -> usize {
        self.calls
    }

    /// Returns the memory that all of it takes, about.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Sets the records before an event: all, or those until now. Returns false if they are none.
    pub fn set(&mut self, event: usize, records: Box<[u8]>) -> bool {
        let Some(calls) = count(&records) else {
            return false;
        };
        self.calls += calls;
        self.bytes += records.len();
        if let Some(before) = self.records.insert(event, records) {
            self.calls -= count(&before).unwrap_or(0);
            self.bytes -= before.len();
        }
        true
    }

    /// Adds the code of a jump at `site` that was written when an event began.
    pub fn add_jump(&mut self, event: usize, site: u64, written: Vec<Written>) {
        self.sites.push(site);
        for written in written {
            self.add_code(event, written);
        }
    }

    /// Adds code that was written when an event began.
    pub fn add_code(&mut self, event: usize, written: Written) {
        self.bytes += written.1.len() + size_of::<Written>();
        self.code.entry(event).or_default().0.push(written);
    }

    /// Counts again what was read of a file. Returns false if there are bytes that are no records.
    pub fn count_again(&mut self) -> bool {
        self.calls = 0;
        self.bytes = self
            .code
            .values()
            .flat_map(|code| &code.0)
            .fold(0, |sum, written| {
                sum + written.1.len() + size_of::<Written>()
            });
        for records in self.records.values() {
            let Some(calls) = count(records) else {
                return false;
            };
            self.calls += calls;
            self.bytes += records.len();
        }
        true
    }

    /// Forgets all but the jumps, which stay in the program.
    pub fn clear(&mut self) {
        *self = Segments {
            sites: std::mem::take(&mut self.sites),
            ..Segments::default()
        };
    }

    /// Forgets the jumps: another program is executed.
    pub fn forget_jumps(&mut self) {
        self.sites.clear();
    }

    /// Returns the instructions of the program that are jumps, or were.
    pub fn sites(&self) -> impl Iterator<Item = u64> {
        self.sites.iter().copied()
    }

    /// Returns the records before an event.
    pub fn before(&self, event: usize) -> &[u8] {
        self.records.get(&event).map_or(&[], |records| records)
    }

    /// Returns the code that was written when an event began.
    pub fn code_at(&self, event: usize) -> &[Written] {
        self.code.get(&event).map_or(&[], |code| &code.0)
    }
}

/// A record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Record<'a> {
    pub number: u32,
    pub result: i64,
    pub output: &'a [u8],
    /// Its length in bytes, with the output.
    pub len: usize,
}

impl Record<'_> {
    /// Returns the first record; `None` if the bytes do not begin with one.
    pub fn first(bytes: &[u8]) -> Option<Record<'_>> {
        let number = u32::from_le_bytes(bytes.get(..4)?.try_into().ok()?);
        let output = u32::from_le_bytes(bytes.get(4..8)?.try_into().ok()?) as usize;
        let len = (HEADER + output).next_multiple_of(8);
        bytes.get(..len)?;
        Some(Record {
            number,
            result: i64::from_le_bytes(bytes.get(8..HEADER)?.try_into().ok()?),
            output: bytes.get(HEADER..HEADER + output)?,
            len,
        })
    }
}

/// Returns the number of records; `None` if the bytes are none.
fn count(mut records: &[u8]) -> Option<usize> {
    let mut count = 0;
    while !records.is_empty() {
        records = records.get(Record::first(records)?.len..)?;
        count += 1;
    }
    Some(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(number: u32, output: &[u8]) -> Vec<u8> {
        let mut bytes = number.to_le_bytes().to_vec();
        bytes.extend((output.len() as u32).to_le_bytes());
        bytes.extend(7_u64.to_le_bytes());
        bytes.extend(output);
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        bytes
    }

    #[test]
    fn records_are_counted() {
        let mut segments = Segments::default();
        let two = [record(0, b"output"), record(39, b"")].concat();
        assert!(segments.set(3, two.clone().into()));
        assert_eq!((segments.calls(), segments.bytes()), (2, two.len()));
        assert_eq!(segments.before(3), two);
        assert!(segments.before(2).is_empty() && segments.before(4).is_empty());
        let three = [two, record(39, b"")].concat();
        assert!(segments.set(3, three.clone().into()), "all of them");
        assert_eq!((segments.calls(), segments.bytes()), (3, three.len()));
    }

    #[test]
    fn bytes_that_are_no_records_are_refused() {
        let mut segments = Segments::default();
        let whole = record(0, b"output");
        assert!(!segments.set(0, whole[..16].into()));
        assert!(!segments.set(0, vec![0xff; 64].into()));
        assert_eq!((segments.calls(), segments.bytes()), (0, 0));
    }

    #[test]
    fn record_has_its_parts() {
        let bytes = [record(3, b"output"), record(39, b"")].concat();
        let first = Record::first(&bytes).expect("a record");
        assert_eq!((first.number, first.result, first.len), (3, 7, 24));
        assert_eq!(first.output, b"output");
        assert_eq!(Record::first(&bytes[24..]).map(|it| it.number), Some(39));
        assert_eq!(Record::first(&bytes[40..]), None);
    }

    #[test]
    fn code_is_kept_in_the_order_of_its_writes() {
        let mut segments = Segments::default();
        segments.add_jump(5, 48, vec![(16, [1].into())]);
        segments.add_code(5, (32, [2].into()));
        let all = segments.code_at(5).iter().map(|it| it.0);
        assert_eq!(all.collect::<Vec<_>>(), [16, 32]);
        assert!(segments.code_at(4).is_empty());
        segments.clear();
        assert!(segments.code_at(5).is_empty() && segments.bytes() == 0);
        assert_eq!(segments.sites().collect::<Vec<_>>(), [48]);
    }
}
