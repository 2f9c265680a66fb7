//! Settings of an `attach` request.

use super::core_file::CorePlan;
use super::{Common, RequestSettings};
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// Settings of `attach` only.
#[derive(Deserialize, Debug, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct AttachSettings {
    #[serde(alias = "processId")]
    pid: Option<i64>,
    #[serde(alias = "processName")]
    program: Option<String>,
    /// Whether to wait for the next process of that program.
    pub wait_for: bool,
    /// The socket on which the parent's session hands the process over.
    #[serde(rename = "__handover")]
    pub handover: Option<PathBuf>,
}

impl RequestSettings for AttachSettings {
    const KEYS: &[&'static str] = &["pid", "processId", "program", "processName", "waitFor"];
}

/// What to attach to.
#[derive(PartialEq, Eq, Debug)]
pub enum Target {
    /// The process with this id.
    Pid(i32),
    /// The process that runs a program: a path (with a slash), or a name.
    Program(String),
    /// A core file.
    Core(CorePlan),
}

impl AttachSettings {
    /// Returns the process or core file to attach to.
    ///
    /// # Errors
    /// None is set, or the number is not a process id.
    pub fn target(&self, common: &Common) -> Result<Target, String> {
        let program = self.program.clone().filter(|program| !program.is_empty());
        // A relative path is relative to the adapter's working directory.
        let named = self.program.as_deref().map(Path::new);
        let core = common.core(named, Path::new(""));
        match (core, self.pid) {
            (Some(core), None) => return Ok(Target::Core(core)),
            (Some(_), Some(_)) => {
                return Err("`pid` and `coreFile` exclude each other; set one of them".to_owned());
            }
            (None, _) => {}
        }
        match (self.pid, program) {
            (None, Some(program)) => Ok(Target::Program(program)),
            (None, None) => Err(
                "`pid` is missing; set it to the process to attach to, or set `program` or \
                 `coreFile`"
                    .to_owned(),
            ),
            (Some(_), _) if self.wait_for => {
                Err("`waitFor` excludes `pid`; set `program`".to_owned())
            }
            (Some(pid), _) => i32::try_from(pid)
                .ok()
                .filter(|pid| *pid > 0)
                .map(Target::Pid)
                .ok_or_else(|| format!("`pid`: {pid} is not a process id")),
        }
    }
}
