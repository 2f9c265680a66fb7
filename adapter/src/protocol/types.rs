//! Types of the wire that the `dap` crate has wrong (0.4.1-alpha1 loses fields that are not
//! camelCase, lacks newer ones, and prints nulls).

use dap::types::ProcessEventStartMethod;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::rc::Rc;

/// A source file.
#[derive(Serialize, Deserialize, Debug, Default, Clone, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Source {
    /// For people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Where it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Greater than 0: its text is to be had by the `source` request only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_reference: Option<i64>,
    /// How to show it; only ever sent.
    #[serde(skip_serializing_if = "Option::is_none", skip_deserializing)]
    pub presentation_hint: Option<SourceHint>,
    /// What its text is known by; only ever sent.
    #[serde(skip_serializing_if = "Vec::is_empty", skip_deserializing)]
    pub checksums: Vec<Checksum>,
    /// What the client hands back with it, in later sessions too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adapter_data: Option<serde_json::Value>,
}

/// What a text is known by.
#[derive(Serialize, Debug, Clone, PartialEq, Eq)]
pub struct Checksum {
    /// How it was made, in the specification's words.
    pub algorithm: &'static str,
    /// In hex.
    pub checksum: String,
}

/// How to show a source.
#[derive(Serialize, Debug, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum SourceHint {
    /// It is not there, or of no interest.
    Deemphasize,
}

/// A breakpoint as it stands.
#[derive(Serialize, Debug, Default, Clone)]
#[serde(rename_all = "camelCase")]
pub struct Breakpoint {
    /// Its number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<u32>,
    /// Whether it can be hit.
    pub verified: bool,
    /// What there is to know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Where it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    /// Its line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<i64>,
    /// Its column.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<i64>,
    /// Its address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instruction_reference: Option<String>,
    /// Why it is not verified.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<BreakpointReason>,
}

/// Why a breakpoint is not verified.
#[derive(Serialize, Debug, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum BreakpointReason {
    /// It may be, when more code is loaded.
    Pending,
    /// It never will be.
    Failed,
}

/// The result of all requests that set breakpoints.
#[derive(Serialize, Debug)]
pub struct BreakpointsResponse {
    /// In the order of the request.
    pub breakpoints: Vec<Breakpoint>,
}

/// Accesses that a data breakpoint stops at.
#[derive(Serialize, Deserialize, Debug, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub enum DataAccessType {
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Both.
    ReadWrite,
}

/// What there is to watch.
#[derive(Serialize, Debug)]
#[serde(rename_all = "camelCase")]
pub struct DataBreakpointInfoResponse {
    /// What `setDataBreakpoints` is to be given; null where nothing can be watched.
    pub data_id: Option<String>,
    /// What it is, or why there is nothing.
    pub description: String,
    /// How it can be watched.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub access_types: Vec<DataAccessType>,
    /// Whether the id is good in another session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub can_persist: Option<bool>,
}

/// The `breakpoint` event.
#[derive(Serialize, Debug)]
pub struct BreakpointEventBody {
    /// `changed`, `new` or `removed`.
    pub reason: &'static str,
    /// The breakpoint.
    pub breakpoint: Breakpoint,
}

/// The `invalidated` event.
#[derive(Serialize, Debug)]
pub struct InvalidatedEventBody {
    /// What the client should ask for again, in the specification's words.
    pub areas: &'static [&'static str],
}

/// The `stopped` event.
#[derive(Serialize, Debug)]
#[serde(rename_all = "camelCase")]
pub struct StoppedEventBody {
    /// Why, in the specification's words.
    pub reason: &'static str,
    /// Why, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The thread that caused it.
    pub thread_id: i64,
    /// Whether the client should stay where it looks.
    pub preserve_focus_hint: bool,
    /// More about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Whether all threads stand.
    pub all_threads_stopped: bool,
    /// The breakpoints that caused it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hit_breakpoint_ids: Vec<u32>,
}

/// The `progressStart` event.
#[derive(Serialize, Debug)]
#[serde(rename_all = "camelCase")]
pub struct ProgressStartEventBody<'a> {
    /// Which work.
    pub progress_id: &'a str,
    /// What is done, for people.
    pub title: &'a str,
    /// Whether `cancel` ends it.
    pub cancellable: bool,
    /// How much of it is done, of 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub percentage: Option<u32>,
}

/// The `progressUpdate` event.
#[derive(Serialize, Debug)]
#[serde(rename_all = "camelCase")]
pub struct ProgressUpdateEventBody<'a> {
    /// Which work.
    pub progress_id: &'a str,
    /// How much of it is done, of 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub percentage: Option<u32>,
}

/// The `progressEnd` event.
#[derive(Serialize, Debug)]
#[serde(rename_all = "camelCase")]
pub struct ProgressEndEventBody<'a> {
    /// Which work.
    pub progress_id: &'a str,
    /// How it ended, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<&'a str>,
}

/// The `output` event.
#[derive(Serialize, Debug)]
pub struct OutputEventBody {
    /// Whose words these are.
    pub category: OutputCategory,
    /// The words.
    pub output: String,
}

/// Whose words an output is.
#[derive(Serialize, Debug, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum OutputCategory {
    /// The debugger's.
    Console,
    /// The debugger's, to be seen.
    Important,
    /// The program's.
    Stdout,
    /// The program's complaints.
    Stderr,
}

/// The `process` event.
#[derive(Serialize, Debug)]
#[serde(rename_all = "camelCase")]
pub struct ProcessEventBody {
    /// The program's path.
    pub name: String,
    /// The process's number, while it lives.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_process_id: Option<i64>,
    /// Whether it is of this machine.
    pub is_local_process: bool,
    /// How the session began.
    pub start_method: ProcessEventStartMethod,
    /// Bits of an address.
    pub pointer_size: i64,
}

/// The `module` event.
#[derive(Serialize, Debug)]
pub struct ModuleEventBody {
    /// `new`, `changed` or `removed`.
    pub reason: &'static str,
    /// The module.
    pub module: Module,
}

/// An image of the process.
#[derive(Serialize, Debug, Default)]
#[serde(rename_all = "camelCase")]
pub struct Module {
    /// Its number.
    pub id: u32,
    /// Its name.
    pub name: String,
    /// Its file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Its build-id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// How much is known of it, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub symbol_status: Option<&'static str>,
    /// The separate file with its debug info.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub symbol_file_path: Option<String>,
    /// Where it is loaded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address_range: Option<String>,
}

/// The result of `stillpoint/setSettings`.
#[derive(Serialize, Debug)]
pub struct SetSettingsResponse {
    /// All that can be changed, as they are now.
    pub settings: serde_json::Map<String, serde_json::Value>,
}

/// The result of `modules`.
#[derive(Serialize, Debug)]
#[serde(rename_all = "camelCase")]
pub struct ModulesResponse {
    /// Those asked for.
    pub modules: Vec<Module>,
    /// How many there are.
    pub total_modules: usize,
}

/// The result of `loadedSources`.
#[derive(Serialize, Debug)]
pub struct LoadedSourcesResponse {
    /// All of them.
    pub sources: Vec<Source>,
}

/// The result of `breakpointLocations`.
#[derive(Serialize, Debug)]
pub struct BreakpointLocationsResponse {
    /// In order.
    pub breakpoints: Vec<BreakpointLocation>,
}

/// Where a breakpoint could be.
#[derive(Serialize, Debug, Default)]
pub struct BreakpointLocation {
    /// The line.
    pub line: i64,
    /// The column.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<i64>,
}

/// A frame of a stack.
#[derive(Serialize, Debug)]
#[serde(rename_all = "camelCase")]
pub struct StackFrame {
    /// Its number.
    pub id: i64,
    /// The function.
    pub name: String,
    /// The file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<Rc<Source>>,
    /// The line; 0 without a source.
    pub line: i64,
    /// The column; 0 without a source.
    pub column: i64,
    /// Whether `restartFrame` can be tried.
    pub can_restart: bool,
    /// The address.
    pub instruction_pointer_reference: String,
    /// The image.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub module_id: Option<u32>,
    /// How to show it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub presentation_hint: Option<FrameHint>,
}

/// How to show a frame.
#[derive(Serialize, Debug, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum FrameHint {
    /// It is of no interest.
    Subtle,
}

/// The result of `stackTrace`.
#[derive(Serialize, Debug)]
#[serde(rename_all = "camelCase")]
pub struct StackTraceResponse {
    /// The frames asked for.
    pub stack_frames: Vec<StackFrame>,
    /// Frames in all, or more than were seen yet.
    pub total_frames: usize,
}

/// A group of a frame's variables.
#[derive(Serialize, Debug)]
#[serde(rename_all = "camelCase")]
pub struct Scope {
    /// For people.
    pub name: &'static str,
    /// What it is, where the specification has a word for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub presentation_hint: Option<&'static str>,
    /// Its number.
    pub variables_reference: i64,
    /// Whether it takes time to show.
    pub expensive: bool,
}

/// The result of `scopes`.
#[derive(Serialize, Debug)]
pub struct ScopesResponse {
    /// The scopes.
    pub scopes: Vec<Scope>,
}

/// A variable. The `dap` crate's has no places of declarations and values.
#[derive(Serialize, Debug, Default)]
#[serde(rename_all = "camelCase")]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its value in one line.
    pub value: String,
    /// Its type.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub type_field: Option<String>,
    /// How to show it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub presentation_hint: Option<super::VariablePresentationHint>,
    /// An expression for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evaluate_name: Option<String>,
    /// Its number, 0 where there is nothing to open.
    pub variables_reference: i64,
    /// Children that have names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub named_variables: Option<i64>,
    /// Children that have indices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub indexed_variables: Option<i64>,
    /// Where its bytes are, or where it points.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_reference: Option<String>,
    /// The number of the place where it is declared, for `locations`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub declaration_location_reference: Option<i64>,
    /// The number of the place that its value is: a function's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value_location_reference: Option<i64>,
}

/// The result of `variables`.
#[derive(Serialize, Debug)]
pub struct VariablesResponse {
    /// They.
    pub variables: Vec<Variable>,
}

/// The result of `stepInTargets`.
#[derive(Serialize, Debug)]
pub struct StepInTargetsResponse {
    /// In the order of the calls.
    pub targets: Vec<StepInTarget>,
}

/// A call that can be stepped into.
#[derive(Serialize, Debug)]
pub struct StepInTarget {
    /// Its number, for `stepIn`.
    pub id: i64,
    /// The function.
    pub label: String,
    /// Where the call stands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<i64>,
    /// The column.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<i64>,
}

/// The result of `gotoTargets`.
#[derive(Serialize, Debug)]
pub struct GotoTargetsResponse {
    /// In the order of their addresses.
    pub targets: Vec<GotoTarget>,
}

/// Where a thread can be moved to.
#[derive(Serialize, Debug)]
#[serde(rename_all = "camelCase")]
pub struct GotoTarget {
    /// Its number, for `goto`.
    pub id: i64,
    /// For people.
    pub label: String,
    /// The line.
    pub line: i64,
    /// The column.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<i64>,
    /// The address.
    pub instruction_pointer_reference: String,
}

/// The result of `locations`.
#[derive(Serialize, Debug)]
pub struct LocationsResponse {
    /// The file.
    pub source: Source,
    /// The line.
    pub line: i64,
    /// The column.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<i64>,
}

/// The result of `evaluate`.
#[derive(Serialize, Debug, Default)]
#[serde(rename_all = "camelCase")]
pub struct EvaluateResponse {
    /// The value.
    pub result: String,
    /// Its type.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub type_name: Option<String>,
    /// How to show it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub presentation_hint: Option<super::VariablePresentationHint>,
    /// Its number, 0 where there is nothing to open.
    pub variables_reference: i64,
    /// Children that have names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub named_variables: Option<i64>,
    /// Children that have indices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub indexed_variables: Option<i64>,
    /// Where its bytes are, or where it points.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_reference: Option<String>,
    /// The number of the place that the value is: a function's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value_location_reference: Option<i64>,
}

/// The result of `setVariable`.
#[derive(Serialize, Debug, Default)]
#[serde(rename_all = "camelCase")]
pub struct SetVariableResponse {
    /// The value as it is now.
    pub value: String,
    /// Its type.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub type_name: Option<String>,
    /// Its number, 0 where there is nothing to open.
    pub variables_reference: i64,
    /// Children that have names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub named_variables: Option<i64>,
    /// Children that have indices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub indexed_variables: Option<i64>,
    /// Where its bytes are, or where it points.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_reference: Option<String>,
    /// The number of the place that the value is: a function's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value_location_reference: Option<i64>,
}

/// The result of `setExpression`.
#[derive(Serialize, Debug)]
#[serde(rename_all = "camelCase")]
pub struct SetExpressionResponse {
    /// The value as it is now.
    pub value: String,
    /// Its type.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub type_name: Option<String>,
    /// How to show it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub presentation_hint: Option<super::VariablePresentationHint>,
    /// Its number, 0 where there is nothing to open.
    pub variables_reference: i64,
    /// Children that have names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub named_variables: Option<i64>,
    /// Children that have indices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub indexed_variables: Option<i64>,
    /// Where its bytes are, or where it points.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_reference: Option<String>,
    /// The number of the place that the value is: a function's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value_location_reference: Option<i64>,
}

/// The result of `completions`.
#[derive(Serialize, Debug)]
pub struct CompletionsResponse {
    /// What may stand there.
    pub targets: Vec<CompletionItem>,
}

/// One of `completions`.
#[derive(Serialize, Debug)]
pub struct CompletionItem {
    /// What to write.
    pub label: String,
    /// What it is.
    #[serde(rename = "type")]
    pub kind: CompletionItemType,
    /// Where it begins to replace the text, in units of UTF-16.
    pub start: i64,
    /// How many such units it replaces.
    pub length: i64,
}

/// What a completion is, in the specification's words.
#[derive(Serialize, Debug, Clone, Copy)]
#[serde(rename_all = "lowercase")]
pub enum CompletionItemType {
    /// A variable.
    Variable,
    /// A member.
    Field,
    /// A method.
    Method,
    /// A register.
    Value,
    /// An enumerator.
    Enum,
    /// A command, or a word of one.
    Keyword,
}

/// The result of `continue`.
#[derive(Serialize, Debug)]
#[serde(rename_all = "camelCase")]
pub struct ContinueResponse {
    /// Whether all threads run now.
    pub all_threads_continued: bool,
}

/// Arguments of the `runInTerminal` request to the client.
#[derive(Serialize, Debug)]
pub struct RunInTerminalRequestArguments {
    /// `integrated` or `external`.
    pub kind: &'static str,
    /// The terminal's title.
    pub title: String,
    /// The working directory.
    pub cwd: String,
    /// The program and its arguments.
    pub args: Vec<String>,
    /// Changes to the environment; null removes.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, Option<String>>,
}

/// Arguments of the `startDebugging` request to the client.
#[derive(Serialize, Debug)]
pub struct StartDebuggingRequestArguments {
    /// `launch` or `attach`.
    pub request: &'static str,
    /// Its settings.
    pub configuration: serde_json::Map<String, serde_json::Value>,
}

/// The body of an answer that says no.
#[derive(Serialize, Debug)]
pub struct ErrorBody {
    /// Why.
    pub error: ErrorMessage,
}

/// Why a request failed.
#[derive(Serialize, Debug, Clone)]
#[serde(rename_all = "camelCase")]
pub struct ErrorMessage {
    /// What kind of error.
    pub id: u32,
    /// For people.
    pub format: String,
    /// Whether people should see it.
    pub show_user: bool,
}
