//! What all messages have in common, and the text of their bodies.

use super::Event;
use super::parse::{FieldError, from_json};
use serde::de::DeserializeOwned;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;
use std::marker::PhantomData;

/// A message from the other side.
#[derive(Debug)]
pub enum Incoming {
    /// A request; to a client, a reverse request.
    Request(Request),
    /// A response; from a client, to a reverse request.
    Response(Response),
    /// An event; from a client, a mistake.
    Event {
        /// Its sequence number, if it could be read.
        seq: Option<i64>,
        /// The event.
        event: Event,
    },
}

/// A request.
#[derive(Clone, Debug)]
pub struct Request {
    /// Its sequence number.
    pub seq: i64,
    /// Its command.
    pub command: String,
    /// Its arguments; null if there are none.
    pub arguments: Value,
}

/// A response.
#[derive(Debug)]
pub struct Response {
    /// The sequence number of the request; 0 if a client sends none.
    pub request_seq: u64,
    /// The command of the request.
    pub command: String,
    /// Whether it succeeded.
    pub success: bool,
    /// The error in short.
    pub message: Option<String>,
    /// Its body, as text.
    pub body: Option<Box<RawValue>>,
}

/// A message that cannot be parsed.
#[derive(Debug, PartialEq, Eq)]
pub struct Malformed {
    /// Its sequence number, if it could be read.
    pub seq: Option<i64>,
    /// Its command, if it could be read.
    pub command: String,
    /// The error.
    pub message: String,
}

impl Malformed {
    /// Returns the error for an event from a client.
    pub fn event(seq: Option<i64>) -> Self {
        Self {
            seq,
            command: String::new(),
            message: "`type` is \"event\", expected \"request\"".to_owned(),
        }
    }
}

#[derive(Deserialize)]
struct Envelope {
    #[serde(default)]
    seq: Value,
    #[serde(default)]
    r#type: Value,
    #[serde(default)]
    command: Value,
    #[serde(default)]
    arguments: Value,
    #[serde(default)]
    request_seq: Value,
    #[serde(default)]
    success: Value,
    #[serde(default)]
    message: Value,
    #[serde(default)]
    event: Value,
    #[serde(default)]
    body: Option<Box<RawValue>>,
}

/// Reads one message.
///
/// # Errors
/// The bytes are not JSON, or not a DAP message.
pub fn read_message(bytes: &[u8]) -> Result<Incoming, Malformed> {
    // serde would parse an array as the fields in their order.
    if bytes.trim_ascii_start().first() != Some(&b'{') {
        return Err(Malformed {
            seq: None,
            command: String::new(),
            message: "the message is not a JSON object".to_owned(),
        });
    }
    let envelope: Envelope =
        serde_json::from_slice(bytes).map_err(|error| salvage(bytes, &error))?;
    let command = envelope.command.as_str().unwrap_or_default().to_owned();
    let seq = integer(&envelope.seq);
    let malformed = |message: String| Malformed {
        seq,
        command: command.clone(),
        message,
    };
    match envelope.r#type.as_str() {
        Some("request") => {
            let seq =
                seq.ok_or_else(|| malformed("`seq` is missing or not a number".to_owned()))?;
            if command.is_empty() {
                return Err(malformed("`command` is missing or not a string".to_owned()));
            }
            Ok(Incoming::Request(Request {
                seq,
                command,
                arguments: envelope.arguments,
            }))
        }
        Some("response") => Ok(Incoming::Response(Response {
            request_seq: envelope.request_seq.as_u64().unwrap_or(0),
            command,
            success: envelope.success.as_bool().unwrap_or(false),
            message: envelope.message.as_str().map(str::to_owned),
            body: envelope.body,
        })),
        Some("event") => {
            let name = envelope.event.as_str().unwrap_or_default();
            let event = Event::read(name, envelope.body.as_deref());
            let event = event.map_err(|error| malformed(format!("event `{name}`: {error}")))?;
            Ok(Incoming::Event { seq, event })
        }
        _ => Err(malformed(format!(
            "`type` is {}, expected \"request\"",
            envelope.r#type
        ))),
    }
}

/// Returns an integer, also one written as `1.0`.
fn integer(value: &Value) -> Option<i64> {
    let whole =
        |number: f64| (number.fract() == 0.0 && number.abs() < 1e15).then_some(number as i64);
    value.as_i64().or_else(|| value.as_f64().and_then(whole))
}

/// Finds the sequence number in a message that is not valid JSON, so that it can be answered.
fn salvage(bytes: &[u8], error: &serde_json::Error) -> Malformed {
    let text = String::from_utf8_lossy(bytes);
    let after = |key: &str| {
        let rest = &text[text.find(key)? + key.len()..];
        Some(rest.trim_start().strip_prefix(':')?.trim_start())
    };
    let digits = |rest: &str| {
        let end = rest
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(rest.len());
        rest[..end].parse().ok()
    };
    let string = |rest: &str| Some(rest.strip_prefix('"')?.split('"').next()?.to_owned());
    let message = if text.contains(char::REPLACEMENT_CHARACTER) {
        format!("the message is not valid UTF-8: {error}")
    } else {
        format!("the message is not valid JSON: {error}")
    };
    Malformed {
        seq: after("\"seq\"").and_then(digits),
        command: after("\"command\"").and_then(string).unwrap_or_default(),
        message,
    }
}

/// A message to the other side without its `seq`, which the writer adds.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Outgoing<'a> {
    /// A response without its body, which is appended.
    Response {
        /// The sequence number of the request.
        request_seq: i64,
        /// Whether it succeeded.
        success: bool,
        /// The command of the request.
        command: &'a str,
        /// The error in short.
        #[serde(skip_serializing_if = "Option::is_none")]
        message: Option<String>,
    },
    /// An event.
    Event {
        /// Its name.
        event: &'static str,
        /// Its body.
        #[serde(skip_serializing_if = "Option::is_none")]
        body: Option<Box<RawValue>>,
    },
    /// A request; to a client, a reverse request.
    Request {
        /// Its command.
        command: &'static str,
        /// Its arguments.
        #[serde(skip_serializing_if = "Option::is_none")]
        arguments: Option<Box<RawValue>>,
    },
}

/// The body of a response.
#[derive(Debug)]
pub struct Body {
    /// A JSON object.
    pub json: String,
    /// Bytes for the empty string that `json` ends with: they are encoded in base64 when the
    /// message is written, because there may be many.
    pub data: Vec<u8>,
}

impl Body {
    /// Serializes a body; `None` for `()`.
    ///
    /// # Errors
    /// Never for the types of this crate.
    pub fn of(body: &impl Serialize) -> serde_json::Result<Option<Self>> {
        let json = serde_json::to_string(body)?;
        Ok((json != "null").then(|| Self::from(json)))
    }
}

impl From<String> for Body {
    fn from(json: String) -> Self {
        let data = Vec::new();
        Self { json, data }
    }
}

/// The JSON of a body of type `T`. It is written part by part: no `T` is created.
#[derive(Debug)]
pub struct Encoded<T> {
    json: String,
    body: PhantomData<fn() -> T>,
}

impl<T: DeserializeOwned> Encoded<T> {
    /// Reads the body.
    ///
    /// # Errors
    /// It is not a `T`.
    pub fn decode(&self) -> Result<T, FieldError> {
        from_json(&self.json)
    }
}

impl<T> From<String> for Encoded<T> {
    fn from(json: String) -> Self {
        let body = PhantomData;
        Self { json, body }
    }
}

impl<T> From<Encoded<T>> for Body {
    fn from(body: Encoded<T>) -> Self {
        body.json.into()
    }
}

impl<T> Serialize for Encoded<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw: &RawValue = serde_json::from_str(&self.json).map_err(S::Error::custom)?;
        raw.serialize(serializer)
    }
}

impl<'de, T> Deserialize<'de> for Encoded<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(|body| Self::from(body.to_string()))
    }
}

/// Serializes a body; `None` for `()`.
///
/// # Errors
/// Never for the types of this crate.
pub fn body_of(body: &impl Serialize) -> serde_json::Result<Option<Box<RawValue>>> {
    let body = serde_json::value::to_raw_value(body)?;
    Ok((body.get() != "null").then_some(body))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_spellings_of_arguments() {
        for text in [
            r#"{"seq":0,"type":"request","command":"threads"}"#,
            r#"{"seq":0,"type":"request","command":"threads","arguments":null}"#,
            r#"{"seq":0.0,"type":"request","command":"threads","other":1}"#,
        ] {
            let Ok(Incoming::Request(request)) = read_message(text.as_bytes()) else {
                panic!("{text}");
            };
            assert_eq!((request.seq, request.command.as_str()), (0, "threads"));
            assert!(request.arguments.is_null());
        }
    }

    #[test]
    fn a_number_in_broken_json_is_found() {
        let broken =
            read_message(br#"{"seq": 12, "type":"request","command":"next","arg"#).unwrap_err();
        assert_eq!((broken.seq, broken.command.as_str()), (Some(12), "next"));
        let utf8 = read_message(b"{\"seq\":3,\"command\":\"\xff\"}").unwrap_err();
        assert_eq!(utf8.seq, Some(3));
        assert!(utf8.message.contains("UTF-8"));
        assert_eq!(read_message(b"[1,2,3]").unwrap_err().seq, None);
        assert_eq!(read_message(b"").unwrap_err().seq, None);
        let no_type = read_message(br#"{"seq":4,"command":"next"}"#).unwrap_err();
        assert_eq!(no_type.seq, Some(4));
    }
}
