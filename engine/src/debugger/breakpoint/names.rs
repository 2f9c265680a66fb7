//! Name lookup for conditions and messages when a breakpoint is bound, so that a mistake is
//! reported when it is set. It uses debug info only; the process is not read.

use crate::compile::CodeScope;
use crate::debugger::Debugger;
use crate::expr::{Expression, Meaning};
use crate::ids::BreakpointId;
use crate::inferior::site::Owner;
pub(crate) use crate::stops::breakpoint::condition::Segment;
use crate::stops::breakpoint::names::{MAX_LOCATIONS, NameScope, Names};
use std::cell::RefCell;

impl Debugger {
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
        let mut expressions: Vec<(&str, &Expression)> = Vec::new();
        expressions.extend(
            breakpoint
                .program
                .condition
                .iter()
                .map(|it| ("condition", &**it)),
        );
        for segment in breakpoint.program.message.iter().flat_map(|it| it.iter()) {
            if let Segment::Value(expression) = segment {
                expressions.push(("log message", expression));
            }
        }
        if let Some(query) = &breakpoint.program.trace {
            let subjects = query.subjects();
            expressions.extend(subjects.filter_map(|it| Some(("tracepoint", it.expression()?))));
        }
        let (mut known, mut lacking, mut unread_somewhere) = (false, Vec::new(), false);
        let places = &breakpoint.bound[..breakpoint.bound.len().min(MAX_LOCATIONS)];
        let places = places.iter().filter(|_| !expressions.is_empty());
        let places: Vec<_> = places
            .map(|place| {
                let here = NameScope {
                    modules: &self.images.modules,
                    scope: CodeScope::at(&self.images.modules, place.addr, place.hidden),
                    unread: RefCell::default(),
                };
                (place.addr, here)
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
            let wrong = expressions.iter().find_map(|(what, expressions)| {
                here.lacks_local(what, expressions, &locals)
                    .or_else(|| here.wrong_in(what, expressions))
            });
            let function = here.scope.function_name();
            let unread = here.unread.into_inner();
            for module in &unread {
                let os = self.inferior.os();
                self.images.indexer.prepare(module, || os.waker());
            }
            match wrong {
                Some(wrong) => lacking.push((addr, function, wrong)),
                None if !unread.is_empty() => unread_somewhere = true,
                None => known = true,
            }
        }
        let names = match lacking.first() {
            Some((_, Some(function), wrong)) if known || unread_somewhere => {
                Names::InPart(format!("not hit in `{function}`: {wrong}"))
            }
            Some((_, None, wrong)) if known || unread_somewhere => Names::InPart(wrong.clone()),
            _ if unread_somewhere => Names::Reading,
            Some((_, _, wrong)) => Names::Unknown(wrong.clone()),
            None => Names::Known,
        };
        // If no location has the names, the error is reported at a hit.
        let lacking = match names {
            Names::InPart(_) => lacking.into_iter().map(|(addr, ..)| addr).collect(),
            _ => Vec::new(),
        };
        let Some(breakpoint) = self.stops.breakpoints.all.get_mut(&id) else {
            return false;
        };
        let changed = names.problem() != breakpoint.names.problem();
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
