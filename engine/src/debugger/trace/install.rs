//! The program's own memory for what a tracepoint records, and the code that records it.

use super::mark::MarkCode;
use crate::arch::Arch;
use crate::arch::body::Leaving;
use crate::compile::{
    Calls, Captured, CodeScope, Measured, NotCompilable, Presence, RuntimeLocation, RuntimeValue,
    Traced,
};
use crate::debugger::Debugger;
use crate::expr::check::scalar;
use crate::expr::query::{Query, Returning, SiteQuery, Subject};
use crate::ids::{BreakpointId, ThreadId};
use crate::inferior::jump_patch::call_paths::PathSite;
use crate::inferior::jump_patch::install::Refusal;
use crate::inferior::jump_patch::trace_area::{Keep, Layout, TraceArea};
use crate::inferior::jump_patch::trampoline::{Moment, Tracing};
use crate::inspect::abi::{self, Class};
use crate::inspect::value::Ty;
use dwarf::{LoadAddr, TypeId};
use std::rc::Rc;

/// What the code at a site of a tracepoint is to do.
pub(crate) enum SiteTrace {
    /// Record a hit, or a call: then the address of the frame, and what the call does here.
    Record(Rc<TraceArea>, Option<(Measured, CallSite)>),
    /// Keep the time.
    Mark(Box<MarkCode>),
}

/// What a call does at a site.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CallSite {
    Begins,
    Ends(Leaving),
    /// The function is one instruction.
    BeginsAndEnds(Leaving),
}

impl SiteTrace {
    /// Returns what happens at the site. `thread`: the place of a thread's number.
    pub fn tracing(&self, thread: Option<i32>) -> Tracing<'_> {
        match self {
            SiteTrace::Mark(code) => code.tracing(thread),
            SiteTrace::Record(area, call) => {
                let moment = match call {
                    None => Moment::Hit,
                    Some((frame, CallSite::Begins)) => Moment::Enter(frame),
                    Some((frame, CallSite::Ends(how))) => Moment::Leave(frame, *how),
                    Some((frame, CallSite::BeginsAndEnds(how))) => Moment::Pass(frame, *how),
                };
                area.tracing(thread, moment)
            }
        }
    }

    /// Returns whether a condition decides here.
    pub fn has_condition(&self) -> bool {
        !matches!(self, SiteTrace::Record(_, Some((_, CallSite::Ends(_)))))
    }
}

impl Debugger {
    /// Returns the sites that get their jumps together: a call that has begun in the program returns
    /// there, too.
    pub(crate) fn sites_with(&self, id: BreakpointId, addr: LoadAddr) -> Vec<LoadAddr> {
        let Some(breakpoint) = self.stops.breakpoints.all.get(&id) else {
            return Vec::new();
        };
        let entry = breakpoint.exits.get(&addr).map_or(addr, |exit| exit.entry);
        let exits = breakpoint.exits.iter();
        let exits = exits.filter(|(addr, exit)| exit.entry == entry && **addr != entry);
        [entry]
            .into_iter()
            .chain(exits.map(|(addr, _)| *addr))
            .collect()
    }

    /// Compiles a tracepoint's query at a site, and makes the program map the memory for it. Memory
    /// that the location has already is used again.
    pub(crate) fn site_trace(
        &mut self,
        thread: ThreadId,
        site: LoadAddr,
        id: BreakpointId,
        query: &Query,
    ) -> Result<SiteTrace, Refusal> {
        if self.is_recorded() && query.needs_clock() {
            // Code of the program that reads the clock would fault.
            return Err("the clock cannot be read in a replay".into());
        }
        if query.mark.is_some() {
            let code = self.mark_code(thread, site, id, query)?;
            return Ok(SiteTrace::Mark(Box::new(code)));
        }
        let exit = self.stops.breakpoints.exit_at(id, site);
        let entry = exit.map_or(site, |exit| exit.entry);
        let area = self.trace_area(thread, entry, id, query)?;
        if !query.records_calls() {
            return Ok(SiteTrace::Record(area, None));
        }
        let at_entry = self.stops.breakpoints.exit_at_entry(id, site);
        let call = match (exit, at_entry) {
            (Some(exit), _) => CallSite::Ends(exit.leaving),
            (None, Some(exit)) => CallSite::BeginsAndEnds(exit.leaving),
            (None, None) => CallSite::Begins,
        };
        if let CallSite::Ends(how) | CallSite::BeginsAndEnds(how) = call
            && how != Leaving::Return
            && !area.traced.late.returned_values.is_empty()
        {
            return Err("a call that ends by a jump to another function has no result yet".into());
        }
        if call == CallSite::BeginsAndEnds(Leaving::Branch) {
            return Err("the function begins with a jump to another one".into());
        }
        Ok(SiteTrace::Record(
            area,
            Some((self.frame_address_at(site)?, call)),
        ))
    }

    fn frame_address_at(&self, site: LoadAddr) -> Result<Measured, Refusal> {
        let loaded = self.images.modules.at(site).ok_or("its code is unknown")?;
        let place = loaded.module.frame_address_at(loaded.bias.file(site));
        let place = place.ok_or("the address of the frame is unknown there")?;
        let memory = self.inferior.memory();
        let scope = CodeScope::at(&self.images.modules, Some(&memory), site, 0);
        let frame = Measured::frame_address(place, &scope);
        Ok(frame.map_err(|why| why.to_string())?)
    }

    fn trace_area(
        &mut self,
        thread: ThreadId,
        entry: LoadAddr,
        id: BreakpointId,
        query: &Query,
    ) -> Result<Rc<TraceArea>, Refusal> {
        let number = self.inferior.thread_number_offset(thread);
        let hidden = self.stops.breakpoints.hidden(id, entry);
        let own = self.site_query(id, entry, hidden, query);
        let own = own.ok_or("the tracepoint was removed")?;
        let query = &own.query;
        let memory = self.inferior.memory();
        let scope = CodeScope::at(&self.images.modules, Some(&memory), entry, hidden);
        let scope = scope.with_thread_number(number);
        let calls = query.records_calls().then(|| Calls {
            returned: self.returned_at(entry),
            presence: match self.stops.breakpoints.always_returns(id, entry) {
                true => Presence::Always,
                false => Presence::WithResult,
            },
        });
        let traced = Traced::compile(query, calls.as_ref(), &scope);
        let traced = traced.map_err(|why| why.to_string())?;
        let breakpoint = self.stops.breakpoints.all.get(&id);
        let sites = breakpoint.map_or(1, |it| it.bound.len());
        let layout = Layout::of(&traced, Keep::of(query), sites);
        let function = self.function_name_at(entry, hidden, query.records_calls());
        let paths = match query.records_paths() {
            true if number.is_none() => return Err("the thread's number is not found".into()),
            true => {
                let paths = self.call_paths(id, thread, entry);
                let paths = paths.ok_or("the tracepoint was removed")?;
                let at = paths.at.ok_or("cannot map shared memory in the program")?;
                let site = paths.site(entry, || function.clone());
                let site = site.ok_or("the tracepoint has too many functions")?;
                Some((paths, PathSite { at, site }))
            }
            false => None,
        };
        let marks = self.mark_sites(id, query, thread, entry)?;
        let state = self.traces.0.get_mut(&id);
        let state = state.ok_or("the tracepoint was removed")?;
        let areas = &self.inferior.jumps.trace_areas;
        let is_there = |area: &&Rc<TraceArea>| {
            area.site == entry
                && Rc::ptr_eq(&area.query, &own)
                && area.layout == layout
                && areas.iter().any(|it| it.0 == area.at)
        };
        if let Some(area) = state.areas.iter().find(is_there) {
            return Ok(area.clone());
        }
        let (at, shared) = self.inferior.map_shared(thread, entry, layout.len)?;
        self.inferior.jumps.trace_areas.push((at, layout.len));
        let area = TraceArea::new((entry, function), (own, traced), layout, at, shared);
        let area = area.begun_at(state.clock.ticks);
        let area = Rc::new(area.with_paths(paths).with_marks(marks));
        state.areas.push(area.clone());
        if calls.is_some() {
            self.inferior.own_time.keep(&area);
        }
        Ok(area)
    }

    /// Returns a tracepoint's query at a site; `None` if the tracepoint was removed.
    pub(super) fn site_query(
        &mut self,
        id: BreakpointId,
        entry: LoadAddr,
        hidden: usize,
        query: &Query,
    ) -> Option<Rc<SiteQuery>> {
        if let Some(known) = self.traces.get(id)?.sites.get(&entry) {
            return Some(known.clone());
        }
        let memory = self.inferior.memory();
        let scope = CodeScope::at(&self.images.modules, Some(&memory), entry, hidden);
        let (language, parameters) = scope.parameters();
        // Calls that are timed make no stop for what only the debugger can read, unless that is wished.
        let avoids_stops =
            query.times_calls() && !query.with_traps && Traced::is_possible(self.inferior.arch);
        let parameter = |name: &String| {
            let value = Subject::parameter(name, language)?;
            if !avoids_stops || is_captured(&value, &scope) {
                return Some(value);
            }
            let address = Subject::address_of_parameter(name, language);
            Some(
                address
                    .filter(|it| is_captured(it, &scope))
                    .unwrap_or(value),
            )
        };
        let parameters: Vec<Subject> = parameters.iter().filter_map(parameter).collect();
        let returning = match self.return_type_at(entry) {
            Some(None) => Returning::Nothing,
            _ if avoids_stops && self.returned_at(entry).is_err() => Returning::Unread,
            _ => Returning::Value,
        };
        let own = Rc::new(SiteQuery::new(query, &parameters, returning));
        let state = self.traces.0.get_mut(&id)?;
        state.sites.insert(entry, own.clone());
        Some(own)
    }

    /// Returns the type that the function at an address returns, if any; `None`: the function is
    /// unknown.
    fn return_type_at(&self, entry: LoadAddr) -> Option<Option<TypeId>> {
        let loaded = self.images.modules.at(entry)?;
        let function = loaded.module.function_at(loaded.bias.file(entry))?;
        Some(function.return_type)
    }

    /// Returns the name of the function at an address, as hits there have it.
    pub(super) fn function_name_at(&self, addr: LoadAddr, hidden: usize, is_call: bool) -> String {
        let name = || {
            let loaded = self.images.modules.at(addr)?;
            let addr = loaded.bias.file(addr);
            let function = loaded.module.function_at(addr)?;
            let frames = function.frames_at(addr);
            let frame = match is_call {
                true => frames.last(),
                false => frames.get(hidden),
            };
            frame.map(|frame| frame.name.to_owned())
        };
        name().unwrap_or_else(|| "??".to_owned())
    }

    /// Returns the value of the function at an address where it returns, if that is one register.
    fn returned_at(&self, entry: LoadAddr) -> Result<RuntimeValue, NotCompilable> {
        let loaded = self.images.modules.at(entry).ok_or("its code is unknown")?;
        let function = loaded.module.function_at(loaded.bias.file(entry));
        let function = function.ok_or("its function is unknown")?;
        let ty = function.return_type.ok_or("the function returns nothing")?;
        let ty = Ty::dwarf(&loaded.module, loaded.bias, ty);
        let arch: Arch = self.inferior.arch;
        let returning = match scalar(&ty) {
            Some(_) => abi::returning(arch, &ty, function.language),
            None => abi::Returning::Unknown,
        };
        let place = match &returning {
            abi::Returning::Registers(parts) => match &parts[..] {
                [part] if part.class == Class::Integer => {
                    let register = arch.convention().integer_results.first();
                    register.map(|register| RuntimeLocation::Register(*register, 0))
                }
                [part] if part.class == Class::Vector => Some(RuntimeLocation::Vector(0, 0)),
                _ => None,
            },
            _ => None,
        };
        match place {
            Some(place) => Ok(RuntimeValue::new(ty, place)),
            None => Err("what the function returns is not in one register".into()),
        }
    }
}

/// Returns whether the program can record a value by itself.
fn is_captured(subject: &Subject, scope: &CodeScope<'_>) -> bool {
    let expression = subject.expression();
    expression.is_some_and(|it| Captured::compile(it, scope).is_ok())
}
