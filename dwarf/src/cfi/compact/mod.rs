//! Compact unwind info of Mach-O: 32 bits that say how a function's frame is unwound, of most
//! functions instead of call frame information. They hold at calls, as exceptions need them; the
//! instructions that make and remove the frame are not described.

mod arm64;
mod table;
mod x86_64;

use crate::cfi::{CfaRule, RegisterRule, Rule};
use crate::file::object::{Image, u32_at};
use crate::ids::Machine;
use crate::ids::register::Register;
use gimli::{Encoding, Format};
use std::ops::Range;
use table::{Entry, Table};

/// Whether a function has an exception table.
const HAS_EXCEPTION_TABLE: u32 = 0x4000_0000;

/// The compact unwind info of an image.
pub(super) struct Compact {
    table: Table,
    machine: Machine,
    /// The code: addresses and what is there.
    code: Vec<(u64, &'static [u8])>,
}

/// How a function's frame is unwound.
pub(super) enum Unwind {
    /// By this rule.
    Rule(Box<Rule>),
    /// By the call frame information at this offset in `__eh_frame`; 0 if it has to be looked for.
    Dwarf(usize),
}

impl Compact {
    /// Finds the compact unwind info of an image.
    pub(super) fn read(image: &Image) -> Option<Compact> {
        let section = image.section("__unwind_info")?;
        let segments = image.segments.iter().filter(|segment| segment.executable);
        let code = segments.filter_map(|segment| {
            let start = segment.range.start.0;
            Some((start, image.bytes_at(start)?))
        });
        Some(Compact {
            table: Table::read(image.contents(section), image.macho()?.start)?,
            machine: image.machine,
            code: code.collect(),
        })
    }

    /// Returns how the function at an address is unwound; `None` if that is not described.
    pub(super) fn unwind(&self, addr: u64) -> Option<Unwind> {
        let entry = self.table.find(addr)?;
        match self.machine {
            Machine::X86_64 => x86_64::unwind(entry.encoding, |at| self.word(&entry, at)),
            Machine::Aarch64 => arm64::unwind(entry.encoding),
            Machine::Other(_) => None,
        }
    }

    /// Returns the start of the function at an address, and the address of its exception table.
    pub(super) fn exception_table(&self, addr: u64) -> Option<(u64, u64)> {
        let entry = self.table.find(addr)?;
        if entry.encoding & HAS_EXCEPTION_TABLE == 0 {
            return None;
        }
        // Linkers give such a function an entry of its own.
        Some((entry.start, self.table.exception_table(&entry)?))
    }

    /// Returns the addresses in a range where functions are known to begin. Those between adjacent
    /// functions of one encoding are not.
    pub(super) fn starts_in(&self, range: Range<u64>) -> Vec<u64> {
        self.table.starts_in(range)
    }

    /// Returns the word in the code of an entry's first function.
    fn word(&self, entry: &Entry, at: u32) -> Option<u32> {
        let addr = entry.start.checked_add(at.into())?;
        self.code.iter().find_map(|(start, bytes)| {
            let offset = usize::try_from(addr.checked_sub(*start)?).ok()?;
            u32_at(bytes, offset)
        })
    }
}

/// Makes a rule that holds at calls.
fn rule(
    cfa: CfaRule,
    return_address: Register,
    registers: Vec<(Register, RegisterRule)>,
) -> Unwind {
    Unwind::Rule(Box::new(Rule {
        cfa,
        registers: registers.into(),
        return_address,
        signal_frame: false,
        at_calls: true,
        encoding: Encoding {
            address_size: 8,
            format: Format::Dwarf32,
            version: 4,
        },
    }))
}
