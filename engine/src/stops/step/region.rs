//! The instructions that a step has to leave, with their exits and calls.

mod passes;
#[cfg(test)]
mod tests;

use passes::Passes;
pub use passes::{Loop, Part};

use crate::arch::{Flow, Instruction};
use dwarf::LoadAddr;
use rustc_hash::FxHashSet;

/// Maximum number of instructions; a larger line is left in several parts.
const MAX_INSTRUCTIONS: usize = 2048;

/// A call in a region.
pub struct Call {
    /// Its address.
    pub at: LoadAddr,
    /// Its return address.
    pub back: LoadAddr,
    /// The instruction.
    pub instruction: Instruction,
}

/// The code that is reachable from an address inside the range to leave.
#[derive(Default)]
pub struct Region {
    /// The first addresses outside of it.
    pub exits: Vec<LoadAddr>,
    /// The calls in it, in order of address.
    pub calls: Vec<Call>,
    /// The returns in it.
    pub returns: Vec<LoadAddr>,
    /// The jumps in it that leave the function.
    pub jumps: Vec<LoadAddr>,
    /// Instructions whose successor is known only at run time.
    pub unclear: Vec<LoadAddr>,
    /// Its instructions, in order of address.
    pub instructions: Vec<LoadAddr>,
    /// The loops in it.
    pub passes: Passes,
    /// Pairs of an instruction and a possible successor.
    edges: Vec<(LoadAddr, LoadAddr)>,
}

impl Region {
    /// Returns the region from `from`, an address in it, limited to the addresses that `inside`
    /// accepts, of the function that `ours` accepts.
    pub fn of(
        from: LoadAddr,
        mut code: impl FnMut(LoadAddr) -> Option<Instruction>,
        ours: impl Fn(LoadAddr) -> bool,
        mut inside: impl FnMut(LoadAddr) -> bool,
    ) -> Self {
        let mut region = Region::default();
        let mut seen = FxHashSet::default();
        let mut todo = vec![from];
        while let Some(at) = todo.pop() {
            if !seen.insert(at) {
                continue;
            }
            if at != from && !inside(at) || region.instructions.len() >= MAX_INSTRUCTIONS {
                region.exits.push(at);
                continue;
            }
            let Some(instruction) = code(at) else {
                region.unclear.push(at);
                continue;
            };
            region.instructions.push(at);
            let before = todo.len();
            let next = instruction.next();
            match instruction.flow {
                Flow::Return => region.returns.push(at),
                Flow::Call(_) | Flow::IndirectCall(_) => {
                    region.calls.push(Call {
                        at,
                        back: next,
                        instruction,
                    });
                    // A call that never returns has no successor.
                    todo.extend(ours(next).then_some(next));
                }
                Flow::Jump(target) => match ours(target) {
                    true => todo.push(target),
                    false => region.jumps.push(at),
                },
                Flow::ConditionalJump(target) => {
                    todo.push(next);
                    match ours(target) {
                        true => todo.push(target),
                        false => region.unclear.push(at),
                    }
                }
                Flow::IndirectJump(_) | Flow::Transaction(_) => region.unclear.push(at),
                Flow::Fault => {}
                _ => todo.push(next),
            }
            let follow = todo.iter().skip(before);
            region.edges.extend(follow.map(|to| (at, *to)));
        }
        region.instructions.sort_unstable();
        region.calls.sort_by_key(|call| call.at);
        region
    }
}
