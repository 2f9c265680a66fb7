//! Spans of time since a moment, in which hits are counted: a fixed number of them, whose length doubles
//! whenever the time has doubled. So the program counts by one atomic instruction, whatever the time,
//! and nothing has to be merged while it runs.
//!
//! The unit is a power of two of the processor's ticks, some tenths of a millisecond. The first 64 spans
//! have one unit, the next 32 two, the next 32 four, and so on.

use crate::os::nanoseconds_per_tick;
use std::ops::Range;

/// The number of spans of each length, as a power of two; there are as many more of one unit.
pub const EACH_LOG2: u32 = 5;
/// How often the length doubles.
const DOUBLINGS: u32 = 24;
/// The number of spans. The last one has all later times, too: after some days.
pub const SPANS: i32 = ((2 + DOUBLINGS) << EACH_LOG2) as i32;
/// The longest that a unit is, in nanoseconds.
const LONGEST_UNIT: f64 = 5e5;

/// Returns the length of a unit in ticks, as a power of two.
pub fn unit_log2() -> u32 {
    let ticks = LONGEST_UNIT / nanoseconds_per_tick();
    (ticks.max(1.0) as u64).ilog2()
}

/// Returns the number of the span of this time.
pub fn span(ticks: u64) -> u32 {
    let units = ticks >> unit_log2();
    let doublings = length_log2(units);
    let span = (units >> doublings) + (u64::from(doublings) << EACH_LOG2);
    span.min(SPANS as u64 - 1) as u32
}

/// Returns the times of a span, in ticks.
pub fn times(span: u32) -> Range<u64> {
    let span = span.min(SPANS as u32 - 1);
    let doublings = (span >> EACH_LOG2).saturating_sub(1);
    let from = u64::from(span - (doublings << EACH_LOG2)) << doublings;
    let unit = unit_log2();
    from << unit..(from + (1 << doublings)) << unit
}

/// Returns the length of the spans at this time in units, as a power of two.
fn length_log2(units: u64) -> u32 {
    (units | ((1 << (EACH_LOG2 + 1)) - 1)).ilog2() - EACH_LOG2
}

/// Returns the counts of spans as those of intervals of one length, and that length in ticks: as many as
/// there are up to `until`, at most 64.
pub fn intervals(counts: impl Iterator<Item = (u32, u64)>, until: u64) -> (Vec<u64>, u64) {
    let last = times(span(until));
    let length = last.end - last.start;
    let mut all = vec![0_u64; (last.end / length) as usize];
    for (span, count) in counts {
        let at = (times(span).start / length) as usize;
        if let Some(interval) = all.get_mut(at) {
            *interval = interval.saturating_add(count);
        }
    }
    (all, length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_follow_each_other() {
        let mut end = 0;
        for number in 0..SPANS as u32 {
            let times = times(number);
            assert_eq!((times.start, span(times.start)), (end, number));
            assert_eq!(span(times.end - 1), number);
            end = times.end;
        }
        assert_eq!(span(u64::MAX), SPANS as u32 - 1);
        let days = end as f64 * nanoseconds_per_tick() / 86_400e9;
        assert!((2.0..10.0).contains(&days), "{days}");
    }

    #[test]
    fn intervals_have_one_length_and_all_counts() {
        let unit = 1 << unit_log2();
        for until in [
            0,
            10 * unit,
            64 * unit - 1,
            64 * unit,
            1000 * unit,
            12_345_678 * unit,
        ] {
            let numbers = 0..=span(until);
            let counts = numbers
                .clone()
                .map(|number| (number, u64::from(number) + 1));
            let (all, length) = intervals(counts, until);
            assert!(all.len() <= 64 && (until < 64 * unit || all.len() > 32));
            assert!(length * all.len() as u64 > until);
            assert!(length * (all.len() as u64 - 1) <= until);
            let sum: u64 = numbers.map(|number| u64::from(number) + 1).sum();
            assert_eq!(all.iter().sum::<u64>(), sum);
        }
        // A hit at each unit: as many in each interval.
        let hits = (0..6400_u64).map(|at| (span(at * unit), 1));
        let (all, length) = intervals(hits, 6399 * unit);
        assert_eq!((length, all), (128 * unit, vec![128; 50]));
    }
}
