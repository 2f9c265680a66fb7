//! Breakpoints on functions by name: which functions a name matches, and that a program misses none
//! that was requested before it was launched.

use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::process::Command;
use stillpoint_tests::{Compiler, DapClient, Fixture, Flags};

/// Starts a program with breakpoints on functions, nothing known from sessions before.
fn start(fixture: &Fixture, names: &[&str]) -> DapClient {
    let mut client = DapClient::spawn();
    client.launch(fixture, json!({"symbolCache": false}));
    client.set_function_breakpoints(names);
    client.configure();
    client
}

/// The program stops at exactly these lines, one after the other.
#[track_caller]
fn expect_stops(mut client: DapClient, fixture: &Fixture, markers: &[&str]) {
    for marker in markers {
        client.expect_stopped("function breakpoint");
        client.expect_line(fixture, marker);
        client.continue_();
    }
    client.expect_exit();
    client.disconnect();
}

#[test]
fn program_waits_for_the_function_search() {
    let names = ["Square::area", "largest::<i32>", "always_inlined"];
    let v0: &[&str] = &["-Csymbol-mangling-version=v0"];
    for (dwarf, extra) in [(4, &[][..]), (5, v0)] {
        let flags = Flags {
            dwarf,
            extra,
            ..Flags::new(Compiler::Rustc)
        };
        let fixture = Fixture::build("rust/functions.rs", flags).expect("rustc");
        let client = start(&fixture, &names);
        expect_stops(client, &fixture, &["area", "area", "largest", "inlined"]);

        // The symbol exists, but the code that runs is inlined copies.
        let fixture = Fixture::build("rust/functions.rs", flags.optimized("3")).expect("rustc");
        let mut client = start(&fixture, &["<Square as Shape>::area"]);
        client.expect_stopped("function breakpoint");
        client.expect_line(&fixture, "area");
        client.disconnect();
    }
}

#[test]
fn library_load_waits_for_the_function_search() {
    let fixture = Fixture::of("c/early.c");
    let mut client = start(&fixture, &["early_step"]);
    client.expect_stopped("function breakpoint");
    let frames = client.stack();
    assert_eq!(frames[0]["name"], "early_step", "{frames:?}");
    client.continue_();
    client.expect_exit();
    client.disconnect();
}

#[test]
fn parameters_are_compared_in_c() {
    let fixture = Fixture::of("c/loop.c");
    for (name, is_there) in [
        ("body(int, int)", true),
        ("main()", true),
        ("main(void)", true),
        ("body(int)", false),
        ("body(char, int)", false),
    ] {
        let mut client = start(&fixture, &[name]);
        match is_there {
            true => drop(client.expect_stopped("function breakpoint")),
            false => drop(client.expect_exit()),
        }
        client.disconnect();
    }
}

#[test]
fn parameters_select_an_overload() {
    let fixture = Fixture::of("cpp/overloads.cpp");
    for (name, markers) in [
        ("over", &["int", "double", "string"][..]),
        ("over(double)", &["double"]),
        ("over(const std::string &)", &["string"]),
        ("over(std::string const&)", &["string"]),
        ("over(char)", &[]),
        ("twice<double>", &["twice"]),
        ("/^twice/", &["twice", "twice"]),
        ("/^over\\(int\\)$/", &["int"]),
        ("original", &["original"]),
        ("alias_of_it", &["original"]),
    ] {
        println!("{name}");
        expect_stops(start(&fixture, &[name]), &fixture, markers);
    }
}

#[test]
fn an_async_function_stops_where_its_body_begins() {
    let v0: &[&str] = &["-Csymbol-mangling-version=v0"];
    for (optimization, extra) in [("0", v0), ("0", &[]), ("2", v0)] {
        let flags = Flags {
            extra,
            ..Flags::new(Compiler::Rustc).optimized(optimization)
        };
        let fixture = Fixture::build("rust/async_functions.rs", flags).expect("rustc");
        for (name, marker) in [
            ("leaf", "leaf"),
            ("Service::work", "work"),
            ("<Service as Load>::load", "load"),
        ] {
            println!("{name} -O{optimization} {extra:?}");
            let mut client = start(&fixture, &[name]);
            let mut begun = 0;
            loop {
                let event = client.wait_event_of(&["stopped", "terminated"]);
                let Some(thread) = event["body"]["threadId"].as_i64() else {
                    break;
                };
                client.select_thread(thread);
                begun += u32::from(client.top_line() == fixture.line(marker));
                client.continue_();
            }
            assert_eq!(
                begun, 1,
                "{name}: the body begins once, though it is polled again"
            );
            client.disconnect();
        }
    }
}

/// Returns the number of stops in functions, and of calls that the program reports.
fn counted(fixture: &Fixture, names: &[&str]) -> (BTreeMap<String, u32>, BTreeMap<String, u32>) {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let all: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut client = start(fixture, &all);
    let mut stops: BTreeMap<String, u32> = BTreeMap::new();
    loop {
        let event = client.wait_event_of(&["stopped", "terminated"]);
        let Some(thread) = event["body"]["threadId"].as_i64() else {
            break;
        };
        client.select_thread(thread);
        let frame = client.top_frame();
        let name = frame["name"].as_str().expect("a name");
        let name = name.split('(').next().unwrap_or(name);
        let name = name.rsplit("::").next().unwrap_or(name);
        *stops.entry(name.to_owned()).or_default() += 1;
        client.continue_();
    }
    let output = client.output("stdout");
    client.disconnect();
    let calls = output.lines().filter_map(|line| {
        let (name, count) = line.split_once(' ')?;
        Some((name.to_owned(), count.parse().ok()?))
    });
    (stops, calls.collect())
}

#[test]
fn a_function_without_prologue_stops_in_its_first_line() {
    let flags = Flags {
        extra: &["-fomit-frame-pointer"],
        ..Flags::new(Compiler::Gcc)
    };
    let fixture = Fixture::build("c/memory.c", flags).expect("the usual compiler is installed");
    let mut client = start(&fixture, &["answer"]);
    client.expect_stopped("function breakpoint");
    client.expect_line(&fixture, "answer");
    client.set_function_breakpoints(&[]);
    client.set_breakpoints(&fixture, &["answer"]);
    client.continue_();
    client.expect_stopped("breakpoint");
    client.expect_line(&fixture, "answer");
    client.disconnect();
}

#[test]
fn each_call_stops_once() {
    let c: &[&str] = &[
        "early", "walk", "shrink", "select", "hash", "bits", "find", "halve", "poly", "divide",
    ];
    let rust: &[&str] = &["early", "walk", "select", "bits", "joined"];
    let levels = ["0", "1", "2", "s"];
    for compiler in [Compiler::Gcc, Compiler::Clang, Compiler::Rustc] {
        for level in levels {
            let (source, names) = match compiler {
                Compiler::Rustc => ("rust/call_counts.rs", rust),
                _ => ("c/calls.c", c),
            };
            let flags = Flags::new(compiler).optimized(level);
            let Some(fixture) = Fixture::build(source, flags) else {
                continue;
            };
            println!("{compiler:?} -O{level}");
            let (mut stops, mut calls) = counted(&fixture, names);
            assert_eq!(calls.len(), names.len(), "{calls:?}");
            // No instruction is behind the one that stores its last argument but the loop; or the loop
            // begins with the function.
            let begins_with_loop = cfg!(target_arch = "aarch64") && level == "s";
            if (compiler, level) == (Compiler::Clang, "0")
                || compiler == Compiler::Gcc && begins_with_loop
            {
                assert!(stops.remove("divide") >= calls.remove("divide"));
            }
            assert_eq!(stops, calls, "{compiler:?} -O{level}");
        }
    }
}

/// How often a program is started for a search to last until a request comes.
const ATTEMPTS: usize = 5;

/// Builds a program whose debug info takes long to read.
fn slow_to_search(folder: &std::path::Path) -> std::path::PathBuf {
    let source = folder.join("slow.c");
    let text = "#include <stdio.h>
static inline __attribute__((always_inline)) int quick_step(int n) { volatile int k = n; return k; }
int main(int count, char **arguments) { (void)arguments; printf(\"%d\\n\", quick_step(count)); return 0; }
";
    std::fs::write(&source, text).unwrap();
    let program = folder.join("slow");
    let run = |command: &mut Command| command.status().is_ok_and(|status| status.success());
    let built = run(Command::new("gcc")
        .args(["-g", "-o"])
        .arg(&program)
        .arg(&source));
    let strings = folder.join("strings");
    let dumped = run(Command::new("objcopy")
        .arg(format!("--dump-section=.debug_str={}", strings.display()))
        .arg(&program));
    let mut bytes = std::fs::read(&strings).expect("the strings");
    bytes.resize(bytes.len() + (1 << 28), 0);
    std::fs::write(&strings, bytes).unwrap();
    let grown = run(Command::new("objcopy")
        .arg(format!("--update-section=.debug_str={}", strings.display()))
        .arg(&program));
    // Together with another change it would not be compressed.
    let packed = run(Command::new("objcopy")
        .arg("--compress-debug-sections=zlib")
        .arg(&program));
    assert!(built && dumped && grown && packed);
    program
}

#[test]
fn wait_for_functions_can_be_paused_and_resumed() {
    let folder = tempfile::tempdir().unwrap();
    let program = slow_to_search(folder.path());
    let begin = || {
        let mut client = DapClient::spawn();
        client.request_ok(
            "initialize",
            json!({"adapterID": "stillpoint", "supportsProgressReporting": true}),
        );
        let settings = json!({"program": program, "symbolCache": false});
        client.send("launch", settings);
        client.wait_event("initialized");
        let set = client.set_function_breakpoints(&["quick_step"]);
        assert_eq!(set[0]["verified"], false);
        client.request_ok("configurationDone", Value::Null);
        client
    };

    // Held before its first instruction, it is running for the client, and stops on a pause.
    let held = |_| {
        let mut client = begin();
        client.request_ok("pause", json!({"threadId": 1}));
        let stop = client.wait_event("stopped");
        client.select_thread(stop["threadId"].as_i64().expect("a thread"));
        (stop["reason"] == "pause").then_some(client)
    };
    // The search may be over before the request comes.
    let mut client = (0..ATTEMPTS).find_map(held).expect("it was never held");
    client.request_ok("threads", Value::Null);
    client.continue_();
    client.expect_stopped("function breakpoint");
    client.continue_();
    client.expect_exit();
    client.disconnect();

    let attempt = |_| {
        let mut client = begin();
        let event = client.wait_event_of(&["progressStart", "stopped", "exited"]);
        (event["event"] == "progressStart").then(|| (client, event["body"].clone()))
    };
    let Some((mut client, progress)) = (0..ATTEMPTS).find_map(attempt) else {
        return skips::skip("a search that takes long");
    };
    let title = progress["title"].as_str().expect("a title");
    assert_eq!(title, "Searching functions of breakpoints in slow");
    assert_eq!(progress["cancellable"], true);
    client.request_ok("cancel", json!({"progressId": progress["progressId"]}));
    let changed = client.wait_event("breakpoint");
    let message = changed["breakpoint"]["message"]
        .as_str()
        .expect("a message");
    assert!(message.contains("still searching"), "{message}");
    // It may still have been found in time.
    client.wait_event_of(&["stopped", "exited"]);
    client.disconnect();
}
