//! The rows of the line table that a step back may come from: those of the function that the thread is in,
//! and of its caller, each in its frame.

use crate::debugger::Debugger;
use crate::ids::ThreadId;
use crate::ids::error::Error;
use crate::os::RegisterSet;
use crate::stops::travel::Goal;
use dwarf::{FrameAddress, LoadAddr, Register};
use rustc_hash::FxHashMap;
use std::hash::{Hash, Hasher};

/// More rows are not watched.
const MOST: usize = 1 << 14;

/// A row in a frame: there, a register has a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Row {
    register: Register,
    value: u64,
    /// Tells its line apart from others.
    line: u64,
}

/// Rows, by address. One address may be in two frames, if a function calls itself.
#[derive(Default, Debug)]
pub(super) struct Rows(FxHashMap<LoadAddr, Vec<Row>>);

impl Rows {
    /// Returns the addresses.
    pub fn addresses(&self) -> Vec<LoadAddr> {
        self.0.keys().copied().collect()
    }

    /// Returns a number for the line of a row.
    pub fn line(&self, addr: LoadAddr) -> u64 {
        let rows = self.0.get(&addr);
        rows.and_then(|rows| rows.first()).map_or(0, |row| row.line)
    }

    /// Returns whether a thread that is at a row is in one of the frames.
    pub fn is_in_frame(&self, addr: LoadAddr, registers: &RegisterSet) -> bool {
        let rows = self.0.get(&addr).map_or(&[][..], Vec::as_slice);
        rows.iter()
            .any(|row| registers.get(row.register) == Some(row.value))
    }
}

impl Debugger {
    /// Returns the rows that a stopped thread may have passed before.
    ///
    /// # Errors
    /// Its stack cannot be read, or nothing of it has lines.
    pub(super) fn searched_rows(&mut self, thread: ThreadId, goal: Goal) -> Result<Rows, Error> {
        /// Frames without lines are passed over.
        const FRAMES: usize = 16;
        const WANTED: usize = 2;
        let mut rows = Rows::default();
        let mut found = 0;
        self.unwound(thread, FRAMES)?;
        let stack = self.stack_so_far(thread);
        let frames: Vec<_> = stack
            .map(|stack| &stack.physical[..stack.physical.len().min(FRAMES)])
            .unwrap_or_default()
            .iter()
            .filter(|frame| !frame.is_tail_call && !frame.is_signal)
            .filter_map(|frame| Some((frame.address, frame.function.clone()?, frame.cfa?)))
            .collect();
        let skipped = usize::from(goal == Goal::Caller);
        for (address, (function, bias), cfa) in frames.into_iter().skip(skipped) {
            let before = rows.0.len();
            let Some(loaded) = self.images.modules.at(address.lookup()) else {
                continue;
            };
            for range in &function.ranges {
                for row in loaded.module.rows_in(*range) {
                    let Some(location) = row.location.filter(|_| row.is_stmt) else {
                        continue;
                    };
                    if rows.0.len() >= MOST {
                        break;
                    }
                    let addr = bias.load(row.range.start);
                    if let Some((register, value)) = self.frame_at(addr, cfa) {
                        let mut hasher = rustc_hash::FxHasher::default();
                        (&location.file.path, location.line).hash(&mut hasher);
                        let row = Row {
                            register,
                            value,
                            line: hasher.finish(),
                        };
                        let all = rows.0.entry(addr).or_default();
                        if !all.contains(&row) {
                            all.push(row);
                        }
                    }
                }
            }
            found += usize::from(rows.0.len() > before);
            if found == WANTED - skipped {
                break;
            }
        }
        match rows.0.is_empty() {
            true => Err(Error::NoSuchPast(
                "nothing of the stack has line information".to_owned(),
            )),
            false => Ok(rows),
        }
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
