//! Arguments of requests: those the `dap` crate has wrong, and how arguments are read.

use super::{DataAccessType, Source, VariablesArgumentsFilter};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_path_to_error::{Path, Segment};
use std::collections::HashSet;

/// Reads arguments; absent and null ones are `{}`. What clients spell loosely is taken as what
/// it must mean (`null` for absent, `"1"` for 1, 1.0 for 1), and a mere hint that makes no
/// sense is passed over.
///
/// # Errors
/// What cannot be meant; the text names the path of the field.
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

/// What becomes of a field that cannot be read.
enum Mended {
    As(Value),
    Dropped,
    No,
}

/// Mends the value at `path`; false where it cannot be.
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

/// Another spelling of the same thing.
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

/// Fields without which a request still means the same.
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

/// For requests that have none, or whose own do not matter.
#[derive(Deserialize, Debug, Default)]
pub struct NoArguments {}

/// The thread that a request is about; 0 is none, and what clients without threads send.
#[derive(Deserialize, Debug, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct ThreadArguments {
    /// The thread.
    pub thread_id: i64,
    /// Only this one goes on.
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
    /// Those that are to change, as `launch` has them; `null`: as usual.
    pub settings: serde_json::Map<String, Value>,
}

/// Arguments of `initialize`.
#[derive(Deserialize, Debug, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct InitializeArguments {
    /// The client's id.
    #[serde(rename = "clientID", alias = "clientId")]
    pub client_id: Option<String>,
    /// The first line is 1 (else 0).
    pub lines_start_at1: Option<bool>,
    /// The first column is 1 (else 0).
    pub columns_start_at1: Option<bool>,
    /// `path` or `uri`.
    pub path_format: Option<String>,
    /// It shows types.
    pub supports_variable_type: Option<bool>,
    /// It asks for parts of long lists.
    pub supports_variable_paging: Option<bool>,
    /// It can run programs in a terminal.
    pub supports_run_in_terminal_request: Option<bool>,
    /// It can begin further sessions.
    pub supports_start_debugging_request: Option<bool>,
    /// It understands `invalidated` events.
    pub supports_invalidated_event: Option<bool>,
    /// It can ask for memory by reference.
    pub supports_memory_references: Option<bool>,
    /// It understands `memory` events.
    pub supports_memory_event: Option<bool>,
    /// It understands `progressStart` and its like.
    pub supports_progress_reporting: Option<bool>,
    /// It understands ANSI escape sequences.
    #[serde(rename = "supportsANSIStyling")]
    pub supports_ansi_styling: Option<bool>,
}

/// Arguments of `setBreakpoints`.
#[derive(Deserialize, Debug)]
pub struct SetBreakpointsArguments {
    /// Where.
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
    /// Whose stack.
    pub thread_id: i64,
    /// The first frame wanted; missing: the innermost.
    pub start_frame: Option<i64>,
    /// How many; 0 or missing: all.
    pub levels: Option<i64>,
    /// How their names are to be written.
    pub format: Option<StackFrameFormat>,
}

/// How names of frames are to be written. Nothing is hidden that `includeAll` could show.
#[derive(Deserialize, Debug, Default, Clone)]
#[serde(rename_all = "camelCase", default)]
pub struct StackFrameFormat {
    /// With parameters; what of them, the next three say (none: their names).
    pub parameters: Option<bool>,
    /// Their types.
    pub parameter_types: Option<bool>,
    /// Their names.
    pub parameter_names: Option<bool>,
    /// Their values.
    pub parameter_values: Option<bool>,
    /// With the line.
    pub line: Option<bool>,
    /// With the image.
    pub module: Option<bool>,
    /// Integers in hex.
    pub hex: Option<bool>,
}

impl StackFrameFormat {
    /// Whether parameters are wanted; who says what of them wants them.
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
    /// The settings as they are by now; missing: as they were.
    pub arguments: Option<RawSettings>,
}

/// Arguments of `locations`.
#[derive(Deserialize, Debug)]
#[serde(rename_all = "camelCase")]
pub struct LocationsArguments {
    /// The number of a place.
    pub location_reference: i64,
}

/// Arguments of `breakpointLocations`.
#[derive(Deserialize, Debug)]
#[serde(rename_all = "camelCase")]
pub struct BreakpointLocationsArguments {
    /// Where.
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
    /// Where.
    pub source: Source,
    /// The line.
    pub line: i64,
}

/// Arguments of `modules`.
#[derive(Deserialize, Debug, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct ModulesArguments {
    /// The first one wanted.
    pub start_module: Option<i64>,
    /// How many; 0 or missing: all.
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
    /// When to stop.
    pub condition: Option<String>,
    /// At which hits to stop.
    pub hit_condition: Option<String>,
    /// What to say instead of stopping.
    pub log_message: Option<String>,
    /// By what means.
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
    /// By what means.
    pub mode: Option<String>,
    /// When to stop.
    pub condition: Option<String>,
    /// At which hits to stop.
    pub hit_condition: Option<String>,
}

/// Arguments of `dataBreakpointInfo`.
#[derive(Deserialize, Debug)]
#[serde(rename_all = "camelCase")]
pub struct DataBreakpointInfoArguments {
    /// The scope or value that it is in.
    pub variables_reference: Option<i64>,
    /// A child's name, an expression, or an address.
    pub name: String,
    /// Where to evaluate the expression.
    pub frame_id: Option<i64>,
    /// So many bytes from there on.
    pub bytes: Option<u64>,
    /// It is an address.
    pub as_address: Option<bool>,
    /// By what to watch it.
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
    /// On what.
    pub data_id: String,
    /// At what accesses; missing: `write`.
    pub access_type: Option<DataAccessType>,
    /// When to stop.
    pub condition: Option<String>,
    /// At which hits to stop.
    pub hit_condition: Option<String>,
}

/// Arguments of `readMemory`. The `dap` crate's counts are signed.
#[derive(Deserialize, Debug)]
#[serde(rename_all = "camelCase")]
pub struct ReadMemoryArguments {
    /// Where.
    pub memory_reference: String,
    /// Bytes behind that.
    #[serde(default)]
    pub offset: i64,
    /// How many bytes.
    pub count: u64,
}

/// Arguments of `writeMemory`.
#[derive(Deserialize, Debug)]
#[serde(rename_all = "camelCase")]
pub struct WriteMemoryArguments {
    /// Where.
    pub memory_reference: String,
    /// Bytes behind that.
    #[serde(default)]
    pub offset: i64,
    /// Whether to write what is before the first byte that cannot be written.
    #[serde(default)]
    pub allow_partial: bool,
    /// The bytes, in base64.
    pub data: String,
}

/// Arguments of `disassemble`. The `dap` crate's counts are signed.
#[derive(Deserialize, Debug)]
#[serde(rename_all = "camelCase")]
pub struct DisassembleArguments {
    /// Where.
    pub memory_reference: String,
    /// Bytes behind that.
    #[serde(default)]
    pub offset: i64,
    /// Instructions behind that.
    #[serde(default)]
    pub instruction_offset: i64,
    /// How many instructions.
    pub instruction_count: u64,
    /// Whether addresses get names; missing: they do.
    pub resolve_symbols: Option<bool>,
}

/// Arguments of `evaluate`.
#[derive(Deserialize, Debug)]
#[serde(rename_all = "camelCase")]
pub struct EvaluateArguments {
    /// The text.
    pub expression: String,
    /// Where; missing: the stopped thread's innermost frame.
    pub frame_id: Option<i64>,
    /// What for.
    pub context: Option<String>,
    /// How to show the value.
    pub format: Option<ValueFormat>,
}

/// How values are to be shown.
#[derive(Deserialize, Debug, Default)]
#[serde(rename_all = "camelCase")]
pub struct ValueFormat {
    /// Integers in hex.
    pub hex: Option<bool>,
    /// Not in the specification: `false` writes `0x…` for addresses, so that texts are the same
    /// in every run.
    pub addresses: Option<bool>,
    /// Not in the specification: pointers show the number of the object that they point to, and
    /// the object unless the same answer shows it already.
    pub pointees: Option<bool>,
    /// Not in the specification: how long a value's text may be, in bytes.
    pub length: Option<i64>,
}

/// Arguments of `variables`.
#[derive(Deserialize, Debug, Default)]
#[serde(rename_all = "camelCase")]
pub struct VariablesArguments {
    /// Whose children.
    pub variables_reference: i64,
    /// Which kind of them; missing: all.
    pub filter: Option<VariablesArgumentsFilter>,
    /// The first of them.
    pub start: Option<i64>,
    /// How many; missing or 0: all.
    pub count: Option<i64>,
    /// How to show their values.
    pub format: Option<ValueFormat>,
}

/// Arguments of `setVariable`.
#[derive(Deserialize, Debug)]
#[serde(rename_all = "camelCase")]
pub struct SetVariableArguments {
    /// In what.
    pub variables_reference: i64,
    /// Which child.
    pub name: String,
    /// What to assign.
    pub value: String,
    /// How to show the value.
    pub format: Option<ValueFormat>,
}

/// Arguments of `setExpression`.
#[derive(Deserialize, Debug)]
#[serde(rename_all = "camelCase")]
pub struct SetExpressionArguments {
    /// What to assign to.
    pub expression: String,
    /// What to assign.
    pub value: String,
    /// Where; missing: the stopped thread's innermost frame.
    pub frame_id: Option<i64>,
    /// How to show the value.
    pub format: Option<ValueFormat>,
}

/// Arguments of `completions`.
#[derive(Deserialize, Debug)]
#[serde(rename_all = "camelCase")]
pub struct CompletionsArguments {
    /// What is typed so far, of one or more lines.
    pub text: String,
    /// Where in its line, in units of UTF-16.
    pub column: i64,
    /// In which line; missing: the first.
    pub line: Option<i64>,
    /// In which frame; missing: the stopped thread's innermost one.
    pub frame_id: Option<i64>,
}

/// Arguments of `source`.
#[derive(Deserialize, Debug, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct SourceArguments {
    /// Which.
    pub source: Option<Source>,
    /// Which, for older clients.
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
