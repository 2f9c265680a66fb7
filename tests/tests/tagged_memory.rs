//! Memory with tags (MTE): pointers with a tag are followed and watched, and faults by tags explained.

use serde_json::{Value, json};
use stillpoint_tests::{DapClient, Fixture};

/// Runs the program to a marker; `None` on a processor without tags.
fn stopped(marker: &str, arguments: Value) -> Option<(Fixture, DapClient)> {
    let fixture = Fixture::of("aarch64/tagged.c");
    let mut client = DapClient::spawn();
    client.launch(&fixture, arguments);
    client.set_breakpoints(&fixture, &[marker]);
    client.configure();
    let event = client.wait_event_of(&["stopped", "terminated"]);
    if event["event"] == "terminated" {
        skips::skip("a processor with memory tags");
        return None;
    }
    client.select_thread(event["body"]["threadId"].as_i64().expect("a thread"));
    Some((fixture, client))
}

#[test]
fn pointers_with_tags_are_followed() {
    let Some((_, mut client)) = stopped("tagged", json!({})) else {
        return;
    };
    let plain = client.evaluate("(unsigned long)plain");
    let plain: u64 = plain.parse().expect("a number");
    assert_eq!(
        client.evaluate("(unsigned long)node"),
        (plain | 5 << 56).to_string()
    );
    assert_eq!(client.evaluate("node->value"), "1");
    assert_eq!(client.evaluate("node->next->next->value"), "1");
    assert_eq!(client.evaluate("twice(node)"), "2");
    assert_eq!(client.evaluate("node->value = 7"), "7");
    assert_eq!(client.evaluate("plain->value"), "7");
    let memory = client.request_ok(
        "readMemory",
        json!({"memoryReference": format!("{:#x}", plain | 5 << 56), "count": 4}),
    );
    assert_eq!(memory["data"], "BwAAAA==");
    client.disconnect();
}

#[test]
fn conditions_read_memory_with_tags() {
    let fixture = Fixture::of("aarch64/tagged.c");
    let Some((_, mut client)) = stopped("tagged", json!({})) else {
        return;
    };
    client.set_breakpoints_with(
        &fixture,
        vec![("loop", json!({"condition": "node->value == 3 && i == 2"}))],
    );
    client.continue_();
    let event = client.expect_stopped("breakpoint");
    client.select_thread(event["threadId"].as_i64().expect("a thread"));
    assert_eq!(client.evaluate("i"), "2");
    client.disconnect();
}

/// Watches an expression. Returns the lines of all stops until the program ends.
fn watch(client: &mut DapClient, expression: &str, access: &str) -> Vec<u64> {
    let frame = client.top_frame()["id"].clone();
    let info = client.request_ok(
        "dataBreakpointInfo",
        json!({"name": expression, "frameId": frame}),
    );
    let wanted = json!([{"dataId": info["dataId"], "accessType": access}]);
    let body = client.request_ok("setDataBreakpoints", json!({"breakpoints": wanted}));
    assert_eq!(body["breakpoints"][0]["verified"], true, "{body}");
    let mut lines = Vec::new();
    loop {
        client.continue_();
        let event = client.wait_event_of(&["stopped", "exited"]);
        if event["event"] == "exited" {
            assert_eq!(event["body"]["exitCode"], 0);
            return lines;
        }
        client.select_thread(event["body"]["threadId"].as_i64().expect("a thread"));
        lines.push(client.top_line());
    }
}

/// Of each access, the line that is executed next.
fn expect_stops(expression: &str) {
    let Some((fixture, mut client)) = stopped("tagged", json!({})) else {
        return;
    };
    client.set_breakpoints(&fixture, &[]);
    let lines = watch(&mut client, expression, "write");
    assert_eq!(lines, ["second", "third"].map(|line| fixture.line(line)));
    client.disconnect();
}

#[test]
fn single_steps_find_accesses_through_tagged_pointers() {
    expect_stops("*node");
}

#[test]
fn debug_registers_find_accesses_through_tagged_pointers() {
    expect_stops("node->value");
}

#[test]
fn faults_by_tags_name_both() {
    for (mode, text) in [
        (
            "now",
            "write to address {} (`stale->value`): the pointer has tag 6, and the memory tag 5: \
                 it was freed, or the address is out of bounds",
        ),
        (
            "late",
            "an access through a pointer whose tag is not that of the memory, at some time since \
                  the last system call (asynchronous tag check)",
        ),
    ] {
        let Some((_, mut client)) = stopped("tagged", json!({"args": [mode]})) else {
            return;
        };
        let plain = client.evaluate("(unsigned long)plain");
        let plain: u64 = plain.parse().expect("a number");
        client.continue_();
        let stop = client.expect_stopped("exception");
        assert_eq!(stop["text"], text.replace("{}", &format!("{plain:#x}")));
        client.disconnect();
    }
}
