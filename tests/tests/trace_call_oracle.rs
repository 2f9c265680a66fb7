//! The oracle of traced calls: random programs that print each line of a function with the values of
//! its variables. `TRACE_CALL_SEEDS=50` tries more of them.

use serde_json::json;
use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;
use std::path::Path;
use stillpoint_tests::{Compiler, DapClient, Fixture, Flags, target_directory};

/// The number of variables.
const VARIABLES: usize = 6;

/// A program under construction.
struct Program {
    state: u64,
    text: String,
    /// Maximum number of iterations of a loop.
    iterations: u64,
    /// The variables that count iterations, which nothing else changes.
    counters: Vec<usize>,
}

impl Program {
    /// Returns a random number below `most`.
    fn below(&mut self, most: u64) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state % most
    }

    fn line(&mut self, depth: usize, text: &str) {
        let _ = writeln!(self.text, "{:1$}{text}", "", depth * 4);
    }

    fn value(&mut self) -> String {
        match self.below(3) {
            0 => self.below(50).to_string(),
            _ => format!("v{}", self.below(VARIABLES as u64)),
        }
    }

    fn expression(&mut self) -> String {
        let (a, b) = (self.value(), self.value());
        let number = self.below(7) + 2;
        match self.below(6) {
            0 => format!("{a} + {b}"),
            1 => format!("{a} - {number}"),
            2 => format!("({a} ^ {b}) % 1000"),
            3 => format!("{a} / {number} + {b} % {number}"),
            4 => format!("mix({a}, {b})"),
            _ => format!("mix(twice({a} % 100), {number})"),
        }
    }

    /// A variable that is not a counter.
    fn target(&mut self) -> usize {
        loop {
            let found = self.below(VARIABLES as u64) as usize;
            if !self.counters.contains(&found) {
                return found;
            }
        }
    }

    fn condition(&mut self) -> String {
        let (a, b) = (self.value(), self.value());
        match self.below(3) {
            0 => format!("{a} % 2 == 0"),
            1 => format!("{a} < {b}"),
            _ => format!("{a} > {}", self.below(60)),
        }
    }

    fn block(&mut self, depth: usize, loops: usize) {
        for _ in 0..1 + self.below(4) {
            self.statement(depth, loops);
        }
    }

    fn statement(&mut self, depth: usize, loops: usize) {
        let kind = self.below(10);
        match kind {
            0 | 1 if depth < 5 && self.counters.len() < 3 => self.a_loop(depth, loops),
            2 | 3 if depth < 5 => {
                let condition = self.condition();
                self.line(depth, &format!("if (NOTE, {condition}) {{"));
                self.block(depth + 1, loops);
                if self.below(2) == 0 {
                    self.line(depth, "} else {");
                    self.block(depth + 1, loops);
                }
                self.line(depth, "}");
            }
            4 if loops > 0 => {
                let condition = self.condition();
                self.line(depth, &format!("if (NOTE, {condition})"));
                let leave = ["break", "continue"][self.below(2) as usize];
                // The counter of `while` loops is changed at their beginning.
                self.line(depth + 1, &format!("{{ NOTE; {leave}; }}"));
            }
            _ => {
                let (target, value) = (self.target(), self.expression());
                self.line(depth, &format!("NOTE; v{target} = {value};"));
            }
        }
    }

    fn a_loop(&mut self, depth: usize, loops: usize) {
        let counter = self.target();
        let most = self.below(self.iterations) + 1;
        self.counters.push(counter);
        self.line(depth, &format!("NOTE; v{counter} = 0;"));
        match self.below(2) {
            0 => {
                self.line(depth, &format!("while (NOTE, v{counter} < {most}) {{"));
                self.line(depth + 1, &format!("NOTE; v{counter}++;"));
                self.block(depth + 1, loops + 1);
                self.line(depth, "}");
            }
            _ => {
                self.line(depth, "do {");
                self.line(depth + 1, &format!("NOTE; v{counter}++;"));
                self.block(depth + 1, loops + 1);
                self.line(depth, &format!("}} while (NOTE, v{counter} < {most});"));
            }
        }
        self.counters.pop();
    }

    fn of(seed: u64, iterations: u64) -> String {
        let mut program = Self {
            state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
            text: String::new(),
            iterations,
            counters: Vec::new(),
        };
        let names: Vec<String> = (0..VARIABLES).map(|at| format!("v{at}")).collect();
        let (uses, parameters) = (names.join(", "), names.join(", int "));
        let formats = ["%d"; VARIABLES + 1].join(" ");
        let _ = write!(
            program.text,
            "#include <stdio.h>\n\
             #define NOTE printf(\"{formats}\\n\", __LINE__, {uses})\n\
             static int mix(int a, int b) {{ int r = (a * 31 + b) % 977; printf(\"mix %d %d %d\\n\", a, b, r); return r; }}\n\
             static int twice(int a) {{ printf(\"twice %d %d\\n\", a, 2 * a); return 2 * a; }}\n\
             int traced(int {parameters})\n{{\n"
        );
        for _ in 0..4 {
            program.block(1, 0);
        }
        let numbers: Vec<String> = (0..VARIABLES).map(|at| (at * 7 + 1).to_string()).collect();
        let _ = write!(
            program.text,
            "    NOTE; return v0 + v1;\n}}\nint main(void)\n{{\n    \
             printf(\"= %d\\n\", traced({}));\n    return 0;\n}}\n",
            numbers.join(", ")
        );
        program.text
    }
}

/// What a program prints: an executed line with the values before it, or a call.
#[derive(Debug, PartialEq)]
enum Printed {
    Line(u32, Vec<i64>),
    Call(String),
}

/// Returns what a program prints, and the result of the function.
fn printed(output: &str) -> (Vec<Printed>, String) {
    let (mut all, mut result) = (Vec::new(), String::new());
    for row in output.lines() {
        let words: Vec<&str> = row.split_whitespace().collect();
        match words.as_slice() {
            ["=", value] => result = (*value).to_owned(),
            ["mix", a, b, r] => all.push(Printed::Call(format!("mix(a={a}, b={b}) = {r}"))),
            ["twice", a, r] => all.push(Printed::Call(format!("twice(a={a}) = {r}"))),
            [line, values @ ..] => {
                let values = values.iter().map(|it| it.parse().expect("a number"));
                all.push(Printed::Line(
                    line.parse().expect("a line"),
                    values.collect(),
                ));
            }
            [] => {}
        }
    }
    (all, result)
}

/// A row of a trace: a line with its changes, or a call.
#[derive(Debug)]
enum Row {
    Line(u32, Vec<(String, i64, i64)>),
    Call(String),
}

/// Returns the rows of a trace without source, regardless of loops.
fn rows(text: &str) -> Vec<Row> {
    let mut rows = Vec::new();
    for row in text.lines().skip(2) {
        let row = row.trim();
        if row.starts_with("returned") {
            break;
        }
        if let Some(call) = row.strip_prefix("→ ") {
            rows.push(Row::Call(call.to_owned()));
            continue;
        }
        let mut words = row.split_whitespace().peekable();
        words.next_if(|it| it.starts_with('#') || *it == "then");
        let Some(Ok(line)) = words.next().map(str::parse) else {
            continue;
        };
        let rest: Vec<&str> = words.collect();
        let rest = rest.join(" ");
        let changes = rest.split(", ").filter(|it| !it.is_empty()).map(|change| {
            let (name, values) = change.split_once(": ").expect("a change");
            let (before, after) = values.split_once(" → ").expect("two values");
            let number = |text: &str| text.parse().expect("a number");
            (name.to_owned(), number(before), number(after))
        });
        rows.push(Row::Line(line, changes.collect()));
    }
    rows
}

/// Compiles a program, without leaving its source; returns its output.
fn compiled(seed: u64, iterations: u64, compiler: Compiler, program: &Path) -> Option<String> {
    let source = program.with_extension("c");
    std::fs::write(&source, Program::of(seed, iterations)).expect("a source");
    let done = Fixture::compile_to(&source, program, Flags::new(compiler));
    // Without it, the text has numbers and changes only.
    std::fs::rename(&source, program.with_extension("kept")).expect("it was there");
    done.then_some(())?;
    let output = std::process::Command::new(program)
        .output()
        .expect("it runs");
    Some(String::from_utf8(output.stdout).expect("UTF-8"))
}

fn trace(program: &Path) -> String {
    let mut client = DapClient::spawn();
    client.launch_program(program, json!({"stopOnEntry": true}));
    client.configure();
    client.expect_stopped("entry");
    let arguments = json!({"function": "traced", "limit": 1 << 20, "seconds": 3600});
    let body = client.request_ok("stillpoint/traceCall", arguments);
    client.disconnect();
    body["text"].as_str().expect("a text").to_owned()
}

fn seeds() -> u64 {
    let seeds = std::env::var("TRACE_CALL_SEEDS").ok();
    seeds.and_then(|it| it.parse().ok()).unwrap_or(4)
}

/// Returns the changes between two lines.
fn changes(before: &[i64], after: &[i64]) -> Vec<(String, i64, i64)> {
    let pairs = before.iter().zip(after).enumerate();
    let differing = pairs.filter(|(_, (before, after))| before != after);
    differing
        .map(|(at, (before, after))| (format!("v{at}"), *before, *after))
        .collect()
}

/// Runs `check` with the trace and the output of random programs.
fn check_programs(iterations: u64, check: impl Fn(&str, &[Printed], &str, Compiler)) {
    let folder = target_directory().join("trace_call_oracle");
    std::fs::create_dir_all(&folder).expect("a folder");
    for compiler in [Compiler::Gcc, Compiler::Clang] {
        for seed in 1..=seeds() {
            let program = folder.join(format!("{compiler:?}-{iterations}-{seed}"));
            let Some(output) = compiled(seed, iterations, compiler, &program) else {
                continue;
            };
            let (printed, result) = printed(&output);
            let text = trace(&program);
            println!("{}", program.display());
            assert!(text.contains(&format!("\nreturned {result}\n")), "{text}");
            check(&text, &printed, &output, compiler);
        }
    }
}

#[test]
fn lines_values_and_calls_are_those_that_the_program_prints() {
    // Loops of at most three iterations are not folded.
    check_programs(3, |text, printed, output, compiler| {
        let rows = rows(text);
        assert!(!text.contains("loop of"), "{text}");
        let lines: Vec<(u32, &Vec<i64>)> = printed
            .iter()
            .filter_map(|it| match it {
                Printed::Line(line, values) => Some((*line, values)),
                Printed::Call(_) => None,
            })
            .collect();
        let after = lines.iter().skip(1).map(Some).chain([None]);
        let expected = lines.iter().zip(after).map(|((line, before), after)| {
            let made = after.map(|(_, after)| changes(before, after));
            (*line, made.unwrap_or_default())
        });
        let traced = rows.iter().filter_map(|it| match it {
            Row::Line(line, changes) => Some((*line, changes.clone())),
            Row::Call(_) => None,
        });
        // clang's line tables have jumps as lines of their own, and jumps into the middle of lines:
        // lines without effect are compared with gcc's only.
        let counts = |it: &(u32, Vec<_>)| compiler == Compiler::Gcc || !it.1.is_empty();
        let expected: Vec<_> = expected.filter(counts).collect();
        let mut traced: Vec<_> = traced.filter(counts).collect();
        if compiler == Compiler::Gcc {
            // The closing brace.
            assert_eq!(traced.pop().map(|it| it.1), Some(Vec::new()), "{text}");
        }
        assert_eq!(traced, expected, "{text}\n{output}");
        let calls = rows.iter().filter_map(|it| match it {
            Row::Call(call) => Some(call),
            Row::Line(..) => None,
        });
        let expected = printed.iter().filter_map(|it| match it {
            Printed::Call(call) => Some(call),
            Printed::Line(..) => None,
        });
        assert!(calls.eq(expected), "{text}\n{output}");
    });
}

#[test]
fn folded_loops_have_the_numbers_that_the_program_prints() {
    check_programs(9, |text, printed, output, compiler| {
        let lines: Vec<(u32, &Vec<i64>)> = printed
            .iter()
            .filter_map(|it| match it {
                Printed::Line(line, values) => Some((*line, values)),
                Printed::Call(_) => None,
            })
            .collect();
        if compiler == Compiler::Gcc {
            let executed = format!("made by steps: {} lines executed", lines.len() + 1);
            assert!(text.contains(&executed), "{executed}\n{text}\n{output}");
        }
        let mut made = HashSet::new();
        let mut count: BTreeMap<u32, u64> = BTreeMap::new();
        for pair in lines.windows(2) {
            let (line, before) = pair[0];
            for change in changes(before, pair[1].1) {
                made.insert((line, change));
            }
        }
        for (line, _) in &lines {
            *count.entry(*line).or_default() += 1;
        }
        for row in rows(text) {
            if let Row::Line(line, changes) = row {
                for change in changes {
                    assert!(
                        made.contains(&(line, change.clone())),
                        "{line} {change:?}\n{text}"
                    );
                }
            }
        }
        // A loop begins an iteration with each execution of its first line, but for the check that
        // ends it. One that is executed several times has several rows.
        for row in text.lines().filter(|row| row.contains(" loop of line")) {
            let numbers = row.split(|it: char| !it.is_ascii_digit());
            let numbers: Vec<u64> = numbers.filter_map(|it| it.parse().ok()).collect();
            let (line, iterations) = (numbers[0] as u32, numbers[numbers.len() - 1]);
            let executed = count[&line];
            let rows = text.matches(row.trim()).count();
            assert!(iterations <= executed, "{row}: {executed}\n{text}");
            if iterations + 1 < executed {
                assert!(
                    rows > 1 || text.matches("loop of").count() > 1,
                    "{row}\n{text}"
                );
            }
        }
    });
}
