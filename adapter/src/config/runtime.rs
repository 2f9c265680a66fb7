//! Settings of a launch or attach that can be changed during the session.

use super::signals::SignalSettings;
use super::values::{PathPairs, StepFilters};
use super::{is_known_key, nearest};
use crate::protocol::{RawSettings, read_settings};
use crate::sources::Flavor;
use crate::sources::SourceMap;
use engine::value::scalar::NumberFormat;
use engine::{Limits, Pointees, Signal, SignalRule};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::time::Duration;

/// The settings as written.
#[derive(Deserialize, Debug, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct RuntimeSettings {
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
    past_stops: Option<bool>,
    pointees: Option<bool>,
}

/// The settings as the session uses them.
pub struct ResolvedSettings {
    /// Maps paths of the debug info to local ones.
    pub source_map: SourceMap,
    /// The step filters.
    pub step_filters: engine::StepFilters,
    /// Whether the step granularity `statement` differs from `line`.
    pub statement_steps: bool,
    /// The handling of signals.
    pub signals: Vec<(Signal, SignalRule)>,
    /// Timeout of a call in an expression.
    pub call_limit: Duration,
    /// Time from SIGTERM to SIGKILL.
    pub terminate_limit: Duration,
    /// Limits of a value's summary.
    pub limits: Limits,
    /// The prefix of console commands; empty: there are no commands.
    pub command_prefix: String,
    /// The syntax of instructions.
    pub flavor: engine::Flavor,
    /// Whether stops are kept, to be shown later.
    pub past_stops: bool,
}

/// The documentation of one setting.
pub struct SettingInfo {
    /// Its name.
    pub name: &'static str,
    /// Its default, in JSON.
    pub default_value: &'static str,
    /// Its description.
    pub help: &'static str,
}

const fn key(name: &'static str, usual: &'static str, help: &'static str) -> SettingInfo {
    SettingInfo {
        name,
        default_value: usual,
        help,
    }
}

/// Default prefix of console commands.
pub const DEFAULT_PREFIX: &str = ":";

impl RuntimeSettings {
    /// The table of these settings.
    pub const TABLE: &[SettingInfo] = &[
        key(
            "callTimeout",
            "5",
            "time limit of a call in an expression, in seconds",
        ),
        key("commandPrefix", "\":\"", "prefix of console commands"),
        key(
            "disassemblyFlavor",
            "\"intel\"",
            "assembly syntax: intel or att",
        ),
        key("hex", "false", "show integers in hexadecimal"),
        key(
            "maxDepth",
            "3",
            "maximum nesting depth of the text of a value",
        ),
        key(
            "maxElements",
            "16",
            "maximum number of elements and members in the text of a value",
        ),
        key(
            "maxStringLength",
            "256",
            "maximum length of a string, in bytes",
        ),
        key(
            "maxTextLength",
            "512",
            "maximum length of the text of a value, in bytes",
        ),
        key("pastStops", "true", "keep earlier stops, to be shown later"),
        key(
            "pointees",
            "true",
            "pointers of C and C++ show what they point to",
        ),
        key("signals", "{}", "signal handling by name"),
        key(
            "sourceMap",
            "{}",
            "maps source directories in debug info to local directories",
        ),
        key(
            "statementSteps",
            "false",
            "steps by statement also end within a line",
        ),
        key("stepFilters", "true", "sources that steps do not stop in"),
        key("terminateTimeout", "5", "seconds from SIGTERM to SIGKILL"),
    ];

    /// Returns the setting of this name.
    pub fn named(name: &str) -> Option<&'static SettingInfo> {
        Self::TABLE.iter().find(|key| key.name == name)
    }

    /// Returns the names.
    pub fn keys() -> impl Iterator<Item = &'static str> {
        Self::TABLE.iter().map(|key| key.name)
    }

    /// Builds the settings for the session.
    ///
    /// # Errors
    /// An invalid value; the text names the key.
    pub fn plan(&self) -> Result<ResolvedSettings, String> {
        let usual = Limits::default();
        let limit = |key: &str, wanted: Option<u64>, usual: usize, most: usize| match wanted {
            None => Ok(usual),
            Some(wanted) => usize::try_from(wanted)
                .ok()
                .filter(|wanted| *wanted <= most)
                .ok_or_else(|| format!("`{key}`: {wanted} is out of range; the maximum is {most}")),
        };
        const MAX_BYTES: usize = 1 << 20;
        Ok(ResolvedSettings {
            source_map: self.source_map.to_map(),
            step_filters: self.step_filters.build()?,
            statement_steps: self.statement_steps,
            signals: self.signals.rules()?,
            call_limit: call_limit(self.call_timeout),
            terminate_limit: terminate_limit(self.terminate_timeout),
            limits: Limits {
                text: limit("maxTextLength", self.max_text_length, usual.text, MAX_BYTES)?,
                string: limit(
                    "maxStringLength",
                    self.max_string_length,
                    usual.string,
                    MAX_BYTES,
                )?,
                elements: limit("maxElements", self.max_elements, usual.elements, 10_000)?,
                depth: limit("maxDepth", self.max_depth, usual.depth, 16)?,
                numbers: match self.hex {
                    true => NumberFormat::Hex,
                    false => NumberFormat::Natural,
                },
                pointees: match self.pointees {
                    Some(false) => Pointees::Hidden,
                    Some(true) | None => Pointees::Shown,
                },
                ..usual
            },
            command_prefix: command_prefix(self.command_prefix.as_deref())?,
            flavor: self.disassembly_flavor.into(),
            past_stops: self.past_stops.unwrap_or(true),
        })
    }
}

/// Applies changes to settings; `null` sets the default.
///
/// # Errors
/// An unknown setting, one that cannot be changed any more, or an invalid value; the text names the
/// key.
pub fn changed(
    settings: &RawSettings,
    changes: Map<String, Value>,
) -> Result<(RawSettings, ResolvedSettings), String> {
    let mut settings = settings.clone();
    for (key, value) in changes {
        if RuntimeSettings::named(&key).is_none() {
            return Err(why_fixed(&key));
        }
        match value {
            Value::Null => settings.0.remove(&key),
            value => settings.0.insert(key, value),
        };
    }
    let live: RuntimeSettings = read_settings(Value::Object(settings.0.clone()))?;
    let plan = live.plan()?;
    Ok((settings, plan))
}

/// Returns the reason why a setting cannot be changed.
pub fn why_fixed(key: &str) -> String {
    let all: Vec<&str> = RuntimeSettings::keys().collect();
    match (is_known_key(key), nearest(key, &all)) {
        (true, _) => format!(
            "`{key}` cannot change during the session; change it in the launch settings and \
             restart (settings that can change: {})",
            all.join(", ")
        ),
        (false, Some(nearest)) => {
            format!("unknown setting `{key}`; did you mean `{nearest}`?")
        }
        (false, None) => format!("unknown setting `{key}`"),
    }
}

/// Checks the prefix: a command must not look like an expression.
fn command_prefix(wanted: Option<&str>) -> Result<String, String> {
    let prefix = wanted.unwrap_or(DEFAULT_PREFIX);
    let is_mark = |char: char| char.is_ascii_punctuation() && char != '_';
    if prefix.len() > 8 || !prefix.chars().all(is_mark) {
        return Err(format!(
            "`commandPrefix`: `{prefix}` could begin an expression; expected up to 8 punctuation \
             characters, for example `:` or `%`, or nothing to disable commands"
        ));
    }
    Ok(prefix.to_owned())
}

/// Returns the timeout of a call in an expression; at most an hour.
fn call_limit(seconds: Option<f64>) -> Duration {
    const DEFAULT_SECONDS: f64 = 5.0;
    let seconds = seconds.filter(|it| it.is_finite() && *it > 0.0);
    Duration::from_secs_f64(seconds.unwrap_or(DEFAULT_SECONDS).min(3600.0))
}

/// Returns the time from SIGTERM to SIGKILL; at most a day.
fn terminate_limit(seconds: Option<f64>) -> Duration {
    const DEFAULT_SECONDS: f64 = 5.0;
    let seconds = seconds
        .filter(|it| it.is_finite())
        .unwrap_or(DEFAULT_SECONDS);
    Duration::from_secs_f64(seconds.clamp(0.0, 86_400.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_value_of_the_wrong_type_is_refused() {
        let change = |value: Value| {
            let changes = Map::from_iter([("hex".to_owned(), value)]);
            changed(&RawSettings::default(), changes).map(|(_, resolved)| resolved.limits.numbers)
        };
        assert!(change(json!("banana")).is_err_and(|error| error.contains("`hex`")));
        for hex in [json!(true), json!("true")] {
            assert_eq!(change(hex), Ok(NumberFormat::Hex));
        }
    }
}
