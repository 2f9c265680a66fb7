//! Creation and exit of threads, as the kernel reports them: in any order.

use super::{Child, DisplacedPads, Inferior, JumpPatches, Notice, Process, ProcessEnd, State};
use crate::ids::{ExitStatus, Signal, ThreadId};
use crate::os::{Patience, Resume, ThreadEvent, WaitInterest};
use std::time::{Duration, Instant};

/// How long to spin for the end of a killed process.
const AT_ONCE: Duration = Duration::from_micros(500);

impl Inferior {
    /// Handles the creation of a thread, as its creator reports it.
    pub(crate) fn on_clone(&mut self, new: ThreadId) {
        let process = self.process.as_mut();
        if !process.is_some_and(|process| process.unannounced_threads.remove(&new)) {
            self.adopt(new);
        }
    }

    /// Adds a thread to the process. Its stop, if there was one already, is ready now.
    pub(crate) fn adopt(&mut self, new: ThreadId) {
        let Some(process) = &mut self.process else {
            return;
        };
        let early = process.unclaimed_stops.remove(&new);
        let thread = process.threads.entry(new).or_default();
        if !thread.announced {
            thread.announced = true;
            self.notices.push(Notice::ThreadStarted(new));
        }
        let is_second = process.threads.len() > 1;
        self.ready.extend(early.map(|status| (new, status)));
        if is_second && std::mem::take(&mut self.jumps.are_for_one_thread) {
            // It has not run yet, and its creator is in a system call.
            self.sites.end_all_jumps(&*self.os);
        }
    }

    /// Handles a stop of an unknown thread: the report of its creation is still to come.
    pub(crate) fn on_unknown_thread(&mut self, thread: ThreadId, status: ThreadEvent) {
        let Some(process) = &mut self.process else {
            return;
        };
        if let Some(kind) = process.children.get(&thread.0).copied() {
            self.on_child(thread, kind, status);
            return;
        }
        if status.is_end() {
            process.unclaimed_stops.remove(&thread);
            process.unannounced_threads.insert(thread);
            return;
        }
        if process.state == State::Ended {
            self.set_child(thread, Some(Child::Fork));
            self.on_child(thread, Child::Fork, status);
            return;
        }
        if self.os.process_of(thread) == Some(process.pid) {
            process.unannounced_threads.insert(thread);
            self.adopt(thread);
            self.ready.push_back((thread, status));
            return;
        }
        if !self.os.reports_children() {
            self.set_child(thread, Some(Child::Fork));
            self.on_child(thread, Child::Fork, status);
            return;
        }
        process.unclaimed_stops.insert(thread, status);
    }

    /// Removes a thread that has ended; the end of the leader is the end of the process.
    pub(crate) fn thread_ended(&mut self, thread: ThreadId, status: ThreadEvent) {
        let Some(process) = &mut self.process else {
            return;
        };
        process.threads.remove(&thread);
        self.ended.push(thread);
        self.notices.push(Notice::ThreadExited(thread));
        if thread.0 != process.pid {
            return;
        }
        let status = match status {
            ThreadEvent::Killed(signal) => ExitStatus::Signal(signal),
            ThreadEvent::Exited(code) => ExitStatus::Code(code),
            _ => return,
        };
        process.threads.clear();
        process.state = State::Ended;
        process.end = Some(ProcessEnd::new(status));
        // A child whose parent was killed before it reported the fork has our traps, too: the
        // sites are kept for its sake.
        for (child, status) in std::mem::take(&mut process.unclaimed_stops) {
            self.on_unknown_thread(child, status);
        }
        self.forget_debug_registers();
    }

    /// Handles an exec: all other threads are gone. Returns whether the process was a launcher,
    /// which is held now; `None` if there is no process.
    pub(crate) fn replace_program(&mut self, thread: ThreadId, former: ThreadId) -> Option<bool> {
        let process = self.process.as_mut()?;
        let was_launcher = std::mem::take(&mut process.launcher);
        process.loader_sites.clear();
        process.call_return = None;
        process.announcements = Default::default();
        let others = process.threads.keys().copied();
        let gone: Vec<ThreadId> = others.filter(|other| *other != thread).collect();
        process.threads.retain(|other, _| *other == thread);
        if was_launcher {
            process.state = State::Held;
        }
        let gone = gone.into_iter().filter(|other| *other != former);
        let notices = gone.map(Notice::ThreadExited);
        self.notices.extend(notices);
        if former != thread && !was_launcher {
            self.notices.push(Notice::ThreadExited(former));
        }
        Some(was_launcher)
    }

    /// Opens the memory of the program that the process executes now.
    pub(crate) fn reopen_memory(&mut self) {
        let Some(pid) = self.pid else { return };
        if let Err(error) = self.os.open_memory(pid) {
            self.notices.push(Notice::Remark(format!("{error}\n")));
        }
    }

    /// Takes control of a new process.
    pub(crate) fn begin(&mut self, process: Process) {
        self.note_change();
        self.launched = process.launched;
        self.pid = Some(process.pid);
        self.over = false;
        self.terminating = false;
        self.system_call_at = None;
        self.process = Some(process);
    }

    /// Drops the state of an earlier process.
    pub(crate) fn forget_former(&mut self) {
        self.sites.forget_all();
        self.pads = DisplacedPads::default();
        self.jumps = JumpPatches::default();
        self.ready.clear();
        self.ended.clear();
        self.last_resume = None;
    }

    /// Resumes a launcher, or any process that is not ours to debug, with the signal that it
    /// stopped for.
    pub(crate) fn pass_on(&mut self, thread: ThreadId, status: ThreadEvent) {
        let signal = match status {
            ThreadEvent::Signal(signal) => signal,
            _ => Signal(0),
        };
        self.os.resume(thread, Resume::Continue, signal);
    }

    /// Returns when a killed process has been reaped and its resources are free.
    pub(crate) fn collect(&mut self, pid: i32) {
        // The leader's exit is reported last; a stopped thread dies, too. A small program is gone
        // before a sleeping thread would wake.
        let mut at_once = (self.os.stop_of(ThreadId(pid), Patience::Spin(AT_ONCE)))
            .map(|status| (ThreadId(pid), status));
        let patience = Instant::now() + Duration::from_secs(2);
        loop {
            match at_once.take().or_else(|| self.os.next_stop()) {
                Some((thread, status)) => {
                    let gone = status.is_end();
                    if gone && thread.0 == pid {
                        break;
                    }
                    if !gone {
                        self.os.resume(thread, Resume::Continue, Signal(0));
                    }
                }
                None if Instant::now() >= patience => break,
                None => match self.os.wait(Some(patience), WaitInterest::default()) {
                    Ok(ready) => self.remember(ready),
                    Err(_) => break,
                },
            }
        }
    }
}
