//! Tables of steps.

use serde_json::json;

use crate::client::DapClient;
use crate::fixture::{Compiler, Fixture, Flags};

/// One command of a table of steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Run to the next breakpoint; the first one of a table starts the program.
    Continue,
    /// Step over.
    Next,
    /// Step in.
    StepIn,
    /// Step out.
    StepOut,
}

/// Returns the default matrix of flags for a source: compilers × optimization × PIE × DWARF
/// version, without redundant combinations.
pub fn matrix(source: &str) -> Vec<Flags> {
    let families: &[Compiler] = if source.ends_with(".rs") {
        &[Compiler::Rustc]
    } else {
        &[Compiler::Gcc, Compiler::Clang]
    };
    let mut flags = Vec::new();
    for family in families {
        let usual = Flags::new(*family);
        flags.push(usual);
        flags.push(Flags { dwarf: 4, ..usual });
        flags.push(Flags {
            pie: false,
            ..usual
        });
    }
    flags
}

/// Runs a table of steps with each of the flags in the [`matrix`] of a source: sets breakpoints on
/// the named lines, then checks the line after each step. `exit` is the end of the program.
pub fn run(source: &str, breakpoints: &[&str], steps: &[(Step, &str)]) {
    for flags in matrix(source) {
        run_with(source, flags, breakpoints, steps);
    }
}

/// Like [`run`], with one set of flags.
pub fn run_with(source: &str, flags: Flags, breakpoints: &[&str], steps: &[(Step, &str)]) {
    let Some(fixture) = Fixture::build(source, flags) else {
        return;
    };
    eprintln!("{source} {flags:?}");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({}));
    // Exceptions and panics do not stop the program during steps.
    client.request_ok("setExceptionBreakpoints", json!({"filters": []}));
    client.set_breakpoints(&fixture, breakpoints);
    for (number, (step, place)) in steps.iter().enumerate() {
        eprintln!("{number}: {step:?} to {place}");
        if number == 0 {
            assert_eq!(*step, Step::Continue, "a table begins with Continue");
            client.configure();
        } else {
            let command = match step {
                Step::Continue => "continue",
                Step::Next => "next",
                Step::StepIn => "stepIn",
                Step::StepOut => "stepOut",
            };
            let thread = client.thread();
            client.request_ok(command, json!({"threadId": thread}));
        }
        if *place == "exit" {
            client.expect_exit();
            continue;
        }
        match step {
            Step::Continue => client.expect_stopped("breakpoint"),
            // A step that ends at a breakpoint hits it.
            _ => client.expect_stopped_by(&["step", "breakpoint"]),
        };
        client.expect_line(&fixture, place);
    }
    client.disconnect();
}
