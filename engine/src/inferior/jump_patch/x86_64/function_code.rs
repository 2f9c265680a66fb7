//! The code of one function, and the possible entries into it.

use super::super::window::{PatchRefusal, UNKNOWN_FUNCTION};
use super::around::branches_into;
use super::jump_table;
use crate::arch::x86_64::MAX_INSTRUCTION_BYTES;
use dwarf::{LoadAddr, LoadBias, Memory, Module};
use iced_x86::{Decoder, DecoderOptions, Instruction, Mnemonic, OpKind};
use std::collections::BTreeSet;
use std::ops::Range;

/// A contiguous range of a function's code.
pub struct CodeRange {
    /// Its first address.
    pub start: LoadAddr,
    /// Its instructions.
    pub bytes: Vec<u8>,
    /// The bytes after it, usually of the next function.
    pub behind: Vec<u8>,
    /// How many of these bytes are padding that is never executed.
    pub padding: usize,
}

/// The code of a function.
pub struct FunctionCode {
    runs: Vec<CodeRange>,
    /// Addresses entered other than by branches: landing pads.
    other_entry_into: BTreeSet<LoadAddr>,
    /// Addresses that other functions branch to.
    shared: BTreeSet<LoadAddr>,
    /// Targets of the function's own branches; `None`: not all of them are known.
    targets: Option<BTreeSet<LoadAddr>>,
}

impl FunctionCode {
    /// Reads the code of the function at `addr` in an image from `memory`.
    ///
    /// # Errors
    /// No function is known there, or its code cannot be read.
    pub fn read(
        module: &Module,
        bias: LoadBias,
        addr: LoadAddr,
        memory: &dyn Memory,
    ) -> Result<Self, PatchRefusal> {
        /// Maximum size of a function in bytes.
        const MAX_FUNCTION_BYTES: u64 = 1 << 24;
        let function = module
            .function_at(bias.file(addr))
            .ok_or(UNKNOWN_FUNCTION)?;
        let mut runs = Vec::new();
        let mut pads = BTreeSet::new();
        let mut shared = BTreeSet::new();
        for range in &function.ranges {
            let len = range.end - range.start;
            if len > MAX_FUNCTION_BYTES {
                return Err("the function is too long");
            }
            let (start, end) = (bias.load(range.start), bias.load(range.end));
            let mut bytes = vec![0; len as usize];
            memory
                .read(start, &mut bytes)
                .map_err(|_| "the function cannot be read")?;
            let mut behind = vec![0; MAX_INSTRUCTION_BYTES];
            if memory.read(end, &mut behind).is_err() {
                behind.clear();
            }
            let begins = |at| {
                let symbol = module.symbol_at(at);
                symbol.is_some_and(|symbol| symbol.addr >= range.end)
            };
            let is_known = |at| module.function_at(at).is_some() || begins(at);
            let mut padding = padding(&behind);
            while padding > 0 && is_known(range.end + (padding as u64 - 1)) {
                padding -= 1;
            }
            runs.push(CodeRange {
                start,
                bytes,
                behind,
                padding,
            });
            let here = module.landing_pads(range.start);
            let here = here.map_err(|_| "landing pads of exceptions are unknown")?;
            pads.extend(here.into_iter().map(|pad| bias.load(pad)));
            shared.extend(branches_into(&(start..end), memory));
        }
        Ok(Self {
            shared,
            ..Self::new(runs, pads, memory)
        })
    }

    /// Returns a function of these ranges; `entered` are the addresses entered other than by its
    /// branches. Its jump tables are read from `memory`.
    pub fn new(runs: Vec<CodeRange>, entered: BTreeSet<LoadAddr>, memory: &dyn Memory) -> Self {
        let targets = targets(&runs, memory);
        Self {
            runs,
            other_entry_into: entered,
            shared: BTreeSet::new(),
            targets,
        }
    }

    /// Returns the range that contains an address.
    pub fn run_at(&self, addr: LoadAddr) -> Option<&CodeRange> {
        let holds = |run: &&CodeRange| addr - run.start < run.bytes.len() as u64;
        self.runs.iter().find(holds)
    }

    /// Returns whether all targets of the function's own branches are known.
    pub fn targets_are_known(&self) -> bool {
        self.targets.is_some()
    }

    /// Returns why control may enter `places` other than by fall-through (landing pad, branch
    /// target, also of other functions). `None` if no reason is known; see [`Self::targets_are_known`].
    pub fn other_entry_into(&self, places: Range<LoadAddr>) -> Option<PatchRefusal> {
        if self.other_entry_into.range(places.clone()).next().is_some() {
            return Some("an exception may land on the next instruction");
        }
        if self.shared.range(places.clone()).next().is_some() {
            return Some("another function branches to the next instruction");
        }
        let targets = self.targets.as_ref()?;
        let target = targets.range(places).next();
        target.map(|_| "a branch targets the next instruction")
    }
}

/// Returns the targets of branches; `None`: not all of them are known.
fn targets(runs: &[CodeRange], memory: &dyn Memory) -> Option<BTreeSet<LoadAddr>> {
    let decode = |run: &CodeRange| {
        let decoder = Decoder::with_ip(64, &run.bytes, run.start.0, DecoderOptions::NONE);
        decoder.into_iter().collect()
    };
    let instructions: Vec<Vec<Instruction>> = runs.iter().map(decode).collect();
    let mut targets = BTreeSet::new();
    for instruction in instructions.iter().flatten() {
        if instruction.is_invalid() {
            return None;
        }
        if instruction.is_ip_rel_memory_operand() {
            // The address of a label, if it is in the function.
            targets.insert(LoadAddr(instruction.ip_rel_memory_address()));
        }
        if instruction.op0_kind() == OpKind::NearBranch64 {
            targets.insert(LoadAddr(instruction.near_branch64()));
        }
    }
    let by_tables = jump_table::targets(runs, &instructions, &targets, memory)?;
    targets.extend(by_tables);
    Some(targets)
}

/// Returns the length of the padding at the beginning of some bytes.
fn padding(bytes: &[u8]) -> usize {
    let mut decoder = Decoder::new(64, bytes, DecoderOptions::NONE);
    let mut padding = 0;
    while decoder.can_decode() {
        let instruction = decoder.decode();
        let fills = matches!(instruction.mnemonic(), Mnemonic::Nop | Mnemonic::Int3)
            // `xchg %ax,%ax`
            || bytes[padding..].starts_with(&[0x66, 0x90]);
        if !fills {
            break;
        }
        padding = decoder.position();
    }
    padding
}
