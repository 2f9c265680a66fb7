//! Code that steps go through without a stop in it: the standard library, packages of others.

use crate::images::modules::{Loaded, Modules};
use dwarf::{FileAddr, LoadAddr, SourceFile};
use regex::bytes::RegexSet;
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

/// What is nobody's own source: Rust's library (as rustc records its paths, and as rustup
/// installs it), cargo's downloads, headers and sources of the system.
const DEFAULTS: &[&str] = &[
    "/rustc/*",
    "*/lib/rustlib/src/*",
    "*/.cargo/registry/*",
    "*/.cargo/git/*",
    "/usr/include/*",
    "/usr/lib/*",
    "/usr/src/*",
];

/// No pattern is longer, and no list has more of them.
const MAX_PATTERNS: usize = 1 << 12;
/// What all patterns may take once compiled.
const MAX_COMPILED_BYTES: usize = 1 << 22;

/// Which sources steps go through.
pub struct StepFilters {
    patterns: RegexSet,
    /// By number of the pattern: whether it takes sources out again.
    excepts: Vec<bool>,
    known: RefCell<FxHashMap<Arc<SourceFile>, bool>>,
    /// Which sources are on this machine, of those that were asked for.
    at_hand: RefCell<FxHashMap<Arc<SourceFile>, bool>>,
}

impl Default for StepFilters {
    fn default() -> Self {
        Self::new(&[]).unwrap_or_else(|_| Self::none())
    }
}

impl StepFilters {
    /// Steps stop in all code that has lines.
    pub fn none() -> Self {
        Self {
            patterns: RegexSet::empty(),
            excepts: Vec::new(),
            known: RefCell::default(),
            at_hand: RefCell::default(),
        }
    }

    /// The defaults, and more patterns of whole paths: `*` is any text, `?` any character; behind
    /// a `!` is what is not to be left out. The last one that fits counts.
    ///
    /// # Errors
    /// Too long or too many patterns; the text says so.
    pub fn new(more: &[String]) -> Result<Self, String> {
        if more.len() > MAX_PATTERNS || more.iter().any(|pattern| pattern.len() > MAX_PATTERNS) {
            return Err(format!(
                "more than {MAX_PATTERNS} patterns, or one of more than {MAX_PATTERNS} bytes"
            ));
        }
        let all = DEFAULTS.iter().copied();
        let (mut excepts, mut patterns) = (Vec::new(), Vec::new());
        for pattern in all.chain(more.iter().map(String::as_str)) {
            let (except, pattern) = match pattern.strip_prefix('!') {
                Some(pattern) => (true, pattern),
                None => (false, pattern),
            };
            let escaped = regex::escape(pattern);
            let expression = escaped.replace(r"\*", ".*").replace(r"\?", ".");
            excepts.push(except);
            patterns.push(format!("(?s-u)^{expression}$"));
        }
        let built = regex::bytes::RegexSetBuilder::new(patterns)
            .size_limit(MAX_COMPILED_BYTES)
            .build();
        Ok(Self {
            patterns: built.map_err(|error| error.to_string())?,
            excepts,
            known: RefCell::default(),
            at_hand: RefCell::default(),
        })
    }

    /// Whether steps go through the code of a source.
    pub fn skips(&self, file: &Arc<SourceFile>) -> bool {
        if self.excepts.is_empty() {
            return false;
        }
        if let Some(known) = self.known.borrow().get(file) {
            return *known;
        }
        let fits = self.patterns.matches(file.path.as_os_str().as_bytes());
        let last = fits.iter().max().and_then(|last| self.excepts.get(last));
        let skips = last.is_some_and(|except| !except);
        self.known.borrow_mut().insert(Arc::clone(file), skips);
        skips
    }

    /// Whether there is anything at an address that a step may stop for: lines of a source that
    /// is not left out, and not the system's own code unless its sources are at hand.
    pub fn shows(&self, loaded: &Loaded, addr: FileAddr) -> bool {
        let location = loaded.module.row_at(addr).and_then(|row| row.location);
        location.is_some_and(|it| !self.skips(&it.file)) && self.has_source(loaded, addr)
    }

    /// The same where nothing is left out.
    pub fn has_source(&self, loaded: &Loaded, addr: FileAddr) -> bool {
        let location = loaded.module.row_at(addr).and_then(|row| row.location);
        location.is_some_and(|it| !loaded.is_of_the_system() || self.is_at_hand(&it.file))
    }

    /// Whether a source is on this machine. The file is looked for once.
    pub fn is_at_hand(&self, file: &Arc<SourceFile>) -> bool {
        if let Some(known) = self.at_hand.borrow().get(file) {
            return *known;
        }
        let is_there = file.path.exists();
        self.at_hand.borrow_mut().insert(Arc::clone(file), is_there);
        is_there
    }

    /// The same for an address of the process.
    pub fn shows_at(&self, modules: &Modules, addr: LoadAddr) -> bool {
        let loaded = modules.at(addr);
        loaded.is_some_and(|loaded| self.shows(loaded, loaded.bias.file(addr)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skips(filters: &StepFilters, path: &str) -> bool {
        filters.skips(&Arc::new(SourceFile {
            path: path.into(),
            md5: None,
        }))
    }

    #[test]
    fn the_library_is_left_out_and_the_program_is_not() {
        let filters = StepFilters::default();
        assert!(skips(&filters, "/rustc/59807616e/library/core/src/iter.rs"));
        assert!(skips(
            &filters,
            "/home/a/.cargo/registry/src/x/serde-1/lib.rs"
        ));
        assert!(skips(&filters, "/usr/include/c++/12/bits/stl_algo.h"));
        assert!(!skips(&filters, "/home/a/rustc/src/main.rs"));
        assert!(!skips(&StepFilters::none(), "/usr/include/c++/12/vector"));
    }

    #[test]
    fn a_source_is_looked_for_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.c");
        std::fs::write(&path, "").unwrap();
        let filters = StepFilters::default();
        let file = Arc::new(SourceFile {
            path: path.clone(),
            md5: None,
        });
        assert!(filters.is_at_hand(&file));
        std::fs::remove_file(&path).unwrap();
        assert!(filters.is_at_hand(&file));
        assert!(!StepFilters::default().is_at_hand(&file));
    }

    #[test]
    fn the_last_pattern_that_fits_counts() {
        let own = ["*/third_party/*", "!/usr/include/mine/*", "a+b?.c"].map(String::from);
        let filters = StepFilters::new(&own).unwrap();
        assert!(skips(&filters, "/src/third_party/x.c"));
        assert!(!skips(&filters, "/usr/include/mine/x.h"));
        assert!(skips(&filters, "/usr/include/yours/x.h"));
        assert!(skips(&filters, "a+bc.c") && !skips(&filters, "aab.c"));
        let off = StepFilters::new(&["!*".into()]).unwrap();
        assert!(!skips(&off, "/usr/include/c++/12/vector"));
        assert!(StepFilters::new(&vec!["*".into(); MAX_PATTERNS + 1]).is_err());
    }
}
