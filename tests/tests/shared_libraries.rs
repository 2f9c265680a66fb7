//! Shared libraries: linked, and opened later.

use serde_json::json;
use stillpoint_tests::{Compiler, DapClient, Fixture, Flags};

#[test]
fn a_linked_library() {
    for compiler in [Compiler::Gcc, Compiler::Clang] {
        let Some(fixture) = Fixture::build("c/shared_main.c", Flags::new(compiler)) else {
            continue;
        };
        let library = fixture.sibling("shared_linked.c");
        let mut client = DapClient::spawn();
        client.launch(&fixture, json!({}));
        client.set_breakpoints(&library, &["linked"]);
        client.configure();
        client.expect_stopped("breakpoint");
        client.expect_line(&library, "linked");
        assert_eq!(client.locals()["value"], "4");
        assert_eq!(client.function_names()[..2], ["linked_twice", "main"]);
        client.step_out();
        client.expect_line(&fixture, "call_linked");
        client.disconnect();
    }
}

#[test]
fn step_through_the_linkage_table() {
    let fixture = Fixture::of("c/shared_main.c");
    let library = fixture.sibling("shared_linked.c");
    let mut client = DapClient::stopped_at(&fixture, "call_linked");
    client.step_in();
    client.expect_line(&library, "linked");
    client.step_out();
    client.expect_line(&fixture, "call_linked");
    client.next();
    client.expect_line(&fixture, "open");
    client.disconnect();
}

#[test]
fn a_library_opened_later() {
    let fixture = Fixture::of("c/shared_main.c");
    let plugin = fixture.sibling("shared_plugin.c");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({}));
    let pending = client.set_breakpoints(&plugin, &["plugin"]);
    assert_eq!(pending[0]["verified"], false);
    client.configure();
    let id = pending[0]["id"].clone();
    let event = client.wait_event_where("breakpoint", |body| body["breakpoint"]["id"] == id);
    assert_eq!(event["reason"], "changed");
    assert_eq!(event["breakpoint"]["verified"], true);
    assert_eq!(event["breakpoint"]["line"], plugin.line("plugin"));
    assert_eq!(
        event["breakpoint"]["source"]["path"].as_str(),
        plugin.source.to_str()
    );
    let stop = client.expect_stopped("breakpoint");
    assert_eq!(stop["hitBreakpointIds"], json!([id]));
    client.expect_line(&plugin, "plugin");
    assert_eq!(client.evaluate("value"), "8");
    client.set_breakpoints(&fixture, &["close"]);
    client.continue_to(&fixture, "close");
    client.continue_();
    assert_eq!(client.expect_exit(), 0);
    client.disconnect();
}

#[test]
fn a_function_of_a_library_opened_later() {
    let fixture = Fixture::of("c/shared_main.c");
    let plugin = fixture.sibling("shared_plugin.c");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({}));
    let pending = client.set_function_breakpoints(&["plugin_thrice"]);
    assert_eq!(pending[0]["verified"], false);
    client.configure();
    client.expect_stopped("function breakpoint");
    client.expect_line(&plugin, "plugin");
    client.disconnect();
}

#[test]
fn modules_come() {
    let fixture = Fixture::of("c/shared_main.c");
    let mut client = DapClient::stopped_at(&fixture, "call_plugin");
    for name in ["shared_main", "libshared_linked.so", "libshared_plugin.so"] {
        client.wait_event_where("module", |body| {
            body["module"]["path"]
                .as_str()
                .is_some_and(|path| path.ends_with(name))
        });
    }
    client.disconnect();
}

/// Each instruction of a stub with a landing pad is in a frame of its own, below its caller.
#[cfg(target_arch = "aarch64")]
#[test]
fn stubs_with_landing_pads_are_passed() {
    let fixture = Fixture::of("c/guarded.c");
    let mut client = DapClient::stopped_at(&fixture, "call");
    let mut in_stub = 0;
    for _ in 0..40 {
        let thread = client.thread();
        client.request_ok(
            "stepIn",
            json!({"threadId": thread, "granularity": "instruction"}),
        );
        client.expect_stopped("step");
        let names = client.function_names();
        match names[0].as_str() {
            "main" => continue,
            "linked_twice" => break,
            stub => assert_eq!(stub, "linked_twice@plt"),
        }
        assert_eq!(names[1], "main");
        in_stub += 1;
    }
    // bti c; adrp; ldr; add; br
    assert_eq!(in_stub, 5);
    client.set_breakpoints(&fixture, &["back"]);
    client.continue_to(&fixture, "back");
    client.step_in();
    assert_eq!(client.function_names()[..2], ["linked_twice", "main"]);
    client.disconnect();
}

/// A member is where the loader has bound it, and in the thread, through an object as by its name; a global of the
/// member's name is another variable.
#[test]
fn static_members_of_a_library_through_objects() {
    const SAME: &[(&str, &str)] = &[
        ("kept.count", "48"),
        ("kept.mine", "59"),
        ("(&kept)->count", "48"),
        ("Kept::count", "48"),
        ("Kept::mine", "59"),
    ];
    for compiler in [Compiler::Gcc, Compiler::Clang] {
        let flags = Flags::new(compiler);
        let Some(fixture) = Fixture::build("cpp/shared_members.cpp", flags) else {
            continue;
        };
        let library = fixture.sibling("shared_members_library.cpp");
        let mut client = DapClient::spawn();
        client.launch(&fixture, json!({}));
        client.set_breakpoints(&library, &["in_library"]);
        client.configure();
        client.expect_stopped("breakpoint");
        let mut shown = Vec::new();
        let mut look = |client: &mut DapClient, place: &str| {
            for (expression, value) in SAME {
                let found = client.try_evaluate(expression);
                if found.as_deref() != Ok(value) {
                    shown.push(format!("{compiler:?} {place}: {expression} is {found:?}"));
                }
            }
            let object = client.evaluated("kept").expect("an object");
            let parts = client.children(&object);
            for (name, value) in [("own", "3"), ("count", "48"), ("mine", "59")] {
                if parts.get(name).is_none_or(|it| it != value) {
                    shown.push(format!("{compiler:?} {place}: {name} of {parts:?}"));
                }
            }
        };
        look(&mut client, "library");
        client.set_breakpoints(&fixture, &["end"]);
        client.continue_to(&fixture, "end");
        look(&mut client, "program");
        assert_eq!(client.evaluate("count"), "1000");
        assert!(shown.is_empty(), "{shown:#?}");
        client.disconnect();
    }
}
