//! Folding of the reasons to stop: several breakpoints and filters may want one stop, and the
//! client gets one reason.

use super::event::StopReason;
use crate::ids::BreakpointId;

/// The results of the breakpoints, or of the filters, for one hit.
#[derive(Default)]
pub(crate) struct Tally {
    ids: Vec<BreakpointId>,
    stops: bool,
    problem: Option<String>,
}

impl Tally {
    /// Adds the result of a breakpoint or filter: whether it stops, or why its condition cannot be
    /// evaluated, which stops, too. A filter of a client without ids has none.
    pub fn add(&mut self, id: Option<BreakpointId>, result: Result<bool, String>) {
        match result {
            Ok(false) => return,
            Ok(true) => {}
            Err(problem) => self.problem = Some(problem),
        }
        self.stops = true;
        self.ids.extend(id);
    }

    /// Returns the reason to stop: a problem, or else what `stop` makes of the ids; `None` if
    /// nothing stops.
    pub fn reason(self, stop: impl FnOnce(Vec<BreakpointId>) -> StopReason) -> Option<StopReason> {
        match self.problem {
            Some(problem) => Some(StopReason::BreakpointError(self.ids, problem)),
            None => self.stops.then(|| stop(self.ids)),
        }
    }
}

/// Data breakpoints that stop at one hit, with a description of each access or end.
#[derive(Default)]
pub(crate) struct DataHits {
    /// Their ids.
    pub ids: Vec<BreakpointId>,
    /// Their descriptions.
    pub texts: Vec<String>,
}

/// Folds the reasons to stop at one hit of a site into one: data breakpoints whose frame has
/// `ended`, an exception, and breakpoints at the address. Also returns the descriptions that the
/// reason does not contain.
pub(crate) fn fold(
    ended: DataHits,
    exception: Option<StopReason>,
    breakpoint: Option<StopReason>,
) -> (Option<StopReason>, Vec<String>) {
    let reason = match (exception, breakpoint) {
        (
            Some(StopReason::Exception { mut ids, exception }),
            Some(StopReason::Breakpoint(more)),
        ) => {
            ids.extend(more);
            Some(StopReason::Exception { ids, exception })
        }
        (exception, breakpoint) => breakpoint.or(exception),
    };
    let here = match reason {
        _ if ended.ids.is_empty() => return (reason, Vec::new()),
        None => Vec::new(),
        Some(StopReason::Breakpoint(here)) => here,
        reason => return (reason, ended.texts),
    };
    let ids = ended.ids.into_iter().chain(here).collect();
    let reason = StopReason::Data(ids, ended.texts.join("; "));
    (Some(reason), Vec::new())
}

/// Folds the data breakpoints that an access has hit, of which one may have a `problem`, and the
/// breakpoints at the thread's pc. `None` if no data breakpoint stops.
pub(crate) fn fold_access(
    mut hits: DataHits,
    mut problem: Option<String>,
    breakpoint: Option<StopReason>,
) -> Option<StopReason> {
    if hits.ids.is_empty() {
        return None;
    }
    match breakpoint {
        Some(StopReason::Breakpoint(here)) => hits.ids.extend(here),
        Some(StopReason::BreakpointError(here, text)) => {
            hits.ids.extend(here);
            problem = Some(text);
        }
        _ => {}
    }
    Some(match problem {
        Some(text) => StopReason::BreakpointError(hits.ids, text),
        None => StopReason::Data(hits.ids, hits.texts.join("; ")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stops::exception::{Exception, Point};

    fn ids(numbers: &[u32]) -> Vec<BreakpointId> {
        numbers.iter().map(|number| BreakpointId(*number)).collect()
    }

    fn kind(reason: StopReason) -> (&'static str, Vec<BreakpointId>) {
        match reason {
            StopReason::Breakpoint(ids) => ("breakpoint", ids),
            StopReason::BreakpointError(ids, _) => ("error", ids),
            StopReason::Data(ids, _) => ("data", ids),
            StopReason::Exception { ids, .. } => ("exception", ids),
            other => panic!("{other:?}"),
        }
    }

    fn left() -> DataHits {
        DataHits {
            ids: ids(&[9]),
            texts: vec!["`x` has left".to_owned()],
        }
    }

    #[test]
    fn reasons_of_one_hit_are_folded_into_one() {
        let breakpoint = || Some(StopReason::Breakpoint(ids(&[3])));
        let failed = || Some(StopReason::BreakpointError(ids(&[3]), "bad".into()));
        let exception = || {
            Some(StopReason::Exception {
                ids: ids(&[7]),
                exception: Exception {
                    point: Point::Throw,
                    subject: None,
                },
            })
        };
        let none = DataHits::default;
        for (ended, exception, breakpoint, expected) in [
            (none(), None, None, None),
            (none(), None, breakpoint(), Some(("breakpoint", ids(&[3])))),
            (none(), exception(), None, Some(("exception", ids(&[7])))),
            // One stop with both, the exception first.
            (
                none(),
                exception(),
                breakpoint(),
                Some(("exception", ids(&[7, 3]))),
            ),
            // A failed condition takes precedence over everything else.
            (none(), exception(), failed(), Some(("error", ids(&[3])))),
            (left(), None, failed(), Some(("error", ids(&[3])))),
            (left(), None, None, Some(("data", ids(&[9])))),
            (left(), None, breakpoint(), Some(("data", ids(&[9, 3])))),
            (left(), exception(), None, Some(("exception", ids(&[7])))),
        ] {
            let has_ended = !ended.ids.is_empty();
            let (reason, left_out) = fold(ended, exception, breakpoint);
            let reason = reason.map(kind);
            // The client learns of each end: by the reason, or by a note.
            let is_shown = matches!(reason, Some(("data", _)));
            assert_eq!(!left_out.is_empty(), has_ended && !is_shown);
            assert_eq!(reason, expected);
        }
    }

    #[test]
    fn breakpoints_and_filters_of_one_hit_are_tallied() {
        let bad = || Err("bad".to_owned());
        let id = |number| Some(BreakpointId(number));
        for (results, expected) in [
            (vec![], None),
            (vec![(id(1), Ok(false))], None),
            (
                vec![(id(1), Ok(false)), (id(2), Ok(true)), (id(3), Ok(true))],
                Some(("breakpoint", ids(&[2, 3]))),
            ),
            // A filter without an id stops, too.
            (vec![(None, Ok(true))], Some(("breakpoint", ids(&[])))),
            // A condition that cannot be evaluated stops, and says why.
            (
                vec![(id(1), Ok(true)), (id(2), bad()), (id(3), Ok(false))],
                Some(("error", ids(&[1, 2]))),
            ),
        ] {
            let mut tally = Tally::default();
            for (id, result) in results {
                tally.add(id, result);
            }
            assert_eq!(tally.reason(StopReason::Breakpoint).map(kind), expected);
        }
    }

    #[test]
    fn an_access_is_folded_with_the_breakpoints_at_the_pc() {
        let problem = || Some("bad".to_owned());
        let breakpoint = || Some(StopReason::Breakpoint(ids(&[3])));
        let failed = || Some(StopReason::BreakpointError(ids(&[3]), "bad".into()));
        for (hits, problem, breakpoint, expected) in [
            // The breakpoint is hit when the thread resumes.
            (DataHits::default(), None, breakpoint(), None),
            (left(), None, None, Some(("data", ids(&[9])))),
            (left(), None, breakpoint(), Some(("data", ids(&[9, 3])))),
            (left(), None, failed(), Some(("error", ids(&[9, 3])))),
            (left(), problem(), None, Some(("error", ids(&[9])))),
        ] {
            assert_eq!(fold_access(hits, problem, breakpoint).map(kind), expected);
        }
    }
}
