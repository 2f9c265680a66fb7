//! Lines that have no code of their own but calls that were inlined: the line table has only the
//! lines of what is called.

use dwarf::{LineLocation, Module, Scope, ScopeKind, SourceFile};
use rustc_hash::FxHashSet;

/// Lines with code above and below, whose functions are looked through.
const NEIGHBOURS: usize = 3;
/// Functions that are looked through: a line may be in many instances of a template.
const MOST_FUNCTIONS: usize = 256;

/// Where the code of calls that stand on a line begins.
pub fn calls_on_line(module: &Module, file: &SourceFile, line: u32) -> Vec<LineLocation> {
    let lines = module.lines_with_code(file);
    let below = lines.partition_point(|have| *have < line);
    let near = lines.iter().skip(below.saturating_sub(NEIGHBOURS));
    let mut seen = FxHashSet::default();
    let mut found = Calls::default();
    for near in near.take(2 * NEIGHBOURS) {
        for location in module.line_locations(file, *near) {
            if seen.len() < MOST_FUNCTIONS
                && let Some(function) = module.function_at(location.addr)
                && seen.insert(function.entry)
            {
                found.collect(&function.scope, (file, line));
            }
        }
    }
    found.calls
}

#[derive(Default)]
struct Calls {
    calls: Vec<LineLocation>,
    /// Functions and inlined copies of them so far.
    instances: u64,
}

impl Calls {
    /// The calls in a function, or in a copy of one.
    fn collect(&mut self, function: &Scope, at: (&SourceFile, u32)) {
        self.instances += 1;
        let instance = self.instances;
        self.collect_in(function, instance, at);
    }

    // Scopes are no deeper in each other than the reader of entries lets them be.
    fn collect_in(&mut self, scope: &Scope, instance: u64, at: (&SourceFile, u32)) {
        for child in &scope.children {
            let ScopeKind::Inlined(call) = &child.kind else {
                self.collect_in(child, instance, at);
                continue;
            };
            if let Some(site) = &call.call_site
                && (&site.file.path, site.line) == (&at.0.path, at.1)
            {
                self.calls.push(LineLocation {
                    addr: call.entry,
                    location: site.clone(),
                    instance,
                    is_stmt: true,
                });
            }
            self.collect(child, at);
        }
    }
}
