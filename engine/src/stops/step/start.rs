//! The position at which a step begins.

use super::filter::StepFilter;
use crate::images::modules::Modules;
use dwarf::{
    FileAddr, Function, InlinedSubroutine, LineRow, LoadAddr, LoadBias, ScopeKind, SourceLocation,
};
use std::sync::Arc;

/// The line or the inlined call that a step has to leave.
#[derive(Clone, Debug)]
pub struct Start {
    /// The line; `None`: the step ends only outside of the scope.
    pub line: Option<SourceLocation>,
    /// The concrete function.
    pub function: Arc<Function>,
    /// The load bias of its image.
    pub bias: LoadBias,
    /// The inlined calls around the beginning of the step, by the ids of their entries, outermost
    /// first.
    pub inlined: Vec<dwarf::DieRef>,
    /// For each of them, the location of the call, if it or one inside it is the body of an `async
    /// fn`, which may be left by suspension.
    pub awaits: Vec<Option<SourceLocation>>,
}

impl Start {
    /// Returns the position of a thread at `pc` with `hidden` inlined calls not entered yet; `None`
    /// if no function is known there.
    pub fn at(modules: &Modules, pc: LoadAddr, hidden: usize) -> Option<Start> {
        let loaded = modules.at(pc)?;
        let addr = loaded.bias.file(pc);
        let function = loaded.module.function_at(addr)?;
        let mut inlined = inlined_at(&function, addr);
        let mut line = loaded.module.place_at(addr);
        if hidden > 0 {
            inlined.truncate(inlined.len().saturating_sub(hidden));
            let frames = function.frames_at(addr);
            let entered = frames.get(hidden - 1).and_then(|frame| frame.inlined);
            line = entered.and_then(|call| call.call_site.clone());
        }
        let awaits = awaits_at(&function, addr, inlined.len());
        Some(Start {
            line,
            awaits,
            function,
            bias: loaded.bias,
            inlined,
        })
    }

    /// Returns the line that the frame of the step shows at an address with this row: that of the
    /// outermost call that is inlined into the frame there, if any.
    pub fn line_shown(&self, row: &LineRow, addr: FileAddr) -> Option<SourceLocation> {
        let calls = inlined_at(&self.function, addr).len();
        let Some(outermost) = calls.checked_sub(self.inlined.len() + 1) else {
            return row.location.clone();
        };
        let frames = self.function.frames_at(addr);
        frames.get(outermost)?.inlined?.call_site.clone()
    }

    /// Returns the innermost frame at `pc` (inlined calls are frames) whose line steps stop in.
    pub fn shown_at(modules: &Modules, filters: StepFilter<'_>, pc: LoadAddr) -> Option<Start> {
        let loaded = modules.at(pc)?;
        if loaded.is_of_the_system() {
            let shows = filters.shows(loaded, loaded.bias.file(pc));
            return shows.then(|| Start::at(modules, pc, 0))?;
        }
        let innermost = Start::at(modules, pc, 0)?;
        let shown = |start: &Start| {
            let line = start.line.as_ref();
            line.is_some_and(|line| !filters.skips(&line.file))
        };
        let calls = innermost.inlined.len();
        if shown(&innermost) {
            return Some(innermost);
        }
        let mut outer = (1..=calls).filter_map(|hidden| Start::at(modules, pc, hidden));
        outer.find(shown)
    }
}

/// Returns [`Start::awaits`] for the `depth` outermost inlined calls at an address.
fn awaits_at(function: &Function, addr: FileAddr, depth: usize) -> Vec<Option<SourceLocation>> {
    let frames = function.frames_at(addr);
    let calls = frames.iter().rev().filter_map(|frame| frame.inlined);
    let calls: Vec<&InlinedSubroutine> = calls.take(depth).collect();
    let innermost = calls.iter().rposition(|call| call.coroutine.is_some());
    let may_wait = |at: usize| innermost.is_some_and(|innermost| at <= innermost);
    let calls = calls.iter().enumerate();
    calls
        .map(|(at, call)| call.call_site.clone().filter(|_| may_wait(at)))
        .collect()
}

/// Returns the inlined calls at an address, outermost first.
pub fn inlined_at(function: &Function, addr: FileAddr) -> Vec<dwarf::DieRef> {
    let mut chain: Vec<dwarf::DieRef> = function
        .frames_at(addr)
        .iter()
        .filter(|frame| frame.inlined.is_some())
        .filter_map(|frame| frame.scopes.first())
        .filter(|scope| matches!(scope.kind, ScopeKind::Inlined(_)))
        .map(|scope| scope.id)
        .collect();
    chain.reverse();
    chain
}
