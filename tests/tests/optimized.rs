//! Optimized code: arguments of callers, variables that are optimized out, calls without a line.

use serde_json::{Value, json};
use stillpoint_tests::{Compiler, DapClient, Fixture, Flags};

/// The fixture at `-O2`, stopped in the function `name`.
fn stopped_in(compiler: Compiler, name: &str) -> Option<(Fixture, DapClient)> {
    let flags = Flags::new(compiler).optimized("2");
    let fixture = Fixture::build("c/optimized.c", flags)?;
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({}));
    client.request_ok(
        "setFunctionBreakpoints",
        json!({"breakpoints": [{"name": name}]}),
    );
    client.configure();
    client.expect_stopped("function breakpoint");
    Some((fixture, client))
}

#[test]
fn argument_known_by_the_outer_caller() {
    // clang records no values of passed arguments at call sites.
    let flags = Flags::new(Compiler::Gcc).optimized("2");
    let fixture = Fixture::build("c/optimized.c", flags).expect("gcc");
    let mut client = DapClient::stopped_at(&fixture, "handed");
    let names = client.function_names();
    assert_eq!(names[..3], ["innermost", "middle", "outer"]);
    assert_eq!(client.locals()["handed"], "17");
    client.disconnect();
}

#[test]
fn fully_optimized_out_variables() {
    for compiler in [Compiler::Gcc, Compiler::Clang] {
        let flags = Flags::new(compiler).optimized("2");
        let Some(fixture) = Fixture::build("c/optimized.c", flags) else {
            continue;
        };
        let mut client = DapClient::stopped_at(&fixture, "handed");
        client.request_ok(
            "setFunctionBreakpoints",
            json!({"breakpoints": [{"name": "puts"}]}),
        );
        client.continue_();
        client.expect_stopped("function breakpoint");
        let stack = client.stack();
        let twice = stack
            .iter()
            .find(|frame| frame["name"] == "twice")
            .unwrap_or_else(|| panic!("{compiler:?}: {stack:?}"));
        let scopes = client.request_ok("scopes", json!({"frameId": twice["id"]}));
        let variables = client.request_ok(
            "variables",
            json!({"variablesReference": scopes["scopes"][0]["variablesReference"]}),
        );
        let found: Vec<(&str, &str)> = variables["variables"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|it| Some((it["name"].as_str()?, it["value"].as_str()?)))
            .collect();
        assert!(found.contains(&("value", "1")), "{compiler:?}: {found:?}");
        // gcc records the value that it would have.
        let dead = found.iter().find(|(name, _)| *name == "dead");
        let expected = ["7", "<optimized out>"];
        assert!(
            dead.is_some_and(|(_, value)| expected.contains(value)),
            "{compiler:?}: {found:?}"
        );
        client.disconnect();
    }
}

#[test]
fn call_without_line_has_the_previous_line() {
    for compiler in [Compiler::Gcc, Compiler::Clang] {
        let Some((fixture, mut client)) = stopped_in(compiler, "work") else {
            continue;
        };
        let stack = client.stack();
        let frame = &stack[1];
        assert_eq!(frame["name"], "merged", "{compiler:?}");
        assert_eq!(
            frame["source"]["path"].as_str(),
            fixture.source.to_str(),
            "{compiler:?}: {frame}"
        );
        let line = frame["line"].as_u64().unwrap_or(0);
        let body = fixture.line("merged")..fixture.line("merged_end");
        assert!(body.contains(&line), "{compiler:?}: {frame}");
        client.disconnect();
    }
}

#[test]
fn partly_optimized_out_structure() {
    // gcc removes it completely.
    let flags = Flags::new(Compiler::Clang).optimized("2");
    let Some(fixture) = Fixture::build("c/optimized.c", flags) else {
        return;
    };
    let mut client = DapClient::stopped_at(&fixture, "half");
    let locals = client.locals();
    assert_eq!(locals["pair"], "{known = 3, lost = <optimized out>}");
    client.disconnect();
}

/// clang writes the number without its padding.
#[test]
fn a_long_double_that_the_optimizer_knows() {
    for compiler in [Compiler::Gcc, Compiler::Clang] {
        let flags = Flags::new(compiler).optimized("1");
        let Some(fixture) = Fixture::build("c/long_constant.c", flags) else {
            continue;
        };
        let mut client = DapClient::stopped_at(&fixture, "here");
        assert_eq!(client.evaluate("known"), "3.5", "{compiler:?}");
        assert_eq!(client.evaluate("known * 2"), "7", "{compiler:?}");
        client.disconnect();
    }
}

#[test]
fn tail_call_frames_are_shown_and_marked() {
    for compiler in [Compiler::Gcc, Compiler::Clang] {
        let flags = Flags::new(compiler).optimized("2");
        let Some(fixture) = Fixture::build("c/unwinding.c", flags) else {
            continue;
        };
        let mut client = DapClient::spawn();
        client.launch(&fixture, json!({}));
        client.set_function_breakpoints(&["target"]);
        client.configure();
        client.expect_stopped("function breakpoint");
        let names = client.function_names();
        let expected = [
            "target",
            "passes_on [tail call]",
            "calls_passes_on",
            "all",
            "main",
        ];
        assert_eq!(names[..5], expected, "{compiler:?}");
        let frame = client.stack()[1].clone();
        assert_eq!(frame["presentationHint"], "subtle");
        assert_eq!(frame["line"], fixture.line("passes_on"), "{compiler:?}");
        let locals = client.locals_reference(frame["id"].as_i64().expect("an id"));
        let locals = client.variables(locals);
        assert_eq!(locals[0]["name"], "x", "{compiler:?}");
        let value = locals[0]["value"].as_str().unwrap_or("");
        // What the call site has, or that the compiler left it in a register that is gone.
        let is_right = value == "1" || value.starts_with('<');
        assert!(is_right, "{compiler:?}: {value}");
        // Nothing returns there.
        client.step_out();
        let names = client.function_names();
        assert_eq!(names[0], "calls_passes_on", "{compiler:?}");
        client.disconnect();
    }
}

/// Returns the arguments and locals of a frame by its name.
fn locals_of(client: &mut DapClient, name: &str) -> Vec<(String, String)> {
    let stack = client.stack();
    let frame = stack.iter().find(|it| it["name"] == name).expect(name);
    let locals = client.locals_reference(frame["id"].as_i64().expect("an id"));
    let text = |it: &Value| it.as_str().unwrap_or_default().to_owned();
    let pair = |it: &Value| (text(&it["name"]), text(&it["value"]));
    client.variables(locals).iter().map(pair).collect()
}

/// The call sites of the callers say with which arguments such functions were called.
#[test]
fn arguments_of_a_function_that_left_by_a_tail_call() {
    let flags = Flags::new(Compiler::Gcc).optimized("2");
    let Some(fixture) = Fixture::build("c/tail_arguments.c", flags) else {
        return;
    };
    let mut client = DapClient::stopped_at(&fixture, "leaf");
    let first = locals_of(&mut client, "inner [tail call]");
    assert_eq!(first[0], ("number".into(), "11".into()));
    client.continue_();
    client.expect_stopped("breakpoint");
    let second = locals_of(&mut client, "outer [tail call]");
    assert_eq!(second[0], ("count".into(), "12".into()));
    let within = locals_of(&mut client, "inner [tail call]");
    assert!(within[0].1.starts_with('<'), "{within:?}");
    client.disconnect();
}

/// A call site in a function that left refers to the arguments of that function in turn.
#[test]
fn arguments_in_a_chain_of_tail_calls() {
    let flags = Flags::new(Compiler::Gcc).optimized("2");
    let Some(fixture) = Fixture::build("c/tail_chain.c", flags) else {
        return;
    };
    // Before any stack is asked for.
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({}));
    let conditions = vec![("third", json!({"condition": "number == 24 && other == 13"}))];
    client.set_breakpoints_with(&fixture, conditions);
    client.configure();
    let stop = client.expect_stopped("breakpoint");
    assert_eq!(stop["text"].as_str().unwrap_or_default(), "");
    for (frame, expected) in [
        ("third", [("number", "24"), ("other", "13")]),
        (
            "second [tail call]",
            [("number", "14"), ("text", "\"deep\"")],
        ),
    ] {
        let found = locals_of(&mut client, frame);
        for (found, (name, value)) in found.iter().zip(expected) {
            assert_eq!(found.0, name, "{frame}");
            assert!(found.1.ends_with(value), "{frame}: {found:?}");
        }
    }
    let first = locals_of(&mut client, "first [tail call]");
    assert_eq!(first[0], ("count".into(), "7".into()));
    client.disconnect();
}

/// The first row of such a line may be behind the code of the called function, and its effect.
#[test]
fn lines_that_begin_with_an_inlined_call_stop_before_it() {
    let fixture = Fixture::of("rust/inlined_lines.rs");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({}));
    client.set_breakpoints(&fixture, &["read", "kept", "single"]);
    client.configure();
    for (marker, value, expected) in [
        ("read", "*read", "3"),
        ("kept", "*kept", "5"),
        ("single", "*read", "1"),
    ] {
        client.expect_stopped("breakpoint");
        client.expect_line(&fixture, marker);
        assert_eq!(client.evaluate(value), expected, "{marker}");
        client.continue_();
    }
    assert_eq!(client.expect_exit(), 0);
    client.disconnect();
}

#[test]
fn line_of_only_an_inlined_call_can_stop() {
    // gcc has rows for such lines, of no length.
    let c = Flags::new(Compiler::Clang).optimized("2");
    let rust = Flags::rust("", "2");
    for (source, flags) in [("c/inlined_calls.c", c), ("rust/inlined_calls.rs", rust)] {
        let Some(fixture) = Fixture::build(source, flags) else {
            continue;
        };
        // One stop a pass, in the function that makes the call: it has not been entered yet.
        for (marker, function) in [("first", "work"), ("second", "work"), ("within", "doubled")] {
            let mut client = DapClient::spawn();
            client.launch(&fixture, json!({}));
            let set = client.set_breakpoints(&fixture, &[marker]);
            assert_eq!(set[0]["line"], fixture.line(marker), "{flags:?} {marker}");
            client.configure();
            for _ in 0..2 {
                client.expect_stopped("breakpoint");
                client.expect_line(&fixture, marker);
                let names = client.function_names();
                let last = names[0].rsplit("::").next();
                assert_eq!(last, Some(function), "{flags:?} {marker}: {names:?}");
                client.continue_();
            }
            assert_eq!(client.expect_exit(), 0);
            client.disconnect();
        }
    }
}

#[test]
fn a_statement_without_code_on_one_path_stops_on_each() {
    for compiler in [Compiler::Gcc, Compiler::Clang] {
        for level in ["0", "1", "2", "3"] {
            let flags = Flags::new(compiler).optimized(level);
            let Some(fixture) = Fixture::build("c/two_paths.c", flags) else {
                continue;
            };
            for args in [&[][..], &["7"], &["0"]] {
                let mut client = DapClient::stopped_with(&fixture, "reset", json!({"args": args}));
                client.expect_line(&fixture, "reset");
                client.continue_();
                assert_eq!(client.expect_exit(), 0, "{flags:?} {args:?}");
                client.disconnect();
            }
        }
    }
}

/// The row of the call begins with inlined functions of the standard library that have no code: the caller's line is that
/// of the call, and a step leads there, not through.
#[test]
fn a_call_behind_inlined_calls_without_code_has_its_own_line() {
    for compiler in [Compiler::Gcc, Compiler::Clang] {
        let flags = Flags::new(compiler).optimized("2");
        let Some(fixture) = Fixture::build("cpp/walk_exceptions.cpp", flags) else {
            continue;
        };
        let call = fixture.line("call");
        let mut client = DapClient::stopped_at(&fixture, "counted");
        let frames = client.stack();
        assert_eq!(frames[0]["name"], "guarded", "{frames:?}");
        let caller = [&frames[1]["name"], &frames[1]["line"]];
        assert_eq!(caller, [&json!("main"), &json!(call)], "{frames:?}");
        client.set_breakpoints(&fixture, &[]);
        while client.function_names()[0] == "guarded" {
            client.next();
        }
        assert_eq!(client.function_names()[0], "main");
        let line = client.top_frame()["line"].clone();
        assert_eq!(line, call, "{compiler:?}");
        client.disconnect();
    }
}
