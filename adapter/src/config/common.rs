//! Settings that `launch` and `attach` share, fixed for the session.

use super::core_file::CorePlan;
use super::follow_fork::{FollowForkPlan, OneOrMany, follow_fork_plan};
use super::symbol_cache::SymbolCache;
use engine::FirstStop;
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// The settings as written.
#[derive(Deserialize, Debug, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct Common {
    #[serde(alias = "corefile", alias = "core", alias = "coreDumpPath")]
    core_file: Option<PathBuf>,
    stop_on_entry: StopOnEntry,
    terminate_debuggee: Option<bool>,
    follow_fork: Option<String>,
    follow_fork_programs: OneOrMany,
    /// In seconds.
    follow_fork_timeout: Option<f64>,
    symbol_cache: SymbolCache,
    non_stop: bool,
    debuginfod: bool,
    join: bool,
}

/// The values of the setting `stopOnEntry`.
#[derive(Deserialize, Clone, Copy, Debug)]
#[serde(untagged, expecting = "expected true, false, or \"libraries\"")]
enum StopOnEntry {
    Switch(bool),
    When(EntryKind),
}

#[derive(Deserialize, Clone, Copy, Debug)]
#[serde(rename_all = "camelCase")]
enum EntryKind {
    Libraries,
}

impl Default for StopOnEntry {
    fn default() -> Self {
        StopOnEntry::Switch(false)
    }
}

impl StopOnEntry {
    fn first_stop(self) -> FirstStop {
        match self {
            StopOnEntry::Switch(false) => FirstStop::None,
            StopOnEntry::Switch(true) => FirstStop::AtOnce,
            StopOnEntry::When(EntryKind::Libraries) => FirstStop::WithLibraries,
        }
    }
}

/// The settings as the session uses them.
pub struct CommonPlan {
    /// Where a launched program stops first, or whether an attached process is left stopped.
    pub first_stop: FirstStop,
    /// Whether the debuggee is terminated if `disconnect` does not say.
    pub terminate_debuggee: Option<bool>,
    /// The handling of child processes.
    pub following: FollowForkPlan,
    /// Where indexed names are stored between sessions.
    pub symbol_cache: SymbolCache,
    /// Whether a stop stops one thread only (non-stop mode).
    pub non_stop: bool,
    /// Whether to fetch missing debug info from debuginfod.
    pub debuginfod: bool,
    /// Whether other clients may look on from the start.
    pub join: bool,
}

impl Common {
    /// The names of these settings.
    pub const KEYS: &[&'static str] = &[
        "coreFile",
        "corefile",
        "core",
        "coreDumpPath",
        "stopOnEntry",
        "terminateDebuggee",
        "followFork",
        "followForkPrograms",
        "followForkTimeout",
        "symbolCache",
        "nonStop",
        "debuginfod",
        "join",
    ];

    /// Returns the core file to open and its executable, if one is set.
    pub(super) fn core(&self, program: Option<&Path>, directory: &Path) -> Option<CorePlan> {
        CorePlan::of(self.core_file.as_deref(), program, directory)
    }

    /// Returns the setting that a recorded program cannot have, and its value that it can have.
    pub(super) fn conflict_with_recording(&self) -> Option<(&'static str, &'static str)> {
        match self.follow_fork.as_deref() {
            _ if self.non_stop => Some(("nonStop", "false")),
            None | Some("parent") => None,
            Some(_) => Some(("followFork", "parent")),
        }
    }

    /// Builds the settings for the session.
    ///
    /// # Errors
    /// An invalid value; the text names the key.
    pub fn plan(&self) -> Result<CommonPlan, String> {
        let follow = self.follow_fork.as_deref();
        Ok(CommonPlan {
            first_stop: self.stop_on_entry.first_stop(),
            terminate_debuggee: self.terminate_debuggee,
            following: follow_fork_plan(
                follow,
                &self.follow_fork_programs,
                self.follow_fork_timeout,
            )?,
            symbol_cache: self.symbol_cache.clone(),
            non_stop: self.non_stop,
            debuginfod: self.debuginfod,
            join: self.join,
        })
    }
}
