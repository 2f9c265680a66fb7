//! A walk over the entries of a unit that decodes only the attributes that a visitor needs. Each
//! abbreviation is compiled once to a list of steps, so most entries are skipped by one addition.

use super::units::{Entries, Unit, Value};
use crate::file::R;
use crate::file::object::{u16_at, u32_at};
use crate::ids::error::Error;
use gimli::{Abbreviation, Abbreviations, AttributeSpecification, DwForm, Section, UnitOffset};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Maximum number of attributes that a visitor can request per entry, each in a slot that it
/// numbers.
pub(crate) const SLOTS: usize = 6;

/// Codes below this limit are in a table; the limit grows with the number of known shapes, so that
/// a few high codes do not make it large.
const FEW_CODES: usize = 1 << 10;
const CODES_A_SHAPE: usize = 16;

/// A consumer of a walk: selects entries and attributes.
pub(crate) trait Visitor {
    /// Returns whether entries of an abbreviation are visited.
    fn wants(abbreviation: &Abbreviation) -> bool;

    /// Returns the slot, below [`SLOTS`], of an attribute that the visitor may read. Of several
    /// attributes in one slot the last one counts.
    fn slot(at: gimli::DwAt) -> Option<u8>;

    /// Called for each entry selected by `wants`.
    ///
    /// # Errors
    /// An error ends the walk.
    fn entry(&mut self, entry: &Visited<'_>, shapes: &mut Shapes) -> Result<(), Error>;

    /// Called at the end of the list of entries at a depth; the next entry, if any, is at `offset`.
    fn end_of_list(&mut self, _depth: isize, _offset: usize) {}
}

/// The abbreviations of a unit, compiled for one kind of visitor. Reused from unit to unit, as they
/// may share abbreviations.
#[derive(Default)]
pub(crate) struct Shapes {
    /// The abbreviations that the shapes were compiled from.
    of: Option<(Arc<Abbreviations>, gimli::Encoding)>,
    /// Shapes by code, for the codes in the table.
    dense: Vec<Shape>,
    /// Shapes of all other codes.
    sparse: FxHashMap<u64, Shape>,
    steps: Vec<Step>,
    /// Number of compiled shapes.
    known: usize,
}

/// The compiled form of an abbreviation.
#[derive(Clone, Copy, Default)]
struct Shape {
    /// Range of its steps: first, and one after the last.
    steps: (u32, u32),
    /// Bytes of the entry after the last step.
    rest: u32,
    tag: u16,
    known: bool,
    has_children: bool,
    wanted: bool,
}

/// Part of an entry: a number of bytes to skip, then an attribute that is requested or has no fixed
/// size.
#[derive(Clone, Copy)]
struct Step {
    before: u32,
    form: DwForm,
    slot: Option<u8>,
    size: Size,
    /// Index of the attribute in the abbreviation.
    attribute: u16,
}

/// The size of an attribute's value.
#[derive(Clone, Copy)]
enum Size {
    /// Part of the next step's `before` or of `rest`: a requested attribute of fixed size.
    Counted,
    Leb128,
    Text,
    Block,
    Block1,
    Block2,
    Block4,
    /// The form precedes the value (`DW_FORM_indirect`).
    Indirect,
    Unknown,
}

impl Size {
    fn of(form: DwForm) -> Size {
        match form {
            gimli::DW_FORM_udata
            | gimli::DW_FORM_sdata
            | gimli::DW_FORM_ref_udata
            | gimli::DW_FORM_strx
            | gimli::DW_FORM_GNU_str_index
            | gimli::DW_FORM_addrx
            | gimli::DW_FORM_GNU_addr_index
            | gimli::DW_FORM_loclistx
            | gimli::DW_FORM_rnglistx => Size::Leb128,
            gimli::DW_FORM_string => Size::Text,
            gimli::DW_FORM_block | gimli::DW_FORM_exprloc => Size::Block,
            gimli::DW_FORM_block1 => Size::Block1,
            gimli::DW_FORM_block2 => Size::Block2,
            gimli::DW_FORM_block4 => Size::Block4,
            gimli::DW_FORM_indirect => Size::Indirect,
            _ => Size::Unknown,
        }
    }
}

/// Offset in the unit and form of an attribute's value; form 0: the attribute is absent.
#[derive(Clone, Copy, Default)]
struct Place {
    at: u32,
    form: u16,
    attribute: u16,
}

type Places = [Place; SLOTS];

/// The entry that is visited.
pub(crate) struct Visited<'a> {
    pub(crate) unit: &'a Unit,
    /// Offset in the unit.
    pub(crate) offset: usize,
    pub(crate) depth: isize,
    pub(crate) tag: gimli::DwTag,
    pub(crate) has_children: bool,
    bytes: &'static [u8],
    code: u64,
    places: Places,
}

impl Visited<'_> {
    /// Returns whether the entry has the attribute of a slot.
    pub(crate) fn has(&self, slot: u8) -> bool {
        self.place(slot).is_some()
    }

    fn place(&self, slot: u8) -> Option<Place> {
        let place = self.places.get(usize::from(slot))?;
        (place.form != 0).then_some(*place)
    }

    /// Decodes the value of the attribute of a slot.
    pub(crate) fn value(&self, slot: u8) -> Option<Value> {
        let place = self.place(slot)?;
        let rest = self.bytes.get(place.at as usize..)?;
        let header = &self.unit.raw.header;
        // The most frequent forms; gimli decodes the others.
        match DwForm(place.form) {
            gimli::DW_FORM_strp if header.format() == gimli::Format::Dwarf32 => {
                let offset = u32_at(rest, 0)? as usize;
                return Some(Value::DebugStrRef(gimli::DebugStrOffset(offset)));
            }
            gimli::DW_FORM_ref4 => {
                let offset = u32_at(rest, 0)? as usize;
                return Some(Value::UnitRef(UnitOffset(offset)));
            }
            gimli::DW_FORM_flag_present => return Some(Value::Flag(true)),
            _ => {}
        }
        let abbreviations = &*self.unit.raw.abbreviations;
        let abbreviation = abbreviations.get(self.code)?;
        let spec = abbreviation
            .attributes()
            .get(usize::from(place.attribute))?;
        let input = R::new(rest, gimli::LittleEndian);
        let at = UnitOffset(place.at as usize);
        let mut entries = gimli::EntriesRaw::new(input, header.encoding(), abbreviations, at);
        entries.read_attribute(*spec).ok().map(|attr| attr.value())
    }
}

impl Entries {
    /// Visits the entries of a unit in order.
    ///
    /// # Errors
    /// The entries are corrupt and the remaining ones were not visited, or the visitor failed.
    pub(crate) fn walk<V: Visitor>(
        &self,
        unit: &Unit,
        shapes: &mut Shapes,
        visitor: &mut V,
    ) -> Result<(), Error> {
        shapes.prepare(unit);
        let bytes = self.unit_slice(unit);
        let mut at = unit.raw.header.root_offset().0;
        let mut depth = 0isize;
        let mut places = Places::default();
        while at < bytes.len() {
            let offset = at;
            let wrong = || corrupt(offset);
            let code = code_at(bytes, &mut at).ok_or_else(wrong)?;
            if code == 0 {
                visitor.end_of_list(depth, at);
                depth -= 1;
                continue;
            }
            let shape = shapes.shape::<V>(unit, code).ok_or_else(wrong)?;
            if !shape.wanted {
                at = shapes
                    .pass(unit, shape, bytes, at, &mut places)
                    .ok_or_else(wrong)?;
            } else {
                places = Places::default();
                at = shapes
                    .pass(unit, shape, bytes, at, &mut places)
                    .ok_or_else(wrong)?;
                let entry = Visited {
                    unit,
                    offset,
                    depth,
                    tag: gimli::DwTag(shape.tag),
                    has_children: shape.has_children,
                    bytes,
                    code,
                    places,
                };
                visitor.entry(&entry, shapes)?;
            }
            depth += isize::from(shape.has_children);
        }
        Ok(())
    }

    /// Reads the one entry at an offset of a unit as a walk would; `None` if the visitor does not
    /// want it.
    pub(crate) fn visited<'a, V: Visitor>(
        &self,
        unit: &'a Unit,
        shapes: &mut Shapes,
        offset: usize,
    ) -> Option<Visited<'a>> {
        shapes.prepare(unit);
        if !UnitOffset(offset).is_in_bounds(&unit.raw.header) {
            return None;
        }
        let bytes = self.unit_slice(unit);
        let mut at = offset;
        let code = code_at(bytes, &mut at).filter(|code| *code != 0)?;
        let shape = shapes.shape::<V>(unit, code)?;
        let mut places = Places::default();
        shapes.pass(unit, shape, bytes, at, &mut places)?;
        shape.wanted.then_some(Visited {
            unit,
            offset,
            depth: 0,
            tag: gimli::DwTag(shape.tag),
            has_children: shape.has_children,
            bytes,
            code,
            places,
        })
    }

    /// Returns the bytes of a unit from its header on, cut where offsets exceed 32 bits.
    fn unit_slice(&self, unit: &Unit) -> &'static [u8] {
        let dwarf = self.dwarf_of(unit);
        let header = &unit.raw.header;
        let section = match header.section() {
            gimli::SectionId::DebugTypes => dwarf.debug_types.reader().slice(),
            _ => dwarf.debug_info.reader().slice(),
        };
        let start = header.offset().0;
        let length = header.length_including_self().min(u32::MAX as usize);
        let end = start.saturating_add(length);
        section.get(start..end).unwrap_or_default()
    }
}

#[cold]
fn corrupt(offset: usize) -> Error {
    Error::Corrupt(format!("cannot read the entry at {offset:#x} of its unit"))
}

#[inline]
fn code_at(bytes: &'static [u8], at: &mut usize) -> Option<u64> {
    match bytes.get(*at) {
        Some(byte) if *byte < 0x80 => {
            *at += 1;
            Some(u64::from(*byte))
        }
        _ => leb128_at(bytes, at),
    }
}

fn leb128_at(bytes: &'static [u8], at: &mut usize) -> Option<u64> {
    let rest = bytes.get(*at..)?;
    let mut input = R::new(rest, gimli::LittleEndian);
    let value = gimli::Reader::read_uleb128(&mut input).ok()?;
    *at += rest.len() - input.len();
    Some(value)
}

impl Shapes {
    /// Drops the shapes if the unit has other abbreviations.
    fn prepare(&mut self, unit: &Unit) {
        let (table, encoding) = (&unit.raw.abbreviations, unit.raw.header.encoding());
        if let Some((known, of)) = &self.of
            && Arc::ptr_eq(known, table)
            && *of == encoding
        {
            return;
        }
        self.of = Some((Arc::clone(table), encoding));
        self.dense.clear();
        self.sparse.clear();
        self.steps.clear();
        self.known = 0;
    }

    #[inline]
    fn shape<V: Visitor>(&mut self, unit: &Unit, code: u64) -> Option<Shape> {
        match self.dense.get(code as usize) {
            Some(shape) if shape.known => Some(*shape),
            _ => self.work_out::<V>(unit, code),
        }
    }

    #[cold]
    fn work_out<V: Visitor>(&mut self, unit: &Unit, code: u64) -> Option<Shape> {
        if let Some(shape) = self.sparse.get(&code) {
            return Some(*shape);
        }
        let abbreviation = unit.raw.abbreviations.get(code)?;
        let wanted = V::wants(abbreviation);
        let first = self.steps.len() as u32;
        let mut before = 0u32;
        for (attribute, spec) in abbreviation.attributes().iter().enumerate() {
            let attribute = u16::try_from(attribute).ok();
            let slot = V::slot(spec.name()).filter(|_| wanted && attribute.is_some());
            let size = spec.size(&unit.raw.header);
            if slot.is_some() || size.is_none() {
                self.steps.push(Step {
                    before: std::mem::take(&mut before),
                    form: spec.form(),
                    slot,
                    size: match size {
                        Some(_) => Size::Counted,
                        None => Size::of(spec.form()),
                    },
                    attribute: attribute.unwrap_or(0),
                });
            }
            // A saturated sum is larger than any unit.
            before = before.saturating_add(size.unwrap_or(0) as u32);
        }
        self.known += 1;
        let shape = Shape {
            steps: (first, self.steps.len() as u32),
            rest: before,
            tag: abbreviation.tag().0,
            known: true,
            has_children: abbreviation.has_children(),
            wanted,
        };
        match usize::try_from(code) {
            Ok(at) if at < FEW_CODES + self.known * CODES_A_SHAPE => {
                if at >= self.dense.len() {
                    self.dense.resize(at + 1, Shape::default());
                }
                if let Some(place) = self.dense.get_mut(at) {
                    *place = shape;
                }
            }
            _ => drop(self.sparse.insert(code, shape)),
        }
        Some(shape)
    }

    /// Skips the attributes of an entry, which begin at `at`. Returns the offset of their end.
    #[inline]
    fn pass(
        &self,
        unit: &Unit,
        shape: Shape,
        bytes: &'static [u8],
        mut at: usize,
        places: &mut Places,
    ) -> Option<usize> {
        let (first, last) = shape.steps;
        if first < last {
            let steps = self.steps.get(first as usize..last as usize);
            for step in steps.unwrap_or_default() {
                at += step.before as usize;
                if let Some(slot) = step.slot
                    && let Some(place) = places.get_mut(usize::from(slot))
                {
                    *place = Place {
                        at: u32::try_from(at).ok()?,
                        form: step.form.0,
                        attribute: step.attribute,
                    };
                }
                if !matches!(step.size, Size::Counted) {
                    at = behind(unit, bytes, at, step)?;
                }
            }
        }
        at += shape.rest as usize;
        (at <= bytes.len()).then_some(at)
    }
}

/// Returns the end of an attribute without a fixed size.
fn behind(unit: &Unit, bytes: &'static [u8], mut at: usize, step: &Step) -> Option<usize> {
    let mut size = step.size;
    loop {
        let rest = bytes.get(at..).unwrap_or_default();
        let block = |start: usize, prefix: usize, length: Option<usize>| {
            let end = start.checked_add(prefix)?.checked_add(length?)?;
            (end <= bytes.len()).then_some(end)
        };
        let found = match size {
            Size::Counted => Some(at),
            Size::Leb128 => {
                let last = rest.iter().position(|byte| *byte < 0x80);
                last.map(|last| at + last + 1)
            }
            Size::Text => memchr::memchr(0, rest).map(|nul| at + nul + 1),
            Size::Block => {
                let mut start = at;
                let length = usize::try_from(leb128_at(bytes, &mut start)?).ok();
                block(start, 0, length)
            }
            Size::Block1 => block(at, 1, rest.first().map(|byte| usize::from(*byte))),
            Size::Block2 => block(at, 2, u16_at(rest, 0).map(usize::from)),
            Size::Block4 => block(at, 4, u32_at(rest, 0).map(|length| length as usize)),
            Size::Indirect => {
                let form = DwForm(u16::try_from(leb128_at(bytes, &mut at)?).ok()?);
                let constant = (form == gimli::DW_FORM_implicit_const).then_some(0);
                let spec = AttributeSpecification::new(gimli::DW_AT_null, form, constant);
                match spec.size(&unit.raw.header) {
                    Some(size) => block(at, size, Some(0)),
                    None => {
                        size = Size::of(form);
                        continue;
                    }
                }
            }
            Size::Unknown => None,
        };
        return found;
    }
}
