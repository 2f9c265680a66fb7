//! Past stops: each stop is kept as a copy of the process, which can be shown later.

use nix::sys::signal::Signal;
use serde_json::{Value, json};
use std::io::Write;
use stillpoint_tests::process::{Debuggee, children, ends, limit_files, send_signal, tracer_of};
use stillpoint_tests::{Agent, DapClient, Fixture, assert_contains};

/// Goes to another stop by a request, and returns the event.
fn go(client: &mut DapClient, request: &str) -> Value {
    let thread = client.thread();
    client.request_ok(request, json!({"threadId": thread}));
    client.expect_stopped("goto")
}

/// Shows a stop. The former one ends for the client, as the request is no resume of the specification.
fn visit(client: &mut DapClient, number: Option<i64>) {
    let before = client.count_events("continued");
    client.request_ok("stillpoint/visitStop", json!({"number": number}));
    assert_eq!(client.count_events("continued"), before + 1);
    client.expect_stopped("goto");
}

fn stops(client: &mut DapClient) -> Vec<Value> {
    let body = client.request_ok("stillpoint/pastStops", json!({}));
    body["stops"].as_array().expect("an array").clone()
}

/// The output of a console command.
fn shown(client: &mut DapClient, command: &str) -> String {
    let evaluate = json!({"expression": command, "context": "repl"});
    let body = client.request_ok("evaluate", evaluate);
    body["result"].as_str().expect("a text").to_owned()
}

fn values<const N: usize>(client: &mut DapClient, expressions: [&str; N]) -> [String; N] {
    expressions.map(|expression| client.evaluate(expression))
}

/// Steps over from a stop that is kept for certain: short ones are not.
fn next(client: &mut DapClient) {
    stops(client);
    client.next();
}

/// Resumes from a stop that is kept for certain, and waits for the next breakpoint.
fn continue_to(client: &mut DapClient, fixture: &Fixture, marker: &str) {
    stops(client);
    client.continue_to(fixture, marker);
}

/// The announcements of `supportsStepBack` so far.
fn announced(client: &DapClient) -> Vec<bool> {
    let events = client
        .history()
        .iter()
        .filter(|it| it["event"] == "capabilities");
    events
        .filter_map(|it| it["body"]["capabilities"]["supportsStepBack"].as_bool())
        .collect()
}

#[test]
fn steps_are_taken_back_one_by_one() {
    let fixture = Fixture::of("c/past.c");
    let mut client = DapClient::stopped_at(&fixture, "linked");
    let mut seen = Vec::new();
    for marker in ["linked", "listed", "count", "own"] {
        client.expect_line(&fixture, marker);
        if marker == "linked" {
            assert!(client.try_evaluate("list->value").is_err(), "no list yet");
            seen.push([client.evaluate("counter"), client.evaluate("of_thread")]);
        }
        next(&mut client);
    }
    assert_eq!(
        values(&mut client, ["counter", "of_thread", "list->value"]),
        ["1", "8", "1"]
    );
    assert_eq!(announced(&client), [true]);
    let event = go(&mut client, "stepBack");
    let description = event["description"].as_str().expect("a text");
    assert_eq!(description, "Past stop 4 of 5", "{event}");
    client.expect_line(&fixture, "own");
    assert_eq!(values(&mut client, ["counter", "of_thread"]), ["1", "7"]);
    go(&mut client, "stepBack");
    client.expect_line(&fixture, "count");
    assert_eq!(values(&mut client, ["counter", "list->value"]), ["0", "1"]);
    assert_eq!(client.locals()["value"], "1");
    go(&mut client, "stepBack");
    go(&mut client, "stepBack");
    client.expect_line(&fixture, "linked");
    assert!(client.try_evaluate("list->value").is_err(), "no list yet");
    assert_eq!(
        [client.evaluate("counter"), client.evaluate("of_thread")],
        seen[0]
    );
    assert_eq!(client.function_names()[..2], ["add", "main"]);
    let why = client.request_error("stepBack", json!({"threadId": client.thread()}));
    assert!(why.contains("first stop"), "{why}");
    // Forward again, to the present, and on.
    for marker in ["listed", "count", "own"] {
        go(&mut client, "next");
        client.expect_line(&fixture, marker);
    }
    let event = go(&mut client, "stepIn");
    assert_eq!(event["description"], "Back in the present", "{event}");
    assert_eq!(values(&mut client, ["counter", "of_thread"]), ["1", "8"]);
    next(&mut client);
    assert_eq!(client.evaluate("name"), "\"item1\"");
    client.set_breakpoints(&fixture, &[]);
    client.continue_();
    assert_eq!(client.expect_exit(), 0);
    assert_eq!(client.output("stdout"), "10 6 1\n");
}

#[test]
fn stops_far_apart_are_visited_by_reverse_continue_and_by_number() {
    let fixture = Fixture::of("c/past.c");
    let mut client = DapClient::stopped_at(&fixture, "added");
    for counter in ["1", "3"] {
        assert_eq!(client.evaluate("counter"), counter);
        continue_to(&mut client, &fixture, "added");
    }
    assert_eq!(client.evaluate("counter"), "6");
    let why = client.request_error("stepBack", json!({"threadId": client.thread()}));
    assert!(why.contains("reverse-continue"), "{why}");
    let listed = stops(&mut client);
    let flags: Vec<(i64, bool, bool)> = listed
        .iter()
        .map(|stop| {
            assert_eq!(stop["reason"], "breakpoint", "{stop}");
            assert_eq!(stop["reachedBy"], "run", "{stop}");
            let number = stop["number"].as_i64().expect("a number");
            (number, stop["isPresent"] == true, stop["isShown"] == true)
        })
        .collect();
    assert_eq!(
        flags,
        [(1, false, false), (2, false, false), (3, true, true)]
    );
    assert_eq!(listed[0]["function"], "add");
    assert_eq!(listed[0]["line"], fixture.line("added"));
    for counter in ["3", "1"] {
        go(&mut client, "reverseContinue");
        assert_eq!(client.evaluate("counter"), counter);
    }
    client.request_error("reverseContinue", json!({"threadId": client.thread()}));
    assert_eq!(client.evaluate("list->value"), "1");
    go(&mut client, "continue");
    assert_eq!(client.evaluate("counter"), "3");
    visit(&mut client, None);
    assert_eq!(client.evaluate("counter"), "6");
    visit(&mut client, Some(2));
    assert_eq!(
        values(&mut client, ["counter", "list->next->value"]),
        ["3", "1"]
    );
    let why = client.request_error("stillpoint/visitStop", json!({"number": 77}));
    assert!(why.contains("not kept"), "{why}");
    assert_eq!(client.evaluate("counter"), "3", "nothing has moved");
    // What differs, and in words.
    let changes = client.request_ok("stillpoint/pastChanges", json!({"from": 1, "to": 3}));
    let globals = changes["globals"].as_array().expect("an array");
    let counter = globals
        .iter()
        .find(|it| it["name"] == "counter")
        .expect("it has changed");
    assert_eq!(
        (&counter["before"], &counter["after"]),
        (&json!("1"), &json!("6"))
    );
    let main = &changes["frames"][1];
    assert_eq!(main["function"], "main", "{changes}");
    assert_eq!(main["variables"][0]["name"], "total", "{changes}");
    assert_eq!(client.evaluate("counter"), "3", "the same stop is shown");
    let text = shown(&mut client, ":past");
    assert!(
        text.contains("*    2  breakpoint in add, past.c:"),
        "{text}"
    );
    let text = shown(&mut client, ":past diff 1 2");
    assert!(text.contains("counter: 1 → 3"), "{text}");
    let before = client.count_events("continued");
    shown(&mut client, ":past 1");
    assert_eq!(client.count_events("continued"), before + 1);
    client.expect_stopped("goto");
    assert_eq!(client.evaluate("counter"), "1");
    shown(&mut client, ":past present");
    client.expect_stopped("goto");
    client.set_breakpoints(&fixture, &[]);
    client.continue_();
    assert_eq!(client.expect_exit(), 0);
}

#[test]
fn the_past_cannot_be_changed_and_the_present_can() {
    let fixture = Fixture::of("c/past.c");
    let mut client = DapClient::stopped_at(&fixture, "count");
    next(&mut client);
    go(&mut client, "stepBack");
    for expression in ["counter = 9", "add(1)", "counter++"] {
        let why = client.try_evaluate(expression).expect_err("refused");
        assert!(why.contains("past stop"), "{expression}: {why}");
    }
    let locals = client.scope("Locals");
    let reference = locals["variablesReference"].as_i64().expect("a scope");
    let set = json!({"variablesReference": reference, "name": "value", "value": "5"});
    let why = client.request_error("setVariable", set);
    assert!(why.contains("past stop"), "{why}");
    // Breakpoints are those of the program.
    client.set_breakpoints(&fixture, &["call", "end"]);
    assert_eq!(client.evaluate("counter"), "0", "the past is still shown");
    let text = shown(&mut client, ":trace past.c:24 count()");
    assert!(text.contains("count()"), "{text}");
    assert_eq!(client.evaluate("counter"), "0");
    visit(&mut client, None);
    assert_eq!(client.evaluate("counter"), "1");
    continue_to(&mut client, &fixture, "call");
    go(&mut client, "reverseContinue");
    // A stop is kept as the program leaves it.
    visit(&mut client, None);
    client.evaluate("counter = 100");
    continue_to(&mut client, &fixture, "call");
    go(&mut client, "reverseContinue");
    assert_eq!(client.evaluate("counter"), "100");
    go(&mut client, "continue");
    assert_eq!(client.evaluate("counter"), "102");
    client.set_breakpoints(&fixture, &[]);
    client.continue_();
    assert_eq!(client.expect_exit(), 0);
    assert_eq!(announced(&client), [true]);
}

#[test]
fn all_threads_are_as_they_were() {
    let fixture = Fixture::of("c/past.c");
    let mut client = DapClient::stopped_with(&fixture, "together", json!({"args": ["threads"]}));
    let main = client.thread();
    let other = |client: &mut DapClient| {
        let threads = client.request_ok("threads", json!({}));
        let threads = threads["threads"].as_array().expect("an array").clone();
        let mut ids = threads.iter().filter_map(|it| it["id"].as_i64());
        let other = ids.find(|id| *id != main).expect("a second thread");
        client.select_thread(other);
        let stack = client.stack();
        let beat = stack
            .iter()
            .find(|it| it["name"] == "beat")
            .expect("its function");
        let frame = beat["id"].as_i64().expect("a number");
        let evaluate = json!({"expression": "local", "frameId": frame});
        let local = client.request_ok("evaluate", evaluate)["result"].clone();
        client.select_thread(main);
        (local, stack.len())
    };
    let mut seen = Vec::new();
    for _ in 0..4 {
        seen.push((
            other(&mut client),
            client.evaluate("total"),
            client.evaluate("beats"),
        ));
        continue_to(&mut client, &fixture, "together");
    }
    for state in seen.iter().rev() {
        go(&mut client, "reverseContinue");
        let now = (
            other(&mut client),
            client.evaluate("total"),
            client.evaluate("beats"),
        );
        assert_eq!(&now, state);
    }
    client.set_breakpoints(&fixture, &[]);
    visit(&mut client, None);
    client.continue_();
    assert_eq!(client.expect_exit(), 0);
}

#[test]
fn only_the_last_stops_are_kept() {
    let fixture = Fixture::of("c/past.c");
    let mut client = DapClient::stopped_with(&fixture, "together", json!({"args": ["threads"]}));
    for _ in 0..38 {
        continue_to(&mut client, &fixture, "together");
    }
    let numbers: Vec<i64> = stops(&mut client)
        .iter()
        .map(|stop| stop["number"].as_i64().expect("a number"))
        .collect();
    let expected: Vec<i64> = (7..=39).collect();
    assert_eq!(numbers, expected);
    visit(&mut client, Some(7));
    assert_eq!(client.evaluate("i"), "6");
    visit(&mut client, Some(38));
    assert_eq!(client.evaluate("i"), "37");
    client.set_breakpoints(&fixture, &[]);
    client.request_ok("continue", json!({"threadId": client.thread()}));
    client.expect_stopped("goto");
    client.continue_();
    assert_eq!(client.expect_exit(), 0);
}

/// A copy would be the first process of the namespace instead of the child, and end it.
#[test]
#[cfg(target_os = "linux")]
fn a_namespace_is_begun_by_the_programs_child() {
    let fixture = Fixture::of("c/unshared.c");
    let mut client = DapClient::stopped_at(&fixture, "ready");
    for _ in 0..3 {
        client.next();
    }
    client.continue_();
    assert_eq!(client.expect_exit(), 7);
    client.disconnect();
}

#[test]
#[cfg(target_os = "linux")]
fn an_attached_program_keeps_no_trace_of_copies() {
    let fixture = Fixture::of("c/past.c");
    let (debuggee, mut input) = Debuggee::start_with_input(&fixture, &["wait"]);
    assert_eq!(debuggee.read_line(), "ready");
    let pid = debuggee.pid();
    let mut client = DapClient::spawn();
    client.attach(pid, json!({}));
    client.set_breakpoints(&fixture, &["waited"]);
    client.configure();
    input.write_all(b"\n").expect("it reads");
    client.expect_stopped("breakpoint");
    for _ in 0..2 {
        continue_to(&mut client, &fixture, "waited");
    }
    assert!(!children(pid).is_empty(), "copies");
    go(&mut client, "reverseContinue");
    assert_eq!(client.evaluate("total"), "11");
    // The session ends in the past: the program goes on in its present.
    client.disconnect();
    assert!(children(pid).is_empty());
    assert_eq!(debuggee.read_line(), "14 6 1");
}

#[test]
#[cfg(target_os = "linux")]
fn copies_die_with_the_debugger_and_the_attached_program_lives() {
    let fixture = Fixture::of("c/past.c");
    let (debuggee, mut input) = Debuggee::start_with_input(&fixture, &["wait"]);
    assert_eq!(debuggee.read_line(), "ready");
    let pid = debuggee.pid();
    let mut client = DapClient::spawn();
    client.attach(pid, json!({}));
    client.set_breakpoints(&fixture, &["waited"]);
    client.configure();
    input.write_all(b"\n").expect("it reads");
    client.expect_stopped("breakpoint");
    continue_to(&mut client, &fixture, "waited");
    client.evaluate("total");
    let copies = children(pid);
    assert!(!copies.is_empty());
    send_signal(tracer_of(client.adapter_pid()), Signal::SIGKILL);
    assert_eq!(debuggee.read_line(), "14 6 1");
    for copy in copies {
        assert!(ends(copy), "{copy}");
    }
}

#[test]
fn past_stops_can_be_switched_off() {
    let fixture = Fixture::of("c/past.c");
    let mut client = DapClient::stopped_with(&fixture, "linked", json!({"pastStops": false}));
    next(&mut client);
    next(&mut client);
    assert_eq!(announced(&client), [false; 0]);
    // The present stop is described all the same.
    let listed = stops(&mut client);
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0]["function"], "add");
    assert_eq!(listed[0]["line"], fixture.line("count"));
    let why = client.request_error("stepBack", json!({"threadId": client.thread()}));
    assert!(why.contains("no earlier stop is kept"), "{why}");
    shown(&mut client, ":set pastStops true");
    next(&mut client);
    next(&mut client);
    go(&mut client, "stepBack");
    client.disconnect();
}

#[test]
#[cfg(target_os = "linux")]
fn a_debugger_without_descriptors_names_its_own_limit() {
    let fixture = Fixture::of("c/past.c");
    let mut client = DapClient::stopped_at(&fixture, "linked");
    // More than poll(2) waits for, fewer than are open.
    limit_files(tracer_of(client.adapter_pid()), 8);
    next(&mut client);
    // A stop that lasts is kept.
    stops(&mut client);
    let note = client.wait_event_where("output", |body| {
        let text = body["output"].as_str();
        text.is_some_and(|text| text.starts_with("Past stops are not kept"))
    });
    assert_contains(
        &note["output"].to_string(),
        &["no file descriptors left; raise its limit (`ulimit -n`)"],
    );
    client.disconnect();
}

#[test]
#[cfg(target_os = "linux")]
fn a_program_that_is_killed_meanwhile_ends_the_session() {
    let fixture = Fixture::of("c/past.c");
    let mut client = DapClient::stopped_at(&fixture, "linked");
    next(&mut client);
    let pid = client.debuggee_pid();
    go(&mut client, "stepBack");
    send_signal(pid, Signal::SIGKILL);
    client.evaluate("node->value");
    client.request_ok("stillpoint/visitStop", json!({}));
    client.wait_event("exited");
}

#[test]
fn a_restart_begins_without_a_past() {
    let fixture = Fixture::of("c/past.c");
    let mut client = DapClient::stopped_at(&fixture, "linked");
    next(&mut client);
    go(&mut client, "stepBack");
    client.request_ok("restart", json!({}));
    client.expect_stopped("breakpoint");
    client.expect_line(&fixture, "linked");
    assert_eq!(announced(&client), [true, false]);
    client.request_error("stepBack", json!({"threadId": client.thread()}));
    next(&mut client);
    go(&mut client, "stepBack");
    client.disconnect();
}

#[test]
fn agents_look_back() {
    let fixture = Fixture::of("c/past.c");
    let (mut agent, _) = Agent::at(&fixture, "added");
    for _ in 0..2 {
        agent.call("debug_past", json!({}));
        agent.call("debug_continue", json!({}));
    }
    let list = agent.call("debug_past", json!({}));
    assert_contains(
        &list,
        &[
            "*    3  breakpoint in add, past.c:",
            "(present)",
            "     1  breakpoint",
        ],
    );
    let changes = agent.call("debug_past", json!({"since": 1}));
    assert_contains(
        &changes,
        &["from stop 1 to stop 3:", "  counter: 1 → 6", "main:\n"],
    );
    let then = agent.call("debug_past", json!({"stop": 1}));
    assert_contains(&then, &["Past stop 1 of 3", "value = 1"]);
    let counter = agent.call("debug_evaluate", json!({"expression": "counter"}));
    assert_contains(&counter, &["1"]);
    let now = agent.call("debug_past", json!({"present": true}));
    assert_contains(&now, &["value = 3"]);
    agent.fail("debug_past", json!({"stop": 99}), "NO_SUCH_STOP");
    agent.leave();
}

#[test]
#[cfg(target_os = "linux")]
fn calls_that_wait_are_not_disturbed() {
    let fixture = Fixture::of("c/past_waits.c");
    for mode in ["read", "sleep", "poll", "epoll", "condition"] {
        let (debuggee, mut input) = Debuggee::start_with_input(&fixture, &[mode]);
        assert_eq!(debuggee.read_line(), "ready", "{mode}");
        let mut client = DapClient::spawn();
        client.attach(debuggee.pid(), json!({"stopOnEntry": true}));
        client.configure();
        client.expect_stopped("entry");
        for _ in 0..3 {
            let count = stops(&mut client).len();
            client.continue_();
            client.pause();
            assert_eq!(stops(&mut client).len(), count + 1, "{mode}");
        }
        go(&mut client, "reverseContinue");
        visit(&mut client, None);
        client.continue_();
        input.write_all(b"x").expect("it reads");
        assert_eq!(debuggee.read_line(), "done x", "{mode}");
        client.wait_event("terminated");
        client.disconnect();
    }
}

#[test]
fn a_fault_reaches_its_handler_as_it_was() {
    let fixture = Fixture::of("c/past_waits.c");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({"args": ["fault"]}));
    client.configure();
    for nth in 1..4 {
        let event = client.expect_stopped("exception");
        assert!(
            event["text"]
                .as_str()
                .is_some_and(|text| text.contains("0x10")),
            "{event}"
        );
        assert_eq!(stops(&mut client).len(), nth);
        if nth == 3 {
            let event = go(&mut client, "reverseContinue");
            assert_eq!(event["text"], "SIGSEGV", "{event}");
            assert_eq!(client.evaluate("faults"), "1");
            let thread = client.thread();
            let info = client.request_ok("exceptionInfo", json!({"threadId": thread}));
            assert_eq!(info["exceptionId"], "SIGSEGV", "{info}");
            visit(&mut client, None);
        }
        client.continue_();
    }
    assert_eq!(client.expect_exit(), 0);
    assert_eq!(client.output("stdout"), "ready\ndone x\n");
}

#[test]
#[cfg(target_os = "linux")]
fn a_program_that_is_killed_as_it_is_copied_ends_the_session() {
    let fixture = Fixture::of("c/past.c");
    for _ in 0..5 {
        let mut client = DapClient::stopped_at(&fixture, "linked");
        next(&mut client);
        let pid = client.debuggee_pid();
        send_signal(pid, Signal::SIGKILL);
        // It is copied, or is not any more.
        let _ = client.request("stillpoint/pastStops", json!({}));
        client.wait_event("exited");
        client.disconnect();
    }
}
