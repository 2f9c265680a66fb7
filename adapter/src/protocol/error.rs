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
    /// The request needs a stopped program, and it runs.
    #[error("{RUNNING}")]
    Running,
    /// The request needs a stopped program, and it is not released yet.
    #[error("the program is held at its start until configurationDone")]
    Held,
    /// The request needs a program.
    #[error("no program; send launch or attach first")]
    NoProcess,
    /// The request needs a program, and it has ended.
    #[error("the program has ended")]
    Ended,
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
    /// A name in an expression that is not in scope.
    #[error("{0}")]
    UnknownName(String),
    /// The compiler has kept no value.
    #[error("{0}")]
    OptimizedOut(String),
    /// Anything else.
    #[error("{0}")]
    Other(String),
}

impl From<engine::Error> for RequestError {
    fn from(error: engine::Error) -> Self {
        match error {
            engine::Error::Cancelled => RequestError::Cancelled,
            engine::Error::Calling => RequestError::Calling,
            engine::Error::NotStopped => RequestError::Running,
            engine::Error::Launch { .. }
            | engine::Error::Attach { .. }
            | engine::Error::Core { .. } => RequestError::Start(error.to_string()),
            other => Self::of_value(&other, other.to_string()),
        }
    }
}

/// The message if a request that needs a stopped program arrives while it runs.
const RUNNING: &str = "the program is running; pause it first";

/// The kinds of errors: the `id` of an error on the wire, so that a client need not read its text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum ErrorKind {
    /// See [`RequestError::Other`].
    Other = 1,
    /// See [`RequestError::Cancelled`].
    Cancelled = 2,
    /// See [`RequestError::Running`].
    Running = 3,
    /// See [`RequestError::NoProcess`].
    NoProcess = 4,
    /// See [`RequestError::UnknownCommand`].
    UnknownCommand = 5,
    /// See [`RequestError::Malformed`].
    Malformed = 6,
    /// See [`RequestError::Arguments`].
    Arguments = 7,
    /// See [`RequestError::StaleId`].
    StaleId = 8,
    /// See [`RequestError::Start`].
    Start = 9,
    /// See [`RequestError::Panic`].
    Panic = 10,
    /// See [`RequestError::Calling`].
    Calling = 11,
    /// See [`RequestError::SessionEnded`].
    SessionEnded = 12,
    /// See [`RequestError::TooEarly`].
    TooEarly = 13,
    /// See [`RequestError::Held`].
    Held = 14,
    /// See [`RequestError::Ended`].
    Ended = 15,
    /// See [`RequestError::UnknownName`].
    UnknownName = 16,
    /// See [`RequestError::OptimizedOut`].
    OptimizedOut = 17,
}

impl ErrorKind {
    const ALL: [Self; 17] = [
        Self::Other,
        Self::Cancelled,
        Self::Running,
        Self::NoProcess,
        Self::UnknownCommand,
        Self::Malformed,
        Self::Arguments,
        Self::StaleId,
        Self::Start,
        Self::Panic,
        Self::Calling,
        Self::SessionEnded,
        Self::TooEarly,
        Self::Held,
        Self::Ended,
        Self::UnknownName,
        Self::OptimizedOut,
    ];

    /// Returns the kind of an error on the wire; [`ErrorKind::Other`] if it is unknown.
    pub fn of(error: &ErrorMessage) -> Self {
        let mut all = Self::ALL.into_iter();
        let kind = all.find(|kind| *kind as u32 == error.id);
        kind.unwrap_or(Self::Other)
    }
}

impl RequestError {
    /// Returns the error of a value that is shown as `text`.
    pub fn of_value(error: &engine::Error, text: String) -> Self {
        match error {
            engine::Error::UnknownName { .. } => Self::UnknownName(text),
            engine::Error::OptimizedOut | engine::Error::PointeeOptimizedOut => {
                Self::OptimizedOut(text)
            }
            _ => Self::Other(text),
        }
    }

    /// Returns the response's `message`: one of the specification's short names if there is one.
    pub fn message(&self) -> String {
        match self {
            RequestError::Running | RequestError::Held => "notStopped".to_owned(),
            other => other.to_string(),
        }
    }

    fn kind(&self) -> ErrorKind {
        match self {
            RequestError::Other(_) => ErrorKind::Other,
            RequestError::Cancelled => ErrorKind::Cancelled,
            RequestError::Running => ErrorKind::Running,
            RequestError::NoProcess => ErrorKind::NoProcess,
            RequestError::UnknownCommand(_) => ErrorKind::UnknownCommand,
            RequestError::Malformed(_) => ErrorKind::Malformed,
            RequestError::Arguments(_) => ErrorKind::Arguments,
            RequestError::StaleId(_) => ErrorKind::StaleId,
            RequestError::Start(_) => ErrorKind::Start,
            RequestError::Panic { .. } => ErrorKind::Panic,
            RequestError::Calling => ErrorKind::Calling,
            RequestError::SessionEnded => ErrorKind::SessionEnded,
            RequestError::TooEarly => ErrorKind::TooEarly,
            RequestError::Held => ErrorKind::Held,
            RequestError::Ended => ErrorKind::Ended,
            RequestError::UnknownName(_) => ErrorKind::UnknownName,
            RequestError::OptimizedOut(_) => ErrorKind::OptimizedOut,
        }
    }

    /// Returns the response's body.
    pub fn body(&self) -> ErrorBody {
        let error = ErrorMessage {
            id: self.kind() as u32,
            format: self.to_string(),
            show_user: matches!(self, RequestError::Start(_) | RequestError::Panic { .. }),
        };
        ErrorBody { error }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_known_by_its_id() {
        for (kind, id) in ErrorKind::ALL.into_iter().zip(1..) {
            assert_eq!(kind as u32, id);
            let error = ErrorMessage {
                id,
                format: String::new(),
                show_user: false,
            };
            assert_eq!(ErrorKind::of(&error), kind);
        }
    }

    #[test]
    fn kinds_of_engine_errors_survive_the_wire() {
        let unknown = engine::Error::UnknownName {
            message: "any text".to_owned(),
            span: 0..1,
        };
        for (error, kind) in [
            (unknown, ErrorKind::UnknownName),
            (engine::Error::OptimizedOut, ErrorKind::OptimizedOut),
            (engine::Error::PointeeOptimizedOut, ErrorKind::OptimizedOut),
            (engine::Error::NotStopped, ErrorKind::Running),
            (engine::Error::Cancelled, ErrorKind::Cancelled),
            // A text alone has no kind.
            (engine::Error::eval("<optimized out>"), ErrorKind::Other),
        ] {
            let body = RequestError::from(error).body();
            let body = serde_json::to_string(&body).expect("JSON");
            let body: ErrorBody = serde_json::from_str(&body).expect("the same type");
            assert_eq!(ErrorKind::of(&body.error), kind);
        }
    }
}
