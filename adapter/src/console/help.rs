//! The `help` command.

use super::text::columns;
use super::{COMMANDS, Call, Command, Complete, find};
use crate::protocol::RequestError;
use crate::session::RequiredState;
use crate::session::Session;

pub const HELP: Command = Command {
    name: "help",
    arguments: "[NAME]",
    help: "list commands, or describe one",
    more: "",
    when: RequiredState::Always,
    run: help,
    complete: Complete::Words(names),
};

fn names(_: &Session, before: &[&str]) -> Vec<String> {
    match before {
        [] => COMMANDS.iter().map(|it| it.name.to_owned()).collect(),
        _ => Vec::new(),
    }
}

fn help(call: &mut Call<'_>) -> Result<String, RequestError> {
    let prefix = call.session.settings.command_prefix.clone();
    if !call.arguments.is_empty() {
        let name = call.arguments.strip_prefix(&prefix);
        let command = find(call.session, name.unwrap_or(call.arguments))?;
        let more = command.more.replace("`:", &format!("`{prefix}"));
        let text = format!("{}\n{}\n{more}", call.usage(command), command.help);
        return Ok(text.trim_end().to_owned());
    }
    let commands = COMMANDS.iter();
    let rows: Vec<Vec<String>> = commands
        .map(|command| vec![call.usage(command), command.help.to_owned()])
        .collect();
    Ok(format!(
        "{}\n`{prefix}help NAME` describes a command. Command names may be abbreviated, to their begin or initials. Input without `{prefix}` is an expression.",
        columns(&rows).join("\n")
    ))
}
