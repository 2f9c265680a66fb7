//! The stops that exceptions make: of threads of the task, of children, and those that are no news.

use super::exception::{self, Codes, Meaning};
use super::mach::KernReturn;
use super::message::Exception;
use super::{DarwinBackend, Platform};
use crate::arch::{Arch, Flow};
use crate::ids::{Signal, ThreadId};
use crate::os::{AddressSpace, ThreadEvent, ThreadState, TrapCause};
use dwarf::LoadAddr;

impl<M: Platform> DarwinBackend<M> {
    /// Handles an exception of any task.
    pub(super) fn on_exception(&mut self, exception: Exception) {
        let has_execed = self.note_exec(&exception);
        // Each message has brought a right to both ports.
        self.mach.mach_port_deallocate(exception.task);
        let Some(task) = self.task.as_ref().filter(|it| it.port == exception.task) else {
            self.on_strange_exception(exception);
            return;
        };
        let is_detaching = task.is_detaching;
        self.mach.mach_port_deallocate(exception.thread);
        if self.threads.id_of(exception.thread).is_none() {
            self.list_threads();
        }
        let Some(thread) = self.threads.id_of(exception.thread) else {
            return self.reply(&exception, KernReturn::SUCCESS);
        };
        let meaning = exception::meaning(&exception, M::SIGNALS, has_execed);
        if let Meaning::Sent(signal) = meaning
            && !is_detaching
            && let Some(passed) = self.expected(thread, signal)
        {
            return self.replace_signal(&exception, passed);
        }
        let trap = match meaning {
            Meaning::Trap => self.trap_cause(thread, &Codes(exception.codes)),
            _ => None,
        };
        if meaning == Meaning::Trap && trap.is_none() {
            // An interrupt of the thread still holds.
            tracing::debug!(%thread, "a step has ended that was not asked for");
            return self.reply(&exception, KernReturn::SUCCESS);
        }
        self.withdraw_interrupt(thread);
        let Some(state) = self.threads.get_mut(thread) else {
            return;
        };
        (state.exception, state.trap) = (Some((exception, meaning)), trap);
        state.is_late = state.is_suspended;
        if !is_detaching {
            self.report(thread);
        }
    }

    /// Reports the exception of a thread, unless it was reported as interrupted.
    pub(super) fn report(&mut self, thread: ThreadId) {
        let Some(state) = self.threads.get(thread) else {
            return;
        };
        if let (Some((_, meaning)), false) = (state.exception, state.is_late) {
            let event = match meaning {
                Meaning::Exec => ThreadEvent::Execed(thread),
                other => ThreadEvent::Signal(other.signal()),
            };
            self.ready.push_back((thread, event));
        }
    }

    /// Returns the signal that a thread gets for a signal that is no news: the debugger has caused it.
    pub(super) fn expected(&mut self, thread: ThreadId, signal: Signal) -> Option<Signal> {
        let task = self.task.as_mut()?;
        if signal == Signal::STOP && std::mem::take(&mut task.awaits_stop) {
            return Some(Signal(0));
        }
        if let Some(state) = self.threads.get_mut(thread)
            && exception::stands_for_exception(signal)
            && std::mem::take(&mut state.passes)
        {
            return Some(signal);
        }
        let at = task.sent.iter().position(|sent| *sent == signal)?;
        task.sent.swap_remove(at);
        Some(signal)
    }

    /// Notes that the process has executed another program: it has a new task and one thread.
    /// Returns whether that is what the exception reports.
    pub(super) fn note_exec(&mut self, exception: &Exception) -> bool {
        let Some(task) = &mut self.task else {
            return false;
        };
        if exception.task == task.port || self.mach.pid_for_task(exception.task) != Ok(task.pid) {
            return false;
        }
        let pid = task.pid;
        let former = std::mem::replace(&mut task.port, exception.task);
        task.is_gone = false;
        self.mach.mach_port_deallocate(former);
        for thread in self.threads.of(pid) {
            self.forget_thread(thread);
        }
        // These rights are kept beyond the message.
        if let Ok(port) = self.mach.task_for_pid(pid) {
            debug_assert_eq!(port, exception.task);
        }
        let _ = (self.mach).mach_port_request_notification(exception.task, self.port);
        self.add_new_threads(|_, _| {});
        true
    }

    /// Handles the exception of a process that is not under control. A child has inherited where
    /// exceptions are sent, and the traps in the code; the system does not report its creation. It
    /// stays in the exception until the engine has restored its code, and detaches it.
    pub(super) fn on_strange_exception(&mut self, exception: Exception) {
        let Ok(pid) = self.mach.pid_for_task(exception.task) else {
            return self.reply(&exception, KernReturn::FAILURE);
        };
        let thread = match self.threads.id_of(exception.thread) {
            Some(thread) => thread,
            None => {
                let unique = self.mach.thread_info_identifier(exception.thread);
                self.threads.add(exception.thread, pid, unique.unwrap_or(0))
            }
        };
        let meaning = exception::meaning(&exception, M::SIGNALS, false);
        if let Some(state) = self.threads.get_mut(thread) {
            state.exception = Some((exception, meaning));
            state.trap = (meaning == Meaning::Trap).then_some(TrapCause::Breakpoint);
        }
        let event = ThreadEvent::Signal(meaning.signal());
        self.ready.push_back((thread, event));
    }

    /// Returns why a thread has trapped; `None` if nothing has asked for it.
    pub(super) fn trap_cause(&mut self, thread: ThreadId, codes: &Codes) -> Option<TrapCause> {
        let state = self.threads.get(thread)?;
        let (is_stepping, resumed_at) = (state.is_stepping, state.resumed_at);
        let hits = self.take_hits(thread, codes);
        let pc = resumed_at.and_then(|_| Some(self.registers(thread)?.pc()));
        let is_at_trap = pc.is_none_or(|pc| self.is_trap(pc));
        (M::ABI.trap_cause)(&super::abi::Trapped {
            codes,
            is_stepping,
            has_moved: pc != resumed_at,
            is_at_trap,
            hits,
        })
    }

    /// Returns whether a trap instruction is at an address.
    pub(super) fn is_trap(&self, pc: LoadAddr) -> bool {
        let mut code = [0; 4];
        self.read_memory(pc, &mut code) == code.len()
            && Arch::HOST
                .decode(&code, pc)
                .is_some_and(|it| matches!(it.flow, Flow::Interrupt | Flow::Fault))
    }
}
