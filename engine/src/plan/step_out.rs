//! To the caller: run to the return address, in a frame at least as old as the caller's; or
//! to the handler of an exception that leaves the frame.

use super::{Plan, Target, Verdict, View};
use dwarf::LoadAddr;

/// Done at the return address.
pub struct StepOut {
    back: Target,
}

impl StepOut {
    /// The plan, given the return address and the frame's canonical address.
    pub fn begin(return_address: LoadAddr, cfa: LoadAddr, view: &View<'_>) -> (Self, Verdict) {
        let back = Target {
            addr: return_address,
            sp: cfa.0,
        };
        (Self { back }, view.run_to([back]))
    }
}

impl Plan for StepOut {
    fn on_stop(&mut self, view: &View<'_>) -> Verdict {
        if !view.is_catching() {
            return Verdict::Done { hidden: 0 };
        }
        match view.handler(self.back.sp) {
            Some(handler) => Verdict::RunTo(vec![handler]),
            None => view.run_to([self.back]),
        }
    }
}
