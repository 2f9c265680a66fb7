//! Data breakpoints: the data, its debug registers (or single steps, if they do not suffice), and
//! its last known bytes.

mod find;
mod frame;
mod hardware;
mod hit;

pub(crate) use hit::TRAP_HWBKPT;

use super::{BreakpointOptions, Spec};
use crate::arch::Arch;
use crate::arch::watch::{Coverage, MAX_SLOTS, Slot, Trigger};
use crate::breakpoint::{BreakpointInfo, Breakpoints};
use crate::debugger::Debugger;
use crate::event::Event;
use crate::ids::BreakpointId;
use crate::ids::ThreadId;
use crate::inferior::site::Owner;
use crate::inspect::value::Value;
use dwarf::{Language, LoadAddr};
use frame::OwnFrame;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Maximum number of bytes to compare after every instruction.
const MAX_WATCHED_BYTES: u64 = 1 << 16;

/// The accesses at which a data breakpoint stops.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DataAccess {
    /// Writes that change the data.
    Write,
    /// All accesses by the program itself (not by the kernel on its behalf).
    ReadWrite,
    /// Accesses that do not change it.
    Read,
}

/// Data that can be watched, as found by [`Debugger::watchable`].
#[derive(Clone, Debug)]
pub struct Watchable {
    /// An expression for the data, or its address.
    pub name: String,
    /// Its first address.
    pub addr: LoadAddr,
    /// Its size in bytes.
    pub bytes: u64,
    /// The frame that contains it, if it is on a stack.
    pub scope: Option<WatchScope>,
    /// The frame that its condition is evaluated in.
    own: Option<OwnFrame>,
    value: Value,
    language: Language,
}

/// A machine frame: its data ends when it returns.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WatchScope {
    /// The thread on whose stack it is.
    pub thread: ThreadId,
    /// Its canonical frame address: the stack pointer after it has returned.
    pub cfa: u64,
    /// Its return address.
    back: LoadAddr,
}

/// A data breakpoint, as requested.
#[derive(Clone, Debug)]
pub struct DataBreakpoint {
    /// The data.
    pub data: Watchable,
    /// The accesses to stop at.
    pub access: DataAccess,
    /// Single-step instead of using the debug registers.
    pub by_steps: bool,
    /// Its options.
    pub options: BreakpointOptions,
}

/// The identity of a data breakpoint.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DataSpec {
    name: String,
    addr: LoadAddr,
    bytes: u64,
    scope: Option<WatchScope>,
    access: DataAccess,
    by_steps: bool,
}

/// How a data breakpoint is watched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum WatchMechanism {
    /// By these debug registers, a bit each.
    Slots(u8),
    /// By a comparison after every instruction of the program.
    Steps,
    /// Not at all: no debug register is free, and steps cannot detect such accesses.
    Nothing,
}

struct Watch {
    data: Rc<Watchable>,
    access: DataAccess,
    by_steps: bool,
    /// Its bytes at the last read.
    old: Vec<u8>,
    means: WatchMechanism,
    /// Whether its frame is being left: further changes are ignored.
    left: bool,
}

impl Watch {
    fn trigger(&self) -> Trigger {
        match self.access {
            DataAccess::Write => Trigger::Write,
            DataAccess::Read | DataAccess::ReadWrite => Trigger::Access,
        }
    }
}

/// All data breakpoints, and the state of the debug registers.
#[derive(Default)]
pub struct Watches {
    all: BTreeMap<BreakpointId, Watch>,
    slots: [Option<Slot>; MAX_SLOTS],
    /// The version of `slots`; a thread with another one has to be updated. 0: never used.
    generation: u32,
    /// Whether every thread is single-stepped.
    pub stepping: bool,
    /// Whether the kernel refuses to set debug registers.
    refused: bool,
}

impl Watches {
    /// Returns the values for threads' debug registers, and their version.
    pub fn registers(&self) -> (u32, [u64; MAX_SLOTS], u64) {
        let addresses = self.slots.map(|slot| slot.map_or(0, |slot| slot.addr.0));
        (
            self.generation,
            addresses,
            Arch::HOST.watch_control(&self.slots),
        )
    }

    /// Returns the only slot, as a bit, that a thread with this version of the debug registers can
    /// hit.
    fn only_slot(&self, armed: u32) -> Option<u8> {
        let slots = self.slots.iter().enumerate();
        let mut used = slots.filter(|(_, slot)| slot.is_some());
        match (used.next(), used.next()) {
            (Some((index, _)), None) if armed == self.generation => Some(1 << index),
            _ => None,
        }
    }

    /// Assigns the slots to data breakpoints and to locations of hardware breakpoints, first come,
    /// first served; equal slots are shared. Returns true if they have changed.
    fn allocate(&mut self, code: &[(BreakpointId, LoadAddr)]) -> bool {
        let before = self.slots;
        let mut slots = [None; MAX_SLOTS];
        let mut code = code.iter().peekable();
        let mut take_code = |slots: &mut _, until: Option<BreakpointId>| {
            while let Some((_, addr)) =
                code.next_if(|(id, _)| !self.refused && until.is_none_or(|until| *id < until))
            {
                take_slots(slots, &[hardware::slot(*addr)]);
            }
        };
        for (id, watch) in &mut self.all {
            take_code(&mut slots, Some(*id));
            if watch.left {
                watch.means = WatchMechanism::Nothing;
                continue;
            }
            let changes_only = watch.access == DataAccess::Write;
            let wanted = Arch::HOST.watch(
                watch.data.addr,
                watch.data.bytes,
                watch.trigger(),
                match changes_only {
                    true => Coverage::WithNeighbors,
                    false => Coverage::Exact,
                },
            );
            let taken = wanted
                .filter(|_| !watch.by_steps && !self.refused)
                .and_then(|wanted| take_slots(&mut slots, &wanted));
            watch.means = match taken {
                Some(mask) => WatchMechanism::Slots(mask),
                None if changes_only && watch.data.bytes <= MAX_WATCHED_BYTES => {
                    WatchMechanism::Steps
                }
                None => WatchMechanism::Nothing,
            };
        }
        take_code(&mut slots, None);
        self.slots = slots;
        self.stepping = self
            .all
            .values()
            .any(|it| it.means == WatchMechanism::Steps);
        let changed = slots != before;
        self.generation += u32::from(changed);
        changed
    }
}

/// Assigns slots to all of `wanted`, or to none.
fn take_slots(slots: &mut [Option<Slot>; MAX_SLOTS], wanted: &[Slot]) -> Option<u8> {
    let mut taken = *slots;
    let mut mask = 0;
    for slot in wanted {
        let same = taken.iter().position(|it| it.as_ref() == Some(slot));
        let index = same.or_else(|| taken.iter().position(Option::is_none))?;
        taken[index] = Some(*slot);
        mask |= 1 << index;
    }
    *slots = taken;
    Some(mask)
}

impl Breakpoints {
    /// Ends all data breakpoints with a reason. Returns those that have ended.
    pub(super) fn end_data(&mut self, why: &str) -> Vec<BreakpointId> {
        for id in &self.data {
            if let Some(breakpoint) = self.all.get_mut(id) {
                breakpoint.failure = Some(why.into());
            }
        }
        self.data.clone()
    }
}

impl Debugger {
    /// Replaces the data breakpoints. Takes effect also while the program runs, without a reported
    /// stop. Unchanged ones keep their ids.
    pub fn set_data_breakpoints(&mut self, wanted: &[DataBreakpoint]) -> Vec<BreakpointInfo> {
        let old = std::mem::take(&mut self.stops.breakpoints.data);
        let specs = wanted.iter().map(|wanted| {
            let data = &wanted.data;
            let spec = DataSpec {
                name: data.name.clone(),
                addr: data.addr,
                bytes: data.bytes,
                scope: data.scope.clone(),
                access: wanted.access,
                by_steps: wanted.by_steps,
            };
            (Spec::Data(spec), wanted.options.clone())
        });
        let conditions: BTreeMap<BreakpointId, Option<String>> = old
            .iter()
            .filter_map(|id| Some((*id, self.stops.breakpoints.options(*id)?.condition.clone())))
            .collect();
        let (ids, gone) = self.stops.breakpoints.replace(old, specs.collect());
        self.stops.breakpoints.data.clone_from(&ids);
        for id in gone {
            self.stops.breakpoints.all.remove(&id);
            self.forget_watch(id);
        }
        for (id, wanted) in ids.iter().zip(wanted) {
            let spent = self
                .stops
                .breakpoints
                .all
                .get(id)
                .is_some_and(|it| it.spent);
            if spent {
                continue;
            }
            match self.stops.watches.all.get_mut(id) {
                None => self.begin_watch(*id, wanted),
                // A new condition belongs to the frame that was selected when it was set.
                Some(watch) if conditions.get(id) != Some(&wanted.options.condition) => {
                    watch.data = Rc::new(wanted.data.clone());
                }
                Some(_) => {}
            }
        }
        self.distribute_slots(&ids);
        if self.stops.watches.sees_reads() || self.stops.watches.stepping {
            // Evaluation in the program would show up as accesses.
            self.inferior.sites.end_all_diversions(&*self.inferior.os);
        }
        ids.iter()
            .filter_map(|id| self.breakpoint_info(*id))
            .collect()
    }

    fn begin_watch(&mut self, id: BreakpointId, wanted: &DataBreakpoint) {
        let data = &wanted.data;
        let mut old = vec![0; usize::try_from(data.bytes).unwrap_or(0)];
        let problem = if self.inferior.process.is_none() {
            Some("there is no program being debugged".to_owned())
        } else if self.inferior.os.read_memory(data.addr, &mut old) < old.len() {
            Some(format!("cannot read {} bytes at {}", data.bytes, data.addr))
        } else if data.scope.as_ref().is_some_and(|it| !self.is_alive(it)) {
            Some(format!("the frame of `{}` has returned", data.name))
        } else {
            None
        };
        let Some(breakpoint) = self.stops.breakpoints.all.get_mut(&id) else {
            return;
        };
        breakpoint.parse(Some(data.language));
        if problem.is_some() {
            breakpoint.pending = problem;
            return;
        }
        if let Some(scope) = &data.scope {
            // The frame may also be left by an exception, a panic or a long jump.
            let modules = &self.images.modules;
            let mut ways = vec![modules.catch_entries(), modules.long_jumps()];
            if data.language == Language::Rust {
                ways.push(modules.panic_cleanups());
            }
            for addr in ways.into_iter().flatten().chain([&scope.back]) {
                self.inferior
                    .sites
                    .add(*addr, Owner::Scope(id), &*self.inferior.os);
            }
        }
        self.stops.watches.all.insert(
            id,
            Watch {
                data: Rc::new(data.clone()),
                access: wanted.access,
                by_steps: wanted.by_steps,
                old,
                means: WatchMechanism::Nothing,
                left: false,
            },
        );
    }

    fn forget_watch(&mut self, id: BreakpointId) {
        if self.stops.watches.all.remove(&id).is_some() {
            self.inferior
                .sites
                .remove_owner(Owner::Scope(id), &*self.inferior.os);
        }
    }

    /// Assigns the debug registers again and updates all threads. Reports breakpoints whose
    /// mechanism has changed, except those in `told`.
    fn distribute_slots(&mut self, told: &[BreakpointId]) {
        let code = self.hardware_places();
        let mut concerned = self.stops.breakpoints.data.clone();
        concerned.extend(code.iter().map(|(id, _)| *id));
        concerned.dedup();
        concerned.retain(|id| !told.contains(id));
        let infos = |debugger: &Self| -> Vec<_> {
            let ids = concerned.iter();
            ids.map(|id| (*id, debugger.breakpoint_info(*id))).collect()
        };
        let before = infos(self);
        let was_stepping = self.stops.watches.stepping;
        let changed = self.stops.watches.allocate(&code);
        if changed
            && let Some(thread) = self.current_thread()
            && !self.arm(thread)
        {
            // Debug registers are unavailable: single-step.
            self.stops.watches.refused = true;
            self.stops.watches.allocate(&code);
        }
        for ((id, before), (_, after)) in before.into_iter().zip(infos(self)) {
            if before != after {
                self.inferior.events.push_back(Event::BreakpointChanged(id));
            }
        }
        if changed || was_stepping != self.stops.watches.stepping {
            self.interrupt_running();
        }
    }

    /// Interrupts every running thread, and resumes it at once with its debug registers set.
    fn interrupt_running(&mut self) {
        for thread in self.running_threads() {
            if let Some(state) = self.thread_mut(thread)
                && !state.interrupted
            {
                state.interrupted = true;
                self.inferior.os.interrupt(thread);
            }
        }
    }

    /// Sets a stopped thread's debug registers, unless they are up to date. Returns false if the
    /// kernel refuses.
    pub(crate) fn arm(&mut self, thread: ThreadId) -> bool {
        let (generation, addresses, control) = self.stops.watches.registers();
        match self.thread_mut(thread) {
            Some(state) if state.debug_register_generation != generation => {
                state.debug_register_generation = generation
            }
            _ => return true,
        }
        self.inferior
            .os
            .set_debug_registers(thread, &addresses, control)
    }

    /// Clears a stopped thread's debug registers: they would persist after a detach.
    pub(crate) fn disarm(&mut self, thread: ThreadId) {
        if let Some(state) = self.thread_mut(thread)
            && std::mem::take(&mut state.debug_register_generation) != 0
        {
            self.inferior
                .os
                .set_debug_registers(thread, &[0; MAX_SLOTS], 0);
        }
    }

    /// Reads the watched data again before a resume: a change made by the user at a stop is not an
    /// access.
    pub(crate) fn refresh_watches(&mut self) {
        for watch in self.stops.watches.all.values_mut() {
            self.inferior
                .os
                .read_memory(watch.data.addr, &mut watch.old);
        }
    }

    /// Adds the state of a data breakpoint to its description.
    pub(super) fn watch_info(&self, id: BreakpointId, info: &mut BreakpointInfo) {
        let Some(watch) = self.stops.watches.all.get(&id) else {
            self.hardware_info(id, info);
            return;
        };
        let why = match watch.by_steps || self.stops.watches.refused {
            true => "",
            false => ": out of debug registers",
        };
        let said = match (watch.means, watch.access) {
            (WatchMechanism::Slots(_), DataAccess::Read) => Some(
                "the processor reports reads and writes alike; accesses that change the value do \
                 not stop"
                    .to_owned(),
            ),
            (WatchMechanism::Slots(_), _) => None,
            (WatchMechanism::Steps, _) => Some(format!(
                "watched in software by single steps: some ten thousand instructions per \
                 second{why}"
            )),
            (WatchMechanism::Nothing, DataAccess::Write) => Some(format!(
                "{} bytes are too many to watch{why}",
                watch.data.bytes
            )),
            (WatchMechanism::Nothing, _) => {
                Some(format!("reads cannot be watched in software{why}"))
            }
        };
        info.verified = !info.failed && watch.means != WatchMechanism::Nothing;
        info.message = info.message.take().filter(|_| info.failed).or(said);
    }

    /// Drops all data breakpoints: the process was replaced or has ended.
    pub(crate) fn forget_watches(&mut self) {
        self.stops.watches = Watches {
            generation: self.stops.watches.generation,
            refused: self.stops.watches.refused,
            ..Watches::default()
        };
        // The kernel clears the debug registers on exec.
        if let Some(process) = &mut self.inferior.process {
            for state in process.threads.values_mut() {
                state.debug_register_generation = 0;
            }
        }
    }
}
