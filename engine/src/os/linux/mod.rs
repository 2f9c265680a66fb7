//! Linux: ptrace(2) with PTRACE_SEIZE; one thread, which sleeps in one place.

mod descriptors;
mod duty;
mod ending;
mod front;
mod guardian;
pub mod host;
mod launch;
#[cfg(target_arch = "x86_64")]
#[path = "x86_64.rs"]
mod machine;
mod output;
#[cfg(test)]
pub(crate) mod own_code;
mod peer;
mod procfs;
mod procmap;
mod ptrace;
mod refusal;
mod registers;
mod shared;
mod sigbus;
mod stdio;

pub use ending::asked_to_end;
pub use front::{ProcessGroup, stand_behind_front};
pub use launch::{Launcher, prepare};
pub use peer::user_of_peer;
pub use ptrace::RawSignal;
pub use shared::Shared;
pub use stdio::OpenStdio;

use super::{
    Backend, Duty, ExtendedPart, ExtendedReader, MappedFile, Mapping, Ready, RegisterSet, Resume,
    SignalData, WaitInterest, WaitStatus,
};
use crate::arch::watch::{MAX_SLOTS, Slot};
use crate::arch::{Arch, ExtendedRegisters};
use crate::ids::Launch;
use crate::ids::error::Error;
use crate::ids::{OutputStream, Signal, SignalInfo, ThreadId};
use duty::Keeper;
use dwarf::LoadAddr;
use guardian::Guardian;
use nix::sys::uio::{RemoteIoVec, process_vm_readv};
use nix::unistd::Pid;
use output::Outputs;
use std::fs::{File, OpenOptions};
use std::io::{self, IoSliceMut, Read};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Wakes the session thread from its wait. Cheap to clone, usable on any thread.
#[derive(Clone)]
pub struct Waker {
    event: Arc<File>,
}

impl Waker {
    /// Makes the current or next wait return.
    pub fn wake(&self) {
        // The write fails only if 2^64 wake-ups are unread; one is enough.
        let _ = io::Write::write(&mut &*self.event, &1_u64.to_ne_bytes());
    }
}

/// Lowers the priority of the calling thread (setpriority(2) applies to a thread on Linux).
pub fn lower_thread_priority() {
    // nice 10 gets about 1/10 of a CPU under load. nice 19 would get 1/70, and indexing would stall
    // behind a parallel build.
    const INDEXER_NICE: i32 = 10;
    // SAFETY: plain call. If it fails, the thread keeps its priority.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, INDEXER_NICE) };
}

/// Live processes on this machine. Not `Send`: ptrace requests must come from the thread that
/// seized.
pub struct LinuxBackend {
    event: Arc<File>,
    signals: File,
    memory: Option<File>,
    /// The process that `memory` belongs to.
    memory_of: Option<Pid>,
    /// Only for attached processes, which outlive the debugger.
    guardian: Option<Guardian>,
    guarded: bool,
    /// Keepers of processes that are no longer traced, by pid.
    keepers: Vec<(i32, Keeper)>,
    outputs: Outputs,
    thread_bound: std::marker::PhantomData<*const ()>,
}

fn owned_file(descriptor: i32, call: &'static str) -> Result<File, Error> {
    if descriptor < 0 {
        return Err(os_error(call, &io::Error::last_os_error()));
    }
    // SAFETY: the descriptor was just created and has no other owner.
    Ok(File::from(unsafe { OwnedFd::from_raw_fd(descriptor) }))
}

fn os_error(call: &'static str, error: &io::Error) -> Error {
    Error::Os {
        call,
        errno: error.raw_os_error().unwrap_or(0),
        message: error.to_string(),
    }
}

impl LinuxBackend {
    pub fn new() -> Result<Self, Error> {
        // SAFETY: integers only.
        let event = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
        Self::woken_by(Waker {
            event: Arc::new(owned_file(event, "eventfd")?),
        })
    }

    /// Like `new`, with an existing waker.
    pub fn woken_by(waker: Waker) -> Result<Self, Error> {
        // SAFETY: integers, and a live signal set.
        let signals = unsafe {
            let set = launch::signal_set(&[libc::SIGCHLD]);
            libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK)
        };
        ending::listen(&waker);
        Ok(Self {
            event: waker.event,
            signals: owned_file(signals, "signalfd")?,
            memory: None,
            memory_of: None,
            guardian: None,
            guarded: false,
            keepers: Vec::new(),
            outputs: Outputs::default(),
            thread_bound: std::marker::PhantomData,
        })
    }

    /// Removes a thread that has ended from the guardian's table.
    fn unguard_if_ended(&self, thread: ThreadId, status: WaitStatus) {
        if let (WaitStatus::Exited(_) | WaitStatus::Killed(_), Some(guardian)) =
            (status, &self.guardian)
        {
            guardian.guard_thread(thread.0, false);
        }
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
        Waker {
            event: self.event.clone(),
        }
    }

    fn launch(&mut self, launch: &Launch, opened: Option<OpenStdio>) -> Result<i32, Error> {
        let started = launch::start(launch, opened)?;
        self.guarded = false;
        self.outputs = Outputs::new(started.outputs.map(|output| output.map(File::from)));
        self.open_memory(started.pid)?;
        Ok(started.pid)
    }

    fn seize_launcher(&mut self, pid: i32) -> Result<(), Error> {
        self.guarded = false;
        ptrace::seize(pid, true).map_err(|error| Error::Attach {
            pid,
            message: refusal::of_process(pid, &error),
        })
    }

    fn attach(&mut self, pid: i32, exit_kill: bool) -> Result<Vec<ThreadId>, Error> {
        let fail = |error: &io::Error| Error::Attach {
            pid,
            message: refusal::of_process(pid, error),
        };
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
                if self.wait_for_stop(thread).is_some() {
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
        descriptors[1].fd = self.event.as_raw_fd();
        if let Some(client) = besides.client {
            descriptors[2].fd = client.as_raw_fd();
        }
        if besides.output {
            for (slot, output) in descriptors[3..].iter_mut().zip(self.outputs.descriptors()) {
                slot.fd = output.unwrap_or(-1);
            }
        }
        let timeout = deadline.map(|deadline| {
            let left = deadline.saturating_duration_since(Instant::now());
            libc::timespec {
                tv_sec: left.as_secs().min(86_400) as libc::time_t,
                tv_nsec: libc::c_long::from(left.subsec_nanos()),
            }
        });
        let timeout = timeout
            .as_ref()
            .map_or(std::ptr::null(), std::ptr::from_ref);
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
        let mut ready = Ready::default();
        if descriptors[0].revents != 0 {
            ready.stops = true;
            self.drain_signals();
        }
        if descriptors[1].revents != 0 {
            let mut counter = [0; 8];
            ready.woken = (&*self.event).read(&mut counter).is_ok();
        }
        ready.client = descriptors[2].revents != 0;
        ready.output = descriptors[3..].iter().any(|slot| slot.revents != 0);
        Ok(ready)
    }

    fn next_stop(&mut self) -> Option<(ThreadId, WaitStatus)> {
        loop {
            let (thread, status) = ptrace::next_stop(-1)?;
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
            self.unguard_if_ended(thread, status);
            return Some((thread, status));
        }
    }

    fn poll_stop(&mut self, thread: ThreadId) -> Option<WaitStatus> {
        ptrace::next_stop(thread.0).map(|(_, status)| status)
    }

    fn spin_for_stop(&mut self, thread: ThreadId, patience: Duration) -> Option<WaitStatus> {
        let end = Instant::now() + patience;
        loop {
            if let Some((_, status)) = ptrace::next_stop(thread.0) {
                self.unguard_if_ended(thread, status);
                return Some(status);
            }
            if Instant::now() >= end {
                return None;
            }
            // The awaited thread may need this processor.
            std::thread::yield_now();
        }
    }

    fn wait_for_stop(&mut self, thread: ThreadId) -> Option<WaitStatus> {
        let status = ptrace::await_stop(thread)?;
        self.unguard_if_ended(thread, status);
        Some(status)
    }

    fn resume(&mut self, thread: ThreadId, how: Resume, signal: Signal) {
        if let Err(error) = ptrace::resume(thread, how == Resume::Step, signal) {
            // ESRCH: the thread was killed; its exit is reported later.
            tracing::debug!(%thread, %error, "cannot resume");
        }
    }

    fn listen(&mut self, thread: ThreadId) -> bool {
        // EIO: it is not in a group-stop. ESRCH: it was killed.
        ptrace::listen(thread).is_ok()
    }

    fn interrupt(&mut self, thread: ThreadId) {
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

    fn keep_system_call(&mut self, thread: ThreadId) {
        registers::keep_system_call(thread);
    }

    fn signal_info(&self, thread: ThreadId) -> Option<SignalInfo> {
        ptrace::signal_info(thread)
    }

    fn block_signals(&mut self, thread: ThreadId) -> Option<u64> {
        ptrace::block_signals(thread).ok()
    }

    fn set_blocked_signals(&mut self, thread: ThreadId, mask: u64) {
        if let Err(error) = ptrace::set_blocked_signals(thread, mask) {
            tracing::debug!(%thread, %error, "cannot set the signal mask");
        }
    }

    fn signal_data(&self, thread: ThreadId) -> Option<SignalData> {
        let raw = Box::new(ptrace::raw_signal(thread)?);
        Some(SignalData { raw })
    }

    fn set_signal_data(&mut self, thread: ThreadId, data: &SignalData) {
        ptrace::set_raw_signal(thread, &data.raw);
    }

    fn registers(&self, thread: ThreadId) -> Option<RegisterSet> {
        registers::read(thread)
    }

    fn set_registers(&mut self, thread: ThreadId, registers: &RegisterSet) -> bool {
        registers::write(thread, registers)
    }

    fn set_watchpoints(&mut self, thread: ThreadId, slots: &[Option<Slot>; MAX_SLOTS]) -> bool {
        match machine::set_watchpoints(thread, slots) {
            Ok(()) => {
                if let Some(guardian) = &self.guardian {
                    let is_armed = slots.iter().any(Option::is_some);
                    guardian.guard_thread(thread.0, is_armed);
                }
                true
            }
            Err(error) => {
                tracing::warn!(%thread, %error, "cannot set debug registers");
                false
            }
        }
    }

    fn triggered_watchpoints(&self, thread: ThreadId) -> u8 {
        machine::triggered_watchpoints(thread).unwrap_or(0)
    }

    fn extended_reader(&self, thread: ThreadId, part: ExtendedPart) -> ExtendedReader {
        let read = match part {
            ExtendedPart::Vectors => registers::read_vectors,
            ExtendedPart::All => registers::read_extended,
        };
        ExtendedReader::of_thread(read, thread)
    }

    fn set_extended_registers(&mut self, thread: ThreadId, registers: &ExtendedRegisters) -> bool {
        registers::write_extended(thread, registers)
    }

    fn open_memory(&mut self, pid: i32) -> Result<(), Error> {
        self.guardian = None;
        let memory = OpenOptions::new()
            .read(true)
            .write(true)
            .open(format!("/proc/{pid}/mem"))
            .map_err(|error| os_error("open(/proc/PID/mem)", &error))?;
        if self.guarded {
            match Guardian::start(&memory) {
                Ok(guardian) => self.guardian = Some(guardian),
                Err(error) => {
                    tracing::warn!(%error, "no guardian: SIGKILL of the debugger would kill the \
                                            debuggee")
                }
            }
        }
        self.memory = Some(memory);
        self.memory_of = Some(Pid::from_raw(pid));
        Ok(())
    }

    fn close_memory(&mut self) {
        self.memory = None;
        self.memory_of = None;
    }

    fn shared(&self, pid: i32, descriptor: i32, len: u64) -> Option<Shared> {
        let shared = Shared::open(pid, descriptor, usize::try_from(len).ok()?);
        shared
            .inspect_err(|error| tracing::info!(%error, "cannot share memory with the program"))
            .ok()
    }

    fn is_confined(&self, pid: i32) -> bool {
        procfs::status_number(pid, "Seccomp") != Some(0)
    }

    fn guard(&self, addr: LoadAddr, original: Option<&[u8]>) {
        if let Some(guardian) = &self.guardian {
            match original {
                Some(original) => {
                    if let [first, ..] = Arch::HOST.breakpoint() {
                        guardian.add(addr, original, *first, 0);
                    }
                }
                None => guardian.remove(addr),
            }
        }
    }

    fn guard_jump(&self, addr: LoadAddr, original: &[u8], rank: u8) {
        if let (Some(guardian), Some(first)) = (&self.guardian, Arch::HOST.jump_patch()) {
            guardian.add(addr, original, first, rank);
        }
    }

    fn read_memory(&self, addr: LoadAddr, buffer: &mut [u8]) -> usize {
        let Some(memory) = &self.memory else {
            return 0;
        };
        let mut done = 0;
        while done < buffer.len() {
            match memory.read_at(&mut buffer[done..], addr.0.wrapping_add(done as u64)) {
                Ok(0) => break,
                Ok(count) => done += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        done
    }

    fn read_permitted(&self, addr: LoadAddr, buffer: &mut [u8]) -> usize {
        let Some(pid) = self.memory_of else {
            return 0;
        };
        let mut done = 0;
        while done < buffer.len() {
            let from = [RemoteIoVec {
                base: addr.0.wrapping_add(done as u64) as usize,
                len: buffer.len() - done,
            }];
            let mut to = [IoSliceMut::new(&mut buffer[done..])];
            match process_vm_readv(pid, &mut to, &from) {
                Ok(0) | Err(_) => break,
                Ok(count) => done += count,
            }
        }
        done
    }

    fn write_memory_partly(&self, addr: LoadAddr, bytes: &[u8]) -> usize {
        let Some(memory) = &self.memory else {
            return 0;
        };
        let mut done = 0;
        while done < bytes.len() {
            match memory.write_at(&bytes[done..], addr.0.wrapping_add(done as u64)) {
                Ok(0) => break,
                Ok(count) => done += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        done
    }

    fn read_memory_of(&self, pid: i32, addr: LoadAddr, buffer: &mut [u8]) -> usize {
        File::open(format!("/proc/{pid}/mem"))
            .and_then(|memory| memory.read_at(buffer, addr.0))
            .unwrap_or(0)
    }

    fn write_memory_of(&self, pid: i32, writes: &[(LoadAddr, u8)]) {
        match OpenOptions::new()
            .write(true)
            .open(format!("/proc/{pid}/mem"))
        {
            Ok(memory) => {
                for (addr, byte) in writes {
                    if let Err(error) = memory.write_all_at(&[*byte], addr.0) {
                        tracing::warn!(pid, %addr, %error, "cannot clean a forked child");
                    }
                }
            }
            Err(error) => tracing::warn!(pid, %error, "cannot open a forked child's memory"),
        }
    }

    fn restore_code(&mut self, pid: i32, addr: LoadAddr, bytes: &[u8], original: &[u8]) -> bool {
        if let Err(error) = ptrace::seize(pid, false) {
            return error.raw_os_error() != Some(libc::EPERM) || procfs::is_zombie(pid);
        }
        let thread = ThreadId(pid);
        self.interrupt(thread);
        let signal = match self.wait_for_stop(thread) {
            Some(WaitStatus::Exited(_) | WaitStatus::Killed(_)) | None => return true,
            Some(WaitStatus::Signal(signal)) => signal,
            Some(_) => Signal(0),
        };
        let mut there = vec![0; bytes.len()];
        if self.read_memory_of(pid, addr, &mut there) == bytes.len() && there == bytes {
            let writes = original.iter().enumerate();
            let writes: Vec<_> = writes
                .map(|(index, byte)| (addr + index as u64, *byte))
                .collect();
            self.write_memory_of(pid, &writes);
        }
        self.detach(thread, signal);
        true
    }

    fn leave_duty(&mut self, pid: i32, duty: Duty) {
        self.end_duty(pid);
        match Keeper::start(pid, duty) {
            Ok(keeper) => self.keepers.push((pid, keeper)),
            Err(error) => {
                tracing::warn!(pid, %error, "no keeper: it is left alone if the debugger is killed")
            }
        }
    }

    fn end_duty(&mut self, pid: i32) {
        if let Some(index) = self.keepers.iter().position(|(of, _)| *of == pid) {
            self.keepers.swap_remove(index).1.dismiss();
        }
    }

    fn kill_left(&mut self, pid: i32) {
        match self.keepers.iter().find(|(of, _)| *of == pid) {
            Some((_, keeper)) => keeper.kill_target(pid),
            None => self.signal(pid, Signal(libc::SIGKILL)),
        }
        self.end_duty(pid);
    }

    fn auxiliary(&self, pid: i32, key: u64) -> Option<u64> {
        procfs::auxiliary(pid, key)
    }

    fn mappings(&self, pid: i32) -> Vec<Mapping> {
        procfs::mappings(pid)
    }

    fn executable(&self, pid: i32) -> Option<MappedFile> {
        procfs::executable(pid)
    }

    fn mapped_file(&self, pid: i32, addr: LoadAddr) -> Option<MappedFile> {
        procfs::mapped_file(pid, addr)
    }

    fn processes(&self) -> Vec<i32> {
        procfs::processes()
    }

    fn program_named(&self, pid: i32, name: &str) -> Option<PathBuf> {
        procfs::program_named(pid, name)
    }

    fn thread_name(&self, pid: i32, thread: ThreadId) -> String {
        procfs::thread_name(pid, thread.0)
    }

    fn process_of(&self, thread: ThreadId) -> Option<i32> {
        procfs::status_number(thread.0, "Tgid")
    }

    fn read_output(&mut self) -> Option<(OutputStream, Vec<u8>)> {
        self.outputs.read()
    }

    fn output_open(&self) -> bool {
        self.outputs.is_open()
    }
}
