//! Names in conditions and log messages: unknown ones are reported when the breakpoint is set.

use serde_json::{Value, json};
use stillpoint_tests::{DapClient, Fixture, MACHINE};

/// The message of a breakpoint whose names are still searched.
const LOOKING: &str = "searching debug info for its names";

/// Returns the message of a breakpoint with an unknown name, immediately or after the index is
/// complete.
fn message_of(client: &mut DapClient, set: &Value) -> String {
    let set = checked(client, set);
    assert_eq!(set["verified"], true, "{set}");
    set["message"].as_str().expect("a text").to_owned()
}

/// Waits until a breakpoint's names have been searched, and returns its last description, with a message.
fn checked(client: &mut DapClient, set: &Value) -> Value {
    let is_final = |message: &&str| !message.starts_with(LOOKING);
    if set["message"].as_str().filter(is_final).is_some() {
        return set.clone();
    }
    let event = client.wait_event_where("breakpoint", |body| {
        let breakpoint = &body["breakpoint"];
        breakpoint["id"] == set["id"] && breakpoint["message"].as_str().filter(is_final).is_some()
    });
    event["breakpoint"].clone()
}

/// Sets a breakpoint there, with such a condition.
fn set(client: &mut DapClient, fixture: &Fixture, marker: &str, condition: &str) -> Value {
    let condition = json!({"condition": condition});
    client.set_breakpoints_with(fixture, vec![(marker, condition)])[0].clone()
}

#[test]
fn unknown_name_is_reported_when_set() {
    let fixture = Fixture::of("c/loop.c");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({}));
    client.set_breakpoints(&fixture, &["main"]);
    client.configure();
    client.expect_stopped("breakpoint");
    for (condition, wrong) in [
        (
            "scael > 3",
            "no variable `scael` at this location; did you mean `scale`?",
        ),
        (
            "i > 1 && (int)nowhere == 3",
            "no variable `nowhere` at this location",
        ),
        // A `static` variable of the C library, where its debug info is installed.
        ("name > 3", "no variable `name` at this location"),
        (
            "((struct nowhere *)&i)->x",
            "no type `struct nowhere` at this location",
        ),
        (
            "sizeof(nowhere) > 3",
            "no variable `nowhere` at this location",
        ),
    ] {
        let set = set(&mut client, &fixture, "body", condition);
        let message = message_of(&mut client, &set);
        assert!(message.contains(wrong), "{condition}: {message}");
        assert!(
            message.contains(condition) && message.contains("loaded later"),
            "{message}"
        );
    }
    let message = json!({"logMessage": "{i} of {limit}"});
    let set_one = client.set_breakpoints_with(&fixture, vec![("body", message)])[0].clone();
    let message = message_of(&mut client, &set_one);
    assert!(
        message.starts_with("log message `limit`: no variable"),
        "{message}"
    );
    // Names after `$` are not defined by libraries.
    let wrong = set(&mut client, &fixture, "body", "$rxa == 3");
    assert_eq!(
        (&wrong["verified"], &wrong["reason"]),
        (&json!(false), &json!("failed"))
    );
    let message = wrong["message"].as_str().expect("a message");
    assert!(message.contains("no register `$rxa`"), "{message}");
    // After the correction, there is no message.
    for condition in ["i == 2", "scale > 3 && $edi == 2 || $thread_name == \"x\""] {
        let right = set(&mut client, &fixture, "body", condition);
        assert_eq!(right["verified"], true);
        assert!(is_right(&right), "{right}");
    }
    set(&mut client, &fixture, "body", "i == 2");
    client.continue_();
    client.expect_stopped("breakpoint");
    assert_eq!(client.locals()["i"], "2");
    client.disconnect();
}

#[test]
fn unknown_member_is_reported_when_set() {
    for (source, marker, cases) in [
        (
            "c/structs.c",
            "inner",
            &[
                (
                    "outer.cornr.x == 1",
                    "no member `cornr` in `outer` (struct outer); did you mean `corner`?",
                ),
                (
                    "outer.points[1].width > 2 || small",
                    "no member `width` in `outer.points[1]` (struct point); it has x, y",
                ),
                (
                    "first.next != 0 && first.next->valeu == 3",
                    "no member `valeu` in `first.next` (struct node *); did you mean `value`?",
                ),
                (
                    "addd(1, 2) == 3",
                    "no function `addd` at this location; did you mean `add`?",
                ),
                (
                    "nosuch_function(1)",
                    "no function `nosuch_function` at this location",
                ),
            ][..],
        ),
        (
            "cpp/classes.cpp",
            "template_return",
            &[(
                "larger_than(1, 2)",
                "no function `larger_than` at this location",
            )],
        ),
        (
            "rust/tour.rs",
            "area",
            &[
                (
                    "self.3 > 1.0",
                    "no member `3` in `self` (&tour::Square); it has 0",
                ),
                ("self.0 > true", "mismatched types `f64` and `bool`"),
                ("self.0 + 1 > 2.0", "mismatched types `f64` and `i32`"),
            ],
        ),
    ] {
        let fixture = Fixture::of(source);
        let mut client = DapClient::stopped_at(&fixture, marker);
        for (condition, wrong) in cases {
            let set = set(&mut client, &fixture, marker, condition);
            let set = checked(&mut client, &set);
            let message = set["message"].as_str().expect("a text");
            assert!(message.contains(wrong), "{condition}: {message}");
            // A library that is loaded later may define a function, but changes no type.
            let is_name = wrong.starts_with("no function");
            assert_eq!(set["verified"], is_name, "{set}");
            assert_eq!(set["reason"] == "failed", !is_name, "{set}");
        }
        client.disconnect();
    }
}

#[test]
fn what_cannot_hold_by_its_types_is_not_verified() {
    let fixture = Fixture::of("c/condition_calls.c");
    for (what, text, wrong) in [
        ("condition", "(asked = 3)", "assignments are allowed only"),
        ("condition", "is_it()", "`is_it` takes long"),
        ("condition", "i.member == 1", "has no members"),
        ("condition", "*i", "is not a pointer"),
        ("logMessage", "i is {i.member}", "has no members"),
        ("logMessage", "{i} {is_it(1, 2)}", "`is_it` takes long"),
        ("logMessage", "{:trace count() by *i}", "is not a pointer"),
        (
            "logMessage",
            "{:trace count() where *i}",
            "is not a pointer",
        ),
    ] {
        let mut client = DapClient::spawn();
        client.launch(&fixture, json!({}));
        let places = vec![("few", json!({what: text}))];
        let set = client.set_breakpoints_with(&fixture, places)[0].clone();
        let set = match set["reason"] == "pending" || set["message"].is_null() {
            true => set.clone(),
            false => checked(&mut client, &set),
        };
        client.configure();
        assert_eq!(client.expect_exit(), 0, "{text}");
        assert_eq!(
            (&set["verified"], &set["reason"]),
            (&json!(false), &json!("failed")),
            "{set}"
        );
        let message = set["message"].as_str().expect("a text");
        assert!(message.contains(wrong), "{message}");
        client.disconnect();
    }
}

#[test]
fn edited_condition_is_checked_anew() {
    let fixture = Fixture::of("c/condition_calls.c");
    let mut client = DapClient::stopped_at(&fixture, "few");
    let wrong = set(&mut client, &fixture, "few", "i.member");
    assert_eq!(checked(&mut client, &wrong)["verified"], false);
    let right = set(&mut client, &fixture, "few", "i == 2");
    assert_eq!(right["verified"], true, "{right}");
    client.disconnect();
}

#[test]
fn condition_that_fails_at_run_time_stops_once() {
    let fixture = Fixture::of("c/traces.c");
    let when = |condition: &str| json!({"condition": condition});
    for (condition, why) in [
        ("1 / (order->n - order->n) == 1", "division by zero"),
        ("((struct order *)8)->n == 1", "cannot read"),
        ("nowhere == 1", "no variable `nowhere`"),
    ] {
        let mut client = DapClient::spawn();
        client.launch(&fixture, json!({"args": ["600", "2"]}));
        client.set_breakpoints_with(&fixture, vec![("handle", when(condition))]);
        client.configure();
        let stopped = client.expect_stopped("breakpoint");
        let text = stopped["text"].as_str().expect("a text");
        assert!(
            text.contains(why) && text.contains("do not stop again"),
            "{text}"
        );
        client.continue_();
        assert_eq!(client.expect_exit(), 0, "{condition}");
        client.disconnect();
    }
}

#[test]
fn tracepoint_whose_filter_fails_does_not_stop() {
    let fixture = Fixture::of("c/traces.c");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({"args": ["600", "1"]}));
    let query = json!({"logMessage": "{:trace count() where ((struct order *)8)->n == 1}"});
    client.set_breakpoints_with(&fixture, vec![("handle", query)]);
    client.configure();
    assert_eq!(client.expect_exit(), 0);
    let shown = client.request_ok(
        "evaluate",
        json!({"expression": ":trace", "context": "repl"}),
    );
    let shown = shown["result"].as_str().expect("a text");
    assert!(
        shown.contains("hits are missing: condition") && shown.contains("cannot read"),
        "{shown}"
    );
    client.disconnect();
}

/// None of these causes a message, also when all names are indexed.
fn assert_known(source: &str, marker: &str, conditions: &[&str]) {
    let fixture = Fixture::of(source);
    let mut client = DapClient::stopped_at(&fixture, marker);
    for condition in conditions {
        let set = set(&mut client, &fixture, marker, condition);
        assert_eq!(set["verified"], true, "{condition}");
        // Until names are indexed, this is the only message.
        let message = set["message"].as_str();
        let is_looking = message.is_some_and(|it| it.starts_with(LOOKING));
        assert!(is_looking || is_right(&set), "{set}");
    }
    let wrong = set(&mut client, &fixture, marker, "nowhere == 1");
    let message = message_of(&mut client, &wrong);
    assert!(message.contains("nowhere"), "{message}");
    for condition in conditions {
        let set = set(&mut client, &fixture, marker, condition);
        assert!(is_right(&set), "{condition}: {set}");
        assert_eq!(set["verified"], true, "{condition}");
    }
    client.disconnect();
}

/// Returns whether nothing is wrong with a breakpoint: there is no message but that the debugger will evaluate it.
fn is_right(set: &Value) -> bool {
    let message = set["message"].as_str();
    message.is_none_or(|it| it.starts_with("evaluated by the debugger at each hit: "))
}

#[test]
fn existing_names_cause_no_message() {
    assert_known(
        "c/structs.c",
        "add",
        &[
            "a + b > 3 && global_counter == 42",
            "a == GREEN || a == FLAG_B",
            "global_text[0] == 'g' && add != 0 && main != printf",
            "((struct node *)0 == 0) && sizeof(point_alias) == sizeof(struct point)",
            &format!(
                "${} == 3 && ${} != 2 && ${}.f32[0] == 0 && $_ == 1",
                MACHINE.argument, MACHINE.result32, MACHINE.vector
            ),
            "$caller_is(\"main\") && (enum color)GREEN == 5",
        ],
    );
    assert_known(
        "cpp/classes.cpp",
        "area",
        &[
            "product == 1 || width_ > 3 && serial == 7",
            "this->height_ == 2 && made == 11 && Rectangle::made == 11",
            "geometry::detail::depth == 3 && Level::High != Level::Low",
            "dynamic_cast<const geometry::Square *>(this) != 0",
        ],
    );
    assert_known(
        "c/structs.c",
        "inner",
        &[
            "outer.hidden == 3 && outer.left == 4 && points[1].x == 3 && packed.low != 5",
            "first.next->next == 0 && number.bytes[0] == 0 && outer.operation(1, 2) == 3",
            "point_alias(alias).x == 1 || (*&first).value == 1",
        ],
    );
    assert_known(
        "cpp/classes.cpp",
        "all",
        &[
            "base->side_ == 6 && square.serial == 7 && rectangle.made == 11",
            "fixed.items[0] == 4 && fixed.first() == 4 && rectangle.area() == 6",
        ],
    );
    assert_known(
        "rust/tour.rs",
        "print",
        &["keeper.name.is_some() && keeper.shape.0 > 1.0 && map.len() == 1"],
    );
    assert_known(
        "cpp/lambdas.cpp",
        "body",
        &["first + second + x > 2", "step == 3", "third > 1"],
    );
    assert_known(
        "rust/tour.rs",
        "match",
        &[
            "level == Level::Low || level == tour::Level::High",
            "1 < i32::MAX && level as u8 == 1u8",
        ],
    );
    assert_known("rust/tour.rs", "area", &["self.0 > 1.0"]);
    // The other side has the type of a bare variant.
    assert_known(
        "rust/made.rs",
        "end",
        &[
            "size == Large && opt == Some(3)",
            "failed == Err(2)",
            "code_of(&Code(4)) == 4",
        ],
    );
}

#[test]
fn unknown_name_may_come_with_a_library() {
    let fixture = Fixture::of("c/shared_main.c");
    let mut client = DapClient::stopped_at(&fixture, "call_linked");
    let set = set(&mut client, &fixture, "call_plugin", "plugin_thrice != 0");
    let message = message_of(&mut client, &set);
    assert!(message.contains("no variable `plugin_thrice`"), "{message}");
    client.continue_();
    let changed = client.wait_event_where("breakpoint", |body| {
        body["breakpoint"]["id"] == set["id"] && body["breakpoint"]["message"].is_null()
    });
    assert_eq!(changed["breakpoint"]["verified"], true);
    client.expect_stopped("breakpoint");
    client.expect_line(&fixture, "call_plugin");
    client.disconnect();
}
