//! Times between two places, against those that the program measures itself.

use serde_json::{Value, json};
use stillpoint_tests::{Compiler, DapClient, Fixture, Flags};

/// All columns that a time may have, and a record.
fn query(since: &str) -> String {
    format!(
        "count(), sum({since}), mean({since}), min({since}), max({since}), hist({since}), {since} \
         keep 100000"
    )
}

/// Sets a tracepoint, and runs to the end of the program's work.
fn run(client: &mut DapClient, fixture: &Fixture, args: &[&str], (place, query): (&str, &str)) {
    client.launch(fixture, json!({"args": args}));
    let wanted = json!({"location": place, "query": query});
    let set = client.request_ok("stillpoint/addTrace", wanted);
    assert_eq!(set["verified"], true, "{set}");
    client.set_breakpoints(fixture, &["end"]);
    client.configure();
    client.expect_stopped("breakpoint");
}

/// Compares the only tracepoint with what the program has printed. Returns its message.
#[track_caller]
fn compare(client: &mut DapClient, name: &str) -> String {
    let body = client.request_ok("stillpoint/traces", json!({"records": 16384}));
    let traces = body["traces"].as_array().expect("traces");
    assert_eq!(traces.len(), 1, "{body}");
    let trace = &traces[0];
    assert_eq!(trace["failed"], Value::Null, "{trace}");
    let output = client.output("stdout");
    let line = output.lines().find_map(|line| line.strip_prefix(name));
    let printed = line.expect("a line").split_whitespace();
    let printed: Vec<i64> = printed.map(|it| it.parse().expect("a number")).collect();
    let &[hits, measured, inside, outside] = &printed[..] else {
        panic!("{output}");
    };
    assert_eq!(trace["hits"], hits, "{trace}");
    let table = &trace["tables"][0];
    assert_eq!(table["columnKinds"][1]["unit"], "ns", "{table}");
    let cells = &table["rows"][0]["cells"];
    let number = |column: usize| cells[column]["number"].as_f64().expect("a number");
    let (sum, mean) = (number(1), number(2));
    let (inside, outside) = (inside as f64 * 0.999, outside as f64 * 1.001);
    assert!(
        (inside..=outside).contains(&sum),
        "{inside} to {outside}: {cells}"
    );
    assert!(
        (mean - sum / measured as f64).abs() <= mean * 1e-5,
        "{cells}"
    );
    let (least, most) = (number(3), number(4));
    assert!(0.0 <= least && least < mean && mean < most, "{cells}");
    let buckets = cells[5]["histogram"].as_array().expect("buckets");
    let counts = buckets
        .iter()
        .map(|it| it["count"].as_i64().expect("a count"));
    assert_eq!(counts.sum::<i64>(), measured);
    let records = trace["records"].as_array().expect("records");
    if records.len() as i64 == hits {
        let values = records
            .iter()
            .map(|it| it["values"][0].as_str().expect("a text"));
        let times: Vec<i64> = values.filter_map(|it| it.parse().ok()).collect();
        assert_eq!(times.len() as i64, measured);
        assert_eq!(times.iter().sum::<i64>() as f64, sum);
        let nones = records.iter().filter(|it| it["values"][0] == "none");
        assert_eq!(nones.count() as i64, hits - measured);
    }
    trace["message"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn times_are_those_that_the_program_measures() {
    let fixtures = [Compiler::Gcc, Compiler::Clang]
        .into_iter()
        .flat_map(|compiler| ["0", "2"].map(|level| Flags::new(compiler).optimized(level)))
        .filter_map(|flags| Fixture::build("c/passes.c", flags));
    for fixture in fixtures {
        let mut client = DapClient::spawn();
        let own = ("finish", &query("since(begin)")[..]);
        run(&mut client, &fixture, &["4000", "3"], own);
        let message = compare(&mut client, "own");
        if cfg!(target_arch = "x86_64") {
            assert_eq!(message, "");
        }
        // It outlives the program.
        client.continue_();
        client.expect_exit();
        compare(&mut client, "own");
        client.disconnect();

        let place = format!("passes.c:{}", fixture.line("got"));
        let since = format!("since(passes.c:{}, order->id)", fixture.line("put"));
        let mut client = DapClient::spawn();
        let moved = (&place[..], &query(&since)[..]);
        run(&mut client, &fixture, &["4000", "3"], moved);
        compare(&mut client, "moved");
        client.disconnect();
    }
}

/// Either place, or both, are evaluated by the debugger.
#[test]
fn the_debugger_measures_the_same() {
    let fixture = Fixture::of("c/passes.c");
    let filter = " where $thread_name != \"\" keep";
    let slow = query("since(put, order)").replace(" keep", filter);
    let mut client = DapClient::spawn();
    run(&mut client, &fixture, &["200", "2"], ("got", &slow));
    compare(&mut client, "moved");
    client.disconnect();

    for slow in [false, true] {
        let mut client = DapClient::spawn();
        // Another breakpoint at the place.
        let never = json!({"name": "begin", "condition": "id < 0 - 1"});
        client.launch(&fixture, json!({"args": ["200", "2"]}));
        client.request_ok("setFunctionBreakpoints", json!({"breakpoints": [never]}));
        let query = match slow {
            true => query("since(begin)").replace(" keep", filter),
            false => query("since(begin)"),
        };
        let wanted = json!({"location": "finish", "query": query});
        client.request_ok("stillpoint/addTrace", wanted);
        client.set_breakpoints(&fixture, &["end"]);
        client.configure();
        client.expect_stopped("breakpoint");
        compare(&mut client, "own");
        client.disconnect();
    }
}

/// A pause, a change of the query and a restart begin anew or go on, without a wrong time.
#[test]
fn pauses_and_restarts_measure_right() {
    let fixture = Fixture::of("c/passes.c");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({"args": ["300000", "2"]}));
    let wanted = json!({"location": "finish", "query": query("since(begin)")});
    client.request_ok("stillpoint/addTrace", wanted);
    client.set_breakpoints(&fixture, &["end"]);
    client.configure();
    client.pause_repeatedly(20);
    client.expect_stopped("breakpoint");
    compare(&mut client, "own");
    client.request_ok("restart", json!({}));
    client.expect_stopped("breakpoint");
    let body = client.request_ok("stillpoint/traces", json!({"records": 0}));
    let cells = &body["traces"][0]["tables"][0]["rows"][0]["cells"];
    assert_eq!(cells[0]["text"], "720000", "{body}");
    assert!(cells[1]["number"].as_f64().is_some_and(|it| it > 0.0));
    client.disconnect();
}

#[test]
fn mistakes_are_named() {
    let fixture = Fixture::of("c/passes.c");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({"args": ["10", "1"]}));
    let place = format!("passes.c:{}", fixture.line("got"));
    for (query, part) in [
        ("since()", "write since(FILE:LINE)"),
        ("mean(since(nowhere_at_all))", "since(nowhere_at_all): "),
        ("mean(since(passes.c:100000))", "since(passes.c:100000): "),
        // The key is known at the hit, but not at the place.
        ("mean(since(begin, order->id))", "since(begin): "),
        ("mean(since(put, order->who))", "no member `who`"),
        ("sum(since(put, nothing))", "`nothing`"),
    ] {
        let wanted = json!({"location": place, "query": query});
        let set = client.request_ok("stillpoint/addTrace", wanted);
        let message = set["message"].as_str().unwrap_or_default();
        assert!(message.contains(part), "{query}: {set}");
        if let Some(id) = set["id"].as_i64() {
            client.request_ok("stillpoint/removeTrace", json!({"id": id}));
        }
    }
    // Nothing of them is left: the program is not stopped, and is not slow.
    client.configure();
    assert_eq!(client.expect_exit(), 0);
    client.disconnect();
}
