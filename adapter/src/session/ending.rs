//! The end of the debuggee by the session.

use crate::protocol::RequestError;
use crate::session::call_trace::CallTrace;
use crate::session::children::Children;
use crate::session::debuginfod::Debuginfod;
use crate::session::recording_file;
use crate::session::startup;
use crate::session::traces;
use crate::session::{Session, User};
use engine::{Signal, State};

impl Session {
    /// Terminates the debuggee or detaches from it; `None`: as it was started. A recorded one is terminated in any
    /// case: without the recorder its system calls would fail.
    pub fn end_or_detach(&mut self, terminate: Option<bool>) {
        let terminate = terminate.or(self.settings.terminate_debuggee);
        let terminate = terminate.unwrap_or(self.startup.ends_with_session());
        startup::fail(self, RequestError::Cancelled);
        for request in self.deferred.take_all() {
            self.respond(request.seq, &request.command, Err(RequestError::Cancelled));
        }
        self.call_trace = CallTrace::default();
        self.debuginfod = Debuginfod::default();
        self.children = Children::default();
        recording_file::write_of_stopped(self);
        let is_bound = !terminate && self.debugger.is_recorded();
        if is_bound && matches!(self.state(), State::Held | State::Running | State::Stopped) {
            self.important_note(
                "The program was ended: it is recorded, and cannot run without the debugger.\n",
            );
        }
        if terminate || is_bound {
            if self.user != User::Client {
                let signal = engine::os::end_signal().unwrap_or(Signal::TERM);
                self.debugger.signal_group(signal);
            }
            self.debugger.kill();
        } else {
            match self.debugger.detach() {
                Ok(()) if self.debugger.captures_output() => {
                    self.console("Detached. Further output of the program is discarded.\n");
                }
                Ok(()) => {}
                Err(error) => tracing::debug!(%error, "nothing to detach from"),
            }
        }
        recording_file::write_of_ended(self);
        traces::report_at_end(self);
        self.handles.clear();
    }
}
