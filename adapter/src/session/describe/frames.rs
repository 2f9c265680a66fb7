//! Frames in responses.

use crate::protocol::{FrameHint, Source, SourceHint, StackFrame};
use crate::session::Session;
use engine::{Frame, FrameKind, LoadAddr, SourceFile};
use std::rc::Rc;
use std::sync::Arc;

/// The source of the previous frame, which often is that of the next one, too.
pub type LastSource = Option<(Arc<SourceFile>, Rc<Source>)>;

/// Returns the source of a file for the client.
pub fn source_of(
    session: &mut Session,
    file: &Arc<SourceFile>,
    last: &mut LastSource,
) -> Rc<Source> {
    if let Some((known, source)) = last
        && Arc::ptr_eq(known, file)
    {
        return Rc::clone(source);
    }
    let source = Rc::new(session.sources.of_file(file, &session.client));
    *last = Some((Arc::clone(file), Rc::clone(&source)));
    source
}

/// Describes a frame for the client with its source. A frame without one, or in a system library
/// whose sources are not on this machine, has its machine code as source. `last` makes the next
/// frame of the same source cheaper.
pub fn describe_frame(session: &mut Session, frame: Frame, last: &mut LastSource) -> StackFrame {
    let id = session.handles.frame_id(frame.key);
    let source = frame
        .location
        .as_ref()
        .map(|location| source_of(session, &location.file, last));
    let is_lost = source.as_ref().is_some_and(|source| {
        let nowhere = Some(SourceHint::Deemphasize);
        source.presentation_hint == nowhere && session.debugger.is_of_the_system(frame.module)
    });
    let location = frame.location.as_ref().filter(|_| !is_lost);
    let is_label = frame.kind == FrameKind::ConsoleCall;
    let (source, line, column) = match location {
        Some(location) => (
            source,
            session.client.line_out(location.line),
            session.sources.column_out(
                &location.file.path,
                location.line,
                location.column,
                &session.client,
            ),
        ),
        None if is_label => (None, 0, 0),
        None => match code_of(session, frame.code) {
            Some((source, line)) => (
                Some(Rc::new(source)),
                session.client.line_out(line),
                session.client.column_out(1),
            ),
            None => (None, 0, 0),
        },
    };
    let is_code = location.is_none();
    let is_gone = frame.kind == FrameKind::TailCall;
    StackFrame {
        id,
        name: match is_gone {
            true => format!("{} [tail call]", frame.name),
            false => frame.name,
        },
        presentation_hint: match is_label {
            true => Some(FrameHint::Label),
            false => (is_code || is_gone).then_some(FrameHint::Subtle),
        },
        source,
        line,
        column,
        can_restart: frame.can_restart,
        instruction_pointer_reference: frame.pc.to_string(),
        module_id: frame.module.map(|module| module.0),
    }
}

/// Returns the machine code at an address as a source, and the line in it.
fn code_of(session: &mut Session, addr: LoadAddr) -> Option<(Source, u32)> {
    let (number, line) = match session.codes.known_line(addr) {
        Some(known) => known?,
        None => {
            let found = find_code(session, addr);
            session.codes.keep_line(addr, found);
            found?
        }
    };
    let code = session.codes.piece(number)?.clone();
    Some((session.codes.source(&code)?, line))
}

fn find_code(session: &mut Session, addr: LoadAddr) -> Option<(i64, u32)> {
    let debugger = &session.debugger;
    // Outside of modules, reuse a piece that was shown before, so that steps do not open further
    // ones.
    let shown = session.codes.without_image().find(|code| {
        (code.start..code.end).contains(&addr.0)
            && debugger.line_in(code, addr).is_some_and(|line| {
                debugger
                    .address_of_line(code, line)
                    .is_ok_and(|it| it == addr)
            })
    });
    let code = match shown {
        Some(code) => code.clone(),
        None => debugger.code_at(addr)?,
    };
    let line = debugger.line_in(&code, addr)?;
    Some((session.codes.number(&code)?, line))
}
