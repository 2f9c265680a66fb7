//! Executes the stub in this process: by a jump and a slot as in a recorded program, at the same
//! addresses. There is no filter here, so the instruction of a slot makes its call, too.

mod futex;

use super::super::scratch;
use super::jump;
use super::layout::{self, RECORDS, TABLE, WRITABLE, word, word_at};
use super::listed;
use super::segments::Record;
use super::stub::{self, Entry};
use super::zones::Zones;
use std::io::Write;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::sync::{LazyLock, Mutex, MutexGuard};

/// The code that makes system calls: a call, `cmp $-4096,%rax`, `ret`.
const SITE: u64 = 0x9000_0000;
const CODE: [u8; 9] = [0x0f, 5, 0x48, 0x3d, 0, 0xf0, 0xff, 0xff, 0xc3];
const ZONE: Range<u64> = 0x7ff0_0000..0x8010_0000;
/// Where the stub returns to.
const NEXT: u64 = SITE + 2;
const CARRY: u64 = 1;

/// Registers before or after the code at the site. After it, r11 is that of the system call.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Registers {
    rax: u64,
    rdi: u64,
    rsi: u64,
    rdx: u64,
    r10: u64,
    r8: u64,
    r9: u64,
    rbx: u64,
    rbp: u64,
    r12: u64,
    rcx: u64,
    r11: u64,
    /// Below the stack pointer, where a leaf function may have variables.
    red_zone: u64,
}

// The first argument is the address of the registers, and the second that of the site. The carry flag
// is set when the site is called.
std::arch::global_asm!(
    r#"
    .text
    .globl stillpoint_call_site
stillpoint_call_site:
    push rbx
    push rbp
    push r12
    push r13
    push r15
    mov r13, rdi
    mov r15, rsi
    mov rax, [r13 + 96]
    mov [rsp - 64], rax
    mov rax, [r13]
    mov rsi, [r13 + 16]
    mov rdx, [r13 + 24]
    mov r10, [r13 + 32]
    mov r8, [r13 + 40]
    mov r9, [r13 + 48]
    mov rbx, [r13 + 56]
    mov rbp, [r13 + 64]
    mov r12, [r13 + 72]
    mov rdi, [r13 + 8]
    stc
    call r15
    mov [r13], rax
    mov [r13 + 8], rdi
    mov [r13 + 16], rsi
    mov [r13 + 24], rdx
    mov [r13 + 32], r10
    mov [r13 + 40], r8
    mov [r13 + 48], r9
    mov [r13 + 56], rbx
    mov [r13 + 64], rbp
    mov [r13 + 72], r12
    mov [r13 + 80], rcx
    mov [r13 + 88], r11
    mov rax, [rsp - 64]
    mov [r13 + 96], rax
    pop r15
    pop r13
    pop r12
    pop rbp
    pop rbx
    ret
    "#
);

unsafe extern "C" {
    fn stillpoint_call_site(registers: *mut Registers, site: u64);
}

/// The buffer, mapped in this process. It is one for all threads.
struct Mapped(());

static MAPPED: LazyLock<Mutex<Mapped>> = LazyLock::new(|| {
    let all = scratch::PAGE..WRITABLE.end;
    for range in [all, ZONE, SITE..SITE + 4096, layout::FREE] {
        let access = libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE;
        let (start, len) = (range.start as *mut libc::c_void, range.end - range.start);
        // SAFETY: the kernel maps nothing over what is there.
        let mapped = unsafe { libc::mmap(start, len as usize, access, flags, -1, 0) };
        assert_eq!(mapped, start, "{range:x?} is free");
    }
    let mapped = Mapped(());
    mapped.write(layout::STUB, stub::code());
    mapped.write(TABLE, &listed::table());
    mapped.write(SITE, &CODE);
    let mut zones = Zones::default();
    zones.add(ZONE);
    zones.add_entries();
    for (at, bytes) in jump::plan(SITE, &CODE, &mut zones).expect("a jump") {
        mapped.write(at, &bytes);
    }
    Mutex::new(mapped)
});

impl Mapped {
    fn with(entry: Entry) -> MutexGuard<'static, Mapped> {
        let mapped = MAPPED.lock().unwrap_or_else(|poison| poison.into_inner());
        mapped.set(word::ENTRY, entry.addr());
        mapped.set(word::NEXT, RECORDS);
        mapped.set(word::END, RECORDS);
        mapped
    }

    fn write(&self, at: u64, bytes: &[u8]) {
        // SAFETY: the tests write to what was mapped above, one at a time.
        unsafe { std::ptr::copy(bytes.as_ptr(), at as *mut u8, bytes.len()) };
    }

    fn set(&self, index: usize, value: u64) {
        self.write(word_at(index), &value.to_le_bytes());
    }

    fn word(&self, index: usize) -> u64 {
        // SAFETY: it is mapped, and aligned.
        unsafe { (word_at(index) as *const u64).read_volatile() }
    }

    fn records(&self) -> Vec<u8> {
        let len = self.word(word::NEXT) - RECORDS;
        // SAFETY: it is mapped up to there.
        unsafe { std::slice::from_raw_parts(RECORDS as *const u8, len as usize) }.to_vec()
    }

    /// Executes the code at the site for a system call.
    fn call(&self, number: libc::c_long, arguments: [u64; 6]) -> Registers {
        let [rdi, rsi, rdx, r10, r8, r9] = arguments;
        let before = Registers {
            rax: number as u64,
            rdi,
            rsi,
            rdx,
            r10,
            r8,
            r9,
            rbx: 0x1111_2222_3333_4444,
            rbp: 0x5555_6666_7777_8888,
            r12: 0x9999_aaaa_bbbb_cccc,
            rcx: 0,
            r11: 0,
            red_zone: 0xdddd_eeee_ffff_0000,
        };
        let mut after = before;
        // SAFETY: the calls of the tests write to their own buffers only, and the code preserves what C
        // functions preserve.
        unsafe { stillpoint_call_site(&raw mut after, SITE) };
        let kept = Registers {
            rax: after.rax,
            rcx: after.rcx,
            r11: after.r11,
            ..before
        };
        assert_eq!(after, kept, "as a system call leaves them");
        assert!(after.r11 & CARRY != 0, "the flags");
        after
    }
}

fn of(bytes: &mut [u8]) -> u64 {
    bytes.as_mut_ptr() as u64
}

#[test]
fn call_without_output_is_recorded() {
    let mapped = Mapped::with(Entry::Record);
    let after = mapped.call(libc::SYS_getppid, [7, 8, 9, 10, 11, 12]);
    assert_eq!(after.rax, u64::from(std::os::unix::process::parent_id()));
    assert_eq!(after.rcx, NEXT);
    let records = mapped.records();
    let record = Record::first(&records).expect("a record");
    assert_eq!(i64::from(record.number), libc::SYS_getppid);
    assert_eq!(record.result, after.rax as i64);
    assert_eq!((record.output, record.len), (&[][..], records.len()));
}

#[test]
fn replay_gives_back_what_was_read_without_the_kernel() {
    let mapped = Mapped::with(Entry::Record);
    let mut file = tempfile::tempfile().expect("a file");
    file.write_all(b"thirteen text").expect("a write");
    let number = file.as_raw_fd() as u64;
    let mut buffer = [0xa5; 32];
    let place = of(&mut buffer);
    let arguments = [number, place, 32, 0, 0, 0];
    let recorded = mapped.call(libc::SYS_pread64, arguments);
    let failed = mapped.call(libc::SYS_pread64, [number, place, 8, u64::MAX, 0, 0]);
    assert_eq!(recorded.rax, 13);
    assert_eq!(failed.rax as i64, -i64::from(libc::EINVAL));
    let records = mapped.records();
    let first = Record::first(&records).expect("a record");
    assert_eq!(first.output, b"thirteen text");

    drop(file);
    buffer.fill(0xa5);
    mapped.set(word::ENTRY, Entry::Replay.addr());
    mapped.set(word::NEXT, RECORDS);
    mapped.set(word::END, RECORDS + records.len() as u64);
    let replayed = mapped.call(libc::SYS_pread64, arguments);
    assert_eq!(replayed, recorded);
    assert_eq!(&buffer[..13], b"thirteen text");
    assert!(buffer[13..].iter().all(|byte| *byte == 0xa5), "no more");
    let again = mapped.call(libc::SYS_pread64, [number, place, 8, u64::MAX, 0, 0]);
    assert_eq!(again, failed);
    assert_eq!(mapped.word(word::NEXT), mapped.word(word::END));
}

#[test]
fn replay_without_a_fitting_record_leaves_the_call_to_the_slot() {
    let mapped = Mapped::with(Entry::Record);
    mapped.call(libc::SYS_getppid, [0; 6]);
    mapped.set(word::ENTRY, Entry::Replay.addr());
    mapped.set(word::END, mapped.word(word::NEXT));
    mapped.set(word::NEXT, RECORDS);
    let other = mapped.call(libc::SYS_getpid, [0; 6]);
    assert_eq!(other.rax, u64::from(std::process::id()));
    assert_eq!(mapped.word(word::NEXT), RECORDS, "it is not taken");
    mapped.set(word::NEXT, mapped.word(word::END));
    let none = mapped.call(libc::SYS_getppid, [0; 6]);
    assert_eq!(none.rax, u64::from(std::os::unix::process::parent_id()));
}

#[test]
fn output_is_what_the_call_has_written() {
    let mapped = Mapped::with(Entry::Record);
    let mut buffer = [0; 160];
    let place = of(&mut buffer);
    let null = std::fs::File::open("/dev/null").expect("a file");
    let number = null.as_raw_fd() as u64;
    // Fixed; fixed, of a call that fails; by an argument; by the result; a result without a buffer.
    mapped.call(libc::SYS_fstat, [number, place, 0, 0, 0, 0]);
    mapped.call(libc::SYS_fstat, [u64::MAX, place, 0, 0, 0, 0]);
    mapped.call(libc::SYS_poll, [place, 2, 0, 0, 0, 0]);
    mapped.call(libc::SYS_getrandom, [place, 5, 0, 0, 0, 0]);
    mapped.call(libc::SYS_time, [0; 6]);
    let records = mapped.records();
    let mut lengths = Vec::new();
    let mut rest = &records[..];
    while let Some(record) = Record::first(rest) {
        lengths.push(record.output.len());
        rest = &rest[record.len..];
    }
    assert_eq!(lengths, [144, 0, 16, 5, 0]);
}

#[test]
fn calls_that_are_not_buffered_are_left_to_the_slot() {
    let mapped = Mapped::with(Entry::Record);
    let mut buffer = [0; 64];
    let place = of(&mut buffer);
    let get_lock = libc::F_GETLK as u64;
    let calls = [
        // Not listed; no call; too long; a second output; a request with an output, and none.
        (libc::SYS_uname as u64, [0; 6]),
        (1 << 40, [0; 6]),
        (u64::MAX, [0; 6]),
        (libc::SYS_getrandom as u64, [0, 1 << 40, 0xff, 0, 0, 0]),
        (libc::SYS_gettimeofday as u64, [place, place, 0, 0, 0, 0]),
        (libc::SYS_fcntl as u64, [u64::MAX, get_lock, 0, 0, 0, 0]),
        (libc::SYS_fcntl as u64, [u64::MAX, 1010, 0, 0, 0, 0]),
        (libc::SYS_fcntl as u64, [u64::MAX, 1039, 0, 0, 0, 0]),
    ];
    for (number, arguments) in calls {
        mapped.set(word::STOPPED, 0);
        let after = mapped.call(number as libc::c_long, arguments);
        assert!(mapped.records().is_empty(), "{number}");
        assert_ne!(after.rcx, NEXT, "the instruction of the slot");
        assert_eq!(after.rcx, mapped.word(word::STOPPED) + 2);
        assert_eq!(mapped.word(word::SITE), NEXT);
    }
    mapped.call(
        libc::SYS_fcntl,
        [u64::MAX, libc::F_GETFD as u64, 0, 0, 0, 0],
    );
    let dup = libc::F_DUPFD_CLOEXEC as u64;
    mapped.call(libc::SYS_fcntl, [u64::MAX, dup, 0, 0, 0, 0]);
    assert_eq!(mapped.records().len(), 32, "requests without an output");
}

#[test]
fn full_buffer_leaves_the_call_to_the_slot() {
    let mapped = Mapped::with(Entry::Record);
    for (left, calls) in [(16, 0), (24, 1), (40, 2)] {
        mapped.set(word::NEXT, RECORDS + layout::RECORDS_LEN - left);
        for _ in 0..3 {
            mapped.call(libc::SYS_getppid, [0; 6]);
        }
        let used = left - (RECORDS + layout::RECORDS_LEN - mapped.word(word::NEXT));
        assert_eq!(used, calls * 16, "of {left}");
    }
}

#[test]
fn passing_program_makes_all_calls_in_slots() {
    let mapped = Mapped::with(Entry::Pass);
    let after = mapped.call(libc::SYS_getppid, [0; 6]);
    assert_eq!(after.rax, u64::from(std::os::unix::process::parent_id()));
    assert!(mapped.records().is_empty());
    assert_eq!(after.rcx, mapped.word(word::STOPPED) + 2);
}

#[test]
fn free_program_makes_its_calls_by_an_entry() {
    let mapped = Mapped::with(Entry::Free);
    mapped.set(word::SITE, 1);
    let after = mapped.call(libc::SYS_getppid, [0; 6]);
    assert_eq!(after.rax, u64::from(std::os::unix::process::parent_id()));
    assert!(mapped.records().is_empty());
    // As the kernel leaves it: the address behind the call.
    assert_eq!(after.rcx, layout::FREE.start + 2);
    assert_eq!(mapped.word(word::SITE), 1, "no memory is used");
}

#[test]
fn calls_of_the_stub_are_where_the_filter_lets_them_pass() {
    let code = stub::code();
    let at = |addr: u64| &code[(addr - layout::STUB) as usize..][..4];
    assert_eq!(at(layout::PASSED)[..2], jump::CALL);
    // And `jmp rbp`.
    assert_eq!(at(layout::PARKING), [0x0f, 5, 0xff, 0xe5]);
    assert_eq!(at(stub::stop())[..2], jump::CALL);
}
