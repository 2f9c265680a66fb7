//! Breakpoints on all functions whose readable names match: `/regular expression/`.

use super::BoundLocation;
use super::problem::Problem;
use super::resolve::{Resolved, at_symbol};
use crate::ids::ModuleId;
use crate::images::modules::{Loaded, Modules};
use dwarf::{FileAddr, Symbol, SymbolKind};
use rayon::prelude::*;
use regex::{Regex, RegexBuilder};
use rustc_hash::FxHashMap;
use std::borrow::Cow;

/// Maximum number of locations of a pattern.
pub const MAX_LOCATIONS: usize = 20_000;
/// Maximum size of a compiled pattern in bytes.
const MAX_COMPILED_BYTES: usize = 1 << 20;

/// A pattern and its matches so far.
pub struct Pattern {
    regex: Regex,
    found: FxHashMap<ModuleId, ModuleMatches>,
}

/// The matches in one image.
pub(super) struct ModuleMatches {
    /// The first addresses.
    addresses: Vec<FileAddr>,
    /// The number of matches.
    total: usize,
}

impl Pattern {
    /// Parses the pattern in a function's name of the form `/…/`; `None`: it is a plain name.
    ///
    /// # Errors
    /// A description of the error for users.
    pub fn parse(name: &str) -> Option<Result<Self, String>> {
        let text = name.strip_prefix('/')?.strip_suffix('/')?;
        let built = RegexBuilder::new(text)
            .size_limit(MAX_COMPILED_BYTES)
            .build();
        Some(match built {
            Ok(regex) if !text.is_empty() => Ok(Self {
                regex,
                found: FxHashMap::default(),
            }),
            Ok(_) => Err("an empty pattern would match every function".into()),
            Err(error) => Err(error.to_string()),
        })
    }

    /// Drops the matches of an image, so that it is searched again.
    pub fn forget(&mut self, module: ModuleId) {
        self.found.remove(&module);
    }

    /// Returns whether functions of an image match.
    pub fn matches_in(&mut self, loaded: &Loaded) -> bool {
        let regex = &self.regex;
        let found = self.found.entry(loaded.id);
        found.or_insert_with(|| find(regex, loaded)).total > 0
    }

    /// Returns the locations of all matching functions. System libraries are searched only if no
    /// other image has a match.
    pub fn resolve(&mut self, modules: &Modules) -> Resolved {
        let (mut bound, mut total) = (Vec::new(), 0);
        for of_the_system in [false, true] {
            let fit = |loaded: &&Loaded| loaded.is_of_the_system() == of_the_system;
            for loaded in modules.loaded.iter().filter(fit) {
                let room = MAX_LOCATIONS.saturating_sub(bound.len());
                total += self.places(loaded, room, &mut bound);
            }
            if total > 0 {
                break;
            }
        }
        let left_out = total.saturating_sub(bound.len());
        let why = (total == 0).then(|| {
            format!(
                "pending: no function in a loaded module matches `{}`",
                self.regex
            )
        });
        let note = (left_out > 0).then(|| {
            format!(
                "set on {} of {total} matching functions; {left_out} left out: {MAX_LOCATIONS} is the \
                 most, narrow the pattern",
                bound.len()
            )
        });
        bound.sort_by_key(|bound: &BoundLocation| bound.addr);
        bound.dedup_by_key(|bound| bound.addr);
        Resolved {
            bound,
            why: why.map(Problem::from),
            note,
            ..Resolved::default()
        }
    }

    /// Adds the locations in an image, at most `room`. Returns the number of matching functions.
    /// Functions without debug info count only if there are no others.
    fn places(&mut self, loaded: &Loaded, room: usize, bound: &mut Vec<BoundLocation>) -> usize {
        let regex = &self.regex;
        let found = self
            .found
            .entry(loaded.id)
            .or_insert_with(|| find(regex, loaded));
        let first = found.addresses.iter().take(room);
        let (known, unknown): (Vec<_>, Vec<_>) = first
            .map(|addr| at_symbol(loaded, *addr))
            .partition(|(_, known)| *known);
        let (kept, passed_over) = match known.is_empty() {
            true => (unknown, 0),
            false => (known, unknown.len()),
        };
        bound.extend(kept.into_iter().map(|(place, _)| place));
        found.total - passed_over
    }
}

pub(super) fn find(regex: &Regex, loaded: &Loaded) -> ModuleMatches {
    let symbols = loaded.module.functions_by_symbol();
    let matches = |symbol: &&Symbol| {
        let name: Cow<'_, str> = dwarf::demangle_function(symbol.name);
        symbol.kind == SymbolKind::Function && symbol.addr.0 != 0 && regex.is_match(&name)
    };
    let mut addresses: Vec<FileAddr> = symbols
        .par_iter()
        .with_min_len(4096)
        .filter(matches)
        .map(|symbol| symbol.addr)
        .collect();
    // One function may have several names.
    addresses.sort_unstable();
    addresses.dedup();
    let total = addresses.len();
    addresses.truncate(MAX_LOCATIONS);
    addresses.shrink_to_fit();
    ModuleMatches { addresses, total }
}
