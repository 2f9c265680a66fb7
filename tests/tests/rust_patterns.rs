//! Variables of patterns: before the match, a name means the outer variable.

use stillpoint_tests::{DapClient, Fixture};

/// Expects a variable by its name, and as one of the frame's variables; `None`: there is none of the name.
fn shows(client: &mut DapClient, name: &str, expected: &str) {
    assert_eq!(client.evaluate(name), expected, "{name}");
    let locals = client.locals();
    assert_eq!(
        locals.get(name).map(String::as_str),
        Some(expected),
        "{name}"
    );
}

#[test]
fn a_variable_of_a_pattern_hides_no_other_before_it_has_a_value() {
    let fixture = Fixture::of("rust/patterns.rs");
    let mut client = DapClient::stopped_at(&fixture, "if_let");
    let others = [
        "inner",
        "on_one_line",
        "while_let",
        "match",
        "second_line",
        "found",
    ];
    client.set_breakpoints(&fixture, &others);
    shows(&mut client, "text", "\"-x\"");
    assert_eq!(client.evaluate("text.len()"), "2");
    client.continue_to(&fixture, "inner");
    shows(&mut client, "text", "\"x\"");
    client.continue_to(&fixture, "on_one_line");
    shows(&mut client, "index", "None");
    // The second pass.
    client.continue_();
    client.expect_stopped("breakpoint");
    shows(&mut client, "index", "Some(10)");
    client.continue_to(&fixture, "while_let");
    shows(&mut client, "a", "Some(Some(4))");
    client.continue_to(&fixture, "match");
    shows(&mut client, "a", "Some(4)");
    client.continue_to(&fixture, "second_line");
    shows(&mut client, "number", "Some(7)");
    client.set_breakpoints(&fixture, &["found"]);
    client.continue_to(&fixture, "found");
    shows(&mut client, "at", "1");
    shows(&mut client, "byte", "120");
    client.disconnect();
}

#[test]
fn conditions_mean_the_outer_variable_too() {
    let fixture = Fixture::of("rust/patterns.rs");
    let mut client = DapClient::spawn();
    client.launch(&fixture, serde_json::json!({}));
    client.set_breakpoints_with(
        &fixture,
        vec![(
            "on_one_line",
            serde_json::json!({"condition": "index == Some(10)"}),
        )],
    );
    client.configure();
    client.expect_stopped("breakpoint");
    assert_eq!(client.evaluate("k"), "1");
    client.disconnect();
}

#[test]
fn a_variable_that_is_assigned_later_has_no_value() {
    let fixture = Fixture::of("rust/patterns.rs");
    let mut client = DapClient::stopped_at(&fixture, "declared");
    let error = client.try_evaluate("number").expect_err("no value");
    assert!(error.contains("no value yet"), "{error}");
    client.set_breakpoints(&fixture, &["assigned"]);
    client.continue_to(&fixture, "assigned");
    shows(&mut client, "number", "3");
    client.disconnect();
}
