//! The same expressions as code in the program: log messages and conditions of breakpoints that are
//! hit often enough to be compiled. Their texts have to be those of `evaluate`.

use super::difference::What;
use super::program::{Language, Program, ROUNDS, TICKS};
use crate::DapClient;
use regex::Regex;
use serde_json::{Value, json};
use std::collections::{HashMap, VecDeque};
use std::sync::LazyLock;

/// Expressions of one message; if it is not compiled, each gets one of its own.
const PACKED: usize = 4;
/// One of so many expressions is also a condition.
const CONDITIONS: usize = 4;
/// Longer values are not compared: a record has room for few of them.
const MAX_CHARS: usize = 60;
/// Before each value in a message.
const BEFORE: char = '¦';

/// What may be a call, or an operator that is one.
static CALL: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"[\w>\]]\(|\b(dw|obj|conv)").expect("it is right"));

/// What a breakpoint of the loop does.
#[derive(Clone)]
enum Job {
    /// Logs expressions.
    Message(Vec<usize>),
    /// Has an expression as its condition.
    Condition(usize),
}

/// What was found: differences by expression, and how many expressions were compiled.
#[derive(Default)]
pub(super) struct Found {
    pub(super) differences: Vec<(usize, What, String, String)>,
    pub(super) compiled: usize,
}

/// Compares expressions with a reply, as many as fit in so many runs of the loop. The program is at
/// its stop.
pub(super) fn compare(
    client: &mut DapClient,
    program: &Program,
    replies: &[Result<Value, String>],
    runs: usize,
) -> Found {
    let mut found = Found::default();
    let mut jobs = jobs(program, replies);
    for _ in 0..runs {
        if jobs.is_empty() {
            break;
        }
        let batch: Vec<Job> = jobs.drain(..jobs.len().min(TICKS)).collect();
        for (job, outcome) in batch.iter().zip(run(client, program, &batch)) {
            match (job, outcome.is_compiled) {
                (Job::Message(indices), false) if indices.len() > 1 => {
                    let each = indices.iter().map(|it| Job::Message(vec![*it]));
                    each.for_each(|it| jobs.push_front(it));
                }
                (_, false) => {}
                (job, true) => judge(job, &outcome, replies, &mut found),
            }
        }
    }
    found
}

fn text<'a>(reply: &'a Result<Value, String>, key: &str) -> Option<&'a str> {
    reply.as_ref().ok()?[key].as_str()
}

/// Returns what the breakpoints have to do for all expressions.
fn jobs(program: &Program, replies: &[Result<Value, String>]) -> VecDeque<Job> {
    let is_short = |index: &usize| {
        text(&replies[*index], "result").is_some_and(|it| {
            it.chars().count() <= MAX_CHARS && !it.contains(['\n', BEFORE])
        })
        // Braces and commas have a meaning in messages.
        && !program.expressions[*index].contains(['{', ','])
    };
    let shown: Vec<usize> = (0..replies.len()).filter(is_short).collect();
    let mut jobs: VecDeque<Job> = shown
        .chunks(PACKED)
        .map(|it| Job::Message(it.to_vec()))
        .collect();
    let is_truth = |index: &&usize| {
        let ty = text(&replies[**index], "type").unwrap_or_default();
        match program.world.language() {
            Language::Rust => ty == "bool",
            _ => matches!(
                ty,
                "int" | "long" | "bool" | "_Bool" | "double" | "float" | "unsigned int" | "short"
            ),
        }
    };
    // Once a condition has called a function, no condition of the session is compiled.
    let calls = |index: &usize| {
        let expression = &program.expressions[*index];
        program.world.kind == "std" || CALL.is_match(expression)
    };
    let conditions = shown
        .iter()
        .filter(|index| *index % CONDITIONS == 0 && is_truth(index) && !calls(index))
        .map(|it| Job::Condition(*it));
    // Both kinds are among the first.
    for (place, condition) in conditions.enumerate() {
        jobs.insert((4 * place).min(jobs.len()), condition);
    }
    jobs
}

/// What a breakpoint did in one run of the loop.
#[derive(Default)]
struct Outcome {
    is_compiled: bool,
    logged: Vec<String>,
}

/// Runs the loop once.
fn run(client: &mut DapClient, program: &Program, jobs: &[Job]) -> Vec<Outcome> {
    let names: Vec<String> = (0..jobs.len()).map(|it| format!("tick{it}")).collect();
    let breakpoint = |(line, job): (usize, &Job)| match job {
        Job::Message(indices) => {
            let mut message = format!("{line}");
            for index in indices {
                message += &format!("{BEFORE}{{{}}}", program.expressions[*index]);
            }
            json!({"logMessage": message})
        }
        Job::Condition(index) => json!({
            "condition": program.expressions[*index],
            "logMessage": format!("{line}{BEFORE}"),
        }),
    };
    let mut places = vec![("end", json!({}))];
    let all = jobs.iter().enumerate().map(breakpoint);
    places.extend(names.iter().map(String::as_str).zip(all));
    let set = client.set_breakpoints_with(&program.fixture, places);
    let lines: HashMap<i64, usize> = set[1..]
        .iter()
        .enumerate()
        .filter_map(|(line, it)| Some((it["id"].as_i64()?, line)))
        .collect();
    let before = client.history().len();
    client.continue_();
    while client.expect_stopped("breakpoint").is_object()
        && client.top_line() != program.fixture.line("end")
    {
        client.continue_();
    }
    let mut outcomes: Vec<Outcome> = jobs.iter().map(|_| Outcome::default()).collect();
    let mut output = String::new();
    for message in &client.history()[before..] {
        let body = &message["body"];
        if message["event"] == "output" && body["category"] == "console" {
            output += body["output"].as_str().unwrap_or_default();
        } else if message["event"] == "breakpoint" {
            let breakpoint = &body["breakpoint"];
            let line = breakpoint["id"].as_i64().and_then(|id| lines.get(&id));
            let note = breakpoint["message"].as_str().unwrap_or_default();
            if let Some(outcome) = line.and_then(|it| outcomes.get_mut(*it)) {
                outcome.is_compiled = note.starts_with("evaluated in the program");
            }
        }
    }
    for line in output.lines() {
        if let Some((number, rest)) = line.split_once(BEFORE)
            && let Some(outcome) = number
                .parse()
                .ok()
                .and_then(|it: usize| outcomes.get_mut(it))
        {
            outcome.logged.push(rest.to_owned());
        }
    }
    outcomes
}

fn judge(job: &Job, outcome: &Outcome, replies: &[Result<Value, String>], found: &mut Found) {
    match job {
        Job::Condition(index) => {
            found.compiled += 1;
            let holds = outcome.logged.len();
            if holds != 0 && holds != ROUNDS {
                let says = format!("as a condition it holds at {holds} of {ROUNDS} hits");
                let result = text(&replies[*index], "result").unwrap_or_default();
                found
                    .differences
                    .push((*index, What::Compiled, result.to_owned(), says));
            }
        }
        Job::Message(indices) => {
            found.compiled += indices.len();
            let hits: Vec<Vec<&str>> = outcome
                .logged
                .iter()
                .map(|it| it.split(BEFORE).collect())
                .collect();
            for (place, index) in indices.iter().enumerate() {
                let result = text(&replies[*index], "result").unwrap_or_default();
                let other = hits.iter().map(|hit| hit.get(place).copied());
                let other = other
                    .map(Option::unwrap_or_default)
                    .find(|it| *it != result);
                let missing = (hits.len() != ROUNDS).then(|| {
                    let count = hits.len();
                    format!("logged {count} times of {ROUNDS}")
                });
                if let Some(says) = other.map(str::to_owned).or(missing) {
                    found
                        .differences
                        .push((*index, What::Compiled, result.to_owned(), says));
                }
            }
        }
    }
}
