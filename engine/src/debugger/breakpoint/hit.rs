//! Evaluation of a breakpoint hit: condition, hit count and log message.

use crate::compile::Expected;
use crate::debugger::Debugger;
use crate::debugger::breakpoint::ConditionResults;
use crate::expr::{EvalContext, Purpose};
use crate::ids::BreakpointId;
use crate::ids::HitCondition;
use crate::ids::ThreadId;
use crate::ids::error::Error;
use crate::inferior::site::Owner;
use crate::inspect::value::Limits;
use crate::stops::breakpoint::Breakpoint;
use crate::stops::breakpoint::condition::Segment;
use crate::stops::event::{Event, StopReason};
pub(crate) use crate::stops::fold::Tally;
use dwarf::LoadAddr;

impl Debugger {
    /// Evaluates the breakpoints at a site that a thread has hit: counts the hits and emits log
    /// messages. `decided`: the results of their conditions. Returns the stop reason; `None` if no
    /// breakpoint stops.
    pub(crate) fn evaluate_breakpoints(
        &mut self,
        thread: ThreadId,
        addr: LoadAddr,
        owners: &[Owner],
        mut decided: ConditionResults,
    ) -> Option<StopReason> {
        let mut tally = Tally::default();
        for owner in owners {
            let Owner::User(id) = *owner else {
                continue;
            };
            let known = decided.iter().position(|(known, _)| *known == id);
            let answer = known.map(|at| decided.swap_remove(at).1);
            let result = self.evaluate_breakpoint(id, thread, Some(addr), answer);
            let result = result.map_err(|error| format!("breakpoint {id} at {addr}: {error}"));
            tally.add(Some(id), result);
        }
        tally.reason(StopReason::Breakpoint)
    }

    /// Evaluates a breakpoint that a thread has hit: counts the hit and emits the log message.
    /// Returns whether it stops. `addr`: its location in code; `None` for data. `answer`: the
    /// result of its condition, if that has been evaluated.
    ///
    /// # Errors
    /// The condition cannot be evaluated, for the first time: where that happens again the program
    /// goes on. While hits are only counted, such a hit counts, and the error is returned at the
    /// hit that stops.
    pub(crate) fn evaluate_breakpoint(
        &mut self,
        id: BreakpointId,
        thread: ThreadId,
        addr: Option<LoadAddr>,
        answer: Option<Result<bool, Error>>,
    ) -> Result<bool, Error> {
        let Some(breakpoint) = self.stops.breakpoints.all.get(&id) else {
            return Ok(false);
        };
        if breakpoint.failure().is_some()
            || addr.is_some_and(|addr| breakpoint.lacks_names_at(addr))
        {
            return Ok(false);
        }
        if let Some(exit) = addr.and_then(|addr| self.stops.breakpoints.exit_at(id, addr)) {
            if !self.stops.breakpoints.is_counting() {
                self.record_exit(id, thread, exit);
            }
            return Ok(false);
        }
        let is_counting = self.stops.breakpoints.is_counting();
        if !is_counting && self.stops.breakpoints.is_silent(id) {
            return Ok(false);
        }
        if let Some(addr) = addr
            && let Some(expected) = self.stops.breakpoints.expected_at(id, addr)
            && !self.has_expected(thread, expected)
        {
            return Ok(false);
        }
        let hidden = addr.map_or(0, |addr| self.stops.breakpoints.hidden(id, addr));
        let condition = breakpoint.program.condition.clone();
        let message = self.stops.breakpoints.message(id);
        let trace = self.stops.breakpoints.trace(id);
        let mut problem = None;
        if let Some(condition) = condition {
            let answer = match (answer, addr) {
                (Some(answer), _) => answer,
                (None, Some(_)) => {
                    self.in_hit_frame(thread, hidden, |context| condition.is_true(context))
                }
                (None, None) => self.in_watch_frame(id, thread, &condition),
            };
            // The evaluation has read debug info: names that are unknown here may now be found at
            // another location of the breakpoint.
            if answer.is_err()
                && let Some(addr) = addr
                && self.check_names(id)
            {
                self.emit(Event::BreakpointChanged(id));
                if self.stops.breakpoints.lacks_names_at(id, addr) {
                    return Ok(false);
                }
            }
            match answer {
                Ok(true) => {}
                Ok(false) => {
                    if let Some(breakpoint) = self.stops.breakpoints.all.get_mut(&id)
                        && !is_counting
                    {
                        breakpoint.passes.add();
                    }
                    if let Some(addr) = addr
                        && !is_counting
                    {
                        self.forget_call(id, thread, addr);
                    }
                    return Ok(false);
                }
                Err(error) => {
                    let text = condition.text();
                    problem = Some(Error::eval(format!("condition `{text}`: {error}")));
                }
            }
        }
        if let Some(problem) = problem.take_if(|_| !is_counting) {
            if let Some(addr) = addr {
                self.forget_call(id, thread, addr);
            }
            return self.condition_failed(id, problem, trace.is_some());
        }
        let hit = self.stops.breakpoints.effective_hits(id);
        let number = self.number_of_hit(thread, id);
        if hit.is_some_and(|hit| !hit.holds(number)) {
            return Ok(false);
        }
        if let Some(problem) = problem {
            return Err(problem);
        }
        self.disable_if_once(id);
        match (trace, message) {
            (Some(query), _) => self.record_hit(id, thread, addr, hidden, &query),
            (None, Some(message)) => self.emit_log_message(thread, hidden, &message),
            (None, None) => return Ok(true),
        }
        Ok(false)
    }

    /// A breakpoint's condition cannot be evaluated at a hit: the first such hit stops, unless it is one of a
    /// tracepoint, which stops no program.
    fn condition_failed(
        &mut self,
        id: BreakpointId,
        problem: Error,
        is_trace: bool,
    ) -> Result<bool, Error> {
        if is_trace {
            self.traces.fail(id, problem.to_string());
            return Ok(false);
        }
        let breakpoint = self.stops.breakpoints.all.get_mut(&id);
        if !breakpoint.is_some_and(Breakpoint::has_failed) {
            return Ok(false);
        }
        self.emit(Event::BreakpointChanged(id));
        Err(Error::eval(format!(
            "{problem}; hits at which it cannot be evaluated do not stop again: continue, or change it"
        )))
    }

    /// Returns whether a part of the state has its expected value at a stop of a thread.
    fn has_expected(&self, thread: ThreadId, expected: Expected) -> bool {
        match expected {
            Expected::Register(register, value) => {
                let registers = self.inferior.registers(thread);
                registers.and_then(|registers| registers.get(register)) == Some(value)
            }
            Expected::Word(at, value) => self.inferior.read_word(at) == Some(value),
        }
    }

    /// Emits a breakpoint's log message, formatted in the frame of a stopped thread without its
    /// `hidden` inlined calls.
    pub(crate) fn emit_log_message(
        &mut self,
        thread: ThreadId,
        hidden: usize,
        message: &[Segment],
    ) {
        // Messages that the program has logged before are emitted first.
        self.drain_messages_so_far();
        let mut text = String::new();
        for segment in message {
            match segment {
                Segment::Text(part) => text.push_str(part),
                Segment::Value(expression) => {
                    let shown = self.in_hit_frame(thread, hidden, |context| {
                        let value = expression.evaluate(context, Purpose::Look)?;
                        let limits = Limits {
                            numbers: expression.numbers().unwrap_or_default(),
                            ..Limits::default()
                        };
                        let mut shown = String::new();
                        crate::inspect::value::write(
                            context.as_target(),
                            &value,
                            &limits,
                            &mut shown,
                        );
                        Ok(shown)
                    });
                    match shown {
                        Ok(shown) => text.push_str(&shown),
                        Err(error) => text.push_str(&format!("<{error}>")),
                    }
                }
            }
        }
        if !text.ends_with('\n') {
            text.push('\n');
        }
        self.emit_console(&text);
    }

    /// Disables a breakpoint that stops only once (hit condition `once`).
    pub(crate) fn disable_if_once(&mut self, id: BreakpointId) {
        if self.stops.breakpoints.effective_hits(id) == Some(HitCondition::Once) {
            self.spend(id);
        }
    }

    /// Disables a breakpoint until the client changes it.
    fn spend(&mut self, id: BreakpointId) {
        let Some(breakpoint) = self.stops.breakpoints.all.get_mut(&id) else {
            return;
        };
        breakpoint.spent = true;
        breakpoint.failure = Some("disabled after its first stop (`once`)".into());
        breakpoint.bound.clear();
        breakpoint.lacking.clear();
        self.inferior.remove_sites_of(Owner::User(id));
        self.end_watch_of_spent(id);
        self.place_hardware(&[]);
        self.emit(Event::BreakpointChanged(id));
    }

    /// Returns the owners of the site at an address, including hardware breakpoints.
    pub(crate) fn owners_at(&self, addr: LoadAddr) -> Vec<Owner> {
        let site = self.inferior.sites.get(addr);
        let mut owners = site.map_or_else(Vec::new, |site| site.owners().to_vec());
        owners.extend(self.hardware_at(addr).map(Owner::User));
        owners
    }
}
