//! What tracepoints cost and how many hits a second they record, on one thread:
//!
//!     cargo bench -p stillpoint-tests --bench traces [-- --gdb --lldb --bpftrace]
//!
//! Each figure is the median of [`RUNS`] runs. The time of the same loop without a tracepoint is
//! subtracted, so a figure is what the tracepoint adds to a hit. With `--gdb` and `--lldb`, log messages
//! of these debuggers follow, which are the nearest that they have, and with `--bpftrace` a count by
//! uprobes of the kernel, at the entry of a function, and at its entry and return.

use serde_json::{Value, json};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use stillpoint_tests::{Compiler, DapClient, Fixture, Flags};

const RUNS: usize = 5;
/// Hits of one run.
const HITS: u64 = 10_000_000;
/// Those of a run of another debugger.
const FEWER: [u64; 2] = [200, 1_200];

/// Those of a run of bpftrace, which starts slowly.
const OF_THE_KERNEL: [u64; 2] = [100_000, 1_100_000];

/// What is measured: a name, where, and what is recorded.
const KINDS: [(&str, &str, &str); 12] = [
    ("a false condition", "line", "count() where order->n > 5000"),
    ("count()", "line", "count()"),
    ("hits over time", "line", "rate()"),
    ("count() by an enumerator", "line", "count() by order->kind"),
    ("count() by a text", "line", "count() by order->who"),
    (
        "four aggregates by an enumerator",
        "line",
        "sum(order->n), min(order->n), max(order->price), hist(order->n) by order->kind",
    ),
    (
        "a record of three scalars",
        "line",
        "order->n, order->price, order->kind",
    ),
    (
        "a pass of a function, and the time since it",
        "function",
        "count(), mean(since(prepare))",
    ),
    (
        "the same with a key",
        "function",
        "count(), mean(since(prepare, order->n))",
    ),
    (
        "entry and return of a call",
        "function",
        "count(), mean(elapsed)",
    ),
    (
        "the same by the path of calls",
        "function",
        "count(), mean(elapsed) by call_path",
    ),
    (
        "the same by an argument",
        "function",
        "count(), mean(elapsed) by order->kind",
    ),
];

fn main() {
    let flags = Flags::new(Compiler::Gcc).optimized("2");
    let fixture = Fixture::build("c/trace_costs.c", flags).expect("a fixture");
    let bare = median(|| took(&fixture, None).as_secs_f64());
    println!(
        "{:>8.2} ns  a hit of the loop without a tracepoint",
        1e9 * bare / HITS as f64
    );
    for (name, place, query) in KINDS {
        let with = median(|| took(&fixture, Some((place, query))).as_secs_f64());
        let added = (with - bare).max(0.0) * 1e9 / HITS as f64;
        println!(
            "{added:>8.2} ns  {name} ({:.0} M hits/s)",
            HITS as f64 / with / 1e6
        );
    }
    if std::env::args().any(|argument| argument == "--bpftrace") {
        for (what, probe) in [
            (
                "a count by bpftrace",
                "uprobe:PROGRAM:handle { @ = count(); }",
            ),
            (
                "entry and return of a call by bpftrace",
                "uprobe:PROGRAM:handle { @at[tid] = nsecs; } uretprobe:PROGRAM:handle { @ = avg(nsecs - @at[tid]); }",
            ),
        ] {
            let each = median(|| {
                let [few, more] = OF_THE_KERNEL.map(|hits| traced_by_kernel(&fixture, probe, hits));
                let hits = OF_THE_KERNEL[1] - OF_THE_KERNEL[0];
                more.saturating_sub(few).as_secs_f64() / hits as f64
            });
            println!("{:>8.0} ns  {what}", 1e9 * each);
        }
    }
    for (flag, debugger) in [("--gdb", Other::Gdb), ("--lldb", Other::Lldb)] {
        if std::env::args().any(|argument| argument == flag) {
            let each = median(|| {
                let [few, more] = FEWER.map(|hits| debugger.took(&fixture, hits));
                more.saturating_sub(few).as_secs_f64() / (FEWER[1] - FEWER[0]) as f64
            });
            println!(
                "{:>8.0} ns  a log message of three scalars in {debugger:?}",
                1e9 * each
            );
        }
    }
}

fn median(measure: impl Fn() -> f64) -> f64 {
    let mut values: Vec<f64> = (0..RUNS).map(|_| measure()).collect();
    values.sort_by(f64::total_cmp);
    values[RUNS / 2]
}

/// How long a run takes between two stops with the hits in between.
fn took(fixture: &Fixture, trace: Option<(&str, &str)>) -> Duration {
    let args = json!({"args": [HITS.to_string()]});
    let mut client = DapClient::stopped_with(fixture, "start", args);
    client.set_breakpoints(fixture, &["end"]);
    if let Some((place, query)) = trace {
        let location = match place {
            "line" => format!("trace_costs.c:{}", fixture.line("hit")),
            _ => "handle".to_owned(),
        };
        let set = json!({"location": location, "query": query});
        let set: Value = client.request_ok("stillpoint/addTrace", set);
        assert_eq!(set["verified"], true, "{set}");
    }
    let begun = Instant::now();
    client.continue_();
    client.expect_stopped("breakpoint");
    let took = begun.elapsed();
    if trace.is_some() {
        let read = client.request_ok("stillpoint/traces", json!({}));
        let message = &read["traces"][0]["message"];
        assert!(message.is_null(), "{read}");
    }
    client.disconnect();
    took
}

/// How long bpftrace takes for a run with this number of hits.
fn traced_by_kernel(fixture: &Fixture, probe: &str, hits: u64) -> Duration {
    let program = fixture.program.to_str().expect("UTF-8");
    let mut command = Command::new("bpftrace");
    command.args(["-e", &probe.replace("PROGRAM", program)]);
    command.args(["-c", &format!("{program} {hits}")]);
    let begun = Instant::now();
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    assert!(status.expect("bpftrace runs").success());
    begun.elapsed()
}

#[derive(Clone, Copy, Debug)]
enum Other {
    Gdb,
    Lldb,
}

impl Other {
    /// How long a run with this number of hits takes, from start to end.
    fn took(self, fixture: &Fixture, hits: u64) -> Duration {
        let line = fixture.line("hit");
        let source = fixture.source.display();
        let mut command = match self {
            Other::Gdb => {
                let mut gdb = Command::new("gdb");
                let print = format!(
                    "dprintf {source}:{line},\"%d %f %d\\n\",order->n,order->price,order->kind"
                );
                gdb.args(["-q", "-nx", "-batch", "-ex", &print, "-ex", "run", "--args"]);
                gdb.arg(&fixture.program).arg(hits.to_string());
                gdb
            }
            Other::Lldb => {
                let mut lldb = Command::new("lldb");
                let set = format!("breakpoint set -f {source} -l {line} -G true");
                let print = "breakpoint command add -o 'expression -- order->n, order->price, \
                             order->kind' 1";
                lldb.args(["-b", "-o", &set, "-o", print, "-o", "run", "--"]);
                lldb.arg(&fixture.program).arg(hits.to_string());
                lldb
            }
        };
        let begun = Instant::now();
        let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
        assert!(status.expect("the debugger runs").success());
        begun.elapsed()
    }
}
