//! The end of threads and of the process, its remaining output, and `execve`.

use super::Debugger;
use crate::ids::{OutputStream, ThreadId};
use crate::inferior::site::Owner;
use crate::inferior::{Child, ProcessEnd};
use crate::os::ThreadEvent;
use crate::stops::event::Event;
use std::time::Instant;

impl Debugger {
    /// Drops the state of threads that have ended; the end of the main thread is the end of all.
    pub(crate) fn forget_ended_threads(&mut self) {
        while let Some(thread) = self.inferior.ended.pop() {
            self.calls.conditions.remove(&thread);
            self.leave_step(thread);
            let state = self.threads.remove(&thread).unwrap_or_default();
            if state.step.is_some() {
                self.inferior.remove_sites_of(Owner::Step(thread));
            }
            if !state.suspended.is_empty() {
                self.release_return_trap();
            }
            if self.inferior.pid() != Some(thread.0) {
                self.end_scopes_of(thread);
                continue;
            }
            self.calls.conditions.clear();
            self.threads.clear();
            self.forget_watches();
        }
    }

    /// Reports the end of a process once its output is complete, or was waited for long enough.
    pub(crate) fn finish_if_ended(&mut self) {
        let open = self.inferior.os().output_open();
        let held = self.client.output_held && open;
        if self.inferior.waits_for_children() {
            return;
        }
        let Some(process) = &mut self.inferior.process else {
            return;
        };
        if held && let Some(end) = &mut process.end {
            end.hold();
            return;
        }
        if let Some(ProcessEnd {
            status, patience, ..
        }) = process.end
            && (!open || Instant::now() >= patience)
        {
            process.end = None;
            self.restart_past();
            self.inferior.detach_unseen_children();
            let Some(process) = &mut self.inferior.process else {
                return;
            };
            let children = std::mem::take(&mut process.children);
            self.drain_all_messages();
            self.note_recording_ended_early();
            self.emit(Event::Exited(status));
            self.inferior.process = None;
            self.inferior.close_memory();
            self.inferior.sites.forget_all();
            self.stops.choices = Default::default();
            self.inferior.release_children(children);
            self.clear_stop_state();
            self.inferior.over = true;
        }
    }

    /// Passes the debuggee's output to the client, until that is at least `most` bytes.
    pub(crate) fn pump_output(&mut self, most: usize) {
        let mut total = 0;
        while total < most
            && let Some((stream, bytes)) = self.inferior.read_output()
        {
            total += bytes.len();
            if let Some(process) = &mut self.inferior.process
                && let Some(end) = &mut process.end
            {
                end.renew();
            }
            if stream == OutputStream::Stderr {
                self.keep_stderr(&bytes);
            }
            self.emit(Event::Output { stream, bytes });
        }
    }

    /// Handles an exec: all other threads are gone, and all addresses are invalid. `former`: the
    /// thread's id before.
    pub(crate) fn on_exec(&mut self, thread: ThreadId, former: ThreadId) {
        self.inferior.handle_unseen_children();
        let Some(was_launcher) = self.inferior.replace_program(thread, former) else {
            return;
        };
        self.restart_past();
        self.threads.retain(|it, _| *it == thread);
        self.calls.conditions.retain(|it, _| *it == thread);
        if let Some(state) = self.threads.get_mut(&thread) {
            state.suspended.clear();
        }
        self.drain_all_messages();
        self.inferior.sites.forget_all();
        self.stops.choices = Default::default();
        self.inferior.pads = Default::default();
        self.inferior.jumps = Default::default();
        self.forget_watches();
        self.clear_stop_state();
        self.inferior.reopen_memory();
        for loaded in self.images.modules.clear() {
            self.emit(Event::ModuleUnloaded(loaded.id));
        }
        self.forget_trace_sites();
        for id in self.stops.breakpoints.unbind_all() {
            self.emit(Event::BreakpointChanged(id));
        }
        if was_launcher {
            self.load_initial_modules();
            self.emit(Event::Launched);
        } else {
            self.emit(Event::Exec);
            self.load_initial_modules();
            self.hold_for_places(thread);
        }
    }

    /// Handles a stop of the launcher, which is resumed until it executes the program.
    pub(crate) fn on_launcher(&mut self, thread: ThreadId, status: ThreadEvent) {
        match status {
            ThreadEvent::Exited(_) | ThreadEvent::Killed(_) => {
                self.inferior.process = None;
                self.emit(Event::LaunchFailed(
                    "the launcher in the terminal exited before it executed the program".into(),
                ));
                return;
            }
            ThreadEvent::Created(new) => self.inferior.adopt(new),
            ThreadEvent::Forked(child) => self.inferior.expect_child(child, Child::Fork),
            ThreadEvent::Vforked(child) => self.inferior.expect_child(child, Child::Vfork),
            _ => {}
        }
        self.inferior.pass_on(thread, status);
    }
}
