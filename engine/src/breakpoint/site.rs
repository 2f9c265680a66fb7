//! Breakpoint sites: the addresses that hold our trap instruction, each with its owners. Where the
//! owners' questions are answered by code in the debuggee (`native`), a jump to that stands
//! instead of the trap; it goes as soon as anybody else is interested in the place.

use crate::arch::x86_64::{BREAKPOINT, JUMP, LONGEST, NEAR_JUMP};
use crate::detour::Attempts;
use crate::ids::BreakpointId;
use crate::ids::ThreadId;
use crate::memory::PatchedCode;
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
    /// Calls for conditions of breakpoints end here.
    Asking,
    /// Calls end here that have stopped before they returned.
    Suspended,
    /// A frame returns here that holds what this data breakpoint is on.
    Scope(BreakpointId),
    /// Exceptions, panics or reports go through here.
    Exception,
    /// A function begins here that chooses which one a name means.
    Chooser,
    /// Such a function returns to here.
    Chosen,
}

impl Owner {
    /// Whether it waits for the end of a call of ours.
    pub fn is_of_a_call(&self) -> bool {
        matches!(self, Owner::Call | Owner::Asking | Owner::Suspended)
    }
}

/// One address that holds a trap instruction.
#[derive(Debug)]
pub struct Site {
    /// What the program has there. Changes when somebody writes over the trap.
    original: Cell<u8>,
    owners: SmallVec<[Owner; 1]>,
    diversion: Cell<Option<Diversion>>,
    /// What the program had where the last jump was.
    covered: Cell<Option<[u8; JUMP]>>,
    /// When a jump is tried in the place of the trap.
    pub attempts: Cell<Attempts>,
}

/// A jump that stands instead of the trap.
#[derive(Clone, Copy, Debug)]
struct Diversion {
    /// What the program has there.
    original: [u8; JUMP],
    jump: JumpBytes,
    /// How many jumps have to be restored after this one, the longest chain of them: its last bytes
    /// belong to the next.
    rank: u8,
}

/// The bytes of a jump. The last ones may belong to the program, or to the sites that follow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct JumpBytes {
    /// All bytes that the processor reads.
    pub bytes: [u8; JUMP],
    /// How many of them are written for this jump: at least its first.
    pub own: usize,
}

impl JumpBytes {
    /// Those that are written for this jump.
    fn own(&self) -> &[u8] {
        self.bytes.get(..self.own).unwrap_or(&self.bytes)
    }
}

impl Site {
    /// Whether a jump of ours stands there.
    pub fn is_diverted(&self) -> bool {
        self.diversion.get().is_some()
    }

    /// Who wants it.
    pub fn owners(&self) -> &[Owner] {
        &self.owners
    }

    /// Whether the program has a trap instruction of its own here.
    pub fn covers_trap(&self) -> bool {
        self.original.get() == BREAKPOINT
    }

    /// Another hit was not worth a stop. True: a jump is to be tried in the place of the trap.
    pub fn is_jump_due(&self) -> bool {
        let mut attempts = self.attempts.get();
        let is_due = attempts.is_due();
        self.attempts.set(attempts);
        is_due
    }

    /// No jump is to be tried any more.
    pub fn keep_trap(&self) {
        let mut attempts = self.attempts.get();
        attempts.give_up();
        self.attempts.set(attempts);
    }
}

impl Site {
    /// Puts the trap where the jump is. Threads may run: the first byte decides, and no thread comes
    /// to the others.
    fn restore_trap(&self, addr: LoadAddr, os: &dyn Backend) {
        let Some(Diversion { original, jump, .. }) = self.diversion.take() else {
            return;
        };
        let own = jump.own();
        let mut now = [0; JUMP];
        let now = &mut now[..own.len()];
        let is_ours = os.read_memory(addr, now) == now.len()
            && [NEAR_JUMP, BREAKPOINT].contains(&now[0])
            && now[1..] == own[1..];
        if is_ours {
            os.write_memory(addr, &[BREAKPOINT]);
            os.write_memory(addr + 1, &original[1..own.len()]);
        }
        os.guard(addr, None);
        os.guard(addr, Some(&original[..1]));
    }
}

/// All sites of the process.
#[derive(Default)]
pub struct Sites {
    sites: BTreeMap<LoadAddr, Site>,
    /// What the program has where sites were: a child may have been forked before they went, and
    /// be seen only afterwards.
    former: BTreeMap<LoadAddr, (u8, Option<[u8; JUMP]>)>,
}

impl Sites {
    /// The site at an address.
    pub fn get(&self, addr: LoadAddr) -> Option<&Site> {
        self.sites.get(&addr)
    }

    /// Adds an owner; plants the trap if it is the first one. False if the memory is not there.
    pub fn add(&mut self, addr: LoadAddr, owner: Owner, os: &dyn Backend) -> bool {
        if let Some(site) = self.sites.get(&addr) {
            if !site.owners.contains(&owner) {
                // The jump asks for its only owner.
                self.end_diversion_at(addr, os);
                if let Some(site) = self.sites.get_mut(&addr) {
                    site.owners.push(owner);
                }
            }
            return true;
        }
        // A thread that goes through a jump would never come here.
        self.end_diversions_over(addr, os);
        let mut original = [0];
        if os.read_memory(addr, &mut original) != 1 {
            return false;
        }
        os.guard(addr, Some(&original));
        if !os.write_memory(addr, &[BREAKPOINT]) {
            os.guard(addr, None);
            return false;
        }
        self.sites.insert(
            addr,
            Site {
                original: Cell::new(original[0]),
                owners: SmallVec::from_elem(owner, 1),
                diversion: Cell::new(None),
                covered: Cell::new(None),
                attempts: Cell::default(),
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
            self.give_back(addr, os);
            os.guard(addr, None);
            if let Some(site) = self.sites.remove(&addr) {
                let former = (site.original.get(), site.covered.get());
                self.former.insert(addr, former);
            }
        }
    }

    /// Gives the original byte back, unless the program has other code there by now: it has
    /// written over our trap, or unmapped it.
    fn give_back(&self, addr: LoadAddr, os: &dyn Backend) {
        let Some(site) = self.sites.get(&addr) else {
            return;
        };
        self.end_diversions_over(addr, os);
        let mut now = [0];
        if os.read_memory(addr, &mut now) == 1 && now[0] == BREAKPOINT {
            os.write_memory(addr, &[site.original.get()]);
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
        for addr in self.sites.keys() {
            self.give_back(*addr, os);
            os.guard(*addr, None);
        }
        self.sites.clear();
    }

    /// Forgets all sites without writing: the memory they were in is gone.
    pub fn forget_all(&mut self) {
        self.sites.clear();
        self.former.clear();
    }

    /// Forgets sites in unmapped memory.
    pub fn forget_in(&mut self, start: LoadAddr, end: LoadAddr) {
        self.sites.retain(|addr, _| *addr < start || *addr >= end);
        self.former.retain(|addr, _| *addr < start || *addr >= end);
    }

    /// Lifts the trap for an in-place step, without changing who owns it.
    pub fn lift(&self, addr: LoadAddr, os: &dyn Backend) {
        self.give_back(addr, os);
    }

    /// Plants a lifted trap again.
    pub fn plant(&self, addr: LoadAddr, os: &dyn Backend) {
        let mut now = [0];
        if let Some(site) = self.sites.get(&addr)
            && os.read_memory(addr, &mut now) == 1
        {
            if site.original.replace(now[0]) != now[0] {
                os.guard(addr, None);
                os.guard(addr, Some(&now));
            }
            os.write_memory(addr, &[BREAKPOINT]);
        }
    }

    /// Puts a jump where the trap is, or changes where the jump there leads; all threads are
    /// stopped. The jumps whose last bytes that changes are to be changed next: one at a time, from
    /// the last to the first. False if the memory does not allow it.
    pub fn divert(&self, addr: LoadAddr, jump: JumpBytes, os: &dyn Backend) -> bool {
        let Some(site) = self.sites.get(&addr) else {
            return false;
        };
        let mut original = [0; JUMP];
        if os.read_memory(addr, &mut original) != JUMP {
            return false;
        }
        // What is to stay as it is decides where it leads.
        if original[jump.own().len()..] != jump.bytes[jump.own().len()..] {
            return false;
        }
        let former = site.diversion.get();
        match former {
            Some(former) if former.jump.own != jump.own => return false,
            None if original[0] != BREAKPOINT => return false,
            Some(former) => original = former.original,
            None => self.hide(addr, &mut original),
        }
        let behind = self.sites.range(addr + jump.own as u64..addr + JUMP as u64);
        let rank = |site: &Site| site.diversion.get().map_or(0, |it| it.rank);
        let rank = behind.map(|(_, site)| rank(site).saturating_add(1)).max();
        let rank = rank.unwrap_or(0);
        if rank == u8::MAX {
            return false;
        }
        os.guard(addr, None);
        os.guard_jump(addr, &original[..jump.own().len()], rank);
        // The first byte decides, for a child of `vfork` that may run meanwhile.
        let own = jump.own();
        if !os.write_memory(addr + 1, &own[1..]) || !os.write_memory(addr, &own[..1]) {
            if former.is_none() {
                os.write_memory(addr + 1, &original[1..own.len()]);
                os.guard(addr, None);
                os.guard(addr, Some(&original[..1]));
            }
            return false;
        }
        site.diversion.set(Some(Diversion {
            original,
            jump,
            rank,
        }));
        site.covered.set(Some(original));
        true
    }

    /// Has the trap at a site whose jump is to be changed next.
    pub fn pause_jump(&self, addr: LoadAddr, os: &dyn Backend) {
        if self.get(addr).is_some_and(Site::is_diverted) {
            os.write_memory(addr, &[BREAKPOINT]);
        }
    }

    /// The jump that stands at a site.
    pub fn jump_at(&self, addr: LoadAddr) -> Option<JumpBytes> {
        let site = self.sites.get(&addr)?;
        site.diversion.get().map(|it| it.jump)
    }

    /// The addresses from `start` on, before `end`.
    pub fn addresses_in(&self, start: LoadAddr, end: LoadAddr) -> impl Iterator<Item = LoadAddr> {
        self.sites
            .range(start..end.max(start))
            .map(|(addr, _)| *addr)
    }

    /// Has traps again where jumps are that cover something in this range, or lead elsewhere when
    /// it changes.
    pub fn end_diversions(&self, start: LoadAddr, end: LoadAddr, os: &dyn Backend) {
        // The last instruction that a jump covers may reach out behind it.
        let from = LoadAddr(start.0.saturating_sub((JUMP + LONGEST) as u64));
        if start < end {
            for addr in self.sites.range(from..end).map(|(addr, _)| *addr) {
                self.end_diversion_at(addr, os);
            }
        }
    }

    /// Has traps again at all sites.
    pub fn end_all_diversions(&self, os: &dyn Backend) {
        for addr in self.sites.keys() {
            self.end_diversion_at(*addr, os);
        }
    }

    /// Has the trap again at a site.
    pub fn end_diversion_at(&self, addr: LoadAddr, os: &dyn Backend) {
        if self.sites.get(&addr).is_some_and(Site::is_diverted) {
            self.end_diversions_over(addr, os);
        }
    }

    /// Has traps again where jumps are that have the byte at an address: it is about to change.
    /// Those before them go first that have bytes of theirs, or else would lead elsewhere.
    fn end_diversions_over(&self, addr: LoadAddr, os: &dyn Backend) {
        let mut from = addr;
        while let Some((first, _)) =
            (self.sites.range(before(from)..from)).find(|it| it.1.is_diverted())
        {
            from = *first;
        }
        for (addr, site) in self.sites.range(from..=addr) {
            site.restore_trap(*addr, os);
        }
    }

    /// What has to be written to a copy of the memory for it to have the program's own code, whether
    /// the copy was made just now or before some sites came or went: traps are known by where they
    /// are, jumps by where they lead (`is_ours`).
    pub fn originals(
        &self,
        read: impl Fn(LoadAddr, &mut [u8]) -> usize,
        is_ours: impl Fn(LoadAddr) -> bool,
    ) -> Vec<(LoadAddr, u8)> {
        let present = self.sites.iter();
        let present = present.map(|(addr, site)| (*addr, site.original.get(), site.covered.get()));
        let former = self.former.iter();
        let former = former.filter(|(addr, _)| !self.sites.contains_key(addr));
        let former = former.map(|(addr, (original, covered))| (*addr, *original, *covered));
        let mut originals = Vec::new();
        for (addr, original, covered) in present.chain(former) {
            let mut now = [0; JUMP];
            let count = read(addr, &mut now);
            let [first, distance @ ..] = now;
            let target = addr + JUMP as u64;
            let target = target
                .0
                .wrapping_add_signed(i32::from_le_bytes(distance).into());
            // A jump ends with its first byte first.
            match covered {
                Some(covered)
                    if count == JUMP
                        && [NEAR_JUMP, BREAKPOINT].contains(&first)
                        && is_ours(LoadAddr(target)) =>
                {
                    originals.extend((0..).map(|offset| addr + offset).zip(covered));
                }
                _ if count > 0 && first == BREAKPOINT => originals.push((addr, original)),
                _ => {}
            }
        }
        originals
    }
}

impl PatchedCode for Sites {
    /// Replaces our traps in bytes read from `addr` by what the program has there.
    fn hide(&self, addr: LoadAddr, buffer: &mut [u8]) {
        if self.sites.is_empty() || buffer.is_empty() {
            return;
        }
        let end = LoadAddr(addr.0.saturating_add(buffer.len() as u64));
        if end <= addr {
            return;
        }
        for (at, site) in self.sites.range(before(addr)..end) {
            if let Some(Diversion { original, jump, .. }) = site.diversion.get() {
                let own = original.iter().zip(jump.own());
                for (index, (original, jump)) in own.enumerate() {
                    let offset = (at.0 + index as u64).wrapping_sub(addr.0);
                    let byte = usize::try_from(offset).ok();
                    if let Some(byte) = byte.and_then(|offset| buffer.get_mut(offset))
                        && byte == jump
                    {
                        *byte = *original;
                    }
                }
            } else if *at >= addr
                && let Some(byte) = buffer.get_mut((*at - addr) as usize)
            {
                // Else the program has written over it.
                if *byte == BREAKPOINT {
                    *byte = site.original.get();
                }
            }
        }
    }

    /// Writes `bytes` as the program would: where a trap of ours is, the byte under it changes
    /// and the trap stays; a jump becomes a trap. Gives how many were written before the first that
    /// could not be.
    fn write(&self, addr: LoadAddr, bytes: &[u8], os: &dyn Backend) -> usize {
        let end = LoadAddr(addr.0.saturating_add(bytes.len() as u64));
        self.end_diversions(addr, end, os);
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
                os.guard(*at, Some(&[*byte]));
            }
        }
        written
    }
}

/// Where a jump may begin that reaches to an address.
fn before(addr: LoadAddr) -> LoadAddr {
    LoadAddr(addr.0.saturating_sub(JUMP as u64 - 1))
}

#[cfg(test)]
mod tests;
