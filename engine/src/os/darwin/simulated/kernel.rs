//! Tasks and threads: their names, and what lets them run.

use super::super::mach::{Awaited, Descriptors, Ended, KernReturn, Port, Ptrace, Result};
use super::memory::Override;
use super::ports::{Ports, Right};
use crate::ids::{Signal, ThreadId};
use crate::os::event::Patience;
use crate::os::linux::{procfs, ptrace};
use crate::os::unix::start;
use crate::os::{Mapping, ThreadEvent};
use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::{Duration, Instant};

/// How long a suspended thread may take to stop. One that waits in vfork(2) does not.
const SUSPEND_TIMEOUT: Duration = Duration::from_millis(500);

/// A process.
pub struct Task {
    pub port: Port,
    /// Where its exceptions are sent.
    pub(super) exceptions: Port,
    /// Whether it was attached to with `PT_ATTACHEXC`: its signals are exceptions.
    pub is_traced: bool,
    /// Whether this process traces it by ptrace(2).
    pub is_seized: bool,
    pub(super) suspended: u32,
    /// Its threads, oldest first.
    pub(super) threads: Vec<i32>,
    pub ended: Option<Ended>,
    pub(super) notify: bool,
    /// Pages that can be written, against their mappings.
    pub overrides: Vec<Override>,
}

/// A thread of a task that is traced by ptrace(2).
pub(super) struct Thread {
    pub(super) port: Port,
    pub(super) pid: i32,
    pub(super) suspended: u32,
    /// Whether it is in a ptrace stop.
    pub(super) is_stopped: bool,
    /// Whether the process is stopped by a signal like SIGSTOP.
    pub(super) is_job_stopped: bool,
    /// The signal that it gets when it goes on.
    pub(super) signal: i32,
    /// The exception that it waits in.
    pub(super) waits: Option<Waits>,
    pub(super) is_stepping: bool,
    pub(super) notify: bool,
}

/// An exception without a reply yet.
#[derive(Clone, Copy)]
pub(super) struct Waits {
    /// The signal that stands for it, if it is not handled.
    pub(super) signal: i32,
    /// Whether it is the exception of a signal.
    pub(super) is_soft: bool,
}

/// All that is simulated.
pub struct Kernel {
    pub ports: Ports,
    pub tasks: BTreeMap<i32, Task>,
    pub(super) threads: BTreeMap<i32, Thread>,
    /// Stops of threads whose creation was not reported yet.
    pub(super) early: Vec<(ThreadId, ThreadEvent)>,
    pub(super) messages: VecDeque<Vec<u8>>,
    pub(super) signals: File,
    /// The mappings of the process that was asked for last.
    pub listed: Option<(i32, Vec<Mapping>)>,
}

impl Kernel {
    pub fn new() -> io::Result<Self> {
        // SAFETY: integers, and a live signal set.
        let signals = unsafe {
            let set = start::signal_set(&[libc::SIGCHLD]);
            libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK)
        };
        if signals < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Self {
            ports: Ports::default(),
            tasks: BTreeMap::new(),
            threads: BTreeMap::new(),
            early: Vec::new(),
            messages: VecDeque::new(),
            // SAFETY: the descriptor was just created and has no other owner.
            signals: File::from(unsafe { OwnedFd::from_raw_fd(signals) }),
            listed: None,
        })
    }

    pub fn receive(&mut self) -> Option<Vec<u8>> {
        self.messages.pop_front()
    }

    pub fn wait(
        &mut self,
        descriptors: Descriptors,
        timeout: Option<Duration>,
    ) -> io::Result<Awaited> {
        let until = timeout.map(|timeout| Instant::now() + timeout);
        loop {
            self.take_stops();
            let left = match (self.messages.is_empty(), until) {
                (false, _) => Some(Duration::ZERO),
                (true, until) => until.map(|until| until.saturating_duration_since(Instant::now())),
            };
            let mut polled = [libc::pollfd {
                fd: self.signals.as_raw_fd(),
                events: libc::POLLIN,
                revents: 0,
            }; 5];
            for (slot, descriptor) in polled[1..].iter_mut().zip(descriptors) {
                slot.fd = descriptor.unwrap_or(-1);
            }
            let time = left.map(|left| libc::timespec {
                tv_sec: left.as_secs().min(86_400) as libc::time_t,
                tv_nsec: left.subsec_nanos().into(),
            });
            let time = time.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
            // SAFETY: the array and the time are live; no signal mask is given.
            let count = unsafe {
                let len = polled.len() as libc::nfds_t;
                libc::ppoll(polled.as_mut_ptr(), len, time, std::ptr::null())
            };
            if count < 0 {
                let error = io::Error::last_os_error();
                if error.kind() != io::ErrorKind::Interrupted {
                    return Err(error);
                }
            }
            if polled[0].revents != 0 {
                let mut buffer = [0; size_of::<libc::signalfd_siginfo>() * 8];
                while (&self.signals)
                    .read(&mut buffer)
                    .is_ok_and(|count| count == buffer.len())
                {}
                self.take_stops();
            }
            let is_over = until.is_some_and(|until| Instant::now() >= until);
            let mut awaited = Awaited {
                message: !self.messages.is_empty(),
                readable: [false; 4],
            };
            for (ready, slot) in awaited.readable.iter_mut().zip(&polled[1..]) {
                *ready = slot.revents != 0;
            }
            if is_over || awaited != Awaited::default() {
                return Ok(awaited);
            }
        }
    }

    pub fn pid_of(&self, task: Port) -> Result<i32> {
        match self.ports.get(task) {
            Some(Right::Task(pid)) => Ok(pid),
            _ => Err(KernReturn::INVALID_ARGUMENT),
        }
    }

    pub fn task(&mut self, task: Port) -> Result<&mut Task> {
        let pid = self.pid_of(task)?;
        self.tasks.get_mut(&pid).ok_or(KernReturn::FAILURE)
    }

    pub fn tid_of(&self, thread: Port) -> Result<ThreadId> {
        match self.ports.get(thread) {
            Some(Right::Thread(tid)) => Ok(ThreadId(tid)),
            _ => Err(KernReturn::INVALID_ARGUMENT),
        }
    }

    pub fn pid_of_thread(&self, thread: Port) -> Result<i32> {
        let tid = self.tid_of(thread)?;
        let thread = self.threads.get(&tid.0);
        thread.map(|it| it.pid).ok_or(KernReturn::TERMINATED)
    }

    /// Returns the number of a thread whose state can be read.
    pub fn stopped_tid(&self, thread: Port) -> Result<ThreadId> {
        let tid = self.tid_of(thread)?;
        match self.threads.get(&tid.0) {
            Some(it) if it.is_stopped => Ok(tid),
            _ => Err(KernReturn::FAILURE),
        }
    }

    pub(super) fn thread(&mut self, thread: Port) -> Result<(i32, &mut Thread)> {
        let tid = self.tid_of(thread)?.0;
        let it = self.threads.get_mut(&tid);
        Ok((tid, it.ok_or(KernReturn::TERMINATED)?))
    }

    pub fn task_for_pid(&mut self, pid: i32) -> Result<Port> {
        if let Some(task) = self.tasks.get(&pid)
            && task.ended.is_none()
        {
            return Ok(self.ports.give(Some(task.port), Right::Task(pid)));
        }
        let memory = File::options().write(true).open(format!("/proc/{pid}/mem"));
        let is_leader = procfs::status_number(pid, "Tgid") == Some(pid);
        if memory.is_err() || !is_leader || procfs::is_zombie(pid) {
            return Err(KernReturn::FAILURE);
        }
        let port = self.ports.allocate(Right::Task(pid));
        self.tasks.insert(pid, Task::new(port));
        Ok(self.ports.give(Some(port), Right::Task(pid)))
    }

    /// Adds a process that has just executed its program, stopped by ptrace(2) before its first
    /// instruction, as if it had been started suspended.
    pub fn add_spawned(&mut self, pid: i32) {
        let port = self.ports.allocate(Right::Task(pid));
        let mut task = Task::new(port);
        (task.is_seized, task.suspended) = (true, 1);
        self.tasks.insert(pid, task);
        self.add_thread(pid, pid, true);
    }

    pub(super) fn add_thread(&mut self, pid: i32, tid: i32, is_stopped: bool) {
        let port = self.ports.allocate(Right::Thread(tid));
        // The kernel's own right, until the thread ends.
        self.threads.insert(
            tid,
            Thread {
                port,
                pid,
                suspended: 0,
                is_stopped,
                is_job_stopped: false,
                signal: 0,
                waits: None,
                is_stepping: false,
                notify: false,
            },
        );
        if let Some(task) = self.tasks.get_mut(&pid) {
            task.threads.push(tid);
        }
    }

    pub fn request_notification(&mut self, port: Port, _: Port) -> Result<()> {
        match self.ports.get(port) {
            Some(Right::Task(_)) => self.task(port)?.notify = true,
            Some(Right::Thread(_)) => self.thread(port)?.1.notify = true,
            _ => return Err(KernReturn::INVALID_ARGUMENT),
        }
        Ok(())
    }

    pub fn task_threads(&mut self, task: Port) -> Result<Vec<Port>> {
        let threads = self.task(task)?.threads.clone();
        let mut ports = Vec::new();
        for tid in threads {
            if let Some(thread) = self.threads.get(&tid) {
                ports.push(self.ports.give(Some(thread.port), Right::Thread(tid)));
            }
        }
        Ok(ports)
    }

    /// Sets where exceptions are sent. Returns where they were sent before.
    pub fn set_exception_port(&mut self, task: Port, port: Port) -> Result<Port> {
        let pid = self.pid_of(task)?;
        if port != Port::NULL {
            self.seize(pid)?;
        }
        let former = std::mem::replace(&mut self.task(task)?.exceptions, port);
        Ok(former)
    }

    /// Traces a process by ptrace(2), without stopping it.
    pub(super) fn seize(&mut self, pid: i32) -> Result<()> {
        if self.tasks.get(&pid).is_some_and(|task| task.is_seized) {
            return Ok(());
        }
        ptrace::seize(pid, false).map_err(|_| KernReturn::FAILURE)?;
        self.add_thread(pid, pid, false);
        loop {
            let mut is_new = false;
            for tid in procfs::threads(pid) {
                if !self.threads.contains_key(&tid) && ptrace::seize(tid, false).is_ok() {
                    self.add_thread(pid, tid, false);
                    is_new = true;
                }
            }
            if !is_new {
                break;
            }
        }
        if let Some(task) = self.tasks.get_mut(&pid) {
            task.is_seized = true;
        }
        Ok(())
    }

    pub fn ptrace(&mut self, request: Ptrace, pid: i32) -> io::Result<()> {
        let error = |number| Err(io::Error::from_raw_os_error(number));
        let Some(task) = self.tasks.get_mut(&pid) else {
            return error(libc::ESRCH);
        };
        match request {
            Ptrace::AttachExc if !task.is_seized => return error(libc::EPERM),
            Ptrace::AttachExc => {
                task.is_traced = true;
                // SAFETY: integers only.
                unsafe { libc::kill(pid, libc::SIGSTOP) };
            }
            Ptrace::ThUpdate(port, signal) => {
                let Ok((_, thread)) = self.thread(port) else {
                    return error(libc::ESRCH);
                };
                match &mut thread.waits {
                    Some(waits) if waits.is_soft => waits.signal = signal,
                    _ => return error(libc::EBUSY),
                }
            }
            Ptrace::Detach => {
                let threads = self.threads.values();
                let mut of_task = threads.filter(|it| it.pid == pid);
                if !of_task.any(|it| it.waits.is_some_and(|waits| waits.is_soft)) {
                    return error(libc::EBUSY);
                }
                for thread in self.threads.values_mut().filter(|it| it.pid == pid) {
                    if let Some(waits) = thread.waits.as_mut().filter(|waits| waits.is_soft) {
                        waits.signal = 0;
                    }
                }
                if let Some(task) = self.tasks.get_mut(&pid) {
                    task.is_traced = false;
                }
            }
            // SAFETY: integers only.
            Ptrace::Kill => drop(unsafe { libc::kill(pid, libc::SIGKILL) }),
        }
        Ok(())
    }

    pub fn thread_suspend(&mut self, thread: Port) -> Result<()> {
        let (tid, it) = self.thread(thread)?;
        it.suspended += 1;
        self.halt(tid);
        match self.threads.contains_key(&tid) {
            true => Ok(()),
            false => Err(KernReturn::TERMINATED),
        }
    }

    pub fn thread_resume(&mut self, thread: Port) -> Result<()> {
        let (tid, it) = self.thread(thread)?;
        it.suspended = it.suspended.checked_sub(1).ok_or(KernReturn::FAILURE)?;
        self.go_on(tid);
        Ok(())
    }

    pub fn task_suspend(&mut self, task: Port) -> Result<()> {
        let task = self.task(task)?;
        task.suspended += 1;
        for tid in task.threads.clone() {
            self.halt(tid);
        }
        Ok(())
    }

    pub fn task_resume(&mut self, task: Port) -> Result<()> {
        let task = self.task(task)?;
        task.suspended = task.suspended.checked_sub(1).ok_or(KernReturn::FAILURE)?;
        for tid in task.threads.clone() {
            self.go_on(tid);
        }
        Ok(())
    }

    pub fn is_task_suspended(&mut self, task: Port) -> bool {
        self.task(task).is_ok_and(|task| task.suspended > 0)
    }

    pub fn set_stepping(&mut self, tid: ThreadId, steps: bool) {
        if let Some(thread) = self.threads.get_mut(&tid.0) {
            thread.is_stepping = steps;
        }
    }

    /// Stops a thread that runs. What it stops for becomes a message.
    pub(super) fn halt(&mut self, tid: i32) {
        let begun = Instant::now();
        while (self.threads.get(&tid)).is_some_and(|thread| !thread.is_stopped) {
            if ptrace::interrupt(ThreadId(tid)).is_err() || begun.elapsed() > SUSPEND_TIMEOUT {
                break;
            }
            let spin = Patience::Spin(Duration::from_millis(1));
            if let Some(event) = ptrace::stop_of(ThreadId(tid), spin) {
                self.on_stop(ThreadId(tid), event);
            }
        }
    }

    /// Lets a thread run that nothing stops.
    pub(super) fn go_on(&mut self, tid: i32) {
        let Some(thread) = self.threads.get_mut(&tid) else {
            return;
        };
        let Some(task) = self.tasks.get(&thread.pid) else {
            return;
        };
        let is_held = thread.suspended > 0 || task.suspended > 0 || thread.waits.is_some();
        if !thread.is_stopped || is_held {
            return;
        }
        thread.is_stopped = false;
        let signal = Signal(std::mem::take(&mut thread.signal));
        let id = ThreadId(tid);
        let is_released = !task.is_traced && task.exceptions == Port::NULL;
        let done = if is_released {
            ptrace::detach(id, signal)
        } else if thread.is_job_stopped {
            ptrace::listen(id)
        } else {
            ptrace::resume(id, thread.is_stepping, signal)
        };
        if let Err(error) = done {
            tracing::debug!(tid, %error, "a simulated thread does not go on");
        }
        if is_released {
            self.forget_thread(tid);
        }
    }

    /// Returns a thread of a task that is in a ptrace stop.
    pub fn any_stopped(&self, pid: i32) -> Option<ThreadId> {
        let threads = self.tasks.get(&pid)?.threads.iter();
        let mut stopped = threads.filter(|tid| {
            (self.threads.get(tid)).is_some_and(|it| it.is_stopped && !it.is_job_stopped)
        });
        stopped.next().map(|tid| ThreadId(*tid))
    }
}

impl Task {
    pub(super) fn new(port: Port) -> Self {
        Self {
            port,
            exceptions: Port::NULL,
            is_traced: false,
            is_seized: false,
            suspended: 0,
            threads: Vec::new(),
            ended: None,
            notify: false,
            overrides: Vec::new(),
        }
    }
}
