//! The `setVariable` request.

use super::MAX_VARIABLES;
use crate::protocol::RequestError;
use crate::protocol::{Capabilities, SetVariableArguments, SetVariableResponse};
use crate::requests::{InThePast, Request};
use crate::session::Session;
use crate::session::describe::child_expression;
use crate::session::describe::{RenderedValue, limits};
use crate::session::handles::{Container, Opened};
use crate::session::memory_views::memory_changed;
use engine::{Child, ChildFilter, FrameKey, Named, Value};

/// Assigns to a variable.
pub enum SetVariable {}

impl Request for SetVariable {
    const COMMAND: &'static str = "setVariable";
    const IN_THE_PAST: InThePast = InThePast::Shown;
    type Arguments = SetVariableArguments;
    type Body = SetVariableResponse;

    fn advertise(capabilities: &mut Capabilities) {
        capabilities.supports_set_variable = true;
    }

    fn handle(
        session: &mut Session,
        arguments: SetVariableArguments,
    ) -> Result<SetVariableResponse, RequestError> {
        let container = session.handles.container(arguments.variables_reference)?;
        let (frame, expression, target) = child_named(session, container, &arguments.name)?;
        let text = assigned_text(&arguments.value);
        let value = session.debugger.assign(frame, &target, text)?;
        changed(session, &target);
        let limits = limits(session, arguments.format.as_ref());
        let shown = RenderedValue::new(session, frame, expression, value, &limits);
        Ok(SetVariableResponse {
            value: shown.text,
            type_name: shown.type_name,
            variables_reference: shown.variables_reference,
            named_variables: shown.named_variables,
            indexed_variables: shown.indexed_variables,
            memory_reference: shown.memory_reference,
            value_location_reference: shown.value_place,
        })
    }
}

/// Returns what a client assigns: it may offer the text of a pointer for editing, with what the pointer points to.
pub fn assigned_text(text: &str) -> &str {
    match text.split_once(" → ") {
        Some((address, _)) if address.starts_with("0x") => address,
        _ => text,
    }
}

/// Reports to the client what an assignment to a value invalidated.
pub fn changed(session: &mut Session, value: &Value) {
    match value.address().zip(value.ty.size()) {
        Some((addr, size)) => memory_changed(session, addr, size),
        None => session.variables_changed = true,
    }
}

/// The target of an assignment: its frame, its expression, its value.
type Target = (Option<FrameKey>, Option<String>, Value);

fn no_variable(name: &str) -> RequestError {
    RequestError::UnknownName(format!("no variable `{name}` in this scope"))
}

/// Finds a variable by its name in a scope or value.
///
/// # Errors
/// There is none, or its value is not available.
pub(in crate::requests) fn child_named(
    session: &mut Session,
    container: Container,
    name: &str,
) -> Result<Target, RequestError> {
    match container {
        Container::Locals(frame) => in_scope(frame, session.debugger.locals(frame)?, name),
        Container::Returned(_) => {
            let message = "the return value is in registers: it can be neither changed nor watched";
            Err(RequestError::Other(message.to_owned()))
        }
        Container::Globals(frame) => in_scope(frame, session.debugger.globals(frame)?, name),
        Container::Registers(frame, group) => {
            in_scope(frame, session.debugger.registers(frame, group)?, name)
        }
        Container::RegisterParts(frame, register) => {
            let parts = session.debugger.register_parts(frame, &register)?;
            in_scope(frame, parts, name)
        }
        Container::Value(of) | Container::Bucket { of, .. } => in_value(session, of, name),
    }
}

fn in_scope(frame: FrameKey, variables: Vec<Named>, name: &str) -> Result<Target, RequestError> {
    // Of two variables with the same name, the inner one is last.
    let found = variables.into_iter().rev().find(|named| named.name == name);
    let Named {
        expression, value, ..
    } = found.ok_or_else(|| no_variable(name))?;
    Ok((Some(frame), expression, value?))
}

fn in_value(session: &mut Session, of: Opened, name: &str) -> Result<Target, RequestError> {
    let index = name
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
        .and_then(|index| index.parse::<u64>().ok())
        .filter(|index| *index < of.indexed);
    // Names in brackets are indices, or keys of a map.
    let searches = [
        index.map(|index| (ChildFilter::Indexed, index..index + 1)),
        Some((ChildFilter::Named, 0..of.most_named(MAX_VARIABLES))),
        name.starts_with('[')
            .then(|| (ChildFilter::Indexed, 0..of.indexed.min(MAX_VARIABLES))),
    ];
    let mut found = None;
    for (which, mut range) in searches.into_iter().flatten() {
        while found.is_none() && !range.is_empty() {
            let next = session
                .debugger
                .next_children(&of.value, of.frame, which, &mut range)?;
            found = (next.children().into_iter()).find(|child| child.name == name);
        }
    }
    let Child { value, path, .. } = found.ok_or_else(|| no_variable(name))?;
    let expression = child_expression(of.expression.as_deref(), path, name);
    Ok((of.frame, expression, value?))
}
