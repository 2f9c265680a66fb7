//! The debugger's side: one session for a program, with its requests in flight.

use super::compiled;
use super::difference::{self, Difference, Printed, What};
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
    let mut replies = Vec::new();
    if program.world.has_state() {
        // Each expression begins with the same variables.
        let expressions = program.expressions.iter();
        let all = expressions.flat_map(|it| ["reset()", it.as_str(), "digest()"]);
        let mut triples = evaluate(&mut client, all).into_iter();
        let states = difference::states(&client.output("stdout"));
        let mut index = 0;
        while let (Some(_), Some(reply), Some(digest)) =
            (triples.next(), triples.next(), triples.next())
        {
            if let (Some(state), Ok(_)) = (states.get(&index), &reply) {
                let digest = digest.map(|it| it["result"].as_str().unwrap_or_default().to_owned());
                let digest = digest.unwrap_or_else(|why| why);
                if digest != fnv(state).to_string()
                    && !matches!(
                        printed.get(&index),
                        Some(Printed::Trap | Printed::Undefined)
                    )
                {
                    let found = format!("other variables: `digest()` is {digest}");
                    report.add(difference(index, (What::State, state.clone(), found)));
                }
            }
            replies.push(reply);
            index += 1;
        }
    } else {
        let all = program.expressions.iter().map(String::as_str);
        replies = evaluate(&mut client, all);
    }
    for (index, reply) in replies.iter().enumerate() {
        let reply = reply.as_ref().map_err(String::as_str);
        if let Some(it) = difference::difference(program, index, printed.get(&index), reply) {
            report.add(difference(index, it));
        }
    }
    let errors = client.output("stderr");
    if let Some(at) = errors.find("AddressSanitizer") {
        let found = errors[at..].lines().next().unwrap_or_default().to_owned();
        let what = "no error of memory".to_owned();
        report.add(difference(0, (What::Memory, what, found)));
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
    // Leaks are looked for by ptrace, which the debugger uses.
    let environment = json!({"ASAN_OPTIONS": "detect_leaks=0:handle_segv=0:handle_sigfpe=0"});
    client.launch(
        &program.fixture,
        json!({"env": environment, "pointees": false}),
    );
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

/// FNV-1a, as `digest` computes it in the programs.
fn fnv(text: &str) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, step)
}
