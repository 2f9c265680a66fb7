//! Settings of a launch or attach that may also change later.

use super::signals::SignalSettings;
use super::values::{PathPairs, StepFilters};
use super::{is_known_key, nearest};
use crate::protocol::{RawSettings, read_arguments};
use crate::sources::Flavor;
use crate::sources::SourceMap;
use engine::value::scalar::NumberFormat;
use engine::{Limits, Signal, SignalRule};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::time::Duration;

/// As they are written.
#[derive(Deserialize, Debug, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct Live {
    source_map: PathPairs,
    step_filters: StepFilters,
    statement_steps: bool,
    signals: SignalSettings,
    /// In seconds.
    call_timeout: Option<f64>,
    /// In seconds.
    terminate_timeout: Option<f64>,
    max_string_length: Option<u64>,
    max_elements: Option<u64>,
    max_depth: Option<u64>,
    max_text_length: Option<u64>,
    command_prefix: Option<String>,
    disassembly_flavor: Flavor,
    hex: bool,
}

/// What they come to.
pub struct LivePlan {
    /// Paths.
    pub source_map: SourceMap,
    /// Which code steps go through.
    pub step_filters: engine::StepFilters,
    /// Whether steps by statements are finer than those by lines.
    pub statement_steps: bool,
    /// What is done when the program gets a signal.
    pub signals: Vec<(Signal, SignalRule)>,
    /// How long a call in an expression may take.
    pub call_limit: Duration,
    /// How long the program may take to end when it is asked to; then it is killed.
    pub terminate_limit: Duration,
    /// How much of a value is shown in one line.
    pub limits: Limits,
    /// What stands before commands on the console; empty: there are none.
    pub command_prefix: String,
    /// How instructions are written.
    pub flavor: engine::Flavor,
}

/// One of them, for people.
pub struct Key {
    /// Its name.
    pub name: &'static str,
    /// What holds where nobody says anything, in JSON.
    pub usual: &'static str,
    /// What it is.
    pub help: &'static str,
}

const fn key(name: &'static str, usual: &'static str, help: &'static str) -> Key {
    Key { name, usual, help }
}

/// What stands before commands on the console.
pub const USUAL_PREFIX: &str = ":";

impl Live {
    /// All of them.
    pub const ALL: &[Key] = &[
        key(
            "callTimeout",
            "5",
            "seconds a call in an expression may take",
        ),
        key(
            "commandPrefix",
            "\":\"",
            "what stands before commands on the console",
        ),
        key(
            "disassemblyFlavor",
            "\"intel\"",
            "how instructions are spelled: intel or att",
        ),
        key("hex", "false", "integers in hex"),
        key(
            "maxDepth",
            "3",
            "how deep a value's text goes into its parts",
        ),
        key(
            "maxElements",
            "16",
            "elements and members in a value's text",
        ),
        key("maxStringLength", "256", "bytes shown of a string"),
        key("maxTextLength", "512", "bytes of a value's text in all"),
        key(
            "signals",
            "{}",
            "what is done when the program gets which signal",
        ),
        key(
            "sourceMap",
            "{}",
            "directory in the debug info -> directory here",
        ),
        key(
            "statementSteps",
            "false",
            "steps by statement also end within a line",
        ),
        key("stepFilters", "true", "which sources steps go through"),
        key("terminateTimeout", "5", "seconds from SIGTERM to SIGKILL"),
    ];

    /// One of them.
    pub fn named(name: &str) -> Option<&'static Key> {
        Self::ALL.iter().find(|key| key.name == name)
    }

    /// Their names.
    pub fn keys() -> impl Iterator<Item = &'static str> {
        Self::ALL.iter().map(|key| key.name)
    }

    /// What they come to.
    ///
    /// # Errors
    /// What cannot be; the text names the key.
    pub fn plan(&self) -> Result<LivePlan, String> {
        let usual = Limits::default();
        let limit = |key: &str, wanted: Option<u64>, usual: usize, most: usize| match wanted {
            None => Ok(usual),
            Some(wanted) => usize::try_from(wanted)
                .ok()
                .filter(|wanted| *wanted <= most)
                .ok_or_else(|| format!("`{key}`: {wanted} is too much; at most {most}")),
        };
        const BYTES: usize = 1 << 20;
        Ok(LivePlan {
            source_map: self.source_map.to_map(),
            step_filters: self.step_filters.build()?,
            statement_steps: self.statement_steps,
            signals: self.signals.rules()?,
            call_limit: call_limit(self.call_timeout),
            terminate_limit: terminate_limit(self.terminate_timeout),
            limits: Limits {
                text: limit("maxTextLength", self.max_text_length, usual.text, BYTES)?,
                string: limit(
                    "maxStringLength",
                    self.max_string_length,
                    usual.string,
                    BYTES,
                )?,
                elements: limit("maxElements", self.max_elements, usual.elements, 10_000)?,
                depth: limit("maxDepth", self.max_depth, usual.depth, 16)?,
                numbers: match self.hex {
                    true => NumberFormat::Hex,
                    false => NumberFormat::Natural,
                },
                ..usual
            },
            command_prefix: command_prefix(self.command_prefix.as_deref())?,
            flavor: self.disassembly_flavor.into(),
        })
    }
}

/// Settings as they are after some of them have changed; `null` is the usual value.
///
/// # Errors
/// No such setting, one that cannot change any more, or a value that cannot be; the text names
/// the key.
pub fn changed(
    settings: &RawSettings,
    changes: Map<String, Value>,
) -> Result<(RawSettings, LivePlan), String> {
    let mut settings = settings.clone();
    for (key, value) in changes {
        if Live::named(&key).is_none() {
            return Err(not_live(&key));
        }
        match value {
            Value::Null => settings.0.remove(&key),
            value => settings.0.insert(key, value),
        };
    }
    let live: Live = read_arguments(Value::Object(settings.0.clone()))?;
    let plan = live.plan()?;
    Ok((settings, plan))
}

/// Why a setting cannot be changed.
pub fn not_live(key: &str) -> String {
    let all: Vec<&str> = Live::keys().collect();
    match (is_known_key(key), nearest(key, &all)) {
        (true, _) => format!(
            "`{key}` holds from the start: change it in the launch settings and restart; what can \
             change while the session runs is {}",
            all.join(", ")
        ),
        (false, Some(nearest)) => {
            format!("there is no setting `{key}`; did you mean `{nearest}`?")
        }
        (false, None) => format!("there is no setting `{key}`"),
    }
}

/// Commands must not be taken for expressions.
fn command_prefix(wanted: Option<&str>) -> Result<String, String> {
    let prefix = wanted.unwrap_or(USUAL_PREFIX);
    let is_mark = |char: char| char.is_ascii_punctuation() && char != '_';
    if prefix.len() > 8 || !prefix.chars().all(is_mark) {
        return Err(format!(
            "`commandPrefix`: `{prefix}` could begin an expression; it may be punctuation like \
             `:` or `%`, of 8 characters at most, or empty for no commands"
        ));
    }
    Ok(prefix.to_owned())
}

/// How long a call in an expression may take; at most an hour.
fn call_limit(seconds: Option<f64>) -> Duration {
    const USUAL: f64 = 5.0;
    let seconds = seconds.filter(|it| it.is_finite() && *it > 0.0);
    Duration::from_secs_f64(seconds.unwrap_or(USUAL).min(3600.0))
}

/// How long a program may take to end when it is asked to; at most a day.
fn terminate_limit(seconds: Option<f64>) -> Duration {
    const USUAL: f64 = 5.0;
    let seconds = seconds.filter(|it| it.is_finite()).unwrap_or(USUAL);
    Duration::from_secs_f64(seconds.clamp(0.0, 86_400.0))
}
