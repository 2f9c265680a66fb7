//! `stillpoint trace`: records values and aggregates of a program at a line or a function, and prints
//! them while the program runs and at the end.

mod files;
mod printer;

use super::driver::Driver;
use super::report::StopReport;
use super::{
    NOT_FOUND, USAGE, code_of, not_started, print_report, program, refuse, settings, show_output,
};
use crate::client::ClientError;
use crate::context::calls::pattern;
use crate::protocol::{
    AddTraceArguments, BreakpointReason, Event, ThreadArguments, Trace, TracesArguments,
};
use crate::requests::{AddTrace, Attach, Launch, Pause, ReadTraces};
use clap::Args;
use printer::Printer;
use serde_json::json;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use tokio::time::{MissedTickBehavior, interval};

/// Interval between two looks at whether to end.
const TICK: Duration = Duration::from_millis(100);
/// Interval between two looks at whether a place was found.
const SEARCH_INTERVAL: Duration = Duration::from_millis(5);
/// Records that are read at once; of more in one tick, the first ones are not printed.
const MAX_RECORDS: i64 = 4096;
/// What is recorded of calls: their tree.
const CALLS: &str = "count(), sum(elapsed), max(elapsed) by call_path";
/// What is recorded for a flame graph of hits.
const STACKS: &str = "count() by stack(64)";
/// Rows of a tree, and of what is written to files.
const MAX_ROWS: u32 = 1 << 14;
/// Records that are written to a file: the last ones.
const FILE_RECORDS: i64 = 200_000;

/// Options of `stillpoint trace`.
#[derive(Args, Debug)]
#[command(group = clap::ArgGroup::new("debuggee").required(true).args(["pid", "command"]))]
pub struct Options {
    /// The process to attach to; it continues when tracing ends
    #[arg(long, value_name = "PID")]
    pub pid: Option<u32>,
    /// Trace also if the place is not found: a library that the program loads later may have it
    #[arg(long)]
    pub pending: bool,
    /// Print JSON, one object per line
    #[arg(long)]
    pub json: bool,
    /// Print the tables at this interval, in seconds (default: 1 on a terminal, else only at the end)
    #[arg(long, value_name = "SECONDS")]
    pub every: Option<f64>,
    /// End after this many seconds
    #[arg(long = "for", value_name = "SECONDS")]
    pub limit: Option<f64>,
    /// The number of rows to print of each table
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub rows: u32,
    /// Print the calls of all functions that match, as a tree with times: `shop::*`, or a regular
    /// expression between slashes. What may follow is `where CONDITION` and
    /// `with traps`
    #[arg(long, value_name = "PATTERN")]
    pub calls: Option<String>,
    /// Write a flame graph: of the stacks at the place's hits, or of the times of `--calls`
    #[arg(long, value_name = "FILE.svg")]
    pub flame: Option<PathBuf>,
    /// Write the records, or the calls of `--calls`, as a timeline for Perfetto (ui.perfetto.dev)
    #[arg(long, value_name = "FILE.json")]
    pub perfetto: Option<PathBuf>,
    /// Where to record, `FILE:LINE` or a function (not with `--calls`), then what: values, or
    /// aggregates such as `count() by d->kind`; without any, hits are counted
    #[arg(value_name = "PLACE|EXPRESSION", required_unless_present = "calls")]
    pub what: Vec<String>,
    /// The program to run, and its arguments
    #[arg(value_name = "PROGRAM", last = true)]
    pub command: Vec<String>,
}

impl Options {
    /// Returns where to record, and what.
    ///
    /// # Errors
    /// The arguments contradict each other.
    fn tracepoint(&self) -> Result<AddTraceArguments, String> {
        let (location, rest) = match &self.calls {
            Some(wanted) => (pattern(wanted), &self.what[..]),
            None => {
                let (place, rest) = self.what.split_first().ok_or("a place is missing")?;
                (place.clone(), rest)
            }
        };
        let own = query_of(rest);
        let fixed = match (&self.calls, &self.flame) {
            (Some(_), _) => Some(CALLS),
            (None, Some(_)) => Some(STACKS),
            (None, None) => None,
        };
        let mut query = match fixed {
            None => own,
            Some(fixed) if own.is_empty() => fixed.to_owned(),
            Some(fixed) if own.starts_with("where ") || own.starts_with("with ") => {
                format!("{fixed} {own}")
            }
            Some(fixed) => {
                return Err(format!(
                    "`{own}` cannot be recorded here, since `{fixed}` is; only `where CONDITION` \
                     and `with traps` may follow"
                ));
            }
        };
        if self.perfetto.is_some() && self.calls.is_some() {
            query = format!("function, elapsed, arguments, returned, {query}");
        }
        if self.perfetto.is_some() && !query.contains(" keep ") {
            query.push_str(&format!(" keep {FILE_RECORDS}"));
        }
        Ok(AddTraceArguments { location, query })
    }
}

/// Traces a program. Returns its exit code if it was started and has ended.
pub fn trace(options: Options) -> ExitCode {
    if !options.pending
        && let Some(why) = program::why_unseen(&options.command)
    {
        return refuse(vec![why]);
    }
    let wanted = (options.tracepoint()).and_then(|wanted| files::check(&options).map(|()| wanted));
    let wanted = match wanted {
        Ok(wanted) => wanted,
        Err(why) => return refuse(vec![why]),
    };
    super::serve_client_to_its_end(async move |driver: &mut Driver| {
        let mut printer = Printer::new(&options);
        session(driver, &options, &wanted, &mut printer).await
    })
}

async fn session(
    driver: &mut Driver,
    options: &Options,
    wanted: &AddTraceArguments,
    printer: &mut Printer,
) -> Result<u8, ClientError> {
    let starting = match options.pid {
        Some(pid) => {
            driver.keep_debuggee();
            let attach = settings(json!({"pid": pid}));
            driver.start::<Attach>(&attach).await?
        }
        None => {
            let mut launch = program::launch(&options.command);
            if !options.pending {
                launch["stopOnEntry"] = "libraries".into();
            }
            match driver.start::<Launch>(&settings(launch)).await {
                Ok(starting) => starting,
                Err(error) => return Ok(not_started(&error)),
            }
        }
    };
    let set = match driver.client.request::<AddTrace>(wanted).await {
        Ok(set) => searched(driver, set).await?,
        Err(error) => {
            complain!("stillpoint: {}: {error}", wanted.location);
            return Ok(USAGE);
        }
    };
    let mut is_checked = options.pending || options.pid.is_some();
    let is_wrong = set.reason == Some(BreakpointReason::Failed);
    let is_complete = set.verified && !set.lacks_names;
    if is_wrong && !set.verified || !is_complete && options.pid.is_some() && !options.pending {
        complain_of(&set, wanted);
        return Ok(USAGE);
    }
    printer.name_values(&set);
    if let Err(error) = driver.run_started(starting).await {
        return Ok(not_started(&error));
    }

    let begun = Instant::now();
    let limit = options
        .limit
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let mut ticks = interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut code = 0;
    loop {
        tokio::select! {
            event = driver.event() => match event? {
                Event::Output(output) => {
                    printer.erase();
                    show_output(&output, options.json);
                }
                Event::Stopped(stopped) if stopped.reason == "entry" && !is_checked => {
                    is_checked = true;
                    let read = read(driver, options, 0).await?;
                    let set = searched(driver, read.into_iter().next().unwrap_or_default()).await?;
                    if !set.verified || set.lacks_names {
                        complain_of(&set, wanted);
                        complain!("{NOT_FOUND}");
                        return Ok(USAGE);
                    }
                    printer.name_values(&set);
                    driver.resume(&stopped).await?;
                }
                Event::Stopped(stopped) => {
                    printer.erase();
                    let report = StopReport::gather(&driver.client, &stopped, &[]).await?;
                    print_report(&report, options.json);
                    driver.resume(&stopped).await?;
                }
                Event::Records(records) => printer.show_all(&records, options),
                Event::Exited(exited) => code = u8::try_from(exited.exit_code).unwrap_or(255),
                Event::Terminated => break,
                _ => {}
            },
            _ = ticks.tick() => {
                let is_over = limit.is_some_and(|limit| begun.elapsed() >= limit);
                if is_over || engine::os::end_signal().is_some() {
                    break;
                }
                if printer.is_due() {
                    let read = read(driver, options, MAX_RECORDS).await?;
                    printer.show(&read, options, false);
                }
            }
        }
    }
    if set.keeps_all {
        settle(driver, options, printer).await?;
    }
    let records = match options.perfetto {
        Some(_) => FILE_RECORDS,
        None => MAX_RECORDS,
    };
    let last = read(driver, options, records).await?;
    for trace in last.iter().filter(|it| !it.verified && it.hits == 0) {
        complain_of(trace, wanted);
    }
    printer.show(&last, options, true);
    if let Err(why) = files::write(&last, options) {
        complain!("stillpoint: {why}");
        code = code.max(1);
    }
    Ok(match (options.pid, engine::os::end_signal()) {
        (Some(_), _) => 0,
        (None, Some(signal)) => code_of(signal),
        (None, None) => code,
    })
}

/// Waits until no debug info is searched for the place of a tracepoint, and returns its state then.
async fn searched(driver: &Driver, mut set: Trace) -> Result<Trace, ClientError> {
    while set.is_searching {
        tokio::time::sleep(SEARCH_INTERVAL).await;
        let arguments = TracesArguments {
            id: Some(set.id),
            ..TracesArguments::default()
        };
        let read = driver.client.request::<ReadTraces>(&arguments).await?;
        set = read.traces.into_iter().next().unwrap_or_default();
    }
    Ok(set)
}

/// Says why a tracepoint records nothing.
fn complain_of(trace: &Trace, wanted: &AddTraceArguments) {
    let why = trace.message.as_deref().unwrap_or("not found");
    let why = why.strip_prefix("pending: ").unwrap_or(why);
    complain!("stillpoint: {}: {why}", wanted.location);
}

/// Stops the program, unless it has ended, so that all of its records so far arrive, and prints them.
async fn settle(
    driver: &mut Driver,
    options: &Options,
    printer: &mut Printer,
) -> Result<(), ClientError> {
    let pause = ThreadArguments::default();
    if driver.client.request::<Pause>(&pause).await.is_err() {
        return Ok(());
    }
    loop {
        match driver.event().await? {
            Event::Records(records) => printer.show_all(&records, options),
            Event::Output(output) => {
                printer.erase();
                show_output(&output, options.json);
            }
            Event::Stopped(_) | Event::Terminated => return Ok(()),
            _ => {}
        }
    }
}

/// Joins the arguments of a query: values by commas, what belongs to a keyword by blanks.
fn query_of(arguments: &[String]) -> String {
    const KEYWORDS: [&str; 4] = ["by", "where", "keep", "with"];
    let mut query = String::new();
    let mut is_keyword = true;
    for argument in arguments {
        let first = argument.split_whitespace().next().unwrap_or_default();
        let begins_with_keyword = KEYWORDS.contains(&first);
        if !query.is_empty() {
            query.push_str(if is_keyword || begins_with_keyword {
                " "
            } else {
                ", "
            });
        }
        query.push_str(argument);
        is_keyword = KEYWORDS.contains(&argument.trim());
    }
    query
}

async fn read(driver: &Driver, options: &Options, records: i64) -> Result<Vec<Trace>, ClientError> {
    let rows = match (&options.calls, &options.flame) {
        (None, None) => options.rows,
        _ => MAX_ROWS,
    };
    let wanted = TracesArguments {
        id: None,
        rows: Some(i64::from(rows)),
        records: Some(records),
        ..TracesArguments::default()
    };
    Ok(driver.client.request::<ReadTraces>(&wanted).await?.traces)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_become_a_query() {
        let query = |arguments: &[&str]| {
            let arguments: Vec<String> = arguments.iter().map(|it| (*it).to_owned()).collect();
            query_of(&arguments)
        };
        assert_eq!(query(&[]), "");
        assert_eq!(query(&["x", "count() by k"]), "x, count() by k");
        assert_eq!(query(&["count()", "by", "k", "j"]), "count() by k, j");
        assert_eq!(query(&["x", "where n > 3"]), "x where n > 3");
    }
}
