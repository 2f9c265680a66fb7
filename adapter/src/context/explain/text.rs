//! The text of an explanation.

use crate::protocol::{ContextFrame, ExplainedFrame, ExplainedThread, Explanation};

/// Maximum number of further threads that an entry lists.
const MAX_NUMBERS: usize = 8;

/// Formats an explanation; `number` returns how the client knows a thread.
pub fn text(explanation: &Explanation, mut number: impl FnMut(i64) -> String) -> String {
    let mut text = match explanation.what.as_str() {
        // A pause explains nothing.
        "pause" | "" => String::new(),
        what => format!("{what}\n"),
    };
    let mut threads = explanation.threads.iter();
    if let Some(first) = threads.next() {
        match first.wait.is_some() {
            true => text.push_str(&line_of(first, &mut number, false)),
            false => text.push_str(&format!("in thread {}:\n", number(first.thread_id))),
        }
        push_frames(&mut text, &first.frames);
        for caller in &first.callers {
            text.push_str(&format!("  {}\n", row(caller)));
        }
    }
    if !explanation.deadlock.is_empty() {
        let mut names: Vec<String> = explanation.deadlock.iter().map(|id| number(*id)).collect();
        names.extend(names.first().cloned());
        text.push_str(&format!(
            "deadlock: thread {}\n",
            names.join(" waits for thread ")
        ));
    }
    let mut heading = "other threads:\n";
    for thread in threads {
        text.push_str(std::mem::take(&mut heading));
        let has_lines = thread.frames.iter().any(|frame| !frame.source.is_empty());
        text.push_str(&line_of(thread, &mut number, !has_lines));
        if has_lines {
            push_frames(&mut text, &thread.frames);
        }
    }
    text
}

/// Describes a thread in a line; `placed`: with where it is.
fn line_of(
    thread: &ExplainedThread,
    number: &mut impl FnMut(i64) -> String,
    placed: bool,
) -> String {
    let mut numbers: Vec<String> = Vec::new();
    for id in std::iter::once(&thread.thread_id).chain(&thread.others) {
        if numbers.len() == MAX_NUMBERS {
            numbers.push("…".to_owned());
            break;
        }
        numbers.push(number(*id));
    }
    let (noun, verb) = match thread.others.is_empty() {
        true => ("thread", "waits"),
        false => ("threads", "wait"),
    };
    let name = match thread.name.is_empty() {
        true => String::new(),
        false => format!(" \"{}\"", thread.name),
    };
    let mut line = format!("{noun} {}{name}", numbers.join(", "));
    match &thread.wait {
        Some(wait) => {
            line.push_str(&format!(" {verb} for {}", wait.what));
            if let Some(other) = wait.thread_id {
                let relation = match wait.what.contains("mutex") {
                    true => ", held by thread ",
                    false => ": thread ",
                };
                line.push_str(&format!("{relation}{}", number(other)));
            }
            if let Some(function) = &wait.function {
                line.push_str(&format!(", in {function}"));
            }
        }
        None => line.push_str(match thread.others.is_empty() {
            true => " executes",
            false => " execute",
        }),
    }
    if let Some(frame) = thread.frames.first().filter(|_| placed) {
        line.push_str(&format!(" ({})", place(frame)));
    }
    line.push('\n');
    line
}

fn push_frames(text: &mut String, frames: &[ExplainedFrame]) {
    for frame in frames {
        text.push_str(&format!("  #{} {}\n", frame.level, place(frame)));
        if let (Some(line), false) = (frame.line, frame.source.is_empty()) {
            text.push_str(&format!("     {line}  {}\n", frame.source));
        }
        for used in &frame.values {
            text.push_str(&format!("       {} = {}\n", used.name, used.value));
        }
    }
}

/// Describes a caller: its function with arguments and its line, or what several ones have in common.
fn row(frame: &ContextFrame) -> String {
    let last = frame.level + frame.folded.max(1) - 1;
    let levels = match last == frame.level {
        true => format!("#{}", frame.level),
        false => format!("#{} to #{last}", frame.level),
    };
    let arguments = frame.arguments.as_ref();
    let arguments = arguments.map_or_else(String::new, |it| format!("({it})"));
    let line = match (frame.path.as_deref(), frame.line) {
        (Some(path), Some(line)) => format!(", {}:{line}", file_name(path)),
        _ => String::new(),
    };
    let count = frame.folded;
    match (frame.name.is_empty(), frame.rounds) {
        (true, _) => format!("… {levels}: {count} more frames"),
        (_, rounds) if rounds == count && rounds > 0 => {
            format!("… {levels}: {count} more calls of {} there", frame.name)
        }
        (_, 1..) => format!("… {levels}: {}, {} times", frame.name, frame.rounds),
        _ if count > 0 => format!(
            "… {levels}: {count} more calls of {}{arguments}{line}",
            frame.name
        ),
        _ => format!("{levels} {}{arguments}{line}", frame.name),
    }
}

fn file_name(path: &str) -> String {
    let name = std::path::Path::new(path).file_name();
    name.map_or_else(
        || path.to_owned(),
        |name| name.to_string_lossy().into_owned(),
    )
}

fn place(frame: &ExplainedFrame) -> String {
    let file = frame.path.as_deref().map(file_name);
    match (file, frame.line) {
        (Some(file), Some(line)) => format!("{}, {file}:{line}", frame.name),
        _ => frame.name.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{ExplainedWait, UsedValue};

    #[test]
    fn threads_of_a_deadlock_are_shown_with_their_lines() {
        let thread = |id: i64, owner: i64, line: i64| ExplainedThread {
            thread_id: id,
            name: "worker".to_owned(),
            wait: Some(ExplainedWait {
                what: "mutex `b`".to_owned(),
                thread_id: Some(owner),
                function: Some("pthread_mutex_lock".to_owned()),
            }),
            frames: vec![ExplainedFrame {
                level: 3,
                name: "take".to_owned(),
                path: Some("/src/a.c".to_owned()),
                line: Some(line),
                source: "lock(b);".to_owned(),
                values: vec![UsedValue {
                    name: "b".to_owned(),
                    value: "{...}".to_owned(),
                }],
            }],
            ..ExplainedThread::default()
        };
        let idle = ExplainedThread {
            thread_id: 33,
            others: vec![44],
            name: "idle".to_owned(),
            wait: Some(ExplainedWait {
                what: "time to pass".to_owned(),
                ..ExplainedWait::default()
            }),
            frames: Vec::new(),
            ..ExplainedThread::default()
        };
        let explanation = Explanation {
            what: "pause".to_owned(),
            threads: vec![thread(11, 22, 5), thread(22, 11, 9), idle],
            deadlock: vec![11, 22],
        };
        let shown = text(&explanation, |id| (id / 11).to_string());
        assert_eq!(
            shown,
            "thread 1 \"worker\" waits for mutex `b`, held by thread 2, in pthread_mutex_lock\n  \
             #3 take, a.c:5\n     5  lock(b);\n       b = {...}\n\
             deadlock: thread 1 waits for thread 2 waits for thread 1\n\
             other threads:\n\
             thread 2 \"worker\" waits for mutex `b`, held by thread 1, in pthread_mutex_lock\n  \
             #3 take, a.c:9\n     9  lock(b);\n       b = {...}\n\
             threads 3, 4 \"idle\" wait for time to pass\n"
        );
    }
}
