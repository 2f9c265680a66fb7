//! A recording that begins at a stop.

use super::Travel;
use crate::debugger::Debugger;
use crate::ids::ThreadId;
use crate::ids::error::Error;

impl Debugger {
    /// Records the program from this stop on. Earlier stops cannot be shown any more.
    ///
    /// # Errors
    /// It is not stopped, is recorded already, or cannot be recorded: it is as before then.
    pub fn begin_recording(&mut self, thread: ThreadId) -> Result<(), Error> {
        let fail = |why: &str| Err(Error::NotRecorded(why.to_owned()));
        if self.is_recorded() {
            return Err(Error::eval("the program is recorded already"));
        }
        self.stopped_thread(thread)?;
        self.put_past_aside();
        if self.is_post_mortem() {
            return fail("it is a core file");
        }
        // The filter stays, and without a tracer it makes all system calls fail.
        if !self.inferior.launched {
            return fail(
                "it was attached to, and could not run without the debugger any more: launch it",
            );
        }
        if self.inferior.non_stop {
            return fail("its threads are stopped one by one (`nonStop`)");
        }
        if self.inferior.following.follow.follows() {
            return fail("its child processes are debugged; set `followFork` to parent");
        }
        if self.threads.values().any(|it| !it.suspended.is_empty()) {
            return fail("a function that was called from the console has not returned");
        }
        self.restart_past();
        let begun = self.inferior.begin_recording(thread);
        begun.map_err(Error::NotRecorded)?;
        self.travel = Travel::default();
        let ended = self.inferior.os().recording().and_then(|it| it.ended);
        ended.map_or(Ok(()), |why| Err(Error::NotRecorded(why)))
    }
}
