//! Formats captured values.

use super::{Captured, Extent, HEAD, Kept};
use crate::ids::error::Error;
use crate::inspect::value::location::Bytes;
use crate::inspect::value::{self, Limits, RegisterPlace, Target, Value};
use dwarf::{LoadAddr, LoadBias, Memory, Module, ModuleMap, Unreadable};
use std::sync::Arc;

impl Captured {
    /// Formats the value stored at the start of `record`, and returns the rest; `None` if the
    /// record is not valid for this code. `target` is used for its modules only.
    pub(crate) fn format_values<'a>(
        &self,
        record: &'a [u8],
        target: &dyn Target,
        limits: &Limits,
        text: &mut String,
    ) -> Option<&'a [u8]> {
        let mut rest = record;
        let own = match &self.kept {
            Kept::Words(_, size) => *size,
            Kept::Float(_, single) => {
                if *single {
                    4
                } else {
                    8
                }
            }
            Kept::Block => 0,
        };
        let bytes = take(&mut rest, own)?;
        let mut memory = KeptMemory {
            target,
            blocks: Vec::new(),
        };
        for block in &self.blocks {
            let head = take(&mut rest, HEAD)?;
            let (words, _) = head.as_chunks::<8>();
            let [at, len] = *words else {
                return None;
            };
            let len = usize::try_from(u64::from_le_bytes(len)).ok()?;
            memory.blocks.push(KeptBlock {
                at: LoadAddr(u64::from_le_bytes(at)),
                bytes: take(&mut rest, len)?,
                ends: matches!(block.extent, Extent::Terminated(_)),
            });
        }
        let place = match (&self.kept, memory.blocks.first()) {
            (Kept::Block, Some(block)) => value::ValueLocation::Memory(block.at, None),
            _ => value::ValueLocation::Bytes(Bytes::new(bytes)),
        };
        let value = Value::new(self.ty.clone(), place);
        value::write(&memory, &value, limits, text);
        Some(rest)
    }
}

/// Takes the first bytes; records consist of whole words.
fn take<'a>(rest: &mut &'a [u8], len: usize) -> Option<&'a [u8]> {
    let bytes = rest.get(..len)?;
    *rest = rest.get(len.checked_next_multiple_of(8)?..)?;
    Some(bytes)
}

/// Captured memory.
struct KeptBlock<'a> {
    at: LoadAddr,
    bytes: &'a [u8],
    /// Whether reads after it see zeros: the formatter reads no further.
    ends: bool,
}

/// A debuggee that consists of the captured memory only.
struct KeptMemory<'a> {
    target: &'a dyn Target,
    blocks: Vec<KeptBlock<'a>>,
}

impl Memory for KeptMemory<'_> {
    fn read(&self, addr: LoadAddr, buffer: &mut [u8]) -> Result<(), Unreadable> {
        let part = self.blocks.iter().find_map(|block| {
            let from = usize::try_from(addr.0.checked_sub(block.at.0)?).ok()?;
            let rest = block.bytes.get(from..).filter(|rest| !rest.is_empty())?;
            (rest.len() >= buffer.len() || block.ends).then_some(rest)
        });
        let part = part.ok_or(Unreadable {
            addr,
            len: buffer.len(),
        })?;
        buffer.fill(0);
        let len = part.len().min(buffer.len());
        buffer[..len].copy_from_slice(&part[..len]);
        Ok(())
    }
}

impl ModuleMap for KeptMemory<'_> {
    fn module_at(&self, addr: LoadAddr) -> Option<(&Module, LoadBias)> {
        self.target.modules().module_at(addr)
    }
}

impl Target for KeptMemory<'_> {
    fn memory(&self) -> &dyn Memory {
        self
    }
    fn modules(&self) -> &dyn ModuleMap {
        self
    }
    fn module_at(&self, addr: LoadAddr) -> Option<(Arc<Module>, LoadBias)> {
        self.target.module_at(addr)
    }
    fn images(&self) -> Vec<(Arc<Module>, LoadBias)> {
        self.target.images()
    }
    fn write_memory(&mut self, _: LoadAddr, _: &[u8]) -> Result<(), Error> {
        Err(Error::eval("saved values do not change"))
    }
    fn write_register(&mut self, _: RegisterPlace, _: &[u8]) -> Result<(), Error> {
        Err(Error::eval("saved values do not change"))
    }
}
