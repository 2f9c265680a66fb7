//! The times of the latest passes of a place, for the tracepoints that measure the time since: memory
//! that is shared with the program, and written by both.
//!
//! A pass is a slot of two words: a key, and the processor's clock. A slot is found by its key in a few
//! places from the one that the key determines; a slot without a key is free, and taken by one atomic
//! exchange. A hit takes the clock out, so that a pass is measured once, and frees the slot. The slot of
//! a thread is kept until the thread ends: only that thread accesses it.

use super::trace_area::MULTIPLIER;
use crate::ids::ThreadId;
use crate::os::Shared;
use dwarf::LoadAddr;

/// Offset in a slot of the processor's clock; 0: there is no pass. The key is before it.
pub const TICKS: i32 = 8;
/// Size of a slot in bytes, and the number of slots, as powers of two.
pub const SLOT_LOG2: u32 = 4;
pub const SLOTS_LOG2: u32 = 16;
/// Slots in which a key may be, from the first one on. If all have other keys, the first one is
/// overwritten.
pub const PROBES: u32 = 8;
/// The size of all in bytes.
pub const LEN: u64 = 1 << (SLOT_LOG2 + SLOTS_LOG2);

/// The latest passes of a place.
pub struct Marks {
    /// The address of the memory in the program; `None`: only the debugger has it.
    pub at: Option<LoadAddr>,
    is_of_threads: bool,
    shared: Shared,
}

/// Where code finds the passes of a place.
#[derive(Clone, Copy, Debug)]
pub struct MarkSite {
    /// The address of the memory.
    pub at: LoadAddr,
    /// Whether the keys are numbers of threads: their slots are not freed.
    pub is_of_threads: bool,
}

impl Marks {
    /// Returns passes in zeroed memory of [`LEN`] bytes.
    pub fn new(at: Option<LoadAddr>, is_of_threads: bool, shared: Shared) -> Marks {
        Marks {
            at,
            is_of_threads,
            shared,
        }
    }

    /// Returns where code finds them, if the program has the memory.
    pub fn site(&self) -> Option<MarkSite> {
        Some(MarkSite {
            at: self.at?,
            is_of_threads: self.is_of_threads,
        })
    }

    /// Keeps a pass at this value of the processor's clock.
    pub fn pass(&self, key: u64, ticks: u64) {
        let key = stored(key);
        let take = |at: &u64| {
            let at = *at as usize;
            self.shared.exchange(at, 0, key) || self.shared.word(at) == key
        };
        let at = self.find(key).or_else(|| slots(key).find(take));
        let at = at.unwrap_or_else(|| {
            let first = slots(key).next().unwrap_or(0);
            self.set(first + TICKS as u64, 0);
            self.set(first, key);
            first
        });
        self.set(at + TICKS as u64, ticks);
    }

    /// Takes the latest pass out: the clock at it, if there is one.
    pub fn take(&self, key: u64) -> Option<u64> {
        let key = stored(key);
        let at = self.find(key)?;
        let place = (at + TICKS as u64) as usize;
        let ticks = loop {
            let ticks = self.shared.word(place);
            if self.shared.exchange(place, ticks, 0) {
                break ticks;
            }
        };
        if !self.is_of_threads {
            self.set(at, 0);
        }
        (ticks != 0).then_some(ticks)
    }

    /// Forgets a thread that has ended: another may get its number.
    pub fn forget(&self, thread: ThreadId) {
        if self.is_of_threads
            && let Some(at) = self.find(stored(thread.0 as u64))
        {
            self.set(at + TICKS as u64, 0);
            self.set(at, 0);
        }
    }

    fn find(&self, key: u64) -> Option<u64> {
        slots(key).find(|at| self.shared.word(*at as usize) == key)
    }

    fn set(&self, at: u64, value: u64) {
        self.shared.set_word(at as usize, value);
    }
}

/// Returns the word by which a key is stored, never 0. It determines the first slot, too.
fn stored(key: u64) -> u64 {
    key.wrapping_mul(MULTIPLIER).max(1)
}

/// Returns the offsets of the slots in which a key may be.
fn slots(stored: u64) -> impl Iterator<Item = u64> {
    let first = stored >> (64 - SLOTS_LOG2);
    (0..u64::from(PROBES))
        .map(move |probe| ((first + probe) & ((1 << SLOTS_LOG2) - 1)) << SLOT_LOG2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marks(is_of_threads: bool) -> Marks {
        let shared = Shared::private(LEN as usize).expect("memory");
        Marks::new(None, is_of_threads, shared)
    }

    #[test]
    fn a_pass_is_taken_once_and_the_latest_counts() {
        for is_of_threads in [false, true] {
            let marks = marks(is_of_threads);
            assert_eq!(marks.take(7), None);
            marks.pass(7, 10);
            marks.pass(7, 20);
            marks.pass(0, 30);
            assert_eq!(marks.take(7), Some(20));
            assert_eq!((marks.take(7), marks.take(0)), (None, Some(30)));
        }
        let marks = marks(true);
        marks.pass(7, 10);
        marks.forget(ThreadId(7));
        assert_eq!(marks.take(7), None);
    }

    #[test]
    fn passes_that_no_hit_follows_are_overwritten() {
        let marks = marks(false);
        let all = 4 << SLOTS_LOG2;
        (1..=all).for_each(|key| marks.pass(key, key));
        let found = (1..=all).filter_map(|key| Some((key, marks.take(key)?)));
        let found: Vec<(u64, u64)> = found.collect();
        assert!(found.iter().all(|(key, ticks)| key == ticks));
        assert!(found.len() > 1 << (SLOTS_LOG2 - 1), "{}", found.len());
        // Their slots are free again.
        marks.pass(5, 6);
        assert_eq!(marks.take(5), Some(6));
    }
}
