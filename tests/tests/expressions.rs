//! Expressions as clients send them: how values are shown, completions, assignments by
//! expression, registers, earlier results.

use serde_json::{Value, json};
use stillpoint_tests::{DapClient, Fixture, MACHINE};

/// An evaluation in the innermost frame, for a purpose.
fn evaluate_for(client: &mut DapClient, context: &str, expression: &str) -> Result<Value, Value> {
    let frame = client.top_frame()["id"].clone();
    client.request(
        "evaluate",
        json!({"expression": expression, "frameId": frame, "context": context}),
    )
}

fn repl(client: &mut DapClient, expression: &str) -> String {
    match evaluate_for(client, "repl", expression) {
        Ok(body) => body["result"].as_str().unwrap_or_default().to_owned(),
        Err(response) => response["body"]["error"]["format"]
            .as_str()
            .unwrap_or_default()
            .to_owned(),
    }
}

#[test]
fn format_specifiers_apply() {
    let fixture = Fixture::of("c/structs.c");
    let mut client = DapClient::stopped_at(&fixture, "all");
    for (expression, expected) in [
        ("array[1],x", "0x14"),
        ("byte,b", "0b11001000"),
        ("letter,d", "65"),
        ("65,c", "'A'"),
        ("color,d", "5"),
        ("(array, 2)", "2"),
        ("*array@2", "{10, 20}"),
        ("pointer@1", "{-123454}"),
        ("&array[3],2", "{40, 50}"),
        ("array,[2]x", "error"),
        ("array,[2],x", "{0xa, 0x14}"),
        ("buffer,s", "\"abc\""),
        ("color == GREEN && GREEN == color", "1"),
        ("text[0] == 'h'", "1"),
    ] {
        let shown = client.try_evaluate(expression);
        let shown = shown.unwrap_or_else(|_| "error".to_owned());
        assert_eq!(shown, expected, "{expression}");
    }
    // Children are formatted like the whole, and their expressions lack the format.
    let body = client.evaluated("array,x").expect("an array");
    let children = client.variables(body["variablesReference"].as_i64().expect("a number"));
    assert_eq!(children[4]["value"], "0x32");
    assert_eq!(children[4]["evaluateName"], "array[4]");
    client.disconnect();
}

#[test]
fn mistakes_are_marked_in_the_console() {
    let fixture = Fixture::of("c/structs.c");
    let mut client = DapClient::stopped_at(&fixture, "all");
    assert_eq!(
        repl(&mut client, "1 + wole * 2"),
        "no variable `wole` in this frame; did you mean `whole`?\n  1 + wole * 2\n      ^^^^"
    );
    let member = repl(&mut client, "outer.lable");
    assert!(member.contains("did you mean `label`?"), "{member}");
    assert!(member.ends_with("\n        ^^^^^"), "{member}");
    // In a list of watches there is one line.
    let watch = client.try_evaluate("wole").expect_err("no such variable");
    assert!(
        !watch.contains('\n') && watch.contains("`whole`"),
        "{watch}"
    );
    // Looking never changes anything.
    let hover = evaluate_for(&mut client, "hover", "whole = 1");
    assert!(hover.is_err());
    assert_eq!(client.evaluate("whole"), "-123454");
    client.disconnect();
}

/// The completions of a text with the cursor at its end, and the part they replace.
fn completed(client: &mut DapClient, text: &str) -> (Vec<String>, Option<(i64, i64)>) {
    let frame = client.top_frame()["id"].clone();
    let column = text.encode_utf16().count() + 1;
    let body = client.request_ok(
        "completions",
        json!({"text": text, "column": column, "frameId": frame}),
    );
    let targets = body["targets"].as_array().expect("targets").clone();
    let labels = targets
        .iter()
        .map(|it| it["label"].as_str().unwrap_or_default().to_owned());
    let place = targets.first().and_then(|it| {
        let number = |key: &str| it[key].as_i64();
        Some((number("start")?, number("length")?))
    });
    (labels.collect(), place)
}

#[test]
fn completions() {
    let fixture = Fixture::of("c/structs.c");
    let mut client = DapClient::stopped_at(&fixture, "all");
    let capabilities = client
        .history()
        .iter()
        .find(|it| it["command"] == "initialize" && it["type"] == "response")
        .expect("an answer")["body"]
        .clone();
    assert_eq!(capabilities["supportsCompletionsRequest"], true);
    assert_eq!(capabilities["supportsSetExpression"], true);
    let all = |labels: &[&str]| labels.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
    let (labels, place) = completed(&mut client, "1 + wh");
    assert_eq!((labels, place), (all(&["whole"]), Some((5, 2))));
    let (labels, place) = completed(&mut client, "2 * outer.points[1].");
    assert_eq!((labels, place), (all(&["x", "y"]), Some((21, 0))));
    let (labels, _) = completed(&mut client, "first.next->v");
    assert_eq!(labels, all(&["value"]));
    let (labels, _) = completed(&mut client, "outer.l");
    assert_eq!(labels, all(&["left", "label"]));
    let (prefix, registers) = MACHINE.prefix;
    let (labels, place) = completed(&mut client, prefix);
    let replaced = Some((2, prefix.len() as i64 - 1));
    assert_eq!((labels, place), (all(registers), replaced));
    let (labels, _) = completed(&mut client, "glob");
    assert_eq!(labels, all(&["global_counter", "global_text"]));
    // After a character of two UTF-16 code units.
    let (labels, place) = completed(&mut client, "\"🦀\" + whol");
    assert_eq!((labels, place), (all(&["whole"]), Some((8, 4))));
    assert_eq!(completed(&mut client, "nowhere.").0, all(&[]));
    let (labels, _) = completed(&mut client, "((((");
    assert!(labels.contains(&"whole".to_owned()), "{labels:?}");
    client.disconnect();

    let fixture = Fixture::of("rust/values.rs");
    let mut client = DapClient::stopped_at(&fixture, "all");
    let (labels, _) = completed(&mut client, "vector.is_");
    assert_eq!(labels, all(&["is_empty", "is_sorted"]));
    let (labels, _) = completed(&mut client, "boxed.");
    assert_eq!(labels, all(&["as_ref", "x", "y"]));
    client.disconnect();
}

#[test]
fn expressions_are_assigned_to() {
    let fixture = Fixture::of("c/structs.c");
    let mut client = DapClient::stopped_at(&fixture, "all");
    let frame = client.top_frame()["id"].clone();
    let mut set = |expression: &str, value: &str| {
        let body = client.request(
            "setExpression",
            json!({"expression": expression, "value": value, "frameId": frame}),
        );
        match body {
            Ok(body) => body["value"].as_str().unwrap_or_default().to_owned(),
            Err(response) => response["body"]["error"]["format"]
                .as_str()
                .unwrap_or_default()
                .to_owned(),
        }
    };
    for (expression, value, shown) in [
        ("array[2]", "0x10 + 1", "17"),
        ("outer.points[1].y,x", "255", "0xff"),
        ("*pointer", "-5", "-5"),
        ("first.next->value", "whole", "-5"),
        ("color", "BLUE", "BLUE"),
        ("yes", "false", "false"),
        ("letter", "'z'", "122 'z'"),
        ("buffer", "\"hello\"", "\"hello\""),
        ("buffer[4]", "0", "0 '\\x00'"),
        ("packed.middle", "-8", "-8"),
        ("nothing", "buffer", "\"hell\""),
        ("real", "1", "1"),
    ] {
        let now = set(expression, value);
        assert!(now.contains(shown), "{expression} = {value}: {now}");
    }
    for (expression, value, why) in [
        ("buffer", "\"much too long\"", "do not fit"),
        ("text", "\"abc\"", "has no address in the program"),
        ("1 + 1", "3", "computed value"),
        ("packed.middle", "99", "out of range for 5 bits"),
        ("point", "1", "expected a"),
        ("nowhere", "1", "no variable"),
        ("whole", "1 +", "unexpected end of expression"),
    ] {
        let now = set(expression, value);
        assert!(now.contains(why), "{expression} = {value}: {now}");
    }
    client.disconnect();
}

#[test]
fn conditions_and_messages_use_the_same_language() {
    let fixture = Fixture::of("c/recursion.c");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({}));
    client.set_breakpoints_with(
        &fixture,
        vec![(
            "bottom",
            json!({"logMessage": "n is {n,x} and {(n, n + 1),b}"}),
        )],
    );
    client.configure();
    client.expect_exit();
    let output = client.output("console");
    assert!(output.contains("n is 0x1 and 0b10"), "{output}");
    client.disconnect();
}

#[test]
fn enumerators_by_their_bare_names() {
    let fixture = Fixture::of("c/structs.c");
    let mut client = DapClient::stopped_at(&fixture, "all");
    assert_eq!(client.evaluate("GREEN"), "GREEN");
    assert_eq!(client.evaluate("GREEN + 1"), client.evaluate("color + 1"));
    assert_eq!(
        client.evaluate("FLAG_A | FLAG_C"),
        client.evaluate("(int)both")
    );
    let error = client.try_evaluate("NO_SUCH_COLOR").unwrap_err();
    assert!(error.contains("NO_SUCH_COLOR"), "{error}");
}
