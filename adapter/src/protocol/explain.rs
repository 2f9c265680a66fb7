//! `stillpoint/explain`, why the program is stopped or hangs, and `stillpoint/search`, a value among
//! the variables in reach of a frame. These requests are not in the specification.

use super::ContextFrame;
use serde::{Deserialize, Serialize};

/// Arguments of `stillpoint/explain`.
#[derive(Serialize, Deserialize, Debug, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct ExplainArguments {
    /// The thread; missing: the one that stopped last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<i64>,
    /// Whether addresses are written; else `0x…`.
    pub addresses: bool,
}

/// The response to `stillpoint/explain`.
#[derive(Serialize, Deserialize, Debug, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct Explanation {
    /// What has happened: the explained signal, exception or other reason of the stop.
    pub what: String,
    /// The explained thread, then those of a deadlock, then others. Threads that do the same at the
    /// same place are one entry.
    pub threads: Vec<ExplainedThread>,
    /// Threads that wait for each other, each for the next one and the last for the first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deadlock: Vec<i64>,
}

/// What a thread does.
#[derive(Serialize, Deserialize, Debug, Default, Clone)]
#[serde(rename_all = "camelCase", default)]
pub struct ExplainedThread {
    /// Its id.
    pub thread_id: i64,
    /// Further threads of which all the same is true.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<i64>,
    /// Its name.
    pub name: String,
    /// What it waits for; missing: nothing, it was executing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait: Option<ExplainedWait>,
    /// Its frames in the program's own code, innermost first: several of the explained thread, one of
    /// others.
    pub frames: Vec<ExplainedFrame>,
    /// Of the explained thread: the further frames in the program's own code, without their lines' values. The
    /// rounds of a recursion are one entry.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub callers: Vec<ContextFrame>,
}

/// What a thread waits for.
#[derive(Serialize, Deserialize, Debug, Default, Clone, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct ExplainedWait {
    /// What it is: ``mutex `queue.lock` ``, `the end of a thread`, `input of a pipe`.
    pub what: String,
    /// The thread that must act: the owner of the mutex, the thread that must end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<i64>,
    /// The library function in which the thread waits, if the program's own code called one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
}

/// A frame with what its line uses.
#[derive(Serialize, Deserialize, Debug, Default, Clone, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct ExplainedFrame {
    /// Its level, 0 for the innermost.
    pub level: u64,
    /// Its function.
    pub name: String,
    /// Its source file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Its line, in the client's numbering.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<i64>,
    /// The text of the line, without indentation.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub source: String,
    /// The variables and members that the line names, with their values.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<UsedValue>,
}

/// A value that a line uses.
#[derive(Serialize, Deserialize, Debug, Default, Clone, PartialEq, Eq)]
pub struct UsedValue {
    /// The expression.
    pub name: String,
    /// Its value, or why it has none.
    pub value: String,
}

/// Arguments of `stillpoint/search`.
#[derive(Serialize, Deserialize, Debug, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct SearchArguments {
    /// What to find: a number, an address in hex, or a text: part of a string in quotes, or a word,
    /// which is also the name of an enumerator.
    pub wanted: String,
    /// The frame; missing: the innermost one of the thread that stopped last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frame_id: Option<i64>,
    /// Maximum number of results; 20 if missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// Whether values are shown with addresses; else `0x…`.
    pub addresses: bool,
}

/// The response to `stillpoint/search`.
#[derive(Serialize, Deserialize, Debug, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct SearchResult {
    /// The values that match, those nearest to the frame's variables first.
    pub found: Vec<FoundValue>,
    /// Number of values that were compared.
    pub searched: u64,
    /// Whether everything in reach was compared, down to the maximum depth.
    pub complete: bool,
}

/// A value that was found.
#[derive(Serialize, Deserialize, Debug, Default, Clone, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct FoundValue {
    /// An expression for it; in languages or containers that have none, its path.
    pub expression: String,
    /// Its text.
    pub value: String,
    /// Its type.
    #[serde(rename = "type")]
    pub type_name: String,
}
