//! Calls are made exactly as written: a function of another type with the same name, and values
//! that would be destroyed twice, are refused, and the program continues undamaged.

use serde_json::{Value, json};
use stillpoint_tests::{Compiler, DapClient, Fixture, Flags};

fn error_of(response: &Value) -> String {
    response["body"]["error"]["format"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

/// The fixture by each compiler, and as they write names of templates.
fn compiled() -> Vec<Fixture> {
    let with = |compiler, extra| Flags {
        extra,
        ..Flags::new(compiler)
    };
    let all = [
        with(Compiler::Gcc, &[][..]),
        with(Compiler::Gcc, &["-fdebug-types-section"]),
        with(Compiler::Clang, &[]),
        with(Compiler::Clang, &["-gsimple-template-names"]),
    ];
    let built = all.into_iter();
    built
        .filter_map(|flags| Fixture::build("cpp/instances.cpp", flags))
        .collect()
}

fn refused(client: &mut DapClient, expression: &str, why: &str) {
    let error = error_of(&client.evaluated(expression).expect_err(expression));
    assert!(error.contains(why), "{expression}: {error}");
}

#[test]
fn function_of_another_instantiation_is_not_called() {
    for fixture in compiled() {
        let mut client = DapClient::stopped_at(&fixture, "all");
        for (expression, why) in [
            ("pair.box.set(9)", "no callable `set` of `Box<int>`"),
            ("pair.box.get()", "no callable `get` of `Box<int>`"),
            (
                "pair.box == pair.box",
                "no callable `operator==` of `Box<int>`",
            ),
            (
                "reals.resize(3)",
                "no callable `resize` of `std::vector<double>`",
            ),
            ("one.only()", "no callable `first::Item::only()`"),
            ("twice(1.5)", "twice<long"),
            ("raise_by(small[0], 4)", "cannot bind"),
            ("put(&small[0])", "pointer to"),
            ("put(small)", "pointer to"),
            ("sunk(numbers)", "may move from"),
        ] {
            refused(&mut client, expression, why);
        }
        for (expression, expected) in [
            ("wide.get()", "5"),
            ("wide == wide", "true"),
            ("two.only()", "102"),
            ("named.doubled()", "8"),
            ("base->which()", "2"),
            ("twice(3L)", "6"),
            ("first::here(1)", "2"),
            ("second::here(1)", "101"),
            ("node->get()", "42"),
            ("shared->get()", "43"),
            ("(*node).get()", "42"),
            ("seen(small[1])", "1234"),
            ("right_of(&both)", "2"),
            ("held(guards)", "5"),
            ("pair.neighbour", "1234"),
            ("pair.box.value", "1"),
            ("small[1]", "1234"),
        ] {
            assert_eq!(client.evaluate(expression), expected, "{expression}");
        }
        client.continue_();
        assert_eq!(client.expect_exit(), 0);
        let output = client.output("stdout");
        assert!(
            output.starts_with("1 1234 5 1\n1 1234 3 2 hello"),
            "{output}"
        );
        client.disconnect();
    }
}

#[test]
fn assignment_uses_the_operator_of_the_class() {
    for fixture in compiled() {
        let mut client = DapClient::stopped_at(&fixture, "all");
        for (expression, why) in [
            ("plain = second_plain", "operator="),
            ("numbers = numbers", "operator="),
            ("long_guard = long_guard", "operator="),
        ] {
            refused(&mut client, expression, why);
        }
        // From where nothing may be called.
        let frame = client.top_frame()["id"].clone();
        let set = client.request(
            "setExpression",
            json!({"expression": "guard", "value": "guards", "frameId": frame}),
        );
        let error = error_of(&set.expect_err("it is assigned by a function"));
        assert!(error.contains("operator="), "{error}");
        assert_eq!(client.evaluate("guard.value"), "6");
        client.evaluate("guards.value = 8");
        client.evaluate("guard = guards");
        assert_eq!(client.evaluate("guard.value"), "9");
        client.evaluate("pair.box = pair.box");
        // A text that fits is written in place.
        client.evaluate("text = other");
        // One that does not needs the program's own function.
        let long = "a".repeat(100);
        let set = client.request(
            "setExpression",
            json!({"expression": "other", "value": format!("\"{long}\""), "frameId": frame}),
        );
        let error = error_of(&set.expect_err("there is no room for it"));
        assert!(error.contains("do not fit"), "{error}");
        assert_eq!(client.evaluate("other.size()"), "32");
        let set = client.request(
            "setExpression",
            json!({"expression": "other", "value": "\"short\"", "frameId": frame}),
        );
        set.expect("there is room for it");
        client.continue_();
        assert_eq!(client.expect_exit(), 0);
        let output = client.output("stdout");
        assert!(
            output.contains("another text that is on the heap short"),
            "{output}"
        );
        client.disconnect();
    }
}

/// The program's operators run once, also if a call in the same expression begins it again.
#[test]
fn compound_operators_of_classes_are_called() {
    let fixture = Fixture::of("cpp/compound.cpp");
    let mut client = DapClient::stopped_at(&fixture, "all");
    for (expression, expected) in [
        ("va.x", "1121"),
        ("va += vb", "{x = 1141}"),
        ("va.x", "1141"),
        ("++va", "{x = 1241}"),
        ("va++", "{x = 1241}"),
        ("va.x", "2241"),
        ("meters -= 3", "{count = 42}"),
        ("numbers[next()] = 7", "7"),
        ("numbers[2]", "7"),
        ("number += next()", "4"),
        ("number++ + next()", "8"),
        ("number", "5"),
        ("(number = 9) + next()", "14"),
        ("numbers[number - 9] += next() + next()", "13"),
        ("calls", "7"),
        ("count += next()", "13"),
        ("number = missing", "no variable `missing`"),
        ("missing = next()", "no variable `missing`"),
        ("next() = 5", "cannot assign to a computed value"),
        ("va -= vb", "`-=` is not defined for `Vector`"),
    ] {
        let shown = client.try_evaluate(expression);
        let shown = shown.unwrap_or_else(|error| error);
        assert!(shown.contains(expected), "{expression}: {shown}");
    }
    // What is wrong is found before the function is called.
    assert_eq!(client.evaluate("calls"), "8");
    client.continue_();
    assert_eq!(client.expect_exit(), 0);
    let output = client.output("stdout");
    assert!(output.contains("2241 42 13 0 7 9 8 13"), "{output}");
    client.disconnect();
}

#[test]
fn values_with_drop_are_neither_moved_nor_copied() {
    let fixture = Fixture::of("rust/owned.rs");
    let mut client = DapClient::stopped_at(&fixture, "all");
    for (expression, why) in [
        ("takes_text(text)", "call a function that takes a reference"),
        ("takes_text(text)", "alloc::string::String"),
        ("takes_box(boxed)", "takes a reference"),
        ("takes_some(some)", "takes a reference"),
        ("takes_guard(guard)", "takes a reference"),
        ("takes_row(row)", "takes a reference"),
        ("generic(text)", "takes a reference"),
        ("person.into_name()", "takes a reference"),
        ("vector = other", "dropped twice"),
        ("boxed = other_box", "dropped twice"),
        ("person.name = text", "dropped twice"),
        ("guard = other_guard", "dropped twice"),
        ("some = Some(text)", "dropped twice"),
        ("largest(1.5, 2.5)", "largest<i32>"),
        ("narrow.get()", "no callable `get` of"),
        ("raise(&mut number)", "takes"),
        ("number.named()", "no method"),
        ("person.named()", "ambiguous call"),
    ] {
        refused(&mut client, expression, why);
    }
    for (expression, expected) in [
        ("length(&text)", "4"),
        ("length(text)", "4"),
        ("person.length()", "3"),
        ("takes_point(point)", "3"),
        ("point.sum()", "3"),
        ("wide.get()", "5"),
        ("wide.doubled()", "10"),
        ("largest(1, 2)", "2"),
        ("point = other_point", "Point {x: 3, y: 4}"),
        ("point.sum()", "7"),
    ] {
        assert_eq!(client.evaluate(expression), expected, "{expression}");
    }
    let frame = client.top_frame()["id"].clone();
    let set = client.request(
        "setExpression",
        json!({"expression": "vector", "value": "other", "frameId": frame}),
    );
    let error = error_of(&set.expect_err("it would be freed twice"));
    assert!(error.contains("dropped twice"), "{error}");
    client.continue_();
    assert_eq!(client.expect_exit(), 0);
    assert!(client.output("stdout").contains("dropped 1\ndropped 2\n"));
    client.disconnect();
}
