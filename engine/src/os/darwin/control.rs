//! Launch, attach, interrupt, resume and detach, by exceptions and suspension.

use super::exception::{self, Answer, Codes, Meaning};
use super::mach::{ExceptionPort, KernReturn, Mach, Port, Ptrace};
use super::message::Exception;
use super::{DarwinBackend, Platform, Task, mach_error, refusal, signals};
use crate::arch::Arch;
use crate::arch::Flow;
use crate::ids::error::Error;
use crate::ids::{Launch, Signal, ThreadId};
use crate::os::unix::front;
use crate::os::unix::output::Outputs;
use crate::os::unix::stdio::Stdio;
use crate::os::{AddressSpace, OpenStdio, Resume, SeizeAs, ThreadEvent, ThreadState, TrapCause};
use dwarf::LoadAddr;
use std::fs::File;
use std::time::{Duration, Instant};

/// How long to wait for the stop in which a process is detached.
const DETACH_TIMEOUT: Duration = Duration::from_secs(1);

impl<M: Platform> DarwinBackend<M> {
    pub(super) fn launch_program(
        &mut self,
        launch: &Launch,
        opened: Option<OpenStdio>,
    ) -> Result<i32, Error> {
        let fail = |message: String| Error::Launch {
            program: launch.program.clone(),
            message,
        };
        launch.check_program()?;
        let opened = match opened {
            Some(opened) => opened,
            None => OpenStdio::open_at_once(launch)?,
        };
        let Stdio { child, ours } = Stdio::new(launch, opened).map_err(fail)?;
        let pid = self.mach.posix_spawn(launch, child).map_err(fail)?;
        let begun = self.begin(pid).and_then(|task| {
            for thread in self.threads.of(pid) {
                self.suspend(thread);
            }
            // It was started suspended.
            let resumed = self.mach.task_resume(task);
            resumed.map_err(|error| mach_error("task_resume", error))
        });
        if let Err(error) = begun.and_then(|()| self.open_memory(pid)) {
            let _ = self.mach.ptrace(Ptrace::Kill, pid);
            self.signal_and_forget(pid);
            return Err(match error {
                Error::Attach { message, .. } => fail(message),
                other => other,
            });
        }
        self.outputs = Outputs::new(ours.map(|output| output.map(File::from)));
        Ok(pid)
    }

    pub(super) fn seize_process(
        &mut self,
        pid: i32,
        role: SeizeAs,
    ) -> Result<Vec<ThreadId>, Error> {
        if pid == std::process::id() as i32 || front::is_front(pid) {
            return Err(Error::Attach {
                pid,
                message: "the debugger cannot attach to itself".into(),
            });
        }
        self.begin(pid)?;
        if role != SeizeAs::Launcher {
            self.open_memory(pid)?;
        }
        Ok(self.threads.of(pid))
    }

    /// Takes control of a process, whose threads run on. Returns its task.
    fn begin(&mut self, pid: i32) -> Result<Port, Error> {
        let fail = |message| Error::Attach { pid, message };
        let port = (self.mach.task_for_pid(pid))
            .map_err(|error| fail(refusal::of_process(&self.mach, pid, error)))?;
        let former = (self.mach.task_swap_exception_ports(port, self.port))
            .map_err(|error| fail(refusal::of_process(&self.mach, pid, error)))?;
        self.task = Some(Task {
            pid,
            port,
            former,
            awaits_stop: true,
            sent: Vec::new(),
            is_detaching: false,
            is_gone: false,
        });
        if let Err(error) = self.mach.ptrace(Ptrace::AttachExc, pid) {
            self.restore_exception_ports();
            self.forget_task();
            return Err(fail(refusal::of_tracing(&self.mach, pid, &error)));
        }
        let _ = self.mach.mach_port_request_notification(port, self.port);
        self.add_new_threads(|_, _| {});
        Ok(port)
    }

    fn signal_and_forget(&mut self, pid: i32) {
        self.mach
            .kill(pid, signals::to_system(M::SIGNALS, Signal::KILL));
        self.run_to_end(pid);
        self.forget_task();
    }

    /// Sends the exceptions of the task where they went before.
    fn restore_exception_ports(&self) {
        if let Some(task) = &self.task {
            restore(&self.mach, task.port, &task.former);
        }
    }

    /// Adds the threads of the task that are not known yet; `then` gets each.
    fn add_new_threads(&mut self, mut then: impl FnMut(&mut Self, ThreadId)) {
        let Some((pid, task)) = self.task.as_ref().map(|task| (task.pid, task.port)) else {
            return;
        };
        for port in self.mach.task_threads(task).unwrap_or_default() {
            if self.threads.id_of(port).is_some() {
                // A second right to the port.
                self.mach.mach_port_deallocate(port);
                continue;
            }
            let unique = self.mach.thread_info_identifier(port).unwrap_or(0);
            let thread = self.threads.add(port, pid, unique);
            if self
                .mach
                .mach_port_request_notification(port, self.port)
                .is_err()
            {
                // It has ended already.
                self.threads.remove(thread);
                self.mach.mach_port_deallocate(port);
                continue;
            }
            then(self, thread);
        }
    }

    /// Finds the threads that were created since, and stops each: its creation is reported by this
    /// stop.
    pub(super) fn list_threads(&mut self) {
        loop {
            let known = self.threads.len();
            self.add_new_threads(|this, thread| {
                if this.suspend(thread) {
                    this.ready.push_back((thread, ThreadEvent::Interrupted));
                }
            });
            // A thread may have created another one until it was suspended.
            if self.threads.len() == known {
                return;
            }
        }
    }

    /// Suspends a thread that runs. Returns false if it is gone.
    fn suspend(&mut self, thread: ThreadId) -> bool {
        let Some(state) = self.threads.get_mut(thread) else {
            return false;
        };
        state.is_suspended = self.mach.thread_suspend(state.port).is_ok();
        state.is_suspended
    }

    /// Ends the suspension of a thread.
    fn unsuspend(&mut self, thread: ThreadId) {
        if let Some(state) = self.threads.get_mut(thread)
            && std::mem::take(&mut state.is_suspended)
        {
            let _ = self.mach.thread_resume(state.port);
        }
    }

    pub(super) fn interrupt_thread(&mut self, thread: ThreadId) {
        let is_reported = !self.ready.iter().any(|(of, _)| *of == thread);
        let Some(state) = self.threads.get_mut(thread) else {
            return;
        };
        if state.is_stopped() {
            state.is_interrupted = is_reported;
            return;
        }
        if state.is_gone || self.suspend(thread) {
            self.ready.push_back((thread, ThreadEvent::Interrupted));
        }
        // The last one that runs may have created another.
        if !self.threads.iter().any(|(_, it)| it.runs()) {
            self.list_threads();
        }
    }

    /// Takes back the interrupt of a thread that was not collected yet.
    fn withdraw_interrupt(&mut self, thread: ThreadId) {
        let interrupt = (thread, ThreadEvent::Interrupted);
        if let Some(at) = self.ready.iter().position(|it| *it == interrupt) {
            self.ready.remove(at);
            self.unsuspend(thread);
        }
    }

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
        self.withdraw_interrupt(thread);
        let Some(state) = self.threads.get_mut(thread) else {
            return;
        };
        state.exception = Some((exception, meaning));
        state.is_late = state.is_suspended;
        if meaning == Meaning::Trap {
            let trap = self.trap_cause(thread, &Codes(exception.codes));
            if let Some(state) = self.threads.get_mut(thread) {
                state.trap = trap;
            }
            if trap.is_none() {
                tracing::debug!(%thread, "a step has ended that was not asked for");
                return self.go_on(thread, Resume::Continue, Signal(0));
            }
        }
        if !is_detaching {
            self.report(thread);
        }
    }

    /// Reports the exception of a thread, unless it was reported as interrupted.
    fn report(&mut self, thread: ThreadId) {
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
    fn expected(&mut self, thread: ThreadId, signal: Signal) -> Option<Signal> {
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
    fn note_exec(&mut self, exception: &Exception) -> bool {
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
    fn on_strange_exception(&mut self, exception: Exception) {
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

    /// Detaches a child: its exceptions go where those of its parent went before.
    fn detach_child(&mut self, child: ThreadId, signal: Signal) {
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

    /// Answers an exception.
    fn reply(&self, exception: &Exception, result: KernReturn) {
        if let Err(error) = self.mach.mach_msg_send(&exception.reply(result)) {
            // The thread was killed.
            tracing::debug!(%error, "cannot reply to an exception");
        }
    }

    /// Answers the exception of a signal: the thread gets this one instead (0: none).
    fn replace_signal(&self, exception: &Exception, signal: Signal) {
        if let Some(task) = self.task.as_ref().filter(|it| it.port == exception.task) {
            let number = signals::to_system(M::SIGNALS, signal);
            let update = Ptrace::ThUpdate(exception.thread, number);
            if let Err(error) = self.mach.ptrace(update, task.pid) {
                tracing::debug!(%error, "cannot replace a signal");
            }
        }
        self.reply(exception, KernReturn::SUCCESS);
    }

    /// Answers the exception that a thread waits in, with the signal that it is to get (0: none).
    /// Without an exception, a signal is sent.
    fn answer(&mut self, thread: ThreadId, signal: Signal) {
        let Some(state) = self.threads.get_mut(thread) else {
            return;
        };
        let waits = state.exception.take();
        (state.is_late, state.trap, state.hits) = (false, None, 0);
        let send = |this: &mut Self| {
            if let Some(task) = &mut this.task {
                task.sent.push(signal);
                // At a detach, once nothing is reported any more.
                if !task.is_detaching {
                    let number = signals::to_system(M::SIGNALS, signal);
                    this.mach.kill(task.pid, number);
                }
            }
        };
        let Some((exception, meaning)) = waits else {
            if signal.0 != 0 {
                send(self);
            }
            return;
        };
        match exception::answer(meaning, signal) {
            Answer::Replace(signal) => self.replace_signal(&exception, signal),
            Answer::Handled => self.reply(&exception, KernReturn::SUCCESS),
            Answer::NotHandled => {
                state.passes = true;
                self.reply(&exception, KernReturn::FAILURE);
            }
            Answer::HandledAndSent(_) => {
                send(self);
                self.reply(&exception, KernReturn::SUCCESS);
            }
        }
    }

    /// Resumes a stopped thread with a signal (0: none).
    pub(super) fn go_on(&mut self, thread: ThreadId, how: Resume, signal: Signal) {
        let Some(state) = self.threads.get_mut(thread) else {
            return;
        };
        if !state.is_stopped() {
            return;
        }
        let is_interrupted = std::mem::take(&mut state.is_interrupted);
        if std::mem::take(&mut state.is_late) {
            // What it has stopped for first.
            self.unsuspend(thread);
            return self.report(thread);
        }
        if is_interrupted {
            if self.suspend_once(thread) {
                self.answer(thread, signal);
                self.ready.push_back((thread, ThreadEvent::Interrupted));
            }
            return;
        }
        self.set_stepping(thread, how == Resume::Step);
        self.answer(thread, signal);
        self.unsuspend(thread);
    }

    /// Suspends a thread that may be suspended already.
    fn suspend_once(&mut self, thread: ThreadId) -> bool {
        let is_suspended = self.threads.get(thread).is_some_and(|it| it.is_suspended);
        is_suspended || self.suspend(thread)
    }

    /// Returns why a thread has trapped; `None` if nothing has asked for it.
    fn trap_cause(&mut self, thread: ThreadId, codes: &Codes) -> Option<TrapCause> {
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
    fn is_trap(&self, pc: LoadAddr) -> bool {
        let mut code = [0; 4];
        self.read_memory(pc, &mut code) == code.len()
            && Arch::HOST
                .decode(&code, pc)
                .is_some_and(|it| matches!(it.flow, Flow::Interrupt | Flow::Fault))
    }

    /// Lets the threads of a process that was killed run to its end.
    pub(super) fn run_to_end(&mut self, pid: i32) {
        if self.task.as_ref().is_none_or(|task| task.pid != pid) {
            return;
        }
        for thread in self.threads.of(pid) {
            let Some(state) = self.threads.get_mut(thread) else {
                continue;
            };
            if let Some((exception, _)) = state.exception.take() {
                self.reply(&exception, KernReturn::SUCCESS);
            }
            self.unsuspend(thread);
        }
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
    fn detach_process(&mut self) {
        let Some(task) = &mut self.task else { return };
        task.is_detaching = true;
        let pid = task.pid;
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
            let number = signals::to_system(M::SIGNALS, Signal::STOP);
            self.mach.kill(pid, number);
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
    fn await_exception(&mut self) {
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
