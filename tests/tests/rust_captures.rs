//! What closures and async blocks of Rust have captured: references with a length or a vtable, which the
//! debug info describes as one element of their target, and single fields.

use serde_json::json;
use stillpoint_tests::{DapClient, Fixture};

#[test]
fn captured_texts_slices_and_trait_objects_are_whole() {
    let fixture = Fixture::of("rust/captures.rs");
    let mut client = DapClient::stopped_at(&fixture, "sum");
    let locals = client.locals();
    for (name, expected) in [
        ("text", "\"text\""),
        ("row", "(3) [1, 20, 30]"),
        ("path", "\"/p\""),
        ("c_text", "\"cs\""),
        ("named", "Item {number: 1, name: \"one\"}"),
        ("owned", "Item {number: 2, name: \"two\"}"),
        ("boxed", "\"boxed\""),
        ("plain", "\"one\""),
        ("number", "7"),
    ] {
        assert_eq!(locals[name], expected, "{name}");
    }
    for (expression, expected) in [
        ("text.len()", "4"),
        ("text == \"text\"", "true"),
        ("row[1]", "20"),
        ("named.id()", "1"),
        ("&row[1..]", "(2) [20, 30]"),
    ] {
        assert_eq!(client.evaluate(expression), expected, "{expression}");
    }
    client.disconnect();
}

#[test]
fn captured_references_are_found_in_all_kinds_of_bodies() {
    let fixture = Fixture::of("rust/captures.rs");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({}));
    client.set_breakpoints_with(
        &fixture,
        vec![
            ("change", json!({})),
            (
                "filter",
                json!({"condition": "**it == 20 && text.len() == 4"}),
            ),
            ("block", json!({})),
        ],
    );
    client.configure();
    client.expect_stopped("breakpoint");
    assert_eq!(client.evaluate("places"), "(2) [9, 4]");
    client.continue_();
    client.expect_stopped("breakpoint");
    assert_eq!(client.evaluate("text"), "\"text\"");
    assert_eq!(client.evaluate("**it"), "20");
    client.continue_();
    client.expect_stopped("breakpoint");
    assert_eq!(client.evaluate("text"), "\"async\"");
    assert_eq!(client.evaluate("row"), "(2) [4, 5]");
    client.disconnect();
}

#[test]
fn captured_fields_are_found_by_their_path() {
    let fixture = Fixture::of("rust/captures.rs");
    let mut client = DapClient::stopped_at(&fixture, "fields");
    for (expression, expected) in [
        ("self.number", "5"),
        ("self.inner.count", "3"),
        ("self.list.len()", "1"),
        ("self.list[0]", "9"),
        ("pair.1", "\"pair\""),
        ("pair.1.len() + self.number", "9"),
    ] {
        assert_eq!(client.evaluate(expression), expected, "{expression}");
    }
    let unknown = client.evaluated("self.missing").expect_err("unknown");
    assert!(
        unknown.to_string().contains("no variable `self`"),
        "{unknown}"
    );
    // A function of the type is `Self::grow`.
    let bare = client.evaluated("grow").expect_err("unknown");
    assert!(bare.to_string().contains("no variable `grow`"), "{bare}");
    assert!(client.evaluated("captures::Owner::grow").is_ok());
    client.disconnect();
}

#[test]
fn captured_places_behind_references_are_named_as_in_the_source() {
    let fixture = Fixture::of("rust/by_address.rs");
    let mut client = DapClient::stopped_at(&fixture, "boxes");
    for (expression, expected) in [
        ("*single", "5"),
        ("**double", "6"),
        ("**reference", "5"),
        ("*single + **double", "11"),
        ("single", "5"),
    ] {
        assert_eq!(client.evaluate(expression), expected, "{expression}");
    }
    let wrong = client.evaluated("**single").expect_err("an integer");
    assert!(wrong.to_string().contains("not a pointer"), "{wrong}");
    client.disconnect();
    let mut client = DapClient::stopped_at(&fixture, "part");
    // The closure has captured `*double`, a `Box<u32>`.
    assert_eq!(client.evaluate("**double"), "6");
    client.disconnect();
    let mut client = DapClient::stopped_at(&fixture, "fields");
    for (expression, expected) in [("*self.boxed", "8"), ("*self.boxed + *self.other", "17")] {
        assert_eq!(client.evaluate(expression), expected, "{expression}");
    }
    client.disconnect();
    // A variable of the body hides what is captured.
    let mut client = DapClient::stopped_at(&fixture, "hidden");
    assert_eq!(client.evaluate("*single + outside"), "75");
    client.disconnect();
    // A condition of a breakpoint means the same.
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({}));
    let conditions = vec![
        (
            "boxes",
            json!({"condition": "*single == 5 && **double == 6"}),
        ),
        ("hidden", json!({"condition": "*single == 70"})),
    ];
    client.set_breakpoints_with(&fixture, conditions);
    client.configure();
    for mark in ["boxes", "hidden"] {
        let stop = client.expect_stopped("breakpoint");
        assert_eq!(stop["text"].as_str().unwrap_or_default(), "");
        client.expect_line(&fixture, mark);
        client.continue_();
    }
    client.disconnect();
}

/// LLVM's location lists say nothing of an object that is passed by address while the first call runs.
#[test]
fn what_is_passed_by_address_is_known_in_the_first_call() {
    let fixture = Fixture::of("rust/by_address.rs");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({}));
    client.set_function_breakpoints(&["by_address::stop"]);
    client.configure();
    let large = "Large {numbers: [1, 20, 300, 4000], name: \"large\"}";
    for (mark, expected) in [
        ("given", vec![("large", large), ("count", "3")]),
        ("added", vec![("large", large)]),
        ("eaten", vec![("self", large)]),
        ("wide", vec![("large", large)]),
        (
            "moved",
            vec![
                ("name", "\"moved\""),
                ("count", "6"),
                ("list", "(3) [1, 2, 3]"),
            ],
        ),
    ] {
        client.expect_stopped("function breakpoint");
        let frame = client.stack()[1].clone();
        assert_eq!(frame["line"], fixture.line(mark), "{mark}");
        for (name, value) in expected {
            let found = client.request_ok(
                "evaluate",
                json!({"expression": name, "frameId": frame["id"], "context": "watch"}),
            );
            assert_eq!(found["result"], value, "{mark}: {name}");
        }
        client.continue_();
    }
    client.disconnect();
}

/// A stop in a closure that begins on the line is where its code is: a step goes on from there.
#[test]
fn a_closure_that_begins_on_the_line_is_stopped_in_its_first_statement() {
    let fixture = Fixture::of("rust/by_address.rs");
    let mut client = DapClient::stopped_at(&fixture, "line");
    client.continue_();
    client.expect_stopped("breakpoint");
    client.expect_line(&fixture, "first");
    client.next();
    client.expect_line(&fixture, "second");
    client.disconnect();
}
