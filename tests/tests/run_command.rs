//! `stillpoint run` and `stillpoint demo`: without an editor.

use std::env;
use std::process::{Command, Output, Stdio};
use std::sync::mpsc;
use std::thread;

use nix::sys::signal::Signal;
use serde_json::Value;
use stillpoint_tests::patience;
use stillpoint_tests::{Fixture, command, core_of, process};

fn stillpoint_with(arguments: &[&str]) -> Output {
    output_of(command().args(arguments), &arguments.join(" "))
}

fn output_of(command: &mut Command, what: &str) -> Output {
    let child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("stillpoint starts");
    let pid = child.id() as i32;
    let (sender, output) = mpsc::channel();
    thread::spawn(move || sender.send(child.wait_with_output()));
    match patience::receive(&output) {
        Ok(output) => output.expect("its output"),
        Err(_) => {
            process::send_signal(pid, Signal::SIGKILL);
            panic!("`stillpoint {what}` does not end");
        }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_stop_with_source_stack_and_variables() {
    let fixture = Fixture::of("c/recursion.c");
    let place = format!("recursion.c:{}", fixture.line("bottom"));
    let program = fixture.program.to_str().expect("UTF-8");
    let output = stillpoint_with(&[
        "run", "--break", &place, "--print", "n + 41", "--print", "nowhere", program,
    ]);
    let shown = text(&output.stdout);
    assert_eq!(
        output.status.code(),
        Some(0),
        "{shown}{}",
        text(&output.stderr)
    );
    for part in [
        "recursion.c",
        "return 1;",
        "factorial",
        "main",
        "n = 1",
        "42",
        "120",
    ] {
        assert!(shown.contains(part), "no `{part}` in\n{shown}");
    }
}

#[test]
fn function_breakpoints_and_exit_codes() {
    let fixture = Fixture::of("c/exit_code.c");
    let program = fixture.program.to_str().expect("UTF-8");
    let output = stillpoint_with(&["run", "--break", "main", program, "7"]);
    assert_eq!(output.status.code(), Some(7));
    assert!(
        text(&output.stdout).contains("argc"),
        "{}",
        text(&output.stdout)
    );
    // Arguments after the program belong to it, even if they look like options of `run`.
    let output = stillpoint_with(&["run", program, "5", "--json"]);
    assert_eq!(output.status.code(), Some(5));
}

#[test]
fn every_line_is_json() {
    let fixture = Fixture::of("c/loop.c");
    let place = format!("loop.c:{}", fixture.line("body"));
    let program = fixture.program.to_str().expect("UTF-8");
    let output = stillpoint_with(&[
        "run", "--break", &place, "--print", "i * 2", "--json", program,
    ]);
    let shown = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{shown}");
    let lines: Vec<Value> = shown
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}")))
        .collect();
    // A line a stop, at the least, and the values of the last one's expression among them.
    assert!(lines.len() >= 5, "{shown}");
    assert!(shown.contains("\"8\""), "{shown}");
    assert!(shown.contains("\"body\""), "{shown}");
}

#[test]
fn a_crash_is_shown() {
    let fixture = Fixture::of("c/signals.c");
    let program = fixture.program.to_str().expect("UTF-8");
    let output = stillpoint_with(&["run", program, "segv"]);
    assert_eq!(output.status.code(), Some(128 + 11));
    assert!(
        text(&output.stdout).contains("SIGSEGV"),
        "{}",
        text(&output.stdout)
    );
}

#[test]
fn unrunnable_program_is_an_error() {
    let output = stillpoint_with(&["run", "/no/such/program"]);
    assert_ne!(output.status.code(), Some(0));
    assert!(text(&output.stderr).contains("/no/such/program"));
    let output = stillpoint_with(&["run"]);
    assert_ne!(output.status.code(), Some(0));
    let output = stillpoint_with(&["--no-such-flag"]);
    assert_ne!(output.status.code(), Some(0));
}

#[test]
fn unbound_breakpoint_is_reported() {
    let fixture = Fixture::of("c/exit_code.c");
    let program = fixture.program.to_str().expect("UTF-8");
    let output = stillpoint_with(&["run", "--break", "no_such_function", program]);
    assert!(
        text(&output.stderr).contains("no_such_function")
            || text(&output.stdout).contains("no_such_function")
    );
}

#[test]
fn the_demo_shows_a_stop() {
    // The compiler's folder: see `stillpoint_tests::command`.
    let mut command = command();
    let output = output_of(command.arg("demo").env("TMPDIR", env::temp_dir()), "demo");
    let shown = text(&output.stdout);
    assert_eq!(
        output.status.code(),
        Some(0),
        "{shown}{}",
        text(&output.stderr)
    );
    assert!(shown.contains("main"), "a stack: {shown}");
    assert!(shown.lines().count() > 5, "{shown}");
}

#[test]
fn a_core_file_is_shown() {
    let fixture = Fixture::of("cpp/crash.cpp");
    let folder = tempfile::tempdir().expect("a folder");
    let Some(core) = core_of(&fixture, folder.path()) else {
        return;
    };
    let core = core.to_str().expect("UTF-8");
    let output = stillpoint_with(&["core", "--print", "limits.size()", core]);
    let shown = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{shown}");
    // The frame shown is the program's own, not that of `abort`.
    for part in [
        "killed by SIGABRT",
        "total = 60",
        "limits.size() = 2",
        "another thread",
        "main",
    ] {
        assert!(shown.contains(part), "no `{part}` in\n{shown}");
    }
    let output = stillpoint_with(&["core", "/dev/null"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("not a regular file"));
}
