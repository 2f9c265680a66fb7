//! Steps back. The steps forward before them say where they must lead.

use super::{recorded, step_back};
use serde_json::json;
use std::collections::BTreeMap;
use stillpoint_tests::{Compiler, DapClient, Fixture, Flags};

/// What a stop shows.
#[derive(PartialEq, Eq, Debug)]
struct Place {
    functions: Vec<String>,
    line: u64,
    locals: BTreeMap<String, String>,
}

fn place(client: &mut DapClient) -> Place {
    // What a call has returned is known only after it was stepped over.
    let mut locals = client.locals();
    locals.retain(|name, _| !name.starts_with('('));
    Place {
        functions: client.function_names(),
        line: client.top_line(),
        locals,
    }
}

/// Steps forward from a breakpoint, and then back as often: the same places, in reverse.
fn walk(source: &str, flags: Flags, from: &str, steps: usize) {
    let Some(fixture) = Fixture::build(source, flags) else {
        return;
    };
    eprintln!("{source} {flags:?}");
    let mut client = recorded(&fixture, from);
    client.set_breakpoints(&fixture, &[]);
    client.request_ok("setExceptionBreakpoints", json!({"filters": []}));
    let mut passed = vec![place(&mut client)];
    for _ in 0..steps {
        client.next();
        passed.push(place(&mut client));
    }
    passed.pop();
    for (back, expected) in passed.iter().rev().enumerate() {
        step_back(&mut client);
        assert_eq!(&place(&mut client), expected, "{} back", back + 1);
    }
    client.disconnect();
}

const GCC: Flags = Flags::new(Compiler::Gcc);
const CLANG: Flags = Flags::new(Compiler::Clang);
const RUSTC: Flags = Flags::new(Compiler::Rustc);

#[test]
fn steps_back_in_c_pass_the_same_lines_and_values() {
    walk("c/travel.c", GCC, "round", 26);
    walk("c/travel.c", CLANG, "round", 26);
}

#[test]
fn steps_back_in_optimized_c_pass_the_same_lines() {
    walk("c/travel.c", GCC.optimized("2"), "round", 24);
    walk("c/travel.c", CLANG.optimized("2"), "round", 24);
}

#[test]
fn steps_back_in_cpp_pass_the_same_lines_and_values() {
    walk("cpp/travel.cpp", GCC, "made", 12);
}

#[test]
fn steps_back_in_rust_pass_the_same_lines_and_values() {
    walk("rust/travel.rs", RUSTC, "loop", 6);
}
