//! Group-stops: a signal (SIGSTOP, SIGTSTP, …) has stopped the whole process. A resume keeps it
//! stopped until SIGCONT arrives (ptrace(2), PTRACE_LISTEN).

use super::Inferior;
use super::Notice;
use super::thread::RunState;
use crate::ids::{Signal, ThreadId};
use crate::os::{Resume, ThreadEvent};

impl Inferior {
    /// Records what a stop reveals about the group-stop of the process.
    pub(crate) fn note_group_stop(&mut self, thread: ThreadId, status: ThreadEvent) {
        let group_stop = match status {
            ThreadEvent::GroupStop(_) => true,
            // An interrupted thread of a process in group-stop reports a group-stop instead.
            ThreadEvent::Interrupted => false,
            _ => return,
        };
        if let Some(state) = self.thread_mut(thread) {
            state.group_stop = group_stop;
        }
        if !group_stop
            && let Some(process) = &mut self.process
            && std::mem::take(&mut process.is_group_stop_reported)
        {
            let text = "The program was continued by SIGCONT.\n";
            self.notices.push(Notice::Remark(text.into()));
        }
    }

    /// Sends SIGCONT if the process is in group-stop: it cannot handle another signal in that
    /// state.
    pub(crate) fn end_group_stop(&mut self) {
        if let Some(process) = &self.process
            && process.threads.values().any(|state| state.group_stop)
        {
            self.os.signal(process.pid, Signal::CONT);
        }
    }

    /// Leaves a thread in the group-stop of its process. Returns false if there is none.
    pub(crate) fn stay_stopped(&mut self, thread: ThreadId) -> bool {
        let stays = self
            .thread_mut(thread)
            .is_some_and(|state| state.is_stopped() && state.group_stop);
        if !stays {
            return false;
        }
        self.write_registers(thread);
        if let Some(state) = self.thread_mut(thread) {
            state.run = RunState::Running;
        }
        if !self.os.keep_group_stop(thread) {
            // The debugger has moved the thread since: back into the group-stop, if it persists.
            self.os.interrupt(thread);
            self.run(thread, Resume::Continue, Signal(0));
        }
        if let Some(process) = &mut self.process
            && !std::mem::replace(&mut process.is_group_stop_reported, true)
        {
            let text = format!(
                "The program was stopped from outside by a signal such as SIGSTOP; it runs again \
                 after SIGCONT: `kill -CONT {}`\n",
                process.pid
            );
            self.notices.push(Notice::Remark(text));
        }
        true
    }
}
