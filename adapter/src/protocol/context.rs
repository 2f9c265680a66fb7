//! `stillpoint/context`, a summary of a stop, and `stillpoint/stacks`, the stacks of threads. These
//! requests are not in the specification.

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
    /// Whether addresses are written; else `0x…`, so that the same stop has the same text in every
    /// run.
    pub addresses: bool,
}

/// The summary of a stop.
#[derive(Serialize, Deserialize, Debug, Default, Clone)]
#[serde(rename_all = "camelCase", default)]
pub struct Context {
    /// Number of stops so far, including this one.
    pub stop_id: u64,
    /// The reason, as in the `stopped` event.
    pub reason: String,
    /// The reason as text, as in the `stopped` event: for example, a signal's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Details: the exception, or the old and new value of a watched variable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The breakpoints that were hit.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hit_breakpoint_ids: Vec<u32>,
    /// The summarized thread.
    pub thread_id: i64,
    /// The thread's name.
    pub thread_name: String,
    /// The mutex that the thread waits for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waits_for: Option<ContextWait>,
    /// The frame of `source` and `variables`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frame: Option<ContextFrame>,
    /// The source lines around the frame's line.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub source: Vec<SourceLine>,
    /// The frame's arguments and locals, and the value just returned to it.
    pub variables: Vec<ContextVariable>,
    /// The changes of variables since the last summary of this function.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changes: Option<Changes>,
    /// The frames, with runs of library frames folded.
    pub stack: Vec<ContextFrame>,
    /// The program's output since the previous stop.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub output: String,
    /// The other threads.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub threads: Vec<ContextThread>,
    /// Numbers of items left out because of the budget.
    pub omitted: Omitted,
}

/// A frame, or a run of folded frames.
#[derive(Serialize, Deserialize, Debug, Default, Clone, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct ContextFrame {
    /// The frame's level, 0 for the innermost; for folded frames, the level of the first.
    pub level: u64,
    /// The frame's id for other requests.
    pub frame_id: i64,
    /// The frame's function; for folded frames, those of the first and the last.
    pub name: String,
    /// The source file of the frame's location.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The frame's line, in the client's numbering.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<i64>,
    /// Number of folded frames: of libraries; if there is a line, of a recursion that repeats
    /// the frame before; without a name, of frames left out in the middle. 0 if this is a single frame.
    #[serde(skip_serializing_if = "is_zero")]
    pub folded: u64,
    /// Number of times that the calls in `name` repeat in the folded frames; 0 if they are not the rounds of
    /// a recursion.
    #[serde(skip_serializing_if = "is_zero")]
    pub rounds: u64,
    /// Values of the arguments, if the function is the program's own: `i=2, name="bob"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<String>,
    /// Address of the frame's instruction, if addresses are written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
}

/// A line of a source.
#[derive(Serialize, Deserialize, Debug, Default, Clone, PartialEq, Eq)]
pub struct SourceLine {
    /// The line's number, in the client's numbering.
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
    /// Argument, local or returned value.
    pub kind: VariableKind,
    /// Its type.
    #[serde(rename = "type")]
    pub type_name: String,
    /// The variable's value, or why it cannot be read.
    pub value: String,
}

/// The kind of a variable.
#[derive(Serialize, Deserialize, Debug, Default, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum VariableKind {
    /// Declared as a parameter of the function.
    Argument,
    /// Declared in the function's body.
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
    /// The former value; a long text is cut to begin shortly before the first difference.
    pub before: String,
    /// The new value, cut like the former one.
    pub after: String,
}

/// A mutex that a thread waits for.
#[derive(Serialize, Deserialize, Debug, Default, Clone, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct ContextWait {
    /// The mutex's address, if addresses are written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mutex: Option<String>,
    /// Id of the thread that holds the mutex.
    pub owner: i64,
}

/// Arguments of `stillpoint/traceCall`.
#[derive(Serialize, Deserialize, Debug, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct TraceCallArguments {
    /// The function, as a function breakpoint names it.
    pub function: String,
    /// The number of the call, counted from now; missing: the next one, or the present one if the
    /// program is stopped at its beginning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hit: Option<u64>,
    /// Instead of `hit`: the first call for which this expression is true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// How many levels of calls below it are recorded line by line; 0 if missing, 5 at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depth: Option<u64>,
    /// Maximum length of the text in bytes; 4000 if missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// After how many seconds the trace ends, from the beginning of the call: 60 if missing, 3600 at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<u64>,
}

/// The response to `stillpoint/traceCall`, after the call.
#[derive(Serialize, Deserialize, Debug, Default, Clone)]
pub struct TracedCall {
    /// The call: arguments, lines with changes, calls, result.
    pub text: String,
}

/// Arguments of `stillpoint/stacks`.
#[derive(Serialize, Deserialize, Debug, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct StacksArguments {
    /// The thread; missing: all threads.
    pub thread_id: Option<i64>,
    /// The first frame; missing: the innermost one. A negative number counts from the outermost one, -1.
    pub start_frame: Option<i64>,
    /// Maximum number of frames per thread, 20 if missing. 0: no stack, only
    /// [`ContextThread::frame`].
    pub levels: Option<i64>,
    /// Whether runs of library frames are folded into one entry.
    pub folded: bool,
    /// Whether addresses are written; else `0x…`.
    pub addresses: bool,
}

/// The response to `stillpoint/stacks`.
#[derive(Serialize, Deserialize, Debug, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct Stacks {
    /// The threads.
    pub threads: Vec<ContextThread>,
    /// Number of further threads, which are not in `threads`.
    #[serde(skip_serializing_if = "is_zero")]
    pub omitted: u64,
}

/// A thread, in `stillpoint/stacks` or among the other threads of a stop.
#[derive(Serialize, Deserialize, Debug, Default, Clone)]
#[serde(rename_all = "camelCase", default)]
pub struct ContextThread {
    /// Its id.
    pub thread_id: i64,
    /// Its name.
    pub name: String,
    /// The thread's frame to show: usually the innermost one of the program's own code, else the
    /// innermost one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frame: Option<ContextFrame>,
    /// The mutex that it waits for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waits_for: Option<ContextWait>,
    /// The thread's frames, if requested.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stack: Vec<ContextFrame>,
    /// Whether the stack has further frames.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub has_more: bool,
    /// The number of frames, if the stack is deep and was unwound to its end.
    #[serde(skip_serializing_if = "is_zero")]
    pub depth: u64,
}

/// Numbers of items left out because of the budget.
#[derive(Serialize, Deserialize, Debug, Default, Clone, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct Omitted {
    /// Variables; the `variables` request returns them.
    #[serde(skip_serializing_if = "is_zero")]
    pub variables: u64,
    /// Changed variables.
    #[serde(skip_serializing_if = "is_zero")]
    pub changes: u64,
    /// Frames that were read; `stackTrace` returns them.
    #[serde(skip_serializing_if = "is_zero")]
    pub frames: u64,
    /// Whether there may be frames beyond those that were read.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub deeper_frames: bool,
    /// Bytes at the start of the output.
    #[serde(skip_serializing_if = "is_zero")]
    pub output: u64,
    /// Threads; the `threads` request returns them.
    #[serde(skip_serializing_if = "is_zero")]
    pub threads: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}
