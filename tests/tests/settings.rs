//! Settings that change while the session runs.

use serde_json::{Value, json};
use std::fs;
use stillpoint_tests::{DapClient, Fixture};

const SET: &str = "stillpoint/setSettings";

fn say(client: &mut DapClient, text: &str) -> String {
    let arguments = json!({"expression": text, "context": "repl"});
    let body = client.request_ok("evaluate", arguments);
    body["result"].as_str().expect("a text").to_owned()
}

#[test]
fn print_limits() {
    let fixture = Fixture::of("c/structs.c");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({"maxElements": 2}));
    client.set_function_breakpoints(&["main"]);
    client.configure();
    client.expect_stopped("function breakpoint");
    let whole = client.evaluate("global_text");
    assert!(whole.ends_with("\"global\""), "{whole}");
    let set = client.request_ok(SET, json!({"settings": {"maxStringLength": 2}}));
    assert_eq!(set["settings"]["maxStringLength"], 2);
    assert_eq!(set["settings"]["maxElements"], 2);
    assert_eq!(set["settings"]["maxDepth"], 3, "a setting that was not set");
    let invalidated = client.wait_event("invalidated");
    assert_eq!(invalidated["areas"], json!(["all"]));
    let cut = client.evaluate("global_text");
    assert!(cut.contains("\"gl") && !cut.contains("glo"), "{cut}");
    client.request_ok(SET, json!({"settings": {"maxStringLength": null}}));
    assert_eq!(client.evaluate("global_text"), whole);
    client.disconnect();
}

#[test]
fn value_limits_apply() {
    let fixture = Fixture::of("c/structs.c");
    let mut client = DapClient::stopped_at(&fixture, "all");
    let with = |client: &mut DapClient, settings: Value, expression: &str| {
        client.request_ok(SET, json!({"settings": settings}));
        client.evaluate(expression)
    };
    let outer = with(&mut client, json!({}), "outer");
    assert!(outer.contains("x = 5"), "{outer}");
    let flat = with(&mut client, json!({"maxDepth": 1}), "outer");
    assert!(flat.contains("corner") && !flat.contains("x = 1"), "{flat}");
    assert_eq!(with(&mut client, json!({"maxDepth": null}), "outer"), outer);
    let array = with(&mut client, json!({}), "array");
    assert!(array.contains("50"), "{array}");
    let few = with(&mut client, json!({"maxElements": 2}), "array");
    assert!(few.contains("20") && !few.contains("30"), "{few}");
    let short = json!({"maxElements": null, "maxTextLength": 12});
    let short = with(&mut client, short, "array");
    assert!(short.len() < array.len() && short.contains("10"), "{short}");
    client.disconnect();
}

#[test]
fn step_filters_apply_to_the_next_step() {
    let fixture = Fixture::of("stepping/iterators.rs");
    let mut client = DapClient::stopped_at(&fixture, "closure_end");
    client.set_breakpoints(&fixture, &[]);
    // Through the library, to the next of the program's own lines.
    client.next();
    client.expect_line(&fixture, "closure");
    client.next();
    client.expect_line(&fixture, "closure_end");
    client.request_ok(SET, json!({"settings": {"stepFilters": false}}));
    client.next();
    let path = client.top_frame()["source"]["path"].clone();
    let path = path.as_str().expect("a path");
    assert!(path.contains("/library/"), "{path}");
    client.disconnect();
}

#[test]
fn integers_in_hex() {
    let fixture = Fixture::of("c/loop.c");
    let mut client = DapClient::stopped_at(&fixture, "body");
    assert_eq!(client.evaluate("scale"), "10");
    client.request_ok(SET, json!({"settings": {"hex": true}}));
    client.wait_event("invalidated");
    assert_eq!(client.evaluate("scale"), "0xa");
    let frame = client.top_frame()["id"].clone();
    let explicit = json!({"expression": "scale", "frameId": frame, "format": {"hex": false}});
    assert_eq!(client.request_ok("evaluate", explicit)["result"], "0xa");
    client.request_ok(SET, json!({"settings": {"hex": null}}));
    assert_eq!(client.evaluate("scale"), "10");
    client.disconnect();
}

#[test]
fn invalid_settings_change_nothing() {
    let fixture = Fixture::of("c/loop.c");
    let mut client = DapClient::stopped_at(&fixture, "body");
    let before = client.request_ok(SET, json!({}));
    for (settings, part) in [
        (
            json!({"maxDepth": 18_446_744_073_709_551_615_u64}),
            "`maxDepth`: 18446744073709551615",
        ),
        (json!({"maxDepth": -1}), "maxDepth"),
        (json!({"maxDepth": [3]}), "maxDepth"),
        (json!({"maxElements": 10_001}), "the maximum is 10000"),
        (json!({"signals": {"SIGFOO": {}}}), "SIGFOO"),
        (json!({"stepFilters": 3}), "stepFilters"),
        (json!({"sourceMap": "x"}), "sourceMap"),
        (json!({"callTimeout": "soon"}), "callTimeout"),
        (json!({"commandPrefix": "a"}), "commandPrefix"),
        (json!({"maxDepht": 3}), "did you mean `maxDepth`?"),
        (json!({"program": "/bin/true"}), "restart"),
    ] {
        let mut with_a_right_one = settings.clone();
        with_a_right_one["maxTextLength"] = json!(100);
        let error = client.request_error(SET, json!({"settings": with_a_right_one}));
        assert!(error.contains(part), "{settings}: {error}");
    }
    client.request_error(SET, json!({"settings": 5}));
    assert_eq!(client.request_ok(SET, json!({"settings": {}})), before);
    assert_eq!(client.count_events("invalidated"), 0);
    client.disconnect();
    let mut client = DapClient::spawn();
    client.initialize();
    let early = client.request_error(SET, json!({"settings": {"maxDepth": 1}}));
    assert!(early.contains("launch"), "{early}");
    client.disconnect();
}

#[test]
fn a_source_map_moves_sources_and_breakpoints() {
    let fixture = Fixture::of("c/loop.c");
    let folder = tempfile::tempdir().expect("a folder");
    let elsewhere = folder.path().join("loop.c");
    fs::copy(&fixture.source, &elsewhere).expect("the source is copied");
    let mut client = DapClient::stopped_at(&fixture, "body");
    let here = client.top_frame()["source"]["path"].clone();
    assert_eq!(here, fixture.source.to_str().expect("UTF-8"));
    let from = fixture.source.parent().expect("a folder");
    let mut map = json!({});
    map[from.to_str().expect("UTF-8")] = json!(folder.path());
    client.request_ok(SET, json!({"settings": {"sourceMap": map}}));
    let moved = elsewhere.to_str().expect("UTF-8");
    assert_eq!(client.top_frame()["source"]["path"], moved);
    let set = client.set_source_breakpoints(moved, vec![json!({"line": fixture.line("call")})]);
    assert_eq!(set[0]["verified"], true, "{}", set[0]);
    client.continue_to(&fixture, "call");
    client.request_ok(SET, json!({"settings": {"sourceMap": null}}));
    assert_eq!(client.top_frame()["source"]["path"], here);
    client.disconnect();
}

#[test]
fn console_settings_survive_a_restart() {
    let fixture = Fixture::of("c/loop.c");
    let mut client = DapClient::stopped_at(&fixture, "body");
    let all = say(&mut client, ":set");
    assert!(
        all.contains("maxDepth") && all.contains("stepFilters"),
        "{all}"
    );
    assert_eq!(say(&mut client, ":set maxDepth"), "maxDepth 3");
    assert_eq!(say(&mut client, ":set maxDepth 5"), "maxDepth 5");
    assert_eq!(
        say(&mut client, ":set stepFilters [\"*/x/*\"]"),
        "stepFilters [\"*/x/*\"]"
    );
    client.request_ok("restart", Value::Null);
    client.expect_stopped("breakpoint");
    assert_eq!(say(&mut client, ":set maxDepth"), "maxDepth 5");
    assert_eq!(say(&mut client, ":set maxDepth default"), "maxDepth 3");
    for (wrong, part) in [
        (":set maxDepth x", "maxDepth"),
        (":set depth", "did you mean `maxDepth`?"),
        (":set cwd /tmp", "restart"),
    ] {
        let arguments = json!({"expression": wrong, "context": "repl"});
        let error = client.request_error("evaluate", arguments);
        assert!(error.contains(part), "{error}");
    }
    client.disconnect();
}
