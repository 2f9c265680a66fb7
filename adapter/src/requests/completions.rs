//! Completion of expressions and console commands.

use crate::console::{self, Completed};
use crate::protocol::RequestError;
use crate::protocol::{
    Capabilities, CompletionItem, CompletionItemType, CompletionsArguments, CompletionsResponse,
};
use crate::requests::{InThePast, Request};
use crate::session::RequiredState;
use crate::session::Session;
use engine::expr::CompletionKind;
use std::ops::Range;

/// Completes an expression or a console command that is being typed.
pub enum Completions {}

impl Request for Completions {
    const COMMAND: &'static str = "completions";
    const IN_THE_PAST: InThePast = InThePast::Shown;
    // Commands can be typed in any state.
    const WHEN: RequiredState = RequiredState::Always;
    const DEFERRED_DURING_CALL: bool = true;
    type Arguments = CompletionsArguments;
    type Body = CompletionsResponse;

    fn advertise(capabilities: &mut Capabilities) {
        capabilities.supports_completions_request = true;
        capabilities.completion_trigger_characters = vec![".", ">", ":", "$"];
    }

    fn handle(
        session: &mut Session,
        arguments: CompletionsArguments,
    ) -> Result<CompletionsResponse, RequestError> {
        let line = arguments
            .line
            .map_or(1, |line| session.client.line_in(line));
        let text = arguments
            .text
            .split('\n')
            .nth(line.saturating_sub(1) as usize);
        let text = text.unwrap_or_default();
        let first = i64::from(session.client.first_column);
        let column = usize::try_from(arguments.column.saturating_sub(first)).unwrap_or(0);
        let at = byte_at(text, column);
        let (range, found) = found_at(session, arguments.frame_id, text, at)?;
        let units = |part: &str| part.encode_utf16().count() as i64;
        let start = units(&text[..range.start]) + first;
        let length = units(&text[range]);
        let targets = found.into_iter().map(|(label, kind)| CompletionItem {
            label,
            kind,
            start,
            length,
        });
        Ok(CompletionsResponse {
            targets: targets.collect(),
        })
    }
}

/// The range of bytes to replace, and the candidates.
type Found = (Range<usize>, Vec<(String, CompletionItemType)>);

/// Returns the candidates at byte `at` of a line.
fn found_at(
    session: &mut Session,
    frame: Option<i64>,
    text: &str,
    at: usize,
) -> Result<Found, RequestError> {
    // The start of the expression.
    let mut begin = 0;
    if let Some(command) = console::command_begun_in(session, text) {
        let offset = text.len() - command.len();
        if at < offset {
            return Ok((at..at, Vec::new()));
        }
        match console::complete(session, command, at - offset) {
            Ok(Completed { range, words }) => {
                let words = words.into_iter();
                let words = words.map(|word| (word, CompletionItemType::Keyword));
                return Ok((range.start + offset..range.end + offset, words.collect()));
            }
            Err(expression) => begin = offset + expression,
        }
    }
    session.check(RequiredState::Stopped)?;
    let frame = frame.filter(|id| *id != 0);
    let frame = frame.map(|id| session.handles.frame(id)).transpose()?;
    let (range, found) = session
        .debugger
        .complete(frame, &text[begin..], at - begin)?;
    let found = found.into_iter().map(|completion| {
        let kind = match completion.kind {
            CompletionKind::Variable => CompletionItemType::Variable,
            CompletionKind::Member => CompletionItemType::Field,
            CompletionKind::Method => CompletionItemType::Method,
            CompletionKind::Register => CompletionItemType::Value,
            CompletionKind::Enumerator => CompletionItemType::Enum,
        };
        (completion.text, kind)
    });
    Ok((range.start + begin..range.end + begin, found.collect()))
}

/// Returns the byte offset after `units` UTF-16 code units; the end if there are fewer.
fn byte_at(text: &str, units: usize) -> usize {
    let mut passed = 0;
    for (at, char) in text.char_indices() {
        if passed >= units {
            return at;
        }
        passed += char.len_utf16();
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::byte_at;

    #[test]
    fn columns_are_units_of_utf16() {
        let text = "é🦀x";
        assert_eq!(
            [0, 1, 2, 3, 4, 9].map(|units| byte_at(text, units)),
            [0, 2, 6, 6, 7, 7]
        );
    }
}
