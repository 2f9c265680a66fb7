//! Programs of macOS, run on Linux by a loader of ours (`fixtures/darwin/loader.c`) and debugged by the
//! backend for macOS over simulated Mach calls: images, debug info in object files, stacks by compact
//! unwind info, steps, values.
//!
//! `tests/darwin.sh simulated` runs this with the debugger that it is for.

use serde_json::json;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command};
use stillpoint_tests::process::Debuggee;
use stillpoint_tests::{DapClient, Fixture, repository};
use tempfile::TempDir;

/// A program and its library, built with the same flags.
struct Built {
    folder: TempDir,
    loader: Fixture,
}

fn source(name: &str) -> PathBuf {
    let folder = repository().join("tests/darwin/programs");
    folder.join(name).canonicalize().expect("a source")
}

/// Returns the number of the line with a mark.
fn line(name: &str, mark: &str) -> u64 {
    let text = std::fs::read_to_string(source(name)).expect("a source");
    let end = format!("// {mark}");
    let at = text.lines().position(|line| line.ends_with(&end));
    at.unwrap_or_else(|| panic!("no mark {mark}")) as u64 + 1
}

/// Returns the path of one of llvm's tools, of the newest release.
fn tool(name: &str) -> PathBuf {
    let releases = (11..30).rev();
    let mut paths = releases.map(|it| PathBuf::from(format!("/usr/lib/llvm-{it}/bin/{name}")));
    let found = paths.find(|path| path.exists());
    found.unwrap_or_else(|| PathBuf::from(name))
}

fn run(command: &mut Command) {
    let output = command.output().expect("a command that starts");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {errors}");
}

const LIBRARY: &str = "--- !tapi-tbd
tbd-version: 4
targets: [ x86_64-macos ]
install-name: '/usr/lib/libSystem.B.dylib'
exports:
  - targets: [ x86_64-macos ]
    symbols: [ dyld_stub_binder ]
...
";

fn build(flags: &[&str]) -> Built {
    let folder = tempfile::tempdir().expect("a folder");
    let library = folder.path().join("libSystem.tbd");
    std::fs::write(&library, LIBRARY).expect("written");
    for (name, output, link) in [
        ("walk.c", "walk", ["-e", "_program"].as_slice()),
        ("late.c", "liblate.dylib", &["-dylib"]),
    ] {
        let object = folder.path().join(name).with_extension("o");
        let mut compile = Command::new("clang");
        compile.args(["-target", "x86_64-apple-macos10.15", "-c", "-g"]);
        compile.args(["-fno-stack-protector"]).args(flags);
        run(compile.arg(source(name)).arg("-o").arg(&object));
        // For this release there is nothing that the loader would have to relocate.
        let mut linker = Command::new(tool("ld64.lld"));
        linker.args(["-arch", "x86_64", "-platform_version"]);
        linker.args(["macos", "10.15", "10.15"]).args(link);
        let image = folder.path().join(output);
        run(linker.arg("-o").arg(&image).arg(&object).arg(&library));
    }
    let loader = Fixture::of("darwin/loader.c");
    Built { folder, loader }
}

impl Built {
    fn path(&self, name: &str) -> String {
        let path = self.folder.path().join(name);
        path.to_str().expect("a path of ASCII").to_owned()
    }

    /// Starts the program up to its entry.
    fn start(&self) -> (Debuggee, ChildStdin) {
        self.start_with(&[])
    }

    fn start_with(&self, further: &[&str]) -> (Debuggee, ChildStdin) {
        let images = [self.path("walk"), self.path("liblate.dylib")];
        let mut arguments: Vec<&str> = images.iter().map(String::as_str).collect();
        arguments.extend(further);
        let (debuggee, input) = Debuggee::start_with_input(&self.loader, &arguments);
        assert_eq!(debuggee.read_line(), "ready");
        (debuggee, input)
    }
}

fn breakpoint(client: &mut DapClient, name: &str, breakpoints: serde_json::Value) -> bool {
    let path = source(name);
    let path = path.to_str().expect("a path of ASCII");
    let breakpoints = breakpoints.as_array().expect("a list").clone();
    let set = client.set_source_breakpoints(path, breakpoints);
    set.iter().all(|it| it["verified"] == true)
}

fn expect_line(client: &mut DapClient, name: &str, mark: &str) {
    let frame = client.top_frame();
    let path = frame["source"]["path"].as_str().map(Path::new);
    assert_eq!(path, Some(source(name).as_path()), "{frame}");
    assert_eq!(frame["line"], line(name, mark), "{frame}");
}

#[test]
#[ignore = "run by `tests/darwin.sh simulated`"]
fn breakpoints_stacks_values_and_calls() {
    let built = build(&["-O0"]);
    let (debuggee, mut input) = built.start();
    let mut client = DapClient::spawn();
    client.attach(debuggee.pid(), json!({}));
    let at = [
        json!({"line": line("walk.c", "leaf")}),
        json!({"line": line("walk.c", "back"), "condition": "depth == 3"}),
    ];
    assert!(breakpoint(&mut client, "walk.c", json!(at)), "bound");
    client.configure();
    input.write_all(b"x").expect("it waits");
    client.expect_stopped("breakpoint");
    expect_line(&mut client, "walk.c", "leaf");
    assert_eq!(client.function_names()[..3], ["leaf", "walk", "program"]);
    assert_eq!(client.evaluate("item->weight"), "7");
    assert_eq!(client.evaluate("item->at.y + visits"), "3");
    assert!(client.evaluate("item->name").contains("\"seven\""));
    assert_eq!(client.evaluate("twice(item->weight * 3)"), "42");
    client.step_out();
    expect_line(&mut client, "walk.c", "bottom");
    client.step_out();
    expect_line(&mut client, "walk.c", "round");
    client.continue_();
    client.expect_stopped("breakpoint");
    let stack = client.function_names();
    assert_eq!(stack[..4], ["leaf", "walk", "walk", "program"]);
    breakpoint(&mut client, "walk.c", json!(&at[1..]));
    client.continue_();
    client.expect_stopped("breakpoint");
    expect_line(&mut client, "walk.c", "back");
    assert_eq!(client.evaluate("below"), "16");
    client.disconnect();
    assert_eq!(debuggee.read_line(), "result 68");
}

#[test]
#[ignore = "run by `tests/darwin.sh simulated`"]
fn stacks_at_each_instruction() {
    for flags in [
        ["-O0", "-fno-omit-frame-pointer"],
        ["-O1", "-fomit-frame-pointer"],
        ["-O2", "-fno-optimize-sibling-calls"],
    ] {
        let built = build(&flags);
        let (debuggee, mut input) = built.start();
        let mut client = DapClient::spawn();
        client.attach(debuggee.pid(), json!({}));
        client.set_function_breakpoints(&["walk"]);
        client.configure();
        input.write_all(b"x").expect("it waits");
        client.expect_stopped("function breakpoint");
        client.set_function_breakpoints(&[]);
        let mut seen = 0;
        for step in 0..150 {
            let names = client.function_names();
            let known = ["leaf", "walk", "program"];
            let inside = names
                .iter()
                .take_while(|name| known.contains(&name.as_str()));
            let inside: Vec<&str> = inside.map(String::as_str).collect();
            if !names
                .first()
                .is_some_and(|name| known.contains(&name.as_str()))
            {
                // It has left for the loader.
                break;
            }
            assert_eq!(
                inside.last(),
                Some(&"program"),
                "{flags:?}, step {step}: {names:?}"
            );
            seen += 1;
            let thread = client.thread();
            let one = json!({"threadId": thread, "granularity": "instruction"});
            client.request_ok("stepIn", one);
            client.expect_stopped("step");
        }
        assert!(seen > 60, "{flags:?}: {seen}");
        client.disconnect();
        assert_eq!(debuggee.read_line(), "result 68");
    }
}

#[test]
#[ignore = "run by `tests/darwin.sh simulated`"]
fn a_library_that_comes_later() {
    let built = build(&["-O0"]);
    let (debuggee, mut input) = built.start();
    let mut client = DapClient::spawn();
    client.attach(debuggee.pid(), json!({}));
    let at = json!([{"line": line("late.c", "tenth")}]);
    assert!(
        !breakpoint(&mut client, "late.c", at),
        "it is not there yet"
    );
    client.configure();
    input.write_all(b"x").expect("it waits");
    let changed = client.wait_event("breakpoint");
    assert_eq!(changed["breakpoint"]["verified"], true, "{changed}");
    client.expect_stopped("breakpoint");
    expect_line(&mut client, "late.c", "tenth");
    assert_eq!(client.function_names()[..2], ["late", "program"]);
    assert_eq!(client.evaluate("number"), "62");
    assert_eq!(client.evaluate("tenth"), "6");
    let modules = client.request_ok("modules", json!({}));
    let names: Vec<_> = (modules["modules"].as_array().expect("a list").iter())
        .map(|module| module["name"].as_str().unwrap_or_default().to_owned())
        .collect();
    assert_eq!(names, ["walk", "liblate.dylib"]);
    client.disconnect();
    assert_eq!(debuggee.read_line(), "result 68");
}

#[test]
#[ignore = "run by `tests/darwin.sh simulated`"]
fn a_library_without_a_file() {
    for flags in [["-O0"], ["-O2"]] {
        let built = build(&flags);
        let (debuggee, mut input) = built.start_with(&["gone"]);
        let mut client = DapClient::spawn();
        client.attach(debuggee.pid(), json!({}));
        client.set_function_breakpoints(&["late"]);
        client.configure();
        input.write_all(b"x").expect("it waits");
        client.expect_stopped("function breakpoint");
        // Symbols and unwind info are in memory.
        let names = client.function_names();
        assert_eq!(names[..2], ["late", "program"], "{flags:?}");
        client.step_out();
        assert_eq!(client.function_names()[0], "program", "{flags:?}");
        client.disconnect();
        assert_eq!(debuggee.read_line(), "result 68");
    }
}
