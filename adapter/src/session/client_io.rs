//! Messages to the client: responses, events, reverse requests, output.

use super::Session;
use crate::protocol::{
    Body, ContinuedEventBody, Handled, Outgoing, OutputCategory, OutputEventBody, body_of,
};
use crate::sources::Habits;
use serde::Serialize;
use std::time::Instant;

impl Session {
    /// Returns true if the client reads so slowly that the debuggee's output must wait.
    pub fn is_client_slow(&self) -> bool {
        self.outbox.is_full()
    }

    /// Sends the response to a request.
    pub fn respond(&mut self, request_seq: i64, command: &str, handled: Handled) {
        self.flush_joined_output();
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
            Err(error) if command == "restart" && self.client.habits == Habits::VsCode => {
                tracing::info!(%error, "restart failed");
                self.important_note(&format!(
                    "The program was not restarted: {}\n",
                    error.message()
                ));
                self.respond(request_seq, command, Ok(None));
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

    /// Sends an event; `()`: no body.
    pub fn event(&mut self, event: &'static str, body: &impl Serialize) {
        self.flush_joined_output();
        self.send_event(event, body);
    }

    /// Reports that all threads have left the stop, if the client did not request it.
    pub fn report_continued(&mut self) {
        let body = ContinuedEventBody {
            thread_id: self.debugger.pid().unwrap_or_default().into(),
            all_threads_continued: Some(true),
        };
        self.event("continued", &body);
    }

    /// Sends the event that all threads run, after the response to a step, if the client needs it. `continue` has
    /// a response that says so.
    pub fn report_step(&mut self, command: &str) {
        let needs_event = self.client.habits == Habits::VsCode && command != "continue";
        if needs_event && !self.debugger.is_non_stop() && !self.debugger.has_visible_stop() {
            self.report_continued();
        }
    }

    fn send_event(&mut self, event: &'static str, body: &impl Serialize) {
        match body_of(body) {
            Ok(body) => drop(self.outbox.send(&Outgoing::Event { event, body }, None)),
            Err(error) => tracing::error!(event, %error, "cannot write an event"),
        }
        self.guests.event(event, body);
    }

    fn join_output(&mut self, category: OutputCategory, text: String) {
        let ready = self.joined.push(category, text, Instant::now());
        for (category, output) in ready {
            self.send_event("output", &OutputEventBody { category, output });
        }
    }

    /// Returns when the pending part of a line must be sent.
    pub fn joined_due(&self) -> Option<Instant> {
        self.joined.due()
    }

    /// Sends the pending part of a line.
    pub fn flush_joined_output(&mut self) {
        if let Some((category, output)) = self.joined.take() {
            self.send_event("output", &OutputEventBody { category, output });
        }
    }

    /// Sends a reverse request; returns its sequence number.
    pub fn send_reverse_request(
        &mut self,
        command: &'static str,
        arguments: &impl Serialize,
    ) -> Option<u64> {
        self.flush_joined_output();
        match body_of(arguments) {
            Ok(arguments) => {
                let request = Outgoing::Request { command, arguments };
                self.outbox.send(&request, None)
            }
            Err(error) => {
                tracing::error!(command, %error, "cannot write a request");
                None
            }
        }
    }

    /// Writes text to the client's console.
    pub fn console(&mut self, text: &str) {
        self.output(OutputCategory::Console, text.to_owned());
    }

    /// Sends text that the user should see.
    pub fn important_note(&mut self, text: &str) {
        self.output(OutputCategory::Important, text.to_owned());
    }

    pub(super) fn output(&mut self, category: OutputCategory, output: String) {
        self.history.add_output(&output);
        self.event("output", &OutputEventBody { category, output });
    }

    /// Sends the program's output.
    pub(super) fn program_output(&mut self, category: OutputCategory, output: String) {
        self.history.add_output(&output);
        self.join_output(category, output);
    }
}
