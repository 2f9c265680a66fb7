//! The variables of a scope: a frame's, returned values, registers.

use super::requested_range;
use crate::protocol::RequestError;
use crate::protocol::{
    Variable, VariablePresentationHint, VariablePresentationHintKind, VariablesArguments,
    VariablesArgumentsFilter,
};
use crate::session::Session;
use crate::session::describe::{named_variable, read_only};
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
    let range = requested_range(arguments, all);
    let first = usize::try_from(range.start).unwrap_or(usize::MAX);
    let count = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
    let variables = variables.into_iter().skip(first).take(count);
    variables
        .map(|named| named_variable(session, frame, named, limits))
        .collect()
}

/// Formats registers in hexadecimal.
pub(super) fn in_hex(limits: Limits) -> Limits {
    Limits {
        numbers: NumberFormat::Hex,
        ..limits
    }
}

/// Makes a register with parts expandable.
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

/// Returns a frame's groups of other registers, expandable.
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
