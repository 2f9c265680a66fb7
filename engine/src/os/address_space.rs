//! [`AddressSpace`]: the memory of processes.

use super::{Shared, SystemCall};
use crate::ids::error::Error;
use dwarf::LoadAddr;

/// The memory of the process under control, and of a few others.
pub trait AddressSpace {
    /// Opens the memory of a process. To be called again after it has executed another program.
    ///
    /// # Errors
    /// The process is gone, or its memory is not accessible.
    fn open_memory(&mut self, pid: i32) -> Result<(), Error>;
    /// Closes the memory: the process has ended or is detached, and may live on. It is not read or
    /// written afterwards.
    fn close_memory(&mut self);
    /// Reads memory at `addr`. Returns the number of bytes read, up to the buffer's length.
    fn read_memory(&self, addr: LoadAddr, buffer: &mut [u8]) -> usize;
    /// Like [`AddressSpace::read_memory`], but respects the program's page protection.
    fn read_permitted(&self, addr: LoadAddr, buffer: &mut [u8]) -> usize;
    /// Writes memory despite its protection. Returns the number of bytes written before the first
    /// failure.
    fn write_memory_partly(&self, addr: LoadAddr, bytes: &[u8]) -> usize;
    /// Returns why the program's code may not be made to jump to code of ours, but only to trap; `None`
    /// if it may.
    fn why_no_jumps(&self) -> Option<&'static str> {
        None
    }
    /// Does from outside what a system call of the process would do. Returns the result of the call;
    /// `None` if the process has to make it.
    fn call_for(&self, _: SystemCall) -> Option<i64> {
        None
    }
    /// Maps the memory file that a process has open as `descriptor`; `None` if that fails.
    fn shared(&self, pid: i32, descriptor: i32, len: u64) -> Option<Shared>;
    /// Reads memory of another process than the one whose memory is open. Returns the number of
    /// bytes read.
    fn read_memory_of(&self, pid: i32, addr: LoadAddr, buffer: &mut [u8]) -> usize;
    /// Writes memory of another process than the one whose memory is open.
    fn write_memory_of(&self, pid: i32, writes: &[(LoadAddr, u8)]);
}
