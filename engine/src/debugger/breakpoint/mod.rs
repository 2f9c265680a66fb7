//! Breakpoints of the client, the locations they bind to, and their sites in the code.

mod condition_call;
mod counting;
pub(crate) mod freshness;
mod hit;
mod indirect;
mod instruction;
mod locations;
mod names;
mod new_images;
pub(crate) mod watch;

pub(crate) use condition_call::*;

use crate::debugger::{Debugger, State};
use crate::ids::BreakpointId;
use crate::ids::ModuleId;
use crate::images::modules::Loaded;
use crate::inferior::site::Owner;
use crate::stops::breakpoint::frame_places::FramePlace;
pub(crate) use crate::stops::breakpoint::names::Names;
use crate::stops::breakpoint::parts;
use crate::stops::breakpoint::resolve::{Resolved, move_to_counted};
use crate::stops::breakpoint::{
    BoundLocation, BreakpointInfo, FunctionBreakpoint, RequestedLocation, Search, SourceBreakpoint,
    Spec,
};
use crate::stops::event::Event;
use dwarf::LoadAddr;
use rustc_hash::FxHashSet;
use std::path::Path;

impl Debugger {
    /// Replaces the breakpoints of one source, with a process or without one, also while it runs.
    /// `key` is the client's spelling of the path and identifies the set; `source` is the path to
    /// look up in the debug info. Unchanged breakpoints keep their ids.
    pub fn set_source_breakpoints(
        &mut self,
        key: &str,
        source: &Path,
        wanted: &[SourceBreakpoint],
    ) -> Vec<BreakpointInfo> {
        let old = self
            .stops
            .breakpoints
            .by_source
            .remove(key)
            .unwrap_or_default();
        let wanted = wanted
            .iter()
            .map(|wanted| {
                let spec = Spec::Line {
                    source: source.to_path_buf(),
                    line: wanted.line,
                    column: wanted.column,
                };
                (spec, wanted.options.clone())
            })
            .collect();
        let (ids, gone) = self.stops.breakpoints.replace(old, wanted);
        self.stops
            .breakpoints
            .by_source
            .insert(key.to_owned(), ids.clone());
        self.change_breakpoints(ids, gone)
    }

    /// Replaces the function breakpoints, as [`Debugger::set_source_breakpoints`] does.
    pub fn set_function_breakpoints(
        &mut self,
        wanted: &[FunctionBreakpoint],
    ) -> Vec<BreakpointInfo> {
        let old = std::mem::take(&mut self.stops.breakpoints.functions);
        let wanted = wanted
            .iter()
            .map(|wanted| {
                (
                    Spec::Function(wanted.name.trim().to_owned()),
                    wanted.options.clone(),
                )
            })
            .collect();
        let (ids, gone) = self.stops.breakpoints.replace(old, wanted);
        self.stops.breakpoints.functions.clone_from(&ids);
        self.change_breakpoints(ids, gone)
    }

    /// Replaces the places of a search in the past at which one frame is looked for. Each list counts
    /// under a number of its own. Clients do not see them; how they count and stop:
    /// [`Debugger::begin_counting`].
    pub(crate) fn set_frame_places(&mut self, wanted: &[Vec<FramePlace>]) -> Vec<BreakpointId> {
        let (ids, gone) = self.stops.breakpoints.replace_frame_places(wanted);
        self.change_breakpoints(ids.clone(), gone);
        ids
    }

    pub(crate) fn change_breakpoints(
        &mut self,
        ids: Vec<BreakpointId>,
        gone: Vec<BreakpointId>,
    ) -> Vec<BreakpointInfo> {
        for id in gone {
            self.stops.breakpoints.all.remove(&id);
            self.inferior.remove_sites_of(Owner::User(id));
        }
        self.end_changed_jumps();
        self.update_traces();
        for id in &ids {
            if self.stops.breakpoints.lacks_evaluation(*id) {
                self.forget_refused_jumps(*id);
            }
            let Some(breakpoint) = self.stops.breakpoints.all.get_mut(id) else {
                continue;
            };
            if breakpoint.must_be_bound_again() {
                breakpoint.bound.clear();
                breakpoint.exits.clear();
                self.inferior.remove_sites_of(Owner::User(*id));
            }
            if breakpoint.bound.is_empty() {
                self.bind(*id);
            }
            self.check_names(*id);
        }
        self.place_hardware(&ids);
        ids.iter().filter_map(|id| self.breakpoint(*id)).collect()
    }

    /// Returns the state of a breakpoint.
    pub fn breakpoint(&self, id: BreakpointId) -> Option<BreakpointInfo> {
        let Some(breakpoint) = self.stops.breakpoints.all.get(&id) else {
            return self.exception_breakpoint(id);
        };
        let mut info = breakpoint.info(id);
        self.watch_info(id, &mut info);
        self.stops.breakpoints.add_marks(id, &mut info);
        if self.is_post_mortem() {
            info.verified = false;
            info.message = Some("this is a core file: breakpoints cannot be hit".into());
        }
        Some(info)
    }

    /// Binds a breakpoint in all images. Returns whether its locations or its message changed.
    fn bind(&mut self, id: BreakpointId) -> bool {
        let instruction = self.resolve_instruction(id);
        let Some(breakpoint) = self.stops.breakpoints.all.get_mut(&id) else {
            return false;
        };
        if breakpoint.spent {
            return false;
        }
        let resolved = match (&mut breakpoint.search, &breakpoint.spec) {
            (_, Spec::Instruction(_) | Spec::Code(..)) => match instruction {
                Some(resolved) => resolved,
                None => return false,
            },
            (Search::Function(named), _) => named.resolve(&self.images.modules),
            (Search::Functions(pattern), _) => pattern.resolve(&self.images.modules),
            (
                Search::Line,
                Spec::Line {
                    source,
                    line,
                    column,
                },
            ) => crate::stops::breakpoint::resolve::resolve(
                source,
                *line,
                *column,
                &self.images.modules,
            ),
            (Search::Line, Spec::FramePlaces) => {
                match breakpoint.resolve_frame_places(&self.images.modules) {
                    Some(resolved) => resolved,
                    None => return false,
                }
            }
            // A function pattern that is invalid, or data, which has no location in the code.
            (Search::Line, Spec::Function(_) | Spec::Data(_)) => return false,
        };
        self.bind_to(id, resolved)
    }

    /// Binds a breakpoint to locations. Returns whether its locations or its message changed.
    fn bind_to(&mut self, id: BreakpointId, resolved: Resolved) -> bool {
        let changed = self.bind_places(id, resolved);
        // The language of the first location may have made its query valid.
        self.update_traces();
        self.bind_exits(id);
        changed
    }

    fn bind_places(&mut self, id: BreakpointId, mut resolved: Resolved) -> bool {
        let state = self.state();
        if !resolved.choosers.is_empty() {
            resolved.bound.extend(self.chosen(&resolved.choosers));
            resolved.why = resolved.why.filter(|_| resolved.bound.is_empty());
        }
        self.move_behind_sequences(&mut resolved);
        let os = self.inferior.os();
        let Some(breakpoint) = self.stops.breakpoints.all.get_mut(&id) else {
            return false;
        };
        if let Search::Function(named) = &breakpoint.search {
            for module in &resolved.unread {
                self.images
                    .indexer
                    .search(module, named.name(), || os.waker());
            }
        }
        if breakpoint.options.trace.is_some() && !matches!(breakpoint.search, Search::Line) {
            let symbol = |place: &BoundLocation| {
                let loaded = self.images.modules.get(place.module)?;
                let symbol = loaded.module.symbol_at(loaded.bias.file(place.addr))?;
                Some(symbol.name)
            };
            let language = resolved.bound.first().map(|it| it.language);
            breakpoint.is_bound_for_counts = breakpoint.counts_calls(language.unwrap_or_default());
            if breakpoint.is_bound_for_counts {
                move_to_counted(&mut resolved.bound, &self.images.modules);
            }
            let has_inlined = matches!(breakpoint.search, Search::Function(_));
            let remark = parts::leave_out(&mut resolved.bound, has_inlined, symbol);
            let notes = resolved.note.take().into_iter().chain(remark);
            let notes: Vec<String> = notes.collect();
            resolved.note = (!notes.is_empty()).then(|| notes.join("; "));
        }
        let before = breakpoint.bound.len();
        let former_pending = breakpoint.pending.clone();
        let known: FxHashSet<LoadAddr> = breakpoint.bound.iter().map(|it| it.addr).collect();
        let bound = resolved.bound;
        breakpoint.pending = match state {
            State::NoProcess => Some("pending: the program is not loaded yet".into()),
            _ => resolved.why,
        };
        breakpoint.note = resolved.note;
        let language = bound.first().map(|bound| bound.language);
        for place in bound {
            if known.contains(&place.addr) && breakpoint.bound.contains(&place) {
                continue;
            }
            if breakpoint.left_out.contains(place.addr) {
                continue;
            }
            let hardware = breakpoint.options.hardware;
            if hardware || self.inferior.add_site(place.addr, Owner::User(id)) {
                breakpoint.bound.push(place);
            } else {
                breakpoint.pending = Some(match state {
                    State::Ended => "the program has ended".into(),
                    _ => format!("cannot write the code at {}", place.addr).into(),
                });
            }
        }
        let grown = breakpoint.bound.len() != before;
        if before == 0 && grown {
            breakpoint.parse(language);
        } else if grown {
            breakpoint.names = Names::Unchecked;
        }
        grown || (before == 0 && breakpoint.pending != former_pending)
    }

    /// Moves locations inside exclusive sequences behind those: after a stop inside, the program
    /// repeats the sequence, and stops again, for ever.
    fn move_behind_sequences(&self, resolved: &mut Resolved) {
        let mut moved = Vec::new();
        for place in &mut resolved.bound {
            if let Some(sequence) = self.inferior.sequence_around(place.addr)
                && sequence.start != place.addr
            {
                moved.push(place.addr);
                place.addr = sequence.end;
            }
        }
        let Some(first) = moved.first() else { return };
        resolved.bound.sort_by_key(|place| place.addr);
        resolved.bound.dedup_by_key(|place| place.addr);
        let why = format!(
            "{first} is inside an exclusive sequence, whose store would fail after a stop: moved \
             behind it"
        );
        resolved.note = Some(match resolved.note.take() {
            Some(note) => format!("{note}; {why}"),
            None => why,
        });
    }

    /// Binds a breakpoint that may have new locations.
    pub(crate) fn rebind(&mut self, id: BreakpointId) {
        self.bind(id);
        self.check_names(id);
        self.place_hardware(&[]);
    }

    /// After more names were indexed: binds function breakpoints, checks the names in conditions
    /// and log messages again, and reports the breakpoints that changed.
    pub(crate) fn bind_functions(&mut self) {
        let ids: Vec<BreakpointId> = self.stops.breakpoints.all.keys().copied().collect();
        for id in ids {
            let is_named = self.stops.breakpoints.named().any(|it| *it == id);
            let bound = is_named && self.bind(id);
            if self.check_names(id) || bound {
                self.emit(Event::BreakpointChanged(id));
            }
        }
        self.place_hardware(&[]);
    }

    /// Binds breakpoints in new images, and reports those that changed.
    pub(crate) fn bind_all(&mut self) {
        let ids: Vec<BreakpointId> = self.stops.breakpoints.all.keys().copied().collect();
        for id in ids {
            let bound = self.bind(id);
            if self.check_names(id) || bound {
                self.emit(Event::BreakpointChanged(id));
            }
        }
        self.place_hardware(&[]);
        self.bind_exceptions();
        self.plant_search_end();
    }

    /// Binds breakpoints again in an image for which more debug info was found, and reports those
    /// that changed.
    pub(crate) fn rebind_in(&mut self, module: ModuleId) {
        let ids: Vec<BreakpointId> = self.stops.breakpoints.all.keys().copied().collect();
        for id in ids {
            let before = self.breakpoint(id);
            let Some(breakpoint) = self.stops.breakpoints.all.get_mut(&id) else {
                continue;
            };
            match &mut breakpoint.search {
                Search::Line => {}
                Search::Function(named) => named.forget(module),
                Search::Functions(pattern) => pattern.forget(module),
            }
            let (old, kept) = std::mem::take(&mut breakpoint.bound)
                .into_iter()
                .partition::<Vec<BoundLocation>, _>(|bound| bound.module == module);
            breakpoint.bound = kept;
            breakpoint.names = Names::Unchecked;
            self.bind(id);
            self.check_names(id);
            // Old sites are removed last: a location that stays keeps its trap throughout.
            let bound = self
                .stops
                .breakpoints
                .all
                .get(&id)
                .map(|it| it.bound.as_slice());
            for place in old {
                let stays = |bound: &[BoundLocation]| bound.iter().any(|it| it.addr == place.addr);
                if !bound.is_some_and(stays) {
                    self.inferior.remove_site(place.addr, Owner::User(id));
                }
            }
            if self.breakpoint(id) != before {
                self.emit(Event::BreakpointChanged(id));
            }
        }
        self.place_hardware(&[]);
    }

    /// Removes the locations in an unloaded image.
    pub(crate) fn unbind_module(&mut self, gone: &Loaded) {
        for id in self.stops.breakpoints.unbind_in(gone.id) {
            self.emit(Event::BreakpointChanged(id));
        }
        self.place_hardware(&[]);
    }

    /// Returns the location at which to show a stop at `addr` by these breakpoints: the requested
    /// one.
    pub(crate) fn requested_location(
        &self,
        ids: &[BreakpointId],
        addr: LoadAddr,
    ) -> RequestedLocation {
        let bound = ids
            .iter()
            .filter_map(|id| self.stops.breakpoints.all.get(id))
            .filter_map(|breakpoint| breakpoint.bound_at(addr));
        let Some(bound) = bound.min_by_key(|bound| (bound.hidden, bound.shown.is_some())) else {
            return RequestedLocation::default();
        };
        RequestedLocation {
            addr,
            hidden: bound.hidden,
            shown: bound.shown.clone(),
        }
    }
}
