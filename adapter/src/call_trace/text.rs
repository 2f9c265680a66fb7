//! The text of a traced call. If it is too long, detail is left out in steps: further iterations, lines of
//! callees, the ends of long source lines, source, and then lines in the middle. The text says so.

use super::differences::cut;
use super::fold::path_of;
use super::names::without_generics;
use super::{Call, Change, Inner, Line, Loop, Node, Outcome, Range, Step};
use std::collections::{HashMap, HashSet};
use std::fmt::Write;

/// Maximum length in bytes of a source line that changes stand beside, and where room is short.
const MAX_SOURCE_BYTES: (usize, usize) = (100, 56);
/// The column at which changes begin behind source, and the blanks before them.
const CHANGES_COLUMN: usize = 44;
const BLANKS: usize = 3;
/// Maximum number of variables whose range a loop shows.
const MAX_RANGES: usize = 10;
/// The indentation of a loop's lines.
const ITERATION_INDENT: usize = 4;
/// Maximum length of a line of the text in bytes.
const MAX_ROW_BYTES: usize = 300;
/// Share of the head, in percent, if lines in the middle are left out.
const HEAD_PERCENT: usize = 60;
/// Room for the remark about lines left out, and for the one about detail.
const REMARK_BYTES: usize = 100;

/// The source lines by number, and the names of the files.
#[derive(Debug, Default)]
pub struct Source {
    /// The text of lines, without indentation.
    pub lines: HashMap<Line, String>,
    /// The names of the files, in the order of their numbers.
    pub files: Vec<String>,
}

/// A traced call and what surrounds it.
#[derive(Debug)]
pub struct Traced {
    /// What was called, with arguments, in a few lines.
    pub head: Vec<String>,
    /// The lines of the call.
    pub lines: Vec<Node>,
    /// How the call ended and what it changed, where the program is now, and how the trace was made.
    pub tail: Vec<String>,
    /// The source.
    pub source: Source,
}

/// How much of the lines is shown.
#[derive(Clone, Copy)]
struct Detail {
    /// Maximum number of iterations of a loop, besides the last one.
    iterations: usize,
    /// Maximum number of calls and remarks of a line.
    inner: usize,
    /// Whether lines of callees are shown.
    callees: bool,
    /// How much of the source is shown, once a line.
    source: Shown,
    /// What is left out, as text.
    left_out: &'static str,
}

/// How much of source lines is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shown {
    /// Whole lines; those that changes stand beside up to [`MAX_SOURCE_BYTES`].
    Whole,
    /// Lines up to the smaller one of [`MAX_SOURCE_BYTES`].
    Begin,
    /// The first lines, as long as there is room.
    Some,
}

/// From everything to the least.
const DETAILS: [Detail; 7] = {
    let all = Detail {
        iterations: usize::MAX,
        inner: usize::MAX,
        callees: true,
        source: Shown::Whole,
        left_out: "",
    };
    let few = Detail {
        iterations: 4,
        inner: 4,
        left_out: "iterations",
        ..all
    };
    let own = Detail {
        callees: false,
        left_out: "iterations and lines of callees",
        ..few
    };
    let two = Detail {
        iterations: 2,
        inner: 2,
        ..own
    };
    let one = Detail {
        iterations: 1,
        ..two
    };
    let short = Detail {
        source: Shown::Begin,
        left_out: "iterations, lines of callees and the ends of source lines",
        ..one
    };
    let some = Detail {
        source: Shown::Some,
        left_out: "iterations, lines of callees and some source",
        ..one
    };
    [all, few, own, two, one, short, some]
};

impl Traced {
    /// Returns the text, of at most `limit` bytes.
    pub fn text(&self, limit: usize) -> String {
        let (head, tail) = (joined(&self.head), joined(&self.tail));
        let room = limit.saturating_sub(head.len() + tail.len());
        let render = |detail: Detail, spare: usize| {
            let mut rendered = Rendered {
                source: &self.source,
                detail,
                spare,
                shown: HashSet::default(),
                rows: Vec::new(),
            };
            rendered.nodes(&self.lines, 0);
            rendered.rows
        };
        let (mut rows, mut whole, mut remark) = (Vec::new(), 0, String::new());
        for detail in DETAILS {
            let former = std::mem::replace(&mut rows, render(detail, 0));
            match detail.left_out {
                "" => whole = head.len() + length(&rows) + tail.len(),
                what => {
                    remark = format!("{what} left out for want of room; `limit` {whole} has all\n")
                }
            }
            let left = room.checked_sub(length(&rows) + remark.len());
            match (left, detail.source) {
                // Lines are left out in any case: those that are shown have source.
                (None, Shown::Some) => rows = former,
                (Some(spare), Shown::Some) => rows = render(detail, spare),
                (None, _) => continue,
                (Some(_), _) => {}
            }
            break;
        }
        let body = fitted(rows, room.saturating_sub(remark.len()));
        let text = format!("{head}{body}{tail}{remark}");
        match text.len() <= limit {
            true => text,
            // Head and tail alone are too long.
            false => cut(&text, limit.saturating_sub('…'.len_utf8())),
        }
    }
}

/// Calls `found` with each line whose source the text may show.
pub fn lines_of(nodes: &[Node], found: &mut dyn FnMut(Line)) {
    for node in nodes {
        match node {
            Node::Step(step) => {
                found(step.line);
                for inner in &step.inner {
                    if let Inner::Call(call) = inner {
                        lines_of(&call.lines, found);
                    }
                }
            }
            Node::Loop(folded) => {
                let kept = folded.kept.iter().chain(&folded.last);
                kept.for_each(|(_, nodes)| lines_of(nodes, found));
                lines_of(&folded.rest, found);
            }
        }
    }
}

fn length(rows: &[String]) -> usize {
    rows.iter().map(|row| row.len() + 1).sum()
}

fn joined(rows: &[String]) -> String {
    rows.iter().map(|row| format!("{row}\n")).collect()
}

/// Joins rows; leaves out those in the middle if all are too long.
fn fitted(rows: Vec<String>, room: usize) -> String {
    if length(&rows) <= room {
        return joined(&rows);
    }
    let room = room.saturating_sub(REMARK_BYTES);
    let fitting = |rows: &mut dyn Iterator<Item = &String>, room: usize| {
        let mut spent = 0;
        rows.take_while(|row| {
            spent += row.len() + 1;
            spent <= room
        })
        .count()
    };
    let first = fitting(&mut rows.iter(), room * HEAD_PERCENT / 100);
    let left = room.saturating_sub(length(&rows[..first]));
    let last = fitting(&mut rows[first..].iter().rev(), left);
    let omitted = rows.len() - first - last;
    format!(
        "{}… {omitted} lines left out; a larger `limit` shows them\n{}",
        joined(&rows[..first]),
        joined(&rows[rows.len() - last..])
    )
}

/// Rows of text for nodes.
struct Rendered<'a> {
    source: &'a Source,
    detail: Detail,
    /// Room for source, if some is shown.
    spare: usize,
    /// The lines whose source was shown.
    shown: HashSet<Line>,
    rows: Vec<String>,
}

impl Rendered<'_> {
    fn row(&mut self, indent: usize, text: &str) {
        let row = format!("{:indent$}{text}", "");
        self.rows.push(cut(row.trim_end(), MAX_ROW_BYTES));
    }

    fn nodes(&mut self, nodes: &[Node], indent: usize) {
        for node in nodes {
            match node {
                Node::Step(step) => self.step(step, indent),
                Node::Loop(folded) => self.folded(folded, indent),
            }
        }
    }

    fn step(&mut self, step: &Step, indent: usize) {
        let mut text = format!("{:>5}", self.number(step.line));
        let mut blanks = BLANKS;
        let most = match (self.detail.source, step.changes.is_empty()) {
            (Shown::Whole, true) => usize::MAX,
            (Shown::Whole, false) => MAX_SOURCE_BYTES.0,
            (Shown::Begin | Shown::Some, _) => MAX_SOURCE_BYTES.1,
        };
        if let Some(line) = self.source.lines.get(&step.line)
            && !self.shown.contains(&step.line)
        {
            let source = format!("  {}", cut(line, most));
            let width = text.chars().count() + source.chars().count() + indent;
            let column = CHANGES_COLUMN.saturating_sub(width).max(BLANKS);
            let cost = source.len() + column - BLANKS;
            if self.detail.source != Shown::Some || cost <= self.spare {
                self.spare = self.spare.saturating_sub(cost);
                self.shown.insert(step.line);
                text.push_str(&source);
                blanks = column;
            }
        }
        if !step.changes.is_empty() {
            let _ = write!(text, "{:blanks$}{}", "", changes(&step.changes));
        }
        self.row(indent, &text);
        for inner in step.inner.iter().take(self.detail.inner) {
            match inner {
                Inner::Call(call) => self.call(call, indent + 7),
                Inner::Remark(remark) => self.row(indent + 7, remark),
            }
        }
        let inner = step.inner.len() as u64;
        let more = inner.saturating_sub(self.detail.inner as u64) + step.more;
        if more > 0 {
            self.row(indent + 7, &format!("… {more} more calls"));
        }
    }

    fn call(&mut self, call: &Call, indent: usize) {
        let has_lines = self.detail.callees && !call.lines.is_empty();
        let outcome = match &call.outcome {
            Outcome::Returned(Some(value)) => format!(" = {value}"),
            Outcome::Returned(None) => String::new(),
            Outcome::Unwound => ", left by an exception or a long jump".to_owned(),
            Outcome::Open => ", not returned".to_owned(),
        };
        let name = without_generics(&call.name);
        let text = format!("→ {name}({}){outcome}", call.arguments);
        self.row(indent, &text);
        if has_lines {
            self.nodes(&call.lines, indent + 2);
        }
    }

    fn folded(&mut self, folded: &Loop, indent: usize) {
        let mut kept: Vec<&(u64, Vec<Node>)> = folded.kept.iter().collect();
        let is_last = |it: &mut &(u64, Vec<Node>)| it.0 == folded.count;
        let last = folded.last.as_ref().or_else(|| kept.pop_if(is_last));
        if kept.len() > self.detail.iterations {
            // Iterations on another path say more than those on the same one.
            let mut paths = HashSet::new();
            let (mut chosen, same): (Vec<_>, Vec<_>) = kept
                .into_iter()
                .partition(|(_, nodes)| paths.insert(path_of(nodes)));
            chosen.extend(same);
            chosen.truncate(self.detail.iterations);
            chosen.sort_by_key(|(number, _)| *number);
            kept = chosen;
        }
        kept.extend(last);
        let is_whole = kept.len() as u64 == folded.count;
        if is_whole && folded.count <= 3 {
            kept.iter().for_each(|(_, nodes)| self.nodes(nodes, indent));
            self.nodes(&folded.rest, indent);
            return;
        }
        let lines = match folded.last_line == folded.line {
            true => format!("line {}", self.number(folded.line)),
            false => format!(
                "lines {}-{}",
                self.number(folded.line),
                folded.last_line.number
            ),
        };
        let count = folded.count;
        let inside = indent + ITERATION_INDENT;
        self.row(indent + 1, &format!("loop of {lines}, {count} iterations:"));
        let mut before = 0;
        for (number, nodes) in kept {
            match number - before - 1 {
                0 => {}
                left_out => self.row(indent + 1, &format!("… {left_out} iterations")),
            }
            let first = self.rows.len();
            self.nodes(nodes, inside);
            self.label(first, indent + 1, &format!("#{number}"));
            before = *number;
        }
        if before < count {
            self.row(indent + 1, &format!("… {} iterations", count - before));
        }
        if !folded.rest.is_empty() {
            let first = self.rows.len();
            self.nodes(&folded.rest, inside);
            self.label(first, indent + 1, "then");
        }
        // Variables first, then parts of them.
        let mut ranges: Vec<&Range> = folded.ranges.iter().collect();
        ranges.sort_by_key(|range| range.name.contains(['[', '.', '>', '*']));
        let more = ranges.len().saturating_sub(MAX_RANGES);
        let ranges = ranges.into_iter().take(MAX_RANGES);
        let mut ranges: Vec<String> = ranges
            .map(|range| format!("{}: {} → {}", range.name, range.first, range.last))
            .collect();
        if more > 0 {
            ranges.push(format!("{more} more"));
        }
        if !ranges.is_empty() {
            self.row(indent + 1, &format!("in all: {}", ranges.join(", ")));
        }
    }

    /// Writes a label into the blanks at the beginning of a row, or above it.
    fn label(&mut self, row: usize, indent: usize, label: &str) {
        let end = indent + label.len();
        match self.rows.get_mut(row) {
            Some(text) if text.bytes().take(end + 1).all(|byte| byte == b' ') => {
                text.replace_range(indent..end, label);
            }
            Some(_) => {
                let label = format!("{:indent$}{label}", "");
                self.rows.insert(row, label);
            }
            None => {}
        }
    }

    /// Returns a line's number, with its file unless it is that of the call.
    fn number(&self, line: Line) -> String {
        match (line.file, self.source.files.get(line.file as usize)) {
            _ if line.number == 0 => "?".to_owned(),
            (0, _) | (_, None) => line.number.to_string(),
            (_, Some(file)) => format!("{file}:{}", line.number),
        }
    }
}

fn changes(changes: &[Change]) -> String {
    let texts: Vec<String> = changes.iter().map(Change::to_string).collect();
    texts.join(", ")
}

#[cfg(test)]
mod tests;
