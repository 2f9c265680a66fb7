//! A hit of a tracepoint that the debugger evaluates.

use crate::debugger::Debugger;
use crate::debugger::frame::FrameScope;
use crate::expr::query::{Query, Source, Subject};
use crate::expr::{EvalContext, Purpose};
use crate::ids::error::Error;
use crate::ids::{BreakpointId, ThreadId};
use crate::inspect::library;
use crate::inspect::value::{self, Limits, scalar};
use crate::stops::trace::{Addition, Number, Record};

impl Debugger {
    /// Records a hit of a tracepoint, evaluated in the frame of a stopped thread without its `hidden`
    /// inlined calls.
    pub(crate) fn record_hit(
        &mut self,
        id: BreakpointId,
        thread: ThreadId,
        hidden: usize,
        query: &Query,
    ) {
        let values = self.in_hit_frame(thread, hidden, |context| values_of(query, context));
        self.update_traces();
        let Some(state) = self.traces.0.get_mut(&id) else {
            return;
        };
        match values {
            Ok((additions, record)) => {
                state.collected.add(query, additions);
                if let Some(values) = record {
                    state.collected.record(Record {
                        time: state.clock.at.elapsed(),
                        thread: Some(thread),
                        values,
                    });
                }
            }
            Err(error) => state.collected.fail(error.to_string()),
        }
    }
}

/// Returns what a hit adds to each table, and the values of its record if there are any.
fn values_of(
    query: &Query,
    context: &mut FrameScope<'_>,
) -> Result<(Vec<Addition>, Option<Vec<String>>), Error> {
    let mut additions = Vec::new();
    for table in &query.tables {
        let keys = table
            .keys
            .iter()
            .map(|key| text_of(key, context))
            .collect::<Result<_, _>>()?;
        let mut numbers = Vec::new();
        for column in &table.columns {
            let number = column
                .value
                .as_ref()
                .map(|subject| number_of(subject, context));
            numbers.push(number.transpose()?);
        }
        additions.push(Addition { keys, numbers });
    }
    let record = query.record.iter().map(|subject| text_of(subject, context));
    let record: Vec<String> = record.collect::<Result<_, _>>()?;
    Ok((additions, (!record.is_empty()).then_some(record)))
}

fn text_of(subject: &Subject, context: &mut FrameScope<'_>) -> Result<String, Error> {
    let expression = match &subject.value {
        Source::Expression(expression) => expression,
        Source::Stack(frames) => return Ok(context.callers(*frames).join(" ← ")),
    };
    let value = expression.evaluate(context, Purpose::Look);
    let value = value.map_err(|error| in_subject(subject, &error))?;
    let limits = Limits {
        numbers: expression.numbers().unwrap_or_default(),
        ..Limits::default()
    };
    let mut text = String::new();
    value::write(context.as_target(), &value, &limits, &mut text);
    Ok(text)
}

fn number_of(subject: &Subject, context: &mut FrameScope<'_>) -> Result<Number, Error> {
    let Some(expression) = subject.expression() else {
        return Err(Error::eval("a stack is not a number"));
    };
    let value = expression.evaluate(context, Purpose::Look);
    let value = value.map_err(|error| in_subject(subject, &error))?;
    match library::number(context.as_target(), &value)? {
        Some(scalar::Number::Int(int)) => Ok(Number::Int(int.value())),
        Some(scalar::Number::Float(float)) => Ok(Number::Float(float)),
        None => {
            let ty = value.ty.name();
            Err(Error::eval(format!(
                "`{}` is a `{ty}`, not a number",
                subject.text
            )))
        }
    }
}

fn in_subject(subject: &Subject, error: &Error) -> Error {
    Error::eval(format!("`{}`: {error}", subject.text))
}
