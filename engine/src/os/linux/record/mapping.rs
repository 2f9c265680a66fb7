//! Which mappings can be recorded, and their files.

use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// A mapping that a replay can make again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mapped {
    Anonymous,
    /// Of the file with this descriptor.
    File(i32),
}

/// How advice about memory is recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Advice {
    /// The kernel does not get it.
    Answer(i64),
    /// It changes no contents.
    Log,
    /// It changes contents.
    Repeat,
}

const MAP_TYPE: u64 = 0xf;

/// Returns what mmap(2) with these arguments maps.
///
/// # Errors
/// Why it ends a recording.
pub fn of(arguments: &[u64; 6]) -> Result<Mapped, &'static str> {
    let [_, _, access, flags, descriptor, _] = *arguments;
    let is_shared = flags & MAP_TYPE != libc::MAP_PRIVATE as u64;
    let is_writable = access & libc::PROT_WRITE as u64 != 0;
    if flags & libc::MAP_ANONYMOUS as u64 != 0 {
        return match is_shared {
            true => Err("it shares memory with the processes that it starts"),
            false => Ok(Mapped::Anonymous),
        };
    }
    match is_shared && is_writable {
        true => Err("it writes to a file by a shared mapping"),
        false => Ok(Mapped::File(descriptor as i32)),
    }
}

/// Returns how madvise(2) with this advice is recorded. Memory must not be missing in a copy of the
/// process, and must not change when the kernel needs some.
pub fn advice(advice: u64) -> Advice {
    match advice as i32 {
        libc::MADV_WIPEONFORK => Advice::Answer(-i64::from(libc::EINVAL)),
        libc::MADV_DONTFORK | libc::MADV_DOFORK | libc::MADV_FREE => Advice::Answer(0),
        // MADV_DONTNEED_LOCKED
        libc::MADV_DONTNEED | libc::MADV_REMOVE | 24 => Advice::Repeat,
        _ => Advice::Log,
    }
}

/// Returns a file of a process that has it open; `None`: it has not.
pub fn file(process: &OwnedFd, descriptor: i32) -> Option<File> {
    // SAFETY: integers only; the descriptor is new and has no other owner.
    unsafe {
        let process = process.as_raw_fd();
        let own = libc::syscall(libc::SYS_pidfd_getfd, process, descriptor, 0);
        (own >= 0).then(|| File::from(OwnedFd::from_raw_fd(own as i32)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_private_memory_can_be_mapped_again() {
        let map = |access: i32, flags: i32| of(&[0, 4096, access as u64, flags as u64, 3, 0]);
        let (read, write) = (libc::PROT_READ, libc::PROT_READ | libc::PROT_WRITE);
        let anonymous = libc::MAP_ANONYMOUS;
        assert_eq!(
            map(write, libc::MAP_PRIVATE | anonymous),
            Ok(Mapped::Anonymous)
        );
        assert!(map(write, libc::MAP_SHARED | anonymous).is_err());
        assert!(map(read, libc::MAP_SHARED_VALIDATE | anonymous).is_err());
        assert_eq!(map(write, libc::MAP_PRIVATE), Ok(Mapped::File(3)));
        assert_eq!(map(read, libc::MAP_SHARED), Ok(Mapped::File(3)));
        assert!(map(write, libc::MAP_SHARED).is_err());
    }
}
