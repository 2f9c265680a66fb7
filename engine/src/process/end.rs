//! The ends that we bring about: killing, asking to end, letting go.

use super::Child;
use crate::debugger::{Debugger, State};
use crate::displaced::Slots;
use crate::event::Event;
use crate::ids::error::Error;
use crate::ids::{Signal, ThreadId};
use crate::os::{Besides, Resume, WaitStatus};
use std::time::{Duration, Instant};

/// How long the end of a killed program is waited for awake.
const AT_ONCE: Duration = Duration::from_micros(500);

impl Debugger {
    /// Kills the process and collects it; no events follow. Nothing happens without one.
    pub fn kill(&mut self) {
        self.awaited = None;
        if self.is_post_mortem() {
            self.close_core();
        }
        let called = self.call.take().is_some();
        self.asking.clear();
        self.kill_left();
        self.release_births();
        let Some(mut process) = self.process.take() else {
            return;
        };
        for (child, kind) in &process.children {
            if matches!(kind, Child::Held(_)) {
                self.os.signal(*child, Signal(libc::SIGKILL));
            }
        }
        process
            .children
            .retain(|_, kind| !matches!(kind, Child::Held(_)));
        let lives = process.state != State::Ended;
        if lives {
            self.os.signal(process.pid, Signal(libc::SIGKILL));
        }
        // Taking it apart takes the kernel longer than forgetting it takes us.
        self.sites.forget_all();
        self.forget_watches();
        self.slots = Slots::default();
        self.detours = Default::default();
        self.os.close_memory();
        self.forget_stop();
        if lives {
            self.collect(process.pid);
        }
        self.release_children(process.children);
        self.events.clear();
        self.events.extend(called.then_some(Event::CallEnded));
        self.over = true;
    }

    /// Comes back when a killed process is gone, and all that it held is free again.
    fn collect(&mut self, pid: i32) {
        // The leader is told of last; a stopped thread dies all the same. A small program is gone
        // sooner than a sleeping thread is woken.
        let mut at_once =
            (self.os.stop_within(ThreadId(pid), AT_ONCE)).map(|status| (ThreadId(pid), status));
        let patience = Instant::now() + Duration::from_secs(2);
        loop {
            match at_once.take().or_else(|| self.os.next_stop()) {
                Some((thread, status)) => {
                    let gone = matches!(status, WaitStatus::Exited(_) | WaitStatus::Killed(_));
                    if gone && thread.0 == pid {
                        break;
                    }
                    if !gone {
                        self.os.resume(thread, Resume::Continue, Signal(0));
                    }
                }
                None if Instant::now() >= patience => break,
                None => match self.os.wait(Some(patience), Besides::default()) {
                    Ok(ready) => self.remember(ready),
                    Err(_) => break,
                },
            }
        }
    }

    /// Sends SIGTERM and lets the program run to deal with it, also one that a signal has stopped.
    ///
    /// # Errors
    /// There is no process, or it is a core file.
    pub fn terminate(&mut self) -> Result<(), Error> {
        self.can_run()?;
        let pid = self.process.as_ref().ok_or(Error::NoProcess)?.pid;
        self.terminating = true;
        self.os.signal(pid, Signal(libc::SIGTERM));
        self.end_group_stop();
        // The thread of a call runs already, and gets the signal.
        if self.call.is_none() && matches!(self.state(), State::Stopped | State::Held) {
            self.go_on_all();
        }
        Ok(())
    }

    /// Takes everything of ours out of the process and lets it run on without us.
    ///
    /// # Errors
    /// There is no process.
    pub fn detach(&mut self) -> Result<(), Error> {
        if self.is_post_mortem() {
            self.close_core();
            return Ok(());
        }
        self.awaited = None;
        for parent in std::mem::take(&mut self.released) {
            self.os.end_duty(parent);
        }
        self.spare_given();
        if self.process.is_none() {
            return Err(Error::NoProcess);
        }
        self.detach_all()?;
        self.events.clear();
        Ok(())
    }
}
