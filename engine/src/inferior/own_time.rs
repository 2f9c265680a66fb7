//! The program's own time: the processor's clock without the times in which the debugger held all threads.
//! Durations of traced calls are measured in it.
//!
//! This time contains the work of the kernel that stops and resumes threads, some 50 µs a stop. A call with stops in it is
//! therefore timed only if it is much longer than that ([`is_timed`]).
//!
//! A thread that is stopped alone while others run does not stop this clock.

use super::jump_patch::trace_area::TraceArea;
use crate::os::{nanoseconds_per_tick, ticks};
use std::rc::{Rc, Weak};

/// Minimum duration of a timed call for each stop in it: a stop then adds a few per cent at most.
const STOP_NANOSECONDS: f64 = 2e6;

/// Returns that duration in ticks of the processor's clock.
pub(crate) fn stop_ticks() -> u64 {
    (STOP_NANOSECONDS / nanoseconds_per_tick()) as u64
}

/// Returns whether a call that took so many ticks of the program's own time is timed.
pub(crate) fn is_timed(ticks: u64, stops: u64) -> bool {
    ticks >= stops.saturating_mul(stop_ticks())
}

#[derive(Default)]
pub(crate) struct OwnTime {
    /// How long all threads were held so far, in ticks of the processor's clock.
    held: u64,
    /// The number of times that all threads were stopped and resumed.
    stops: u64,
    /// When all threads were stopped, if they still are.
    since: Option<u64>,
    /// The areas in which the program reads `held` and `stops`.
    areas: Vec<Weak<TraceArea>>,
}

impl OwnTime {
    /// Stops the clock: all threads are stopped.
    pub fn stop(&mut self) {
        self.since.get_or_insert_with(ticks);
    }

    /// Lets the clock go on before a thread is resumed.
    pub fn go_on(&mut self) {
        let Some(since) = self.since.take() else {
            return;
        };
        self.held += ticks().saturating_sub(since);
        self.stops += 1;
        self.areas.retain(|area| {
            let area = area.upgrade();
            area.inspect(|it| it.set_held(self.held, self.stops))
                .is_some()
        });
    }

    /// Returns the time, in ticks of the processor's clock.
    pub fn now(&self) -> u64 {
        self.since.unwrap_or_else(ticks).saturating_sub(self.held)
    }

    /// Returns the number of times that all threads were stopped and resumed.
    pub fn stops(&self) -> u64 {
        self.stops
    }

    /// Keeps what the program reads up to date while the area is used.
    pub fn keep(&mut self, area: &Rc<TraceArea>) {
        area.set_held(self.held, self.stops);
        self.areas.push(Rc::downgrade(area));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_calls_with_stops_are_not_timed() {
        assert!(is_timed(0, 0));
        assert!(!is_timed(stop_ticks() - 1, 1));
        assert!(is_timed(stop_ticks() * 3, 3));
        assert!(!is_timed(u64::MAX - 1, u64::MAX));
    }

    #[test]
    fn time_stands_still_while_threads_are_held() {
        let mut time = OwnTime::default();
        let before = time.now();
        time.stop();
        let held = time.now();
        assert!(held >= before);
        let began = ticks();
        while ticks() - began < 10_000_000 {}
        time.stop();
        assert_eq!(time.now(), held);
        time.go_on();
        // Far less than it was held.
        assert!(time.now() - held < 10_000_000);
        time.go_on();
    }
}
