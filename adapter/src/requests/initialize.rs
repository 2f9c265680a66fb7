//! The requests `initialize` and `cancel`.

use crate::protocol::RequestError;
use crate::protocol::{CancelArguments, Capabilities, InitializeArguments};
use crate::requests::{self, Request};
use crate::session::RequiredState;
use crate::session::Session;
use crate::session::call_trace;
use crate::session::progress;
use crate::session::startup;
use crate::sources::{Client, Habits, PathFormat};

/// Records the client's conventions and returns the adapter's capabilities.
pub enum Initialize {}

impl Request for Initialize {
    const COMMAND: &'static str = "initialize";
    const BEFORE_INITIALIZE: bool = true;
    const WHEN: RequiredState = RequiredState::Always;
    type Arguments = InitializeArguments;
    type Body = Capabilities;

    fn handle(
        session: &mut Session,
        arguments: InitializeArguments,
    ) -> Result<Capabilities, RequestError> {
        let path_format = match arguments.path_format.as_deref() {
            None | Some("path") => PathFormat::Path,
            Some("uri") => PathFormat::Uri,
            Some(other) => {
                return Err(RequestError::Arguments(format!(
                    "initialize: `pathFormat`: unknown value `{other}`; expected `path` or `uri`"
                )));
            }
        };
        tracing::info!(client = arguments.client_id, "initialize");
        let habits = Habits::of(arguments.client_id.as_deref());
        session.client = Client {
            habits,
            introduced: true,
            first_line: u32::from(arguments.lines_start_at1.unwrap_or(true)),
            first_column: u32::from(arguments.columns_start_at1.unwrap_or(true)),
            path_format,
            variable_type: arguments.supports_variable_type.unwrap_or(false),
            variable_paging: arguments.supports_variable_paging.unwrap_or(false),
            run_in_terminal: arguments.supports_run_in_terminal_request.unwrap_or(false),
            start_debugging: arguments.supports_start_debugging_request.unwrap_or(false),
            invalidated: arguments.supports_invalidated_event.unwrap_or(false),
            memory_references: arguments.supports_memory_references.unwrap_or(false),
            memory_events: arguments.supports_memory_event.unwrap_or(false),
            progress: arguments.supports_progress_reporting.unwrap_or(false),
            breakpoint_problems: arguments.supports_breakpoint_problems.unwrap_or(false),
            ansi_styling: arguments.supports_ansi_styling.unwrap_or(false),
        };
        let mut capabilities = requests::capabilities();
        if habits == Habits::Zed {
            capabilities.supports_single_thread_execution_requests = false;
        }
        Ok(capabilities)
    }
}

/// Cancels a request or work in progress. The reader has already set the request's flag (see
/// `server`); this part ends deferred requests and work without a request.
pub enum Cancel {}

impl Request for Cancel {
    const COMMAND: &'static str = "cancel";
    const WHEN: RequiredState = RequiredState::Always;
    type Arguments = CancelArguments;
    type Body = ();

    fn advertise(capabilities: &mut Capabilities) {
        capabilities.supports_cancel_request = true;
    }

    fn handle(session: &mut Session, arguments: CancelArguments) -> Result<(), RequestError> {
        if arguments.request_id.is_some()
            && arguments.request_id == session.startup.pending_request()
        {
            session.end_or_detach(None);
            startup::fail(session, RequestError::Cancelled);
        }
        if let Some(id) = arguments.progress_id {
            progress::cancel(session, &id);
        }
        call_trace::check_cancelled(session);
        Ok(())
    }
}
