//! Detaching: of the process, all of whose threads go on together, and of children.

use super::mach::{ExceptionPort, KernReturn, Mach, Port, Ptrace};
use super::{DarwinBackend, Platform, signals};
use crate::ids::{Signal, ThreadId};
use std::time::{Duration, Instant};

/// How long to wait for the stop in which a process is detached.
const DETACH_TIMEOUT: Duration = Duration::from_secs(1);

impl<M: Platform> DarwinBackend<M> {
    /// Sends the exceptions of the task where they went before.
    pub(super) fn restore_exception_ports(&self) {
        if let Some(task) = &self.task {
            restore(&self.mach, task.port, &task.former);
        }
    }

    /// Detaches a child: its exceptions go where those of its parent went before.
    pub(super) fn detach_child(&mut self, child: ThreadId, signal: Signal) {
        self.answer(child, signal);
        let Some(state) = self.threads.remove(child) else {
            return;
        };
        if let Ok(task) = self.mach.task_for_pid(state.pid) {
            let former = self.task.iter().flat_map(|task| &task.former);
            restore(&self.mach, task, former);
            self.mach.mach_port_deallocate(task);
        }
        self.mach.mach_port_deallocate(state.port);
    }

    pub(super) fn detach_thread(&mut self, thread: ThreadId, signal: Signal) {
        let Some(state) = self.threads.get_mut(thread) else {
            return;
        };
        if self.task.as_ref().is_none_or(|task| task.pid != state.pid) {
            return self.detach_child(thread, signal);
        }
        state.detaches = Some(signal);
        let pid = state.pid;
        let is_left = |thread: &ThreadId| {
            let state = self.threads.get(*thread);
            state.is_some_and(|it| it.detaches.is_none() && !it.is_gone)
        };
        let all = !self.threads.of(pid).iter().any(is_left);
        if all {
            self.detach_process();
        }
    }

    /// Detaches the process, all of whose threads are stopped: each goes on with its signal.
    pub(super) fn detach_process(&mut self) {
        let Some(task) = &mut self.task else { return };
        task.is_detaching = true;
        let (pid, awaits_stop) = (task.pid, task.awaits_stop);
        for thread in self.threads.of(pid) {
            self.clear_slots(thread);
            self.set_stepping(thread, false);
            // Threads go on together, at the end.
            self.suspend_once(thread);
            let signal = self.threads.get(thread).and_then(|it| it.detaches);
            self.answer(thread, signal.unwrap_or(Signal(0)));
        }
        // The kernel detaches a process only where it has stopped for a signal. A thread takes a
        // SIGSTOP before it executes an instruction.
        let carrier = self
            .threads
            .of(pid)
            .into_iter()
            .find(|thread| (self.threads.get(*thread)).is_some_and(|it| it.is_suspended));
        if let Some(carrier) = carrier {
            // The one that began the tracing may still be to come.
            if !awaits_stop {
                let number = signals::to_system(M::SIGNALS, Signal::STOP);
                self.mach.kill(pid, number);
            }
            self.unsuspend(carrier);
            self.await_exception();
        }
        if let Err(error) = self.mach.ptrace(Ptrace::Detach, pid) {
            tracing::warn!(pid, %error, "cannot detach");
        }
        self.restore_exception_ports();
        for signal in self.task.iter_mut().flat_map(|it| it.sent.drain(..)) {
            self.mach.kill(pid, signals::to_system(M::SIGNALS, signal));
        }
        for thread in self.threads.of(pid) {
            let waits = self
                .threads
                .get_mut(thread)
                .and_then(|it| it.exception.take());
            if let Some((exception, _)) = waits {
                self.reply(&exception, KernReturn::SUCCESS);
            }
            self.unsuspend(thread);
        }
        self.forget_task();
    }

    /// Waits until a thread is in an exception.
    pub(super) fn await_exception(&mut self) {
        let until = Instant::now() + DETACH_TIMEOUT;
        loop {
            self.collect();
            let has_stopped = self.threads.iter().any(|(_, it)| it.exception.is_some());
            if has_stopped || self.threads.len() == 0 {
                return;
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                tracing::warn!("the process does not stop to be detached");
                return;
            }
            let _ = self.mach.kevent(self.port, [None; 4], Some(left));
        }
    }
}

/// Sends the exceptions of a task where they went before.
fn restore<'a>(mach: &impl Mach, task: Port, former: impl IntoIterator<Item = &'a ExceptionPort>) {
    // Those that went nowhere, too.
    let _ = mach.task_swap_exception_ports(task, Port::NULL);
    for former in former.into_iter().filter(|it| it.port != Port::NULL) {
        if let Err(error) = mach.task_set_exception_ports(task, former) {
            tracing::warn!(%error, "cannot restore an exception port");
        }
    }
}
