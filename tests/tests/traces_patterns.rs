//! Tracepoints on many functions: those that only the debugger can evaluate are left out.

use serde_json::{Value, json};
use std::collections::BTreeMap;
#[cfg(target_arch = "x86_64")]
use stillpoint_tests::{Compiler, Flags};
use stillpoint_tests::{DapClient, Fixture};

/// The hits of each function, the functions of the records, and the tracepoint's message.
fn traced(
    fixture: &Fixture,
    place: &str,
    query: &str,
) -> (BTreeMap<String, u64>, Vec<String>, String) {
    let mut client = DapClient::spawn();
    client.launch(fixture, json!({"args": ["200"]}));
    let wanted = json!({"location": place, "query": query});
    let set = client.request_ok("stillpoint/addTrace", wanted);
    assert_eq!(set["verified"], true, "{set}");
    client.set_breakpoints(fixture, &["end"]);
    client.configure();
    client.expect_stopped("breakpoint");
    let wanted = json!({"rows": 1000, "records": 16384});
    let trace = client.request_ok("stillpoint/traces", wanted)["traces"][0].clone();
    assert_eq!(trace["failed"], Value::Null, "{trace}");
    assert_eq!(trace["unreturned"], Value::Null, "{trace}");
    client.continue_();
    assert_eq!(client.expect_exit(), 0);
    client.disconnect();
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let rows = trace["tables"][0]["rows"].as_array().expect("rows").iter();
    let rows = rows.map(|row| (text(&row["keys"][0]), row["hits"].as_u64().expect("hits")));
    let records = trace["records"].as_array().into_iter().flatten();
    let records = records.map(|it| text(&it["values"][0]));
    let message = trace["message"].as_str().unwrap_or_default().to_owned();
    (rows.collect(), records.collect(), message)
}

const QUERY: &str = "count(), function, returned by function keep 10000";

#[cfg(target_arch = "x86_64")]
#[test]
fn functions_that_only_the_debugger_can_evaluate_are_left_out() {
    for level in ["0", "2"] {
        let flags = Flags::new(Compiler::Gcc).optimized(level);
        let Some(fixture) = Fixture::build("c/many_functions.c", flags) else {
            continue;
        };
        let (rows, records, message) = traced(&fixture, "/^(fast|slow)_/", QUERY);
        assert!(
            message.starts_with("3 of 23 functions left out"),
            "{message}"
        );
        assert!(message.contains("not in one register"), "{message}");
        assert_eq!(rows.len(), 20, "{rows:?}");
        assert!(rows.values().all(|hits| *hits == 200), "{rows:?}");
        // Their first hits, which the debugger has recorded, are gone, too.
        assert!(
            rows.keys().all(|name| name.starts_with("fast_")),
            "{rows:?}"
        );
        assert!(records.iter().all(|name| name.starts_with("fast_")));
        assert_eq!(records.len(), 4000);
    }
}

#[test]
fn wanted_ones_few_and_single_ones_are_not() {
    let fixture = Fixture::of("c/many_functions.c");
    let with_traps = format!("{QUERY} with traps");
    let slow = format!("{QUERY} where $thread_name != \"\"");
    for (place, query, functions) in [
        ("/^(fast|slow)_/", &with_traps[..], 23),
        ("/^slow_/", QUERY, 3),
        ("slow_2", QUERY, 1),
        // It is the query that the program cannot evaluate.
        ("/^(fast|slow)_/", &slow, 23),
    ] {
        let (rows, records, message) = traced(&fixture, place, query);
        assert!(!message.contains("left out"), "{message}");
        assert_eq!(rows.len(), functions, "{place}: {rows:?}");
        assert!(rows.values().all(|hits| *hits == 200), "{place}: {rows:?}");
        assert_eq!(records.len(), 200 * functions, "{place}");
    }
}
