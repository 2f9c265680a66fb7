//! Launch and attach settings: the contents of a `launch.json`.

mod attach;
mod common;
mod core_file;
mod follow_fork;
mod launch;
mod record;
mod runtime;
mod signals;
mod symbol_cache;
mod values;

pub use attach::{AttachSettings, Target};
pub use common::{Common, CommonPlan};
pub use core_file::CorePlan;
pub use launch::{Console, LaunchPlan, LaunchSettings, ReplayPlan};
pub use record::any_seed;
pub use runtime::{DEFAULT_PREFIX, ResolvedSettings, RuntimeSettings, changed, why_fixed};

use crate::protocol::{RawSettings, read_arguments, read_settings};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Settings of one kind of request.
pub trait RequestSettings: DeserializeOwned {
    /// Their keys.
    const KEYS: &[&'static str];
}

/// The parsed settings of a request.
#[derive(Debug)]
pub struct Settings<T> {
    /// Those of this kind of request.
    pub own: T,
    /// Those of all requests.
    pub common: Common,
    /// Those that can be changed during the session.
    pub live: RuntimeSettings,
    /// A note for each unknown key.
    pub notes: Vec<String>,
}

/// Parses settings.
///
/// # Errors
/// A value of the wrong type; the text names the key.
pub fn read<T: RequestSettings>(settings: RawSettings) -> Result<Settings<T>, String> {
    let known = T::KEYS.iter().chain(Common::KEYS).copied();
    let known: Vec<&str> = known.chain(RuntimeSettings::keys()).collect();
    let unknown = settings.0.keys();
    let unknown = unknown.filter(|key| !known.contains(&key.as_str()) && !is_editors_key(key));
    let notes = unknown.map(|key| unknown_key(key, &known)).collect();
    let settings = Value::Object(settings.0);
    Ok(Settings {
        own: read_arguments(settings.clone())?,
        common: read_arguments(settings.clone())?,
        live: read_settings(settings)?,
        notes,
    })
}

/// Returns true for keys that editors add, or that other requests of this adapter have.
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

/// Returns true if any request has a setting of this name.
fn is_known_key(key: &str) -> bool {
    let requests = [LaunchSettings::KEYS, AttachSettings::KEYS, Common::KEYS];
    requests.concat().contains(&key) || RuntimeSettings::named(key).is_some()
}

/// Names of settings in other debuggers and their equivalents here, where the names are not
/// similar, or similar to something else. Without an equivalent: empty.
const FOREIGN_NAMES: &[(&str, &str)] = &[
    ("coreDumpPath", "coreFile"),
    ("dumpPath", "coreFile"),
    ("reverseDebugging", "record"),
    ("runInTerminal", "console"),
    ("sourceLanguages", ""),
    ("targetCreateCommands", ""),
    ("terminal", "console"),
    ("terminateCommands", ""),
    ("useTerminal", "console"),
    ("environment", "env"),
    ("sourceFileMap", "sourceMap"),
    ("sourcePath", "sourceMap"),
    ("targetArchitecture", ""),
    ("miDebuggerPath", ""),
    ("MIMode", ""),
    ("stopAtBeginningOfMainSubprogram", "stopAtMain"),
    ("stopAtEntry", "stopAtMain"),
];

/// Minimum similarity (0 to 1) of a name that is suggested.
const MIN_SIMILARITY: f64 = 0.8;

/// Returns the name most similar to what was typed, if there is a similar one.
pub fn nearest<'a>(typed: &str, names: &[&'a str]) -> Option<&'a str> {
    let known = FOREIGN_NAMES.iter().find(|(other, _)| *other == typed);
    if let Some((_, own)) = known {
        return names.iter().find(|name| *name == own).copied();
    }
    let words = words_of(typed);
    let typed = typed.to_lowercase();
    let likeness = |name: &str| {
        let is_word_of_it = words_of(name).contains(&typed);
        let name = name.to_lowercase();
        match is_word_of_it || words.contains(&name) {
            true => MIN_SIMILARITY + 0.1,
            false => strsim::jaro_winkler(&typed, &name),
        }
    };
    let likely = names.iter().map(|name| (likeness(name), *name));
    let (likeness, name) = likely.max_by(|(a, _), (b, _)| a.total_cmp(b))?;
    (likeness >= MIN_SIMILARITY).then_some(name)
}

/// Splits a name in camel case into words in lower case: `console` is one of `externalConsole`.
fn words_of(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for letter in name.chars() {
        if letter.is_uppercase() || !letter.is_alphanumeric() {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut() {
            word.extend(letter.to_lowercase());
        }
    }
    words
}

fn unknown_key(key: &str, known: &[&str]) -> String {
    match nearest(key, known) {
        Some(nearest) => format!("unknown setting `{key}`; did you mean `{nearest}`?\n"),
        None => format!("unknown setting `{key}`\n"),
    }
}

#[cfg(test)]
mod tests;
