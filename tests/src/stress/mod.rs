//! Breakpoints that never stop, planted and lifted at random lines of real programs while these
//! run their own test-suites: what the programs do is what they do without a debugger.

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

/// How long nothing may be heard of a program that runs.
pub const LIMIT: Duration = Duration::from_secs(60);

/// What has been done to programs.
#[derive(Clone, Default, Debug)]
pub struct Totals {
    /// By what it is.
    counts: BTreeMap<String, u64>,
}

impl Totals {
    /// One more.
    pub fn count(&mut self, what: &str) {
        self.add(what, 1);
    }

    /// So many more.
    pub fn add(&mut self, what: &str, number: u64) {
        *self.counts.entry(what.to_owned()).or_default() += number;
    }

    /// How many there have been.
    pub fn of(&self, what: &str) -> u64 {
        self.counts.get(what).copied().unwrap_or(0)
    }

    /// Those of another count as well.
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
