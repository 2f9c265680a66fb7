//! Breakpoints: where they land, when they stop, what they print.

use serde_json::{Value, json};
use stillpoint_tests::{Compiler, DapClient, Fixture, Flags, MACHINE, matrix};

/// Runs `c/loop.c` with one breakpoint on `body`; returns the values of `i` at its stops.
fn stops_of(breakpoint: Value) -> Vec<String> {
    let fixture = Fixture::of("c/loop.c");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({}));
    let set = client.set_breakpoints_with(&fixture, vec![("body", breakpoint)]);
    assert_eq!(set[0]["verified"], true, "{}", set[0]);
    client.configure();
    let mut stops = Vec::new();
    loop {
        let event = client.wait_event_of(&["stopped", "exited"]);
        if event["body"]["exitCode"].is_number() {
            break;
        }
        client.select_thread(event["body"]["threadId"].as_i64().expect("a thread"));
        stops.push(client.evaluate("i"));
        client.continue_();
    }
    client.disconnect();
    stops
}

#[test]
fn plain() {
    assert_eq!(stops_of(json!({})), ["0", "1", "2", "3", "4"]);
}

#[test]
fn conditions() {
    assert_eq!(stops_of(json!({"condition": "i == 3"})), ["3"]);
    assert_eq!(
        stops_of(json!({"condition": "i >= 2 && i < 4"})),
        ["2", "3"]
    );
    assert_eq!(stops_of(json!({"condition": "i * scale == 40"})), ["4"]);
    assert_eq!(stops_of(json!({"condition": "i"})), ["1", "2", "3", "4"]);
    assert_eq!(stops_of(json!({"condition": "0"})), [""; 0]);
    assert_eq!(stops_of(json!({"condition": ""})).len(), 5);
}

#[test]
fn hit_conditions() {
    assert_eq!(stops_of(json!({"hitCondition": "3"})), ["2"]);
    assert_eq!(stops_of(json!({"hitCondition": "== 3"})), ["2"]);
    assert_eq!(stops_of(json!({"hitCondition": ">= 3"})), ["2", "3", "4"]);
    assert_eq!(stops_of(json!({"hitCondition": "> 3"})), ["3", "4"]);
    assert_eq!(stops_of(json!({"hitCondition": "% 2"})), ["1", "3"]);
    assert_eq!(stops_of(json!({"hitCondition": " >=4 "})), ["3", "4"]);
}

#[test]
fn hits_count_where_the_condition_holds() {
    let both = json!({"condition": "i % 2 == 0", "hitCondition": "2"});
    assert_eq!(stops_of(both), ["2"]);
}

#[test]
fn invalid_conditions_are_reported() {
    let fixture = Fixture::of("c/loop.c");
    let mut client = DapClient::stopped_at(&fixture, "main");
    for bad in [
        json!({"condition": "DEI@@++"}),
        json!({"hitCondition": "often"}),
        json!({"hitCondition": "% 0"}),
    ] {
        let set = client.set_breakpoints_with(&fixture, vec![("body", bad)]);
        assert_eq!(set[0]["verified"], false);
        assert_ne!(set[0]["message"].as_str().unwrap_or_default(), "");
    }
    client.disconnect();
}

#[test]
fn failing_condition_stops_with_its_error() {
    let fixture = Fixture::of("c/loop.c");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({}));
    client.set_breakpoints_with(
        &fixture,
        vec![("body", json!({"condition": "nowhere > 1"}))],
    );
    client.configure();
    client.expect_stopped("breakpoint");
    client.wait_event_where("output", |body| {
        body["output"]
            .as_str()
            .is_some_and(|text| text.contains("nowhere"))
    });
    client.disconnect();
}

#[test]
fn log_messages() {
    let fixture = Fixture::of("c/loop.c");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({}));
    client.set_breakpoints_with(
        &fixture,
        vec![
            (
                "body_return",
                json!({"logMessage": "i={i}, product={product} \\{i\\}"}),
            ),
            ("print", json!({"logMessage": "{nowhere} end"})),
            (
                "after_call",
                json!({"logMessage": "never", "condition": "i > 10"}),
            ),
        ],
    );
    client.configure();
    assert_eq!(client.expect_exit(), 0);
    assert_eq!(client.count_events("stopped"), 0);
    let text = client.output("console");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "i=0, product=0 {i}");
    assert_eq!(lines[4], "i=4, product=40 {i}");
    assert_eq!(lines.len(), 6, "{text}");
    assert!(lines[5].ends_with(" end"), "{text}");
    assert!(text.ends_with('\n'));
    client.disconnect();
}

#[test]
fn function_breakpoints() {
    let fixture = Fixture::of("c/loop.c");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({}));
    let set = client.set_function_breakpoints(&["body", "nowhere"]);
    assert_eq!(set[0]["verified"], true);
    assert_eq!(set[1]["verified"], false);
    assert_ne!(set[1]["message"].as_str().unwrap_or_default(), "");
    client.configure();
    let stop = client.expect_stopped("function breakpoint");
    assert_eq!(stop["hitBreakpointIds"], json!([set[0]["id"]]));
    // After the prologue the arguments are there.
    client.expect_line(&fixture, "body");
    assert_eq!(client.evaluate("scale"), "10");
    client.set_function_breakpoints(&[]);
    client.continue_();
    client.expect_exit();
    client.disconnect();
}

#[test]
fn function_breakpoints_of_cpp_and_rust() {
    for (source, name, line) in [
        ("cpp/classes.cpp", "geometry::Rectangle::area", "area"),
        ("cpp/classes.cpp", "larger", "template"),
        ("cpp/classes.cpp", "overloaded", "overloaded_int"),
        ("rust/enums.rs", "describe", "match"),
        ("rust/enums.rs", "enums::describe", "match"),
        ("rust/println.rs", "square", "square"),
    ] {
        let fixture = Fixture::of(source);
        let mut client = DapClient::spawn();
        client.launch(&fixture, json!({}));
        let set = client.set_function_breakpoints(&[name]);
        assert_eq!(set[0]["verified"], true, "{name}");
        client.configure();
        client.expect_stopped("function breakpoint");
        client.expect_line(&fixture, line);
        client.disconnect();
    }
}

#[test]
fn every_stop_names_its_breakpoints() {
    let fixture = Fixture::of("c/loop.c");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({}));
    let line = client.set_breakpoints(&fixture, &["body"]);
    let function = client.set_function_breakpoints(&["body"]);
    client.configure();
    let stop = client.wait_event("stopped");
    let mut ids: Vec<i64> = stop["hitBreakpointIds"]
        .as_array()
        .expect("ids")
        .iter()
        .filter_map(Value::as_i64)
        .collect();
    ids.sort_unstable();
    let mut expected = [line[0]["id"].as_i64(), function[0]["id"].as_i64()].map(Option::unwrap);
    expected.sort_unstable();
    assert_eq!(ids, expected);
    client.disconnect();
}

#[test]
fn response_has_ids_and_lines() {
    let fixture = Fixture::of("c/loop.c");
    let mut client = DapClient::stopped_at(&fixture, "main");
    let first = client.set_breakpoints(&fixture, &["body", "print"]);
    for (breakpoint, marker) in first.iter().zip(["body", "print"]) {
        assert_eq!(breakpoint["verified"], true);
        assert_eq!(breakpoint["line"], fixture.line(marker));
        let address = breakpoint["instructionReference"]
            .as_str()
            .expect("an address");
        assert!(address.starts_with("0x"), "{address}");
    }
    // Unchanged ones keep their ids, also with another condition and in another order.
    let second = client.set_breakpoints_with(
        &fixture,
        vec![
            ("print", json!({})),
            ("after_call", json!({})),
            ("body", json!({"condition": "i == 2"})),
        ],
    );
    assert_eq!(second[0]["id"], first[1]["id"]);
    assert_eq!(second[2]["id"], first[0]["id"]);
    assert_ne!(second[1]["id"], first[0]["id"]);
    assert_ne!(second[1]["id"], first[1]["id"]);
    assert_eq!(
        client.count_events("breakpoint"),
        0,
        "the replies contain it all"
    );
    client.disconnect();
}

#[test]
fn lines_without_code_move_to_the_next_line() {
    let fixture = Fixture::of("c/loop.c");
    let mut client = DapClient::stopped_at(&fixture, "main");
    let path = fixture.source.to_str().expect("UTF-8").to_owned();
    let line = fixture.line("print");
    // The line before is a closing brace without code of its own.
    let set = client.set_source_breakpoints(&path, vec![json!({"line": line - 1})]);
    assert_eq!(set[0]["verified"], true);
    assert!(
        set[0]["line"] == line || set[0]["line"] == line - 1,
        "{}",
        set[0]
    );
    let beyond = client.set_source_breakpoints(&path, vec![json!({"line": 100_000})]);
    assert_eq!(
        beyond[0]["verified"], false,
        "never into something far away"
    );
    assert_ne!(beyond[0]["message"].as_str().unwrap_or_default(), "");
    let nowhere = client.set_source_breakpoints("/no/such/file.c", vec![json!({"line": 1})]);
    assert_eq!(nowhere[0]["verified"], false);
    client.disconnect();
}

#[test]
fn paths_as_the_user_types_them() {
    let fixture = Fixture::of("c/loop.c");
    for path in ["loop.c", "c/loop.c", "fixtures/c/loop.c", "./loop.c"] {
        let mut client = DapClient::spawn();
        client.launch(&fixture, json!({}));
        let line = fixture.line("body");
        let set = client.set_source_breakpoints(path, vec![json!({"line": line})]);
        assert_eq!(set[0]["verified"], true, "{path}");
        client.configure();
        client.expect_stopped("breakpoint");
        client.expect_line(&fixture, "body");
        client.disconnect();
    }
    // Another folder's file of the same name is another file.
    let mut client = DapClient::stopped_at(&fixture, "main");
    let set = client.set_source_breakpoints("/elsewhere/loop.c", vec![json!({"line": 5})]);
    assert_eq!(set[0]["verified"], false);
    client.disconnect();
}

#[test]
fn breakpoints_are_kept_by_path_as_spelled() {
    let fixture = Fixture::of("c/loop.c");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({}));
    // debugger-cli keeps the two spellings of one file as two sources.
    let line = fixture.line("print");
    client.set_source_breakpoints("loop.c", vec![json!({"line": line})]);
    client.set_breakpoints(&fixture, &["body"]);
    client.set_breakpoints(&fixture, &[]);
    client.configure();
    client.expect_stopped("breakpoint");
    client.expect_line(&fixture, "print");
    client.disconnect();
}

#[test]
fn no_list_means_none() {
    let fixture = Fixture::of("c/loop.c");
    let mut client = DapClient::stopped_at(&fixture, "body");
    let body = client.request_ok(
        "setBreakpoints",
        json!({"source": {"path": fixture.source}}),
    );
    assert_eq!(body["breakpoints"], json!([]));
    client.continue_();
    client.expect_exit();
    client.disconnect();
}

#[test]
fn the_old_list_of_lines() {
    let fixture = Fixture::of("c/loop.c");
    let mut client = DapClient::stopped_at(&fixture, "main");
    let body = client.request_ok(
        "setBreakpoints",
        json!({"source": {"path": fixture.source}, "lines": [fixture.line("body")]}),
    );
    assert_eq!(body["breakpoints"][0]["verified"], true);
    client.continue_to(&fixture, "body");
    client.disconnect();
}

#[test]
fn set_while_running() {
    let fixture = Fixture::of("c/spin.c");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({}));
    client.configure();
    client.wait_event("process");
    for _ in 0..5 {
        let set = client.set_breakpoints(&fixture, &["beat"]);
        assert_eq!(set[0]["verified"], true);
        client.expect_stopped("breakpoint");
        client.expect_line(&fixture, "beat");
        client.continue_();
        client.expect_stopped("breakpoint");
        client.continue_();
        client.set_breakpoints(&fixture, &[]);
        // One more stop may have been under way.
        client.request_ok("threads", Value::Null);
        client.drain_stops();
    }
    client.pause();
    client.disconnect();
}

#[test]
fn one_breakpoint_covers_all_locations_of_a_line() {
    let fixture = Fixture::of("cpp/inlines.cpp");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({}));
    let set = client.set_breakpoints(&fixture, &["template"]);
    client.configure();
    for expected in ["1", "1.5", "4"] {
        let stop = client.expect_stopped("breakpoint");
        assert_eq!(stop["hitBreakpointIds"], json!([set[0]["id"]]));
        client.expect_line(&fixture, "template");
        assert_eq!(client.evaluate("value"), expected);
        client.continue_();
    }
    client.expect_exit();
    client.disconnect();
}

#[test]
fn inlined_locations() {
    for compiler in [Compiler::Gcc, Compiler::Clang] {
        let flags = Flags::new(compiler).optimized("1");
        let Some(fixture) = Fixture::build("cpp/inlines.cpp", flags) else {
            continue;
        };
        let mut client = DapClient::spawn();
        client.launch(&fixture, json!({}));
        client.set_breakpoints(&fixture, &["inlined"]);
        client.configure();
        for marker in ["first", "second", "third"] {
            client.expect_stopped("breakpoint");
            let frames = client.stack();
            assert!(
                frames[0]["name"]
                    .as_str()
                    .is_some_and(|name| name.contains("touch"))
            );
            assert_eq!(frames[0]["line"], fixture.line("inlined"));
            assert_eq!(frames[1]["line"], fixture.line(marker), "{marker}");
            client.continue_();
        }
        client.expect_exit();
        client.disconnect();
    }
}

#[test]
fn optimized_inline_functions() {
    for compiler in [Compiler::Gcc, Compiler::Clang] {
        let flags = Flags::new(compiler).optimized("2");
        let Some(fixture) = Fixture::build("c/inline.c", flags) else {
            continue;
        };
        let mut client = DapClient::spawn();
        client.launch(&fixture, json!({}));
        client.set_breakpoints(&fixture, &["innermost"]);
        client.configure();
        for caller in ["first", "second"] {
            client.expect_stopped("breakpoint");
            let frames = client.stack();
            let names: Vec<&str> = frames
                .iter()
                .filter_map(|frame| frame["name"].as_str())
                .map(|name| name.split_whitespace().next().unwrap_or_default())
                .collect();
            assert_eq!(names[..4], ["innermost", "middle", "outer", "main"]);
            let lines: Vec<&Value> = frames.iter().map(|frame| &frame["line"]).collect();
            assert_eq!(*lines[0], fixture.line("innermost"));
            assert_eq!(*lines[1], fixture.line("middle"));
            assert_eq!(*lines[2], fixture.line("outer"));
            assert_eq!(*lines[3], fixture.line(caller));
            client.continue_();
        }
        client.expect_exit();
        client.disconnect();
    }
}

/// A line that the compiler split into several ranges stops once a pass.
fn stops_once_a_pass(source: &str, marker: &str, passes: usize) {
    for flags in matrix(source) {
        let Some(fixture) = Fixture::build(source, flags) else {
            continue;
        };
        let mut client = DapClient::spawn();
        client.launch(&fixture, json!({}));
        client.set_breakpoints(&fixture, &[marker]);
        client.configure();
        let mut stops = 0;
        loop {
            let event = client.wait_event_of(&["stopped", "exited"]);
            if event["event"] == "exited" {
                break;
            }
            stops += 1;
            client.select_thread(event["body"]["threadId"].as_i64().expect("a thread"));
            client.expect_line(&fixture, marker);
            client.continue_();
        }
        assert_eq!(stops, passes, "{source} {marker} {flags:?}");
        client.disconnect();
    }
}

#[test]
fn a_println_stops_once() {
    stops_once_a_pass("rust/println.rs", "println", 3);
    stops_once_a_pass("rust/println.rs", "last", 1);
}

#[test]
fn a_checked_sum_stops_once() {
    for marker in ["price", "sum", "index"] {
        stops_once_a_pass("rust/overflow.rs", marker, 3);
    }
}

#[test]
fn a_split_call_stops_once() {
    stops_once_a_pass("c/many_arguments.c", "after", 3);
    stops_once_a_pass("c/many_arguments.c", "two_statements", 1);
}

#[test]
fn a_call_over_many_lines() {
    for flags in matrix("c/many_arguments.c") {
        let Some(fixture) = Fixture::build("c/many_arguments.c", flags) else {
            continue;
        };
        let mut client = DapClient::stopped_at(&fixture, "split");
        for _ in 0..2 {
            client.continue_to(&fixture, "split");
        }
        client.continue_();
        client.expect_exit();
        client.disconnect();
    }
}

#[test]
fn a_for_header() {
    // Setting up and going round are different instructions of one line: a stop each time the
    // header is passed, which is once to begin with and once after each of the five rounds.
    for flags in matrix("c/loop.c") {
        let Some(fixture) = Fixture::build("c/loop.c", flags) else {
            continue;
        };
        let mut client = DapClient::stopped_at(&fixture, "loop");
        client.set_breakpoints(&fixture, &["loop", "call"]);
        let mut visits = Vec::new();
        loop {
            client.continue_();
            let event = client.wait_event_of(&["stopped", "exited"]);
            if event["event"] == "exited" {
                break;
            }
            visits.push(client.top_line() == fixture.line("call"));
        }
        let calls = visits.iter().filter(|call| **call).count();
        assert_eq!(calls, 5, "{flags:?}");
        assert!(
            visits.windows(2).all(|pair| pair[0] || pair[1]),
            "two stops at the header in a row: {flags:?} {visits:?}"
        );
        client.disconnect();
    }
}

#[test]
fn function_starting_with_inlined_call_stops_in_itself() {
    let fixture = Fixture::of("rust/inline_first.rs");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({}));
    let set = client.set_function_breakpoints(&["inline_first::scale"]);
    assert_eq!(set[0]["line"], fixture.line("first"));
    client.configure();
    client.expect_stopped("function breakpoint");
    let frames = client.stack();
    assert_eq!(frames[0]["name"], "inline_first::scale");
    assert_eq!(frames[1]["name"], "inline_first::main");
    client.expect_line(&fixture, "first");
    assert_eq!(client.evaluate("factor + count"), "9");
    client.next();
    client.expect_line(&fixture, "second");
    assert_eq!(client.evaluate("scaled"), "23");
    client.continue_();
    client.expect_exit();
    client.disconnect();
}

/// What `counter` is set to at the stops in `set_counter` under a condition.
fn sets_of(fixture: &Fixture, mode: &str, breakpoint: Value) -> Vec<String> {
    let mut client = DapClient::spawn();
    client.launch(fixture, json!({"args": [mode]}));
    let set = client.set_breakpoints_with(fixture, vec![("set", breakpoint)]);
    assert_eq!(set[0]["verified"], true, "{}", set[0]);
    client.configure();
    let mut values = Vec::new();
    loop {
        let event = client.wait_event_of(&["stopped", "exited"]);
        if event["event"] == "exited" {
            client.disconnect();
            return values;
        }
        assert_eq!(event["body"]["text"], Value::Null, "{event}");
        client.select_thread(event["body"]["threadId"].as_i64().expect("a thread"));
        values.push(client.evaluate("value"));
        client.continue_();
    }
}

#[test]
fn conditions_test_the_caller() {
    let fixture = Fixture::of("c/watch.c");
    let sets = |condition: &str| sets_of(&fixture, "", json!({"condition": condition}));
    assert_eq!(sets("$caller_is(\"other_way\")"), ["5"]);
    assert_eq!(sets("!$caller_is(\"other_way\")"), ["4", "4", "6"]);
    assert_eq!(sets("$caller_is(\"main\", 2)"), ["5"]);
    assert_eq!(sets("$caller_is(\"set_counter\", 0) && value == 6"), ["6"]);
    assert_eq!(sets("$any_caller_is(\"main\")").len(), 4);
    assert_eq!(sets("$_any_caller_is(\"nobody\")"), [""; 0]);
}

#[test]
fn conditions_test_the_thread() {
    let fixture = Fixture::of("c/watch.c");
    let sets = |condition: &str| sets_of(&fixture, "thread", json!({"condition": condition}));
    assert_eq!(sets("$thread_name == \"watch\""), ["77"]);
    assert_eq!(sets("$thread_name == \"other\""), [""; 0]);
    let mut client = DapClient::stopped_with(&fixture, "main", json!({"args": ["thread"]}));
    let main = client.thread();
    assert_eq!(client.evaluate("$thread"), main.to_string());
    let others = json!({"condition": format!("$thread != {main}")});
    client.set_breakpoints_with(&fixture, vec![("set", others)]);
    client.continue_();
    client.expect_stopped("breakpoint");
    assert_ne!(client.thread(), main);
    let mine = json!({"condition": format!("$thread == {main}")});
    client.set_breakpoints_with(&fixture, vec![("set", mine)]);
    client.continue_();
    assert_eq!(client.expect_exit(), 0);
    client.disconnect();
}

#[test]
fn once() {
    let fixture = Fixture::of("c/watch.c");
    assert_eq!(
        sets_of(&fixture, "", json!({"hitCondition": "once"})),
        ["4"]
    );
    let both = json!({"condition": "value > 4", "hitCondition": "once"});
    assert_eq!(sets_of(&fixture, "", both), ["5"]);
    // Sent again unchanged, it keeps its state; changed, it is hit again.
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({}));
    let once = || json!({"hitCondition": "once"});
    let first = client.set_breakpoints_with(&fixture, vec![("set", once())]);
    client.configure();
    client.expect_stopped("breakpoint");
    let event =
        client.wait_event_where("breakpoint", |body| body["breakpoint"]["verified"] == false);
    assert_eq!(event["breakpoint"]["id"], first[0]["id"]);
    let again = client.set_breakpoints_with(&fixture, vec![("set", once()), ("call", json!({}))]);
    assert_eq!(again[0]["id"], first[0]["id"]);
    assert_eq!(again[0]["verified"], false);
    client.continue_();
    client.expect_stopped("breakpoint");
    client.expect_line(&fixture, "call");
    let changed = client.set_breakpoints(&fixture, &["set"]);
    assert_eq!(changed[0]["id"], first[0]["id"]);
    assert_eq!(changed[0]["verified"], true);
    client.continue_();
    client.expect_stopped("breakpoint");
    assert_eq!(client.evaluate("value"), "6");
    client.disconnect();
}

#[test]
fn by_debug_registers() {
    let fixture = Fixture::of("c/watch.c");
    let hardware = || json!({"mode": "hardware"});
    assert_eq!(sets_of(&fixture, "", hardware()), ["4", "4", "5", "6"]);
    assert_eq!(sets_of(&fixture, "thread", hardware()), ["77"]);
    let condition = json!({"mode": "hardware", "condition": "value == 5"});
    assert_eq!(sets_of(&fixture, "", condition), ["5"]);

    // Nothing is written into the code, and steps end at it as at any other.
    let mut client = DapClient::stopped_at(&fixture, "main");
    let places = vec![("helper", hardware()), ("helper_end", hardware())];
    let set = client.set_breakpoints_with(&fixture, places);
    let pid = client.debuggee_pid();
    let at = set[0]["instructionReference"].as_str().expect("an address");
    let at = u64::from_str_radix(&at[2..], 16).expect("hexadecimal");
    let byte = memory_byte(pid, at + MACHINE.breakpoint.len() as u64 - 1);
    assert_ne!(Some(&byte), MACHINE.breakpoint.last());
    client.continue_();
    let stop = client.expect_stopped("breakpoint");
    assert_eq!(stop["hitBreakpointIds"], json!([set[0]["id"]]));
    client.next();
    let thread = client.thread();
    client.request_ok("next", json!({"threadId": thread}));
    let stop = client.expect_stopped("breakpoint");
    assert_eq!(stop["hitBreakpointIds"], json!([set[1]["id"]]));
    client.continue_();
    client.expect_stopped("breakpoint");
    assert_eq!(client.evaluate("n"), "2");
    client.disconnect();
}

fn memory_byte(pid: i32, addr: u64) -> u8 {
    use std::os::unix::fs::FileExt;
    let memory = std::fs::File::open(format!("/proc/{pid}/mem")).expect("/proc/PID/mem");
    let mut byte = [0];
    memory.read_exact_at(&mut byte, addr).expect("a byte");
    byte[0]
}

#[test]
fn debug_registers_run_out_after_four() {
    let fixture = Fixture::of("c/watch.c");
    let mut client = DapClient::stopped_at(&fixture, "main");
    let hardware = || json!({"mode": "hardware"});
    let markers = ["set", "other_way", "read", "second", "helper", "call"];
    let places = markers.iter().map(|it| (*it, hardware())).collect();
    let set = client.set_breakpoints_with(&fixture, places);
    assert!(set[..4].iter().all(|it| it["verified"] == true), "{set:?}");
    for left_out in &set[4..] {
        assert_eq!(left_out["verified"], false);
        let message = left_out["message"].as_str().expect("a message");
        assert!(message.contains("out of debug registers"), "{message}");
    }
    // Removing one frees its debug register.
    let places = markers[2..].iter().map(|it| (*it, hardware())).collect();
    let fewer = client.set_breakpoints_with(&fixture, places);
    assert!(fewer.iter().all(|it| it["verified"] == true), "{fewer:?}");
    client.continue_to(&fixture, "read");
    client.continue_to(&fixture, "second");
    client.continue_to(&fixture, "call");
    client.continue_to(&fixture, "helper");
    client.disconnect();
}

#[test]
fn trap_of_the_program_stops_and_can_be_resumed() {
    let fixture = Fixture::of("c/trap.c");
    for with_breakpoint in [false, true] {
        let mut client = DapClient::spawn();
        client.launch(&fixture, json!({}));
        if with_breakpoint {
            client.set_breakpoints(&fixture, &["trap"]);
        }
        client.configure();
        for passed in ["0", "1"] {
            if with_breakpoint {
                client.expect_stopped("breakpoint");
                client.expect_line(&fixture, "trap");
                client.continue_();
            }
            let stop = client.expect_stopped("exception");
            assert_eq!(stop["description"], "signal SIGTRAP");
            client.expect_line(&fixture, "behind");
            assert_eq!(client.evaluate("passed"), passed);
            client.continue_();
        }
        assert_eq!(client.expect_exit(), 2);
        client.disconnect();
    }
}
