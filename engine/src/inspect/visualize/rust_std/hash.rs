//! `HashMap` and `HashSet`: hashbrown's tables.

use super::{argument, missing, number_in, pointer_in, struct_in};
use crate::ids::error::Error;
use crate::inspect::value::{Target, Ty, Value, ValueLocation, members};
use crate::inspect::visualize::{Collection, CollectionKind, Item, View, Walk, need, word};
use dwarf::LoadAddr;
use std::ops::ControlFlow;
use std::rc::Rc;

/// Control bytes to read at once.
const BLOCK: u64 = 4096;

/// Maximum number of free buckets between two elements.
const MAX_FREE_BUCKETS: u64 = 1 << 24;

/// Returns the view of a table: `ctrl` points to a byte for each of `bucket_mask + 1` buckets; the
/// buckets precede it in reverse order.
pub(super) fn table(target: &dyn Target, value: &Value) -> Result<View, Error> {
    let table = struct_in(target, value, "::RawTable")?;
    let mask = number_in(target, &table, "bucket_mask")?;
    let len = number_in(target, &table, "items")?;
    let control = super::named_in(target, &table, "ctrl")?;
    let control = LoadAddr(word(target, &pointer_in(target, &control)?)?);
    let entry = argument(&table, "T").ok_or_else(|| missing("element type"))?;
    let size = entry.size().unwrap_or(0);
    let buckets = mask.wrapping_add(1);
    let room = buckets.checked_mul(size.saturating_add(1));
    if !buckets.is_power_of_two() || room.is_none_or(|room| room > super::ISIZE_MAX) {
        return Ok(View::Invalid(format!("<invalid bucket mask {mask:#x}>")));
    }
    if len > mask || len > 0 && control.0 <= buckets.wrapping_mul(size) {
        return Ok(View::Invalid(format!(
            "<invalid: {len} elements in {buckets} buckets at {:#x}>",
            control.0
        )));
    }
    let (kind, part) = match members::last_component(&value.ty.name()) {
        "HashMap" => (CollectionKind::Map, Part::Pair),
        "HashSet" => (CollectionKind::Set, Part::Key),
        _ => (CollectionKind::Set, Part::Whole),
    };
    Ok(View::Collection(Collection {
        len,
        more: false,
        kind,
        walk: Rc::new(Table {
            control,
            buckets,
            entry,
            size,
            part,
        }),
    }))
}

/// The part of an entry that is shown.
#[derive(Debug)]
enum Part {
    Pair,
    Key,
    Whole,
}

#[derive(Debug)]
struct Table {
    control: LoadAddr,
    buckets: u64,
    entry: Ty,
    size: u64,
    part: Part,
}

impl Table {
    fn item(&self, target: &dyn Target, bucket: u64) -> Result<Item, Error> {
        let before = (bucket + 1).wrapping_mul(self.size);
        let at = LoadAddr(self.control.0.wrapping_sub(before));
        let entry = Value::new(self.entry.clone(), ValueLocation::Memory(at, None));
        Ok(match self.part {
            Part::Pair => Item {
                key: Some(need(target, &entry, &["__0"])?),
                value: need(target, &entry, &["__1"])?,
            },
            Part::Key => Item {
                key: None,
                value: need(target, &entry, &["__0"])?,
            },
            Part::Whole => Item {
                key: None,
                value: entry,
            },
        })
    }
}

impl Walk for Table {
    fn walk(
        &self,
        target: &dyn Target,
        start: u64,
        visit: &mut dyn FnMut(Item) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        let mut seen = 0;
        let mut gap = 0;
        let mut bytes = [0; BLOCK as usize];
        let mut first = 0;
        while first < self.buckets {
            if target.cancelled() {
                return Err(Error::Cancelled);
            }
            let count = BLOCK.min(self.buckets - first);
            let bytes = &mut bytes[..count as usize];
            target.memory().read(self.control + first, bytes)?;
            for (bucket, byte) in (first..).zip(&*bytes) {
                // The highest bit marks a bucket that is empty or deleted.
                if byte & 0x80 != 0 {
                    gap += 1;
                    continue;
                }
                gap = 0;
                seen += 1;
                if seen > start && visit(self.item(target, bucket)?).is_break() {
                    return Ok(());
                }
            }
            if gap > MAX_FREE_BUCKETS {
                return Err(Error::Unsupported(format!("<no element in {gap} buckets>")));
            }
            first += count;
        }
        Ok(())
    }
}
