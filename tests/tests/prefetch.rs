//! Prefetch: the variables of the frame of a stop are read before the client requests them, without
//! a visible difference.

use serde_json::{Value, json};
use stillpoint_tests::{DapClient, Fixture};

/// Requests the stack and the scopes as an editor does, and waits while the variables are
/// prefetched; returns the frame and the reference of its locals.
fn look(client: &mut DapClient) -> (Value, i64) {
    let frame = client.top_frame()["id"].clone();
    let reference = client.locals_reference(frame.as_i64().expect("an id"));
    for _ in 0..5 {
        client.request_ok("threads", Value::Null);
    }
    (frame, reference)
}

fn variables_of(client: &mut DapClient, mut arguments: Value, reference: i64) -> Vec<Value> {
    arguments["variablesReference"] = reference.into();
    let body = client.request_ok("variables", arguments);
    body["variables"].as_array().expect("variables").clone()
}

/// What does not count up from answer to answer.
fn shown(mut variables: Vec<Value>) -> Vec<Value> {
    for variable in &mut variables {
        let fields = variable.as_object_mut().expect("a variable");
        fields.remove("declarationLocationReference");
        fields["variablesReference"] = (fields["variablesReference"] != 0).into();
    }
    variables
}

fn value<'a>(variables: &'a [Value], name: &str) -> &'a str {
    let found = variables.iter().find(|variable| variable["name"] == name);
    found.and_then(|it| it["value"].as_str()).expect("a value")
}

#[test]
fn prefetched_variables_equal_read_ones() {
    let fixture = Fixture::of("c/many_locals.c");
    let mut client = DapClient::stopped_at(&fixture, "all");
    for pass in 0..20 {
        let (_, reference) = look(&mut client);
        let first = variables_of(&mut client, json!({}), reference);
        assert_eq!(value(&first, "l26"), (100 * pass + 26).to_string());
        // All can be opened that can be.
        let point = first.iter().find(|variable| variable["name"] == "point");
        let point = point.expect("it")["variablesReference"].as_i64();
        let members = client.variables(point.expect("a number"));
        assert_eq!(value(&members, "y"), (-pass).to_string());
        let again = variables_of(&mut client, json!({}), reference);
        assert_eq!(shown(first), shown(again));
        client.continue_to(&fixture, "all");
    }
    client.disconnect();
}

#[test]
fn other_arguments_bypass_the_prefetch() {
    let fixture = Fixture::of("c/many_locals.c");
    let mut client = DapClient::stopped_at(&fixture, "all");
    client.continue_to(&fixture, "all");
    let (_, reference) = look(&mut client);
    let hex = variables_of(&mut client, json!({"format": {"hex": true}}), reference);
    assert_eq!(value(&hex, "l02"), "0x66");
    client.continue_to(&fixture, "all");
    let (_, reference) = look(&mut client);
    let some = variables_of(&mut client, json!({"start": 2, "count": 2}), reference);
    let names: Vec<&Value> = some.iter().map(|variable| &variable["name"]).collect();
    assert_eq!(names, ["l01", "l02"]);
    let none = variables_of(&mut client, json!({"filter": "indexed"}), reference);
    assert_eq!(none.len(), 0, "{none:?}");
    // The caller's variables are not those of the prefetched frame.
    client.continue_to(&fixture, "all");
    look(&mut client);
    let caller = client.stack()[1]["id"].as_i64().expect("an id");
    let reference = client.locals_reference(caller);
    let locals = client.variables(reference);
    assert_eq!(value(&locals, "pass"), "3");
    assert_eq!(locals.len(), 2, "{locals:?}");
    client.disconnect();
}

#[test]
fn change_invalidates_the_prefetch() {
    let fixture = Fixture::of("c/many_locals.c");
    let mut client = DapClient::stopped_at(&fixture, "all");
    let changes: [fn(&mut DapClient, &Value, i64); 4] = [
        |client, _, reference| {
            let set = json!({"variablesReference": reference, "name": "l01", "value": "-7"});
            client.request_ok("setVariable", set);
        },
        |client, frame, _| {
            let set = json!({"frameId": frame, "expression": "l01", "value": "-7"});
            client.request_ok("setExpression", set);
        },
        |client, frame, _| {
            let set = json!({"frameId": frame, "expression": "l01 = -7", "context": "repl"});
            client.request_ok("evaluate", set);
        },
        |client, _, reference| {
            let other = variables_of(client, json!({"start": 2, "count": 1}), reference);
            let place = other[0]["memoryReference"].clone();
            let seven = json!({"memoryReference": place, "data": "+f///w=="});
            client.request_ok("writeMemory", seven);
        },
    ];
    for change in changes {
        let (frame, reference) = look(&mut client);
        change(&mut client, &frame, reference);
        let locals = client.variables(reference);
        assert_eq!(value(&locals, "l01"), "-7");
        client.continue_to(&fixture, "all");
    }
    let (_, reference) = look(&mut client);
    client.request_ok(
        "evaluate",
        json!({"expression": ":set hex true", "context": "repl"}),
    );
    let locals = client.variables(reference);
    assert_eq!(value(&locals, "l01"), "0x191");
    client.disconnect();
}
