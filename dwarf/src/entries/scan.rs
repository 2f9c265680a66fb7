//! One scan over a unit's entries: its functions and the nesting of its scopes.

use crate::entries::budget::Allowance;
use crate::entries::units::{Entries, Unit, Value};
use crate::ids::DieRef;
use crate::ids::error::Error;
use gimli::UnitOffset;

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

impl Entries {
    /// Returns the scan of a unit, done when first needed.
    pub(crate) fn scan<'a>(&self, unit: &'a Unit) -> &'a UnitScan {
        let unit = self.whole_of(unit);
        unit.scan.get_or_init(|| {
            let mut scan = UnitScan::default();
            if let Err(error) = self.scan_entries(unit, &mut scan) {
                tracing::debug!(unit = unit.index, %error, "corrupt entries; the rest of the unit is lost");
            }
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

    fn scan_entries(&self, unit: &Unit, scan: &mut UnitScan) -> Result<(), Error> {
        let mut allowance = Allowance::default();
        let mut entries = unit.raw.entries_raw(None)?;
        // Depth of the children, and index into `scan.scopes`, of the open scopes.
        let mut open: Vec<(isize, u32)> = Vec::new();
        let mut in_function: Option<isize> = None;
        while !entries.is_empty() {
            let offset = entries.next_offset().0 as u32;
            let depth = entries.next_depth();
            while let Some((children, index)) = open.last().copied()
                && depth < children
            {
                open.pop();
                if let Some(scope) = scan.scopes.get_mut(index as usize) {
                    scope.end = offset;
                }
            }
            if in_function.is_some_and(|function| depth <= function) {
                in_function = None;
            }
            let Some(abbreviation) = entries.read_abbreviation()? else {
                continue;
            };
            let tag = abbreviation.tag();
            if abbreviation.has_children() && qualifies(tag) {
                open.push((depth + 1, scan.scopes.len() as u32));
                scan.scopes.push(ScopeSpan {
                    start: offset,
                    end: u32::MAX,
                    parent: match open.len().checked_sub(2).and_then(|at| open.get(at)) {
                        Some((_, index)) => index + 1,
                        None => 0,
                    },
                });
            }
            match tag {
                gimli::DW_TAG_subprogram => {
                    let (mut low, mut high, mut ranges) = (None, None, None);
                    for spec in abbreviation.attributes() {
                        let attr = entries.read_attribute(*spec)?;
                        match attr.name() {
                            gimli::DW_AT_low_pc => low = Some(attr.value()),
                            gimli::DW_AT_high_pc => high = Some(attr.value()),
                            gimli::DW_AT_ranges => ranges = Some(attr.value()),
                            _ => {}
                        }
                    }
                    if low.is_some() || ranges.is_some() {
                        for range in self.ranges_of(unit, low, high, ranges) {
                            allowance
                                .take(UnitOffset(offset as usize), size_of::<FunctionRange>())?;
                            scan.functions.push(FunctionRange {
                                start: range.start.0,
                                end: range.end.0,
                                offset,
                            });
                        }
                    }
                    if abbreviation.has_children() && in_function.is_none() {
                        in_function = Some(depth);
                    }
                }
                gimli::DW_TAG_variable => {
                    if in_function.is_none() {
                        scan.statics.push(offset);
                    }
                    entries.skip_attributes(abbreviation.attributes())?;
                }
                _ => entries.skip_attributes(abbreviation.attributes())?,
            }
        }
        Ok(())
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
