//! Exceptions on the wire.

use serde::{Deserialize, Serialize};

/// Arguments of `setExceptionBreakpoints`.
#[derive(Deserialize, Debug, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct SetExceptionBreakpointsArguments {
    /// Ids of filters.
    pub filters: Vec<String>,
    /// Ids of filters, with conditions.
    pub filter_options: Vec<ExceptionFilterOptions>,
    /// Types, sorted in a tree that we have none of.
    pub exception_options: Vec<ExceptionOptions>,
}

/// One of `setExceptionBreakpoints`.
#[derive(Deserialize, Debug)]
#[serde(rename_all = "camelCase")]
pub struct ExceptionFilterOptions {
    /// The filter.
    pub filter_id: String,
    /// When to stop.
    pub condition: Option<String>,
}

/// One of `setExceptionBreakpoints`.
#[derive(Deserialize, Debug)]
#[serde(rename_all = "camelCase")]
pub struct ExceptionOptions {
    /// The way through the tree.
    #[serde(default)]
    pub path: Vec<ExceptionPathSegment>,
    /// `never`, `always`, `unhandled` or `userUnhandled`.
    pub break_mode: String,
}

/// A branch of a tree of exceptions.
#[derive(Deserialize, Debug)]
#[serde(rename_all = "camelCase")]
pub struct ExceptionPathSegment {
    /// All but these.
    #[serde(default)]
    pub negate: bool,
    /// These.
    pub names: Vec<String>,
}

/// Arguments of `exceptionInfo`.
#[derive(Deserialize, Debug)]
#[serde(rename_all = "camelCase")]
pub struct ExceptionInfoArguments {
    /// The thread that stopped.
    pub thread_id: i64,
}

/// An exception filter that is offered.
#[derive(Serialize, Debug, Clone)]
#[serde(rename_all = "camelCase")]
pub struct ExceptionBreakpointsFilter {
    /// Its id.
    pub filter: &'static str,
    /// For people.
    pub label: &'static str,
    /// What it does.
    pub description: &'static str,
    /// Whether it is on at first.
    pub default: bool,
    /// Whether it may have a condition.
    pub supports_condition: bool,
    /// What that looks like.
    pub condition_description: &'static str,
}

/// When the program stops for an exception.
#[derive(Serialize, Debug, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub enum ExceptionBreakMode {
    /// Whoever deals with it.
    Always,
    /// Nobody deals with it.
    Unhandled,
}

/// The result of `exceptionInfo`.
#[derive(Serialize, Debug)]
#[serde(rename_all = "camelCase")]
pub struct ExceptionInfoResponse {
    /// What it is.
    pub exception_id: String,
    /// What it says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Why the program stopped for it.
    pub break_mode: ExceptionBreakMode,
    /// More of it.
    pub details: ExceptionDetails,
}

/// More of an exception.
#[derive(Serialize, Debug, Default)]
#[serde(rename_all = "camelCase")]
pub struct ExceptionDetails {
    /// What it says itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Its type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub type_name: Option<String>,
    /// Its type with its namespaces.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub full_type_name: Option<String>,
    /// The expression that it is the value of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evaluate_name: Option<&'static str>,
    /// The stack, a line a frame.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stack_trace: Option<String>,
}
