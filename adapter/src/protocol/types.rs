//! Sources, images, what clients are asked for and why requests fail: types of the wire that the
//! `dap` crate has wrong, as in the files beside this one (0.4.1-alpha1 loses fields that are not
//! camelCase, lacks newer ones, and prints nulls).

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A source file.
#[derive(Serialize, Deserialize, Debug, Default, Clone, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Source {
    /// For people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Where it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Greater than 0: its text is to be had by the `source` request only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_reference: Option<i64>,
    /// How to show it; only ever sent.
    #[serde(skip_serializing_if = "Option::is_none", skip_deserializing)]
    pub presentation_hint: Option<SourceHint>,
    /// What its text is known by; only ever sent.
    #[serde(skip_serializing_if = "Vec::is_empty", skip_deserializing)]
    pub checksums: Vec<Checksum>,
    /// What the client hands back with it, in later sessions too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adapter_data: Option<serde_json::Value>,
}

/// What a text is known by.
#[derive(Serialize, Debug, Clone, PartialEq, Eq)]
pub struct Checksum {
    /// How it was made, in the specification's words.
    pub algorithm: &'static str,
    /// In hex.
    pub checksum: String,
}

/// How to show a source.
#[derive(Serialize, Debug, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum SourceHint {
    /// It is not there, or of no interest.
    Deemphasize,
}

/// An image of the process.
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
    /// How much is known of it, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub symbol_status: Option<&'static str>,
    /// The separate file with its debug info.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub symbol_file_path: Option<String>,
    /// Where it is loaded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address_range: Option<String>,
}

/// The result of `stillpoint/setSettings`.
#[derive(Serialize, Debug)]
pub struct SetSettingsResponse {
    /// All that can be changed, as they are now.
    pub settings: serde_json::Map<String, serde_json::Value>,
}

/// The result of `modules`.
#[derive(Serialize, Debug)]
#[serde(rename_all = "camelCase")]
pub struct ModulesResponse {
    /// Those asked for.
    pub modules: Vec<Module>,
    /// How many there are.
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
    /// Changes to the environment; null removes.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, Option<String>>,
}

/// Arguments of the `startDebugging` request to the client.
#[derive(Serialize, Debug)]
pub struct StartDebuggingRequestArguments {
    /// `launch` or `attach`.
    pub request: &'static str,
    /// Its settings.
    pub configuration: serde_json::Map<String, serde_json::Value>,
}

/// The body of an answer that says no.
#[derive(Serialize, Debug)]
pub struct ErrorBody {
    /// Why.
    pub error: ErrorMessage,
}

/// Why a request failed.
#[derive(Serialize, Debug, Clone)]
#[serde(rename_all = "camelCase")]
pub struct ErrorMessage {
    /// What kind of error.
    pub id: u32,
    /// For people.
    pub format: String,
    /// Whether people should see it.
    pub show_user: bool,
}
