//! Progress of long work. Work is reported once it has lasted [`SHOW_AFTER`], so that short work
//! causes no flicker, and at most every [`UPDATE_INTERVAL`].

use crate::protocol::RequestError;
use crate::protocol::{ProgressEndEventBody, ProgressStartEventBody, ProgressUpdateEventBody};
use crate::session::Session;
use crate::session::core_file::Unpacking;
use crate::session::opening::Opening;
use crate::session::startup;
use crate::session::work::Work;
use std::time::{Duration, Instant};

/// Minimum duration of work that is reported.
const SHOW_AFTER: Duration = Duration::from_millis(500);
/// Minimum interval between two updates.
const UPDATE_INTERVAL: Duration = Duration::from_millis(250);

/// The work that was reported to the client.
#[derive(Debug, Default)]
pub struct Progress {
    shown: Vec<ShownProgress>,
    last: u32,
}

#[derive(Debug)]
struct ShownProgress {
    id: String,
    work: Work,
    updated_at: Instant,
}

/// A progress event.
#[derive(PartialEq, Eq, Debug)]
enum ProgressChange {
    Start(String, Work),
    Update(String, Option<u32>),
    End(String),
}

impl Progress {
    /// Returns when the next event of this work is due.
    fn due(&self, work: &Work) -> Instant {
        let shown = self.shown.iter().find(|shown| shown.is(work));
        shown.map_or(work.began + SHOW_AFTER, |shown| {
            shown.updated_at + UPDATE_INTERVAL
        })
    }

    /// Returns the events due at `now`, if `under_way` is all the work in progress.
    fn advance(&mut self, now: Instant, under_way: &[Work]) -> Vec<ProgressChange> {
        let mut changes = Vec::new();
        self.shown.retain(|shown| {
            let stays = under_way.iter().any(|work| shown.is(work));
            if !stays {
                changes.push(ProgressChange::End(shown.id.clone()));
            }
            stays
        });
        for work in under_way {
            if now < self.due(work) {
                continue;
            }
            match self.shown.iter_mut().find(|shown| shown.is(work)) {
                Some(shown) => {
                    shown.updated_at = now;
                    if shown.work.percentage != work.percentage {
                        shown.work.percentage = work.percentage;
                        changes.push(ProgressChange::Update(shown.id.clone(), work.percentage));
                    }
                }
                None => {
                    self.last += 1;
                    let (id, work) = (format!("work {}", self.last), work.clone());
                    changes.push(ProgressChange::Start(id.clone(), work.clone()));
                    self.shown.push(ShownProgress {
                        id,
                        work,
                        updated_at: now,
                    });
                }
            }
        }
        changes
    }
}

impl ShownProgress {
    fn is(&self, work: &Work) -> bool {
        self.work.title == work.title && self.work.began == work.began
    }
}

/// Returns all work in progress.
fn current_work(session: &Session) -> Vec<Work> {
    let mut all = Vec::new();
    all.extend(search_for_functions(session));
    all.extend(name_indexing(session));
    all.extend(session.debuginfod.work());
    all.extend(session.startup.being_unpacked().map(Unpacking::work));
    all.extend(session.startup.being_opened().map(Opening::work));
    all
}

/// Returns the search for functions that holds the debuggee, as work.
fn search_for_functions(session: &Session) -> Option<Work> {
    let search = session.debugger.held_for_functions()?;
    Some(Work {
        title: format!("Searching functions of breakpoints in {}", search.image),
        began: search.began,
        percentage: None,
        cancellable: true,
    })
}

fn name_indexing(session: &Session) -> Option<Work> {
    let reading = session.debugger.reading_names()?;
    let read = u64::from(reading.units_read) * 100;
    let percentage = read.checked_div(reading.units.into());
    Some(Work {
        title: format!("Indexing symbols of {}", reading.image),
        began: reading.began,
        percentage: percentage.and_then(|percentage| u32::try_from(percentage.min(100)).ok()),
        cancellable: true,
    })
}

/// Cancels the work with this id, if that is possible and it is still in progress.
pub fn cancel(session: &mut Session, id: &str) {
    let mut shown = session.progress.shown.iter();
    let Some(place) = shown.position(|shown| shown.id == id) else {
        return;
    };
    let is = |work: Option<Work>| work.is_some_and(|work| session.progress.shown[place].is(&work));
    if is(session.debuginfod.work()) {
        session.debuginfod.cancel();
    } else if is(session.startup.being_unpacked().map(Unpacking::work))
        || is(session.startup.being_opened().map(Opening::work))
    {
        startup::fail(session, RequestError::Cancelled);
    } else if is(search_for_functions(session)) {
        session.debugger.stop_waiting_for_functions();
        session.console(
            "The program no longer waits for function breakpoints: they bind when found.\n",
        );
    } else if is(name_indexing(session)) {
        session.debugger.give_up_reading_names();
        session.console(
            "Names of functions, variables and types that were not indexed yet cannot be found.\n",
        );
    } else {
        return;
    }
    session.progress.shown.remove(place);
    let message = Some("cancelled");
    let end = ProgressEndEventBody {
        progress_id: id,
        message,
    };
    session.event("progressEnd", &end);
}

/// Returns when [`advance`] must run next; `None`: not until something else happens.
pub fn deadline(session: &Session) -> Option<Instant> {
    if !session.client.progress {
        return None;
    }
    let all = current_work(session);
    all.iter().map(|work| session.progress.due(work)).min()
}

/// Sends the progress events that are due.
pub fn advance(session: &mut Session) {
    if !session.client.progress {
        return;
    }
    let all = current_work(session);
    for changes in session.progress.advance(Instant::now(), &all) {
        match changes {
            ProgressChange::Start(id, work) => session.event(
                "progressStart",
                &ProgressStartEventBody {
                    progress_id: &id,
                    title: &work.title,
                    cancellable: work.cancellable,
                    percentage: work.percentage,
                },
            ),
            ProgressChange::Update(id, percentage) => session.event(
                "progressUpdate",
                &ProgressUpdateEventBody {
                    progress_id: &id,
                    percentage,
                },
            ),
            ProgressChange::End(id) => session.event(
                "progressEnd",
                &ProgressEndEventBody {
                    progress_id: &id,
                    message: None,
                },
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work(began: Instant, percentage: u32) -> Work {
        Work {
            title: "Reading".to_owned(),
            began,
            percentage: Some(percentage),
            cancellable: false,
        }
    }

    #[test]
    fn short_work_shows_no_progress() {
        let (mut progress, began) = (Progress::default(), Instant::now());
        let soon = began + SHOW_AFTER / 2;
        assert_eq!(progress.due(&work(began, 0)), began + SHOW_AFTER);
        assert_eq!(progress.advance(soon, &[work(began, 50)]), []);
        assert_eq!(progress.advance(began + SHOW_AFTER * 2, &[]), []);
    }

    #[test]
    fn long_work_starts_advances_and_ends() {
        let (mut progress, began) = (Progress::default(), Instant::now());
        let id = || "work 1".to_owned();
        let mut now = began + SHOW_AFTER;
        let at = |percentage| [work(began, percentage)];
        let started = progress.advance(now, &at(10));
        assert_eq!(started, [ProgressChange::Start(id(), work(began, 10))]);
        assert_eq!(progress.due(&work(began, 10)), now + UPDATE_INTERVAL);
        assert_eq!(progress.advance(now + UPDATE_INTERVAL / 2, &at(20)), []);
        now += UPDATE_INTERVAL;
        assert_eq!(
            progress.advance(now, &at(30)),
            [ProgressChange::Update(id(), Some(30))]
        );
        now += UPDATE_INTERVAL;
        assert_eq!(progress.advance(now, &at(30)), []);
        assert_eq!(progress.advance(now, &[]), [ProgressChange::End(id())]);
        assert_eq!(progress.advance(now, &[]), []);
    }

    #[test]
    fn one_work_after_another() {
        let (mut progress, began) = (Progress::default(), Instant::now());
        let later = began + SHOW_AFTER;
        progress.advance(later, &[work(began, 10)]);
        // The first work ends; the second does not last for `SHOW_AFTER`.
        let ended = progress.advance(later, &[work(later, 0)]);
        assert_eq!(ended, [ProgressChange::End("work 1".to_owned())]);
        let started = progress.advance(later + SHOW_AFTER, &[work(later, 0)]);
        assert_eq!(
            started,
            [ProgressChange::Start("work 2".to_owned(), work(later, 0))]
        );
    }
}
