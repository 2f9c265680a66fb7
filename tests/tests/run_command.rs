//! `stillpoint run` and `stillpoint demo`: without an editor.

use std::env;
use std::io::{BufRead, BufReader};
use std::os::unix::process::{CommandExt, ExitStatusExt};
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

/// A command line that starts no program: its exit code, and a part of its first line of errors.
fn refused(arguments: &[&str], code: i32, part: &str) {
    let output = stillpoint_with(arguments);
    let errors = text(&output.stderr);
    let first = errors.lines().next().unwrap_or_default();
    assert!(first.contains(part), "{arguments:?}: {errors}");
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {errors}");
    assert_eq!(text(&output.stdout), "", "{arguments:?}");
}

#[test]
fn what_cannot_be_run_is_refused() {
    let fixture = Fixture::of("c/loop.c");
    let program = fixture.program.to_str().expect("UTF-8");
    for (arguments, code, part) in [
        (
            &["run", "--break", "totl", program][..],
            2,
            "totl: no function `totl`",
        ),
        (
            &["run", "--break", "nosuch.cpp:3", program],
            2,
            "nosuch.cpp:3: not found",
        ),
        (
            &["run", "--break", "loop.c:9999", program],
            2,
            "loop.c:9999: no code at line 9999",
        ),
        (
            &["run", "--break", "loop.c:3 if i == 3", program],
            2,
            "`loop.c:3 if i == 3`: a place has no",
        ),
        (
            &["run", "--break", "loop.c:x", program],
            2,
            "`loop.c:x`: expected FILE:LINE, FILE:LINE:COLUMN or FUNCTION",
        ),
        (
            &["run", "--pending", "--break", "loop.c:", program],
            2,
            "`loop.c:`: expected",
        ),
        (
            &["run", "--brake", "main", program],
            2,
            "unexpected argument '--brake'",
        ),
        (&["run", "/no/such/program"], 127, "/no/such/program"),
        (&["record", "/no/such/program"], 127, "/no/such/program"),
        (
            &["trace", "main", "--", "/no/such/program"],
            127,
            "/no/such/program",
        ),
        (&["trace", "count_all(", "--", program], 2, "count_all("),
        (
            &["trace", "nowhere", "--", program],
            2,
            "nowhere: no function `nowhere`",
        ),
        (&["trace", "main", "count( by", "--", program], 2, "main: "),
        (
            &["trace", "main", program],
            2,
            "`--` stands before the program: `stillpoint trace main -- ",
        ),
        (&[program, "1"], 2, "to debug a program: `stillpoint run "),
        (&["attach", "1"], 2, "--pid 1`"),
        (&["-p", "1"], 2, "--pid 1`"),
        (
            &["run"],
            2,
            "the following required arguments were not provided",
        ),
        (
            &["--no-such-flag"],
            2,
            "unexpected argument '--no-such-flag'",
        ),
    ] {
        refused(arguments, code, part);
    }
}

#[test]
fn places_in_libraries() {
    let fixture = Fixture::of("c/shared_main.c");
    let program = fixture.program.to_str().expect("UTF-8");
    // Of a library that the program is linked with.
    let output = stillpoint_with(&["run", "--break", "linked_twice", program]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("int twice = value * 2;"));
    // Of one that it loads.
    let place = ["run", "--break", "plugin_thrice", program];
    refused(&place, 2, "plugin_thrice: no function");
    let output = stillpoint_with(&["run", "--pending", "--break", "plugin_thrice", program]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("int thrice = value * 3;"));
    assert_eq!(text(&output.stderr), "");
    let output = stillpoint_with(&["run", "--pending", "--break", "nowhere", program]);
    assert_eq!(output.status.code(), Some(0));
    assert!(text(&output.stderr).starts_with("stillpoint: nowhere: no function"));
}

#[test]
fn programs_are_found_as_by_a_shell() {
    let output = stillpoint_with(&["run", "false"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let output = stillpoint_with(&["record", "true"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}

/// Ctrl-C: a terminal signals all processes of its foreground group.
#[test]
fn an_interrupt_is_the_programs() {
    let fixture = Fixture::of("c/interrupts.c");
    let program = fixture.program.to_str().expect("UTF-8");
    for (arguments, code, last) in [
        (
            &["run", "--break", "saves", program, "handles"][..],
            7,
            "saved",
        ),
        (&["record", program, "handles"], 7, "saved"),
        (
            &["run", "--pending", "--break", "saves", program],
            130,
            "ready",
        ),
        (&["record", program], 130, "ready"),
        (
            &["trace", "saves", "--", program, "handles"],
            130,
            "no hits yet",
        ),
    ] {
        let mut child = command()
            .args(arguments)
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("stillpoint starts");
        let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        let ready = lines.find(|line| line.as_ref().is_ok_and(|it| it == "ready"));
        assert!(ready.is_some(), "{arguments:?}");
        process::send_signal(-(child.id() as i32), Signal::SIGINT);
        let status = process::wait_for(&mut child);
        // A shell goes on after a program that has handled the key, not after one that it has ended.
        match code {
            130 => assert_eq!(status.signal(), Some(2), "{arguments:?}"),
            _ => assert_eq!(status.code(), Some(code), "{arguments:?}"),
        }
        let rest: Vec<String> = lines.map_while(Result::ok).collect();
        assert!(
            last == "ready" || rest.iter().any(|line| line.contains(last)),
            "{arguments:?}: {rest:?}"
        );
    }
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
