//! `stillpoint run`: prints a program's stops without an editor. It is a client of the DAP server
//! in the same process, with real messages.

mod client;
pub mod core;
mod report;

use crate::server::stream::Stream;
use crate::service::{self, ServiceError};
use clap::Args;
use client::{Client, Failure};
use report::Report;
use serde_json::{Value, json};
use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::thread;

/// Options of `stillpoint run`.
#[derive(Args, Debug)]
pub struct Options {
    /// Where to stop (default: `main`); can be repeated
    #[arg(long = "break", value_name = "FILE:LINE|FUNCTION")]
    pub breaks: Vec<String>,
    /// Print this expression at each stop; can be repeated
    #[arg(long = "print", value_name = "EXPRESSION")]
    pub prints: Vec<String>,
    /// Print JSON, one object per line
    #[arg(long)]
    pub json: bool,
    /// The program and its arguments
    #[arg(
        value_name = "PROGRAM",
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    pub command: Vec<String>,
}

/// Runs a program to its end; the exit code is the program's.
pub fn run(options: Options) -> ExitCode {
    serve_client(move |client| session(client, &options))
}

/// Runs a server and its client, from the client's `initialize` to its `disconnect`.
fn serve_client(
    session: impl FnOnce(&mut Client) -> Result<u8, Failure> + Send + 'static,
) -> ExitCode {
    let (ours, theirs) = match UnixStream::pair() {
        Ok(ends) => ends,
        Err(error) => return complain(&error),
    };
    // The session must be on this thread, which prepared the process for it.
    let driver = thread::spawn(move || drive(session, ours));
    let end = Stream::both_of(theirs)
        .map_err(ServiceError::from)
        .and_then(service::serve);
    let driven = driver
        .join()
        .unwrap_or_else(|_| Err(Failure::new("the client failed")));
    match (driven, end) {
        (Ok(code), _) => ExitCode::from(code),
        (Err(_), Err(error)) => complain(&error),
        (Err(failure), Ok(())) => complain(&failure),
    }
}

fn complain(error: &dyn std::fmt::Display) -> ExitCode {
    eprintln!("stillpoint: {error}");
    ExitCode::FAILURE
}

/// The location of a breakpoint in the command line.
#[derive(Debug, PartialEq, Eq)]
enum Place<'a> {
    Line(&'a str, u32),
    Function(&'a str),
}

fn place(text: &str) -> Place<'_> {
    if let Some((file, line)) = text.rsplit_once(':')
        && !file.is_empty()
        && let Ok(line) = line.parse()
    {
        return Place::Line(file, line);
    }
    Place::Function(text)
}

/// Runs the client, from `initialize` to `disconnect`.
fn drive(
    session: impl FnOnce(&mut Client) -> Result<u8, Failure>,
    stream: UnixStream,
) -> Result<u8, Failure> {
    let mut client = Client::new(stream);
    let driven = session(&mut client);
    let ended = client.request("disconnect", &json!({"terminateDebuggee": true}));
    let code = driven?;
    ended.map(|_| code)
}

fn initialize(client: &mut Client) -> Result<(), Failure> {
    let arguments = json!({
        "clientID": "stillpoint-run",
        "adapterID": "stillpoint",
        "supportsVariableType": true,
        "supportsVariablePaging": true,
    });
    client.request("initialize", &arguments).map(drop)
}

fn session(client: &mut Client, options: &Options) -> Result<u8, Failure> {
    initialize(client)?;
    let mut launch = json!({"program": options.command[0], "args": options.command[1..]});
    // The program inherits stdin, if it can be opened a second time.
    if std::fs::File::open("/dev/stdin").is_ok() {
        launch["stdio"] = json!({"stdin": "/dev/stdin"});
    }
    let launch = client.send("launch", &launch)?;
    client.await_initialized(launch)?;
    set_breakpoints(client, options)?;
    client.request("configurationDone", &json!({}))?;
    client.answer(launch)?;

    let mut code = 0;
    loop {
        let event = client.event()?;
        let body = &event["body"];
        match event["event"].as_str().unwrap_or_default() {
            "output" => show_output(body, options.json),
            "stopped" => {
                let report = Report::gather(client, body, &options.prints)?;
                say_report(&report, options.json);
                let thread = json!({"threadId": body["threadId"]});
                client.request("continue", &thread)?;
            }
            "exited" => {
                code = u8::try_from(body["exitCode"].as_i64().unwrap_or(1)).unwrap_or(255);
                if options.json {
                    say_json(&json!({"event": "exited", "code": code}));
                }
            }
            "terminated" => return Ok(code),
            _ => {}
        }
    }
}

fn set_breakpoints(client: &mut Client, options: &Options) -> Result<(), Failure> {
    let default = ["main".to_owned()];
    let breaks = match options.breaks.is_empty() {
        true => &default[..],
        false => &options.breaks,
    };
    let mut files: Vec<(&str, Vec<Value>)> = Vec::new();
    let mut functions = Vec::new();
    for text in breaks {
        match place(text) {
            Place::Function(name) => functions.push(json!({"name": name})),
            Place::Line(file, line) => match files.iter_mut().find(|(known, _)| *known == file) {
                Some((_, lines)) => lines.push(json!({"line": line})),
                None => files.push((file, vec![json!({"line": line})])),
            },
        }
    }
    for (file, lines) in files {
        let arguments = json!({"source": {"path": file}, "breakpoints": lines});
        let set = client.request("setBreakpoints", &arguments)?;
        warn_unset(
            &set,
            lines.iter().map(|line| format!("{file}:{}", line["line"])),
        );
    }
    let arguments = json!({"breakpoints": functions});
    let set = client.request("setFunctionBreakpoints", &arguments)?;
    let names = functions
        .iter()
        .filter_map(|function| function["name"].as_str());
    warn_unset(&set, names.map(str::to_owned));
    Ok(())
}

/// Prints a warning for each pending breakpoint.
fn warn_unset(set: &Value, names: impl Iterator<Item = String>) {
    let breakpoints = set["breakpoints"].as_array().into_iter().flatten();
    for (breakpoint, name) in breakpoints.zip(names) {
        if breakpoint["verified"] != true {
            let why = breakpoint["message"].as_str().unwrap_or("no such place");
            eprintln!("stillpoint: {name}: {why}");
        }
    }
}

fn show_output(body: &Value, json: bool) {
    let text = body["output"].as_str().unwrap_or_default();
    if json {
        say_json(&json!({"event": "output", "category": body["category"], "text": text}));
        return;
    }
    match body["category"].as_str() {
        Some("stdout") => say(text),
        _ => eprint!("{text}"),
    }
}

fn say_report(report: &Report, json: bool) {
    match json {
        true => say_json(&report.to_json()),
        false => say(&report.to_string()),
    }
}

fn say_json(value: &Value) {
    say(&format!("{value}\n"));
}

/// Writes to stdout; ignores errors, so that the program keeps running when the reader is gone.
fn say(text: &str) {
    let mut stdout = io::stdout().lock();
    let _ = stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places() {
        assert_eq!(place("a.c:12"), Place::Line("a.c", 12));
        assert_eq!(place("/x:y/a.c:12"), Place::Line("/x:y/a.c", 12));
        assert_eq!(place("main"), Place::Function("main"));
        assert_eq!(place("a::b"), Place::Function("a::b"));
        assert_eq!(place(":5"), Place::Function(":5"));
    }
}
