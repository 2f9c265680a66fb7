//! The paths of traced calls, as far as the debugger evaluates their hits: it writes the same memory as
//! the program's code.

use crate::debugger::Debugger;
use crate::ids::{BreakpointId, ThreadId};
use crate::inferior::jump_patch::call_paths::{self, CallPaths};
use crate::os::Shared;
use dwarf::LoadAddr;
use std::rc::Rc;

impl Debugger {
    /// Returns whether memory of a tracepoint is still where it was in the program, or was never there:
    /// after an exec it is gone.
    pub(super) fn is_mapped(&self, at: Option<LoadAddr>) -> bool {
        let areas = &self.inferior.jumps.trace_areas;
        at.is_none_or(|at| areas.iter().any(|area| area.0 == at))
    }

    /// Returns zeroed memory that the program and the debugger share, and its address in the program;
    /// memory of the debugger alone if that is not possible.
    pub(super) fn shared_memory(
        &mut self,
        thread: ThreadId,
        near: LoadAddr,
        len: u64,
    ) -> Option<(Option<LoadAddr>, Shared)> {
        match self.inferior.map_shared(thread, near, len) {
            Ok((at, shared)) => {
                self.inferior.jumps.trace_areas.push((at, len));
                Some((Some(at), shared))
            }
            Err(_) => Some((None, Shared::private(len as usize).ok()?)),
        }
    }

    /// Returns the paths of a tracepoint's calls. Their memory is mapped in the program the first time,
    /// or only here if that is not possible. `None`: the tracepoint was removed.
    pub(super) fn call_paths(
        &mut self,
        id: BreakpointId,
        thread: ThreadId,
        near: LoadAddr,
    ) -> Option<Rc<CallPaths>> {
        let known = self.traces.get(id).and_then(|state| state.paths.as_ref());
        if let Some(paths) = known.filter(|it| self.is_mapped(it.at)) {
            return Some(paths.clone());
        }
        let (at, shared) = self.shared_memory(thread, near, call_paths::LEN)?;
        let state = self.traces.0.get_mut(&id)?;
        Some(
            state
                .paths
                .insert(Rc::new(CallPaths::new(at, shared)))
                .clone(),
        )
    }

    /// Adds a call to those in progress of a stopped thread. Returns the functions of its path,
    /// outermost first; none if there is no room for it.
    pub(super) fn enter_path(
        &mut self,
        id: BreakpointId,
        thread: ThreadId,
        (entry, frame): (LoadAddr, LoadAddr),
    ) -> Vec<String> {
        let Some(paths) = self.call_paths(id, thread, entry) else {
            return Vec::new();
        };
        let hidden = self.stops.breakpoints.hidden(id, entry);
        let site = paths.site(entry, || self.function_name_at(entry, hidden, true));
        let path = site.map_or(0, |site| paths.enter(thread, frame, site));
        paths.names(path)
    }

    /// Takes a call that returns out of those in progress.
    pub(super) fn leave_path(&self, id: BreakpointId, thread: ThreadId, frame: LoadAddr) {
        let paths = self.traces.get(id).and_then(|state| state.paths.as_ref());
        if let Some(paths) = paths {
            paths.leave(thread, frame);
        }
    }

    /// Forgets the calls of a thread that has ended.
    pub(crate) fn forget_paths(&self, thread: ThreadId) {
        let all = self.traces.0.values();
        for paths in all.filter_map(|state| state.paths.as_ref()) {
            paths.forget(thread);
        }
    }
}
