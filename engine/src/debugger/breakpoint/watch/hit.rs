//! Handlers for an access to watched data, and for the end of its frame.

use crate::debugger::{Debugger, Vote};
use crate::ids::BreakpointId;
use crate::ids::ThreadId;
use crate::inferior::site::Owner;
use crate::inspect::value::location::Bytes;
use crate::inspect::value::{Limits, Value, ValueLocation};
use crate::stops::breakpoint::watch::{DataAccess, WatchMechanism, WatchScope, Watchable};
use crate::stops::event::{Event, StopReason};
use crate::stops::fold::{DataHits, fold_access};
use dwarf::LoadAddr;
use std::rc::Rc;

impl Debugger {
    /// Handles a thread that has executed a watched instruction or (`stepped`) a single step.
    pub(crate) fn on_step_or_watch_trap(&mut self, thread: ThreadId, stepped: bool) -> Vote {
        let accessed = self
            .inferior
            .thread_mut(thread)
            .map_or(0, |state| std::mem::take(&mut state.debug.hits));
        // The write that leads to the end of a search for stores counts.
        let counts = self.searches_store() && accessed != 0;
        if !counts && let Some(vote) = self.on_arrival(thread) {
            return vote;
        }
        if (accessed != 0 || self.inferior.single_stepping)
            && let Some(reason) = self.evaluate_watchpoints(thread, accessed)
        {
            Vote::stop(reason)
        } else if counts && let Some(vote) = self.on_arrival(thread) {
            vote
        } else if self.inferior.debug_registers.is_code(accessed)
            && let Some(registers) = self.inferior.registers(thread)
        {
            self.on_site(thread, registers.pc())
        } else if stepped {
            self.on_single_step(thread)
        } else {
            Vote::Resume
        }
    }

    /// Evaluates data breakpoints and returns the reason to stop, if any. Breakpoints in the code
    /// at the thread's pc are hit with them.
    fn evaluate_watchpoints(&mut self, thread: ThreadId, accessed: u8) -> Option<StopReason> {
        let touched: Vec<BreakpointId> = self
            .stops
            .watches
            .all
            .iter()
            .filter(|(_, watch)| match watch.means {
                WatchMechanism::Slots(mask) => mask & accessed != 0,
                WatchMechanism::Steps => true,
                WatchMechanism::Nothing => false,
            })
            .map(|(id, _)| *id)
            .collect();
        let is_read = self.inferior.arch.tells_reads_from_writes()
            && self.inferior.debug_registers.are_for_reads(accessed);
        let (mut hits, mut problem) = (DataHits::default(), None);
        for id in touched {
            let scope = self.scope(id).cloned();
            if scope.is_some_and(|scope| !self.is_alive(&scope) || self.is_off_stack(&scope)) {
                // The frame was left unnoticed, and its memory is reused, for example by a library
                // on the way to a handler: reported once the program itself runs.
                if self.is_in_own_code(id, thread) {
                    hits.ids.push(id);
                    hits.texts.push(self.end_watch(id));
                }
                continue;
            }
            let Some(access) = self.accessed(id, is_read) else {
                continue;
            };
            // The bytes of the change that stopped the thread; another thread may have changed them
            // since.
            self.inferior.overlay = Some((access.data.addr, access.new.clone()));
            let answer = self.evaluate_breakpoint(id, thread, None, None);
            self.inferior.overlay = None;
            match answer {
                Ok(false) => continue,
                Ok(true) => hits.texts.push(self.access_text(&access)),
                Err(error) => problem = Some(format!("data breakpoint {id}: {error}")),
            }
            hits.ids.push(id);
        }
        if hits.ids.is_empty() {
            return None;
        }
        let pc = self.inferior.registers(thread)?.pc();
        let owners = self.owners_at(pc);
        let decided = self.decide_without_calls(thread, pc, &owners);
        let breakpoint = self.evaluate_breakpoints(thread, pc, &owners, decided);
        // A search may run on from here: they are not hit again then.
        self.mark_passed(thread);
        fold_access(hits, problem, breakpoint)
    }

    /// Returns the old and new value of an accessed watch, if it stops at such an access. `is_read`:
    /// the processor says that the access reads.
    fn accessed(&mut self, id: BreakpointId, is_read: bool) -> Option<Access> {
        let watch = self.stops.watches.all.get_mut(&id)?;
        let mut new = vec![0; watch.old.len()];
        if self.inferior.os().read_memory(watch.data.addr, &mut new) < new.len() {
            return None;
        }
        if watch.access == DataAccess::Write && new == watch.old {
            return None;
        }
        let mut old = std::mem::replace(&mut watch.old, new.clone());
        if is_read {
            // Writes since the last read are not watched.
            old.clone_from(&new);
        }
        let (data, access) = (Rc::clone(&watch.data), watch.access);
        let mut changed = old != new;
        if changed && data.value.bits.is_some() {
            // Other bit-fields in the same byte are not watched.
            let (old, new) = (at(&data.value, &old), at(&data.value, &new));
            let differ = self.in_process(|scope| Ok(*old.bytes(scope)? != *new.bytes(scope)?));
            changed = differ.unwrap_or(true);
        }
        let wanted = match access {
            DataAccess::Write => changed,
            DataAccess::Read => !changed,
            DataAccess::ReadWrite | DataAccess::Store => true,
        };
        wanted.then_some(Access {
            data,
            access,
            old,
            new,
        })
    }

    /// `x: 4 -> 5`
    fn access_text(&mut self, it: &Access) -> String {
        let name = &it.data.name;
        let (before, after) = (at(&it.data.value, &it.old), at(&it.data.value, &it.new));
        let shown = self.in_process(|scope| {
            let show =
                |value| crate::inspect::value::present(scope, value, &Limits::default()).text;
            Ok((show(&before), show(&after)))
        });
        let (before, after) = shown.unwrap_or_default();
        match (it.old == it.new, it.access) {
            (false, _) => format!("{name}: {before} -> {after}"),
            (true, DataAccess::Store) => format!("{name} was written without a change: {after}"),
            (true, DataAccess::Read) => format!("{name} was read: {after}"),
            (true, _) => format!("{name} was read, or written without a change: {after}"),
        }
    }

    /// Handles a thread at the return address of functions whose frames hold watched data: removes
    /// the data breakpoints of those that have returned. Returns them with their messages.
    pub(crate) fn end_scopes(&mut self, thread: ThreadId, owners: &[Owner]) -> DataHits {
        let mut ended = DataHits::default();
        for owner in owners {
            let Owner::Scope(id) = *owner else { continue };
            let Some(registers) = self.inferior.registers(thread) else {
                continue;
            };
            // The address to which an exception, a panic or a long jump will take the thread.
            let landing = self
                .view(&registers, &self.inferior.memory())
                .escape()
                .flatten();
            let sp = landing.map_or(registers.sp(), |landing| landing.target.sp);
            let scope = self.scope(id);
            // A deeper recursion returns here, too.
            if !scope.is_some_and(|scope| scope.thread == thread && sp >= scope.cfa) {
                continue;
            }
            match landing {
                None => {
                    ended.ids.push(id);
                    ended.texts.push(self.end_watch(id));
                }
                Some(landing) => {
                    // Reported at the landing address, but the memory may be reused before that.
                    let addr = landing.target.addr;
                    self.inferior.add_site(addr, Owner::Scope(id));
                    if let Some(watch) = self.stops.watches.all.get_mut(&id) {
                        watch.left = true;
                    }
                    self.distribute_slots(&[id]);
                }
            }
        }
        ended
    }

    /// Returns whether a thread is in a function of the image that called the function of the
    /// watched data. A stub of its linkage table is none: that is the way to a library.
    fn is_in_own_code(&mut self, id: BreakpointId, thread: ThreadId) -> bool {
        let modules = &self.images.modules;
        let back = self.scope(id).map(|scope| scope.back);
        let Some(own) = back.and_then(|back| modules.at(back)) else {
            return true;
        };
        let registers = self.inferior.registers(thread);
        registers.is_some_and(|registers| {
            let here = modules.at(registers.pc()).filter(|it| it.id == own.id);
            here.is_some_and(|it| {
                let pc = it.bias.file(registers.pc());
                it.module.function_at(pc).is_some()
            })
        })
    }

    fn scope(&self, id: BreakpointId) -> Option<&WatchScope> {
        self.stops.watches.all.get(&id)?.data.scope.as_ref()
    }

    /// Ends a data breakpoint whose data is gone. Returns its message.
    fn end_watch(&mut self, id: BreakpointId) -> String {
        let watch = self.stops.watches.all.get(&id);
        let name = watch.map_or_else(String::new, |watch| watch.data.name.clone());
        self.forget_watch(id);
        self.stops.breakpoints.all.remove(&id);
        self.stops.breakpoints.data.retain(|other| *other != id);
        self.distribute_slots(&[]);
        let text = format!("data breakpoint on `{name}` removed: its frame has returned");
        self.emit(Event::BreakpointRemoved(id, text.clone()));
        text
    }

    /// Ends a data breakpoint with `once` that has stopped.
    pub(crate) fn end_watch_of_spent(&mut self, id: BreakpointId) {
        if self.stops.watches.all.contains_key(&id) {
            self.forget_watch(id);
            self.distribute_slots(&[]);
        }
    }

    /// Ends the data breakpoints on the stack of a thread that has ended.
    pub(crate) fn end_scopes_of(&mut self, thread: ThreadId) {
        self.end_scopes_up_to(thread, LoadAddr(u64::MAX));
    }

    /// Ends the data breakpoints in the frames of a thread up to the one of this canonical frame
    /// address.
    pub(crate) fn end_scopes_up_to(&mut self, thread: ThreadId, cfa: LoadAddr) {
        let on_its_stack = |id: &BreakpointId| {
            let scope = self.scope(*id);
            scope.is_some_and(|it| it.thread == thread && it.cfa <= cfa.0)
        };
        let ended: Vec<_> = self
            .stops
            .breakpoints
            .data
            .iter()
            .copied()
            .filter(on_its_stack)
            .collect();
        for id in ended {
            self.end_watch(id);
        }
    }

    /// Ends the data breakpoints in an unloaded image.
    pub(crate) fn end_watches_in(&mut self, start: LoadAddr, end: LoadAddr) {
        let inside = |id: &BreakpointId| {
            let watch = self.stops.watches.all.get(id);
            watch.is_some_and(|it| (start..end).contains(&it.data.addr))
        };
        let ended: Vec<_> = self
            .stops
            .breakpoints
            .data
            .iter()
            .copied()
            .filter(inside)
            .collect();
        for id in ended {
            if let Some(breakpoint) = self.stops.breakpoints.all.get_mut(&id) {
                breakpoint.pending = Some("its module was unloaded".into());
            }
            self.forget_watch(id);
            self.emit(Event::BreakpointChanged(id));
        }
        self.distribute_slots(&[]);
    }
}

/// An access that stops.
struct Access {
    data: Rc<Watchable>,
    access: DataAccess,
    old: Vec<u8>,
    new: Vec<u8>,
}

/// Returns a copy of a value with other bytes.
fn at(value: &Value, bytes: &[u8]) -> Value {
    Value {
        place: ValueLocation::Bytes(Bytes::new(bytes)),
        ..value.clone()
    }
}
