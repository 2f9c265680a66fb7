//! Macros in expressions, as the program's preprocessor expands them at the line (`-g3`), and constants that
//! headers of the C library define as macros.

use serde_json::json;
use stillpoint_tests::{Compiler, DapClient, Fixture, Flags};

fn shown(client: &mut DapClient, expression: &str) -> String {
    match client.evaluated(expression) {
        Ok(body) => body["result"].as_str().unwrap_or_default().to_owned(),
        Err(response) => response["body"]["error"]["format"].to_string(),
    }
}

#[test]
fn macros_are_expanded_at_the_line() {
    let fixture = Fixture::of("c/macros.c");
    let mut client = DapClient::stopped_at(&fixture, "work");
    for (expression, expected) in [
        ("LIMIT", "17"),
        ("MAX(LIMIT, 3) * 2", "34"),
        ("FIELD(at) + BASE", "16"),
        ("sizeof(TYPE)", "1"),
        ("(TYPE)300", "44 ','"),
        ("MAX(n, LIMIT), x", "0x11"),
    ] {
        assert_eq!(shown(&mut client, expression), expected, "{expression}");
    }
    assert!(shown(&mut client, "NAMED(n + 1)").contains("\"n + 1\""));
    let error = shown(&mut client, "FIELD(n)");
    assert!(error.contains("in `( ( n ) -> count )`"), "{error}");
    client.disconnect();
}

#[test]
fn condition_with_a_macro_stops_where_it_holds() {
    let fixture = Fixture::of("c/macros.c");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({}));
    let line = fixture.line("work");
    let breakpoints = json!([{"line": line, "condition": "FIELD(at) > MAX(LIMIT, 80)"}]);
    let body = client
        .request(
            "setBreakpoints",
            json!({"source": {"path": fixture.source}, "breakpoints": breakpoints}),
        )
        .expect("breakpoints")
        .clone();
    client.configure();
    client.expect_stopped("breakpoint");
    assert_eq!(shown(&mut client, "n"), "41", "{body}");
    client.disconnect();
}

/// Without a record of macros, constants of the C library's headers have the values of the compiler, and names
/// of the program hide them.
#[test]
fn constants_of_headers_are_those_of_the_compiler() {
    let fixture = Fixture::of("c/header_constants.c");
    let mut client = DapClient::stopped_at(&fixture, "here");
    for (constant, variable) in [
        ("INT_MAX", "most"),
        ("INT_MIN", "least"),
        ("EOF", "end"),
        ("CHAR_BIT", "bits"),
        ("ENOENT", "missing"),
        ("O_RDWR | O_CREAT", "flags"),
        ("UINT_MAX", "all"),
        ("LONG_MIN", "wide"),
        ("INT64_MAX", "exact"),
        ("DBL_MAX", "real"),
        ("DBL_EPSILON", "step"),
        ("M_PI", "pi"),
        ("FLT_MIN", "single"),
        ("INFINITY", "infinite"),
    ] {
        let expected = client.evaluated(variable).expect(variable);
        let found = client.evaluated(constant).expect(constant);
        assert_eq!(found["result"], expected["result"], "{constant}");
        // gcc's name of the type.
        let ty = expected["type"]
            .as_str()
            .map(|it| it.replace("long int", "long"));
        assert_eq!(found["type"].as_str(), ty.as_deref(), "{constant}");
    }
    for (expression, expected) in [
        ("SIZE_MAX == size && number != INT_MAX", "1"),
        ("least == INT_MIN ? sizeof(INT_MAX) : 0", "4"),
        ("POLLIN == 77 && event == POLLIN", "1"),
        ("SIGUSR1", "78"),
        ("AF_UNIX", "79"),
        ("WNOHANG", "80"),
        ("errno == ENOENT", "0"),
    ] {
        assert_eq!(client.evaluate(expression), expected, "{expression}");
    }
    let error = shown(&mut client, "BUFSIZ");
    assert!(error.contains("no variable `BUFSIZ`"), "{error}");
    client.disconnect();
}

#[test]
fn constants_of_headers_in_cpp() {
    let fixture = Fixture::of("cpp/header_constants.cpp");
    let mut client = DapClient::stopped_at(&fixture, "here");
    for (expression, expected) in [
        ("most == ULONG_MAX && small == INT16_MIN", "true"),
        ("code == EAGAIN", "true"),
        ("std::numeric_limits<int>::max() == INT_MAX", "true"),
        ("SIGINT", "81"),
    ] {
        assert_eq!(client.evaluate(expression), expected, "{expression}");
    }
    let error = shown(&mut client, "Reader::INT_MAX");
    assert!(error.contains("INT_MAX"), "{error}");
    client.disconnect();
}

#[test]
fn condition_with_a_constant_of_a_header_runs_in_the_program() {
    let fixture = Fixture::of("c/header_constants.c");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({}));
    let condition = json!({"condition": "number == INT_MAX && pi >= M_PI"});
    client.set_breakpoints_with(&fixture, vec![("here", condition)]);
    client.configure();
    client.wait_event_where("breakpoint", |event| {
        event["breakpoint"]["message"] == "evaluated in the program"
    });
    client.expect_stopped("breakpoint");
    assert_eq!(client.evaluate("number"), "2147483647");
    client.disconnect();
}

/// Where the compiler has recorded the macros, they alone count: in the program, too.
#[test]
fn recorded_macros_hide_constants_of_headers() {
    let fixture = Fixture::of("c/macros.c");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({}));
    let condition = json!({"condition": "n == PATH_MAX"});
    client.set_breakpoints_with(&fixture, vec![("work", condition)]);
    client.configure();
    client.expect_stopped("breakpoint");
    assert_eq!(client.evaluate("n"), "21");
    assert_eq!(client.evaluate("PATH_MAX"), "21");
    let error = shown(&mut client, "NAME_MAX");
    assert!(error.contains("no variable `NAME_MAX`"), "{error}");
    client.disconnect();
}

#[test]
fn recorded_macros_of_headers_have_the_values_of_the_compiler() {
    let of_clang: &'static [&'static str] = &["-fdebug-macro"];
    for (compiler, extra) in [(Compiler::Gcc, &[][..]), (Compiler::Clang, of_clang)] {
        let flags = Flags {
            extra,
            ..Flags::new(compiler)
        };
        let Some(fixture) = Fixture::build("c/recorded_constants.c", flags) else {
            continue;
        };
        let mut client = DapClient::stopped_at(&fixture, "here");
        for (constant, variable) in [
            ("INT_MAX", "most"),
            ("CHAR_BIT", "bits"),
            ("LLONG_MIN", "least"),
            ("UINT64_MAX", "all"),
            ("DBL_MAX", "real"),
            ("HUGE_VAL", "endless"),
            ("INFINITY", "infinite"),
            ("NAN", "none"),
        ] {
            let expected = client.evaluate(variable);
            assert_eq!(client.evaluate(constant), expected, "{constant}");
        }
        client.disconnect();
    }
}
