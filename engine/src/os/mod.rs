//! The operating system: everything behind [`Backend`]. Beyond this module no `cfg(target_os)`.

use crate::debugger::Launch;
use crate::error::Error;
use crate::event::{OutputStream, Signal, SignalInfo, ThreadId};
use dwarf::{LoadAddr, Register, Registers};
use std::os::fd::BorrowedFd;
use std::path::PathBuf;
use std::time::{Duration, Instant};

#[cfg(test)]
pub(crate) mod fake;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
mod post_mortem;

#[cfg(all(test, target_os = "linux"))]
pub(crate) use linux::own_code;
#[cfg(target_os = "linux")]
pub(crate) use linux::vectors_in;
#[cfg(target_os = "linux")]
pub use linux::{
    Launcher, OpenStdio, ProcessGroup, Shared, Waker, asked_to_end, give_way, prepare,
    stand_behind_front, user_of_peer,
};
#[cfg(target_os = "linux")]
pub use post_mortem::{Core, CoreFile};

/// The backend for live processes of this machine.
///
/// # Errors
/// The system has no descriptors left.
pub(crate) fn native() -> Result<Box<dyn Backend>, Error> {
    #[cfg(target_os = "linux")]
    return Ok(Box::new(linux::LinuxBackend::new()?));
    #[cfg(not(target_os = "linux"))]
    return Err(Error::Unsupported(
        "live processes cannot be debugged on this system yet".into(),
    ));
}

/// As [`native`], woken by `waker`, as the backend was that it takes the place of.
///
/// # Errors
/// The system has no descriptors left.
pub(crate) fn native_woken_by(waker: Waker) -> Result<Box<dyn Backend>, Error> {
    Ok(Box::new(linux::LinuxBackend::woken_by(waker)?))
}

/// The backend for what a core file has left of a process. It is woken by `waker`, as the
/// backend was that it takes the place of.
///
/// # Errors
/// The system has no descriptors left.
pub(crate) fn of_core(core: Core, waker: Waker) -> Result<Box<dyn Backend>, Error> {
    Ok(Box::new(post_mortem::PostMortem::new(core, waker)?))
}

/// What a thread did, as `waitpid(2)` tells it. Real-time signals survive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WaitStatus {
    /// It ended by `exit`.
    Exited(i32),
    /// A signal ended it.
    Killed(Signal),
    /// A signal is about to be delivered (signal-delivery-stop).
    Signal(Signal),
    /// It stopped because it was interrupted, or because it has just been seized at birth.
    Interrupted,
    /// The whole process was stopped by this signal (group-stop).
    GroupStop(Signal),
    /// It made a thread.
    Cloned(ThreadId),
    /// It made a process, which has a copy of the memory.
    Forked(i32),
    /// It made a process that shares its memory until that execs or exits.
    Vforked(i32),
    /// It is past an `execve`; the number is the tid it had before.
    Execed(ThreadId),
    /// Another stop that needs nothing but going on.
    Other,
}

/// How a thread is set going.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Resume {
    /// Until something happens.
    Continue,
    /// One instruction.
    Step,
}

/// What [`Backend::wait`] waits for besides stops and the waker.
#[derive(Clone, Copy, Debug, Default)]
pub struct Besides<'a> {
    /// The debuggee's output.
    pub output: bool,
    /// Something to read there, or its end.
    pub client: Option<BorrowedFd<'a>>,
}

/// Why [`Backend::wait`] came back; several may be true at once.
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

/// What is to be done for a process that is not traced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Duty {
    /// It was launched and detached for a child of its own: it is killed.
    Kill,
    /// It was detached for another debugger, and jumps in place: unless that one takes it over,
    /// it gets its own code back, or is killed.
    Mend {
        /// Where it jumps.
        at: LoadAddr,
        /// What is there.
        bytes: [u8; 2],
        /// What the program has there.
        original: [u8; 2],
        /// It is killed.
        launched: bool,
        /// The process of the other debugger.
        to: i32,
    },
}

/// One segment of a process's address space.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mapping {
    /// First address.
    pub start: LoadAddr,
    /// First address behind it.
    pub end: LoadAddr,
    /// May be read.
    pub readable: bool,
    /// May be written to.
    pub writable: bool,
    /// May be executed.
    pub executable: bool,
    /// Writes go to the file, or to whoever else has it mapped.
    pub shared: bool,
    /// The mapped file, or `[stack]` and the like; empty for anonymous memory.
    pub path: PathBuf,
    /// Offset in the file.
    pub offset: u64,
}

/// A file that a process runs or has mapped.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MappedFile {
    /// The name it had when it was mapped, or has now if it was renamed.
    pub path: PathBuf,
    /// Where it may be opened although its name is gone, or another file's by now.
    pub replaced: Option<PathBuf>,
}

/// What comes with a signal, as the system lays it out (Linux: `siginfo_t`).
pub struct SignalData {
    #[cfg(target_os = "linux")]
    raw: Box<linux::RawSignal>,
}

/// A whole general-purpose register set, including what only the system understands.
#[derive(Clone, Copy)]
pub struct RegisterSet {
    #[cfg(target_os = "linux")]
    raw: linux::RawRegisters,
}

/// Control of live processes. All calls belong to the thread that made the backend.
/// Calls about a thread that vanished in the meantime give `Ok` or a plain "gone" answer:
/// its end is told by [`Backend::next_stop`].
pub trait Backend {
    /// Wakes [`Backend::wait`].
    fn waker(&self) -> Waker;
    /// Starts a program; returns its pid when it is stopped behind its `execve`.
    ///
    /// # Errors
    /// It cannot be started.
    fn launch(&mut self, launch: &Launch, opened: Option<OpenStdio>) -> Result<i32, Error>;
    /// Seizes a process that will exec (a launcher); it dies with us.
    ///
    /// # Errors
    /// It is gone or not ours.
    fn seize_launcher(&mut self, pid: i32) -> Result<(), Error>;
    /// Seizes all threads of a process; they keep running. `exit_kill`: it dies with us.
    ///
    /// # Errors
    /// It is gone or not ours.
    fn attach(&mut self, pid: i32, exit_kill: bool) -> Result<Vec<ThreadId>, Error>;
    /// Sleeps until something is ready.
    ///
    /// # Errors
    /// The system refuses to wait.
    fn wait(&mut self, deadline: Option<Instant>, besides: Besides<'_>) -> Result<Ready, Error>;
    /// The next stop of any thread, if one is ready.
    fn next_stop(&mut self) -> Option<(ThreadId, WaitStatus)>;
    /// The stop of one thread, if it is ready.
    fn stop_of(&mut self, thread: ThreadId) -> Option<WaitStatus>;
    /// The stop of one thread that has just been let go and is likely to stop again within
    /// `patience`: nobody sleeps before that is over, for to be woken takes longer.
    fn stop_within(&mut self, thread: ThreadId, _patience: Duration) -> Option<WaitStatus> {
        self.stop_of(thread)
    }
    /// Waits for a stop of one thread that is bound to come at once.
    fn await_stop(&mut self, thread: ThreadId) -> Option<WaitStatus>;
    /// Lets a stopped thread go on, delivering a signal (0: none).
    fn resume(&mut self, thread: ThreadId, how: Resume, signal: Signal);
    /// Lets a thread stay in its group-stop; false: it is not stopped by that.
    fn listen(&mut self, thread: ThreadId) -> bool;
    /// Asks a running thread to stop; [`WaitStatus::Interrupted`] follows.
    fn interrupt(&mut self, thread: ThreadId);
    /// Lets a stopped thread go on without us, delivering a signal (0: none).
    fn detach(&mut self, thread: ThreadId, signal: Signal);
    /// Sends a signal to the process.
    fn signal(&mut self, pid: i32, signal: Signal);
    /// Makes a thread that has just stopped, for an interrupt or a signal, go on with the system
    /// call it may be in where the stop alone would end that.
    fn keep_system_call(&mut self, _: ThreadId) {}
    /// Says what the kernel knows of the signal a thread is stopped with.
    fn signal_info(&self, thread: ThreadId) -> Option<SignalInfo>;
    /// Keeps all signals from a stopped thread; gives what it had blocked before.
    fn block_signals(&mut self, _: ThreadId) -> Option<u64> {
        None
    }
    /// Undoes that.
    fn set_blocked_signals(&mut self, _: ThreadId, _: u64) {}
    /// All that the kernel knows of the signal a thread is stopped with, to be kept while it is
    /// made to do something else.
    fn signal_data(&self, _: ThreadId) -> Option<SignalData> {
        None
    }
    /// Gives it back, for a signal that is delivered out of another signal's stop.
    fn set_signal_data(&mut self, _: ThreadId, _: &SignalData) {}
    /// The general-purpose registers of a stopped thread; `None` if it is gone.
    fn registers(&self, thread: ThreadId) -> Option<RegisterSet>;
    /// Sets them; false if the thread is gone.
    fn set_registers(&mut self, thread: ThreadId, registers: &RegisterSet) -> bool;
    /// Sets the debug registers of a stopped thread: addresses and DR7. They are the thread's
    /// own: new threads and processes have none, `execve` clears them, our end does not. False
    /// if the thread is gone, or the kernel refuses.
    fn set_debug_registers(&mut self, thread: ThreadId, addresses: &[u64; 4], control: u64)
    -> bool;
    /// DR6 of a stopped thread, as its last SIGTRAP left it.
    fn debug_status(&self, thread: ThreadId) -> u64;
    /// The low 16 bytes of the vector registers of a stopped thread.
    fn vector_registers(&self, thread: ThreadId) -> Option<Vec<u128>>;
    /// The same for later: as long as the thread is stopped.
    fn vector_reader(&self, thread: ThreadId) -> Box<dyn FnOnce() -> Option<Vec<u128>> + Send> {
        let vectors = self.vector_registers(thread);
        Box::new(move || vectors)
    }
    /// All registers that are no general ones, as the kernel lays them out (x86-64: XSAVE).
    fn extended_registers(&self, thread: ThreadId) -> Option<Vec<u8>>;
    /// The top of a stopped thread's x87 stack, as FXSAVE has it (Intel SDM vol. 1, §10.5.1).
    fn st0(&self, thread: ThreadId) -> Option<[u8; 10]> {
        self.extended_registers(thread)?
            .get(32..42)?
            .try_into()
            .ok()
    }
    /// Writes what [`Backend::extended_registers`] has read.
    fn set_extended_registers(&mut self, thread: ThreadId, bytes: &[u8]) -> bool;
    /// Opens the memory of a process; to be called again after an `execve`.
    fn open_memory(&mut self, pid: i32) -> Result<(), Error>;
    /// Closes the memory: the process has ended or is detached, and may live on. From then on
    /// nothing of it is read or written.
    fn close_memory(&mut self);
    /// Reads as many bytes as there are at `addr`, up to the buffer's length.
    fn read_memory(&self, addr: LoadAddr, buffer: &mut [u8]) -> usize;
    /// The same, but no more than the program itself may read: no protection is overridden.
    fn read_permitted(&self, addr: LoadAddr, buffer: &mut [u8]) -> usize {
        self.read_memory(addr, buffer)
    }
    /// Writes memory past its protection; false if not all of it could be written.
    fn write_memory(&self, addr: LoadAddr, bytes: &[u8]) -> bool {
        self.write_memory_partly(addr, bytes) == bytes.len()
    }
    /// Writes memory past its protection; gives how many bytes were written before the first
    /// that could not be.
    fn write_memory_partly(&self, addr: LoadAddr, bytes: &[u8]) -> usize;
    /// Memory in a file that the process has open as `descriptor`; `None`: it cannot be had.
    fn shared(&self, _pid: i32, _descriptor: i32, _len: u64) -> Option<Shared> {
        None
    }
    /// Whether the process may not do all system calls (seccomp(2)).
    fn is_confined(&self, _pid: i32) -> bool {
        false
    }
    /// Tells of a trap that was planted over `original`, or taken away (`None`), so that the
    /// byte is given back should we be killed.
    fn guard(&self, addr: LoadAddr, original: Option<&[u8]>);

    /// The same of a jump, of which so many bytes are ours. Those of a higher `rank` come back
    /// first: where they lead depends on what follows them.
    fn guard_jump(&self, addr: LoadAddr, original: &[u8], rank: u8);
    /// Reads memory of a process that is not the one whose memory is open; gives the bytes read.
    fn read_memory_of(&self, pid: i32, addr: LoadAddr, buffer: &mut [u8]) -> usize;
    /// Writes memory of a process that is not the one whose memory is open (a fork's child).
    fn write_memory_of(&self, pid: i32, writes: &[(LoadAddr, u8)]);
    /// Writes `original` in a process that nobody traces, if it has `bytes` there; the process
    /// is stopped for it, so that it never runs half of each. False: it is traced still.
    fn mend(&mut self, pid: i32, addr: LoadAddr, bytes: &[u8], original: &[u8]) -> bool;
    /// Has something done for a process that is not traced (any more) as soon as this process has
    /// ended, in order or not; takes the place of an earlier duty for it.
    fn leave_duty(&mut self, _pid: i32, _duty: Duty) {}
    /// There is nothing left to do for a process.
    fn end_duty(&mut self, _pid: i32) {}
    /// Kills a process for which there was a duty.
    fn kill_left(&mut self, _pid: i32) {}
    /// A value of the auxiliary vector.
    fn auxiliary(&self, pid: i32, key: u64) -> Option<u64>;
    /// The address space.
    fn mappings(&self, pid: i32) -> Vec<Mapping>;
    /// The program's file.
    fn executable(&self, pid: i32) -> Option<MappedFile>;
    /// The file that is mapped at an address.
    fn mapped_file(&self, pid: i32, addr: LoadAddr) -> Option<MappedFile>;
    /// All processes of the system.
    fn processes(&self) -> Vec<i32>;
    /// The program of a process, if that is meant by `name`: a path (with a slash), the name of
    /// the program's file, or the name the process has. `None` also if it has ended.
    fn program_named(&self, pid: i32, name: &str) -> Option<PathBuf>;
    /// A thread's name, empty if it is gone.
    fn thread_name(&self, pid: i32, thread: ThreadId) -> String;
    /// The process a thread belongs to.
    fn process_of(&self, thread: ThreadId) -> Option<i32>;
    /// Reads what the debuggee wrote, if anything: never waits.
    fn read_output(&mut self) -> Option<(OutputStream, Vec<u8>)>;
    /// Whether output may still come (a descriptor is open).
    fn output_open(&self) -> bool;
    /// The core file, if the process is one that nothing else is left of.
    fn core(&self) -> Option<&Core> {
        None
    }
}

impl RegisterSet {
    /// The set out of a core file (x86-64: `user_regs_struct`).
    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let raw = linux::RawRegisters::from_bytes(bytes)?;
        Some(RegisterSet { raw })
    }

    /// All registers zero.
    #[cfg(test)]
    pub(crate) fn zeroed() -> Self {
        RegisterSet {
            raw: linux::RawRegisters::zeroed(),
        }
    }

    /// By DWARF number, as the unwinder wants them.
    pub fn to_registers(&self) -> Registers {
        self.raw.to_registers()
    }

    /// Changes one; false if it cannot be written.
    pub fn set(&mut self, register: Register, value: u64) -> bool {
        self.raw.set(register, value)
    }

    /// The program counter.
    pub fn pc(&self) -> LoadAddr {
        LoadAddr(self.raw.pc())
    }

    /// Sets the program counter.
    pub fn set_pc(&mut self, pc: LoadAddr) {
        self.raw.set_pc(pc.0);
    }

    /// The stack pointer.
    pub fn sp(&self) -> u64 {
        self.raw.sp()
    }

    /// Sets the stack pointer.
    pub fn set_sp(&mut self, sp: u64) {
        self.raw.set_sp(sp);
    }

    /// A register by its DWARF number.
    pub fn get(&self, register: Register) -> Option<u64> {
        self.raw.get(register)
    }

    /// The set that makes the thread do a system call by the instruction at `instruction`,
    /// forgetting a system call it may be in.
    pub fn for_system_call(&self, call: SystemCall, instruction: LoadAddr) -> RegisterSet {
        RegisterSet {
            raw: self.raw.for_system_call(call, instruction.0),
        }
    }

    /// The same outside of the system call that the thread may be in, which is not restarted.
    pub fn outside_system_call(&self) -> RegisterSet {
        RegisterSet {
            raw: self.raw.outside_system_call(),
        }
    }

    /// What a system call returned.
    pub fn system_call_result(&self) -> i64 {
        self.raw.system_call_result()
    }

    /// The futex that the thread waits at, if it was stopped in such a system call.
    pub(crate) fn futex_wait(&self) -> Option<FutexWait> {
        self.raw.futex_wait()
    }
}

/// A wait at a futex (futex(2)).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct FutexWait {
    /// Where its word is.
    pub word: LoadAddr,
    /// What the word has to be for the thread to wait; `None`: it waits to own the word, which
    /// the kernel keeps the owner's id in.
    pub expected: Option<u32>,
}

/// System calls that we make the debuggee do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SystemCall {
    /// Maps readable, executable memory at exactly this place, which must be free.
    MapCode {
        /// Where.
        addr: LoadAddr,
        /// Bytes.
        len: u64,
    },
    /// Maps readable, writable memory at exactly this place, which must be free.
    MapData {
        /// Where.
        addr: LoadAddr,
        /// Bytes.
        len: u64,
    },
    /// Makes a file in memory; gives a descriptor (memfd_create(2)).
    MemoryFile {
        /// Where a name is, for `/proc`.
        name: LoadAddr,
    },
    /// Sets a file's length.
    SetLength {
        /// Which.
        descriptor: i32,
        /// Bytes.
        len: u64,
    },
    /// Maps a file, to be written, at exactly this place, which must be free.
    MapShared {
        /// Where.
        addr: LoadAddr,
        /// Bytes.
        len: u64,
        /// The file.
        descriptor: i32,
    },
    /// Closes a file.
    Close {
        /// Which.
        descriptor: i32,
    },
    /// Lets a process trace this one where Yama would not (prctl(2), PR_SET_PTRACER).
    AllowTracer {
        /// The process.
        pid: i32,
    },
    /// Unmaps memory.
    Unmap {
        /// Where.
        addr: LoadAddr,
        /// Bytes.
        len: u64,
    },
}
