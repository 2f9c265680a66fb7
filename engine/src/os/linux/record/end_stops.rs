//! What the debugger sees of the threads of a process that never runs, where a recording of a file ends: those that
//! it resumes stop again. This decides; `stored` acts.

use super::file::End;
use crate::ids::Signal;
use crate::os::recording::ReplayStop;
use crate::os::{Resume, ThreadEvent};
use std::collections::BTreeMap;

/// Which threads the debugger has resumed, and what it has seen.
#[derive(Default)]
pub struct EndStops {
    resumed: BTreeMap<i32, Resume>,
    /// Whether it has seen the event that ends the recording.
    is_told: bool,
}

impl EndStops {
    /// The debugger has resumed a thread.
    pub fn resume(&mut self, thread: i32, how: Resume) {
        self.resumed.insert(thread, how);
    }

    /// Returns whether a thread is to stop again.
    pub fn is_due(&self) -> bool {
        !self.resumed.is_empty()
    }

    /// Returns the thread that stops again, of all that were resumed, and by what: the one that ends the recording,
    /// once; then the one that makes a step. The others seem to run until the debugger interrupts them.
    pub fn take(&mut self, running: i32, end: &End) -> Option<(i32, ThreadEvent)> {
        let resumed = std::mem::take(&mut self.resumed);
        let event = match end {
            End::Exiting(code) => Some(ThreadEvent::Exiting(*code)),
            End::Signal { number, .. } => Some(ThreadEvent::Signal(Signal(*number))),
            End::Stopped | End::Killed(_) | End::Early(_) => None,
        };
        if let Some(event) = event.filter(|_| !self.is_told && resumed.contains_key(&running)) {
            self.is_told = true;
            return Some((running, event));
        }
        let steps = resumed.iter().find(|(_, how)| **how == Resume::Step);
        let steps = steps.map(|(thread, _)| *thread);
        let running = || resumed.contains_key(&running).then_some(running);
        let first = || resumed.keys().next().copied();
        let thread = steps.or_else(running).or_else(first)?;
        Some((thread, ThreadEvent::Replayed(ReplayStop::End)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AGAIN: ThreadEvent = ThreadEvent::Replayed(ReplayStop::End);

    fn taken(
        stops: &mut EndStops,
        resumed: &[(i32, Resume)],
        end: &End,
    ) -> Option<(i32, ThreadEvent)> {
        for (thread, how) in resumed {
            stops.resume(*thread, *how);
        }
        stops.take(5, end)
    }

    #[test]
    fn the_event_that_ends_the_recording_is_seen_once() {
        let mut stops = EndStops::default();
        let all = [(3, Resume::Continue), (5, Resume::Continue)];
        let end = End::Exiting(2);
        assert_eq!(taken(&mut stops, &all[..1], &end), Some((3, AGAIN)));
        assert_eq!(
            taken(&mut stops, &all, &end),
            Some((5, ThreadEvent::Exiting(2)))
        );
        assert_eq!(stops.take(5, &end), None, "the others are not resumed");
        assert_eq!(taken(&mut stops, &all, &end), Some((5, AGAIN)));
    }

    #[test]
    fn a_step_ends_in_its_thread() {
        let mut stops = EndStops::default();
        let all = [
            (3, Resume::Continue),
            (4, Resume::Step),
            (5, Resume::Continue),
        ];
        assert_eq!(taken(&mut stops, &all, &End::Stopped), Some((4, AGAIN)));
        assert!(!stops.is_due());
    }
}
