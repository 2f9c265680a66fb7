//! Variables: what is in a scope or a value, and changing it.

use crate::error::RequestError;
use crate::foresight;
use crate::handles::{Container, Opened};
use crate::protocol::{
    Body, Capabilities, MemoryReference, SetVariableArguments, SetVariableResponse, ValueFormat,
    Variable, VariablePresentationHint, VariablePresentationHintAttributes,
    VariablePresentationHintKind, VariablesArguments, VariablesArgumentsFilter, VariablesResponse,
};
use crate::requests::memory::memory_changed;
use crate::routes::Request;
use crate::session::Session;
use engine::value::ChildPath;
use engine::value::scalar::NumberFormat;
use engine::{
    Child, FrameKey, Limits, Named, Next, Numbers, Presentation, RegisterGroup, Value, Which,
};
use serde::Serialize;
use std::fmt::Write as _;
use std::ops::Range;
use std::sync::Arc;

/// Indexed children that a client which cannot page gets at once, and the parts into which
/// more of them are divided.
const BUCKET: u64 = 100;
/// The longest text of a value that a client may ask for, in bytes.
const LONGEST: usize = 1 << 20;
/// More elements than anybody looks at one by one.
const MANY: u64 = 1000;
/// The most children one answer has.
const MOST: u64 = 1 << 18;

/// The variables of a scope, the children of a value.
pub enum Variables {}

impl Request for Variables {
    const COMMAND: &'static str = "variables";
    type Arguments = VariablesArguments;
    type Body = Json;

    fn advertise(capabilities: &mut Capabilities) {
        capabilities.supports_value_formatting_options = true;
    }

    fn json(Json(body): Json) -> serde_json::Result<Option<Body>> {
        Ok(Some(body.into()))
    }

    fn handle(session: &mut Session, arguments: VariablesArguments) -> Result<Json, RequestError> {
        let body = Self::of(session, arguments)?.into_json();
        body.map(Json)
            .map_err(|error| RequestError::Other(error.to_string()))
    }
}

/// A body that is text already.
#[derive(Serialize)]
pub struct Json(String);

impl Variables {
    fn of(
        session: &mut Session,
        arguments: VariablesArguments,
    ) -> Result<VariablesResponse, RequestError> {
        let container = session.handles.container(arguments.variables_reference)?;
        let limits = limits(session, arguments.format.as_ref());
        let variables = match container {
            Container::Locals(frame) => {
                if is_usual(&arguments) {
                    let ready = foresight::locals(session, frame);
                    let locals = ready.map_or_else(|| Locals::of(session, frame), Ok)?;
                    return locals.finish(session);
                }
                let locals = session.debugger.locals(frame)?;
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
                if !session.client.variable_paging && all_of_it && of.indexed > BUCKET {
                    let buckets = buckets(session, &of, 0..of.indexed);
                    let mut body = written(&buckets)?;
                    children(session, &of, Which::Named, 0..of.named, &limits, &mut body)?;
                    return Ok(body);
                } else {
                    let (which, all) = match arguments.filter {
                        None => (Which::All, of.named + of.indexed),
                        Some(VariablesArgumentsFilter::Named) => (Which::Named, of.named),
                        Some(VariablesArgumentsFilter::Indexed) => (Which::Indexed, of.indexed),
                    };
                    let range = asked_range(&arguments, all);
                    return all_of(session, &of, which, range, &limits);
                }
            }
            Container::Bucket { of, range } if range.end - range.start > BUCKET => {
                buckets(session, &of, range)
            }
            Container::Bucket { of, range } => {
                return all_of(session, &of, Which::Indexed, range, &limits);
            }
        };
        written(&variables)
    }
}

fn written(variables: &[Variable]) -> Result<VariablesResponse, RequestError> {
    let mut body = VariablesResponse::for_about(variables.len());
    for variable in variables {
        push(&mut body, variable)?;
    }
    Ok(body)
}

fn push<S: AsRef<str>>(
    body: &mut VariablesResponse,
    variable: &Variable<S>,
) -> Result<(), RequestError> {
    let pushed = body.push(variable);
    pushed.map_err(|error| RequestError::Other(error.to_string()))
}

/// How values are to be shown.
pub fn limits(session: &Session, format: Option<&ValueFormat>) -> Limits {
    let length = format.and_then(|format| format.length);
    let usual = length.map_or_else(
        || session.limits.clone(),
        |length| limits_of(usize::try_from(length).unwrap_or(0).min(LONGEST)),
    );
    Limits {
        numbers: match format.and_then(|format| format.hex) {
            Some(true) => NumberFormat::Hex,
            // Clients that have no such button send `false` all the time.
            _ => session.limits.numbers,
        },
        addresses: format.and_then(|format| format.addresses).unwrap_or(true),
        ..usual
    }
}

/// Limits for a text of about that many bytes.
pub fn limits_of(text: usize) -> Limits {
    let usual = Limits::default();
    Limits {
        text,
        string: text,
        elements: (text / 8).max(4),
        depth: match text > 4 * usual.text {
            true => 2 * usual.depth,
            false => usual.depth,
        },
        ..usual
    }
}

/// Whether all variables are asked for, in the usual form.
fn is_usual(arguments: &VariablesArguments) -> bool {
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
            length,
        } = format;
        *hex != Some(true) && addresses.is_none() && length.is_none()
    });
    let all = |number: &Option<i64>| number.is_none_or(|number| number == 0);
    filter.is_none() && all(start) && all(count) && usual_form
}

/// Which of so many children are asked for.
fn asked_range(arguments: &VariablesArguments, all: u64) -> Range<u64> {
    let number = |number: Option<i64>| u64::try_from(number.unwrap_or(0)).unwrap_or(0);
    let start = number(arguments.start).min(all);
    let count = match number(arguments.count) {
        0 => MOST,
        count => count.min(MOST),
    };
    start..start.saturating_add(count).min(all)
}

fn scope(
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

    /// Reads and writes so many of them; whether there are more.
    ///
    /// # Errors
    /// The client has cancelled the request.
    pub fn go_on(&mut self, session: &mut Session, count: usize) -> Result<bool, RequestError> {
        for named in self.rest.by_ref().take(count) {
            let variable = named_variable(session, self.frame, named, &self.limits)?;
            push(&mut self.body, &variable)?;
        }
        Ok(self.rest.len() > 0)
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
fn in_hex(limits: Limits) -> Limits {
    Limits {
        numbers: NumberFormat::Hex,
        ..limits
    }
}

/// Lets a register be opened that has parts.
fn open_register(
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
fn register_groups(session: &mut Session, frame: FrameKey) -> Result<Vec<Variable>, RequestError> {
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

/// An answer of children of a value only.
fn all_of(
    session: &mut Session,
    of: &Opened,
    which: Which,
    range: Range<u64>,
    limits: &Limits,
) -> Result<VariablesResponse, RequestError> {
    let count = (range.end - range.start).min(MOST) as usize;
    let mut body = VariablesResponse::for_about(count);
    children(session, of, which, range, limits, &mut body)?;
    Ok(body)
}

/// Writes children of a value.
fn children(
    session: &mut Session,
    of: &Opened,
    which: Which,
    mut range: Range<u64>,
    limits: &Limits,
    body: &mut VariablesResponse,
) -> Result<(), RequestError> {
    let mut limits = limits.clone();
    limits.numbers = of.numbers.unwrap_or(limits.numbers);
    // Of very many elements, each one number, the whole's place tells enough.
    let many = range.end - range.start > MANY;
    while !range.is_empty() {
        match session
            .debugger
            .next_children(&of.value, which, &mut range)?
        {
            Next::Numbers(numbers) => {
                write_numbers(session, of, &numbers, limits.numbers, many, body)?;
            }
            Next::Children(children) => {
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

/// Writes numbers in a row, with texts that are used again for each.
fn write_numbers(
    session: &Session,
    of: &Opened,
    numbers: &Numbers,
    format: NumberFormat,
    many: bool,
    body: &mut VariablesResponse,
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
        // A `String` takes all that is written to it.
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

/// The indexed children of `range` in at most [`BUCKET`] parts of a round size.
fn buckets(session: &mut Session, of: &Opened, range: Range<u64>) -> Vec<Variable> {
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

fn read_only() -> VariablePresentationHint {
    VariablePresentationHint {
        attributes: Some(vec![VariablePresentationHintAttributes::ReadOnly]),
        ..VariablePresentationHint::default()
    }
}

/// A value in the client's form; where there is none, the reason is its text.
fn variable(
    session: &mut Session,
    frame: Option<FrameKey>,
    name: String,
    expression: Option<String>,
    value: Result<Value, engine::Error>,
    limits: &Limits,
) -> Result<Variable, RequestError> {
    if session.is_cancelled() {
        return Err(RequestError::Cancelled);
    }
    let value = match value {
        Ok(value) => value,
        Err(engine::Error::Cancelled) => return Err(RequestError::Cancelled),
        Err(error) => {
            return Ok(Variable {
                name,
                value: bracketed(&error),
                presentation_hint: Some(read_only()),
                evaluate_name: expression,
                ..Variable::default()
            });
        }
    };
    let shown = Shown::new(session, frame, expression.clone(), value, limits);
    Ok(Variable {
        name,
        value: shown.text,
        r#type: shown.type_name,
        presentation_hint: shown.presentation_hint,
        evaluate_name: expression,
        variables_reference: shown.variables_reference,
        named_variables: shown.named_variables,
        indexed_variables: shown.indexed_variables,
        memory_reference: shown.memory_reference,
        declaration_location_reference: None,
        value_location_reference: shown.value_place,
    })
}

/// `<reason>`, as in `<optimized out>`.
fn bracketed(error: &engine::Error) -> String {
    let text = error.to_string();
    match text.starts_with('<') {
        true => text,
        false => format!("<{text}>"),
    }
}

/// A value as answers have it.
pub struct Shown {
    /// One line.
    pub text: String,
    /// The text is an error.
    pub is_error: bool,
    /// The type, for clients that show it.
    pub type_name: Option<Arc<str>>,
    /// How to show it.
    pub presentation_hint: Option<VariablePresentationHint>,
    /// Its number, 0 where there is nothing to open.
    pub variables_reference: i64,
    /// Children that have names.
    pub named_variables: Option<i64>,
    /// Children that have indices.
    pub indexed_variables: Option<i64>,
    /// Where its bytes are, or where it points.
    pub memory_reference: Option<MemoryReference>,
    /// The number of the place that it is: a function's.
    pub value_place: Option<i64>,
}

impl Shown {
    /// Presents a value, and gives it a number if it can be opened.
    pub fn new(
        session: &mut Session,
        frame: Option<FrameKey>,
        expression: Option<String>,
        value: Value,
        limits: &Limits,
    ) -> Self {
        let Presentation {
            text,
            type_name,
            named,
            indexed,
            writable,
            is_error,
            memory,
            function,
        } = session.debugger.present(&value, limits);
        let variables_reference = match named.saturating_add(indexed) {
            0 => 0,
            _ => session.handles.container_id(Container::Value(Opened {
                value,
                frame,
                expression,
                numbers: Some(limits.numbers).filter(|it| *it != NumberFormat::Natural),
                named,
                indexed,
            })),
        };
        // In buckets, indexed children are named ones.
        let counted = session.client.variable_paging || indexed <= BUCKET;
        let count = |count: u64| (counted && count > 0).then(|| count.min(i32::MAX as u64) as i64);
        Self {
            text,
            is_error,
            type_name: session.client.variable_type.then_some(type_name),
            presentation_hint: (!writable).then(read_only),
            variables_reference,
            named_variables: count(named),
            indexed_variables: count(indexed),
            // Where a null pointer points there is nothing to see.
            memory_reference: memory
                .filter(|place| session.client.memory_references && place.0 != 0)
                .map(MemoryReference),
            value_place: function.map(|place| session.handles.place_id(place)),
        }
    }
}

/// An expression for a child, given its parent's.
fn child_expression(parent: Option<&str>, path: Option<ChildPath>, name: &str) -> Option<String> {
    let parent = parent?;
    Some(match path? {
        ChildPath::Suffix(suffix) => format!("{}{suffix}", atom(parent)),
        ChildPath::Name => format!("{}{name}", atom(parent)),
        ChildPath::Prefix(prefix) => format!("{prefix}{}", atom(parent)),
        ChildPath::Same => parent.to_owned(),
    })
}

/// An expression that suffixes bind to.
fn atom(expression: &str) -> String {
    match is_postfix(expression) {
        true => expression.to_owned(),
        false => format!("({expression})"),
    }
}

/// Whether suffixes bind to all of an expression: a name with members and indices behind it,
/// or something in parentheses with them.
fn is_postfix(expression: &str) -> bool {
    let mut depth = 0_u32;
    let mut rest = expression.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth = depth.saturating_sub(1),
            '-' if rest.peek() == Some(&'>') => drop(rest.next()),
            _ if depth > 0 || c.is_alphanumeric() || matches!(c, '_' | '.' | ':' | '$') => {}
            _ => return false,
        }
    }
    // `(T)x` begins with parentheses, but is a cast.
    !expression.starts_with('(') || !cast_like(expression)
}

fn cast_like(expression: &str) -> bool {
    let mut depth = 0_u32;
    for (at, c) in expression.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            let next = expression[at + 1..].chars().next();
            return next.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '('));
        }
    }
    true
}

/// Assigns to a variable.
pub enum SetVariable {}

impl Request for SetVariable {
    const COMMAND: &'static str = "setVariable";
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
        let value = session.debugger.assign(frame, &target, &arguments.value)?;
        changed(session, &target);
        let limits = limits(session, arguments.format.as_ref());
        let shown = Shown::new(session, frame, expression, value, &limits);
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

/// Tells the client what an assignment to a value made stale.
pub fn changed(session: &mut Session, value: &Value) {
    match value.address().zip(value.ty.size()) {
        Some((addr, size)) => memory_changed(session, addr, size),
        None => session.variables_changed = true,
    }
}

/// A place to assign to: its frame, its expression, itself.
type Target = (Option<FrameKey>, Option<String>, Value);

fn no_variable(name: &str) -> RequestError {
    RequestError::Other(format!("there is no variable `{name}` here"))
}

/// The variable of that name in a scope or value.
///
/// # Errors
/// There is none, or it has no value.
pub(super) fn child_named(
    session: &mut Session,
    container: Container,
    name: &str,
) -> Result<Target, RequestError> {
    match container {
        Container::Locals(frame) => in_scope(frame, session.debugger.locals(frame)?, name),
        Container::Returned(_) => {
            let message =
                "what was returned is in registers: it can be neither changed nor watched";
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
    // Of two equal names the inner one is the last.
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
        index.map(|index| (Which::Indexed, index..index + 1)),
        Some((Which::Named, 0..of.named)),
        name.starts_with('[')
            .then(|| (Which::Indexed, 0..of.indexed.min(MOST))),
    ];
    let mut found = None;
    for (which, mut range) in searches.into_iter().flatten() {
        while found.is_none() && !range.is_empty() {
            let next = session
                .debugger
                .next_children(&of.value, which, &mut range)?;
            found = (next.children().into_iter()).find(|child| child.name == name);
        }
    }
    let Child { value, path, .. } = found.ok_or_else(|| no_variable(name))?;
    let expression = child_expression(of.expression.as_deref(), path, name);
    Ok((of.frame, expression, value?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_of_children() {
        let child = |parent: &str, path| child_expression(Some(parent), Some(path), "[1]").unwrap();
        let suffix = |parent, text: &str| child(parent, ChildPath::Suffix(text.to_owned()));
        assert_eq!(suffix("a.b[3]->c", ".x"), "a.b[3]->c.x");
        assert_eq!(suffix("*p", "->x"), "(*p)->x");
        assert_eq!(suffix("(*p).y", "[1]"), "(*p).y[1]");
        assert_eq!(suffix("(int*)p", "[1]"), "((int*)p)[1]");
        assert_eq!(child("a - b", ChildPath::Name), "(a - b)[1]");
        assert_eq!(child("p->q", ChildPath::Prefix("*".to_owned())), "*p->q");
        assert_eq!(child("x", ChildPath::Same), "x");
    }

    #[test]
    fn ranges() {
        let range = |start, count| {
            let arguments = VariablesArguments {
                start,
                count,
                ..VariablesArguments::default()
            };
            asked_range(&arguments, 10)
        };
        assert_eq!(range(None, None), 0..10);
        assert_eq!(range(Some(3), Some(4)), 3..7);
        assert_eq!(range(Some(3), Some(0)), 3..10);
        assert_eq!(range(Some(99), Some(1)), 10..10);
        assert_eq!(range(Some(-1), Some(i64::MAX)), 0..10);
    }
}
