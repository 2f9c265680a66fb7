//! Everything that can be wrong with what comes in: it gets a clear answer, and the adapter
//! lives on.

use std::fs;

use nix::sys::signal::Signal;
use serde_json::{Value, json};
use stillpoint_tests::process::Debuggee;
use stillpoint_tests::{DapClient, Fixture, Flags, aarch64_executable, process};

/// A frame that cannot be read ends the session, and the exit code says that it was no normal
/// end.
fn ends_badly(bytes: &[u8]) {
    let mut client = DapClient::spawn();
    client.write_raw(bytes);
    client.close();
    let status = client.wait_exit();
    assert!(
        status.code().is_some_and(|code| code != 0),
        "{:?}: {status}",
        String::from_utf8_lossy(bytes)
    );
}

#[test]
fn broken_frames() {
    ends_badly(b"what is this?\r\n\r\n{}");
    ends_badly(b"\0\xff\xfe\x80\r\n\r\n");
    ends_badly(b"Content-Length: many\r\n\r\n{}");
    ends_badly(b"Content-Length: -5\r\n\r\n{}");
    ends_badly(b"Content-Length: 99999999999999999999999\r\n\r\n{}");
    ends_badly(b"Content-Length: 5000\r\n\r\n{\"seq\":1}");
    ends_badly(b"Content-Le");
    ends_badly(b"\r\n\r\n");
}

#[test]
fn an_enormous_length_takes_no_memory() {
    ends_badly(b"Content-Length: 9000000000000000000\r\n\r\n{}");
    ends_badly(b"Content-Length: 4000000000\r\n\r\n{}");
}

#[test]
fn the_end_before_a_beginning() {
    let mut client = DapClient::spawn();
    client.close();
    assert_eq!(client.wait_exit().code(), Some(0));
}

#[test]
fn a_broken_frame_kills_what_was_launched() {
    let fixture = Fixture::of("c/spin.c");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({}));
    client.configure();
    let pid = client.debuggee_pid();
    client.write_raw(b"nonsense\r\n\r\n");
    assert_ne!(client.wait_exit().code(), Some(0));
    assert!(!process::is_alive(pid));
}

#[test]
fn torn_and_crowded_frames() {
    let mut client = DapClient::spawn();
    let first = json!({"seq": 1, "type": "request", "command": "initialize",
        "arguments": {"adapterID": "ünï"}})
    .to_string();
    let second = json!({"seq": 2, "type": "request", "command": "threads"}).to_string();
    let mut bytes = Vec::new();
    for text in [&first, &second] {
        // Further fields and any case of letters are HTTP's custom, and so ours.
        bytes.extend(
            format!(
                "Content-Type: x\r\ncontent-length: {}\r\n\r\n{text}",
                text.len()
            )
            .bytes(),
        );
    }
    client.await_answer_to(1, "initialize");
    client.await_answer_to(2, "threads");
    for byte in bytes {
        client.write_raw(&[byte]);
    }
    client.response(1).expect("initialize succeeds");
    // Before a launch there is nothing to be listed; an error will do as well.
    let _ = client.response(2);
    client.disconnect();
}

#[test]
fn a_body_that_is_no_message() {
    for body in [
        &b"{\"seq\":"[..],
        b"not json at all",
        b"[1,2,3]",
        b"\"text\"",
        b"{}",
        b"{\"seq\":1,\"type\":\"request\"}",
        b"{\"seq\":\"one\",\"type\":7,\"command\":[]}",
        b"\xff\xfe{\"seq\":1}",
        b"",
    ] {
        let mut client = DapClient::spawn();
        let mut frame = format!("Content-Length: {}\r\n\r\n", body.len()).into_bytes();
        frame.extend(body);
        client.write_raw(&frame);
        client.close();
        // Whether it goes on or gives up, it neither dies of it nor hangs.
        let status = client.wait_exit();
        assert!(status.code().is_some(), "a crash: {status}");
        assert_ne!(status.code(), Some(101), "a panic");
    }
}

#[test]
fn deeply_nested_json() {
    let mut client = DapClient::spawn();
    let deep = "[".repeat(100_000);
    client.write_raw(format!("Content-Length: {}\r\n\r\n{deep}", deep.len()).as_bytes());
    client.close();
    let status = client.wait_exit();
    assert!(status.code().is_some_and(|code| code != 101), "{status}");
}

#[test]
fn unknown_commands() {
    let fixture = Fixture::of("c/loop.c");
    let mut client = DapClient::stopped_at(&fixture, "body");
    for command in ["novelty", "illegal_request", "", "Initialize", "__proto__"] {
        let message = client.ask_wrongly(command, json!({"anything": 1}));
        assert!(message.contains(command), "{message}");
    }
    client.expect_line(&fixture, "body");
    client.disconnect();
}

#[test]
fn wrong_types_name_the_place() {
    let fixture = Fixture::of("c/loop.c");
    let mut client = DapClient::stopped_at(&fixture, "body");
    let cases = [
        ("stackTrace", json!({"threadId": "one"}), "threadId"),
        ("stackTrace", json!({}), "threadId"),
        ("scopes", json!({"frameId": {}}), "frameId"),
        (
            "variables",
            json!({"variablesReference": [1]}),
            "variablesReference",
        ),
        ("evaluate", json!({"expression": 5}), "expression"),
        (
            "setBreakpoints",
            json!({"source": {"path": "x.c"}, "breakpoints": [{"line": 1}, {"line": "two"}]}),
            "line",
        ),
        ("setBreakpoints", json!({"breakpoints": []}), "source"),
        (
            "setFunctionBreakpoints",
            json!({"breakpoints": [{"name": 1}]}),
            "name",
        ),
    ];
    for (command, arguments, place) in cases {
        let message = client.ask_wrongly(command, arguments.clone());
        assert!(message.contains(place), "{command} {arguments}: {message}");
    }
    for arguments in [json!([]), json!("text"), json!(3), json!(true)] {
        client.ask_wrongly("scopes", arguments);
    }
    client.ask_wrongly("scopes", Value::Null);
    for number in [json!(1e30), json!(-1), json!(1.5), json!(u64::MAX)] {
        client.ask_wrongly("variables", json!({"variablesReference": number}));
    }
    client.expect_line(&fixture, "body");
    client.disconnect();
}

/// All requests with the fields that each must have.
const REQUESTS: &[(&str, &[&str])] = &[
    ("initialize", &[]),
    ("launch", &[]),
    ("attach", &[]),
    ("configurationDone", &[]),
    ("disconnect", &[]),
    ("restart", &[]),
    ("terminate", &[]),
    ("cancel", &[]),
    ("setBreakpoints", &["source"]),
    ("breakpointLocations", &["source", "line"]),
    ("locations", &["locationReference"]),
    ("setFunctionBreakpoints", &["breakpoints"]),
    ("setInstructionBreakpoints", &["breakpoints"]),
    ("dataBreakpointInfo", &["name"]),
    ("setDataBreakpoints", &["breakpoints"]),
    ("setExceptionBreakpoints", &[]),
    ("exceptionInfo", &["threadId"]),
    ("threads", &[]),
    ("pause", &["threadId"]),
    ("continue", &["threadId"]),
    ("next", &["threadId"]),
    ("stepIn", &["threadId"]),
    ("stepOut", &["threadId"]),
    ("stepInTargets", &["frameId"]),
    ("gotoTargets", &["source", "line"]),
    ("goto", &["threadId", "targetId"]),
    ("restartFrame", &["frameId"]),
    ("stackTrace", &["threadId"]),
    ("stillpoint/context", &[]),
    ("scopes", &["frameId"]),
    ("variables", &["variablesReference"]),
    ("setVariable", &["variablesReference", "name", "value"]),
    ("evaluate", &["expression"]),
    ("setExpression", &["expression", "value"]),
    ("completions", &["text", "column"]),
    ("readMemory", &["memoryReference", "count"]),
    ("writeMemory", &["memoryReference", "data"]),
    ("disassemble", &["memoryReference", "instructionCount"]),
    ("source", &["sourceReference"]),
    ("loadedSources", &[]),
    ("modules", &[]),
    ("stillpoint/setSettings", &["settings"]),
];

#[test]
fn wrong_types_in_every_request() {
    let routes = include_str!("../../adapter/src/routes.rs");
    assert_eq!(routes.matches("    route::<").count(), REQUESTS.len());
    let fixture = Fixture::of("c/loop.c");
    let mut client = DapClient::stopped_at(&fixture, "body");
    let usual = |field: &str| match field {
        "source" => json!({"path": "x.c"}),
        "breakpoints" => json!([]),
        "name" | "value" | "expression" | "text" | "memoryReference" | "data" => json!("0"),
        "settings" => json!({}),
        _ => json!(1),
    };
    for (command, fields) in REQUESTS {
        for arguments in [json!([]), json!("text"), json!(3), json!(true)] {
            let message = client.ask_wrongly(command, arguments);
            assert!(
                message.contains("must be an object"),
                "{command}: {message}"
            );
        }
        for wrong in fields.iter() {
            for value in [json!([[[]]]), json!([{"a": [{}]}]), json!([-1e300])] {
                let of = |field: &&str| match field == wrong {
                    true => ((*field).to_owned(), value.clone()),
                    false => ((*field).to_owned(), usual(field)),
                };
                let arguments: serde_json::Map<_, _> = fields.iter().map(of).collect();
                let message = client.ask_wrongly(command, Value::Object(arguments));
                assert!(message.contains(wrong), "{command} {value}: {message}");
            }
        }
    }
    client.expect_line(&fixture, "body");
    assert_eq!(client.evaluate("i"), "0");
    client.disconnect();
}

#[test]
fn what_is_over_is_cancelled_as_often_as_one_likes() {
    let fixture = Fixture::of("c/loop.c");
    let mut client = DapClient::stopped_at(&fixture, "body");
    let sequence = client.send("threads", Value::Null);
    client.response(sequence).expect("threads");
    for id in [json!(sequence), json!(sequence), json!(0), json!(i64::MAX)] {
        client.ask("cancel", json!({"requestId": id}));
        client.ask("cancel", json!({"progressId": id.to_string()}));
    }
    client.ask("cancel", Value::Null);
    assert_eq!(client.evaluate("i"), "0");
    client.disconnect();
}

#[test]
fn formats_that_there_are_not() {
    let fixture = Fixture::of("c/loop.c");
    let mut client = DapClient::stopped_at(&fixture, "body");
    for format in [
        "zz",
        "xx",
        "99999999999999999999",
        "[-1]",
        "[1e9]",
        "[",
        ",",
    ] {
        let error = client.try_evaluate(&format!("i,{format}"));
        assert!(error.is_err(), "{format}: {error:?}");
    }
    for format in [json!(7), json!({"hex": "maybe"}), json!([])] {
        let asked = json!({"expression": "i", "format": format});
        assert_eq!(client.ask("evaluate", asked)["result"], "0");
    }
    client.disconnect();
}

#[test]
fn addresses_that_nothing_has() {
    let fixture = Fixture::of("c/memory.c");
    let mut client = DapClient::stopped_at(&fixture, "ready");
    let pages = client.evaluate("pages + 4096");
    let guard = pages.split_whitespace().find(|word| word.starts_with("0x"));
    let guard = guard.expect("an address").to_owned();
    let maps = fs::read_to_string(format!("/proc/{}/maps", client.debuggee_pid()));
    let maps = maps.expect("the mappings");
    let start = |name: &str| {
        let line = maps.lines().find(|line| line.ends_with(name))?;
        line.split('-').next().map(|start| format!("0x{start}"))
    };
    let mut addresses = vec!["0x0", "0x8000000000000000", "0xffffffffffffffff", &guard];
    let kernels = ["[vvar]", "[vsyscall]"].map(start);
    addresses.extend(kernels.iter().flatten().map(String::as_str));
    for address in addresses {
        let write = json!({"memoryReference": address, "data": "AAAA"});
        let error = client.ask_wrongly("writeMemory", write.clone());
        assert!(error.contains("cannot write"), "{address}: {error}");
        let asked = json!({"memoryReference": address, "instructionCount": 3,
            "instructionOffset": -3});
        let rows = client.ask("disassemble", asked)["instructions"].clone();
        assert_eq!(rows.as_array().map(Vec::len), Some(3), "{address}");
        let breakpoint = json!({"instructionReference": address});
        let set = client.ask(
            "setInstructionBreakpoints",
            json!({"breakpoints": [breakpoint]}),
        );
        let set = &set["breakpoints"][0];
        // In the page of old system calls there is code, which nobody can write to.
        assert_eq!(set["verified"], false, "{address}: {set}");
    }
    for (reference, offset) in [("0xffffffffffffffff", 1), ("0x10", -17), ("0x1", i64::MIN)] {
        let moved = json!({"memoryReference": reference, "offset": offset, "data": "AAAA"});
        let error = client.ask_wrongly("writeMemory", moved);
        assert!(error.contains("`offset`"), "{error}");
        let breakpoint = json!({"instructionReference": reference, "offset": offset});
        let set = json!({"breakpoints": [breakpoint]});
        let error = client.ask_wrongly("setInstructionBreakpoints", set);
        assert!(error.contains("`offset`"), "{error}");
    }
    assert_eq!(client.evaluate("table[9]"), "9 '\\t'");
    client.disconnect();
}

#[test]
fn wrong_launch_settings() {
    let fixture = Fixture::of("c/exit_code.c");
    let cases = [
        (json!({"program": 5}), "program"),
        (json!({}), "program"),
        (
            json!({"program": fixture.program, "args": {"a": 1}}),
            "args",
        ),
        (
            json!({"program": fixture.program, "cwd": "/does/not/exist"}),
            "/does/not/exist",
        ),
        (
            json!({"program": fixture.program, "envFile": "/no/such.env"}),
            "/no/such.env",
        ),
    ];
    for (arguments, place) in cases {
        let mut client = DapClient::spawn();
        client.initialize();
        let message = client.ask_wrongly("launch", arguments.clone());
        assert!(message.contains(place), "{arguments}: {message}");
        client.disconnect();
    }
}

#[test]
fn stale_ids() {
    let fixture = Fixture::of("c/loop.c");
    let mut client = DapClient::stopped_at(&fixture, "body");
    let frame = client.top_frame()["id"].as_i64().expect("an id");
    let reference = client.locals_reference(frame);
    client.next();
    client.ask_wrongly("variables", json!({"variablesReference": reference}));
    client.ask_wrongly("scopes", json!({"frameId": frame}));
    client.ask_wrongly("evaluate", json!({"expression": "i", "frameId": frame}));
    client.ask_wrongly("variables", json!({"variablesReference": 0}));
    client.ask_wrongly("variables", json!({"variablesReference": 123_456}));
    client.ask_wrongly("stackTrace", json!({"threadId": 123_456_789}));
    client.disconnect();
}

#[test]
fn not_stopped_at_once_while_running() {
    let fixture = Fixture::of("c/spin.c");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({}));
    client.configure();
    let threads = client.ask("threads", Value::Null);
    let thread = threads["threads"][0]["id"].clone();
    for (command, arguments) in [
        ("stackTrace", json!({"threadId": thread})),
        ("scopes", json!({"frameId": 1})),
        ("variables", json!({"variablesReference": 1})),
        ("evaluate", json!({"expression": "1", "frameId": 1})),
        ("next", json!({"threadId": thread})),
        ("stepIn", json!({"threadId": thread})),
        ("stepOut", json!({"threadId": thread})),
        (
            "setVariable",
            json!({"variablesReference": 1, "name": "x", "value": "1"}),
        ),
    ] {
        match client.request(command, arguments) {
            Err(response) => assert_eq!(response["message"], "notStopped", "{response}"),
            Ok(body) => client.fail(&format!("{command} succeeded: {body}")),
        }
    }
    client.pause();
    client.disconnect();
}

#[test]
fn requests_before_their_time() {
    let mut client = DapClient::spawn();
    client.ask_wrongly("stackTrace", json!({"threadId": 1}));
    client.initialize();
    for command in ["next", "continue", "pause", "stackTrace"] {
        client.ask_wrongly(command, json!({"threadId": 1}));
    }
    client.disconnect();
}

#[test]
fn a_second_launch() {
    let fixture = Fixture::of("c/loop.c");
    let mut client = DapClient::stopped_at(&fixture, "body");
    client.ask_wrongly("launch", json!({"program": fixture.program}));
    client.ask_wrongly("attach", json!({"pid": 1}));
    client.expect_line(&fixture, "body");
    client.disconnect();
}

#[test]
fn programs_that_cannot_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    fs::write(path("plain"), "just a text").expect("written");
    fs::write(path("script.txt"), "#!/bin/sh\n").expect("written");
    fs::write(path("empty"), "").expect("written");
    aarch64_executable(&path("arm"));
    for (program, words) in [
        (path("missing"), &["missing"][..]),
        (path("plain"), &["plain", "execut"]),
        (path("script.txt"), &["script.txt", "execut"]),
        (folder.path().to_path_buf(), &["director"]),
        (path("empty"), &["empty"]),
        (path("arm"), &["arm", "arch64"]),
    ] {
        let mut client = DapClient::spawn();
        client.initialize();
        let message = client.ask_wrongly("launch", json!({"program": program}));
        for word in words {
            assert!(message.contains(word), "{}: {message}", program.display());
        }
        assert_eq!(client.count_events("initialized"), 0, "nothing begins");
        // The adapter lives on: another program can be tried.
        let fixture = Fixture::of("c/exit_code.c");
        let launch = client.send("launch", json!({"program": fixture.program}));
        client.wait_event("initialized");
        client.ask("configurationDone", Value::Null);
        client.response(launch).expect("launch succeeds");
        client.expect_exit();
        client.disconnect();
    }
}

#[test]
fn a_program_cut_short() {
    let fixture = Fixture::of("c/structs.c");
    let whole = fs::read(&fixture.program).expect("the program");
    let folder = tempfile::tempdir().expect("a folder");
    for length in [5, 63, 64, 200, whole.len() / 2, whole.len() - 100] {
        let program = folder.path().join(format!("short-{length}"));
        fs::copy(&fixture.program, &program).expect("copied with its rights");
        fs::write(&program, &whole[..length]).expect("cut");
        let mut client = DapClient::spawn();
        client.initialize();
        let launch = client.send("launch", json!({"program": program}));
        client.send("configurationDone", Value::Null);
        // The kernel may still run one that lacks its section headers only.
        if let Err(response) = client.response(launch) {
            let text = response.to_string();
            assert!(!text.contains("another machine"), "{length}: {text}");
        }
        client.disconnect();
    }
}

#[test]
fn debug_info_of_garbage() {
    let fixture = Fixture::of("c/structs.c");
    let mut bytes = fs::read(&fixture.program).expect("the program");
    // What is behind the loaded part: the debug sections, and their headers.
    let begin = bytes.len() / 2;
    let mut state = 12345_u32;
    for byte in &mut bytes[begin..] {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        if state >> 28 == 0 {
            *byte = (state >> 16) as u8;
        }
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("structs");
    fs::copy(&fixture.program, &program).expect("copied with its rights");
    fs::write(&program, &bytes).expect("spoilt");
    let mut client = DapClient::spawn();
    client.initialize();
    let launch = client.send("launch", json!({"program": program}));
    client.set_breakpoints(&fixture, &["all"]);
    client.send("configurationDone", Value::Null);
    let _ = client.response(launch);
    client.disconnect();
}

#[test]
fn no_debug_info() {
    let flags = Flags {
        dwarf: 0,
        ..Flags::of("c/recursion.c")
    };
    let fixture = Fixture::build("c/recursion.c", flags).expect("gcc is there");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({}));
    let set = client.set_breakpoints(&fixture, &["bottom"]);
    assert_eq!(set[0]["verified"], false);
    let functions = client.set_function_breakpoints(&["factorial"]);
    assert_eq!(functions[0]["verified"], true, "{}", functions[0]);
    client.configure();
    for depth in 1..=3 {
        client.expect_stopped("function breakpoint");
        let names = client.function_names();
        assert!(names[..depth].iter().all(|name| name == "factorial"));
        assert_eq!(names[depth], "main");
        client.continue_();
    }
    let hint = client.position(|message| {
        message["body"]["output"]
            .as_str()
            .or(message["body"]["breakpoints"][0]["message"].as_str())
            .is_some_and(|text| text.contains("-g"))
    });
    assert!(hint.is_some(), "no word of -g");
    client.disconnect();
}

#[test]
fn stripped() {
    let flags = Flags {
        dwarf: 0,
        extra: &["-s"],
        ..Flags::of("c/spin.c")
    };
    let fixture = Fixture::build("c/spin.c", flags).expect("gcc is there");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({}));
    client.configure();
    client.pause();
    assert!(!client.stack().is_empty());
    client.disconnect();
}

#[test]
fn a_process_that_is_gone() {
    let fixture = Fixture::of("c/spin.c");
    let mut debuggee = Debuggee::start(&fixture, &[]);
    let pid = debuggee.pid();
    debuggee.kill(Signal::SIGKILL);
    let mut client = DapClient::spawn();
    client.initialize();
    for pid in [i64::from(pid), 0, -1, 4_999_999_999] {
        let message = client.ask_wrongly("attach", json!({"pid": pid}));
        assert!(!message.is_empty());
    }
    let message = client.ask_wrongly("attach", json!({"pid": pid}));
    assert!(message.contains(&pid.to_string()), "{message}");
    client.ask_wrongly("attach", json!({}));
    client.disconnect();
}

#[test]
fn a_process_that_is_traced_already() {
    let fixture = Fixture::of("c/spin.c");
    let debuggee = Debuggee::start(&fixture, &[]);
    let mut first = DapClient::spawn();
    first.attach(debuggee.pid(), json!({}));
    first.configure();
    let mut second = DapClient::spawn();
    second.initialize();
    let message = second.ask_wrongly("attach", json!({"pid": debuggee.pid()}));
    assert!(
        message.contains(&first.adapter_pid().to_string()),
        "names the tracer: {message}"
    );
    second.disconnect();
    first.disconnect();
    debuggee.expect_running();
}

#[test]
fn a_process_of_another_user() {
    if !nix::unistd::Uid::effective().is_root() {
        // Process 1 is not ours.
        let mut client = DapClient::spawn();
        client.initialize();
        let message = client.ask_wrongly("attach", json!({"pid": 1}));
        assert!(
            message.contains("uid") || message.contains("user"),
            "{message}"
        );
        client.disconnect();
    } else {
        eprintln!("skipped: root may trace everybody");
    }
}

#[test]
fn the_adapter_itself_is_no_debuggee() {
    let mut client = DapClient::spawn();
    client.initialize();
    let own = client.adapter_pid();
    client.ask_wrongly("attach", json!({"pid": own}));
    client.disconnect();
}

#[test]
fn killed_while_running() {
    let fixture = Fixture::of("c/spin.c");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({}));
    client.configure();
    process::send_signal(client.debuggee_pid(), Signal::SIGKILL);
    assert_eq!(client.expect_exit(), 128 + 9);
    client.disconnect();
}

#[test]
fn killed_while_stopped() {
    let fixture = Fixture::of("c/loop.c");
    let mut client = DapClient::stopped_at(&fixture, "body");
    process::send_signal(client.debuggee_pid(), Signal::SIGKILL);
    assert_eq!(client.expect_exit(), 128 + 9);
    client.disconnect();
}

#[test]
fn killed_with_requests_under_way() {
    let fixture = Fixture::of("c/threads.c");
    for round in 0..8 {
        let mut client = DapClient::stopped_with(&fixture, "hit", json!({"args": ["8", "100"]}));
        let pid = client.debuggee_pid();
        let thread = client.thread();
        let mut sent = Vec::new();
        for number in 0..8 {
            if number == round {
                process::send_signal(pid, Signal::SIGKILL);
            }
            let (command, arguments) = match number % 4 {
                0 => ("stackTrace", json!({"threadId": thread})),
                1 => ("next", json!({"threadId": thread})),
                2 => ("threads", Value::Null),
                _ => ("continue", json!({"threadId": thread})),
            };
            sent.push(client.send(command, arguments));
        }
        for sequence in sent {
            // Whatever they say, each is answered.
            let _ = client.response(sequence);
        }
        client.wait_event("exited");
        client.wait_event("terminated");
        client.disconnect();
    }
}

#[test]
fn killed_during_the_start() {
    let fixture = Fixture::of("c/spin.c");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({"stopOnEntry": true}));
    client.send("configurationDone", Value::Null);
    process::send_signal(client.debuggee_pid(), Signal::SIGKILL);
    client.wait_event("terminated");
    client.disconnect();
}

#[test]
fn standard_output_closed_by_the_program() {
    let fixture = Fixture::of("c/close_stdout.c");
    let mut client = DapClient::stopped_at(&fixture, "after");
    client.next();
    assert_eq!(client.locals()["after"], "7");
    client.continue_();
    assert_eq!(client.expect_exit(), 7);
    assert_eq!(client.output("stdout").trim_end(), "before");
    client.disconnect();
}

#[test]
fn pause_and_continue_storms() {
    let fixture = Fixture::of("c/spin.c");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({}));
    client.configure();
    let mut sent = Vec::new();
    for _ in 0..50 {
        sent.push(client.send("pause", json!({"threadId": 0})));
        sent.push(client.send("continue", json!({"threadId": 0})));
    }
    for sequence in sent {
        let _ = client.response(sequence);
    }
    client.disconnect();
}

#[test]
fn bad_expressions() {
    let fixture = Fixture::of("c/structs.c");
    let mut client = DapClient::stopped_at(&fixture, "all");
    let deep = format!("{}1{}", "(".repeat(100_000), ")".repeat(100_000));
    for expression in [
        "no_such_name",
        "whole.member",
        "*whole",
        "*nothing",
        "nothing[0]",
        "*wild",
        "point.z",
        "1 / 0",
        "1 % 0",
        "(",
        ")",
        "a +",
        "\"open",
        "@#!",
        "🙂",
        deep.as_str(),
    ] {
        let shown = expression.get(..20).unwrap_or(expression).to_owned();
        match client.try_evaluate(expression) {
            Ok(value) => client.fail(&format!("`{shown}` is {value}")),
            Err(message) => assert!(!message.is_empty(), "{shown}"),
        }
    }
    client.expect_line(&fixture, "all");
    client.disconnect();
}
