//! Objects that are read at once for all their members.

use super::{Target, Value, ValueLocation};
use crate::ids::error::Error;
use dwarf::LoadAddr;

/// Maximum size in bytes of an object that is read at once for all its members.
const MAX_WHOLE_OBJECT: u64 = 4096;

/// An object that was read at once, so that its simple members need no reads of their own.
pub(super) struct WholeObject {
    start: LoadAddr,
    bytes: Vec<u8>,
    /// Why it could not be read.
    pub(super) error: Option<Error>,
}

impl WholeObject {
    pub(super) fn read(target: &dyn Target, object: &Value) -> WholeObject {
        let mut whole = WholeObject {
            start: LoadAddr(0),
            bytes: Vec::new(),
            error: None,
        };
        if let (ValueLocation::Memory(addr, None), Some(size @ 1..=MAX_WHOLE_OBJECT)) =
            (&object.place, object.ty.size())
        {
            whole.start = *addr;
            whole.bytes.resize(size as usize, 0);
            if let Err(error) = target.memory().read(*addr, &mut whole.bytes) {
                whole.bytes.clear();
                whole.error = Some(error.into());
            }
        }
        whole
    }

    /// Returns the value with its bytes if they are few and were read.
    pub(super) fn fill(&self, mut value: Value) -> Value {
        let (ValueLocation::Memory(addr, None), None, Some(size @ 1..=16)) =
            (&value.place, value.bits, value.ty.size())
        else {
            return value;
        };
        let start = (*addr - self.start) as usize;
        let bytes = start
            .checked_add(size as usize)
            .and_then(|end| self.bytes.get(start..end));
        if let Some(bytes) = bytes
            && value.ty.is_simple()
        {
            value.place = ValueLocation::read_at(*addr, bytes);
        }
        value
    }
}
