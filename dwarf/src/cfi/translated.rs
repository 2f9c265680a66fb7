//! Copies of call frame information in which nothing is left that gimli does not know, where no rule
//! depends on it: gimli gives a function with one such instruction no rules at all, and a section
//! with one such augmentation ends for it there.

use crate::file::R;
use crate::ids::machine::ForeignCfi;
use gimli::{DwEhPe, Error, Format, LittleEndian, Reader};
use std::ops::Range;

/// The section that call frame information is in.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    EhFrame,
    DebugFrame,
}

/// Returns a copy of a section, of the same length and with each entry at its place. It lives as long
/// as the modules, that is, as the process.
pub(super) fn translated(
    data: &'static [u8],
    kind: Kind,
    foreign: &'static ForeignCfi,
) -> &'static [u8] {
    let mut copy = data.to_vec();
    let source = Source {
        data,
        kind,
        foreign,
    };
    let mut common: Option<Common> = None;
    let mut at = 0;
    // The length of a corrupt entry cannot be trusted, so the entries after it are lost, to gimli too.
    while let Ok(Some(entry)) = source.entry(at) {
        at = entry.end;
        // An entry that cannot be read has no rules; others may be fine.
        let _ = source.translate(entry, &mut common, &mut copy);
    }
    copy.leak()
}

struct Source {
    data: &'static [u8],
    kind: Kind,
    foreign: &'static ForeignCfi,
}

/// The beginning of an entry.
struct Entry {
    start: usize,
    end: usize,
    /// What is behind the offset of the CIE, or the mark of one.
    rest: R,
    /// Where the CIE is; `None` for a CIE.
    common: Option<usize>,
}

/// What a CIE says about the form of its FDEs.
#[derive(Clone)]
struct Common {
    start: usize,
    has_data: bool,
    address_size: u8,
    encoding: DwEhPe,
    /// The letters, without the zero behind them.
    augmentation: Range<usize>,
    /// The factor of code addresses.
    factor: Range<usize>,
    instructions: R,
}

impl Source {
    /// Returns the place in the section that a reader is at.
    fn position(&self, reader: &R) -> usize {
        reader.offset_from(R::new(self.data, LittleEndian))
    }

    /// Returns the entry at an offset; `None` at the end.
    fn entry(&self, start: usize) -> Result<Option<Entry>, Error> {
        let mut input = R::new(self.data, LittleEndian);
        input.skip(start)?;
        if input.is_empty() {
            return Ok(None);
        }
        let (length, format) = input.read_initial_length()?;
        if length == 0 && self.kind == Kind::EhFrame {
            return Ok(None);
        }
        let mut rest = input.split(length)?;
        let end = self.position(&input);
        let base = self.position(&rest);
        let (common, mark) = match format {
            Format::Dwarf32 => (u64::from(rest.read_u32()?), u64::from(u32::MAX)),
            Format::Dwarf64 => (rest.read_u64()?, u64::MAX),
        };
        let common = match self.kind {
            Kind::EhFrame if common == 0 => None,
            // The offset is from itself back to the CIE.
            Kind::EhFrame => Some((base as u64).wrapping_sub(common)),
            Kind::DebugFrame if common == mark => None,
            Kind::DebugFrame => Some(common),
        };
        let common = common.map(usize::try_from).transpose();
        Ok(Some(Entry {
            start,
            end,
            rest,
            common: common.map_err(|_| Error::UnsupportedOffset)?,
        }))
    }

    /// Reads a CIE.
    fn common(&self, entry: Entry) -> Result<Common, Error> {
        let mut rest = entry.rest;
        let version = rest.read_u8()?;
        let string = self.position(&rest);
        let augmentation = rest.read_null_terminated_slice()?;
        let mut address_size = 8;
        if self.kind == Kind::DebugFrame && version == 4 {
            address_size = rest.read_u8()?;
            rest.skip(1)?;
        }
        let factor = self.position(&rest);
        rest.skip_leb128()?;
        let factor = factor..self.position(&rest);
        rest.skip_leb128()?;
        match version {
            1 => rest.skip(1)?,
            _ => rest.skip_leb128()?,
        }
        let mut common = Common {
            start: entry.start,
            has_data: false,
            address_size,
            encoding: gimli::DW_EH_PE_absptr,
            augmentation: string..string + augmentation.len(),
            factor,
            instructions: rest,
        };
        let Some((b'z', letters)) = augmentation.slice().split_first() else {
            return Ok(common);
        };
        common.has_data = true;
        let mut data = rest;
        data.skip_leb128()?;
        skip_block(&mut rest)?;
        common.instructions = rest;
        for letter in letters {
            match letter {
                b'R' => common.encoding = DwEhPe(data.read_u8()?),
                b'L' => data.skip(1)?,
                b'P' => {
                    let encoding = DwEhPe(data.read_u8()?);
                    skip_pointer(&mut data, encoding, address_size)?;
                }
                _ => {}
            }
        }
        Ok(common)
    }

    /// Writes the translation of an entry. `last` is the CIE of the entry before.
    fn translate(
        &self,
        entry: Entry,
        last: &mut Option<Common>,
        copy: &mut [u8],
    ) -> Result<(), Error> {
        let Some(offset) = entry.common else {
            let common = self.common(entry)?;
            self.translate_augmentation(&common, copy);
            let own = (common.instructions, gimli::DW_EH_PE_absptr);
            self.translate_instructions(own, common.address_size, copy)?;
            *last = Some(common);
            return Ok(());
        };
        let common = match last.take().filter(|it| it.start == offset) {
            Some(common) => common,
            None => match self.entry(offset)? {
                Some(entry) if entry.common.is_none() => self.common(entry)?,
                _ => return Err(Error::NotCieId(offset as u64)),
            },
        };
        let common = last.insert(common);
        let (encoding, address_size) = (common.encoding, common.address_size);
        let mut rest = entry.rest;
        skip_pointer(&mut rest, encoding, address_size)?;
        // The length of the code is encoded as the address is.
        skip_pointer(&mut rest, encoding, address_size)?;
        if common.has_data {
            skip_block(&mut rest)?;
        }
        self.translate_instructions((rest, encoding), address_size, copy)
    }

    /// Removes letters from the augmentation of a CIE. What is behind moves up, and the factor of code
    /// addresses gets the bytes that become free: LEB128 may be longer than needed.
    fn translate_augmentation(&self, common: &Common, copy: &mut [u8]) {
        let is_kept = |letter: &u8| !self.foreign.augmentations.contains(letter);
        let letters = self.data.get(common.augmentation.clone());
        let letters = letters.unwrap_or_default();
        let kept = letters.iter().copied().filter(is_kept);
        let mut head: Vec<u8> = kept.collect();
        let removed = letters.len() - head.len();
        let behind = self.data.get(common.augmentation.end..common.factor.end);
        let Some((last, behind)) = behind.and_then(<[u8]>::split_last) else {
            return;
        };
        if removed == 0 {
            return;
        }
        head.extend_from_slice(behind);
        head.push(last | 0x80);
        head.resize(head.len() + removed - 1, 0x80);
        head.push(0);
        if let Some(place) = copy.get_mut(common.augmentation.start..common.factor.end) {
            place.copy_from_slice(&head);
        }
    }

    /// Replaces instructions by `DW_CFA_nop`.
    fn translate_instructions(
        &self,
        (mut rest, encoding): (R, DwEhPe),
        address_size: u8,
        copy: &mut [u8],
    ) -> Result<(), Error> {
        while !rest.is_empty() {
            let start = self.position(&rest);
            let opcode = rest.read_u8()?;
            let mut foreign = self.foreign.instructions.iter();
            let foreign = foreign.find(|it| it.0 == opcode);
            match foreign {
                Some((_, operands)) => (0..*operands).try_for_each(|_| rest.skip_leb128())?,
                None => skip_operands(&mut rest, opcode, encoding, address_size)?,
            }
            if let (Some(_), Some(bytes)) = (foreign, copy.get_mut(start..self.position(&rest))) {
                bytes.fill(gimli::DW_CFA_nop.0);
            }
        }
        Ok(())
    }
}

fn skip_block(input: &mut R) -> Result<(), Error> {
    let length = input.read_uleb128()?;
    input.skip(usize::try_from(length).map_err(|_| Error::UnsupportedOffset)?)
}

fn skip_pointer(input: &mut R, encoding: DwEhPe, address_size: u8) -> Result<(), Error> {
    match encoding.format() {
        gimli::DW_EH_PE_absptr => input.skip(usize::from(address_size)),
        gimli::DW_EH_PE_uleb128 | gimli::DW_EH_PE_sleb128 => input.skip_leb128(),
        gimli::DW_EH_PE_udata2 | gimli::DW_EH_PE_sdata2 => input.skip(2),
        gimli::DW_EH_PE_udata4 | gimli::DW_EH_PE_sdata4 => input.skip(4),
        gimli::DW_EH_PE_udata8 | gimli::DW_EH_PE_sdata8 => input.skip(8),
        _ => Err(Error::UnknownPointerEncoding(encoding)),
    }
}

/// Skips the operands of an instruction (DWARF 5 §7.24, LSB for those of GNU).
fn skip_operands(
    input: &mut R,
    opcode: u8,
    encoding: DwEhPe,
    address_size: u8,
) -> Result<(), Error> {
    // The operands of some instructions are in the lower bits.
    let instruction = gimli::DwCfa(match opcode & 0xc0 {
        0 => opcode,
        primary => primary,
    });
    match instruction {
        gimli::DW_CFA_nop
        | gimli::DW_CFA_advance_loc
        | gimli::DW_CFA_restore
        | gimli::DW_CFA_remember_state
        | gimli::DW_CFA_restore_state
        | gimli::DW_CFA_GNU_window_save => Ok(()),
        gimli::DW_CFA_set_loc => skip_pointer(input, encoding, address_size),
        gimli::DW_CFA_advance_loc1 => input.skip(1),
        gimli::DW_CFA_advance_loc2 => input.skip(2),
        gimli::DW_CFA_advance_loc4 => input.skip(4),
        gimli::DW_CFA_offset
        | gimli::DW_CFA_restore_extended
        | gimli::DW_CFA_undefined
        | gimli::DW_CFA_same_value
        | gimli::DW_CFA_def_cfa_register
        | gimli::DW_CFA_def_cfa_offset
        | gimli::DW_CFA_def_cfa_offset_sf
        | gimli::DW_CFA_GNU_args_size => input.skip_leb128(),
        gimli::DW_CFA_offset_extended
        | gimli::DW_CFA_register
        | gimli::DW_CFA_def_cfa
        | gimli::DW_CFA_offset_extended_sf
        | gimli::DW_CFA_def_cfa_sf
        | gimli::DW_CFA_val_offset
        | gimli::DW_CFA_val_offset_sf
        | gimli::DW_CFA_GNU_negative_offset_extended => {
            input.skip_leb128()?;
            input.skip_leb128()
        }
        gimli::DW_CFA_def_cfa_expression => skip_block(input),
        gimli::DW_CFA_expression | gimli::DW_CFA_val_expression => {
            input.skip_leb128()?;
            skip_block(input)
        }
        other => Err(Error::UnknownCallFrameInstruction(other)),
    }
}
