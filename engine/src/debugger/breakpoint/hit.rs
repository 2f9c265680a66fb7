//! Evaluation of a breakpoint hit: condition, hit count and log message.

use crate::debugger::Debugger;
use crate::debugger::breakpoint::ConditionResults;
use crate::ids::BreakpointId;
use crate::ids::HitCondition;
use crate::ids::ThreadId;
use crate::ids::error::Error;
use crate::inferior::site::Owner;
use crate::inspect::eval::{EvalContext, Purpose};
use crate::inspect::value::Limits;
pub(crate) use crate::stops::breakpoint::condition::Segment;
use crate::stops::event::{Event, StopReason};
use dwarf::LoadAddr;

impl Debugger {
    /// Evaluates the owners of a site that a thread has hit, and returns those that stop. Side
    /// effects (counts, messages) happen here; the results of the conditions are given.
    pub(crate) fn evaluate_breakpoints(
        &mut self,
        thread: ThreadId,
        addr: LoadAddr,
        owners: &[Owner],
        mut decided: ConditionResults,
    ) -> Option<StopReason> {
        let mut ids = Vec::new();
        let mut problem = None;
        for owner in owners {
            let Owner::User(id) = *owner else {
                continue;
            };
            let known = decided.iter().position(|(known, _)| *known == id);
            let answer = known.map(|at| decided.swap_remove(at).1);
            match self.ask_breakpoint(id, thread, Some(addr), answer) {
                Ok(true) => ids.push(id),
                Ok(false) => {}
                Err(error) => {
                    ids.push(id);
                    problem = Some(format!("breakpoint {id} at {addr}: {error}"));
                }
            }
        }
        match problem {
            Some(message) => Some(StopReason::BreakpointError(ids, message)),
            None => (!ids.is_empty()).then_some(StopReason::Breakpoint(ids)),
        }
    }

    /// Returns whether a breakpoint stops. `addr`: its location in code, if it has one; `answer`:
    /// the result of its condition, if that has been evaluated.
    pub(crate) fn ask_breakpoint(
        &mut self,
        id: BreakpointId,
        thread: ThreadId,
        addr: Option<LoadAddr>,
        answer: Option<Result<bool, Error>>,
    ) -> Result<bool, Error> {
        let Some(breakpoint) = self.stops.breakpoints.all.get(&id) else {
            return Ok(false);
        };
        if breakpoint.failure.is_some() || addr.is_some_and(|addr| breakpoint.lacks_names_at(addr))
        {
            return Ok(false);
        }
        let hidden = addr.map_or(0, |addr| self.stops.breakpoints.hidden(id, addr));
        let condition = breakpoint.program.condition.clone();
        let message = breakpoint.program.message.clone();
        if let Some(condition) = condition {
            let answer = match (answer, addr) {
                (Some(answer), _) => answer,
                (None, Some(_)) => {
                    self.in_hit_frame(thread, hidden, |context| condition.is_true(context))
                }
                (None, None) => self.in_watch_frame(id, thread, &condition),
            };
            // The names are known now: they may exist at another location.
            if answer.is_err()
                && let Some(addr) = addr
                && self.check_names(id)
            {
                self.emit(Event::BreakpointChanged(id));
                if self.stops.breakpoints.lacks_names_at(id, addr) {
                    return Ok(false);
                }
            }
            let holds = answer.map_err(|error| {
                let breakpoint = self.stops.breakpoints.all.get(&id);
                let text = breakpoint.and_then(|it| it.options.condition.clone());
                let text = text.unwrap_or_default();
                Error::eval(format!("condition `{text}`: {error}"))
            })?;
            if !holds {
                return Ok(false);
            }
        }
        let hit = self.stops.breakpoints.all.get(&id).and_then(|it| it.hit);
        let number = self.number_of_hit(thread, id);
        if hit.is_some_and(|hit| !hit.holds(number)) {
            return Ok(false);
        }
        self.disable_if_once(id);
        match message {
            Some(message) => self.emit_log_message(thread, hidden, &message),
            None => return Ok(true),
        }
        Ok(false)
    }

    /// Emits a breakpoint's log message, formatted in the frame of a stopped thread without its
    /// `hidden` inlined calls.
    pub(crate) fn emit_log_message(
        &mut self,
        thread: ThreadId,
        hidden: usize,
        message: &[Segment],
    ) {
        // Earlier messages are emitted first.
        while self.drain_messages() {}
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

    pub(crate) fn disable_if_once(&mut self, id: BreakpointId) {
        let breakpoint = self.stops.breakpoints.all.get(&id);
        if breakpoint.is_some_and(|it| it.hit == Some(HitCondition::Once)) {
            self.spend(id);
        }
    }

    /// Disables a breakpoint with `once` until it is changed.
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

    /// Returns the owners of the site at an address, and the hardware breakpoints there.
    pub(crate) fn owners_at(&self, addr: LoadAddr) -> Vec<Owner> {
        let site = self.inferior.sites.get(addr);
        let mut owners = site.map_or_else(Vec::new, |site| site.owners().to_vec());
        owners.extend(self.hardware_at(addr).map(Owner::User));
        owners
    }
}
