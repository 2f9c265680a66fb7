//! The bounds that everything read from a file is held to, and the targets that try them.

pub mod targets;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Memory that reading any file may take at once: this many bytes,
const BYTES: usize = 32 << 20;
/// and as many for each byte of the file. Deflate makes at most 1032 bytes of one.
const BYTES_PER_BYTE: usize = 1100;

/// Counts what is allocated, and ends the process beyond the bound.
struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static LIMIT: AtomicUsize = AtomicUsize::new(usize::MAX);

impl Counting {
    fn grow(size: usize) {
        let live = LIVE.fetch_add(size, Relaxed).wrapping_add(size);
        let limit = LIMIT.load(Relaxed);
        if live > limit {
            LIMIT.store(usize::MAX, Relaxed);
            let trace = std::backtrace::Backtrace::force_capture();
            eprintln!("{size} bytes more are {} too many\n{trace}", live - limit);
            std::process::abort();
        }
    }
}

// SAFETY: the system's allocator does the work, with the arguments as they are.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        Counting::grow(layout.size());
        // SAFETY: the caller keeps the contract, which is the same one.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        Counting::grow(layout.size());
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        LIVE.fetch_sub(layout.size(), Relaxed);
        Counting::grow(size);
        // SAFETY: as above.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

/// Has all work done by this thread, so that coverage does not depend on who takes which unit.
pub fn one_thread() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1);
    let pool = pool.use_current_thread().build_global();
    pool.expect("the first pool");
}

/// Runs a target on one input within the bound of memory. That of time is libFuzzer's.
pub fn bounded(data: &[u8], target: fn(&[u8])) {
    let bound = BYTES + BYTES_PER_BYTE * data.len();
    LIMIT.store(LIVE.load(Relaxed) + bound, Relaxed);
    target(data);
    LIMIT.store(usize::MAX, Relaxed);
}
