//! `stillpoint/context`: a stop in one answer, of a size that the client chooses.

use serde_json::{Value, json};
use stillpoint_tests::{DapClient, Fixture, MACHINE};

fn context(client: &mut DapClient, arguments: Value) -> Value {
    client.request_ok("stillpoint/context", arguments)
}

fn variable<'a>(context: &'a Value, name: &str) -> &'a Value {
    let variables = context["variables"].as_array().expect("variables");
    let found = variables.iter().find(|variable| variable["name"] == name);
    found.unwrap_or_else(|| panic!("no `{name}` in {context:#}"))
}

/// What depends on the machine or on the run, and may.
fn without_ids(mut context: Value) -> Value {
    context["threadId"].take();
    let strip = |frame: &mut Value| drop(frame["frameId"].take());
    strip(&mut context["frame"]);
    for frame in context["stack"].as_array_mut().into_iter().flatten() {
        strip(frame);
        // Below main is the system's own.
        if frame["folded"].is_u64() {
            frame.take();
        }
    }
    context
}

#[test]
fn context_has_the_stop_and_its_changes() {
    let fixture = Fixture::of("c/loop.c");
    let mut client = DapClient::stopped_at(&fixture, "body_return");
    let first = context(&mut client, Value::Null);
    assert_eq!(first["stopId"], 1);
    assert_eq!(first["reason"], "breakpoint");
    assert_eq!(first["hitBreakpointIds"].as_array().map(Vec::len), Some(1));
    assert_eq!(first["threadId"], client.thread());
    assert_eq!(first["frame"]["name"], "body");
    assert_eq!(first["frame"]["line"], fixture.line("body_return"));
    let source = first["source"].as_array().expect("source");
    assert_eq!(source.len(), 7);
    assert_eq!(source[3]["line"], fixture.line("body_return"));
    assert!(
        source[3]["text"]
            .as_str()
            .unwrap()
            .starts_with("    return product;")
    );
    let i = variable(&first, "i");
    assert_eq!(
        (&i["kind"], &i["type"], &i["value"]),
        (&json!("argument"), &json!("int"), &json!("0"))
    );
    assert_eq!(variable(&first, "product")["kind"], "local");
    assert!(first["changes"].is_null(), "{first:#}");
    assert_eq!(first["stack"][0]["name"], "body");
    assert_eq!(first["stack"][1]["name"], "main");
    // What called main is the system's, and one entry.
    assert_eq!(
        first["stack"].as_array().map(Vec::len),
        Some(3),
        "{first:#}"
    );
    assert!(first["stack"][2]["folded"].as_u64() > Some(1));
    assert_eq!(first["omitted"], json!({}));

    client.continue_();
    client.expect_stopped("breakpoint");
    for _ in 0..2 {
        let second = context(&mut client, Value::Null);
        assert_eq!(second["stopId"], 2);
        let changes = json!({"since": 1, "variables": [
            {"name": "i", "before": "0", "after": "1"},
            {"name": "product", "before": "0", "after": "10"},
        ]});
        assert_eq!(second["changes"], changes);
    }

    // First the caller has no earlier summary, then it has one.
    client.step_out();
    let third = context(&mut client, Value::Null);
    assert_eq!(third["frame"]["name"], "main");
    assert_eq!(variable(&third, "body()")["kind"], "returned");
    assert_eq!(variable(&third, "body()")["value"], "10");
    assert!(third["changes"].is_null());
    client.next();
    client.next();
    let fourth = context(&mut client, Value::Null);
    let changes =
        json!({"since": 3, "variables": [{"name": "total", "before": "1", "after": "12"}]});
    assert_eq!(fourth["changes"], changes, "{fourth:#}");
    client.disconnect();
}

#[test]
fn budget_bounds_the_context() {
    let fixture = Fixture::of("c/structs.c");
    let mut client = DapClient::stopped_at(&fixture, "inner");
    let mut sizes = Vec::new();
    for budget in [500, 2000, 8000, 100_000] {
        let context = context(&mut client, json!({"budget": budget}));
        let shown = context["variables"].as_array().expect("variables").len() as u64;
        let omitted = context["omitted"]["variables"].as_u64().unwrap_or(0);
        assert_eq!(shown + omitted, 39, "{context:#}");
        let texts: usize = context["variables"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| {
                it["name"].as_str().unwrap().len()
                    + it["type"].as_str().unwrap().len()
                    + it["value"].as_str().unwrap().len()
            })
            .sum();
        assert!(texts <= budget, "{texts} of {budget}");
        if shown > 0 {
            // Variables of the innermost scope are left out last.
            assert_eq!(context["variables"][shown as usize - 1]["value"], "2");
        }
        sizes.push(shown);
    }
    assert!(sizes.is_sorted() && sizes[0] < sizes[1], "{sizes:?}");
    assert_eq!(sizes.last(), Some(&39));
    client.disconnect();
}

#[test]
fn context_text_is_the_same_in_every_run() {
    let fixture = Fixture::of("c/structs.c");
    let run = || {
        let settings = json!({"disableASLR": false});
        let mut client = DapClient::stopped_with(&fixture, "all", settings);
        let summary = context(&mut client, Value::Null);
        let exact = context(&mut client, json!({"addresses": true}));
        client.disconnect();
        assert_eq!(variable(&summary, "pointer")["value"], "→ whole");
        assert_eq!(variable(&summary, "nothing")["value"], "0x0");
        assert!(
            variable(&summary, "text")["value"]
                .as_str()
                .unwrap()
                .starts_with("0x… \"hello")
        );
        assert_eq!(variable(&summary, "function")["value"], "0x… <add>");
        let address = variable(&exact, "pointer")["value"]
            .as_str()
            .unwrap()
            .to_owned();
        assert!(address.starts_with(MACHINE.stack_prefix), "{address}");
        (without_ids(summary), address)
    };
    let ((first, somewhere), (second, elsewhere)) = (run(), run());
    assert_eq!(first, second);
    assert_ne!(somewhere, elsewhere);
}

#[test]
fn context_of_a_panic_shows_user_code() {
    let fixture = Fixture::of("rust/panic.rs");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({}));
    client.request_ok(
        "setExceptionBreakpoints",
        json!({"filters": ["rust_panic"]}),
    );
    client.configure();
    client.expect_stopped("exception");
    let context = context(&mut client, Value::Null);
    let text = context["text"].as_str().expect("a text");
    assert!(text.contains("index out of bounds"), "{text}");
    assert_eq!(context["frame"]["line"], fixture.line("index"));
    assert_eq!(variable(&context, "index")["value"], "3");
    let stack = context["stack"].as_array().expect("a stack");
    let levels: Vec<u64> = stack
        .iter()
        .filter_map(|frame| frame["level"].as_u64())
        .collect();
    assert!(levels.is_sorted() && stack.len() < 8, "{context:#}");
    assert!(stack[1]["folded"].as_u64() > Some(1), "{context:#}");
    client.disconnect();
}

#[test]
fn context_has_output_and_other_threads() {
    let fixture = Fixture::of("c/threads.c");
    let mut client = DapClient::stopped_with(&fixture, "hit", json!({"args": ["2", "1"]}));
    let summary = context(&mut client, Value::Null);
    let others = summary["threads"].as_array().expect("other threads");
    let places: Vec<&str> = others
        .iter()
        .filter_map(|thread| thread["frame"]["name"].as_str())
        .collect();
    assert!(places.contains(&"main"), "{summary:#}");
    // Any thread and any frame can be requested.
    let main = others
        .iter()
        .find(|thread| thread["frame"]["name"] == "main")
        .expect("main");
    let there = context(&mut client, json!({"threadId": main["threadId"]}));
    assert_eq!(
        (&there["reason"], &there["frame"]["name"]),
        (&json!(""), &json!("main"))
    );
    assert_eq!(variable(&there, "count")["value"], "2");
    let outer = context(&mut client, json!({"frameId": main["frame"]["frameId"]}));
    assert_eq!(outer["frame"], there["frame"]);
    client.disconnect();

    let fixture = Fixture::of("rust/output.rs");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({}));
    client.set_breakpoints(&fixture, &["exit"]);
    client.configure();
    client.expect_stopped("breakpoint");
    let summary = context(&mut client, Value::Null);
    // All that was sent, in the order in which it was read. Of two streams that is not always the
    // order of writing, and the program writes a line to stderr in parts.
    assert_eq!(client.output("stdout"), "out 0\nout 1\nout 2\n");
    assert_eq!(client.output("stderr"), "err 0\nerr 1\nerr 2\n");
    let sent = client.history().iter().filter(|it| {
        let category = it["body"]["category"].as_str();
        it["event"] == "output" && matches!(category, Some("stdout" | "stderr"))
    });
    let sent: String = sent
        .filter_map(|it| it["body"]["output"].as_str())
        .collect();
    assert_eq!(summary["output"], sent);
    client.disconnect();
}

#[test]
fn context_of_a_running_program_is_an_error() {
    let fixture = Fixture::of("c/spin.c");
    let mut client = DapClient::spawn();
    client.initialize();
    let refusal = client.request_error("stillpoint/context", Value::Null);
    assert!(refusal.contains("no program; send launch"), "{refusal}");
    client.disconnect();
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({}));
    client.configure();
    let refusal = client.request_error("stillpoint/context", Value::Null);
    assert!(refusal.contains("running"), "{refusal}");
    client.pause();
    let stale = client.request_error("stillpoint/context", json!({"frameId": 12345}));
    assert!(stale.contains("unknown frame 12345"), "{stale}");
    client.disconnect();
}
