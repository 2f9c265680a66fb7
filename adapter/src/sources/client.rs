//! What the client is and how it counts, from its `initialize` request.

use std::path::{Path, PathBuf};

/// How the client spells paths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PathFormat {
    /// As the system does.
    #[default]
    Path,
    /// As `file:` URIs.
    Uri,
}

/// The client's conventions and abilities.
#[derive(Clone, Debug)]
pub struct Client {
    /// It has sent `initialize`.
    pub introduced: bool,
    /// Number of the first line: 1 or 0.
    pub first_line: u32,
    /// Number of the first column: 1 or 0.
    pub first_column: u32,
    /// How it spells paths.
    pub path_format: PathFormat,
    /// It shows types.
    pub variable_type: bool,
    /// It asks for parts of long lists.
    pub variable_paging: bool,
    /// It can run programs in a terminal.
    pub run_in_terminal: bool,
    /// It can begin further sessions.
    pub start_debugging: bool,
    /// It asks again for what it is told is stale.
    pub invalidated: bool,
    /// It can ask for memory by reference.
    pub memory_references: bool,
    /// It wants to know of memory that changed.
    pub memory_events: bool,
    /// It shows how far long work has come.
    pub progress: bool,
    /// It shows text in bold, or in colours, by ANSI escape sequences.
    pub ansi_styling: bool,
}

impl Default for Client {
    fn default() -> Self {
        Self {
            introduced: false,
            first_line: 1,
            first_column: 1,
            path_format: PathFormat::Path,
            variable_type: false,
            variable_paging: false,
            run_in_terminal: false,
            start_debugging: false,
            invalidated: false,
            memory_references: false,
            memory_events: false,
            progress: false,
            ansi_styling: false,
        }
    }
}

impl Client {
    /// A line (from 1) in the client's counting.
    pub fn line_out(&self, line: u32) -> i64 {
        i64::from(line.saturating_sub(1 - self.first_line))
    }

    /// A column (from 1, 0: unknown) in the client's counting.
    pub fn column_out(&self, column: u32) -> i64 {
        i64::from(column.saturating_sub(1 - self.first_column))
    }

    /// A client's line, counted from 1.
    pub fn line_in(&self, line: i64) -> u32 {
        count_in(line, self.first_line)
    }

    /// A client's column, counted from 1.
    pub fn column_in(&self, column: i64) -> u32 {
        count_in(column, self.first_column)
    }

    /// The column that a client names, if it does: one before the first is none.
    pub fn given_column(&self, column: Option<i64>) -> Option<i64> {
        column.filter(|column| *column >= i64::from(self.first_column))
    }

    /// A path in the client's spelling.
    pub fn path_out(&self, path: &Path) -> String {
        match self.path_format {
            PathFormat::Path => path.to_string_lossy().into_owned(),
            PathFormat::Uri => to_uri(path),
        }
    }

    /// The path of a client's spelling.
    pub fn path_in(&self, spelling: &str) -> PathBuf {
        match spelling.strip_prefix("file://") {
            Some(rest) => from_uri(rest),
            None => PathBuf::from(spelling),
        }
    }
}

fn count_in(number: i64, first: u32) -> u32 {
    let from_one = number.saturating_add(1 - i64::from(first));
    // What is sent back has to be a number of 31 bits.
    i32::try_from(from_one.max(1)).map_or(i32::MAX as u32, i32::unsigned_abs)
}

/// RFC 8089: the unreserved characters and slashes stay, the rest is percent-encoded.
fn to_uri(path: &Path) -> String {
    let mut uri = String::from("file://");
    for &byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' => {
                uri.push(char::from(byte));
            }
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

/// The path of a `file:` URI, from its authority (none, or `localhost`) on.
fn from_uri(rest: &str) -> PathBuf {
    let rest = rest.strip_prefix("localhost").unwrap_or(rest);
    let mut bytes = Vec::with_capacity(rest.len());
    let mut input = rest.as_bytes();
    while let [first, later @ ..] = input {
        let code = later.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        match code.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(decoded) if *first == b'%' => {
                bytes.push(decoded);
                input = &later[2..];
            }
            _ => {
                bytes.push(*first);
                input = later;
            }
        }
    }
    PathBuf::from(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counting_from_zero_and_one() {
        let one = Client::default();
        assert_eq!(
            (one.line_in(5), one.line_out(5), one.column_out(0)),
            (5, 5, 0)
        );
        let zero = Client {
            first_line: 0,
            first_column: 0,
            ..Client::default()
        };
        assert_eq!(
            (zero.line_in(5), zero.line_out(5), zero.column_out(0)),
            (6, 4, 0)
        );
        assert_eq!(
            (one.line_in(-3), one.line_in(i64::MAX)),
            (1, i32::MAX as u32)
        );
    }

    #[test]
    fn uris_go_both_ways() {
        let client = Client {
            path_format: PathFormat::Uri,
            ..Client::default()
        };
        let path = Path::new("/tmp/a b/ü%.c");
        assert_eq!(client.path_out(path), "file:///tmp/a%20b/%C3%BC%25.c");
        assert_eq!(client.path_in("file:///tmp/a%20b/%C3%BC%25.c"), path);
        assert_eq!(client.path_in("file:///x%"), Path::new("/x%"));
        assert_eq!(client.path_in("main.c"), Path::new("main.c"));
    }
}
