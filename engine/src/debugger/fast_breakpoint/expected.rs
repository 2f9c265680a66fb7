//! Tells before the first hit whether the program can evaluate the hits of a breakpoint.

use super::install::{logs_in_process, message_of};
use crate::compile::{CodeScope, Condition};
use crate::expr::Expression;
use crate::stops::breakpoint::Breakpoint;

/// Returns why the program cannot evaluate a breakpoint's condition and message itself at a place; `None`: it can, or
/// only a hit shows. The process is not read.
pub(crate) fn why_outside(breakpoint: &Breakpoint, scope: &CodeScope<'_>) -> Option<String> {
    // The place of a thread's number is found at a hit.
    let is_settled = |it: &Expression| !it.mentioned().iter().any(|it| it.name == "thread");
    let program = &breakpoint.program;
    if let Some(condition) = program.condition.as_deref().filter(|it| is_settled(it))
        && let Err(why) = Condition::compile(condition, scope)
    {
        return Some(why.to_string());
    }
    let message = program.message.as_deref();
    let message =
        message.filter(|_| breakpoint.hit.is_none() && logs_in_process(breakpoint.hit))?;
    let mut values = message.iter().filter_map(|it| it.value());
    let is_settled = values.all(is_settled);
    message_of(message, scope).err().filter(|_| is_settled)
}
