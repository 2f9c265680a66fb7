//! Threads stopped in a trampoline or in the jump to one: the state that the program would have
//! without it.

use crate::debugger::Debugger;
use crate::ids::BreakpointId;
use crate::ids::ThreadId;
use crate::inferior::jump_patch::Attempts;

impl Debugger {
    /// Counts a hit that is not counted yet. Returns its number.
    pub(crate) fn number_of_hit(&mut self, thread: ThreadId, id: BreakpointId) -> u64 {
        let program_counts = self.inferior.jumps.count_for(id, &self.inferior.sites);
        if !program_counts {
            let hits = self.stops.breakpoints.count(id);
            return hits + self.inferior.counted_by_jumps(id);
        }
        // Other threads may be about to count: each hit has its own number.
        self.with_world_stopped(thread, |this, _| {
            let number = this.inferior.counted_by_jumps(id) + 1;
            if let Some(at) = this.inferior.jumps.counter(id) {
                this.inferior.os().write_memory(at, &number.to_le_bytes());
            }
            number + this.stops.breakpoints.hits(id)
        })
    }

    /// Removes the jump patches of changed breakpoints: their conditions are outdated.
    pub(crate) fn end_changed_jumps(&mut self) {
        let (mut gone, mut changed) = (Vec::new(), Vec::new());
        // Earlier patches of a site have been removed already.
        for start in self.inferior.jumps.latest.values() {
            let Some(patch) = self.inferior.jumps.all.get(start) else {
                continue;
            };
            for served in &patch.breakpoints {
                if self.stops.breakpoints.options(served.id) != Some(&served.options) {
                    gone.push(patch.site);
                    changed.push(served.id);
                }
            }
        }
        for site in &gone {
            self.inferior.jumps.latest.remove(site);
        }
        for id in changed {
            self.inferior.jumps.forget_counters(id, None);
        }
        for site in gone {
            self.inferior.end_jump_at(site);
            if let Some(site) = self.inferior.sites.get(site) {
                site.attempts.set(Attempts::default());
            }
        }
    }

    /// Allows new attempts to install jump patches for a new or changed breakpoint.
    pub(crate) fn forget_refused_jumps(&mut self, id: BreakpointId) {
        for addr in self.stops.breakpoints.bound_addresses(id) {
            if let Some(site) = self.inferior.sites.get(addr)
                && site.attempts.get().is_given_up()
            {
                site.attempts.set(Attempts::default());
            }
        }
    }
}
