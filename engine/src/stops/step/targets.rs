//! Targets of "step into": the calls of the line that a thread is at.

use super::View;
use super::callee::{Code, body_of, function_at};
use super::region::Region;
use super::start::{Start, inlined_at};
use crate::arch::Simulation;
use crate::ids::ThreadId;
use crate::inspect::inlined::calls_beginning_at;
use dwarf::{DieRef, Function, Language, LoadAddr, ScopeKind, SourceLocation};

/// Maximum number of targets of a line.
pub(crate) const MAX_TARGETS: usize = 256;

/// A call that a step can enter.
#[derive(Clone, Debug)]
pub struct StepTarget {
    /// The thread that is about to make it.
    pub thread: ThreadId,
    /// The readable name of the function.
    pub name: String,
    /// The location of the call.
    pub location: Option<SourceLocation>,
    pub(crate) entry: Entry,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Entry {
    /// The call instruction at this address.
    Call(LoadAddr),
    /// The inlined call that begins at this address, and the number of inlined calls inside it that
    /// begin there, too.
    Inlined(LoadAddr, usize),
}

impl Entry {
    pub(crate) fn addr(self) -> LoadAddr {
        match self {
            Entry::Call(addr) | Entry::Inlined(addr, _) => addr,
        }
    }
}

/// Returns the call instructions of a region, except those in calls that are inlined into the line,
/// those whose callee is unknown or has no line info, and those for checks that failed.
pub(crate) fn calls(view: &View<'_>, start: &Start, region: &Region) -> Vec<(String, Entry)> {
    let mut simulation = Simulation::new(view.arch(), view.registers, view.memory);
    let mut code = Code::new(view);
    let mut found = Vec::new();
    let mut expected = view.registers.pc();
    for at in region.instructions.iter().copied() {
        let Some(instruction) = code.at(at) else {
            continue;
        };
        if at != expected {
            // Control may enter here by a jump, with other register values.
            simulation.forget();
        }
        expected = instruction.next();
        let direct = instruction.direct_target();
        let target = direct.or_else(|| simulation.target(&instruction));
        simulation.execute(&instruction);
        if !region.calls.iter().any(|call| call.at == at) {
            continue;
        }
        let addr = start.bias.file(at);
        if inlined_at(&start.function, addr).len() > start.inlined.len() {
            continue;
        }
        let Some(target) = target.filter(|target| body_of(view, *target, false).is_some()) else {
            continue;
        };
        if let Some((_, function)) = function_at(view, target)
            && !reports_failure(view, target, &function)
        {
            found.push((function.name.clone(), Entry::Call(at)));
        }
    }
    found
}

/// Returns whether a function of Rust's library never returns since a check has failed (an overflow, an index,
/// `unwrap`): the compiler has added most such calls, and steps do not stop in it.
fn reports_failure(view: &View<'_>, target: LoadAddr, function: &Function) -> bool {
    let homes = ["core::", "alloc::", "std::panicking::"];
    function.noreturn
        && function.language == Language::Rust
        && homes.iter().any(|it| function.name.starts_with(it))
        && body_of(view, target, true).is_none()
}

/// Returns the inlined calls of the line that begin in a region.
pub(crate) fn inlined_calls(
    view: &View<'_>,
    start: &Start,
    region: &Region,
) -> Vec<(String, Entry)> {
    let mut found = Vec::new();
    let Some(line) = &start.line else {
        return found;
    };
    let mut scopes = vec![(&start.function.scope, start.inlined.as_slice())];
    while let Some((scope, path)) = scopes.pop() {
        for child in &scope.children {
            let ScopeKind::Inlined(call) = &child.kind else {
                scopes.push((child, path));
                continue;
            };
            if let Some((next, rest)) = path.split_first() {
                if child.id == *next {
                    scopes.push((child, rest));
                }
                continue;
            }
            let site = call.call_site.as_ref();
            let is_here = site.is_some_and(|it| it.line == line.line && it.file == line.file);
            let entry = start.bias.load(call.entry);
            if is_here && region.instructions.contains(&entry) {
                let left_out = calls_in(view, entry, child.id);
                found.push((call.name.clone(), Entry::Inlined(entry, left_out)));
            }
        }
    }
    found
}

/// Returns the number of inlined calls inside the call `id` that begin at the same address as it.
fn calls_in(view: &View<'_>, entry: LoadAddr, id: DieRef) -> usize {
    let Some(loaded) = view.modules.at(entry) else {
        return 0;
    };
    let addr = loaded.bias.file(entry);
    let Some(function) = loaded.module.function_at(addr) else {
        return 0;
    };
    let chain = inlined_at(&function, addr);
    let deeper = chain.iter().rev().take_while(|it| **it != id).count();
    deeper.min(calls_beginning_at(&loaded.module, addr))
}
