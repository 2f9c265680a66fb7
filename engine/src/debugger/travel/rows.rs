//! The rows of the line table that a step back may come from: those of the function that the thread is in,
//! and of its caller, each in its frame.

use crate::debugger::Debugger;
use crate::ids::ThreadId;
use crate::ids::error::Error;
use crate::stops::breakpoint::frame_places::FramePlace;
use crate::stops::travel::Goal;
use dwarf::{FrameAddress, LoadAddr, Register};
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

impl Debugger {
    /// Returns the rows that a stopped thread may have passed before.
    ///
    /// # Errors
    /// Its stack cannot be read, or nothing of it has lines.
    pub(super) fn searched_rows(
        &mut self,
        thread: ThreadId,
        goal: Goal,
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
            .map(|frame| Some((frame.address, frame.function.clone()?, frame.cfa?)))
            .collect();
        if goal == Goal::Instruction && frames.first().is_none_or(Option::is_none) {
            return Err(without_lines("the function"));
        }
        let frames: Vec<_> = frames.into_iter().flatten().collect();
        let skipped = usize::from(goal == Goal::Caller);
        // At the entry, only the caller has passed a statement.
        let is_at_entry = frames
            .first()
            .is_some_and(|(address, (function, bias), _)| {
                let mut ranges = function.ranges.iter();
                ranges.any(|range| bias.load(range.start) == address.lookup())
            });
        for (address, (function, bias), cfa) in frames.into_iter().skip(skipped) {
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
            if found == WANTED - skipped {
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
    fn frame_at(&self, addr: LoadAddr, cfa: LoadAddr) -> Option<(Register, u64)> {
        let modules = &self.images.modules;
        let rule =
            |unwinder: &mut dwarf::Unwinder| unwinder.cfa_register(modules, FrameAddress::Pc(addr));
        let (register, offset) = self.views.unwinder.with(modules, rule)?;
        Some((register, cfa.0.wrapping_sub(offset as u64)))
    }
}
