//! How long an editor waits for the variables of a frame of 200 at a stop:
//!
//!     cargo bench -p stillpoint-tests --bench locals [-- ADAPTER ARGUMENT...]
//!
//! `stackTrace`, then the time from `scopes` to the variables as they are read from JSON, at the first
//! stop and the median of [`STOPS`]. With the command line of another adapter (`gdb -i dap`, at least
//! version 14) its times beside ours.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};
use stillpoint_tests::{Fixture, stillpoint};

const STOPS: usize = 100;

/// A client that does no more than it has to.
struct Client {
    adapter: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    sequence: u64,
}

impl Client {
    fn start(command: &mut Command) -> Self {
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut adapter = command.stderr(Stdio::null()).spawn().expect("it runs");
        Self {
            input: adapter.stdin.take().expect("a pipe"),
            output: BufReader::new(adapter.stdout.take().expect("a pipe")),
            adapter,
            sequence: 0,
        }
    }

    fn send(&mut self, command: &str, arguments: Value) -> u64 {
        self.sequence += 1;
        let message = json!({
            "seq": self.sequence, "type": "request", "command": command, "arguments": arguments,
        });
        let text = message.to_string();
        let frame = format!("Content-Length: {}\r\n\r\n{text}", text.len());
        self.input.write_all(frame.as_bytes()).expect("it listens");
        self.sequence
    }

    fn read(&mut self) -> Value {
        let mut length = 0;
        loop {
            let mut line = String::new();
            let read = self.output.read_line(&mut line).expect("it answers");
            assert!(read > 0, "the adapter has ended");
            match line.trim().split_once(": ") {
                Some(("Content-Length", number)) => length = number.parse().expect("a number"),
                _ if line.trim().is_empty() => break,
                _ => {}
            }
        }
        let mut body = vec![0; length];
        self.output.read_exact(&mut body).expect("it answers");
        serde_json::from_slice(&body).expect("JSON")
    }

    fn answer(&mut self, sequence: u64) -> Value {
        loop {
            let mut message = self.read();
            if message["type"] == "response" && message["request_seq"] == sequence {
                assert_eq!(message["success"], true, "{message}");
                return message["body"].take();
            }
        }
    }

    fn ask(&mut self, command: &str, arguments: Value) -> Value {
        let sequence = self.send(command, arguments);
        self.answer(sequence)
    }

    fn event(&mut self, name: &str) -> Value {
        loop {
            let mut message = self.read();
            if message["event"] == name {
                return message["body"].take();
            }
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let end = json!({"terminateDebuggee": true});
        let sequence = self.send("disconnect", end);
        self.answer(sequence);
        // It has answered, and goes by itself where it does not hang.
        let _ = self.adapter.kill();
        let _ = self.adapter.wait();
    }
}

fn main() {
    let fixture = Fixture::of("c/two_hundred.c");
    let ours = measure(&fixture, &mut Command::new(stillpoint()));
    println!("{}", row("stillpoint", ours));
    // Cargo itself adds `--bench`.
    let mut other = std::env::args().skip(1).filter(|word| word != "--bench");
    if let Some(program) = other.next() {
        let theirs = measure(&fixture, Command::new(&program).args(other));
        let ratios = [0, 1].map(|at| ours[at].as_secs_f64() / theirs[at].as_secs_f64());
        println!("{}", row(&program, theirs));
        println!("ratio: first {:.3}, median {:.3}", ratios[0], ratios[1]);
    }
}

fn row(who: &str, [first, median]: [Duration; 2]) -> String {
    format!("{who}: first {first:.2?}, median {median:.2?}")
}

/// The time at the first stop, and the median.
fn measure(fixture: &Fixture, command: &mut Command) -> [Duration; 2] {
    let mut client = Client::start(command);
    client.ask(
        "initialize",
        json!({"adapterID": "bench", "supportsVariableType": true}),
    );
    let passes = (STOPS + 1).to_string();
    client.send(
        "launch",
        json!({"program": fixture.program, "args": [passes]}),
    );
    client.event("initialized");
    let line = fixture.line("many");
    client.ask(
        "setBreakpoints",
        json!({"source": {"path": fixture.source}, "breakpoints": [{"line": line}]}),
    );
    client.send("configurationDone", json!({}));
    let mut took = Vec::new();
    for pass in 0..STOPS {
        let thread = client.event("stopped")["threadId"].clone();
        let stack = client.ask("stackTrace", json!({"threadId": thread, "levels": 20}));
        let frame = stack["stackFrames"][0]["id"].clone();
        let begun = Instant::now();
        let scopes = client.ask("scopes", json!({"frameId": frame}));
        let scopes = scopes["scopes"].as_array().expect("scopes");
        let locals = scopes.iter().find(|scope| scope["name"] == "Locals");
        let reference = locals.expect("locals")["variablesReference"].clone();
        let body = client.ask("variables", json!({"variablesReference": reference}));
        took.push(begun.elapsed());
        let variables = body["variables"].as_array().expect("variables");
        assert!(variables.len() >= 200, "{}", variables.len());
        let first = variables.iter().find(|it| it["name"] == "i10");
        assert_eq!(first.expect("it")["value"], pass.to_string());
        client.send("continue", json!({"threadId": thread}));
    }
    let first = took[0];
    took.sort_unstable();
    [first, took[STOPS / 2]]
}
