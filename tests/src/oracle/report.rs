//! Differences in groups.

use super::accepted;
use super::difference::{Difference, What};
use super::program::{Language, Program, Verdict, World};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Expressions of a group that are shown beside its shortest.
const MORE: usize = 4;

/// What a comparison found.
#[derive(Default, Debug)]
pub struct Report {
    /// The number of expressions.
    pub expressions: usize,
    /// Those that the compiler rejects.
    pub rejected: usize,
    /// Messages' values and conditions that were compared as code in the program.
    pub compiled: usize,
    /// Differences that are accepted, by their reasons.
    pub accepted: BTreeMap<&'static str, usize>,
    /// All others.
    pub differences: Vec<Difference>,
}

impl Report {
    /// Returns an empty report of a program.
    pub(super) fn of(program: &Program) -> Self {
        let rejected = program.verdicts.iter();
        Self {
            expressions: program.expressions.len(),
            rejected: rejected
                .filter(|it| matches!(it, Verdict::Rejected(_)))
                .count(),
            ..Self::default()
        }
    }

    /// Returns the report of a program whose session failed.
    pub fn failed(world: &World, seed: u64) -> Self {
        Self {
            differences: vec![Difference {
                language: world.language(),
                kind: world.kind.clone(),
                what: What::Memory,
                expression: format!("all of seed {seed}"),
                expected: "a session".to_owned(),
                found: "the session failed: see above".to_owned(),
            }],
            ..Self::default()
        }
    }

    pub(super) fn add(&mut self, difference: Difference) {
        match accepted::reason(&difference) {
            Some(reason) => *self.accepted.entry(reason).or_default() += 1,
            None => self.differences.push(difference),
        }
    }

    /// Adds another report.
    pub fn merge(&mut self, other: Self) {
        self.expressions += other.expressions;
        self.rejected += other.rejected;
        self.compiled += other.compiled;
        self.differences.extend(other.differences);
        for (reason, count) in other.accepted {
            *self.accepted.entry(reason).or_default() += count;
        }
    }

    /// Returns a line of figures.
    pub fn figures(&self) -> String {
        let accepted: usize = self.accepted.values().sum();
        format!(
            "{} expressions, of which the compiler rejects {}; {} compiled in the program; {} differ, \
             {accepted} differ and are accepted",
            self.expressions,
            self.rejected,
            self.compiled,
            self.differences.len()
        )
    }

    /// Returns the differences in groups, the largest first, each with its shortest expression.
    pub fn groups(&self) -> String {
        let mut groups: BTreeMap<(Language, What, String), Vec<&Difference>> = BTreeMap::new();
        for difference in &self.differences {
            let key = (difference.language, difference.what, class(difference));
            groups.entry(key).or_default().push(difference);
        }
        let mut groups: Vec<_> = groups.into_values().collect();
        groups.sort_by_key(|it| std::cmp::Reverse(it.len()));
        let mut text = String::new();
        for group in groups {
            let mut group = group;
            group.sort_by_key(|it| it.expression.len());
            let _ = writeln!(text, "{:5}  {}", group.len(), group[0]);
            let more: Vec<String> = group[1..]
                .iter()
                .take(MORE)
                .map(|it| format!("`{}`", it.expression))
                .collect();
            if !more.is_empty() {
                let _ = writeln!(text, "         also {}", more.join(", "));
            }
        }
        text
    }
}

/// Returns what differences of one group have in common.
fn class(difference: &Difference) -> String {
    let Difference {
        what,
        expected,
        found,
        ..
    } = difference;
    match what {
        What::Accepted => general(expected),
        What::Refused => general(found),
        What::Type => format!("{}: {}", type_in(expected), type_in(found)),
        What::Value => type_in(expected).to_owned(),
        What::Trap | What::Compiled | What::State | What::Memory => String::new(),
    }
}

fn type_in(text: &str) -> &str {
    text.split_once(" (").map_or("", |(_, ty)| ty)
}

/// Leaves out what is quoted in a message, and numbers.
fn general(message: &str) -> String {
    let mut general = String::new();
    let mut end = None;
    for character in message.chars() {
        match (end, character) {
            (None, '\'' | '`') => {
                end = Some(character);
                general.push('_');
            }
            (Some(quote), character) if quote == character => end = None,
            (None, character) if !character.is_ascii_digit() => general.push(character),
            _ => {}
        }
    }
    general
}
