//! Breakpoints of all kinds in DAP messages.

use super::Source;
use serde::{Deserialize, Serialize};

/// The state of a breakpoint.
#[derive(Serialize, Deserialize, Debug, Default, Clone)]
#[serde(rename_all = "camelCase")]
pub struct Breakpoint {
    /// The breakpoint's number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<u32>,
    /// Whether the breakpoint is set.
    pub verified: bool,
    /// A message about the breakpoint's state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The source file of the breakpoint's location.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    /// The line of the location.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<i64>,
    /// The column of the location.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<i64>,
    /// The address of the location.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instruction_reference: Option<String>,
    /// Why the breakpoint is not verified.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<BreakpointReason>,
    /// What is wrong with the breakpoint. Not in the specification; sent only to clients that set
    /// [`super::InitializeArguments::supports_breakpoint_problems`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<BreakpointProblem>,
}

/// What is wrong with a breakpoint.
#[derive(Serialize, Deserialize, Debug, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub enum BreakpointProblem {
    /// The condition or hit condition is invalid.
    Condition,
    /// The log message is invalid.
    LogMessage,
    /// What a tracepoint is to record is invalid.
    Trace,
    /// The line has no code.
    NoCode,
    /// Debug info is being searched; a `breakpoint` event reports the result.
    Searching,
}

/// Why a breakpoint is not verified.
#[derive(Serialize, Deserialize, Debug, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum BreakpointReason {
    /// Pending: a module loaded later may resolve it.
    Pending,
    /// The breakpoint cannot be resolved.
    Failed,
}

/// The result of all requests that set breakpoints.
#[derive(Serialize, Deserialize, Debug)]
pub struct BreakpointsResponse {
    /// The breakpoints, in the order of the request.
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

/// The result of `dataBreakpointInfo`.
#[derive(Serialize, Deserialize, Debug)]
#[serde(rename_all = "camelCase")]
pub struct DataBreakpointInfoResponse {
    /// The data id for `setDataBreakpoints`; null if the data cannot be watched.
    pub data_id: Option<String>,
    /// A description of the data, or the reason why it cannot be watched.
    pub description: String,
    /// The accesses that can be watched.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub access_types: Vec<DataAccessType>,
    /// Whether the id is valid in another session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub can_persist: Option<bool>,
}

/// The `breakpoint` event.
#[derive(Serialize, Deserialize, Debug)]
pub struct BreakpointEventBody {
    /// The reason of the event.
    pub reason: BreakpointEventReason,
    /// The breakpoint.
    pub breakpoint: Breakpoint,
}

/// The reason of a `breakpoint` event.
#[derive(Serialize, Deserialize, Debug, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum BreakpointEventReason {
    /// The breakpoint's state or its locations changed.
    Changed,
    /// The adapter has removed the breakpoint.
    Removed,
}

/// The result of `breakpointLocations`.
#[derive(Serialize, Deserialize, Debug)]
pub struct BreakpointLocationsResponse {
    /// The locations, in order.
    pub breakpoints: Vec<BreakpointLocation>,
}

/// A possible location of a breakpoint.
#[derive(Serialize, Deserialize, Debug, Default)]
pub struct BreakpointLocation {
    /// The line.
    pub line: i64,
    /// The column.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<i64>,
}
