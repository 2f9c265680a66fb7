//! Child processes: detached, followed, or debugged in sessions of their own.

use nix::sys::signal::Signal;
use serde_json::{Value, json};
use stillpoint_tests::process::{self, Debuggee};
use stillpoint_tests::{DapClient, Fixture};

const WAYS: [&str; 5] = ["fork", "exec", "vfork", "spawn", "shell"];

/// Launches it; the breakpoints are where parent and child both come by.
fn launched(fixture: &Fixture, how: &str, settings: Value) -> DapClient {
    let mut client = DapClient::spawn();
    let mut all = json!({"args": [how]});
    for (key, value) in settings.as_object().expect("an object") {
        all[key] = value.clone();
    }
    client.launch(fixture, all);
    client.set_breakpoints(fixture, &["work"]);
    client.configure();
    client
}

/// What `work` is called with in a child made that way.
fn of_child(how: &str) -> i64 {
    match how {
        "fork" | "daemon" | "wait" => 3,
        _ => 5,
    }
}

#[test]
fn children_run_untraced_by_default() {
    let fixture = Fixture::of("c/children.c");
    for how in WAYS {
        let mut client = launched(&fixture, how, json!({}));
        client.expect_stopped("breakpoint");
        assert_eq!(client.evaluate("who"), "1", "{how}");
        client.continue_();
        assert_eq!(client.expect_exit(), 0);
        let expected = format!("child {} parent 2", 2 * of_child(how));
        assert_eq!(client.output("stdout").trim_end(), expected, "{how}");
        client.disconnect();
    }
}

#[test]
fn child_is_debugged_instead_of_the_parent() {
    let fixture = Fixture::of("c/children.c");
    for how in ["fork", "exec", "vfork", "spawn"] {
        let mut client = launched(&fixture, how, json!({"followFork": "child"}));
        let parent = client.wait_event("process")["systemProcessId"].clone();
        client.expect_stopped("breakpoint");
        let child = client.wait_event_where("process", |body| body["systemProcessId"] != parent);
        let names: Vec<String> = client.function_names();
        assert_eq!(names[..2], ["work", "main"], "{how}");
        // A child that has no program of its own yet is followed from its birth.
        let who = if how == "exec" { 5 } else { of_child(how) };
        assert_eq!(client.evaluate("who"), who.to_string(), "{how}");
        let threads = client.request_ok("threads", Value::Null);
        let threads = threads["threads"].as_array().expect("a list");
        assert_eq!(threads.len(), 1, "{how}");
        assert_eq!(threads[0]["id"], child["systemProcessId"]);
        client.step_out();
        client.continue_();
        assert_eq!(client.expect_exit(), 2 * who, "{how}");
        client.disconnect();
    }
}

#[test]
fn only_a_child_that_runs_the_program() {
    let fixture = Fixture::of("c/children.c");
    let name = fixture.program.file_name().expect("a name");
    for programs in [
        json!(name.to_str()),
        json!(["nothing", "child*"]),
        json!([fixture.program]),
    ] {
        let settings = json!({"followFork": "child", "followForkPrograms": programs});
        let mut client = launched(&fixture, "shell", settings);
        client.expect_stopped("breakpoint");
        // The shell came first.
        assert_eq!(client.evaluate("who"), "5", "{programs}");
        client.continue_();
        assert_eq!(client.expect_exit(), 10);
        client.disconnect();
    }
    let settings = json!({"followFork": "child", "followForkPrograms": "nothing"});
    let mut client = launched(&fixture, "shell", settings);
    client.expect_stopped("breakpoint");
    assert_eq!(client.evaluate("who"), "1");
    client.continue_();
    assert_eq!(client.expect_exit(), 0);
    assert_eq!(client.output("stdout").trim_end(), "child 10 parent 2");
    client.disconnect();
}

#[test]
fn step_over_fork_ends_in_the_child() {
    let fixture = Fixture::of("c/children.c");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({"followFork": "child"}));
    client.set_breakpoints(&fixture, &["fork"]);
    client.configure();
    client.expect_stopped("breakpoint");
    let thread = client.thread();
    client.request_ok("next", json!({"threadId": thread}));
    client.expect_stopped("step");
    assert_ne!(client.thread(), thread);
    assert!(client.function_names().contains(&"main".to_owned()));
    client.set_breakpoints(&fixture, &["child"]);
    client.continue_to(&fixture, "child");
    client.disconnect();
}

#[test]
fn children_are_followed_in_non_stop_mode_too() {
    let fixture = Fixture::of("c/children.c");
    let settings = json!({"followFork": "child", "nonStop": true});
    let mut client = launched(&fixture, "fork", settings);
    let stop = client.wait_event("stopped");
    client.select_thread(stop["threadId"].as_i64().expect("a thread"));
    assert_eq!(client.evaluate("who"), "3");
    client.continue_();
    assert_eq!(client.expect_exit(), 6);
    client.disconnect();

    let settings = json!({"followFork": "both", "nonStop": true});
    let mut parent = launched(&fixture, "fork", settings);
    let mut child = parent.begin_session();
    child.set_breakpoints(&fixture, &["work"]);
    child.configure();
    let stop = child.wait_event("stopped");
    assert_ne!(stop["allThreadsStopped"], true, "it has the setting too");
    child.select_thread(stop["threadId"].as_i64().expect("a thread"));
    assert_eq!(child.evaluate("who"), "3");
    child.continue_();
    assert_eq!(child.expect_exit(), 6);
    child.disconnect();
    let stop = parent.wait_event("stopped");
    parent.select_thread(stop["threadId"].as_i64().expect("a thread"));
    parent.continue_();
    assert_eq!(parent.expect_exit(), 0);
    parent.disconnect();
}

#[test]
fn detached_parent_ends_with_the_session() {
    let fixture = Fixture::of("c/children.c");
    let mut client = DapClient::spawn();
    let settings = json!({"followFork": "child", "args": ["fork"]});
    client.launch(&fixture, settings);
    client.set_breakpoints(&fixture, &["child"]);
    client.configure();
    let parent = client.debuggee_pid();
    client.expect_stopped("breakpoint");
    assert!(process::is_alive(parent), "it waits for its child");
    client.disconnect();
    assert!(process::ends(parent));
}

#[test]
fn each_in_a_session_of_its_own() {
    let fixture = Fixture::of("c/children.c");
    for how in ["fork", "exec", "vfork", "spawn"] {
        let mut parent = launched(&fixture, how, json!({"followFork": "both"}));
        let mut child = parent.begin_session();
        child.set_breakpoints(&fixture, &["work"]);
        child.configure();
        child.expect_stopped("breakpoint");
        let who = of_child(how);
        if how == "exec" {
            // Followed from its birth, and through its `execve`.
            assert_eq!(child.evaluate("who"), "5");
        }
        assert_eq!(child.evaluate("who"), who.to_string(), "{how}");
        assert_eq!(child.function_names()[..2], ["work", "main"]);
        child.step_out();
        assert_eq!(parent.count_events("stopped"), 0, "it waits for the child");
        child.continue_();
        assert_eq!(child.expect_exit(), 2 * who);
        child.disconnect();
        parent.expect_stopped("breakpoint");
        assert_eq!(parent.evaluate("who"), "1");
        parent.continue_();
        assert_eq!(parent.expect_exit(), 0);
        let expected = format!("child {} parent 2", 2 * who);
        assert_eq!(parent.output("stdout").trim_end(), expected, "{how}");
        parent.disconnect();
    }
}

#[test]
fn the_childs_session_has_the_parents_settings() {
    let fixture = Fixture::of("c/children.c");
    let settings = json!({
        "followFork": "both", "followForkPrograms": ["children"], "callTimeout": 3,
        "stopOnEntry": true, "sourceMap": {"/a": "/b"}
    });
    let mut parent = DapClient::spawn();
    let mut all = settings.clone();
    all["args"] = json!(["shell"]);
    parent.launch(&fixture, all);
    parent.configure();
    parent.expect_stopped("entry");
    parent.continue_();
    let arguments = parent.ignore_session();
    let configuration = &arguments["configuration"];
    for key in [
        "followFork",
        "followForkPrograms",
        "callTimeout",
        "sourceMap",
    ] {
        assert_eq!(configuration[key], settings[key], "{key}");
    }
    assert!(configuration.get("stopOnEntry").is_none());
    assert!(configuration.get("args").is_none());
    let name = configuration["name"].as_str().expect("a name");
    assert!(name.starts_with("children"), "{name}");
    parent.disconnect();
}

#[test]
fn changed_settings_reach_the_childs_session() {
    let fixture = Fixture::of("c/children.c");
    let mut parent = launched(&fixture, "fork", json!({"followFork": "both"}));
    let set = "stillpoint/setSettings";
    let of = |client: &mut DapClient| client.request_ok(set, json!({}))["settings"].clone();
    // Before a session has connected for the child, and after.
    let arguments = parent.ignore_session();
    parent.request_ok(set, json!({"settings": {"maxDepth": 7}}));
    let mut child = DapClient::spawn();
    child.start("attach", arguments["configuration"].clone());
    child.wait_event("invalidated");
    assert_eq!(of(&mut child)["maxDepth"], 7);
    parent.request_ok(set, json!({"settings": {"maxDepth": null, "hex": true}}));
    child.wait_event("invalidated");
    let settings = of(&mut child);
    assert_eq!(
        (&settings["maxDepth"], &settings["hex"]),
        (&json!(3), &json!(true))
    );
    // Invalid settings are not passed on, and settings changed in the child's session apply to it
    // only.
    parent.request_error(set, json!({"settings": {"maxDepth": -1}}));
    child.request_ok(set, json!({"settings": {"hex": false}}));
    assert_eq!(of(&mut parent)["hex"], true);
    assert_eq!(of(&mut child)["hex"], false);
    child.disconnect();
    // No session of a child is left.
    parent.request_ok(set, json!({"settings": {"maxDepth": 4}}));
    parent.disconnect();
}

#[test]
fn children_run_if_the_editor_starts_no_sessions() {
    let fixture = Fixture::of("c/children.c");
    let mut client = DapClient::spawn();
    client.request_ok("initialize", json!({"adapterID": "x"}));
    let launch = client.send(
        "launch",
        json!({"program": fixture.program, "args": ["fork"], "followFork": "both"}),
    );
    client.wait_event("initialized");
    client.set_breakpoints(&fixture, &["work"]);
    client.request_ok("configurationDone", Value::Null);
    client.response(launch).expect("launched");
    client.expect_stopped("breakpoint");
    assert_eq!(client.evaluate("who"), "1");
    client.continue_();
    assert_eq!(client.expect_exit(), 0);
    assert_eq!(client.output("stdout").trim_end(), "child 6 parent 2");
    assert!(client.output("important").contains("followFork"));
    client.disconnect();
}

#[test]
fn unclaimed_child_runs_detached() {
    let fixture = Fixture::of("c/children.c");
    for (how, refuse) in [("fork", true), ("fork", false), ("spawn", false)] {
        let settings = json!({"followFork": "both", "followForkTimeout": 0.2});
        let mut client = launched(&fixture, how, settings);
        let word = match refuse {
            true => {
                client.refuse_session("no room");
                "no room"
            }
            false => {
                client.ignore_session();
                "no session attached"
            }
        };
        client.expect_stopped("breakpoint");
        assert_eq!(client.evaluate("who"), "1");
        client.continue_();
        assert_eq!(client.expect_exit(), 0);
        let expected = format!("child {} parent 2", 2 * of_child(how));
        assert_eq!(client.output("stdout").trim_end(), expected);
        let note = client.output("important");
        assert!(note.contains(word), "{note}");
        client.disconnect();
    }
}

#[test]
fn short_child_session_leaves_the_child_running() {
    let fixture = Fixture::of("c/children.c");
    let mut parent = launched(&fixture, "fork", json!({"followFork": "both"}));
    let arguments = parent.ignore_session();
    // The session sends its process id and is killed; the connection ends.
    use std::io::{BufRead, BufReader, Write};
    let socket = arguments["configuration"]["__handover"].as_str();
    let mut stream = std::os::unix::net::UnixStream::connect(socket.expect("a path"))
        .expect("the parent's session listens");
    writeln!(stream, "{}", std::process::id()).expect("written");
    let mut line = String::new();
    let mut lines = BufReader::new(stream);
    lines.read_line(&mut line).expect("where the child is");
    // Its id, where it is, whether it is traced, and the bytes of the jump that it waits in.
    let jump = if cfg!(target_arch = "x86_64") { 2 } else { 4 };
    assert_eq!(line.split_whitespace().count(), 3 + jump, "{line}");
    drop(lines);
    parent.expect_stopped("breakpoint");
    assert_eq!(parent.evaluate("who"), "1");
    parent.continue_();
    assert_eq!(parent.expect_exit(), 0);
    assert_eq!(parent.output("stdout").trim_end(), "child 6 parent 2");
    parent.disconnect();
}

#[test]
fn exit_of_the_parent_spares_the_child() {
    let fixture = Fixture::of("c/children.c");
    let mut parent = launched(&fixture, "daemon", json!({"followFork": "both"}));
    let mut child = parent.begin_session();
    assert_eq!(parent.expect_exit(), 0);
    parent.disconnect();
    child.set_breakpoints(&fixture, &["work"]);
    child.configure();
    child.expect_stopped("breakpoint");
    assert_eq!(child.evaluate("who"), "3");
    child.continue_();
    assert_eq!(child.expect_exit(), 6);
    child.disconnect();
}

#[test]
fn a_followed_child_of_a_launched_program_dies_with_its_debugger() {
    let fixture = Fixture::of("c/children.c");
    for handed_over in [false, true] {
        let settings = json!({"followFork": "both", "followForkTimeout": 3600});
        let mut parent = launched(&fixture, "fork", settings);
        let (pid, killed, _child) = if handed_over {
            let mut child = parent.begin_session();
            child.set_breakpoints(&fixture, &["work"]);
            child.configure();
            child.expect_stopped("breakpoint");
            let pid = child.debuggee_pid();
            (pid, child.adapter_pid(), Some(child))
        } else {
            let arguments = parent.ignore_session();
            let pid = arguments["configuration"]["pid"].as_i64().expect("a pid");
            (pid as i32, parent.adapter_pid(), None)
        };
        assert!(process::is_alive(pid));
        process::send_signal(killed, Signal::SIGKILL);
        assert!(process::ends(pid), "{handed_over}");
    }
}

#[test]
fn end_of_the_childs_session_ends_the_child() {
    let fixture = Fixture::of("c/children.c");
    for (arguments, status) in [(Value::Null, -9), (json!({"terminateDebuggee": false}), 6)] {
        let mut parent = launched(&fixture, "fork", json!({"followFork": "both"}));
        let mut child = parent.begin_session();
        child.set_breakpoints(&fixture, &["work"]);
        child.configure();
        child.expect_stopped("breakpoint");
        child.disconnect_with(arguments);
        parent.expect_stopped("breakpoint");
        parent.continue_();
        assert_eq!(parent.expect_exit(), 0);
        let expected = format!("child {status} parent 2");
        assert_eq!(parent.output("stdout").trim_end(), expected);
        parent.disconnect();
    }
}

#[test]
fn children_of_attached_processes_survive_adapters() {
    let fixture = Fixture::of("c/children.c");
    for killed in ["none", "the parent's", "the child's"] {
        let (debuggee, mut input) = Debuggee::start_with_input(&fixture, &["wait"]);
        let mut parent = DapClient::spawn();
        parent.attach(debuggee.pid(), json!({"followFork": "both"}));
        parent.configure();
        std::io::Write::write_all(&mut input, b"x").expect("it reads");
        drop(input);
        let mut child = parent.begin_session();
        child.set_breakpoints(&fixture, &["work"]);
        child.configure();
        child.expect_stopped("breakpoint");
        assert_eq!(child.evaluate("who"), "3");
        if killed == "the parent's" {
            process::send_signal(parent.adapter_pid(), Signal::SIGKILL);
            parent.wait_exit();
        }
        match killed {
            "the child's" => process::send_signal(child.adapter_pid(), Signal::SIGKILL),
            _ => child.disconnect(),
        }
        assert_eq!(debuggee.read_line(), "child 6 parent 2", "{killed}");
    }
}

#[test]
fn disconnect_detaches_a_held_child() {
    let fixture = Fixture::of("c/children.c");
    let (debuggee, mut input) = Debuggee::start_with_input(&fixture, &["wait"]);
    let mut parent = DapClient::spawn();
    let settings = json!({"followFork": "both", "followForkTimeout": 3600});
    parent.attach(debuggee.pid(), settings);
    parent.configure();
    std::io::Write::write_all(&mut input, b"x").expect("it reads");
    let arguments = parent.ignore_session();
    let child = arguments["configuration"]["pid"].as_i64().expect("a pid") as i32;
    assert!(process::is_alive(child), "it is held");
    parent.disconnect();
    assert_eq!(debuggee.read_line(), "child 6 parent 2");
}

#[test]
fn mistakes_in_the_settings_are_named() {
    let fixture = Fixture::of("c/children.c");
    let mut client = DapClient::spawn();
    client.initialize();
    for (key, value) in [
        ("followFork", json!("all")),
        ("followForkPrograms", json!({})),
    ] {
        let mut settings = json!({"program": fixture.program});
        settings[key] = value;
        let message = client.request_error("launch", settings);
        assert!(message.contains(key), "{message}");
    }
    client.disconnect();
}
