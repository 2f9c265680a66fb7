//! The setting `record`: whether a program is recorded, and how.

use serde::Deserialize;
use std::hash::{BuildHasher, RandomState};

/// Seeds that are chosen are below this: they can be typed.
const SEEDS: u64 = 1_000_000;

/// The setting as it is written.
#[derive(Deserialize, Debug)]
#[serde(
    untagged,
    expecting = "expected true, false, or an object with `chaos` (a number, or true)"
)]
pub enum Record {
    Switch(bool),
    Options(Options),
}

/// How a program is recorded.
#[derive(Deserialize, Debug, Default)]
#[serde(deny_unknown_fields)]
pub struct Options {
    chaos: Option<Chaos>,
}

#[derive(Deserialize, Clone, Copy, Debug)]
#[serde(untagged)]
enum Chaos {
    Seed(u64),
    Choose(bool),
}

impl Default for Record {
    fn default() -> Self {
        Record::Switch(false)
    }
}

impl Record {
    /// Returns whether the program is recorded.
    pub fn is_set(&self) -> bool {
        !matches!(self, Record::Switch(false))
    }

    /// Returns the seed of random slices, if they are asked for: without a number, one is chosen.
    pub fn chaos(&self) -> Option<u64> {
        match self {
            Record::Switch(_) => None,
            Record::Options(options) => match options.chaos? {
                Chaos::Seed(seed) => Some(seed),
                Chaos::Choose(wanted) => wanted.then(any_seed),
            },
        }
    }
}

/// Returns a seed that is not foreseen.
pub fn any_seed() -> u64 {
    // The standard library's hashes have random keys.
    RandomState::new().hash_one(std::process::id()) % SEEDS
}
