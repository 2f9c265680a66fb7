//! What an agent means that leaves the action out, and arguments that the action does not read: they are
//! errors, so that none is ignored.

use super::arguments::{Action, Continue, Trace, TraceAction};
use super::error::ToolError;

/// Returns the action of `debug_continue`: the given one, or the one that the other arguments describe.
///
/// # Errors
/// An argument is given that the action does not read.
pub fn action(input: &Continue) -> Result<Action, ToolError> {
    let back = input.written.is_some() || input.hit.is_some() || input.through_copies;
    let action = match input.action {
        Some(action) => action,
        None if back => Action::ReverseContinue,
        None if input.to.is_some() => Action::RunTo,
        None => Action::Continue,
    };
    let goes_back = action == Action::ReverseContinue;
    read_only([
        (
            "to",
            input.to.is_some(),
            goes_back || action == Action::RunTo,
            r#""run-to" or "reverse-continue""#,
        ),
        (
            "written",
            input.written.is_some(),
            goes_back,
            r#""reverse-continue""#,
        ),
        (
            "hit",
            input.hit.is_some(),
            goes_back,
            r#""reverse-continue""#,
        ),
        (
            "throughCopies",
            input.through_copies,
            goes_back && input.written.is_some(),
            r#""reverse-continue" with `written`"#,
        ),
        (
            "frame",
            input.frame.is_some(),
            goes_back && input.written.is_some(),
            r#""reverse-continue" with `written`"#,
        ),
    ])?;
    Ok(action)
}

/// Returns the action of `debug_trace`: the given one, or the one that the other arguments describe.
///
/// # Errors
/// An argument is given that the action does not read.
pub fn trace_action(input: &Trace) -> Result<TraceAction, ToolError> {
    let adds = input.location.is_some() || input.query.is_some();
    let action = match input.action {
        Some(action) => action,
        None if adds => TraceAction::Add,
        None => TraceAction::Read,
    };
    let is_new = action == TraceAction::Add;
    read_only([
        ("location", input.location.is_some(), is_new, r#""add""#),
        ("query", input.query.is_some(), is_new, r#""add""#),
        ("id", input.id.is_some(), !is_new, r#""read" or "remove""#),
    ])?;
    Ok(action)
}

/// Checks arguments: name, whether it is given, whether the action reads it, and the actions that do.
fn read_only<const COUNT: usize>(
    arguments: [(&str, bool, bool, &str); COUNT],
) -> Result<(), ToolError> {
    match arguments
        .into_iter()
        .find(|(_, given, is_read, _)| *given && !*is_read)
    {
        None => Ok(()),
        Some((name, _, _, actions)) => Err(ToolError::new(
            "BAD_ARGUMENTS",
            format!(
                "`{name}` is read by the action {actions} only; set `action`, or leave `{name}` out"
            ),
        )),
    }
}
