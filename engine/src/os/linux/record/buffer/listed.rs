//! The calls that are buffered, as a table for the stub.
//!
//! Listed are calls that programs make often, and whose output is one buffer. They may block: a
//! signal that arrives meanwhile makes the program repeat the call with a stop (`held`); where a program
//! has threads, calls that may wait stop. Not listed
//! are calls that send signals to the program or change which arrive, that change its memory or
//! its processes, and that a replay repeats.

use super::super::calls::{self, Class, Length, Output, Special};
use super::layout::{ENTRIES, ENTRY_LEN};
use super::stub::{WAIT_BITS_PRIVATE, WAIT_PRIVATE, WAKE_PRIVATE, kind};

#[rustfmt::skip]
const LISTED: &[libc::c_long] = &[
    // Files.
    libc::SYS_read, libc::SYS_pread64, libc::SYS_write, libc::SYS_pwrite64, libc::SYS_writev,
    libc::SYS_pwritev, libc::SYS_lseek, libc::SYS_open, libc::SYS_openat, libc::SYS_close,
    libc::SYS_stat, libc::SYS_fstat, libc::SYS_lstat, libc::SYS_newfstatat, libc::SYS_statx,
    libc::SYS_statfs, libc::SYS_fstatfs, libc::SYS_access, libc::SYS_faccessat,
    libc::SYS_faccessat2, libc::SYS_getdents, libc::SYS_getdents64, libc::SYS_readlink,
    libc::SYS_readlinkat, libc::SYS_getcwd, libc::SYS_getxattr, libc::SYS_lgetxattr,
    libc::SYS_fgetxattr, libc::SYS_listxattr, libc::SYS_llistxattr, libc::SYS_flistxattr,
    libc::SYS_fadvise64, libc::SYS_ftruncate, libc::SYS_unlink, libc::SYS_unlinkat,
    libc::SYS_mkdir, libc::SYS_rename, libc::SYS_chdir, libc::SYS_fchdir, libc::SYS_umask,
    libc::SYS_dup, libc::SYS_dup2, libc::SYS_dup3, libc::SYS_fcntl,
    // Sockets and what waits for them.
    libc::SYS_sendto, libc::SYS_recvfrom, libc::SYS_sendmsg, libc::SYS_poll, libc::SYS_epoll_wait,
    libc::SYS_epoll_ctl,
    // Time, and what is known of the process.
    libc::SYS_clock_gettime, libc::SYS_clock_getres, libc::SYS_gettimeofday, libc::SYS_time,
    libc::SYS_getrandom, libc::SYS_getrusage, libc::SYS_times, libc::SYS_getpid, libc::SYS_gettid,
    libc::SYS_getppid, libc::SYS_getuid, libc::SYS_geteuid, libc::SYS_getgid, libc::SYS_getegid,
    libc::SYS_getpgrp, libc::SYS_getpgid, libc::SYS_getsid,
    // Threads.
    libc::SYS_futex,
];

/// Returns whether a call is buffered if its arguments allow it.
pub fn is_listed(number: i64) -> bool {
    LISTED.contains(&number) && entry(number).is_some()
}

/// Returns whether an instruction that makes a call with these arguments is worth a jump: those of futex(2) that
/// wait stop unless threads are parked (`wants_waits`), and most instructions do one or the other.
pub fn is_worth(number: i64, arguments: &[u64; 6], wants_waits: bool) -> bool {
    let operation = arguments[1] as i32 & !libc::FUTEX_CLOCK_REALTIME;
    let is_wait = || [WAIT_PRIVATE, WAIT_BITS_PRIVATE].contains(&operation);
    let is_futex = || operation == WAKE_PRIVATE || wants_waits && is_wait();
    is_listed(number) && (number != libc::SYS_futex || is_futex())
}

/// Returns which argument of a listed call is the address of its output.
pub fn output(number: i64) -> Option<usize> {
    let [kind, addr, ..] = entry(number)?;
    let has_none = [kind::NO_OUTPUT, kind::BY_REQUEST, kind::WAKE].contains(&kind);
    (!has_none).then_some(usize::from(addr))
}

/// Returns the table: for each number an entry as the stub reads it. A call without one is zeros.
pub fn table() -> Vec<u8> {
    table_of(|_| true)
}

/// Returns the table for a program with threads: calls that may wait stop, so that other threads run.
pub fn table_for_threads() -> Vec<u8> {
    table_of(|number| {
        let row = calls::row(number);
        row.is_some_and(|row| row.waits == calls::Waits::Never)
    })
}

fn table_of(is_wanted: impl Fn(i64) -> bool) -> Vec<u8> {
    let mut table = vec![0; ENTRIES * ENTRY_LEN];
    for number in LISTED.iter().filter(|number| is_wanted(**number)) {
        let at = *number as usize * ENTRY_LEN;
        if let (Some(entry), Some(place)) = (entry(*number), table.get_mut(at..at + ENTRY_LEN)) {
            place.copy_from_slice(&entry);
        }
    }
    table
}

/// Returns the entry of a call; `None`: its outputs cannot be expressed. The first output is that of the
/// entry; arguments that lead to others must be 0.
fn entry(number: i64) -> Option<[u8; ENTRY_LEN]> {
    let outputs = match calls::row(number)?.class {
        Class::Special(Special::Futex) => return Some([kind::WAKE, 0, 0, 0, 0, 0, 0, 0]),
        Class::Log(outputs) | Class::Own(_, outputs) => outputs,
        Class::LogBy(outputs) if number == libc::SYS_fcntl => {
            let [a, b, c, d] = requests(outputs).to_le_bytes();
            return Some([kind::BY_REQUEST, 0, 0, 0, a, b, c, d]);
        }
        _ => return None,
    };
    let Some((first, others)) = outputs.split_first() else {
        return Some([kind::NO_OUTPUT, 0, 0, 0, 0, 0, 0, 0]);
    };
    // A listed call that a signal ends is made again with a stop.
    let &(Output::Buffer(addr, length) | Output::Always(addr, length)) = first else {
        return None;
    };
    let (kind, argument, size) = match length {
        Length::Bytes(size) => (kind::FIXED, 0, size),
        Length::Argument(nth) => (kind::BY_ARGUMENT, nth, 1),
        Length::Times(nth, size) => (kind::BY_ARGUMENT, nth, size),
        Length::ResultWithin(nth) => (kind::BY_RESULT, nth, 1),
        Length::ResultTimes(nth, size) => (kind::BY_RESULT, nth, size),
        Length::ResultBehind(..) | Length::At(_) | Length::Bits(_) | Length::Pages(_) => {
            return None;
        }
    };
    let mut zero = 0_u8;
    for other in others {
        let &Output::Buffer(addr, _) = other else {
            return None;
        };
        zero |= 1 << addr;
    }
    let size = u32::try_from(size).ok()?.to_le_bytes();
    let [a, b, c, d] = size;
    Some([kind, addr as u8, argument as u8, zero, a, b, c, d])
}

/// Returns the bits of the requests that have no outputs.
fn requests(outputs: fn(&[u64; 6]) -> Option<&'static [Output]>) -> u32 {
    let all = (0..2048).filter(|request| {
        let outputs = outputs(&[0, *request, 0, 0, 0, 0]);
        outputs.is_some_and(<[Output]>::is_empty)
    });
    all.filter_map(kind::request_bit)
        .fold(0, |bits, bit| bits | bit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_listed_calls_have_entries() {
        for number in LISTED {
            assert!(is_listed(*number), "{}", calls::name(*number));
        }
        for number in [
            libc::SYS_fork,
            libc::SYS_kill,
            libc::SYS_rt_sigaction,
            libc::SYS_mmap,
        ] {
            assert!(!is_listed(number), "{}", calls::name(number));
        }
        assert!(!is_listed(-1) && !is_listed(1 << 40));
    }

    #[test]
    fn entries_say_where_calls_write() {
        let of = |number: i64| entry(number).expect("an entry");
        assert_eq!(of(libc::SYS_read), [kind::BY_RESULT, 1, 2, 0, 1, 0, 0, 0]);
        assert_eq!(of(libc::SYS_fstat), [kind::FIXED, 1, 0, 0, 144, 0, 0, 0]);
        assert_eq!(of(libc::SYS_poll), [kind::BY_ARGUMENT, 0, 1, 0, 8, 0, 0, 0]);
        assert_eq!(of(libc::SYS_lseek), [kind::NO_OUTPUT, 0, 0, 0, 0, 0, 0, 0]);
        let address = [kind::BY_RESULT, 1, 2, 0b11_0000, 1, 0, 0, 0];
        assert_eq!(of(libc::SYS_recvfrom), address, "without an address");
        let zone = [kind::FIXED, 0, 0, 0b10, 16, 0, 0, 0];
        assert_eq!(of(libc::SYS_gettimeofday), zone, "without a time zone");
        assert_eq!(entry(libc::SYS_recvmsg), None);
        let [kind, .., a, b, c, d] = of(libc::SYS_fcntl);
        let bits = u32::from_le_bytes([a, b, c, d]);
        let has = |request: i32| kind::request_bit(request as u64).is_some_and(|it| bits & it != 0);
        assert_eq!(kind, kind::BY_REQUEST);
        assert!(has(libc::F_DUPFD_CLOEXEC) && has(libc::F_SETLK) && !has(libc::F_GETLK));
    }

    #[test]
    fn calls_that_wait_stop_where_there_are_threads() {
        let table = table_for_threads();
        let is_listed = |number: libc::c_long| table[number as usize * ENTRY_LEN] != 0;
        assert!(is_listed(libc::SYS_clock_gettime) && is_listed(libc::SYS_pread64));
        for number in [
            libc::SYS_read,
            libc::SYS_write,
            libc::SYS_poll,
            libc::SYS_openat,
        ] {
            assert!(!is_listed(number), "{}", calls::name(number));
        }
    }

    #[test]
    fn table_has_entries_of_listed_calls_only() {
        let table = table();
        assert_eq!(table.len(), 4096);
        let used = table.chunks(ENTRY_LEN).filter(|entry| entry[0] != 0);
        assert_eq!(used.count(), LISTED.len());
    }
}
