//! Breakpoints whose questions are answered in the debuggee: a jump at the site leads to code
//! that asks, counts and goes on, and only who is to be stopped traps. A breakpoint begins on the
//! trap and comes here when it has been passed a few times; it goes back as soon as anybody else
//! is interested in the place.
//!
//! Nobody sees any of it: memory is read without the jumps (`breakpoint::site`), and who is found
//! in a trampoline is where the program would be without it (`process::registers`). Trampolines
//! stay as long as the process: a thread may be on its way through one whose jump is gone.

mod attempts;
mod calls;
mod code;
mod coverage;
mod found;
mod hear;
mod layout;
mod make;
mod put;
mod ring;
mod springboard;
mod table;
mod trampoline;
#[cfg(test)]
mod trampoline_tests;
mod window;

use crate::arch::x86_64::{JUMP, LONGEST};
use crate::breakpoint::BreakpointOptions;
use crate::breakpoint::site::Sites;
use crate::displaced::REGION;
use crate::ids::BreakpointId;
pub use attempts::Attempts;
pub(crate) use calls::Counted;
pub use coverage::Coverage;
use dwarf::LoadAddr;
use ring::{Message, Ring};
use springboard::{PAGE, Springboards};
use std::collections::{BTreeMap, BTreeSet};
pub use trampoline::State as Phase;
use trampoline::{Kept, Trampoline};
use window::Window;

/// Bytes of a region of counters.
const COUNTERS: u64 = 1 << 12;

/// Memory in the debuggee: code, and counters behind it.
struct Region {
    start: LoadAddr,
    used: u64,
    counters: u64,
}

/// What a jump leads to.
struct Detour {
    site: LoadAddr,
    breakpoint: BreakpointId,
    trampoline: Trampoline,
    /// Where the jump leads that goes on to the trampoline.
    springboard: Option<LoadAddr>,
    window: Window,
    /// Where hits are counted.
    counter: Option<LoadAddr>,
    /// What is said at hits.
    message: Option<Message>,
    /// What was asked of the breakpoint then.
    options: BreakpointOptions,
}

/// All trampolines of the process, also those that no jump leads to any more.
#[derive(Default)]
pub struct Detours {
    regions: Vec<Region>,
    all: BTreeMap<LoadAddr, Detour>,
    springboards: Springboards,
    /// Of each site the last one.
    latest: BTreeMap<LoadAddr, LoadAddr>,
    /// What was said.
    ring: Option<Ring>,
    /// Conditions call functions while other threads run: what counts or tells stays on its trap,
    /// where a call that comes by is known from the program.
    called_through: bool,
    /// Memory cannot be had.
    refused: bool,
    /// One is being made: what is hit meanwhile waits.
    making: bool,
}

/// A trap in a trampoline.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DetourTrap {
    /// Decide whether to stop at this site.
    Ask(LoadAddr),
    /// The hit is one to stop at.
    Stop,
}

impl Detours {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Whether an address is in memory of ours.
    pub fn holds(&self, addr: LoadAddr) -> bool {
        let in_region = |region: &Region| addr - region.start < REGION + COUNTERS;
        self.springboards.hold(addr) || self.regions.iter().any(in_region)
    }

    /// The detour whose trampoline is at an address.
    fn at(&self, pc: LoadAddr) -> Option<&Detour> {
        if !self.holds(pc) {
            return None;
        }
        self.all.range(..=pc).next_back().map(|(_, detour)| detour)
    }

    /// What is true of a thread there, and of which site.
    pub fn phase(&self, pc: LoadAddr) -> Option<(LoadAddr, Phase)> {
        if let Some(site) = self.springboards.site_of(pc) {
            // Nothing has been saved yet.
            return Some((site, Phase::Asking(Kept::default())));
        }
        let detour = self.at(pc)?;
        Some((detour.site, detour.trampoline.state(pc)?))
    }

    /// What the trap at an address means, if it is one of ours.
    pub fn trap(&self, addr: LoadAddr) -> Option<DetourTrap> {
        let detour = self.at(addr)?;
        if addr == detour.trampoline.ask {
            return Some(DetourTrap::Ask(detour.site));
        }
        (Some(addr) == detour.trampoline.stop).then_some(DetourTrap::Stop)
    }

    /// Where a thread has to go on that is at `pc`, and past the jump that is there or covers it.
    pub fn way_on(&self, pc: LoadAddr, sites: &Sites) -> Option<LoadAddr> {
        self.covering(pc, sites)?.trampoline.copy_of(pc)
    }

    /// The site of the jump that is at `pc` or covers it.
    pub fn jump_over(&self, pc: LoadAddr, sites: &Sites) -> Option<LoadAddr> {
        let detour = self.covering(pc, sites)?;
        detour.trampoline.copy_of(pc)?;
        Some(detour.site)
    }

    /// What the jump leads to that is at `pc` or covers it.
    fn covering(&self, pc: LoadAddr, sites: &Sites) -> Option<&Detour> {
        let from = LoadAddr(pc.0.saturating_sub((JUMP + LONGEST) as u64));
        let near = self.latest.range(from..=pc).rev();
        let mut diverted = near.filter(|(site, _)| {
            let site = sites.get(**site);
            site.is_some_and(|site| site.is_diverted())
        });
        let (_, start) = diverted.next()?;
        self.all.get(start).filter(|it| pc < it.window.end)
    }

    /// Where the hits of a breakpoint have been counted.
    fn counter(&self, breakpoint: BreakpointId) -> Option<LoadAddr> {
        let of_it = |detour: &&Detour| detour.breakpoint == breakpoint;
        self.all
            .values()
            .filter(of_it)
            .find_map(|detour| detour.counter)
    }

    /// Whether a jump leads to where hits of a breakpoint are counted.
    fn count_for(&self, breakpoint: BreakpointId, sites: &Sites) -> bool {
        let mut latest = self.latest.values().filter_map(|start| self.all.get(start));
        latest.any(|detour| {
            detour.breakpoint == breakpoint
                && detour.counter.is_some()
                && sites
                    .get(detour.site)
                    .is_some_and(|site| site.is_diverted())
        })
    }

    /// Whether a site's jump leads to where something is told, or something is not heard yet.
    fn tells_something(&self) -> bool {
        let mut latest = self.latest.values().filter_map(|start| self.all.get(start));
        latest.any(|detour| detour.message.is_some())
            || self.ring.as_ref().is_some_and(|ring| !ring.is_read())
    }

    /// Memory that is to be unmapped, with its length.
    pub fn regions(&self) -> Vec<(LoadAddr, u64)> {
        let all = self.regions.iter();
        all.map(|region| (region.start, REGION + COUNTERS))
            .chain(self.ring.iter().map(|ring| (ring.at, ring::LEN)))
            .chain(self.springboards.pages().map(|page| (page, PAGE)))
            .collect()
    }

    /// Forgets what jumps in unmapped memory led to; threads may still be on their way.
    pub fn forget_in(&mut self, start: LoadAddr, end: LoadAddr) {
        self.latest.retain(|site, _| *site < start || *site >= end);
    }

    /// A place to count at.
    fn new_counter(&mut self, site: LoadAddr) -> Option<LoadAddr> {
        let region = self.near(site)?;
        let at = region.start + REGION + region.counters;
        region.counters += 8;
        Some(at)
    }

    /// How much is used, of each region.
    fn room(&self) -> Vec<(u64, u64)> {
        let regions = self.regions.iter();
        regions
            .map(|region| (region.used, region.counters))
            .collect()
    }

    /// Has as much room again as was there: what was made since leads nowhere.
    fn give_back(&mut self, room: &[(u64, u64)]) {
        let before = room.iter().copied().chain(std::iter::repeat((0, 0)));
        for (region, before) in self.regions.iter_mut().zip(before) {
            (region.used, region.counters) = before;
        }
        self.keep_springboards();
    }

    /// Those that no jump leads by are free again.
    fn keep_springboards(&mut self) {
        let boards = self.all.values().filter_map(|detour| detour.springboard);
        let needed: BTreeSet<LoadAddr> = boards.collect();
        self.springboards.keep(|board| needed.contains(&board));
    }

    fn near(&mut self, site: LoadAddr) -> Option<&mut Region> {
        /// As far as RIP-relative operands and jumps reach, with room to spare.
        const REACH: u64 = 1 << 30;
        /// Room for one more, however long.
        const ROOM: u64 = 1 << 13;
        let has_room = |region: &&mut Region| {
            region.start.0.abs_diff(site.0) < REACH
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
    fn what_a_refused_detour_took_is_free_again() {
        let region = |start, used, counters| Region {
            start: LoadAddr(start),
            used,
            counters,
        };
        let (site, board) = (LoadAddr(0x2_0000), LoadAddr(0x30_0010));
        let mut detours = Detours::default();
        detours.regions.push(region(0x10_0000, 64, 8));
        let room = detours.room();
        assert!(detours.new_counter(site).is_some());
        detours.near(site).expect("room").used += 640;
        detours.regions.push(region(0x20_0000, 64, 8));
        detours.springboards.add_page(LoadAddr(0x30_0000));
        detours.springboards.add(board, site);
        assert!(detours.phase(board).is_some());
        detours.give_back(&room);
        assert_eq!(detours.room(), [(64, 8), (0, 0)]);
        assert_eq!(detours.phase(board), None);
    }
}
