//! What is logged of the buffer: the records before each event, and the jumps that were made at events.

use super::super::bounded;
use super::super::log::Written;
use super::jump::CALL;
use super::layout::HEADER;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// More events than any log has that have records before them.
const MOST_ENTRIES: usize = 1 << 23;
/// More than there are instructions that are replaced in any program.
const MOST_SITES: usize = 1 << 20;
/// More than what is written to the code at one event.
const MOST_WRITTEN: usize = 64;

/// What is written in place of code has no more bytes.
const LONGEST: u64 = 16;

/// A part of a log, by the indices of events.
#[derive(Default, Serialize, Deserialize)]
pub struct Segments {
    /// The records that the stub has added since the event before.
    #[serde(deserialize_with = "bounded::table::<_, _, MOST_ENTRIES>")]
    records: BTreeMap<usize, Box<[u8]>>,
    /// What was written to the code of the program when an event began.
    #[serde(deserialize_with = "bounded::table::<_, _, MOST_SITES>")]
    code: BTreeMap<usize, Code>,
    /// The code of the program that is, or was, replaced, by its address.
    #[serde(deserialize_with = "bounded::list::<_, _, _, MOST_SITES>")]
    replaced: Vec<Replaced>,
    #[serde(skip)]
    calls: usize,
    #[serde(skip)]
    bytes: usize,
}

/// What was written to the code at one event.
#[derive(Default, Serialize, Deserialize)]
struct Code(#[serde(deserialize_with = "bounded::list::<_, _, _, MOST_WRITTEN>")] Vec<Written>);

/// Code of the program in whose place the recorder has written.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Replaced {
    /// Its address.
    pub addr: u64,
    /// What was written.
    pub by: Box<[u8]>,
    /// What was there: a system call instruction, or padding.
    pub original: Box<[u8]>,
}

impl Replaced {
    /// Puts the program's code in the place of what was written, in bytes that were read at an address.
    fn hide(&self, addr: u64, bytes: &mut [u8]) {
        let end = addr.saturating_add(bytes.len() as u64);
        let (from, to) = (
            self.addr.max(addr),
            self.addr.saturating_add(self.by.len() as u64).min(end),
        );
        if from >= to {
            return;
        }
        let own = (from - self.addr) as usize..(to - self.addr) as usize;
        let place = &mut bytes[(from - addr) as usize..(to - addr) as usize];
        if let (Some(by), Some(original)) = (self.by.get(own.clone()), self.original.get(own))
            && place == by
        {
            place.copy_from_slice(original);
        }
    }
}

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

    /// Adds the code of a jump that was written when an event began. `code`: that of the program, from the jump on.
    pub fn add_jump(&mut self, event: usize, site: u64, code: &[u8], written: Vec<Written>) {
        for (addr, bytes) in written {
            let offset = addr
                .checked_sub(site)
                .and_then(|it| usize::try_from(it).ok());
            let original = offset.and_then(|offset| code.get(offset..)?.get(..bytes.len()));
            if let Some(original) = original {
                let at = self.replaced.partition_point(|it| it.addr < addr);
                let replaced = Replaced {
                    addr,
                    by: bytes.clone(),
                    original: original.into(),
                };
                self.replaced.insert(at, replaced);
            }
            self.add_code(event, (addr, bytes));
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
            replaced: std::mem::take(&mut self.replaced),
            ..Segments::default()
        };
    }

    /// Forgets the jumps: another program is executed.
    pub fn forget_jumps(&mut self) {
        self.replaced.clear();
    }

    /// Returns the instructions of the program that are jumps, or were.
    pub fn sites(&self) -> impl Iterator<Item = u64> {
        let calls = self.replaced.iter().filter(|it| *it.original == CALL);
        calls.map(|it| it.addr)
    }

    /// Returns whether the recorder has written a jump to its own code at an address, in padding: the program has no
    /// code there that is executed.
    pub fn has_jump_in_padding(&self, addr: u64) -> bool {
        let at = self.replaced.partition_point(|it| it.addr < addr);
        let replaced = self.replaced.get(at).filter(|it| it.addr == addr);
        replaced.is_some_and(|it| *it.original != CALL)
    }

    /// Puts the program's code in the place of jumps, in bytes that were read at an address.
    pub fn hide(&self, addr: u64, bytes: &mut [u8]) {
        let end = addr.saturating_add(bytes.len() as u64);
        let first = self
            .replaced
            .partition_point(|it| it.addr < addr.saturating_sub(LONGEST));
        let all = self.replaced.get(first..).unwrap_or(&[]);
        for replaced in all.iter().take_while(|it| it.addr < end) {
            replaced.hide(addr, bytes);
        }
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
        let code = [0x0f, 5, 0x90, 0x90, 0xc3];
        let jump = vec![(16, [1].into()), (48, [0xeb, 0].into())];
        segments.add_jump(5, 48, &code, jump);
        segments.add_code(5, (32, [2].into()));
        let all = segments.code_at(5).iter().map(|it| it.0);
        assert_eq!(all.collect::<Vec<_>>(), [16, 48, 32]);
        assert!(segments.code_at(4).is_empty());
        segments.clear();
        assert!(segments.code_at(5).is_empty() && segments.bytes() == 0);
        assert_eq!(segments.sites().collect::<Vec<_>>(), [48]);
    }

    #[test]
    fn jumps_are_hidden_where_they_are() {
        let mut segments = Segments::default();
        // A call, a return, and padding that holds the jump.
        let code = [0x0f, 5, 0xc3, 0x90, 0x90, 0x90, 0x90, 0x90, 0xcc];
        let jump = [0xe9, 1, 2, 3, 4];
        let written = vec![
            (9, [9; 4].into()),
            (103, jump.into()),
            (100, [0xeb, 1].into()),
        ];
        segments.add_jump(0, 100, &code, written);
        assert_eq!(segments.sites().collect::<Vec<_>>(), [100]);
        assert!(segments.has_jump_in_padding(103));
        assert!([99, 100, 102, 104].map(|it| segments.has_jump_in_padding(it)) == [false; 4]);
        let replaced = [0xeb, 1, 0xc3, 0xe9, 1, 2, 3, 4, 0xcc];
        for start in 0..replaced.len() {
            for end in start..=replaced.len() {
                let mut read = replaced[start..end].to_vec();
                segments.hide(100 + start as u64, &mut read);
                assert_eq!(read, code[start..end], "{start}..{end}");
            }
        }
        let mut other = [0xeb, 2, 0xc3, 0xe9, 1, 2, 3, 5];
        segments.hide(100, &mut other);
        assert_eq!(
            other,
            [0xeb, 2, 0xc3, 0xe9, 1, 2, 3, 5],
            "other code is there"
        );
        segments.hide(u64::MAX - 4, &mut other);
    }
}
