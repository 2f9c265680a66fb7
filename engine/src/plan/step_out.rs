//! To the caller: run to the return address, in a frame at least as old as the caller's.

use super::{Plan, Target, Verdict, View};
use dwarf::LoadAddr;

/// Done at the return address.
pub struct StepOut;

impl StepOut {
    /// The plan, given the return address and the frame's canonical address.
    pub fn begin(return_address: LoadAddr, cfa: LoadAddr) -> (Self, Verdict) {
        let target = Target {
            addr: return_address,
            sp: cfa.0,
        };
        (Self, Verdict::RunTo(vec![target]))
    }
}

impl Plan for StepOut {
    fn on_stop(&mut self, _: &View<'_>) -> Verdict {
        Verdict::Done
    }
}
