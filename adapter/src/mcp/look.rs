//! Looking at a stopped program, and changing it.

use super::arguments::{Evaluate, Output, OutputStream, Read, Scope, Stack, Variables, Write};
use super::error::ToolError;
use super::output::Stream;
use super::session::Session;
use super::text::{self, Lines};
use serde_json::{Value, json};

/// The most bytes that `debug_read` gives.
const MOST_BYTES: u32 = 4096;
/// Bytes of an address of which nothing else is said.
const USUAL_BYTES: u32 = 64;

/// A budget as clients write it.
fn budget(given: Option<i64>, usual: usize) -> usize {
    given.map_or(usual, |given| {
        usize::try_from(given).unwrap_or(0).clamp(200, 1 << 20)
    })
}

fn string(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

impl Session {
    /// `debug_stack`.
    ///
    /// # Errors
    /// Not stopped, no such thread.
    pub async fn stack(&self, asked: Stack) -> Result<String, ToolError> {
        self.stopped()?;
        if asked.threads {
            return self.threads(&asked).await;
        }
        let thread = self.thread_id(asked.thread)?;
        let levels = asked.levels.unwrap_or(20).clamp(1, 1000);
        let arguments = json!({"threadId": thread, "startFrame": asked.start, "levels": levels});
        let stack = self.link.request("stackTrace", arguments).await?;
        let frames = stack["stackFrames"]
            .as_array()
            .map_or(&[][..], Vec::as_slice);
        if frames.is_empty() {
            return Err(ToolError::new(
                "NO_SUCH_FRAME",
                format!("the stack has no frame {}; it begins with 0", asked.start),
            ));
        }
        let mut lines = Lines::new(budget(asked.budget, 6000));
        let mut next = u64::from(asked.start);
        for frame in frames {
            if !lines.push(&self.frame_line(next, frame, asked.addresses)) {
                break;
            }
            next += 1;
        }
        // Until the end was seen the total is a guess, but never too small.
        let total = stack["totalFrames"].as_u64().unwrap_or(next);
        let mut text = lines.text;
        if total > next {
            text.push_str(&format!(
                "… more frames: debug_stack {{\"start\": {next}}}\n"
            ));
        }
        Ok(text)
    }

    fn frame_line(&self, level: u64, frame: &Value, addresses: bool) -> String {
        let mut described = text::frame(frame);
        let at = string(&frame["instructionPointerReference"]);
        if described.name.starts_with("0x") && !addresses {
            described.name = "0x…".to_owned();
        }
        let place = text::place(&described, None);
        match addresses {
            true => format!("#{level} {at} {place}"),
            false => format!("#{level} {place}"),
        }
    }

    async fn threads(&self, asked: &Stack) -> Result<String, ToolError> {
        let threads = self.link.request("threads", json!({})).await?;
        let mut lines = Lines::new(budget(asked.budget, 6000));
        let stopped = self.link.told().thread;
        for thread in threads["threads"].as_array().into_iter().flatten() {
            let id = thread["id"].as_i64().unwrap_or_default();
            let arguments = json!({"threadId": id, "startFrame": 0, "levels": 1});
            let stack = self.link.request("stackTrace", arguments).await?;
            let number = self.link.told().number(id);
            let mark = if id == stopped { '>' } else { ' ' };
            let name = string(&thread["name"]);
            let frame = self.frame_line(0, &stack["stackFrames"][0], asked.addresses);
            if !lines.push(&format!("{mark} thread {number} \"{name}\": {frame}")) {
                break;
            }
        }
        let mut text = lines.text;
        if lines.omitted > 0 {
            text.push_str("… more threads: a larger budget\n");
        }
        Ok(text)
    }

    /// `debug_variables`.
    ///
    /// # Errors
    /// Not stopped, no such frame, a wrong expression.
    pub async fn variables(&self, asked: Variables) -> Result<String, ToolError> {
        let frame = self.frame_id(asked.thread, asked.frame).await?;
        let most = budget(asked.budget, 6000);
        let count = asked.count.unwrap_or(50).clamp(1, 10_000);
        let format = json!({
            "hex": asked.hex, "addresses": asked.addresses,
            "length": (most / 8).clamp(100, 4000),
        });
        let (reference, all, mut text) = match &asked.expression {
            Some(expression) => {
                let value = self.value_of(frame, expression, &format).await?;
                let members = value["namedVariables"].as_u64().unwrap_or(0);
                let elements = value["indexedVariables"].as_u64().unwrap_or(0);
                let line = format!("{}\n", value_line(expression, &value, "result"));
                (
                    value["variablesReference"].clone(),
                    members + elements,
                    line,
                )
            }
            None => {
                let (reference, name) = self.scope(frame, asked.scope).await?;
                (reference, 0, format!("{name}:\n"))
            }
        };
        if reference.as_i64().unwrap_or(0) == 0 {
            return Ok(text);
        }
        let mut arguments = json!({"variablesReference": reference, "format": format});
        if asked.filter.is_none() {
            arguments["start"] = json!(asked.start);
            // One more tells whether there are more.
            arguments["count"] = json!(count + 1);
        }
        let variables = self.link.request("variables", arguments).await?;
        let variables = variables["variables"]
            .as_array()
            .map_or(&[][..], Vec::as_slice);
        let fits = |variable: &&Value| {
            let name = string(&variable["name"]);
            asked
                .filter
                .as_ref()
                .is_none_or(|filter| name.contains(filter.as_str()))
        };
        let skipped = if asked.filter.is_some() {
            asked.start as usize
        } else {
            0
        };
        let fitting: Vec<&Value> = variables.iter().filter(fits).skip(skipped).collect();
        let mut lines = Lines::new(most.saturating_sub(text.len()));
        let mut told = 0;
        for variable in fitting.iter().take(count as usize) {
            let line = value_line(string(&variable["name"]), variable, "value");
            if !lines.push(&format!("  {line}")) {
                break;
            }
            told += 1;
        }
        text.push_str(&lines.text);
        if told == 0 && fitting.is_empty() {
            text.push_str("  none\n");
        } else if told < fitting.len() {
            let next = u64::from(asked.start) + told as u64;
            let of = match all {
                0 => String::new(),
                all => format!(" of {all}"),
            };
            text.push_str(&format!(
                "… more{of}: the same with \"start\": {next}, or a larger budget\n"
            ));
        }
        Ok(text)
    }

    async fn scope(&self, frame: i64, scope: Scope) -> Result<(Value, &'static str), ToolError> {
        let name = match scope {
            Scope::Locals => "Locals",
            Scope::Globals => "Globals",
            Scope::Registers => "Registers",
        };
        let scopes = self
            .link
            .request("scopes", json!({"frameId": frame}))
            .await?;
        let mut scopes = scopes["scopes"].as_array().into_iter().flatten();
        let found = scopes.find(|scope| scope["name"] == name);
        let found = found.ok_or_else(|| {
            let message = format!("this frame has no {}", name.to_lowercase());
            ToolError::new("NO_SUCH_SCOPE", message)
        })?;
        Ok((found["variablesReference"].clone(), name))
    }

    async fn value_of(
        &self,
        frame: i64,
        expression: &str,
        format: &Value,
    ) -> Result<Value, ToolError> {
        let arguments = json!({
            "expression": expression, "frameId": frame, "context": "watch", "format": format,
        });
        let value = self.link.request("evaluate", arguments).await;
        value.map_err(|error| error.or_code("EVALUATION_FAILED"))
    }

    /// `debug_evaluate`.
    ///
    /// # Errors
    /// Not stopped, no such frame, a wrong expression.
    pub async fn evaluate(&self, asked: Evaluate) -> Result<String, ToolError> {
        let frame = self.frame_id(asked.thread, asked.frame).await?;
        let format = json!({
            "addresses": asked.addresses, "length": budget(asked.budget, 2000),
        });
        let value = self.value_of(frame, &asked.expression, &format).await?;
        let mut text = value_line(&asked.expression, &value, "result");
        text.push('\n');
        let shown = string(&value["result"]);
        if shown.ends_with("...") || shown.contains(", ...") {
            let call = json!({"expression": asked.expression});
            text.push_str(&format!(
                "… cut: a larger budget, or debug_variables {call}\n"
            ));
        }
        Ok(text)
    }

    /// `debug_write`.
    ///
    /// # Errors
    /// Not stopped, no such place, a value that does not fit.
    pub async fn write(&self, asked: Write) -> Result<String, ToolError> {
        let frame = self.frame_id(asked.thread, asked.frame).await?;
        let format = json!({"addresses": asked.addresses});
        let before = self.value_of(frame, &asked.location, &format).await?;
        let arguments = json!({
            "expression": asked.location, "value": asked.value, "frameId": frame,
            "format": format,
        });
        let after = self.link.request("setExpression", arguments).await;
        let after = after.map_err(|error| error.or_code("CANNOT_WRITE"))?;
        Ok(format!(
            "{}: {} -> {}\n",
            asked.location,
            string(&before["result"]),
            string(&after["value"])
        ))
    }

    /// `debug_read`.
    ///
    /// # Errors
    /// Not stopped, no such place, memory that cannot be read.
    pub async fn read(&self, asked: Read) -> Result<String, ToolError> {
        let frame = self.frame_id(asked.thread, asked.frame).await?;
        let location = asked.location.trim();
        let is_address = location.starts_with("0x") || location.starts_with("0X");
        let is_address = is_address && location[2..].chars().all(|c| c.is_ascii_hexdigit());
        let (reference, size) = match is_address {
            true => (location.to_owned(), USUAL_BYTES),
            false => self.place_of(frame, location).await?,
        };
        let count = asked.count.unwrap_or(size).clamp(1, MOST_BYTES);
        let arguments = json!({"memoryReference": reference, "offset": 0, "count": count});
        let memory = self.link.request("readMemory", arguments).await;
        let memory = memory.map_err(|error| error.or_code("CANNOT_READ"))?;
        let bytes = base64(string(&memory["data"]));
        if bytes.is_empty() {
            let message = format!("nothing is mapped at {location}");
            return Err(ToolError::new("CANNOT_READ", message));
        }
        let mut text = format!("{} bytes of {location}:\n", bytes.len());
        for (row, bytes) in bytes.chunks(16).enumerate() {
            text.push_str(&row_of(row * 16, bytes));
        }
        if (bytes.len() as u64) < u64::from(count) {
            text.push_str("… what follows cannot be read\n");
        }
        Ok(text)
    }

    /// Where an expression's bytes are, and how many.
    async fn place_of(&self, frame: i64, expression: &str) -> Result<(String, u32), ToolError> {
        let format = json!({"length": 40});
        let pointer = self
            .value_of(frame, &format!("&({expression})"), &format)
            .await?;
        let size = self
            .value_of(frame, &format!("sizeof({expression})"), &format)
            .await;
        let size = size
            .ok()
            .and_then(|size| string(&size["result"]).parse().ok());
        match pointer["memoryReference"].as_str() {
            Some(reference) => Ok((reference.to_owned(), size.unwrap_or(USUAL_BYTES))),
            None => Err(ToolError::new(
                "CANNOT_READ",
                format!("`{expression}` has no place in memory"),
            )),
        }
    }

    /// `debug_output`.
    pub fn output(&self, asked: &Output) -> String {
        let stream = asked.stream.map(|stream| match stream {
            OutputStream::Stdout => Stream::Stdout,
            OutputStream::Stderr => Stream::Stderr,
            OutputStream::Console => Stream::Console,
        });
        let most = budget(asked.budget, 4000);
        let told = self.link.told();
        let is_tail = asked.since.is_none();
        let read = told
            .output
            .read(asked.since.unwrap_or(0), stream, most, is_tail);
        let mut text = String::new();
        if read.skipped > 0 && stream.is_none() {
            let hint = match is_tail {
                true => ": debug_output {\"since\": 0}",
                false => " are not kept any more",
            };
            text.push_str(&format!("… {} bytes before this{hint}\n", read.skipped));
        }
        text.push_str(&read.text);
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        let more = if read.next < told.output.end() {
            "; there is more"
        } else {
            ""
        };
        text.push_str(&format!("[cursor {}{more}]\n", read.next));
        text
    }
}

/// `name = value  (type)`.
fn value_line(name: &str, value: &Value, key: &str) -> String {
    let shown = string(&value[key]);
    match string(&value["type"]) {
        "" => format!("{name} = {shown}"),
        type_name => format!("{name} = {shown}  ({type_name})"),
    }
}

/// A row of bytes: offset, hex, characters.
fn row_of(offset: usize, bytes: &[u8]) -> String {
    let hex: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let printable = |byte: &u8| match byte {
        32..127 => char::from(*byte),
        _ => '.',
    };
    let characters: String = bytes.iter().map(printable).collect();
    format!("  +{offset:<5} {:<47}  {characters}\n", hex.join(" "))
}

/// Decodes base64 as the protocol has it, up to the first character that is none.
fn base64(text: &str) -> Vec<u8> {
    let digit = |byte: u8| match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    };
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut count) = (0_u32, 0);
    for digit in text.bytes().map_while(digit) {
        bits = bits << 6 | u32::from(digit);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
            bits &= (1 << count) - 1;
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_of_every_length() {
        assert_eq!(base64(""), b"");
        assert_eq!(base64("YQ=="), b"a");
        assert_eq!(base64("YWI="), b"ab");
        assert_eq!(base64("YWJj"), b"abc");
        assert_eq!(base64("+/8A"), [0xfb, 0xff, 0]);
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
