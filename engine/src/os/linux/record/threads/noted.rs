//! Threads that the program has woken without a stop: the stub of the buffer notes them in its table of the threads
//! that wait, and the recorder lets them run when it is their turn.

use super::super::recorder::Recorder;
use super::thread::Outcome;

impl Recorder {
    /// Ends the waits of threads that the program has woken. A thread whose time was over, or for which a signal
    /// had come, and that has not run since, was still in the table: it was woken, as if that had come first.
    pub(in super::super) fn wake_noted(&mut self, woken: Vec<i32>) {
        if woken.is_empty() {
            return;
        }
        self.turns.futexes.change();
        for pid in woken {
            self.turns.futexes.remove(pid);
            let thread = self.others.get_mut(&pid);
            if let Some(thread) = thread.filter(|it| it.waiting.is_some()) {
                thread.outcome = Some(Outcome::Answer(0));
                self.turns.scheduler.add(pid);
            }
        }
    }

    /// At a stop outside of the code of the buffer: ends the waits of the threads that the program has woken since
    /// the last event.
    pub(in super::super) fn look_for_woken(&mut self) {
        if self.has_threads() {
            let woken = self.buffer.woken();
            self.wake_noted(woken);
            self.show_waiters();
        }
    }

    /// Before the running thread, which is not in the code of the buffer, runs on: lets the stub know which threads
    /// wait.
    pub(in super::super) fn show_waiters(&mut self) {
        if self.turns.futexes.takes_change() {
            self.buffer.show_waiters(self.turns.futexes.all());
        }
    }
}
