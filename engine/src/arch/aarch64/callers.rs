//! The direct calls of a function.

use super::super::DirectCall;
use super::INSTRUCTION_BYTES;
use super::decode::decoded;
use super::encoding::Kind;
use dwarf::{FileAddr, LoadAddr};

/// Returns the calls of a function in code that begins at `start`; `None` if the code refers to it
/// in other ways.
pub fn direct_calls(code: &[u8], start: FileAddr, function: FileAddr) -> Option<Vec<DirectCall>> {
    let mut found = Vec::new();
    let (words, _) = code.as_chunks::<INSTRUCTION_BYTES>();
    for (word, addr) in words.iter().zip((start.0..).step_by(INSTRUCTION_BYTES)) {
        let Some(code) = decoded(u32::from_le_bytes(*word), LoadAddr(addr)) else {
            continue;
        };
        match code.kind {
            Kind::Jump {
                distance,
                links: true,
            } if code.at(distance) == function.0 => found.push(DirectCall {
                addr: FileAddr(addr),
                back: FileAddr(code.next()),
            }),
            // A tail call, or the function's own loop.
            Kind::Jump { distance, .. } | Kind::JumpIf { distance, .. }
                if code.at(distance) == function.0 =>
            {
                return None;
            }
            // `adr` and `adrp`, by which the loader publishes the function's address, are allowed.
            _ => {}
        }
    }
    Some(found)
}
