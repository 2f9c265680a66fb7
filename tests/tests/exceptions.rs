//! Exceptions, panics and sanitizers: what stops the program, where, and with what text.

use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;
use stillpoint_tests::{Compiler, DapClient, Fixture, Flags, has_libcxx};

fn throwing() -> Fixture {
    Fixture::of("cpp/throwing.cpp")
}

/// Launches with arguments and exception filters; returns the breakpoints of the response.
fn start(fixture: &Fixture, args: &[&str], filters: Value) -> (DapClient, Vec<Value>) {
    let mut client = DapClient::spawn();
    client.launch(
        fixture,
        json!({"args": args, "env": {"RUST_BACKTRACE": "0"}}),
    );
    let set = set(&mut client, filters);
    client.configure();
    (client, set)
}

fn set(client: &mut DapClient, arguments: Value) -> Vec<Value> {
    let answer = client.request_ok("setExceptionBreakpoints", arguments);
    answer["breakpoints"].as_array().expect("a list").clone()
}

/// The line of the innermost frame in the fixture's own source.
fn own_line(client: &mut DapClient, fixture: &Fixture) -> u64 {
    let stack = client.stack();
    let path = fixture.source.to_str().expect("UTF-8");
    let own = stack.iter().find(|frame| frame["source"]["path"] == path);
    let own = own.unwrap_or_else(|| panic!("no frame of {path} in {stack:#?}"));
    own["line"].as_u64().expect("a line")
}

fn info(client: &mut DapClient) -> Value {
    let thread = client.thread();
    client.request_ok("exceptionInfo", json!({"threadId": thread}))
}

#[test]
fn filters_are_offered() {
    let mut client = DapClient::spawn();
    let capabilities = client.initialize();
    let filters = capabilities["exceptionBreakpointFilters"].as_array();
    let filters = filters.expect("filters");
    let ids = |on: Option<bool>| -> Vec<&str> {
        let wanted = filters
            .iter()
            .filter(|it| on.is_none_or(|on| it["default"] == on));
        wanted.filter_map(|it| it["filter"].as_str()).collect()
    };
    let all = [
        "cpp_throw",
        "cpp_catch",
        "cpp_uncaught",
        "rust_panic",
        "sanitizer",
        "signals",
    ];
    assert_eq!(ids(None), all);
    assert_eq!(ids(Some(true)), all[2..5]);
    assert_eq!(capabilities["supportsExceptionInfoRequest"], true);
    assert_eq!(capabilities["supportsExceptionFilterOptions"], true);
    client.disconnect();
}

#[test]
fn a_throw_stops_with_its_type_and_message() {
    let fixture = throwing();
    for (what, line, name, message) in [
        ("runtime", "runtime", "std::runtime_error", "too large"),
        ("derived", "derived", "shop::Error", "sold out"),
        ("number", "number", "int", "42"),
        ("text", "text", "char const*", "\"plain text\""),
    ] {
        let filters = json!({"filters": ["cpp_throw"]});
        let (mut client, set) = start(&fixture, &["caught", what], filters);
        let stop = client.expect_stopped("exception");
        assert_eq!(stop["hitBreakpointIds"], json!([set[0]["id"]]), "{stop}");
        assert_eq!(stop["description"], "C++ exception thrown");
        assert!(stop["text"].as_str().unwrap().starts_with(name), "{stop}");
        assert_eq!(own_line(&mut client, &fixture), fixture.line(line));
        let info = info(&mut client);
        assert_eq!(info["exceptionId"], name);
        assert_eq!(info["breakMode"], "always");
        let details = &info["details"];
        assert_eq!(details["typeName"], name);
        let shown = details["message"].as_str().unwrap();
        assert!(
            shown.ends_with(message) || shown.contains(message),
            "{shown}"
        );
        let stack = details["stackTrace"].as_str().unwrap();
        let place = format!(
            "fails(char const*) at {}:{}\n",
            fixture.source.display(),
            fixture.line(line)
        );
        assert!(
            stack.contains(&place) || stack.contains(&place.replace("(char const*)", "")),
            "{stack}"
        );
        client.continue_();
        assert_eq!(client.expect_exit(), 0);
        client.disconnect();
    }
}

#[test]
fn the_exception_is_a_value() {
    let fixture = throwing();
    let filters = json!({"filters": ["cpp_throw"]});
    let (mut client, _) = start(&fixture, &["caught", "derived"], filters.clone());
    client.expect_stopped("exception");
    assert_eq!(client.evaluate("$exception.code"), "7");
    client.continue_();
    client.expect_exit();
    client.disconnect();

    let (mut client, _) = start(&fixture, &["caught", "plain"], filters);
    client.expect_stopped("exception");
    assert_eq!(client.evaluate("$exception.code"), "9");
    let message = info(&mut client)["details"]["message"].clone();
    assert!(message.as_str().unwrap().contains("code = 9"), "{message}");
    client.continue_();
    client.expect_exit();
    client.disconnect();

    let mut client = DapClient::stopped_at(&fixture, "catch");
    let error = client.try_evaluate("$exception").unwrap_err();
    assert!(error.contains("is not stopped at one"), "{error}");
    let thread = client.thread();
    let error = client.request_error("exceptionInfo", json!({"threadId": thread}));
    assert!(error.contains("is not stopped for an exception"), "{error}");
    client.disconnect();
}

#[test]
fn conditions_choose_types() {
    let fixture = throwing();
    for (condition, what, stops) in [
        ("std::runtime_error", "runtime", true),
        ("std::runtime_error", "derived", true),
        ("std::exception", "derived", true),
        ("std::*", "derived", false),
        ("shop::*", "derived", true),
        ("Error", "derived", true),
        ("std::logic_error", "runtime", false),
        ("int, char const*", "number", true),
        ("int, char const*", "text", true),
        ("int, char const*", "plain", false),
        ("$exception == 42", "number", true),
        ("$exception == 41", "number", false),
        ("$exception.code > 8", "plain", true),
    ] {
        let filters = json!({"filterOptions": [{"filterId": "cpp_throw", "condition": condition}]});
        let (mut client, set) = start(&fixture, &["caught", what], filters);
        assert_eq!(set.len(), 1);
        if stops {
            let stop = client.expect_stopped("exception");
            assert_eq!(
                stop["hitBreakpointIds"],
                json!([set[0]["id"]]),
                "{condition}"
            );
            client.continue_();
        }
        assert_eq!(client.expect_exit(), 0, "{condition} {what}");
        client.disconnect();
    }
}

/// A condition that cannot be evaluated stops, with a message.
#[test]
fn a_condition_that_fails_stops() {
    let fixture = throwing();
    let filters =
        json!({"filterOptions": [{"filterId": "cpp_throw", "condition": "$exception.none"}]});
    let (mut client, _) = start(&fixture, &["caught", "plain"], filters);
    let stop = client.expect_stopped("breakpoint");
    assert!(stop["text"].as_str().unwrap().contains("none"), "{stop}");
    client.disconnect();
}

#[test]
fn invalid_filters_are_reported() {
    let fixture = throwing();
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({}));
    let answered = set(
        &mut client,
        json!({
            "filters": ["rust_panic", "swift_throw", "SIGUSR1"],
            "filterOptions": [
                {"filterId": "cpp_catch", "condition": "x > 3"},
                {"filterId": "cpp_catch", "condition": "$exception +"},
            ],
            "exceptionOptions": [
                {"path": [{"names": ["C++"]}, {"names": ["std::bad_alloc"]}], "breakMode": "always"},
                {"breakMode": "sometimes"},
            ],
        }),
    );
    let message = |index: usize| answered[index]["message"].as_str().unwrap_or_default();
    assert_eq!(answered.len(), 7);
    assert!(message(1).contains("swift_throw") && message(1).contains("rust_panic"));
    assert_eq!(answered[1]["verified"], false);
    assert_eq!(answered[2]["verified"], true, "signals need no library");
    assert!(message(3).contains("x > 3"), "{}", message(3));
    assert_eq!(answered[3]["reason"], "failed");
    assert!(message(4).contains("$exception +"), "{}", message(4));
    assert!(answered[5]["id"].is_number());
    assert!(message(6).contains("sometimes"), "{}", message(6));
    client.configure();
    assert_eq!(client.expect_exit(), 0, "of these none stops");
    client.disconnect();
}

/// Before the program's libraries are there a filter is pending; then it is not.
#[test]
fn filters_are_bound_when_the_library_is_loaded() {
    let fixture = throwing();
    let filters = json!({"filters": ["cpp_throw"]});
    let (mut client, set) = start(&fixture, &["caught"], filters);
    assert_eq!(set[0]["verified"], false);
    assert_eq!(set[0]["reason"], "pending");
    let id = set[0]["id"].clone();
    client.wait_event_where("breakpoint", |body| {
        body["breakpoint"]["id"] == id && body["breakpoint"]["verified"] == true
    });
    client.expect_stopped("exception");
    client.disconnect();
}

#[test]
fn rethrown_exceptions_are_thrown_twice() {
    let fixture = throwing();
    for (how, again) in [("rethrown", "rethrow"), ("later", "later")] {
        let filters = json!({"filters": ["cpp_throw"]});
        let (mut client, _) = start(&fixture, &[how], filters);
        for line in ["runtime", again] {
            let stop = client.expect_stopped("exception");
            assert_eq!(stop["text"], "std::runtime_error: too large");
            assert_eq!(own_line(&mut client, &fixture), fixture.line(line));
            client.continue_();
        }
        assert_eq!(client.expect_exit(), 0);
        client.disconnect();
    }
}

#[test]
fn rethrow_filter_ignores_first_throws() {
    for fixture in [throwing()]
        .into_iter()
        .chain(throwing_with_other_libraries())
    {
        rethrows_stop(&fixture);
    }
}

fn rethrows_stop(fixture: &Fixture) {
    for (how, again) in [("rethrown", "rethrow"), ("later", "later")] {
        let filters = json!({"filters": ["rethrow"]});
        let (mut client, set) = start(fixture, &[how], filters);
        let stop = client.expect_stopped("exception");
        assert_eq!(stop["text"], "std::runtime_error: too large");
        assert_eq!(stop["description"], "C++ exception rethrown");
        assert_eq!(stop["hitBreakpointIds"], json!([set[0]["id"]]));
        assert_eq!(own_line(&mut client, fixture), fixture.line(again));
        client.continue_();
        assert_eq!(client.expect_exit(), 0);
        client.disconnect();
    }
}

#[test]
fn a_catch_stops_in_the_handler() {
    let fixture = throwing();
    let filters = json!({"filterOptions": [
        {"filterId": "cpp_catch", "condition": "std::exception"},
    ]});
    let (mut client, _) = start(&fixture, &["caught"], filters);
    let stop = client.expect_stopped("exception");
    assert_eq!(stop["description"], "C++ exception caught");
    assert_eq!(stop["text"], "std::runtime_error: too large");
    assert_eq!(own_line(&mut client, &fixture), fixture.line("catch"));
    client.step_out();
    assert_eq!(client.top_line(), fixture.line("catch"));
    client.continue_();
    client.expect_exit();
    client.disconnect();
}

/// With the default filters: one stop at the throw, and then the end.
#[test]
fn uncaught_exceptions_stop_where_they_were_thrown() {
    let fixture = throwing();
    for (args, line, text) in [
        (
            &["uncaught", "runtime"][..],
            "runtime",
            "std::runtime_error: too large",
        ),
        (&["noexcept", "derived"], "derived", "shop::Error: sold out"),
        (&["thread", "derived"], "derived", "shop::Error: sold out"),
        (&["terminate"], "terminate", "std::terminate was called"),
    ] {
        let mut client = DapClient::spawn();
        client.launch(&fixture, json!({"args": args}));
        client.configure();
        let stop = client.expect_stopped("exception");
        assert_eq!(stop["text"], text);
        assert_eq!(stop["hitBreakpointIds"], Value::Null);
        assert_eq!(own_line(&mut client, &fixture), fixture.line(line));
        assert_eq!(info(&mut client)["breakMode"], "unhandled");
        client.continue_();
        assert_eq!(client.expect_exit(), 128 + 6);
        client.disconnect();
    }
}

/// Without the filter, the end is reported by its signal, with a text that names the uncaught
/// exception.
#[test]
fn abort_names_the_uncaught_exception() {
    let fixture = throwing();
    for how in ["uncaught", "noexcept"] {
        let (mut client, set) = start(&fixture, &[how], json!({"filters": []}));
        assert!(set.is_empty());
        let stop = client.expect_stopped("exception");
        assert_eq!(stop["description"], "signal SIGABRT");
        assert_eq!(stop["text"], "uncaught std::runtime_error: too large");
        client.continue_();
        assert_eq!(client.expect_exit(), 128 + 6);
        client.disconnect();
    }
}

#[test]
fn libraries_loaded_late_throw_too() {
    let fixture = throwing();
    let filters = json!({"filterOptions": [
        {"filterId": "cpp_throw", "condition": "std::out_of_range"},
    ]});
    let (mut client, _) = start(&fixture, &["plugin"], filters);
    let stop = client.expect_stopped("exception");
    assert_eq!(stop["text"], "std::out_of_range: from the plugin");
    let plugin = fixture.sibling("throwing_plugin.cpp");
    assert_eq!(own_line(&mut client, &plugin), plugin.line("plugged"));
    client.continue_();
    client.expect_exit();
    client.disconnect();
}

/// With all of the run-time library inside the program, and with LLVM's.
fn throwing_with_other_libraries() -> Vec<Fixture> {
    let statically = Flags {
        extra: &["-static-libstdc++", "-static-libgcc", "-pthread"],
        ..Flags::new(Compiler::Gcc)
    };
    let llvm = Flags {
        extra: &["-stdlib=libc++", "-pthread"],
        ..Flags::new(Compiler::Clang)
    };
    let built = |flags| Fixture::build("cpp/throwing.cpp", flags).expect("a compiler");
    let mut fixtures = vec![built(statically)];
    if has_libcxx() {
        fixtures.push(built(llvm));
    }
    fixtures
}

#[test]
fn other_runtime_libraries() {
    for (fixture, compiler) in
        (throwing_with_other_libraries().into_iter()).zip([Compiler::Gcc, Compiler::Clang])
    {
        let filters = json!({"filters": ["cpp_throw", "cpp_catch"]});
        let (mut client, set) = start(&fixture, &["caught", "derived"], filters);
        for (filter, line) in ["derived", "catch"].into_iter().enumerate() {
            let stop = client.expect_stopped("exception");
            assert_eq!(stop["text"], "shop::Error: sold out", "{compiler:?}");
            assert_eq!(stop["hitBreakpointIds"], json!([set[filter]["id"]]));
            // clang has the beginning of a handler in the line where its block ends.
            if line != "catch" || compiler == Compiler::Gcc {
                assert_eq!(own_line(&mut client, &fixture), fixture.line(line));
            }
            client.continue_();
        }
        assert_eq!(client.expect_exit(), 0);
        client.disconnect();
        for how in ["uncaught", "noexcept"] {
            let filters = json!({"filters": ["cpp_uncaught"]});
            let (mut client, _) = start(&fixture, &[how, "derived"], filters);
            let stop = client.expect_stopped("exception");
            assert_eq!(stop["text"], "shop::Error: sold out", "{how} {compiler:?}");
            client.continue_();
            assert_eq!(client.expect_exit(), 128 + 6);
            client.disconnect();
        }
    }
}

/// No library at all, and no dynamic symbols.
#[test]
fn static_programs() {
    let flags = Flags {
        extra: &["-static"],
        pie: false,
        ..Flags::new(Compiler::Gcc)
    };
    let fixture = Fixture::build("cpp/exceptions.cpp", flags).expect("gcc is installed");
    let filters = json!({"filterOptions": [
        {"filterId": "cpp_throw", "condition": "std::exception"},
        {"filterId": "cpp_uncaught"},
    ]});
    let (mut client, set) = start(&fixture, &["throw"], filters);
    assert_eq!(
        set[0]["verified"], true,
        "it is all there from the beginning"
    );
    for _ in 0..2 {
        let stop = client.expect_stopped("exception");
        assert_eq!(stop["text"], "std::runtime_error: too large");
        assert_eq!(own_line(&mut client, &fixture), fixture.line("throw"));
        client.continue_();
    }
    let stop = client.expect_stopped("exception");
    assert_eq!(stop["hitBreakpointIds"], json!([set[1]["id"]]));
    assert_eq!(own_line(&mut client, &fixture), fixture.line("uncaught"));
    client.continue_();
    assert_eq!(client.expect_exit(), 128 + 6);
    client.disconnect();
}

#[test]
fn panics_stop_with_their_message() {
    let fixture = Fixture::of("rust/panics.rs");
    for (how, line, message) in [
        ("literal", "literal", "nothing to add"),
        ("formatted", "formatted", "12 is too many"),
        (
            "index",
            "index",
            "index out of bounds: the len is 0 but the index is 5",
        ),
        (
            "unwrap",
            "unwrap",
            "no number: ParseIntError { kind: InvalidDigit }",
        ),
        ("thread", "formatted", "13 is too many"),
    ] {
        let mut client = DapClient::spawn();
        client.launch(&fixture, json!({"args": [how]}));
        client.configure();
        let stop = client.expect_stopped("exception");
        assert_eq!(stop["description"], "Rust panic");
        assert_eq!(stop["text"], message);
        assert_eq!(own_line(&mut client, &fixture), fixture.line(line));
        // Editors select the first frame without a hint to skip it.
        let stack = client.stack();
        let first = stack
            .iter()
            .find(|frame| frame["presentationHint"] != "subtle");
        assert_eq!(
            first.expect("one")["line"],
            fixture.line(line),
            "{stack:#?}"
        );
        let info = info(&mut client);
        assert_eq!(info["exceptionId"], "panic");
        assert_eq!(info["details"]["message"], message);
        // The text folds what the library does, too.
        let text = info["details"]["stackTrace"].as_str().expect("a text");
        let place = format!("panics.rs:{}\n", fixture.line(line));
        let own = text
            .lines()
            .take(2)
            .any(|it| place.starts_with(it.rsplit('/').next().unwrap_or("?")));
        assert!(own && text.contains(" frames of libraries)\n"), "{text}");
        assert_eq!(client.evaluate("$exception"), format!("\"{message}\""));
        client.continue_();
        assert_eq!(client.expect_exit(), 0);
        assert!(client.output("stderr").contains(message));
        client.disconnect();
    }
}

#[test]
fn panics_are_chosen_by_their_message() {
    let fixture = Fixture::of("rust/panics.rs");
    for (condition, stops) in [
        ("too many", true),
        ("12 * many", true),
        ("too few", false),
        ("$exception == \"12 is too many\"", true),
        ("$exception == \"13 is too many\"", false),
    ] {
        let filters =
            json!({"filterOptions": [{"filterId": "rust_panic", "condition": condition}]});
        let (mut client, set) = start(&fixture, &["formatted"], filters);
        if stops {
            let stop = client.expect_stopped("exception");
            assert_eq!(
                stop["hitBreakpointIds"],
                json!([set[0]["id"]]),
                "{condition}"
            );
            client.continue_();
        }
        assert_eq!(client.expect_exit(), 0, "{condition}");
        client.disconnect();
    }
}

#[test]
fn uncaught_panic_ends_the_program() {
    let fixture = Fixture::of("rust/panics.rs");
    let (mut client, set) = start(&fixture, &["last"], json!({"filters": ["uncaught"]}));
    let stop = client.expect_stopped("exception");
    assert_eq!(stop["hitBreakpointIds"], json!([set[0]["id"]]));
    assert_eq!(stop["text"], "99 is too many");
    client.continue_();
    assert_eq!(client.expect_exit(), 101);
    client.disconnect();
    let (mut client, _) = start(&fixture, &["last"], json!({"filters": []}));
    assert_eq!(client.expect_exit(), 101);
    client.disconnect();
}

#[test]
fn filters_can_change_while_running() {
    let fixture = throwing();
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({"args": ["rethrown"]}));
    let first = set(&mut client, json!({"filters": ["cpp_throw"]}));
    client.configure();
    client.expect_stopped("exception");
    let both = set(&mut client, json!({"filters": ["cpp_catch", "cpp_throw"]}));
    assert_eq!(both[1]["id"], first[0]["id"], "what stays keeps its number");
    assert_eq!(both[0]["verified"], true);
    set(&mut client, json!({"filters": []}));
    client.continue_();
    assert_eq!(client.expect_exit(), 0);
    client.disconnect();
}

/// The program is started again: the filters are in force from its beginning.
#[test]
fn filters_outlive_a_restart() {
    let fixture = throwing();
    let filters = json!({"filters": ["cpp_throw", "cpp_uncaught"]});
    let (mut client, set) = start(&fixture, &["uncaught", "derived"], filters);
    for _ in 0..2 {
        for filter in &set {
            let stop = client.expect_stopped("exception");
            assert_eq!(stop["hitBreakpointIds"], json!([filter["id"]]));
            assert_eq!(stop["text"], "shop::Error: sold out");
            if filter["id"] == set[0]["id"] {
                client.continue_();
            }
        }
        client.request_ok("restart", json!({}));
    }
    client.expect_stopped("exception");
    client.disconnect();
}

/// Threads that stop by themselves each have their own.
#[test]
fn exceptions_belong_to_threads() {
    let fixture = throwing();
    let mut client = DapClient::spawn();
    let settings = json!({"args": ["thread", "derived"], "nonStop": true});
    client.launch(&fixture, settings);
    set(&mut client, json!({"filters": ["cpp_throw"]}));
    client.configure();
    let stop = client.wait_event("stopped");
    assert_eq!(stop["reason"], "exception");
    assert_eq!(stop["allThreadsStopped"], false);
    let thread = stop["threadId"].clone();
    let info = client.request_ok("exceptionInfo", json!({"threadId": thread}));
    assert_eq!(info["exceptionId"], "shop::Error");
    let pid = client.debuggee_pid();
    assert_ne!(thread, pid);
    let error = client.request_error("exceptionInfo", json!({"threadId": pid}));
    assert!(error.contains("is not stopped"), "{error}");
    client.disconnect();
}

/// The sanitizers of clang.
const ASAN: &str = match cfg!(target_arch = "x86_64") {
    true => "libclang_rt.asan-x86_64.a",
    false => "libclang_rt.asan-aarch64.a",
};
const UBSAN: &str = match cfg!(target_arch = "x86_64") {
    true => "libclang_rt.ubsan_standalone-x86_64.a",
    false => "libclang_rt.ubsan_standalone-aarch64.a",
};

fn has(compiler: &str, library: &str) -> bool {
    let run = Command::new(compiler)
        .arg(format!("-print-file-name={library}"))
        .output();
    let found = run.ok().and_then(|it| String::from_utf8(it.stdout).ok());
    let is_there = found.is_some_and(|path| Path::new(path.trim()).is_absolute());
    if !is_there {
        skips::skip(&format!("{library} of {compiler}"));
    }
    is_there
}

#[test]
fn sanitizer_stop_has_its_report() {
    for (compiler, library, flag, what, id, text) in [
        (
            Compiler::Gcc,
            "libasan.so",
            "-fsanitize=address",
            "memory",
            "AddressSanitizer",
            "heap-use-after-free",
        ),
        (
            Compiler::Gcc,
            "libubsan.so",
            "-fsanitize=undefined",
            "undefined",
            "UndefinedBehaviorSanitizer",
            "signed integer overflow: 2147483647 + 2 cannot be represented in type 'int'",
        ),
        (
            Compiler::Gcc,
            "libtsan.so",
            "-fsanitize=thread",
            "race",
            "ThreadSanitizer",
            "data race",
        ),
        (
            Compiler::Clang,
            ASAN,
            "-fsanitize=address",
            "memory",
            "AddressSanitizer",
            "heap-use-after-free",
        ),
        (
            Compiler::Clang,
            UBSAN,
            "-fsanitize=undefined",
            "undefined",
            "UndefinedBehaviorSanitizer",
            "signed integer overflow: 2147483647 + 2 cannot be represented in type 'int'",
        ),
    ] {
        let name = match compiler {
            Compiler::Clang => "clang",
            _ => "gcc",
        };
        if !has(name, library) {
            continue;
        }
        let flags = Flags {
            extra: Box::leak(Box::new([flag])),
            ..Flags::new(compiler)
        };
        let fixture = Fixture::build("c/sanitized.c", flags).expect("a compiler");
        let filters = json!({"filters": ["sanitizer"]});
        let (mut client, set) = start(&fixture, &[what], filters);
        let stop = client.expect_stopped("exception");
        assert_eq!(stop["hitBreakpointIds"], json!([set[0]["id"]]));
        assert_eq!(stop["description"], id);
        assert!(stop["text"].as_str().unwrap().starts_with(text), "{stop}");
        assert_eq!(own_line(&mut client, &fixture), fixture.line(what));
        let info = info(&mut client);
        assert_eq!(info["exceptionId"], id);
        if what == "memory" {
            let report = info["details"]["message"].as_str().expect("the report");
            assert!(report.contains("freed by thread"), "{report}");
        }
        client.continue_();
        client.expect_exit();
        client.disconnect();
    }
}

/// Payloads that the program makes itself are text, too, also when they are raised again.
#[test]
fn panics_with_payloads_of_their_own() {
    let fixture = Fixture::of("rust/payloads.rs");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({}));
    client.configure();
    for message in ["own text", "static text", "again, owned"] {
        let stop = client.expect_stopped("exception");
        assert_eq!(stop["text"], message);
        client.continue_();
    }
    // Others show their type and value.
    for (name, value) in [
        ("i32", "42"),
        ("alloc::boxed::Box<", "boxed error"),
        ("payloads::Failure", "Failure {code: 3, place: \"here\"}"),
        ("payloads::Failure", "Failure {code: 3, place: \"here\"}"),
        ("payloads::Cause", "Known(5)"),
        ("()", "()"),
    ] {
        client.expect_stopped("exception");
        let info = info(&mut client);
        let details = &info["details"];
        let found = details["typeName"].as_str().unwrap_or_default();
        assert!(found.starts_with(name), "{name}: {info}");
        let message = details["message"].as_str().unwrap_or_default();
        assert!(message.contains(value), "{value}: {info}");
        let description = info["description"].as_str().unwrap_or_default();
        assert!(description.contains(message), "{info}");
        let evaluated = client.evaluate("$exception");
        assert_eq!(evaluated, message);
        client.continue_();
    }
    assert_eq!(client.expect_exit(), 0);
    client.disconnect();
}
