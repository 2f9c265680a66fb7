//! Checks every message of the adapter against the official DAP schema.

use serde_json::{Value, json};
use std::sync::OnceLock;

const SCHEMA: &str = include_str!("../schema/debugAdapterProtocol.json");

/// Numbers that a client may store in 32 bits: the specification says so for references, and
/// debugger-cli drops a message whose line or id does not fit.
const SMALL: &[&str] = &[
    "id",
    "threadId",
    "frameId",
    "variablesReference",
    "sourceReference",
    "line",
    "endLine",
    "column",
    "endColumn",
    "request_seq",
    "seq",
];

fn schema() -> &'static Value {
    static OFFICIAL: OnceLock<Value> = OnceLock::new();
    OFFICIAL.get_or_init(|| serde_json::from_str(SCHEMA).expect("the schema is JSON"))
}

/// Returns the name of the definition that `message` must satisfy.
fn definition_name(message: &Value) -> Result<String, String> {
    let text = |key: &str| {
        message[key]
            .as_str()
            .ok_or_else(|| format!("`{key}` is missing"))
    };
    match text("type")? {
        "event" => Ok(format!("{}Event", capitalized(text("event")?))),
        "request" => Ok(format!("{}Request", capitalized(text("command")?))),
        "response" => match message["success"].as_bool() {
            // Requests with a slash are not in the schema.
            Some(true) if text("command")?.contains('/') => Ok("Response".to_owned()),
            Some(true) => Ok(format!("{}Response", capitalized(text("command")?))),
            Some(false) => Ok("ErrorResponse".to_owned()),
            None => Err("`success` is missing".to_owned()),
        },
        other => Err(format!("`{other}` is no type of message")),
    }
}

fn capitalized(name: &str) -> String {
    let mut letters = name.chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => String::new(),
    }
}

/// Checks a message of the adapter; the error says what is wrong.
pub fn check(message: &Value) -> Result<(), String> {
    let name = definition_name(message)?;
    check_numbers(message)?;
    if name == "ErrorResponse" {
        let error = &message["body"]["error"];
        if !error["id"].is_i64() || !error["format"].is_string() {
            return Err("an error response without `body.error` {id, format}".to_owned());
        }
        if message["message"].as_str().is_none_or(str::is_empty) {
            return Err("an error response without `message`".to_owned());
        }
    }
    // The protocol leaves names with a slash to extensions.
    if name.contains('/') {
        return Ok(());
    }
    let Some(definition) = schema()["definitions"].get(&name) else {
        return Err(format!("the protocol has no `{name}`"));
    };
    // Helix parses the response of a request without result as unit: even `{}` fails.
    if !describes_body(definition) && name != "ErrorResponse" && message.get("body").is_some() {
        return Err(format!("`{name}` has no body"));
    }
    let mut message = message.clone();
    // Helix 25.01 numbers its requests from 0, which the schema forbids.
    if message["request_seq"] == 0 {
        message["request_seq"] = json!(1);
    }
    let errors = json_schema::violations(schema(), &format!("#/definitions/{name}"), &message);
    if errors.is_empty() {
        Ok(())
    } else {
        Err(format!("not a `{name}`: {}", errors.join("; ")))
    }
}

fn describes_body(definition: &Value) -> bool {
    let parts = definition["allOf"].as_array();
    parts.is_some_and(|parts| {
        parts
            .iter()
            .any(|part| part["properties"].get("body").is_some())
    })
}

fn check_numbers(value: &Value) -> Result<(), String> {
    match value {
        Value::Array(items) => items.iter().try_for_each(check_numbers),
        Value::Object(members) => members.iter().try_for_each(|(key, member)| {
            if SMALL.contains(&key.as_str())
                && member.is_number()
                && !(0..=i64::from(i32::MAX)).contains(&member.as_i64().unwrap_or(-1))
            {
                return Err(format!("`{key}` is {member}: not a number of 31 bits"));
            }
            check_numbers(member)
        }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn good_messages_pass() {
        let messages = [
            json!({"seq": 1, "type": "event", "event": "initialized"}),
            json!({"seq": 1, "type": "response", "request_seq": 0, "success": true, "command": "next"}),
            json!({"seq": 1, "type": "event", "event": "stopped",
                "body": {"reason": "step", "threadId": 3, "allThreadsStopped": true}}),
        ];
        for message in messages {
            assert_eq!(check(&message), Ok(()), "{message}");
        }
    }

    #[test]
    fn bad_messages_do_not() {
        let messages = [
            json!({"seq": 1, "type": "event", "event": "thread", "body": {"reason": "started", "threadId": -1}}),
            json!({"seq": 1, "type": "response", "request_seq": 1, "success": false, "command": "next"}),
            json!({"seq": 1, "type": "event", "event": "stopped", "body": {"threadId": 3}}),
            json!({"seq": 1, "type": "event", "event": "novelty"}),
            json!({"seq": 1, "type": "response", "request_seq": 1, "success": true, "command": "next", "body": {}}),
            json!({"seq": 1, "type": "response", "request_seq": 1, "success": true, "command": "threads"}),
        ];
        for message in messages {
            assert!(check(&message).is_err(), "{message}");
        }
    }
}
