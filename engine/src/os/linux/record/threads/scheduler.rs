//! Which thread of a recorded program runs: one at a time. This decides; the recorder acts.

use std::collections::{BTreeSet, VecDeque};
use std::time::{Duration, Instant};

/// How long a thread runs while another one could.
const SLICE: Duration = Duration::from_millis(20);

/// The threads of a program, as far as it matters which one runs.
pub struct Scheduler {
    /// Those that can run and do not, the one that has waited longest first.
    ready: VecDeque<i32>,
    /// Those that wait for the debugger.
    held: BTreeSet<i32>,
    /// When the running thread began to run.
    begun: Instant,
}

impl Scheduler {
    /// One thread runs.
    pub fn new(now: Instant) -> Scheduler {
        Scheduler {
            ready: VecDeque::new(),
            held: BTreeSet::new(),
            begun: now,
        }
    }

    /// A thread that does not run can run from now on.
    pub fn add(&mut self, thread: i32) {
        if !self.ready.contains(&thread) {
            self.ready.push_back(thread);
        }
    }

    /// A thread waits, or has ended.
    pub fn remove(&mut self, thread: i32) {
        self.ready.retain(|it| *it != thread);
    }

    /// A thread waits for the debugger, and does not run before [`Scheduler::release`].
    pub fn hold(&mut self, thread: i32) {
        self.held.insert(thread);
    }

    /// A thread does not wait for the debugger any more.
    pub fn release(&mut self, thread: i32) {
        self.held.remove(&thread);
    }

    /// Returns whether a thread waits for the debugger.
    pub fn is_held(&self, thread: i32) -> bool {
        self.held.contains(&thread)
    }

    /// Returns whether another thread could run.
    pub fn has_ready(&self) -> bool {
        self.ready.iter().any(|it| !self.is_held(*it))
    }

    /// Returns whether the running thread has run long enough and another one could run.
    pub fn is_over(&self, now: Instant) -> bool {
        self.is_long(now) && self.has_ready()
    }

    /// Returns whether the running thread has run long enough if another one could run.
    pub fn is_long(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.begun) >= SLICE
    }

    /// Takes the thread that runs next, from `now` on; `None`: none can run.
    pub fn take(&mut self, now: Instant) -> Option<i32> {
        let next = self.ready.iter().position(|it| !self.held.contains(it))?;
        self.begun = now;
        self.ready.remove(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_thread_that_has_waited_longest_runs_next() {
        let now = Instant::now();
        let mut scheduler = Scheduler::new(now);
        scheduler.add(2);
        scheduler.add(3);
        scheduler.add(2);
        assert_eq!(scheduler.take(now), Some(2));
        scheduler.add(1);
        assert_eq!(scheduler.take(now), Some(3));
        scheduler.remove(1);
        assert_eq!(scheduler.take(now), None);
    }

    #[test]
    fn a_slice_ends_only_for_another_thread() {
        let begun = Instant::now();
        let mut scheduler = Scheduler::new(begun);
        assert!(
            !scheduler.is_over(begun + SLICE),
            "there is no other thread"
        );
        scheduler.add(2);
        assert!(!scheduler.is_over(begun + SLICE / 2));
        assert!(scheduler.is_over(begun + SLICE));
        assert_eq!(scheduler.take(begun + SLICE), Some(2));
        scheduler.add(1);
        assert!(!scheduler.is_over(begun + SLICE), "its slice has begun");
    }

    #[test]
    fn a_thread_that_waits_for_the_debugger_does_not_run() {
        let now = Instant::now();
        let mut scheduler = Scheduler::new(now);
        scheduler.add(2);
        scheduler.add(3);
        scheduler.hold(2);
        assert_eq!(scheduler.take(now), Some(3));
        assert!(!scheduler.has_ready() && !scheduler.is_over(now + SLICE));
        assert_eq!(scheduler.take(now), None);
        scheduler.release(2);
        assert_eq!(scheduler.take(now), Some(2));
    }
}
