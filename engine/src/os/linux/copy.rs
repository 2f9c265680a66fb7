//! Stopped copies of a process: its memory and the registers of one thread, as they were.
//!
//! A thread of the process is made to execute clone(2), so that the kernel copies only pages that are
//! written later. A copy shares what clone(2) shares: mappings with MAP_SHARED. Memory that was excluded
//! by madvise(2) (MADV_DONTFORK, MADV_WIPEONFORK) is missing or zero in it. It has no descriptors, no
//! timers and no other threads. It counts as a process of the user (RLIMIT_NPROC), and keeps
//! mapped files busy.
//!
//! Cost: 0.3 ms for small processes; page tables are copied, which takes 15 to 30 µs for each MB of
//! memory in use.

use super::super::ThreadEvent;
use super::injection::{CallResult, Injection, InjectionError};
use super::processes::OUT_OF_FILES;
use super::refuge::Refuge;
use super::{ptrace, stop_wait};
use crate::ids::ThreadId;
use dwarf::LoadAddr;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::rc::Rc;

#[cfg(test)]
mod tests;

/// The process whose child a copy is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CopyParent {
    /// The process that is copied. It gets no SIGCHLD, and does not see the copy in wait(2) without
    /// `__WALL` or `__WCLONE`. After the copy's end [`reap_in`] is due.
    Copied,
    /// The parent of the process that is copied, which should be the tracer: it gets SIGCHLD.
    OfCopied,
}

/// A reason why there is no copy.
#[derive(Debug)]
pub enum CopyError {
    /// The thread was not able to make the system call.
    Injection(InjectionError),
    /// The system has refused.
    System(&'static str, io::Error),
}

impl CopyError {
    /// Returns whether the thread that was to make the system call has ended.
    pub fn is_end(&self) -> bool {
        matches!(self, CopyError::Injection(InjectionError::Ended(_)))
    }

    /// Returns the event of the end of the thread, which nothing else reports, if that is the reason.
    pub fn end_of_thread(&self) -> Option<ThreadEvent> {
        match self {
            CopyError::Injection(InjectionError::Ended(event)) => *event,
            _ => None,
        }
    }
}

impl std::fmt::Display for CopyError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            CopyError::Injection(error) => write!(formatter, "cannot copy the process: {error}"),
            CopyError::System(_, error) if error.raw_os_error() == Some(libc::EMFILE) => {
                write!(formatter, "cannot copy the process: {OUT_OF_FILES}")
            }
            CopyError::System(call, error) => {
                write!(formatter, "cannot copy the process: {call}: {error}")
            }
        }
    }
}

impl std::error::Error for CopyError {}

impl From<InjectionError> for CopyError {
    fn from(error: InjectionError) -> Self {
        CopyError::Injection(error)
    }
}

/// The pids of the live copies that one thread traces: their stops are not the debuggee's.
#[derive(Clone, Default)]
pub struct Copies(Rc<RefCell<BTreeSet<i32>>>);

/// Returns whether the children of a thread are in another PID namespace than it, after unshare(2) or setns(2). A copy
/// would be the first process of a new one: it cannot be copied again, and after its end the program can start no
/// process.
fn begins_namespace(thread: ThreadId) -> bool {
    let link = |process: &dyn std::fmt::Display, name: &str| {
        std::fs::read_link(format!("/proc/{process}/ns/{name}")).ok()
    };
    match link(&thread.0, "pid_for_children") {
        Some(of_children) => link(&thread.0, "pid").is_some_and(|own| own != of_children),
        // There is no link before the first child of a new namespace, in an old kernel, and of a thread that has
        // ended. A thread that has ended has no link "mnt" either; its link "pid" stays until it has been waited for.
        None => link(&thread.0, "mnt").is_some() && link(&"self", "pid_for_children").is_some(),
    }
}

impl Copies {
    /// Returns whether an event is one of a copy, and not one of the debuggee. If it is the copy's
    /// end, its pid may be reused.
    pub fn absorb(&self, thread: ThreadId, event: ThreadEvent) -> bool {
        let mut pids = self.0.borrow_mut();
        match event.is_end() {
            true => pids.remove(&thread.0),
            false => pids.contains(&thread.0),
        }
    }

    /// Like [`Copies::absorb`], for a pid and whether its process has ended.
    pub fn absorb_stop(&self, pid: i32, is_end: bool) -> bool {
        let event = match is_end {
            true => ThreadEvent::Killed(crate::ids::Signal(libc::SIGKILL)),
            false => ThreadEvent::Other,
        };
        self.absorb(ThreadId(pid), event)
    }

    /// Takes the copies of others in.
    pub fn take_over(&self, others: &Copies) {
        let others = others.0.borrow().clone();
        self.0.borrow_mut().extend(others);
    }

    /// Takes a thread in that was created in a copy.
    pub fn add(&self, pid: i32) {
        self.0.borrow_mut().insert(pid);
    }

    /// Kills a copy, and collects it with these other threads and all that it has.
    pub fn collect(&self, copy: &ProcessCopy, threads: impl Iterator<Item = i32>) {
        copy.kill();
        stop_wait::collect(copy.pid);
        let mut pids = self.0.borrow_mut();
        for pid in threads.chain([copy.pid]) {
            pids.remove(&pid);
        }
    }

    /// Collects a thread of a copy that ends.
    pub fn collect_thread(&self, pid: i32) {
        if self.0.borrow_mut().remove(&pid) {
            stop_wait::collect_thread(pid);
        }
    }

    /// Copies the process of a stopped thread that is outside of a system call, or in one that will
    /// be restarted. `instruction`: the address of a system call instruction in the process. The
    /// thread is as before afterwards; its other threads should be stopped. The copy is stopped, and has the
    /// thread's registers, signal mask and nothing pending.
    ///
    /// # Errors
    /// The thread ends meanwhile, the kernel has no memory or processes left or is older than 5.9, or
    /// a seccomp filter of the process forbids it.
    pub fn copy_process(
        &self,
        thread: ThreadId,
        instruction: LoadAddr,
        parent: CopyParent,
    ) -> Result<ProcessCopy, CopyError> {
        self.copy_process_in(None, thread, instruction, parent)
    }

    /// Like [`Copies::copy_process`]; the thread makes the system call in a refuge, if there is one.
    ///
    /// # Errors
    /// As for [`Copies::copy_process`]; the next child of the process would begin its PID namespace.
    pub fn copy_process_in(
        &self,
        refuge: Option<Refuge<'_>>,
        thread: ThreadId,
        instruction: LoadAddr,
        parent: CopyParent,
    ) -> Result<ProcessCopy, CopyError> {
        let flags = match parent {
            CopyParent::Copied => 0,
            CopyParent::OfCopied => libc::CLONE_PARENT,
        };
        if begins_namespace(thread) {
            let why = io::Error::other("its next child begins a PID namespace");
            return Err(CopyError::System("clone", why));
        }
        let mut injection = Injection::begin_in(refuge, thread, instruction)?;
        let copy = match injection.call(libc::SYS_clone, [flags as u64, 0, 0, 0, 0, 0]) {
            Err(error) => Err(CopyError::from(error)),
            Ok(result) => {
                let copy = self.settle(result, &injection, instruction);
                if copy.is_err() && result.value > 0 {
                    let _ = injection.call(libc::SYS_wait4, to_collect(result.value));
                }
                copy
            }
        };
        injection.finish();
        copy
    }

    /// Takes a stopped process that was made in another way as a copy. It has one thread.
    ///
    /// # Errors
    /// It has ended.
    pub fn adopt(&self, pid: i32) -> io::Result<ProcessCopy> {
        let process = open_process(pid)?;
        let mut memory = OpenOptions::new();
        let memory = memory.read(true).write(true);
        let memory = memory.open(format!("/proc/{pid}/mem"))?;
        self.0.borrow_mut().insert(pid);
        Ok(ProcessCopy {
            pid,
            pid_inside: pid,
            memory: Some(memory),
            process,
            copies: self.clone(),
        })
    }

    /// Completes a copy that the kernel has just made.
    fn settle(
        &self,
        result: CallResult,
        injection: &Injection<'_>,
        instruction: LoadAddr,
    ) -> Result<ProcessCopy, CopyError> {
        let pid_inside = result
            .ok()
            .map_err(|error| CopyError::System("clone", error))?;
        let Some(pid) = result.created else {
            let error = io::Error::other("the new process is not traced");
            return Err(CopyError::System("clone", error));
        };
        let thread = ThreadId(pid);
        self.0.borrow_mut().insert(pid);
        let process = open_process(pid);
        // Before its first stop it cannot be given options. If the tracer dies until then, its
        // registers make it fault (`RegisterSet::for_call_alone`).
        let first = ptrace::stop_of(thread, super::Patience::UntilStopped);
        let process = process.map_err(|error| {
            // SAFETY: integers only; a tracee that is not collected keeps its pid.
            unsafe { libc::kill(pid, libc::SIGKILL) };
            stop_wait::collect(pid);
            self.0.borrow_mut().remove(&pid);
            CopyError::System("pidfd_open", error)
        })?;
        // From here on, dropping it ends the process.
        let mut copy = ProcessCopy {
            pid,
            pid_inside: pid_inside as i32,
            memory: None,
            process,
            copies: self.clone(),
        };
        if first.is_none_or(ThreadEvent::is_end) {
            self.0.borrow_mut().remove(&pid);
            return Err(CopyError::Injection(InjectionError::Ended(None)));
        }
        let system = |call| move |error| CopyError::System(call, error);
        ptrace::set_exit_kill(thread).map_err(system("ptrace"))?;
        let mut inside = Injection::begin(thread, instruction)?;
        let all = [0, u64::from(u32::MAX), 0, 0, 0, 0];
        let closed = inside.call(libc::SYS_close_range, all)?.ok();
        closed.map_err(system("close_range"))?;
        inside.finish();
        if !super::registers::write(thread, injection.registers()) {
            return Err(CopyError::Injection(InjectionError::Ended(None)));
        }
        ptrace::set_blocked_signals(thread, injection.mask()).map_err(system("ptrace"))?;
        let memory = OpenOptions::new()
            .read(true)
            .write(true)
            .open(format!("/proc/{pid}/mem"));
        copy.memory = Some(memory.map_err(system("open(/proc/PID/mem)"))?);
        Ok(copy)
    }
}

/// A stopped copy of a process. Dropping it ends it: it is killed, and collected by the tracer.
pub struct ProcessCopy {
    pid: i32,
    /// Its pid as the process that was copied sees it.
    pid_inside: i32,
    /// Opened once: its memory, by `/proc/PID/mem`.
    memory: Option<File>,
    /// Its pid may be reused when something else has killed it.
    process: OwnedFd,
    copies: Copies,
}

impl ProcessCopy {
    /// Returns its pid, which is also that of its only thread.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// Returns its thread.
    pub fn thread(&self) -> ThreadId {
        ThreadId(self.pid)
    }

    /// Returns its pid in the namespace of the process that was copied, for [`reap_in`].
    pub fn pid_inside(&self) -> i32 {
        self.pid_inside
    }

    /// Reads its memory, despite its protection. Returns the number of bytes read: fewer at the end
    /// of what is mapped, none if the copy was killed.
    pub fn read_memory(&self, addr: LoadAddr, buffer: &mut [u8]) -> usize {
        let Some(memory) = &self.memory else {
            return 0;
        };
        super::memory::transfer(buffer.len(), |done| {
            memory.read_at(&mut buffer[done..], addr.0.wrapping_add(done as u64))
        })
    }

    /// Ends it without waiting for that.
    pub fn kill(&self) {
        let process = self.process.as_raw_fd();
        // SAFETY: integers, and no description of the signal.
        unsafe {
            let no_info = std::ptr::null::<libc::siginfo_t>();
            libc::syscall(
                libc::SYS_pidfd_send_signal,
                process,
                libc::SIGKILL,
                no_info,
                0,
            );
        }
    }
}

impl Drop for ProcessCopy {
    fn drop(&mut self) {
        self.kill();
        // Otherwise its end was collected before.
        if self.copies.0.borrow_mut().remove(&self.pid) {
            stop_wait::collect(self.pid);
        }
    }
}

/// Makes a stopped thread of the process that was copied collect a copy of which it is the parent and
/// which has ended, so that no zombie stays. `pid_inside`: that of [`ProcessCopy::pid_inside`]. If the
/// process ends before, init collects the copy.
///
/// # Errors
/// The thread ends meanwhile, or a seccomp filter forbids the call.
pub fn reap_in(
    refuge: Option<Refuge<'_>>,
    thread: ThreadId,
    instruction: LoadAddr,
    pid_inside: i32,
) -> Result<(), CopyError> {
    let mut injection = Injection::begin_in(refuge, thread, instruction)?;
    let result = injection.call(libc::SYS_wait4, to_collect(i64::from(pid_inside)));
    injection.finish();
    let ok = result?.ok();
    ok.map(drop)
        .map_err(|error| CopyError::System("wait4", error))
}

/// Returns the arguments of wait4(2) that collect a child without waiting.
fn to_collect(pid: i64) -> [u64; 6] {
    let flags = (libc::__WALL | libc::WNOHANG) as u64;
    [pid as u64, 0, flags, 0, 0, 0]
}

/// Opens a descriptor of a process.
///
/// # Errors
/// It has ended.
pub fn open_process(pid: i32) -> io::Result<OwnedFd> {
    // SAFETY: the call returns a new descriptor without another owner.
    unsafe {
        match libc::syscall(libc::SYS_pidfd_open, pid, 0) {
            -1 => Err(io::Error::last_os_error()),
            descriptor => Ok(OwnedFd::from_raw_fd(descriptor as i32)),
        }
    }
}
