//! What clients and suites of other debuggers expect, where the protocol allows it.

use serde_json::{Value, json};
use stillpoint_tests::{DapClient, Fixture};

fn evaluated(client: &mut DapClient, expression: &str, context: &str) -> Value {
    let frame = client.top_frame()["id"].clone();
    client.request_ok(
        "evaluate",
        json!({"expression": expression, "frameId": frame, "context": context}),
    )
}

fn local(client: &mut DapClient, name: &str) -> Value {
    let frame = client.top_frame()["id"].clone();
    let scopes = client.request_ok("scopes", json!({"frameId": frame}));
    let reference = scopes["scopes"][0]["variablesReference"].clone();
    let locals = client.request_ok("variables", json!({"variablesReference": reference}));
    let all = locals["variables"].as_array().expect("variables");
    let found = all.iter().find(|it| it["name"] == name);
    found
        .unwrap_or_else(|| panic!("no `{name}`: {locals:#}"))
        .clone()
}

fn children(client: &mut DapClient, of: &Value) -> Vec<Value> {
    let reference = of["variablesReference"].clone();
    let answer = client.request_ok("variables", json!({"variablesReference": reference}));
    answer["variables"].as_array().expect("variables").clone()
}

#[test]
fn breakpoints_of_an_unknown_source_are_not_verified() {
    let fixture = Fixture::of("c/loop.c");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({}));
    let answer = client.request_ok(
        "setBreakpoints",
        json!({"source": {"sourceReference": 4711}, "breakpoints": [{"line": 3}, {"line": 4}]}),
    );
    let set = answer["breakpoints"].as_array().expect("breakpoints");
    assert_eq!(set.len(), 2);
    for breakpoint in set {
        assert_eq!(breakpoint["verified"], false);
        let message = breakpoint["message"].as_str().expect("a message");
        assert!(message.contains("source reference 4711"), "{message}");
    }
    let answer = client.request_ok("setExceptionBreakpoints", json!({"filters": ["rethrow"]}));
    assert_ne!(answer["breakpoints"][0]["reason"], "failed", "{answer}");
    client.disconnect();
}

#[test]
fn frame_names_keep_unnamed_parameters() {
    let fixture = Fixture::of("cpp/unnamed.cpp");
    let mut client = DapClient::stopped_at(&fixture, "add");
    let thread = client.thread();
    let mut named = |format: Value| {
        let stack = client.request_ok(
            "stackTrace",
            json!({"threadId": thread, "levels": 1, "format": format}),
        );
        stack["stackFrames"][0]["name"]
            .as_str()
            .expect("a name")
            .to_owned()
    };
    let types = json!({"parameters": true, "parameterTypes": true});
    assert_eq!(named(types), "add(int, const char *, double)");
    assert_eq!(named(json!({"parameters": true})), "add(int, text, double)");
    let values = json!({"parameters": true, "parameterNames": true, "parameterValues": true});
    let values = named(values);
    assert!(values.starts_with("add(int = 1, text = 0x"), "{values}");
    assert!(values.ends_with("\"y\", double = 0.5)"), "{values}");
    client.disconnect();
}

#[test]
fn the_type_of_a_function_is_that_of_its_declaration() {
    let fixture = Fixture::of("cpp/unnamed.cpp");
    let mut client = DapClient::stopped_at(&fixture, "add");
    let function = evaluated(&mut client, "add", "watch");
    assert_eq!(function["type"], "int (int, const char *, double)");
    let pointer = evaluated(&mut client, "&add", "watch");
    assert_eq!(pointer["type"], "int (*)(int, const char *, double)");
    client.disconnect();
}

#[test]
fn semicolon_on_the_console_is_accepted() {
    let fixture = Fixture::of("cpp/unnamed.cpp");
    let mut client = DapClient::stopped_at(&fixture, "add");
    assert_eq!(evaluated(&mut client, "total + 1;", "repl")["result"], "1");
    client.disconnect();
}

#[test]
fn polymorphic_object_shows_class_first_vtable_last() {
    let fixture = Fixture::of("cpp/unnamed.cpp");
    let mut client = DapClient::stopped_at(&fixture, "end");
    let square = local(&mut client, "square");
    let text = "Square {<Shape> = {sides = 4}, side = 3}";
    assert_eq!(square["value"], text);
    assert_eq!(local(&mut client, "shape")["value"], text);
    let base = children(&mut client, &square)[0].clone();
    let names: Vec<Value> = children(&mut client, &base)
        .iter()
        .map(|child| child["name"].clone())
        .collect();
    assert_eq!(names, ["sides", "_vptr.Shape"]);
    client.disconnect();
}

#[test]
fn structs_without_a_size_of_their_own_show_all_their_elements() {
    let fixture = Fixture::of("rust/unsized.rs");
    let mut client = DapClient::stopped_at(&fixture, "look");
    for (name, value) in [
        ("bytes", "Tail {tag: 7, rest: [97, 98, 99, 100]}"),
        ("text", "Tail {tag: 8, rest: \"xyz\"}"),
        ("items", "Tail {tag: 9, rest: [Item {id: 1}, Item {id: 2}]}"),
        ("packet", "Packet {kind: 5, bytes: [10, 11, 12]}"),
    ] {
        assert_eq!(local(&mut client, name)["value"], value, "{name}");
    }
    let items = local(&mut client, "items");
    let rest = children(&mut client, &items)[1].clone();
    assert_eq!(rest["indexedVariables"], 2, "{rest}");

    // The length first, where the elements have no visible end; the compiler's own members come
    // last.
    let many = local(&mut client, "many");
    let text = many["value"].as_str().expect("a text");
    assert!(
        text.starts_with("(40) [Item {id: 0}, Item {id: 1}, "),
        "{text}"
    );
    let elements = children(&mut client, &many);
    assert_eq!(elements.len(), 41);
    assert_eq!(
        (&elements[0]["name"], &elements[40]["name"]),
        (&json!("[0]"), &json!("[raw]"))
    );
    let hovered = evaluated(&mut client, "&many", "hover");
    assert_eq!(hovered["result"], many["value"]);
    // A reference is shown as what it refers to.
    let watched = evaluated(&mut client, "&many", "watch");
    assert_eq!(watched["result"], many["value"]);
    client.disconnect();
}

#[test]
fn raw_value_follows_the_element_buckets() {
    let fixture = Fixture::of("rust/unsized.rs");
    let mut client = DapClient::stopped_at(&fixture, "look");
    let crowd = local(&mut client, "crowd");
    // Clients that get both counts show the named children first.
    assert_eq!(
        (&crowd["namedVariables"], &crowd["indexedVariables"]),
        (&Value::Null, &Value::Null)
    );
    let parts = children(&mut client, &crowd);
    let names: Vec<&str> = parts.iter().filter_map(|it| it["name"].as_str()).collect();
    assert_eq!(names, ["[0..99]", "[100..199]", "[200..249]", "[raw]"]);
    let last = children(&mut client, &parts[2]);
    assert_eq!(last.len(), 50);
    assert_eq!(
        (&last[49]["name"], &last[49]["value"]),
        (&json!("[249]"), &json!("Item {id: 249}"))
    );
    let whole = last[49]["evaluateName"].as_str().expect("an expression");
    assert_eq!(client.evaluate(whole), "Item {id: 249}");
    client.disconnect();
}

#[test]
fn stop_at_main_survives_a_restart() {
    let fixture = Fixture::of("rust/unsized.rs");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({"stopAtMain": true}));
    let set = client.request_ok(
        "setFunctionBreakpoints",
        json!({"breakpoints": [{"name": "look"}]}),
    );
    assert_eq!(set["breakpoints"].as_array().map(Vec::len), Some(1));
    client.configure();
    for _ in 0..2 {
        let stop = client.expect_stopped("entry");
        assert!(stop.get("hitBreakpointIds").is_none(), "{stop}");
        assert_eq!(client.top_frame()["name"], "unsized::main");
        client.continue_();
        let stop = client.expect_stopped("function breakpoint");
        assert_eq!(
            stop["hitBreakpointIds"],
            json!([set["breakpoints"][0]["id"]])
        );
        client.request_ok("restart", json!({}));
    }
    client.disconnect();
}

#[test]
fn death_by_signal_names_the_signal() {
    let fixture = Fixture::of("c/call_null.c");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({}));
    client.configure();
    client.expect_stopped("exception");
    client.continue_();
    let event = client.wait_event_where("output", |body| {
        body["output"]
            .as_str()
            .is_some_and(|it| it.contains("exit code 139"))
    });
    assert_eq!(
        event["output"],
        "The program was killed by SIGSEGV (exit code 139).\n"
    );
    client.disconnect();
}

#[test]
fn missing_system_sources_are_not_listed() {
    let fixture = Fixture::of("c/loop.c");
    let mut client = DapClient::stopped_at(&fixture, "body");
    let answer = client.request_ok("loadedSources", json!({}));
    let sources = answer["sources"].as_array().expect("sources");
    let paths: Vec<&str> = sources
        .iter()
        .filter_map(|source| source["path"].as_str())
        .collect();
    assert!(paths.contains(&fixture.source.to_str().expect("UTF-8")));
    // The start files are linked into the program; all else of glibc's is not.
    let lost = paths
        .iter()
        .filter(|path| path.contains("nptl/") || path.contains("malloc/"));
    assert_eq!(lost.count(), 0, "{paths:#?}");
    client.disconnect();
}
