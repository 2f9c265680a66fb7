//! macOS: Mach exceptions and thread states, with ptrace(2) for signals.
//!
//! A thread that has raised an exception waits until the message is replied to. Any other thread is
//! stopped by suspending it. So each thread stops and runs on its own. The kernel reports neither new
//! threads nor forks: threads are listed when all are stopped, and stop where they begin.
//!
//! The backend is written for any [`Mach`]: the system, or (feature `simulated-mach`) one that is
//! simulated by ptrace on Linux, on which the tests of the debugger run.

mod abi;
mod control;
#[cfg(any(target_os = "macos", test))]
mod declared;
mod detach;
mod exception;
#[allow(
    dead_code,
    reason = "tests compare them with the headers and with the layouts"
)]
mod flavors;
#[cfg(target_os = "macos")]
pub mod host;
#[cfg(test)]
mod layout_tests;
mod mach;
mod memory;
mod message;
mod processes;
mod refusal;
mod safekeeping;
#[cfg(test)]
mod scripted;
mod signals;
#[cfg(any(target_os = "macos", test))]
mod signing;
#[cfg(feature = "simulated-mach")]
pub mod simulated;
mod start;
mod state;
mod stops;
#[cfg(target_os = "macos")]
pub mod system;
#[cfg(test)]
mod tests;
mod threads;

use super::event::NextLook;
use super::processes::ThreadStarts;
use super::unix::ending;
use super::unix::output::Outputs;
use super::{
    Backend, OpenStdio, Patience, Ready, Recordings, Resume, SeizeAs, ThreadEvent, WaitInterest,
    Waker,
};
use crate::ids::error::Error;
use crate::ids::{Launch, OutputStream, Signal, ThreadId};
use abi::DarwinAbi;
use mach::{Ended, ExceptionPort, KernReturn, MAX_MESSAGE, Mach, Port};
use message::Message;
use std::collections::VecDeque;
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};
use threads::Threads;

/// Interval of looks for the end of a process whose task is gone already.
const END_INTERVAL: Duration = Duration::from_millis(1);

/// What a system with Mach calls defines besides them.
pub trait Platform: Mach {
    /// What the kernel defines for the architecture of this machine.
    const ABI: &'static DarwinAbi;
    /// The engine's numbers of its signals.
    const SIGNALS: &'static signals::Numbers;
    /// Where new threads begin.
    const THREAD_STARTS: ThreadStarts;

    /// Returns a value of the auxiliary vector, which only programs of Linux have.
    fn auxiliary(&self, _: i32, _: u64) -> Option<u64> {
        None
    }
}

#[cfg(target_os = "macos")]
impl Platform for system::System {
    const ABI: &'static DarwinAbi = &abi::HOST;
    const SIGNALS: &'static signals::Numbers = &signals::XNU;
    const THREAD_STARTS: ThreadStarts = (
        "libsystem_pthread",
        &["_pthread_start", "_pthread_wqthread"],
    );
}

/// Live processes on this machine. Not `Send`: requests of ptrace(2) come from one thread.
pub struct DarwinBackend<M> {
    mach: M,
    /// Receives exceptions of all tasks, and the notice that a thread or task is gone.
    port: Port,
    waker: Waker,
    /// The task under control.
    task: Option<Task>,
    threads: Threads,
    /// The process whose memory is open.
    memory: Option<OpenMemory>,
    /// Events that were not collected yet, oldest first.
    ready: VecDeque<(ThreadId, ThreadEvent)>,
    outputs: Outputs,
    thread_bound: std::marker::PhantomData<*const ()>,
}

/// The task under control.
struct Task {
    pid: i32,
    port: Port,
    /// Where its exceptions went before.
    former: Vec<ExceptionPort>,
    /// Whether a SIGSTOP of the debugger's own is still to arrive: the tracing begins with one.
    awaits_stop: bool,
    /// Signals that the debugger has sent for the program, and passes on when they arrive.
    sent: Vec<Signal>,
    /// Whether it is being detached: exceptions are kept, and not reported.
    is_detaching: bool,
    /// Whether the task is gone. The end of the process follows.
    is_gone: bool,
}

/// The memory of a process.
struct OpenMemory {
    task: Port,
}

impl<M: Platform> DarwinBackend<M> {
    pub fn woken_by(mach: M, waker: Waker) -> Result<Self, Error> {
        let port = mach
            .mach_port_allocate()
            .map_err(|error| mach_error("mach_port_allocate", error))?;
        ending::start_listener(&waker);
        Ok(Self {
            mach,
            port,
            waker,
            task: None,
            threads: Threads::default(),
            memory: None,
            ready: VecDeque::new(),
            outputs: Outputs::default(),
            thread_bound: std::marker::PhantomData,
        })
    }

    /// Takes all messages that have arrived, and makes events of them.
    fn collect(&mut self) {
        let mut message = [0; MAX_MESSAGE];
        while let Some(len) = self.mach.mach_msg_receive(self.port, &mut message) {
            match message.get(..len).and_then(Message::decode) {
                Some(Message::Exception(exception)) => self.on_exception(exception),
                Some(Message::DeadName(port)) => self.on_dead_name(port),
                None => tracing::warn!(len, "a Mach message of an unknown kind"),
            }
        }
        self.look_for_end();
    }

    /// Handles the end of a thread, or of the task.
    fn on_dead_name(&mut self, port: Port) {
        // The message has brought a reference to the dead name.
        self.mach.mach_port_deallocate(port);
        if let Some(task) = self.task.as_mut().filter(|task| task.port == port) {
            task.is_gone = true;
            return;
        }
        let Some(thread) = self.threads.id_of(port) else {
            return;
        };
        // The first thread stands for the process, whose end is reported.
        if self.task.as_ref().is_some_and(|task| task.pid == thread.0) {
            if let Some(state) = self.threads.get_mut(thread) {
                state.exception = None;
                state.is_gone = true;
            }
            return;
        }
        self.forget_thread(thread);
        self.ready.push_back((thread, ThreadEvent::Exited(0)));
    }

    /// Reports the end of the process, if its task is gone and the end is known.
    fn look_for_end(&mut self) {
        let Some(task) = self.task.as_ref().filter(|task| task.is_gone) else {
            return;
        };
        let pid = task.pid;
        let Some(ended) = self.mach.waitpid(pid) else {
            return;
        };
        let end = match ended {
            Ended::Exited(status) => ThreadEvent::Exited(status),
            Ended::Signaled(number) => {
                ThreadEvent::Killed(signals::from_system(M::SIGNALS, number))
            }
        };
        let threads = self.threads.of(pid);
        (self.ready).retain(|(of, event)| event.is_end() || !threads.contains(of));
        let others = threads.into_iter().filter(|thread| thread.0 != pid);
        self.ready
            .extend(others.map(|thread| (thread, ThreadEvent::Exited(0))));
        self.ready.push_back((ThreadId(pid), end));
        self.forget_task();
    }

    /// Gives up what is known of the task: it has ended, or is detached.
    fn forget_task(&mut self) {
        let Some(task) = self.task.take() else { return };
        for thread in self.threads.of(task.pid) {
            self.forget_thread(thread);
        }
        self.mach.mach_port_deallocate(task.port);
    }

    /// Gives up what is known of a thread, also events that were not collected, except its end.
    fn forget_thread(&mut self, thread: ThreadId) {
        if let Some(state) = self.threads.remove(thread) {
            self.mach.mach_port_deallocate(state.port);
        }
        let is_stale = |(of, event): &(ThreadId, ThreadEvent)| *of == thread && !event.is_end();
        self.ready.retain(|it| !is_stale(it));
    }
}

/// Describes the failure of a Mach call.
fn mach_error(call: &'static str, error: KernReturn) -> Error {
    Error::Os {
        call,
        errno: error.0,
        message: error.to_string(),
    }
}

/// The kernel has no copies of processes that a debugger can order.
impl<M: Platform> super::Copies for DarwinBackend<M> {}

impl<M: Platform> Recordings for DarwinBackend<M> {}

impl<M: Platform> Backend for DarwinBackend<M> {
    fn waker(&self) -> Waker {
        self.waker.clone()
    }

    fn launch(&mut self, launch: &Launch, opened: Option<OpenStdio>) -> Result<i32, Error> {
        self.launch_program(launch, opened)
    }

    fn seize(&mut self, pid: i32, role: SeizeAs) -> Result<Vec<ThreadId>, Error> {
        self.seize_process(pid, role)
    }

    fn wait(
        &mut self,
        deadline: Option<Instant>,
        besides: WaitInterest<'_>,
    ) -> Result<Ready, Error> {
        self.collect();
        let [stdout, stderr] = match besides.output {
            true => self.outputs.descriptors(),
            false => [None; 2],
        };
        let waker = Some(self.waker.descriptor());
        let client = besides.client.map(|client| client.as_raw_fd());
        let left = deadline.map(|at| at.saturating_duration_since(Instant::now()));
        let is_ending = self.task.as_ref().is_some_and(|task| task.is_gone);
        let timeout = match (self.ready.is_empty(), is_ending) {
            (false, _) => Some(Duration::ZERO),
            (true, true) => Some(left.map_or(END_INTERVAL, |left| left.min(END_INTERVAL))),
            (true, false) => left,
        };
        let descriptors = [waker, client, stdout, stderr];
        let awaited = self
            .mach
            .kevent(self.port, descriptors, timeout)
            .map_err(|error| Error::Os {
                call: "kevent",
                errno: error.raw_os_error().unwrap_or(0),
                message: error.to_string(),
            })?;
        let [woken, client, stdout, stderr] = awaited.readable;
        Ok(Ready {
            woken: woken && self.waker.take(),
            stops: awaited.message || !self.ready.is_empty() || is_ending,
            output: stdout || stderr,
            client,
        })
    }

    fn next_stop(&mut self) -> Option<(ThreadId, ThreadEvent)> {
        if self.ready.is_empty() {
            self.collect();
        }
        self.ready.pop_front()
    }

    fn stop_of(&mut self, thread: ThreadId, patience: Patience) -> Option<ThreadEvent> {
        let begun = Instant::now();
        loop {
            self.collect();
            let at = self.ready.iter().position(|(of, _)| *of == thread);
            if let Some((_, event)) = at.and_then(|at| self.ready.remove(at)) {
                return Some(event);
            }
            self.threads.get(thread)?;
            match patience.next_look(begun.elapsed()) {
                NextLook::GiveUp => return None,
                NextLook::Yield => std::thread::yield_now(),
                NextLook::Sleep(time) => {
                    let _ = self.mach.kevent(self.port, [None; 4], Some(time));
                }
            }
        }
    }

    fn resume(&mut self, thread: ThreadId, how: Resume, signal: Signal) {
        self.go_on(thread, how, signal);
    }

    /// A stop of the whole process by a signal is not seen here: the process reports the signal, and
    /// stops once it is passed on.
    fn keep_group_stop(&mut self, _: ThreadId) -> bool {
        false
    }

    fn interrupt(&mut self, thread: ThreadId) {
        self.interrupt_thread(thread);
    }

    fn detach(&mut self, thread: ThreadId, signal: Signal) {
        self.detach_thread(thread, signal);
    }

    fn signal(&mut self, pid: i32, signal: Signal) {
        self.mach.kill(pid, signals::to_system(M::SIGNALS, signal));
        if signal == Signal::KILL {
            self.run_to_end(pid);
        }
    }

    fn read_output(&mut self) -> Option<(OutputStream, Vec<u8>)> {
        self.outputs.read()
    }

    fn output_open(&self) -> bool {
        self.outputs.is_open()
    }
}
