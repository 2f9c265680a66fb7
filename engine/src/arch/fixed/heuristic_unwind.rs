//! No heuristics.

use dwarf::{FileAddr, HeuristicUnwind, Module};

pub fn ways_back(_: &Module, _: FileAddr, _: bool) -> Vec<HeuristicUnwind> {
    Vec::new()
}
