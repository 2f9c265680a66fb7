//! The report of a stop.

use crate::client::{Client, ClientError};
use crate::protocol::{
    EvaluateArguments, NoArguments, ScopesArguments, StackFrame, StackTraceArguments,
    StoppedEventBody, Variable, VariablesArguments,
};
use crate::requests::{Evaluate, Scopes, StackTrace, Threads};
use engine::read_regular;
use serde_json::{Value, json};
use std::fmt;
use std::ops::RangeInclusive;
use std::path::Path;

/// Number of lines shown before and after the current one.
const CONTEXT_LINES: usize = 3;
/// Maximum size of a source file in bytes.
const MAX_FILE_BYTES: u64 = 32 << 20;
/// Maximum number of frames shown.
const MAX_FRAMES: i64 = 32;

/// The report of a stop.
pub struct StopReport {
    reason: String,
    thread: String,
    frames: Vec<StackFrame>,
    /// The level of the frame shown.
    level: usize,
    source: Vec<(usize, String)>,
    variables: Vec<Variable>,
    prints: Vec<(String, Result<String, String>)>,
}

impl StopReport {
    /// Requests everything a report contains.
    ///
    /// # Errors
    /// The server has disconnected.
    pub async fn gather(
        client: &Client,
        stopped: &StoppedEventBody,
        prints: &[String],
    ) -> Result<Self, ClientError> {
        let thread_id = stopped.thread_id;
        let threads = client.request::<Threads>(&NoArguments {}).await?.threads;
        let own = threads.iter().find(|thread| thread.id == thread_id);
        let name = own.map_or("?", |thread| &thread.name);
        let arguments = StackTraceArguments {
            thread_id,
            start_frame: Some(0),
            levels: Some(MAX_FRAMES),
            format: None,
        };
        let stack = client.request::<StackTrace>(&arguments).await?;
        let frames = stack.stack_frames;
        // A program that aborts does so in a library.
        let is_own = |frame: &StackFrame| frame.presentation_hint.is_none() && has_source(frame);
        let own = frames.iter().position(is_own);
        let level = own
            .or_else(|| frames.iter().position(has_source))
            .unwrap_or(0);
        let shown = frames.get(level);
        let frame_id = shown.map(|frame| frame.id);
        let variables = match frame_id {
            None => Vec::new(),
            Some(frame_id) => locals(client, frame_id).await?,
        };
        let mut evaluated = Vec::new();
        for expression in prints {
            let arguments = EvaluateArguments {
                expression: expression.clone(),
                frame_id,
                context: Some("watch".to_owned()),
                format: None,
            };
            let shown = client.request::<Evaluate>(&arguments).await;
            let shown = shown.map(|body| body.result);
            evaluated.push((expression.clone(), shown.map_err(|error| error.to_string())));
        }
        Ok(Self {
            reason: reason(stopped),
            thread: format!("{thread_id} ({name})"),
            level,
            source: shown.map(source_lines).unwrap_or_default(),
            frames,
            variables,
            prints: evaluated,
        })
    }

    /// Formats the report as one JSON object.
    pub fn to_json(&self) -> Value {
        let frames = self.frames.iter().map(|frame| {
            let file = path(frame);
            json!({
                "function": frame.name,
                "file": file,
                "line": if file.is_none() { 0 } else { frame.line },
                "address": frame.instruction_pointer_reference,
            })
        });
        let variables = self.variables.iter().map(|variable| {
            json!({"name": variable.name, "type": variable.r#type, "value": variable.value})
        });
        let source = self.source.iter();
        let prints = self.prints.iter().map(|(expression, shown)| match shown {
            Ok(value) => json!({"expression": expression, "value": value}),
            Err(error) => json!({"expression": expression, "error": error}),
        });
        json!({
            "event": "stopped",
            "reason": self.reason,
            "thread": self.thread,
            "stack": frames.collect::<Vec<_>>(),
            "source": source.map(|(line, text)| json!({"line": line, "text": text})).collect::<Vec<_>>(),
            "variables": variables.collect::<Vec<_>>(),
            "prints": prints.collect::<Vec<_>>(),
        })
    }
}

/// Returns the path of a frame's source file.
fn path(frame: &StackFrame) -> Option<&str> {
    frame.source.as_ref()?.path.as_deref()
}

/// Returns true if a frame's source file exists.
fn has_source(frame: &StackFrame) -> bool {
    path(frame).is_some_and(|path| Path::new(path).is_file())
}

fn reason(stopped: &StoppedEventBody) -> String {
    match (&stopped.description, &stopped.text) {
        (Some(description), Some(text)) => format!("{description}: {text}"),
        (Some(text), None) | (None, Some(text)) => text.clone(),
        (None, None) => stopped.reason.clone().into_owned(),
    }
}

async fn locals(client: &Client, frame_id: i64) -> Result<Vec<Variable>, ClientError> {
    let scopes = client
        .request::<Scopes>(&ScopesArguments { frame_id })
        .await?;
    let Some(scope) = scopes.scopes.iter().find(|scope| scope.name == "Locals") else {
        return Ok(Vec::new());
    };
    let arguments = VariablesArguments {
        variables_reference: scope.variables_reference,
        ..VariablesArguments::default()
    };
    client.variables(&arguments).await
}

/// Returns the lines around a frame's line, if the file exists.
fn source_lines(frame: &StackFrame) -> Vec<(usize, String)> {
    let line = usize::try_from(frame.line).unwrap_or(0);
    let path = Path::new(path(frame).unwrap_or_default());
    let Ok(bytes) = read_regular(path, MAX_FILE_BYTES) else {
        return Vec::new();
    };
    let shown: RangeInclusive<usize> =
        line.saturating_sub(CONTEXT_LINES)..=line.saturating_add(CONTEXT_LINES);
    let lines = String::from_utf8_lossy(&bytes);
    let numbered = lines
        .lines()
        .enumerate()
        .map(|(index, text)| (index + 1, text));
    numbered
        .filter(|(number, _)| shown.contains(number))
        .map(|(number, text)| (number, text.to_owned()))
        .collect()
}

/// Formats `function at file:line`, as far as known.
fn location(frame: &StackFrame) -> String {
    let name = &frame.name;
    match path(frame) {
        Some(path) => format!("{name} at {path}:{}", frame.line),
        None => format!("{name} ({})", frame.instruction_pointer_reference),
    }
}

impl fmt::Display for StopReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "── {} ── thread {}", self.reason, self.thread)?;
        if let Some(top) = self.frames.get(self.level) {
            writeln!(f, "{}", location(top))?;
            for (number, line) in &self.source {
                let mark = match usize::try_from(top.line) == Ok(*number) {
                    true => '>',
                    false => ' ',
                };
                writeln!(f, "{}", format!("{mark} {number:>4} │ {line}").trim_end())?;
            }
        }
        writeln!(f, "stack")?;
        for (level, frame) in self.frames.iter().enumerate() {
            writeln!(f, "  #{level} {}", location(frame))?;
        }
        if !self.variables.is_empty() {
            writeln!(f, "variables")?;
        }
        for variable in &self.variables {
            let (name, value) = (&variable.name, &variable.value);
            match variable.r#type.as_deref() {
                None | Some("") => writeln!(f, "  {name} = {value}")?,
                Some(type_name) => writeln!(f, "  {name} = {value}  ({type_name})")?,
            }
        }
        if !self.prints.is_empty() {
            writeln!(f, "expressions")?;
        }
        for (expression, shown) in &self.prints {
            match shown {
                Ok(value) => writeln!(f, "  {expression} = {value}")?,
                Err(error) => writeln!(f, "  {expression}: {error}")?,
            }
        }
        writeln!(f)
    }
}
