//! Requests deferred during an inferior call. After the call, the evaluation that made it is
//! handled again, and then the later requests.

use crate::protocol::Request;
use crate::server::{CancelFlag, InFlightBytes};
use std::collections::VecDeque;
use std::sync::atomic::Ordering;

/// A request that arrived during the call. Its weight counts until it is handled, for backpressure.
pub type Queued = (Request, CancelFlag, InFlightBytes);

/// The deferred requests.
#[derive(Debug, Default)]
pub struct Deferred {
    evaluation: Option<(Request, CancelFlag)>,
    queue: VecDeque<Queued>,
}

impl Deferred {
    /// Returns true while an evaluation waits for a call: its stop must not change.
    pub fn is_calling(&self) -> bool {
        self.evaluation.is_some()
    }

    /// Defers an evaluation that has made a call.
    pub fn retry_later(&mut self, request: Request, flag: CancelFlag) {
        self.evaluation = Some((request, flag));
    }

    /// Defers a request.
    pub fn push(&mut self, queued: Queued) {
        self.queue.push_back(queued);
    }

    /// Returns whether the client has cancelled the evaluation that waits.
    pub fn is_cancelled(&self) -> bool {
        let evaluation = self.evaluation.as_ref();
        evaluation.is_some_and(|(_, flag)| flag.load(Ordering::Relaxed))
    }

    /// Takes the evaluation whose call has ended.
    pub fn take_evaluation(&mut self) -> Option<(Request, CancelFlag)> {
        self.evaluation.take()
    }

    /// Takes the next request; `None` while a call runs.
    pub fn pop(&mut self) -> Option<Queued> {
        match self.is_calling() {
            true => None,
            false => self.queue.pop_front(),
        }
    }

    /// Takes all requests in their order.
    pub fn take_all(&mut self) -> impl Iterator<Item = Request> + use<> {
        let evaluation = self.evaluation.take().map(|(request, _)| request);
        let queue = std::mem::take(&mut self.queue);
        let queue = queue.into_iter().map(|(request, ..)| request);
        evaluation.into_iter().chain(queue)
    }
}
