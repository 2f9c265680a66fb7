//! A summary of a stop, of a size that the client chooses: the response to `stillpoint/context`, and
//! the report of a stop in `stillpoint mcp`.

mod budget;
pub mod calls;
mod deep;
mod difference;
pub mod explain;
pub mod past;
pub mod search;
mod source;
mod stack;
mod stacks;
pub mod traces;

pub use budget::cut;
pub use stacks::gather_stacks;

use crate::protocol::RequestError;
use crate::protocol::{
    Changes, Context, ContextArguments, ContextThread, ContextVariable, ContextWait, VariableKind,
};
use crate::session::Session;
use crate::session::describe::{limits_of, present};
use crate::session::handles::thread_id;
use crate::session::history::{self, Value};
use budget::Budget;
use engine::{FrameKey, Limits, Named, Pointees, ThreadId};
use stack::Style;
use std::sync::Arc;

/// Default size of a summary in bytes.
const DEFAULT_BUDGET: usize = 6000;
/// Minimum and maximum size that a client may request.
const BUDGET_RANGE: (usize, usize) = (400, 1 << 20);
/// Maximum number of variables read.
const MAX_VARIABLES: usize = 256;
/// Maximum number of frames read: of the stopped thread, and of each other thread.
const MAX_FRAMES: (usize, usize) = (128, 16);
/// Maximum number of other threads.
const MAX_THREADS: usize = 64;
/// Maximum length of a name or a type in bytes.
const MAX_NAME_BYTES: usize = 160;

/// Summarizes a stop.
///
/// # Errors
/// Not stopped, no such thread or frame, or cancelled.
pub fn gather(
    session: &mut Session,
    arguments: &ContextArguments,
) -> Result<Context, RequestError> {
    let size = arguments.budget.map_or(DEFAULT_BUDGET, |budget| {
        usize::try_from(budget)
            .unwrap_or(0)
            .clamp(BUDGET_RANGE.0, BUDGET_RANGE.1)
    });
    let frame_id = arguments.frame_id.filter(|id| *id != 0);
    let frame = frame_id.map(|id| session.handles.frame(id)).transpose()?;
    let thread = match (arguments.thread_id, frame) {
        (_, Some(frame)) => frame.thread,
        (Some(id), None) => thread_id(id)?,
        (None, None) => session.history.thread().ok_or(RequestError::Running)?,
    };
    let mut budget = Budget::new(size);
    let (frames, is_whole) = stack::read(session, thread)?;
    let shown = match frame {
        Some(frame) => frames.iter().find(|it| it.key == frame),
        None => stack::shown(session, &frames),
    };
    let shown = shown.cloned();
    let style = Style::of(arguments.addresses);
    session.history.begin_reply();
    let mut context = session.history.begin(thread);
    context.waits_for = wait_of(session, thread, arguments.addresses);
    context.thread_name = name_of(session, thread);
    context.text = context.text.map(|text| cut(&text, size / 4));
    if let Some(shown) = &shown {
        context.frame = Some(stack::entry(session, shown, style));
        budget.section(15, |allowed| {
            source::around(session, shown, allowed, &mut context.source)
        });
        let function = &shown.name;
        variables(
            session,
            shown.key,
            function,
            arguments.addresses,
            &mut budget,
            &mut context,
        )?;
    }
    let level = shown.map(|frame| frame.key.level);
    let mut entries = stack::fold(session, &frames, level, style);
    budget.section(15, |allowed| {
        let (cost, omitted) = stack::keep(&mut entries, allowed);
        context.omitted.frames = omitted;
        context.omitted.deeper_frames = !is_whole;
        cost
    });
    context.stack = entries;
    budget.section(10, |allowed| {
        (context.output, context.omitted.output) = session.history.output(allowed);
        context.output.len()
    });
    other_threads(session, thread, style, &mut budget, &mut context)?;
    Ok(context)
}

fn name_of(session: &Session, thread: ThreadId) -> String {
    let threads = session.debugger.threads().into_iter();
    let mut named = threads.filter(|it| it.id == thread);
    named.next().map_or_else(String::new, |it| it.name)
}

/// Adds the variables of a frame, and their changes since the last stop in the same function.
fn variables(
    session: &mut Session,
    frame: FrameKey,
    function: &str,
    addresses: bool,
    budget: &mut Budget,
    context: &mut Context,
) -> Result<(), RequestError> {
    let returned = session.debugger.returned(frame).into_iter();
    let returned = returned.map(|named| (VariableKind::Returned, named));
    let locals = session.debugger.locals(frame)?.into_iter();
    let locals = locals.map(|named| match named.is_parameter {
        true => (VariableKind::Argument, named),
        false => (VariableKind::Local, named),
    });
    let all: Vec<(VariableKind, Named)> = returned.chain(locals).collect();
    let count = all.len();
    let mut read = Vec::with_capacity(count.min(MAX_VARIABLES));
    budget.section(45, |allowed| {
        let limits = limits_of((allowed / count.max(1)).clamp(100, 4000));
        // If there are too many, those of the innermost scopes are last.
        let (arguments, inner): (Vec<_>, Vec<_>) = all
            .into_iter()
            .partition(|(kind, _)| *kind != VariableKind::Local);
        let skipped = inner
            .len()
            .saturating_sub(MAX_VARIABLES.saturating_sub(arguments.len()));
        let taken = arguments
            .into_iter()
            .chain(inner.into_iter().skip(skipped))
            .take(MAX_VARIABLES);
        let taken: Vec<(VariableKind, Named)> = taken.collect();
        let names = taken.iter().map(|(_, named)| named);
        session.history.name_variables(names);
        for (kind, named) in taken {
            if session.is_cancelled() {
                return 0;
            }
            read.push(variable(session, kind, named, &limits, addresses));
        }
        let values = read
            .iter()
            .map(|(variable, value)| (variable.name.clone(), value.clone()));
        let before = session
            .history
            .record_variables(frame.thread, function, values.collect());
        let mut order: Vec<usize> = (0..read.len()).collect();
        let is_changed = |at: &usize| {
            let name = &read[*at].0.name;
            let now = &read[*at].1;
            let was = before
                .as_ref()
                .and_then(|(_, values)| history::find(values, name));
            was.is_some_and(|was| now.differs_from(was))
        };
        let changed: Vec<usize> = order.iter().copied().filter(is_changed).collect();
        order.sort_by_key(|at| {
            let is_local = read[*at].0.kind == VariableKind::Local;
            (
                !changed.contains(at),
                is_local,
                if is_local { usize::MAX - at } else { *at },
            )
        });
        let (kept, mut cost) = budget::fitting(&order, allowed, |at| {
            let (variable, _) = &read[*at];
            variable.name.len() + variable.type_name.len() + variable.value.len() + 8
        });
        order.truncate(kept);
        order.sort_unstable();
        if let Some((since, values)) = before {
            let changes = changed.iter().filter_map(|at| {
                let (variable, now) = &read[*at];
                let was = history::find(&values, &variable.name)?;
                Some(difference::change(&variable.name, was, now))
            });
            let mut variables: Vec<_> = changes.collect();
            let (kept, of_changes) = budget::fitting(&variables, allowed / 2, |change| {
                change.name.len() + change.before.len() + change.after.len() + 6
            });
            context.omitted.changes = variables.drain(kept..).count() as u64;
            cost += of_changes;
            context.changes = Some(Changes { since, variables });
        }
        let shown = order.iter().map(|at| read[*at].0.clone());
        context.variables = shown.collect();
        cost
    });
    if session.is_cancelled() {
        return Err(RequestError::Cancelled);
    }
    context.omitted.variables = (count - context.variables.len()) as u64;
    Ok(())
}

/// Describes a variable for the client, with the value for comparison at later stops.
fn variable(
    session: &mut Session,
    kind: VariableKind,
    named: Named,
    limits: &Limits,
    addresses: bool,
) -> (ContextVariable, Value) {
    let limits = Limits {
        addresses,
        pointees: Pointees::Numbered,
        ..limits.clone()
    };
    let (type_name, shown, exact, own) = match &named.value {
        Ok(value) => {
            let presentation = present(session, value, &limits);
            let shown = presentation.text;
            let (exact, own) = match shown.contains(HIDDEN_ADDRESS) || shown.contains(POINTS_TO) {
                false => (shown.clone(), shown.clone()),
                true => {
                    let limits = Limits {
                        addresses: true,
                        ..limits
                    };
                    // In full, whatever other variables of the summary show of the same objects.
                    let reply = session.history.objects.begin();
                    let exact = present(session, value, &limits).text;
                    session.history.objects.resume(reply);
                    (exact, session.debugger.present(value, &limits).text)
                }
            };
            (presentation.type_name, shown, exact, own)
        }
        Err(error) => {
            let text = match error.to_string() {
                text if text.starts_with('<') => text,
                text => format!("<{text}>"),
            };
            (Arc::default(), text.clone(), text.clone(), text)
        }
    };
    let variable = ContextVariable {
        name: cut(&named.name, MAX_NAME_BYTES),
        kind,
        type_name: cut(&type_name, MAX_NAME_BYTES),
        value: shown.clone(),
    };
    (variable, Value { shown, exact, own })
}

/// The engine's text for an address that is not shown.
const HIDDEN_ADDRESS: &str = "0x…";
/// The engine's text between a pointer and its target.
const POINTS_TO: char = '→';

/// Returns the mutex that a thread waits for.
fn wait_of(session: &mut Session, thread: ThreadId, addresses: bool) -> Option<ContextWait> {
    let wait = session.debugger.mutex_wait(thread)?;
    Some(ContextWait {
        mutex: addresses.then(|| wait.mutex.to_string()),
        owner: wait.owner.0.into(),
    })
}

fn other_threads(
    session: &mut Session,
    but: ThreadId,
    style: Style,
    budget: &mut Budget,
    context: &mut Context,
) -> Result<(), RequestError> {
    let mut others = session.debugger.threads();
    others.retain(|thread| thread.id != but);
    let count = others.len();
    let allowed = budget.rest();
    let (mut left, mut listed) = (allowed, Vec::new());
    for thread in others.into_iter().take(MAX_THREADS) {
        if session.is_cancelled() {
            return Err(RequestError::Cancelled);
        }
        // A thread that runs in non-stop mode has no frames.
        let stack = session.debugger.stack(thread.id, 0, Some(MAX_FRAMES.1));
        let frames = stack.map(|stack| stack.frames).unwrap_or_default();
        let shown = stack::innermost_own(session, &frames).cloned();
        let frame = shown.map(|frame| stack::entry(session, &frame, style));
        let cost = thread.name.len() + 24 + frame.as_ref().map_or(0, stack::cost);
        if cost > left {
            break;
        }
        left -= cost;
        listed.push(ContextThread {
            thread_id: thread.id.0.into(),
            waits_for: wait_of(session, thread.id, style.addresses),
            name: thread.name,
            frame,
            ..ContextThread::default()
        });
    }
    context.omitted.threads = (count - listed.len()) as u64;
    context.threads = listed;
    Ok(())
}
