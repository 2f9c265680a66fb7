//! The table of the threads that wait for words of futex(2), by which the stub wakes threads without a stop: what the
//! recorder has written to it, and what the program has noted in it since.

use super::Buffer;
use super::layout::{self, MOST_WAITERS, word};

/// The waiting threads in the table, those that have waited longest first.
#[derive(Default, PartialEq, Eq)]
pub struct Waiters {
    /// Their ids, and the addresses of the words.
    shown: Vec<(i32, u64)>,
    /// Whether more threads wait: the stub finds out only about those that it has.
    are_more: bool,
}

impl Waiters {
    /// Returns the first of these threads as the table has room for.
    fn of(mut all: impl Iterator<Item = (i32, u64)>) -> Waiters {
        Waiters {
            shown: all.by_ref().take(MOST_WAITERS).collect(),
            are_more: all.next().is_some(),
        }
    }

    /// Returns the words of the stub from [`word::WOKEN`] on: no thread is woken yet.
    fn words(&self) -> impl Iterator<Item = u64> {
        const _: () = assert!(word::WAITERS == word::WOKEN + 1);
        const _: () = assert!(word::WAITED == word::WAITERS + 1);
        let waiters = self.shown.len() as u64 | u64::from(self.are_more) << 32;
        let words = self.shown.iter().map(|it| it.1);
        [0, waiters].into_iter().chain(words)
    }

    /// Returns the threads with these bits.
    fn with(&self, bits: u64) -> Vec<i32> {
        let all = self.shown.iter().enumerate();
        let woken = all.filter(|(nth, _)| bits & 1 << nth != 0);
        woken.map(|(_, (thread, _))| *thread).collect()
    }
}

impl Buffer {
    /// Writes which threads wait, and for which words, those that have waited longest first. The program must not be
    /// in the stub. What it has noted must have been taken: that is removed.
    pub fn show_waiters(&mut self, all: impl Iterator<Item = (i32, u64)>) {
        let waiters = Waiters::of(all);
        let Some(shared) = &self.shared else {
            return;
        };
        if waiters == self.waiters && !self.has_taken_woken {
            return;
        }
        self.has_taken_woken = false;
        for (index, word) in (word::WOKEN..).zip(waiters.words()) {
            shared.set(layout::word_at(index), word);
        }
        self.waiters = waiters;
    }

    /// Returns the threads that the program has woken without a stop. They stay noted until
    /// [`Buffer::show_waiters`].
    pub fn woken(&mut self) -> Vec<i32> {
        let bits = self.words().map_or(0, |words| words.woken());
        self.take_woken(bits)
    }

    pub(super) fn take_woken(&mut self, bits: u64) -> Vec<i32> {
        self.has_taken_woken |= bits != 0;
        self.waiters.with(bits)
    }

    /// Returns whether the program, which may run, has woken threads without a stop.
    pub fn has_woken(&self) -> bool {
        self.words().is_some_and(|words| words.woken() != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_says_what_it_has_no_room_for() {
        let waiters = |count: i32| Waiters::of((0..count).map(|nth| (nth, 64 + nth as u64 * 4)));
        let full = waiters(MOST_WAITERS as i32);
        assert_eq!(full.shown.len(), MOST_WAITERS);
        assert!(!full.are_more);
        assert_eq!(full.words().nth(1), Some(64));
        let more = waiters(MOST_WAITERS as i32 + 1);
        assert!(more.are_more && more.shown == full.shown);
        assert_eq!(more.words().nth(1), Some(64 | 1 << 32));
        let two = waiters(2);
        assert_eq!(two.words().collect::<Vec<_>>(), [0, 2, 64, 68]);
    }

    #[test]
    fn bits_are_those_of_the_threads_in_the_table() {
        let waiters = Waiters::of([(7, 64), (8, 68), (9, 64)].into_iter());
        assert_eq!(waiters.with(0b101), [7, 9]);
        assert_eq!(waiters.with(0), [0; 0]);
        assert_eq!(
            waiters.with(u64::MAX << 3),
            [0; 0],
            "the program has written them"
        );
    }
}
