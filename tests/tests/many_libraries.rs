//! Programs that load thousands of libraries: each costs as much as the first.

use serde_json::{Value, json};
use std::fs;
use stillpoint_tests::{DapClient, Fixture};

const LIBRARIES: usize = 2000;
/// The program stops after so many, and each such part has the time that an event may take.
const PART: usize = 200;

/// Goes through the stops of all libraries at a line of the loop.
fn pass_parts(client: &mut DapClient, fixture: &Fixture, marker: &str) {
    for _ in 0..LIBRARIES / PART {
        client.expect_stopped("breakpoint");
        client.expect_line(fixture, marker);
        client.continue_();
    }
}

#[test]
fn libraries_come_and_go_under_many_breakpoints() {
    let fixture = Fixture::of("c/many_libraries.c");
    let plugin = fixture.sibling("shared_plugin.c");
    let library = fixture.program.with_file_name("libshared_plugin.so");
    let folder = tempfile::tempdir().expect("a folder");
    for index in 0..LIBRARIES {
        let copy = folder.path().join(format!("{index}.so"));
        fs::copy(&library, copy).expect("copied");
    }
    let mut client = DapClient::spawn();
    client.launch(
        &fixture,
        json!({"args": [folder.path(), LIBRARIES.to_string()]}),
    );
    let never = json!({"condition": "sum < 0"});
    let markers = ["opened", "closed", "end"];
    let mut wanted: Vec<(&str, Value)> = markers.map(|marker| (marker, json!({}))).into();
    wanted.push(("opening", never));
    for marker in ["more", "less"] {
        wanted.push((marker, json!({"hitCondition": format!("% {PART}")})));
    }
    client.set_breakpoints_with(&fixture, wanted);
    // Breakpoints in sources that no library was compiled from.
    for index in 0..100 {
        let breakpoint = json!({"line": 3});
        client.set_source_breakpoints(&format!("/nowhere/{index}.c"), vec![breakpoint]);
    }
    client.configure();
    pass_parts(&mut client, &fixture, "more");
    client.expect_stopped("breakpoint");
    client.expect_line(&fixture, "opened");
    client.set_breakpoints(&plugin, &["plugin"]);
    client.continue_();
    client.expect_stopped("breakpoint");
    client.expect_line(&plugin, "plugin");
    client.continue_();
    pass_parts(&mut client, &fixture, "less");
    client.expect_stopped("breakpoint");
    client.expect_line(&fixture, "closed");
    client.continue_();
    client.expect_stopped("breakpoint");
    client.expect_line(&plugin, "plugin");
    client.continue_to(&fixture, "end");
    client.continue_();
    assert_eq!(client.expect_exit(), 0);
    assert_eq!(client.output("stdout"), "sum 6\n");
    client.disconnect();
}
