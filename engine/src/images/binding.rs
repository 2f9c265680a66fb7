//! Which definition the code of an image means by a symbol that several images define: plugins with the same
//! names, a program's copies of a library's variables (`R_X86_64_COPY`), inline variables, an interposed
//! function. The dynamic linker has decided that, and has written its answer into the words (slots) that the
//! image's code uses. Of a symbol without a slot, which that code does not use, or before the loader has
//! written it, the order in which the loader searches decides as far as it is known: the program with the
//! libraries of its start, the image itself, the libraries that it needs.

use crate::ids::ModuleId;
use crate::images::modules::{Loaded, Modules};
use crate::images::names::{CodePlace, Static};
use crate::images::tls;
use dwarf::{
    FileAddr, Function, LoadAddr, Memory, Module, SharedSymbol, SimpleLocation, SymbolKind,
    Variable, VariableKind, VisiblePaths,
};
use std::sync::Arc;

/// What the code of an image means by a symbol.
#[derive(Clone, Copy)]
enum Bound<'a> {
    /// What is at an address.
    At(LoadAddr),
    /// The thread-local variable of an image, at an offset in its storage.
    ThreadLocal(&'a Loaded, u64),
    /// Nothing: it is weak, and the loader has found no definition.
    Nothing,
}

/// Returns whether a variable has its storage in its image.
fn has_storage(module: &Module, variable: &Variable) -> bool {
    !variable.is_only_declared || module.thread_local_offset(variable).is_some()
}

/// Returns whether a variable may be one that images share.
pub(crate) fn may_be_shared(variable: &Variable) -> bool {
    matches!(variable.place, Some(SimpleLocation::Address(_)))
        || variable.is_external && (variable.is_only_declared || variable.place.is_none())
}

/// Returns the symbol by which other images would refer to a variable: also to one that they cannot see.
fn symbol_for_others(variable: &Variable) -> String {
    match &*variable.namespace {
        _ if variable.is_external => variable.symbol().to_owned(),
        "" => variable.name.clone(),
        namespace => dwarf::nested_symbol(namespace, &variable.name),
    }
}

/// Returns the symbol by which the code of an image refers to a variable that others may define, too. A static
/// of an inline function has one that debug info does not tell.
fn shared_name<'a>(module: &Module, variable: &'a Variable) -> Option<&'a str> {
    match variable.place {
        Some(SimpleLocation::Address(at)) => module.shared_data(FileAddr(at), variable.symbol()),
        _ => {
            let is_static = variable.kind == VariableKind::Static && variable.is_external;
            is_static.then(|| variable.symbol())
        }
    }
}

impl Modules {
    /// Returns a variable of an image with the storage that the image's code uses, which may be another
    /// image's. `memory`: of the process; without it, the loader's answers are not read.
    pub(crate) fn with_storage<'a>(
        &'a self,
        loaded: &'a Loaded,
        variable: Variable,
        memory: Option<&dyn Memory>,
    ) -> Static<'a> {
        let module = &loaded.module;
        if variable.is_only_declared && !has_storage(module, &variable) {
            return match variable.kind == VariableKind::Static && variable.is_external {
                true => self.defined_elsewhere(loaded, variable, memory),
                false => Static::Variable(loaded, variable),
            };
        }
        // The loader searches the program first.
        if loaded.is_program || !may_be_shared(&variable) {
            return Static::Variable(loaded, variable);
        }
        let symbol = shared_name(module, &variable);
        let shared = symbol.and_then(|symbol| Some((symbol, module.shared_symbol(symbol)?)));
        let shared = shared.filter(|(_, shared)| {
            // A constant needs no storage.
            variable.place.is_some() || shared.is_thread_local
        });
        let Some((symbol, shared)) = shared else {
            return Static::Variable(loaded, variable);
        };
        let own = shared.definition.map(|addr| loaded.bias.load(addr));
        match self.bound(symbol, loaded, memory) {
            Some(Bound::At(addr)) if Some(addr) != own => Static::Elsewhere(loaded, variable, addr),
            Some(Bound::ThreadLocal(home, offset)) if home.id != loaded.id => {
                Static::ThreadLocal(loaded, variable, home, offset)
            }
            _ => Static::Variable(loaded, variable),
        }
    }

    /// Finds the definition of a variable that an image only declares.
    fn defined_elsewhere<'a>(
        &'a self,
        loaded: &'a Loaded,
        variable: Variable,
        memory: Option<&dyn Memory>,
    ) -> Static<'a> {
        let symbol = variable.symbol().to_owned();
        let module = &loaded.module;
        // The symbol of the image itself: an unit without debug info, or the copy of a library's
        // variable.
        let own = || Some(Bound::At(loaded.bias.load(module.global_object(&symbol)?)));
        let bound = match module.shared_symbol(&symbol) {
            Some(_) => self.bound(&symbol, loaded, memory).or_else(own),
            None => own().or_else(|| self.searched(&symbol, loaded, true)),
        };
        match bound {
            Some(bound) => self.described(loaded, variable, bound),
            None => Static::Variable(loaded, variable),
        }
    }

    /// Returns a variable of an image as the image that has its storage describes it, which may know its
    /// whole type.
    fn described<'a>(
        &'a self,
        loaded: &'a Loaded,
        variable: Variable,
        bound: Bound<'a>,
    ) -> Static<'a> {
        let home = match bound {
            Bound::At(addr) => self.at(addr),
            Bound::ThreadLocal(home, _) => Some(home),
            Bound::Nothing => None,
        };
        let qualified = variable.qualified_name();
        let defined = home.and_then(|home| {
            let paths = VisiblePaths::global(&qualified);
            let defined = home.module.statics_visible(&qualified, &paths, None);
            let is_it = |it: &Variable| match (bound, it.place) {
                (Bound::At(addr), Some(SimpleLocation::Address(at))) => {
                    home.bias.load(FileAddr(at)) == addr
                }
                (Bound::ThreadLocal(..), None) => has_storage(&home.module, it),
                _ => false,
            };
            let mut defined = defined.into_iter().map(|it| it.variable);
            Some((home, defined.find(is_it)?))
        });
        match (defined, bound) {
            (Some((home, defined)), _) => Static::Variable(home, defined),
            (_, Bound::At(addr)) => Static::Elsewhere(loaded, variable, addr),
            (_, Bound::ThreadLocal(home, offset)) => {
                Static::ThreadLocal(loaded, variable, home, offset)
            }
            (_, Bound::Nothing) => Static::Variable(loaded, variable),
        }
    }

    /// Returns a variable that was found by its name, with the storage that the code of a place uses: of
    /// another image's, that to which the place's image refers by the same symbol. `None`: it refers to
    /// nothing by it.
    pub(crate) fn seen_from<'a>(
        &'a self,
        place: Option<&CodePlace<'a>>,
        loaded: &'a Loaded,
        variable: Variable,
    ) -> Option<Static<'a>> {
        let memory = place.and_then(|place| place.memory);
        let here = place.map(|place| place.loaded);
        let here = here.filter(|here| here.id != loaded.id && !here.module.is_of_apple());
        let symbol = symbol_for_others(&variable);
        match here {
            Some(here) if here.module.shared_symbol(&symbol).is_some() => {
                match self.bound(&symbol, here, memory)? {
                    Bound::Nothing => None,
                    bound => Some(self.described(loaded, variable, bound)),
                }
            }
            _ => Some(self.with_storage(loaded, variable, memory)),
        }
    }

    /// Returns the address of the data that a raw symbol means in the code of a place: a symbol of its image,
    /// bound as the loader has done, or the first one of the others. Thread-local data is left out.
    pub(crate) fn data_named(
        &self,
        symbol: &str,
        place: Option<&CodePlace<'_>>,
    ) -> Option<LoadAddr> {
        let here = place.and_then(|place| self.get(place.loaded.id));
        let memory = place.and_then(|place| place.memory);
        match here.and_then(|here| self.bound(symbol, here, memory)) {
            Some(Bound::At(addr)) => return self.is_data(symbol, addr).then_some(addr),
            Some(Bound::ThreadLocal(..) | Bound::Nothing) => return None,
            None => {}
        }
        let here = here.map(|here| here.id);
        self.images_from(place).find_map(|loaded| {
            // Local data of libc has no bare name outside of libc ([`CodePlace::may_mean`]).
            if loaded.is_of_the_system() && here.is_some_and(|here| here != loaded.id) {
                return Some(loaded.bias.load(loaded.module.global_object(symbol)?));
            }
            let symbols = loaded.module.symbols_named(symbol);
            let mut data = symbols.iter().filter(|it| it.kind == SymbolKind::Object);
            Some(loaded.bias.load(data.next()?.addr))
        })
    }

    /// Returns whether an address is that of data with this symbol.
    fn is_data(&self, symbol: &str, addr: LoadAddr) -> bool {
        let home = self.at(addr);
        let symbols = home.map_or_else(Vec::new, |it| it.module.symbols_named(symbol));
        symbols.iter().any(|it| it.kind == SymbolKind::Object)
    }

    /// Returns what the code of an image means by a symbol; `None`: no image defines it.
    fn bound<'a>(
        &'a self,
        symbol: &str,
        loaded: &'a Loaded,
        memory: Option<&dyn Memory>,
    ) -> Option<Bound<'a>> {
        let shared = loaded.module.shared_symbol(symbol)?;
        let word = |slot: Option<FileAddr>, after: u64| {
            memory?.read_uint(loaded.bias.load(slot?) + after, 8).ok()
        };
        if shared.is_thread_local {
            let written = || {
                let number = word(shared.thread_slot, 0)?;
                let home = tls::image_with_number(self, memory?, number)?;
                Some(Bound::ThreadLocal(home, word(shared.thread_slot, 8)?))
            };
            return written().or_else(|| self.preferred(symbol, loaded, shared));
        }
        match word(shared.slot, 0) {
            Some(0) if shared.is_weak && shared.definition.is_none() => Some(Bound::Nothing),
            // Before the loader has written it, it may be anything.
            Some(addr) if self.at(LoadAddr(addr)).is_some() => Some(Bound::At(LoadAddr(addr))),
            _ => self.preferred(symbol, loaded, shared),
        }
    }

    /// Returns the definition of a symbol that an image's own code would use by the loader's rules.
    fn preferred<'a>(
        &'a self,
        symbol: &str,
        loaded: &'a Loaded,
        shared: SharedSymbol,
    ) -> Option<Bound<'a>> {
        let prefers_own = loaded.is_program || shared.is_protected || loaded.module.is_symbolic();
        match shared.definition.filter(|_| prefers_own) {
            Some(addr) if shared.is_thread_local => Some(Bound::ThreadLocal(loaded, addr.0)),
            Some(addr) => Some(Bound::At(loaded.bias.load(addr))),
            None => {
                // What the image's own code does not use, a program that opens it gets from it (dlsym).
                let is_used = shared.slot.or(shared.call_slot).is_some() || shared.is_referred_to;
                self.searched(symbol, loaded, is_used || shared.is_thread_local)
            }
        }
    }

    /// Returns the first definition of a symbol in the order in which the loader searches for an image;
    /// one that was opened later comes first itself, unless it uses the symbol.
    fn searched<'a>(
        &'a self,
        symbol: &str,
        loaded: &'a Loaded,
        is_used: bool,
    ) -> Option<Bound<'a>> {
        let images = self.loaded.iter();
        let here = images.filter(|it| it.namespace == loaded.namespace);
        let defining = here.filter_map(|it| {
            let shared = it.module.shared_symbol(symbol)?;
            Some((it, shared.definition?, shared.is_thread_local))
        });
        let defining: Vec<_> = defining.collect();
        let first = match defining.as_slice() {
            [] | [_] => defining.first(),
            several => {
                let order = SearchOrder::of(self, loaded);
                several
                    .iter()
                    .min_by_key(|(it, ..)| order.rank(it, is_used))
            }
        };
        let (home, addr, is_thread_local) = *first?;
        Some(match is_thread_local {
            true => Bound::ThreadLocal(home, addr.0),
            false => Bound::At(home.bias.load(addr)),
        })
    }

    /// Returns, instead of functions that were found by a name, those that the code of a place calls by
    /// their symbols: another image's, if the loader has decided so.
    pub(crate) fn called_from<'a>(
        &'a self,
        place: &CodePlace<'_>,
        (loaded, functions): (&'a Loaded, Vec<Arc<Function>>),
    ) -> (&'a Loaded, Vec<Arc<Function>>) {
        let symbol_of = |function: &Function| {
            let linkage = function.linkage_name.as_deref();
            linkage.unwrap_or(&function.name).to_owned()
        };
        let home_of = |function: &Arc<Function>| {
            if !function.is_external {
                return None;
            }
            let symbol = symbol_of(function);
            let here = self.get(place.loaded.id)?;
            let mut addr = self.called(&symbol, here, place.memory)?;
            let mut home = self.at(addr)?;
            // A program that is not position-independent has functions' addresses of its own, at which
            // its code calls the functions.
            if home.is_program && home.module.shared_symbol(&symbol)?.definition.is_none() {
                addr = self.called(&symbol, home, place.memory)?;
                home = self.at(addr)?;
            }
            let entry = home.bias.file(addr);
            let is_it = home.module.shared_symbol(&symbol)?.definition == Some(entry);
            let found = home
                .module
                .function_at(entry)
                .filter(|it| it.entry == entry)?;
            (is_it && home.id != loaded.id).then_some((home, found))
        };
        let homes: Option<Vec<_>> = functions.iter().map(home_of).collect();
        match homes.as_deref() {
            Some([(first, _), rest @ ..]) if rest.iter().all(|(it, _)| it.id == first.id) => {
                let first = *first;
                let found = homes.into_iter().flatten().map(|(_, function)| function);
                (first, found.collect())
            }
            _ => (loaded, functions),
        }
    }

    /// Returns the function that the code of an image calls by a symbol; `None`: its own one, or
    /// unknown.
    fn called<'a>(
        &'a self,
        symbol: &str,
        loaded: &'a Loaded,
        memory: Option<&dyn Memory>,
    ) -> Option<LoadAddr> {
        let shared = loaded.module.shared_symbol(symbol)?;
        if shared.slot.is_none() && shared.call_slot.is_none() && shared.definition.is_some() {
            return None;
        }
        // With -fno-semantic-interposition, gcc calls that, and takes only addresses from the slot.
        let alias = || loaded.module.symbols_named(&format!("{symbol}.localalias"));
        if shared.definition.is_some() && shared.call_slot.is_none() && !alias().is_empty() {
            return None;
        }
        let own = shared.definition.map(|addr| loaded.bias.load(addr));
        let word = |slot: Option<FileAddr>| {
            let addr = memory?.read_uint(loaded.bias.load(slot?), 8).ok()?;
            let addr = Some(LoadAddr(addr)).filter(|addr| addr.0 != 0)?;
            // Until the first call, the slot leads to the image's own code that asks the loader.
            let is_bound = Some(addr) == own || !loaded.range.contains(addr);
            is_bound.then_some(addr)
        };
        let written = word(shared.call_slot).or_else(|| word(shared.slot));
        written.or_else(|| match self.preferred(symbol, loaded, shared)? {
            Bound::At(addr) => Some(addr),
            _ => None,
        })
    }
}

/// The order in which the loader searches the images for a symbol that one of them uses.
struct SearchOrder<'a> {
    loaded: &'a Loaded,
    /// The last image of the program's start, as far as its libraries tell.
    last_of_start: ModuleId,
    needed: Vec<&'a Loaded>,
}

impl<'a> SearchOrder<'a> {
    fn of(modules: &'a Modules, loaded: &'a Loaded) -> SearchOrder<'a> {
        let program = modules.program().unwrap_or(loaded);
        let of_start = needed_by(modules, program).into_iter();
        let last = of_start.filter(|it| !it.is_loader()).map(|it| it.id).max();
        SearchOrder {
            loaded,
            last_of_start: last.unwrap_or(program.id),
            needed: needed_by(modules, loaded),
        }
    }

    /// Returns where an image is in the order.
    fn rank(&self, image: &Loaded, is_used: bool) -> (u8, ModuleId) {
        // Of Apple's images, any may be of the start.
        let is_of_start =
            image.module.is_of_apple() || image.namespace == 0 && image.id <= self.last_of_start;
        let rank = match () {
            () if image.is_loader() => 5,
            () if image.id == self.loaded.id && !is_of_start && !is_used => 0,
            () if is_of_start => 1,
            () if image.id == self.loaded.id => 2,
            () if self.needed.iter().any(|it| it.id == image.id) => 3,
            () => 4,
        };
        (rank, image.id)
    }
}

/// Returns an image and the libraries that it needs, and those that they need.
fn needed_by<'a>(modules: &'a Modules, first: &'a Loaded) -> Vec<&'a Loaded> {
    let mut all = vec![first];
    let mut at = 0;
    while let Some(image) = all.get(at) {
        at += 1;
        for name in image.module.needed_libraries() {
            let mut named = modules
                .loaded
                .iter()
                .filter(|it| it.namespace == first.namespace && it.module.is_library_named(name));
            all.extend(
                named
                    .next()
                    .filter(|it| all.iter().all(|known| known.id != it.id)),
            );
        }
    }
    all
}
