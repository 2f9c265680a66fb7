//! Functions selected at load time (`STT_GNU_IFUNC`): the symbol of their name is that of a
//! resolver, which returns the address of the selected function. The choice is read from what the
//! loader wrote as it relocated; until then the resolver has a trap.

use crate::ids::{ModuleId, ThreadId};
use crate::images::modules::{Loaded, Modules};
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
    pub(crate) known: FxHashMap<LoadAddr, FxHashSet<LoadAddr>>,
    pub(crate) calls: Vec<Call>,
}

/// A call of a resolver.
pub(crate) struct Call {
    pub(crate) thread: ThreadId,
    pub(crate) chooser: LoadAddr,
    /// Its return address, and the stack pointer after the return.
    pub(crate) back: (LoadAddr, u64),
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
pub(crate) fn choosers(name: &str, loaded: &Loaded) -> Vec<Chooser> {
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
pub(crate) fn relocated(
    chooser: &Chooser,
    modules: &Modules,
    os: &dyn Backend,
) -> FxHashSet<LoadAddr> {
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
