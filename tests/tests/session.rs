//! The course of a session: its order, its events, its settings, its end.

use std::fs;

use serde_json::{Value, json};
use stillpoint_tests::{Compiler, DapClient, Fixture, Flags, process};

fn is_event(name: &'static str) -> impl Fn(&Value) -> bool {
    move |message| message["event"] == name
}

fn is_answer(command: &'static str) -> impl Fn(&Value) -> bool {
    move |message| message["type"] == "response" && message["command"] == command
}

#[test]
fn initialize_lists_capabilities() {
    let mut client = DapClient::spawn();
    let capabilities = client.initialize();
    for capability in [
        "supportsConfigurationDoneRequest",
        "supportsFunctionBreakpoints",
        "supportsConditionalBreakpoints",
        "supportsHitConditionalBreakpoints",
        "supportsLogPoints",
        "supportsSetVariable",
        "supportsTerminateRequest",
        "supportTerminateDebuggee",
    ] {
        assert_eq!(capabilities[capability], true, "{capability}");
    }
    client.disconnect();
}

#[test]
fn launch_response_follows_configuration_done() {
    let fixture = Fixture::of("c/loop.c");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({}));
    client.set_breakpoints(&fixture, &["body"]);
    client.configure();
    client.expect_stopped("breakpoint");
    let place = |fits: &dyn Fn(&Value) -> bool| client.position(fits).expect("it came");
    let initialized = place(&is_event("initialized"));
    let breakpoints = place(&is_answer("setBreakpoints"));
    let configured = place(&is_answer("configurationDone"));
    let launched = place(&is_answer("launch"));
    let process = place(&is_event("process"));
    let thread = place(&is_event("thread"));
    let stopped = place(&is_event("stopped"));
    assert!(initialized < breakpoints, "initialized comes with launch");
    assert!(breakpoints < configured && configured < launched);
    assert!(process < stopped, "`process` before the first stop");
    assert!(thread < stopped, "`thread started` before the first stop");
    assert_eq!(client.history()[thread]["body"]["reason"], "started");
    let stop = &client.history()[stopped]["body"];
    assert_eq!(
        client.history()[thread]["body"]["threadId"],
        stop["threadId"]
    );
    client.disconnect();
}

#[test]
fn launch_response_for_a_silent_client() {
    let fixture = Fixture::of("c/loop.c");
    let mut client = DapClient::spawn();
    client.initialize();
    let launch = client.send("launch", json!({"program": fixture.program}));
    // debugger-cli sends nothing before it has this answer.
    client.response(launch).expect("launch succeeds");
    client.wait_event("initialized");
    client.set_breakpoints(&fixture, &["body"]);
    client.request_ok("configurationDone", Value::Null);
    client.expect_stopped("breakpoint");
    client.expect_line(&fixture, "body");
    client.disconnect();
}

#[test]
fn requests_before_initialized_are_accepted() {
    let fixture = Fixture::of("c/loop.c");
    let mut client = DapClient::spawn();
    client.initialize();
    let source = json!({"path": fixture.source});
    let lines = json!([{"line": fixture.line("body")}]);
    let launch = client.send("launch", json!({"program": fixture.program}));
    let breakpoints = client.send(
        "setBreakpoints",
        json!({"source": source, "breakpoints": lines}),
    );
    let configured = client.send("configurationDone", Value::Null);
    for sequence in [breakpoints, configured, launch] {
        client.response(sequence).expect("it succeeds");
    }
    client.expect_stopped("breakpoint");
    client.expect_line(&fixture, "body");
    client.disconnect();
}

#[test]
fn breakpoints_may_come_before_launch() {
    let fixture = Fixture::of("c/loop.c");
    let mut client = DapClient::spawn();
    client.initialize();
    client.set_breakpoints(&fixture, &["body"]);
    let launch = client.send("launch", json!({"program": fixture.program}));
    client.request_ok("configurationDone", Value::Null);
    client.response(launch).expect("launch succeeds");
    client.expect_stopped("breakpoint");
    client.expect_line(&fixture, "body");
    client.disconnect();
}

#[test]
fn numbers_from_zero_and_sparse_arguments_are_accepted() {
    let fixture = Fixture::of("c/loop.c");
    let mut client = DapClient::spawn();
    client.count_from(0);
    // No adapterID, no lines, no paths; unknown members; null for optional ones.
    client.request_ok(
        "initialize",
        json!({"clientID": "hx", "novelty": [1], "locale": null}),
    );
    let launch = client.send(
        "launch",
        json!({"program": fixture.program, "noDebug": null, "__sessionId": "x", "args": null, "cwd": null, "env": null}),
    );
    client.wait_event("initialized");
    // VS Code sends all of these, nvim-dap and dap-mcp name filters that we may not have.
    client.request_ok("setFunctionBreakpoints", json!({"breakpoints": []}));
    client.request_ok("setExceptionBreakpoints", json!({"filters": ["uncaught"]}));
    client.request_ok("configurationDone", json!({}));
    client.response(launch).expect("launch succeeds");
    assert_eq!(client.expect_exit(), 0);
    client.disconnect();
}

#[test]
fn lines_may_count_from_zero() {
    let fixture = Fixture::of("c/loop.c");
    let mut client = DapClient::spawn();
    client.request_ok(
        "initialize",
        json!({"adapterID": "x", "linesStartAt1": false, "columnsStartAt1": false}),
    );
    let launch = client.send("launch", json!({"program": fixture.program}));
    client.wait_event("initialized");
    let line = fixture.line("body") - 1;
    let path = fixture.source.to_str().expect("a path in UTF-8");
    let set = client.set_source_breakpoints(path, vec![json!({"line": line})]);
    assert_eq!(set[0]["line"], line);
    client.request_ok("configurationDone", Value::Null);
    client.response(launch).expect("launch succeeds");
    client.expect_stopped("breakpoint");
    assert_eq!(client.top_line(), line);
    client.disconnect();
}

#[test]
fn threads_are_known_while_running() {
    let fixture = Fixture::of("c/spin.c");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({}));
    client.configure();
    let threads = client.request_ok("threads", Value::Null);
    assert_eq!(threads["threads"].as_array().map(Vec::len), Some(1));
    assert_ne!(threads["threads"][0]["name"], "");
    client.disconnect();
}

#[test]
fn process_event_is_sent() {
    let fixture = Fixture::of("c/spin.c");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({}));
    client.configure();
    let event = client.wait_event("process");
    assert_eq!(event["startMethod"], "launch");
    assert_eq!(event["isLocalProcess"], true);
    assert_eq!(event["pointerSize"], 64);
    let pid = event["systemProcessId"].as_i64().expect("a process id") as i32;
    let program = fs::read_link(format!("/proc/{pid}/exe")).expect("it runs");
    assert_eq!(program, fixture.program);
    client.disconnect();
    assert!(!process::is_alive(pid), "what was launched dies");
}

#[test]
fn stop_on_entry() {
    let fixture = Fixture::of("c/loop.c");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({"stopOnEntry": true}));
    client.configure();
    client.expect_stopped("entry");
    assert!(!client.stack().is_empty());
    assert_eq!(client.output("stdout"), "");
    client.set_breakpoints(&fixture, &["main"]);
    client.continue_to(&fixture, "main");
    client.disconnect();
}

#[test]
fn module_events_are_sent() {
    let fixture = Fixture::of("c/loop.c");
    let mut client = DapClient::stopped_at(&fixture, "body");
    let name = fixture.program.to_str();
    client.wait_event_where("module", |body| {
        body["reason"] == "new" && body["module"]["path"].as_str() == name
    });
    client.disconnect();
}

#[test]
fn each_module_is_reported_once() {
    let flags = Flags {
        extra: &["-s"],
        ..Flags::new(Compiler::Gcc)
    };
    let fixture = Fixture::build("c/loop.c", flags).expect("gcc is installed");
    let mut client = DapClient::spawn();
    let requests = [
        ("initialize", json!({"adapterID": "stillpoint"})),
        (
            "launch",
            json!({"program": fixture.program, "stopOnEntry": true}),
        ),
        ("configurationDone", json!({})),
    ];
    let mut bytes = Vec::new();
    for (at, (command, arguments)) in requests.iter().enumerate() {
        let message = json!({
            "seq": at + 1, "type": "request", "command": command, "arguments": arguments,
        });
        let text = message.to_string();
        bytes.extend(format!("Content-Length: {}\r\n\r\n{text}", text.len()).bytes());
    }
    client.count_from(10);
    client.write_raw(&bytes);
    client.expect_stopped("entry");
    let modules = client.request_ok("modules", Value::Null);
    let modules = modules["modules"].as_array().expect("images");
    assert!(modules.len() > 1, "{modules:?}");
    assert_eq!(client.count_events("module"), modules.len());
    let console = client.output("console");
    assert_eq!(console.matches("has no debug info").count(), 1, "{console}");
    client.disconnect();
}

#[test]
fn frames_have_scopes_of_their_own() {
    let fixture = Fixture::of("c/recursion.c");
    let mut client = DapClient::stopped_with(&fixture, "bottom", json!({}));
    let frames = client.stack();
    // mcp-debugger requests the scopes of all frames first, then their variables.
    let references: Vec<i64> = frames
        .iter()
        .take(6)
        .map(|frame| client.locals_reference(frame["id"].as_i64().expect("an id")))
        .collect();
    let mut distinct = references.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(distinct.len(), 6, "{references:?}");
    for (expected, reference) in (1..=5).zip(&references) {
        let variables = client.variables(*reference);
        let n = variables.iter().find(|variable| variable["name"] == "n");
        assert_eq!(n.expect("n")["value"], expected.to_string());
    }
    // A second request at the same stop returns the same ids.
    let frame = frames[0]["id"].as_i64().expect("an id");
    assert_eq!(client.locals_reference(frame), references[0]);
    client.disconnect();
}

#[test]
fn registers_are_expensive() {
    let fixture = Fixture::of("c/loop.c");
    let mut client = DapClient::stopped_at(&fixture, "body");
    let frame = client.top_frame()["id"].clone();
    let body = client.request_ok("scopes", json!({"frameId": frame}));
    let scopes = body["scopes"].as_array().expect("scopes");
    let scope = |name: &str| {
        let found = scopes.iter().find(|scope| scope["name"] == name);
        found.unwrap_or_else(|| panic!("no scope {name}")).clone()
    };
    assert_eq!(scope("Locals")["presentationHint"], "locals");
    assert_eq!(scope("Locals")["expensive"], false);
    assert_eq!(scope("Registers")["expensive"], true);
    let registers = scope("Registers")["variablesReference"].as_i64();
    assert!(!client.variables(registers.expect("a reference")).is_empty());
    client.disconnect();
}

#[test]
fn stack_frames_come_in_pages() {
    let fixture = Fixture::of("c/recursion.c");
    let mut client = DapClient::stopped_at(&fixture, "bottom");
    let all = client.stack();
    assert_eq!(all[5]["name"], "main");
    assert_eq!(all[0]["source"]["path"].as_str(), fixture.source.to_str());
    let thread = client.thread();
    let page = client.request_ok(
        "stackTrace",
        json!({"threadId": thread, "startFrame": 1, "levels": 2}),
    );
    let page = page["stackFrames"].as_array().expect("frames");
    assert_eq!(page.as_slice(), &all[1..3], "the ids are the same too");
    let beyond = client.request_ok(
        "stackTrace",
        json!({"threadId": thread, "startFrame": 1000, "levels": 20}),
    );
    assert_eq!(beyond["stackFrames"], json!([]));
    client.disconnect();
}

#[test]
fn arguments_environment_and_folder() {
    let fixture = Fixture::of("c/environment.c");
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path().canonicalize().expect("its path");
    fs::write(
        place.join("settings.env"),
        "# a comment\nSTILLPOINT_B=from file\nexport STILLPOINT_C=\"quoted # text\"\n",
    )
    .expect("the file is written");
    let (client, code) = DapClient::run_to_end(
        &fixture,
        json!({
            "args": ["plain", "two words", "", "qu\"ote", "back\\slash", "$HOME", "ü"],
            "cwd": place,
            "env": {"STILLPOINT_A": "given", "HOME": null},
            "envFile": place.join("settings.env"),
        }),
    );
    assert_eq!(code, 0);
    let expected = format!(
        "argument [plain]\nargument [two words]\nargument []\nargument [qu\"ote]\n\
         argument [back\\slash]\nargument [$HOME]\nargument [ü]\n\
         STILLPOINT_A=given\nSTILLPOINT_B=from file\nSTILLPOINT_C=quoted # text\nHOME=(unset)\n\
         folder [{}]\n",
        place.display()
    );
    assert_eq!(client.output("stdout").replace("\r\n", "\n"), expected);
    assert_eq!(client.output("stderr").replace("\r\n", "\n"), "to stderr\n");
    client.disconnect();
}

#[test]
fn arguments_as_a_shell_would_split_them() {
    let fixture = Fixture::of("c/environment.c");
    let (client, _) = DapClient::run_to_end(
        &fixture,
        json!({"args": "one 'two words' \"three \\\" four\" five\\ six"}),
    );
    let output = client.output("stdout").replace("\r\n", "\n");
    assert!(
        output.starts_with(
            "argument [one]\nargument [two words]\nargument [three \" four]\nargument [five six]\nSTILL"
        ),
        "{output}"
    );
    client.disconnect();
}

#[test]
fn a_relative_program_is_found_from_its_folder() {
    let fixture = Fixture::of("c/exit_code.c");
    let mut client = DapClient::spawn();
    client.launch_program(
        "./exit_code".as_ref(),
        json!({"cwd": fixture.program.parent(), "args": ["3"]}),
    );
    client.configure();
    assert_eq!(client.expect_exit(), 3);
    client.disconnect();
}

#[test]
fn streams_can_be_files() {
    let fixture = Fixture::of("c/environment.c");
    let folder = tempfile::tempdir().expect("a folder");
    let input = folder.path().join("in");
    let output = folder.path().join("out");
    fs::write(&input, "from the file\n").expect("the input is written");
    let (client, code) = DapClient::run_to_end(
        &fixture,
        json!({"args": ["--copy"], "stdio": [input, output, null]}),
    );
    assert_eq!(code, 0);
    let written = fs::read_to_string(&output).expect("the output");
    assert!(written.ends_with("from the file\n"), "{written}");
    assert_eq!(client.output("stdout"), "");
    assert_eq!(client.output("stderr").trim_end(), "to stderr");
    client.disconnect();
}

#[test]
fn output_is_whole_in_order_and_before_the_end() {
    const LINES: usize = 20_000;
    let fixture = Fixture::of("c/flood.c");
    let (client, code) = DapClient::run_to_end(&fixture, json!({"args": [LINES.to_string()]}));
    assert_eq!(code, 0);
    let output = client.output("stdout");
    let mut lines = output.split('\n').map(|line| line.trim_end_matches('\r'));
    for number in 0..LINES {
        assert_eq!(lines.next(), Some(format!("out {number}").as_str()));
    }
    let zeros = lines.next().expect("the line with the zeros");
    assert!(zeros.starts_with("zero\0zero "), "{zeros:?}");
    assert_eq!(lines.next(), Some("no newline at the end"));
    assert_eq!(lines.next(), None);
    let errors = client.output("stderr").replace("\r\n", "\n");
    let expected: String = (0..LINES)
        .step_by(100)
        .map(|number| format!("err {number}\n"))
        .collect();
    assert_eq!(errors, expected);
    let exited = client.position(is_event("exited")).expect("exited");
    let late = client.history()[exited..].iter().any(|message| {
        message["event"] == "output"
            && (message["body"]["category"] == "stdout" || message["body"]["category"] == "stderr")
    });
    assert!(!late, "output after exited");
    let terminated = client.position(is_event("terminated"));
    assert!(Some(exited) < terminated, "exited, then terminated");
    client.disconnect();
}

#[test]
fn rust_output_arrives_too() {
    let fixture = Fixture::of("rust/output.rs");
    let (client, code) = DapClient::run_to_end(&fixture, json!({}));
    assert_eq!(code, 4);
    let output = client.output("stdout").replace("\r\n", "\n");
    assert_eq!(output, "out 0\nout 1\nout 2\n");
    let errors = client.output("stderr").replace("\r\n", "\n");
    assert_eq!(errors, "err 0\nerr 1\nerr 2\n");
    client.disconnect();
}

#[test]
fn the_end_is_reported_though_a_child_goes_on_writing() {
    let fixture = Fixture::of("c/left_writer.c");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({}));
    client.configure();
    assert_eq!(client.wait_event("exited")["exitCode"], 5);
    assert!(client.output("stdout").contains("left"));
    assert!(!client.output("stdout").contains("last"));
    client.disconnect();
}

#[test]
fn exit_codes() {
    let fixture = Fixture::of("c/exit_code.c");
    for (argument, expected) in [("0", 0), ("1", 1), ("7", 7), ("255", 255)] {
        let (client, code) = DapClient::run_to_end(&fixture, json!({"args": [argument]}));
        assert_eq!(code, expected);
        assert_eq!(client.count_events("exited"), 1);
        assert_eq!(client.count_events("terminated"), 1);
        client.disconnect();
    }
}

#[test]
fn breakpoints_after_the_end_have_a_reason() {
    let fixture = Fixture::of("c/exit_code.c");
    let (mut client, _) = DapClient::run_to_end(&fixture, json!({}));
    let set = client.set_breakpoints(&fixture, &["exit"]);
    assert_eq!(set[0]["verified"], false);
    assert_eq!(set[0]["message"], "the program has ended");
    client.disconnect();
}

#[test]
fn an_unknown_setting_is_named() {
    let fixture = Fixture::of("c/exit_code.c");
    let (mut client, _) = DapClient::run_to_end(&fixture, json!({"stopOnEntri": true}));
    let warning = client.wait_event_where("output", |body| {
        body["output"]
            .as_str()
            .is_some_and(|text| text.contains("stopOnEntri"))
    });
    assert_eq!(warning["category"], "console");
    let text = warning["output"].as_str().expect("a text");
    assert!(text.contains("stopOnEntry"), "the nearest key: {text}");
    client.disconnect();
}

#[test]
fn known_settings_of_editors_raise_no_warning() {
    let fixture = Fixture::of("c/exit_code.c");
    let (client, _) = DapClient::run_to_end(
        &fixture,
        json!({
            "type": "stillpoint", "request": "launch", "name": "x", "preLaunchTask": "build",
            "__sessionId": "1", "internalConsoleOptions": "neverOpen", "presentation": {},
            "disableASLR": true, "console": "internalConsole", "sourceMap": {},
        }),
    );
    assert_eq!(client.output("console"), "");
    client.disconnect();
}

#[test]
fn sources_can_be_mapped() {
    let fixture = Fixture::of("c/loop.c");
    let folder = tempfile::tempdir().expect("a folder");
    let elsewhere = folder.path().join("loop.c");
    fs::copy(&fixture.source, &elsewhere).expect("the source is copied");
    let from = fixture.source.parent().expect("a folder");
    let mut map = json!({});
    map[from.to_str().expect("UTF-8")] = json!(folder.path());
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({"sourceMap": map}));
    let path = elsewhere.to_str().expect("UTF-8");
    let set = client.set_source_breakpoints(path, vec![json!({"line": fixture.line("body")})]);
    assert_eq!(set[0]["verified"], true, "{}", set[0]);
    client.configure();
    client.expect_stopped("breakpoint");
    assert_eq!(client.top_frame()["source"]["path"], path);
    client.disconnect();
}

#[test]
fn the_text_of_a_source() {
    let fixture = Fixture::of("c/loop.c");
    let mut client = DapClient::stopped_at(&fixture, "body");
    let body = client.request_ok(
        "source",
        json!({"source": {"path": fixture.source}, "sourceReference": 0}),
    );
    let text = fs::read_to_string(&fixture.source).expect("the source");
    assert_eq!(body["content"], text);
    client.request_error("source", json!({"sourceReference": 12345}));
    client.disconnect();
}

#[test]
fn terminate_ends_the_program() {
    let fixture = Fixture::of("c/spin.c");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({}));
    client.configure();
    let pid = client.debuggee_pid();
    client.request_ok("terminate", Value::Null);
    client.wait_event("terminated");
    assert!(!process::is_alive(pid));
    client.disconnect();
}

#[test]
fn a_stopped_program_terminates_too() {
    let fixture = Fixture::of("c/loop.c");
    let mut client = DapClient::stopped_at(&fixture, "body");
    client.request_ok("terminate", json!({}));
    client.wait_event("terminated");
    client.disconnect();
}

#[test]
fn second_disconnect_gets_a_response_or_the_end() {
    let fixture = Fixture::of("c/loop.c");
    let mut client = DapClient::stopped_at(&fixture, "body");
    // debugger-cli sends two back to back.
    let first = client.send("disconnect", json!({"terminateDebuggee": true}));
    client.send("disconnect", json!({"terminateDebuggee": true}));
    client.response(first).expect("it succeeds");
    assert_eq!(client.wait_exit().code(), Some(0));
}

#[test]
fn the_end_of_input_ends_everything() {
    let fixture = Fixture::of("c/spin.c");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({}));
    client.configure();
    let pid = client.debuggee_pid();
    // nvim-dap sends no request at the end: it closes the pipes.
    client.close();
    client.wait_exit();
    assert!(!process::is_alive(pid), "what was launched dies");
}

#[test]
fn the_adapter_may_be_run_through_its_subcommand() {
    let log = tempfile::NamedTempFile::new().expect("a file");
    let mut client = DapClient::spawn_with(|command| {
        command.arg("dap").arg("--log").arg(log.path());
    });
    client.initialize();
    client.disconnect();
}

#[test]
fn log_names_the_request_and_the_stop_that_a_message_belongs_to() {
    let log = tempfile::NamedTempFile::new().expect("a file");
    let fixture = Fixture::of("c/loop.c");
    let mut client = DapClient::spawn_with(|command| {
        command.arg("--log").arg(log.path());
        command.env("STILLPOINT_LOG", "debug");
    });
    client.launch(&fixture, json!({}));
    client.set_breakpoints(&fixture, &["body"]);
    client.configure();
    client.expect_stopped("breakpoint");
    let thread = client.thread();
    client.disconnect();
    let text = std::fs::read_to_string(log.path()).expect("the log");
    let has_line = |span: &str, message: &str| {
        let mut lines = text.lines();
        lines.any(|line| line.contains(span) && line.contains(message))
    };
    let stop = format!("stop{{thread={thread} reason=\"breakpoint\"}}");
    assert!(has_line(&stop, "\"event\":\"stopped\""), "{text}");
    let request = "command=\"setBreakpoints\"}";
    let response = "\"success\":true,\"command\":\"setBreakpoints\"";
    assert!(has_line(request, response), "{text}");
}
