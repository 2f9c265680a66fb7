//! A step to the caller: runs to the return address in a frame at least as old as the caller's, or
//! to where an exception or a long jump that leaves the frame resumes. A suspended `async fn` is
//! left only at its end.

use super::view::UnwindTarget;
use super::{Coroutine, Plan, Target, Verdict, View};

/// Ends at the return address.
pub struct StepOut {
    back: Target,
    landing: Option<UnwindTarget>,
    coroutine: Option<Coroutine>,
    /// Whether the future has to be resumed first.
    waits: bool,
}

impl StepOut {
    /// Returns the plan for a frame's return address and the future whose body it runs.
    pub fn begin(back: Target, coroutine: Option<Coroutine>, view: &View<'_>) -> (Self, Verdict) {
        let plan = Self {
            back,
            landing: None,
            coroutine,
            waits: false,
        };
        let verdict = plan.run_on(view);
        (plan, verdict)
    }

    fn land(&mut self, landing: UnwindTarget) -> Verdict {
        self.landing = Some(landing);
        Verdict::RunTo(vec![landing.target])
    }

    fn run_on(&self, view: &View<'_>) -> Verdict {
        let loaded = view.modules.at(view.registers.pc());
        let language = loaded.and_then(|loaded| {
            let addr = loaded.bias.file(view.registers.pc());
            loaded.module.language_at(addr)
        });
        view.run_to(&[], Some(self.back), Some(language.unwrap_or_default()))
    }
}

impl Plan for StepOut {
    fn on_stop(&mut self, view: &View<'_>) -> Verdict {
        if self.landing.is_some() {
            return Verdict::Done { hidden: 0 };
        }
        if let Some(coroutine) = self.coroutine {
            if coroutine.is_resumed(view) {
                // The executor may poll it from filtered code.
                let Some(back) = view.out_to_shown().or_else(|| view.out()) else {
                    return Verdict::Abandon;
                };
                self.back = back;
                self.waits = false;
                return self.run_on(view);
            }
            if view.registers.pc() == coroutine.entry {
                return Verdict::KeepRunning;
            }
        }
        match view.escape() {
            None => match self.coroutine.filter(|it| it.is_waiting(view)) {
                Some(coroutine) => {
                    self.waits = true;
                    Verdict::RunTo(vec![coroutine.resumption()])
                }
                None => match view.linked_context() {
                    Some(landing) => self.land(landing),
                    None => Verdict::Done { hidden: 0 },
                },
            },
            Some(Some(landing)) if landing.target.sp >= self.back.sp => self.land(landing),
            Some(_) => Verdict::KeepRunning,
        }
    }

    fn awaited(&self) -> Option<Coroutine> {
        self.coroutine.filter(|_| self.waits)
    }
}
