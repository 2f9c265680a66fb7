//! Compares rows of the table with what the running kernel writes.

use super::{Class, Plan, row};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;

/// What memory contains before a call.
const FILL: u8 = 0xa5;
/// Size of the area of each argument.
const AREA: usize = 4096;

/// An argument of a call.
#[derive(Clone, Copy)]
enum Arg {
    Number(u64),
    /// The address of its own area, of bytes that no call leaves by chance.
    Area,
    /// The address of its own area, which begins with these words.
    Words(&'static [u64]),
    /// The address of its own area, which is an array of one `struct iovec` for each area given.
    Vectors(&'static [(usize, u64)]),
    /// The same for one `struct msghdr` with a name and control data in the next areas.
    Message,
    /// The address of a path.
    Path(&'static [u8]),
    File,
    Folder,
    Pipe,
    Socket,
    Terminal,
}
use Arg::{Area, Folder, Message, Number, Path, Pipe, Socket, Terminal, Vectors, Words};

const SIX: usize = 6;
const HERE: Arg = Number(libc::AT_FDCWD as u64);
const ZERO: Arg = Number(0);

/// Calls that succeed, and change nothing but the memory of this thread.
const CALLS: &[(libc::c_long, &[Arg])] = &[
    (libc::SYS_read, &[Arg::File, Area, Number(100)]),
    (libc::SYS_pread64, &[Arg::File, Area, Number(100), ZERO]),
    (
        libc::SYS_readv,
        &[Arg::File, Vectors(&[(4, 10), (5, 50)]), Number(2)],
    ),
    (
        libc::SYS_preadv,
        &[Arg::File, Vectors(&[(4, 3), (5, 9)]), Number(2), ZERO],
    ),
    (libc::SYS_stat, &[Path(b"/proc/self/exe\0"), Area]),
    (libc::SYS_lstat, &[Path(b"/proc/self/exe\0"), Area]),
    (libc::SYS_fstat, &[Arg::File, Area]),
    (libc::SYS_newfstatat, &[HERE, Path(b"/\0"), Area, ZERO]),
    (
        libc::SYS_statx,
        &[HERE, Path(b"/\0"), ZERO, Number(0xfff), Area],
    ),
    (libc::SYS_statfs, &[Path(b"/\0"), Area]),
    (libc::SYS_fstatfs, &[Arg::File, Area]),
    (libc::SYS_getdents64, &[Folder, Area, Number(1000)]),
    (
        libc::SYS_readlink,
        &[Path(b"/proc/self/exe\0"), Area, Number(300)],
    ),
    (
        libc::SYS_readlinkat,
        &[HERE, Path(b"/proc/self/exe\0"), Area, Number(300)],
    ),
    (libc::SYS_getcwd, &[Area, Number(1000)]),
    (libc::SYS_poll, &[Words(&[1 << 32]), Number(1), ZERO]),
    (
        libc::SYS_ppoll,
        &[
            Words(&[1 << 32]),
            Number(1),
            Words(&[0, 1]),
            ZERO,
            Number(8),
        ],
    ),
    (
        libc::SYS_select,
        &[
            Number(3),
            Words(&[0]),
            Words(&[6]),
            Words(&[0]),
            Words(&[0, 1]),
        ],
    ),
    (
        libc::SYS_pselect6,
        &[
            Number(3),
            Words(&[0]),
            Words(&[6]),
            Words(&[0]),
            Words(&[0, 1]),
            ZERO,
        ],
    ),
    (libc::SYS_getrusage, &[ZERO, Area]),
    (libc::SYS_times, &[Area]),
    (libc::SYS_sysinfo, &[Area]),
    (libc::SYS_uname, &[Area]),
    (libc::SYS_getitimer, &[Number(1), Area]),
    (libc::SYS_setitimer, &[Number(1), Words(&[0; 4]), Area]),
    (libc::SYS_clock_gettime, &[ZERO, Area]),
    (libc::SYS_clock_getres, &[ZERO, Area]),
    (libc::SYS_gettimeofday, &[Area, Area]),
    (libc::SYS_time, &[Area]),
    (libc::SYS_nanosleep, &[Words(&[0, 1]), Area]),
    (
        libc::SYS_clock_nanosleep,
        &[ZERO, ZERO, Words(&[0, 1]), Area],
    ),
    (libc::SYS_rt_sigaction, &[Number(12), ZERO, Area, Number(8)]),
    (libc::SYS_rt_sigprocmask, &[ZERO, ZERO, Area, Number(8)]),
    (libc::SYS_rt_sigpending, &[Area, Number(8)]),
    (libc::SYS_sigaltstack, &[ZERO, Area]),
    (libc::SYS_sched_getparam, &[ZERO, Area]),
    (libc::SYS_sched_rr_get_interval, &[ZERO, Area]),
    (libc::SYS_sched_getattr, &[ZERO, Area, Number(56), ZERO]),
    (libc::SYS_getcpu, &[Area, Area, ZERO]),
    (libc::SYS_getsockname, &[Socket, Area, Words(&[100])]),
    (libc::SYS_getpeername, &[Socket, Area, Words(&[1])]),
    (
        libc::SYS_getsockopt,
        &[Socket, Number(1), Number(3), Area, Words(&[16])],
    ),
    (
        libc::SYS_recvfrom,
        &[Socket, Area, Number(5), ZERO, Area, Words(&[60])],
    ),
    (libc::SYS_recvmsg, &[Socket, Message, ZERO]),
    (libc::SYS_getrandom, &[Area, Number(50), ZERO]),
    (libc::SYS_getresuid, &[Area, Area, Area]),
    (libc::SYS_getresgid, &[Area, Area, Area]),
    (libc::SYS_getgroups, &[Number(500), Area]),
    (libc::SYS_getrlimit, &[Number(7), Area]),
    (libc::SYS_prlimit64, &[ZERO, Number(7), ZERO, Area]),
    (libc::SYS_capget, &[Words(&[0x2008_0522]), Area]),
    (libc::SYS_get_robust_list, &[ZERO, Area, Area]),
    (libc::SYS_ioctl, &[Pipe, Number(0x541b), Area]),
    (libc::SYS_ioctl, &[Terminal, Number(0x5401), Area]),
    (libc::SYS_ioctl, &[Terminal, Number(0x5413), Area]),
    (libc::SYS_ioctl, &[Terminal, Number(0x802c_542a), Area]),
    (libc::SYS_ioctl, &[Terminal, Number(0x8004_5430), Area]),
    (libc::SYS_fcntl, &[Arg::File, Number(16), Area]),
    (
        libc::SYS_fcntl,
        &[Arg::File, Number(libc::F_OFD_GETLK as u64), Words(&[0; 4])],
    ),
    (libc::SYS_prctl, &[Number(libc::PR_GET_NAME as u64), Area]),
    (
        libc::SYS_prctl,
        &[Number(libc::PR_GET_PDEATHSIG as u64), Area],
    ),
    (libc::SYS_arch_prctl, &[Number(0x1003), Area]),
];

fn read_own(addr: u64, bytes: &mut [u8]) -> usize {
    let memory = File::open("/proc/thread-self/mem").expect("own memory");
    std::os::unix::fs::FileExt::read_at(&memory, bytes, addr).unwrap_or(0)
}

#[test]
fn kernel_writes_nothing_but_the_outputs() {
    for (number, wanted) in CALLS {
        let row = row(*number).expect("a row");
        let file = File::open("/proc/self/exe").expect("a file");
        let folder = File::open("/").expect("a folder");
        let terminal = File::options().read(true).write(true).open("/dev/ptmx");
        let terminal = terminal.expect("a terminal");
        let (mut reader, mut writer) = std::io::pipe().expect("a pipe");
        writer.write_all(b"12345").expect("room in the pipe");
        let (socket, mut other) = UnixStream::pair().expect("sockets");
        other.write_all(b"1234567").expect("room in the socket");
        let mut memory = vec![FILL; AREA * SIX];
        let start = memory.as_mut_ptr() as u64;
        let area = |nth: usize| start + (nth * AREA) as u64;
        let mut arguments = [0; SIX];
        for (nth, argument) in wanted.iter().enumerate() {
            let mut words: Vec<u64> = Vec::new();
            arguments[nth] = match *argument {
                Number(number) => number,
                Area => area(nth),
                Words(given) => {
                    words.extend(given);
                    area(nth)
                }
                Vectors(areas) => {
                    words.extend(areas.iter().flat_map(|(nth, len)| [area(*nth), *len]));
                    area(nth)
                }
                Message => {
                    let vector = area(nth) + 56;
                    words.extend([area(3), 60, vector, 1, area(4), 64, 0, area(5), 6]);
                    area(nth)
                }
                Path(path) => path.as_ptr() as u64,
                Arg::File => file.as_raw_fd() as u64,
                Folder => folder.as_raw_fd() as u64,
                Pipe => reader.as_raw_fd() as u64,
                Socket => socket.as_raw_fd() as u64,
                Terminal => terminal.as_raw_fd() as u64,
            };
            for (word, bytes) in words.iter().zip(memory[nth * AREA..].chunks_mut(8)) {
                bytes.copy_from_slice(&word.to_le_bytes());
            }
        }
        let outputs = match row.class {
            Class::Log(outputs) | Class::Own(_, outputs) => outputs,
            Class::LogBy(outputs) => outputs(&arguments).expect("a known request"),
            _ => panic!("{} has outputs", row.name),
        };
        let plan = Plan::of(outputs, &arguments, &read_own);
        let before = memory.clone();
        let [a, b, c, d, e, f] = arguments;
        // SAFETY: the pointers among the arguments are to areas that are larger than what the call may
        // write, or to constant paths; the calls change nothing else.
        let result = unsafe { libc::syscall(*number, a, b, c, d, e, f) };
        let error = std::io::Error::last_os_error();
        assert!(result >= 0, "{}: {error}", row.name);
        let written = plan.written(result).expect("small outputs");
        for (at, (now, then)) in memory.iter().zip(&before).enumerate() {
            let addr = start + at as u64;
            let is_listed = written
                .iter()
                .any(|(from, len)| (*from..*from + *len as u64).contains(&addr));
            assert!(
                now == then || is_listed,
                "{} has written to byte {} of argument {}",
                row.name,
                at % AREA,
                at / AREA
            );
        }
        let mut rest = [0; 5];
        reader.read_exact(&mut rest).expect("what was written");
    }
}
