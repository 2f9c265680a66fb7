//! Random expressions by the grammar in a fixture's comments.
//!
//! `//? name: one  two  three` gives a rule its alternatives, which two or more spaces separate; several
//! lines add up. `$name` in an alternative is another rule. The expressions are those of `$any`.

use fastrand::Rng;
use std::collections::HashMap;

/// Rules by name.
pub struct Grammar {
    rules: HashMap<String, Vec<Alternative>>,
}

struct Alternative {
    parts: Vec<Part>,
    /// The depth of the shallowest expression that it makes.
    least: usize,
}

enum Part {
    Text(String),
    Rule(String),
}

/// More than the depth of any rule: one that ends nowhere.
const ENDLESS: usize = 100;

impl Grammar {
    /// Reads the rules of a source.
    ///
    /// # Panics
    /// A rule is missing, or has no end.
    pub fn of(source: &str) -> Self {
        let mut rules: HashMap<String, Vec<Alternative>> = HashMap::new();
        for line in source.lines() {
            let Some(rule) = line.strip_prefix("//? ") else {
                continue;
            };
            let (name, alternatives) = rule.split_once(": ").expect("`//? rule: alternatives`");
            let parsed = alternatives
                .split("  ")
                .map(str::trim)
                .filter(|it| !it.is_empty())
                .map(|text| Alternative {
                    parts: parts(text),
                    least: ENDLESS,
                });
            rules.entry(name.to_owned()).or_default().extend(parsed);
        }
        let mut grammar = Self { rules };
        grammar.measure();
        grammar
    }

    /// Finds the least depth of each alternative.
    fn measure(&mut self) {
        loop {
            let least: HashMap<String, usize> = self
                .rules
                .iter()
                .map(|(name, of)| (name.clone(), least(of)))
                .collect();
            let mut is_done = true;
            for alternative in self.rules.values_mut().flatten() {
                let depth = |part: &Part| match part {
                    Part::Text(_) => 0,
                    Part::Rule(name) => 1 + least.get(name).unwrap_or_else(|| missing(name)),
                };
                let deepest = alternative.parts.iter().map(depth).max();
                let found = deepest.unwrap_or(0).min(ENDLESS);
                is_done &= found == alternative.least;
                alternative.least = found;
            }
            if is_done {
                break;
            }
        }
        for (name, of) in &self.rules {
            assert!(least(of) < ENDLESS, "the rule `{name}` has no end");
        }
    }

    /// Returns an expression of a rule, of about this depth at most.
    pub fn expression(&self, random: &mut Rng, rule: &str, depth: usize) -> String {
        let mut text = String::new();
        self.expand(random, rule, depth, &mut text);
        text
    }

    fn expand(&self, random: &mut Rng, rule: &str, depth: usize, text: &mut String) {
        let all = self.rules.get(rule).unwrap_or_else(|| missing(rule));
        let depth = depth.max(least(all));
        let fitting: Vec<&Alternative> = all.iter().filter(|it| it.least <= depth).collect();
        for part in &fitting[random.usize(..fitting.len())].parts {
            match part {
                Part::Text(more) => text.push_str(more),
                Part::Rule(name) => self.expand(random, name, depth.saturating_sub(1), text),
            }
        }
    }
}

fn least(of: &[Alternative]) -> usize {
    of.iter().map(|it| it.least).min().unwrap_or(ENDLESS)
}

fn missing(rule: &str) -> ! {
    panic!("no rule `{rule}`")
}

fn parts(text: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        let end = after
            .find(|it: char| !it.is_ascii_lowercase() && it != '_')
            .unwrap_or(after.len());
        parts.push(Part::Text(before.to_owned()));
        parts.push(Part::Rule(after[..end].to_owned()));
        rest = &after[end..];
    }
    parts.push(Part::Text(rest.to_owned()));
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str =
        "//? any: $leaf  ($any) $op ($any)\n//? leaf: a  b\n//? op: +  -\nint a;\n";

    #[test]
    fn expressions_repeat_by_seed_and_end_in_leaves() {
        let grammar = Grammar::of(SOURCE);
        let all = |seed| {
            let mut random = Rng::with_seed(seed);
            let some = |_| grammar.expression(&mut random, "any", 3);
            (0..20).map(some).collect::<Vec<_>>()
        };
        assert_eq!(all(1), all(1));
        assert_ne!(all(1), all(2));
        for expression in all(1) {
            assert!(!expression.contains('$'), "{expression}");
            let leaves = expression.chars().filter(|it| "ab".contains(*it)).count();
            assert!((1..=8).contains(&leaves), "{expression}");
        }
    }

    #[test]
    #[should_panic(expected = "has no end")]
    fn a_rule_without_end_is_refused() {
        Grammar::of("//? any: ($any)\n");
    }
}
