//! One session of `run` or `core`: the client, and the events that it has not handled yet.

use crate::client::{Client, ClientError, Pending};
use crate::protocol::{
    DisconnectArguments, Event, InitializeArguments, NoArguments, RawSettings, StoppedEventBody,
    ThreadArguments,
};
use crate::requests::{ConfigurationDone, Continue, Disconnect, Initialize, Request};
use std::collections::VecDeque;
use std::os::unix::net;
use tokio::net::UnixStream;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

/// A session, from `initialize` to `disconnect`.
pub struct Driver {
    /// The client.
    pub client: Client,
    events: UnboundedReceiver<Event>,
    /// Events that have arrived and are not handled yet.
    early: VecDeque<Event>,
    /// Whether the program goes on after the session.
    keeps_debuggee: bool,
}

impl Driver {
    /// Connects to the server at the other end of a socket. Must be called in a Tokio runtime.
    ///
    /// # Errors
    /// The socket cannot be waited for.
    pub fn connect(socket: net::UnixStream) -> std::io::Result<Self> {
        socket.set_nonblocking(true)?;
        let (input, output) = UnixStream::from_std(socket)?.into_split();
        let (listener, events) = unbounded_channel();
        Ok(Self {
            client: Client::connect(input, output, listener),
            events,
            early: VecDeque::new(),
            keeps_debuggee: false,
        })
    }

    /// Lets the program go on after the session.
    pub fn keep_debuggee(&mut self) {
        self.keeps_debuggee = true;
    }

    /// Starts a launch or an attach, and waits until breakpoints can be set.
    /// [`Driver::run_started`] ends that.
    ///
    /// # Errors
    /// It failed, or the server has disconnected.
    pub async fn start<R>(&mut self, settings: &RawSettings) -> Result<Pending<()>, ClientError>
    where
        R: Request<Arguments = RawSettings, Body = ()>,
    {
        let initialize = InitializeArguments {
            client_id: Some("stillpoint-run".to_owned()),
            adapter_id: Some("stillpoint".to_owned()),
            supports_variable_type: Some(true),
            supports_variable_paging: Some(true),
            supports_breakpoint_problems: Some(true),
            ..InitializeArguments::default()
        };
        self.client.request::<Initialize>(&initialize).await?;
        let mut starting = self.client.send::<R>(settings)?;
        loop {
            // A start that fails sends no `initialized`.
            let event = tokio::select! {
                biased;
                event = self.events.recv() => event.ok_or_else(|| self.client.end())?,
                started = &mut starting => return started.map(|()| starting),
            };
            match event {
                Event::Initialized => return Ok(starting),
                event => self.early.push_back(event),
            }
        }
    }

    /// Lets the program run, and waits for the response to its launch or attach.
    ///
    /// # Errors
    /// It failed, or the server has disconnected.
    pub async fn run_started(&self, starting: Pending<()>) -> Result<(), ClientError> {
        self.client
            .request::<ConfigurationDone>(&NoArguments {})
            .await?;
        starting.await
    }

    /// Puts back events that were read.
    pub fn unread(&mut self, events: Vec<Event>) {
        for event in events.into_iter().rev() {
            self.early.push_front(event);
        }
    }

    /// Lets the program run on after a stop.
    ///
    /// # Errors
    /// It cannot be resumed, or the server has disconnected.
    pub async fn resume(&self, stopped: &StoppedEventBody) -> Result<(), ClientError> {
        let thread = ThreadArguments {
            thread_id: stopped.thread_id,
            ..ThreadArguments::default()
        };
        self.client.request::<Continue>(&thread).await.map(drop)
    }

    /// Waits for the next event.
    ///
    /// # Errors
    /// The server has disconnected.
    pub async fn event(&mut self) -> Result<Event, ClientError> {
        match self.early.pop_front() {
            Some(event) => Ok(event),
            None => self.events.recv().await.ok_or_else(|| self.client.end()),
        }
    }

    /// Ends the session; its program ends with it, unless it is to be kept.
    ///
    /// # Errors
    /// The server has disconnected.
    pub async fn end(&self) -> Result<(), ClientError> {
        let terminate = DisconnectArguments {
            terminate_debuggee: Some(!self.keeps_debuggee),
            ..DisconnectArguments::default()
        };
        self.client.request::<Disconnect>(&terminate).await
    }
}
