//! An MCP client for `stillpoint mcp`, as agents are.

use nix::sys::signal::Signal;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;

use crate::binary::command;
use crate::fixture::Fixture;
use crate::patience;
use crate::process;

/// A client of the Model Context Protocol on the standard streams.
pub struct Agent {
    server: Child,
    stdin: Option<ChildStdin>,
    messages: Receiver<Value>,
    /// Answers that no test has read yet.
    answers: HashMap<i64, Value>,
    last: i64,
}

impl Agent {
    /// Starts a server and initializes the protocol.
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// Starts a server with arguments and initializes the protocol.
    pub fn start_with(arguments: &[&str]) -> Self {
        Self::start_as(arguments, |_| {})
    }

    /// Like [`Agent::start_with`], with changes to the server's command.
    pub fn start_as(arguments: &[&str], adjust: impl FnOnce(&mut Command)) -> Self {
        let mut server = command();
        server.arg("mcp").args(arguments);
        server.stdin(Stdio::piped()).stdout(Stdio::piped());
        adjust(&mut server);
        let mut server = server.spawn().expect("stillpoint starts");
        let stdout = server.stdout.take().expect("piped");
        let (sender, messages) = mpsc::channel();
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                let message = serde_json::from_str(&line).expect("a line of JSON");
                if sender.send(message).is_err() {
                    break;
                }
            }
        });
        let stdin = server.stdin.take();
        let mut agent = Self {
            server,
            stdin,
            messages,
            answers: HashMap::new(),
            last: 0,
        };
        let id = agent.send(
            "initialize",
            json!({
                "protocolVersion": "2025-06-18", "capabilities": {},
                "clientInfo": {"name": "stillpoint-tests", "version": "0"},
            }),
        );
        let hello = agent.answer(id);
        assert_eq!(
            hello["result"]["serverInfo"]["name"], "stillpoint",
            "{hello}"
        );
        assert!(
            hello["result"]["capabilities"]["tools"].is_object(),
            "{hello}"
        );
        agent.notify("notifications/initialized", json!({}));
        agent
    }

    /// Writes a line.
    pub fn write(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().expect("open");
        writeln!(stdin, "{line}").expect("the server reads");
    }

    /// Kills the server.
    pub fn kill(mut self) {
        self.server.kill().expect("it is killed");
        self.server.wait().expect("its end");
    }

    /// Sends a notification.
    pub fn notify(&mut self, method: &str, params: Value) {
        self.write(&json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string());
    }

    /// Sends a request; returns its id.
    pub fn send(&mut self, method: &str, params: Value) -> i64 {
        self.last += 1;
        let id = self.last;
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.write(&message.to_string());
        id
    }

    /// Waits for the response to a request.
    pub fn answer(&mut self, id: i64) -> Value {
        loop {
            if let Some(answer) = self.answers.remove(&id) {
                return answer;
            }
            let message = patience::receive(&self.messages);
            let message = message.expect("an answer in time");
            if let Some(id) = message["id"].as_i64() {
                self.answers.insert(id, message);
            }
        }
    }

    /// Starts a call of a tool; returns its id.
    pub fn begin(&mut self, tool: &str, arguments: Value) -> i64 {
        self.send("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    /// Waits for the result of a call: whether it failed, and its text.
    pub fn finish(&mut self, id: i64) -> (bool, String) {
        let answer = self.answer(id);
        let result = &answer["result"];
        assert_eq!(
            result["content"].as_array().map(Vec::len),
            Some(1),
            "{answer}"
        );
        let text = result["content"][0]["text"].as_str().expect("a text");
        (result["isError"] == true, text.to_owned())
    }

    /// Calls a tool that must succeed; returns its text.
    pub fn call(&mut self, tool: &str, arguments: Value) -> String {
        let id = self.begin(tool, arguments.clone());
        let (failed, text) = self.finish(id);
        assert!(!failed, "{tool} {arguments}: {text}");
        text
    }

    /// Calls a tool that must fail; returns its text, which starts with `code`.
    pub fn fail(&mut self, tool: &str, arguments: Value, code: &str) -> String {
        let id = self.begin(tool, arguments.clone());
        let (failed, text) = self.finish(id);
        assert!(failed, "{tool} {arguments} succeeded: {text}");
        assert!(
            text.starts_with(&format!("{code}: ")),
            "{tool} {arguments}: {text}"
        );
        text
    }

    /// Launches a fixture and runs it to a named line.
    pub fn at(fixture: &Fixture, marker: &str) -> (Self, String) {
        let mut agent = Self::start();
        let text = agent.launch_to(fixture, marker);
        (agent, text)
    }

    /// Launches a fixture and runs it to a named line; returns the text of that stop.
    pub fn launch_to(&mut self, fixture: &Fixture, marker: &str) -> String {
        let place = line_of(fixture, marker);
        self.call(
            "debug_launch",
            json!({"program": fixture.program, "breakpoints": [place]}),
        )
    }

    /// Returns the debuggee's process id: the child of the tracing process of the server's only
    /// child.
    pub fn debuggee(&self) -> i32 {
        let child = |pid: i32| {
            let path = format!("/proc/{pid}/task/{pid}/children");
            let children = std::fs::read_to_string(path).expect("the children");
            let first = children.split_whitespace().next().expect("a child");
            first.parse::<i32>().expect("a number")
        };
        let adapter = process::tracer_of(child(self.server.id() as i32));
        let path = format!("/proc/{adapter}/task");
        let threads = std::fs::read_dir(path).expect("threads");
        let mut children = threads.flatten().flat_map(|thread| {
            let children = std::fs::read_to_string(thread.path().join("children"));
            let children = children.unwrap_or_default();
            children
                .split_whitespace()
                .map(|pid| pid.parse::<i32>().unwrap())
                .collect::<Vec<_>>()
        });
        // The guardian runs the same executable as the adapter.
        let own = std::fs::read_link(format!("/proc/{adapter}/exe")).expect("its program");
        children
            .find(|pid| std::fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|exe| exe != own))
            .expect("a debuggee")
    }

    /// Closes the connection; the server must exit.
    pub fn leave(mut self) {
        drop(self.stdin.take());
        let pid = self.server.id() as i32;
        let (sender, ended) = mpsc::channel();
        let mut server = self.server;
        thread::spawn(move || sender.send(server.wait()));
        match patience::receive(&ended) {
            Ok(status) => assert!(status.expect("a status").success()),
            Err(_) => {
                process::send_signal(pid, Signal::SIGKILL);
                panic!("`stillpoint mcp` does not end");
            }
        }
    }
}

/// Returns `FILE:LINE` of a named line.
pub fn line_of(fixture: &Fixture, marker: &str) -> String {
    let file = fixture
        .source
        .file_name()
        .expect("a name")
        .to_str()
        .expect("UTF-8");
    format!("{file}:{}", fixture.line(marker))
}

/// Asserts that a text contains all the parts.
pub fn assert_contains(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "no `{part}` in\n{text}");
    }
}
