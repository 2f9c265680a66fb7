//! A session from its launch or attach to its end, and what all tools need of it.

use super::arguments::{Attach, Launch, seconds};
use super::breakpoints::Breakpoints;
use super::error::ToolError;
use super::link::{Link, Phase};
use super::run::WaitResult;
use crate::client::Pending;
use crate::protocol::{
    Context, InitializeArguments, NoArguments, RawSettings, StackTraceArguments, StacksArguments,
};
use crate::requests::{self, ConfigurationDone, Initialize, Request, StackTrace, Stacks};
use crate::server::GuestDoor;
use serde_json::{Map, Value, json};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Timeout of a launch or attach.
const START_TIMEOUT: Duration = Duration::from_secs(120);
/// Timeout of joining another client's session.
const JOIN_TIMEOUT: Duration = Duration::from_secs(10);

/// A debug session.
pub struct Session {
    /// The connection to its adapter.
    pub link: Link,
    /// Exception filters that are enabled by default.
    pub usual_filters: Vec<String>,
    /// The program's name for messages.
    pub program: String,
    /// The arguments of its launch; `None` after an attach.
    pub launched: Option<Launch>,
    breakpoints: Mutex<Breakpoints>,
    /// Tracepoints: number, location and query.
    traces: Mutex<Vec<(i64, String, String)>>,
    /// The frame that the last report of a stop showed: thread and level.
    shown: Mutex<(i64, u64)>,
    /// The `launch` or `attach` request until its response.
    starting: Mutex<Option<Pending<()>>>,
}

impl Session {
    /// Launches a program and holds it at its start.
    ///
    /// # Errors
    /// The program cannot be started.
    pub async fn launch(input: &Launch) -> Result<Self, ToolError> {
        let mut settings = json!({"args": input.args});
        let name = match (&input.replay, input.program.as_str()) {
            (None, "") => {
                let message = "missing argument; set `program` or `replay`";
                return Err(ToolError::new("BAD_ARGUMENTS", message));
            }
            (Some(recording), "") => recording,
            (_, program) => {
                settings["program"] = json!(program);
                program
            }
        };
        if let Some(recording) = &input.replay {
            settings["replay"] = json!(recording);
        }
        if let Some(cwd) = &input.cwd {
            settings["cwd"] = json!(cwd);
        }
        if !input.env.is_empty() {
            settings["env"] = json!(input.env);
        }
        if input.stdin.is_some() || input.stdout.is_some() {
            settings["stdio"] = json!({"stdin": input.stdin, "stdout": input.stdout});
        }
        if input.record {
            settings["record"] = json!(true);
        }
        if input.stops_with_libraries {
            settings["stopOnEntry"] = json!("libraries");
        }
        let session = Self::start::<requests::Launch>(settings, &input.settings, name).await;
        let session = session.map_err(|error| error.or_code("LAUNCH_FAILED"))?;
        Ok(Self {
            launched: Some(Launch {
                stops_with_libraries: false,
                ..input.clone()
            }),
            ..session
        })
    }

    /// Attaches to a process, or opens a core file.
    ///
    /// # Errors
    /// There is no such process or file, or attaching failed.
    pub async fn attach(input: &Attach) -> Result<Self, ToolError> {
        let (settings, name) = match (input.pid, &input.program, &input.core) {
            (None, program, Some(core)) => {
                (json!({"coreFile": core, "program": program}), core.clone())
            }
            (Some(pid), None, None) => (json!({"pid": pid}), format!("process {pid}")),
            (None, Some(program), None) => (json!({"program": program}), program.clone()),
            _ => {
                let message = "missing argument; set one of `pid`, `program`, `core` (with `core`, `program` may name the executable)";
                return Err(ToolError::new("BAD_ARGUMENTS", message));
            }
        };
        let mut settings = settings;
        if input.core.is_none() {
            settings["stopOnEntry"] = json!(true);
        }
        let session = Self::start::<requests::Attach>(settings, &input.settings, &name).await;
        session.map_err(|error| error.or_code("ATTACH_FAILED"))
    }

    /// Joins the newest session that lets guests in.
    ///
    /// # Errors
    /// There is none.
    pub async fn join_newest() -> Result<Self, ToolError> {
        let mut last = None;
        for socket in GuestDoor::all() {
            match Self::join(&socket).await {
                Ok(session) => return Ok(session),
                Err(error) => last = last.or(Some(error)),
            }
        }
        Err(last.unwrap_or_else(|| {
            let why = "no session can be joined; `:join` in its console, or `\"join\": true` in its \
                       settings, opens it";
            ToolError::new("CANNOT_JOIN", why)
        }))
    }

    /// Joins the session of another client, to look on.
    ///
    /// # Errors
    /// There is no session at this socket.
    pub async fn join(socket: &Path) -> Result<Self, ToolError> {
        let failed = |why: String| {
            let socket = socket.display();
            ToolError::new(
                "CANNOT_JOIN",
                format!(
                    "cannot join a session at {socket}: {why}; `:join` in its console opens one"
                ),
            )
        };
        let link = Link::join(socket).await;
        let link = link.map_err(|error| failed(error.to_string()))?;
        let client = InitializeArguments {
            client_id: Some("stillpoint-mcp".to_owned()),
            adapter_id: Some("stillpoint".to_owned()),
            ..InitializeArguments::default()
        };
        link.request::<Initialize>(&client).await?;
        let is_there = link.wait(JOIN_TIMEOUT, |state| state.initialized).await;
        if !is_there {
            return Err(failed("it does not answer".to_owned()));
        }
        Ok(Self::over(link, Vec::new(), "the joined session"))
    }

    async fn start<R>(
        settings: Value,
        more: &Map<String, Value>,
        program: &str,
    ) -> Result<Self, ToolError>
    where
        R: Request<Arguments = RawSettings, Body = ()>,
    {
        if more.get("nonStop").is_some_and(|it| *it != json!(false)) {
            let message =
                "`settings.nonStop` is not supported by these tools: all threads stop together";
            return Err(ToolError::new("BAD_ARGUMENTS", message));
        }
        let mut settings = match settings {
            Value::Object(settings) => settings,
            _ => Map::new(),
        };
        settings.extend(more.clone());
        let link = Link::start();
        let link = link.map_err(|error| ToolError::new("START_FAILED", error.to_string()))?;
        let client = InitializeArguments {
            client_id: Some("stillpoint-mcp".to_owned()),
            adapter_id: Some("stillpoint".to_owned()),
            supports_variable_type: Some(true),
            supports_variable_paging: Some(true),
            supports_memory_references: Some(true),
            supports_breakpoint_problems: Some(true),
            ..InitializeArguments::default()
        };
        let capabilities = link.request::<Initialize>(&client).await?;
        let filters = capabilities.exception_breakpoint_filters.into_iter();
        let usual = filters.filter(|filter| filter.default);
        let usual_filters = usual.map(|filter| filter.filter.into_owned()).collect();
        let mut starting = link.send::<R>(&RawSettings(settings))?;
        // A start that fails has a response and no `initialized` event.
        let failure = tokio::select! {
            biased;
            is_held = link.wait(START_TIMEOUT, |state| state.initialized) => match is_held {
                true => None,
                false => Some(None),
            },
            started = &mut starting => Some(started.err()),
        };
        if let Some(failure) = failure {
            link.close(None).await;
            let late = || {
                let message = "timed out while starting the session";
                ToolError::new("START_FAILED", message)
            };
            return Err(failure.map_or_else(late, ToolError::from));
        }
        Ok(Self {
            starting: Mutex::new(Some(starting)),
            ..Self::over(link, usual_filters, program)
        })
    }

    fn over(link: Link, usual_filters: Vec<String>, program: &str) -> Self {
        Self {
            link,
            usual_filters,
            program: program.to_owned(),
            launched: None,
            breakpoints: Mutex::default(),
            traces: Mutex::default(),
            shown: Mutex::default(),
            starting: Mutex::default(),
        }
    }

    /// Resumes the program that was held at its start; has no effect later.
    ///
    /// # Errors
    /// The launch or attach failed.
    pub async fn resume_from_start(&self) -> Result<(), ToolError> {
        let starting = lock(&self.starting).take();
        let Some(starting) = starting else {
            return Ok(());
        };
        let done = NoArguments {};
        self.link.request::<ConfigurationDone>(&done).await?;
        Ok(starting.await?)
    }

    /// Ends the session; `terminate`: whether the program ends with it (`None`: as usual).
    pub async fn close(&self, terminate: Option<bool>) {
        // Not cancelled: the end of the session produces its response.
        let starting = lock(&self.starting).take();
        self.link.close(terminate).await;
        drop(starting);
    }

    /// Returns the session's breakpoints.
    pub fn breakpoints(&self) -> MutexGuard<'_, Breakpoints> {
        lock(&self.breakpoints)
    }

    /// Returns the tracepoints: number, location and query.
    pub fn traces(&self) -> MutexGuard<'_, Vec<(i64, String, String)>> {
        lock(&self.traces)
    }

    /// Returns true if the program has ended or the adapter's process has exited.
    pub fn has_ended(&self) -> bool {
        matches!(self.link.state().phase, Phase::Ended(_) | Phase::Lost)
    }

    /// Records the frame that a report showed.
    pub fn record_shown_frame(&self, context: &Context) {
        let level = context.frame.as_ref().map_or(0, |frame| frame.level);
        *lock(&self.shown) = (context.thread_id, level);
    }

    /// Forgets which frame a report showed: the next tool begins where the program is.
    pub fn forget_shown_frame(&self) {
        *lock(&self.shown) = (0, 0);
    }

    /// Checks that the program is stopped.
    ///
    /// # Errors
    /// It is not stopped.
    pub fn stopped(&self) -> Result<(), ToolError> {
        match &self.link.state().phase {
            Phase::Stopped => Ok(()),
            Phase::Running => Err(ToolError::running()),
            Phase::Held => Err(ToolError::held()),
            Phase::Ended(how) => Err(ToolError::ended(how)),
            Phase::Lost => Err(ToolError::lost()),
        }
    }

    /// Returns the adapter's id of a thread's number; `None`: the thread that stopped last.
    ///
    /// # Errors
    /// There is no thread of that number.
    pub fn thread_id(&self, number: Option<usize>) -> Result<i64, ToolError> {
        let state = self.link.state();
        let Some(number) = number else {
            return Ok(state.thread);
        };
        let id = number.checked_sub(1).and_then(|at| state.threads.get(at));
        id.copied().ok_or_else(|| {
            ToolError::new(
                "NO_SUCH_THREAD",
                format!("no thread {number}; list threads with debug_stack {{\"threads\": true}}"),
            )
        })
    }

    /// Returns the adapter's id of a frame. Without `level` it is the frame of the last stop; of
    /// another thread, the frame that shows where it is.
    ///
    /// # Errors
    /// Not stopped, no such thread or frame.
    pub async fn frame_id(
        &self,
        thread: Option<usize>,
        level: Option<u32>,
    ) -> Result<i64, ToolError> {
        self.stopped()?;
        let id = self.thread_id(thread)?;
        let shown = *lock(&self.shown);
        let level = match level {
            Some(level) => u64::from(level),
            None if shown.0 == id => shown.1,
            None => {
                let arguments = StacksArguments {
                    thread_id: Some(id),
                    levels: Some(0),
                    ..StacksArguments::default()
                };
                let stacks = self.link.request::<Stacks>(&arguments).await?;
                let frame = stacks.threads.first().and_then(|it| it.frame.as_ref());
                frame.map_or(0, |frame| frame.level)
            }
        };
        let arguments = StackTraceArguments {
            thread_id: id,
            start_frame: i64::try_from(level).ok(),
            levels: Some(1),
            format: None,
        };
        let stack = self.link.request::<StackTrace>(&arguments).await?;
        let frame = stack.stack_frames.first();
        frame.map(|frame| frame.id).ok_or_else(|| {
            ToolError::new(
                "NO_SUCH_FRAME",
                format!("no frame {level}; list frames with debug_stack"),
            )
        })
    }

    /// Resumes the program after a launch or an attach, and waits for the first stop.
    ///
    /// # Errors
    /// The program cannot be resumed.
    pub async fn first_stop(&self, limit: Option<f64>) -> Result<WaitResult, ToolError> {
        let stops = self.link.state().stops;
        self.resume_from_start().await?;
        Ok(self.wait(stops, seconds(limit, 30.0)).await)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
