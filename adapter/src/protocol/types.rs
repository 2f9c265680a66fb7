//! Sources, modules, reverse requests and errors: types that the `dap` crate has wrong, as in the
//! files beside this one (0.4.1-alpha1 loses fields that are not camelCase, lacks newer ones, and
//! prints nulls).

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A source file.
#[derive(Serialize, Deserialize, Debug, Default, Clone, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Source {
    /// Its name in the user interface.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Greater than 0: the text is available by the `source` request only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_reference: Option<i64>,
    /// How to show it; only ever sent.
    #[serde(skip_serializing_if = "Option::is_none", skip_deserializing)]
    pub presentation_hint: Option<SourceHint>,
    /// Checksums of its text; only ever sent.
    #[serde(skip_serializing_if = "Vec::is_empty", skip_deserializing)]
    pub checksums: Vec<Checksum>,
    /// Data that the client sends back with the source, in later sessions too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adapter_data: Option<serde_json::Value>,
}

/// A checksum of a text.
#[derive(Serialize, Debug, Clone, PartialEq, Eq)]
pub struct Checksum {
    /// The algorithm, in the specification's words.
    pub algorithm: &'static str,
    /// In hex.
    pub checksum: String,
}

/// How to show a source.
#[derive(Serialize, Debug, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum SourceHint {
    /// Missing or not important.
    Deemphasize,
}

/// A module of the process.
#[derive(Clone, PartialEq, Eq, Serialize, Debug, Default)]
#[serde(rename_all = "camelCase")]
pub struct Module {
    /// Its number.
    pub id: u32,
    /// Its name.
    pub name: String,
    /// Its file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Its build-id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The status of its symbols as text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub symbol_status: Option<&'static str>,
    /// The separate file with its debug info.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub symbol_file_path: Option<String>,
    /// Its address range.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address_range: Option<String>,
}

/// The result of `stillpoint/setSettings`.
#[derive(Serialize, Debug)]
pub struct SetSettingsResponse {
    /// The current values of all settings that can be changed.
    pub settings: serde_json::Map<String, serde_json::Value>,
}

/// The result of `modules`.
#[derive(Serialize, Debug)]
#[serde(rename_all = "camelCase")]
pub struct ModulesResponse {
    /// The requested modules.
    pub modules: Vec<Module>,
    /// Number of modules.
    pub total_modules: usize,
}

/// The result of `loadedSources`.
#[derive(Serialize, Debug)]
pub struct LoadedSourcesResponse {
    /// All of them.
    pub sources: Vec<Source>,
}

/// The result of `locations`.
#[derive(Serialize, Debug)]
pub struct LocationsResponse {
    /// The file.
    pub source: Source,
    /// The line.
    pub line: i64,
    /// The column.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<i64>,
}

/// Arguments of the `runInTerminal` request to the client.
#[derive(Serialize, Debug)]
pub struct RunInTerminalRequestArguments {
    /// `integrated` or `external`.
    pub kind: &'static str,
    /// The terminal's title.
    pub title: String,
    /// The working directory.
    pub cwd: String,
    /// The program and its arguments.
    pub args: Vec<String>,
    /// Changes to the environment; null removes a variable.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, Option<String>>,
}

/// Arguments of the `startDebugging` request to the client.
#[derive(Serialize, Debug)]
pub struct StartDebuggingRequestArguments {
    /// `launch` or `attach`.
    pub request: &'static str,
    /// The settings of the session.
    pub configuration: serde_json::Map<String, serde_json::Value>,
}

/// The body of an error response.
#[derive(Serialize, Deserialize, Debug)]
pub struct ErrorBody {
    /// The error.
    pub error: ErrorMessage,
}

/// An error.
#[derive(Serialize, Deserialize, Debug, Clone, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct ErrorMessage {
    /// Its kind.
    pub id: u32,
    /// Its text.
    pub format: String,
    /// Whether to show it to the user.
    pub show_user: bool,
}
