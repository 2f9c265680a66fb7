//! The code of a line, by function and inlined copy, and the line to show for an address.

use crate::functions::{Scope, ScopeKind};
use crate::ids::DieRef;
use crate::ids::addr::{AddrRange, FileAddr};
use crate::ids::source::{LineLocation, SourceFile, SourceLocation};
use crate::lines::DebugInfo;
use crate::module::Module;
use rustc_hash::FxHashSet;

/// Returns the locations of a line with the function instances that they are in.
pub(super) fn line_locations(
    module: &Module,
    info: &DebugInfo,
    file: &SourceFile,
    line: u32,
) -> Vec<LineLocation> {
    let places = info.line_hits(file, line);
    let mut found: Vec<LineLocation> = Vec::new();
    let mut functions = FxHashSet::default();
    // A run counts once per instance in it: inlined copies may be adjacent without a row of another
    // line between them.
    let mut seen = FxHashSet::default();
    for (mut place, run) in places.effective {
        let (function, instance) = instance_at(module, place.addr);
        functions.insert(function);
        if seen.insert((run, instance)) {
            place.instance = instance;
            found.push(place);
        }
    }
    // A function in which the line has only shadowed rows starts the line there.
    let mut shadowing = FxHashSet::default();
    for mut place in places.shadowed {
        let (function, instance) = instance_at(module, place.addr);
        if functions.contains(&function) {
            continue;
        }
        shadowing.insert(function);
        place.instance = instance;
        found.push(place);
    }
    functions.extend(shadowing);
    // clang recommends only the first of several adjacent inlined copies. In the others the line
    // begins at the start of their code.
    let mut begun: FxHashSet<u64> = found.iter().map(|place| place.instance).collect();
    let mut rest = Vec::new();
    for (mut place, run) in places.continued {
        let (function, instance) = instance_at(module, place.addr);
        place.instance = instance;
        if instance == function {
            rest.push((place, run, function));
        } else if begun.insert(instance) {
            functions.insert(function);
            found.push(place);
        }
    }
    // In optimized code a line may have no recommended row at all. Then use the start of its code
    // in the function, and without code the rows that mention the line.
    for (place, run, function) in rest {
        if !functions.contains(&function) && seen.insert((run, place.instance)) {
            found.push(place);
        }
    }
    if found.is_empty() {
        let mut mentioned = FxHashSet::default();
        for mut place in places.mentioned {
            let (_, instance) = instance_at(module, place.addr);
            if mentioned.insert(instance) {
                place.instance = instance;
                found.push(place);
            }
        }
    }
    found.sort_by_key(|place| place.addr);
    found
}

/// Returns the marks of a line without code, with the function instances that they are in.
pub(super) fn marks_of_line(
    module: &Module,
    info: &DebugInfo,
    file: &SourceFile,
    line: u32,
) -> Vec<LineLocation> {
    let mut marks = info.line_hits(file, line).shadowed;
    for mark in &mut marks {
        (_, mark.instance) = instance_at(module, mark.addr);
    }
    marks
}

impl Module {
    /// Returns the source position to show for `addr`. For code of line 0 (for example, several
    /// branches merged into one call) it is that of the nearest row before it in the same function
    /// or inlined copy. Inside a row, as for a call, an inlined call from another file does not count that begins
    /// with the row and has no code.
    pub fn place_at(&self, addr: FileAddr) -> Option<SourceLocation> {
        let position = self.info()?.position_at(addr.0)?;
        if position.is_some() {
            return position;
        }
        let function = self.function_at(addr)?;
        let range = function.ranges.iter().find(|range| range.contains(addr))?;
        let instance = instance_at(self, addr);
        self.rows_in(AddrRange::new(range.start, addr))
            .into_iter()
            .rev()
            .filter(|row| row.location.is_some())
            .find(|row| instance_at(self, row.range.start) == instance)?
            .location
    }
}

/// Returns the function that covers `addr` and the innermost instance: the function or an inlined
/// copy.
fn instance_at(module: &Module, addr: FileAddr) -> (u64, u64) {
    let Some(function) = module.function_at(addr) else {
        let symbol = module.symbol_at(addr).map_or(0, |symbol| symbol.addr.0);
        // Numbers of entries never use the top bit.
        return (symbol | 1 << 63, symbol | 1 << 63);
    };
    let mut instance = function.id;
    let mut scope: &Scope = &function.scope;
    while let Some(child) = scope.child_at(addr) {
        if matches!(child.kind, ScopeKind::Inlined(_)) {
            instance = child.id;
        }
        scope = child;
    }
    (number(function.id), number(instance))
}

fn number(die: DieRef) -> u64 {
    (u64::from(die.unit) << 36) ^ die.offset
}
