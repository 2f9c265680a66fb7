//! Settings that `launch` and `attach` have in common.

use super::signals::SignalSettings;
use super::symbol_cache::SymbolCache;
use super::values::{PathPairs, StepFilters};
use crate::children::{Following, Words, following};
use crate::core_file::CorePlan;
use crate::source_map::SourceMap;
use engine::{Signal, SignalRule};
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// As they are written.
#[derive(Deserialize, Debug, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct Common {
    #[serde(alias = "corefile", alias = "core", alias = "coreDumpPath")]
    core_file: Option<PathBuf>,
    source_map: PathPairs,
    stop_on_entry: bool,
    terminate_debuggee: Option<bool>,
    /// In seconds.
    terminate_timeout: Option<f64>,
    follow_fork: Option<String>,
    follow_fork_programs: Words,
    /// In seconds.
    follow_fork_timeout: Option<f64>,
    symbol_cache: SymbolCache,
    /// In seconds.
    call_timeout: Option<f64>,
    non_stop: bool,
    debuginfod: bool,
    step_filters: StepFilters,
    signals: SignalSettings,
}

/// What they come to.
pub struct CommonPlan {
    /// Paths.
    pub source_map: SourceMap,
    /// Stop before the first instruction, or leave the program stopped.
    pub stop_on_entry: bool,
    /// What becomes of the program where `disconnect` does not say.
    pub terminate_debuggee: Option<bool>,
    /// How long the program may take to end when it is asked to; then it is killed.
    pub terminate_limit: Duration,
    /// What becomes of processes that it makes.
    pub following: Following,
    /// Where names are kept between sessions.
    pub symbol_cache: Option<PathBuf>,
    /// How long a call in an expression may take, where it is said.
    pub call_limit: Option<Duration>,
    /// Each thread stops by itself.
    pub non_stop: bool,
    /// Fetch debug info that is not on this machine.
    pub debuginfod: bool,
    /// Which code steps go through.
    pub step_filters: engine::StepFilters,
    /// What is done when the program gets a signal.
    pub signals: Vec<(Signal, SignalRule)>,
}

impl Common {
    /// The keys it has.
    pub const KEYS: &[&'static str] = &[
        "coreFile",
        "corefile",
        "core",
        "coreDumpPath",
        "sourceMap",
        "stopOnEntry",
        "terminateDebuggee",
        "terminateTimeout",
        "followFork",
        "followForkPrograms",
        "followForkTimeout",
        "symbolCache",
        "callTimeout",
        "nonStop",
        "debuginfod",
        "stepFilters",
        "signals",
    ];

    /// The core file that is to be looked at, and the program it is of.
    pub(super) fn core(&self, program: Option<&Path>, directory: &Path) -> Option<CorePlan> {
        CorePlan::of(self.core_file.as_deref(), program, directory)
    }

    /// What they come to.
    ///
    /// # Errors
    /// What cannot be; the text names the key.
    pub fn plan(&self) -> Result<CommonPlan, String> {
        let follow = self.follow_fork.as_deref();
        Ok(CommonPlan {
            source_map: self.source_map.to_map(),
            stop_on_entry: self.stop_on_entry,
            terminate_debuggee: self.terminate_debuggee,
            terminate_limit: terminate_limit(self.terminate_timeout),
            following: following(follow, &self.follow_fork_programs, self.follow_fork_timeout)?,
            symbol_cache: self.symbol_cache.clone().folder(),
            call_limit: call_limit(self.call_timeout),
            non_stop: self.non_stop,
            debuginfod: self.debuginfod,
            step_filters: self.step_filters.build()?,
            signals: self.signals.rules()?,
        })
    }
}

/// How long a call in an expression may take; at most an hour.
fn call_limit(seconds: Option<f64>) -> Option<Duration> {
    let seconds = seconds.filter(|it| it.is_finite() && *it > 0.0)?;
    Some(Duration::from_secs_f64(seconds.min(3600.0)))
}

/// How long a program may take to end when it is asked to; at most a day.
fn terminate_limit(seconds: Option<f64>) -> Duration {
    const USUAL: f64 = 5.0;
    let seconds = seconds.filter(|it| it.is_finite()).unwrap_or(USUAL);
    Duration::from_secs_f64(seconds.clamp(0.0, 86_400.0))
}
