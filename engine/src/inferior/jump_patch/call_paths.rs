//! The traced calls in progress of each thread, and the tree of all paths of calls so far: a
//! tracepoint's memory that is shared with the program, and written by both.
//!
//! A path is a number: that of its last call's node. A node's word has the path of the caller and the
//! number of the site whose function is called. It is taken by one atomic exchange, and never freed.
//! Each thread has the stack of its calls in progress, with the address of each frame, so that calls
//! which ended otherwise than by a return are found dead by the next call above them. Only the thread
//! itself, or the debugger while the thread is stopped, writes it.

use super::trace_area::MULTIPLIER;
use crate::ids::ThreadId;
use crate::os::Shared;
use dwarf::LoadAddr;
use rustc_hash::FxHashMap;
use std::cell::RefCell;

/// Offset in the entry of a thread, which begins with the thread's number (0: the entry is free): how
/// many of its calls are in progress, at most [`MAX_DEPTH`].
pub const DEPTH: i32 = 8;
/// The calls: the address of the frame, then the path, a word each.
pub const CALLS: i32 = 16;
/// Calls in progress that a thread's entry has room for. Deeper ones are on the path of the last.
pub const MAX_DEPTH: u32 = 128;
/// Size of a thread's entry in bytes.
pub const ENTRY: i32 = CALLS + 16 * MAX_DEPTH as i32;
/// The number of entries, as a power of two. Calls of further threads have the path 0.
pub const THREADS_LOG2: u32 = 10;
/// Entries in which a thread may be, and nodes in which a path may be, from the first one on.
pub const THREAD_PROBES: u32 = 8;
pub const NODE_PROBES: u32 = 32;
/// The number of nodes, as a power of two. Calls whose node has no room have the path 0.
pub const NODES_LOG2: u32 = 16;
/// Offset of the nodes, a word each.
pub const NODES: u64 = (ENTRY as u64) << THREADS_LOG2;
/// The size of all in bytes.
pub const LEN: u64 = (NODES + (8 << NODES_LOG2)).next_multiple_of(1 << 12);

/// Maximum number of sites.
const MAX_SITES: u32 = 1 << 20;

/// The paths of calls of a tracepoint.
pub struct CallPaths {
    /// The address of the memory in the program; `None`: only the debugger has it.
    pub at: Option<LoadAddr>,
    shared: Shared,
    sites: RefCell<Sites>,
}

/// The sites, numbered from 1 on, and the names of their functions.
#[derive(Default)]
struct Sites {
    numbers: FxHashMap<LoadAddr, u32>,
    names: Vec<String>,
}

/// Where a site's code finds its paths.
#[derive(Clone, Copy, Debug)]
pub struct PathSite {
    /// The address of the memory.
    pub at: LoadAddr,
    /// The number of the site.
    pub site: u32,
}

impl CallPaths {
    /// Returns paths in zeroed memory of [`LEN`] bytes.
    pub fn new(at: Option<LoadAddr>, shared: Shared) -> CallPaths {
        CallPaths {
            at,
            shared,
            sites: RefCell::default(),
        }
    }

    /// Returns the number of the site at the entry of a function; `None` if there are too many.
    pub fn site(&self, entry: LoadAddr, name: impl FnOnce() -> String) -> Option<u32> {
        let mut sites = self.sites.borrow_mut();
        let next = sites.numbers.len() as u32 + 1;
        if next > MAX_SITES && !sites.numbers.contains_key(&entry) {
            return None;
        }
        let site = *sites.numbers.entry(entry).or_insert(next);
        if site == next {
            sites.names.push(name());
        }
        Some(site)
    }

    /// Adds a call to those of a stopped thread. Returns its path.
    pub fn enter(&self, thread: ThreadId, frame: LoadAddr, site: u32) -> u64 {
        let Some(entry) = self.entry_of(thread) else {
            return 0;
        };
        let depth = self.live(entry, frame);
        let caller = match depth {
            0 => 0,
            depth => self.word(call_at(entry, depth - 1) + 8),
        };
        let path = self.node(caller << 32 | u64::from(site));
        if depth < u64::from(MAX_DEPTH) {
            self.set(call_at(entry, depth), frame.0);
            self.set(call_at(entry, depth) + 8, path);
            self.set(entry + DEPTH as u64, depth + 1);
        }
        path
    }

    /// Takes a call that returns, and those above it, out of those of a stopped thread.
    pub fn leave(&self, thread: ThreadId, frame: LoadAddr) {
        if let Some(entry) = self.entry_of(thread) {
            self.live(entry, frame);
        }
    }

    /// Forgets the calls of a thread that has ended: another may get its number.
    pub fn forget(&self, thread: ThreadId) {
        if let Some(entry) = self.find_thread(thread.0 as u64) {
            self.set(entry + DEPTH as u64, 0);
            self.set(entry, 0);
        }
    }

    /// Returns the names of a path's functions, outermost first.
    pub fn names(&self, path: u64) -> Vec<String> {
        let sites = self.sites.borrow();
        let mut names = Vec::new();
        let mut path = path;
        while let Some(number) = path.checked_sub(1).filter(|it| *it < 1 << NODES_LOG2) {
            let node = self.word(NODES + 8 * number);
            let site = (node as u32 as usize).checked_sub(1);
            let name = site.and_then(|site| sites.names.get(site).cloned());
            names.push(name.unwrap_or_else(|| "??".to_owned()));
            path = node >> 32;
            // The program's memory may hold a circle.
            if names.len() > MAX_DEPTH as usize {
                break;
            }
        }
        names.reverse();
        names
    }

    fn word(&self, at: u64) -> u64 {
        self.shared.word(at as usize)
    }

    fn set(&self, at: u64, value: u64) {
        self.shared.set_word(at as usize, value);
    }

    /// Drops calls of an entry whose frames are dead when one at this address begins or ends. Returns
    /// the number of the others.
    fn live(&self, entry: u64, frame: LoadAddr) -> u64 {
        let mut depth = self.word(entry + DEPTH as u64).min(u64::from(MAX_DEPTH));
        while depth > 0 && self.word(call_at(entry, depth - 1)) <= frame.0 {
            depth -= 1;
        }
        self.set(entry + DEPTH as u64, depth);
        depth
    }

    /// Returns the offset of a thread's entry, which is taken if there is none yet.
    fn entry_of(&self, thread: ThreadId) -> Option<u64> {
        let number = u64::try_from(thread.0).ok().filter(|it| *it != 0)?;
        let free = || entries(number).find(|at| self.shared.exchange(*at as usize, 0, number));
        self.find_thread(number).or_else(free)
    }

    fn find_thread(&self, number: u64) -> Option<u64> {
        entries(number).find(|at| self.word(*at) == number)
    }

    /// Returns the path whose node has this word.
    fn node(&self, node: u64) -> u64 {
        let first = hash(node, NODES_LOG2);
        for probe in 0..u64::from(NODE_PROBES) {
            let number = (first + probe) & ((1 << NODES_LOG2) - 1);
            let at = NODES + 8 * number;
            if self.word(at) == node
                || self.shared.exchange(at as usize, 0, node)
                || self.word(at) == node
            {
                return number + 1;
            }
        }
        0
    }
}

/// Returns the offsets of the entries in which a thread may be.
fn entries(number: u64) -> impl Iterator<Item = u64> {
    let first = hash(number, THREADS_LOG2);
    (0..u64::from(THREAD_PROBES))
        .map(move |probe| ((first + probe) & ((1 << THREADS_LOG2) - 1)) * ENTRY as u64)
}

fn call_at(entry: u64, index: u64) -> u64 {
    entry + CALLS as u64 + 16 * index
}

fn hash(word: u64, log2: u32) -> u64 {
    word.wrapping_mul(MULTIPLIER) >> (64 - log2)
}
