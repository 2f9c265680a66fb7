//! Data breakpoints: the data, its debug registers (or single steps, if they do not suffice), and
//! its last known bytes.

pub(crate) mod frame;
pub(crate) mod hardware;

use super::BreakpointOptions;
use crate::arch::Arch;
use crate::arch::watch::{Coverage, MAX_SLOTS, Slot, Trigger};
use crate::ids::BreakpointId;
use crate::ids::ThreadId;
use crate::inferior::debug_registers::code_slot;
use crate::inspect::value::Value;
use crate::stops::breakpoint::Breakpoints;
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
    /// Reads; where the processor reports reads and writes alike
    /// ([`Arch::tells_reads_from_writes`]), accesses that do not change it.
    Read,
    /// All writes by the program itself, also of what was there before.
    Store,
}

/// Data that can be watched, as found by `Debugger::watchable`.
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
    pub(crate) own: Option<OwnFrame>,
    pub(crate) value: Value,
    pub(crate) language: Language,
}

/// A machine frame: its data ends when it returns.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WatchScope {
    /// The thread on whose stack it is.
    pub thread: ThreadId,
    /// Its canonical frame address: the stack pointer after it has returned.
    pub cfa: u64,
    /// Its return address.
    pub(crate) back: LoadAddr,
    /// The word that its return address is saved in, and its content, which may be signed. `None`: it
    /// is in a register.
    pub(crate) saved: Option<(LoadAddr, u64)>,
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
    pub(crate) name: String,
    pub(crate) addr: LoadAddr,
    pub(crate) bytes: u64,
    pub(crate) scope: Option<WatchScope>,
    pub(crate) access: DataAccess,
    pub(crate) by_steps: bool,
}

impl DataSpec {
    /// Returns the identity of a wanted data breakpoint.
    pub(crate) fn of(wanted: &DataBreakpoint) -> DataSpec {
        let data = &wanted.data;
        DataSpec {
            name: data.name.clone(),
            addr: data.addr,
            bytes: data.bytes,
            scope: data.scope.clone(),
            access: wanted.access,
            by_steps: wanted.by_steps,
        }
    }
}

/// How a data breakpoint is watched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum WatchMechanism {
    /// By these debug registers, a bit each.
    Slots(u8),
    /// By a comparison after every instruction of the program.
    Steps,
    /// Not at all: no debug register is free, and steps cannot detect such accesses.
    Nothing,
}

pub(crate) struct Watch {
    pub(crate) data: Rc<Watchable>,
    pub(crate) access: DataAccess,
    pub(crate) by_steps: bool,
    /// Its bytes at the last read.
    pub(crate) old: Vec<u8>,
    pub(crate) means: WatchMechanism,
    /// Whether its frame is being left: further changes are ignored.
    pub(crate) left: bool,
}

impl Watch {
    fn trigger(&self) -> Trigger {
        match self.access {
            DataAccess::Write | DataAccess::Store => Trigger::Write,
            DataAccess::Read => Trigger::Read,
            DataAccess::ReadWrite => Trigger::Access,
        }
    }
}

/// All data breakpoints.
#[derive(Default)]
pub struct Watches {
    pub(crate) all: BTreeMap<BreakpointId, Watch>,
}

impl Watches {
    /// Assigns the debug registers to data breakpoints and to locations of hardware breakpoints,
    /// first come, first served; equal slots are shared. `refused`: the kernel does not let them be
    /// set.
    pub(crate) fn allocate(
        &mut self,
        arch: Arch,
        code: &[(BreakpointId, LoadAddr)],
        refused: bool,
    ) -> [Option<Slot>; MAX_SLOTS] {
        let mut slots = [None; MAX_SLOTS];
        let mut code = code.iter().peekable();
        let mut take_code = |slots: &mut _, until: Option<BreakpointId>| {
            while let Some((_, addr)) =
                code.next_if(|(id, _)| !refused && until.is_none_or(|until| *id < until))
            {
                take_slots(slots, &[code_slot(*addr)]);
            }
        };
        for (id, watch) in &mut self.all {
            take_code(&mut slots, Some(*id));
            if watch.left {
                watch.means = WatchMechanism::Nothing;
                continue;
            }
            let changes_only = watch.access == DataAccess::Write;
            let wanted = arch.watch(
                watch.data.addr,
                watch.data.bytes,
                watch.trigger(),
                match changes_only {
                    true => Coverage::WithNeighbors,
                    false => Coverage::Exact,
                },
            );
            let taken = wanted
                .filter(|_| !watch.by_steps && !refused)
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
        slots
    }

    /// Returns whether data is compared after every instruction.
    pub(crate) fn needs_steps(&self) -> bool {
        let mut watches = self.all.values();
        watches.any(|it| it.means == WatchMechanism::Steps)
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
