//! Statistics of how many statement lines of an image can have a jump patch;
//! `tests/benches/jump_patch_coverage.rs` measures them without a process.

use super::trampoline::{Decision, HitAction, Place, Processor, Trampoline};
use super::window::{PatchRefusal, PatchedRange};
use super::x86_64;
use crate::arch::Arch;
use crate::images::body;
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
            .map(|row| match row.range.start == entry {
                true => body::behind_landing_pad(module, &function, entry),
                false => row.range.start,
            })
            .collect();
        let image = Image::new(module);
        let sites: Vec<LoadAddr> = lines.iter().map(|line| image.bias.load(*line)).collect();
        match Arch::of(module.machine()) {
            Some(Arch::X86_64) => {
                x86_64::coverage::add(self, &image, image.bias.load(entry), &sites)
            }
            Some(arch) => self.add_alone(arch, &image, &sites),
            None => {}
        }
    }

    /// Places a jump at each of these sites, in a set whose jumps do not depend on each other.
    fn add_alone(&mut self, arch: Arch, image: &Image<'_>, sites: &[LoadAddr]) {
        let processor = Processor {
            arch,
            capabilities: 0,
        };
        for site in sites {
            let place = (image.module, image.bias);
            let window = PatchedRange::find(arch, *site, place, image, &[]);
            let built = window.and_then(|window| {
                Trampoline::build(
                    processor,
                    Place::new(*site + AWAY, *site),
                    &window,
                    Decision::default(),
                    HitAction::Stop,
                )
                .map_err(|_| NOT_RELOCATED)
            });
            match built {
                Ok(_) => {
                    *self.jumps.entry(ONE_INSTRUCTION).or_default() += 1;
                    *self.together.entry(ONE_INSTRUCTION).or_default() += 1;
                }
                Err(why) => {
                    *self.traps.entry(why).or_default() += 1;
                    *self.together.entry(TRAP_ALONE).or_default() += 1;
                }
            }
        }
    }
}

/// The outcome of a line that has a trap without neighbors, too.
pub(super) const TRAP_ALONE: &str = "trap: the same without neighbors";
/// Distance of a possible trampoline from the image.
pub(super) const AWAY: u64 = 1 << 24;
/// A jump replaces one instruction.
pub(super) const ONE_INSTRUCTION: &str = "one instruction is long enough";
/// The copy of an instruction cannot be encoded.
pub(super) const NOT_RELOCATED: PatchRefusal = "instructions cannot be relocated";

/// An image read from its file, at the address where the kernel would map it, followed by a heap.
pub(super) struct Image<'a> {
    pub(super) module: &'a Module,
    pub(super) bias: LoadBias,
    pub(super) mappings: [Mapping; 2],
}

impl<'a> Image<'a> {
    fn new(module: &'a Module) -> Self {
        /// Start of a position-independent program if addresses are not randomised.
        const START: u64 = 0x5555_5555_4000;
        const HEAP: u64 = 0x2_1000;
        const PAGE: u64 = 1 << 12;
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
