//! Group-stops: a signal (SIGSTOP, SIGTSTP, …) has stopped the whole process. It stays so when
//! we let it go on, until somebody sends SIGCONT (ptrace(2), PTRACE_LISTEN).

use crate::debugger::Debugger;
use crate::event::Event;
use crate::ids::{Signal, ThreadId};
use crate::os::{Resume, WaitStatus};

impl Debugger {
    /// Keeps what a stop says of the process's group-stop.
    pub(crate) fn note_group_stop(&mut self, thread: ThreadId, status: WaitStatus) {
        let group_stop = match status {
            WaitStatus::GroupStop(_) => true,
            // An interrupted thread of a process in group-stop says so.
            WaitStatus::Interrupted => false,
            _ => return,
        };
        if let Some(state) = self.thread_mut(thread) {
            state.group_stop = group_stop;
        }
        if !group_stop
            && let Some(process) = &mut self.process
            && std::mem::take(&mut process.told_of_group_stop)
        {
            let text = "The program has been continued (SIGCONT).\n";
            self.events.push_back(Event::Note(text.into()));
        }
    }

    /// Sends SIGCONT where a signal has stopped the process: it could not be told of any other.
    pub(crate) fn end_group_stop(&mut self) {
        if let Some(process) = &self.process
            && process.threads.values().any(|state| state.group_stop)
        {
            self.os.signal(process.pid, Signal(libc::SIGCONT));
        }
    }

    /// Lets a thread stay in its process's group-stop. False: there is none.
    pub(crate) fn stay_stopped(&mut self, thread: ThreadId) -> bool {
        // A call of ours runs all the same.
        let stays = !self.calls_on(thread)
            && self
                .thread_mut(thread)
                .is_some_and(|state| state.stopped && state.group_stop);
        if !stays {
            return false;
        }
        self.write_registers(thread);
        if let Some(state) = self.thread_mut(thread) {
            state.stopped = false;
        }
        if !self.os.listen(thread) {
            // It has been moved on by us since: back into its group-stop, if that lasts.
            self.os.interrupt(thread);
            self.os.resume(thread, Resume::Continue, Signal(0));
        }
        if let Some(process) = &mut self.process
            && !std::mem::replace(&mut process.told_of_group_stop, true)
        {
            let text = format!(
                "A signal (SIGSTOP or the like) has stopped the program from outside; it goes on \
                 when it gets SIGCONT: `kill -CONT {}`\n",
                process.pid
            );
            self.events.push_back(Event::Note(text));
        }
        true
    }
}
