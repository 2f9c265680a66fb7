//! `stillpoint run`: prints a program's stops without an editor. It is a DAP client of a server in
//! the same process; both exchange messages over a socket pair.

pub mod core;
mod driver;
pub mod replay;
mod report;
pub mod trace;

use crate::client::ClientError;
use crate::context::past::summary_of;
use crate::protocol::{
    Breakpoint, BreakpointsResponse, Event, FunctionBreakpoint, OutputCategory, OutputEventBody,
    RawSettings, SetBreakpointsArguments, SetFunctionBreakpointsArguments, Source,
    SourceBreakpoint, ThreadArguments,
};
use crate::requests::{
    Continue, Launch, NoArguments, PastStops, SetBreakpoints, SetFunctionBreakpoints,
};
use crate::server::stream::Stream;
use crate::service::{self, ServiceError};
use clap::Args;
use driver::Driver;
use report::StopReport;
use serde_json::{Map, Value, json};
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
    /// Record the program, and print what was recorded
    #[arg(long)]
    pub record: bool,
    /// The program and its arguments
    #[arg(
        value_name = "PROGRAM",
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    pub command: Vec<String>,
}

/// Runs a program to its end. Returns its exit code.
pub fn run(options: Options) -> ExitCode {
    serve_client(async move |driver: &mut Driver| session(driver, &options).await)
}

/// Why a session without an editor failed.
#[derive(Debug, thiserror::Error)]
enum Failure {
    /// A request failed, or the server has disconnected.
    #[error("{0}")]
    Client(#[from] ClientError),
    /// The client's runtime or its end of the socket cannot be set up.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The client's thread panicked.
    #[error("the client failed")]
    Panicked,
}

/// Runs a server and its client, from the client's `initialize` to its `disconnect`.
fn serve_client(
    session: impl AsyncFnOnce(&mut Driver) -> Result<u8, ClientError> + Send + 'static,
) -> ExitCode {
    serve_driven(session, service::serve)
}

/// Like [`serve_client`], for a client that ends the session itself when this process gets a signal
/// to end.
fn serve_client_to_its_end(
    session: impl AsyncFnOnce(&mut Driver) -> Result<u8, ClientError> + Send + 'static,
) -> ExitCode {
    serve_driven(session, service::serve_to_its_end)
}

fn serve_driven(
    session: impl AsyncFnOnce(&mut Driver) -> Result<u8, ClientError> + Send + 'static,
    serve: impl FnOnce([Stream; 2]) -> Result<(), ServiceError>,
) -> ExitCode {
    let (ours, theirs) = match UnixStream::pair() {
        Ok(ends) => ends,
        Err(error) => return complain(&error),
    };
    // The server stays on the main thread, which prepared the process (`engine::os::prepare`).
    let driver = thread::spawn(move || drive(session, ours));
    let end = Stream::both_of(theirs)
        .map_err(ServiceError::from)
        .and_then(serve);
    let driven = driver.join().unwrap_or(Err(Failure::Panicked));
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

/// The location of a breakpoint, as given on the command line.
#[derive(Debug, PartialEq, Eq)]
enum BreakSpec<'a> {
    Line(&'a str, u32),
    Function(&'a str),
}

fn place(text: &str) -> BreakSpec<'_> {
    if let Some((file, line)) = text.rsplit_once(':')
        && !file.is_empty()
        && let Ok(line) = line.parse()
    {
        return BreakSpec::Line(file, line);
    }
    BreakSpec::Function(text)
}

/// Runs the client on the calling thread, from `initialize` to `disconnect`.
fn drive(
    session: impl AsyncFnOnce(&mut Driver) -> Result<u8, ClientError>,
    socket: UnixStream,
) -> Result<u8, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build()?;
    runtime.block_on(async {
        let mut driver = Driver::connect(socket)?;
        let driven = session(&mut driver).await;
        let ended = driver.end().await;
        let code = driven?;
        ended?;
        Ok(code)
    })
}

/// Converts a JSON object to the settings of a launch or attach.
fn settings(settings: Value) -> RawSettings {
    match settings {
        Value::Object(settings) => RawSettings(settings),
        _ => RawSettings(Map::new()),
    }
}

async fn session(driver: &mut Driver, options: &Options) -> Result<u8, ClientError> {
    let (program, args) = options.command.split_first().unzip();
    let mut launch = json!({"program": program, "args": args});
    if options.record {
        launch["record"] = true.into();
    }
    // The program reads the same stdin, if it can be opened again: a socket cannot.
    if std::fs::File::open("/dev/stdin").is_ok() {
        launch["stdio"] = json!({"stdin": "/dev/stdin"});
    }
    let starting = driver.start::<Launch>(&settings(launch)).await?;
    let default = ["main".to_owned()];
    let breaks = match options.breaks.is_empty() {
        true => &default[..],
        false => &options.breaks,
    };
    set_breakpoints(driver, breaks).await?;
    driver.run_started(starting).await?;

    let mut code = 0;
    loop {
        match driver.event().await? {
            Event::Output(output) => show_output(&output, options.json),
            Event::Stopped(stopped) => {
                if stopped.reason == "exit" {
                    print_recording(driver, options.json).await?;
                } else {
                    let client = &driver.client;
                    let report = StopReport::gather(client, &stopped, &options.prints).await?;
                    print_report(&report, options.json);
                }
                let thread = ThreadArguments {
                    thread_id: stopped.thread_id,
                    ..ThreadArguments::default()
                };
                driver.client.request::<Continue>(&thread).await?;
            }
            Event::Exited(exited) => {
                code = u8::try_from(exited.exit_code).unwrap_or(255);
                if options.json {
                    print_json(&json!({"event": "exited", "code": code}));
                }
            }
            Event::Terminated => return Ok(code),
            _ => {}
        }
    }
}

/// Prints what was recorded. A recorded program stops for it before it exits.
async fn print_recording(driver: &Driver, json: bool) -> Result<(), ClientError> {
    let past = driver.client.request::<PastStops>(&NoArguments {}).await?;
    let Some(recording) = past.recording else {
        return Ok(());
    };
    match json {
        true => print_json(&json!({"event": "recorded", "recording": recording})),
        false => eprintln!("stillpoint: {}", summary_of(&recording)),
    }
    Ok(())
}

async fn set_breakpoints(driver: &Driver, breaks: &[String]) -> Result<(), ClientError> {
    let mut files: Vec<(&str, Vec<u32>)> = Vec::new();
    let mut functions = Vec::new();
    for text in breaks {
        match place(text) {
            BreakSpec::Function(name) => functions.push(name),
            BreakSpec::Line(file, line) => match files.iter_mut().find(|(known, _)| *known == file)
            {
                Some((_, lines)) => lines.push(line),
                None => files.push((file, vec![line])),
            },
        }
    }
    for (file, lines) in files {
        let breakpoints = lines.iter().map(|line| SourceBreakpoint {
            line: i64::from(*line),
            ..SourceBreakpoint::default()
        });
        let arguments = SetBreakpointsArguments {
            source: Source {
                path: Some(file.to_owned()),
                ..Source::default()
            },
            breakpoints: Some(breakpoints.collect()),
            lines: None,
        };
        let set = driver.client.request::<SetBreakpoints>(&arguments).await?;
        warn_unset(&set, lines.iter().map(|line| format!("{file}:{line}")));
    }
    let breakpoints = functions.iter().map(|name| FunctionBreakpoint {
        name: (*name).to_owned(),
        ..FunctionBreakpoint::default()
    });
    let arguments = SetFunctionBreakpointsArguments {
        breakpoints: breakpoints.collect(),
    };
    let set = driver
        .client
        .request::<SetFunctionBreakpoints>(&arguments)
        .await?;
    warn_unset(&set, functions.iter().map(|name| (*name).to_owned()));
    Ok(())
}

/// Prints a warning for each unverified breakpoint.
fn warn_unset(set: &BreakpointsResponse, names: impl Iterator<Item = String>) {
    let pending = |(breakpoint, _): &(&Breakpoint, String)| !breakpoint.verified;
    for (breakpoint, name) in set.breakpoints.iter().zip(names).filter(pending) {
        let why = breakpoint.message.as_deref().unwrap_or("not found");
        eprintln!("stillpoint: {name}: {why}");
    }
}

fn show_output(OutputEventBody { category, output }: &OutputEventBody, json: bool) {
    if json {
        print_json(&json!({"event": "output", "category": category, "text": output}));
        return;
    }
    match category {
        OutputCategory::Stdout => print(output),
        _ => eprint!("{output}"),
    }
}

fn print_report(report: &StopReport, json: bool) {
    match json {
        true => print_json(&report.to_json()),
        false => print(&report.to_string()),
    }
}

fn print_json(value: &Value) {
    print(&format!("{value}\n"));
}

/// Writes to stdout; ignores errors, so that the program keeps running when the reader is gone.
fn print(text: &str) {
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
        assert_eq!(place("a.c:12"), BreakSpec::Line("a.c", 12));
        assert_eq!(place("/x:y/a.c:12"), BreakSpec::Line("/x:y/a.c", 12));
        assert_eq!(place("main"), BreakSpec::Function("main"));
        assert_eq!(place("a::b"), BreakSpec::Function("a::b"));
        assert_eq!(place(":5"), BreakSpec::Function(":5"));
    }
}
