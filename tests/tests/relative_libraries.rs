//! Shared libraries that the program names by relative paths: the file is the one that is mapped,
//! wherever the program is by now.

use serde_json::{Value, json};
use stillpoint_tests::process::Debuggee;
use stillpoint_tests::{DapClient, Fixture};

const RELATIVE: &str = "./libshared_plugin.so";

/// The program stops in its library, which is shown with its variables.
#[track_caller]
fn stops_in_the_library(settings: Value) {
    let fixture = Fixture::of("c/relative_plugin.c");
    let plugin = fixture.sibling("shared_plugin.c");
    let mut client = DapClient::spawn();
    client.launch(&fixture, settings);
    client.set_breakpoints(&plugin, &["plugin"]);
    client.configure();
    client.expect_stopped("breakpoint");
    client.expect_line(&plugin, "plugin");
    assert_eq!(client.evaluate("value"), "3");
    client.wait_event_where("module", |body| {
        let path = body["module"]["path"].as_str();
        path.is_some_and(|it| it.starts_with('/') && it.ends_with("/libshared_plugin.so"))
    });
    client.continue_();
    assert_eq!(client.expect_exit(), 0);
    client.disconnect();
}

#[test]
fn a_library_that_is_opened_by_a_relative_path() {
    stops_in_the_library(json!({"args": [RELATIVE]}));
}

#[test]
fn a_library_that_is_searched_for_in_the_current_folder() {
    let env = json!({"LD_LIBRARY_PATH": "."});
    stops_in_the_library(json!({"args": ["libshared_plugin.so"], "env": env}));
}

#[test]
fn a_library_in_a_namespace_of_its_own() {
    stops_in_the_library(json!({"args": [RELATIVE, "namespace"]}));
}

#[test]
fn libraries_that_are_linked_in_the_current_folder() {
    let fixture = Fixture::of("c/shared_main.c");
    let library = fixture.sibling("shared_linked.c");
    let folder = fixture.program.parent().expect("a folder");
    let mut client = DapClient::spawn();
    let settings = json!({"cwd": folder, "env": {"LD_LIBRARY_PATH": "."}});
    client.launch(&fixture, settings);
    client.set_breakpoints(&library, &["linked"]);
    client.configure();
    client.expect_stopped("breakpoint");
    client.expect_line(&library, "linked");
    client.disconnect();
}

#[test]
fn attach_after_the_library_was_opened() {
    let fixture = Fixture::of("c/relative_plugin.c");
    let plugin = fixture.sibling("shared_plugin.c");
    let debuggee = Debuggee::start(&fixture, &[RELATIVE, "on"]);
    assert_eq!(debuggee.read_line(), "open");
    let mut client = DapClient::spawn();
    client.attach(debuggee.pid(), json!({}));
    client.set_breakpoints(&plugin, &["plugin"]);
    client.configure();
    client.expect_stopped("breakpoint");
    client.expect_line(&plugin, "plugin");
    client.disconnect();
    debuggee.expect_running();
}

#[test]
fn child_has_the_library() {
    let fixture = Fixture::of("c/relative_plugin.c");
    let plugin = fixture.sibling("shared_plugin.c");
    let mut client = DapClient::spawn();
    let settings = json!({"args": [RELATIVE, "fork"], "followFork": "child"});
    client.launch(&fixture, settings);
    client.set_breakpoints(&plugin, &["plugin"]);
    client.configure();
    client.expect_stopped("breakpoint");
    client.expect_line(&plugin, "plugin");
    assert_eq!(client.evaluate("value"), "2");
    client.disconnect();
}
