//! Lines whose code begins with an inlined call, or is nothing else: for a call the line table has only the lines of
//! the called function.

use super::depth::Line;
use dwarf::{FileAddr, LineLocation, Module, Scope, ScopeKind, SourceFile};
use rustc_hash::FxHashSet;

/// Number of lines with code above and below whose functions are searched.
const NEIGHBOURS: usize = 3;
/// Maximum number of functions searched: a line may be in many instances of a template.
const MAX_FUNCTIONS: usize = 256;

/// Completes the locations of a line by its inlined calls. `is_stmt`: whether the line table recommends a location.
pub fn complete(module: &Module, line: Line<'_>, is_stmt: bool, locations: &mut Vec<LineLocation>) {
    match is_stmt {
        true => move_before_calls(module, line, locations),
        false => locations.extend(calls_on_line(module, line.file, line.line)),
    }
}

/// Moves a location that directly follows an inlined call of its line to the start of the call: the line begins
/// there, and at the location the call has had its effect.
fn move_before_calls(module: &Module, line: Line<'_>, locations: &mut [LineLocation]) {
    for location in locations.iter_mut().filter(|it| it.is_stmt) {
        let Some(function) = module.function_at(location.addr) else {
            continue;
        };
        let Some(entry) = call_before(&function.scope, line, location.addr) else {
            continue;
        };
        let before = FileAddr(entry.0.saturating_sub(1));
        let row = module.row_at(before).and_then(|row| row.location);
        if !row.is_some_and(|row| line.is_at(&row)) {
            location.addr = entry;
        }
    }
}

/// Returns the start of an inlined call on a line, if the call's code is in one piece and ends at an address.
fn call_before(scope: &Scope, line: Line<'_>, end: FileAddr) -> Option<FileAddr> {
    // The reader of entries limits the depth of scopes.
    scope.children.iter().find_map(|child| {
        let ScopeKind::Inlined(call) = &child.kind else {
            return call_before(child, line, end);
        };
        let site = call.call_site.as_ref();
        let is_on_line = site.is_some_and(|site| line.is_at(site));
        match &child.ranges[..] {
            [range] if is_on_line && range.end == end && range.start == call.entry => {
                Some(range.start)
            }
            _ => call_before(child, line, end),
        }
    })
}

/// Returns where the code of the calls on a line begins.
fn calls_on_line(module: &Module, file: &SourceFile, line: u32) -> Vec<LineLocation> {
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
