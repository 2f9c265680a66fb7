//! Step filters: code that steps do not stop in, such as the standard library and dependencies.

use crate::images::modules::{Loaded, Modules};
use dwarf::{FileAddr, LoadAddr, SourceFile};
use regex::bytes::{RegexSet, RegexSetBuilder};
use rustc_hash::FxHashMap;
use std::cell::{OnceCell, RefCell};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::Arc;

/// Default patterns: Rust's library (paths as rustc records them and as rustup installs it) and the
/// crates that it is built with, cargo's downloads (`CARGO_HOME` may have any name), system headers (those of cross compilers, too) and sources.
const DEFAULTS: &[&str] = &[
    "/rustc/*",
    "/rust/deps/*",
    "*/lib/rustlib/src/*",
    "*/.cargo/registry/*",
    "*/registry/src/*",
    "*/.cargo/git/*",
    "*/git/checkouts/*",
    "/usr/include/*",
    "/usr/*-linux-*/include/*",
    "/usr/lib/*",
    "/usr/src/*",
];

/// Maximum length of a pattern and maximum number of patterns.
const MAX_PATTERNS: usize = 1 << 12;
/// Maximum size of all compiled patterns in bytes.
const MAX_COMPILED_BYTES: usize = 1 << 22;

/// The sources that steps do not stop in: sources that match a pattern, and sources that are missing.
pub struct StepFilters {
    /// The compiled patterns. [`StepFilters::new`] compiles them if the user has given some, to refuse wrong ones; the
    /// first step compiles the defaults.
    compiled: OnceCell<RegexSet>,
    patterns: Vec<String>,
    /// For each pattern, whether it is an exception.
    excepts: Vec<bool>,
    known: RefCell<FxHashMap<Arc<SourceFile>, Named>>,
    /// Cache of which sources are at hand.
    at_hand: RefCell<FxHashMap<Arc<SourceFile>, bool>>,
    /// Folders of the debug info whose files the user has elsewhere.
    mapped: Vec<PathBuf>,
}

/// The verdict of the last pattern that matches a source.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Named {
    Skipped,
    /// It is an exception.
    Wanted,
    /// No pattern matches.
    Unnamed,
}

/// The filters of one step.
#[derive(Clone, Copy)]
pub struct StepFilter<'a> {
    all: &'a StepFilters,
    /// Whether the step stops only where the source is at hand, as it began in such code.
    needs_source: bool,
}

fn compile(patterns: &[String]) -> Result<RegexSet, regex::Error> {
    RegexSetBuilder::new(patterns)
        .size_limit(MAX_COMPILED_BYTES)
        .build()
}

impl Default for StepFilters {
    fn default() -> Self {
        Self::new(&[]).unwrap_or_else(|_| Self::none())
    }
}

impl StepFilters {
    /// Returns empty filters: steps stop in all code that has lines.
    pub fn none() -> Self {
        Self {
            compiled: OnceCell::new(),
            patterns: Vec::new(),
            excepts: Vec::new(),
            known: RefCell::default(),
            at_hand: RefCell::default(),
            mapped: Vec::new(),
        }
    }

    /// Returns the defaults and more patterns of whole paths: `*` is any text, `?` any character; a
    /// pattern after `!` is an exception. The last matching pattern wins.
    ///
    /// # Errors
    /// Too long or too many patterns; the text names the cause.
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
        let compiled = match more.is_empty() {
            true => OnceCell::new(),
            false => OnceCell::from(compile(&patterns).map_err(|error| error.to_string())?),
        };
        Ok(Self {
            compiled,
            patterns,
            excepts,
            known: RefCell::default(),
            at_hand: RefCell::default(),
            mapped: Vec::new(),
        })
    }

    /// Sets the folders of the debug info whose files the user has elsewhere: sources in them are at hand. Returns
    /// whether others were set before.
    pub fn set_mapped(&mut self, folders: Vec<PathBuf>) -> bool {
        let are_new = self.mapped != folders;
        if are_new {
            self.mapped = folders;
            self.at_hand.borrow_mut().clear();
        }
        are_new
    }

    /// Returns the filters of a step; [`StepFilters::needs_source_from`] says whether it needs sources.
    pub fn of_step(&self, needs_source: bool) -> StepFilter<'_> {
        StepFilter {
            all: self,
            needs_source,
        }
    }

    /// Returns whether a step that begins in a source stops only where the source is at hand.
    pub fn needs_source_from(&self, file: Option<&Arc<SourceFile>>) -> bool {
        !self.excepts.is_empty() && file.is_some_and(|file| self.is_at_hand(file))
    }

    /// Returns whether patterns say that steps do not stop in the code of a source.
    pub fn skips(&self, file: &Arc<SourceFile>) -> bool {
        self.named(file) == Named::Skipped
    }

    fn named(&self, file: &Arc<SourceFile>) -> Named {
        if self.excepts.is_empty() {
            return Named::Unnamed;
        }
        if let Some(known) = self.known.borrow().get(file) {
            return *known;
        }
        let compiled = || compile(&self.patterns).unwrap_or_else(|_| RegexSet::empty());
        let compiled = self.compiled.get_or_init(compiled);
        let fits = compiled.matches(file.path.as_os_str().as_bytes());
        let named = match fits.iter().max().and_then(|last| self.excepts.get(last)) {
            Some(false) => Named::Skipped,
            Some(true) => Named::Wanted,
            None => Named::Unnamed,
        };
        self.known.borrow_mut().insert(Arc::clone(file), named);
        named
    }

    /// Returns whether a source exists on this machine, or the user has mapped its folder. The file is searched once.
    pub fn is_at_hand(&self, file: &Arc<SourceFile>) -> bool {
        if let Some(known) = self.at_hand.borrow().get(file) {
            return *known;
        }
        let is_mapped = self.mapped.iter().any(|it| file.path.starts_with(it));
        let is_there = is_mapped || file.path.exists();
        self.at_hand.borrow_mut().insert(Arc::clone(file), is_there);
        is_there
    }
}

impl StepFilter<'_> {
    /// Returns whether the step needs sources.
    pub fn needs_source(&self) -> bool {
        self.needs_source
    }

    /// Returns whether the step does not stop in the code of a source.
    pub fn skips(&self, file: &Arc<SourceFile>) -> bool {
        self.all.skips(file) || self.lacks(file)
    }

    /// Returns whether the step needs a source that is not at hand, and that no exception names. A relative path says
    /// too little to search for it.
    pub fn lacks(&self, file: &Arc<SourceFile>) -> bool {
        let is_relative = file.path.is_relative() || file.path.starts_with("/proc/self/cwd");
        self.needs_source
            && !is_relative
            && !self.all.is_at_hand(file)
            && self.all.named(file) != Named::Wanted
    }

    /// Returns whether the step may stop at an address: it has a line of a source that is not
    /// filtered, and is not system code without sources on this machine.
    pub fn shows(&self, loaded: &Loaded, addr: FileAddr) -> bool {
        let location = loaded.module.place_at(addr);
        location.is_some_and(|it| !self.all.skips(&it.file)) && self.has_source(loaded, addr)
    }

    /// The same without the patterns.
    pub fn has_source(&self, loaded: &Loaded, addr: FileAddr) -> bool {
        let location = loaded.module.place_at(addr);
        location.is_some_and(|it| match loaded.is_of_the_system() {
            true => self.all.is_at_hand(&it.file),
            false => !self.lacks(&it.file),
        })
    }

    /// Like [`Self::shows`], for an address of the process.
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
    fn default_filter_covers_libraries_only() {
        let filters = StepFilters::default();
        assert!(skips(&filters, "/rustc/59807616e/library/core/src/iter.rs"));
        assert!(skips(
            &filters,
            "/home/a/.cargo/registry/src/x/serde-1/lib.rs"
        ));
        // The official images of Rust have another folder, and `std` is built with crates of its own.
        for path in [
            "/usr/local/cargo/registry/src/index.crates.io-6f17/serde-1/lib.rs",
            "/opt/cargo/git/checkouts/serde-1/1a2b/src/lib.rs",
            "/rust/deps/hashbrown-0.16.1/src/map.rs",
        ] {
            assert!(skips(&filters, path), "{path}");
        }
        assert!(!skips(&filters, "/home/a/registry/main.rs"));
        assert!(skips(&filters, "/usr/include/c++/12/bits/stl_algo.h"));
        assert!(skips(
            &filters,
            "/usr/aarch64-linux-gnu/include/c++/12/vector"
        ));
        assert!(!skips(&filters, "/home/a/rustc/src/main.rs"));
        assert!(!skips(&StepFilters::none(), "/usr/include/c++/12/vector"));
    }

    #[test]
    fn source_is_matched_once() {
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
    fn last_matching_pattern_decides() {
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
