//! Files that change while their programs run: built anew, or cut short.

use serde_json::json;
use std::fs::{self, File};
use std::path::Path;
use std::process::Command;
use stillpoint_tests::process::Debuggee;
use stillpoint_tests::{DapClient, Fixture};

/// The program and its libraries in a folder of their own.
fn copied(source: &str) -> (Fixture, tempfile::TempDir) {
    let mut fixture = Fixture::of(source);
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().canonicalize().expect("its path");
    // Not copied by this process: another test that forks meanwhile would hold the copy open for
    // writing, and it could not be executed.
    let from = fixture.program.parent().expect("a folder").join(".");
    let status = Command::new("cp").arg("-r").args([&from, &root]).status();
    assert!(status.expect("cp starts").success());
    fixture.program = root.join(fixture.program.file_name().expect("a name"));
    (fixture, folder)
}

/// As compilers and package managers do it: a new file under the old name.
fn replace(file: &Path, by: &Path) {
    fs::remove_file(file).expect("remove");
    fs::copy(by, file).expect("a new file");
}

fn run(folder: &Path, command: &str) {
    let mut words = command.split(' ');
    let status = Command::new(words.next().expect("a command"))
        .args(words)
        .current_dir(folder)
        .status();
    assert!(status.expect("it starts").success(), "{command}");
}

#[test]
fn a_program_built_anew_while_it_runs() {
    for gone in [false, true] {
        let (fixture, _folder) = copied("c/spin.c");
        let debuggee = Debuggee::start(&fixture, &[]);
        debuggee.read_line();
        if gone {
            fs::remove_file(&fixture.program).expect("remove");
        } else {
            replace(&fixture.program, &Fixture::of("c/structs.c").program);
        }
        let mut client = DapClient::spawn();
        client.attach(debuggee.pid(), json!({}));
        client.set_breakpoints(&fixture, &["beat"]);
        client.configure();
        client.wait_event_where("module", |body| {
            body["module"]["path"].as_str() == fixture.program.to_str()
        });
        client.expect_stopped("breakpoint");
        client.expect_line(&fixture, "beat");
        assert_eq!(client.function_names()[..2], ["beat", "main"]);
        let output = client.output("console");
        assert_eq!(
            output.contains("was replaced on disk after"),
            !gone,
            "{output}"
        );
        client.disconnect();
        debuggee.expect_running();
    }
}

#[test]
fn a_library_built_anew_while_it_is_loaded() {
    let (fixture, folder) = copied("c/shared_spin.c");
    let source = fixture.sibling("shared_linked.c");
    let debuggee = Debuggee::start(&fixture, &[]);
    debuggee.read_line();
    // The new one has the function elsewhere, and other lines.
    let text = fs::read_to_string(&source.source).expect("the source");
    let filler = "int filler(int x) { return x * x + 7; }";
    fs::write(folder.path().join("new.c"), format!("{filler}\n\n{text}")).expect("write");
    run(folder.path(), "gcc -g -shared -fPIC new.c -o new.so");
    let library = fixture.program.with_file_name("libshared_linked.so");
    replace(&library, &folder.path().join("new.so"));

    let mut client = DapClient::spawn();
    client.attach(debuggee.pid(), json!({}));
    client.set_breakpoints(&source, &["linked"]);
    client.configure();
    let note = client.wait_event_where("output", |body| {
        let text = body["output"].as_str().unwrap_or_default();
        text.contains("replaced on disk after the program started")
    });
    let note = note["output"].as_str().unwrap_or_default();
    // The old file is readable for users who may open the kernel's mapped files.
    if note.contains("the old file stays in use") {
        client.expect_stopped("breakpoint");
        client.expect_line(&source, "linked");
        assert_eq!(client.function_names()[..2], ["linked_twice", "main"]);
    } else {
        assert!(note.contains("its symbols are ignored"), "{note}");
        client.set_breakpoints(&fixture, &["call"]);
        client.expect_stopped("breakpoint");
        client.expect_line(&fixture, "call");
        // Through the procedure linkage table and the library, whose code is read from memory.
        client.set_breakpoints(&fixture, &[]);
        let mut inside = false;
        for _ in 0..40 {
            let step = json!({"threadId": client.thread(), "granularity": "instruction"});
            client.request_ok("stepIn", step);
            client.expect_stopped("step");
            let stack = client.function_names();
            assert!(stack.iter().any(|name| name == "main"), "{stack:?}");
            inside |= stack[0] != "main";
        }
        assert!(inside);
    }
    client.disconnect();
    debuggee.expect_running();
}

#[test]
fn the_next_launch_has_the_new_program() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut fixture = Fixture::of("c/loop.c");
    let text = fs::read_to_string(&fixture.source).expect("the source");
    let build = |text: &str| {
        fs::write(folder.path().join("new.c"), text).expect("write");
        run(folder.path(), "gcc -g new.c -o new");
        run(folder.path(), "mv new program");
    };
    let source = folder
        .path()
        .canonicalize()
        .expect("its path")
        .join("new.c");
    let source = source.to_str().expect("a name");
    fixture.program = folder.path().join("program");
    let line = fixture.line("body");
    let stopped = |line: u64| {
        let mut client = DapClient::spawn();
        client.launch(&fixture, json!({}));
        client.set_source_breakpoints(source, vec![json!({"line": line})]);
        client.configure();
        client.expect_stopped("breakpoint");
        assert_eq!(client.top_line(), line);
        client
    };
    build(&text);
    let mut first = stopped(line);
    build(&format!("\n\n{text}"));
    let mut second = stopped(line + 2);
    assert_eq!(second.function_names()[..2], ["body", "main"]);
    // What runs is still the old one.
    first.step_out();
    assert_eq!(first.top_line(), fixture.line("call"));
    first.disconnect();
    second.disconnect();
}

#[test]
fn debug_file_truncated_during_the_session() {
    let (fixture, _folder) = copied("c/loop.c");
    let folder = fixture.program.parent().expect("a folder");
    run(folder, "objcopy --only-keep-debug loop loop.debug");
    run(folder, "strip --strip-debug loop");
    run(folder, "objcopy --add-gnu-debuglink=loop.debug loop");
    let mut client = DapClient::stopped_at(&fixture, "body");
    let debug = File::options().write(true).open(folder.join("loop.debug"));
    debug.and_then(|file| file.set_len(0)).expect("cut short");
    // A function that has not been looked up yet, and a name that is in no frame.
    client.step_out();
    let _ = client.try_evaluate("no_such_name");
    assert!(!client.stack().is_empty());
    client.set_breakpoints(&fixture, &[]);
    client.continue_();
    assert_eq!(client.expect_exit(), 0);
    let output = client.output("console");
    assert!(
        output.contains("loop.debug was truncated while"),
        "{output}"
    );
    client.disconnect();
}
