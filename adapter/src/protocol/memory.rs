//! Memory and instructions on the wire.

use super::Source;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::GeneralPurposeConfig;
use base64::engine::simd::Simd;
use serde::{Deserialize, Serialize};
use std::rc::Rc;
use std::sync::Arc;

/// Returns the base64 codec; it accepts missing padding.
pub fn base64() -> Simd {
    let lenient = DecodePaddingMode::Indifferent;
    Simd::standard(GeneralPurposeConfig::new().with_decode_padding_mode(lenient))
}

/// The result of `readMemory`.
#[derive(Serialize, Deserialize, Debug)]
#[serde(rename_all = "camelCase")]
pub struct ReadMemoryResponse {
    /// Address of the first byte.
    pub address: String,
    /// Number of requested bytes that cannot be read.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unreadable_bytes: u64,
    /// The bytes, in base64 on the wire. The last field: the adapter fills it when the message is
    /// written ([`super::Body::data`]).
    #[serde(default, with = "as_base64")]
    pub data: Vec<u8>,
}

/// Bytes as base64.
mod as_base64 {
    use super::base64;
    use base64::Engine as _;
    use serde::de::{Deserialize, Deserializer, Error};
    use serde::ser::Serializer;
    use std::borrow::Cow;

    pub fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&base64().encode(bytes))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        let text = Cow::<str>::deserialize(deserializer)?;
        base64().decode(text.as_bytes()).map_err(D::Error::custom)
    }
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// The result of `writeMemory`.
#[derive(Serialize, Deserialize, Debug)]
#[serde(rename_all = "camelCase")]
pub struct WriteMemoryResponse {
    /// Offset of the first byte written: 0.
    pub offset: i64,
    /// Number of bytes written.
    pub bytes_written: usize,
}

/// The `memory` event.
#[derive(Serialize, Deserialize, Debug)]
#[serde(rename_all = "camelCase")]
pub struct MemoryEventBody {
    /// The memory reference.
    pub memory_reference: String,
    /// Offset from it in bytes.
    pub offset: i64,
    /// Number of changed bytes.
    pub count: i64,
}

/// The result of `disassemble`.
#[derive(Serialize, Deserialize, Debug)]
pub struct DisassembleResponse {
    /// The requested number of instructions.
    pub instructions: Vec<DisassembledInstruction>,
}

/// One instruction. The `dap` crate's has no presentation hint.
#[derive(Serialize, Deserialize, Debug, Default)]
#[serde(rename_all = "camelCase")]
pub struct DisassembledInstruction {
    /// Its address.
    pub address: String,
    /// Its bytes, in hexadecimal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instruction_bytes: Option<String>,
    /// The instruction.
    pub instruction: String,
    /// The function that it is in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub symbol: Option<Arc<str>>,
    /// Its source, if it differs from that of the previous instruction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub location: Option<Rc<Source>>,
    /// The line in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<i64>,
    /// The column in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<i64>,
    /// Presentation hint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub presentation_hint: Option<InstructionHint>,
}

/// The presentation hint of an instruction.
#[derive(Serialize, Deserialize, Debug, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum InstructionHint {
    /// Not an instruction.
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
