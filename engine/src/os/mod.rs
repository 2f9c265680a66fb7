//! The operating system, behind [`Backend`]. There is no `cfg(target_os)` outside this module.

use crate::arch::watch::{MAX_SLOTS, Slot};
use crate::arch::{ExtendedRegisters, SPIN_LOOP_BYTES};
use crate::ids::Launch;
use crate::ids::error::Error;
use crate::ids::{OutputStream, Signal, SignalInfo, ThreadId};
use dwarf::LoadAddr;
use std::os::fd::BorrowedFd;
use std::path::PathBuf;
use std::time::{Duration, Instant};

#[cfg(test)]
pub(crate) mod fake;
#[cfg(target_os = "linux")]
mod linux;
mod linux_abi;
mod post_mortem;
mod registers;
mod system_call;

#[cfg(all(test, target_os = "linux"))]
pub(crate) use linux::own_code;
#[cfg(target_os = "linux")]
pub use linux::{
    Launcher, OpenStdio, ProcessGroup, Shared, Waker, asked_to_end, host, lower_thread_priority,
    prepare, stand_behind_front, user_of_peer,
};
pub(crate) use linux_abi::BREAKPOINT_CODE;
pub use post_mortem::{Core, CoreFile};
pub use registers::{ExtendedPart, ExtendedReader, RegisterSet};
pub(crate) use system_call::FutexWait;
pub use system_call::SystemCall;

/// Returns the usual name of a machine by its number in ELF files (`e_machine`).
fn machine_name(machine: u16) -> String {
    let name = match machine {
        3 => "x86",
        40 => "arm",
        62 => "x86_64",
        183 => "aarch64",
        243 => "riscv",
        other => return format!("ELF machine {other}"),
    };
    name.to_owned()
}

/// Creates the backend for live processes on this machine.
///
/// # Errors
/// The system has no descriptors left.
pub(crate) fn live_backend() -> Result<Box<dyn Backend>, Error> {
    #[cfg(target_os = "linux")]
    return Ok(Box::new(linux::LinuxBackend::new()?));
    #[cfg(not(target_os = "linux"))]
    return Err(Error::Unsupported(
        "debugging live processes is not supported on this system".into(),
    ));
}

/// Like [`live_backend`], with the waker of the backend that it replaces.
///
/// # Errors
/// The system has no descriptors left.
pub(crate) fn live_backend_woken_by(waker: Waker) -> Result<Box<dyn Backend>, Error> {
    Ok(Box::new(linux::LinuxBackend::woken_by(waker)?))
}

/// Creates the backend for a core file, with the waker of the backend that it replaces.
///
/// # Errors
/// The system has no descriptors left.
pub(crate) fn core_backend(core: Core, waker: Waker) -> Result<Box<dyn Backend>, Error> {
    let host = live_backend_woken_by(waker)?;
    Ok(Box::new(post_mortem::PostMortem::new(core, host)))
}

/// A change of a thread's state, as `waitpid(2)` reports it. Real-time signals are preserved.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WaitStatus {
    /// It exited with this code.
    Exited(i32),
    /// A signal ended it.
    Killed(Signal),
    /// A signal is about to be delivered (signal-delivery-stop).
    Signal(Signal),
    /// It was interrupted, or seized at birth.
    Interrupted,
    /// The whole process is stopped by this signal (group-stop).
    GroupStop(Signal),
    /// It created a thread.
    Cloned(ThreadId),
    /// It forked a process, which has a copy of the memory.
    Forked(i32),
    /// It created a process by vfork, which shares its memory until it execs or exits.
    Vforked(i32),
    /// It has executed an `execve`; the number is its former tid.
    Execed(ThreadId),
    /// Another stop that only needs a resume.
    Other,
}

/// How to resume a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Resume {
    /// Run until the next stop.
    Continue,
    /// Execute one instruction.
    Step,
}

/// The events that [`Backend::wait`] waits for in addition to stops and the waker.
#[derive(Clone, Copy, Debug, Default)]
pub struct WaitInterest<'a> {
    /// Output of the debuggee.
    pub output: bool,
    /// A descriptor to read from; its end counts, too.
    pub client: Option<BorrowedFd<'a>>,
}

/// The reason why [`Backend::wait`] returned; several may be true at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Ready {
    /// The waker was used.
    pub woken: bool,
    /// There may be stops to collect.
    pub stops: bool,
    /// There may be output to read.
    pub output: bool,
    /// The client's descriptor can be read.
    pub client: bool,
}

/// An action for a process that is no longer traced, carried out when the debugger ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Duty {
    /// Kill it: it was launched, and detached in favour of its child.
    Kill,
    /// Restore its code: it was detached for another debugger and spins in a loop. If that debugger
    /// does not take it over, the original code is restored, or the process is killed.
    Mend {
        /// Address of the loop.
        at: LoadAddr,
        /// The loop.
        bytes: [u8; SPIN_LOOP_BYTES],
        /// The original bytes.
        original: [u8; SPIN_LOOP_BYTES],
        /// Whether it was launched, and is to be killed.
        launched: bool,
        /// Pid of the other debugger.
        to: i32,
    },
}

/// One mapping of a process's address space.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mapping {
    /// First address.
    pub start: LoadAddr,
    /// First address after it.
    pub end: LoadAddr,
    /// Whether it is readable.
    pub readable: bool,
    /// Whether it is writable.
    pub writable: bool,
    /// Whether it is executable.
    pub executable: bool,
    /// Whether writes go to the file, and are seen by other processes that map it.
    pub shared: bool,
    /// The mapped file, or `[stack]` and the like; empty for anonymous memory.
    pub path: PathBuf,
    /// Offset in the file.
    pub offset: u64,
}

/// The file of a program or of a mapping.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MappedFile {
    /// Its name when it was mapped, or its present name if it was renamed.
    pub path: PathBuf,
    /// A path that still opens the file if its name is gone or refers to another file.
    pub replaced: Option<PathBuf>,
}

/// The data of a signal, in the system's layout (Linux: `siginfo_t`).
pub struct SignalData {
    #[cfg(target_os = "linux")]
    raw: Box<linux::RawSignal>,
}

/// Control of live processes. All calls must come from the thread that created the backend. Calls
/// about a thread that has vanished return `Ok` or a plain "gone" result: [`Backend::next_stop`]
/// reports its end.
pub trait Backend {
    /// Returns a handle that wakes [`Backend::wait`].
    fn waker(&self) -> Waker;
    /// Launches a program. Returns its pid; it is stopped after its `execve`.
    ///
    /// # Errors
    /// The program cannot be started.
    fn launch(&mut self, launch: &Launch, opened: Option<OpenStdio>) -> Result<i32, Error>;
    /// Seizes a process that will exec the program (a launcher). It dies with the debugger.
    ///
    /// # Errors
    /// The process is gone or may not be traced.
    fn seize_launcher(&mut self, pid: i32) -> Result<(), Error>;
    /// Seizes all threads of a process; they keep running. `exit_kill`: the process dies with the
    /// debugger.
    ///
    /// # Errors
    /// The process is gone or may not be traced.
    fn attach(&mut self, pid: i32, exit_kill: bool) -> Result<Vec<ThreadId>, Error>;
    /// Sleeps until something is ready.
    ///
    /// # Errors
    /// The system refuses to wait.
    fn wait(
        &mut self,
        deadline: Option<Instant>,
        besides: WaitInterest<'_>,
    ) -> Result<Ready, Error>;
    /// Returns the next stop of any thread, if one is available.
    fn next_stop(&mut self) -> Option<(ThreadId, WaitStatus)>;
    /// Returns the stop of one thread, if it is available.
    fn poll_stop(&mut self, thread: ThreadId) -> Option<WaitStatus>;
    /// Waits at most `patience` for the stop of a thread that was just resumed and is likely to
    /// stop soon. Spins instead of sleeping, as a wake-up takes longer.
    fn spin_for_stop(&mut self, thread: ThreadId, _patience: Duration) -> Option<WaitStatus> {
        self.poll_stop(thread)
    }
    /// Waits for the stop of a thread that is about to stop. `None`: it is gone.
    fn wait_for_stop(&mut self, thread: ThreadId) -> Option<WaitStatus>;
    /// Resumes a stopped thread, delivering a signal (0 for none).
    fn resume(&mut self, thread: ThreadId, how: Resume, signal: Signal);
    /// Keeps a thread in its group-stop (PTRACE_LISTEN); false if it is not in one.
    fn listen(&mut self, thread: ThreadId) -> bool;
    /// Interrupts a running thread; [`WaitStatus::Interrupted`] follows.
    fn interrupt(&mut self, thread: ThreadId);
    /// Detaches from a stopped thread, delivering a signal (0 for none). It runs on untraced.
    fn detach(&mut self, thread: ThreadId, signal: Signal);
    /// Sends a signal to the process.
    fn signal(&mut self, pid: i32, signal: Signal);
    /// Makes a thread that has just stopped for an interrupt or a signal restart its system call if
    /// the stop alone would fail the call with EINTR.
    fn keep_system_call(&mut self, _: ThreadId) {}
    /// Returns the details of the signal that a thread is stopped with.
    fn signal_info(&self, thread: ThreadId) -> Option<SignalInfo>;
    /// Blocks all signals of a stopped thread. Returns its previous mask.
    fn block_signals(&mut self, _: ThreadId) -> Option<u64> {
        None
    }
    /// Restores the mask that [`Backend::block_signals`] returned.
    fn set_blocked_signals(&mut self, _: ThreadId, _: u64) {}
    /// Returns all data of the signal that a thread is stopped with, to restore it after the thread
    /// was made to do something else.
    fn signal_data(&self, _: ThreadId) -> Option<SignalData> {
        None
    }
    /// Restores the data of a signal that is delivered from the stop of another signal.
    fn set_signal_data(&mut self, _: ThreadId, _: &SignalData) {}
    /// Returns the general-purpose registers of a stopped thread; `None` if it is gone.
    fn registers(&self, thread: ThreadId) -> Option<RegisterSet>;
    /// Sets the general-purpose registers; false if the thread is gone.
    fn set_registers(&mut self, thread: ThreadId, registers: &RegisterSet) -> bool;
    /// Sets what a stopped thread traps at. That belongs to the thread: new threads and processes
    /// have nothing set, `execve` clears it, the debugger's end does not. Returns false if the
    /// thread is gone, or the system refuses.
    fn set_watchpoints(&mut self, thread: ThreadId, slots: &[Option<Slot>; MAX_SLOTS]) -> bool;
    /// Returns which of these slots a stopped thread's last traps came from, one bit each.
    fn triggered_watchpoints(&self, thread: ThreadId) -> u8;
    /// Returns a reader of the registers of a stopped thread besides the general-purpose ones.
    fn extended_reader(&self, thread: ThreadId, part: ExtendedPart) -> ExtendedReader;
    /// Writes what a reader of [`ExtendedPart::All`] returned, changed by the architecture. Returns
    /// false if it fails.
    fn set_extended_registers(&mut self, thread: ThreadId, registers: &ExtendedRegisters) -> bool;
    /// Opens the memory of a process. Call it again after an `execve`.
    fn open_memory(&mut self, pid: i32) -> Result<(), Error>;
    /// Closes the memory: the process has ended or is detached, and may live on. It is not read or
    /// written afterwards.
    fn close_memory(&mut self);
    /// Reads memory at `addr`. Returns the number of bytes read, up to the buffer's length.
    fn read_memory(&self, addr: LoadAddr, buffer: &mut [u8]) -> usize;
    /// Like [`Backend::read_memory`], but respects the program's page protection.
    fn read_permitted(&self, addr: LoadAddr, buffer: &mut [u8]) -> usize {
        self.read_memory(addr, buffer)
    }
    /// Writes memory despite its protection; false if not all of it could be written.
    fn write_memory(&self, addr: LoadAddr, bytes: &[u8]) -> bool {
        self.write_memory_partly(addr, bytes) == bytes.len()
    }
    /// Writes memory despite its protection. Returns the number of bytes written before the first
    /// failure.
    fn write_memory_partly(&self, addr: LoadAddr, bytes: &[u8]) -> usize;
    /// Maps the memory file that the process has open as `descriptor`; `None` if that fails.
    fn shared(&self, _pid: i32, _descriptor: i32, _len: u64) -> Option<Shared> {
        None
    }
    /// Returns whether a seccomp(2) filter restricts the process's system calls.
    fn is_confined(&self, _pid: i32) -> bool {
        false
    }
    /// Tells the guardian of a trap that replaces `original`, or of its removal (`None`), so that
    /// the byte is restored if the debugger is killed.
    fn guard(&self, addr: LoadAddr, original: Option<&[u8]>);

    /// Tells the guardian of a jump over `original`. Sites of a higher `rank` are restored first:
    /// their jumps overlap sites of a lower rank, whose bytes are part of the jump's offset.
    fn guard_jump(&self, addr: LoadAddr, original: &[u8], rank: u8);
    /// Reads memory of another process than the one whose memory is open. Returns the number of
    /// bytes read.
    fn read_memory_of(&self, pid: i32, addr: LoadAddr, buffer: &mut [u8]) -> usize;
    /// Writes memory of another process than the one whose memory is open (a fork's child).
    fn write_memory_of(&self, pid: i32, writes: &[(LoadAddr, u8)]);
    /// Writes `original` in an untraced process if it has `bytes` there. Stops it for that, so that
    /// it never executes a half-written instruction. Returns false if it is still traced.
    fn restore_code(&mut self, pid: i32, addr: LoadAddr, bytes: &[u8], original: &[u8]) -> bool;
    /// Registers an action for a process that is no longer traced, to be carried out when this
    /// process ends in any way. Replaces an earlier one for it.
    fn leave_duty(&mut self, _pid: i32, _duty: Duty) {}
    /// Cancels the action for a process.
    fn end_duty(&mut self, _pid: i32) {}
    /// Kills a process that has a registered action.
    fn kill_left(&mut self, _pid: i32) {}
    /// Returns a value of the auxiliary vector.
    fn auxiliary(&self, pid: i32, key: u64) -> Option<u64>;
    /// Returns the mappings of the address space.
    fn mappings(&self, pid: i32) -> Vec<Mapping>;
    /// Returns the program's file.
    fn executable(&self, pid: i32) -> Option<MappedFile>;
    /// Returns the file that is mapped at an address.
    fn mapped_file(&self, pid: i32, addr: LoadAddr) -> Option<MappedFile>;
    /// Returns all processes of the system.
    fn processes(&self) -> Vec<i32>;
    /// Returns the program of a process if `name` matches it: a path (with a slash), the base name
    /// of the program's file, or the process name. `None` also if the process has ended.
    fn program_named(&self, pid: i32, name: &str) -> Option<PathBuf>;
    /// Returns a thread's name, empty if it is gone.
    fn thread_name(&self, pid: i32, thread: ThreadId) -> String;
    /// Returns the process that a thread belongs to.
    fn process_of(&self, thread: ThreadId) -> Option<i32>;
    /// Reads available output of the debuggee; never blocks.
    fn read_output(&mut self) -> Option<(OutputStream, Vec<u8>)>;
    /// Returns whether output may still come (a descriptor is open).
    fn output_open(&self) -> bool;
    /// Returns the core file of a post-mortem session.
    fn core(&self) -> Option<&Core> {
        None
    }
}

impl dyn Backend + '_ {
    /// Returns all registers of a stopped thread besides the general-purpose ones; `None` if it is
    /// gone.
    pub fn extended_registers(&self, thread: ThreadId) -> Option<ExtendedRegisters> {
        self.extended_reader(thread, ExtendedPart::All).read()
    }
}
