//! What a frame has besides its locals, and where things are declared.

use serde_json::{Value, json};
use stillpoint_tests::{DapClient, Fixture, matrix};

/// Returns the line of a location reference, and checks the file.
fn line_of(client: &mut DapClient, fixture: &Fixture, reference: &Value) -> u64 {
    let place = client.request_ok("locations", json!({"locationReference": reference}));
    assert_eq!(
        place["source"]["path"],
        fixture.source.display().to_string()
    );
    place["line"].as_u64().unwrap()
}

#[test]
fn globals_of_the_unit() {
    for flags in matrix("c/globals.c") {
        let Some(fixture) = Fixture::build("c/globals.c", flags) else {
            continue;
        };
        let mut client = DapClient::stopped_at(&fixture, "main");
        let globals = client.scope("Globals");
        assert_eq!(globals["expensive"], true);
        let counter = client.child(&globals, "counter");
        assert_eq!(counter["value"], "7");
        assert_eq!(counter["evaluateName"], "counter");
        let declared = &counter["declarationLocationReference"];
        let line = line_of(&mut client, &fixture, declared);
        assert_eq!(line, fixture.line("counter"));
        let label = client.child(&globals, "label");
        assert!(label["value"].as_str().unwrap().ends_with("\"global\""));
        let table = client.child(&globals, "table");
        assert_eq!(table["value"], "{1, 2, 3}");
        let reference = globals["variablesReference"].as_i64().unwrap();
        let names: Vec<Value> = client.variables(reference);
        assert!(names.iter().all(|it| it["name"] != "calls"), "{names:?}");

        client.set_breakpoints(&fixture, &["inside"]);
        client.continue_();
        client.expect_stopped("breakpoint");
        assert_eq!(client.locals()["calls"], "41", "a static local is a local");
    }
}

#[test]
fn functions_as_values() {
    for flags in matrix("c/globals.c") {
        let Some(fixture) = Fixture::build("c/globals.c", flags) else {
            continue;
        };
        let mut client = DapClient::stopped_at(&fixture, "main");
        let function = client.local_variables()["function"].clone();
        assert!(function["value"].as_str().unwrap().contains("<twice>"));
        let declared = &function["declarationLocationReference"];
        let line = line_of(&mut client, &fixture, declared);
        assert_eq!(line, fixture.line("function"));
        let is = &function["valueLocationReference"];
        let line = line_of(&mut client, &fixture, is);
        assert_eq!(line, fixture.line("twice"));
        let evaluated = client.evaluated("function").unwrap();
        let line = line_of(&mut client, &fixture, &evaluated["valueLocationReference"]);
        assert_eq!(line, fixture.line("twice"));
    }
}

#[test]
fn assignments_invalidate_variables() {
    let Some(fixture) = matrix("c/globals.c")
        .into_iter()
        .find_map(|flags| Fixture::build("c/globals.c", flags))
    else {
        return;
    };
    let mut client = DapClient::stopped_at(&fixture, "main");
    let globals = client.scope("Globals");
    let counter = client.child(&globals, "counter");
    let memory = counter["memoryReference"].as_str().unwrap().to_owned();
    assert_eq!(client.evaluate("*(int *)&counter"), "7");
    let set = client.request_ok(
        "setVariable",
        json!({
            "variablesReference": globals["variablesReference"],
            "name": "counter", "value": "100",
        }),
    );
    assert_eq!(set["value"], "100");
    let event = client.wait_event("memory");
    assert_eq!(event["memoryReference"], memory);
    assert_eq!(event["count"], 4);
    client.wait_event_where("invalidated", |event| event["areas"][0] == "variables");
    assert_eq!(client.evaluate("counter"), "100");
    let stale = client.request_error("locations", json!({"locationReference": 99_999}));
    assert!(stale.contains("99999"), "{stale}");
}

/// What the innermost frame shows as returned: name and value.
fn returned(client: &mut DapClient) -> Option<(String, String)> {
    let frame = client.top_frame()["id"].clone();
    let body = client.request_ok("scopes", json!({"frameId": frame}));
    let scopes = body["scopes"].as_array().unwrap();
    let scope = scopes
        .iter()
        .find(|scope| scope["presentationHint"] == "returnValue")?;
    let variables = client.variables(scope["variablesReference"].as_i64().unwrap());
    let [variable] = variables.as_slice() else {
        panic!("{variables:?}");
    };
    let text = |field: &str| variable[field].as_str().unwrap().to_owned();
    Some((text("name"), text("value")))
}

#[test]
fn step_out_shows_the_return_value() {
    let expected = [
        ("integer", "integer()", "42"),
        ("real", "real()", "2.5"),
        ("truth", "truth()", "true"),
        ("text", "text()", "\"words\""),
        ("pair", "pair()", "{first = 7, second = 2.5}"),
        ("small", "few()", "{a = 1, b = -2, c = 3}"),
        ("floats", "floats()", "{x = 1.5, y = 2.5, z = 3.5}"),
        ("large", "large()", "{values = {1, 2, 3, 4, 5}}"),
        ("string", "string()", "\"a string\""),
    ];
    for flags in matrix("cpp/returns.cpp") {
        let Some(fixture) = Fixture::build("cpp/returns.cpp", flags) else {
            continue;
        };
        eprintln!("{flags:?}");
        let mut client = DapClient::stopped_at(&fixture, "integer");
        let markers: Vec<&str> = expected.iter().map(|(marker, ..)| *marker).collect();
        client.set_breakpoints(&fixture, &[&markers[..], &["nothing"]].concat());
        for (index, (_, name, value)) in expected.iter().enumerate() {
            if index > 0 {
                client.continue_();
                client.expect_stopped("breakpoint");
            }
            assert_eq!(returned(&mut client), None, "nothing was returned yet");
            client.step_out();
            let (function, shown) = returned(&mut client).expect(name);
            assert_eq!(function, *name);
            assert!(
                shown.contains(value),
                "{name} returned {shown}, not {value}"
            );
        }
        client.continue_();
        client.expect_stopped("breakpoint");
        client.step_out();
        assert_eq!(returned(&mut client), None, "void");
    }
}

/// What the linker has removed has no address: it is not read where the image begins.
#[test]
fn removed_variables_are_not_read() {
    let fixture = Fixture::of("rust/removed.rs");
    let mut client = DapClient::stopped_at(&fixture, "pass");
    for removed in ["LIMIT", "NAMES", "LIMIT + 1", "pass as usize > LIMIT"] {
        let error = client.try_evaluate(removed).expect_err(removed);
        assert!(
            error.contains("removed by the linker"),
            "{removed}: {error}"
        );
    }
    assert_eq!(client.evaluate("USED"), "8");
    let globals = client.scope("Globals");
    let shown = client.children(&globals);
    assert!(
        shown["removed::LIMIT"].contains("removed by the linker"),
        "{shown:?}"
    );
    assert_eq!(shown["removed::USED"], "8");
    assert_ne!(client.locals()["part"], "..");
    client.disconnect();
}
