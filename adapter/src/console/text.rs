//! Output of commands: lines and columns of limited length.

use std::fmt::Display;

/// Maximum length of a line in bytes.
const MAX_LINE_CHARS: usize = 1000;

/// Lines of output up to a maximum number.
pub struct Lines {
    text: String,
    most: usize,
    shown: usize,
    left_out: usize,
}

impl Lines {
    /// Creates an empty output of at most `most` lines.
    pub fn at_most(most: usize) -> Self {
        Self {
            text: String::new(),
            most,
            shown: 0,
            left_out: 0,
        }
    }

    /// Returns true if another line would be left out.
    pub fn is_full(&self) -> bool {
        self.shown >= self.most
    }

    /// Adds a line, which is cut off if it is too long.
    pub fn push(&mut self, line: impl Display) {
        if self.is_full() {
            self.left_out += 1;
            return;
        }
        let mut line = line.to_string();
        if line.len() > MAX_LINE_CHARS {
            let end = (0..=MAX_LINE_CHARS)
                .rev()
                .find(|end| line.is_char_boundary(*end));
            line.truncate(end.unwrap_or(0));
            line.push('…');
        }
        if self.shown > 0 {
            self.text.push('\n');
        }
        self.text.push_str(line.trim_end());
        self.shown += 1;
    }

    /// Counts `more` further lines as left out, without formatting them.
    pub fn omit(&mut self, more: usize) {
        self.left_out = self.left_out.saturating_add(more);
    }

    /// Returns the text. If lines were left out, it ends with their number and with `how` to see
    /// them.
    pub fn finish(mut self, how: &str) -> String {
        if self.left_out > 0 {
            self.text
                .push_str(&format!("\n… {} more: {how}", self.left_out));
        }
        self.text
    }
}

/// Formats rows of cells as lines, with each column as wide as its widest cell.
pub fn columns(rows: &[Vec<String>]) -> Vec<String> {
    /// Maximum width of a column; a wider cell shifts the rest of its row.
    const MAX_COLUMN_CHARS: usize = 40;
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        let widths = cells.map(|cell| cell.chars().count());
        widths
            .filter(|width| *width <= MAX_COLUMN_CHARS)
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..count).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths);
        let cells: Vec<String> = cells
            .map(|(cell, width)| format!("{cell:width$}"))
            .collect();
        cells.join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

/// Formats a row of a memory dump: bytes in hex, padded to `per_row` of them, and as characters.
pub fn hex_and_characters(bytes: &[u8], per_row: usize) -> String {
    let hex: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let character = |byte: &u8| match byte {
        b' '..=b'~' => char::from(*byte),
        _ => '.',
    };
    let characters: String = bytes.iter().map(character).collect();
    format!("{:1$} {characters}", hex.join(" "), 3 * per_row)
}

/// Returns the text with the lines that start with `*` in bold, by ANSI escape sequences.
pub fn with_marked_in_bold(text: &str) -> String {
    let line = |line: &str| match line.starts_with('*') {
        true => format!("\u{1b}[1m{line}\u{1b}[0m"),
        false => line.to_owned(),
    };
    let lines: Vec<String> = text.lines().map(line).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn omitted_lines_are_counted() {
        let mut lines = Lines::at_most(2);
        for number in 0..5 {
            lines.push(number);
        }
        assert_eq!(lines.finish("ask again"), "0\n1\n… 3 more: ask again");
        let mut lines = Lines::at_most(2);
        lines.push("é".repeat(MAX_LINE_CHARS));
        assert!(lines.finish("").ends_with("é…"));
    }

    #[test]
    fn columns_stand_below_each_other() {
        let row = |cells: &[&str]| cells.iter().map(|cell| (*cell).to_owned()).collect();
        let rows = [row(&["a", "bb", "c"]), row(&["aaa", "é"])];
        assert_eq!(columns(&rows), ["a    bb  c", "aaa  é"]);
    }
}
