//! When to try to replace a trap by a jump.

/// Hits that do not stop before the first attempt: most breakpoints have fewer.
const FIRST: u32 = 16;
/// Maximum number of hits between two attempts: an attempt may cost as much as some hundred hits.
const MAX_INTERVAL: u32 = 4096;

/// Counts the hits of a trap that did not stop, and determines at which of them to try to install a
/// jump.
#[derive(Clone, Copy, Debug)]
pub struct Attempts {
    /// Hits until the next attempt; `None`: no more attempts.
    left: Option<u32>,
    /// The initial value of `left`.
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
    /// Counts a hit that did not stop. Returns true if an attempt is due now. After a refusal, the
    /// next attempt comes after twice as many hits.
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

    /// Makes the first attempt due at the next hit.
    pub fn hasten(&mut self) {
        if self.left.is_some() && self.interval == FIRST {
            self.left = Some(1);
        }
    }

    /// Keeps the trap for good: the obstacle is permanent.
    pub fn give_up(&mut self) {
        self.left = None;
    }

    /// Returns whether the trap stays.
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
