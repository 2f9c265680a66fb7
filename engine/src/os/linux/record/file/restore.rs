//! Processes from images. This program is executed once more and stopped before its first instruction; then
//! its memory is replaced by that of the image.

use super::super::super::injection::{Injection, InjectionError};
use super::super::super::{ptrace, stop_wait};
use super::super::tracee::Tracee;
use super::super::{scratch, signals, start};
use super::format::OpenError;
use super::image::{Image, Layout, Mapped, MappedOf};
use super::pages::PageReader;
use crate::ids::{Launch, StdioTarget};
use dwarf::LoadAddr;
use std::fs::File;
use std::ops::Range;
use std::os::fd::AsRawFd;

/// The end of the addresses that a program has by default.
const MEMORY_END: u64 = 0x7fff_ffff_f000;
/// The memory of the recorder by which the process is changed.
const OWN: Range<u64> = scratch::PAGE..scratch::PAGE + scratch::LEN;

/// `struct prctl_mm_map`, as 64-bit words.
const LAYOUT_WORDS: usize = 13;
const PR_SET_MM: u64 = 35;
const PR_SET_MM_MAP: u64 = 14;

/// The length of the name of a process.
const MOST_NAME: usize = 15;

/// A process that is killed unless it is complete.
struct Unfinished(Option<Tracee>);

impl Drop for Unfinished {
    fn drop(&mut self) {
        if let Some(tracee) = &self.0 {
            // SAFETY: integers only; the process is not collected yet.
            unsafe { libc::kill(tracee.pid, libc::SIGKILL) };
            stop_wait::collect(tracee.pid);
        }
    }
}

/// Makes a stopped process of an image. `files`: those of the recording, in memory.
///
/// # Errors
/// The image is damaged, or the system refuses it.
pub fn build(image: &Image, files: &[File], pages: &PageReader) -> Result<Tracee, OpenError> {
    let launch = Launch {
        program: "/proc/self/exe".into(),
        args: Vec::new(),
        cwd: "/".into(),
        env: Vec::new(),
        stdio: [const { StdioTarget::Null }; 3],
        disable_aslr: true,
        record: true,
        chaos: None,
    };
    let tracee = start::start(&launch).map_err(|error| OpenError::Io(error.to_string()))?;
    let mut unfinished = Unfinished(Some(tracee));
    if let Some(tracee) = &unfinished.0 {
        fill(tracee, image, files, pages)?;
    }
    let tracee = unfinished.0.take();
    tracee.ok_or_else(|| OpenError::Io("the process has ended".to_owned()))
}

fn fill(
    tracee: &Tracee,
    image: &Image,
    files: &[File],
    pages: &PageReader,
) -> Result<(), OpenError> {
    let thread = tracee.thread();
    let own = signals::state_of(tracee, tracee.registers()?)
        .extended
        .len();
    if own != image.thread.extended.len() {
        return Err(OpenError::Machine(format!(
            "the kernel it was recorded on keeps {} bytes of extended registers, and this one {own}; use a \
             machine of the same kind",
            image.thread.extended.len()
        )));
    }
    let gone = |error: InjectionError| OpenError::Io(error.to_string());
    let mut calls = Injection::begin(thread, LoadAddr(scratch::CALL)).map_err(gone)?;
    let mut call = |number: libc::c_long, arguments: [u64; 6]| {
        let result = calls.call(number, arguments).map_err(gone)?;
        Ok::<u64, OpenError>(result.ok()? as u64)
    };
    call(libc::SYS_setsid, [0; 6])?;
    call(libc::SYS_close_range, [0, u64::from(u32::MAX), 0, 0, 0, 0])?;
    for range in [0..OWN.start, OWN.end..MEMORY_END] {
        let len = range.end - range.start;
        call(libc::SYS_munmap, [range.start, len, 0, 0, 0, 0])?;
    }
    let mut open = None;
    for mapped in &image.mappings {
        let descriptor = match mapped.of {
            MappedOf::Anonymous | MappedOf::Stack => None,
            MappedOf::File(index, _) => match open {
                Some((known, descriptor)) if known == index => Some(descriptor),
                _ => {
                    if let Some((_, before)) = open.take() {
                        call(libc::SYS_close, [before, 0, 0, 0, 0, 0])?;
                    }
                    let file = files.get(index).ok_or(OpenError::Damaged("a mapping"))?;
                    let path = format!("/proc/{}/fd/{}\0", std::process::id(), file.as_raw_fd());
                    tracee.write(scratch::ROOM, path.as_bytes())?;
                    let access = (libc::O_RDONLY | libc::O_CLOEXEC) as u64;
                    let descriptor = call(libc::SYS_open, [scratch::ROOM, access, 0, 0, 0, 0])?;
                    open = Some((index, descriptor));
                    Some(descriptor)
                }
            },
        };
        for piece in without_own(mapped) {
            let at = call(libc::SYS_mmap, to_map(&piece, descriptor))?;
            if at != piece.start {
                return Err(OpenError::Damaged("a mapping"));
            }
        }
    }
    if let Some((_, descriptor)) = open {
        call(libc::SYS_close, [descriptor, 0, 0, 0, 0, 0])?;
    }
    set_layout(tracee, &image.layout, &mut call)?;
    let mut name = image.layout.name.trim_ascii_end().to_vec();
    name.truncate(MOST_NAME);
    name.push(0);
    tracee.write(scratch::ROOM, &name)?;
    let set_name = libc::PR_SET_NAME as u64;
    call(libc::SYS_prctl, [set_name, scratch::ROOM, 0, 0, 0, 0])?;
    calls.finish();
    tracee.write(scratch::ROOM, &vec![0; (OWN.end - scratch::ROOM) as usize])?;
    set_stack_limit(tracee.pid, image.layout.stack_limit);
    for run in &image.pages {
        pages.read(run, |addr, bytes| {
            let written = tracee.write(addr, bytes);
            written.map_err(|_| OpenError::Damaged("a page outside of all mappings"))
        })?;
    }
    signals::restore(thread, &image.thread);
    ptrace::set_blocked_signals(thread, image.mask)?;
    Ok(())
}

/// Returns the parts of a mapping outside of the recorder's memory, which is there.
fn without_own(mapped: &Mapped) -> impl Iterator<Item = Mapped> {
    let before = Mapped {
        end: mapped.end.min(OWN.start),
        ..*mapped
    };
    let start = mapped.start.max(OWN.end);
    let behind = Mapped {
        start,
        of: match mapped.of {
            MappedOf::File(index, offset) => {
                MappedOf::File(index, offset.saturating_add(start - mapped.start))
            }
            of => of,
        },
        ..*mapped
    };
    let pieces = [before, behind].into_iter();
    pieces.filter(|piece| piece.start < piece.end)
}

/// Returns the arguments of mmap(2).
fn to_map(mapped: &Mapped, descriptor: Option<u64>) -> [u64; 6] {
    let flags = libc::MAP_PRIVATE | libc::MAP_FIXED | libc::MAP_NORESERVE;
    let flags = match mapped.of {
        MappedOf::Anonymous => flags | libc::MAP_ANONYMOUS,
        MappedOf::Stack => flags | libc::MAP_ANONYMOUS | libc::MAP_GROWSDOWN | libc::MAP_STACK,
        MappedOf::File(..) => flags,
    };
    let offset = match mapped.of {
        MappedOf::File(_, offset) => offset,
        MappedOf::Anonymous | MappedOf::Stack => 0,
    };
    [
        mapped.start,
        mapped.end - mapped.start,
        mapped.access as u64,
        flags as u64,
        descriptor.unwrap_or(u64::MAX),
        offset,
    ]
}

/// Tells the kernel where the heap and the stack are, and the auxiliary vector.
fn set_layout(
    tracee: &Tracee,
    layout: &Layout,
    call: &mut impl FnMut(libc::c_long, [u64; 6]) -> Result<u64, OpenError>,
) -> Result<(), OpenError> {
    const SIZE: u64 = 8 * LAYOUT_WORDS as u64;
    const VECTOR: u64 = scratch::ROOM + SIZE;
    let len = layout.auxiliary.len();
    if VECTOR + len as u64 > OWN.end {
        return Err(OpenError::Damaged("the auxiliary vector"));
    }
    let words: [u64; LAYOUT_WORDS] = [
        layout.code[0],
        layout.code[1],
        layout.data[0],
        layout.data[1],
        layout.heap[0],
        layout.heap[1],
        layout.stack,
        layout.arguments[0],
        layout.arguments[1],
        layout.environment[0],
        layout.environment[1],
        VECTOR,
        // Its length, and no executable.
        len as u64 | u64::from(u32::MAX) << 32,
    ];
    let bytes: Vec<u8> = words.into_iter().flat_map(u64::to_le_bytes).collect();
    tracee.write(scratch::ROOM, &bytes)?;
    tracee.write(VECTOR, &layout.auxiliary)?;
    let arguments = [PR_SET_MM, PR_SET_MM_MAP, scratch::ROOM, SIZE, 0, 0];
    call(libc::SYS_prctl, arguments).map_err(|error| {
        let what = "the kernel does not restore the program's heap (CONFIG_CHECKPOINT_RESTORE)";
        OpenError::Machine(format!("{what}: {error}"))
    })?;
    Ok(())
}

/// Lets the stack of a process grow as far as it could, if that is allowed.
fn set_stack_limit(pid: i32, soft: u64) {
    let mut limit = libc::rlimit64 {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: both structures are live.
    unsafe {
        let read = libc::prlimit64(
            pid,
            libc::RLIMIT_STACK,
            std::ptr::null(),
            std::ptr::from_mut(&mut limit),
        );
        if read == 0 {
            limit.rlim_cur = soft.min(limit.rlim_max);
            let limit = std::ptr::from_ref(&limit);
            libc::prlimit64(pid, libc::RLIMIT_STACK, limit, std::ptr::null_mut());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_of_the_recorder_stays() {
        let mapped = |start, end| Mapped {
            start,
            end,
            access: 0,
            of: MappedOf::File(1, 0x5000),
        };
        let pieces = |start, end| {
            let whole = mapped(start, end);
            let pieces = without_own(&whole);
            let pieces = pieces.map(|it| (it.start, it.end, it.of));
            pieces.collect::<Vec<_>>()
        };
        let of = |offset| MappedOf::File(1, offset);
        let (start, end) = (OWN.start, OWN.end);
        assert_eq!(pieces(start, end), []);
        assert_eq!(pieces(0x1000, 0x3000), [(0x1000, 0x3000, of(0x5000))]);
        assert_eq!(
            pieces(start - 0x1000, end + 0x1000),
            [
                (start - 0x1000, start, of(0x5000)),
                (end, end + 0x1000, of(0x5000 + 0x1000 + OWN.end - OWN.start))
            ]
        );
        assert_eq!(pieces(end, end + 0x1000), [(end, end + 0x1000, of(0x5000))]);
    }
}
