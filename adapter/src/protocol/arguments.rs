//! Arguments of requests: those the `dap` crate has wrong.

use super::{DataAccessType, Source, SteppingGranularity, VariablesArgumentsFilter};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Arguments of requests that have none, or whose arguments are ignored.
#[derive(Serialize, Deserialize, Debug, Default)]
pub struct NoArguments {}

/// The thread that a request refers to; 0 for none, as clients without threads send.
#[derive(Serialize, Deserialize, Debug, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct ThreadArguments {
    /// The thread.
    pub thread_id: i64,
    /// Whether to resume this thread only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub single_thread: Option<bool>,
}

/// Settings of a launch or attach, read by `config`.
#[derive(Serialize, Deserialize, Clone, Debug, Default)]
#[serde(transparent)]
pub struct RawSettings(pub serde_json::Map<String, Value>);

/// Arguments of `stillpoint/setSettings`.
#[derive(Serialize, Deserialize, Debug, Default)]
#[serde(default)]
pub struct SetSettingsArguments {
    /// The settings to change, as in `launch`; `null`: the default.
    pub settings: serde_json::Map<String, Value>,
}

/// Arguments of `initialize`.
#[derive(Serialize, Deserialize, Debug, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct InitializeArguments {
    /// The client's id.
    #[serde(
        rename = "clientID",
        alias = "clientId",
        skip_serializing_if = "Option::is_none"
    )]
    pub client_id: Option<String>,
    /// The client's name of the adapter. The specification demands it, and the adapter ignores it.
    #[serde(rename = "adapterID", skip_serializing_if = "Option::is_none")]
    pub adapter_id: Option<String>,
    /// Whether the first line is 1 (else 0).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lines_start_at1: Option<bool>,
    /// Whether the first column is 1 (else 0).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub columns_start_at1: Option<bool>,
    /// `path` or `uri`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_format: Option<String>,
    /// Whether the client shows types.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub supports_variable_type: Option<bool>,
    /// Whether it requests parts of long lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub supports_variable_paging: Option<bool>,
    /// Whether it can run programs in a terminal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub supports_run_in_terminal_request: Option<bool>,
    /// Whether it can start further sessions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub supports_start_debugging_request: Option<bool>,
    /// Whether it supports `invalidated` events.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub supports_invalidated_event: Option<bool>,
    /// Whether it supports memory references.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub supports_memory_references: Option<bool>,
    /// Whether it supports `memory` events.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub supports_memory_event: Option<bool>,
    /// Whether it supports `progressStart`, `progressUpdate` and `progressEnd`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub supports_progress_reporting: Option<bool>,
    /// Not in the specification: whether it reads [`super::Breakpoint::problem`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub supports_breakpoint_problems: Option<bool>,
    /// Whether it supports ANSI escape sequences.
    #[serde(
        rename = "supportsANSIStyling",
        skip_serializing_if = "Option::is_none"
    )]
    pub supports_ansi_styling: Option<bool>,
}

/// Arguments of `setBreakpoints`.
#[derive(Serialize, Deserialize, Debug, Default)]
pub struct SetBreakpointsArguments {
    /// The source file or machine code.
    pub source: Source,
    /// The whole set; missing: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub breakpoints: Option<Vec<SourceBreakpoint>>,
    /// The older form of the set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lines: Option<Vec<i64>>,
}

/// Arguments of `stackTrace`.
#[derive(Serialize, Deserialize, Debug, Default)]
#[serde(rename_all = "camelCase")]
pub struct StackTraceArguments {
    /// The thread.
    pub thread_id: i64,
    /// Level of the first frame; missing: 0, the innermost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_frame: Option<i64>,
    /// Maximum number of frames; 0 or missing: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub levels: Option<i64>,
    /// The format of the frames' names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<StackFrameFormat>,
}

/// The format of frames' names. `includeAll` is ignored: no frame is hidden.
#[derive(Serialize, Deserialize, Debug, Default, Clone)]
#[serde(rename_all = "camelCase", default)]
pub struct StackFrameFormat {
    /// Whether to include parameters, as the next three fields select (none: their names).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parameters: Option<bool>,
    /// Whether to include their types.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parameter_types: Option<bool>,
    /// Whether to include their names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parameter_names: Option<bool>,
    /// Whether to include their values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parameter_values: Option<bool>,
    /// Whether to include the line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<bool>,
    /// Whether to include the module.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub module: Option<bool>,
    /// Whether to write integers in hexadecimal.
    #[serde(skip_serializing_if = "Option::is_none")]
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
#[derive(Serialize, Deserialize, Debug, Default)]
#[serde(default)]
pub struct RestartArguments {
    /// The new settings; missing: the former ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<RawSettings>,
}

/// Arguments of `locations`.
#[derive(Serialize, Deserialize, Debug, Default)]
#[serde(rename_all = "camelCase")]
pub struct LocationsArguments {
    /// The id of a location.
    pub location_reference: i64,
}

/// Arguments of `breakpointLocations`.
#[derive(Serialize, Deserialize, Debug, Default)]
#[serde(rename_all = "camelCase")]
pub struct BreakpointLocationsArguments {
    /// The source file or machine code.
    pub source: Source,
    /// The first line.
    pub line: i64,
    /// The first column in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<i64>,
    /// The last line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_line: Option<i64>,
    /// The last column in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_column: Option<i64>,
}

/// Arguments of `gotoTargets`.
#[derive(Serialize, Deserialize, Debug, Default)]
#[serde(rename_all = "camelCase")]
pub struct GotoTargetsArguments {
    /// The source file or machine code.
    pub source: Source,
    /// The line.
    pub line: i64,
}

/// Arguments of `modules`.
#[derive(Serialize, Deserialize, Debug, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct ModulesArguments {
    /// Index of the first module.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_module: Option<i64>,
    /// Maximum number of modules; 0 or missing: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub module_count: Option<i64>,
}

/// One of `setBreakpoints`.
#[derive(Serialize, Deserialize, Debug, Default)]
#[serde(rename_all = "camelCase")]
pub struct SourceBreakpoint {
    /// The line.
    pub line: i64,
    /// The column.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<i64>,
    /// The condition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// The hit condition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hit_condition: Option<String>,
    /// The log message; the breakpoint then does not stop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_message: Option<String>,
    /// What to record instead of stopping; not in the specification.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<super::TraceQuery>,
    /// `hardware` or `software`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
}

/// Arguments of `setInstructionBreakpoints`.
#[derive(Serialize, Deserialize, Debug, Default)]
pub struct SetInstructionBreakpointsArguments {
    /// The whole set.
    pub breakpoints: Vec<InstructionBreakpoint>,
}

/// One of `setInstructionBreakpoints`.
#[derive(Serialize, Deserialize, Debug, Default)]
#[serde(rename_all = "camelCase")]
pub struct InstructionBreakpoint {
    /// An address, as frames and breakpoints have it.
    pub instruction_reference: String,
    /// Bytes to add to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<i64>,
    /// `hardware` or `software`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// The condition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// The hit condition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hit_condition: Option<String>,
}

/// Arguments of `dataBreakpointInfo`.
#[derive(Serialize, Deserialize, Debug, Default)]
#[serde(rename_all = "camelCase")]
pub struct DataBreakpointInfoArguments {
    /// The scope or value that contains the data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variables_reference: Option<i64>,
    /// A child's name, an expression, or an address.
    pub name: String,
    /// The frame for the expression.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frame_id: Option<i64>,
    /// Number of bytes from the address on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Whether `name` is an address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub as_address: Option<bool>,
    /// `hardware` or `software`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
}

/// Arguments of `setDataBreakpoints`.
#[derive(Serialize, Deserialize, Debug, Default)]
pub struct SetDataBreakpointsArguments {
    /// The whole set.
    pub breakpoints: Vec<DataBreakpoint>,
}

/// One of `setDataBreakpoints`.
#[derive(Serialize, Deserialize, Debug, Default)]
#[serde(rename_all = "camelCase")]
pub struct DataBreakpoint {
    /// The data id from `dataBreakpointInfo`.
    pub data_id: String,
    /// The accesses to stop at; missing: `write`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access_type: Option<DataAccessType>,
    /// The condition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// The hit condition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hit_condition: Option<String>,
}

/// Arguments of `readMemory`. The `dap` crate's counts are signed.
#[derive(Serialize, Deserialize, Debug, Default)]
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
#[derive(Serialize, Deserialize, Debug, Default)]
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
#[derive(Serialize, Deserialize, Debug, Default)]
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
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolve_symbols: Option<bool>,
}

/// Arguments of `evaluate`.
#[derive(Serialize, Deserialize, Debug, Default)]
#[serde(rename_all = "camelCase")]
pub struct EvaluateArguments {
    /// The expression.
    pub expression: String,
    /// The frame; missing: the innermost one of the stopped thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frame_id: Option<i64>,
    /// Where the client uses the value: `hover`, `watch`, `repl` and others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// The format of the value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<ValueFormat>,
}

/// The format of values.
#[derive(Serialize, Deserialize, Debug, Default, Clone)]
#[serde(rename_all = "camelCase")]
pub struct ValueFormat {
    /// Whether to write integers in hexadecimal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hex: Option<bool>,
    /// Not in the specification: `false` writes `0x…` for addresses, so that texts are identical in
    /// every run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub addresses: Option<bool>,
    /// Not in the specification: whether pointers show the number of their target, and the target
    /// itself unless the same response shows it already.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pointees: Option<bool>,
    /// Not in the specification: maximum size of a value's summary in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub length: Option<i64>,
}

/// Arguments of `variables`.
#[derive(Serialize, Deserialize, Debug, Default)]
#[serde(rename_all = "camelCase")]
pub struct VariablesArguments {
    /// The scope or value.
    pub variables_reference: i64,
    /// The kind of children; missing: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filter: Option<VariablesArgumentsFilter>,
    /// Index of the first child.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<i64>,
    /// Maximum number of children; missing or 0: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<i64>,
    /// The format of the values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<ValueFormat>,
}

/// Arguments of `setVariable`.
#[derive(Serialize, Deserialize, Debug, Default)]
#[serde(rename_all = "camelCase")]
pub struct SetVariableArguments {
    /// The scope or value that contains the variable.
    pub variables_reference: i64,
    /// The variable's name.
    pub name: String,
    /// The new value, an expression.
    pub value: String,
    /// The format of the value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<ValueFormat>,
}

/// Arguments of `setExpression`.
#[derive(Serialize, Deserialize, Debug, Default)]
#[serde(rename_all = "camelCase")]
pub struct SetExpressionArguments {
    /// The expression to assign to.
    pub expression: String,
    /// The new value, an expression.
    pub value: String,
    /// The frame; missing: the innermost one of the stopped thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frame_id: Option<i64>,
    /// The format of the value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<ValueFormat>,
}

/// Arguments of `completions`.
#[derive(Serialize, Deserialize, Debug, Default)]
#[serde(rename_all = "camelCase")]
pub struct CompletionsArguments {
    /// The text typed so far, of one or more lines.
    pub text: String,
    /// The cursor's column in its line, in UTF-16 code units.
    pub column: i64,
    /// The cursor's line in the text; missing: the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<i64>,
    /// The frame; missing: the innermost one of the stopped thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frame_id: Option<i64>,
}

/// Arguments of `source`.
#[derive(Serialize, Deserialize, Debug, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct SourceArguments {
    /// The source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    /// Its reference, from older clients.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_reference: Option<i64>,
}

/// Arguments of `cancel`. The `dap` crate's type prints nulls, like its types for the next requests.
#[derive(Serialize, Deserialize, Debug, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct CancelArguments {
    /// The request to cancel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<i64>,
    /// The progress to cancel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress_id: Option<String>,
}

/// Arguments of `disconnect`.
#[derive(Serialize, Deserialize, Debug, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct DisconnectArguments {
    /// Whether to end the debuggee; missing: as it was started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub terminate_debuggee: Option<bool>,
    /// Whether the debuggee stays stopped: ignored, nothing could resume it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suspend_debuggee: Option<bool>,
    /// Whether a new session follows: ignored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restart: Option<bool>,
}

/// Arguments of `next` and `stepOut`.
#[derive(Serialize, Deserialize, Debug, Default)]
#[serde(rename_all = "camelCase")]
pub struct StepArguments {
    /// The thread.
    pub thread_id: i64,
    /// Whether to resume this thread only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub single_thread: Option<bool>,
    /// The size of the step; missing: a statement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub granularity: Option<SteppingGranularity>,
}

/// Arguments of `stepBack`.
#[derive(Serialize, Deserialize, Debug, Default)]
#[serde(rename_all = "camelCase")]
pub struct StepBackArguments {
    /// The thread.
    pub thread_id: i64,
    /// Whether to resume this thread only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub single_thread: Option<bool>,
    /// The size of the step; missing: a statement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub granularity: Option<SteppingGranularity>,
    /// What is done at calls, which is not in the specification; missing: they are stepped over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<StepBackKind>,
}

/// What a step back does at calls.
#[derive(Serialize, Deserialize, Debug, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub enum StepBackKind {
    /// Steps over them.
    Over,
    /// Steps into a function that has returned before.
    Into,
    /// Leaves the function, to its call.
    Out,
}

/// Arguments of `stepIn`.
#[derive(Serialize, Deserialize, Debug, Default)]
#[serde(rename_all = "camelCase")]
pub struct StepInArguments {
    /// The thread.
    pub thread_id: i64,
    /// Whether to resume this thread only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub single_thread: Option<bool>,
    /// The call to step into, from `stepInTargets`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_id: Option<i64>,
    /// The size of the step; missing: a statement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub granularity: Option<SteppingGranularity>,
}
