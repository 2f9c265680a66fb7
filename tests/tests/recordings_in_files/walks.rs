//! Places of a program that were seen live are seen again in its recording, after the program and its files are
//! gone: the same stack, values, registers and memory.

use super::{go, opened, place_for_file, shown};
use crate::travel::walks::place::{Key, Looks, Place};
use fastrand::Rng;
use serde_json::json;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use stillpoint_tests::{Compiler, DapClient, Fixture, Flags};

/// Moves of a walk, each way.
const MOVES: usize = 40;

const FORWARD: [&str; 5] = ["next", "next", "stepIn", "stepOut", "continue"];
const BACK: [&str; 5] = [
    "stepBack",
    "stepBack",
    "stepBack",
    "reverseContinue",
    "next",
];

/// What was seen of a program.
#[derive(Default)]
struct Seen {
    places: BTreeMap<Key, Place>,
    again: usize,
    wrong: Vec<String>,
}

impl Seen {
    /// Looks at a stop. Returns whether it is in the program's own source.
    fn look(&mut self, client: &mut DapClient, looks: &Looks) -> bool {
        let place = looks.look(client);
        let Some(key) = place.key.clone() else {
            return false;
        };
        match self.places.get(&key) {
            None => drop(self.places.insert(key, place)),
            Some(before) => {
                self.again += 1;
                if let Some(difference) = before.difference(&place) {
                    self.wrong.push(format!("{place}: {difference}"));
                }
            }
        }
        true
    }
}

/// Sets breakpoints on functions that exist.
fn stop_in(client: &mut DapClient, functions: &[&str]) {
    client.set_function_breakpoints(functions);
    client.request_ok("setExceptionBreakpoints", json!({"filters": []}));
}

/// Walks on at random, and at last to the exit.
fn walk_to_exit(client: &mut DapClient, looks: &Looks, seen: &mut Seen, random: &mut Rng) {
    for _ in 0..MOVES {
        let request = random.choice(FORWARD).expect("there are some");
        let thread = client.thread();
        if client
            .request(request, json!({"threadId": thread}))
            .is_err()
        {
            continue;
        }
        let event = client.wait_event("stopped");
        if event["reason"] == "exit" {
            return;
        }
        seen.look(client, looks);
    }
    client.set_function_breakpoints(&[]);
    while go(client, "continue", &["exit", "exception"])["reason"] != "exit" {}
}

fn walk_in(source: &str, compiler: Compiler, functions: &[&str]) {
    let flags = Flags::new(compiler).optimized("0");
    let Some(fixture) = Fixture::build(source, flags) else {
        return;
    };
    let (folder, file) = place_for_file();
    // What is beside the recording is gone when it is opened.
    let program = folder.path().join("program");
    fs::copy(&fixture.program, &program).expect("a copy");
    let mut random = Rng::with_seed(7);
    let mut seen = Seen::default();
    let looks = record(&program, &fixture, &file, functions, &mut seen, &mut random);
    fs::remove_file(&program).expect("the program");
    let live = seen.places.len();
    assert!(live > 8, "few places were seen: {live}");

    let settings = json!({"program": fixture.program});
    let (mut client, _) = opened(&file, settings, &["exit"]);
    stop_in(&mut client, functions);
    seen.again = 0;
    walk_back(&mut client, &looks, &mut seen, &mut random);
    let again = seen.again;
    eprintln!("{source}: {live} places live, {again} looks at known ones in the file");
    assert!(seen.wrong.is_empty(), "{}", seen.wrong.join("\n"));
    assert!(again > live / 2, "{again} of {live} were seen again");
    client.disconnect();
}

/// Walks back from the end at random, and again from the end once it is at the start.
fn walk_back(client: &mut DapClient, looks: &Looks, seen: &mut Seen, random: &mut Rng) {
    let mut request = "reverseContinue";
    for _ in 0..3 * MOVES {
        let thread = client.thread();
        let answer = client.request(request, json!({"threadId": thread}));
        if answer.is_ok() {
            let event = client.wait_event("stopped");
            let is_in_own = seen.look(client, looks);
            if event["reason"] == "entry" {
                client.request_ok("stillpoint/visitStop", json!({}));
                client.expect_stopped("goto");
                request = "reverseContinue";
                continue;
            }
            request = match is_in_own {
                true => random.choice(BACK).expect("there are some"),
                // In the C library and its start there is little to see.
                false => "reverseContinue",
            };
        } else {
            request = "reverseContinue";
        }
    }
}

/// Records a program while it is walked in, and writes the recording to a file.
fn record(
    program: &Path,
    fixture: &Fixture,
    file: &Path,
    functions: &[&str],
    seen: &mut Seen,
    random: &mut Rng,
) -> Looks {
    let mut client = DapClient::spawn();
    client.launch_program(program, json!({"record": true}));
    stop_in(&mut client, functions);
    client.configure();
    client.expect_stopped_by(&["function breakpoint", "breakpoint"]);
    let source = fixture.source.to_string_lossy().into_owned();
    let name = program.to_string_lossy().into_owned();
    let looks = Looks::of(&mut client, &name, source, false);
    seen.look(&mut client, &looks);
    walk_to_exit(&mut client, &looks, seen, random);
    let text = shown(&mut client, &format!(":recording save {}", file.display()));
    let text = text.expect("a file");
    assert!(text.starts_with("wrote "), "{text}");
    client.disconnect();
    looks
}

#[test]
fn places_in_a_c_program_are_seen_again() {
    let functions = ["main", "fib", "cmp", "ack"];
    walk_in("c/walk_calls.c", Compiler::Gcc, &functions);
}

#[test]
fn places_among_system_calls_are_seen_again() {
    let functions = ["main", "files", "pipes", "maps"];
    walk_in("c/walk_world.c", Compiler::Gcc, &functions);
}

#[test]
fn places_among_signals_are_seen_again() {
    let functions = ["main", "on_alarm", "on_user", "on_fault", "deep"];
    walk_in("c/walk_signals.c", Compiler::Gcc, &functions);
}

#[test]
fn places_in_a_cpp_program_are_seen_again() {
    walk_in(
        "cpp/walk_exceptions.cpp",
        Compiler::Gcc,
        &["main", "guarded"],
    );
}

#[test]
fn places_in_a_rust_program_are_seen_again() {
    let functions = ["walk_values::main", "weigh", "collatz", "checked"];
    walk_in("rust/walk_values.rs", Compiler::Rustc, &functions);
}
