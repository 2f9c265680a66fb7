//! Evaluation of expressions, and assignment to them.

use crate::console;
use crate::protocol::RequestError;
use crate::protocol::{
    Capabilities, EvaluateArguments, EvaluateResponse, SetExpressionArguments,
    SetExpressionResponse,
};
use crate::requests::variables::{assigned_text, changed};
use crate::requests::{InThePast, Request};
use crate::session::RequiredState;
use crate::session::Session;
use crate::session::describe::{RenderedValue, limits};
use engine::{Evaluated, FrameKey, Language, Limits, Purpose};

/// Evaluates an expression, or runs a console command.
pub enum Evaluate {}

impl Request for Evaluate {
    const COMMAND: &'static str = "evaluate";
    const IN_THE_PAST: InThePast = InThePast::Shown;
    const RETRY_AFTER_CALL: bool = true;
    // Some commands are allowed in any state.
    const WHEN: RequiredState = RequiredState::Always;
    const DEFERRED_DURING_CALL: bool = true;
    type Arguments = EvaluateArguments;
    type Body = EvaluateResponse;

    fn advertise(capabilities: &mut Capabilities) {
        capabilities.supports_evaluate_for_hovers = true;
        capabilities.supports_clipboard_context = true;
        // The program's output is passed through unchanged; commands highlight lines.
        capabilities.supports_ansi_styling = true;
        capabilities.supports_value_formatting_options = true;
    }

    fn handle(
        session: &mut Session,
        arguments: EvaluateArguments,
    ) -> Result<EvaluateResponse, RequestError> {
        // Users may end an expression like a statement.
        let expression = arguments
            .expression
            .trim_end_matches([';', ' ', '\t', '\n', '\r']);
        let expression = expression.trim_start();
        if expression.is_empty() {
            return Err(RequestError::Arguments(
                "evaluate: `expression` is empty".to_owned(),
            ));
        }
        let context = arguments.context.as_deref();
        let command = match context {
            None | Some("repl") => console::command_in(session, expression),
            Some(_) => None,
        };
        let stopped = session.check(RequiredState::Stopped);
        // Some clients number frames from 1 and send 0 for no frame.
        let frame = arguments.frame_id.filter(|id| *id != 0 && stopped.is_ok());
        let frame = frame.map(|id| session.handles.frame(id)).transpose();
        if let Some(command) = command {
            return Ok(EvaluateResponse {
                result: console::run(session, frame, command)?,
                ..EvaluateResponse::default()
            });
        }
        let frame = frame?;
        let habit = match context {
            Some("repl") => console::instead_of(expression, &session.settings.command_prefix),
            _ => None,
        };
        let or_habit = |error: RequestError| match &habit {
            Some(instead) => RequestError::Other(instead.clone()),
            None => error,
        };
        stopped.map_err(&or_habit)?;
        let expression = match context {
            Some("hover") => hovered(session, frame, expression),
            _ => expression,
        };
        let purpose = match context {
            Some("hover") => Purpose::Look,
            Some("repl") => Purpose::Command,
            _ => Purpose::Change,
        };
        let mut limits = limits(session, arguments.format.as_ref());
        session.history.begin_reply();
        if context == Some("clipboard") {
            limits = Limits {
                text: 1 << 20,
                elements: 10_000,
                string: 1 << 20,
                depth: 8,
                numbers: limits.numbers,
                addresses: limits.addresses,
                pointees: limits.pointees,
            };
        }
        let evaluated = session.debugger.evaluate(frame, expression, purpose);
        let Evaluated {
            value,
            numbers,
            expression,
        } = evaluated.map_err(|error| {
            or_habit(match context {
                // The console shows the message below its expression.
                Some("repl") if error.span().is_some() => {
                    RequestError::Other(engine::expr::with_marks(&error, expression))
                }
                _ => error.into(),
            })
        })?;
        limits.numbers = numbers.unwrap_or(limits.numbers);
        if context == Some("repl") {
            session.debugger.remember_result(&value);
        }
        let shown = RenderedValue::new(session, frame, Some(expression), value, &limits);
        if let Some(error) = shown.error {
            let text = shown.text.trim_start_matches('<').trim_end_matches('>');
            return Err(RequestError::of_value(&error, text.to_owned()));
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

/// Returns the expression to evaluate for a hover. Editors include a `&` before a name; for
/// `total(&values)`, the value of `values` is wanted.
fn hovered<'a>(session: &mut Session, frame: Option<FrameKey>, expression: &'a str) -> &'a str {
    let Some((frame, name)) = frame.zip(expression.strip_prefix('&')) else {
        return expression;
    };
    let stack = session
        .debugger
        .stack(frame.thread, frame.level, Some(1))
        .ok();
    let language = stack.and_then(|stack| stack.frames.first()?.language);
    match language {
        Some(Language::Rust) => {
            let name = name.trim_start_matches('&').trim_start();
            name.strip_prefix("mut ").unwrap_or(name)
        }
        _ => expression,
    }
}

/// Assigns to an expression.
pub enum SetExpression {}

impl Request for SetExpression {
    const COMMAND: &'static str = "setExpression";
    const IN_THE_PAST: InThePast = InThePast::Shown;
    type Arguments = SetExpressionArguments;
    type Body = SetExpressionResponse;

    fn advertise(capabilities: &mut Capabilities) {
        capabilities.supports_set_expression = true;
    }

    fn handle(
        session: &mut Session,
        arguments: SetExpressionArguments,
    ) -> Result<SetExpressionResponse, RequestError> {
        let frame = arguments.frame_id.filter(|id| *id != 0);
        let frame = frame.map(|id| session.handles.frame(id)).transpose()?;
        let text = arguments.expression.trim();
        let to = session.debugger.evaluate(frame, text, Purpose::Look)?;
        let assigned = assigned_text(&arguments.value);
        let value = session.debugger.assign(frame, &to.value, assigned)?;
        changed(session, &to.value);
        let mut limits = limits(session, arguments.format.as_ref());
        limits.numbers = to.numbers.unwrap_or(limits.numbers);
        let shown = RenderedValue::new(session, frame, Some(to.expression), value, &limits);
        Ok(SetExpressionResponse {
            value: shown.text,
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
