//! Frames of libraries: editors fold them, and the command line shows what the program itself did.

use serde_json::{Value, json};
use std::process::Stdio;
use stillpoint_tests::{DapClient, Fixture, command};

/// The first frame that is not folded.
fn shown(client: &mut DapClient) -> Value {
    let stack = client.stack();
    let first = stack
        .iter()
        .find(|frame| frame["presentationHint"] != "subtle");
    first.expect("a frame of the program").clone()
}

fn started(arguments: Value) -> (Fixture, DapClient) {
    let fixture = Fixture::of("cpp/library_frames.cpp");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({"args": arguments}));
    (fixture, client)
}

#[test]
fn callers_in_libraries_are_folded_at_a_breakpoint() {
    let (fixture, mut client) = started(json!([]));
    client.set_breakpoints(&fixture, &["less"]);
    client.configure();
    client.expect_stopped("breakpoint");
    let stack = client.stack();
    let folded = |frame: &Value| frame["presentationHint"] == "subtle";
    let own: Vec<&Value> = stack.iter().filter(|frame| !folded(frame)).collect();
    let lines: Vec<i64> = own
        .iter()
        .filter_map(|frame| frame["line"].as_i64())
        .collect();
    assert_eq!(
        lines,
        [fixture.line("less"), fixture.line("sort")].map(|it| it as i64),
        "{stack:#?}"
    );
    client.disconnect();
}

#[test]
fn a_stop_in_a_library_is_shown() {
    let (_, mut client) = started(json!([]));
    let set = json!({"breakpoints": [{"name": "std::vector<int, std::allocator<int> >::at"}]});
    client.request_ok("setFunctionBreakpoints", set);
    client.configure();
    client.expect_stopped("function breakpoint");
    let name = shown(&mut client)["name"]
        .as_str()
        .expect("a name")
        .to_owned();
    assert!(name.contains("::at"), "{name}");
    client.disconnect();
}

#[test]
fn a_pause_shows_the_programs_own_code() {
    let (fixture, mut client) = started(json!(["wait"]));
    client.configure();
    client.wait_event_where("output", |it| it["output"] == "ready\n");
    client.request_ok("pause", json!({"threadId": 0}));
    client.expect_stopped("pause");
    let threads = client.request_ok("threads", Value::Null);
    let main = threads["threads"][0]["id"].as_i64().expect("a thread");
    client.select_thread(main);
    assert_eq!(shown(&mut client)["line"], fixture.line("join"));
    client.disconnect();
}

#[test]
fn the_command_line_shows_the_programs_own_code() {
    let cpp = Fixture::of("cpp/library_frames.cpp");
    let rust = Fixture::of("rust/panics.rs");
    for (fixture, argument, print, place, value) in [
        (&cpp, None, "wanted", "pick", "wanted = 7"),
        (&rust, Some("unwrap"), "1 + 1", "unwrap", "1 + 1 = 2"),
    ] {
        let output = command()
            .args([
                "run",
                "--break",
                "no_such_place",
                "--pending",
                "--print",
                print,
            ])
            .arg(&fixture.program)
            .args(argument)
            .stdin(Stdio::null())
            .output()
            .expect("its output");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let source = fixture
            .source
            .file_name()
            .expect("a name")
            .to_string_lossy();
        let place = format!("{source}:{}", fixture.line(place));
        let second = text.lines().nth(1).unwrap_or_default();
        assert!(second.ends_with(&place), "{text}");
        assert!(text.contains(&format!("  {value}\n")), "{text}");
    }
}
