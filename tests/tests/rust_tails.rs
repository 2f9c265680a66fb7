//! Structs of Rust whose last member has no size of its own: only the pointer to the struct tells what
//! is there, and a trait object's alignment where it is.

use serde_json::json;
use stillpoint_tests::{DapClient, Fixture};

#[test]
fn structs_without_a_size_show_what_the_pointer_says() {
    let fixture = Fixture::of("rust/tails.rs");
    let mut client = DapClient::stopped_at(&fixture, "end");
    let locals = client.locals();
    for (name, expected) in [
        (
            "nested",
            "Tail {head: 91, rest: Tail {head: 23, rest: [5, 6, 7]}}",
        ),
        ("large", "Tail {head: 5, rest: Large {side: 7}}"),
        (
            "boxed",
            "Tail {head: 5, rest: Tail {head: 6, rest: Large {side: 8}}}",
        ),
        ("small", "Tail {head: 5, rest: Small {side: 9}} (strong 1)"),
        ("counted", "Tail {head: 5, rest: [1, 2]} (strong 1)"),
        ("cell", "[1, 2, 3]"),
        ("shared", "[1, 2, 3] (strong 1)"),
        ("bytes", "[1, 2, 3]"),
        ("locked", "[1, 2, 3] (locked, strong 1)"),
        ("guard", "[1, 2, 3]"),
        ("inside", "Tail {head: 3, rest: Large {side: 4}}"),
        (
            "raw",
            "Tail {head: 91, rest: Tail {head: 23, rest: [5, 6, 7]}}",
        ),
    ] {
        assert_eq!(locals[name], expected, "{name}");
    }
    client.disconnect();
}

#[test]
fn expressions_reach_members_without_a_size() {
    let fixture = Fixture::of("rust/tails.rs");
    let mut client = DapClient::stopped_at(&fixture, "end");
    for (expression, expected) in [
        ("nested.rest.rest", "[5, 6, 7]"),
        ("nested.rest.rest[1]", "6"),
        ("nested.rest.rest.len()", "3"),
        ("nested.rest.head", "23"),
        ("(*raw).rest.rest[2]", "7"),
        ("pairs.rest.rest[0].b", "4"),
        ("large.rest.side", "7"),
        ("large.rest.area()", "49"),
        ("boxed.rest.rest.side", "8"),
        ("small.rest", "Small {side: 9}"),
        ("counted.rest[1]", "2"),
        ("(*counted).rest", "[1, 2]"),
    ] {
        assert_eq!(client.evaluate(expression), expected, "{expression}");
    }
    // Such a part has no address of its own that its methods could get.
    let refused = client.evaluated("&nested.rest").expect_err("refused");
    assert!(
        refused.to_string().contains("without a size of its own"),
        "{refused}"
    );
    let refused = client.evaluated("nested.rest.count()");
    assert!(refused.is_err(), "{refused:?}");
    client.disconnect();
}

#[test]
fn conditions_compare_elements_of_nested_tails() {
    let fixture = Fixture::of("rust/tails.rs");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({}));
    let condition =
        json!({"condition": "pass == 1 && nested.rest.rest[1] == 6 && counted.rest[1] == 2"});
    client.set_breakpoints_with(&fixture, vec![("pass", condition)]);
    client.configure();
    client.expect_stopped("breakpoint");
    assert_eq!(client.evaluate("pass"), "1");
    client.disconnect();
}
