//! Expressions.

use crate::error::RequestError;
use crate::protocol::{Capabilities, EvaluateArguments, EvaluateResponse};
use crate::requests::variables::{Shown, limits};
use crate::routes::Request;
use crate::session::Session;
use engine::{Limits, Purpose};

/// Evaluates an expression.
pub enum Evaluate {}

impl Request for Evaluate {
    const COMMAND: &'static str = "evaluate";
    type Arguments = EvaluateArguments;
    type Body = EvaluateResponse;

    fn advertise(capabilities: &mut Capabilities) {
        capabilities.supports_evaluate_for_hovers = true;
        capabilities.supports_clipboard_context = true;
        capabilities.supports_value_formatting_options = true;
    }

    fn handle(
        session: &mut Session,
        arguments: EvaluateArguments,
    ) -> Result<EvaluateResponse, RequestError> {
        let expression = arguments.expression.trim();
        if expression.is_empty() {
            return Err(RequestError::Arguments(
                "evaluate: `expression` is empty".to_owned(),
            ));
        }
        // Some clients number frames from 1, and say 0 for none.
        let frame = arguments.frame_id.filter(|id| *id != 0);
        let frame = frame.map(|id| session.handles.frame(id)).transpose()?;
        let context = arguments.context.as_deref();
        let purpose = match context {
            Some("hover") => Purpose::Look,
            _ => Purpose::Change,
        };
        let mut limits = limits(arguments.format.as_ref());
        if context == Some("clipboard") {
            limits = Limits {
                text: 1 << 20,
                elements: 10_000,
                string: 1 << 20,
                depth: 8,
                hex: limits.hex,
            };
        }
        let value = session.debugger.evaluate(frame, expression, purpose)?;
        let shown = Shown::new(session, frame, Some(expression.to_owned()), value, &limits);
        if shown.is_error {
            let text = shown.text.trim_start_matches('<').trim_end_matches('>');
            return Err(RequestError::Other(text.to_owned()));
        }
        Ok(EvaluateResponse {
            result: shown.text,
            type_name: shown.type_name,
            presentation_hint: shown.presentation_hint,
            variables_reference: shown.variables_reference,
            named_variables: shown.named_variables,
            indexed_variables: shown.indexed_variables,
            memory_reference: shown.memory_reference,
            value_location_reference: shown.value_place,
        })
    }
}
