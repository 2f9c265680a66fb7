//! Breakpoint sites: the addresses that hold our trap instruction, each with its owners.

use super::BreakpointId;
use crate::arch::x86_64::BREAKPOINT;
use crate::event::ThreadId;
use crate::os::Backend;
use dwarf::LoadAddr;
use smallvec::SmallVec;
use std::borrow::Cow;
use std::cell::Cell;
use std::collections::BTreeMap;

/// Who wants a trap at a site. Several may; the site goes when the last one does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Owner {
    /// A breakpoint of the client's.
    User(BreakpointId),
    /// The dynamic loader tells of a changed list of images here.
    Loader,
    /// A step is waiting for this thread here.
    Step(ThreadId),
    /// A call of ours ends here.
    Call,
    /// A frame returns here that holds what this data breakpoint is on.
    Scope(BreakpointId),
    /// Exceptions, panics or reports go through here.
    Exception,
}

/// One address that holds a trap instruction.
#[derive(Debug)]
pub struct Site {
    /// What the program has there. Changes when somebody writes over the trap.
    original: Cell<u8>,
    owners: SmallVec<[Owner; 1]>,
}

impl Site {
    /// Who wants it.
    pub fn owners(&self) -> &[Owner] {
        &self.owners
    }

    /// Whether the program has a trap instruction of its own here.
    pub fn covers_trap(&self) -> bool {
        self.original.get() == BREAKPOINT
    }
}

impl Site {
    /// Gives the original byte back, unless the program has other code there by now: it has
    /// written over our trap, or unmapped it.
    fn give_back(&self, addr: LoadAddr, os: &dyn Backend) {
        let mut now = [0];
        if os.read_memory(addr, &mut now) == 1 && now[0] == BREAKPOINT {
            os.write_memory(addr, &[self.original.get()]);
        }
    }
}

/// All sites of the process.
#[derive(Default)]
pub struct Sites {
    sites: BTreeMap<LoadAddr, Site>,
}

impl Sites {
    /// The site at an address.
    pub fn get(&self, addr: LoadAddr) -> Option<&Site> {
        self.sites.get(&addr)
    }

    /// Adds an owner; plants the trap if it is the first one. False if the memory is not there.
    pub fn add(&mut self, addr: LoadAddr, owner: Owner, os: &dyn Backend) -> bool {
        if let Some(site) = self.sites.get_mut(&addr) {
            if !site.owners.contains(&owner) {
                site.owners.push(owner);
            }
            return true;
        }
        let mut original = [0];
        if os.read_memory(addr, &mut original) != 1 {
            return false;
        }
        os.guard(addr, Some(original[0]));
        if !os.write_memory(addr, &[BREAKPOINT]) {
            os.guard(addr, None);
            return false;
        }
        self.sites.insert(
            addr,
            Site {
                original: Cell::new(original[0]),
                owners: SmallVec::from_elem(owner, 1),
            },
        );
        true
    }

    /// Removes an owner; the original byte comes back with the last one.
    pub fn remove(&mut self, addr: LoadAddr, owner: Owner, os: &dyn Backend) {
        let Some(site) = self.sites.get_mut(&addr) else {
            return;
        };
        site.owners.retain(|other| *other != owner);
        if site.owners.is_empty() {
            site.give_back(addr, os);
            os.guard(addr, None);
            self.sites.remove(&addr);
        }
    }

    /// Removes an owner from all sites.
    pub fn remove_owner(&mut self, owner: Owner, os: &dyn Backend) {
        let addresses: Vec<LoadAddr> = self
            .sites
            .iter()
            .filter(|(_, site)| site.owners.contains(&owner))
            .map(|(addr, _)| *addr)
            .collect();
        for addr in addresses {
            self.remove(addr, owner, os);
        }
    }

    /// Gives all original bytes back and forgets all sites.
    pub fn remove_all(&mut self, os: &dyn Backend) {
        for (addr, site) in std::mem::take(&mut self.sites) {
            site.give_back(addr, os);
            os.guard(addr, None);
        }
    }

    /// Forgets all sites without writing: the memory they were in is gone.
    pub fn forget_all(&mut self) {
        self.sites.clear();
    }

    /// Forgets sites in unmapped memory.
    pub fn forget_in(&mut self, start: LoadAddr, end: LoadAddr) {
        self.sites.retain(|addr, _| *addr < start || *addr >= end);
    }

    /// Lifts the trap for an in-place step, without changing who owns it.
    pub fn lift(&self, addr: LoadAddr, os: &dyn Backend) {
        if let Some(site) = self.sites.get(&addr) {
            site.give_back(addr, os);
        }
    }

    /// Plants a lifted trap again.
    pub fn plant(&self, addr: LoadAddr, os: &dyn Backend) {
        let mut now = [0];
        if let Some(site) = self.sites.get(&addr)
            && os.read_memory(addr, &mut now) == 1
        {
            if site.original.replace(now[0]) != now[0] {
                os.guard(addr, None);
                os.guard(addr, Some(now[0]));
            }
            os.write_memory(addr, &[BREAKPOINT]);
        }
    }

    /// All original bytes, for cleaning a copy of the memory.
    pub fn originals(&self, os: &dyn Backend) -> Vec<(LoadAddr, u8)> {
        let overwritten = |addr: LoadAddr| {
            let mut now = [0];
            os.read_memory(addr, &mut now) == 1 && now[0] != BREAKPOINT
        };
        self.sites
            .iter()
            .filter(|(addr, _)| !overwritten(**addr))
            .map(|(addr, site)| (*addr, site.original.get()))
            .collect()
    }

    /// Replaces our traps in bytes read from `addr` by what the program has there.
    pub fn hide(&self, addr: LoadAddr, buffer: &mut [u8]) {
        if self.sites.is_empty() || buffer.is_empty() {
            return;
        }
        let end = LoadAddr(addr.0.saturating_add(buffer.len() as u64));
        if end <= addr {
            return;
        }
        for (at, site) in self.sites.range(addr..end) {
            if let Some(byte) = buffer.get_mut((*at - addr) as usize) {
                // Else the program has written over it.
                if *byte == BREAKPOINT {
                    *byte = site.original.get();
                }
            }
        }
    }

    /// Writes `bytes` as the program would: where a trap of ours is, the byte under it changes
    /// and the trap stays. Gives how many were written before the first that could not be.
    pub fn write(&self, addr: LoadAddr, bytes: &[u8], os: &dyn Backend) -> usize {
        let end = LoadAddr(addr.0.saturating_add(bytes.len() as u64));
        let covered = || self.sites.range(addr..end.max(addr));
        let mut real = Cow::Borrowed(bytes);
        for (at, _) in covered() {
            real.to_mut()[(*at - addr) as usize] = BREAKPOINT;
        }
        let written = os.write_memory_partly(addr, &real);
        for (at, site) in covered() {
            let byte = bytes[..written].get((*at - addr) as usize);
            if let Some(byte) = byte.filter(|byte| site.original.replace(**byte) != **byte) {
                os.guard(*at, None);
                os.guard(*at, Some(*byte));
            }
        }
        written
    }
}
