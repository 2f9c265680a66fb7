//! The last write to data before now: a search in which only that data is watched. What the kernel has written by a
//! call, no watch sees; the recording knows these calls.

use super::{Goal, Mark, Searched, ShownStop};
use crate::debugger::dispatch::Shown;
use crate::debugger::{Debugger, State, Vote};
use crate::ids::error::Error;
use crate::ids::{BreakpointId, BreakpointOptions, ThreadId};
use crate::images::body;
use crate::os::{CallOfRun, SystemWrite};
use crate::stops::breakpoint::RequestedLocation;
use crate::stops::breakpoint::watch::{
    DataAccess, DataBreakpoint, Watch, WatchMechanism, Watchable,
};
use crate::stops::event::StopReason;
use dwarf::{FileAddr, LoadAddr};
use std::collections::BTreeMap;

/// A search for the last write to data that has changed it.
pub(in crate::debugger) struct LastWrite {
    data: Watchable,
    /// The write at which the search began, if an earlier search has found it.
    begins_at: Option<FoundWrite>,
    stores: Stores,
    awaited: Awaited,
    /// Whether the program's write that leads to the place where the search began counts: it was not found before.
    counts: bool,
    /// The stop at the write that was found.
    reason: Option<StopReason>,
    /// The call by which it was made, if that was one of the kernel's, made without a stop.
    pub(super) call: Option<CallOfRun>,
    /// Whether the last search has found nothing.
    pub(super) is_nothing_found: bool,
    /// Whether the last search was given up.
    pub(super) is_abandoned: bool,
}

/// The stores that a search finds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stores {
    /// Those that change the data.
    Changes,
    /// All. The last change may be that of an earlier call, while the variable's own call has stored the same value.
    All,
    /// Those that change the data, after no store was found in the call of the variable.
    ChangesAlone,
}

/// What is searched.
enum Awaited {
    /// The last write of the program. The kernel has written there last by this call, if by any.
    Store(Option<SystemWrite>),
    /// The event before that call, since which the program has not written, for the value before it.
    BeforeCall(SystemWrite),
    /// Its end, for the value behind it. The one before it is known.
    BehindCall(SystemWrite, Vec<u8>),
}

/// How to go on after a stop.
enum Came {
    /// By another search, of which this is the first vote.
    Search(Vote),
    /// By another search from where the first one began, of which this is the first vote on the thread there.
    Again(ThreadId, Vote),
    /// The place that is shown is the one.
    Here,
    /// The place where the search began is the one, and is reported.
    Begin(Vote),
}

/// A write that was found, and that the shown stop is at.
#[derive(Clone)]
pub(super) struct FoundWrite {
    data: Watchable,
    at: Mark,
    by: By,
}

/// What has made a write.
#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    /// An instruction of the program.
    Program,
    /// The kernel, by the call that is the event before the place.
    Call,
    /// The same, by a call that was made without a stop.
    CallWithoutStop,
}

/// The watch of a search, and those that it has replaced.
pub(super) struct SearchedData {
    pub id: BreakpointId,
    others: BTreeMap<BreakpointId, Watch>,
}

/// What is added to the text of a write that is older than the call whose variable was asked for.
pub(super) const NOT_SET: &str =
    "; it was not set in its call: it holds what an earlier call has left there";

impl Debugger {
    /// Goes back to the last write that has changed data; the stop is reported once it is found. If there was none,
    /// a note says so, and the place stays that is shown.
    ///
    /// # Errors
    /// As [`Debugger::go_back`]; the data cannot be watched.
    pub fn go_to_last_write(&mut self, thread: ThreadId, data: &Watchable) -> Result<(), Error> {
        self.begin_of_search(thread)?;
        self.check_searched(data)?;
        let mut writing = LastWrite {
            data: data.clone(),
            begins_at: self.travel.found_write.clone(),
            stores: Stores::Changes,
            awaited: Awaited::Store(None),
            counts: !self.is_at_write_of(data),
            reason: None,
            call: None,
            is_nothing_found: false,
            is_abandoned: false,
        };
        self.keep_begin(thread);
        let vote = self.search_change(thread, &mut writing)?;
        self.travel.writing = Some(Box::new(writing));
        self.carry_out(thread, vote);
        Ok(())
    }

    /// Searches the last write of the program before the place that is shown.
    fn search_change(&mut self, thread: ThreadId, writing: &mut LastWrite) -> Result<Vote, Error> {
        let (at, after) = self.begin_of_search(thread)?;
        let (addr, size) = (writing.data.addr, writing.data.bytes);
        let found = self.travel.found_write.as_ref();
        let found = found.filter(|it| it.is_of(&writing.data, &at));
        let by = found.map(|it| it.by);
        let before = at.event.saturating_sub(usize::from(by == Some(By::Call)));
        let write = self.inferior.os_mut().last_system_write(addr, size, before);
        writing.awaited = Awaited::Store(write.filter(|write| !write.maps));
        (writing.reason, writing.call) = (None, None);
        let access = match writing.stores {
            Stores::Changes | Stores::ChangesAlone => DataAccess::Write,
            Stores::All => DataAccess::Store,
        };
        let searched = Searched {
            data: Some(self.watch_alone(&writing.data, access)?),
            skips_last: by == Some(By::CallWithoutStop),
            ..Searched::of(Goal::Write)
        };
        Ok(self.set_up_and_begin(thread, at, after, searched))
    }

    /// Returns whether the place that is shown is before the call that a variable belongs to: it holds what an earlier
    /// call has left on the stack.
    pub(super) fn is_left_over(&mut self, data: &Watchable) -> bool {
        let scope = data.scope.as_ref();
        scope.is_some_and(|scope| !self.is_alive(scope) || self.is_off_stack(scope))
    }

    /// Notes the stop at a write that was searched: the thread may run on from there.
    pub(super) fn note_write(&mut self, reason: &StopReason) {
        if let (Some(writing), StopReason::Data(..)) = (&mut self.travel.writing, reason) {
            writing.reason = Some(reason.clone());
        }
    }

    /// Returns whether the shown stop is at a write to data that was found, or that a data breakpoint has met.
    fn is_at_write_of(&mut self, data: &Watchable) -> bool {
        let Some(StopReason::Data(ids, _)) = self.present_reason() else {
            return false;
        };
        if !ids.is_empty() {
            let watches = ids.iter().filter_map(|id| self.stops.watches.all.get(id));
            return watches.map(|watch| &watch.data).any(|it| overlap(it, data));
        }
        let at = self.current_thread().and_then(|it| self.inferior.mark(it));
        let found = self.travel.found_write.as_ref();
        at.zip(found)
            .is_some_and(|(at, found)| found.is_of(data, &at))
    }

    /// Returns the vote instead of that to report a stop, while the last write to data is searched.
    pub(in crate::debugger) fn write_on(&mut self, thread: ThreadId) -> Option<Vote> {
        let mut writing = self.travel.writing.take()?;
        if writing.is_abandoned && !writing.is_nothing_found {
            return None;
        }
        self.inferior.set_state(State::Stopped);
        self.inferior.normalize(thread);
        self.clear_stop_state();
        let came = self.came_to_write(thread, &mut writing);
        let came = self.check_call_of_write(thread, &mut writing, came);
        (writing.is_abandoned, writing.is_nothing_found) = (false, false);
        match came {
            Ok(Came::Search(vote)) => {
                self.travel.writing = Some(writing);
                Some(vote)
            }
            Ok(Came::Again(from, vote)) => {
                self.travel.writing = Some(writing);
                self.carry_out(from, vote);
                Some(Vote::Stay)
            }
            Ok(Came::Here) => {
                self.forget_begin();
                self.inferior.set_state(State::Running);
                let mut reason = writing.reason.unwrap_or(StopReason::Step);
                if let StopReason::Data(_, text) = &mut reason
                    && self.is_left_over(&writing.data)
                {
                    text.push_str(NOT_SET);
                }
                Some(Vote::Stop(reason, Shown::default()))
            }
            Ok(Came::Begin(vote)) => Some(vote),
            Err(why) => Some(self.fail_replay(&why)),
        }
    }

    /// Checks that the last change of a variable is not that of an earlier call with its frame at the same address,
    /// while the variable's own call has stored the same value: then that store is searched.
    fn check_call_of_write(
        &mut self,
        thread: ThreadId,
        writing: &mut LastWrite,
        came: Result<Came, String>,
    ) -> Result<Came, String> {
        if writing.data.scope.is_none() {
            return came;
        }
        let is_left_over = match came {
            Ok(Came::Here) => self.is_left_over(&writing.data),
            Err(_) if writing.is_nothing_found => true,
            _ => return came,
        };
        let stores = match writing.stores {
            Stores::Changes if is_left_over || self.is_in_prologue(thread) => Stores::All,
            Stores::All if is_left_over => Stores::ChangesAlone,
            _ => return came,
        };
        let (begun, shown) = self.show_begin_again(None);
        self.inferior.set_state(State::Stopped);
        let thread = begun.or_else(|| self.current_thread()).unwrap_or(thread);
        if let Some(shown) = shown {
            self.show_stop_again(thread, shown);
        }
        self.keep_begin(thread);
        self.travel.found_write.clone_from(&writing.begins_at);
        writing.stores = stores;
        let vote = self.search_change(thread, writing);
        vote.map(|vote| Came::Again(thread, vote))
            .map_err(|why| why.to_string())
    }

    /// Returns whether a thread is before the body of its function, where parameters are stored.
    fn is_in_prologue(&self, thread: ThreadId) -> bool {
        let Some(pc) = self.inferior.registers(thread).map(|it| it.pc()) else {
            return false;
        };
        let Some(loaded) = self.images.modules.at(pc) else {
            return false;
        };
        let addr = loaded.bias.file(pc);
        let function = loaded.module.function_at(addr);
        function.is_some_and(|it| addr <= body::passed_by_each_call(&loaded.module, &it))
    }

    /// A search has ended.
    ///
    /// # Errors
    /// There was no write, or it cannot be shown.
    fn came_to_write(&mut self, thread: ThreadId, writing: &mut LastWrite) -> Result<Came, String> {
        match std::mem::replace(&mut writing.awaited, Awaited::Store(None)) {
            Awaited::Store(write) => {
                let here = self.inferior.os().next_event();
                let later = write.filter(|it| writing.is_nothing_found || it.event >= here);
                if let Some(write) = later {
                    return self.came_before_call(thread, writing, write);
                }
                if writing.is_nothing_found {
                    return Err("it was not changed since the recording began".to_owned());
                }
                self.came_to_store(thread, writing)
            }
            Awaited::BeforeCall(write) => {
                let event = write.event + 1;
                let before = self.read_bytes(writing.data.addr, writing.data.bytes as usize);
                writing.awaited = Awaited::BehindCall(write, before.unwrap_or_default());
                self.go_to_event_of_write(thread, event)
            }
            Awaited::BehindCall(write, before) => {
                let after = self.read_bytes(writing.data.addr, writing.data.bytes as usize);
                let after = after.unwrap_or_default();
                self.note_found(thread, &writing.data, By::Call);
                if before == after {
                    return self.before_write(thread, writing);
                }
                let data = &writing.data;
                let before = self.text_of_bytes(data, &before);
                let after = self.text_of_bytes(data, &after);
                let text = format!("{}: {before} -> {after}", data.name);
                let reason = StopReason::Data(Vec::new(), text);
                writing.reason = Some(written_by(Some(reason), &write.call));
                Ok(Came::Here)
            }
        }
    }

    /// The last write is that of a call of the kernel's, behind the last one of the program, if there is one.
    fn came_before_call(
        &mut self,
        thread: ThreadId,
        writing: &mut LastWrite,
        write: SystemWrite,
    ) -> Result<Came, String> {
        let (addr, size) = (writing.data.addr, writing.data.bytes);
        let here = self.inferior.os().next_event();
        let event = write.event;
        let other = (self.inferior.os_mut()).last_system_write(addr, size, event);
        let is_value_here =
            !writing.is_nothing_found && other.is_none_or(|other| other.event < here);
        if is_value_here {
            let before = self.read_bytes(addr, size as usize);
            writing.awaited = Awaited::BehindCall(write, before.unwrap_or_default());
            return self.go_to_event_of_write(thread, event + 1);
        }
        writing.awaited = Awaited::BeforeCall(write);
        self.go_to_event_of_write(thread, event)
    }

    /// The last write of the program was found.
    fn came_to_store(&mut self, thread: ThreadId, writing: &mut LastWrite) -> Result<Came, String> {
        let call = writing.call.take();
        if let Some(call) = &call {
            writing.reason = Some(written_by(writing.reason.take(), call));
        }
        let by = match call {
            Some(_) => By::CallWithoutStop,
            None => By::Program,
        };
        let pc = self.inferior.registers(thread).map(|it| it.pc());
        let in_call = pc.and_then(|pc| self.inferior.os().call_without_stop(pc));
        if in_call.is_none() {
            self.note_found(thread, &writing.data, by);
            return Ok(Came::Here);
        }
        // The call returns to where the search began, or behind.
        let (begun, shown) = self.show_begin_again(None);
        let reason = writing.reason.take().unwrap_or(StopReason::Step);
        let shown = shown.map(|shown| ShownStop { reason, ..shown });
        self.inferior.set_state(State::Stopped);
        let at = begun.or_else(|| self.current_thread()).unwrap_or(thread);
        self.note_found(at, &writing.data, by);
        self.inferior.set_state(State::Running);
        Ok(Came::Begin(self.report_again(begun, shown)))
    }

    fn go_to_event_of_write(&mut self, thread: ThreadId, event: usize) -> Result<Came, String> {
        let vote = self.search_event(thread, event);
        let why = "it was changed by a system call whose place is not recorded";
        vote.map(Came::Search).ok_or_else(|| why.to_owned())
    }

    /// Searches on before the place that is shown.
    fn before_write(&mut self, thread: ThreadId, writing: &mut LastWrite) -> Result<Came, String> {
        let vote = self.search_change(thread, writing);
        vote.map(Came::Search).map_err(|why| why.to_string())
    }

    /// Returns the location that the stop at the write shows that was found: the line of the instruction before `pc`,
    /// which has written. `None`: the stop is at another place, or that instruction is in another function.
    pub(in crate::debugger) fn line_of_found_write(
        &mut self,
        thread: ThreadId,
        pc: LoadAddr,
    ) -> Option<RequestedLocation> {
        let found = self.travel.found_write.as_ref();
        let found = found.filter(|it| it.by == By::Program)?;
        let here = self.inferior.mark(thread)?;
        if (found.at.event, found.at.registers) != (here.event, here.registers) {
            return None;
        }
        let loaded = self.images.modules.at(pc)?;
        let addr = loaded.bias.file(pc);
        let before = FileAddr(addr.0.checked_sub(1)?);
        let function = loaded.module.function_at(addr)?;
        let is_inside = function.ranges.iter().any(|it| it.contains(before));
        let calls = |at: FileAddr| function.frames_at(at).len();
        if addr == function.entry || !is_inside || calls(before) != calls(addr) {
            return None;
        }
        let line = |at| loaded.module.row_at(at).and_then(|row| row.location);
        let (written, natural) = (line(before)?, line(addr));
        let is_other = natural.is_none_or(|it| it.line != written.line);
        is_other.then_some(RequestedLocation {
            addr: pc,
            hidden: 0,
            shown: Some(written),
        })
    }

    fn note_found(&mut self, thread: ThreadId, data: &Watchable, by: By) {
        let data = data.clone();
        let at = self.inferior.mark(thread);
        self.travel.found_write = at.map(|at| FoundWrite { data, at, by });
    }

    /// Returns whether the last write to memory is searched.
    pub(super) fn finds_store(&self) -> bool {
        let searching = self.travel.search.as_ref();
        searching.is_some_and(|it| it.search.goal == Goal::Write && it.found.is_none())
    }

    /// Returns whether the last write to memory is searched, and the one that has led to the end of the search
    /// counts: it was not found before.
    pub(in crate::debugger) fn searches_store(&self) -> bool {
        let writing = self.travel.writing.as_ref();
        self.finds_store() && writing.is_none_or(|it| it.counts)
    }

    /// Checks that writes to data can be searched.
    ///
    /// # Errors
    /// It is too large.
    pub(super) fn check_searched(&self, data: &Watchable) -> Result<(), Error> {
        /// What the debug registers can watch, in bytes.
        const MOST: u64 = 32;
        if data.bytes <= MOST {
            return Ok(());
        }
        Err(Error::NoSuchPast(format!(
            "`{}` has {} bytes; writes to {MOST} at most can be searched: choose a member",
            data.name, data.bytes
        )))
    }

    /// Watches data in place of all other data.
    pub(super) fn watch_alone(
        &mut self,
        data: &Watchable,
        access: DataAccess,
    ) -> Result<SearchedData, Error> {
        let mut data = data.clone();
        // Of a frame that has not begun, too.
        data.scope = None;
        let wanted = DataBreakpoint {
            data,
            access,
            by_steps: false,
            options: BreakpointOptions::default(),
        };
        let others = std::mem::take(&mut self.stops.watches.all);
        let id = self.stops.breakpoints.add_hidden_data(&wanted);
        self.begin_watch(id, &wanted);
        let searched = SearchedData { id, others };
        self.distribute_slots(&[]);
        let watch = self.stops.watches.all.get(&id);
        let is_watched = watch.is_some_and(|it| it.means != WatchMechanism::Nothing);
        if !is_watched {
            self.unwatch(searched);
            self.distribute_slots(&[]);
            let why = format!("`{}` cannot be watched", wanted.data.name);
            return Err(Error::NoSuchPast(why));
        }
        Ok(searched)
    }

    /// Watches what was watched before, once the debug registers are distributed again.
    pub(super) fn unwatch(&mut self, searched: SearchedData) {
        self.stops.breakpoints.remove_hidden_data(searched.id);
        self.stops.watches.all = searched.others;
    }
}

impl FoundWrite {
    /// Returns whether it is one to data, and the program is behind it.
    fn is_of(&self, data: &Watchable, at: &Mark) -> bool {
        let is_here = (self.at.event, self.at.registers) == (at.event, at.registers);
        is_here && overlap(&self.data, data)
    }
}

/// Returns whether two data have bytes in common.
fn overlap(one: &Watchable, other: &Watchable) -> bool {
    one.addr - other.addr < other.bytes || other.addr - one.addr < one.bytes
}

/// Returns the reason of a stop at a write that the kernel has made by a call.
fn written_by(reason: Option<StopReason>, call: &CallOfRun) -> StopReason {
    match reason {
        Some(StopReason::Data(ids, text)) => {
            let text = format!("{text}, by the system call {}", call.name);
            StopReason::Data(ids, text)
        }
        other => other.unwrap_or(StopReason::Step),
    }
}
