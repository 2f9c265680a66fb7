//! Message sends of Objective-C: the functions of its runtime that jump to a method's implementation,
//! and where a step waits for that jump.
//!
//! A send passes the receiver and the selector to `objc_msgSend`, which looks the implementation up, in a
//! cache or by a slow call, and jumps to it with the stack as it was at the call. So the implementation
//! is the target of one of the indirect jumps of that function.

use super::callee::{Code, behind_stub, stub_target};
use super::{Target, View};
use crate::arch::{Flow, Instruction};
use dwarf::{LoadAddr, SymbolKind};
use rustc_hash::FxHashSet;

/// Maximum number of jumps to follow from stub to stub.
const MAX_STUBS: usize = 4;
/// Maximum number of instructions of such a function; Apple's have some 200.
const MAX_INSTRUCTIONS: usize = 2_000;
/// Maximum number of its indirect jumps; Apple's have some 5.
const MAX_JUMPS: usize = 32;
/// The function that jumps to implementations. Variants begin with its name: `objc_msgSend_stret`,
/// `objc_msgSendSuper2`. So do stubs of the linker that load the selector first: `objc_msgSend$count`.
const SEND: &str = "objc_msgSend";
/// Functions that send messages for a caller that only names the receiver (objc-internal.h, from clang's
/// calls of `ObjCMethodCallKind`).
const HELPERS: [&str; 13] = [
    "objc_alloc",
    "objc_allocWithZone",
    "objc_alloc_init",
    "objc_autorelease",
    "objc_opt_class",
    "objc_opt_isKindOfClass",
    "objc_opt_new",
    "objc_opt_respondsToSelector",
    "objc_opt_self",
    "objc_release",
    "objc_retain",
    "objc_retainAutorelease",
    "objc_retainAutoreleasedReturnValue",
];

/// A function that a message is sent by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dispatcher {
    /// It jumps to the implementation.
    Send(LoadAddr),
    /// It begins here and calls a function that does.
    Helper(LoadAddr),
}

/// Returns the function that a call at `target` sends a message by, also through stubs; `None` if it is
/// none.
pub fn dispatcher(view: &View<'_>, target: LoadAddr) -> Option<Dispatcher> {
    let mut target = target;
    for _ in 0..MAX_STUBS {
        if is_other_function(view, target) {
            return None;
        }
        if let Some(found) = named(view, target) {
            return Some(found);
        }
        target = behind_stub(view, target).or_else(|| stub_target(view, target))?;
    }
    None
}

fn named(view: &View<'_>, entry: LoadAddr) -> Option<Dispatcher> {
    let loaded = view.modules.at(entry)?;
    let addr = loaded.bias.file(entry);
    let symbol = loaded.module.symbol_at(addr)?;
    // A stub of the linker has a name like that of what it leads to, and a jump of its own.
    if symbol.addr != addr || symbol.name.contains(['$', '@']) {
        return None;
    }
    if symbol.name.starts_with(SEND) {
        return Some(Dispatcher::Send(entry));
    }
    let is_helper = HELPERS.contains(&symbol.name);
    is_helper.then_some(Dispatcher::Helper(entry))
}

/// Returns whether debug info names a function at its entry that is none of the runtime's.
fn is_other_function(view: &View<'_>, entry: LoadAddr) -> bool {
    let function = view.modules.at(entry).and_then(|loaded| {
        let function = loaded.module.function_at(loaded.bias.file(entry))?;
        (loaded.bias.load(function.entry) == entry).then_some(function)
    });
    function.is_some_and(|function| !function.name.starts_with("objc_"))
}

/// A message that is being sent.
#[derive(Clone, Debug)]
pub struct Sending {
    /// The jumps to implementations.
    jumps: Vec<LoadAddr>,
    /// Where the method returns to.
    back: Target,
    /// The helper that may send further messages.
    helper: Option<LoadAddr>,
}

impl Sending {
    /// Returns the message that a call of `target` sends, which returns to `back`; `None` if it sends none.
    pub fn of(view: &View<'_>, target: LoadAddr, back: Target) -> Option<Self> {
        let (jumps, helper) = match dispatcher(view, target)? {
            Dispatcher::Send(entry) => (jumps(view, entry), None),
            Dispatcher::Helper(entry) => (jumps_beside(view, entry), Some(entry)),
        };
        (!jumps.is_empty()).then_some(Self {
            jumps,
            back,
            helper,
        })
    }

    /// Returns the addresses to stop at.
    pub fn jumps(&self) -> &[LoadAddr] {
        &self.jumps
    }

    /// Returns whether it may still send messages after a method without source.
    pub fn goes_on(&self) -> bool {
        self.helper.is_some()
    }

    /// Returns the implementation that the thread is about to jump to, if it is that of this message and
    /// not of one sent meanwhile, such as `initialize`.
    pub fn implementation(&self, view: &View<'_>) -> Option<LoadAddr> {
        let arch = view.arch();
        let landing = arch.return_at_entry(view.registers, view.memory)?;
        let is_direct = Target::from(landing) == self.back;
        if !is_direct && !self.is_from_helper(view, landing.addr) {
            return None;
        }
        let jump = arch.read(view.memory, view.registers.pc())?;
        jump.target(view.registers, view.memory)
    }

    fn is_from_helper(&self, view: &View<'_>, back: LoadAddr) -> bool {
        let Some(helper) = self.helper else {
            return false;
        };
        let Some(loaded) = view.modules.at(back) else {
            return false;
        };
        let symbol = loaded.module.symbol_at(loaded.bias.file(back));
        symbol.is_some_and(|symbol| loaded.bias.load(symbol.addr) == helper)
    }
}

/// Returns where a method returns to whose message an instruction sends that the thread is about to
/// execute: a call, or a jump that leaves its function.
pub fn back_of(view: &View<'_>, instruction: &Instruction) -> Option<Target> {
    if instruction.is_call() {
        return Some(Target {
            addr: instruction.next(),
            sp: view.registers.sp(),
        });
    }
    let landing = view.arch().return_at_entry(view.registers, view.memory)?;
    Some(landing.into())
}

/// Returns the indirect jumps of the function at `entry`, and of those that it jumps to.
fn jumps(view: &View<'_>, entry: LoadAddr) -> Vec<LoadAddr> {
    let mut code = Code::new(view);
    let (mut seen, mut todo) = (FxHashSet::default(), vec![entry]);
    let mut found = Vec::new();
    while let Some(at) = todo.pop() {
        if seen.len() >= MAX_INSTRUCTIONS || found.len() >= MAX_JUMPS || !seen.insert(at) {
            continue;
        }
        let Some(instruction) = code.at(at) else {
            continue;
        };
        match instruction.flow {
            Flow::IndirectJump(_) => found.push(at),
            Flow::Jump(target) => todo.push(target),
            Flow::ConditionalJump(target) => todo.extend([target, instruction.next()]),
            Flow::Return | Flow::Fault => {}
            _ => todo.push(instruction.next()),
        }
    }
    found
}

/// Returns the jumps to implementations in the image of a helper.
fn jumps_beside(view: &View<'_>, helper: LoadAddr) -> Vec<LoadAddr> {
    let Some(loaded) = view.modules.at(helper) else {
        return Vec::new();
    };
    let symbols = loaded.module.symbols_named(SEND);
    let mut code = symbols
        .iter()
        .filter(|it| it.kind == SymbolKind::Function && it.addr.0 != 0);
    let entry = code.next().map(|symbol| loaded.bias.load(symbol.addr));
    entry.map_or_else(Vec::new, |entry| jumps(view, entry))
}
