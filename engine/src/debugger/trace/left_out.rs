//! Functions that a tracepoint on many functions leaves out. What the debugger has recorded of a
//! function is kept apart until it is known whether it is one of them.

use super::TraceState;
use crate::debugger::Debugger;
use crate::ids::BreakpointId;
use crate::inferior::site::Owner;
use crate::stops::trace::Collected;
use dwarf::LoadAddr;

impl TraceState {
    /// Returns where hits of a function are added that the debugger evaluates.
    pub(super) fn collected_at(&mut self, entry: LoadAddr) -> &mut Collected {
        if !self.leaves_out || self.decided.contains(&entry) {
            return &mut self.collected;
        }
        let query = &self.query;
        let undecided = self.undecided.entry(entry);
        undecided.or_insert_with(|| Collected::new(query))
    }

    /// Keeps what was recorded of a function: it is not left out.
    fn keep_function(&mut self, entry: LoadAddr) {
        if self.leaves_out && self.decided.insert(entry) {
            let query = self.query.clone();
            if let Some(undecided) = self.undecided.remove(&entry) {
                self.collected.add_all(&query, undecided);
            }
        }
    }

    /// Returns all that the debugger has recorded.
    pub(super) fn collected(&self) -> Collected {
        let mut collected = self.collected.clone();
        for undecided in self.undecided.values() {
            collected.add_all(&self.query, undecided.clone());
        }
        collected
    }
}

impl Debugger {
    /// After it was decided what evaluates the hits of a function: leaves out those that only the
    /// debugger can evaluate, if there are many.
    pub(crate) fn decide_functions(&mut self, id: BreakpointId, addr: LoadAddr, is_fast: bool) {
        if is_fast && let Some(state) = self.traces.0.get_mut(&id) {
            let exit = self.stops.breakpoints.exit_at(id, addr);
            state.keep_function(exit.map_or(addr, |exit| exit.entry));
        }
        // Calls of the debugger may pass any function then: it is no obstacle of one.
        if self.inferior.jumps.called_through {
            return;
        }
        let Some(breakpoint) = self.stops.breakpoints.all.get(&id) else {
            return;
        };
        let is_lasting = |entry: LoadAddr| {
            let exits = breakpoint.exits.iter();
            let exits = exits.filter(|(_, exit)| exit.entry == entry);
            let mut sites = [entry].into_iter().chain(exits.map(|(addr, _)| *addr));
            sites.any(|addr| {
                let site = self.inferior.sites.get(addr);
                site.is_some_and(|site| site.attempts.get().is_given_up())
            })
        };
        for (entry, why) in breakpoint.to_leave_out(is_lasting) {
            for addr in self.sites_with(id, entry) {
                self.inferior.remove_site(addr, Owner::User(id));
            }
            if let Some(breakpoint) = self.stops.breakpoints.all.get_mut(&id) {
                breakpoint.leave_out(entry, why);
            }
            if let Some(state) = self.traces.0.get_mut(&id) {
                state.undecided.remove(&entry);
                state.entered.retain(|call, _| call.entry != entry);
            }
        }
    }

    /// Notes whether a tracepoint leaves functions out, before its next hit is recorded.
    pub(super) fn note_leaving_out(&mut self, id: BreakpointId) {
        let breakpoint = self.stops.breakpoints.all.get(&id);
        let leaves_out = breakpoint.is_some_and(|breakpoint| breakpoint.leaves_out());
        if let Some(state) = self.traces.0.get_mut(&id) {
            state.leaves_out = leaves_out;
        }
    }
}
