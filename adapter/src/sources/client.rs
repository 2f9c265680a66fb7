//! The client's conventions and capabilities, from its `initialize` request.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// The format of the client's paths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PathFormat {
    /// Plain paths.
    #[default]
    Path,
    /// `file:` URIs.
    Uri,
}

/// A client with habits that no capability of the protocol tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Habits {
    /// None are known.
    #[default]
    Usual,
    /// VS Code and its relatives: a session is dead for it after a failed `restart`
    /// (microsoft/vscode#237414), and other threads stay paused for it during a step without the event `continued`.
    VsCode,
    /// nvim-dap: the configuration of `startDebugging` needs the `type` of its parent.
    Neovim,
    /// Zed: it copies the capability `supportsSingleThreadExecutionRequests` into `singleThread` of each step and
    /// `continue`, so that other threads would never run (zed-industries/zed#61942, #63091).
    Zed,
    /// `stillpoint mcp`: it asks for the places on the way to an origin.
    Agent,
}

impl Habits {
    /// Returns the habits of a client by its `clientID`.
    pub fn of(id: Option<&str>) -> Self {
        match id {
            Some("vscode") => Self::VsCode,
            Some("neovim") => Self::Neovim,
            Some("zed") => Self::Zed,
            Some("stillpoint-mcp") => Self::Agent,
            _ => Self::Usual,
        }
    }
}

/// The client's conventions and capabilities.
#[derive(Clone, Debug)]
pub struct Client {
    /// What it does that no capability tells.
    pub habits: Habits,
    /// Whether the client has sent `initialize`.
    pub introduced: bool,
    /// Number of the first line: 1 or 0.
    pub first_line: u32,
    /// Number of the first column: 1 or 0.
    pub first_column: u32,
    /// The format of the client's paths.
    pub path_format: PathFormat,
    /// Whether the client shows the types of variables.
    pub variable_type: bool,
    /// Whether the client requests long lists of variables in parts.
    pub variable_paging: bool,
    /// Whether the client can run programs in a terminal (`runInTerminal`).
    pub run_in_terminal: bool,
    /// Whether the client can start further sessions (`startDebugging`).
    pub start_debugging: bool,
    /// Whether the client supports `invalidated` events.
    pub invalidated: bool,
    /// Whether the client supports memory references.
    pub memory_references: bool,
    /// Whether the client supports `memory` events.
    pub memory_events: bool,
    /// Whether the client supports `progressStart`, `progressUpdate` and `progressEnd` events.
    pub progress: bool,
    /// Whether the client reads [`crate::protocol::Breakpoint::problem`].
    pub breakpoint_problems: bool,
    /// Whether the client renders ANSI escape sequences.
    pub ansi_styling: bool,
}

impl Default for Client {
    fn default() -> Self {
        Self {
            habits: Habits::Usual,
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
            breakpoint_problems: false,
            ansi_styling: false,
        }
    }
}

impl Client {
    /// Converts a line (from 1) to the client's numbering.
    pub fn line_out(&self, line: u32) -> i64 {
        i64::from(line.saturating_sub(1 - self.first_line))
    }

    /// Converts a column (from 1; 0: unknown) to the client's numbering.
    pub fn column_out(&self, column: u32) -> i64 {
        i64::from(column.saturating_sub(1 - self.first_column))
    }

    /// Converts the client's line to one from 1.
    pub fn line_in(&self, line: i64) -> u32 {
        count_in(line, self.first_line)
    }

    /// Converts the client's column to one from 1.
    pub fn column_in(&self, column: i64) -> u32 {
        count_in(column, self.first_column)
    }

    /// Returns the column that the client sent; `None` without one, or if it is before the first.
    pub fn given_column(&self, column: Option<i64>) -> Option<i64> {
        column.filter(|column| *column >= i64::from(self.first_column))
    }

    /// Formats a path for the client.
    pub fn path_out(&self, path: &Path) -> String {
        match self.path_format {
            PathFormat::Path => path.to_string_lossy().into_owned(),
            PathFormat::Uri => to_uri(path),
        }
    }

    /// Parses a path or `file:` URI from the client.
    pub fn path_in(&self, spelling: &str) -> PathBuf {
        match spelling.strip_prefix("file://") {
            Some(rest) => from_uri(rest),
            None => PathBuf::from(spelling),
        }
    }
}

fn count_in(number: i64, first: u32) -> u32 {
    let from_one = number.saturating_add(1 - i64::from(first));
    // Clients expect numbers of at most 31 bits, and this one may be sent back.
    i32::try_from(from_one.max(1)).map_or(i32::MAX as u32, i32::unsigned_abs)
}

/// Formats a `file:` URI (RFC 8089): unreserved characters and slashes stay, all others are
/// percent-encoded.
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

/// Parses the part of a `file:` URI after `//`: the authority and the path. A path on another host
/// begins with `//` and that host.
fn from_uri(rest: &str) -> PathBuf {
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let mut bytes = match host.is_empty() || host.eq_ignore_ascii_case("localhost") {
        true => Vec::with_capacity(path.len()),
        false => format!("//{host}").into_bytes(),
    };
    let mut input = path.as_bytes();
    loop {
        input = match input {
            [b'%', high, low, later @ ..]
                if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() =>
            {
                bytes.push(hex_digit(*high) << 4 | hex_digit(*low));
                later
            }
            [first, later @ ..] => {
                bytes.push(*first);
                later
            }
            [] => return PathBuf::from(OsString::from_vec(bytes)),
        }
    }
}

/// Returns the value of a hexadecimal digit; 0 for any other character.
fn hex_digit(digit: u8) -> u8 {
    char::from(digit).to_digit(16).unwrap_or(0) as u8
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

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
        // A percent sign without two hexadecimal digits stands for itself.
        assert_eq!(client.path_in("file:///%+f%0g"), Path::new("/%+f%0g"));
        assert_eq!(client.path_in("file://localhost/a"), Path::new("/a"));
        assert_eq!(client.path_in("file://LOCALHOST/a"), Path::new("/a"));
        // The name of another host is not part of `localhost`'s path.
        let remote = client.path_in("file://localhosting/a");
        assert_eq!(remote, Path::new("//localhosting/a"));
    }

    #[test]
    fn paths_that_are_not_utf8_go_both_ways_as_uris() {
        let client = Client {
            path_format: PathFormat::Uri,
            ..Client::default()
        };
        let path = Path::new(OsStr::from_bytes(b"/tmp/\xff.c"));
        assert_eq!(client.path_out(path), "file:///tmp/%FF.c");
        assert_eq!(client.path_in("file:///tmp/%FF.c"), path);
    }
}
