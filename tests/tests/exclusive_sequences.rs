//! Exclusive sequences (`ldxr … stxr`), whose store fails after any stop since their load: no step,
//! breakpoint or data breakpoint makes the program repeat one for ever. On processors without them,
//! the same is done by single instructions.

use serde_json::{Value, json};
use stillpoint_tests::{DapClient, Fixture};

/// What the program prints if no addition was lost or made twice.
const COUNTS: &str = "60 60 1 4 1 0\n";

fn stopped_at(marker: &str) -> (Fixture, DapClient) {
    let fixture = Fixture::of("c/exclusive.c");
    let client = DapClient::stopped_at(&fixture, marker);
    (fixture, client)
}

/// Continues to the end, and checks what the program has counted. Returns the threads' stops.
fn finish(client: &mut DapClient) -> Vec<Value> {
    let mut stops = Vec::new();
    loop {
        client.continue_();
        let event = client.wait_event_of(&["stopped", "exited"]);
        if event["event"] == "exited" {
            assert_eq!(event["body"]["exitCode"], 0);
            break;
        }
        let thread = event["body"]["threadId"].as_i64();
        client.select_thread(thread.expect("a thread"));
        stops.push(event["body"].clone());
    }
    client.wait_event("terminated");
    assert_eq!(client.output("stdout"), COUNTS);
    stops
}

fn pc(client: &mut DapClient) -> String {
    let frame = client.top_frame();
    let pc = frame["instructionPointerReference"].as_str();
    pc.expect("an address").to_owned()
}

/// The addresses and texts of the instructions of the function at the pc.
fn instructions(client: &mut DapClient, count: i64) -> Vec<(String, String)> {
    let at = pc(client);
    let body = client.request_ok(
        "disassemble",
        json!({"memoryReference": at, "instructionCount": count}),
    );
    let all = body["instructions"].as_array().expect("an array").iter();
    let text = |it: &Value, name: &str| it[name].as_str().unwrap_or_default().to_owned();
    all.map(|it| (text(it, "address"), text(it, "instruction")))
        .collect()
}

#[test]
fn instruction_steps_go_behind_a_sequence() {
    let (_, mut client) = stopped_at("main");
    let mut steps = 0;
    while client.evaluate("single") == "0" || client.function_names()[0] != "main" {
        let thread = client.thread();
        let single = json!({"threadId": thread, "granularity": "instruction"});
        client.request_ok("stepIn", single);
        client.expect_stopped("step");
        steps += 1;
        assert!(steps < 100, "the sequence is repeated");
    }
    finish(&mut client);
    client.disconnect();
}

#[test]
fn line_steps_pass_sequences() {
    let (fixture, mut client) = stopped_at("main");
    for line in ["first_swap", "second_swap", "lock", "unlock", "start"] {
        client.next();
        client.expect_line(&fixture, line);
    }
    assert_eq!(client.evaluate("single"), "1");
    assert_eq!(client.evaluate("first"), "1");
    assert_eq!(client.evaluate("second"), "0");
    assert_eq!(client.evaluate("swapped"), "4");
    finish(&mut client);
    client.disconnect();
}

#[test]
fn breakpoints_at_and_inside_a_sequence_are_hit_once_a_pass() {
    let (_, mut client) = stopped_at("main");
    client.set_function_breakpoints(&["add"]);
    client.continue_();
    client.expect_stopped("function breakpoint");
    client.set_function_breakpoints(&[]);
    let code = instructions(&mut client, 16);
    let at = |names: &[&str]| {
        let is_it = |text: &String| names.iter().any(|name| text.starts_with(name));
        code.iter().position(|(_, text)| is_it(text))
    };
    let load = at(&["ldaxr", "lock "]).expect("the atomic instruction");
    // Behind `cbnz`.
    let behind = load + if cfg!(target_arch = "aarch64") { 4 } else { 1 };
    let inside = (load..behind).map(|nth| json!({"instructionReference": code[nth].0}));
    let inside: Vec<Value> = inside.collect();
    let set = client.request_ok("setInstructionBreakpoints", json!({"breakpoints": inside}));
    let set = set["breakpoints"].as_array().expect("an array").clone();
    assert_eq!(set[0]["instructionReference"], code[load].0.as_str());
    assert_eq!(set[0]["message"], Value::Null);
    for (moved, (from, _)) in set[1..].iter().zip(&code[load + 1..]) {
        assert_eq!(moved["verified"], true, "{moved}");
        assert_eq!(moved["instructionReference"], code[behind].0.as_str());
        let message = moved["message"].as_str().expect("a remark");
        let why = format!("{from} is inside an exclusive sequence");
        assert!(message.starts_with(&why), "{message}");
    }
    // One hit of each of `load` and `behind` in this call; then all threads pass with conditions.
    client.continue_();
    client.expect_stopped("instruction breakpoint");
    assert_eq!(pc(&mut client), code[load].0);
    if behind > load + 1 {
        client.continue_();
        client.expect_stopped("instruction breakpoint");
        assert_eq!(pc(&mut client), code[behind].0);
        assert_eq!(client.evaluate("single"), "1");
    }
    let counted =
        |address: &str| json!({"instructionReference": address, "condition": "counter < 0"});
    client.request_ok(
        "setInstructionBreakpoints",
        json!({"breakpoints": [counted(&code[load].0), counted(&code[behind].0)]}),
    );
    assert_eq!(finish(&mut client), [Value::Null; 0]);
    client.disconnect();
}

#[test]
fn data_breakpoint_on_a_word_of_sequences_sees_each_change() {
    for access in ["write", "readWrite"] {
        let (_, mut client) = stopped_at("main");
        let info = client.request_ok("dataBreakpointInfo", json!({"name": "counter"}));
        let wanted = json!({"dataId": info["dataId"], "accessType": access});
        client.request_ok("setDataBreakpoints", json!({"breakpoints": [wanted]}));
        let stops = finish(&mut client);
        let is_change = |stop: &&Value| stop["text"].as_str().is_some_and(|it| it.contains("->"));
        // Several threads may change it before one of them stops.
        let changes = stops.iter().filter(is_change).count();
        assert!((1..=60).contains(&changes), "{access}: {changes}");
        let last = stops.iter().rev().find_map(|stop| stop["text"].as_str());
        assert!(last.is_some_and(|it| it.ends_with("60")), "{last:?}");
        client.disconnect();
    }
}
