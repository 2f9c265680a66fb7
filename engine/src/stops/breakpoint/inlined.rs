//! Lines whose only code is inlined calls: the line table has only the lines of the called
//! functions.

use dwarf::{LineLocation, Module, Scope, ScopeKind, SourceFile};
use rustc_hash::FxHashSet;

/// Number of lines with code above and below whose functions are searched.
const NEIGHBOURS: usize = 3;
/// Maximum number of functions searched: a line may be in many instances of a template.
const MAX_FUNCTIONS: usize = 256;

/// Returns where the code of the calls on a line begins.
pub fn calls_on_line(module: &Module, file: &SourceFile, line: u32) -> Vec<LineLocation> {
    let lines = module.lines_with_code(file);
    let below = lines.partition_point(|have| *have < line);
    let near = lines.iter().skip(below.saturating_sub(NEIGHBOURS));
    let mut seen = FxHashSet::default();
    let mut found = Calls::default();
    for near in near.take(2 * NEIGHBOURS) {
        for location in module.line_locations(file, *near) {
            if seen.len() < MAX_FUNCTIONS
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
    /// Number of functions and inlined copies seen so far.
    instances: u64,
}

impl Calls {
    /// Collects the calls in a function or an inlined copy of one.
    fn collect(&mut self, function: &Scope, at: (&SourceFile, u32)) {
        self.instances += 1;
        let instance = self.instances;
        self.collect_in(function, instance, at);
    }

    // The reader of entries limits the depth of scopes.
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
