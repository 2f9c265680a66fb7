//! The children of a value: in pages, or in buckets for clients without paging.

use super::MAX_VARIABLES;
use crate::protocol::RequestError;
use crate::protocol::{
    MemoryReference, Variable, VariablePresentationHint, VariablePresentationHintKind,
    VariablesWriter,
};
use crate::session::Session;
use crate::session::describe::{BUCKET, atom, child_expression, push, read_only, variable};
use crate::session::handles::{Container, Opened};
use engine::value::scalar::NumberFormat;
use engine::{Child, ChildBatch, ChildFilter, Limits, Numbers};
use std::fmt::Write as _;
use std::ops::Range;

/// Number of elements above which numbers get no memory reference of their own.
const MAX_REFERENCED_NUMBERS: u64 = 1000;

/// Returns all requested children of a value.
pub(super) fn all_of(
    session: &mut Session,
    of: &Opened,
    which: ChildFilter,
    range: Range<u64>,
    limits: &Limits,
) -> Result<VariablesWriter, RequestError> {
    let count = (range.end - range.start).min(of.described());
    let mut body = VariablesWriter::for_about(count.min(MAX_VARIABLES) as usize);
    children(session, of, which, range, limits, &mut body)?;
    Ok(body)
}

/// Appends children of a value to the response.
pub(super) fn children(
    session: &mut Session,
    of: &Opened,
    which: ChildFilter,
    mut range: Range<u64>,
    limits: &Limits,
    body: &mut VariablesWriter,
) -> Result<(), RequestError> {
    let mut limits = limits.clone();
    limits.numbers = of.numbers.unwrap_or(limits.numbers);
    // For many numbers, the memory reference of the whole is enough.
    let many = (range.end - range.start).min(of.described()) > MAX_REFERENCED_NUMBERS;
    while !range.is_empty() {
        match session
            .debugger
            .next_children(&of.value, of.frame, which, &mut range)?
        {
            ChildBatch::Numbers(numbers) => {
                write_numbers(session, of, &numbers, limits.numbers, many, body)?;
            }
            ChildBatch::Children(children) => {
                for Child { name, value, path } in children {
                    let expression = child_expression(of.expression.as_deref(), path, &name);
                    let child = variable(session, of.frame, name, expression, value, &limits)?;
                    let plain =
                        many && child.variables_reference == 0 && child.name.starts_with('[');
                    let child = Variable {
                        memory_reference: child.memory_reference.filter(|_| !plain),
                        ..child
                    };
                    push(body, &child)?;
                }
            }
        }
    }
    Ok(())
}

/// Appends a run of numbers; their texts reuse the same buffers.
fn write_numbers(
    session: &Session,
    of: &Opened,
    numbers: &Numbers,
    format: NumberFormat,
    many: bool,
    body: &mut VariablesWriter,
) -> Result<(), RequestError> {
    let type_name = session.client.variable_type.then(|| numbers.type_name());
    let placed = session.client.memory_references && !many;
    let (mut value, mut name) = (String::new(), String::new());
    let mut expression = of.expression.as_deref().map(atom);
    let parent = expression.as_ref().map_or(0, String::len);
    for index in numbers.indices() {
        value.clear();
        numbers.write(index, format, &mut value);
        name.clear();
        // Writing to a `String` does not fail.
        let _ = write!(name, "[{index}]");
        if let Some(expression) = &mut expression {
            expression.truncate(parent);
            expression.push_str(&name);
        }
        let number = Variable {
            name: name.as_str(),
            value: value.as_str(),
            r#type: type_name.clone(),
            evaluate_name: expression.as_deref(),
            memory_reference: placed.then(|| MemoryReference(numbers.address(index))),
            ..Variable::default()
        };
        push(body, &number)?;
    }
    Ok(())
}

/// Returns the indexed children of `range` as at most [`BUCKET`] ranges of a round size.
pub(super) fn buckets(session: &mut Session, of: &Opened, range: Range<u64>) -> Vec<Variable> {
    let mut size = BUCKET;
    while (range.end - range.start).div_ceil(size) > BUCKET {
        size *= BUCKET;
    }
    let mut variables = Vec::new();
    let mut start = range.start;
    while start < range.end {
        let end = start.saturating_add(size).min(range.end);
        let bucket = Container::Bucket {
            of: of.clone(),
            range: start..end,
        };
        variables.push(Variable {
            name: format!("[{start}..{}]", end - 1),
            variables_reference: session.handles.container_id(bucket),
            presentation_hint: Some(VariablePresentationHint {
                kind: Some(VariablePresentationHintKind::Virtual),
                ..read_only()
            }),
            ..Variable::default()
        });
        start = end;
    }
    variables
}
