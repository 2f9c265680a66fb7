//! Hardware breakpoints: breakpoints in code set by debug registers.

use crate::debugger::Debugger;
use crate::ids::BreakpointId;
use crate::stops::breakpoint::BreakpointInfo;
use dwarf::LoadAddr;

impl Debugger {
    /// Returns the locations of all hardware breakpoints, by their numbers.
    pub(crate) fn hardware_places(&self) -> Vec<(BreakpointId, LoadAddr)> {
        let all = self.stops.breakpoints.all.iter();
        let ours = all.filter(|(_, breakpoint)| breakpoint.options.hardware);
        ours.flat_map(|(id, breakpoint)| breakpoint.bound.iter().map(|it| (*id, it.addr)))
            .collect()
    }

    /// Returns the breakpoints that have a debug register for an address.
    pub(crate) fn hardware_at(&self, addr: LoadAddr) -> impl Iterator<Item = BreakpointId> {
        let places = match self.inferior.debug_registers.has_code(addr) {
            true => self.hardware_places(),
            false => Vec::new(),
        };
        places
            .into_iter()
            .filter(move |(_, at)| *at == addr)
            .map(|(id, _)| id)
    }

    /// Sets the debug registers after locations of hardware breakpoints have changed.
    pub(crate) fn place_hardware(&mut self, reported: &[BreakpointId]) {
        let has_some = self.inferior.debug_registers.has_any_code();
        let wants_some = self
            .stops
            .breakpoints
            .all
            .values()
            .any(|it| it.options.hardware);
        if wants_some || has_some {
            self.distribute_slots(reported);
        }
    }

    /// Adds the state of a hardware breakpoint to its description.
    pub(crate) fn hardware_info(&self, id: BreakpointId, info: &mut BreakpointInfo) {
        let Some(breakpoint) = self.stops.breakpoints.all.get(&id) else {
            return;
        };
        if !breakpoint.options.hardware || !info.verified {
            return;
        }
        let places = breakpoint.bound.len();
        let bound = breakpoint.bound.iter();
        let set = bound
            .filter(|it| self.inferior.debug_registers.has_code(it.addr))
            .count();
        if set < places {
            info.verified = set > 0;
            info.message = Some(match self.inferior.debug_registers.refused {
                true => "the kernel refuses to set debug registers".to_owned(),
                false => format!("out of debug registers: {set} of {places} locations set"),
            });
        }
    }
}
