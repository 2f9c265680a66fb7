//! Data breakpoints: which data, by which of the processor's debug registers (or, beyond those,
//! by single steps), and what it was when somebody looked last.

mod find;
mod frame;
mod hardware;
mod hit;

pub(crate) use hit::TRAP_HWBKPT;

use super::{BreakpointOptions, Spec};
use crate::arch::debug_registers::{SLOTS, Slot, Trigger, control, cover};
use crate::breakpoint::site::Owner;
use crate::breakpoint::{BreakpointInfo, Breakpoints};
use crate::debugger::Debugger;
use crate::event::Event;
use crate::ids::BreakpointId;
use crate::ids::ThreadId;
use crate::inspect::value::Value;
use dwarf::{Language, LoadAddr};
use frame::OwnFrame;
use std::collections::BTreeMap;
use std::rc::Rc;

/// More than this is not compared after every instruction, in bytes.
const MOST_BYTES: u64 = 1 << 16;

/// At what accesses to data to stop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DataAccess {
    /// Those that change it.
    Write,
    /// All by the program itself (not by the kernel for it).
    ReadWrite,
    /// Those that do not change it.
    Read,
}

/// Data that can be watched, as [`Debugger::watchable`] found it.
#[derive(Clone, Debug)]
pub struct Watchable {
    /// An expression for it, or its address.
    pub name: String,
    /// Where it begins.
    pub addr: LoadAddr,
    /// How many bytes.
    pub bytes: u64,
    /// The frame it lives in, if it is on a stack.
    pub scope: Option<WatchScope>,
    /// The frame that its condition belongs to.
    own: Option<OwnFrame>,
    value: Value,
    language: Language,
}

/// A machine frame: what is in it is gone when it returns.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WatchScope {
    /// The thread on whose stack it is.
    pub thread: ThreadId,
    /// Its canonical frame address: the stack pointer after it has returned.
    pub cfa: u64,
    /// Where it returns to.
    back: LoadAddr,
}

/// A data breakpoint, as asked for.
#[derive(Clone, Debug)]
pub struct DataBreakpoint {
    /// On what.
    pub data: Watchable,
    /// At what accesses.
    pub access: DataAccess,
    /// Not by the processor's debug registers.
    pub by_steps: bool,
    /// Its options.
    pub options: BreakpointOptions,
}

/// What makes two data breakpoints the same one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DataSpec {
    name: String,
    addr: LoadAddr,
    bytes: u64,
    scope: Option<WatchScope>,
    access: DataAccess,
    by_steps: bool,
}

/// By what a breakpoint is watched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Means {
    /// By these slots, a bit each.
    Slots(u8),
    /// By comparing after every instruction of the program.
    Steps,
    /// By nothing: there is no slot left for what steps cannot do.
    Nothing,
}

struct Watch {
    data: Rc<Watchable>,
    access: DataAccess,
    by_steps: bool,
    /// Its bytes when they were read last.
    old: Vec<u8>,
    means: Means,
    /// Its frame is being left: what happens there is of no interest any more.
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

/// All that is watched, and the debug registers that do it.
#[derive(Default)]
pub struct Watches {
    all: BTreeMap<BreakpointId, Watch>,
    slots: [Option<Slot>; SLOTS],
    /// The state of `slots`: threads that were set to another one are behind. 0: never used.
    generation: u32,
    /// Every thread goes by single steps.
    pub stepping: bool,
    /// The kernel refuses to set debug registers.
    refused: bool,
}

impl Watches {
    /// What threads' debug registers are to be set to, and the number of that state.
    pub fn registers(&self) -> (u32, [u64; SLOTS], u64) {
        let addresses = self.slots.map(|slot| slot.map_or(0, |slot| slot.addr.0));
        (self.generation, addresses, control(&self.slots))
    }

    /// The one slot that threads in a state of the debug registers can hit, as a bit.
    fn only_slot(&self, armed: u32) -> Option<u8> {
        let slots = self.slots.iter().enumerate();
        let mut used = slots.filter(|(_, slot)| slot.is_some());
        match (used.next(), used.next()) {
            (Some((index, _)), None) if armed == self.generation => Some(1 << index),
            _ => None,
        }
    }

    /// Distributes the slots among what is watched and the places of breakpoints in code: first
    /// come, first served; the same slot serves several. True if they are others than before.
    fn allocate(&mut self, code: &[(BreakpointId, LoadAddr)]) -> bool {
        let before = self.slots;
        let mut slots = [None; SLOTS];
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
                watch.means = Means::Nothing;
                continue;
            }
            let changes_only = watch.access == DataAccess::Write;
            let wanted = cover(
                watch.data.addr,
                watch.data.bytes,
                watch.trigger(),
                changes_only,
            );
            let taken = wanted
                .filter(|_| !watch.by_steps && !self.refused)
                .and_then(|wanted| take_slots(&mut slots, &wanted));
            watch.means = match taken {
                Some(mask) => Means::Slots(mask),
                None if changes_only && watch.data.bytes <= MOST_BYTES => Means::Steps,
                None => Means::Nothing,
            };
        }
        take_code(&mut slots, None);
        self.slots = slots;
        self.stepping = self.all.values().any(|it| it.means == Means::Steps);
        let changed = slots != before;
        self.generation += u32::from(changed);
        changed
    }
}

/// Finds room for all of `wanted`, or takes none.
fn take_slots(slots: &mut [Option<Slot>; SLOTS], wanted: &[Slot]) -> Option<u8> {
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
    /// What was watched is gone, and why. Gives what has ended.
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
    /// Replaces the data breakpoints. Takes effect also while the program runs, without a stop
    /// that anybody sees. Unchanged ones keep their ids.
    pub fn set_data_breakpoints(&mut self, wanted: &[DataBreakpoint]) -> Vec<BreakpointInfo> {
        let old = std::mem::take(&mut self.breakpoints.data);
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
            .filter_map(|id| Some((*id, self.breakpoints.options(*id)?.condition.clone())))
            .collect();
        let (ids, gone) = self.breakpoints.replace(old, specs.collect());
        self.breakpoints.data.clone_from(&ids);
        for id in gone {
            self.breakpoints.all.remove(&id);
            self.forget_watch(id);
        }
        for (id, wanted) in ids.iter().zip(wanted) {
            let spent = self.breakpoints.all.get(id).is_some_and(|it| it.spent);
            if spent {
                continue;
            }
            match self.watches.all.get_mut(id) {
                None => self.begin_watch(*id, wanted),
                // Another condition is of the frame that was looked at when it was typed.
                Some(watch) if conditions.get(id) != Some(&wanted.options.condition) => {
                    watch.data = Rc::new(wanted.data.clone());
                }
                Some(_) => {}
            }
        }
        self.distribute_slots(&ids);
        if self.watches.sees_reads() || self.watches.stepping {
            // What the program is asked would be seen.
            self.sites.end_all_diversions(&*self.os);
        }
        ids.iter()
            .filter_map(|id| self.breakpoint_info(*id))
            .collect()
    }

    fn begin_watch(&mut self, id: BreakpointId, wanted: &DataBreakpoint) {
        let data = &wanted.data;
        let mut old = vec![0; usize::try_from(data.bytes).unwrap_or(0)];
        let problem = if self.process.is_none() {
            Some("there is no program".to_owned())
        } else if self.os.read_memory(data.addr, &mut old) < old.len() {
            Some(format!(
                "{} bytes at {} cannot be read",
                data.bytes, data.addr
            ))
        } else if data.scope.as_ref().is_some_and(|it| !self.is_alive(it)) {
            Some(format!("the frame of `{}` has ended", data.name))
        } else {
            None
        };
        let Some(breakpoint) = self.breakpoints.all.get_mut(&id) else {
            return;
        };
        breakpoint.parse(Some(data.language));
        if problem.is_some() {
            breakpoint.pending = problem;
            return;
        }
        if let Some(scope) = &data.scope {
            // It may also be left by an exception, a panic or a long jump.
            let modules = &self.modules;
            let mut ways = vec![modules.catch_entries(), modules.long_jumps()];
            if data.language == Language::Rust {
                ways.push(modules.panic_cleanups());
            }
            for addr in ways.into_iter().flatten().chain([&scope.back]) {
                self.sites.add(*addr, Owner::Scope(id), &*self.os);
            }
        }
        self.watches.all.insert(
            id,
            Watch {
                data: Rc::new(data.clone()),
                access: wanted.access,
                by_steps: wanted.by_steps,
                old,
                means: Means::Nothing,
                left: false,
            },
        );
    }

    fn forget_watch(&mut self, id: BreakpointId) {
        if self.watches.all.remove(&id).is_some() {
            self.sites.remove_owner(Owner::Scope(id), &*self.os);
        }
    }

    /// Gives out the debug registers anew, and has all threads set to them. Tells of
    /// breakpoints that are watched otherwise now, but for those in `told`.
    fn distribute_slots(&mut self, told: &[BreakpointId]) {
        let code = self.hardware_places();
        let mut concerned = self.breakpoints.data.clone();
        concerned.extend(code.iter().map(|(id, _)| *id));
        concerned.dedup();
        concerned.retain(|id| !told.contains(id));
        let infos = |debugger: &Self| -> Vec<_> {
            let ids = concerned.iter();
            ids.map(|id| (*id, debugger.breakpoint_info(*id))).collect()
        };
        let before = infos(self);
        let was_stepping = self.watches.stepping;
        let changed = self.watches.allocate(&code);
        if changed
            && let Some(thread) = self.current_thread()
            && !self.arm(thread)
        {
            // Without the processor's help: by steps.
            self.watches.refused = true;
            self.watches.allocate(&code);
        }
        for ((id, before), (_, after)) in before.into_iter().zip(infos(self)) {
            if before != after {
                self.events.push_back(Event::BreakpointChanged(id));
            }
        }
        if changed || was_stepping != self.watches.stepping {
            self.interrupt_running();
        }
    }

    /// Has every running thread stop and go on at once, which sets its debug registers.
    fn interrupt_running(&mut self) {
        for thread in self.running_threads() {
            if let Some(state) = self.thread_mut(thread)
                && !state.interrupted
            {
                state.interrupted = true;
                self.os.interrupt(thread);
            }
        }
    }

    /// Sets a stopped thread's debug registers, unless they are right. False: the kernel
    /// refuses.
    pub(crate) fn arm(&mut self, thread: ThreadId) -> bool {
        let (generation, addresses, control) = self.watches.registers();
        match self.thread_mut(thread) {
            Some(state) if state.armed != generation => state.armed = generation,
            _ => return true,
        }
        self.os.set_debug_registers(thread, &addresses, control)
    }

    /// Clears a stopped thread's debug registers: they would outlast us.
    pub(crate) fn disarm(&mut self, thread: ThreadId) {
        if let Some(state) = self.thread_mut(thread)
            && std::mem::take(&mut state.armed) != 0
        {
            self.os.set_debug_registers(thread, &[0; SLOTS], 0);
        }
    }

    /// The program goes on from a stop: what was changed by hand meanwhile is no change.
    pub(crate) fn refresh_watches(&mut self) {
        for watch in self.watches.all.values_mut() {
            self.os.read_memory(watch.data.addr, &mut watch.old);
        }
    }

    /// What data breakpoints say of themselves.
    pub(super) fn watch_info(&self, id: BreakpointId, info: &mut BreakpointInfo) {
        let Some(watch) = self.watches.all.get(&id) else {
            self.hardware_info(id, info);
            return;
        };
        let why = match watch.by_steps || self.watches.refused {
            true => "",
            false => ": the processor's four debug registers are not enough",
        };
        let said = match (watch.means, watch.access) {
            (Means::Slots(_), DataAccess::Read) => Some(
                "the processor stops at reads and writes alike; what changes the value is passed \
                 over"
                    .to_owned(),
            ),
            (Means::Slots(_), _) => None,
            (Means::Steps, _) => Some(format!(
                "watched by single steps, which is slow (some ten thousand instructions a \
                 second){why}"
            )),
            (Means::Nothing, DataAccess::Write) => Some(format!(
                "{} bytes are too many to watch{why}",
                watch.data.bytes
            )),
            (Means::Nothing, _) => Some(format!("single steps do not show reads{why}")),
        };
        info.verified = !info.failed && watch.means != Means::Nothing;
        info.message = info.message.take().filter(|_| info.failed).or(said);
    }

    /// Nothing is watched any more: the process is another one, or none.
    pub(crate) fn forget_watches(&mut self) {
        self.watches = Watches {
            generation: self.watches.generation,
            refused: self.watches.refused,
            ..Watches::default()
        };
        // The kernel clears the registers of who execs.
        if let Some(process) = &mut self.process {
            for state in process.threads.values_mut() {
                state.armed = 0;
            }
        }
    }
}
