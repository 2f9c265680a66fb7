//! What each client that people use sends, in its order and its forms, and what it needs back:
//! replayed from recordings of them.

use serde_json::{Value, json};
use stillpoint_tests::{DapClient, Fixture, process};

/// The place in the history of an event, or of the answer to a command.
fn place(client: &DapClient, name: &str) -> usize {
    let fits = |message: &Value| {
        message["event"] == name || (message["type"] == "response" && message["command"] == name)
    };
    client
        .position(fits)
        .unwrap_or_else(|| client.fail(&format!("no {name}")))
}

fn lines(fixture: &Fixture, markers: &[&str]) -> Value {
    markers
        .iter()
        .map(|marker| json!({"line": fixture.line(marker)}))
        .collect()
}

/// VS Code sends all of its configuration at once, and requests threads while the program runs.
#[test]
fn vs_code() {
    let fixture = Fixture::of("c/loop.c");
    let mut client = DapClient::spawn();
    let capabilities = client.request_ok(
        "initialize",
        json!({
            "clientID": "vscode", "clientName": "code-server", "adapterID": "stillpoint",
            "pathFormat": "path", "linesStartAt1": true, "columnsStartAt1": true, "locale": "en",
            "supportsVariableType": true, "supportsVariablePaging": true,
            "supportsRunInTerminalRequest": true, "supportsProgressReporting": true,
            "supportsInvalidatedEvent": true, "supportsMemoryReferences": true,
            "supportsArgsCanBeInterpretedByShell": true, "supportsMemoryEvent": true,
            "supportsStartDebuggingRequest": true, "supportsANSIStyling": true,
        }),
    );
    assert_eq!(capabilities["supportsDelayedStackTraceLoading"], true);
    let launch = client.send(
        "launch",
        json!({
            "type": "stillpoint", "request": "launch", "name": "Launch",
            "program": fixture.program, "args": [], "cwd": fixture.program.parent(),
            "__sessionId": "86a0a5a5-9e5c-4cf3-a26c-4b1dbe2f4b07",
            "__configurationTarget": 6, "preLaunchTask": "build",
            "presentation": {"hidden": false}, "internalConsoleOptions": "openOnSessionStart",
        }),
    );
    client.wait_event("initialized");
    let source = json!({"name": "loop.c", "path": fixture.source});
    let line = fixture.line("body");
    let sent = [
        client.send(
            "setBreakpoints",
            json!({"source": source, "lines": [line], "breakpoints": [{"line": line}],
                "sourceModified": false}),
        ),
        client.send("setFunctionBreakpoints", json!({"breakpoints": []})),
        client.send("setExceptionBreakpoints", json!({"filters": []})),
    ];
    for sequence in sent {
        client.response(sequence).expect("it succeeds");
    }
    let configured = client.send("configurationDone", Value::Null);
    let threads = client.send("threads", Value::Null);
    for sequence in [configured, threads, launch] {
        client.response(sequence).expect("it succeeds");
    }
    client.expect_stopped("breakpoint");
    assert_eq!(client.output("console"), "", "no warning of its own keys");

    let thread = client.thread();
    client.request_ok("threads", Value::Null);
    let top = client.send(
        "stackTrace",
        json!({"threadId": thread, "startFrame": 0, "levels": 1}),
    );
    let top = client.response(top).expect("the top frame");
    let frame = top["stackFrames"][0]["id"].clone();
    assert!(top["totalFrames"].as_u64() > Some(1), "it asks for more");
    let rest = client.send(
        "stackTrace",
        json!({"threadId": thread, "startFrame": 1, "levels": 19}),
    );
    let scopes = client.send("scopes", json!({"frameId": frame}));
    let rest = client.response(rest).expect("the rest");
    assert_eq!(rest["stackFrames"][0]["name"], "main");
    let scopes = client.response(scopes).expect("scopes");
    let locals = scopes["scopes"][0]["variablesReference"].clone();
    client.request_ok("variables", json!({"variablesReference": locals}));
    // Beyond the end: where a frame has no source.
    let beyond = client.request_ok(
        "stackTrace",
        json!({"threadId": thread, "startFrame": 100, "levels": 20}),
    );
    assert_eq!(beyond["stackFrames"], json!([]));
    let hover = client.request_ok(
        "evaluate",
        json!({"expression": "scale", "frameId": frame, "context": "hover", "line": line,
            "column": 9, "source": {"path": "vscode-remote://localhost/x.c"}}),
    );
    assert_eq!(hover["result"], "10");
    // The user changes a value: other views of it are stale.
    client.request_ok(
        "setVariable",
        json!({"variablesReference": locals, "name": "i", "value": "3"}),
    );
    let invalidated = client.wait_event("invalidated");
    assert_eq!(invalidated["areas"], json!(["variables"]));
    assert!(
        place(&client, "setVariable") < place(&client, "invalidated"),
        "the answer comes first"
    );
    assert_eq!(client.evaluate("i"), "3");

    client.request_ok(
        "setBreakpoints",
        json!({"source": source, "lines": [], "breakpoints": [], "sourceModified": false}),
    );
    client.request_ok("continue", json!({"threadId": thread}));
    assert_eq!(client.expect_exit(), 0);
    client.disconnect_with(json!({"restart": false, "terminateDebuggee": false}));
}

/// nvim-dap requests whole stacks and every cheap scope, and closes the pipes at the end.
#[test]
fn nvim_dap() {
    let fixture = Fixture::of("c/loop.c");
    let mut client = DapClient::spawn();
    let capabilities = client.request_ok(
        "initialize",
        json!({
            "clientID": "neovim", "clientName": "neovim", "adapterID": "nvim-dap",
            "pathFormat": "path", "columnsStartAt1": true, "linesStartAt1": true,
            "supportsRunInTerminalRequest": true, "supportsVariableType": true,
            "supportsProgressReporting": true, "supportsStartDebuggingRequest": true,
            "locale": "C.UTF-8",
        }),
    );
    assert_eq!(capabilities["supportsConfigurationDoneRequest"], true);
    let launch = client.send(
        "launch",
        json!({"type": "stillpoint", "request": "launch", "name": "Launch",
            "program": fixture.program, "cwd": fixture.program.parent()}),
    );
    client.wait_event("initialized");
    let line = fixture.line("body");
    client.request_ok(
        "setBreakpoints",
        json!({"source": {"name": "loop.c", "path": fixture.source}, "lines": [line],
            "breakpoints": [{"line": line}], "sourceModified": false}),
    );
    client.request_ok("configurationDone", Value::Null);
    client.response(launch).expect("launch succeeds");
    client.expect_stopped("breakpoint");
    let thread = client.thread();
    for command in ["next", "next", "stepOut"] {
        client.request_ok("threads", Value::Null);
        let stack = client.request_ok("stackTrace", json!({"threadId": thread, "startFrame": 0}));
        let frames = stack["stackFrames"].as_array().expect("frames");
        assert_eq!(frames.last().expect("some")["name"], "_start");
        let scopes = client.request_ok("scopes", json!({"frameId": frames[0]["id"]}));
        for scope in scopes["scopes"].as_array().expect("scopes") {
            if scope["expensive"] == false {
                client.request_ok(
                    "variables",
                    json!({"variablesReference": scope["variablesReference"]}),
                );
            }
        }
        client.request_ok(
            command,
            json!({"threadId": thread, "granularity": "statement"}),
        );
        client.expect_stopped("step");
    }
    assert_eq!(client.count_events("invalidated"), 0, "not announced");
    client.request_ok(
        "setBreakpoints",
        json!({"source": {"name": "loop.c", "path": fixture.source}, "lines": [],
            "breakpoints": [], "sourceModified": false}),
    );
    client.request_ok(
        "continue",
        json!({"threadId": thread, "granularity": "statement"}),
    );
    client.expect_exit();
    client.close();
    assert_eq!(client.wait_exit().code(), Some(0));
}

/// Helix counts from 0, leaves arguments out, and reads an answer without a result as `()`.
#[test]
fn helix() {
    let fixture = Fixture::of("c/loop.c");
    let mut client = DapClient::spawn();
    client.count_from(0);
    client.request_ok(
        "initialize",
        json!({
            "clientID": "hx", "clientName": "helix", "adapterID": "stillpoint", "locale": "en-us",
            "linesStartAt1": true, "columnsStartAt1": true, "pathFormat": "path",
            "supportsVariableType": true, "supportsVariablePaging": false,
            "supportsRunInTerminalRequest": true, "supportsMemoryReferences": false,
            "supportsProgressReporting": false, "supportsInvalidatedEvent": false,
        }),
    );
    let launch = client.send("launch", json!({"program": fixture.program}));
    client.wait_event("initialized");
    let answer = client.request_ok(
        "setBreakpoints",
        json!({"source": {"path": fixture.source}, "breakpoints": [
            {"line": fixture.line("body"), "column": null, "condition": null,
             "hitCondition": null, "logMessage": null}]}),
    );
    assert_eq!(answer["breakpoints"][0]["verified"], true);
    client.request_ok("configurationDone", Value::Null);
    client.response(launch).expect("launch succeeds");
    let stop = client.expect_stopped("breakpoint");
    assert_eq!(stop["allThreadsStopped"], true);
    let threads = client.request_ok("threads", Value::Null);
    for thread in threads["threads"].as_array().expect("threads") {
        client.request_ok("stackTrace", json!({"threadId": thread["id"]}));
    }
    let stack = client.request_ok("stackTrace", json!({"threadId": stop["threadId"]}));
    let top = &stack["stackFrames"][0];
    assert!(top["line"].is_u64() && top["column"].is_u64() && top["id"].is_u64());
    let scopes = client.request_ok("scopes", json!({"frameId": top["id"]}));
    for scope in scopes["scopes"].as_array().expect("scopes") {
        assert!(scope["expensive"].is_boolean());
        client.request_ok(
            "variables",
            json!({"variablesReference": scope["variablesReference"]}),
        );
    }
    client.request_ok("next", json!({"threadId": stop["threadId"]}));
    client.expect_stopped("step");
    client.request_ok(
        "setBreakpoints",
        json!({"source": {"path": fixture.source}, "breakpoints": []}),
    );
    client.request_ok("continue", json!({"threadId": stop["threadId"]}));
    client.expect_exit();
    client.request_ok("disconnect", json!({"restart": false}));
    for message in client.history() {
        let command = message["command"].as_str().unwrap_or_default();
        if ["launch", "configurationDone", "next", "disconnect"].contains(&command) {
            let message = message.as_object().expect("an object");
            assert!(!message.contains_key("body"), "{message:?}");
        }
        let optional = ["invalidated", "progressStart", "memory"];
        assert!(!optional.iter().any(|event| message["event"] == *event));
    }
    assert_eq!(client.wait_exit().code(), Some(0));
}

/// debugger-cli says nothing between launch and its answer, spells its own name otherwise,
/// clears lists by leaving them out, and disconnects twice.
#[test]
fn debugger_cli() {
    let fixture = Fixture::of("c/loop.c");
    let mut client = DapClient::spawn();
    client.request_ok(
        "initialize",
        json!({
            "clientId": "debugger-cli", "clientName": "LLM Debugger CLI",
            "adapterId": "stillpoint", "linesStartAt1": true, "columnsStartAt1": true,
            "pathFormat": "path", "supportsVariableType": true, "supportsVariablePaging": true,
            "supportsMemoryReferences": true, "supportsRunInTerminalRequest": false,
            "supportsProgressReporting": false,
        }),
    );
    let launch = client.send(
        "launch",
        json!({"program": fixture.program, "cwd": fixture.program.parent(), "stopOnEntry": false}),
    );
    client.response(launch).expect("launch succeeds");
    client.wait_event("initialized");
    let first = client
        .history()
        .iter()
        .find(|message| message["type"] == "event");
    assert_eq!(
        first.expect("events")["event"],
        "initialized",
        "it spins on events before this one"
    );
    let breakpoints = client.request_ok(
        "setBreakpoints",
        json!({"source": {"path": "loop.c"}, "breakpoints": lines(&fixture, &["body"])}),
    );
    assert!(breakpoints["breakpoints"][0]["id"].is_u64());
    client.request_ok("configurationDone", json!({}));
    let stop = client.expect_stopped("breakpoint");
    let hit: Vec<u64> = serde_json::from_value(stop["hitBreakpointIds"].clone()).expect("numbers");
    assert_eq!(hit.len(), 1);
    let thread = client.thread();
    let stack = client.request_ok(
        "stackTrace",
        json!({"threadId": thread, "startFrame": 0, "levels": 20}),
    );
    for frame in stack["stackFrames"].as_array().expect("frames") {
        for number in ["id", "line", "column"] {
            assert!(
                frame[number]
                    .as_u64()
                    .is_some_and(|it| u32::try_from(it).is_ok())
            );
        }
    }
    let scopes = client.request_ok("scopes", json!({"frameId": stack["stackFrames"][0]["id"]}));
    assert_eq!(scopes["scopes"][0]["name"], "Locals");
    // The same file under another name is another list.
    client.request_ok(
        "setBreakpoints",
        json!({"source": {"path": fixture.source}, "breakpoints": lines(&fixture, &["print"])}),
    );
    client.request_ok(
        "setBreakpoints",
        json!({"source": {"path": fixture.source}}),
    );
    client.request_ok("continue", json!({"threadId": thread}));
    client.expect_stopped("breakpoint");
    client.expect_line(&fixture, "body");
    let pid = client.debuggee_pid();
    let both = [
        client.send("disconnect", json!({"terminateDebuggee": true})),
        client.send("disconnect", json!({"terminateDebuggee": true})),
    ];
    for sequence in both {
        client.response(sequence).expect("it succeeds");
    }
    assert_eq!(client.wait_exit().code(), Some(0));
    assert!(!process::is_alive(pid), "it died with us");
}

/// dap-mcp says next to nothing of itself, sets breakpoints before it hears `initialized`, and
/// always continues thread 1.
#[test]
fn dap_mcp() {
    let fixture = Fixture::of("c/loop.c");
    let mut client = DapClient::spawn();
    client.request_ok(
        "initialize",
        json!({"clientID": "dap-mcp", "clientName": "dap-mcp", "adapterID": "debugpy",
            "locale": "en-US"}),
    );
    let source = json!({"path": fixture.source});
    let breakpoints = json!({"source": source, "breakpoints": lines(&fixture, &["body"])});
    let launch = client.send("launch", json!({"program": fixture.program}));
    let early = client.send("setBreakpoints", breakpoints.clone());
    client.response(early).expect("it succeeds");
    client.wait_event("initialized");
    client.request_ok("setBreakpoints", breakpoints);
    client.request_ok("setExceptionBreakpoints", json!({"filters": ["uncaught"]}));
    client.request_ok("configurationDone", Value::Null);
    client.response(launch).expect("launch succeeds");
    for _ in 0..5 {
        let stop = client.expect_stopped("breakpoint");
        let stack = client.request_ok(
            "stackTrace",
            json!({"threadId": stop["threadId"], "startFrame": 0}),
        );
        let top = &stack["stackFrames"][0];
        let path = top["source"]["path"].as_str().expect("a path");
        assert!(std::path::Path::new(path).exists(), "it opens it");
        assert_eq!(top["line"], fixture.line("body"), "lines count from 1");
        let scopes = client.request_ok("scopes", json!({"frameId": top["id"]}));
        for scope in scopes["scopes"].as_array().expect("scopes") {
            client.request_ok(
                "variables",
                json!({"variablesReference": scope["variablesReference"]}),
            );
        }
        let value = client.request_ok(
            "evaluate",
            json!({"expression": "scale * 2", "frameId": top["id"]}),
        );
        assert_eq!(value["result"], "20");
        client.request_ok("continue", json!({"threadId": 1}));
    }
    assert_eq!(client.expect_exit(), 0);
    client.disconnect();
}

/// mcp-debugger requests the scopes of all frames before any variables.
#[test]
fn mcp_debugger() {
    let fixture = Fixture::of("c/recursion.c");
    let mut client = DapClient::spawn();
    client.request_ok(
        "initialize",
        json!({"clientID": "mcp-proxy", "clientName": "MCP Debug Proxy", "adapterID": "debugpy",
            "pathFormat": "path", "linesStartAt1": true, "columnsStartAt1": true,
            "supportsVariableType": true, "supportsRunInTerminalRequest": true, "locale": "en-US"}),
    );
    let launch = client.send(
        "launch",
        json!({"program": fixture.program, "console": "internalConsole", "justMyCode": true}),
    );
    client.wait_event("initialized");
    client.request_ok(
        "setBreakpoints",
        json!({"source": {"path": fixture.source}, "breakpoints": lines(&fixture, &["bottom"])}),
    );
    client.request_ok("configurationDone", json!({}));
    client.response(launch).expect("launch succeeds");
    client.expect_stopped("breakpoint");
    let frames = client.stack();
    let mut references = Vec::new();
    for frame in &frames {
        let scopes = client.request_ok("scopes", json!({"frameId": frame["id"]}));
        references.push(scopes["scopes"][0]["variablesReference"].clone());
    }
    let mut arguments = Vec::new();
    for reference in &references[..5] {
        let variables = client.request_ok("variables", json!({"variablesReference": reference}));
        arguments.push(variables["variables"][0]["value"].clone());
    }
    assert_eq!(arguments, ["1", "2", "3", "4", "5"]);
    let value = client.request_ok(
        "evaluate",
        json!({"expression": "n", "frameId": frames[3]["id"], "context": "variables"}),
    );
    assert_eq!(value["result"], "4");
    client.disconnect_with(json!({"terminateDebuggee": true}));
}

/// Vimspector sends all of its configuration when it hears `initialized`, with exception filters
/// even where none were offered.
#[test]
fn vimspector() {
    let fixture = Fixture::of("c/loop.c");
    let mut client = DapClient::spawn();
    let initialize = client.send(
        "initialize",
        json!({"adapterID": "stillpoint", "clientID": "vimspector", "clientName": "vimspector",
            "linesStartAt1": true, "columnsStartAt1": true, "locale": "en_GB",
            "pathFormat": "path", "supportsVariableType": true, "supportsVariablePaging": false,
            "supportsRunInTerminalRequest": true, "supportsMemoryReferences": true}),
    );
    client.response(initialize).expect("initialize succeeds");
    let launch = client.send(
        "launch",
        json!({"request": "launch", "program": fixture.program, "args": [], "env": {},
            "stopAtEntry": false}),
    );
    client.wait_event("initialized");
    let line = fixture.line("body");
    let sent = [
        client.send(
            "setBreakpoints",
            json!({"source": {"name": "loop.c", "path": fixture.source},
                "breakpoints": [{"line": line}], "lines": [line], "sourceModified": false}),
        ),
        client.send("setFunctionBreakpoints", json!({"breakpoints": []})),
        client.send("setExceptionBreakpoints", json!({"filters": []})),
        client.send("configurationDone", Value::Null),
        client.send("threads", Value::Null),
        launch,
    ];
    for sequence in sent {
        client.response(sequence).expect("it succeeds");
    }
    client.expect_stopped("breakpoint");
    client.expect_line(&fixture, "body");
    client.disconnect_with(json!({"terminateDebuggee": true}));
}

/// @vscode/debugadapter-testsupport may count lines and columns from 0, in both directions.
#[test]
fn testsupport_counts_from_zero() {
    let fixture = Fixture::of("c/loop.c");
    let mut client = DapClient::spawn();
    let refused = client.request_error(
        "initialize",
        json!({"adapterID": "mock", "linesStartAt1": true, "columnsStartAt1": true,
            "pathFormat": "url"}),
    );
    assert!(refused.contains("pathFormat"), "{refused}");
    client.request_ok(
        "initialize",
        json!({"adapterID": "mock", "linesStartAt1": false, "columnsStartAt1": false,
            "pathFormat": "path"}),
    );
    let launch = client.send("launch", json!({"program": fixture.program}));
    client.wait_event("initialized");
    let line = fixture.line("body") - 1;
    let answer = client.request_ok(
        "setBreakpoints",
        json!({"lines": [line], "breakpoints": [{"line": line}],
            "source": {"path": fixture.source}}),
    );
    let breakpoint = &answer["breakpoints"][0];
    assert_eq!(breakpoint["verified"], true);
    assert_eq!(breakpoint["line"], line);
    client.request_ok("configurationDone", Value::Null);
    client.response(launch).expect("launch succeeds");
    client.expect_stopped("breakpoint");
    let top = client.top_frame();
    assert_eq!(top["line"], line);
    assert_eq!(top["column"], 8, "`int product = …` from its name on");
    client.disconnect();
}
