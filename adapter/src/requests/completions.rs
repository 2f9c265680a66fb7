//! What may stand at a place of an expression.

use crate::error::RequestError;
use crate::protocol::{
    Capabilities, CompletionItem, CompletionItemType, CompletionsArguments, CompletionsResponse,
};
use crate::routes::Request;
use crate::session::Session;
use engine::eval::CompletionKind;

/// Completes an expression that is being typed.
pub enum Completions {}

impl Request for Completions {
    const COMMAND: &'static str = "completions";
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
        let frame = arguments.frame_id.filter(|id| *id != 0);
        let frame = frame.map(|id| session.handles.frame(id)).transpose()?;
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
        let (range, found) = session.debugger.complete(frame, text, at)?;
        let units = |part: &str| part.encode_utf16().count() as i64;
        let start = units(&text[..range.start]) + first;
        let length = units(&text[range]);
        let targets = found
            .into_iter()
            .map(|completion| CompletionItem {
                label: completion.text,
                kind: match completion.kind {
                    CompletionKind::Variable => CompletionItemType::Variable,
                    CompletionKind::Member => CompletionItemType::Field,
                    CompletionKind::Method => CompletionItemType::Method,
                    CompletionKind::Register => CompletionItemType::Value,
                    CompletionKind::Enumerator => CompletionItemType::Enum,
                },
                start,
                length,
            })
            .collect();
        Ok(CompletionsResponse { targets })
    }
}

/// The byte at which so many units of UTF-16 have passed; the end if there are fewer.
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
