//! A step by one instruction, optionally over a call.

use super::{Plan, Target, Verdict, View};
use crate::arch::Instruction;

/// Ends after one instruction.
pub struct StepInstruction;

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
        (Self, verdict)
    }
}

impl Plan for StepInstruction {
    fn on_stop(&mut self, _: &View<'_>) -> Verdict {
        Verdict::Done { hidden: 0 }
    }
}
