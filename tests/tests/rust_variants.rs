//! Enums whose active variant the compiler does not store, or stores as a negative number.

use serde_json::json;
use stillpoint_tests::{DapClient, Fixture};

#[test]
fn variants_that_can_exist_are_the_active_ones() {
    let fixture = Fixture::of("rust/variants.rs");
    let mut client = DapClient::stopped_at(&fixture, "end");
    for (expression, expected) in [
        ("codes", "[Good(1), Denied, Retry(3), Lost, Far(4)]"),
        ("mixed", "[A(1), B, C(3)]"),
        ("failed", "Err(\"text\")"),
        ("failed.is_err()", "true"),
        ("failed.unwrap_err().len()", "4"),
        ("nested", "Some(Err(1))"),
        ("flow", "Break(5)"),
        ("matches!(flow, ControlFlow::Break(5))", "true"),
        ("only", "Here {number: 7}"),
        ("only.number", "7"),
        ("codes[3] == Lost", "true"),
        ("holder.f()", "6"),
        ("(holder.f)()", "5"),
    ] {
        assert_eq!(client.evaluate(expression), expected, "{expression}");
    }
    client.disconnect();
}

#[test]
fn conditions_know_the_only_variant() {
    let fixture = Fixture::of("rust/variants.rs");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({}));
    let condition = json!({"condition": "matches!(flow, ControlFlow::Break(2))"});
    client.set_breakpoints_with(&fixture, vec![("passed", condition)]);
    client.configure();
    client.expect_stopped("breakpoint");
    assert_eq!(client.evaluate("flow"), "Break(2)");
    client.disconnect();
}
