//! The outermost object of a message.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

/// A message of the client.
#[derive(Debug)]
pub enum Incoming {
    /// It wants something.
    Request(Request),
    /// It answers.
    Response(Response),
}

/// A request of the client.
#[derive(Clone, Debug)]
pub struct Request {
    /// Its number, for the answer.
    pub seq: i64,
    /// What is wanted.
    pub command: String,
    /// How; null where the client said nothing.
    pub arguments: Value,
}

/// The client's answer to a request of ours.
#[derive(Debug)]
pub struct Response {
    /// The number of our request; 0 where the client does not say.
    pub request_seq: u64,
    /// What we wanted.
    pub command: String,
    /// Whether it was done.
    pub success: bool,
    /// Why not.
    pub message: Option<String>,
}

/// A message that cannot be understood.
#[derive(Debug, PartialEq, Eq)]
pub struct Malformed {
    /// The number by which it can be answered, where one could be read.
    pub seq: Option<i64>,
    /// Its command, where one could be read.
    pub command: String,
    /// What is wrong.
    pub message: String,
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
}

/// Reads one message.
///
/// # Errors
/// It is no JSON, or no message of the protocol.
pub fn read_message(bytes: &[u8]) -> Result<Incoming, Malformed> {
    // serde would read an array as the fields in their order.
    if bytes.trim_ascii_start().first() != Some(&b'{') {
        return Err(Malformed {
            seq: None,
            command: String::new(),
            message: "the message is no JSON object".to_owned(),
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
            let seq = seq.ok_or_else(|| malformed("`seq` is missing or no number".to_owned()))?;
            if command.is_empty() {
                return Err(malformed("`command` is missing or no string".to_owned()));
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
        })),
        _ => Err(malformed(format!(
            "`type` is {}, expected \"request\"",
            envelope.r#type
        ))),
    }
}

/// An integer, also one spelled `1.0`.
fn integer(value: &Value) -> Option<i64> {
    let whole =
        |number: f64| (number.fract() == 0.0 && number.abs() < 1e15).then_some(number as i64);
    value.as_i64().or_else(|| value.as_f64().and_then(whole))
}

/// What can be told of a message that is not JSON: the number in its text lets us answer it.
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

/// A message of ours but for its `seq`, which the writer adds.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Outgoing<'a> {
    /// An answer but for its body, which ends it.
    Response {
        /// The request's number.
        request_seq: i64,
        /// Whether it was carried out.
        success: bool,
        /// The request's command.
        command: &'a str,
        /// Why not, in short.
        #[serde(skip_serializing_if = "Option::is_none")]
        message: Option<String>,
    },
    /// Something happened.
    Event {
        /// What.
        event: &'static str,
        /// The details.
        #[serde(skip_serializing_if = "Option::is_none")]
        body: Option<Box<RawValue>>,
    },
    /// We want something of the client.
    Request {
        /// What.
        command: &'static str,
        /// How.
        #[serde(skip_serializing_if = "Option::is_none")]
        arguments: Option<Box<RawValue>>,
    },
}

/// What an answer has to say.
#[derive(Debug)]
pub struct Body {
    /// An object.
    pub json: String,
    /// Bytes for a string that `json` ends with, and has empty: they are made base64 on their way
    /// out, because there may be many of them.
    pub data: Vec<u8>,
}

impl Body {
    /// Of what an answer has to say; `()` is no body at all.
    ///
    /// # Errors
    /// Never for the types of this crate.
    pub fn of(said: &impl Serialize) -> serde_json::Result<Option<Self>> {
        let json = serde_json::to_string(said)?;
        Ok((json != "null").then(|| Self::from(json)))
    }
}

impl From<String> for Body {
    fn from(json: String) -> Self {
        let data = Vec::new();
        Self { json, data }
    }
}

/// A body as JSON; `()` is no body at all.
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
