//! Settings that change while the session runs.

use super::{Session, breakpoints, children};
use crate::config::{self, Live, LivePlan};
use crate::protocol::InvalidatedEventBody;
use crate::sources::SourceMap;
use serde_json::{Map, Value};

/// The value of a setting that can be changed.
pub fn value_of(session: &Session, key: &str) -> Value {
    let said = session.startup.settings.0.get(key).cloned();
    said.filter(|value| !value.is_null()).unwrap_or_else(|| {
        let usual = Live::named(key).map(|key| key.usual);
        usual
            .and_then(|usual| serde_json::from_str(usual).ok())
            .unwrap_or_default()
    })
}

/// Changes settings, now and for restarts; in sessions of children as well.
///
/// # Errors
/// As for a launch with these settings; the text names the key. Nothing has changed then.
pub fn change(session: &mut Session, changes: Map<String, Value>) -> Result<(), String> {
    if changes.is_empty() {
        return Ok(());
    }
    if !session.startup.has_begun() {
        return Err("nothing was launched yet; give the settings with launch or attach".to_owned());
    }
    let (settings, live) = config::changed(&session.startup.settings, changes.clone())?;
    session.startup.settings = settings;
    children::change(session, &changes);
    let source_map = hold(session, live);
    if source_map != *session.sources.map() {
        session.sources.set_map(source_map);
        breakpoints::move_sources(session);
    }
    if session.client.invalidated {
        let areas = &["all"];
        session.event("invalidated", &InvalidatedEventBody { areas });
    }
    Ok(())
}

/// Lets settings hold from now on, but for the source map, which it gives back.
pub fn hold(session: &mut Session, live: LivePlan) -> SourceMap {
    session.startup.terminate_limit = live.terminate_limit;
    session.debugger.set_call_limit(live.call_limit);
    session.debugger.set_step_filters(live.step_filters);
    session.startup.statement_steps = live.statement_steps;
    session.debugger.set_signal_rules(&live.signals);
    session.limits = live.limits;
    session.flavor = live.flavor;
    session.command_prefix = live.command_prefix;
    live.source_map
}
