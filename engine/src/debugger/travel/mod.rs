//! The past of a recorded program: replays are shown in its place, and run like it.
//!
//! While a replay is shown, the program waits; to everything that reads, steps or sets breakpoints the
//! replay is the program, with its thread. Where the recording ends, the program itself is shown again
//! and runs on. Where a way back leads is searched by `search`, as `stops/travel` decides.

mod begin;
mod events;
mod finish;
mod hits;
mod hop;
mod nowhere;
mod origin;
mod reported;
mod returns;
mod rows;
mod search;
mod steps;
mod stored;
mod writes;

use super::dispatch::Shown;
use super::{Debugger, State, Vote};
use crate::arch::Flow;
use crate::ids::error::Error;
use crate::ids::{BreakpointId, ThreadId};
use crate::inferior::site::Owner;
use crate::inferior::{Aside, AtMark, Mark};
use crate::os::{KeptFor, RecordingState, ReplayStop};
use crate::stops::breakpoint::RequestedLocation;
use crate::stops::event::{Event, StopReason};
use crate::stops::search_end::SearchEnd;
use crate::stops::travel::{Behind, Goal};
use dwarf::LoadAddr;
pub use hits::BreakpointPlace;
pub use hop::{Hop, HopKind, Origin};
use nowhere::Begun;
use origin::Following;
use search::{Searched, Searching};
use std::collections::{BTreeMap, BTreeSet};
use steps::rows_for;
use writes::{FoundWrite, LastWrite};

/// What is shown of a recording, and what is searched in it.
#[derive(Default)]
pub(crate) struct Travel {
    /// The program itself, while a replay is shown.
    head: Option<Head>,
    /// The index of a snapshot that the shown place is behind; `None`: of the program itself.
    after: Option<usize>,
    /// The kept replays that the shown place is behind.
    behind: Behind,
    search: Option<Box<Searching>>,
    /// The place that the way back began at, if it leads through others.
    begun: Option<Begun>,
    /// The value whose last write is searched.
    writing: Option<Box<LastWrite>>,
    /// The last write that was found.
    found_write: Option<FoundWrite>,
    /// The value that is followed to its origin.
    following: Option<Box<Following>>,
    /// The origin that was found last.
    origin: Option<Origin>,
    /// Whether the client was not sent it yet.
    is_origin_new: bool,
    /// The words of memory by which a pass was not at the end of the search, with its registers: where these are the
    /// fewest.
    other_words: Vec<LoadAddr>,
    /// Words that are not compared: no replay had them as they were. What a function has not initialised on the
    /// stack may be what the loader has left there, which depends on the processor.
    not_compared: Vec<LoadAddr>,
    /// Whether the debugger has changed the program at this stop.
    is_changed: bool,
    /// Why a replay was not shown, or was not like the recording; of several, the last one.
    divergence: Option<String>,
    /// Notes that were sent to the client: each is sent once.
    noted: BTreeSet<&'static str>,
}

/// The note for the first call of a function, or the first change in the past.
const TRIED: &str = "Functions are called in a copy of the recorded program, and what they or assignments in the \
                     past change is gone when the program moves.\n";
/// The note for a change of the program.
const CHANGED: &str = "This change is not recorded: when the program is resumed, the recording begins anew here, and \
                       steps back end here.\n";

impl Travel {
    /// Returns the place that the shown replay runs to, and the process that is there.
    fn end_of_replay(&self) -> Option<(&Mark, Option<&Aside>)> {
        match (&self.search, &self.head) {
            (Some(searching), _) => Some((&searching.search.end, searching.origin.as_ref())),
            (None, Some(head)) => Some((&head.at, Some(&head.aside))),
            (None, None) => None,
        }
    }
}

/// The program, put aside.
struct Head {
    aside: Aside,
    at: Mark,
    thread: ThreadId,
    shown: ShownStop,
    /// The hits of breakpoints until there.
    hits: BTreeMap<BreakpointId, u64>,
}

/// What a stop shows besides its place.
pub(super) struct ShownStop {
    reason: StopReason,
    hidden_inlined: usize,
    requested: RequestedLocation,
}

/// A way back in the past of a recorded program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Backward {
    /// To the last stop: at a breakpoint, an exception or watched data.
    Continue,
    /// To the end of the step before.
    Step(super::StepKind, super::Granularity),
}

impl Debugger {
    /// Returns the state of the recording; `None`: the program is not recorded.
    pub fn recording(&self) -> Option<RecordingState> {
        self.inferior.os().recording()
    }

    /// Returns whether the program is recorded, or was until the recording ended.
    pub fn is_recorded(&self) -> bool {
        self.inferior.os().is_recorded()
    }

    /// Returns whether the program is recorded, and the recording has not ended: there is a way back in it.
    pub fn is_recording(&self) -> bool {
        self.inferior.os().is_recording()
    }

    /// Returns whether a replay is shown in place of the recorded program.
    pub fn is_in_replay(&self) -> bool {
        self.travel.head.is_some() || self.travel.search.is_some()
    }

    pub(super) fn is_searching(&self) -> bool {
        self.travel.search.is_some()
    }

    /// Goes back in the recording; the stop is reported once it is found, and the program counts as
    /// running until then.
    ///
    /// # Errors
    /// The thread is not stopped, or the program is not recorded (any more).
    pub fn go_back(&mut self, thread: ThreadId, way: Backward) -> Result<(), Error> {
        let (at, after) = self.begin_of_search(thread)?;
        let goal = match way {
            Backward::Continue => Goal::Stop,
            Backward::Step(super::StepKind::Out, _) => Goal::Caller,
            Backward::Step(_, super::Granularity::Instruction) => Goal::Instruction,
            Backward::Step(..) => Goal::Step,
        };
        let steps = match way {
            Backward::Step(kind, granularity) => (kind, granularity),
            Backward::Continue => (super::StepKind::Over, super::Granularity::Line),
        };
        let rows = match goal {
            Goal::Stop
            | Goal::Write
            | Goal::Setter
            | Goal::Event(_)
            | Goal::Hit(_)
            | Goal::Tell => Vec::new(),
            Goal::Step | Goal::Instruction | Goal::Caller => {
                self.searched_rows(thread, goal, rows_for(goal, steps.0))?
            }
        };
        let frame = match (goal, steps.0) {
            (Goal::Step, super::StepKind::Over) => self.step_frame(thread, self.hidden_at(thread)),
            _ => None,
        };
        let near = match goal {
            Goal::Step | Goal::Instruction | Goal::Caller => {
                self.place_in_frame(thread, at.registers.pc())
            }
            Goal::Stop
            | Goal::Write
            | Goal::Setter
            | Goal::Event(_)
            | Goal::Hit(_)
            | Goal::Tell => None,
        };
        let searched = Searched {
            rows,
            near,
            steps,
            frame,
            ..Searched::of(goal)
        };
        self.begin_search(thread, at, after, searched);
        Ok(())
    }

    /// Returns where a search begins: the place that is shown, and the index of a snapshot that it is behind.
    ///
    /// # Errors
    /// The thread is not stopped, or the program is not recorded (any more).
    fn begin_of_search(&mut self, thread: ThreadId) -> Result<(Mark, usize), Error> {
        self.stopped_thread(thread)?;
        let state = self.recording().ok_or_else(|| {
            Error::NoSuchPast("the program is not recorded; set `record` to true".to_owned())
        })?;
        if let Some(why) = state.ended {
            let why = format!("the recording has ended: {why}");
            return Err(Error::NoSuchPast(why));
        }
        self.check_suspended()?;
        self.settle_change();
        // A change has begun the recording anew, without the former snapshots.
        let snapshots = self.recording().unwrap_or_default().snapshots;
        let mut at = self.inferior.mark(thread).ok_or(Error::NotStopped)?;
        at.has_red_zone = self.may_use_red_zone(at.registers.pc());
        let last = snapshots.len().saturating_sub(1);
        // One whose event is passed is certainly before.
        let passed = snapshots.partition_point(|it| it.next < at.event);
        let after = match self.travel.after {
            Some(after) => after.max(passed.saturating_sub(1)).min(last),
            None => last,
        };
        Ok((at, after))
    }

    /// Returns whether the function at an address may have data below the stack pointer: it calls nothing.
    /// In any other, calls have left there what no replay has (the dynamic loader saves registers in a way
    /// that depends on the processor).
    fn may_use_red_zone(&self, addr: LoadAddr) -> bool {
        /// More instructions are not looked at.
        const MOST: usize = 1 << 16;
        let Some(range) = self.piece_at(addr) else {
            return true;
        };
        let arch = self.images.modules.arch();
        let memory = self.inferior.memory();
        let mut at = range.start;
        for _ in 0..MOST {
            if at >= range.end {
                return true;
            }
            let Some(instruction) = arch.read(&memory, at) else {
                return true;
            };
            if matches!(instruction.flow, Flow::Call(_) | Flow::IndirectCall(_)) {
                return false;
            }
            at = instruction.next();
        }
        true
    }

    /// # Errors
    /// A function that was called from the console is stopped.
    fn check_suspended(&self) -> Result<(), Error> {
        if self.threads.values().all(|it| it.suspended.is_empty()) {
            return Ok(());
        }
        let why = "a function that was called from the console has not returned";
        Err(Error::NoSuchPast(why.to_owned()))
    }

    /// Lets functions be called and values be changed in a copy, if the program is recorded: it shall not
    /// do what a replay would not.
    ///
    /// # Errors
    /// The system has no memory or processes left, or a function that was called in another thread is stopped.
    pub(crate) fn begin_trial(&mut self, thread: ThreadId) -> Result<(), Error> {
        if self.inferior.trial_thread().is_some_and(|of| of != thread) {
            self.check_suspended()?;
        }
        if self.is_recording() {
            self.note_once(TRIED);
        }
        let begun = self.inferior.begin_trial(thread);
        begun.map_err(|why| Error::NoSuchPast(format!("no copy of the program: {why}")))
    }

    /// Prepares a change of the stopped program by the debugger: a replay is changed in a copy, which is
    /// ended when it moves; the recording of the program begins anew when it is resumed.
    ///
    /// # Errors
    /// As [`Debugger::begin_trial`].
    pub(crate) fn prepare_change(&mut self) -> Result<(), Error> {
        if !self.is_recording() || self.inferior.is_trial() {
            return Ok(());
        }
        // The end of a file's recording is shown again as it is.
        match self.is_in_replay() || self.is_recording_stored() {
            true => {
                let thread = self.current_thread().ok_or(Error::NotStopped)?;
                self.begin_trial(thread)?;
            }
            false => {
                self.travel.is_changed = true;
                self.note_once(CHANGED);
            }
        }
        Ok(())
    }

    /// Returns whether [`Debugger::prepare_change`] has nothing left to do.
    pub(crate) fn is_prepared_for_change(&self) -> bool {
        !self.is_recording() || self.inferior.is_trial() || self.travel.is_changed
    }

    /// Begins the recording anew if the debugger has changed the program.
    pub(crate) fn settle_change(&mut self) {
        self.inferior.end_trial();
        if std::mem::take(&mut self.travel.is_changed) && self.is_recording() {
            let thread = self.current_thread();
            if let Some(thread) = thread {
                self.inferior.write_registers(thread);
            }
            self.forget_origin();
            self.inferior.os_mut().restart_recording();
        }
    }

    fn note_once(&mut self, text: &'static str) {
        if self.travel.noted.insert(text) {
            self.emit(Event::Note(text.to_owned()));
        }
    }

    /// Shows the program itself, without an event. What was read before is out of date.
    pub fn return_to_head(&mut self) {
        let abandoned = self.abandon_search();
        self.travel.writing = None;
        self.restore_hits();
        let thread = self.travel.head.as_ref().map(|head| head.thread);
        let shown = self.show_head().or(abandoned);
        if let (Some(shown), Some(thread)) = (shown, thread.or_else(|| self.current_thread())) {
            self.show_stop_again(thread, shown);
        }
    }

    /// Returns what the stop of a thread shows.
    fn shown_by_stop(&mut self, thread: ThreadId) -> ShownStop {
        let reason = self.present_reason().unwrap_or(StopReason::Pause);
        let state = self.thread_state(thread);
        let state = state.map(|it| (it.hidden_inlined, it.requested.clone()));
        let (hidden_inlined, requested) = state.unwrap_or_default();
        ShownStop {
            reason,
            hidden_inlined,
            requested,
        }
    }

    fn show_stop_again(&mut self, thread: ThreadId, shown: ShownStop) {
        self.set_present_reason(thread, shown.reason);
        if let Some(state) = self.thread_state(thread) {
            state.hidden_inlined = shown.hidden_inlined;
            state.requested = shown.requested;
        }
    }

    /// Gives breakpoints the hits that they have where the program is. A replay that runs there counts them.
    fn restore_hits(&mut self) {
        for (id, hits) in self.travel.head.iter().flat_map(|head| &head.hits) {
            self.stops.breakpoints.set_hits(*id, *hits);
        }
    }

    fn show_head(&mut self) -> Option<ShownStop> {
        let head = self.travel.head.take()?;
        self.clear_search_end();
        self.inferior.restore_aside(head.aside, true);
        self.stops.breakpoints.set_silent(false);
        self.travel.after = None;
        self.travel.not_compared.clear();
        self.travel.behind = Behind::default();
        for kept in [KeptFor::Near, KeptFor::Far] {
            self.inferior.os_mut().end_kept_replay(kept);
        }
        self.views.stacks.clear();
        Some(head.shown)
    }

    /// Lets a replay stop where the program is. To be called before it runs forward.
    pub(crate) fn await_head(&mut self) {
        let Some(head) = &self.travel.head else {
            return;
        };
        let at = head.at;
        self.pause_at(&at);
    }

    /// Lets a replay stop at a place.
    fn pause_at(&mut self, place: &Mark) {
        let (event, registers) = (place.event, place.registers);
        self.clear_search_end();
        let is_behind_last = self.inferior.os().next_event() == event;
        if is_behind_last {
            // A pause here would be in place of the instruction that the thread executes in place.
            self.inferior.os_mut().end_before_next();
            self.set_search_end(SearchEnd::new(registers));
        } else {
            self.inferior.os_mut().pause_before(Some(event));
        }
    }

    /// Returns whether a stopped thread is where the replay ends. If only a word of memory differs, it is
    /// compared from now on.
    pub(super) fn is_at_end(&mut self, thread: ThreadId) -> bool {
        self.inferior.write_registers(thread);
        let Some((mark, aside)) = self.travel.end_of_replay() else {
            return false;
        };
        match (self.inferior).is_at(thread, mark, aside, &self.travel.not_compared) {
            AtMark::There => true,
            AtMark::Elsewhere => false,
            AtMark::OtherWords(words) => {
                let addrs: Vec<LoadAddr> = words.iter().map(|word| word.addr).collect();
                tracing::debug!(?addrs, "equal registers, other memory");
                let other = &mut self.travel.other_words;
                if other.is_empty() || addrs.len() <= other.len() {
                    *other = addrs;
                }
                if let Some(word) = words.first() {
                    self.add_word_of_end(word.addr, word.value);
                }
                false
            }
        }
    }

    /// Returns the vote on a stop of a replay that no program has.
    pub(super) fn on_replay_stop(&mut self, thread: ThreadId, stop: ReplayStop) -> Vote {
        match stop {
            ReplayStop::Mapped => {
                self.inferior.add_missing_sites();
                Vote::Resume
            }
            // The hit of the site there was handled before.
            ReplayStop::Turn => {
                self.mark_passed(thread);
                Vote::Resume
            }
            ReplayStop::Reached if self.is_at_searched_event() => {
                self.on_found(thread, StopReason::Goto, Shown::default())
            }
            ReplayStop::Reached if self.is_at_end_of_pass() => self.on_end_of_pass(thread),
            ReplayStop::Reached if self.is_at_end(thread) => self.on_end(thread),
            ReplayStop::Reached => {
                let end = self.travel.end_of_replay().map(|(mark, _)| mark.registers);
                if let Some(registers) = end {
                    self.set_search_end(SearchEnd::new(registers));
                }
                let state = self.inferior.thread(thread);
                match state.is_some_and(|state| state.is_stepping) {
                    // The event is the end of a step, too.
                    true => self.on_step_or_watch_trap(thread, true),
                    false => Vote::Resume,
                }
            }
            ReplayStop::End if self.inferior.os().is_at_stored_end() => self.on_stored_end(),
            ReplayStop::End if self.is_at_end(thread) => self.on_end(thread),
            // It has passed the place of the program, which is shown then.
            ReplayStop::End if self.travel.search.is_none() => self.on_end(thread),
            ReplayStop::End if self.compares_less() => self.begin_pass(),
            ReplayStop::Diverged if self.may_repeat_pass() => self.begin_pass(),
            ReplayStop::End | ReplayStop::Diverged => {
                let state = self.recording().unwrap_or_default();
                let why = match (stop, state.divergence) {
                    (ReplayStop::Diverged, Some(divergence)) => format!(
                        "a replay was not like the recording, which is a mistake of Stillpoint: \
                         {divergence}"
                    ),
                    _ => {
                        let mark = self.travel.end_of_replay().map(|(mark, _)| mark);
                        let place = mark.map(|mark| self.inferior.distance_from(thread, mark));
                        let place = place.unwrap_or_default();
                        format!("a replay did not come to the place where the program is ({place})")
                    }
                };
                self.diverge(&why)
            }
        }
    }

    /// Returns the vote on a thread at the site where a replay may end; `None`: it does not end yet.
    pub(super) fn on_end_site(&mut self, thread: ThreadId) -> Option<Vote> {
        if !self.may_be_at_end(thread) {
            return None;
        }
        if self.travel.end_of_replay().is_none() {
            return Some(Vote::stop(StopReason::Pause));
        }
        self.is_at_end(thread).then(|| self.on_end(thread))
    }

    /// Returns the vote on a thread that a single step or an access to watched data may have led to the
    /// end of a search, before it executes the trap there; `None`: it is elsewhere.
    pub(in crate::debugger) fn on_arrival(&mut self, thread: ThreadId) -> Option<Vote> {
        let is_there = self.travel.search.is_some() && self.is_at_end(thread);
        is_there.then(|| self.on_end_of_pass(thread))
    }

    /// Returns the vote instead of that to report a stop, while something is searched; `None`: it is
    /// reported. A step may have ended where the replay ends: the trap there is not hit, since the thread
    /// executes one instruction up to it, and passes it when it is resumed.
    pub(super) fn stop_of_replay(
        &mut self,
        thread: ThreadId,
        reason: &StopReason,
        shown: &Shown,
    ) -> Option<Vote> {
        // The last store may have led to the end of its search.
        let is_found = self.searches_store() && matches!(reason, StopReason::Data(..));
        match self.is_searching() && !is_found && self.is_at_end(thread) {
            true => Some(self.on_end_of_pass(thread)),
            false => self.searched_stop(thread, reason, shown),
        }
    }

    /// Returns the vote on the end of a replay.
    fn on_end(&mut self, thread: ThreadId) -> Vote {
        if self.travel.search.is_some() {
            return self.on_end_of_pass(thread);
        }
        let Some(ShownStop { reason, .. }) = self.show_head() else {
            return Vote::Stay;
        };
        self.inferior.set_state(State::Running);
        if !matches!(
            reason,
            StopReason::Breakpoint(_)
                | StopReason::BreakpointError(..)
                | StopReason::Step
                | StopReason::Pause
                | StopReason::Entry
                | StopReason::Goto
        ) {
            self.count_hits_of_stop(thread, &reason);
            return Vote::stop(reason);
        }
        // The stop was of the debugger's making: what there is now at its place decides.
        let has_step = self.has_step(thread);
        if let Some(pc) = self.inferior.registers(thread).map(|it| it.pc())
            && self
                .owners_at(pc)
                .iter()
                .any(|it| matches!(it, Owner::User(_)))
        {
            match self.on_site(thread, pc) {
                Vote::Resume if has_step && self.has_step(thread) => {}
                vote => return vote,
            }
        }
        match has_step {
            true => self.resume_step(thread),
            false => Vote::Resume,
        }
    }

    /// Returns the reason with which a stop of a replay is reported. Where the program itself is, it is shown
    /// instead of the replay.
    pub(super) fn reason_shown(&mut self, thread: ThreadId, reason: StopReason) -> StopReason {
        if self.travel.head.is_none() || self.is_searching() || !self.is_at_end(thread) {
            return reason;
        }
        self.cancel_steps();
        match self.show_head().map(|shown| shown.reason) {
            Some(StopReason::Step | StopReason::Pause | StopReason::Entry | StopReason::Goto)
            | None => reason,
            // The last write, which has led there.
            Some(_) if matches!(reason, StopReason::Data(..)) => reason,
            Some(reason) => reason,
        }
    }

    /// Says at a stop, once, why the recording has ended before the program.
    pub(super) fn note_end_of_recording(&mut self) {
        if let Some(why) = self.take_end_of_recording() {
            let text = format!("The recording has ended: {why}. The program runs on.\n");
            self.emit(Event::Note(text));
        }
    }

    /// Says the same when the program has ended without a stop since then.
    pub(super) fn note_recording_ended_early(&mut self) {
        if let Some(why) = self.take_end_of_recording() {
            let text = format!("The recording had ended before the program: {why}.\n");
            self.emit(Event::Note(text));
        }
    }

    /// Returns why the recording has ended, once.
    fn take_end_of_recording(&mut self) -> Option<String> {
        const END: &str = "end";
        if !self.is_recorded() || self.is_recording() || self.travel.noted.contains(END) {
            return None;
        }
        let why = self.recording()?.ended?;
        self.travel.noted.insert(END);
        Some(why)
    }
}
