//! Arguments that are of the wrong type, or name what there is not: the answer says which, and
//! nothing is changed.

use serde_json::{Value, json};
use std::fs;
use stillpoint_tests::{DapClient, Fixture};

#[test]
fn wrong_types_name_the_field() {
    let fixture = Fixture::of("c/loop.c");
    let mut client = DapClient::stopped_at(&fixture, "body");
    let cases = [
        ("stackTrace", json!({"threadId": "one"}), "threadId"),
        ("stackTrace", json!({}), "threadId"),
        ("scopes", json!({"frameId": {}}), "frameId"),
        (
            "variables",
            json!({"variablesReference": [1]}),
            "variablesReference",
        ),
        ("evaluate", json!({"expression": 5}), "expression"),
        (
            "setBreakpoints",
            json!({"source": {"path": "x.c"}, "breakpoints": [{"line": 1}, {"line": "two"}]}),
            "line",
        ),
        ("setBreakpoints", json!({"breakpoints": []}), "source"),
        (
            "setFunctionBreakpoints",
            json!({"breakpoints": [{"name": 1}]}),
            "name",
        ),
    ];
    for (command, arguments, place) in cases {
        let message = client.request_error(command, arguments.clone());
        assert!(message.contains(place), "{command} {arguments}: {message}");
    }
    for arguments in [json!([]), json!("text"), json!(3), json!(true)] {
        client.request_error("scopes", arguments);
    }
    client.request_error("scopes", Value::Null);
    for number in [json!(1e30), json!(-1), json!(1.5), json!(u64::MAX)] {
        client.request_error("variables", json!({"variablesReference": number}));
    }
    client.expect_line(&fixture, "body");
    client.disconnect();
}

/// All requests with the fields that each must have.
const REQUESTS: &[(&str, &[&str])] = &[
    ("initialize", &[]),
    ("launch", &[]),
    ("attach", &[]),
    ("configurationDone", &[]),
    ("disconnect", &[]),
    ("restart", &[]),
    ("terminate", &[]),
    ("cancel", &[]),
    ("setBreakpoints", &["source"]),
    ("breakpointLocations", &["source", "line"]),
    ("locations", &["locationReference"]),
    ("setFunctionBreakpoints", &["breakpoints"]),
    ("setInstructionBreakpoints", &["breakpoints"]),
    ("dataBreakpointInfo", &["name"]),
    ("setDataBreakpoints", &["breakpoints"]),
    ("setExceptionBreakpoints", &[]),
    ("exceptionInfo", &["threadId"]),
    ("threads", &[]),
    ("pause", &["threadId"]),
    ("continue", &["threadId"]),
    ("next", &["threadId"]),
    ("stepIn", &["threadId"]),
    ("stepOut", &["threadId"]),
    ("stepInTargets", &["frameId"]),
    ("gotoTargets", &["source", "line"]),
    ("goto", &["threadId", "targetId"]),
    ("restartFrame", &["frameId"]),
    ("stackTrace", &["threadId"]),
    ("stillpoint/context", &[]),
    ("stillpoint/stacks", &[]),
    ("stillpoint/explain", &["threadId"]),
    ("stillpoint/search", &["wanted"]),
    ("stillpoint/traceCall", &["function"]),
    ("stepBack", &["threadId"]),
    ("reverseContinue", &["threadId"]),
    ("stillpoint/lastWrite", &["name"]),
    ("stillpoint/origin", &["name"]),
    ("stillpoint/originHops", &[]),
    ("stillpoint/visitHop", &["number"]),
    ("stillpoint/replay", &[]),
    ("stillpoint/pastStops", &[]),
    ("stillpoint/visitStop", &[]),
    ("stillpoint/systemCalls", &[]),
    ("stillpoint/visitCall", &["number"]),
    ("stillpoint/visitHit", &["number"]),
    ("stillpoint/pastChanges", &["from"]),
    ("stillpoint/addTrace", &["location", "query"]),
    ("stillpoint/removeTrace", &["id"]),
    ("stillpoint/traces", &[]),
    ("stillpoint/checkTrace", &["path", "line", "query"]),
    ("stillpoint/functionSource", &["name"]),
    ("scopes", &["frameId"]),
    ("variables", &["variablesReference"]),
    ("setVariable", &["variablesReference", "name", "value"]),
    ("evaluate", &["expression"]),
    ("setExpression", &["expression", "value"]),
    ("completions", &["text", "column"]),
    ("readMemory", &["memoryReference", "count"]),
    ("writeMemory", &["memoryReference", "data"]),
    ("disassemble", &["memoryReference", "instructionCount"]),
    ("source", &["sourceReference"]),
    ("loadedSources", &[]),
    ("modules", &[]),
    ("stillpoint/setSettings", &["settings"]),
];

#[test]
fn wrong_types_in_every_request() {
    let routes = include_str!("../../adapter/src/requests/routes.rs");
    assert_eq!(routes.matches("    route::<").count(), REQUESTS.len());
    let fixture = Fixture::of("c/loop.c");
    let mut client = DapClient::stopped_at(&fixture, "body");
    let usual = |field: &str| match field {
        "source" => json!({"path": "x.c"}),
        "breakpoints" => json!([]),
        "name" | "value" | "expression" | "text" | "memoryReference" | "data" | "location"
        | "query" | "wanted" | "path" => json!("0"),
        "settings" => json!({}),
        _ => json!(1),
    };
    for (command, fields) in REQUESTS {
        for arguments in [json!([]), json!("text"), json!(3), json!(true)] {
            let message = client.request_error(command, arguments);
            assert!(
                message.contains("must be an object"),
                "{command}: {message}"
            );
        }
        for wrong in fields.iter() {
            for value in [json!([[[]]]), json!([{"a": [{}]}]), json!([-1e300])] {
                let of = |field: &&str| match field == wrong {
                    true => ((*field).to_owned(), value.clone()),
                    false => ((*field).to_owned(), usual(field)),
                };
                let arguments: serde_json::Map<_, _> = fields.iter().map(of).collect();
                let message = client.request_error(command, Value::Object(arguments));
                assert!(message.contains(wrong), "{command} {value}: {message}");
            }
        }
    }
    client.expect_line(&fixture, "body");
    assert_eq!(client.evaluate("i"), "0");
    client.disconnect();
}

#[test]
fn numbers_beyond_all_bounds() {
    /// How answers are marked where a handler has panicked.
    const PANIC: u32 = 10;
    let fixture = Fixture::of("c/loop.c");
    let mut client = DapClient::stopped_at(&fixture, "body");
    let frame = client.top_frame();
    let locals = client.locals_reference(frame["id"].as_i64().expect("an id"));
    let thread = client.thread();
    let source = json!({"path": fixture.source});
    let place = json!({"source": source, "line": 1});
    let code = json!({"memoryReference": frame["instructionPointerReference"],
        "instructionCount": 1});
    let usual = [
        (
            "stackTrace",
            json!({"threadId": thread}),
            &["startFrame", "levels"][..],
        ),
        (
            "variables",
            json!({"variablesReference": locals}),
            &["start", "count"],
        ),
        (
            "breakpointLocations",
            place.clone(),
            &["line", "column", "endLine", "endColumn"],
        ),
        ("gotoTargets", place, &["line", "column"]),
        (
            "disassemble",
            code,
            &["offset", "instructionOffset", "instructionCount"],
        ),
        (
            "dataBreakpointInfo",
            json!({"name": "0x1000", "asAddress": true}),
            &["bytes"],
        ),
        (
            "dataBreakpointInfo",
            json!({"name": "i", "variablesReference": locals}),
            &["bytes"],
        ),
        (
            "completions",
            json!({"text": "i", "column": 1}),
            &["column", "line"],
        ),
        ("modules", json!({}), &["startModule", "moduleCount"]),
        (
            "source",
            json!({"source": source, "sourceReference": 0}),
            &["sourceReference"],
        ),
        (
            "locations",
            json!({"locationReference": 1}),
            &["locationReference"],
        ),
        ("exceptionInfo", json!({"threadId": thread}), &["threadId"]),
        ("stepInTargets", json!({"frameId": 1}), &["frameId"]),
        ("restartFrame", json!({"frameId": 1}), &["frameId"]),
        (
            "goto",
            json!({"threadId": thread, "targetId": 1}),
            &["targetId", "threadId"],
        ),
    ];
    let numbers = [
        json!(u64::MAX),
        json!(1_u64 << 63),
        json!(i64::MAX),
        json!(i64::MIN),
    ];
    for (command, arguments, fields) in usual {
        for (field, number) in fields
            .iter()
            .flat_map(|it| numbers.iter().map(move |n| (it, n)))
        {
            let mut changed = arguments.clone();
            changed[*field] = number.clone();
            // The request may succeed or fail, but must not panic.
            if let Err(answer) = client.request(command, changed) {
                assert_ne!(
                    answer["body"]["error"]["id"], PANIC,
                    "{command} {field} {number}: {answer}"
                );
            }
        }
    }
    for (field, number) in ["line", "column"]
        .iter()
        .flat_map(|it| numbers.iter().map(move |n| (it, n)))
    {
        let mut breakpoint = json!({"line": 1});
        breakpoint[*field] = number.clone();
        let set = json!({"source": source, "breakpoints": [breakpoint]});
        if let Err(answer) = client.request("setBreakpoints", set) {
            assert_ne!(answer["body"]["error"]["id"], PANIC, "{answer}");
        }
    }
    client.expect_line(&fixture, "body");
    assert_eq!(client.evaluate("i"), "0");
    client.disconnect();
}

#[test]
fn cancel_of_a_finished_request_is_harmless() {
    let fixture = Fixture::of("c/loop.c");
    let mut client = DapClient::stopped_at(&fixture, "body");
    let sequence = client.send("threads", Value::Null);
    client.response(sequence).expect("threads");
    for id in [json!(sequence), json!(sequence), json!(0), json!(i64::MAX)] {
        client.request_ok("cancel", json!({"requestId": id}));
        client.request_ok("cancel", json!({"progressId": id.to_string()}));
    }
    client.request_ok("cancel", Value::Null);
    assert_eq!(client.evaluate("i"), "0");
    client.disconnect();
}

#[test]
fn unknown_formats_are_errors() {
    let fixture = Fixture::of("c/loop.c");
    let mut client = DapClient::stopped_at(&fixture, "body");
    for format in [
        "zz",
        "xx",
        "99999999999999999999",
        "[-1]",
        "[1e9]",
        "[",
        ",",
    ] {
        let error = client.try_evaluate(&format!("i,{format}"));
        assert!(error.is_err(), "{format}: {error:?}");
    }
    for format in [json!(7), json!({"hex": "maybe"}), json!([])] {
        let arguments = json!({"expression": "i", "format": format});
        assert_eq!(client.request_ok("evaluate", arguments)["result"], "0");
    }
    client.disconnect();
}

#[test]
fn unmapped_addresses_are_errors() {
    let fixture = Fixture::of("c/memory.c");
    let mut client = DapClient::stopped_at(&fixture, "ready");
    let pages = client.evaluate("pages + 4096");
    let guard = pages.split_whitespace().find(|word| word.starts_with("0x"));
    let guard = guard.expect("an address").to_owned();
    let maps = fs::read_to_string(format!("/proc/{}/maps", client.debuggee_pid()));
    let maps = maps.expect("the mappings");
    let start = |name: &str| {
        let line = maps.lines().find(|line| line.ends_with(name))?;
        line.split('-').next().map(|start| format!("0x{start}"))
    };
    let mut addresses = vec!["0x0", "0x8000000000000000", "0xffffffffffffffff", &guard];
    let kernels = ["[vvar]", "[vsyscall]"].map(start);
    addresses.extend(kernels.iter().flatten().map(String::as_str));
    for address in addresses {
        let write = json!({"memoryReference": address, "data": "AAAA"});
        let error = client.request_error("writeMemory", write.clone());
        assert!(error.contains("cannot write"), "{address}: {error}");
        let arguments = json!({"memoryReference": address, "instructionCount": 3,
            "instructionOffset": -3});
        let rows = client.request_ok("disassemble", arguments)["instructions"].clone();
        assert_eq!(rows.as_array().map(Vec::len), Some(3), "{address}");
        let breakpoint = json!({"instructionReference": address});
        let set = client.request_ok(
            "setInstructionBreakpoints",
            json!({"breakpoints": [breakpoint]}),
        );
        let set = &set["breakpoints"][0];
        // The page of legacy system calls contains code that cannot be written.
        assert_eq!(set["verified"], false, "{address}: {set}");
    }
    for (reference, offset) in [("0xffffffffffffffff", 1), ("0x10", -17), ("0x1", i64::MIN)] {
        let moved = json!({"memoryReference": reference, "offset": offset, "data": "AAAA"});
        let error = client.request_error("writeMemory", moved);
        assert!(error.contains("`offset`"), "{error}");
        let breakpoint = json!({"instructionReference": reference, "offset": offset});
        let set = json!({"breakpoints": [breakpoint]});
        let error = client.request_error("setInstructionBreakpoints", set);
        assert!(error.contains("`offset`"), "{error}");
    }
    assert_eq!(client.evaluate("table[9]"), "9 '\\t'");
    client.disconnect();
}

#[test]
fn bad_expressions() {
    let fixture = Fixture::of("c/structs.c");
    let mut client = DapClient::stopped_at(&fixture, "all");
    let deep = format!("{}1{}", "(".repeat(100_000), ")".repeat(100_000));
    for expression in [
        "no_such_name",
        "whole.member",
        "*whole",
        "*nothing",
        "nothing[0]",
        "*wild",
        "point.z",
        "1 / 0",
        "1 % 0",
        "(",
        ")",
        "a +",
        "\"open",
        "@#!",
        "🙂",
        deep.as_str(),
    ] {
        let shown = expression.get(..20).unwrap_or(expression).to_owned();
        match client.try_evaluate(expression) {
            Ok(value) => client.fail(&format!("`{shown}` is {value}")),
            Err(message) => assert!(!message.is_empty(), "{shown}"),
        }
    }
    client.expect_line(&fixture, "all");
    client.disconnect();
}
