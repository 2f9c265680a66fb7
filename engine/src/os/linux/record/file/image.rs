//! An image of a process: all that a replay which begins there needs of it.

use super::super::bounded;
use super::super::log::State;
use super::super::threads::copied::Copied;
use super::pages::Run;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::ffi::OsString;

/// A process.
#[derive(Serialize, Deserialize)]
pub struct Image {
    /// The index of the next event.
    pub next: usize,
    /// In the order of their addresses.
    #[serde(deserialize_with = "bounded::list::<_, _, _, MOST_MAPPINGS>")]
    pub mappings: Vec<Mapped>,
    /// The pages of memory that the program has, but for those of files.
    #[serde(deserialize_with = "bounded::list::<_, _, _, { MOST_PAGES as usize }>")]
    pub pages: Vec<Run>,
    pub layout: Layout,
    /// The state of the first of its threads.
    pub thread: State,
    /// The signals that it blocks.
    pub mask: u64,
    /// All of them.
    #[serde(deserialize_with = "bounded::list::<_, _, _, MOST_THREADS>")]
    pub threads: Vec<Copied>,
}

/// The most pages of an image: 16 GiB.
pub const MOST_PAGES: u64 = 1 << 22;
/// The most threads of a process in an image.
pub const MOST_THREADS: usize = 4096;

/// As many mappings as systems allow that allow many (`vm.max_map_count`).
const MOST_MAPPINGS: usize = 1 << 20;

impl Image {
    /// Returns the memory in bytes that it takes here, about.
    pub fn bytes(&self) -> usize {
        let states = self.threads.iter().filter_map(|it| it.state.as_ref());
        let states = states.map(|it| size_of::<State>() + it.extended.len());
        size_of_val(&*self.mappings)
            + size_of_val(&*self.pages)
            + size_of_val(&*self.threads)
            + states.sum::<usize>()
    }

    /// Returns the number of its pages.
    pub fn page_count(&self) -> u64 {
        self.pages.iter().map(|run| u64::from(run.count)).sum()
    }

    /// Returns whether it is one that a process can be made of.
    pub fn is_possible(&self) -> bool {
        self.page_count() <= MOST_PAGES
            && self.has_possible_threads()
            && self.mappings.iter().all(|it| it.start < it.end)
    }

    /// The state of the first thread is that of the image. Each has its own id.
    fn has_possible_threads(&self) -> bool {
        let len = self.thread.extended.len();
        let has_state = |thread: &Copied| {
            let state = thread.state.as_ref();
            state.is_some_and(|state| state.extended.len() == len)
        };
        let Some((first, others)) = self.threads.split_first() else {
            return false;
        };
        let ids: BTreeSet<i32> = self.threads.iter().map(|it| it.thread).collect();
        self.threads.len() <= MOST_THREADS
            && ids.len() == self.threads.len()
            && ids.first().is_some_and(|id| *id > 0)
            && first.state.is_none()
            && others.iter().all(has_state)
    }
}

/// A mapping.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Mapped {
    pub start: u64,
    pub end: u64,
    /// `PROT_READ` and the others.
    pub access: i32,
    pub of: MappedOf,
}

/// What is mapped.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum MappedOf {
    Anonymous,
    /// Memory that grows down.
    Stack,
    /// A file, by its index in the table, from this offset on.
    File(usize, u64),
}

/// What the kernel knows of the program's memory besides its mappings.
#[derive(Clone, Default, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Layout {
    pub code: [u64; 2],
    pub data: [u64; 2],
    /// The start and the end of the heap.
    pub heap: [u64; 2],
    pub stack: u64,
    pub arguments: [u64; 2],
    pub environment: [u64; 2],
    /// The auxiliary vector.
    pub auxiliary: Vec<u8>,
    /// The name of the process.
    pub name: Vec<u8>,
    /// How far the stack grows, in bytes.
    pub stack_limit: u64,
}

/// The most parts of a file in the table: as many as have one page each of the largest one.
pub const MOST_RUNS: usize = 1 << 20;

/// A part of the table of mapped files.
#[derive(Serialize, Deserialize)]
pub struct KeptFile {
    pub path: OsString,
    /// Its length in bytes, as far as it is mapped.
    pub len: u64,
    /// Its pages, by their offsets.
    #[serde(deserialize_with = "bounded::list::<_, _, _, MOST_RUNS>")]
    pub pages: Vec<Run>,
}
