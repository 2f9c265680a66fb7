//! Statements, and the expressions of them that are compared.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;

/// How the program is built that the debugger runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Level {
    /// Without optimizations.
    Plain,
    /// With those of `-O2`.
    Optimized,
}

/// A sub-expression without side effects.
pub struct Probe {
    /// Its number in the package.
    pub id: usize,
    /// Its text in the source; lines are joined.
    pub text: String,
    /// Whether it calls functions.
    pub calls: bool,
}

/// A statement that begins a line.
pub struct Statement {
    /// Its number in the package.
    pub id: usize,
    /// The file, relative to the package's folder.
    pub file: PathBuf,
    /// The line, from 1.
    pub line: u32,
    /// The last line of what runs at once with it: of `if`, its condition.
    pub last_line: u32,
    /// Where it begins in the file, in bytes.
    pub offset: usize,
    /// Its sub-expressions that are compared.
    pub probes: Vec<Probe>,
}

/// What a program prints for a probe.
#[derive(Clone, PartialEq, Debug)]
pub enum Truth {
    /// Its type and its value; `None` is a value that the program cannot print.
    Value(String, Option<String>),
    /// Its evaluation panics or traps.
    Trap,
}

/// What the debugger answers.
#[derive(Clone, Debug)]
pub enum Answer {
    /// Its value and its type.
    Value(String, String),
    /// An error's text.
    Refused(String),
}

/// One run of a program: the statements in the order in which they are first reached, and what is known of
/// their probes.
pub struct Run<T> {
    /// Numbers of statements.
    pub reached: Vec<usize>,
    /// By the numbers of probes.
    pub values: BTreeMap<usize, T>,
    /// What the program writes to its standard output, without times.
    pub output: String,
    /// Whether another run has other values: the program depends on chance, or on memory without a value.
    pub varies: bool,
}

impl<T> Run<T> {
    /// Keeps what is the same in another run.
    pub fn keep_common(&mut self, other: &Self, same: impl Fn(&T, &T) -> bool) {
        let (stops, values) = (self.reached.len(), self.values.len());
        let in_order = common_order(&self.reached, &other.reached);
        self.reached.retain(|id| in_order.contains(id));
        let is_same =
            |id: &usize, value: &T| other.values.get(id).is_some_and(|it| same(it, value));
        self.values.retain(|id, value| is_same(id, value));
        self.varies |= self.reached.len() < stops || self.values.len() < values;
    }
}

impl<T> Default for Run<T> {
    fn default() -> Self {
        Self {
            reached: Vec::new(),
            values: BTreeMap::new(),
            output: String::new(),
            varies: false,
        }
    }
}

/// Returns those statements of `other` that follow each other as in `order`: a longest common subsequence.
pub fn common_order(order: &[usize], other: &[usize]) -> HashSet<usize> {
    let ranks: HashMap<usize, usize> = order
        .iter()
        .enumerate()
        .map(|(rank, id)| (*id, rank))
        .collect();
    let sequence: Vec<(usize, usize)> = other
        .iter()
        .filter_map(|id| Some((*ranks.get(id)?, *id)))
        .collect();
    // The last elements of the best sequences of each length, and what stands before each element.
    let mut tails: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::new();
    for (at, (rank, _)) in sequence.iter().enumerate() {
        let length = tails.partition_point(|tail| sequence[*tail].0 < *rank);
        before.push(length.checked_sub(1).map(|it| tails[it]));
        tails.truncate(tails.len().max(length));
        match tails.get_mut(length) {
            Some(tail) => *tail = at,
            None => tails.push(at),
        }
    }
    let mut found = HashSet::new();
    let mut at = tails.last().copied();
    while let Some(it) = at {
        found.insert(sequence[it].1);
        at = before[it];
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_in_another_order_are_left_out() {
        let found = common_order(&[1, 2, 3, 4, 5], &[1, 3, 4, 2, 5]);
        assert_eq!(found, HashSet::from([1, 3, 4, 5]));
        assert!(common_order(&[1], &[]).is_empty());
    }
}
