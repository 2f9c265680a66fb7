//! Errors of tools: a code for programs, and a sentence with the remedy.

use crate::client::ClientError;
use crate::protocol::ErrorMessage;
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
        let text = error.format;
        match Some(error.id) {
            Some(2) => Self::new("CANCELLED", "cancelled"),
            Some(3) if text.contains("held") => Self::held(),
            Some(3) => Self::running(),
            Some(4) if text.contains("ended") => Self::ended("reported before"),
            Some(4) => Self::no_session(),
            Some(7) => Self::new("BAD_ARGUMENTS", text),
            Some(9) => Self::new("START_FAILED", text),
            Some(10) => Self::new("INTERNAL", text),
            _ if text.contains("optimized out") => Self::new(
                "OPTIMIZED_OUT",
                format!(
                    "{text}: no value at this location; read it in a caller's frame, stop at \
                     another line, or compile with -O0 or -Og"
                ),
            ),
            _ if text.starts_with("no variable") => Self::new(
                FAILED,
                format!(
                    "{text}; list variables with debug_variables, frames with debug_stack \
                     (`frame` selects one)"
                ),
            ),
            _ => Self::new(FAILED, text),
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
