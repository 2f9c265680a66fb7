//! Property lists as XML (`man plist`).

use super::{Budget, Value};
use quick_xml::Reader;
use quick_xml::events::{BytesRef, Event};

/// A dictionary or an array that is not at its end.
struct Open {
    /// `None` of an array.
    key: Option<String>,
    value: Value,
}

/// Reads the first value of a list.
pub(super) fn parse(bytes: &[u8]) -> Result<Value, String> {
    let text = std::str::from_utf8(bytes).map_err(|error| error.to_string())?;
    let mut reader = Reader::from_str(text);
    let mut budget = Budget::new();
    let mut open: Vec<Open> = Vec::new();
    let mut text = String::new();
    loop {
        let closed = match reader.read_event().map_err(|error| error.to_string())? {
            Event::Start(tag) => {
                text.clear();
                let value = match tag.name().as_ref() {
                    "dict" => Value::Dictionary(Vec::new()),
                    "array" => Value::Array(Vec::new()),
                    _ => continue,
                };
                budget.take(open.len(), 0)?;
                let key = None;
                open.push(Open { key, value });
                continue;
            }
            Event::Text(part) => {
                text.push_str(&part);
                continue;
            }
            Event::CData(part) => {
                text.push_str(&part);
                continue;
            }
            Event::GeneralRef(name) => {
                text.push(character(&name)?);
                continue;
            }
            Event::End(tag) => match tag.name().as_ref() {
                "dict" | "array" => match open.pop() {
                    Some(container) => container.value,
                    None => return Err("the end of a value that did not begin".to_owned()),
                },
                "key" => {
                    if let Some(around) = open.last_mut() {
                        around.key = Some(std::mem::take(&mut text));
                    }
                    continue;
                }
                "plist" => continue,
                name => {
                    budget.take(open.len(), text.len())?;
                    scalar(name, std::mem::take(&mut text))
                }
            },
            Event::Empty(tag) => {
                budget.take(open.len(), 0)?;
                match tag.name().as_ref() {
                    "dict" => Value::Dictionary(Vec::new()),
                    "array" => Value::Array(Vec::new()),
                    name => scalar(name, String::new()),
                }
            }
            Event::Eof => return Err("a property list without an end".to_owned()),
            _ => continue,
        };
        let Some(around) = open.last_mut() else {
            return Ok(closed);
        };
        match (&mut around.value, around.key.take()) {
            (Value::Dictionary(pairs), Some(key)) => pairs.push((key, closed)),
            (Value::Array(values), _) => values.push(closed),
            _ => return Err("a value of a dictionary without a key".to_owned()),
        }
    }
}

fn scalar(name: &str, text: String) -> Value {
    match name {
        "string" => Value::Text(text),
        "integer" => text.trim().parse().map_or(Value::Other, Value::Integer),
        _ => Value::Other,
    }
}

/// Returns the character that a reference stands for.
fn character(name: &BytesRef<'_>) -> Result<char, String> {
    if let Some(char) = name.resolve_char_ref().map_err(|error| error.to_string())? {
        return Ok(char);
    }
    Ok(match &**name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        _ => return Err("an unknown entity".to_owned()),
    })
}
