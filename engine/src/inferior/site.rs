//! Breakpoint sites: the addresses that hold our trap instruction, each with its owners. If the
//! owners' conditions are evaluated by code in the debuggee (`compile`), a jump to that code
//! replaces the trap; it is removed as soon as the site gets another owner.

use crate::arch::{Arch, MAX_BREAKPOINT_BYTES, MAX_INSTRUCTION_BYTES, MAX_JUMP_BYTES};
use crate::ids::BreakpointId;
use crate::ids::ThreadId;
use crate::inferior::jump_patch::Attempts;
use crate::memory::PatchedCode;
use crate::os::{Backend, GuardedPatch};
use dwarf::LoadAddr;
use smallvec::SmallVec;
use std::borrow::Cow;
use std::cell::Cell;
use std::collections::BTreeMap;

/// A reason for a trap at a site. A site may have several owners; it is removed with the last one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Owner {
    /// A breakpoint of the client.
    User(BreakpointId),
    /// The dynamic loader announces a changed module list here.
    Loader,
    /// A step is waiting for this thread here.
    Step(ThreadId),
    /// A call of ours returns here.
    Call,
    /// Calls for conditions of breakpoints return here.
    ConditionCall,
    /// Calls that have stopped before their return return here.
    Suspended,
    /// The frame that holds the data of this data breakpoint returns here.
    Scope(BreakpointId),
    /// Exceptions, panics or sanitizer reports pass through here.
    Exception,
    /// New threads begin here, on a system that does not report them.
    ThreadStart,
    /// The entry of an ifunc resolver.
    Chooser,
    /// The return address of an ifunc resolver.
    Chosen,
    /// A search in the program's past, or its past ends here.
    End,
}

impl Owner {
    /// Returns whether the owner is the same in each replay of the program.
    pub fn is_lasting(&self) -> bool {
        matches!(
            self,
            Owner::User(_)
                | Owner::Loader
                | Owner::Scope(_)
                | Owner::Exception
                | Owner::ThreadStart
                | Owner::Chooser
        )
    }

    /// Returns whether the owner waits for the end of a call of ours.
    pub fn is_of_a_call(&self) -> bool {
        matches!(self, Owner::Call | Owner::ConditionCall | Owner::Suspended)
    }
}

/// The bytes of a trap instruction, or those under it; unused ones are zero.
type TrapBytes = [u8; MAX_BREAKPOINT_BYTES];

/// An address that holds a trap instruction.
#[derive(Clone, Debug)]
pub struct Site {
    arch: Arch,
    /// The program's bytes under the trap. Updated when something writes there.
    original: Cell<TrapBytes>,
    owners: SmallVec<[Owner; 1]>,
    patched: Cell<Option<PatchedBytes>>,
    /// The program's bytes under the last jump.
    covered: Cell<Option<[u8; MAX_JUMP_BYTES]>>,
    /// When to try to replace the trap by a jump.
    pub attempts: Cell<Attempts>,
}

/// A jump that replaces the trap.
#[derive(Clone, Copy, Debug)]
struct PatchedBytes {
    /// The program's bytes under the jump.
    original: [u8; MAX_JUMP_BYTES],
    jump: JumpBytes,
    /// The length of the longest chain of jumps that have to be restored after this one, because
    /// its last bytes belong to the next.
    rank: u8,
}

/// The bytes of a jump. The last ones may belong to the program, or to the next sites.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct JumpBytes {
    /// All bytes that the processor decodes.
    pub bytes: [u8; MAX_JUMP_BYTES],
    /// The number of bytes written for this jump: at least its first.
    pub own: usize,
}

impl JumpBytes {
    /// Returns the bytes that are written for this jump.
    fn own(&self) -> &[u8] {
        self.bytes.get(..self.own).unwrap_or(&self.bytes)
    }
}

impl Site {
    /// Returns whether a jump of ours is there.
    pub fn has_jump(&self) -> bool {
        self.patched.get().is_some()
    }

    /// Returns the owners of the site.
    pub fn owners(&self) -> &[Owner] {
        &self.owners
    }

    /// Returns whether the program has a trap instruction of its own here.
    pub fn covers_trap(&self) -> bool {
        self.original.get().starts_with(self.arch.breakpoint())
    }

    /// Counts a hit that did not stop. Returns true if a jump should replace the trap now.
    pub fn is_jump_due(&self) -> bool {
        let mut attempts = self.attempts.get();
        let is_due = self.arch.jump_bytes().is_some() && attempts.is_due();
        self.attempts.set(attempts);
        is_due
    }

    /// Makes the first attempt to install a jump due at the next hit.
    pub fn hasten_jump(&self) {
        let mut attempts = self.attempts.get();
        attempts.hasten();
        self.attempts.set(attempts);
    }

    /// Prevents further attempts to install a jump.
    pub fn keep_trap(&self) {
        let mut attempts = self.attempts.get();
        attempts.give_up();
        self.attempts.set(attempts);
    }
}

impl Site {
    /// Replaces the jump by the trap while threads may run. The trap is written first: from then on
    /// threads trap, and control never enters at the bytes after it.
    fn restore_trap(&self, addr: LoadAddr, os: &dyn Backend) {
        let Some(PatchedBytes { original, jump, .. }) = self.patched.take() else {
            return;
        };
        let own = jump.own();
        let mut now = [0; MAX_JUMP_BYTES];
        let now = &mut now[..own.len()];
        let trap = self.arch.breakpoint();
        let len = trap.len();
        let is_ours = os.read_memory(addr, now) == now.len()
            && (now[..len] == own[..len] || now[..len] == *trap)
            && now[len..] == own[len..];
        if is_ours {
            os.write_memory(addr, trap);
            os.write_memory(addr + len as u64, &original[len..own.len()]);
        }
        guard_trap(self.arch, addr, &original, os);
    }
}

/// All sites of the process.
#[derive(Clone, Default)]
pub struct Sites {
    arch: Arch,
    sites: BTreeMap<LoadAddr, Site>,
    /// Original bytes of removed sites. A child forked before the removal still has the traps in
    /// its copy and may be seen only later.
    removed_sites: BTreeMap<LoadAddr, (TrapBytes, Option<[u8; MAX_JUMP_BYTES]>)>,
}

impl Sites {
    /// Returns no sites, of a set.
    #[cfg(test)]
    pub(crate) fn of(arch: Arch) -> Self {
        Self {
            arch,
            ..Self::default()
        }
    }

    /// Sets the instruction set, of no sites.
    pub fn set_arch(&mut self, arch: Arch) {
        self.arch = arch;
    }

    /// Returns all owners, with their addresses.
    pub fn all(&self) -> Vec<(LoadAddr, Owner)> {
        let all = self.sites.iter();
        all.flat_map(|(addr, site)| site.owners.iter().map(|owner| (*addr, *owner)))
            .collect()
    }

    /// Returns the owners that are the same in each replay of the program, with their addresses.
    pub fn lasting(&self) -> Vec<(LoadAddr, Owner)> {
        let mut all = self.all();
        all.retain(|(_, owner)| owner.is_lasting());
        all
    }

    /// Returns all traps, with the program's bytes under them. There must be no jumps.
    pub fn traps(&self) -> Vec<(LoadAddr, Vec<u8>)> {
        let len = self.arch.breakpoint().len();
        let all = self.sites.iter();
        all.map(|(addr, site)| (*addr, site.original.get()[..len].to_vec()))
            .collect()
    }

    /// Returns whether a site has an owner.
    pub fn has_owner(&self, addr: LoadAddr, owner: Owner) -> bool {
        let site = self.sites.get(&addr);
        site.is_some_and(|site| site.owners.contains(&owner))
    }

    /// Returns the site at an address.
    pub fn get(&self, addr: LoadAddr) -> Option<&Site> {
        self.sites.get(&addr)
    }

    /// Adds an owner; inserts the trap if it is the first one. Returns false if the memory cannot
    /// be written.
    pub fn add(&mut self, addr: LoadAddr, owner: Owner, os: &dyn Backend) -> bool {
        if let Some(site) = self.sites.get(&addr) {
            if !site.owners.contains(&owner) {
                // The jump evaluates its only owner.
                self.end_jump_at(addr, os);
                if let Some(site) = self.sites.get_mut(&addr) {
                    site.owners.push(owner);
                }
            }
            return true;
        }
        // A thread that runs through a jump would never reach this site.
        self.end_jumps_over(addr, os);
        let trap = self.arch.breakpoint();
        os.give_way(addr, trap.len());
        let mut original = TrapBytes::default();
        let under = &mut original[..trap.len()];
        if os.read_memory(addr, under) != trap.len() {
            return false;
        }
        guard_trap(self.arch, addr, under, os);
        if !os.write_memory(addr, trap) {
            os.guard(addr, None);
            return false;
        }
        self.sites.insert(
            addr,
            Site {
                arch: self.arch,
                original: Cell::new(original),
                owners: SmallVec::from_elem(owner, 1),
                patched: Cell::new(None),
                covered: Cell::new(None),
                attempts: Cell::default(),
            },
        );
        true
    }

    /// Removes an owner; the original bytes are restored with the last one.
    pub fn remove(&mut self, addr: LoadAddr, owner: Owner, os: &dyn Backend) {
        let Some(site) = self.sites.get_mut(&addr) else {
            return;
        };
        site.owners.retain(|other| *other != owner);
        if site.owners.is_empty() {
            self.restore_original(addr, os);
            os.guard(addr, None);
            if let Some(site) = self.sites.remove(&addr) {
                let former = (site.original.get(), site.covered.get());
                self.removed_sites.insert(addr, former);
            }
        }
    }

    /// Restores the original bytes, unless the program has overwritten or unmapped our trap.
    fn restore_original(&self, addr: LoadAddr, os: &dyn Backend) {
        let Some(site) = self.sites.get(&addr) else {
            return;
        };
        self.end_jumps_over(addr, os);
        let trap = self.arch.breakpoint();
        let mut now = TrapBytes::default();
        let now = &mut now[..trap.len()];
        if os.read_memory(addr, now) == now.len() && now == trap {
            os.write_memory(addr, &site.original.get()[..trap.len()]);
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

    /// Restores all original bytes and drops all sites.
    pub fn remove_all(&mut self, os: &dyn Backend) {
        for addr in self.sites.keys() {
            self.restore_original(*addr, os);
            os.guard(*addr, None);
        }
        self.sites.clear();
    }

    /// Drops all sites without writing: their memory is gone.
    pub fn forget_all(&mut self) {
        self.sites.clear();
        self.removed_sites.clear();
    }

    /// Drops the sites in unmapped memory.
    pub fn discard_range(&mut self, start: LoadAddr, end: LoadAddr) {
        self.sites.retain(|addr, _| *addr < start || *addr >= end);
        self.removed_sites
            .retain(|addr, _| *addr < start || *addr >= end);
    }

    /// Removes the trap for an in-place step, without changing its owners.
    pub fn lift(&self, addr: LoadAddr, os: &dyn Backend) {
        self.restore_original(addr, os);
    }

    /// Inserts the traps again that other contents have replaced.
    pub fn plant_covered(&self, os: &dyn Backend) {
        let trap = self.arch.breakpoint();
        let mut now = TrapBytes::default();
        for (addr, site) in &self.sites {
            let now = &mut now[..trap.len()];
            if !site.has_jump() && os.read_memory(*addr, now) == now.len() && now != trap {
                self.plant(*addr, os);
            }
        }
    }

    /// Inserts a removed trap again.
    pub fn plant(&self, addr: LoadAddr, os: &dyn Backend) {
        let trap = self.arch.breakpoint();
        let mut now = TrapBytes::default();
        if let Some(site) = self.sites.get(&addr)
            && os.read_memory(addr, &mut now[..trap.len()]) == trap.len()
        {
            if site.original.replace(now) != now {
                guard_trap(self.arch, addr, &now, os);
            }
            os.write_memory(addr, trap);
        }
    }

    /// Replaces the trap by a jump, or changes the target of the jump; all threads are stopped.
    /// Jumps that share the changed bytes are to be changed next: one at a time, from the last to
    /// the first. Returns false if the memory cannot be written or has other bytes.
    pub fn install_jump(&self, addr: LoadAddr, jump: JumpBytes, os: &dyn Backend) -> bool {
        let Some(site) = self.sites.get(&addr) else {
            return false;
        };
        let Some(len) = self.arch.jump_bytes() else {
            return false;
        };
        os.give_way(addr, len);
        let mut original = [0; MAX_JUMP_BYTES];
        let there = &mut original[..len];
        if os.read_memory(addr, there) != len {
            return false;
        }
        // The bytes that stay determine the target.
        if there[jump.own().len()..] != jump.bytes[jump.own().len()..len] {
            return false;
        }
        let former = site.patched.get();
        match former {
            Some(former) if former.jump.own != jump.own => return false,
            None if !original.starts_with(self.arch.breakpoint()) => return false,
            Some(former) => original = former.original,
            None => self.hide(addr, &mut original[..len]),
        }
        let behind = self.sites.range(addr + jump.own as u64..addr + len as u64);
        let rank = |site: &Site| site.patched.get().map_or(0, |it| it.rank);
        let rank = behind.map(|(_, site)| rank(site).saturating_add(1)).max();
        let rank = rank.unwrap_or(0);
        if rank == u8::MAX {
            return false;
        }
        let patch = GuardedPatch {
            original: &original[..jump.own().len()],
            // Sites that share the other bytes change them.
            patch: &jump.own()[..self.arch.breakpoint().len()],
            rank,
        };
        os.guard(addr, Some(patch));
        // The trap is overwritten last, for a child of `vfork` that may be running.
        let own = jump.own();
        let len = self.arch.breakpoint().len();
        let behind = addr + len as u64;
        if !os.write_memory(behind, &own[len..]) || !os.write_memory(addr, &own[..len]) {
            if former.is_none() {
                os.write_memory(behind, &original[len..own.len()]);
                guard_trap(self.arch, addr, &original, os);
            }
            return false;
        }
        site.patched.set(Some(PatchedBytes {
            original,
            jump,
            rank,
        }));
        site.covered.set(Some(original));
        true
    }

    /// Inserts the trap at a site whose jump is to be changed next.
    pub fn pause_jump(&self, addr: LoadAddr, os: &dyn Backend) {
        if self.get(addr).is_some_and(Site::has_jump) {
            os.write_memory(addr, self.arch.breakpoint());
        }
    }

    /// Returns the jump at a site.
    pub fn jump_at(&self, addr: LoadAddr) -> Option<JumpBytes> {
        let site = self.sites.get(&addr)?;
        site.patched.get().map(|it| it.jump)
    }

    /// Returns the addresses of sites from `start` to before `end`.
    pub fn addresses_in(&self, start: LoadAddr, end: LoadAddr) -> impl Iterator<Item = LoadAddr> {
        self.sites
            .range(start..end.max(start))
            .map(|(addr, _)| *addr)
    }

    /// Restores the traps of jumps that cover a byte of this range, or whose target changes with
    /// it.
    pub fn end_jumps(&self, start: LoadAddr, end: LoadAddr, os: &dyn Backend) {
        // The last instruction that a jump covers may extend past it.
        let from = LoadAddr(
            start
                .0
                .saturating_sub((MAX_JUMP_BYTES + MAX_INSTRUCTION_BYTES) as u64),
        );
        if start < end {
            for addr in self.sites.range(from..end).map(|(addr, _)| *addr) {
                self.end_jump_at(addr, os);
            }
        }
    }

    /// Restores the traps at all sites.
    pub fn end_all_jumps(&self, os: &dyn Backend) {
        for addr in self.sites.keys() {
            self.end_jump_at(*addr, os);
        }
    }

    /// Restores the trap at a site.
    pub fn end_jump_at(&self, addr: LoadAddr, os: &dyn Backend) {
        if self.sites.get(&addr).is_some_and(Site::has_jump) {
            self.end_jumps_over(addr, os);
        }
    }

    /// Restores the traps of jumps that contain the byte at an address, which is about to change.
    /// Jumps before them that share their bytes are restored first: else their targets would
    /// change.
    fn end_jumps_over(&self, addr: LoadAddr, os: &dyn Backend) {
        let mut from = addr;
        while let Some((first, _)) =
            (self.sites.range(self.before(from)..from)).find(|it| it.1.has_jump())
        {
            from = *first;
        }
        for (addr, site) in self.sites.range(from..=addr) {
            site.restore_trap(*addr, os);
        }
    }

    /// Returns the lowest address of a jump or trap that reaches an address.
    fn before(&self, addr: LoadAddr) -> LoadAddr {
        let trap = self.arch.breakpoint().len();
        let longest = self.arch.jump_bytes().map_or(trap, |jump| jump.max(trap));
        LoadAddr(addr.0.saturating_sub(longest as u64 - 1))
    }

    /// Returns the writes that restore the program's own code in a copy of the memory, whether the
    /// copy was made now or before some sites were added or removed. Traps are recognised by their
    /// addresses, jumps by their targets (`is_ours`).
    pub fn originals(
        &self,
        read: impl Fn(LoadAddr, &mut [u8]) -> usize,
        is_ours: impl Fn(LoadAddr) -> bool,
    ) -> Vec<(LoadAddr, u8)> {
        let present = self.sites.iter();
        let present = present.map(|(addr, site)| (*addr, site.original.get(), site.covered.get()));
        let former = self.removed_sites.iter();
        let former = former.filter(|(addr, _)| !self.sites.contains_key(addr));
        let former = former.map(|(addr, (original, covered))| (*addr, *original, *covered));
        let mut originals = Vec::new();
        for (addr, original, covered) in present.chain(former) {
            let mut now = [0; MAX_JUMP_BYTES];
            let len = self.arch.jump_bytes().unwrap_or(MAX_JUMP_BYTES);
            let count = read(addr, &mut now[..len]);
            let now = &now[..count];
            let target = self.arch.jump_patch_target(addr, now);
            let addresses = (0..).map(|offset| addr + offset);
            let trap = self.arch.breakpoint();
            // A jump is removed by its first byte first.
            match covered {
                Some(covered) if target.is_some_and(&is_ours) => {
                    originals.extend(addresses.zip(covered).take(len));
                }
                _ if now.starts_with(trap) => {
                    originals.extend(addresses.zip(original).take(trap.len()));
                }
                _ => {}
            }
        }
        originals
    }
}

impl PatchedCode for Sites {
    /// Replaces our traps in bytes read from `addr` by the program's bytes.
    fn hide(&self, addr: LoadAddr, buffer: &mut [u8]) {
        if self.sites.is_empty() || buffer.is_empty() {
            return;
        }
        let end = LoadAddr(addr.0.saturating_add(buffer.len() as u64));
        if end <= addr {
            return;
        }
        // Where other bytes are there, the program has overwritten ours.
        let mut restore = |at: LoadAddr, ours: &[u8], original: &[u8]| {
            for (index, (ours, original)) in ours.iter().zip(original).enumerate() {
                let offset = (at.0 + index as u64).wrapping_sub(addr.0);
                let byte = usize::try_from(offset).ok();
                if let Some(byte) = byte.and_then(|offset| buffer.get_mut(offset))
                    && byte == ours
                {
                    *byte = *original;
                }
            }
        };
        for (at, site) in self.sites.range(self.before(addr)..end) {
            match site.patched.get() {
                Some(PatchedBytes { original, jump, .. }) => restore(*at, jump.own(), &original),
                None => restore(*at, self.arch.breakpoint(), &site.original.get()),
            }
        }
    }

    /// Writes `bytes` as the program would: under a trap of ours the original byte changes and the
    /// trap stays; a jump becomes a trap. Returns the number of bytes written before the first
    /// failure.
    fn write(&self, addr: LoadAddr, bytes: &[u8], os: &dyn Backend) -> usize {
        let end = LoadAddr(addr.0.saturating_add(bytes.len() as u64));
        self.end_jumps(addr, end, os);
        let trap = self.arch.breakpoint();
        let first = LoadAddr(addr.0.saturating_sub(trap.len() as u64 - 1));
        let covered = || self.sites.range(first..end.max(first));
        let mut real = Cow::Borrowed(bytes);
        for (at, _) in covered() {
            for (offset, byte) in (at.0..).zip(trap) {
                let index = usize::try_from(offset.wrapping_sub(addr.0)).ok();
                if let Some(index) = index.filter(|index| *index < bytes.len()) {
                    real.to_mut()[index] = *byte;
                }
            }
        }
        let written = os.write_memory_partly(addr, &real);
        for (at, site) in covered() {
            let former = site.original.get();
            let mut original = former;
            for (offset, byte) in (at.0..).zip(&mut original[..trap.len()]) {
                let index = usize::try_from(offset.wrapping_sub(addr.0)).ok();
                if let Some(new) = index.and_then(|index| bytes[..written].get(index)) {
                    *byte = *new;
                }
            }
            if original != former {
                site.original.set(original);
                guard_trap(self.arch, *at, &original, os);
            }
        }
        written
    }
}

/// Registers the trap at a site, so that `original`, which begins with the bytes under it, is
/// restored if the debugger is killed.
fn guard_trap(arch: Arch, addr: LoadAddr, original: &[u8], os: &dyn Backend) {
    let trap = arch.breakpoint();
    let patch = GuardedPatch {
        original: original.get(..trap.len()).unwrap_or(original),
        patch: trap,
        rank: 0,
    };
    os.guard(addr, Some(patch));
}

#[cfg(test)]
mod tests;
