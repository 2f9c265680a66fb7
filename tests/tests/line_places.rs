//! The locations of a line: one stop per pass, in the requested frame and line, never in another
//! function.

use serde_json::{Value, json};
use std::fs;
use stillpoint_tests::lines::{statement_lines, unbound_lines};
use stillpoint_tests::{Compiler, DapClient, Fixture, Flags};

const COMPILERS: [Compiler; 2] = [Compiler::Gcc, Compiler::Clang];

fn at(source: &str, level: &'static str) -> impl Iterator<Item = (Compiler, Fixture)> {
    let built = move |compiler| {
        let flags = Flags::new(compiler).optimized(level);
        Some((compiler, Fixture::build(source, flags)?))
    };
    COMPILERS.into_iter().filter_map(built)
}

/// Returns the value of `evaluated` at each stop of a line breakpoint.
fn stops_at(fixture: &Fixture, marker: &str, breakpoint: Value, evaluated: &str) -> Vec<String> {
    let mut client = DapClient::spawn();
    client.launch(fixture, json!({}));
    client.set_breakpoints_with(fixture, vec![(marker, breakpoint)]);
    client.configure();
    let mut values = Vec::new();
    loop {
        let event = client.wait_event_of(&["stopped", "exited"]);
        if event["event"] == "exited" {
            break;
        }
        client.select_thread(event["body"]["threadId"].as_i64().expect("a thread"));
        client.expect_line(fixture, marker);
        values.push(client.evaluate(evaluated));
        client.continue_();
    }
    client.disconnect();
    values
}

/// The lines that a logpoint writes.
fn logged_at(fixture: &Fixture, marker: &str, message: &str) -> Vec<String> {
    let mut client = DapClient::spawn();
    client.launch(fixture, json!({}));
    client.set_breakpoints_with(fixture, vec![(marker, json!({"logMessage": message}))]);
    client.configure();
    client.expect_exit();
    let text = client.output("console");
    client.disconnect();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn loop_exit_is_no_hit_of_its_body() {
    for (compiler, fixture) in at("c/nested_loops.c", "0") {
        for (marker, passes) in [
            ("body", 16),
            ("behind_if", 6),
            ("while", 2),
            ("second_half", 3),
        ] {
            let logged = logged_at(&fixture, marker, "sum {sum}");
            assert_eq!(logged.len(), passes, "{compiler:?} {marker} {logged:?}");
        }
        // The count is of passes, too: the ninth is the first of the third round.
        let ninth = stops_at(&fixture, "body", json!({"hitCondition": "9"}), "y * 10 + x");
        assert_eq!(ninth, ["20"], "{compiler:?}");
    }
}

#[test]
fn line_of_inlined_call_stops_in_its_own_frame() {
    for (compiler, fixture) in at("cpp/inlined_first.cpp", "1") {
        let stops = stops_at(&fixture, "call", json!({"condition": "i == 4"}), "i");
        assert_eq!(stops, ["4"], "{compiler:?}");
        let stops = stops_at(&fixture, "call", json!({"hitCondition": "3"}), "i");
        assert_eq!(stops, ["2"], "{compiler:?}");
        let expected: Vec<String> = (0..10).map(|i| format!("i={i}")).collect();
        let logged = logged_at(&fixture, "call", "i={i}");
        assert_eq!(logged, expected, "{compiler:?}");
    }
}

#[test]
fn a_stop_shows_the_line_that_its_breakpoint_is_on() {
    for level in ["1", "2"] {
        for (compiler, fixture) in at("cpp/inlined_first.cpp", level) {
            let text = fs::read_to_string(&fixture.source).expect("the source");
            let path = fixture.source.to_str().expect("UTF-8");
            let lines = 1..=text.lines().count();
            let wanted = lines.map(|line| json!({"line": line})).collect();
            let mut client = DapClient::spawn();
            client.launch(&fixture, json!({}));
            let set = client.set_source_breakpoints(path, wanted);
            client.configure();
            loop {
                let event = client.wait_event_of(&["stopped", "exited"]);
                if event["event"] == "exited" {
                    break;
                }
                let body = &event["body"];
                client.select_thread(body["threadId"].as_i64().expect("a thread"));
                let hit = body["hitBreakpointIds"].as_array().expect("breakpoints");
                let of_hit = set.iter().filter(|it| hit.contains(&it["id"]));
                let lines: Vec<&Value> = of_hit.map(|it| &it["line"]).collect();
                let top = client.top_frame();
                assert_eq!(
                    top["source"]["path"], path,
                    "{compiler:?} -O{level} {lines:?}"
                );
                assert!(
                    lines.contains(&&top["line"]),
                    "{compiler:?} -O{level} {lines:?} {top}"
                );
                client.continue_();
            }
            client.disconnect();
        }
    }
}

/// The places of a line in two functions of which one only has the condition's names.
fn closure_line(fixture: &Fixture, condition: &str) -> (Vec<String>, String) {
    let mut client = DapClient::spawn();
    client.launch(fixture, json!({}));
    let breakpoint = json!({"condition": condition});
    let set = client.set_breakpoints_with(fixture, vec![("closure", breakpoint)]);
    client.configure();
    let mut names = Vec::new();
    loop {
        let event = client.wait_event_of(&["stopped", "exited"]);
        if event["event"] == "exited" {
            break;
        }
        client.select_thread(event["body"]["threadId"].as_i64().expect("a thread"));
        let text = event["body"]["text"].as_str().unwrap_or_default();
        assert!(!text.contains("condition"), "{text}");
        names.push(client.function_names().remove(0));
        client.continue_();
    }
    // The names of the program may have been read after the answer.
    let of_it = |message: &&Value| {
        message["event"] == "breakpoint" && message["body"]["breakpoint"]["id"] == set[0]["id"]
    };
    let later = client.history().iter().rfind(of_it);
    let breakpoint = later.map_or(&set[0], |event| &event["body"]["breakpoint"]);
    let message = breakpoint["message"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    client.disconnect();
    (names, message)
}

#[test]
fn a_condition_counts_where_its_names_are_known() {
    for source in ["cpp/closure_line.cpp", "rust/closure_line.rs"] {
        let fixture = Fixture::of(source);
        let (names, message) = closure_line(&fixture, "round == 2");
        assert_eq!(names.len(), 1, "{source} {names:?}");
        assert!(names[0].ends_with("main"), "{source} {names:?}");
        assert!(message.contains("not hit in"), "{source} {message}");
        let condition = match source.ends_with(".rs") {
            true => "*value == 3",
            false => "value == 3",
        };
        let (names, message) = closure_line(&fixture, condition);
        assert_eq!(names.len(), 4, "{source} {names:?}");
        assert!(
            names.iter().all(|name| !name.ends_with("main")),
            "{names:?}"
        );
        assert!(message.contains("not hit in"), "{source} {message}");
    }
}

#[test]
fn line_does_not_move_to_another_function() {
    const FUNCTIONS: [&str; 4] = ["choose", "twice", "other", "main"];
    for (compiler, fixture) in at("c/unrecommended.c", "2") {
        let path = fixture.source.to_str().expect("UTF-8");
        let mut client = DapClient::spawn();
        client.launch(&fixture, json!({"stopOnEntry": true}));
        client.configure();
        client.expect_stopped("entry");
        for function in FUNCTIONS {
            let (first, last) = (
                fixture.line(function),
                fixture.line(&format!("{function}_end")),
            );
            let wanted = (first..=last).map(|line| json!({"line": line})).collect();
            for (line, set) in (first..).zip(client.set_source_breakpoints(path, wanted)) {
                match set["verified"] == true {
                    true => assert!(
                        (first..=last).contains(&set["line"].as_u64().expect("a line")),
                        "{compiler:?} {line}: {set}"
                    ),
                    false => {
                        let message = set["message"].as_str().expect("a message");
                        assert!(message.contains("nearest lines with code:"), "{message}");
                    }
                }
            }
        }
        for marker in ["return", "product", "triple"] {
            let set = client.set_breakpoints(&fixture, &[marker]);
            assert_eq!(
                (&set[0]["verified"], &set[0]["line"]),
                (&json!(true), &json!(fixture.line(marker))),
                "{compiler:?} {marker} {}",
                set[0]
            );
        }
        client.disconnect();
    }
}

#[test]
fn columns_of_calls_are_locations() {
    for (compiler, fixture) in at("c/columns.c", "0") {
        let path = fixture.source.to_str().expect("UTF-8");
        let line = fixture.line("three");
        let mut client = DapClient::stopped_at(&fixture, "three");
        let arguments = json!({"source": {"path": path}, "line": line});
        let places = client.request_ok("breakpointLocations", arguments);
        let columns: Vec<u64> = places["breakpoints"]
            .as_array()
            .expect("a list")
            .iter()
            .filter_map(|place| place["column"].as_u64())
            .collect();
        let wanted = [24, 38];
        assert!(
            wanted.iter().all(|it| columns.contains(it)),
            "{compiler:?} {columns:?}"
        );
        let set = wanted.map(|column| json!({"line": line, "column": column}));
        let set = client.set_source_breakpoints(path, set.to_vec());
        for (set, column) in set.iter().zip(wanted) {
            assert_eq!(set["column"], column, "{compiler:?} {set}");
            client.continue_();
            let stop = client.expect_stopped("breakpoint");
            assert_eq!(stop["hitBreakpointIds"], json!([set["id"]]));
        }
        client.disconnect();
    }
}

#[test]
fn column_before_the_first_does_not_bind() {
    for (compiler, fixture) in at("c/columns.c", "0") {
        let path = fixture.source.to_str().expect("UTF-8");
        let mut client = DapClient::stopped_at(&fixture, "three");
        let none = vec![json!({"line": fixture.line("three"), "column": 0})];
        let set = client.set_source_breakpoints(path, none);
        assert_eq!(
            (&set[0]["verified"], &set[0]["column"]),
            (&json!(true), &Value::Null),
            "{compiler:?}"
        );
        client.disconnect();
    }
}

/// Linkers store a name once that ends another one: `list.cpp` in `biglist.cpp`, `vector.h` in the
/// library's `stl_vector.h`.
#[test]
fn lines_bind_in_files_whose_names_end_others() {
    if !skips::has_command("llvm-dwarfdump") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path().canonicalize().expect("its path");
    let vector = "#pragma once\ninline long dot(long a, long b) {\n  return a * b;\n}\n";
    let main = "#include <vector>\n#include \"vector.h\"\nlong add(long);
int main() {\n  std::vector<long> v{1, 2};\n  return int(dot(v[0], add(v[1])));\n}\n";
    for (name, text) in [
        ("vector.h", vector),
        ("list.cpp", "long add(long a) {\n  return a + 1;\n}\n"),
        ("biglist.cpp", main),
    ] {
        fs::write(folder.join(name), text).expect("write");
    }
    let program = folder.join("program");
    for compiler in ["g++", "clang++"] {
        if !skips::has_command(compiler) {
            continue;
        }
        let mut command = std::process::Command::new(compiler);
        command
            .args(["-g", "list.cpp", "biglist.cpp", "-o"])
            .arg(&program);
        let built = command.current_dir(&folder).status();
        assert!(built.expect("run the compiler").success());
        let own: usize = (statement_lines(&program).iter())
            .filter(|(path, _)| path.starts_with(&folder))
            .map(|(_, lines)| lines.len())
            .sum();
        assert!(own >= 8, "{compiler}: {own} lines");
        assert_eq!(unbound_lines(&program), [""; 0], "{compiler}");
    }
}
