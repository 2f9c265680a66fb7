//! Data breakpoints: the data, its debug registers (or single steps, if they do not suffice), and
//! its last known bytes.

mod find;
mod frame;
mod hardware;
mod hit;

use crate::debugger::Debugger;
use crate::debugger::breakpoint::names::check_in_frame;
use crate::ids::BreakpointId;
use crate::images::modules::Modules;
use crate::inferior::site::Owner;
use crate::stops::breakpoint::problem::{Problem, ProblemKind};
use crate::stops::breakpoint::watch::{
    DataAccess, DataBreakpoint, DataSpec, Watch, WatchMechanism, Watchable, Watches,
};
use crate::stops::breakpoint::{Breakpoint, BreakpointInfo, Spec};
use crate::stops::event::Event;
use dwarf::{Language, LoadAddr};
use std::collections::BTreeMap;
use std::rc::Rc;

/// Parses the condition of a data breakpoint, and checks it in the frame where it was set.
fn prepare(breakpoint: &mut Breakpoint, data: &Watchable, modules: &Modules) {
    breakpoint.parse(Some(data.language));
    if let Some(frame) = &data.own {
        breakpoint.names = check_in_frame(breakpoint, frame, modules);
    }
}

impl Debugger {
    /// Replaces the data breakpoints. Takes effect also while the program runs, without a reported
    /// stop. Unchanged ones keep their ids.
    pub fn set_data_breakpoints(&mut self, wanted: &[DataBreakpoint]) -> Vec<BreakpointInfo> {
        let old = std::mem::take(&mut self.stops.breakpoints.data);
        let specs = wanted.iter().map(|wanted| {
            let spec = DataSpec::of(wanted);
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
                    if let Some(breakpoint) = self.stops.breakpoints.all.get_mut(id) {
                        prepare(breakpoint, &wanted.data, &self.images.modules);
                    }
                }
                Some(_) => {}
            }
        }
        self.distribute_slots(&ids);
        if self.inferior.debug_registers.sees_reads() || self.inferior.single_stepping {
            // Evaluation in the program would show up as accesses.
            self.inferior.end_all_jumps();
        }
        ids.iter().filter_map(|id| self.breakpoint(*id)).collect()
    }

    pub(crate) fn begin_watch(&mut self, id: BreakpointId, wanted: &DataBreakpoint) {
        let data = &wanted.data;
        let mut old = vec![0; usize::try_from(data.bytes).unwrap_or(0)];
        let problem = if self.inferior.process.is_none() {
            Some(crate::ids::error::Error::NoProcess.to_string())
        } else if self.inferior.os().read_memory(data.addr, &mut old) < old.len() {
            Some(format!("cannot read {} bytes at {}", data.bytes, data.addr))
        } else if data.scope.as_ref().is_some_and(|it| !self.is_alive(it)) {
            Some(format!("the frame of `{}` has returned", data.name))
        } else {
            None
        };
        let Some(breakpoint) = self.stops.breakpoints.all.get_mut(&id) else {
            return;
        };
        prepare(breakpoint, data, &self.images.modules);
        if problem.is_some() {
            breakpoint.pending = problem.map(Problem::from);
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
                self.inferior.add_site(*addr, Owner::Scope(id));
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
            self.inferior.remove_sites_of(Owner::Scope(id));
        }
    }

    /// Assigns the debug registers again and updates all threads. Reports breakpoints whose
    /// mechanism has changed, except those in `reported`.
    pub(crate) fn distribute_slots(&mut self, reported: &[BreakpointId]) {
        let code = self.hardware_places();
        let mut concerned = self.stops.breakpoints.data.clone();
        concerned.extend(code.iter().map(|(id, _)| *id));
        concerned.dedup();
        concerned.retain(|id| !reported.contains(id));
        let infos = |debugger: &Self| -> Vec<_> {
            let ids = concerned.iter();
            ids.map(|id| (*id, debugger.breakpoint(*id))).collect()
        };
        let before = infos(self);
        let was_stepping = self.inferior.single_stepping;
        let changed = self.allocate_slots(&code);
        if changed
            && let Some(thread) = self.current_thread()
            && !self.inferior.arm(thread)
        {
            // Debug registers are unavailable: single-step.
            self.inferior.debug_registers.refused = true;
            self.allocate_slots(&code);
        }
        for ((id, before), (_, after)) in before.into_iter().zip(infos(self)) {
            if before != after {
                self.emit(Event::BreakpointChanged(id));
            }
        }
        if changed || was_stepping != self.inferior.single_stepping {
            self.inferior.interrupt_running();
        }
    }

    /// Assigns the debug registers. Returns true if they have changed.
    fn allocate_slots(&mut self, code: &[(BreakpointId, LoadAddr)]) -> bool {
        let refused = self.inferior.debug_registers.refused;
        let slots = self
            .stops
            .watches
            .allocate(self.inferior.arch, code, refused);
        self.inferior.single_stepping = self.stops.watches.needs_steps();
        self.inferior.debug_registers.set(slots)
    }

    /// Reads the watched data again before a resume: a change made by the user at a stop is not an
    /// access.
    pub(crate) fn refresh_watches(&mut self) {
        for watch in self.stops.watches.all.values_mut() {
            self.inferior
                .os()
                .read_memory(watch.data.addr, &mut watch.old);
        }
    }

    /// Adds the state of a data breakpoint to its description.
    pub(crate) fn watch_info(&self, id: BreakpointId, info: &mut BreakpointInfo) {
        let Some(watch) = self.stops.watches.all.get(&id) else {
            self.hardware_info(id, info);
            return;
        };
        let why = match watch.by_steps || self.inferior.debug_registers.refused {
            true => "",
            false => ": out of debug registers",
        };
        let note = match (watch.means, watch.access) {
            (WatchMechanism::Slots(_), DataAccess::Read)
                if !self.inferior.arch.tells_reads_from_writes() =>
            {
                Some(
                "the processor reports reads and writes alike; accesses that change the value do \
                 not stop"
                    .to_owned(),
                )
            }
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
        info.problem = match info.verified {
            true => None,
            false => info.problem.or(Some(ProblemKind::Other)),
        };
        info.message = info.message.take().filter(|_| info.failed).or(note);
    }

    /// Drops all data breakpoints: the process was replaced or has ended.
    pub(crate) fn forget_watches(&mut self) {
        self.stops.watches = Watches::default();
        self.inferior.forget_debug_registers();
    }
}
