//! futex(2) of a recorded program with threads: the recorder answers it, so no thread waits in the
//! kernel. This decides what a call does; the recorder acts.

use std::time::Duration;

const WAIT: u64 = 0;
const WAKE: u64 = 1;
const REQUEUE: u64 = 3;
const CMP_REQUEUE: u64 = 4;
const WAKE_OP: u64 = 5;
const WAIT_BITSET: u64 = 9;
const WAKE_BITSET: u64 = 10;
/// FUTEX_LOCK_PI to FUTEX_TRYLOCK_PI, and those with requeueing.
const PRIORITY_INHERITANCE: [u64; 6] = [6, 7, 8, 11, 12, 13];
/// FUTEX_PRIVATE_FLAG, FUTEX_CLOCK_REALTIME
const PRIVATE: u64 = 128;
const REAL_TIME: u64 = 256;
const ANY: u32 = u32::MAX;

/// When a wait ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Until {
    /// After this time, which is in memory at this address.
    After(u64),
    /// At a time of CLOCK_MONOTONIC.
    Monotonic(u64),
    /// At a time of CLOCK_REALTIME.
    RealTime(u64),
}

/// What a call asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Request {
    /// To wait until the word is woken, if it is as expected.
    Wait {
        expected: u32,
        bits: u32,
        until: Option<Until>,
    },
    /// To wake waiters of the word.
    Wake { count: u32, bits: u32 },
    /// To wake waiters, and to move others to another word.
    Requeue {
        count: u32,
        moved: u32,
        to: u64,
        /// The call fails unless the word is this.
        expected: Option<u32>,
    },
    /// To change another word, to wake waiters, and those of the other word by its old value.
    Change {
        count: u32,
        other_count: u32,
        other: u64,
        change: Change,
    },
    /// What is not answered: priority inheritance.
    Inherit,
    /// Nothing that waits or wakes: the kernel refuses it.
    Invalid,
}

/// How FUTEX_WAKE_OP changes and compares a word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Change(u32);

impl Request {
    /// Decodes the arguments of futex(2).
    pub fn of(arguments: &[u64; 6]) -> Request {
        let [_, operation, value, fourth, other, value3] = *arguments;
        let number = operation & !(PRIVATE | REAL_TIME) & 0xffff_ffff;
        let is_real = operation & REAL_TIME != 0;
        let value3 = value3 as u32;
        match number {
            WAIT | WAIT_BITSET => {
                let bits = if number == WAIT { ANY } else { value3 };
                if bits == 0 {
                    return Request::Invalid;
                }
                let until = match number {
                    WAIT => Until::After(fourth),
                    _ if is_real => Until::RealTime(fourth),
                    _ => Until::Monotonic(fourth),
                };
                Request::Wait {
                    expected: value as u32,
                    bits,
                    until: (fourth != 0).then_some(until),
                }
            }
            WAKE => Request::Wake {
                count: value as u32,
                bits: ANY,
            },
            WAKE_BITSET if value3 != 0 => Request::Wake {
                count: value as u32,
                bits: value3,
            },
            REQUEUE | CMP_REQUEUE => Request::Requeue {
                count: value as u32,
                moved: fourth as u32,
                to: other,
                expected: (number == CMP_REQUEUE).then_some(value3),
            },
            WAKE_OP => Request::Change {
                count: value as u32,
                other_count: fourth as u32,
                other,
                change: Change(value3),
            },
            number if PRIORITY_INHERITANCE.contains(&number) => Request::Inherit,
            _ => Request::Invalid,
        }
    }
}

impl Change {
    /// Returns the new value of a word, and whether waiters of that word are woken. `None`: the kernel
    /// knows no such operation.
    pub fn apply(self, old: u32) -> Option<(u32, bool)> {
        const IS_SHIFT: u32 = 8;
        let signed = |bits: u32| ((bits << 20) as i32) >> 20;
        let operation = self.0 >> 28;
        let operand = signed(self.0 >> 12 & 0xfff) as u32;
        let operand = match operation & IS_SHIFT {
            0 => operand,
            _ => 1_u32.wrapping_shl(operand),
        };
        let new = match operation & !IS_SHIFT {
            0 => operand,
            1 => old.wrapping_add(operand),
            2 => old | operand,
            3 => old & !operand,
            4 => old ^ operand,
            _ => return None,
        };
        let (old, with) = (old as i32, signed(self.0 & 0xfff));
        let wakes = match self.0 >> 24 & 0xf {
            0 => old == with,
            1 => old != with,
            2 => old < with,
            3 => old <= with,
            4 => old > with,
            5 => old >= with,
            _ => return None,
        };
        Some((new, wakes))
    }
}

/// A `struct timespec`; `None` if the kernel refuses it.
pub fn duration(bytes: [u8; 16]) -> Option<Duration> {
    let (seconds, nanos) = bytes.split_at(8);
    let number = |bytes: &[u8]| bytes.try_into().map_or(-1, i64::from_le_bytes);
    let nanos = u32::try_from(number(nanos)).ok()?;
    let seconds = u64::try_from(number(seconds)).ok()?;
    (nanos < 1_000_000_000).then(|| Duration::new(seconds, nanos))
}

struct Waiter {
    thread: i32,
    word: u64,
    bits: u32,
}

/// The threads that wait for words, those that have waited longest first.
#[derive(Default)]
pub struct Futexes {
    waiters: Vec<Waiter>,
    is_changed: bool,
}

impl Futexes {
    /// A thread waits for a word.
    pub fn wait(&mut self, thread: i32, word: u64, bits: u32) {
        self.waiters.push(Waiter { thread, word, bits });
        self.is_changed = true;
    }

    /// Threads wait for words as the stub has it, those that have waited longest first. One that waits for another word
    /// than before, does so by any bits.
    pub fn set_all(&mut self, all: impl Iterator<Item = (i32, u64)>) {
        let bits = |thread: i32, word: u64| {
            let mut before = self.waiters.iter();
            let known = before.find(|it| it.thread == thread && it.word == word);
            known.map_or(ANY, |it| it.bits)
        };
        let all = all.map(|(thread, word)| Waiter {
            thread,
            word,
            bits: bits(thread, word),
        });
        self.waiters = all.collect();
        self.is_changed = true;
    }

    /// A thread does not wait any more.
    pub fn remove(&mut self, thread: i32) {
        self.waiters.retain(|it| it.thread != thread);
    }

    /// Takes the threads that are woken.
    pub fn wake(&mut self, word: u64, count: u32, bits: u32) -> Vec<i32> {
        let mut woken = Vec::new();
        self.waiters.retain(|it| {
            let is_woken =
                it.word == word && it.bits & bits != 0 && (woken.len() as u64) < u64::from(count);
            if is_woken {
                woken.push(it.thread);
            }
            !is_woken
        });
        self.is_changed |= !woken.is_empty();
        woken
    }

    /// Lets waiters wait for another word. Returns their number.
    pub fn requeue(&mut self, from: u64, to: u64, count: u32) -> u32 {
        let mut moved = 0;
        for waiter in &mut self.waiters {
            if waiter.word == from && moved < count {
                waiter.word = to;
                moved += 1;
            }
        }
        self.is_changed |= moved != 0;
        moved
    }

    /// The buffer has to get the threads again.
    pub fn change(&mut self) {
        self.is_changed = true;
    }

    /// Returns whether the threads that wait may be others than when this was last asked, besides those that have
    /// only ceased to wait.
    pub fn takes_change(&mut self) -> bool {
        std::mem::take(&mut self.is_changed)
    }

    /// Returns the threads, and the words that they wait for.
    pub fn all(&self) -> impl Iterator<Item = (i32, u64)> {
        self.waiters.iter().map(|it| (it.thread, it.word))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiters_are_woken_in_their_order_and_by_their_bits() {
        let mut futexes = Futexes::default();
        futexes.wait(1, 64, ANY);
        futexes.wait(2, 64, 2);
        futexes.wait(3, 72, ANY);
        futexes.wait(4, 64, ANY);
        assert_eq!(futexes.wake(64, 2, 1), [1, 4]);
        assert_eq!(futexes.wake(64, u32::MAX, ANY), [2]);
        futexes.remove(3);
        assert_eq!(futexes.wake(72, 1, ANY), [0; 0]);
    }

    #[test]
    fn waiters_are_moved_to_another_word() {
        let mut futexes = Futexes::default();
        for thread in 1..=4 {
            futexes.wait(thread, 64, ANY);
        }
        assert_eq!(futexes.wake(64, 1, ANY), [1]);
        assert_eq!(futexes.requeue(64, 72, 2), 2);
        assert_eq!(futexes.wake(72, 9, ANY), [2, 3]);
        assert_eq!(futexes.wake(64, 9, ANY), [4]);
    }

    #[test]
    fn requests_are_those_of_the_manual() {
        let private = |number: u64| number | PRIVATE;
        let wait = Request::of(&[64, private(WAIT), 7, 0, 0, 0]);
        let expected = Request::Wait {
            expected: 7,
            bits: ANY,
            until: None,
        };
        assert_eq!(wait, expected);
        let wait = Request::of(&[64, private(WAIT_BITSET) | REAL_TIME, 7, 80, 0, 4]);
        let expected = Request::Wait {
            expected: 7,
            bits: 4,
            until: Some(Until::RealTime(80)),
        };
        assert_eq!(wait, expected);
        assert_eq!(
            Request::of(&[64, WAIT_BITSET, 7, 0, 0, 0]),
            Request::Invalid,
            "EINVAL"
        );
        assert_eq!(Request::of(&[64, private(6), 0, 0, 0, 0]), Request::Inherit);
        assert_eq!(Request::of(&[64, 2, 0, 0, 0, 0]), Request::Invalid);
    }

    #[test]
    fn words_are_changed_and_compared_as_asked_for() {
        let change = |operation: u32, operand: u32, compare: u32, with: u32| {
            Change(operation << 28 | compare << 24 | (operand & 0xfff) << 12 | with & 0xfff)
        };
        assert_eq!(change(0, 0, 4, 1).apply(2), Some((0, true)), "glibc's");
        assert_eq!(change(1, u32::MAX, 0, 5).apply(5), Some((4, true)));
        assert_eq!(change(3 | 8, 4, 1, 16).apply(17), Some((1, true)));
        assert_eq!(change(4, 3, 2, u32::MAX).apply(1), Some((2, false)));
        assert_eq!(change(5, 0, 0, 0).apply(1), None);
        assert_eq!(change(0, 0, 9, 0).apply(1), None);
    }

    #[test]
    fn times_that_the_kernel_refuses_are_none() {
        let time = |seconds: i64, nanos: i64| {
            let mut bytes = [0; 16];
            bytes[..8].copy_from_slice(&seconds.to_le_bytes());
            bytes[8..].copy_from_slice(&nanos.to_le_bytes());
            duration(bytes)
        };
        assert_eq!(time(2, 500), Some(Duration::new(2, 500)));
        assert_eq!(time(-1, 0), None);
        assert_eq!(time(0, 1_000_000_000), None);
    }
}
