//! The report of a stop.

use super::client::{Client, Failure};
use engine::read_regular;
use serde_json::{Value, json};
use std::fmt;
use std::ops::RangeInclusive;
use std::path::Path;

/// Number of lines shown before and after the current one.
const CONTEXT: usize = 3;
/// Maximum size of a source file in bytes.
const LONGEST: u64 = 32 << 20;
/// Maximum number of frames shown.
const FRAMES: usize = 32;

/// The report of a stop.
pub struct Report {
    reason: String,
    thread: String,
    frames: Vec<Value>,
    /// The level of the frame shown.
    level: usize,
    source: Vec<(usize, String)>,
    variables: Vec<Value>,
    prints: Vec<(String, Result<String, String>)>,
}

impl Report {
    /// Requests everything a report contains.
    ///
    /// # Errors
    /// The server has disconnected.
    pub fn gather(
        client: &mut Client,
        stopped: &Value,
        prints: &[String],
    ) -> Result<Self, Failure> {
        let thread_id = &stopped["threadId"];
        let mut threads = client.request("threads", &json!({}))?;
        let named = threads["threads"].as_array().into_iter().flatten();
        let name = named
            .filter(|thread| thread["id"] == *thread_id)
            .find_map(|thread| thread["name"].as_str());
        let thread = format!("{thread_id} ({})", name.unwrap_or("?"));
        threads.take();
        let stack = json!({"threadId": thread_id, "startFrame": 0, "levels": FRAMES});
        let mut stack = client.request("stackTrace", &stack)?;
        let frames = list(&mut stack["stackFrames"]);
        // A program that aborts does so in a library.
        let level = frames.iter().position(has_source).unwrap_or(0);
        let shown = frames.get(level);
        let frame_id = shown.map_or(Value::Null, |frame| frame["id"].clone());
        let variables = match frame_id {
            Value::Null => Vec::new(),
            _ => locals(client, &frame_id)?,
        };
        let prints = prints.iter().map(|expression| {
            let arguments =
                json!({"expression": expression, "frameId": frame_id, "context": "watch"});
            let shown = client.request("evaluate", &arguments);
            let shown = shown.map(|body| text(&body["result"]).to_owned());
            (
                expression.clone(),
                shown.map_err(|failure| failure.to_string()),
            )
        });
        let prints = prints.collect();
        Ok(Self {
            reason: reason(stopped),
            thread,
            level,
            source: shown.map(source_lines).unwrap_or_default(),
            frames,
            variables,
            prints,
        })
    }

    /// Formats the report as one JSON object.
    pub fn to_json(&self) -> Value {
        let frames = self.frames.iter().map(|frame| {
            let file = &frame["source"]["path"];
            json!({
                "function": frame["name"],
                "file": file,
                "line": if file.is_null() { json!(0) } else { frame["line"].clone() },
                "address": frame["instructionPointerReference"],
            })
        });
        let variables = self.variables.iter().map(|variable| {
            json!({"name": variable["name"], "type": variable["type"], "value": variable["value"]})
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

/// Returns true if a frame's source file exists.
fn has_source(frame: &Value) -> bool {
    Path::new(text(&frame["source"]["path"])).is_file()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn list(value: &mut Value) -> Vec<Value> {
    match value.take() {
        Value::Array(list) => list,
        _ => Vec::new(),
    }
}

fn reason(stopped: &Value) -> String {
    match (&stopped["description"], &stopped["text"]) {
        (Value::String(description), Value::String(text)) => format!("{description}: {text}"),
        (Value::String(text), _) | (_, Value::String(text)) => text.clone(),
        _ => text(&stopped["reason"]).to_owned(),
    }
}

fn locals(client: &mut Client, frame_id: &Value) -> Result<Vec<Value>, Failure> {
    let mut scopes = client.request("scopes", &json!({"frameId": frame_id}))?;
    let scopes = list(&mut scopes["scopes"]);
    let Some(scope) = scopes.iter().find(|scope| scope["name"] == "Locals") else {
        return Ok(Vec::new());
    };
    let reference = json!({"variablesReference": scope["variablesReference"]});
    let mut variables = client.request("variables", &reference)?;
    Ok(list(&mut variables["variables"]))
}

/// Returns the lines around a frame's line, if the file exists.
fn source_lines(frame: &Value) -> Vec<(usize, String)> {
    let line = frame["line"].as_u64().unwrap_or(0) as usize;
    let path = Path::new(text(&frame["source"]["path"]));
    let Ok(bytes) = read_regular(path, LONGEST) else {
        return Vec::new();
    };
    let shown: RangeInclusive<usize> = line.saturating_sub(CONTEXT)..=line.saturating_add(CONTEXT);
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
fn place(frame: &Value) -> String {
    let name = text(&frame["name"]);
    match frame["source"]["path"].as_str() {
        Some(path) => format!("{name} at {path}:{}", frame["line"]),
        None => format!("{name} ({})", text(&frame["instructionPointerReference"])),
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "── {} ── thread {}", self.reason, self.thread)?;
        if let Some(top) = self.frames.get(self.level) {
            writeln!(f, "{}", place(top))?;
            for (number, line) in &self.source {
                let mark = match top["line"] == *number {
                    true => '>',
                    false => ' ',
                };
                writeln!(f, "{}", format!("{mark} {number:>4} │ {line}").trim_end())?;
            }
        }
        writeln!(f, "stack")?;
        for (level, frame) in self.frames.iter().enumerate() {
            writeln!(f, "  #{level} {}", place(frame))?;
        }
        if !self.variables.is_empty() {
            writeln!(f, "variables")?;
        }
        for variable in &self.variables {
            let (name, value) = (text(&variable["name"]), text(&variable["value"]));
            match text(&variable["type"]) {
                "" => writeln!(f, "  {name} = {value}")?,
                type_name => writeln!(f, "  {name} = {value}  ({type_name})")?,
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
