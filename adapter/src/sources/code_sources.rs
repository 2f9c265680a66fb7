//! Machine code as sources, for frames without a source file. A piece of code has one number during
//! the session, and data by which later sessions recognize it.

use crate::protocol::{Source, SourceHint};
use engine::{CodeName, LoadAddr};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::path::PathBuf;

/// Maximum number of pieces per session; further pieces get no number.
const MAX_SOURCES: usize = 1 << 14;
/// Maximum number of cached lines; the cache is valid until the program resumes.
const MAX_LINES: usize = 1 << 12;

/// The syntax of instructions.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Debug, Default)]
#[serde(rename_all = "lowercase")]
pub enum Flavor {
    /// Intel syntax.
    #[default]
    Intel,
    /// AT&T syntax.
    #[serde(alias = "at&t", alias = "gas")]
    Att,
}

impl From<Flavor> for engine::Flavor {
    fn from(flavor: Flavor) -> Self {
        match flavor {
            Flavor::Intel => engine::Flavor::Intel,
            Flavor::Att => engine::Flavor::Att,
        }
    }
}

/// A piece of code as the client stores it (`adapterData`).
#[derive(Serialize, Deserialize)]
struct AdapterData {
    #[serde(skip_serializing_if = "Option::is_none")]
    image: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    symbol: Option<String>,
    start: u64,
    end: u64,
}

/// The pieces of code that the client has seen.
#[derive(Debug, Default)]
pub struct CodeSources {
    pieces: Vec<CodeName>,
    numbers: HashMap<CodeName, i64>,
    /// By address, until the program resumes: the piece's number and the line in it.
    lines: HashMap<LoadAddr, Option<(i64, u32)>>,
}

impl CodeSources {
    /// Returns a piece's number, the same one each time; `None` if there are too many pieces.
    pub fn number(&mut self, code: &CodeName) -> Option<i64> {
        if let Some(number) = self.numbers.get(code) {
            return Some(*number);
        }
        if self.pieces.len() >= MAX_SOURCES {
            return None;
        }
        self.pieces.push(code.clone());
        let number = self.pieces.len() as i64;
        self.numbers.insert(code.clone(), number);
        Some(number)
    }

    /// Returns the piece with a number.
    pub fn piece(&self, number: i64) -> Option<&CodeName> {
        let index = usize::try_from(number).ok()?.checked_sub(1)?;
        self.pieces.get(index)
    }

    /// Iterates over the pieces that are in no module.
    pub fn without_image(&self) -> impl Iterator<Item = &CodeName> {
        self.pieces.iter().filter(|code| code.image.is_none())
    }

    /// Returns the cached location of an address; the inner `None`: it has none.
    pub fn known_line(&self, addr: LoadAddr) -> Option<Option<(i64, u32)>> {
        self.lines.get(&addr).copied()
    }

    /// Caches the location of an address.
    pub fn keep_line(&mut self, addr: LoadAddr, line: Option<(i64, u32)>) {
        if self.lines.len() >= MAX_LINES {
            self.lines.clear();
        }
        self.lines.insert(addr, line);
    }

    /// Drops the cached locations: the code may have changed.
    pub fn forget_lines(&mut self) {
        self.lines.clear();
    }

    /// Returns the piece that the client's source refers to; `None` if the source is a file.
    pub fn code_of_source(&mut self, source: &Source) -> Option<CodeName> {
        let number = source.source_reference.filter(|number| *number > 0);
        if let Some(code) = number.and_then(|number| self.piece(number)) {
            return Some(code.clone());
        }
        // From an earlier session: its number is no longer valid.
        let kept = AdapterData::deserialize(source.adapter_data.as_ref()?).ok()?;
        Some(CodeName {
            image: kept.image,
            symbol: kept.symbol,
            start: kept.start,
            end: kept.end,
        })
    }

    /// Returns a piece as a source; `None` if there are too many pieces.
    pub fn source(&mut self, code: &CodeName) -> Option<Source> {
        let kept = AdapterData {
            image: code.image.clone(),
            symbol: code.symbol.clone(),
            start: code.start,
            end: code.end,
        };
        Some(Source {
            name: Some(code.label()),
            source_reference: Some(self.number(code)?),
            presentation_hint: Some(SourceHint::Deemphasize),
            adapter_data: serde_json::to_value(kept).ok(),
            ..Source::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(symbol: &str) -> CodeName {
        CodeName {
            image: Some("/lib/x.so".into()),
            symbol: Some(symbol.to_owned()),
            start: 0x1000,
            end: 0x1010,
        }
    }

    #[test]
    fn code_source_is_recognised_in_another_session() {
        let mut codes = CodeSources::default();
        let source = codes.source(&code("f")).expect("a source");
        let other = codes.source(&code("g")).expect("a source");
        assert_ne!(source.source_reference, other.source_reference);
        assert_eq!(codes.source(&code("f")), Some(source.clone()));
        assert_eq!(codes.code_of_source(&source), Some(code("f")));
        let mut later = CodeSources::default();
        later.number(&code("h"));
        let stale = Source {
            source_reference: Some(77),
            ..source
        };
        assert_eq!(later.code_of_source(&stale), Some(code("f")));
        let unknown = Source {
            adapter_data: None,
            ..stale
        };
        assert_eq!(later.code_of_source(&unknown), None);
        assert_eq!(later.code_of_source(&Source::default()), None);
    }
}
