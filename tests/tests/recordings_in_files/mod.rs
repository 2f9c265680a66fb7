//! Recordings in files: what is seen in them is what was seen of the program.

mod command;
mod ends;
mod programs;
mod refusals;
mod runs;
mod setting;
mod threads;
mod walks;

use serde_json::{Value, json};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use stillpoint_tests::{DapClient, command as stillpoint};

/// Records a program by `stillpoint record -o`, and checks that it was written. Returns what was printed.
fn record<S: AsRef<OsStr>>(file: &Path, words: &[S]) -> Output {
    let output = recorder(file, words);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("stillpoint: wrote "), "{stderr}");
    output
}

/// Like [`record`], without a check.
fn recorder<S: AsRef<OsStr>>(file: &Path, words: &[S]) -> Output {
    let mut recorder = stillpoint();
    recorder.args(["record", "-o"]).arg(file).arg("--");
    let recorder = recorder.args(words).stdin(Stdio::null());
    recorder.output().expect("it starts")
}

/// Opens a recording, and waits for a stop where it ends.
fn opened(file: &Path, settings: Value, reasons: &[&str]) -> (DapClient, Value) {
    let mut client = begin(file, settings);
    client.configure();
    let event = client.expect_stopped_by(reasons);
    (client, event)
}

/// Opens a recording.
fn begin(file: &Path, mut settings: Value) -> DapClient {
    settings["replay"] = json!(file);
    let mut client = DapClient::spawn();
    client.start("launch", settings);
    client
}

/// Returns why a recording is not opened.
fn refusal(file: &Path) -> String {
    let mut client = DapClient::spawn();
    let refused = client.try_start("launch", json!({"replay": file}));
    let response = refused.expect_err("a refusal");
    let text = response["body"]["error"]["format"].as_str();
    let text = text.unwrap_or_else(|| panic!("{response}")).to_owned();
    client.disconnect();
    text
}

/// Resumes by a request, and waits for a stop with one of these reasons.
fn go(client: &mut DapClient, request: &str, reasons: &[&str]) -> Value {
    let thread = client.thread();
    client.request_ok(request, json!({"threadId": thread}));
    client.expect_stopped_by(reasons)
}

/// The output of a console command.
fn shown(client: &mut DapClient, command: &str) -> Result<String, String> {
    let frame = client.top_frame()["id"].clone();
    let evaluate = json!({"expression": command, "context": "repl", "frameId": frame});
    let answer = client.request("evaluate", evaluate);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    match answer {
        Ok(body) => Ok(text(&body["result"])),
        Err(response) => Err(text(&response["body"]["error"]["format"])),
    }
}

/// A folder with room for a recording.
fn place_for_file() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("recording");
    (folder, file)
}
