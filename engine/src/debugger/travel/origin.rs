//! The origin of a value: searches, one after the other, for what has put it where it is. `stops/origin` decides
//! which one is next.

use super::hop::{Hop, HopKind, Origin};
use super::rows::Row;
use super::search::Searched;
use super::writes::NOT_SET;
use super::{Goal, Mark};
use crate::arch::{Held, Holder, Instruction};
use crate::debugger::dispatch::Shown;
use crate::debugger::{Debugger, State, Vote};
use crate::ids::ThreadId;
use crate::ids::error::Error;
use crate::os::{CallOfRun, KeptFor, RegisterSet, SystemWrite};
use crate::stops::breakpoint::frame_places::FramePlace;
use crate::stops::breakpoint::watch::{DataAccess, Watchable};
use crate::stops::event::StopReason;
use crate::stops::origin::{Arrival, End, Followed, Way, executed_before, setters};
use dwarf::{LoadAddr, Register};

/// More places on the way are not listed: the value is not followed farther.
pub(super) const MOST_HOPS: u8 = 32;
/// More searches are not made.
const MOST_SEARCHES: u32 = 256;
/// More instructions that set a register are not watched.
const MOST_SETTERS: usize = 1 << 12;

/// A value that is followed.
pub(in crate::debugger) struct Following {
    data: Watchable,
    followed: Followed,
    awaited: Awaited,
    hops: Vec<Hop>,
    /// Whether the last place is the end of a function that may not have set the register.
    is_tentative: bool,
    /// The call of the kernel's that the search has led to, if it was made without a stop.
    pub(super) call: Option<CallOfRun>,
    searches: u32,
    /// Whether the value is older than the call whose variable has it.
    is_left_over: bool,
    /// Whether the last search has found nothing.
    pub(super) is_nothing_found: bool,
    /// Whether the last search was given up.
    pub(super) is_abandoned: bool,
}

/// What is searched.
enum Awaited {
    /// The last write to memory. The kernel has written there last by this call, if by any.
    Store(Option<SystemWrite>),
    /// The last instruction that may have set a register, in the function that begins there.
    Setter(LoadAddr),
    /// The end of a call of the kernel's that has written the value.
    Call(SystemWrite),
}

/// How to go on after a stop.
enum Next {
    /// By another search, of which this is the first vote.
    Search(Vote),
    /// The value is not followed farther.
    Done,
}

impl Debugger {
    /// Follows a value back through copies to its origin, which is then shown; the stop is reported once it is
    /// found. Cost: about two replays for each copy.
    ///
    /// # Errors
    /// As [`Debugger::go_to_last_write`].
    pub fn go_to_origin(&mut self, thread: ThreadId, data: &Watchable) -> Result<(), Error> {
        self.begin_of_search(thread)?;
        self.check_searched(data)?;
        let bytes = self.read_bytes(data.addr, data.bytes as usize);
        let bytes = bytes.ok_or(Error::NoSuchPast(format!("`{}` cannot be read", data.name)))?;
        self.forget_origin();
        let mut following = Following {
            data: data.clone(),
            followed: Followed {
                held: Held::memory(data.addr.0, data.bytes),
                bytes,
            },
            awaited: Awaited::Store(None),
            hops: Vec::new(),
            is_tentative: false,
            call: None,
            searches: 0,
            is_left_over: false,
            is_nothing_found: false,
            is_abandoned: false,
        };
        let vote = self.search_store(thread, &mut following)?;
        self.travel.following = Some(Box::new(following));
        self.carry_out(thread, vote);
        Ok(())
    }

    /// Returns the origin that was found last.
    pub fn origin(&self) -> Option<&Origin> {
        self.travel.origin.as_ref()
    }

    /// Goes to a place on the way to the origin that was found last, by its index; the stop is reported.
    ///
    /// # Errors
    /// As [`Debugger::go_back`]; there is no such place.
    pub fn go_to_hop(&mut self, thread: ThreadId, index: usize) -> Result<(), Error> {
        let fail = |why: &str| Err(Error::NoSuchPast(why.to_owned()));
        self.begin_of_search(thread)?;
        let Some(origin) = &self.travel.origin else {
            return fail("no origin was searched");
        };
        let Some((hop, kept)) = origin.hops.get(index).zip(u8::try_from(index).ok()) else {
            return fail(&format!(
                "the way to the origin has {} places",
                origin.hops.len()
            ));
        };
        let Some(event) = hop.event else {
            return fail("that is no place of the program");
        };
        let (kept, text) = (KeptFor::Hop(kept), origin.text_of(hop));
        // It may be behind the shown place.
        let thread = self.leave_for_search(thread);
        let (at, _) = self.begin_of_search(thread)?;
        let snapshots = self.recording().unwrap_or_default().snapshots;
        let passed = snapshots.partition_point(|it| it.next < event);
        self.travel.behind = Default::default();
        let goal = Searched::of(Goal::Event(event));
        self.set_up_search(thread, at, passed.saturating_sub(1), goal);
        let shown = self.show_kept_place(kept);
        // Another thread may have been there than where the program is.
        let there = self.inferior.os().running_thread().unwrap_or(thread);
        let reason = StopReason::Data(Vec::new(), text);
        let vote = match shown {
            Ok(()) => self.on_found(there, reason, Shown::default()),
            Err(why) => self.cannot_show(&why),
        };
        self.carry_out(there, vote);
        Ok(())
    }

    /// Forgets the origin that was found last, and the copies of the places on the way to it.
    pub(super) fn forget_origin(&mut self) {
        let hops = self
            .travel
            .origin
            .take()
            .map_or(0, |origin| origin.hops.len());
        for index in 0..hops.min(MOST_HOPS.into()) {
            self.inferior
                .os_mut()
                .end_kept_replay(KeptFor::Hop(index as u8));
        }
    }

    /// Returns the vote instead of that to report a stop, while a value is followed.
    pub(in crate::debugger) fn follow_on(&mut self, thread: ThreadId) -> Option<Vote> {
        let mut following = self.travel.following.take()?;
        if following.is_abandoned && !following.is_nothing_found {
            self.keep_origin(*following);
            return None;
        }
        self.inferior.set_state(State::Stopped);
        self.inferior.normalize(thread);
        self.clear_stop_state();
        let next = self.arrived(thread, &mut following);
        (following.is_abandoned, following.is_nothing_found) = (false, false);
        match next {
            Some(Next::Search(vote)) => {
                self.travel.following = Some(following);
                Some(vote)
            }
            Some(Next::Done) | None => {
                let text = self.keep_origin(*following);
                self.inferior.set_state(State::Running);
                let reason = StopReason::Data(Vec::new(), text);
                Some(Vote::Stop(reason, Shown::default()))
            }
        }
    }

    /// Keeps what was found out. Returns it in a few words.
    fn keep_origin(&mut self, following: Following) -> String {
        let is_left_over = following.is_left_over;
        let origin = Origin {
            name: following.data.name,
            hops: following.hops,
        };
        let mut text = match origin.hops.last() {
            Some(hop) => origin.text_of(hop),
            None => format!("{}: its origin was not found", origin.name),
        };
        if is_left_over {
            text.push_str(NOT_SET);
        }
        self.travel.origin = Some(origin);
        self.travel.is_origin_new = true;
        text
    }

    /// Returns whether an origin was found since the last call.
    pub fn take_new_origin(&mut self) -> bool {
        std::mem::take(&mut self.travel.is_origin_new)
    }

    /// A search has ended. `None`: it cannot be gone on.
    fn arrived(&mut self, thread: ThreadId, following: &mut Following) -> Option<Next> {
        let registers = self.inferior.registers(thread)?;
        let at = match &mut following.awaited {
            Awaited::Call(write) => {
                let kind = match write.maps
                    && self
                        .module_at(self.address_of(&following.followed)?)
                        .is_some()
                {
                    true => HopKind::Initial,
                    false => HopKind::SystemCall(write.call.clone()),
                };
                self.add_hop(thread, following, kind, registers.pc());
                return Some(Next::Done);
            }
            Awaited::Store(write) => {
                // The first search is that for the variable itself.
                if following.hops.is_empty() && self.is_left_over(&following.data) {
                    following.is_left_over = true;
                }
                let here = self.inferior.os().next_event();
                let is_nothing_found = following.is_nothing_found;
                let later = write
                    .take()
                    .filter(|it| is_nothing_found || it.event >= here);
                if let Some(write) = later {
                    let event = write.event + 1;
                    following.awaited = Awaited::Call(write);
                    return Some(Next::Search(self.search_event(thread, event)?));
                }
                if following.is_nothing_found {
                    self.add_initial(following);
                    return Some(Next::Done);
                }
                if let Some(call) = following.call.take() {
                    self.add_hop(thread, following, HopKind::SystemCall(call), registers.pc());
                    return Some(Next::Done);
                }
                Arrival::Stored(self.executed_before(registers.pc()))
            }
            Awaited::Setter(_) if following.is_nothing_found => return None,
            Awaited::Setter(entry) => {
                let entry = *entry;
                let instruction = self
                    .inferior
                    .arch
                    .read(&self.inferior.memory(), registers.pc())?;
                let register = following.followed.register()?;
                if instruction.is_return() {
                    let function = self.function_shown(registers.pc());
                    let kind = HopKind::Returned(function.unwrap_or_default());
                    self.add_hop(thread, following, kind, registers.pc());
                    following.is_tentative = true;
                    return self.go_way(thread, following, Way::InFrame);
                }
                let sets = instruction.is_call() || instruction.sets(register);
                match registers.pc() == entry && !sets {
                    true => Arrival::Entry,
                    false => Arrival::Setter(instruction),
                }
            }
        };
        self.go_from(thread, following, at, &registers)
    }

    /// Goes on from a place that was found.
    fn go_from(
        &mut self,
        thread: ThreadId,
        following: &mut Following,
        at: Arrival,
        registers: &RegisterSet,
    ) -> Option<Next> {
        let read = |addr, len| self.read_bytes(addr, len);
        let found = following.followed.arrived(at, registers, read);
        // A function that has not set the register has not returned the value.
        let is_unset = at == Arrival::Entry && following.is_tentative;
        following.is_tentative = false;
        if is_unset {
            following.hops.pop();
            return self.go_way(thread, following, found.way);
        }
        let place = match at {
            Arrival::Stored(Some(instruction)) | Arrival::Setter(instruction) => instruction.addr,
            Arrival::Stored(None) | Arrival::Entry => registers.pc(),
        };
        let copied = found.copied_from.map(|from| HopKind::Copied {
            name: self.name_of_memory(thread, from, found.followed.held.size),
            from,
        });
        let kind = match (at, found.way) {
            _ if copied.is_some() => copied,
            (_, Way::End(End::SystemCall)) => {
                let number = self.calls_before_shown() + 1;
                let call = self.recorded_calls(number, 1).pop();
                call.map(|it| HopKind::SystemCall(it.call))
            }
            (_, Way::End(End::Computed)) => Some(HopKind::Computed),
            (Arrival::Setter(_), Way::End(End::Lost)) => None,
            (Arrival::Stored(_), _) => Some(HopKind::Stored),
            (Arrival::Entry, _) => Some(HopKind::Argument),
            (Arrival::Setter(call), Way::InCallee) => {
                let target = call.target(registers, &self.inferior.memory());
                let name = target.and_then(|it| self.function_shown(it));
                Some(HopKind::Returned(name.unwrap_or_default()))
            }
            (Arrival::Setter(_), _) => None,
        };
        following.followed = found.followed;
        if let Some(kind) = kind {
            self.add_hop(thread, following, kind, place);
        }
        self.go_way(thread, following, found.way)
    }

    fn go_way(&mut self, thread: ThreadId, following: &mut Following, way: Way) -> Option<Next> {
        following.searches += 1;
        let is_bounded =
            following.searches < MOST_SEARCHES && following.hops.len() < usize::from(MOST_HOPS);
        if !is_bounded {
            return Some(Next::Done);
        }
        let vote = match way {
            // The end of the callee was not found.
            Way::End(_) | Way::InCallee => return Some(Next::Done),
            Way::Store => self.search_store(thread, following).ok()?,
            Way::InFrame => self.search_setter(thread, following, 0)?,
            Way::InCaller => self.search_setter(thread, following, 1)?,
        };
        Some(Next::Search(vote))
    }

    fn search_store(&mut self, thread: ThreadId, following: &mut Following) -> Result<Vote, Error> {
        let (at, after) = self.begin_of_search(thread)?;
        let Held {
            holder: Holder::Memory(addr),
            size,
        } = following.followed.held
        else {
            return Err(Error::NoSuchPast("the value is in a register".to_owned()));
        };
        let write = self
            .inferior
            .os_mut()
            .last_system_write(addr, size, at.event);
        following.awaited = Awaited::Store(write);
        let data = self.watchable_at(addr, size)?;
        let data = self.watch_alone(&data, DataAccess::Store)?;
        let searched = Searched {
            data: Some(data),
            ..Searched::of(Goal::Write)
        };
        Ok(self.set_up_and_begin(thread, at, after, searched))
    }

    /// Searches the last instruction that may have set the register, in a frame: 0 is the innermost one.
    fn search_setter(
        &mut self,
        thread: ThreadId,
        following: &mut Following,
        frame: usize,
    ) -> Option<Vote> {
        let (at, after) = self.begin_of_search(thread).ok()?;
        let register = following.followed.register()?;
        let (rows, entry) = self.setters_in_frame(thread, frame, register)?;
        following.awaited = Awaited::Setter(entry);
        let searched = Searched {
            rows,
            near: self.place_in_frame(thread, at.registers.pc()),
            ..Searched::of(Goal::Setter)
        };
        Some(self.set_up_and_begin(thread, at, after, searched))
    }

    /// Goes to an event, which may be behind the shown place.
    pub(super) fn search_event(&mut self, thread: ThreadId, event: usize) -> Option<Vote> {
        let (at, _) = self.begin_of_search(thread).ok()?;
        let state = self.recording()?;
        let passed = state.snapshots.partition_point(|it| it.next < event);
        let snapshot = passed.checked_sub(1)?;
        self.travel.behind = Default::default();
        let searched = Searched::of(Goal::Event(event));
        Some(self.set_up_and_begin(thread, at, snapshot, searched))
    }

    pub(super) fn set_up_and_begin(
        &mut self,
        thread: ThreadId,
        at: Mark,
        after: usize,
        searched: Searched,
    ) -> Vote {
        self.set_up_search(thread, at, after, searched);
        self.begin_pass()
    }

    /// Returns the instructions of a frame's function that may set a register, and where the function begins.
    fn setters_in_frame(
        &mut self,
        thread: ThreadId,
        frame: usize,
        register: Register,
    ) -> Option<(Vec<Row>, LoadAddr)> {
        /// Inlined calls are levels, too.
        const LEVELS: usize = 16;
        self.unwound(thread, LEVELS).ok()?;
        let stack = self.stack_so_far(thread)?;
        let inner = stack.physical.first()?;
        let frame = stack.physical.get(frame).filter(|it| !it.is_signal)?;
        // The call that has entered the frame inside has set nothing yet.
        let is_caller = !std::ptr::eq(inner, frame) && !frame.is_tail_call;
        let call_returns_to = is_caller.then(|| frame.address.addr());
        // A function that is left by a jump had the frame.
        let cfa = match frame.is_tail_call {
            true => inner.cfa?,
            false => frame.cfa?,
        };
        let (pieces, entry): (Vec<(LoadAddr, LoadAddr)>, LoadAddr) = match &frame.function {
            Some((function, bias)) => {
                let ranges = function.ranges.iter();
                let ranges = ranges.map(|it| (bias.load(it.start), bias.load(it.end)));
                (ranges.collect(), bias.load(function.entry))
            }
            None => {
                let piece = self.piece_at(frame.address.lookup())?;
                (vec![(piece.start, piece.end)], piece.start)
            }
        };
        let arch = self.inferior.arch;
        let memory = self.inferior.memory();
        let code = |addr| arch.read(&memory, addr);
        let found = pieces.iter();
        let found = found.flat_map(|(start, end)| setters(arch, register, *start, *end, code));
        let is_that_call = |addr: &LoadAddr| {
            call_returns_to.is_some() && code(*addr).map(|it| it.next()) == call_returns_to
        };
        let mut found: Vec<LoadAddr> = found.filter(|it| !is_that_call(it)).collect();
        if !found.contains(&entry) {
            found.push(entry);
        }
        if found.len() > MOST_SETTERS {
            return None;
        }
        let row = |addr: LoadAddr| Row {
            place: FramePlace {
                addr,
                frame: self.frame_at(addr, cfa),
            },
            line: 0,
        };
        Some((found.into_iter().map(row).collect(), entry))
    }

    /// Returns the instruction that was executed before the one at an address, if that has not branched.
    fn executed_before(&self, pc: LoadAddr) -> Option<Instruction> {
        // The first instruction of what is behind the end of a function, too.
        let piece = self.piece_at(LoadAddr(pc.0.wrapping_sub(1)))?;
        let arch = self.inferior.arch;
        let memory = self.inferior.memory();
        executed_before(piece.start, pc, |addr| arch.read(&memory, addr))
    }

    fn address_of(&self, followed: &Followed) -> Option<LoadAddr> {
        match followed.held.holder {
            Holder::Memory(addr) => Some(addr),
            Holder::Register(..) => None,
        }
    }

    pub(super) fn read_bytes(&self, addr: LoadAddr, len: usize) -> Option<Vec<u8>> {
        use dwarf::Memory as _;
        let mut bytes = vec![0; len];
        self.inferior.memory().read(addr, &mut bytes).ok()?;
        Some(bytes)
    }

    /// Adds what was found out at an instruction; several of one line and frame are one place.
    fn add_hop(
        &mut self,
        thread: ThreadId,
        following: &mut Following,
        kind: HopKind,
        addr: LoadAddr,
    ) {
        let line = self.line_at(addr);
        let frame = self.step_frame(thread, 0).map(|it| it.cfa());
        let hop = Hop {
            kind,
            function: self.function_shown(addr),
            location: line.map(|it| it.location),
            address: Some(addr),
            value: self.text_of_bytes(&following.data, &following.followed.bytes),
            event: self.is_in_replay().then(|| self.inferior.os().next_event()),
            frame,
        };
        let is_same = following
            .hops
            .last()
            .is_some_and(|it| it.is_at_place_of(&hop));
        if is_same {
            following.hops.pop();
        }
        let index = following.hops.len() as u8;
        if hop.event.is_some()
            && let Err(why) = self.inferior.keep_replay(KeptFor::Hop(index))
        {
            tracing::debug!(%why, "a place on the way to an origin is not kept");
        }
        following.hops.push(hop);
    }

    fn add_initial(&mut self, following: &mut Following) {
        following.hops.push(Hop {
            kind: HopKind::Initial,
            function: None,
            location: None,
            address: None,
            value: self.text_of_bytes(&following.data, &following.followed.bytes),
            event: None,
            frame: None,
        });
    }
}
