//! `stillpoint/context`: a summary of a stop in one response. It is not in the specification, and
//! sent on request only.

use serde::{Deserialize, Serialize};

/// Arguments of `stillpoint/context`.
#[derive(Serialize, Deserialize, Debug, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct ContextArguments {
    /// The thread; missing: the one that stopped last.
    pub thread_id: Option<i64>,
    /// The frame for source and variables; missing: the innermost one of the program's own code.
    pub frame_id: Option<i64>,
    /// Approximate total length of the response's texts in bytes; 6000 if missing.
    pub budget: Option<i64>,
    /// Addresses are written; else `0x…`, so that the same stop has the same text in every run.
    pub addresses: bool,
}

/// A stop.
#[derive(Serialize, Deserialize, Debug, Default, Clone)]
#[serde(rename_all = "camelCase", default)]
pub struct Context {
    /// Number of stops so far, including this one.
    pub stop_id: u64,
    /// The reason, as in the `stopped` event.
    pub reason: String,
    /// The reason as text, as in the `stopped` event: a signal's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Details: the exception, or the old and new value of a watched variable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The breakpoints that were hit.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hit_breakpoint_ids: Vec<u32>,
    /// The thread.
    pub thread_id: i64,
    /// Its name.
    pub thread_name: String,
    /// The mutex that it waits for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waits_for: Option<ContextWait>,
    /// The frame of `source` and `variables`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frame: Option<ContextFrame>,
    /// The lines around the frame's.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub source: Vec<SourceLine>,
    /// Arguments and locals, and what was just returned.
    pub variables: Vec<ContextVariable>,
    /// The changes since the last summary of this function.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changes: Option<Changes>,
    /// The frames, libraries folded.
    pub stack: Vec<ContextFrame>,
    /// The program's output since the stop before.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub output: String,
    /// The other threads.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub threads: Vec<ContextThread>,
    /// What was left out because of the budget.
    pub omitted: Omitted,
}

/// A frame, or a run of folded ones.
#[derive(Serialize, Deserialize, Debug, Default, Clone, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct ContextFrame {
    /// Its level, 0 the innermost; of folded ones that of the first.
    pub level: u64,
    /// Its number for other requests.
    pub frame_id: i64,
    /// Its function; of folded ones the first and the last.
    pub name: String,
    /// Its source file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Its line, as the client counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<i64>,
    /// How many frames of libraries this stands for; 0: for one frame.
    #[serde(skip_serializing_if = "is_zero")]
    pub folded: u64,
    /// The values of its arguments, of a function of the program's own: `i=2, name="bob"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<String>,
    /// The instruction that it is at, where addresses are wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
}

/// A line of a source.
#[derive(Serialize, Deserialize, Debug, Default, Clone, PartialEq, Eq)]
pub struct SourceLine {
    /// Its number, as the client counts.
    pub line: i64,
    /// Its text.
    pub text: String,
}

/// A variable.
#[derive(Serialize, Deserialize, Debug, Default, Clone)]
#[serde(rename_all = "camelCase")]
pub struct ContextVariable {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: VariableKind,
    /// Its type.
    #[serde(rename = "type")]
    pub type_name: String,
    /// Its value, or why there is none.
    pub value: String,
}

/// What a variable is.
#[derive(Serialize, Deserialize, Debug, Default, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum VariableKind {
    /// A parameter of the function.
    Argument,
    /// Declared in it.
    #[default]
    Local,
    /// The value returned by the function that was stepped out of.
    Returned,
}

/// The changes since an earlier stop in the same function.
#[derive(Serialize, Deserialize, Debug, Default, Clone)]
#[serde(rename_all = "camelCase", default)]
pub struct Changes {
    /// The `stopId` of that stop.
    pub since: u64,
    /// Variables with changed values.
    pub variables: Vec<Change>,
}

/// A changed variable.
#[derive(Serialize, Deserialize, Debug, Default, Clone, PartialEq, Eq)]
pub struct Change {
    /// Its name.
    pub name: String,
    /// Its former value; a long text from shortly before the first difference.
    pub before: String,
    /// Its new value.
    pub after: String,
}

/// A mutex that a thread waits for.
#[derive(Serialize, Deserialize, Debug, Default, Clone, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct ContextWait {
    /// Its address, if addresses are written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mutex: Option<String>,
    /// The thread that has locked it.
    pub owner: i64,
}

/// Arguments of `stillpoint/stacks`.
#[derive(Serialize, Deserialize, Debug, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct StacksArguments {
    /// The thread; missing: all threads.
    pub thread_id: Option<i64>,
    /// The first frame; missing: the innermost one.
    pub start_frame: Option<i64>,
    /// Maximum number of frames per thread; 0: only the frame to show first. 20 if missing.
    pub levels: Option<i64>,
    /// Whether runs of library frames are folded into one entry.
    pub folded: bool,
    /// Whether addresses are written; else `0x…`.
    pub addresses: bool,
}

/// The stacks of threads.
#[derive(Serialize, Deserialize, Debug, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct Stacks {
    /// The threads.
    pub threads: Vec<ContextThread>,
    /// How many threads there are beyond those.
    #[serde(skip_serializing_if = "is_zero")]
    pub omitted: u64,
}

/// Another thread.
#[derive(Serialize, Deserialize, Debug, Default, Clone)]
#[serde(rename_all = "camelCase", default)]
pub struct ContextThread {
    /// Its id.
    pub thread_id: i64,
    /// Its name.
    pub name: String,
    /// Where it is in the program's own code, else its innermost frame.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frame: Option<ContextFrame>,
    /// The mutex that it waits for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waits_for: Option<ContextWait>,
    /// Its frames, if requested.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stack: Vec<ContextFrame>,
    /// Whether there are further frames.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub has_more: bool,
}

/// What was left out because of the budget.
#[derive(Serialize, Deserialize, Debug, Default, Clone, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct Omitted {
    /// Variables; `variables` has them.
    #[serde(skip_serializing_if = "is_zero")]
    pub variables: u64,
    /// Changed variables.
    #[serde(skip_serializing_if = "is_zero")]
    pub changes: u64,
    /// Frames that were seen (there may be more); `stackTrace` has them.
    #[serde(skip_serializing_if = "is_zero")]
    pub frames: u64,
    /// Bytes of output, the earliest.
    #[serde(skip_serializing_if = "is_zero")]
    pub output: u64,
    /// Threads; `threads` has them.
    #[serde(skip_serializing_if = "is_zero")]
    pub threads: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}
