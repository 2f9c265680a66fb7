//! Breakpoints in responses.

use crate::protocol::{
    Breakpoint, BreakpointProblem, BreakpointReason, BreakpointsResponse, Source,
};
use crate::session::Session;
use crate::session::breakpoints::RequestedBreakpoint;
use crate::sources::checksums_of;
use engine::{BreakpointId, BreakpointInfo, ProblemKind, ResolvedLocation};

/// Describes breakpoints for the client.
pub fn described(session: &mut Session, infos: &[BreakpointInfo]) -> BreakpointsResponse {
    let breakpoints = infos
        .iter()
        .map(|info| describe_breakpoint(session, info))
        .collect();
    BreakpointsResponse { breakpoints }
}

/// Describes a breakpoint for the client.
pub fn describe_breakpoint(session: &mut Session, info: &BreakpointInfo) -> Breakpoint {
    let requested = session.breakpoints.requested(info.id).cloned();
    let mut breakpoint = Breakpoint {
        id: Some(info.id.0),
        verified: info.verified,
        message: info.message.clone(),
        ..Breakpoint::default()
    };
    breakpoint.reason = reason(info);
    if session.client.breakpoint_problems {
        breakpoint.problem = info.problem.and_then(problem);
    }
    let code = requested
        .as_ref()
        .and_then(|requested| requested.code.as_ref());
    if let (Some(code), Some(requested)) = (code, &requested) {
        let address = info.place.as_ref().map(|place| place.address.to_string());
        breakpoint.instruction_reference = address;
        breakpoint.source = session.codes.source(code);
        breakpoint.line = Some(session.client.line_out(requested.line));
        return breakpoint;
    }
    match &info.place {
        Some(place) => {
            at_place(session, &mut breakpoint, place, requested.as_ref());
            let file = session.debugger.breakpoint_source(info.id);
            if let (Some(source), Some(file)) = (&mut breakpoint.source, file) {
                source.checksums = checksums_of(&file);
            }
            if info.verified && requested.is_some() {
                add_source_warning(session, &mut breakpoint, info.id);
            }
        }
        None => {
            if let Some(requested) = requested {
                breakpoint.source = Some(as_spelled(session, &requested.path));
                breakpoint.line = Some(session.client.line_out(requested.line));
            }
        }
    }
    breakpoint
}

/// Returns why a breakpoint is not verified; `None`: it is.
pub fn reason(info: &BreakpointInfo) -> Option<BreakpointReason> {
    (!info.verified).then_some(match info.failed {
        true => BreakpointReason::Failed,
        false => BreakpointReason::Pending,
    })
}

fn problem(kind: ProblemKind) -> Option<BreakpointProblem> {
    match kind {
        ProblemKind::Condition | ProblemKind::HitCondition => Some(BreakpointProblem::Condition),
        ProblemKind::LogMessage => Some(BreakpointProblem::LogMessage),
        ProblemKind::Trace => Some(BreakpointProblem::Trace),
        ProblemKind::NoCode => Some(BreakpointProblem::NoCode),
        ProblemKind::Searching => Some(BreakpointProblem::Searching),
        ProblemKind::NotFound | ProblemKind::Other => None,
    }
}

/// Adds a warning if the local source differs from the compiled one.
fn add_source_warning(session: &mut Session, breakpoint: &mut Breakpoint, id: BreakpointId) {
    let path = breakpoint.source.as_ref().and_then(|it| it.path.as_ref());
    let Some(local) = path.map(|path| session.client.path_in(path)) else {
        return;
    };
    if let Some(change) = session.debugger.source_changed(id, &local) {
        breakpoint.message = Some(match breakpoint.message.take() {
            Some(message) => format!("{message}; {change}"),
            None => change,
        });
    }
}

fn at_place(
    session: &mut Session,
    breakpoint: &mut Breakpoint,
    place: &ResolvedLocation,
    requested: Option<&RequestedBreakpoint>,
) {
    breakpoint.instruction_reference = Some(place.address.to_string());
    let Some((path, line, column)) = &place.source else {
        return;
    };
    // If the client's own path leads to the same file, the client knows the file by that path.
    let own = requested.filter(|requested| {
        let wanted = session.client.path_in(&requested.path);
        wanted.is_absolute() && wanted.file_name() == path.file_name()
    });
    breakpoint.source = Some(match own {
        Some(requested) => {
            let spelling = session.client.path_in(&requested.path);
            session.sources.learn(path, &spelling);
            as_spelled(session, &requested.path)
        }
        None => session.sources.of(path, &session.client),
    });
    breakpoint.line = Some(session.client.line_out(*line));
    let by_column = requested.is_none_or(|requested| requested.by_column);
    breakpoint.column = (by_column && *column > 0).then(|| {
        let Session {
            sources, client, ..
        } = session;
        sources.column_out(path, *line, *column, client)
    });
}

fn as_spelled(session: &Session, path: &str) -> Source {
    Source {
        name: session
            .client
            .path_in(path)
            .file_name()
            .map(|name| name.to_string_lossy().into_owned()),
        path: Some(path.to_owned()),
        ..Source::default()
    }
}
