//! The link to an adapter process, which speaks DAP on its standard streams, and the state that its
//! messages describe.

use super::error::ToolError;
use super::output::{Output, Stream};
use crate::client::{Client, Listener, Pending};
use crate::protocol::{BreakpointEventBody, DisconnectArguments, Event, ThreadEventReason};
use crate::requests::{Disconnect, Request};
use engine::Signal;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::HashMap;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;
use tokio::sync::watch;

/// Grace period for the adapter's process to exit after the end of its session.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(3);

/// The state of the program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// Launched or attached to, and held at its start.
    #[default]
    Held,
    /// It runs.
    Running,
    /// It is stopped.
    Stopped,
    /// It has ended; how, as text.
    Ended(String),
    /// The adapter's process has exited.
    Lost,
}

/// The state from the adapter's messages so far.
#[derive(Debug, Default)]
pub struct SessionState {
    /// The state of the program.
    pub phase: Phase,
    /// Number of stops so far.
    pub stops: u64,
    /// The thread that stopped last.
    pub thread: i64,
    /// The program's and the debugger's output.
    pub output: Output,
    /// Ids of threads in the order of their appearance: a thread's number is its position, from 1.
    pub threads: Vec<i64>,
    /// Breakpoints that changed after they were set, by the adapter's ids.
    pub breakpoints: HashMap<u32, BreakpointEventBody>,
    /// Whether the adapter has sent `initialized`.
    pub initialized: bool,
    exit: Option<String>,
}

impl SessionState {
    /// Returns a thread's number for agents; assigns one to a new thread.
    pub fn number(&mut self, thread: i64) -> usize {
        let known = self.threads.iter().position(|known| *known == thread);
        known.unwrap_or_else(|| {
            self.threads.push(thread);
            self.threads.len() - 1
        }) + 1
    }

    fn on_event(&mut self, event: Event) {
        match event {
            Event::Initialized => self.initialized = true,
            Event::Stopped(stopped) => {
                self.stops += 1;
                self.thread = stopped.thread_id;
                self.phase = Phase::Stopped;
            }
            Event::Continued => self.phase = Phase::Running,
            Event::Thread(thread) => {
                if matches!(thread.reason, ThreadEventReason::Started) {
                    self.number(thread.thread_id);
                }
            }
            Event::Output(output) => {
                let stream = Stream::of(output.category);
                self.output.push(stream, &output.output);
            }
            Event::Breakpoint(change) => {
                if let Some(id) = change.breakpoint.id {
                    self.breakpoints.insert(id, change);
                }
            }
            Event::Exited(exited) => self.exit = Some(exit_text(exited.exit_code)),
            Event::Terminated => {
                let how = self.exit.take();
                self.phase = Phase::Ended(how.unwrap_or_else(|| "it was detached".into()));
            }
            Event::Records(_) | Event::Other => {}
        }
    }
}

/// Describes how a program ended: a code above 128 may stand for a signal.
fn exit_text(code: i64) -> String {
    let signal = i32::try_from(code - 128)
        .ok()
        .filter(|it| (1..=64).contains(it));
    match signal {
        Some(signal) => format!("exit code {code} ({})", Signal(signal).name()),
        None => format!("exit code {code}"),
    }
}

/// Applies the adapter's messages to the state.
struct Observer {
    state: Arc<Mutex<SessionState>>,
    /// Counts the changes, for those that wait for one.
    changes: watch::Sender<u64>,
}

impl Observer {
    fn change(&self, change: impl FnOnce(&mut SessionState)) {
        change(&mut lock(&self.state));
        self.changes.send_modify(|count| *count += 1);
    }
}

impl Listener for Observer {
    fn on_event(&mut self, event: Event) {
        self.change(|state| state.on_event(event));
    }

    fn on_resumed(&mut self) {
        self.change(|state| state.phase = Phase::Running);
    }

    fn on_end(&mut self) {
        self.change(|state| state.phase = Phase::Lost);
    }
}

/// A connection to an adapter: a process of ours, or that of another client.
pub struct Link {
    client: Client,
    state: Arc<Mutex<SessionState>>,
    changes: watch::Receiver<u64>,
    child: Mutex<Option<Child>>,
}

impl Link {
    /// Starts an adapter process.
    ///
    /// # Errors
    /// The process cannot be started.
    pub fn start() -> io::Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .arg("dap")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let missing = || io::Error::other("cannot open pipes");
        let stdin = OwnedFd::from(child.stdin.take().ok_or_else(missing)?);
        let stdout = OwnedFd::from(child.stdout.take().ok_or_else(missing)?);
        Ok(Self {
            child: Mutex::new(Some(child)),
            ..Self::over(
                pipe::Receiver::from_owned_fd(stdout)?,
                pipe::Sender::from_owned_fd(stdin)?,
            )
        })
    }

    /// Connects to the session of another client, which lets others look on at a socket.
    ///
    /// # Errors
    /// There is no such socket, or its session is over.
    pub async fn join(socket: &Path) -> io::Result<Self> {
        let (input, output) = UnixStream::connect(socket).await?.into_split();
        Ok(Self::over(input, output))
    }

    fn over(
        input: impl AsyncRead + Unpin + Send + 'static,
        output: impl AsyncWrite + Unpin + Send + 'static,
    ) -> Self {
        let state = Arc::new(Mutex::new(SessionState::default()));
        let (sender, changes) = watch::channel(0_u64);
        let observer = Observer {
            state: Arc::clone(&state),
            changes: sender,
        };
        Self {
            client: Client::connect(input, output, observer),
            state,
            changes,
            child: Mutex::new(None),
        }
    }

    /// Returns the state so far.
    pub fn state(&self) -> MutexGuard<'_, SessionState> {
        lock(&self.state)
    }

    /// Returns the client of the adapter.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Waits until the state satisfies `is_it`, for the time `limit` at most. Returns whether it
    /// does.
    pub async fn wait(&self, limit: Duration, is_it: impl Fn(&SessionState) -> bool) -> bool {
        let mut changes = self.changes.clone();
        let satisfied = async {
            loop {
                changes.borrow_and_update();
                if is_it(&self.state()) {
                    return true;
                }
                if changes.changed().await.is_err() {
                    return is_it(&self.state());
                }
            }
        };
        tokio::time::timeout(limit, satisfied)
            .await
            .unwrap_or(false)
    }

    /// Sends a request. The result is a future: the body of the response.
    ///
    /// # Errors
    /// The adapter's process has exited.
    pub fn send<R>(&self, arguments: &R::Arguments) -> Result<Pending<R::Body>, ToolError>
    where
        R: Request<Arguments: Serialize, Body: DeserializeOwned>,
    {
        Ok(self.client.send::<R>(arguments)?)
    }

    /// Sends a request and waits for the body of its response.
    ///
    /// # Errors
    /// The request failed, or the adapter's process has exited.
    pub async fn request<R>(&self, arguments: &R::Arguments) -> Result<R::Body, ToolError>
    where
        R: Request<Arguments: Serialize, Body: DeserializeOwned>,
    {
        Ok(self.client.request::<R>(arguments).await?)
    }

    /// Ends the session and its process. A launched program ends with it, unless `terminate` says
    /// otherwise.
    pub async fn close(&self, terminate: Option<bool>) {
        let arguments = DisconnectArguments {
            terminate_debuggee: terminate,
            ..DisconnectArguments::default()
        };
        // The process exits whatever the response is.
        let _ = self.request::<Disconnect>(&arguments).await;
        let Some(mut child) = lock(&self.child).take() else {
            return;
        };
        let is_gone = |state: &SessionState| state.phase == Phase::Lost;
        if !self.wait(SHUTDOWN_TIMEOUT, is_gone).await
            && let Err(error) = child.kill()
        {
            tracing::warn!(%error, "cannot kill the process of a session");
        }
        // Its streams are closed: it is about to exit.
        let _ = child.wait();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::StoppedEventBody;

    #[test]
    fn phase_follows_the_messages() {
        let (changes, seen) = watch::channel(0);
        let state = Arc::new(Mutex::new(SessionState::default()));
        let mut observer = Observer {
            state: Arc::clone(&state),
            changes,
        };
        let phase = || lock(&state).phase.clone();
        observer.on_event(Event::Initialized);
        assert_eq!(phase(), Phase::Held);
        observer.on_resumed();
        assert_eq!(phase(), Phase::Running);
        observer.on_event(Event::Stopped(StoppedEventBody {
            thread_id: 7,
            ..StoppedEventBody::default()
        }));
        assert_eq!((phase(), lock(&state).thread), (Phase::Stopped, 7));
        observer.on_event(Event::Continued);
        assert_eq!(phase(), Phase::Running);
        observer.on_event(Event::Terminated);
        assert!(matches!(phase(), Phase::Ended(_)));
        observer.on_end();
        assert_eq!((phase(), *seen.borrow()), (Phase::Lost, 6));
    }
}
