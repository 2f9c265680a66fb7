//! Processes by name: which there are, and waiting for one to be started.

use crate::debugger::Debugger;
use crate::event::Event;
use crate::ids::error::Error;
use std::collections::HashSet;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How often we look for a process that is to be started: `/proc` is listed, and the programs of
/// those that are new are looked at.
const TICK: Duration = Duration::from_millis(10);

/// A process that is waited for.
pub struct Awaited {
    name: String,
    /// Processes that were there before, or could not be attached to.
    others: HashSet<i32>,
    /// When to look again.
    pub next: Instant,
}

impl Debugger {
    /// The processes that run a program: its path (with a slash), the name of its file, or the
    /// name of the process.
    pub fn processes_named(&self, name: &str) -> Vec<(i32, PathBuf)> {
        let mut pids = self.os.processes();
        pids.sort_unstable();
        let ours = std::process::id() as i32;
        pids.into_iter()
            .filter(|pid| *pid != ours)
            .filter_map(|pid| Some((pid, self.os.program_named(pid, name)?)))
            .collect()
    }

    /// Attaches to the next process of that name that is started, as
    /// [`Debugger::processes_named`] has it; those that there are do not count.
    /// [`Event::Attached`] or [`Event::AttachFailed`] follows from [`Debugger::wait`];
    /// [`Debugger::detach`] and [`Debugger::kill`] end the wait.
    ///
    /// # Errors
    /// There is a process already.
    pub fn attach_when_started(&mut self, name: &str) -> Result<(), Error> {
        self.no_process_yet()?;
        self.awaited = Some(Awaited {
            name: name.to_owned(),
            others: self.os.processes().into_iter().collect(),
            next: Instant::now() + TICK,
        });
        Ok(())
    }

    /// Looks whether the process that is waited for has been started.
    pub(crate) fn look_for_process(&mut self) {
        let now = Instant::now();
        let Some(awaited) = self.awaited.as_mut().filter(|it| it.next <= now) else {
            return;
        };
        awaited.next = now + TICK;
        let there: HashSet<i32> = self.os.processes().into_iter().collect();
        // Their numbers may be given out again.
        awaited.others.retain(|pid| there.contains(pid));
        let found = there
            .difference(&awaited.others)
            .copied()
            .find(|pid| self.os.program_named(*pid, &awaited.name).is_some());
        let Some(pid) = found else {
            return;
        };
        awaited.others.insert(pid);
        let awaited = self.awaited.take();
        match self.attach(pid) {
            Ok(()) => self.events.push_back(Event::Attached),
            Err(error) => match awaited {
                // It has ended already: the next one may be slower.
                Some(it) if self.os.program_named(pid, &it.name).is_none() => {
                    self.awaited = Some(it);
                }
                _ => self.events.push_back(Event::AttachFailed(error)),
            },
        }
    }
}
