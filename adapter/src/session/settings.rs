//! Settings that can change during the session.

use super::describe::described;
use super::{Session, breakpoints, children};
use crate::config::{self, DEFAULT_PREFIX, ResolvedSettings, RuntimeSettings};
use crate::protocol::{
    BreakpointEventBody, BreakpointEventReason, InvalidatedEventBody, RawSettings,
};
use crate::sources::SourceMap;
use engine::{FirstStop, Flavor, Limits, Pointees};
use serde_json::{Map, Value};
use std::time::Duration;

/// The current settings.
#[derive(Debug)]
pub struct ActiveSettings {
    /// As the client sent them, for restarts and children.
    pub raw: RawSettings,
    /// Where the program stops first.
    pub first_stop: FirstStop,
    /// Whether to stop at the program's `main`.
    pub stop_at_main: bool,
    /// Whether breakpoints are disabled.
    pub no_debug: bool,
    /// Whether the step granularity `statement` differs from `line`.
    pub statement_steps: bool,
    /// Whether `disconnect` terminates the debuggee if it does not say.
    pub terminate_debuggee: Option<bool>,
    /// Time from SIGTERM to SIGKILL.
    pub terminate_limit: Duration,
    /// Limits of a value's summary.
    pub limits: Limits,
    /// The syntax of instructions.
    pub flavor: Flavor,
    /// Prefix of console commands; empty: there are none.
    pub command_prefix: String,
    /// Whether stops are kept, to be shown later.
    pub past_stops: bool,
}

impl Default for ActiveSettings {
    fn default() -> Self {
        Self {
            raw: RawSettings::default(),
            first_stop: FirstStop::None,
            stop_at_main: false,
            no_debug: false,
            statement_steps: false,
            terminate_debuggee: None,
            terminate_limit: Duration::default(),
            limits: Limits {
                pointees: Pointees::Shown,
                ..Limits::default()
            },
            flavor: Flavor::default(),
            command_prefix: DEFAULT_PREFIX.to_owned(),
            past_stops: true,
        }
    }
}

/// Returns the value of a setting that can be changed.
pub fn value_of(session: &Session, key: &str) -> Value {
    let value = session.settings.raw.0.get(key).cloned();
    value.filter(|value| !value.is_null()).unwrap_or_else(|| {
        let default = RuntimeSettings::named(key).map(|key| key.default_value);
        default
            .and_then(|default| serde_json::from_str(default).ok())
            .unwrap_or_default()
    })
}

/// Changes settings, for this session, restarts, and the sessions of children.
///
/// # Errors
/// As for a launch with these settings; the text names the key. No setting has changed then.
pub fn change(session: &mut Session, changes: Map<String, Value>) -> Result<(), String> {
    if changes.is_empty() {
        return Ok(());
    }
    if !session.startup.has_begun() {
        return Err("no program; pass the settings with launch or attach".to_owned());
    }
    let (settings, live) = config::changed(&session.settings.raw, changes.clone())?;
    session.settings.raw = settings;
    children::change(session, &changes);
    let source_map = apply(session, live);
    if source_map != *session.sources.map() {
        session.sources.set_map(source_map);
        let moved = breakpoints::move_sources(session);
        for breakpoint in described(session, &moved).breakpoints {
            let reason = BreakpointEventReason::Changed;
            session.event("breakpoint", &BreakpointEventBody { reason, breakpoint });
        }
    }
    if session.client.invalidated {
        let areas = &["all"];
        session.event("invalidated", &InvalidatedEventBody { areas });
    }
    Ok(())
}

/// Applies settings except for the source map, which it returns.
pub fn apply(session: &mut Session, live: ResolvedSettings) -> SourceMap {
    session.settings.terminate_limit = live.terminate_limit;
    session.debugger.set_call_limit(live.call_limit);
    session.debugger.set_step_filters(live.step_filters);
    session.settings.statement_steps = live.statement_steps;
    session.debugger.set_signal_rules(&live.signals);
    session.settings.limits = live.limits;
    session.settings.flavor = live.flavor;
    session.settings.command_prefix = live.command_prefix;
    session.settings.past_stops = live.past_stops;
    live.source_map
}
