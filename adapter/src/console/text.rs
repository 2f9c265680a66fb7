//! What commands show: lines and columns, and no more of them than people read.

use std::fmt::Display;

/// The longest line, in bytes.
const LONGEST: usize = 1000;

/// Lines, of which only so many are shown.
pub struct Lines {
    text: String,
    most: usize,
    shown: usize,
    left_out: usize,
}

impl Lines {
    /// At most so many lines.
    pub fn at_most(most: usize) -> Self {
        Self {
            text: String::new(),
            most,
            shown: 0,
            left_out: 0,
        }
    }

    /// Whether another line would be left out.
    pub fn is_full(&self) -> bool {
        self.shown >= self.most
    }

    /// One more line, which is cut if it is very long.
    pub fn push(&mut self, line: impl Display) {
        if self.is_full() {
            self.left_out += 1;
            return;
        }
        let mut line = line.to_string();
        if line.len() > LONGEST {
            let end = (0..=LONGEST).rev().find(|end| line.is_char_boundary(*end));
            line.truncate(end.unwrap_or(0));
            line.push('…');
        }
        if self.shown > 0 {
            self.text.push('\n');
        }
        self.text.push_str(line.trim_end());
        self.shown += 1;
    }

    /// More lines, which nobody has made.
    pub fn leave_out(&mut self, more: usize) {
        self.left_out = self.left_out.saturating_add(more);
    }

    /// The text; where lines are missing it says so, and `how` to see them.
    pub fn finish(mut self, how: &str) -> String {
        if self.left_out > 0 {
            self.text
                .push_str(&format!("\n… {} more: {how}", self.left_out));
        }
        self.text
    }
}

/// Rows of cells, each column as wide as it needs to be.
pub fn columns(rows: &[Vec<String>]) -> Vec<String> {
    /// Wider cells stand out of their column.
    const WIDEST: usize = 40;
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        let widths = cells.map(|cell| cell.chars().count());
        widths.filter(|width| *width <= WIDEST).max().unwrap_or(0)
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

/// The text with the lines that `*` marks in bold, by ANSI escape sequences.
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
    fn what_is_left_out_is_said() {
        let mut lines = Lines::at_most(2);
        for number in 0..5 {
            lines.push(number);
        }
        assert_eq!(lines.finish("ask again"), "0\n1\n… 3 more: ask again");
        let mut lines = Lines::at_most(2);
        lines.push("é".repeat(LONGEST));
        assert!(lines.finish("").ends_with("é…"));
    }

    #[test]
    fn columns_stand_below_each_other() {
        let row = |cells: &[&str]| cells.iter().map(|cell| (*cell).to_owned()).collect();
        let rows = [row(&["a", "bb", "c"]), row(&["aaa", "é"])];
        assert_eq!(columns(&rows), ["a    bb  c", "aaa  é"]);
    }
}
