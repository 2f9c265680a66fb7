//! The differences that are accepted: what the debugger offers on purpose.

use super::difference::Difference;
use regex::Regex;
use std::sync::LazyLock;

/// One rule of `accepted.txt`.
struct Rule {
    kinds: Vec<&'static str>,
    languages: Vec<&'static str>,
    what: &'static str,
    /// Matched against what the compiler says.
    expected: Regex,
    /// Matched against the expression.
    expression: Regex,
    reason: &'static str,
}

static RULES: LazyLock<Vec<Rule>> = LazyLock::new(|| rules(include_str!("accepted.txt")).collect());

/// Reads rules: `kinds languages what`, then `compiler: REGEX` and `expression: REGEX` (either may
/// be left out), then `reason: TEXT`.
fn rules(text: &'static str) -> impl Iterator<Item = Rule> {
    let paragraphs = text.split("\n\n").map(|paragraph| {
        let lines = paragraph.lines().filter(|it| !it.starts_with('#'));
        lines.collect::<Vec<_>>()
    });
    paragraphs.filter(|it| !it.is_empty()).map(|lines| {
        let mut head = lines[0].split(' ');
        let mut list = || head.next().expect("a list").split(',').collect::<Vec<_>>();
        let (kinds, languages, what) = (list(), list(), list()[0]);
        let value = |key: &str| lines.iter().find_map(|it| it.strip_prefix(key));
        let regex = |key| Regex::new(value(key).unwrap_or_default()).expect("a regular expression");
        Rule {
            kinds,
            languages,
            what,
            expected: regex("compiler: "),
            expression: regex("expression: "),
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
            && rule.what == what
            && rule.expected.is_match(&difference.expected)
            && rule.expression.is_match(&difference.expression)
    });
    rule.map(|it| it.reason)
}
