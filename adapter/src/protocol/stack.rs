//! Stacks, step-in targets and goto targets on the wire.

use super::Source;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::rc::Rc;

/// A frame of a stack.
#[derive(Serialize, Deserialize, Debug, Default)]
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
    /// Whether `restartFrame` may succeed.
    pub can_restart: bool,
    /// The address.
    pub instruction_pointer_reference: String,
    /// The module.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub module_id: Option<u32>,
    /// How to show it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub presentation_hint: Option<FrameHint>,
}

/// How to show a frame.
#[derive(Serialize, Deserialize, Debug, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum FrameHint {
    /// Not important.
    Subtle,
    /// Not a frame, but a note about its neighbors.
    Label,
}

/// The result of `stackTrace`.
#[derive(Serialize, Deserialize, Debug)]
#[serde(rename_all = "camelCase")]
pub struct StackTraceResponse {
    /// The requested frames.
    pub stack_frames: Vec<StackFrame>,
    /// Number of frames; more than were read if the end of the stack is not known.
    pub total_frames: usize,
}

/// A group of a frame's variables.
#[derive(Serialize, Deserialize, Debug)]
#[serde(rename_all = "camelCase")]
pub struct Scope {
    /// Its name in the user interface.
    pub name: Cow<'static, str>,
    /// Its kind, one of the specification's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub presentation_hint: Option<Cow<'static, str>>,
    /// Its variables reference.
    pub variables_reference: i64,
    /// Number of variables, if known without reading any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub named_variables: Option<i64>,
    /// Whether it is slow to show.
    pub expensive: bool,
}

/// The result of `scopes`.
#[derive(Serialize, Deserialize, Debug)]
pub struct ScopesResponse {
    /// The scopes.
    pub scopes: Vec<Scope>,
}

/// The result of `stepInTargets`.
#[derive(Serialize, Deserialize, Debug)]
pub struct StepInTargetsResponse {
    /// In the order of the calls.
    pub targets: Vec<StepInTarget>,
}

/// A call that can be stepped into.
#[derive(Serialize, Deserialize, Debug)]
pub struct StepInTarget {
    /// Its number, for `stepIn`.
    pub id: i64,
    /// The function.
    pub label: String,
    /// The line of the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<i64>,
    /// The column.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<i64>,
}

/// The result of `gotoTargets`.
#[derive(Serialize, Deserialize, Debug)]
pub struct GotoTargetsResponse {
    /// In the order of their addresses.
    pub targets: Vec<GotoTarget>,
}

/// A location that a thread can be moved to.
#[derive(Serialize, Deserialize, Debug)]
#[serde(rename_all = "camelCase")]
pub struct GotoTarget {
    /// Its number, for `goto`.
    pub id: i64,
    /// Its text in the user interface.
    pub label: String,
    /// The line.
    pub line: i64,
    /// The column.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<i64>,
    /// The address.
    pub instruction_pointer_reference: String,
}

/// The result of `continue`.
#[derive(Serialize, Deserialize, Debug)]
#[serde(rename_all = "camelCase")]
pub struct ContinueResponse {
    /// Whether all threads run now.
    pub all_threads_continued: bool,
}
