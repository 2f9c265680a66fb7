//! How arguments are read: loose notations of clients are accepted.

use super::parse::{Segment, from_value};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::HashSet;

/// Parses arguments; absent and null ones count as `{}`. Loose notations are accepted where the
/// meaning is clear (`null` for absent, `"1"` for 1, 1.0 for 1), and a hint that is invalid is
/// ignored.
///
/// # Errors
/// The arguments are invalid; the text names the path of the field.
pub fn read_arguments<T: DeserializeOwned>(arguments: Value) -> Result<T, String> {
    read(arguments, drop_hint)
}

/// Reads settings that a user has written. Unlike the hints of a request, none is dropped for a wrong value.
///
/// # Errors
/// As [`read_arguments`].
pub fn read_settings<T: DeserializeOwned>(settings: Value) -> Result<T, String> {
    read(settings, |_, _| Repair::No)
}

fn read<T: DeserializeOwned>(
    arguments: Value,
    last_resort: fn(&str, &Value) -> Repair,
) -> Result<T, String> {
    let mut arguments = match arguments {
        Value::Null => Value::Object(serde_json::Map::new()),
        Value::Object(_) => arguments,
        _ => return Err("`arguments` must be an object".to_owned()),
    };
    let mut mended = HashSet::new();
    loop {
        let error = match from_value(&arguments) {
            Ok(read) => return Ok(read),
            Err(error) => error,
        };
        let path = error.path();
        let how = match mended.insert(path.clone()) {
            true => coerce,
            false => last_resort,
        };
        let is_repaired =
            repair(&mut arguments, &path, how) || repair(&mut arguments, &path, last_resort);
        if !is_repaired {
            return Err(error.to_string());
        }
    }
}

/// The repair of a field that cannot be parsed.
enum Repair {
    As(Value),
    Dropped,
    No,
}

/// Repairs the value at `path`; false if that is not possible.
fn repair(root: &mut Value, path: &[Segment], how: fn(&str, &Value) -> Repair) -> bool {
    let Some((last, parents)) = path.split_last() else {
        return false;
    };
    let mut parent = root;
    for segment in parents {
        let next = match segment {
            Segment::Key(key) => parent.get_mut(key),
            Segment::Index(index) => parent.get_mut(index),
        };
        match next {
            Some(next) => parent = next,
            None => return false,
        }
    }
    let (slot, key) = match last {
        Segment::Key(key) => (parent.get_mut(key), key.as_str()),
        Segment::Index(index) => (parent.get_mut(index), ""),
    };
    let Some(slot) = slot else { return false };
    match how(key, slot) {
        Repair::As(value) => *slot = value,
        Repair::Dropped => match parent.as_object_mut() {
            Some(object) => drop(object.remove(key)),
            None => return false,
        },
        Repair::No => return false,
    }
    true
}

/// Returns the value in its usual notation, if it has another one.
fn coerce(key: &str, value: &Value) -> Repair {
    match value {
        Value::Null => Repair::Dropped,
        Value::String(text) => match text.trim() {
            "true" => Repair::As(Value::Bool(true)),
            "false" => Repair::As(Value::Bool(false)),
            text => text
                .parse::<i64>()
                .map_or(Repair::No, |number| Repair::As(number.into())),
        },
        Value::Number(number) => match number.as_f64() {
            Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() < 1e15 => {
                Repair::As((float as i64).into())
            }
            _ if key == "hitCondition" => Repair::As(Value::String(number.to_string())),
            _ => Repair::No,
        },
        _ => Repair::No,
    }
}

/// Drops a field that does not change the meaning of a request.
fn drop_hint(key: &str, _value: &Value) -> Repair {
    const HINTS: &[&str] = &[
        "adapterData",
        "adapterID",
        "allThreads",
        "checksums",
        "clientID",
        "clientName",
        "context",
        "filter",
        "format",
        "granularity",
        "hex",
        "locale",
        "name",
        "origin",
        "presentationHint",
        "restart",
        "singleThread",
        "sourceModified",
        "sources",
    ];
    match HINTS.contains(&key) || key.starts_with("supports") {
        true => Repair::Dropped,
        false => Repair::No,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::*;
    use serde_json::json;

    #[test]
    fn absent_null_and_empty_are_the_same() {
        for arguments in [Value::Null, json!({}), json!({"restart": null, "x": 1})] {
            let read: DisconnectArguments = read_arguments(arguments).unwrap();
            assert_eq!(read.terminate_debuggee, None);
        }
        assert!(read_arguments::<NoArguments>(json!([1])).is_err());
    }

    #[test]
    fn loose_spellings_are_understood() {
        let read: StackTraceArguments = read_arguments(json!({
            "threadId": "7", "startFrame": 1.0, "levels": null, "format": "x"
        }))
        .unwrap();
        assert_eq!(
            (read.thread_id, read.start_frame, read.levels),
            (7, Some(1), None)
        );
        let read: SetBreakpointsArguments = read_arguments(json!({
            "source": {"path": "a.c", "checksums": 3, "sourceReference": null, "name": 5},
            "breakpoints": [{"line": 3, "hitCondition": 2}]
        }))
        .unwrap();
        assert_eq!(
            read.breakpoints.unwrap()[0].hit_condition.as_deref(),
            Some("2")
        );
        let read: StepArguments =
            read_arguments(json!({"threadId": 1, "granularity": "furlong"})).unwrap();
        assert!(read.granularity.is_none());
        let read: InitializeArguments =
            read_arguments(json!({"locale": 5, "supportsX": []})).unwrap();
        assert!(read.client_id.is_none());
        let read: SetExceptionBreakpointsArguments =
            read_arguments(json!({"filters": null})).unwrap();
        assert!(read.filters.is_empty());
    }

    #[test]
    fn errors_name_the_field() {
        let wrong = json!({"source": {"path": "a.c"}, "breakpoints": [{"line": 1}, {"line": "x"}]});
        let error = read_arguments::<SetBreakpointsArguments>(wrong).unwrap_err();
        assert!(error.contains("breakpoints[1].line"), "{error}");
        let error = read_arguments::<ScopesArguments>(json!({})).unwrap_err();
        assert!(error.contains("frameId"), "{error}");
        let hex = json!({"variablesReference": 1, "format": {"hex": "banana"}});
        assert!(read_arguments::<VariablesArguments>(hex).is_ok());
        let error = read_arguments::<ScopesArguments>(json!({"frameId": {}})).unwrap_err();
        assert!(error.contains("frameId"), "{error}");
    }
}
