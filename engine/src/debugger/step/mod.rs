//! Steps. A [`Plan`] is evaluated at each stop of its thread and returns a verdict on how to
//! continue; any other reason to stop wins over it.

mod begin;
mod coroutine;
mod goto;
mod restart;
mod targets;
mod traced;

pub use goto::GotoTarget;
pub use traced::Activation;

use crate::debugger::{Debugger, ResumeScope, Shown, Vote};
use crate::ids::ThreadId;
use crate::inferior::site::Owner;
use crate::os::{RegisterSet, Resume};
use crate::stops::event::StopReason;
use crate::stops::step::view::View;
use crate::stops::step::{Plan, Start, Stepping, Target, Verdict};
use dwarf::LoadAddr;

impl Debugger {
    /// Starts a step with its first verdict, and resumes the threads in `scope`; `needs_source`: the step stops only
    /// where the source is at hand.
    pub(crate) fn begin_step(
        &mut self,
        (thread, scope): (ThreadId, ResumeScope),
        (plan, first): (Box<dyn Plan>, Verdict),
        needs_source: bool,
    ) {
        let Some(state) = self.thread_state(thread) else {
            return;
        };
        state.step = Some(Stepping {
            plan,
            targets: Vec::new(),
            interrupted_at: None,
            needs_source,
            returning: None,
        });
        tracing::trace!(%thread, ?first, "a step begins");
        self.note_step(thread);
        match self.behind_sequences(first) {
            // A target in a loop must not be hit at the pc itself: the thread makes one single step
            // first.
            Verdict::RunTo(targets) if self.would_hit(thread, &targets) => {}
            Verdict::RunTo(targets) => self.set_targets(thread, targets),
            Verdict::Abandon => self.cancel_step(thread),
            Verdict::Step | Verdict::KeepRunning | Verdict::Done { .. } => {}
        }
        self.resume_from_stop(thread, scope);
    }

    /// Moves targets inside exclusive sequences to where those are left.
    fn behind_sequences(&self, verdict: Verdict) -> Verdict {
        let Verdict::RunTo(targets) = verdict else {
            return verdict;
        };
        let mut moved = Vec::with_capacity(targets.len());
        for target in targets {
            match self.inferior.exits_around(target.addr) {
                None => moved.push(target),
                Some(exits) => moved.extend(exits.into_iter().map(|addr| Target {
                    addr,
                    sp: target.sp,
                })),
            }
        }
        Verdict::RunTo(moved)
    }

    /// Returns whether a stopped thread would hit one of these targets without moving.
    fn would_hit(&mut self, thread: ThreadId, targets: &[Target]) -> bool {
        let Some(registers) = self.inferior.registers(thread) else {
            return false;
        };
        let (pc, sp) = (registers.pc(), registers.sp());
        let passed = self
            .inferior
            .thread_mut(thread)
            .and_then(|state| state.passed_site);
        let mut here = targets.iter();
        passed != Some(pc) && here.any(|target| target.addr == pc && sp >= target.sp)
    }

    /// Ends a thread's step, if there is one, and removes its traps.
    pub(crate) fn cancel_step(&mut self, thread: ThreadId) {
        if let Some(state) = self.threads.get_mut(&thread)
            && state.step.take().is_some()
        {
            if let Some(state) = self.inferior.thread_mut(thread) {
                state.is_stepping = false;
            }
            self.inferior.remove_sites_of(Owner::Step(thread));
        }
    }

    /// Ends all steps.
    pub(crate) fn cancel_steps(&mut self) {
        let stepping: Vec<ThreadId> = self
            .threads
            .iter()
            .filter(|(_, state)| state.step.is_some())
            .map(|(thread, _)| *thread)
            .collect();
        for thread in stepping {
            self.cancel_step(thread);
        }
    }

    fn set_targets(&mut self, thread: ThreadId, targets: Vec<Target>) {
        let Some(step) = self.step_of(thread) else {
            return;
        };
        let before = std::mem::replace(&mut step.targets, targets.clone());
        let is_in = |all: &[Target], addr| all.iter().any(|target| target.addr == addr);
        for target in &targets {
            if !is_in(&before, target.addr) {
                self.inferior.add_site(target.addr, Owner::Step(thread));
            }
        }
        for target in before {
            if !is_in(&targets, target.addr) {
                self.inferior.remove_site(target.addr, Owner::Step(thread));
            }
        }
    }

    /// Returns whether a step of a thread has begun and not ended.
    pub(crate) fn has_step(&self, thread: ThreadId) -> bool {
        self.threads
            .get(&thread)
            .is_some_and(|it| it.step.is_some())
    }

    /// Continues the step of a thread in another process, in which it is at the same place: where a step that runs
    /// to targets has not ended unless one of them is there.
    pub(crate) fn resume_step(&mut self, thread: ThreadId) -> Vote {
        let Some(step) = self.step_of(thread) else {
            return Vote::Resume;
        };
        let is_by_steps = step.targets.is_empty() && step.interrupted_at.is_none();
        let targets = step.targets.iter().chain(&step.interrupted_at);
        let places: Vec<LoadAddr> = targets.map(|target| target.addr).collect();
        for addr in places {
            self.inferior.add_site(addr, Owner::Step(thread));
        }
        let vote = match is_by_steps {
            true => self.evaluate_plan(thread),
            false => {
                let pc = self.inferior.registers(thread).map(|it| it.pc());
                pc.and_then(|pc| self.on_step_site(thread, pc))
            }
        };
        vote.unwrap_or(Vote::Resume)
    }

    fn step_of(&mut self, thread: ThreadId) -> Option<&mut Stepping> {
        self.thread_state(thread)?.step.as_mut()
    }

    /// Returns how a thread is resumed according to its step; one without a step runs.
    pub(crate) fn next_move(&self, thread: ThreadId) -> Resume {
        let step = self.threads.get(&thread).and_then(|it| it.step.as_ref());
        match step {
            Some(step) if step.targets.is_empty() && step.interrupted_at.is_none() => Resume::Step,
            _ => Resume::Continue,
        }
    }

    /// Handles a signal that does not stop the program: its handler is not part of the step.
    pub(crate) fn signal_while_stepping(&mut self, thread: ThreadId) {
        let registers = self.inferior.registers(thread);
        if let (Some(registers), Some(step)) = (registers, self.step_of(thread))
            && step.targets.is_empty()
            // Otherwise the signal arrived before the handler of another one has returned.
            && step.interrupted_at.is_none()
        {
            let target = Target {
                addr: registers.pc(),
                sp: registers.sp(),
            };
            step.interrupted_at = Some(target);
            self.inferior.add_site(target.addr, Owner::Step(thread));
            // The trap is to be hit when the handler returns here, not skipped now.
            if let Some(state) = self.inferior.thread_mut(thread)
                && state.passed_site.take() == Some(target.addr)
            {
                state.interrupt_pass(registers);
            }
        }
    }

    /// Handles the end of a single step.
    pub(crate) fn on_single_step(&mut self, thread: ThreadId) -> Vote {
        if self.step_of(thread).is_none() {
            // The step was cancelled while it ran.
            return Vote::Run;
        }
        if let Some(vote) = self.end_returned_call(thread) {
            return vote;
        }
        self.evaluate_plan(thread).unwrap_or(Vote::Resume)
    }

    /// Returns whether a thread has returned from a signal handler to an instruction whose
    /// breakpoints have been evaluated.
    pub(crate) fn is_back_at_passed(&mut self, thread: ThreadId) -> bool {
        let registers = self.inferior.registers(thread);
        registers.is_some_and(|registers| {
            let state = self.inferior.thread_mut(thread);
            state.is_some_and(|state| state.resumes_pass(&registers))
        })
    }

    /// Handles a thread at a trap of a step; `None` if its step goes on as before.
    pub(crate) fn on_step_site(&mut self, thread: ThreadId, addr: LoadAddr) -> Option<Vote> {
        let sp = self.inferior.registers(thread)?.sp();
        let step = self.step_of(thread)?;
        let reached = |target: &Target| target.addr == addr && sp >= target.sp;
        if step.interrupted_at.as_ref().is_some_and(reached) {
            step.interrupted_at = None;
            self.inferior.remove_site(addr, Owner::Step(thread));
            return Some(Vote::Resume);
        }
        match step.targets.iter().any(reached) {
            true => self.evaluate_plan(thread),
            false => None,
        }
    }

    /// Returns whether a step from where a stopped thread is ends only where the source is at hand.
    pub(super) fn needs_source_from(&mut self, thread: ThreadId) -> bool {
        let hidden = self.hidden_at(thread);
        let pc = self.inferior.registers(thread).map(|it| it.pc());
        let start = pc.and_then(|pc| Start::at(&self.images.modules, pc, hidden));
        let line = start.and_then(|it| it.line);
        let file = line.as_ref().map(|it| &it.file);
        self.stops.step_filters.needs_source_from(file)
    }

    /// Returns the view of a thread with these registers for a plan; `needs_source`: the step stops only where the
    /// source is at hand.
    pub(crate) fn view_of_step<'a>(
        &'a self,
        registers: &'a RegisterSet,
        memory: &'a dyn dwarf::Memory,
        needs_source: bool,
    ) -> View<'a> {
        View {
            filters: self.stops.step_filters.of_step(needs_source),
            ..self.view(registers, memory)
        }
    }

    /// Like [`Debugger::view_of_step`], where no step goes on.
    pub(crate) fn view<'a>(
        &'a self,
        registers: &'a RegisterSet,
        memory: &'a dyn dwarf::Memory,
    ) -> View<'a> {
        View {
            registers,
            modules: &self.images.modules,
            memory,
            unwinder: &self.views.unwinder,
            filters: self.stops.step_filters.of_step(false),
            reaches: &self.stops.reaches,
        }
    }

    /// Evaluates the plan at a stop; `None` if it does not apply at the pc.
    fn evaluate_plan(&mut self, thread: ThreadId) -> Option<Vote> {
        let Some(registers) = self.inferior.registers(thread) else {
            return Some(Vote::Stay);
        };
        let step = self
            .thread_state(thread)
            .and_then(|state| state.step.take());
        let Some(mut step) = step else {
            return Some(Vote::Stay);
        };
        let verdict = {
            let memory = self.inferior.memory();
            let view = self.view_of_step(&registers, &memory, step.needs_source);
            step.plan.on_stop(&view)
        };
        if let Some(state) = self.thread_state(thread) {
            state.step = Some(step);
        }
        tracing::trace!(%thread, pc = %registers.pc(), sp = registers.sp(), ?verdict, "plan");
        match self.behind_sequences(verdict) {
            Verdict::Step => {
                self.set_targets(thread, Vec::new());
                Some(Vote::Resume)
            }
            // One of a sequence that the thread has just left; it makes one single step first.
            Verdict::RunTo(targets)
                if self.inferior.arch.has_exclusive_sequences()
                    && self.would_hit(thread, &targets) =>
            {
                self.set_targets(thread, Vec::new());
                Some(Vote::Resume)
            }
            Verdict::RunTo(targets) => {
                self.set_targets(thread, targets);
                Some(Vote::Resume)
            }
            Verdict::KeepRunning => None,
            Verdict::Abandon => {
                self.cancel_step(thread);
                Some(Vote::Run)
            }
            Verdict::Done { hidden } => Some(self.step_done(thread, registers.pc(), hidden)),
        }
    }

    /// Ends a step; a breakpoint at its end is hit as well.
    fn step_done(&mut self, thread: ThreadId, pc: LoadAddr, hidden: usize) -> Vote {
        let owners = self.owners_at(pc);
        let passed = self
            .inferior
            .thread_mut(thread)
            .is_some_and(|state| state.passed_site == Some(pc));
        let reason = if passed {
            None
        } else {
            let decided = self.decide_without_calls(thread, pc, &owners);
            self.evaluate_breakpoints(thread, pc, &owners, decided)
        };
        let is_step = reason.is_none();
        let returning = self.step_of(thread).and_then(|step| step.returning.take());
        let shown = Shown {
            hidden: is_step.then_some(hidden),
            requested: None,
            returned: returning.filter(|it| it.at == pc),
        };
        Vote::Stop(reason.unwrap_or(StopReason::Step), shown)
    }
}
