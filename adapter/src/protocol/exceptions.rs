//! Exceptions on the wire.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Arguments of `setExceptionBreakpoints`.
#[derive(Serialize, Deserialize, Debug, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct SetExceptionBreakpointsArguments {
    /// Ids of filters.
    pub filters: Vec<String>,
    /// Ids of filters, with conditions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub filter_options: Vec<ExceptionFilterOptions>,
    /// Types, grouped in a tree that the adapter does not have.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub exception_options: Vec<ExceptionOptions>,
}

/// One of `setExceptionBreakpoints`.
#[derive(Serialize, Deserialize, Debug)]
#[serde(rename_all = "camelCase")]
pub struct ExceptionFilterOptions {
    /// The filter.
    pub filter_id: String,
    /// The condition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
}

/// One of `setExceptionBreakpoints`.
#[derive(Serialize, Deserialize, Debug)]
#[serde(rename_all = "camelCase")]
pub struct ExceptionOptions {
    /// The path in the tree.
    #[serde(default)]
    pub path: Vec<ExceptionPathSegment>,
    /// `never`, `always`, `unhandled` or `userUnhandled`.
    pub break_mode: String,
}

/// A branch of the tree of exceptions.
#[derive(Serialize, Deserialize, Debug)]
#[serde(rename_all = "camelCase")]
pub struct ExceptionPathSegment {
    /// Whether all but `names` are meant.
    #[serde(default)]
    pub negate: bool,
    /// Names of exceptions.
    pub names: Vec<String>,
}

/// Arguments of `exceptionInfo`.
#[derive(Serialize, Deserialize, Debug)]
#[serde(rename_all = "camelCase")]
pub struct ExceptionInfoArguments {
    /// The thread that stopped.
    pub thread_id: i64,
}

/// An exception filter that is offered.
#[derive(Serialize, Deserialize, Debug, Clone)]
#[serde(rename_all = "camelCase")]
pub struct ExceptionBreakpointsFilter {
    /// Its id.
    pub filter: Cow<'static, str>,
    /// Its name in the user interface.
    pub label: Cow<'static, str>,
    /// Its description.
    pub description: Cow<'static, str>,
    /// Whether it is enabled by default.
    pub default: bool,
    /// Whether it supports a condition.
    pub supports_condition: bool,
    /// Description of the condition.
    pub condition_description: Cow<'static, str>,
}

/// When the program stops at an exception.
#[derive(Serialize, Debug, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub enum ExceptionBreakMode {
    /// Always, whether it is caught or not.
    Always,
    /// If it is not caught.
    Unhandled,
}

/// The result of `exceptionInfo`.
#[derive(Serialize, Debug)]
#[serde(rename_all = "camelCase")]
pub struct ExceptionInfoResponse {
    /// The type of the exception, or the signal.
    pub exception_id: String,
    /// The message of the exception.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Why the program stopped at it.
    pub break_mode: ExceptionBreakMode,
    /// Further details.
    pub details: ExceptionDetails,
}

/// Details of an exception.
#[derive(Serialize, Debug, Default)]
#[serde(rename_all = "camelCase")]
pub struct ExceptionDetails {
    /// Its own message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Its type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub type_name: Option<String>,
    /// Its type with its namespaces.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub full_type_name: Option<String>,
    /// An expression that evaluates to the exception.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evaluate_name: Option<&'static str>,
    /// The stack, one frame per line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stack_trace: Option<String>,
}
