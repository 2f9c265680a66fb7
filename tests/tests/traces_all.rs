//! `keep all`: clients get each record once, however many there are.

use nix::sys::signal::Signal;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::process::Stdio;
use stillpoint_tests::process::{self, Debuggee};
use stillpoint_tests::{DapClient, Fixture, command};

/// Values by which a record is known from all others.
const QUERY: &str = "order->big, order->n, thread keep all";

fn started(client: &mut DapClient, fixture: &Fixture, args: &[&str], query: &str) {
    client.launch(fixture, json!({"args": args}));
    let wanted = json!({"location": "handle", "query": query});
    let set = client.request_ok("stillpoint/addTrace", wanted);
    assert_eq!(
        (&set["verified"], &set["keepsAll"]),
        (&json!(true), &json!(true)),
        "{set}"
    );
    client.set_breakpoints(fixture, &["end"]);
    client.configure();
}

/// The orders that the events so far have, and how many records.
fn orders(client: &DapClient) -> (BTreeSet<String>, usize) {
    let events = client.events_so_far("stillpoint/records");
    let records = events
        .iter()
        .flat_map(|body| body["records"].as_array().expect("records"));
    let values = records.map(|it| it["values"][0].as_str().expect("a value").to_owned());
    let values: Vec<String> = values.collect();
    let count = values.len();
    (values.into_iter().collect(), count)
}

#[test]
fn each_record_arrives_once() {
    let fixture = Fixture::of("c/traces.c");
    let slow = QUERY.replace(" keep", " where $thread_name != \"\" keep");
    for (query, count) in [(QUERY, 30_000), (&slow, 300)] {
        let mut client = DapClient::spawn();
        let number = count.to_string();
        started(&mut client, &fixture, &[&number, "3"], query);
        client.expect_stopped("breakpoint");
        let (orders, records) = orders(&client);
        assert_eq!((orders.len(), records), (3 * count, 3 * count));
        let body = client.request_ok("stillpoint/traces", json!({"records": 5}));
        let trace = &body["traces"][0];
        assert_eq!(trace["allRecords"], 3 * count, "{trace}");
        assert_eq!(trace["failed"], Value::Null, "{trace}");
        // The last ones are kept for who asks.
        assert_eq!(trace["records"].as_array().map(Vec::len), Some(5));
        let waited = trace["waited"].as_u64().unwrap_or(0);
        assert!(waited <= (3 * count / 1000) as u64 + 3, "{trace}");
        client.disconnect();
    }
}

/// Threads are stopped in the midst of records again and again, and the program ends by a crash.
#[test]
fn pauses_and_a_crash_lose_none() {
    let fixture = Fixture::of("c/traces.c");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({"args": ["40000", "2", "abort"]}));
    let wanted = json!({"location": "handle", "query": QUERY});
    client.request_ok("stillpoint/addTrace", wanted);
    client.configure();
    client.pause_repeatedly(10);
    client.expect_stopped("exception");
    let (orders, records) = orders(&client);
    assert_eq!((orders.len(), records), (80_000, 80_000));
    client.disconnect();
}

/// Calls that return while there is no room.
#[test]
fn calls_are_recorded_one_and_all() {
    let fixture = Fixture::of("c/traces.c");
    let mut client = DapClient::spawn();
    let query = "order->big, elapsed keep all";
    started(&mut client, &fixture, &["20000", "2"], query);
    client.expect_stopped("breakpoint");
    let (orders, records) = orders(&client);
    assert_eq!((orders.len(), records), (40_000, 40_000));
    client.disconnect();
}

/// The end of the debugger, in order or not, while hits wait: the program goes on.
#[test]
fn the_end_of_the_session_ends_the_wait() {
    let fixture = Fixture::of("c/traces.c");
    let program = Debuggee::start(&fixture, &["4000000000", "2", "alive"]);
    program.read_line();
    let before = process::text_bytes(program.pid(), &fixture.program);
    for _ in 0..2 {
        let mut client = DapClient::spawn();
        client.attach(program.pid(), json!({}));
        let wanted = json!({"location": "handle", "query": QUERY});
        client.request_ok("stillpoint/addTrace", wanted);
        client.configure();
        client.wait_event("stillpoint/records");
        client.disconnect_with(json!({"terminateDebuggee": false}));
        program.expect_running();
        assert!(process::text_bytes(program.pid(), &fixture.program) == before);
    }
    // Nothing reads what it prints: hits wait until it is killed.
    let pid = program.pid().to_string();
    let mut trace = command();
    trace.args(["trace", "--json", "--pid", &pid, "handle", QUERY]);
    let mut trace = trace
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("starts");
    let mut lines = BufReader::new(trace.stdout.take().expect("piped")).lines();
    lines.next().expect("a line").expect("UTF-8");
    process::send_signal(trace.id() as i32, Signal::SIGKILL);
    process::wait_for(&mut trace);
    program.expect_running();
}

#[test]
fn the_command_prints_all() {
    let fixture = Fixture::of("c/traces.c");
    let program = fixture.program.to_str().expect("UTF-8");
    let run = |options: &[&str]| {
        let mut trace = command();
        trace
            .arg("trace")
            .args(options)
            .args(["handle", "order->big", "keep all", "--"]);
        let output = trace
            .args([program, "20000", "2"])
            .output()
            .expect("its output");
        assert!(output.status.success());
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    let shown = run(&[]);
    let lines: BTreeSet<&str> = (shown.lines())
        .filter_map(|line| line.split_once("order->big = ").map(|it| it.1))
        .collect();
    let count = shown
        .lines()
        .filter(|line| line.contains("order->big = "))
        .count();
    assert_eq!((lines.len(), count), (40_000, 40_000));
    let mut all = 0;
    for line in run(&["--json"]).lines() {
        let event: Value = serde_json::from_str(line).expect("JSON");
        if event["event"] == "records" {
            all += event["records"].as_array().expect("records").len();
        }
    }
    assert_eq!(all, 40_000);
}
