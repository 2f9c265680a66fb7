//! The console's commands for the past.

use super::{recorded, return_to_present, shown};
use serde_json::json;
use stillpoint_tests::{DapClient, Fixture};

/// Goes back by a command, which is no resume for clients: the former stop ends by an event.
fn go_by(client: &mut DapClient, command: &str, reason: &str) {
    let before = client.count_events("continued");
    assert_eq!(shown(client, command), "");
    client.expect_stopped(reason);
    assert_eq!(client.count_events("continued"), before + 1, "{command}");
}

#[test]
fn commands_go_back_in_a_recording() {
    let fixture = Fixture::of("c/travel.c");
    let mut client = recorded(&fixture, "noted");
    let text = shown(&mut client, ":recording");
    assert!(text.starts_with("recorded "), "{text}");
    assert!(text.ends_with("\nin the present"), "{text}");
    go_by(&mut client, ":reverse-next", "step");
    client.expect_line(&fixture, "added");
    let text = shown(&mut client, ":recording");
    assert!(text.contains("\nin the past, after "), "{text}");
    assert!(shown(&mut client, ":past").contains("the program is recorded"));
    go_by(&mut client, ":reverse-finish", "step");
    client.expect_line(&fixture, "call");
    return_to_present(&mut client);
    client.expect_line(&fixture, "noted");
    client.set_breakpoints(&fixture, &["round"]);
    go_by(&mut client, ":rc", "breakpoint");
    client.expect_line(&fixture, "round");
    shown(&mut client, ":past present");
    client.expect_stopped("goto");
    client.expect_line(&fixture, "noted");
    client.disconnect();
}

#[test]
fn without_a_recording_commands_visit_past_stops() {
    let fixture = Fixture::of("c/travel.c");
    let mut client = DapClient::stopped_at(&fixture, "added");
    let keep = |client: &mut DapClient| client.request_ok("stillpoint/pastStops", json!({}));
    keep(&mut client);
    client.next();
    keep(&mut client);
    go_by(&mut client, ":reverse-next", "goto");
    client.expect_line(&fixture, "added");
    shown(&mut client, ":past present");
    client.expect_stopped("goto");
    client.expect_line(&fixture, "noted");
    go_by(&mut client, ":reverse-continue", "goto");
    client.expect_line(&fixture, "added");
    client.disconnect();
}

#[test]
fn a_step_back_goes_into_calls_and_a_next_over_them() {
    let fixture = Fixture::of("c/travel.c");
    let mut client = recorded(&fixture, "print");
    go_by(&mut client, ":rn", "step");
    client.expect_line(&fixture, "fill");
    return_to_present(&mut client);
    // The rest of the line behind the call, and then the end of what it called.
    go_by(&mut client, ":rs", "step");
    client.expect_line(&fixture, "fill");
    go_by(&mut client, ":rs", "step");
    assert_eq!(client.function_names()[..2], ["fill", "main"]);
    client.disconnect();
}

#[test]
fn instructions_are_taken_back_by_a_command() {
    let fixture = Fixture::of("c/travel.c");
    let mut client = recorded(&fixture, "noted");
    let pc = |client: &mut DapClient| client.top_frame()["instructionPointerReference"].clone();
    let at = pc(&mut client);
    go_by(&mut client, ":reverse-next instruction", "step");
    assert_ne!(pc(&mut client), at);
    let thread = client.thread();
    let step = json!({"threadId": thread, "granularity": "instruction"});
    client.request_ok("next", step);
    client.expect_stopped_by(&["step", "breakpoint"]);
    assert_eq!(pc(&mut client), at);
    client.disconnect();
}

#[test]
fn system_calls_are_listed_and_gone_to() {
    let fixture = Fixture::of("c/travel.c");
    let mut client = recorded(&fixture, "done");
    let listed = shown(&mut client, ":recording calls");
    let calls: Vec<(&str, &str)> = listed
        .lines()
        .map(|line| {
            line[1..]
                .trim_start()
                .split_once("  ")
                .expect("a number and a call")
        })
        .collect();
    assert!(calls.len() <= 20, "{listed}");
    assert!(
        listed.lines().last().expect("calls").starts_with('*'),
        "{listed}"
    );
    let numbers = calls.iter().map(|it| it.0.parse().expect("a number"));
    let numbers: Vec<usize> = numbers.collect();
    assert!(
        numbers.windows(2).all(|pair| pair[0] + 1 == pair[1]),
        "{listed}"
    );
    // Each round writes a line; the first writes are made with a stop.
    let writes = calls.iter().zip(&numbers);
    let writes = writes.filter(|(it, _)| it.1.starts_with("write(fd = 1"));
    let writes: Vec<usize> = writes.map(|(_, number)| *number).collect();
    assert_eq!(listed.matches(" write(").count(), 4, "{listed}");
    assert!(!writes.is_empty(), "{listed}");
    let last = numbers[numbers.len() - 1];
    for (round, number) in writes.iter().enumerate().rev() {
        go_by(&mut client, &format!(":recording goto {number}"), "goto");
        let names = client.function_names();
        let main = names.iter().position(|it| it == "main").expect("main");
        let frame = &client.stack()[main];
        let evaluate = json!({"expression": "round", "frameId": frame["id"], "context": "watch"});
        let value = client.request_ok("evaluate", evaluate)["result"].clone();
        assert_eq!(value, round.to_string());
        let here = shown(&mut client, ":recording calls");
        let mark = here
            .lines()
            .find(|line| line.starts_with('*'))
            .expect("a mark");
        assert!(mark.contains(&format!(" {number}  write(")), "{here}");
    }
    // Forward, too: how many are made with a stop depends on interruptions of the first.
    let stopped = calls.iter().zip(&numbers);
    let mut stopped = stopped.filter(|(it, _)| !it.1.contains("(…)"));
    let (_, later) = stopped.next_back().expect("a call with a stop");
    assert!(*later > writes[0], "{listed}");
    go_by(&mut client, &format!(":recording goto {later}"), "goto");
    let missing =
        json!({"expression": format!(":recording goto {}", last + 1000), "context": "repl"});
    let why = client.request_error("evaluate", missing);
    assert!(why.contains("has no system call"), "{why}");
    client.disconnect();
}
