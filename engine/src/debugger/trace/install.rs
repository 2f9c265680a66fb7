//! The program's own memory for what a tracepoint records, and the code that records it.

use crate::compile::{CodeScope, Traced};
use crate::debugger::Debugger;
use crate::expr::query::Query;
use crate::ids::{BreakpointId, ThreadId};
use crate::inferior::jump_patch::install::Refusal;
use crate::inferior::jump_patch::trace_area::{Layout, TraceArea};
use dwarf::LoadAddr;
use std::rc::Rc;

impl Debugger {
    /// Compiles a tracepoint's query at a location, and makes the program map the memory for it.
    /// Memory that the location has already is used again.
    pub(crate) fn trace_area(
        &mut self,
        thread: ThreadId,
        site: LoadAddr,
        id: BreakpointId,
        query: &Query,
    ) -> Result<Rc<TraceArea>, Refusal> {
        let number = self.inferior.thread_number_offset(thread);
        let hidden = self.stops.breakpoints.hidden(id, site);
        let scope = CodeScope::at(&self.images.modules, site, hidden).with_thread_number(number);
        let traced = Traced::compile(query, &scope).map_err(|why| why.to_string())?;
        let layout = Layout::of(&traced, query.keep);
        self.update_traces();
        let state = self
            .traces
            .0
            .get_mut(&id)
            .ok_or("the tracepoint was removed")?;
        let areas = &self.inferior.jumps.trace_areas;
        let is_there = |area: &&Rc<TraceArea>| {
            area.site == site && area.layout == layout && areas.iter().any(|it| it.0 == area.at)
        };
        if let Some(area) = state.areas.iter().find(is_there) {
            return Ok(area.clone());
        }
        let (at, shared) = self.inferior.map_shared(thread, site, layout.len)?;
        self.inferior.jumps.trace_areas.push((at, layout.len));
        let area = Rc::new(TraceArea::new(site, traced, layout, at, shared));
        state.areas.push(area.clone());
        Ok(area)
    }
}
