//! Bodies of events.

use super::parse::{FieldError, from_json};
use super::{BreakpointEventBody, ExitedEventBody, Module, ThreadEventBody, TraceRecords};
use dap::types::ProcessEventStartMethod;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::borrow::Cow;

/// An event, as our own client reads it.
#[derive(Debug)]
pub enum Event {
    /// `initialized`.
    Initialized,
    /// `stopped`.
    Stopped(StoppedEventBody),
    /// `continued`.
    Continued,
    /// `exited`.
    Exited(ExitedEventBody),
    /// `terminated`.
    Terminated,
    /// `thread`.
    Thread(ThreadEventBody),
    /// `output`.
    Output(OutputEventBody),
    /// `breakpoint`.
    Breakpoint(BreakpointEventBody),
    /// `stillpoint/records`.
    Records(TraceRecords),
    /// One that the client does not use.
    Other,
}

impl Event {
    /// Reads the body of an event.
    ///
    /// # Errors
    /// It is not a body of that event.
    pub fn read(name: &str, body: Option<&RawValue>) -> Result<Self, FieldError> {
        fn parse<T: DeserializeOwned>(body: Option<&RawValue>) -> Result<T, FieldError> {
            from_json(body.map_or("null", RawValue::get))
        }
        Ok(match name {
            "initialized" => Self::Initialized,
            "stopped" => Self::Stopped(parse(body)?),
            "continued" => Self::Continued,
            "exited" => Self::Exited(parse(body)?),
            "terminated" => Self::Terminated,
            "thread" => Self::Thread(parse(body)?),
            "output" => Self::Output(parse(body)?),
            "breakpoint" => Self::Breakpoint(parse(body)?),
            "stillpoint/records" => Self::Records(parse(body)?),
            _ => Self::Other,
        })
    }
}

/// The `invalidated` event.
#[derive(Serialize, Debug)]
pub struct InvalidatedEventBody {
    /// What the client should request again, in the specification's words.
    pub areas: &'static [&'static str],
}

/// The `stopped` event.
#[derive(Serialize, Deserialize, Debug, Default)]
#[serde(rename_all = "camelCase")]
pub struct StoppedEventBody {
    /// The reason, in the specification's words.
    pub reason: Cow<'static, str>,
    /// The reason as text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The thread that caused it.
    pub thread_id: i64,
    /// Whether the client should keep its selection.
    pub preserve_focus_hint: bool,
    /// Additional text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Whether all threads are stopped.
    pub all_threads_stopped: bool,
    /// The breakpoints that caused it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hit_breakpoint_ids: Vec<u32>,
}

/// The `progressStart` event.
#[derive(Serialize, Debug)]
#[serde(rename_all = "camelCase")]
pub struct ProgressStartEventBody<'a> {
    /// The id of the work.
    pub progress_id: &'a str,
    /// A description of the work.
    pub title: &'a str,
    /// Whether `cancel` ends it.
    pub cancellable: bool,
    /// Progress in percent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub percentage: Option<u32>,
}

/// The `progressUpdate` event.
#[derive(Serialize, Debug)]
#[serde(rename_all = "camelCase")]
pub struct ProgressUpdateEventBody<'a> {
    /// The id of the work.
    pub progress_id: &'a str,
    /// Progress in percent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub percentage: Option<u32>,
}

/// The `progressEnd` event.
#[derive(Serialize, Debug)]
#[serde(rename_all = "camelCase")]
pub struct ProgressEndEventBody<'a> {
    /// The id of the work.
    pub progress_id: &'a str,
    /// The result as text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<&'a str>,
}

/// The `output` event.
#[derive(Serialize, Deserialize, Debug)]
pub struct OutputEventBody {
    /// The origin of the output.
    pub category: OutputCategory,
    /// The text.
    pub output: String,
}

/// The origin of an output.
#[derive(Serialize, Deserialize, Debug, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum OutputCategory {
    /// The debugger.
    Console,
    /// The debugger, highlighted.
    Important,
    /// The program's stdout.
    Stdout,
    /// The program's stderr.
    Stderr,
}

/// The `process` event.
#[derive(Serialize, Debug)]
#[serde(rename_all = "camelCase")]
pub struct ProcessEventBody {
    /// The program's path.
    pub name: String,
    /// The process id, while the process exists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_process_id: Option<i64>,
    /// Whether it runs on this machine.
    pub is_local_process: bool,
    /// How the session began.
    pub start_method: ProcessEventStartMethod,
    /// Size of an address in bits.
    pub pointer_size: i64,
}

/// The `module` event.
#[derive(Serialize, Debug)]
pub struct ModuleEventBody {
    /// `new`, `changed` or `removed`.
    pub reason: &'static str,
    /// The module.
    pub module: Module,
}
