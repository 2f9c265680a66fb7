//! How often a second a thread can come by what traps, where nothing is to stop for:
//!
//!     cargo bench -p stillpoint-tests --bench hits [-- --gdb]
//!
//! Of a breakpoint whose condition the program cannot answer, of one whose condition calls a function
//! of the program, and of a data breakpoint. Medians of [`RUNS`], in hits a second of wall time;
//! with `--gdb` those of gdb beside them, of its command line.

use serde_json::json;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use stillpoint_tests::{DapClient, Fixture};

const RUNS: usize = 5;
/// Hits of one run.
const HITS: usize = 20_000;
/// gdb's.
const FEWER: [usize; 2] = [500, 3_000];

/// What is measured: a name, a marker, a condition and gdb's; data breakpoints have no marker.
const KINDS: [(&str, Option<&str>, [&str; 2]); 3] = [
    ("a trap", Some("narrow"), ["$thread == 0", "$_thread == 0"]),
    (
        "a call in its condition",
        Some("narrow"),
        ["is_it(number)"; 2],
    ),
    ("a data breakpoint", None, ["sink == -1"; 2]),
];

fn main() {
    let with_gdb = std::env::args().any(|argument| argument == "--gdb");
    let fixture = Fixture::of("c/hits.c");
    for (name, marker, [condition, theirs]) in KINDS {
        let rate = median(|| HITS as f64 / took(&fixture, marker, condition).as_secs_f64());
        print!("{rate:>9.0}  {name}");
        if with_gdb {
            let theirs = median(|| {
                let [few, more] = FEWER.map(|hits| gdb_took(&fixture, marker, theirs, hits));
                (FEWER[1] - FEWER[0]) as f64 / more.saturating_sub(few).as_secs_f64()
            });
            print!(" (gdb {theirs:.0}, {:.1} times)", rate / theirs);
        }
        println!();
    }
}

fn median(measure: impl Fn() -> f64) -> f64 {
    let mut values: Vec<f64> = (0..RUNS).map(|_| measure()).collect();
    values.sort_by(f64::total_cmp);
    values[RUNS / 2]
}

/// How long a run takes between two stops with the hits in between.
fn took(fixture: &Fixture, marker: Option<&str>, condition: &str) -> Duration {
    let args = json!({"args": [HITS.to_string()]});
    let mut client = DapClient::stopped_with(fixture, "start", args);
    let when = json!({"condition": condition});
    let mut places = vec![("end", json!({}))];
    match marker {
        Some(marker) => places.push((marker, when)),
        None => {
            let data =
                client.request_ok("dataBreakpointInfo", json!({"name": "sink"}))["dataId"].clone();
            let watch = json!({"dataId": data, "accessType": "write", "condition": condition});
            client.request_ok("setDataBreakpoints", json!({"breakpoints": [watch]}));
        }
    }
    client.set_breakpoints_with(fixture, places);
    let begun = Instant::now();
    client.continue_();
    client.expect_stopped("breakpoint");
    let took = begun.elapsed();
    client.expect_line(fixture, "end");
    client.disconnect();
    took
}

fn gdb_took(fixture: &Fixture, marker: Option<&str>, condition: &str, hits: usize) -> Duration {
    let at = |marker: &str| format!("{}:{}", fixture.source.display(), fixture.line(marker));
    let set = match marker {
        Some(marker) => format!("break {} if {condition}", at(marker)),
        None => format!("watch sink if {condition}"),
    };
    let commands = [
        format!("break {}", at("start")),
        "run".to_owned(),
        set,
        "continue".to_owned(),
    ];
    let mut gdb = Command::new("gdb");
    gdb.args(["-q", "-nx", "-batch"]);
    for command in commands {
        gdb.args(["-ex", &command]);
    }
    gdb.arg("--args")
        .arg(&fixture.program)
        .arg(hits.to_string());
    let begun = Instant::now();
    let status = gdb.stdout(Stdio::null()).stderr(Stdio::null()).status();
    assert!(status.expect("gdb runs").success());
    begun.elapsed()
}
