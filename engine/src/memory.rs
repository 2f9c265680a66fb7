//! The debuggee's memory as the program would read it: without our patches, and jumps of a recorder. While all threads are
//! stopped, each page is read once.

use crate::os::Backend;
use dwarf::{LoadAddr, Memory, Unreadable};
use rustc_hash::FxHashMap;
use std::cell::{Cell, RefCell};

const PAGE: usize = 4096;
/// Maximum number of cached pages (64 MiB); the cache is cleared beyond it.
const MAX_PAGES: usize = 1 << 14;
/// Larger reads bypass the cache; in bytes.
const MAX_CACHED_READ: usize = 16 * PAGE;

/// Pages that were read since the last change of the process, without our patches.
///
/// A read fills the cache, but [`Memory::read`] takes `&self`: evaluations share one memory among
/// values, unwinding and location expressions. Hence the cells. The pages are borrowed during one
/// read only, and nothing that a read calls uses the cache.
#[derive(Default)]
pub struct PageCache {
    /// Number of changes of the process before these pages were read.
    changes: Cell<u64>,
    /// Number of writes to the process that were not its own.
    writes: Cell<u64>,
    /// By page address; `None`: some of the page cannot be read.
    pages: RefCell<FxHashMap<u64, Option<Box<[u8; PAGE]>>>>,
}

impl PageCache {
    /// Returns the cache, after removing pages that were read before the last of this many changes.
    pub fn at(&self, changes: u64) -> &Self {
        if self.changes.replace(changes) != changes {
            self.clear();
        }
        self
    }

    /// Records a write to the process that is not its own.
    pub fn count_write(&self) {
        self.writes.update(|writes| writes + 1);
        self.clear();
    }

    /// Returns the number of writes to the process so far that were not its own.
    pub fn writes(&self) -> u64 {
        self.writes.get()
    }

    fn clear(&self) {
        self.pages.borrow_mut().clear();
    }
}

/// Our patches in the program's code: traps and jumps.
pub trait PatchedCode {
    /// Replaces patches by the program's own bytes in `bytes`, which were read at `addr`.
    fn hide(&self, addr: LoadAddr, bytes: &mut [u8]);
    /// Writes as the program would: under a patch, the program's own byte changes and the patch
    /// stays. Returns the number of bytes that were written.
    fn write(&self, addr: LoadAddr, bytes: &[u8], os: &dyn Backend) -> usize;
}

/// Memory of the process.
pub struct ProcessMemory<'a> {
    pub os: &'a dyn Backend,
    pub patches: &'a dyn PatchedCode,
    /// `None` unless all threads are stopped.
    pub cache: Option<&'a PageCache>,
    /// Bytes that were read before, and their address. They are returned instead of the current
    /// ones, which other threads may have overwritten.
    pub known: Option<&'a (LoadAddr, Vec<u8>)>,
}

impl<'a> ProcessMemory<'a> {
    /// Returns the memory of a process whose threads may be running: nothing is cached.
    pub fn uncached(os: &'a dyn Backend, patches: &'a dyn PatchedCode) -> Self {
        Self {
            os,
            patches,
            cache: None,
            known: None,
        }
    }

    /// Writes as the program would. Returns the number of bytes written before the first that could
    /// not be.
    pub fn write(&self, addr: LoadAddr, bytes: &[u8]) -> usize {
        if let Some(cache) = self.cache {
            cache.count_write();
        }
        self.patches.write(addr, bytes, self.os)
    }

    fn read_raw(&self, addr: LoadAddr, buffer: &mut [u8]) -> Result<(), Unreadable> {
        if self.os.read_memory(addr, buffer) < buffer.len() {
            return Err(Unreadable {
                addr,
                len: buffer.len(),
            });
        }
        Ok(())
    }

    fn read_cached(
        &self,
        cache: &PageCache,
        addr: LoadAddr,
        buffer: &mut [u8],
    ) -> Result<(), Unreadable> {
        let mut pages = cache.pages.borrow_mut();
        let mut done = 0;
        while done < buffer.len() {
            let here = addr.0.wrapping_add(done as u64);
            let base = here & !(PAGE as u64 - 1);
            let offset = (here - base) as usize;
            let count = (PAGE - offset).min(buffer.len() - done);
            if pages.len() >= MAX_PAGES {
                pages.clear();
            }
            let page = pages.entry(base).or_insert_with(|| {
                let mut page = Box::new([0; PAGE]);
                let whole = self.os.read_memory(LoadAddr(base), page.as_mut_slice()) == PAGE;
                // Now: a patch may be removed while the page is still cached.
                self.patches.hide(LoadAddr(base), page.as_mut_slice());
                self.os.hide_jumps(LoadAddr(base), page.as_mut_slice());
                whole.then_some(page)
            });
            match page {
                Some(page) => {
                    buffer[done..done + count].copy_from_slice(&page[offset..offset + count]);
                }
                None => self.read_raw(LoadAddr(here), &mut buffer[done..done + count])?,
            }
            done += count;
        }
        Ok(())
    }
}

impl Memory for ProcessMemory<'_> {
    fn read(&self, addr: LoadAddr, buffer: &mut [u8]) -> Result<(), Unreadable> {
        if let Some((start, bytes)) = self.known
            && let Some(from) = addr.0.checked_sub(start.0)
            && let Some(known) = usize::try_from(from)
                .ok()
                .and_then(|from| bytes.get(from..))
            && let Some(known) = known.get(..buffer.len())
        {
            buffer.copy_from_slice(known);
            return Ok(());
        }
        let result = match self.cache {
            Some(cache) if buffer.len() <= MAX_CACHED_READ => self.read_cached(cache, addr, buffer),
            _ => self.read_raw(addr, buffer),
        };
        result.map_err(|_| Unreadable {
            addr,
            len: buffer.len(),
        })?;
        self.patches.hide(addr, buffer);
        self.os.hide_jumps(addr, buffer);
        Ok(())
    }
}
