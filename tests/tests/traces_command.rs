//! `stillpoint trace`: tables and records of a program that it starts or attaches to.

use nix::sys::signal::Signal;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::{Command, Output, Stdio};
use stillpoint_tests::process::{self, Debuggee};
use stillpoint_tests::{Compiler, Fixture, Flags, command};

fn started(arguments: &[&str]) -> std::process::Child {
    let mut trace = command();
    trace.arg("trace").args(arguments);
    trace
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    trace.spawn().expect("stillpoint starts")
}

fn output(arguments: &[&str]) -> (Option<i32>, String, String) {
    let Output {
        status,
        stdout,
        stderr,
    } = started(arguments).wait_with_output().expect("its output");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (status.code(), text(stdout), text(stderr))
}

fn place(fixture: &Fixture) -> String {
    format!("traces.c:{}", fixture.line("handle"))
}

#[test]
fn a_program_is_traced_to_its_end() {
    let fixture = Fixture::of("c/traces.c");
    let program = fixture.program.to_str().expect("UTF-8");
    let place = place(&fixture);
    let (code, shown, errors) = output(&[
        &place,
        "count()",
        "max(order->n)",
        "by order->kind",
        "--",
        program,
        "5000",
    ]);
    assert_eq!((code, errors.as_str()), (Some(0), ""), "{shown}");
    for part in [
        ": count(), max(order->n) by order->kind; 5,000 hits in ",
        "\n  order->kind  count  max(order->n)\n",
        "\n  APPLE        ",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
}

#[test]
fn null_pointers_have_no_text() {
    let fixture = Fixture::of("c/null_texts.c");
    let program = fixture.program.to_str().expect("UTF-8");
    for (condition, hits) in [
        ("name == \"odd\"", "500"),
        ("name != \"odd\"", "500"),
        ("\"even\" == name", "400"),
        ("name < \"f\"", "400"),
        ("!(name >= \"a\")", "100"),
    ] {
        let query = format!("count() where {condition}");
        let (code, shown, errors) = output(&["look", &query, "--", program]);
        assert_eq!((code, errors.as_str()), (Some(0), ""), "{shown}");
        let last = shown.lines().last().map(str::trim);
        assert_eq!(last, Some(hits), "{condition}: {shown}");
        assert!(!shown.contains("missing"), "{condition}: {shown}");
    }
}

#[test]
fn keys_with_texts_among_other_parts_are_told_apart() {
    let fixture = Fixture::of("rust/trace_keys.rs");
    let program = fixture.program.to_str().expect("UTF-8");
    for (key, values) in [
        ("*named", 10),
        ("pair", 10),
        ("*item", 10),
        ("*result", 10),
        ("alone", 2),
    ] {
        let query = format!("count() by {key}");
        let (code, shown, errors) = output(&["trace_keys::look", &query, "--", program]);
        assert_eq!((code, errors.as_str()), (Some(0), ""), "{shown}");
        let each = format!(" {}", 100 / values);
        let rows = shown.lines().filter(|it| it.ends_with(&each));
        assert_eq!(rows.count(), values, "{key}: {shown}");
        assert_eq!(
            shown.contains("evaluated by the debugger"),
            values > 2,
            "{key}: {shown}"
        );
    }
}

#[test]
fn timed_calls_make_no_stop_for_their_arguments() {
    let fixture = Fixture::of("cpp/timed_arguments.cpp");
    let program = fixture.program.to_str().expect("UTF-8");
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("calls.json");
    let path = file.to_str().expect("UTF-8");
    let arguments = ["--calls", "weighed*", "--perfetto", path, "--", program];
    let (code, shown, errors) = output(&arguments);
    assert_eq!((code, errors.as_str()), (Some(0), ""), "{shown}");
    assert!(!shown.contains("evaluated by the debugger"), "{shown}");
    let events = std::fs::read_to_string(&file).expect("a timeline");
    let events: Value = serde_json::from_str(&events).expect("JSON");
    let events = events["traceEvents"].as_array().expect("events");
    assert_eq!(events.len(), 1000);
    for (nth, event) in events.iter().enumerate() {
        let arguments = event["args"]["arguments"].as_str().expect("a text");
        let (holder, factor) = arguments.split_once(", ").expect("two");
        assert!(holder.starts_with("holder = 0x"), "{arguments}");
        assert_eq!(factor, format!("factor = {nth}"));
        assert_eq!(event["args"]["returned"], (3 * nth).to_string());
    }
    // If it is wished, or nothing is timed, they are read.
    for query in [
        "elapsed, arguments keep 1 with traps",
        "arguments, returned keep 1",
    ] {
        let (_, shown, _) = output(&["weighed", query, "--", program]);
        assert!(shown.contains("weight = 3"), "{shown}");
    }
}

/// The places where parameters can be read are passed in each round of the loop.
#[test]
fn calls_of_functions_that_begin_with_a_loop_are_counted_once() {
    let c = [Compiler::Gcc, Compiler::Clang]
        .map(|compiler| ("c/loop_first.c", Flags::new(compiler), "halves", 50));
    let rust = (
        "rust/loop_first.rs",
        Flags::of("rust/loop_first.rs"),
        "word",
        13,
    );
    for (source, flags, function, calls) in c.into_iter().chain([rust]) {
        let Some(fixture) = Fixture::build(source, flags) else {
            continue;
        };
        let program = fixture.program.to_str().expect("UTF-8");
        for query in ["count()", "count(), sum(elapsed) by function"] {
            let (code, shown, errors) = output(&[function, query, "--", program]);
            assert_eq!((code, errors.as_str()), (Some(0), ""), "{shown}");
            let counted = shown
                .split_whitespace()
                .any(|word| word == calls.to_string());
            assert!(counted, "{source} {flags:?} {query}: {shown}");
            assert!(!shown.contains("not returned"), "{source} {query}: {shown}");
        }
    }
}

#[test]
fn timelines_have_all_calls_that_are_kept() {
    let fixture = Fixture::of("c/header_constants.c");
    let program = fixture.program.to_str().expect("UTF-8");
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("calls.json");
    let path = file.to_str().expect("UTF-8");
    let (code, shown, errors) = output(&["--calls", "work", "--perfetto", path, "--", program]);
    assert_eq!((code, errors.as_str()), (Some(0), ""), "{shown}");
    let events = std::fs::read_to_string(&file).expect("a timeline");
    let events: Value = serde_json::from_str(&events).expect("JSON");
    assert_eq!(events["traceEvents"].as_array().map(Vec::len), Some(20_000));
}

#[test]
fn queries_that_cannot_be_recorded_run_nothing() {
    let fixture = Fixture::of("c/null_texts.c");
    let program = fixture.program.to_str().expect("UTF-8");
    for (query, why) in [
        ("count() where elapsed > 1000", "known when a call returns"),
        ("count() where returned < 0", "known when a call returns"),
        ("count() by returned == 0", "use `returned` alone"),
        ("sum(returned.n)", "use `returned` alone"),
        ("max(elapsed / 1000)", "use `elapsed` alone"),
        ("count() where call_depth > 1", "no part of a condition"),
        ("count() where thread == 1", "`$thread`"),
        ("count(nth)", "takes no value"),
        ("count() by nosuch", "no variable `nosuch`"),
        ("count() where nosuch > 3", "no variable `nosuch`"),
        ("count() where nosuch(nth)", "no function `nosuch`"),
        ("nosuch, nth", "no variable `nosuch`"),
        ("sum(nth) where name->n > 3", "name"),
        (
            "count(), sum(name)",
            "a `const char *` is an address, and addresses are not added",
        ),
        ("max(look)", "is not a number"),
        ("mean(since(nosuch))", "since(nosuch): "),
        ("mean(since(nosuch.c:3))", "since(nosuch.c:3): "),
        ("mean(since(main, nosuch))", "no variable `nosuch`"),
        ("count( by", "expected `)`"),
    ] {
        let (code, shown, errors) = output(&["look", query, "--", program]);
        assert_eq!((code, shown.as_str()), (Some(2), ""), "{query}: {errors}");
        let first = errors.lines().next().unwrap_or_default();
        assert!(
            first.starts_with("stillpoint: look: ") && first.contains(why),
            "{query}: {errors}"
        );
    }
    // A library that is loaded later may have the name.
    let (code, shown, errors) = output(&["--pending", "look", "count() by nosuch", "--", program]);
    assert_eq!((code, errors.as_str()), (Some(0), ""), "{shown}");
    assert!(shown.contains("1,000 hits are missing"), "{shown}");
}

#[test]
fn files_that_cannot_be_written_run_nothing() {
    let fixture = Fixture::of("c/null_texts.c");
    let program = fixture.program.to_str().expect("UTF-8");
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path().to_str().expect("UTF-8");
    for option in ["--flame", "--perfetto"] {
        for file in [format!("{folder}/none/calls"), folder.to_owned()] {
            let arguments = [option, &file, "--calls", "look", "--", program];
            let (code, shown, errors) = output(&arguments);
            assert_eq!((code, shown.as_str()), (Some(2), ""), "{errors}");
            assert!(
                errors.starts_with(&format!("stillpoint: cannot write {file}: ")),
                "{errors}"
            );
        }
    }
    // A file that exists is left as it is if nothing is run.
    let file = format!("{folder}/kept.svg");
    std::fs::write(&file, "before").expect("a file");
    let (code, ..) = output(&["--flame", &file, "--calls", "nosuch", "--", program]);
    assert_eq!(code, Some(2));
    assert_eq!(std::fs::read_to_string(&file).expect("the file"), "before");
}

#[test]
fn records_are_printed_as_lines() {
    let fixture = Fixture::of("c/traces.c");
    let program = fixture.program.to_str().expect("UTF-8");
    let (code, shown, _) = output(&["handle", "order->n", "order->who", "--", program, "40"]);
    assert_eq!(code, Some(0));
    let records: Vec<&str> = shown
        .lines()
        .filter(|line| line.contains("order->n = "))
        .collect();
    assert_eq!(records.len(), 40, "{shown}");
    assert!(
        records
            .iter()
            .all(|line| line.contains(" thread ") && line.contains(" s "))
    );
}

#[test]
fn rates_are_drawn() {
    let fixture = Fixture::of("c/traces.c");
    let program = fixture.program.to_str().expect("UTF-8");
    let (code, shown, _) = output(&["handle", "rate()", "by order->kind", "--", program, "9000"]);
    assert_eq!(code, Some(0));
    for kind in ["APPLE", "PEAR", "PLUM"] {
        let line = shown
            .lines()
            .find(|it| it.contains(&format!("order->kind = {kind}: ")));
        let line = line.unwrap_or_else(|| panic!("{kind}: {shown}"));
        assert!(line.contains('█') && line.ends_with(" in all"), "{line}");
    }
}

#[test]
fn json_has_an_object_per_line() {
    let fixture = Fixture::of("c/traces.c");
    let program = fixture.program.to_str().expect("UTF-8");
    let (code, shown, _) = output(&["--json", "handle", "--", program, "77", "2"]);
    assert_eq!(code, Some(0));
    let lines = shown
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"));
    let mut lines = lines.filter(|it: &Value| it["event"] == "summary");
    let last = lines.next_back().expect("a summary");
    assert_eq!(last["traces"][0]["hits"], 154, "{last}");
}

#[test]
fn an_attached_process_goes_on_after_an_interrupt() {
    let fixture = Fixture::of("c/traces.c");
    let program = Debuggee::start(&fixture, &["4000000000", "2", "alive"]);
    program.read_line();
    let before = process::text_bytes(program.pid(), &fixture.program);
    let pid = program.pid().to_string();
    let mut trace = started(&[
        "--json",
        "--every",
        "0.05",
        "--pid",
        &pid,
        &place(&fixture),
        "count()",
    ]);
    let mut lines = BufReader::new(trace.stdout.take().expect("piped")).lines();
    let hits = |line: &str| -> u64 {
        let event: Value = serde_json::from_str(line).expect("JSON");
        event["traces"][0]["hits"].as_u64().unwrap_or(0)
    };
    let mut line = || lines.next().expect("a line").expect("UTF-8");
    while hits(&line()) < 2_000 {}
    process::send_signal(trace.id() as i32, Signal::SIGINT);
    let last = std::iter::from_fn(|| Some(line()))
        .find(|line| line.contains("\"summary\""))
        .expect("a summary");
    assert!(hits(&last) >= 2_000, "{last}");
    assert!(process::wait_for(&mut trace).success());
    program.expect_running();
    assert!(process::text_bytes(program.pid(), &fixture.program) == before);
}

#[test]
fn closed_output_ends_a_trace() {
    let fixture = Fixture::of("c/traces.c");
    let program = Debuggee::start(&fixture, &["4000000000", "2", "alive"]);
    program.read_line();
    let pid = program.pid().to_string();
    let place = place(&fixture);
    let mut trace = started(&[
        "--json", "--every", "0.05", "--pid", &pid, &place, "count()",
    ]);
    let mut line = String::new();
    let mut output = BufReader::new(trace.stdout.take().expect("piped"));
    output.read_line(&mut line).expect("a line");
    drop(output);
    process::wait_for(&mut trace);
    program.expect_running();
}

#[test]
fn mistakes_are_said() {
    let fixture = Fixture::of("c/traces.c");
    let program = fixture.program.to_str().expect("UTF-8");
    let (_, _, errors) = output(&["handle", "sum()", "--", program, "1"]);
    assert!(errors.contains("`sum` takes one value"), "{errors}");
    let (_, _, errors) = output(&["nowhere_at_all", "--", program, "1"]);
    assert!(errors.contains("nowhere_at_all: "), "{errors}");
    let both = output(&["handle", "--pid", "1", "--", program]);
    assert!(
        both.0 != Some(0) && both.2.contains("cannot be used with"),
        "{both:?}"
    );
    let neither: Output = Command::output(command().args(["trace", "handle"])).expect("its output");
    assert!(!neither.status.success());
}

/// The tree, the flame graph and the timeline of the same run.
#[test]
fn calls_are_a_tree_a_flame_graph_and_a_timeline() {
    let fixture = Fixture::of("c/call_paths.c");
    let program = fixture.program.to_str().expect("UTF-8");
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str| folder.path().join(name).display().to_string();
    let (flame, timeline) = (file("flame.svg"), file("timeline.json"));
    let calls = ["--calls", "?", "--flame", &flame, "--perfetto", &timeline];
    let (code, shown, errors) = output(&[&calls[..], &["--", program, "1"]].concat());
    assert_eq!((code, errors.as_str()), (Some(0), ""), "{shown}");
    let printed: Vec<&str> = shown
        .lines()
        .filter(|line| line.starts_with(|first: char| first.is_ascii_digit()))
        .collect();
    let calls_of = |path: &str| {
        let line = printed
            .iter()
            .find(|line| line.split_once(' ').is_some_and(|it| it.1 == path));
        line.and_then(|line| line.split(' ').next())
            .expect("a path")
    };
    // Below `a` is `b`, with as many calls as the program counts.
    let tree: Vec<Vec<&str>> = (shown.lines())
        .skip_while(|line| !line.contains("self  function"))
        .map(|line| line.split_whitespace().collect())
        .collect();
    let indent = |name: &str, depth: usize| {
        shown
            .lines()
            .filter(|line| line.ends_with(&format!("  {}{name}", "  ".repeat(depth))))
            .count()
    };
    assert!(
        tree.iter()
            .any(|line| line.first() == Some(&calls_of("a")) && line.last() == Some(&"a"))
    );
    assert!(indent("b", 1) >= 1, "{shown}");

    let svg = std::fs::read_to_string(&flame).expect("a flame graph");
    assert!(
        svg.starts_with("<?xml") && svg.contains("<title>a ("),
        "{svg}"
    );

    let timeline = std::fs::read(&timeline).expect("a timeline");
    let timeline: Value = serde_json::from_slice(&timeline).expect("JSON");
    let events = timeline["traceEvents"].as_array().expect("events");
    let all: usize = printed
        .iter()
        .filter_map(|line| line.split(' ').next()?.parse::<usize>().ok())
        .sum();
    assert_eq!(events.len(), all);
    let span = |event: &Value| {
        let time = |name: &str| event[name].as_f64().expect("a time");
        (time("ts"), time("ts") + time("dur"))
    };
    // Of each thread, calls are inside of each other or apart.
    for (index, one) in events.iter().enumerate() {
        for other in events[index + 1..]
            .iter()
            .take(30)
            .filter(|it| it["tid"] == one["tid"])
        {
            let ((a, b), (c, d)) = (span(one), span(other));
            let apart = b <= c + 1.0 || d <= a + 1.0;
            let inside = (c <= a + 1.0 && b <= d + 1.0) || (a <= c + 1.0 && d <= b + 1.0);
            assert!(apart || inside, "{one} {other}");
        }
    }

    let (code, _, errors) = output(&["--calls", "?", "n > 3", "--", program]);
    assert_eq!(code, Some(2));
    assert!(
        errors.contains("only `where CONDITION` and `with traps` may follow"),
        "{errors}"
    );
    let nowhere = [
        "--calls",
        "?",
        "--flame",
        "/no/such/folder.svg",
        "--",
        program,
        "1",
    ];
    let (code, _, errors) = output(&nowhere);
    assert_eq!(code, Some(2));
    assert!(
        errors.contains("cannot write /no/such/folder.svg"),
        "{errors}"
    );
}
