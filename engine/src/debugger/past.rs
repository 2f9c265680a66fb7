//! Past stops: copies of the process that are made at stops, and one of them shown in its place.
//!
//! While a past stop is shown, the state of the process is put aside, and everything that reads
//! (stacks, variables, expressions, memory) reads the copy. Nothing can be changed or resumed; the
//! process waits at its present stop. Requests that concern the process itself, such as breakpoints,
//! are handled between [`Debugger::put_past_aside`] and [`Debugger::show`].

use super::{Debugger, State, ThreadState};
use crate::ids::ThreadId;
use crate::ids::error::Error;
use crate::inferior::{KeptProcess, NotKept, ProcessAside};
use crate::os::MemoryUse;
use crate::stops::event::{Event, Stop, StopReason};
use crate::stops::exception::ShownExceptions;
use crate::stops::past::{
    Affordable, Allowance, MAX_STOPS, Motion, Point, Way, destination, is_worth_keeping,
};
use dwarf::SourceLocation;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Maximum age of what is known of the use of memory.
const MAX_AGE: Duration = Duration::from_millis(500);

/// The stops of the program so far.
#[derive(Default)]
pub(crate) struct Past {
    /// Those that are kept, oldest first.
    kept: VecDeque<KeptStop>,
    /// The stop that the program is at; `None` while it runs.
    present: Option<PresentStop>,
    /// The number of stops so far.
    made: u64,
    /// How the next stop will be reached.
    motion: Motion,
    allowance: Allowance,
    memory: Option<(Instant, MemoryUse)>,
    /// The past stop that is shown, and what it has replaced.
    shown: Option<(u64, Aside)>,
}

/// A stop, without the process.
#[derive(Clone)]
struct PresentStop {
    number: u64,
    thread: ThreadId,
    reason: StopReason,
    reached_by: Motion,
    at: Instant,
    /// The number of the debugger's writes to memory when it was kept, or was found to be impossible to
    /// keep: the program is kept as it is left.
    settled_at: Option<u64>,
}

struct KeptStop {
    stop: PresentStop,
    process: KeptProcess,
    threads: FxHashMap<ThreadId, ThreadState>,
    exceptions: ShownExceptions,
    function: Option<String>,
    location: Option<SourceLocation>,
}

/// The debugger's view of the process while a past stop is shown.
struct Aside {
    process: ProcessAside,
    threads: FxHashMap<ThreadId, ThreadState>,
    exceptions: ShownExceptions,
}

/// A stop that can be shown.
#[derive(Clone, Debug)]
pub struct PastStop {
    /// The number of the stop: how many there were until then.
    pub number: u64,
    /// Its thread.
    pub thread: ThreadId,
    /// Its reason.
    pub reason: StopReason,
    /// How the program came there from the stop before.
    pub reached_by: Motion,
    /// When it was.
    pub at: Instant,
    /// The name of the innermost function.
    pub function: Option<String>,
    /// The line.
    pub location: Option<SourceLocation>,
    /// Whether the program is there now.
    pub is_present: bool,
    /// Whether it is the one that is shown.
    pub is_shown: bool,
}

impl Past {
    /// Returns the number of the first stop that is kept, if all have been.
    fn first_kept(&self) -> u64 {
        self.made.saturating_sub(MAX_STOPS)
    }
}

impl PresentStop {
    fn point(&self) -> Point {
        Point {
            number: self.number,
            reached_by: self.reached_by,
        }
    }
}

/// What is shown of a thread at a stop: without the step and the calls that it is in.
fn shown_state(state: &ThreadState) -> ThreadState {
    ThreadState {
        hidden_inlined: state.hidden_inlined,
        requested: state.requested.clone(),
        returned: state.returned.clone(),
        ..ThreadState::default()
    }
}

impl Debugger {
    /// Counts a stop that is reported.
    pub(super) fn count_stop(&mut self, thread: ThreadId, reason: &StopReason) {
        if self.inferior.non_stop {
            return;
        }
        self.past.made += 1;
        self.past.present = Some(PresentStop {
            number: self.past.made,
            thread,
            reason: reason.clone(),
            reached_by: std::mem::take(&mut self.past.motion),
            at: Instant::now(),
            settled_at: None,
        });
    }

    /// Returns the reason of the present stop.
    pub(super) fn present_reason(&self) -> Option<StopReason> {
        Some(self.past.present.as_ref()?.reason.clone())
    }

    /// Sets the reason of the present stop of a thread.
    pub(super) fn set_present_reason(&mut self, thread: ThreadId, reason: StopReason) {
        match &mut self.past.present {
            Some(present) => present.reason = reason,
            None => self.count_stop(thread, &reason),
        }
    }

    /// Records that the program leaves its stop by a step of a thread.
    pub(crate) fn note_step(&mut self, thread: ThreadId) {
        self.past.motion = Motion::Step(thread);
    }

    /// Records that the program runs.
    pub(super) fn forget_present_stop(&mut self) {
        self.past.present = None;
    }

    /// Keeps the present stop, so that it can be shown later, unless that was done, the program runs or
    /// it cannot be afforded. Takes about 10 µs for each megabyte that the program has in memory. To be
    /// called while nothing else is to be done.
    pub fn keep_stop(&mut self) {
        self.keep_present_stop();
        self.end_old_stops();
    }

    /// Like [`Debugger::keep_stop`], before the program is resumed: unless the stop was too short to
    /// be seen.
    pub fn keep_stop_before_resume(&mut self) {
        let present = self.past.present.as_ref();
        if present.is_some_and(|stop| is_worth_keeping(stop.at.elapsed())) {
            self.keep_present_stop();
            if self.past.kept.len() as u64 > 2 * MAX_STOPS {
                self.end_old_stops();
            }
        }
    }

    /// Returns whether the program is at a stop that is to be kept, and that was not attempted since the
    /// last change of memory by the debugger.
    pub fn is_stop_to_be_kept(&self) -> bool {
        let present = self.past.present.as_ref();
        let is_in_call = self.calls.pending.is_some()
            || self
                .threads
                .values()
                .any(|state| !state.suspended.is_empty());
        present.is_some_and(|stop| stop.settled_at != Some(self.inferior.writes()))
            && !is_in_call
            && self.past.shown.is_none()
            && !self.inferior.non_stop
            && self.state() == State::Stopped
            && !self.is_post_mortem()
            && !self.is_recording()
    }

    fn keep_present_stop(&mut self) {
        if !self.is_stop_to_be_kept() {
            return;
        }
        let Some(stop) = &mut self.past.present else {
            return;
        };
        stop.settled_at = Some(self.inferior.writes());
        let stop = stop.clone();
        let former = self
            .past
            .kept
            .pop_back_if(|it| it.stop.number == stop.number);
        self.inferior
            .end_kept(former.into_iter().map(|kept| kept.process));
        let memory = self.memory_use();
        match self.past.allowance.at_stop(memory) {
            Affordable::Copy { drop_all: false } => {}
            Affordable::Copy { drop_all: true } => self.forget_past(),
            Affordable::None => {
                let why = self.inferior.confinement().filter(|_| memory.is_none());
                return why.map_or((), |why| self.end_past(why.to_owned()));
            }
            Affordable::Never(why) => return self.note_no_past(&why),
        }
        let begun = Instant::now();
        let (function, location) = self.innermost_place(stop.thread);
        let process = match self.inferior.keep_process(stop.thread) {
            Ok(process) => process,
            Err(NotKept::Now) => return,
            Err(NotKept::Ever(why)) => return self.end_past(why),
        };
        let cost = begun.elapsed();
        tracing::debug!(number = stop.number, ?cost, "stop kept");
        let threads = self.threads.iter();
        self.past.kept.push_back(KeptStop {
            stop,
            process,
            threads: threads
                .map(|(id, state)| (*id, shown_state(state)))
                .collect(),
            exceptions: self.stops.exceptions.shown.clone(),
            function,
            location,
        });
        if let Some(why) = self.past.allowance.after(cost, memory) {
            self.note_no_past(&why);
        }
    }

    /// Returns the innermost function of a thread, and its line.
    fn innermost_place(&mut self, thread: ThreadId) -> (Option<String>, Option<SourceLocation>) {
        let stack = self.stack_page(thread, 0, Some(1));
        let frame = stack.ok().and_then(|stack| stack.frames.into_iter().next());
        frame.map_or((None, None), |frame| (Some(frame.name), frame.location))
    }

    /// Returns the memory of the process and of the system. What was read a short time before will do.
    fn memory_use(&mut self) -> Option<MemoryUse> {
        let known = self.past.memory.filter(|(at, _)| at.elapsed() < MAX_AGE);
        let memory = known.map(|(_, memory)| memory);
        memory.or_else(|| {
            let memory = self.inferior.memory_use()?;
            self.past.memory = Some((Instant::now(), memory));
            Some(memory)
        })
    }

    /// Ends copies of stops that are no longer shown.
    fn end_old_stops(&mut self) {
        if self.past.shown.is_some() || self.state() != State::Stopped {
            return;
        }
        let first = self.past.first_kept();
        let old = self.past.kept.partition_point(|it| it.stop.number < first);
        let old: Vec<KeptStop> = self.past.kept.drain(..old).collect();
        self.inferior
            .end_kept(old.into_iter().map(|kept| kept.process));
    }

    /// Keeps no more stops.
    fn end_past(&mut self, why: String) {
        if let Affordable::Never(why) = self.past.allowance.end(why) {
            self.note_no_past(&why);
        }
    }

    fn note_no_past(&mut self, why: &str) {
        self.emit(Event::Note(format!("Past stops are not kept: {why}.\n")));
    }

    /// Ends all copies; the present is shown. The process must be stopped, or gone.
    pub(crate) fn forget_past(&mut self) {
        self.put_past_aside();
        let kept = std::mem::take(&mut self.past.kept);
        self.inferior
            .end_kept(kept.into_iter().map(|kept| kept.process));
    }

    /// Begins anew for another process, or another program in it.
    pub(crate) fn restart_past(&mut self) {
        self.forget_past();
        self.past = Past::default();
    }

    /// Returns the stops that can be shown, oldest first; the last one is the present one, if the program
    /// is stopped.
    pub fn past_stops(&mut self) -> Vec<PastStop> {
        let present = self.past.present.as_ref().map(|stop| stop.number);
        let shown = self.shown_stop();
        let describe = |stop: &PresentStop, function, location| PastStop {
            number: stop.number,
            thread: stop.thread,
            reason: stop.reason.clone(),
            reached_by: stop.reached_by,
            at: stop.at,
            function,
            location,
            is_present: Some(stop.number) == present,
            is_shown: Some(stop.number) == shown,
        };
        let kept = self.past.kept.iter();
        let kept = kept.filter(|it| it.stop.number >= self.past.first_kept());
        let mut stops: Vec<PastStop> = kept
            .map(|it| describe(&it.stop, it.function.clone(), it.location.clone()))
            .collect();
        // The present stop may not be affordable, or not yet kept.
        if let Some(stop) = self.past.present.clone()
            && stops.last().is_none_or(|last| !last.is_present)
        {
            let mut place = (None, None);
            self.in_present(|present| place = present.innermost_place(stop.thread));
            stops.push(describe(&stop, place.0, place.1));
        }
        stops
    }

    /// Returns the number of the stop that is shown, the present one or not; `None` while the program
    /// runs.
    pub fn shown_stop(&self) -> Option<u64> {
        let past = self.past.shown.as_ref().map(|(number, _)| *number);
        past.or_else(|| Some(self.past.present.as_ref()?.number))
    }

    /// Returns whether a past stop is shown.
    pub fn is_in_past(&self) -> bool {
        self.past.shown.is_some()
    }

    /// Returns whether a stop before the present one is kept.
    pub fn has_past(&self) -> bool {
        let present = self.past.present.as_ref();
        let first = self.past.kept.front().map(|it| it.stop.number);
        first.is_some_and(|first| present.is_none_or(|present| first < present.number))
    }

    /// Shows a stop, without an event; `None`: the present one. What was read from the program before is
    /// out of date.
    ///
    /// # Errors
    /// There is no such stop, or a function of the program is being called.
    pub fn show(&mut self, number: Option<u64>) -> Result<(), Error> {
        let present = self.past.present.as_ref().map(|stop| stop.number);
        let Some(number) = number.filter(|number| Some(*number) != present) else {
            self.put_past_aside();
            return Ok(());
        };
        if self
            .past
            .shown
            .as_ref()
            .is_some_and(|shown| shown.0 == number)
        {
            return Ok(());
        }
        let index = self
            .past
            .kept
            .iter()
            .position(|it| it.stop.number == number);
        let index = index.ok_or_else(|| no_such_stop(number, &self.past.kept))?;
        self.put_past_aside();
        self.stopped()?;
        let Some(kept) = self.past.kept.get(index) else {
            return Ok(());
        };
        let threads = kept.threads.iter();
        let threads = threads
            .map(|(id, state)| (*id, shown_state(state)))
            .collect();
        let exceptions = kept.exceptions.clone();
        let aside = Aside {
            process: self.inferior.show_kept(&kept.process, kept.stop.thread),
            threads: std::mem::replace(&mut self.threads, threads),
            exceptions: std::mem::replace(&mut self.stops.exceptions.shown, exceptions),
        };
        self.views.stacks.clear();
        self.past.shown = Some((number, aside));
        Ok(())
    }

    /// Shows the process as it is. Returns the number of the past stop that was shown, for
    /// [`Debugger::show`].
    pub fn put_past_aside(&mut self) -> Option<u64> {
        let (number, aside) = self.past.shown.take()?;
        self.inferior.show_present(aside.process);
        self.threads = aside.threads;
        self.stops.exceptions.shown = aside.exceptions;
        self.views.stacks.clear();
        Some(number)
    }

    /// Does what concerns the process itself, whatever stop is shown.
    pub(super) fn in_present(&mut self, act: impl FnOnce(&mut Self)) {
        let past = self.put_past_aside();
        act(self);
        if let Some(number) = past
            && let Err(error) = self.show(Some(number))
        {
            tracing::warn!(%error, number, "the past stop is gone");
        }
    }

    /// Shows a stop like [`Debugger::show`], and reports it: [`StopReason::Visit`].
    ///
    /// # Errors
    /// As [`Debugger::show`].
    pub fn visit(&mut self, number: Option<u64>) -> Result<(), Error> {
        self.show(number)?;
        let process = self.stopped()?;
        let thread = process.current;
        let number = self.shown_stop().unwrap_or_default();
        let is_present = !self.is_in_past();
        self.emit(Event::Stopped(Stop {
            thread,
            all: true,
            reason: StopReason::Visit { number, is_present },
            abandoned: None,
        }));
        Ok(())
    }

    /// Visits a neighbor of the stop that is shown.
    ///
    /// # Errors
    /// There is none in that direction, or the way is no step; [`Error::NoSuchPast`] says what to do
    /// instead.
    pub fn go(&mut self, way: Way) -> Result<(), Error> {
        self.stopped()?;
        if self.inferior.non_stop {
            let why = "in non-stop mode, past stops are not kept";
            return Err(Error::NoSuchPast(why.to_owned()));
        }
        let at = self.shown_stop().ok_or(Error::NotStopped)?;
        let present = self.past.present.as_ref().map(PresentStop::point);
        let kept = self.past.kept.iter().map(|it| it.stop.point());
        let mut points: Vec<Point> = kept.collect();
        if points.last() != present.as_ref() {
            points.extend(present);
        }
        let number = destination(&points, at, way).map_err(Error::NoSuchPast)?;
        self.visit(Some(number))
    }
}

fn no_such_stop(number: u64, kept: &VecDeque<KeptStop>) -> Error {
    Error::NoSuchPast(match (kept.front(), kept.back()) {
        (Some(first), Some(last)) => format!(
            "stop {number} is not kept; the stops from {} to {} are, as far as `:past` lists them",
            first.stop.number, last.stop.number
        ),
        _ => "no earlier stop is kept".to_owned(),
    })
}
