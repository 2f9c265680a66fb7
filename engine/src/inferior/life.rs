//! Creation and exit of threads, `execve`, the end of the process, and its remaining output.
//! Processes that the debuggee creates: `children`.

use super::{Child, OUTPUT_TIMEOUT};
use crate::debugger::{Debugger, State};
use crate::event::Event;
use crate::ids::{ExitStatus, OutputStream, Signal, ThreadId};
use crate::inferior::site::Owner;
use crate::os::{Resume, WaitStatus};
use std::time::Instant;

impl Debugger {
    /// Handles the creation of a thread, as its creator reports it.
    pub(crate) fn on_clone(&mut self, new: ThreadId) {
        let process = self.inferior.process.as_mut();
        if !process.is_some_and(|process| process.unannounced_threads.remove(&new)) {
            self.adopt(new);
        }
    }

    fn adopt(&mut self, new: ThreadId) {
        let Some(process) = &mut self.inferior.process else {
            return;
        };
        let early = process.unclaimed_stops.remove(&new);
        let running = process.state == State::Running;
        let thread = process.threads.entry(new).or_default();
        if !thread.announced {
            thread.announced = true;
            self.inferior.events.push_back(Event::ThreadStarted(new));
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
        let Some(process) = &mut self.inferior.process else {
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
        if self.inferior.os.process_of(thread) == Some(process.pid) {
            process.unannounced_threads.insert(thread);
            self.adopt(thread);
            self.on_stop(thread, status);
            return;
        }
        process.unclaimed_stops.insert(thread, status);
    }

    pub(crate) fn thread_ended(&mut self, thread: ThreadId, status: WaitStatus) {
        self.calls.conditions.remove(&thread);
        self.leave_step(thread);
        let Some(process) = &mut self.inferior.process else {
            return;
        };
        let is_leader = thread.0 == process.pid;
        let ended = process.threads.remove(&thread).unwrap_or_default();
        if ended.step.is_some() {
            self.inferior
                .sites
                .remove_owner(Owner::Step(thread), &*self.inferior.os);
        }
        if !ended.suspended.is_empty() {
            self.release_return_trap();
        }
        if !is_leader {
            self.end_scopes_of(thread);
        }
        let Some(process) = &mut self.inferior.process else {
            return;
        };
        self.inferior.events.push_back(Event::ThreadExited(thread));
        if is_leader {
            let status = match status {
                WaitStatus::Killed(signal) => ExitStatus::Signal(signal),
                WaitStatus::Exited(code) => ExitStatus::Code(code),
                _ => return,
            };
            process.threads.clear();
            self.calls.conditions.clear();
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
        let open = self.inferior.os.output_open();
        let held = self.client.output_held && open;
        if self.waits_for_children() {
            return;
        }
        let Some(process) = &mut self.inferior.process else {
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
            let Some(process) = &mut self.inferior.process else {
                return;
            };
            let children = std::mem::take(&mut process.children);
            self.drain_all_messages();
            self.inferior.events.push_back(Event::Exited(status));
            self.inferior.process = None;
            self.inferior.os.close_memory();
            self.inferior.sites.forget_all();
            self.stops.choices = Default::default();
            self.release_children(children);
            self.clear_stop_state();
            self.inferior.over = true;
        }
    }

    /// Passes the debuggee's output to the client, up to `most` bytes.
    pub(crate) fn pump_output(&mut self, most: usize) {
        let mut total = 0;
        while total < most
            && let Some((stream, bytes)) = self.inferior.os.read_output()
        {
            total += bytes.len();
            if let Some(process) = &mut self.inferior.process
                && let Some((_, patience)) = &mut process.ended
            {
                *patience = Instant::now() + OUTPUT_TIMEOUT;
            }
            if stream == OutputStream::Stderr {
                self.keep_stderr(&bytes);
            }
            self.inferior
                .events
                .push_back(Event::Output { stream, bytes });
        }
    }

    /// Handles an exec: all other threads are gone, and all addresses are new.
    pub(crate) fn on_exec(&mut self, thread: ThreadId, former: ThreadId) {
        self.handle_unseen_children();
        let Some(process) = &mut self.inferior.process else {
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
            self.calls.conditions.remove(&other);
            if other != former {
                self.inferior.events.push_back(Event::ThreadExited(other));
            }
        }
        if let Some(state) = process.threads.get_mut(&thread) {
            state.suspended.clear();
        }
        if former != thread && !was_launcher {
            self.inferior.events.push_back(Event::ThreadExited(former));
        }
        let pid = process.pid;
        if was_launcher {
            process.state = State::Held;
        }
        self.drain_all_messages();
        self.inferior.sites.forget_all();
        self.stops.choices = Default::default();
        self.inferior.pads = Default::default();
        self.inferior.jumps = Default::default();
        self.forget_watches();
        self.clear_stop_state();
        if let Err(error) = self.inferior.os.open_memory(pid) {
            self.inferior
                .events
                .push_back(Event::Note(format!("{error}\n")));
        }
        self.views.tail_calls.borrow_mut().clear();
        self.stops.reaches.borrow_mut().clear();
        for loaded in self.images.modules.clear() {
            self.inferior
                .events
                .push_back(Event::ModuleUnloaded(loaded.id));
        }
        for id in self.stops.breakpoints.unbind_all() {
            self.inferior.events.push_back(Event::BreakpointChanged(id));
        }
        if was_launcher {
            self.load_initial_modules();
            self.inferior.events.push_back(Event::Launched);
        } else {
            self.inferior.events.push_back(Event::Exec);
            self.load_initial_modules();
            self.hold_for_places(thread);
        }
    }

    pub(crate) fn on_launcher(&mut self, thread: ThreadId, status: WaitStatus) {
        match status {
            WaitStatus::Exited(_) | WaitStatus::Killed(_) => {
                self.inferior.process = None;
                self.inferior.events.push_back(Event::LaunchFailed(
                    "the launcher in the terminal exited before it executed the program".into(),
                ));
            }
            WaitStatus::Cloned(new) | WaitStatus::Execed(new) => {
                self.adopt(new);
                self.inferior.os.resume(thread, Resume::Continue, Signal(0));
            }
            WaitStatus::Forked(child) => {
                self.expect_child(child, Child::Fork);
                self.inferior.os.resume(thread, Resume::Continue, Signal(0));
            }
            WaitStatus::Vforked(child) => {
                self.expect_child(child, Child::Vfork);
                self.inferior.os.resume(thread, Resume::Continue, Signal(0));
            }
            WaitStatus::Signal(signal) => self.inferior.os.resume(thread, Resume::Continue, signal),
            _ => self.inferior.os.resume(thread, Resume::Continue, Signal(0)),
        }
    }
}
