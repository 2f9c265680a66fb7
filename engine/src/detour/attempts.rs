//! When a jump is tried in the place of a trap.

/// Hits of a trap that were not worth a stop before a jump is tried: most breakpoints have fewer.
const FIRST: u32 = 16;
/// Hits between two attempts, at most: an attempt may cost as much as some hundred hits.
const MAX_INTERVAL: u32 = 4096;

/// The hits of a trap since it stands there, as far as they were not worth a stop, and when they
/// lead to the next attempt to put a jump there.
#[derive(Clone, Copy, Debug)]
pub struct Attempts {
    /// Hits until the next attempt; `None`: there is none.
    left: Option<u32>,
    /// How many those were at first.
    interval: u32,
}

impl Default for Attempts {
    fn default() -> Self {
        Self {
            left: Some(FIRST),
            interval: FIRST,
        }
    }
}

impl Attempts {
    /// Another hit was not worth a stop. True: a jump is to be tried now. The next attempt, if
    /// this one is refused, comes after twice as many hits.
    pub fn is_due(&mut self) -> bool {
        let Some(left) = &mut self.left else {
            return false;
        };
        *left = left.saturating_sub(1);
        if *left > 0 {
            return false;
        }
        self.interval = (self.interval * 2).min(MAX_INTERVAL);
        self.left = Some(self.interval);
        true
    }

    /// What was in the way lasts: the trap stays.
    pub fn give_up(&mut self) {
        self.left = None;
    }

    /// Whether the trap stays.
    pub fn is_given_up(&self) -> bool {
        self.left.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_become_rarer_but_never_stop() {
        let mut attempts = Attempts::default();
        let due: Vec<u32> = (1..=40_000).filter(|_| attempts.is_due()).collect();
        assert_eq!(due[..4], [16, 16 + 32, 16 + 32 + 64, 16 + 32 + 64 + 128]);
        let intervals: Vec<u32> = due.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert_eq!(intervals.last(), Some(&MAX_INTERVAL));
        attempts.give_up();
        assert!(attempts.is_given_up() && !(0..1 << 16).any(|_| attempts.is_due()));
    }
}
