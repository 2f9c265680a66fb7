//! Programs that cannot be debugged, or not well: the answer says why; and those that are killed
//! under us.

use nix::sys::signal::Signal;
use serde_json::{Value, json};
use std::fs;
use stillpoint_tests::process::Debuggee;
use stillpoint_tests::{DapClient, Fixture, Flags, foreign_executable, process};

#[test]
fn programs_that_cannot_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    fs::write(path("plain"), "just a text").expect("written");
    fs::write(path("script.txt"), "#!/bin/sh\n").expect("written");
    fs::write(path("empty"), "").expect("written");
    let foreign = match cfg!(target_arch = "x86_64") {
        true => "arch64",
        false => "x86_64",
    };
    foreign_executable(&path("foreign"));
    for (program, words) in [
        (path("missing"), &["missing"][..]),
        (path("plain"), &["plain", "execut"]),
        (path("script.txt"), &["script.txt", "execut"]),
        (folder.path().to_path_buf(), &["director"]),
        (path("empty"), &["empty"]),
        (path("foreign"), &["foreign", foreign]),
    ] {
        let mut client = DapClient::spawn();
        client.initialize();
        let message = client.request_error("launch", json!({"program": program}));
        for word in words {
            assert!(message.contains(word), "{}: {message}", program.display());
        }
        assert_eq!(client.count_events("initialized"), 0, "nothing begins");
        // The adapter lives on: another program can be tried.
        let fixture = Fixture::of("c/exit_code.c");
        let launch = client.send("launch", json!({"program": fixture.program}));
        client.wait_event("initialized");
        client.request_ok("configurationDone", Value::Null);
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
            assert!(!text.contains("wrong architecture"), "{length}: {text}");
        }
        client.disconnect();
    }
}

#[test]
fn debug_info_of_garbage() {
    let fixture = Fixture::of("c/structs.c");
    let mut bytes = fs::read(&fixture.program).expect("the program");
    // The part that is not loaded: the debug sections and their headers.
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
fn attach_to_a_finished_process() {
    let fixture = Fixture::of("c/spin.c");
    let mut debuggee = Debuggee::start(&fixture, &[]);
    let pid = debuggee.pid();
    debuggee.kill(Signal::SIGKILL);
    let mut client = DapClient::spawn();
    client.initialize();
    for pid in [i64::from(pid), 0, -1, 4_999_999_999] {
        let message = client.request_error("attach", json!({"pid": pid}));
        assert!(!message.is_empty());
    }
    let message = client.request_error("attach", json!({"pid": pid}));
    assert!(message.contains(&pid.to_string()), "{message}");
    client.request_error("attach", json!({}));
    client.disconnect();
}

#[test]
fn attach_to_a_traced_process() {
    let fixture = Fixture::of("c/spin.c");
    let debuggee = Debuggee::start(&fixture, &[]);
    let mut first = DapClient::spawn();
    first.attach(debuggee.pid(), json!({}));
    first.configure();
    let mut second = DapClient::spawn();
    second.initialize();
    let message = second.request_error("attach", json!({"pid": debuggee.pid()}));
    let tracer = process::status(debuggee.pid(), "TracerPid").expect("it is alive");
    assert!(message.contains(&tracer), "names the tracer: {message}");
    let of_tracer = tracer.parse().expect("a number");
    let parent = process::status(of_tracer, "PPid").expect("it is alive");
    assert_eq!(parent, first.adapter_pid().to_string());
    second.disconnect();
    first.disconnect();
    debuggee.expect_running();
}

#[test]
fn a_process_of_another_user() {
    if !nix::unistd::Uid::effective().is_root() {
        // Process 1 belongs to root.
        let mut client = DapClient::spawn();
        client.initialize();
        let message = client.request_error("attach", json!({"pid": 1}));
        assert!(
            message.contains("uid") || message.contains("user"),
            "{message}"
        );
        client.disconnect();
    } else {
        skips::skip("a user other than root");
    }
}

#[test]
fn adapter_cannot_attach_to_itself() {
    let mut client = DapClient::spawn();
    client.initialize();
    let own = client.adapter_pid();
    client.request_error("attach", json!({"pid": own}));
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
fn kill_with_pending_requests() {
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
