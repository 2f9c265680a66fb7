//! A table by paths of calls, as a tree.

use super::numbers::{duration, grouped};
use super::table::{aligned, cell_text};
use crate::protocol::{PATH_KEY, TraceCell, TraceRow, TraceTable};
use engine::PATH_SEPARATOR;
use std::collections::BTreeMap;

/// The column from which the time in the functions themselves is known.
pub const TOTAL: &str = "sum(elapsed)";
/// Maximum number of lines.
const MAX_LINES: usize = 200;

/// Calls by the functions in progress.
#[derive(Default)]
pub struct CallTree {
    names: Vec<String>,
    /// What is recorded of the calls on each path; `None`: none has returned.
    nodes: Vec<Node>,
    roots: Vec<usize>,
}

struct Node {
    name: String,
    row: Option<TraceRow>,
    children: Vec<usize>,
}

/// Returns whether a table is shown as a tree.
pub fn is_tree(table: &TraceTable) -> bool {
    let has_histogram = table
        .rows
        .iter()
        .any(|row| row.cells.iter().any(|cell| !cell.histogram.is_empty()));
    matches!(&table.key_kinds[..], [kind] if kind == PATH_KEY) && !has_histogram
}

impl CallTree {
    /// Returns the tree of a table for which [`is_tree`] holds.
    pub fn of(table: &TraceTable) -> CallTree {
        let mut tree = CallTree {
            names: table.columns.clone(),
            ..CallTree::default()
        };
        let mut known: BTreeMap<&str, usize> = BTreeMap::new();
        for row in table.rows.iter().chain(&table.others) {
            let path = row.keys.first().map_or("(others)", String::as_str);
            let node = tree.node(path, &mut known);
            tree.nodes[node].row = Some(row.clone());
        }
        let order = |tree: &CallTree, of: &[usize]| {
            let mut sorted = of.to_vec();
            sorted.sort_by(|a, b| tree.weight(*b).total_cmp(&tree.weight(*a)));
            sorted
        };
        tree.roots = order(&tree, &tree.roots);
        for node in 0..tree.nodes.len() {
            tree.nodes[node].children = order(&tree, &tree.nodes[node].children);
        }
        tree
    }

    fn node<'a>(&mut self, path: &'a str, known: &mut BTreeMap<&'a str, usize>) -> usize {
        let mut above: Option<usize> = None;
        let ends = path.match_indices(PATH_SEPARATOR).map(|(end, _)| end);
        let mut begin = 0;
        for end in ends.chain([path.len()]) {
            let node = *known.entry(&path[..end]).or_insert(self.nodes.len());
            if node == self.nodes.len() {
                self.nodes.push(Node {
                    name: path[begin..end].to_owned(),
                    row: None,
                    children: Vec::new(),
                });
                match above {
                    None => self.roots.push(node),
                    Some(above) => self.nodes[above].children.push(node),
                }
            }
            above = Some(node);
            begin = (end + PATH_SEPARATOR.len()).min(path.len());
        }
        above.unwrap_or(0)
    }

    fn total(&self, node: usize) -> Option<f64> {
        let column = self.names.iter().position(|name| name == TOTAL)?;
        self.nodes[node].row.as_ref()?.cells.get(column)?.number
    }

    /// Returns the time in a function itself: without that in the traced functions that it has called.
    fn own(&self, node: usize) -> Option<f64> {
        let children = self.nodes[node].children.iter();
        let in_children: f64 = children.filter_map(|child| self.total(*child)).sum();
        Some((self.total(node)? - in_children).max(0.0))
    }

    /// Returns by what a node is sorted: time, or the number of calls; of all below it, if it has not
    /// returned.
    fn weight(&self, node: usize) -> f64 {
        match (&self.nodes[node].row, self.total(node)) {
            (_, Some(total)) => total,
            (Some(row), None) => row.hits as f64,
            (None, None) => {
                let children = self.nodes[node].children.iter();
                children.map(|child| self.weight(*child)).sum()
            }
        }
    }

    /// Visits the nodes, each before those below it. `visit` gets the depth and the node.
    fn visit(&self, visit: &mut dyn FnMut(usize, usize)) {
        let mut left: Vec<(usize, usize)> = self.roots.iter().rev().map(|it| (0, *it)).collect();
        while let Some((depth, node)) = left.pop() {
            visit(depth, node);
            let children = self.nodes[node].children.iter().rev();
            left.extend(children.map(|child| (depth + 1, *child)));
        }
    }

    /// Returns the time in each function itself, or the number of calls if there are no times, for a
    /// flame graph: `outer;inner number`.
    pub fn folded(&self) -> Vec<String> {
        let mut path: Vec<&str> = Vec::new();
        let mut lines = Vec::new();
        self.visit(&mut |depth, node| {
            path.truncate(depth);
            path.push(&self.nodes[node].name);
            let hits = self.nodes[node].row.as_ref().map(|row| row.hits as f64);
            if let Some(number) = self.own(node).or(hits).filter(|it| *it >= 1.0) {
                lines.push(format!("{} {number:.0}", path.join(";")));
            }
        });
        lines
    }
}

/// Returns a table by paths as text: a line for each path, below that of its caller.
pub(super) fn text(table: &TraceTable) -> String {
    let tree = CallTree::of(table);
    let has_times = tree.names.iter().any(|name| name == TOTAL);
    let mut lines = vec![table.columns.clone()];
    if has_times {
        lines[0].push("self".to_owned());
    }
    lines[0].push("function".to_owned());
    let mut all = 0;
    tree.visit(&mut |depth, node| {
        all += 1;
        if lines.len() > MAX_LINES {
            return;
        }
        let row = tree.nodes[node].row.as_ref();
        let cell = |column: usize| -> Option<&TraceCell> { row?.cells.get(column) };
        let columns = table.columns.iter().enumerate();
        let cells = columns.map(|(index, _)| {
            let text = |cell| cell_text(table, index, cell);
            cell(index).map_or_else(|| "–".to_owned(), text)
        });
        let mut line: Vec<String> = cells.collect();
        if has_times {
            line.push(tree.own(node).map_or_else(|| "–".to_owned(), duration));
        }
        line.push(format!("{}{}", "  ".repeat(depth), tree.nodes[node].name));
        lines.push(line);
    });
    let mut text = aligned(&lines, 0..lines[0].len() - 1);
    let left = table.all_rows.saturating_sub(table.rows.len() as u64) as usize;
    let left = left + all - (lines.len() - 1);
    if left > 0 {
        text.push_str(&format!("\n  ({} more paths)", grouped(left as u64)));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::TraceColumn;

    fn table(rows: &[(&str, u64, Option<f64>)]) -> TraceTable {
        let row = |(path, hits, total): &(&str, u64, Option<f64>)| TraceRow {
            keys: vec![(*path).to_owned()],
            hits: *hits,
            cells: vec![
                TraceCell {
                    text: hits.to_string(),
                    number: Some(*hits as f64),
                    ..TraceCell::default()
                },
                TraceCell {
                    number: *total,
                    ..TraceCell::default()
                },
            ],
        };
        TraceTable {
            keys: vec!["call_path".to_owned()],
            key_kinds: vec![PATH_KEY.to_owned()],
            columns: vec!["count".to_owned(), TOTAL.to_owned()],
            column_kinds: vec![
                TraceColumn::default(),
                TraceColumn {
                    unit: Some("ns".to_owned()),
                    ..TraceColumn::default()
                },
            ],
            rows: rows.iter().map(row).collect(),
            all_rows: rows.len() as u64 + 2,
            ..TraceTable::default()
        }
    }

    #[test]
    fn paths_are_a_tree_with_the_longest_first() {
        let table = table(&[
            ("main → parse", 10, Some(2000.0)),
            ("main → run", 1, Some(9000.0)),
            ("main → run → step", 1000, Some(6500.0)),
            ("main → run → end", 1, Some(500.0)),
        ]);
        assert!(is_tree(&table));
        let shown = text(&table);
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(
            lines,
            [
                "  count  sum(elapsed)     self  function",
                "      –             –        –  main",
                "      1       9.00 µs  2.00 µs    run",
                "  1,000       6.50 µs  6.50 µs      step",
                "      1        500 ns   500 ns      end",
                "     10       2.00 µs  2.00 µs    parse",
                "  (2 more paths)",
            ]
        );
        let folded = CallTree::of(&table).folded();
        assert_eq!(
            folded,
            [
                "main;run 2000",
                "main;run;step 6500",
                "main;run;end 500",
                "main;parse 2000",
            ]
        );
    }

    #[test]
    fn strange_paths_are_nodes() {
        let table = table(&[("", 1, None), (" → ", 1, None), ("(others)", 3, None)]);
        let tree = CallTree::of(&table);
        assert_eq!(tree.nodes.len(), 3);
        assert!(text(&table).contains("(others)"));
    }
}
