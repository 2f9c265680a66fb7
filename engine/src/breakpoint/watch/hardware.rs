//! Breakpoints in code that are set by the debug registers.

use super::Watches;
use crate::arch::debug_registers::{Slot, Trigger};
use crate::breakpoint::BreakpointInfo;
use crate::debugger::Debugger;
use crate::ids::BreakpointId;
use dwarf::LoadAddr;

/// What stops a thread before it executes the instruction at an address.
pub fn slot(addr: LoadAddr) -> Slot {
    Slot {
        addr,
        len: 1,
        trigger: Trigger::Execute,
    }
}

impl Watches {
    /// Whether a debug register stops threads at an address.
    pub fn has_code(&self, addr: LoadAddr) -> bool {
        self.slots.contains(&Some(slot(addr)))
    }

    /// Whether reading memory may be noticed.
    pub fn sees_reads(&self) -> bool {
        let mut slots = self.slots.iter().flatten();
        slots.any(|slot| slot.trigger == Trigger::Access)
    }

    /// Whether code from `start` on, before `end`, is watched for execution.
    pub fn has_code_in(&self, start: LoadAddr, end: LoadAddr) -> bool {
        let slots = self.slots.iter().flatten();
        slots
            .filter(|slot| slot.trigger == Trigger::Execute)
            .any(|slot| slot.addr >= start && slot.addr < end)
    }

    /// Whether one of the slots that were hit (a bit each) is for code.
    pub(crate) fn is_code(&self, hits: u8) -> bool {
        let mut slots = self.slots.iter().enumerate();
        slots.any(|(index, slot)| {
            hits >> index & 1 != 0 && slot.is_some_and(|it| it.trigger == Trigger::Execute)
        })
    }
}

impl Debugger {
    /// The places of all breakpoints that want debug registers for them, by their numbers.
    pub(super) fn hardware_places(&self) -> Vec<(BreakpointId, LoadAddr)> {
        let all = self.breakpoints.all.iter();
        let ours = all.filter(|(_, breakpoint)| breakpoint.options.hardware);
        ours.flat_map(|(id, breakpoint)| breakpoint.bound.iter().map(|it| (*id, it.addr)))
            .collect()
    }

    /// Breakpoints that a debug register is set for at an address.
    pub(in crate::breakpoint) fn hardware_at(
        &self,
        addr: LoadAddr,
    ) -> impl Iterator<Item = BreakpointId> {
        let places = match self.watches.has_code(addr) {
            true => self.hardware_places(),
            false => Vec::new(),
        };
        places
            .into_iter()
            .filter(move |(_, at)| *at == addr)
            .map(|(id, _)| id)
    }

    /// Places of breakpoints have come or gone: sets the debug registers, where some want them.
    pub(in crate::breakpoint) fn place_hardware(&mut self, told: &[BreakpointId]) {
        let has_some = self.watches.slots.iter().flatten();
        let mut has_some = has_some.filter(|slot| slot.trigger == Trigger::Execute);
        let wants_some = self.breakpoints.all.values().any(|it| it.options.hardware);
        if wants_some || has_some.next().is_some() {
            self.distribute_slots(told);
        }
    }

    /// What there is to know of a breakpoint that wants debug registers.
    pub(super) fn hardware_info(&self, id: BreakpointId, info: &mut BreakpointInfo) {
        let Some(breakpoint) = self.breakpoints.all.get(&id) else {
            return;
        };
        if !breakpoint.options.hardware || !info.verified {
            return;
        }
        let places = breakpoint.bound.len();
        let bound = breakpoint.bound.iter();
        let set = bound.filter(|it| self.watches.has_code(it.addr)).count();
        if set < places {
            info.verified = set > 0;
            info.message = Some(match self.watches.refused {
                true => "the system does not let debug registers be set".to_owned(),
                false => format!(
                    "the processor has four debug registers: {set} of {places} places have one"
                ),
            });
        }
    }
}
