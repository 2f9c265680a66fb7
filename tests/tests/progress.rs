//! Progress of long work that no request started.

use serde_json::{Value, json};
use std::path::Path;
use stillpoint_tests::{DapClient, patience, stillpoint};

#[test]
fn reading_names_can_be_cancelled() {
    let mut client = DapClient::spawn();
    client.request_ok(
        "initialize",
        json!({"adapterID": "stillpoint", "supportsProgressReporting": true}),
    );
    // A program of many units: the debugger itself.
    let settings = json!({"program": stillpoint(), "stopOnEntry": true, "symbolCache": false});
    client.send("launch", settings);
    client.wait_event("initialized");
    // A condition with a name that is looked for everywhere.
    let main = Path::new(env!("CARGO_MANIFEST_DIR")).join("../adapter/src/main.rs");
    let text = std::fs::read_to_string(&main).expect("a source");
    let line = text
        .lines()
        .position(|line| line.contains("Cli::try_parse()"));
    let line = line.expect("the first line of `main`") + 1;
    let arguments = json!({
        "source": {"path": main.canonicalize().expect("a path")},
        "breakpoints": [{"line": line, "condition": "no_such_variable_anywhere == 1"}],
    });
    client.request_ok("setBreakpoints", arguments);
    client.request_ok("configurationDone", Value::Null);
    client.expect_stopped("entry");
    let mut symbols = || {
        let arguments = json!({"expression": ":symbols stillpoint", "context": "repl"});
        let body = client.request_ok("evaluate", arguments);
        let text = body["result"].as_str().expect("a text").to_owned();
        (text, client.count_events("progressStart"))
    };
    let started = patience::poll(|| match symbols() {
        (_, 1..) => Some(true),
        (text, 0) => text.contains("names indexed").then_some(false),
    });
    if !started.expect("the debugger reads its own names: is it stripped?") {
        return skips::skip("a search that takes long");
    }
    let progress = client.wait_event("progressStart");
    assert_eq!(progress["cancellable"], true);
    let title = progress["title"].as_str().expect("a title");
    assert!(title.starts_with("Indexing symbols of "), "{title}");
    let cancel = json!({"progressId": progress["progressId"]});
    client.request_ok("cancel", cancel.clone());
    let end = client.wait_event("progressEnd");
    assert_eq!(end["progressId"], progress["progressId"]);
    assert_eq!(end["message"], "cancelled");
    // It does end, and with less than all.
    let symbols = json!({"expression": ":symbols stillpoint", "context": "repl"});
    let was_cancelled = patience::poll(|| {
        let body = client.request_ok("evaluate", symbols.clone());
        let text = body["result"].as_str().expect("a text");
        let is_over = text.contains("names indexed") || text.contains("the rest was cancelled");
        is_over.then(|| text.contains("the rest was cancelled"))
    });
    // The last unit was read before the request came.
    if !was_cancelled.expect("the search ends") {
        return skips::skip("a search that takes long");
    }
    // Twice is as once.
    client.request_ok("cancel", cancel);
    assert!(
        client
            .output("console")
            .contains("were not indexed yet cannot be found")
    );
    client.disconnect();
}
