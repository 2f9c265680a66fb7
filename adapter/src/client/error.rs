//! Why a request of ours failed.

use crate::protocol::{ErrorBody, ErrorMessage, Response};

/// Why a request failed.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum ClientError {
    /// The server has closed the connection.
    #[error("the session ended by itself")]
    Ended,
    /// The server sent something that is not DAP, or the stream failed.
    #[error("{0}")]
    Broken(String),
    /// The response is not that of the request.
    #[error("malformed response to `{command}`: {why}")]
    Malformed {
        /// The command of the request.
        command: &'static str,
        /// What is wrong with it.
        why: String,
    },
    /// The server refused the request.
    #[error("{}", .0.format)]
    Refused(ErrorMessage),
}

impl ClientError {
    /// Creates the error of a response that reports a failure.
    pub(super) fn of_response(response: &Response) -> Self {
        let body = response.body.as_deref();
        let body = body.and_then(|body| serde_json::from_str::<ErrorBody>(body.get()).ok());
        let error = body.map_or_else(
            || ErrorMessage {
                id: 0,
                format: (response.message.clone()).unwrap_or_else(|| "the request failed".into()),
                show_user: false,
            },
            |body| body.error,
        );
        Self::Refused(error)
    }
}
