//! [`Copies`]: stopped copies of the process, which keep its memory as it was.

use crate::ids::ThreadId;
use dwarf::LoadAddr;

/// A stopped copy of the process, by its pid.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct CopyId(pub i32);

/// The memory of a process, and that of the system.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MemoryUse {
    /// What the process has in memory, in bytes.
    pub resident: u64,
    /// What further processes of its kind may use without harm to it, in bytes.
    pub available: u64,
}

/// Stopped copies of the process. A copy never runs, has no open files, and dies with the
/// debugger. Pages are shared with it until the program writes to them.
pub trait Copies {
    /// Makes a copy. `thread` must be stopped outside of system calls, all others must be stopped, too;
    /// `instruction` is the address of a system call instruction. The thread and its stop are the same
    /// afterwards. Takes about 10 µs for each megabyte in memory. `None`: the thread was killed meanwhile.
    ///
    /// # Errors
    /// What stands against it, for the user.
    fn copy_process(&mut self, _: ThreadId, _: LoadAddr) -> Result<Option<CopyId>, String> {
        Err("this system has no copies of processes".to_owned())
    }
    /// Reads memory of a copy. Returns the number of bytes read: 0 also if the copy was killed.
    fn read_copy(&self, _: CopyId, _: LoadAddr, _: &mut [u8]) -> usize {
        0
    }
    /// Returns the copy that is shown in place of the process.
    fn shown_copy(&self) -> Option<CopyId> {
        None
    }
    /// Ends copies. With `reaper`, a thread and an instruction as for [`Copies::copy_process`], no
    /// trace of them remains in the process.
    fn end_copies(&mut self, _: &[CopyId], _reaper: Option<(ThreadId, LoadAddr)>) {}
    /// Returns what decides whether copies can be afforded; `None` if it is not known.
    fn memory_use(&self, _pid: i32) -> Option<MemoryUse> {
        None
    }
}
