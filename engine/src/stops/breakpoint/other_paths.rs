//! Paths of a function on which a line has no code of its own, though it has on others: compilers copy
//! code, and merge a statement with what is around it in one of the copies. The line table then marks
//! where the statement would be, at an address of another line.

use super::resolve::returns_in;
use crate::arch::Arch;
use crate::arch::flow;
use crate::images::body::Extent;
use dwarf::{FileAddr, LineLocation, Module};

/// Maximum number of instances of functions that are looked at: the code of each is decoded.
const MAX_INSTANCES: usize = 128;

/// Returns those of `marked`, the marks of a line without code, that no execution passes which passes
/// one of `entered`, where the line is entered, in the same instance of a function.
pub(super) fn on_other_paths(
    module: &Module,
    entered: &[LineLocation],
    marked: Vec<LineLocation>,
) -> Vec<LineLocation> {
    let mut found: Vec<LineLocation> = Vec::new();
    let Some(arch) = Arch::of(module.machine()) else {
        return found;
    };
    let mut instances: Vec<u64> = marked.iter().map(|it| it.instance).collect();
    instances.sort_unstable();
    instances.dedup();
    for instance in instances.into_iter().take(MAX_INSTANCES) {
        let addresses = |all: &[LineLocation]| -> Vec<FileAddr> {
            let own = all.iter().filter(|it| it.instance == instance);
            own.map(|it| it.addr).collect()
        };
        let (entered, marks) = (addresses(entered), addresses(&marked));
        let function = entered.first().and_then(|it| Extent::at(module, *it));
        let Some(function) = function else {
            continue;
        };
        let code = function.code(module);
        let apart = flow::on_other_paths(
            (arch, &code),
            function.entry,
            &entered,
            &marks,
            returns_in(module),
        );
        let own = marked.iter().filter(|it| it.instance == instance);
        found.extend(own.filter(|it| apart.contains(&it.addr)).cloned());
    }
    found
}
