//! Values in responses.

use crate::protocol::RequestError;
use crate::protocol::{
    MemoryReference, ValueFormat, Variable, VariablePresentationHint,
    VariablePresentationHintAttributes,
};
use crate::session::Session;
use crate::session::handles::{Container, Opened};
use engine::value::scalar::NumberFormat;
use engine::{FrameKey, Limits, Pointees, Presentation, Value};
use std::sync::Arc;

/// Maximum number of indexed children per response for a client without paging; more are divided
/// into buckets.
pub const BUCKET: u64 = 100;
/// Maximum length of a value's text that a client may request, in bytes.
const MAX_TEXT_BYTES: usize = 1 << 20;

/// Returns the limits for a format of the client.
pub fn limits(session: &Session, format: Option<&ValueFormat>) -> Limits {
    let length = format.and_then(|format| format.length);
    let usual = length.map_or_else(
        || session.settings.limits.clone(),
        |length| limits_of(usize::try_from(length).unwrap_or(0).min(MAX_TEXT_BYTES)),
    );
    Limits {
        numbers: match format.and_then(|format| format.hex) {
            Some(true) => NumberFormat::Hex,
            // Clients without a hex switch always send `false`.
            _ => session.settings.limits.numbers,
        },
        addresses: format.and_then(|format| format.addresses).unwrap_or(true),
        pointees: match format.and_then(|format| format.pointees) {
            Some(true) => Pointees::Numbered,
            Some(false) => Pointees::Hidden,
            None => session.settings.limits.pointees,
        },
        ..usual
    }
}

/// Returns limits for a text of about `text` bytes.
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

/// Returns the presentation hint of a value that cannot be assigned to.
pub fn read_only() -> VariablePresentationHint {
    VariablePresentationHint {
        attributes: Some(vec![VariablePresentationHintAttributes::ReadOnly]),
        ..VariablePresentationHint::default()
    }
}

/// Describes a variable for the client; without a value, its text is the reason.
///
/// # Errors
/// The client has cancelled the request.
pub fn variable(
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
    let shown = RenderedValue::new(session, frame, expression.clone(), value, limits);
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

/// Formats `<reason>`, as in `<optimized out>`.
fn bracketed(error: &engine::Error) -> String {
    let text = error.to_string();
    match text.starts_with('<') {
        true => text,
        false => format!("<{text}>"),
    }
}

/// A value as responses contain it.
pub struct RenderedValue {
    /// Its text, in one line.
    pub text: String,
    /// Why the text is an error instead of a value.
    pub error: Option<engine::Error>,
    /// Its type, for clients that show types.
    pub type_name: Option<Arc<str>>,
    /// Presentation hint.
    pub presentation_hint: Option<VariablePresentationHint>,
    /// Its variables reference; 0 if it has no children.
    pub variables_reference: i64,
    /// Number of named children.
    pub named_variables: Option<i64>,
    /// Number of indexed children.
    pub indexed_variables: Option<i64>,
    /// The address of its bytes, or the target of a pointer.
    pub memory_reference: Option<MemoryReference>,
    /// The location reference of the value, a function.
    pub value_place: Option<i64>,
}

impl RenderedValue {
    /// Formats a value, and assigns a variables reference if it has children.
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
            error,
            memory,
            function,
        } = match limits.pointees {
            Pointees::Numbered => present(session, &value, limits),
            Pointees::Hidden | Pointees::Shown => session.debugger.present(&value, limits),
        };
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
        // In buckets, indexed children are named children. With counts of both kinds, clients would
        // show the named children first, which matter least.
        let is_few = indexed <= BUCKET;
        let counted = (named == 0 || indexed == 0) && (is_few || session.client.variable_paging);
        let count = |count: u64| (counted && count > 0).then(|| count.min(i32::MAX as u64) as i64);
        Self {
            text,
            error,
            type_name: session.client.variable_type.then_some(type_name),
            presentation_hint: (!writable).then(read_only),
            variables_reference,
            named_variables: count(named),
            indexed_variables: count(indexed),
            // The target of a null pointer cannot be read.
            memory_reference: memory
                .filter(|place| session.client.memory_references && place.0 != 0)
                .map(MemoryReference),
            value_place: function.map(|place| session.handles.location_id(place)),
        }
    }
}

/// Formats a value; if `limits` says so, with the targets of its pointers.
pub fn present(session: &mut Session, value: &engine::Value, limits: &Limits) -> Presentation {
    let mut objects = std::mem::take(&mut session.history.objects);
    let presentation = session.debugger.present_with(value, limits, &mut objects);
    session.history.objects = objects;
    presentation
}
