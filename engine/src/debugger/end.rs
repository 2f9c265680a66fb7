//! Ends that the debugger causes: kill, terminate, detach.

use super::{Debugger, State};
use crate::ids::Signal;
use crate::ids::error::Error;
use crate::inferior::Child;
use crate::inferior::displaced::DisplacedPads;
use crate::stops::event::Event;

impl Debugger {
    /// Kills the process and reaps it; no events follow. Does nothing without a process.
    pub fn kill(&mut self) {
        self.awaited = None;
        self.put_past_aside();
        if self.is_post_mortem() {
            self.close_core();
        }
        let called = self.calls.pending.take().is_some();
        self.calls.conditions.clear();
        self.inferior.kill_left();
        self.inferior.detach_unseen_children();
        let Some(mut process) = self.inferior.process.take() else {
            return;
        };
        for (child, kind) in &process.children {
            if matches!(kind, Child::Held(_)) {
                self.inferior.send_signal(*child, Signal::KILL);
            }
        }
        process
            .children
            .retain(|_, kind| !matches!(kind, Child::Held(_)));
        let lives = process.state != State::Ended;
        if lives {
            self.inferior.send_signal(process.pid, Signal::KILL);
        }
        // The kernel's teardown takes longer than ours.
        self.inferior.sites.forget_all();
        self.forget_watches();
        self.inferior.pads = DisplacedPads::default();
        self.inferior.jumps = Default::default();
        self.inferior.close_memory();
        self.clear_stop_state();
        if lives {
            self.inferior.collect(process.pid);
        }
        // After its end: it need not collect the copies.
        self.restart_past();
        self.inferior.release_children(process.children);
        self.drop_events();
        if called {
            self.emit(Event::CallEnded);
        }
        self.inferior.over = true;
    }

    /// Sends a signal to the program and the other processes of its group, as a terminal does for its keys.
    /// Returns false if there is no program that runs or is stopped.
    pub fn signal_group(&mut self, signal: Signal) -> bool {
        let alive = self.inferior.process.as_ref();
        let alive = alive.filter(|it| it.state != State::Ended && it.launched);
        let Some(pid) = alive.map(|it| it.pid) else {
            return false;
        };
        self.inferior.send_signal(-pid, signal);
        true
    }

    /// Sends SIGTERM and resumes the program to handle it, also from a group-stop.
    ///
    /// # Errors
    /// There is no process, or it is a core file.
    pub fn terminate(&mut self) -> Result<(), Error> {
        self.can_run()?;
        let pid = self.inferior.process.as_ref().ok_or(Error::NoProcess)?.pid;
        self.inferior.terminating = true;
        self.inferior.send_signal(pid, Signal::TERM);
        self.inferior.end_group_stop();
        // The thread of a call runs already and gets the signal.
        if self.calls.pending.is_none() && matches!(self.state(), State::Stopped | State::Held) {
            self.resume_all();
        }
        Ok(())
    }

    /// Removes all instrumentation from the process and detaches from it.
    ///
    /// # Errors
    /// There is no process.
    pub fn detach(&mut self) -> Result<(), Error> {
        if self.is_post_mortem() {
            self.close_core();
            return Ok(());
        }
        self.awaited = None;
        for parent in std::mem::take(&mut self.inferior.following.released) {
            self.inferior.set_duty(parent, None);
        }
        self.inferior.spare_given();
        if self.inferior.process.is_none() {
            return Err(Error::NoProcess);
        }
        self.detach_all()?;
        self.drop_events();
        Ok(())
    }
}
