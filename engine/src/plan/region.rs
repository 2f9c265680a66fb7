//! The instructions that a step is to leave: where they can be left, and what they call.

mod passes;
#[cfg(test)]
mod tests;

use passes::Passes;
pub use passes::{Loop, Part};

use super::callee::near_target;
use dwarf::LoadAddr;
use iced_x86::{FlowControl, Instruction};
use rustc_hash::FxHashSet;

/// A line of more instructions is left in several goes.
const MAX_INSTRUCTIONS: usize = 2048;

/// A call in a region.
pub struct Call {
    /// Where.
    pub at: LoadAddr,
    /// Where it comes back to.
    pub back: LoadAddr,
    /// The instruction.
    pub instruction: Instruction,
}

/// What flow can reach from an address without leaving what is to be left.
#[derive(Default)]
pub struct Region {
    /// The first addresses that are not in it.
    pub exits: Vec<LoadAddr>,
    /// The calls in it, in the order of their addresses.
    pub calls: Vec<Call>,
    /// Returns in it.
    pub returns: Vec<LoadAddr>,
    /// Jumps out of the function in it.
    pub jumps: Vec<LoadAddr>,
    /// Instructions of which only the processor knows what comes next.
    pub unclear: Vec<LoadAddr>,
    /// Its instructions, in the order of their addresses.
    pub instructions: Vec<LoadAddr>,
    /// New passes of loops.
    pub passes: Passes,
    /// Which instruction may follow which one.
    edges: Vec<(LoadAddr, LoadAddr)>,
}

impl Region {
    /// What `inside` holds of the function that `ours` holds, from `from` on, which is in it.
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
            let next = LoadAddr(instruction.next_ip());
            let target = near_target(&instruction);
            match instruction.flow_control() {
                FlowControl::Return => region.returns.push(at),
                FlowControl::Call | FlowControl::IndirectCall
                    if crate::arch::x86_64::is_call(&instruction) =>
                {
                    region.calls.push(Call {
                        at,
                        back: next,
                        instruction,
                    });
                    // Nothing comes back from what never returns.
                    todo.extend(ours(next).then_some(next));
                }
                FlowControl::UnconditionalBranch => match target {
                    Some(target) if ours(target) => todo.push(target),
                    _ => region.jumps.push(at),
                },
                FlowControl::ConditionalBranch => {
                    todo.push(next);
                    match target {
                        Some(target) if ours(target) => todo.push(target),
                        _ => region.unclear.push(at),
                    }
                }
                FlowControl::IndirectBranch | FlowControl::XbeginXabortXend => {
                    region.unclear.push(at);
                }
                FlowControl::Exception => {}
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
