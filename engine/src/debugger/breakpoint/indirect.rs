//! Functions selected at load time (`STT_GNU_IFUNC`): the symbol of their name is that of a
//! resolver, which returns the address of the selected function. The choice is read from what the
//! loader wrote as it relocated; until then the resolver has a trap.

use crate::debugger::Debugger;
use crate::ids::{BreakpointId, ThreadId};
use crate::inferior::site::Owner;
use crate::stops::breakpoint::indirect::{Call, Chooser, relocated};
use crate::stops::breakpoint::resolve::at_symbol;
use crate::stops::breakpoint::{BoundLocation, Search};
use crate::stops::event::Event;
use dwarf::LoadAddr;

impl Debugger {
    /// Returns the locations of selected functions. Resolvers without a choice get a trap.
    pub(crate) fn chosen(&mut self, choosers: &[Chooser]) -> Vec<BoundLocation> {
        let mut bound = Vec::new();
        for chooser in choosers {
            let known = self.stops.choices.known.get(&chooser.addr).cloned();
            let chosen = match known {
                Some(known) => known,
                None => relocated(chooser, &self.images.modules, self.inferior.os()),
            };
            for addr in &chosen {
                if let Some(loaded) = self.images.modules.at(*addr) {
                    bound.push(at_symbol(loaded, loaded.bias.file(*addr)).0);
                }
            }
            match chosen.is_empty() {
                true if !self.is_post_mortem() => {
                    self.inferior.add_site(chooser.addr, Owner::Chooser);
                }
                true => {}
                false => {
                    self.stops.choices.known.insert(chooser.addr, chosen);
                    self.inferior.remove_site(chooser.addr, Owner::Chooser);
                }
            }
        }
        bound.sort_by_key(|bound: &BoundLocation| bound.addr);
        bound
    }

    /// Handles a thread at the entry of a resolver, or at its return address.
    pub(crate) fn on_chooser(&mut self, thread: ThreadId, addr: LoadAddr, owners: &[Owner]) {
        let Some(registers) = self.inferior.registers(thread) else {
            return;
        };
        let sp = registers.sp();
        if owners.contains(&Owner::Chosen) {
            let results = self.images.modules.arch().convention().integer_results;
            let returned = results.first().and_then(|it| registers.get(*it));
            self.on_chosen(thread, (addr, sp), returned.map(LoadAddr));
        }
        if !owners.contains(&Owner::Chooser) {
            return;
        }
        let arch = self.images.modules.arch();
        if let Some(back) = arch.return_at_entry(&registers, &self.inferior.memory())
            && self.inferior.add_site(back.addr, Owner::Chosen)
        {
            self.stops.choices.calls.push(Call {
                thread,
                chooser: addr,
                back: (back.addr, back.sp),
            });
        }
    }

    fn on_chosen(&mut self, thread: ThreadId, at: (LoadAddr, u64), chosen: Option<LoadAddr>) {
        let calls = &mut self.stops.choices.calls;
        let ended = |call: &Call| call.thread == thread && call.back == at;
        let Some(index) = calls.iter().position(ended) else {
            return;
        };
        let call = calls.swap_remove(index);
        if !calls.iter().any(|other| other.back.0 == at.0) {
            self.inferior.remove_site(at.0, Owner::Chosen);
        }
        let Some(chosen) = chosen else { return };
        self.inferior.remove_site(call.chooser, Owner::Chooser);
        let known = self.stops.choices.known.entry(call.chooser).or_default();
        if !known.insert(chosen) {
            return;
        }
        let wants = |id: &BreakpointId| {
            let breakpoint = self.stops.breakpoints.all.get(id);
            breakpoint.is_some_and(|it| match &it.search {
                Search::Function(named) => named.is_chosen_by(call.chooser),
                Search::Line | Search::Functions(_) => false,
            })
        };
        let ids: Vec<BreakpointId> = self
            .stops
            .breakpoints
            .functions
            .iter()
            .copied()
            .filter(wants)
            .collect();
        for id in ids {
            let bound = self.bind(id);
            if self.check_names(id) || bound {
                self.emit(Event::BreakpointChanged(id));
            }
        }
        self.place_hardware(&[]);
    }
}
