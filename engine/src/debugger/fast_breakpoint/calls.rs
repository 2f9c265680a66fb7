//! Calls made by the debugger that pass jump patches: their hits and messages are not the program's
//! own.

use crate::debugger::Debugger;
pub(crate) use crate::inferior::jump_patch::calls::{CALLED_THROUGH, Counted};
use crate::stops::breakpoint::evaluation::Evaluation;
use dwarf::LoadAddr;

impl Debugger {
    /// Saves the hit counters before one thread makes a call; pending messages are drained.
    pub(crate) fn counted_so_far(&mut self) -> Counted {
        if self.inferior.jumps.is_empty() {
            return Counted(Vec::new());
        }
        self.drain_all_messages();
        let mut counters: Vec<LoadAddr> = self
            .inferior
            .jumps
            .all
            .values()
            .flat_map(|it| &it.breakpoints)
            .filter_map(|it| it.counter)
            .collect();
        counters.sort_unstable();
        counters.dedup();
        let counted = counters.into_iter().filter_map(|at| {
            let mut word = [0; 8];
            let is_read = self.inferior.os().read_memory(at, &mut word) == 8;
            is_read.then(|| (at, u64::from_le_bytes(word)))
        });
        Counted(counted.collect())
    }

    /// Prepares for a call that runs while other threads run: from now on, sites with counters or
    /// messages trap.
    pub(crate) fn count_no_calls(&mut self) {
        if std::mem::replace(&mut self.inferior.jumps.called_through, true) {
            return;
        }
        let patches = &self.inferior.jumps;
        let latest = patches.latest.values();
        let counting = latest
            .filter_map(|start| patches.all.get(start))
            .filter(|it| it.counts() || it.message.is_some() || it.traces);
        let sites = counting.flat_map(|it| it.breakpoints.iter().map(|of| (it.site, of.id)));
        let sites: Vec<(LoadAddr, _)> = sites.collect();
        for (addr, id) in sites {
            self.inferior.end_jump_at(addr);
            if let Some(site) = self.inferior.sites.get(addr) {
                site.keep_trap();
            }
            let evaluation = Evaluation::ByDebugger(CALLED_THROUGH.to_owned());
            let breakpoints = &mut self.stops.breakpoints;
            if breakpoints.set_evaluation(id, addr, evaluation) {
                self.emit(crate::stops::event::Event::BreakpointChanged(id));
            }
        }
    }
}
