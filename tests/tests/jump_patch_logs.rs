//! What the program says itself at log points: as many messages, and the same, as if it had been
//! stopped at each.

use serde_json::{Value, json};
use stillpoint_tests::{Compiler, DapClient, Fixture, Flags};

const MESSAGES: usize = 10_000;

/// Runs a fixture to its end; returns its output, and the breakpoint's message on where it is
/// evaluated.
fn logged(
    fixture: &Fixture,
    args: &[&str],
    mark: &str,
    breakpoint: Value,
) -> (Vec<String>, Option<String>) {
    let mut client = DapClient::spawn();
    client.launch(fixture, json!({"args": args}));
    client.set_breakpoints_with(fixture, vec![(mark, breakpoint)]);
    client.configure();
    assert_eq!(client.expect_exit(), 0);
    let note = client.history().iter().rev();
    let mut note = note.filter_map(|it| it["body"]["breakpoint"]["message"].as_str());
    let note = note.next().map(str::to_owned);
    let logged = client.output("console");
    client.disconnect();
    (logged.lines().map(str::to_owned).collect(), note)
}

#[track_caller]
fn by_itself(note: Option<&str>) {
    let itself = note.is_some_and(|it| it.starts_with("evaluated in the program"));
    assert!(itself, "{note:?}");
}

#[track_caller]
fn expect(logged: &[String], expected: impl Iterator<Item = String>) {
    let mut lines = logged.iter();
    for (index, expected) in expected.enumerate() {
        assert_eq!(lines.next(), Some(&expected), "message {index}");
    }
    assert_eq!(lines.next(), None);
}

/// Ways to compile it in which no parameter is lost.
fn everywhere(source: &str) -> Vec<Fixture> {
    let gcc = ["0", "1", "2"].map(|level| Flags::new(Compiler::Gcc).optimized(level));
    let all = gcc.into_iter().chain([Flags::new(Compiler::Clang)]);
    all.filter_map(|flags| Fixture::build(source, flags))
        .collect()
}

/// A log message with all kinds of simple values, and its text at a hit.
const VALUES: &str = "{i}: {ratio} {single} {name} {kind} {flag} {letter} {ratio * 3}";

fn values(i: usize) -> String {
    let name = ["\"zero\"", "\"\"", "\"\\\"two\\\"\\n\"", ""][i % 4];
    let kind = ["FIRST", "MIDDLE", "LAST"][i % 3];
    let letter = b'a' + (i % 26) as u8;
    format!(
        "{i}: {} {} @{name} {kind} {} {letter} '{}' {}",
        i as f64 / 2.0,
        i as f32 / 4.0,
        i % 2 == 1,
        char::from(letter),
        i as f64 / 2.0 * 3.0,
    )
}

/// Addresses are others in every run.
fn without_addresses(logged: &[String]) -> Vec<String> {
    let strip = |line: &String| {
        let mut parts = line.split("0x");
        let mut text = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            text.push('@');
            let rest = part.trim_start_matches(|it: char| it.is_ascii_hexdigit());
            // The text that is there.
            text.push_str(
                rest.strip_prefix(' ')
                    .filter(|it| it.starts_with('"'))
                    .unwrap_or(rest),
            );
        }
        text
    };
    logged.iter().map(strip).collect()
}

#[test]
fn floats_texts_and_all_simple_values() {
    for fixture in everywhere("c/jump_patch_logs.c") {
        let args = ["values", &MESSAGES.to_string()];
        let (logged, note) = logged(&fixture, &args, "values", json!({"logMessage": VALUES}));
        by_itself(note.as_deref());
        expect(&without_addresses(&logged), (0..MESSAGES).map(values));
    }
}

#[test]
fn objects_long_texts_and_pointers_to_nothing() {
    for fixture in everywhere("c/jump_patch_logs.c") {
        let args = ["objects", &MESSAGES.to_string()];
        let message = json!({"logMessage": "{i} {*pair} {a} {b}"});
        let (logged, note) = logged(&fixture, &args, "objects", message);
        by_itself(note.as_deref());
        let long = format!("@\"{}\"...", "q".repeat(256));
        let expected = (0..MESSAGES).map(|i| {
            let pointed = match i % 1000 {
                999 => "@",
                _ => "@\"said\"",
            };
            let text = |short: &str, is_long| match is_long {
                true => long.clone(),
                false => format!("@\"{short}\""),
            };
            let right = i as f32 / 8.0;
            let a = text("a", i % 100 >= 60);
            let b = text("b", i % 100 == 50);
            format!("{i} {{left = {i}, right = {right}, name = \"abc\", said = {pointed}}} {a} {b}")
        });
        expect(&without_addresses(&logged), expected);
    }
}

#[test]
fn text_of_cpp() {
    for compiler in [Compiler::Gcc, Compiler::Clang] {
        let Some(fixture) = Fixture::build("cpp/jump_patch_logs.cpp", Flags::new(compiler)) else {
            continue;
        };
        let message = json!({"logMessage": "{i} {name} {view} {point} {row}"});
        let (logged, note) = logged(&fixture, &[&MESSAGES.to_string()], "say", message);
        by_itself(note.as_deref());
        let expected = (0..MESSAGES).map(|i| {
            let name = ["longer than fits into the object", "short"][i % 2];
            let row = match i % 4 {
                0 => "{}".to_owned(),
                len => format!("({len}) {{{}}}", vec![i.to_string(); len].join(", ")),
            };
            let view = &name[..(i % 6).min(name.len())];
            let x = i as f64 / 2.0;
            format!("{i} \"{name}\" \"{view}\" {{x = {x}, y = {i}}} {row}")
        });
        expect(&logged, expected);
    }
}

#[test]
fn text_of_rust() {
    let fixture = Fixture::of("rust/jump_patch_logs.rs");
    let message = json!({"logMessage": "{i} {text} {string} {said} {maybe}"});
    let (logged, note) = logged(&fixture, &[&MESSAGES.to_string()], "say", message);
    by_itself(note.as_deref());
    let expected = (0..MESSAGES).map(|i| {
        let text = ["one", "", "three"][i % 3];
        let string = "é".repeat(i % 4);
        let logged = match i % 3 {
            0 => "Nothing".to_owned(),
            1 => format!("Number({i}.0)"),
            _ => "Text(\"said\")".to_owned(),
        };
        let maybe = match i % 2 {
            0 => format!("Some({i})"),
            _ => "None".to_owned(),
        };
        format!("{i} \"{text}\" \"{string}\" {logged} {maybe}")
    });
    expect(&logged, expected);
}

#[test]
fn logpoint_hit_conditions_are_exact() {
    let fixture = Fixture::of("c/jump_patch_logs.c");
    let args = ["values", &MESSAGES.to_string()];
    for (hit, condition, holds) in [
        ("% 10", None, (|hit| hit % 10 == 0) as fn(usize) -> bool),
        (">= 7000", None, |hit| hit >= 7000),
        ("6000", None, |hit| hit == 6000),
        ("< 2000", None, |hit| hit < 2000),
        ("% 7", Some("i % 3 == 1"), |hit| hit % 7 == 0),
        ("3000", Some("i % 3 == 1"), |hit| hit == 3000),
    ] {
        let mut breakpoint = json!({"logMessage": "{i} {kind}", "hitCondition": hit});
        if let Some(condition) = condition {
            breakpoint["condition"] = json!(condition);
        }
        let (logged, note) = logged(&fixture, &args, "values", breakpoint);
        by_itself(note.as_deref());
        let passes = (0..MESSAGES).filter(|i| condition.is_none() || i % 3 == 1);
        let hits = passes.zip(1..).filter(|(_, hit)| holds(*hit));
        let kinds = ["FIRST", "MIDDLE", "LAST"];
        expect(&logged, hits.map(|(i, _)| format!("{i} {}", kinds[i % 3])));
    }
}

/// Hits that the interpreter evaluates are included in the count.
#[test]
fn interpreted_hits_are_counted() {
    let fixture = Fixture::of("c/jump_patch_logs.c");
    let args = ["objects", &MESSAGES.to_string()];
    let breakpoint = json!({"logMessage": "{i} {a} {b}", "hitCondition": "% 11"});
    let (logged, note) = logged(&fixture, &args, "objects", breakpoint);
    by_itself(note.as_deref());
    let numbers = logged
        .iter()
        .map(|line| line.split(' ').next().unwrap_or_default());
    let numbers: Vec<String> = numbers.map(str::to_owned).collect();
    expect(
        &numbers,
        (1..=MESSAGES / 11).map(|it| (11 * it - 1).to_string()),
    );
}

#[test]
fn threads_count_together() {
    let fixture = Fixture::of("c/jump_patch_logs.c");
    let args = ["threads", &MESSAGES.to_string()];
    for (hit, expected) in [
        ("% 10", 4 * MESSAGES / 10),
        ("> 30000", 4 * MESSAGES - 30_000),
    ] {
        let breakpoint = json!({"logMessage": "{i} {ratio} {name}", "hitCondition": hit});
        let (logged, note) = logged(&fixture, &args, "values", breakpoint);
        by_itself(note.as_deref());
        assert_eq!(logged.len(), expected, "{hit}");
        for line in without_addresses(&logged) {
            let i: usize = line
                .split(' ')
                .next()
                .and_then(|it| it.parse().ok())
                .expect(&line);
            assert_eq!(line, format!("{i} {} @\"text\"", i as f64 / 2.0));
        }
    }
}

#[test]
fn single_message_is_emitted_once() {
    let fixture = Fixture::of("c/jump_patch_logs.c");
    let args = ["values", &MESSAGES.to_string()];
    let breakpoint = json!({
        "logMessage": "{i} {$thread > 0}", "hitCondition": "once", "condition": "i == 7000",
    });
    let (logged, _) = logged(&fixture, &args, "values", breakpoint);
    expect(&logged, std::iter::once("7000 1".to_owned()));
}

/// A condition that could not be compiled is compiled again after it has changed.
#[test]
fn edited_condition_is_compiled_again() {
    let fixture = Fixture::of("c/jump_patch_logs.c");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({"args": ["values", "1000000000"]}));
    let expect_note = |client: &mut DapClient, start: &str, end: &str| {
        client.wait_event_where("breakpoint", |event| {
            let message = event["breakpoint"]["message"].as_str();
            message.is_some_and(|it| it.starts_with(start) && it.ends_with(end))
        });
    };
    let calls = json!({"condition": "$thread == 1"});
    client.set_breakpoints_with(&fixture, vec![("values", calls)]);
    client.configure();
    expect_note(
        &mut client,
        "evaluated by the debugger, ",
        " per hit: `$thread` is known only to the debugger",
    );
    let reads = json!({"condition": "i == 3000000"});
    client.set_breakpoints_with(&fixture, vec![("values", reads)]);
    expect_note(&mut client, "evaluated in the program", "");
    client.expect_stopped("breakpoint");
    assert_eq!(client.evaluate("i"), "3000000");
    client.disconnect_with(json!({"terminateDebuggee": true}));
}

/// A condition without code says so when it is set, with the part and the reason; once the line is hot, with what a
/// hit costs.
#[test]
fn condition_without_code_says_so_when_it_is_set() {
    let fixture = Fixture::of("c/jump_patch_logs.c");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({"args": ["values", "1000000000"]}));
    let condition = json!({"condition": "i == -1 || $caller_is(\"nobody\")"});
    let set = client.set_breakpoints_with(&fixture, vec![("values", condition)]);
    let why = "`$caller_is(\"nobody\")`: `$caller_is` unwinds the stack";
    let expected = format!("evaluated by the debugger at each hit: {why}");
    assert_eq!(set[0]["message"], expected, "{set:?}");
    client.configure();
    // On a busy machine, milliseconds.
    let measured = ["µs", "ms"].map(|unit| format!(" {unit} per hit: {why}"));
    client.wait_event_where("breakpoint", |event| {
        let message = event["breakpoint"]["message"].as_str().unwrap_or_default();
        let figure = message.strip_prefix("evaluated by the debugger, ");
        let figure = figure.and_then(|it| measured.iter().find_map(|end| it.strip_suffix(&**end)));
        figure.is_some_and(|it| it.parse::<u32>().is_ok_and(|it| it > 0))
    });
    // What compiles says nothing before it is hit.
    let reads = json!({"condition": "i == -1"});
    let set = client.set_breakpoints_with(&fixture, vec![("values", reads)]);
    assert!(set[0]["message"].is_null(), "{set:?}");
    client.disconnect_with(json!({"terminateDebuggee": true}));
}

/// Each condition runs in the program, and stops it at the first hit for which it holds.
fn stop_in_the_program(fixture: &str, conditions: &[(&str, &str)]) {
    let fixture = Fixture::of(fixture);
    for (condition, expected) in conditions {
        let mut client = DapClient::spawn();
        client.launch(&fixture, json!({"args": ["1000000"]}));
        client.set_breakpoints_with(&fixture, vec![("say", json!({"condition": condition}))]);
        client.configure();
        let event = client.wait_event_where("breakpoint", |event| {
            let message = event["breakpoint"]["message"].as_str();
            message.is_some_and(|it| {
                it.starts_with("evaluated ") && !it.contains("searching debug info")
            })
        });
        let message = &event["breakpoint"]["message"];
        assert_eq!(message, "evaluated in the program", "{condition}");
        client.expect_stopped("breakpoint");
        assert_eq!(client.evaluate("i"), *expected, "{condition}");
        client.disconnect_with(json!({"terminateDebuggee": true}));
    }
}

#[test]
fn conditions_on_the_library_of_cpp_run_in_the_program() {
    stop_in_the_program(
        "cpp/jump_patch_logs.cpp",
        &[
            ("name < \"m\" && i >= 4001", "4002"),
            ("row.begin() != row.end() && *row.begin() == 4001", "4001"),
            ("!strcmp(name.c_str(), \"short\") && i > 5000", "5001"),
            ("view.find(\"o\") == 1 && i >= 6000", "6002"),
            ("std::max(i, 7000L) == 7001", "7001"),
            ("((const Point &)point).y == 8000", "8000"),
        ],
    );
}

#[test]
fn conditions_on_the_library_of_rust_run_in_the_program() {
    stop_in_the_program(
        "rust/jump_patch_logs.rs",
        &[
            ("i % 4 == 2 && &string[2..] == \"é\" && i > 4000", "4002"),
            ("(5000..6000).contains(&i)", "5000"),
            ("i.wrapping_mul(3) == 18003", "6001"),
            ("maybe.is_some_and(|x| x.min(7000) == 7000)", "7000"),
            ("text > \"t\" && i.checked_sub(8000).is_some()", "8000"),
        ],
    );
}
