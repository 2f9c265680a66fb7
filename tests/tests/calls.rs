//! Calls of the program's functions from expressions: what they are given and give back, and
//! that whatever happens in them leaves the program as it was.

use nix::sys::signal::Signal;
use serde_json::{Value, json};
use stillpoint_tests::process::{self, Debuggee};
use stillpoint_tests::{Compiler, DapClient, Fixture, Flags, MACHINE};

fn error_of(response: &Value) -> String {
    response["body"]["error"]["format"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

/// Registers and the position of the stopped thread, to be the same after a call.
fn state(client: &mut DapClient) -> Vec<String> {
    let registers = MACHINE.all.iter();
    registers
        .map(|it| client.evaluate(&format!("${it}")))
        .collect()
}

#[test]
fn arguments_and_results() {
    for compiler in [Compiler::Gcc, Compiler::Clang] {
        let Some(fixture) = Fixture::build("cpp/calls.cpp", Flags::new(compiler)) else {
            continue;
        };
        let mut client = DapClient::stopped_at(&fixture, "all");
        let before = state(&mut client);
        for (expression, expected) in [
            ("add(1, 2)", "3"),
            ("add(whole, -6) + add(1, add(2, 3))", "5"),
            ("half(5)", "2.5"),
            ("half(real)", "1.25"),
            ("mixed(1, 2.5, 3, 4.5)", "11"),
            ("many(1, 2, 3, 4, 5, 6, 7, 8)", "204"),
            ("make_small(7, 8)", "{a = 7, b = 8}"),
            ("make_small(7, 8).b", "8"),
            ("make_mixed(1.5, -2)", "{d = 1.5, n = -2}"),
            ("make_large(10).values[4]", "14"),
            ("sum_small(small)", "7"),
            ("sum_mixed(mixed_value)", "6.5"),
            ("sum_large(large)", "6"),
            ("overloaded(1)", "2"),
            ("overloaded(2.0)", "20"),
            ("overloaded(\"four\")", "4"),
            ("length(text)", "5"),
            ("pointer(20, 22)", "42"),
            ("one.dot(two)", "11"),
            ("one + two", "{x = 4, y = 6}"),
            ("one == two", "false"),
            ("one == one && !(one == two)", "true"),
            ("animal->speed(3)", "300"),
            ("animal->count()", "2"),
            ("bird.count() + bird.speed(1)", "102"),
            ("(int)atoi(\"12345\")", "12345"),
            ("(int)strlen(\"four\") + (int)strlen(name())", "10"),
            ("(int)strcmp(name(), \"called\")", "0"),
            ("twice(1.25)", "2.5"),
            ("weighed(2, twice(0.75), large)", "8"),
            ("make_large(1).values[0] + make_large(2).values[0]", "3"),
            ("legs_of(bird)", "2"),
            ("digits(six, seven)", "67"),
            ("alive", "2"),
            ("digits(seven, counted_up(seven))", "78"),
            ("counted_up(counted_up(six)).value", "8"),
            ("six.value", "6"),
            ("second(1, 2)", "2"),
            ("index(1, 2)", "3"),
            ("(pointer = index, pointer(1, 2))", "3"),
            (
                "measured(strlen, \"four\") + measured(&strlen, \"one\")",
                "7",
            ),
            ("(measure = strlen, measure(\"four\"))", "4"),
        ] {
            assert_eq!(client.evaluate(expression), expected, "{expression}");
        }
        assert!(client.evaluate("name()").contains("\"called\""));
        assert_eq!(state(&mut client), before);
        // Each call is made once.
        assert_eq!(client.evaluate("count_calls() + count_calls() * 10"), "21");
        assert_eq!(client.evaluate("whole += add(1, 2)"), "8");
        client.evaluate("raise_by(whole, 2)");
        assert_eq!(client.evaluate("whole"), "10");
        client.evaluate("one.scale(3)");
        assert_eq!(client.evaluate("one.x"), "3");
        assert_eq!(client.evaluate("calls"), "2");
        client.next();
        assert_eq!(client.evaluate("after"), "17");
        client.disconnect();
    }
}

#[test]
fn failed_call_restores_the_thread() {
    let fixture = Fixture::of("cpp/calls.cpp");
    let mut client = DapClient::stopped_at(&fixture, "all");
    client.set_breakpoints(&fixture, &["inside"]);
    let before = state(&mut client);
    for (expression, why) in [
        ("crash()", "SIGSEGV"),
        ("give_up()", "SIGABRT"),
        ("thrower()", "exception"),
        ("add(1)", "takes int, int"),
        ("stpcpy(text, \"1\")", "cast the call"),
        ("size_of(text)", "copy constructor"),
        ("size_of(text)", "takes a reference or pointer"),
        ("nowhere(1)", "no variable `nowhere`"),
        ("whole(1)", "cannot call a `int`"),
    ] {
        let error = client.evaluated(expression).expect_err(expression);
        let error = error_of(&error);
        assert!(error.contains(why), "{expression}: {error}");
        assert_eq!(state(&mut client), before, "{expression}");
    }
    assert_eq!(client.evaluate("catcher()"), "77");
    assert_eq!(client.evaluate("with_stop(4)"), "8");
    // Looking does not call.
    let frame = client.top_frame()["id"].clone();
    let hover = client.request(
        "evaluate",
        json!({"expression": "count_calls()", "frameId": frame, "context": "hover"}),
    );
    let error = error_of(&hover.expect_err("no calls here"));
    assert!(error.contains("calls are allowed only"), "{error}");
    assert_eq!(client.evaluate("calls"), "0");
    client.set_breakpoints(&fixture, &[]);
    client.continue_();
    client.expect_exit();
    assert!(client.output("stdout").starts_with("5 12 7.5"));
    client.disconnect();
}

#[test]
fn endless_call_can_be_cancelled_or_paused() {
    let fixture = Fixture::of("cpp/calls.cpp");
    let mut client = DapClient::stopped_at(&fixture, "all");
    let frame = client.top_frame()["id"].clone();
    let begin = |client: &mut DapClient| {
        client.send(
            "evaluate",
            json!({"expression": "forever()", "frameId": frame, "context": "repl"}),
        )
    };
    // Others are answered meanwhile, and the session is not blocked.
    let call = begin(&mut client);
    client.request_ok("threads", json!({}));
    client.request_ok("cancel", json!({"requestId": call}));
    let answer = client.response(call).expect_err("it was cancelled");
    assert_eq!(answer["message"], "cancelled");
    let call = begin(&mut client);
    client.request_ok("pause", json!({"threadId": client.thread()}));
    let error = error_of(&client.response(call).expect_err("it was interrupted"));
    assert!(error.contains("interrupted"), "{error}");
    // What needs a stopped program waits for the call.
    let call = begin(&mut client);
    let watch = client.send(
        "evaluate",
        json!({"expression": "whole + 1", "frameId": frame, "context": "watch"}),
    );
    client.request_ok("cancel", json!({"requestId": call}));
    client.response(call).expect_err("it was cancelled");
    assert_eq!(client.response(watch).expect("a value")["result"], "6");
    // The session ends with a call under way.
    begin(&mut client);
    client.disconnect();
}

#[test]
fn call_is_aborted_after_its_timeout() {
    let fixture = Fixture::of("cpp/calls.cpp");
    let mut client = DapClient::stopped_with(&fixture, "all", json!({"callTimeout": 0.2}));
    let error = error_of(&client.evaluated("forever()").expect_err("it has no end"));
    assert!(error.contains("timed out after 0.2 s"), "{error}");
    assert_eq!(client.evaluate("add(1, 1)"), "2");
    client.disconnect();
}

#[test]
fn rust_functions() {
    let fixture = Fixture::of("rust/values.rs");
    let mut client = DapClient::stopped_at(&fixture, "all");
    for (expression, expected) in [
        ("double(21)", "42"),
        ("double(vector[2] + 1)", "8"),
        ("function(5)", "10"),
        ("wrapped.take()", "31"),
    ] {
        assert_eq!(client.evaluate(expression), expected, "{expression}");
    }
    let error = error_of(
        &client
            .evaluated("double(2000000000)")
            .expect_err("it overflows"),
    );
    assert!(error.contains("panic"), "{error}");
    assert_eq!(client.evaluate("double(2)"), "4");
    client.disconnect();
}

#[test]
fn rust_arguments_and_results() {
    let fixture = Fixture::of("rust/calls.rs");
    let mut client = DapClient::stopped_at(&fixture, "all");
    let before = state(&mut client);
    for (expression, expected) in [
        ("length(text)", "5"),
        ("length(\"typed\") + length(\"\")", "5"),
        ("length(&owned)", "4"),
        ("last_behind(1, 2, 3, 4, 5, \"az\")", "137"),
        ("first_half(\"abcd\")", "\"ab\""),
        ("sum(&vector)", "6"),
        ("sum(&vector[1..3])", "5"),
        ("sum(&numbers)", "9"),
        ("small(pair)", "7008"),
        ("swapped(pair)", "(8, 7)"),
        ("halves(half)", "Half(2.5, 1.5)"),
        ("few(some)", "Few(3, 2, 1)"),
        ("three(more)", "321"),
        ("six(2, many)", "Six(12, 5, 4, 3, 2, 1)"),
        ("array(floats)", "12.0"),
        ("or_nine(none) + or_nine(one)", "10"),
        ("next(1)", "Some(2)"),
        ("next(2147483647)", "None"),
        ("area(empty)", "0.0"),
        ("area(circle)", "12.0"),
        ("area(square)", "9.0"),
        ("wide(18446744073709551616)", "36893488147419103232"),
        ("found(some_text) + found(no_text)", "3"),
    ] {
        assert_eq!(client.evaluate(expression), expected, "{expression}");
    }
    assert_eq!(state(&mut client), before);
    let error = error_of(&client.evaluated("or_nine(\"x\")").expect_err("no text"));
    assert!(error.contains("takes"), "{error}");
    client.disconnect();
}

/// A compiler that knows all callers of a function removes parameters, or puts constants in their place: a call with
/// the arguments of the source would silently do something else.
#[test]
fn functions_with_changed_parameters_are_refused() {
    for compiler in [Compiler::Gcc, Compiler::Clang] {
        let flags = Flags::new(compiler).optimized("2");
        let Some(fixture) = Fixture::build("c/changed_parameters.c", flags) else {
            continue;
        };
        let mut client = DapClient::stopped_at(&fixture, "end");
        for call in ["first(&pair, 4)", "second(7, 1, 5)", "scaled(99, 1.0f)"] {
            let error = error_of(&client.evaluated(call).expect_err(call));
            assert!(error.contains("the compiler left only"), "{call}: {error}");
        }
        for (call, expected) in [("kept(2, 3)", "17"), ("shared(7, 1, 5)", "40")] {
            assert_eq!(client.evaluate(call), expected, "{call}");
        }
        client.disconnect();
    }
}

/// A debuggee that we have attached to, in the middle of a call without end.
fn attached_in_a_call() -> (Debuggee, DapClient, Vec<u8>) {
    let fixture = Fixture::of("c/callee.c");
    let debuggee = Debuggee::start(&fixture, &[]);
    debuggee.read_line();
    let code = process::text_bytes(debuggee.pid(), &fixture.program);
    let mut client = DapClient::spawn();
    client.attach(debuggee.pid(), json!({}));
    client.set_breakpoints(&fixture, &["beat"]);
    client.configure();
    client.expect_stopped("breakpoint");
    let frame = client.top_frame()["id"].clone();
    client.send(
        "evaluate",
        json!({"expression": "forever()", "frameId": frame, "context": "repl"}),
    );
    // The call is under way when this is answered.
    client.request_ok("threads", json!({}));
    (debuggee, client, code)
}

#[test]
fn detach_during_call_restores_registers() {
    for how in [
        json!(null),
        json!({"terminateDebuggee": false}),
        json!("end of input"),
    ] {
        let (debuggee, mut client, code) = attached_in_a_call();
        if how == "end of input" {
            client.close();
            client.wait_exit();
        } else {
            client.disconnect_with(how.clone());
        }
        debuggee.expect_running();
        let fixture = Fixture::of("c/callee.c");
        let after = process::text_bytes(debuggee.pid(), &fixture.program);
        assert!(after == code, "{how}: the code is as it was");
    }
}

#[test]
fn terminate_during_call_ends_the_program() {
    let (debuggee, client, _) = attached_in_a_call();
    client.disconnect_with(json!({"terminateDebuggee": true}));
    assert!(process::ends(debuggee.pid()));
}

#[test]
fn kill_during_call_ends_the_session() {
    let fixture = Fixture::of("cpp/calls.cpp");
    let mut client = DapClient::stopped_at(&fixture, "all");
    let frame = client.top_frame()["id"].clone();
    let call = client.send(
        "evaluate",
        json!({"expression": "forever()", "frameId": frame, "context": "repl"}),
    );
    client.request_ok("threads", json!({}));
    process::send_signal(client.debuggee_pid(), Signal::SIGKILL);
    let error = client.response(call).expect_err("no thread could return");
    assert!(!error_of(&error).is_empty(), "{error}");
    assert_eq!(client.expect_exit(), 128 + 9);
    client.disconnect();
}

#[test]
fn arguments_of_wide_and_narrow_floats_are_exact() {
    let fixture = Fixture::of("c/wide_floats.c");
    let mut client = DapClient::stopped_at(&fixture, "stop");
    for (call, expected) in [
        // 2^53 + 1 is no `double`.
        ("same(9007199254740993)", "9007199254740993"),
        ("same(9007199254740993ull)", "9007199254740993"),
        ("same(-9007199254740993)", "-9007199254740993"),
        ("same(9007199254740993.0L)", "9007199254740993"),
        ("same(1.0L / 3) == 1.0L / 3", "1"),
        ("half(1.5L)", "0.75"),
        ("half((long double)1.5)", "0.75"),
        ("half(1.5f)", "0.75"),
        ("half(precise)", "4503599627370496.5"),
        ("third(1.5)", "0.5"),
        ("third(3)", "1"),
        ("narrow(0.25)", "0.5"),
        ("narrow(plain)", "1"),
        // The nearest `float`; by way of `double` it is 1.
        ("rounded(1.0000000596046448L) > 1", "1"),
        ("count(precise)", "9007199254740993"),
    ] {
        assert_eq!(client.evaluate(call), expected, "{call}");
    }
    client.disconnect();
}
