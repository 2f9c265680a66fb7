//! Call frame information: the unwind rules for an address (DWARF 5 §6.4, LSB ".eh_frame").

mod compact;
mod search_table;
mod translated;

use crate::file::R;
use crate::file::object::Image;
use crate::ids::error::Error;
use crate::ids::machine::MachineFacts;
use crate::ids::register::Register;
use compact::{Compact, Unwind};
use gimli::{
    BaseAddresses, CieOrFde, DebugFrame, EhFrame, Encoding, LittleEndian, UnwindContext,
    UnwindSection, Vendor,
};
use search_table::SearchTable;
use smallvec::SmallVec;
use std::ops::Range;
use std::sync::OnceLock;
use translated::{Kind, translated};

/// The unwind rules of a frame: how to compute the caller's registers.
pub(crate) struct Rule {
    pub(crate) cfa: CfaRule,
    pub(crate) registers: SmallVec<[(Register, RegisterRule); 8]>,
    pub(crate) return_address: Register,
    pub(crate) signal_frame: bool,
    /// Whether it holds at calls only: not where the function makes or removes its frame.
    pub(crate) at_calls: bool,
    pub(crate) encoding: Encoding,
}

impl Rule {
    /// Returns the rule for the return address; `None`: it is still where a call has put it.
    fn of_return_address(&self) -> Option<&RegisterRule> {
        let mut rules = self.registers.iter();
        let rule = rules.find(|(register, _)| *register == self.return_address);
        rule.map(|(_, rule)| rule)
    }
}

/// The rule for the canonical frame address (CFA).
#[derive(PartialEq)]
pub(crate) enum CfaRule {
    Offset(Register, i64),
    Expression(R),
}

/// The rule for one register of the caller. `Architectural` rules are left out.
pub(crate) enum RegisterRule {
    Undefined,
    Same,
    Offset(i64),
    ValOffset(i64),
    Register(Register),
    Expression(R),
    ValExpression(R),
    Constant(u64),
}

/// The CFI sections of an image.
pub(crate) struct Cfi {
    bases: BaseAddresses,
    eh_frame: Option<Frames<EhFrame<R>>>,
    eh_frame_addr: u64,
    search_table: Option<SearchTable>,
    debug_frame: Option<Frames<DebugFrame<R>>>,
    /// What most functions of Mach-O have instead.
    compact: Option<Compact>,
}

/// A CFI section.
struct Frames<S> {
    /// The section as it is in the file.
    plain: S,
    /// Its translation, from when it turns out that gimli cannot read it all.
    translated: OnceLock<S>,
    /// All FDEs, by address; where no table has them.
    scan: OnceLock<Vec<FdeRange>>,
    data: &'static [u8],
    kind: Kind,
    facts: &'static MachineFacts,
    /// Makes a section.
    of: fn(&'static [u8], Vendor) -> S,
}

impl<S: UnwindSection<R>> Frames<S> {
    fn new(
        data: &'static [u8],
        kind: Kind,
        facts: &'static MachineFacts,
        of: fn(&'static [u8], Vendor) -> S,
    ) -> Option<Self> {
        (!data.is_empty()).then(|| Self {
            plain: of(data, facts.cfi_vendor),
            translated: OnceLock::new(),
            scan: OnceLock::new(),
            data,
            kind,
            facts,
            of,
        })
    }

    /// Reads with gimli, from the translation if the section has what gimli does not know.
    fn read<T>(
        &self,
        mut read: impl FnMut(&S) -> Result<T, gimli::Error>,
    ) -> Result<T, gimli::Error> {
        if let Some(section) = self.translated.get() {
            return read(section);
        }
        let foreign = &self.facts.foreign_cfi;
        match read(&self.plain) {
            Err(
                gimli::Error::UnknownCallFrameInstruction(_) | gimli::Error::UnknownAugmentation,
            ) if !foreign.is_empty() => {
                let section = self.translated.get_or_init(|| {
                    let data = translated(self.data, self.kind, foreign);
                    (self.of)(data, self.facts.cfi_vendor)
                });
                read(section)
            }
            result => result,
        }
    }

    /// Returns all FDEs, by address.
    fn scan(&self, bases: &BaseAddresses) -> &[FdeRange] {
        self.scan.get_or_init(|| {
            let mut found = Vec::new();
            // The length of a corrupt entry cannot be trusted, so the entries after it are lost.
            let _ = self.read(|section| {
                found.clear();
                scan(section, bases, &mut found)
            });
            found.sort_unstable();
            found
        })
    }
}

/// The code range and section offset of an FDE: start, end, offset.
type FdeRange = (u64, u64, usize);

impl Cfi {
    /// Finds the CFI sections of an image. `debug` returns the separate file with its debug info,
    /// which may have `.debug_frame`.
    pub(crate) fn read<'a>(image: &Image, debug: impl FnOnce() -> Option<&'a Image>) -> Cfi {
        let hdr = image.elf().and_then(|elf| elf.eh_frame_hdr).or_else(|| {
            let section = image.section(".eh_frame_hdr")?;
            Some((section.addr, image.contents(section)))
        });
        let table = hdr.and_then(|(addr, data)| SearchTable::parse(addr, data));
        let section = image.section(".eh_frame");
        let (eh_frame_addr, data) = match (section, &table) {
            (Some(section), _) => (section.addr, image.contents(section)),
            // Without section headers, `.eh_frame_hdr` has the start of `.eh_frame`.
            (None, Some((_, addr))) => (*addr, image.bytes_at(*addr).unwrap_or(&[])),
            (None, None) => (0, &[][..]),
        };
        let address_of = |name: &str| image.section(name).map_or(0, |section| section.addr);
        let bases = BaseAddresses::default()
            .set_eh_frame_hdr(hdr.map_or(0, |(addr, _)| addr))
            .set_eh_frame(eh_frame_addr)
            .set_text(address_of(".text"))
            .set_got(address_of(".got"));
        let mut debug_frame = image.section_data(".debug_frame");
        if debug_frame.is_empty()
            && let Some(debug) = debug()
        {
            debug_frame = debug.section_data(".debug_frame");
        }
        let facts = image.machine.facts();
        Cfi {
            bases,
            eh_frame: Frames::new(data, Kind::EhFrame, facts, |data, vendor| {
                let mut section = EhFrame::new(data, LittleEndian);
                section.set_address_size(8);
                section.set_vendor(vendor);
                section
            }),
            eh_frame_addr,
            search_table: table.map(|(table, _)| table),
            debug_frame: Frames::new(debug_frame, Kind::DebugFrame, facts, |data, vendor| {
                let mut section = DebugFrame::new(data, LittleEndian);
                section.set_address_size(8);
                section.set_vendor(vendor);
                section
            }),
            compact: Compact::read(image),
        }
    }

    /// Returns the code range of the entry that covers `addr`.
    pub(crate) fn entry_at(&self, addr: u64) -> Option<Range<u64>> {
        // Among overlapping entries, the one that begins last is the innermost.
        let entries = self.entries_in(addr, addr.checked_add(1)?);
        entries.into_iter().rev().find(|it| it.contains(&addr))
    }

    /// Returns the code ranges of the entries that begin in `[start, end)`, and of the last entry
    /// before them, by address.
    pub(crate) fn entries_in(&self, start: u64, end: u64) -> Vec<Range<u64>> {
        let mut found = Vec::new();
        match (&self.eh_frame, &self.search_table) {
            (Some(frames), Some(table)) => {
                let first = table.behind(start).unwrap_or(0).saturating_sub(1);
                for index in first.. {
                    if table.start(index).is_none_or(|it| it >= end) {
                        break;
                    }
                    let offset = table
                        .fde(index)
                        .and_then(|it| it.checked_sub(self.eh_frame_addr));
                    let Some(offset) = offset else { continue };
                    let offset = gimli::EhFrameOffset(offset as usize);
                    let fde = frames.read(|section| {
                        section.fde_from_offset(&self.bases, offset, EhFrame::cie_from_offset)
                    });
                    if let Ok(fde) = fde {
                        let first = fde.initial_address();
                        found.push(first..first.saturating_add(fde.len()));
                    }
                }
            }
            (Some(frames), None) => {
                found.extend(ranges_in(frames.scan(&self.bases), start, end));
            }
            (None, _) => {}
        }
        if let Some(frames) = &self.debug_frame {
            found.extend(ranges_in(frames.scan(&self.bases), start, end));
        }
        found.sort_unstable_by_key(|range| range.start);
        found
    }

    /// Returns the addresses in `[start, end)` where compact unwind info has functions begin.
    pub(crate) fn compact_starts(&self, start: u64, end: u64) -> Vec<u64> {
        let compact = self.compact.as_ref();
        compact.map_or_else(Vec::new, |it| it.starts_in(start..end))
    }

    /// Returns the unwind rules for `addr`; `None` if no entry covers it.
    pub(crate) fn rule(
        &self,
        addr: u64,
        context: &mut UnwindContext<usize>,
    ) -> Result<Option<Rule>, Error> {
        match self.compact.as_ref().and_then(|it| it.unwind(addr)) {
            Some(Unwind::Rule(rule)) => return Ok(Some(*rule)),
            // An offset of 0 or a corrupt one: the entry is looked for.
            Some(Unwind::Dwarf(offset)) => {
                if let Some(frames) = self.eh_frame.as_ref().filter(|_| offset != 0)
                    && let Ok(Some(rule)) = frames.read(|section| {
                        self.rule_in(section, gimli::EhFrameOffset(offset), addr, context)
                    })
                {
                    return Ok(Some(rule));
                }
            }
            None => {}
        }
        if let Some(frames) = &self.eh_frame
            && let Some(offset) = self.entry_of(frames, addr)
            && let Some(rule) = frames.read(|section| {
                self.rule_in(section, gimli::EhFrameOffset(offset), addr, context)
            })?
        {
            return Ok(Some(rule));
        }
        if let Some(frames) = &self.debug_frame
            && let Some(offset) = find(frames.scan(&self.bases), addr)
        {
            let rule = frames.read(|section| {
                self.rule_in(section, gimli::DebugFrameOffset(offset), addr, context)
            });
            return Ok(rule?);
        }
        Ok(None)
    }

    /// Returns the start of the function whose entry covers `addr`, and the address of its
    /// exception table (LSDA).
    pub(crate) fn exception_table(&self, addr: u64) -> Result<Option<(u64, u64)>, Error> {
        let compact = self.compact.as_ref();
        if let Some(found) = compact.and_then(|it| it.exception_table(addr)) {
            return Ok(Some(found));
        }
        let Some(frames) = &self.eh_frame else {
            return Ok(None);
        };
        let Some(offset) = self.entry_of(frames, addr) else {
            return Ok(None);
        };
        let offset = gimli::EhFrameOffset(offset);
        let fde = frames.read(|section| {
            section.fde_from_offset(&self.bases, offset, EhFrame::cie_from_offset)
        })?;
        Ok(match fde.lsda() {
            Some(gimli::Pointer::Direct(table)) if fde.contains(addr) => {
                Some((fde.initial_address(), table))
            }
            _ => None,
        })
    }

    /// Returns the offset in `.eh_frame` of the entry that may cover `addr`.
    fn entry_of(&self, frames: &Frames<EhFrame<R>>, addr: u64) -> Option<usize> {
        let Some(table) = &self.search_table else {
            return find(frames.scan(&self.bases), addr);
        };
        let entry = table.find(addr)?.checked_sub(self.eh_frame_addr)?;
        Some(entry as usize)
    }

    fn rule_in<S: UnwindSection<R>>(
        &self,
        section: &S,
        offset: S::Offset,
        addr: u64,
        context: &mut UnwindContext<usize>,
    ) -> Result<Option<Rule>, gimli::Error> {
        let fde = section.fde_from_offset(&self.bases, offset, S::cie_from_offset)?;
        if !fde.contains(addr) {
            return Ok(None);
        }
        let mut rule_at = |addr| {
            let row = match fde.unwind_info_for_address(section, &self.bases, context, addr) {
                Ok(row) => row,
                Err(gimli::Error::NoUnwindInfoForAddress) => return Ok(None),
                Err(error) => return Err(error),
            };
            let rule = rule_of(section, fde.cie(), fde.is_signal_trampoline(), row)?;
            Ok(Some((rule, row.start_address()..row.end_address())))
        };
        let Some((mut rule, row)) = rule_at(addr)? else {
            return Ok(None);
        };
        // glibc's `_dl_runtime_resolve` for aarch64 says only at its second instruction where the
        // stub that led to it has saved the return address.
        if row.start == fde.initial_address()
            && rule.of_return_address().is_none()
            && let Ok(Some((second, _))) = rule_at(row.end)
            && second.cfa == rule.cfa
            && let Some(RegisterRule::Offset(above @ 0..)) = second.of_return_address()
        {
            let kept = RegisterRule::Offset(*above);
            rule.registers.push((rule.return_address, kept));
        }
        Ok(Some(rule))
    }
}

/// Returns the rules of a row.
fn rule_of<S: UnwindSection<R>>(
    section: &S,
    cie: &gimli::CommonInformationEntry<R>,
    signal_frame: bool,
    row: &gimli::UnwindTableRow<usize>,
) -> Result<Rule, gimli::Error> {
    let bytes = |expression: &gimli::UnwindExpression<usize>| {
        expression.get(section).map(|expression| expression.0)
    };
    let cfa = match row.cfa() {
        gimli::CfaRule::RegisterAndOffset { register, offset } => {
            CfaRule::Offset(Register(register.0), *offset)
        }
        gimli::CfaRule::Expression(expression) => CfaRule::Expression(bytes(expression)?),
    };
    let mut registers = SmallVec::new();
    for (register, rule) in row.registers() {
        let rule = match rule {
            gimli::RegisterRule::Undefined => RegisterRule::Undefined,
            gimli::RegisterRule::SameValue => RegisterRule::Same,
            gimli::RegisterRule::Offset(offset) => RegisterRule::Offset(*offset),
            gimli::RegisterRule::ValOffset(offset) => RegisterRule::ValOffset(*offset),
            gimli::RegisterRule::Register(other) => RegisterRule::Register(Register(other.0)),
            gimli::RegisterRule::Expression(expression) => {
                RegisterRule::Expression(bytes(expression)?)
            }
            gimli::RegisterRule::ValExpression(expression) => {
                RegisterRule::ValExpression(bytes(expression)?)
            }
            gimli::RegisterRule::Constant(value) => RegisterRule::Constant(*value),
            _ => continue,
        };
        registers.push((Register(register.0), rule));
    }
    Ok(Rule {
        cfa,
        registers,
        return_address: Register(cie.return_address_register().0),
        signal_frame,
        at_calls: false,
        encoding: cie.encoding(),
    })
}

/// Adds all FDEs of a section up to the first corrupt entry.
fn scan<S: UnwindSection<R>>(
    section: &S,
    bases: &BaseAddresses,
    found: &mut Vec<FdeRange>,
) -> Result<(), gimli::Error> {
    let mut entries = section.entries(bases);
    while let Some(entry) = entries.next()? {
        if let CieOrFde::Fde(partial) = entry
            && let Ok(fde) = partial.parse(S::cie_from_offset)
            // Address 0 marks code that the linker discarded.
            && fde.initial_address() != 0
            && fde.len() > 0
        {
            found.push((
                fde.initial_address(),
                fde.initial_address().saturating_add(fde.len()),
                fde.offset(),
            ));
        }
    }
    Ok(())
}

fn ranges_in(ranges: &[FdeRange], start: u64, end: u64) -> impl Iterator<Item = Range<u64>> {
    let first = ranges.partition_point(|range| range.0 <= start);
    let from = ranges.get(first.saturating_sub(1)..).unwrap_or_default();
    let in_it = from.iter().take_while(move |range| range.0 < end);
    in_it.map(|range| range.0..range.1)
}

fn find(ranges: &[FdeRange], addr: u64) -> Option<usize> {
    let index = ranges
        .partition_point(|range| range.0 <= addr)
        .checked_sub(1)?;
    let range = ranges.get(index)?;
    (addr < range.1).then_some(range.2)
}
