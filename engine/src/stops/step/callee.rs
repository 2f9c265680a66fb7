//! The target of a call: the body to step into, found through linkage tables and thunks, and the
//! functions that filtered code may call.

use super::View;
use super::dispatch::dispatcher;
use crate::arch::{Arch, Flow, Instruction, Simulation, TargetSource};
use crate::images::body;
use crate::images::modules::{Loaded, Modules};
use dwarf::{Function, LoadAddr, Memory};
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;
use std::sync::Arc;

/// Maximum number of jumps to follow from stub to stub.
const MAX_STUBS: usize = 4;
/// Maximum number of instructions before the jump of a thunk, which unoptimized ones need.
const MAX_STUB_INSTRUCTIONS: usize = 24;
/// Maximum number of instructions to search for calls of functions with source.
const MAX_INSTRUCTIONS: usize = 60_000;
/// Maximum number of addresses that get a trap while such code runs.
const MAX_TRAPS: usize = 256;

/// Returns where to stop when the function called at `target` is entered: its body, if it has
/// lines, also through procedure linkage tables and thunks. `None` if it is `filtered` and matches
/// the step filters.
pub fn body_of(view: &View<'_>, target: LoadAddr, filtered: bool) -> Option<LoadAddr> {
    let (loaded, function) = function_at(view, target)?;
    let body = body::passed_by_each_call(&loaded.module, &function);
    let shown = match filtered {
        true => view.filters.shows(loaded, body),
        false => view.filters.has_source(loaded, body),
    };
    shown.then(|| loaded.bias.load(body))
}

/// Returns the function that a call at `target` enters.
pub fn function_at<'a>(view: &View<'a>, target: LoadAddr) -> Option<(&'a Loaded, Arc<Function>)> {
    let mut target = target;
    for _ in 0..MAX_STUBS {
        let loaded = view.modules.at(target)?;
        let addr = loaded.bias.file(target);
        match loaded.module.function_at(addr) {
            Some(function) if addr != function.entry => return None,
            // A thunk may have an entry of its own, and no lines.
            Some(function) if has_lines(loaded, &function) => return Some((loaded, function)),
            _ => {}
        }
        target = behind_stub(view, target)?;
    }
    None
}

/// Returns whether a function has lines. Its entry may have none: compilers mark instructions that
/// they made up.
fn has_lines(loaded: &Loaded, function: &Function) -> bool {
    let has_line = |addr| {
        loaded
            .module
            .row_at(addr)
            .is_some_and(|row| row.location.is_some())
    };
    has_line(function.entry) || has_line(loaded.module.body_start(function))
}

/// Returns the final target of a stub (PLT entry, thunk).
pub(super) fn behind_stub(view: &View<'_>, stub: LoadAddr) -> Option<LoadAddr> {
    let target = stub_target(view, stub)?;
    let loaded = view.modules.at(stub)?;
    let inside = view.modules.at(target).is_some_and(|it| it.id == loaded.id);
    let function = loaded.module.function_at(loaded.bias.file(target));
    if inside && function.is_none() {
        // Not bound yet: the jump leads back into the table, so look up the name.
        return by_name(view.modules, stub);
    }
    Some(target)
}

/// Returns the address that a stub jumps to at present.
pub(super) fn stub_target(view: &View<'_>, stub: LoadAddr) -> Option<LoadAddr> {
    let mut at = stub;
    // A set whose jumps name no word loads the target into a register first.
    let mut simulation = Simulation::new(view.arch(), view.registers, view.memory);
    for _ in 0..MAX_STUB_INSTRUCTIONS {
        let instruction = view.arch().read(view.memory, at)?;
        match instruction.flow {
            Flow::Jump(_) | Flow::IndirectJump(_) => {
                // Only targets that do not depend on unknown registers can be predicted.
                let direct = instruction.direct_target();
                return direct.or_else(|| simulation.target(&instruction));
            }
            Flow::Next => {
                simulation.execute(&instruction);
                at = instruction.next();
            }
            _ => return None,
        }
    }
    None
}

fn by_name(modules: &Modules, stub: LoadAddr) -> Option<LoadAddr> {
    let loaded = modules.at(stub)?;
    let symbol = loaded.module.symbol_at(loaded.bias.file(stub))?;
    let name = symbol.name.strip_suffix("@plt")?;
    modules.loaded.iter().find_map(|loaded| {
        let symbols = loaded.module.symbols_named(name);
        let mut code = symbols.into_iter().filter(|it| {
            // An undefined symbol has no address.
            it.kind == dwarf::SymbolKind::Function && it.addr.0 != 0
        });
        Some(loaded.bias.load(code.next()?.addr))
    })
}

/// The code of functions, read from their images, or else from the process.
pub struct Code<'a> {
    arch: Arch,
    modules: &'a Modules,
    memory: &'a dyn Memory,
    /// Bytes around the last requested address.
    bytes: Vec<u8>,
    start: LoadAddr,
}

/// Number of bytes to read at once.
const WINDOW: usize = 256;

impl<'a> Code<'a> {
    /// Returns a reader that has read nothing yet.
    pub fn new(view: &View<'a>) -> Self {
        Self {
            arch: view.arch(),
            modules: view.modules,
            memory: view.memory,
            bytes: Vec::new(),
            start: LoadAddr(0),
        }
    }

    /// Returns the instruction at an address.
    pub fn at(&mut self, addr: LoadAddr) -> Option<Instruction> {
        let known = |code: &Self| {
            let offset = usize::try_from(addr.0.checked_sub(code.start.0)?).ok()?;
            code.arch.decode(code.bytes.get(offset..)?, addr)
        };
        if let Some(instruction) = known(self) {
            return Some(instruction);
        }
        self.bytes.resize(WINDOW, 0);
        self.start = addr;
        let read = self.modules.at(addr).and_then(|loaded| {
            let addr = loaded.bias.file(addr);
            loaded.module.read_image(addr, &mut self.bytes)
        });
        match read {
            Some(()) => known(self),
            None => {
                self.bytes.clear();
                self.arch.read(self.memory, addr)
            }
        }
    }
}

/// The functions that filtered code may call.
#[derive(Default, Debug)]
pub struct ReachableCalls {
    /// Bodies of functions with source that it calls directly.
    pub bodies: Vec<LoadAddr>,
    /// Indirect calls in it whose targets are not known in advance.
    pub indirect: Vec<LoadAddr>,
}

impl ReachableCalls {
    /// Adds the functions that other code may call.
    pub fn add(&mut self, other: &ReachableCalls) {
        for (own, others) in [
            (&mut self.bodies, &other.bodies),
            (&mut self.indirect, &other.indirect),
        ] {
            for addr in others {
                if own.len() < MAX_TRAPS && !own.contains(addr) {
                    own.push(*addr);
                }
            }
        }
    }
}

/// Reachable calls by function entry.
pub type Reaches = FxHashMap<(LoadAddr, bool), Rc<ReachableCalls>>;

/// Returns what the function that a call at `target` enters may call in turn, as far as the code
/// that it runs through has lines.
pub fn reach(view: &View<'_>, target: LoadAddr) -> Rc<ReachableCalls> {
    let key = (target, view.filters.needs_source());
    let known = view
        .reaches
        .with(view.modules, |known| known.get(&key).cloned());
    known.unwrap_or_else(|| {
        let found = Rc::new(search(view, target));
        view.reaches
            .with(view.modules, |known| known.insert(key, Rc::clone(&found)));
        found
    })
}

fn search(view: &View<'_>, from: LoadAddr) -> ReachableCalls {
    let mut found = ReachableCalls::default();
    let mut code = Code::new(view);
    let (mut seen, mut called) = (FxHashSet::default(), FxHashSet::default());
    let mut todo = Vec::new();
    // Returns false if nothing is known about the function.
    let mut enter = |target: LoadAddr, todo: &mut Vec<LoadAddr>, found: &mut ReachableCalls| {
        if !called.insert(target) {
            return true;
        }
        let Some((loaded, function)) = function_at(view, target) else {
            return !is_own(view, target);
        };
        let body = body::passed_by_each_call(&loaded.module, &function);
        if view.filters.shows(loaded, body) {
            found.bodies.push(loaded.bias.load(body));
        } else if !loaded.is_of_the_system() {
            todo.push(loaded.bias.load(function.entry));
        }
        true
    };
    enter(from, &mut todo, &mut found);
    // The instructions in order up to the present one.
    let mut straight: Vec<Instruction> = Vec::new();
    while let Some(at) = todo.pop() {
        if seen.len() >= MAX_INSTRUCTIONS
            || found.bodies.len() >= MAX_TRAPS
            || found.indirect.len() >= MAX_TRAPS
        {
            break;
        }
        if !seen.insert(at) {
            continue;
        }
        let Some(instruction) = code.at(at) else {
            continue;
        };
        let next = instruction.next();
        if straight.last().is_some_and(|last| last.next() != at) {
            straight.clear();
        }
        if straight.len() >= MAX_STUB_INSTRUCTIONS {
            straight.drain(..MAX_STUB_INSTRUCTIONS / 2);
        }
        straight.push(instruction);
        match instruction.flow {
            Flow::Call(target) => {
                if !enter(target, &mut todo, &mut found) || dispatcher(view, target).is_some() {
                    // It may be passed functions to call, or an object whose method it calls.
                    found.indirect.push(at);
                }
                todo.push(next);
            }
            Flow::IndirectCall(_) => {
                match view.arch().fixed_target(&straight, view.memory) {
                    Some(target) if dispatcher(view, target).is_some() => found.indirect.push(at),
                    Some(target) => {
                        enter(target, &mut todo, &mut found);
                    }
                    None => found.indirect.push(at),
                }
                todo.push(next);
            }
            // A jump may be a tail call.
            Flow::Jump(target) if target.0.abs_diff(at.0) > 1 << 16 => {
                enter(target, &mut todo, &mut found);
            }
            Flow::Jump(target) => todo.push(target),
            Flow::ConditionalJump(target) => todo.extend([target, next]),
            Flow::IndirectJump(source) => {
                match (view.arch().fixed_target(&straight, view.memory), source) {
                    (Some(target), _) if dispatcher(view, target).is_some() => {
                        found.indirect.push(at);
                    }
                    (Some(target), _) => {
                        enter(target, &mut todo, &mut found);
                    }
                    // A jump table within this function.
                    (None, TargetSource::Computed) => todo.extend(rows_around(view, at)),
                    // A tail call through a vtable.
                    (None, _) => found.indirect.push(at),
                }
            }
            Flow::Return | Flow::Fault | Flow::Interrupt => {}
            _ => todo.push(next),
        }
    }
    found.bodies.truncate(MAX_TRAPS);
    found.indirect.truncate(MAX_TRAPS);
    found
}

/// Returns the addresses of the rows of the function around an address; all are instructions.
fn rows_around(view: &View<'_>, at: LoadAddr) -> Vec<LoadAddr> {
    let Some(loaded) = view.modules.at(at) else {
        return Vec::new();
    };
    let Some(function) = loaded.module.function_at(loaded.bias.file(at)) else {
        return Vec::new();
    };
    let ranges = function.ranges.iter();
    let rows = ranges.flat_map(|range| loaded.module.rows_in(*range));
    rows.map(|row| loaded.bias.load(row.range.start)).collect()
}

/// Returns whether code without debug info belongs to an image that is not a system library.
fn is_own(view: &View<'_>, target: LoadAddr) -> bool {
    let loaded = view.modules.at(target);
    loaded.is_some_and(|it| !it.is_of_the_system()) && behind_stub(view, target).is_none()
}

/// Returns what a call may reach through pointers to functions among its arguments in registers.
pub fn given(view: &View<'_>) -> ReachableCalls {
    let arguments = view.arch().convention().integers.iter();
    let values = arguments.filter_map(|register| view.registers.get(*register));
    let mut found = ReachableCalls::default();
    for value in values.map(LoadAddr) {
        let target = code_of_block(view, value).unwrap_or(value);
        let own = |loaded: &Loaded| {
            let function = loaded.module.function_at(loaded.bias.file(target));
            let is_entry = function.is_some_and(|it| loaded.bias.load(it.entry) == target);
            // Images contain data, too.
            is_entry && !loaded.is_of_the_system()
        };
        if !view.modules.at(target).is_some_and(own) {
            continue;
        }
        match body_of(view, target, true) {
            Some(body) => found.bodies.push(body),
            None => found.add(&reach(view, target)),
        }
    }
    found
}

/// Returns the code of a block, a closure of C and Objective-C, at an address: clang names the function.
fn code_of_block(view: &View<'_>, block: LoadAddr) -> Option<LoadAddr> {
    /// Offset of `invoke` (Clang's Block-ABI-Apple).
    const INVOKE: u64 = 16;
    if view
        .modules
        .at(block)
        .is_some_and(|it| it.is_of_the_system())
    {
        return None;
    }
    let invoke = LoadAddr(block.0.checked_add(INVOKE)?);
    let code = LoadAddr(view.memory.read_uint(invoke, 8).ok()?);
    let loaded = view.modules.at(code)?;
    let function = loaded.module.function_at(loaded.bias.file(code))?;
    function.name.contains("_block_invoke").then_some(code)
}
