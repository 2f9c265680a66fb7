//! The table of tools: name, description, arguments, implementation.

use super::arguments;
use super::error::ToolError;
use super::link::Phase;
use super::meant;
use super::run::WaitResult;
use super::schema;
use super::session::Session;
use crate::protocol;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::Mutex;

/// The state shared by all calls.
#[derive(Default)]
pub struct Tools {
    session: Mutex<Option<Arc<Session>>>,
    /// The socket of another client's session, which is only looked at; without one, the newest.
    joined: Option<Option<PathBuf>>,
}

/// The tools that only look.
const LOOKING: [&str; 10] = [
    "debug_trace",
    "debug_continue",
    "debug_calls",
    "debug_explain",
    "debug_stack",
    "debug_variables",
    "debug_read",
    "debug_evaluate",
    "debug_search",
    "debug_output",
];

/// A tool's description for clients.
struct ToolInfo {
    name: &'static str,
    title: &'static str,
    about: &'static str,
    schema: fn() -> Value,
    /// Whether it changes neither the program nor the session.
    reads_only: bool,
    set: ToolSet,
}

/// Which tools a listing has. All can be called.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ToolSet {
    /// Those that most tasks need.
    #[default]
    Few,
    /// All.
    All,
    /// Those for another client's session.
    #[value(skip)]
    Looking,
}

const fn tool_info<T: JsonSchema + 'static>(
    name: &'static str,
    title: &'static str,
    about: &'static str,
    reads_only: bool,
    set: ToolSet,
) -> ToolInfo {
    ToolInfo {
        name,
        title,
        about,
        schema: schema::of::<T>,
        reads_only,
        set,
    }
}

/// All tools, in the order of the listing.
const TOOLS: [ToolInfo; 19] = [
    tool_info::<arguments::Launch>(
        "debug_launch",
        "Start a program under the debugger",
        "Starts a native program (C, C++, Rust) under the debugger. With `breakpoints`, it runs \
         to its first stop, and the reply describes that stop: reason, source, variables, stack, \
         output. Without, it is held before its first instruction: set breakpoints, then call \
         debug_continue. One program at a time: the next launch or the end of this server ends it. \
         Crashes, panics and uncaught exceptions always stop it.",
        false,
        ToolSet::Few,
    ),
    tool_info::<arguments::Attach>(
        "debug_attach",
        "Attach to a process, or open a core file",
        "Stops a running process and describes the stop, or opens the core file of a crashed one \
         (for inspection only).",
        false,
        ToolSet::All,
    ),
    tool_info::<arguments::Test>(
        "debug_test",
        "Run one test under the debugger",
        "Builds and runs one test of cargo, ctest, GoogleTest, Catch2 or pytest under the debugger. \
         It stops where the test fails (panic, failed assertion, crash), and the reply describes \
         that stop. A test that runs longer than `timeout` is paused, and the reply says where it \
         hangs.",
        false,
        ToolSet::Few,
    ),
    tool_info::<arguments::Breakpoint>(
        "debug_breakpoint",
        "Add, remove, list breakpoints",
        "Adds a breakpoint on a line, a function, the data of an expression (`watch`) or an \
         exception, with an optional condition or hit count; removes or lists breakpoints. Works \
         at any time. A line without code is an error that names valid lines; an invalid \
         condition is an error, too.",
        false,
        ToolSet::Few,
    ),
    tool_info::<arguments::Logpoint>(
        "debug_logpoint",
        "Write a message at a line without stopping",
        "Writes a message with values each time a line is reached, without stopping: one run \
         instead of many stops. debug_output has the messages; debug_breakpoint lists and removes \
         logpoints too.",
        false,
        ToolSet::All,
    ),
    tool_info::<arguments::Trace>(
        "debug_trace",
        "Count, sum up or record at a line",
        "Records at each hit of a line or function, without stopping and without slowing the \
         program down: counts, sums, extremes, histograms by keys, or the last values. One run \
         answers what would take a stop per hit. Works at any time; what was recorded can be \
         read while the program runs, at a stop, and after its end.",
        false,
        ToolSet::All,
    ),
    tool_info::<arguments::Continue>(
        "debug_continue",
        "Run, step, pause, wait",
        "Resumes the program (continue, step-over, step-into, step-out, run-to) and waits for its \
         next stop; or pauses a running one, or waits for it; or restarts it with its \
         breakpoints. If it was launched with `record`, it also goes back: by steps, to a breakpoint, \
         or to who wrote a variable last (reverse-continue with `written`). The reply describes the stop: reason, source around the line, arguments and \
         locals, changes, stack, new output, other threads. If nothing stops within `timeout`, \
         the reply is that the program is running; if it has ended, its exit code or signal.",
        false,
        ToolSet::Few,
    ),
    tool_info::<arguments::TraceCall>(
        "debug_trace_call",
        "One whole call of a function, as one text",
        "Runs to a call of a function and through it, and replies with the whole call: arguments, \
         each line with the variables that it changed (loops folded), the calls that it makes \
         with arguments and results, exceptions, the result, and what it changed through \
         pointers. Instead of many steps. The program is then stopped in the caller, or at what \
         came first: a breakpoint, a crash, the end. With `program`, no debug_launch is needed.",
        false,
        ToolSet::Few,
    ),
    tool_info::<arguments::Calls>(
        "debug_calls",
        "History of calls: arguments and results",
        "Records all calls of some functions (a name or a pattern such as `shop::*`) with arguments, \
         results and nesting while the program runs at full speed, and queries that history: which \
         calls returned -1, which had n > 3, how often each result. With `program` and `where`, one call \
         launches, runs and answers. Works at any time, also after a crash.",
        false,
        ToolSet::Few,
    ),
    tool_info::<arguments::Explain>(
        "debug_explain",
        "Why it crashed or hangs",
        "Explains a stop or a hang in one reply: what has happened, the lines of the stack with the \
         values that they use, what each thread waits for and at which lock, and threads that wait \
         for each other. A running program is paused first; if a thread computes, it is looked at \
         several times, and the reply says in which loop it is and what changes there. With \
         `program`, that program is launched and run until it crashes or hangs.",
        false,
        ToolSet::Few,
    ),
    tool_info::<arguments::Past>(
        "debug_past",
        "Earlier stops, as they were",
        "Lists the last stops of the program, shows one of them (stack, variables and memory of \
         then, in all threads; nothing can be changed), or lists the variables that changed between \
         two. Cheaper than to run again when the program went too far. In a recorded program, it lists \
         system calls and goes to behind one.",
        false,
        ToolSet::All,
    ),
    tool_info::<arguments::Stack>(
        "debug_stack",
        "Stack of a thread, or all threads",
        "The frames of a thread with their arguments, a deep recursion folded; with `threads`, all threads with their \
         locations; with `all`, all their stacks, and the owner of a mutex that a thread waits \
         for. Other tools take levels and thread numbers as `frame` and `thread`.",
        true,
        ToolSet::Few,
    ),
    tool_info::<arguments::Variables>(
        "debug_variables",
        "Variables of a frame, members of a value",
        "Arguments and locals of a frame, globals, registers; or the members or elements of a \
         value by an expression. Long lists come in parts (`start`, `count`).",
        true,
        ToolSet::All,
    ),
    tool_info::<arguments::Read>(
        "debug_read",
        "Read bytes of memory",
        "The bytes of a variable or of memory at an address, in hex and as characters.",
        true,
        ToolSet::All,
    ),
    tool_info::<arguments::Write>(
        "debug_write",
        "Change a variable or memory",
        "Changes a local, a global, a member, a register or memory at an address; the reply has \
         the previous and the new value.",
        false,
        ToolSet::All,
    ),
    tool_info::<arguments::Evaluate>(
        "debug_evaluate",
        "Evaluate an expression",
        "The value of an expression in the language of the program, at a frame. Containers, \
         strings and enums are shown in readable form; functions of the program may be called.",
        false,
        ToolSet::Few,
    ),
    tool_info::<arguments::Search>(
        "debug_search",
        "Find a value in reach of a frame",
        "Finds a number, a text or an address in the variables of a frame and in what these point \
         to and contain, and returns expressions for it: where else is this value?",
        true,
        ToolSet::All,
    ),
    tool_info::<arguments::Output>(
        "debug_output",
        "What the program wrote",
        "The last output of the program and the debugger, or what followed a cursor of an earlier \
         reply. Works at any time, also after the program's end.",
        true,
        ToolSet::Few,
    ),
    tool_info::<arguments::Stop>(
        "debug_stop",
        "End the session",
        "Ends the session: a launched program is killed, an attached one is detached; with \
         `detach`, either is detached.",
        false,
        ToolSet::All,
    ),
];

/// Returns the descriptions of the tools of a set, as the protocol has them.
pub fn list(set: ToolSet) -> Vec<Value> {
    let describe = |tool: &ToolInfo| {
        json!({
            "name": tool.name,
            "title": tool.title,
            "description": tool.about,
            "inputSchema": (tool.schema)(),
            "annotations": {"readOnlyHint": tool.reads_only, "openWorldHint": false},
        })
    };
    let listed = TOOLS.iter().filter(|tool| match set {
        ToolSet::All => true,
        ToolSet::Few => tool.set == ToolSet::Few,
        ToolSet::Looking => LOOKING.contains(&tool.name),
    });
    listed.map(describe).collect()
}

/// Checks that a tool of this name exists; the error is the nearest existing name.
pub fn find(name: &str) -> Result<(), &'static str> {
    if TOOLS.iter().any(|tool| tool.name == name) {
        return Ok(());
    }
    let near = |tool: &&ToolInfo| (strsim::normalized_levenshtein(name, tool.name) * 1e6) as u64;
    Err(TOOLS.iter().max_by_key(near).map_or("", |tool| tool.name))
}

/// Parses a tool's arguments.
fn read<T: DeserializeOwned>(arguments: Map<String, Value>) -> Result<T, ToolError> {
    protocol::from_value(&Value::Object(arguments))
        .map_err(|error| ToolError::new("BAD_ARGUMENTS", error.to_string()))
}

impl Tools {
    /// Returns the tools for the session of another client, which is joined by the first call. Without a
    /// socket: the newest session that guests may join.
    pub fn joining(socket: Option<PathBuf>) -> Tools {
        Tools {
            joined: Some(socket),
            ..Tools::default()
        }
    }

    /// Runs a tool and returns its text.
    ///
    /// # Errors
    /// The tool failed; the text is for the agent.
    pub async fn call(
        &self,
        name: &str,
        arguments: Map<String, Value>,
    ) -> Result<String, ToolError> {
        if !LOOKING.contains(&name) {
            self.may_act(name)?;
        }
        match name {
            "debug_launch" => self.launch(read(arguments)?).await,
            "debug_attach" => self.attach(read(arguments)?).await,
            "debug_breakpoint" => self.session().await?.breakpoint(read(arguments)?).await,
            "debug_logpoint" => self.session().await?.logpoint(read(arguments)?).await,
            "debug_trace" => self.session().await?.trace(read(arguments)?).await,
            "debug_continue" => {
                let mut input: arguments::Continue = read(arguments)?;
                let action = meant::action(&input)?;
                input.action = Some(action);
                if action == arguments::Action::Restart {
                    return self.restart(&input).await;
                }
                let session = self.session().await?;
                let stops = session.run_action(&input, action).await?;
                let waited = session.wait(stops, Session::stop_timeout(&input)).await;
                let expected = input.expect.as_deref();
                let way = session.way_to_origin(&input, &waited).await;
                let stop = session.report(waited, input.budget, input.addresses, expected);
                Ok(way + &stop.await?)
            }
            "debug_trace_call" => self.trace_call(read(arguments)?).await,
            "debug_calls" => self.calls(read(arguments)?).await,
            "debug_test" => self.test(read(arguments)?).await,
            "debug_explain" => self.explain(read(arguments)?).await,
            "debug_past" => self.session().await?.past(read(arguments)?).await,
            "debug_search" => self.session().await?.search(read(arguments)?).await,
            "debug_stack" => self.session().await?.stack(read(arguments)?).await,
            "debug_variables" => self.session().await?.variables(read(arguments)?).await,
            "debug_read" => self.session().await?.read(read(arguments)?).await,
            "debug_write" => self.session().await?.write(read(arguments)?).await,
            "debug_evaluate" => self.session().await?.evaluate(read(arguments)?).await,
            "debug_output" => Ok(self.session().await?.output(&read(arguments)?)),
            "debug_stop" => self.stop(read(arguments)?).await,
            _ => Err(ToolError::new("NO_SUCH_TOOL", name)),
        }
    }

    /// Ends the session, if there is one.
    pub async fn close(&self) {
        if let Some(session) = self.session.lock().await.take() {
            session.close(None).await;
        }
    }

    pub(super) async fn session(&self) -> Result<Arc<Session>, ToolError> {
        let mut session = self.session.lock().await;
        if let Some(socket) = &self.joined
            && session
                .as_ref()
                .is_none_or(|it| it.link.state().phase == Phase::Lost)
        {
            let joined = match socket {
                Some(socket) => Session::join(socket).await,
                None => Session::join_newest().await,
            };
            *session = Some(Arc::new(joined?));
        }
        session.clone().ok_or_else(ToolError::no_session)
    }

    async fn launch(&self, input: arguments::Launch) -> Result<String, ToolError> {
        let session = self.start(&input).await?;
        if input.breakpoints.is_none() && input.replay.is_none() {
            return Ok(format!(
                "{} is held before its first instruction; set breakpoints, then call \
                 debug_continue\n",
                input.program
            ));
        }
        let mut text = String::new();
        for place in input.breakpoints.iter().flatten() {
            match session.add_first(place).await {
                Ok(line) => text.push_str(&format!("{line}\n")),
                Err(error) => {
                    // The breakpoint is the purpose of the launch: do not run without it.
                    self.close().await;
                    return Err(error);
                }
            }
        }
        let waited = session.first_stop(input.timeout).await?;
        text.push_str(&session.report(waited, input.budget, false, None).await?);
        Ok(text)
    }

    /// Refuses what is more than looking at another client's session.
    pub(super) fn may_act(&self, what: &str) -> Result<(), ToolError> {
        match self.joined {
            None => Ok(()),
            Some(_) => Err(ToolError::new(
                "LOOKS_ON",
                format!(
                    "{what} is not available: the session is another client's, and only looked at"
                ),
            )),
        }
    }

    /// Launches a program as the current session, held at its start. The session before it ends, as by
    /// `debug_stop`.
    pub(super) async fn start(&self, input: &arguments::Launch) -> Result<Arc<Session>, ToolError> {
        self.may_act("a launch")?;
        self.close().await;
        let session = Arc::new(Session::launch(input).await?);
        self.keep(&session).await?;
        Ok(session)
    }

    /// Launches the program of the session again, with its current breakpoints.
    async fn restart(&self, input: &arguments::Continue) -> Result<String, ToolError> {
        let former = self.session().await?;
        let Some(launch) = former.launched.clone() else {
            let message = "cannot restart an attached process; call debug_stop, then debug_launch \
                           or debug_attach";
            return Err(ToolError::new("CANNOT_RESTART", message));
        };
        former.close(None).await;
        let session = Arc::new(Session::launch(&launch).await?);
        let mut text = session.restore(&former).await?;
        text.push_str(&session.restore_traces(&former).await?);
        self.keep(&session).await?;
        let waited = session.first_stop(input.timeout).await?;
        text.push_str(
            &session
                .report(
                    waited,
                    input.budget,
                    input.addresses,
                    input.expect.as_deref(),
                )
                .await?,
        );
        Ok(text)
    }

    async fn attach(&self, input: arguments::Attach) -> Result<String, ToolError> {
        self.close().await;
        let session = Arc::new(Session::attach(&input).await?);
        let waited = session.first_stop(None).await;
        match waited {
            Ok(WaitResult::Lost) | Err(_) => session.close(Some(false)).await,
            Ok(_) => self.keep(&session).await?,
        }
        let waited = waited.map_err(|error| error.or_code("ATTACH_FAILED"))?;
        session.report(waited, input.budget, false, None).await
    }

    /// Makes a session the current one.
    async fn keep(&self, session: &Arc<Session>) -> Result<(), ToolError> {
        let other = self.session.lock().await.replace(Arc::clone(session));
        if let Some(other) = other {
            // Two calls began a session at once: the later one stays.
            other.close(None).await;
        }
        Ok(())
    }

    async fn stop(&self, input: arguments::Stop) -> Result<String, ToolError> {
        let session = self.session.lock().await.take();
        let session = session.ok_or_else(ToolError::no_session)?;
        let was_over = session.has_ended();
        let terminate = input.detach.map(|detach| !detach);
        session.close(terminate).await;
        Ok(match (was_over, input.detach) {
            (true, _) => format!("session of {} ended\n", session.program),
            (false, Some(true)) => format!("{} was detached\n", session.program),
            (false, _) => format!(
                "session of {} ended; the program was killed\n",
                session.program
            ),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_parameter_has_a_description() {
        let tools = list(ToolSet::All);
        assert_eq!(tools.len(), TOOLS.len());
        assert!(list(ToolSet::Few).len() < tools.len());
        for tool in tools {
            let (tool, schema) = (&tool["name"], &tool["inputSchema"]);
            assert_eq!(schema["type"], "object", "{tool}");
            assert!(schema.get("$defs").is_none(), "{tool}: {schema:#}");
            for (name, parameter) in schema["properties"].as_object().into_iter().flatten() {
                let text = parameter["description"].as_str().unwrap_or_default();
                assert!(text.len() > 8, "{tool}: {name} says {text:?}");
            }
        }
    }

    #[test]
    fn invalid_arguments_name_the_field() {
        let read = |text: &str| {
            let arguments = serde_json::from_str(text).unwrap();
            super::read::<arguments::Continue>(arguments)
                .unwrap_err()
                .to_string()
        };
        let wrong = read(r#"{"timeout": "soon"}"#);
        assert!(wrong.starts_with("BAD_ARGUMENTS: `timeout`: "), "{wrong}");
        let unknown = read(r#"{"acton": "wait"}"#);
        assert!(
            unknown.contains("acton") && unknown.contains("action"),
            "{unknown}"
        );
        let variant = read(r#"{"action": "stepover"}"#);
        assert!(variant.contains("step-over"), "{variant}");
    }

    #[test]
    fn nearest_tool_name_is_suggested() {
        assert_eq!(find("debug_stack"), Ok(()));
        assert_eq!(find("debug_breakpoints"), Err("debug_breakpoint"));
    }
}
