//! Breakpoints of a search in the program's past: places that count while one frame executes them,
//! told by the value of a register there. Clients do not see them.

use super::resolve::Resolved;
use super::watch::{DataBreakpoint, DataSpec};
use super::{BoundLocation, Breakpoint, Breakpoints, Spec};
use crate::compile::Expected;
use crate::ids::{BreakpointId, BreakpointOptions, ModuleId};
use crate::images::modules::Modules;
use dwarf::{Language, LoadAddr, Register};
use std::collections::BTreeMap;

/// The module of a place that is in no image now.
const NO_IMAGE: ModuleId = ModuleId(u32::MAX);

/// An instruction, and the register that has this value there if the wanted frame executes it: its
/// frame pointer, or its stack pointer as the rules of the canonical frame address give it. `None`: any
/// frame is wanted.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct FramePlace {
    pub(crate) addr: LoadAddr,
    pub(crate) frame: Option<(Register, u64)>,
}

/// The value that a register has at each place.
pub(super) type Frames = BTreeMap<LoadAddr, Option<(Register, u64)>>;

impl Breakpoint {
    /// Returns its locations, if it is of frame places: all that were requested.
    pub(crate) fn resolve_frame_places(&self, modules: &Modules) -> Option<Resolved> {
        if self.spec != Spec::FramePlaces {
            return None;
        }
        let bound = self.frames.keys().map(|addr| BoundLocation {
            addr: *addr,
            module: modules.at(*addr).map_or(NO_IMAGE, |loaded| loaded.id),
            source: None,
            language: Language::default(),
            hidden: 0,
            shown: None,
        });
        Some(Resolved {
            bound: bound.collect(),
            ..Resolved::default()
        })
    }
}

impl Breakpoints {
    /// Replaces all frame places. Those of one list count together. If a list has an address twice, the
    /// last one is used. Returns their numbers, one a list, which are new, and the former ones.
    pub(crate) fn replace_frame_places(
        &mut self,
        wanted: &[Vec<FramePlace>],
    ) -> (Vec<BreakpointId>, Vec<BreakpointId>) {
        let mut ids = Vec::with_capacity(wanted.len());
        for places in wanted {
            let mut breakpoint = Breakpoint::new(Spec::FramePlaces, BreakpointOptions::default());
            let frames = places.iter();
            let frames = frames.map(|place| (place.addr, place.frame));
            breakpoint.frames = frames.collect();
            // From the other end than those of clients, which would see gaps.
            let id = BreakpointId(u32::MAX - self.last_hidden);
            self.last_hidden += 1;
            self.all.insert(id, breakpoint);
            ids.push(id);
        }
        (ids.clone(), std::mem::replace(&mut self.frame_places, ids))
    }

    /// Adds data that a search watches. Returns its number.
    pub(crate) fn add_hidden_data(&mut self, wanted: &DataBreakpoint) -> BreakpointId {
        let spec = Spec::Data(DataSpec::of(wanted));
        let breakpoint = Breakpoint::new(spec, wanted.options.clone());
        let id = BreakpointId(u32::MAX - self.last_hidden);
        self.last_hidden += 1;
        self.all.insert(id, breakpoint);
        self.searched_data = Some(id);
        id
    }

    /// Removes what [`Breakpoints::add_hidden_data`] has added.
    pub(crate) fn remove_hidden_data(&mut self, id: BreakpointId) {
        self.all.remove(&id);
        self.searched_data = None;
    }

    /// Returns whether clients do not see a breakpoint or anything that it belongs to.
    pub(crate) fn is_hidden(&self, id: BreakpointId) -> bool {
        let breakpoint = self.all.get(&id);
        self.searched_data == Some(id) || breakpoint.is_some_and(|it| it.spec == Spec::FramePlaces)
    }

    /// Returns what must hold at a place for a hit of the breakpoint, besides its condition.
    pub(crate) fn expected_at(&self, id: BreakpointId, addr: LoadAddr) -> Option<Expected> {
        let (register, value) = (*self.all.get(&id)?.frames.get(&addr)?)?;
        Some(Expected::Register(register, value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frame_places_have_numbers_of_their_own() {
        let mut all = Breakpoints::default();
        let place = |addr, value| FramePlace {
            addr: LoadAddr(addr),
            frame: Some((Register(6), value)),
        };
        let own = (Spec::Instruction(LoadAddr(1)), BreakpointOptions::default());
        let (client, _) = all.replace(Vec::new(), vec![own.clone()]);
        let together = vec![place(1, 5), place(2, 6)];
        let (ids, gone) = all.replace_frame_places(&[together, vec![place(3, 7)]]);
        assert_eq!((ids.len(), gone.len()), (2, 0));
        assert!(all.is_hidden(ids[0]) && !all.is_hidden(client[0]));
        let at = |id: usize, addr| all.expected_at(ids[id], LoadAddr(addr));
        assert_eq!(at(0, 2), Some(Expected::Register(Register(6), 6)));
        assert_eq!((at(0, 3), at(1, 1)), (None, None));
        let bound = all.all[&ids[0]].resolve_frame_places(&Modules::default());
        let bound = bound.expect("its places").bound;
        assert_eq!(bound.iter().map(|it| it.addr.0).collect::<Vec<_>>(), [1, 2]);
        let (others, gone) = all.replace_frame_places(&[vec![place(1, 5)]]);
        assert_eq!(gone, ids);
        assert!(!ids.contains(&others[0]));
        // Clients see no gap.
        let (next, _) = all.replace(Vec::new(), vec![own]);
        assert_eq!(next[0].0, client[0].0 + 1);
    }
}
