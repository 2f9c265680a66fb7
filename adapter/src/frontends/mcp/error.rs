//! What a tool cannot do: a code for programs, and a sentence that names the remedy.

use serde_json::Value;
use std::fmt;

/// Why a tool failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolError {
    /// One of a few words in capitals.
    pub code: &'static str,
    /// What is wrong and what helps.
    pub message: String,
}

/// The code of a failure that has no better one yet.
const FAILED: &str = "FAILED";

impl ToolError {
    /// A failure.
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
            "nothing is being debugged; begin with debug_launch or debug_attach",
        )
    }

    /// The adapter's process is gone.
    pub fn lost() -> Self {
        Self::new(
            "SESSION_LOST",
            "the debugger's process has ended by itself, and the program with it; call debug_launch again",
        )
    }

    /// The program runs.
    pub fn running() -> Self {
        Self::new(
            "NOT_STOPPED",
            "the program is running; debug_continue {\"action\": \"wait\"} waits for its next stop, {\"action\": \"pause\"} stops it where it is",
        )
    }

    /// The program has not been let go yet.
    pub fn held() -> Self {
        Self::new(
            "NOT_STARTED",
            "the program is held before its first instruction; set breakpoints, then call debug_continue (or {\"action\": \"run-to\", \"to\": \"main\"})",
        )
    }

    /// The program is over.
    pub fn ended(how: &str) -> Self {
        Self::new(
            "PROGRAM_ENDED",
            format!(
                "the program has ended ({how}); debug_output has its output, debug_launch starts it again"
            ),
        )
    }

    /// From the adapter's answer to a request.
    pub fn of_answer(answer: &Value) -> Self {
        let error = &answer["body"]["error"];
        let text = error["format"].as_str().or(answer["message"].as_str());
        let text = text.unwrap_or("the request failed").to_owned();
        match error["id"].as_u64() {
            Some(2) => Self::new("CANCELLED", "cancelled"),
            Some(3) if text.contains("held") => Self::held(),
            Some(3) => Self::running(),
            Some(4) if text.contains("ended") => Self::ended("its exit was told before"),
            Some(4) => Self::no_session(),
            Some(7) => Self::new("BAD_ARGUMENTS", text),
            Some(9) => Self::new("START_FAILED", text),
            Some(10) => Self::new("INTERNAL", text),
            _ if text.contains("optimized out") => Self::new(
                "OPTIMIZED_OUT",
                format!(
                    "{text}: the compiler keeps no value here; look at a caller's frame, stop at another line, or compile with -O0 or -Og"
                ),
            ),
            _ if text.starts_with("no variable") => Self::new(
                FAILED,
                format!(
                    "{text}; debug_variables lists what the frame has, debug_stack the frames (`frame` chooses one)"
                ),
            ),
            _ => Self::new(FAILED, text),
        }
    }

    /// The same with another code, where it has no good one yet.
    pub fn or_code(self, code: &'static str) -> Self {
        match self.code {
            FAILED => Self { code, ..self },
            _ => self,
        }
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}
