//! The table of the threads that wait for words of futex(2), by which the stub wakes threads without a stop: what the
//! recorder has written to it, and what the program has noted in it since.

use super::Buffer;
use super::layout::{MOST_WAITERS, word, word_at};
use super::shared::Shared;

/// The bits of an address in an entry of the table.
const ADDRESS: u64 = (1 << 48) - 1;

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

    /// Returns the words of the stub from [`word::WAITERS`] on.
    fn words(&self) -> impl Iterator<Item = u64> {
        const _: () = assert!(word::WAITED == word::WAITERS + 1);
        let waiters = self.shown.len() as u64 | u64::from(self.are_more) << 32;
        let entries = self.shown.iter().enumerate();
        let entries = entries.map(|(number, (_, addr))| entry(number, *addr));
        [waiters].into_iter().chain(entries)
    }

    /// Returns the threads with these numbers, each once: the program may have written them.
    fn with(&self, numbers: &[usize]) -> Vec<i32> {
        let mut all = Vec::new();
        for number in numbers {
            if let Some((thread, _)) = self.shown.get(*number)
                && !all.contains(thread)
            {
                all.push(*thread);
            }
        }
        all
    }
}

/// Returns the entry of the table for a thread.
pub(super) fn entry(number: usize, addr: u64) -> u64 {
    addr & ADDRESS | (number as u64) << ADDRESS.count_ones()
}

/// Returns the thread of an entry, and the address of the word that it waits for.
pub(super) fn of_entry(entry: u64) -> (usize, u64) {
    ((entry >> ADDRESS.count_ones()) as usize, entry & ADDRESS)
}

impl Shared {
    /// Returns the queue of the threads that the program has woken, by their numbers.
    pub(super) fn queue(&self) -> Vec<usize> {
        let first = self.get(word_at(word::WOKEN_FIRST));
        let len = self.get(word_at(word::WOKEN_END)).wrapping_sub(first);
        let number = |nth: u64| {
            let at = first.wrapping_add(nth) % MOST_WAITERS as u64;
            let word = self.get(word_at(word::WOKEN + (at / 8) as usize));
            usize::from((word >> (8 * (at % 8))) as u8)
        };
        (0..len.min(MOST_WAITERS as u64)).map(number).collect()
    }

    /// Writes the queue, of as many threads as there are numbers at most.
    pub(super) fn set_queue(&self, numbers: &[usize]) {
        for (nth, numbers) in numbers.chunks(8).take(MOST_WAITERS / 8).enumerate() {
            let shifted = numbers.iter().enumerate();
            let word = shifted.fold(0, |word, (nth, number)| {
                word | (*number as u64) << (8 * nth)
            });
            self.set(word_at(word::WOKEN + nth), word);
        }
        self.set(word_at(word::WOKEN_FIRST), 0);
        self.set(word_at(word::WOKEN_END), numbers.len() as u64);
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
        shared.set_queue(&[]);
        for (index, word) in (word::WAITERS..).zip(waiters.words()) {
            shared.set(word_at(index), word);
        }
        self.waiters = waiters;
    }

    /// Returns the threads that the program has woken without a stop, in this order. They stay noted until
    /// [`Buffer::show_waiters`].
    pub fn woken(&mut self) -> Vec<i32> {
        let Some(shared) = self.shared.as_ref().filter(|_| self.has_woken()) else {
            return Vec::new();
        };
        self.has_taken_woken = true;
        self.waiters.with(&shared.queue())
    }

    /// Returns whether the program, which may run, has woken threads without a stop that have not run since.
    pub fn has_woken(&self) -> bool {
        self.words().is_some_and(|words| words.has_woken())
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
        assert_eq!(full.words().next(), Some(64));
        let more = waiters(MOST_WAITERS as i32 + 1);
        assert!(more.are_more && more.shown == full.shown);
        assert_eq!(more.words().next(), Some(64 | 1 << 32));
        let two = waiters(2);
        assert_eq!(two.words().collect::<Vec<_>>(), [2, 64, 68 | 1 << 48]);
        assert_eq!(of_entry(68 | 1 << 48), (1, 68));
    }

    #[test]
    fn numbers_are_those_of_the_threads_in_the_table() {
        let waiters = Waiters::of([(7, 64), (8, 68), (9, 64)].into_iter());
        assert_eq!(waiters.with(&[2, 0]), [9, 7]);
        assert_eq!(waiters.with(&[]), [0; 0]);
        assert_eq!(
            waiters.with(&[3, 200, 1, 1]),
            [8],
            "the program has written them"
        );
    }
}
