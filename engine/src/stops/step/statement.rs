//! The code of a call that is written on several lines: compilers of LLVM give the arguments their
//! own lines, and then return to the line of the call.

use super::View;
use super::callee::Code;
use super::start::{Start, inlined_at};
use crate::arch::{Flow, Instruction};
use dwarf::{AddrRange, FileAddr, LoadAddr};
use std::collections::BTreeSet;

/// Maximum number of instructions to read.
const MAX_INSTRUCTIONS: usize = 2048;

/// The instructions that run forward from an address, in order of address: jumps back, returns and
/// jumps whose target is unknown end them.
struct Forward<'a> {
    code: Code<'a>,
    at: LoadAddr,
    /// Targets of jumps over instructions that were read.
    targets: BTreeSet<LoadAddr>,
    /// Whether the instruction before `at` goes on there.
    falls_through: bool,
}

impl Forward<'_> {
    /// Returns the next instruction that may be reached, and whether each path reaches it.
    fn read(&mut self) -> Option<(Instruction, bool)> {
        if !self.falls_through {
            self.at = *self.targets.first()?;
        }
        self.targets.remove(&self.at);
        let is_certain = self.targets.is_empty();
        let instruction = self.code.at(self.at)?;
        let jump = match instruction.flow {
            Flow::Jump(target) | Flow::ConditionalJump(target) => Some(target),
            Flow::Return | Flow::IndirectJump(_) | Flow::Transaction(_) | Flow::Fault => {
                return None;
            }
            _ => None,
        };
        if let Some(target) = jump {
            if target <= self.at {
                return None;
            }
            self.targets.insert(target);
        }
        self.falls_through = !matches!(instruction.flow, Flow::Jump(_));
        self.at = instruction.next();
        Some((instruction, is_certain))
    }
}

/// Returns the code from the pc up to the last call of the line where the step begins, if other
/// lines come before it and each path from the pc leads to it: those lines are arguments.
pub(super) fn statement(view: &View<'_>, start: &Start) -> Option<AddrRange<FileAddr>> {
    let line = start.line.as_ref()?;
    let pc = view.registers.pc();
    let loaded = view.modules.at(pc)?;
    let mut forward = Forward {
        code: Code::new(view),
        at: pc,
        targets: BTreeSet::new(),
        falls_through: true,
    };
    let mut columns = BTreeSet::new();
    let mut has_left = false;
    let mut end = None;
    for _ in 0..MAX_INSTRUCTIONS {
        let Some((instruction, is_certain)) = forward.read() else {
            break;
        };
        let addr = start.bias.file(instruction.addr);
        let is_ours = inlined_at(&start.function, addr).starts_with(&start.inlined);
        if !is_ours || !start.function.contains(addr) {
            break;
        }
        let row = loaded.module.row_at(addr);
        let Some(here) = row.and_then(|row| start.line_shown(&row, addr)) else {
            continue;
        };
        if here.file != line.file || here.line < line.line {
            break;
        }
        if here.line > line.line {
            has_left = true;
        } else if !has_left {
            columns.insert(here.column);
        } else if columns.contains(&here.column) {
            // The line again: another pass of a loop, or the end of an object's life.
            break;
        } else if is_certain && instruction.is_call() {
            end = Some(instruction.next());
        }
    }
    Some(AddrRange::new(start.bias.file(pc), start.bias.file(end?)))
}
