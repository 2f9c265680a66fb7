//! When threads are parked: when they wait for words one after the other, with nothing else between. This decides; the
//! recorder acts.

/// Waits in a row before threads are parked.
const FEWEST: u32 = 8;
/// The same after threads were parked in vain.
const MOST: u32 = 4096;
/// To park a thread, and to take it out again, costs as much as some waits with a stop.
const CHANGES_PER_THREAD: u64 = 8;

/// Waits in a row.
pub struct Streak {
    waits: u32,
    /// After how many of them threads are parked.
    needed: u32,
}

impl Default for Streak {
    fn default() -> Streak {
        Streak {
            waits: 0,
            needed: FEWEST,
        }
    }
}

impl Streak {
    /// A thread waits for a word, with a stop.
    pub fn waits(&mut self) {
        self.waits = self.waits.saturating_add(1);
    }

    /// A thread makes another call.
    pub fn ends(&mut self) {
        self.waits = 0;
    }

    /// Returns whether there are waits in a row.
    pub fn is_going_on(&self) -> bool {
        self.waits >= self.needed / 2
    }

    /// Returns whether threads are to be parked.
    pub fn is_long(&self) -> bool {
        self.waits >= self.needed
    }

    /// The program has stopped after so many changes of threads without a stop, while so many threads were parked.
    pub fn was_parked(&mut self, changes: u64, threads: usize) {
        if changes >= CHANGES_PER_THREAD * threads as u64 {
            self.needed = FEWEST;
        } else {
            self.needed = (self.needed * 2).min(MOST);
            self.waits = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_in_a_row_are_enough() {
        let mut streak = Streak::default();
        for _ in 0..FEWEST - 1 {
            streak.waits();
        }
        assert!(!streak.is_long());
        streak.ends();
        streak.waits();
        assert!(!streak.is_long(), "there was another call");
        for _ in 1..FEWEST {
            streak.waits();
        }
        assert!(streak.is_long());
    }

    #[test]
    fn threads_that_were_parked_in_vain_are_parked_less_often() {
        let mut streak = Streak::default();
        let needed = |streak: &mut Streak| {
            streak.ends();
            let mut count = 0;
            while !streak.is_long() {
                streak.waits();
                count += 1;
            }
            count
        };
        assert_eq!(needed(&mut streak), FEWEST);
        streak.was_parked(3, 4);
        assert!(!streak.is_long());
        assert_eq!(needed(&mut streak), 2 * FEWEST);
        for _ in 0..40 {
            streak.was_parked(0, 4);
        }
        assert_eq!(needed(&mut streak), MOST);
        streak.was_parked(100, 4);
        assert!(streak.is_long(), "at once");
        assert_eq!(needed(&mut streak), FEWEST);
    }
}
