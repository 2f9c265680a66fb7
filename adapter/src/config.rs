//! Launch and attach settings: what a `launch.json` may say.

use crate::children::{Following, Words, following};
use crate::core_file::CorePlan;
use crate::protocol::{RawSettings, read_arguments};
use crate::signals::SignalSettings;
use crate::source_map::SourceMap;
use crate::symbol_cache::SymbolCache;
use engine::StdioTarget;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Settings of a `launch` request.
#[derive(Deserialize, Debug, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct LaunchSettings {
    program: Option<PathBuf>,
    #[serde(alias = "corefile", alias = "core", alias = "coreDumpPath")]
    core_file: Option<PathBuf>,
    args: Args,
    cwd: Option<PathBuf>,
    env: Env,
    env_file: Option<PathBuf>,
    stdio: Stdio,
    source_map: PathPairs,
    /// Where the program's input and output go.
    pub console: Console,
    /// Stop before the first instruction.
    pub stop_on_entry: bool,
    #[serde(rename = "disableASLR", alias = "disableAslr")]
    disable_aslr: Option<bool>,
    /// What becomes of the program where `disconnect` does not say.
    pub terminate_debuggee: Option<bool>,
    /// How long the program may take to end when it is asked to, in seconds.
    terminate_timeout: Option<f64>,
    /// Which processes that the program makes are followed.
    follow_fork: Option<String>,
    /// What such a process has to run.
    follow_fork_programs: Words,
    /// How long one is held for a session of its own, in seconds.
    follow_fork_timeout: Option<f64>,
    /// Run without breakpoints.
    pub no_debug: bool,
    /// Where names are kept between sessions.
    pub symbol_cache: SymbolCache,
    /// How long a call in an expression may take, in seconds.
    call_timeout: Option<f64>,
    /// Each thread stops by itself.
    pub non_stop: bool,
    /// Fetch debug info that is not on this machine.
    pub debuginfod: bool,
    /// Which code steps go through.
    step_filters: StepFilters,
    /// What is done when the program gets a signal.
    pub signals: SignalSettings,
}

/// Settings of an `attach` request.
#[derive(Deserialize, Debug, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct AttachSettings {
    /// Each thread stops by itself.
    pub non_stop: bool,
    #[serde(alias = "processId")]
    pid: Option<i64>,
    #[serde(alias = "processName")]
    program: Option<String>,
    /// Wait for the next process of that program.
    pub wait_for: bool,
    #[serde(alias = "corefile", alias = "core", alias = "coreDumpPath")]
    core_file: Option<PathBuf>,
    /// Where the session of its parent hands the process over.
    #[serde(rename = "__handover")]
    pub handover: Option<PathBuf>,
    /// Which processes that the program makes are followed.
    follow_fork: Option<String>,
    /// What such a process has to run.
    follow_fork_programs: Words,
    /// How long one is held for a session of its own, in seconds.
    follow_fork_timeout: Option<f64>,
    source_map: PathPairs,
    /// Leave the program stopped.
    pub stop_on_entry: bool,
    /// What becomes of the program where `disconnect` does not say.
    pub terminate_debuggee: Option<bool>,
    /// How long the program may take to end when it is asked to, in seconds.
    terminate_timeout: Option<f64>,
    /// Where names are kept between sessions.
    pub symbol_cache: SymbolCache,
    /// How long a call in an expression may take, in seconds.
    call_timeout: Option<f64>,
    /// Fetch debug info that is not on this machine.
    pub debuginfod: bool,
    /// Which code steps go through.
    step_filters: StepFilters,
    /// What is done when the program gets a signal.
    pub signals: SignalSettings,
}

/// Which code steps go through rather than stop in.
#[derive(Deserialize, Debug)]
#[serde(
    untagged,
    expecting = "expected true, false, or a list of patterns of source paths"
)]
enum StepFilters {
    Switch(bool),
    Patterns(Vec<String>),
}

impl Default for StepFilters {
    fn default() -> Self {
        StepFilters::Switch(true)
    }
}

impl StepFilters {
    fn build(&self) -> Result<engine::StepFilters, String> {
        match self {
            StepFilters::Switch(false) => Ok(engine::StepFilters::none()),
            StepFilters::Switch(true) => Ok(engine::StepFilters::default()),
            StepFilters::Patterns(more) => engine::StepFilters::new(more)
                .map_err(|mistake| format!("`stepFilters`: {mistake}")),
        }
    }
}

/// What is to be attached to.
#[derive(PartialEq, Eq, Debug)]
pub enum Target {
    /// The process of that number.
    Pid(i32),
    /// The process that runs a program: a path (with a slash), or a name.
    Program(String),
    /// What a process has left.
    Core(CorePlan),
}

/// Where the program's input and output go.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Console {
    /// Output comes as events.
    #[default]
    #[serde(rename = "internalConsole")]
    Internal,
    /// A terminal of the editor.
    #[serde(rename = "integratedTerminal", alias = "terminal")]
    Integrated,
    /// A window of its own.
    #[serde(rename = "externalTerminal")]
    External,
}

#[derive(Deserialize, Debug)]
#[serde(untagged, expecting = "expected a list of strings, or one string")]
enum Args {
    List(Vec<Scalar>),
    Line(String),
}

impl Default for Args {
    fn default() -> Self {
        Args::List(Vec::new())
    }
}

#[derive(Deserialize, Debug)]
#[serde(
    untagged,
    expecting = "expected an object of strings, or a list of \"NAME=VALUE\""
)]
enum Env {
    Object(BTreeMap<String, Option<Scalar>>),
    List(Vec<String>),
}

impl Default for Env {
    fn default() -> Self {
        Env::List(Vec::new())
    }
}

#[derive(Deserialize, Debug)]
#[serde(
    untagged,
    expecting = "expected a list [stdin, stdout, stderr] of paths and nulls, or an object of them"
)]
enum Stdio {
    List(Vec<Option<PathBuf>>),
    Object(StdioObject),
}

impl Default for Stdio {
    fn default() -> Self {
        Stdio::List(Vec::new())
    }
}

#[derive(Deserialize, Clone, Debug)]
#[serde(deny_unknown_fields)]
struct StdioObject {
    stdin: Option<PathBuf>,
    stdout: Option<PathBuf>,
    stderr: Option<PathBuf>,
}

#[derive(Deserialize, Debug)]
#[serde(
    untagged,
    expecting = "expected an object {\"from\": \"to\"}, or a list of pairs [\"from\", \"to\"]"
)]
enum PathPairs {
    Object(BTreeMap<PathBuf, PathBuf>),
    List(Vec<(PathBuf, PathBuf)>),
}

impl Default for PathPairs {
    fn default() -> Self {
        PathPairs::List(Vec::new())
    }
}

impl PathPairs {
    fn to_map(&self) -> SourceMap {
        match self {
            PathPairs::Object(pairs) => SourceMap::new(pairs.clone()),
            PathPairs::List(pairs) => SourceMap::new(pairs.clone()),
        }
    }
}

/// A value that people write with or without quotes.
#[derive(Deserialize, Debug)]
#[serde(untagged, expecting = "expected a string")]
enum Scalar {
    Text(String),
    Bool(bool),
    Integer(i64),
    Float(f64),
}

impl Scalar {
    fn text(&self) -> String {
        match self {
            Scalar::Text(text) => text.clone(),
            Scalar::Bool(value) => value.to_string(),
            Scalar::Integer(value) => value.to_string(),
            Scalar::Float(value) => value.to_string(),
        }
    }
}

/// What launching comes to.
#[derive(Debug)]
pub struct LaunchPlan {
    /// For the engine.
    pub launch: engine::Launch,
    /// Changes to the environment, for a terminal that has its own.
    pub env_changes: BTreeMap<String, Option<String>>,
    /// Paths.
    pub source_map: SourceMap,
}

/// Reads settings, and gives a remark for each key that nobody knows.
///
/// # Errors
/// A value of the wrong type; the text names the key.
pub fn read<T: serde::de::DeserializeOwned>(
    settings: RawSettings,
    own_keys: &[&'static str],
) -> Result<(T, Vec<String>), String> {
    let notes = settings
        .0
        .keys()
        .filter(|key| !own_keys.contains(&key.as_str()) && !is_editors_key(key))
        .map(|key| unknown_key(key, own_keys))
        .collect();
    let read = read_arguments(serde_json::Value::Object(settings.0))?;
    Ok((read, notes))
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

fn unknown_key(key: &str, own_keys: &[&str]) -> String {
    let likeness = |own: &&&str| strsim::jaro_winkler(&key.to_lowercase(), &own.to_lowercase());
    let nearest = own_keys
        .iter()
        .max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
    match nearest {
        Some(nearest) => format!("unknown setting `{key}`; did you mean `{nearest}`?\n"),
        None => format!("unknown setting `{key}`\n"),
    }
}

impl LaunchSettings {
    /// The keys it has.
    pub const KEYS: &[&'static str] = &[
        "program",
        "coreFile",
        "corefile",
        "core",
        "coreDumpPath",
        "args",
        "cwd",
        "env",
        "envFile",
        "stdio",
        "sourceMap",
        "console",
        "stopOnEntry",
        "disableASLR",
        "terminateDebuggee",
        "terminateTimeout",
        "followFork",
        "followForkPrograms",
        "followForkTimeout",
        "noDebug",
        "symbolCache",
        "callTimeout",
        "nonStop",
        "debuginfod",
        "stepFilters",
        "signals",
    ];

    /// What is to be done, by what the settings say and, where they say nothing, by
    /// `directory` and `environment`.
    ///
    /// # Errors
    /// No program; settings that cannot be read; the text names the key.
    pub fn plan(
        &self,
        directory: &Path,
        environment: impl Iterator<Item = (OsString, OsString)>,
    ) -> Result<LaunchPlan, String> {
        let program = self
            .program
            .as_ref()
            .filter(|program| !program.as_os_str().is_empty())
            .ok_or("`program` is missing: the path of the program to debug")?;
        let cwd = match &self.cwd {
            Some(cwd) => directory.join(cwd),
            None => directory.to_owned(),
        };
        let program = cwd.join(program);
        let args = match &self.args {
            Args::List(list) => list.iter().map(Scalar::text).collect(),
            Args::Line(line) => {
                shlex::split(line).ok_or("`args`: a quote is not closed".to_owned())?
            }
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
                        .ok_or_else(|| format!("`env`: `{item}` is not NAME=VALUE"))?;
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
        Ok(LaunchPlan {
            launch: engine::Launch {
                program,
                args: args.into_iter().map(OsString::from).collect(),
                cwd,
                env: env.into_iter().collect(),
                stdio: stdio_targets(&self.stdio)?,
                disable_aslr: self.disable_aslr.unwrap_or(true),
            },
            env_changes,
            source_map: self.source_map.to_map(),
        })
    }
}

fn stdio_targets(stdio: &Stdio) -> Result<[StdioTarget; 3], String> {
    let mut paths = match stdio {
        Stdio::List(list) => list.clone(),
        Stdio::Object(object) => {
            let StdioObject {
                stdin,
                stdout,
                stderr,
            } = object.clone();
            vec![stdin, stdout, stderr]
        }
    };
    if paths.len() > 3 {
        return Err("`stdio` has more than the three entries stdin, stdout, stderr".to_owned());
    }
    paths.resize(3, None);
    let mut paths = paths.into_iter();
    Ok(std::array::from_fn(|_| match paths.next().flatten() {
        None => StdioTarget::Captured,
        Some(path) if path == Path::new("/dev/null") => StdioTarget::Null,
        Some(path) => StdioTarget::File(path),
    }))
}

/// Reads lines `NAME=VALUE`; `export` before and quotes around are taken off, `#` begins a
/// remark, nothing is expanded.
fn read_env_file(
    file: &Path,
    env: &mut BTreeMap<String, Option<String>>,
) -> Result<(), Box<dyn std::error::Error>> {
    for (index, line) in std::fs::read_to_string(file)?.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let line = line.strip_prefix("export ").unwrap_or(line);
        let (name, value) = line
            .split_once('=')
            .ok_or_else(|| format!("line {} is not NAME=VALUE", index + 1))?;
        env.insert(name.trim().to_owned(), Some(env_value(value.trim())));
    }
    Ok(())
}

fn env_value(text: &str) -> String {
    for quote in ['"', '\''] {
        let inside = text
            .strip_prefix(quote)
            .and_then(|text| text.split_once(quote));
        if let Some((value, _)) = inside {
            return value.to_owned();
        }
    }
    let remark = text.find(" #").unwrap_or(text.len());
    text[..remark].trim_end().to_owned()
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

impl LaunchSettings {
    /// The core file that is to be opened instead of a program's start.
    pub fn core(&self, directory: &Path) -> Option<CorePlan> {
        let cwd = self.cwd.as_ref().map(|cwd| directory.join(cwd));
        let directory = cwd.as_deref().unwrap_or(directory);
        CorePlan::of(
            self.core_file.as_deref(),
            self.program.as_deref(),
            directory,
        )
    }

    /// Its map of source paths, of what is not launched.
    pub fn source_map(&self) -> SourceMap {
        self.source_map.to_map()
    }

    /// How long a call in an expression may take, where it is said.
    pub fn call_limit(&self) -> Option<Duration> {
        call_limit(self.call_timeout)
    }

    /// How long the program may take to end when it is asked to; then it is killed.
    pub fn terminate_limit(&self) -> Duration {
        terminate_limit(self.terminate_timeout)
    }

    /// Which code steps go through.
    ///
    /// # Errors
    /// Patterns that are too long or too many.
    pub fn step_filters(&self) -> Result<engine::StepFilters, String> {
        self.step_filters.build()
    }

    /// What becomes of processes that it makes.
    ///
    /// # Errors
    /// A word that nobody knows; the text names the key.
    pub fn following(&self) -> Result<Following, String> {
        let follow = self.follow_fork.as_deref();
        following(follow, &self.follow_fork_programs, self.follow_fork_timeout)
    }
}

impl AttachSettings {
    /// How long a call in an expression may take, where it is said.
    pub fn call_limit(&self) -> Option<Duration> {
        call_limit(self.call_timeout)
    }

    /// How long the program may take to end when it is asked to; then it is killed.
    pub fn terminate_limit(&self) -> Duration {
        terminate_limit(self.terminate_timeout)
    }

    /// Which code steps go through.
    ///
    /// # Errors
    /// Patterns that are too long or too many.
    pub fn step_filters(&self) -> Result<engine::StepFilters, String> {
        self.step_filters.build()
    }

    /// What becomes of processes that it makes.
    ///
    /// # Errors
    /// A word that nobody knows; the text names the key.
    pub fn following(&self) -> Result<Following, String> {
        let follow = self.follow_fork.as_deref();
        following(follow, &self.follow_fork_programs, self.follow_fork_timeout)
    }

    /// The keys it has.
    pub const KEYS: &[&'static str] = &[
        "pid",
        "processId",
        "program",
        "processName",
        "waitFor",
        "coreFile",
        "corefile",
        "core",
        "coreDumpPath",
        "sourceMap",
        "stopOnEntry",
        "symbolCache",
        "callTimeout",
        "nonStop",
        "debuginfod",
        "stepFilters",
        "signals",
        "terminateDebuggee",
        "terminateTimeout",
        "followFork",
        "followForkPrograms",
        "followForkTimeout",
    ];

    /// The process, or what it has left.
    ///
    /// # Errors
    /// None is named, or no process has such a number.
    pub fn target(&self) -> Result<Target, String> {
        let program = self.program.clone().filter(|program| !program.is_empty());
        // The process's own directory is what a relative path starts from.
        let named = self.program.as_deref().map(Path::new);
        let core = CorePlan::of(self.core_file.as_deref(), named, Path::new(""));
        match (core, self.pid) {
            (Some(core), None) => return Ok(Target::Core(core)),
            (Some(_), Some(_)) => {
                return Err("`pid` and `coreFile`: only one of them can be looked at".to_owned());
            }
            (None, _) => {}
        }
        match (self.pid, program) {
            (None, Some(program)) => Ok(Target::Program(program)),
            (None, None) => Err(
                "`pid` is missing: the number of the process to attach to; or \
                                 name its `program`, or a `coreFile`"
                    .to_owned(),
            ),
            (Some(_), _) if self.wait_for => Err("`waitFor` waits for a process that is to be \
                                                  started: name its `program`, and no `pid`"
                .to_owned()),
            (Some(pid), _) => i32::try_from(pid)
                .ok()
                .filter(|pid| *pid > 0)
                .map(Target::Pid)
                .ok_or_else(|| format!("`pid`: {pid} is not the number of a process")),
        }
    }

    /// Its map of source paths.
    pub fn source_map(&self) -> SourceMap {
        self.source_map.to_map()
    }
}

#[cfg(test)]
mod tests;
