//! Marks: breakpoints at the places of a tracepoint's `since`, which keep the time of each pass. They
//! come and go with the tracepoint, and clients do not see them.

use super::problem::ProblemKind;
use super::{Breakpoint, BreakpointInfo, Breakpoints, Spec};
use crate::expr::query::Since;
use crate::ids::{BreakpointId, BreakpointOptions};
use std::path::PathBuf;

/// Whose mark a breakpoint is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Mark {
    /// The tracepoint.
    pub(crate) tracepoint: BreakpointId,
    /// Its query: what another one measures, it does not know.
    query: Option<String>,
    /// The place, and the text of the key.
    place: String,
    pub(crate) key: String,
}

impl Mark {
    fn is_for(&self, tracepoint: BreakpointId, since: &Since) -> bool {
        self.tracepoint == tracepoint && self.place == since.place && self.key == since.key.text
    }

    fn is_current(&self, all: &Breakpoints) -> bool {
        let options = all.options(self.tracepoint);
        options.is_some_and(|options| options.trace == self.query)
    }

    /// Returns the part of the query that it is for.
    fn text(&self) -> String {
        format!("since({})", self.place)
    }
}

impl Spec {
    /// Returns what `FILE:LINE`, the name of a function or a pattern means.
    pub(crate) fn of_place(text: &str) -> Spec {
        let text = text.trim();
        let line = text.rsplit_once(':').and_then(|(file, line)| {
            let is_file = !file.is_empty() && !file.ends_with(':');
            Some((file, line.parse().ok()?)).filter(|_| is_file)
        });
        match line {
            Some((file, line)) => Spec::Line {
                source: PathBuf::from(file),
                line,
                column: None,
            },
            None => Spec::Function(text.to_owned()),
        }
    }
}

impl Breakpoints {
    /// Adds the marks that the queries of tracepoints need, and removes those that none needs. Returns
    /// both.
    pub(crate) fn update_marks(&mut self) -> (Vec<BreakpointId>, Vec<BreakpointId>) {
        let mut wanted = Vec::new();
        for (id, query) in self.traces() {
            wanted.extend(query.sinces.iter().map(|since| (id, since.clone())));
        }
        let is_wanted = |mark: &Mark| {
            let mut wanted = wanted.iter();
            mark.is_current(self) && wanted.any(|(id, since)| mark.is_for(*id, since))
        };
        let is_gone = |id: &BreakpointId| !self.mark(*id).is_some_and(is_wanted);
        let gone: Vec<BreakpointId> = self.marks.iter().copied().filter(is_gone).collect();
        self.marks.retain(|id| !gone.contains(id));
        for id in &gone {
            self.all.remove(id);
        }
        let mut added = Vec::new();
        for (tracepoint, since) in wanted {
            if self.mark_for(tracepoint, &since).is_some() {
                continue;
            }
            let mark = Mark {
                tracepoint,
                query: self.options(tracepoint).and_then(|it| it.trace.clone()),
                place: since.place.clone(),
                key: since.key.text.clone(),
            };
            let mut breakpoint =
                Breakpoint::new(Spec::of_place(&since.place), BreakpointOptions::default());
            breakpoint.mark = Some(mark);
            breakpoint.parse(None);
            let id = self.new_id();
            self.all.insert(id, breakpoint);
            self.marks.push(id);
            added.push(id);
        }
        (added, gone)
    }

    /// Returns whose mark a breakpoint is.
    pub(crate) fn mark(&self, id: BreakpointId) -> Option<&Mark> {
        self.all.get(&id)?.mark.as_ref()
    }

    /// Returns the mark for a `since` of a tracepoint.
    pub(crate) fn mark_for(&self, tracepoint: BreakpointId, since: &Since) -> Option<BreakpointId> {
        let mut marks = self.marks.iter().copied();
        marks.find(|id| {
            self.mark(*id)
                .is_some_and(|it| it.is_for(tracepoint, since))
        })
    }

    /// Returns the breakpoint that a client knows: the tracepoint of a mark.
    pub(crate) fn known_to_clients(&self, id: BreakpointId) -> BreakpointId {
        self.mark(id).map_or(id, |mark| mark.tracepoint)
    }

    /// Adds the problems of a tracepoint's marks to its state: places that are not found, keys that are wrong, marks that
    /// are slow.
    pub(crate) fn add_marks(&self, tracepoint: BreakpointId, info: &mut BreakpointInfo) {
        for id in &self.marks {
            let Some(breakpoint) = self.all.get(id) else {
                continue;
            };
            let own = breakpoint.info(*id);
            let Some(mark) = breakpoint.mark.as_ref() else {
                continue;
            };
            if mark.tracepoint != tracepoint {
                continue;
            }
            info.lacks_names |= own.lacks_names || !own.verified;
            if own.problem == Some(ProblemKind::Searching) {
                info.problem = info.problem.or(own.problem);
            }
            if let Some(message) = own.message.filter(|_| !own.is_in_program) {
                info.is_in_program = false;
                let known = info.message.take();
                let remarks = known
                    .into_iter()
                    .chain([format!("{}: {message}", mark.text())]);
                info.message = Some(remarks.collect::<Vec<_>>().join("; "));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn traced(query: &str) -> (Spec, BreakpointOptions) {
        let options = BreakpointOptions {
            trace: Some(query.to_owned()),
            ..BreakpointOptions::default()
        };
        (Spec::of_place("shop.c:80"), options)
    }

    #[test]
    fn marks_follow_the_queries() {
        let mut all = Breakpoints::default();
        let query = "mean(since(shop.c:41)), max(since(shop.c:41)), since(begin, n)";
        let (ids, _) = all.replace(Vec::new(), vec![traced(query)]);
        let (added, gone) = all.update_marks();
        assert_eq!((added.len(), gone.len()), (2, 0));
        let specs: Vec<&Spec> = added.iter().map(|id| &all.all[id].spec).collect();
        let line = Spec::Line {
            source: "shop.c".into(),
            line: 41,
            column: None,
        };
        assert_eq!(specs, [&line, &Spec::Function("begin".to_owned())]);
        assert_eq!(all.known_to_clients(added[1]), ids[0]);
        assert_eq!(all.update_marks(), (Vec::new(), Vec::new()));
        // Another query of the tracepoint begins anew.
        let (ids, _) = all.replace(ids, vec![traced("since(begin, n)")]);
        let (other, gone) = all.update_marks();
        assert_eq!((other.len(), gone), (1, added));
        let since = all.trace(ids[0]).expect("a query").sinces[0].clone();
        assert_eq!(all.mark_for(ids[0], &since), Some(other[0]));
        all.all.remove(&ids[0]);
        assert_eq!(all.update_marks(), (Vec::new(), other));
        assert!(all.all.is_empty());
    }

    #[test]
    fn places_are_lines_and_functions() {
        for function in ["begin", "shop::run", "/^a::b$/", ":3", "a::3"] {
            assert_eq!(
                Spec::of_place(function),
                Spec::Function(function.to_owned())
            );
        }
    }
}
