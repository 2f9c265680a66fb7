//! The stop at `main` that `stopAtMain` asks for: a breakpoint of ours beside the client's, which
//! never hears of it, until it is hit once.

use crate::session::Session;
use engine::{BreakpointId, BreakpointInfo, BreakpointOptions, FunctionBreakpoint};

/// What is known of it.
#[derive(Debug, Default)]
pub struct MainStop {
    /// The client's own breakpoints on functions, which are set together with ours.
    functions: Vec<FunctionBreakpoint>,
    state: State,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Not asked for, or it has been.
    #[default]
    Off,
    /// To be set.
    Wanted,
    /// Set.
    Set(BreakpointId),
}

impl MainStop {
    /// Whether a breakpoint is ours.
    pub fn is(&self, id: BreakpointId) -> bool {
        self.state == State::Set(id)
    }
}

/// Sets the breakpoints on functions that the client wants.
pub fn set_functions(
    session: &mut Session,
    functions: Vec<FunctionBreakpoint>,
) -> Vec<BreakpointInfo> {
    session.main_stop.functions = functions;
    set(session)
}

/// The program is about to run for the first time, and is to stop at its `main`.
pub fn arm(session: &mut Session) {
    session.main_stop.state = State::Wanted;
    set(session);
}

/// The program stopped at breakpoints; gives those of the client's, and whether it was ours.
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
