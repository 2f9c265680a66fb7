//! Columns: debug info counts bytes, clients count UTF-16 code units. In ASCII lines both are the
//! same; for other lines the source file is read, if it exists.

use engine::open_regular;
use std::collections::HashMap;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Maximum size of a source file in bytes.
const MAX_FILE_BYTES: u64 = 32 << 20;
/// Maximum number of cached source files.
const MAX_CACHED_LINES: usize = 1000;

/// The non-ASCII lines of source files. Each file is read once.
#[derive(Debug, Default)]
pub struct Columns {
    files: HashMap<PathBuf, HashMap<u32, String>>,
}

impl Columns {
    /// Converts a column in bytes to one in UTF-16 code units, both from 1 (0: unknown).
    pub fn units_at(&mut self, file: &Path, line: u32, column: u32) -> u32 {
        match self.line(file, line) {
            Some(text) if column > 0 => units_of(text, column),
            _ => column,
        }
    }

    /// Converts a column in UTF-16 code units to one in bytes, both from 1 (0: unknown).
    pub fn bytes_at(&mut self, file: &Path, line: u32, column: u32) -> u32 {
        match self.line(file, line) {
            Some(text) if column > 0 => bytes_of(text, column),
            _ => column,
        }
    }

    /// Returns a line if it is not ASCII.
    fn line(&mut self, file: &Path, line: u32) -> Option<&str> {
        if !self.files.contains_key(file) {
            if self.files.len() >= MAX_CACHED_LINES {
                self.files.clear();
            }
            let lines = lines_of(&read(file).unwrap_or_default());
            self.files.insert(file.to_owned(), lines);
        }
        self.files.get(file)?.get(&line).map(String::as_str)
    }
}

/// Reads a regular file; `None` if it is too large or cannot be read.
fn read(file: &Path) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = open_regular(file).ok()?;
    file.take(MAX_FILE_BYTES).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

fn lines_of(bytes: &[u8]) -> HashMap<u32, String> {
    if bytes.is_ascii() {
        return HashMap::new();
    }
    let lines = bytes.split(|byte| *byte == b'\n').zip(1..);
    lines
        .filter(|(line, _)| !line.is_ascii())
        .filter_map(|(line, number)| Some((number, String::from_utf8(line.to_vec()).ok()?)))
        .collect()
}

fn units_of(text: &str, column: u32) -> u32 {
    convert(text, column, char::len_utf8, char::len_utf16)
}

fn bytes_of(text: &str, column: u32) -> u32 {
    convert(text, column, char::len_utf16, char::len_utf8)
}

/// Converts a column between two ways to count the length of a character.
fn convert(text: &str, column: u32, from: fn(char) -> usize, to: fn(char) -> usize) -> u32 {
    let (mut counted, mut converted) = (1_u32, 1_u32);
    for char in text.chars() {
        // A column inside a character counts as its start.
        let next = counted + from(char) as u32;
        if next > column {
            return converted;
        }
        counted = next;
        converted += to(char) as u32;
    }
    converted.saturating_add(column - counted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_of_one_to_four_bytes() {
        let text = "aé€🦀b";
        // 1 a, 2 é, 4 €, 7 🦀, 11 b; in UTF-16 1, 2, 3, 4, 6.
        for (bytes, units) in [(1, 1), (2, 2), (4, 3), (7, 4), (11, 6), (12, 7), (20, 15)] {
            assert_eq!(units_of(text, bytes), units);
            assert_eq!(bytes_of(text, units), bytes);
        }
        assert_eq!((units_of(text, 9), bytes_of(text, 5)), (4, 7));
        assert_eq!(units_of(text, u32::MAX), u32::MAX - 5);
        assert_eq!(bytes_of(text, u32::MAX), u32::MAX);
    }

    #[test]
    fn only_lines_that_matter_are_kept() {
        let lines = lines_of("int a;\n// ü\r\nint b; \u{1F980}\n".as_bytes());
        assert_eq!(lines.len(), 2);
        assert_eq!(lines[&2], "// ü\r");
        let latin1 = lines_of(b"x\n\xfc\n");
        assert!(latin1.is_empty());
    }

    #[test]
    fn missing_file_leaves_columns_unchanged() {
        let mut columns = Columns::default();
        for file in ["/nonexistent.c", "/dev/zero", "/"] {
            assert_eq!(columns.units_at(Path::new(file), 1, 7), 7);
        }
    }
}
