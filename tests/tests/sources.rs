//! Images, sources, and the places in them where breakpoints can be.

use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use stillpoint_tests::{Compiler, DapClient, Fixture, Flags};

/// Lines and columns of a `breakpointLocations` answer.
fn places(answer: &Value) -> Vec<(u64, u64)> {
    let breakpoints = answer["breakpoints"].as_array().expect("a list");
    let number = |place: &Value, name: &str| place[name].as_u64().unwrap_or_default();
    breakpoints
        .iter()
        .map(|place| (number(place, "line"), number(place, "column")))
        .collect()
}

#[test]
fn modules_are_those_of_the_events() {
    let fixture = Fixture::of("c/loop.c");
    let mut client = DapClient::stopped_at(&fixture, "body");
    let all = client.request_ok("modules", json!({}));
    let modules = all["modules"].as_array().expect("a list").clone();
    assert_eq!(all["totalModules"], modules.len());
    let mut reported: Vec<Value> = Vec::new();
    for message in client.history() {
        if message["event"] == "module" && message["body"]["reason"] == "new" {
            reported.push(message["body"]["module"].clone());
        }
    }
    assert_eq!(modules, reported);
    let program = fixture.program.to_str().expect("UTF-8");
    assert!(modules.iter().any(|module| module["path"] == program));
    let top = client.top_frame();
    assert_eq!(top["moduleId"], modules[0]["id"]);

    let second = client.request_ok("modules", json!({"startModule": 1, "moduleCount": 1}));
    assert_eq!(second["modules"], json!([modules[1]]));
    assert_eq!(second["totalModules"], modules.len());
    let behind = client.request_ok("modules", json!({"startModule": 1000, "moduleCount": 0}));
    assert_eq!(behind["modules"], json!([]));
    client.disconnect();
}

#[test]
fn loaded_sources_are_mapped_sorted_and_unique() {
    let fixture = Fixture::of("c/shared_main.c");
    let folder = fixture.source.parent().expect("a folder");
    let mut client = DapClient::spawn();
    client.launch(
        &fixture,
        json!({"stopOnEntry": true, "sourceMap": {folder.to_str().expect("UTF-8"): "/elsewhere"}}),
    );
    client.configure();
    client.expect_stopped("entry");
    let answer = client.request_ok("loadedSources", Value::Null);
    let sources = answer["sources"].as_array().expect("a list");
    let paths: Vec<&str> = sources
        .iter()
        .filter_map(|source| source["path"].as_str())
        .collect();
    assert_eq!(paths.len(), sources.len(), "each has a path");
    assert!(paths.contains(&"/elsewhere/shared_main.c"), "{paths:?}");
    assert!(paths.is_sorted_by(|a, b| a < b), "{paths:?}");
    client.disconnect();
}

#[test]
fn breakpoint_locations() {
    for compiler in [Compiler::Gcc, Compiler::Clang] {
        let Some(fixture) = Fixture::build("c/columns.c", Flags::new(compiler)) else {
            continue;
        };
        let mut client = DapClient::stopped_at(&fixture, "three");
        let path = fixture.source.to_str().expect("UTF-8").to_owned();
        let source = json!({"path": path});
        let line = fixture.line("three");
        let mut ask = |more: Value| {
            let mut arguments = json!({"source": source, "line": line});
            for (name, value) in more.as_object().expect("an object") {
                arguments[name] = value.clone();
            }
            places(&client.request_ok("breakpointLocations", arguments))
        };
        let on_line = ask(json!({}));
        assert!(on_line.is_sorted_by(|a, b| a < b), "{on_line:?}");
        assert!(on_line.iter().all(|place| place.0 == line), "{on_line:?}");
        // The three statements.
        for column in [9, 24, 38] {
            assert!(on_line.contains(&(line, column)), "{on_line:?}");
        }
        let later = ask(json!({"column": 24}));
        assert_eq!(later, on_line[on_line.len() - later.len()..]);
        assert!(later.iter().all(|place| place.1 >= 24), "{later:?}");
        assert!(ask(json!({"column": 10, "endColumn": 12})).is_empty());
        assert_eq!(ask(json!({"endColumn": 9})), [(line, 9)]);

        assert!(ask(json!({"line": fixture.line("comment")})).is_empty());
        let several = ask(json!({"endLine": fixture.line("end")}));
        assert!(several.starts_with(&on_line), "{several:?}");
        assert!(several.iter().any(|place| place.0 == fixture.line("end")));
        let whole = ask(json!({"line": 1, "endLine": 1000}));
        let lines: Vec<u64> = whole.iter().map(|place| place.0).collect();
        assert!(lines.contains(&fixture.line("twice")), "{lines:?}");
        assert!(!lines.contains(&fixture.line("comment")), "{lines:?}");

        // Each place can be stopped at.
        let third = json!({"line": line, "column": 38});
        let set = client.set_source_breakpoints(&path, vec![third]);
        assert_eq!(set[0]["verified"], true, "{}", set[0]);
        assert_eq!(set[0]["column"], 38);
        // A request for a line gets a breakpoint on that line.
        let set = client.set_source_breakpoints(&path, vec![json!({"line": line})]);
        assert_eq!(
            (&set[0]["line"], &set[0]["column"]),
            (&json!(line), &Value::Null)
        );
        client.set_source_breakpoints(&path, vec![json!({"line": line, "column": 38})]);
        client.continue_();
        client.expect_stopped("breakpoint");
        assert_eq!(client.evaluate("b"), "2");
        client.disconnect();
    }
}

#[test]
fn breakpoint_locations_from_zero_if_requested() {
    let fixture = Fixture::of("c/columns.c");
    let mut client = DapClient::spawn();
    client.request_ok(
        "initialize",
        json!({"adapterID": "stillpoint", "linesStartAt1": false, "columnsStartAt1": false}),
    );
    client.send("launch", json!({"program": fixture.program}));
    client.wait_event("initialized");
    let line = fixture.line("three") - 1;
    let arguments = json!({"source": {"path": fixture.source}, "line": line});
    let found = places(&client.request_ok("breakpointLocations", arguments));
    assert!(found.contains(&(line, 8)), "{found:?}");
    assert!(found.iter().all(|place| place.0 == line), "{found:?}");
    client.disconnect();
}

#[test]
fn function_breakpoints_by_pattern() {
    let fixture = Fixture::of("c/loop.c");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({}));
    let set = client.set_function_breakpoints(&["/^(main|bo.y)$/", "/(/", "/^nowhere_at_all$/"]);
    assert_eq!(set[0]["verified"], true, "{}", set[0]);
    assert_eq!(set[1]["verified"], false);
    assert_eq!(set[1]["reason"], "failed");
    let message = set[1]["message"].as_str().expect("a message");
    assert!(message.contains("unclosed group"), "{message}");
    assert_eq!(set[2]["verified"], false);
    assert_eq!(set[2]["reason"], "pending");
    client.configure();
    for marker in ["main", "body", "body"] {
        let stop = client.expect_stopped("function breakpoint");
        assert_eq!(stop["hitBreakpointIds"], json!([set[0]["id"]]));
        client.expect_line(&fixture, marker);
        client.continue_();
    }
    client.expect_stopped("function breakpoint");
    client.set_function_breakpoints(&[]);
    client.continue_();
    client.expect_exit();
    client.disconnect();
}

#[test]
fn patterns_see_readable_names() {
    let fixture = Fixture::of("cpp/classes.cpp");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({}));
    let set = client.set_function_breakpoints(&["/^main$/", "/::/"]);
    assert_eq!(set[0]["verified"], true, "{}", set[0]);
    assert_eq!(set[1]["verified"], true, "{}", set[1]);
    client.disconnect();
}

/// Compiles C source in a folder of its own; returns the executable.
fn compile(folder: &Path, name: &str, text: &str, flags: &[&str]) -> PathBuf {
    let (source, program) = (folder.join(name), folder.join("program"));
    fs::create_dir_all(source.parent().expect("a folder")).expect("a folder");
    fs::write(&source, text).expect("the source");
    let mut command = Command::new("gcc");
    command.args(["-g", "-O0"]).args(flags).arg(&source);
    let status = command.arg("-o").arg(&program).status();
    assert!(status.expect("gcc runs").success());
    program
}

#[test]
fn patterns_have_bounds() {
    let folder = tempfile::tempdir().expect("a folder");
    let functions: String = (0..20_100)
        .map(|number| format!("void many_{number}(void) {{}}\n"))
        .collect();
    let text = format!("{functions}int main(void) {{ many_3(); return 0; }}\n");
    let program = compile(folder.path(), "many.c", &text, &[]);
    let mut client = DapClient::spawn();
    client.launch_program(&program, json!({}));
    let set = client.set_function_breakpoints(&["/^many_/", "/^main$/"]);
    assert_eq!(set[0]["verified"], true, "{}", set[0]);
    let message = set[0]["message"].as_str().expect("a message");
    assert!(message.contains("100 left out"), "{message}");
    assert_eq!(set[1]["message"], Value::Null);
    client.configure();
    client.expect_stopped("function breakpoint");
    client.continue_();
    client.expect_stopped("function breakpoint");
    assert_eq!(client.function_names()[0], "many_3");
    client.set_function_breakpoints(&[]);
    client.continue_();
    client.expect_exit();
    client.disconnect();
}

#[test]
fn columns_are_counted_in_units_of_utf16() {
    let folder = tempfile::tempdir().expect("a folder");
    let line = "int main(void) { const char *s = \"é🦀\"; int b = 2; return b + *s; }";
    let program = compile(folder.path(), "wide.c", &format!("{line}\n"), &[]);
    let path = folder
        .path()
        .join("wide.c")
        .to_str()
        .expect("UTF-8")
        .to_owned();
    let column = |of: &str| {
        let before = line.split(of).next().expect("the part is there");
        before.encode_utf16().count() as u64 + 1
    };
    let second = column("b = 2");
    let mut client = DapClient::spawn();
    client.launch_program(&program, json!({}));
    let arguments = json!({"source": {"path": path}, "line": 1});
    let found = places(&client.request_ok("breakpointLocations", arguments));
    assert!(found.contains(&(1, second)), "{second}: {found:?}");
    let later = json!({"source": {"path": path}, "line": 1, "column": second});
    let later = places(&client.request_ok("breakpointLocations", later));
    assert_eq!(later.first(), Some(&(1, second)), "{later:?}");
    let set = client.set_source_breakpoints(&path, vec![json!({"line": 1, "column": second})]);
    assert_eq!(
        (&set[0]["verified"], &set[0]["column"]),
        (&json!(true), &json!(second))
    );
    client.configure();
    client.expect_stopped("breakpoint");
    assert_eq!(client.top_frame()["column"], second);
    client.disconnect();
}

#[test]
fn paths_are_uris_if_requested() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = compile(
        folder.path(),
        "a b/ü%.c",
        "int main(void) {\n  return 0;\n}\n",
        &[],
    );
    let here = folder.path().to_str().expect("UTF-8");
    let uri = format!("file://{here}/a%20b/%C3%BC%25.c");
    let mut client = DapClient::spawn();
    client.request_ok(
        "initialize",
        json!({"adapterID": "stillpoint", "pathFormat": "uri", "linesStartAt1": false,
               "columnsStartAt1": false}),
    );
    client.send("launch", json!({"program": program}));
    client.wait_event("initialized");
    let set = client.set_source_breakpoints(&uri, vec![json!({"line": 1})]);
    assert_eq!(set[0]["verified"], true, "{}", set[0]);
    assert_eq!(set[0]["source"], json!({"name": "ü%.c", "path": uri}));
    assert_eq!(set[0]["line"], 1);
    client.request_ok("configurationDone", Value::Null);
    client.expect_stopped("breakpoint");
    let top = client.top_frame();
    assert_eq!(
        (&top["source"]["path"], &top["line"]),
        (&json!(uri), &json!(1))
    );
    let text = client.request_ok(
        "source",
        json!({"source": {"path": uri}, "sourceReference": 0}),
    );
    assert!(
        text["content"]
            .as_str()
            .expect("a text")
            .starts_with("int main"),
        "{text}"
    );
    let sources = client.request_ok("loadedSources", Value::Null);
    let sources = sources["sources"].as_array().expect("a list");
    assert!(
        sources.iter().any(|source| source["path"] == uri),
        "{sources:?}"
    );
    client.disconnect();
}
