//! Names of frames in the client's format: with parameters, line and module.

use crate::protocol::RequestError;
use crate::protocol::StackFrameFormat;
use crate::session::Session;
use engine::value::scalar::NumberFormat;
use engine::{Error, Frame, FrameKind, Language, Limits, ModuleInfo, Named, Pointees};
use std::sync::Arc;

/// Formats a frame's name according to `format`.
///
/// # Errors
/// The request was cancelled.
pub fn name_of(
    session: &mut Session,
    frame: &Frame,
    format: &StackFrameFormat,
    modules: &[ModuleInfo],
) -> Result<String, RequestError> {
    let mut name = frame.name.clone();
    let has_parameters = matches!(frame.kind, FrameKind::Function | FrameKind::Inlined);
    if format.wants_parameters() && has_parameters {
        let parameters = parameters(session, frame, format)?;
        name = format!("{name}({})", parameters.join(", "));
    }
    let module = frame.module.filter(|_| format.module.unwrap_or(false));
    if let Some(module) = module.and_then(|id| modules.iter().find(|module| module.id == id)) {
        name = format!("{}!{name}", module.name);
    }
    if let Some(place) = frame
        .location
        .as_ref()
        .filter(|_| format.line.unwrap_or(false))
    {
        name = format!("{name} Line {}", session.client.line_out(place.line));
    }
    Ok(name)
}

fn parameters(
    session: &mut Session,
    frame: &Frame,
    format: &StackFrameFormat,
) -> Result<Vec<String>, RequestError> {
    let limits = Limits {
        text: 60,
        elements: 4,
        string: 40,
        depth: 1,
        addresses: true,
        pointees: Pointees::Hidden,
        numbers: match format.hex {
            Some(true) => NumberFormat::Hex,
            _ => session.settings.limits.numbers,
        },
    };
    let parameters = match session.debugger.parameters(frame.key) {
        Ok(parameters) => parameters,
        Err(Error::Cancelled) => return Err(RequestError::Cancelled),
        // The name alone is better than no stack.
        Err(_) => return Ok(vec!["…".to_owned()]),
    };
    let mut texts = Vec::new();
    for parameter in parameters {
        if session.is_cancelled() {
            return Err(RequestError::Cancelled);
        }
        texts.push(parameter_text(session, frame, parameter, format, &limits));
    }
    Ok(texts)
}

fn parameter_text(
    session: &mut Session,
    frame: &Frame,
    parameter: Named,
    format: &StackFrameFormat,
    limits: &Limits,
) -> String {
    let (type_name, value) = match &parameter.value {
        Ok(value) => {
            let shown = session.debugger.present(value, limits);
            (shown.type_name, shown.text)
        }
        Err(error) => (Arc::default(), error.to_string()),
    };
    // The name of a shadowed parameter ends with the line of its declaration.
    let name = parameter.name.split(" (line ").next().unwrap_or_default();
    let is_bare = [format.parameter_types, format.parameter_values] == [None, None];
    let name = match format.parameter_names.unwrap_or(is_bare) {
        true => name,
        false => "",
    };
    // A parameter without a name is shown by its type.
    let is_unnamed = parameter.name.is_empty() && (is_bare || format.parameter_names == Some(true));
    let type_name = match format.parameter_types {
        Some(true) => &type_name,
        _ if is_unnamed => &type_name,
        _ => "",
    };
    let declared = match (frame.language, type_name, name) {
        (_, "", name) => name.to_owned(),
        (_, type_name, "") => type_name.to_owned(),
        (Some(Language::Rust), type_name, name) => format!("{name}: {type_name}"),
        (_, type_name, name) => format!("{type_name} {name}"),
    };
    match (format.parameter_values, declared.as_str()) {
        (Some(true), "") => value,
        (Some(true), declared) => format!("{declared} = {value}"),
        _ => declared,
    }
}
