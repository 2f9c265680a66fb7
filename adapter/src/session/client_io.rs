//! What the client is sent: responses, events, reverse requests, output.

use super::Session;
use crate::protocol::{Body, Handled, Outgoing, OutputCategory, OutputEventBody, body_of};
use serde::Serialize;
use std::time::Instant;

impl Session {
    /// Whether the client reads so slowly that the program's output has to wait.
    pub fn is_client_slow(&self) -> bool {
        self.outbox.is_full()
    }

    /// Answers a request.
    pub fn respond(&self, request_seq: i64, command: &str, handled: Handled) {
        self.tell_joined();
        match handled {
            Ok(body) => {
                let answer = Outgoing::Response {
                    request_seq,
                    success: true,
                    command,
                    message: None,
                };
                self.outbox.send(&answer, body);
            }
            Err(error) => {
                tracing::info!(command, %error, "request failed");
                let answer = Outgoing::Response {
                    request_seq,
                    success: false,
                    command,
                    message: Some(error.message()),
                };
                self.outbox
                    .send(&answer, Body::of(&error.body()).ok().flatten());
            }
        }
    }

    /// Sends an event; `()` is no body.
    pub fn event(&self, event: &'static str, body: &impl Serialize) {
        self.tell_joined();
        self.send_event(event, body);
    }

    fn send_event(&self, event: &'static str, body: &impl Serialize) {
        match body_of(body) {
            Ok(body) => drop(self.outbox.send(&Outgoing::Event { event, body }, None)),
            Err(error) => tracing::error!(event, %error, "an event cannot be written"),
        }
    }

    fn join_output(&self, category: OutputCategory, text: String) {
        let ready = (self.joined.borrow_mut()).push(category, text, Instant::now());
        for (category, output) in ready {
            self.send_event("output", &OutputEventBody { category, output });
        }
    }

    /// When the beginning of a line that was kept back is due.
    pub fn joined_due(&self) -> Option<Instant> {
        self.joined.borrow().due()
    }

    /// Sends the beginning of a line that was kept back.
    pub fn tell_joined(&self) {
        let rest = self.joined.borrow_mut().take();
        if let Some((category, output)) = rest {
            self.send_event("output", &OutputEventBody { category, output });
        }
    }

    /// Asks the client for something; gives the number that its answer will name.
    pub fn ask(&self, command: &'static str, arguments: &impl Serialize) -> Option<u64> {
        self.tell_joined();
        match body_of(arguments) {
            Ok(arguments) => {
                let request = Outgoing::Request { command, arguments };
                self.outbox.send(&request, None)
            }
            Err(error) => {
                tracing::error!(command, %error, "a request cannot be written");
                None
            }
        }
    }

    /// Says something on the client's console.
    pub fn console(&mut self, text: &str) {
        self.output(OutputCategory::Console, text.to_owned());
    }

    /// Says something that the user should see.
    pub fn important(&mut self, text: &str) {
        self.output(OutputCategory::Important, text.to_owned());
    }

    pub(super) fn output(&mut self, category: OutputCategory, output: String) {
        self.history.wrote(&output);
        self.event("output", &OutputEventBody { category, output });
    }

    /// Passes on what the program has written.
    pub(super) fn program_output(&mut self, category: OutputCategory, output: String) {
        self.history.wrote(&output);
        self.join_output(category, output);
    }
}
