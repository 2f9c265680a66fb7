//! Steps in an `async fn`: a person who steps over an `.await` waits for the same future.

use super::{Target, View};
use crate::breakpoint::site::Owner;
use crate::debugger::Debugger;
use crate::ids::ThreadId;
use dwarf::{LoadAddr, Register};

/// The future whose body a step begins in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Coroutine {
    /// Where its state is; it is pinned.
    pub state: LoadAddr,
    /// Where the number of the state is that it is in, and how many bytes it has.
    pub discriminant: (LoadAddr, usize),
    /// The function that resumes it.
    pub entry: LoadAddr,
}

/// rustc numbers the states: not begun, done, panicked, and from here on where it waits.
const FIRST_WAITING: u64 = 3;

impl Coroutine {
    /// Whether it waits for something.
    pub fn is_waiting(&self, view: &View<'_>) -> bool {
        let (addr, size) = self.discriminant;
        let state = view.memory.read_uint(addr, size);
        state.is_ok_and(|state| state >= FIRST_WAITING)
    }

    /// Whether the thread is about to resume it: its state is the first argument (rdi), or the
    /// second one (rsi), behind the place for a result that registers do not hold.
    pub fn is_resumed(&self, view: &View<'_>) -> bool {
        let is_state = |number| view.registers.get(Register(number)) == Some(self.state.0);
        view.registers.pc() == self.entry && (is_state(5) || is_state(4))
    }

    /// Where it will be resumed.
    pub fn resumption(&self) -> Target {
        Target {
            addr: self.entry,
            sp: 0,
        }
    }
}

impl Debugger {
    /// A thread is at the traps of these owners' steps: it takes over the one that waits for a
    /// future which it is about to resume.
    pub(crate) fn take_step_over(&mut self, thread: ThreadId, owners: &[Owner]) {
        let Some(registers) = self.user_registers(thread) else {
            return;
        };
        let resumed = |owner: &Owner| {
            let Owner::Step(other) = *owner else {
                return None;
            };
            let step = self.process.as_ref()?.threads.get(&other)?.step.as_ref()?;
            let future = step.plan.awaited()?;
            let memory = self.memory();
            future
                .is_resumed(&self.view(&registers, &memory))
                .then_some(other)
        };
        if let Some(other) = owners.iter().find_map(resumed) {
            self.hand_step(other, thread);
        }
    }

    /// A thread ends: if its step waits for a future, any other one may resume that.
    pub(crate) fn leave_step(&mut self, thread: ThreadId) {
        let step = self.step_of(thread);
        if step.is_none_or(|step| step.plan.awaited().is_none()) {
            return;
        }
        let mut threads = self.process.iter().flat_map(|process| &process.threads);
        let heir = threads.find(|(other, state)| {
            **other != thread && !state.stopped_for_client && state.step.is_none()
        });
        if let Some((heir, _)) = heir {
            self.hand_step(thread, *heir);
        }
    }

    /// The step of one thread goes on as that of another one that has none.
    fn hand_step(&mut self, from: ThreadId, to: ThreadId) {
        if from == to || self.step_of(to).is_some() {
            return;
        }
        let Some(step) = self.thread_mut(from).and_then(|state| state.step.take()) else {
            return;
        };
        tracing::trace!(%from, %to, "a step goes over to another thread");
        for target in &step.targets {
            self.sites.add(target.addr, Owner::Step(to), &*self.os);
            self.sites.remove(target.addr, Owner::Step(from), &*self.os);
        }
        if let Some(state) = self.thread_mut(to) {
            state.step = Some(step);
        }
    }
}
