//! Functions selected at load time (`STT_GNU_IFUNC`): the symbol of their name is that of a
//! resolver, which returns the address of the selected function. The choice is read from what the
//! loader wrote as it relocated; until then the resolver has a trap.

use super::resolve::at_symbol;
use super::{BoundLocation, Search};
use crate::debugger::Debugger;
use crate::event::Event;
use crate::ids::{BreakpointId, ModuleId, ThreadId};
use crate::images::modules::{Loaded, Modules};
use crate::inferior::site::Owner;
use crate::os::Backend;
use dwarf::{FileAddr, LoadAddr, Module, SymbolKind};
use rustc_hash::{FxHashMap, FxHashSet};

/// The resolver of a function name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Chooser {
    pub addr: LoadAddr,
    module: ModuleId,
    /// The symbol's name.
    name: &'static str,
}

/// Functions that resolvers have returned, and calls of resolvers in progress.
#[derive(Default)]
pub(crate) struct Choices {
    known: FxHashMap<LoadAddr, FxHashSet<LoadAddr>>,
    calls: Vec<Call>,
}

/// A call of a resolver.
struct Call {
    thread: ThreadId,
    chooser: LoadAddr,
    /// Its return address, and the stack pointer after the return.
    back: (LoadAddr, u64),
}

impl Choices {
    /// Drops the data of an unloaded image.
    pub(crate) fn forget_in(&mut self, start: LoadAddr, end: LoadAddr) {
        self.known.retain(|chooser, chosen| {
            chosen.retain(|addr| *addr < start || *addr >= end);
            *chooser < start || *chooser >= end
        });
    }
}

/// Returns the resolvers of a name in an image.
pub(super) fn choosers(name: &str, loaded: &Loaded) -> Vec<Chooser> {
    let symbols = loaded.module.function_symbols(name).into_iter();
    let choosers = symbols.filter(|it| it.kind == SymbolKind::IndirectFunction);
    let mut choosers: Vec<Chooser> = choosers
        .map(|symbol| Chooser {
            addr: loaded.bias.load(symbol.addr),
            module: loaded.id,
            name: symbol.name,
        })
        .collect();
    choosers.sort_by_key(|it| (it.addr, it.name));
    choosers.dedup_by_key(|it| it.addr);
    choosers
}

/// Returns the choices of a resolver that the loader has written: functions in the resolver's own
/// image.
fn relocated(chooser: &Chooser, modules: &Modules, os: &dyn Backend) -> FxHashSet<LoadAddr> {
    let mut found = FxHashSet::default();
    let Some(home) = modules.get(chooser.module) else {
        return found;
    };
    let own = home.bias.file(chooser.addr);
    for loaded in &modules.loaded {
        let is_home = loaded.id == chooser.module;
        for slot in loaded
            .module
            .function_slots(chooser.name, is_home.then_some(own))
        {
            let mut word = [0; 8];
            if os.read_memory(loaded.bias.load(slot), &mut word) != word.len() {
                continue;
            }
            let addr = LoadAddr(u64::from_le_bytes(word));
            // The value in the file leads to a stub for lazy binding.
            let mut first = [0; 8];
            let first = loaded.module.read_image(slot, &mut first).map(|()| first);
            let first = first.map(|word| FileAddr(u64::from_le_bytes(word)));
            let is_relocated =
                first.is_none_or(|it| it.0 != addr.0 && loaded.bias.load(it) != addr);
            if is_relocated && addr != chooser.addr && is_choice(home, addr) {
                found.insert(addr);
            }
        }
    }
    found
}

/// Returns whether a resolver may have selected an address: code of its image, and no stub for lazy
/// binding.
fn is_choice(home: &Loaded, addr: LoadAddr) -> bool {
    let file = home.bias.file(addr);
    let is_stub = |module: &Module, addr: FileAddr| {
        let symbol = module.symbol_at(addr);
        symbol.is_some_and(|symbol| symbol.name.ends_with("@plt"))
    };
    let mut segments = home.module.segments().iter();
    let is_code = segments.any(|segment| segment.executable && segment.range.contains(file));
    is_code && !is_stub(&home.module, file)
}

impl Debugger {
    /// Returns the locations of selected functions. Resolvers without a choice get a trap.
    pub(super) fn chosen(&mut self, choosers: &[Chooser]) -> Vec<BoundLocation> {
        let mut bound = Vec::new();
        for chooser in choosers {
            let known = self.stops.choices.known.get(&chooser.addr).cloned();
            let chosen = match known {
                Some(known) => known,
                None => relocated(chooser, &self.images.modules, &*self.inferior.os),
            };
            for addr in &chosen {
                if let Some(loaded) = self.images.modules.at(*addr) {
                    bound.push(at_symbol(loaded, loaded.bias.file(*addr)).0);
                }
            }
            match chosen.is_empty() {
                true if !self.is_post_mortem() => {
                    self.inferior
                        .sites
                        .add(chooser.addr, Owner::Chooser, &*self.inferior.os);
                }
                true => {}
                false => {
                    self.stops.choices.known.insert(chooser.addr, chosen);
                    self.inferior
                        .sites
                        .remove(chooser.addr, Owner::Chooser, &*self.inferior.os);
                }
            }
        }
        bound.sort_by_key(|bound: &BoundLocation| bound.addr);
        bound
    }

    /// Handles a thread at the entry of a resolver, or at its return address.
    pub(crate) fn on_chooser(&mut self, thread: ThreadId, addr: LoadAddr, owners: &[Owner]) {
        let Some(registers) = self.user_registers(thread) else {
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
        if let Some(back) = arch.return_at_entry(&registers, &self.memory())
            && self
                .inferior
                .sites
                .add(back.addr, Owner::Chosen, &*self.inferior.os)
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
            self.inferior
                .sites
                .remove(at.0, Owner::Chosen, &*self.inferior.os);
        }
        let Some(chosen) = chosen else { return };
        self.inferior
            .sites
            .remove(call.chooser, Owner::Chooser, &*self.inferior.os);
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
                self.inferior.events.push_back(Event::BreakpointChanged(id));
            }
        }
        self.place_hardware(&[]);
    }
}
