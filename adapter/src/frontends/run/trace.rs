//! `stillpoint trace`: records values and aggregates of a program at a line or a function, and prints
//! them while the program runs and at the end.

use super::driver::Driver;
use super::report::StopReport;
use super::{print, print_json, print_report, settings, show_output};
use crate::client::ClientError;
use crate::context::traces::{self, Style};
use crate::protocol::{AddTraceArguments, Event, ThreadArguments, Trace, TracesArguments};
use crate::requests::{AddTrace, Attach, Continue, Launch, ReadTraces};
use clap::Args;
use serde_json::json;
use std::io::{self, IsTerminal};
use std::process::ExitCode;
use std::time::{Duration, Instant};
use tokio::time::{MissedTickBehavior, interval};

/// Interval between two looks at whether to end.
const TICK: Duration = Duration::from_millis(100);
/// Records that are read at once; of more in one tick, the first ones are not printed.
const MAX_RECORDS: i64 = 4096;
/// Maximum size of what is printed of a tracepoint's tables, in bytes.
const MAX_BYTES: usize = 1 << 20;
/// Maximum number of lines that are drawn again and again.
const MAX_LINES: usize = 40;

/// Options of `stillpoint trace`.
#[derive(Args, Debug)]
#[command(group = clap::ArgGroup::new("debuggee").required(true).args(["pid", "command"]))]
pub struct Options {
    /// The process to attach to; it continues when tracing ends
    #[arg(long, value_name = "PID")]
    pub pid: Option<u32>,
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
    /// Where to record
    #[arg(value_name = "FILE:LINE|FUNCTION")]
    pub place: String,
    /// What to record: values, or aggregates such as `count() by d->kind`; without any, hits are
    /// counted
    #[arg(value_name = "EXPRESSION")]
    pub query: Vec<String>,
    /// The program to run, and its arguments
    #[arg(value_name = "PROGRAM", last = true)]
    pub command: Vec<String>,
}

/// Traces a program. Returns its exit code if it was started and has ended.
pub fn trace(options: Options) -> ExitCode {
    super::serve_client_to_its_end(async move |driver: &mut Driver| {
        let mut printer = Printer::new(&options);
        session(driver, &options, &mut printer).await
    })
}

async fn session(
    driver: &mut Driver,
    options: &Options,
    printer: &mut Printer,
) -> Result<u8, ClientError> {
    let starting = match options.pid {
        Some(pid) => {
            driver.keep_debuggee();
            let attach = settings(json!({"pid": pid}));
            driver.start::<Attach>(&attach).await?
        }
        None => {
            let (program, args) = options.command.split_first().unzip();
            let mut launch = json!({"program": program, "args": args});
            if std::fs::File::open("/dev/stdin").is_ok() {
                launch["stdio"] = json!({"stdin": "/dev/stdin"});
            }
            driver.start::<Launch>(&settings(launch)).await?
        }
    };
    let wanted = AddTraceArguments {
        location: options.place.clone(),
        query: query_of(&options.query),
    };
    let set = driver.client.request::<AddTrace>(&wanted).await?;
    if !set.verified && !set.is_searching {
        let why = set.message.as_deref().unwrap_or("not found yet");
        eprintln!("stillpoint: {}: {why}", options.place);
    }
    driver.run_started(starting).await?;

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
                Event::Stopped(stopped) => {
                    printer.erase();
                    let report = StopReport::gather(&driver.client, &stopped, &[]).await?;
                    print_report(&report, options.json);
                    let thread = ThreadArguments {
                        thread_id: stopped.thread_id,
                        ..ThreadArguments::default()
                    };
                    driver.client.request::<Continue>(&thread).await?;
                }
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
                    let read = read(driver, options).await?;
                    printer.show(&read, options, false);
                }
            }
        }
    }
    let last = read(driver, options).await?;
    for trace in last
        .iter()
        .filter(|it| !it.verified && it.hits == 0 && set.is_searching)
    {
        let why = trace.message.as_deref().unwrap_or("not found");
        eprintln!("stillpoint: {}: {why}", options.place);
    }
    printer.show(&last, options, true);
    Ok(if options.pid.is_some() { 0 } else { code })
}

/// Joins the arguments of a query: values by commas, what belongs to a keyword by blanks.
fn query_of(arguments: &[String]) -> String {
    const KEYWORDS: [&str; 3] = ["by", "where", "keep"];
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

async fn read(driver: &Driver, options: &Options) -> Result<Vec<Trace>, ClientError> {
    let wanted = TracesArguments {
        id: None,
        rows: Some(i64::from(options.rows)),
        records: Some(MAX_RECORDS),
    };
    Ok(driver.client.request::<ReadTraces>(&wanted).await?.traces)
}

/// What is printed when. On a terminal the tables are drawn over the former ones.
struct Printer {
    every: Option<Duration>,
    shown_at: Instant,
    /// Whether former tables can be erased.
    redraws: bool,
    /// The number of lines of the former tables.
    drawn: usize,
    /// Records that were printed.
    records: u64,
    /// The number of hits when they were printed last, for the rate.
    before: Option<(Instant, u64)>,
}

impl Printer {
    fn new(options: &Options) -> Printer {
        let redraws = io::stdout().is_terminal() && !options.json;
        let every = options
            .every
            .and_then(|it| Duration::try_from_secs_f64(it).ok());
        Printer {
            every: every.or(redraws.then_some(Duration::from_secs(1))),
            shown_at: Instant::now(),
            redraws,
            drawn: 0,
            records: 0,
            before: None,
        }
    }

    fn is_due(&self) -> bool {
        self.every
            .is_some_and(|every| self.shown_at.elapsed() >= every)
    }

    /// Erases what can be drawn again.
    fn erase(&mut self) {
        if self.drawn > 0 {
            // Up to the first line of it, and clears from there on.
            print(&format!("\x1b[{}A\x1b[J", self.drawn));
            self.drawn = 0;
        }
    }

    fn show(&mut self, traces: &[Trace], options: &Options, is_last: bool) {
        self.shown_at = Instant::now();
        if options.json {
            let event = if is_last { "summary" } else { "traces" };
            print_json(&json!({"event": event, "traces": traces}));
            return;
        }
        self.erase();
        for trace in traces {
            self.show_records(trace);
            let tables = Trace {
                records: Vec::new(),
                ..trace.clone()
            };
            let mut text = traces::text(&tables, MAX_BYTES, Style::Timed);
            if let Some(rate) = self.rate(trace.hits).filter(|_| !is_last) {
                text.push_str(&format!("\n  now {} hits per s", traces::grouped(rate)));
            }
            if self.redraws && !is_last {
                let lines: Vec<&str> = text.lines().take(MAX_LINES).collect();
                self.drawn += lines.len();
                text = lines.join("\n");
            }
            print(&format!("{text}\n"));
        }
    }

    /// Prints the records since the last time, as far as they are still there.
    fn show_records(&mut self, trace: &Trace) {
        let new = trace.all_records.saturating_sub(self.records);
        let there = (trace.records.len() as u64).min(new);
        if new > there {
            print(&format!(
                "({} records are lost)\n",
                traces::grouped(new - there)
            ));
        }
        let skipped = trace.records.len() - there as usize;
        for record in trace.records.iter().skip(skipped) {
            print(&format!(
                "{}\n",
                traces::record_text(trace, record, Style::Timed)
            ));
        }
        self.records = trace.all_records;
    }

    fn rate(&mut self, hits: u64) -> Option<u64> {
        let before = self.before.replace((Instant::now(), hits));
        let (at, former) = before?;
        let seconds = at.elapsed().as_secs_f64();
        Some((hits.saturating_sub(former) as f64 / seconds.max(1e-3)) as u64)
    }
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
