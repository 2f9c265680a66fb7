//! What was recorded: the events of a program, in order.

use super::bounded;
use super::buffer::Segments;
use super::registers::Registers;
use super::threads::place::Place;
use super::tracee::Tracee;
use dwarf::LoadAddr;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;

/// The most memory that a log takes: 1 GiB.
pub const MOST_BYTES: usize = 1 << 30;
/// More outputs than a system call has.
const MOST_OUTPUTS: usize = 1 << 14;

/// Where the program was when an event happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Entry {
    /// The number of the system call.
    pub number: i64,
    pub pc: u64,
    pub sp: u64,
    pub arguments: [u64; 6],
    /// Of all registers.
    pub digest: u64,
}

impl Entry {
    pub fn of(registers: &Registers) -> Entry {
        Entry {
            number: registers.number(),
            pc: registers.pc(),
            sp: registers.sp(),
            arguments: registers.arguments(),
            digest: registers.digest(),
        }
    }
}

/// Memory that was written: its address and contents.
pub type Written = (u64, Box<[u8]>);

/// The whole state of a thread's registers.
#[derive(Clone, Serialize, Deserialize)]
pub struct State {
    pub registers: Registers,
    /// The extended registers, as the kernel has them.
    pub extended: Vec<u8>,
}

/// What an event did to the program.
#[derive(Serialize, Deserialize)]
pub enum Effect {
    /// A system call that only had a result and outputs.
    Call {
        result: i64,
        #[serde(deserialize_with = "bounded::list::<_, _, _, MOST_OUTPUTS>")]
        outputs: Box<[Written]>,
        /// The bases of the segments, if it has changed them.
        bases: Option<[u64; 2]>,
    },
    /// A system call that a signal has interrupted. Unless a handler runs, it is made again, by this
    /// number.
    Interrupted {
        repeated_as: i64,
        #[serde(deserialize_with = "bounded::list::<_, _, _, MOST_OUTPUTS>")]
        outputs: Box<[Written]>,
    },
    /// A system call that has changed the address space.
    Repeat { result: i64 },
    /// mmap(2) of anonymous memory.
    Map { result: i64 },
    /// mmap(2) of a file, by its index in the log.
    MapFile { result: i64, file: usize },
    /// rt_sigreturn(2).
    SignalReturn(Box<State>),
    /// The handler of a signal was entered.
    Signal {
        signal: i32,
        /// The instruction has raised it, and does so in a replay.
        is_of_instruction: bool,
        frame: Written,
        state: Box<State>,
    },
    /// The time-stamp counter was read.
    TimeStamp(u64),
    /// Another program was executed: a replay ends here.
    Execute,
    /// The program has exited.
    Exit,
    /// The thread waits in its system call, whose effect is the next event of the thread.
    Wait,
    /// The call has created a thread. The outputs have its id.
    Thread {
        thread: i32,
        #[serde(deserialize_with = "bounded::list::<_, _, _, MOST_OUTPUTS>")]
        outputs: Box<[Written]>,
    },
    /// The thread has exited.
    ThreadExit {
        #[serde(deserialize_with = "bounded::list::<_, _, _, MOST_OUTPUTS>")]
        outputs: Box<[Written]>,
    },
    /// The thread was interrupted here so that another one runs.
    Preempt(Box<Place>),
}

/// An event.
#[derive(Serialize, Deserialize)]
pub struct Event {
    /// The thread of the program.
    pub thread: i32,
    pub entry: Entry,
    pub effect: Effect,
    /// The hash of the state after it, for some.
    pub hash: Option<u64>,
}

impl Event {
    /// Returns the memory that it takes, about.
    pub fn bytes(&self) -> usize {
        let more = match &self.effect {
            Effect::Call { outputs, .. }
            | Effect::Interrupted { outputs, .. }
            | Effect::Thread { outputs, .. }
            | Effect::ThreadExit { outputs } => {
                let sizes = outputs.iter().map(|it| it.1.len() + size_of::<Written>());
                sizes.sum()
            }
            Effect::SignalReturn(state) => size_of::<State>() + state.extended.len(),
            Effect::Signal { frame, state, .. } => {
                frame.1.len() + size_of::<State>() + state.extended.len()
            }
            Effect::Preempt(place) => place.bytes(),
            _ => 0,
        };
        size_of::<Event>() + more
    }
}

/// The events of a program, and the files that it has mapped. What is read of a file is bounded; what is
/// not stored in one, is skipped.
#[derive(Default, Serialize, Deserialize)]
pub struct Log {
    #[serde(deserialize_with = "bounded::events")]
    pub events: Vec<Event>,
    /// Kept open: a replay maps them again.
    #[serde(skip)]
    pub files: Vec<File>,
    /// The calls that were made without a stop.
    pub segments: Segments,
    /// The thread that runs after the last event.
    pub running: i32,
    /// Whether a thread was created.
    #[serde(skip)]
    pub has_threads: bool,
    /// The places in code where threads were interrupted for others.
    #[serde(skip)]
    places: BTreeSet<u64>,
    /// The stacks of threads that have ended.
    #[serde(skip)]
    left_stacks: Vec<LeftStack>,
    /// Of the events.
    #[serde(skip)]
    bytes: usize,
}

/// The stack of a thread that has ended.
struct LeftStack {
    /// The stack pointer at the end of the thread.
    sp: u64,
    /// The events between which the thread has ended and the memory is the stack's.
    events: Range<usize>,
}

impl Log {
    /// Returns the memory that the log takes, about.
    pub fn bytes(&self) -> usize {
        self.bytes + self.segments.bytes()
    }

    /// Counts again what was read of a file. Returns false if it is damaged.
    pub fn count_again(&mut self) -> bool {
        let events = std::mem::take(&mut self.events);
        for (index, event) in events.iter().enumerate() {
            self.note(index, event);
        }
        self.events = events;
        self.segments.count_again()
    }

    /// Gives each of two threads the id of the other.
    pub fn swap_threads(&mut self, one: i32, other: i32) {
        let swap = |id: &mut i32| *id = swapped(*id, one, other);
        swap(&mut self.running);
        for event in &mut self.events {
            swap(&mut event.thread);
            if let Effect::Thread { thread, .. } = &mut event.effect {
                swap(thread);
            }
        }
    }

    /// Returns the number of events, and of calls that were made without one.
    pub fn count(&self) -> usize {
        self.events.len() + self.segments.calls()
    }

    /// Returns the places in code where threads were interrupted for others.
    pub fn places(&self) -> impl Iterator<Item = u64> {
        self.places.iter().copied()
    }

    /// Returns the stack pointers of the threads that have ended before an event, if their stacks are still
    /// mapped.
    pub fn left_stacks(&self, event: usize) -> impl Iterator<Item = u64> {
        let left = self.left_stacks.iter();
        let left = left.filter(move |it| it.events.contains(&event));
        left.map(|it| it.sp)
    }

    /// Returns the thread that runs to an event, and the only one that does since the event before.
    pub fn thread_of(&self, event: usize) -> i32 {
        let event = self.events.get(event);
        event.map_or(self.running, |event| event.thread)
    }

    /// Returns the ranges of memory that the program has mapped.
    pub fn mapped(&self) -> Vec<(LoadAddr, LoadAddr)> {
        const PAGE: u64 = 4096;
        let mut ranges = Vec::new();
        let (mut low, mut high) = (u64::MAX, 0);
        for event in &self.events {
            let [_, second, third, ..] = event.entry.arguments;
            let (result, len) = match (&event.effect, event.entry.number) {
                (Effect::Map { result } | Effect::MapFile { result, .. }, _) => (*result, second),
                (Effect::Repeat { result }, libc::SYS_mremap) => (*result, third),
                (Effect::Repeat { result }, libc::SYS_brk) => {
                    low = low.min(*result as u64);
                    high = high.max(*result as u64);
                    continue;
                }
                _ => continue,
            };
            let start = result as u64;
            let end = start.saturating_add(len).saturating_add(PAGE - 1) & !(PAGE - 1);
            ranges.push((LoadAddr(start), LoadAddr(end)));
        }
        if low < high {
            ranges.push((LoadAddr(low), LoadAddr(high)));
        }
        ranges
    }

    /// Returns the ranges that the program has mapped of each file.
    pub fn mapped_of_files(&self) -> Vec<Vec<Range<u64>>> {
        let mut ranges = vec![Vec::new(); self.files.len()];
        for event in &self.events {
            let [_, len, _, _, _, offset] = event.entry.arguments;
            if let Effect::MapFile { file, .. } = event.effect
                && let Some(ranges) = ranges.get_mut(file)
            {
                ranges.push(offset..offset.saturating_add(len));
            }
        }
        ranges
    }

    /// Forgets all events.
    pub fn clear(&mut self) {
        self.events.clear();
        self.files.clear();
        self.places.clear();
        self.left_stacks.clear();
        self.has_threads = false;
        self.segments.clear();
        self.bytes = 0;
    }

    pub fn push(&mut self, entry: Entry, effect: Effect) {
        let event = Event {
            thread: self.running,
            entry,
            effect,
            hash: None,
        };
        self.note(self.events.len(), &event);
        self.events.push(event);
    }

    fn note(&mut self, index: usize, event: &Event) {
        self.bytes += event.bytes();
        // Those that were there where the recording begins, are not created in it.
        let is_of_several = matches!(
            event.effect,
            Effect::Thread { .. } | Effect::ThreadExit { .. }
        );
        self.has_threads |= is_of_several;
        if let Effect::Preempt(place) = &event.effect {
            self.places.insert(place.registers.pc());
        }
        match event.effect {
            Effect::ThreadExit { .. } => self.left_stacks.push(LeftStack {
                sp: event.entry.sp,
                events: index + 1..usize::MAX,
            }),
            Effect::Repeat { result: 0 } if event.entry.number == libc::SYS_munmap => {
                let [start, len, ..] = event.entry.arguments;
                let gone = start..start.saturating_add(len);
                for left in &mut self.left_stacks {
                    if left.events.end == usize::MAX && gone.contains(&left.sp) {
                        left.events.end = index + 1;
                    }
                }
            }
            _ => {}
        }
    }

    /// Keeps a file, once. Returns its index.
    ///
    /// # Errors
    /// The system does not say which file it is.
    pub fn keep(&mut self, file: File) -> io::Result<usize> {
        let identity = |file: &File| file.metadata().map(|it| (it.dev(), it.ino()));
        let wanted = identity(&file)?;
        let mut kept = self.files.iter();
        if let Some(index) = kept.position(|it| identity(it).is_ok_and(|it| it == wanted)) {
            return Ok(index);
        }
        self.files.push(file);
        Ok(self.files.len() - 1)
    }
}

/// Returns the id of a thread after two have changed theirs.
pub fn swapped(id: i32, one: i32, other: i32) -> i32 {
    match id {
        id if id == one => other,
        id if id == other => one,
        id => id,
    }
}

/// Reads the outputs of a call.
pub fn read_outputs(tracee: &Tracee, written: Vec<(u64, usize)>) -> Box<[Written]> {
    let read = written
        .into_iter()
        .map(|(addr, len)| (addr, tracee.read(addr, len).into_boxed_slice()));
    read.collect()
}
