//! The arguments of the tools that start a program.

use super::FirstBreakpoint;
use super::Framework;
use crate::frontends::mcp::error::ToolError;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Declares the arguments of a tool that may start a program first: its own ones, and how the program is
/// started, which each such tool is given in the same way.
macro_rules! with_start {
    ($(#[$attribute:meta])* pub struct $name:ident { $($own:tt)* }) => {
        $(#[$attribute])*
        pub struct $name {
            $($own)*
            /// Launch this program first, in place of the present session.
            pub program: Option<String>,
            /// Its arguments.
            #[serde(default)]
            pub args: Vec<String>,
            /// Its working directory.
            pub cwd: Option<String>,
            /// Its further environment variables.
            #[serde(default)]
            pub env: BTreeMap<String, String>,
            /// File that it reads as stdin.
            pub stdin: Option<String>,
            /// File that its stdout goes to.
            pub stdout: Option<String>,
            /// Record it, to go back later.
            #[serde(default)]
            pub record: bool,
        }

        impl $name {
            /// Returns how a program is to be launched first; `None` if none is.
            ///
            /// # Errors
            /// There is no program that the further arguments are for.
            pub fn launch(&self) -> Result<Option<Launch>, ToolError> {
                let launch = Launch {
                    program: self.program.clone().unwrap_or_default(),
                    args: self.args.clone(),
                    cwd: self.cwd.clone(),
                    env: self.env.clone(),
                    stdin: self.stdin.clone(),
                    stdout: self.stdout.clone(),
                    record: self.record,
                    ..Launch::default()
                };
                match (&self.program, launch.first_detail()) {
                    (Some(_), _) => Ok(Some(launch)),
                    (None, None) => Ok(None),
                    (None, Some(detail)) => Err(ToolError::new(
                        "BAD_ARGUMENTS",
                        format!(
                            "`{detail}` belongs to `program`, which is missing; set it, or use \
                             debug_launch"
                        ),
                    )),
                }
            }
        }
    };
}

/// Arguments of `debug_launch`.
#[derive(Deserialize, JsonSchema, Debug, Clone, Default)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Launch {
    /// Path of the executable. Compile it with -g; -O0 or -Og keeps all variables. Needed unless
    /// `replay` is set.
    #[serde(default)]
    pub program: String,
    /// Arguments of the program.
    #[serde(default)]
    pub args: Vec<String>,
    /// Working directory of the program; that of this server if missing.
    pub cwd: Option<String>,
    /// Environment variables to add.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// File that the program reads as its stdin; empty if missing.
    pub stdin: Option<String>,
    /// File that the program's stdout goes to, instead of the replies.
    pub stdout: Option<String>,
    /// Record the program, also one with threads, so that debug_continue can go back in it (Linux,
    /// x86-64). It then also stops before it exits.
    #[serde(default)]
    pub record: bool,
    /// Instead of starting a program: open this recording, a file of `stillpoint record -o FILE --
    /// PROGRAM` or of the console's `:recording save FILE`. The reply is where it ends (the crash, the
    /// exit); debug_continue goes back in it. `program` names the executable if it has moved.
    pub replay: Option<String>,
    /// Breakpoints to set before the program runs: "FILE:LINE" or a function's name, or an object
    /// {"location": ..., "condition": ..., "hitCondition": ..., "message": ...} (with `message` it
    /// is a logpoint), or {"exception": ...}. With them, the program runs to its first stop, which
    /// is the reply; without them, it is held before its first instruction until debug_continue.
    pub breakpoints: Option<Vec<FirstBreakpoint>>,
    /// With `breakpoints`: how many seconds to wait for the first stop (30).
    pub timeout: Option<f64>,
    /// Accepted without an effect: a launch always ends the session before it.
    #[serde(default)]
    #[schemars(skip)]
    #[serde(rename = "replace")]
    pub _replace: bool,
    /// About how many characters the reply may have (6000).
    pub budget: Option<i64>,
    /// Further launch settings of Stillpoint: sourceMap, signals, stepFilters, followFork,
    /// disableASLR, callTimeout, debuginfod, …
    #[serde(default)]
    pub settings: Map<String, Value>,
    /// Whether the program stops once its libraries are loaded: what it lacks is known then, and nothing has run.
    #[serde(skip)]
    pub stops_with_libraries: bool,
}

impl Launch {
    /// Returns the name of an argument that says how the program is started, if one is given.
    fn first_detail(&self) -> Option<&'static str> {
        let details = [
            ("args", !self.args.is_empty()),
            ("cwd", self.cwd.is_some()),
            ("env", !self.env.is_empty()),
            ("stdin", self.stdin.is_some()),
            ("stdout", self.stdout.is_some()),
            ("record", self.record),
        ];
        details
            .into_iter()
            .find(|(_, given)| *given)
            .map(|(name, _)| name)
    }
}

/// Arguments of `debug_test`.
#[derive(Deserialize, JsonSchema, Debug, Default)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Test {
    /// Name of the test, or a part of it that no other test has. For pytest, FILE::NAME.
    pub name: String,
    /// "cargo", "ctest", "gtest" (GoogleTest), "catch2", "pytest"; if missing, from `dir`.
    pub framework: Option<Framework>,
    /// Folder of the cargo package or workspace, the CMake build folder, or the working directory;
    /// that of this server if missing.
    pub dir: Option<String>,
    /// With gtest and catch2: the test's executable. With pytest: the interpreter (python3).
    pub program: Option<String>,
    /// Further arguments: of cargo test (`-p`, `--features`), of cmake --build, or of the program.
    #[serde(default)]
    pub args: Vec<String>,
    /// Breakpoints to set first, as in debug_launch. The failure of the test stops it anyway.
    #[serde(default)]
    pub breakpoints: Vec<FirstBreakpoint>,
    /// Environment variables to add.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// File that the test reads as stdin; empty if missing.
    pub stdin: Option<String>,
    /// File that the test's stdout goes to.
    pub stdout: Option<String>,
    /// Record it, so that debug_continue can go back from the failure.
    #[serde(default)]
    pub record: bool,
    /// How many seconds the test may run (30). Then it is paused, and the reply says where it hangs.
    pub timeout: Option<f64>,
    /// About how many characters the reply may have (6000).
    pub budget: Option<i64>,
    /// Further launch settings of Stillpoint, as in debug_launch.
    #[serde(default)]
    pub settings: Map<String, Value>,
}

with_start! {
    /// Arguments of `debug_trace_call`.
    #[derive(Deserialize, JsonSchema, Debug, Default)]
    #[serde(rename_all = "camelCase", deny_unknown_fields)]
    pub struct TraceCall {
        /// The function, as for debug_breakpoint; it may be in a library that is not loaded yet.
        pub function: String,
        /// Which of its calls, counted from now (3: the third); the next one if missing, or the present
        /// one if the program is stopped at its beginning.
        pub hit: Option<u64>,
        /// Instead of `hit`: the first call for which this expression is true (`n > 3`).
        pub condition: Option<String>,
        /// How many levels of the functions that it calls are shown line by line (0, at most 5). Their
        /// arguments and results are shown in any case.
        pub depth: Option<u64>,
        /// Maximum length of the reply in bytes (4000).
        pub limit: Option<u64>,
        /// After how many seconds the program is paused (60); the reply then has what was seen so far.
        pub timeout: Option<f64>,
    }
}

with_start! {
    /// Arguments of `debug_calls`.
    #[derive(Deserialize, JsonSchema, Debug)]
    #[serde(rename_all = "camelCase", deny_unknown_fields)]
    pub struct Calls {
        /// Record the calls of these functions from now on: a name, or a pattern such as `shop::*`; `*` is
        /// all own functions (missing, with `program`: all). Then let the program run, and call this again
        /// without `functions`.
        pub functions: Option<String>,
        /// With `functions`: record only calls for which this holds at their entry, as an expression of the
        /// program, such as `n > 3`.
        pub condition: Option<String>,
        /// Show only calls for which this holds: conditions such as `function = price and n > 3 and
        /// returned < 0`, on function, returned, elapsed (ns), depth, thread and names of arguments;
        /// operators = != < <= > >= and ~ (contains).
        #[serde(rename = "where")]
        pub filter: Option<String>,
        /// Show only calls that have returned after the one with this number.
        pub since: Option<u64>,
        /// Count the calls by these fields instead of listing them, for example ["function", "returned"].
        pub group_by: Option<Vec<String>>,
        /// Maximum number of calls, the last ones, or of groups (50).
        pub limit: Option<usize>,
        /// With `program`: after how many seconds the reply comes if it still runs (30).
        pub timeout: Option<f64>,
        /// About how many characters the reply may have (4000).
        pub budget: Option<i64>,
    }
}

with_start! {
    /// Arguments of `debug_explain`.
    #[derive(Deserialize, JsonSchema, Debug, Default)]
    #[serde(rename_all = "camelCase", deny_unknown_fields)]
    pub struct Explain {
        /// The thread of a stopped program, by its number; the one that stopped last if missing.
        pub thread: Option<usize>,
        /// With `program`: after how many seconds it hangs (10).
        pub timeout: Option<f64>,
        /// Show addresses, which may differ from run to run, instead of 0x….
        #[serde(default)]
        pub addresses: bool,
    }
}
