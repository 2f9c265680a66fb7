//! Tracepoints: what they record is what the program did, whether the program or the debugger
//! evaluates their hits. The tests with very many hits are of the machine whose programs record
//! themselves.

use serde_json::{Value, json};
#[cfg(target_arch = "x86_64")]
use stillpoint_tests::process::{self, Debuggee};
use stillpoint_tests::{Compiler, DapClient, Fixture, Flags};

const KINDS: [&str; 3] = ["APPLE", "PEAR", "PLUM"];

/// All ways to compile it.
fn everywhere() -> Vec<Fixture> {
    [Compiler::Gcc, Compiler::Clang]
        .into_iter()
        .flat_map(|compiler| ["0", "1", "2"].map(|level| Flags::new(compiler).optimized(level)))
        .filter_map(|flags| Fixture::build("c/traces.c", flags))
        .collect()
}

/// Starts the fixture with a tracepoint in `handle`, and a breakpoint at its end.
fn traced(fixture: &Fixture, args: &[&str], query: &str) -> DapClient {
    let mut client = DapClient::spawn();
    client.launch(fixture, json!({"args": args}));
    let trace = json!({"trace": {"query": query}});
    let set = client.set_breakpoints_with(fixture, vec![("handle", trace), ("end", json!({}))]);
    assert_eq!(set[0]["verified"], true, "{set:?}");
    client
}

/// What the only tracepoint has recorded.
fn trace(client: &mut DapClient) -> Value {
    let body = client.request_ok("stillpoint/traces", json!({"rows": 1000, "records": 1000}));
    let traces = body["traces"].as_array().expect("traces");
    assert_eq!(traces.len(), 1, "{body}");
    traces[0].clone()
}

/// The row of a table with this first key.
fn row<'a>(table: &'a Value, key: &str) -> &'a Value {
    let rows = table["rows"].as_array().expect("rows");
    let found = rows.iter().find(|row| row["keys"][0] == key);
    found.unwrap_or_else(|| panic!("no row `{key}` in {table}"))
}

/// What the program has printed of a kind: count, sum, least, most; then the sum of prices, the
/// lowest and the highest; then how many numbers have how many bits.
fn printed(client: &DapClient, kind: usize) -> Vec<String> {
    let output = client.output("stdout");
    let line = output
        .lines()
        .find(|line| line.starts_with(&format!("{kind} ")));
    let line = line.unwrap_or_else(|| panic!("no kind {kind} in {output}"));
    line.split(' ').skip(1).map(str::to_owned).collect()
}

const QUERY: &str = "count(), sum(order->n), min(order->n), max(order->n), sum(order->price), \
                     min(order->price), max(order->price), hist(order->n) by order->kind";

#[track_caller]
fn compare(client: &mut DapClient) {
    let trace = trace(client);
    assert_eq!(trace["failed"], Value::Null, "{trace}");
    for (kind, name) in KINDS.iter().enumerate() {
        let printed = printed(client, kind);
        let row = row(&trace["tables"][0], name);
        let text = |column: usize| row["cells"][column]["text"].as_str().expect("a text");
        for (column, wanted) in printed.iter().enumerate().take(4) {
            assert_eq!(text(column), wanted, "{name} column {column}");
        }
        for (column, wanted) in printed.iter().enumerate().take(7).skip(4) {
            let number = row["cells"][column]["number"].as_f64().expect("a number");
            let wanted: f64 = wanted.parse().expect("a number");
            assert!(
                (number - wanted).abs() < 0.01,
                "{name} column {column}: {number} {wanted}"
            );
        }
        let buckets = row["cells"][7]["histogram"].as_array().expect("buckets");
        let mut by_bits = [0u64; 32];
        for bucket in buckets {
            let from = bucket["from"].as_f64().expect("a bound").abs();
            let bits = if from == 0.0 {
                0
            } else {
                from.log2() as usize + 1
            };
            by_bits[bits] += bucket["count"].as_u64().expect("a count");
        }
        let wanted: Vec<u64> = printed[7..]
            .iter()
            .map(|it| it.parse().expect("a count"))
            .collect();
        assert_eq!(by_bits[..], wanted[..], "{name}");
    }
}

#[test]
fn tables_are_what_the_program_did() {
    for fixture in everywhere() {
        let mut client = traced(&fixture, &["20000", "1"], QUERY);
        client.configure();
        client.expect_stopped("breakpoint");
        compare(&mut client);
        client.continue_();
        client.expect_exit();
        // It outlives the program.
        compare(&mut client);
        client.disconnect();
    }
}

/// Threads share rows, and are stopped in the midst of it again and again.
#[cfg(target_arch = "x86_64")]
#[test]
fn threads_and_pauses_lose_no_hit() {
    let fixture = Fixture::of("c/traces.c");
    let mut client = traced(&fixture, &["10000000", "4"], QUERY);
    client.configure();
    client.pause_repeatedly(40);
    client.expect_stopped("breakpoint");
    compare(&mut client);
    client.disconnect();
}

/// The sums of a rate, by time, against the records of the same hits.
#[track_caller]
fn compare_rates(client: &mut DapClient, hits: u64) {
    let trace = trace(client);
    assert_eq!(trace["failed"], Value::Null, "{trace}");
    let table = &trace["tables"][0];
    assert_eq!(
        table["columnKinds"][0],
        json!({"aggregate": "rate", "unit": "ns"})
    );
    let (mut all, mut last) = (0, 0.0);
    for row in table["rows"].as_array().expect("rows") {
        let intervals = row["cells"][0]["histogram"].as_array().expect("intervals");
        assert!(intervals.len() <= 64, "{row}");
        let number = |interval: &Value, name: &str| interval[name].as_f64().expect("a bound");
        let mut end = 0.0;
        for interval in intervals {
            assert!(
                (number(interval, "from") - end).abs() < 1.0,
                "{intervals:?}"
            );
            end = number(interval, "to");
            let count = interval["count"].as_u64().expect("a count");
            all += count;
        }
        assert!(last == 0.0 || (end - last).abs() < 1.0, "{row}");
        last = end;
        // Each record of this key is in one of its intervals.
        for record in trace["records"].as_array().into_iter().flatten() {
            if record["values"][0] == row["keys"][0] {
                let time = record["time"].as_f64().expect("a time") * 1e9;
                let length = end / intervals.len() as f64;
                let near = [time - 1e3, time, time + 1e3].map(|time| (time / length) as usize);
                let counts =
                    near.map(|at| intervals.get(at).map_or(&Value::Null, |it| &it["count"]));
                assert!(
                    counts.iter().any(|it| it.as_u64() > Some(0)),
                    "{time}: {row}"
                );
            }
        }
    }
    assert_eq!(all, hits, "{trace}");
}

#[test]
fn rates_count_each_hit_in_its_time() {
    let fixture = Fixture::of("c/traces.c");
    let query = "rate(), order->kind by order->kind";
    let slow = format!("{query} where $thread_name != \"\"");
    for (query, count, hits) in [(query, "40000", 80_000), (&slow[..], "300", 600)] {
        let mut client = traced(&fixture, &[count, "2"], query);
        client.configure();
        client.expect_stopped("breakpoint");
        compare_rates(&mut client, hits);
        client.continue_();
        client.expect_exit();
        compare_rates(&mut client, hits);
        client.disconnect();
    }
    // Of calls, at their return.
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({"args": ["20000", "2"]}));
    let wanted = json!({"location": "handle", "query": "rate(), max(elapsed)"});
    client.request_ok("stillpoint/addTrace", wanted);
    client.set_breakpoints(&fixture, &["end"]);
    client.configure();
    client.expect_stopped("breakpoint");
    compare_rates(&mut client, 40_000);
    client.disconnect();
}

#[test]
fn the_debugger_records_the_same() {
    let fixture = Fixture::of("c/traces.c");
    // A convenience variable that only the debugger knows.
    let query = format!("{QUERY} where $thread_name != \"\"");
    let mut client = traced(&fixture, &["500", "2"], &query);
    client.configure();
    client.expect_stopped("breakpoint");
    compare(&mut client);
    client.disconnect();
}

#[cfg(target_arch = "x86_64")]
#[test]
fn keys_are_texts_threads_and_stacks() {
    let fixture = Fixture::of("c/traces.c");
    let people = "distinct(order->who), top(2, thread), max(order->big)";
    let mut client = traced(&fixture, &["40000", "3"], people);
    client.configure();
    client.expect_stopped("breakpoint");
    let found = trace(&mut client);
    assert_eq!(found["hits"], 120_000);
    let by_name = found["tables"][1]["rows"].as_array().expect("rows");
    let mut names: Vec<&str> = (by_name.iter())
        .map(|row| {
            row["keys"][0]
                .as_str()
                .expect("a key")
                .split_once(' ')
                .expect("a text")
                .1
        })
        .collect();
    names.sort_unstable();
    assert_eq!(names, ["\"ann\"", "\"bob\"", "\"carol\"", "\"dora\""]);
    let hits = |table: &Value| -> u64 {
        let rows = table["rows"].as_array().expect("rows").iter();
        rows.map(|row| row["hits"].as_u64().expect("hits")).sum()
    };
    assert_eq!(hits(&found["tables"][1]), 120_000);
    let threads = &found["tables"][2];
    assert_eq!((&threads["allRows"], hits(threads)), (&json!(3), 80_000));
    // Above what a signed number holds.
    let most = found["tables"][0]["rows"][0]["cells"][0]["text"]
        .as_str()
        .expect("a number");
    assert!(most.parse::<u64>().expect("a number") > 1 << 63, "{most}");
    client.disconnect();

    let mut client = traced(&fixture, &["50", "1"], "count() by stack(3)");
    client.configure();
    client.expect_stopped("breakpoint");
    let found = trace(&mut client);
    let stack = found["tables"][0]["rows"][0]["keys"][0]
        .as_str()
        .expect("a stack");
    assert!(stack.starts_with("handle ← work ← "), "{stack}");
    client.disconnect();
}

#[cfg(target_arch = "x86_64")]
#[test]
fn the_last_records_are_kept_in_order() {
    let fixture = Fixture::of("c/traces.c");
    let query = "order->n, order->who, *order where order->n > 0 keep 64";
    let mut client = traced(&fixture, &["100000", "2"], query);
    client.configure();
    client.expect_stopped("breakpoint");
    let found = trace(&mut client);
    let records = found["records"].as_array().expect("records");
    assert_eq!(records.len(), 64);
    assert!(
        found["allRecords"].as_u64().expect("a number") > 100_000,
        "{found}"
    );
    let times: Vec<f64> = records
        .iter()
        .map(|it| it["time"].as_f64().expect("a time"))
        .collect();
    assert!(times.is_sorted() && times[63] <= found["seconds"].as_f64().expect("seconds"));
    for record in records {
        let n: i64 = record["values"][0]
            .as_str()
            .expect("n")
            .parse()
            .expect("a number");
        assert!(n > 0, "{record}");
        let order = record["values"][2].as_str().expect("an order");
        assert!(order.contains(&format!(", n = {n},")), "{record}");
        assert!(record["threadId"].as_i64().expect("a thread") > 0);
    }
    client.disconnect();
}

#[test]
fn queries_are_in_the_language_of_the_location() {
    let fixture = Fixture::of("rust/jump_patch_logs.rs");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({"args": ["1000"]}));
    let query = "count(), max(i as u8 as u64) by text where i as u32 >= 10";
    let set = json!({"trace": {"query": query}});
    client.set_breakpoints_with(&fixture, vec![("say", set)]);
    client.configure();
    assert_eq!(client.expect_exit(), 0);
    let found = trace(&mut client);
    for text in ["\"one\"", "\"\"", "\"three\""] {
        let row = row(&found["tables"][0], text);
        let most = &row["cells"][1]["text"];
        assert_eq!((&row["hits"], most), (&json!(330), &json!("255")));
    }
    client.disconnect();
}

#[test]
fn clients_that_send_only_log_messages_set_tracepoints() {
    let fixture = Fixture::of("c/traces.c");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({"args": ["1000", "1"]}));
    let message = |text: &str| json!({"logMessage": text});
    let trace_message = message("{:trace count() by order->kind}");
    client.set_breakpoints_with(
        &fixture,
        vec![("handle", trace_message), ("end", json!({}))],
    );
    client.configure();
    client.expect_stopped("breakpoint");
    assert_eq!(trace(&mut client)["hits"], 1000);
    let shown = command(&mut client, ":trace");
    assert!(shown.contains("1,000 hits"), "{shown}");
    assert!(
        client.output("console").is_empty(),
        "{}",
        client.output("console")
    );
    client.disconnect();
}

#[test]
fn the_console_sets_and_removes_tracepoints() {
    let fixture = Fixture::of("c/traces.c");
    let mut client = DapClient::stopped_with(&fixture, "begun", json!({"args": ["2000", "1"]}));
    client.set_breakpoints(&fixture, &["end"]);
    let set = command(&mut client, ":trace handle max(order->n) by order->kind");
    assert!(set.contains("no hits yet"), "{set}");
    let line = format!(":trace traces.c:{}", fixture.line("handle"));
    command(&mut client, &line);
    client.continue_();
    client.expect_stopped("breakpoint");
    let shown = command(&mut client, ":trace");
    assert_eq!(shown.matches("2,000 hits").count(), 2, "{shown}");
    let ids: Vec<i64> = (client.request_ok("stillpoint/traces", Value::Null)["traces"].as_array())
        .expect("traces")
        .iter()
        .map(|it| it["id"].as_i64().expect("an id"))
        .collect();
    command(&mut client, &format!(":trace remove {}", ids[0]));
    let left = client.request_ok("stillpoint/traces", Value::Null);
    assert_eq!(left["traces"].as_array().map(Vec::len), Some(1));
    let gone = client.request_error("stillpoint/traces", json!({"id": ids[0]}));
    assert!(gone.contains("there is no tracepoint"), "{gone}");
    client.disconnect();
}

#[test]
fn mistakes_are_said_when_it_is_set() {
    let fixture = Fixture::of("c/traces.c");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({}));
    for (trace, part) in [
        (
            json!({"trace": {"query": "sum()"}}),
            "`sum` takes one value",
        ),
        (
            json!({"trace": {"query": "count() by"}}),
            "a key is missing",
        ),
        (json!({"trace": {"query": "order->m"}}), "no member `m`"),
        (
            json!({"trace": {"query": "count()"}, "logMessage": "x"}),
            "no log message",
        ),
        (
            json!({"trace": {"query": "count()"}, "hitCondition": "3"}),
            "no hit condition",
        ),
        (
            json!({"trace": {"query": "count() where order->n >"}}),
            "order->n >",
        ),
    ] {
        let set = client.set_breakpoints_with(&fixture, vec![("handle", trace.clone())]);
        let message = set[0]["message"].as_str().unwrap_or_default();
        assert!(message.contains(part), "{trace}: {set:?}");
    }
    client.disconnect();
}

/// What an editor shows while a query is typed, without a tracepoint.
#[test]
fn a_query_is_checked_before_it_is_set() {
    let fixture = Fixture::of("c/traces.c");
    let mut client = DapClient::stopped_with(&fixture, "begun", json!({"args": ["50", "1"]}));
    let check = |client: &mut DapClient, line: u64, query: &str| {
        let arguments = json!({"path": fixture.source, "line": line, "query": query});
        client.request_ok("stillpoint/checkTrace", arguments)["message"].clone()
    };
    let line = fixture.line("handle");
    for (query, part) in [
        ("sum()", "`sum` takes one value"),
        ("order->m", "no member `m`"),
        ("count() by ordr->kind", "did you mean `order`?"),
        ("count() where order->n >", "order->n >"),
        ("mean(elapsed)", "set it on a function"),
    ] {
        let message = check(&mut client, line, query);
        let text = message.as_str().unwrap_or_default();
        assert!(text.contains(part), "{query}: {message}");
    }
    for query in ["", "count() by order->kind", "order->n where order->n > 3"] {
        assert_eq!(check(&mut client, line, query), Value::Null, "{query}");
    }
    let nowhere = check(&mut client, 100_000, "count()");
    assert!(nowhere.is_string(), "{nowhere}");
    // Nothing is set.
    let traces = client.request_ok("stillpoint/traces", Value::Null);
    assert_eq!(traces["traces"], json!([]));
    client.disconnect();
}

#[test]
fn the_end_sends_what_was_recorded_if_it_is_wanted() {
    let fixture = Fixture::of("c/traces.c");
    let mut client = traced(&fixture, &["3000", "1"], "count() by order->kind");
    client.request_ok("stillpoint/traces", json!({"rows": 2, "atEnd": true}));
    client.configure();
    client.expect_stopped("breakpoint");
    client.continue_();
    let last = client.wait_event("stillpoint/traces");
    let (trace, table) = (&last["traces"][0], &last["traces"][0]["tables"][0]);
    assert_eq!(trace["hits"], 3000, "{last}");
    assert_eq!(table["rows"].as_array().map(Vec::len), Some(2), "{last}");
    assert_eq!(table["allRows"], 3);
    client.expect_exit();
    client.disconnect();

    // The client ends the session while the program is stopped.
    let mut client = traced(&fixture, &["3000", "1"], "count() by order->kind");
    client.request_ok("stillpoint/traces", json!({"atEnd": true}));
    client.configure();
    client.expect_stopped("breakpoint");
    client.request_ok("disconnect", json!({"terminateDebuggee": true}));
    let last = client.wait_event("stillpoint/traces");
    assert_eq!(last["traces"][0]["hits"], 3000, "{last}");
}

#[test]
fn tables_say_what_their_keys_and_columns_are() {
    let fixture = Fixture::of("c/traces.c");
    let query = "max(order->n), hist(order->n) by stack(2), function, order->kind";
    let mut client = traced(&fixture, &["50", "1"], query);
    let calls = json!({"location": "handle", "query": "count(), mean(elapsed)"});
    client.request_ok("stillpoint/addTrace", calls);
    client.configure();
    client.expect_stopped("breakpoint");
    let traces = client.request_ok("stillpoint/traces", Value::Null);
    let table = &traces["traces"][0]["tables"][0];
    assert_eq!(table["keyKinds"], json!(["stack", "function", "value"]));
    let kinds = json!([
        {"aggregate": "max", "value": "order->n"},
        {"aggregate": "hist", "value": "order->n"},
    ]);
    assert_eq!(table["columnKinds"], kinds);
    let kinds = json!([
        {"aggregate": "count"},
        {"aggregate": "mean", "value": "elapsed", "unit": "ns"},
    ]);
    assert_eq!(traces["traces"][1]["tables"][0]["columnKinds"], kinds);
    // The functions of a stack have sources.
    let stack = table["rows"][0]["keys"][0].as_str().expect("a stack");
    let caller = stack.split(" ← ").nth(1).expect("a caller");
    let source = client.request_ok("stillpoint/functionSource", json!({"name": caller}));
    assert_eq!(source["path"], json!(fixture.source), "{caller}");
    let text = std::fs::read_to_string(&fixture.source).expect("the source");
    let head = text
        .lines()
        .position(|line| line.contains(&format!("{caller}(")));
    let line = source["line"].as_u64().expect("a line");
    assert!(line > head.expect("its head") as u64, "{source}");
    let unknown = client.request_ok("stillpoint/functionSource", json!({"name": "no_such"}));
    assert_eq!(unknown, json!({}));
    client.disconnect();
}

/// A child has a copy of the code, and the same shared memory.
#[test]
fn children_record_nothing() {
    let fixture = Fixture::of("c/traces.c");
    let mut client = traced(&fixture, &["3000", "1", "fork"], QUERY);
    client.configure();
    client.expect_stopped("breakpoint");
    assert!(client.output("stdout").contains("child 0\n"));
    compare(&mut client);
    client.disconnect();
}

#[test]
fn what_was_recorded_outlives_a_crash_and_an_exec() {
    let fixture = Fixture::of("c/traces.c");
    for how in ["abort", "exec"] {
        let mut client = traced(&fixture, &["30000", "1", how], QUERY);
        client.configure();
        if how == "abort" {
            client.expect_stopped("exception");
        } else {
            client.expect_exit();
        }
        compare(&mut client);
        client.disconnect();
    }
}

/// A detach in the midst of millions of hits leaves the program as it was.
#[cfg(target_arch = "x86_64")]
#[test]
fn detach_leaves_nothing_behind() {
    let fixture = Fixture::of("c/traces.c");
    let program = Debuggee::start(&fixture, &["4000000000", "2", "alive"]);
    program.read_line();
    let before = process::text_bytes(program.pid(), &fixture.program);
    for _ in 0..3 {
        let mut client = DapClient::spawn();
        client.attach(program.pid(), json!({}));
        let trace = json!({"trace": {"query": QUERY}});
        client.set_breakpoints_with(&fixture, vec![("handle", trace)]);
        client.configure();
        client.wait_for_jump_patch();
        client.disconnect_with(json!({"terminateDebuggee": false}));
        program.expect_running();
        assert!(process::text_bytes(program.pid(), &fixture.program) == before);
    }
}

/// The answer to a command of the console.
fn command(client: &mut DapClient, line: &str) -> String {
    let arguments = json!({"expression": line, "context": "repl"});
    let answer = client.request_ok("evaluate", arguments);
    answer["result"].as_str().expect("a text").to_owned()
}

/// Recursion, calls ended by `longjmp`, arguments on the stack, threads: against the program's own
/// counts.
#[test]
fn paths_are_those_of_the_program() {
    let fixtures = [Compiler::Gcc, Compiler::Clang]
        .into_iter()
        .flat_map(|compiler| ["0", "2"].map(|level| Flags::new(compiler).optimized(level)))
        .filter_map(|flags| Fixture::build("c/call_paths.c", flags));
    // Some calls are evaluated by the debugger in each.
    let queries = [
        "count(), sum(elapsed) by call_path",
        "count() by call_path where $thread_name != \"\"",
    ];
    for (fixture, query) in fixtures.flat_map(|it| queries.map(|query| (it.clone(), query))) {
        let mut client = DapClient::spawn();
        let rounds = if query.contains("where") { "2" } else { "200" };
        client.launch(&fixture, json!({"args": ["3"], "env": {"ROUNDS": rounds}}));
        let wanted = json!({"location": "/^[abc]$/", "query": query});
        client.request_ok("stillpoint/addTrace", wanted);
        client.set_breakpoints(&fixture, &["end"]);
        client.configure();
        client.expect_stopped("breakpoint");
        let traces = client.request_ok("stillpoint/traces", json!({"rows": 100_000}));
        let rows = traces["traces"][0]["tables"][0]["rows"].as_array();
        let mut found: Vec<String> = (rows.expect("rows").iter())
            .map(|row| format!("{} {}", row["hits"], row["keys"][0].as_str().unwrap_or("")))
            .collect();
        let output = client.output("stdout");
        let mut printed: Vec<&str> = output.lines().collect();
        found.sort();
        printed.sort_unstable();
        assert!(printed.len() > 10, "{output}");
        assert_eq!(found, printed, "{query} {:?}", fixture.program);
        client.disconnect();
    }
}

/// Each function's own arguments, and results where there are any.
#[test]
fn calls_are_recorded_with_arguments_and_results() {
    for level in ["0", "2"] {
        let flags = Flags::new(Compiler::Clang).optimized(level);
        let Some(fixture) = Fixture::build("c/call_paths.c", flags) else {
            continue;
        };
        let mut client = DapClient::spawn();
        client.launch(&fixture, json!({"args": ["1"], "env": {"ROUNDS": "60"}}));
        let query = "function, arguments, returned, call_depth keep 100000";
        let wanted = json!({"location": "/^(b|c|end)$/", "query": query});
        client.request_ok("stillpoint/addTrace", wanted);
        let lines = client.set_breakpoints(&fixture, &["over"]);
        assert_eq!(lines[0]["verified"], true, "{lines:?}");
        client.configure();
        client.expect_stopped("breakpoint");
        let traces = client.request_ok("stillpoint/traces", json!({"records": 100_000}));
        let trace = &traces["traces"][0];
        assert_eq!(trace["failed"], Value::Null, "{trace}");
        let records = trace["records"].as_array().expect("records");
        let records: Vec<Vec<&str>> = (records.iter())
            .map(|record| record["values"].as_array().expect("values"))
            .map(|values| values.iter().filter_map(Value::as_str).collect())
            .collect();
        let output = client.output("stdout");
        let printed = |name: &str| -> usize {
            let lines = output.lines().filter(|line| line.ends_with(name));
            lines
                .map(|line| line.split(' ').next().and_then(|it| it.parse().ok()))
                .map(|count: Option<usize>| count.expect("a count"))
                .sum()
        };
        let of = |name: &str| -> Vec<&Vec<&str>> {
            records.iter().filter(|record| record[0] == name).collect()
        };
        assert!(printed("b") > 10, "{output}");
        assert_eq!((of("b").len(), of("c").len()), (printed("b"), printed("c")));
        for b in of("b") {
            let wanted = "x1 = 1, x2 = 2, x3 = 3, x4 = 4, x5 = 5, x6 = 6, x7 = 7, x8 = 8";
            assert!(b[1].ends_with(wanted), "{b:?}");
            assert!(b[2].parse::<i32>().is_ok_and(|it| it >= 36), "{b:?}");
        }
        assert!(of("c").iter().any(|c| c[3] != "0"));
        assert_eq!(*of("end")[0], ["end", "", "nothing", "0"]);
        client.disconnect();
    }
}
