//! Launch and attach settings: what a `launch.json` may say.

mod attach;
mod common;
mod launch;
mod signals;
mod symbol_cache;
mod values;

pub use attach::{AttachSettings, Target};
pub use common::{Common, CommonPlan};
pub use launch::{Console, LaunchPlan, LaunchSettings};

use crate::protocol::{RawSettings, read_arguments};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Settings that only one request has.
pub trait Own: DeserializeOwned {
    /// Their keys.
    const KEYS: &[&'static str];
}

/// Settings of a request, read.
#[derive(Debug)]
pub struct Settings<T> {
    /// Its own.
    pub own: T,
    /// Those that others have, too.
    pub common: Common,
    /// A remark for each key that nobody knows.
    pub notes: Vec<String>,
}

/// Reads settings.
///
/// # Errors
/// A value of the wrong type; the text names the key.
pub fn read<T: Own>(settings: RawSettings) -> Result<Settings<T>, String> {
    let known: Vec<&str> = [T::KEYS, Common::KEYS].concat();
    let unknown = settings.0.keys();
    let unknown = unknown.filter(|key| !known.contains(&key.as_str()) && !is_editors_key(key));
    let notes = unknown.map(|key| unknown_key(key, &known)).collect();
    let settings = Value::Object(settings.0);
    Ok(Settings {
        own: read_arguments(settings.clone())?,
        common: read_arguments(settings)?,
        notes,
    })
}

/// Keys that editors add, or that other requests of ours have.
fn is_editors_key(key: &str) -> bool {
    const KEYS: &[&str] = &[
        "__configurationTarget",
        "__restart",
        "__sessionId",
        "adapter",
        "clientID",
        "cleanUp",
        "debugServer",
        "filetype",
        "internalConsoleOptions",
        "linux",
        "mode",
        "name",
        "noDebug",
        "order",
        "osx",
        "postDebugTask",
        "preLaunchTask",
        "presentation",
        "request",
        "restart",
        "serverReadyAction",
        "suppressMultipleSessionWarning",
        "trace",
        "type",
        "windows",
    ];
    KEYS.contains(&key) || key.starts_with('$') || key.starts_with("__")
}

fn unknown_key(key: &str, own_keys: &[&str]) -> String {
    let likeness = |own: &&&str| strsim::jaro_winkler(&key.to_lowercase(), &own.to_lowercase());
    let nearest = own_keys
        .iter()
        .max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
    match nearest {
        Some(nearest) => format!("unknown setting `{key}`; did you mean `{nearest}`?\n"),
        None => format!("unknown setting `{key}`\n"),
    }
}

#[cfg(test)]
mod tests;
