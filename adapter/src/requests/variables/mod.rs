//! The `variables` request, for scopes and values.

mod children;
mod scopes;
mod set;

pub use set::{SetVariable, assigned_text, changed};

pub(super) use set::child_named;

use crate::protocol::RequestError;
use crate::protocol::{
    Body, Capabilities, Encoded, ValueFormat, Variable, VariablePresentationHint,
    VariablePresentationHintKind, VariablesArguments, VariablesArgumentsFilter, VariablesResponse,
    VariablesWriter,
};
use crate::requests::{Effect, Request};
use crate::session::Session;
use crate::session::describe::{BUCKET, Locals, limits, push, read_only};
use crate::session::handles::Container;
use crate::session::prefetch;
use children::{all_of, buckets, children};
use engine::{ChildFilter, RegisterGroup};
use scopes::{in_hex, open_register, register_groups, scope};
use std::ops::Range;

/// Maximum number of children per response.
const MAX_VARIABLES: u64 = 1 << 18;

/// Returns the variables of a scope or the children of a value.
pub enum Variables {}

impl Request for Variables {
    const COMMAND: &'static str = "variables";
    const EFFECT: Effect = Effect::Reads;
    type Arguments = VariablesArguments;
    type Body = Encoded<VariablesResponse>;

    fn advertise(capabilities: &mut Capabilities) {
        capabilities.supports_value_formatting_options = true;
    }

    fn json(body: Self::Body) -> serde_json::Result<Option<Body>> {
        Ok(Some(body.into()))
    }

    fn handle(
        session: &mut Session,
        arguments: VariablesArguments,
    ) -> Result<Self::Body, RequestError> {
        let body = Self::of(session, arguments)?.into_json();
        body.map(Encoded::from)
            .map_err(|error| RequestError::Other(error.to_string()))
    }
}

impl Variables {
    fn of(
        session: &mut Session,
        arguments: VariablesArguments,
    ) -> Result<VariablesWriter, RequestError> {
        let container = session.handles.container(arguments.variables_reference)?;
        let limits = limits(session, arguments.format.as_ref());
        session.history.begin_reply();
        let variables = match container {
            Container::Locals(frame) => {
                if is_default_form(&arguments) {
                    let ready = prefetch::locals(session, frame);
                    let locals = ready.map_or_else(|| Locals::of(session, frame), Ok)?;
                    return locals.finish(session);
                }
                let locals = session.debugger.locals(frame)?;
                session.history.name_variables(&locals);
                scope(session, frame, locals, &arguments, &limits)?
            }
            Container::Returned(frame) => {
                let returned = session.debugger.returned(frame).into_iter().collect();
                scope(session, frame, returned, &arguments, &limits)?
            }
            Container::Globals(frame) => {
                let globals = session.debugger.globals(frame)?;
                scope(session, frame, globals, &arguments, &limits)?
            }
            Container::Registers(frame, group) => {
                let registers = session.debugger.registers(frame, group)?;
                let limits = in_hex(limits);
                let mut variables = scope(session, frame, registers, &arguments, &limits)?;
                let has_parts = matches!(group, RegisterGroup::General | RegisterGroup::Vector);
                for register in variables.iter_mut().filter(|_| has_parts) {
                    open_register(session, frame, register)?;
                }
                if group == RegisterGroup::General {
                    variables.extend(register_groups(session, frame)?);
                }
                variables
            }
            Container::RegisterParts(frame, register) => {
                let parts = session.debugger.register_parts(frame, &register)?;
                scope(session, frame, parts, &arguments, &in_hex(limits))?
            }
            Container::Value(of) => {
                let all_of_it = arguments.count.unwrap_or(0) <= 0 && arguments.filter.is_none();
                // Clients with paging show named children first. The named children of a container
                // matter least, so a container reports no counts, and they follow the buckets here.
                let pages = session.client.variable_paging && of.named == 0;
                if !pages && all_of_it && of.indexed > BUCKET {
                    let buckets = buckets(session, &of, 0..of.indexed);
                    let mut body = written(&buckets)?;
                    children(
                        session,
                        &of,
                        ChildFilter::Named,
                        0..of.named,
                        &limits,
                        &mut body,
                    )?;
                    return Ok(body);
                } else {
                    let named = of.most_named(MAX_VARIABLES);
                    let (which, all) = match arguments.filter {
                        None => (ChildFilter::All, named.saturating_add(of.indexed)),
                        Some(VariablesArgumentsFilter::Named) => (ChildFilter::Named, named),
                        Some(VariablesArgumentsFilter::Indexed) => {
                            (ChildFilter::Indexed, of.indexed)
                        }
                    };
                    let range = requested_range(&arguments, all);
                    let left = left_out(&arguments, &range, all);
                    let next = range.end;
                    let mut body = all_of(session, &of, which, range, &limits)?;
                    if left > 0 {
                        push(&mut body, &more(left, next))?;
                    }
                    return Ok(body);
                }
            }
            Container::Bucket { of, range } if range.end - range.start > BUCKET => {
                buckets(session, &of, range)
            }
            Container::Bucket { of, range } => {
                return all_of(session, &of, ChildFilter::Indexed, range, &limits);
            }
        };
        written(&variables)
    }
}

/// Returns true if all variables are requested, in the default format.
fn is_default_form(arguments: &VariablesArguments) -> bool {
    let VariablesArguments {
        variables_reference: _,
        filter,
        start,
        count,
        format,
    } = arguments;
    let usual_form = format.as_ref().is_none_or(|format| {
        let ValueFormat {
            hex,
            addresses,
            pointees,
            length,
        } = format;
        *hex != Some(true) && addresses.is_none() && pointees.is_none() && length.is_none()
    });
    let all = |number: &Option<i64>| number.is_none_or(|number| number == 0);
    filter.is_none() && all(start) && all(count) && usual_form
}

/// Returns the range of the requested children, out of `all`.
fn requested_range(arguments: &VariablesArguments, all: u64) -> Range<u64> {
    let number = |number: Option<i64>| u64::try_from(number.unwrap_or(0)).unwrap_or(0);
    let start = number(arguments.start).min(all);
    let count = match number(arguments.count) {
        0 => MAX_VARIABLES,
        count => count.min(MAX_VARIABLES),
    };
    start..start.saturating_add(count).min(all)
}

/// Returns the number of requested children that exceed the maximum of a response.
fn left_out(arguments: &VariablesArguments, given: &Range<u64>, all: u64) -> u64 {
    let count = u64::try_from(arguments.count.unwrap_or(0)).unwrap_or(0);
    let end = match count {
        0 => all,
        count => given.start.saturating_add(count).min(all),
    };
    end.saturating_sub(given.end)
}

/// Returns the placeholder for children that exceed the maximum of a response.
fn more(left: u64, next: u64) -> Variable {
    Variable {
        name: "…".to_owned(),
        value: format!("{left} more; request them with `start` {next} and `count`"),
        presentation_hint: Some(VariablePresentationHint {
            kind: Some(VariablePresentationHintKind::Virtual),
            ..read_only()
        }),
        ..Variable::default()
    }
}

fn written(variables: &[Variable]) -> Result<VariablesWriter, RequestError> {
    let mut body = VariablesWriter::for_about(variables.len());
    for variable in variables {
        push(&mut body, variable)?;
    }
    Ok(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges() {
        let range = |start, count| {
            let arguments = VariablesArguments {
                start,
                count,
                ..VariablesArguments::default()
            };
            requested_range(&arguments, 10)
        };
        assert_eq!(range(None, None), 0..10);
        assert_eq!(range(Some(3), Some(4)), 3..7);
        assert_eq!(range(Some(3), Some(0)), 3..10);
        assert_eq!(range(Some(99), Some(1)), 10..10);
        assert_eq!(range(Some(-1), Some(i64::MAX)), 0..10);
    }

    #[test]
    fn omitted_variables_are_counted() {
        let left = |start, count, all| {
            let arguments = VariablesArguments {
                start,
                count,
                ..VariablesArguments::default()
            };
            left_out(&arguments, &requested_range(&arguments, all), all)
        };
        assert_eq!(left(None, None, MAX_VARIABLES), 0);
        assert_eq!(left(None, None, MAX_VARIABLES + 7), 7);
        assert_eq!(left(Some(5), Some(0), MAX_VARIABLES + 7), 2);
        assert_eq!(left(Some(5), Some(10), MAX_VARIABLES + 7), 0);
        assert_eq!(
            left(Some(1), Some(i64::MAX), 2 * MAX_VARIABLES),
            MAX_VARIABLES - 1
        );
        assert_eq!(
            left(None, Some(MAX_VARIABLES as i64 + 1), 2 * MAX_VARIABLES),
            1
        );
    }
}
