//! Errors of requests, and their conversion to responses.

use super::{Body, ErrorBody, ErrorMessage};

/// The result of a request: the body of its response.
pub type Handled = Result<Option<Body>, RequestError>;

/// An error of a request.
#[derive(Debug, thiserror::Error)]
pub enum RequestError {
    /// The request waits for an inferior call, and is handled again after it.
    #[error("a call into the program is in progress")]
    Calling,
    /// The client cancelled it.
    #[error("cancelled")]
    Cancelled,
    /// The client has not sent `initialize`.
    #[error("send `initialize` first")]
    TooEarly,
    /// The request needs a stopped program; the text says what the program does instead.
    #[error("{0}")]
    NotStopped(&'static str),
    /// The request needs a program.
    #[error("{0}")]
    NoProcess(&'static str),
    /// The request arrived after the end of the session.
    #[error("the session has ended; start a new one")]
    SessionEnded,
    /// No such command.
    #[error("unknown request `{0}`")]
    UnknownCommand(String),
    /// A message that is not a request.
    #[error("{0}")]
    Malformed(String),
    /// Invalid arguments; the text names the field.
    #[error("{0}")]
    Arguments(String),
    /// An id from an earlier stop, or one that never existed.
    #[error("{0}")]
    StaleId(String),
    /// The program could not be launched or attached to.
    #[error("{0}")]
    Start(String),
    /// A bug in the adapter.
    #[error("internal error in `{command}`: {message}; the session continues")]
    Panic {
        /// The request.
        command: String,
        /// The panic's message.
        message: String,
    },
    /// Anything else.
    #[error("{0}")]
    Other(String),
}

impl From<engine::Error> for RequestError {
    fn from(error: engine::Error) -> Self {
        match error {
            engine::Error::Cancelled => RequestError::Cancelled,
            engine::Error::Calling => RequestError::Calling,
            engine::Error::NotStopped => RequestError::NotStopped(RUNNING),
            engine::Error::Launch { .. }
            | engine::Error::Attach { .. }
            | engine::Error::Core { .. } => RequestError::Start(error.to_string()),
            other => RequestError::Other(other.to_string()),
        }
    }
}

/// The message if a request that needs a stopped program arrives while it runs.
pub const RUNNING: &str = "the program is running; pause it first";

impl RequestError {
    /// Returns the response's `message`: one of the specification's short names if there is one.
    pub fn message(&self) -> String {
        match self {
            RequestError::NotStopped(_) => "notStopped".to_owned(),
            other => other.to_string(),
        }
    }

    /// Returns the response's body.
    pub fn body(&self) -> ErrorBody {
        let id = match self {
            RequestError::Other(_) => 1,
            RequestError::Cancelled => 2,
            RequestError::NotStopped(_) => 3,
            RequestError::NoProcess(_) => 4,
            RequestError::UnknownCommand(_) => 5,
            RequestError::Malformed(_) => 6,
            RequestError::Arguments(_) => 7,
            RequestError::StaleId(_) => 8,
            RequestError::Start(_) => 9,
            RequestError::Panic { .. } => 10,
            RequestError::Calling => 11,
            RequestError::SessionEnded => 12,
            RequestError::TooEarly => 13,
        };
        let error = ErrorMessage {
            id,
            format: self.to_string(),
            show_user: matches!(self, RequestError::Start(_) | RequestError::Panic { .. }),
        };
        ErrorBody { error }
    }
}
