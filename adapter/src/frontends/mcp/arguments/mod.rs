//! The arguments of the tools. The schemas that clients see are generated from these types, and
//! agents read the comment of each member.

mod start;

pub use start::{Calls, Explain, Launch, Test, TraceCall};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

/// A number of seconds as clients write it, within bounds.
pub fn seconds(given: Option<f64>, usual: f64) -> std::time::Duration {
    let given = given.filter(|it| it.is_finite()).unwrap_or(usual);
    std::time::Duration::from_secs_f64(given.clamp(0.0, 3600.0))
}

/// A breakpoint that is set before the program runs.
#[derive(Deserialize, JsonSchema, Debug, Clone)]
#[serde(
    untagged,
    expecting = "\"FILE:LINE\", a function name, or an object with `location` or `exception` and \
                 optional `condition`, `hitCondition`, `message`"
)]
#[schemars(inline)]
pub enum FirstBreakpoint {
    /// Only a location.
    Place(String),
    /// With options.
    Options(BreakpointOptions),
}

/// A breakpoint with its options.
#[derive(Deserialize, JsonSchema, Debug, Clone, Default)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(inline)]
pub struct BreakpointOptions {
    /// Where to stop: "FILE:LINE", a function's name, an address in hex.
    pub location: Option<String>,
    /// Instead of `location`: an exception or signal, as for debug_breakpoint.
    pub exception: Option<String>,
    /// Stop only where this expression is true.
    pub condition: Option<String>,
    /// Stop only at some hits: "5" (the fifth), ">= 5", "% 10", "once".
    #[serde(alias = "hitCount")]
    pub hit_condition: Option<String>,
    /// Do not stop but write this, with expressions in braces, as debug_logpoint does.
    pub message: Option<String>,
}

/// Arguments of `debug_attach`.
#[derive(Deserialize, JsonSchema, Debug)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Attach {
    /// Process id of a running program. It is stopped; debug_stop detaches it.
    pub pid: Option<i64>,
    /// Instead of `pid`: name or path of the running program. With `core`: the executable, if
    /// it was moved.
    pub program: Option<String>,
    /// Instead of `pid`: path of a core file of a crashed program.
    pub core: Option<String>,
    /// About how many characters the reply may have (6000).
    pub budget: Option<i64>,
    /// Further attach settings of Stillpoint: sourceMap, signals, stepFilters, …
    #[serde(default)]
    pub settings: Map<String, Value>,
}

/// Arguments of `debug_breakpoint`.
#[derive(Deserialize, JsonSchema, Debug)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Breakpoint {
    /// The action: "add" (if missing), "remove" (needs `id`), "list".
    #[serde(default)]
    pub action: BreakpointAction,
    /// Where to stop: "FILE:LINE", or a function's name (`total`, `Shape::area`,
    /// `crate::module::f`, or a regular expression as in `/^parse_/`), or an address in hex where
    /// there is no debug info. Names survive edits of the source better than lines.
    pub location: Option<String>,
    /// Instead of `location`: stop when the value of this variable or expression is written
    /// (needs a stopped program).
    pub watch: Option<String>,
    /// With `watch`: "write" (if missing: when the value changes), "read", "readWrite".
    pub access: Option<Access>,
    /// Instead of `location`: stop for exceptions or signals: cpp_throw, cpp_catch,
    /// cpp_uncaught, rust_panic, sanitizer, signals, SIGUSR1, … (cpp_uncaught, rust_panic,
    /// sanitizer and deadly signals stop anyway).
    pub exception: Option<String>,
    /// Stop only where this expression is true, in the language of the program (`i == 7 &&
    /// name == "bob"`). For exceptions: types or text of the message.
    pub condition: Option<String>,
    /// Stop only at some hits: "5" (the fifth), ">= 5", "% 10", "once".
    #[serde(alias = "hitCount")]
    pub hit_condition: Option<String>,
    /// With "remove": the number that adding gave; 0 removes all.
    pub id: Option<u32>,
}

/// Actions of `debug_breakpoint`.
#[derive(Deserialize, JsonSchema, Debug, Default, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum BreakpointAction {
    /// Sets a breakpoint.
    #[default]
    Add,
    /// Removes a breakpoint.
    Remove,
    /// Lists breakpoints.
    List,
}

/// Which accesses a watched variable stops at.
#[derive(Deserialize, JsonSchema, Debug, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub enum Access {
    /// Writes that change the value.
    Write,
    /// Reads.
    Read,
    /// Reads and writes.
    ReadWrite,
}

/// Arguments of `debug_logpoint`.
#[derive(Deserialize, JsonSchema, Debug)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Logpoint {
    /// Where: "FILE:LINE".
    pub location: String,
    /// The message, with expressions in braces: "i={i} name={user.name}". Nothing
    /// stops; debug_output with stream "console" has the lines.
    pub message: String,
    /// Only where this expression is true.
    pub condition: Option<String>,
    /// Only at some hits: "5", ">= 5", "% 10", "once".
    #[serde(alias = "hitCount")]
    pub hit_condition: Option<String>,
}

/// Arguments of `debug_continue`.
#[derive(Deserialize, JsonSchema, Debug, Default)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Continue {
    /// "continue" (if missing), "step-over", "step-into", "step-out", "run-to" (needs `to`),
    /// "pause" (stops a running program), "wait" (for the next stop of a running program),
    /// "restart" (launches the program anew, also after its end; breakpoints stay). If it was
    /// launched with `record`, also "reverse-continue" (back to the last breakpoint, watched write or
    /// exception), "reverse-step-over", "reverse-step-into", "reverse-step-out" (to the call).
    pub action: Option<Action>,
    /// With "run-to", or with "reverse-continue" (the last time it was there): "FILE:LINE", a
    /// function's name, or an address in hex.
    pub to: Option<String>,
    /// With "reverse-continue": go back to the last write that has changed this variable or
    /// expression.
    pub written: Option<String>,
    /// With `written`: the frame that the expression is of, by its level; the one of the last stop if missing.
    pub frame: Option<u32>,
    /// With `written`: follow the value back through copies, arguments and results to where it was
    /// computed or came from; the reply begins with the places on the way.
    #[serde(default, alias = "through_copies")]
    pub through_copies: bool,
    /// With "reverse-continue" and `to`: the time that the program was there, counted from the start
    /// (3: the third), before or after the shown place.
    pub hit: Option<i64>,
    /// The thread that steps, by its number; the one that stopped last if missing.
    pub thread: Option<usize>,
    /// How many seconds to wait for the stop (30). Then the reply says that the program is
    /// running, and {"action": "wait"} keeps waiting.
    pub timeout: Option<f64>,
    /// About how many characters the reply may have (6000).
    pub budget: Option<i64>,
    /// Show addresses, which may differ from run to run, instead of 0x….
    #[serde(default)]
    pub addresses: bool,
    /// Where the program should stop: a function's name or "FILE:LINE". If it stops elsewhere, or
    /// not, the reply begins with that.
    pub expect: Option<String>,
}

/// Actions of `debug_continue`.
#[derive(Deserialize, JsonSchema, Debug, Default, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub enum Action {
    /// Resumes until the next stop.
    #[default]
    Continue,
    /// Steps to the next line.
    StepOver,
    /// Steps into a call.
    StepInto,
    /// Steps out to the caller.
    StepOut,
    /// Resumes until a location.
    RunTo,
    /// Stops the program.
    Pause,
    /// Waits for the next stop.
    Wait,
    /// Starts the program again.
    Restart,
    /// Runs back to the last stop.
    ReverseContinue,
    /// Steps back to the line before.
    ReverseStepOver,
    /// Steps back into a call.
    ReverseStepInto,
    /// Goes back to the call of the function.
    ReverseStepOut,
}

/// Test frameworks.
#[derive(Deserialize, JsonSchema, Debug, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Framework {
    /// Rust's.
    Cargo,
    /// CMake's.
    Ctest,
    /// GoogleTest.
    Gtest,
    /// Catch2.
    Catch2,
    /// Python's.
    Pytest,
}

/// Arguments of `debug_past`.
#[derive(Deserialize, JsonSchema, Debug, Default)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Past {
    /// Show this stop: stack, variables, memory and expressions are as they were.
    pub stop: Option<i64>,
    /// Return to the present stop.
    #[serde(default)]
    pub present: bool,
    /// List the variables that have changed since this stop, until `stop` or the one that is shown.
    pub since: Option<i64>,
    /// List system calls of the recording, with arguments and results, from this number on; 0: the
    /// last ones before the shown place.
    pub calls: Option<i64>,
    /// How many system calls to list (20).
    pub count: Option<i64>,
    /// Go to behind the system call of this number.
    pub call: Option<i64>,
}

/// Arguments of `debug_search`.
#[derive(Deserialize, JsonSchema, Debug)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Search {
    /// What to find: a number (`42`), part of a string in quotes (`"abc"`), a word (also the name
    /// of an enumerator), or an address in hex (pointers to it, and the object at it).
    pub wanted: String,
    /// The frame whose variables the search begins with, by its level; the one of the last stop if
    /// missing.
    pub frame: Option<u32>,
    /// The thread, by its number; the one that stopped last if missing.
    pub thread: Option<usize>,
    /// Maximum number of results (20).
    pub limit: Option<u64>,
    /// Show addresses, which may differ from run to run, instead of 0x….
    #[serde(default)]
    pub addresses: bool,
}

/// Arguments of `debug_stack`.
#[derive(Deserialize, JsonSchema, Debug, Default)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Stack {
    /// The thread, by its number; the one that stopped last if missing.
    pub thread: Option<usize>,
    /// List the threads instead, a line each: kernel id, location, owner of a mutex it waits for.
    #[serde(default)]
    pub threads: bool,
    /// The stacks of all threads instead, with frames of libraries folded.
    #[serde(default)]
    pub all: bool,
    /// The first frame (0: the innermost; -5: the fifth from the outermost).
    pub start: Option<i64>,
    /// How many frames (20).
    pub levels: Option<u32>,
    /// About how many characters the reply may have (6000).
    pub budget: Option<i64>,
    /// Show addresses, which may differ from run to run, instead of 0x….
    #[serde(default)]
    pub addresses: bool,
}

/// Arguments of `debug_variables`.
#[derive(Deserialize, JsonSchema, Debug, Default)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Variables {
    /// What to open: "locals" (if missing: arguments and locals), "globals", "registers".
    #[serde(default)]
    pub scope: Scope,
    /// Instead of a scope: an expression whose members or elements are shown
    /// (`list->next`, `users[3]`, `map["key"]`).
    pub expression: Option<String>,
    /// Only variables whose names contain this text.
    pub filter: Option<String>,
    /// The first one (0).
    #[serde(default)]
    pub start: u32,
    /// How many (50).
    pub count: Option<u32>,
    /// The frame, by its level as debug_stack shows it; the one of the last stop if
    /// missing.
    pub frame: Option<u32>,
    /// The thread, by its number; the one that stopped last if missing.
    pub thread: Option<usize>,
    /// Integers in hex.
    #[serde(default)]
    pub hex: bool,
    /// About how many characters the reply may have (6000).
    pub budget: Option<i64>,
    /// Show addresses, which may differ from run to run, instead of 0x….
    #[serde(default)]
    pub addresses: bool,
}

/// Scopes of variables.
#[derive(Deserialize, JsonSchema, Debug, Default, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Scope {
    /// Arguments and locals.
    #[default]
    Locals,
    /// Variables of static storage of the frame's file.
    Globals,
    /// The processor's registers.
    Registers,
}

/// Arguments of `debug_read`.
#[derive(Deserialize, JsonSchema, Debug)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Read {
    /// What to read: a variable or any expression that is in memory (`buffer`,
    /// `node->name`), a pointer's target (`*p`), or an address ("0x7fffffffe000").
    pub location: String,
    /// How many bytes; if missing those of the variable, or 64 of an address.
    pub count: Option<u32>,
    /// The frame, by its level; the one of the last stop if missing.
    pub frame: Option<u32>,
    /// The thread, by its number; the one that stopped last if missing.
    pub thread: Option<usize>,
}

/// Arguments of `debug_write`.
#[derive(Deserialize, JsonSchema, Debug)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Write {
    /// What to change: a local, a global, a member, a register (`$rax`), or memory at an address
    /// (`*(int *)0x7fffffffe000`, in Rust `*(0x7fffffffe000 as *mut i32)`).
    pub location: String,
    /// The new value: an expression in the language of the program.
    pub value: String,
    /// The frame, by its level; the one of the last stop if missing.
    pub frame: Option<u32>,
    /// The thread, by its number; the one that stopped last if missing.
    pub thread: Option<usize>,
    /// Show addresses, which may differ from run to run, instead of 0x….
    #[serde(default)]
    pub addresses: bool,
}

/// Arguments of `debug_evaluate`.
#[derive(Deserialize, JsonSchema, Debug)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Evaluate {
    /// An expression in the language of the program (C, C++, Rust). It may call functions of
    /// the program and assign. `expr,x` shows integers in hex, `p,10` ten elements.
    pub expression: String,
    /// The frame, by its level; the one of the last stop if missing.
    pub frame: Option<u32>,
    /// The thread, by its number; the one that stopped last if missing.
    pub thread: Option<usize>,
    /// About how many characters the reply may have (2000).
    pub budget: Option<i64>,
    /// Show addresses, which may differ from run to run, instead of 0x….
    #[serde(default)]
    pub addresses: bool,
}

/// Arguments of `debug_trace`.
#[derive(Deserialize, JsonSchema, Debug, Default)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Trace {
    /// "read" (the default): what was recorded; "add": a tracepoint; "remove" it.
    pub action: Option<TraceAction>,
    /// With "add": "FILE:LINE" or a function's name.
    pub location: Option<String>,
    /// With "add": values to record and aggregates, separated by commas; then optionally `by KEY,
    /// ...`, `where CONDITION`, `keep N` (records). For example `count(), max(n) by kind where n >
    /// 3`. Aggregates: count() sum(x) min(x) max(x) mean(x) hist(x) hist(x, from, to, step)
    /// distinct(x) top(N, x) last(x, N) rate() (hits over time). Keys and values may be `thread` and `stack`;
    /// `since(PLACE)` is the time in ns since the thread passed another place, `since(PLACE, KEY)`
    /// since it was passed with the same key. Hits are counted if missing.
    pub query: Option<String>,
    /// The number of a tracepoint; with "read", all if missing.
    pub id: Option<i64>,
    /// Maximum number of rows of each table (20).
    pub rows: Option<i64>,
    /// Maximum number of records, the last ones (20).
    pub records: Option<i64>,
    /// About how many characters the reply may have (4000).
    pub budget: Option<i64>,
}

/// What to do with tracepoints.
#[derive(Deserialize, JsonSchema, Debug, Default, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum TraceAction {
    /// Show what they have recorded.
    #[default]
    Read,
    /// Set one.
    Add,
    /// Remove one, and what it has recorded.
    Remove,
}

/// Arguments of `debug_output`.
#[derive(Deserialize, JsonSchema, Debug, Default)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Output {
    /// "stdout", "stderr", "console" (the debugger's: logpoints, notes); all of them if missing.
    pub stream: Option<OutputStream>,
    /// The cursor of an earlier reply, to continue from there; if missing, the end of the
    /// output.
    pub since: Option<u64>,
    /// About how many characters the reply may have (4000).
    pub budget: Option<i64>,
}

/// Streams of output.
#[derive(Deserialize, JsonSchema, Debug, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum OutputStream {
    /// The program's stdout.
    Stdout,
    /// The program's stderr.
    Stderr,
    /// Logpoints and notes of the debugger.
    Console,
}

/// Arguments of `debug_stop`.
#[derive(Deserialize, JsonSchema, Debug, Default)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Stop {
    /// Detach the program and keep it running; if missing, a launched program is killed and an
    /// attached one detached.
    pub detach: Option<bool>,
}
