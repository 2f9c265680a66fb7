//! Clients that look on: they see what the session's own client is stopped at, and change nothing.

use crate::protocol::{ContinuedEventBody, Outgoing, StoppedEventBody, body_of};
use crate::server::{Guest, GuestDoor};
use crate::session::Session;
use crate::session::reports::Report;
use engine::{State, ThreadId};
use serde::Serialize;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

/// Maximum number of guests.
const MAX_GUESTS: usize = 8;

/// The guests of a session.
#[derive(Default)]
pub struct Guests {
    door: Option<GuestDoor>,
    /// Those that are connected.
    pub present: Vec<Guest>,
}

impl Guests {
    /// Sends an event to all. A guest that does not read is sent no more.
    pub fn event(&mut self, event: &'static str, body: &impl Serialize) {
        self.present.retain(|guest| !guest.outbox.is_full());
        for guest in &mut self.present {
            if let Ok(body) = body_of(body) {
                guest.outbox.send(&Outgoing::Event { event, body }, None);
            }
        }
    }
}

/// Lets guests join. Returns the path of the socket on which they do.
///
/// # Errors
/// The socket cannot be opened.
pub fn admit(session: &mut Session) -> io::Result<&Path> {
    if session.guests.door.is_none() {
        let inbox = session.inbox.clone();
        let door = GuestDoor::open(move |socket| inbox.put(Report::Guest(socket)))?;
        session.guests.door = Some(door);
    }
    let door = session.guests.door.as_ref();
    door.map(GuestDoor::path)
        .ok_or_else(|| io::Error::other("it is not open"))
}

/// Takes in a guest that has connected.
pub fn arrived(session: &mut Session, socket: OwnedFd) {
    if session.guests.present.len() >= MAX_GUESTS {
        tracing::warn!("a client was refused: {MAX_GUESTS} look on already");
        return;
    }
    match Guest::connect(socket, session.debugger.waker()) {
        Ok(guest) => session.guests.present.push(guest),
        Err(error) => tracing::warn!(%error, "a client cannot join"),
    }
}

/// Sends a guest the events that describe the present state of the program.
pub fn describe_state(session: &mut Session, guest: usize) {
    let thread = session.history.thread();
    let state = session.state();
    let Some(guest) = session.guests.present.get_mut(guest) else {
        return;
    };
    let mut send = |event: &'static str, body| {
        guest.outbox.send(&Outgoing::Event { event, body }, None);
    };
    let thread_id = |thread: ThreadId| i64::from(thread.0);
    match (state, thread) {
        (State::Stopped, Some(thread)) => {
            let stopped = StoppedEventBody {
                reason: "pause".into(),
                thread_id: thread_id(thread),
                all_threads_stopped: true,
                ..StoppedEventBody::default()
            };
            send("stopped", body_of(&stopped).ok().flatten());
        }
        (State::Ended, _) => send("terminated", None),
        (State::NoProcess, _) => {}
        _ => {
            let continued = ContinuedEventBody {
                thread_id: thread.map_or(0, thread_id),
                all_threads_continued: Some(true),
            };
            send("continued", body_of(&continued).ok().flatten());
        }
    }
    // Last: a guest that has it knows the state, too.
    send("initialized", None);
}

/// Sends the guests the event that the program runs: the session's client has the response to its request.
pub fn resumed(session: &mut Session) {
    let continued = ContinuedEventBody {
        thread_id: session.history.thread().map_or(0, |it| it.0.into()),
        all_threads_continued: Some(true),
    };
    session.guests.event("continued", &continued);
}
