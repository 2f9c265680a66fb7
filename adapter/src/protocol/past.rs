//! Past stops, requests that are not in the specification.

use super::Change;
use serde::{Deserialize, Serialize};

/// Arguments of `stillpoint/visitStop`.
#[derive(Serialize, Deserialize, Debug, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct VisitStopArguments {
    /// The number of the stop; missing: the present one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub number: Option<i64>,
}

/// The response to `stillpoint/pastStops`.
#[derive(Serialize, Deserialize, Debug, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct PastStops {
    /// The stops that can be shown, oldest first. The last one is the present one.
    pub stops: Vec<PastStop>,
    /// The recording of the program, if it is recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recording: Option<Recording>,
}

/// The recording of a program.
#[derive(Serialize, Deserialize, Debug, Default, Clone)]
#[serde(rename_all = "camelCase", default)]
pub struct Recording {
    /// The number of events: system calls and signals.
    pub events: u64,
    /// The memory that they take, in bytes.
    pub bytes: u64,
    /// The number of snapshots of the program that runs now.
    pub snapshots: u64,
    /// The number of events before what is shown, while the past is shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position: Option<u64>,
    /// Why it has ended before the program, if it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<String>,
    /// Why a replay was not shown or not like it, if that has happened: the way that needed it has ended where it
    /// began, or in the present. Of several, the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub divergence: Option<String>,
}

/// Arguments of `stillpoint/systemCalls`.
#[derive(Serialize, Deserialize, Debug, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct SystemCallsArguments {
    /// The number of the first one, from 1 on; missing: the last ones before the shown place are wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<i64>,
    /// How many are wanted: 20 if missing, 200 at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<i64>,
}

/// The response to `stillpoint/systemCalls`.
#[derive(Serialize, Deserialize, Debug, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct SystemCalls {
    /// System calls of the recording, in their order.
    pub calls: Vec<SystemCall>,
    /// How many were made before the shown place: the number of the last of these.
    pub before: u64,
}

/// A system call of a recording.
#[derive(Serialize, Deserialize, Debug, Default, Clone)]
#[serde(rename_all = "camelCase", default)]
pub struct SystemCall {
    /// Its number in the order of calls, from 1 on.
    pub number: u64,
    /// Its name.
    pub name: String,
    /// What the kernel returned: an error is its negative number.
    pub result: i64,
    /// The call with arguments, result, and what was read, as text.
    pub text: String,
}

/// Arguments of `stillpoint/visitCall`.
#[derive(Serialize, Deserialize, Debug, Default)]
#[serde(rename_all = "camelCase")]
pub struct VisitCallArguments {
    /// The number of the system call, from 1 on.
    pub number: i64,
}

/// Arguments of `stillpoint/visitHit`.
#[derive(Serialize, Deserialize, Debug, Default)]
#[serde(rename_all = "camelCase")]
pub struct VisitHitArguments {
    /// The id of the breakpoint, as `setBreakpoints` has returned it; missing: the one that the program is
    /// stopped at, or the only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub breakpoint_id: Option<i64>,
    /// The number of the hit, from 1 on.
    pub number: i64,
}

/// A stop that can be shown.
#[derive(Serialize, Deserialize, Debug, Default, Clone)]
#[serde(rename_all = "camelCase", default)]
pub struct PastStop {
    /// Its number: how many stops there were until then.
    pub number: i64,
    /// Its thread.
    pub thread_id: i64,
    /// Its reason, as in the event `stopped`, or `description`.
    pub reason: String,
    /// How the program came there: `step` or `run`.
    pub reached_by: String,
    /// How long ago it was, in seconds.
    pub age: f64,
    /// The innermost function.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// Its file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Its line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<i64>,
    /// Whether the program is there now.
    pub is_present: bool,
    /// Whether the stacks and variables are those of this stop.
    pub is_shown: bool,
}

/// Arguments of `stillpoint/pastChanges`.
#[derive(Serialize, Deserialize, Debug, Default)]
#[serde(rename_all = "camelCase")]
pub struct PastChangesArguments {
    /// The number of the earlier stop.
    pub from: i64,
    /// The number of the later stop; missing: the one that is shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<i64>,
}

/// The response to `stillpoint/pastChanges`: what differs between two stops.
#[derive(Serialize, Deserialize, Debug, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct PastChanges {
    /// The later stop.
    pub to: i64,
    /// The changed variables of each frame that is on the stack at both stops, innermost first.
    pub frames: Vec<FrameChanges>,
    /// The functions that were called since and have not returned, innermost first.
    pub entered: Vec<String>,
    /// The functions that have returned since, innermost first.
    pub left: Vec<String>,
    /// Changed variables of static storage, in the files of the frames.
    pub globals: Vec<Change>,
    /// The number of further changes.
    pub omitted: u64,
}

/// The changed variables of a frame.
#[derive(Serialize, Deserialize, Debug, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct FrameChanges {
    /// Its function.
    pub function: String,
    /// The variables.
    pub variables: Vec<Change>,
}
