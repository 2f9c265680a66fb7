//! Tables and records that trampolines write, run by this process, against the same computed here.

#![cfg(target_arch = "x86_64")]

use super::super::marks::{self, Marks};
use super::super::spans;
use super::super::trace_area::{Keep, Layout, TraceArea};
use super::super::trampoline::{HitAction, Moment, Tracing};
use super::trampoline_tests::{CODES, condition, machine, run};
use crate::compile::tests::machine::{At, Machine};
use crate::compile::tests::random::Random;
use crate::compile::{NEVER, Traced};
use crate::expr::query::{Query, Returning, SiteQuery};
use crate::os::{nanoseconds_per_tick, own_code, ticks};
use dwarf::LoadAddr;
use std::collections::BTreeMap;
use std::rc::Rc;

struct Case {
    area: TraceArea,
    _map: memmap2::MmapRaw,
}

impl Case {
    fn new(machine: &Machine, text: &str) -> Case {
        Case::among(1, machine, text)
    }

    /// A case with the space that each of `sites` sites has.
    fn among(sites: usize, machine: &Machine, text: &str) -> Case {
        let query = Query::parse(text, machine.language).expect("a query");
        let traced = Traced::compile(&query, None, machine).expect("a compiled query");
        let layout = Layout::of(&traced, Keep::of(&query), sites);
        let (shared, at, map) = own_code::shared(layout.len as usize);
        let at = LoadAddr(at);
        let query = Rc::new(SiteQuery::new(&query, &[], Returning::Value));
        let site = (LoadAddr(0), String::new());
        Case {
            area: TraceArea::new(site, (query, traced), layout, at, shared),
            _map: map,
        }
    }

    fn action(&self) -> HitAction<'_> {
        HitAction::Trace(self.area.tracing(None, Moment::Hit))
    }

    /// The rows of a table by the first word of their keys.
    fn rows(&self, table: usize) -> BTreeMap<u64, (u64, Vec<Vec<u64>>)> {
        let rows = self.area.rows(&self.area.layout.tables[table]).into_iter();
        rows.map(|row| {
            let key = row
                .keys
                .and_then(|keys| Some(u64::from_le_bytes(*keys.first_chunk()?)));
            (key.unwrap_or(0), (row.hits, row.columns))
        })
        .collect()
    }
}

/// The number in the order of signed integers in which extremes are kept.
fn in_order(float: f64) -> i64 {
    let bits = float.to_bits() as i64;
    bits ^ (bits >> 63) & i64::MAX
}

#[test]
fn the_program_is_not_changed() {
    for (name, code) in CODES {
        let mut machine = machine();
        machine.set(At::Register(5), 7, 8);
        let case = Case::new(
            &machine,
            "count(), sum(a), sum(x), min(x), max(a), hist(i), hist(y), hist(i, 0, 20, 5), \
             x, s, a by i, s",
        );
        let alone = run(&machine, code, None).seen;
        let (yes, no) = (condition(&machine, "y < 0"), condition(&machine, "y > 0"));
        for condition in [None, Some(&yes), Some(&no)] {
            let with = run(&machine, code, Some((condition, case.action())));
            assert_eq!((with.seen, with.traps), (alone.clone(), 0), "{name}");
        }
        let rows = case.rows(0);
        assert_eq!(rows.len(), 1, "{name}");
        let (hits, columns) = &rows[&7];
        assert_eq!(*hits, 2, "{name}");
        let a = machine.general[0];
        let sum = 2 * i128::from(a as i64);
        assert_eq!(columns[1], [sum as u64, (sum >> 64) as u64], "{name}");
        assert_eq!(columns[2][0], 5f64.to_bits(), "{name}");
        assert_eq!(columns[3], [in_order(2.5) as u64], "{name}");
        assert_eq!(columns[4], [a], "{name}");
        // 7 has three bits, -0.25 the exponent -2; 5 to 9 is the second of four buckets.
        assert_eq!(
            (columns[5][3], columns[5].iter().sum::<u64>()),
            (2, 2),
            "{name}"
        );
        let bucket = 64 + 1 - 2 + 128;
        assert_eq!(
            (columns[6][bucket], columns[6].iter().sum::<u64>()),
            (2, 2),
            "{name}"
        );
        assert_eq!(columns[7], [0, 0, 2, 0, 0, 0], "{name}");
        let (records, all) = case.area.records();
        assert_eq!((records.len(), all), (2, 2), "{name}");
        assert_eq!(records[1].number, 1);
        assert_eq!(&records[1].values[..8], &2.5f64.to_le_bytes());
        assert!(records[0].ticks <= records[1].ticks);
    }
}

#[test]
fn tables_hold_what_was_added() {
    let (_, code) = CODES[0];
    let mut random = Random(0x1234_5678_9abc_def1);
    let mut machine = machine();
    let case = Case::new(
        &machine,
        "sum(a), min(a), max(a), sum(x), min(x), max(x), hist(a), hist(x), hist(a, -50, 50, 7) by i",
    );
    let mut numbers: BTreeMap<u64, Vec<(i64, f64)>> = BTreeMap::new();
    for _ in 0..600 {
        let key = random.next() % 9;
        let a = match random.next() % 4 {
            0 => random.next() as i64,
            1 => [0, 1, -1, i64::MIN, i64::MAX][random.next() as usize % 5],
            _ => (random.next() % 140) as i64 - 70,
        };
        let x = match random.next() % 4 {
            0 => f64::from_bits(random.next()),
            1 => {
                [0.0, -0.0, f64::NAN, f64::INFINITY, f64::MIN_POSITIVE][random.next() as usize % 5]
            }
            _ => (random.next() as i64 >> 20) as f64 / 1e6,
        };
        machine.set(At::Register(5), u128::from(key), 8);
        machine.set(At::Register(0), u128::from(a as u64), 8);
        machine.set(At::Vector(2), u128::from(x.to_bits()), 16);
        assert_eq!(run(&machine, code, Some((None, case.action()))).traps, 0);
        numbers.entry(key).or_default().push((a, x));
    }
    let rows = case.rows(0);
    assert_eq!(rows.len(), numbers.len());
    for (key, added) in &numbers {
        let (hits, columns) = &rows[key];
        assert_eq!(*hits, added.len() as u64);
        let ints = || added.iter().map(|it| it.0);
        let floats = || added.iter().map(|it| it.1);
        let sum: i128 = ints().map(i128::from).sum();
        assert_eq!(columns[0], [sum as u64, (sum >> 64) as u64]);
        assert_eq!(Some(columns[1][0] as i64), ints().min());
        assert_eq!(Some(columns[2][0] as i64), ints().max());
        let sum = floats().fold(0.0, |sum, it| sum + it);
        let there = f64::from_bits(columns[3][0]);
        assert!(
            there == sum || there.is_nan() && sum.is_nan(),
            "{there} {sum}"
        );
        let in_orders = || floats().filter(|it| !it.is_nan()).map(in_order);
        assert_eq!(columns[4][0] as i64, in_orders().min().unwrap_or(i64::MAX));
        assert_eq!(columns[5][0] as i64, in_orders().max().unwrap_or(i64::MIN));
        let mut buckets = vec![0u64; 129];
        for it in ints() {
            let bits = 64 - it.unsigned_abs().leading_zeros() as usize;
            buckets[if it < 0 { 64 + bits } else { bits }] += 1;
        }
        assert_eq!(columns[6], buckets);
        let mut buckets = vec![0u64; 258];
        for it in floats() {
            let exponent = ((it.to_bits() >> 52 & 0x7ff) as i64 - 1023).clamp(-64, 63);
            let bucket = match it {
                0.0 => 0,
                _ if it.is_nan() => 257,
                _ => (exponent + 65) as usize + if it < 0.0 { 128 } else { 0 },
            };
            buckets[bucket] += 1;
        }
        assert_eq!(columns[7], buckets);
        let mut buckets = vec![0u64; 17];
        for it in ints() {
            let bucket = match it {
                ..-50 => 0,
                50.. => 16,
                it => (it + 50) as usize / 7 + 1,
            };
            buckets[bucket] += 1;
        }
        assert_eq!(columns[8], buckets);
    }
}

/// Code and debugger keep passes and take them from each other, in the same memory.
#[test]
fn times_are_measured_since_the_latest_pass() {
    let (_, code) = CODES[0];
    // Any word may stand for the thread's number.
    for is_of_threads in [false, true] {
        let mut machine = machine();
        let key = "i";
        let text = format!("count(), mean(since(f, {key})), min(since(f, {key})), since(f, {key})");
        let mut case = Case::new(&machine, &text);
        let (shared, at, _map) = own_code::shared(marks::LEN as usize);
        let marks = Marks::new(Some(LoadAddr(at)), is_of_threads, shared);
        let site = marks.site().expect("a site");
        case.area = case.area.with_marks(vec![site]);
        let query = Query::of_mark(key, machine.language).expect("a key");
        let traced = Traced::compile(&query, None, &machine).expect("a compiled key");
        let layout = Layout::of(&traced, Keep::Last(1), 1);
        let sites = [site];
        let pass = || Tracing {
            traced: &traced,
            layout: &layout,
            area: LoadAddr(0),
            thread: None,
            paths: None,
            marks: &sites,
            begun: 0,
            moment: Moment::Mark,
        };
        let mut times = Vec::new();
        let mut hit = |machine: &Machine| {
            let with = run(machine, code, Some((None, case.action())));
            assert_eq!(
                (&with.seen, with.traps),
                (&run(machine, code, None).seen, 0)
            );
            let last = case.area.records().0.pop().expect("a record");
            times.push(i64::from_le_bytes(
                *last.values.first_chunk().expect("a word"),
            ));
        };
        machine.set(At::Register(5), 7, 8);
        hit(&machine);
        let with = run(&machine, code, Some((None, HitAction::Trace(pass()))));
        assert_eq!(
            (&with.seen, with.traps),
            (&run(&machine, code, None).seen, 0)
        );
        hit(&machine);
        hit(&machine);
        // A second ago, by the debugger; of another key, and of one whose hash is 0.
        let second = (1e9 / nanoseconds_per_tick()) as u64;
        marks.pass(7, ticks() - second);
        machine.set(At::Register(5), 8, 8);
        hit(&machine);
        machine.set(At::Register(5), 7, 8);
        hit(&machine);
        machine.set(At::Register(5), 0, 8);
        run(&machine, code, Some((None, HitAction::Trace(pass()))));
        let taken = marks.take(0).expect("a pass");
        assert!(ticks() - taken < second);
        // A clock that is ahead.
        marks.pass(0, ticks() + second);
        hit(&machine);
        let never = |index: usize| times[index] == NEVER;
        assert!(never(0) && never(2) && never(3), "{times:?}");
        assert!((0..1_000_000_000).contains(&times[1]), "{times:?}");
        assert!(
            (1_000_000_000..2_000_000_000).contains(&times[4]),
            "{times:?}"
        );
        assert_eq!(times[5], 0);
        let (hits, columns) = &case.rows(0)[&0];
        let values: Vec<i64> = times.iter().copied().filter(|it| *it != NEVER).collect();
        let sum: i64 = values.iter().sum();
        assert_eq!((*hits, &columns[1]), (6, &vec![sum as u64, 0, 3]));
        assert_eq!(columns[2], [0]);
    }
}

/// The code finds the span of time that the debugger's arithmetic has.
#[test]
fn hits_are_counted_by_time() {
    let (_, code) = CODES[0];
    let machine = machine();
    let now = ticks();
    let unit = 1_u64 << spans::unit_log2();
    for ago in [0, 1, 63, 64, 65, 127, 128, 1000, 123_456_789, 1 << 40] {
        let ago = (unit * ago).min(now);
        let mut case = Case::new(&machine, "rate()");
        case.area = case.area.begun_at(now - ago);
        assert_eq!(run(&machine, code, Some((None, case.action()))).traps, 0);
        let later = ticks() - (now - ago);
        let (_, columns) = &case.rows(0)[&0];
        let counted: Vec<u32> = (0..)
            .zip(&columns[0])
            .filter_map(|(span, count)| (*count > 0).then_some(span))
            .collect();
        let [span] = counted[..] else {
            panic!("{ago}: {counted:?}");
        };
        assert!(
            (spans::span(ago)..=spans::span(later)).contains(&span),
            "{ago}: {span}"
        );
    }
    // A clock that is behind.
    let mut case = Case::new(&machine, "rate()");
    case.area = case.area.begun_at(now + (now >> 1));
    run(&machine, code, Some((None, case.action())));
    assert_eq!(case.rows(0)[&0].1[0][0], 1);
}

/// No record is overwritten: a hit without room traps before it has any effect.
#[test]
fn hits_wait_until_records_are_read() {
    let (_, code) = CODES[0];
    let mut machine = machine();
    // Little space, which is soon full.
    let case = Case::among(1024, &machine, "sum(i), i, x keep all");
    let room = case.area.layout.ring.as_ref().expect("a ring").count;
    let hit = |machine: &mut Machine, number: u64| {
        machine.set(At::Register(5), number.into(), 8);
        let with = run(machine, code, Some((None, case.action())));
        // Of all hits, that would take minutes.
        if number % 64 == 1 {
            assert_eq!(with.seen, run(machine, code, None).seen);
        }
        with.traps
    };
    for number in 0..room {
        assert_eq!((case.area.is_full(), hit(&mut machine, number)), (false, 0));
    }
    assert!(case.area.is_full());
    assert_eq!(hit(&mut machine, 1), 1);
    let sum = room * (room - 1) / 2;
    assert_eq!(case.rows(0)[&0], (room, vec![vec![sum, 0]]));
    // Each that is read makes room for one, once around and beyond.
    for number in 0..room + 3 {
        let record = case.area.take_record().expect("a record");
        let value = u64::from_le_bytes(*record.values.first_chunk().expect("a word"));
        assert_eq!((record.number, value), (number, number));
        assert_eq!(hit(&mut machine, room + number), 0);
        assert_eq!(hit(&mut machine, 1), 1);
    }
    let (left, all) = case.area.records();
    assert_eq!((left.len() as u64, all), (room, room));
    while case.area.take_record().is_some() {}
    assert_eq!(case.area.records(), (Vec::new(), 0));
    assert!(!case.area.skip_abandoned_record());
}

/// Passes that no hit follows: slots are overwritten, and none has the time of another key.
#[test]
fn a_full_table_of_passes_forgets_some() {
    let (_, code) = CODES[0];
    let mut machine = machine();
    let (shared, at, _map) = own_code::shared(marks::LEN as usize);
    let marks = Marks::new(Some(LoadAddr(at)), false, shared);
    let site = marks.site().expect("a site");
    let all = 2 << marks::SLOTS_LOG2;
    (1..=all).for_each(|key| marks.pass(key, key));
    let query = Query::of_mark("i", machine.language).expect("a key");
    let traced = Traced::compile(&query, None, &machine).expect("a compiled key");
    let layout = Layout::of(&traced, Keep::Last(1), 1);
    let before = ticks();
    for key in all..all + 20 {
        machine.set(At::Register(5), u128::from(key), 8);
        let pass = Tracing {
            traced: &traced,
            layout: &layout,
            area: LoadAddr(0),
            thread: None,
            paths: None,
            marks: &[site],
            begun: 0,
            moment: Moment::Mark,
        };
        assert_eq!(
            run(&machine, code, Some((None, HitAction::Trace(pass)))).traps,
            0
        );
        assert!(marks.take(key).is_some_and(|at| at >= before), "{key}");
    }
    let left: Vec<u64> = (1..all).filter(|key| marks.take(*key).is_some()).collect();
    assert!(left.len() > 1 << (marks::SLOTS_LOG2 - 1), "{}", left.len());
}

#[test]
fn texts_are_keys_by_what_they_say() {
    let (_, code) = CODES[0];
    let mut machine = machine();
    let case = Case::new(&machine, "count(), distinct(i) by s");
    let texts = [c"red", c"red", c"green", c"", c"redder"];
    let copies: Vec<std::ffi::CString> = texts.iter().map(|it| (*it).to_owned()).collect();
    for (number, text) in copies.iter().enumerate() {
        machine.set(At::Register(3), text.as_ptr() as u128, 8);
        machine.set(At::Register(5), number as u128 / 2, 8);
        assert_eq!(run(&machine, code, Some((None, case.action()))).traps, 0);
    }
    let mut hits: Vec<u64> = (case.area.rows(&case.area.layout.tables[0]).iter())
        .map(|it| it.hits)
        .collect();
    hits.sort_unstable();
    assert_eq!(hits, [1, 1, 1, 2]);
    assert_eq!(case.area.rows(&case.area.layout.tables[1]).len(), 4);
    // No text, and one that is too long for a key: the debugger evaluates that hit.
    machine.set(At::Register(3), 0, 8);
    assert_eq!(run(&machine, code, Some((None, case.action()))).traps, 0);
    let long = std::ffi::CString::new("long ".repeat(40)).expect("no zero");
    machine.set(At::Register(3), long.as_ptr() as u128, 8);
    let outside = run(&machine, code, Some((None, case.action())));
    assert_eq!(outside.traps, 1);
    assert_eq!(case.area.rows(&case.area.layout.tables[0]).len(), 5);
}

#[test]
fn further_keys_share_the_last_row_and_old_records_are_overwritten() {
    let (_, code) = CODES[0];
    let mut machine = machine();
    // Rows of more than 4 KiB: there are few of them.
    let case = Case::new(
        &machine,
        "hist(i, 0, 25600, 100), hist(a, 0, 25600, 100), hist(x), a by i keep 8",
    );
    let rows = 1 << case.area.layout.tables[0].rows_log2.expect("keys");
    let hits = 2 * rows;
    for number in 0..hits {
        machine.set(At::Register(5), number, 8);
        machine.set(At::Register(0), number * 3, 8);
        assert_eq!(run(&machine, code, Some((None, case.action()))).traps, 0);
    }
    let found = case.area.rows(&case.area.layout.tables[0]);
    let all: u64 = found.iter().map(|row| row.hits).sum();
    assert_eq!(all, hits as u64);
    let others = found
        .iter()
        .find(|row| row.keys.is_none())
        .expect("hits without a row");
    assert!(
        others.hits >= rows as u64 && found.len() as u128 > rows / 2,
        "{}",
        found.len()
    );
    let (records, all) = case.area.records();
    assert_eq!(all, hits as u64);
    let numbers: Vec<u64> = records.iter().map(|it| it.number).collect();
    assert_eq!(numbers, (hits as u64 - 8..hits as u64).collect::<Vec<_>>());
    let last: Vec<u64> = (records.iter())
        .map(|it| u64::from_le_bytes(*it.values.first_chunk().expect("a word")))
        .collect();
    assert_eq!(last, numbers.iter().map(|it| it * 3).collect::<Vec<_>>());
}
