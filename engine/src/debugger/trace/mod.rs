//! Tracepoints: what is recorded at their hits, by the debugger or by the program itself, and the
//! report of both.

mod call;
mod hit;
mod install;
mod left_out;
mod mark;
mod path;
mod records;

pub(crate) use install::SiteTrace;

use crate::debugger::Debugger;
use crate::expr::query::{Aggregate, Query, SiteQuery};
use crate::ids::{BreakpointId, BreakpointOptions, ThreadId};
use crate::inferior::jump_patch::call_paths::CallPaths;
use crate::inferior::jump_patch::log_ring::LogTarget;
use crate::inferior::jump_patch::marks::Marks;
use crate::inferior::jump_patch::trace_area::TraceArea;
use crate::inferior::own_time::OwnTime;
use crate::os::{nanoseconds_per_tick, ticks};
use crate::stops::breakpoint::Spec;
use crate::stops::trace::{
    Addition, Collected, Number, Record, TraceReport, columns, record_values,
};
use call::{Activation, Entered};
use dwarf::LoadAddr;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

/// What all tracepoints have recorded.
#[derive(Default)]
pub(crate) struct Traces(BTreeMap<BreakpointId, TraceState>);

/// What a tracepoint has recorded.
struct TraceState {
    /// The text of its query.
    text: String,
    query: Rc<Query>,
    /// The hits that the debugger has evaluated.
    collected: Collected,
    /// What the program records at each of its locations. Their memory outlives the process.
    areas: Vec<Rc<TraceArea>>,
    /// Calls that have not returned, and whose entry the debugger has evaluated.
    entered: FxHashMap<Activation, Entered>,
    /// The number of such calls that did not return before another one had their frame.
    left_otherwise: u64,
    /// The number of calls whose return the debugger has recorded, and that are not timed.
    untimed: u64,
    /// The query at each site that was hit.
    sites: FxHashMap<LoadAddr, Rc<SiteQuery>>,
    /// The paths of calls, once one was recorded in this process.
    paths: Option<Rc<CallPaths>>,
    /// The passes since which times are measured, of each mark that was hit in this process.
    marks: FxHashMap<BreakpointId, Rc<Marks>>,
    clock: Clock,
    /// Whether functions may be left out; then what the debugger has evaluated of each, until it is
    /// known whether it is, and the functions that are not.
    leaves_out: bool,
    undecided: BTreeMap<LoadAddr, Collected>,
    decided: FxHashSet<LoadAddr>,
    /// Records for the client, if it gets all.
    unsent: Vec<Record>,
    /// The number of hits that waited until records were read.
    waited: u64,
}

/// Converts the processor's clock to the time since a moment; where calls are recorded, the program's own
/// time.
struct Clock {
    ticks: u64,
}

/// Returns the time in which the hits of a query are measured, in ticks of the processor's clock.
fn time_of(query: &Query, own_time: &OwnTime) -> u64 {
    match query.records_calls() {
        true => own_time.now(),
        false => ticks(),
    }
}

impl Clock {
    /// Returns how long after the start the clock had this value.
    fn time(&self, at: u64) -> Duration {
        Duration::from_nanos(nanoseconds(at.saturating_sub(self.ticks)))
    }
}

/// Returns the nanoseconds in which the processor's clock advances by this much.
fn nanoseconds(ticks: u64) -> u64 {
    (ticks as f64 * nanoseconds_per_tick()) as u64
}

impl TraceState {
    /// Adds what a hit or a call adds to each table, and its record, if there are values for one.
    /// `ticks`: the processor's clock at the hit, or at the return of the call.
    fn add(
        &mut self,
        (site, entry): (&SiteQuery, LoadAddr),
        (thread, ticks): (ThreadId, u64),
        (additions, record): (Vec<Addition>, Vec<String>),
    ) {
        let query = self.query.clone();
        let since = Number::Int(i128::from(ticks.saturating_sub(self.clock.ticks)));
        let mut additions = additions;
        for (addition, table) in additions.iter_mut().zip(&query.tables) {
            for (number, column) in addition.numbers.iter_mut().zip(&table.columns) {
                if column.aggregate == Aggregate::Rate {
                    *number = Some(since);
                }
            }
        }
        self.collected_at(entry).add(&query, additions);
        let record = site.regroup(&query.record, record);
        if !record.is_empty() {
            let record = Record {
                time: self.clock.time(ticks),
                thread: Some(thread),
                values: record,
            };
            self.record(entry, record);
        }
    }
}

impl Traces {
    /// Counts a hit of a tracepoint that records nothing, since something cannot be evaluated.
    pub(crate) fn fail(&mut self, id: BreakpointId, why: String) {
        if let Some(state) = self.0.get_mut(&id) {
            state.collected.fail(why);
        }
    }

    fn get(&self, id: BreakpointId) -> Option<&TraceState> {
        self.0.get(&id)
    }
}

/// Where a tracepoint is set: on a line of a source file, or at the entry of functions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TracePlace(Spec);

impl TracePlace {
    /// Returns the place of this name: `FILE:LINE`, a function, or a pattern `/regular expression/`.
    /// `path`: the path in the debug info of a file.
    pub fn parse(text: &str, path: impl FnOnce(&str) -> PathBuf) -> TracePlace {
        let mut spec = Spec::of_place(text);
        if let Spec::Line { source, .. } = &mut spec {
            *source = path(&source.to_string_lossy());
        }
        TracePlace(spec)
    }
}

impl Debugger {
    /// Sets a tracepoint that belongs to no set of breakpoints: it stays until it is removed. Returns
    /// its number, which [`Debugger::breakpoint`] knows.
    pub fn add_tracepoint(&mut self, place: TracePlace, query: String) -> BreakpointId {
        let spec = place.0;
        let options = BreakpointOptions {
            trace: Some(query),
            ..BreakpointOptions::default()
        };
        let (ids, _) = self
            .stops
            .breakpoints
            .replace(Vec::new(), vec![(spec, options)]);
        self.stops.breakpoints.tracepoints.extend(&ids);
        self.change_breakpoints(ids.clone(), Vec::new());
        ids[0]
    }

    /// Removes such a tracepoint, and what it has recorded. Returns false if there is none of that
    /// number.
    pub fn remove_tracepoint(&mut self, id: BreakpointId) -> bool {
        let tracepoints = &mut self.stops.breakpoints.tracepoints;
        let Some(at) = tracepoints.iter().position(|it| *it == id) else {
            return false;
        };
        tracepoints.remove(at);
        self.change_breakpoints(Vec::new(), vec![id]);
        true
    }

    /// Returns whether a breakpoint is a tracepoint that belongs to no set.
    pub fn is_own_tracepoint(&self, id: BreakpointId) -> bool {
        self.stops.breakpoints.tracepoints.contains(&id)
    }

    /// Returns the tracepoints, in the order in which they were set.
    pub fn traces(&self) -> Vec<BreakpointId> {
        self.traces.0.keys().copied().collect()
    }

    /// Returns what a tracepoint has recorded so far, also while the program runs and after its end:
    /// at most `rows` rows of each table, those with the most hits, and the last `records` records.
    /// The numbers of a row may be of different moments while threads run.
    pub fn trace_report(
        &self,
        id: BreakpointId,
        rows: usize,
        records: usize,
    ) -> Option<TraceReport> {
        let state = self.traces.get(id)?;
        let query = &state.query;
        let mut collected = state.collected();
        let target = LogTarget {
            memory: self.inferior.memory(),
            modules: &self.images.modules,
        };
        for area in &state.areas {
            let traced = &area.traced;
            let tables = traced.tables.iter().zip(&area.layout.tables).enumerate();
            for (number, (table, layout)) in tables {
                let subjects = query.tables.get(number).map_or(&[][..], |it| &it.keys);
                for row in area.rows(layout) {
                    let cells = columns(&row, table.columns.iter());
                    let keys = match &row.keys {
                        Some(bytes) => {
                            let captured = traced.captured[table.keys.clone()].iter();
                            let name = &area.function;
                            let site = (subjects, name.as_str());
                            Some(record_values(bytes, captured, site, area.paths(), &target))
                        }
                        // There is nothing to find a row by: the only key is the function.
                        None if table.keys.is_empty() => {
                            let functions = subjects.iter().map(|_| area.function.clone());
                            Some(functions.collect())
                        }
                        None => None,
                    };
                    collected.merge(query, number, keys, row.hits, cells);
                }
            }
            let (records, all) = area.records();
            let records = records
                .iter()
                .map(|record| state.decoded(area, record, &target));
            collected.merge_records(records.collect(), all);
        }
        let lost = state.areas.iter().map(|area| area.calls_lost()).sum();
        collected.lose(
            lost,
            "more calls were in progress than the program has room for",
        );
        let mut report = collected.report(query, rows, records);
        report.query.clone_from(&state.text);
        let breakpoint = self.stops.breakpoints.all.get(&id);
        report.function = breakpoint.and_then(|breakpoint| match &breakpoint.spec {
            Spec::Function(name) => Some(name.clone()),
            _ => None,
        });
        report.keeps_all = query.keeps_all;
        report.waited = state.waited;
        let now = time_of(query, &self.inferior.own_time);
        report.age = state.clock.time(now);
        let is_alive = self.inferior.process.is_some();
        let now = now.saturating_sub(state.clock.ticks);
        report.show_rates_until(is_alive.then_some(now));
        let in_program = state.areas.iter().map(|area| area.calls_unreturned());
        let by_debugger = state.entered.len() as u64 + state.left_otherwise;
        report.unreturned = by_debugger + in_program.sum::<u64>();
        if query.times_calls() {
            let in_program = state.areas.iter().map(|area| area.calls_untimed());
            report.untimed = state.untimed + in_program.sum::<u64>();
        }
        Some(report)
    }

    /// Starts to record for new and changed tracepoints, and drops what was recorded for those that
    /// are gone.
    pub(crate) fn update_traces(&mut self) {
        let breakpoints = &self.stops.breakpoints;
        self.traces.0.retain(|id, state| {
            let options = breakpoints.options(*id);
            options.is_some_and(|it| it.trace.as_deref() == Some(&state.text))
        });
        for (id, query) in breakpoints.traces() {
            let Some(text) = breakpoints.options(id).and_then(|it| it.trace.clone()) else {
                continue;
            };
            self.traces.0.entry(id).or_insert_with(|| TraceState {
                text,
                collected: Collected::new(&query),
                clock: Clock {
                    ticks: time_of(&query, &self.inferior.own_time),
                },
                query,
                areas: Vec::new(),
                entered: FxHashMap::default(),
                left_otherwise: 0,
                untimed: 0,
                sites: FxHashMap::default(),
                paths: None,
                marks: FxHashMap::default(),
                leaves_out: false,
                undecided: BTreeMap::new(),
                decided: FxHashSet::default(),
                unsent: Vec::new(),
                waited: 0,
            });
        }
        self.update_marks();
    }

    /// Drops what is known of the sites of tracepoints, for another program.
    pub(crate) fn forget_trace_sites(&mut self) {
        for state in self.traces.0.values_mut() {
            state.sites.clear();
            state.decided.clear();
            state.paths = None;
            state.marks.clear();
        }
    }

    /// Drops what was recorded, for another run of the program.
    pub(crate) fn restart_traces(&mut self) {
        self.traces.0.clear();
        self.update_traces();
    }
}
