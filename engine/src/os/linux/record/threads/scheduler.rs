//! Which thread of a recorded program runs: one at a time. This decides; the recorder acts.

use super::chaos::Chaos;
use std::collections::{BTreeSet, VecDeque};
use std::time::{Duration, Instant};

/// How long a thread runs while another one could.
const SLICE: Duration = Duration::from_millis(20);

/// The same in chaos, where slices end earlier, unless the thread computes without system calls.
const CHAOS_SLICE: Duration = Duration::from_millis(50);

/// The threads of a program, as far as it matters which one runs. Times are those of one clock: of the processor in
/// chaos, so that the load of the machine changes nothing.
pub struct Scheduler {
    /// Those that can run and do not, the one that has waited longest first.
    ready: VecDeque<i32>,
    /// Those that wait for the debugger.
    held: BTreeSet<i32>,
    /// When the running thread began to run.
    begun: Instant,
    /// Random slices, if they are asked for.
    chaos: Option<Chaos>,
}

impl Scheduler {
    /// One thread runs.
    pub fn new(now: Instant) -> Scheduler {
        Scheduler {
            ready: VecDeque::new(),
            held: BTreeSet::new(),
            begun: now,
            chaos: None,
        }
    }

    /// From now on slices are short, and random by a seed.
    pub fn begin_chaos(&mut self, seed: u64) {
        self.chaos = Some(Chaos::new(seed));
    }

    /// Returns whether slices are random.
    pub fn is_chaos(&self) -> bool {
        self.chaos.is_some()
    }

    /// Returns how many instructions are left to the running thread before another one runs; 0: its slice does not
    /// end between two calls.
    pub fn instructions(&self) -> u32 {
        self.chaos.as_ref().map_or(0, Chaos::instructions)
    }

    /// The running thread has executed an instruction.
    pub fn executed(&mut self) {
        if let Some(chaos) = &mut self.chaos {
            chaos.executed();
        }
    }

    /// The running thread is at the end of a system call. Returns whether another thread runs now. Without another
    /// one, a slice that is over begins anew.
    pub fn ends_at_call(&mut self, now: Instant) -> bool {
        let has_ready = self.has_ready();
        match &mut self.chaos {
            None => self.is_over(now),
            Some(chaos) => {
                let is_over = chaos.ends_at_call();
                if is_over && !has_ready {
                    chaos.begin();
                }
                is_over && has_ready
            }
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

    /// Returns whether any thread waits for the debugger.
    pub fn holds_any(&self) -> bool {
        !self.held.is_empty()
    }

    /// Another thread has begun to run.
    pub fn begin(&mut self, now: Instant) {
        self.begun = now;
    }

    /// Takes the threads that can run and do not, in their order.
    pub fn take_ready(&mut self) -> Vec<i32> {
        self.ready.drain(..).collect()
    }

    /// Adds threads that can run, before those that are there.
    pub fn add_first(&mut self, threads: &[i32]) {
        self.ready.retain(|it| !threads.contains(it));
        for thread in threads.iter().rev() {
            self.ready.push_front(*thread);
        }
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
        let slice = match self.is_chaos() {
            true => CHAOS_SLICE,
            false => SLICE,
        };
        now.saturating_duration_since(self.begun) >= slice
    }

    /// Takes the thread that runs next, from `now` on; `None`: none can run.
    pub fn take(&mut self, now: Instant) -> Option<i32> {
        let free = |(nth, thread): (usize, &i32)| (!self.held.contains(thread)).then_some(nth);
        let mut able: Vec<usize> = self.ready.iter().enumerate().filter_map(free).collect();
        let next = match &mut self.chaos {
            Some(chaos) if !able.is_empty() => {
                // The last one has just run, if it still can.
                let others = able.len() - usize::from(able.len() > 1);
                chaos.begin();
                able.swap_remove(chaos.choose(others))
            }
            _ => able.first().copied()?,
        };
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
    fn chaos_chooses_among_all_but_the_one_that_has_run() {
        let now = Instant::now();
        let mut scheduler = Scheduler::new(now);
        scheduler.begin_chaos(3);
        let mut taken = BTreeSet::new();
        for thread in 1..=4 {
            scheduler.add(thread);
        }
        for _ in 0..100 {
            let next = scheduler.take(now).expect("one can run");
            taken.insert(next);
            scheduler.add(next);
            assert_ne!(
                scheduler.take(now).inspect(|it| scheduler.add(*it)),
                Some(next)
            );
        }
        assert_eq!(taken.len(), 4);
        scheduler.hold(1);
        scheduler.hold(2);
        scheduler.hold(3);
        assert_eq!(scheduler.take(now), Some(4));
        assert_eq!(scheduler.take(now), None);
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
