//! Name lookup for conditions and messages when a breakpoint is bound, so that a mistake is
//! reported when it is set. It uses debug info only; the process is not read.

use crate::compile::CodeScope;
use crate::debugger::Debugger;
use crate::debugger::fast_breakpoint::why_outside;
use crate::expr::{Expression, Meaning};
use crate::ids::{BreakpointId, BreakpointOptions};
use crate::images::modules::Modules;
use crate::inferior::site::Owner;
pub(crate) use crate::stops::breakpoint::condition::Segment;
use crate::stops::breakpoint::names::{MAX_LOCATIONS, NameScope, Names, Role, Wrong};
use crate::stops::breakpoint::problem::Problem;
use crate::stops::breakpoint::resolve::resolve;
use crate::stops::breakpoint::watch::frame::OwnFrame;
use crate::stops::breakpoint::{Breakpoint, Spec};
use dwarf::{LoadAddr, Module};
use std::path::Path;
use std::sync::Arc;

impl Debugger {
    /// Returns what is wrong with a tracepoint's query at a line, or that the line has no code;
    /// `None`: nothing is known to be wrong. Neither the breakpoints nor the program change.
    pub fn check_trace(&self, source: &Path, line: u32, query: String) -> Option<String> {
        let spec = Spec::Line {
            source: source.to_path_buf(),
            line,
            column: None,
        };
        let options = BreakpointOptions {
            trace: Some(query),
            ..BreakpointOptions::default()
        };
        let mut breakpoint = Breakpoint::new(spec, options);
        let resolved = resolve(source, line, None, &self.images.modules);
        breakpoint.bound = resolved.bound;
        breakpoint.parse(breakpoint.bound.first().map(|bound| bound.language));
        let failure = breakpoint.failure.as_ref();
        // A library that is loaded later may have the line.
        let problem = failure.or(resolved.why.as_ref());
        match problem {
            Some(problem) => Some(problem.text.clone()),
            None => match check(&breakpoint, &self.images.modules).names {
                Names::Reading => None,
                Names::Mistaken(problem) => Some(problem.text),
                names => names.problem().map(str::to_owned),
            },
        }
    }

    /// Checks the names in a breakpoint's condition and message at its locations, unless that has
    /// been done. Returns true if its message has changed.
    pub(crate) fn check_names(&mut self, id: BreakpointId) -> bool {
        let Some(breakpoint) = self.stops.breakpoints.all.get(&id) else {
            return false;
        };
        let unbound = breakpoint.failure.is_some() || breakpoint.bound.is_empty();
        if unbound || matches!(breakpoint.names, Names::Known) {
            return false;
        }
        let Checked {
            names,
            lacking,
            unread,
            outside,
        } = check(breakpoint, &self.images.modules);
        let may_be_fast = self.inferior.os().why_no_jumps().is_none();
        for module in &unread {
            let os = self.inferior.os();
            self.images.indexer.prepare(module, || os.waker());
        }
        // If no location has the names, the error is reported at a hit.
        let lacking = match names {
            Names::InPart(_) | Names::Mistaken(_) => lacking,
            _ => Vec::new(),
        };
        let Some(breakpoint) = self.stops.breakpoints.all.get_mut(&id) else {
            return false;
        };
        let is_expected = breakpoint.expect_evaluation(outside.filter(|_| may_be_fast));
        let changed = is_expected
            || names.problem() != breakpoint.names.problem()
            || names.mistake() != breakpoint.names.mistake();
        breakpoint.names = names;
        let before = std::mem::replace(&mut breakpoint.lacking, lacking);
        let places = breakpoint.bound.iter().map(|bound| bound.addr);
        for addr in places.filter(|_| !breakpoint.options.hardware) {
            let owner = Owner::User(id);
            match (before.contains(&addr), breakpoint.lacking.contains(&addr)) {
                (false, true) => self.inferior.remove_site(addr, owner),
                (true, false) => drop(self.inferior.add_site(addr, owner)),
                _ => {}
            }
        }
        changed
    }
}

/// The result of the check of a breakpoint's names.
struct Checked {
    names: Names,
    /// The locations that lack names.
    lacking: Vec<LoadAddr>,
    /// Images that would have to be indexed to know more.
    unread: Vec<Arc<Module>>,
    /// Why the debugger will evaluate the hits.
    outside: Option<String>,
}

/// Checks the condition of a data breakpoint in the frame where it was set.
pub(super) fn check_in_frame(
    breakpoint: &Breakpoint,
    frame: &OwnFrame,
    modules: &Modules,
) -> Names {
    let Some(condition) = &breakpoint.program.condition else {
        return Names::Known;
    };
    let here = NameScope::at(
        modules,
        CodeScope::at(modules, None, frame.code, frame.depth),
    );
    // Without a local of the frame it is evaluated in the function that accesses the data.
    let mentioned = condition.mentioned();
    if !mentioned.iter().any(|it| here.has_local(it.name)) {
        return Names::Known;
    }
    match here.wrong_in(Role::Condition, condition) {
        Some(Wrong {
            text,
            mistake: Some(kind),
        }) => Names::Mistaken(Problem::new(kind, text)),
        _ => Names::Known,
    }
}

/// Checks the names in a breakpoint's condition, message and query at its locations.
fn check(breakpoint: &Breakpoint, modules: &Modules) -> Checked {
    let program = &breakpoint.program;
    let mut expressions: Vec<(Role, &Expression)> = Vec::new();
    let of_condition = match program.trace {
        Some(_) => Role::Filter,
        None => Role::Condition,
    };
    expressions.extend(program.condition.iter().map(|it| (of_condition, &**it)));
    for segment in program.message.iter().flat_map(|it| it.iter()) {
        if let Segment::Value(expression) = segment {
            expressions.push((Role::LogMessage, expression));
        }
    }
    if let Some(query) = &program.trace {
        expressions.extend(query.expressions().map(|(it, of)| (Role::Trace(of), it)));
    }
    let (mut known, mut lacking, mut unread_somewhere) = (false, Vec::new(), false);
    let mut unread = Vec::new();
    let places = &breakpoint.bound[..breakpoint.bound.len().min(MAX_LOCATIONS)];
    let places = places.iter().filter(|_| !expressions.is_empty());
    let places: Vec<_> = places
        .map(|place| {
            let scope = CodeScope::at(modules, None, place.addr, place.hidden);
            (place.addr, NameScope::at(modules, scope))
        })
        .collect();
    // A local variable of one location is meant, even if other locations might have a global
    // variable of that name that is not known yet.
    let mentioned = expressions
        .iter()
        .flat_map(|(_, expressions)| expressions.mentioned());
    let locals: Vec<&str> = mentioned
        .filter(|it| !matches!(it.what, Meaning::Register | Meaning::Type))
        .map(|it| it.name)
        .filter(|_| places.len() > 1)
        .filter(|name| places.iter().any(|(_, here)| here.has_local(name)))
        .collect();
    for (addr, here) in places {
        let wrong = expressions.iter().find_map(|(role, expression)| {
            here.lacks_local(*role, expression, &locals)
                .or_else(|| here.wrong_in(*role, expression))
        });
        let function = here.scope.function_name();
        let unread_here = here.unread.into_inner();
        match wrong {
            Some(wrong) => lacking.push((addr, function, wrong)),
            None if !unread_here.is_empty() => unread_somewhere = true,
            None => known = true,
        }
        unread.extend(unread_here);
    }
    let is_mistaken = lacking.len() == breakpoint.bound.len()
        && lacking.iter().all(|(.., wrong)| wrong.mistake.is_some());
    let names = match lacking.first() {
        Some((_, Some(function), wrong)) if known || unread_somewhere => {
            Names::InPart(format!("not hit in `{function}`: {}", wrong.text))
        }
        Some((_, None, wrong)) if known || unread_somewhere => Names::InPart(wrong.text.clone()),
        _ if unread_somewhere => Names::Reading,
        Some((
            ..,
            Wrong {
                text,
                mistake: Some(kind),
            },
        )) if is_mistaken => Names::Mistaken(Problem::new(*kind, text.clone())),
        Some((.., wrong)) => Names::Unknown(wrong.text.clone()),
        None => Names::Known,
    };
    let first = breakpoint.bound.first();
    let outside = first
        .filter(|_| matches!(names, Names::Known))
        .and_then(|place| {
            let scope = CodeScope::at(modules, None, place.addr, place.hidden);
            why_outside(breakpoint, &scope)
        });
    Checked {
        names,
        outside,
        lacking: lacking.into_iter().map(|(addr, ..)| addr).collect(),
        unread,
    }
}
