//! What the client is told without having asked.

use super::Module;
use dap::types::ProcessEventStartMethod;
use serde::Serialize;

/// The `invalidated` event.
#[derive(Serialize, Debug)]
pub struct InvalidatedEventBody {
    /// What the client should ask for again, in the specification's words.
    pub areas: &'static [&'static str],
}

/// The `stopped` event.
#[derive(Serialize, Debug)]
#[serde(rename_all = "camelCase")]
pub struct StoppedEventBody {
    /// Why, in the specification's words.
    pub reason: &'static str,
    /// Why, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The thread that caused it.
    pub thread_id: i64,
    /// Whether the client should stay where it looks.
    pub preserve_focus_hint: bool,
    /// More about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Whether all threads stand.
    pub all_threads_stopped: bool,
    /// The breakpoints that caused it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hit_breakpoint_ids: Vec<u32>,
}

/// The `progressStart` event.
#[derive(Serialize, Debug)]
#[serde(rename_all = "camelCase")]
pub struct ProgressStartEventBody<'a> {
    /// Which work.
    pub progress_id: &'a str,
    /// What is done, for people.
    pub title: &'a str,
    /// Whether `cancel` ends it.
    pub cancellable: bool,
    /// How much of it is done, of 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub percentage: Option<u32>,
}

/// The `progressUpdate` event.
#[derive(Serialize, Debug)]
#[serde(rename_all = "camelCase")]
pub struct ProgressUpdateEventBody<'a> {
    /// Which work.
    pub progress_id: &'a str,
    /// How much of it is done, of 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub percentage: Option<u32>,
}

/// The `progressEnd` event.
#[derive(Serialize, Debug)]
#[serde(rename_all = "camelCase")]
pub struct ProgressEndEventBody<'a> {
    /// Which work.
    pub progress_id: &'a str,
    /// How it ended, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<&'a str>,
}

/// The `output` event.
#[derive(Serialize, Debug)]
pub struct OutputEventBody {
    /// Whose words these are.
    pub category: OutputCategory,
    /// The words.
    pub output: String,
}

/// Whose words an output is.
#[derive(Serialize, Debug, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum OutputCategory {
    /// The debugger's.
    Console,
    /// The debugger's, to be seen.
    Important,
    /// The program's.
    Stdout,
    /// The program's complaints.
    Stderr,
}

/// The `process` event.
#[derive(Serialize, Debug)]
#[serde(rename_all = "camelCase")]
pub struct ProcessEventBody {
    /// The program's path.
    pub name: String,
    /// The process's number, while it lives.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_process_id: Option<i64>,
    /// Whether it is of this machine.
    pub is_local_process: bool,
    /// How the session began.
    pub start_method: ProcessEventStartMethod,
    /// Bits of an address.
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
