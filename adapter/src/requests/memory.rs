//! The requests `readMemory` and `writeMemory`.

use super::breakpoints::address;
use crate::protocol::RequestError;
use crate::protocol::{
    Body, Capabilities, ReadMemoryArguments, ReadMemoryResponse, WriteMemoryArguments,
    WriteMemoryResponse, base64,
};
use crate::requests::{Effect, InThePast, Request};
use crate::session::RequiredState;
use crate::session::Session;
use crate::session::memory_views::memory_changed;
use base64::Engine as _;
use engine::{Extent, LoadAddr, Purpose};

/// Maximum number of bytes per response.
const MAX_READ_BYTES: u64 = 32 << 20;
/// Returns the address of a memory reference: a number, or an expression of the stopped program.
/// `field` is the name of the argument, for the error.
pub(super) fn referred(
    session: &mut Session,
    field: &str,
    reference: &str,
) -> Result<LoadAddr, RequestError> {
    if let Some(addr) = address(reference) {
        return Ok(addr);
    }
    let no_address = |why: String| {
        RequestError::Arguments(format!("`{field}`: `{reference}` is not an address{why}"))
    };
    if reference.trim().is_empty() {
        return Err(no_address(String::new()));
    }
    let evaluated = session
        .debugger
        .evaluate(None, reference.trim(), Purpose::Look)
        .map_err(|error| no_address(format!("; as an expression: {error}")))?;
    let shown = session.debugger.present(&evaluated.value, &<_>::default());
    shown
        .memory
        .or_else(|| address(&shown.text))
        .ok_or_else(|| no_address(format!(": its value is {}", shown.text)))
}

/// Adds an offset in bytes to an address.
pub(super) fn moved(addr: LoadAddr, offset: i64) -> Result<LoadAddr, RequestError> {
    let moved = addr.0.checked_add_signed(offset).map(LoadAddr);
    moved.ok_or_else(|| {
        RequestError::Arguments(format!(
            "`offset`: {addr} with offset {offset} is out of range"
        ))
    })
}

/// Reads memory, with the original bytes in place of breakpoints.
pub enum ReadMemory {}

impl Request for ReadMemory {
    const COMMAND: &'static str = "readMemory";
    const EFFECT: Effect = Effect::Reads;
    const WHEN: RequiredState = RequiredState::Process;
    type Arguments = ReadMemoryArguments;
    type Body = ReadMemoryResponse;

    fn advertise(capabilities: &mut Capabilities) {
        capabilities.supports_read_memory_request = true;
    }

    fn json(mut body: ReadMemoryResponse) -> serde_json::Result<Option<Body>> {
        let data = std::mem::take(&mut body.data);
        let json = serde_json::to_string(&body)?;
        Ok(Some(Body { json, data }))
    }

    fn handle(
        session: &mut Session,
        arguments: ReadMemoryArguments,
    ) -> Result<ReadMemoryResponse, RequestError> {
        let ReadMemoryArguments {
            memory_reference,
            offset,
            count,
        } = arguments;
        if count > MAX_READ_BYTES {
            return Err(RequestError::Arguments(format!(
                "readMemory: `count`: {count} bytes exceed the maximum of {MAX_READ_BYTES} per request"
            )));
        }
        let base = referred(session, "memoryReference", &memory_reference)?;
        session.memory_views.add(&memory_reference, base);
        let addr = moved(base, offset)?;
        let bytes = match usize::try_from(count) {
            Ok(count @ 1..) => session.debugger.read_memory(addr, count)?,
            _ => Vec::new(),
        };
        Ok(ReadMemoryResponse {
            address: addr.to_string(),
            unreadable_bytes: count - bytes.len() as u64,
            data: bytes,
        })
    }
}

/// Writes memory.
pub enum WriteMemory {}

impl Request for WriteMemory {
    const COMMAND: &'static str = "writeMemory";
    const IN_THE_PAST: InThePast = InThePast::Shown;
    const WHEN: RequiredState = RequiredState::Process;
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
            RequestError::Arguments(format!("writeMemory: `data` is not base64: {error}"))
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
}
