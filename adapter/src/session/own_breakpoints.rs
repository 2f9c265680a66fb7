//! Breakpoints of the session itself beside the client's: the stop of `stopAtMain`, and those of a
//! traced call. The client is not sent their events. The engine replaces all breakpoints of a kind at
//! once, so the client's are kept here to be set together with these.

use crate::session::Session;
use engine::{
    BreakpointId, BreakpointInfo, BreakpointOptions, ExceptionBreakpoint, ExceptionFilter,
    FunctionBreakpoint, ProblemKind,
};

/// The client's breakpoints of these kinds, and the session's own.
#[derive(Debug, Default)]
pub struct OwnBreakpoints {
    /// The client's function breakpoints.
    functions: Vec<FunctionBreakpoint>,
    /// The client's exception filters; `None`: the defaults.
    exceptions: Option<Vec<ExceptionBreakpoint>>,
    main: MainStop,
    /// On a function whose call is to be traced.
    traced: Option<(FunctionBreakpoint, Option<BreakpointId>)>,
    /// On what is thrown in a traced call.
    throws: Vec<BreakpointId>,
}

/// The stop at `main`.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum MainStop {
    /// Not requested, or already hit.
    #[default]
    Off,
    /// To be set.
    Wanted,
    /// Set.
    Set(BreakpointId),
    /// Set, and the client knows that there is no such function so far.
    Reported(BreakpointId),
}

impl MainStop {
    fn is(self, id: BreakpointId) -> bool {
        matches!(self, Self::Set(own) | Self::Reported(own) if own == id)
    }
}

impl OwnBreakpoints {
    /// Returns true if a breakpoint is one of these.
    pub fn has(&self, id: BreakpointId) -> bool {
        let traced = self.traced.as_ref().and_then(|(_, id)| *id);
        self.main.is(id) || traced == Some(id) || self.throws.contains(&id)
    }
}

/// Sets the client's function breakpoints, and these.
pub fn set_functions(
    session: &mut Session,
    functions: Vec<FunctionBreakpoint>,
) -> Vec<BreakpointInfo> {
    session.own_breakpoints.functions = functions;
    set(session)
}

/// Sets the breakpoint on `main` before the program runs for the first time.
pub fn arm_main(session: &mut Session) {
    session.own_breakpoints.main = MainStop::Wanted;
    set(session);
    changed(session);
}

/// Handles a change of one of these: reports once that no function `main` was found.
pub fn changed(session: &mut Session) {
    let MainStop::Set(id) = session.own_breakpoints.main else {
        return;
    };
    let info = session.debugger.breakpoint(id);
    let problem = info.and_then(|info| info.problem);
    if problem.is_some_and(|problem| problem != ProblemKind::Searching) {
        session.own_breakpoints.main = MainStop::Reported(id);
        session.important_note(
            "No function `main` is known (`stopAtMain`): the program's symbols do not have it. \
             Install its debug info, or use `stopOnEntry`.\n",
        );
    }
}

/// Sets a breakpoint on a function whose call is to be traced, or (`None`) removes it.
pub fn set_traced(
    session: &mut Session,
    function: Option<FunctionBreakpoint>,
) -> Option<BreakpointInfo> {
    session.own_breakpoints.traced = function.map(|function| (function, None));
    set(session);
    let (_, id) = session.own_breakpoints.traced.as_ref()?;
    session.debugger.breakpoint((*id)?)
}

/// Handles a hit: returns the client's breakpoints, and whether that on `main` was hit.
pub fn hit(session: &mut Session, mut ids: Vec<BreakpointId>) -> (Vec<BreakpointId>, bool) {
    let at_main = ids.iter().any(|id| session.own_breakpoints.main.is(*id));
    ids.retain(|id| !session.own_breakpoints.has(*id));
    if at_main {
        session.own_breakpoints.main = MainStop::Off;
        set(session);
    }
    (ids, at_main)
}

/// Sets the client's exception filters, and these.
pub fn set_exceptions(
    session: &mut Session,
    exceptions: Vec<ExceptionBreakpoint>,
) -> Vec<BreakpointInfo> {
    session.own_breakpoints.exceptions = Some(exceptions);
    let watches = !session.own_breakpoints.throws.is_empty();
    put_exceptions(session, watches)
}

/// Makes exceptions and panics stop the program until [`ignore_throws`].
pub fn watch_throws(session: &mut Session) {
    put_exceptions(session, true);
}

/// Leaves exceptions and panics to the client's filters again.
pub fn ignore_throws(session: &mut Session) {
    if !session.own_breakpoints.throws.is_empty() {
        put_exceptions(session, false);
    }
}

/// Returns the client's breakpoints.
fn put_exceptions(session: &mut Session, watches: bool) -> Vec<BreakpointInfo> {
    let filter = |filter| ExceptionBreakpoint {
        filter,
        condition: None,
    };
    let usual = || ExceptionFilter::DEFAULT.map(filter).to_vec();
    let mut all = session
        .own_breakpoints
        .exceptions
        .clone()
        .unwrap_or_else(usual);
    let clients = all.len();
    if watches {
        all.extend([ExceptionFilter::CppThrow, ExceptionFilter::RustPanic].map(filter));
    }
    let mut infos = session.debugger.set_exception_breakpoints(&all);
    let own = infos.split_off(clients.min(infos.len()));
    session.own_breakpoints.throws = own.iter().map(|info| info.id).collect();
    infos
}

/// Returns the client's breakpoints.
fn set(session: &mut Session) -> Vec<BreakpointInfo> {
    let own = &session.own_breakpoints;
    let mut all = own.functions.clone();
    let clients = all.len();
    if own.main != MainStop::Off {
        all.push(FunctionBreakpoint {
            name: "main".to_owned(),
            options: BreakpointOptions::default(),
        });
    }
    all.extend(own.traced.as_ref().map(|(function, _)| function.clone()));
    let mut infos = session.debugger.set_function_breakpoints(&all);
    let own = &mut session.own_breakpoints;
    let mut ids = infos
        .split_off(clients.min(infos.len()))
        .into_iter()
        .map(|it| it.id);
    if own.main != MainStop::Off
        && let Some(id) = ids.next()
    {
        own.main = match own.main {
            MainStop::Reported(_) => MainStop::Reported(id),
            MainStop::Off | MainStop::Wanted | MainStop::Set(_) => MainStop::Set(id),
        };
    }
    if let Some((_, id)) = &mut own.traced {
        *id = ids.next();
    }
    infos
}
