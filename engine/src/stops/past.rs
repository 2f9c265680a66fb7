//! Past stops, as decisions: which of them a step back leads to, and whether a copy of the process
//! can be afforded at a stop.

use crate::ids::ThreadId;
use crate::os::MemoryUse;
use std::time::Duration;

/// How the program came from one stop to the next.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Motion {
    /// It ran.
    #[default]
    Run,
    /// This thread made a step, whose end may have been another stop.
    Step(ThreadId),
}

/// A stop that can be shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Point {
    /// The number of stops until then; all are counted, kept or not.
    pub number: u64,
    /// How it was reached.
    pub reached_by: Motion,
}

/// A way from a stop to one of its neighbors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// To the begin of the step of this thread that led to the stop.
    StepBack(ThreadId),
    /// To the stop before.
    Back,
    /// To the end of the step of this thread that began at the stop.
    StepForward(ThreadId),
    /// To the stop after.
    Forward,
}

/// Returns the number of the stop that a way leads to from the stop `at`. `points`: all stops that
/// can be shown, oldest first, the present one included.
///
/// # Errors
/// Why the way leads nowhere, for the user.
pub(crate) fn destination(points: &[Point], at: u64, way: Way) -> Result<u64, String> {
    let index = points.partition_point(|point| point.number < at);
    let before = index.checked_sub(1).and_then(|before| points.get(before));
    let after = points.get(index + 1);
    let is_step = |from: &Point, to: &Point, thread| {
        to.reached_by == Motion::Step(thread) && from.number + 1 == to.number
    };
    match way {
        Way::Back => before.map(|point| point.number).ok_or_else(|| match at {
            0 | 1 => "this is the first stop: without a recording, only earlier stops can be shown"
                .to_owned(),
            _ => "no earlier stop is kept".to_owned(),
        }),
        Way::Forward => after
            .map(|point| point.number)
            .ok_or_else(|| "this is the present stop".to_owned()),
        Way::StepBack(thread) => match (before, points.get(index)) {
            (Some(before), Some(here)) if is_step(before, here, thread) => Ok(before.number),
            (None, _) => destination(points, at, Way::Back),
            _ => Err(
                "this stop was not reached by a step of this thread, and without a recording only \
                 earlier stops can be shown: reverse-continue goes to the stop before this one"
                    .to_owned(),
            ),
        },
        Way::StepForward(thread) => match (points.get(index), after) {
            (Some(here), Some(after)) if is_step(here, after, thread) => Ok(after.number),
            (_, None) => destination(points, at, Way::Forward),
            _ => Err(
                "the program did not step from this past stop: continue goes to the stop after it"
                    .to_owned(),
            ),
        },
    }
}

/// The number of stops before the present one that are kept.
pub(crate) const MAX_STOPS: u64 = 32;
/// A stop that lasted a shorter time was seen by no user: a script drives the client, and a copy
/// would take longer than its step.
const MIN_STOP: Duration = Duration::from_millis(5);

/// Returns whether to keep a stop that the program leaves after this time.
pub(crate) fn is_worth_keeping(lasted: Duration) -> bool {
    lasted >= MIN_STOP
}

/// A copy may take this long.
const MAX_COST: Duration = Duration::from_millis(10);
/// After this many copies in a row that took longer, no more are made.
const MAX_SLOW: u32 = 5;
/// Copies of programs with less memory take longer only because the machine is busy; in bytes.
const MIN_SLOW: u64 = 100 << 20;
/// A process with more memory is not copied even once; in bytes.
const MAX_RESIDENT: u64 = 1 << 30;

/// Whether copies of the process are made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Allowance {
    /// The number of copies in a row that took too long.
    slow: u32,
    /// Whether no more are made.
    is_over: bool,
}

/// What to do at a stop.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Affordable {
    /// Make a copy; `drop_all`: first end all others, as memory is scarce.
    Copy { drop_all: bool },
    /// Make none.
    None,
    /// Make none from now on, and say why.
    Never(String),
}

impl Allowance {
    /// Returns whether to copy a process at a stop.
    pub fn at_stop(&mut self, memory: Option<MemoryUse>) -> Affordable {
        let Some(MemoryUse {
            resident,
            available,
        }) = memory.filter(|_| !self.is_over)
        else {
            return Affordable::None;
        };
        if resident > MAX_RESIDENT {
            return self.end(format!("the program has {} in memory", megabytes(resident)));
        }
        // At worst, a copy needs as much memory as the process once that has changed it all.
        match available / 4 {
            quarter if quarter > resident => Affordable::Copy { drop_all: false },
            _ if available > resident.saturating_mul(2) => Affordable::Copy { drop_all: true },
            _ => Affordable::None,
        }
    }

    /// Records how long a copy took. Returns what to say if it was the last one.
    pub fn after(&mut self, cost: Duration, memory: Option<MemoryUse>) -> Option<String> {
        let is_large = memory.is_some_and(|memory| memory.resident >= MIN_SLOW);
        self.slow = match cost > MAX_COST && is_large {
            true => self.slow + 1,
            false => 0,
        };
        if self.slow < MAX_SLOW {
            return None;
        }
        let size = memory.map_or_else(String::new, |memory| {
            format!(" of {}", megabytes(memory.resident))
        });
        let cost = cost.as_millis();
        match self.end(format!("a copy{size} takes {cost} ms")) {
            Affordable::Never(why) => Some(why),
            _ => None,
        }
    }

    /// Makes no more copies, for this reason.
    pub fn end(&mut self, why: String) -> Affordable {
        match std::mem::replace(&mut self.is_over, true) {
            true => Affordable::None,
            false => Affordable::Never(why),
        }
    }
}

fn megabytes(bytes: u64) -> String {
    format!("{} MB", bytes >> 20)
}

#[cfg(test)]
mod tests {
    use super::*;

    const T: ThreadId = ThreadId(7);
    const OTHER: ThreadId = ThreadId(8);

    fn points() -> Vec<Point> {
        let point = |(number, reached_by)| Point { number, reached_by };
        let made = [
            (3, Motion::Run),
            (4, Motion::Step(T)),
            // 5 was not kept.
            (6, Motion::Step(T)),
            (7, Motion::Run),
            (8, Motion::Step(OTHER)),
        ];
        made.map(point).to_vec()
    }

    #[test]
    fn stops_are_walked_in_both_directions() {
        let points = points();
        let go = |at, way| destination(&points, at, way).ok();
        assert_eq!(go(8, Way::Back), Some(7));
        assert_eq!(go(6, Way::Back), Some(4), "over one that was not kept");
        assert_eq!(go(3, Way::Back), None);
        assert_eq!(go(3, Way::Forward), Some(4));
        assert_eq!(go(8, Way::Forward), None);
        // Of a stop that has no copy yet, the neighbor is known all the same.
        assert_eq!(destination(&points, 9, Way::Back), Ok(8));
    }

    #[test]
    fn a_step_back_leads_only_to_the_begin_of_a_step() {
        let points = points();
        let go = |at, way| destination(&points, at, way).ok();
        assert_eq!(go(4, Way::StepBack(T)), Some(3));
        assert_eq!(go(4, Way::StepBack(OTHER)), None);
        assert_eq!(go(6, Way::StepBack(T)), None, "its begin was not kept");
        assert_eq!(go(7, Way::StepBack(T)), None, "the program ran to it");
        assert_eq!(go(8, Way::StepBack(OTHER)), Some(7));
        assert_eq!(go(3, Way::StepForward(T)), Some(4));
        assert_eq!(go(4, Way::StepForward(T)), None);
        assert_eq!(go(7, Way::StepForward(OTHER)), Some(8));
    }

    #[test]
    fn reasons_name_what_to_do_instead() {
        let why = |at, way| destination(&points(), at, way).expect_err("nowhere");
        assert!(why(7, Way::StepBack(T)).contains("reverse-continue"));
        assert!(why(4, Way::StepForward(T)).contains("continue goes"));
        assert!(why(8, Way::StepForward(T)).contains("present"));
        assert!(why(3, Way::StepBack(T)).contains("no earlier stop"));
        let first = [Point {
            number: 1,
            reached_by: Motion::Run,
        }];
        let why = destination(&first, 1, Way::StepBack(T)).expect_err("nowhere");
        assert!(why.contains("first stop"), "{why}");
    }

    #[test]
    fn copies_end_once_they_cost_too_much() {
        const MB: u64 = 1 << 20;
        let memory = |resident, available| {
            Some(MemoryUse {
                resident: resident * MB,
                available: available * MB,
            })
        };
        let mut allowance = Allowance::default();
        let plenty = memory(100, 8000);
        assert_eq!(allowance.at_stop(None), Affordable::None);
        assert_eq!(
            allowance.at_stop(plenty),
            Affordable::Copy { drop_all: false }
        );
        assert_eq!(
            allowance.at_stop(memory(100, 300)),
            Affordable::Copy { drop_all: true }
        );
        assert_eq!(allowance.at_stop(memory(100, 150)), Affordable::None);
        let (slow, quick) = (Duration::from_millis(15), Duration::from_millis(1));
        for cost in [slow, slow, slow, slow, quick, slow, slow, slow, slow] {
            assert_eq!(allowance.after(cost, plenty), None);
        }
        let small = memory(20, 8000);
        let busy = [slow; 9].map(|cost| Allowance::default().after(cost, small));
        assert_eq!(busy, [const { None }; 9], "the machine is busy");
        let why = allowance.after(slow, plenty).expect("five in a row");
        assert_eq!(why, "a copy of 100 MB takes 15 ms");
        assert_eq!(allowance.at_stop(plenty), Affordable::None, "said once");
        let large = Allowance::default().at_stop(memory(3000, 90_000));
        assert_eq!(
            large,
            Affordable::Never("the program has 3000 MB in memory".to_owned())
        );
    }
}
