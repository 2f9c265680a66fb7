//! A step by one instruction, optionally over a call. An exclusive sequence counts as one.

use super::{Plan, Target, Verdict, View};
use crate::arch::Instruction;
use dwarf::LoadAddr;
use std::ops::Range;

/// Ends after one instruction.
pub struct StepInstruction {
    /// The exclusive sequence that the step begins in: it may have to be repeated.
    sequence: Option<Range<LoadAddr>>,
}

impl StepInstruction {
    /// Returns the plan and its first verdict for the instruction at the pc.
    pub fn begin(view: &View<'_>, over_calls: bool) -> (Self, Verdict) {
        let call = over_calls
            .then(|| view.arch().read(view.memory, view.registers.pc()))
            .flatten()
            .filter(Instruction::is_call);
        let verdict = match call {
            Some(call) => Verdict::RunTo(vec![Target {
                addr: call.next(),
                sp: view.registers.sp(),
            }]),
            None => Verdict::Step,
        };
        let (arch, memory) = (view.arch(), view.memory);
        let code = |addr| arch.read(memory, addr);
        let sequence = arch.exclusive_sequence(view.registers.pc(), code);
        (Self { sequence }, verdict)
    }
}

impl Plan for StepInstruction {
    fn on_stop(&mut self, view: &View<'_>) -> Verdict {
        let pc = view.registers.pc();
        match &self.sequence {
            Some(sequence) if sequence.contains(&pc) => Verdict::Step,
            _ => Verdict::Done { hidden: 0 },
        }
    }
}
