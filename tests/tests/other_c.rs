//! C beyond a debugger's usual programs: functions without a prototype, nested functions of GNU C, data without debug
//! info, wide texts, and variables that callers keep in registers.

use serde_json::json;
use stillpoint_tests::{Compiler, DapClient, Fixture, Flags};

/// The result of an expression in the console, or its error, in a frame.
fn in_frame(client: &mut DapClient, level: usize, expression: &str) -> String {
    let frame = client.stack()[level]["id"].clone();
    let arguments = json!({"expression": expression, "frameId": frame, "context": "repl"});
    match client.request("evaluate", arguments) {
        Ok(body) => body["result"].as_str().unwrap_or_default().to_owned(),
        Err(response) => {
            let text = response["body"]["error"]["format"].as_str();
            format!("error: {}", text.unwrap_or_default())
        }
    }
}

fn expect(client: &mut DapClient, cases: &[(&str, &str)]) {
    for (expression, wanted) in cases {
        let found = in_frame(client, 0, expression);
        assert_eq!(&found, wanted, "{expression}");
    }
}

fn programs() -> impl Iterator<Item = (Compiler, Fixture)> {
    [Compiler::Gcc, Compiler::Clang]
        .into_iter()
        .filter_map(|compiler| {
            let extra = &["-std=gnu11", "-w"];
            let flags = Flags {
                extra,
                ..Flags::new(compiler)
            };
            Some((compiler, Fixture::build("c/other_c.c", flags)?))
        })
}

/// A caller that knows no types of parameters passes a `float` as a `double`.
#[test]
fn functions_without_a_prototype_get_promoted_arguments() {
    for (_, fixture) in programs() {
        let mut client = DapClient::stopped_at(&fixture, "end");
        let cases = [
            ("promoted(3.14f, -2.5f, -5, 'x')", "1"),
            ("promoted(2.5f, -2.5f, -5, 'x')", "0"),
            ("promoted(3.14, -2.5, 65531, 'x')", "1"),
            ("halves(5.0f)", "2.5"),
            ("prototyped(2.5f)", "5"),
            ("((int (*)())twice)(4)", "8"),
            ("((double (*)())half)(5.0)", "2.5"),
            ("((double (*)())half)(5.0f)", "2.5"),
            ("open(4)", "8"),
        ];
        expect(&mut client, &cases);
        client.disconnect();
    }
}

/// What only symbols name has no type; with one, it is data as any other.
#[test]
fn data_without_debug_info_needs_a_cast() {
    for (_, fixture) in programs() {
        let mut client = DapClient::stopped_at(&fixture, "end");
        let cases = [
            ("(int)bare_int", "77"),
            ("*(int *)&bare_int", "77"),
            ("(double)bare_double * 2", "5"),
            ("(int)bare_static", "5"),
            ("((int *)&bare_pair)[1]", "4"),
            ("*(char **)&bare_text", "\"bare\""),
            ("(int)bare_triple(2)", "6"),
            ("((int (*)(int))bare_triple)(3)", "9"),
            ("*(int *)&bare_int = 5", "5"),
            ("(int)bare_int", "5"),
        ];
        for (expression, wanted) in cases {
            let found = in_frame(&mut client, 0, expression);
            let text = found.split_once(' ').filter(|_| found.contains('"'));
            let found = text.map_or(&*found, |(_, text)| text);
            assert_eq!(found, wanted, "{expression}");
        }
        for expression in [
            "bare_int",
            "bare_int + 1",
            "sizeof(bare_int)",
            "bare_triple(2)",
        ] {
            let found = in_frame(&mut client, 0, expression);
            let is_told = found.starts_with("error: ") && found.contains("cast");
            assert!(is_told, "{expression}: {found}");
        }
        let found = in_frame(&mut client, 0, "bare_nothing");
        let is_told = found.starts_with("error: no variable `bare_nothing` in this frame");
        assert!(is_told, "{found}");
        client.disconnect();
    }
}

/// Conditions that the program itself evaluates know such data, too.
#[test]
fn conditions_know_data_without_debug_info() {
    let (_, fixture) = programs().next().expect("gcc");
    for (condition, stops) in [
        ("(int)bare_int == 77", true),
        ("*(int *)&bare_int != 77", false),
    ] {
        let mut client = DapClient::spawn();
        client.launch(&fixture, json!({}));
        let line = fixture.line("end");
        let breakpoints = json!({
            "source": {"path": fixture.source},
            "breakpoints": [{"line": line, "condition": condition}],
        });
        let body = client.request_ok("setBreakpoints", breakpoints);
        assert_eq!(body["breakpoints"][0]["verified"], true, "{body}");
        client.configure();
        match stops {
            true => {
                client.expect_stopped("breakpoint");
            }
            false => assert_eq!(client.expect_exit(), 0),
        }
        client.disconnect();
    }
}

/// A nested function sees the variables of the call that it belongs to: neither those of another one, nor globals of
/// the same name.
#[test]
fn nested_functions_see_the_variables_around_them() {
    let Some((_, fixture)) = programs().find(|(compiler, _)| *compiler == Compiler::Gcc) else {
        return;
    };
    let mut client = DapClient::stopped_at(&fixture, "deepest");
    let cases = [
        ("w", "3"),
        ("z", "0"),
        ("own", "10"),
        ("pair", "{a = 0, b = 7}"),
        ("hidden", "7"),
        ("depth", "0"),
        ("w + z + own + pair.a + hidden", "20"),
        ("own = 50", "50"),
    ];
    expect(&mut client, &cases);
    for (level, expression, wanted) in [
        (1, "z", "0"),
        (1, "own", "50"),
        (2, "z", "1"),
        (2, "own", "50"),
        (4, "own", "50"),
        (5, "own", "106"),
        (5, "hidden", "6"),
    ] {
        assert_eq!(
            in_frame(&mut client, level, expression),
            wanted,
            "{level} {expression}"
        );
    }
    let found = in_frame(&mut client, 1, "deepest(1)");
    assert!(found.starts_with("error: "), "{found}");
    // What `deepest` had added up before, and three times `own` in `inner`.
    client.set_breakpoints(&fixture, &[]);
    client.continue_();
    client.expect_exit();
    let output = client.output("stdout");
    assert!(output.ends_with("170\n"), "{output}");
    client.disconnect();
}

/// A condition in a nested function does not mean a global of the same name, also where the line is hot.
#[test]
fn conditions_in_nested_functions_see_the_variables_around_them() {
    let Some((_, fixture)) = programs().find(|(compiler, _)| *compiler == Compiler::Gcc) else {
        return;
    };
    for (condition, stops) in [("hidden == 7 && own == 10", true), ("hidden == 77", false)] {
        let mut client = DapClient::spawn();
        client.launch(&fixture, json!({}));
        let breakpoints = json!({
            "source": {"path": fixture.source},
            "breakpoints": [{"line": fixture.line("deepest"), "condition": condition}],
        });
        let body = client.request_ok("setBreakpoints", breakpoints);
        assert_eq!(body["breakpoints"][0]["verified"], true, "{body}");
        client.configure();
        match stops {
            true => {
                client.expect_stopped("breakpoint");
            }
            false => assert_eq!(client.expect_exit(), 0),
        }
        client.disconnect();
    }
}

#[test]
fn texts_have_what_their_arrays_have() {
    for (_, fixture) in programs() {
        let mut client = DapClient::stopped_at(&fixture, "end");
        let cases = [
            ("text,s", "\"F\""),
            ("text,[8],s", "\"F\\0OO\""),
            ("text,[3],s", "\"F\\0O\""),
            ("wide = L\"\\xe9tat\"", "L\"état\""),
            ("wide[5] == 0", "1"),
            ("wide = L\"sixsix\"", "L\"sixsix\""),
            ("utf16 = u\"ab\"", "u\"ab\""),
            ("utf16[2] == 0", "1"),
            ("utf32 = U\"\u{1f600}\"", "U\"\u{1f600}\""),
            ("L\"\\xe9\"[0]", "233"),
        ];
        expect(&mut client, &cases);
        for expression in [
            "wide = L\"sevenses\"",
            "wide = \"abc\"",
            "utf16 = L\"abc\"",
            "text = L\"a\"",
        ] {
            let found = in_frame(&mut client, 0, expression);
            assert!(found.starts_with("error: "), "{expression}: {found}");
        }
        let globals = client.scope("Globals");
        client.set_child(&globals, "utf32", "U\"q\"");
        assert_eq!(client.evaluate("utf32"), "U\"q\"");
        client.disconnect();
    }
}

/// A caller's variable is written where the functions that it has called keep its register: on their stack, or
/// nowhere but in the register.
#[test]
fn registers_of_callers_are_written_where_they_are_kept() {
    for compiler in [Compiler::Gcc, Compiler::Clang] {
        let flags = Flags::new(compiler).optimized("1");
        let Some(fixture) = Fixture::build("c/kept_registers.c", flags) else {
            continue;
        };
        let mut client = DapClient::stopped_at(&fixture, "touch");
        assert_eq!(in_frame(&mut client, 2, "kept"), "15");
        assert_eq!(in_frame(&mut client, 2, "kept = 100"), "100");
        assert_eq!(in_frame(&mut client, 2, "kept"), "100");
        assert_eq!(in_frame(&mut client, 1, "own = 50"), "50");
        for register in ["$pc", "$sp"] {
            let found = in_frame(&mut client, 2, &format!("{register} = 0"));
            assert!(found.starts_with("error: cannot write"), "{found}");
        }
        client.set_breakpoints(&fixture, &["plain"]);
        client.continue_();
        client.expect_stopped("breakpoint");
        assert_eq!(in_frame(&mut client, 1, "kept"), "100");
        assert_eq!(in_frame(&mut client, 1, "kept = kept + 100"), "200");
        client.continue_();
        client.expect_exit();
        let output = client.output("stdout");
        assert_eq!(output, "kept 200 first 100 second 200\n", "{compiler:?}");
        client.disconnect();
    }
}
