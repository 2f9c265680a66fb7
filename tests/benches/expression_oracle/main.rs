//! The compiler as the oracle of expressions: a program that prints random expressions over its
//! variables with type and value is compiled and run; the debugger evaluates the same text in the
//! same process. What the compiler rejects, the debugger has to refuse. Prints the differences.
//!
//! `cargo bench -p stillpoint-tests --bench expression_oracle -- [PROGRAMS]`: the number of programs
//! of each language, 1 by default. The expressions are the same in each run.

mod programs;
mod random;

use programs::{Language, Program};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::env;
use std::process::ExitCode;
use stillpoint_tests::{DapClient, Fixture, Flags};

/// Expressions of one program.
const EXPRESSIONS: usize = 400;

fn main() -> ExitCode {
    let programs = env::args().skip(1).find_map(|it| it.parse().ok());
    let mut differ = 0;
    for language in [Language::C, Language::Cpp, Language::Rust] {
        let (mut wrong, mut count, mut rejected) = (Vec::new(), 0, 0);
        for seed in 0..programs.unwrap_or(1) {
            let program = Program::random(language, seed, EXPRESSIONS);
            count += program.expressions.len();
            rejected += program.rejected.len();
            wrong.extend(compare(&program));
        }
        for line in &wrong {
            println!("{line}");
        }
        println!(
            "{language:?}: {count} expressions, of which the compiler rejects {rejected}; {} differ",
            wrong.len()
        );
        differ += wrong.len();
    }
    match differ {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

/// Returns the differences in one program.
fn compare(program: &Program) -> Vec<String> {
    let flags = Flags::of(&program.source);
    let fixture = Fixture::build(&program.source, flags).expect("the compiler is installed");
    let mut client = stopped(&fixture);
    let frame = client.top_frame()["id"].clone();
    let printed = printed(&client.output("stdout"));
    let mut wrong = Vec::new();
    for (index, expression) in program.expressions.iter().enumerate() {
        let arguments = json!({"expression": expression, "frameId": frame, "context": "watch"});
        let reply = client.request("evaluate", arguments);
        let expected = printed.get(&index);
        if let Some(difference) = difference(expected, reply.as_ref()) {
            wrong.push(format!(
                "{:?}: `{expression}` {difference}",
                program.language
            ));
        }
    }
    client.disconnect();
    wrong
}

/// Runs a program to its last line. On the way, expressions may divide by zero.
fn stopped(fixture: &Fixture) -> DapClient {
    let mut client = DapClient::spawn();
    client.launch(fixture, json!({}));
    client.set_breakpoints(fixture, &["stop"]);
    client.configure();
    while client.expect_stopped_by(&["breakpoint", "exception"])["reason"] != "breakpoint" {
        client.continue_();
    }
    client
}

/// What the program prints for an expression.
#[derive(Clone, PartialEq, Debug)]
enum Printed {
    /// Its type and value.
    Value(String, String),
    /// Its evaluation ends the program, as a division by zero does.
    Trap,
}

/// Reads the lines of the program: `index TAB type TAB value`, or `index TAB trap`.
fn printed(output: &str) -> BTreeMap<usize, Printed> {
    let line = |line: &str| {
        let mut fields = line.split('\t');
        let index = fields.next()?.parse().ok()?;
        let printed = match (fields.next()?, fields.next()) {
            ("trap", None) => Printed::Trap,
            (ty, Some(value)) => Printed::Value(ty.to_owned(), value.to_owned()),
            _ => return None,
        };
        Some((index, printed))
    };
    output.lines().filter_map(line).collect()
}

fn difference(expected: Option<&Printed>, reply: Result<&Value, &Value>) -> Option<String> {
    match (expected, reply) {
        (None | Some(Printed::Trap), Err(_)) => None,
        (None, Ok(body)) => Some(format!("is rejected by the compiler, and shown as {body}")),
        (Some(Printed::Trap), Ok(body)) => Some(format!("traps, and is shown as {body}")),
        (Some(Printed::Value(ty, value)), Err(error)) => {
            let why = &error["body"]["error"]["format"];
            Some(format!("is {value} ({ty}), and is refused: {why}"))
        }
        (Some(Printed::Value(ty, value)), Ok(body)) => {
            let text = |key: &str| body[key].as_str().unwrap_or_default().to_owned();
            let (shown, shown_type) = (text("result"), text("type"));
            let same = programs::same_type(ty, &shown_type) && same_value(ty, value, &shown);
            (!same).then(|| format!("is {value} ({ty}), and shown as {shown} ({shown_type})"))
        }
    }
}

fn same_value(ty: &str, value: &str, shown: &str) -> bool {
    let shown = shown.split(' ').next().unwrap_or_default();
    let numbers = (value.parse::<f64>(), shown.parse::<f64>());
    match (ty, numbers) {
        // Shown with as many digits as the type needs.
        ("float" | "f32", (Ok(value), Ok(shown))) => same_float(value as f32, shown as f32),
        ("double" | "f64", (Ok(value), Ok(shown))) => {
            value == shown || value.is_nan() && shown.is_nan()
        }
        _ => value == shown,
    }
}

fn same_float(a: f32, b: f32) -> bool {
    a == b || a.is_nan() && b.is_nan()
}
