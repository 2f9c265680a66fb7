//! Calls of traced functions: from the entry of the function to the instruction by which it returns.
//!
//! A call is identified by its thread, its function and the address of its frame. One that ends
//! otherwise (an exception, `longjmp`) is forgotten when another has the same frame.

use crate::arch::body::Leaving;
use crate::compile::{NEVER, Presence};
use crate::debugger::Debugger;
use crate::expr::query::{Query, Source, Subject};
use crate::ids::error::Error;
use crate::ids::{BreakpointId, ThreadId};
use crate::images::body;
use crate::inferior::jump_patch::log_ring::LogTarget;
use crate::inferior::jump_patch::trace_area::CallBegin;
use crate::inferior::own_time::is_timed;
use crate::inferior::site::Owner;
use crate::inspect::library;
use crate::inspect::value::{self, Limits, Target, Ty, Value, scalar};
use crate::stops::breakpoint::Exit;
use crate::stops::trace::{Addition, Number, duration_text, number, record_values};
use dwarf::LoadAddr;
use rustc_hash::FxHashSet;

/// Maximum number of calls that the debugger knows as not returned.
const MAX_ENTERED: usize = 1 << 16;

/// The text of the result of a call that ends by a jump to another function.
const NOT_RETURNED: &str = "(tail call)";
const UNKNOWN_BRANCH: &str = "it is not known whether a call ends by a conditional jump";

/// A call in progress.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Activation {
    pub thread: ThreadId,
    /// The location at the function's entry.
    pub entry: LoadAddr,
    /// The address of the frame.
    pub frame: LoadAddr,
}

/// What is known of a call since its entry.
pub(crate) struct Entered {
    /// When it began.
    pub begin: CallBegin,
    /// The text of each key and each recorded value, in order; `None`: known at the return.
    pub texts: Vec<Option<String>>,
    /// The number of each column that has one.
    pub numbers: Vec<Known>,
}

/// What is known of a number at the entry of a call.
pub(crate) enum Known {
    /// The number.
    Now(Number),
    /// It is known at the return.
    Later,
    /// There is none.
    Never,
}

/// What is known of a call at its return.
pub(super) struct Left {
    nanoseconds: u64,
    is_timed: bool,
    /// The result as text.
    text: String,
    /// The number in it; `None`: the result is not known.
    number: Option<Result<Number, Error>>,
}

impl Left {
    /// Returns what is known of a hit that is no call.
    pub fn nothing() -> Left {
        Left {
            nanoseconds: 0,
            is_timed: true,
            text: String::new(),
            number: Some(Err(Error::eval("no call is recorded"))),
        }
    }
}

impl Debugger {
    /// Finds where the functions of a tracepoint return, if it records calls, and sets sites there.
    pub(crate) fn bind_exits(&mut self, id: BreakpointId) {
        let Some(breakpoint) = self.stops.breakpoints.all.get_mut(&id) else {
            return;
        };
        let records_calls = |query: &std::rc::Rc<Query>| query.records_calls();
        if !breakpoint.program.trace.as_ref().is_some_and(records_calls) {
            return;
        }
        let (mut inlined, mut computed) = (Vec::new(), 0);
        let known: FxHashSet<LoadAddr> = breakpoint.exits.values().map(|it| it.entry).collect();
        for place in &breakpoint.bound {
            if known.contains(&place.addr) {
                continue;
            }
            let Some(loaded) = self.images.modules.at(place.addr) else {
                continue;
            };
            let addr = loaded.bias.file(place.addr);
            let Some(function) = loaded.module.function_at(addr) else {
                continue;
            };
            // The place of a function with code is where its body begins.
            // The first one does not look for loops, which takes all of the function's code.
            let begins = [
                body::passed_by_each_call,
                body::passed_once,
                body::counted_once,
            ];
            if !begins
                .iter()
                .any(|begin| begin(&loaded.module, &function) == addr)
            {
                inlined.push(place.addr);
                continue;
            }
            let (exits, may_jump) = body::exits(&loaded.module, &function);
            computed += usize::from(may_jump && exits.is_empty());
            for (exit, leaving) in exits {
                let addr = loaded.bias.load(exit);
                if self.inferior.add_site(addr, Owner::User(id)) {
                    let exit = Exit {
                        entry: place.addr,
                        module: place.module,
                        leaving,
                        may_jump,
                    };
                    breakpoint.exits.insert(addr, exit);
                }
            }
        }
        // Their hits are no calls.
        for addr in &inlined {
            self.inferior.remove_site(*addr, Owner::User(id));
        }
        let functions = |which: fn(&Exit) -> bool| -> FxHashSet<LoadAddr> {
            let exits = breakpoint.exits.values().filter(|exit| which(exit));
            exits.map(|exit| exit.entry).collect()
        };
        let jumps = functions(|exit| exit.leaving != Leaving::Return);
        let computed = computed + functions(|exit| exit.may_jump).len();
        let wants_results = breakpoint.program.trace.as_ref().is_some_and(|query| {
            let mut subjects = query.subjects();
            subjects.any(|it| matches!(it.value, Source::Returned))
        });
        let mut notes: Vec<String> = breakpoint.note.take().into_iter().collect();
        if !inlined.is_empty() {
            let count = inlined.len();
            notes.push(format!(
                "{count} inlined copies are not traced: they have no return"
            ));
        }
        if computed > 0 {
            let functions = match computed {
                1 => "1 function jumps through a register: its calls".to_owned(),
                count => format!("{count} functions jump through a register: their calls"),
            };
            notes.push(format!(
                "{functions} that end so, in another function, are not recorded"
            ));
        }
        if wants_results && !jumps.is_empty() {
            let functions = match jumps.len() {
                1 => "1 function ends".to_owned(),
                count => format!("{count} functions end"),
            };
            notes.push(format!(
                "{functions} some calls by a jump to another function: `returned` lacks those"
            ));
        }
        if !notes.is_empty() {
            breakpoint.note = Some(notes.join("; "));
        }
    }

    /// Keeps what is known of a call at its entry.
    pub(super) fn enter_call(
        &mut self,
        id: BreakpointId,
        activation: Activation,
        entered: Entered,
    ) {
        if let Some(state) = self.traces.0.get_mut(&id) {
            if state.entered.len() >= MAX_ENTERED {
                state.entered.clear();
                state
                    .collected
                    .fail("too many calls that have not returned".to_owned());
            }
            if state.entered.insert(activation, entered).is_some() {
                state.left_otherwise += 1;
            }
            self.tell_calls_outside(id, activation.entry);
        }
    }

    /// Lets the program know how many calls of a function only the debugger knows.
    pub(crate) fn tell_calls_outside(&self, id: BreakpointId, entry: LoadAddr) {
        let Some(state) = self.traces.get(id) else {
            return;
        };
        for area in state.areas.iter().filter(|area| area.site == entry) {
            let calls = state.entered.keys().filter(|call| call.entry == entry);
            area.set_calls_outside(calls.count() as u64);
        }
    }

    /// Takes a call that the program knows as being in progress.
    fn call_in_program(
        &self,
        id: BreakpointId,
        query: &Query,
        activation: Activation,
    ) -> Option<Entered> {
        let state = self.traces.get(id)?;
        let mut areas = state.areas.iter().rev();
        let area = areas.find(|area| area.site == activation.entry)?;
        let (begin, values) = area.take_call(activation.frame)?;
        let target = LogTarget {
            memory: self.inferior.memory(),
            modules: &self.images.modules,
        };
        let mut captured = area.traced.captured.iter().zip(&values.captured);
        let mut text = |subject: &Subject| {
            let (one, bytes) = match subject.value {
                Source::Function => return Some(area.function.clone()),
                _ => captured.next()?,
            };
            let subject = std::slice::from_ref(subject);
            let name = (subject, area.function.as_str());
            let one = std::iter::once(one);
            let text = record_values(bytes, one, name, area.paths(), &target).pop();
            text.filter(|_| !subject[0].is_late())
        };
        let keys = query.tables.iter().flat_map(|table| &table.keys);
        let texts = keys.chain(&query.record).map(&mut text).collect();
        let columns = area
            .traced
            .tables
            .iter()
            .zip(&query.tables)
            .flat_map(|(traced, table)| {
                let valued = table.columns.iter().zip(&traced.columns);
                valued.filter_map(|(column, traced)| Some((column.value.as_ref()?, traced)))
            });
        let numbers = columns.map(|(subject, column)| {
            let bits = values.numbers.get(column.number).copied().unwrap_or(0);
            match subject.is_late() {
                true => Known::Later,
                false if column.presence == Presence::Absent => Known::Never,
                false if column.presence == Presence::UnlessNever && bits as i64 == NEVER => {
                    Known::Never
                }
                false => Known::Now(number(column.kind, bits)),
            }
        });
        Some(Entered {
            begin,
            texts,
            numbers: numbers.collect(),
        })
    }

    /// Forgets a call whose frame another call has now, which is not recorded.
    pub(crate) fn forget_call(&mut self, id: BreakpointId, thread: ThreadId, entry: LoadAddr) {
        let is_empty =
            |traces: &super::Traces| traces.get(id).is_none_or(|it| it.entered.is_empty());
        if !is_empty(&self.traces)
            && let Some(frame) = self.frame_address(thread)
            && let Some(state) = self.traces.0.get_mut(&id)
        {
            state.entered.remove(&Activation {
                thread,
                entry,
                frame,
            });
        }
    }

    /// Returns the address of the frame of a thread that has hit a site.
    pub(super) fn frame_address(&mut self, thread: ThreadId) -> Option<LoadAddr> {
        let (address, registers) = self.innermost(thread).ok()?;
        let frame = self.physical_frame(address, registers, 0);
        self.cfa_of(&frame).ok()
    }

    /// Records a call that is about to return.
    pub(crate) fn record_exit(&mut self, id: BreakpointId, thread: ThreadId, exit: Exit) {
        match self.leaves_by(thread, exit.leaving) {
            Some(true) => {}
            Some(false) => return,
            None => return self.traces.fail(id, UNKNOWN_BRANCH.to_owned()),
        }
        self.make_room(id, thread, exit.entry);
        let own_time = &self.inferior.own_time;
        let (now, stops) = (own_time.now(), own_time.stops());
        let (Some(query), Some(frame)) =
            (self.stops.breakpoints.trace(id), self.frame_address(thread))
        else {
            return;
        };
        let activation = Activation {
            thread,
            entry: exit.entry,
            frame,
        };
        self.leave_path(id, thread, frame);
        let state = self.traces.0.get_mut(&id);
        let entered = state.and_then(|state| state.entered.remove(&activation));
        self.tell_calls_outside(id, exit.entry);
        let hidden = self.stops.breakpoints.hidden(id, exit.entry);
        let Some(site) = self.site_query(id, exit.entry, hidden, &query) else {
            return;
        };
        let query = &site.query;
        let entered = entered.or_else(|| self.call_in_program(id, query, activation));
        let Some(entered) = entered else {
            return;
        };
        let needs_value = query
            .subjects()
            .any(|it| matches!(it.value, Source::Returned));
        let returned = match needs_value && exit.leaving == Leaving::Return {
            true => self
                .returned_text(thread, exit)
                .map(|(text, number)| (text, Some(number))),
            false => Ok((NOT_RETURNED.to_owned(), None)),
        };
        let Some(state) = self.traces.0.get_mut(&id) else {
            return;
        };
        let took = now.saturating_sub(entered.begin.ticks);
        let stops = stops.saturating_sub(entered.begin.stops);
        // If the debugger records all calls of a function, their times contain its work.
        let by_debugger = (self.stops.breakpoints).is_evaluated_by_debugger(id, exit.entry);
        let is_timed = by_debugger || is_timed(took, stops);
        state.untimed += u64::from(!is_timed && query.times_calls());
        let left = match returned {
            Ok((text, number)) => Left {
                nanoseconds: super::nanoseconds(took),
                is_timed,
                text,
                number,
            },
            Err(error) => return state.collected.fail(format!("`returned`: {error}")),
        };
        match complete(query, entered, &left) {
            Ok(values) => state.add((&site, exit.entry), (thread, now), values),
            Err(error) => state.collected.fail(error.to_string()),
        }
    }

    /// Returns whether a stopped thread leaves its function by the instruction that is next; `None`: that
    /// is not known.
    fn leaves_by(&self, thread: ThreadId, leaving: Leaving) -> Option<bool> {
        if leaving != Leaving::Branch {
            return Some(true);
        }
        let registers = self.inferior.registers(thread)?;
        let memory = self.inferior.memory();
        let branch = self.inferior.arch.read(&memory, registers.pc())?;
        let after = branch.emulate(&registers, &memory)?;
        Some(Some(after.registers.pc()) == branch.direct_target())
    }

    /// Returns the value that a call is about to return, as text and as a number.
    fn returned_text(
        &mut self,
        thread: ThreadId,
        exit: Exit,
    ) -> Result<(String, Result<Number, Error>), Error> {
        let loaded = self.images.modules.at(exit.entry).ok_or(Error::NoProcess)?;
        let function = loaded.module.function_at(loaded.bias.file(exit.entry));
        let function = function.ok_or_else(|| Error::eval("its function is unknown"))?;
        let ty = function.return_type;
        let ty = ty.ok_or_else(|| Error::eval("the function returns nothing"))?;
        let ty = Ty::dwarf(&loaded.module, loaded.bias, ty);
        let value = self.value_returned(thread, &ty, function.language, None);
        let value = value.ok_or_else(|| Error::eval("where it is, is unknown"))?;
        self.in_hit_frame(thread, 0, |context| {
            let target: &dyn Target = context;
            let mut text = String::new();
            value::write(target, &value, &Limits::default(), &mut text);
            Ok((text, number_in(target, &value)))
        })
    }
}

/// Returns the number in a value.
pub(super) fn number_in(target: &dyn Target, value: &Value) -> Result<Number, Error> {
    match library::number(target, value)? {
        Some(scalar::Number::Int(int)) => Ok(Number::Int(int.value())),
        Some(scalar::Number::Float(float)) => Ok(Number::Float(float)),
        None => Err(Error::eval(format!(
            "a `{}` is not a number",
            value.ty.name()
        ))),
    }
}

/// Returns what a hit or a call adds to each table, and the values of its record.
pub(super) fn complete(
    query: &Query,
    entered: Entered,
    left: &Left,
) -> Result<(Vec<Addition>, Vec<String>), Error> {
    let (mut texts, mut numbers) = (entered.texts.into_iter(), entered.numbers.into_iter());
    let mut text = |subject: &Subject| match texts.next().flatten() {
        Some(text) => text,
        None if matches!(subject.value, Source::Elapsed) => {
            duration_text(left.nanoseconds, left.is_timed)
        }
        None => left.text.clone(),
    };
    let mut additions = Vec::new();
    for table in &query.tables {
        let keys = table.keys.iter().map(&mut text).collect();
        let mut columns = Vec::new();
        for column in &table.columns {
            columns.push(match &column.value {
                None => None,
                Some(subject) => match numbers.next() {
                    Some(Known::Now(number)) => Some(number),
                    Some(Known::Never) => None,
                    _ if matches!(subject.value, Source::Elapsed) => {
                        let time = Number::Int(i128::from(left.nanoseconds));
                        left.is_timed.then_some(time)
                    }
                    _ => left.number.clone().transpose()?,
                },
            });
        }
        additions.push(Addition {
            keys,
            numbers: columns,
        });
    }
    let record = query.record.iter().map(text).collect();
    Ok((additions, record))
}
