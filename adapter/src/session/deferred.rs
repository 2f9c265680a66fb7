//! Requests that wait for the end of a call into the program: the evaluation that made the call is
//! carried out again then, and after it what came behind.

use crate::protocol::Request;
use crate::server::{CancelFlag, Weight};
use std::collections::VecDeque;

/// A request that came during the call. Its weight counts until it is carried out, so that a
/// client that sends more than fits has to wait.
pub type Queued = (Request, CancelFlag, Weight);

/// Requests that wait.
#[derive(Debug, Default)]
pub struct Deferred {
    evaluation: Option<(Request, CancelFlag)>,
    queue: VecDeque<Queued>,
}

impl Deferred {
    /// Whether an evaluation waits for a call: the stop has to be the same afterwards.
    pub fn is_calling(&self) -> bool {
        self.evaluation.is_some()
    }

    /// An evaluation has made a call.
    pub fn retry_later(&mut self, request: Request, flag: CancelFlag) {
        self.evaluation = Some((request, flag));
    }

    /// A request has to wait.
    pub fn push(&mut self, queued: Queued) {
        self.queue.push_back(queued);
    }

    /// The evaluation whose call has ended.
    pub fn take_evaluation(&mut self) -> Option<(Request, CancelFlag)> {
        self.evaluation.take()
    }

    /// The next request, if none has to wait any more.
    pub fn pop(&mut self) -> Option<Queued> {
        match self.is_calling() {
            true => None,
            false => self.queue.pop_front(),
        }
    }

    /// All of them, in their order.
    pub fn take_all(&mut self) -> impl Iterator<Item = Request> + use<> {
        let evaluation = self.evaluation.take().map(|(request, _)| request);
        let queue = std::mem::take(&mut self.queue);
        let queue = queue.into_iter().map(|(request, ..)| request);
        evaluation.into_iter().chain(queue)
    }
}
