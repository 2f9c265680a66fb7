//! The notes of a core file: threads with their registers, mapped files, the signal (core(5); the
//! structures are those of the kernel's `fs/binfmt_elf.c` for 64-bit little-endian programs). They
//! are read by offset: this machine may be another one.

use super::super::RegisterSet;
use super::super::linux_abi::{LinuxAbi, signal};
use crate::ids::{Signal, SignalInfo, ThreadId};
use dwarf::LoadAddr;
use smallvec::SmallVec;
use std::collections::HashSet;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

const NT_PRSTATUS: u32 = 1;
const NT_FPREGSET: u32 = 2;
const NT_PRPSINFO: u32 = 3;
const NT_AUXV: u32 = 6;
/// "SIGI"
const NT_SIGINFO: u32 = 0x5349_4749;
/// "FILE"
const NT_FILE: u32 = 0x4649_4c45;

/// Offset of the registers in `struct elf_prstatus`.
const REGISTERS: usize = 112;

/// The sizes of pages that processors have.
const SMALLEST_PAGE: u64 = 1 << 12;
pub const LARGEST_PAGE: u64 = 1 << 16;

/// Maximum number of threads and of mapped files; more is corrupt.
const MAX_ENTRIES: usize = 1 << 20;

/// A thread at the end of the process.
pub struct CoreThread {
    pub id: ThreadId,
    pub registers: RegisterSet,
    /// The registers of NT_FPREGSET: vectors, perhaps without those of a newer processor.
    pub vectors: Option<&'static [u8]>,
    /// All extended registers, if the architecture has a further note for them.
    pub extended: Option<&'static [u8]>,
    /// Further sets of them, by the types of their notes.
    pub further: SmallVec<[(u32, &'static [u8]); 2]>,
    /// The signal that it received or was about to receive.
    pub signal: Option<SignalInfo>,
}

impl CoreThread {
    /// Returns the area of extended registers if it has those of further sets.
    pub fn joined(&self, abi: &LinuxAbi) -> Option<Vec<u8>> {
        let set = abi.extended.as_ref()?;
        let known = [(set.note, self.extended), (NT_FPREGSET, self.vectors)];
        (set.join)(&|kind| {
            let further = self.further.iter().find(|it| it.0 == kind);
            let known = known.iter().find(|it| it.0 == kind).and_then(|it| it.1);
            further.map(|it| it.1).or(known)
        })
    }
}

/// A part of a file that was mapped.
#[derive(PartialEq, Eq, Debug)]
pub struct FilePart {
    pub start: LoadAddr,
    pub end: LoadAddr,
    /// Offset in the file.
    pub offset: u64,
    pub path: PathBuf,
}

/// The decoded notes of a core file.
#[derive(Default)]
pub struct Notes {
    /// All threads; the one that ended the process comes first.
    pub threads: Vec<CoreThread>,
    pub files: Vec<FilePart>,
    /// Size of a page, if there are files.
    pub page_bytes: u64,
    pub auxiliary: Vec<(u64, u64)>,
    pub pid: Option<i32>,
    /// The process's name, cut to 15 bytes by the kernel.
    pub name: String,
    /// Its command line, cut to 79 bytes by the kernel.
    pub arguments: String,
    seen: HashSet<ThreadId>,
    last_given: i32,
}

impl Notes {
    /// Decodes one note of a program of this architecture.
    pub fn add(&mut self, abi: &'static LinuxAbi, name: &[u8], kind: u32, bytes: &'static [u8]) {
        match (name, kind) {
            (b"CORE", NT_PRSTATUS) => self.add_thread(abi, bytes),
            (b"CORE", NT_PRPSINFO) => self.add_process(bytes),
            (b"CORE", NT_AUXV) => {
                let pairs = bytes.chunks_exact(16).take(MAX_ENTRIES);
                let pairs = pairs.filter_map(|pair| Some((u64_at(pair, 0)?, u64_at(pair, 8)?)));
                self.auxiliary = pairs.collect();
            }
            (b"CORE", NT_FILE) => {
                self.files = files(bytes).unwrap_or_default();
                // Other programs than the kernel write 1.
                let unit = u64_at(bytes, 8).filter(|unit| unit.is_power_of_two());
                self.page_bytes = unit.unwrap_or(0).clamp(SMALLEST_PAGE, LARGEST_PAGE);
            }
            // The notes that follow a thread's NT_PRSTATUS belong to that thread.
            (b"CORE" | b"LINUX", _) => {
                let Some(thread) = self.threads.last_mut() else {
                    return;
                };
                match kind {
                    NT_FPREGSET => thread.vectors = Some(bytes),
                    NT_SIGINFO => {
                        let info = signal::decode_info(bytes);
                        thread.signal = info.filter(|info| info.signal.0 != 0).or(thread.signal);
                    }
                    _ if let Some(set) = &abi.extended
                        && kind == set.note =>
                    {
                        thread.extended = Some(bytes).filter(|bytes| (set.is_used)(bytes));
                    }
                    _ if let Some(set) = &abi.extended
                        && set.further.contains(&kind) =>
                    {
                        thread.further.retain(|it| it.0 != kind);
                        thread.further.push((kind, bytes));
                    }
                    _ => {
                        for separate in abi.separate.iter().filter(|it| it.note == kind) {
                            if let Some(value) = u64_at(bytes, separate.offset) {
                                thread.registers.set(separate.register, value);
                            }
                        }
                    }
                }
            }
            _ => {}
        }
    }

    /// Decodes `struct elf_prstatus`.
    fn add_thread(&mut self, abi: &'static LinuxAbi, bytes: &'static [u8]) {
        let read = || {
            let registers = RegisterSet::from_bytes(&abi.registers, bytes.get(REGISTERS..)?)?;
            let signal = i16::from_le_bytes(bytes.get(12..14)?.try_into().ok()?);
            Some((registers, signal, i32_at(bytes, 32)?))
        };
        let Some((registers, signal, id)) = read().filter(|_| self.threads.len() < MAX_ENTRIES)
        else {
            return;
        };
        // A thread with an invalid or duplicate id gets another one, so that it can be selected.
        let mut id = ThreadId(id);
        while id.0 <= 0 || !self.seen.insert(id) {
            self.last_given += 1;
            id = ThreadId(self.last_given);
        }
        self.threads.push(CoreThread {
            id,
            registers,
            vectors: None,
            extended: None,
            further: SmallVec::new(),
            signal: (signal != 0).then_some(SignalInfo {
                signal: Signal(signal.into()),
                code: 0,
                address: None,
                sender: None,
            }),
        });
    }

    /// Decodes `struct elf_prpsinfo`.
    fn add_process(&mut self, bytes: &[u8]) {
        self.pid = i32_at(bytes, 24).filter(|pid| *pid > 0);
        let text = |from: usize, to: usize| {
            let bytes = bytes.get(from..to).unwrap_or_default();
            let end = bytes.iter().position(|byte| *byte == 0);
            let text = String::from_utf8_lossy(&bytes[..end.unwrap_or(bytes.len())]);
            text.trim().to_owned()
        };
        self.name = text(40, 56);
        self.arguments = text(56, 136);
    }
}

/// Decodes an NT_FILE note: count, unit of offsets, (start, end, offset) of each file, and then the
/// names.
fn files(bytes: &[u8]) -> Option<Vec<FilePart>> {
    let count = usize::try_from(u64_at(bytes, 0)?).ok()?;
    let unit = u64_at(bytes, 8)?;
    let (places, names) = bytes.get(16..)?.split_at_checked(count.checked_mul(24)?)?;
    let names = names.split(|byte| *byte == 0);
    let parts = places.chunks_exact(24).zip(names).take(MAX_ENTRIES);
    let mut parts: Vec<FilePart> = parts
        .filter_map(|(place, name)| {
            Some(FilePart {
                start: LoadAddr(u64_at(place, 0)?),
                end: LoadAddr(u64_at(place, 8)?),
                offset: u64_at(place, 16)?.checked_mul(unit)?,
                path: PathBuf::from(OsString::from_vec(name.to_vec())),
            })
        })
        .filter(|part| part.start < part.end)
        .collect();
    parts.sort_by_key(|part| part.start);
    Some(parts)
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    let bytes = bytes.get(at..at + 8)?;
    Some(u64::from_le_bytes(bytes.try_into().ok()?))
}

fn i32_at(bytes: &[u8], at: usize) -> Option<i32> {
    let bytes = bytes.get(at..at + 4)?;
    Some(i32::from_le_bytes(bytes.try_into().ok()?))
}
