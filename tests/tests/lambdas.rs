//! The body of a C++ lambda, where captured variables are variables, however the compiler
//! passes them.

use stillpoint_tests::{DapClient, Fixture, matrix};

const SOURCE: &str = "cpp/lambdas.cpp";

#[test]
fn captured_variables_are_locals() {
    for flags in matrix(SOURCE) {
        let Some(fixture) = Fixture::build(SOURCE, flags) else {
            continue;
        };
        let mut client = DapClient::stopped_at(&fixture, "body");
        let locals = client.locals();
        let names: Vec<&str> = locals.keys().map(String::as_str).collect();
        assert_eq!(
            names,
            ["first", "second", "sum", "third", "this", "unused", "x"],
            "{flags:?}"
        );
        for (name, value) in [
            ("first", "5"),
            ("second", "6"),
            ("third", "7"),
            ("unused", "9"),
            ("sum", "23"),
        ] {
            assert_eq!(locals[name], value, "{name} {flags:?}");
        }
        for (expression, value) in [
            ("first + second + third", "18"),
            ("this->step", "3"),
            ("step + x", "5"),
        ] {
            assert_eq!(client.evaluate(expression), value, "{expression} {flags:?}");
        }
        assert_eq!(client.evaluate("second = 8"), "8");
        client.disconnect();
    }
}

#[test]
fn an_inner_variable_hides_a_captured_one() {
    for flags in matrix(SOURCE) {
        let Some(fixture) = Fixture::build(SOURCE, flags) else {
            continue;
        };
        let mut client = DapClient::stopped_at(&fixture, "inner");
        assert_eq!(client.evaluate("first"), "0", "{flags:?}");
        let values: Vec<String> = (client.local_variables().into_iter())
            .filter(|(name, _)| name.starts_with("first"))
            .map(|(_, variable)| variable["value"].to_string())
            .collect();
        assert!(values.contains(&"\"0\"".to_owned()), "{values:?} {flags:?}");
        client.disconnect();
    }
}

/// The closure object is in a register, and the captured variables are read from it.
#[test]
fn optimized_bodies() {
    for flags in matrix(SOURCE) {
        let Some(fixture) = Fixture::build(SOURCE, flags.optimized("2")) else {
            continue;
        };
        let mut client = DapClient::stopped_at(&fixture, "body");
        let locals = client.locals();
        for (name, value) in [("second", "6"), ("x", "2")] {
            assert_eq!(locals[name], value, "{name}: {locals:?} {flags:?}");
        }
        client.disconnect();
    }
}

/// The object itself, where it was made.
#[test]
fn lambda_value_shows_its_captures() {
    for flags in matrix(SOURCE) {
        let Some(fixture) = Fixture::build(SOURCE, flags) else {
            continue;
        };
        let mut client = DapClient::stopped_at(&fixture, "call");
        let text = client.evaluate("add");
        assert!(
            text.ends_with("first = 5, second = 6, third = 7, unused = 9}"),
            "{text} {flags:?}"
        );
        assert_eq!(client.evaluate("add.third"), "7");
        client.disconnect();
    }
}
