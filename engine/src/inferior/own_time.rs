//! The program's own time: the processor's clock without the times in which the debugger held all threads.
//! Durations of traced calls are measured in it, so that they contain no stops.
//!
//! A thread that is stopped alone while others run does not stop this clock.

use super::jump_patch::trace_area::TraceArea;
use crate::os::ticks;
use std::rc::{Rc, Weak};

#[derive(Default)]
pub(crate) struct OwnTime {
    /// How long all threads were held so far, in ticks of the processor's clock.
    held: u64,
    /// When all threads were stopped, if they still are.
    since: Option<u64>,
    /// Where the program itself reads how long it was held.
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
        self.areas.retain(|area| {
            let area = area.upgrade();
            area.inspect(|it| it.set_held(self.held)).is_some()
        });
    }

    /// Returns the time, in ticks of the processor's clock.
    pub fn now(&self) -> u64 {
        self.since.unwrap_or_else(ticks).saturating_sub(self.held)
    }

    /// Keeps what the program reads up to date while the area is used.
    pub fn keep(&mut self, area: &Rc<TraceArea>) {
        area.set_held(self.held);
        self.areas.push(Rc::downgrade(area));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
