//! Which mappings can be recorded, and their files.

use std::ffi::OsStr;
use std::fs::{self, File, Metadata};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// A mapping that a replay can make again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mapped {
    Anonymous,
    /// Of the file with this descriptor.
    File(i32),
    /// The same, which others see, and whose changes by others it sees.
    SharedFile(i32),
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
    let descriptor = descriptor as i32;
    match (is_shared, is_writable) {
        (true, true) => Err("it writes to a file by a shared mapping"),
        (true, false) => Ok(Mapped::SharedFile(descriptor)),
        (false, _) => Ok(Mapped::File(descriptor)),
    }
}

/// Returns whether a process has a descriptor by which it may write to a file. Cost: a look at each of its descriptors.
pub fn may_write(pid: i32, file: &Metadata) -> bool {
    let identity = |it: &Metadata| (it.dev(), it.ino());
    let descriptors = fs::read_dir(format!("/proc/{pid}/fd"));
    descriptors
        .into_iter()
        .flatten()
        .flatten()
        .any(|descriptor| {
            let found = fs::metadata(descriptor.path()).ok();
            found.as_ref().map(identity) == Some(identity(file))
                && is_open_for_writing(pid, &descriptor.file_name())
        })
}

fn is_open_for_writing(pid: i32, descriptor: &OsStr) -> bool {
    let info = Path::new("/proc").join(pid.to_string()).join("fdinfo");
    let info = fs::read_to_string(info.join(descriptor)).unwrap_or_default();
    let mut lines = info.lines();
    let flags = lines.find_map(|line| line.strip_prefix("flags:"));
    let flags = flags.and_then(|it| i32::from_str_radix(it.trim(), 8).ok());
    flags.is_some_and(|flags| flags & libc::O_ACCMODE != libc::O_RDONLY)
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
    fn files_that_a_process_writes_are_known() {
        let path = tempfile::NamedTempFile::new()
            .expect("a file")
            .into_temp_path();
        let file = fs::metadata(&path).expect("it");
        let own = std::process::id() as i32;
        let _read = File::open(&path).expect("it");
        assert!(!may_write(own, &file));
        let _written = File::options().append(true).open(&path).expect("it");
        assert!(may_write(own, &file));
    }

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
        assert_eq!(map(read, libc::MAP_SHARED), Ok(Mapped::SharedFile(3)));
        assert!(map(write, libc::MAP_SHARED).is_err());
    }
}
