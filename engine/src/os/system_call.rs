//! System calls that the debugger makes the debuggee execute, and those that it is found in.

use dwarf::LoadAddr;

/// A wait at a futex (futex(2)).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct FutexWait {
    /// Address of the futex word.
    pub word: LoadAddr,
    /// The value of the word while the thread waits; `None` for a lock, whose word contains the
    /// owner's tid.
    pub expected: Option<u32>,
}

/// A system call that blocks its thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BlockingCall {
    /// Input or output of a file, by its descriptor.
    File(i32),
    /// Until one of several files is ready.
    Readiness,
    /// For some time.
    Time,
    /// Until a child process ends or stops.
    Child,
    /// Until a signal arrives.
    Signal,
}

/// System calls that the debugger makes the debuggee execute.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SystemCall {
    /// Maps readable, executable memory at exactly this address, which must be free.
    MapCode {
        /// Address.
        addr: LoadAddr,
        /// Length in bytes.
        len: u64,
    },
    /// Maps readable, writable memory at exactly this address, which must be free.
    MapData {
        /// Address.
        addr: LoadAddr,
        /// Length in bytes.
        len: u64,
    },
    /// Creates a file in memory; returns a descriptor.
    MemoryFile {
        /// Address of a name for the file, a C string.
        name: LoadAddr,
    },
    /// Sets a file's length.
    SetLength {
        /// The file.
        descriptor: i32,
        /// New length in bytes.
        len: u64,
    },
    /// Maps a file, shared and writable, at exactly this address, which must be free.
    MapShared {
        /// Address.
        addr: LoadAddr,
        /// Length in bytes.
        len: u64,
        /// The file.
        descriptor: i32,
    },
    /// Closes a descriptor.
    Close {
        /// The descriptor.
        descriptor: i32,
    },
    /// Allows a process to trace this one, where only ancestors may do so by default.
    AllowTracer {
        /// Pid of the tracer.
        pid: i32,
    },
    /// Unmaps memory.
    Unmap {
        /// Address.
        addr: LoadAddr,
        /// Length in bytes.
        len: u64,
    },
}
