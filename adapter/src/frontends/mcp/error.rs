//! Errors of tools: a code for programs, and a sentence with the remedy.

use crate::client::ClientError;
use crate::protocol::{ErrorKind, ErrorMessage};
use std::fmt;

/// Why a tool failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolError {
    /// One of a few words in capital letters.
    pub code: &'static str,
    /// The cause and the remedy.
    pub message: String,
}

/// The code of a failure without a more specific one.
const FAILED: &str = "FAILED";

impl ToolError {
    /// Creates an error.
    pub fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
        }
    }

    /// There is no session.
    pub fn no_session() -> Self {
        Self::new(
            "NO_SESSION",
            "no debug session; call debug_launch or debug_attach",
        )
    }

    /// The adapter's process is gone.
    pub fn lost() -> Self {
        Self::new(
            "SESSION_LOST",
            "the debug adapter exited unexpectedly and ended the program; call debug_launch",
        )
    }

    /// The program is running.
    pub fn running() -> Self {
        Self::new(
            "NOT_STOPPED",
            "the program is running; call debug_continue with {\"action\": \"wait\"} to wait for \
             its next stop, or {\"action\": \"pause\"} to stop it",
        )
    }

    /// The program is still held at its start.
    pub fn held() -> Self {
        Self::new(
            "NOT_STARTED",
            "the program is held before its first instruction; set breakpoints, then call \
             debug_continue (or {\"action\": \"run-to\", \"to\": \"main\"})",
        )
    }

    /// The program has ended; `how` says with what exit code or signal.
    pub fn ended(how: &str) -> Self {
        Self::new(
            "PROGRAM_ENDED",
            format!(
                "the program has ended ({how}); read its output with debug_output, or call \
                 debug_launch"
            ),
        )
    }

    /// Converts the adapter's error response.
    fn of_response(error: ErrorMessage) -> Self {
        let kind = ErrorKind::of(&error);
        let text = error.format;
        match kind {
            ErrorKind::Cancelled => Self::new("CANCELLED", "cancelled"),
            ErrorKind::Held => Self::held(),
            ErrorKind::Running => Self::running(),
            ErrorKind::Ended => Self::ended("reported before"),
            ErrorKind::NoProcess => Self::no_session(),
            ErrorKind::Arguments => Self::new("BAD_ARGUMENTS", text),
            ErrorKind::Start => Self::new("START_FAILED", text),
            ErrorKind::Panic => Self::new("INTERNAL", text),
            ErrorKind::OptimizedOut => Self::new(
                "OPTIMIZED_OUT",
                format!(
                    "{text}: no value at this location; read it in a caller's frame, stop at \
                     another line, or compile with -O0 or -Og"
                ),
            ),
            ErrorKind::UnknownName => Self::new(
                FAILED,
                format!(
                    "{text}; list variables with debug_variables, frames with debug_stack \
                     (`frame` selects one)"
                ),
            ),
            ErrorKind::Other
            | ErrorKind::UnknownCommand
            | ErrorKind::Malformed
            | ErrorKind::StaleId
            | ErrorKind::Calling
            | ErrorKind::SessionEnded
            | ErrorKind::TooEarly => Self::new(FAILED, text),
        }
    }

    /// Replaces the general code by a more specific one.
    pub fn or_code(self, code: &'static str) -> Self {
        match self.code {
            FAILED => Self { code, ..self },
            _ => self,
        }
    }
}

impl From<ClientError> for ToolError {
    fn from(error: ClientError) -> Self {
        match error {
            ClientError::Ended | ClientError::Broken(_) => Self::lost(),
            ClientError::Refused(error) => Self::of_response(error),
            ClientError::Malformed { .. } => Self::new("INTERNAL", error.to_string()),
        }
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::RequestError;

    #[test]
    fn codes_follow_the_kind_and_not_the_text() {
        let code = |error: RequestError| {
            let error = ClientError::Refused(error.body().error);
            ToolError::from(error).code
        };
        assert_eq!(code(RequestError::Held), "NOT_STARTED");
        assert_eq!(code(RequestError::Running), "NOT_STOPPED");
        assert_eq!(code(RequestError::Ended), "PROGRAM_ENDED");
        assert_eq!(code(RequestError::NoProcess), "NO_SESSION");
        let text = || "any text".to_owned();
        assert_eq!(code(RequestError::OptimizedOut(text())), "OPTIMIZED_OUT");
        assert_eq!(code(RequestError::Start(text())), "START_FAILED");
        let misleading = "no variable is held, ended or optimized out";
        assert_eq!(code(RequestError::Other(misleading.to_owned())), FAILED);
        let unknown = RequestError::UnknownName(text()).body().error;
        let unknown = ToolError::of_response(unknown).message;
        assert!(unknown.contains("debug_variables"), "{unknown}");
    }
}
