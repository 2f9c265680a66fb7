//! Tools that inspect or change a stopped program.

use super::arguments::{Evaluate, Output, OutputStream, Read, Scope, Stack, Variables, Write};
use super::error::ToolError;
use super::output::Stream;
use super::session::Session;
use super::text::{self, BudgetedLines};
use crate::console::hex_and_characters;
use crate::protocol::{
    self, EvaluateArguments, EvaluateResponse, ReadMemoryArguments, ScopesArguments,
    SetExpressionArguments, Stacks, StacksArguments, ValueFormat, VariablesArguments,
};
use crate::requests::{self, ReadMemory, Scopes, SetExpression};
use serde_json::json;

/// Maximum number of bytes that `debug_read` returns.
const MAX_BYTES: u32 = 4096;
/// Default number of bytes at an address of unknown size.
const DEFAULT_BYTES: u32 = 64;
/// Bytes per row of a memory dump.
const BYTES_PER_ROW: usize = 16;

/// Returns a budget in bytes: `usual` if none is given, else the given one, bounded.
pub fn budget(given: Option<i64>, usual: usize) -> usize {
    given.map_or(usual, |given| {
        usize::try_from(given).unwrap_or(0).clamp(200, 1 << 20)
    })
}

impl Session {
    /// Runs `debug_stack`.
    ///
    /// # Errors
    /// Not stopped, or no such thread.
    pub async fn stack(&self, input: Stack) -> Result<String, ToolError> {
        self.stopped()?;
        if input.threads || input.all {
            return self.threads(&input).await;
        }
        let thread = self.thread_id(input.thread)?;
        let levels = input.levels.unwrap_or(20).clamp(1, 1000);
        let arguments = StacksArguments {
            thread_id: Some(thread),
            start_frame: input.start,
            levels: Some(i64::from(levels)),
            addresses: input.addresses,
            ..StacksArguments::default()
        };
        let stacks = self.stacks(&arguments).await?;
        let thread = stacks.threads.first();
        let frames = thread.map_or(&[][..], |thread| &thread.stack);
        let Some(last) = frames.last() else {
            return Err(ToolError::new(
                "NO_SUCH_FRAME",
                format!(
                    "no frame {} in this stack; frames begin with 0",
                    input.start.unwrap_or(0)
                ),
            ));
        };
        let mut lines = BudgetedLines::new(budget(input.budget, 6000));
        let mut next = frames.first().map_or(0, |frame| frame.level);
        for frame in frames {
            if !lines.push(&text::row(frame, None)) {
                break;
            }
            next = frame.level + frame.folded.max(1);
        }
        let mut text = lines.text;
        let depth = thread.map_or(0, |thread| thread.depth);
        let end = last.level + last.folded.max(1);
        if next < end || depth == 0 && thread.is_some_and(|thread| thread.has_more) {
            text.push_str(&format!(
                "… more frames: debug_stack {{\"start\": {next}}}; a negative start counts from the outermost\n"
            ));
        }
        if depth > 0 {
            text.push_str(&format!("{depth} frames in all\n"));
        }
        Ok(text)
    }

    async fn stacks(&self, arguments: &StacksArguments) -> Result<Stacks, ToolError> {
        self.link.request::<requests::Stacks>(arguments).await
    }

    async fn threads(&self, input: &Stack) -> Result<String, ToolError> {
        let levels = match input.all {
            true => input.levels.unwrap_or(20).clamp(1, 1000),
            false => 0,
        };
        let arguments = StacksArguments {
            levels: Some(i64::from(levels)),
            folded: true,
            addresses: input.addresses,
            ..StacksArguments::default()
        };
        let stacks = self.stacks(&arguments).await?;
        let mut lines = BudgetedLines::new(budget(input.budget, 6000));
        let mut state = self.link.state();
        let stopped = state.thread;
        let mut seen: Vec<(String, usize)> = Vec::new();
        for thread in &stacks.threads {
            let mark = if thread.thread_id == stopped {
                '>'
            } else {
                ' '
            };
            let number = state.number(thread.thread_id);
            let mut part = format!("{mark} {}", text::thread(thread, &mut state));
            if let Some(frame) = &thread.frame {
                part.push_str(&format!(": {}", text::frame_line(frame, None)));
            }
            let stack = text::stack(&thread.stack, None);
            // Threads of a pool often wait with identical stacks.
            match seen.iter().find(|(known, _)| *known == stack) {
                _ if stack.is_empty() => {}
                Some((_, first)) => part.push_str(&format!("\n  as thread {first}")),
                None => {
                    part.push('\n');
                    part.push_str(stack.trim_end());
                    if thread.has_more {
                        part.push_str("\n  … more frames: raise `levels`");
                    }
                    seen.push((stack, number));
                }
            }
            if !lines.push(&part) {
                break;
            }
        }
        let mut text = lines.text;
        if lines.omitted > 0 || stacks.omitted > 0 {
            text.push_str("… more threads: raise the budget\n");
        }
        let waits = stacks.threads.iter();
        let waits = waits.filter_map(|it| Some((it.thread_id, it.waits_for.as_ref()?.owner)));
        text.push_str(&text::deadlock(&waits.collect::<Vec<_>>(), &mut state));
        Ok(text)
    }

    /// Runs `debug_variables`.
    ///
    /// # Errors
    /// Not stopped, no such frame, or a wrong expression.
    pub async fn variables(&self, input: Variables) -> Result<String, ToolError> {
        let frame = self.frame_id(input.thread, input.frame).await?;
        let most = budget(input.budget, 6000);
        let count = input.count.unwrap_or(50).clamp(1, 10_000);
        let format = ValueFormat {
            hex: Some(input.hex),
            ..format(input.addresses, (most / 8).clamp(100, 4000))
        };
        let (reference, all, mut text) = match &input.expression {
            Some(expression) => {
                let value = self.value_of(frame, expression, &format).await?;
                let members = value.named_variables.unwrap_or(0);
                let elements = value.indexed_variables.unwrap_or(0);
                let type_name = value.type_name.as_deref();
                let line = format!("{}\n", value_line(expression, &value.result, type_name));
                (value.variables_reference, members + elements, line)
            }
            None => {
                let (reference, name) = self.scope(frame, input.scope).await?;
                (reference, 0, format!("{name}:\n"))
            }
        };
        if reference == 0 {
            return Ok(text);
        }
        let (start, count_requested) = match input.filter {
            // One more than is shown, to know whether there are more.
            None => (Some(i64::from(input.start)), i64::from(count) + 1),
            // As many as the server returns at once. Without a count it returns buckets.
            Some(_) => (None, i64::from(i32::MAX)),
        };
        let arguments = VariablesArguments {
            variables_reference: reference,
            start,
            count: Some(count_requested),
            format: Some(format),
            ..VariablesArguments::default()
        };
        let variables = self.link.client().variables(&arguments).await?;
        let fits = |variable: &&protocol::Variable| {
            let filter = input.filter.as_ref();
            filter.is_none_or(|filter| variable.name.contains(filter.as_str()))
        };
        let skipped = if input.filter.is_some() {
            input.start as usize
        } else {
            0
        };
        let fitting: Vec<_> = variables.iter().filter(fits).skip(skipped).collect();
        let mut lines = BudgetedLines::new(most.saturating_sub(text.len()));
        let mut state = 0;
        for variable in fitting.iter().take(count as usize) {
            let type_name = variable.r#type.as_deref();
            let line = value_line(&variable.name, &variable.value, type_name);
            if !lines.push(&format!("  {line}")) {
                break;
            }
            state += 1;
        }
        text.push_str(&lines.text);
        if state == 0 && fitting.is_empty() {
            text.push_str("  none\n");
        } else if state < fitting.len() {
            let next = u64::from(input.start) + state as u64;
            let of = match all {
                0 => String::new(),
                all => format!(" of {all}"),
            };
            text.push_str(&format!(
                "… more{of}: repeat with \"start\": {next}, or raise the budget\n"
            ));
        }
        Ok(text)
    }

    async fn scope(&self, frame: i64, scope: Scope) -> Result<(i64, &'static str), ToolError> {
        let name = match scope {
            Scope::Locals => "Locals",
            Scope::Globals => "Globals",
            Scope::Registers => "Registers",
        };
        let arguments = ScopesArguments { frame_id: frame };
        let scopes = self.link.request::<Scopes>(&arguments).await?.scopes;
        let found = scopes.iter().find(|scope| scope.name == name);
        let found = found.ok_or_else(|| {
            let message = format!("this frame has no {}", name.to_lowercase());
            ToolError::new("NO_SUCH_SCOPE", message)
        })?;
        Ok((found.variables_reference, name))
    }

    async fn value_of(
        &self,
        frame: i64,
        expression: &str,
        format: &ValueFormat,
    ) -> Result<EvaluateResponse, ToolError> {
        let arguments = EvaluateArguments {
            expression: expression.to_owned(),
            frame_id: Some(frame),
            context: Some("watch".to_owned()),
            format: Some(format.clone()),
        };
        let value = self.link.request::<requests::Evaluate>(&arguments).await;
        value.map_err(|error| error.or_code("EVALUATION_FAILED"))
    }

    /// Runs `debug_evaluate`.
    ///
    /// # Errors
    /// Not stopped, no such frame, or a wrong expression.
    pub async fn evaluate(&self, input: Evaluate) -> Result<String, ToolError> {
        let frame = self.frame_id(input.thread, input.frame).await?;
        let format = format(input.addresses, budget(input.budget, 2000));
        let value = self.value_of(frame, &input.expression, &format).await?;
        let shown = &value.result;
        let mut text = value_line(&input.expression, shown, value.type_name.as_deref());
        text.push('\n');
        if is_truncated(shown) {
            let call = json!({"expression": input.expression});
            text.push_str(&format!(
                "… truncated: raise the budget, or call debug_variables {call}\n"
            ));
        }
        Ok(text)
    }

    /// Runs `debug_write`.
    ///
    /// # Errors
    /// Not stopped, no such variable, or a value that does not fit.
    pub async fn write(&self, input: Write) -> Result<String, ToolError> {
        let frame = self.frame_id(input.thread, input.frame).await?;
        let format = ValueFormat {
            length: None,
            ..format(input.addresses, 0)
        };
        let before = self.value_of(frame, &input.location, &format).await?;
        let arguments = SetExpressionArguments {
            expression: input.location.clone(),
            value: input.value,
            frame_id: Some(frame),
            format: Some(format),
        };
        let after = self.link.request::<SetExpression>(&arguments).await;
        let after = after.map_err(|error| error.or_code("CANNOT_WRITE"))?;
        Ok(format!(
            "{}: {} -> {}\n",
            input.location, before.result, after.value
        ))
    }

    /// Runs `debug_read`.
    ///
    /// # Errors
    /// Not stopped, no such address, or unreadable memory.
    pub async fn read(&self, input: Read) -> Result<String, ToolError> {
        let frame = self.frame_id(input.thread, input.frame).await?;
        let location = input.location.trim();
        let is_address = location.starts_with("0x") || location.starts_with("0X");
        let is_address = is_address && location[2..].chars().all(|c| c.is_ascii_hexdigit());
        let (reference, size) = match is_address {
            true => (location.to_owned(), DEFAULT_BYTES),
            false => self.location_of(frame, location).await?,
        };
        let count = input.count.unwrap_or(size).clamp(1, MAX_BYTES);
        let arguments = ReadMemoryArguments {
            memory_reference: reference,
            offset: 0,
            count: u64::from(count),
        };
        let memory = self.link.request::<ReadMemory>(&arguments).await;
        let bytes = memory.map_err(|error| error.or_code("CANNOT_READ"))?.data;
        if bytes.is_empty() {
            let message = format!("nothing is mapped at {location}");
            return Err(ToolError::new("CANNOT_READ", message));
        }
        let mut text = format!("{} bytes of {location}:\n", bytes.len());
        for (row, bytes) in bytes.chunks(BYTES_PER_ROW).enumerate() {
            text.push_str(&row_of(row * BYTES_PER_ROW, bytes));
        }
        if (bytes.len() as u64) < u64::from(count) {
            text.push_str("… the next bytes cannot be read\n");
        }
        Ok(text)
    }

    /// Returns the address of an expression's value and its size in bytes; [`DEFAULT_BYTES`] if the
    /// size is unknown.
    async fn location_of(&self, frame: i64, expression: &str) -> Result<(String, u32), ToolError> {
        let format = ValueFormat {
            length: Some(40),
            ..ValueFormat::default()
        };
        let pointer = self
            .value_of(frame, &format!("&({expression})"), &format)
            .await?;
        let size = self
            .value_of(frame, &format!("sizeof({expression})"), &format)
            .await;
        let size = size.ok().and_then(|size| size.result.parse().ok());
        match pointer.memory_reference {
            Some(at) => Ok((at.0.to_string(), size.unwrap_or(DEFAULT_BYTES))),
            None => Err(ToolError::new(
                "CANNOT_READ",
                format!("`{expression}` is not in memory"),
            )),
        }
    }

    /// Runs `debug_output`.
    pub fn output(&self, input: &Output) -> String {
        let stream = input.stream.map(|stream| match stream {
            OutputStream::Stdout => Stream::Stdout,
            OutputStream::Stderr => Stream::Stderr,
            OutputStream::Console => Stream::Console,
        });
        let most = budget(input.budget, 4000);
        let state = self.link.state();
        let is_tail = input.since.is_none();
        let read = state
            .output
            .read(input.since.unwrap_or(0), stream, most, is_tail);
        let mut text = String::new();
        if read.skipped > 0 && stream.is_none() {
            let hint = match is_tail {
                true => ": debug_output {\"since\": 0}",
                false => " no longer kept",
            };
            text.push_str(&format!("… {} bytes before this{hint}\n", read.skipped));
        }
        text.push_str(&read.text);
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        let more = if read.next < state.output.end() {
            "; more follows"
        } else {
            ""
        };
        text.push_str(&format!("[cursor {}{more}]\n", read.next));
        text
    }
}

/// Returns the format of values: at most about `length` bytes each, and pointers with the number of
/// their target.
fn format(addresses: bool, length: usize) -> ValueFormat {
    ValueFormat {
        hex: None,
        addresses: Some(addresses),
        pointees: Some(true),
        length: i64::try_from(length).ok(),
    }
}

/// Formats `name = value  (type)`.
fn value_line(name: &str, shown: &str, type_name: Option<&str>) -> String {
    match type_name {
        None | Some("") => format!("{name} = {shown}"),
        Some(type_name) => format!("{name} = {shown}  ({type_name})"),
    }
}

/// Returns true if a value's text ends early or leaves elements out. Dots in its strings and
/// characters are the program's own.
fn is_truncated(shown: &str) -> bool {
    let mut outside = String::with_capacity(shown.len());
    let mut rest = shown;
    while let Some(first) = rest.chars().next() {
        let len = literal_len(rest).unwrap_or(first.len_utf8());
        match literal_len(rest) {
            Some(_) => outside.push('"'),
            None => outside.push(first),
        }
        rest = &rest[len..];
    }
    outside.ends_with("...") || outside.contains(", ...")
}

/// Returns the length of the string or character literal at the start of a text. An apostrophe
/// that begins no literal, as of a lifetime, has none.
fn literal_len(text: &str) -> Option<usize> {
    let quote = text.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let mut escaped = false;
    let end = text.char_indices().skip(1).find(|(_, c)| {
        let ends = *c == quote && !escaped;
        escaped = *c == '\\' && !escaped;
        ends
    });
    let (end, _) = end?;
    let content = &text[1..end];
    let is_character = content.starts_with('\\') || content.chars().count() == 1;
    (quote == '"' || is_character).then_some(end + 1)
}

/// Formats a row of bytes: offset, hex, characters.
fn row_of(offset: usize, bytes: &[u8]) -> String {
    format!(
        "  +{offset:<5} {}\n",
        hex_and_characters(bytes, BYTES_PER_ROW)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_in_the_program_s_text_are_no_truncation() {
        for complete in [
            r#""wait, ...""#,
            r#""a \", ...""#,
            r#"{name = "x, ...", mark = '"'}"#,
            "0x7ffe \"...\"",
            "{first = 44 ',', second = 46 '.'}",
        ] {
            assert!(!is_truncated(complete), "{complete}");
        }
        for truncated in [
            r#""abc"..."#,
            "{1, 2, ...}",
            "{a = {...}, ...}",
            r#"{'"', '"', ...}"#,
            "&'a str {1, ...}",
        ] {
            assert!(is_truncated(truncated), "{truncated}");
        }
    }

    #[test]
    fn rows_of_bytes() {
        let row = row_of(16, b"ab\x00\xff");
        assert_eq!(
            row.split_whitespace().collect::<Vec<_>>(),
            ["+16", "61", "62", "00", "ff", "ab.."]
        );
    }
}
