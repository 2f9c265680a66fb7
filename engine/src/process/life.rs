//! Creation and exit of threads, `execve`, the end of the process, and its remaining output.
//! Processes that the debuggee creates: `children`.

use super::{Child, OUTPUT_TIMEOUT};
use crate::breakpoint::site::Owner;
use crate::debugger::{Debugger, State};
use crate::event::Event;
use crate::ids::{ExitStatus, OutputStream, Signal, ThreadId};
use crate::os::{Resume, WaitStatus};
use std::time::Instant;

impl Debugger {
    /// Handles the creation of a thread, as its creator reports it.
    pub(crate) fn on_clone(&mut self, new: ThreadId) {
        let process = self.process.as_mut();
        if !process.is_some_and(|process| process.unannounced_threads.remove(&new)) {
            self.adopt(new);
        }
    }

    fn adopt(&mut self, new: ThreadId) {
        let Some(process) = &mut self.process else {
            return;
        };
        let early = process.unclaimed_stops.remove(&new);
        let running = process.state == State::Running;
        let thread = process.threads.entry(new).or_default();
        if !thread.announced {
            thread.announced = true;
            self.events.push_back(Event::ThreadStarted(new));
        }
        if let Some(status) = early {
            if running {
                self.on_stop(new, status);
            } else {
                self.handle_bookkeeping_stop(new, status);
            }
        }
    }

    /// Handles a stop of an unknown thread: the report of its creation is still to come.
    pub(crate) fn on_unknown_thread(&mut self, thread: ThreadId, status: WaitStatus) {
        let Some(process) = &mut self.process else {
            return;
        };
        if let Some(kind) = process.children.get(&thread.0).copied() {
            self.on_child(thread, kind, status);
            return;
        }
        if matches!(status, WaitStatus::Exited(_) | WaitStatus::Killed(_)) {
            process.unclaimed_stops.remove(&thread);
            process.unannounced_threads.insert(thread);
            return;
        }
        if process.state == State::Ended {
            self.on_orphan(thread, status);
            return;
        }
        if self.os.process_of(thread) == Some(process.pid) {
            process.unannounced_threads.insert(thread);
            self.adopt(thread);
            self.on_stop(thread, status);
            return;
        }
        process.unclaimed_stops.insert(thread, status);
    }

    pub(crate) fn thread_ended(&mut self, thread: ThreadId, status: WaitStatus) {
        self.asking.remove(&thread);
        self.leave_step(thread);
        let Some(process) = &mut self.process else {
            return;
        };
        let is_leader = thread.0 == process.pid;
        let ended = process.threads.remove(&thread).unwrap_or_default();
        if ended.step.is_some() {
            self.sites.remove_owner(Owner::Step(thread), &*self.os);
        }
        if !ended.suspended.is_empty() {
            self.release_return_trap();
        }
        if !is_leader {
            self.end_scopes_of(thread);
        }
        let Some(process) = &mut self.process else {
            return;
        };
        self.events.push_back(Event::ThreadExited(thread));
        if is_leader {
            let status = match status {
                WaitStatus::Killed(signal) => ExitStatus::Signal(signal),
                WaitStatus::Exited(code) => ExitStatus::Code(code),
                _ => return,
            };
            process.threads.clear();
            self.asking.clear();
            process.state = State::Ended;
            process.ended = Some((status, Instant::now() + OUTPUT_TIMEOUT));
            // A child whose parent was killed before it reported the fork has our traps, too: the
            // sites are kept for its sake.
            for (child, status) in std::mem::take(&mut process.unclaimed_stops) {
                self.on_unknown_thread(child, status);
            }
            self.forget_watches();
        }
    }

    /// Reports the end of a process once its output is complete.
    pub(crate) fn finish_if_ended(&mut self) {
        let open = self.os.output_open();
        let held = self.output_held && open;
        if self.waits_for_children() {
            return;
        }
        let Some(process) = &mut self.process else {
            return;
        };
        if held && let Some((_, patience)) = &mut process.ended {
            *patience = Instant::now() + OUTPUT_TIMEOUT;
            return;
        }
        if let Some((status, patience)) = process.ended
            && (!open || Instant::now() >= patience)
        {
            process.ended = None;
            self.detach_unseen_children();
            let Some(process) = &mut self.process else {
                return;
            };
            let children = std::mem::take(&mut process.children);
            self.drain_all_messages();
            self.events.push_back(Event::Exited(status));
            self.process = None;
            self.os.close_memory();
            self.sites.forget_all();
            self.choices = Default::default();
            self.release_children(children);
            self.clear_stop_state();
            self.over = true;
        }
    }

    /// Passes the debuggee's output to the client, up to `most` bytes.
    pub(crate) fn pump_output(&mut self, most: usize) {
        let mut total = 0;
        while total < most
            && let Some((stream, bytes)) = self.os.read_output()
        {
            total += bytes.len();
            if let Some(process) = &mut self.process
                && let Some((_, patience)) = &mut process.ended
            {
                *patience = Instant::now() + OUTPUT_TIMEOUT;
            }
            if stream == OutputStream::Stderr {
                self.keep_stderr(&bytes);
            }
            self.events.push_back(Event::Output { stream, bytes });
        }
    }

    /// Handles an exec: all other threads are gone, and all addresses are new.
    pub(crate) fn on_exec(&mut self, thread: ThreadId, former: ThreadId) {
        self.handle_unseen_children();
        let Some(process) = &mut self.process else {
            return;
        };
        let was_launcher = std::mem::take(&mut process.launcher);
        process.loader_sites.clear();
        process.has_called = false;
        process.announcements = Default::default();
        let gone: Vec<ThreadId> = process
            .threads
            .keys()
            .copied()
            .filter(|other| *other != thread)
            .collect();
        for other in gone {
            process.threads.remove(&other);
            self.asking.remove(&other);
            if other != former {
                self.events.push_back(Event::ThreadExited(other));
            }
        }
        if let Some(state) = process.threads.get_mut(&thread) {
            state.suspended.clear();
        }
        if former != thread && !was_launcher {
            self.events.push_back(Event::ThreadExited(former));
        }
        let pid = process.pid;
        if was_launcher {
            process.state = State::Held;
        }
        self.drain_all_messages();
        self.sites.forget_all();
        self.choices = Default::default();
        self.slots = Default::default();
        self.detours = Default::default();
        self.forget_watches();
        self.clear_stop_state();
        if let Err(error) = self.os.open_memory(pid) {
            self.events.push_back(Event::Note(format!("{error}\n")));
        }
        self.tail_calls.borrow_mut().clear();
        self.reaches.borrow_mut().clear();
        for loaded in self.modules.clear() {
            self.events.push_back(Event::ModuleUnloaded(loaded.id));
        }
        for id in self.breakpoints.unbind_all() {
            self.events.push_back(Event::BreakpointChanged(id));
        }
        if was_launcher {
            self.load_initial_modules();
            self.events.push_back(Event::Launched);
        } else {
            self.events.push_back(Event::Exec);
            self.load_initial_modules();
            self.hold_for_places(thread);
        }
    }

    pub(crate) fn on_launcher(&mut self, thread: ThreadId, status: WaitStatus) {
        match status {
            WaitStatus::Exited(_) | WaitStatus::Killed(_) => {
                self.process = None;
                self.events.push_back(Event::LaunchFailed(
                    "the terminal's launcher ended before it became the program".into(),
                ));
            }
            WaitStatus::Cloned(new) | WaitStatus::Execed(new) => {
                self.adopt(new);
                self.os.resume(thread, Resume::Continue, Signal(0));
            }
            WaitStatus::Forked(child) => {
                self.expect_child(child, Child::Fork);
                self.os.resume(thread, Resume::Continue, Signal(0));
            }
            WaitStatus::Vforked(child) => {
                self.expect_child(child, Child::Vfork);
                self.os.resume(thread, Resume::Continue, Signal(0));
            }
            WaitStatus::Signal(signal) => self.os.resume(thread, Resume::Continue, signal),
            _ => self.os.resume(thread, Resume::Continue, Signal(0)),
        }
    }
}
