//! What a step enters: the functions that the calls of its line reach, known before or at the call.

use super::callee::{ReachableCalls, body_of, function_at, given, reach};
use super::dispatch::{Sending, back_of, dispatcher};
use super::start::Start;
use super::step_range::{Mode, StepRange};
use super::{Verdict, View};
use crate::inspect::inlined::calls_at_body;
use dwarf::LoadAddr;

impl StepRange {
    /// Returns the functions that the calls of the region may enter.
    pub(super) fn wanted_by_calls(&self, view: &View<'_>) -> ReachableCalls {
        let mut wanted = ReachableCalls::default();
        match self.mode {
            Mode::Over => {}
            Mode::IntoCall(at) => wanted.indirect.push(at),
            Mode::IntoInlined(at, _) => wanted.indirect.push(at),
            Mode::Into => {
                for call in &self.region.calls {
                    let call_to = &call.instruction;
                    let direct = call_to.direct_target();
                    match direct.or_else(|| call_to.fixed_target(view.memory)) {
                        Some(target) => self.want(view, target, call.at, &mut wanted),
                        None => wanted.indirect.push(call.at),
                    }
                }
            }
        }
        wanted
    }

    /// Adds the functions that a call at `at` of `target` may enter.
    pub(super) fn want(
        &self,
        view: &View<'_>,
        target: LoadAddr,
        at: LoadAddr,
        wanted: &mut ReachableCalls,
    ) {
        if dispatcher(view, target).is_some() {
            // The receiver, known at the call, decides.
            wanted.indirect.push(at);
            return;
        }
        if let Some(body) = body_of(view, target, self.filtered) {
            if !makes_a_future(view, target) {
                wanted.bodies.push(body);
            }
            return;
        }
        wanted.add(&reach(view, target));
        if function_at(view, target).is_none_or(|(loaded, _)| loaded.is_of_the_system()) {
            // Only its arguments, at the call, reveal more.
            wanted.indirect.push(at);
        }
    }

    /// Handles an arrival at the body of a function to enter: it is shown as itself, although its
    /// first line may be that of an inlined call.
    pub(super) fn enter(&mut self, view: &View<'_>) -> Verdict {
        let pc = view.registers.pc();
        let Some(start) = Start::at(view.modules, pc, 0) else {
            return Verdict::Done { hidden: 0 };
        };
        let is_async_fn = start.function.coroutine == Some(dwarf::Coroutine::AsyncFn);
        if is_async_fn && start.inlined.is_empty() {
            // It begins with the dispatch to its suspension point, or with its first line.
            self.restart(view, start);
            self.mode = Mode::Over;
            return self.leave(view);
        }
        let hidden = calls_at_body(&start.function, start.bias.file(pc));
        Verdict::Done { hidden }
    }

    /// Handles an arrival at a call to examine.
    pub(super) fn at_call(&mut self, view: &View<'_>) -> Verdict {
        let pc = view.registers.pc();
        if let Mode::IntoInlined(at, hidden) = self.mode
            && at == pc
        {
            return match self.is_deeper(view) {
                true => Verdict::KeepRunning,
                false => Verdict::Done { hidden },
            };
        }
        let instruction = view.arch().read(view.memory, pc);
        let target = instruction.and_then(|it| it.target(view.registers, view.memory));
        let Some((target, instruction)) = target.zip(instruction) else {
            return Verdict::KeepRunning;
        };
        let mut wanted = ReachableCalls::default();
        if self.mode == Mode::IntoCall(pc) {
            if self.is_deeper(view) {
                return Verdict::KeepRunning;
            }
            wanted.bodies.extend(body_of(view, target, false));
            self.wanted = wanted;
            return self.run_on(view);
        }
        let sending = back_of(view, &instruction).and_then(|it| Sending::of(view, target, it));
        if sending.is_some() {
            self.sending = sending;
            return self.run_on(view);
        }
        self.want(view, target, pc, &mut wanted);
        if wanted.bodies.is_empty() {
            wanted.add(&given(view));
        }
        let before = self.wanted.bodies.len() + self.wanted.indirect.len();
        self.wanted.add(&wanted);
        if self.wanted.bodies.len() + self.wanted.indirect.len() == before {
            return Verdict::KeepRunning;
        }
        self.run_on(view)
    }

    /// Handles an arrival at a jump that may lead to the implementation of a message.
    pub(super) fn at_send(&mut self, view: &View<'_>) -> Verdict {
        let Some((target, goes_on)) = self
            .sending
            .as_ref()
            .and_then(|it| Some((it.implementation(view)?, it.goes_on())))
        else {
            return Verdict::KeepRunning;
        };
        let mut wanted = ReachableCalls::default();
        self.want(view, target, target, &mut wanted);
        wanted.indirect.retain(|at| *at != target);
        if wanted.bodies.is_empty() {
            wanted.add(&given(view));
        }
        if !goes_on || !wanted.bodies.is_empty() {
            self.sending = None;
        }
        self.wanted.add(&wanted);
        self.run_on(view)
    }
}

/// Returns whether a function only creates the future of an `async fn`: its visible body runs when
/// that is polled.
fn makes_a_future(view: &View<'_>, target: LoadAddr) -> bool {
    let made = function_at(view, target).and_then(|(loaded, function)| {
        let made = loaded.module.ty(function.return_type?).ok()?;
        Some(made.name.contains("{async_fn_env#"))
    });
    made.unwrap_or(false)
}
