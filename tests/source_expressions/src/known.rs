//! Wrong answers that are known, with their reasons.

use regex::Regex;
use std::sync::LazyLock;

/// One of them: a package (`*` is any), and regular expressions on the text of the expression and on the
/// debugger's answer.
struct Known {
    package: &'static str,
    expression: Regex,
    answer: Regex,
    reason: &'static str,
}

static LIST: LazyLock<Vec<Known>> = LazyLock::new(|| read(include_str!("../known.txt")));

/// Reads paragraphs: the package, then `expression: REGEX` and `debugger: REGEX` (each may be left out), then
/// `reason: TEXT`.
fn read(text: &'static str) -> Vec<Known> {
    let paragraphs = text.split("\n\n").map(|paragraph| {
        let lines = paragraph
            .lines()
            .filter(|it| !it.starts_with('#') && !it.is_empty());
        lines.collect::<Vec<_>>()
    });
    let paragraphs = paragraphs.filter(|it| !it.is_empty());
    let known = paragraphs.map(|lines| {
        let value = |key: &str| lines.iter().find_map(|it| it.strip_prefix(key));
        let regex = |key| Regex::new(value(key).unwrap_or_default()).expect("a regular expression");
        Known {
            package: lines[0],
            expression: regex("expression: "),
            answer: regex("debugger: "),
            reason: value("reason: ").expect("a reason"),
        }
    });
    known.collect()
}

/// Returns why an answer is wrong, if that is known. `package` may end in a version.
pub fn reason(package: &str, expression: &str, answer: &str) -> Option<&'static str> {
    let name = package.split(' ').next().unwrap_or_default();
    let known = LIST.iter().find(|it| {
        (it.package == "*" || it.package == name)
            && it.expression.is_match(expression)
            && it.answer.is_match(answer)
    });
    known.map(|it| it.reason)
}
