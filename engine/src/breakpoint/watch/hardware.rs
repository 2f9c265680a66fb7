//! Hardware breakpoints: breakpoints in code set by debug registers.

use super::Watches;
use crate::arch::watch::{Slot, Trigger};
use crate::breakpoint::BreakpointInfo;
use crate::debugger::Debugger;
use crate::ids::BreakpointId;
use dwarf::LoadAddr;

/// Returns the slot that stops a thread before it executes the instruction at an address.
pub fn slot(addr: LoadAddr) -> Slot {
    Slot {
        addr,
        len: 1,
        trigger: Trigger::Execute,
    }
}

impl Watches {
    /// Returns whether a debug register stops threads at an address.
    pub fn has_code(&self, addr: LoadAddr) -> bool {
        self.slots.contains(&Some(slot(addr)))
    }

    /// Returns whether a debug register may trigger on a read.
    pub fn sees_reads(&self) -> bool {
        let mut slots = self.slots.iter().flatten();
        slots.any(|slot| slot.trigger == Trigger::Access)
    }

    /// Returns whether a debug register is set for execution of an address from `start` to before
    /// `end`.
    pub fn has_code_in(&self, start: LoadAddr, end: LoadAddr) -> bool {
        let slots = self.slots.iter().flatten();
        slots
            .filter(|slot| slot.trigger == Trigger::Execute)
            .any(|slot| slot.addr >= start && slot.addr < end)
    }

    /// Returns whether one of the slots that were hit (a bit each) is for code.
    pub(crate) fn is_code(&self, hits: u8) -> bool {
        let mut slots = self.slots.iter().enumerate();
        slots.any(|(index, slot)| {
            hits >> index & 1 != 0 && slot.is_some_and(|it| it.trigger == Trigger::Execute)
        })
    }
}

impl Debugger {
    /// Returns the locations of all hardware breakpoints, by their numbers.
    pub(super) fn hardware_places(&self) -> Vec<(BreakpointId, LoadAddr)> {
        let all = self.stops.breakpoints.all.iter();
        let ours = all.filter(|(_, breakpoint)| breakpoint.options.hardware);
        ours.flat_map(|(id, breakpoint)| breakpoint.bound.iter().map(|it| (*id, it.addr)))
            .collect()
    }

    /// Returns the breakpoints that have a debug register for an address.
    pub(in crate::breakpoint) fn hardware_at(
        &self,
        addr: LoadAddr,
    ) -> impl Iterator<Item = BreakpointId> {
        let places = match self.stops.watches.has_code(addr) {
            true => self.hardware_places(),
            false => Vec::new(),
        };
        places
            .into_iter()
            .filter(move |(_, at)| *at == addr)
            .map(|(id, _)| id)
    }

    /// Sets the debug registers after locations of hardware breakpoints have changed.
    pub(in crate::breakpoint) fn place_hardware(&mut self, told: &[BreakpointId]) {
        let has_some = self.stops.watches.slots.iter().flatten();
        let mut has_some = has_some.filter(|slot| slot.trigger == Trigger::Execute);
        let wants_some = self
            .stops
            .breakpoints
            .all
            .values()
            .any(|it| it.options.hardware);
        if wants_some || has_some.next().is_some() {
            self.distribute_slots(told);
        }
    }

    /// Adds the state of a hardware breakpoint to its description.
    pub(super) fn hardware_info(&self, id: BreakpointId, info: &mut BreakpointInfo) {
        let Some(breakpoint) = self.stops.breakpoints.all.get(&id) else {
            return;
        };
        if !breakpoint.options.hardware || !info.verified {
            return;
        }
        let places = breakpoint.bound.len();
        let bound = breakpoint.bound.iter();
        let set = bound
            .filter(|it| self.stops.watches.has_code(it.addr))
            .count();
        if set < places {
            info.verified = set > 0;
            info.message = Some(match self.stops.watches.refused {
                true => "the kernel refuses to set debug registers".to_owned(),
                false => format!("out of debug registers: {set} of {places} locations set"),
            });
        }
    }
}
