//! Settings of a `launch` request.

use super::core_file::CorePlan;
use super::record::Record;
use super::values::{Args, Env, Scalar, Stdio, read_env_file};
use super::{Common, RequestSettings};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Settings of `launch` only.
#[derive(Deserialize, Debug, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct LaunchSettings {
    program: Option<PathBuf>,
    args: Args,
    cwd: Option<PathBuf>,
    env: Env,
    env_file: Option<PathBuf>,
    stdio: Stdio,
    /// The program's console.
    pub console: Console,
    #[serde(rename = "disableASLR", alias = "disableAslr")]
    disable_aslr: Option<bool>,
    record: Record,
    replay: Option<PathBuf>,
    /// Whether to run without breakpoints.
    pub no_debug: bool,
    stop_at_main: bool,
}

impl RequestSettings for LaunchSettings {
    const KEYS: &[&'static str] = &[
        "program",
        "args",
        "cwd",
        "env",
        "envFile",
        "stdio",
        "console",
        "disableASLR",
        "record",
        "replay",
        "noDebug",
        "stopAtMain",
    ];
}

/// The program's console: where its input and output go.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Console {
    /// Output is sent as events.
    #[default]
    #[serde(rename = "internalConsole")]
    Internal,
    /// A terminal in the editor.
    #[serde(rename = "integratedTerminal", alias = "terminal")]
    Integrated,
    /// A terminal in a window of its own.
    #[serde(rename = "externalTerminal")]
    External,
}

/// A recording to open.
#[derive(Debug, PartialEq, Eq)]
pub struct ReplayPlan {
    /// Its file.
    pub recording: PathBuf,
    /// The executable, if it has moved.
    pub program: Option<PathBuf>,
}

/// The launch as the session uses it.
#[derive(Debug)]
pub struct LaunchPlan {
    /// The engine's part.
    pub launch: engine::Launch,
    /// Changes to the environment, for a terminal with an environment of its own.
    pub env_changes: BTreeMap<String, Option<String>>,
    /// Whether to stop at the program's `main`.
    pub stop_at_main: bool,
    /// The file that the recording is written to at the end.
    pub recording: Option<PathBuf>,
}

impl LaunchSettings {
    /// Returns the core file to open instead of a launch, if one is set.
    pub fn core(&self, common: &Common, directory: &Path) -> Option<CorePlan> {
        let cwd = self.cwd.as_ref().map(|cwd| directory.join(cwd));
        let directory = cwd.as_deref().unwrap_or(directory);
        common.core(self.program.as_deref(), directory)
    }

    /// Returns the recording to open instead of a launch, if one is set.
    ///
    /// # Errors
    /// Another setting excludes that; the text names both keys.
    pub fn replay(&self, common: &Common, directory: &Path) -> Result<Option<ReplayPlan>, String> {
        let named = |path: &Option<PathBuf>| {
            let path = path.as_ref().filter(|path| !path.as_os_str().is_empty());
            path.map(|path| match &self.cwd {
                Some(cwd) => directory.join(cwd).join(path),
                None => directory.join(path),
            })
        };
        let Some(recording) = named(&self.replay) else {
            return Ok(None);
        };
        let program = named(&self.program);
        let has_core = common.core(None, directory).is_some();
        for (key, is_set) in [("record", self.record.is_set()), ("coreFile", has_core)] {
            if is_set {
                return Err(format!(
                    "`replay` and `{key}` exclude each other; remove one of them"
                ));
            }
        }
        Ok(Some(ReplayPlan { recording, program }))
    }

    /// Checks that the program can be recorded, if it is to be.
    ///
    /// # Errors
    /// Another setting excludes that; the text names both keys.
    pub fn check_recording(&self, common: &Common) -> Result<(), String> {
        let in_terminal = self.console != Console::Internal;
        let conflict = match common.conflict_with_recording() {
            None if in_terminal => Some(("console", "internalConsole")),
            conflict => conflict,
        };
        match conflict {
            Some((key, value)) if self.is_recorded() => Err(format!(
                "`record` and this `{key}` exclude each other; set `{key}` to {value}, or `record` to \
                 false"
            )),
            _ => Ok(()),
        }
    }

    /// Nothing stops a program that is not debugged, so that it cannot be gone back in.
    fn is_recorded(&self) -> bool {
        self.record.is_set() && !self.no_debug
    }

    /// Builds the launch. `directory` and `environment` are the defaults for the working directory
    /// and the environment.
    ///
    /// # Errors
    /// The program is missing, or a setting is invalid; the text names the key.
    pub fn plan(
        &self,
        directory: &Path,
        environment: impl Iterator<Item = (OsString, OsString)>,
    ) -> Result<LaunchPlan, String> {
        let program = self
            .program
            .as_ref()
            .filter(|program| !program.as_os_str().is_empty())
            .ok_or("`program` is missing; set it to the path of the executable")?;
        let cwd = match &self.cwd {
            Some(cwd) => directory.join(cwd),
            None => directory.to_owned(),
        };
        let program = cwd.join(program);
        let args = match &self.args {
            Args::List(list) => list.iter().map(Scalar::text).collect(),
            Args::Line(line) => shlex::split(line).ok_or("`args`: unclosed quote".to_owned())?,
        };
        let mut env_changes = BTreeMap::new();
        if let Some(file) = &self.env_file {
            let file = cwd.join(file);
            read_env_file(&file, &mut env_changes)
                .map_err(|error| format!("`envFile`: {}: {error}", file.display()))?;
        }
        match &self.env {
            Env::Object(object) => {
                env_changes.extend(
                    object
                        .iter()
                        .map(|(k, v)| (k.clone(), v.as_ref().map(Scalar::text))),
                );
            }
            Env::List(list) => {
                for item in list {
                    let (name, value) = item
                        .split_once('=')
                        .ok_or_else(|| format!("`env`: expected NAME=VALUE, found `{item}`"))?;
                    env_changes.insert(name.to_owned(), Some(value.to_owned()));
                }
            }
        }
        let mut env: BTreeMap<OsString, OsString> = environment.collect();
        for (name, value) in &env_changes {
            match value {
                Some(value) => env.insert(name.into(), value.into()),
                None => env.remove(std::ffi::OsStr::new(name)),
            };
        }
        let recording = self.record.file(&cwd)?;
        Ok(LaunchPlan {
            stop_at_main: self.stop_at_main,
            recording: recording.filter(|_| self.is_recorded()),
            launch: engine::Launch {
                program,
                args: args.into_iter().map(OsString::from).collect(),
                cwd,
                env: env.into_iter().collect(),
                stdio: self.stdio.targets()?,
                disable_aslr: self.disable_aslr.unwrap_or(true),
                record: self.is_recorded(),
                chaos: self.record.chaos().filter(|_| self.is_recorded()),
            },
            env_changes,
        })
    }
}
