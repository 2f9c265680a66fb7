//! Child processes of the debuggee: held until a session of their own attaches to them.

use crate::config::{Common, RuntimeSettings};
use crate::protocol::{RawSettings, RequestError, Response, StartDebuggingRequestArguments};
use crate::session::Session;
use crate::session::handover::{self, ChildOffer};
use crate::session::reports::{HandoverEvent, HandoverReceived};
use crate::sources::Habits;
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::io::Write;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// The children on offer.
#[derive(Debug, Default)]
pub struct Children {
    /// How long a child waits for its session.
    pub timeout: Duration,
    offers: HashMap<i32, ChildOffer>,
    /// The child of each `startDebugging` request.
    requested: HashMap<u64, i32>,
    unsupported_reported: bool,
}

/// Handles a child that the engine holds: requests a session for it from the client.
pub fn offer_child(session: &mut Session, pid: i32, program: &Path) {
    if !session.client.start_debugging {
        session.debugger.release_child(pid);
        if !std::mem::replace(&mut session.children.unsupported_reported, true) {
            session.important_note(&format!(
                "Child process {pid} ({}) detached: this editor cannot start further sessions \
                 (`followFork: \"both\"`)\n",
                program.display()
            ));
        }
        return;
    }
    let timeout = session.children.timeout;
    let offer = match ChildOffer::open(pid, timeout, session.inbox.clone()) {
        Ok(offer) => offer,
        Err(error) => {
            detach_child(session, pid, &error.to_string());
            return;
        }
    };
    let name = program.file_name().unwrap_or_default().to_string_lossy();
    let mut configuration = inherited(&session.settings.raw);
    configuration.insert("name".to_owned(), json!(format!("{name} ({pid})")));
    configuration.insert("pid".to_owned(), json!(pid));
    configuration.insert("__handover".to_owned(), json!(offer.path()));
    if session.client.habits == Habits::Neovim {
        let kind = session.settings.raw.0.get("type").cloned();
        configuration.extend(kind.map(|kind| ("type".to_owned(), kind)));
    }
    let seq = session.send_reverse_request(
        "startDebugging",
        &StartDebuggingRequestArguments {
            request: "attach",
            configuration,
        },
    );
    session.children.offers.insert(pid, offer);
    session.children.requested.extend(seq.map(|seq| (seq, pid)));
}

/// Returns the settings of the parent's session that apply to its children.
fn inherited(settings: &RawSettings) -> Map<String, Value> {
    let keys = Common::KEYS.iter().copied().chain(RuntimeSettings::keys());
    keys.filter(|key| *key != "stopOnEntry")
        .filter_map(|key| Some((key.to_owned(), settings.0.get(key)?.clone())))
        .collect()
}

fn detach_child(session: &mut Session, pid: i32, why: &str) {
    session.children.offers.remove(&pid);
    session.debugger.release_child(pid);
    session.important_note(&format!("Child process {pid} detached: {why}\n"));
}

/// Handles the client's response to `startDebugging`.
pub fn on_response(session: &mut Session, response: &Response) {
    if let Some(pid) = session.children.requested.remove(&response.request_seq)
        && !response.success
    {
        let message = response.message.as_deref().unwrap_or("no reason given");
        let why = format!("the editor cannot start a session: {message}");
        detach_child(session, pid, &why);
    }
}

/// Handles a report about a child on offer.
pub fn on_report(session: &mut Session, report: HandoverEvent) {
    match report {
        HandoverEvent::Wanted { pid, by, socket } => {
            let Some(offer) = session.children.offers.get_mut(&pid) else {
                return;
            };
            match session.debugger.hand_over(pid, by) {
                Ok(handover) => {
                    // If the session has ended, another report says that the child is lost.
                    if let Err(error) = handover::give(&handover, &socket) {
                        tracing::info!(pid, %error, "no client to hand a child over to");
                    }
                    offer.socket = Some(socket);
                    let changed = std::mem::take(&mut offer.changed);
                    if !changed.is_empty() {
                        offer.change(&changed);
                    }
                }
                // The session gets no message, and its attach fails.
                Err(error) => tracing::info!(pid, %error, "cannot hand over a child"),
            }
        }
        HandoverEvent::Unwanted { pid } if session.children.offers.contains_key(&pid) => {
            let seconds = session.children.timeout.as_secs_f32();
            detach_child(
                session,
                pid,
                &format!("no session attached within {seconds} s (`followForkTimeout`)"),
            );
        }
        HandoverEvent::Taken { pid } => session.debugger.taken_over(pid),
        // Also without an offer: the session may have been restarted.
        HandoverEvent::Lost { pid } => {
            session.children.offers.remove(&pid);
            session.debugger.take_back(pid);
        }
        HandoverEvent::Unwanted { .. } => {}
    }
}

/// Attaches to the child that the parent's session hands over. Returns the result of the attach;
/// `None` if it was cancelled.
pub fn on_handover(
    session: &mut Session,
    received: HandoverReceived,
) -> Option<Result<(), RequestError>> {
    if !session.startup.is_awaiting() {
        if let Ok((_, socket)) = received {
            refuse(&socket);
        }
        return None;
    }
    let received = received.map_err(RequestError::Start);
    Some(received.and_then(|(handover, socket)| {
        if let Err(error) = session.debugger.take_over(&handover) {
            refuse(&socket);
            return Err(error.into());
        }
        // If the parent's session has ended, it needs no confirmation.
        let _ = (&socket).write_all(b"t");
        session.startup.held_for_parent(handover.launched);
        // A restart must attach to it like to any other process.
        session.settings.raw.0.remove("__handover");
        Ok(())
    }))
}

/// Closes the socket, so that the parent's session takes the child back.
fn refuse(socket: &UnixStream) {
    // Fails if the parent's session has ended, and then the socket is closed.
    let _ = socket.shutdown(Shutdown::Both);
}

/// Sends changed settings to the sessions of the children.
pub fn change(session: &mut Session, changes: &Map<String, Value>) {
    for offer in session.children.offers.values_mut() {
        offer.change(changes);
    }
}
