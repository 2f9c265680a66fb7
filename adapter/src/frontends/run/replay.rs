//! `stillpoint replay`: prints where a recording ends without an editor, or the stops on the way there.

use super::driver::Driver;
use super::places::{self, Places};
use super::report::StopReport;
use super::{USAGE, print, print_json, print_report, refuse, settings, show_output};
use crate::client::ClientError;
use crate::context::past::ENDS_HERE;
use crate::protocol::{EvaluateArguments, Event, StoppedEventBody, ThreadArguments};
use crate::requests::{Continue, Evaluate, Launch, NoArguments, PastStops, ReverseContinue};
use crate::session::past::IN_THE_PAST;
use clap::Args;
use serde_json::json;
use std::path::PathBuf;
use std::process::ExitCode;

/// The exit status if a replay was not like the recording.
const FAILED: u8 = 1;

/// Options of `stillpoint replay`.
#[derive(Args, Debug)]
pub struct Options {
    /// Print the stops here, from the start of the recording on; can be repeated
    #[arg(long = "break", value_name = "FILE:LINE[:COLUMN]|FUNCTION")]
    pub breaks: Vec<String>,
    /// Print this expression at each stop; can be repeated
    #[arg(long = "print", value_name = "EXPRESSION")]
    pub prints: Vec<String>,
    /// Print the first system call that differs from this recording, and its place, instead
    #[arg(long, value_name = "FILE", conflicts_with = "breaks")]
    pub diff: Option<PathBuf>,
    /// Print JSON, one object per line
    #[arg(long)]
    pub json: bool,
    /// A file of `stillpoint record -o`
    #[arg(value_name = "FILE")]
    pub recording: PathBuf,
    /// The executable, if it has moved
    #[arg(value_name = "PROGRAM")]
    pub program: Option<PathBuf>,
}

/// Prints where a recording ends, after the stops at breakpoints before.
pub fn replay(options: Options) -> ExitCode {
    let mistakes = places::mistakes(&options.breaks);
    if !mistakes.is_empty() {
        return refuse(mistakes);
    }
    super::serve_client(async move |driver: &mut Driver| session(driver, &options).await)
}

async fn session(driver: &mut Driver, options: &Options) -> Result<u8, ClientError> {
    let launch = json!({"replay": options.recording, "program": options.program});
    let starting = driver.start::<Launch>(&settings(launch)).await?;
    driver.run_started(starting).await?;
    let mut stopped = next_stop(driver, options).await?;
    if !options.breaks.is_empty() {
        // Here the program has loaded all of its libraries.
        let mut places = Places::set(driver, &options.breaks).await?;
        places.await_search(driver).await?;
        if !places.all_are_found() {
            return Ok(USAGE);
        }
        Places::set(driver, &[]).await?;
        let thread = of_thread(&stopped);
        // Signals and exceptions may be on the way.
        while stopped.reason != "entry" {
            driver.client.request::<ReverseContinue>(&thread).await?;
            stopped = next_stop(driver, options).await?;
            if has_diverged(driver).await? {
                return Ok(FAILED);
            }
        }
        Places::set(driver, &options.breaks).await?;
        loop {
            driver.client.request::<Continue>(&thread).await?;
            stopped = next_stop(driver, options).await?;
            if has_diverged(driver).await? {
                return Ok(FAILED);
            }
            if !is_in_past(&stopped) {
                break;
            }
            print_stop(driver, &stopped, options).await?;
        }
    }
    if let Some(other) = &options.diff {
        let compared = EvaluateArguments {
            expression: format!(":diff-runs {}", other.display()),
            context: Some("repl".to_owned()),
            ..EvaluateArguments::default()
        };
        let text = driver.client.request::<Evaluate>(&compared).await?.result;
        match options.json {
            true => print_json(&json!({"event": "difference", "text": text})),
            false => print(&format!("{text}\n")),
        }
        if !text.contains(" differs\n") || text.contains("is not shown") {
            return Ok(0);
        }
        // A run without such a call is not moved: the present stop is its end.
        if !text.contains(ENDS_HERE) {
            stopped = next_stop(driver, options).await?;
        }
    }
    print_stop(driver, &stopped, options).await?;
    Ok(0)
}

/// Returns the next stop.
async fn next_stop(
    driver: &mut Driver,
    options: &Options,
) -> Result<StoppedEventBody, ClientError> {
    loop {
        match driver.event().await? {
            Event::Output(output) => show_output(&output, options.json),
            Event::Stopped(stopped) => return Ok(stopped),
            _ => {}
        }
    }
}

/// Returns whether a replay was not like the recording: the stop is then where the way began, or in the present, and
/// the output of the server has said why.
async fn has_diverged(driver: &Driver) -> Result<bool, ClientError> {
    let past = driver.client.request::<PastStops>(&NoArguments {}).await?;
    Ok(past.recording.is_some_and(|it| it.divergence.is_some()))
}

async fn print_stop(
    driver: &Driver,
    stopped: &StoppedEventBody,
    options: &Options,
) -> Result<(), ClientError> {
    let report = StopReport::gather(&driver.client, stopped, &options.prints).await?;
    print_report(&report, options.json);
    Ok(())
}

fn is_in_past(stopped: &StoppedEventBody) -> bool {
    let description = stopped.description.as_deref();
    description.is_some_and(|it| it.starts_with(IN_THE_PAST))
}

fn of_thread(stopped: &StoppedEventBody) -> ThreadArguments {
    ThreadArguments {
        thread_id: stopped.thread_id,
        ..ThreadArguments::default()
    }
}
