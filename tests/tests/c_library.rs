//! Calls of the C library's functions that no debug info declares: types by their prototypes, chosen
//! implementations, and an `errno` that stays as it was.

use serde_json::json;
use stillpoint_tests::{Compiler, DapClient, Fixture, Flags};

/// The program linked to the shared C library, whose debug info may be installed, and to the static one, which has
/// none.
fn built(source: &str) -> Vec<Fixture> {
    let shared: &'static [&'static str] = &["-fno-builtin"];
    let inside: &'static [&'static str] = &["-fno-builtin", "-static"];
    let ways = [(shared, true), (inside, false)];
    let built = ways.map(|(extra, pie)| {
        let flags = Flags {
            extra,
            pie,
            ..Flags::new(Compiler::Gcc)
        };
        Fixture::build(source, flags).expect("gcc")
    });
    built.into()
}

/// Expects that expressions have the values of the program's variables.
fn compare(client: &mut DapClient, cases: &[(&str, &str)]) {
    for (expression, variable) in cases {
        let expected = client.evaluate(variable);
        assert_eq!(client.evaluate(expression), expected, "{expression}");
    }
}

/// Returns why an expression is refused.
fn refused(client: &mut DapClient, expression: &str) -> String {
    let error = client.evaluated(expression).expect_err(expression);
    error["body"]["error"]["format"].to_string()
}

#[test]
fn results_are_those_of_the_program() {
    for fixture in built("c/c_library.c") {
        let mut client = DapClient::stopped_at(&fixture, "here");
        compare(
            &mut client,
            &[
                ("strlen(text) + strlen(digits)", "length"),
                ("strlen(\"alpha beta\") + strlen(\"four\")", "length"),
                ("strcmp(text, item.name)", "order"),
                ("strcmp(\"Alpha\", text)", "case_order"),
                ("strncmp(text, \"alpine\", 3)", "same"),
                ("memcmp(text, digits, 2)", "bytes"),
                ("(const char *)strchr(text, ' ')", "space"),
                ("(const char *)strstr(text, item.name)", "found"),
                ("tolower(digits[3] - 32)", "lower"),
                ("atoi(digits)", "number"),
                ("abs(below)", "size"),
                ("labs(below_long)", "size_long"),
                ("strtol(\"0xff\", 0, 16)", "hex"),
                ("isdigit(digits[0])", "is_digit"),
                ("isspace(digits[0])", "is_space"),
                ("atof(\"2.5e3\")", "real"),
                ("strspn(text, \"ahlp\")", "prefix"),
                // The type of a cast is not that of the result.
                ("(int)atof(\"2.5e3\") / 1000.0", "real / 1000"),
                ("(double)strlen(digits)", "4.0"),
            ],
        );
        let length = client.evaluated("strlen(text)").expect("strlen");
        assert_eq!(length["type"], "size_t");
        assert_eq!(
            client.evaluate("strcmp(text, \"alpha beta\") == 0 && *digits == '1'"),
            "1"
        );
        // Out of range, which sets `errno`.
        client.evaluate("strtol(\"99999999999999999999\", 0, 10)");
        assert_eq!(client.evaluate("errno"), "17");
        for (expression, why) in [
            ("strlen()", "expected 1 arguments"),
            ("strlen(item)", "expected `const char *`"),
            ("strlen(text, 1)", "expected 1 arguments"),
        ] {
            let error = refused(&mut client, expression);
            assert!(error.contains(why), "{expression}: {error}");
        }
        client.disconnect();
    }
}

#[test]
fn names_of_cpp_mean_them() {
    for fixture in built("cpp/c_library.cpp") {
        let mut client = DapClient::stopped_at(&fixture, "here");
        compare(
            &mut client,
            &[
                ("std::strlen(text) + strlen(name)", "length"),
                ("::strlen(text) + strlen(\"lamp\")", "length"),
                ("std::strcmp(text, name)", "order"),
                ("atoi(\"31\")", "number"),
                ("std::isalpha(*text)", "letter"),
                ("toupper(3)", "own"),
                ("std::strchr(text, 'm')", "place"),
                ("std::sqrt(price)", "root"),
                ("std::pow(price, 2)", "power"),
                ("std::sqrt(weight)", "light"),
                ("std::fabs(weight)", "bare"),
                ("std::labs(count)", "far"),
            ],
        );
        let place = client.evaluated("std::strchr(text, 'm')").expect("strchr");
        assert_eq!(place["type"], "const char *");
        assert_eq!(client.evaluate("errno"), "4");
        client.disconnect();
    }
}

#[test]
fn conditions_call_them() {
    let fixture = built("c/c_library.c").remove(1);
    for (condition, stops) in [
        (
            "strcmp(item.name, \"beta\") == 0 && strlen(text) == 10 && errno == 17",
            true,
        ),
        (
            "strcmp(item.name, \"beta\") != 0 || strlen(text) == 4",
            false,
        ),
    ] {
        let mut client = DapClient::spawn();
        client.launch(&fixture, json!({}));
        client.set_breakpoints_with(&fixture, vec![("here", json!({"condition": condition}))]);
        client.configure();
        match stops {
            true => {
                client.expect_stopped("breakpoint");
                assert_eq!(client.evaluate("errno"), "17");
            }
            false => assert_eq!(client.expect_exit(), 0),
        }
        client.disconnect();
    }
}
