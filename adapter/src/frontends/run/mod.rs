//! `stillpoint run`: prints a program's stops without an editor. It is a DAP client of a server in
//! the same process; both exchange messages over a socket pair.

pub mod core;
mod driver;
mod places;
pub mod program;
pub mod replay;
mod report;
pub mod trace;

use crate::client::ClientError;
use crate::context::past::summary_of;
use crate::protocol::{Event, OutputCategory, OutputEventBody, RawSettings, Recording};
use crate::requests::{Launch, NoArguments, PastStops};
use crate::server::stream::Stream;
use crate::service::{self, ServiceError};
use crate::session::User;
use clap::Args;
use driver::Driver;
use places::Places;
use report::StopReport;
use serde_json::{Map, Value, json};
use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::thread;

/// The exit code of wrong arguments.
pub const USAGE: u8 = 2;
/// The exit code if the program cannot be started, as of shells.
pub const NOT_STARTED: u8 = 127;

/// The exit code if SIGINT has ended the program, as of shells.
pub const INTERRUPTED: u8 = 130;

/// Options of `stillpoint run`.
#[derive(Args, Debug)]
pub struct Options {
    /// Where to stop (default: `main`); can be repeated
    #[arg(long = "break", value_name = "FILE:LINE[:COLUMN]|FUNCTION")]
    pub breaks: Vec<String>,
    /// Run also if a place is not found: a library that the program loads later may have it
    #[arg(long)]
    pub pending: bool,
    /// Print this expression at each stop; can be repeated
    #[arg(long = "print", value_name = "EXPRESSION")]
    pub prints: Vec<String>,
    /// Print JSON, one object per line
    #[arg(long)]
    pub json: bool,
    /// Record the program, and print what was recorded
    #[arg(long)]
    pub record: bool,
    /// The program and its arguments: all that follows it, also what looks like options
    #[arg(value_name = "PROGRAM", required = true, trailing_var_arg = true)]
    pub command: Vec<String>,
}

/// Runs a program to its end. Returns its exit code.
pub fn run(options: Options) -> ExitCode {
    let mut mistakes = places::mistakes(&options.breaks);
    if !options.pending && !options.breaks.is_empty() {
        mistakes.extend(program::why_unseen(&options.command));
    }
    if !mistakes.is_empty() {
        return refuse(mistakes);
    }
    engine::os::pass_first_interrupt();
    serve_client(async move |driver: &mut Driver| session(driver, &options).await)
}

/// Says why nothing is run.
fn refuse(mistakes: Vec<String>) -> ExitCode {
    mistakes
        .iter()
        .for_each(|mistake| complain!("stillpoint: {mistake}"));
    ExitCode::from(USAGE)
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
    let code = serve_driven(session, User::Command);
    engine::os::end_signal().map_or(code, |signal| ExitCode::from(code_of(signal)))
}

/// Like [`serve_client`], for a client that ends the session itself when this process gets a signal
/// to end.
fn serve_client_to_its_end(
    session: impl AsyncFnOnce(&mut Driver) -> Result<u8, ClientError> + Send + 'static,
) -> ExitCode {
    serve_driven(session, User::CommandToItsEnd)
}

fn serve_driven(
    session: impl AsyncFnOnce(&mut Driver) -> Result<u8, ClientError> + Send + 'static,
    user: User,
) -> ExitCode {
    let (ours, theirs) = match UnixStream::pair() {
        Ok(ends) => ends,
        Err(error) => return complain(&error),
    };
    // The server stays on the main thread, which prepared the process (`engine::os::prepare`).
    let driver = thread::spawn(move || drive(session, ours));
    let end = Stream::both_of(theirs)
        .map_err(ServiceError::from)
        .and_then(|streams| service::serve_command(streams, user));
    let driven = driver.join().unwrap_or(Err(Failure::Panicked));
    match (driven, end) {
        (Ok(code), _) => ExitCode::from(code),
        (Err(_), Err(error)) => complain(&error),
        (Err(failure), Ok(())) => complain(&failure),
    }
}

fn complain(error: &dyn std::fmt::Display) -> ExitCode {
    complain!("stillpoint: {error}");
    ExitCode::FAILURE
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
    let mut launch = program::launch(&options.command);
    if options.record {
        launch["record"] = true.into();
    }
    if !options.pending {
        launch["stopOnEntry"] = "libraries".into();
    }
    let starting = match driver.start::<Launch>(&settings(launch)).await {
        Ok(starting) => starting,
        Err(error) => return Ok(not_started(&error)),
    };
    let default = ["main".to_owned()];
    let breaks = match options.breaks.is_empty() {
        true => &default[..],
        false => &options.breaks,
    };
    let mut places = Places::set(driver, breaks).await?;
    if let Err(error) = driver.run_started(starting).await {
        return Ok(not_started(&error));
    }

    let mut is_checked = options.pending;
    // What is recorded is not known once the program has ended: as it was at the last stop.
    let mut recording = None;
    let mut code = 0;
    loop {
        match driver.event().await? {
            Event::Output(output) => show_output(&output, options.json),
            Event::Breakpoint(change) => places.changed(&change.breakpoint),
            Event::Stopped(stopped) => {
                if options.record {
                    let past = driver.client.request::<PastStops>(&NoArguments {}).await?;
                    recording = past.recording;
                }
                if stopped.reason == "exit" {
                    print_recording(recording.take().as_ref(), options.json);
                } else if stopped.reason == "entry" && !is_checked {
                    is_checked = true;
                    places.await_search(driver).await?;
                    // Without `--break` the place is `main`, and a program may have none.
                    if !places.all_are_found() && !options.breaks.is_empty() {
                        complain!("{NOT_FOUND}");
                        return Ok(USAGE);
                    }
                } else {
                    let client = &driver.client;
                    let report = StopReport::gather(client, &stopped, &options.prints).await?;
                    print_report(&report, options.json);
                }
                driver.resume(&stopped).await?;
            }
            Event::Exited(exited) => {
                // A signal has ended it.
                print_recording(recording.take().as_ref(), options.json);
                code = u8::try_from(exited.exit_code).unwrap_or(255);
                if options.json {
                    print_json(&json!({"event": "exited", "code": code}));
                }
            }
            Event::Terminated => {
                if options.pending {
                    places.all_are_found();
                }
                return Ok(code);
            }
            _ => {}
        }
    }
}

/// Says that the program has ended because a place was not found.
const NOT_FOUND: &str = "stillpoint: the program was ended before its first instruction; with `--pending` it \
                         runs, and a place may be found in a library that it loads later";

/// Says why the program cannot be started. Returns the exit code.
fn not_started(error: &ClientError) -> u8 {
    if engine::os::end_signal().is_none() {
        complain!("stillpoint: {error}");
    }
    NOT_STARTED
}

/// Returns the exit code that shells report for a process that a signal has ended.
fn code_of(signal: engine::Signal) -> u8 {
    128_u8.wrapping_add(signal.0 as u8)
}

/// Prints what was recorded, if anything was.
fn print_recording(recording: Option<&Recording>, json: bool) {
    match (recording, json) {
        (None, _) => {}
        (Some(recording), true) => {
            print_json(&json!({"event": "recorded", "recording": recording}));
        }
        (Some(recording), false) => complain!("stillpoint: {}", summary_of(recording)),
    }
}

fn show_output(OutputEventBody { category, output }: &OutputEventBody, json: bool) {
    if json {
        print_json(&json!({"event": "output", "category": category, "text": output}));
        return;
    }
    match category {
        OutputCategory::Stdout => print(output),
        _ => {
            let _ = io::stderr().write_all(output.as_bytes());
        }
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

/// Writes to stdout. If the reader has closed the pipe (`stillpoint trace … | head`), the session ends as by SIGTERM. Other
/// errors are ignored.
fn print(text: &str) {
    let mut stdout = io::stdout().lock();
    let written = stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush());
    if written.is_err_and(|error| error.kind() == io::ErrorKind::BrokenPipe) {
        engine::os::request_end();
    }
}
