//! Breakpoints on instructions: by address, with conditions, refused where no instruction begins.

use serde_json::{Value, json};
use stillpoint_tests::{DapClient, Fixture};

fn set(client: &mut DapClient, breakpoints: Value) -> Vec<Value> {
    let body = client.request_ok(
        "setInstructionBreakpoints",
        json!({"breakpoints": breakpoints}),
    );
    body["breakpoints"].as_array().expect("an array").clone()
}

/// Where the line of that name begins.
fn address_of(client: &mut DapClient, fixture: &Fixture, marker: &str) -> String {
    let set = client.set_breakpoints(fixture, &[marker]);
    client.set_breakpoints(fixture, &[]);
    let address = set[0]["instructionReference"].as_str();
    address.expect("an address").to_owned()
}

fn stops(client: &mut DapClient, expression: &str) -> Vec<String> {
    let mut values = Vec::new();
    loop {
        client.continue_();
        let event = client.wait_event_of(&["stopped", "exited"]);
        if event["event"] == "exited" {
            return values;
        }
        assert_eq!(event["body"]["reason"], "instruction breakpoint");
        values.push(client.evaluate(expression));
    }
}

#[test]
fn stops_at_the_instruction_each_time() {
    let fixture = Fixture::of("c/loop.c");
    let mut client = DapClient::stopped_at(&fixture, "main");
    let address = address_of(&mut client, &fixture, "body_return");
    let breakpoints = set(&mut client, json!([{"instructionReference": address}]));
    assert_eq!(breakpoints[0]["verified"], true, "{}", breakpoints[0]);
    assert_eq!(breakpoints[0]["instructionReference"], address.as_str());
    assert_eq!(breakpoints[0]["line"], fixture.line("body_return"));
    client.continue_();
    let stop = client.expect_stopped("instruction breakpoint");
    assert_eq!(stop["hitBreakpointIds"], json!([breakpoints[0]["id"]]));
    client.expect_line(&fixture, "body_return");
    assert_eq!(client.evaluate("product"), "0");
    assert_eq!(stops(&mut client, "product"), ["10", "20", "30", "40"]);
    client.disconnect();
}

#[test]
fn offsets_conditions_and_hits() {
    let fixture = Fixture::of("c/loop.c");
    let mut client = DapClient::stopped_at(&fixture, "main");
    let address = address_of(&mut client, &fixture, "body_return");
    let number = u64::from_str_radix(&address[2..], 16).expect("hexadecimal");
    let breakpoints = set(
        &mut client,
        json!([{
            "instructionReference": (number - 0x100).to_string(), "offset": 0x100,
            "condition": "i % 2 == 0", "hitCondition": ">= 2",
        }]),
    );
    assert_eq!(breakpoints[0]["verified"], true, "{}", breakpoints[0]);
    assert_eq!(stops(&mut client, "i"), ["2", "4"]);
    client.disconnect();
}

#[test]
fn keeps_its_id_and_shares_an_address() {
    let fixture = Fixture::of("c/loop.c");
    let mut client = DapClient::stopped_at(&fixture, "main");
    let address = address_of(&mut client, &fixture, "body");
    let one = json!({"instructionReference": address});
    let first = set(&mut client, json!([one]));
    let other = address_of(&mut client, &fixture, "print");
    let again = set(&mut client, json!([{"instructionReference": other}, one]));
    assert_eq!(again[1]["id"], first[0]["id"]);
    let line = client.set_breakpoints(&fixture, &["body"]);
    client.continue_();
    let stop = client.expect_stopped("breakpoint");
    let hit = stop["hitBreakpointIds"].as_array().expect("an array");
    assert!(
        hit.contains(&line[0]["id"]) && hit.contains(&first[0]["id"]),
        "{stop}"
    );
    client.disconnect();
}

#[test]
fn refused_where_no_instruction_begins() {
    let fixture = Fixture::of("c/loop.c");
    let mut client = DapClient::stopped_at(&fixture, "main");
    let address = address_of(&mut client, &fixture, "body");
    let total = client.evaluate("&total");
    let total = total.split_whitespace().last().expect("an address");
    let refused = set(
        &mut client,
        json!([
            {"instructionReference": address, "offset": 1},
            {"instructionReference": total},
            {"instructionReference": "0x10"},
        ]),
    );
    for breakpoint in &refused {
        assert_eq!(breakpoint["verified"], false, "{breakpoint}");
    }
    let message = refused[0]["message"].as_str().expect("a message");
    assert!(message.contains("inside the instruction"), "{message}");
    let message = refused[1]["message"].as_str().expect("a message");
    assert!(message.contains("no code at"), "{message}");
    let wrong = client.request_error(
        "setInstructionBreakpoints",
        json!({"breakpoints": [{"instructionReference": "nowhere"}]}),
    );
    assert!(wrong.contains("not an address"), "{wrong}");
    client.continue_();
    assert_eq!(client.expect_exit(), 0);
    client.disconnect();
}

#[test]
fn set_while_the_program_runs() {
    let fixture = Fixture::of("c/spin.c");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({}));
    let address = client.set_breakpoints(&fixture, &["spin"]);
    client.set_breakpoints(&fixture, &[]);
    client.configure();
    let address = &address[0]["instructionReference"];
    assert!(address.is_string(), "bound before the program runs");
    set(&mut client, json!([{"instructionReference": address}]));
    client.expect_stopped("instruction breakpoint");
    client.expect_line(&fixture, "spin");
    client.disconnect();
}

#[test]
fn breakpoint_ends_with_the_program() {
    let fixture = Fixture::of("c/exec.c");
    let mut client = DapClient::stopped_at(&fixture, "first");
    let address = address_of(&mut client, &fixture, "first");
    set(&mut client, json!([{"instructionReference": address}]));
    client.continue_();
    let event = client.wait_event_where("breakpoint", |body| {
        body["breakpoint"]["verified"] == false && body["breakpoint"]["reason"] == "failed"
    });
    let message = event["breakpoint"]["message"].as_str().expect("a message");
    assert!(message.contains("another program"), "{message}");
    client.disconnect();
}

#[test]
fn expressions_and_their_own_text_are_addresses() {
    let fixture = Fixture::of("c/loop.c");
    let mut client = DapClient::stopped_at(&fixture, "body_return");
    client.set_breakpoints(&fixture, &[]);
    let text = client.evaluate("$pc");
    for reference in ["$pc", text.as_str(), "&body"] {
        let set = set(&mut client, json!([{"instructionReference": reference}]));
        assert_eq!(set[0]["verified"], true, "{reference} {}", set[0]);
    }
    let pc = set(&mut client, json!([{"instructionReference": text}]));
    assert_eq!(pc[0]["line"], fixture.line("body_return"));
    let sequence = client.send(
        "setInstructionBreakpoints",
        json!({"breakpoints": [{"instructionReference": "nothing at all"}]}),
    );
    assert!(client.response(sequence).is_err());
    client.disconnect();
}
