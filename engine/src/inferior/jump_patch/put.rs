//! Writing of jumps, and of the neighbors that share bytes with them.

use super::install::Refusal;
use super::window::UNWRITABLE_MEMORY;
use super::x86_64::layout::{Laid, Layout, Link, MAX_LINKS, Refused};
use super::x86_64::springboard::{self, PAGE, Springboards};
use super::{JumpPatch, JumpPatches};
use crate::arch::MAX_JUMP_BYTES;
use crate::ids::ThreadId;
use crate::inferior::site::{JumpBytes, Sites};
use crate::inferior::{Inferior, StoppedWorld};
use crate::os::SystemCall;
use dwarf::LoadAddr;
use std::collections::{BTreeMap, BTreeSet};

/// Jumps to write, each once.
type Plan = BTreeMap<LoadAddr, Laid>;

/// Why a jump with few bytes of its own has no possible target.
const TAKEN: &str = "too few bytes before the next branch target, and no memory can be mapped \
                     where a shorter jump leads";
/// The same with neighboring jumps involved.
const CLOSE: &str = "another breakpoint is too close, and no targets for both jumps are free";
/// The neighbors have changed since.
const CHANGED: &str = "a close breakpoint has changed";

impl Inferior {
    /// Decides the targets of these patches' jumps and of others that share bytes with them; makes
    /// the debuggee map the memory for them.
    pub(crate) fn lay_jumps(
        &mut self,
        thread: ThreadId,
        ready: &[JumpPatch],
    ) -> Result<Plan, Refusal> {
        if !self.arch.jump_may_be_longer() {
            return self.jumps_alone(ready);
        }
        let pid = self.pid().ok_or(TAKEN)?;
        let mappings = self.os.mappings(pid);
        let mut layout = Layout::new(self.jumps.springboards.clone());
        for patch in ready {
            self.add_neighbors(patch.site, &mut layout);
        }
        let mut new: Vec<&JumpPatch> = ready.iter().collect();
        new.sort_unstable_by_key(|patch| patch.site);
        for patch in new.into_iter().rev() {
            let laid = layout.lay(patch.link(None), &self.memory(), &mappings);
            laid.map_err(|refused| match refused {
                Refused::NoMemory => TAKEN.into(),
                Refused::Neighbors => Refusal::passing(CLOSE),
            })?;
        }
        let plan: Plan = layout.changed().map(|laid| (laid.site, laid)).collect();
        let boards = plan.values().filter_map(|laid| laid.springboard);
        let pages: BTreeSet<LoadAddr> = boards.flat_map(Springboards::pages_of).collect();
        for addr in pages {
            if self.jumps.springboards.hold(addr) {
                continue;
            }
            let call = SystemCall::MapCode { addr, len: PAGE };
            if self.inject_syscall(thread, call) != Some(addr.0 as i64) {
                return Err(TAKEN.into());
            }
            self.jumps.springboards.add_page(addr);
        }
        for laid in plan.values() {
            if let Some(board) = laid.springboard {
                self.jumps.springboards.add(board, laid.site);
            }
        }
        Ok(plan)
    }

    /// Returns the jumps of these patches where each fits the instruction that it replaces.
    fn jumps_alone(&self, ready: &[JumpPatch]) -> Result<Plan, Refusal> {
        let alone = ready.iter().map(|patch| {
            let site = patch.site;
            let jump = self.arch.jump(site, patch.trampoline.start);
            let jump = jump.ok_or("its code is too far away")?;
            let laid = Laid {
                site,
                jump: JumpBytes {
                    bytes: jump,
                    own: patch.window.own(),
                },
                springboard: None,
            };
            Ok((site, laid))
        });
        alone.collect()
    }

    /// Adds the sites around one that share bytes with it or with each other.
    fn add_neighbors(&self, site: LoadAddr, layout: &mut Layout) {
        const FAR: u64 = (MAX_JUMP_BYTES * MAX_LINKS) as u64;
        let from = LoadAddr(site.0.saturating_sub(FAR));
        for addr in self.sites.addresses_in(from, site + FAR) {
            layout.add_site(addr);
            let patch = self.jumps.jump_of(addr, &self.sites);
            if let (Some(patch), Some(jump)) = (patch, self.sites.jump_at(addr)) {
                layout.add_jump(patch.link(Some(jump)));
            }
        }
    }

    /// Writes jumps, those of `ready` for the first time, and springboards. No thread is in a
    /// springboard.
    pub(crate) fn put_jumps(
        &mut self,
        ready: &[JumpPatch],
        plan: &Plan,
        _: &StoppedWorld,
    ) -> Result<(), Refusal> {
        for patch in ready {
            let owners = self.sites.get(patch.site).map(|site| site.owners().len());
            let mut others = (self.sites).addresses_in(patch.site + 1, patch.window.end);
            if owners != Some(patch.owners()) || others.next().is_some() {
                return Err(Refusal::passing(CHANGED));
            }
        }
        for laid in plan.values() {
            let new = ready.iter().find(|it| it.site == laid.site);
            let there = || self.jumps.jump_of(laid.site, &self.sites);
            let patch = new.or_else(there).ok_or(Refusal::passing(CHANGED))?;
            if let Some(board) = laid.springboard
                && !(self.os).write_memory(board, &springboard::code(patch.trampoline.start))
            {
                return Err(UNWRITABLE_MEMORY.into());
            }
        }
        for site in plan.keys() {
            self.sites.pause_jump(*site, &*self.os);
        }
        // The bytes shared with the next jump are written before this one.
        let mut jumps = plan.values().rev();
        if jumps.all(|laid| self.sites.install_jump(laid.site, laid.jump, &*self.os)) {
            return Ok(());
        }
        for site in plan.keys() {
            self.sites.end_jump_at(*site, &*self.os);
        }
        Err(Refusal::passing(CHANGED))
    }

    /// Records the springboards of the jumps that were written.
    pub(crate) fn note_springboards(&mut self, plan: &Plan) {
        for (site, laid) in plan {
            let start = self.jumps.latest.get(site);
            if let Some(patch) = start.and_then(|start| self.jumps.all.get_mut(start)) {
                patch.springboard = laid.springboard;
            }
        }
        self.jumps.keep_springboards();
    }
}

impl JumpPatches {
    /// Returns the patch of the jump at a site.
    fn jump_of(&self, site: LoadAddr, sites: &Sites) -> Option<&JumpPatch> {
        sites.jump_at(site)?;
        self.all.get(self.latest.get(&site)?)
    }
}

impl JumpPatch {
    /// Returns the link of its jump; `now`: the jump if it is written.
    fn link(&self, now: Option<JumpBytes>) -> Link {
        Link {
            site: self.site,
            own: self.window.own(),
            trampoline: self.trampoline.start,
            current: now.map(|jump| (jump, self.springboard)),
        }
    }
}
