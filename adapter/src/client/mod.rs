//! The DAP client of our own front ends. It knows a request by its type in `requests`, so that
//! arguments and body are declared once for both sides.
//!
//! Two tasks serve a connection: one reads messages until the server closes the stream, one writes
//! requests until the last handle of the client is dropped.

mod connection;
mod error;
#[cfg(test)]
mod tests;

pub use error::ClientError;

use crate::protocol::{CancelArguments, Event, Response, Variable, VariablesArguments, from_json};
use crate::requests::{Cancel, Effect, Request, Variables};
use connection::Shared;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::oneshot;

/// Receives what the server sends unasked, in the order of its arrival.
pub trait Listener: Send + 'static {
    /// Handles an event.
    fn on_event(&mut self, event: Event);

    /// Handles the success of a request that resumes the debuggee ([`Effect::Runs`]): later events
    /// are about what it does then. The caller of the request gets the response afterwards.
    fn on_resumed(&mut self) {}

    /// Handles the end of the connection, after which nothing arrives.
    fn on_end(&mut self) {}
}

impl Listener for UnboundedSender<Event> {
    fn on_event(&mut self, event: Event) {
        // Fails only if the receiver is gone, and with it the interest in events.
        let _ = self.send(event);
    }
}

/// A connection to a DAP server. It is closed when the client and all its pending requests are
/// dropped.
pub struct Client(Arc<Shared>);

impl Client {
    /// Creates the client of a server that writes to `input` and reads from `output`. Must be
    /// called in a Tokio runtime.
    pub fn connect(
        input: impl AsyncRead + Unpin + Send + 'static,
        output: impl AsyncWrite + Unpin + Send + 'static,
        listener: impl Listener,
    ) -> Self {
        Self(connection::open(input, output, listener))
    }

    /// Sends a request. The result is a future: the body of the response.
    ///
    /// # Errors
    /// The connection has ended.
    pub fn send<R>(&self, arguments: &R::Arguments) -> Result<Pending<R::Body>, ClientError>
    where
        R: Request<Arguments: Serialize, Body: DeserializeOwned>,
    {
        let (seq, response) = self.0.request(R::COMMAND, R::EFFECT, arguments)?;
        Ok(Pending {
            seq,
            command: R::COMMAND,
            response: Some(response),
            shared: Arc::clone(&self.0),
            body: PhantomData,
        })
    }

    /// Sends a request and waits for the body of its response.
    ///
    /// # Errors
    /// The request failed, or the connection has ended.
    pub async fn request<R>(&self, arguments: &R::Arguments) -> Result<R::Body, ClientError>
    where
        R: Request<Arguments: Serialize, Body: DeserializeOwned>,
    {
        self.send::<R>(arguments)?.await
    }

    /// Returns the variables of a scope or value.
    ///
    /// # Errors
    /// Like [`Client::request`].
    pub async fn variables(
        &self,
        arguments: &VariablesArguments,
    ) -> Result<Vec<Variable>, ClientError> {
        let body = self.request::<Variables>(arguments).await?.decode();
        let body = body.map_err(|error| ClientError::Malformed {
            command: Variables::COMMAND,
            why: error.to_string(),
        });
        Ok(body?.variables)
    }

    /// Returns why nothing arrives any more.
    pub fn end(&self) -> ClientError {
        self.0.end()
    }
}

/// A request without a response yet: a future of the response's body. If it is dropped before, the
/// request is cancelled.
pub struct Pending<B> {
    seq: u64,
    command: &'static str,
    /// `None` once the response has been returned.
    response: Option<oneshot::Receiver<Response>>,
    shared: Arc<Shared>,
    body: PhantomData<fn() -> B>,
}

impl<B: DeserializeOwned> Future for Pending<B> {
    type Output = Result<B, ClientError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        let Some(receiver) = &mut this.response else {
            return Poll::Ready(Err(this.shared.end()));
        };
        let response = ready!(Pin::new(receiver).poll(context));
        this.response = None;
        let Ok(response) = response else {
            return Poll::Ready(Err(this.shared.end()));
        };
        if !response.success {
            return Poll::Ready(Err(ClientError::of_response(&response)));
        }
        let body = response.body.as_deref().map_or("null", |body| body.get());
        Poll::Ready(from_json(body).map_err(|error| ClientError::Malformed {
            command: this.command,
            why: error.to_string(),
        }))
    }
}

impl<B> Drop for Pending<B> {
    fn drop(&mut self) {
        let is_answered = |it: &oneshot::Receiver<_>| !it.is_empty();
        if self.response.as_ref().is_none_or(is_answered) {
            return;
        }
        let cancel = CancelArguments {
            request_id: i64::try_from(self.seq).ok(),
            ..CancelArguments::default()
        };
        // Fails only if the connection has ended. The response to `cancel` is not waited for.
        let _ = self.shared.request(Cancel::COMMAND, Effect::Reads, &cancel);
    }
}
