//! Steps in an `async fn`: a step over an `.await` waits for the same future.

use super::{Target, View};
use crate::debugger::Debugger;
use crate::ids::ThreadId;
use crate::inferior::site::Owner;
use dwarf::{LoadAddr, Register};

/// The future in whose body a step begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Coroutine {
    /// Address of its state, which is pinned.
    pub state: LoadAddr,
    /// Address and size of the discriminant of its state.
    pub discriminant: (LoadAddr, usize),
    /// The function that resumes it.
    pub entry: LoadAddr,
}

/// rustc's state numbers: 0 not begun, 1 done, 2 panicked, and the suspension points from here on.
const FIRST_WAITING: u64 = 3;

impl Coroutine {
    /// Returns whether it is suspended.
    pub fn is_waiting(&self, view: &View<'_>) -> bool {
        let (addr, size) = self.discriminant;
        let state = view.memory.read_uint(addr, size);
        state.is_ok_and(|state| state >= FIRST_WAITING)
    }

    /// Returns whether the thread is about to resume it: its state is the first argument (rdi), or
    /// the second one (rsi) after the address of a result in memory.
    pub fn is_resumed(&self, view: &View<'_>) -> bool {
        let is_state = |number| view.registers.get(Register(number)) == Some(self.state.0);
        view.registers.pc() == self.entry && (is_state(5) || is_state(4))
    }

    /// Returns the address at which it will be resumed.
    pub fn resumption(&self) -> Target {
        Target {
            addr: self.entry,
            sp: 0,
        }
    }
}

impl Debugger {
    /// Moves the step of one of these owners to a thread at its trap that is about to resume the
    /// future which the step awaits.
    pub(crate) fn take_step_over(&mut self, thread: ThreadId, owners: &[Owner]) {
        let Some(registers) = self.inferior.user_registers(thread) else {
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
            **other != thread && !state.stopped_for_client && !has_step
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
            self.inferior
                .sites
                .add(target.addr, Owner::Step(to), &*self.inferior.os);
            self.inferior
                .sites
                .remove(target.addr, Owner::Step(from), &*self.inferior.os);
        }
        if let Some(state) = self.thread_state(to) {
            state.step = Some(step);
        }
    }
}
