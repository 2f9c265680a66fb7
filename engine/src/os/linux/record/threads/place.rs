//! A place between two events: where a thread was interrupted so that another one runs. There is no clock
//! that would tell when: the place is known by the registers, and by the memory that the code there uses.

use super::super::super::ptrace;
use super::super::bounded;
use super::super::buffer;
use super::super::hash::{FLOATS, RED_ZONE};
use super::super::log::Written;
use super::super::patches::Patches;
use super::super::registers::Registers;
use super::super::tracee::Tracee;
use super::reach::{self, Reliable};
use crate::arch::{Arch, Flow};
use crate::os::linux::registers;
use dwarf::LoadAddr;
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::io;

const NT_X86_XSTATE: i32 = 0x202;
/// The upper halves of the vector registers in that set.
const UPPER: std::ops::Range<usize> = 576..832;
/// The vector registers in the set, of 16 bytes each.
const VECTORS: usize = 160;
/// Bytes of the stack that are compared.
const STACK: usize = 2048;
/// Instructions whose operands are compared.
const INSTRUCTIONS: usize = 96;
/// More pieces of memory than are compared.
const MOST_MEMORY: usize = 1 << 12;
/// More words of four bytes than functions leave uninitialised at a place by chance.
const MOST_OTHER: usize = 64;
/// Longer than any instruction.
const LONGEST: usize = 16;

/// A place, and what a thread has there.
#[derive(Serialize, Deserialize)]
pub struct Place {
    pub registers: Registers,
    /// The floating-point and vector registers.
    vectors: Vec<u8>,
    #[serde(deserialize_with = "bounded::list::<_, _, _, MOST_MEMORY>")]
    memory: Vec<Written>,
    /// What replays that have missed it have learned.
    #[serde(skip)]
    missed: RefCell<Missed>,
}

/// What is known of a place that a replay has missed. Functions leave parts of their frames uninitialised, and what is
/// there may be of code of the debugger, which is not in each replay: such a word is like that at the place at none
/// of the passages. The next replay collects these words, and the one behind that does without them.
#[derive(Default)]
enum Missed {
    #[default]
    Never,
    /// The words of memory that are others at each passage so far; `None`: there was none.
    Once(Option<Vec<u64>>),
    /// These words are not compared.
    Without(Vec<u64>),
}

/// What a thread has that is not at a place with the same pc.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Other {
    /// A general-purpose register, or the flags.
    Register,
    /// Four bytes of memory, which are these at the place.
    Word(u64, u32),
    /// Half of a vector register, by its number, which is this at the place.
    Vector(u8, Half, u64),
    /// Something else.
    Else,
}

/// A half of the 128 bits of a vector register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Half {
    Low,
    High,
}

impl Place {
    /// Returns the place of a stopped thread whose records are still in the buffer. `patches`: those of the debugger.
    /// `others`: the stack pointers of the other threads. Cost: about 0.2 ms.
    ///
    /// # Errors
    /// The thread is gone.
    pub fn of(tracee: &Tracee, patches: &Patches, others: &[u64]) -> io::Result<Place> {
        let registers = tracee.registers()?.at_event();
        let ahead = Ahead::of(tracee, &registers, patches);
        // What is below, of a function that uses the red zone, is among the operands. The rest was left there by others:
        // by the dynamic loader, which saves only registers in use, and by code of the debugger, which replays do without.
        let stack = registers.sp() & !7;
        let mut memory = Vec::new();
        // The same registers and memory may be met again, after another number of calls that were made without a stop.
        if let Some((addr, word)) = buffer::next_record(tracee) {
            memory.push((addr, Box::from(word.to_le_bytes())));
        }
        let stack = (stack, tracee.read(stack, STACK).into_boxed_slice());
        let mut stacks = others.to_vec();
        stacks.push(registers.sp());
        let reached = reach::from(tracee, &registers, &stack, &Reliable::of(tracee, &stacks));
        memory.push(stack);
        for addr in ahead.operands {
            memory.push((addr, tracee.read(addr, 8).into_boxed_slice()));
        }
        memory.extend(reached);
        Ok(Place {
            registers,
            vectors: vectors(tracee),
            memory,
            missed: RefCell::default(),
        })
    }

    /// A replay has come to the next event and has not been here. Returns whether a further one looks more closely.
    pub fn is_missed(&self) -> bool {
        let mut missed = self.missed.borrow_mut();
        let next = match &mut *missed {
            Missed::Never => Missed::Once(None),
            Missed::Once(Some(words)) if !words.is_empty() && words.len() <= MOST_OTHER => {
                Missed::Without(std::mem::take(words))
            }
            Missed::Once(_) | Missed::Without(_) => return false,
        };
        *missed = next;
        true
    }

    /// Notes a passage with the same registers, if such words are collected. Returns whether they are.
    pub fn collects(&self, tracee: &Tracee) -> bool {
        let Missed::Once(collected) = &mut *self.missed.borrow_mut() else {
            return false;
        };
        let words = self.other_words(tracee);
        match collected {
            None => *collected = Some(words),
            Some(collected) => collected.retain(|word| words.contains(word)),
        }
        true
    }

    /// Returns the addresses of all words of memory that are not like those at the place, in order.
    fn other_words(&self, tracee: &Tracee) -> Vec<u64> {
        let mut all = Vec::new();
        for (addr, expected) in &self.memory {
            let found = tracee.read(*addr, expected.len());
            let pairs = expected.chunks(4).zip(found.chunks(4));
            let other = pairs.zip(0..).filter(|((one, two), _)| one != two);
            all.extend(other.map(|(_, nth)| addr + 4 * nth));
        }
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Compares a stopped thread with the place, with these registers instead of its own. Returns the first
    /// difference; `None`: it is there.
    pub fn difference(&self, tracee: &Tracee, registers: &Registers) -> Option<Other> {
        if registers.digest() != self.registers.digest() {
            return Some(Other::Register);
        }
        let missed = self.missed.borrow();
        let not_compared: &[u64] = match &*missed {
            Missed::Without(words) => words,
            Missed::Never | Missed::Once(_) => &[],
        };
        for (addr, expected) in &self.memory {
            let found = tracee.read(*addr, expected.len());
            if *found == **expected {
                continue;
            }
            let pairs = expected.chunks_exact(4).zip(found.chunks_exact(4));
            let other = pairs.enumerate().find(|(nth, (expected, found))| {
                expected != found && !not_compared.contains(&(addr + 4 * *nth as u64))
            });
            let nth = other.map(|(nth, _)| nth);
            if nth.is_none() && found.len() == expected.len() {
                continue;
            }
            let word = nth.and_then(|nth| expected.get(4 * nth..4 * nth + 4));
            let word = word.and_then(|bytes| bytes.try_into().ok().map(u32::from_le_bytes));
            return Some(match nth.zip(word) {
                Some((nth, word)) => Other::Word(addr + 4 * nth as u64, word),
                None => Other::Else,
            });
        }
        let found = vectors(tracee);
        if found == self.vectors {
            return None;
        }
        let halves = (VECTORS..FLOATS).step_by(8);
        for (nth, at) in halves.enumerate() {
            let half = |bytes: &[u8]| -> Option<u64> {
                Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
            };
            if let (Some(expected), Some(found)) = (half(&self.vectors), half(&found))
                && expected != found
            {
                let which = if nth % 2 == 0 { Half::Low } else { Half::High };
                return Some(Other::Vector((nth / 2) as u8, which, expected));
            }
        }
        Some(Other::Else)
    }

    /// Returns the memory that it takes, in bytes.
    pub fn bytes(&self) -> usize {
        let memory = self.memory.iter();
        let memory: usize = memory.map(|it| it.1.len() + size_of::<Written>()).sum();
        size_of::<Place>() + self.vectors.len() + memory
    }
}

/// Returns the vector registers, without what depends on the processor.
fn vectors(tracee: &Tracee) -> Vec<u8> {
    let mut all = vec![0; UPPER.end];
    let len = ptrace::read_register_bytes(tracee.thread(), NT_X86_XSTATE, &mut all);
    all.truncate(len.unwrap_or(0));
    let upper = all.get(UPPER).unwrap_or_default().to_vec();
    all.truncate(FLOATS);
    all.extend(upper);
    all
}

/// The code that a stopped thread executes next.
#[derive(Default)]
struct Ahead {
    /// The addresses of its memory operands, as far as they follow from the registers.
    operands: Vec<u64>,
}

impl Ahead {
    /// Looks at the code from `pc` on. Jumps are followed, also those at the end of loops.
    fn of(tracee: &Tracee, now: &Registers, patches: &Patches) -> Ahead {
        let (pc, sp) = (now.pc(), now.sp());
        let mut ahead = Ahead::default();
        let Some(set) = registers::read(tracee.thread()) else {
            return ahead;
        };
        // Behind the first push or call, nothing below the stack pointer of now is in use.
        let mut has_pushed = false;
        let mut seen = Vec::new();
        let mut at = pc;
        for _ in 0..INSTRUCTIONS {
            let mut code = tracee.read(at, LONGEST);
            patches.hide(at, &mut code);
            let Some(instruction) = Arch::HOST.decode(&code, LoadAddr(at)) else {
                break;
            };
            seen.push(at);
            let pushes = instruction.pushes();
            has_pushed |= pushes;
            for access in instruction.accesses(&set) {
                let is_below = (sp.saturating_sub(RED_ZONE)..sp).contains(&access.at);
                let is_unused = (pushes && access.write) || (is_below && has_pushed);
                if !is_unused
                    && !ahead.operands.contains(&access.at)
                    && tracee.word(access.at).is_some()
                {
                    ahead.operands.push(access.at);
                }
            }
            at = match instruction.flow {
                Flow::Jump(target) => target.0,
                // The end of a loop.
                Flow::ConditionalJump(target) if target.0 < at && !seen.contains(&target.0) => {
                    target.0
                }
                Flow::Return | Flow::IndirectJump(_) | Flow::Fault => break,
                _ => instruction.next().0,
            };
        }
        ahead
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    fn pushes(code: &[u8]) -> bool {
        let instruction = Arch::X86_64.decode(code, LoadAddr(0x1000));
        instruction.expect("an instruction").pushes()
    }

    /// A function has a counter, and a word that it has not initialised, which is never like that at the place.
    #[test]
    fn uninitialised_words_hide_no_place() {
        let words = [AtomicU32::new(0), AtomicU32::new(7)];
        let registers: Registers = postcard::from_bytes(&[0; 64]).expect("registers");
        let bytes: Vec<u8> = [3_u32, 9].iter().flat_map(|it| it.to_le_bytes()).collect();
        let place = Place {
            registers,
            vectors: Vec::new(),
            memory: vec![(words.as_ptr() as u64, bytes.into_boxed_slice())],
            missed: RefCell::default(),
        };
        let process = Tracee::new(std::process::id() as i32).expect("this process");
        let passages = || {
            let mut found = Vec::new();
            for counter in 1..6 {
                words[0].store(counter, Ordering::Relaxed);
                match place.difference(&process, &registers) {
                    None => found.push(counter),
                    Some(_) => drop(place.collects(&process)),
                }
            }
            found
        };
        assert!(passages().is_empty() && place.is_missed());
        assert!(passages().is_empty() && place.is_missed());
        assert_eq!(passages(), [3]);
        assert!(!place.is_missed(), "nothing is left to be learned");
    }

    #[test]
    fn pushes_and_calls_leave_nothing_below_the_stack_pointer() {
        assert!(pushes(&[0x55]), "push %rbp");
        // In an entry of the table by which functions are called for the first time.
        assert!(pushes(&[0x68, 5, 0, 0, 0]), "push $5");
        assert!(pushes(&[0xff, 0x35, 1, 0, 0, 0]), "push 1(%rip)");
        assert!(pushes(&[0xe8, 0, 0, 0, 0]), "call");
        assert!(pushes(&[0xff, 0xd0]), "call *%rax");
        // The functions of these may use that memory.
        assert!(!pushes(&[0x48, 0x83, 0xec, 0x18]), "sub $24,%rsp");
        assert!(!pushes(&[0x89, 0x44, 0x24, 0xf8]), "mov %eax,-8(%rsp)");
        assert!(!pushes(&[0x5d]), "pop %rbp");
        assert!(!pushes(&[0xc3]), "ret");
    }
}
