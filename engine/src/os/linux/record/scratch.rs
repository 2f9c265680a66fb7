//! The page of the recorder in each recorded program: a system call instruction that the filter lets
//! pass, and room for its arguments.

/// Its address: below what programs and libraries are mapped to.
pub const PAGE: u64 = 0x7000_0000;
/// Its size in bytes.
pub const LEN: u64 = 0x2000;
/// The address of the system call instruction.
pub const CALL: u64 = PAGE;
/// The address of the room for arguments.
pub const ROOM: u64 = PAGE + 0x1000;
/// `syscall; int3`
pub const CODE: [u8; 3] = [0x0f, 0x05, 0xcc];
