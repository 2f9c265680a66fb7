//! Calls of Rust functions that a value leads to: methods of trait objects, closures, default methods.

use stillpoint_tests::{DapClient, Fixture};

#[test]
fn functions_that_a_value_leads_to() {
    let fixture = Fixture::of("rust/dynamic.rs");
    let mut client = DapClient::stopped_at(&fixture, "end");
    for (expression, expected) in [
        ("object.id()", "9"),
        ("object.twice()", "-1"),
        ("object.add(2)", "11"),
        ("boxed.id()", "4"),
        ("boxed.twice()", "8"),
        ("boxed.add(2)", "6"),
        ("point.id()", "3"),
        ("point.twice()", "6"),
        ("point.add(4)", "7"),
        ("wrapper.id()", "-100"),
        ("Named::id(&point)", "3"),
        ("<Point as Named>::id(&point)", "3"),
        ("plain(1)", "8"),
        ("closure(1, 2)", "8"),
        ("boxed_closure(3)", "15"),
        ("borrowed(3)", "10"),
        ("pair == Pair { a: 1, b: 2 }", "true"),
        ("pair != Pair { a: 1, b: 3 }", "true"),
        ("code == Event::Code(9)", "true"),
        ("code == text", "false"),
    ] {
        assert_eq!(client.evaluate(expression), expected, "{expression}");
    }
    for (expression, why) in [
        ("object.id(1)", "takes &"),
        ("object.missing()", "no method"),
        ("plain()", "takes &"),
        ("plain(point)", "takes &"),
        ("opaque == Opaque(1)", "not defined for"),
    ] {
        let error = client.try_evaluate(expression).expect_err(expression);
        assert!(error.contains(why), "{expression}: {error}");
    }
    for (expression, expected) in [
        ("smart.x", "31"),
        ("(*smart).x", "31"),
        ("smart.twice()", "62"),
        ("outer.x", "32"),
        ("outer.inner.x", "32"),
        ("**outer", "Point {x: 32}"),
        ("tail.head", "1"),
        ("tail.tail", "[5, 6, 7]"),
        ("tail.tail[2]", "7"),
    ] {
        assert_eq!(client.evaluate(expression), expected, "{expression}");
    }
    for (expression, expected) in [
        ("-weight", "Weight(-7)"),
        ("weight < Weight(8)", "true"),
        ("weight >= Weight(8)", "false"),
        ("rows[1]", "20"),
        ("rows[2] + 1", "31"),
        ("counted.id()", "41"),
        ("counted.twice()", "82"),
        ("same(3)", "3"),
        ("same(\"y\")", "\"y\""),
        ("same(first_word(\"ab c\"))", "\"ab\""),
        ("first_word(\"ab c\").len()", "2"),
        ("weighed(true)", "Some((1, 2))"),
        ("weighed(false).is_none()", "true"),
        ("value_of(&Generic { value: 5 })", "5"),
        ("crate::shop::tool(4)", "5"),
        ("self::shop::tool(5)", "6"),
        ("nothing()", "()"),
        ("pointer.add(1)[0]", "20"),
        ("unsafe { *pointer.offset(2) }", "30"),
        ("pointer.add(2).sub(1).is_null()", "false"),
        ("code == Code(9)", "true"),
    ] {
        assert_eq!(client.evaluate(expression), expected, "{expression}");
    }
    for (expression, why) in [
        ("-pair", "not defined for"),
        ("rows[1..]", "cannot be indexed"),
        ("weight + 1", "not defined for"),
        ("boxed + 1", "not defined for"),
        ("pointer.add(-1)", "cannot apply unary `-` to `usize`"),
    ] {
        let error = client.try_evaluate(expression).expect_err(expression);
        assert!(error.contains(why), "{expression}: {error}");
    }
    // A closure changes what it has captured.
    assert_eq!(client.evaluate("counting(2)"), "3");
    assert_eq!(client.evaluate("counting(2)"), "5");
    client.continue_();
    assert_eq!(client.expect_exit(), 0);
    client.disconnect();
}
