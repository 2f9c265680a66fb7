//! Breakpoints that never stop, set and removed at random lines of real programs while these run
//! their own test suites: the results must be the same as without a debugger.

mod places;
mod plan;
mod program;
mod round;

pub use places::{Place, Places};
pub use program::{Outcome, Program, left_of, state_of};
pub use round::{Round, Way};

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// Maximum time without a message from a running program's session.
pub const LIMIT: Duration = Duration::from_secs(60);

/// Counts of actions and results.
#[derive(Clone, Default, Debug)]
pub struct Totals {
    /// By description.
    counts: BTreeMap<String, u64>,
}

impl Totals {
    /// Adds one.
    pub fn count(&mut self, what: &str) {
        self.add(what, 1);
    }

    /// Adds a number.
    pub fn add(&mut self, what: &str, number: u64) {
        *self.counts.entry(what.to_owned()).or_default() += number;
    }

    /// Returns a count.
    pub fn of(&self, what: &str) -> u64 {
        self.counts.get(what).copied().unwrap_or(0)
    }

    /// Adds the counts of another one.
    pub fn include(&mut self, other: &Totals) {
        for (what, number) in &other.counts {
            self.add(what, *number);
        }
    }
}

impl fmt::Display for Totals {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (what, number) in &self.counts {
            writeln!(formatter, "{number:>10}  {what}")?;
        }
        Ok(())
    }
}
