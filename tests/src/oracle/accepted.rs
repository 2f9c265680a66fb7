//! The differences that are accepted: what the debugger offers on purpose.

use super::difference::Difference;
use regex::Regex;
use std::sync::LazyLock;

/// One rule of `accepted.txt`.
struct Rule {
    kinds: Vec<&'static str>,
    languages: Vec<&'static str>,
    whats: Vec<&'static str>,
    /// Matched against what the compiler says.
    expected: Regex,
    /// Matched against the expression.
    expression: Regex,
    /// Matched against what the debugger says.
    found: Regex,
    reason: &'static str,
}

static RULES: LazyLock<Vec<Rule>> = LazyLock::new(|| rules(include_str!("accepted.txt")).collect());

/// Reads rules: `kinds languages differences`, then `compiler: REGEX`, `expression: REGEX` and
/// `debugger: REGEX` (each may be left out), then `reason: TEXT`.
fn rules(text: &'static str) -> impl Iterator<Item = Rule> {
    let paragraphs = text.split("\n\n").map(|paragraph| {
        let lines = paragraph.lines().filter(|it| !it.starts_with('#'));
        lines.collect::<Vec<_>>()
    });
    paragraphs.filter(|it| !it.is_empty()).map(|lines| {
        let mut head = lines[0].split(' ');
        let mut list = || head.next().expect("a list").split(',').collect::<Vec<_>>();
        let (kinds, languages, whats) = (list(), list(), list());
        let value = |key: &str| lines.iter().find_map(|it| it.strip_prefix(key));
        let regex = |key| Regex::new(value(key).unwrap_or_default()).expect("a regular expression");
        Rule {
            kinds,
            languages,
            whats,
            expected: regex("compiler: "),
            expression: regex("expression: "),
            found: regex("debugger: "),
            reason: value("reason: ").expect("a reason"),
        }
    })
}

/// Returns why a difference is accepted, if it is.
pub(super) fn reason(difference: &Difference) -> Option<&'static str> {
    let language = difference.language.to_string();
    let what = difference.what.to_string();
    let has = |list: &[&str], it: &str| list.contains(&"*") || list.contains(&it);
    let rule = RULES.iter().find(|rule| {
        has(&rule.kinds, &difference.kind)
            && has(&rule.languages, &language)
            && has(&rule.whats, &what)
            && rule.expected.is_match(&difference.expected)
            && rule.expression.is_match(&difference.expression)
            && rule.found.is_match(&difference.found)
    });
    rule.map(|it| it.reason)
}

#[cfg(test)]
mod tests {
    use super::super::difference::What;
    use super::super::program::Language;
    use super::*;

    fn difference(what: What, expected: &str, expression: &str) -> Difference {
        Difference {
            language: Language::Cpp,
            kind: "scalars".to_owned(),
            what,
            expression: expression.to_owned(),
            expected: expected.to_owned(),
            found: "1 (int)".to_owned(),
        }
    }

    #[test]
    fn a_rule_needs_all_that_it_names() {
        let why = "ISO C++ forbids comparison between pointer and integer";
        assert!(reason(&difference(What::Accepted, why, "p == 1")).is_some());
        assert!(reason(&difference(What::Value, why, "p == 1")).is_none());
        let why = "invalid operands of types 'int*' and 'int' to binary 'operator&'";
        assert!(reason(&difference(What::Accepted, why, "p & 1")).is_none());
        let why = "invalid operands of types 'double' and 'int' to binary 'operator%'";
        assert!(reason(&difference(What::Accepted, why, "d % 1")).is_none());
    }
}
