//! One scan over a unit's entries: its functions and the nesting of its scopes.

use crate::entries::budget::EntryBudget;
use crate::entries::units::{Entries, Unit, Value};
use crate::entries::walk::{Shapes, Visited, Visitor};
use crate::ids::DieRef;
use crate::ids::addr::{AddrRange, FileAddr};
use crate::ids::error::Error;
use gimli::{Abbreviation, UnitOffset};

/// The result of a scan over a unit.
#[derive(Default)]
pub(crate) struct UnitScan {
    /// Ranges of concrete functions, by start.
    pub(crate) functions: Vec<FunctionRange>,
    /// Running maximum of the ends of `functions`.
    max_end: Vec<u64>,
    /// Scopes that qualify the names of the entries in them, by offset.
    scopes: Vec<ScopeSpan>,
    /// Variables outside functions.
    pub(crate) statics: Vec<u32>,
}

/// A range of a concrete function.
pub(crate) struct FunctionRange {
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// Offset of the function's entry in the unit.
    pub(crate) offset: u32,
}

/// A scope and the extent of its children, by offsets in the unit.
struct ScopeSpan {
    start: u32,
    end: u32,
    /// Index of the enclosing scope plus 1; 0 for none.
    parent: u32,
}

impl UnitScan {
    /// Returns the offset of the function that covers `addr`: the smallest if there are several.
    pub(crate) fn function_at(&self, addr: u64) -> Option<u32> {
        let end = self
            .functions
            .partition_point(|function| function.start <= addr);
        let mut best: Option<&FunctionRange> = None;
        for index in (0..end).rev() {
            if self.max_end.get(index).is_none_or(|end| *end <= addr) {
                break;
            }
            let function = self.functions.get(index)?;
            if function.end > addr
                && best.is_none_or(|best| function.end - function.start < best.end - best.start)
            {
                best = Some(function);
            }
        }
        best.map(|function| function.offset)
    }

    /// Returns whether functions have code in a range.
    pub(super) fn has_code_in(&self, range: AddrRange<FileAddr>) -> bool {
        let end = self.functions.partition_point(|it| it.start < range.end.0);
        let before = end.checked_sub(1).and_then(|last| self.max_end.get(last));
        before.is_some_and(|max_end| *max_end > range.start.0)
    }

    /// Returns the offset of the scope that qualifies the name of the entry at `offset`.
    pub(crate) fn parent(&self, offset: u64) -> Option<u64> {
        let mut index = self
            .scopes
            .partition_point(|scope| u64::from(scope.start) < offset);
        // Parents come before their children, so the index shrinks.
        while let Some(scope) = index
            .checked_sub(1)
            .and_then(|index| self.scopes.get(index))
        {
            if u64::from(scope.end) > offset {
                return Some(u64::from(scope.start));
            }
            index = scope.parent as usize;
        }
        None
    }
}

/// Returns whether entries of this tag qualify the names of the entries in them.
pub(crate) fn qualifies(tag: gimli::DwTag) -> bool {
    matches!(
        tag,
        gimli::DW_TAG_namespace
            | gimli::DW_TAG_module
            | gimli::DW_TAG_structure_type
            | gimli::DW_TAG_class_type
            | gimli::DW_TAG_union_type
            | gimli::DW_TAG_interface_type
            | gimli::DW_TAG_enumeration_type
            | gimli::DW_TAG_subprogram
    )
}

const LOW_PC: u8 = 0;
const HIGH_PC: u8 = 1;
const RANGES: u8 = 2;

/// A scan that is being made.
struct Scanning<'a> {
    entries: &'a Entries,
    scan: UnitScan,
    allowance: EntryBudget,
    /// Depth of the children, and index into `scan.scopes`, of the open scopes.
    open: Vec<(isize, u32)>,
    in_function: Option<isize>,
}

impl Visitor for Scanning<'_> {
    fn wants(abbreviation: &Abbreviation) -> bool {
        match abbreviation.tag() {
            gimli::DW_TAG_subprogram | gimli::DW_TAG_variable => true,
            tag => abbreviation.has_children() && qualifies(tag),
        }
    }

    fn slot(at: gimli::DwAt) -> Option<u8> {
        Some(match at {
            gimli::DW_AT_low_pc => LOW_PC,
            gimli::DW_AT_high_pc => HIGH_PC,
            gimli::DW_AT_ranges => RANGES,
            _ => return None,
        })
    }

    fn entry(&mut self, entry: &Visited<'_>, _shapes: &mut Shapes) -> Result<(), Error> {
        let offset = entry.offset as u32;
        if entry.has_children && qualifies(entry.tag) {
            let parent = self.open.last().map_or(0, |(_, index)| index + 1);
            let index = self.scan.scopes.len() as u32;
            self.open.push((entry.depth + 1, index));
            self.scan.scopes.push(ScopeSpan {
                start: offset,
                end: u32::MAX,
                parent,
            });
        }
        match entry.tag {
            gimli::DW_TAG_subprogram => {
                self.add_function(entry)?;
                if entry.has_children && self.in_function.is_none() {
                    self.in_function = Some(entry.depth);
                }
            }
            gimli::DW_TAG_variable if self.in_function.is_none() => self.scan.statics.push(offset),
            _ => {}
        }
        Ok(())
    }

    fn end_of_list(&mut self, depth: isize, offset: usize) {
        while let Some((children, index)) = self.open.last().copied()
            && depth <= children
        {
            self.open.pop();
            if let Some(scope) = self.scan.scopes.get_mut(index as usize) {
                scope.end = offset as u32;
            }
        }
        if self
            .in_function
            .is_some_and(|function| depth <= function + 1)
        {
            self.in_function = None;
        }
    }
}

impl Scanning<'_> {
    fn add_function(&mut self, entry: &Visited<'_>) -> Result<(), Error> {
        if !entry.has(LOW_PC) && !entry.has(RANGES) {
            return Ok(());
        }
        let [low, high, ranges] = [LOW_PC, HIGH_PC, RANGES].map(|slot| entry.value(slot));
        for range in self.entries.ranges_of(entry.unit, low, high, ranges) {
            let here = UnitOffset(entry.offset);
            self.allowance.take(here, size_of::<FunctionRange>())?;
            self.scan.functions.push(FunctionRange {
                start: range.start.0,
                end: range.end.0,
                offset: entry.offset as u32,
            });
        }
        Ok(())
    }
}

impl Entries {
    /// Returns the scan of a unit, done when first needed.
    pub(crate) fn scan<'a>(&self, unit: &'a Unit) -> &'a UnitScan {
        let unit = self.whole_of(unit);
        unit.scan.get_or_init(|| {
            let mut scanning = Scanning {
                entries: self,
                scan: UnitScan::default(),
                allowance: EntryBudget::default(),
                open: Vec::new(),
                in_function: None,
            };
            if let Err(error) = self.walk(unit, &mut Shapes::default(), &mut scanning) {
                tracing::debug!(unit = unit.index, %error, "corrupt entries; the rest of the unit is lost");
            }
            let mut scan = scanning.scan;
            scan.functions
                .sort_unstable_by_key(|function| (function.start, function.end, function.offset));
            let mut max = 0;
            scan.max_end = scan
                .functions
                .iter()
                .map(|function| {
                    max = max.max(function.end);
                    max
                })
                .collect();
            scan
        })
    }

    /// Returns the scope that qualifies the name of `die`, which must be the declaration itself and
    /// not a completion of it.
    pub(crate) fn parent(&self, die: DieRef) -> Option<DieRef> {
        let unit = self.whole(die.unit)?;
        let offset = self.scan(unit).parent(die.offset)?;
        Some(DieRef {
            unit: die.unit,
            offset,
        })
    }

    /// Returns the first attribute among `wanted` of the entry at `offset`, without decoding the
    /// other attributes.
    pub(crate) fn peek(&self, unit: &Unit, offset: u64, wanted: gimli::DwAt) -> Option<Value> {
        let offset = UnitOffset(offset as usize);
        if !offset.is_in_bounds(&unit.raw.header) {
            return None;
        }
        let mut entries = unit.raw.entries_raw(Some(offset)).ok()?;
        let abbreviation = entries.read_abbreviation().ok()??;
        for spec in abbreviation.attributes() {
            let attr = entries.read_attribute(*spec).ok()?;
            if attr.name() == wanted {
                return Some(attr.value());
            }
        }
        None
    }
}
