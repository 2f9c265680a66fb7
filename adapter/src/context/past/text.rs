//! Past stops and what differs between two of them, as text.

use crate::files::recordings::size;
use crate::protocol::{Change, PastChanges, PastStop, Recording};
use std::fmt::Write as _;

/// Lists stops, the latest first, a line each.
pub fn listed(stops: &[PastStop]) -> String {
    let mut text = String::new();
    for stop in stops.iter().rev() {
        let mark = if stop.is_shown { '*' } else { ' ' };
        let _ = write!(text, "{mark} {:>4}  {}", stop.number, stop.reason);
        let name = |path: &String| {
            path.rsplit(['/', '\\'])
                .next()
                .unwrap_or_default()
                .to_owned()
        };
        match (&stop.function, stop.path.as_ref().map(name), stop.line) {
            (Some(function), Some(file), Some(line)) => {
                let _ = write!(text, " in {function}, {file}:{line}");
            }
            (Some(function), ..) => {
                let _ = write!(text, " in {function}");
            }
            _ => {}
        }
        let _ = match stop.is_present {
            true => writeln!(text, " (present)"),
            false => writeln!(text, ", {} ago", age(stop.age)),
        };
    }
    text
}

fn age(seconds: f64) -> String {
    match seconds {
        ..1.0 => format!("{:.0} ms", seconds * 1e3),
        ..120.0 => format!("{seconds:.0} s"),
        ..7200.0 => format!("{:.0} min", seconds / 60.0),
        _ => format!("{:.0} h", seconds / 3600.0),
    }
}

/// Describes what was recorded.
pub fn summary_of(recording: &Recording) -> String {
    let plural = |count: u64| if count == 1 { "" } else { "s" };
    let Recording {
        events, snapshots, ..
    } = recording;
    format!(
        "recorded {events} event{} (system calls and signals, {}) and {snapshots} snapshot{}",
        plural(*events),
        size(recording.bytes),
        plural(*snapshots)
    )
}

/// Describes a recording, and where in it the shown place is.
pub fn state_of(recording: &Recording) -> String {
    let Recording {
        events,
        position,
        ended,
        ..
    } = recording;
    let mut text = summary_of(recording) + "\n";
    match (ended, position) {
        (Some(why), _) => {
            let _ = write!(text, "the recording has ended: {why}; there is no way back");
        }
        (None, Some(position)) => {
            let _ = write!(text, "in the past, after {position} of the {events} events");
        }
        (None, None) => text.push_str("in the present"),
    }
    text
}

/// Lists what differs between two stops.
pub fn told(from: u64, changes: &PastChanges) -> String {
    let mut text = format!("from stop {from} to stop {}:\n", changes.to);
    let lines = |text: &mut String, changes: &[Change]| {
        for change in changes {
            let _ = writeln!(
                text,
                "  {}: {} → {}",
                change.name, change.before, change.after
            );
        }
    };
    if !changes.left.is_empty() {
        let _ = writeln!(text, "returned: {}", changes.left.join(", "));
    }
    if !changes.entered.is_empty() {
        let _ = writeln!(text, "called: {}", changes.entered.join(", "));
    }
    for frame in &changes.frames {
        let _ = writeln!(text, "{}:", frame.function);
        lines(&mut text, &frame.variables);
    }
    if !changes.globals.is_empty() {
        let _ = writeln!(text, "globals:");
        lines(&mut text, &changes.globals);
    }
    if changes.frames.is_empty() && changes.globals.is_empty() {
        let _ = writeln!(
            text,
            "no variable of these frames and their files has changed"
        );
    }
    if changes.omitted > 0 {
        let _ = writeln!(text, "… {} more", changes.omitted);
    }
    text.truncate(text.trim_end().len());
    text
}
