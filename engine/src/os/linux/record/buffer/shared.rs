//! The memory of the buffer that the stub writes to, which the recorder has mapped, too: so it reads the words and
//! the records, and writes the table of the threads that wait, without a system call. A copy of the process, and a
//! process that it starts, gets memory of its own before it runs ([`unshare`]).

use super::super::super::injection::Injection;
use super::super::tracee::{Tracee, gone};
use super::super::{mapping, scratch};
use super::layout::{RECORDS, RECORDS_LEN, WORD_COUNT, WORDS, WRITABLE};
use super::words::Words;
use dwarf::LoadAddr;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

/// The name of the memory in the list of mappings of a program.
const NAME: &[u8] = b"stillpoint\0";
const LEN: usize = (WRITABLE.end - WRITABLE.start) as usize;

/// The memory of a recorded program, mapped here.
pub struct Shared(NonNull<AtomicU64>);

impl Shared {
    /// Maps it in a stopped program, by one of its threads, and here. `None`: its place is occupied, or the system refuses.
    ///
    /// # Errors
    /// The program has ended.
    pub fn map(program: &Tracee, process: &OwnedFd) -> io::Result<Option<Shared>> {
        let failed = |error| io::Error::other(format!("{error}"));
        program.write(scratch::ROOM, NAME)?;
        let mut injection =
            Injection::begin(program.thread(), LoadAddr(scratch::CALL)).map_err(failed)?;
        let mut call = |number, arguments| injection.call(number, arguments).map_err(failed);
        let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
        let created = call(
            libc::SYS_memfd_create,
            [scratch::ROOM, flags.into(), 0, 0, 0, 0],
        )?;
        let Ok(descriptor) = created.ok() else {
            injection.finish();
            return Ok(None);
        };
        let shared = mapping::file(process, descriptor as i32).and_then(|file| {
            let is_ready = file.set_len(LEN as u64).and_then(|()| seal(&file));
            is_ready.and_then(|()| Shared::of(&file)).ok()
        });
        let access = (libc::PROT_READ | libc::PROT_WRITE) as u64;
        let flags = (libc::MAP_SHARED | libc::MAP_FIXED_NOREPLACE) as u64;
        let arguments = [
            WRITABLE.start,
            LEN as u64,
            access,
            flags,
            descriptor as u64,
            0,
        ];
        let is_mapped = match &shared {
            Some(_) => call(libc::SYS_mmap, arguments)?.value as u64 == WRITABLE.start,
            None => false,
        };
        call(libc::SYS_close, [descriptor as u64, 0, 0, 0, 0, 0])?;
        injection.finish();
        Ok(shared.filter(|_| is_mapped))
    }

    /// Maps a file of this length here.
    fn of(file: &File) -> io::Result<Shared> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let none = std::ptr::null_mut();
        // SAFETY: a new mapping, of a file that keeps its length, at a place that the kernel chooses.
        let at = unsafe { libc::mmap(none, LEN, access, libc::MAP_SHARED, file.as_raw_fd(), 0) };
        match at == libc::MAP_FAILED {
            true => Err(io::Error::last_os_error()),
            false => NonNull::new(at.cast()).map(Shared).ok_or_else(gone),
        }
    }

    /// Returns the word at an address of the program.
    fn at(&self, addr: u64) -> &AtomicU64 {
        let offset = addr.wrapping_sub(WRITABLE.start) as usize;
        assert!(
            offset < LEN && offset.is_multiple_of(8),
            "a word of the buffer"
        );
        // SAFETY: within the mapping, which lives as long as this, aligned to words, and always accessed
        // atomically here: the program may write to it at any time.
        unsafe { self.0.add(offset / 8).as_ref() }
    }

    pub fn get(&self, addr: u64) -> u64 {
        self.at(addr).load(Ordering::Acquire)
    }

    pub fn set(&self, addr: u64, value: u64) {
        self.at(addr).store(value, Ordering::Release);
    }

    /// Returns the words; `None`: the program has written to them.
    pub fn words(&self) -> Option<Words> {
        let mut words = [0; WORD_COUNT];
        for (addr, word) in (WORDS..).step_by(8).zip(&mut words) {
            *word = self.get(addr);
        }
        Words::of(words)
    }

    /// Returns the first bytes of the records; all of them if they are fewer.
    pub fn records(&self, len: u64) -> Box<[u8]> {
        let len = len.min(RECORDS_LEN);
        let mut bytes = Vec::with_capacity(len as usize);
        for addr in (RECORDS..RECORDS + len).step_by(8) {
            bytes.extend(self.get(addr).to_le_bytes());
        }
        bytes.truncate(len as usize);
        bytes.into_boxed_slice()
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: the mapping of `of`, to which nothing refers any more.
        unsafe { libc::munmap(self.0.as_ptr().cast(), LEN) };
    }
}

/// Makes it impossible to shorten a file: the recorder would get SIGBUS.
fn seal(file: &File) -> io::Result<()> {
    let seals = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;
    // SAFETY: integers only.
    match unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, seals) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Gives a stopped copy of a recorded process memory of its own in place of what it shares with the recorder, with
/// the same contents. The process must be stopped if it is still recorded. Cost: about 30 µs.
///
/// # Errors
/// The copy has ended, or the system has no memory left.
pub fn unshare(copy: &Tracee) -> io::Result<()> {
    let used = Words::read(copy).and_then(|words| words.used().ok());
    let len = (RECORDS - WRITABLE.start) + used.unwrap_or(0);
    let contents = copy.read(WRITABLE.start, len as usize);
    let access = (libc::PROT_READ | libc::PROT_WRITE) as u64;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED | libc::MAP_NORESERVE;
    let arguments = [
        WRITABLE.start,
        LEN as u64,
        access,
        flags as u64,
        u64::MAX,
        0,
    ];
    let [result] = copy.inject([(libc::SYS_mmap, arguments)])?;
    if result as u64 != WRITABLE.start {
        return Err(io::Error::other(
            "a copy has no memory of its own for records",
        ));
    }
    copy.write(WRITABLE.start, &contents)
}

const _: () = assert!(WRITABLE.start.is_multiple_of(4096) && LEN.is_multiple_of(4096));
const _: () = assert!(WORDS.is_multiple_of(8) && RECORDS.is_multiple_of(8));
