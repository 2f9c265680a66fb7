//! Processes by name: the running ones, and the wait for one to start.

use super::Debugger;
use crate::ids::error::Error;
use crate::stops::event::Event;
use std::collections::HashSet;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Interval of the search for a process to start: it lists `/proc` and reads the program names of
/// new processes.
const SCAN_INTERVAL: Duration = Duration::from_millis(10);

/// A process that is waited for.
pub struct ProcessWatch {
    name: String,
    /// Pids that existed before, or that could not be attached to.
    others: HashSet<i32>,
    /// Time of the next search.
    pub next: Instant,
}

impl Debugger {
    /// Returns pid and program of the processes that match `name`: the program's path (with a
    /// slash), its file name, or the name of the process.
    pub fn processes_named(&self, name: &str) -> Vec<(i32, PathBuf)> {
        let mut pids = self.inferior.os().processes();
        pids.sort_unstable();
        let ours = std::process::id() as i32;
        pids.into_iter()
            .filter(|pid| *pid != ours)
            .filter_map(|pid| Some((pid, self.inferior.os().program_named(pid, name)?)))
            .collect()
    }

    /// Attaches to the next process of that name that starts (see [`Debugger::processes_named`]);
    /// running processes are ignored. [`Event::Attached`] or [`Event::AttachFailed`] follows from
    /// [`Debugger::wait`]; [`Debugger::detach`] and [`Debugger::kill`] end the wait.
    ///
    /// # Errors
    /// There is a process already.
    pub fn attach_when_started(&mut self, name: &str) -> Result<(), Error> {
        self.no_process_yet()?;
        self.awaited = Some(ProcessWatch {
            name: name.to_owned(),
            others: self.inferior.os().processes().into_iter().collect(),
            next: Instant::now() + SCAN_INTERVAL,
        });
        Ok(())
    }

    /// Searches for the awaited process, if a search is due.
    pub(crate) fn look_for_process(&mut self) {
        let now = Instant::now();
        let Some(awaited) = self.awaited.as_mut().filter(|it| it.next <= now) else {
            return;
        };
        awaited.next = now + SCAN_INTERVAL;
        let there: HashSet<i32> = self.inferior.os().processes().into_iter().collect();
        // Pids are reused.
        awaited.others.retain(|pid| there.contains(pid));
        let found = there.difference(&awaited.others).copied().find(|pid| {
            self.inferior
                .os()
                .program_named(*pid, &awaited.name)
                .is_some()
        });
        let Some(pid) = found else {
            return;
        };
        awaited.others.insert(pid);
        let awaited = self.awaited.take();
        match self.attach(pid) {
            Ok(()) => self.emit(Event::Attached),
            Err(error) => match awaited {
                // It has ended already; the next one may live longer.
                Some(it) if self.inferior.os().program_named(pid, &it.name).is_none() => {
                    self.awaited = Some(it);
                }
                _ => self.emit(Event::AttachFailed(error)),
            },
        }
    }
}
