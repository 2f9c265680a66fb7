//! Expressions of Rust that call functions with values: what an evaluation costs when it is repeated, and
//! methods of types that are no structs.

use std::path::Path;
use stillpoint_tests::{DapClient, Fixture};

/// Number of searches in debug info so far, by the log.
fn searches(log: &Path) -> usize {
    let text = std::fs::read_to_string(log).expect("the log");
    text.lines()
        .filter(|line| line.contains("searches a name"))
        .count()
}

#[test]
fn a_repeated_evaluation_searches_no_debug_info() {
    let log = tempfile::NamedTempFile::new().expect("a file");
    let fixture = Fixture::of("rust/by_value.rs");
    let mut client = DapClient::spawn_with(|command| {
        command.arg("--log").arg(log.path());
        command.env("STILLPOINT_LOG", "debug");
    });
    client.launch(&fixture, serde_json::json!({}));
    client.set_breakpoints(&fixture, &["end"]);
    client.configure();
    client.expect_stopped("breakpoint");
    for (expression, expected) in [
        ("handle.index()", "2"),
        ("arena[handle]", "9"),
        ("point + point", "Point {x: 2.0, y: 4.0}"),
        ("taken(shape)", "4"),
        ("taken(Shape::Line(3))", "3"),
        ("of_option(option)", "7"),
        ("of_option(Some(4))", "5"),
        ("of_pair(pair)", "7"),
        ("of_time(time)", "5"),
        ("level.doubled()", "82"),
    ] {
        assert_eq!(client.evaluate(expression), expected, "{expression}");
        assert!(searches(log.path()) > 0, "the log counts searches");
        // The index of all names, once it is there, may know more than the searches before it.
        assert_eq!(client.evaluate(expression), expected, "{expression}");
        let second = searches(log.path());
        assert_eq!(client.evaluate(expression), expected, "{expression}");
        assert_eq!(searches(log.path()), second, "{expression}");
    }
    client.disconnect();
}

#[test]
fn methods_of_types_that_are_no_structs() {
    let fixture = Fixture::of("rust/by_value.rs");
    let mut client = DapClient::stopped_at(&fixture, "end");
    for (expression, expected) in [
        ("level.value()", "41"),
        ("level.doubled()", "82"),
        ("level.name()", "\"high\""),
        ("Level::Low.value()", "0"),
        ("held.unwrap().value()", "41"),
        ("boxed.value()", "41"),
        ("number.name()", "\"a number\""),
        ("level.value() == 41 && other.name() == \"low\"", "true"),
        ("*missing.unwrap_or(&9)", "9"),
        ("missing.unwrap_or(&9) + 1", "10"),
    ] {
        assert_eq!(client.evaluate(expression), expected, "{expression}");
    }
    client.evaluate("other.raise()");
    assert_eq!(client.evaluate("other"), "High");
    client.set_breakpoints(&fixture, &["cows"]);
    client.continue_to(&fixture, "cows");
    for (expression, expected) in [
        ("borrowed.number", "5"),
        ("borrowed.byte", "6"),
        ("owned.number", "5"),
        ("(*borrowed).byte + owned.byte", "12"),
        ("borrowed", "Small {number: 5, byte: 6} (borrowed)"),
    ] {
        assert_eq!(client.evaluate(expression), expected, "{expression}");
    }
    client.disconnect();
}
