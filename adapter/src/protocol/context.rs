//! `stillpoint/context`: a summary of a stop in one response. It is not in the specification, and
//! sent on request only.

use serde::{Deserialize, Serialize};

/// Arguments of `stillpoint/context`.
#[derive(Deserialize, Debug, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct ContextArguments {
    /// Whose stop; missing: the thread that stopped last.
    pub thread_id: Option<i64>,
    /// Whose source and variables; missing: the innermost frame of the program's own code.
    pub frame_id: Option<i64>,
    /// About how many characters the texts of the answer may have together; 6000 if missing.
    pub budget: Option<i64>,
    /// Addresses are written; else `0x…`, so that the same stop has the same text in every run.
    pub addresses: bool,
}

/// A stop.
#[derive(Serialize, Deserialize, Debug, Default, Clone)]
#[serde(rename_all = "camelCase", default)]
pub struct Context {
    /// How many stops there were so far, this one counted.
    pub stop_id: u64,
    /// Why, as in the `stopped` event.
    pub reason: String,
    /// Why, for people, as in the `stopped` event: a signal's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// More about it: what was thrown, what a watched variable was and is.
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
    /// The frame that is looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frame: Option<ContextFrame>,
    /// The lines around the frame's.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub source: Vec<SourceLine>,
    /// Arguments and locals, and what was just returned.
    pub variables: Vec<ContextVariable>,
    /// What is different from when this function was last looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changes: Option<Changes>,
    /// The frames, libraries folded.
    pub stack: Vec<ContextFrame>,
    /// What the program has written since the stop before.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub output: String,
    /// The other threads.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub threads: Vec<ContextThread>,
    /// What the budget did not allow.
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
    /// What the function returned that was just stepped out of.
    Returned,
}

/// What is different from an earlier stop in the same function.
#[derive(Serialize, Deserialize, Debug, Default, Clone)]
#[serde(rename_all = "camelCase", default)]
pub struct Changes {
    /// The `stopId` of that stop.
    pub since: u64,
    /// Variables with other values.
    pub variables: Vec<Change>,
}

/// A variable that has another value now.
#[derive(Serialize, Deserialize, Debug, Default, Clone, PartialEq, Eq)]
pub struct Change {
    /// Its name.
    pub name: String,
    /// What it was; a long text from a little before the first difference on.
    pub before: String,
    /// What it is.
    pub after: String,
}

/// A mutex that a thread waits for.
#[derive(Serialize, Deserialize, Debug, Default, Clone, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct ContextWait {
    /// Where it is, where addresses are wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mutex: Option<String>,
    /// The thread that has locked it.
    pub owner: i64,
}

/// Arguments of `stillpoint/stacks`.
#[derive(Deserialize, Debug, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct StacksArguments {
    /// Whose stack; missing: all threads.
    pub thread_id: Option<i64>,
    /// The first frame; missing: the innermost one.
    pub start_frame: Option<i64>,
    /// How many frames of each thread; 0: only the one that tells where it is. 20 if missing.
    pub levels: Option<i64>,
    /// Frames of libraries in a row are one entry.
    pub folded: bool,
    /// Addresses are written; else `0x…`.
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
    /// Its frames, where they are asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stack: Vec<ContextFrame>,
    /// There are further frames.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub has_more: bool,
}

/// How much there is beyond the budget.
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
