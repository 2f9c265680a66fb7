//! The snapshots of a recorded program: when they are taken, and which are kept.

use super::super::copy::ProcessCopy;
use super::patches::Originals;
use super::threads::copied::Copied;
use crate::os::recording::SnapshotPlace;
use std::time::Duration;

/// The most snapshots.
const MOST: usize = 24;
/// The most memory that snapshots may keep, in pages of 4 KiB: 1 GiB.
const MOST_PAGES: u64 = 1 << 18;
/// The shortest time between two snapshots.
const SHORTEST: Duration = Duration::from_millis(25);
/// A snapshot may take this part of the time.
const SHARE: u32 = 10;
/// The time that a write to a page takes which a snapshot shares: 3.4 µs in virtual machines, of which the copy takes
/// the least, and a third of that without one.
const PER_FAULT: Duration = Duration::from_nanos(3_000);

/// When a snapshot is taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Moment {
    /// The program, or the recording of it, begins.
    Start,
    /// The last event is that of a call that has ended.
    Event,
    /// It was interrupted anywhere.
    Interrupt,
}

/// A snapshot.
pub struct Snapshot {
    pub copy: ProcessCopy,
    /// The debugger's patches in it.
    pub patches: Originals,
    /// Its threads; the first one is that of the copy.
    pub threads: Vec<Copied>,
    /// The index of the next event.
    pub next: usize,
    moment: Moment,
    /// Time of the recording.
    at: Duration,
    /// Pages that the program has written to since, before the next snapshot.
    pages: u64,
}

impl Snapshot {
    /// A snapshot that was made of an image in a file.
    pub fn of_image(copy: ProcessCopy, threads: Vec<Copied>, next: usize) -> Snapshot {
        Snapshot {
            copy,
            patches: Originals::new(),
            threads,
            next,
            moment: Moment::Interrupt,
            at: Duration::ZERO,
            pages: 0,
        }
    }

    /// Returns where it was taken.
    pub fn taken_at(&self) -> SnapshotPlace {
        SnapshotPlace {
            next: self.next,
            time: self.at,
            is_at_event: self.moment == Moment::Event,
        }
    }

    /// Returns whether the program begins here: it is kept.
    pub fn is_start(&self) -> bool {
        self.moment == Moment::Start
    }
}

/// The snapshots, oldest first.
#[derive(Default)]
pub struct Snapshots {
    pub all: Vec<Snapshot>,
    /// The number of all that were taken.
    pub taken: usize,
    due: Duration,
}

impl Snapshots {
    /// Returns whether a snapshot is due at a time of the recording.
    pub fn is_due(&self, now: Duration) -> bool {
        now >= self.due
    }

    /// Adds a snapshot. `cost`: the time that it took; `faults`: the page faults since the last one.
    #[expect(clippy::too_many_arguments, reason = "a snapshot is made of them")]
    pub fn add(
        &mut self,
        copy: ProcessCopy,
        patches: Originals,
        threads: Vec<Copied>,
        next: usize,
        moment: Moment,
        now: Duration,
        cost: Duration,
        faults: u64,
    ) {
        if let Some(last) = self.all.last_mut() {
            last.pages = faults;
        }
        self.all.push(Snapshot {
            copy,
            patches,
            threads,
            next,
            moment,
            at: now,
            pages: 0,
        });
        self.taken += 1;
        self.due = now + interval(cost, faults);
        while let Some(index) = self.superfluous(now) {
            let dropped = self.all.remove(index);
            // The one before keeps what both have kept.
            if let Some(before) = index
                .checked_sub(1)
                .and_then(|index| self.all.get_mut(index))
            {
                before.pages += dropped.pages;
            }
        }
    }

    /// Tries again later.
    pub fn delay(&mut self, now: Duration) {
        self.due = now + SHORTEST * SHARE;
    }

    fn superfluous(&self, now: Duration) -> Option<usize> {
        let pages: u64 = self.all.iter().map(|it| it.pages).sum();
        if self.all.len() <= MOST && pages <= MOST_PAGES {
            return None;
        }
        let times: Vec<(Duration, bool)> =
            self.all.iter().map(|it| (it.at, it.is_start())).collect();
        to_drop(&times, now)
    }
}

/// Returns the time until the next snapshot.
fn interval(cost: Duration, faults: u64) -> Duration {
    let faults = PER_FAULT.saturating_mul(u32::try_from(faults).unwrap_or(u32::MAX));
    (cost.saturating_add(faults))
        .saturating_mul(SHARE)
        .max(SHORTEST)
}

/// Returns which of these snapshots, with whether it must be kept, is missed least: that with the
/// smallest gap around it for its age. The newest stays.
fn to_drop(times: &[(Duration, bool)], now: Duration) -> Option<usize> {
    let share = |index: usize| {
        let gap = times[index + 1].0.saturating_sub(times[index - 1].0);
        let age = now.saturating_sub(times[index].0) + SHORTEST;
        gap.as_secs_f64() / age.as_secs_f64()
    };
    let inner = 1..times.len().saturating_sub(1);
    let droppable = inner.filter(|index| !times[*index].1);
    droppable.min_by(|a, b| share(*a).total_cmp(&share(*b)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn snapshots_take_a_tenth_of_the_time_at_most() {
        let ms = Duration::from_millis;
        assert_eq!(interval(ms(1), 0), SHORTEST);
        assert_eq!(interval(ms(50), 0), ms(500));
        assert_eq!(interval(ms(0), 25_000), ms(750));
        assert!(interval(Duration::MAX, u64::MAX) > ms(1_000_000));
    }

    #[test]
    fn old_snapshots_are_sparser_than_new_ones() {
        let mut times: Vec<(Duration, bool)> = Vec::new();
        for second in 0..1000 {
            let now = Duration::from_secs(second);
            times.push((now, second == 0));
            if times.len() > MOST {
                times.remove(to_drop(&times, now).expect("one is not needed"));
            }
        }
        assert_eq!(times.len(), MOST);
        assert_eq!(times[0].0, Duration::ZERO, "the start");
        let gap = |index: usize| times[index + 1].0 - times[index].0;
        assert!(gap(1) > 8 * gap(MOST - 2), "{times:?}");
        assert!(gap(MOST - 2) <= Duration::from_secs(10), "{times:?}");
    }

    #[test]
    fn starts_are_never_dropped() {
        let times: Vec<_> = (0..30).map(|at| (Duration::from_secs(at), true)).collect();
        assert_eq!(to_drop(&times, Duration::from_secs(30)), None);
        assert_eq!(to_drop(&[], Duration::ZERO), None);
    }
}
