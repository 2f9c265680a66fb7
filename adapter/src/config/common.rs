//! Settings that `launch` and `attach` have in common, and that hold from then on.

use super::core_file::CorePlan;
use super::follow_fork::{FollowForkPlan, OneOrMany, follow_fork_plan};
use super::symbol_cache::SymbolCache;
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// As they are written.
#[derive(Deserialize, Debug, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct Common {
    #[serde(alias = "corefile", alias = "core", alias = "coreDumpPath")]
    core_file: Option<PathBuf>,
    stop_on_entry: bool,
    terminate_debuggee: Option<bool>,
    follow_fork: Option<String>,
    follow_fork_programs: OneOrMany,
    /// In seconds.
    follow_fork_timeout: Option<f64>,
    symbol_cache: SymbolCache,
    non_stop: bool,
    debuginfod: bool,
}

/// What they come to.
pub struct CommonPlan {
    /// Stop before the first instruction, or leave the program stopped.
    pub stop_on_entry: bool,
    /// What becomes of the program where `disconnect` does not say.
    pub terminate_debuggee: Option<bool>,
    /// What becomes of processes that it makes.
    pub following: FollowForkPlan,
    /// Where names are kept between sessions.
    pub symbol_cache: SymbolCache,
    /// Each thread stops by itself.
    pub non_stop: bool,
    /// Fetch debug info that is not on this machine.
    pub debuginfod: bool,
}

impl Common {
    /// The keys it has.
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
            stop_on_entry: self.stop_on_entry,
            terminate_debuggee: self.terminate_debuggee,
            following: follow_fork_plan(
                follow,
                &self.follow_fork_programs,
                self.follow_fork_timeout,
            )?,
            symbol_cache: self.symbol_cache.clone(),
            non_stop: self.non_stop,
            debuginfod: self.debuginfod,
        })
    }
}
