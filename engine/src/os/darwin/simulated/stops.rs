//! Stops of threads, which become messages, and the replies to these.

use super::super::flavors::code::{I386_BPT, I386_GPFLT, I386_SGL, SOFT_SIGNAL};
use super::super::flavors::kind;
use super::super::mach::{Ended, KernReturn, Port, Result};
use super::super::message::kernel as messages;
use super::kernel::{Kernel, Task, Thread, Waits};
use super::ports::Right;
use crate::arch::Arch;
use crate::ids::{Signal, ThreadId};
use crate::os::linux::ptrace;
use crate::os::linux_abi::signal;
use crate::os::{ThreadEvent, TrapCause};

/// `SI_KERNEL`
const NO_ADDRESS: i32 = 0x80;

impl Kernel {
    /// Forgets a thread that is detached or has ended.
    pub(super) fn forget_thread(&mut self, tid: i32) -> Option<Thread> {
        let thread = self.threads.remove(&tid)?;
        self.end_port(thread.port, thread.notify);
        if let Some(task) = self.tasks.get_mut(&thread.pid) {
            task.threads.retain(|other| *other != tid);
            if task.threads.is_empty() && task.ended.is_none() {
                task.is_seized = false;
            }
        }
        Some(thread)
    }

    /// Takes all stops that there are.
    pub fn take_stops(&mut self) {
        while let Some((thread, event)) = ptrace::next_stop() {
            self.on_stop(thread, event);
        }
    }

    pub(super) fn on_stop(&mut self, thread: ThreadId, event: ThreadEvent) {
        let tid = thread.0;
        let Some(state) = self.threads.get_mut(&tid) else {
            self.early.push((thread, event));
            return;
        };
        let pid = state.pid;
        match event {
            ThreadEvent::Exited(_) | ThreadEvent::Killed(_) => {
                self.on_end(tid, event);
                return;
            }
            _ => state.is_stopped = true,
        }
        state.is_job_stopped = matches!(event, ThreadEvent::GroupStop(_));
        match event {
            ThreadEvent::Created(new) => {
                self.add_thread(pid, new.0, false);
                self.take_early(new.0);
            }
            ThreadEvent::Forked(child) | ThreadEvent::Vforked(child) => {
                self.add_child(pid, child);
                self.take_early(child);
            }
            ThreadEvent::Execed(former) => self.on_exec(pid, tid, former.0),
            ThreadEvent::Signal(signal) => self.on_signal(tid, signal),
            _ => {}
        }
        self.go_on(tid);
    }

    /// Handles a stop that has come before its thread was known.
    pub(super) fn take_early(&mut self, tid: i32) {
        let at = self.early.iter().position(|(thread, _)| thread.0 == tid);
        if let Some(at) = at {
            let (thread, event) = self.early.swap_remove(at);
            self.on_stop(thread, event);
        }
    }

    /// Adds a child, which has inherited where exceptions are sent, and is not traced otherwise.
    pub(super) fn add_child(&mut self, parent: i32, child: i32) {
        let exceptions = self.tasks.get(&parent).map(|task| task.exceptions);
        let port = self.ports.allocate(Right::Task(child));
        let mut task = Task::new(port);
        task.is_seized = true;
        task.exceptions = exceptions.unwrap_or_default();
        self.tasks.insert(child, task);
        self.add_thread(child, child, false);
    }

    /// Handles the execution of another program: it gets a new task and a new thread.
    pub(super) fn on_exec(&mut self, pid: i32, tid: i32, _: i32) {
        let others: Vec<i32> = self.threads_of(pid);
        for other in others.into_iter().filter(|other| *other != tid) {
            self.forget_thread(other);
        }
        let (task_port, thread_port) = (
            self.ports.allocate(Right::Task(pid)),
            self.ports.allocate(Right::Thread(tid)),
        );
        let mut is_traced = false;
        if let Some(task) = self.tasks.get_mut(&pid) {
            let former = std::mem::replace(&mut task.port, task_port);
            task.overrides.clear();
            is_traced = task.is_traced;
            let notify = std::mem::take(&mut task.notify);
            self.end_port(former, notify);
        }
        if let Some(thread) = self.threads.get_mut(&tid) {
            let former = std::mem::replace(&mut thread.port, thread_port);
            (thread.is_stepping, thread.suspended, thread.waits) = (false, 0, None);
            let notify = std::mem::take(&mut thread.notify);
            self.end_port(former, notify);
        }
        if is_traced {
            self.raise_signal(tid, libc::SIGTRAP);
        }
    }

    /// Ends what a port stands for, and gives up the kernel's own reference. The notice of it has a
    /// reference to the dead name.
    pub(super) fn end_port(&mut self, port: Port, notify: bool) {
        self.ports.die(port);
        if notify {
            let port = self.ports.give(Some(port), Right::Dead);
            self.messages.push_back(messages::dead_name(port).to_vec());
        }
        self.ports.deallocate(port);
    }

    pub(super) fn threads_of(&self, pid: i32) -> Vec<i32> {
        let threads = self.tasks.get(&pid).map(|task| task.threads.clone());
        threads.unwrap_or_default()
    }

    pub(super) fn on_end(&mut self, tid: i32, event: ThreadEvent) {
        let Some(thread) = self.forget_thread(tid) else {
            return;
        };
        if thread.pid != tid {
            return;
        }
        let Some(task) = self.tasks.get_mut(&tid) else {
            return;
        };
        task.ended = match event {
            ThreadEvent::Killed(signal) => Some(Ended::Signaled(signal.0)),
            ThreadEvent::Exited(status) => Some(Ended::Exited(status)),
            _ => None,
        };
        let (port, notify) = (task.port, task.notify);
        self.end_port(port, notify);
    }

    /// Handles a thread that is about to get a signal.
    pub(super) fn on_signal(&mut self, tid: i32, signal: Signal) {
        let thread = ThreadId(tid);
        let Some(task) = self
            .threads
            .get(&tid)
            .and_then(|it| self.tasks.get(&it.pid))
        else {
            return;
        };
        let (is_traced, has_port) = (task.is_traced, task.exceptions != Port::NULL);
        let info = ptrace::signal_info(thread).and_then(|raw| signal::decode_info(&raw));
        let own = info.filter(|info| info.code > 0);
        let trap = info.and_then(|info| signal::trap_cause(Arch::HOST, &info));
        let address = info.and_then(|info| info.address).map_or(0, |addr| addr.0);
        let raised = match (signal, own) {
            (Signal::TRAP, _) if let Some(trap) = trap => {
                let code = match trap {
                    TrapCause::Breakpoint => I386_BPT,
                    _ => I386_SGL,
                };
                Some((kind::BREAKPOINT, [code, 0]))
            }
            // The codes by which the signal is the same again.
            (Signal::SEGV, Some(info)) if info.code == NO_ADDRESS => {
                Some((kind::BAD_ACCESS, [I386_GPFLT, 0]))
            }
            (Signal::SEGV, Some(_)) => Some((kind::BAD_ACCESS, [1, address])),
            (Signal::BUS, Some(_)) => Some((kind::BAD_ACCESS, [2, address])),
            (Signal::ILL, Some(_)) => Some((kind::BAD_INSTRUCTION, [1, 0])),
            (Signal::FPE, Some(info)) => Some((kind::ARITHMETIC, [info.code as u64, 0])),
            _ => None,
        };
        match raised {
            Some((kind, codes)) if has_port => self.raise(tid, kind, codes, signal.0, false),
            _ if is_traced && has_port => self.raise_signal(tid, signal.0),
            _ => {
                if let Some(thread) = self.threads.get_mut(&tid) {
                    thread.signal = signal.0;
                }
            }
        }
    }

    pub(super) fn raise_signal(&mut self, tid: i32, signal: i32) {
        let codes = [SOFT_SIGNAL, signal as u64];
        self.raise(tid, kind::SOFTWARE, codes, signal, true);
    }

    /// Sends an exception, whose thread waits for the reply.
    pub(super) fn raise(
        &mut self,
        tid: i32,
        kind: i32,
        codes: [u64; 2],
        signal: i32,
        is_soft: bool,
    ) {
        let reply = self.ports.allocate(Right::Reply(tid));
        let Some(thread) = self.threads.get_mut(&tid) else {
            return;
        };
        let Some(task) = self.tasks.get(&thread.pid) else {
            return;
        };
        thread.waits = Some(Waits { signal, is_soft });
        let (task_port, pid) = (task.port, thread.pid);
        let thread_port = self.ports.give(Some(thread.port), Right::Thread(tid));
        let task_port = self.ports.give(Some(task_port), Right::Task(pid));
        let message = messages::exception(thread_port, task_port, kind, codes, reply);
        self.messages.push_back(message.to_vec());
    }

    /// Handles the reply to an exception.
    pub fn on_reply(&mut self, to: Port, result: KernReturn) -> Result<()> {
        let tid = self
            .ports
            .take_reply(to)
            .ok_or(KernReturn::SEND_INVALID_DEST)?;
        let Some(thread) = self.threads.get_mut(&tid) else {
            return Ok(());
        };
        let Some(waits) = thread.waits.take() else {
            return Ok(());
        };
        let is_traced = self.tasks.get(&thread.pid).is_some_and(|it| it.is_traced);
        if waits.is_soft {
            thread.signal = waits.signal;
        } else if result != KernReturn::SUCCESS {
            if is_traced {
                self.raise_signal(tid, waits.signal);
            } else {
                thread.signal = waits.signal;
            }
        }
        self.go_on(tid);
        Ok(())
    }
}
