//! The `threads` request.

use crate::protocol::RequestError;
use crate::protocol::{NoArguments, Thread, ThreadsResponse};
use crate::requests::{Effect, Request};
use crate::session::RequiredState;
use crate::session::Session;

/// Lists the threads, also while the program runs.
pub enum Threads {}

impl Request for Threads {
    const COMMAND: &'static str = "threads";
    const EFFECT: Effect = Effect::Reads;
    const WHEN: RequiredState = RequiredState::Always;
    type Arguments = NoArguments;
    type Body = ThreadsResponse;

    fn handle(session: &mut Session, _: NoArguments) -> Result<ThreadsResponse, RequestError> {
        let threads = session.debugger.threads().into_iter();
        let threads = threads
            .map(|thread| Thread {
                id: thread.id.0.into(),
                name: thread.name,
            })
            .collect();
        Ok(ThreadsResponse { threads })
    }
}
