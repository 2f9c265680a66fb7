//! For tests: a child process in which code runs an instruction at a time, or up to a trap.

use super::super::ThreadEvent;
use super::{ptrace, stop_wait};
use crate::ids::{Signal, ThreadId};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Mutex;

/// A child that executes nothing but what it is made to. It ends with this value.
pub struct OwnChild {
    thread: ThreadId,
    memory: File,
}

/// Memory at a fixed address.
#[derive(Clone, Copy)]
pub struct Area {
    /// Its address, a multiple of 64 KiB, as pages may have that size.
    pub start: u64,
    /// Its size in bytes.
    pub len: usize,
    /// What the child does with it.
    pub use_as: UseAs,
}

/// What is done with memory.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum UseAs {
    /// It is executed and read.
    Code,
    /// It is read and written.
    Data,
}

impl OwnChild {
    /// Starts a child with some memory. Only this thread may use it.
    pub fn with(areas: &[Area]) -> OwnChild {
        // This process has the memory, too, for a moment.
        static AREAS: Mutex<()> = Mutex::new(());
        let _one_at_a_time = AREAS.lock();
        for area in areas {
            let protection = match area.use_as {
                UseAs::Code => libc::PROT_READ | libc::PROT_EXEC,
                UseAs::Data => libc::PROT_READ | libc::PROT_WRITE,
            };
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE;
            let wanted = area.start as *mut libc::c_void;
            // SAFETY: nothing that exists is replaced.
            let got = unsafe { libc::mmap(wanted, area.len, protection, flags, -1, 0) };
            assert_eq!(got, wanted, "memory for code");
        }
        // SAFETY: the child calls nothing that another thread may have locked.
        let pid = unsafe { libc::fork() };
        if pid == 0 {
            // SAFETY: it takes numbers only.
            unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
            loop {
                std::hint::spin_loop();
            }
        }
        for area in areas {
            // SAFETY: it was mapped above, and nothing refers to it.
            unsafe { libc::munmap(area.start as *mut libc::c_void, area.len) };
        }
        assert!(pid > 0, "a child");
        let thread = ThreadId(pid);
        ptrace::seize(pid, true).expect("a tracee");
        ptrace::interrupt(thread).expect("a stop");
        let child = OwnChild {
            thread,
            memory: File::options()
                .read(true)
                .write(true)
                .open(format!("/proc/{pid}/mem"))
                .expect("its memory"),
        };
        assert_eq!(child.wait(), ThreadEvent::Interrupted);
        child
    }

    /// Returns its thread.
    pub fn thread(&self) -> ThreadId {
        self.thread
    }

    fn wait(&self) -> ThreadEvent {
        ptrace::wait_for(self.thread.0).expect("a stop of the child")
    }

    /// Writes memory, also code.
    pub fn write(&self, addr: u64, bytes: &[u8]) {
        let written = self.memory.write_all_at(bytes, addr);
        written.expect("memory of the child");
    }

    /// Reads memory.
    pub fn read(&self, addr: u64, bytes: &mut [u8]) {
        let read = self.memory.read_exact_at(bytes, addr);
        read.expect("memory of the child");
    }

    /// Executes one instruction. Returns the signal of its end: SIGTRAP, or that of a fault, which
    /// the child does not get.
    pub fn step(&self) -> Signal {
        self.resume(true)
    }

    /// Executes code up to a trap or a fault; returns its signal, which the child does not get.
    pub fn run(&self) -> Signal {
        self.resume(false)
    }

    fn resume(&self, step: bool) -> Signal {
        ptrace::resume(self.thread, step, Signal(0)).expect("a child");
        match self.wait() {
            ThreadEvent::Signal(signal) => signal,
            other => panic!("the child is {other:?}"),
        }
    }

    /// Reads a register set of the kernel; returns its size, none if this machine lacks it.
    pub fn registers(&self, set: i32, bytes: &mut [u8]) -> Option<usize> {
        ptrace::read_register_bytes(self.thread, set, bytes)
    }

    /// Writes a register set of the kernel.
    pub fn set_registers(&self, set: i32, bytes: &[u8]) {
        let is_set = ptrace::write_register_bytes(self.thread, set, bytes);
        assert!(is_set, "register set {set:#x}");
    }
}

impl Drop for OwnChild {
    fn drop(&mut self) {
        // SAFETY: it takes numbers only; the child is not collected yet.
        unsafe { libc::kill(self.thread.0, libc::SIGKILL) };
        stop_wait::collect(self.thread.0);
    }
}
