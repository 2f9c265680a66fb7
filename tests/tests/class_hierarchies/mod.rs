//! The oracle of class hierarchies: random programs with several, virtual and template bases, whose
//! objects are reached by pointers, references and the standard library's pointers to any base, and
//! which print what the expressions are worth. `HIERARCHY_SEEDS=50` tries more of them.

mod programs;

use programs::HIERARCHIES;
use serde_json::{Value, json};
use std::path::Path;
use stillpoint_tests::{Compiler, DapClient, Fixture, Flags, target_directory};

/// How the programs are compiled, one after the other.
const BUILDS: [(Compiler, u8, &[&str]); 4] = [
    (Compiler::Gcc, 5, &["-std=c++17", "-w"]),
    (Compiler::Clang, 5, &["-std=c++17", "-w"]),
    (Compiler::Clang, 4, &["-std=c++17", "-w", "-stdlib=libc++"]),
    (
        Compiler::Gcc,
        4,
        &["-std=c++17", "-w", "-fdebug-types-section"],
    ),
];

/// An expression, its value in the program, and whether the debugger may refuse it.
struct Known {
    expression: String,
    value: String,
    may_be_refused: bool,
}

fn seeds() -> u64 {
    let seeds = std::env::var("HIERARCHY_SEEDS").ok();
    seeds.and_then(|it| it.parse().ok()).unwrap_or(2)
}

/// Returns what a program prints of each hierarchy.
fn printed(program: &Path) -> Vec<Vec<Known>> {
    let output = std::process::Command::new(program).output();
    let output = String::from_utf8(output.expect("it runs").stdout).expect("UTF-8");
    let mut all: Vec<Vec<Known>> = Vec::new();
    all.resize_with(HIERARCHIES, Vec::new);
    for line in output.lines() {
        let (number, rest) = line.split_once(' ').expect("a number");
        let (text, value) = rest.rsplit_once(" = ").expect("a value");
        let refused = text.strip_prefix("? ");
        let expression = refused.unwrap_or(text);
        // Comparisons are shown as what they are.
        let value = match (expression.contains(" == "), value) {
            (true, "0") => "false",
            (true, _) => "true",
            (false, value) => value,
        };
        all[number.parse::<usize>().expect("a number")].push(Known {
            expression: expression.to_owned(),
            value: value.to_owned(),
            may_be_refused: refused.is_some(),
        });
    }
    all
}

/// Returns a condition that holds, of expressions that need no call.
fn condition(known: &[Known]) -> String {
    let is_read = |it: &&Known| !it.expression.contains("()") && !it.may_be_refused;
    let every = known.iter().filter(is_read).step_by(7).take(12);
    let parts: Vec<String> = every
        .map(|it| format!("({}) == {}", it.expression, it.value))
        .collect();
    parts.join(" && ")
}

/// Compares what expressions are worth; returns the differences.
fn compare(client: &mut DapClient, known: &[Known]) -> Vec<String> {
    let mut different = Vec::new();
    for it in known {
        let found = client.try_evaluate(&it.expression);
        let is_right = match &found {
            Ok(value) => *value == it.value,
            // gcc's DWARF 4 describes a class of a function a second time, as another one.
            Err(why) => it.may_be_refused || why.contains("no callable `f"),
        };
        if !is_right {
            different.push(format!("{} = {found:?}, not {}", it.expression, it.value));
        }
    }
    different
}

/// Assigns through each pointer of the standard library, and reads through the raw one.
fn assign(client: &mut DapClient, known: &[Known]) -> Vec<String> {
    let mut different = Vec::new();
    for it in known {
        let (expression, value) = (&it.expression, &it.value);
        let Some((object, "x")) = expression.rsplit_once(['>', '.']) else {
            continue;
        };
        let at: String = object
            .chars()
            .filter(char::is_ascii_digit)
            .take(1)
            .collect();
        let raw = format!("raw{at}->x");
        if object.starts_with("cp") || object.starts_with("raw") {
            continue;
        }
        for new in ["424242", value] {
            let frame = client.top_frame()["id"].clone();
            let arguments = json!({"expression": format!("{expression} = {new}"), "frameId": frame, "context": "repl"});
            let done = client.request("evaluate", arguments);
            let after = client.try_evaluate(&raw);
            if done.is_err() || after.as_deref() != Ok(new) {
                different.push(format!("{expression} = {new}: {done:?}, {raw} = {after:?}"));
            }
        }
    }
    different
}

/// Looks for the members of the dynamic class among the children of pointers.
fn open(client: &mut DapClient, known: &[Known]) -> Vec<String> {
    let mut different = Vec::new();
    let locals = client.local_variables();
    for it in known {
        let (object, member) = match it.expression.split_once("->m") {
            Some((object, digits)) => (object, format!("m{digits}")),
            None => continue,
        };
        // A member of a base is among the children of that.
        let class = object.trim_start_matches(|it: char| !it.is_ascii_digit());
        let Some(variable) = locals.get(object).filter(|_| member[1..] > *class) else {
            continue;
        };
        let children = client.children(variable);
        if children.get(&member) != Some(&it.value) {
            different.push(format!("{object}: {} in {children:?}", member));
        }
    }
    different
}

/// Evaluates the expressions of all members in pointers and what is in them.
fn name(client: &mut DapClient) -> Vec<String> {
    let mut different = Vec::new();
    let kinds = ["raw", "ref", "up", "sp"];
    let is_kind = |it: &str| kinds.iter().any(|kind| it.starts_with(kind));
    let locals = client.local_variables().into_iter();
    let mut left: Vec<Value> = locals.filter(|it| is_kind(&it.0)).map(|it| it.1).collect();
    while let Some(of) = left.pop() {
        let reference = of["variablesReference"].as_i64().unwrap_or(0);
        if reference == 0 {
            let Some(expression) = of["evaluateName"].as_str() else {
                continue;
            };
            let found = client.try_evaluate(expression);
            if found.as_deref() != Ok(of["value"].as_str().unwrap_or_default()) {
                different.push(format!("{expression} = {found:?}, not {}", of["value"]));
            }
        } else {
            let children = client.variables(reference).into_iter();
            let is_meant = |it: &Value| {
                let name = it["name"].as_str().unwrap_or_default();
                !name.starts_with(['[', '_']) && !name.starts_with("pad")
            };
            left.extend(children.filter(is_meant));
        }
    }
    different
}

#[test]
fn objects_are_what_the_program_says_through_every_pointer() {
    let folder = target_directory().join("class_hierarchies");
    std::fs::create_dir_all(&folder).expect("a folder");
    let mut different = Vec::new();
    for (seed, build) in (1..=seeds()).zip(BUILDS.iter().cycle()) {
        let (compiler, dwarf, extra) = *build;
        let program = folder.join(format!("{seed}"));
        let source = program.with_extension("cpp");
        std::fs::write(&source, programs::text(seed)).expect("a source");
        let flags = Flags {
            dwarf,
            extra,
            ..Flags::new(compiler)
        };
        if !Fixture::compile_to(&source, &program, flags) {
            continue;
        }
        let printed = printed(&program);
        let fixture = Fixture::compiled(&source, &program);
        let marks: Vec<String> = (0..HIERARCHIES).map(|it| format!("h{it}")).collect();
        let places = marks.iter().zip(&printed);
        let places = places.map(|(mark, known)| (&**mark, json!({"condition": condition(known)})));
        let mut client = DapClient::spawn();
        client.launch(&fixture, json!({}));
        client.set_breakpoints_with(&fixture, places.collect());
        client.configure();
        for (mark, known) in marks.iter().zip(&printed) {
            client.expect_stopped("breakpoint");
            client.expect_line(&fixture, mark);
            let mut wrong = open(&mut client, known);
            wrong.extend(name(&mut client));
            wrong.extend(compare(&mut client, known));
            wrong.extend(assign(&mut client, known));
            wrong
                .iter()
                .for_each(|it| different.push(format!("{} {mark}: {it}", source.display())));
            client.continue_();
        }
        assert_eq!(client.expect_exit(), 0);
        client.disconnect();
    }
    assert!(
        different.is_empty(),
        "{} differ:\n{}",
        different.len(),
        different.join("\n")
    );
}
