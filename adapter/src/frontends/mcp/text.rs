//! Formats stops, stacks and threads as text for agents.

use super::link::SessionState;
use super::output::Plain;
use crate::protocol::{Context, ContextFrame, ContextThread, VariableKind};
use crate::session::past::IN_THE_PAST;
use serde_json::json;
use std::fmt::Write;
use std::path::Path;

/// Maximum number of lines of the program's output in the report of a stop.
const MAX_OUTPUT_LINES: usize = 10;

/// Formats a stop. `names` are the names of the breakpoints that were hit.
pub fn stop(context: &Context, names: &[String], state: &mut SessionState) -> String {
    let mut text = format!("stop {}: ", context.stop_id);
    text.push_str(match context.reason.as_str() {
        "" => "thread that did not cause the stop",
        reason => reason,
    });
    if !names.is_empty() {
        let _ = write!(text, " {}", names.join(", "));
    }
    let description = context.description.as_ref();
    let description = description.filter(|it| Some(*it) != context.text.as_ref());
    let why = context.text.as_deref().unwrap_or(&context.reason);
    let replayed = [why, &context.reason].map(|it| format!("{IN_THE_PAST}{it}"));
    let description = description.map(|it| match replayed.contains(it) {
        true => "in the past",
        false => it.as_str(),
    });
    for why in [description, context.text.as_deref()].into_iter().flatten() {
        let _ = write!(text, ": {why}");
    }
    text.push('\n');
    let home = context
        .frame
        .as_ref()
        .and_then(|frame| frame.path.as_deref());
    if let Some(frame) = &context.frame {
        let level = match frame.level {
            0 => String::new(),
            level => format!(" (frame {level})"),
        };
        let _ = writeln!(text, "at {}{level}", location(frame, None));
    }
    let own = ContextThread {
        thread_id: context.thread_id,
        name: context.thread_name.clone(),
        waits_for: context.waits_for.clone(),
        ..ContextThread::default()
    };
    let _ = writeln!(text, "{}", thread(&own, state));
    if !context.source.is_empty() {
        text.push_str("source:\n");
    }
    let here = context.frame.as_ref().and_then(|frame| frame.line);
    for line in &context.source {
        let mark = if Some(line.line) == here { '>' } else { ' ' };
        let shown = format!("{mark}{:>5} | {}", line.line, line.text);
        let _ = writeln!(text, "{}", shown.trim_end());
    }
    variables(&mut text, context);
    changes(&mut text, context);
    stack_of(&mut text, context, home);
    output(&mut text, context);
    threads(&mut text, context, home, state);
    text
}

/// Adds the last lines that the program has written since the stop before.
fn output(text: &mut String, context: &Context) {
    let written = Plain::default().next(&context.output);
    // The first line is cut off where bytes are left out before it.
    let is_cut = context.omitted.output > 0;
    let lines = written
        .lines()
        .skip(usize::from(is_cut && written.contains('\n')));
    let lines = without_backtrace(lines);
    let left_out = lines.len().saturating_sub(MAX_OUTPUT_LINES);
    if lines.is_empty() && !is_cut {
        return;
    }
    text.push_str("output since the previous stop:\n");
    let _ = match (is_cut, left_out) {
        (true, _) => writeln!(text, "  … earlier lines: debug_output"),
        (false, 0) => Ok(()),
        (false, count) => writeln!(text, "  … {count} earlier lines: debug_output"),
    };
    for line in &lines[left_out..] {
        let _ = writeln!(text, "  {line}");
    }
}

/// Leaves out the backtrace of a panic, which the stack repeats.
fn without_backtrace<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut is_inside = false;
    let is_of_it = |line: &str| {
        let begun = line.trim_start();
        let number = begun.split(':').next().unwrap_or_default();
        let is_frame = !number.is_empty() && number.bytes().all(|it| it.is_ascii_digit());
        line.starts_with(' ') && (is_frame || begun.starts_with("at "))
            || begun.starts_with("note: Some details are omitted")
    };
    lines
        .filter(|line| {
            is_inside = *line == "stack backtrace:" || is_inside && is_of_it(line);
            !is_inside
        })
        .collect()
}

fn variables(text: &mut String, context: &Context) {
    if context.variables.is_empty() && context.omitted.variables == 0 {
        return;
    }
    text.push_str("variables:\n");
    for variable in &context.variables {
        let kind = match variable.kind {
            VariableKind::Argument => "argument ",
            VariableKind::Local => "",
            VariableKind::Returned => "returned by ",
        };
        let type_name = match variable.type_name.as_str() {
            "" => String::new(),
            name => format!("  ({name})"),
        };
        let _ = writeln!(
            text,
            "  {kind}{} = {}{type_name}",
            variable.name, variable.value
        );
    }
    if context.omitted.variables > 0 {
        let _ = writeln!(
            text,
            "  … {} more: raise the budget",
            context.omitted.variables
        );
    }
}

fn changes(text: &mut String, context: &Context) {
    let Some(changes) = &context.changes else {
        return;
    };
    let _ = write!(text, "changed since stop {}:", changes.since);
    match changes.variables.is_empty() && context.omitted.changes == 0 {
        true => text.push_str(" nothing\n"),
        false => text.push('\n'),
    }
    for change in &changes.variables {
        let _ = writeln!(
            text,
            "  {}: {} -> {}",
            change.name, change.before, change.after
        );
    }
    if context.omitted.changes > 0 {
        let _ = writeln!(
            text,
            "  … {} more: raise the budget",
            context.omitted.changes
        );
    }
}

/// Formats frames, one per line.
pub fn stack(frames: &[ContextFrame], home: Option<&str>) -> String {
    let rows = frames
        .iter()
        .map(|frame| format!("  {}\n", row(frame, home)));
    rows.collect()
}

/// Formats a frame, or frames that are folded into one entry.
pub fn row(frame: &ContextFrame, home: Option<&str>) -> String {
    let count = frame.folded;
    let levels = match count {
        0 => return frame_line(frame, home),
        1 => format!("… #{}", frame.level),
        _ => format!("… #{} to #{}", frame.level, frame.level + count - 1),
    };
    let what = match (frame.rounds, frame.line) {
        _ if frame.name.is_empty() => {
            let call = json!({"start": frame.level});
            format!("{count} more: debug_stack {call}")
        }
        (1.., _) if frame.rounds == count => format!("{count} more calls of {} there", frame.name),
        (1.., _) => format!("{}, {} times", frame.name, frame.rounds),
        (_, Some(_)) => format!(
            "{count} more calls of {} at this line with these arguments",
            frame.name
        ),
        (_, None) => format!("{count} frames of libraries ({})", frame.name),
    };
    format!("{levels}: {what}")
}

/// Formats a frame: `#3 function(arguments) at file:line`.
pub fn frame_line(frame: &ContextFrame, home: Option<&str>) -> String {
    let place = location(frame, home);
    match &frame.address {
        Some(address) => format!("#{} {address} {place}", frame.level),
        None => format!("#{} {place}", frame.level),
    }
}

/// Formats a thread: its number, its name, the kernel's id, and the owner of the mutex that it
/// waits for.
pub fn thread(thread: &ContextThread, state: &mut SessionState) -> String {
    let number = state.number(thread.thread_id);
    let mut text = format!(
        "thread {number} \"{}\" (tid {})",
        thread.name, thread.thread_id
    );
    if let Some(wait) = &thread.waits_for {
        let owner = state.number(wait.owner);
        let _ = match &wait.mutex {
            Some(at) => write!(text, " waits for the mutex {at} that thread {owner} holds"),
            None => write!(text, " waits for a mutex that thread {owner} holds"),
        };
    }
    text
}

/// Finds cycles in `waits`, pairs of a waiting thread and the thread that holds its mutex. Returns
/// a line for each cycle.
pub fn deadlock(waits: &[(i64, i64)], state: &mut SessionState) -> String {
    let owner = |thread: i64| {
        let wait = waits.iter().find(|(waiting, _)| *waiting == thread);
        wait.map(|(_, owner)| *owner)
    };
    let mut text = String::new();
    let mut known = Vec::new();
    for (thread, _) in waits {
        let mut circle = vec![*thread];
        while let Some(next) = circle.last().and_then(|last| owner(*last))
            && !circle.contains(&next)
        {
            circle.push(next);
        }
        let is_circle = circle.last().and_then(|last| owner(*last)) == Some(*thread);
        if !is_circle || known.contains(thread) {
            continue;
        }
        known.extend_from_slice(&circle);
        circle.push(*thread);
        let numbers: Vec<usize> = circle.iter().map(|thread| state.number(*thread)).collect();
        let waits = numbers.windows(2).filter_map(|pair| match pair {
            [waiting, owner] => Some(format!("thread {waiting} waits for thread {owner}")),
            _ => None,
        });
        let _ = writeln!(text, "deadlock: {}", waits.collect::<Vec<_>>().join(", "));
    }
    text
}

fn stack_of(text: &mut String, context: &Context, home: Option<&str>) {
    text.push_str("stack:\n");
    text.push_str(&stack(&context.stack, home));
    let start = context.stack.last();
    let start = start.map_or(0, |last| last.level + last.folded.max(1));
    let call = json!({"start": start});
    let _ = match (context.omitted.frames, context.omitted.deeper_frames) {
        (0, false) => Ok(()),
        (0, true) => writeln!(text, "  … deeper frames: debug_stack {call}"),
        (count, false) => writeln!(text, "  … {count} more: debug_stack {call}"),
        (count, true) => writeln!(text, "  … more than {count} more: debug_stack {call}"),
    };
}

fn threads(text: &mut String, context: &Context, home: Option<&str>, state: &mut SessionState) {
    let own = context.waits_for.as_ref();
    let own = own.map(|wait| (context.thread_id, wait.owner));
    let others = context.threads.iter();
    let others = others.filter_map(|it| Some((it.thread_id, it.waits_for.as_ref()?.owner)));
    let deadlock = deadlock(&own.into_iter().chain(others).collect::<Vec<_>>(), state);
    if context.threads.is_empty() && context.omitted.threads == 0 {
        return;
    }
    text.push_str("other threads:\n");
    for other in &context.threads {
        let place = other.frame.as_ref().map(|frame| location(frame, home));
        let place = place.unwrap_or_else(|| "running".to_owned());
        let _ = writeln!(text, "  {}: {place}", thread(other, state));
    }
    if context.omitted.threads > 0 {
        let call = json!({"threads": true});
        let _ = writeln!(
            text,
            "  … {} more: debug_stack {call}",
            context.omitted.threads
        );
    }
    text.push_str(&deadlock);
}

/// Formats a location: `function(arguments) at file:line`; a file in the folder of `home` is shown
/// by its name alone.
pub fn location(frame: &ContextFrame, home: Option<&str>) -> String {
    let name = match &frame.arguments {
        Some(arguments) => format!("{}({arguments})", frame.name),
        None => frame.name.clone(),
    };
    match (&frame.path, frame.line) {
        (Some(path), Some(line)) => format!("{name} at {}:{line}", short_path(path, home)),
        _ => name,
    }
}

/// Shortens the path of a file in the folder of `home` to its name.
pub fn short_path<'a>(path: &'a str, home: Option<&str>) -> &'a str {
    let folder = |path| Path::new(path).parent();
    match home.is_some_and(|home| folder(home) == folder(path)) {
        true => Path::new(path)
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or(path),
        false => path,
    }
}

/// A text of lines up to a maximum size. Lines that do not fit are counted.
pub struct BudgetedLines {
    /// The text.
    pub text: String,
    left: usize,
    /// Number of lines left out: the first one that did not fit, and all after it.
    pub omitted: usize,
}

impl BudgetedLines {
    /// Creates an empty text of at most `budget` bytes.
    pub fn new(budget: usize) -> Self {
        Self {
            text: String::new(),
            left: budget,
            omitted: 0,
        }
    }

    /// Adds a line if it fits. Returns whether it did.
    pub fn push(&mut self, line: &str) -> bool {
        if self.omitted > 0 || line.len() + 1 > self.left {
            self.omitted += 1;
            return false;
        }
        self.left -= line.len() + 1;
        self.text.push_str(line);
        self.text.push('\n');
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{Change, Changes, ContextVariable, ContextWait, Omitted, SourceLine};

    fn frame(level: u64, name: &str, path: &str, line: i64) -> ContextFrame {
        ContextFrame {
            level,
            name: name.to_owned(),
            path: Some(path.to_owned()),
            line: Some(line),
            arguments: Some(format!("level={level}")),
            ..ContextFrame::default()
        }
    }

    #[test]
    fn stop_text_is_complete_with_hints() {
        let line = |line, text: &str| SourceLine {
            line,
            text: text.to_owned(),
        };
        let context = Context {
            stop_id: 3,
            reason: "breakpoint".to_owned(),
            thread_id: 4711,
            thread_name: "demo".to_owned(),
            frame: Some(frame(0, "total", "/a/b.c", 7)),
            source: vec![line(6, "{"), line(7, "    return;")],
            variables: vec![ContextVariable {
                name: "sum".to_owned(),
                kind: VariableKind::Argument,
                type_name: "int".to_owned(),
                value: "6".to_owned(),
            }],
            changes: Some(Changes {
                since: 2,
                variables: vec![Change {
                    name: "sum".to_owned(),
                    before: "3".to_owned(),
                    after: "6".to_owned(),
                }],
            }),
            stack: vec![
                frame(0, "total", "/a/b.c", 7),
                frame(1, "main", "/a/main.c", 9),
                ContextFrame {
                    level: 2,
                    name: "x … y".to_owned(),
                    folded: 3,
                    ..ContextFrame::default()
                },
            ],
            output: "lf of a line\n\x1b[1;31mhello\n".to_owned(),
            waits_for: Some(ContextWait {
                mutex: None,
                owner: 4712,
            }),
            threads: vec![ContextThread {
                thread_id: 4712,
                name: "worker".to_owned(),
                waits_for: Some(ContextWait {
                    mutex: Some("0x4000".to_owned()),
                    owner: 4711,
                }),
                ..ContextThread::default()
            }],
            omitted: Omitted {
                variables: 2,
                frames: 5,
                output: 10,
                ..Omitted::default()
            },
            ..Context::default()
        };
        let mut state = SessionState::default();
        let text = stop(&context, &["1 (b.c:7)".to_owned()], &mut state);
        let expected = r#"stop 3: breakpoint 1 (b.c:7)
at total(level=0) at /a/b.c:7
thread 1 "demo" (tid 4711) waits for a mutex that thread 2 holds
source:
     6 | {
>    7 |     return;
variables:
  argument sum = 6  (int)
  … 2 more: raise the budget
changed since stop 2:
  sum: 3 -> 6
stack:
  #0 total(level=0) at b.c:7
  #1 main(level=1) at main.c:9
  … #2 to #4: 3 frames of libraries (x … y)
  … 5 more: debug_stack {"start":5}
output since the previous stop:
  … earlier lines: debug_output
  hello
other threads:
  thread 2 "worker" (tid 4712) waits for the mutex 0x4000 that thread 1 holds: running
deadlock: thread 1 waits for thread 2, thread 2 waits for thread 1
"#;
        assert_eq!(text, expected);
    }

    #[test]
    fn backtrace_of_a_panic_and_earlier_lines_are_left_out() {
        let panic = "begun\npanicked at a.rs:3\nstack backtrace:\n   0: rust_begin_unwind\n             \
                     at /rustc/a.rs:5\n   1: a::main\nnote: Some details are omitted, run with `x`\nend\n";
        let shown = |output: String| {
            let context = Context {
                output,
                ..Context::default()
            };
            let mut text = String::new();
            super::output(&mut text, &context);
            text
        };
        assert_eq!(
            shown(panic.to_owned()),
            "output since the previous stop:\n  begun\n  panicked at a.rs:3\n  end\n"
        );
        let text = shown((0..12).map(|line| format!("line {line}\n")).collect());
        let head = "output since the previous stop:\n  … 2 earlier lines: debug_output\n  line 2\n";
        assert!(text.starts_with(head), "{text}");
    }

    #[test]
    fn lines_end_where_the_budget_does() {
        let mut lines = BudgetedLines::new(8);
        assert!(lines.push("abc") && lines.push("def"));
        assert!(!lines.push("g") && !lines.push(""));
        assert_eq!((lines.text.as_str(), lines.omitted), ("abc\ndef\n", 2));
    }
}
