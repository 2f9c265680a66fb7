//! Memory by its addresses: reading and writing it.

use super::breakpoints::address;
use crate::protocol::RequestError;
use crate::protocol::{
    Body, Capabilities, MemoryEventBody, ReadMemoryArguments, ReadMemoryResponse,
    WriteMemoryArguments, WriteMemoryResponse, base64,
};
use crate::requests::{Request, When};
use crate::session::Session;
use base64::Engine as _;
use engine::{Extent, LoadAddr, Purpose};
use std::collections::VecDeque;

/// The most bytes one answer has.
const MOST: u64 = 32 << 20;
/// How many references the client is told of when memory changes.
const MOST_VIEWS: usize = 16;

/// Memory that the client has asked for, by the references it used: it knows its views by them.
#[derive(Debug, Default)]
pub struct MemoryViews(VecDeque<(String, LoadAddr)>);

impl MemoryViews {
    fn add(&mut self, reference: &str, addr: LoadAddr) {
        if self.0.iter().any(|(known, _)| known == reference) {
            self.0.retain(|(known, _)| known != reference);
        }
        self.0.truncate(MOST_VIEWS - 1);
        self.0.push_front((reference.to_owned(), addr));
    }
}

/// The address that a reference stands for: a number, or an expression of the stopped program.
/// `field`: the argument that has it.
pub(super) fn referred(
    session: &mut Session,
    field: &str,
    reference: &str,
) -> Result<LoadAddr, RequestError> {
    if let Some(addr) = address(reference) {
        return Ok(addr);
    }
    let no_address = |why: String| {
        RequestError::Arguments(format!("`{field}`: `{reference}` is no address{why}"))
    };
    if reference.trim().is_empty() {
        return Err(no_address(String::new()));
    }
    let evaluated = session
        .debugger
        .evaluate(None, reference.trim(), Purpose::Look)
        .map_err(|error| no_address(format!(", and as an expression: {error}")))?;
    let shown = session.debugger.present(&evaluated.value, &<_>::default());
    shown
        .memory
        .or_else(|| address(&shown.text))
        .ok_or_else(|| no_address(format!(": its value is {}", shown.text)))
}

/// So many bytes from there on.
pub(super) fn moved(addr: LoadAddr, offset: i64) -> Result<LoadAddr, RequestError> {
    let moved = addr.0.checked_add_signed(offset).map(LoadAddr);
    moved.ok_or_else(|| {
        RequestError::Arguments(format!(
            "`offset`: there is no address {offset} bytes from {addr}"
        ))
    })
}

/// Bytes as the program has them.
pub enum ReadMemory {}

impl Request for ReadMemory {
    const COMMAND: &'static str = "readMemory";
    const WHEN: When = When::Process;
    type Arguments = ReadMemoryArguments;
    type Body = (ReadMemoryResponse, Vec<u8>);

    fn advertise(capabilities: &mut Capabilities) {
        capabilities.supports_read_memory_request = true;
    }

    fn json((body, data): Self::Body) -> serde_json::Result<Option<Body>> {
        let json = serde_json::to_string(&body)?;
        Ok(Some(Body { json, data }))
    }

    fn handle(
        session: &mut Session,
        arguments: ReadMemoryArguments,
    ) -> Result<Self::Body, RequestError> {
        let ReadMemoryArguments {
            memory_reference,
            offset,
            count,
        } = arguments;
        if count > MOST {
            return Err(RequestError::Arguments(format!(
                "readMemory: `count`: {count} bytes are too many for one answer; ask for at most \
                 {MOST} at a time"
            )));
        }
        let base = referred(session, "memoryReference", &memory_reference)?;
        session.memory_views.add(&memory_reference, base);
        let addr = moved(base, offset)?;
        let bytes = match usize::try_from(count) {
            Ok(count @ 1..) => session.debugger.read_memory(addr, count)?,
            _ => Vec::new(),
        };
        let body = ReadMemoryResponse {
            address: addr.to_string(),
            unreadable_bytes: count - bytes.len() as u64,
            data: "",
        };
        Ok((body, bytes))
    }
}

/// Changes bytes.
pub enum WriteMemory {}

impl Request for WriteMemory {
    const COMMAND: &'static str = "writeMemory";
    const WHEN: When = When::Process;
    type Arguments = WriteMemoryArguments;
    type Body = WriteMemoryResponse;

    fn advertise(capabilities: &mut Capabilities) {
        capabilities.supports_write_memory_request = true;
    }

    fn handle(
        session: &mut Session,
        arguments: WriteMemoryArguments,
    ) -> Result<WriteMemoryResponse, RequestError> {
        let bytes = base64().decode(arguments.data.trim()).map_err(|error| {
            RequestError::Arguments(format!("writeMemory: `data` is no base64: {error}"))
        })?;
        let base = referred(session, "memoryReference", &arguments.memory_reference)?;
        let addr = moved(base, arguments.offset)?;
        let extent = match arguments.allow_partial {
            true => Extent::Partial,
            false => Extent::Whole,
        };
        let bytes_written = session.debugger.write_memory(addr, &bytes, extent)?;
        memory_changed(session, addr, bytes_written as u64);
        Ok(WriteMemoryResponse {
            offset: 0,
            bytes_written,
        })
    }
}

/// Tells the client that it has itself made other bytes of memory: by each reference under which
/// it looks at them, for clients know their views by nothing else.
pub(super) fn memory_changed(session: &mut Session, addr: LoadAddr, len: u64) {
    if len == 0 {
        return;
    }
    session.variables_changed = true;
    session.codes.forget_lines();
    if !session.client.memory_events {
        return;
    }
    let own = addr.to_string();
    let views = session.memory_views.0.iter().cloned();
    let mut told: Vec<_> = views.filter(|(reference, _)| *reference != own).collect();
    told.push((own, addr));
    for (memory_reference, base) in told {
        let body = MemoryEventBody {
            memory_reference,
            offset: addr.0.wrapping_sub(base.0) as i64,
            count: i64::try_from(len).unwrap_or(i64::MAX),
        };
        session.event("memory", &body);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_stay_in_the_address_space() {
        let at = |addr, offset| moved(LoadAddr(addr), offset).ok().map(|addr| addr.0);
        assert_eq!(at(0x1000, -0x10), Some(0xff0));
        assert_eq!(at(0x10, -0x11), None);
        assert_eq!(at(u64::MAX, 1), None);
        assert_eq!(at(0, i64::MIN), None);
        assert_eq!(at(1 << 63, i64::MAX), Some(u64::MAX));
    }

    #[test]
    fn the_latest_views_are_kept_each_once() {
        let mut views = MemoryViews::default();
        for number in [1, 2, 1] {
            views.add(&format!("0x{number}"), LoadAddr(number));
        }
        let references: Vec<_> = views.0.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(references, ["0x1", "0x2"]);
        for number in 0..100 {
            views.add(&number.to_string(), LoadAddr(number));
        }
        assert_eq!(views.0.len(), MOST_VIEWS);
    }
}
