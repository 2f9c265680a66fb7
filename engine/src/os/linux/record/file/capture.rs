//! Images of stopped processes.

use super::super::super::{procfs, ptrace};
use super::super::buffer;
use super::super::log::State;
use super::super::signals;
use super::super::threads::copied::Copied;
use super::super::tracee::{Tracee, gone};
use super::format::{SaveError, Writer};
use super::image::{Image, Layout, MOST_PAGES, MOST_THREADS, Mapped, MappedOf};
use super::kept::Files;
use super::pages::{PAGE, PageWriter, Run, add_to, is_zero};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

/// Pages that are read at once.
const PORTION: usize = 256;
/// A mapping that is larger takes too long to look through: 1 TiB.
const MOST_MAPPED: u64 = 1 << 40;

/// Where images go.
pub struct Store {
    pub writer: Writer,
    pub pages: PageWriter,
    pub files: Files,
}

/// How a page is there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum PageKind {
    /// As in the file, or not at all.
    Unchanged,
    /// As a page of the process alone.
    Own,
}

/// A line of `/proc/PID/maps`.
struct Line {
    mapped: Mapped,
    is_shared: bool,
    offset: u64,
    inode: u64,
    path: OsString,
}

/// Makes an image of a stopped process, which is to have no patches of the debugger: of the state of this thread,
/// and these threads. `next`: the index of the next event. Cost: its memory is read, and hashed.
///
/// # Errors
/// The process is gone, or the file would become too large.
pub fn capture(
    tracee: &Tracee,
    (threads, next): (Vec<Copied>, usize),
    store: &mut Store,
) -> Result<Image, SaveError> {
    let registers = tracee.registers()?;
    let extended = signals::state_of(tracee, registers);
    let mask = ptrace::blocked_signals(tracee.thread())?;
    let layout = layout(tracee)?;
    let maps = std::fs::read(format!("/proc/{}/maps", tracee.pid))?;
    let lines = maps.split(|byte| *byte == b'\n').filter_map(parse);
    let mut mappings = Vec::new();
    let mut pages = Vec::new();
    let pagemap = File::open(format!("/proc/{}/pagemap", tracee.pid))?;
    for line in lines {
        let Some(mapped) = of_line(&line, &mut store.files)? else {
            continue;
        };
        if let MappedOf::File(..) = mapped.of {
            keep_named(&line, store)?;
        }
        // The kernel's pages of the vdso are in no file.
        let pagemap = (line.path.as_bytes() != VDSO).then_some(&pagemap);
        add_pages((tracee, pagemap), &mapped, store, &mut pages)?;
        mappings.push(mapped);
    }
    store.pages.flush(&mut store.writer)?;
    let image = Image {
        next,
        mappings,
        pages,
        layout,
        thread: State {
            // A thread whose call was interrupted is placed before the call.
            registers: registers.at_event(),
            ..extended
        },
        mask,
        threads,
    };
    let why = match () {
        () if image.is_possible() => return Ok(image),
        () if image.page_count() > MOST_PAGES => "it uses more than 16 GiB",
        () if image.threads.len() > MOST_THREADS => "it has more than 4096 threads",
        () => "the state of a thread is not known",
    };
    Err(SaveError::Other(why.to_owned()))
}

/// Parses a line of `/proc/PID/maps`.
fn parse(line: &[u8]) -> Option<Line> {
    let mut fields = line.splitn(6, |byte| *byte == b' ');
    let mut text = || std::str::from_utf8(fields.next()?).ok();
    let (start, end) = text()?.split_once('-')?;
    let flags = text()?.as_bytes();
    let offset = u64::from_str_radix(text()?, 16).ok()?;
    let _device = text()?;
    let inode = text()?.parse().ok()?;
    let path = fields.next().unwrap_or_default().trim_ascii_start();
    let has = |at: usize, flag: u8| flags.get(at) == Some(&flag);
    let access = [
        (has(0, b'r'), libc::PROT_READ),
        (has(1, b'w'), libc::PROT_WRITE),
        (has(2, b'x'), libc::PROT_EXEC),
    ];
    let set = access.into_iter().filter(|it| it.0);
    Some(Line {
        mapped: Mapped {
            start: u64::from_str_radix(start, 16).ok()?,
            end: u64::from_str_radix(end, 16).ok()?,
            access: set.fold(0, |all, (_, bit)| all | bit),
            of: MappedOf::Anonymous,
        },
        is_shared: has(3, b's'),
        offset,
        inode,
        path: OsStr::from_bytes(path).to_owned(),
    })
}

/// A file in memory that has no name: what a program shares with the debugger, for its log messages and tracepoints.
/// A program that writes to other memory that it shares is not recorded.
const SHARED_WITH_DEBUGGER: &[u8] = b"/memfd: (deleted)";

const VDSO: &[u8] = b"[vdso]";

/// Returns the mapping of a line; `None`: it is the kernel's own, or the debugger's.
fn of_line(line: &Line, files: &mut Files) -> Result<Option<Mapped>, SaveError> {
    let mapped = line.mapped;
    if mapped.end.saturating_sub(mapped.start) > MOST_MAPPED {
        let why = format!(
            "it maps {} TiB in one piece",
            (mapped.end - mapped.start) >> 40
        );
        return Err(SaveError::Other(why));
    }
    let of = match line.path.as_bytes() {
        // A program that is recorded from a stop on calls what the recorder has put there.
        VDSO => MappedOf::Anonymous,
        b"[vvar]" | b"[vvar_vclock]" | b"[vsyscall]" | b"[uprobes]" => return Ok(None),
        SHARED_WITH_DEBUGGER if line.is_shared && mapped.access & libc::PROT_WRITE != 0 => {
            return Ok(None);
        }
        b"[stack]" => MappedOf::Stack,
        [b'/', ..] if line.is_shared && mapped.access & libc::PROT_WRITE != 0 => {
            let why = format!("it writes to {} by a shared mapping", line.path.display());
            return Err(SaveError::Other(why));
        }
        [b'/', ..] => MappedOf::File(files.index(line.path.clone(), line.inode), line.offset),
        _ => MappedOf::Anonymous,
    };
    Ok(Some(Mapped { of, ..mapped }))
}

/// Adds what is mapped of a file if its name still leads to it. Pages that the process has changed are known by
/// it only.
fn keep_named(line: &Line, store: &mut Store) -> Result<(), SaveError> {
    let Store {
        writer,
        pages,
        files,
    } = store;
    let file = dwarf::open_regular(Path::new(&line.path)).ok();
    let is_it = |file: &File| file.metadata().is_ok_and(|it| it.ino() == line.inode);
    if let Some(file) = file.filter(is_it) {
        let len = line.mapped.end - line.mapped.start;
        let range = line.offset..line.offset.saturating_add(len);
        files.add_range(&file, line.path.clone(), range, (pages, writer))?;
    }
    Ok(())
}

/// Adds the pages of a mapping: those of the process to `runs`, those of a file to the file. Without `pagemap` all are
/// those of the process.
fn add_pages(
    (tracee, pagemap): (&Tracee, Option<&File>),
    mapped: &Mapped,
    store: &mut Store,
    runs: &mut Vec<Run>,
) -> Result<(), SaveError> {
    let Store {
        writer,
        pages,
        files,
    } = store;
    let mut bytes = vec![0; PAGE * PORTION];
    let mut at = mapped.start;
    while at < mapped.end {
        let count = PORTION.min(((mapped.end - at) as usize).div_ceil(PAGE));
        let kinds = match pagemap {
            Some(pagemap) => kinds(pagemap, at, count)?,
            None => vec![PageKind::Own; count],
        };
        let is_wanted = |nth: usize, files: &Files| match (mapped.of, kinds[nth]) {
            _ if buffer::is_record(at + (nth * PAGE) as u64) => false,
            (_, PageKind::Own) => true,
            (MappedOf::File(file, offset), PageKind::Unchanged) => {
                let offset = offset + (at - mapped.start) + (nth * PAGE) as u64;
                !files.has(file, offset)
            }
            (_, PageKind::Unchanged) => false,
        };
        if !(0..count).any(|nth| is_wanted(nth, files)) {
            at += (PAGE * count) as u64;
            continue;
        }
        // What is behind the end of a file cannot be read.
        let read = tracee.read_into(at, &mut bytes[..PAGE * count]);
        for (nth, page) in bytes[..read].chunks(PAGE).enumerate() {
            if !is_wanted(nth, files) {
                continue;
            }
            let addr = at + (nth * PAGE) as u64;
            match (mapped.of, kinds[nth]) {
                (MappedOf::File(file, offset), PageKind::Unchanged) => {
                    let offset = offset + (addr - mapped.start);
                    files.add(file, offset, page, (pages, writer))?;
                }
                // Other memory has zeros where it has no page.
                (MappedOf::Anonymous | MappedOf::Stack, _) if is_zero(page) => {}
                (of, _) => {
                    if let MappedOf::File(file, offset) = of {
                        // Memory behind its end could not be written to.
                        files.reach(file, offset + (addr - mapped.start) + page.len() as u64);
                    }
                    add_to(runs, addr, pages.add(page, writer)?);
                }
            }
        }
        at += (PAGE * count) as u64;
    }
    Ok(())
}

/// Returns how pages are there.
fn kinds(pagemap: &File, at: u64, count: usize) -> io::Result<Vec<PageKind>> {
    const PRESENT: u64 = 1 << 63;
    const SWAPPED: u64 = 1 << 62;
    const OF_FILE: u64 = 1 << 61;
    let mut entries = vec![0; 8 * count];
    pagemap.read_exact_at(&mut entries, at / PAGE as u64 * 8)?;
    let kinds = entries.chunks_exact(8).map(|entry| {
        let entry = entry.try_into().map_or(0, u64::from_le_bytes);
        match entry & OF_FILE == 0 && entry & (PRESENT | SWAPPED) != 0 {
            true => PageKind::Own,
            false => PageKind::Unchanged,
        }
    });
    Ok(kinds.collect())
}

/// Reads what the kernel knows of the memory of a stopped process.
fn layout(tracee: &Tracee) -> Result<Layout, SaveError> {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", tracee.pid))?;
    // The fields behind the name, which may contain anything.
    let fields: Vec<&str> = stat
        .rsplit_once(')')
        .map_or("", |it| it.1)
        .split_ascii_whitespace()
        .collect();
    // The numbers are those of proc(5).
    let field = |number: usize| {
        let field = fields.get(number - 3).and_then(|it| it.parse::<u64>().ok());
        field.ok_or_else(|| SaveError::Io(gone()))
    };
    let pair = |first: usize| Ok::<_, SaveError>([field(first)?, field(first + 1)?]);
    let [end_of_heap] = tracee.inject([(libc::SYS_brk, [0; 6])])?;
    Ok(Layout {
        code: pair(26)?,
        stack: field(28)?,
        data: pair(45)?,
        heap: [field(47)?, end_of_heap as u64],
        arguments: pair(48)?,
        environment: pair(50)?,
        auxiliary: std::fs::read(format!("/proc/{}/auxv", tracee.pid))?,
        name: std::fs::read(format!("/proc/{}/comm", tracee.pid))?,
        stack_limit: stack_limit(tracee.pid)?,
    })
}

fn stack_limit(pid: i32) -> io::Result<u64> {
    let mut limit = libc::rlimit64 {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the kernel writes to a live structure.
    let ok = unsafe {
        libc::prlimit64(
            pid,
            libc::RLIMIT_STACK,
            std::ptr::null(),
            std::ptr::from_mut(&mut limit),
        )
    };
    match ok {
        0 => Ok(limit.rlim_cur),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Returns the program that a process runs, its arguments and its environment.
pub fn command_of(pid: i32) -> (OsString, Vec<OsString>, Vec<OsString>) {
    let program = procfs::executable(pid).map(|file| file.path.into_os_string());
    let strings = |name: &str| {
        let bytes = std::fs::read(format!("/proc/{pid}/{name}")).unwrap_or_default();
        let bytes = bytes.strip_suffix(b"\0").unwrap_or(&bytes);
        let all = bytes
            .split(|byte| *byte == 0)
            .map(|it| OsStr::from_bytes(it).to_owned());
        all.filter(|it| !it.is_empty()).collect()
    };
    (
        program.unwrap_or_default(),
        strings("cmdline"),
        strings("environ"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_maps_are_parsed() {
        let line = b"7f00-7f20 r-xp 00001000 fd:00 1234      /a file with blanks (deleted)";
        let line = parse(line).expect("a mapping");
        assert_eq!((line.mapped.start, line.mapped.end), (0x7f00, 0x7f20));
        assert_eq!(line.mapped.access, libc::PROT_READ | libc::PROT_EXEC);
        assert_eq!(
            (line.offset, line.inode, line.is_shared),
            (0x1000, 1234, false)
        );
        assert_eq!(line.path, "/a file with blanks (deleted)");
        let line = parse(b"10-20 rw-s 00000000 00:01 5 ").expect("a mapping");
        assert!(line.is_shared && line.path.is_empty());
        assert!(parse(b"").is_none());
    }

    #[test]
    fn what_belongs_to_the_kernel_is_left_out() {
        let mut files = Files::default();
        let mut of = |text: &[u8]| {
            let line = parse(text).expect("a mapping");
            of_line(&line, &mut files)
        };
        let none = of(b"7f00-7f20 r--p 00000000 00:00 0      [vvar]");
        assert!(none.expect("no error").is_none());
        let code = of(b"7f00-7f20 r-xp 00000000 00:00 0      [vdso]");
        let code = code.expect("no error").expect("a mapping");
        assert_eq!(code.of, MappedOf::Anonymous);
        let stack = of(b"7f00-7f20 rw-p 00000000 00:00 0      [stack]");
        let stack = stack.expect("no error").expect("a mapping");
        assert_eq!(stack.of, MappedOf::Stack);
        let file = of(b"7f00-7f20 r--p 00002000 00:00 7      /lib");
        let file = file.expect("no error").expect("a mapping");
        assert_eq!(file.of, MappedOf::File(0, 0x2000));
        assert!(of(b"7f00-7f20 rw-s 00002000 00:00 7      /lib").is_err());
    }
}
