//! Data breakpoints: what can be watched, when it stops, what it says, how it ends.

use nix::sys::signal::Signal;
use serde_json::{Value, json};
use stillpoint_tests::process::{self, Debuggee};
use stillpoint_tests::{DapClient, Fixture};

fn stopped(mode: &str) -> (Fixture, DapClient) {
    let fixture = Fixture::of("c/watch.c");
    let client = DapClient::stopped_with(&fixture, "main", json!({"args": [mode]}));
    (fixture, client)
}

/// What there is to watch of an expression in the innermost frame.
fn info(client: &mut DapClient, expression: &str) -> Value {
    let frame = client.top_frame()["id"].clone();
    client.request_ok(
        "dataBreakpointInfo",
        json!({"name": expression, "frameId": frame}),
    )
}

fn set(client: &mut DapClient, breakpoints: Value) -> Vec<Value> {
    let body = client.request_ok("setDataBreakpoints", json!({"breakpoints": breakpoints}));
    body["breakpoints"].as_array().expect("an array").clone()
}

/// Watches an expression; `more` are members of the data breakpoint.
fn watch(client: &mut DapClient, expression: &str, more: Value) -> Value {
    let info = info(client, expression);
    assert!(info["dataId"].is_string(), "{info}");
    let mut breakpoint = json!({"dataId": info["dataId"]});
    let members = breakpoint.as_object_mut().expect("an object");
    members.extend(more.as_object().expect("an object").clone());
    let breakpoint = set(client, json!([breakpoint])).remove(0);
    assert_eq!(breakpoint["verified"], true, "{breakpoint}");
    breakpoint
}

/// The texts of all stops until the program ends.
fn stops(client: &mut DapClient) -> Vec<String> {
    let mut texts = Vec::new();
    loop {
        client.continue_();
        let event = client.wait_event_of(&["stopped", "exited"]);
        let body = &event["body"];
        if event["event"] == "exited" {
            assert_eq!(body["exitCode"], 0);
            return texts;
        }
        assert_eq!(body["reason"], "data breakpoint", "{body}");
        assert_eq!(body["description"], body["text"]);
        client.select_thread(body["threadId"].as_i64().expect("a thread"));
        texts.push(body["text"].as_str().expect("a text").to_owned());
    }
}

#[test]
fn change_stops_with_old_and_new_value() {
    let (fixture, mut client) = stopped("");
    let breakpoint = watch(&mut client, "counter", json!({"accessType": "write"}));
    client.continue_();
    let stop = client.expect_stopped("data breakpoint");
    assert_eq!(stop["text"], "counter: 0 -> 4");
    assert_eq!(stop["hitBreakpointIds"], json!([breakpoint["id"]]));
    client.expect_line(&fixture, "set_end");
    assert_eq!(client.evaluate("value"), "4");
    // Writing the same value is not a change.
    client.continue_();
    assert_eq!(
        client.expect_stopped("data breakpoint")["text"],
        "counter: 4 -> 5"
    );
    assert_eq!(client.function_names()[1], "other_way");
    // A write by the debugger is not a change by the program.
    client.evaluate("counter = 60");
    assert_eq!(stops(&mut client), ["counter: 60 -> 6"]);
    client.disconnect();
}

#[test]
fn read_access_stops_if_requested() {
    let (_, mut client) = stopped("");
    watch(&mut client, "counter", json!({"accessType": "readWrite"}));
    assert_eq!(
        stops(&mut client),
        [
            "counter: 0 -> 4",
            "counter was read, or written without a change: 4",
            "counter: 4 -> 5",
            "counter was read, or written without a change: 5",
            "counter: 5 -> 6",
        ]
    );
    client.disconnect();
    let (_, mut client) = stopped("");
    let breakpoint = watch(&mut client, "counter", json!({"accessType": "read"}));
    let read = match cfg!(target_arch = "aarch64") {
        true => {
            assert_eq!(breakpoint["message"], Value::Null);
            vec!["counter was read: 5"]
        }
        false => {
            let message = breakpoint["message"].as_str().expect("a message");
            assert!(message.contains("reads and writes alike"), "{message}");
            vec!["counter was read: 4", "counter was read: 5"]
        }
    };
    assert_eq!(stops(&mut client), read);
    client.disconnect();
}

#[test]
fn parts_and_wholes() {
    for (expression, texts) in [
        (
            "pair",
            vec![
                "pair: {first = 0, second = 0} -> {first = 1, second = 0}",
                "pair: {first = 1, second = 0} -> {first = 1, second = 2}",
            ],
        ),
        ("pair.second", vec!["pair.second: 0 -> 2"]),
        // Its neighbour shares the byte.
        ("flags.high", vec!["flags.high: 0 -> 3"]),
        ("packed[6]", vec!["packed[6]: 0 '\\x00' -> 1 '\\x01'"]),
        ("*(int *)&pair", vec!["*(int *)&pair: 0 -> 1"]),
    ] {
        let (_, mut client) = stopped("");
        watch(&mut client, expression, json!({}));
        assert_eq!(stops(&mut client), texts);
        client.disconnect();
    }
}

#[test]
fn by_a_variable_of_a_scope() {
    let (_, mut client) = stopped("");
    let frame = client.top_frame()["id"].as_i64().expect("an id");
    let scopes = client.request_ok("scopes", json!({"frameId": frame}));
    let scopes = scopes["scopes"].as_array().expect("scopes").clone();
    let globals = scopes.iter().find(|scope| scope["name"] == "Globals");
    let globals = globals.expect("globals")["variablesReference"]
        .as_i64()
        .expect("a reference");
    let variables = client.variables(globals);
    let pair = variables.iter().find(|it| it["name"] == "pair");
    let info = client.request_ok(
        "dataBreakpointInfo",
        json!({"variablesReference": pair.expect("pair")["variablesReference"], "name": "first"}),
    );
    assert_eq!(info["accessTypes"], json!(["write", "readWrite", "read"]));
    assert_eq!(info["canPersist"], false);
    let description = info["description"].as_str().expect("a text");
    assert!(
        description.starts_with("pair.first (8 bytes at 0x"),
        "{description}"
    );
    set(&mut client, json!([{"dataId": info["dataId"]}]));
    assert_eq!(stops(&mut client), ["pair.first: 0 -> 1"]);
    client.disconnect();
}

#[test]
fn by_address() {
    let (_, mut client) = stopped("");
    let at = client.evaluate("(unsigned long)&packed[5]");
    let info = client.request_ok(
        "dataBreakpointInfo",
        json!({"name": at, "asAddress": true, "bytes": 2}),
    );
    set(&mut client, json!([{"dataId": info["dataId"]}]));
    let texts = stops(&mut client);
    assert_eq!(texts.len(), 2, "{texts:?}");
    assert!(
        texts[0].starts_with("0x") && texts[0].ends_with(": 0 -> 9"),
        "{texts:?}"
    );
    assert!(texts[1].ends_with(": 9 -> 265"), "{texts:?}");
    client.disconnect();
}

#[test]
fn watch_of_a_value_without_address_is_refused() {
    let (_, mut client) = stopped("");
    for (expression, why) in [
        ("1 + 2", "not in memory"),
        ("$pc", "in a register"),
        ("nonsense", "nonsense"),
        ("", ""),
    ] {
        let info = info(&mut client, expression);
        assert_eq!(info["dataId"], Value::Null, "{info}");
        let description = info["description"].as_str().expect("a text");
        assert!(
            description.contains(why) && !description.is_empty(),
            "{description}"
        );
    }
    let wrong = set(&mut client, json!([{"dataId": "never given out"}]));
    assert_eq!(wrong[0]["verified"], false);
    let nowhere = client.request_ok(
        "dataBreakpointInfo",
        json!({"name": "0x10", "asAddress": true, "bytes": 4}),
    );
    let wrong = set(&mut client, json!([{"dataId": nowhere["dataId"]}]));
    assert_eq!(wrong[0]["verified"], false);
    let message = wrong[0]["message"].as_str().expect("a message");
    assert!(message.contains("cannot read 4 bytes"), "{message}");
    client.disconnect();
}

#[test]
fn conditions_and_hits() {
    let (_, mut client) = stopped("");
    // `value` is the one of `main`, not that of the function that writes.
    let condition = "counter == 5 && value == 77";
    watch(&mut client, "counter", json!({"condition": condition}));
    assert_eq!(stops(&mut client), ["counter: 4 -> 5"]);
    client.disconnect();
    let (_, mut client) = stopped("");
    watch(&mut client, "counter", json!({"hitCondition": ">= 2"}));
    assert_eq!(stops(&mut client), ["counter: 4 -> 5", "counter: 5 -> 6"]);
    client.disconnect();
    let (_, mut client) = stopped("");
    let info = info(&mut client, "counter");
    for condition in ["value ==", "value.member == 3", "value = 3"] {
        let bad = json!([{"dataId": info["dataId"], "condition": condition}]);
        let bad = set(&mut client, bad);
        assert_eq!(bad[0]["verified"], false, "{}", bad[0]);
        assert_eq!(bad[0]["reason"], "failed", "{}", bad[0]);
    }
    assert!(stops(&mut client).is_empty());
    client.disconnect();
}

#[test]
fn watch_of_a_local_ends_with_its_frame() {
    let fixture = Fixture::of("c/watch.c");
    let mut client = DapClient::stopped_at(&fixture, "helper_end");
    client.set_breakpoints(&fixture, &[]);
    let breakpoint = watch(&mut client, "local", json!({}));
    client.continue_();
    assert_eq!(
        client.expect_stopped("data breakpoint")["text"],
        "local: 2 -> 4"
    );
    client.continue_();
    let stop = client.expect_stopped("data breakpoint");
    let text = stop["text"].as_str().expect("a text");
    assert!(
        text.contains("data breakpoint on `local` removed: its frame has returned"),
        "{text}"
    );
    assert_eq!(stop["hitBreakpointIds"], json!([breakpoint["id"]]));
    assert_eq!(client.function_names()[0], "main");
    let event = client.wait_event_where("breakpoint", |body| body["reason"] == "removed");
    assert_eq!(event["breakpoint"]["id"], breakpoint["id"]);
    // The next call of the function has another variable there.
    assert!(stops(&mut client).is_empty());
    client.disconnect();
}

#[test]
fn watch_survives_deeper_recursion() {
    let fixture = Fixture::of("c/watch.c");
    let mut client = DapClient::stopped_at(&fixture, "descend");
    client.step_in();
    assert_eq!(client.evaluate("mine"), "3");
    client.set_breakpoints(&fixture, &[]);
    watch(&mut client, "mine", json!({}));
    let texts = stops(&mut client);
    assert_eq!(texts.len(), 2, "{texts:?}");
    assert_eq!(texts[0], "mine: 3 -> 6");
    assert!(texts[1].contains("has returned"), "{texts:?}");
    client.disconnect();
}

#[test]
fn beyond_the_debug_registers_by_single_steps() {
    let (_, mut client) = stopped("");
    let breakpoint = watch(&mut client, "wide", json!({}));
    let message = breakpoint["message"].as_str().expect("a message");
    assert!(message.contains("single steps"), "{message}");
    let texts = stops(&mut client);
    assert_eq!(texts.len(), 2, "{texts:?}");
    assert!(
        texts.iter().all(|text| text.starts_with("wide: ")),
        "{texts:?}"
    );
    client.disconnect();
    // Five of one word each: the fifth triggers too, and gets a register as soon as one is free.
    let (_, mut client) = stopped("");
    let ids: Vec<Value> = ["pair.first", "pair.second", "counter", "sink", "wide[63]"]
        .iter()
        .map(|it| json!({"dataId": info(&mut client, it)["dataId"], "condition": "0"}))
        .collect();
    let all = set(&mut client, json!(ids));
    assert!(all.iter().all(|it| it["verified"] == true), "{all:?}");
    assert!(all[..4].iter().all(|it| it["message"].is_null()), "{all:?}");
    assert!(
        all[4]["message"]
            .as_str()
            .expect("slow")
            .contains("out of debug registers")
    );
    let fewer = set(&mut client, json!(ids[1..]));
    assert_eq!(fewer[3]["id"], all[4]["id"]);
    assert!(fewer[3]["message"].is_null(), "{fewer:?}");
    assert!(stops(&mut client).is_empty());
    client.disconnect();
}

#[test]
fn software_watch_if_requested() {
    let (_, mut client) = stopped("");
    let frame = client.top_frame()["id"].clone();
    let info = client.request_ok(
        "dataBreakpointInfo",
        json!({"name": "counter", "frameId": frame, "mode": "software"}),
    );
    assert_eq!(info["accessTypes"], json!(["write"]));
    set(&mut client, json!([{"dataId": info["dataId"]}]));
    assert_eq!(
        stops(&mut client),
        ["counter: 0 -> 4", "counter: 4 -> 5", "counter: 5 -> 6"]
    );
    client.disconnect();
}

#[test]
fn new_threads_are_watched() {
    let (_, mut client) = stopped("thread");
    watch(&mut client, "counter", json!({}));
    let first = client.thread();
    client.continue_();
    let stop = client.expect_stopped("data breakpoint");
    assert_eq!(stop["text"], "counter: 0 -> 77");
    assert_ne!(client.thread(), first);
    assert_eq!(client.function_names()[1], "worker");
    client.continue_();
    assert_eq!(client.expect_exit(), 0);
    client.disconnect();
}

#[test]
fn forked_child_is_not_watched() {
    let (_, mut client) = stopped("fork");
    watch(&mut client, "counter", json!({}));
    assert!(stops(&mut client).is_empty());
    assert!(client.output("stdout").contains("child 5"));
    client.disconnect();
}

#[test]
fn breakpoint_ends_with_the_program() {
    let fixture = Fixture::of("c/watch.c");
    let mut client = DapClient::stopped_with(&fixture, "main", json!({"args": ["exec"]}));
    client.set_breakpoints(&fixture, &[]);
    let breakpoint = watch(&mut client, "counter", json!({}));
    assert!(stops(&mut client).is_empty());
    let event = client.wait_event_where("breakpoint", |body| {
        body["breakpoint"]["id"] == breakpoint["id"]
    });
    let message = event["breakpoint"]["message"].as_str().expect("a message");
    assert!(message.contains("another program"), "{message}");
    client.disconnect();
}

#[test]
fn can_be_set_and_removed_while_running() {
    let fixture = Fixture::of("c/watch.c");
    let settings = json!({"args": ["hot", "4000000000"]});
    let mut client = DapClient::stopped_with(&fixture, "main", settings);
    client.set_breakpoints(&fixture, &[]);
    let id = info(&mut client, "counter")["dataId"].clone();
    client.continue_();
    let first = set(&mut client, json!([{"dataId": id}]));
    assert_eq!(first[0]["verified"], true, "{}", first[0]);
    client.expect_stopped("data breakpoint");
    let again = set(
        &mut client,
        json!([{"dataId": id, "condition": "i % 100000 == 0"}]),
    );
    assert_eq!(again[0]["id"], first[0]["id"]);
    client.continue_();
    set(&mut client, json!([]));
    client.pause();
    assert_eq!(client.count_events("stopped"), 3);
    client.disconnect();
}

#[test]
fn one_stop_reports_all_breakpoints_of_an_address() {
    let (fixture, mut client) = stopped("");
    let data = watch(&mut client, "pair.second", json!({}));
    let line = fixture.line("second") + 1;
    let path = fixture.source.to_str().expect("UTF-8").to_owned();
    let code = client.set_source_breakpoints(&path, vec![json!({"line": line})]);
    client.continue_();
    let stop = client.expect_stopped("data breakpoint");
    assert_eq!(
        stop["hitBreakpointIds"],
        json!([data["id"], code[0]["id"]]),
        "{stop}"
    );
    assert!(stops(&mut client).is_empty());
    client.disconnect();
}

#[test]
fn a_step_over_a_change_ends_there() {
    let fixture = Fixture::of("c/watch.c");
    let mut client = DapClient::stopped_at(&fixture, "other_way");
    client.set_breakpoints(&fixture, &[]);
    watch(&mut client, "counter", json!({}));
    let thread = client.thread();
    client.request_ok("next", json!({"threadId": thread}));
    client.expect_stopped("data breakpoint");
    assert_eq!(client.function_names()[0], "set_counter");
    client.disconnect();
}

#[test]
fn detach_removes_watches() {
    let fixture = Fixture::of("c/spin.c");
    let debuggee = Debuggee::start(&fixture, &[]);
    let mut client = DapClient::spawn();
    client.attach(debuggee.pid(), json!({}));
    client.set_breakpoints(&fixture, &["spin"]);
    client.configure();
    client.expect_stopped("breakpoint");
    client.set_breakpoints(&fixture, &[]);
    watch(&mut client, "count", json!({"condition": "count % 5 == 0"}));
    client.continue_();
    client.expect_stopped("data breakpoint");
    client.continue_();
    client.disconnect_with(json!({"terminateDebuggee": false}));
    debuggee.expect_running();
}

#[test]
fn kill_of_the_adapter_leaves_no_watch() {
    let fixture = Fixture::of("c/touch.c");
    let debuggee = Debuggee::start(&fixture, &[]);
    let mut client = DapClient::spawn();
    client.attach(debuggee.pid(), json!({}));
    client.set_breakpoints(&fixture, &["beat"]);
    client.configure();
    client.expect_stopped("breakpoint");
    client.set_breakpoints(&fixture, &[]);
    watch(&mut client, "touched", json!({"condition": "touched < 0"}));
    client.continue_();
    process::send_signal(debuggee.pid(), Signal::SIGUSR1);
    debuggee.read_to("touched 1");
    process::send_signal(client.adapter_pid(), Signal::SIGKILL);
    client.wait_exit();
    process::wait_until_untraced(debuggee.pid());
    debuggee.expect_running();
    process::send_signal(debuggee.pid(), Signal::SIGUSR1);
    debuggee.read_to("touched 2");
}

#[test]
fn watch_of_a_reference_watches_its_target() {
    let fixture = Fixture::of("cpp/watch.cpp");
    let mut client = DapClient::stopped_at(&fixture, "bump");
    client.set_breakpoints(&fixture, &[]);
    watch(&mut client, "counter", json!({}));
    let texts = stops(&mut client);
    assert_eq!(texts[0], "counter: 0 -> 1");
    // It is a variable of `main`, which returns.
    assert_eq!(texts.len(), 2, "{texts:?}");
    client.disconnect();
}

#[test]
fn watch_ends_with_a_frame_left_by_exception() {
    let fixture = Fixture::of("cpp/watch.cpp");
    let mut client = DapClient::stopped_at(&fixture, "throw");
    client.set_breakpoints(&fixture, &[]);
    watch(&mut client, "local", json!({}));
    client.continue_();
    let stop = client.expect_stopped("data breakpoint");
    assert_eq!(stop["text"], "local: 1 -> 2");
    client.continue_();
    let stop = client.expect_stopped("data breakpoint");
    let text = stop["text"].as_str().expect("a text");
    assert!(text.contains("has returned"), "{text}");
    assert_eq!(client.function_names()[0], "main");
    assert!(stops(&mut client).is_empty());
    client.disconnect();
}

#[test]
fn rust() {
    let fixture = Fixture::of("rust/watch.rs");
    let mut client = DapClient::stopped_at(&fixture, "total");
    client.set_breakpoints(&fixture, &[]);
    client.request_ok("setExceptionBreakpoints", json!({"filters": []}));
    let total = info(&mut client, "total")["dataId"].clone();
    let point = info(&mut client, "point")["dataId"].clone();
    let condition = "total > 2 && $thread_name == \"watch\"";
    let all = json!([{"dataId": total, "condition": condition}, {"dataId": point}]);
    set(&mut client, all);
    let texts = stops(&mut client);
    assert_eq!(
        texts[..3],
        [
            "total: 1 -> 3",
            "total: 3 -> 6",
            "point: Point {x: 1, y: 2} -> Point {x: 1, y: 5}"
        ]
    );
    client.disconnect();
}

#[test]
fn watch_ends_with_a_frame_left_by_panic() {
    let fixture = Fixture::of("rust/watch.rs");
    let mut client = DapClient::stopped_at(&fixture, "add");
    client.set_breakpoints(&fixture, &[]);
    client.request_ok("setExceptionBreakpoints", json!({"filters": []}));
    watch(&mut client, "local", json!({}));
    let texts = stops(&mut client);
    assert_eq!(texts[0], "local: 1 -> 2");
    assert!(texts[1].contains("has returned"), "{texts:?}");
    assert_eq!(texts.len(), 2, "{texts:?}");
    client.disconnect();
}

#[test]
fn concurrent_writes_lose_no_hit() {
    let fixture = Fixture::of("c/threads.c");
    let settings = json!({"args": ["8", "200"]});
    let mut client = DapClient::stopped_with(&fixture, "create", settings);
    client.set_breakpoints(&fixture, &[]);
    watch(
        &mut client,
        "total",
        json!({"condition": "total % 200 == 0"}),
    );
    client.continue_();
    let mut stopped = 0;
    loop {
        let event = client.wait_event_of(&["stopped", "exited"]);
        if event["event"] == "exited" {
            break;
        }
        stopped += 1;
        client.continue_();
    }
    assert!(stopped > 0);
    assert!(client.output("stdout").contains("total 1600"));
    client.disconnect();
}

/// The program that writes in other frames than those that watch, stopped at a marker.
fn in_frame(marker: &str) -> DapClient {
    let fixture = Fixture::of("c/watch_frame.c");
    let mut client = DapClient::stopped_at(&fixture, marker);
    client.set_breakpoints(&fixture, &[]);
    client
}

#[test]
fn watch_condition_uses_its_own_frame() {
    // Also where the function that writes has a variable of that name.
    let mut client = in_frame("loop");
    watch(&mut client, "a.balance", json!({"condition": "i == 4"}));
    let texts = stops(&mut client);
    assert_eq!(texts[0], "a.balance: 40 -> 50");
    assert!(texts[1].contains("has returned"), "{texts:?}");
    assert_eq!(texts.len(), 2, "{texts:?}");
    client.disconnect();
    let mut client = in_frame("loop");
    watch(&mut client, "total", json!({"condition": "i == 4"}));
    assert_eq!(stops(&mut client), ["total: 403 -> 503"]);
    client.disconnect();
}

#[test]
fn watch_condition_uses_its_own_thread() {
    let mut client = in_frame("loop");
    let condition = json!({"condition": "a.balance > 100"});
    watch(&mut client, "a.balance", condition);
    client.continue_();
    let stop = client.expect_stopped("data breakpoint");
    assert_eq!(stop["text"], "a.balance: 100 -> 150");
    client.select_thread(stop["threadId"].as_i64().expect("a thread"));
    assert_eq!(client.function_names()[..2], ["deposit", "teller"]);
    client.disconnect();
}

#[test]
fn watch_condition_reports_a_returned_frame() {
    let mut client = in_frame("begin");
    watch(&mut client, "total", json!({"condition": "seed == 3"}));
    client.continue_();
    client.expect_stopped("data breakpoint");
    assert_eq!(client.function_names()[0], "begin");
    client.continue_();
    let stop = client.expect_stopped("breakpoint");
    let text = stop["text"].as_str().expect("a text");
    assert!(text.contains("`seed` is a local of `begin`"), "{text}");
    assert!(text.contains("has returned"), "{text}");
    // Others mean the same everywhere.
    let mut client = in_frame("begin");
    watch(&mut client, "total", json!({"condition": "total > 1000"}));
    assert_eq!(
        stops(&mut client),
        ["total: 903 -> 1003", "total: 1003 -> 1103"]
    );
    client.disconnect();
}
