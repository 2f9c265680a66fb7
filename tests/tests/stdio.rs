//! The program's standard streams: FIFOs whose other end opens late or never, files in terminals,
//! and the arrival of output.

use nix::sys::signal::Signal;
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use serde_json::{Value, json};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::thread;
use stillpoint_tests::{DapClient, Fixture, process};
use tempfile::TempDir;

fn fifo() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("fifo");
    mkfifo(&path, Mode::S_IRWXU).expect("a FIFO");
    (folder, path)
}

/// Launches a shell's command; returns the number of the request.
fn launch(client: &mut DapClient, command: &str, stdio: Value) -> i64 {
    let settings = json!({"program": "/bin/sh", "args": ["-c", command], "stdio": stdio});
    client.initialize();
    client.send("launch", settings)
}

/// Begins a launch that waits for a FIFO, in a session that does not.
fn waiting(fifo: &Path) -> (DapClient, i64) {
    let mut client = DapClient::spawn();
    let launch = launch(&mut client, "echo told", json!([null, fifo, null]));
    let why = client.request_error("stackTrace", json!({"threadId": 1}));
    assert!(why.contains("held"), "{why}");
    (client, launch)
}

#[test]
fn a_program_starts_when_its_fifo_is_read() {
    let (_folder, fifo) = fifo();
    let (mut client, launch) = waiting(&fifo);
    let reader = thread::spawn(move || fs::read_to_string(fifo).expect("text"));
    client.wait_event("initialized");
    client.request_ok("configurationDone", Value::Null);
    client.response(launch).expect("launched");
    assert_eq!(client.expect_exit(), 0);
    // The stream ends: only the program had it open.
    assert_eq!(reader.join().expect("read"), "told\n");
    client.disconnect();
}

#[test]
fn a_program_starts_when_its_fifo_is_written() {
    let (_folder, fifo) = fifo();
    let mut client = DapClient::spawn();
    let launch = launch(&mut client, "cat; exit 3", json!({"stdin": fifo}));
    let writer = thread::spawn(move || {
        let file = fs::File::options().write(true).open(fifo);
        file.expect("a reader")
            .write_all(b"asked\n")
            .expect("written");
    });
    client.wait_event("initialized");
    client.request_ok("configurationDone", Value::Null);
    client.response(launch).expect("launched");
    assert_eq!(client.expect_exit(), 3);
    assert_eq!(client.output("stdout"), "asked\n");
    writer.join().expect("written");
    client.disconnect();
}

#[test]
fn launch_waiting_for_a_fifo_can_be_cancelled() {
    let (_folder, fifo) = fifo();
    let (mut client, launch) = waiting(&fifo);
    client.request_ok("cancel", json!({"requestId": launch}));
    let refused = client.response(launch).expect_err("cancelled");
    assert_eq!(refused["message"], "cancelled", "{refused}");
    client.disconnect();

    let (client, _) = waiting(&fifo);
    client.disconnect();

    let (mut client, _) = waiting(&fifo);
    client.close();
    client.wait_exit();

    let (mut client, _) = waiting(&fifo);
    process::send_signal(client.adapter_pid(), Signal::SIGTERM);
    client.wait_exit();
}

#[test]
fn a_restart_waits_for_the_fifo_again() {
    let (_folder, fifo) = fifo();
    let (mut client, launch) = waiting(&fifo);
    let path = fifo.clone();
    let reader = thread::spawn(move || fs::read_to_string(path).expect("text"));
    client.wait_event("initialized");
    client.request_ok("configurationDone", Value::Null);
    client.response(launch).expect("launched");
    client.expect_exit();
    reader.join().expect("read");
    let restart = client.send("restart", json!({}));
    let reader = thread::spawn(move || fs::read_to_string(fifo).expect("text"));
    client.response(restart).expect("started again");
    client.expect_exit();
    assert_eq!(reader.join().expect("read"), "told\n");
    client.disconnect();
}

#[test]
fn devices_may_be_streams() {
    let mut client = DapClient::spawn();
    let command = "head -c 3 | wc -c; echo lost >&2";
    let launch = launch(
        &mut client,
        command,
        json!(["/dev/zero", null, "/dev/full"]),
    );
    client.wait_event("initialized");
    client.request_ok("configurationDone", Value::Null);
    client.response(launch).expect("launched");
    client.expect_exit();
    assert_eq!(client.output("stdout"), "3\n");
    client.disconnect();
    let mut client = DapClient::spawn();
    client.initialize();
    for wrong in ["/dev", "/no/such/folder/file"] {
        let settings = json!({"program": "/bin/true", "stdio": [null, wrong, null]});
        let why = client.request_error("launch", settings);
        assert!(why.contains("stdio") && why.contains(wrong), "{why}");
    }
    client.disconnect();
}

#[test]
fn files_are_honoured_in_a_terminal() {
    let (folder, fifo) = fifo();
    let file = folder.path().join("file");
    let mut client = DapClient::spawn();
    client.request_ok(
        "initialize",
        json!({"adapterID": "x", "supportsRunInTerminalRequest": true}),
    );
    let settings = json!({
        "program": "/bin/sh", "args": ["-c", "cat; echo failed >&2; exit 4"],
        "cwd": folder.path(), "console": "integratedTerminal", "stdio": ["fifo", "file", null],
    });
    let launch = client.send("launch", settings);
    let terminal = client.open_terminal();
    let writer = thread::spawn(move || fs::write(fifo, "through\n").expect("written"));
    client.wait_event("initialized");
    client.request_ok("configurationDone", Value::Null);
    client.response(launch).expect("launched");
    assert_eq!(client.expect_exit(), 4);
    writer.join().expect("written");
    assert_eq!(fs::read_to_string(file).expect("the file"), "through\n");
    client.disconnect();
    drop(terminal);

    // A file that cannot be opened is an error.
    let mut client = DapClient::spawn();
    client.request_ok(
        "initialize",
        json!({"adapterID": "x", "supportsRunInTerminalRequest": true}),
    );
    let settings = json!({
        "program": "/bin/true", "console": "integratedTerminal", "stdio": [null, "/dev", null],
    });
    let launch = client.send("launch", settings);
    let _terminal = client.open_terminal();
    let why = client.response(launch).expect_err("refused").to_string();
    assert!(why.contains("stdio") && why.contains("/dev"), "{why}");
    client.disconnect();
}

#[test]
fn bytes_are_joined_into_lines() {
    let fixture = Fixture::of("c/bytes.c");
    let (client, code) = DapClient::run_to_end(&fixture, json!({}));
    assert_eq!(code, 0);
    let text = "twenty letters a row\n".repeat(100) + "more? ";
    assert_eq!(client.output("stdout"), text);
    // A line whose writer is blocked arrives in parts.
    let events = client.count_events("output");
    assert!(events < text.len() / 4, "{events} events");
    client.disconnect();
}

#[test]
fn partial_line_is_emitted() {
    let mut client = DapClient::spawn();
    let launch = launch(&mut client, "printf 'name? '; sleep 100", json!([]));
    client.wait_event("initialized");
    client.request_ok("configurationDone", Value::Null);
    client.response(launch).expect("launched");
    let prompt = |body: &Value| body["output"] == "name? ";
    client.wait_event_where("output", prompt);
    client.disconnect();
}

#[test]
fn the_terminal_has_a_size() {
    let mut client = DapClient::spawn();
    launch(&mut client, "stty size <&1", Value::Null);
    client.wait_event("initialized");
    client.request_ok("configurationDone", Value::Null);
    assert_eq!(client.expect_exit(), 0);
    assert_eq!(client.output("stdout"), "24 80\n");
    client.disconnect();
}
