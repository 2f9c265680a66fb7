//! Stepping over a corpus: each fixture of `fixtures/stepping` says in its first lines what a
//! careful reader expects to see next.
//!
//! `//= gcc O0 | start n:next_line i:callee o:start` is a walk: a breakpoint on the line `start`,
//! then `next` (`n`), `stepIn` (`i`), `stepOut` (`o`), each with the name of the line that it has
//! to reach; `exit` is the program's end. `n>` is a step that ends on another thread, which no
//! other one may. Before the bar is what it holds for: compilers, levels of optimization and
//! architectures; without a bar, for all.

use serde_json::json;
use std::fs;
use stillpoint_tests::{Compiler, DapClient, Fixture, Flags, repository};

/// What a walk holds for, and where it goes.
struct Walk {
    filter: Vec<String>,
    places: Vec<(String, String)>,
}

fn walks(source: &str) -> Vec<Walk> {
    let path = repository().join("tests/fixtures").join(source);
    let text = fs::read_to_string(&path).expect("the fixture");
    let lines = text.lines().filter_map(|line| line.strip_prefix("//= "));
    let walks = lines.map(|line| {
        let (filter, places) = line.split_once('|').unwrap_or(("", line));
        let place = |word: &str| match word.split_once(':') {
            Some((how, name)) => (how.to_owned(), name.to_owned()),
            None => ("c".to_owned(), word.to_owned()),
        };
        Walk {
            filter: filter.split_whitespace().map(str::to_owned).collect(),
            places: places.split_whitespace().map(place).collect(),
        }
    });
    walks.collect()
}

fn holds_for(walk: &Walk, flags: Flags) -> bool {
    let compiler = format!("{:?}", flags.compiler).to_lowercase();
    let level = format!("O{}", flags.optimization);
    let fits = |all: &[&str], own: &str| {
        let mut named = walk
            .filter
            .iter()
            .filter(|word| all.contains(&word.as_str()));
        named.clone().next().is_none() || named.any(|word| word == own)
    };
    fits(&["gcc", "clang", "rustc"], &compiler)
        && fits(&["O0", "O1", "O2"], &level)
        && fits(&["x86_64", "aarch64"], std::env::consts::ARCH)
}

/// Walks through a fixture compiled by all compilers of its language, at two levels.
fn walk(source: &str) {
    let compilers: &[Compiler] = match source.ends_with(".rs") {
        true => &[Compiler::Rustc],
        false => &[Compiler::Gcc, Compiler::Clang],
    };
    let mut wrong = Vec::new();
    for compiler in compilers {
        for level in ["0", "2"] {
            let flags = Flags::new(*compiler).optimized(level);
            let walks = walks(source);
            let mut held = walks
                .iter()
                .filter(|walk| holds_for(walk, flags))
                .peekable();
            if held.peek().is_none() {
                continue;
            }
            let Some(fixture) = Fixture::build(source, flags) else {
                continue;
            };
            for walk in held {
                let seen = go(&fixture, walk);
                let expected: Vec<String> =
                    walk.places.iter().map(|(_, name)| name.clone()).collect();
                if seen != expected {
                    wrong.push(format!(
                        "{compiler:?} -O{level}\n  expected {expected:?}\n  seen     {seen:?}"
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{source}\n{}", wrong.join("\n"));
}

/// The places that a walk really comes to, up to the first one that is none of its own.
fn go(fixture: &Fixture, walk: &Walk) -> Vec<String> {
    let mut client = DapClient::spawn();
    client.launch(fixture, json!({}));
    // Steps go over exceptions and panics as over anything else.
    client.request_ok("setExceptionBreakpoints", json!({"filters": []}));
    let mut seen = Vec::new();
    for (command, expected) in &walk.places {
        let mut moved = false;
        if seen.is_empty() {
            client.set_breakpoints(fixture, &[expected]);
            client.configure();
            client.expect_stopped("breakpoint");
            client.set_breakpoints(fixture, &[]);
        } else {
            let command = match command.trim_end_matches('>') {
                "n" => "next",
                "i" => "stepIn",
                "o" => "stepOut",
                _ => panic!("no command {command}"),
            };
            let thread = client.thread();
            client.request_ok(command, json!({"threadId": thread}));
            let event = client.wait_event_of(&["stopped", "exited"]);
            if event["event"] == "exited" {
                seen.push("exit".to_owned());
                break;
            }
            let stopped = event["body"]["threadId"].as_i64().expect("a thread");
            moved = stopped != thread;
            client.select_thread(stopped);
        }
        let frame = client.top_frame();
        let line = frame["line"].as_u64().expect("a line");
        let names = fixture.names_of(line);
        let in_source = frame["source"]["path"] == fixture.source.to_str().expect("a path");
        let is_there = in_source && names.split(' ').any(|name| name == expected);
        let is_it = is_there && moved == command.ends_with('>');
        seen.push(match is_it {
            true => expected.clone(),
            false => format!(
                "{}:{line} {names} {}{}",
                frame["source"]["name"],
                frame["name"],
                if moved { " on another thread" } else { "" },
            ),
        });
        if !is_it {
            break;
        }
    }
    client.close();
    seen
}

#[test]
fn jumps_loops_and_calls_in_c() {
    walk("stepping/flow.c");
}

#[test]
fn through_the_library_in_cpp() {
    walk("stepping/library.cpp");
}

#[test]
fn through_the_library_in_rust() {
    walk("stepping/iterators.rs");
}

#[test]
fn over_awaits() {
    walk("stepping/awaits.rs");
}

#[test]
fn over_awaits_in_methods() {
    walk("stepping/methods.rs");
}

#[test]
fn each_pass_of_a_loop() {
    walk("stepping/passes.rs");
    walk("stepping/passes.c");
}

#[test]
fn over_awaits_on_other_threads() {
    walk("stepping/moves.rs");
}

#[test]
fn recursion_macros_and_loops() {
    walk("stepping/shapes.c");
}

#[test]
fn to_the_end_of_a_thread() {
    walk("stepping/alone.c");
}

#[test]
fn on_other_stacks() {
    walk("stepping/stacks.c");
}

#[test]
fn over_new_and_ended_threads() {
    walk("stepping/births.c");
    walk("stepping/births.rs");
}
