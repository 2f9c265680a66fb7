//! Records that clients get one and all (`keep all`): they are read from the program's memory from time
//! to time, and whenever a hit finds no room there. Such a hit traps, so no thread ever waits in the
//! program itself.

use super::TraceState;
use crate::debugger::{Debugger, State};
use crate::ids::{BreakpointId, ThreadId};
use crate::inferior::jump_patch::log_ring::LogTarget;
use crate::inferior::jump_patch::trace_area::TraceArea;
use crate::inferior::jump_patch::trace_records::RawRecord;
use crate::stops::event::Event;
use crate::stops::trace::{Record, record_values};
use dwarf::LoadAddr;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Records that one call reads of each place, and that an event has.
const PORTION: usize = 1024;
/// How often they are read; a shorter delay is not noticeable.
const INTERVAL: Duration = Duration::from_millis(8);

impl TraceState {
    /// Keeps a record of a hit at the entry of a function, or at another place.
    pub(super) fn record(&mut self, entry: LoadAddr, record: Record) {
        if self.query.keeps_all {
            self.unsent.push(record.clone());
        }
        self.collected_at(entry).record(record);
    }

    /// Returns a record that the program has written.
    pub(super) fn decoded(
        &self,
        area: &TraceArea,
        record: &RawRecord,
        target: &LogTarget<'_>,
    ) -> Record {
        let captured = area.traced.captured[area.traced.record.clone()].iter();
        let own = &area.query.query.record;
        let site = (&own[..], area.function.as_str());
        let values = record_values(&record.values, captured, site, area.paths(), target);
        Record {
            time: self.clock.time(record.ticks),
            thread: Some(record.thread).filter(|thread| thread.0 > 0),
            values: area.query.regroup(&self.query.record, values),
        }
    }
}

impl Debugger {
    fn that_keep_all(&self) -> Vec<BreakpointId> {
        let all = self.traces.0.iter();
        let all = all.filter(|(_, state)| state.query.keeps_all);
        all.map(|(id, _)| *id).collect()
    }

    fn areas_of(&self, id: BreakpointId) -> Vec<Rc<TraceArea>> {
        let state = self.traces.get(id);
        state.map_or_else(Vec::new, |state| state.areas.clone())
    }

    /// Returns when to read records next.
    pub(crate) fn next_records(&self) -> Option<Instant> {
        let mut all = self.traces.0.values();
        let has_some = |state: &TraceState| state.query.keeps_all && !state.areas.is_empty();
        let is_wanted = self.state() == State::Running && all.any(has_some);
        is_wanted.then(|| Instant::now() + INTERVAL)
    }

    /// Reads records and emits them, up to a limit. Returns whether there are more.
    pub(crate) fn drain_records(&mut self) -> bool {
        let mut is_more = false;
        for id in self.that_keep_all() {
            is_more |= self.drain_records_of(id);
        }
        is_more
    }

    fn drain_records_of(&mut self, id: BreakpointId) -> bool {
        let mut is_more = false;
        let mut records: Vec<(LoadAddr, Record)> = Vec::new();
        for area in self.areas_of(id) {
            let mut left = PORTION;
            while left > 0
                && let Some(record) = area.take_record()
            {
                left -= 1;
                let target = LogTarget {
                    memory: self.inferior.memory(),
                    modules: &self.images.modules,
                };
                let state = self.traces.get(id);
                let decoded = |state: &TraceState| state.decoded(&area, &record, &target);
                records.extend(state.map(|state| (area.site, decoded(state))));
            }
            is_more |= left == 0;
        }
        let Some(state) = self.traces.0.get_mut(&id) else {
            return false;
        };
        for (entry, record) in records {
            state.record(entry, record);
        }
        let mut unsent = std::mem::take(&mut state.unsent);
        unsent.sort_by_key(|record| record.time);
        self.travel.drop_reported(id, &mut unsent);
        while !unsent.is_empty() {
            let rest = unsent.split_off(unsent.len().min(PORTION));
            self.emit(Event::Records(id, std::mem::replace(&mut unsent, rest)));
        }
        is_more
    }

    /// Reads and emits all records of the program; its threads are stopped or gone.
    pub(crate) fn drain_all_records(&mut self) {
        let all = self.that_keep_all();
        while self.drain_records() {}
        let mut areas = all.iter().flat_map(|id| self.areas_of(*id));
        if areas.all(|area| area.records().1 == 0) {
            return;
        }
        // A thread in the midst of a record has to complete it.
        let process = self.inferior.process.iter();
        let threads: Vec<ThreadId> = process.flat_map(|it| it.threads.keys().copied()).collect();
        for thread in threads {
            let raw = self.inferior.os().registers(thread).map(|raw| raw.pc());
            if raw.is_some_and(|pc| self.inferior.jumps.holds(pc)) {
                self.inferior.normalize(thread);
            }
        }
        while self.drain_records() {}
        for id in all {
            for area in self.areas_of(id) {
                while area.skip_abandoned_record() {
                    while self.drain_records_of(id) {}
                }
            }
        }
    }

    /// Reads records if a hit has found no room for its own.
    pub(super) fn make_room(&mut self, id: BreakpointId, thread: ThreadId, entry: LoadAddr) {
        let full = self.areas_of(id).into_iter();
        let full: Vec<Rc<TraceArea>> = full
            .filter(|area| area.site == entry && area.is_full())
            .collect();
        let state = self.traces.0.get_mut(&id);
        let Some(state) = state.filter(|_| !full.is_empty()) else {
            return;
        };
        state.waited += 1;
        while self.drain_records_of(id) && full.iter().any(|area| area.is_full()) {}
        if full.iter().any(|area| area.is_full()) {
            // A thread that was about to write the oldest record does not run.
            self.with_world_stopped(thread, |this, world| {
                if world.is_some() {
                    this.drain_all_records();
                }
            });
        }
    }
}
