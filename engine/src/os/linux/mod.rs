//! Linux: ptrace(2) with PTRACE_SEIZE; one thread, which sleeps in one place.

#[cfg_attr(
    not(target_arch = "x86_64"),
    allow(dead_code, reason = "only the recorder needs all of it")
)]
mod copy;
mod duty;
mod guardian;
pub mod host;
mod injection;
pub(super) mod launch;
#[cfg_attr(target_arch = "aarch64", path = "aarch64.rs")]
#[cfg_attr(target_arch = "x86_64", path = "x86_64.rs")]
pub(super) mod machine;
mod memory;
pub mod own;
#[cfg(test)]
#[cfg_attr(not(target_arch = "aarch64"), allow(dead_code))]
pub mod own_child;
#[cfg(test)]
pub(crate) mod own_code;
mod past;
mod peer;
mod processes;
pub(super) mod procfs;
mod procmap;
pub(super) mod ptrace;
#[cfg_attr(target_arch = "aarch64", path = "record_refused.rs")]
mod record;
mod refuge;
mod refusal;
mod registers;
#[cfg_attr(target_arch = "aarch64", path = "replays_refused.rs")]
mod replays;
mod safekeeping;
mod stop_wait;
mod threads;

pub use peer::{user_of_peer, user_of_unix_peer};

use super::linux_abi::PendingCall;
use super::unix::output::Outputs;
use super::unix::{ending, front, os_error, start};
use super::{
    AddressSpace, Backend, OpenStdio, Patience, Ready, Resume, SeizeAs, Shared, ThreadEvent,
    WaitInterest, Waker,
};
use crate::ids::Launch;
use crate::ids::error::Error;
use crate::ids::{OutputStream, Signal, ThreadId};
use copy::Copies;
use duty::Keeper;
use guardian::Guardian;
use memory::OpenMemory;
use nix::sys::time::TimeSpec;
use past::PastCopies;
use record::Recording;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::time::{Duration, Instant};

/// Live processes on this machine. Not `Send`: ptrace requests must come from the thread that
/// seized.
pub struct LinuxBackend {
    waker: Waker,
    signals: File,
    memory: Option<OpenMemory>,
    /// Only for attached processes, which outlive the debugger.
    guardian: Option<Guardian>,
    guarded: bool,
    /// Keepers of processes that are no longer traced, by pid.
    keepers: Vec<(i32, Keeper)>,
    /// Copies of the debuggee, whose stops are not reported.
    copies: Copies,
    /// Those for past stops.
    past: PastCopies,
    outputs: Outputs,
    /// The system calls that threads were in when they were interrupted.
    pending_calls: BTreeMap<ThreadId, PendingCall>,
    /// Of a process that is recorded.
    recording: Option<Box<Recording>>,
    /// What the program did that was recorded before.
    run_before: Option<record::RunLog>,
    thread_bound: std::marker::PhantomData<*const ()>,
}

fn owned_file(descriptor: i32, call: &'static str) -> Result<File, Error> {
    if descriptor < 0 {
        return Err(os_error(call, &io::Error::last_os_error()));
    }
    // SAFETY: the descriptor was just created and has no other owner.
    Ok(File::from(unsafe { OwnedFd::from_raw_fd(descriptor) }))
}

/// Maps the memory file that a process has open as `descriptor`.
fn shared_file(pid: i32, descriptor: i32, len: usize) -> io::Result<Shared> {
    let path = format!("/proc/{}/fd/{descriptor}", procfs::thread_with_memory(pid));
    // The program may have replaced the file: the open must not block.
    let file = File::options()
        .read(true)
        .write(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY)
        .open(path)?;
    Shared::of(&file, len)
}

impl LinuxBackend {
    /// Creates a backend whose waits this waker ends.
    ///
    /// # Errors
    /// The system has no descriptors left.
    pub fn woken_by(waker: Waker) -> Result<Self, Error> {
        // SAFETY: integers, and a live signal set.
        let signals = unsafe {
            let set = start::signal_set(&[libc::SIGCHLD]);
            libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK)
        };
        ending::start_listener(&waker);
        Ok(Self {
            waker,
            signals: owned_file(signals, "signalfd")?,
            memory: None,
            guardian: None,
            guarded: false,
            keepers: Vec::new(),
            copies: Copies::default(),
            past: PastCopies::default(),
            outputs: Outputs::default(),
            pending_calls: BTreeMap::new(),
            recording: None,
            run_before: None,
            thread_bound: std::marker::PhantomData,
        })
    }

    /// Removes a thread that has ended from the guardian's table.
    fn unguard_if_ended(&self, thread: ThreadId, status: ThreadEvent) {
        if status.is_end()
            && let Some(guardian) = &self.guardian
        {
            guardian.guard_thread(thread.0, false);
        }
    }

    /// Returns the thread that a thread of the debuggee is: that of the replay that is shown in its place, if
    /// any.
    fn actual(&self, thread: ThreadId) -> ThreadId {
        let recording = self.recording.as_ref();
        recording.map_or(thread, |recording| recording.actual(thread))
    }

    /// Like [`LinuxBackend::actual`], for the pid of a process.
    fn actual_process(&self, pid: i32) -> i32 {
        self.actual(ThreadId(pid)).0
    }

    /// Returns the next stop of the recorded program, or of its replay.
    fn next_recorded_stop(&mut self) -> Option<(ThreadId, ThreadEvent)> {
        // An end that was seen while a past stop was kept.
        let end = self.past.ends.pop();
        end.or_else(|| self.recording.as_mut()?.next_stop())
    }

    /// Drains the signalfd.
    fn drain_signals(&self) {
        let mut buffer = [0; size_of::<libc::signalfd_siginfo>() * 8];
        // A short read means that it is empty.
        while (&self.signals)
            .read(&mut buffer)
            .is_ok_and(|count| count == buffer.len())
        {}
    }
}

impl Backend for LinuxBackend {
    fn waker(&self) -> Waker {
        self.waker.clone()
    }

    fn launch(&mut self, launch: &Launch, opened: Option<OpenStdio>) -> Result<i32, Error> {
        let started = launch::start(launch, opened)?;
        self.guarded = false;
        self.outputs = Outputs::new(started.outputs.map(|output| output.map(File::from)));
        if let Some(before) = self.recording.take() {
            self.run_before = before.into_log();
        }
        if launch.record {
            let recording = record::begin(started.pid, launch.chaos).map_err(|error| {
                self.signal(started.pid, Signal(libc::SIGKILL));
                record::failure(launch, &error)
            })?;
            self.record_by(recording);
        }
        self.open_memory(started.pid)?;
        Ok(started.pid)
    }

    fn seize(&mut self, pid: i32, role: SeizeAs) -> Result<Vec<ThreadId>, Error> {
        let fail = |error: &io::Error| Error::Attach {
            pid,
            message: refusal::of_process(pid, error),
        };
        let exit_kill = role != SeizeAs::Attached;
        if role == SeizeAs::Launcher {
            // Its memory is opened once it has executed the program.
            ptrace::seize(pid, exit_kill).map_err(|error| fail(&error))?;
            self.guarded = false;
            return Ok(vec![ThreadId(pid)]);
        }
        // Seizing a tid that is not a leader would trace only one thread of a process.
        if procfs::status_number(pid, "Tgid").is_some_and(|leader| leader != pid) {
            return Err(Error::Attach {
                pid,
                message: format!(
                    "a thread of process {}; attach to that process",
                    procfs::status_number(pid, "Tgid").unwrap_or(0)
                ),
            });
        }
        if pid == std::process::id() as i32 || front::is_front(pid) {
            return Err(Error::Attach {
                pid,
                message: "the debugger cannot attach to itself".into(),
            });
        }
        ptrace::seize(pid, exit_kill).map_err(|error| fail(&error))?;
        let mut seized = vec![ThreadId(pid)];
        // Threads may be created while the list is read. Those created by seized threads are seized
        // automatically.
        loop {
            let mut news = false;
            for tid in procfs::threads(pid) {
                let thread = ThreadId(tid);
                if !seized.contains(&thread) && ptrace::seize(tid, exit_kill).is_ok() {
                    seized.push(thread);
                    news = true;
                }
            }
            if !news {
                break;
            }
        }
        self.guarded = !exit_kill;
        if let Err(error) = self.open_memory(pid) {
            for thread in seized {
                ptrace::interrupt(thread).ok();
                if self.stop_of(thread, Patience::UntilStopped).is_some() {
                    self.detach(thread, Signal(0));
                }
            }
            return Err(error);
        }
        Ok(seized)
    }

    fn wait(
        &mut self,
        deadline: Option<Instant>,
        besides: WaitInterest<'_>,
    ) -> Result<Ready, Error> {
        let mut descriptors = [libc::pollfd {
            fd: -1,
            events: libc::POLLIN,
            revents: 0,
        }; 5];
        descriptors[0].fd = self.signals.as_raw_fd();
        descriptors[1].fd = self.waker.descriptor();
        if let Some(client) = besides.client {
            descriptors[2].fd = client.as_raw_fd();
        }
        if besides.output {
            for (slot, output) in descriptors[3..].iter_mut().zip(self.outputs.descriptors()) {
                slot.fd = output.unwrap_or(-1);
            }
        }
        let is_ready = (self.recording.as_ref()).is_some_and(|recording| recording.has_seen());
        if is_ready && besides.client.is_none() {
            return Ok(Ready {
                stops: true,
                ..Ready::default()
            });
        }
        let now = Instant::now();
        let tick = self.recording.as_mut().and_then(|it| it.next_tick(now));
        let deadline = match is_ready {
            true => Some(now),
            false => [deadline, tick].into_iter().flatten().min(),
        };
        let timeout = deadline.map(|deadline| {
            let left = deadline.saturating_duration_since(Instant::now());
            TimeSpec::from_duration(left.min(Duration::from_secs(86_400)))
        });
        let timeout = timeout.as_ref().map_or(std::ptr::null(), |timeout| {
            std::ptr::from_ref(timeout.as_ref())
        });
        // SAFETY: the array and the time are live; no signal mask is given.
        let count = unsafe {
            libc::ppoll(
                descriptors.as_mut_ptr(),
                descriptors.len() as libc::nfds_t,
                timeout,
                std::ptr::null(),
            )
        };
        if count < 0 {
            let error = io::Error::last_os_error();
            if error.kind() == io::ErrorKind::Interrupted {
                return Ok(Ready::default());
            }
            return Err(os_error("poll", &error));
        }
        let mut ready = Ready {
            stops: is_ready,
            ..Ready::default()
        };
        if descriptors[0].revents != 0 {
            ready.stops = true;
            self.drain_signals();
        }
        if descriptors[1].revents != 0 {
            ready.woken = self.waker.take();
        }
        ready.client = descriptors[2].revents != 0;
        ready.output = descriptors[3..].iter().any(|slot| slot.revents != 0);
        Ok(ready)
    }

    fn next_stop(&mut self) -> Option<(ThreadId, ThreadEvent)> {
        if self.recording.is_some() {
            return self.next_recorded_stop();
        }
        loop {
            let (thread, status) = match self.past.ends.pop() {
                Some(end) => end,
                None => ptrace::next_stop()?,
            };
            // Children of ours that are not threads of the debuggee.
            if self.guardian.as_ref().map(|guardian| guardian.pid) == Some(thread.0) {
                continue;
            }
            if self
                .keepers
                .iter()
                .any(|(_, keeper)| keeper.pid == thread.0)
            {
                // A killed keeper: its pid may be reused.
                self.keepers.retain(|(_, keeper)| keeper.pid != thread.0);
                continue;
            }
            if self.copies.absorb(thread, status) {
                continue;
            }
            self.unguard_if_ended(thread, status);
            return Some((thread, status));
        }
    }

    fn stop_of(&mut self, thread: ThreadId, patience: Patience) -> Option<ThreadEvent> {
        if let Some(recording) = &mut self.recording {
            return recording.stop_of(thread, patience);
        }
        let status = ptrace::stop_of(thread, patience)?;
        self.unguard_if_ended(thread, status);
        Some(status)
    }

    fn resume(&mut self, thread: ThreadId, how: Resume, signal: Signal) {
        if let Some(recording) = &mut self.recording {
            return recording.resume(thread, how, signal);
        }
        if let Err(error) = ptrace::resume(thread, how == Resume::Step, signal) {
            // ESRCH: the thread was killed; its exit is reported later.
            tracing::debug!(%thread, %error, "cannot resume");
        }
    }

    fn keep_group_stop(&mut self, thread: ThreadId) -> bool {
        // EIO: it is not in a group-stop. ESRCH: it was killed.
        ptrace::listen(self.actual(thread)).is_ok()
    }

    fn interrupt(&mut self, thread: ThreadId) {
        if let Some(recording) = &mut self.recording {
            if let Err(error) = recording.interrupt(thread) {
                tracing::debug!(%thread, %error, "cannot interrupt");
            }
            return;
        }
        match registers::pending_call(thread) {
            Some(call) => drop(self.pending_calls.insert(thread, call)),
            None => drop(self.pending_calls.remove(&thread)),
        }
        if let Err(error) = ptrace::interrupt(thread) {
            tracing::debug!(%thread, %error, "cannot interrupt");
        }
    }

    fn detach(&mut self, thread: ThreadId, signal: Signal) {
        if let Err(error) = ptrace::detach(thread, signal) {
            tracing::debug!(%thread, %error, "cannot detach");
        }
    }

    fn signal(&mut self, pid: i32, signal: Signal) {
        // SAFETY: integers only.
        unsafe { libc::kill(pid, signal.0) };
    }

    fn read_output(&mut self) -> Option<(OutputStream, Vec<u8>)> {
        self.outputs.read()
    }

    fn output_open(&self) -> bool {
        self.outputs.is_open()
    }
}
