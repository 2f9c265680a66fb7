//! Where the dynamic loader calls the function that debuggers watch. A loader calls it before and
//! behind each change; only behind one there is something to learn, and a stop there alone is half
//! the price.

use super::Loaded;
use dwarf::{FileAddr, LoadAddr, Memory};
use rustc_hash::FxHashSet;

/// The watched function's name where the loader has one for it.
pub const FUNCTION: &str = "_dl_debug_state";
/// So many additions are stopped at before the calls are told apart: most programs have fewer.
const ADDITIONS_BEFORE_CALLS: usize = 16;
/// Length of `call rel32`.
const CALL: u64 = 5;
/// Code of a loader is shorter.
const MAX_CODE: u64 = 16 << 20;

/// What calls of the watched function were seen, by where they return to.
#[derive(Default)]
pub struct Announcements {
    before_additions: FxHashSet<LoadAddr>,
    others: FxHashSet<LoadAddr>,
    additions: usize,
}

impl Announcements {
    /// The watched function was called from before `back`; true if it is time to tell the calls
    /// apart.
    pub fn note(&mut self, back: LoadAddr, is_addition: bool) -> bool {
        match is_addition {
            true => self.before_additions.insert(back),
            false => self.others.insert(back),
        };
        self.additions += usize::from(is_addition);
        self.additions == ADDITIONS_BEFORE_CALLS
    }

    /// The calls to watch in the function's place: all but those before additions. `None`: the
    /// function may be called in other ways.
    pub fn calls_to_watch(&self, loader: &Loaded, function: LoadAddr) -> Option<Vec<LoadAddr>> {
        let calls = calls(loader, loader.bias.file(function))?;
        let mut calls: Vec<LoadAddr> = calls.iter().map(|it| loader.bias.load(*it)).collect();
        let returns: FxHashSet<LoadAddr> = calls.iter().map(|call| *call + CALL).collect();
        let mut seen = self.before_additions.iter().chain(&self.others);
        if !seen.all(|back| returns.contains(back)) {
            return None;
        }
        calls.retain(|call| {
            let back = *call + CALL;
            self.others.contains(&back) || !self.before_additions.contains(&back)
        });
        (!calls.is_empty()).then_some(calls)
    }
}

/// Where a thread that has just entered a function returns to.
pub fn return_address(memory: &dyn Memory, sp: LoadAddr) -> Option<LoadAddr> {
    memory.read_uint(sp, 8).ok().map(LoadAddr)
}

/// The instructions of an image that call a function of it; `None` if something else leads there.
fn calls(loaded: &Loaded, function: FileAddr) -> Option<Vec<FileAddr>> {
    if !loaded.module.function_slots(FUNCTION, None).is_empty() {
        return None;
    }
    let mut found = Vec::new();
    let segments = loaded.module.segments().iter();
    for segment in segments.filter(|it| it.executable) {
        let start = segment.range.start;
        let mut code = vec![0; usize::try_from(segment.file_size.min(MAX_CODE)).ok()?];
        loaded.module.read_image(start, &mut code)?;
        // Four bytes that happen to be the distance to the function are not looked for in vain:
        // a wrong find costs a stop that there is nothing to.
        for (index, distance) in (0_u64..).zip(code.windows(4)) {
            let behind = start + (index + 4);
            let distance = i32::from_le_bytes(distance.try_into().ok()?);
            if behind.0.wrapping_add_signed(distance.into()) != function.0 {
                continue;
            }
            let opcode = usize::try_from(index).ok()?.checked_sub(1);
            match opcode.and_then(|at| code.get(at)) {
                Some(0xe8) => found.push(start + (index - 1)),
                // `lea`, by which the loader tells where the function is.
                Some(modrm) if modrm & 0xc7 == 0x05 => {}
                _ => return None,
            }
        }
    }
    Some(found)
}
