//! What a frame has besides its locals, and where things are declared.

use serde_json::{Value, json};
use stillpoint_tests::{DapClient, Fixture, matrix};

/// The scopes of the innermost frame, by name.
fn scope(client: &mut DapClient, name: &str) -> Value {
    let frame = client.top_frame()["id"].clone();
    let body = client.request_ok("scopes", json!({"frameId": frame}));
    let scopes = body["scopes"].as_array().unwrap();
    let found = scopes.iter().find(|scope| scope["name"] == name);
    found
        .unwrap_or_else(|| panic!("no {name} in {scopes:?}"))
        .clone()
}

fn variable(client: &mut DapClient, of: &Value, name: &str) -> Value {
    let variables = client.variables(of["variablesReference"].as_i64().unwrap());
    let found = variables.iter().find(|variable| variable["name"] == name);
    found
        .unwrap_or_else(|| panic!("no {name} in {variables:?}"))
        .clone()
}

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
        let globals = scope(&mut client, "Globals");
        assert_eq!(globals["expensive"], true);
        let counter = variable(&mut client, &globals, "counter");
        assert_eq!(counter["value"], "7");
        assert_eq!(counter["evaluateName"], "counter");
        let declared = &counter["declarationLocationReference"];
        let line = line_of(&mut client, &fixture, declared);
        assert_eq!(line, fixture.line("counter"));
        let label = variable(&mut client, &globals, "label");
        assert!(label["value"].as_str().unwrap().ends_with("\"global\""));
        let table = variable(&mut client, &globals, "table");
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
    let globals = scope(&mut client, "Globals");
    let counter = variable(&mut client, &globals, "counter");
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

#[test]
fn registers_come_in_groups() {
    let Some(fixture) = matrix("c/globals.c")
        .into_iter()
        .find_map(|flags| Fixture::build("c/globals.c", flags))
    else {
        return;
    };
    let mut client = DapClient::stopped_at(&fixture, "main");
    let registers = scope(&mut client, "Registers");
    let rip = variable(&mut client, &registers, "rip");
    assert_eq!(rip["evaluateName"], "$rip");
    let segments = variable(&mut client, &registers, "Segments");
    variable(&mut client, &segments, "fs_base");
    let flags = variable(&mut client, &registers, "Flags");
    let carry = "CF (carry)";
    for value in ["true", "false", "true"] {
        client.request_ok(
            "setVariable",
            json!({
                "variablesReference": flags["variablesReference"], "name": carry, "value": value,
            }),
        );
        assert_eq!(variable(&mut client, &flags, carry)["value"], value);
        let bit = client.evaluate("$rflags & 1");
        assert_eq!(bit, if value == "true" { "1" } else { "0" });
    }
    let vectors = variable(&mut client, &registers, "Vectors");
    let has = |feature: &str| {
        let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        info.split_whitespace().any(|word| word == feature)
    };
    let there = [
        ("xmm0", true),
        ("ymm15", has("avx")),
        ("zmm31", has("avx512f")),
    ];
    for ((name, there), lanes) in there.into_iter().zip([2, 4, 8]) {
        if !there {
            continue;
        }
        let register = variable(&mut client, &vectors, name);
        let doubles = variable(&mut client, &register, "f64");
        let doubles = client.variables(doubles["variablesReference"].as_i64().unwrap());
        assert_eq!(doubles.len(), lanes, "{name}");
        // The last lane of all: every piece of the register is written and read again.
        let last = format!("[{}]", 8 * lanes - 1);
        let bytes = variable(&mut client, &register, "u8");
        set(&mut client, &bytes, &last, "0xab");
        let bytes = format!("${name}.u8{last}");
        assert_eq!(client.evaluate(&bytes), "171", "{name}");
        client.request_ok("setExpression", json!({"expression": bytes, "value": "7"}));
        assert_eq!(client.evaluate(&bytes), "7", "{name}");
    }
}

fn set(client: &mut DapClient, container: &Value, name: &str, value: &str) {
    let reference = &container["variablesReference"];
    let arguments = json!({"variablesReference": reference, "name": name, "value": value});
    client.request_ok("setVariable", arguments);
}

#[test]
fn registers_are_made_of_smaller_ones() {
    let fixture = Fixture::of("c/globals.c");
    let mut client = DapClient::stopped_at(&fixture, "main");
    let registers = scope(&mut client, "Registers");
    let before = client.evaluate("$rbx");
    set(&mut client, &registers, "rbx", "0x1122334455667788");
    let rbx = variable(&mut client, &registers, "rbx");
    assert_eq!(rbx["value"], "0x1122334455667788");
    let parts = client.children(&rbx);
    let expected = [
        ("bh", "0x77"),
        ("bl", "0x88"),
        ("bx", "0x7788"),
        ("ebx", "0x55667788"),
    ];
    let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(parts.into_iter().collect::<Vec<_>>(), expected);
    set(&mut client, &rbx, "bh", "1");
    assert_eq!(client.evaluate("$rbx,x"), "0x1122334455660188");
    // As the processor does it: the upper half is cleared.
    set(&mut client, &rbx, "ebx", "5");
    assert_eq!(client.evaluate("$rbx,x"), "0x5");
    let r12 = variable(&mut client, &registers, "r12");
    assert_eq!(client.children(&r12).len(), 3);
    let float = variable(&mut client, &registers, "Floating point");
    let mxcsr = variable(&mut client, &float, "mxcsr");
    assert_eq!(mxcsr["value"], "0x1f80");
    // Rounding towards zero.
    set(&mut client, &float, "mxcsr", "0x7f80");
    assert_eq!(client.evaluate("$mxcsr,x"), "0x7f80");
    set(&mut client, &float, "st0", "1.5");
    assert_eq!(variable(&mut client, &float, "st0")["value"], "1.5");
    let control = variable(&mut client, &float, "fctrl");
    assert_eq!(control["value"], "0x37f");
    let segments = variable(&mut client, &registers, "Segments");
    let base = variable(&mut client, &segments, "gs_base");
    assert_eq!(base["value"], "0x0");
    set(&mut client, &segments, "gs_base", "0x1000");
    assert_eq!(client.evaluate("$gs_base,x"), "0x1000");
    set(&mut client, &segments, "gs_base", "0");
    set(&mut client, &float, "mxcsr", "0x1f80");
    set(&mut client, &registers, "rbx", &before);
    client.continue_();
    assert_eq!(client.expect_exit(), 0);
    client.disconnect();
}
