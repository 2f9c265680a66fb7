//! Statistics of how many statement lines of an image can have a jump patch;
//! `tests/benches/jump_patch_coverage.rs` measures them without a process.

use super::function_code::FunctionCode;
use super::layout::{Layout, Link, Refused};
use super::springboard::{self, PAGE, Springboards};
use super::trampoline::{HitAction, Trampoline};
use super::window::{PatchRefusal, PatchedRange};
use crate::os::Mapping;
use dwarf::{FileAddr, LoadAddr, LoadBias, Memory, Module, Unreadable};
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// The outcome for breakpoints on all statement lines of all functions of an image, with counts.
#[derive(Default)]
pub struct Coverage {
    /// Kinds of possible jumps.
    pub jumps: BTreeMap<&'static str, u64>,
    /// Reasons for a trap.
    pub traps: BTreeMap<PatchRefusal, u64>,
    /// The same if all lines of a function have breakpoints at once.
    pub together: BTreeMap<&'static str, u64>,
}

impl Coverage {
    /// Examines all functions of an image with debug info, as if the process had no other memory in
    /// use.
    pub fn of(module: &Module) -> Coverage {
        let symbols = module.functions_by_symbol();
        let entries: BTreeSet<FileAddr> = symbols.iter().map(|it| it.addr).collect();
        let functions = entries.par_iter().map(|entry| {
            let mut coverage = Coverage::default();
            coverage.add_function(module, *entry);
            coverage
        });
        functions.reduce(Coverage::default, Coverage::with)
    }

    fn with(mut self, other: Coverage) -> Coverage {
        for (how, count) in other.jumps {
            *self.jumps.entry(how).or_default() += count;
        }
        for (why, count) in other.traps {
            *self.traps.entry(why).or_default() += count;
        }
        for (what, count) in other.together {
            *self.together.entry(what).or_default() += count;
        }
        self
    }

    fn add_function(&mut self, module: &Module, entry: FileAddr) {
        let Some(function) = module.function_at(entry) else {
            return;
        };
        if function.entry != entry {
            return;
        }
        let rows = function.ranges.iter().flat_map(|range| {
            let rows = module.rows_in(*range);
            rows.into_iter().filter(|row| row.is_stmt)
        });
        let lines: BTreeSet<FileAddr> = rows
            .filter(|row| row.location.is_some())
            .map(|row| row.range.start)
            .collect();
        let image = Image::new(module);
        let bias = image.bias;
        let code = FunctionCode::read(module, bias, bias.load(entry), &image);
        if let Ok(code) = &code {
            let sites: Vec<LoadAddr> = lines.iter().map(|line| bias.load(*line)).collect();
            self.add_together(&sites, code, &image);
        }
        for line in lines {
            let code = code.as_ref().map_err(|why| *why);
            match code.and_then(|code| place(bias.load(line), code, &image.mappings)) {
                Ok(how) => *self.jumps.entry(how).or_default() += 1,
                Err(why) => *self.traps.entry(why).or_default() += 1,
            }
        }
    }
}

impl Coverage {
    /// Places jumps at all of these sites, one after the other in the order of execution.
    fn add_together(&mut self, sites: &[LoadAddr], code: &FunctionCode, image: &Image<'_>) {
        let mut layout = Layout::default();
        for site in sites {
            layout.add_site(*site);
        }
        for site in sites {
            let what = match PatchedRange::at(*site, code, sites) {
                Err(_) => TRAP_ALONE,
                Ok(window) => {
                    let link = Link {
                        site: *site,
                        own: window.own(),
                        trampoline: *site + AWAY,
                        current: None,
                    };
                    match layout.lay(link, image, &image.mappings) {
                        Ok(()) => "jump",
                        Err(Refused::Neighbors) => {
                            "trap: no jump target is free beside its neighbors"
                        }
                        Err(Refused::NoMemory) => TRAP_ALONE,
                    }
                }
            };
            *self.together.entry(what).or_default() += 1;
            let alone = PatchedRange::at(*site, code, &[]);
            let reaches = alone.map_or(*site, |window| window.reaches_to(*site));
            if sites.iter().any(|other| other > site && *other < reaches) {
                let close = "a jump there shares bytes with the next line";
                *self.together.entry(close).or_default() += 1;
            }
        }
    }
}

/// Distance of a possible trampoline from the image.
const AWAY: u64 = 1 << 24;
/// The outcome of a line that has a trap without neighbors, too.
const TRAP_ALONE: &str = "trap: the same without neighbors";

/// Returns how a jump could be placed at an address.
fn place(
    site: LoadAddr,
    code: &FunctionCode,
    mappings: &[Mapping],
) -> Result<&'static str, PatchRefusal> {
    let window = PatchedRange::at(site, code, &[])?;
    Trampoline::build(site + AWAY, site, &window, None, HitAction::Stop)
        .map_err(|_| "instructions cannot be relocated")?;
    if window.overlapped_bytes.is_empty() {
        return Ok(match window.instructions.len() {
            1 => "one instruction is long enough",
            _ => "several instructions are long enough",
        });
    }
    let reach = springboard::reach(site, &window.overlapped_bytes);
    let reach = reach.ok_or("a jump with so few free bytes reaches no user memory")?;
    if Springboards::default()
        .missing_pages(&reach, mappings)
        .is_empty()
    {
        return Err("a jump with so few free bytes reaches only mapped memory");
    }
    Ok(match window.overlapped_bytes.len() {
        1 => "four bytes of the jump are free",
        2 => "three bytes of the jump are free",
        3 => "two bytes of the jump are free",
        _ => "one byte of the jump is free",
    })
}

/// An image read from its file, at the address where the kernel would map it, followed by a heap.
struct Image<'a> {
    module: &'a Module,
    bias: LoadBias,
    mappings: [Mapping; 2],
}

impl<'a> Image<'a> {
    fn new(module: &'a Module) -> Self {
        /// Start of a position-independent program if addresses are not randomised.
        const START: u64 = 0x5555_5555_4000;
        const HEAP: u64 = 0x2_1000;
        let range = module.load_range();
        let bias = match module.is_position_independent() {
            true => LoadBias(START - (range.start.0 & !(PAGE - 1))),
            false => LoadBias(0),
        };
        let mapping = |start, end, path: &str| Mapping {
            start,
            end,
            readable: true,
            writable: true,
            executable: true,
            shared: false,
            path: path.into(),
            offset: 0,
        };
        let (start, end) = (bias.load(range.start), bias.load(range.end));
        Self {
            module,
            bias,
            mappings: [mapping(start, end, ""), mapping(end, end + HEAP, "[heap]")],
        }
    }
}

impl Memory for Image<'_> {
    fn read(&self, addr: LoadAddr, buffer: &mut [u8]) -> Result<(), Unreadable> {
        let len = buffer.len();
        self.module
            .read_image(self.bias.file(addr), buffer)
            .ok_or(Unreadable { addr, len })
    }
}
