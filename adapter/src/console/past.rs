//! The commands for the past: earlier stops, ways back, and the recording.

use super::{Call, Command, Complete};
use crate::context;
use crate::context::past::{
    NOT_RECORDED, changes, difference_of_runs, list, list_of_calls, listed, recording, state_of,
    told,
};
use crate::files::recordings;
use crate::protocol::RequestError;
use crate::session::{RequiredState, Session, past};
use engine::os::SaveTo;
use engine::{Backward, Granularity, Purpose, StepKind};
use std::path::{Path, PathBuf};

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
            let prefix = &call.session.settings.command_prefix;
            let more = match stops.len() {
                0 | 1 if call.session.debugger.is_recording() => {
                    format!(
                        "the program is recorded: `{prefix}reverse-next` steps back, `{prefix}recording` says more"
                    )
                }
                0 | 1 => "no earlier stop is kept".to_owned(),
                _ => {
                    format!("`{prefix}past N` shows one, `{prefix}past diff N` what changed since")
                }
            };
            Ok(format!("{}{more}", listed(&stops)))
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

pub const REVERSE_STEP: Command = Command {
    name: "reverse-step",
    arguments: "[instruction]",
    help: "step back, into calls",
    more: "Goes to the line before, also if that is the last one of a function that has returned. \
           `instruction` goes to the instruction before. It needs a recording (setting `record`); \
           without one it goes to the stop at which the last step began.",
    when: RequiredState::Stopped,
    run: |call| step_back(call, &REVERSE_STEP, StepKind::Into),
    complete: Complete::Words(granularities),
};

pub const REVERSE_NEXT: Command = Command {
    name: "reverse-next",
    arguments: "[instruction]",
    help: "step back, over calls",
    more: "Goes to the line before in the function, or to the call if there is none. `instruction` goes \
           to the instruction before. It needs a recording (setting `record`); without one it goes to \
           the stop at which the last step began.",
    when: RequiredState::Stopped,
    run: |call| step_back(call, &REVERSE_NEXT, StepKind::Over),
    complete: Complete::Words(granularities),
};

pub const REVERSE_FINISH: Command = Command {
    name: "reverse-finish",
    arguments: "",
    help: "go back to the call of the function",
    more: "It needs a recording (setting `record`).",
    when: RequiredState::Stopped,
    run: |call| match call.arguments {
        "" => go_back(call, Backward::Step(StepKind::Out, Granularity::Line)),
        extra => Err(call.usage_error(&REVERSE_FINISH, format!("unexpected `{extra}`"))),
    },
    complete: Complete::Words(|_, _| Vec::new()),
};

pub const REVERSE_CONTINUE: Command = Command {
    name: "reverse-continue",
    arguments: "",
    help: "run back to a breakpoint, watched data or an exception",
    more: "Stops at the last one before the present place, or where the recording begins. It needs a \
           recording (setting `record`); without one it goes to the stop before.",
    when: RequiredState::Stopped,
    run: |call| match call.arguments {
        "" => go_back(call, Backward::Continue),
        extra => Err(call.usage_error(&REVERSE_CONTINUE, format!("unexpected `{extra}`"))),
    },
    complete: Complete::Words(|_, _| Vec::new()),
};

pub const LAST_WRITE: Command = Command {
    name: "last-write",
    arguments: "EXPRESSION",
    help: "go back to where a value was last changed",
    more: "Shows the place, the stack and the value before. The expression is a variable, a member, an \
           element or another value in memory, of 32 bytes at most. Again there, it goes to the change \
           before that. It needs a recording (setting `record`).",
    when: RequiredState::Stopped,
    run: |call| {
        let debugger = &mut call.session.debugger;
        let found = debugger.evaluate(call.frame, call.arguments, Purpose::Look)?;
        let name = found.expression;
        let data = debugger.watchable(call.frame, &name, &found.value, None)?;
        past::go_to_last_write(call.session, call.thread()?, &data)?;
        call.session.report_continued();
        Ok(String::new())
    },
    complete: Complete::Expression,
};

pub const HIT: Command = Command {
    name: "hit",
    arguments: "N [BREAKPOINT]",
    help: "go to a hit of a breakpoint by its number",
    more: "Goes to the Nth hit since the recording began, back or forward. Hits are counted whose condition holds, \
           also those before the breakpoint was set. BREAKPOINT is its place: FILE:LINE, a function, an address, or \
           the name of watched data. Without it, the breakpoint that the program is stopped at is meant, or the \
           only one. It needs a recording (setting `record`).",
    when: RequiredState::Stopped,
    run: |call| {
        let (number, place) = call
            .arguments
            .split_once(char::is_whitespace)
            .unwrap_or((call.arguments, ""));
        let Some(number) = number.parse().ok().filter(|it| *it > 0) else {
            return Err(call.usage_error(&HIT, format!("`{number}` is not the number of a hit")));
        };
        let place = place.trim();
        let place = place.strip_prefix("of ").unwrap_or(place).trim();
        let breakpoint = past::breakpoint_at(call.session, place)?;
        past::go_to_hit(call.session, call.thread()?, breakpoint, number)?;
        // For clients a command is no resume.
        call.session.report_continued();
        Ok(String::new())
    },
    complete: Complete::Words(|_, _| Vec::new()),
};

pub const REPLAY: Command = Command {
    name: "replay",
    arguments: "",
    help: "let log messages and tracepoints tell what they would have told",
    more: "Runs the recording once more, from the start of the program to the place that is shown: what was \
           set meanwhile writes its messages and fills its tables as if it had been there from the start. The \
           program itself does not run. It needs a recording (setting `record`).",
    when: RequiredState::Stopped,
    run: |call| match call.arguments {
        "" => {
            past::replay(call.session, call.thread()?)?;
            call.session.report_continued();
            Ok(String::new())
        }
        extra => Err(call.usage_error(&REPLAY, format!("unexpected `{extra}`"))),
    },
    complete: Complete::Words(|_, _| Vec::new()),
};

pub const RECORD: Command = Command {
    name: "record",
    arguments: "",
    help: "record the program from this stop on",
    more: "Afterwards it can be gone back in, to this stop. It has all threads of the program. The \
           setting `record` records it from its first instruction on.",
    when: RequiredState::Stopped,
    run: |call| {
        let thread = call.thread()?;
        past::record(call.session, thread)?;
        Ok("The program is recorded from here on.".to_owned())
    },
    complete: Complete::Words(|_, _| Vec::new()),
};

pub const RECORDING: Command = Command {
    name: "recording",
    arguments: "[calls [FROM] | goto N | save [FILE]]",
    help: "what is recorded, and where in it the program is shown; its system calls; write it to a file",
    more: "`calls` lists system calls, those before the shown place or from number FROM on; `*` marks the last one \
           before that place. `goto` goes to behind the call of a number. `save` writes the recording to a \
           file, up to where the program is stopped. `stillpoint replay FILE` and the launch setting `replay` \
           open it. Without FILE, it is put into a folder of its own. The file contains the memory of the \
           program; only you may read it.",
    when: RequiredState::Process,
    run: |call| {
        let (word, file) = call
            .arguments
            .split_once(' ')
            .unwrap_or((call.arguments, ""));
        match (word, file.trim()) {
            ("", _) => match recording(call.session) {
                Some(recording) => Ok(state_of(&recording)),
                None => Err(RequestError::Other(NOT_RECORDED.to_owned())),
            },
            ("calls", from) => calls(call.session, from),
            ("goto", number) => {
                let (thread, number) = (call.thread()?, number_of_call(number)?);
                past::go_to_call(call.session, thread, number)?;
                // For clients a command is no resume.
                call.session.report_continued();
                Ok(String::new())
            }
            ("save", file) => save(call.session, file),
            (other, _) => Err(call.usage_error(&RECORDING, format!("unexpected `{other}`"))),
        }
    },
    complete: Complete::Words(|_, before| match before {
        [] => ["calls", "goto", "save"].map(str::to_owned).to_vec(),
        _ => Vec::new(),
    }),
};

pub const DIFF_RUNS: Command = Command {
    name: "diff-runs",
    arguments: "[FILE]",
    help: "the first system call that differs from another recorded run",
    more: "Without FILE, the other run is the one before the last `restart` of the recorded program; FILE is a \
           recording. Shows the call of both, and goes to its place in this run. What varies from run to run \
           is not compared: times, random bytes, ids of processes and threads, addresses.",
    when: RequiredState::Stopped,
    run: |call| {
        let file = Some(call.arguments)
            .filter(|it| !it.is_empty())
            .map(Path::new);
        let (same, found) = call.session.debugger.difference_of_runs(file)?;
        let mut text = difference_of_runs(same, found.as_ref());
        let thread = call.thread()?;
        if let Some(event) = found.and_then(|found| found.event) {
            // To where the call has just been made: in the function that makes it.
            match past::go_to_event(call.session, thread, event + 1) {
                // For clients a command is no resume.
                Ok(()) => call.session.report_continued(),
                Err(why) => text += &format!("its place is not shown: {why}\n"),
            }
        }
        Ok(text.trim_end().to_owned())
    },
    complete: Complete::Words(|_, _| Vec::new()),
};

fn number_of_call(word: &str) -> Result<usize, RequestError> {
    let number = word.parse();
    number.map_err(|_| RequestError::Other(format!("`{word}` is not the number of a system call")))
}

/// Lists system calls of the recording; with an empty text, the last ones before the shown place.
fn calls(session: &mut Session, from: &str) -> Result<String, RequestError> {
    /// So many are listed.
    const MOST: usize = 20;
    let from = match from {
        "" => None,
        from => Some(number_of_call(from)?),
    };
    let calls = context::past::calls(session, from, MOST)?;
    Ok(list_of_calls(&calls).trim_end().to_owned())
}

/// Writes the recording to a file; an empty path: to one in a folder for recordings.
fn save(session: &mut Session, path: &str) -> Result<String, RequestError> {
    if recording(session).is_none() {
        return Err(RequestError::Other(NOT_RECORDED.to_owned()));
    }
    let path = match path {
        "" => {
            let program = session.debugger.program().unwrap_or_default();
            let pid = session.debugger.pid().unwrap_or_default();
            recordings::new_file(&program, pid).map_err(RequestError::Other)?
        }
        path => PathBuf::from(path),
    };
    let to = SaveTo {
        path,
        limit: recordings::MOST_MEGABYTES << 20,
    };
    let saved = session.debugger.save_recording(&to)?;
    Ok(recordings::written(&to.path, &saved))
}

fn granularities(_: &Session, before: &[&str]) -> Vec<String> {
    match before {
        [] => vec!["instruction".to_owned()],
        _ => Vec::new(),
    }
}

fn step_back(
    call: &mut Call<'_>,
    command: &Command,
    kind: StepKind,
) -> Result<String, RequestError> {
    let granularity = match call.arguments {
        "" => Granularity::Line,
        "instruction" => Granularity::Instruction,
        other => return Err(call.usage_error(command, format!("unexpected `{other}`"))),
    };
    go_back(call, Backward::Step(kind, granularity))
}

fn go_back(call: &mut Call<'_>, way: Backward) -> Result<String, RequestError> {
    let thread = call.thread()?;
    past::go_back(call.session, thread, way)?;
    // For clients a command is no resume.
    call.session.report_continued();
    Ok(String::new())
}
