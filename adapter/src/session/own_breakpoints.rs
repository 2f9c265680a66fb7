//! The stop of `stopAtMain`: an internal breakpoint beside the client's, which is not reported to
//! the client and is removed by its first hit.

use crate::session::Session;
use engine::{BreakpointId, BreakpointInfo, BreakpointOptions, FunctionBreakpoint};

/// The state of that breakpoint.
#[derive(Debug, Default)]
pub struct MainStop {
    /// The client's function breakpoints, which are set together with it.
    functions: Vec<FunctionBreakpoint>,
    state: State,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Not requested, or already hit.
    #[default]
    Off,
    /// To be set.
    Wanted,
    /// Set.
    Set(BreakpointId),
}

impl MainStop {
    /// Returns true if a breakpoint is this one.
    pub fn is(&self, id: BreakpointId) -> bool {
        self.state == State::Set(id)
    }
}

/// Sets the client's function breakpoints, and this one.
pub fn set_functions(
    session: &mut Session,
    functions: Vec<FunctionBreakpoint>,
) -> Vec<BreakpointInfo> {
    session.main_stop.functions = functions;
    set(session)
}

/// Sets the breakpoint before the program runs for the first time.
pub fn arm(session: &mut Session) {
    session.main_stop.state = State::Wanted;
    set(session);
}

/// Handles a hit: returns the client's breakpoints, and whether this one was hit.
pub fn hit(session: &mut Session, mut ids: Vec<BreakpointId>) -> (Vec<BreakpointId>, bool) {
    let count = ids.len();
    ids.retain(|id| !session.main_stop.is(*id));
    let is_ours = ids.len() < count;
    if is_ours {
        session.main_stop.state = State::Off;
        set(session);
    }
    (ids, is_ours)
}

fn set(session: &mut Session) -> Vec<BreakpointInfo> {
    let is_wanted = session.main_stop.state != State::Off;
    let mut all = session.main_stop.functions.clone();
    if is_wanted {
        all.push(FunctionBreakpoint {
            name: "main".to_owned(),
            options: BreakpointOptions::default(),
        });
    }
    let mut infos = session.debugger.set_function_breakpoints(&all);
    if is_wanted && let Some(own) = infos.pop() {
        session.main_stop.state = State::Set(own.id);
    }
    infos
}
