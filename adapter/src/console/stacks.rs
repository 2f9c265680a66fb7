//! Threads, stacks and registers.

use super::text::{Lines, columns};
use super::{Call, Command, Complete, count};
use crate::protocol::RequestError;
use crate::session::RequiredState;
use crate::session::Session;
use engine::value::scalar::NumberFormat;
use engine::{Frame, Named, RegisterGroup, ThreadId};

/// Maximum number of threads shown without `all`.
const DEFAULT_THREADS: usize = 100;
/// Default number of frames shown of the selected thread.
const DEFAULT_FRAMES: usize = 50;
/// Default number of frames shown of each thread with `all`.
const DEFAULT_FRAMES_PER_THREAD: usize = 10;
/// Maximum number of lines that a command prints.
const MAX_LINES: usize = 5000;

pub const ABANDON: Command = Command {
    name: "abandon",
    arguments: "",
    help: "abandon a stopped function that the console called",
    more: "Restores the thread's state from before the call. Side effects of the function up to \
           that point remain, and locks that it took stay locked.",
    when: RequiredState::Stopped,
    run: abandon,
    complete: Complete::Words(|_, _| Vec::new()),
};

fn abandon(call: &mut Call<'_>) -> Result<String, RequestError> {
    if !call.arguments.is_empty() {
        return Err(call.usage_error(&ABANDON, "unexpected argument".to_owned()));
    }
    let thread = call.thread()?;
    call.session.debugger.abandon_call(thread)?;
    call.session.forget_thread_stop(thread);
    Ok(String::new())
}

pub const THREADS: Command = Command {
    name: "threads",
    arguments: "[all]",
    help: "list threads and their locations",
    more: "`*` marks the selected thread. `all` lists more than the first 100, up to 5000.",
    when: RequiredState::Process,
    run: threads,
    complete: Complete::Words(all),
};

fn all(_: &Session, before: &[&str]) -> Vec<String> {
    match before {
        [] => vec!["all".to_owned()],
        _ => Vec::new(),
    }
}

fn threads(call: &mut Call<'_>) -> Result<String, RequestError> {
    let most = match call.arguments {
        "" => DEFAULT_THREADS,
        "all" => MAX_LINES,
        other => return Err(call.usage_error(&THREADS, format!("unknown argument `{other}`"))),
    };
    let looked_at = call.thread().ok();
    let threads = call.session.debugger.threads();
    let mut rows = Vec::new();
    for thread in threads.iter().take(most) {
        call.check_cancelled()?;
        let place = match call.session.debugger.is_stopped(thread.id) {
            false => "running".to_owned(),
            true => innermost(call.session, thread.id)?,
        };
        let mark = match looked_at == Some(thread.id) {
            true => "*",
            false => " ",
        };
        rows.push(vec![
            format!("{mark} {}", thread.id),
            thread.name.clone(),
            place,
        ]);
    }
    let mut lines = Lines::at_most(most);
    columns(&rows).iter().for_each(|row| lines.push(row));
    lines.omit(threads.len() - rows.len());
    let hint = how_to_list_more(most, &call.session.settings.command_prefix);
    Ok(lines.finish(&hint))
}

/// Returns how to list more than `most` threads.
fn how_to_list_more(most: usize, prefix: &str) -> String {
    match most < MAX_LINES {
        true => format!("`{prefix}threads all`"),
        false => format!("only the first {MAX_LINES} are listed"),
    }
}

fn innermost(session: &mut Session, thread: ThreadId) -> Result<String, RequestError> {
    let stack = session.debugger.stack(thread, 0, Some(1))?;
    Ok(match stack.frames.first() {
        Some(frame) => location_of(session, frame),
        None => String::new(),
    })
}

/// Returns a frame's function and location: `name at file:line`, or `name in module`.
fn location_of(session: &mut Session, frame: &Frame) -> String {
    let name = &frame.name;
    match &frame.location {
        Some(place) => {
            let path = session.sources.local(&place.file.path);
            format!("{name} at {}:{}", path.display(), place.line)
        }
        None => match frame.module.and_then(|id| module_name(session, id)) {
            Some(module) => format!("{name} in {module}"),
            None => name.clone(),
        },
    }
}

fn module_name(session: &Session, id: engine::ModuleId) -> Option<String> {
    let modules = session.debugger.modules();
    let module = modules.into_iter().find(|module| module.id == id)?;
    Some(module.name)
}

pub const BACKTRACE: Command = Command {
    name: "bt",
    arguments: "[all] [N]",
    help: "print the stack of the selected thread, or of all",
    more: "N is the maximum number of frames: 50 by default, or 10 per thread with `all`. `*` \
           marks the selected frame.",
    when: RequiredState::Stopped,
    run: backtrace,
    complete: Complete::Words(all),
};

fn backtrace(call: &mut Call<'_>) -> Result<String, RequestError> {
    let words = call.words();
    let (of_all, levels) = match words.as_slice() {
        [] => (false, None),
        ["all"] => (true, None),
        ["all", number] | [number, "all"] => (true, Some(*number)),
        [number] => (false, Some(*number)),
        _ => return Err(call.usage_error(&BACKTRACE, "too many arguments")),
    };
    let levels = match levels.map(|text| (text, count(text))) {
        None if of_all => DEFAULT_FRAMES_PER_THREAD,
        None => DEFAULT_FRAMES,
        Some((_, Some(levels @ 1..))) => levels,
        Some((text, _)) => {
            let mistake = format!("invalid frame count `{text}`");
            return Err(call.usage_error(&BACKTRACE, mistake));
        }
    };
    let prefix = call.session.settings.command_prefix.clone();
    let mut lines = Lines::at_most(MAX_LINES);
    if !of_all {
        let thread = call.thread()?;
        if let Some(more) = stack_of(call, thread, levels, &mut lines)? {
            lines.push(format!(
                "… {more}: `{prefix}bt {}`",
                levels.saturating_mul(4)
            ));
        }
        return Ok(lines.finish("too many to show"));
    }
    for thread in call.session.debugger.threads() {
        call.check_cancelled()?;
        if lines.is_full() {
            lines.omit(1);
            continue;
        }
        lines.push(format!("{} {}:", thread.id, thread.name));
        if !call.session.debugger.is_stopped(thread.id) {
            lines.push("  running");
            continue;
        }
        if let Some(more) = stack_of(call, thread.id, levels, &mut lines)? {
            let levels = levels.saturating_mul(4);
            lines.push(format!("  … {more}: `{prefix}bt all {levels}`"));
        }
    }
    Ok(lines.finish(&format!("select the thread and run `{prefix}bt`")))
}

/// Adds a thread's innermost frames to `lines`. Returns the text for frames left out: `3 more`, or
/// `more` if their number is unknown; `None` if there are none.
fn stack_of(
    call: &mut Call<'_>,
    thread: ThreadId,
    levels: usize,
    lines: &mut Lines,
) -> Result<Option<String>, RequestError> {
    let requested = levels.min(MAX_LINES);
    let stack = call.session.debugger.stack(thread, 0, Some(requested))?;
    let looked_at = call.frame;
    for frame in &stack.frames {
        call.check_cancelled()?;
        let mark = match looked_at == Some(frame.key) {
            true => "*",
            false => " ",
        };
        let place = location_of(call.session, frame);
        lines.push(format!("{mark} #{} {} {place}", frame.key.level, frame.pc));
    }
    let shown = stack.frames.len();
    Ok(match stack.total {
        Some(total) if total > shown => Some(format!("{} more", total - shown)),
        None if shown == requested => Some("more".to_owned()),
        _ => None,
    })
}

pub const REGISTERS: Command = Command {
    name: "regs",
    arguments: "[general|flags|segments|vectors|all]",
    help: "print the registers of the selected frame",
    more: "For a caller, only registers with a known saved value are printed. Vector registers \
           are those of the innermost frame.",
    when: RequiredState::Stopped,
    run: registers,
    complete: Complete::Words(|_, before| match before {
        [] => GROUPS
            .iter()
            .map(|it| it.0.to_owned())
            .chain(["all".to_owned()])
            .collect(),
        _ => Vec::new(),
    }),
};

const GROUPS: [(&str, RegisterGroup); 4] = [
    ("general", RegisterGroup::General),
    ("flags", RegisterGroup::Flags),
    ("segments", RegisterGroup::Segment),
    ("vectors", RegisterGroup::Vector),
];

fn registers(call: &mut Call<'_>) -> Result<String, RequestError> {
    let wanted: Vec<RegisterGroup> = match call.arguments {
        "" => vec![RegisterGroup::General],
        "all" => GROUPS.iter().map(|(_, group)| *group).collect(),
        name => {
            let Some((_, group)) = GROUPS.iter().find(|(known, _)| *known == name) else {
                let mistake = format!("unknown register group `{name}`");
                return Err(call.usage_error(&REGISTERS, mistake));
            };
            vec![*group]
        }
    };
    let frame = call.frame()?;
    let mut limits = call.session.settings.limits.clone();
    limits.numbers = NumberFormat::Hex;
    let mut rows = Vec::new();
    for group in wanted {
        for Named { name, value, .. } in call.session.debugger.registers(frame, group)? {
            call.check_cancelled()?;
            let text = match value {
                Ok(value) => call.session.debugger.present(&value, &limits).text,
                Err(error) => error.to_string(),
            };
            rows.push(vec![name, text]);
        }
    }
    if rows.is_empty() {
        return Ok("none of these registers is known in this frame".to_owned());
    }
    Ok(columns(&rows).join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hint_for_more_threads_leads_to_more() {
        assert_eq!(how_to_list_more(DEFAULT_THREADS, ":"), "`:threads all`");
        let hint = how_to_list_more(MAX_LINES, ":");
        assert!(!hint.contains("`:threads all`"), "{hint}");
        assert!(THREADS.more.contains("5000"), "{}", THREADS.more);
    }
}
