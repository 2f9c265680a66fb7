//! Fast breakpoints: a jump at the site leads to code in the debuggee that evaluates the condition,
//! counts the hit and continues; only a hit that stops traps. A breakpoint starts with a trap and
//! gets its jump after some hits; the trap returns as soon as the site gets another owner.
//!
//! None of this is visible: memory is read without the jumps (`inferior::site`), and a thread in
//! a trampoline is shown where the program would be without it (`inferior::registers`). Trampolines
//! stay as long as the process: a thread may be in one whose jump has been removed.
//!
//! # What must hold
//!
//! - Patched bytes are reachable only through the site (`inferior/jump_patch/x86_64/window.rs`): no branch
//!   target, also of jump tables (`inferior/jump_patch/x86_64/jump_table.rs`), no landing pad, no return
//!   address and no interrupted pc of any stack is inside. If one follows closely, the last bytes
//!   of the jump stay what they are; they determine the jump's target, and a second jump, a
//!   springboard, is mapped there (`inferior/jump_patch/x86_64/springboard.rs`). If no memory can be
//!   mapped there, the trap stays.
//! - Sites may be closer than a jump is long. The last bytes of a jump are then those of the next
//!   site's trap or jump. `inferior/jump_patch/x86_64/layout.rs` (pure) chooses targets for all jumps of
//!   such a chain, `inferior/jump_patch/put.rs` writes them, the last one first, with the world
//!   stopped. Each jump writes only the bytes up to the next site (`JumpBytes::own`). A change of
//!   any of these bytes first removes the jumps before it that contain it
//!   (`Sites::end_jumps_over`). The guardian restores them in the same order (by rank).
//! - Where instructions are as long as a jump, it replaces exactly one, and nothing of the above
//!   matters (`inferior/jump_patch/aarch64/window.rs`). Landing pads of indirect calls are not replaced:
//!   breakpoints on functions are bound behind them (`images/body.rs`).
//! - Evaluation has no side effects until it commits. A thread stopped while evaluating
//!   (`TrampolineState::Evaluating`) is moved back to the site; one that commits a count or record
//!   (`Committing`) is stepped to the end of that; later (`Leaving`, `InRelocated`) it has passed
//!   the site. `Inferior::normalize` does all of this.
//! - A log record contains all bytes that the formatter reads, with their addresses
//!   (`compile/captured`), so the message is what the interpreter would print. Values too long for
//!   a record deopt.
//! - The code of a site where several breakpoints count evaluates all conditions before it counts: a
//!   deopt has no effect. Nothing else counts there meanwhile: the program has one thread.
//! - While hits are only counted, trampolines have a stack of their own: a program that reads what it has
//!   left below its stack must do what it did when it was recorded. A second thread ends these jumps
//!   before it runs (`Inferior::adopt`).
//! - Each hit is counted once; a hit that deopts is counted by the debugger with the world stopped.
//! - A thread that must resume inside the patched bytes is sent to the copy
//!   (`JumpPatches::relocated_pc`). A thread that gets a signal leaves the copies first.
//! - Anything else that needs a site there (a step, another breakpoint, a write to the code) gets a
//!   trap: `Sites` removes the jump, first byte first. Trampolines stay until the process ends.
//! - A forked child is cleaned according to its copy of the memory, which may be older than the
//!   sites (`Sites::originals` keeps the original bytes of removed sites).
//! - The guardian knows the original bytes under jumps, and disables the traps in trampolines.
//! - Log records are in shared memory (`inferior/jump_patch/log_ring.rs`), so the program's end
//!   loses none. A stop drains them first.

mod aarch64;
mod attempts;
pub(crate) mod call_paths;
pub(crate) mod calls;
mod coverage;
pub(crate) mod drain;
pub(crate) mod install;
pub(crate) mod log_ring;
pub(crate) mod marks;
mod put;
pub(crate) mod recover;
pub(crate) mod spans;
pub(crate) mod trace_area;
pub(crate) mod trace_records;
pub(crate) mod trampoline;
pub(crate) mod window;
mod x86_64;

use crate::arch::{Arch, MAX_INSTRUCTION_BYTES, MAX_JUMP_BYTES};
use crate::ids::BreakpointId;
use crate::ids::BreakpointOptions;
use crate::inferior::displaced::REGION;
use crate::inferior::site::Sites;
pub use attempts::Attempts;
pub(crate) use calls::Counted;
pub use coverage::Coverage;
use dwarf::LoadAddr;
use log_ring::{Message, Ring};
use smallvec::SmallVec;

use std::collections::{BTreeMap, BTreeSet};
pub use trampoline::TrampolineState as Phase;
use trampoline::{OWN_STACK, SavedState, Trampoline};
use window::PatchedRange;
use x86_64::springboard::{PAGE, Springboards};

/// Size of a region of counters in bytes.
pub(crate) const COUNTERS: u64 = 1 << 12;

/// Memory in the debuggee: code, followed by counters.
pub(crate) struct Region {
    pub(crate) start: LoadAddr,
    pub(crate) used: u64,
    counters: u64,
    /// Offset of the end of memory that trampolines use as a stack, among the counters.
    own_stack: Option<u64>,
}

/// A jump patch: the target of a jump, and its data.
pub(crate) struct JumpPatch {
    pub(crate) site: LoadAddr,
    pub(crate) breakpoints: SmallVec<[PatchedBreakpoint; 1]>,
    /// Whether it recognises the end of a search.
    pub(crate) is_for_end: bool,
    pub(crate) trampoline: Trampoline,
    /// The intermediate jump to the trampoline.
    pub(crate) springboard: Option<LoadAddr>,
    pub(crate) window: PatchedRange,
    /// The log message of a hit.
    pub(crate) message: Option<Message>,
    /// Whether a hit is recorded for a tracepoint.
    pub(crate) traces: bool,
}

/// A breakpoint whose hits a trampoline evaluates.
pub(crate) struct PatchedBreakpoint {
    pub(crate) id: BreakpointId,
    /// Address of the hit counter.
    pub(crate) counter: Option<LoadAddr>,
    /// The options when this was compiled.
    pub(crate) options: BreakpointOptions,
}

impl JumpPatch {
    /// Returns the number of owners of its site that it serves.
    fn owners(&self) -> usize {
        self.breakpoints.len() + usize::from(self.is_for_end)
    }

    /// Returns whether it counts hits.
    pub(crate) fn counts(&self) -> bool {
        self.breakpoints.iter().any(|it| it.counter.is_some())
    }

    /// Returns the address of the hit counter of a breakpoint.
    fn counter(&self, breakpoint: BreakpointId) -> Option<LoadAddr> {
        let mut breakpoints = self.breakpoints.iter();
        breakpoints.find(|it| it.id == breakpoint)?.counter
    }
}

/// All trampolines of the process, including those that no jump leads to any more.
#[derive(Default)]
pub struct JumpPatches {
    regions: Vec<Region>,
    pub(crate) all: BTreeMap<LoadAddr, JumpPatch>,
    springboards: Springboards,
    /// The latest trampoline of each site.
    pub(crate) latest: BTreeMap<LoadAddr, LoadAddr>,
    /// The log messages.
    pub(crate) ring: Option<Ring>,
    /// The memory of tracepoints: addresses and sizes.
    pub(crate) trace_areas: Vec<(LoadAddr, u64)>,
    /// Offset from the thread pointer to the thread's number, once that was searched.
    pub(crate) thread_number: Option<Option<i32>>,
    /// Whether conditions call functions while other threads run. Sites with counters or messages
    /// keep their traps then, where such calls can be distinguished from the program.
    pub(crate) called_through: bool,
    /// Whether no memory can be mapped.
    pub(crate) refused: bool,
    /// Whether there is code that must not run in two threads.
    pub(crate) are_for_one_thread: bool,
    /// Whether one is being installed; hits that arrive during this wait.
    pub(crate) making: bool,
}

/// The cause of a trap in a trampoline.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PatchTrap {
    /// The interpreter has to decide whether to stop at this site.
    Deopt(LoadAddr),
    /// The hit stops.
    Stop,
}

impl JumpPatches {
    /// Returns whether there are no jump patches.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Returns whether an address is in a region of ours.
    pub fn holds(&self, addr: LoadAddr) -> bool {
        let in_region = |region: &Region| addr - region.start < REGION + COUNTERS;
        self.springboards.hold(addr) || self.regions.iter().any(in_region)
    }

    /// Returns the jump patch whose trampoline contains an address.
    fn at(&self, pc: LoadAddr) -> Option<&JumpPatch> {
        if !self.holds(pc) {
            return None;
        }
        self.all.range(..=pc).next_back().map(|(_, patch)| patch)
    }

    /// Returns the site and the state of a thread at this address of a trampoline.
    pub fn phase(&self, pc: LoadAddr) -> Option<(LoadAddr, Phase)> {
        if let Some(site) = self.springboards.site_of(pc) {
            // No register has been saved yet.
            return Some((site, Phase::Evaluating(SavedState::default())));
        }
        let patch = self.at(pc)?;
        Some((patch.site, patch.trampoline.state(pc)?))
    }

    /// Returns the cause of the trap at an address, if it is one of ours.
    pub fn trap(&self, addr: LoadAddr) -> Option<PatchTrap> {
        let patch = self.at(addr)?;
        if addr == patch.trampoline.deopt {
            return Some(PatchTrap::Deopt(patch.site));
        }
        (Some(addr) == patch.trampoline.stop).then_some(PatchTrap::Stop)
    }

    /// Returns the address at which a thread at `pc` continues past the jump that is there or
    /// covers it.
    pub fn relocated_pc(&self, pc: LoadAddr, sites: &Sites) -> Option<LoadAddr> {
        self.covering(pc, sites)?.trampoline.copy_of(pc)
    }

    /// Returns the site of the jump that is at `pc` or covers it.
    pub fn jump_over(&self, pc: LoadAddr, sites: &Sites) -> Option<LoadAddr> {
        let patch = self.covering(pc, sites)?;
        patch.trampoline.copy_of(pc)?;
        Some(patch.site)
    }

    /// Returns the patch whose jump is at `pc` or covers it.
    fn covering(&self, pc: LoadAddr, sites: &Sites) -> Option<&JumpPatch> {
        let from = LoadAddr(pc.0.saturating_sub((MAX_JUMP_BYTES + MAX_INSTRUCTION_BYTES) as u64));
        let near = self.latest.range(from..=pc).rev();
        let mut diverted = near.filter(|(site, _)| {
            let site = sites.get(**site);
            site.is_some_and(|site| site.has_jump())
        });
        let (_, start) = diverted.next()?;
        self.all.get(start).filter(|it| pc < it.window.end)
    }

    /// Returns the address of the hit counter of a breakpoint.
    pub(crate) fn counter(&self, breakpoint: BreakpointId) -> Option<LoadAddr> {
        self.all
            .values()
            .find_map(|patch| patch.counter(breakpoint))
    }

    /// Forgets the hit counters of a breakpoint but for the one at this address: it has the hits of
    /// all.
    pub(crate) fn forget_counters(&mut self, breakpoint: BreakpointId, but: Option<LoadAddr>) {
        let served = self.all.values_mut().flat_map(|it| &mut it.breakpoints);
        for served in served.filter(|it| it.id == breakpoint && it.counter != but) {
            served.counter = None;
        }
    }

    /// Returns whether a jump leads to code that counts hits of a breakpoint.
    pub(crate) fn count_for(&self, breakpoint: BreakpointId, sites: &Sites) -> bool {
        let mut latest = self.latest.values().filter_map(|start| self.all.get(start));
        latest.any(|patch| {
            patch.counter(breakpoint).is_some()
                && sites.get(patch.site).is_some_and(|site| site.has_jump())
        })
    }

    /// Returns whether a jump leads to code that writes messages, or messages are still to be
    /// drained.
    fn has_messages(&self) -> bool {
        let mut latest = self.latest.values().filter_map(|start| self.all.get(start));
        latest.any(|patch| patch.message.is_some())
            || self.ring.as_ref().is_some_and(|ring| !ring.is_drained())
    }

    /// Returns the regions to unmap, with their lengths.
    pub fn regions(&self) -> Vec<(LoadAddr, u64)> {
        let all = self.regions.iter();
        all.map(|region| (region.start, REGION + COUNTERS))
            .chain(self.ring.iter().map(|ring| (ring.at, log_ring::LEN)))
            .chain(self.trace_areas.iter().copied())
            .chain(self.springboards.pages().map(|page| (page, PAGE)))
            .collect()
    }

    /// Drops the patches of jumps in unmapped memory; threads may still be in their trampolines.
    pub fn forget_in(&mut self, start: LoadAddr, end: LoadAddr) {
        self.latest.retain(|site, _| *site < start || *site >= end);
    }

    /// Allocates a hit counter.
    pub(crate) fn new_counter(&mut self, arch: Arch, site: LoadAddr) -> Option<LoadAddr> {
        let region = self.near(arch, site)?;
        let at = region.start + REGION + region.counters;
        region.counters += 8;
        Some(at)
    }

    /// Returns the address behind the memory that trampolines near a site use as a stack.
    pub(crate) fn own_stack(&mut self, arch: Arch, site: LoadAddr) -> Option<LoadAddr> {
        let region = self.near(arch, site)?;
        let end = match region.own_stack {
            Some(end) => end,
            None => {
                let end = (region.counters + OWN_STACK).next_multiple_of(64);
                if end > COUNTERS {
                    return None;
                }
                region.counters = end;
                *region.own_stack.insert(end)
            }
        };
        Some(region.start + REGION + end)
    }

    /// Returns the used sizes of each region.
    pub(crate) fn room(&self) -> Vec<(u64, u64)> {
        let regions = self.regions.iter();
        regions
            .map(|region| (region.used, region.counters))
            .collect()
    }

    /// Frees the room allocated since `room` was returned: its code is unused.
    pub(crate) fn give_back(&mut self, room: &[(u64, u64)]) {
        let before = room.iter().copied().chain(std::iter::repeat((0, 0)));
        for (region, before) in self.regions.iter_mut().zip(before) {
            (region.used, region.counters) = before;
            region.own_stack = region.own_stack.filter(|end| *end <= region.counters);
        }
        self.keep_springboards();
    }

    /// Frees springboards that no jump uses.
    fn keep_springboards(&mut self) {
        let boards = self.all.values().filter_map(|patch| patch.springboard);
        let needed: BTreeSet<LoadAddr> = boards.collect();
        self.springboards.keep(|board| needed.contains(&board));
    }

    /// Returns a region with room that jumps at a site, and the instructions there, reach.
    pub(crate) fn near(&mut self, arch: Arch, site: LoadAddr) -> Option<&mut Region> {
        /// Minimum room for another trampoline of maximum size.
        const ROOM: u64 = 1 << 13;
        let has_room = |region: &&mut Region| {
            region.start.0.abs_diff(site.0) < arch.pad_reach()
                && region.used + ROOM <= REGION
                && region.counters + 8 <= COUNTERS
        };
        self.regions.iter_mut().find(has_room)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refused_patch_frees_its_memory() {
        let region = |start, used, counters| Region {
            start: LoadAddr(start),
            used,
            counters,
            own_stack: None,
        };
        let (site, board) = (LoadAddr(0x2_0000), LoadAddr(0x30_0010));
        let mut patches = JumpPatches::default();
        patches.regions.push(region(0x10_0000, 64, 8));
        let room = patches.room();
        assert!(patches.new_counter(Arch::X86_64, site).is_some());
        let stack = patches.own_stack(Arch::X86_64, site).expect("room");
        assert_eq!(patches.own_stack(Arch::X86_64, site), Some(stack));
        assert!(patches.room()[0].1 == stack - LoadAddr(0x10_0000 + REGION));
        patches.near(Arch::X86_64, site).expect("room").used += 640;
        patches.regions.push(region(0x20_0000, 64, 8));
        patches.springboards.add_page(LoadAddr(0x30_0000));
        patches.springboards.add(board, site);
        assert!(patches.phase(board).is_some());
        patches.give_back(&room);
        assert_eq!(patches.room(), [(64, 8), (0, 0)]);
        assert_eq!(patches.regions[0].own_stack, None);
        assert_eq!(patches.phase(board), None);
    }
}
