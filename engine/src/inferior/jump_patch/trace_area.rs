//! The memory in which the program itself keeps what tracepoints record: tables of rows, and a ring of
//! the last records. It is shared with the debugger, so what it holds is read while the program runs,
//! and after its end.
//!
//! A row is found by the hash of its keys, which is never 0; a row whose hash is 0 is free. It is
//! taken by one atomic exchange, and never freed. Hits whose keys find no row are in the row behind
//! the last one, without keys. A record is written by the thread that has made the first word of its
//! slot odd, and is complete when that word is even.

use super::call_paths::{CallPaths, PathSite};
use super::marks::MarkSite;
use super::spans;
use super::trampoline::{Moment, Tracing};
use crate::compile::{NumberKind, Traced, TracedColumn, TracedTable};
use crate::expr::query::{Aggregate, Query, Scale, SiteQuery};
use crate::os::Shared;
use dwarf::LoadAddr;
use std::rc::Rc;

/// Offset of the number of records begun.
pub const RECORDS_BEGUN: i32 = 0;
/// Offset of the number of calls in progress whose entry the debugger has evaluated: while there are
/// any, a return of an unknown call traps.
pub const CALLS_OUTSIDE: i32 = 8;
/// Offset of the number of records that were read, where none is overwritten before.
pub const RECORDS_READ: i32 = 16;
/// Offset of the number of calls that were not recorded, since no slot was free.
pub const CALLS_LOST: i32 = 24;
/// Offset of the number of calls that did not return before another one had their frame.
pub const CALLS_LEFT: i32 = 32;
/// Offset of how long all threads of the program were held, in ticks of the processor's clock.
pub const HELD: i32 = 40;
/// Offset of the number of times that all threads were stopped and resumed.
pub const STOPS: i32 = 48;
/// Offset of the number of calls that were not timed, since there were stops in them.
pub const CALLS_UNTIMED: i32 = 56;
/// Offsets in the slot of a call in progress: the address of its frame, 0 if the slot is free.
pub const CALL_FRAME: i32 = 0;
/// The program's own time at its entry: the processor's clock without [`HELD`].
pub const CALL_TICKS: i32 = 8;
/// The address at which its values were on the stack.
pub const CALL_BASE: i32 = 16;
/// [`STOPS`] at its entry.
pub const CALL_STOPS: i32 = 24;
/// Its values.
pub const CALL_VALUES: i32 = 32;
/// Slots in which a call may be, from the one on that the address of its frame determines.
pub const CALL_PROBES: u32 = 8;
/// Maximum size of all slots for calls in progress at all sites of a tracepoint, in bytes.
const MAX_CALLS_BYTES: u64 = 32 << 20;
/// Maximum number of slots of a site, and the minimum, as powers of two.
const MAX_CALLS_LOG2: u32 = 16;
const MIN_CALLS_LOG2: u32 = 10;
/// Multiplier of hashes: odd, so that no two words have the same product (the golden ratio).
pub const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;
/// Offset of the first table.
const TABLES: u64 = 64;
/// Offsets in a row: the hash of its keys.
pub const HASH: i32 = 0;
/// The number of its hits.
pub const HITS: i32 = 8;
/// The size of its keys in bytes, written last of what is written when the row is taken.
pub const KEY_LEN: i32 = 16;
/// The first column; behind the last one are the keys.
pub const COLUMNS: i32 = 24;
/// Offsets in the slot of a record: twice the record's number, plus 2; less than that by one while it is
/// written.
pub const NUMBER: i32 = 0;
/// The processor's clock.
pub const TICKS: i32 = 8;
/// The thread's number.
pub const THREAD: i32 = 16;
/// The size of the values in bytes.
pub const SIZE: i32 = 24;
/// The values.
pub const VALUES: i32 = 32;
/// Maximum size of a table in bytes, and of that table at all sites of a tracepoint.
const MAX_TABLE_BYTES: u64 = 4 << 20;
const MAX_TABLES_BYTES: u64 = 128 << 20;
/// Maximum number of rows, and the minimum, as powers of two.
const MAX_ROWS_LOG2: u32 = 14;
const MIN_ROWS_LOG2: u32 = 6;
/// Records that may wait to be read, where all are.
const UNREAD: usize = 1 << 13;
/// Maximum size of a ring in bytes, and of the rings at all sites of a tracepoint.
const MAX_RING_BYTES: u64 = 32 << 20;
const MAX_RINGS_BYTES: u64 = 256 << 20;
/// Buckets of a histogram of integers: 0; those above, by the position of the highest bit; those below.
pub const INT_BUCKETS: i32 = 129;
/// Buckets of a histogram of floats: 0; those above, by their exponent, as far as they are not the
/// first or last; those below. Behind them is the bucket of what is not a number.
pub const FLOAT_BUCKETS: i32 = 257;
/// Exponents of floats that have a bucket of their own are from minus this up to this minus 1.
pub const EXPONENTS: i32 = 64;

/// Offset in the column of a sum or a mean, behind the sum, of the number of values, where a hit may have
/// none.
pub const VALUES_ADDED: i32 = 16;

/// Where everything is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Layout {
    /// The tables.
    pub tables: Vec<TableLayout>,
    /// The ring.
    pub ring: Option<RingLayout>,
    /// The slots for calls in progress, if calls are recorded.
    pub calls: Option<CallsLayout>,
    /// The size of all in bytes.
    pub len: u64,
}

/// The slots for calls in progress.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct CallsLayout {
    /// Offset of the first one.
    pub offset: u64,
    /// Size of each in bytes.
    pub slot: u64,
    /// Their number, as a power of two.
    pub log2: u32,
}

/// A table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TableLayout {
    /// Offset of the first row.
    pub offset: u64,
    /// Size of a row in bytes.
    pub stride: u64,
    /// The number of rows with keys, as a power of two; `None`: there is one row, without keys.
    pub rows_log2: Option<u32>,
    /// The columns and the offset of each one in a row.
    pub columns: Vec<(TracedColumn, i32)>,
    /// Offset of the keys in a row.
    pub keys: i32,
}

/// A ring of records.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RingLayout {
    /// Offset of the first slot.
    pub offset: u64,
    /// Size of a slot in bytes.
    pub slot: u64,
    /// The number of slots, a power of two.
    pub count: u64,
    /// Whether no record is overwritten before it was read.
    pub keeps_all: bool,
}

/// Which records are kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Keep {
    /// The last ones, this many.
    Last(usize),
    /// All, until they are read.
    All,
}

impl Keep {
    /// Returns what a query wants.
    pub fn of(query: &Query) -> Keep {
        match query.keeps_all {
            true => Keep::All,
            false => Keep::Last(query.keep),
        }
    }
}

impl Layout {
    /// Returns the layout for a compiled query that keeps `keep` records, at one of `sites` sites.
    pub fn of(traced: &Traced, keep: Keep, sites: usize) -> Layout {
        let share = |each: u64, all: u64| each.min(all / (sites as u64).max(1));
        let mut at = TABLES;
        let tables = (traced.tables.iter())
            .map(|table| {
                let table = TableLayout::of(table, at, share(MAX_TABLE_BYTES, MAX_TABLES_BYTES));
                at = table.end();
                table
            })
            .collect();
        let ring = (!traced.record.is_empty()).then(|| {
            let slot = VALUES as u64 + traced.record_bytes() as u64;
            let most = (share(MAX_RING_BYTES, MAX_RINGS_BYTES) / slot).max(1);
            let most = 1 << most.ilog2();
            let (wanted, keeps_all) = match keep {
                Keep::Last(wanted) => (wanted, false),
                Keep::All => (UNREAD, true),
            };
            let count = (wanted.max(1) as u64).next_power_of_two().min(most);
            RingLayout {
                offset: at,
                slot,
                count,
                keeps_all,
            }
        });
        let end = ring
            .as_ref()
            .map_or(at, |ring| ring.offset + ring.slot * ring.count);
        let calls = (!traced.late.is_empty()).then(|| {
            let slot = CALL_VALUES as u64 + Values::above(0, traced).size as u64;
            let slot = slot.next_multiple_of(8);
            let most = share(MAX_CALLS_BYTES, MAX_CALLS_BYTES) / slot;
            CallsLayout {
                offset: end,
                slot,
                log2: (most.max(1).ilog2()).clamp(MIN_CALLS_LOG2, MAX_CALLS_LOG2),
            }
        });
        let end = calls.map_or(end, |calls| calls.offset + (calls.slot << calls.log2));
        Layout {
            tables,
            ring,
            calls,
            len: end.next_multiple_of(1 << 12),
        }
    }
}

impl TableLayout {
    fn of(table: &TracedTable, offset: u64, most_bytes: u64) -> TableLayout {
        let mut at = COLUMNS;
        let mut columns = Vec::new();
        for column in &table.columns {
            columns.push((*column, at));
            at += 8 * words(*column);
        }
        let stride = at as u64 + table.key_bytes as u64;
        let rows_log2 = (!table.keys.is_empty()).then(|| {
            (most_bytes / stride)
                .max(1)
                .ilog2()
                .clamp(MIN_ROWS_LOG2, MAX_ROWS_LOG2)
        });
        TableLayout {
            offset,
            stride,
            rows_log2,
            columns,
            keys: at,
        }
    }

    /// Returns the number of rows with keys.
    fn keyed(&self) -> u64 {
        self.rows_log2.map_or(0, |log2| 1 << log2)
    }

    fn end(&self) -> u64 {
        self.offset + (self.keyed() + 1) * self.stride
    }

    /// Returns the offset of the row without keys.
    pub fn others(&self) -> u64 {
        self.offset + self.keyed() * self.stride
    }
}

/// Returns the number of words of a column.
fn words(column: TracedColumn) -> i32 {
    match column.aggregate {
        Aggregate::Count => 0,
        Aggregate::Rate => spans::SPANS,
        Aggregate::Sum | Aggregate::Mean if column.is_optional() => 3,
        Aggregate::Sum | Aggregate::Mean => 2,
        Aggregate::Least | Aggregate::Greatest => 1,
        Aggregate::Histogram(Scale::Log2) if column.kind == NumberKind::Float => FLOAT_BUCKETS + 1,
        Aggregate::Histogram(Scale::Log2) => INT_BUCKETS,
        Aggregate::Histogram(Scale::Linear { from, to, step }) => {
            Scale::buckets(from, to, step) as i32 + 2
        }
    }
}

/// Offsets to a hit's values on the stack.
#[derive(Clone, Copy)]
pub struct Values {
    /// The numbers, a word each.
    pub numbers: i32,
    /// The address of each captured value, then that of the end.
    pub slots: i32,
    /// The first captured value.
    pub captured: i32,
    /// The size of all in bytes.
    pub size: i32,
}

impl Values {
    /// Returns the places of the values above `at` bytes.
    pub fn above(at: i32, traced: &Traced) -> Values {
        let slots = at + 8 * traced.measured.len() as i32;
        let captured = slots + 8 * (traced.captured.len() as i32 + 1);
        Values {
            numbers: at,
            slots,
            captured,
            size: captured + traced.captured_bytes() as i32 - at,
        }
    }

    /// Returns the place of the address of a captured value, or of the end.
    pub fn slot(self, index: usize) -> i32 {
        self.slots + 8 * index as i32
    }
}

/// What a site records, and where.
pub struct TraceArea {
    /// The location.
    pub site: LoadAddr,
    /// The name of its function.
    pub function: String,
    /// The query at the location.
    pub query: Rc<SiteQuery>,
    /// The query as it was compiled.
    pub traced: Traced,
    /// Where everything is.
    pub layout: Layout,
    /// The address of the memory in the program.
    pub at: LoadAddr,
    /// The paths of calls, if they are recorded, and the site in them.
    pub paths: Option<(Rc<CallPaths>, PathSite)>,
    /// The passes of other places since which times are measured, in the query's order.
    pub marks: Vec<MarkSite>,
    /// The processor's clock when the tracepoint was set.
    pub begun: u64,
    pub(super) shared: Shared,
}

/// When a call began.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct CallBegin {
    /// The program's own time at its entry.
    pub ticks: u64,
    /// The number of times that all threads had been stopped and resumed.
    pub stops: u64,
}

/// The values of a call in progress.
pub struct CallValues {
    /// The numbers.
    pub numbers: Vec<u64>,
    /// The bytes of each captured value.
    pub captured: Vec<Vec<u8>>,
}

/// A row as it was read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RawRow {
    /// The captured keys; `None`: hits whose keys found no row, or there are no keys.
    pub keys: Option<Vec<u8>>,
    /// The number of its hits.
    pub hits: u64,
    /// The words of each column.
    pub columns: Vec<Vec<u64>>,
}

impl TraceArea {
    /// Returns the area at an address of the program, prepared for the first hit. The memory is
    /// zeroed.
    pub fn new(
        (site, function): (LoadAddr, String),
        (query, traced): (Rc<SiteQuery>, Traced),
        layout: Layout,
        at: LoadAddr,
        shared: Shared,
    ) -> TraceArea {
        for table in &layout.tables {
            for (column, offset) in &table.columns {
                let first = match column.aggregate {
                    Aggregate::Least => i64::MAX,
                    Aggregate::Greatest => i64::MIN,
                    _ => continue,
                };
                for row in 0..=table.keyed() {
                    let place = table.offset + row * table.stride + *offset as u64;
                    shared.set_word(place as usize, first as u64);
                }
            }
        }
        TraceArea {
            site,
            function,
            query,
            traced,
            layout,
            at,
            paths: None,
            marks: Vec::new(),
            begun: 0,
            shared,
        }
    }

    /// Adds the paths of calls that the site's code keeps.
    pub fn with_paths(self, paths: Option<(Rc<CallPaths>, PathSite)>) -> TraceArea {
        TraceArea { paths, ..self }
    }

    /// Sets the processor's clock when the tracepoint was set.
    pub fn begun_at(self, begun: u64) -> TraceArea {
        TraceArea { begun, ..self }
    }

    /// Sets the passes since which times are measured.
    pub fn with_marks(self, marks: Vec<MarkSite>) -> TraceArea {
        TraceArea { marks, ..self }
    }

    /// Returns the paths of calls, if they are recorded.
    pub fn paths(&self) -> Option<&CallPaths> {
        self.paths.as_ref().map(|(paths, _)| &**paths)
    }

    /// Returns what the code at a site records. `thread`: the place of a thread's number.
    pub fn tracing<'a>(&'a self, thread: Option<i32>, moment: Moment<'a>) -> Tracing<'a> {
        Tracing {
            traced: &self.traced,
            layout: &self.layout,
            area: self.at,
            thread,
            paths: self.paths.as_ref().map(|(_, site)| *site),
            marks: &self.marks,
            begun: self.begun,
            moment,
        }
    }

    /// Sets the time for which all threads were held, in ticks of the processor's clock, and the number of such times.
    pub fn set_held(&self, ticks: u64, stops: u64) {
        self.shared.set_word(HELD as usize, ticks);
        self.shared.set_word(STOPS as usize, stops);
    }

    /// Sets the number of calls in progress that only the debugger knows.
    pub fn set_calls_outside(&self, calls: u64) {
        self.shared.set_word(CALLS_OUTSIDE as usize, calls);
    }

    /// Returns the number of calls that the program knows and that have not returned: those in
    /// progress, and those that ended otherwise.
    pub fn calls_unreturned(&self) -> u64 {
        let slots = self.layout.calls.into_iter().flat_map(|calls| {
            (0..1 << calls.log2).map(move |number: u64| calls.offset + number * calls.slot)
        });
        let taken = slots.filter(|slot| self.shared.word(*slot as usize) != 0);
        taken.count() as u64 + self.shared.word(CALLS_LEFT as usize)
    }

    /// Returns the number of calls that were not recorded, since too many were in progress.
    pub fn calls_lost(&self) -> u64 {
        self.shared.word(CALLS_LOST as usize)
    }

    /// Returns the number of calls that were not timed, since there were stops in them.
    pub fn calls_untimed(&self) -> u64 {
        self.shared.word(CALLS_UNTIMED as usize)
    }

    /// Takes the call of a frame out of those in progress.
    pub fn take_call(&self, frame: LoadAddr) -> Option<(CallBegin, CallValues)> {
        let CallsLayout { offset, slot, log2 } = self.layout.calls?;
        let hash = (frame.0 >> 4).wrapping_mul(MULTIPLIER) >> (64 - log2);
        let mut probes = (0..u64::from(CALL_PROBES)).map(|probe| {
            let number = (hash + probe) & ((1 << log2) - 1);
            offset + number * slot
        });
        let word = |at: u64| self.shared.word(at as usize);
        let at = probes.find(|at| word(*at) == frame.0)?;
        let places = Values::above(0, &self.traced);
        let values = at + CALL_VALUES as u64;
        let base = word(at + CALL_BASE as u64);
        let numbers = (0..self.traced.measured.len() as u64).map(|nth| word(values + 8 * nth));
        let captured = (0..self.traced.captured.len()).map(|index| {
            let bound = |index| word(values + places.slot(index) as u64).wrapping_sub(base);
            let [from, to] = [bound(index), bound(index + 1)].map(|it| it.min(places.size as u64));
            let words = (from..to).step_by(8);
            words
                .flat_map(|at| word(values + at).to_le_bytes())
                .collect()
        });
        let call = (
            CallBegin {
                ticks: word(at + CALL_TICKS as u64),
                stops: word(at + CALL_STOPS as u64),
            },
            CallValues {
                numbers: numbers.collect(),
                captured: captured.collect(),
            },
        );
        self.shared.set_word(at as usize, 0);
        Some(call)
    }

    /// Reads the rows of a table that have hits.
    pub fn rows(&self, table: &TableLayout) -> Vec<RawRow> {
        let word = |at: u64| self.shared.word(at as usize);
        let mut rows = Vec::new();
        for number in 0..=table.keyed() {
            let row = table.offset + number * table.stride;
            let hits = word(row + HITS as u64);
            if hits == 0 {
                continue;
            }
            let is_keyed = number < table.keyed();
            let keys = is_keyed.then(|| {
                let most = table.stride - table.keys as u64;
                let len = word(row + KEY_LEN as u64).min(most);
                let words = (0..len).step_by(8);
                words
                    .flat_map(|at| word(row + table.keys as u64 + at).to_le_bytes())
                    .collect()
            });
            let columns = table.columns.iter().map(|(column, offset)| {
                let words = 0..words(*column) as u64;
                words
                    .map(|at| word(row + *offset as u64 + 8 * at))
                    .collect()
            });
            rows.push(RawRow {
                keys,
                hits,
                columns: columns.collect(),
            });
        }
        rows
    }
}
