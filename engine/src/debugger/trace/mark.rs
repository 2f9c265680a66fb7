//! The passes of places since which tracepoints measure times: the breakpoints that keep them, and what
//! the debugger evaluates of both.

use super::call::number_in;
use super::nanoseconds;
use crate::compile::{CodeScope, Traced};
use crate::debugger::Debugger;
use crate::debugger::frame::FrameScope;
use crate::expr::query::{Query, Since, Subject};
use crate::expr::{EvalContext, Purpose};
use crate::ids::error::Error;
use crate::ids::{BreakpointId, ThreadId};
use crate::inferior::jump_patch::install::Refusal;
use crate::inferior::jump_patch::marks::{self, MarkSite, Marks};
use crate::inferior::jump_patch::trace_area::{Keep, Layout};
use crate::inferior::jump_patch::trampoline::{Moment, Tracing};
use crate::inferior::site::Owner;
use crate::os::ticks;
use crate::stops::trace::Number;
use dwarf::LoadAddr;
use std::rc::Rc;

/// The code at a mark.
pub(crate) struct MarkCode {
    traced: Traced,
    layout: Layout,
    site: [MarkSite; 1],
}

impl MarkCode {
    /// Returns what the code does. `thread`: the place of a thread's number.
    pub fn tracing(&self, thread: Option<i32>) -> Tracing<'_> {
        Tracing {
            traced: &self.traced,
            layout: &self.layout,
            area: LoadAddr(0),
            thread,
            paths: None,
            marks: &self.site,
            begun: 0,
            moment: Moment::Mark,
        }
    }
}

impl Debugger {
    /// Sets the marks that the queries of tracepoints need, and removes the others.
    pub(super) fn update_marks(&mut self) {
        let (added, gone) = self.stops.breakpoints.update_marks();
        for id in &gone {
            self.inferior.remove_sites_of(Owner::User(*id));
        }
        if !gone.is_empty() {
            self.end_changed_jumps();
        }
        for id in added {
            self.rebind(id);
        }
    }

    /// Returns the passes of a mark. Their memory is mapped in the program the first time, or only here
    /// if that is not possible. `None`: the tracepoint was removed.
    fn marks_of(
        &mut self,
        (tracepoint, since): (BreakpointId, &Since),
        thread: ThreadId,
        near: LoadAddr,
    ) -> Option<Rc<Marks>> {
        let mark = self.stops.breakpoints.mark_for(tracepoint, since)?;
        let known = self.traces.get(tracepoint)?.marks.get(&mark);
        if let Some(known) = known.filter(|it| self.is_mapped(it.at)) {
            return Some(known.clone());
        }
        let (at, shared) = self.shared_memory(thread, near, marks::LEN)?;
        let marks = Rc::new(Marks::new(at, since.is_of_threads(), shared));
        let state = self.traces.0.get_mut(&tracepoint)?;
        state.marks.insert(mark, marks.clone());
        Some(marks)
    }

    /// Returns where the code at a tracepoint finds the passes since which its query measures times.
    pub(super) fn mark_sites(
        &mut self,
        id: BreakpointId,
        query: &Query,
        thread: ThreadId,
        near: LoadAddr,
    ) -> Result<Vec<MarkSite>, Refusal> {
        let mut sites = Vec::new();
        for since in &query.sinces {
            let marks = self.marks_of((id, since), thread, near);
            let marks = marks.ok_or("the tracepoint was removed")?;
            let site = marks.site();
            sites.push(site.ok_or("cannot map shared memory in the program")?);
        }
        Ok(sites)
    }

    /// Returns the tracepoint of a mark, and the `since` that it is for.
    fn since_of(&self, mark: BreakpointId) -> Option<(BreakpointId, Since)> {
        let breakpoints = &self.stops.breakpoints;
        let tracepoint = breakpoints.mark(mark)?.tracepoint;
        let query = breakpoints.trace(tracepoint)?;
        let mut sinces = query.sinces.iter();
        let since = sinces.find(|it| breakpoints.mark_for(tracepoint, it) == Some(mark))?;
        Some((tracepoint, since.clone()))
    }

    /// Compiles a mark.
    pub(super) fn mark_code(
        &mut self,
        thread: ThreadId,
        addr: LoadAddr,
        id: BreakpointId,
        query: &Query,
    ) -> Result<MarkCode, Refusal> {
        let number = self.inferior.thread_number_offset(thread);
        let hidden = self.stops.breakpoints.hidden(id, addr);
        let memory = self.inferior.memory();
        let scope = CodeScope::at(&self.images.modules, Some(&memory), addr, hidden);
        let scope = scope.with_thread_number(number);
        let traced = Traced::compile(query, None, &scope).map_err(|why| why.to_string())?;
        let (tracepoint, since) = self.since_of(id).ok_or("the tracepoint was removed")?;
        let marks = self.marks_of((tracepoint, &since), thread, addr);
        let site = marks.ok_or("the tracepoint was removed")?.site();
        Ok(MarkCode {
            layout: Layout::of(&traced, Keep::Last(1), 1),
            traced,
            site: [site.ok_or("cannot map shared memory in the program")?],
        })
    }

    /// Keeps the time at which a thread has passed a mark.
    pub(super) fn record_pass(
        &mut self,
        id: BreakpointId,
        thread: ThreadId,
        (addr, hidden): (LoadAddr, usize),
        key: &Subject,
    ) {
        let now = ticks();
        let key = self.in_hit_frame(thread, hidden, |context| key_of(key, context));
        let Some((tracepoint, since)) = self.since_of(id) else {
            return;
        };
        let marks = self.marks_of((tracepoint, &since), thread, addr);
        match (key, marks, self.traces.0.get_mut(&tracepoint)) {
            (Ok(key), Some(marks), _) => marks.pass(key, now),
            (Err(error), _, Some(state)) => state.collected.fail(error.to_string()),
            _ => {}
        }
    }

    /// Returns the times since the latest passes of other places, in nanoseconds, in the query's order,
    /// for a hit of a stopped thread; they are taken.
    pub(super) fn take_passes(
        &mut self,
        id: BreakpointId,
        thread: ThreadId,
        (addr, hidden): (LoadAddr, usize),
        query: &Query,
    ) -> Result<Vec<Option<u64>>, Error> {
        if query.sinces.is_empty() {
            return Ok(Vec::new());
        }
        let now = ticks();
        let keys = self.in_hit_frame(thread, hidden, |context| {
            let keys = query.sinces.iter();
            keys.map(|since| key_of(&since.key, context)).collect()
        });
        let keys: Vec<u64> = keys?;
        let sinces = query.sinces.iter().zip(keys);
        let times = sinces.map(|(since, key)| {
            let marks = self.marks_of((id, since), thread, addr)?;
            let ticks = marks.take(key)?;
            Some(nanoseconds(now.saturating_sub(ticks)))
        });
        Ok(times.collect())
    }

    /// Forgets the passes of a thread that has ended.
    pub(crate) fn forget_passes(&self, thread: ThreadId) {
        let all = self
            .traces
            .0
            .values()
            .flat_map(|state| state.marks.values());
        all.for_each(|marks| marks.forget(thread));
    }
}

/// Returns a key's 64 bits: those that the program computes.
fn key_of(key: &Subject, context: &mut FrameScope<'_>) -> Result<u64, Error> {
    let wrong = |why: &str| Error::eval(format!("`{}`: {why}", key.text));
    let expression = key.expression().ok_or_else(|| wrong("no expression"))?;
    let value = expression.evaluate(context, Purpose::Look);
    let value = value.map_err(|error| wrong(&error.to_string()))?;
    match number_in(context.as_target(), &value) {
        Ok(Number::Int(number)) => Ok(number as u64),
        Ok(Number::Float(_)) => Err(wrong("a float is no key of `since`")),
        Err(error) => Err(wrong(&error.to_string())),
    }
}
