//! The debugger's side: one session for a program, with its requests in flight.

use super::compiled;
use super::difference::{self, Difference};
use super::program::Program;
use super::report::Report;
use crate::DapClient;
use serde_json::{Value, json};
use std::collections::VecDeque;

/// Requests sent ahead of their responses.
const AHEAD: usize = 32;

/// Compares a program with its compiler, and its expressions as code in so many runs of its loop.
pub(super) fn compare(program: &Program, runs: usize) -> Report {
    let mut client = stopped(program);
    let printed = difference::printed(&client.output("stdout"));
    let mut report = Report::of(program);
    let difference = |index: usize, (what, expected, found)| Difference {
        language: program.world.language(),
        kind: program.world.kind.clone(),
        what,
        expression: program.expressions[index].clone(),
        expected,
        found,
    };
    let replies = evaluate(&mut client, program.expressions.iter().map(String::as_str));
    for (index, reply) in replies.iter().enumerate() {
        let reply = reply.as_ref().map_err(String::as_str);
        if let Some(it) = difference::difference(program, index, printed.get(&index), reply) {
            report.add(difference(index, it));
        }
    }
    let compiled = compiled::compare(&mut client, program, &replies, runs);
    report.compiled += compiled.compiled;
    for (index, what, expected, found) in compiled.differences {
        report.add(difference(index, (what, expected, found)));
    }
    client.disconnect();
    report
}

/// Runs a program to its stop. On the way, expressions may trap.
fn stopped(program: &Program) -> DapClient {
    let mut client = DapClient::spawn();
    client.launch(&program.fixture, json!({}));
    client.request_ok("setExceptionBreakpoints", json!({"filters": []}));
    client.set_breakpoints(&program.fixture, &["stop"]);
    client.configure();
    while client.expect_stopped_by(&["breakpoint", "exception"])["reason"] != "breakpoint" {
        client.continue_();
    }
    client
}

/// Evaluates expressions in the innermost frame: bodies of responses, or the texts of errors.
fn evaluate<'a>(
    client: &mut DapClient,
    expressions: impl Iterator<Item = &'a str>,
) -> Vec<Result<Value, String>> {
    let frame = client.top_frame()["id"].clone();
    let mut flying = VecDeque::new();
    let mut replies = Vec::new();
    let mut receive = |client: &mut DapClient, request| {
        let reply = client.response(request);
        let text = |error: Value| {
            let text = error["body"]["error"]["format"].as_str();
            text.unwrap_or_default().to_owned()
        };
        replies.push(reply.map_err(text));
    };
    for expression in expressions {
        let arguments = json!({"expression": expression, "frameId": frame, "context": "watch"});
        flying.push_back(client.send("evaluate", arguments));
        if flying.len() == AHEAD
            && let Some(request) = flying.pop_front()
        {
            receive(client, request);
        }
    }
    for request in flying {
        receive(client, request);
    }
    replies
}
