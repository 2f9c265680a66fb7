//! Macros in expressions, as the program's preprocessor expands them at the line (`-g3`).

use serde_json::json;
use stillpoint_tests::{DapClient, Fixture};

fn shown(client: &mut DapClient, expression: &str) -> String {
    match client.evaluated(expression) {
        Ok(body) => body["result"].as_str().unwrap_or_default().to_owned(),
        Err(response) => response["body"]["error"]["format"].to_string(),
    }
}

#[test]
fn macros_are_expanded_at_the_line() {
    let fixture = Fixture::of("c/macros.c");
    let mut client = DapClient::stopped_at(&fixture, "work");
    for (expression, expected) in [
        ("LIMIT", "17"),
        ("MAX(LIMIT, 3) * 2", "34"),
        ("FIELD(at) + BASE", "16"),
        ("sizeof(TYPE)", "1"),
        ("(TYPE)300", "44 ','"),
        ("MAX(n, LIMIT), x", "0x11"),
    ] {
        assert_eq!(shown(&mut client, expression), expected, "{expression}");
    }
    assert!(shown(&mut client, "NAMED(n + 1)").contains("\"n + 1\""));
    let error = shown(&mut client, "FIELD(n)");
    assert!(error.contains("in `( ( n ) -> count )`"), "{error}");
    client.disconnect();
}

#[test]
fn condition_with_a_macro_stops_where_it_holds() {
    let fixture = Fixture::of("c/macros.c");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({}));
    let line = fixture.line("work");
    let breakpoints = json!([{"line": line, "condition": "FIELD(at) > MAX(LIMIT, 80)"}]);
    let body = client
        .request(
            "setBreakpoints",
            json!({"source": {"path": fixture.source}, "breakpoints": breakpoints}),
        )
        .expect("breakpoints")
        .clone();
    client.configure();
    client.expect_stopped("breakpoint");
    assert_eq!(shown(&mut client, "n"), "41", "{body}");
    client.disconnect();
}
