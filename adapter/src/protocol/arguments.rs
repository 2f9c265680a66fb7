//! Arguments of requests: those the `dap` crate has wrong, and how arguments are read.

use super::{DataAccessType, Source, VariablesArgumentsFilter};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_path_to_error::{Path, Segment};
use std::collections::HashSet;

/// Parses arguments; absent and null ones count as `{}`. Loose notations are accepted where the
/// meaning is clear (`null` for absent, `"1"` for 1, 1.0 for 1), and a hint that is invalid is
/// ignored.
///
/// # Errors
/// The arguments are invalid; the text names the path of the field.
pub fn read_arguments<T: DeserializeOwned>(arguments: Value) -> Result<T, String> {
    let mut arguments = match arguments {
        Value::Null => Value::Object(serde_json::Map::new()),
        Value::Object(_) => arguments,
        _ => return Err("`arguments` must be an object".to_owned()),
    };
    let mut mended = HashSet::new();
    loop {
        let error = match serde_path_to_error::deserialize(&arguments) {
            Ok(read) => return Ok(read),
            Err(error) => error,
        };
        let path = error.path().to_string();
        let hopeless = match mended.insert(path.clone()) {
            true => !mend(&mut arguments, error.path(), coerce),
            false => !mend(&mut arguments, error.path(), drop_hint),
        };
        if hopeless && !mend(&mut arguments, error.path(), drop_hint) {
            return Err(match path.as_str() {
                "." => error.inner().to_string(),
                _ => format!("`{path}`: {}", error.inner()),
            });
        }
    }
}

/// The repair of a field that cannot be parsed.
enum Mended {
    As(Value),
    Dropped,
    No,
}

/// Repairs the value at `path`; false if that is not possible.
fn mend(root: &mut Value, path: &Path, how: impl Fn(&str, &Value) -> Mended) -> bool {
    let segments: Vec<&Segment> = path.iter().collect();
    let Some((last, parents)) = segments.split_last() else {
        return false;
    };
    let mut parent = root;
    for segment in parents {
        let next = match segment {
            Segment::Map { key } => parent.get_mut(key),
            Segment::Seq { index } => parent.get_mut(index),
            _ => return false,
        };
        match next {
            Some(next) => parent = next,
            None => return false,
        }
    }
    let (slot, key) = match last {
        Segment::Map { key } => (parent.get_mut(key), key.as_str()),
        Segment::Seq { index } => (parent.get_mut(index), ""),
        _ => return false,
    };
    let Some(slot) = slot else { return false };
    match how(key, slot) {
        Mended::As(value) => *slot = value,
        Mended::Dropped => match parent.as_object_mut() {
            Some(object) => drop(object.remove(key)),
            None => return false,
        },
        Mended::No => return false,
    }
    true
}

/// Returns the value in its usual notation, if it has another one.
fn coerce(key: &str, value: &Value) -> Mended {
    match value {
        Value::Null => Mended::Dropped,
        Value::String(text) => match text.trim() {
            "true" => Mended::As(Value::Bool(true)),
            "false" => Mended::As(Value::Bool(false)),
            text => text
                .parse::<i64>()
                .map_or(Mended::No, |number| Mended::As(number.into())),
        },
        Value::Number(number) => match number.as_f64() {
            Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() < 1e15 => {
                Mended::As((float as i64).into())
            }
            _ if key == "hitCondition" => Mended::As(Value::String(number.to_string())),
            _ => Mended::No,
        },
        _ => Mended::No,
    }
}

/// Drops a field that does not change the meaning of a request.
fn drop_hint(key: &str, _value: &Value) -> Mended {
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
        true => Mended::Dropped,
        false => Mended::No,
    }
}

/// Arguments of requests that have none, or whose arguments are ignored.
#[derive(Deserialize, Debug, Default)]
pub struct NoArguments {}

/// The thread that a request refers to; 0 for none, as clients without threads send.
#[derive(Deserialize, Debug, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct ThreadArguments {
    /// The thread.
    pub thread_id: i64,
    /// Whether to resume this thread only.
    pub single_thread: Option<bool>,
}

/// Settings of a launch or attach, read by `config`.
#[derive(Deserialize, Clone, Debug, Default)]
#[serde(transparent)]
pub struct RawSettings(pub serde_json::Map<String, Value>);

/// Arguments of `stillpoint/setSettings`.
#[derive(Deserialize, Debug, Default)]
#[serde(default)]
pub struct SetSettingsArguments {
    /// The settings to change, as in `launch`; `null`: the default.
    pub settings: serde_json::Map<String, Value>,
}

/// Arguments of `initialize`.
#[derive(Deserialize, Debug, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct InitializeArguments {
    /// The client's id.
    #[serde(rename = "clientID", alias = "clientId")]
    pub client_id: Option<String>,
    /// Whether the first line is 1 (else 0).
    pub lines_start_at1: Option<bool>,
    /// Whether the first column is 1 (else 0).
    pub columns_start_at1: Option<bool>,
    /// `path` or `uri`.
    pub path_format: Option<String>,
    /// Whether the client shows types.
    pub supports_variable_type: Option<bool>,
    /// Whether it requests parts of long lists.
    pub supports_variable_paging: Option<bool>,
    /// Whether it can run programs in a terminal.
    pub supports_run_in_terminal_request: Option<bool>,
    /// Whether it can start further sessions.
    pub supports_start_debugging_request: Option<bool>,
    /// Whether it supports `invalidated` events.
    pub supports_invalidated_event: Option<bool>,
    /// Whether it supports memory references.
    pub supports_memory_references: Option<bool>,
    /// Whether it supports `memory` events.
    pub supports_memory_event: Option<bool>,
    /// Whether it supports `progressStart`, `progressUpdate` and `progressEnd`.
    pub supports_progress_reporting: Option<bool>,
    /// Whether it supports ANSI escape sequences.
    #[serde(rename = "supportsANSIStyling")]
    pub supports_ansi_styling: Option<bool>,
}

/// Arguments of `setBreakpoints`.
#[derive(Deserialize, Debug)]
pub struct SetBreakpointsArguments {
    /// The source file or machine code.
    pub source: Source,
    /// The whole set; missing: none.
    pub breakpoints: Option<Vec<SourceBreakpoint>>,
    /// The older form of the set.
    pub lines: Option<Vec<i64>>,
}

/// Arguments of `stackTrace`.
#[derive(Deserialize, Debug)]
#[serde(rename_all = "camelCase")]
pub struct StackTraceArguments {
    /// The thread.
    pub thread_id: i64,
    /// Level of the first frame; missing: 0, the innermost.
    pub start_frame: Option<i64>,
    /// Maximum number of frames; 0 or missing: all.
    pub levels: Option<i64>,
    /// The format of the frames' names.
    pub format: Option<StackFrameFormat>,
}

/// The format of frames' names. `includeAll` is ignored: no frame is hidden.
#[derive(Deserialize, Debug, Default, Clone)]
#[serde(rename_all = "camelCase", default)]
pub struct StackFrameFormat {
    /// Whether to include parameters, as the next three fields select (none: their names).
    pub parameters: Option<bool>,
    /// Whether to include their types.
    pub parameter_types: Option<bool>,
    /// Whether to include their names.
    pub parameter_names: Option<bool>,
    /// Whether to include their values.
    pub parameter_values: Option<bool>,
    /// Whether to include the line.
    pub line: Option<bool>,
    /// Whether to include the module.
    pub module: Option<bool>,
    /// Whether to write integers in hexadecimal.
    pub hex: Option<bool>,
}

impl StackFrameFormat {
    /// Returns true if parameters are included; each of the three detail fields implies it.
    pub fn wants_parameters(&self) -> bool {
        let parts = [
            self.parameter_types,
            self.parameter_names,
            self.parameter_values,
        ];
        self.parameters.unwrap_or(parts.contains(&Some(true)))
    }
}

/// Arguments of `restart`.
#[derive(Deserialize, Debug, Default)]
#[serde(default)]
pub struct RestartArguments {
    /// The new settings; missing: the former ones.
    pub arguments: Option<RawSettings>,
}

/// Arguments of `locations`.
#[derive(Deserialize, Debug)]
#[serde(rename_all = "camelCase")]
pub struct LocationsArguments {
    /// The id of a location.
    pub location_reference: i64,
}

/// Arguments of `breakpointLocations`.
#[derive(Deserialize, Debug)]
#[serde(rename_all = "camelCase")]
pub struct BreakpointLocationsArguments {
    /// The source file or machine code.
    pub source: Source,
    /// The first line.
    pub line: i64,
    /// The first column in it.
    pub column: Option<i64>,
    /// The last line.
    pub end_line: Option<i64>,
    /// The last column in it.
    pub end_column: Option<i64>,
}

/// Arguments of `gotoTargets`.
#[derive(Deserialize, Debug, Default)]
#[serde(rename_all = "camelCase")]
pub struct GotoTargetsArguments {
    /// The source file or machine code.
    pub source: Source,
    /// The line.
    pub line: i64,
}

/// Arguments of `modules`.
#[derive(Deserialize, Debug, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct ModulesArguments {
    /// Index of the first module.
    pub start_module: Option<i64>,
    /// Maximum number of modules; 0 or missing: all.
    pub module_count: Option<i64>,
}

/// One of `setBreakpoints`.
#[derive(Deserialize, Debug)]
#[serde(rename_all = "camelCase")]
pub struct SourceBreakpoint {
    /// The line.
    pub line: i64,
    /// The column.
    pub column: Option<i64>,
    /// The condition.
    pub condition: Option<String>,
    /// The hit condition.
    pub hit_condition: Option<String>,
    /// The log message; the breakpoint then does not stop.
    pub log_message: Option<String>,
    /// `hardware` or `software`.
    pub mode: Option<String>,
}

/// Arguments of `setInstructionBreakpoints`.
#[derive(Deserialize, Debug)]
pub struct SetInstructionBreakpointsArguments {
    /// The whole set.
    pub breakpoints: Vec<InstructionBreakpoint>,
}

/// One of `setInstructionBreakpoints`.
#[derive(Deserialize, Debug)]
#[serde(rename_all = "camelCase")]
pub struct InstructionBreakpoint {
    /// An address, as frames and breakpoints have it.
    pub instruction_reference: String,
    /// Bytes to add to it.
    pub offset: Option<i64>,
    /// `hardware` or `software`.
    pub mode: Option<String>,
    /// The condition.
    pub condition: Option<String>,
    /// The hit condition.
    pub hit_condition: Option<String>,
}

/// Arguments of `dataBreakpointInfo`.
#[derive(Deserialize, Debug)]
#[serde(rename_all = "camelCase")]
pub struct DataBreakpointInfoArguments {
    /// The scope or value that contains the data.
    pub variables_reference: Option<i64>,
    /// A child's name, an expression, or an address.
    pub name: String,
    /// The frame for the expression.
    pub frame_id: Option<i64>,
    /// Number of bytes from the address on.
    pub bytes: Option<u64>,
    /// Whether `name` is an address.
    pub as_address: Option<bool>,
    /// `hardware` or `software`.
    pub mode: Option<String>,
}

/// Arguments of `setDataBreakpoints`.
#[derive(Deserialize, Debug)]
pub struct SetDataBreakpointsArguments {
    /// The whole set.
    pub breakpoints: Vec<DataBreakpoint>,
}

/// One of `setDataBreakpoints`.
#[derive(Deserialize, Debug)]
#[serde(rename_all = "camelCase")]
pub struct DataBreakpoint {
    /// The data id from `dataBreakpointInfo`.
    pub data_id: String,
    /// The accesses to stop at; missing: `write`.
    pub access_type: Option<DataAccessType>,
    /// The condition.
    pub condition: Option<String>,
    /// The hit condition.
    pub hit_condition: Option<String>,
}

/// Arguments of `readMemory`. The `dap` crate's counts are signed.
#[derive(Deserialize, Debug)]
#[serde(rename_all = "camelCase")]
pub struct ReadMemoryArguments {
    /// The memory reference.
    pub memory_reference: String,
    /// Offset from it in bytes.
    #[serde(default)]
    pub offset: i64,
    /// Number of bytes.
    pub count: u64,
}

/// Arguments of `writeMemory`.
#[derive(Deserialize, Debug)]
#[serde(rename_all = "camelCase")]
pub struct WriteMemoryArguments {
    /// The memory reference.
    pub memory_reference: String,
    /// Offset from it in bytes.
    #[serde(default)]
    pub offset: i64,
    /// Whether to write the bytes before the first one that cannot be written.
    #[serde(default)]
    pub allow_partial: bool,
    /// The bytes, in base64.
    pub data: String,
}

/// Arguments of `disassemble`. The `dap` crate's counts are signed.
#[derive(Deserialize, Debug)]
#[serde(rename_all = "camelCase")]
pub struct DisassembleArguments {
    /// The memory reference.
    pub memory_reference: String,
    /// Offset from it in bytes.
    #[serde(default)]
    pub offset: i64,
    /// Offset from there in instructions.
    #[serde(default)]
    pub instruction_offset: i64,
    /// Number of instructions.
    pub instruction_count: u64,
    /// Whether to include symbols; missing: true.
    pub resolve_symbols: Option<bool>,
}

/// Arguments of `evaluate`.
#[derive(Deserialize, Debug)]
#[serde(rename_all = "camelCase")]
pub struct EvaluateArguments {
    /// The expression.
    pub expression: String,
    /// The frame; missing: the innermost one of the stopped thread.
    pub frame_id: Option<i64>,
    /// Where the client uses the value: `hover`, `watch`, `repl` and others.
    pub context: Option<String>,
    /// The format of the value.
    pub format: Option<ValueFormat>,
}

/// The format of values.
#[derive(Deserialize, Debug, Default)]
#[serde(rename_all = "camelCase")]
pub struct ValueFormat {
    /// Whether to write integers in hexadecimal.
    pub hex: Option<bool>,
    /// Not in the specification: `false` writes `0x…` for addresses, so that texts are identical in
    /// every run.
    pub addresses: Option<bool>,
    /// Not in the specification: whether pointers show the number of their target, and the target
    /// itself unless the same response shows it already.
    pub pointees: Option<bool>,
    /// Not in the specification: maximum size of a value's summary in bytes.
    pub length: Option<i64>,
}

/// Arguments of `variables`.
#[derive(Deserialize, Debug, Default)]
#[serde(rename_all = "camelCase")]
pub struct VariablesArguments {
    /// The scope or value.
    pub variables_reference: i64,
    /// The kind of children; missing: all.
    pub filter: Option<VariablesArgumentsFilter>,
    /// Index of the first child.
    pub start: Option<i64>,
    /// Maximum number of children; missing or 0: all.
    pub count: Option<i64>,
    /// The format of the values.
    pub format: Option<ValueFormat>,
}

/// Arguments of `setVariable`.
#[derive(Deserialize, Debug)]
#[serde(rename_all = "camelCase")]
pub struct SetVariableArguments {
    /// The scope or value that contains the variable.
    pub variables_reference: i64,
    /// The variable's name.
    pub name: String,
    /// The new value, an expression.
    pub value: String,
    /// The format of the value.
    pub format: Option<ValueFormat>,
}

/// Arguments of `setExpression`.
#[derive(Deserialize, Debug)]
#[serde(rename_all = "camelCase")]
pub struct SetExpressionArguments {
    /// The expression to assign to.
    pub expression: String,
    /// The new value, an expression.
    pub value: String,
    /// The frame; missing: the innermost one of the stopped thread.
    pub frame_id: Option<i64>,
    /// The format of the value.
    pub format: Option<ValueFormat>,
}

/// Arguments of `completions`.
#[derive(Deserialize, Debug)]
#[serde(rename_all = "camelCase")]
pub struct CompletionsArguments {
    /// The text typed so far, of one or more lines.
    pub text: String,
    /// The cursor's column in its line, in UTF-16 code units.
    pub column: i64,
    /// The cursor's line in the text; missing: the first.
    pub line: Option<i64>,
    /// The frame; missing: the innermost one of the stopped thread.
    pub frame_id: Option<i64>,
}

/// Arguments of `source`.
#[derive(Deserialize, Debug, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct SourceArguments {
    /// The source.
    pub source: Option<Source>,
    /// Its reference, from older clients.
    pub source_reference: Option<i64>,
}

#[cfg(test)]
mod tests {
    use super::super::*;
    use super::*;
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
        let read: NextArguments =
            read_arguments(json!({"threadId": 1, "granularity": "furlong"})).unwrap();
        assert!(read.granularity.is_none());
        let read: InitializeArguments =
            read_arguments(json!({"locale": 5, "supportsX": []})).unwrap();
        assert!(read.client_id.is_none());
        let read: super::super::SetExceptionBreakpointsArguments =
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
        let error = read_arguments::<ScopesArguments>(json!({"frameId": {}})).unwrap_err();
        assert!(error.contains("frameId"), "{error}");
    }
}
