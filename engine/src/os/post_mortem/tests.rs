//! Handmade core files: reading them, and robustness against corrupt bytes.

use super::{Core, CoreFile, PostMortem};
use crate::arch::Arch;
use crate::ids::error::Error;
use crate::ids::{Signal, ThreadId};
use crate::os::fake::Fake;
use crate::os::{AddressSpace, Backend, ExtendedPart, Processes, ThreadState, linux_abi};
use dwarf::LoadAddr;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

const PT_LOAD: u32 = 1;
const PT_NOTE: u32 = 4;
const R: u32 = 4;
const RW: u32 = 6;
const RX: u32 = 5;

/// Builds a core file.
#[derive(Default)]
struct Writer {
    arch: Arch,
    notes: Vec<u8>,
    /// Address, size in the address space, flags, bytes in the file.
    segments: Vec<(u64, u64, u32, Vec<u8>)>,
}

impl Writer {
    fn note(mut self, name: &str, kind: u32, bytes: &[u8]) -> Self {
        let padded = |bytes: &[u8]| {
            let mut bytes = bytes.to_vec();
            bytes.resize(bytes.len().next_multiple_of(4), 0);
            bytes
        };
        let name = [name.as_bytes(), b"\0"].concat();
        for word in [name.len() as u32, bytes.len() as u32, kind] {
            self.notes.extend(word.to_le_bytes());
        }
        self.notes.extend(padded(&name));
        self.notes.extend(padded(bytes));
        self
    }

    /// Adds a thread whose register number n in the kernel's order has the value 0x100 + n.
    fn thread(self, id: i32, signal: i16) -> Self {
        let len = linux_abi::of(self.arch).registers.bytes();
        let mut status = vec![0; 112 + len + 8];
        status[12..14].copy_from_slice(&signal.to_le_bytes());
        status[32..36].copy_from_slice(&id.to_le_bytes());
        for register in 0..len as u64 / 8 {
            let at = 112 + register as usize * 8;
            status[at..at + 8].copy_from_slice(&(0x100 + register).to_le_bytes());
        }
        self.note("CORE", 1, &status)
    }

    fn process(self, pid: i32, name: &str, arguments: &str) -> Self {
        let mut info = vec![0; 136];
        info[24..28].copy_from_slice(&pid.to_le_bytes());
        info[40..40 + name.len()].copy_from_slice(name.as_bytes());
        info[56..56 + arguments.len()].copy_from_slice(arguments.as_bytes());
        self.note("CORE", 3, &info)
    }

    /// Adds a fault at an address.
    fn fault(self, signal: i32, address: u64) -> Self {
        let mut info = vec![0; 128];
        info[..4].copy_from_slice(&signal.to_le_bytes());
        info[8..12].copy_from_slice(&1_i32.to_le_bytes());
        info[16..24].copy_from_slice(&address.to_le_bytes());
        self.note("CORE", 0x5349_4749, &info)
    }

    fn auxiliary(self, pairs: &[(u64, u64)]) -> Self {
        let words = pairs.iter().flat_map(|(key, value)| [*key, *value]);
        let bytes: Vec<u8> = words.flat_map(u64::to_le_bytes).collect();
        self.note("CORE", 6, &bytes)
    }

    /// Adds parts of files: first address, first address after it, page in the file.
    fn files(self, parts: &[(u64, u64, u64, &Path)]) -> Self {
        self.files_in_pages(4096, parts)
    }

    fn files_in_pages(self, page: u64, parts: &[(u64, u64, u64, &Path)]) -> Self {
        let mut bytes = Vec::new();
        let words = parts.iter().flat_map(|part| [part.0, part.1, part.2]);
        for word in [parts.len() as u64, page].into_iter().chain(words) {
            bytes.extend(word.to_le_bytes());
        }
        for (.., path) in parts {
            bytes.extend(path.as_os_str().as_encoded_bytes());
            bytes.push(0);
        }
        self.note("CORE", 0x4649_4c45, &bytes)
    }

    fn memory(mut self, addr: u64, size: u64, flags: u32, bytes: &[u8]) -> Self {
        self.segments.push((addr, size, flags, bytes.to_vec()));
        self
    }

    fn bytes(&self) -> Vec<u8> {
        let count = self.segments.len() as u16 + 1;
        let mut file = vec![0x7f, b'E', b'L', b'F', 2, 1, 1, 0];
        file.resize(16, 0);
        let machine = match self.arch {
            Arch::X86_64 => 62_u16,
            Arch::Aarch64 => 183,
            Arch::Fixed => 0xfeed,
        };
        // ET_CORE, the machine, version.
        file.extend([4, 0]);
        file.extend(machine.to_le_bytes());
        file.extend([1, 0, 0, 0]);
        for word in [0_u64, 64, 0] {
            file.extend(word.to_le_bytes());
        }
        file.extend(0_u32.to_le_bytes());
        for half in [64, 56, count, 64, 0, 0] {
            file.extend(half.to_le_bytes());
        }
        let mut offset = 64 + u64::from(count) * 56;
        let mut header = |kind: u32, flags: u32, addr: u64, len: usize, size: u64| {
            file.extend(kind.to_le_bytes());
            file.extend(flags.to_le_bytes());
            for word in [offset, addr, 0, len as u64, size, 4] {
                file.extend(word.to_le_bytes());
            }
            offset += len as u64;
        };
        header(PT_NOTE, 0, 0, self.notes.len(), 0);
        for (addr, size, flags, bytes) in &self.segments {
            header(PT_LOAD, *flags, *addr, bytes.len(), *size);
        }
        file.extend(&self.notes);
        for (.., bytes) in &self.segments {
            file.extend(bytes);
        }
        file
    }

    fn read(&self) -> Result<Core, Error> {
        read(self.bytes())
    }

    fn open(&self) -> PostMortem {
        post_mortem(self.read().unwrap())
    }
}

fn post_mortem(core: Core) -> PostMortem {
    PostMortem::new(core, Box::new(Fake::default()))
}

/// The low halves of a thread's vector registers.
fn vectors(process: &PostMortem, thread: ThreadId) -> Option<Vec<u128>> {
    let part = process.extended_reader(thread, ExtendedPart::Vectors);
    Arch::X86_64.vectors(&part.read()?)
}

/// All of a thread's extended registers.
fn extended(process: &PostMortem, thread: ThreadId) -> Option<Vec<u8>> {
    let all = process.extended_reader(thread, ExtendedPart::All).read()?;
    Some(all.to_vec())
}

fn read(bytes: Vec<u8>) -> Result<Core, Error> {
    let file = CoreFile {
        path: PathBuf::from("core"),
        data: bytes.leak(),
        notes: Vec::new(),
        written: None,
    };
    Core::read(file, None)
}

fn report(core: &Core) -> String {
    core.notes().map(String::as_str).collect()
}

#[test]
fn threads_registers_and_the_signal() {
    let writer = Writer {
        arch: Arch::X86_64,
        ..Writer::default()
    };
    let process = writer
        .thread(12, 11)
        .process(10, "worker", "./worker --fast")
        .fault(11, 0xdead)
        .thread(10, 0);
    let process = process.open();
    let core = process.core().unwrap();
    assert_eq!(core.pid(), 10);
    let threads: Vec<ThreadId> = core.threads().collect();
    assert_eq!(threads, [ThreadId(12), ThreadId(10)]);
    assert_eq!(process.thread_name(10, ThreadId(10)), "worker");
    assert_eq!(process.thread_name(10, ThreadId(12)), "");
    assert!(report(core).contains("`./worker --fast`, with 2 threads"));
    let Some((ThreadId(12), Some(info))) = core.ending() else {
        panic!("{:?}", core.ending());
    };
    assert_eq!(info.signal, Signal(11));
    assert_eq!(info.address, Some(LoadAddr(0xdead)));
    let registers = process.registers(ThreadId(12)).unwrap();
    // rip and rsp are numbers 16 and 19 in the kernel's order.
    assert_eq!(registers.pc(), LoadAddr(0x110));
    assert_eq!(registers.sp(), 0x113);
}

#[test]
fn core_of_another_architecture_is_read_by_its_own_layout() {
    let writer = Writer {
        arch: Arch::Fixed,
        ..Writer::default()
    };
    let process = writer
        .thread(12, 11)
        .process(10, "worker", "./worker")
        .note("CORE", 2, &[5; 528])
        // A note of x86-64, which this architecture does not have.
        .note("LINUX", 0x202, &[7; 600])
        .fault(11, 0xdead)
        .auxiliary(&[(9, 0x4000)])
        .memory(0x1000, 0x1000, RW, &[1; 0x1000])
        .open();
    assert_eq!(process.core().unwrap().arch(), Arch::Fixed);
    let thread = ThreadId(12);
    let registers = process.registers(thread).unwrap();
    assert_eq!(registers.arch(), Arch::Fixed);
    assert_eq!(registers.get(dwarf::Register(15)), Some(0x10f));
    assert_eq!(registers.sp(), 0x111);
    assert_eq!(registers.pc(), LoadAddr(0x112));
    assert_eq!(registers.to_registers().get(dwarf::Register(16)), None);
    assert_eq!(extended(&process, thread), Some(vec![5; 528]));
    assert_eq!(process.auxiliary(10, 9), Some(0x4000));
    let Some((_, Some(info))) = process.core().unwrap().ending() else {
        panic!("no signal");
    };
    assert_eq!(info.address, Some(LoadAddr(0xdead)));
    assert_eq!(process.read_memory(LoadAddr(0x1800), &mut [0; 4]), 4);
}

#[test]
fn core_of_aarch64_is_read_on_any_host() {
    use dwarf::register::aarch64::{PC, PSTATE, SIGNATURE_MASK, TPIDR};
    let writer = || Writer {
        arch: Arch::Aarch64,
        ..Writer::default()
    };
    let mut vectors = vec![0; 528];
    vectors[16] = 9;
    let masks = [0x007f_0000_0000_0000_u64, 0x0070_0000_0000_0000];
    let masks: Vec<u8> = masks.iter().flat_map(|mask| mask.to_le_bytes()).collect();
    // The signal that ended the process, FP/SIMD registers, `NT_ARM_TLS` and `NT_ARM_PAC_MASK`.
    let process = writer()
        .thread(12, 11)
        .note("CORE", 2, &vectors)
        .note("LINUX", 0x401, &0x7000_u64.to_le_bytes())
        .note("LINUX", 0x406, &masks)
        .open();
    let thread = ThreadId(12);
    let registers = process.registers(thread).unwrap();
    assert_eq!(registers.arch(), Arch::Aarch64);
    assert_eq!(registers.sp(), 0x11f);
    let all = registers.to_registers();
    let known = [dwarf::Register(30), PC, PSTATE, TPIDR].map(|register| all.get(register));
    assert_eq!(known, [0x11e, 0x120, 0x121, 0x7000].map(Some));
    assert_eq!(Arch::Aarch64.thread_pointer(&all), Some(0x7000));
    assert_eq!(all.get(SIGNATURE_MASK), Some(0x0070_0000_0000_0000));
    let area = extended(&process, thread).unwrap();
    assert_eq!(Arch::Aarch64.vectors(&area).unwrap()[1], 9);
    // Without a thread pointer.
    let process = writer().thread(12, 11).open();
    let all = process.registers(thread).unwrap().to_registers();
    assert_eq!(Arch::Aarch64.thread_pointer(&all), None);
}

#[test]
fn matrices_of_aarch64_are_read_on_any_host() {
    const ARCH: Arch = Arch::Aarch64;
    let writer = Writer {
        arch: ARCH,
        ..Writer::default()
    };
    let mut header = [0_u8; 16];
    (header[8], header[12]) = (16, 1);
    let streaming = [&header[..], &[3; 32 * 16 + 34 + 30]].concat();
    header[12] = 0;
    let matrix = [&header[..], &[4; 16 * 16]].concat();
    // Of the first thread streaming mode and the matrix are in use, of the second nothing.
    let process = writer
        .thread(12, 11)
        .note("CORE", 2, &[1; 528])
        .note("LINUX", 0x405, &header)
        .note("LINUX", 0x40b, &streaming)
        .note("LINUX", 0x40c, &matrix)
        .thread(13, 0)
        .note("CORE", 2, &[1; 528])
        .note("LINUX", 0x40b, &header)
        .note("LINUX", 0x40c, &header)
        .open();
    let area = extended(&process, ThreadId(12)).unwrap();
    let value = |name: &str| {
        let register = ARCH.extended_register_named(name).unwrap();
        ARCH.extended_register(register, &area).unwrap().to_vec()
    };
    assert_eq!(value("svcr"), 3_u64.to_le_bytes());
    assert_eq!(value("z31"), [3; 16]);
    assert_eq!(value("za0hb15"), [4; 16]);
    assert_eq!(extended(&process, ThreadId(13)), Some(vec![1; 528]));
}

#[test]
fn unsupported_machines_are_named() {
    let mut bytes = Writer::default().thread(1, 11).bytes();
    let message = |bytes: &[u8]| read(bytes.to_vec()).err().unwrap().to_string();
    bytes[18] = 243;
    let text = message(&bytes);
    assert!(
        text.contains("core file of a program for riscv; only x86-64"),
        "{text}"
    );
    bytes[5] = 2;
    let text = message(&bytes);
    assert!(
        text.contains("32-bit or big-endian program; only x86-64"),
        "{text}"
    );
}

#[test]
fn vectors_are_the_threads_own() {
    let mut area = vec![0_u8; 576 + 256];
    area[160 + 16] = 7;
    // AVX state is enabled (XCR0) and in use (XSTATE_BV).
    (area[464], area[512]) = (7, 7);
    area[576 + 32] = 9;
    let writer = Writer {
        arch: Arch::X86_64,
        ..Writer::default()
    };
    let process = writer
        .thread(1, 11)
        .note("CORE", 2, &area[..512])
        .note("LINUX", 0x202, &area)
        .thread(2, 0)
        .open();
    let (first, second) = (ThreadId(1), ThreadId(2));
    assert_eq!(vectors(&process, first).unwrap()[1], 7);
    assert_eq!(extended(&process, first).unwrap()[576 + 32], 9);
    assert_eq!(vectors(&process, second), None);
}

#[test]
fn every_thread_has_a_number_of_its_own() {
    let core = Writer::default().thread(0, 6).thread(5, 0).thread(5, 0);
    let core = core.thread(-3, 0).thread(1, 0).read().unwrap();
    let mut threads: Vec<i32> = core.threads().map(|thread| thread.0).collect();
    threads.sort_unstable();
    threads.dedup();
    assert_eq!(threads.len(), 5);
    assert!(threads[0] > 0);
}

#[test]
fn core_of_a_living_process_has_no_reason() {
    let core = Writer::default().thread(1, 19).read().unwrap();
    let ending = core.ending();
    assert!(matches!(ending, Some((_, None))), "{ending:?}");
}

#[test]
fn memory_is_read_from_the_file() {
    let process = Writer::default()
        .thread(1, 11)
        .memory(0x3000, 0x2000, RW, &[3; 0x1000])
        .memory(0x1000, 0x1000, RW, &[1; 0x1000])
        .memory(0x2000, 0x1000, RW, &[2; 0x1000])
        .open();
    let read = |addr: u64, len: usize| {
        let mut buffer = vec![0; len];
        let count = process.read_memory(LoadAddr(addr), &mut buffer);
        buffer.truncate(count);
        buffer
    };
    assert_eq!(read(0x1fff, 3), [1, 2, 2]);
    assert_eq!(read(0x3ffe, 8), [3, 3], "the rest was left out");
    assert_eq!(read(0xfff, 2), [0; 0]);
    assert_eq!(read(u64::MAX, 2), [0; 0]);
    assert_eq!(process.write_memory_partly(LoadAddr(0x1000), &[0]), 0);
    let core = process.core().unwrap();
    assert_eq!(core.is_writable(LoadAddr(0x4fff)), Some(true));
    assert_eq!(core.is_writable(LoadAddr(0x5000)), None);
}

/// Builds a core file of a process that had this test's executable mapped from 0x10000000 on; the
/// first page is in the core file, as `change` leaves it.
fn with_ourselves(change: impl Fn(&mut Vec<u8>)) -> (Writer, Vec<u8>) {
    const START: u64 = 0x1000_0000;
    let path = std::env::current_exe().unwrap();
    let file = fs::read(&path).unwrap();
    let module = dwarf::Module::open(&path).unwrap();
    let entry = START + module.entry().0;
    let end = START + file.len().next_multiple_of(4096) as u64;
    let mut first = file[..4096].to_vec();
    change(&mut first);
    let writer = Writer::default()
        .thread(1, 11)
        .process(1, "test", "test")
        .auxiliary(&[(9, entry)])
        .files(&[(START, end, 0, &path)])
        .memory(START, 4096, R, &first)
        .memory(START + 4096, end - START - 4096, RX, &[]);
    (writer, file)
}

#[test]
fn pages_that_were_left_out_come_from_the_same_build() {
    let (writer, file) = with_ourselves(|_| {});
    let process = writer.open();
    let core = process.core().unwrap();
    assert!(core.images()[0].is_program, "{}", report(core));
    let mut buffer = [0; 64];
    assert_eq!(process.read_memory(LoadAddr(0x1000_1800), &mut buffer), 64);
    assert_eq!(buffer, file[0x1800..0x1840]);
    let mapping = &process.mappings(1)[1];
    assert!(mapping.executable && mapping.offset == 4096);
    assert_eq!(mapping.path, std::env::current_exe().unwrap());
}

/// Pages of 64 KiB.
#[test]
fn files_that_were_mapped_end_with_their_page() {
    const PAGE: u64 = 1 << 16;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("text");
    fs::write(&path, "hello").unwrap();
    let process = Writer::default()
        .thread(1, 11)
        .files_in_pages(PAGE, &[(PAGE, 3 * PAGE, 0, &path)])
        .memory(PAGE, 2 * PAGE, R, &[]);
    let file = CoreFile {
        path: PathBuf::from("core"),
        data: process.bytes().leak(),
        notes: Vec::new(),
        written: fs::metadata(&path).unwrap().modified().ok(),
    };
    let process = post_mortem(Core::read(file, None).unwrap());
    let mut buffer = [1; 8];
    assert_eq!(process.read_memory(LoadAddr(PAGE + 0x5000), &mut buffer), 8);
    assert_eq!(buffer, [0; 8]);
    assert_eq!(process.read_memory(LoadAddr(2 * PAGE - 4), &mut buffer), 4);
}

#[test]
fn files_that_were_mapped_end_in_zeros() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("text");
    fs::write(&path, "hello").unwrap();
    let writer = Writer::default()
        .thread(1, 11)
        .files(&[(0x5000, 0x7000, 0, &path)])
        .memory(0x5000, 0x2000, R, &[]);
    let open = |written| {
        let file = CoreFile {
            path: PathBuf::from("core"),
            data: writer.bytes().leak(),
            notes: Vec::new(),
            written: Some(written),
        };
        post_mortem(Core::read(file, None).unwrap())
    };
    let changed = fs::metadata(&path).unwrap().modified().unwrap();
    let mut buffer = [1; 8];
    let process = open(changed);
    assert_eq!(process.read_memory(LoadAddr(0x5001), &mut buffer), 8);
    assert_eq!(&buffer, b"ello\0\0\0\0");
    // The page after the end of the file is not accessible.
    assert_eq!(process.read_memory(LoadAddr(0x5ffc), &mut buffer), 4);
    // A file changed since is not what was mapped.
    let process = open(changed - std::time::Duration::from_secs(1));
    assert_eq!(process.read_memory(LoadAddr(0x5001), &mut buffer), 0);
}

#[test]
fn nothing_comes_from_another_build() {
    let id = dwarf::Module::open(&std::env::current_exe().unwrap()).unwrap();
    let id = id.build_id().expect("linkers give one").to_vec();
    let (writer, _) = with_ourselves(|page| {
        let place = page.windows(id.len()).position(|bytes| bytes == id);
        page[place.expect("in the first page")] ^= 1;
    });
    let process = writer.open();
    let core = process.core().unwrap();
    assert!(core.images().is_empty());
    assert!(
        report(core).contains("is not the build in the core file"),
        "{}",
        report(core)
    );
    let mut buffer = [0; 64];
    assert_eq!(process.read_memory(LoadAddr(0x1000_1800), &mut buffer), 0);
}

#[test]
fn truncation_is_counted() {
    let writer = Writer::default()
        .thread(1, 11)
        .memory(0x1000, 0x1000, RW, &[1; 0x1000])
        .memory(0x2000, 0x1000, RW, &[2; 0x1000]);
    let mut bytes = writer.bytes();
    bytes.truncate(bytes.len() - 0x1800);
    let core = read(bytes).unwrap();
    assert!(report(&core).contains("6144 bytes of memory are missing"));
    assert_eq!(core.dumped_at(LoadAddr(0x17ff)), Some(&[1][..]));
    assert_eq!(core.dumped_at(LoadAddr(0x1800)), None);
}

/// Reads everything in a core file.
fn look(core: Core) {
    let process = post_mortem(core);
    let core = process.core().unwrap();
    let _ = (report(core), core.ending(), core.images().len());
    for thread in core.threads().take(16) {
        let _ = process.registers(thread).map(|set| set.to_registers());
        let _ = (vectors(&process, thread), extended(&process, thread));
    }
    let mut buffer = [0; 5000];
    for mapping in process.mappings(1) {
        for addr in [mapping.start.0, mapping.end.0.wrapping_sub(8)] {
            process.read_memory(LoadAddr(addr), &mut buffer);
        }
    }
    for addr in [0, 0x1000_1000, u64::MAX - 100] {
        process.read_memory(LoadAddr(addr), &mut buffer);
    }
}

#[test]
fn corrupt_bytes_are_harmless() {
    let path = std::env::current_exe().unwrap();
    let whole = Writer::default()
        .thread(12, 11)
        .process(12, "worker", "worker")
        .fault(11, 0x10)
        .auxiliary(&[(9, 0x1000_0040), (7, 0x2000_0000), (33, 0x3000)])
        .files(&[
            (0x1000_0000, 0x1000_2000, 0, &path),
            (0x2000_0000, 0x2000_1000, 0, Path::new("/etc/passwd")),
        ])
        .note("CORE", 2, &[0; 512])
        .memory(0x1000_0000, 0x1000, R, &fs::read(&path).unwrap()[..0x400])
        .memory(0x1000_1000, 0x1000, RX, &[])
        .memory(0x2000_0000, 0x1000, R, &[])
        .memory(0x3000, 0x100, RW, &[0x7f; 0x100])
        .bytes();
    look(read(whole.clone()).unwrap());
    for len in (0..whole.len()).step_by(7) {
        if let Ok(core) = read(whole[..len].to_vec()) {
            look(core);
        }
    }
    for place in 0..whole.len() {
        // Registers may have any value.
        for value in [0, 0xff, whole[place] ^ 1] {
            let mut bytes = whole.clone();
            bytes[place] = value;
            if let Ok(core) = read(bytes) {
                look(core);
            }
        }
    }
}

#[test]
fn corrupt_compressed_bytes_are_harmless() {
    let plain: Vec<u8> = (0..6000_u32).map(|at| (at * at / 7) as u8).collect();
    let zstd = ruzstd::encoding::compress_to_vec(
        plain.as_slice(),
        ruzstd::encoding::CompressionLevel::Fastest,
    );
    let mut lz4 = lz4_flex::frame::FrameEncoder::new(Vec::new());
    lz4.write_all(&plain).unwrap();
    let lz4 = lz4.finish().unwrap();
    let unpack = |bytes: Vec<u8>| {
        let file = CoreFile {
            path: PathBuf::from("core"),
            data: bytes.leak(),
            notes: Vec::new(),
            written: None,
        };
        file.unpack(&|_, _| true)
    };
    for packed in [zstd, lz4] {
        assert_eq!(unpack(packed.clone()).unwrap().data, plain);
        // The magic number decides whether the file is compressed at all.
        for place in (4..64).chain((64..packed.len()).step_by(61)) {
            for value in [0, 0xff, packed[place] ^ 1] {
                let mut bytes = packed.clone();
                bytes[place] = value;
                let _ = unpack(bytes);
            }
        }
        for len in (4..packed.len()).step_by(97) {
            let cut = unpack(packed[..len].to_vec());
            assert!(cut.is_err() || !cut.unwrap().notes.is_empty(), "{len}");
        }
    }
}
