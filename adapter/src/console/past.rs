//! The command for past stops.

use super::{Call, Command, Complete};
use crate::context::past::{changes, list, listed, told};
use crate::protocol::RequestError;
use crate::session::{RequiredState, past};

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
