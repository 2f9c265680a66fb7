//! The variables of a scope: those of a frame, what was returned to it, registers.

use super::shown::{limits, read_only, variable};
use super::{asked_range, push};
use crate::protocol::RequestError;
use crate::protocol::{
    Variable, VariablePresentationHint, VariablePresentationHintKind, VariablesArguments,
    VariablesArgumentsFilter, VariablesResponse,
};
use crate::session::Session;
use crate::session::handles::Container;
use engine::value::scalar::NumberFormat;
use engine::{FrameKey, Limits, Named, RegisterGroup};

pub(super) fn scope(
    session: &mut Session,
    frame: FrameKey,
    variables: Vec<Named>,
    arguments: &VariablesArguments,
    limits: &Limits,
) -> Result<Vec<Variable>, RequestError> {
    let all = match arguments.filter {
        Some(VariablesArgumentsFilter::Indexed) => 0,
        _ => variables.len() as u64,
    };
    let range = asked_range(arguments, all);
    let first = usize::try_from(range.start).unwrap_or(usize::MAX);
    let count = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
    let variables = variables.into_iter().skip(first).take(count);
    variables
        .map(|named| named_variable(session, frame, named, limits))
        .collect()
}

fn named_variable(
    session: &mut Session,
    frame: FrameKey,
    named: Named,
    limits: &Limits,
) -> Result<Variable, RequestError> {
    let Named {
        name,
        expression,
        value,
        declaration,
        ..
    } = named;
    let variable = variable(session, Some(frame), name, expression, value, limits)?;
    let declared = declaration.map(|place| session.handles.place_id(place));
    Ok(Variable {
        declaration_location_reference: declared,
        ..variable
    })
}

/// The variables of a frame, a few at a time.
#[derive(Debug)]
pub struct Locals {
    frame: FrameKey,
    limits: Limits,
    rest: std::vec::IntoIter<Named>,
    body: VariablesResponse,
}

impl Locals {
    /// None of them yet.
    ///
    /// # Errors
    /// There is no such frame any more.
    pub fn of(session: &mut Session, frame: FrameKey) -> Result<Self, RequestError> {
        let locals = session.debugger.locals(frame)?;
        Ok(Self {
            frame,
            limits: limits(session, None),
            body: VariablesResponse::for_about(locals.len()),
            rest: locals.into_iter(),
        })
    }

    /// Whether some are still to be read.
    pub fn is_more(&self) -> bool {
        self.rest.len() > 0
    }

    /// Reads and writes so many of them.
    ///
    /// # Errors
    /// The client has cancelled the request.
    pub fn go_on(&mut self, session: &mut Session, count: usize) -> Result<(), RequestError> {
        for named in self.rest.by_ref().take(count) {
            let variable = named_variable(session, self.frame, named, &self.limits)?;
            push(&mut self.body, &variable)?;
        }
        Ok(())
    }

    /// The answer, with those that have been left.
    ///
    /// # Errors
    /// The client has cancelled the request.
    pub fn finish(mut self, session: &mut Session) -> Result<VariablesResponse, RequestError> {
        self.go_on(session, usize::MAX)?;
        Ok(self.body)
    }
}

/// Registers are bits rather than numbers.
pub(super) fn in_hex(limits: Limits) -> Limits {
    Limits {
        numbers: NumberFormat::Hex,
        ..limits
    }
}

/// Lets a register be opened that has parts.
pub(super) fn open_register(
    session: &mut Session,
    frame: FrameKey,
    register: &mut Variable,
) -> Result<(), RequestError> {
    let parts = session.debugger.register_parts(frame, &register.name)?;
    if !parts.is_empty() {
        let container = Container::RegisterParts(frame, register.name.clone());
        register.variables_reference = session.handles.container_id(container);
        register.named_variables = i64::try_from(parts.len()).ok();
        register.indexed_variables = None;
    }
    Ok(())
}

/// The other registers of a frame, to be opened.
pub(super) fn register_groups(
    session: &mut Session,
    frame: FrameKey,
) -> Result<Vec<Variable>, RequestError> {
    let groups = [
        ("Flags", RegisterGroup::Flags),
        ("Segments", RegisterGroup::Segment),
        ("Vectors", RegisterGroup::Vector),
        ("Floating point", RegisterGroup::Float),
    ];
    let mut variables = Vec::new();
    for (name, group) in groups {
        if session.debugger.registers(frame, group)?.is_empty() {
            continue;
        }
        let container = Container::Registers(frame, group);
        variables.push(Variable {
            name: name.to_owned(),
            variables_reference: session.handles.container_id(container),
            presentation_hint: Some(VariablePresentationHint {
                kind: Some(VariablePresentationHintKind::Virtual),
                ..read_only()
            }),
            ..Variable::default()
        });
    }
    Ok(variables)
}
