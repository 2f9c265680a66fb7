//! `stillpoint core`: the state in a core file, without an editor.

use super::client::{Client, Failure};
use super::report::Report;
use super::{say_report, show_output};
use clap::Args;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::ExitCode;

/// Options of `stillpoint core`.
#[derive(Args, Debug)]
pub struct Options {
    /// Print this expression in the frame where the program ended; can be repeated
    #[arg(long = "print", value_name = "EXPRESSION")]
    pub prints: Vec<String>,
    /// Print JSON, one object per line
    #[arg(long)]
    pub json: bool,
    /// The core file; may be compressed with zstd or lz4
    #[arg(value_name = "CORE")]
    pub core: PathBuf,
    /// The executable, if it has moved
    #[arg(value_name = "PROGRAM")]
    pub program: Option<PathBuf>,
}

/// Prints all threads, starting with the one that ended the process.
pub fn core(options: Options) -> ExitCode {
    super::serve_client(move |client| session(client, &options))
}

fn session(client: &mut Client, options: &Options) -> Result<u8, Failure> {
    super::initialize(client)?;
    let attach = json!({"coreFile": options.core, "program": options.program});
    let attach = client.send("attach", &attach)?;
    client.await_initialized(attach)?;
    client.request("configurationDone", &json!({}))?;
    client.answer(attach)?;
    let stopped = loop {
        let mut event = client.event()?;
        match event["event"].as_str().unwrap_or_default() {
            "output" => show_output(&event["body"], options.json),
            "stopped" => break event["body"].take(),
            _ => {}
        }
    };
    let report = Report::gather(client, &stopped, &options.prints)?;
    say_report(&report, options.json);
    let mut threads = client.request("threads", &json!({}))?;
    let Value::Array(threads) = threads["threads"].take() else {
        return Ok(0);
    };
    for thread in threads {
        if thread["id"] != stopped["threadId"] {
            let there = json!({"threadId": thread["id"], "reason": "another thread"});
            say_report(&Report::gather(client, &there, &[])?, options.json);
        }
    }
    Ok(0)
}
