//! Launch and attach settings: what a `launch.json` may say.

mod attach;
mod common;
mod core_file;
mod follow_fork;
mod launch;
mod live;
mod signals;
mod symbol_cache;
mod values;

pub use attach::{AttachSettings, Target};
pub use common::{Common, CommonPlan};
pub use core_file::CorePlan;
pub use launch::{Console, LaunchPlan, LaunchSettings};
pub use live::{Live, LivePlan, USUAL_PREFIX, changed, not_live};

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
    /// Those of them that may change later.
    pub live: Live,
    /// A remark for each key that nobody knows.
    pub notes: Vec<String>,
}

/// Reads settings.
///
/// # Errors
/// A value of the wrong type; the text names the key.
pub fn read<T: Own>(settings: RawSettings) -> Result<Settings<T>, String> {
    let known = T::KEYS.iter().chain(Common::KEYS).copied();
    let known: Vec<&str> = known.chain(Live::keys()).collect();
    let unknown = settings.0.keys();
    let unknown = unknown.filter(|key| !known.contains(&key.as_str()) && !is_editors_key(key));
    let notes = unknown.map(|key| unknown_key(key, &known)).collect();
    let settings = Value::Object(settings.0);
    Ok(Settings {
        own: read_arguments(settings.clone())?,
        common: read_arguments(settings.clone())?,
        live: read_arguments(settings)?,
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

/// Whether some request has a setting of that name.
fn is_known_key(key: &str) -> bool {
    let requests = [LaunchSettings::KEYS, AttachSettings::KEYS, Common::KEYS];
    requests.concat().contains(&key) || Live::named(key).is_some()
}

/// What settings of other debuggers are called here, where the names have nothing in common.
const OTHERS: &[(&str, &str)] = &[
    ("environment", "env"),
    ("sourceFileMap", "sourceMap"),
    ("sourcePath", "sourceMap"),
    ("targetArchitecture", ""),
    ("miDebuggerPath", ""),
    ("MIMode", ""),
    ("stopAtBeginningOfMainSubprogram", "stopAtMain"),
    ("stopAtEntry", "stopAtMain"),
];

/// How like a name must be for it to be proposed: below, it has nothing to do with what was meant.
const LIKE: f64 = 0.8;

/// The name that is most like what was typed, if one is.
pub fn nearest<'a>(typed: &str, names: &[&'a str]) -> Option<&'a str> {
    let known = OTHERS.iter().find(|(other, _)| *other == typed);
    if let Some((_, own)) = known {
        return names.iter().find(|name| *name == own).copied();
    }
    let words = words_of(typed);
    let typed = typed.to_lowercase();
    let likeness = |name: &str| {
        let is_word_of_it = words_of(name).contains(&typed);
        let name = name.to_lowercase();
        match is_word_of_it || words.contains(&name) {
            true => LIKE + 0.1,
            false => strsim::jaro_winkler(&typed, &name),
        }
    };
    let likely = names.iter().map(|name| (likeness(name), *name));
    let (likeness, name) = likely.max_by(|(a, _), (b, _)| a.total_cmp(b))?;
    (likeness >= LIKE).then_some(name)
}

/// The words of a name in camel case, in lower case: `console` is one of `externalConsole`.
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
