//! The command for past stops.

use super::{Call, Command, Complete};
use crate::context::past::{changes, list};
use crate::protocol::{Change, PastChanges, PastStop, RequestError};
use crate::session::{RequiredState, past};
use std::fmt::Write as _;

pub const PAST: Command = Command {
    name: "past",
    arguments: "[N | present | diff N [M]]",
    help: "show an earlier stop",
    more: "Without arguments, lists the stops that can be shown. N shows one of them: stack, variables \
           and memory as they were. `present` returns to where the program is. `diff N M` lists what \
           differs between two stops; without M, between stop N and the one that is shown.",
    when: RequiredState::Stopped,
    run,
    complete: Complete::Words(|_, before| match before {
        [] => vec!["present".to_owned(), "diff".to_owned()],
        _ => Vec::new(),
    }),
};

fn number(word: &str) -> Result<u64, RequestError> {
    let number = word.parse();
    number.map_err(|_| RequestError::Other(format!("`{word}` is not the number of a stop")))
}

fn run(call: &mut Call<'_>) -> Result<String, RequestError> {
    let words: Vec<&str> = call.arguments.split_whitespace().collect();
    match words.as_slice() {
        [] => {
            past::keep(call.session);
            let stops = list(call.session);
            Ok(listed(&stops, &call.session.settings.command_prefix))
        }
        ["present"] => {
            past::visit(call.session, None)?;
            Ok(String::new())
        }
        ["diff", from] => Ok(told(
            number(from)?,
            &changes(call.session, number(from)?, None)?,
        )),
        ["diff", from, to] => {
            let to = Some(number(to)?);
            Ok(told(
                number(from)?,
                &changes(call.session, number(from)?, to)?,
            ))
        }
        [wanted] => {
            past::visit(call.session, Some(number(wanted)?))?;
            Ok(String::new())
        }
        _ => Err(RequestError::Other(format!(
            "usage: past {}",
            PAST.arguments
        ))),
    }
}

/// Lists stops, the latest first.
fn listed(stops: &[PastStop], prefix: &str) -> String {
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
    if stops.len() < 2 {
        let _ = writeln!(text, "no earlier stop is kept");
    } else {
        let _ = writeln!(
            text,
            "`{prefix}past N` shows one, `{prefix}past diff N` what changed since"
        );
    }
    text.truncate(text.trim_end().len());
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

/// Lists what differs between two stops.
fn told(from: u64, changes: &PastChanges) -> String {
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
