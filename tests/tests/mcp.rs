//! `stillpoint mcp`: what an agent sees of programs in C, C++ and Rust, tool by tool.

use nix::sys::signal::Signal;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use stillpoint_tests::process::Debuggee;
use stillpoint_tests::{Compiler, DEADLINE, Fixture, Flags, core_of, process, stillpoint};

/// A client of the Model Context Protocol on the standard streams.
struct Agent {
    server: Child,
    stdin: Option<ChildStdin>,
    messages: Receiver<Value>,
    /// Answers that nobody has taken yet.
    answers: HashMap<i64, Value>,
    last: i64,
}

impl Agent {
    fn start() -> Self {
        let mut server = Command::new(stillpoint())
            .arg("mcp")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("stillpoint starts");
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

    fn write(&mut self, message: &Value) {
        let stdin = self.stdin.as_mut().expect("open");
        writeln!(stdin, "{message}").expect("the server reads");
    }

    fn notify(&mut self, method: &str, params: Value) {
        self.write(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    fn send(&mut self, method: &str, params: Value) -> i64 {
        self.last += 1;
        let id = self.last;
        self.write(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    fn answer(&mut self, id: i64) -> Value {
        loop {
            if let Some(answer) = self.answers.remove(&id) {
                return answer;
            }
            let message = self.messages.recv_timeout(DEADLINE);
            let message = message.expect("an answer in time");
            if let Some(id) = message["id"].as_i64() {
                self.answers.insert(id, message);
            }
        }
    }

    fn begin(&mut self, tool: &str, arguments: Value) -> i64 {
        self.send("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    fn finish(&mut self, id: i64) -> (bool, String) {
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

    /// Calls a tool that has to succeed.
    fn call(&mut self, tool: &str, arguments: Value) -> String {
        let id = self.begin(tool, arguments.clone());
        let (failed, text) = self.finish(id);
        assert!(!failed, "{tool} {arguments}: {text}");
        text
    }

    /// Calls a tool that has to fail; gives its text, which begins with `code`.
    fn fail(&mut self, tool: &str, arguments: Value, code: &str) -> String {
        let id = self.begin(tool, arguments.clone());
        let (failed, text) = self.finish(id);
        assert!(failed, "{tool} {arguments} succeeded: {text}");
        assert!(
            text.starts_with(&format!("{code}: ")),
            "{tool} {arguments}: {text}"
        );
        text
    }

    /// Launches a fixture and runs it to the line of that name.
    fn at(fixture: &Fixture, marker: &str) -> (Self, String) {
        let mut agent = Self::start();
        let text = agent.launch_to(fixture, marker);
        (agent, text)
    }

    fn launch_to(&mut self, fixture: &Fixture, marker: &str) -> String {
        let place = place(fixture, marker);
        self.call(
            "debug_launch",
            json!({"program": fixture.program, "breakpoints": [place]}),
        )
    }

    /// The number of the process that is debugged: the child of the server's only child.
    fn debuggee(&self) -> i32 {
        let child = |pid: i32| {
            let path = format!("/proc/{pid}/task/{pid}/children");
            let children = std::fs::read_to_string(path).expect("the children");
            let first = children.split_whitespace().next().expect("a child");
            first.parse::<i32>().expect("a number")
        };
        let adapter = child(self.server.id() as i32);
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
        // The guardian is of our own program.
        let own = std::fs::read_link(format!("/proc/{adapter}/exe")).expect("its program");
        children
            .find(|pid| std::fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|exe| exe != own))
            .expect("a debuggee")
    }

    /// Closes the connection; the server has to end.
    fn leave(mut self) {
        drop(self.stdin.take());
        let pid = self.server.id() as i32;
        let (sender, ended) = mpsc::channel();
        let mut server = self.server;
        thread::spawn(move || sender.send(server.wait()));
        match ended.recv_timeout(DEADLINE) {
            Ok(status) => assert!(status.expect("a status").success()),
            Err(_) => {
                process::send_signal(pid, Signal::SIGKILL);
                panic!("`stillpoint mcp` does not end");
            }
        }
    }
}

fn place(fixture: &Fixture, marker: &str) -> String {
    let file = fixture
        .source
        .file_name()
        .expect("a name")
        .to_str()
        .expect("UTF-8");
    format!("{file}:{}", fixture.line(marker))
}

/// Asserts that a text has all the parts.
fn has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "no `{part}` in\n{text}");
    }
}

#[test]
fn tools_describe_themselves() {
    let mut agent = Agent::start();
    let id = agent.send("tools/list", json!({}));
    let answer = agent.answer(id);
    let tools = answer["result"]["tools"].as_array().expect("tools");
    let names: Vec<&str> = tools
        .iter()
        .filter_map(|tool| tool["name"].as_str())
        .collect();
    let all = [
        "debug_launch",
        "debug_attach",
        "debug_breakpoint",
        "debug_logpoint",
        "debug_continue",
        "debug_stack",
        "debug_variables",
        "debug_read",
        "debug_write",
        "debug_evaluate",
        "debug_output",
        "debug_stop",
    ];
    assert_eq!(names, all);
    for tool in tools {
        assert!(
            tool["description"]
                .as_str()
                .is_some_and(|text| text.len() > 20),
            "{tool}"
        );
        let schema = &tool["inputSchema"];
        jsonschema::meta::validate(schema).unwrap_or_else(|error| panic!("{tool}: {error}"));
        for (name, parameter) in schema["properties"].as_object().expect("parameters") {
            let text = parameter["description"].as_str();
            assert!(text.is_some(), "{}: {name} says nothing", tool["name"]);
        }
    }
    agent.leave();
}

#[test]
fn a_bug_is_hunted_down_in_c() {
    let fixture = Fixture::of("c/loop.c");
    let mut agent = Agent::start();
    let program = fixture.program.to_str().expect("UTF-8");
    let held = agent.call("debug_launch", json!({"program": program}));
    has(&held, &["held before its first instruction"]);
    agent.fail("debug_stack", json!({}), "NOT_STARTED");
    let set = agent.call(
        "debug_breakpoint",
        json!({"location": place(&fixture, "body_return"), "condition": "i == 2"}),
    );
    assert_eq!(
        set,
        format!("breakpoint 1: {} if i == 2", place(&fixture, "body_return"))
    );

    let stop = agent.call("debug_continue", json!({}));
    let line = fixture.line("body_return");
    has(
        &stop,
        &[
            &format!(
                "stop 1: breakpoint 1 ({})\n",
                place(&fixture, "body_return")
            ),
            &format!("at body at {}:{line}\n", fixture.source.display()),
            "thread 1 \"loop\"",
            &format!(">{line:>5} |     return product;"),
            "  argument i = 2  (int)\n",
            "  argument scale = 10  (int)\n",
            "  product = 20  (int)\n",
            "  #0 body at loop.c:",
            "  #1 main at loop.c:",
            "frames of libraries (",
        ],
    );

    let out = agent.call("debug_continue", json!({"action": "step-out"}));
    has(
        &out,
        &[
            "stop 2: step\n",
            "at main at ",
            "  returned by body() = 20  (int)\n",
            "  i = 2  (int)\n",
        ],
    );
    let after = agent.call("debug_continue", json!({"action": "step-over"}));
    has(&after, &["changed since stop 2:\n  total: 12 -> 32\n"]);
    let to = agent.call(
        "debug_continue",
        json!({"action": "run-to", "to": place(&fixture, "print")}),
    );
    has(
        &to,
        &[
            "stop 4: breakpoint at the place to run to (loop.c:",
            "total: 32 -> 105\n",
        ],
    );
    // It was for once.
    assert_eq!(
        agent.call("debug_breakpoint", json!({"action": "list"})),
        set
    );

    let end = agent.call("debug_continue", json!({}));
    assert_eq!(end, "ended: exit code 0\noutput:\n  105\n");
    agent.fail("debug_continue", json!({}), "PROGRAM_ENDED");
    agent.fail("debug_variables", json!({}), "PROGRAM_ENDED");
    assert_eq!(agent.call("debug_output", json!({})), "105\n[cursor 4]\n");
    has(&agent.call("debug_stop", json!({})), &["is over"]);
    agent.fail("debug_output", json!({}), "NO_SESSION");
    agent.leave();
}

#[test]
fn steps_go_into_calls_and_other_frames_are_looked_at() {
    let fixture = Fixture::of("c/recursion.c");
    let (mut agent, _) = Agent::at(&fixture, "call");
    let into = agent.call("debug_continue", json!({"action": "step-into"}));
    has(
        &into,
        &["stop 2: step", "at factorial at", "argument n = 5"],
    );
    let bottom = agent.call(
        "debug_continue",
        json!({"action": "run-to", "to": place(&fixture, "bottom")}),
    );
    has(
        &bottom,
        &["argument n = 1", "changed since stop 2:\n  n: 5 -> 1\n"],
    );
    let stack = agent.call("debug_stack", json!({"levels": 3}));
    let lines: Vec<&str> = stack.lines().collect();
    assert_eq!(lines.len(), 4, "{stack}");
    assert!(lines[1].starts_with("#1 factorial at /"), "{stack}");
    assert_eq!(lines[3], "… more frames: debug_stack {\"start\": 3}");
    let more = agent.call("debug_stack", json!({"start": 3, "levels": 3}));
    has(&more, &["#3 factorial", "#5 main"]);
    agent.fail("debug_stack", json!({"start": 5000}), "NO_SUCH_FRAME");
    assert_eq!(
        agent.call("debug_evaluate", json!({"expression": "n", "frame": 2})),
        "n = 3  (int)\n"
    );
    has(
        &agent.call("debug_variables", json!({"frame": 4})),
        &["Locals:\n", "  n = 5  (int)\n"],
    );
    agent.fail(
        "debug_evaluate",
        json!({"expression": "n", "frame": 99}),
        "NO_SUCH_FRAME",
    );
    agent.fail(
        "debug_evaluate",
        json!({"expression": "n", "thread": 7}),
        "NO_SUCH_THREAD",
    );
    let threads = agent.call("debug_stack", json!({"threads": true}));
    has(&threads, &["> thread 1 \"recursion\": #0 factorial at "]);
    agent.leave();
}

#[test]
fn values_are_opened_read_and_written() {
    let fixture = Fixture::of("c/structs.c");
    let (mut agent, stop) = Agent::at(&fixture, "inner");
    has(&stop, &["  shadow = 2  (int)\n", "pointer = 0x…"]);

    let value = agent.call("debug_evaluate", json!({"expression": "first"}));
    assert_eq!(value, "first = {value = 1, next = 0x…}  (struct node)\n");
    let exact = agent.call(
        "debug_evaluate",
        json!({"expression": "first", "addresses": true}),
    );
    has(&exact, &["next = 0x7ff"]);
    let members = agent.call("debug_variables", json!({"expression": "first.next"}));
    has(&members, &["  value = 2  (int)\n", "  next = 0x0"]);

    // A thousand elements come in parts, and the reply says how to get the next.
    let part = agent.call("debug_variables", json!({"expression": "big", "count": 3}));
    has(
        &part,
        &[
            "  [0] = 0  (int)\n",
            "  [2] = 4  (int)\n",
            "… more of 1000: the same with \"start\": 3",
        ],
    );
    let next = agent.call(
        "debug_variables",
        json!({"expression": "big", "start": 998, "count": 3}),
    );
    has(&next, &["  [998] = 996004", "  [999] = 998001"]);
    assert!(!next.contains("more"), "{next}");
    let small = agent.call("debug_variables", json!({"budget": 300}));
    assert!(small.len() < 400, "{small}");
    has(
        &small,
        &["… more: the same with \"start\": ", "or a larger budget"],
    );
    let named = agent.call("debug_variables", json!({"filter": "shadow"}));
    assert_eq!(named.lines().count(), 3, "{named}");
    has(
        &agent.call("debug_variables", json!({"scope": "globals"})),
        &["global_counter = 42"],
    );
    has(
        &agent.call("debug_variables", json!({"scope": "registers"})),
        &["rip = "],
    );

    let long = agent.call(
        "debug_evaluate",
        json!({"expression": "big", "budget": 200}),
    );
    assert!(long.len() < 350, "{long}");
    has(
        &long,
        &["… cut: a larger budget, or debug_variables {\"expression\":\"big\"}"],
    );
    let longer = agent.call(
        "debug_evaluate",
        json!({"expression": "big", "budget": 20000}),
    );
    has(&longer, &["998001}"]);

    let bytes = agent.call("debug_read", json!({"location": "buffer"}));
    has(
        &bytes,
        &["8 bytes of buffer:\n", "+0", "61 62 63 00", "abc....."],
    );
    let text = agent.call("debug_read", json!({"location": "*text", "count": 5}));
    has(&text, &["5 bytes of *text:", "68 65 6c 6c 6f", "hello"]);
    let address = agent.call(
        "debug_evaluate",
        json!({"expression": "&buffer", "addresses": true}),
    );
    let address = address
        .split_whitespace()
        .find(|word| word.starts_with("0x"))
        .expect("an address");
    let there = agent.call("debug_read", json!({"location": address, "count": 4}));
    has(&there, &["61 62 63 00"]);
    agent.fail("debug_read", json!({"location": "0x10"}), "CANNOT_READ");

    assert_eq!(
        agent.call(
            "debug_write",
            json!({"location": "whole", "value": "5 + 2"})
        ),
        "whole: -123456 -> 7\n"
    );
    assert_eq!(
        agent.call(
            "debug_write",
            json!({"location": "global_counter", "value": "1"})
        ),
        "global_counter: 42 -> 1\n"
    );
    let location = format!("*(short *){address}");
    assert_eq!(
        agent.call(
            "debug_write",
            json!({"location": location, "value": "0x4241"})
        ),
        format!("{location}: 25185 -> 16961\n")
    );
    has(
        &agent.call("debug_evaluate", json!({"expression": "buffer"})),
        &["\"ABc\""],
    );
    agent.fail(
        "debug_write",
        json!({"location": "whole", "value": "nonsense"}),
        "CANNOT_WRITE",
    );
    agent.fail(
        "debug_write",
        json!({"location": "3", "value": "4"}),
        "CANNOT_WRITE",
    );
    agent.fail(
        "debug_evaluate",
        json!({"expression": "whole +"}),
        "EVALUATION_FAILED",
    );
    agent.fail(
        "debug_evaluate",
        json!({"expression": "no_such_name"}),
        "EVALUATION_FAILED",
    );
    let stop = agent.call("debug_continue", json!({"action": "step-over"}));
    has(&stop, &["whole = 9", "whole: -123456 -> 9"]);
    agent.leave();
}

#[test]
fn breakpoints_say_what_is_wrong_with_them() {
    let fixture = Fixture::of("c/loop.c");
    let mut agent = Agent::start();
    agent.call("debug_launch", json!({"program": fixture.program}));
    let refused = agent.fail(
        "debug_breakpoint",
        json!({"location": "loop.c:5000"}),
        "NO_CODE_AT_LINE",
    );
    has(&refused, &["loop.c:5000"]);
    let last = fixture.line("end");
    let near = agent.fail(
        "debug_breakpoint",
        json!({"location": format!("loop.c:{}", last + 30)}),
        "NO_CODE_AT_LINE",
    );
    has(
        &near,
        &[
            "has no code; valid lines: ",
            &format!(", {last}, {}", last + 1),
        ],
    );
    agent.fail(
        "debug_breakpoint",
        json!({"location": "body", "condition": "i =="}),
        "BAD_CONDITION",
    );
    agent.fail(
        "debug_breakpoint",
        json!({"location": "body", "hitCondition": "often"}),
        "BAD_CONDITION",
    );
    agent.fail(
        "debug_breakpoint",
        json!({"exception": "tragedies"}),
        "NO_SUCH_FILTER",
    );
    agent.fail("debug_breakpoint", json!({}), "BAD_ARGUMENTS");
    agent.fail(
        "debug_breakpoint",
        json!({"action": "remove"}),
        "BAD_ARGUMENTS",
    );
    agent.fail(
        "debug_breakpoint",
        json!({"action": "remove", "id": 77}),
        "NO_SUCH_BREAKPOINT",
    );
    agent.fail(
        "debug_logpoint",
        json!({"location": "body", "message": "x"}),
        "BAD_ARGUMENTS",
    );
    agent.fail(
        "debug_logpoint",
        json!({"location": place(&fixture, "body"), "message": "{i"}),
        "BAD_MESSAGE",
    );
    agent.fail(
        "debug_continue",
        json!({"action": "run-to", "to": "loop.c:5000"}),
        "NO_CODE_AT_LINE",
    );
    agent.fail(
        "debug_continue",
        json!({"action": "run-to", "to": "no_such_function"}),
        "NO_SUCH_PLACE",
    );
    assert_eq!(
        agent.call("debug_breakpoint", json!({"action": "list"})),
        "no breakpoints"
    );

    // What is right is set, hit and taken away.
    let place = place(&fixture, "body_return");
    let message =
        json!({"location": place, "message": "i={i} product={product}", "hitCount": "<= 3"});
    has(
        &agent.call("debug_logpoint", message),
        &["logpoint ", "hits <= 3", "says \"i={i} product={product}\""],
    );
    let set = agent.call(
        "debug_breakpoint",
        json!({"location": "body", "hitCondition": "4"}),
    );
    has(&set, &["body, hits 4, at ", "loop.c:"]);
    let number: u32 = set
        .split([' ', ':'])
        .nth(1)
        .expect("a number")
        .parse()
        .expect("a number");
    let stop = agent.call("debug_continue", json!({}));
    has(
        &stop,
        &[
            &format!("breakpoint {number} (body)"),
            "argument i = 3",
            "i=0 product=0\n  i=1 product=10\n  i=2 product=20\n",
        ],
    );
    let console = agent.call("debug_output", json!({"stream": "console"}));
    assert!(
        console.starts_with("i=0 product=0\ni=1 product=10\ni=2 product=20\n[cursor "),
        "{console}"
    );
    agent.call(
        "debug_breakpoint",
        json!({"action": "remove", "id": number}),
    );
    let watched = agent.call("debug_breakpoint", json!({"watch": "product"}));
    has(&watched, &["watch write of product"]);
    let written = agent.call("debug_continue", json!({}));
    has(&written, &["data breakpoint", "product", "-> 30"]);
    has(
        &agent.call("debug_breakpoint", json!({"action": "remove", "id": 0})),
        &["removed 2"],
    );
    has(
        &agent.call("debug_continue", json!({})),
        &["ended: exit code 0"],
    );
    agent.leave();
}

#[test]
fn a_program_that_runs_on_is_waited_for_paused_and_read() {
    let fixture = Fixture::of("c/spin.c");
    let mut agent = Agent::start();
    agent.call("debug_launch", json!({"program": fixture.program}));
    let running = agent.call("debug_continue", json!({"timeout": 0.1}));
    has(
        &running,
        &[
            "running (no stop within 0.1 seconds)",
            "\"action\": \"wait\"",
            "\"action\": \"pause\"",
        ],
    );
    agent.fail("debug_continue", json!({}), "NOT_STOPPED");
    agent.fail("debug_stack", json!({}), "NOT_STOPPED");
    has(
        &agent.call("debug_continue", json!({"action": "wait", "timeout": 0})),
        &["running"],
    );

    // Output is read on from a cursor while it runs.
    let cursor = |text: &str| {
        let last = text.lines().last().expect("a line");
        let digits: String = last.chars().filter(char::is_ascii_digit).collect();
        digits.parse::<u64>().expect("a cursor")
    };
    let first = agent.call("debug_output", json!({"since": 0, "budget": 200}));
    has(&first, &["1\n2\n3\n"]);
    let second = agent.call("debug_output", json!({"since": cursor(&first)}));
    assert!(cursor(&second) >= cursor(&first), "{first}{second}");

    // One call waits, another one pauses; both tell of the stop.
    let waiting = agent.begin("debug_continue", json!({"action": "wait"}));
    let paused = agent.call("debug_continue", json!({"action": "pause"}));
    has(&paused, &["stop 1: pause", "variables:\n"]);
    let (failed, told) = agent.finish(waiting);
    assert!(!failed);
    has(&told, &["stop 1: pause"]);

    // A breakpoint set while it runs is hit by who waits.
    agent.call("debug_continue", json!({"timeout": 0}));
    agent.call(
        "debug_breakpoint",
        json!({"location": place(&fixture, "beat")}),
    );
    has(
        &agent.call("debug_continue", json!({"action": "wait"})),
        &["stop 2: breakpoint 1", "argument count = "],
    );
    agent.call("debug_breakpoint", json!({"action": "remove", "id": 0}));

    // Whoever gives up waiting leaves the program as it is, and the session usable.
    let id = agent.begin("debug_continue", json!({"timeout": 600}));
    let look = json!({"action": "wait", "timeout": 0});
    while !agent
        .call("debug_continue", look.clone())
        .starts_with("running")
    {}
    agent.notify(
        "notifications/cancelled",
        json!({"requestId": id, "reason": "enough"}),
    );
    has(
        &agent.call("debug_continue", json!({"action": "pause"})),
        &["stop 3: pause"],
    );

    let debuggee = agent.debuggee();
    agent.leave();
    assert!(process::ends_within(debuggee, DEADLINE));
}

#[test]
fn sessions_follow_each_other_and_none_is_left_behind() {
    let fixture = Fixture::of("c/exit_code.c");
    let mut agent = Agent::start();
    agent.fail("debug_continue", json!({}), "NO_SESSION");
    agent.fail("debug_stop", json!({}), "NO_SESSION");
    for code in ["3", "4"] {
        agent.call(
            "debug_launch",
            json!({"program": fixture.program, "args": [code]}),
        );
        agent.fail(
            "debug_launch",
            json!({"program": fixture.program}),
            "SESSION_ACTIVE",
        );
        assert_eq!(
            agent.call("debug_continue", json!({})),
            format!("ended: exit code {code}\n")
        );
        // One that is over is no hindrance.
    }
    let missing = agent.fail(
        "debug_launch",
        json!({"program": "/no/such/program"}),
        "START_FAILED",
    );
    has(&missing, &["/no/such/program"]);
    agent.fail(
        "debug_launch",
        json!({"program": fixture.program, "breakpoints": ["exit_code.c:9999"]}),
        "NO_CODE_AT_LINE",
    );
    agent.fail("debug_stop", json!({}), "NO_SESSION");
    agent.fail("debug_attach", json!({}), "BAD_ARGUMENTS");
    agent.fail("debug_attach", json!({"pid": 0x3fff_ffff}), "START_FAILED");

    agent.call(
        "debug_launch",
        json!({"program": fixture.program, "breakpoints": ["main"]}),
    );
    let debuggee = agent.debuggee();
    agent.call("debug_stop", json!({}));
    assert!(process::ends_within(debuggee, DEADLINE));
    agent.leave();
}

#[test]
fn a_process_is_attached_to_and_runs_on() {
    let fixture = Fixture::of("c/spin.c");
    let spinning = Debuggee::start(&fixture, &[]);
    let pid = spinning.pid();
    let mut agent = Agent::start();
    let stop = agent.call("debug_attach", json!({"pid": pid}));
    has(&stop, &["stop 1: entry", "variables:\n"]);
    has(
        &agent.call("debug_evaluate", json!({"expression": "1 + 1"})),
        &["= 2"],
    );
    agent.call("debug_stop", json!({}));
    spinning.expect_running();
    let again = agent.call("debug_attach", json!({"pid": pid}));
    has(&again, &["stop 1: entry"]);
    agent.leave();
    spinning.expect_running();
}

#[test]
fn a_killed_server_leaves_no_program_behind() {
    let fixture = Fixture::of("c/spin.c");
    let (mut agent, _) = Agent::at(&fixture, "beat");
    let debuggee = agent.debuggee();
    agent.server.kill().expect("it is killed");
    agent.server.wait().expect("its end");
    assert!(process::ends_within(debuggee, DEADLINE));
}

#[test]
fn crashes_are_explained_in_c_and_in_core_files() {
    let fixture = Fixture::of("c/call_null.c");
    let mut agent = Agent::start();
    agent.call("debug_launch", json!({"program": fixture.program}));
    let crash = agent.call("debug_continue", json!({}));
    has(&crash, &["stop 1: exception: ", "SIGSEGV", "call_null.c:"]);
    agent.leave();

    let fixture = Fixture::of("c/crash.c");
    let folder = tempfile::tempdir().expect("a folder");
    let Some(core) = core_of(&fixture, folder.path()) else {
        return;
    };
    let mut agent = Agent::start();
    let text = agent.call(
        "debug_attach",
        json!({"core": core, "program": fixture.program}),
    );
    has(
        &text,
        &[
            "stop 1: exception: signal SIGSEGV: the program was ended by ",
            "stack:\n",
        ],
    );
    agent.fail("debug_continue", json!({}), "CANNOT_CONTINUE");
    agent.leave();
}

#[test]
fn containers_and_exceptions_of_cpp() {
    let fixture = Fixture::of("cpp/classes.cpp");
    let mut agent = Agent::start();
    let stop = agent.call(
        "debug_launch",
        json!({"program": fixture.program, "breakpoints": ["main"]}),
    );
    has(
        &stop,
        &[
            "breakpoint 1: main, at ",
            "stop 1: function breakpoint 1 (main)",
        ],
    );
    agent.call("debug_stop", json!({}));

    let fixture = Fixture::of("cpp/crash.cpp");
    agent.call("debug_launch", json!({"program": fixture.program}));
    let set = agent.call(
        "debug_breakpoint",
        json!({"exception": "cpp_throw", "condition": "std::exception"}),
    );
    has(&set, &["exception cpp_throw if std::exception"]);
    let stop = agent.call("debug_continue", json!({}));
    has(&stop, &["stop 1: exception", "crash.cpp:"]);
    agent.leave();
}

#[test]
fn panics_and_values_of_rust() {
    let fixture = Fixture::of("rust/panic.rs");
    let mut agent = Agent::start();
    agent.call("debug_launch", json!({"program": fixture.program}));
    let stop = agent.call("debug_continue", json!({}));
    has(
        &stop,
        &[
            "stop 1: exception",
            "index out of bounds: the len is 3 but the index is 3",
            &format!("panic.rs:{}", fixture.line("index")),
            "values = [1, 2, 3]",
            "index = 3",
            "frames of libraries (",
        ],
    );
    // What is evaluated is evaluated where the stop was told to be, not in the library on top.
    assert_eq!(
        agent.call("debug_evaluate", json!({"expression": "values[0] + 41"})),
        "values[0] + 41 = 42  (i32)\n"
    );
    agent.leave();

    let fixture = Fixture::of("rust/output.rs");
    let mut agent = Agent::start();
    agent.call("debug_launch", json!({"program": fixture.program}));
    assert!(
        agent
            .call("debug_continue", json!({}))
            .starts_with("ended: exit code 4\n")
    );
    let stderr = agent.call("debug_output", json!({"stream": "stderr"}));
    assert!(
        stderr.starts_with("err 0\nerr 1\nerr 2\n[cursor "),
        "{stderr}"
    );
    agent.leave();
}

#[test]
fn what_the_compiler_kept_no_value_of_is_said_to_be_so() {
    let flags = Flags::new(Compiler::Gcc).optimized("2");
    let fixture = Fixture::build("c/optimized.c", flags).expect("gcc is installed");
    let (mut agent, stop) = Agent::at(&fixture, "half");
    has(&stop, &["pair = <optimized out>"]);
    let text = agent.fail(
        "debug_evaluate",
        json!({"expression": "pair"}),
        "OPTIMIZED_OUT",
    );
    has(&text, &["-Og"]);
    agent.leave();
}

#[test]
fn wrong_calls_are_answered_and_harm_nothing() {
    let mut agent = Agent::start();
    let wrong = agent.fail(
        "debug_continue",
        json!({"timeout": "soon"}),
        "BAD_ARGUMENTS",
    );
    has(&wrong, &["`timeout`", "expected f64"]);
    let unknown = agent.fail(
        "debug_launch",
        json!({"program": "/bin/true", "arguments": []}),
        "BAD_ARGUMENTS",
    );
    has(&unknown, &["unknown field `arguments`", "`args`"]);
    agent.fail("debug_launch", json!({}), "BAD_ARGUMENTS");
    agent.fail(
        "debug_launch",
        json!({"program": "/bin/true", "settings": {"nonStop": true}}),
        "BAD_ARGUMENTS",
    );
    let id = agent.begin("debug_breakpoints", json!({}));
    let answer = agent.answer(id);
    has(
        answer["error"]["message"].as_str().expect("an error"),
        &["did you mean `debug_breakpoint`"],
    );
    let stdin = agent.stdin.as_mut().expect("open");
    writeln!(stdin, "this is no JSON").expect("the server reads");
    agent.fail("debug_stop", json!({}), "NO_SESSION");
    agent.leave();
}
