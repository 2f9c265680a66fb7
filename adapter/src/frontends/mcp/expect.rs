//! Whether the program has stopped where the agent expects it.

use super::text;
use crate::protocol::Context;

/// Returns the first line of a reply if the program is not stopped as expected; otherwise nothing.
pub fn missed(expected: Option<&str>, state: &str) -> String {
    match expected {
        Some(expected) => format!("not where expected ({expected}): {state}\n"),
        None => String::new(),
    }
}

/// Returns the first line of a reply if the program has stopped elsewhere; otherwise nothing.
pub fn elsewhere(expected: Option<&str>, context: &Context) -> String {
    let frame = context.frame.as_ref();
    let is_there = |expected: &str| {
        frame.is_some_and(|frame| is_at(expected, &frame.name, frame.path.as_deref(), frame.line))
    };
    match expected.map(str::trim) {
        Some(expected) if !is_there(expected) => {
            let place = frame.map(|frame| text::location(frame, None));
            let place = place.as_deref().unwrap_or("code without a frame");
            missed(Some(expected), &format!("stopped in {place}"))
        }
        _ => String::new(),
    }
}

/// Returns whether a function, and its line, are the expected ones: a name, also without its scope,
/// or `FILE:LINE`, where the file may be the end of a path.
fn is_at(expected: &str, function: &str, path: Option<&str>, line: Option<i64>) -> bool {
    if let Some((file, number)) = expected.rsplit_once(':')
        && let Ok(number) = number.parse::<i64>()
    {
        let path = path.map(std::path::Path::new);
        return line == Some(number) && path.is_some_and(|path| path.ends_with(file));
    }
    let scope = function.strip_suffix(expected);
    scope.is_some_and(|scope| scope.is_empty() || scope.ends_with("::"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expectation_is_a_function_or_a_line() {
        let at = |expected| is_at(expected, "ns::Shape::area", Some("/src/a.cpp"), Some(7));
        assert!(at("ns::Shape::area") && at("Shape::area") && at("area"));
        assert!(!at("rea") && !at("Shape") && !at("perimeter"));
        assert!(at("a.cpp:7") && at("/src/a.cpp:7") && at("src/a.cpp:7"));
        assert!(!at("a.cpp:8") && !at("b.cpp:7") && !at("pp:7"));
        assert!(!is_at("a.cpp:7", "area", None, None));
    }

    #[test]
    fn other_stops_begin_the_reply() {
        let context = Context::default();
        assert_eq!(elsewhere(None, &context), "");
        assert_eq!(
            elsewhere(Some("area"), &context),
            "not where expected (area): stopped in code without a frame\n"
        );
        assert_eq!(
            missed(Some("area"), "the program has ended"),
            "not where expected (area): the program has ended\n"
        );
    }
}
