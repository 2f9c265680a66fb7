//! Tracepoints that record calls: durations and returned values of functions.

use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use stillpoint_tests::{Compiler, DapClient, Fixture, Flags};

/// All ways to compile it.
fn everywhere() -> Vec<Fixture> {
    [Compiler::Gcc, Compiler::Clang]
        .into_iter()
        .flat_map(|compiler| ["0", "1", "2"].map(|level| Flags::new(compiler).optimized(level)))
        .filter_map(|flags| Fixture::build("cpp/traced_calls.cpp", flags))
        .collect()
}

/// Runs the fixture to its end with a tracepoint on functions, and returns what that has recorded.
fn traced(fixture: &Fixture, args: &[&str], location: &str, query: &str) -> (DapClient, Value) {
    let mut client = DapClient::stopped_with(fixture, "begun", json!({"args": args}));
    client.set_breakpoints(fixture, &[]);
    let set = json!({"location": location, "query": query});
    let set = client.request_ok("stillpoint/addTrace", set);
    assert_eq!(set["verified"], true, "{set}");
    client.continue_();
    assert_eq!(client.expect_exit(), 0);
    let body = client.request_ok("stillpoint/traces", json!({"rows": 1000, "records": 1000}));
    let trace = body["traces"][0].clone();
    (client, trace)
}

/// What the program has counted of a function: calls that returned, and the sum of what they returned.
fn printed(client: &DapClient, name: &str) -> (u64, f64) {
    let output = client.output("stdout");
    let line = output
        .lines()
        .find(|line| line.starts_with(&format!("{name} ")));
    let mut words = line
        .unwrap_or_else(|| panic!("no {name} in {output}"))
        .split(' ')
        .skip(1);
    let mut number = || {
        words
            .next()
            .expect("a number")
            .parse::<f64>()
            .expect("a number")
    };
    (number() as u64, number())
}

#[track_caller]
fn compare(client: &DapClient, trace: &Value, names: &[&str]) {
    assert_eq!(trace["failed"], Value::Null, "{trace}");
    let rows = trace["tables"][0]["rows"].as_array().expect("rows");
    for name in names {
        let (calls, sum) = printed(client, name);
        let of_it = |row: &&Value| {
            let key = row["keys"][0].as_str().expect("a key");
            key.split('(').next().expect("a name").ends_with(name)
        };
        let row = rows
            .iter()
            .find(of_it)
            .unwrap_or_else(|| panic!("no {name}: {trace:#}"));
        assert_eq!(row["hits"], calls, "{name}: {trace:#}");
        let number = |column: usize| row["cells"][column]["number"].as_f64().expect("a number");
        if *name != "tail" {
            assert!(
                (number(1) - sum).abs() < 0.01,
                "{name}: {} {sum}",
                number(1)
            );
        }
        assert!(number(2) >= 0.0 && number(3) >= number(2), "{trace:#}");
    }
}

const QUERY: &str = "count(), sum(returned), min(elapsed), max(elapsed) by function";

#[test]
fn returns_are_what_the_program_did() {
    for fixture in everywhere() {
        let pattern = "/^shop::(fib|throws|several|half|tail)\\b/";
        let (client, trace) = traced(&fixture, &["120", "1"], pattern, QUERY);
        compare(
            &client,
            &trace,
            &["fib", "throws", "several", "half", "tail"],
        );
        client.disconnect();
    }
}

/// As an editor sets it: beside its other breakpoints, before the program starts.
#[test]
fn function_breakpoints_with_a_query_record_calls() {
    let fixture = Fixture::of("cpp/traced_calls.cpp");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({"args": ["120", "1"]}));
    let condition = format!("{{:trace {QUERY}}}");
    let breakpoint = json!({"name": "/^shop::(fib|half)\\b/", "condition": condition});
    let set = json!({"breakpoints": [breakpoint]});
    client.request_ok("setFunctionBreakpoints", set);
    client.configure();
    assert_eq!(client.expect_exit(), 0);
    let body = client.request_ok("stillpoint/traces", json!({"rows": 1000}));
    let trace = &body["traces"][0];
    assert_eq!(trace["function"], "/^shop::(fib|half)\\b/");
    compare(&client, trace, &["fib", "half"]);
    client.disconnect();
}

#[test]
fn durations_are_those_of_calls() {
    let fixture = Fixture::of("cpp/traced_calls.cpp");
    let query = "count(), min(elapsed), elapsed by function";
    let (client, trace) = traced(&fixture, &["1"], "shop::slow", query);
    let least = trace["tables"][0]["rows"][0]["cells"][1]["number"].as_f64();
    let least = least.expect("a duration");
    assert!((5e6..5e9).contains(&least), "{trace}");
    assert_eq!(trace["hits"], 3);
    for record in trace["records"].as_array().expect("records") {
        let nanoseconds: f64 = record["values"][0]
            .as_str()
            .expect("a text")
            .parse()
            .expect("a number");
        assert!(nanoseconds >= least, "{record}");
    }
    client.disconnect();
}

#[test]
fn conditions_are_those_of_the_entry() {
    let fixture = Fixture::of("cpp/traced_calls.cpp");
    let query = "count(), sum(n), elapsed, returned where n > 100";
    let (client, trace) = traced(&fixture, &["121", "1"], "shop::half", query);
    let row = &trace["tables"][0]["rows"][0];
    assert_eq!(row["hits"], 20);
    assert_eq!(row["cells"][1]["text"], "2210");
    let values: Vec<&str> = (trace["records"].as_array().expect("records").iter())
        .map(|record| record["values"][1].as_str().expect("a text"))
        .collect();
    assert_eq!(values[0], "50.5");
    assert_eq!(values.len(), 20);
    client.disconnect();
}

/// The addresses of the instructions by which a function returns.
#[cfg(target_arch = "x86_64")]
fn returns_of(client: &mut DapClient, function: &str) -> Vec<String> {
    let pointer = client.evaluate(&format!("(void *)&{function}"));
    let address = pointer.split(' ').next().expect("an address");
    let code = json!({"memoryReference": address, "instructionCount": 200, "resolveSymbols": true});
    let body = client.request_ok("disassemble", code);
    let all = body["instructions"].as_array().expect("instructions");
    let of_it = |it: &&Value| {
        it["symbol"]
            .as_str()
            .is_none_or(|name| name.contains("fib"))
    };
    let returns = |it: &&Value| {
        it["instruction"]
            .as_str()
            .is_some_and(|it| it.starts_with("ret"))
    };
    let own = all.iter().take_while(of_it).filter(returns);
    own.map(|it| it["address"].as_str().expect("an address").to_owned())
        .collect()
}

/// A breakpoint at the entry or at the return takes the jumps away while calls are in progress, and its removal brings
/// them back: one end of such a call is evaluated by the program, the other by the debugger.
#[cfg(target_arch = "x86_64")]
#[test]
fn either_end_of_a_call_may_be_evaluated_by_the_debugger() {
    let fixture = Fixture::of("cpp/traced_calls.cpp");
    let args = json!({"args": ["150000", "2"]});
    let mut client = DapClient::stopped_with(&fixture, "begun", args);
    client.set_breakpoints(&fixture, &[]);
    let set = json!({"location": "shop::fib", "query": QUERY});
    client.request_ok("stillpoint/addTrace", set);
    client.continue_();
    let mut deepest = 0;
    for round in 0..12 {
        client.pause();
        let reason = match round % 2 {
            0 => {
                client.set_breakpoints(&fixture, &["fib"]);
                "breakpoint"
            }
            _ => {
                let exits = returns_of(&mut client, "shop::fib").into_iter();
                let exits = exits.map(|address| json!({"instructionReference": address}));
                let wanted = json!({"breakpoints": exits.collect::<Vec<Value>>()});
                client.request_ok("setInstructionBreakpoints", wanted);
                "instruction breakpoint"
            }
        };
        for _ in 0..3 {
            client.continue_();
            client.expect_stopped(reason);
            let names = client.function_names();
            deepest = deepest.max(names.iter().filter(|name| name.contains("fib")).count());
        }
        client.set_breakpoints(&fixture, &[]);
        client.request_ok("setInstructionBreakpoints", json!({"breakpoints": []}));
        client.continue_();
    }
    assert_eq!(client.expect_exit(), 0);
    assert!(deepest > 1, "no call was in progress");
    let body = client.request_ok("stillpoint/traces", json!({}));
    compare(&client, &body["traces"][0], &["fib"]);
    client.disconnect();
}

#[test]
fn lines_have_no_calls() {
    let fixture = Fixture::of("cpp/traced_calls.cpp");
    let mut client = DapClient::stopped_at(&fixture, "begun");
    let trace = json!({"trace": {"query": "mean(elapsed)"}});
    let set = client.set_breakpoints_with(&fixture, vec![("end", trace)]);
    let message = set[0]["message"].as_str().expect("a message");
    assert!(message.contains("set it on a function"), "{message}");
    client.disconnect();
}

/// The rows of a trace by the function that is their key: hits and sum.
fn by_function(trace: &Value) -> BTreeMap<String, (u64, Value)> {
    let rows = trace["tables"][0]["rows"].as_array().expect("rows");
    let row = |row: &Value| {
        let name = row["keys"][0].as_str().expect("a name").to_owned();
        let hits = row["hits"].as_u64().expect("a number");
        (name, (hits, row["cells"][1]["number"].clone()))
    };
    rows.iter().map(row).collect()
}

#[test]
fn calls_that_do_not_return_themselves_are_counted() {
    for compiler in [Compiler::Gcc, Compiler::Clang] {
        let name = format!("{compiler:?}");
        let Some(fixture) = Fixture::build("c/left_calls.c", Flags::new(compiler).optimized("2"))
        else {
            continue;
        };
        let functions = "/^(last|adds|passes|guards|notes|nests|jumps)$/";
        let query = "count(), sum(returned) by function";
        let (client, trace) = traced(&fixture, &[], functions, query);
        let what = format!("{name}: {trace}");
        let rows = by_function(&trace);
        let counts: BTreeMap<&str, u64> = (rows.iter())
            .map(|(name, (hits, _))| (name.as_str(), *hits))
            .collect();
        let expected = [
            ("adds", 1000),
            ("guards", 1000),
            ("last", 3500),
            ("nests", 5001),
            ("notes", 1000),
            ("passes", 1000),
        ];
        assert_eq!(counts, BTreeMap::from(expected), "{what}");
        // Nothing is returned, or another function returns it.
        for name in ["adds", "passes", "notes"] {
            assert!(rows[name].1.is_null(), "{name}: {what}");
        }
        assert_eq!(rows["nests"].1.as_f64(), Some(12_507_501.0), "{what}");
        assert_eq!(rows["guards"].1.as_f64(), Some(249_500.0), "{what}");
        let message = trace["message"].as_str().unwrap_or_default();
        assert!(message.contains("by a jump to another function"), "{what}");
        assert_eq!(trace["unreturned"], 300, "{what}");
        assert!(trace["failed"].is_null(), "{what}");
        client.disconnect();
    }
}

#[test]
fn functions_that_jump_through_registers_are_named() {
    let flags = Flags::new(Compiler::Gcc).optimized("2");
    let Some(fixture) = Fixture::build("c/left_calls.c", flags) else {
        return;
    };
    let (client, trace) = traced(&fixture, &[], "chooses", "count(), sum(elapsed)");
    let message = trace["message"].as_str().unwrap_or_default();
    assert!(
        message.contains("1 function jumps through a register"),
        "{trace}"
    );
    client.disconnect();
}

#[test]
fn durations_contain_no_stops() {
    let fixture = Fixture::of("c/left_calls.c");
    let mut client = DapClient::stopped_at(&fixture, "begun");
    client.set_breakpoints(&fixture, &["kept"]);
    let query = "count(), max(elapsed), hist(elapsed), elapsed";
    let set = json!({"location": "guards", "query": query});
    client.request_ok("stillpoint/addTrace", set);
    client.continue_();
    client.expect_stopped("breakpoint");
    client.continue_();
    client.expect_stopped("breakpoint");
    let stopped = Instant::now();
    // Far longer than a call takes.
    while stopped.elapsed() < Duration::from_millis(200) {
        client.evaluate("n");
    }
    let stopped = stopped.elapsed();
    client.set_breakpoints(&fixture, &[]);
    client.continue_();
    assert_eq!(client.expect_exit(), 0);
    let body = client.request_ok("stillpoint/traces", json!({"rows": 1, "records": 1000}));
    let trace = &body["traces"][0];
    let row = &trace["tables"][0]["rows"][0];
    assert_eq!(row["hits"], 1000, "{body}");
    let longest = row["cells"][1]["number"].as_f64().expect("a number");
    assert!(longest < stopped.as_nanos() as f64, "{longest} ns");
    // Calls that are too short for their stops are marked, and no column has them.
    let untimed = trace["untimed"].as_u64().unwrap_or_default();
    let records = trace["records"].as_array().expect("records").iter();
    let times = records.map(|it| it["values"][0].as_str().expect("a text"));
    let times: Vec<&str> = times.collect();
    let marked = times.iter().filter(|it| it.starts_with('~')).count() as u64;
    assert_eq!(marked, untimed, "{trace}");
    // Where the program records calls, those with stops at the breakpoint, the first and the third, are not timed. On a
    // busy machine the threads wait for processors, and these calls may last.
    if cfg!(target_arch = "x86_64") {
        for time in [times[0], times[2]] {
            let lasts = || time.parse::<u64>().is_ok_and(|it| it >= 2_000_000);
            assert!(time.starts_with('~') || lasts(), "{trace}");
        }
    }
    let buckets = row["cells"][2]["histogram"].as_array().expect("buckets");
    let timed: u64 = buckets.iter().filter_map(|it| it["count"].as_u64()).sum();
    assert_eq!(timed + untimed, 1000, "{trace}");
    client.disconnect();
}
