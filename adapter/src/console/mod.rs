//! Commands on the debug console. Input that starts with the prefix (setting `commandPrefix`) and a
//! letter is a command; anything else is an expression. Each command has a line in [`COMMANDS`].

mod addresses;
mod call_trace;
mod explain;
mod habits;
mod help;
mod join;
mod memory;
mod modules;
mod origin;
mod past;
mod settings;
mod signals;
mod stacks;
mod text;
mod traces;

pub use habits::instead_of;
pub use text::hex_and_characters;

use crate::config::nearest;
use crate::protocol::RequestError;
use crate::session::RequiredState;
use crate::session::Session;
use engine::{FrameKey, LoadAddr, Purpose, ThreadId};
use std::ops::Range;

/// A console command.
pub struct Command {
    /// Its name.
    name: &'static str,
    /// Its arguments, as shown in its usage.
    arguments: &'static str,
    /// Its summary in a few words.
    help: &'static str,
    /// Further help; may be empty.
    more: &'static str,
    /// The state of the session in which it is allowed.
    when: RequiredState,
    /// Runs it, and returns its output.
    run: fn(&mut Call<'_>) -> Result<String, RequestError>,
    /// How its arguments are completed.
    complete: Complete,
}

/// What a command's argument is completed with.
enum Complete {
    /// An expression.
    Expression,
    /// One of the words that the function returns for the words before it.
    Words(fn(&Session, &[&str]) -> Vec<String>),
}

/// A running command with its arguments.
struct Call<'a> {
    session: &'a mut Session,
    /// The frame selected in the client; `None`: the client sent none.
    frame: Option<FrameKey>,
    /// The text after the name.
    arguments: &'a str,
}

/// All commands.
static COMMANDS: &[Command] = &[
    help::HELP,
    stacks::THREADS,
    stacks::BACKTRACE,
    stacks::REGISTERS,
    stacks::ABANDON,
    explain::EXPLAIN,
    explain::FIND,
    call_trace::TRACE_CALL,
    past::PAST,
    past::REVERSE_STEP,
    past::REVERSE_NEXT,
    past::REVERSE_FINISH,
    past::REVERSE_CONTINUE,
    past::LAST_WRITE,
    origin::ORIGIN,
    past::HIT,
    past::REPLAY,
    past::RECORD,
    past::RECORDING,
    past::DIFF_RUNS,
    addresses::MAPS,
    memory::MEMORY,
    memory::DISASSEMBLY,
    addresses::SYMBOL,
    addresses::INFO,
    modules::MODULES,
    modules::SYMBOLS,
    signals::SIGNALS,
    traces::TRACE,
    join::JOIN,
    settings::SET,
];

/// Commands that concern the process itself also while a past stop is shown.
const OF_THE_PROCESS: [&str; 4] = ["set", "signals", "symbols", "trace"];

/// Returns the command in a line of console input, without its prefix; `None` if the line is an
/// expression.
pub fn command_in<'a>(session: &Session, line: &'a str) -> Option<&'a str> {
    command_begun_in(session, line).filter(|command| !command.is_empty())
}

/// Like [`command_in`], for a line that is being typed: the command may still be empty.
pub fn command_begun_in<'a>(session: &Session, line: &'a str) -> Option<&'a str> {
    let prefix = session.settings.command_prefix.as_str();
    let rest = line.trim_start().strip_prefix(prefix)?;
    let is_name = |char: char| char.is_ascii_alphabetic() || char == '?';
    let is_command = !prefix.is_empty() && (rest.is_empty() || rest.starts_with(is_name));
    is_command.then_some(rest)
}

/// Runs a command and returns its output. `frame`: the frame that is selected in the client.
///
/// # Errors
/// There is no such command, its arguments are wrong, or it failed; or it needs a frame, and the client's is no
/// longer valid.
pub fn run(
    session: &mut Session,
    frame: Result<Option<FrameKey>, RequestError>,
    line: &str,
) -> Result<String, RequestError> {
    let (name, arguments) = split(line);
    let command = find(session, name)?;
    session.check(command.when)?;
    let frame = match command.when {
        RequiredState::Stopped => frame?,
        _ => frame.unwrap_or(None),
    };
    let mut call = Call {
        session,
        frame,
        arguments,
    };
    let shown = match OF_THE_PROCESS.contains(&command.name) {
        true => call.session.debugger.put_past_aside(),
        false => None,
    };
    let text = (command.run)(&mut call);
    if shown.is_some() {
        call.session.debugger.show(shown)?;
    }
    let text = text?;
    Ok(match session.client.ansi_styling {
        true => text::with_marked_in_bold(&text),
        false => text,
    })
}

fn split(line: &str) -> (&str, &str) {
    let end = line.find(char::is_whitespace).unwrap_or(line.len());
    (&line[..end], line[end..].trim())
}

/// Splits a line at its last blank; `None` without one.
fn split_last(line: &str) -> Option<(&str, &str)> {
    let (first, last) = line.trim().rsplit_once(char::is_whitespace)?;
    Some((first.trim_end(), last))
}

/// Finds a command by its name or an abbreviation of it: its begin, or the initials of its words.
fn find(session: &Session, name: &str) -> Result<&'static Command, RequestError> {
    let name = match name {
        "?" => "help",
        name => name,
    };
    if let Some(exact) = COMMANDS.iter().find(|command| command.name == name) {
        return Ok(exact);
    }
    let prefix = &session.settings.command_prefix;
    let begun: Vec<&Command> = COMMANDS
        .iter()
        .filter(|command| command.name.starts_with(name) || has_initials(command.name, name))
        .collect();
    match begun.as_slice() {
        [one] => Ok(one),
        [] if let Some(instead) = instead_of(name, prefix) => Err(RequestError::Other(instead)),
        [] => {
            let names: Vec<&str> = COMMANDS.iter().map(|command| command.name).collect();
            let meant = nearest(name, &names).unwrap_or("help");
            Err(RequestError::Other(format!(
                "unknown command `{prefix}{name}`; did you mean `{prefix}{meant}`? `{prefix}help` \
                 lists all commands"
            )))
        }
        several => {
            let names = several.iter().map(|command| command.name);
            let names: Vec<String> = names.map(|name| format!("`{prefix}{name}`")).collect();
            Err(RequestError::Other(format!(
                "ambiguous command `{prefix}{name}`; expected {}",
                names.join(" or ")
            )))
        }
    }
}

/// Returns whether these are the initials of a name of several words.
fn has_initials(name: &str, initials: &str) -> bool {
    let firsts = name.split('-').map(|word| word.chars().next());
    name.contains('-') && firsts.eq(initials.chars().map(Some))
}

/// Completes a command that is being typed, with the cursor at byte `at`. `Err`: the argument is an
/// expression, which starts at that byte.
pub fn complete(session: &Session, line: &str, at: usize) -> Result<Completed, usize> {
    let typed = line.get(..at).unwrap_or(line);
    let Some(end) = typed.find(char::is_whitespace) else {
        let names = COMMANDS.iter().map(|command| command.name.to_owned());
        return Ok(Completed::with_prefix(typed, 0, names.collect()));
    };
    let Ok(command) = find(session, &typed[..end]) else {
        return Ok(Completed::default());
    };
    match command.complete {
        Complete::Expression => Err(end + 1),
        Complete::Words(words) => {
            let arguments = &typed[end..];
            let start = arguments.rfind(char::is_whitespace).map_or(end, |last| {
                let after = arguments[last..].chars().next().map_or(1, char::len_utf8);
                end + last + after
            });
            let before: Vec<&str> = typed[end..start].split_whitespace().collect();
            let words = words(session, &before);
            Ok(Completed::with_prefix(&typed[start..], start, words))
        }
    }
}

/// Words that complete a command.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Completed {
    /// The range of bytes that a word replaces.
    pub range: Range<usize>,
    /// The candidates.
    pub words: Vec<String>,
}

impl Completed {
    fn with_prefix(typed: &str, start: usize, mut words: Vec<String>) -> Self {
        const MAX_COMPLETIONS: usize = 500;
        let begins = |word: &String| {
            let head = word.get(..typed.len());
            head.is_some_and(|head| head.eq_ignore_ascii_case(typed))
        };
        words.retain(begins);
        words.truncate(MAX_COMPLETIONS);
        Self {
            range: start..start + typed.len(),
            words,
        }
    }
}

impl Call<'_> {
    /// Returns the arguments as words.
    fn words(&self) -> Vec<&str> {
        self.arguments.split_whitespace().collect()
    }

    /// Returns the selected thread.
    fn thread(&self) -> Result<ThreadId, RequestError> {
        let frame = self.frame.map(|frame| frame.thread);
        frame
            .or_else(|| self.session.debugger.current_thread())
            .ok_or_else(|| engine::Error::NotStopped.into())
    }

    /// Returns the selected frame.
    fn frame(&self) -> Result<FrameKey, RequestError> {
        match self.frame {
            Some(frame) => Ok(frame),
            None => Ok(FrameKey {
                thread: self.thread()?,
                level: 0,
            }),
        }
    }

    /// Evaluates an expression to an address.
    fn address(&mut self, expression: &str) -> Result<LoadAddr, RequestError> {
        let debugger = &mut self.session.debugger;
        let evaluated = debugger.evaluate(self.frame, expression, Purpose::Look)?;
        Ok(debugger.value_address(&evaluated.value)?)
    }

    /// Returns a command's usage, for messages.
    fn usage(&self, command: &Command) -> String {
        let (prefix, name) = (&self.session.settings.command_prefix, command.name);
        match command.arguments {
            "" => format!("{prefix}{name}"),
            arguments => format!("{prefix}{name} {arguments}"),
        }
    }

    /// Returns the error for a wrong argument, with the command's usage.
    fn usage_error(&self, command: &Command, mistake: impl std::fmt::Display) -> RequestError {
        RequestError::Other(format!("{mistake}; usage: `{}`", self.usage(command)))
    }

    /// Checks for a cancellation; called between parts of a long output.
    ///
    /// # Errors
    /// The client has cancelled the command.
    fn check_cancelled(&self) -> Result<(), RequestError> {
        match self.session.is_cancelled() {
            true => Err(RequestError::Cancelled),
            false => Ok(()),
        }
    }
}

/// Parses a number of things to show; `None` if `text` is not a number.
fn count(text: &str) -> Option<usize> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    // A number that overflows is larger than any count.
    is_number.then(|| text.parse().unwrap_or(usize::MAX))
}
