//! Arrays whose bounds the program computes: numbers of elements, sizes, and the rows of
//! two-dimensional ones.

use serde_json::json;
use stillpoint_tests::{Compiler, DapClient, Fixture, Flags, matrix};

#[test]
fn bounds_are_those_of_the_frame() {
    for flags in matrix("c/vla.c") {
        let Some(fixture) = Fixture::build("c/vla.c", flags) else {
            continue;
        };
        let mut client = DapClient::stopped_at(&fixture, "filled");
        // clang records no bounds of parameters, typedefs and pointers' targets.
        let is_clang = flags.compiler == Compiler::Clang;
        let without = ["r", "a", "rows", "whole"];
        let is_skipped = |expression: &str| {
            let mut words = expression.split(|it: char| !it.is_alphanumeric());
            is_clang && words.any(|word| without.contains(&word))
        };
        for (expression, value) in [
            ("v", "{10, 11}"),
            ("v[1]", "11"),
            ("sizeof v", "8"),
            ("sizeof(v) / sizeof(v[0])", "2"),
            ("w", "{{0, 1, 2}, {10, 11, 12}}"),
            ("w[1][2]", "12"),
            ("w[1]", "{10, 11, 12}"),
            ("*(w[1] + 1)", "11"),
            ("(*(w + 1))[1]", "11"),
            ("sizeof w", "24"),
            ("sizeof w[0]", "12"),
            ("cube[1][1][2]", "102"),
            ("sizeof cube", "24"),
            ("sizeof text", "3"),
            ("r", "{30, 31, 32}"),
            ("sizeof r", "12"),
            ("a[1][2]", "6"),
            ("sizeof a[0]", "12"),
            ("rows[1][0]", "10"),
            ("(*whole)[1][2]", "12"),
            ("sizeof *whole", "24"),
            ("fixed", "{7, 8, 9}"),
            ("f->data[2]", "72"),
            ("sizeof *f", "4"),
        ] {
            if is_skipped(expression) {
                continue;
            }
            assert_eq!(client.evaluate(expression), value, "{flags:?} {expression}");
        }
        let locals = client.local_variables();
        assert_eq!(locals["v"]["type"], "int[2]");
        assert_eq!(locals["w"]["type"], "int[2][3]");
        if !is_clang {
            assert_eq!(locals["a"]["type"], "int (*)[3]");
        }
        let reference = locals["w"]["variablesReference"].as_i64().unwrap();
        assert_eq!(client.variables(reference).len(), 2);
        // The next call has other bounds; a condition knows them, too.
        let line = fixture.line("filled");
        client.request_ok(
                "setBreakpoints",
                json!({"source": {"path": fixture.source},
                       "breakpoints": [{"line": line, "condition": "w[3][1] == 31 && sizeof v == 16"}]}),
            );
        client.continue_();
        client.expect_stopped("breakpoint");
        assert_eq!(client.evaluate("w[3]"), "{30, 31}");
        if !is_clang {
            assert_eq!(client.evaluate("a[3][1]"), "8");
        }
    }
}

/// gcc leaves the inner bounds of optimized code out: rows are refused, not read from elsewhere.
#[test]
fn rows_of_unknown_length_are_refused() {
    let gcc = Flags::new(Compiler::Gcc).optimized("2");
    let Some(fixture) = Fixture::build("c/vla_rows.c", gcc) else {
        return;
    };
    let mut client = DapClient::stopped_at(&fixture, "rows");
    for expression in ["rows[1][0]", "sizeof rows"] {
        match client.evaluated(expression) {
            Err(_) => {}
            Ok(body) => {
                let right = ["2", "24"].contains(&body["result"].as_str().unwrap());
                assert!(right, "{expression}: {body}");
            }
        }
    }
}
