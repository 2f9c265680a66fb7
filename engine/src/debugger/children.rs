//! Processes that the debuggee creates, for the client.

use super::{Debugger, State, Vote};
use crate::arch::{SPIN_LOOP, SPIN_LOOP_BYTES};
use crate::ids::ThreadId;
use crate::ids::error::Error;
use crate::inferior::{Child, FollowFork, Handover, Process};
use crate::os::Duty;
use crate::stops::event::{Event, StopReason};

impl Debugger {
    /// Sets what happens to processes that the debuggee creates from now on.
    pub fn set_follow_fork(&mut self, follow: FollowFork) {
        if follow.follows() && !self.inferior.os().reports_children() {
            let text = "`followFork` is not there on macOS: child processes run on undebugged.\n";
            self.emit(Event::Note(text.to_owned()));
            return;
        }
        self.inferior.following.follow = follow;
    }

    /// Makes the child that is to be followed the debuggee.
    pub(crate) fn switch_to_child(&mut self) {
        if !self.inferior.is_child_due() {
            return;
        }
        let Some(process) = &mut self.inferior.process else {
            return;
        };
        let mut children = process.children.iter();
        let Some((child, signal)) = children.find_map(|(child, kind)| match kind {
            Child::Held(signal) => Some((ThreadId(*child), *signal)),
            _ => None,
        }) else {
            return;
        };
        process.children.remove(&child.0);
        let (parent, launched) = (process.pid, process.launched);
        let stepped = self.threads.values().any(|it| it.step.is_some());
        let threads: Vec<ThreadId> = process.threads.keys().copied().collect();
        let ended = process.state == State::Ended;
        if launched && !ended {
            // Before it is detached: until then it is killed with the debugger anyway.
            self.inferior.set_duty(parent, Some(Duty::Kill));
            self.inferior.following.released.push(parent);
        }
        if let Err(error) = self.detach_all() {
            tracing::warn!(%error, "the parent of a followed child");
        }
        for thread in threads {
            self.emit(Event::ThreadExited(thread));
        }
        for loaded in self.images.modules.clear() {
            self.emit(Event::ModuleUnloaded(loaded.id));
        }
        self.begin(Process::new(child.0, launched));
        self.inferior.reopen_memory();
        self.inferior.add_stopped_thread(child);
        if let Some(state) = self.inferior.thread_mut(child) {
            state.signal = signal;
        }
        self.inferior.set_state(State::Running);
        self.emit(Event::Followed { parent });
        self.emit(Event::ThreadStarted(child));
        self.load_initial_modules();
        if stepped {
            // A step over the fork ends here.
            self.carry_out(child, Vote::stop(StopReason::Step));
        } else {
            self.carry_out(child, Vote::Run);
        }
    }

    /// Detaches a held child. Does nothing if it is not held.
    pub fn release_child(&mut self, pid: i32) {
        self.inferior.release_child(pid);
    }

    /// Detaches a held child for the debugger whose pid is `to`.
    ///
    /// # Errors
    /// The child has ended or is not held.
    pub fn hand_over(&mut self, pid: i32, to: i32) -> Result<Handover, Error> {
        self.inferior.hand_over(pid, to)
    }

    /// Notes that the other debugger has taken over a process.
    pub fn taken_over(&mut self, pid: i32) {
        self.inferior.taken_over(pid);
    }

    /// Takes back a process that the other debugger has not taken over. It runs on untraced, once
    /// that debugger has detached from it or ended.
    pub fn take_back(&mut self, pid: i32) {
        self.inferior.take_back(pid);
    }

    /// Seizes a process that another debugger has detached for us; it is then held as after
    /// [`Debugger::attach`].
    ///
    /// # Errors
    /// As for [`Debugger::attach`].
    pub fn take_over(&mut self, handover: &Handover) -> Result<(), Error> {
        self.attach_as(handover.pid, handover.launched, |debugger| {
            let mut bytes = [0; SPIN_LOOP_BYTES];
            debugger.inferior.os().read_memory(handover.at, &mut bytes);
            if bytes == SPIN_LOOP {
                debugger
                    .inferior
                    .os()
                    .write_memory(handover.at, &handover.original);
            }
        })
    }
}
