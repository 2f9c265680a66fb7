//! A hit of a tracepoint that the debugger evaluates.

use super::call::{Activation, Entered, Known, Left, complete, number_in};
use crate::compile::NEVER;
use crate::debugger::Debugger;
use crate::debugger::frame::FrameScope;
use crate::expr::query::{NOTHING, Query, Source, Subject};
use crate::expr::{EvalContext, Purpose};
use crate::ids::error::Error;
use crate::ids::{BreakpointId, ThreadId};
use crate::inferior::jump_patch::trace_area::CallBegin;
use crate::inspect::value::{self, Limits};
use crate::os::ticks;
use crate::stops::trace::{Number, STACK_SEPARATOR, path_text, time_text};
use dwarf::LoadAddr;

impl Debugger {
    /// Records a hit of a tracepoint at `addr`, evaluated in the frame of a stopped thread without its
    /// `hidden` inlined calls. If calls are recorded, that is done when the call returns.
    pub(crate) fn record_hit(
        &mut self,
        id: BreakpointId,
        thread: ThreadId,
        addr: Option<LoadAddr>,
        hidden: usize,
        query: &Query,
    ) {
        if let (Some(key), Some(addr)) = (&query.mark, addr) {
            return self.record_pass(id, thread, (addr, hidden), key);
        }
        if let Some(addr) = addr {
            self.make_room(id, thread, addr);
        }
        let now = ticks();
        self.note_leaving_out(id);
        let site = addr.and_then(|addr| self.site_query(id, addr, hidden, query));
        let Some(site) = site else {
            return;
        };
        let own = &site.query;
        let frame = match query.records_calls() {
            true => self.frame_address(thread),
            false => None,
        };
        let path = match (frame, addr) {
            (Some(frame), Some(entry)) if query.records_paths() => {
                self.enter_path(id, thread, (entry, frame))
            }
            _ => Vec::new(),
        };
        let place = (addr.unwrap_or(LoadAddr(0)), hidden);
        let times = self.take_passes(id, thread, place, own);
        let own_time = &self.inferior.own_time;
        let begin = CallBegin {
            ticks: own_time.now(),
            stops: own_time.stops(),
        };
        let values = times.and_then(|times| {
            let known = (&path[..], &times[..]);
            self.in_hit_frame(thread, hidden, |context| {
                let values = entered(own, known, context)?;
                Ok(Entered { begin, ..values })
            })
        });
        let Some(state) = self.traces.0.get_mut(&id) else {
            return;
        };
        match (values, frame, addr) {
            (Ok(entered), Some(frame), Some(entry)) => {
                let activation = Activation {
                    thread,
                    entry,
                    frame,
                };
                self.enter_call(id, activation, entered);
                // A function of one instruction.
                if let Some(exit) = self.stops.breakpoints.exit_at_entry(id, entry) {
                    self.record_exit(id, thread, exit);
                }
            }
            (Ok(_), ..) if query.records_calls() => {
                state
                    .collected
                    .fail("the address of the frame is unknown".to_owned());
            }
            (Ok(entered), ..) => match complete(own, entered, &Left::nothing()) {
                Ok(values) => state.add((&site, place.0), (thread, now), values),
                Err(error) => state.collected.fail(error.to_string()),
            },
            (Err(error), ..) => state.collected.fail(error.to_string()),
        }
    }
}

/// Returns what is known at a hit: everything, unless calls are recorded. `path`: the functions of the
/// calls in progress; `times`: those since the passes of other places.
fn entered(
    query: &Query,
    (path, times): (&[String], &[Option<u64>]),
    context: &mut FrameScope<'_>,
) -> Result<Entered, Error> {
    let is_call = query.records_calls();
    let mut entered = Entered {
        begin: CallBegin::default(),
        texts: Vec::new(),
        numbers: Vec::new(),
    };
    for table in &query.tables {
        for key in &table.keys {
            let known = (is_call, path, times);
            entered.texts.push(text_of(key, known, context)?);
        }
        for subject in table.columns.iter().filter_map(|it| it.value.as_ref()) {
            entered.numbers.push(number_of(subject, times, context)?);
        }
    }
    for subject in &query.record {
        let known = (is_call, path, times);
        entered.texts.push(text_of(subject, known, context)?);
    }
    Ok(entered)
}

/// Returns a value's text; `None` if it is known only when the call returns.
fn text_of(
    subject: &Subject,
    (is_call, path, times): (bool, &[String], &[Option<u64>]),
    context: &mut FrameScope<'_>,
) -> Result<Option<String>, Error> {
    let expression = match &subject.value {
        Source::Expression(expression) => expression,
        Source::Stack(frames) => return Ok(Some(context.callers(*frames).join(STACK_SEPARATOR))),
        Source::Function => {
            // Only a function with code of its own returns.
            let name = match is_call {
                true => context.function_with_code(),
                false => context.callers(1).pop(),
            };
            return Ok(Some(name.unwrap_or_else(|| "??".to_owned())));
        }
        Source::Since(index) => {
            let time = times.get(*index).copied().flatten();
            return Ok(Some(time_text(time.map_or(NEVER, |time| time as i64))));
        }
        Source::Nothing => return Ok(Some(NOTHING.to_owned())),
        Source::CallPath | Source::CallDepth => return Ok(Some(path_text(subject, path))),
        // At a site, each parameter is a value of its own.
        Source::Elapsed | Source::Returned | Source::Arguments => return Ok(None),
    };
    let value = expression.evaluate(context, Purpose::Look);
    let value = value.map_err(|error| in_subject(subject, &error))?;
    let limits = Limits {
        numbers: expression.numbers().unwrap_or_default(),
        ..Limits::default()
    };
    let mut text = String::new();
    value::write(context.as_target(), &value, &limits, &mut text);
    Ok(Some(text))
}

/// Returns a value's number.
fn number_of(
    subject: &Subject,
    times: &[Option<u64>],
    context: &mut FrameScope<'_>,
) -> Result<Known, Error> {
    if let Source::Since(index) = subject.value {
        let time = times.get(index).copied().flatten();
        return Ok(time.map_or(Known::Never, |time| Known::Now(Number::Int(time.into()))));
    }
    if let Source::Nothing = subject.value {
        return Ok(Known::Never);
    }
    let Some(expression) = subject.expression() else {
        return Ok(Known::Later);
    };
    let value = expression.evaluate(context, Purpose::Look);
    let value = value.map_err(|error| in_subject(subject, &error))?;
    let number = number_in(context.as_target(), &value);
    number
        .map(Known::Now)
        .map_err(|error| in_subject(subject, &error))
}

fn in_subject(subject: &Subject, error: &Error) -> Error {
    Error::eval(format!("`{}`: {error}", subject.text))
}
