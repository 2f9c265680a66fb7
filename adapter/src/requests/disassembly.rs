//! The `disassemble` request.

use super::memory::{moved, referred};
use crate::protocol::RequestError;
use crate::protocol::{
    Capabilities, DisassembleArguments, DisassembleResponse, DisassembledInstruction,
    InstructionHint,
};
use crate::requests::{Effect, Request};
use crate::session::RequiredState;
use crate::session::Session;
use crate::session::describe::{LastSource, source_of};
use engine::{Disassembled, Wanted};
use std::fmt::Write as _;

/// Returns the instructions around an address.
pub enum Disassemble {}

impl Request for Disassemble {
    const COMMAND: &'static str = "disassemble";
    const EFFECT: Effect = Effect::Reads;
    const WHEN: RequiredState = RequiredState::Process;
    type Arguments = DisassembleArguments;
    type Body = DisassembleResponse;

    fn advertise(capabilities: &mut Capabilities) {
        capabilities.supports_disassemble_request = true;
    }

    fn handle(
        session: &mut Session,
        arguments: DisassembleArguments,
    ) -> Result<DisassembleResponse, RequestError> {
        let base = referred(session, "memoryReference", &arguments.memory_reference)?;
        let wanted = Wanted {
            addr: moved(base, arguments.offset)?,
            first: arguments.instruction_offset,
            count: usize::try_from(arguments.instruction_count).unwrap_or(usize::MAX),
            flavor: session.settings.flavor,
            names: arguments.resolve_symbols.unwrap_or(true),
        };
        let mut last = None;
        let rows = session.debugger.disassemble(&wanted)?.into_iter();
        let instructions = rows.map(|row| described(session, row, &mut last)).collect();
        Ok(DisassembleResponse { instructions })
    }
}

fn described(
    session: &mut Session,
    row: Disassembled,
    last: &mut LastSource,
) -> DisassembledInstruction {
    let place = row.location.as_ref();
    let file = place.map(|place| &place.file);
    let is_same = last.as_ref().map(|(file, _)| file) == file;
    let location = match file {
        Some(file) if !is_same => Some(source_of(session, file, last)),
        Some(_) => None,
        None => {
            *last = None;
            None
        }
    };
    let column = place.filter(|place| place.column > 0).map(|place| {
        let Session {
            sources, client, ..
        } = &mut *session;
        sources.column_out(&place.file.path, place.line, place.column, client)
    });
    DisassembledInstruction {
        address: row.address.to_string(),
        instruction_bytes: (!row.bytes.is_empty()).then(|| hexadecimal(&row.bytes)),
        instruction: row.text,
        symbol: row.symbol,
        location,
        line: place.map(|place| session.client.line_out(place.line)),
        column,
        presentation_hint: (!row.is_valid).then_some(InstructionHint::Invalid),
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        // Writing to memory does not fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}
