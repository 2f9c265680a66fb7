//! The debugger at the package as it was: it stops at each statement and evaluates the probes.

use crate::probe::{Answer, Run, Statement};
use crate::truth;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use stillpoint_tests::DapClient;

/// Requests sent ahead of their responses.
const AHEAD: usize = 32;

/// A program for the debugger.
pub struct Program<'a> {
    /// Its file.
    pub path: &'a Path,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Its working folder.
    pub folder: &'a Path,
    /// The folder that the files of the statements are relative to.
    pub sources: &'a Path,
}

/// What the debugger said, and how the session ended.
#[derive(Default)]
pub struct Session {
    /// Stops and answers.
    pub run: Run<Answer>,
    /// The statements whose line has no code.
    pub without_code: Vec<usize>,
    /// Whether the program ran to its end.
    pub ended: bool,
}

/// Runs a program with a breakpoint at each statement; twice if it `varies`, for what is the same.
///
/// # Errors
/// The session was lost: the debugger broke off, hung, or sent what DAP does not allow; the end of the
/// transcript.
pub fn session(
    program: &Program,
    statements: &[&Statement],
    varies: bool,
    deadline: Instant,
) -> Result<Session, String> {
    let mut session = once(program, statements, deadline)?;
    if varies {
        let second = once(program, statements, deadline)?;
        let text = |it: &Answer| match it {
            Answer::Value(shown, _) => shown.clone(),
            Answer::Refused(_) => String::new(),
        };
        session
            .run
            .keep_common(&second.run, |one, other| text(one) == text(other));
        session.ended &= second.ended;
    }
    Ok(session)
}

fn once(
    program: &Program,
    statements: &[&Statement],
    deadline: Instant,
) -> Result<Session, String> {
    // The client panics with the whole transcript, of which the end is enough.
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let result = catch_unwind(AssertUnwindSafe(|| converse(program, statements, deadline)));
    std::panic::set_hook(hook);
    result.map_err(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.unwrap_or_else(|| "a panic without a text".to_owned());
        let lines: Vec<&str> = text.lines().collect();
        let end = lines.len().saturating_sub(12).max(1);
        let first = lines.first().copied().unwrap_or_default();
        format!("{first}\n{}", lines[end.min(lines.len())..].join("\n"))
    })
}

fn converse(program: &Program, statements: &[&Statement], deadline: Instant) -> Session {
    let mut session = Session::default();
    let mut client = DapClient::spawn();
    let settings = json!({"args": program.arguments, "cwd": program.folder, "pointees": false});
    client.launch_program(program.path, settings);
    client.request_ok("setExceptionBreakpoints", json!({"filters": []}));
    let places = set_breakpoints(&mut client, program, statements, &mut session);
    client.configure();
    while let Some(frame) = next_stop(&mut client, deadline, &mut session.ended) {
        let path = frame["source"]["path"].as_str().unwrap_or_default();
        let line = frame["line"].as_u64().unwrap_or_default();
        let place = places.get(&(PathBuf::from(path), line));
        if let Some(statement) = place
            && !session.run.reached.contains(&statement.id)
        {
            session.run.reached.push(statement.id);
            evaluate(&mut client, statement, &frame["id"], &mut session.run);
        }
        client.continue_();
    }
    session.run.output = truth::without_times(&client.output("stdout"));
    client.disconnect();
    session
}

/// Sets a breakpoint at each line of each statement: where it takes several, the code of its first line may run
/// last. Returns the statements by file and line.
fn set_breakpoints<'a>(
    client: &mut DapClient,
    program: &Program,
    statements: &[&'a Statement],
    session: &mut Session,
) -> HashMap<(PathBuf, u64), &'a Statement> {
    let mut files: BTreeMap<&Path, BTreeMap<u32, &Statement>> = BTreeMap::new();
    for statement in statements {
        let lines = files.entry(&statement.file).or_default();
        // Statements within others come behind them.
        lines.extend((statement.line..=statement.last_line).map(|line| (line, *statement)));
    }
    let mut places = HashMap::new();
    let mut with_code = HashSet::new();
    for (file, lines) in files {
        let path = program.sources.join(file);
        let wanted = lines.keys();
        let wanted = wanted.map(|line| json!({"line": line, "hitCondition": "once"}));
        let text = path.to_str().expect("a path in UTF-8");
        let answers = client.set_source_breakpoints(text, wanted.collect());
        for ((line, statement), answer) in lines.into_iter().zip(answers) {
            if answer["verified"] == true && answer["line"] == line {
                places.insert((path.clone(), u64::from(line)), statement);
                with_code.insert(statement.id);
            }
        }
    }
    let without_code = statements.iter().map(|it| it.id);
    session.without_code = without_code.filter(|id| !with_code.contains(id)).collect();
    places
}

/// Waits for a stop; returns its innermost frame. `None` after the end of the program or the deadline.
fn next_stop(client: &mut DapClient, deadline: Instant, ended: &mut bool) -> Option<Value> {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left == Duration::ZERO {
            return None;
        }
        let message = client.next_message(left)?;
        match message["event"].as_str() {
            Some("stopped") => {
                client.select_thread(message["body"]["threadId"].as_i64().unwrap_or(0));
                return Some(client.top_frame());
            }
            Some("terminated") => {
                *ended = true;
                return None;
            }
            _ => {}
        }
    }
}

/// Evaluates the probes of a statement.
fn evaluate(client: &mut DapClient, statement: &Statement, frame: &Value, run: &mut Run<Answer>) {
    let mut flying = VecDeque::new();
    let mut receive = |client: &mut DapClient, (id, request)| {
        let answer = match client.response(request) {
            Ok(body) => {
                let text = |key: &str| body[key].as_str().unwrap_or_default().to_owned();
                Answer::Value(text("result"), text("type"))
            }
            Err(response) => Answer::Refused(error(&response)),
        };
        run.values.insert(id, answer);
    };
    for probe in &statement.probes {
        let arguments = json!({"expression": probe.text, "frameId": frame, "context": "watch"});
        flying.push_back((probe.id, client.send("evaluate", arguments)));
        if flying.len() == AHEAD
            && let Some(request) = flying.pop_front()
        {
            receive(client, request);
        }
    }
    for request in flying {
        receive(client, request);
    }
}

/// Returns the text of an error.
fn error(response: &Value) -> String {
    let text = response["body"]["error"]["format"].as_str();
    text.or(response["message"].as_str())
        .unwrap_or_default()
        .to_owned()
}
