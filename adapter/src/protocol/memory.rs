//! Memory and the instructions in it, on the wire.

use super::Source;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::GeneralPurposeConfig;
use base64::engine::simd::Simd;
use serde::Serialize;
use std::rc::Rc;
use std::sync::Arc;

/// How bytes are written; clients may leave the padding away.
pub fn base64() -> Simd {
    let lenient = DecodePaddingMode::Indifferent;
    Simd::standard(GeneralPurposeConfig::new().with_decode_padding_mode(lenient))
}

/// The result of `readMemory`.
#[derive(Serialize, Debug)]
#[serde(rename_all = "camelCase")]
pub struct ReadMemoryResponse {
    /// Where the bytes are.
    pub address: String,
    /// How many of those asked for are not there.
    #[serde(skip_serializing_if = "is_zero")]
    pub unreadable_bytes: u64,
    /// They, in base64: the last field, to be filled on its way out ([`super::Body::data`]).
    pub data: &'static str,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// The result of `writeMemory`.
#[derive(Serialize, Debug)]
#[serde(rename_all = "camelCase")]
pub struct WriteMemoryResponse {
    /// The first byte that was written, from where it was wanted: 0.
    pub offset: i64,
    /// How many were written.
    pub bytes_written: usize,
}

/// The `memory` event.
#[derive(Serialize, Debug)]
#[serde(rename_all = "camelCase")]
pub struct MemoryEventBody {
    /// Where.
    pub memory_reference: String,
    /// Bytes behind that.
    pub offset: i64,
    /// Bytes that changed.
    pub count: i64,
}

/// The result of `disassemble`.
#[derive(Serialize, Debug)]
pub struct DisassembleResponse {
    /// As many as were asked for.
    pub instructions: Vec<DisassembledInstruction>,
}

/// One instruction. The `dap` crate's has no presentation hint.
#[derive(Serialize, Debug, Default)]
#[serde(rename_all = "camelCase")]
pub struct DisassembledInstruction {
    /// Where it is.
    pub address: String,
    /// Its bytes, in hexadecimal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instruction_bytes: Option<String>,
    /// The instruction.
    pub instruction: String,
    /// The function that it is in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub symbol: Option<Arc<str>>,
    /// Its source, where that is not the one of the instruction before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub location: Option<Rc<Source>>,
    /// The line in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<i64>,
    /// The column in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<i64>,
    /// How to show it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub presentation_hint: Option<InstructionHint>,
}

/// How to show an instruction.
#[derive(Serialize, Debug, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum InstructionHint {
    /// It is none.
    Invalid,
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine as _;

    #[test]
    fn data_is_read_with_and_without_padding() {
        let decode = |text: &str| base64().decode(text).ok();
        assert_eq!(decode("YWJjZA=="), decode("YWJjZA"));
        assert_eq!(decode("YWJjZA").as_deref(), Some(&b"abcd"[..]));
        assert_eq!(decode("Y!Jj"), None);
    }
}
