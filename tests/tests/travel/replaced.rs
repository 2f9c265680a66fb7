//! System calls that a recorded program makes without a stop: the recorder has written jumps in place of their
//! instructions, and everything shows and executes the program's own code.

use super::{go, recorded, return_to_present, run_to_end, shown};
use serde_json::json;
use std::process::Command;
use stillpoint_tests::{DapClient, Fixture};

/// The first instructions of `write`: their addresses and texts.
fn instructions(client: &mut DapClient) -> Vec<(String, String)> {
    let function = client.evaluate("write");
    let address = function.split_whitespace().next().expect("an address");
    let asked = json!({"memoryReference": address, "instructionCount": 12});
    let body = client.request_ok("disassemble", asked);
    let all = body["instructions"].as_array().expect("instructions");
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    all.iter()
        .map(|it| (text(&it["address"]), text(&it["instruction"])))
        .collect()
}

/// Sets the only instruction breakpoint.
fn set_at(client: &mut DapClient, address: &str) {
    let breakpoint = json!({"instructionReference": address});
    let set = client.request_ok(
        "setInstructionBreakpoints",
        json!({"breakpoints": [breakpoint]}),
    );
    assert_eq!(set["breakpoints"][0]["verified"], true, "{set}");
}

fn pc(client: &mut DapClient) -> String {
    let pc = client.top_frame()["instructionPointerReference"].clone();
    pc.as_str().expect("an address").to_owned()
}

/// Steps by an instruction, and returns where that has led.
fn step(client: &mut DapClient, request: &str) -> String {
    let thread = client.thread();
    let step = json!({"threadId": thread, "granularity": "instruction"});
    client.request_ok(request, step);
    client.expect_stopped_by(&["step", "instruction breakpoint"]);
    pc(client)
}

#[test]
fn code_around_a_replaced_system_call_is_the_program_s() {
    let fixture = Fixture::of("c/walk_world.c");
    let mut client = recorded(&fixture, "counted");
    let code = instructions(&mut client);
    // The second call that stops is replaced: the third one is made without a stop.
    for _ in 0..3 {
        go(&mut client, "continue", &["breakpoint"]);
    }
    assert_eq!(instructions(&mut client), code);
    let calls = shown(&mut client, ":recording calls");
    assert!(calls.contains("write"), "{calls}");
    client.set_breakpoints(&fixture, &[]);
    let call = code.iter().position(|(_, text)| text == "syscall");
    let call = call.expect("a system call");
    let around: Vec<&str> = (call - 1..call + 3).map(|nth| &*code[nth].0).collect();
    for at in &around[..3] {
        set_at(&mut client, at);
        let mut ticks = Vec::new();
        for _ in 0..3 {
            go(&mut client, "reverseContinue", &["instruction breakpoint"]);
            assert_eq!(pc(&mut client), *at);
            ticks.push(client.evaluate("ticks"));
        }
        assert_eq!(ticks, ["6", "5", "4"], "at {at}");
        go(&mut client, "continue", &["instruction breakpoint"]);
        assert_eq!(client.evaluate("ticks"), "5");
        return_to_present(&mut client);
    }
    // In the past by steps, forward and back.
    set_at(&mut client, around[0]);
    go(&mut client, "reverseContinue", &["instruction breakpoint"]);
    for over in ["stepIn", "next"] {
        for to in &around[1..] {
            assert_eq!(step(&mut client, over), *to, "{over}");
        }
        for to in around[..3].iter().rev() {
            assert_eq!(step(&mut client, "stepBack"), *to);
        }
    }
    return_to_present(&mut client);
    // And in the present: the jump gives way.
    for at in &around[..3] {
        set_at(&mut client, at);
        go(&mut client, "continue", &["instruction breakpoint"]);
        assert_eq!(pc(&mut client), *at);
        let mut after = around.iter().skip_while(|it| *it != at).skip(1);
        for to in after.by_ref() {
            assert_eq!(step(&mut client, "stepIn"), *to);
        }
    }
    client.request_ok("setInstructionBreakpoints", json!({"breakpoints": []}));
    assert_eq!(run_to_end(&mut client), 0);
    let alone = Command::new(&fixture.program).output().expect("it runs");
    assert_eq!(client.output("stdout").as_bytes(), alone.stdout);
}
