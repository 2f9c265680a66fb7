//! Call sites of the function that the dynamic loader calls for debuggers. A loader calls it before
//! and after each change; only the call after it matters, and stopping only there halves the cost.

use super::Loaded;
use crate::arch::{Arch, DirectCall};
use dwarf::{FileAddr, LoadAddr};
use rustc_hash::FxHashSet;

/// The watched function's name, if the loader has a symbol for it.
pub const FUNCTION: &str = "_dl_debug_state";
/// Number of additions seen before the call sites are distinguished: most programs have fewer.
const ADDITIONS_BEFORE_CALLS: usize = 16;
/// Maximum size in bytes of a segment of code that is searched.
const MAX_CODE: u64 = 16 << 20;

/// Calls of the watched function that were seen, by return address.
#[derive(Default)]
pub struct Announcements {
    before_additions: FxHashSet<LoadAddr>,
    others: FxHashSet<LoadAddr>,
    additions: usize,
}

impl Announcements {
    /// Records a call of the watched function that returns to `back`. Returns true if it is time to
    /// distinguish the call sites.
    pub fn note(&mut self, back: LoadAddr, is_addition: bool) -> bool {
        match is_addition {
            true => self.before_additions.insert(back),
            false => self.others.insert(back),
        };
        self.additions += usize::from(is_addition);
        self.additions == ADDITIONS_BEFORE_CALLS
    }

    /// Returns the call sites to watch instead of the function: all but those before additions.
    /// `None`: the function may be called in other ways.
    pub fn calls_to_watch(&self, loader: &Loaded, function: LoadAddr) -> Option<Vec<LoadAddr>> {
        let calls = calls(loader, loader.bias.file(function))?;
        let load = |addr: FileAddr| loader.bias.load(addr);
        let returns: FxHashSet<LoadAddr> = calls.iter().map(|call| load(call.back)).collect();
        let mut seen = self.before_additions.iter().chain(&self.others);
        if !seen.all(|back| returns.contains(back)) {
            return None;
        }
        let is_watched = |call: &&DirectCall| {
            let back = load(call.back);
            self.others.contains(&back) || !self.before_additions.contains(&back)
        };
        let watched = calls.iter().filter(is_watched);
        let calls: Vec<LoadAddr> = watched.map(|call| load(call.addr)).collect();
        (!calls.is_empty()).then_some(calls)
    }
}

/// Returns the instructions of an image that call one of its functions; `None` if other references
/// to it exist.
fn calls(loaded: &Loaded, function: FileAddr) -> Option<Vec<DirectCall>> {
    let arch = Arch::of(loaded.module.machine())?;
    if !loaded.module.function_slots(FUNCTION, None).is_empty() {
        return None;
    }
    let mut found = Vec::new();
    let segments = loaded.module.segments().iter();
    for segment in segments.filter(|it| it.executable) {
        let start = segment.range.start;
        if segment.file_size > MAX_CODE {
            return None;
        }
        let mut code = vec![0; usize::try_from(segment.file_size).ok()?];
        loaded.module.read_image(start, &mut code)?;
        found.extend(arch.direct_calls(&code, start, function)?);
    }
    Some(found)
}
