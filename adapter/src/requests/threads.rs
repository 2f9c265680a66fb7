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
        let threads = session.debugger.threads();
        let names: Vec<&str> = threads.iter().map(|it| it.name.as_str()).collect();
        let threads = threads
            .iter()
            .zip(distinct(&names, |nth| threads[nth].id.0))
            .map(|(thread, name)| Thread {
                id: thread.id.0.into(),
                name,
            })
            .collect();
        Ok(ThreadsResponse { threads })
    }
}

/// Adds the kernel's ids to names that several threads have: a thread without a name of its own has that of the
/// thread that started it. The first one, which is that of the process, keeps its name.
fn distinct(names: &[&str], id: impl Fn(usize) -> i32) -> Vec<String> {
    let named = names.iter().enumerate();
    let named = named.map(|(nth, name)| {
        let is_shared = names.iter().filter(|other| *other == name).count() > 1;
        match is_shared && nth > 0 {
            true => format!("{name} ({})", id(nth)),
            false => (*name).to_owned(),
        }
    });
    named.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_several_threads_have_ids() {
        let ids = [70, 71, 72, 73];
        let names = distinct(&["shapes", "shapes", "pool", "shapes"], |nth| ids[nth]);
        assert_eq!(names, ["shapes", "shapes (71)", "pool", "shapes (73)"]);
    }
}
