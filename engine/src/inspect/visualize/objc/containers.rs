//! Arrays and dictionaries of Foundation that do not change: constants, as clang lays them out, and those
//! of few or adjacent elements.

use super::class::word;
use crate::ids::error::Error;
use crate::inspect::value::synthetic::Synthetic;
use crate::inspect::value::{Target, Ty, Value, ValueLocation};
use crate::inspect::visualize::standard::collection;
use crate::inspect::visualize::{CollectionKind, Item, View, Walk};
use dwarf::LoadAddr;
use std::ops::ControlFlow;
use std::sync::Arc;

/// Returns the view of a container by the name of its class; `None` for other objects.
pub(super) fn view(target: &dyn Target, class: &str, at: LoadAddr) -> Option<View> {
    let number = |index: u64| word(target, at, index * 8);
    let pointer = |index: u64| number(index).map(LoadAddr);
    let after = |index: u64| at.0.checked_add(index * 8).map(LoadAddr);
    let (len, keys, values) = match class {
        "NSConstantArray" => (number(1)?, None, pointer(2)?),
        "__NSArrayI" => (number(1)?, None, after(2)?),
        "__NSSingleObjectArrayI" => (1, None, after(1)?),
        "__NSArray0" => (0, None, at),
        // Between class and number are options of the hash.
        "NSConstantDictionary" => (number(2)?, Some(pointer(3)?), pointer(4)?),
        "__NSSingleEntryDictionaryI" => (1, Some(after(1)?), after(2)?),
        "__NSDictionary0" => (0, Some(at), at),
        _ => return None,
    };
    let kind = match keys {
        // The language's `[i]` of a pointer is another element.
        None => CollectionKind::Set,
        Some(_) => CollectionKind::Map,
    };
    Some(collection(kind, len, Row { len, keys, values }))
}

/// Pointers to objects, one after the other.
#[derive(Debug)]
struct Row {
    len: u64,
    keys: Option<LoadAddr>,
    values: LoadAddr,
}

impl Walk for Row {
    fn walk(
        &self,
        target: &dyn Target,
        start: u64,
        visit: &mut dyn FnMut(Item) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        let ty = Ty::Synthetic(Arc::new(Synthetic::ObjcId));
        let element = |row: LoadAddr, index: u64| {
            let offset = index.checked_mul(8).and_then(|it| row.0.checked_add(it));
            let at = offset.ok_or_else(|| Error::Unsupported("no such address".into()))?;
            // What cannot be read ends the walk.
            target.memory().read_uint(LoadAddr(at), 8)?;
            let place = ValueLocation::Memory(LoadAddr(at), None);
            Ok::<Value, Error>(Value::new(ty.clone(), place))
        };
        for index in start..self.len {
            let key = self.keys.map(|keys| element(keys, index)).transpose()?;
            let value = element(self.values, index)?;
            if visit(Item { key, value }).is_break() {
                break;
            }
        }
        Ok(())
    }
}
