//! Breakpoints in functions that the debugger calls: calls for watches and conditions ignore them,
//! a call from the console stops there (`suspended_calls`).

use serde_json::{Value, json};
use stillpoint_tests::{Compiler, DapClient, Fixture, Flags, MACHINE};

fn fixture() -> Fixture {
    Fixture::of("c/called_breakpoints.c")
}

fn evaluate_as(client: &mut DapClient, expression: &str, context: &str) -> Result<String, String> {
    let frame = client.top_frame()["id"].clone();
    let arguments = json!({"expression": expression, "frameId": frame, "context": context});
    match client.request("evaluate", arguments) {
        Ok(body) => Ok(body["result"].as_str().unwrap_or_default().to_owned()),
        Err(error) => Err(error["body"]["error"]["format"]
            .as_str()
            .unwrap_or_default()
            .to_owned()),
    }
}

fn stopped_at_begin(args: Value, breakpoints: Vec<(&str, Value)>) -> (Fixture, DapClient) {
    let fixture = fixture();
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({"args": args}));
    client.set_breakpoints(&fixture, &["begin"]);
    client.configure();
    client.expect_stopped("breakpoint");
    client.set_breakpoints_with(&fixture, breakpoints);
    (fixture, client)
}

#[test]
fn watch_call_skips_breakpoints_without_a_hit() {
    let third = json!({"hitCondition": "3"});
    let (fixture, mut client) = stopped_at_begin(json!([]), vec![("counted", third)]);
    for _ in 0..5 {
        assert_eq!(
            evaluate_as(&mut client, "counted(4)", "watch").as_deref(),
            Ok("8")
        );
    }
    client.continue_();
    client.expect_stopped("breakpoint");
    client.expect_line(&fixture, "counted");
    // The breakpoint of the current stop is in the function as well.
    assert_eq!(
        evaluate_as(&mut client, "counted(x)", "watch").as_deref(),
        Ok("4")
    );
    assert_eq!(client.evaluate("x"), "2");
    client.continue_();
    assert_eq!(client.expect_exit(), 0);
    assert!(client.output("stdout").ends_with("20 1\n"));
    client.disconnect();
}

#[test]
fn watch_call_emits_no_log_message() {
    let says = json!({"logMessage": "seen {x}"});
    let (_, mut client) = stopped_at_begin(json!([]), vec![("counted", says)]);
    assert_eq!(
        evaluate_as(&mut client, "counted(40)", "watch").as_deref(),
        Ok("80")
    );
    client.continue_();
    assert_eq!(client.expect_exit(), 0);
    let output = client.output("console");
    assert_eq!(output.matches("seen").count(), 5, "{output}");
    assert!(!output.contains("seen 40"), "{output}");
    client.disconnect();
}

#[test]
fn condition_call_skips_breakpoints() {
    let says = json!({"logMessage": "seen {x}"});
    let where_six = json!({"condition": "counted(i) == 6"});
    let breakpoints = vec![("counted", says), ("loop", where_six)];
    let (fixture, mut client) = stopped_at_begin(json!([]), breakpoints);
    client.continue_();
    client.expect_stopped("breakpoint");
    client.expect_line(&fixture, "loop");
    assert_eq!(client.evaluate("i"), "3");
    client.continue_();
    assert_eq!(client.expect_exit(), 0);
    let output = client.output("console");
    assert_eq!(output.matches("seen").count(), 5, "{output}");
    client.disconnect();
}

#[test]
fn a_call_on_the_console_stops_at_a_breakpoint() {
    let (fixture, mut client) = stopped_at_begin(json!([]), vec![("counted", json!({}))]);
    let before = (
        client.evaluate("$pc"),
        client.evaluate(&format!("${}", MACHINE.sp)),
    );
    let error =
        evaluate_as(&mut client, "counted(4)", "repl").expect_err("it comes to a breakpoint");
    let place = format!("at called_breakpoints.c:{}", fixture.line("counted"));
    for part in [
        "`counted(4)` stopped at a breakpoint",
        &place,
        "has no value",
    ] {
        assert!(error.contains(part), "{part}: {error}");
    }
    client.expect_stopped("breakpoint");
    client.expect_line(&fixture, "counted");
    client.continue_();
    client.expect_stopped("step");
    assert_eq!(
        (
            client.evaluate("$pc"),
            client.evaluate(&format!("${}", MACHINE.sp))
        ),
        before
    );
    for pass in 0..5 {
        client.continue_();
        client.expect_stopped("breakpoint");
        assert_eq!(client.evaluate("x"), pass.to_string());
    }
    client.continue_();
    assert_eq!(client.expect_exit(), 0);
    client.disconnect();
}

/// Calls by the debugger have no effect on hit counts and log messages of fast breakpoints.
#[test]
fn calls_leave_counters_in_the_program_unchanged() {
    for compiler in [Compiler::Gcc, Compiler::Clang] {
        let Some(fixture) = Fixture::build("c/called_breakpoints.c", Flags::new(compiler)) else {
            continue;
        };
        for (options, last_hit) in [
            (json!({"hitCondition": "9000"}), Some(8999)),
            (json!({"logMessage": "seen {x}"}), None),
        ] {
            let mut client = DapClient::spawn();
            client.launch(&fixture, json!({"args": ["10000"]}));
            let half = json!({"condition": "i == last / 2"});
            client.set_breakpoints_with(&fixture, vec![("counted", options), ("half", half)]);
            client.configure();
            client.expect_stopped("breakpoint");
            client.expect_line(&fixture, "half");
            for _ in 0..20 {
                assert_eq!(
                    evaluate_as(&mut client, "counted(-1)", "watch").as_deref(),
                    Ok("-2")
                );
            }
            client.continue_();
            if let Some(last) = last_hit {
                client.expect_stopped("breakpoint");
                client.expect_line(&fixture, "counted");
                assert_eq!(client.evaluate("x"), last.to_string());
                client.continue_();
            }
            assert_eq!(client.expect_exit(), 0);
            let output = client.output("console");
            if last_hit.is_none() {
                assert_eq!(output.matches("seen ").count(), 10_000);
            }
            assert!(!output.contains("seen -1"));
            client.disconnect();
        }
    }
}

/// A condition that calls, and a breakpoint there that the program has begun to count itself.
#[test]
fn condition_calls_leave_counters_unchanged() {
    let fixture = fixture();
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({"args": ["4000"]}));
    let last = json!({"hitCondition": "3900"});
    // It calls from half of the loop on.
    let calls = json!({"condition": "i > 2000 && i < 2400 && counted(i) < 0"});
    client.set_breakpoints_with(&fixture, vec![("counted", last), ("loop", calls)]);
    client.configure();
    client.expect_stopped("breakpoint");
    client.expect_line(&fixture, "counted");
    assert_eq!(client.evaluate("x"), "3899");
    client.continue_();
    assert_eq!(client.expect_exit(), 0);
    client.disconnect();
}

#[test]
fn writes_of_a_call_do_not_trigger_data_breakpoints() {
    let (fixture, mut client) = stopped_at_begin(json!([]), vec![]);
    let frame = client.top_frame()["id"].clone();
    let info = client.request_ok(
        "dataBreakpointInfo",
        json!({"name": "total", "frameId": frame}),
    );
    let wanted = json!([{"dataId": info["dataId"], "accessType": "write"}]);
    client.request_ok("setDataBreakpoints", json!({"breakpoints": wanted}));
    for context in ["watch", "repl"] {
        evaluate_as(&mut client, "add_to(5)", context).expect("it returns");
    }
    client.continue_();
    let stop = client.expect_stopped("data breakpoint");
    let text = stop["text"].as_str().unwrap_or_default();
    assert!(text.contains("10") && text.contains("11"), "{text}");
    client.set_breakpoints(&fixture, &[]);
    client.continue_();
    assert_eq!(client.expect_exit(), 0);
    client.disconnect();
}
