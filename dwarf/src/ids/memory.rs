//! The interface that unwinder and evaluator read a process's memory through.

use crate::ids::addr::LoadAddr;

/// Memory that could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot read {len} bytes of memory at {addr}")]
pub struct Unreadable {
    /// First address of the attempted read.
    pub addr: LoadAddr,
    /// Length of the attempted read, in bytes.
    pub len: usize,
}

/// A process's memory as the program itself sees it (without breakpoint bytes).
pub trait Memory {
    /// Fills `buffer` from `addr` on, completely or not at all.
    fn read(&self, addr: LoadAddr, buffer: &mut [u8]) -> Result<(), Unreadable>;

    /// Reads a little-endian unsigned integer of `size` bytes (at most 8).
    fn read_uint(&self, addr: LoadAddr, size: usize) -> Result<u64, Unreadable> {
        let mut bytes = [0; 8];
        let size = size.min(8);
        self.read(addr, &mut bytes[..size])?;
        Ok(u64::from_le_bytes(bytes))
    }
}
