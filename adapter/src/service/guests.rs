//! Requests of clients that look on: those that change nothing.

use super::{Service, carry_out};
use crate::protocol::{Body, Handled, Outgoing, Request, RequestError};
use crate::requests::{
    self, Context, Disassemble, Disconnect, Evaluate, ExceptionInfo, Explain, Initialize,
    LoadedSources, Modules, ReadMemory, ReadTraces, Request as _, Scopes, Search, Source,
    StackTrace, Stacks, Threads, Variables,
};
use crate::server::{CancelFlag, Inbound};
use crate::session::guests;
use serde_json::{Value, json};

/// The requests that a guest may make.
const ALLOWED: [&str; 16] = [
    Context::COMMAND,
    Disassemble::COMMAND,
    Evaluate::COMMAND,
    ExceptionInfo::COMMAND,
    Explain::COMMAND,
    LoadedSources::COMMAND,
    Modules::COMMAND,
    ReadMemory::COMMAND,
    ReadTraces::COMMAND,
    Scopes::COMMAND,
    Search::COMMAND,
    Source::COMMAND,
    StackTrace::COMMAND,
    Stacks::COMMAND,
    Threads::COMMAND,
    Variables::COMMAND,
];

impl Service<'_> {
    /// Answers what guests have requested.
    pub(super) fn serve_guests(&mut self) {
        let mut index = 0;
        while let Some(guest) = self.session.guests.present.get(index) {
            match guest.received.try_recv() {
                Ok(Inbound::Request(request, flag, _weight)) => {
                    let leaves = request.command == Disconnect::COMMAND;
                    self.guest_request(index, request, flag);
                    if leaves {
                        self.session.guests.present.remove(index);
                    }
                }
                Ok(Inbound::Malformed(malformed, _weight)) => {
                    let error = RequestError::Malformed(malformed.message);
                    let seq = malformed.seq.unwrap_or(0);
                    self.respond_to_guest(index, seq, &malformed.command, Err(error));
                }
                Ok(Inbound::Ended(_)) => {
                    self.session.guests.present.remove(index);
                }
                Ok(_) => {}
                Err(_) => index += 1,
            }
        }
    }

    fn guest_request(&mut self, index: usize, request: Request, flag: CancelFlag) {
        let Request {
            seq,
            command,
            arguments,
        } = request;
        match command.as_str() {
            Initialize::COMMAND => {
                let capabilities = Body::of(&requests::capabilities());
                let handled = capabilities.map_err(|error| RequestError::Other(error.to_string()));
                self.respond_to_guest(index, seq, &command, handled);
                guests::describe_state(&mut self.session, index);
            }
            Disconnect::COMMAND => self.respond_to_guest(index, seq, &command, Ok(None)),
            _ => {
                self.session.use_flag(flag);
                let handled = self.looked_up(&command, arguments);
                self.session.use_flag(CancelFlag::default());
                self.respond_to_guest(index, seq, &command, handled);
            }
        }
    }

    fn looked_up(&mut self, command: &str, mut arguments: Value) -> Handled {
        if !ALLOWED.contains(&command) {
            return Err(RequestError::Other(format!(
                "`{command}` is not for a client that looks on: the session is another client's"
            )));
        }
        if command == Evaluate::COMMAND {
            // Nothing is called or changed.
            arguments["context"] = json!("hover");
        }
        let route = requests::find(command);
        let route = route.ok_or_else(|| RequestError::UnknownCommand(command.to_owned()))?;
        let session = &mut self.session;
        if !session.client.introduced {
            return Err(RequestError::TooEarly);
        }
        if session.deferred.is_calling() && route.deferred_during_call {
            let message = "a function of the program is being called; ask again";
            return Err(RequestError::Other(message.to_owned()));
        }
        carry_out(session, route, arguments)
    }

    fn respond_to_guest(&mut self, index: usize, seq: i64, command: &str, handled: Handled) {
        let Some(guest) = self.session.guests.present.get_mut(index) else {
            return;
        };
        let (success, message, body) = match handled {
            Ok(body) => (true, None, body),
            Err(error) => {
                let body = Body::of(&error.body()).ok().flatten();
                (false, Some(error.message()), body)
            }
        };
        let answer = Outgoing::Response {
            request_seq: seq,
            success,
            command,
            message,
        };
        guest.outbox.send(&answer, body);
    }
}
