//! The rows of the line table that a step back may come from: those of the function that the thread is in,
//! and of its caller, each in its frame. A step over comes from no inlined call that is inside of the frame.

use crate::debugger::Debugger;
use crate::ids::ThreadId;
use crate::ids::error::Error;
use crate::inspect::inlined::calls_begun;
use crate::stops::breakpoint::frame_places::FramePlace;
use crate::stops::step::inlined_at;
use crate::stops::travel::Goal;
use dwarf::{DieRef, FrameAddress, LoadAddr, Register};
use rustc_hash::FxHashSet;
use std::hash::{Hash, Hasher};

/// More rows are not watched.
const MOST: usize = 1 << 12;

fn without_lines(what: &str) -> Error {
    Error::NoSuchPast(format!(
        "{what} has no line information, which steps back need; use `reverseContinue` to a breakpoint"
    ))
}

/// A row in a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Row {
    pub place: FramePlace,
    /// Tells its line apart from others.
    pub line: u64,
}

/// Which inlined calls rows may be in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Inlined {
    /// In any.
    Any,
    /// In those that the frame is in.
    OfFrame,
    /// In those that the frame was called from, if it is one of an inlined call itself.
    OfCaller,
}

impl Inlined {
    /// Returns whether rows in these inlined calls are wanted, in a frame that is in the `shown` ones.
    fn wants(self, row: &[DieRef], shown: &[DieRef]) -> bool {
        match self {
            Inlined::Any => true,
            Inlined::OfFrame => shown.starts_with(row),
            Inlined::OfCaller => shown.starts_with(row) && row.len() < shown.len(),
        }
    }
}

impl Debugger {
    /// Returns the rows that a stopped thread may have passed before.
    ///
    /// # Errors
    /// Its stack cannot be read, or nothing of it has lines.
    pub(super) fn searched_rows(
        &mut self,
        thread: ThreadId,
        goal: Goal,
        inlined: Inlined,
    ) -> Result<Vec<Row>, Error> {
        /// Frames without lines are passed over.
        const FRAMES: usize = 16;
        const WANTED: usize = 2;
        /// Steps by instructions from farther out would make millions of them.
        const FRAMES_OF_INSTRUCTIONS: usize = 2;
        let reach = match goal {
            Goal::Instruction => FRAMES_OF_INSTRUCTIONS,
            _ => FRAMES,
        };
        let mut rows: Vec<Row> = Vec::new();
        let mut places = FxHashSet::default();
        let mut found = 0;
        self.unwound(thread, FRAMES)?;
        let stack = self.stack_so_far(thread);
        let frames: Vec<_> = stack
            .map(|stack| &stack.physical[..stack.physical.len().min(FRAMES)])
            .unwrap_or_default()
            .iter()
            .filter(|frame| !frame.is_tail_call && !frame.is_signal)
            .take(reach)
            .map(|frame| {
                let (function, bias) = frame.function.clone()?;
                let mut shown = inlined_at(&function, bias.file(frame.address.lookup()));
                shown.truncate(shown.len().saturating_sub(frame.hidden));
                Some((frame.address, (function, bias), frame.cfa?, shown))
            })
            .collect();
        if goal == Goal::Instruction && frames.first().is_none_or(Option::is_none) {
            return Err(without_lines("the function"));
        }
        let frames: Vec<_> = frames.into_iter().flatten().collect();
        let is_in_inlined = frames.first().is_some_and(|frame| !frame.3.is_empty());
        let has_outer = goal == Goal::Caller && is_in_inlined;
        let skipped = usize::from(goal == Goal::Caller && !is_in_inlined);
        // At the entry, only the caller has passed a statement.
        let is_at_entry = frames
            .first()
            .is_some_and(|(address, (function, bias), ..)| {
                let mut ranges = function.ranges.iter();
                ranges.any(|range| bias.load(range.start) == address.lookup())
            });
        let frames = frames.into_iter().enumerate().skip(skipped);
        for (nth, (address, (function, bias), cfa, shown)) in frames {
            let inlined = match (nth, goal) {
                (0, Goal::Caller) => Inlined::OfCaller,
                (_, Goal::Caller) => Inlined::OfFrame,
                _ => inlined,
            };
            let before = rows.len();
            let Some(loaded) = self.images.modules.at(address.lookup()) else {
                continue;
            };
            for range in &function.ranges {
                for row in loaded.module.rows_in(*range) {
                    let Some(location) = row.location.filter(|_| row.is_stmt) else {
                        continue;
                    };
                    if rows.len() >= MOST {
                        break;
                    }
                    let addr = bias.load(row.range.start);
                    let begun = match inlined {
                        Inlined::Any => 0,
                        _ => calls_begun(&function, row.range.start, row.range.start),
                    };
                    let mut around = inlined_at(&function, row.range.start);
                    around.truncate(around.len().saturating_sub(begun));
                    if !inlined.wants(&around, &shown) {
                        continue;
                    }
                    let frames = function.frames_at(row.range.start);
                    let outermost = begun.checked_sub(1).and_then(|nth| frames.get(nth));
                    let call = outermost.and_then(|frame| frame.inlined?.call_site.as_ref());
                    // An inlined call that begins there is not entered: a step ends at the line of the call.
                    let location = call.unwrap_or(&location);
                    if let Some((register, value)) = self.frame_at(addr, cfa) {
                        let mut hasher = rustc_hash::FxHasher::default();
                        (&location.file.path, location.line).hash(&mut hasher);
                        let place = FramePlace {
                            addr,
                            frame: Some((register, value)),
                        };
                        let line = hasher.finish();
                        if places.insert(place) {
                            rows.push(Row { place, line });
                        }
                    }
                }
            }
            found += usize::from(rows.len() > before);
            if found == WANTED - skipped - usize::from(has_outer) {
                break;
            }
        }
        if rows.is_empty() {
            return Err(without_lines("the stack"));
        }
        if goal == Goal::Instruction && is_at_entry && found < WANTED {
            return Err(without_lines("the caller"));
        }
        Ok(rows)
    }

    /// Returns an instruction in the innermost frame of a thread; `None` if the frame cannot be recognised
    /// there.
    pub(super) fn place_in_frame(&self, thread: ThreadId, addr: LoadAddr) -> Option<FramePlace> {
        let stack = self.stack_so_far(thread)?;
        let cfa = stack.physical.first()?.cfa?;
        let (register, value) = self.frame_at(addr, cfa)?;
        Some(FramePlace {
            addr,
            frame: Some((register, value)),
        })
    }

    /// Returns a register and the value that it has at an address in the frame with this canonical frame
    /// address.
    pub(super) fn frame_at(&self, addr: LoadAddr, cfa: LoadAddr) -> Option<(Register, u64)> {
        let modules = &self.images.modules;
        let rule =
            |unwinder: &mut dwarf::Unwinder| unwinder.cfa_register(modules, FrameAddress::Pc(addr));
        let (register, offset) = self.views.unwinder.with(modules, rule)?;
        Some((register, cfa.0.wrapping_sub(offset as u64)))
    }
}
