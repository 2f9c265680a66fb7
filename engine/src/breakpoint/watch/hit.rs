//! A thread has touched what is watched, or its frame has ended.

use super::{DataAccess, Means, WatchScope, Watchable};
use crate::arch::debug_registers;
use crate::breakpoint::site::Owner;
use crate::debugger::Debugger;
use crate::event::{Event, StopReason};
use crate::ids::BreakpointId;
use crate::ids::ThreadId;
use crate::inspect::value::place::Bytes;
use crate::inspect::value::{Limits, Place, Value};
use dwarf::LoadAddr;
use std::rc::Rc;

/// `si_code` of a SIGTRAP: behind a single instruction.
const TRAP_TRACE: i32 = 2;
/// `si_code` of a SIGTRAP: by a debug register.
pub(crate) const TRAP_HWBKPT: i32 = 4;

impl Debugger {
    /// A thread has stopped with a SIGTRAP: keeps which debug registers had to do with it, for
    /// the kernel forgets that with the next trap. Gives its `si_code`; `None`: it is gone.
    pub(crate) fn note_access(&mut self, thread: ThreadId) -> Option<i32> {
        let code = self.os.signal_info(thread)?.code;
        let armed = self.thread_mut(thread).map_or(0, |state| state.armed);
        if armed != 0 && matches!(code, TRAP_TRACE | TRAP_HWBKPT) {
            let only = self.watches.only_slot(armed);
            let hits = match only.filter(|_| code == TRAP_HWBKPT) {
                Some(only) => only,
                None => debug_registers::hits(self.os.debug_status(thread)),
            };
            if let Some(state) = self.thread_mut(thread) {
                state.accessed |= hits;
            }
        }
        Some(code)
    }

    /// Whether a stopped thread has touched what is watched since it was looked at last.
    pub(crate) fn has_accessed(&mut self, thread: ThreadId) -> bool {
        let noted = self.thread_mut(thread).is_some_and(|it| it.accessed != 0);
        noted || self.watches.stepping && self.has_changed()
    }

    /// Whether anything differs that is compared after each step.
    fn has_changed(&self) -> bool {
        let mut watches = self.watches.all.values();
        watches.any(|watch| {
            let mut new = vec![0; watch.old.len()];
            let read = self.os.read_memory(watch.data.addr, &mut new);
            watch.means == Means::Steps && read == new.len() && new != watch.old
        })
    }

    /// A thread has executed an instruction under watch, or (`stepped`) one alone.
    pub(crate) fn on_trace(&mut self, thread: ThreadId, stepped: bool) {
        let accessed = self
            .thread_mut(thread)
            .map_or(0, |state| std::mem::take(&mut state.accessed));
        if (accessed != 0 || self.watches.stepping)
            && let Some(reason) = self.ask_watches(thread, accessed)
        {
            self.report(thread, reason);
        } else if self.watches.is_code(accessed)
            && let Some(registers) = self.registers_of(thread)
        {
            self.on_site(thread, registers.pc());
        } else if stepped {
            self.on_single_step(thread);
        } else {
            self.go_on_stepping(thread);
        }
    }

    /// Do data breakpoints say stop? Breakpoints in the code where the thread has arrived are
    /// hit with them.
    fn ask_watches(&mut self, thread: ThreadId, accessed: u8) -> Option<StopReason> {
        let touched: Vec<BreakpointId> = self
            .watches
            .all
            .iter()
            .filter(|(_, watch)| match watch.means {
                Means::Slots(mask) => mask & accessed != 0,
                Means::Steps => true,
                Means::Nothing => false,
            })
            .map(|(id, _)| *id)
            .collect();
        let (mut ids, mut texts, mut problem) = (Vec::new(), Vec::new(), None);
        for id in touched {
            if self.scope(id).is_some_and(|scope| !self.is_alive(scope)) {
                // The frame was left unnoticed, and its memory is used again. By a library on
                // the way to a handler, say: that is told where the program goes on.
                if self.is_in_own_image(id, thread) {
                    ids.push(id);
                    texts.push(self.end_watch(id));
                }
                continue;
            }
            let Some(access) = self.accessed(id) else {
                continue;
            };
            // What the change was that stopped the thread, whoever has made another one since.
            self.touched = Some((access.data.addr, access.new.clone()));
            let answer = self.ask_breakpoint(id, thread, None, None);
            self.touched = None;
            match answer {
                Ok(false) => continue,
                Ok(true) => texts.push(self.access_text(&access)),
                Err(error) => problem = Some(format!("data breakpoint {id}: {error}")),
            }
            ids.push(id);
        }
        if ids.is_empty() {
            return None;
        }
        let pc = self.registers_of(thread)?.pc();
        let owners = self.owners_at(pc);
        let decided = self.decide_without_calls(thread, pc, &owners);
        match self.ask_breakpoints(thread, pc, &owners, decided) {
            Some(StopReason::Breakpoint(here)) => ids.extend(here),
            Some(StopReason::BreakpointError(here, text)) => {
                ids.extend(here);
                problem = Some(text);
            }
            _ => {}
        }
        Some(match problem {
            Some(text) => StopReason::BreakpointError(ids, text),
            None => StopReason::Data(ids, texts.join("; ")),
        })
    }

    /// What a touched watch was and is, if that is an access it wants.
    fn accessed(&mut self, id: BreakpointId) -> Option<Access> {
        let watch = self.watches.all.get_mut(&id)?;
        let mut new = vec![0; watch.old.len()];
        if self.os.read_memory(watch.data.addr, &mut new) < new.len() {
            return None;
        }
        if watch.access == DataAccess::Write && new == watch.old {
            return None;
        }
        let old = std::mem::replace(&mut watch.old, new.clone());
        let (data, access) = (Rc::clone(&watch.data), watch.access);
        let mut changed = old != new;
        if changed && data.value.bits.is_some() {
            // Its neighbours in the same byte are none of its business.
            let (old, new) = (at(&data.value, &old), at(&data.value, &new));
            let differ = self.in_process(|scope| Ok(*old.bytes(scope)? != *new.bytes(scope)?));
            changed = differ.unwrap_or(true);
        }
        let wanted = match access {
            DataAccess::Write => changed,
            DataAccess::Read => !changed,
            DataAccess::ReadWrite => true,
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
            (true, DataAccess::Read) => format!("{name} was read: {after}"),
            (true, _) => format!("{name} was read, or written as it was: {after}"),
        }
    }

    /// A thread is where functions return to whose frames hold what is watched: those that have
    /// returned are removed. Gives them with what there is to say.
    pub(crate) fn end_scopes(
        &mut self,
        thread: ThreadId,
        owners: &[Owner],
    ) -> (Vec<BreakpointId>, Vec<String>) {
        let mut ended = (Vec::new(), Vec::new());
        for owner in owners {
            let Owner::Scope(id) = *owner else { continue };
            let Some(registers) = self.registers_of(thread) else {
                continue;
            };
            // Where an exception, a panic or a long jump is about to take the thread.
            let landing = self.view(&registers, &self.memory()).escape().flatten();
            let sp = landing.map_or(registers.sp(), |landing| landing.target.sp);
            let scope = self.scope(id);
            // A deeper recursion passes by here too.
            if !scope.is_some_and(|scope| scope.thread == thread && sp >= scope.cfa) {
                continue;
            }
            match landing {
                None => {
                    ended.0.push(id);
                    ended.1.push(self.end_watch(id));
                }
                Some(landing) => {
                    // Told where the program can be seen, but its memory may be used until then.
                    let addr = landing.target.addr;
                    self.sites.add(addr, Owner::Scope(id), &*self.os);
                    if let Some(watch) = self.watches.all.get_mut(&id) {
                        watch.left = true;
                    }
                    self.distribute_slots(&[id]);
                }
            }
        }
        ended
    }

    /// Whether a thread is in the image that called the function of what is watched.
    fn is_in_own_image(&mut self, id: BreakpointId, thread: ThreadId) -> bool {
        let image = |addr| self.modules.at(addr).map(|loaded| loaded.id);
        let own = self.scope(id).and_then(|scope| image(scope.back));
        let pc = self.registers_of(thread).map(|registers| registers.pc());
        own.is_none() || own == pc.and_then(|pc| self.modules.at(pc)).map(|it| it.id)
    }

    fn scope(&self, id: BreakpointId) -> Option<&WatchScope> {
        self.watches.all.get(&id)?.data.scope.as_ref()
    }

    /// A data breakpoint has lost what it was on.
    fn end_watch(&mut self, id: BreakpointId) -> String {
        let watch = self.watches.all.get(&id);
        let name = watch.map_or_else(String::new, |watch| watch.data.name.clone());
        self.forget_watch(id);
        self.breakpoints.all.remove(&id);
        self.breakpoints.data.retain(|other| *other != id);
        self.distribute_slots(&[]);
        let text = format!("the frame of `{name}` has ended, and its data breakpoint with it");
        self.events
            .push_back(Event::BreakpointRemoved(id, text.clone()));
        text
    }

    /// A data breakpoint has stopped once, and is to do no more.
    pub(in crate::breakpoint) fn end_watch_of_spent(&mut self, id: BreakpointId) {
        if self.watches.all.contains_key(&id) {
            self.forget_watch(id);
            self.distribute_slots(&[]);
        }
    }

    /// A thread has ended, and with it whatever is watched on its stack.
    pub(crate) fn end_scopes_of(&mut self, thread: ThreadId) {
        self.end_scopes_up_to(thread, LoadAddr(u64::MAX));
    }

    /// The frames of a thread are no more up to the one of this canonical frame address, and
    /// whatever is watched in them.
    pub(crate) fn end_scopes_up_to(&mut self, thread: ThreadId, cfa: LoadAddr) {
        let on_its_stack = |id: &BreakpointId| {
            let scope = self.scope(*id);
            scope.is_some_and(|it| it.thread == thread && it.cfa <= cfa.0)
        };
        let ended: Vec<_> = self
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

    /// An image is gone, and what is watched in it.
    pub(crate) fn end_watches_in(&mut self, start: LoadAddr, end: LoadAddr) {
        let inside = |id: &BreakpointId| {
            let watch = self.watches.all.get(id);
            watch.is_some_and(|it| (start..end).contains(&it.data.addr))
        };
        let ended: Vec<_> = self
            .breakpoints
            .data
            .iter()
            .copied()
            .filter(inside)
            .collect();
        for id in ended {
            if let Some(breakpoint) = self.breakpoints.all.get_mut(&id) {
                breakpoint.pending = Some("the image that it was in is unloaded".into());
            }
            self.forget_watch(id);
            self.events.push_back(Event::BreakpointChanged(id));
        }
        self.distribute_slots(&[]);
    }
}

/// An access that somebody wants to know of.
struct Access {
    data: Rc<Watchable>,
    access: DataAccess,
    old: Vec<u8>,
    new: Vec<u8>,
}

/// A value with other bytes.
fn at(value: &Value, bytes: &[u8]) -> Value {
    Value {
        place: Place::Bytes(Bytes::new(bytes)),
        ..value.clone()
    }
}
