//! The setting `record`: whether a program is recorded, and how.

use serde::Deserialize;
use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};

/// Seeds that are chosen are below this: they can be typed.
const SEEDS: u64 = 1_000_000;

/// The setting as it is written.
#[derive(Deserialize, Debug)]
#[serde(
    untagged,
    expecting = "expected true, false, or an object with `chaos` (a number, or true) and `file` (a path)"
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
    file: Option<PathBuf>,
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

    /// Returns the file that the recording is written to at the end, if one is set. `directory`: that of the program.
    ///
    /// # Errors
    /// No file can be written there; the text names the key.
    pub fn file(&self, directory: &Path) -> Result<Option<PathBuf>, String> {
        let Record::Options(Options { file: Some(it), .. }) = self else {
            return Ok(None);
        };
        let file = directory.join(it);
        let folder = file.parent().unwrap_or(&file);
        if file.is_dir() || it.as_os_str().is_empty() {
            return Err(format!(
                "`file` of `record`: {} is a folder; name a file in it",
                file.display()
            ));
        }
        if !folder.is_dir() {
            return Err(format!(
                "`file` of `record`: there is no folder {}; make it, or name another file",
                folder.display()
            ));
        }
        Ok(Some(file))
    }
}

/// Returns a seed that is not foreseen.
pub fn any_seed() -> u64 {
    // The standard library's hashes have random keys.
    RandomState::new().hash_one(std::process::id()) % SEEDS
}
