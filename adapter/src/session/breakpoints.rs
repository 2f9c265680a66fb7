//! The breakpoints that the client has set, as far as they have to be known again.

use super::Session;
use super::describe::described;
use crate::protocol::BreakpointEventBody;
use engine::{BreakpointId, BreakpointInfo, CodeName, SourceBreakpoint};
use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

/// What the client set. Sets are kept by path exactly as it was spelled: debugger-cli has two
/// spellings of one file, and each `setBreakpoints` replaces its own set only.
#[derive(Debug, Default)]
pub struct Breakpoints {
    sources: HashMap<String, Vec<SourceBreakpoint>>,
    /// Those in machine code, by the keys of their sets.
    codes: HashMap<String, (CodeName, Vec<SourceBreakpoint>)>,
    requested: HashMap<BreakpointId, RequestedBreakpoint>,
    instructions: HashSet<BreakpointId>,
}

/// Where the client wanted a breakpoint.
#[derive(Clone, Debug)]
pub struct RequestedBreakpoint {
    /// The key of its set.
    pub path: String,
    /// The line that it named.
    pub line: u32,
    /// It named a column; if not, editors would take one in the answer for a second place.
    pub by_column: bool,
    /// In machine code; `path` is the key of the set then.
    pub code: Option<CodeName>,
}

impl Breakpoints {
    /// The reason of a stop at breakpoints of one place: the most familiar one.
    pub fn reason(&self, ids: &[BreakpointId]) -> &'static str {
        if ids.iter().any(|id| self.requested.contains_key(id)) {
            "breakpoint"
        } else if ids.iter().all(|id| self.instructions.contains(id)) {
            "instruction breakpoint"
        } else {
            "function breakpoint"
        }
    }

    /// Where the client wanted a breakpoint, if that is a line.
    pub fn requested(&self, id: BreakpointId) -> Option<&RequestedBreakpoint> {
        self.requested.get(&id)
    }

    /// Keeps a set on lines, of a source or of machine code, to describe it and to set it again.
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

    /// Keeps which breakpoints are on instructions.
    pub fn keep_instructions(&mut self, infos: &[BreakpointInfo]) {
        self.instructions = infos.iter().map(|info| info.id).collect();
    }
}

/// The path in the debug info of a client's spelling.
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

/// Sets everything once more: the launch settings have come, and may move or forbid it.
pub fn set_again(session: &mut Session) {
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

/// Sets those on lines once more, because the source map is another one; the client is told of
/// each.
pub fn move_sources(session: &mut Session) {
    if session.settings.no_debug {
        return;
    }
    let sets = std::mem::take(&mut session.breakpoints.sources);
    let mut infos = Vec::new();
    for (key, wanted) in &sets {
        infos.extend(set_source(session, key, wanted));
    }
    session.breakpoints.sources = sets;
    for breakpoint in described(session, &infos).breakpoints {
        let reason = "changed";
        session.event("breakpoint", &BreakpointEventBody { reason, breakpoint });
    }
}
