//! The log: its destination, and what it contains of the client's messages.

use crate::files::private;
use serde_json::Value;
use std::borrow::Cow;
use std::env;
use std::io;
use std::path::Path;
use std::sync::{LazyLock, Mutex};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// Environment variable with the log level.
const LEVEL_VARIABLE: &str = "STILLPOINT_LOG";
/// Environment variable that, set to `1`, includes arguments and environment variables of programs
/// in the log.
const VALUES_VARIABLE: &str = "STILLPOINT_LOG_VALUES";
/// Members of messages with values that may be secret.
const SECRET_KEYS: [&str; 3] = ["args", "env", "token"];
/// The text logged in place of such a value.
const REDACTED: &str = "…";

static SHOWS_VALUES: LazyLock<bool> =
    LazyLock::new(|| env::var_os(VALUES_VARIABLE).is_some_and(|value| value == "1"));

/// Starts logging to `file`, else to stderr, as `STILLPOINT_LOG` selects; never to stdout, which
/// carries the protocol.
pub fn start(file: Option<&Path>) {
    let layer = || tracing_subscriber::fmt::layer().with_ansi(false);
    let to_stderr = |default| {
        tracing_subscriber::registry()
            .with(layer().with_writer(io::stderr))
            .with(filter(default))
            .init();
    };
    match file.map(|file| (file, private::log_file(file))) {
        None => to_stderr(LevelFilter::OFF),
        Some((_, Ok(opened))) => tracing_subscriber::registry()
            .with(layer().with_writer(Mutex::new(opened)))
            .with(filter(LevelFilter::INFO))
            .init(),
        Some((file, Err(error))) => {
            to_stderr(LevelFilter::INFO);
            eprintln!("stillpoint: cannot write {}: {error}", file.display());
        }
    }
    std::panic::set_hook(Box::new(|panic| {
        let backtrace = std::backtrace::Backtrace::capture();
        tracing::error!(%panic, %backtrace, "panic");
        eprintln!("stillpoint: {panic}");
    }));
}

/// Returns the filter that `STILLPOINT_LOG` describes: a level, or levels by target as in
/// `stillpoint=debug,engine=trace`; `default` where it is unset or invalid.
fn filter(default: LevelFilter) -> Targets {
    env::var(LEVEL_VARIABLE)
        .ok()
        .and_then(|levels| levels.parse::<Targets>().ok())
        .unwrap_or_else(|| Targets::new().with_default(default))
}

/// Returns a message as it is logged: without arguments, environment variables and tokens, unless
/// `STILLPOINT_LOG_VALUES` is set.
pub fn shown(message: &[u8]) -> Cow<'_, str> {
    match *SHOWS_VALUES {
        true => String::from_utf8_lossy(message),
        false => without_secrets(message),
    }
}

fn without_secrets(message: &[u8]) -> Cow<'_, str> {
    let text = String::from_utf8_lossy(message);
    let may_have = |name: &str| text.contains(&format!("\"{name}\""));
    // A key may be written with escapes.
    if !SECRET_KEYS.iter().any(|name| may_have(name)) && !text.contains("\\u") {
        return text;
    }
    match serde_json::from_slice::<Value>(message) {
        Ok(mut value) => {
            hide(&mut value);
            Cow::Owned(value.to_string())
        }
        Err(_) => Cow::Owned(format!("({} bytes, no JSON)", message.len())),
    }
}

/// Replaces secret values at any depth.
fn hide(value: &mut Value) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                match SECRET_KEYS.contains(&name.as_str()) {
                    true => hide_values(value),
                    false => hide(value),
                }
            }
        }
        Value::Array(elements) => elements.iter_mut().for_each(hide),
        _ => {}
    }
}

/// Replaces a secret value, but keeps its structure and the names of variables.
fn hide_values(value: &mut Value) {
    match value {
        Value::Object(members) => members.values_mut().for_each(hide_values),
        Value::Array(elements) => elements.iter_mut().for_each(hide_values),
        Value::Null => {}
        _ => *value = REDACTED.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn logged(message: &Value) -> String {
        without_secrets(message.to_string().as_bytes()).into_owned()
    }

    #[test]
    fn secrets_are_not_logged() {
        let message = json!({"seq": 3, "command": "launch", "arguments": {
            "program": "/bin/app", "args": ["--password", "hunter2"],
            "env": {"API_KEY": "hunter2", "GONE": null}, "token": "hunter2",
            "nested": [{"env": ["API_KEY=hunter2"], "args": "--key hunter2"}],
        }});
        let text = logged(&message);
        assert!(!text.contains("hunter2"), "{text}");
        for kept in ["launch", "/bin/app", "API_KEY", "GONE"] {
            assert!(text.contains(kept), "{text}");
        }
        let escaped = br#"{"\u0061rgs": ["hunter2"]}"#;
        assert!(!without_secrets(escaped).contains("hunter2"));
        let broken = br#"{"args": ["hunter2"]"#;
        assert!(!without_secrets(broken).contains("hunter2"));
    }

    #[test]
    fn other_text_is_logged_unchanged() {
        let text = r#"{"seq": 1,  "command":"threads"}"#;
        assert_eq!(without_secrets(text.as_bytes()), text);
        let message = json!({"body": {"variables": [{"name": "args", "value": "7"}]}});
        assert_eq!(logged(&message), message.to_string());
    }
}
