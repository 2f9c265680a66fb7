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
