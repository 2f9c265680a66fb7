//! The headers of a core file: its memory segments and its notes. Memory is read only on request.

use super::images::{CoreImage, Images};
use super::notes::{CoreThread, FilePart, Notes};
use super::unpack::CoreFile;
use crate::arch::Arch;
use crate::ids::error::Error;
use crate::ids::{SignalInfo, ThreadId};
use crate::os::linux_abi::{self, signal};
use crate::os::{Mapping, machine_name};
use dwarf::{LoadAddr, Memory, Unreadable};
use object::LittleEndian;
use object::elf::{self, FileHeader64};
use object::read::elf::{FileHeader, NoteIterator, ProgramHeader};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Maximum number of segments (`vm.max_map_count` is usually 65530).
const MAX_SEGMENTS: usize = 1 << 20;

const ENDIAN: LittleEndian = LittleEndian;

/// A part of the process's address space.
struct Segment {
    start: u64,
    /// Size in the address space, in bytes.
    size: u64,
    /// The part that the file has, from the start on.
    bytes: &'static [u8],
    readable: bool,
    executable: bool,
    writable: bool,
}

/// The contents of a core file.
pub struct Core {
    path: PathBuf,
    arch: Arch,
    /// By address.
    segments: Vec<Segment>,
    pub(super) decoded: Notes,
    pub(super) images: Images,
    /// Remarks on the file for the user.
    notes: Vec<String>,
    written: Option<SystemTime>,
}

impl Core {
    /// Reads the headers of a core file and finds the files that the process had mapped. `program`
    /// overrides the search for the program's file.
    ///
    /// # Errors
    /// The file is not a core file, or one of an architecture that is not supported.
    pub fn read(file: CoreFile, program: Option<&Path>) -> Result<Self, Error> {
        let wrong = |message: &str| Error::Core {
            path: file.path.clone(),
            message: message.to_owned(),
        };
        let (arch, header) = header(file.data).map_err(|message| wrong(&message))?;
        let cut = "truncated: its headers are incomplete (a limit on the size of core files, \
                   `ulimit -c`, or a full disk)";
        let headers = header.program_headers(ENDIAN, file.data);
        let headers = headers.map_err(|_| wrong(cut))?;
        if headers.len() > MAX_SEGMENTS {
            return Err(wrong("more segments than a process can have mappings"));
        }
        let mut core = Core {
            path: file.path.clone(),
            arch,
            segments: Vec::new(),
            decoded: Notes::default(),
            images: Images::default(),
            notes: file.notes,
            written: file.written,
        };
        // Count the bytes that should be there. Headers may be corrupt, and overlap.
        let (mut missing, mut notes_left) = (0_u64, file.data.len());
        for header in headers {
            let (offset, size) = header.file_range(ENDIAN);
            let from = usize::try_from(offset).unwrap_or(usize::MAX);
            let rest = file.data.get(from..).unwrap_or_default();
            let bytes = &rest[..rest.len().min(usize::try_from(size).unwrap_or(usize::MAX))];
            match header.p_type(ENDIAN) {
                elf::PT_LOAD => {
                    let memory = header.p_memsz(ENDIAN);
                    missing = missing.saturating_add(
                        size.min(memory) - (bytes.len() as u64).min(memory).min(size),
                    );
                    let flags = header.p_flags(ENDIAN);
                    let start = header.p_vaddr(ENDIAN);
                    core.segments.push(Segment {
                        start,
                        size: memory.min(u64::MAX - start),
                        bytes: &bytes[..bytes.len().min(memory as usize)],
                        readable: flags.contains(elf::PF_R),
                        executable: flags.contains(elf::PF_X),
                        writable: flags.contains(elf::PF_W),
                    });
                }
                elf::PT_NOTE => {
                    let bytes = &bytes[..bytes.len().min(notes_left)];
                    notes_left -= bytes.len();
                    core.decoded.read(arch, bytes, header.p_align(ENDIAN));
                }
                _ => {}
            }
        }
        core.segments.sort_by_key(|segment| segment.start);
        if core.decoded.threads.is_empty() {
            return Err(wrong(match missing {
                0 => "it records no threads",
                _ => {
                    "truncated: its thread records are missing (a limit on the size of core \
                     files, `ulimit -c`, or a full disk)"
                }
            }));
        }
        if missing > 0 {
            core.notes.push(format!(
                "{} is truncated: {missing} bytes of memory are missing and cannot be read (a \
                 limit on the size of core files, `ulimit -c`, or a full disk)\n",
                core.path.display()
            ));
        }
        let headline = core.headline();
        core.notes.insert(0, headline);
        core.images = Images::find(&core, program);
        Ok(core)
    }

    fn segment_at(&self, addr: u64) -> Option<&Segment> {
        let behind = self
            .segments
            .partition_point(|segment| segment.start <= addr);
        let segment = self.segments.get(behind.checked_sub(1)?)?;
        (addr - segment.start < segment.size).then_some(segment)
    }

    /// Returns the bytes from an address on that the core file itself has; never empty.
    pub(super) fn dumped_at(&self, addr: LoadAddr) -> Option<&'static [u8]> {
        let segment = self.segment_at(addr.0)?;
        let bytes = segment.bytes.get((addr.0 - segment.start) as usize..)?;
        (!bytes.is_empty()).then_some(bytes)
    }

    /// Returns whether an address was writable; `None` if unknown.
    pub(super) fn is_writable(&self, addr: LoadAddr) -> Option<bool> {
        self.segment_at(addr.0).map(|segment| segment.writable)
    }

    /// Returns whether an address was executable.
    pub(super) fn is_executable(&self, addr: LoadAddr) -> bool {
        self.segment_at(addr.0)
            .is_some_and(|segment| segment.executable)
    }

    /// Returns the mappings of the address space.
    pub(super) fn parts(&self) -> impl Iterator<Item = Mapping> {
        self.segments.iter().map(|segment| {
            let start = LoadAddr(segment.start);
            let file = self.file_part(start);
            Mapping {
                start,
                end: start + segment.size,
                readable: segment.readable,
                writable: segment.writable,
                executable: segment.executable,
                shared: false,
                path: file.map(|part| part.path.clone()).unwrap_or_default(),
                offset: file.map_or(0, |part| part.offset.wrapping_add(start - part.start)),
            }
        })
    }

    /// Returns the file part that contains an address.
    pub(super) fn file_part(&self, addr: LoadAddr) -> Option<&FilePart> {
        let place = super::images::place_of(&self.decoded.files, addr)?;
        self.decoded.files.get(place)
    }

    /// Returns when the file was written.
    pub(super) fn written(&self) -> Option<SystemTime> {
        self.written
    }

    /// Returns the modules whose files were found on this machine, the program first.
    pub fn images(&self) -> &[CoreImage] {
        &self.images.all
    }

    /// Returns whether the core file lists the mapped files.
    pub fn lists_files(&self) -> bool {
        !self.decoded.files.is_empty()
    }

    /// Returns the instruction set of the program.
    pub(crate) fn arch(&self) -> Arch {
        self.arch
    }

    /// Returns a value of the auxiliary vector.
    pub(super) fn auxiliary(&self, key: u64) -> Option<u64> {
        let mut pairs = self.decoded.auxiliary.iter();
        pairs
            .find(|(name, _)| *name == key)
            .map(|(_, value)| *value)
    }

    /// Returns the process id; that of the first thread if the file has none.
    pub fn pid(&self) -> i32 {
        let first = self.decoded.threads.first();
        let pid = self.decoded.pid.or(first.map(|thread| thread.id.0));
        pid.unwrap_or(1)
    }

    /// Returns the threads, the one that ended the process first.
    pub fn threads(&self) -> impl Iterator<Item = ThreadId> {
        self.decoded.threads.iter().map(|thread| thread.id)
    }

    pub(super) fn thread(&self, id: ThreadId) -> Option<&CoreThread> {
        self.decoded.threads.iter().find(|thread| thread.id == id)
    }

    /// The thread that ended the process, and the signal that it died of. A core file taken of a
    /// living process has no signal.
    pub fn ending(&self) -> Option<(ThreadId, Option<SignalInfo>)> {
        let thread = self.decoded.threads.first()?;
        Some((thread.id, self.signal()))
    }

    fn signal(&self) -> Option<SignalInfo> {
        let info = self.decoded.threads.first()?.signal?;
        // Another signal is that of a debugger's stop.
        signal::dumps_core(info.signal).then_some(info)
    }

    /// Returns remarks on the file and on the files that belong to it, for the user.
    pub fn notes(&self) -> impl Iterator<Item = &String> {
        self.notes.iter().chain(&self.images.notes)
    }

    fn headline(&self) -> String {
        let command = match self.decoded.arguments.is_empty() {
            true => &self.decoded.name,
            false => &self.decoded.arguments,
        };
        let threads = self.decoded.threads.len();
        let mut text = format!("core file of process {}", self.pid());
        // Writing to a String cannot fail.
        let _ = write!(text, ", `{command}`, with {threads} thread");
        text.push_str(match threads {
            1 => "",
            _ => "s",
        });
        text.push_str("; it can be inspected, not run\n");
        text
    }
}

impl Notes {
    fn read(&mut self, arch: Arch, bytes: &'static [u8], align: u64) {
        let Ok(mut notes) = NoteIterator::<FileHeader64<LittleEndian>>::new(ENDIAN, align, bytes)
        else {
            return;
        };
        let abi = linux_abi::of(arch);
        // Whatever follows a truncated note is lost, too.
        while let Ok(Some(note)) = notes.next() {
            self.add(abi, note.name(), note.n_type(ENDIAN).0, note.desc());
        }
    }
}

/// Returns the instruction set and the ELF header of a supported core file.
fn header(data: &'static [u8]) -> Result<(Arch, &'static FileHeader64<LittleEndian>), String> {
    let names: Vec<_> = Arch::ALL.iter().map(|arch| arch.name()).collect();
    let unsupported = |program: String| {
        let supported = names.join(" and ");
        format!("core file of a {program}; only {supported} are supported")
    };
    match data {
        [] => {
            return Err("empty: the disk was full, or the limit was 0 (`ulimit -c`)".into());
        }
        [0x7f, b'E', b'L', b'F', class, order, ..] => {
            if (*class, *order) != (2, 1) {
                return Err(unsupported("32-bit or big-endian program".into()));
            }
        }
        _ => return Err("not a core file: no ELF header".into()),
    }
    let header = FileHeader64::<LittleEndian>::parse(data)
        .map_err(|error| format!("cannot read its ELF header: {error}"))?;
    match header.e_type(ENDIAN) {
        elf::ET_CORE => {}
        elf::ET_EXEC | elf::ET_DYN => {
            return Err("not a core file but a program or library; set `program` to it".into());
        }
        other => {
            return Err(format!(
                "not a core file but an ELF file of type {}",
                other.0
            ));
        }
    }
    let machine = header.e_machine(ENDIAN).0;
    match Arch::of_elf(machine) {
        Some(arch) => Ok((arch, header)),
        None => {
            let name = machine_name(machine);
            Err(unsupported(format!("program for {name}")))
        }
    }
}

/// The memory in the core file itself, without the mapped files.
pub(super) struct Dumped<'a>(pub &'a Core);

impl Memory for Dumped<'_> {
    fn read(&self, addr: LoadAddr, buffer: &mut [u8]) -> Result<(), Unreadable> {
        match read_by(|addr| self.0.dumped_at(addr), addr, buffer) == buffer.len() {
            true => Ok(()),
            false => Err(Unreadable {
                addr,
                len: buffer.len(),
            }),
        }
    }
}

/// Fills a buffer with the bytes that `at` returns for each address. Returns how many were
/// available.
pub(super) fn read_by(
    at: impl Fn(LoadAddr) -> Option<&'static [u8]>,
    addr: LoadAddr,
    buffer: &mut [u8],
) -> usize {
    let mut done = 0;
    while done < buffer.len() {
        let here = LoadAddr(addr.0.wrapping_add(done as u64));
        let Some(bytes) = at(here).filter(|bytes| !bytes.is_empty()) else {
            break;
        };
        let count = bytes.len().min(buffer.len() - done);
        buffer[done..done + count].copy_from_slice(&bytes[..count]);
        done += count;
    }
    done
}
