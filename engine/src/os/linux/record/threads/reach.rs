//! The memory that a thread can reach from a place: a loop may have the same registers and the same stack at each
//! passage, and count in objects that these point to, as those of interpreters do.

use super::super::super::procfs;
use super::super::buffer;
use super::super::hash::RED_ZONE;
use super::super::log::Written;
use super::super::registers::{General, Registers};
use super::super::tracee::Tracee;
use std::collections::BTreeSet;
use std::ops::Range;

/// Bytes that are read at once.
const LINE: u64 = 64;
/// Lines that are read from where a register points to.
const OF_REGISTER: u64 = 3;
/// Lines that a place keeps: 8 KiB.
const MOST: usize = 128;
/// Of these, those that registers and the stack point to.
const MOST_NEAR: usize = 64;
/// Pointers that are followed, one from the other.
const HOPS: usize = 3;

/// Memory that a program may rely on, in order.
pub struct Reliable(Vec<Range<u64>>);

impl Reliable {
    /// Looks at the mappings of a process. `stacks`: the stack pointers of its threads, below which is what functions
    /// have left. Cost: that of reading /proc/pid/maps.
    pub fn of(tracee: &Tracee, stacks: &[u64]) -> Reliable {
        let mappings = procfs::mappings(tracee.pid);
        let private = mappings
            .into_iter()
            .filter(|it| it.writable && !it.shared && !buffer::is_own(it.start.0));
        Reliable::among(private.map(|it| it.start.0..it.end.0), stacks)
    }

    fn among(mappings: impl Iterator<Item = Range<u64>>, stacks: &[u64]) -> Reliable {
        let used = mappings.map(|range| {
            let inside = stacks.iter().filter(|sp| range.contains(*sp)).min();
            let begin = inside.map_or(range.start, |sp| sp.saturating_sub(RED_ZONE));
            begin.max(range.start).next_multiple_of(LINE)..range.end
        });
        Reliable(used.collect())
    }

    fn has(&self, addr: u64) -> bool {
        let next = self.0.partition_point(|range| range.end <= addr);
        self.0.get(next).is_some_and(|range| range.start <= addr)
    }
}

/// Returns the memory that registers and words of the stack point to, and what is pointed to from there, nearest
/// first. `stack`: what of the stack is known already, with its address.
pub fn from(
    tracee: &Tracee,
    registers: &Registers,
    stack: &Written,
    reliable: &Reliable,
) -> Vec<Written> {
    let read = |line: u64| {
        let bytes = tracee.read(line, LINE as usize);
        (bytes.len() == LINE as usize).then_some(bytes)
    };
    let known = stack.0..stack.0 + stack.1.len() as u64;
    let mut reached = Reached {
        lines: BTreeSet::new(),
        memory: Vec::new(),
    };
    let may_add = |line: u64| !known.contains(&line) && reliable.has(line);
    for register in General::ALL {
        let first = registers.general(register) & !(LINE - 1);
        for nth in 0..OF_REGISTER {
            let line = first.saturating_add(nth * LINE);
            if may_add(line) {
                reached.add(line, MOST_NEAR, read);
            }
        }
    }
    for pointer in words(&stack.1) {
        if may_add(pointer & !(LINE - 1)) {
            reached.add(pointer & !(LINE - 1), MOST_NEAR, read);
        }
    }
    let mut begin = 0;
    for _ in 1..HOPS {
        let end = reached.memory.len();
        for nth in begin..end {
            let bytes = reached.memory.get(nth).map(|it| it.1.clone());
            for pointer in words(&bytes.unwrap_or_default()) {
                if may_add(pointer & !(LINE - 1)) {
                    reached.add(pointer & !(LINE - 1), MOST, read);
                }
            }
        }
        begin = end;
    }
    reached.memory
}

struct Reached {
    lines: BTreeSet<u64>,
    memory: Vec<Written>,
}

impl Reached {
    /// Adds a line unless there are so many.
    fn add(&mut self, line: u64, most: usize, read: impl Fn(u64) -> Option<Vec<u8>>) {
        if self.memory.len() < most
            && self.lines.insert(line)
            && let Some(bytes) = read(line)
        {
            self.memory.push((line, bytes.into_boxed_slice()));
        }
    }
}

fn words(bytes: &[u8]) -> impl Iterator<Item = u64> + '_ {
    let words = bytes.chunks_exact(8);
    words.map(|word| word.try_into().map_or(0, u64::from_le_bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_below_stack_pointers_is_not_relied_on() {
        let mappings = [0x1000..0x2000, 0x7000_0000..0x7001_0000];
        let all = Reliable::among(mappings.into_iter(), &[0x7000_8000, 0x7000_9000]);
        assert!(all.has(0x1000) && all.has(0x1fff) && !all.has(0x2000));
        assert!(!all.has(0x7000_7000), "below the first stack pointer");
        assert!(all.has(0x7000_8000 - RED_ZONE) && all.has(0x7000_ffff));
        assert!(!all.has(0x7001_0000));
    }
}
