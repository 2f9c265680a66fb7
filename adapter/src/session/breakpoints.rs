//! The client's breakpoint sets, kept to describe them and to set them again.

use super::Session;
use engine::{BreakpointId, BreakpointInfo, CodeName, SourceBreakpoint};
use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

/// The client's breakpoints. Sets are kept by the path as the client wrote it: debugger-cli uses
/// two paths for one file, and each `setBreakpoints` replaces its own set only.
#[derive(Debug, Default)]
pub struct Breakpoints {
    sources: HashMap<String, Vec<SourceBreakpoint>>,
    /// Breakpoints in machine code, by the keys of their sets.
    codes: HashMap<String, (CodeName, Vec<SourceBreakpoint>)>,
    requested: HashMap<BreakpointId, RequestedBreakpoint>,
    instructions: HashSet<BreakpointId>,
}

/// A breakpoint as the client requested it.
#[derive(Clone, Debug)]
pub struct RequestedBreakpoint {
    /// The key of its set.
    pub path: String,
    /// The requested line.
    pub line: u32,
    /// Whether the client sent a column; if not, editors would take a column in the response for a
    /// second location.
    pub by_column: bool,
    /// The machine code; `path` is then the key of the set.
    pub code: Option<CodeName>,
}

impl Breakpoints {
    /// Returns the stop reason for breakpoints at one location: the most common kind of them.
    pub fn reason(&self, ids: &[BreakpointId]) -> &'static str {
        if ids.iter().any(|id| self.requested.contains_key(id)) {
            "breakpoint"
        } else if ids.iter().all(|id| self.instructions.contains(id)) {
            "instruction breakpoint"
        } else {
            "function breakpoint"
        }
    }

    /// Returns the client's request of a line breakpoint; `None` for other kinds.
    pub fn requested(&self, id: BreakpointId) -> Option<&RequestedBreakpoint> {
        self.requested.get(&id)
    }

    /// Records a set of line breakpoints, in a source or in machine code.
    pub fn keep(
        &mut self,
        infos: &[BreakpointInfo],
        key: String,
        code: Option<CodeName>,
        wanted: Vec<SourceBreakpoint>,
    ) {
        for (info, wanted) in infos.iter().zip(&wanted) {
            let requested = RequestedBreakpoint {
                path: key.clone(),
                line: wanted.line,
                by_column: wanted.column.is_some(),
                code: code.clone(),
            };
            self.requested.insert(info.id, requested);
        }
        match code {
            Some(code) => drop(self.codes.insert(key, (code, wanted))),
            None => drop(self.sources.insert(key, wanted)),
        }
    }

    /// Records which breakpoints are instruction breakpoints.
    pub fn keep_instructions(&mut self, infos: &[BreakpointInfo]) {
        self.instructions = infos.iter().map(|info| info.id).collect();
    }
}

/// Converts the client's path to one in the debug info.
pub fn debug_info_path(session: &Session, key: &str) -> PathBuf {
    let local = session.client.path_in(key);
    session.sources.to_debug_info(&local)
}

/// Replaces the breakpoints of one source.
pub fn set_source(
    session: &mut Session,
    key: &str,
    wanted: &[SourceBreakpoint],
) -> Vec<BreakpointInfo> {
    let source = debug_info_path(session, key);
    session
        .debugger
        .set_source_breakpoints(key, &source, wanted)
}

/// Sets all breakpoints again: the launch settings may move or disable them.
pub fn restore(session: &mut Session) {
    let off = session.settings.no_debug;
    if off {
        session.debugger.set_function_breakpoints(&[]);
        session.debugger.set_instruction_breakpoints(&[]);
        session.debugger.set_data_breakpoints(&[]);
        session.debugger.set_exception_breakpoints(&[]);
        for (key, (code, _)) in &session.breakpoints.codes {
            session.debugger.set_code_breakpoints(key, code, &[]);
        }
    }
    if off || !session.sources.map().is_empty() {
        let sets = std::mem::take(&mut session.breakpoints.sources);
        for (key, wanted) in &sets {
            set_source(session, key, if off { &[] } else { wanted });
        }
        session.breakpoints.sources = sets;
    }
}

/// Sets the line breakpoints again after a change of the source map.
pub fn move_sources(session: &mut Session) -> Vec<BreakpointInfo> {
    if session.settings.no_debug {
        return Vec::new();
    }
    let sets = std::mem::take(&mut session.breakpoints.sources);
    let mut infos = Vec::new();
    for (key, wanted) in &sets {
        infos.extend(set_source(session, key, wanted));
    }
    session.breakpoints.sources = sets;
    infos
}
