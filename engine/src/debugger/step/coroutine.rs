//! Steps in an `async fn`: a step over an `.await` waits for the same future.

use crate::debugger::Debugger;
use crate::ids::ThreadId;
use crate::inferior::site::Owner;

impl Debugger {
    /// Moves the step of one of these owners to a thread at its trap that is about to resume the
    /// future which the step awaits.
    pub(crate) fn take_step_over(&mut self, thread: ThreadId, owners: &[Owner]) {
        let Some(registers) = self.inferior.registers(thread) else {
            return;
        };
        let resumed = |owner: &Owner| {
            let Owner::Step(other) = *owner else {
                return None;
            };
            let step = self.threads.get(&other)?.step.as_ref()?;
            let future = step.plan.awaited()?;
            let memory = self.inferior.memory();
            future
                .is_resumed(&self.view(&registers, &memory))
                .then_some(other)
        };
        if let Some(other) = owners.iter().find_map(resumed) {
            self.hand_step(other, thread);
        }
    }

    /// Prepares for the end of a thread: if its step awaits a future, any other thread may resume
    /// that.
    pub(crate) fn leave_step(&mut self, thread: ThreadId) {
        let step = self.threads.get(&thread).and_then(|it| it.step.as_ref());
        if step.is_none_or(|step| step.plan.awaited().is_none()) {
            return;
        }
        let mut threads = self
            .inferior
            .process
            .iter()
            .flat_map(|process| &process.threads);
        let heir = threads.find(|(other, state)| {
            let has_step = self.threads.get(other).is_some_and(|it| it.step.is_some());
            **other != thread && !state.is_stopped_for_client() && !has_step
        });
        if let Some((heir, _)) = heir {
            self.hand_step(thread, *heir);
        }
    }

    /// Moves the step of one thread to another that has none.
    fn hand_step(&mut self, from: ThreadId, to: ThreadId) {
        if from == to || self.step_of(to).is_some() {
            return;
        }
        let Some(step) = self.threads.get_mut(&from).and_then(|it| it.step.take()) else {
            return;
        };
        tracing::trace!(%from, %to, "a step goes over to another thread");
        for target in &step.targets {
            self.inferior.add_site(target.addr, Owner::Step(to));
            self.inferior.remove_site(target.addr, Owner::Step(from));
        }
        if let Some(state) = self.thread_state(to) {
            state.step = Some(step);
        }
    }
}
