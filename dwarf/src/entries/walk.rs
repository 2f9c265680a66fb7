//! A walk over the entries of a unit that reads no more of them than a visitor wants. What an
//! abbreviation means for that is worked out once, as steps: most entries are passed over by
//! adding one number.

use super::units::{Entries, Unit, Value};
use crate::file::R;
use crate::ids::error::Error;
use gimli::{Abbreviation, Abbreviations, AttributeSpecification, DwForm, Section, UnitOffset};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Attributes of an entry that a visitor can ask for, by slots of its own numbering.
pub(crate) const SLOTS: usize = 6;

/// Codes below this have a place in a table, and as many more for each shape that is known: tables
/// with few codes and high ones cost no memory.
const FEW_CODES: usize = 1 << 10;
const CODES_A_SHAPE: usize = 16;

/// What is looked for in a unit.
pub(crate) trait Visitor {
    /// Whether entries of an abbreviation are visited.
    fn wants(abbreviation: &Abbreviation) -> bool;

    /// The slot, below [`SLOTS`], of an attribute whose value may be asked for. Of several
    /// attributes of one slot the last one counts.
    fn slot(at: gimli::DwAt) -> Option<u8>;

    /// An entry that is wanted.
    ///
    /// # Errors
    /// They end the walk.
    fn entry(&mut self, entry: &Visited<'_>, shapes: &mut Shapes) -> Result<(), Error>;

    /// The list of entries at a depth has ended; the next one, if any, is at `offset`.
    fn end_of_list(&mut self, _depth: isize, _offset: usize) {}
}

/// What the abbreviations of a unit mean for one kind of visitor. To be used for units one after
/// the other: they may share their abbreviations.
#[derive(Default)]
pub(crate) struct Shapes {
    /// What these are of.
    of: Option<(Arc<Abbreviations>, gimli::Encoding)>,
    /// By code, as far as codes follow each other.
    dense: Vec<Shape>,
    /// The others.
    sparse: FxHashMap<u64, Shape>,
    steps: Vec<Step>,
    /// How many shapes there are.
    known: usize,
}

/// How entries of one abbreviation are read.
#[derive(Clone, Copy, Default)]
struct Shape {
    /// Of the first step, and the one behind the last.
    steps: (u32, u32),
    /// Bytes behind the last step.
    rest: u32,
    tag: u16,
    known: bool,
    has_children: bool,
    wanted: bool,
}

/// Part of an entry: a number of bytes, then an attribute that is wanted or has no fixed size.
#[derive(Clone, Copy)]
struct Step {
    before: u32,
    form: DwForm,
    slot: Option<u8>,
    size: Size,
    /// Which attribute of the abbreviation.
    attribute: u16,
}

/// How long an attribute is.
#[derive(Clone, Copy)]
enum Size {
    /// As what follows says: a wanted attribute of fixed size.
    Counted,
    Leb128,
    Text,
    Block,
    Block1,
    Block2,
    Block4,
    /// The form stands before the value.
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

/// Where in the unit an attribute's value begins; no form: there is none.
#[derive(Clone, Copy, Default)]
struct Place {
    at: u32,
    form: u16,
    attribute: u16,
}

type Places = [Place; SLOTS];

/// An entry that is being visited.
pub(crate) struct Visited<'a> {
    pub(crate) unit: &'a Unit,
    /// In the unit.
    pub(crate) offset: usize,
    pub(crate) depth: isize,
    pub(crate) tag: gimli::DwTag,
    pub(crate) has_children: bool,
    bytes: &'static [u8],
    code: u64,
    places: Places,
}

impl Visited<'_> {
    /// Whether the entry has an attribute of a slot.
    pub(crate) fn has(&self, slot: u8) -> bool {
        self.place(slot).is_some()
    }

    fn place(&self, slot: u8) -> Option<Place> {
        let place = self.places.get(usize::from(slot))?;
        (place.form != 0).then_some(*place)
    }

    /// The value of the attribute of a slot.
    pub(crate) fn value(&self, slot: u8) -> Option<Value> {
        let place = self.place(slot)?;
        let rest = self.bytes.get(place.at as usize..)?;
        let header = &self.unit.raw.header;
        // The commonest ones; gimli reads the others.
        match DwForm(place.form) {
            gimli::DW_FORM_strp if header.format() == gimli::Format::Dwarf32 => {
                let offset = u32_at(rest)? as usize;
                return Some(Value::DebugStrRef(gimli::DebugStrOffset(offset)));
            }
            gimli::DW_FORM_ref4 => {
                let offset = u32_at(rest)? as usize;
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

fn u32_at(bytes: &[u8]) -> Option<u32> {
    bytes.first_chunk().map(|bytes| u32::from_le_bytes(*bytes))
}

impl Entries {
    /// Visits the entries of a unit in their order.
    ///
    /// # Errors
    /// The entries are corrupt, and those behind were not visited; or the visitor's own.
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

    /// Reads the one entry at an offset of a unit as a walk does; `None` if it is none that such
    /// a visitor wants.
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

    /// A unit from its header on. Of one whose offsets have more than 32 bits the rest is left out.
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
    Error::Corrupt(format!(
        "the entry at {offset:#x} of its unit cannot be read"
    ))
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
    /// Forgets what it knows of other abbreviations than the unit's.
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
            // Saturated it is larger than any unit.
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

    /// Passes over the attributes of an entry, which begin at `at`; where they end.
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

/// Where an attribute without a fixed size ends.
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
            Size::Block2 => {
                let length = rest.first_chunk().map(|it| u16::from_le_bytes(*it));
                block(at, 2, length.map(usize::from))
            }
            Size::Block4 => block(at, 4, u32_at(rest).map(|length| length as usize)),
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
