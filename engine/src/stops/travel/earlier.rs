//! Where the next pass of a search begins and ends, if nothing was found in the last one.

use super::{FARTHER, Kept, Next, Phase, Search};
use crate::os::SnapshotPlace;

/// If nothing was found in this part of the recording, all of it is searched.
const LAST: u32 = 8;
/// Shorter passes are so many times as long as those before.
const LONGER: u32 = 4;

impl Search {
    /// Nothing was found in this pass: begins an earlier one.
    pub(super) fn earlier(&mut self) -> Next {
        self.phase = Phase::Count;
        match self.base {
            // It may have been passed between the kept replays, or the end has come too close to the near one.
            Some(Kept::Near) => {
                self.base = self.behind.far.then_some(Kept::Far);
                if self.approaches && !self.made.near {
                    self.phase = Phase::Near;
                }
            }
            Some(Kept::Far) => {
                self.base = None;
                self.behind.far = false;
                if self.made.far {
                    self.far = self.far.saturating_mul(FARTHER);
                    self.phase = self.approaching(self.from_snapshot);
                } else if self.approaches {
                    self.made.near = false;
                    self.phase = Phase::Near;
                }
            }
            None if self.first == 0 => return Next::Begin,
            None => {
                if self.may_divide && self.is_at_event(self.first) {
                    self.divide();
                }
                self.first = self.earlier_begin();
            }
        }
        Next::Replay
    }

    fn is_at_event(&self, snapshot: usize) -> bool {
        self.snapshots
            .get(snapshot)
            .is_some_and(|it| it.is_at_event)
    }

    /// Passes end where they have begun, as the hits there are known.
    fn divide(&mut self) {
        for (id, passed) in std::mem::take(&mut self.counted) {
            *self.later.entry(id).or_default() += passed;
        }
        self.until = Some(self.first);
    }

    /// Returns the snapshot that the next pass begins at: the next one from which others end there, but none farther
    /// than the length of the passes warrants.
    fn earlier_begin(&self) -> usize {
        let before = self.snapshots.get(..self.first).unwrap_or_default();
        let at_event = before.iter().rposition(|it| it.is_at_event);
        let at_event = at_event.filter(|_| self.may_divide).unwrap_or(0);
        at_event.max(self.begin_of_longer(before))
    }

    /// Returns the snapshot that a pass begins at which is longer than the last one.
    fn begin_of_longer(&self, before: &[SnapshotPlace]) -> usize {
        let time = |index: usize| self.snapshots.get(index).map(|it| it.time);
        let end = time(self.until.unwrap_or(self.after)).unwrap_or_default();
        let made = end.saturating_sub(time(self.first).unwrap_or_default());
        let all = end.saturating_sub(time(0).unwrap_or_default());
        let mut length = all;
        let mut shorter = all / LAST;
        while shorter > made {
            length = shorter;
            shorter /= LONGER;
        }
        let is_far = |it: &SnapshotPlace| end.saturating_sub(it.time) >= length;
        before.iter().rposition(is_far).unwrap_or(0)
    }
}
